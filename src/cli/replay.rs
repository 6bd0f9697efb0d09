//! `allowexec replay`: plays transcripts against fresh servers and shows what differs.
//!
//! One transcript is played in this process. Several are played side by side, each by a process of its own, since the server
//! that is built in looks after the orphans of the whole process. What is printed holds nothing that changes from run to run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::CliError;
use super::played::{self, Played};
use super::signals::{Interrupt, Signals};
use super::verdicts::{Difference, ReplayVerdict, ReplayVerdicts};
use super::{Outcome, beside, foreign, print, print_json, stdio};
use crate::config::Surroundings;
use crate::exec::own_descendants;
use crate::files::{self, Beneath, PlaceError, read_regular};
use crate::text::escape;
use crate::transcript::{Comparison, Entry, Header, Placeholders, Player, Rule, Strictness, Transcript};

/// The largest transcript that is read; parsed it takes several times as much memory.
pub(super) const LARGEST: u64 = 64 * 1024 * 1024;
/// The name for a transcript on standard input.
const STANDARD_INPUT: &str = "-";

/// What was asked for beside the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Options {
    pub rewriting: Rewriting,
    /// Print JSON.
    pub json: bool,
    /// Print TAP.
    pub tap: bool,
    /// Write JUnit's XML there.
    pub junit: Option<String>,
    /// Play there instead of in a fresh directory.
    pub directory: Option<String>,
    /// The command of the server, in place of what the transcript says.
    pub server: Option<Vec<String>>,
    /// How long each wait may last.
    pub timeout: Option<Duration>,
    /// How many are played at once.
    pub jobs: Option<usize>,
    /// The variables of this process's that a server gets.
    pub pass_env: Vec<String>,
    /// Only what the transcript names may differ.
    pub strict: bool,
}

/// What becomes of a transcript that differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Rewriting {
    #[default]
    Off,
    /// It is shown what would be written.
    Shows,
    Writes,
}

pub(super) fn run(named: &[String], options: &Options) -> Result<Outcome, CliError> {
    own_descendants();
    let interrupt = Signals::catch().and_then(Interrupt::new).map_err(|source| CliError::Serve { source })?;
    let files = transcripts(named)?;
    // Several would meet in one directory, and standard input is this process's.
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
        beside::replay(&files, options, &interrupt, |file, verdict| said(verdict, file).map(|_| ()))?
    };
    let verdicts = ReplayVerdicts(verdicts);
    if let Some(file) = &options.junit {
        fs::write(file, verdicts.to_junit()).map_err(|source| CliError::Write { file: file.clone(), source })?;
    }
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
        // Each has said why.
        (_, _) => Outcome::Status(2),
    })
}

/// The files that were named, and those below the directories that were.
pub(super) fn transcripts(named: &[String]) -> Result<Vec<String>, CliError> {
    let mut files = Vec::new();
    for name in named {
        if name == STANDARD_INPUT || !Path::new(name).is_dir() {
            files.push(name.clone());
            continue;
        }
        let found = below(Path::new(name)).map_err(|error| CliError::Transcript { why: format!("{name}: {error}") })?;
        if found.is_empty() {
            return Err(CliError::Transcript { why: format!("{name}: it holds no file `*.transcript`") });
        }
        files.extend(found);
    }
    Ok(files)
}

/// The transcripts below a directory, by name. No link is followed.
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

/// Reads a transcript, from standard input where it is named so.
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

/// The rules of a transcript: those of its header, and those of the file `NAME.match` beside it.
fn rules(file: &str, transcript: &Transcript) -> Result<Vec<Rule>, String> {
    let mut rules = transcript.header.rules().to_vec();
    let beside = Path::new(file).with_extension("match");
    if file != STANDARD_INPUT && beside.exists() {
        let shown = beside.display();
        let text = read_regular(&beside, LARGEST).map_err(|error| format!("{shown}: {error}"))?;
        let text = String::from_utf8(text).map_err(|error| format!("{shown}: {error}"))?;
        rules.extend(Rule::parse_file(&text).map_err(|(line, problem)| format!("{shown}:{line}: {problem}"))?);
    }
    Ok(rules)
}

/// Plays one transcript after the other.
pub(super) struct Replayer<'a> {
    options: &'a Options,
    passed: BTreeMap<OsString, OsString>,
    interrupt: Interrupt,
}

impl<'a> Replayer<'a> {
    pub(super) fn new(options: &'a Options, interrupt: Interrupt) -> Result<Self, CliError> {
        let passed = passed(Surroundings::of_this_process()?.variables, &options.pass_env);
        Ok(Self { options, passed, interrupt })
    }

    /// Plays one file. The error is for people, and names the file.
    pub(super) fn replay(&mut self, file: &str) -> Result<ReplayVerdict, String> {
        let failed = |error: io::Error| format!("{file}: {error}");
        let cannot_update = |error: PlaceError| format!("{file}: can't be updated: {error}");
        // Held before anything runs that could put another file or a link there.
        let original = match self.options.rewriting {
            Rewriting::Writes => Some(files::Place::open(Path::new(file), &[]).map_err(failed)?),
            Rewriting::Off | Rewriting::Shows => None,
        };
        original.iter().try_for_each(|original| original.could_replace()).map_err(cannot_update)?;
        let text = read(file)?;
        let transcript = Transcript::parse(file, &text).map_err(|error| error.to_string())?;
        if !transcript.header.plays_here() {
            return Ok(ReplayVerdict::Elsewhere);
        }
        if transcript.entries.iter().all(|entry| matches!(entry, Entry::Comment(_) | Entry::Blank)) {
            return Err(format!("{file}: nothing is sent and nothing expected; a recording may have been broken off"));
        }
        let advice = self.advice(&transcript.header);
        let place =
            ReplayDirectory::new(self.options.directory.as_deref()).map_err(|error| match &self.options.directory {
                Some(directory) => format!("flag `--in`: `{directory}` can't be used: {error}"),
                None => format!("no directory can be made to play in: {error}"),
            })?;
        if place.is_given && !transcript.header.setup().is_empty() {
            return Err(format!("{file}: `setup` makes files in a fresh directory, so it does not play with `--in`"));
        }
        let placeholders = Placeholders::with_tmp(&place.path).map_err(failed)?;
        for setup in transcript.header.setup() {
            setup
                .make_beneath(&place.directory, &placeholders)
                .map_err(|error| format!("{file}: setup: {setup}: {error}"))?;
        }
        let Played { transcript: played, problem, has_started } = self
            .play(&transcript, &place, &placeholders)
            .map_err(|error| format!("{file}: {error}\n{advice}").trim_end().to_owned())?;
        // The parser has taken it for UTF-8.
        let text = String::from_utf8_lossy(&text);
        let rules = rules(file, &transcript)?;
        let strictness = if self.options.strict { Strictness::Strict } else { Strictness::Usual };
        let comparison = Comparison::new(file, &text, &transcript, &played, &placeholders, &rules, strictness);
        let problem = problem.map(|problem| format!("{}\n", problem.trim_end())).unwrap_or_default();
        let is_same = comparison.is_same() && (has_started || expects_an_end(&transcript));
        let difference = Difference {
            line: comparison.line(),
            reason: if is_same { String::new() } else { format!("{problem}{advice}") },
            diff: comparison.unified(),
        };
        // What a server does that did not start is nothing that a transcript should say.
        let updated = comparison.updated().filter(|_| has_started && !self.interrupt.came());
        match (updated, self.options.rewriting) {
            (Some(updated), Rewriting::Writes) => {
                if let Some(original) = original {
                    let replacement = original.replace_alike().map_err(cannot_update)?;
                    replacement.file().and_then(|mut file| file.write_all(updated.as_bytes())).map_err(failed)?;
                    replacement.take_the_name().map_err(failed)?;
                }
                Ok(ReplayVerdict::Updated(difference))
            }
            (Some(_), Rewriting::Shows) => Ok(ReplayVerdict::Updated(difference)),
            (Some(_) | None, _) if is_same => Ok(ReplayVerdict::Same),
            (Some(_) | None, _) => Ok(ReplayVerdict::Different(difference)),
        }
    }

    fn play(
        &self,
        transcript: &Transcript,
        place: &ReplayDirectory,
        placeholders: &Placeholders,
    ) -> io::Result<Played> {
        let (directory, passed) = (&place.directory, &self.passed);
        let words = self.options.server.as_deref().unwrap_or(transcript.header.server());
        if words.is_empty() {
            return played::play(transcript, directory, placeholders, passed, self.options.timeout, &self.interrupt);
        }
        let player = Player::default().placeholders(placeholders.clone());
        let player = self.options.timeout.into_iter().fold(player, Player::deadline);
        let variables = played::variables(transcript, directory, placeholders, passed);
        foreign::play(&player, words, transcript, directory, placeholders, &variables, &self.interrupt)
    }

    /// What could help a server that does not find its files.
    fn advice(&self, header: &Header) -> String {
        match (header.directory(), &self.options.directory) {
            (Some(directory), None) => format!("recorded in {directory}; try `--in {directory}`\n"),
            (Some(_), Some(_)) | (None, _) => String::new(),
        }
    }
}

/// Whether the transcript says how the server ends, as one does whose server does not start.
fn expects_an_end(transcript: &Transcript) -> bool {
    transcript.entries.iter().any(|entry| matches!(entry, Entry::Exit(_)))
}

/// What of this process's environment a server finds beside what its transcript says: what is needed to find programs, and
/// what the player names. A transcript is somebody else's, and reads nothing that it was not given.
fn passed(own: BTreeMap<OsString, OsString>, named: &[String]) -> BTreeMap<OsString, OsString> {
    let same = |name: &OsString, other: &str| match cfg!(windows) {
        true => name.eq_ignore_ascii_case(other),
        false => name == other,
    };
    let is_passed = |name: &OsString| {
        played::NEEDED.iter().any(|needed| same(name, needed)) || named.iter().any(|named| same(name, named))
    };
    own.into_iter().filter(|(name, _)| is_passed(name)).collect()
}

/// Where a transcript plays. A fresh directory goes with it.
struct ReplayDirectory {
    path: PathBuf,
    directory: Beneath,
    is_given: bool,
}

impl ReplayDirectory {
    fn new(given: Option<&str>) -> io::Result<Self> {
        if let Some(path) = given {
            let directory = Beneath::open(Path::new(path))?;
            return Ok(Self { path: dunce::canonicalize(path)?, directory, is_given: true });
        }
        let base = std::env::temp_dir();
        // Names are taken by making them, so that two replays at once never share one.
        for number in 0_u32..10_000 {
            let path = base.join(format!("allowexec-replay-{}-{number}", std::process::id()));
            match make_private(&path) {
                Ok(()) => return Ok(Self { directory: Beneath::open(&path)?, path, is_given: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("no free name in `{}`", base.display())))
    }
}

impl Drop for ReplayDirectory {
    fn drop(&mut self) {
        // What has the name now may be another directory, or a link to one.
        if !self.is_given && self.directory.is_at(&self.path) {
            // It follows no link. What a transcript has made unremovable stays, and hides nothing that was played.
            fs::remove_dir_all(&self.path).ok();
        }
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700).create(path);
    #[cfg(not(unix))]
    fs::create_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_no_variable_that_is_not_named() {
        let variables = ["PATH", "HOME", "TOKEN", "OTHER", "ALLOWEXEC_CONFIG"];
        let own = || variables.iter().map(|&name| (name.into(), "x".into())).collect();
        let names = |named: &[&str]| {
            let named: Vec<String> = named.iter().map(|&name| name.to_owned()).collect();
            passed(own(), &named).into_keys().map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["PATH"]);
        assert_eq!(names(&["TOKEN", "MISSING"]), ["PATH", "TOKEN"]);
    }
}
