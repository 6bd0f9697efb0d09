//! Records a session while it happens, from both of its streams.
//!
//! A [`Recorder`] wraps the reader of the client's lines and the writer of the server's, which is invisible to both. A
//! line of the client is in the file before the server can see it, and a line of the server before the client can. So
//! the order is the client's: an answer is followed by what the client sent once it could have read it.

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::long_line::LongLine;
use super::{Entry, Header, LineEnd, Placeholders, Sent};
use crate::text::escape_bytes;

/// A longer line of the client is written in pieces, and a longer line of the server goes through the spool; up to this
/// length they are held in memory.
const PIECE: usize = 256 * 1024;

/// The effect on the session if its recording fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// It goes on unrecorded.
    GoOn,
    /// Both streams fail, so it ends: what can't be recorded is not served.
    End,
}

/// Opens an empty file for reading and writing, for a line that is too long for the memory.
pub type Spool = Box<dyn Fn() -> io::Result<File> + Send>;

/// Returns the time since the session began.
pub type Clock = Box<dyn Fn() -> Duration + Send>;

/// Called once, at the first failure.
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
    /// `false` after the first failure.
    writes: bool,
    input_ended: bool,
    spool: Option<Spool>,
    clock: Option<Clock>,
}

impl Recorder {
    /// Writes the header and a blank line. `placeholders` replace the values that they stand for; nothing else is
    /// changed.
    ///
    /// # Errors
    /// If the header can't be written.
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
        let (writes, input_ended) = (true, false);
        let recording =
            Recording { file, placeholders, on_failure, complaint, writes, input_ended, spool: None, clock: None };
        Ok(Self(Arc::new(Mutex::new(recording))))
    }

    /// Holds no line of the server longer than 256 KiB in memory: a longer one goes through this file, and is recorded
    /// as it came, without placeholders. Without a spool each line is held, however long.
    #[must_use]
    pub fn with_spool(self, spool: Spool) -> Self {
        self.lock().spool = Some(spool);
        self
    }

    /// Writes a comment with the time before each line.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        self.lock().clock = Some(clock);
        self
    }

    /// Wraps the stream that the client's lines come from.
    pub fn input<R: BufRead>(&self, inner: R) -> RecordedInput<R> {
        RecordedInput { recorder: self.clone(), inner, line: Vec::new(), seen: 0 }
    }

    /// Wraps the stream that the server's lines go to.
    pub fn output<W: Write>(&self, inner: W) -> RecordedOutput<W> {
        RecordedOutput { recorder: self.clone(), inner, line: Vec::new(), spooled: None }
    }

    /// Writes a line of the server's standard error as a comment; bytes that a line can't hold are escaped.
    pub fn standard_error(&self, line: &[u8]) {
        let mut recording = self.lock();
        let text = recording.placeholders.hide_directory(&escape_bytes(line));
        recording.entry(&Entry::Comment(format!(" stderr: {text}"))).ok();
    }

    /// Writes a comment, with one `#` for each of its lines.
    pub fn comment(&self, text: &str) {
        self.lock().entry(&Entry::Comment(format!(" {text}"))).ok();
    }

    /// Writes the server's end. If the server ended although its client did not, for example because a signal ended it,
    /// a comment replaces the status, since a replay can't repeat that.
    pub fn ended(&self, status: i32) {
        let mut recording = self.lock();
        let entry = match recording.input_ended {
            true => Entry::Exit(status),
            false => Entry::Comment(" The server ended before its input did.".to_owned()),
        };
        recording.entry(&entry).ok();
    }

    /// Whether everything so far is in the file.
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
        let at = match (&self.clock, entry) {
            (
                Some(clock),
                Entry::Send(_) | Entry::Receive(_) | Entry::Noise(_) | Entry::CloseInput | Entry::Exit(_),
            ) => at(clock()),
            _ => String::new(),
        };
        self.line(format!("{at}{entry}\n").as_bytes())
    }

    /// Writes a line of the server. A message is written as it came; anything else is marked, so that the recording is
    /// a transcript whatever the server writes.
    fn received(&mut self, line: &[u8]) -> io::Result<()> {
        let hidden = std::str::from_utf8(line).map(|text| self.placeholders.hide(text));
        self.entry(&Entry::of_server(hidden.as_ref().map_or(line, |text| text.as_bytes())))
    }

    /// Copies a line from its spool to the file.
    fn spooled(&mut self, mut spool: File) -> io::Result<()> {
        let at = self.clock.as_ref().map(|clock| at(clock())).unwrap_or_default();
        if self.writes {
            let mut file = io::BufWriter::new(&mut self.file);
            let copied = file.write_all(at.as_bytes()).and_then(|()| LongLine::copy(&mut spool, &mut file));
            let copied = copied.and_then(|()| file.flush());
            drop(file);
            self.note(copied);
        }
        self.verdict()
    }

    fn sent(&mut self, bytes: Vec<u8>, end: LineEnd) -> io::Result<()> {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => self.placeholders.hide_directory(&text).into_bytes(),
            Err(error) => error.into_bytes(),
        };
        self.entry(&Entry::Send(Sent { bytes, end }))
    }

    /// Writes one line with one call. It returns an error only if the streams must fail.
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        if self.writes {
            let written = self.file.write_all(line).and_then(|()| self.file.flush());
            self.note(written);
        }
        self.verdict()
    }

    /// The first failure ends the recording, and is reported.
    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.writes = false;
            if let Some(complain) = self.complaint.take() {
                complain(&error);
            }
        }
    }

    fn verdict(&self) -> io::Result<()> {
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
    /// The beginning of a line that has not ended.
    line: Vec<u8>,
    /// How much of the inner buffer was recorded already.
    seen: usize,
}

impl<R: BufRead> RecordedInput<R> {
    /// Records the new part of the buffer.
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
        while let Some(end) = memchr::memchr(b'\n', new) {
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
    /// Records before it returns anything, so that nothing is served that is not in the file.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.record()?;
        if self.seen == 0 {
            // The end. It is not read again, because a terminal would want the end typed twice.
            return Ok(&[]);
        }
        // The same bytes again: the buffer was filled and not consumed.
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
    /// The beginning of a line that has not ended.
    line: Vec<u8>,
    /// The earlier part of it, if it is long.
    spooled: Option<File>,
}

impl<W> RecordedOutput<W> {
    /// Holds a part of a line, in the spool if it becomes too long.
    fn hold(&mut self, part: &[u8]) -> io::Result<()> {
        self.line.extend_from_slice(part);
        if self.line.len() <= PIECE {
            return Ok(());
        }
        let mut recording = self.recorder.lock();
        if self.spooled.is_none() && recording.writes {
            let opened = recording.spool.as_ref().map(|open| open()).transpose();
            self.spooled = opened.unwrap_or_else(|error| {
                recording.note(Err(error));
                None
            });
        }
        if let Some(spool) = &mut self.spooled {
            let written = spool.write_all(&self.line);
            recording.note(written);
        }
        if self.spooled.is_some() || !recording.writes {
            self.line.clear();
        }
        recording.verdict()
    }

    /// Records the line that is held.
    fn end(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let mut recording = self.recorder.lock();
        match self.spooled.take() {
            None => recording.received(&line),
            Some(mut spool) => {
                let written = spool.write_all(&line);
                recording.note(written);
                recording.spooled(spool)
            }
        }
    }

    /// Records what the server has written after its last line feed, if there is anything.
    ///
    /// # Errors
    /// If the recording fails and that ends the session.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.line.is_empty() && self.spooled.is_none() {
            return Ok(());
        }
        self.end()?;
        self.recorder.lock().entry(&Entry::NoLineEnd)
    }
}

impl<W: Write> Write for RecordedOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut lines = bytes.split(|&byte| byte == b'\n');
        // The last part has no line feed.
        let rest = lines.next_back().unwrap_or_default();
        for line in lines {
            self.hold(line)?;
            self.end()?;
        }
        self.hold(rest)?;
        self.inner.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The time before a line, as a comment.
fn at(time: Duration) -> String {
    format!("# at {:.6} s\n", time.as_secs_f64())
}
