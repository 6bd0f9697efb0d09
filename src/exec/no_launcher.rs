//! Resource limits on platforms that do not support them: asking for one is an error.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::Path;
#[cfg(unix)]
use std::process::ExitStatus;
use std::process::{ExitCode, Stdio};
#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use super::End;
#[cfg(unix)]
use super::resources::Limit;
use super::resources::{LimitsError, ResourceLimits};
use crate::integrity::Checked;

/// Never made here.
#[derive(Debug, Clone)]
pub struct Launcher(Infallible);

impl Launcher {
    /// Returns `None` if nothing is limited.
    ///
    /// # Errors
    /// [`LimitsError::Platform`] if something is.
    pub fn new(limits: ResourceLimits) -> Result<Option<Self>, LimitsError> {
        if limits.is_none() { Ok(None) } else { Err(LimitsError::Platform { platform: std::env::consts::OS }) }
    }

    /// How each of the limits is enforced, by its flag.
    pub fn describe(&self) -> Vec<(&'static str, &'static str)> {
        match self.0 {}
    }
}

impl Launcher {
    /// Whether the end of a tree is certain.
    pub fn ends_trees(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn begin(&self, _input: bool, _program: Option<&Checked>) -> io::Result<Launch> {
        match self.0 {}
    }

    #[cfg(unix)]
    pub(crate) fn begin_with(&self, _stdin: OwnedFd) -> io::Result<Launch> {
        match self.0 {}
    }
}

/// Nothing is executed here to set limits.
pub(crate) const OWN_BINARY: &str = "";

/// Never made here.
#[derive(Debug)]
pub(crate) struct Launch(Infallible);

/// Why a command never began.
#[derive(Debug)]
#[expect(dead_code, reason = "no command begins with limits here")]
pub(crate) enum Failure {
    Exec(io::Error),
    Limits(io::Error),
}

impl Launch {
    pub(crate) fn arguments<'a>(
        _program: &Path,
        _argv: impl IntoIterator<Item = &'a (impl AsRef<OsStr> + ?Sized + 'a)>,
    ) -> Vec<OsString> {
        Vec::new()
    }

    pub(crate) fn for_launcher(&mut self) -> Stdio {
        match self.0 {}
    }

    pub(crate) fn attach_input<C>(&mut self, _child: &mut C) {
        match self.0 {}
    }

    #[cfg(unix)]
    pub(crate) fn end_tree(&mut self) {
        match self.0 {}
    }

    #[cfg(unix)]
    pub(crate) fn failure(&self, _end: End) -> Option<Failure> {
        match self.0 {}
    }

    #[cfg(unix)]
    pub(crate) fn hit(&mut self, _end: ExitStatus, _times: Option<[Duration; 2]>) -> Option<Limit> {
        match self.0 {}
    }
}

/// Never used here.
#[cfg(unix)]
pub(crate) fn processor_times(_pid: u32) -> Option<[Duration; 2]> {
    None
}

/// Acts as the launcher if the arguments say so: never here.
pub fn launched(_arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    None
}
