//! The parts of the system that commands can reach at each level. Nothing is searched: each directory is granted as it is.

use std::path::Path;
use std::sync::Arc;

use crate::files::{Held, Places, Walked};
use crate::sandbox::{Access, Grant, Level, SandboxSettings};

/// The directories that `workspace` grants to read and execute.
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

/// The directories that `strict` grants to read, in addition to the allowed programs: libraries and data. It contains
/// no directory of programs (`bin`, `sbin`, `libexec`, `games`), nor one that holds whole trees of third-party programs
/// (`/opt`). Some packages keep helper programs below `/usr/lib`; these can be read, and so be loaded by the ELF
/// loader, but not be executed (`spec/sandbox.md`).
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

/// Returns a level's grants of the system. The directories are opened here, once; a link that commands can make is not
/// followed.
pub(in crate::sandbox) fn system_grants(level: Level, writable: &Places) -> Vec<Grant> {
    match level {
        Level::Off => Vec::new(),
        Level::Workspace => workspace(writable),
        Level::Strict => strict(writable),
    }
}

/// Where a level lets commands execute anything.
pub(in crate::sandbox) fn executed_anyway(level: Level) -> &'static [&'static str] {
    match level {
        Level::Off | Level::Strict => &[],
        Level::Workspace => SYSTEM,
    }
}

/// The paths that a level lets commands read without any grant.
pub(in crate::sandbox) fn read_anyway(level: Level) -> &'static [&'static str] {
    match level {
        Level::Off => &[],
        Level::Workspace => SYSTEM,
        Level::Strict => STRICT,
    }
}

/// Returns a sandbox's grants for the programs, for `--read`, `--write` and `--exec`, and for the working directories.
pub(in crate::sandbox) fn own_grants(settings: &SandboxSettings) -> Vec<Grant> {
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

/// Returns the grants of every level: harmless devices, and the files that links in `/etc` lead to.
fn common(writable: &Places) -> impl Iterator<Item = Grant> {
    let devices = open_all(DEVICES, writable).map(|held| Grant::new(held, Access::Device));
    devices.chain(open_all(LINKED, writable).map(|held| Grant::new(held, Access::Read)))
}

/// Returns the grants of `workspace` for the system, if commands may write in `writable`.
pub fn workspace(writable: &Places) -> Vec<Grant> {
    let system = open_all(SYSTEM, writable).map(|held| Grant::new(held, Access::ReadAndExecute));
    common(writable).chain(system).collect()
}

/// Returns the grants of `strict` for the system: libraries and data, and nothing to execute.
pub fn strict(writable: &Places) -> Vec<Grant> {
    let mut grants: Vec<Grant> = common(writable).collect();
    grants.extend(open(Path::new("/proc"), writable).map(|held| Grant::new(held, Access::Read)));
    // Several of these are links to others, on systems that have merged them.
    let mut roots: Vec<Arc<Held>> = open_all(STRICT, writable).collect();
    roots.sort_by(|one, other| one.path().cmp(other.path()));
    roots.dedup_by(|inner, outer| inner.path().starts_with(outer.path()));
    grants.extend(roots.into_iter().map(|held| Grant::new(held, Access::Read)));
    grants
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

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
