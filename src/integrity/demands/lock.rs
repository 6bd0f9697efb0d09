//! The lock file: what each allowed program, and each file that is executed with it, was when the lock file was written.
//!
//! It is sorted YAML with one fact on each line, and always the same for the same programs, so changes are small differences
//! in version control. `spec/programs.md` describes it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use saphyr_parser::{Event, Parser};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::difference::Difference;
use crate::files::{ReadError, Sha256, read_regular};
use crate::integrity::LARGEST_LOCK;
use crate::integrity::contents::Seen;

/// The version of the format.
const VERSION: u32 = 1;
/// How many brackets may be opened: the YAML parser's time grows with the square of their depth. Few names of programs have one.
const MOST_BRACKETS: usize = 1000;
/// How many values it may hold; the YAML parser keeps each in memory. Each locked file takes about 18.
const MOST_VALUES: usize = 200_000;
/// How deeply lists and mappings may be nested. The format itself needs four levels.
const DEEPEST: usize = 8;

/// The beginning of a lock file.
const HEADING: &str = "# The programs that commands run, as `allowexec lock` found them. Keep it under version control, and write it anew\n\
                       # after an update that you want: `allowexec lock`. `allowexec lock --check` compares.\n";

/// The contents of a lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lock {
    /// Whether loaders and libraries are locked too.
    pub libraries: bool,
    /// The program of each command.
    pub commands: BTreeMap<String, PathBuf>,
    /// All locked files, by their path.
    pub files: BTreeMap<PathBuf, LockedFile>,
}

/// The state of a file when it was locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockedFile {
    /// Where its path led, with links resolved.
    pub real_path: PathBuf,
    pub size: u64,
    pub sha256: Sha256,
    /// Its permissions and owner; `None` on platforms without them.
    pub rights: Option<Rights>,
    /// The interpreters of a script: what its first line names, and what env(1) finds in `PATH`.
    pub interpreters: BTreeSet<PathBuf>,
    pub loader: Option<PathBuf>,
    pub libraries: BTreeSet<PathBuf>,
}

/// The permissions of a file, and the user ID of its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rights {
    pub mode: u32,
    pub owner: u32,
}

impl LockedFile {
    /// The file as it was seen, without what is executed or loaded with it.
    pub(super) fn of(seen: &Seen, sha256: Sha256) -> Self {
        Self {
            real_path: seen.held.path().to_owned(),
            size: seen.state.size(),
            sha256,
            rights: seen.state.rights().map(|(mode, owner)| Rights { mode, owner }),
            interpreters: BTreeSet::new(),
            loader: None,
            libraries: BTreeSet::new(),
        }
    }

    /// Returns the other files that are executed or loaded with it.
    pub fn needs(&self) -> impl Iterator<Item = &PathBuf> {
        self.interpreters.iter().chain(&self.loader).chain(&self.libraries)
    }
}

/// Why a lock file can't be read or made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LockError {
    /// It can't be read.
    #[error("the lock file `{}` can't be read: {source}", .file.display())]
    Unread {
        /// The file.
        file: PathBuf,
        /// Why not.
        source: ReadError,
    },
    /// It is not a lock file, or a damaged one.
    #[error("the lock file `{}` can't be used: {why}", .file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The mistake in it.
        why: String,
    },
    /// A file can't be locked.
    #[error("`{}` can't be locked: {source}", .file.display())]
    Unlockable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The file as it is written. Its lines have the order of these fields.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    libraries: bool,
    commands: Vec<WrittenCommand>,
    files: Vec<WrittenFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCommand {
    command: String,
    path: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    path: String,
    real_path: String,
    size: u64,
    sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    interpreters: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loader: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    libraries: Vec<String>,
}

impl Lock {
    /// Reads a lock file.
    ///
    /// # Errors
    /// [`LockError`].
    pub fn read(file: &Path) -> Result<Self, LockError> {
        let bytes =
            read_regular(file, LARGEST_LOCK).map_err(|source| LockError::Unread { file: file.to_owned(), source })?;
        Self::of_bytes(&bytes, file)
    }

    /// The same, for contents that were read already.
    pub fn of_bytes(bytes: &[u8], file: &Path) -> Result<Self, LockError> {
        Self::parse(bytes).map_err(|why| LockError::Malformed { file: file.to_owned(), why })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        bounded(bytes)?;
        let written: Written = serde_yaml::from_slice(bytes).map_err(|error| error.to_string())?;
        let Written { version, libraries, commands, files } = written;
        if version != VERSION {
            return Err(format!("its version is {version}, and this program reads version {VERSION}"));
        }
        let mut lock = Self { libraries, commands: BTreeMap::new(), files: BTreeMap::new() };
        for WrittenCommand { command, path } in commands {
            if lock.commands.insert(command.clone(), path.into()).is_some() {
                return Err(format!("it has the command `{command}` twice"));
            }
        }
        for file in files {
            let path = PathBuf::from(&file.path);
            let locked = file.read()?;
            if lock.files.insert(path.clone(), locked).is_some() {
                return Err(format!("it has the file `{}` twice", path.display()));
            }
        }
        let named = lock.commands.values().chain(lock.files.values().flat_map(LockedFile::needs));
        if let Some(missing) = named.into_iter().find(|path| !lock.files.contains_key(*path)) {
            return Err(format!("it names the file `{}`, but has no entry for it", missing.display()));
        }
        Ok(lock)
    }

    /// Whether this is, or was meant to be, a lock file, so that a new one may replace it.
    pub fn is_meant(bytes: &[u8]) -> bool {
        let first_line = HEADING.lines().next().unwrap_or_default();
        bytes.is_empty() || bytes.starts_with(first_line.as_bytes()) || Self::parse(bytes).is_ok()
    }

    /// The text of the file.
    ///
    /// # Errors
    /// If a path is not UTF-8.
    pub fn to_text(&self) -> Result<String, LockError> {
        let commands = self.commands.iter().map(|(command, path)| {
            let path = text(path)?;
            Ok(WrittenCommand { command: command.clone(), path })
        });
        let files = self.files.iter().map(|(path, file)| file.write(path));
        let written = Written {
            version: VERSION,
            libraries: self.libraries,
            commands: commands.collect::<Result<_, LockError>>()?,
            files: files.collect::<Result<_, LockError>>()?,
        };
        let text = serde_yaml::to_string(&written)
            .map_err(|error| LockError::Unlockable { file: PathBuf::new(), source: io::Error::other(error) })?;
        Ok(format!("{HEADING}{text}"))
    }

    /// The differences between this lock file and the present, sorted.
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        if self.libraries != now.libraries {
            found.push(Difference::Scope { has_libraries: self.libraries });
        }
        let commands: BTreeSet<&String> = self.commands.keys().chain(now.commands.keys()).collect();
        for command in commands {
            let [locked, is] = [self, now].map(|lock| lock.commands.get(command));
            if locked != is {
                found.push(Difference::Command {
                    command: command.clone(),
                    locked: locked.cloned(),
                    found: is.cloned(),
                });
            }
        }
        let paths: BTreeSet<&PathBuf> = self.files.keys().chain(now.files.keys()).collect();
        for path in paths {
            match (self.files.get(path), now.files.get(path)) {
                (Some(locked), Some(is)) => found.extend(Difference::between(path, locked, is)),
                (Some(_), None) => found.push(Difference::NotUsed { path: path.clone() }),
                (None, _) => found.push(Difference::NotHeld { path: path.clone() }),
            }
        }
        found
    }
}

impl WrittenFile {
    fn read(self) -> Result<LockedFile, String> {
        let Self { path, real_path, size, sha256, mode, owner, interpreters, loader, libraries } = self;
        let digest = Sha256::from_hex(&sha256);
        let digest = digest.ok_or_else(|| format!("the SHA-256 of `{path}` is not 64 hexadecimal digits"))?;
        let mode = mode.map(|mode| u32::from_str_radix(&mode, 8)).transpose();
        let mode = mode.map_err(|_| format!("the mode of `{path}` is not an octal number"))?;
        let rights = match (mode, owner) {
            (Some(mode), Some(owner)) => Some(Rights { mode, owner }),
            (None, None) => None,
            _ => return Err(format!("`{path}` has only one of mode and owner")),
        };
        let paths = |paths: Vec<String>| paths.into_iter().map(PathBuf::from).collect();
        Ok(LockedFile {
            real_path: real_path.into(),
            size,
            sha256: digest,
            rights,
            interpreters: paths(interpreters),
            loader: loader.map(PathBuf::from),
            libraries: paths(libraries),
        })
    }
}

impl LockedFile {
    fn write(&self, path: &Path) -> Result<WrittenFile, LockError> {
        let texts = |paths: &BTreeSet<PathBuf>| paths.iter().map(|path| text(path)).collect::<Result<Vec<_>, _>>();
        Ok(WrittenFile {
            path: text(path)?,
            real_path: text(&self.real_path)?,
            size: self.size,
            sha256: self.sha256.to_string(),
            mode: self.rights.map(|rights| format!("{:04o}", rights.mode)),
            owner: self.rights.map(|rights| rights.owner),
            interpreters: texts(&self.interpreters)?,
            loader: self.loader.as_deref().map(text).transpose()?,
            libraries: texts(&self.libraries)?,
        })
    }
}

/// Checks that parsing the file takes time and memory in proportion to its size. `allowexec lock` writes no aliases, which can expand
/// to any size, and brackets only in names.
fn bounded(bytes: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    if text.match_indices(['[', '{']).nth(MOST_BRACKETS).is_some() {
        return Err(format!("it has more than {MOST_BRACKETS} brackets"));
    }
    let (mut depth, mut values) = (0_usize, 0_usize);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| format!("line {}: {}", error.marker().line(), error.info()))?;
        values += 1;
        if values > MOST_VALUES {
            return Err(format!("it holds more than {MOST_VALUES} values"));
        }
        match event {
            Event::Alias(_) => {
                return Err(format!("line {} has an alias, and lock files have none", span.start.line()));
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if depth == DEEPEST => {
                return Err(format!("line {} nests deeper than {DEEPEST} levels", span.start.line()));
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
            Event::SequenceEnd | Event::MappingEnd => depth = depth.saturating_sub(1),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::Scalar(..) => {}
        }
    }
    Ok(())
}

fn text(path: &Path) -> Result<String, LockError> {
    let unlockable = || LockError::Unlockable {
        file: path.to_owned(),
        source: io::Error::other("its path is not UTF-8, and a lock file can hold only text"),
    };
    path.to_str().map(str::to_owned).ok_or_else(unlockable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> Lock {
        let file = |name: &str| LockedFile {
            real_path: PathBuf::from(name),
            size: 7,
            sha256: Sha256::of(name),
            rights: Some(Rights { mode: 0o755, owner: 0 }),
            interpreters: BTreeSet::new(),
            loader: None,
            libraries: BTreeSet::new(),
        };
        let tool = LockedFile { interpreters: [PathBuf::from("/bin/sh")].into(), ..file("/opt/tool-1") };
        Lock {
            libraries: false,
            commands: [("tool".to_owned(), PathBuf::from("/opt/tool"))].into(),
            files: [("/opt/tool".into(), tool), ("/bin/sh".into(), file("/bin/sh"))].into(),
        }
    }

    #[test]
    fn what_is_written_is_read_again_and_is_the_same_each_time() {
        let text = lock().to_text().unwrap();
        assert_eq!(Lock::parse(text.as_bytes()).unwrap(), lock());
        assert_eq!(Lock::parse(text.as_bytes()).unwrap().to_text().unwrap(), text);
        let digests = [Sha256::of("/bin/sh"), Sha256::of("/opt/tool-1")];
        let expected = format!(
            "{HEADING}version: 1\nlibraries: false\ncommands:\n- command: tool\n  path: /opt/tool\nfiles:\n\
             - path: /bin/sh\n  real_path: /bin/sh\n  size: 7\n  sha256: {}\n  mode: '0755'\n  owner: 0\n\
             - path: /opt/tool\n  real_path: /opt/tool-1\n  size: 7\n  sha256: {}\n  mode: '0755'\n  owner: 0\n  \
             interpreters:\n  - /bin/sh\n",
            digests[0], digests[1]
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn what_is_wrong_with_a_lock_file_is_named() {
        let text = lock().to_text().unwrap();
        let check = |from: &str, to: &str, expected: &str| {
            assert!(text.contains(from), "{from}");
            let error = Lock::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check("version: 1", "version: 2", "its version is 2, and this program reads version 1");
        check("libraries: false", "library: false", "unknown field `library`");
        check("  owner: 0", "  owner: 0\n  user: x", "unknown field `user`");
        check("  size: 7\n", "", "missing field `size`");
        check("  mode: '0755'\n", "", "only one of mode and owner");
        check("'0755'", "rwx", "the mode of `/bin/sh` is not an octal number");
        check("  sha256: ", "  sha256: x", "the SHA-256 of `/bin/sh` is not 64 hexadecimal digits");
        check("- path: /bin/sh\n", "- path: /opt/tool\n", "the file `/opt/tool` twice");
        check("- path: /bin/sh\n", "- path: /bin/other\n", "it names the file `/bin/sh`, but has no entry for it");
        check("'0755'", "*a", "unknown anchor");
        check("- path: /bin/sh", "- &a {}\n- *a\n- path: /bin/sh", "has an alias, and lock files have none");
        check("- path: /bin/sh", "- [[[[[[[[]]]]]]]]", "nests deeper than 8 levels");
        check("\n- path: /bin/sh", &"[".repeat(200_000), "it has more than 1000 brackets");
        check("\n- path: /bin/sh", &"\n- a".repeat(200_000), "it holds more than 200000 values");
        check("\n- path: /bin/sh", &"\n- ".repeat(10), "missing field");
        check("\n- path: /bin/sh", &format!("\n{}", "- ".repeat(100_000)), "nests deeper than 8 levels");
        assert!(Lock::parse(b"").is_err() && Lock::parse(b"\xff").is_err() && Lock::parse(b"- a").is_err());
    }

    #[test]
    fn two_lock_files_differ_in_what_is_named() {
        let (locked, mut now) = (lock(), lock());
        assert_eq!(locked.differences(&now), []);
        let tool = now.files.get_mut(Path::new("/opt/tool")).unwrap();
        (tool.size, tool.sha256, tool.real_path) = (8, Sha256::of("x"), "/opt/tool-2".into());
        tool.interpreters = ["/bin/bash".into()].into();
        let shell = now.files.remove(Path::new("/bin/sh")).unwrap();
        now.files.insert("/bin/bash".into(), LockedFile { rights: Some(Rights { mode: 0o4755, owner: 7 }), ..shell });
        now.commands.insert("more".to_owned(), "/bin/bash".into());
        now.libraries = true;
        let shown: Vec<String> = locked.differences(&now).iter().map(ToString::to_string).collect();
        let (one, other) = (Sha256::of("/opt/tool-1"), Sha256::of("x"));
        assert_eq!(
            shown,
            [
                "loaders and libraries: not in the lock file, which was written without `--sandbox strict`".to_owned(),
                "command `more`: not in the lock file, now `/bin/bash`".to_owned(),
                "`/bin/bash`: not in the lock file".to_owned(),
                "`/bin/sh`: in the lock file, and not used any more".to_owned(),
                "`/opt/tool`: leads to `/opt/tool-1` in the lock file, now to `/opt/tool-2`".to_owned(),
                "`/opt/tool`: size 7 in the lock file, now 8".to_owned(),
                format!("`/opt/tool`: SHA-256 {one} in the lock file, now {other}"),
                "`/opt/tool`: interpreters `/bin/sh` in the lock file, now `/bin/bash`".to_owned(),
            ]
        );
    }
}
