//! The threads that start the commands of a line: one for each sandbox in it.
//!
//! A sandbox confines a thread for good, and the commands of a line may have several. So the thread of the line is never confined:
//! it watches, signals and reaps. Commands without a sandbox start on it; for each sandbox another thread confines itself, opens
//! the files of its redirections, starts its commands, and at the end of the line ends what these have left in its domain.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::Pid;

use crate::exec::os::{self, Ends};
use crate::exec::processes::Ready;
use crate::exec::{CallNetwork, ExecError, Launcher, OnStart, Processes, Started, own_children};
use crate::policy::AllowedCommand;
use crate::policy::line::{CreatedFiles, DecidedFile};
use crate::policy::rules::{CommandRule, HeldClaim};
use crate::sandbox::Sandbox;

/// An order to a thread. Each is answered.
enum Order {
    /// Starts a command of these, all of which have the sandbox of the thread.
    Start {
        processes: Processes,
        command: Box<AllowedCommand>,
        ends: Ends,
        on_start: Option<OnStart>,
        answer: SyncSender<Result<Started, ExecError>>,
    },
    /// Opens the file of a redirection, as the sandbox lets commands open it.
    Open {
        file: DecidedFile,
        created: CreatedFiles,
        answer: SyncSender<(Result<io::Result<OwnedFd>, ExecError>, CreatedFiles)>,
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
    /// The network that the commands share which have one.
    network: CallNetwork,
}

impl<'p> Starters<'p> {
    pub(super) fn new(processes: &'p Processes) -> Self {
        Self { processes, domains: Vec::new(), network: CallNetwork::default() }
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
        if processes.sandbox().is_none() {
            return processes.start(processes.launcher()?.as_ref(), &command, ends, on_start);
        }
        let processes = processes.into_owned();
        let domain = self.domain(&processes)?;
        let (answer, answered) = sync_channel(1);
        domain.orders.send(Order::Start { processes, command, ends, on_start, answer }).map_err(|_| lost())?;
        answered.recv().map_err(|_| lost())?
    }

    /// Opens the file of a redirection of a command with this rule, or of a group. Where a sandbox confines the command, it bounds
    /// the file, too. Where the sandbox grants only what the words of each command name, the decision on the redirection is such
    /// a grant.
    ///
    /// # Errors
    /// [`ExecError`], if the sandbox can't be entered.
    pub(super) fn open(
        &mut self,
        rule: Option<&CommandRule>,
        file: DecidedFile,
        created: &mut CreatedFiles,
    ) -> Result<io::Result<OwnedFd>, ExecError> {
        let processes = self.processes.of_rule(rule);
        if processes.sandbox().is_none() || processes.is_claimed {
            return Ok(file.open(created));
        }
        let domain = self.domain(&processes)?;
        let (answer, answered) = sync_channel(1);
        domain.orders.send(Order::Open { file, created: std::mem::take(created), answer }).map_err(|_| lost())?;
        let (opened, known) = answered.recv().map_err(|_| lost())?;
        *created = known;
        opened
    }

    /// The thread for the sandbox of these: one of this line, an idle one, or a new one.
    fn domain(&mut self, processes: &Processes) -> Result<&Domain, ExecError> {
        let sandbox = processes.sandbox().ok_or_else(lost)?;
        let is_shared = processes.is_shared();
        let known = self.domains.iter().position(|domain| is_shared && Arc::ptr_eq(&domain.sandbox, sandbox));
        let place = match known {
            Some(place) => place,
            None => {
                let idle = if is_shared { self.processes.idle().take(sandbox) } else { None };
                let domain =
                    idle.map_or_else(|| Domain::new(Arc::clone(sandbox), processes.clone(), self.network.clone()), Ok)?;
                self.domains.push(domain);
                self.domains.len() - 1
            }
        };
        self.domains.get(place).ok_or_else(lost)
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

fn lost() -> ExecError {
    ExecError::Lost { source: io::Error::other("the thread of its sandbox has ended") }
}

impl Domain {
    /// Starts the thread. `first` has its sandbox; later orders may be for others that have the same one.
    fn new(sandbox: Arc<Sandbox>, first: Processes, network: CallNetwork) -> Result<Self, ExecError> {
        let (orders, received) = channel::<Order>();
        let work = move || {
            own_children();
            let mut ready = None;
            while let Ok(order) = received.recv() {
                // If nobody waits for an answer any more, the line has failed, and its end comes next.
                match order {
                    Order::Start { processes, command, ends, on_start, answer } => {
                        let started = launcher(&mut ready, &processes, (command.claims(), &network))
                            .and_then(|launcher| processes.start(launcher.as_ref(), &command, ends, on_start));
                        let _ = answer.send(started);
                    }
                    Order::Open { file, mut created, answer } => {
                        let confined = launcher(&mut ready, &first, (&[], &network));
                        let opened = confined.map(|_| file.open(&mut created));
                        let _ = answer.send((opened, created));
                    }
                    Order::End { held, answer } => {
                        os::end_leftovers(&held);
                        let is_worn = !first.is_shared() || os::is_worn();
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
        let thread = std::thread::Builder::new().name("domain".into()).spawn(work);
        thread.map_err(|source| ExecError::Lost { source })?;
        Ok(Self { sandbox, orders })
    }
}

/// Confines the calling thread for these, unless it is confined already; returns what starts their commands. Commands with the same
/// sandbox may have other limits.
fn launcher(
    ready: &mut Option<Ready>,
    processes: &Processes,
    (claims, network): (&[HeldClaim], &CallNetwork),
) -> Result<Option<Launcher>, ExecError> {
    if ready.is_some() {
        return processes.launcher();
    }
    let confined = processes.confine(claims, Some(network))?;
    Ok(ready.insert(confined).launcher.clone())
}
