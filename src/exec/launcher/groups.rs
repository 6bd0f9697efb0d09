//! A cgroup for each start of a command. It limits the whole process tree, tells which limit was hit, and ends the
//! whole tree at once (`cgroup.kill`).
//!
//! A thread of its own makes and removes the cgroups, since the threads that start commands may be confined by then. If
//! a server was killed and left cgroups behind, the next server removes them.

mod hierarchy;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::exec::Limit;
use hierarchy::{Controller, ParentCgroup, Version, own_of_version_two, places};

/// The beginning of the names of our cgroups. The process number of the server, its start time and a number of the
/// cgroup follow.
const PREFIX: &str = "allowexec-";
/// How long to wait before trying again to remove a cgroup that still has processes.
const AGAIN: Duration = Duration::from_millis(20);

/// How long to wait for killed processes to end, and the pause between two looks.
const DEATH: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_micros(100);

/// The file that ends all processes of a cgroup of version 2, even one that is forking; see cgroups(7).
const KILL: &str = "cgroup.kill";

/// Makes cgroups.
#[derive(Debug)]
pub(super) struct Groups {
    plan: Plan,
    requests: Mutex<Sender<Request>>,
}

/// A limit that cgroups enforce below one parent.
#[derive(Debug, Clone)]
struct Kept {
    controller: Controller,
    limit: u64,
    place: ParentCgroup,
}

/// The cgroups that each start gets.
#[derive(Debug, Clone)]
struct Plan {
    kept: Vec<Kept>,
    /// Where to make a cgroup that can be killed; `None` if that is not possible.
    killed: Option<PathBuf>,
}

#[derive(Debug)]
enum Request {
    /// Where to send the cgroup, and the sender with which it asks to be removed.
    Make(Sender<io::Result<Group>>, Sender<Request>),
    Remove(Vec<PathBuf>),
}

impl Groups {
    /// Finds out where cgroups with these limits, and cgroups that can be killed, can be made, and starts the thread
    /// that makes them.
    ///
    /// # Errors
    /// If none can be made.
    pub(super) fn new(memory: Option<u64>, processes: Option<u64>) -> io::Result<Self> {
        let wanted = [(Controller::Memory, memory), (Controller::Pids, processes)];
        let wanted = wanted.into_iter().filter_map(|(controller, limit)| Some((controller, limit?)));
        let kept: Vec<Kept> = wanted.filter_map(|(controller, limit)| usable(controller, limit)).collect();
        // A process is in one cgroup of version 2, so if a limit is enforced there, that cgroup is also the one to be
        // killed.
        let version_two = kept.iter().find(|kept| kept.place.version == Version::Two);
        let killed = version_two.map_or_else(own_of_version_two, |kept| Some(kept.place.directory.clone()));
        let plan = Plan { kept, killed: killed.filter(|directory| is_killable(directory)) };
        if plan.kept.is_empty() && plan.killed.is_none() {
            return Err(io::Error::other("no cgroup can be made"));
        }
        let (requests, received) = mpsc::channel();
        let of_thread = plan.clone();
        let serve = move || serve(&received, &of_thread);
        std::thread::Builder::new().name("cgroups".into()).spawn(serve)?;
        Ok(Self { plan, requests: Mutex::new(requests) })
    }

    /// Whether the process tree of a call can be killed at once.
    pub(super) fn ends_trees(&self) -> bool {
        self.plan.killed.is_some()
    }

    pub(super) fn keeps_memory(&self) -> bool {
        self.keeps(Controller::Memory)
    }

    pub(super) fn keeps_processes(&self) -> bool {
        self.keeps(Controller::Pids)
    }

    fn keeps(&self, controller: Controller) -> bool {
        self.plan.kept.iter().any(|kept| kept.controller == controller)
    }

    /// Makes a cgroup. The process enters it by itself.
    pub(super) fn make(&self) -> io::Result<Group> {
        let (reply, made) = mpsc::channel();
        let gone = || io::Error::other("the thread that makes cgroups has ended");
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.send(Request::Make(reply, requests.clone())).map_err(|_| gone())?;
        drop(requests);
        made.recv().map_err(|_| gone())?
    }
}

/// The nearest parent in which this process may make a cgroup, limit it, and let processes enter it.
fn usable(controller: Controller, limit: u64) -> Option<Kept> {
    let usable = |place: &ParentCgroup| {
        remove_stale(&place.directory);
        let kept = Kept { controller, limit, place: place.clone() };
        let probe = place.directory.join(name("probe"));
        let made = make_directory(&probe).and_then(|()| kept.limit_in(&probe)).and_then(|()| events(&kept, &probe));
        fs::remove_dir(&probe).ok();
        // In version 2 a process that moves another must be allowed to write to the cgroup above both.
        let may_move = place.version == Version::One || is_writable(&place.directory.join("cgroup.procs"));
        made.is_ok() && may_move
    };
    let place = places(controller).into_iter().find(usable)?;
    Some(Kept { controller, limit, place })
}

/// Whether cgroups made in this directory can be entered and killed.
fn is_killable(directory: &Path) -> bool {
    remove_stale(directory);
    let probe = directory.join(name("probe"));
    let is_killable = make_directory(&probe).is_ok() && is_writable(&probe.join(KILL));
    fs::remove_dir(&probe).ok();
    is_killable && is_writable(&directory.join("cgroup.procs"))
}

fn is_writable(file: &Path) -> bool {
    OpenOptions::new().write(true).open(file).is_ok()
}

/// A cgroup name of this server.
fn name(last: &str) -> String {
    let own = std::process::id();
    format!("{PREFIX}{own}-{}-{last}", started(own).unwrap_or_default())
}

/// When a process was started, in ticks since the boot: together with its number that identifies it for good. See
/// proc(5).
fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Removes the cgroups of servers that have ended, if they are empty.
fn remove_stale(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_stale) {
            // It fails if processes are left in it, and then the next server removes it.
            fs::remove_dir(entry.path()).ok();
        }
    }
}

fn is_stale(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let mut parts = rest.split('-');
    let (Some(process), Some(start)) = (parts.next(), parts.next()) else { return false };
    let (Ok(process), Ok(start)) = (process.parse::<u32>(), start.parse::<u64>()) else { return false };
    started(process) != Some(start)
}

/// Makes and removes cgroups as long as somebody may ask for it.
fn serve(requests: &Receiver<Request>, plan: &Plan) {
    let mut last = 0_u64;
    let mut waiting: Vec<PathBuf> = Vec::new();
    loop {
        let request = if waiting.is_empty() {
            requests.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            requests.recv_timeout(AGAIN)
        };
        match request {
            Ok(Request::Make(reply, back)) => {
                last += 1;
                // If the receiver is gone, the cgroup is dropped and asks to be removed.
                reply.send(Group::make(plan, &name(&last.to_string()), back)).ok();
            }
            Ok(Request::Remove(directories)) => waiting.extend(directories),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        waiting.retain(|directory| !is_removed(directory));
    }
}

fn is_removed(directory: &Path) -> bool {
    match fs::remove_dir(directory) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn make_directory(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        // Two limits below one parent of version 2 share a cgroup.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn write(directory: &Path, file: &str, value: &str) -> io::Result<()> {
    // A missing file is not created: the kernel has no such limit then.
    OpenOptions::new().write(true).open(directory.join(file))?.write_all(value.as_bytes())
}

impl Kept {
    fn limit_in(&self, directory: &Path) -> io::Result<()> {
        let limit = self.limit.to_string();
        match (self.controller, self.place.version) {
            (Controller::Pids, _) => write(directory, "pids.max", &limit),
            (Controller::Memory, Version::Two) => {
                write(directory, "memory.max", &limit)?;
                // Memory beyond the limit must not be swapped out instead. Without swap there is no such file.
                without_swap(write(directory, "memory.swap.max", "0"))
            }
            (Controller::Memory, Version::One) => {
                write(directory, "memory.limit_in_bytes", &limit)?;
                without_swap(write(directory, "memory.memsw.limit_in_bytes", &limit))
            }
        }
    }

    /// The file that counts hits of the limit, and the word before the number.
    fn evidence(&self) -> (&'static str, &'static str, Limit) {
        match (self.controller, self.place.version) {
            (Controller::Pids, _) => ("pids.events", "max", Limit::Processes),
            (Controller::Memory, Version::Two) => ("memory.events", "oom_kill", Limit::Memory),
            (Controller::Memory, Version::One) => ("memory.oom_control", "oom_kill", Limit::Memory),
        }
    }
}

fn without_swap(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        written => written,
    }
}

/// Opens the file that counts hits.
fn events(kept: &Kept, directory: &Path) -> io::Result<()> {
    File::open(directory.join(kept.evidence().0)).map(drop)
}

/// The cgroups of one start: one, or one for each limit that version 1 enforces and one to be killed. Dropping it
/// removes them.
#[derive(Debug)]
pub(super) struct Group {
    directories: Vec<PathBuf>,
    entries: Vec<File>,
    evidence: Vec<Evidence>,
    kill: Option<Kill>,
    requests: Sender<Request>,
}

/// Ends everything in a cgroup. The files are held open, since the thread that uses them may be confined.
#[derive(Debug)]
struct Kill {
    kill: File,
    events: File,
}

#[derive(Debug)]
struct Evidence {
    file: File,
    word: &'static str,
    limit: Limit,
    /// The count at the last question.
    earlier: u64,
}

impl Group {
    fn make(plan: &Plan, name: &str, requests: Sender<Request>) -> io::Result<Self> {
        let (directories, entries, evidence) = (Vec::new(), Vec::new(), Vec::new());
        let mut group = Self { directories, entries, evidence, kill: None, requests };
        for kept in &plan.kept {
            let directory = kept.place.directory.join(name);
            group.add(&directory, |directory| kept.limit_in(directory))?;
            let (file, word, limit) = kept.evidence();
            group.evidence.push(Evidence { file: File::open(directory.join(file))?, word, limit, earlier: 0 });
        }
        if let Some(directory) = &plan.killed {
            let directory = directory.join(name);
            group.add(&directory, |_| Ok(()))?;
            let kill = OpenOptions::new().write(true).open(directory.join(KILL))?;
            group.kill = Some(Kill { kill, events: File::open(directory.join("cgroup.events"))? });
        }
        Ok(group)
    }

    /// Makes a cgroup, unless it exists already, and limits it.
    fn add(&mut self, directory: &Path, limit: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        make_directory(directory)?;
        let is_new = !self.directories.iter().any(|made| made == directory);
        if is_new {
            self.directories.push(directory.to_owned());
        }
        limit(directory)?;
        if is_new {
            self.entries.push(OpenOptions::new().write(true).open(directory.join("cgroup.procs"))?);
        }
        Ok(())
    }

    /// Kills everything in it, even processes that are forking, and waits until it is empty.
    pub(super) fn kill(&mut self) {
        let Some(Kill { kill, events }) = &mut self.kill else { return };
        let until = Instant::now() + DEATH;
        // An empty cgroup stays empty. If the file can't be read, assume that it is not empty.
        while number(events, "populated") != Some(0) && Instant::now() < until {
            // It fails only if the cgroup is gone, with everything in it.
            kill.write_all(b"1").ok();
            std::thread::sleep(PAUSE);
        }
    }

    /// The files that a process writes to in order to enter.
    pub(super) fn entries(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.entries.iter().map(AsFd::as_fd)
    }

    /// Whether the limit was hit since the last question, or since the cgroup was made; never if it is not enforced
    /// here.
    pub(super) fn is_hit_anew(&mut self, limit: Limit) -> bool {
        let Some(evidence) = self.evidence.iter_mut().find(|evidence| evidence.limit == limit) else { return false };
        let count = evidence.count();
        std::mem::replace(&mut evidence.earlier, count) < count
    }
}

impl Evidence {
    fn count(&self) -> u64 {
        number(&self.file, self.word).unwrap_or(0)
    }
}

/// The number after a word, in a file whose lines have both.
fn number(file: &File, word: &str) -> Option<u64> {
    let mut text = [0; 512];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = String::from_utf8_lossy(text.get(..length)?).into_owned();
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(found, _)| *found == word)?.1.trim().parse().ok()
}

impl Drop for Group {
    fn drop(&mut self) {
        // The thread is gone only if the server is, and then the next server removes them.
        self.requests.send(Request::Remove(std::mem::take(&mut self.directories))).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_cgroups_of_servers_that_are_gone_are_stale() {
        let own = std::process::id();
        let start = started(own).unwrap();
        assert!(!is_stale(&name("1")));
        assert!(is_stale(&format!("{PREFIX}{own}-{}-1", start + 1)));
        assert!(is_stale(&format!("{PREFIX}{}-1-1", u32::MAX)));
        for other in ["", "allowexec", "allowexec-", "allowexec-x-1-1", "allowexec-1", "user.slice"] {
            assert!(!is_stale(other), "{other}");
        }
    }
}
