//! Pipes, and poll(2) on any number of descriptors (Unix), so that a thread can wait for several things.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Makes a pipe that no command inherits: the end to read from, the end to write to.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(not(target_vendor = "apple"))]
    {
        Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
    }
    #[cfg(target_vendor = "apple")]
    {
        let (receiver, sender) = rustix::pipe::pipe()?;
        close_on_exec([&receiver, &sender])?;
        Ok((receiver, sender))
    }
}

/// Marks descriptors that can't be made so that no command inherits them.
#[cfg(target_vendor = "apple")]
pub(crate) fn close_on_exec<'a>(descriptors: impl IntoIterator<Item = &'a OwnedFd>) -> io::Result<()> {
    let mark = |descriptor| rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
    Ok(descriptors.into_iter().try_for_each(mark)?)
}

/// Calls poll(2) for at most `wait` on those of the `sources` that exist; returns which are ready, including the end of
/// a stream and errors.
pub(crate) fn poll_ready<const N: usize>(
    sources: &[(Option<BorrowedFd<'_>>, PollFlags); N],
    wait: Duration,
) -> io::Result<[bool; N]> {
    let mut ready = [false; N];
    poll_into(sources, wait, &mut ready)?;
    Ok(ready)
}

/// The same for any number of sources.
pub(crate) fn poll_each(sources: &[(Option<BorrowedFd<'_>>, PollFlags)], wait: Duration) -> io::Result<Vec<bool>> {
    let mut ready = vec![false; sources.len()];
    poll_into(sources, wait, &mut ready)?;
    Ok(ready)
}

fn poll_into(sources: &[(Option<BorrowedFd<'_>>, PollFlags)], wait: Duration, ready: &mut [bool]) -> io::Result<()> {
    let open =
        || sources.iter().enumerate().filter_map(|(place, (source, flags))| source.map(|fd| (place, fd, *flags)));
    let mut polled: Vec<PollFd<'_>> = open().map(|(_, fd, flags)| PollFd::from_borrowed_fd(fd, flags)).collect();
    // A wait that a timespec can't hold is longer than any server runs.
    let timeout = Timespec::try_from(wait).ok();
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    for ((place, ..), polled) in open().zip(&polled) {
        if let Some(ready) = ready.get_mut(place) {
            *ready = !polled.revents().is_empty();
        }
    }
    Ok(())
}
