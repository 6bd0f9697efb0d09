//! Links the C library and the unwinder into the binary, where the machine has them as archives (Linux with glibc).
//!
//! std asks the linker for shared libraries. The loader then looks for them at each start, maps them and relocates them, which
//! takes a quarter of the start and a fifth of the memory. This affects only the binary, not programs that embed the crate.

use std::env::var;
use std::fs::{create_dir_all, write};
use std::io;
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

/// std refers to it weakly, so the linker would not take it from an archive. Without it, std starts a command that has a directory of its own
/// with fork(2) and execvp(3), and execvp(3) hands a file of an unknown format to `/bin/sh`.
const WANTED: &str = "-Wl,-u,posix_spawn_file_actions_addchdir_np";

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
    println!("cargo:rerun-if-env-changed={SHARED}");
    let is = |key: &str, value: &str| var(key).is_ok_and(|found| found.split(',').any(|part| part == value));
    let is_shared = is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && !is("CARGO_CFG_TARGET_FEATURE", "crt-static");
    // What is linked for another machine can't be tried on this one.
    if !is_shared || var("HOST") != var("TARGET") {
        return;
    }
    let Ok(directory) = var("OUT_DIR") else { return };
    let everything: &[_] = if var(SHARED).is_ok_and(|set| !set.is_empty()) { &[] } else { &ARCHIVES };
    for (archives, flags) in [(everything, &["-static-pie", WANTED][..]), (&ARCHIVES[..1], &[])] {
        let scripts = Path::new(&directory).join(archives.len().to_string());
        let found = !archives.is_empty() && write_scripts(&scripts, archives).is_ok();
        let mut arguments = vec![format!("-L{}", scripts.display())];
        arguments.extend(flags.iter().map(|&flag| flag.to_owned()));
        if found && runs(&scripts, &arguments) {
            return arguments.iter().for_each(|argument| println!("cargo:rustc-link-arg-bins={argument}"));
        }
    }
}

/// Writes a linker script for each library, with the name that the linker looks for first. The script names the archives.
fn write_scripts(directory: &Path, libraries: &[(&str, &[&str])]) -> io::Result<()> {
    create_dir_all(directory)?;
    for (library, archives) in libraries {
        let paths = archives.iter().map(|archive| Ok(format!("\"{}\"", find(archive)?.display())));
        let paths = paths.collect::<io::Result<Vec<_>>>()?;
        write(directory.join(format!("lib{library}.so")), format!("GROUP({})\n", paths.join(" ")))?;
    }
    Ok(())
}

/// Asks the C compiler that links where it has a file.
fn find(archive: &str) -> io::Result<PathBuf> {
    let compiler = var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let asked = Command::new(compiler).arg(format!("-print-file-name={archive}")).output()?;
    // If the compiler has no such file, it prints the bare name.
    let path = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
    if path.is_absolute() && path.is_file() { Ok(path) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Whether a program that is linked with these arguments, as the binary will be, runs.
fn runs(directory: &Path, arguments: &[String]) -> bool {
    let (source, program) = (directory.join("tried.rs"), directory.join("tried"));
    let mut compiler = Command::new(var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()));
    compiler.arg(&source).arg("-o").arg(&program);
    compiler.args(var("RUSTC_LINKER").ok().map(|linker| format!("-Clinker={linker}")));
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    compiler.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    compiler.args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    write(&source, TRIED).is_ok()
        && compiler.output().is_ok_and(|output| output.status.success())
        && Command::new(&program).output().is_ok_and(|output| output.status.success())
}
