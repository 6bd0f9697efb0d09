//! Stands where lines of several commands would, in a build without them: every text is one command, or nothing.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;

use super::{CommandLine, CommandLineError, Directories, Lines, Policy, Refusal, Verdict};

/// A line of several commands; there is none.
#[derive(Debug)]
pub struct Line(pub(crate) Infallible);

/// A text that was read.
#[derive(Debug)]
pub enum ReadLine {
    /// One command of plain words, which goes the way of every call.
    Command(CommandLine),
    /// Anything else.
    Line(Line),
}

impl Policy {
    /// The setting `--lines`.
    pub fn lines(&self) -> Lines {
        Lines::Off
    }

    /// Reads a text as a command.
    ///
    /// # Errors
    /// [`CommandLineError`].
    pub fn read_line(&self, text: &str) -> Result<ReadLine, CommandLineError> {
        CommandLine::parse(text).map(ReadLine::Command)
    }

    /// Decides on a line, of which there is none.
    pub fn plan(&self, _: &Directories, asked: RequestedLine<'_>) -> LineDecision {
        match asked.line.0 {}
    }
}

/// A line that a call asks for.
#[derive(Debug)]
pub struct RequestedLine<'a> {
    /// The line.
    pub line: Line,
    /// The text that it was read from.
    pub text: &'a str,
    /// Where it begins, as the client gave it.
    pub cwd: Option<&'a str>,
    /// Whether the call has an `input`.
    pub has_input: bool,
    /// Whether it may run only what changes nothing.
    pub only_reads: bool,
    /// The proposal that a person has approved.
    pub approved: Option<&'a LineProposal>,
    /// The proposals that a person has approved for the rest of the session.
    pub before: &'a [&'a LineProposal],
}

/// The decision on a line.
#[derive(Debug)]
pub struct LineDecision(pub(crate) Infallible);

impl LineDecision {
    pub(crate) fn into_verdict(self) -> Verdict {
        match self.0 {}
    }

    pub(crate) fn lacking(&self) -> Vec<Vec<String>> {
        match self.0 {}
    }

    pub(crate) fn standing(&self) -> Vec<(Vec<String>, String)> {
        match self.0 {}
    }

    pub(crate) fn variables(&self) -> BTreeSet<&str> {
        match self.0 {}
    }
}

/// Why a line does not run.
#[derive(Debug)]
pub enum LineRefusal {}

impl LineRefusal {
    /// Whether the line would run if a person approved it.
    pub fn needs_approval(&self) -> bool {
        match *self {}
    }
}

impl fmt::Display for LineRefusal {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl std::error::Error for LineRefusal {}

/// A line that a person has to approve.
#[derive(Debug, Clone)]
pub enum LineProposal {}

impl LineProposal {
    /// The words of its commands, without secrets.
    pub fn shown(&self) -> Vec<String> {
        match *self {}
    }

    /// The directory of its first command.
    pub fn directory(&self) -> PathBuf {
        match *self {}
    }

    #[expect(clippy::boxed_local, reason = "a build with lines keeps it in its box")]
    pub(crate) fn needs_approval(self: Box<Self>) -> Refusal {
        match *self {}
    }

    /// The operator's reasons, each once.
    pub fn reasons(&self) -> Vec<&str> {
        match *self {}
    }

    /// The rules that ask, each once, as messages name them.
    pub fn rules(&self) -> Vec<String> {
        match *self {}
    }

    /// Whether another decision came to the same.
    pub fn is_same(&self, _: &Self) -> bool {
        match *self {}
    }
}

impl fmt::Display for LineProposal {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}
