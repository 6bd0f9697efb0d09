//! What the launcher does on Linux alone: it looks whether its parent has made its socket, gives up the capability to raise
//! limits, and refuses what the kernel would not execute.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set, remove_capability_from_bounding_set, set_capabilities,
};

use crate::exec::own_binary;

/// Fails unless the parent of this process has made the socket pair, as the server does.
pub(super) fn started_by_peer(control: impl AsFd) -> io::Result<()> {
    let peer = rustix::net::sockopt::socket_peercred(control)?;
    if rustix::process::getppid() == Some(peer.pid) { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Prevents the command from raising its limits, which root could do; see capabilities(7).
pub(super) fn give_up_raising() -> io::Result<()> {
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
pub(super) fn is_known_format(program: &OsString) -> io::Result<()> {
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
        && (machine(head) == own_binary().ok().and_then(head_of).as_deref().and_then(machine)
            || machine(head) == Some(narrow.to_ne_bytes().to_vec()))
}

/// Whether formats were registered with the kernel, see its `binfmt_misc`.
fn has_further_formats() -> bool {
    let registered = std::fs::read_dir("/proc/sys/fs/binfmt_misc").into_iter().flatten().flatten();
    registered.map(|entry| entry.file_name()).any(|name| name != "register" && name != "status")
}
