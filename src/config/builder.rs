//! A configuration made in code, with the same checks as what people write.

use std::path::Path;
use std::time::Duration;

use super::config::Config;
use super::error::ConfigError;
use super::file::FileFrom;
use super::flags::unknown_flag;
use super::given::Given;
use super::setting::SettingPlace;
use super::table::by_flag;
use super::variables::Surroundings;

/// Builds a [`Config`] in code. Every other setting has its default: neither variables nor a file are read.
#[derive(Clone)]
pub struct ConfigBuilder {
    surroundings: Surroundings,
    given: Vec<Given>,
    first_mistake: Option<Mistake>,
}

/// A mistake in a setting; `build` makes an error of it.
#[derive(Clone)]
enum Mistake {
    Unknown(String),
    NotUtf8(&'static str),
}

impl Config {
    /// A configuration in code.
    ///
    /// ```
    /// use std::time::Duration;
    /// use allowexec::config::{Config, Surroundings};
    ///
    /// let config = Config::builder(Surroundings::of_this_process()?)
    ///     .allow(["ls", "cat"])
    ///     .timeout(Duration::from_secs(5))
    ///     .setting("structured", ["on"])
    ///     .build()?;
    /// assert_eq!(config.allow.value, ["ls", "cat"]);
    /// assert!(config.structured.value);
    /// assert!(Config::builder(config.surroundings).allow(["ls -l"]).build().is_err());
    /// # Ok::<(), allowexec::config::ConfigError>(())
    /// ```
    pub fn builder(surroundings: Surroundings) -> ConfigBuilder {
        ConfigBuilder { surroundings, given: Vec::new(), first_mistake: None }
    }
}

impl ConfigBuilder {
    /// The commands that may run.
    #[must_use]
    pub fn allow(self, commands: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.setting("allow", commands)
    }

    /// The directories that the `cwd` of a call must be in; an empty list refuses every call that names one.
    #[must_use]
    pub fn cwd_root(self, directories: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        self.paths("cwd-root", directories)
    }

    /// The directory that relative ones are resolved against, and that calls without `cwd` run in.
    #[must_use]
    pub fn project_dir(self, directory: impl AsRef<Path>) -> Self {
        self.paths("project-dir", [directory])
    }

    /// The default working directory.
    #[must_use]
    pub fn cwd(self, directory: impl AsRef<Path>) -> Self {
        self.paths("cwd", [directory])
    }

    /// The time limit of calls that name none, in whole milliseconds.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.setting("timeout", [format!("{}ms", timeout.as_millis())])
    }

    /// The longest time limit that a call may ask for, in whole milliseconds.
    #[must_use]
    pub fn max_timeout(self, timeout: Duration) -> Self {
        self.setting("max-timeout", [format!("{}ms", timeout.as_millis())])
    }

    /// Bytes kept of each stream; 0 for no bound.
    #[must_use]
    pub fn max_output(self, bytes: u64) -> Self {
        self.setting("max-output", [bytes.to_string()])
    }

    /// Calls that run concurrently.
    #[must_use]
    pub fn max_concurrent(self, calls: usize) -> Self {
        self.setting("max-concurrent", [calls.to_string()])
    }

    /// Bytes of memory of a call if a cgroup can be used, else of each of its processes.
    #[must_use]
    pub fn max_memory(self, bytes: u64) -> Self {
        self.setting("max-memory", [bytes.to_string()])
    }

    /// Processor time of each process of a call, in whole milliseconds; the kernel counts it in whole seconds, rounded up.
    #[must_use]
    pub fn max_cpu(self, time: Duration) -> Self {
        self.setting("max-cpu", [format!("{}ms", time.as_millis())])
    }

    /// Processes and threads of a call if a cgroup can be used, else of the server's user.
    #[must_use]
    pub fn max_processes(self, processes: usize) -> Self {
        self.setting("max-processes", [processes.to_string()])
    }

    /// Bytes of the largest file that a process of a call can write.
    #[must_use]
    pub fn max_file_size(self, bytes: u64) -> Self {
        self.setting("max-file-size", [bytes.to_string()])
    }

    /// Files that a process of a call can have open.
    #[must_use]
    pub fn max_open_files(self, files: usize) -> Self {
        self.setting("max-open-files", [files.to_string()])
    }

    /// Sets a variable for commands.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        let entry = format!("{name}={value}");
        match self.given.iter_mut().find(|given| given.spec.flag == "env") {
            Some(given) => given.texts.push(entry),
            None => return self.setting("env", [entry]),
        }
        self
    }

    /// Sets any setting, by its flag without the dashes. The values are the entries of a list, else one text; for a switch
    /// that is `on` or `off`. They replace earlier values of the setting.
    #[must_use]
    pub fn setting(mut self, flag: &str, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        match by_flag(flag) {
            None => self.first_mistake = self.first_mistake.or(Some(Mistake::Unknown(flag.to_owned()))),
            Some(spec) => {
                self.given.retain(|given| given.spec.flag != flag);
                let texts = values.into_iter().map(Into::into).collect();
                self.given.push(Given { spec, place: SettingPlace::Code(spec.flag), texts });
            }
        }
        self
    }

    fn paths(mut self, flag: &'static str, paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let texts: Option<Vec<String>> =
            paths.into_iter().map(|path| path.as_ref().to_str().map(str::to_owned)).collect();
        match texts {
            Some(texts) => self.setting(flag, texts),
            None => {
                self.first_mistake = self.first_mistake.or(Some(Mistake::NotUtf8(flag)));
                self
            }
        }
    }

    /// Checks all settings, and makes the configuration.
    ///
    /// # Errors
    /// A [`ConfigError`] for the first thing that is wrong.
    pub fn build(self) -> Result<Config, ConfigError> {
        match self.first_mistake {
            Some(Mistake::Unknown(flag)) => return Err(unknown_flag(&flag, &[])),
            Some(Mistake::NotUtf8(flag)) => return Err(ConfigError::NotUtf8 { place: SettingPlace::Code(flag) }),
            None => {}
        }
        let mut config = Config::defaults(self.surroundings);
        for given in &self.given {
            given.apply(&mut config)?;
        }
        config.check()?;
        config.read_rules(FileFrom::Anywhere)?;
        Ok(config)
    }
}

/// The settings that were made, without their values, which may be secrets.
impl std::fmt::Debug for ConfigBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.given.iter().map(|given| given.spec.flag)).finish()
    }
}
