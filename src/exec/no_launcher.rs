//! Resource limits on platforms that do not support them: asking for one is an error.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use super::resources::{LimitsError, ResourceLimits};
use crate::integrity::Checked;
use crate::sandbox::{Sandbox, SandboxError};

/// Never made here.
#[derive(Debug, Clone)]
pub struct Launcher(Infallible);

/// The network of one call: none of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallNetwork;

impl Launcher {
    /// Returns `None` if nothing is limited.
    ///
    /// # Errors
    /// [`LimitsError::Platform`] if something is.
    pub fn new(limits: ResourceLimits) -> Result<Option<Self>, LimitsError> {
        if limits.is_none() { Ok(None) } else { Err(LimitsError::Platform { platform: std::env::consts::OS }) }
    }

    /// Returns the same launcher, since nothing is confined here.
    ///
    /// # Errors
    /// None.
    pub(crate) fn for_sandbox(
        launcher: Option<Self>,
        _sandbox: &Sandbox,
        _network: &CallNetwork,
    ) -> Result<Option<Self>, SandboxError> {
        Ok(launcher)
    }

    /// Fails: there are no networks of calls.
    ///
    /// # Errors
    /// [`SandboxError::NoOwnNetwork`].
    pub(crate) fn try_own_network() -> Result<(), SandboxError> {
        let source = io::Error::from(io::ErrorKind::Unsupported);
        Err(SandboxError::NoOwnNetwork { what: "a namespace", source, mend: "run the server on Linux".to_owned() })
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

    pub(crate) fn begin(&self, _stdin: &mut Option<Infallible>, _program: Option<&Checked>) -> io::Result<Launch> {
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
}

/// Acts as the launcher if the arguments say so: never here.
pub fn launched(_arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    None
}
