//! The operator's settings about directories.

use std::path::PathBuf;
use std::sync::Arc;

use crate::files::Held;

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

impl DirectorySettings {
    /// Where commands may have put links before this start. This matters only in a sandbox: without one, commands can write
    /// wherever the server's user can.
    pub(super) fn writable_by_commands(&self) -> Vec<Arc<Held>> {
        if !self.is_confined {
            return Vec::new();
        }
        let roots = match &self.roots {
            Roots::Unrestricted => &[][..],
            Roots::Within(roots) => roots,
        };
        let all = self.workspace.iter().chain(&self.project).chain(roots).chain(&self.writable);
        // Links are followed here. A link in place of a directory can add a directory to this list, but can't remove those around
        // it.
        all.filter_map(|path| Held::open_directory(&self.server.join(path)).ok()).map(Arc::new).collect()
    }
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
