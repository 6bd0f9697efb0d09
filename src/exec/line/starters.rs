//! The threads that start the commands of a line: one for each sandbox in it.
//!
//! A sandbox confines a thread for good, and the commands of a line may have several. So the thread of the line is never confined:
//! it opens what redirections name, watches, signals and reaps. Commands without a sandbox start on it; for each sandbox another
//! thread confines itself, starts its commands, and at the end of the line ends what these have left in its domain.

use std::io;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::Pid;

use crate::exec::os::{self, Ends};
use crate::exec::{ExecError, OnStart, Processes, Started, own_children};
use crate::policy::AllowedCommand;
use crate::sandbox::Sandbox;

/// An order to a thread. Each is answered.
enum Order {
    Start {
        command: Box<AllowedCommand>,
        ends: Ends,
        on_start: Option<OnStart>,
        answer: SyncSender<Result<Started, ExecError>>,
    },
    /// Ends what the commands have left, except for these, which the kernel holds. The answer says whether the thread can be used
    /// again.
    End { held: Vec<Pid>, answer: SyncSender<bool> },
}

/// A thread that is confined by a sandbox.
#[derive(Debug)]
struct Domain {
    sandbox: Arc<Sandbox>,
    orders: Sender<Order>,
}

/// Threads that no line uses at the moment.
#[derive(Debug, Default)]
pub(in crate::exec) struct Idle(Mutex<Vec<Domain>>);

impl Idle {
    fn take(&self, sandbox: &Arc<Sandbox>) -> Option<Domain> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = idle.iter().position(|domain| Arc::ptr_eq(&domain.sandbox, sandbox))?;
        Some(idle.swap_remove(place))
    }

    fn put(&self, domain: Domain) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(domain);
    }
}

/// The threads of one line.
pub(super) struct Starters<'p> {
    processes: &'p Processes,
    domains: Vec<Domain>,
}

impl<'p> Starters<'p> {
    pub(super) fn new(processes: &'p Processes) -> Self {
        Self { processes, domains: Vec::new() }
    }

    /// Starts a command in its sandbox, and blocks until then.
    ///
    /// # Errors
    /// [`ExecError`], and then nothing was started.
    pub(super) fn start(
        &mut self,
        command: Box<AllowedCommand>,
        ends: Ends,
        on_start: Option<OnStart>,
    ) -> Result<Started, ExecError> {
        let processes = self.processes.of_rule(command.rule().map(|rule| &**rule));
        let Some(sandbox) = processes.sandbox() else {
            let ready = processes.confine(&command)?;
            return processes.start(ready.launcher(), &command, ends, on_start);
        };
        let place =
            match self.domains.iter().position(|domain| processes.is_shared() && Arc::ptr_eq(&domain.sandbox, sandbox))
            {
                Some(place) => place,
                None => {
                    let idle = if processes.is_shared() { self.processes.idle().take(sandbox) } else { None };
                    let domain = match idle {
                        Some(domain) => domain,
                        None => Domain::new(Arc::clone(sandbox), processes.into_owned())?,
                    };
                    self.domains.push(domain);
                    self.domains.len() - 1
                }
            };
        let lost = || ExecError::Lost { source: io::Error::other("the thread of its sandbox has ended") };
        let domain = self.domains.get(place).ok_or_else(lost)?;
        let (answer, answered) = sync_channel(1);
        domain.orders.send(Order::Start { command, ends, on_start, answer }).map_err(|_| lost())?;
        answered.recv().map_err(|_| lost())?
    }

    /// Ends what the commands have left in their sandboxes, now that they were reaped, except for those in `held`.
    pub(super) fn end(self, held: &[Pid]) {
        let ended: Vec<_> = self
            .domains
            .into_iter()
            .filter_map(|domain| {
                let (answer, answered) = sync_channel(1);
                domain.orders.send(Order::End { held: held.to_vec(), answer }).ok()?;
                Some((domain, answered))
            })
            .collect();
        for (domain, answered) in ended {
            if answered.recv().unwrap_or(false) {
                self.processes.idle().put(domain);
            }
        }
    }
}

impl Domain {
    fn new(sandbox: Arc<Sandbox>, processes: Processes) -> Result<Self, ExecError> {
        let (orders, received) = channel::<Order>();
        let work = move || {
            own_children();
            let mut ready = None;
            while let Ok(order) = received.recv() {
                match order {
                    Order::Start { command, ends, on_start, answer } => {
                        let confined = match ready.take() {
                            Some(confined) => Ok(confined),
                            None => processes.confine(&command),
                        };
                        let started = confined.and_then(|confined| {
                            let confined = ready.insert(confined);
                            processes.start(confined.launcher(), &command, ends, on_start)
                        });
                        // If nobody waits for the answer any more, the line has failed, and its end comes next.
                        let _ = answer.send(started);
                    }
                    Order::End { held, answer } => {
                        os::end_leftovers(&held);
                        let is_worn = !processes.is_shared() || os::is_worn();
                        if is_worn {
                            // The files that were made for the command, and that it did not use, are removed before the answer.
                            ready = None;
                        }
                        let _ = answer.send(!is_worn);
                        if is_worn {
                            return;
                        }
                    }
                }
            }
        };
        std::thread::Builder::new().name("domain".into()).spawn(work).map_err(|source| ExecError::Lost { source })?;
        Ok(Self { sandbox, orders })
    }
}
