//! `allowexec serve`: a client on standard input and output.

use std::io::{self, BufRead, IsTerminal, Write};

use super::error::CliError;
use super::signals::Signals;
use super::{Outcome, hardening, log, stdio, workbench};
use crate::config::{Config, Flags, LogLevel};
use crate::exec::own_descendants;
use crate::server::{DrainTime, LogSink, Parts, Server};

pub(super) fn run(config: &Config, flags: &Flags) -> Result<Outcome, CliError> {
    // A person who starts it by hand can end it with the keys of the terminal.
    if !io::stdin().is_terminal() && !io::stdout().is_terminal() {
        hardening::leave_session();
    }
    own_descendants();
    crate::exec::stay_in_directory();
    let mut parts = Parts::new(config);
    parts.suggests = workbench::suggestions(config).filter(|_| config.log.value >= LogLevel::Info);
    parts.check_start()?;
    let log = log::sink(config)?;
    // Only a server that can start may replace an earlier recording.
    let recorder = workbench::start_recording(config, flags)?;
    if io::stdin().is_terminal() {
        stdio::note(
            "waiting for JSON-RPC messages on standard input, one per line; usually an MCP client starts this program. \
             To try it by hand: allowexec call execute_command '{\"command\":\"echo hello\"}' --allow echo",
        );
    }
    let (output, closing) = stdio::client_output().map_err(CliError::serve)?;
    let (input, gate) = stdio::client_input().map_err(CliError::serve)?;
    match recorder {
        None => serve((parts, log), input, gate, output, closing)?,
        Some(recorder) => {
            let served = serve((parts, log), recorder.input(input), gate, recorder.output(output), closing);
            // If both fail, the recording's failure is the cause.
            workbench::finish_recording(&recorder, config)?;
            served?;
        }
    }
    Ok(Outcome::Good)
}

fn serve(
    (parts, log): (Parts, LogSink),
    input: impl BufRead + Send + 'static,
    gate: stdio::ClientGate,
    output: impl Write,
    closing: stdio::Closing,
) -> Result<(), CliError> {
    // Before the server is made, which starts the persistent shell.
    let signals = Signals::catch().map_err(CliError::serve)?;
    let server = Server::new(parts, DrainTime::FOR_CLIENTS, log, output).ending_orphans();
    server.check_start()?;
    signals.end(server.ender(), closing).map_err(CliError::serve)?;
    stdio::serve(server, input, gate).map_err(CliError::serve)
}
