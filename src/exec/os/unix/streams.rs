//! The pipes to a command and from it, none of which its watch can be blocked by.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use crate::exec::{Capture, Feed, Spool, StreamName};
use crate::poll::pipe;

/// How much is read at once: half of what a pipe holds.
const PIECE: usize = 32 * 1024;
/// How much is read at once of a command that writes more than that.
const LARGE_PIECE: usize = 256 * 1024;

/// One of the command's output streams; `pipe` is `None` at its end.
pub(super) struct Stream {
    pub pipe: Option<OwnedFd>,
    pub capture: Capture,
    /// How many bytes were read of it.
    pub written: u64,
    name: StreamName,
    spool: Option<Arc<Spool>>,
    /// The buffer of the last read.
    piece: Vec<u8>,
    /// The stream of the caller's that it leads to; `None` if it is read here.
    own: Option<OwnedFd>,
}

/// Lets the pipe of a command that prints much hold more, so that it and its reader wait less often for each other.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "only Linux has pipes of any size"))]
fn widen(pipe: &OwnedFd) {
    // The kernel may refuse it to a user with many pipes, and then it stays as it is.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, 4 * LARGE_PIECE);
}

impl Stream {
    /// Makes a pipe, and takes what commands write to it; returns the end to write to, too.
    pub fn new(name: StreamName, capture: Capture, spool: Option<Arc<Spool>>) -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = pipe()?;
        // A command can open its end for reading too, and take back what poll(2) has promised here. Whoever read then
        // would wait beyond every deadline. The other end is another file description, and stays as programs expect it.
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok((Self { pipe: Some(ours), capture, written: 0, name, spool, piece: Vec::new(), own: None }, theirs))
    }

    /// Leads to a stream of the caller's, so that nothing of it is read or kept.
    pub fn own(name: StreamName, own: OwnedFd) -> io::Result<(Self, OwnedFd)> {
        let theirs = own.try_clone()?;
        let capture = Capture::new(1);
        Ok((Self { pipe: None, capture, written: 0, name, spool: None, piece: Vec::new(), own: Some(own) }, theirs))
    }

    /// Reads what there is, and adds a text of the server's.
    pub fn say(&mut self, text: &[u8]) -> io::Result<()> {
        if let Some(own) = &self.own {
            // Nobody may read it any more, as with a shell's own messages.
            drop(std::fs::File::from(own.try_clone()?).write_all(text));
            return Ok(());
        }
        // A pipe holds no more than this, and a command that goes on writing is not waited for.
        let most = self.written.saturating_add(4 * LARGE_PIECE as u64);
        let mut read = None;
        while read != Some(self.written) && self.written < most {
            read = Some(self.written);
            self.read()?;
        }
        self.written += text.len() as u64;
        self.keep(text);
        Ok(())
    }

    fn keep(&mut self, piece: &[u8]) {
        self.capture.push(piece);
        if let Some(spool) = &self.spool {
            spool.push(self.name, piece);
        }
    }

    /// Reads what there is.
    pub fn read(&mut self) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let mut piece = std::mem::take(&mut self.piece);
        piece.clear();
        // Not zeroed: that would take longer than to read what most commands write.
        piece.reserve_exact(PIECE);
        match rustix::io::read(pipe, spare_capacity(&mut piece)) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                if count == PIECE && piece.capacity() < LARGE_PIECE {
                    widen(pipe);
                }
                self.written += count as u64;
                self.keep(&piece);
                if count == PIECE && piece.capacity() < LARGE_PIECE {
                    piece.clear();
                    piece.reserve_exact(LARGE_PIECE);
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        self.piece = piece;
        Ok(())
    }
}

/// The standard input of a command, written to a pipe; `pipe` is `None` once it has read all of it, or wants no more.
pub(super) struct Input {
    pub pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
    /// Further input after the bytes; `None` once there can't be any.
    feed: Option<Arc<Feed>>,
}

impl Input {
    /// Makes a pipe for `bytes`, and then for the bytes of `feed`; returns the end to read from, too.
    pub fn new(bytes: Vec<u8>, feed: Option<Arc<Feed>>) -> io::Result<(Self, OwnedFd)> {
        let (theirs, ours) = pipe()?;
        // Only our end: the other end is another file description, and stays as programs expect it.
        rustix::io::ioctl_fionbio(&ours, true)?;
        let is_wanted = !bytes.is_empty() || feed.is_some();
        let mut input = Self { pipe: Some(ours).filter(|_| is_wanted), bytes, written: 0, feed };
        // It may have been given something before it was started.
        input.refill();
        Ok((input, theirs))
    }

    /// Whether there is something to be written now.
    pub fn has_more(&self) -> bool {
        self.written < self.bytes.len()
    }

    /// Takes what was given to the command since the last time.
    pub fn refill(&mut self) {
        let Some(feed) = &self.feed else { return };
        let (more, is_closed) = feed.take();
        self.bytes.drain(..self.written);
        self.written = 0;
        self.bytes.extend(more);
        if is_closed {
            self.feed = None;
            self.pipe = self.pipe.take().filter(|_| self.has_more());
        }
    }

    pub fn write(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let rest = self.bytes.get(self.written..).unwrap_or_default();
        match rustix::io::write(pipe, rest) {
            Ok(count) => {
                self.written += count;
                if let Some(feed) = &self.feed {
                    feed.read(count);
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            // A command may close its input early.
            Err(_) => self.end(),
        }
        if !self.has_more() && self.feed.is_none() {
            self.pipe = None;
        }
    }

    fn end(&mut self) {
        self.written = self.bytes.len();
        self.pipe = None;
        if let Some(feed) = self.feed.take() {
            feed.close();
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_has_read_is_not_waited_for() {
        let (mut stream, theirs) = Stream::new(StreamName::Stdout, Capture::new(8), None).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        // On a thread, so that the test ends where it waits.
        std::thread::spawn(move || {
            stream.read().unwrap();
            tell.send(stream.pipe.is_some()).unwrap();
        });
        assert_eq!(told.recv_timeout(std::time::Duration::from_secs(10)), Ok(true));
        drop(theirs);
    }
}
