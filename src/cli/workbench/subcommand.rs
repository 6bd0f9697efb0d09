//! The subcommands that prepare a server, test it and look back at what it did, and how each is read from its words and flags.

use std::time::Duration;

use super::completions::Shell;
use super::faults::Faults;
use super::policy::Action;
use super::schema::Schema;
use super::{mock, record, replay, report, review, setup};
use crate::cli::error::{CliError, not_built};
use crate::cli::name::Name;
use crate::cli::own_flags::Given;
use crate::cli::words::{named, some, word, wrong};
use crate::config::Feature;
use crate::text::read_duration;

/// A subcommand of the workbench with its own words and flags.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::cli) enum Subcommand {
    Policy { action: Action, json: bool },
    Record { options: record::Options },
    Replay { files: Vec<String>, options: replay::Options },
    Review { files: Vec<String>, options: review::Options },
    Mock { file: String, options: mock::Options },
    Lint { files: Vec<String>, schema: Option<String>, json: bool },
    Report { files: Vec<String>, options: report::Options },
    Doctor { json: bool },
    Init { elsewhere: Option<String>, force: bool },
    Schema(Schema),
    Setup { client: setup::Client, options: setup::Options },
    SetupList { json: bool },
    Completions(Shell),
    Man,
}

impl Subcommand {
    /// Reads the words and flags of a subcommand; words that it does not take are left over.
    pub(in crate::cli) fn read(
        name: Name,
        words: &mut impl Iterator<Item = String>,
        given: &Given,
    ) -> Result<Self, CliError> {
        let json = given.is_given("json");
        Ok(match name {
            Name::Policy => Self::Policy { action: Action::parse(words, given)?, json },
            Name::Record => Self::Record {
                options: record::Options {
                    output: given.one("output")?,
                    directory: given.one("dir")?,
                    force: given.is_given("force"),
                    timing: given.is_given("timing"),
                    required: given.is_given("required"),
                    command: some(words, "record", "the command of a server after `--`")?,
                },
            },
            Name::Replay => {
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
            Name::Review => {
                let decision = match (given.is_given("accept"), given.is_given("list")) {
                    (_, true) => review::Decision::List,
                    (true, false) => review::Decision::Accept,
                    (false, false) => review::Decision::Ask,
                };
                let options = review::Options { playing: played(given)?, decision };
                Self::Review { files: some(words, "review", "the file of a transcript")?, options }
            }
            Name::Mock => {
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
            Name::Lint => {
                let files = some(words, "lint", "the file of a transcript")?;
                Self::Lint { files, schema: given.one("schema")?, json }
            }
            Name::Report => Self::Report {
                options: report::Options { output: given.one("output")?, force: given.is_given("force") },
                files: some(words, "report", "the file of an audit log or a transcript")?,
            },
            Name::Doctor => Self::Doctor { json },
            Name::Init => Self::Init { elsewhere: given.one("to")?, force: given.is_given("force") },
            Name::Schema => Self::Schema(named(
                "schema",
                &word(words, "schema", "`config` or `policy`")?,
                Schema::ALL,
                Schema::text,
            )?),
            Name::Setup if given.is_given("list") => Self::SetupList { json },
            Name::Setup => {
                let options = setup::Options { snippet: given.is_given("snippet"), hook: given.is_given("hook"), json };
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
            Name::Completions => Self::Completions(named(
                "shell",
                &word(words, "completions", "the name of a shell")?,
                Shell::ALL,
                Shell::text,
            )?),
            Name::Man => Self::Man,
            Name::Program
            | Name::Serve
            | Name::Call
            | Name::Check
            | Name::Run
            | Name::Hook
            | Name::Tools
            | Name::Lock
            | Name::Audit => {
                return Err(not_built(name.text(), Feature::Workbench));
            }
        })
    }
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

/// The names of variables in a comma-separated list.
fn names(list: &str) -> Result<Vec<String>, CliError> {
    let names: Vec<String> =
        list.split(',').map(str::trim_ascii).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    match names.iter().find(|name| name.contains(['=', '\0'])) {
        None => Ok(names),
        Some(found) => Err(CliError::NoNameOfVariable { found: found.escape_debug().to_string() }),
    }
}
