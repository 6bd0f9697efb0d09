//! The command line: subcommands, and the one place that prints.
//!
//! `call`, `check`, `tools` and `doctor` build the same parts from the same configuration as `serve`, and `call` sends a
//! request like a client's, so what they say is what a client gets.
//!
//! - `arguments`, `subcommand`, `words`, `name`, `own_flags`: the command line, read; `error`: what ends a subcommand
//! - `help`: the texts about it
//! - `serve`, `call`, `check`, `tools`: the server
//! - `lines`: `run`, a line without a server, and `hook`, an agent's own shell; a build without the feature has `no_lines` in its place
//! - `evidence`: audit logs and lock files; a build without the feature has `no_evidence` in its place
//! - `workbench`: what prepares a server, tests it and looks back; a build without the feature has `no_workbench` in its place
//! - `fuzzed`: what the fuzzer calls
//! - `stdio`, `log`, `signals`, `hardening`: the process

mod arguments;
mod call;
mod check;
mod error;
#[cfg_attr(not(feature = "evidence"), path = "no_evidence.rs")]
mod evidence;
#[cfg(feature = "workbench")]
#[doc(hidden)]
pub mod fuzzed;
#[cfg_attr(not(unix), path = "no_hardening.rs")]
mod hardening;
mod help;
#[cfg_attr(not(feature = "lines"), path = "no_lines.rs")]
mod lines;
mod log;
mod name;
mod own_flags;
mod serve;
mod signals;
mod stdio;
mod subcommand;
mod tools;
mod words;
#[cfg_attr(not(feature = "workbench"), path = "no_workbench.rs")]
mod workbench;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use arguments::Arguments;
use error::CliError;
use subcommand::Subcommand;

use crate::config::{Config, Flags, Surroundings};
use crate::exec::launched;
use crate::text::is_plain;

/// The exit status of a subcommand that could do its work.
enum Outcome {
    /// 0
    Good,
    /// 1: refused, failed, different.
    Bad,
    /// 3: a person would have to approve it.
    Asks,
    /// Any other, such as that of a server that was started.
    Status(i32),
}

/// Runs the program with the arguments that follow its name.
///
/// It expects a process of its own, and changes it first: descriptors beyond the first three are marked to be closed in every
/// command; on Linux, other processes can't access this one any more, and what it starts has no `CAP_SYS_PTRACE`; `serve`
/// leaves the session of its parent. A program that embeds the server has to do this itself.
///
/// The exit status is 0; 1 if a call failed, a command was refused or `doctor` found a problem; 2 for a wrong flag or
/// configuration; 3 if a person would have to approve the command that `check` was asked about. If the server has started this
/// program as its launcher, it becomes a command, see [`launched`].
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(status) = launched(arguments.iter().cloned()) {
        return status;
    }
    match outcome(arguments) {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::FAILURE,
        Ok(Outcome::Asks) => ExitCode::from(3),
        // The lowest byte, as exit(3) takes it.
        Ok(Outcome::Status(status)) => ExitCode::from(status.to_le_bytes()[0]),
        // The reader has closed the pipe, as in `allowexec doctor | head`.
        Err(CliError::Output { source }) if source.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            stdio::complain(&error);
            ExitCode::from(2)
        }
    }
}

/// The file that `init` writes.
const CONFIGURATION: &str = "allowexec.yaml";

fn outcome(arguments: impl IntoIterator<Item = OsString>) -> Result<Outcome, CliError> {
    hardening::harden().map_err(|source| CliError::Hardening { source })?;
    let Arguments { subcommand, flags } = Arguments::parse(arguments)?;
    let config = || resolved(&flags);
    match subcommand {
        Subcommand::Help(about, length) => print(&help::text(about, length)),
        Subcommand::Version => print(&format!("allowexec {}\n", env!("CARGO_PKG_VERSION"))),
        Subcommand::Serve => serve::run(&config()?, &flags),
        Subcommand::Call { tool, arguments, json } => call::run(&config()?, &tool, arguments.as_deref(), json),
        Subcommand::Check { directory, command, with_input, json } => {
            check::run(&config()?, directory.as_deref(), command, with_input, json)
        }
        Subcommand::Tools { json } => tools::run(&config()?, json),
        Subcommand::Lines(subcommand) => lines::run(subcommand, &flags),
        Subcommand::Evidence(subcommand) => evidence::run(subcommand, &flags),
        Subcommand::Workbench(subcommand) => workbench::run(subcommand, &flags),
    }
}

/// The settings of this process. Whoever has named none is told of a file that may hold them.
fn resolved(flags: &Flags) -> Result<Config, CliError> {
    let config = Config::resolve(flags, Surroundings::of_this_process()?)?;
    let is_here = || config.surroundings.directory.join(CONFIGURATION).is_file();
    if config.file.value.is_none() && config.allow.value.is_empty() && config.rules.is_empty() && is_here() {
        stdio::note(&format!("`{CONFIGURATION}` is not read unless it is named: `--config {CONFIGURATION}`"));
    }
    Ok(config)
}

/// Prints to standard output.
fn print(text: &str) -> Result<Outcome, CliError> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|source| CliError::Output { source })?;
    Ok(Outcome::Good)
}

/// Prints a value as JSON, readable for people as well as for programs.
fn print_json(value: &serde_json::Value) -> Result<Outcome, CliError> {
    print(&json_for_people(&format!("{value:#}\n")))
}

/// The same JSON, with every character escaped that could control a terminal. JSON allows most of these unescaped in strings,
/// and nowhere else.
fn json_for_people(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if is_plain(character) || matches!(character, '\n' | '\t') {
            escaped.push(character);
        } else {
            let mut pair = [0; 2];
            escaped.extend(character.encode_utf16(&mut pair).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_for_people_is_the_same_json_and_plain() {
        let value = serde_json::json!({"a\u{9b}": "\u{1b}[31m \u{7f} \u{202e} \u{e0001} größe \n\t"});
        let text = json_for_people(&value.to_string());
        assert!(text.chars().all(is_plain), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
