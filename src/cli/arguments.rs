//! What was typed, as a subcommand and the settings' flags, which work on each of them.

use std::ffi::OsString;
use std::time::Duration;

use lexopt::Arg;

use super::completions::{Shell, Value};
use super::error::CliError;
use super::faults::Faults;
use super::help::Length;
use super::own_flags::{self, Given};
use super::policy::{Action, ActionFlags};
use super::{audit, lock, mock, record, replay, report, review, setup};
use crate::config::{Flags, SETTINGS, meant, unknown_flag};
use crate::text::{escape, nearest, read_duration};

/// A subcommand with its own words.
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
    Init { elsewhere: Option<String> },
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

/// The name of a subcommand; `Program` where help is for the program as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Program,
    Serve,
    Call,
    Check,
    Policy,
    Tools,
    Lock,
    Doctor,
    Setup,
    Init,
    Record,
    Replay,
    Review,
    Mock,
    Lint,
    Audit,
    Report,
    Completions,
    Man,
}

impl Name {
    pub(super) const SUBCOMMANDS: [Self; 18] = [
        Self::Serve,
        Self::Call,
        Self::Check,
        Self::Policy,
        Self::Tools,
        Self::Lock,
        Self::Record,
        Self::Replay,
        Self::Review,
        Self::Mock,
        Self::Lint,
        Self::Audit,
        Self::Report,
        Self::Doctor,
        Self::Init,
        Self::Setup,
        Self::Completions,
        Self::Man,
    ];

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Program => "",
            Self::Serve => "serve",
            Self::Call => "call",
            Self::Check => "check",
            Self::Policy => "policy",
            Self::Tools => "tools",
            Self::Lock => "lock",
            Self::Doctor => "doctor",
            Self::Setup => "setup",
            Self::Init => "init",
            Self::Record => "record",
            Self::Replay => "replay",
            Self::Review => "review",
            Self::Mock => "mock",
            Self::Lint => "lint",
            Self::Audit => "audit",
            Self::Report => "report",
            Self::Completions => "completions",
            Self::Man => "man",
        }
    }
}

/// The command line, read.
pub(super) struct Arguments {
    pub subcommand: Subcommand,
    pub flags: Flags,
}

/// What the arguments hold beside the settings.
#[derive(Default)]
struct Own {
    words: Vec<String>,
    given: Given,
    /// The first of the words that stands right behind the flag for a list, with the flag and what was given for it.
    behind_list: Option<(usize, (&'static str, String))>,
    /// How many of the words stand in front of `--`, if it is given.
    in_front: Option<usize>,
}

impl Arguments {
    pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, CliError> {
        let mut arguments: Vec<OsString> = arguments.into_iter().collect();
        let dashes = arguments.iter().position(|argument| argument == "--");
        // Only words stand behind it.
        let behind = dashes.map(|at| arguments.split_off(at)).unwrap_or_default();
        let mut parser = lexopt::Parser::from_args(arguments);
        let mut flags = Flags::default();
        let mut name: Option<Name> = None;
        let mut own = Own::default();
        // Whether a list stands right in front of the argument.
        let mut is_list_before = false;
        while let Some(argument) = parser.next()? {
            let list = std::mem::take(&mut is_list_before).then_some(());
            match argument {
                Arg::Short('h') => return Ok(help(name, Length::Short, flags)),
                Arg::Long("help") => return Ok(help(name, Length::Long, flags)),
                Arg::Short('V') | Arg::Long("version") => return Ok(Self { subcommand: Subcommand::Version, flags }),
                Arg::Short('o') if own_flag(name, "output").is_some() => {
                    own.given.add("output", text(parser.value()?)?);
                }
                Arg::Long(flag) if own_flag(name, flag).is_some() => {
                    // The guard has found it.
                    let Some(flag) = own_flag(name, flag) else { continue };
                    let value = match flag.value {
                        Value::None => String::new(),
                        Value::Any | Value::Directory | Value::File | Value::Program => text(parser.value()?)?,
                    };
                    // On `serve` it is a setting by another name.
                    match (flag.name, name) {
                        ("force", None | Some(Name::Serve)) => drop(flags.accept(&mut parser, "record-force")?),
                        _ => own.given.add(flag.name, value),
                    }
                }
                Arg::Long(flag) if takes_settings(name.unwrap_or(Name::Program)) => {
                    let flag = flag.to_owned();
                    if !flags.accept(&mut parser, &flag)? {
                        let known = known_flags(name).into_iter().chain(SETTINGS.iter().map(|spec| spec.flag));
                        let is_known = nearest(&flag, known).is_some();
                        let value = attached(&mut parser)?;
                        let of_command = own.flag_of_command(name, &format!("--{flag}"), value).filter(|_| !is_known);
                        return Err(of_command.unwrap_or_else(|| unknown_flag(&flag, &known_flags(name)).into()));
                    }
                    is_list_before = true;
                }
                Arg::Long(flag) => {
                    let flag = flag.to_owned();
                    let value = attached(&mut parser)?;
                    let of_command = own.flag_of_command(name, &format!("--{flag}"), value);
                    let of_command = of_command.filter(|_| nearest(&flag, known_flags(name)).is_none());
                    return Err(of_command.unwrap_or_else(|| unknown_own_flag(name, &flag)));
                }
                Arg::Short(flag) => {
                    let rest = parser.optional_value().map(text).transpose()?.unwrap_or_default();
                    let of_command = own.flag_of_command(name, &format!("-{flag}{rest}"), None);
                    return Err(of_command.unwrap_or_else(|| unknown_short(name, flag, &rest)));
                }
                Arg::Value(word) => {
                    let word = text(word)?;
                    let list = list.and_then(|_| flags.last_list());
                    match name {
                        None if word == HELP => {
                            let about = parser.next()?.map(about).transpose()?;
                            return Ok(help(about, Length::Long, flags));
                        }
                        None => {
                            name = Some(subcommand(&word).map_err(|error| match list {
                                Some((flag, value)) => CliError::BehindList { found: word, flag, value },
                                None => error,
                            })?);
                        }
                        Some(_) => {
                            own.behind_list = own.behind_list.or(list.map(|list| (own.words.len(), list)));
                            own.words.push(word);
                        }
                    }
                }
            }
        }
        own.in_front = dashes.map(|_| own.words.len());
        for word in behind.into_iter().skip(1) {
            let word = text(word)?;
            match name {
                None => name = Some(subcommand(&word)?),
                Some(_) => own.words.push(word),
            }
        }
        Ok(Self { subcommand: own.into_subcommand(name)?, flags })
    }
}

/// The word that is a subcommand for people alone.
const HELP: &str = "help";

fn help(name: Option<Name>, length: Length, flags: Flags) -> Arguments {
    Arguments { subcommand: Subcommand::Help(name.unwrap_or(Name::Program), length), flags }
}

/// What `help` is asked about.
fn about(argument: Arg<'_>) -> Result<Name, CliError> {
    match argument {
        Arg::Value(word) => subcommand(&text(word)?),
        Arg::Short(_) | Arg::Long(_) => Ok(Name::Program),
    }
}

impl Own {
    /// At which word the command stands that a subcommand is given; `None` for one that is given none.
    fn command_at(&self, name: Option<Name>) -> Option<usize> {
        match name {
            Some(Name::Check | Name::Record) => Some(0),
            Some(Name::Policy) if self.words.first().is_some_and(|action| action == "explain") => Some(1),
            _ => None,
        }
    }

    /// The error for a flag of the command itself, in front of which `--` was forgotten; `None` if there is no command yet.
    fn flag_of_command(&self, name: Option<Name>, flag: &str, value: Option<String>) -> Option<CliError> {
        let found = flag.escape_debug().to_string();
        if name == Some(Name::Call) && !self.words.is_empty() {
            let help = format!("`allowexec call` has no such flag, and {CALLED_WITH}");
            return Some(CliError::Misplaced { found, help });
        }
        let (action, command) = self.words.split_at_checked(self.command_at(name)?)?;
        if command.is_empty() {
            return None;
        }
        let subcommand = [name.map_or("", Name::text)].into_iter().chain(action.iter().map(String::as_str));
        let flag = value.map_or_else(|| flag.to_owned(), |value| format!("{flag}={value}"));
        let words = command.iter().map(String::as_str).chain([&*flag]).collect::<Vec<_>>().join(" ");
        let subcommand = subcommand.collect::<Vec<_>>().join(" ");
        let help =
            format!("if it belongs to the command, write `--` in front of that: `allowexec {subcommand} -- {words}`");
        Some(CliError::Misplaced { found, help: escape(&help).into_owned() })
    }

    /// The error for a word in front of `--`, where only flags stand.
    fn in_front_of_command(&self, name: Option<Name>) -> Option<CliError> {
        let found = self.words.get(self.command_at(name)?..self.in_front?)?.first()?.escape_debug().to_string();
        // With nothing behind it, what stands in front of it is the command.
        if self.in_front? == self.words.len() {
            return None;
        }
        let help = match name {
            Some(Name::Record) => {
                format!("the server's command stands behind `--`, and `-o {found}` names the file to write")
            }
            _ => "the whole command stands behind `--`, and only flags in front of it".to_owned(),
        };
        Some(CliError::Misplaced { found, help })
    }

    fn into_subcommand(self, name: Option<Name>) -> Result<Subcommand, CliError> {
        if let Some(error) = self.in_front_of_command(name) {
            return Err(error);
        }
        let Self { words, given, behind_list, in_front } = self;
        let count = words.len();
        let json = given.is_given("json");
        let directory = given.one("in")?;
        let mut words = words.into_iter();
        let subcommand = match name {
            None | Some(Name::Program | Name::Serve) => Subcommand::Serve,
            Some(Name::Tools) => Subcommand::Tools { json },
            Some(Name::Lock) => {
                let options = lock::Options { output: given.one("output")?, check: given.is_given("check"), json };
                Subcommand::Lock { options }
            }
            Some(Name::Doctor) => Subcommand::Doctor { json },
            Some(Name::Init) => Subcommand::Init { elsewhere: given.one("to")? },
            Some(Name::Setup) if given.is_given("list") => Subcommand::SetupList { json },
            Some(Name::Setup) => {
                let options = setup::Options { snippet: given.is_given("snippet"), json };
                Subcommand::Setup { client: client(words.next())?, options }
            }
            Some(Name::Record) => Subcommand::Record {
                options: record::Options {
                    output: given.one("output")?,
                    directory: given.one("dir")?,
                    force: given.is_given("force"),
                    timing: given.is_given("timing"),
                    required: given.is_given("required"),
                    command: some(&mut words, "record", "the command of a server after `--`")?,
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
                    ..played(&given)?
                };
                Subcommand::Replay { files: some(&mut words, "replay", "the file of a transcript")?, options }
            }
            Some(Name::Review) => {
                let decision = match (given.is_given("accept"), given.is_given("list")) {
                    (_, true) => review::Decision::List,
                    (true, false) => review::Decision::Accept,
                    (false, false) => review::Decision::Ask,
                };
                let options = review::Options { playing: played(&given)?, decision };
                Subcommand::Review { files: some(&mut words, "review", "the file of a transcript")?, options }
            }
            Some(Name::Mock) => {
                let missing = CliError::Missing { subcommand: "mock", what: "the file of a transcript" };
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
                Subcommand::Mock { file: words.next().ok_or(missing)?, options }
            }
            Some(Name::Lint) => {
                let files = some(&mut words, "lint", "the file of a transcript")?;
                Subcommand::Lint { files, schema: given.one("schema")?, json }
            }
            Some(Name::Audit) => Subcommand::Audit { action: audit::Action::parse(&mut words, &given)?, json },
            Some(Name::Report) => Subcommand::Report {
                options: report::Options { output: given.one("output")?, force: given.is_given("force") },
                files: some(&mut words, "report", "the file of an audit log or a transcript")?,
            },
            Some(Name::Completions) => Subcommand::Completions(shell(words.next())?),
            Some(Name::Man) => Subcommand::Man,
            Some(Name::Call) => {
                let missing = CliError::Missing { subcommand: "call", what: "the name of a tool" };
                Subcommand::Call { tool: words.next().ok_or(missing)?, arguments: words.next(), json }
            }
            Some(Name::Check) => {
                let command = some(&mut words, "check", "a command after `--`")?;
                Subcommand::Check { directory, command, with_input: given.is_given("with-input"), json }
            }
            Some(Name::Policy) => {
                let cases = given.all("cases").map(str::to_owned).collect();
                let flags = ActionFlags { directory, with_input: given.is_given("with-input"), cases };
                Subcommand::Policy { action: Action::parse(words.by_ref().collect(), flags)?, json }
            }
        };
        match words.next() {
            None => Ok(subcommand),
            Some(found) => {
                let index = count - words.len() - 1;
                Err(match behind_list.filter(|(at, _)| *at == index) {
                    Some((_, (flag, value))) => CliError::BehindList { found, flag, value },
                    None => CliError::Misplaced {
                        help: left_over(name, &found, in_front.is_some_and(|at| at <= index)),
                        found,
                    },
                })
            }
        }
    }
}

/// How a command is called.
const CALLED_WITH: &str = "the arguments of a tool are one JSON object, for instance '{\"command\":\"ls -l\"}'";

/// What to do with a word that is left over.
fn left_over(name: Option<Name>, found: &str, is_behind_dashes: bool) -> String {
    let name = name.unwrap_or(Name::Serve);
    let shown = found.escape_debug();
    let is_yaml = [".yaml", ".yml"].iter().any(|ending| found.ends_with(ending));
    match name {
        Name::Call => CALLED_WITH.to_owned(),
        _ if is_behind_dashes && found.starts_with('-') => "flags stand in front of `--`".to_owned(),
        Name::Init => format!("`--to {shown}` names another directory"),
        _ if !takes_settings(name) || found.starts_with('-') => "nothing more is expected here".to_owned(),
        _ if is_yaml => format!("`--config {shown}` reads settings from a file, and `--policy {shown}` reads rules"),
        Name::Lock => format!("`-o {shown}` names the lock file, and `--allow {shown}` allows a command"),
        _ => format!("`--allow {shown}` allows a command"),
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

/// All words that are left, of which there must be one.
fn some(
    words: &mut impl Iterator<Item = String>,
    subcommand: &'static str,
    what: &'static str,
) -> Result<Vec<String>, CliError> {
    let words: Vec<String> = words.collect();
    if words.is_empty() { Err(CliError::Missing { subcommand, what }) } else { Ok(words) }
}

/// Whether the settings' flags work on it. A transcript holds those that it plays with, and what is only printed needs none.
pub(super) fn takes_settings(name: Name) -> bool {
    !matches!(
        name,
        Name::Record
            | Name::Replay
            | Name::Review
            | Name::Mock
            | Name::Lint
            | Name::Audit
            | Name::Report
            | Name::Init
            | Name::Completions
            | Name::Man
    )
}

fn own_flag(name: Option<Name>, flag: &str) -> Option<&'static own_flags::OwnFlag> {
    own_flags::of(name.unwrap_or(Name::Serve)).find(|own| own.name == flag)
}

fn unknown_own_flag(name: Option<Name>, flag: &str) -> CliError {
    let subcommand = name.unwrap_or(Name::Program).text();
    let flags = known_flags(name);
    let known: Vec<String> = flags.iter().map(|flag| format!("`--{flag}`")).collect();
    let nearest = nearest(flag, &flags).copied();
    let help = meant("--", nearest, &format!("its flags are {}", known.join(", ")));
    CliError::UnknownOwnFlag { flag: flag.escape_debug().to_string(), subcommand, help }
}

/// The flags that are no settings.
fn known_flags(name: Option<Name>) -> Vec<&'static str> {
    let version = matches!(name, None | Some(Name::Program)).then_some("version");
    let own = own_flags::of(name.unwrap_or(Name::Serve)).map(|flag| flag.name);
    std::iter::once("help").chain(version).chain(own).collect()
}

fn subcommand(word: &str) -> Result<Name, CliError> {
    Name::SUBCOMMANDS.into_iter().find(|name| name.text() == word).ok_or_else(|| {
        let known = Name::SUBCOMMANDS.map(Name::text);
        let help = match word {
            "version" => "; did you mean `--version`?".to_owned(),
            _ => meant("", nearest(word, known), &format!("the commands are {}", known.join(", "))),
        };
        CliError::UnknownCommand { found: word.escape_debug().to_string(), help }
    })
}

fn client(word: Option<String>) -> Result<setup::Client, CliError> {
    let known = setup::Client::ALL.map(setup::Client::name);
    let word = word.ok_or(CliError::Missing { subcommand: "setup", what: "the name of a client, or `--list`" })?;
    let client = setup::Client::ALL.into_iter().find(|client| client.name() == word);
    client.ok_or_else(|| {
        let help = meant("", nearest(&word, known), &format!("the clients are {}", known.join(", ")));
        CliError::UnknownClient { found: word.escape_debug().to_string(), help }
    })
}

/// The error for a flag of one letter; `rest` is what stands behind it without a blank.
fn unknown_short(name: Option<Name>, flag: char, rest: &str) -> CliError {
    let found = format!("{flag}{rest}").escape_debug().to_string();
    let long = format!("{flag}{}", rest.split('=').next().unwrap_or_default());
    let is_long = by_name(&long) || known_flags(name).contains(&long.as_str());
    let help = match flag {
        _ if !rest.is_empty() && is_long => format!("; did you mean `--{long}`?"),
        'v' => "; `-V` prints the version, and `--log debug` has the server say more".to_owned(),
        _ => "; of one letter there are `-h` (help) and `-V` (version), and all others begin with `--`".to_owned(),
    };
    CliError::UnknownShort { found, help }
}

fn by_name(flag: &str) -> bool {
    SETTINGS.iter().any(|spec| spec.flag == flag)
}

fn shell(word: Option<String>) -> Result<Shell, CliError> {
    let known = Shell::ALL.map(Shell::text);
    let word = word.ok_or(CliError::Missing { subcommand: "completions", what: "the name of a shell" })?;
    let shell = Shell::ALL.into_iter().find(|shell| shell.text() == word);
    shell.ok_or_else(|| {
        let help = meant("", nearest(&word, known), &format!("the shells are {}", known.join(", ")));
        CliError::UnknownShell { found: word.escape_debug().to_string(), help }
    })
}

/// The words of a command that is given as one.
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

fn wrong(flag: &'static str, found: &str, expected: &'static str) -> CliError {
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

/// What stands behind `=` in a flag.
fn attached(parser: &mut lexopt::Parser) -> Result<Option<String>, CliError> {
    parser.optional_value().map(text).transpose()
}

fn text(word: OsString) -> Result<String, CliError> {
    word.into_string().map_err(|word| CliError::Unexpected {
        found: word.to_string_lossy().escape_debug().to_string(),
        expected: "arguments must be UTF-8",
    })
}

#[cfg(test)]
mod tests;
