//! Why commands can't be confined as the operator asked.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a sandbox can't be enforced. Commands do not run then.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// The kernel lacks what the level needs.
    #[error(
        "`{asked}` can't be enforced here: it needs {needed}, and {found}; missing: {missing}; run a newer kernel, \
         choose another {choice}, or accept what there is with `--sandbox-best-effort`"
    )]
    NotEnforceable {
        /// The flags that ask for it.
        asked: String,
        /// The kernel features that it needs.
        needed: String,
        /// The features of this kernel.
        found: String,
        /// The restrictions that are not enforced without it.
        missing: String,
        /// The other choices.
        choice: &'static str,
    },
    /// The kernel can't keep commands from writing.
    #[error(
        "`write: none` of its rule needs Landlock ABI {needed}, and {found}; run a newer kernel, or accept that it can write with \
         `--sandbox-best-effort`"
    )]
    NotReadOnly {
        /// The oldest ABI that is enough.
        needed: u8,
        /// The features of this kernel.
        found: String,
    },
    /// The kernel has Landlock, but refused the rules.
    #[error("the kernel refused the rules of the sandbox: {source}")]
    Rules {
        /// The kernel's error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A path leads through a link that a command may have made.
    #[error(
        "{setting} names `{}`, and the link `{}` on the way lies where commands may write, so a command can decide what is \
         granted; it leads to `{}` now: if that is what you mean, name it instead", .path.display(), .link.display(),
        .found.display()
    )]
    WritableLink {
        /// The setting that names it.
        setting: &'static str,
        /// As it was named, absolute.
        path: PathBuf,
        /// The link.
        link: PathBuf,
        /// Where the path leads.
        found: PathBuf,
    },
    /// No temporary directory could be made for the commands.
    #[error("no temporary directory could be made for the commands in `{}`: {source}", .parent.display())]
    Temporary {
        /// The directory in which it was to be made.
        parent: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system lets no call have a network of its own.
    #[error(
        "`network: loopback` can't be enforced here, since a call's own network could not be made ({what}: {source}); \
         {mend}, or choose `--network none`"
    )]
    NoOwnNetwork {
        /// The part that could not be made.
        what: &'static str,
        /// The system's error.
        source: io::Error,
        /// Advice for the operator.
        mend: String,
    },
    /// The network of the call was made, and could not be entered.
    #[error("the call's own network could not be entered: {source}")]
    NotEntered {
        /// The system's error.
        source: io::Error,
    },
    /// The thread is confined by the rules of another sandbox already, which can't be removed.
    #[error("the thread is confined to other directories already")]
    OtherDomain,
}
