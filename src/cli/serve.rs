//! `allowexec serve`: a client on standard input and output.

use std::io::{self, BufReader, IsTerminal};

use super::error::CliError;
use super::{Outcome, stdio};
use crate::config::Config;
use crate::exec::become_subreaper;
use crate::server::{Parts, Patience, Server};

pub(super) fn run(config: &Config) -> Result<Outcome, CliError> {
    become_subreaper();
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
    let server = Server::new(parts, Patience::FOR_CLIENTS, stdio::log_sink(), output);
    stdio::end_on_signals(server.events(), closing).map_err(failed)?;
    // Read in large pieces: a client may send many requests at once.
    server.serve(BufReader::with_capacity(64 * 1024, io::stdin())).map_err(failed)?;
    Ok(Outcome::Good)
}
