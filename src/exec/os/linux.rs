//! What left the tree of its command (a daemon, `setsid`), found and ended on Linux.
//!
//! The process makes itself a subreaper, so that everything whose parent ends becomes a child of its main thread. The
//! children of the threads that run commands are not the main thread's own, so a wait(2) of the main thread alone tells
//! in one system call whether there is any orphan; only then is `/proc` walked.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process, pidfd_open, pidfd_send_signal,
    set_child_subreaper, waitid,
};

use crate::exec::Host;

/// `__WNOTHREAD` of wait(2): only children of the calling thread. rustix has no name for it.
const OWN_THREAD: WaitIdOptions = WaitIdOptions::from_bits_retain(0x2000_0000);
/// How many generations of orphans are ended at once.
const ROUNDS: usize = 8;
/// How long a killed orphan has to go.
const KILL_WAIT: Duration = Duration::from_millis(50);

/// Makes this process the one that ends what its commands leave behind: orphans fall to it from now on, so that `Orphans`
/// finds them.
///
/// It changes the whole process, so it is for programs to call, before they start threads, and not for libraries.
pub fn own_descendants() {
    // Refused only by kernels that are older than all that this crate runs on; then orphans fall to init, unseen.
    let _ = set_child_subreaper(Some(getpid()));
}

/// The orphans of the commands that this process has run. To be asked by the main thread alone.
#[derive(Debug, Default)]
pub struct Orphans {
    /// For each living orphan, the calls that it can come from: those that were running when it was first seen.
    suspects: HashMap<Process, HashSet<u64>>,
}

/// A process, told from another one that gets its number later by its start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Process {
    pid: Pid,
    /// In clock ticks since the boot.
    start: u64,
}

impl Orphans {
    /// Ends what the call `ended` has left behind, as far as it can't come from a call that is still `running`.
    ///
    /// An orphan doesn't tell whose it was. It is ended when every call has ended that was running when it was first
    /// seen, so that no command loses a process to another one's end.
    pub fn after(&mut self, ended: u64, running: &[u64]) {
        self.end(
            |_, suspects| {
                suspects.remove(&ended);
                suspects.is_empty()
            },
            running,
        );
    }

    /// As [`Self::after`], for a command of a process that lives on (the persistent shell, the `host`) and whose output
    /// goes to the same pipes as that of the next command: an orphan that is in the group, or holds one of the pipes, is
    /// surely its, whatever else runs.
    pub fn after_command_of(&mut self, host: &Host, ended: u64, running: &[u64]) {
        self.end(
            |process, suspects| {
                suspects.remove(&ended);
                suspects.is_empty() || is_of_group(process.pid, host.group) || holds(process.pid, &host.pipes)
            },
            running,
        );
    }

    /// Ends every orphan there is.
    pub fn end_all(&mut self) {
        self.end(|_, _| true, &[]);
    }

    fn end(&mut self, mut is_over: impl FnMut(&Process, &mut HashSet<u64>) -> bool, running: &[u64]) {
        let mut doomed: HashSet<Process> = HashSet::new();
        for _ in 0..ROUNDS {
            if !reap() {
                self.suspects.clear();
                return;
            }
            let parents = parents();
            let living: HashSet<Process> = orphans(&parents).collect();
            self.suspects.retain(|process, _| living.contains(process));
            for orphan in &living {
                let suspects = self.suspects.entry(*orphan).or_insert_with(|| running.iter().copied().collect());
                if is_over(orphan, suspects) {
                    doomed.insert(*orphan);
                }
            }
            let now: Vec<Process> = living.into_iter().filter(|orphan| doomed.contains(orphan)).collect();
            if now.is_empty() {
                return;
            }
            // What the doomed have started falls to us when they end, and goes the same way.
            for process in parents.keys() {
                if ancestors(*process, &parents).any(|ancestor| doomed.contains(&ancestor)) {
                    doomed.insert(*process);
                }
            }
            for orphan in &now {
                // Our own children, not reaped yet, so the number is still theirs.
                let _ = kill_process(orphan.pid, Signal::KILL);
            }
            now.iter().for_each(|orphan| wait_for_end(orphan.pid));
        }
    }
}

fn is_of_group(pid: Pid, group: u32) -> bool {
    rustix::process::getpgid(Some(pid)).is_ok_and(|own| u32::try_from(own.as_raw_nonzero().get()) == Ok(group))
}

/// Whether the process has one of the pipes open, told by their inode numbers.
fn holds(pid: Pid, pipes: &[u64]) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())).into_iter().flatten().flatten();
    let mut targets = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    targets.any(|target| pipes.iter().any(|inode| target.as_os_str() == format!("pipe:[{inode}]").as_str()))
}

/// Reaps the orphans that have ended; says whether any is living.
fn reap() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | OWN_THREAD;
    loop {
        match waitid(WaitId::All, options) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

fn wait_for_end(pid: Pid) {
    if let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) {
        let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
        // An orphan that the kernel holds longer is met again at the next call's end.
        let _ = poll(&mut polled, Timespec::try_from(KILL_WAIT).ok().as_ref());
    }
}

/// Every process that can be seen, with the number of its parent.
fn parents() -> HashMap<Process, Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).filter_map(stat).collect()
}

/// Signals what `root`, a child of this process, has started and what that has started, but not `root` itself; says how
/// many there were. What has ended and only waits to be reaped does not count.
///
/// A process is held by its pidfd, and looked at again, before it is signalled: its number may be another's by then.
pub(crate) fn signal_descendants(root: Pid, signal: Signal) -> usize {
    let parents = parents();
    let is_below = |process: &&Process| ancestors(**process, &parents).any(|ancestor| ancestor.pid == root);
    let signal_one = |process: &Process| {
        let Ok(held) = pidfd_open(process.pid, PidfdFlags::empty()) else { return false };
        let is_same = stat(process.pid).is_some_and(|(same, _)| same == *process) && !has_ended(process.pid);
        // A confined thread must not signal by pidfd, and by number only what it has confined itself. Both fail where the
        // system forbids it (a command that changed its user), and then nothing else can be done.
        is_same && (pidfd_send_signal(&held, signal).is_ok() || kill_process(process.pid, signal).is_ok())
    };
    parents.keys().filter(is_below).filter(|process| signal_one(process)).count()
}

/// Whether the process is a zombie.
fn has_ended(pid: Pid) -> bool {
    let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    String::from_utf8_lossy(&text).rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with(['Z', 'X']))
}

/// Reads `/proc/PID/stat`, see proc_pid_stat(5).
fn stat(pid: Pid) -> Option<(Process, Pid)> {
    let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name of the program, in parentheses, may hold anything; after the last one there are only numbers.
    let text = String::from_utf8_lossy(&text);
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok().and_then(Pid::from_raw)?;
    let start = fields.nth(17)?.parse().ok()?;
    Some((Process { pid, start }, parent))
}

/// The children of this thread, which is the main thread: the threads that run commands have their own.
fn orphans(parents: &HashMap<Process, Pid>) -> impl Iterator<Item = Process> {
    let own = getpid();
    parents.iter().filter(move |(_, parent)| **parent == own).map(|(process, _)| *process).filter(|process| {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT | OWN_THREAD;
        !matches!(waitid(WaitId::Pid(process.pid), options), Err(Errno::CHILD))
    })
}

fn ancestors(process: Process, parents: &HashMap<Process, Pid>) -> impl Iterator<Item = Process> {
    let mut next = parents.get(&process).copied();
    // A walk over a table that was read while processes came and went could go round in a circle.
    std::iter::from_fn(move || {
        let (ancestor, parent) = parents.iter().find(|(candidate, _)| Some(candidate.pid) == next)?;
        next = Some(*parent);
        Some(*ancestor)
    })
    .take(64)
}
