//! Processes as `/proc` shows them, and their descendants.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::children;

/// A process, identified by its number and its start time, since numbers are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub pid: Pid,
    /// In clock ticks since the boot.
    start: u64,
}

/// The state of a process at a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stat {
    pub process: Process,
    /// Unless it belongs to an outer PID namespace, as that of the first process does.
    pub parent: Option<Pid>,
    /// Whether it is a zombie.
    pub has_ended: bool,
    /// Its process group, unless it belongs to an outer namespace or the process is being reaped.
    pub group: Option<Pid>,
    /// Its session, with the same exceptions.
    pub session: Option<Pid>,
}

/// Reads `/proc/PID/stat`, see proc_pid_stat(5).
pub(super) fn stat(pid: Pid) -> Option<Stat> {
    let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    parse(pid, &String::from_utf8_lossy(&text))
}

fn parse(pid: Pid, text: &str) -> Option<Stat> {
    // The name of the program, in parentheses, may hold anything; after the last parenthesis there are only numbers.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let has_ended = fields.next()?.starts_with(['Z', 'X']);
    let mut number = || fields.next().and_then(|number| number.parse().ok());
    // Group and session are -1 while the process is being reaped, and `Pid` is made for positive numbers only.
    let known = |number: i32| Pid::from_raw(number.max(0));
    let [parent, group, session] = [number()?, number()?, number()?].map(known);
    let start = fields.nth(15)?.parse().ok()?;
    Some(Stat { process: Process { pid, start }, parent, has_ended, group, session })
}

/// The group of a process, unless it is that of an outer PID namespace: getpgid(2) says 0 then, which is the number of no group.
pub(crate) fn group_of(pid: Pid) -> Option<Pid> {
    stat(pid)?.group
}

/// Every process that can be seen, by its parent. For kernels that list no children.
pub(super) fn all_by_parent() -> HashMap<Pid, Vec<Pid>> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut by_parent: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for stat in numbers.filter_map(Pid::from_raw).filter_map(stat) {
        if let Some(parent) = stat.parent {
            by_parent.entry(parent).or_default().push(stat.process.pid);
        }
    }
    by_parent
}

/// The descendants of `root`, without `root` itself. Each process is looked at once.
pub(super) fn below(root: Pid) -> Vec<Pid> {
    if children::are_listed() {
        return gather(root, children::of_process);
    }
    let by_parent = all_by_parent();
    gather(root, |parent| by_parent.get(&parent).cloned().unwrap_or_default())
}

fn gather(root: Pid, mut children: impl FnMut(Pid) -> Vec<Pid>) -> Vec<Pid> {
    let (mut found, mut next) = (children(root), 0);
    // The list is read while processes come and go, so it could contain a cycle.
    let mut seen: std::collections::HashSet<Pid> = found.iter().copied().chain([root]).collect();
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        found.extend(children(parent).into_iter().filter(|child| seen.insert(*child)));
    }
    found
}

/// Signals the descendants of `root`, a child of this process, but not `root` itself; returns how many there were.
/// Zombies do not count.
///
/// Each process is held by its pidfd and looked at again before it is signalled, because its number may belong to
/// another process by then.
pub(crate) fn signal_descendants(root: Pid, signal: Signal) -> usize {
    let signal_one = |pid: &Pid| {
        let Some(seen) = stat(*pid).filter(|seen| !seen.has_ended) else { return false };
        let Ok(held) = pidfd_open(*pid, PidfdFlags::empty()) else { return false };
        let is_same = stat(*pid).is_some_and(|again| again.process == seen.process && again.parent == seen.parent);
        // A confined thread must not signal by pidfd, and by number only processes in its own domain. Both fail if the
        // system forbids it (a command that changed its user), and then nothing else can be done.
        is_same && (pidfd_send_signal(&held, signal).is_ok() || kill_process(*pid, signal).is_ok())
    };
    below(root).iter().filter(|pid| signal_one(pid)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    #[test]
    fn the_walk_asks_once_for_each_process_of_the_tree() {
        // 2 to 2000 are a chain below 1, and everything beside it is not looked at.
        let mut asked = Vec::new();
        let found = gather(pid(1), |parent| {
            asked.push(parent);
            let number = parent.as_raw_nonzero().get();
            if number < 2000 { vec![pid(number + 1)] } else { Vec::new() }
        });
        assert_eq!(found.len(), 1999);
        assert_eq!(asked.len(), 2000);
        // In a circle as well.
        assert_eq!(gather(pid(1), |parent| vec![pid(parent.as_raw_nonzero().get() % 3 + 1)]), [pid(2), pid(3)]);
    }

    #[test]
    fn a_process_that_is_being_reaped_has_neither_group_nor_session() {
        let behind = "0 -1 4194316 0 0 0 0 0 0 0 0 20 0 0 0 1234 0 0";
        let seen = parse(pid(7), &format!("7 (a) b) X 1 -1 -1 {behind}")).unwrap();
        assert_eq!((seen.parent, seen.group, seen.session), (Some(pid(1)), None, None));
        assert_eq!((seen.process, seen.has_ended), (Process { pid: pid(7), start: 1234 }, true));
        let seen = parse(pid(7), &format!("7 (b) S 0 7 0 {behind}")).unwrap();
        assert_eq!((seen.parent, seen.group, seen.session, seen.has_ended), (None, Some(pid(7)), None, false));
    }

    #[test]
    fn stat_tells_of_this_process() {
        let own = rustix::process::getpid();
        let told = stat(own).unwrap();
        assert_eq!((told.process.pid, told.parent), (own, rustix::process::getppid()));
        // A group and a session of an outer PID namespace have no number here, and 0 is shown.
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let innermost = |key| {
            let numbers = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            Pid::from_raw(numbers.split_ascii_whitespace().last().unwrap().parse().unwrap())
        };
        assert_eq!(told.group, innermost("NSpgid:"));
        assert_eq!(told.session, innermost("NSsid:"));
        assert_eq!(group_of(own), told.group);
        assert!(!told.has_ended);
        assert_eq!(stat(own).unwrap().process, told.process);
    }
}
