//! Where cgroups can be made: the hierarchies of this process that have a controller, read from `/proc`, see
//! cgroups(7).
//!
//! Both versions are supported. In version 2 a process is in one cgroup for all controllers, in version 1 in one for
//! each hierarchy of controllers.

use std::fs;
use std::path::{Path, PathBuf};

/// A controller that enforces a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    Memory,
    Pids,
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
        }
    }
}

/// The version of a hierarchy, which decides what the files are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A cgroup in which cgroups with the controller may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParentCgroup {
    pub version: Version,
    pub directory: PathBuf,
}

/// The cgroup of this process in version 2, in which a cgroup without limits might be made.
pub(super) fn own_of_version_two() -> Option<PathBuf> {
    own_in(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
}

fn own_in(own: &str, mounts: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().filter_map(Mount::parse).find(|mount| mount.kind == "cgroup2")?.directory(path)
}

/// A file of `/proc`; empty if there is none.
fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// The possible parents for a controller, the nearest first, whether or not this process may make cgroups there.
pub(super) fn places(controller: Controller) -> Vec<ParentCgroup> {
    places_in(controller, &read("/proc/self/cgroup"), &read("/proc/self/mountinfo"), |directory| {
        fs::read_to_string(directory.join("cgroup.subtree_control")).unwrap_or_default()
    })
}

fn places_in(
    controller: Controller,
    own: &str,
    mounts: &str,
    subtree_control: impl Fn(&Path) -> String,
) -> Vec<ParentCgroup> {
    let has = |list: &str, separator: char| list.split(separator).any(|name| name.trim() == controller.name());
    let mut places = Vec::new();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        if controllers.is_empty() {
            let Some(mount) =
                mounts.lines().find_map(|line| Mount::parse(line).filter(|mount| mount.kind == "cgroup2"))
            else {
                continue;
            };
            // A cgroup that holds processes can't give controllers to its children, so the own one seldom can; one
            // above it may, if it was delegated to this user.
            let directories = mount.directory(path).map(|directory| {
                let within = directory.ancestors().take_while(|above| above.starts_with(mount.point));
                within.map(Path::to_owned).collect::<Vec<_>>()
            });
            let giving = directories.into_iter().flatten().filter(|above| has(&subtree_control(above), ' '));
            places.extend(giving.map(|directory| ParentCgroup { version: Version::Two, directory }));
        } else if has(controllers, ',') {
            let mount = mounts
                .lines()
                .find_map(|line| Mount::parse(line).filter(|mount| mount.kind == "cgroup" && has(mount.options, ',')));
            let directory = mount.and_then(|mount| mount.directory(path));
            places.extend(directory.map(|directory| ParentCgroup { version: Version::One, directory }));
        }
    }
    places
}

/// A line of `/proc/self/mountinfo`, see proc(5).
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (fields, of_system) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let mut of_system = of_system.split(' ');
        let kind = of_system.next()?;
        Some(Self { root, point, kind, options: of_system.nth(1)? })
    }

    /// Where the cgroup with this path is; `None` if it is not below the mount.
    fn directory(&self, path: &str) -> Option<PathBuf> {
        let below = Path::new(path).strip_prefix(self.root).ok()?;
        let is_plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        is_plain.then(|| {
            let mut directory = PathBuf::from(self.point);
            // If the cgroup is the mounted one, nothing is added, not even a separator.
            directory.extend(below);
            directory
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
30 24 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw
36 30 0:32 / /sys/fs/cgroup/memory rw,nosuid shared:1 - cgroup cgroup rw,memory
37 30 0:33 /docker/abc /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids
";

    fn check(controller: Controller, own: &str, mounts: &str, expected: &[(Version, &str)]) {
        let giving = |directory: &Path| match directory.to_str() {
            Some("/sys/fs/cgroup" | "/sys/fs/cgroup/user.slice/app.slice") => "cpu memory pids\n".to_owned(),
            _ => "\n".to_owned(),
        };
        let places = places_in(controller, own, mounts, giving);
        let shown: Vec<_> = places.iter().map(|place| (place.version, place.directory.to_str().unwrap())).collect();
        assert_eq!(shown, expected, "{own}");
    }

    #[test]
    fn each_version_has_its_places() {
        use Controller::{Memory, Pids};
        let unified = "31 24 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let nested = [(Version::Two, "/sys/fs/cgroup/user.slice/app.slice"), (Version::Two, "/sys/fs/cgroup")];
        check(Memory, "0::/user.slice/app.slice/x.scope\n", unified, &nested);
        check(Memory, "0::/\n", unified, &[(Version::Two, "/sys/fs/cgroup")]);
        check(Memory, "0::/../outside\n", unified, &[]);
        check(Memory, "4:memory:/x/y\n0::/\n", HYBRID, &[(Version::One, "/sys/fs/cgroup/memory/x/y")]);
        check(Pids, "8:cpu,pids:/docker/abc/d\n0::/\n", HYBRID, &[(Version::One, "/sys/fs/cgroup/pids/d")]);
        check(Pids, "8:pids:/elsewhere\n", HYBRID, &[]);
        check(Pids, "", "", &[]);
        check(Pids, "no line of it\n:\n::\n", "nor here\n - \n", &[]);
    }

    #[test]
    fn the_own_cgroup_of_version_two_is_found_in_both_layouts() {
        let own = |own, mounts| own_in(own, mounts).map(|directory| directory.to_str().unwrap().to_owned());
        let found = own("8:cpu,pids:/docker/abc/d\n0::/x\n", HYBRID);
        assert_eq!(found.as_deref(), Some("/sys/fs/cgroup/unified/x"));
        assert_eq!(own("0::/../outside\n", HYBRID), None);
        assert_eq!(own("8:pids:/x\n", HYBRID), None);
        assert_eq!(own("0::/x\n", ""), None);
    }
}
