//! The launcher: this program's own binary, which sets the limits of a command on itself and then becomes the command,
//! so that they apply from the command's first instruction. See setrlimit(2) and cgroups(7).
//!
//! The launcher gets its orders through a socket pair, as its standard input: the limits, the command's own standard
//! input, and the cgroups to enter. It keeps the socket as a descriptor that the kernel closes when the command begins.
//! So the server can tell an error of execve(2) from everything that the command does afterwards. And no client can use
//! the launcher, because it has no such socket. On Linux the launcher also checks that its parent has made the socket.
//!
//! - [`Launcher`] belongs to a server; [`Launch`] is one start by it.
//! - [`launched`] is the code of the launcher itself.
//! - [`OwnNetwork`] is a loopback interface of a call's own (Linux).
//! - [`Groups`] makes a cgroup for each start, if the system allows it (Linux).

#[cfg_attr(not(target_os = "linux"), path = "no_groups.rs")]
mod groups;
mod launched;
#[cfg_attr(not(target_os = "linux"), path = "no_own_network.rs")]
mod own_network;
#[cfg_attr(target_os = "linux", path = "on_linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod own_steps;
mod supported;

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::process::Signal;

use groups::{Group, Groups};
pub use launched::launched;
use launched::{ANSWERS, Message, WORD};
use own_network::OwnNetwork;

use super::resources::{Limit, LimitsError, ResourceLimits};
use super::{End, own_binary};
use crate::integrity::Checked;
use crate::sandbox::{Level, Sandbox, SandboxError};

/// Starts commands with limits, and in a network of their own.
#[derive(Debug, Clone, Default)]
pub struct Launcher {
    limits: ResourceLimits,
    groups: Option<Arc<Groups>>,
    /// The network of the call, and the level of the command in it.
    network: Option<(Arc<OwnNetwork>, Level)>,
}

/// The network of one line, which is made for the first of its commands that has one, and which all of them share.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallNetwork(Arc<Mutex<Option<Arc<OwnNetwork>>>>);

impl CallNetwork {
    /// Returns it. Call it on a thread that no sandbox confines.
    fn share(&self) -> Result<Arc<OwnNetwork>, SandboxError> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(network) = &*made {
            return Ok(Arc::clone(network));
        }
        let network = Arc::new(OwnNetwork::make()?);
        *made = Some(Arc::clone(&network));
        Ok(network)
    }
}

impl Launcher {
    /// Returns `None` if nothing is limited. Call it on a thread that no sandbox confines.
    ///
    /// # Errors
    /// [`LimitsError`] if the limits can't be enforced.
    pub fn new(limits: ResourceLimits) -> Result<Option<Self>, LimitsError> {
        if limits.is_none() {
            return Ok(None);
        }
        if !ANSWERS.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(LimitsError::NoLauncher);
        }
        limits.enforced_here()?;
        let is_root = rustix::process::geteuid().is_root();
        if is_root && !cfg!(target_os = "linux") {
            return Err(LimitsError::Root { platform: std::env::consts::OS });
        }
        own_binary().map_err(|source| LimitsError::System { source })?;
        let groups = Groups::new(limits.memory, limits.processes);
        let missing = || io::Error::other("no writable cgroup has it");
        match &groups {
            Ok(groups) if is_root && limits.processes.is_some() && !groups.keeps_processes() => {
                Err(LimitsError::ProcessesOfRoot { source: missing() })
            }
            Err(_) if is_root && limits.processes.is_some() => Err(LimitsError::ProcessesOfRoot { source: missing() }),
            Ok(_) | Err(_) => Ok(Some(Self { limits, groups: groups.ok().map(Arc::new), network: None })),
        }
    }

    /// Returns what starts the commands of the sandbox: in a network of their own or of their line, if they have one, and else the
    /// same launcher. Call it on the thread that the sandbox confines, and before.
    ///
    /// # Errors
    /// [`SandboxError::NoOwnNetwork`].
    pub(crate) fn for_sandbox(
        launcher: Option<Self>,
        sandbox: &Sandbox,
        network: Option<&CallNetwork>,
    ) -> Result<Option<Self>, SandboxError> {
        let has_one = launcher.as_ref().is_some_and(|launcher| launcher.network.is_some());
        if has_one || !sandbox.has_own_network() {
            return Ok(launcher);
        }
        let network = match network {
            Some(of_line) => of_line.share()?,
            None => Arc::new(OwnNetwork::make()?),
        };
        let network = Some((network, sandbox.level()));
        Ok(Some(Self { network, ..launcher.unwrap_or_default() }))
    }

    /// Makes a network of a call's own, and drops it.
    ///
    /// # Errors
    /// [`SandboxError::NoOwnNetwork`] if this system has none.
    pub(crate) fn try_own_network() -> Result<(), SandboxError> {
        OwnNetwork::make().map(drop)
    }

    /// How each limit that is set is enforced, by its flag.
    pub fn describe(&self) -> Vec<(&'static str, &'static str)> {
        let in_group = |keeps: fn(&Groups) -> bool| self.groups.as_deref().is_some_and(keeps);
        let each = "of each process (setrlimit)";
        let memory = if in_group(Groups::keeps_memory) {
            "of the whole call (cgroup)"
        } else {
            "of the address space of each process (RLIMIT_AS)"
        };
        let processes = if in_group(Groups::keeps_processes) {
            "of the whole call (cgroup)"
        } else {
            "of all that the server's user runs (RLIMIT_NPROC)"
        };
        let how = |flag| match flag {
            "max-memory" => memory,
            "max-processes" => processes,
            _ => each,
        };
        self.limits.flags().map(|flag| (flag, how(flag))).collect()
    }

    /// Whether the end of a tree is certain: one write kills everything that a call has started.
    pub fn ends_trees(&self) -> bool {
        self.groups.as_deref().is_some_and(Groups::ends_trees)
    }

    /// Begins a start: makes the cgroup, and sends the launcher its orders. The command gets `stdin` as its standard input, or
    /// nothing to read; what the launcher itself gets takes the place of that. A checked `program` is executed by its handle, if
    /// it can be.
    pub(crate) fn begin(&self, stdin: &mut Option<OwnedFd>, program: Option<&Checked>) -> io::Result<Launch> {
        let program = program.and_then(own_steps::handle);
        let command_stdin = stdin.take().map_or_else(|| std::fs::File::open("/dev/null").map(Into::into), Ok)?;
        let group = self.groups.as_deref().map(Groups::make).transpose()?;
        let (ours, theirs) = socket_pair()?;
        let keeps_memory = self.groups.as_ref().is_some_and(|groups| groups.keeps_memory());
        let keeps_processes = self.groups.as_ref().is_some_and(|groups| groups.keeps_processes());
        let message = Message {
            memory: self.limits.memory.filter(|_| !keeps_memory),
            processes: self.limits.processes.filter(|_| !keeps_processes),
            file_size: self.limits.file_size,
            cpu: self.limits.cpu.map(whole_seconds),
            open_files: self.limits.open_files,
            is_by_handle: program.is_some(),
            own_network: self.network.as_ref().map(|(_, level)| own_network::level_number(*level)),
        };
        let namespaces = self.network.iter().flat_map(|(network, _)| network.descriptors());
        let entries = group.iter().flat_map(Group::entries);
        let descriptors: Vec<BorrowedFd<'_>> =
            std::iter::once(command_stdin.as_fd()).chain(program).chain(namespaces).chain(entries).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(launched::MOST_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::Error::other("too many cgroups for one message"));
        }
        rustix::net::sendmsg(&ours, &[IoSlice::new(&message.to_bytes())], &mut control, SendFlags::empty())?;
        let cpu = self.limits.cpu.map(|limit| Duration::from_secs(whole_seconds(limit)));
        *stdin = Some(theirs);
        Ok(Launch { ours, group, cpu, file_size: self.limits.file_size.is_some(), of_children: Duration::ZERO })
    }
}

/// Makes a socket pair that no command inherits: a stream, since macOS has no sockets of packets.
fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(not(target_vendor = "apple"))]
    let flags = SocketFlags::CLOEXEC;
    #[cfg(target_vendor = "apple")]
    let flags = SocketFlags::empty();
    let (ours, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    #[cfg(target_vendor = "apple")]
    crate::poll::close_on_exec([&ours, &theirs])?;
    Ok((ours, theirs))
}

fn whole_seconds(limit: Duration) -> u64 {
    limit.as_secs() + u64::from(limit.subsec_nanos() > 0)
}

/// One start of a command by the launcher, for as long as the command runs.
#[derive(Debug)]
pub(crate) struct Launch {
    ours: OwnedFd,
    group: Option<Group>,
    cpu: Option<Duration>,
    file_size: bool,
    /// The processor time of the children at the last question.
    of_children: Duration,
}

impl Launch {
    /// The arguments of this program's own binary that make it become `program` with this `argv`.
    pub(crate) fn arguments<'a>(
        program: &Path,
        argv: impl IntoIterator<Item = &'a (impl AsRef<OsStr> + ?Sized + 'a)>,
    ) -> Vec<OsString> {
        let argv = argv.into_iter().map(|word| word.as_ref().to_owned());
        [WORD.into(), program.as_os_str().to_owned()].into_iter().chain(argv).collect()
    }

    /// Kills whatever the command has left in its cgroup, if it has one that can be killed.
    pub(crate) fn end_tree(&mut self) {
        self.group.as_mut().map(Group::kill);
    }

    /// Returns why the command never began, if so; to be called once it has ended.
    pub(crate) fn failure(&self, end: End) -> Option<Failure> {
        // One read is enough: the launcher sends at most six bytes, and by now has sent them.
        let mut told = [0; 8];
        let received = rustix::net::recv(&self.ours, &mut told, RecvFlags::DONTWAIT);
        let told = received.ok().and_then(|(count, _)| told.get(..count)).unwrap_or_default();
        let begun = told.first() == Some(&launched::BEGINS);
        if let &[stage, a, b, c, d] = told.strip_prefix(&[launched::BEGINS]).unwrap_or(told) {
            let source = io::Error::from_raw_os_error(i32::from_ne_bytes([a, b, c, d]));
            return Some(match stage {
                launched::EXEC => Failure::Exec(source),
                launched::NETWORK => Failure::Network(source),
                _ => Failure::Limits(source),
            });
        }
        // If a signal ended it before that, this is an end like any other.
        let is_lost = !begun && matches!(end, End::Exited(_));
        is_lost.then(|| Failure::Limits(io::Error::other("the launcher ended before the command began")))
    }

    /// Returns which limit was hit since the last question, if the kernel tells. `times` are those of the process
    /// itself and of the children that it has waited for.
    pub(crate) fn hit(&mut self, end: ExitStatus, times: Option<[Duration; 2]>) -> Option<Limit> {
        let (memory, processes) = (self.is_hit_anew(Limit::Memory), self.is_hit_anew(Limit::Processes));
        let of_children = times.map_or(Duration::ZERO, |[_, of_children]| of_children);
        let earlier = std::mem::replace(&mut self.of_children, of_children);
        let times = times.map(|[own, of_children]| [own, of_children.saturating_sub(earlier)]);
        let found = [
            (Limit::Memory, memory),
            (Limit::Cpu, self.cpu.is_some_and(|limit| has_used(limit, end, times))),
            (Limit::FileSize, self.file_size && is_ended_by(end, Signal::XFSZ)),
            (Limit::Processes, processes),
        ];
        found.into_iter().find(|(_, is_hit)| *is_hit).map(|(limit, _)| limit)
    }

    fn is_hit_anew(&mut self, limit: Limit) -> bool {
        let Some(group) = &mut self.group else { return false };
        group.is_hit_anew(limit)
    }
}

/// Whether this signal ended the command, or the command reports, as shells do, that it ended its child.
fn is_ended_by(end: ExitStatus, signal: Signal) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let signal = signal.as_raw();
    end.signal() == Some(signal) || end.code() == Some(128 + signal)
}

/// Only the kernel's account of a process is evidence: anybody can send a signal or return an exit status. The kernel
/// sends SIGXCPU by another account, which counts whole ticks and is ahead of this one by a tenth or more.
fn has_used(limit: Duration, end: ExitStatus, times: Option<[Duration; 2]>) -> bool {
    let is_signaled = is_ended_by(end, Signal::XCPU);
    times.is_some_and(|[own, of_children]| own >= limit || (is_signaled && own.max(of_children) >= limit / 2))
}

/// Why a command never began.
#[derive(Debug)]
pub(crate) enum Failure {
    /// execve(2) failed, as it would have without the launcher.
    Exec(io::Error),
    /// The limits could not be set.
    Limits(io::Error),
    /// The network of the call's own could not be entered.
    Network(io::Error),
}

/// Returns the processor time of a process that has ended and was not reaped, and of its children that it has waited
/// for; see `/proc/PID/stat` in proc(5). Only Linux tells.
pub(crate) fn processor_times(pid: u32) -> Option<[Duration; 2]> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, which the command can choose, ends with the last parenthesis. The state after it is the third field.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Vec<u64> =
        fields.split_ascii_whitespace().skip(11).take(4).map_while(|field| field.parse().ok()).collect();
    let &[user, system, children_user, children_system] = ticks.as_slice() else { return None };
    let rate = rustix::param::clock_ticks_per_second().max(1);
    let time = |ticks: u64| Duration::from_millis(ticks.saturating_mul(1000) / rate);
    Some([time(user.saturating_add(system)), time(children_user.saturating_add(children_system))])
}

/// Receives one message with its descriptors, marked close-on-exec.
fn receive(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage};
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(launched::MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    #[cfg(not(target_vendor = "apple"))]
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    #[cfg(target_vendor = "apple")]
    let flags = RecvFlags::DONTWAIT;
    let received = rustix::net::recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags)?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    #[cfg(target_vendor = "apple")]
    crate::poll::close_on_exec(&descriptors)?;
    Ok((received.bytes, descriptors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn processor_time_was_hit_only_by_the_kernels_account() {
        let second = Duration::from_secs(1);
        let xcpu = Signal::XCPU.as_raw();
        let [signaled, told, fine] = [xcpu, (128 + xcpu) << 8, 0].map(ExitStatus::from_raw);
        for end in [signaled, told] {
            assert!(!has_used(second, end, None));
            assert!(!has_used(second, end, Some([Duration::ZERO; 2])));
            assert!(has_used(second, end, Some([Duration::ZERO, second * 9 / 10])));
        }
        assert!(has_used(second, fine, Some([second, Duration::ZERO])));
        assert!(!has_used(second, fine, Some([second * 9 / 10, second])));
    }
}
