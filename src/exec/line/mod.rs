//! Runs the commands of a line, connected by pipes of the server's own, under one watch.
//!
//! The line is a tree of lists, pipelines and groups ([`crate::lines`]). What was decided of it as a whole is decided again
//! pipeline by pipeline, at their turns; only then are files opened and processes started.
//!
//! - `interpreter`: which pipeline comes next, and what a status means.
//! - `pipelines`: one pipeline from its decision to the start of its commands.
//! - `streams`: where the streams of commands lead.
//! - `starters`: the threads that start commands, one for each sandbox.
//! - `failures`: the failures that the status of a line does not tell of.

mod failures;
mod interpreter;
mod pipelines;
mod starters;
mod streams;

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use thiserror::Error;

use self::interpreter::Interpreter;
use self::starters::Starters;
use self::streams::{Streams, Target};
use super::os::{Watch, unreaped};
use super::{End, ExecError, Heartbeat, Limits, OnStart, Output, Processes, Spool, StopSignal, StreamName, Told};
use crate::lines::{Line, Pipeline};
use crate::policy::Policy;
use crate::policy::line::{DecidedStage, LineRefusal, PlannedLine, Position};

pub(in crate::exec) use starters::Idle;

/// Decides on the pipelines of a line at their turns.
pub trait Decides {
    /// Decides on all stages of a pipeline, and records it. Opens and starts nothing.
    ///
    /// # Errors
    /// [`LineError`]; then nothing of the line starts any more.
    fn decide(&mut self, pipeline: &Pipeline, at: &Position) -> Result<Vec<DecidedStage>, LineError>;
}

/// Decides by a policy, and records nothing.
#[derive(Debug, Clone, Copy)]
pub struct Unrecorded<'a> {
    /// The line, as it was decided as a whole.
    pub planned: &'a PlannedLine,
    /// The policy that decided.
    pub policy: &'a Policy,
}

impl Decides for Unrecorded<'_> {
    fn decide(&mut self, pipeline: &Pipeline, at: &Position) -> Result<Vec<DecidedStage>, LineError> {
        let turn = self.planned.pipeline(self.policy, self.policy.directories(), pipeline, at);
        turn.outcome.map_err(LineError::Refused)
    }
}

/// Hears of the processes of a line, by the numbers of their commands; by default of nothing.
pub trait Observes {
    /// Returns the function that is notified of a start.
    fn on_start(&self, number: usize) -> Option<OnStart> {
        let _ = number;
        None
    }

    /// Hears that the process has ended.
    fn ended(&self, number: usize, end: End) {
        let _ = (number, end);
    }
}

/// Hears of nothing.
impl Observes for () {}

/// Everything that the execution of a line needs.
pub struct LineInvocation<'a> {
    /// The line to run.
    pub line: &'a Line,
    /// Where it begins.
    pub begin: Position,
    /// The number of the command that reads the input of the call.
    pub reader: Option<usize>,
    /// The input; `None` for none.
    pub input: Option<Vec<u8>>,
    /// Its bounds: one timeout, and one budget of output.
    pub limits: Limits,
    /// Where the stop signal arrives.
    pub stop: StopSignal,
    /// Where its progress is reported; `None` for nowhere.
    pub heartbeat: Option<Heartbeat>,
    /// Where its whole output is kept; `None` for nowhere.
    pub spool: Option<Arc<Spool>>,
    /// Decides.
    pub decides: &'a mut dyn Decides,
    /// Hears.
    pub observes: &'a dyn Observes,
}

/// The input of the call, for one of its commands.
enum Given {
    Bytes(Vec<u8>),
    /// The standard input of this process.
    Own(OwnedFd),
}

/// The outcome of a line.
#[derive(Debug)]
pub struct LineOutput {
    /// Its status and what it printed.
    pub output: Output,
    /// The commands that failed although the status does not say so, with their statuses.
    pub failed: Vec<(String, i32)>,
    /// The files of redirections that the system did not let the line write.
    pub unopened: Vec<PathBuf>,
    /// Why it ended before its end; `None` if it did not.
    pub error: Option<LineError>,
}

/// Why nothing of a line starts any more.
#[derive(Debug, Error)]
pub enum LineError {
    /// A command was refused at its turn.
    #[error(transparent)]
    Refused(LineRefusal),
    /// A decision could not be recorded.
    #[error("nothing more of the line was run, since the audit log can't be written ({why}); tell the operator")]
    NotRecorded {
        /// Why not.
        why: String,
    },
    /// A command could not be run as the operator wants it, or not be watched.
    #[error(transparent)]
    Failed(ExecError),
}

impl Processes {
    /// Runs a line to its end on the calling thread, which no sandbox has confined, and blocks until then.
    ///
    /// # Errors
    /// [`ExecError::Lost`], if the line could not be watched.
    pub fn run_line(&self, invocation: LineInvocation<'_>) -> Result<LineOutput, ExecError> {
        self.run_line_with(invocation, super::Streams::Captured)
    }

    /// The same, with these streams; its own standard input is read by the command that a call's input would go to.
    ///
    /// # Errors
    /// [`ExecError::Lost`], if the line could not be watched.
    pub(crate) fn run_line_with(
        &self,
        invocation: LineInvocation<'_>,
        streams: super::Streams,
    ) -> Result<LineOutput, ExecError> {
        let LineInvocation { line, begin, input, reader, limits, stop, heartbeat, spool, decides, observes } =
            invocation;
        let lost = |source| ExecError::Lost { source };
        let told = Told { started: Instant::now(), heartbeat, spool };
        let ends_at_interrupt = matches!(streams, super::Streams::Own { .. });
        let (made, input) = match streams {
            super::Streams::Captured => (Watch::new(limits, told), input.map(Given::Bytes)),
            super::Streams::Own { stdin, output } => {
                (Watch::passing_through(limits, told, output), stdin.map(Given::Own))
            }
        };
        let (watch, [stdout, stderr]) = made.map_err(lost)?;
        let input = reader.zip(input);
        let streams = Streams {
            stdin: None,
            stdout: Target::captured(stdout, StreamName::Stdout),
            stderr: Target::captured(stderr, StreamName::Stderr),
        };
        let starters = Starters::new(self);
        let mut interpreter = Interpreter::new((line, begin, streams), input, decides, observes, starters);
        interpreter.ends_at_interrupt = ends_at_interrupt;
        let output = watch.run(&mut interpreter, &stop);
        let unopened = std::mem::take(&mut interpreter.unopened);
        let (failed, error, starters) = interpreter.finish();
        starters.end(&unreaped());
        Ok(LineOutput { output: output.map_err(lost)?, failed, unopened, error })
    }
}
