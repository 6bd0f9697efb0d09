//! Threads that do work and are kept for more, since a new thread is expensive compared with a spawn.

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::event::Event;
use super::inbox::EventSender;
use crate::exec::{Executor, is_worn, own_children};

/// The most threads that can take each other's place and are kept while they have nothing to do.
const MOST_IDLE: usize = 16;

/// Threads that can take each other's place. A confined thread stays confined.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Pool {
    /// Those of calls, which no sandbox confines.
    OfCalls,
    /// Those that the sandbox of all commands confines.
    Confined,
    /// Those of a rule with a sandbox or limits of its own.
    OfRule(String),
}

/// The work of a thread for one call.
pub(super) struct ThreadWork {
    /// The number of the call, or of another request.
    pub key: u64,
    /// It returns the event for the loop; `None` if another thread will tell it.
    pub does: Box<dyn FnOnce() -> Option<Event> + Send>,
}

/// The work, and how its thread gets more.
struct Assignment {
    work: ThreadWork,
    thread: Sender<Assignment>,
}

/// The threads.
pub(super) struct Workers {
    events: EventSender,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    threads: HashMap<Pool, Vec<Sender<Assignment>>>,
    /// Whether the server is gone, so that threads end.
    is_closed: bool,
}

impl Workers {
    pub(super) fn new(events: EventSender) -> Arc<Self> {
        Arc::new(Self { events, idle: Mutex::default() })
    }

    /// How the loop is told.
    pub(super) fn events(&self) -> &EventSender {
        &self.events
    }

    /// Gives the work to an idle thread, or to a new one. `executor` is the one whose commands the pool runs.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub(super) fn give(
        self: &Arc<Self>,
        pool: &Pool,
        executor: Option<&Arc<dyn Executor>>,
        mut work: ThreadWork,
    ) -> io::Result<()> {
        loop {
            let idle = self.idle().threads.get_mut(pool).and_then(Vec::pop);
            let thread = match idle {
                Some(thread) => thread,
                None => self.start(pool.clone(), executor.cloned())?,
            };
            match thread.send(Assignment { work, thread: thread.clone() }) {
                Ok(()) => return Ok(()),
                // That thread has ended.
                Err(mpsc::SendError(returned)) => work = returned.work,
            }
        }
    }

    fn start(self: &Arc<Self>, pool: Pool, executor: Option<Arc<dyn Executor>>) -> io::Result<Sender<Assignment>> {
        let (thread, assignments) = mpsc::channel::<Assignment>();
        let name = if pool == Pool::OfCalls { "call" } else { "worker" };
        let workers = Arc::clone(self);
        let go = move || {
            own_children();
            while let Ok(Assignment { work, thread }) = assignments.recv() {
                let ThreadWork { key, does } = work;
                // Whatever panics ends only this call, and neither the thread nor the server.
                let event = catch_unwind(AssertUnwindSafe(does)).unwrap_or(Some(Event::Panicked { key }));
                let is_worn = executor.as_ref().map_or_else(is_worn, |executor| executor.has_worn_thread());
                // Before the loop is told, so that its next call finds the thread.
                let goes_on = !is_worn && workers.rests(&pool, thread);
                if event.is_some_and(|event| !workers.events.send(event)) || !goes_on {
                    return;
                }
            }
        };
        std::thread::Builder::new().name(name.into()).spawn(go)?;
        Ok(thread)
    }

    /// Notes that a thread has nothing to do; whether it is to wait for work.
    fn rests(&self, pool: &Pool, thread: Sender<Assignment>) -> bool {
        let mut idle = self.idle();
        let others = idle.threads.get(pool).map_or(0, Vec::len);
        let rests = !idle.is_closed && others < MOST_IDLE;
        if rests {
            idle.threads.entry(pool.clone()).or_default().push(thread);
        }
        rests
    }

    /// Lets the threads end when they have nothing to do.
    pub(super) fn close(&self) {
        *self.idle() = Idle { is_closed: true, ..Idle::default() };
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
