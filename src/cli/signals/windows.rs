//! No signals: the system ends the process, and the job object ends the commands.

use std::io;
use std::process::{Child, ExitStatus};

use crate::cli::stdio::Closing;
use crate::server::Ender;

/// None come.
pub(in crate::cli) struct Signals {}

impl Signals {
    pub(in crate::cli) fn catch() -> io::Result<Self> {
        Ok(Self {})
    }

    pub(in crate::cli) fn end(self, _server: Ender, _closing: Closing) -> io::Result<()> {
        self.at_first(|| {})
    }

    pub(in crate::cli) fn pass_on(self, _process: u32) -> io::Result<Relay> {
        self.at_first(|| {}).map(|()| Relay::default())
    }

    pub(in crate::cli) fn at_first(self, _act: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let Self {} = self;
        Ok(())
    }
}

/// The process that signals would be passed on to.
#[derive(Clone, Default)]
pub(in crate::cli) struct Relay {}

impl Relay {
    /// Waits until the process has ended.
    pub(in crate::cli) fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        child.wait()
    }

    /// Never.
    pub(in crate::cli) fn is_asked(&self) -> bool {
        false
    }
}
