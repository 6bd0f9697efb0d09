//! Finds programs. Names are looked up once, in the operator's search path, and never in the current directory.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::windows_name::{self, Endings};
use super::{Rule, WorkingDirectory};
use crate::files::is_executable;

/// The search path of a server that was started without `PATH`.
const DEFAULT_PATH: &str =
    if cfg!(windows) { r"C:\Windows\System32;C:\Windows" } else { "/usr/local/bin:/usr/bin:/bin" };

/// The `PATH` of commands if the search path is empty: a file, in which nothing can be found.
const NOWHERE: &str = "/dev/null";

/// The absolute entries of the operator's `PATH`.
///
/// Empty and relative entries are dropped: they would find programs in a directory that the client chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPath {
    entries: Vec<PathBuf>,
    /// The endings that are tried for a name without one, on Windows.
    endings: Endings,
}

impl SearchPath {
    /// Reads a `PATH` as the environment holds it; `None` means the standard directories.
    pub fn new(path: Option<&OsStr>) -> Self {
        let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
        let entries = std::env::split_paths(path).filter(|entry| entry.is_absolute()).collect();
        Self { entries, endings: Endings::new(None) }
    }

    /// Takes the endings to try from `PATHEXT`, as the environment holds it; `None` means `.com`, `.exe`, `.bat` and `.cmd`.
    /// It has no effect except on Windows.
    pub fn with_endings(self, pathext: Option<&OsStr>) -> Self {
        Self { endings: Endings::new(pathext), ..self }
    }

    /// The entries, in the order in which they are searched.
    pub fn entries(&self) -> &[PathBuf] {
        &self.entries
    }

    /// The value that commands get for their own `PATH`. If there are no entries, it is a file, in which nothing is found: to
    /// a POSIX shell and to execvp(3) an empty `PATH` means the current directory, which the client chose.
    pub fn to_variable(&self) -> OsString {
        if self.entries.is_empty() && cfg!(unix) {
            return NOWHERE.into();
        }
        // Joining fails only if an entry holds the separator, and these come from splitting at it.
        std::env::join_paths(&self.entries).unwrap_or_default()
    }

    /// The first executable file that a path can mean.
    fn executable(&self, path: &Path) -> Option<PathBuf> {
        if !cfg!(windows) {
            return is_executable(path).then(|| path.to_owned());
        }
        self.files(path).find(|file| file.is_file())
    }

    /// The files that a path can mean: itself, or on Windows, if it has no ending, itself with each ending.
    fn files(&self, path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
        let files = match path.to_str() {
            _ if !cfg!(windows) => vec![path.to_owned()],
            Some(name) if path.is_absolute() => self.endings.candidates(name).into_iter().map(PathBuf::from).collect(),
            // A path relative to a drive's current directory is not one that the operator or the client chose.
            Some(_) | None => Vec::new(),
        };
        files.into_iter()
    }
}

/// The file of an allowed program, and what allows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    rule: Rule,
}

impl Program {
    /// The absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the server's user may execute it; on Windows any file counts.
    pub(crate) fn is_executable(&self) -> bool {
        is_executable(&self.path)
    }

    /// The same program, but allowed by something else.
    pub(super) fn by(self, rule: Rule) -> Self {
        Self { rule, ..self }
    }

    /// Whether this is the file that the word asks for: on Windows `tool.bat` does not ask for `tool.exe`.
    fn answers_to(&self, word: &str) -> bool {
        !cfg!(windows) || windows_name::has_ending_of(&self.path.to_string_lossy(), word)
    }

    /// Returns the entry or rule that allows it.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }
}

/// Finds programs, and remembers where each name was found.
#[derive(Debug)]
pub struct Programs {
    search_path: SearchPath,
    /// The base of relative paths in the allow-list.
    directory: PathBuf,
    found: Mutex<HashMap<String, PathBuf>>,
}

impl Programs {
    /// Looks names up in `search_path`, and relative paths of the allow-list in `directory`, the server's own.
    pub fn new(search_path: SearchPath, directory: PathBuf) -> Self {
        Self { search_path, directory, found: Mutex::default() }
    }

    /// The search path.
    pub fn search_path(&self) -> &SearchPath {
        &self.search_path
    }

    /// Finds the program that `word` means in a call that runs in `directory`; `rule` is what allows the word.
    ///
    /// For an entry of the allow-list this is what [`Self::find_listed`] finds. For `*` it is found in the same way, but a
    /// relative path is relative to the directory of the call. For the project, the word must be a path, and the file must
    /// lie under the project once links are resolved.
    pub(super) fn find(&self, rule: Rule, word: &str, directory: &WorkingDirectory) -> Option<Program> {
        let path = match &rule {
            Rule::Entry(entry) => return self.find_listed(entry).filter(|program| program.answers_to(word)),
            // The policy may name the file, or another name to look up.
            Rule::Described(described) => {
                let found = self.find_listed(described.sought()).filter(|program| program.answers_to(word));
                return found.map(|program| program.by(rule));
            }
            Rule::Any if is_path(word) => self.at(directory.path().join(word))?,
            Rule::Any => self.look_up(word)?,
            Rule::Project(project) => self.find_in_project(word, directory, project)?,
        };
        Some(Program { path, rule })
    }

    /// Finds the program of an entry of the allow-list.
    ///
    /// A name is looked up among the executable files of the search path, and the first match is remembered for good. A path
    /// is taken as it is; a relative one is relative to the server's own directory, whatever directory a call names.
    pub fn find_listed(&self, entry: &str) -> Option<Program> {
        let path = if is_path(entry) { self.at(self.directory.join(entry)) } else { self.look_up(entry) }?;
        Some(Program { path, rule: Rule::Entry(entry.to_owned()) })
    }

    /// The file of an entry, or if there is none, those that would be: at its path, or in each directory of the search path.
    pub(crate) fn places(&self, entry: &str) -> Vec<PathBuf> {
        if let Some(found) = self.find_listed(entry) {
            return vec![found.path];
        }
        let places: Vec<PathBuf> = if is_path(entry) {
            vec![self.directory.join(entry)]
        } else {
            self.search_path.entries.iter().map(|directory| directory.join(entry)).collect()
        };
        places.iter().flat_map(|place| self.search_path.files(place)).collect()
    }

    fn find_in_project(&self, word: &str, directory: &WorkingDirectory, project: &Path) -> Option<PathBuf> {
        if !is_path(word) {
            return None;
        }
        let mut files = self.search_path.files(&directory.path().join(word));
        let path = files.find_map(|file| crate::files::canonicalize(file).ok())?;
        let lies_inside = path.starts_with(project) && path.is_file();
        lies_inside.then_some(path)
    }

    fn at(&self, path: PathBuf) -> Option<PathBuf> {
        self.search_path.files(&path).find(|file| file.is_file())
    }

    fn look_up(&self, name: &str) -> Option<PathBuf> {
        // A panic of another thread leaves the map as it was: entries are added whole.
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = found.get(name) {
            return Some(path.clone());
        }
        let mut places = self.search_path.entries.iter().map(|entry| entry.join(name));
        let path = places.find_map(|place| self.search_path.executable(&place))?;
        found.insert(name.to_owned(), path.clone());
        Some(path)
    }
}

/// Whether a word is a path rather than a name to be looked up.
pub(crate) fn is_path(word: &str) -> bool {
    if cfg!(windows) { windows_name::is_path(word) } else { word.contains('/') }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn executable(path: &Path) {
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn only_absolute_entries_are_searched_and_passed_on() {
        let path = SearchPath::new(Some(OsStr::new("/a:.::bin:../x:/b:~/bin:")));
        assert_eq!(path.entries(), [PathBuf::from("/a"), PathBuf::from("/b")]);
        assert_eq!(path.to_variable(), OsString::from("/a:/b"));
        for nothing in ["", ":", ".", "bin:"] {
            let path = SearchPath::new(Some(OsStr::new(nothing)));
            assert_eq!((path.entries(), path.to_variable()), ([].as_slice(), OsString::from("/dev/null")));
        }
        assert_eq!(SearchPath::new(None).to_variable(), OsString::from(DEFAULT_PATH));
    }

    #[test]
    fn a_name_is_found_once_and_stays_where_it_was_found() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("first"), dir.path().join("second"));
        for place in [&first, &second] {
            fs::create_dir(place).unwrap();
        }
        // Neither a directory nor a file without the right to execute is a program.
        fs::create_dir(first.join("tool")).unwrap();
        fs::write(first.join("plain"), "").unwrap();
        executable(&second.join("tool"));
        executable(&second.join("plain"));
        let joined = std::env::join_paths([&first, &second]).unwrap();
        let programs = Programs::new(SearchPath::new(Some(&joined)), dir.path().to_owned());
        for name in ["tool", "plain"] {
            assert_eq!(programs.find_listed(name).unwrap().path(), second.join(name));
        }
        executable(&first.join("plain"));
        assert_eq!(programs.find_listed("plain").unwrap().path(), second.join("plain"));
        assert_eq!(programs.find_listed("missing"), None);
        executable(&first.join("missing"));
        assert_eq!(programs.find_listed("missing").unwrap().path(), first.join("missing"));
    }

    #[test]
    fn a_command_of_the_project_lies_in_it_when_its_links_are_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let base = dunce::canonicalize(dir.path()).unwrap();
        let project = base.join("project");
        for place in ["project", "projects", "project/bin"] {
            fs::create_dir(base.join(place)).unwrap();
        }
        for file in ["project/bin/run", "projects/run", "outside"] {
            executable(&base.join(file));
        }
        symlink(base.join("outside"), project.join("link")).unwrap();
        symlink(project.join("bin/run"), base.join("back")).unwrap();
        let directory = WorkingDirectory::open(&project).unwrap();
        let programs = Programs::new(SearchPath::new(None), base.clone());
        let rule = || Rule::Project(project.clone());
        let found = |word: &str| programs.find(rule(), word, &directory).map(|program| program.path);
        assert_eq!(found("./bin/run"), Some(project.join("bin/run")));
        assert_eq!(found("../back"), Some(project.join("bin/run")));
        for word in
            ["run", "./link", "../outside", "../projects/run", "/bin/sh", "./bin", "./missing", "bin/../../outside"]
        {
            assert_eq!(found(word), None, "{word}");
        }
    }
}
