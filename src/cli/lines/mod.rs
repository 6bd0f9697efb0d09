//! Subcommands for lines of several commands without a server.
//!
//! - `run`: runs one line as a call would
//! - `hook`: decides for an agent's own shell

pub(super) mod hook;
#[cfg_attr(not(unix), path = "no_run.rs")]
mod run;

use super::Outcome;
use super::error::{CliError, not_built};
use super::name::Name;
use super::own_flags::{Given, OwnFlag, Value, flag};
use super::words::{named, some, word, wrong};
use crate::config::{Feature, Flags};

/// A subcommand about lines with its own words and flags.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subcommand {
    Run { words: Vec<String>, options: run::Options },
    Hook { agent: hook::Agent, options: hook::Options },
}

impl Subcommand {
    /// Reads the words and flags of a subcommand; words that it does not take are left over.
    pub(super) fn read(name: Name, words: &mut impl Iterator<Item = String>, given: &Given) -> Result<Self, CliError> {
        match name {
            Name::Run => Self::run(words, given),
            Name::Hook => Self::hook(words, given),
            name => Err(not_built(name.text(), Feature::Lines)),
        }
    }

    fn hook(words: &mut impl Iterator<Item = String>, given: &Given) -> Result<Self, CliError> {
        let agent = word(words, "hook", "the name of an agent")?;
        let agent = named("agent", &agent, hook::Agent::ALL, hook::Agent::name)?;
        let unknown = given.one("unknown")?;
        let unknown =
            unknown.map(|word| named("answer", &word, hook::Unknown::ALL, hook::Unknown::name)).transpose()?;
        let shell = given.one("agent-shell")?;
        let shell = shell.map(|word| named("shell", &word, hook::Shell::NAMED, hook::Shell::name)).transpose()?;
        let unknown = unknown.unwrap_or_default();
        let options = hook::Options { unknown, shell, rewrites: given.is_given("rewrite") };
        Ok(Self::Hook { agent, options })
    }

    fn run(words: &mut impl Iterator<Item = String>, given: &Given) -> Result<Self, CliError> {
        let line = given.one("line-hex")?.map(|digits| {
            let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
            let line = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            line.ok_or_else(|| wrong("line-hex", &digits, "a line in UTF-8, two hexadecimal digits for each byte"))
        });
        let line = line.transpose()?;
        let options = run::Options { line, grant: given.one("grant")?, flags_only: given.is_given("flags-only") };
        let words =
            if options.line.is_some() { Vec::new() } else { some(words, "run", "a line or a command after `--`")? };
        Ok(Self::Run { words, options })
    }
}

/// The byte of two hexadecimal digits.
fn byte(digits: &[u8]) -> Option<u8> {
    let value = |digit: &u8| char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let [high, low] = digits else { return None };
    Some(value(high)? << 4 | value(low)?)
}

/// Runs a subcommand.
pub(super) fn run(subcommand: Subcommand, flags: &Flags) -> Result<Outcome, CliError> {
    match subcommand {
        Subcommand::Run { words, options } => run::run(flags, words, &options),
        Subcommand::Hook { agent, options } => hook::run(agent, flags, options),
    }
}

/// Their flags that are not settings.
pub(super) const FLAGS: &[OwnFlag] = &[
    flag("line-hex", &[Name::Run], Value::Any, "The line, in hexadecimal digits"),
    flag(
        "grant",
        &[Name::Run],
        Value::Any,
        "What a person has approved in an agent, by the name that its hook gave it",
    ),
    flag("flags-only", &[Name::Run], Value::None, "Take settings from flags, and from no variable"),
    flag("unknown", &[Name::Hook], Value::Any, "The answer where nothing describes a line: deny, ask or pass"),
    flag("agent-shell", &[Name::Hook], Value::Any, "The shell that the agent gives its lines to: bash, zsh or sh"),
    flag("rewrite", &[Name::Hook], Value::None, "Replace allowed lines by `allowexec run`"),
];

/// Their part of the list of subcommands.
pub(super) const COMMANDS: &str = "  \
         run -- LINE               run one line as a call would, with your own streams and its status\n  \
         hook AGENT                decide for an agent's own shell: one event in, the agent's answer out\n  \
";

/// The usage and the explanation of one of them.
pub(super) fn words(about: Name) -> (&'static str, &'static str) {
    match about {
        Name::Run => (
            "allowexec run [--line-hex HEX] [--flags-only] [OPTIONS] -- LINE",
            "Runs one line as `execute_command` would with `--lines on` at least, in the current directory: each command is decided by\n\
             its rule, and no shell reads the line. Several words are a program and its arguments, as `execute_process` takes\n\
             them. Standard input, output and error are passed through, unbounded. Without --timeout there is none.\n\
             What a person has to approve is asked on the terminal. On Windows it is not there.\n\
             Exit status: that of the line; 124 after the deadline, 126 if something was refused, 127 if there is no such program,\n\
             128 plus the number of a signal, 2 for a wrong flag or configuration.",
        ),
        Name::Hook => (
            "allowexec hook AGENT [--rewrite] [--unknown deny|ask|pass] [--agent-shell bash|zsh|sh] [OPTIONS]",
            "Reads the event of an agent's hook on standard input, decides on its command line in its directory as `check` does with\n\
             `--lines on` at least, and prints the agent's answer. Nothing runs. Whatever goes wrong blocks. `setup AGENT --hook`\n\
             prints where the command belongs. The agents are claude-code, vscode, codex, copilot, gemini, cursor and opencode.\n\
             With --rewrite an allowed line is replaced by `allowexec run`, so that what was decided is what runs. Without it the\n\
             agent's own shell reads the line again, and only lines go through that it can't read otherwise.\n\
             Exit status: 0 with an answer, 2 to block.",
        ),
        _ => ("", ""),
    }
}
