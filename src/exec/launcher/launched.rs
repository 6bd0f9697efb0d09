//! The launcher itself: this program, started once more. It receives its limits, sets them, and becomes the command.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::unistd::execv;
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::SIGPIPE;

use super::own_network;
use super::own_steps::{give_up_raising, started_by_peer};

/// The first argument that makes this program the launcher. No help mentions it: without the server's socket it does
/// nothing.
pub(super) const WORD: &str = "__launch";

/// The launcher's message before it becomes the command.
pub(super) const BEGINS: u8 = b'b';
/// Its messages on failure, with an error number: in execve(2), or anywhere before.
pub(super) const EXEC: u8 = b'e';
const BEFORE: u8 = b'l';
pub(super) const NETWORK: u8 = b'n';

/// The standard input, the program, two namespaces, and a file of each cgroup to enter: two that limit, and one to be
/// killed.
pub(super) const MOST_DESCRIPTORS: usize = 7;

/// Whether the running program acts as the launcher, so that its own binary can be used as one.
pub(super) static ANSWERS: AtomicBool = AtomicBool::new(false);

/// Becomes a command with limits if the arguments after the program's name say so; otherwise returns `None` at once.
///
/// This program calls it first. A program that embeds the server and sets limits must do so too, before anything else
/// in its `main`, since the server starts that program's binary as the launcher:
///
/// ```
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(status) = allowexec::exec::launched(std::env::args_os().skip(1)) {
///         return status;
///     }
///     // The program itself.
///     ExitCode::SUCCESS
/// }
/// ```
///
/// The exit status is 2 if anyone but the server has started it like this.
pub fn launched(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    ANSWERS.store(true, Ordering::Relaxed);
    let mut arguments = arguments.into_iter();
    let first = arguments.next()?;
    if cfg!(target_os = "linux") && first == own_network::WORD {
        return Some(own_network::help());
    }
    if first != WORD {
        return None;
    }
    // It returns only with an error, and there is nobody else to tell.
    if let Ok((control, (stage, error))) = become_command(arguments) {
        let number = error.raw_os_error().unwrap_or_else(|| Errno::IO.raw_os_error()).to_ne_bytes();
        let told = [&[stage], number.as_slice()].concat();
        rustix::net::send(&control, &told, SendFlags::empty()).ok();
    }
    Some(ExitCode::from(2))
}

/// The limits as they are sent through the socket; `None` for a limit that is enforced otherwise, or not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Message {
    pub memory: Option<u64>,
    pub file_size: Option<u64>,
    pub cpu: Option<u64>,
    pub processes: Option<u64>,
    pub open_files: Option<u64>,
    /// Whether the program comes as a descriptor, which is executed instead of its path.
    pub is_by_handle: bool,
    /// The level in the namespaces to enter, which come as descriptors; `None` to enter none.
    pub own_network: Option<u64>,
}

impl Message {
    const LENGTH: usize = 56;

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let by_handle = self.is_by_handle.then_some(1);
        let fields =
            [self.memory, self.file_size, self.cpu, self.processes, self.open_files, by_handle, self.own_network];
        fields.iter().flat_map(|field| field.unwrap_or(u64::MAX).to_ne_bytes()).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut fields = bytes.chunks_exact(8).map(|field| {
            let number = field.try_into().map(u64::from_ne_bytes).unwrap_or(u64::MAX);
            Some(number).filter(|&number| number != u64::MAX)
        });
        let message = Self {
            memory: fields.next()?,
            file_size: fields.next()?,
            cpu: fields.next()?,
            processes: fields.next()?,
            open_files: fields.next()?,
            is_by_handle: fields.next()? == Some(1),
            own_network: fields.next()?,
        };
        fields.next().is_none().then_some(message)
    }
}

/// Returns why it could not, at which stage, and the socket to report that; or what is wrong with the process that
/// started it.
fn become_command(mut arguments: impl Iterator<Item = OsString>) -> io::Result<(OwnedFd, (u8, io::Error))> {
    let control = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    started_by_peer(&control)?;
    let mut bytes = [0; Message::LENGTH + 1];
    let (length, descriptors) = super::receive(&control, &mut bytes)?;
    let message = bytes.get(..length).and_then(Message::from_bytes).ok_or(io::ErrorKind::InvalidData)?;
    let (Some(program), Some(word)) = (arguments.next(), arguments.next()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut descriptors = descriptors.into_iter();
    let stdin = descriptors.next().ok_or(io::ErrorKind::InvalidData)?;
    // It is closed when the program begins, and not before the kernel has found it.
    let handle = if message.is_by_handle { Some(descriptors.next().ok_or(io::ErrorKind::InvalidData)?) } else { None };
    let program = handle.as_ref().map_or(program, |handle| format!("/proc/self/fd/{}", handle.as_raw_fd()).into());
    let program = CString::new(program.into_vec())?;
    let argv: Result<Vec<CString>, _> =
        std::iter::once(word).chain(arguments).map(|word| CString::new(word.into_vec())).collect();
    let argv = argv?;
    if let Some(level) = message.own_network {
        if let Err(error) = own_network::enter(descriptors.by_ref(), level) {
            return Ok((control, (NETWORK, error)));
        }
    }
    if let Err(error) = prepare(message, stdin, descriptors) {
        return Ok((control, (BEFORE, error)));
    }
    rustix::net::send(&control, &[BEGINS], SendFlags::empty())?;
    // execve(2) with the environment of this process. The execvp(3) that std uses passes a file whose format the kernel does
    // not know to `/bin/sh`.
    let Err(error) = execv(&program, &argv);
    Ok((control, (EXEC, error.into())))
}

/// Takes the standard input, enters the cgroups and sets the limits, the memory limit last, since these steps need
/// memory.
fn prepare(message: Message, stdin: OwnedFd, groups: impl Iterator<Item = OwnedFd>) -> io::Result<()> {
    // Rust's runtime ignores SIGPIPE, and a command would inherit that. A signal with a handler is back to its default in
    // the command; see execve(2).
    signal_hook::flag::register(SIGPIPE, Arc::new(AtomicBool::new(false)))?;
    rustix::stdio::dup2_stdin(stdin)?;
    for group in groups {
        // 0 means the process that writes it.
        File::from(group).write_all(b"0")?;
    }
    let Message { memory, file_size, cpu, processes, open_files, is_by_handle: _, own_network: _ } = message;
    limit(Resource::Fsize, file_size, 0)?;
    // At the soft limit the kernel sends SIGXCPU, which shows which limit was hit; a second later it sends SIGKILL.
    limit(Resource::Cpu, cpu, 1)?;
    limit(Resource::Nproc, processes, 0)?;
    limit(Resource::Nofile, open_files, 0)?;
    #[cfg(not(target_os = "openbsd"))]
    limit(Resource::As, memory, 0)?;
    give_up_raising()?;
    Ok(())
}

/// Lowers the soft limit to `wanted` and the hard limit to `wanted` plus `more`; never raises one.
fn limit(resource: Resource, wanted: Option<u64>, more: u64) -> io::Result<()> {
    let Some(wanted) = wanted else { return Ok(()) };
    let Rlimit { current, maximum } = getrlimit(resource);
    let at_most = |limit: u64, bound: Option<u64>| Some(bound.map_or(limit, |bound| bound.min(limit)));
    let new = Rlimit { current: at_most(wanted, current), maximum: at_most(wanted.saturating_add(more), maximum) };
    Ok(setrlimit(resource, new)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_were_sent() {
        let message = Message { memory: Some(1), cpu: Some(0), open_files: Some(u64::MAX - 1), ..Message::default() };
        for message in [message, Message { is_by_handle: true, own_network: Some(0), ..message }] {
            assert_eq!(Message::from_bytes(&message.to_bytes()), Some(message));
        }
        assert_eq!(Message::from_bytes(&Message::default().to_bytes()), Some(Message::default()));
        for length in [0, 1, 39, 32, 48, 55, 64] {
            assert_eq!(Message::from_bytes(&vec![0; length]), None, "{length}");
        }
    }
}
