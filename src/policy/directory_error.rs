//! Why a call can't run where it asked to, as sentences for the model.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::client_roots::ADVICE;
use super::directory::FIRST_ROOT;
use super::quoted::quoted;

/// Why a call can't run where it asked to.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// `cwd` is the empty string.
    #[error("`cwd` is empty; name a directory, or leave `cwd` out to run in {}", shown(.base))]
    Empty {
        /// Where a call without `cwd` runs.
        base: PathBuf,
    },
    /// `cwd` holds a NUL.
    #[error("`cwd` {} holds a NUL character, which no path can hold; name an existing directory", quoted(.cwd))]
    Nul {
        /// As the client gave it.
        cwd: String,
    },
    /// Nothing is there.
    #[error("`cwd` {} does not exist (looked for {}); name an existing directory", quoted(.cwd), shown(.path))]
    NotFound {
        /// As the client gave it.
        cwd: String,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// It is not a directory.
    #[error("`cwd` {} is not a directory; name an existing directory", quoted(.cwd))]
    NotADirectory {
        /// As the client gave it.
        cwd: String,
    },
    /// It exists, but can't be entered or resolved.
    #[error("`cwd` {} can't be used: {source}; name another directory", quoted(.cwd))]
    Unusable {
        /// As the client gave it.
        cwd: String,
        /// The system's error.
        source: io::Error,
    },
    /// It lies outside the roots.
    #[error("`cwd` {} is not allowed: it is not inside an allowed root; allowed roots: {}", quoted(.cwd), list(.roots))]
    OutsideRoots {
        /// As the client gave it.
        cwd: String,
        /// The canonical roots.
        roots: Vec<PathBuf>,
    },
    /// It lies outside the workspace.
    #[error("`cwd` {} is not allowed: it is not inside the workspace directory {}", quoted(.cwd), shown(.workspace))]
    OutsideWorkspace {
        /// As the client gave it.
        cwd: String,
        /// The canonical workspace directory.
        workspace: PathBuf,
    },
    /// One of the operator's directories can't be resolved, so nothing can be compared with it.
    #[error(
        "configuration problem with {setting}: {} can't be resolved ({}), so no call that names a `cwd` is served; \
         leave `cwd` out, or ask the operator to fix the setting",
        shown(.path), why(.source)
    )]
    Unresolvable {
        /// The setting that names it.
        setting: &'static str,
        /// As the operator gave it.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The operator's list of roots is set, but empty.
    #[error(
        "configuration problem with {ROOTS}: it is set but holds no directory, so no call that names a `cwd` is \
         served; leave `cwd` out, or ask the operator to fix the setting"
    )]
    NoRoots,
    /// The call is meant to run in a root of the client that does not count.
    #[error(
        "the client's root {} is not used: with `--sandbox` a client's roots count only inside directories that the operator \
         named, and none is named; ask the operator to {ADVICE}, or to say `--roots ignore`",
        shown(.root)
    )]
    RootsUnbounded {
        /// The root, canonical.
        root: PathBuf,
    },
    /// A command of the client's project, whose commands do not count.
    #[error(
        "command {} is not allowed: `--allow-project-commands` allows commands of a project that the client named only \
         inside directories that the operator named, and none is named; ask the operator to {ADVICE}",
        quoted(.word)
    )]
    ProjectUnbounded {
        /// The first word.
        word: String,
    },
    /// A relative `--cwd` leads out of the project.
    #[error(
        "{} of `--cwd` lies outside {} of {project_setting}, and a relative `--cwd` names a directory within the project; \
         ask the operator to fix it",
        shown(.path),
        shown(.project)
    )]
    BaseOutside {
        /// Where it leads, canonical.
        path: PathBuf,
        /// The project directory, canonical.
        project: PathBuf,
        /// Where that comes from.
        project_setting: &'static str,
    },
    /// The directory of calls without a `cwd` can't be used.
    #[error(
        "the directory {} of {setting}, where calls without a `cwd` run, can't be used: {source}; {}",
        shown(.path),
        mend(.setting)
    )]
    BaseUnusable {
        /// The setting that names it.
        setting: &'static str,
        /// As configured.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl DirectoryError {
    /// The sentence for the operator, who reads it in the log and in `doctor` and mends the setting.
    pub(crate) fn for_operator(&self) -> String {
        let help = match self {
            Self::Unresolvable { .. } | Self::BaseUnusable { .. } => "name a directory that can be entered",
            Self::NoRoots => "name a directory, or leave the setting out",
            Self::BaseOutside { .. } => "name a directory within the project",
            _ => return self.to_string(),
        };
        let text = self.to_string();
        // What the model is told to do comes after the last semicolon.
        format!("{}; {help}", text.rsplit_once("; ").map_or(&*text, |(what, _)| what))
    }
}

pub(super) const ROOTS: &str = "`ALLOWED_CWD_ROOTS` (`--cwd-root`)";
pub(super) const PROJECT: &str = "`--project-dir`";
pub(super) const WORKSPACE: &str = "`ALLOWEXEC_WORKSPACE_DIR` (`--workspace-dir`)";

/// Advises how to mend a base that can't be used. The operator's is opened only at the start, a client's when it sends
/// its roots.
fn mend(setting: &str) -> &'static str {
    if setting == FIRST_ROOT {
        "open another directory in the client"
    } else {
        "ask the operator to fix it, and to restart the server"
    }
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

fn why(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "there is no such directory".to_owned(),
        _ => source.to_string(),
    }
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(", ")
}
