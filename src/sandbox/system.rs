//! The parts of the system that commands can reach at each level.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Access, Grant, GrantedPlace, Level, SandboxSettings};
use crate::files::{Held, Places, Walked, open_without_waiting};
use crate::integrity::Elf;

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

/// What `strict` grants to read, in addition to the allowed programs: libraries and data. It contains no directory of
/// programs (`bin`, `sbin`, `libexec`, `games`), nor one that holds whole trees of third-party programs (`/opt`).
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

/// Devices that hold no data of anyone.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// System files that links in `/etc` lead to, outside the other grants.
const LINKED: &[&str] = &["/etc/resolv.conf", "/etc/localtime"];

/// Names of directories of programs, at any depth.
const PROGRAM_DIRECTORIES: &[&str] = &["bin", "sbin", "libexec", "games"];

/// What a level grants of the system. The directories are opened here, once; a link that commands can make is not
/// followed.
pub(super) fn system_grants(level: Level, writable: &Places) -> Vec<Grant> {
    match level {
        Level::Off => Vec::new(),
        Level::Workspace => workspace(writable),
        Level::Strict => strict(writable),
    }
}

/// Where a level lets commands execute anything.
pub(super) fn executed_anyway(level: Level) -> &'static [&'static str] {
    match level {
        Level::Off | Level::Strict => &[],
        Level::Workspace => SYSTEM,
    }
}

/// The paths that a level lets commands read without any grant.
pub(super) fn read_anyway(level: Level) -> &'static [&'static str] {
    match level {
        Level::Off => &[],
        Level::Workspace => SYSTEM,
        Level::Strict => STRICT,
    }
}

/// What a sandbox grants for the programs, for `--read`, `--write` and `--exec`, and for the working directories.
pub(super) fn own_grants(settings: &SandboxSettings) -> Vec<Grant> {
    let SandboxSettings { level, programs, directories, read, write, exec, is_read_only, .. } = settings;
    if *level == Level::Off {
        return Vec::new();
    }
    let grant = |access: Access| move |held: &Arc<Held>| Grant::new(Arc::clone(held), access);
    let executed = programs.files().chain(exec).map(grant(Access::ReadAndExecute));
    let written = write.iter().chain(directories).map(grant(work(*level, *is_read_only)));
    executed.chain(written).chain(read.iter().map(grant(Access::Read))).collect()
}

/// At `workspace` a readable file can be executed anyway, by the loader or an interpreter, so projects may run their
/// own programs.
fn work(level: Level, is_read_only: bool) -> Access {
    match (level, is_read_only) {
        (Level::Off | Level::Workspace, false) => Access::WriteAndExecute,
        (Level::Off | Level::Workspace, true) => Access::ReadAndExecute,
        (Level::Strict, false) => Access::Write,
        (Level::Strict, true) => Access::Read,
    }
}

/// Opens a path of the system; `None` if it does not exist, or if a link leads to it that commands can make.
fn open(path: &Path, writable: &Places) -> Option<Arc<Held>> {
    let walked = Walked::to(path).ok().filter(|walked| writable.first_link(walked).is_none())?;
    Some(Arc::clone(walked.held()))
}

/// Opens paths of the system, each of them once.
fn open_all(paths: &'static [&str], writable: &Places) -> impl Iterator<Item = Arc<Held>> {
    let mut found: Vec<Arc<Held>> = Vec::new();
    for held in paths.iter().filter_map(|path| open(Path::new(path), writable)) {
        if !found.iter().any(|other| other.identity() == held.identity()) {
            found.push(held);
        }
    }
    found.into_iter()
}

/// What every level grants: harmless devices, and the files that links in `/etc` lead to.
fn common(writable: &Places) -> impl Iterator<Item = Grant> {
    let devices = open_all(DEVICES, writable).map(|held| Grant::new(held, Access::Device));
    devices.chain(open_all(LINKED, writable).map(|held| Grant::new(held, Access::Read)))
}

/// What `workspace` grants of the system, if commands may write in `writable`.
pub fn workspace(writable: &Places) -> Vec<Grant> {
    let system = open_all(SYSTEM, writable).map(|held| Grant::new(held, Access::ReadAndExecute));
    common(writable).chain(system).collect()
}

/// What `strict` grants of the system: everything but programs, and nothing to execute.
pub fn strict(writable: &Places) -> Vec<Grant> {
    let mut grants: Vec<Grant> = common(writable).collect();
    grants.extend(open(Path::new("/proc"), writable).map(|held| Grant::new(held, Access::Read)));
    // Several of these are links to others, on systems that have merged them.
    let mut roots: Vec<Arc<Held>> = open_all(STRICT, writable).collect();
    roots.sort_by(|one, other| one.path().cmp(other.path()));
    roots.dedup_by(|inner, outer| inner.path().starts_with(outer.path()));
    grants.extend(roots.iter().flat_map(readable));
    grants
}

/// Grants reading everything under `root` except programs.
///
/// Landlock can't take away access beneath a grant, so a directory with a program in it, at any depth, is granted piece
/// by piece, each by its path beneath `root`. A program is an executable ELF file that is not a library: the loader
/// could start it as soon as it is readable. A script could only be read, since its interpreter must be granted for
/// execution. Directories can be listed everywhere.
pub fn readable(root: &Arc<Held>) -> Vec<Grant> {
    let whole = |access: Access| Grant::new(Arc::clone(root), access);
    let (base, mut pieces) = (root.spawn_path(), Vec::new());
    if scan(&base, &mut pieces) == Found::None {
        return vec![whole(Access::Read)];
    }
    let beneath = |piece: &PathBuf| {
        let place = GrantedPlace::Beneath(Arc::clone(root), piece.strip_prefix(&base).ok()?.to_owned());
        Some(Grant { place, access: Access::Read })
    };
    pieces.iter().filter_map(beneath).chain([whole(Access::List)]).collect()
}

/// Whether a program is at or under a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Program,
    None,
}

/// Searches a directory. If it holds a program, the other files and directories in it are added to `pieces`, otherwise
/// `pieces` stays as it was. No command of this server runs yet, so none can move anything meanwhile.
fn scan(directory: &Path, pieces: &mut Vec<PathBuf>) -> Found {
    let before = pieces.len();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return not_opened(&error),
    };
    let mut own = Vec::new();
    let mut found = Found::None;
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let is_granted = if kind.is_dir() {
            let is_program_directory = PROGRAM_DIRECTORIES.iter().any(|name| entry.file_name() == *name);
            !is_program_directory && scan(&entry.path(), pieces) == Found::None
        } else if kind.is_file() {
            let is_executable = entry.metadata().map_or(true, |metadata| metadata.permissions().mode() & 0o111 != 0);
            !is_executable || !is_program(&entry.path())
        } else {
            continue;
        };
        if is_granted {
            own.push(entry.path());
        } else {
            found = Found::Program;
        }
    }
    match found {
        Found::Program => pieces.extend(own),
        Found::None => pieces.truncate(before),
    }
    found
}

/// What this user can't read, the commands can't read either. If a file could not be opened for another reason nothing
/// is known about it, so it is not granted.
fn not_opened(error: &io::Error) -> Found {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Found::None,
        _ => Found::Program,
    }
}

fn is_program(path: &Path) -> bool {
    let mut head = [0; 64];
    let count = match open_without_waiting(path).and_then(|mut file| file.read(&mut head)) {
        Ok(count) => count,
        Err(error) => return not_opened(&error) == Found::Program,
    };
    let name = path.file_name().unwrap_or_default();
    Elf::parse(head.get(..count).unwrap_or_default()).is_some_and(|elf| elf.is_program(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

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
            let mut shown: Vec<String> = readable(&Arc::new(Held::open(&base).unwrap()))
                .into_iter()
                .map(|grant| format!("{} {:?}", grant.path().strip_prefix(&base).unwrap().display(), grant.access))
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

    #[test]
    fn a_piece_that_became_a_link_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(base.join("root/data/deep")).unwrap();
        let root = Held::open(&base.join("root")).unwrap();
        assert!(root.open_beneath(Path::new("data/deep")).is_ok());
        fs::rename(base.join("root/data"), base.join("away")).unwrap();
        symlink(base.join("away"), base.join("root/data")).unwrap();
        for path in ["data/deep", "data", "../away", "/etc"] {
            assert!(root.open_beneath(Path::new(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn a_place_of_the_system_that_commands_could_have_linked_is_not_granted() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(base.join("system/lib")).unwrap();
        symlink("lib", base.join("system/lib64")).unwrap();
        let open = |writable: &Places| {
            let found = ["lib", "lib64", "missing"].map(|name| open(&base.join("system").join(name), writable));
            found.map(|held| held.is_some())
        };
        assert_eq!(open(&Places::default()), [true, true, false]);
        let writable = [Arc::new(Held::open(&base).unwrap())].into_iter().collect();
        assert_eq!(open(&writable), [true, false, false]);
    }
}
