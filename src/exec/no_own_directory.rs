//! Stands where the server's own directory would, on platforms that don't tell in which mount a directory is: every command enters
//! its own.

use crate::files::Held;

/// Does nothing on this platform.
pub(crate) fn stay_in_directory() {}

/// Never here.
pub(super) fn is_inherited(_directory: &Held) -> bool {
    false
}
