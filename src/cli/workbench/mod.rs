//! Subcommands that prepare a server, test it and look back at its sessions. None is on the way of a call.
//!
//! - `subcommand`, `flags`, `help`: its part of the command line
//! - `doctor`, `init`, `setup`, `policy`: the settings; `schema`: the shape of their files; `git`: where `.git` leads
//! - `record`, `replay`, `review`, `mock`, `lint`: sessions as transcripts, with their parts `recording`, `replayer`,
//!   `played` (this server), `foreign` (any other), `parallel` (several at once), `verdicts`, `faults` and `started`
//! - `report`: a page about the commands that ran
//! - `man`, `completions`: texts about the command line

pub(super) mod completions;
mod doctor;
mod faults;
mod flags;
mod foreign;
mod git;
mod help;
mod init;
mod interrupt;
mod lint;
mod man;
pub(super) mod mock;
mod parallel;
mod played;
pub(super) mod policy;
mod record;
mod recording;
pub(super) mod replay;
mod replayer;
mod report;
pub(super) mod review;
mod schema;
pub(super) mod setup;
mod started;
mod subcommand;
mod verdicts;

use super::error::CliError;
use super::{Outcome, print};
use crate::config::Flags;

pub(super) use flags::FLAGS;
pub(super) use help::{COMMANDS, words};
pub(super) use policy::{Allowing, suggestions};
pub(super) use recording::{finish as finish_recording, start as start_recording};
pub(super) use subcommand::Subcommand;

/// Runs a subcommand.
pub(super) fn run(subcommand: Subcommand, flags: &Flags) -> Result<Outcome, CliError> {
    let config = || super::resolved(flags);
    match subcommand {
        Subcommand::Policy { action, json } => policy::run(&action, json, config),
        Subcommand::Record { options } => record::run(&options),
        Subcommand::Replay { files, options } => replay::run(&files, &options),
        Subcommand::Review { files, options } => review::run(&files, &options),
        Subcommand::Mock { file, options } => mock::run(&file, options),
        Subcommand::Lint { files, schema, json } => lint::run(&files, schema.as_deref(), json),
        Subcommand::Report { files, options } => report::run(&files, &options),
        Subcommand::Doctor { json } => doctor::run(&config()?, flags, json),
        Subcommand::Init { elsewhere, force } => init::run(elsewhere.as_deref(), force),
        Subcommand::Schema(schema) => print(&schema.json()),
        Subcommand::Setup { client, options } => setup::run(client, flags, options),
        Subcommand::SetupList { json } => setup::list(json),
        Subcommand::Completions(shell) => print(&completions::script(shell)),
        Subcommand::Man => print(&man::page()),
    }
}
