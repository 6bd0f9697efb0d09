//! The children of threads. On Linux a child belongs to the thread that started it, and orphans belong to the main
//! thread. A process that a command starts with `CLONE_PARENT` becomes a child of the thread that started the command.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::{io, process::Child};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, waitid};
use rustix::thread::gettid;

use super::process::{all_by_parent, stat};

/// `__WNOTHREAD` of wait(2): only children of the calling thread. rustix has no name for it.
const OWN_THREAD: WaitIdOptions = WaitIdOptions::from_bits_retain(0x2000_0000);

/// The kernel's list of orphans; `None` in a process that gets none, or on a kernel that lists no children.
static ORPHANS: OnceLock<File> = OnceLock::new();

/// Opens the list of the orphans, before any thread is prevented from reading it.
pub(super) fn orphans_fall_to_us() {
    if let Ok(list) = File::open(list_of(getpid(), getpid())) {
        // If it was opened before, it is the same list.
        ORPHANS.get_or_init(|| list);
    }
}

fn list_of(process: Pid, thread: Pid) -> String {
    format!("/proc/{}/task/{}/children", process.as_raw_nonzero(), thread.as_raw_nonzero())
}

/// Whether the kernel lists the children of threads (`CONFIG_PROC_CHILDREN`).
pub(super) fn are_listed() -> bool {
    static ARE_LISTED: OnceLock<bool> = OnceLock::new();
    *ARE_LISTED
        .get_or_init(|| fs::metadata("/proc/self/task").is_ok() && File::open("/proc/thread-self/children").is_ok())
}

/// The children of all threads of a process.
pub(super) fn of_process(process: Pid) -> Vec<Pid> {
    threads_of(process).flat_map(|thread| of_thread(process, thread)).collect()
}

/// The threads of a process.
pub(super) fn threads_of(process: Pid) -> impl Iterator<Item = Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero())).into_iter().flatten().flatten();
    threads.filter_map(|thread| Pid::from_raw(thread.file_name().to_str()?.parse().ok()?))
}

fn of_thread(process: Pid, thread: Pid) -> Vec<Pid> {
    fs::read_to_string(list_of(process, thread)).map(|list| numbers(&list)).unwrap_or_default()
}

fn numbers(list: &str) -> Vec<Pid> {
    list.split_ascii_whitespace().filter_map(|number| Pid::from_raw(number.parse().ok()?)).collect()
}

/// Whether there is certainly no orphan. Any thread may ask.
pub(super) fn has_no_orphan() -> bool {
    let has_no_child = |list: &File| list.read_at(&mut [0; 16], 0).is_ok_and(|count| count == 0);
    ORPHANS.get().is_some_and(has_no_child)
}

/// Whether orphans become children of this process.
pub(super) fn has_orphans_list() -> bool {
    ORPHANS.get().is_some()
}

/// The orphans: the children of the main thread, which starts none itself. Any thread may ask.
pub(super) fn orphans() -> Vec<Pid> {
    let Some(list) = ORPHANS.get() else { return unregistered() };
    let (mut text, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = list.read_at(&mut piece, text.len() as u64) {
        text.extend(piece.iter().take(count));
    }
    numbers(&String::from_utf8_lossy(&text))
}

/// The children of the calling thread.
pub(super) fn own() -> Vec<Pid> {
    if are_listed() {
        return of_thread(getpid(), gettid());
    }
    let mut children = all_by_parent().remove(&getpid()).unwrap_or_default();
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT | OWN_THREAD;
    children.retain(|child| !matches!(waitid(WaitId::Pid(*child), options), Err(Errno::CHILD)));
    children
}

/// The most children that are reaped in one go. Chains that fork and exit can produce them as fast as they are reaped,
/// so without a bound the reaping would never end.
const MOST_REAPED: usize = 1_000;

/// Reaps the children of the calling thread that have ended; returns whether any is left.
pub(super) fn reap_own() -> bool {
    reap_at_most(MOST_REAPED)
}

fn reap_at_most(most: usize) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | OWN_THREAD;
    for _ in 0..most {
        match waitid(WaitId::All, options) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
    true
}

/// Reaps this child of any thread, if it has ended; returns whether it is gone.
pub(super) fn reap_one(child: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    matches!(waitid(WaitId::Pid(child), options), Ok(Some(_)) | Err(Errno::CHILD))
}

static REAPING: Mutex<()> = Mutex::new(());

/// The lock for reaping orphans, and for signalling them by number: a number is free once its process is reaped.
pub(in crate::exec::os) fn reaping() -> MutexGuard<'static, ()> {
    REAPING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same, if nobody else holds it.
pub(in crate::exec::os) fn try_reaping() -> Option<MutexGuard<'static, ()>> {
    REAPING.try_lock().ok()
}

/// The threads that start commands, each with those that it started and that may not have been reaped.
static COMMANDS: Mutex<Option<HashMap<Pid, Vec<u32>>>> = Mutex::new(None);

/// Read-locked while a command is started. The kernel may delay a start for long, if the program is leased or on a file
/// system that does not answer. So nobody waits for the write lock.
static STARTING: RwLock<()> = RwLock::new(());

fn commands() -> MutexGuard<'static, Option<HashMap<Pid, Vec<u32>>>> {
    COMMANDS.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Starter {
    thread: Pid,
}

impl Starter {
    fn new() -> Self {
        let thread = gettid();
        commands().get_or_insert_default().insert(thread, Vec::new());
        Self { thread }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u32>)) {
        commands().as_mut().and_then(|commands| commands.get_mut(&self.thread)).map(change);
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        commands().as_mut().map(|commands| commands.remove(&self.thread));
    }
}

thread_local! {
    static STARTER: Starter = Starter::new();
}

/// Starts a child that does not count as an orphan, whatever its thread does later.
pub(crate) fn start_registered(start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    STARTER.with(|starter| {
        // A search for unregistered children is repeated once this child is registered.
        let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
        let child = start()?;
        starter.change(|started| started.push(child.id()));
        Ok(child)
    })
}

/// Notes that the commands of the calling thread were reaped.
pub(super) fn own_commands_are_reaped() {
    STARTER.with(|starter| starter.change(Vec::clear));
}

/// The children of this process that are not the registered commands of a thread. None while a command is being started,
/// because it is not registered yet.
fn unregistered() -> Vec<Pid> {
    let Ok(_nobody_starts) = STARTING.try_write() else { return Vec::new() };
    let known: HashSet<u32> = commands().iter().flat_map(HashMap::values).flatten().copied().collect();
    let mut children = all_by_parent().remove(&getpid()).unwrap_or_default();
    children.retain(|child| !known.contains(&child.as_raw_nonzero().get().unsigned_abs()));
    children
}

/// The living children of the threads that start commands, including the commands.
pub(super) fn of_starters() -> Vec<Pid> {
    let lives = |child: &Pid| stat(*child).is_some_and(|child| !child.has_ended);
    if !are_listed() {
        let children = all_by_parent().remove(&getpid()).unwrap_or_default();
        return children.into_iter().filter(lives).collect();
    }
    let threads: Vec<Pid> = commands().iter().flat_map(HashMap::keys).copied().collect();
    let children = threads.into_iter().flat_map(|thread| of_thread(getpid(), thread));
    children.filter(lives).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn pid_of(child: &Child) -> Pid {
        Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
    }

    fn waiting() -> io::Result<Child> {
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
    }

    #[test]
    fn reaping_comes_back_however_many_have_ended() {
        // A thread of its own has no other children.
        std::thread::spawn(|| {
            let children: Vec<Child> = (0..3).map(|_| Command::new("true").spawn().unwrap()).collect();
            for child in &children {
                let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                waitid(WaitId::Pid(pid_of(child)), ended).unwrap();
            }
            assert!(reap_at_most(2), "one is left");
            assert_eq!(own().len(), 1);
            assert!(!reap_at_most(2), "none is left");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_kernel_that_lists_no_children_still_tells_commands_from_what_they_leave() {
        let (mut command, mut other) = (start_registered(waiting).unwrap(), waiting().unwrap());
        let (known, unknown) = (pid_of(&command), pid_of(&other));
        let found = unregistered();
        assert!(found.contains(&unknown) && !found.contains(&known), "{known:?}, {unknown:?}: {found:?}");
        let own = own();
        assert!(own.contains(&unknown) && own.contains(&known), "{known:?}, {unknown:?}: {own:?}");
        for child in [&mut command, &mut other] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        own_commands_are_reaped();
        assert!(!self::own().contains(&known));
    }
}
