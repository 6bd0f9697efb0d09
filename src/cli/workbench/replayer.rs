//! Plays transcripts one after the other, each against a fresh server, and compares; for `replay` and `review`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use super::foreign;
use super::played::{self, Played};
use super::replay::{LARGEST, Options, Rewriting, STANDARD_INPUT, read};
use super::verdicts::{Difference, ReplayVerdict};
use crate::cli::error::CliError;
use crate::cli::workbench::interrupt::Interrupt;
use crate::config::Surroundings;
use crate::files::{Beneath, Place, PlaceError, read_regular};
use crate::transcript::{Comparison, Entry, Era, Header, Placeholders, Player, Rule, Strictness, Transcript};

/// The rules of a transcript: those of its header, and those of the file `NAME.match` next to it.
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

/// The result of one file.
pub(super) enum Replayed {
    /// The header says that it does not play on this platform.
    Elsewhere,
    Compared {
        /// The difference to show.
        difference: Difference,
        is_same: bool,
        /// The new text of the file; `None` if it stays the same, or if the file must not be rewritten, since the server did
        /// not start or a wait was not met.
        updated: Option<String>,
    },
}

impl Replayed {
    /// This session, and another one of the same file: what differs in either.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (
                Self::Compared { difference, is_same: false, updated },
                Self::Compared { difference: more, is_same: false, .. },
            ) => {
                let diff = [difference.diff, more.reason, more.diff].concat();
                Self::Compared { difference: Difference { diff, ..difference }, is_same: false, updated }
            }
            (Self::Compared { is_same: true, .. } | Self::Elsewhere, other) => other,
            (this @ Self::Compared { is_same: false, .. }, _) => this,
        }
    }
}

/// A file that may be rewritten. Its directory is opened before anything runs that could put another file or a link in its
/// place.
pub(super) struct Original<'a> {
    file: &'a str,
    place: Place,
}

impl<'a> Original<'a> {
    pub(super) fn hold(file: &'a str) -> Result<Self, String> {
        let place = Place::open(Path::new(file), &[]).map_err(|error| format!("{file}: {error}"))?;
        let original = Self { file, place };
        original.place.could_replace().map_err(|error| original.refused(&error))?;
        Ok(original)
    }

    /// Writes its new text, with the old permissions.
    pub(super) fn write(&self, text: &str) -> Result<(), String> {
        let failed = |error: io::Error| format!("{}: {error}", self.file);
        let replacement = self.place.replace_alike().map_err(|error| self.refused(&error))?;
        replacement.file().and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)?;
        replacement.take_the_name().map_err(failed)
    }

    fn refused(&self, error: &PlaceError) -> String {
        format!("{}: can't be updated: {error}", self.file)
    }
}

/// Plays one transcript after the other.
pub(super) struct Replayer<'a> {
    options: &'a Options,
    passed: BTreeMap<OsString, OsString>,
    interrupt: Interrupt,
}

impl<'a> Replayer<'a> {
    /// # Errors
    /// What would be wrong with every file.
    pub(super) fn new(options: &'a Options, interrupt: Interrupt) -> Result<Self, CliError> {
        if let Some(directory) = &options.directory {
            let unusable = |error| CliError::Transcript { why: in_unusable(directory, &error) };
            ReplayDirectory::new(Some(directory)).map_err(unusable)?;
        }
        let passed = passed(Surroundings::of_this_process()?.variables, &options.pass_env);
        Ok(Self { options, passed, interrupt })
    }

    /// Plays one file, and rewrites it if that was asked for. The error is for people, and names the file.
    pub(super) fn replay(&mut self, file: &str) -> Result<ReplayVerdict, String> {
        let original = match self.options.rewriting {
            Rewriting::Writes => Some(Original::hold(file)?),
            Rewriting::Off | Rewriting::Shows => None,
        };
        Ok(match (self.play(file)?, self.options.rewriting) {
            (Replayed::Elsewhere, _) => ReplayVerdict::Elsewhere,
            (Replayed::Compared { difference, updated: Some(updated), .. }, Rewriting::Writes) => {
                original.map_or(Ok(()), |original| original.write(&updated))?;
                ReplayVerdict::Updated(difference)
            }
            (Replayed::Compared { difference, updated: Some(_), .. }, Rewriting::Shows) => {
                ReplayVerdict::Outdated(difference)
            }
            (Replayed::Compared { is_same: true, .. }, _) => ReplayVerdict::Same,
            (Replayed::Compared { difference, .. }, _) => ReplayVerdict::Different(difference),
        })
    }

    /// Plays one file, and writes nothing. The error is for people, and names the file.
    pub(super) fn play(&mut self, file: &str) -> Result<Replayed, String> {
        let text = read(file)?;
        let sessions = Transcript::parse_sessions(file, &text).map_err(|error| error.to_string())?;
        if sessions.len() > 1 && self.options.rewriting != Rewriting::Off {
            return Err(format!(
                "{file}: expected a transcript of one session to rewrite, found `era: both`: an answer that is filled in would be \
                 expected in both eras; change the file by hand"
            ));
        }
        // The parser has taken it for UTF-8.
        let text = String::from_utf8_lossy(&text);
        let mut all = sessions.iter().map(|(era, session)| self.play_session(file, &text, *era, session));
        let first = all.next().unwrap_or(Ok(Replayed::Elsewhere))?;
        all.try_fold(first, |before, next| Ok(before.and(next?)))
    }

    /// Plays one session of a file.
    fn play_session(
        &self,
        file: &str,
        text: &str,
        era: Option<Era>,
        transcript: &Transcript,
    ) -> Result<Replayed, String> {
        let named = era.map_or_else(|| file.to_owned(), |era| format!("{file} ({era})"));
        let failed = |error: io::Error| format!("{named}: {error}");
        if !transcript.header.plays_here() {
            return Ok(Replayed::Elsewhere);
        }
        if transcript.entries.iter().all(|entry| matches!(entry, Entry::Comment(_) | Entry::Blank)) {
            return Err(format!("{named}: it sends and expects nothing; the recording may have been interrupted"));
        }
        let rules = rules(file, transcript)?;
        let advice = |has_started, unread| self.advice(&transcript.header, has_started, unread);
        let place =
            ReplayDirectory::new(self.options.directory.as_deref()).map_err(|error| match &self.options.directory {
                Some(directory) => in_unusable(directory, &error),
                None => format!("no directory can be made to play in: {error}"),
            })?;
        if place.is_given && !transcript.header.setup().is_empty() {
            return Err(format!("{named}: `setup` makes files in a fresh directory, so it does not play with `--in`"));
        }
        let placeholders = Placeholders::with_tmp(&place.path).map_err(failed)?;
        let is_own = self.server(transcript).is_empty();
        let placeholders = if is_own { placeholders } else { placeholders.keeping_versions() };
        for setup in transcript.header.setup() {
            setup
                .make_beneath(&place.directory, &placeholders)
                .map_err(|error| format!("{named}: setup: {setup}: {error}"))?;
        }
        let Played { transcript: played, problem, has_started, unread } = self
            .start(transcript, &rules, &place, &placeholders)
            .map_err(|error| format!("{named}: {error}\n{}", advice(true, None)).trim_end().to_owned())?;
        let strictness = if self.options.strict { Strictness::Strict } else { Strictness::Usual };
        let comparison = Comparison::new(&named, text, transcript, &played, &placeholders, &rules, strictness);
        let problem = problem.map(|problem| format!("{}\n", problem.trim_end())).unwrap_or_default();
        let is_same = comparison.is_same() && (has_started || expects_an_end(transcript));
        let difference = Difference {
            line: comparison.line(),
            reason: if is_same {
                String::new()
            } else {
                format!("{problem}{}", advice(has_started, unread.as_deref()))
            },
            diff: match self.options.rewriting {
                // If nothing differs from what was expected, what would be filled in is shown.
                Rewriting::Writes | Rewriting::Shows if is_same => comparison.rewritten(),
                Rewriting::Off | Rewriting::Writes | Rewriting::Shows => comparison.unified(),
            },
        };
        // If a server did not start, what happened does not belong in a transcript.
        let updated = comparison.updated().filter(|_| has_started && era.is_none() && !self.interrupt.came());
        Ok(Replayed::Compared { difference, is_same, updated })
    }

    /// The command of the server; empty for the built-in one.
    fn server<'b>(&'b self, transcript: &'b Transcript) -> &'b [String] {
        self.options.server.as_deref().unwrap_or(transcript.header.server())
    }

    /// Starts the server and plays with it.
    fn start(
        &self,
        transcript: &Transcript,
        rules: &[Rule],
        place: &ReplayDirectory,
        placeholders: &Placeholders,
    ) -> io::Result<Played> {
        let (directory, passed) = (&place.directory, &self.passed);
        let words = self.server(transcript);
        let player =
            Player::default().placeholders(placeholders.clone()).in_order(self.options.strict).rules(rules.to_vec());
        if words.is_empty() {
            let timeout = self.options.timeout;
            return played::play(player, transcript, directory, placeholders, passed, timeout, &self.interrupt);
        }
        let player = self.options.timeout.into_iter().fold(player, Player::deadline);
        let variables = played::variables(transcript, directory, placeholders, passed);
        foreign::play(&player, words, transcript, directory, placeholders, &variables, &self.interrupt)
    }

    /// Advises what could help if a server does not find its files. `unread` is the file that it could not read, if
    /// that is known.
    fn advice(&self, header: &Header, has_started: bool, unread: Option<&Path>) -> String {
        let is_foreign = self.options.server.is_some() || !header.server().is_empty();
        let is_below = |file: &Path| file.is_relative() && !file.components().any(|part| part == Component::ParentDir);
        let was_there = header.directory().is_some() && self.options.directory.is_none();
        match (header.directory(), &self.options.directory) {
            (_, _) if unread.is_some_and(|file| !was_there || !is_below(file)) => "a file that a transcript names must be in the directory that it plays in, and no \
                 link may lead to it: copy it there and change its name in the header, or play in a directory that contains \
                 it (`--in DIR`)\n"
                .to_owned(),
            (None, None) if is_foreign && !has_started => {
                "a transcript plays in an empty directory; to play here, try `--in .`\n".to_owned()
            }
            (Some(directory), None) => format!("recorded in {directory}; try `--in {directory}`\n"),
            (Some(_), Some(_)) | (None, _) => String::new(),
        }
    }
}

fn in_unusable(directory: &str, error: &io::Error) -> String {
    format!("flag `--in`: `{directory}` can't be used: {error}")
}

/// Whether the transcript expects the end of the server, as that of a server that does not start does.
fn expects_an_end(transcript: &Transcript) -> bool {
    transcript.entries.iter().any(|entry| matches!(entry, Entry::Exit(_)))
}

/// The variables of this process that a server gets besides those of its transcript: the ones that are needed to find
/// programs, and the ones that the person who plays it names. Somebody else may have written the transcript, so it must not
/// see others.
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

/// The directory that a transcript plays in. A fresh one is removed when this is dropped.
struct ReplayDirectory {
    path: PathBuf,
    directory: Beneath,
    is_given: bool,
}

impl ReplayDirectory {
    fn new(given: Option<&str>) -> io::Result<Self> {
        if let Some(path) = given {
            let directory = Beneath::open(Path::new(path))?;
            return Ok(Self { path: crate::files::canonicalize(path)?, directory, is_given: true });
        }
        let base = std::env::temp_dir();
        // Making the directory claims its name, so two replays at the same time never share one.
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
        // By now, another directory or a link may have this name.
        if !self.is_given && self.directory.is_at(&self.path) {
            // This follows no link. If a transcript has made something that can't be removed, that stays; the verdict is the
            // same.
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
