//! The subcommands, and how each is read from its words and its own flags.

use super::error::CliError;
use super::help::Length;
use super::name::Name;
use super::own_flags::Given;
use super::words::{named, some, word, wrong};
use super::{evidence, hook, run, workbench};

/// A subcommand with its own words and flags.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subcommand {
    Serve,
    Call {
        tool: String,
        arguments: Option<String>,
        json: bool,
    },
    Check {
        directory: Option<String>,
        command: Vec<String>,
        with_input: bool,
        json: bool,
    },
    Run {
        words: Vec<String>,
        options: run::Options,
    },
    Hook {
        agent: hook::Agent,
        options: hook::Options,
    },
    Tools {
        json: bool,
    },
    /// Makes or reads evidence.
    Evidence(evidence::Subcommand),
    /// Helps to prepare, to test and to look back.
    Workbench(workbench::Subcommand),
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
        Ok(match name {
            None | Some(Name::Program | Name::Serve) => Self::Serve,
            Some(Name::Tools) => Self::Tools { json },
            Some(Name::Call) => {
                let tool = word(words, "call", "the name of a tool")?;
                Self::Call { tool, arguments: words.next(), json }
            }
            Some(Name::Run) => Self::run(words, given)?,
            Some(Name::Hook) => Self::hook(words, given)?,
            Some(Name::Check) => {
                let command = some(words, "check", "a command after `--`")?;
                Self::Check { directory: given.one("in")?, command, with_input: given.is_given("with-input"), json }
            }
            Some(name @ (Name::Lock | Name::Audit)) => Self::Evidence(evidence::Subcommand::read(name, words, given)?),
            Some(name) => Self::Workbench(workbench::Subcommand::read(name, words, given)?),
        })
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
