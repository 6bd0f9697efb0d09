//! The flags of subcommands that are not settings, in one table: for reading, completing and suggesting them.

use super::error::CliError;
use super::name::Name;
use crate::config::repeated;

/// The kind of value that a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// The flag takes none.
    None,
    /// One that no shell can complete.
    Any,
    Directory,
    File,
    Program,
}

/// A flag of some subcommands.
#[derive(Clone, Copy)]
pub(super) struct OwnFlag {
    pub name: &'static str,
    /// The subcommands that have it.
    pub of: &'static [Name],
    pub value: Value,
    pub help: &'static str,
}

pub(super) const fn flag(name: &'static str, of: &'static [Name], value: Value, help: &'static str) -> OwnFlag {
    OwnFlag { name, of, value, help }
}

/// The subcommands that play transcripts.
const PLAYED: &[Name] = &[Name::Replay, Name::Review];

const TABLE: &[OwnFlag] = &[
    flag(
        "json",
        &[
            Name::Call,
            Name::Check,
            Name::Policy,
            Name::Tools,
            Name::Lock,
            Name::Doctor,
            Name::Setup,
            Name::Replay,
            Name::Lint,
            Name::Audit,
        ],
        Value::None,
        "Print JSON",
    ),
    flag("to", &[Name::Init], Value::Directory, "Write the files there"),
    flag("force", &[Name::Init], Value::None, "Also for a home directory, or the root of the file system"),
    flag("list", &[Name::Setup], Value::None, "Say which clients are found on this system"),
    flag(
        "snippet",
        &[Name::Setup],
        Value::None,
        "Print the part of the client's file, even if the client has a command",
    ),
    flag("in", &[Name::Check, Name::Policy], Value::Directory, "The directory that the call would name"),
    flag("with-input", &[Name::Check, Name::Policy], Value::None, "Ask about a call that has input"),
    flag("cases", &[Name::Policy], Value::File, "More cases to test, as JSON lines"),
    flag("in", PLAYED, Value::Directory, "Play in that directory"),
    flag("update", &[Name::Replay], Value::None, "Rewrite what differs"),
    flag("dry-run", &[Name::Replay], Value::None, "Show what would be rewritten, and write nothing"),
    flag("accept", &[Name::Review], Value::None, "Accept everything that can be accepted"),
    flag("list", &[Name::Review], Value::None, "Show what differs, and change nothing"),
    flag("schema", &[Name::Lint], Value::Directory, "The directory of the official schemas"),
    flag("strict", PLAYED, Value::None, "Allow only the differences that the transcript names"),
    flag("strict", &[Name::Mock], Value::None, "End with 1 if a request was not recorded or not sent"),
    flag("delay", &[Name::Mock], Value::Any, "Wait before each message"),
    flag("drop", &[Name::Mock], Value::Any, "Leave out the N-th message"),
    flag("garble", &[Name::Mock], Value::Any, "Cut the N-th message in the middle"),
    flag("close-after", &[Name::Mock], Value::Any, "Close the output after the N-th message"),
    flag("split-writes", &[Name::Mock], Value::None, "Write each message in pieces"),
    flag("server", PLAYED, Value::Program, "The command of another server"),
    flag("timeout", PLAYED, Value::Any, "How long each wait may last"),
    flag("jobs", &[Name::Replay], Value::Any, "How many transcripts are played in parallel"),
    flag("junit", &[Name::Replay], Value::File, "Write the verdicts as JUnit's XML"),
    flag("tap", &[Name::Replay], Value::None, "Print the verdicts as TAP"),
    flag("pass-env", PLAYED, Value::Any, "Pass these variables of yours to servers"),
    flag("head", &[Name::Audit], Value::Any, "A hash that the log must hold"),
    flag("since-anchor", &[Name::Audit], Value::File, "A file of heads that the log must hold, one per line"),
    flag("refused", &[Name::Audit], Value::None, "Only what was refused"),
    flag("call", &[Name::Audit], Value::Any, "Only the call with that number"),
    flag("since", &[Name::Audit], Value::Any, "Only records since that time"),
    flag("program", &[Name::Audit], Value::Any, "Only calls of that program"),
    flag("output", &[Name::Lock], Value::File, "The lock file"),
    flag("check", &[Name::Lock], Value::None, "Compare the lock file with the programs, and write nothing"),
    flag("output", &[Name::Record, Name::Report], Value::File, "The file to write"),
    flag("dir", &[Name::Record], Value::Directory, "Write a file for each session in this directory"),
    flag("force", &[Name::Record, Name::Report], Value::None, "Replace an existing file"),
    flag("force", &[Name::Serve], Value::None, "Replace an existing file of `--record`"),
    flag("required", &[Name::Record], Value::None, "End the session when it can't be recorded any more"),
    flag("timing", &[Name::Record], Value::None, "Write the time before each line"),
];

/// The flags of a subcommand that are not settings.
pub(super) fn of(name: Name) -> impl Iterator<Item = &'static OwnFlag> {
    TABLE.iter().filter(move |flag| flag.of.contains(&name))
}

/// The flags that were given, with their values, which are empty for flags without one.
#[derive(Default)]
pub(super) struct Given(Vec<(&'static str, String)>);

impl Given {
    pub(super) fn add(&mut self, flag: &'static str, value: String) {
        self.0.push((flag, value));
    }

    pub(super) fn is_given(&self, flag: &str) -> bool {
        self.0.iter().any(|(name, _)| *name == flag)
    }

    /// Every value of a flag, in order.
    pub(super) fn all<'a>(&'a self, flag: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(name, _)| *name == flag).map(|(_, value)| value.as_str())
    }

    /// The value of a flag that takes one.
    ///
    /// # Errors
    /// If it is given twice.
    pub(super) fn one(&self, flag: &'static str) -> Result<Option<String>, CliError> {
        let mut values = self.all(flag).map(str::to_owned);
        match (values.next(), values.next()) {
            (Some(first), Some(second)) => Err(repeated(flag, &[first], &[second]).into()),
            (first, _) => Ok(first),
        }
    }
}
