//! `allowexec mock`: answers a client from a transcript and runs nothing.

use std::fs;
use std::io::{self, BufReader};

use super::error::CliError;
use super::{Outcome, stdio};
use crate::config::Surroundings;
use crate::transcript::{Mock, Placeholders};

pub(super) fn run(file: &str) -> Result<Outcome, CliError> {
    let broken = |why: String| CliError::Transcript { why };
    let failed = |source| CliError::Serve { source };
    let text = fs::read(file).map_err(|error| broken(format!("{file}: {error}")))?;
    let directory = Surroundings::of_this_process()?.directory;
    let placeholders = Placeholders::with_tmp(&directory).map_err(failed)?;
    let mut mock = Mock::parse(file, text, placeholders).map_err(|error| broken(error.to_string()))?;
    let served = mock.serve(BufReader::new(io::stdin()), io::stdout().lock(), stdio::note);
    match served {
        // The client has closed its end.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Outcome::Good),
        served => served.map(|()| Outcome::Good).map_err(failed),
    }
}
