//! The other end of a play: somewhere to write, lines that come, and an end. It knows nothing of processes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// How the peer ends: waits up to that long and says its exit status, or `None` where it still runs.
pub type End = Box<dyn FnMut(Duration) -> Option<i32>>;

/// A server as a [`Player`](super::Player) sees it.
pub struct Peer {
    pub(super) input: Option<Sender<Vec<u8>>>,
    pub(super) output: Receiver<Vec<u8>>,
    pub(super) end: End,
}

impl Peer {
    /// A peer over two streams, with a thread for each: neither a peer that does not read nor one that does not write
    /// can hold the player. The threads end with their streams. Dropping `input` must close it.
    ///
    /// # Errors
    /// Where a thread can't be started.
    pub fn over_streams(
        mut input: impl Write + Send + 'static,
        output: impl Read + Send + 'static,
        end: impl FnMut(Duration) -> Option<i32> + 'static,
    ) -> io::Result<Self> {
        let (to_peer, chunks) = mpsc::channel::<Vec<u8>>();
        let (lines, from_peer) = mpsc::channel();
        thread::Builder::new().name("transcript-input".into()).spawn(move || {
            for chunk in chunks {
                // A peer that has gone shows as the end of its output.
                if input.write_all(&chunk).and_then(|()| input.flush()).is_err() {
                    return;
                }
            }
        })?;
        thread::Builder::new().name("transcript-output".into()).spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(line) = next_line(&mut output) {
                if lines.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self::over_channels(to_peer, from_peer, end))
    }

    /// A peer over two channels: what is sent, in pieces with their line ends; and what comes, in lines without them.
    /// The input is closed by dropping `input`, the output ends where its sender is dropped.
    #[must_use]
    pub fn over_channels(
        input: Sender<Vec<u8>>,
        output: Receiver<Vec<u8>>,
        end: impl FnMut(Duration) -> Option<i32> + 'static,
    ) -> Self {
        Self { input: Some(input), output, end: Box::new(end) }
    }
}

fn next_line(output: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    // A broken stream is an ended one here.
    output.read_until(b'\n', &mut line).ok().filter(|count| *count > 0)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Some(line)
}
