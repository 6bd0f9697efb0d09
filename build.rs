//! Passes the linker one argument where the C library is linked statically (musl, or glibc with `crt-static`). Runs nothing.

use std::env::var;

/// std looks for this function by a weak reference, for which the linker takes nothing out of an archive. Without the function, std
/// starts a command that has a directory of its own by fork(2) instead of posix_spawn(3), and glibc's execvp(3) then hands a file of an
/// unknown format to `/bin/sh`.
const WANTED: &str = "-Wl,-u,posix_spawn_file_actions_addchdir_np";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let set = |key: &str| var(key).unwrap_or_default();
    let is_static = set("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static");
    if is_static && set("CARGO_CFG_TARGET_OS") == "linux" {
        println!("cargo:rustc-link-arg-bins={WANTED}");
    }
}
