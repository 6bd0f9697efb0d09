//! The file that this program was started from.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// This program's own binary: on Linux even if its path now leads elsewhere, on other platforms the path that it had when
/// this was first called.
///
/// # Errors
/// If the system does not tell it.
pub(crate) fn own_binary() -> io::Result<&'static Path> {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    if cfg!(target_os = "linux") {
        return Ok(Path::new("/proc/self/exe"));
    }
    if let Some(found) = FOUND.get() {
        return Ok(found);
    }
    let found = std::env::current_exe()?.canonicalize()?;
    Ok(FOUND.get_or_init(|| found))
}
