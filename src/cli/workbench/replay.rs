//! `allowexec replay`: plays transcripts against fresh servers and shows what differs.
//!
//! One transcript is played in this process. Several are played in parallel, each by a process of its own, since the built-in
//! server ends the orphans of its whole process. What is printed does not change from run to run.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use super::parallel;
use super::replayer::Replayer;
use super::verdicts::{ReplayVerdict, ReplayVerdicts};
use crate::cli::error::CliError;
use crate::cli::signals::Signals;
use crate::cli::workbench::interrupt::Interrupt;
use crate::cli::{Outcome, print, print_json, stdio};
use crate::exec::own_descendants;
use crate::files::{Place, PlaceError, read_regular};
use crate::text::escape;

/// The largest transcript that is read; parsed, it takes several times as much memory.
pub(super) const LARGEST: u64 = 64 * 1024 * 1024;
/// The name for a transcript on standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// The flags of `replay`, most of which `review` has too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Options {
    pub rewriting: Rewriting,
    /// Print JSON.
    pub json: bool,
    /// Print TAP.
    pub tap: bool,
    /// The file for JUnit's XML.
    pub junit: Option<String>,
    /// The directory to play in, instead of a fresh one.
    pub directory: Option<String>,
    /// The command of the server, instead of the one in the transcript.
    pub server: Option<Vec<String>>,
    /// How long each wait may last.
    pub timeout: Option<Duration>,
    /// How many are played at once.
    pub jobs: Option<usize>,
    /// The variables of this process that servers get.
    pub pass_env: Vec<String>,
    /// Allow only the differences that the transcript names.
    pub strict: bool,
}

/// The handling of a transcript that differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::cli) enum Rewriting {
    #[default]
    Off,
    /// The new text is shown, but not written.
    Shows,
    /// It is rewritten.
    Writes,
}

pub(super) fn run(named: &[String], options: &Options) -> Result<Outcome, CliError> {
    own_descendants();
    let interrupt = Signals::catch().and_then(Interrupt::new).map_err(CliError::serve)?;
    let files = transcripts(named)?;
    // The file is opened before anything runs that could put a link in its place. Like other test runners, each run replaces
    // the file of the last one.
    let junit = options.junit.as_deref().map(Output::hold).transpose()?;
    // In one directory, parallel replays would disturb each other, and standard input belongs to this process.
    let one_by_one = files.len() == 1 || options.directory.is_some() || files.iter().any(|file| file == STANDARD_INPUT);
    let said = |verdict: &ReplayVerdict, file: &str| match options.json || options.tap {
        true => Ok(Outcome::Good),
        false => print(&verdict.to_text(file)),
    };
    let verdicts = if one_by_one {
        let mut player = Replayer::new(options, interrupt.clone())?;
        let mut verdicts = Vec::new();
        for (index, file) in files.iter().enumerate() {
            stdio::progress(&format!("[{}/{}] {}", index + 1, files.len(), escape(file)));
            let verdict = player.replay(file).unwrap_or_else(ReplayVerdict::Broken);
            stdio::progress("");
            if interrupt.came() {
                return Err(CliError::Interrupted);
            }
            said(&verdict, file)?;
            verdicts.push((file.clone(), verdict));
        }
        verdicts
    } else {
        parallel::replay(&files, options, &interrupt, |file, verdict| said(verdict, file).map(|_| ()))?
    };
    let verdicts = ReplayVerdicts(verdicts);
    junit.map_or(Ok(()), |file| file.write(&verdicts.to_junit()))?;
    if options.json {
        print_json(&verdicts.to_json())?;
    } else if options.tap {
        print(&verdicts.to_tap())?;
    } else {
        print(&verdicts.summary())?;
    }
    Ok(match (verdicts.count("broken"), verdicts.count("different")) {
        (0, 0) => Outcome::Good,
        (0, _) => Outcome::Bad,
        // The verdict of each broken file says why.
        (_, _) => Outcome::Status(2),
    })
}

/// The file for the verdicts of a run.
struct Output<'a> {
    file: &'a str,
    place: Place,
}

impl<'a> Output<'a> {
    /// Opens its directory, and makes sure that the name is free or that of a regular file.
    fn hold(file: &'a str) -> Result<Self, CliError> {
        let place = Place::open(Path::new(file), &[]).map_err(PlaceError::from);
        let held = place.and_then(|place| place.could_replace().map(|()| Self { file, place }));
        held.map_err(|source| CliError::Write { file: file.to_owned(), source })
    }

    fn write(&self, text: &str) -> Result<(), CliError> {
        let written = self.place.replace_as_usual().and_then(|replacement| {
            replacement.file()?.write_all(text.as_bytes())?;
            Ok(replacement.take_the_name()?)
        });
        written.map_err(|source| CliError::Write { file: self.file.to_owned(), source })
    }
}

/// The files that were named, and the transcripts below the directories that were named.
pub(super) fn transcripts(named: &[String]) -> Result<Vec<String>, CliError> {
    let mut files = Vec::new();
    for name in named {
        if name == STANDARD_INPUT || !Path::new(name).is_dir() {
            files.push(name.clone());
            continue;
        }
        let found = below(Path::new(name)).map_err(|error| CliError::Transcript { why: format!("{name}: {error}") })?;
        if found.is_empty() {
            return Err(CliError::Transcript { why: format!("{name}: it contains no file `*.transcript`") });
        }
        files.extend(found);
    }
    Ok(files)
}

/// The transcripts below a directory, sorted by name. No link is followed.
fn below(directory: &Path) -> io::Result<Vec<String>> {
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            files.extend(below(&path)?);
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "transcript") {
            let no_utf8 = || io::Error::other(format!("the name of `{}` is not UTF-8", path.display()));
            files.push(path.to_str().ok_or_else(no_utf8)?.to_owned());
        }
    }
    Ok(files)
}

/// Reads a transcript; `-` is standard input.
pub(super) fn read(file: &str) -> Result<Vec<u8>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{file}: {error}");
    if file != STANDARD_INPUT {
        return read_regular(Path::new(file), LARGEST).map_err(|error| failed(&error));
    }
    let mut text = Vec::new();
    io::stdin().lock().take(LARGEST + 1).read_to_end(&mut text).map_err(|error| failed(&error))?;
    if u64::try_from(text.len()).is_ok_and(|length| length > LARGEST) {
        return Err(failed(&format_args!("it is larger than {LARGEST} bytes")));
    }
    Ok(text)
}
