//! What was typed, as a subcommand and the settings' flags, which work on each of them.

use std::ffi::OsString;

use lexopt::Arg;

use super::completions::Shell;
use super::error::CliError;
use super::replay::Options;
use crate::config::{Flags, meant, nearest, unknown_flag};

/// A subcommand with its own words.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subcommand {
    Serve,
    Call { tool: String, arguments: Option<String>, json: bool },
    Check { directory: Option<String>, command: Vec<String>, json: bool },
    Tools { json: bool },
    Doctor { json: bool },
    Replay { files: Vec<String>, options: Options },
    Mock { file: String },
    Completions(Shell),
    Man,
    Help(Name),
    Version,
}

/// The name of a subcommand; `Program` where help is for the program as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Program,
    Serve,
    Call,
    Check,
    Tools,
    Doctor,
    Replay,
    Mock,
    Completions,
    Man,
}

impl Name {
    pub(super) const SUBCOMMANDS: [Self; 9] = [
        Self::Serve,
        Self::Call,
        Self::Check,
        Self::Tools,
        Self::Replay,
        Self::Mock,
        Self::Doctor,
        Self::Completions,
        Self::Man,
    ];

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Program => "",
            Self::Serve => "serve",
            Self::Call => "call",
            Self::Check => "check",
            Self::Tools => "tools",
            Self::Doctor => "doctor",
            Self::Replay => "replay",
            Self::Mock => "mock",
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
    directory: Option<String>,
    json: bool,
    update: bool,
}

impl Arguments {
    pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, CliError> {
        let mut parser = lexopt::Parser::from_args(arguments);
        let mut flags = Flags::default();
        let mut name: Option<Name> = None;
        let mut own = Own::default();
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Short('h') | Arg::Long("help") => {
                    let about = name.unwrap_or(Name::Program);
                    return Ok(Self { subcommand: Subcommand::Help(about), flags });
                }
                Arg::Short('V') | Arg::Long("version") => return Ok(Self { subcommand: Subcommand::Version, flags }),
                Arg::Long("json") if takes_json(name) => own.json = true,
                Arg::Long("update") if name == Some(Name::Replay) => own.update = true,
                Arg::Long("in") if matches!(name, Some(Name::Check | Name::Replay)) => {
                    own.directory = Some(text(parser.value()?)?)
                }
                Arg::Long(flag) if takes_settings(name.unwrap_or(Name::Program)) => {
                    let flag = flag.to_owned();
                    if !flags.accept(&mut parser, &flag)? {
                        return Err(unknown_flag(&flag, own_flags(name)).into());
                    }
                }
                Arg::Long(flag) => {
                    let flag = flag.to_owned();
                    return Err(own_flag(name, &flag));
                }
                Arg::Short(flag) => return Err(unknown_flag(&flag.to_string(), own_flags(name)).into()),
                Arg::Value(word) => {
                    let word = text(word)?;
                    match name {
                        None => name = Some(subcommand(&word)?),
                        Some(_) => own.words.push(word),
                    }
                }
            }
        }
        Ok(Self { subcommand: own.into_subcommand(name)?, flags })
    }
}

impl Own {
    fn into_subcommand(self, name: Option<Name>) -> Result<Subcommand, CliError> {
        let Self { words, directory, json, update } = self;
        let mut words = words.into_iter();
        let subcommand = match name {
            None | Some(Name::Program | Name::Serve) => Subcommand::Serve,
            Some(Name::Tools) => Subcommand::Tools { json },
            Some(Name::Doctor) => Subcommand::Doctor { json },
            Some(Name::Replay) => {
                let files: Vec<String> = words.by_ref().collect();
                if files.is_empty() {
                    return Err(CliError::Missing { subcommand: "replay", what: "the file of a transcript" });
                }
                Subcommand::Replay { files, options: Options { update, json, directory } }
            }
            Some(Name::Mock) => {
                let missing = CliError::Missing { subcommand: "mock", what: "the file of a transcript" };
                Subcommand::Mock { file: words.next().ok_or(missing)? }
            }
            Some(Name::Completions) => Subcommand::Completions(shell(words.next())?),
            Some(Name::Man) => Subcommand::Man,
            Some(Name::Call) => {
                let missing = CliError::Missing { subcommand: "call", what: "the name of a tool" };
                Subcommand::Call { tool: words.next().ok_or(missing)?, arguments: words.next(), json }
            }
            Some(Name::Check) => {
                let command: Vec<String> = words.by_ref().collect();
                if command.is_empty() {
                    return Err(CliError::Missing { subcommand: "check", what: "a command behind `--`" });
                }
                Subcommand::Check { directory, command, json }
            }
        };
        match words.next() {
            None => Ok(subcommand),
            Some(found) => Err(CliError::Unexpected { found, expected: "nothing more is expected here" }),
        }
    }
}

fn takes_json(name: Option<Name>) -> bool {
    matches!(name, Some(Name::Call | Name::Check | Name::Tools | Name::Doctor | Name::Replay))
}

/// Whether the settings' flags work on it. A transcript holds those that it plays with, and what is only printed needs none.
pub(super) fn takes_settings(name: Name) -> bool {
    !matches!(name, Name::Replay | Name::Mock | Name::Completions | Name::Man)
}

fn own_flag(name: Option<Name>, flag: &str) -> CliError {
    let subcommand = name.unwrap_or(Name::Program).text();
    let known: Vec<String> = own_flags(name).iter().map(|flag| format!("`--{flag}`")).collect();
    let nearest = nearest(flag, own_flags(name)).copied();
    let help = meant("--", nearest, &format!("its flags are {}", known.join(", ")));
    CliError::UnknownOwnFlag { flag: flag.escape_debug().to_string(), subcommand, help }
}

pub(super) fn own_flags(name: Option<Name>) -> &'static [&'static str] {
    match name {
        None | Some(Name::Program | Name::Serve | Name::Completions | Name::Man) => &["help", "version"],
        Some(Name::Call | Name::Tools | Name::Doctor) => &["help", "json"],
        Some(Name::Check) => &["help", "json", "in"],
        Some(Name::Replay) => &["help", "json", "update", "in"],
        Some(Name::Mock) => &["help"],
    }
}

fn subcommand(word: &str) -> Result<Name, CliError> {
    Name::SUBCOMMANDS.into_iter().find(|name| name.text() == word).ok_or_else(|| {
        let known = Name::SUBCOMMANDS.map(Name::text);
        let help = meant("", nearest(word, known), &format!("the commands are {}", known.join(", ")));
        CliError::UnknownCommand { found: word.escape_debug().to_string(), help }
    })
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

fn text(word: OsString) -> Result<String, CliError> {
    word.into_string().map_err(|word| CliError::Unexpected {
        found: word.to_string_lossy().escape_debug().to_string(),
        expected: "arguments must be UTF-8",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Result<Subcommand, String> {
        let words = shlex::split(arguments).unwrap().into_iter().map(OsString::from);
        Arguments::parse(words).map(|arguments| arguments.subcommand).map_err(|error| error.to_string())
    }

    #[test]
    fn subcommands_take_their_own_words_and_the_settings_anywhere() {
        assert_eq!(parse(""), Ok(Subcommand::Serve));
        assert_eq!(parse("--allow ls"), Ok(Subcommand::Serve));
        assert_eq!(parse("--allow=ls serve --timeout 5s"), Ok(Subcommand::Serve));
        assert_eq!(parse("doctor --json --allow ls"), Ok(Subcommand::Doctor { json: true }));
        let call = Subcommand::Call { tool: "t".into(), arguments: Some("{}".into()), json: false };
        assert_eq!(parse("--allow ls call t --structured {}"), Ok(call));
        let check = |directory: Option<&str>, command: &[&str]| {
            let command = command.iter().map(|&word| word.to_owned()).collect();
            Ok(Subcommand::Check { directory: directory.map(str::to_owned), command, json: false })
        };
        assert_eq!(parse("check --allow ls --in sub -- ls --json -l"), check(Some("sub"), &["ls", "--json", "-l"]));
        assert_eq!(parse("check -- 'ls -l'"), check(None, &["ls -l"]));
        assert_eq!(parse("call --help"), Ok(Subcommand::Help(Name::Call)));
        assert_eq!(parse("completions fish"), Ok(Subcommand::Completions(Shell::Fish)));
        assert_eq!(parse("man"), Ok(Subcommand::Man));
        assert_eq!(parse("-h"), Ok(Subcommand::Help(Name::Program)));
        let options = Options { update: true, json: true, directory: Some("d".into()) };
        let files = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(parse("replay a --update --json --in d b"), Ok(Subcommand::Replay { files, options }));
        assert_eq!(parse("mock a"), Ok(Subcommand::Mock { file: "a".into() }));
        assert_eq!(parse("--version"), Ok(Subcommand::Version));
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        let check =
            |arguments: &str, expected: &str| assert_eq!(parse(arguments).unwrap_err(), expected, "{arguments}");
        let commands = "serve, call, check, tools, replay, mock, doctor, completions, man";
        check("srve", "unknown command `srve`; did you mean `serve`?");
        check("rep", "unknown command `rep`; did you mean `replay`?");
        check("start", &format!("unknown command `start`; the commands are {commands}"));
        check("completions ksh", "no completions for `ksh`; did you mean `zsh`?");
        check("completions xonsh", "no completions for `xonsh`; the shells are bash, zsh, fish, powershell");
        check("completions", "`allowexec completions` needs the name of a shell; see `allowexec completions --help`");
        check("call", "`allowexec call` needs the name of a tool; see `allowexec call --help`");
        check("check --in x", "`allowexec check` needs a command behind `--`; see `allowexec check --help`");
        check("serve now", "unexpected argument `now`; nothing more is expected here");
        check("replay", "`allowexec replay` needs the file of a transcript; see `allowexec replay --help`");
        check("mock a b", "unexpected argument `b`; nothing more is expected here");
        check("replay a --updat", "`allowexec replay` has no flag `--updat`; did you mean `--update`?");
        check("mock a --allow ls", "`allowexec mock` has no flag `--allow`; its flags are `--help`");
        assert!(parse("--alow ls").unwrap_err().contains("--allow"));
        assert!(parse("serve --json").is_err());
    }
}
