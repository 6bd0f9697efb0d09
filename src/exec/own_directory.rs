//! The directory of this very process (Linux), which its commands inherit: to enter it anew by its handle is the dearest
//! call of a start, since the kernel makes a folder of `/proc` for the new process to look into.

use std::path::Path;
use std::sync::OnceLock;

use crate::files::Held;

/// It is held, so that no other directory can take its identity.
static OWN: OnceLock<Held> = OnceLock::new();

/// For a program whose directory never changes: notes which one that is.
pub(crate) fn stay_in_directory() {
    // Without it commands enter their directory as they do elsewhere.
    if let Ok(here) = Held::open_directory(Path::new(".")) {
        OWN.get_or_init(|| here);
    }
}

/// Whether this is the directory that commands inherit, by the same path: another mount of it is another directory to
/// them.
pub(super) fn is_inherited(directory: &Held) -> bool {
    OWN.get().is_some_and(|own| own.identity() == directory.identity() && own.path() == directory.path())
}
