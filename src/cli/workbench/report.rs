//! `allowexec report`: a page about what was run, from audit logs and transcripts.

use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use serde_json::Value;

use super::replay;
use crate::audit::log::{Anchors, Verification, record as audit_record};
use crate::cli::Outcome;
use crate::cli::error::CliError;
use crate::cli::evidence::audit;
use crate::files::{Existing, Place, PlaceError, ReadError, open_regular};
use crate::report::{self, Chain, Report};
use crate::text::{counted, escape};
use crate::transcript::Transcript;

/// The beginning of a transcript.
const TRANSCRIPT: &[u8] = b"transcript:";
/// The name for standard output.
const STANDARD_OUTPUT: &str = "-";

/// The flags of the subcommand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Options {
    /// The file; without it, standard output.
    pub output: Option<String>,
    /// Replace an existing file.
    pub force: bool,
}

pub(super) fn run(files: &[String], options: &Options) -> Result<Outcome, CliError> {
    let mut report = Report::default();
    let (mut logs, mut transcripts) = (Vec::new(), Vec::new());
    for file in files {
        if is_transcript(file)? { transcripts.push(file.clone()) } else { logs.push(file.clone()) }
    }
    if !logs.is_empty() {
        add_logs(&logs, &mut report)?;
    }
    for file in transcripts {
        let failed = |why: String| CliError::Transcript { why: escape(&why).into_owned() };
        let text = replay::read(&file).map_err(failed)?;
        let transcript = Transcript::parse(&file, &text).map_err(|error| failed(error.to_string()))?;
        report.add_source(&file, "a transcript");
        report.add_transcript(&file, &transcript);
    }
    report.finish();
    write(&report, options)?;
    Ok(Outcome::Good)
}

/// Whether a file is a transcript, by its first bytes.
fn is_transcript(file: &str) -> Result<bool, CliError> {
    let unreadable = |source: ReadError| CliError::Read { file: escape(file).into_owned(), source };
    let opened = open_regular(Path::new(file)).map_err(unreadable)?;
    let mut first = Vec::new();
    opened.take(TRANSCRIPT.len() as u64).read_to_end(&mut first).map_err(|error| unreadable(error.into()))?;
    Ok(first == TRANSCRIPT)
}

fn add_logs(logs: &[String], report: &mut Report) -> Result<(), CliError> {
    let found = audit::verify(logs, Anchors::default(), |line, _| {
        match audit_record(line).filter(|record| record.get("event").is_some_and(Value::is_string)) {
            Some(record) => report.add_record(&record),
            None => report.add_unreadable(),
        }
        Ok(())
    })?;
    for (file, lines) in logs.iter().zip(&found.lines) {
        report.add_source(file, &format!("an audit log of {}", counted(*lines, "record")));
    }
    report.set_chain(chain(logs, &found));
    Ok(())
}

fn chain(logs: &[String], found: &Verification) -> Chain {
    match &found.broken {
        None => Chain { intact: true, text: "chain intact".to_owned() },
        Some(broken) => {
            let file = logs.get(broken.place.file).map(|file| escape(file).into_owned()).unwrap_or_default();
            Chain { intact: false, text: format!("chain broken: {file} line {}: {}", broken.place.line, broken.kind) }
        }
    }
}

/// Writes the page. A file gets its name once it is completely written.
fn write(report: &Report, options: &Options) -> Result<(), CliError> {
    let Some(name) = options.output.as_deref().filter(|name| *name != STANDARD_OUTPUT) else {
        let mut output = BufWriter::new(io::stdout().lock());
        let written = report::write(report, &mut output).and_then(|()| output.flush());
        return written.map_err(|source| CliError::Output { source });
    };
    let failed = |source: PlaceError| {
        let how = if matches!(source, PlaceError::Exists) { "; give `--force` to replace it" } else { "" };
        CliError::Report { file: escape(name).into_owned(), how, source }
    };
    let path = Path::new(name);
    let existing = if options.force { Existing::IsReplaced } else { Existing::IsKept };
    let place = Place::open(path, &[]).map_err(|error| failed(error.into()))?;
    let replacement = place.create(existing).map_err(failed)?;
    let file = replacement.file().map_err(|error| failed(error.into()))?;
    let mut output = BufWriter::new(file);
    let written = report::write(report, &mut output).and_then(|()| output.flush());
    written.map_err(|error| failed(error.into()))?;
    drop(output);
    replacement.take_name(path.file_name().unwrap_or_default(), existing).map_err(failed)
}
