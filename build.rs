//! Links the unwinder of `libgcc_eh.a` into the binary, where the C compiler brings it, in place of the shared `libgcc_s.so.1`.
//!
//! std asks the linker for `-lgcc_s`, and the loader then looks for that library at each start, maps it and runs its
//! constructor: a tenth of a start. The binary is all that changes: a program that embeds the crate is linked as it likes.

use std::env::var;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
    let is = |key: &str, value: &str| var(key).is_ok_and(|found| found.split(',').any(|part| part == value));
    let is_shared = is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && !is("CARGO_CFG_TARGET_FEATURE", "crt-static");
    let Some(directory) = var("OUT_DIR").ok().filter(|_| is_shared) else { return };
    let Some(library) = unwinder() else { return };
    // What the linker finds first under the name that std asks for: a script for it, which names the other file.
    let script = format!("INPUT(\"{}\")\n", library.display());
    if std::fs::write(Path::new(&directory).join("libgcc_s.so"), script).is_ok() {
        println!("cargo:rustc-link-arg-bins=-L{directory}");
    }
}

/// The file of the C compiler that links; `None` where it has none, or is none of its kind.
fn unwinder() -> Option<PathBuf> {
    // Another compiler than the target's own has another file.
    let linker = match var("RUSTC_LINKER") {
        Ok(linker) => linker,
        Err(_) if var("HOST") == var("TARGET") => "cc".to_owned(),
        Err(_) => return None,
    };
    let asked = Command::new(linker).arg("-print-file-name=libgcc_eh.a").output().ok()?;
    // A compiler that has no such file repeats the name.
    let file = PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim());
    (asked.status.success() && file.is_absolute() && file.is_file()).then_some(file)
}
