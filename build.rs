//! Links the binary for a quick start on Linux. Programs that embed the crate are linked as they like.
//!
//! - With glibc, it contains the C library and the unwinder, if the machine has them as archives. std asks the linker for shared
//!   libraries, and the loader then looks for them at each start, maps them and relocates them.
//! - In a release, the functions that a start runs are next to each other (`order.ld`). The kernel maps a file in pieces of 64 KB,
//!   and without an order a start touches most of them.
//!
//! A small program is linked in the same way and run first. What does not work for it is left out.

use std::env::var;
use std::fs::{create_dir_all, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// For a packager who wants the C library of the system: if it is set, only the unwinder is linked in.
const SHARED: &str = "ALLOWEXEC_SHARED_LIBC";

/// The libraries that std asks for, by the archives that stand in for them.
///
/// Since glibc 2.34 all but the first three are empty; before, they are parts of the C library.
const ARCHIVES: [(&str, &[&str]); 7] = [
    ("gcc_s", &["libgcc_eh.a"]),
    ("c", &["libc.a", "libgcc_eh.a", "libgcc.a"]),
    ("m", &["libm.a"]),
    ("pthread", &["libpthread.a"]),
    ("dl", &["libdl.a"]),
    ("rt", &["librt.a"]),
    ("util", &["libutil.a"]),
];

/// Puts the functions of a start next to each other.
const ORDER: &str = "order.ld";

/// std refers to it weakly, so the linker would not take it from an archive. Without it, std starts a command that has a directory of its own
/// with fork(2) and execvp(3), and execvp(3) hands a file of an unknown format to `/bin/sh`.
const WANTED: &str = "-Wl,-u,posix_spawn_file_actions_addchdir_np";

/// Writes the addresses that are adjusted at the start in a hundredth of the space: 100 KB less to read. A shared C library would
/// have to know it; the one that is linked in is tried.
const PACKED: &str = "-Wl,-z,pack-relative-relocs";

/// A program that needs each of these libraries. A file of an unknown format must not run in it.
const TRIED: &str = r#"
use std::fs::{set_permissions, write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const ENOEXEC: i32 = 8;

fn main() {
    let power = std::thread::spawn(|| 2_f64.powf(std::env::args().len() as f64)).join().unwrap();
    let caught = std::panic::catch_unwind(move || std::panic::resume_unwind(Box::new(power)));
    assert_eq!(caught.unwrap_err().downcast_ref::<f64>(), Some(&2.0));
    let file = std::env::current_exe().unwrap().with_extension("unknown");
    write(&file, "exit 0").unwrap();
    set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    let started = Command::new(&file).current_dir("/").status();
    assert_eq!(started.unwrap_err().raw_os_error(), Some(ENOEXEC));
}
"#;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={ORDER}");
    println!("cargo:rerun-if-env-changed={SHARED}");
    println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
    let set = |key: &str| var(key).unwrap_or_default();
    // What is linked for another processor can't be tried on this one.
    if set("CARGO_CFG_TARGET_OS") != "linux" || !set("HOST").starts_with(&set("CARGO_CFG_TARGET_ARCH")) {
        return;
    }
    let directory = PathBuf::from(set("OUT_DIR"));
    let is_static = set("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static");
    let mut ways = Vec::new();
    if set("CARGO_CFG_TARGET_ENV") == "gnu" && !is_static && set("HOST") == set("TARGET") {
        if set(SHARED).is_empty() {
            let flags = ["-static-pie", WANTED, PACKED].map(str::to_owned);
            ways.extend(linked_in(&directory.join("all"), &ARCHIVES).map(|path| [vec![path], flags.into()].concat()));
        }
        ways.extend(linked_in(&directory.join("unwinder"), &ARCHIVES[..1]).map(|path| vec![path]));
    }
    ways.push(Vec::new());
    let order = format!("-Wl,-T,{}", Path::new(&set("CARGO_MANIFEST_DIR")).join(ORDER).display());
    // The linker takes long over the many small functions of a build that is not optimised.
    let orders: &[Option<&String>] = if set("OPT_LEVEL") == "0" { &[None] } else { &[Some(&order), None] };
    let candidates = ways.iter().flat_map(|way| orders.iter().map(move |order| way.iter().chain(*order).collect()));
    let works = |arguments: &Vec<&String>| arguments.is_empty() || runs(&directory, arguments);
    for argument in candidates.into_iter().find(works).unwrap_or_default() {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}

/// Writes a linker script for each library, with the name that the linker looks for first; the script names the archives. Returns the
/// argument that leads the linker to them, or `None` if an archive is missing.
fn linked_in(scripts: &Path, libraries: &[(&str, &[&str])]) -> Option<String> {
    create_dir_all(scripts).ok()?;
    for (library, archives) in libraries {
        let paths: Option<Vec<_>> =
            archives.iter().map(|archive| Some(format!("\"{}\"", find(archive)?.display()))).collect();
        write(scripts.join(format!("lib{library}.so")), format!("GROUP({})\n", paths?.join(" "))).ok()?;
    }
    Some(format!("-L{}", scripts.display()))
}

/// Asks the C compiler that links where it has a file.
fn find(archive: &str) -> Option<PathBuf> {
    let compiler = var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let asked = Command::new(compiler).arg(format!("-print-file-name={archive}")).output().ok()?;
    // If the compiler has no such file, it prints the bare name.
    Some(PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim()))
        .filter(|path| path.is_absolute() && path.is_file())
}

/// Whether a program that is linked with these arguments, as the binary will be, runs.
fn runs(directory: &Path, arguments: &[&String]) -> bool {
    let (source, program) = (directory.join("tried.rs"), directory.join("tried"));
    let mut compiler = Command::new(var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()));
    compiler.arg(&source).arg("-o").arg(&program).arg("--target").arg(var("TARGET").unwrap_or_default());
    compiler.args(var("RUSTC_LINKER").ok().map(|linker| format!("-Clinker={linker}")));
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    compiler.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    compiler.args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    write(&source, TRIED).is_ok()
        && compiler.output().is_ok_and(|output| output.status.success())
        && Command::new(&program).output().is_ok_and(|output| output.status.success())
}
