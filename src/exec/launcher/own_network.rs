//! A network of a call's own: a loopback interface and nothing else. See network_namespaces(7) and user_namespaces(7).
//!
//! Only a process with a single thread can make or enter a user namespace, and a confined one must not make any. So
//! the thread of the call starts this program's binary as a helper before it confines itself. The helper makes a user
//! and a network namespace, brings `lo` up, hands both over and ends; the thread maps the user. The launcher, which
//! the confined thread starts, enters them, gives up what it got there, and becomes the command. The namespaces last
//! as long as somebody is in them or holds them. The commands of a line share them.

use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use nix::sched::{CloneFlags, setns, unshare};
use rustix::event::PollFlags;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use super::launched::ANSWERS;
use super::own_steps::started_by_peer;
use crate::exec::{os, own_binary};
use crate::poll::poll_ready;
use crate::sandbox::{self, Level, SandboxError};

/// The first argument that makes this program the helper. No help mentions it: without the server's socket it does nothing.
pub(super) const WORD: &str = "__network";
/// How long the helper may take, on the busiest machine.
const LONGEST: Duration = Duration::from_secs(10);

/// The messages of the helper, with an error number.
const MADE: u8 = b'm';
const NO_NAMESPACES: u8 = b'n';
const NO_LOOPBACK: u8 = b'l';

/// The two namespaces.
#[derive(Debug)]
pub(super) struct OwnNetwork {
    user: OwnedFd,
    network: OwnedFd,
}

impl OwnNetwork {
    /// Makes it. Call it on a thread that no sandbox confines.
    ///
    /// # Errors
    /// [`SandboxError::NoOwnNetwork`], with what would have to change.
    pub(super) fn make() -> Result<Self, SandboxError> {
        let unavailable = |(what, source)| SandboxError::NoOwnNetwork { what, source, mend: mend() };
        if !ANSWERS.load(Ordering::Relaxed) {
            let source = io::Error::other("the program that embeds the server does not act as its launcher");
            let mend = "have it call `allowexec::exec::launched` first in its `main`".to_owned();
            return Err(SandboxError::NoOwnNetwork { what: "the helper", source, mend });
        }
        let [user, network] = Self::namespaces().map_err(unavailable)?;
        Ok(Self { user, network })
    }

    fn namespaces() -> Result<[OwnedFd; 2], (&'static str, io::Error)> {
        let failed = |source| ("the helper", source);
        let (ours, theirs) = super::socket_pair().map_err(failed)?;
        let mut command = Command::new(own_binary().map_err(failed)?);
        command.arg(WORD).env_clear().current_dir("/");
        command.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null());
        let mut helper = os::spawn(command).map_err(failed)?;
        let received = received(&ours);
        let mapped = received.and_then(|namespaces| {
            map_users(helper.id()).map_err(|source| ("the map of its users", source))?;
            Ok(namespaces)
        });
        // It waits for this end to be closed. If it still has not ended then, it has been stopped by somebody.
        drop(ours);
        if mapped.is_err() {
            helper.kill().map_err(failed)?;
        }
        helper.wait().map_err(failed)?;
        mapped
    }

    /// Returns the descriptors for the launcher: both namespaces.
    pub(super) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.user.as_fd(), self.network.as_fd()]
    }
}

/// Returns the number for a command's level in the launcher's message.
pub(super) fn level_number(level: Level) -> u64 {
    u64::from(level == Level::Strict)
}

/// Receives the helper's message.
fn received(ours: &OwnedFd) -> Result<[OwnedFd; 2], (&'static str, io::Error)> {
    let failed = |source| ("the helper", source);
    let [is_there] = poll_ready(&[(Some(ours.as_fd()), PollFlags::IN)], LONGEST).map_err(failed)?;
    if !is_there {
        return Err(failed(io::ErrorKind::TimedOut.into()));
    }
    let mut bytes = [0; 5];
    let (length, descriptors) = super::receive(ours, &mut bytes).map_err(failed)?;
    let [stage, a, b, c, d] = bytes;
    let source = io::Error::from_raw_os_error(i32::from_ne_bytes([a, b, c, d]));
    match (stage, <[OwnedFd; 2]>::try_from(descriptors)) {
        _ if length < bytes.len() => Err(failed(io::ErrorKind::UnexpectedEof.into())),
        (MADE, Ok(namespaces)) => Ok(namespaces),
        (NO_NAMESPACES, _) => Err(("its namespaces", source)),
        (NO_LOOPBACK, _) => Err(("its loopback interface", source)),
        _ => Err(failed(io::ErrorKind::InvalidData.into())),
    }
}

/// Maps the users of the helper's namespace: each to itself. An ordinary user may map no other than itself, and then
/// only without changes of groups. Root maps all, since its commands work on files of other users.
fn map_users(helper: u32) -> io::Result<()> {
    let write = |file: &str, map: &str| fs::write(format!("/proc/{helper}/{file}"), map);
    if rustix::process::geteuid().is_root() {
        for file in ["uid_map", "gid_map"] {
            write(file, &to_itself(&fs::read_to_string(format!("/proc/self/{file}"))?))?;
        }
        return Ok(());
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    write("setgroups", "deny")?;
    write("uid_map", &format!("{user} {user} 1\n"))?;
    write("gid_map", &format!("{group} {group} 1\n"))
}

/// The map by which a namespace in one with this map has the same numbers.
fn to_itself(map: &str) -> String {
    let line = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (inner, count) = (fields.next()?, fields.nth(1)?);
        Some(format!("{inner} {inner} {count}\n"))
    };
    map.lines().filter_map(line).collect()
}

/// Advises what to change on this system, as far as it tells.
fn mend() -> String {
    let setting = |path: &str| fs::read_to_string(format!("/proc/sys/{path}")).ok().map(|text| text.trim().to_owned());
    let is = |path: &str, value: &str| setting(path).is_some_and(|set| set == value);
    for limit in ["max_user_namespaces", "max_net_namespaces"] {
        if is(&format!("user/{limit}"), "0") {
            return format!("raise the sysctl `user.{limit}`, which is 0");
        }
    }
    if is("kernel/unprivileged_userns_clone", "0") {
        return "set the sysctl `kernel.unprivileged_userns_clone` to 1".to_owned();
    }
    if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        return "set the sysctl `kernel.apparmor_restrict_unprivileged_userns` to 0, or give this binary an AppArmor profile \
                with `userns`"
            .to_owned();
    }
    if !fs::exists("/proc/self/ns/user").unwrap_or(false) {
        return "run a kernel with user namespaces".to_owned();
    }
    "let the container or the security module that the server runs in allow user and network namespaces".to_owned()
}

/// Acts as the helper; returns its exit status, which is 2 if anyone but the server has started it.
pub(super) fn help() -> ExitCode {
    let told = || -> io::Result<()> {
        let control = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
        started_by_peer(&control)?;
        match namespaces() {
            Ok(namespaces) => {
                let descriptors = namespaces.each_ref().map(AsFd::as_fd);
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
                let mut rights = SendAncillaryBuffer::new(&mut space);
                rights.push(SendAncillaryMessage::ScmRights(&descriptors));
                let told = [MADE, 0, 0, 0, 0];
                rustix::net::sendmsg(&control, &[IoSlice::new(&told)], &mut rights, SendFlags::empty())?;
            }
            Err((stage, error)) => {
                let number = error.raw_os_error().unwrap_or_default().to_ne_bytes();
                rustix::net::send(&control, &[&[stage], number.as_slice()].concat(), SendFlags::empty())?;
            }
        }
        // The users are mapped through this process.
        rustix::net::recv(&control, &mut [0; 1], RecvFlags::empty())?;
        Ok(())
    };
    if told().is_ok() { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

fn namespaces() -> Result<[OwnedFd; 2], (u8, io::Error)> {
    let unavailable = |error| (NO_NAMESPACES, error);
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).map_err(|error| unavailable(error.into()))?;
    bring_loopback_up().map_err(|error| (NO_LOOPBACK, error))?;
    let open = |name: &str| File::open(format!("/proc/self/ns/{name}")).map(OwnedFd::from).map_err(unavailable);
    Ok([open("user")?, open("net")?])
}

/// Brings up `lo`, which then has its addresses; see rtnetlink(7).
fn bring_loopback_up() -> io::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const REQUEST_WITH_ANSWER: u16 = 0x1 | 0x4;
    /// Every network namespace is made with it.
    const FIRST_INTERFACE: i32 = 1;
    const IFF_UP: u32 = 1;
    const LENGTH: u32 = 32;
    let request = [
        LENGTH.to_ne_bytes().as_slice(),
        &RTM_NEWLINK.to_ne_bytes(),
        &REQUEST_WITH_ANSWER.to_ne_bytes(),
        // The number of the request and its sender, then the family and the kind of the interface: none.
        &[0; 8],
        &[0; 4],
        &FIRST_INTERFACE.to_ne_bytes(),
        // The flags, and which of them change.
        &IFF_UP.to_ne_bytes(),
        &IFF_UP.to_ne_bytes(),
    ]
    .concat();
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    rustix::net::sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 64];
    let (length, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    // Behind the header: the error number, negated; 0 for success.
    match answer.get(..length).and_then(|answer| answer.get(16..20)) {
        Some(&[0, 0, 0, 0]) => Ok(()),
        Some(&[a, b, c, d]) => Err(io::Error::from_raw_os_error(i32::from_ne_bytes([a, b, c, d]).wrapping_neg())),
        Some(_) | None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Moves this process, the launcher, into the namespaces. It gets all capabilities in the user namespace by that, and
/// gives them up at once.
pub(super) fn enter(mut descriptors: impl Iterator<Item = OwnedFd>, level_number: u64) -> io::Result<()> {
    for kind in [CloneFlags::CLONE_NEWUSER, CloneFlags::CLONE_NEWNET] {
        setns(descriptors.next().ok_or(io::ErrorKind::InvalidData)?, kind)?;
    }
    let level = if level_number == 0 { Level::Workspace } else { Level::Strict };
    sandbox::confine_in_own_network(level).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_maps_whom_it_has() {
        assert_eq!(to_itself("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(to_itself("0 1000 1\n1 100000 65536\n"), "0 0 1\n1 1 65536\n");
        assert_eq!(to_itself(""), "");
    }
}
