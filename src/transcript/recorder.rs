//! Writes a session down while it happens, from both of its streams.
//!
//! A [`Recorder`] wraps the reader of the client's lines and the writer of the server's; neither end notices. A line of
//! the client stands in the file before the server can see it, and a line of the server before the client can, so the
//! order is the client's: behind an answer stands what the client sent once it could have read it.

use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Entry, Header, LineEnd, Placeholders, Sent};

/// A line of the client is held in memory up to this length, and written in pieces beyond it.
const PIECE: usize = 1024 * 1024;

/// What becomes of the session where its recording fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// It goes on, unrecorded from there on.
    GoOn,
    /// Both streams fail, and so it ends: what can't be recorded is not served.
    End,
}

/// Hears of the first failure, once.
pub type Complaint = Box<dyn FnOnce(&io::Error) + Send>;

/// Records one session. Clones record the same one.
///
/// ```
/// use std::io::{BufRead, Write};
/// use allowexec::transcript::{Header, OnFailure, Placeholders, Recorder};
///
/// let file = std::env::temp_dir().join(format!("recorder-example-{}", std::process::id()));
/// let recorder = Recorder::start(
///     std::fs::File::create(&file)?, &Header::default(), Placeholders::version_only(), OnFailure::GoOn, Box::new(|_| ()),
/// )?;
/// let mut input = recorder.input(&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"[..]);
/// let mut output = recorder.output(Vec::new());
/// input.read_line(&mut String::new())?;
/// output.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")?;
/// input.read_line(&mut String::new())?;
/// recorder.ended(0);
/// assert_eq!(std::fs::read_to_string(&file)?, "\
/// transcript: 1
///
/// --> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}
/// <-- {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}
/// ==> eof
/// <== exit 0
/// ");
/// # std::fs::remove_file(file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Recorder(Arc<Mutex<Recording>>);

struct Recording {
    file: Box<dyn Write + Send>,
    placeholders: Placeholders,
    on_failure: OnFailure,
    complaint: Option<Complaint>,
    /// `false` from the first failure on.
    writes: bool,
    input_ended: bool,
}

impl Recorder {
    /// Writes the header and a blank line. `placeholders` are put where what they stand for is read, and nothing else is
    /// changed.
    ///
    /// # Errors
    /// Where even that can't be written.
    pub fn start(
        file: impl Write + Send + 'static,
        header: &Header,
        placeholders: Placeholders,
        on_failure: OnFailure,
        complaint: Complaint,
    ) -> io::Result<Self> {
        let mut file = Box::new(file);
        file.write_all(format!("{header}\n").as_bytes())?;
        file.flush()?;
        let complaint = Some(complaint);
        let recording = Recording { file, placeholders, on_failure, complaint, writes: true, input_ended: false };
        Ok(Self(Arc::new(Mutex::new(recording))))
    }

    /// Wraps the stream that the client's lines come from.
    pub fn input<R: BufRead>(&self, inner: R) -> RecordedInput<R> {
        RecordedInput { recorder: self.clone(), inner, line: Vec::new(), seen: 0 }
    }

    /// Wraps the stream that the server's lines go to.
    pub fn output<W: Write>(&self, inner: W) -> RecordedOutput<W> {
        RecordedOutput { recorder: self.clone(), inner, line: Vec::new() }
    }

    /// Writes a comment, with one `#` for each of its lines.
    pub fn comment(&self, text: &str) {
        self.lock().entry(&Entry::Comment(format!(" {text}"))).ok();
    }

    /// Writes the server's end. Where the server ended though its client did not, because it was asked to from outside for instance, a comment
    /// stands in place of the status: a replay has nobody to ask for that.
    pub fn ended(&self, status: i32) {
        let mut recording = self.lock();
        let entry = match recording.input_ended {
            true => Entry::Exit(status),
            false => Entry::Comment(" The server ended before its input did.".to_owned()),
        };
        recording.entry(&entry).ok();
    }

    /// Whether everything so far stands in the file.
    pub fn is_complete(&self) -> bool {
        self.lock().writes
    }

    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("is_complete", &self.is_complete()).finish_non_exhaustive()
    }
}

impl Recording {
    fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        self.line(format!("{entry}\n").as_bytes())
    }

    fn sent(&mut self, bytes: Vec<u8>, end: LineEnd) -> io::Result<()> {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => self.placeholders.hide_directory(&text).into_bytes(),
            Err(error) => error.into_bytes(),
        };
        self.entry(&Entry::Send(Sent { bytes, end }))
    }

    /// Writes one line with one call. The error is for the streams, and only where they are to fail.
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        if self.writes {
            if let Err(error) = self.file.write_all(line).and_then(|()| self.file.flush()) {
                self.writes = false;
                if let Some(complain) = self.complaint.take() {
                    complain(&error);
                }
            }
        }
        match self.on_failure {
            OnFailure::End if !self.writes => Err(io::Error::other("the session can't be recorded any more")),
            OnFailure::End | OnFailure::GoOn => Ok(()),
        }
    }
}

/// The client's lines on their way to the server; see [`Recorder::input`].
#[derive(Debug)]
pub struct RecordedInput<R> {
    recorder: Recorder,
    inner: R,
    /// What was seen of a line that has not ended.
    line: Vec<u8>,
    /// How much of the inner buffer was seen already.
    seen: usize,
}

impl<R: BufRead> RecordedInput<R> {
    /// Records what the buffer holds beyond what was seen.
    fn record(&mut self) -> io::Result<()> {
        let buffer = self.inner.fill_buf()?;
        let mut recording = self.recorder.lock();
        if buffer.is_empty() {
            if recording.input_ended {
                return Ok(());
            }
            recording.input_ended = true;
            if !self.line.is_empty() {
                recording.sent(std::mem::take(&mut self.line), LineEnd::Missing)?;
            }
            return recording.entry(&Entry::CloseInput);
        }
        let mut new = buffer.get(self.seen..).unwrap_or_default();
        self.seen = buffer.len();
        while let Some(end) = new.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = new.split_at(end);
            self.line.extend_from_slice(line);
            recording.sent(std::mem::take(&mut self.line), LineEnd::Newline)?;
            new = rest.get(1..).unwrap_or_default();
        }
        self.line.extend_from_slice(new);
        if self.line.len() > PIECE {
            recording.sent(std::mem::take(&mut self.line), LineEnd::Missing)?;
        }
        Ok(())
    }
}

impl<R: BufRead> BufRead for RecordedInput<R> {
    /// Records before it hands out, so that nothing is served which does not stand in the file.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.record()?;
        if self.seen == 0 {
            // The end. It is not asked for again: a terminal would want to hear it twice.
            return Ok(&[]);
        }
        // The same bytes once more: the buffer was filled and not consumed.
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.seen = self.seen.saturating_sub(count);
        self.inner.consume(count);
    }
}

impl<R: BufRead> Read for RecordedInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

/// The server's lines on their way to the client; see [`Recorder::output`].
#[derive(Debug)]
pub struct RecordedOutput<W> {
    recorder: Recorder,
    inner: W,
    line: Vec<u8>,
}

impl<W: Write> Write for RecordedOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut new = bytes;
        while let Some(end) = new.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = new.split_at(end);
            self.line.extend_from_slice(line);
            let line = String::from_utf8_lossy(&self.line);
            let mut recording = self.recorder.lock();
            let shown = recording.placeholders.hide(&line);
            // Not as a `Message`, which would be parsed: whether it is one is for whoever reads the recording.
            recording.line(format!("<-- {shown}\n").as_bytes())?;
            drop(recording);
            self.line.clear();
            new = rest.get(1..).unwrap_or_default();
        }
        self.line.extend_from_slice(new);
        self.inner.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
