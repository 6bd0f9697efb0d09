//! The client's streams on Windows: a thread of its own reads the input, and a write may block.

use std::io::{self, BufRead, BufReader};

use super::READ_AT_ONCE;
use crate::server::Server;

/// There is no gate here: a thread of its own reads.
pub(in crate::cli) struct ClientGate;

/// Standard input for the client's messages.
pub(in crate::cli) fn client_input() -> io::Result<(BufReader<io::Stdin>, ClientGate)> {
    Ok((BufReader::with_capacity(READ_AT_ONCE, io::stdin()), ClientGate))
}

/// Serves the client.
///
/// # Errors
/// If writing fails for any reason except that the client closed the stream.
pub(in crate::cli) fn serve(
    server: Server<'_>,
    input: impl BufRead + Send + 'static,
    ClientGate: ClientGate,
) -> io::Result<()> {
    server.serve(input)
}

/// Taken for granted.
pub(super) fn can_write_error() -> bool {
    true
}

/// Nothing to close.
#[derive(Debug, Default)]
pub(in crate::cli) struct Closing {}

/// Standard output for the client's messages.
pub(in crate::cli) fn client_output() -> io::Result<(io::Stdout, Closing)> {
    Ok((io::stdout(), Closing::default()))
}
