//! Why commands can't be confined as the operator asked.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::Level;

/// What keeps a sandbox from being enforced. Commands do not run then.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// The kernel lacks what the level needs.
    #[error(
        "`--sandbox {level}` can't be enforced here: it needs Landlock ABI {needed}, and {found}; missing: {missing}; run a \
         newer kernel, choose another level, or accept what there is with `--sandbox-best-effort`"
    )]
    NotEnforceable {
        /// The level that was asked for.
        level: Level,
        /// The ABI that it needs.
        needed: u8,
        /// What the kernel has.
        found: String,
        /// What is not enforced without it.
        missing: String,
    },
    /// The kernel has Landlock, but refused the rules.
    #[error("the kernel refused the rules of the sandbox: {source}")]
    Rules {
        /// What the kernel says.
        source: Box<dyn Error + Send + Sync>,
    },
    /// No place could be made for the commands' temporary files.
    #[error("no temporary directory could be made for the commands in `{}`: {source}", .parent.display())]
    Temporary {
        /// Where it was to be.
        parent: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The thread is confined by the rules of another sandbox already, which can't be taken off.
    #[error("the thread is confined to other directories already")]
    OtherDomain,
}
