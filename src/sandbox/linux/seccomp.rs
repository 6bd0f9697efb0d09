//! seccomp: refuses the system calls that reach past the sandbox and that Landlock does not decide on.
//!
//! See seccomp(2). Filters belong to a thread and everything that it starts, as a Landlock domain does. They cost a
//! command nothing in system calls that they allow whatever the arguments, because the kernel knows those in advance.
//! Where they look at arguments, as in openat(2), a call takes about half a microsecond longer.
//! `calls` has the system calls that are always refused; this file has those that are refused for some arguments.
//!
//! A call by another convention than the server's own (32-bit programs) ends the process that makes it, since its
//! system calls have other numbers.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_long};
use std::ops::RangeInclusive;

use rustix::io::Errno;
use rustix::thread::{Pid, gettid};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::calls;
use crate::network::Network;
use crate::sandbox::Level;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Applies the filters of the level to the calling thread, for good, and to everything that it starts from now on.
pub(super) fn confine_thread(level: Level, network: &Network) -> Result<(), Error> {
    seccompiler::apply_filter(&calls::program(level, network)?)?;
    let mut refused = RefusedCalls::default();
    reaching_the_server(&mut refused, gettid())?;
    leaving_the_tree(&mut refused)?;
    outliving_sigkill(&mut refused)?;
    programs_of_the_user(&mut refused, level)?;
    match level {
        Level::Off | Level::Workspace => {
            // All processes of a processor, if the system lets ordinary users look at them.
            refused.where_all(libc::SYS_perf_event_open, &[is(1, -1)?])?;
        }
        Level::Strict => {
            priorities(&mut refused)?;
            // Watching directories by signals.
            refused.where_all(libc::SYS_fcntl, &[is(1, F_NOTIFY)?])?;
        }
    }
    match network {
        Network::None => other_pairs(&mut refused)?,
        Network::Loopback => {
            other_pairs(&mut refused)?;
            other_sockets(&mut refused)?;
        }
        Network::Ports(_) => {
            other_pairs(&mut refused)?;
            other_than_tcp(&mut refused)?;
        }
        Network::Full => {}
    }
    seccompiler::apply_filter(&refused.compile(Errno::PERM)?)?;
    Ok(())
}

/// Prevents the calling process from entering other namespaces, once it is in the network of its call. Only the launcher may
/// enter them before, and the thread that starts nothing else.
pub(super) fn refuse_entering() -> Result<(), Error> {
    let mut refused = RefusedCalls::default();
    refused.always(libc::SYS_setns);
    seccompiler::apply_filter(&refused.compile(Errno::PERM)?)?;
    Ok(())
}

/// Prevents the calling thread, and everything that it starts from now on, from accessing the memory and descriptors of
/// other processes in their domain. Landlock closes `/proc/PID/mem`, since it allows no writing below `/proc`.
pub(super) fn refuse_tracing() -> Result<(), Error> {
    let mut refused = RefusedCalls::default();
    for call in [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_pidfd_getfd,
    ] {
        refused.always(call);
    }
    seccompiler::apply_filter(&refused.compile(Errno::PERM)?)?;
    Ok(())
}

/// Prevents the calling thread, and everything that it starts from now on, from changing what Landlock does not decide on: the
/// mode, owner, times, attributes and flags of files. For those it is enough to read the file, or to see it.
pub(super) fn refuse_changes() -> Result<(), Error> {
    let mut refused = RefusedCalls::default();
    #[cfg(target_arch = "x86_64")]
    for call in
        [libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat]
    {
        refused.always(call);
    }
    for call in [
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        SYS_FCHMODAT2,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_utimensat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        SYS_SETXATTRAT,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        SYS_REMOVEXATTRAT,
        SYS_FILE_SETATTR,
    ] {
        refused.always(call);
    }
    other_requests(&mut refused)?;
    seccompiler::apply_filter(&refused.compile(Errno::PERM)?)?;
    Ok(())
}

/// Requests of ioctl(2) by which each file system changes a file in its own way: flags, encryption, snapshots. There are more of
/// them with each kernel, so those that change nothing are listed.
fn other_requests(refused: &mut RefusedCalls) -> Result<(), BackendError> {
    let mut from = Some(0);
    for allowed in HARMLESS_REQUESTS {
        if let (Some(from), Some(to)) = (from, allowed.start().checked_sub(1)) {
            refused.where_all(libc::SYS_ioctl, &is_between(1, from, to)?)?;
        }
        from = allowed.end().checked_add(1);
    }
    from.map_or(Ok(()), |from| refused.where_all(libc::SYS_ioctl, &is_between(1, from, u32::MAX)?))
}

/// Refuses what reaches the server through its `thread`, which is in one Landlock domain with the commands that it
/// starts. A signal to the number of a thread is a signal to its process.
fn reaching_the_server(refused: &mut RefusedCalls, thread: Pid) -> Result<(), BackendError> {
    let thread = thread.as_raw_nonzero().get();
    for call in [libc::SYS_kill, libc::SYS_tkill, libc::SYS_rt_sigqueueinfo, libc::SYS_pidfd_open] {
        refused.where_all(call, &[is(0, thread)?])?;
    }
    for call in [libc::SYS_tgkill, libc::SYS_rt_tgsigqueueinfo] {
        refused.where_all(call, &[is(1, thread)?])?;
    }
    // Its descriptor may be that of a thread, even `/proc/TID`.
    refused.always(libc::SYS_pidfd_send_signal);
    // Who gets the signals of a descriptor; if that is behind a pointer, a filter can't see it.
    refused.where_all(libc::SYS_fcntl, &[is(1, libc::F_SETOWN)?, is(2, thread)?])?;
    refused.where_all(libc::SYS_fcntl, &[is(1, F_SETOWN_EX)?])?;
    // A lease makes anyone who opens or executes the file wait, for 45 s by default; see fcntl(2).
    refused.where_all(libc::SYS_fcntl, &[is(1, F_SETLEASE)?])?;
    for request in [FIOSETOWN, SIOCSPGRP] {
        refused.where_all(libc::SYS_ioctl, &[is(1, request)?])?;
    }
    // The kernel ends a process that exceeds its limits. A process may limit itself.
    refused.where_all(libc::SYS_prlimit64, &[is_not(0, 0)?])
}

/// Children of the server itself, and namespaces: a user namespace gives all capabilities within it, and gives access
/// to parts of the kernel that are closed to ordinary users. Landlock refuses what would make one useful (its maps, its
/// mounts).
fn leaving_the_tree(refused: &mut RefusedCalls) -> Result<(), BackendError> {
    refused.where_all(libc::SYS_clone, &[is_masked(0, libc::CLONE_PARENT, libc::CLONE_PARENT)?])?;
    for namespace in [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ] {
        for call in [libc::SYS_clone, libc::SYS_unshare] {
            refused.where_all(call, &[is_masked(0, namespace, namespace)?])?;
        }
    }
    // In clone(2) the bit is part of the signal's number.
    refused.where_all(libc::SYS_unshare, &[is_masked(0, libc::CLONE_NEWTIME, libc::CLONE_NEWTIME)?])
}

/// A tracer that is told of the exit of its tracee stops it there, where SIGKILL does not end it any more. Two that do so to
/// each other can't be ended by anybody. Debuggers do without.
fn outliving_sigkill(refused: &mut RefusedCalls) -> Result<(), BackendError> {
    for request in [PTRACE_SETOPTIONS, PTRACE_OLDSETOPTIONS, PTRACE_SEIZE] {
        let is_told = is_masked(3, PTRACE_O_TRACEEXIT, PTRACE_O_TRACEEXIT)?;
        refused.where_all(libc::SYS_ptrace, &[is(0, request)?, is_told])?;
    }
    Ok(())
}

/// Files that whoever starts them runs as the user of the server: Landlock does not decide on the mode of a file, wherever it
/// lies, and such a file outlives the sandbox. At `strict` also as its group; at `workspace` directories can have that
/// bit, by which a shared repository hands its group on.
///
/// openat2(2) and io_uring, whose modes no filter sees, are among `calls`.
fn programs_of_the_user(refused: &mut RefusedCalls, level: Level) -> Result<(), BackendError> {
    let bits: &[c_int] = if level == Level::Strict { &[S_ISUID, S_ISGID] } else { &[S_ISUID] };
    for &bit in bits {
        #[cfg(target_arch = "x86_64")]
        for call in [libc::SYS_chmod, libc::SYS_creat, libc::SYS_mknod] {
            refused.where_all(call, &[is_masked(1, bit, bit)?])?;
        }
        refused.where_all(libc::SYS_fchmod, &[is_masked(1, bit, bit)?])?;
        for call in [libc::SYS_fchmodat, SYS_FCHMODAT2, libc::SYS_mknodat] {
            refused.where_all(call, &[is_masked(2, bit, bit)?])?;
        }
        // Unless the call makes a file, the mode is whatever the register held.
        for makes in [libc::O_CREAT, O_TMPFILE] {
            #[cfg(target_arch = "x86_64")]
            refused.where_all(libc::SYS_open, &[is_masked(1, makes, makes)?, is_masked(2, bit, bit)?])?;
            refused.where_all(libc::SYS_openat, &[is_masked(2, makes, makes)?, is_masked(3, bit, bit)?])?;
        }
    }
    Ok(())
}

/// Priority and scheduling of other processes of the user, including the server. A process uses 0 for itself; a number
/// could be that of any process.
fn priorities(refused: &mut RefusedCalls) -> Result<(), BackendError> {
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        refused.where_all(call, &[is_not(1, 0)?])?;
    }
    // All processes of the user.
    refused.where_all(libc::SYS_setpriority, &[is(0, PRIO_USER)?])?;
    refused.where_all(libc::SYS_ioprio_set, &[is(0, IOPRIO_WHO_USER)?])?;
    for call in
        [libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr]
    {
        refused.where_all(call, &[is_not(0, 0)?])?;
    }
    Ok(())
}

/// Pairs of sockets that are not just a pair: with datagrams, each message may name another socket.
fn other_pairs(refused: &mut RefusedCalls) -> Result<(), BackendError> {
    refused.where_all(libc::SYS_socketpair, &[is_not(0, libc::AF_UNIX)?])?;
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        refused.where_all(libc::SYS_socketpair, &[is_masked(1, SOCK_TYPE_MASK, kind)?])?;
    }
    Ok(())
}

/// Sockets that are not for the loopback interface. Those of Unix lead by their paths to services outside. Of netlink there is
/// what lists addresses and routes, which programs ask before they connect.
fn other_sockets(refused: &mut RefusedCalls) -> Result<(), BackendError> {
    let other = [is_not(0, libc::AF_INET)?, is_not(0, libc::AF_INET6)?, is_not(0, libc::AF_NETLINK)?];
    refused.where_all(libc::SYS_socket, &other)?;
    refused.where_all(libc::SYS_socket, &[is(0, libc::AF_NETLINK)?, is_not(2, libc::NETLINK_ROUTE)?])?;
    for kind in [libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP] {
        refused.where_all(libc::SYS_socket, &[is_masked(1, SOCK_TYPE_MASK, kind)?])?;
    }
    Ok(())
}

/// Everything but TCP as Landlock knows it. Other protocols have the same kind of socket (MPTCP, SMC, SCTP), and Landlock decides
/// on none of their ports.
fn other_than_tcp(refused: &mut RefusedCalls) -> Result<(), BackendError> {
    refused.where_all(libc::SYS_socket, &[is_not(0, libc::AF_INET)?, is_not(0, libc::AF_INET6)?])?;
    for kind in (0..=SOCK_TYPE_MASK).filter(|kind| *kind != libc::SOCK_STREAM) {
        refused.where_all(libc::SYS_socket, &[is_masked(1, SOCK_TYPE_MASK, kind)?])?;
    }
    refused.where_all(libc::SYS_socket, &[is_not(2, 0)?, is_not(2, libc::IPPROTO_TCP)?])?;
    // By "fast open" sending connects, and Landlock decides only on connect(2).
    for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
        refused.where_all(call, &[is_masked(flags, libc::MSG_FASTOPEN, libc::MSG_FASTOPEN)?])?;
    }
    // Makes another protocol of the socket.
    refused.where_all(libc::SYS_setsockopt, &[is(1, libc::IPPROTO_TCP)?, is(2, libc::TCP_ULP)?])
}

/// The part of socketpair(2)'s second argument that is not a flag.
const SOCK_TYPE_MASK: c_int = 0xf;
/// Not every libc has a name for these, or one of the same type.
const SYS_FCHMODAT2: c_long = 452;
const SYS_SETXATTRAT: c_long = 463;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_FILE_SETATTR: c_long = 469;
/// In ascending order; the numbers are the same on every processor that has filters.
const HARMLESS_REQUESTS: [RangeInclusive<u32>; 11] = [
    // FIGETBSZ
    0x0002..=0x0002,
    // Terminals, FIONREAD, FIONBIO, FIOCLEX; see ioctl_tty(2).
    0x5400..=0x54ff,
    // Sockets.
    0x8900..=0x89ff,
    // Terminals again: TIOCSPTLCK, TCSETS2 and its kin.
    0x4004_5431..=0x4004_5431,
    0x402c_542b..=0x402c_542d,
    // TIOCGPTN and its kin.
    0x8004_5430..=0x8004_5440,
    // FS_IOC32_GETFLAGS, FS_IOC_GETFLAGS and FS_IOC_FSGETXATTR; see ioctl_iflags(2).
    0x8004_6601..=0x8004_6601,
    0x8008_6601..=0x8008_6601,
    0x801c_581f..=0x801c_581f,
    // TCGETS2
    0x802c_542a..=0x802c_542a,
    // FS_IOC_FIEMAP
    0xc020_660b..=0xc020_660b,
];
/// Without O_DIRECTORY, which libc adds to it.
const O_TMPFILE: c_int = 0o20_000_000;
const S_ISUID: c_int = 0o4000;
const S_ISGID: c_int = 0o2000;
const PTRACE_SETOPTIONS: c_int = 0x4200;
/// The same on some processors.
const PTRACE_OLDSETOPTIONS: c_int = 21;
const PTRACE_SEIZE: c_int = 0x4206;
const PTRACE_O_TRACEEXIT: c_int = 0x40;
const PRIO_USER: c_int = 2;
const IOPRIO_WHO_USER: c_int = 3;
const F_SETOWN_EX: c_int = 15;
const F_SETLEASE: c_int = 1024;
const F_NOTIFY: c_int = 1026;
const FIOSETOWN: c_int = 0x8901;
const SIOCSPGRP: c_int = 0x8902;

/// System calls by their numbers, each with the conditions under which it is refused: any one of the rules, or always
/// if there are none.
#[derive(Debug, Default)]
struct RefusedCalls(BTreeMap<i64, Vec<SeccompRule>>);

impl RefusedCalls {
    #[allow(clippy::useless_conversion, reason = "a `long` has 32 bits on some processors")]
    fn where_all(&mut self, call: c_long, conditions: &[SeccompCondition]) -> Result<(), BackendError> {
        self.0.entry(call.into()).or_default().push(SeccompRule::new(conditions.to_vec())?);
        Ok(())
    }

    #[allow(clippy::useless_conversion, reason = "a `long` has 32 bits on some processors")]
    fn always(&mut self, call: c_long) {
        self.0.insert(call.into(), Vec::new());
    }

    fn compile(self, with: Errno) -> Result<BpfProgram, BackendError> {
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        let action = SeccompAction::Errno(with.raw_os_error().unsigned_abs());
        SeccompFilter::new(self.0, SeccompAction::Allow, action, arch)?.try_into()
    }
}

fn is(argument: u8, value: c_int) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: c_int) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn is_between(argument: u8, from: u32, to: u32) -> Result<[SeccompCondition; 2], BackendError> {
    let compare =
        |operation, value: u32| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value.into());
    Ok([compare(SeccompCmpOp::Ge, from)?, compare(SeccompCmpOp::Le, to)?])
}

fn is_masked(argument: u8, mask: c_int, value: c_int) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::MaskedEq(mask.unsigned_abs().into()), value)
}

fn condition(argument: u8, operation: SeccompCmpOp, value: c_int) -> Result<SeccompCondition, BackendError> {
    // The kernel takes an `int` only from the lower half of the register.
    let value = u32::from_ne_bytes(value.to_ne_bytes());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value.into())
}
