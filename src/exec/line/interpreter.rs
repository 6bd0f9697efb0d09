//! The order of the pipelines of a line, and the meaning of their statuses.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

use super::failures::{Failures, Status};
use super::pipelines::{Child, Running};
use super::starters::Starters;
use super::streams::Streams;
use super::{Decides, Given, LineError, Observes};
use crate::exec::os::{Role, Script, Watch};
use crate::exec::{End, ExecError, Failure};
use crate::lines::{AndOr, Connector, Line, Pipeline};
use crate::policy::line::Position;

/// The status of a line in which something was refused at its turn, as that of a shell that can't execute a command.
const REFUSED: i32 = 126;
/// The shell that says the messages of a line, as people and models know them.
const SHELL: &str = "bash";
/// The signal of the terminal's interrupt key.
const SIGINT: i32 = 2;

/// A line or the line of a group, while it runs.
pub(super) struct Sequence<'l> {
    steps: Vec<PipelineStep<'l>>,
    /// The number of the step that comes next.
    next: usize,
    /// The status of the pipeline that ended last, which `exit` without a number returns.
    pub status: Status,
    /// Where its commands run, and whether they are given something to read.
    pub position: Position,
    /// The streams of its commands; `None` once its last pipeline was begun, so that nobody waits for the end of a pipe that
    /// only this line would still write to.
    streams: Option<Streams>,
    /// Whether its failures are told.
    pub is_told: bool,
    /// Whether another command reads what its commands print.
    pub is_read: bool,
    /// The shell that says its messages.
    pub shell: &'l str,
    /// The status of what its shell can't redirect, and of a directory that it can't change to.
    pub cannot: i32,
    /// The stage that it is, if it is that of a group.
    of: Option<Place>,
    /// Whether it stands in parentheses.
    is_in_parentheses: bool,
}

/// A pipeline in its place.
#[derive(Clone, Copy)]
struct PipelineStep<'l> {
    /// On which status it runs; `None` for the first of a list.
    on: Option<Connector>,
    pipeline: &'l Pipeline,
    /// Whether `||` follows in the list: then the line itself deals with its failure.
    is_dealt_with: bool,
}

/// A stage of a pipeline that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub pipeline: usize,
    pub stage: usize,
}

/// The next step.
pub(super) enum Next {
    /// The next pipeline of this line.
    Pipeline(usize),
    /// The end of this stage.
    Ended(Place, Status),
}

/// A line that runs: the script of its [`Watch`].
pub(super) struct Interpreter<'l> {
    pub decides: &'l mut dyn Decides,
    pub observes: &'l dyn Observes,
    pub starters: Starters<'l>,
    /// Whether SIGINT, which the terminal sends to the command that reads it, ends the whole line.
    pub ends_at_interrupt: bool,
    /// The number of the command that reads the input of the call, and the input.
    pub input: Option<(usize, Given)>,
    /// All that were begun, by their numbers; those that have ended are `None`.
    sequences: Vec<Option<Sequence<'l>>>,
    pub pipelines: Vec<Option<Running<'l>>>,
    /// The processes, by their numbers of the watch.
    pub children: HashMap<usize, Child>,
    pub failures: Failures,
    /// The files that redirections may name, but could not open to write.
    pub unopened: Vec<PathBuf>,
    next: VecDeque<Next>,
    /// Why the line ended before its end.
    error: Option<LineError>,
    status: Status,
}

impl<'l> Interpreter<'l> {
    pub(super) fn new(
        (line, begin, streams): (&'l Line, Position, Streams),
        input: Option<(usize, Given)>,
        decides: &'l mut dyn Decides,
        observes: &'l dyn Observes,
        starters: Starters<'l>,
    ) -> Self {
        let whole = Sequence::new((line, SHELL), (begin, streams), Status::default(), true, None);
        Self {
            decides,
            observes,
            starters,
            ends_at_interrupt: false,
            input,
            sequences: vec![Some(whole)],
            pipelines: Vec::new(),
            children: HashMap::new(),
            failures: Failures::default(),
            unopened: Vec::new(),
            next: VecDeque::from([Next::Pipeline(0)]),
            error: None,
            status: Status::default(),
        }
    }

    /// Returns the failures that the status of the line does not show, and why it ended before its end; and the
    /// starters of its commands.
    pub(super) fn finish(self) -> (Vec<(String, i32)>, Option<LineError>, Starters<'l>) {
        (self.failures.without(self.status), self.error, self.starters)
    }

    /// Does all that can be done before another process ends; returns the end of the line, if this is it.
    fn go_on(&mut self, watch: &mut Watch) -> Option<End> {
        while let Some(next) = self.next.pop_front() {
            let gone_on = match next {
                Next::Pipeline(sequence) => self.begin_next(sequence, watch),
                Next::Ended(place, status) => {
                    self.stage_ended(place, status);
                    Ok(None)
                }
            };
            match gone_on {
                Ok(None) => {}
                Ok(Some(status)) => {
                    self.status = status;
                    self.let_go();
                    return Some(End::Exited(status.code));
                }
                Err(error) => {
                    self.error = Some(error);
                    self.let_go();
                    return Some(End::Exited(REFUSED));
                }
            }
        }
        None
    }

    /// Begins the next pipeline of a line that is to run; returns the status of the whole line, if this was its end.
    fn begin_next(&mut self, number: usize, watch: &mut Watch) -> Result<Option<Status>, LineError> {
        let Some(sequence) = self.sequences.get_mut(number).and_then(Option::as_mut) else { return Ok(None) };
        let Some((step, streams)) = sequence.step() else {
            let ended = self.sequences.get_mut(number).and_then(Option::take);
            let Some(Sequence { status, of, .. }) = ended else { return Ok(None) };
            return Ok(match of {
                None => Some(status),
                Some(place) => {
                    self.next.push_back(Next::Ended(place, status));
                    None
                }
            });
        };
        let is_told = sequence.is_told && !step.is_dealt_with && !step.pipeline.negated;
        let next = self.begin_pipeline((number, is_told), step.pipeline, streams, watch)?;
        self.next.extend(next);
        Ok(None)
    }

    /// Takes the status of a stage, and that of its pipeline once all of its stages have ended.
    fn stage_ended(&mut self, place: Place, status: Status) {
        let Some(running) = self.pipelines.get_mut(place.pipeline).and_then(Option::as_mut) else { return };
        if !running.ended(place.stage, status) {
            return;
        }
        let Some(running) = self.pipelines.get_mut(place.pipeline).and_then(Option::take) else { return };
        let number = running.sequence;
        if let Some(sequence) = self.sequences.get_mut(number).and_then(Option::as_mut) {
            sequence.status = running.status();
            self.next.push_back(Next::Pipeline(number));
        }
    }

    /// The line that runs under this number.
    pub(super) fn sequence(&mut self, number: usize) -> Option<&mut Sequence<'l>> {
        self.sequences.get_mut(number).and_then(Option::as_mut)
    }

    /// Adds the line of a group, whose messages this shell says; the group is the stage at this place.
    pub(super) fn add_group(
        &mut self,
        (line, is_in_parentheses): ((&'l Line, &'l str), bool),
        position: Position,
        streams: Streams,
        (status, is_told, is_read, of): (Status, bool, bool, Place),
        cannot: i32,
    ) -> Next {
        let group = Sequence::new(line, (position, streams), status, is_told, Some(of));
        self.sequences.push(Some(Sequence { is_in_parentheses, is_read, cannot, ..group }));
        Next::Pipeline(self.sequences.len() - 1)
    }

    /// Lets go of all streams, so that they end with the processes.
    fn let_go(&mut self) {
        self.sequences.clear();
        self.pipelines.clear();
        self.next.clear();
    }
}

impl Script for Interpreter<'_> {
    fn begin(&mut self, watch: &mut Watch) -> Option<End> {
        self.go_on(watch)
    }

    fn ended(&mut self, number: usize, end: End, failure: Option<Failure>, watch: &mut Watch) -> Option<End> {
        let child = self.children.remove(&number)?;
        self.observes.ended(child.number, end);
        if self.ends_at_interrupt && end == End::Signaled(SIGINT) {
            self.let_go();
            return Some(end);
        }
        match child.status(end, failure, watch) {
            Ok(code) => {
                let place = child.place;
                let status = self.failures.status(code, child.name_to_tell(code));
                self.next.push_back(Next::Ended(place, status));
            }
            Err(error) => {
                self.error = Some(error);
                self.let_go();
                return Some(End::Exited(REFUSED));
            }
        }
        self.go_on(watch)
    }

    fn role(&self, number: usize) -> Role {
        self.children.get(&number).map_or(Role::Begins, Child::role)
    }

    fn stopped(&mut self) {
        self.let_go();
    }
}

impl<'l> Sequence<'l> {
    fn new(
        (line, shell): (&'l Line, &'l str),
        (position, streams): (Position, Streams),
        status: Status,
        is_told: bool,
        of: Option<Place>,
    ) -> Self {
        let steps = line.lists.iter().flat_map(steps_of).collect();
        let streams = Some(streams);
        Self {
            steps,
            next: 0,
            status,
            position,
            streams,
            is_told,
            is_read: false,
            shell,
            cannot: 1,
            of,
            is_in_parentheses: false,
        }
    }

    /// Takes the next pipeline that is to run, and the streams for it.
    fn step(&mut self) -> Option<(PipelineStep<'l>, Streams)> {
        loop {
            let step = *self.steps.get(self.next)?;
            self.next += 1;
            let runs = match step.on {
                None => true,
                Some(Connector::And) => self.status.code == 0,
                Some(Connector::Or) => self.status.code != 0,
            };
            let is_last = self.next == self.steps.len();
            if runs {
                let streams = if is_last { self.streams.take() } else { self.streams.clone() };
                return Some((step, streams?));
            }
        }
    }

    /// Whether one pipeline in parentheses is all of it.
    pub(super) fn is_one_in_parentheses(&self) -> bool {
        self.is_in_parentheses && self.steps.len() == 1
    }

    /// Ends it after the pipeline that runs.
    pub(super) fn exit(&mut self) {
        self.next = self.steps.len();
    }
}

/// The pipelines of a list.
fn steps_of(list: &AndOr) -> impl Iterator<Item = PipelineStep<'_>> {
    let last_or = list.rest.iter().rposition(|(connector, _)| *connector == Connector::Or);
    let first = PipelineStep { on: None, pipeline: &list.first, is_dealt_with: last_or.is_some() };
    let rest = list.rest.iter().enumerate().map(move |(place, (connector, pipeline))| PipelineStep {
        on: Some(*connector),
        pipeline,
        is_dealt_with: last_or.is_some_and(|last| place < last),
    });
    std::iter::once(first).chain(rest)
}

/// An error of the system in place of a command.
pub(super) fn lost(source: std::io::Error) -> LineError {
    LineError::Failed(ExecError::Lost { source })
}
