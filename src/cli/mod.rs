//! The command line: subcommands, and the one place that prints.
//!
//! `call`, `check`, `tools` and `doctor` build the same parts from the same configuration as `serve`, and a call goes
//! the very way that a client's goes, so that what they say is what a client gets.

mod arguments;
mod call;
mod check;
mod completions;
mod doctor;
mod error;
mod help;
mod man;
mod mock;
mod played;
mod recording;
mod replay;
mod serve;
mod signals;
mod stdio;
mod tools;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use arguments::{Arguments, Subcommand};
use error::CliError;

use crate::config::{Config, Surroundings};

/// How a subcommand ends where it could do its work.
enum Outcome {
    /// 0
    Good,
    /// 1: refused, failed, different.
    Bad,
}

/// Runs the program with the arguments behind its name.
///
/// The exit status is 0, 1 where a call failed, a command was refused or `doctor` found a problem, and 2 for a wrong
/// flag or configuration.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match outcome(arguments) {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::FAILURE,
        // Nobody reads on: that is the reader's choice, as in `allowexec doctor | head`.
        Err(CliError::Output { source }) if source.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            stdio::complain(&error);
            ExitCode::from(2)
        }
    }
}

fn outcome(arguments: impl IntoIterator<Item = OsString>) -> Result<Outcome, CliError> {
    let Arguments { subcommand, flags } = Arguments::parse(arguments)?;
    let config = || -> Result<Config, CliError> { Ok(Config::resolve(&flags, Surroundings::of_this_process()?)?) };
    match subcommand {
        Subcommand::Help(about) => print(&help::text(about)),
        Subcommand::Completions(shell) => print(&completions::script(shell)),
        Subcommand::Man => print(&man::page()),
        Subcommand::Version => print(&format!("allowexec {}\n", env!("CARGO_PKG_VERSION"))),
        Subcommand::Serve => serve::run(&config()?, &flags),
        Subcommand::Replay { files, options } => replay::run(&files, &options),
        Subcommand::Mock { file } => mock::run(&file),
        Subcommand::Call { tool, arguments, json } => call::run(&config()?, &tool, arguments.as_deref(), json),
        Subcommand::Check { directory, command, json } => check::run(&config()?, directory.as_deref(), command, json),
        Subcommand::Tools { json } => tools::run(&config()?, json),
        Subcommand::Doctor { json } => doctor::run(&config()?, &flags, json),
    }
}

/// Prints to standard output.
fn print(text: &str) -> Result<Outcome, CliError> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|source| CliError::Output { source })?;
    Ok(Outcome::Good)
}

/// Prints a value as JSON, for people as well as for programs.
fn print_json(value: &serde_json::Value) -> Result<Outcome, CliError> {
    print(&format!("{value:#}\n"))
}
