//! The stop signal as a message in the channel of the watch.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::StopReason;
use crate::exec::os::Wake;

/// The sending end. Dropping it sends [`StopReason::Shutdown`].
#[derive(Debug)]
pub struct Stop {
    sender: Sender<Wake>,
}

/// The receiving end.
#[derive(Debug)]
pub struct StopSignal {
    pub(in crate::exec) wakes: Receiver<Wake>,
    /// For the threads of the watch, which report over the same channel.
    pub(in crate::exec) waker: Sender<Wake>,
}

/// Makes both ends.
///
/// # Errors
/// None on this platform.
pub fn stop() -> io::Result<(Stop, StopSignal)> {
    let (sender, receiver) = channel();
    Ok((Stop { sender: sender.clone() }, StopSignal { wakes: receiver, waker: sender }))
}

impl Stop {
    /// Does nothing: a thread waits for more input.
    pub fn feed(&self) {}

    /// Asks the command to end. Asking twice, or after the end, has no effect.
    pub fn send(&self, reason: StopReason) {
        // Nobody receives it if the command has ended already, and then there is nothing left to stop.
        let _ = self.sender.send(Wake::Stop(reason));
    }
}

impl Drop for Stop {
    /// The channel stays open for the watch's own threads, so the signal is sent explicitly.
    fn drop(&mut self) {
        self.send(StopReason::Shutdown);
    }
}

impl StopSignal {
    /// Waits up to `timeout` for the signal, for your own [`Executor`](crate::exec::Executor); zero only looks. `None` if
    /// none came. A signal is returned once. Only the end of the sender, [`StopReason::Shutdown`], is returned each
    /// time.
    ///
    /// # Errors
    /// None on this platform.
    pub fn wait(&self, timeout: Duration) -> io::Result<Option<StopReason>> {
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
