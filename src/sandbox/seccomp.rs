//! seccomp: refuses the few system calls that Landlock lets a command reach past its sandbox with.
//!
//! See seccomp(2). A filter belongs to a thread and to all that it starts, as a Landlock domain does, and costs a command
//! nothing in the system calls that it does not name: the kernel knows beforehand that those pass.
//!
//! A call by another convention than the server's own (32-bit programs) ends the process that makes it, since the numbers
//! of its system calls are others.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_long};

use rustix::io::Errno;
use rustix::thread::{Pid, gettid};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::Level;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Puts the filters of the level on the calling thread, for good, and on all that it starts from now on.
pub(super) fn confine_thread(level: Level) -> Result<(), Error> {
    let server = reaching_the_server(gettid())?;
    seccompiler::apply_filter(&server.compile(Errno::PERM)?)?;
    if level == Level::Strict {
        seccompiler::apply_filter(&other_sockets()?.compile(Errno::ACCESS)?)?;
    }
    Ok(())
}

/// What reaches the server through its `thread`, which is in one Landlock domain with the commands that it starts. A
/// signal to the number of a thread is one to its process.
fn reaching_the_server(thread: Pid) -> Result<Refused, BackendError> {
    let thread = thread.as_raw_nonzero().get();
    let mut refused = Refused::default();
    for call in [libc::SYS_kill, libc::SYS_tkill, libc::SYS_rt_sigqueueinfo, libc::SYS_pidfd_open] {
        refused.where_all(call, &[is(0, thread)?])?;
    }
    for call in [libc::SYS_tgkill, libc::SYS_rt_tgsigqueueinfo] {
        refused.where_all(call, &[is(1, thread)?])?;
    }
    // Its descriptor may be a thread's, `/proc/TID` included.
    refused.always(libc::SYS_pidfd_send_signal);
    // Who gets the signals of a descriptor; where it stands behind a pointer, it can't be told.
    refused.where_all(libc::SYS_fcntl, &[is(1, libc::F_SETOWN)?, is(2, thread)?])?;
    refused.where_all(libc::SYS_fcntl, &[is(1, F_SETOWN_EX)?])?;
    for request in [FIOSETOWN, SIOCSPGRP] {
        refused.where_all(libc::SYS_ioctl, &[is(1, request)?])?;
    }
    // The kernel ends a process at its limits. A process may bound itself.
    refused.where_all(libc::SYS_prlimit64, &[is_not(0, 0)?])?;
    Ok(refused)
}

/// Sockets that are, or can become, TCP by another name than those that Landlock knows.
fn other_sockets() -> Result<Refused, BackendError> {
    let mut refused = Refused::default();
    let known = [libc::AF_UNIX, libc::AF_NETLINK, libc::AF_INET, libc::AF_INET6];
    let unknown = known.map(|family| is_not(0, family)).into_iter().collect::<Result<Vec<_>, _>>()?;
    refused.where_all(libc::SYS_socket, &unknown)?;
    for family in [libc::AF_INET, libc::AF_INET6] {
        for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET] {
            refused.where_all(libc::SYS_socket, &[is(0, family)?, is_masked(1, SOCK_TYPE_MASK, kind)?])?;
        }
    }
    // It makes sockets that no filter sees.
    refused.always(libc::SYS_io_uring_setup);
    Ok(refused)
}

/// The part of socket(2)'s second argument that is no flag.
const SOCK_TYPE_MASK: c_int = 0xf;
/// fcntl(2) and ioctl(2), for which not every libc has a name.
const F_SETOWN_EX: c_int = 15;
const FIOSETOWN: c_int = 0x8901;
const SIOCSPGRP: c_int = 0x8902;

/// System calls by their numbers, each with what its arguments must be to be refused: one of the rules, or nothing.
#[derive(Debug, Default)]
struct Refused(BTreeMap<i64, Vec<SeccompRule>>);

impl Refused {
    fn where_all(&mut self, call: c_long, conditions: &[SeccompCondition]) -> Result<(), BackendError> {
        for number in numbers(call) {
            self.0.entry(number).or_default().push(SeccompRule::new(conditions.to_vec())?);
        }
        Ok(())
    }

    fn always(&mut self, call: c_long) {
        self.0.extend(numbers(call).map(|number| (number, Vec::new())));
    }

    fn compile(self, with: Errno) -> Result<BpfProgram, BackendError> {
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        let action = SeccompAction::Errno(with.raw_os_error().unsigned_abs());
        SeccompFilter::new(self.0, SeccompAction::Allow, action, arch)?.try_into()
    }
}

/// Under which numbers a system call can be made: on x86-64 under those of x32 as well, which some kernels have.
#[allow(clippy::useless_conversion, reason = "a `long` has 32 bits on some processors")]
fn numbers(call: c_long) -> impl Iterator<Item = i64> {
    const X32: i64 = 0x4000_0000;
    let x32 = cfg!(target_arch = "x86_64").then(|| match call {
        libc::SYS_ioctl => X32 | 514,
        libc::SYS_rt_sigqueueinfo => X32 | 524,
        libc::SYS_rt_tgsigqueueinfo => X32 | 536,
        same => X32 | i64::from(same),
    });
    std::iter::once(call.into()).chain(x32)
}

fn is(argument: u8, value: c_int) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: c_int) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn is_masked(argument: u8, mask: c_int, value: c_int) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::MaskedEq(mask.unsigned_abs().into()), value)
}

fn condition(argument: u8, operation: SeccompCmpOp, value: c_int) -> Result<SeccompCondition, BackendError> {
    // The kernel takes an `int` from the lower half of the register alone.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value.unsigned_abs().into())
}
