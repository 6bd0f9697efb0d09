//! The stop signal as a pipe: a byte is a reason, the end of the pipe the end of the server.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::StopReason;

/// The byte that stands for no reason to stop: there is more input.
const FEED: u8 = u8::MAX;

/// The sending end. Dropping it sends [`StopReason::Shutdown`].
#[derive(Debug)]
pub struct Stop {
    sender: OwnedFd,
}

/// The receiving end.
#[derive(Debug)]
pub struct StopSignal {
    pub(crate) receiver: OwnedFd,
}

/// Makes both ends.
///
/// # Errors
/// If no pipe can be made, for example for lack of descriptors.
pub fn stop() -> io::Result<(Stop, StopSignal)> {
    let (receiver, sender) = crate::poll::pipe()?;
    Ok((Stop { sender }, StopSignal { receiver }))
}

impl Stop {
    /// Tells the code that runs the command to look for more input.
    pub fn feed(&self) {
        self.write(FEED);
    }

    /// Asks the command to end. Asking twice, or after the end, has no effect.
    pub fn send(&self, reason: StopReason) {
        self.write(reason as u8);
    }

    fn write(&self, byte: u8) {
        // The pipe is broken if the command has ended already, and then there is nothing left to stop or to feed.
        let _ = rustix::io::write(&self.sender, &[byte]);
    }
}

impl StopSignal {
    /// Waits up to `timeout` for the signal, for your own [`Executor`](crate::exec::Executor); zero only looks. `None` if
    /// none came. A signal is returned once. Only the end of the sender, [`StopReason::Shutdown`], is returned each
    /// time.
    ///
    /// # Errors
    /// The system's error of the wait.
    pub fn wait(&self, timeout: Duration) -> io::Result<Option<StopReason>> {
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
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

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
