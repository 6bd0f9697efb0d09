//! The wish to end a command: one end for who wishes it, one for who runs the command.
//!
//! On a Unix a pipe and no flag, so that the wait for output, for the exit and for this wish is one poll(2). On Windows
//! the channel over which the watch hears of everything else too.

use std::io;
use std::time::{Duration, Instant};

#[cfg(windows)]
use super::os::Wake;

/// Why a command is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The client does not want the result any more: the configured grace is given.
    Cancelled,
    /// The server ends: at most half a second is given, also where more was given before.
    Shutdown,
}

/// The end of who wishes a command to end. Dropping it is the wish for [`StopReason::Shutdown`].
#[derive(Debug)]
pub struct Stop {
    #[cfg(unix)]
    wish: std::os::fd::OwnedFd,
    #[cfg(windows)]
    wish: std::sync::mpsc::Sender<Wake>,
}

/// The end of who runs the command.
#[derive(Debug)]
pub struct StopSignal {
    #[cfg(unix)]
    pub(crate) wish: std::os::fd::OwnedFd,
    #[cfg(windows)]
    pub(super) wakes: std::sync::mpsc::Receiver<Wake>,
    /// For the threads of the watch, which tell over the same channel.
    #[cfg(windows)]
    pub(super) waker: std::sync::mpsc::Sender<Wake>,
}

/// Makes both ends.
///
/// # Errors
/// Where no pipe can be had, for want of descriptors for instance.
#[cfg(unix)]
pub fn stop() -> io::Result<(Stop, StopSignal)> {
    let (receiver, sender) = super::os::pipe()?;
    Ok((Stop { wish: sender }, StopSignal { wish: receiver }))
}

/// Makes both ends.
///
/// # Errors
/// None on this platform.
#[cfg(windows)]
pub fn stop() -> io::Result<(Stop, StopSignal)> {
    let (sender, receiver) = std::sync::mpsc::channel();
    Ok((Stop { wish: sender.clone() }, StopSignal { wakes: receiver, waker: sender }))
}

impl Stop {
    /// Wishes the command to end. To wish it twice, or after the end, does no harm.
    pub fn wish(&self, reason: StopReason) {
        #[cfg(unix)]
        {
            // The pipe is broken where the command has ended already, and then there is nothing left to wish.
            let _ = rustix::io::write(&self.wish, &[reason as u8]);
        }
        #[cfg(windows)]
        {
            // Nobody hears it where the command has ended already, and then there is nothing left to wish.
            let _ = self.wish.send(Wake::Stop(reason));
        }
    }
}

#[cfg(windows)]
impl Drop for Stop {
    /// The channel stays open for the watch's own threads, so the wish is said.
    fn drop(&mut self) {
        self.wish(StopReason::Shutdown);
    }
}

impl StopSignal {
    /// Waits up to `timeout` for the wish, for an [`Executor`](super::Executor) of one's own; zero only looks. `None` where
    /// none came. A wish that was told is not told again, but for the end of whoever could wish, which is
    /// [`StopReason::Shutdown`] for ever.
    ///
    /// # Errors
    /// What the system says of the wait.
    #[cfg(unix)]
    pub fn wait(&self, timeout: Duration) -> io::Result<Option<StopReason>> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let until = Instant::now().checked_add(timeout);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            let mut polled = [PollFd::new(&self.wish, PollFlags::IN)];
            match poll(&mut polled, left.as_ref()) {
                Ok(0) => return Ok(None),
                Ok(_) => return self.read().map(Some),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits up to `timeout` for the wish, for an [`Executor`](super::Executor) of one's own; zero only looks. `None` where
    /// none came. A wish that was told is not told again, but for the end of whoever could wish, which is
    /// [`StopReason::Shutdown`] for ever.
    ///
    /// # Errors
    /// None on this platform.
    #[cfg(windows)]
    pub fn wait(&self, timeout: Duration) -> io::Result<Option<StopReason>> {
        use std::sync::mpsc::RecvTimeoutError;
        let until = Instant::now().checked_add(timeout);
        loop {
            let left = until.map_or(timeout, |until| until.saturating_duration_since(Instant::now()));
            match self.wakes.recv_timeout(left) {
                Ok(Wake::Stop(reason)) => return Ok(Some(reason)),
                // They come of a watch that somebody else's executor does not have.
                Ok(Wake::Read(_) | Wake::Exited(_)) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                // It can't be: this holds a sender itself.
                Err(RecvTimeoutError::Disconnected) => return Ok(Some(StopReason::Shutdown)),
            }
        }
    }
}

#[cfg(unix)]
impl StopSignal {
    /// Reads the wishes that have come; to be called when the descriptor is readable.
    pub(crate) fn read(&self) -> io::Result<StopReason> {
        let mut wishes = [0; 8];
        let count = rustix::io::read(&self.wish, &mut wishes)?;
        let only_cancelled = count > 0 && wishes.iter().take(count).all(|&wish| wish == StopReason::Cancelled as u8);
        Ok(if only_cancelled { StopReason::Cancelled } else { StopReason::Shutdown })
    }
}
