//! `allowexec mock`: answers a client from a transcript and runs nothing.

use std::io::{self, BufReader, IsTerminal, Write};
use std::path::Path;

use super::faults::{Faults, Faulty};
use super::replay::LARGEST;
use crate::cli::error::CliError;
use crate::cli::{Outcome, json_for_people, stdio};
use crate::config::Surroundings;
use crate::files::read_regular;
use crate::transcript::{Mock, Placeholders};

/// How many characters are shown of a line that the client did not send.
const SHOWN: usize = 300;

/// The flags of the subcommand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Options {
    /// The client must make each request once, and no other.
    pub strict: bool,
    pub faults: Faults,
}

pub(super) fn run(file: &str, options: Options) -> Result<Outcome, CliError> {
    let broken = |why: String| CliError::Transcript { why };
    let text = read_regular(Path::new(file), LARGEST).map_err(|error| broken(format!("{file}: {error}")))?;
    let directory = Surroundings::of_this_process()?.directory;
    let placeholders = Placeholders::with_tmp(&directory).map_err(CliError::serve)?;
    let mock = Mock::parse(file, text, placeholders).map_err(|error| broken(error.to_string()))?;
    let mut mock = if options.strict { mock } else { mock.repeating() };
    let output = Output { stream: io::stdout().lock(), is_terminal: io::stdout().is_terminal() };
    let output = Faulty { stream: output, faults: options.faults, count: 0 };
    let mut unmet = 0;
    let served = mock.serve(BufReader::new(io::stdin()), output, |complaint| {
        unmet += 1;
        stdio::note(complaint);
    });
    match served {
        // The client has closed its end, or `--close-after` closed the output.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        served => served.map_err(CliError::serve)?,
    }
    if !options.strict {
        return Ok(Outcome::Good);
    }
    for (line, text) in mock.unplayed() {
        unmet += 1;
        stdio::note(&format!("{file}:{line}: the client did not send {}", shortened(text)));
    }
    Ok(if unmet == 0 { Outcome::Good } else { Outcome::Bad })
}

/// Enough of a line to recognise it.
fn shortened(text: &str) -> String {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(SHOWN).collect();
    if characters.next().is_some() { format!("{start}…") } else { start }
}

/// Standard output: a client gets every byte; on a terminal, nothing may control the terminal.
struct Output<W> {
    stream: W,
    is_terminal: bool,
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) if self.is_terminal => self.stream.write_all(json_for_people(text).as_bytes())?,
            Ok(_) | Err(_) => self.stream.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
