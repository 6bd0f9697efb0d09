//! The command line: a subcommand with its own words and flags, and the settings' flags.

use std::ffi::OsString;

use lexopt::Arg;

use super::error::CliError;
use super::help::Length;
use super::name::Name;
use super::own_flags::{self, Given, Value};
use super::subcommand::Subcommand;
use super::words::named;
use crate::config::{Flags, SETTINGS, meant, unknown_flag};
use crate::text::{escape, nearest};

/// The name by which a subcommand asks whether `--` was given.
pub(super) const DASHES: &str = "--";

/// The command line, read.
pub(super) struct Arguments {
    pub subcommand: Subcommand,
    pub flags: Flags,
}

/// The words and flags besides the settings.
#[derive(Default)]
struct Own {
    words: Vec<String>,
    given: Given,
    /// The index of the first word that directly follows the flag of a list, with the flag and its value.
    after_list: Option<(usize, (&'static str, String))>,
    /// How many of the words are before `--`, if it is given.
    before_dashes: Option<usize>,
}

impl Arguments {
    pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, CliError> {
        let mut arguments: Vec<OsString> = arguments.into_iter().collect();
        let dashes = arguments.iter().position(|argument| argument == "--");
        // Everything after it is a word.
        let after_dashes = dashes.map(|at| arguments.split_off(at)).unwrap_or_default();
        let mut parser = lexopt::Parser::from_args(arguments);
        let mut flags = Flags::default();
        let mut name: Option<Name> = None;
        let mut own = Own::default();
        if dashes.is_some() {
            own.given.add(DASHES, String::new());
        }
        // Whether the flag of a setting was read last.
        let mut was_setting = false;
        while let Some(argument) = parser.next()? {
            let follows_setting = std::mem::take(&mut was_setting);
            match argument {
                Arg::Short('h') | Arg::Long("help") => {
                    return Ok(help(name, length(&mut parser)?, flags));
                }
                Arg::Short('V') | Arg::Long("version") => return Ok(Self { subcommand: Subcommand::Version, flags }),
                Arg::Short('o') if own_flag(name, "output").is_some() => {
                    own.given.add("output", text(parser.value()?)?);
                }
                Arg::Long(flag) if own_flag(name, flag).is_some() => {
                    // The guard has found it, but could not keep it.
                    let Some(flag) = own_flag(name, flag) else { continue };
                    let value = match flag.value {
                        Value::None => String::new(),
                        Value::Any | Value::Directory | Value::File | Value::Program => text(parser.value()?)?,
                    };
                    // On `serve`, `--force` is another name for a setting.
                    match (flag.name, name) {
                        ("force", None | Some(Name::Serve)) => drop(flags.accept(&mut parser, "record-force")?),
                        _ => own.given.add(flag.name, value),
                    }
                }
                Arg::Long(flag) if name.unwrap_or(Name::Program).takes_settings() => {
                    let flag = flag.to_owned();
                    if !flags.accept(&mut parser, &flag)? {
                        let known = known_flags(name).into_iter().chain(SETTINGS.iter().map(|spec| spec.flag));
                        let is_known = nearest(&flag, known).is_some();
                        let value = attached(&mut parser)?;
                        let of_command = own.flag_of_command(name, &format!("--{flag}"), value).filter(|_| !is_known);
                        return Err(of_command.unwrap_or_else(|| unknown_flag(&flag, &known_flags(name)).into()));
                    }
                    was_setting = true;
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
                    let list = flags.last_list().filter(|_| follows_setting);
                    match name {
                        None if word == HELP => {
                            if length(&mut parser)? == Length::Long {
                                return Ok(help(None, Length::Long, flags));
                            }
                            let about = parser.next()?.map(about).transpose()?;
                            let length = length(&mut parser)?;
                            return Ok(help(about, length, flags));
                        }
                        None => {
                            name = Some(subcommand(&word).map_err(|error| match list {
                                Some((flag, value)) => CliError::AfterList { found: word, flag, value },
                                None => error,
                            })?);
                        }
                        Some(_) => {
                            own.after_list = own.after_list.or(list.map(|list| (own.words.len(), list)));
                            own.words.push(word);
                        }
                    }
                }
            }
        }
        own.before_dashes = dashes.map(|_| own.words.len());
        for word in after_dashes.into_iter().skip(1) {
            let word = text(word)?;
            match name {
                None => name = Some(subcommand(&word)?),
                Some(_) => own.words.push(word),
            }
        }
        Ok(Self { subcommand: own.into_subcommand(name)?, flags })
    }
}

/// The subcommand that only people type; it is not listed.
const HELP: &str = "help";
/// The word behind it for all of the help.
const ALL: &str = "all";

/// How much help is asked for: `all` is the word, or the value, behind the flag.
fn length(parser: &mut lexopt::Parser) -> Result<Length, CliError> {
    if let Some(value) = parser.optional_value() {
        let value = text(value)?;
        return match value.as_str() {
            ALL => Ok(Length::Long),
            _ => {
                Err(CliError::Unknown { kind: "value of `--help`", found: value, help: "; expected `all`".to_owned() })
            }
        };
    }
    let is_all = parser.try_raw_args().is_some_and(|rest| rest.peek().is_some_and(|word| word == ALL));
    Ok(if is_all { Length::Long } else { Length::Short })
}

fn help(name: Option<Name>, length: Length, flags: Flags) -> Arguments {
    Arguments { subcommand: Subcommand::Help(name.unwrap_or(Name::Program), length), flags }
}

/// Returns the subject that `help` is asked about.
fn about(argument: Arg<'_>) -> Result<Name, CliError> {
    match argument {
        Arg::Value(word) => subcommand(&text(word)?),
        Arg::Short(_) | Arg::Long(_) => Ok(Name::Program),
    }
}

impl Own {
    /// The index of the first word of the command that a subcommand is about; `None` for one that takes no command.
    fn command_at(&self, name: Option<Name>) -> Option<usize> {
        match name {
            Some(Name::Check | Name::Run | Name::Record) => Some(0),
            Some(Name::Policy) if self.words.first().is_some_and(|action| action == "explain") => Some(1),
            _ => None,
        }
    }

    /// The error for a flag that belongs to the command, if `--` was forgotten before it; `None` if there is no command yet.
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
            format!("if it belongs to the command, write `--` before the command: `allowexec {subcommand} -- {words}`");
        Some(CliError::Misplaced { found, help: escape(&help).into_owned() })
    }

    /// The error for a word before `--`, where only flags are expected.
    fn word_before_dashes(&self, name: Option<Name>) -> Option<CliError> {
        let found = self.words.get(self.command_at(name)?..self.before_dashes?)?.first()?.escape_debug().to_string();
        // If nothing follows `--`, the words before it are the command.
        if self.before_dashes? == self.words.len() {
            return None;
        }
        let help = match name {
            Some(Name::Record) => {
                format!("write the server's command after `--`, and `-o {found}` to name the file to write")
            }
            _ => "write the whole command after `--`, and only flags before it".to_owned(),
        };
        Some(CliError::Misplaced { found, help })
    }

    fn into_subcommand(self, name: Option<Name>) -> Result<Subcommand, CliError> {
        if let Some(error) = self.word_before_dashes(name) {
            return Err(error);
        }
        let Self { words, given, after_list, before_dashes } = self;
        let count = words.len();
        let mut words = words.into_iter();
        let subcommand = Subcommand::read(name, &mut words, &given)?;
        match words.next() {
            None => Ok(subcommand),
            Some(found) => {
                let index = count - words.len() - 1;
                Err(match after_list.filter(|(at, _)| *at == index) {
                    Some((_, (flag, value))) => CliError::AfterList { found, flag, value },
                    None => CliError::Misplaced {
                        help: left_over(name, &found, before_dashes.is_some_and(|at| at <= index)),
                        found,
                    },
                })
            }
        }
    }
}

/// The sentence about the arguments that `call` expects after the name of a tool.
const CALLED_WITH: &str = "the arguments of a tool are one JSON object, for instance '{\"command\":\"ls -l\"}'";

/// The help for a word that is left over.
fn left_over(name: Option<Name>, found: &str, is_after_dashes: bool) -> String {
    let name = name.unwrap_or(Name::Serve);
    let shown = found.escape_debug();
    let is_yaml = [".yaml", ".yml"].iter().any(|ending| found.ends_with(ending));
    match name {
        Name::Call => CALLED_WITH.to_owned(),
        _ if is_after_dashes && found.starts_with('-') => "write flags before `--`".to_owned(),
        Name::Init => format!("`--to {shown}` names another directory"),
        _ if !name.takes_settings() || found.starts_with('-') => "nothing more is expected here".to_owned(),
        _ if is_yaml => format!("`--config {shown}` reads settings from a file, and `--policy {shown}` reads rules"),
        Name::Lock => format!("`-o {shown}` names the lock file, and `--allow {shown}` allows a command"),
        _ => format!("`--allow {shown}` allows a command"),
    }
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

/// The flags of a subcommand that are not settings.
fn known_flags(name: Option<Name>) -> Vec<&'static str> {
    let version = matches!(name, None | Some(Name::Program)).then_some("version");
    let own = own_flags::of(name.unwrap_or(Name::Serve)).map(|flag| flag.name);
    std::iter::once("help").chain(version).chain(own).collect()
}

fn subcommand(word: &str) -> Result<Name, CliError> {
    if word == "version" {
        let help = "; did you mean `--version`?".to_owned();
        return Err(CliError::Unknown { kind: "command", found: word.to_owned(), help });
    }
    named("command", word, Name::SUBCOMMANDS, Name::text)
}

/// The error for a flag of one letter; `rest` is the rest of the argument.
fn unknown_short(name: Option<Name>, flag: char, rest: &str) -> CliError {
    let found = format!("{flag}{rest}").escape_debug().to_string();
    let long = format!("{flag}{}", rest.split('=').next().unwrap_or_default());
    let is_long = is_setting(&long) || known_flags(name).contains(&long.as_str());
    let help = match flag {
        _ if !rest.is_empty() && is_long => format!("; did you mean `--{long}`?"),
        'v' => "; `-V` prints the version, and `--log debug` makes the server log more".to_owned(),
        _ => "; the flags of one letter are `-h` (help) and `-V` (version), and all others begin with `--`".to_owned(),
    };
    CliError::Unknown { kind: "flag", found: format!("-{found}"), help }
}

fn is_setting(flag: &str) -> bool {
    SETTINGS.iter().any(|spec| spec.flag == flag)
}

/// The value that follows `=` in a flag.
fn attached(parser: &mut lexopt::Parser) -> Result<Option<String>, CliError> {
    parser.optional_value().map(text).transpose()
}

fn text(word: OsString) -> Result<String, CliError> {
    word.into_string().map_err(|word| CliError::Misplaced {
        found: word.to_string_lossy().escape_debug().to_string(),
        help: "arguments must be UTF-8".to_owned(),
    })
}

#[cfg(test)]
#[cfg(feature = "workbench")]
mod tests;
