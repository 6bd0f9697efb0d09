//! The other end of a play: where to write, the lines that come, and the end. It knows nothing of processes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::{self, Receiver, Sender, sync_channel};
use std::thread;
use std::time::Duration;

/// A longer line is cut into several, none of which is a message then.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;
/// How many lines are read ahead of the player.
const LINES_AHEAD: usize = 16;

/// Waits for the end of the peer, up to that long, and returns its exit status, or `None` if it still runs.
pub type End = Box<dyn FnMut(Duration) -> Option<i32>>;

/// A server as a [`Player`](super::Player) sees it.
pub struct Peer {
    pub(super) input: Option<Sender<Vec<u8>>>,
    pub(super) output: Receiver<Vec<u8>>,
    pub(super) end: End,
}

impl Peer {
    /// A peer over two streams, with a thread for each: a peer that does not read or does not write can't block the
    /// player. The threads end with their streams. Dropping `input` must close it.
    ///
    /// # Errors
    /// If a thread can't be started.
    pub fn over_streams(
        mut input: impl Write + Send + 'static,
        output: impl Read + Send + 'static,
        end: impl FnMut(Duration) -> Option<i32> + 'static,
    ) -> io::Result<Self> {
        let (to_peer, chunks) = mpsc::channel::<Vec<u8>>();
        let (lines, from_peer) = sync_channel(LINES_AHEAD);
        thread::Builder::new().name("transcript-input".into()).spawn(move || {
            for chunk in chunks {
                // If the peer is gone, its output ends.
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

    /// A peer over two channels: pieces with line ends are sent, and lines with their ends come; the last one may lack its own. Dropping `input` closes
    /// the input; the output ends when its sender is dropped.
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
    // A broken stream counts as ended here.
    output.take(LONGEST_LINE).read_until(b'\n', &mut line).ok().filter(|count| *count > 0)?;
    Some(line)
}
