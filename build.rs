//! Links the unwinder of `libgcc_eh.a` into the binary, in place of the shared `libgcc_s.so.1`, if the C compiler has it.
//!
//! std asks the linker for `-lgcc_s`, and the loader then looks for that library at each start, maps it and runs its
//! constructor, which takes a tenth of the start. This affects only the binary, not programs that embed the crate.

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
    // A linker script with the name that std asks for. The linker finds it first, and it names the other file.
    let script = format!("INPUT(\"{}\")\n", library.display());
    if std::fs::write(Path::new(&directory).join("libgcc_s.so"), script).is_ok() {
        println!("cargo:rustc-link-arg-bins=-L{directory}");
    }
}

/// Finds `libgcc_eh.a` of the C compiler that links; `None` if it has none, or if the compiler is not known.
fn unwinder() -> Option<PathBuf> {
    // When cross-compiling, `cc` is the host's compiler, whose file is for another target.
    let linker = match var("RUSTC_LINKER") {
        Ok(linker) => linker,
        Err(_) if var("HOST") == var("TARGET") => "cc".to_owned(),
        Err(_) => return None,
    };
    let asked = Command::new(linker).arg("-print-file-name=libgcc_eh.a").output().ok()?;
    // If the compiler has no such file, it prints the bare name.
    let file = PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim());
    (asked.status.success() && file.is_absolute() && file.is_file()).then_some(file)
}
