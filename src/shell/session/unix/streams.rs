//! The shell's three streams: its input, and the two outputs that it shares with its commands.
//!
//! On Linux each is a socket pair. A process that may look at another one can open its descriptors again through
//! `/proc/PID/fd`, and a pipe opens in both directions: `tee` could write a command into the shell's input, and another
//! call could read a marker from the shell's output and fake the end of an answer with it. A socket can't be opened by
//! a path (ENXIO, see unix_sock_open in the kernel). For the same reason commands of the shell can't open `/dev/stdout`
//! and `/dev/stderr`.
//!
//! Elsewhere no path leads to the descriptors of another process, and the streams are pipes.

use std::io;
use std::os::fd::OwnedFd;

use super::kernel::{Shared, stream};

/// Our ends of the three streams.
#[derive(Debug)]
pub(super) struct Streams {
    /// To the shell.
    pub input: OwnedFd,
    /// From it and its commands: standard output and standard error.
    pub outputs: [OwnedFd; 2],
    /// The shell's ends of the streams that it shares with its commands.
    shared: Shared,
}

impl Streams {
    /// Makes them; returns also the ends for the shell.
    pub(super) fn new() -> io::Result<(Self, [OwnedFd; 3])> {
        let (their_input, input) = stream()?;
        let (output, their_output) = stream()?;
        let (error, their_error) = stream()?;
        // The ends of the process stay as it expects them; ours never block.
        [&input, &output, &error].into_iter().try_for_each(|ours| rustix::io::ioctl_fionbio(ours, true))?;
        let shared = Shared::of([&their_output, &their_error])?;
        let streams = Self { input, outputs: [output, error], shared };
        Ok((streams, [their_input, their_output, their_error]))
    }

    /// The inode numbers of the streams that commands write to.
    pub(super) fn inodes(&self) -> io::Result<Vec<u64>> {
        Ok(self.shared.inodes(&self.outputs)?)
    }

    /// Resets what a command may have changed on streams that the next one gets too: non-blocking mode, and send
    /// timeouts, which would cut longer output off.
    pub(super) fn restore(&self) {
        self.shared.restore();
    }

    /// Closes the ends that are shared with the shell, which has ended, so that the ends of its streams become visible.
    pub(super) fn let_go(&mut self) {
        self.shared = Shared::default();
    }
}
