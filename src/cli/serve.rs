//! `allowexec serve`: a client on standard input and output.

use std::io::{self, BufRead, BufReader, IsTerminal, Write};

use super::error::CliError;
use super::{Outcome, recording, stdio};
use crate::config::{Config, Flags};
use crate::exec::become_subreaper;
use crate::server::{Parts, Patience, Server};

pub(super) fn run(config: &Config, flags: &Flags) -> Result<Outcome, CliError> {
    become_subreaper();
    let recorder = recording::start(config, flags)?;
    let failed = |source| CliError::Serve { source };
    if io::stdin().is_terminal() {
        stdio::note(
            "waiting for JSON-RPC messages on standard input, one a line; an MCP client is meant to start this. \
             To try it by hand: allowexec call execute_command '{\"command\":\"echo hello\"}' --allow echo",
        );
    }
    let (output, closing) = stdio::client_output().map_err(failed)?;
    let parts = Parts::new(config);
    parts.confinement.check().map_err(CliError::sandbox)?;
    // Read in large pieces: a client may send many requests at once.
    let input = BufReader::with_capacity(64 * 1024, io::stdin());
    match recorder {
        None => serve(parts, input, output, closing).map_err(failed)?,
        Some(recorder) => {
            let served = serve(parts, recorder.input(input), recorder.output(output), closing);
            // Of two failures the recording's is the cause.
            recording::finish(&recorder, config)?;
            served.map_err(failed)?;
        }
    }
    Ok(Outcome::Good)
}

fn serve(
    parts: Parts,
    input: impl BufRead + Send + 'static,
    output: impl Write,
    closing: stdio::Closing,
) -> io::Result<()> {
    let server = Server::new(parts, Patience::FOR_CLIENTS, stdio::log_sink(), output).ending_orphans();
    stdio::end_on_signals(server.ender(), closing)?;
    server.serve(input)
}
