//! The decision on one redirection of a line, as things are now.

use std::path::PathBuf;

use super::command::Here;
use super::places::logical;
use super::proposal::{AskedFile, ShownRedirection};
use super::{DecidedFile, DecidedRedirection, PartDecision, PartKind, PartOutcome};
use crate::files::Reached;
use crate::lines::{Mode, Redirection, Stream};
use crate::policy::rules::{Access, OnDisk, PathError, Redirected, RedirectionType, Ruled, redirected};
use crate::policy::{Explanation, Lines, quoted};

/// The device that commands read nothing from, and that takes anything.
pub(super) const NULL: &str = "/dev/null";
/// The most writable directories that a refusal names.
const MOST_WRITTEN: usize = 3;
/// Directories that builds make.
const BUILT: [&str; 5] = ["target", "dist", "build", "out", "coverage"];

/// The decision on a redirection.
pub(super) enum Verdict {
    Done(DecidedRedirection),
    /// A person has to approve it.
    Ask(DecidedRedirection),
    AtItsTurn,
    Refused(String),
}

impl Here<'_> {
    /// The redirection, as a person reads it.
    pub(super) fn shown(&self, redirection: &Redirection) -> Vec<String> {
        let (operator, value) = match redirection {
            Redirection::Read(file) => ("<", file),
            Redirection::Write { stream, mode, target } => match (stream, mode) {
                (Stream::Stdout, Mode::Replace) => (">", target),
                (Stream::Stdout, Mode::Append) => (">>", target),
                (Stream::Stderr, Mode::Replace) => ("2>", target),
                (Stream::Stderr, Mode::Append) => ("2>>", target),
                (Stream::Both, _) => ("&>", target),
            },
            Redirection::StderrToStdout => return vec!["2>&1".to_owned()],
            Redirection::StdoutToStderr => return vec!["1>&2".to_owned()],
            Redirection::Document(text) => return vec!["<<".to_owned(), text.clone()],
            Redirection::HereString(text) => ("<<<", text),
        };
        vec![operator.to_owned(), self.value(value).unwrap_or_else(|_| "…".to_owned())]
    }

    /// Whether a redirection opens a file, which is not `/dev/null`.
    pub(super) fn opens_file(&self, redirection: &Redirection) -> bool {
        match redirection {
            Redirection::Read(file) | Redirection::Write { target: file, .. } => {
                self.value(file).as_deref() != Ok(NULL)
            }
            Redirection::StderrToStdout | Redirection::StdoutToStderr => false,
            Redirection::Document(_) | Redirection::HereString(_) => false,
        }
    }

    /// Whether a redirection writes a file, which is not `/dev/null`.
    pub(super) fn writes_file(&self, redirection: &Redirection) -> bool {
        matches!(redirection, Redirection::Write { .. }) && self.opens_file(redirection)
    }

    /// The redirection as a part of the line, with what was decided.
    pub(super) fn part(
        &self,
        (place, number): (usize, usize),
        redirection: &Redirection,
        outcome: PartOutcome,
    ) -> PartDecision {
        let mut words = self.shown(redirection);
        let input = match redirection {
            Redirection::Document(_) => words.pop(),
            Redirection::HereString(_) => words.pop().map(|text| text + "\n"),
            Redirection::Read(_)
            | Redirection::Write { .. }
            | Redirection::StderrToStdout
            | Redirection::StdoutToStderr => None,
        };
        let directory = Some(self.position.directory.path().to_owned());
        let explanation = Explanation { words, directory, ..Explanation::default() };
        let variables = Vec::new();
        PartDecision { place, number, kind: PartKind::Redirection, explanation, variables, input, outcome }
    }

    /// Decides on a redirection that counts for these commands; returns how a person sees it, too.
    pub(super) fn redirection(&self, redirection: &Redirection, of: &[Ruled]) -> (Verdict, ShownRedirection) {
        let mut shown = ShownRedirection { text: self.shown(redirection), place: None, asked: None };
        let verdict = self.verdict_on(redirection, of, &mut shown);
        (verdict, shown)
    }

    fn verdict_on(&self, redirection: &Redirection, of: &[Ruled], shown: &mut ShownRedirection) -> Verdict {
        let (value, access) = match redirection {
            Redirection::StderrToStdout => return Verdict::Done(DecidedRedirection::StderrToStdout),
            Redirection::StdoutToStderr => return Verdict::Done(DecidedRedirection::StdoutToStderr),
            Redirection::Document(text) => {
                return Verdict::Done(DecidedRedirection::Input(text.clone().into_bytes()));
            }
            Redirection::HereString(value) | Redirection::Read(value) => (value, Access::Read),
            Redirection::Write { target, .. } => (target, Access::Write),
        };
        let text = match self.value(value) {
            Ok(text) => text,
            Err(error) => return Verdict::Refused(error.to_string()),
        };
        if let Err(error) = self.room.hold(1, text.len()) {
            return Verdict::Refused(error.to_string());
        }
        match redirection {
            Redirection::HereString(_) => return Verdict::Done(DecidedRedirection::Input((text + "\n").into_bytes())),
            Redirection::Read(_) if text == NULL => return Verdict::Done(DecidedRedirection::NullInput),
            Redirection::Write { stream, .. } if text == NULL => {
                return Verdict::Done(DecidedRedirection::NullOutput(*stream));
            }
            _ => {}
        }
        if self.policy.line_rules.lines != Lines::Files {
            return Verdict::Refused(match access {
                Access::Write => format!(
                    "{} can't be written by a redirection here: leave it out, the output is returned",
                    quoted(&text)
                ),
                Access::Read => format!(
                    "{} can't be read by a redirection here: name the file as an argument, or give its text as `input`",
                    quoted(&text)
                ),
            });
        }
        if access == Access::Write && of.iter().any(|command| command.rule.sandbox.writes_nothing()) {
            return Verdict::Refused(format!(
                "{} can't be written: the rule of the command says that it writes nothing",
                quoted(&text)
            ));
        }
        self.file(redirection, (&text, access), of, shown)
    }

    /// The type that the policy gives to redirections.
    pub(super) fn type_of(&self, access: Access) -> Option<&RedirectionType> {
        let own = self.policy.allow.rules().redirections()?;
        match access {
            Access::Write => own.write.as_ref(),
            Access::Read => own.read.as_ref(),
        }
    }

    /// The directories that a redirection may name a file in, as the end of a sentence; empty without a sandbox, since then the sentence names them
    /// already.
    fn written(&self) -> String {
        let writable = &self.policy.line_rules.writable;
        let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let mut directories: Vec<&PathBuf> = writable.iter().filter(|path| !is_hidden(path) && path.is_dir()).collect();
        // What builds make comes first: nobody keeps what is there.
        directories.sort_by_key(|path| !BUILT.iter().any(|name| path.ends_with(name)));
        let named: Vec<String> =
            directories.into_iter().take(MOST_WRITTEN).map(|path| quoted(&path.display().to_string())).collect();
        match named.as_slice() {
            [] => String::new(),
            named => format!("; name a file in a directory that commands may write, such as {}", named.join(" or ")),
        }
    }

    fn file(
        &self,
        redirection: &Redirection,
        (text, access): (&str, Access),
        of: &[Ruled],
        shown: &mut ShownRedirection,
    ) -> Verdict {
        shown.place = Some(logical(self.position.directory.path(), text));
        let own = self.type_of(access);
        let mut paths = OnDisk::new(self.directories, &self.position.directory);
        let unusable = |why: &str| {
            let sentence = format!("{text}: {why}");
            Verdict::Done(DecidedRedirection::Unusable { sentence })
        };
        let verdict = match redirected((text, access), own, of, &mut paths) {
            Redirected::Allowed(held) => {
                shown.lead_to(held.reached.as_ref());
                self.opened(redirection, text, held.reached, held.narrowed)
            }
            Redirected::Ask(held, reason) => {
                shown.lead_to(held.reached.as_ref());
                let reached = held.reached.clone();
                match self.opened(redirection, text, held.reached, held.narrowed) {
                    // It fails, whoever approves it.
                    done @ Verdict::Done(DecidedRedirection::Unusable { .. }) => done,
                    Verdict::Done(decided) => {
                        shown.asked = Some(AskedFile { reason, reached });
                        Verdict::Ask(decided)
                    }
                    other => other,
                }
            }
            Redirected::Denied(reason) => {
                let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                Verdict::Refused(format!("a redirection may not name {}{why}", quoted(text)))
            }
            Redirected::Elsewhere(PathError::Missing) => unusable("No such file or directory"),
            Redirected::Elsewhere(PathError::Root) => unusable("Is a directory"),
            Redirected::Elsewhere(PathError::Failed { why }) => {
                unusable(why.split(" (os error").next().unwrap_or_default())
            }
            Redirected::Elsewhere(error @ (PathError::Outside { .. } | PathError::PerhapsOutside { .. })) => {
                let places = if access == Access::Write { self.written() } else { String::new() };
                Verdict::Refused(error.sentence(text, access) + &places)
            }
            Redirected::Elsewhere(error) => Verdict::Refused(error.sentence(text, access)),
        };
        match verdict {
            ask @ Verdict::Ask(..) => ask,
            // Another file may be there then.
            _ if !self.is_certain => Verdict::AtItsTurn,
            verdict => verdict,
        }
    }

    /// The redirection for a file that lies where it must.
    fn opened(
        &self,
        redirection: &Redirection,
        text: &str,
        reached: Option<Reached>,
        narrowed: Option<String>,
    ) -> Verdict {
        if let Some(sentence) = narrowed {
            return Verdict::Refused(sentence);
        }
        let unusable = |why: &str| {
            let sentence = format!("{text}: {why}");
            Verdict::Done(DecidedRedirection::Unusable { sentence })
        };
        let Some(reached) = reached else { return unusable("No such file or directory") };
        // The path is that of a directory, which the walk of its parts does not see.
        if text.ends_with('/') || text.ends_with("/.") {
            match &reached {
                Reached::There { is_directory: false, .. } => return unusable("Not a directory"),
                Reached::Missing { .. } if matches!(redirection, Redirection::Write { .. }) && text.ends_with('/') => {
                    return unusable("Is a directory");
                }
                Reached::Missing { .. } => return unusable("No such file or directory"),
                Reached::There { .. } => {}
            }
        }
        match &reached {
            Reached::There { is_directory: true, .. } => return unusable("Is a directory"),
            Reached::There { held, .. } if !held.is_regular() => {
                return Verdict::Refused(format!(
                    "{} is not a regular file, and a redirection opens no other",
                    quoted(text)
                ));
            }
            Reached::There { .. } | Reached::Missing { .. } => {}
        }
        let (stream, mode) = match redirection {
            Redirection::Write { stream, mode, .. } => (Some(*stream), Some(*mode)),
            _ => (None, None),
        };
        match (DecidedFile::new(text, reached, mode), stream) {
            (None, _) => unusable("No such file or directory"),
            (Some(file), Some(stream)) => Verdict::Done(DecidedRedirection::WriteFile(stream, file)),
            (Some(file), None) => Verdict::Done(DecidedRedirection::ReadFile(file)),
        }
    }
}
