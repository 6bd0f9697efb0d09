//! What the operator says of directories.

use std::path::PathBuf;

/// What the operator said of directories. Relative ones are relative to `cwd`, then the project, then the server's.
#[derive(Debug, Clone, Default)]
pub struct DirectorySettings {
    /// The directory that the server was started in, absolute.
    pub server: PathBuf,
    /// Where calls run that name no `cwd`; `None`: in the project directory, else in the server's. A relative one lies
    /// within the project, where there is one.
    pub cwd: Option<PathBuf>,
    /// What relative directories are relative to.
    pub project: Option<PathBuf>,
    /// Outside of it no client's `cwd` may lie.
    pub workspace: Option<PathBuf>,
    /// Where a client's `cwd` must lie.
    pub roots: Roots,
    /// Whether a command may be given by a path under the project directory.
    pub project_commands: bool,
    /// What else commands may write in a sandbox; relative to the server's directory.
    pub writable: Vec<PathBuf>,
    /// Whether a sandbox grants the directories of the work, those of a client among them.
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
