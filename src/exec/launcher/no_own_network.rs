//! Networks of calls on platforms that have no network namespaces.

use std::convert::Infallible;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::ExitCode;

use crate::sandbox::{Level, SandboxError};

/// No first argument at all.
pub(super) const WORD: &str = "";

/// Never made here.
#[derive(Debug)]
pub(super) struct OwnNetwork(Infallible);

impl OwnNetwork {
    pub(super) fn make() -> Result<Self, SandboxError> {
        let source = io::Error::from(io::ErrorKind::Unsupported);
        Err(SandboxError::NoOwnNetwork { what: "a namespace", source, mend: "run the server on Linux".to_owned() })
    }

    pub(super) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        match self.0 {}
    }
}

pub(super) fn level_number(_level: Level) -> u64 {
    0
}

pub(super) fn help() -> ExitCode {
    ExitCode::from(2)
}

pub(super) fn enter(_descriptors: impl Iterator<Item = OwnedFd>, _level_number: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
