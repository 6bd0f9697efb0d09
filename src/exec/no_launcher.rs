//! Stands where the launcher would, on platforms without it and in a build without it: asking for a limit or for a network of a
//! call's own is an error.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use super::End;
use super::resources::{Limit, LimitsError, ResourceLimits};
use crate::integrity::Checked;
use crate::sandbox::{Sandbox, SandboxError};

/// Never made here.
#[derive(Debug, Clone)]
pub struct Launcher(Infallible);

/// The network of one line: none of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallNetwork {}

impl Launcher {
    /// Returns `None` if nothing is limited.
    ///
    /// # Errors
    /// [`LimitsError::Platform`] or [`LimitsError::NotBuilt`] if something is.
    pub fn new(limits: ResourceLimits) -> Result<Option<Self>, LimitsError> {
        match limits.is_none() {
            true => Ok(None),
            false if cfg!(unix) => Err(LimitsError::NotBuilt),
            false => Err(LimitsError::Platform { platform: std::env::consts::OS }),
        }
    }

    /// Returns the same launcher: no sandbox has a network of its own here.
    ///
    /// # Errors
    /// None.
    pub(crate) fn for_sandbox(
        launcher: Option<Self>,
        _sandbox: &Sandbox,
        _network: Option<&CallNetwork>,
    ) -> Result<Option<Self>, SandboxError> {
        Ok(launcher)
    }

    /// Fails: there are no networks of calls.
    ///
    /// # Errors
    /// [`SandboxError::NoOwnNetwork`].
    pub(crate) fn try_own_network() -> Result<(), SandboxError> {
        let source = io::Error::from(io::ErrorKind::Unsupported);
        let with_limits = "use a build with the feature `limits`";
        let mend = if cfg!(target_os = "linux") { with_limits } else { "run the server on Linux" };
        Err(SandboxError::NoOwnNetwork { what: "a namespace", source, mend: mend.to_owned() })
    }

    /// How each of the limits is enforced, by its flag.
    pub fn describe(&self) -> Vec<(&'static str, &'static str)> {
        match self.0 {}
    }

    /// Whether the end of a tree is certain.
    pub fn ends_trees(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn begin<T>(&self, _stdin: &mut Option<T>, _program: Option<&Checked>) -> io::Result<Launch> {
        match self.0 {}
    }
}

/// Never made here.
#[derive(Debug)]
pub(crate) struct Launch(Infallible);

/// Why a command never began.
#[derive(Debug)]
#[expect(dead_code, reason = "no command begins with limits here")]
pub(crate) enum Failure {
    Exec(io::Error),
    Limits(io::Error),
    Network(io::Error),
}

impl Launch {
    pub(crate) fn arguments<'a>(
        _program: &Path,
        _argv: impl IntoIterator<Item = &'a (impl AsRef<OsStr> + ?Sized + 'a)>,
    ) -> Vec<OsString> {
        Vec::new()
    }

    pub(crate) fn end_tree(&mut self) {
        match self.0 {}
    }

    pub(crate) fn failure(&self, _end: End) -> Option<Failure> {
        match self.0 {}
    }

    pub(crate) fn hit(&mut self, _end: ExitStatus, _times: Option<[Duration; 2]>) -> Option<Limit> {
        match self.0 {}
    }
}

/// Nobody needs it here.
pub(crate) fn processor_times(_pid: u32) -> Option<[Duration; 2]> {
    None
}

/// Acts as the launcher if the arguments say so: never here.
pub fn launched(_arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    None
}
