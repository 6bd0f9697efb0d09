//! Entries that allow, ask for or deny command lines: every format is read into these.

use std::fmt;
use std::rc::Rc;

use super::pattern::literal_beginning;
use crate::integrity::is_runner;
use crate::lines::{Builtin, BuiltinError};
use crate::policy::rules::Effect;

/// The place of an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub file: Rc<str>,
    /// Counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The command lines that an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// These words, with any or no words after them. Without words it is every command line.
    Prefix(Vec<String>),
    /// Exactly these words.
    Exact(Vec<String>),
    /// Some of the command lines whose text begins so, with single blanks between its words. Which ones is not known.
    Unclear(String),
}

impl Pattern {
    /// Some of the lines whose text begins so. Blanks don't make other words of it, however many they are.
    pub fn unclear(beginning: &str) -> Self {
        let words: Vec<&str> = beginning.split(' ').filter(|word| !word.is_empty()).collect();
        let end = if beginning.ends_with(' ') && !words.is_empty() { " " } else { "" };
        Self::Unclear(words.join(" ") + end)
    }

    /// The words that it names.
    pub fn words(&self) -> &[String] {
        match self {
            Self::Prefix(words) | Self::Exact(words) => words,
            Self::Unclear(_) => &[],
        }
    }

    /// The name of the command that it is about, if it is about one.
    pub fn command(&self) -> Option<&str> {
        match self {
            Self::Prefix(words) | Self::Exact(words) => words.first().map(String::as_str),
            Self::Unclear(beginning) => beginning.split_once(' ').map(|(first, _)| first),
        }
    }

    /// Whether it certainly means all that the other one may mean.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Prefix(words), Self::Prefix(others) | Self::Exact(others)) => others.starts_with(words),
            (Self::Exact(words), Self::Exact(others)) => words == others,
            (Self::Prefix(words), Self::Unclear(_)) => words.is_empty(),
            (Self::Exact(_), Self::Prefix(_) | Self::Unclear(_)) | (Self::Unclear(_), _) => false,
        }
    }
}

/// One entry of a source.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub place: Place,
    /// As the source has it.
    pub what: String,
    pub effect: Effect,
    pub pattern: Pattern,
    /// Of two entries of one file, the one with the higher number decides. Of equal ones, the stricter.
    pub priority: i64,
    /// The source's own reason for it.
    pub reason: Option<String>,
    /// The part of the file that it belongs to, if that may hold or not, such as an agent of several. Such a part decides for itself,
    /// like a file, and grants nothing.
    pub part: Option<Rc<str>>,
}

impl Entry {
    /// An entry to which only the pattern has to be added.
    pub fn new(place: Place, what: &str, effect: Effect) -> Self {
        Self {
            place,
            what: what.to_owned(),
            effect,
            pattern: Pattern::Unclear(String::new()),
            priority: 0,
            reason: None,
            part: None,
        }
    }

    /// Whether it lets command lines run, if only after asking.
    pub fn grants(&self) -> bool {
        self.effect != Effect::Deny && self.part.is_none() && !matches!(self.pattern, Pattern::Unclear(_))
    }
}

/// The effect that Claude Code and opencode call so.
pub(super) fn effect_named(name: &str) -> Option<Effect> {
    [Effect::Allow, Effect::Ask, Effect::Deny].into_iter().find(|effect| effect.name() == name)
}

/// A command line that the source names as an example.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub place: Place,
    pub words: Vec<String>,
}

/// Something of the source that the policy does not say, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub place: Place,
    pub what: String,
    pub why: String,
    /// Whether the policy lacks it. What the policy says in another way is not missing.
    pub is_missing: bool,
}

/// All that was read.
#[derive(Debug, Default)]
pub(super) struct Imported {
    pub entries: Vec<Entry>,
    pub samples: Vec<Sample>,
    pub left_out: Vec<LeftOut>,
    /// Commands that may be written only as a shipped profile describes them, each with the reason.
    pub only_by_profile: Vec<(String, String)>,
    /// The first entry that asks about files or denies them, for commands too.
    pub files: Option<Entry>,
    /// Whether a person is asked about paths outside the project, if any file says so or denies it.
    pub asks_outside: Option<bool>,
    /// The files of Claude Code that say that rules of other files allow nothing.
    pub managed: Vec<Rc<str>>,
    /// Whether a later entry that is wider does not decide over an earlier one that is stricter.
    pub keeps_stricter: bool,
}

impl Imported {
    pub fn leave_out(&mut self, place: Place, what: &str, why: impl Into<String>) {
        self.left_out.push(LeftOut { place, what: what.to_owned(), why: why.into(), is_missing: true });
    }

    pub fn note(&mut self, place: Place, what: &str, why: impl Into<String>) {
        self.left_out.push(LeftOut { place, what: what.to_owned(), why: why.into(), is_missing: false });
    }

    /// Drops the entries that grant and for which `why` has a reason. Of one that asks a denial is left, since a wider entry may allow
    /// the same lines.
    pub fn drop_grants(&mut self, why: impl Fn(&Entry) -> Option<String>) {
        for entry in std::mem::take(&mut self.entries) {
            let Some(why) = why(&entry).filter(|_| entry.grants()) else {
                self.entries.push(entry);
                continue;
            };
            let instead = if entry.effect == Effect::Ask { "; what it asks about is refused" } else { "" };
            self.leave_out(entry.place.clone(), &entry.what, why + instead);
            if entry.effect == Effect::Ask {
                self.entries.push(Entry { effect: Effect::Deny, ..entry });
            }
        }
    }

    /// Whether an entry grants all command lines.
    pub fn grants_all(&self) -> bool {
        self.entries.iter().any(|entry| entry.grants() && entry.pattern.words().is_empty())
    }

    /// Leaves out entries of very many words. One that asks or denies narrows what begins with its first words.
    ///
    /// # Errors
    /// If there are more entries than can be compared with each other in a moment.
    pub fn bound(&mut self) -> Result<(), String> {
        if self.entries.len() > MOST_ENTRIES {
            return Err(format!("too many entries: {} of at most {MOST_ENTRIES}", self.entries.len()));
        }
        let is_long = |entry: &Entry| entry.pattern.words().len() > MOST_WORDS;
        self.drop_grants(|entry| {
            is_long(entry).then(|| format!("it is longer than the {MOST_WORDS} words that are taken"))
        });
        for entry in self.entries.iter_mut().filter(|entry| is_long(entry)) {
            let first: String = entry.pattern.words().first().cloned().unwrap_or_default();
            entry.pattern = Pattern::unclear(&literal_beginning(&first));
        }
        Ok(())
    }

    /// Leaves out what is said of commands that lines run themselves, but for what allows them as programs.
    pub fn leave_out_builtins(&mut self) {
        for entry in std::mem::take(&mut self.entries) {
            let Some(name) = entry.pattern.words().first().filter(|name| lines_run(name)) else {
                self.entries.push(entry);
                continue;
            };
            let is_program = name == "true" || name == "false";
            let why = match name.as_str() {
                "cd" => {
                    "lines change directory by themselves, in the directories that a `cwd` may name (`--cwd-root`); \
                         no rule decides on it"
                        .to_owned()
                }
                name => format!("lines run `{name}` by themselves; no rule decides on it"),
            };
            match entry.effect {
                Effect::Allow if is_program || !entry.grants() => self.entries.push(entry),
                Effect::Allow => self.leave_out(entry.place, &entry.what, why),
                Effect::Ask | Effect::Deny => {
                    self.leave_out(entry.place.clone(), &entry.what, why);
                    // Where no lines are read, a wider entry may allow the program.
                    self.entries.push(Entry { effect: Effect::Deny, ..entry });
                }
            }
        }
    }

    /// Leaves out what would allow shells and programs that run another command: the sources decide on that command, the words
    /// do not name it.
    pub fn leave_out_runners(&mut self) {
        self.drop_grants(|entry| {
            let words = entry.pattern.words();
            let command = words.first()?;
            let name = command.rsplit('/').next().unwrap_or(command);
            if command.contains('=') {
                return Some("it sets a variable; `env: {accept: …}` of the command says which may be set".to_owned());
            }
            if SHELLS.contains(&name) && words.get(1).is_none_or(|word| word.starts_with('-')) {
                return Some(format!("`{name}` runs any command; allow the commands themselves"));
            }
            if BUILTINS.contains(&name) {
                return Some(format!("`{name}` is no program but a part of a shell"));
            }
            is_runner(name).then(|| format!("`{name}` runs the command that its words name; allow that command itself"))
        });
    }
}

const MOST_ENTRIES: usize = 10_000;
const MOST_WORDS: usize = 64;

const SHELLS: [&str; 13] =
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "pwsh", "powershell", "cmd"];

/// Whether lines run the command of this name themselves, so that no rule decides on it.
pub(super) fn lines_run(name: &str) -> bool {
    match Builtin::of(&[name.to_owned()]) {
        Some(Err(BuiltinError::Refused { .. })) | None => false,
        // Its words may be wrong, so they are refused there.
        Some(Ok(_) | Err(_)) => true,
    }
}

/// Commands that only a shell has, and no line.
const BUILTINS: [&str; 15] = [
    ".", "alias", "builtin", "command", "declare", "eval", "exec", "export", "local", "popd", "pushd", "set", "source",
    "unalias", "unset",
];
