//! The launcher itself: this program, started once more. It receives its limits, sets them, and becomes the command.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set, remove_capability_from_bounding_set, set_capabilities,
};

use super::OWN_BINARY;

/// The first argument that makes this program the launcher. No help mentions it: without the server's socket it does
/// nothing.
pub(super) const WORD: &str = "__launch";

/// What the launcher sends before it becomes the command.
pub(super) const BEGINS: u8 = b'b';
/// What it sends, with an error number, if it fails: in execve(2), or anywhere before.
pub(super) const EXEC: u8 = b'e';
const BEFORE: u8 = b'l';

/// The standard input, the program, and a file of each cgroup to enter: two that limit, and one to be killed.
pub(super) const MOST_DESCRIPTORS: usize = 5;

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
    if arguments.next()? != WORD {
        return None;
    }
    // It returns only with an error, and there is nobody else to tell.
    if let Ok((control, (stage, error))) = become_command(arguments) {
        let number = error.raw_os_error().unwrap_or(libc::EIO).to_ne_bytes();
        let told = [&[stage], number.as_slice()].concat();
        rustix::net::send(&control, &told, SendFlags::NOSIGNAL).ok();
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
}

impl Message {
    const LENGTH: usize = 48;

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let by_handle = self.is_by_handle.then_some(1);
        let fields = [self.memory, self.file_size, self.cpu, self.processes, self.open_files, by_handle];
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
        };
        fields.next().is_none().then_some(message)
    }
}

/// Returns why it could not, at which stage, and the socket to report that; or what is wrong with the process that
/// started it.
fn become_command(mut arguments: impl Iterator<Item = OsString>) -> io::Result<(OwnedFd, (u8, io::Error))> {
    let control = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    // Only the server that started this process can have made the socket pair.
    let parent = rustix::process::getppid();
    let peer = rustix::net::sockopt::socket_peercred(&control)?;
    if parent != Some(peer.pid) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
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
    let mut command = Command::new(&program);
    command.arg0(word).args(arguments);
    let prepared = prepare(message, stdin, descriptors).map_err(|error| (BEFORE, error));
    let prepared = prepared.and_then(|()| is_known_format(&program).map_err(|error| (EXEC, error)));
    if let Err(failed) = prepared {
        return Ok((control, failed));
    }
    rustix::net::send(&control, &[BEGINS], SendFlags::NOSIGNAL)?;
    Ok((control, (EXEC, command.exec())))
}

/// Takes the standard input, enters the cgroups and sets the limits, the memory limit last, since these steps need
/// memory.
fn prepare(message: Message, stdin: OwnedFd, groups: impl Iterator<Item = OwnedFd>) -> io::Result<()> {
    rustix::stdio::dup2_stdin(stdin)?;
    for group in groups {
        // 0 means the process that writes it.
        File::from(group).write_all(b"0")?;
    }
    let Message { memory, file_size, cpu, processes, open_files, is_by_handle: _ } = message;
    limit(Resource::Fsize, file_size, 0)?;
    // At the soft limit the kernel sends SIGXCPU, which shows which limit was hit; a second later it sends SIGKILL.
    limit(Resource::Cpu, cpu, 1)?;
    limit(Resource::Nproc, processes, 0)?;
    limit(Resource::Nofile, open_files, 0)?;
    limit(Resource::As, memory, 0)?;
    give_up_raising()
}

/// Lowers the soft limit to `wanted` and the hard limit to `wanted` plus `more`; never raises one.
fn limit(resource: Resource, wanted: Option<u64>, more: u64) -> io::Result<()> {
    let Some(wanted) = wanted else { return Ok(()) };
    let Rlimit { current, maximum } = getrlimit(resource);
    let at_most = |limit: u64, bound: Option<u64>| Some(bound.map_or(limit, |bound| bound.min(limit)));
    let new = Rlimit { current: at_most(wanted, current), maximum: at_most(wanted.saturating_add(more), maximum) };
    Ok(setrlimit(resource, new)?)
}

/// Prevents the command from raising its limits, which root could do; see capabilities(7).
fn give_up_raising() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    let raising = CapabilitySet::SYS_RESOURCE;
    // At execve(2) root gets the capabilities in the bounding set. An ordinary user gets none of them, and may not
    // change the set.
    if capability_is_in_bounding_set(raising)? {
        match remove_capability_from_bounding_set(raising) {
            Err(Errno::PERM) if !rustix::process::geteuid().is_root() => {}
            removed => removed?,
        }
    }
    for set in [&mut sets.effective, &mut sets.permitted, &mut sets.inheritable] {
        set.remove(raising);
    }
    Ok(set_capabilities(None, sets)?)
}

/// Refuses a file whose format the kernel does not know, as execve(2) does. The C library's execvp(3), by which std
/// becomes the command, would pass such a file to `/bin/sh`.
fn is_known_format(program: &OsString) -> io::Result<()> {
    // If the file may not be executed, is missing, or can't be read, execve(2) reports that.
    let is_executable = rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok();
    let (true, Some(head)) = (is_executable, head_of(program)) else { return Ok(()) };
    let is_known = head.starts_with(b"#!") || is_native(&head) || has_further_formats();
    if is_known { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ENOEXEC)) }
}

fn head_of(file: impl AsRef<Path>) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(file).ok()?.take(ELF_HEADER).read_to_end(&mut head).ok()?;
    Some(head)
}

/// The length of the shorter of the two ELF headers, see elf(5).
const ELF_HEADER: u64 = 52;

/// Whether it is an ELF header for this processor, or for the 32-bit programs of this processor.
fn is_native(head: &[u8]) -> bool {
    let machine = |head: &[u8]| head.get(18..20).map(<[u8]>::to_vec);
    let narrow: u16 = if cfg!(target_arch = "x86_64") { 3 } else { 40 };
    let is_whole = head.len() as u64 == ELF_HEADER && head.starts_with(b"\x7fELF");
    is_whole
        && (machine(head) == head_of(OWN_BINARY).as_deref().and_then(machine)
            || machine(head) == Some(narrow.to_ne_bytes().to_vec()))
}

/// Whether formats were registered with the kernel, see its `binfmt_misc`.
fn has_further_formats() -> bool {
    let registered = std::fs::read_dir("/proc/sys/fs/binfmt_misc").into_iter().flatten().flatten();
    registered.map(|entry| entry.file_name()).any(|name| name != "register" && name != "status")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_they_were_sent() {
        let message = Message { memory: Some(1), cpu: Some(0), open_files: Some(u64::MAX - 1), ..Message::default() };
        for message in [message, Message { is_by_handle: true, ..message }] {
            assert_eq!(Message::from_bytes(&message.to_bytes()), Some(message));
        }
        assert_eq!(Message::from_bytes(&Message::default().to_bytes()), Some(Message::default()));
        for length in [0, 1, 39, 32, 40, 47, 56] {
            assert_eq!(Message::from_bytes(&vec![0; length]), None, "{length}");
        }
    }
}
