//! What of the system commands can reach at each level.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::programs::{self, Elf};
use super::{Access, Grant, Level, SandboxSettings};

/// What `workspace` grants to read and execute.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/proc",
];

/// What `strict` grants to read, beside the programs that are found in it: libraries and data. No directory of programs
/// (`bin`, `sbin`, `libexec`, `games`) stands here, nor a place that holds whole trees of other people's programs (`/opt`).
const STRICT: &[&str] = &[
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/share",
    "/usr/include",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/share",
    "/usr/local/include",
    "/usr/local/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
];

/// Devices that hold nothing of anybody's.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Files of the system that links in `/etc` lead to, outside of what is granted otherwise.
const LINKED: &[&str] = &["/etc/resolv.conf", "/etc/localtime"];

/// Names of directories of programs, wherever they are met.
const PROGRAM_DIRECTORIES: &[&str] = &["bin", "sbin", "libexec", "games"];

/// What a level grants of the system.
pub(super) fn system_grants(level: Level) -> Vec<Grant> {
    match level {
        Level::Off => Vec::new(),
        Level::Workspace => workspace(),
        Level::Strict => strict(),
    }
}

/// What a sandbox grants of the programs, by `--read`, `--write` and `--exec`, and of the directories of the work.
pub(super) fn own_grants(settings: &SandboxSettings) -> Vec<Grant> {
    let SandboxSettings { level, programs, search_path, directories, read, write, exec, .. } = settings;
    if *level == Level::Off {
        return Vec::new();
    }
    let mut executed: BTreeSet<PathBuf> = exec.iter().cloned().collect();
    for program in programs.iter().chain(exec) {
        executed.extend(programs::executed(program, search_path));
    }
    let executed = executed.into_iter().map(|path| Grant::new(path, Access::ReadAndExecute));
    let written = write.iter().chain(directories).map(|path| Grant::new(path, work(*level)));
    executed.chain(written).chain(read.iter().map(|path| Grant::new(path, Access::Read))).collect()
}

/// At `workspace` what can be read can be executed anyway, by the loader or an interpreter, so projects may run their own.
fn work(level: Level) -> Access {
    match level {
        Level::Off | Level::Workspace => Access::WriteAndExecute,
        Level::Strict => Access::Write,
    }
}

/// What every level grants: the harmless devices, and the files that links of `/etc` lead to.
fn common() -> impl Iterator<Item = Grant> {
    let devices = DEVICES.iter().map(|path| Grant::new(*path, Access::Device));
    let linked = LINKED.iter().filter_map(|path| fs::canonicalize(path).ok());
    devices.chain(linked.map(|path| Grant::new(path, Access::Read)))
}

/// What `workspace` grants of the system.
pub fn workspace() -> Vec<Grant> {
    common().chain(SYSTEM.iter().map(|path| Grant::new(*path, Access::ReadAndExecute))).collect()
}

/// What `strict` grants of the system: all but programs, and nothing to execute.
pub fn strict() -> Vec<Grant> {
    let mut grants: Vec<Grant> = common().collect();
    grants.push(Grant::new("/proc", Access::Read));
    // Several of these are links to one of the others where the system has merged them.
    let mut roots: Vec<PathBuf> = STRICT.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    roots.sort();
    roots.dedup_by(|inner, outer| inner.starts_with(&*outer));
    for root in roots {
        grants.extend(readable(&root));
    }
    grants
}

/// Grants to read all under `root` but programs.
///
/// Landlock can't take away beneath what it has granted, so a directory with a program in it, at whatever depth, is
/// granted piece by piece. A program is an executable file in ELF that is no library: the loader could be told to start
/// it as soon as it is readable. A script could only be read, since its interpreter must be granted to be executed.
/// What is in a directory can be listed everywhere.
pub fn readable(root: &Path) -> Vec<Grant> {
    let mut grants = Vec::new();
    if scan(root, &mut grants) == Found::Program {
        grants.push(Grant::new(root, Access::List));
        return grants;
    }
    vec![Grant::new(root, Access::Read)]
}

/// Whether a program is at or under a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Program,
    None,
}

/// Looks through a directory; where it holds a program, `grants` gets what else is in it, and else stays as it was.
fn scan(directory: &Path, grants: &mut Vec<Grant>) -> Found {
    let before = grants.len();
    let mut pieces = Vec::new();
    let mut found = Found::None;
    // What can't be listed by this user can't be read by his commands.
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            let is_program_directory = PROGRAM_DIRECTORIES.iter().any(|name| entry.file_name() == *name);
            if is_program_directory || scan(&entry.path(), grants) == Found::Program {
                found = Found::Program;
            } else {
                pieces.push(entry.path());
            }
        } else if kind.is_file() {
            let is_executable = entry.metadata().map_or(true, |metadata| metadata.permissions().mode() & 0o111 != 0);
            if is_executable && is_program(&entry.path()) {
                found = Found::Program;
            } else {
                pieces.push(entry.path());
            }
        }
    }
    match found {
        Found::Program => grants.extend(pieces.into_iter().map(|piece| Grant::new(piece, Access::Read))),
        Found::None => grants.truncate(before),
    }
    found
}

fn is_program(path: &Path) -> bool {
    let mut head = [0; 64];
    // What this user can't read, his commands can't either.
    let read = File::open(path).and_then(|mut file| file.read(&mut head));
    let Ok(count) = read else { return false };
    let name = path.file_name().unwrap_or_default();
    Elf::parse(head.get(..count).unwrap_or_default()).is_some_and(|elf| elf.is_program(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beside_a_program_is_granted_piece_by_piece() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let executable = fs::read("/proc/self/exe").unwrap();
        let write = |path: &str, bytes: &[u8], mode: u32| {
            let path = base.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let shown = || {
            let mut shown: Vec<String> = readable(&base)
                .into_iter()
                .map(|grant| format!("{} {:?}", grant.path.strip_prefix(&base).unwrap().display(), grant.access))
                .collect();
            shown.sort();
            shown
        };
        write("data/text", b"text", 0o644);
        write("data/deep/script", b"#!/bin/sh\n", 0o755);
        write("lib.so.1", &executable, 0o755);
        write("top", b"", 0o644);
        assert_eq!(shown(), [" Read"]);
        write("tool/inner/program", &executable, 0o755);
        write("tool/inner/readme", b"", 0o644);
        write("tool/helper", b"", 0o644);
        write("other/bin/script", b"#!/bin/sh\n", 0o755);
        assert_eq!(
            shown(),
            [" List", "data Read", "lib.so.1 Read", "tool/helper Read", "tool/inner/readme Read", "top Read"]
        );
    }
}
