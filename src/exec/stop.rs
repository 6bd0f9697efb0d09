//! The stop signal of a command: one end for those who may stop it, one for the code that runs it.
//!
//! On a Unix it is a pipe and not a flag, so that one poll(2) waits for output, for the exit and for this signal. On
//! Windows it is the channel over which the watch gets all other events, too.

use std::io;
use std::time::{Duration, Instant};

#[cfg(windows)]
use super::os::Wake;

/// Why a command must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The client does not want the result any more: the configured grace period applies.
    Cancelled,
    /// The server ends: the grace period is at most half a second, even if a longer one has begun.
    Shutdown,
    /// The client wants it killed: there is no grace period.
    Killed,
    /// The client wants it interrupted: SIGINT comes first, in place of SIGTERM.
    Interrupted,
}

/// The byte that stands for no reason to stop: there is more input.
#[cfg(unix)]
const FEED: u8 = u8::MAX;

impl StopReason {
    /// Those that a client can have, and the number of the signal that each sends first.
    pub const OF_CLIENTS: [(Self, i32); 3] = [(Self::Cancelled, 15), (Self::Interrupted, 2), (Self::Killed, 9)];
}

/// The sending end. Dropping it sends [`StopReason::Shutdown`].
#[derive(Debug)]
pub struct Stop {
    #[cfg(unix)]
    sender: std::os::fd::OwnedFd,
    #[cfg(windows)]
    sender: std::sync::mpsc::Sender<Wake>,
}

/// The receiving end.
#[derive(Debug)]
pub struct StopSignal {
    #[cfg(unix)]
    pub(crate) receiver: std::os::fd::OwnedFd,
    #[cfg(windows)]
    pub(super) wakes: std::sync::mpsc::Receiver<Wake>,
    /// For the threads of the watch, which report over the same channel.
    #[cfg(windows)]
    pub(super) waker: std::sync::mpsc::Sender<Wake>,
}

/// Makes both ends.
///
/// # Errors
/// If no pipe can be made, for example for lack of descriptors.
#[cfg(unix)]
pub fn stop() -> io::Result<(Stop, StopSignal)> {
    let (receiver, sender) = crate::poll::pipe()?;
    Ok((Stop { sender }, StopSignal { receiver }))
}

/// Makes both ends.
///
/// # Errors
/// None on this platform.
#[cfg(windows)]
pub fn stop() -> io::Result<(Stop, StopSignal)> {
    let (sender, receiver) = std::sync::mpsc::channel();
    Ok((Stop { sender: sender.clone() }, StopSignal { wakes: receiver, waker: sender }))
}

impl Stop {
    /// Tells the code that runs the command to look for more input.
    pub fn feed(&self) {
        // On Windows a thread waits for it.
        #[cfg(unix)]
        {
            // The pipe is broken if the command has ended already.
            let _ = rustix::io::write(&self.sender, &[FEED]);
        }
    }

    /// Asks the command to end. Asking twice, or after the end, has no effect.
    pub fn send(&self, reason: StopReason) {
        #[cfg(unix)]
        {
            // The pipe is broken if the command has ended already, and then there is nothing left to stop.
            let _ = rustix::io::write(&self.sender, &[reason as u8]);
        }
        #[cfg(windows)]
        {
            // Nobody receives it if the command has ended already, and then there is nothing left to stop.
            let _ = self.sender.send(Wake::Stop(reason));
        }
    }
}

#[cfg(windows)]
impl Drop for Stop {
    /// The channel stays open for the watch's own threads, so the signal is sent explicitly.
    fn drop(&mut self) {
        self.send(StopReason::Shutdown);
    }
}

impl StopSignal {
    /// Waits up to `timeout` for the signal, for your own [`Executor`](super::Executor); zero only looks. `None` if
    /// none came. A signal is returned once. Only the end of the sender, [`StopReason::Shutdown`], is returned each
    /// time.
    ///
    /// # Errors
    /// The system's error of the wait.
    #[cfg(unix)]
    pub fn wait(&self, timeout: Duration) -> io::Result<Option<StopReason>> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let until = Instant::now().checked_add(timeout);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            let mut polled = [PollFd::new(&self.receiver, PollFlags::IN)];
            match poll(&mut polled, left.as_ref()) {
                Ok(0) => return Ok(None),
                Ok(_) => match self.read()? {
                    None => {}
                    reason => return Ok(reason),
                },
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits up to `timeout` for the signal, for your own [`Executor`](super::Executor); zero only looks. `None` if
    /// none came. A signal is returned once. Only the end of the sender, [`StopReason::Shutdown`], is returned each
    /// time.
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
                // They come from a watch that this executor does not have.
                Ok(Wake::Read(_) | Wake::Exited(_)) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                // This can't happen, because this end holds a sender itself.
                Err(RecvTimeoutError::Disconnected) => return Ok(Some(StopReason::Shutdown)),
            }
        }
    }
}

#[cfg(unix)]
impl StopSignal {
    /// Reads the signals that have come; to be called when the descriptor is readable. `None` if there is only more input.
    pub(crate) fn read(&self) -> io::Result<Option<StopReason>> {
        let mut reasons = [0; 8];
        let count = rustix::io::read(&self.receiver, &mut reasons)?;
        // The most urgent of those that came.
        let urgency = [StopReason::Interrupted, StopReason::Cancelled, StopReason::Killed];
        let reasons = reasons.get(..count).unwrap_or_default();
        let known = urgency.map(|reason| reasons.contains(&(reason as u8)));
        let is_shutdown = count == 0 || reasons.contains(&(StopReason::Shutdown as u8));
        let most_urgent = urgency.into_iter().zip(known).rfind(|(_, came)| *came).map(|(reason, _)| reason);
        if !is_shutdown && reasons.iter().all(|&reason| reason == FEED) {
            return Ok(None);
        }
        Ok(Some(most_urgent.filter(|_| !is_shutdown).unwrap_or(StopReason::Shutdown)))
    }
}
