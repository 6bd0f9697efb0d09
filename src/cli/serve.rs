//! `allowexec serve`: a client on standard input and output.

use std::io::{self, BufRead, IsTerminal, Write};

use super::error::CliError;
use super::signals::Signals;
use super::{Outcome, recording, stdio};
use crate::config::{Config, Flags};
use crate::exec::own_descendants;
use crate::server::{Parts, Patience, Server};

pub(super) fn run(config: &Config, flags: &Flags) -> Result<Outcome, CliError> {
    own_descendants();
    let parts = Parts::new(config);
    parts.confinement.check().map_err(CliError::sandbox)?;
    // Only a server that starts takes the place of an earlier recording.
    let recorder = recording::start(config, flags)?;
    let failed = |source| CliError::Serve { source };
    if io::stdin().is_terminal() {
        stdio::note(
            "waiting for JSON-RPC messages on standard input, one a line; an MCP client is meant to start this. \
             To try it by hand: allowexec call execute_command '{\"command\":\"echo hello\"}' --allow echo",
        );
    }
    let (output, closing) = stdio::client_output().map_err(failed)?;
    let (input, gate) = stdio::client_input().map_err(failed)?;
    match recorder {
        None => serve(parts, input, gate, output, closing).map_err(failed)?,
        Some(recorder) => {
            let served = serve(parts, recorder.input(input), gate, recorder.output(output), closing);
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
    gate: stdio::ClientGate,
    output: impl Write,
    closing: stdio::Closing,
) -> io::Result<()> {
    // Before the server, which starts its shell.
    let signals = Signals::catch()?;
    let server = Server::new(parts, Patience::FOR_CLIENTS, stdio::log_sink(), output).ending_orphans();
    signals.end(server.ender(), closing)?;
    #[cfg(unix)]
    return server.serve_polled(input, gate);
    #[cfg(not(unix))]
    {
        let stdio::ClientGate = gate;
        server.serve(input)
    }
}
