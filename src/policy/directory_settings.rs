//! The operator's settings about directories.

use std::path::PathBuf;

/// The operator's settings about directories. Relative directories are relative to the server's own, except `cwd`.
#[derive(Debug, Clone, Default)]
pub struct DirectorySettings {
    /// The directory that the server was started in, absolute.
    pub server: PathBuf,
    /// Where calls without a `cwd` run; `None` for the project directory, or the server's if there is no project. A relative
    /// one is relative to the project, and must lie in it, if there is one.
    pub cwd: Option<PathBuf>,
    /// The project directory; `None` for the client's first root, if there is one.
    pub project: Option<PathBuf>,
    /// The directory that the `cwd` of every call must lie in.
    pub workspace: Option<PathBuf>,
    /// The directories of which the `cwd` of every call must lie in one.
    pub roots: Roots,
    /// Whether programs under the project directory may run by their path.
    pub project_commands: bool,
    /// Further paths that commands may write in a sandbox.
    pub writable: Vec<PathBuf>,
    /// Whether a sandbox confines commands, so that these directories and the client's roots grant access.
    pub is_confined: bool,
}

/// Where the `cwd` of a call must lie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Roots {
    /// Anywhere.
    #[default]
    Unrestricted,
    /// In one of these directories; an empty list refuses every `cwd`.
    Within(Vec<PathBuf>),
}
