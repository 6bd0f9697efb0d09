//! The orphans of the server's commands: finds out which call they belong to, as far as possible, and ends them.
//!
//! At the end of each call the loop asks by one wait(2) whether there is an orphan. If so, a thread of its own looks at
//! the orphans, hunts those that must end, and tells the loop when they have ended; the loop itself never waits.
//! Processes that fork and exit faster than the thread follows are hunted for up to a second before the answer, and
//! after that as long as the server lives.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::children;
use super::leftovers::{HUNT, kill_child};
use super::process::{Process, Stat, below, stat};
use super::tracers::{LETTING_GO, end_tracers};
use crate::exec::Host;
use crate::exec::os::Looked;

/// How long to wait for killed processes at a time.
const PAUSE: Duration = Duration::from_micros(100);
/// How often to look for processes that are still left of an answered call, and how long each time.
const BACKGROUND: Duration = Duration::from_millis(50);
const BACKGROUND_HUNT: Duration = Duration::from_millis(2);

type Tell = Arc<dyn Fn(Looked) + Send + Sync>;

/// The orphans of the commands that this process has run. Only the main thread may have it.
pub(crate) struct Orphans {
    /// The calls that run.
    running: Arc<Mutex<HashSet<u64>>>,
    tell: Tell,
    /// The thread that hunts orphans, once there was one.
    hunter: Option<Sender<Look>>,
}

/// A call has ended, and there are orphans.
struct Look {
    key: u64,
    host: Option<Host>,
    until: Instant,
    /// Whether the orphans that existed at its end have been seen.
    has_seen: bool,
}

impl Orphans {
    /// If a look takes time, `tell` is called with its result, on another thread.
    pub(crate) fn new(tell: impl Fn(Looked) + Send + Sync + 'static) -> Self {
        Self { running: Arc::default(), tell: Arc::new(tell), hunter: None }
    }

    /// Notes that the call is about to start something.
    pub(crate) fn begins(&mut self, key: u64) {
        lock(&self.running).insert(key);
    }

    /// Notes that the call has ended, and started nothing that could be left.
    pub(crate) fn ends(&mut self, key: u64) {
        lock(&self.running).remove(&key);
    }

    /// Ends what the call `ended` has left behind, unless it may belong to a call that still runs. Returns whether that
    /// is done; otherwise `tell` is called once it is.
    ///
    /// An orphan does not show which call it belongs to. It is ended when every call has ended that was running when it
    /// was first seen, so that no command loses a process because another one ended.
    ///
    /// If the command belonged to a process that lives on (the persistent shell, the `host`), the output of its
    /// leftovers would go to the same streams as that of the next command. So an orphan that is in the group of the
    /// host, or holds one of its streams, counts as the call's, whatever else runs.
    pub(crate) fn after(&mut self, ended: u64, host: Option<&Host>) -> bool {
        self.ends(ended);
        // If a hunt holds the lock, there is an orphan.
        if let Some(_reaping) = children::try_reaping() {
            if !children::reap_own() {
                return true;
            }
        }
        let look = Look { key: ended, host: host.cloned(), until: Instant::now() + HUNT, has_seen: false };
        let Some(hunter) = self.hunter() else { return true };
        hunter.send(look).is_err()
    }

    fn hunter(&mut self) -> Option<&Sender<Look>> {
        if self.hunter.is_none() {
            let (sender, looks) = mpsc::channel();
            let hunt = Hunt {
                running: Arc::clone(&self.running),
                tell: Arc::clone(&self.tell),
                suspects: HashMap::new(),
                doomed: HashMap::new(),
                families: HashMap::new(),
                open: Vec::new(),
                changed: Instant::now(),
            };
            // Without a thread they are ended at the end of the server.
            thread::Builder::new().name("orphans".into()).spawn(move || hunt.run(&looks)).ok()?;
            self.hunter = Some(sender);
        }
        self.hunter.as_ref()
    }

    /// Ends all running commands of this process and everything that its commands left behind, within the time; returns
    /// whether that was enough.
    pub(crate) fn end_all(&mut self, within: Duration) -> bool {
        self.hunter = None;
        let until = Instant::now() + within;
        let mut hunted: Vec<Pid> = Vec::new();
        loop {
            let reaping = children::reaping();
            let has_orphans = children::reap_own();
            let commands = children::of_starters();
            if !has_orphans && commands.is_empty() {
                return true;
            }
            let found: Vec<Pid> = commands.into_iter().chain(children::orphans()).collect();
            found.iter().copied().for_each(kill_child);
            if found == hunted {
                found.iter().copied().for_each(end_tracers);
            }
            drop(reaping);
            if Instant::now() >= until {
                return false;
            }
            // Processes that keep changing are followed without a pause.
            if found == hunted {
                thread::sleep(PAUSE);
            }
            hunted = found;
        }
    }
}

fn lock(running: &Mutex<HashSet<u64>>) -> MutexGuard<'_, HashSet<u64>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of the thread that hunts orphans.
struct Hunt {
    running: Arc<Mutex<HashSet<u64>>>,
    tell: Tell,
    /// For each living orphan, the calls that it may belong to: those that were running when it was first seen.
    suspects: HashMap<Process, HashSet<u64>>,
    /// The processes that must end, each with its call: orphans, and their descendants that were seen.
    doomed: HashMap<Process, u64>,
    /// The groups and sessions that the doomed processes were in or led, each with its call.
    families: HashMap<Pid, u64>,
    /// The looks that are not finished.
    open: Vec<Look>,
    /// When another process was last found that must end, or one of them had ended.
    changed: Instant,
}

impl Hunt {
    fn run(mut self, looks: &Receiver<Look>) {
        loop {
            let look = if !self.open.is_empty() {
                looks.try_recv().map_err(|end| match end {
                    mpsc::TryRecvError::Empty => RecvTimeoutError::Timeout,
                    mpsc::TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                })
            } else if self.doomed.is_empty() {
                looks.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                looks.recv_timeout(BACKGROUND)
            };
            match look {
                Ok(look) => self.open.push(look),
                Err(RecvTimeoutError::Timeout) => {}
                // The server ends, and ends them all itself.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let pause = Instant::now() + BACKGROUND_HUNT;
            while self.follow() && self.open.is_empty() && Instant::now() < pause {}
        }
    }

    /// Looks at the orphans once, and kills the doomed ones; returns whether any is left.
    fn follow(&mut self) -> bool {
        let reaping = children::reaping();
        let (ended, living): (Vec<Pid>, Vec<Pid>) =
            children::orphans().into_iter().partition(|pid| children::reap_one(*pid));
        let living: Vec<Stat> = living.into_iter().filter_map(stat).collect();
        // Read after the list: whatever started an orphan had begun before.
        let running = lock(&self.running).clone();
        self.suspects.retain(|process, _| living.iter().any(|orphan| orphan.process == *process));
        let known = self.doomed.len();
        for orphan in &living {
            if self.doomed.contains_key(&orphan.process) {
                continue;
            }
            if let Some(key) = self.whose(orphan, &running) {
                self.doom(orphan, key, &running);
            }
        }
        // Children of an orphan that ended before this look are not in the list. If other calls run they can't be told
        // from theirs, unless the orphan was doomed already.
        let was_doomed = |pid: &Pid| self.doomed.keys().any(|process| process.pid == *pid);
        let has_moved = ended.iter().any(|pid| running.is_empty() || was_doomed(pid));
        let is_new = self.doomed.len() > known;
        // A process that ends by this signal still counts as left: its children become orphans when it ends, and the
        // next look sees them.
        let left: Vec<Process> =
            living.iter().map(|orphan| orphan.process).filter(|process| self.doomed.contains_key(process)).collect();
        left.iter().for_each(|process| kill_child(process.pid));
        if is_new || has_moved {
            self.changed = Instant::now();
        } else if self.changed.elapsed() >= LETTING_GO {
            left.iter().for_each(|process| end_tracers(process.pid));
        }
        drop(reaping);
        self.open.iter_mut().for_each(|look| look.has_seen = true);
        if left.is_empty() && !has_moved {
            self.doomed.clear();
            self.families.clear();
        }
        self.close(&left, has_moved);
        if !is_new && !has_moved && !left.is_empty() {
            thread::sleep(PAUSE);
        }
        !self.doomed.is_empty()
    }

    /// The call whose end requires the orphan to end now; `None` if it may live.
    fn whose(&mut self, orphan: &Stat, running: &HashSet<u64>) -> Option<u64> {
        let family = [orphan.group, orphan.session].into_iter().flatten().find_map(|pid| self.families.get(&pid));
        if let Some(key) = family {
            return Some(*key);
        }
        let suspects = self.suspects.entry(orphan.process).or_insert_with(|| running.clone());
        suspects.retain(|key| running.contains(key));
        if suspects.is_empty() {
            return Some(self.open.first().map_or(0, |look| look.key));
        }
        let is_of = |look: &&Look| !look.has_seen && look.host.as_ref().is_some_and(|host| is_of_host(orphan, host));
        self.open.iter().find(is_of).map(|look| look.key)
    }

    fn doom(&mut self, orphan: &Stat, key: u64, running: &HashSet<u64>) {
        self.doomed.insert(orphan.process, key);
        // If nothing else runs every orphan is doomed, and following it is all that counts.
        if running.is_empty() {
            return;
        }
        for descendant in below(orphan.process.pid).into_iter().filter_map(stat) {
            self.doomed.insert(descendant.process, key);
        }
        // Only groups and sessions that it made itself: it may have joined the group of another process.
        let own = Some(orphan.process.pid);
        self.families.extend(
            [orphan.group, orphan.session].into_iter().filter(|led| *led == own).flatten().map(|led| (led, key)),
        );
    }

    /// Reports the looks that are finished: no orphan is left that had to end for an open one, and none has ended that
    /// may have left another one.
    fn close(&mut self, left: &[Process], has_moved: bool) {
        let now = Instant::now();
        let open = std::mem::take(&mut self.open);
        let is_waited_for =
            |process| self.doomed.get(process).is_some_and(|key| open.iter().any(|look| look.key == *key));
        let is_gone = !has_moved && !left.iter().any(is_waited_for);
        let (over, open) = open.into_iter().partition(|look| is_gone || now >= look.until);
        self.open = open;
        for Look { key, .. } in over {
            (self.tell)(Looked { key, is_gone });
        }
    }
}

/// Whether the orphan is in the group of the host, or has one of its sockets open, recognised by their inode numbers.
fn is_of_host(orphan: &Stat, host: &Host) -> bool {
    let is_of_group = orphan.group.is_some_and(|group| u32::try_from(group.as_raw_nonzero().get()) == Ok(host.group));
    is_of_group || holds(orphan.process.pid, &host.streams)
}

fn holds(pid: Pid, sockets: &[u64]) -> bool {
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero())).into_iter().flatten().flatten();
    let mut targets = descriptors.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
    targets.any(|target| sockets.iter().any(|inode| target.as_os_str() == format!("socket:[{inode}]").as_str()))
}
