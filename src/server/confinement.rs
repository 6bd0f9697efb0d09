//! The sandbox that a configuration asks for: what it grants, what of it is enforced, and what is amiss with it.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::policy::{AllowList, Directories, Programs};
use crate::sandbox::{Enforcement, Kernel, Level, Sandbox, SandboxError, SandboxSettings, TemporaryDirectory};

/// How commands are confined.
#[derive(Debug)]
pub struct Confinement {
    level: Level,
    /// What is enforced, or why the server must not start.
    enforcement: Result<Enforcement, SandboxError>,
    /// The commands' own, removed at the end of the server; `None` with the level `off`.
    temporary: Option<Result<TemporaryDirectory, SandboxError>>,
    warnings: Vec<String>,
    problems: Vec<String>,
}

impl Confinement {
    /// Makes it, and the sandbox for the executor; `None` with the level `off`.
    pub(super) fn new(
        config: &Config,
        allow: &AllowList,
        directories: &Directories,
        programs: &Programs,
    ) -> (Self, Option<Sandbox>) {
        let level = config.sandbox.value;
        if level == Level::Off {
            let kernel = Kernel::Without("the sandbox is off");
            let enforcement = Enforcement::new(level, kernel, true);
            let off = Self { level, enforcement, temporary: None, warnings: Vec::new(), problems: Vec::new() };
            return (off, None);
        }
        let (kernel, best_effort) = (Kernel::current(), config.sandbox_best_effort.value);
        let enforcement = Enforcement::new(level, kernel, best_effort);
        let temporary = enforcement.is_ok().then(|| {
            let parent = config.surroundings.variable("TMPDIR").map(Path::new).filter(|parent| parent.is_absolute());
            TemporaryDirectory::new(parent.unwrap_or(Path::new("/tmp")))
        });
        let absolute = |paths: &[PathBuf]| -> Vec<PathBuf> {
            paths.iter().map(|path| config.surroundings.directory.join(path)).collect()
        };
        let found = allow.names().iter().filter_map(|name| programs.find_listed(name));
        let mut settings = SandboxSettings {
            level,
            kernel,
            best_effort,
            programs: found.map(|program| program.path().to_owned()).collect(),
            search_path: programs.search_path().entries().to_vec(),
            directories: directories.granted(),
            read: absolute(&config.read.value),
            write: absolute(&config.write.value),
            exec: absolute(&config.exec.value),
        };
        let warnings = warnings(config, directories, &settings);
        let problems = problems(level, allow, &settings);
        if let Some(Ok(temporary)) = &temporary {
            settings.directories.push(temporary.path().to_owned());
        }
        (Self { level, enforcement, temporary, warnings, problems }, Some(Sandbox::new(settings)))
    }

    /// Whether commands are to be confined.
    pub fn is_on(&self) -> bool {
        self.level != Level::Off
    }

    /// Whether the server may start.
    ///
    /// # Errors
    /// [`SandboxError`] where the kernel can't enforce the level, or the commands have no place for temporary files.
    pub fn check(&self) -> Result<(), &SandboxError> {
        self.enforcement.as_ref()?;
        self.temporary.as_ref().map_or(Ok(()), |temporary| temporary.as_ref().map(drop))
    }

    /// What is enforced, as a sentence's end; `None` with the level `off`.
    pub fn describe(&self) -> Option<String> {
        let enforcement = self.enforcement.as_ref().ok().filter(|_| self.is_on())?;
        Some(enforcement.describe())
    }

    /// The same for those who call tools.
    pub(super) fn describe_for_models(&self) -> Option<String> {
        let enforced = self.enforcement.as_ref().is_ok_and(Enforcement::is_any);
        let consequence = if enforced {
            " Commands can write in the working directories and in `$TMPDIR` alone; `Permission denied` elsewhere is the \
             sandbox's."
        } else {
            ""
        };
        self.describe().map(|sandbox| format!("Sandbox: {sandbox}.{consequence}"))
    }

    /// What the commands get as `TMPDIR`.
    pub fn temporary(&self) -> Option<&Path> {
        self.temporary.as_ref()?.as_ref().ok().map(TemporaryDirectory::path)
    }

    /// What the operator should know.
    pub(super) fn warnings(&self) -> Vec<String> {
        let missing = self.enforcement.as_ref().map(Enforcement::missing).unwrap_or_default();
        let missing = (!missing.is_empty())
            .then(|| format!("the sandbox does not enforce all of its level here; missing: {}", missing.join(", ")));
        missing.into_iter().chain(self.warnings.clone()).collect()
    }

    /// What keeps it from doing what was asked.
    pub(super) fn problems(&self) -> Vec<String> {
        let stops = self.check().err().map(ToString::to_string);
        stops.into_iter().chain(self.problems.clone()).collect()
    }
}

fn warnings(config: &Config, directories: &Directories, settings: &SandboxSettings) -> Vec<String> {
    let mut warnings = Vec::new();
    let base = directories.base().path;
    let base = dunce::canonicalize(&base).unwrap_or(base);
    let granted = settings.directories.iter().chain(&settings.read).chain(&settings.write).chain(&settings.exec);
    if !granted.into_iter().any(|granted| base.starts_with(granted)) {
        warnings.push(format!(
            "calls that name no `cwd` run in `{}`, where the sandbox lets them neither read nor write; name a directory \
             with `--project-dir`",
            base.display()
        ));
    }
    if settings.level == Level::Strict && config.allow_project_commands.value {
        warnings.push("`--sandbox strict` executes no command of the project but what `--exec` names".to_owned());
    }
    warnings
}

fn problems(level: Level, allow: &AllowList, settings: &SandboxSettings) -> Vec<String> {
    let mut problems = Vec::new();
    if level == Level::Strict && allow.allows_any() {
        problems.push(
            "`--sandbox strict` executes only commands that the allow-list names, and `*` names none; name them, or what \
             may be executed with `--exec`"
                .to_owned(),
        );
    }
    let lists = [("read", &settings.read), ("write", &settings.write), ("exec", &settings.exec)];
    for (flag, paths) in lists {
        for path in paths.iter().filter(|path| !path.exists()) {
            problems
                .push(format!("`--{flag}` names `{}`, which does not exist, so nothing is granted", path.display()));
        }
    }
    problems
}
