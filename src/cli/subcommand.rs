//! The subcommands, and how each is read from its words and its own flags.

use std::time::Duration;

use super::completions::Shell;
use super::error::CliError;
use super::faults::Faults;
use super::help::Length;
use super::name::Name;
use super::own_flags::Given;
use super::policy::Action;
use super::schema::Schema;
use super::{audit, lock, mock, record, replay, report, review, setup};
use crate::config::meant;
use crate::text::{nearest, read_duration};

/// A subcommand with its own words and flags.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subcommand {
    Serve,
    Call { tool: String, arguments: Option<String>, json: bool },
    Check { directory: Option<String>, command: Vec<String>, with_input: bool, json: bool },
    Policy { action: Action, json: bool },
    Tools { json: bool },
    Lock { options: lock::Options },
    Doctor { json: bool },
    Setup { client: setup::Client, options: setup::Options },
    SetupList { json: bool },
    Init { elsewhere: Option<String>, force: bool },
    Schema(Schema),
    Record { options: record::Options },
    Replay { files: Vec<String>, options: replay::Options },
    Review { files: Vec<String>, options: review::Options },
    Mock { file: String, options: mock::Options },
    Lint { files: Vec<String>, schema: Option<String>, json: bool },
    Audit { action: audit::Action, json: bool },
    Report { files: Vec<String>, options: report::Options },
    Completions(Shell),
    Man,
    Help(Name, Length),
    Version,
}

impl Subcommand {
    /// Reads the words and flags of a subcommand; words that it does not take are left over.
    pub(super) fn read(
        name: Option<Name>,
        words: &mut impl Iterator<Item = String>,
        given: &Given,
    ) -> Result<Self, CliError> {
        let json = given.is_given("json");
        let directory = given.one("in")?;
        Ok(match name {
            None | Some(Name::Program | Name::Serve) => Self::Serve,
            Some(Name::Tools) => Self::Tools { json },
            Some(Name::Lock) => {
                let check = given.is_given("check");
                // `--check FILE` is how people read the help.
                let file = if check { words.next() } else { None };
                let output = match (given.one("output")?, file) {
                    (Some(output), Some(file)) if output != file => {
                        return Err(CliError::TwoLockFiles { one: output, other: file });
                    }
                    (output, file) => output.or(file),
                };
                let options = lock::Options { output, check, json };
                Self::Lock { options }
            }
            Some(Name::Doctor) => Self::Doctor { json },
            Some(Name::Init) => Self::Init { elsewhere: given.one("to")?, force: given.is_given("force") },
            Some(Name::Schema) => Self::Schema(named(
                "schema",
                &word(words, "schema", "`config` or `policy`")?,
                Schema::ALL,
                Schema::text,
            )?),
            Some(Name::Setup) if given.is_given("list") => Self::SetupList { json },
            Some(Name::Setup) => {
                let options = setup::Options { snippet: given.is_given("snippet"), json };
                Self::Setup {
                    client: named(
                        "client",
                        &word(words, "setup", "the name of a client, or `--list`")?,
                        setup::Client::ALL,
                        setup::Client::name,
                    )?,
                    options,
                }
            }
            Some(Name::Record) => Self::Record {
                options: record::Options {
                    output: given.one("output")?,
                    directory: given.one("dir")?,
                    force: given.is_given("force"),
                    timing: given.is_given("timing"),
                    required: given.is_given("required"),
                    command: some(words, "record", "the command of a server after `--`")?,
                },
            },
            Some(Name::Replay) => {
                let options = replay::Options {
                    rewriting: match (given.is_given("update"), given.is_given("dry-run")) {
                        (true, false) => replay::Rewriting::Writes,
                        (_, true) => replay::Rewriting::Shows,
                        (false, false) => replay::Rewriting::Off,
                    },
                    jobs: given.one("jobs")?.map(|text| number("jobs", &text)).transpose()?,
                    junit: given.one("junit")?,
                    tap: given.is_given("tap"),
                    json,
                    ..played(given)?
                };
                Self::Replay { files: some(words, "replay", "the file of a transcript")?, options }
            }
            Some(Name::Review) => {
                let decision = match (given.is_given("accept"), given.is_given("list")) {
                    (_, true) => review::Decision::List,
                    (true, false) => review::Decision::Accept,
                    (false, false) => review::Decision::Ask,
                };
                let options = review::Options { playing: played(given)?, decision };
                Self::Review { files: some(words, "review", "the file of a transcript")?, options }
            }
            Some(Name::Mock) => {
                let numbers = |flag: &'static str| -> Result<Vec<usize>, CliError> {
                    given.all(flag).flat_map(|list| list.split(',')).map(|text| number(flag, text.trim())).collect()
                };
                let faults = Faults {
                    delay: given.one("delay")?.map(|text| duration("delay", &text)).transpose()?.unwrap_or_default(),
                    drop: numbers("drop")?,
                    garble: numbers("garble")?,
                    close_after: numbers("close-after")?.into_iter().min(),
                    split_writes: given.is_given("split-writes"),
                };
                let options = mock::Options { strict: given.is_given("strict"), faults };
                Self::Mock { file: word(words, "mock", "the file of a transcript")?, options }
            }
            Some(Name::Lint) => {
                let files = some(words, "lint", "the file of a transcript")?;
                Self::Lint { files, schema: given.one("schema")?, json }
            }
            Some(Name::Audit) => Self::Audit { action: audit::Action::parse(words, given)?, json },
            Some(Name::Report) => Self::Report {
                options: report::Options { output: given.one("output")?, force: given.is_given("force") },
                files: some(words, "report", "the file of an audit log or a transcript")?,
            },
            Some(Name::Completions) => Self::Completions(named(
                "shell",
                &word(words, "completions", "the name of a shell")?,
                Shell::ALL,
                Shell::text,
            )?),
            Some(Name::Man) => Self::Man,
            Some(Name::Call) => {
                let tool = word(words, "call", "the name of a tool")?;
                Self::Call { tool, arguments: words.next(), json }
            }
            Some(Name::Check) => {
                let command = some(words, "check", "a command after `--`")?;
                Self::Check { directory, command, with_input: given.is_given("with-input"), json }
            }
            Some(Name::Policy) => Self::Policy { action: Action::parse(words, given)?, json },
        })
    }
}

/// The one of `all` that is named `word`; `kind` is what they are called, for the error.
pub(super) fn named<T: Copy, const N: usize>(
    kind: &'static str,
    word: &str,
    all: [T; N],
    name: impl Fn(T) -> &'static str,
) -> Result<T, CliError> {
    all.into_iter().find(|known| name(*known) == word).ok_or_else(|| {
        let names = all.map(name);
        let help = meant("", nearest(word, names), &format!("the {kind}s are {}", names.join(", ")));
        CliError::Unknown { kind, found: word.escape_debug().to_string(), help }
    })
}

/// Makes sure that no flag is given that only another action of the subcommand has; `flags` are the flags with their actions.
pub(super) fn check_flags(
    subcommand: &'static str,
    action: &str,
    given: &Given,
    flags: &[(&str, &str)],
) -> Result<(), CliError> {
    match flags.iter().find(|(flag, of)| given.is_given(flag) && *of != action) {
        None => Ok(()),
        Some((flag, of)) => {
            let help = format!("; only `allowexec {subcommand} {of}` has it");
            Err(CliError::UnknownOwnFlag { flag: (*flag).to_owned(), subcommand, help })
        }
    }
}

/// The next word, which must be there.
pub(super) fn word(
    words: &mut impl Iterator<Item = String>,
    subcommand: &'static str,
    what: &'static str,
) -> Result<String, CliError> {
    words.next().ok_or(CliError::Missing { subcommand, what })
}

/// How transcripts are played, for `replay` and `review`.
fn played(given: &Given) -> Result<replay::Options, CliError> {
    let mut pass_env = Vec::new();
    given.all("pass-env").try_for_each(|list| names(list).map(|names| pass_env.extend(names)))?;
    Ok(replay::Options {
        server: given.one("server")?.map(|command| server(&command)).transpose()?,
        timeout: given.one("timeout")?.map(|text| duration("timeout", &text)).transpose()?,
        directory: given.one("in")?,
        strict: given.is_given("strict"),
        pass_env,
        ..replay::Options::default()
    })
}

/// The words that are left, of which there must be at least one.
pub(super) fn some(
    words: &mut impl Iterator<Item = String>,
    subcommand: &'static str,
    what: &'static str,
) -> Result<Vec<String>, CliError> {
    let words: Vec<String> = words.collect();
    if words.is_empty() { Err(CliError::Missing { subcommand, what }) } else { Ok(words) }
}

/// The words of a command that is given as one word.
fn server(command: &str) -> Result<Vec<String>, CliError> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    words.ok_or_else(|| wrong("server", command, "a command, quoted as in a shell"))
}

/// A number that is not 0.
fn number(flag: &'static str, text: &str) -> Result<usize, CliError> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| wrong(flag, text, "a number from 1"))
}

fn duration(flag: &'static str, text: &str) -> Result<Duration, CliError> {
    let duration = read_duration(text).ok().filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| wrong(flag, text, "a duration such as `500ms` or `30s`"))
}

/// The error for the value of a flag that is not a setting.
pub(super) fn wrong(flag: &'static str, found: &str, expected: &'static str) -> CliError {
    CliError::Value { flag, found: found.escape_debug().to_string(), expected }
}

/// The names of variables in a comma-separated list.
fn names(list: &str) -> Result<Vec<String>, CliError> {
    let names: Vec<String> =
        list.split(',').map(str::trim_ascii).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    match names.iter().find(|name| name.contains(['=', '\0'])) {
        None => Ok(names),
        Some(found) => Err(CliError::NoNameOfVariable { found: found.escape_debug().to_string() }),
    }
}
