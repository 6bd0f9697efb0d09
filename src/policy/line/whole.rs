//! The decision on a whole line before anything of it runs.
//!
//! The line is walked in the order of its text, as it would run. As long as no program has run, the statuses of builtins are
//! known and files are as they will be: then a refusal is final. After that, what depends on files is decided when its turn
//! comes. Every command is decided, also one that is never reached.

use std::sync::Arc;
use std::time::Duration;

use super::command::{Commanded, Here, Stage, Verdict};
use super::inheritance::{Inheritance, Streams};
use super::places::{Changed, change};
use super::proposal::ShownRedirection;
use super::redirection;
use super::{
    LineDecision, LineProposal, LineRefusal, PartDecision, PartKind, PartOutcome, PlannedLine, Position, RequestedLine,
    ShownPart, reading,
};
use crate::lines::{self, Builtin, Command, Connector, Group, Line, Pipeline, Redirection, Room, Simple};
use crate::policy::rules::Ruled;
use crate::policy::{Approved, Directories, Policy, WorkingDirectory};

impl Policy {
    /// Decides on a line before anything of it runs.
    pub fn plan(&self, directories: &Directories, asked: RequestedLine<'_>) -> LineDecision {
        let RequestedLine { line, text, cwd, has_input, only_reads, approved, before } = asked;
        let reader = if has_input { reading::reader(&line) } else { None };
        let directory = match directories.resolve(cwd) {
            Ok(directory) => directory,
            Err(error) => {
                return LineDecision { parts: Vec::new(), is_read_only: false, reader, outcome: Err(error.into()) };
            }
        };
        let room = Room::default();
        let mut walk = Walk {
            policy: self,
            room: &room,
            directories,
            reader,
            parts: Vec::new(),
            shown: Vec::new(),
            inheritance: Inheritance::default(),
            refused: None,
            allowed: Vec::new(),
            timeout: None,
            is_read_only: true,
        };
        let mut position = Position { directory: directory.clone(), inherits_input: false };
        let begin = State { status: Some(0), has_run: false, is_reached: true, is_over: false };
        walk.line(&line, &mut position, &Streams::default(), begin);
        let Walk { mut parts, mut shown, inheritance, refused, allowed, timeout, is_read_only, .. } = walk;
        // The redirections of a group were decided after its commands, for which they count.
        parts.sort_by_key(|part| part.place);
        shown.sort_by_key(|part| part.place);
        let line = Arc::new(line);
        let decided = parts.clone();
        let planned = |approved| PlannedLine {
            line,
            directory,
            reader,
            timeout,
            only_reads,
            approved,
            decided,
            inheritance,
            room: Room::default(),
        };
        let outcome = match refused {
            Some(Refused { number, word, sentence, .. }) => {
                Err(LineRefusal::Part { number, word, sentence, allowed: Some(allowed) })
            }
            None if !shown.iter().any(ShownPart::asks) => Ok(planned(Vec::new())),
            None => {
                let proposal = LineProposal { parts: shown, text: text.to_owned() };
                let difference = approved.map(|approved| proposal.difference(approved));
                match difference {
                    _ if before.iter().any(|before| proposal.is_same(before)) => Ok(planned(proposal.parts)),
                    Some(None) => Ok(planned(proposal.parts)),
                    Some(Some(what)) => Err(LineRefusal::ChangedSinceApproval { what }),
                    None => Err(LineRefusal::NeedsApproval(Box::new(proposal))),
                }
            }
        };
        LineDecision { parts, is_read_only, reader, outcome }
    }
}

/// The knowledge at a place of the line.
#[derive(Clone, Copy)]
struct State {
    /// The status of the pipeline before, if it is known.
    status: Option<i32>,
    /// Whether something may have run that changes files.
    has_run: bool,
    /// Whether the place may be reached.
    is_reached: bool,
    /// Whether `exit` has certainly ended the line.
    is_over: bool,
}

/// Whether a pipeline runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    Yes,
    Perhaps,
    No,
}

struct Walk<'a> {
    policy: &'a Policy,
    room: &'a Room,
    directories: &'a Directories,
    /// The number of the command that reads the input of the call.
    reader: Option<usize>,
    parts: Vec<PartDecision>,
    shown: Vec<ShownPart>,
    inheritance: Inheritance,
    /// The first part that is refused.
    refused: Option<Refused>,
    /// The first words of the commands that are not refused.
    allowed: Vec<String>,
    timeout: Option<Duration>,
    is_read_only: bool,
}

/// A part that is refused.
struct Refused {
    place: usize,
    number: usize,
    word: String,
    sentence: String,
}

impl<'a> Walk<'a> {
    fn here<'h>(&self, position: &'h Position, is_certain: bool) -> Here<'h>
    where
        'a: 'h,
    {
        let Self { policy, directories, room, .. } = *self;
        Here { policy, directories, position, is_certain, room }
    }

    fn line(&mut self, line: &Line, position: &mut Position, streams: &Streams, mut state: State) -> State {
        for list in &line.lists {
            let first = (None, &list.first);
            let rest = list.rest.iter().map(|(connector, pipeline)| (Some(*connector), pipeline));
            for (connector, pipeline) in std::iter::once(first).chain(rest) {
                let runs = match (connector, state.status) {
                    _ if state.is_over || !state.is_reached => Runs::No,
                    (None, _) | (Some(Connector::And), Some(0)) => Runs::Yes,
                    (Some(Connector::Or), Some(0)) | (Some(Connector::And), Some(_)) => Runs::No,
                    (Some(Connector::Or), Some(_)) => Runs::Yes,
                    (Some(_), None) => Runs::Perhaps,
                };
                state = self.pipeline(pipeline, (position, streams), state, runs);
            }
        }
        state
    }

    fn pipeline(
        &mut self,
        pipeline: &Pipeline,
        (position, streams): (&mut Position, &Streams),
        state: State,
        runs: Runs,
    ) -> State {
        let is_certain = runs == Runs::Yes && !state.has_run;
        let is_alone = pipeline.stages.len() == 1;
        let mut after = State { status: None, ..state };
        let before = position.clone();
        for (place, stage) in pipeline.stages.iter().enumerate() {
            let inherits_input = place > 0 || before.inherits_input;
            let streams = streams.of_stage(place == 0, place + 1 == pipeline.stages.len());
            let streams = streams.redirected(stage.place, stage.redirections(), stage.pipes_stderr);
            let whose = (stage, &before, &streams);
            match &stage.command {
                Command::Simple(simple) => {
                    let ended = self.simple(simple, whose, (!is_alone, inherits_input, is_certain));
                    after.has_run |= ended.has_run;
                    if is_alone {
                        if let Some(directory) = ended.directory.filter(|_| runs != Runs::No) {
                            position.directory = directory;
                        }
                        after.status = ended.status.code(state);
                        after.is_over |= runs == Runs::Yes && matches!(ended.status, Status::Exit(_));
                    }
                }
                Command::Group(group) => {
                    let inner = State {
                        is_reached: runs != Runs::No,
                        is_over: false,
                        has_run: state.has_run || !is_alone,
                        ..state
                    };
                    let inner = self.group(group, whose, (inherits_input, is_certain), inner);
                    after.has_run |= inner.has_run;
                    if is_alone && group.redirections.is_empty() {
                        after.status = inner.status;
                    }
                }
            }
        }
        if runs == Runs::No {
            return state;
        }
        if pipeline.negated {
            after.status = after.status.map(|status| i32::from(status == 0));
        }
        if runs == Runs::Perhaps {
            after.status = None;
        }
        after
    }

    fn group(
        &mut self,
        group: &Group,
        (lines::Stage { place, .. }, position, streams): (&lines::Stage, &Position, &Streams),
        (inherits_input, is_certain): (bool, bool),
        state: State,
    ) -> State {
        let place = *place;
        let here = self.here(position, is_certain);
        let stage = Stage { is_one_of_several: false, inherits_input, reads_call: false };
        let has_input = here.is_given_input(&group.redirections, stage);
        self.inheritance.add_group(place, &group.redirections, streams);
        let mut inner = Position { inherits_input: has_input, ..position.clone() };
        let has_run = state.has_run || !is_certain;
        let after = self.line(&group.line, &mut inner, streams, State { has_run, ..state });
        if !group.redirections.is_empty() {
            let inheritance = std::mem::take(&mut self.inheritance);
            let rules = |number| inheritance.rules_of(place, number);
            let redirections = self.redirections(here, (place, 0, ""), &group.redirections, rules);
            self.inheritance = inheritance;
            let reads = here.reads(&group.redirections, stage);
            self.shown.push(ShownPart::of_group(place, here, redirections, reads));
        }
        after
    }

    /// Decides on a command; returns what is known after it.
    fn simple(
        &mut self,
        simple: &Simple,
        (lines::Stage { place, .. }, position, streams): (&lines::Stage, &Position, &Streams),
        (is_one_of_several, inherits_input, is_certain): (bool, bool, bool),
    ) -> After {
        let (place, number) = (*place, simple.number);
        let here = self.here(position, is_certain);
        let stage = Stage { is_one_of_several, inherits_input, reads_call: self.reader == Some(number) };
        let commanded = here.command(simple, stage, Approved::default());
        let ruled = commanded.ruled();
        self.inheritance.add_command(place, streams, ruled.as_ref());
        let word = commanded.explanation.words.first().cloned().unwrap_or_default();
        let of = ruled.as_slice();
        let mut after = self.decided((place, number), here, &commanded, ruled.as_ref());
        let redirections = self.redirections(here, (place, number, &word), &simple.redirections, |_| of);
        let opened = simple.redirections.iter().filter(|redirection| here.opens_file(redirection));
        for redirection in opened {
            // It may fail, and writing may make a file.
            after.status = Status::Unknown;
            after.has_run |= here.writes_file(redirection);
        }
        self.shown.push(ShownPart::of_command((place, number), here, &commanded, redirections));
        after
    }

    /// Notes the decision on a command; returns what is known after it.
    fn decided(
        &mut self,
        (place, number): (usize, usize),
        here: Here<'_>,
        commanded: &Commanded,
        ruled: Option<&Ruled>,
    ) -> After {
        let Commanded { kind, words, explanation, verdict, .. } = commanded;
        let (kind, rule) = (*kind, ruled.map(|ruled| &ruled.rule));
        let word = explanation.words.first().cloned().unwrap_or_default();
        if let Some(of_rule) = rule.and_then(|rule| rule.timeout) {
            self.timeout = Some(self.timeout.map_or(of_rule, |least| least.min(of_rule)));
        }
        self.is_read_only &= commanded.changes_nothing();
        let mut after = After { status: Status::Unknown, directory: None, has_run: kind == PartKind::Command };
        let outcome = match verdict {
            Verdict::Nothing => {
                after.status = Status::Known(0);
                PartOutcome::Allowed
            }
            Verdict::Builtin(builtin) => self.builtin(builtin, here, &mut after),
            Verdict::Program(_) | Verdict::NotFound { .. } => PartOutcome::Allowed,
            Verdict::AtItsTurn => {
                after.has_run = true;
                PartOutcome::AtItsTurn
            }
            Verdict::Ask(_) => PartOutcome::Ask,
            Verdict::Refused(sentence) => PartOutcome::Refused(sentence.clone()),
        };
        match &outcome {
            PartOutcome::Refused(sentence) => self.refuse((place, number, &word), sentence),
            PartOutcome::Allowed | PartOutcome::AtItsTurn
                if kind == PartKind::Command && !self.allowed.contains(&word) =>
            {
                self.allowed.push(word.clone());
            }
            PartOutcome::Allowed | PartOutcome::AtItsTurn | PartOutcome::Ask => {}
        }
        if !words.is_empty() {
            self.parts.push(commanded.part((place, number), outcome));
        }
        after
    }

    /// Notes what a builtin leaves behind.
    fn builtin(&self, builtin: &Builtin, here: Here<'_>, after: &mut After) -> PartOutcome {
        let path = match builtin {
            Builtin::True => return after.ends_with(Status::Known(0)),
            Builtin::False => return after.ends_with(Status::Known(1)),
            Builtin::Exit(code) => return after.ends_with(Status::Exit(*code)),
            Builtin::Cd(path) => path,
        };
        match (change(self.directories, &here.position.directory, path), here.is_certain) {
            (Changed::To(to), is_certain) => {
                after.directory = Some(to);
                if is_certain { after.ends_with(Status::Known(0)) } else { PartOutcome::AtItsTurn }
            }
            (Changed::Failed(_), true) => after.ends_with(Status::Known(1)),
            (Changed::Refused(sentence), true) => PartOutcome::Refused(sentence),
            (Changed::Failed(_) | Changed::Refused(_), false) => PartOutcome::AtItsTurn,
        }
    }

    /// Decides on the redirections of a command or a group, each of which counts for the commands that `of` returns; returns how they
    /// are shown.
    fn redirections<'r>(
        &mut self,
        here: Here<'_>,
        (place, number, word): (usize, usize, &str),
        redirections: &[Redirection],
        of: impl Fn(usize) -> &'r [Ruled],
    ) -> Vec<ShownRedirection> {
        let mut shown = Vec::with_capacity(redirections.len());
        for (nth, redirection) in redirections.iter().enumerate() {
            self.is_read_only &= !here.writes_file(redirection);
            let (verdict, as_shown) = here.redirection(redirection, of(nth));
            let outcome = match verdict {
                redirection::Verdict::Done(_) => PartOutcome::Allowed,
                redirection::Verdict::AtItsTurn => PartOutcome::AtItsTurn,
                redirection::Verdict::Ask(_) => PartOutcome::Ask,
                redirection::Verdict::Refused(sentence) => {
                    self.refuse((place, number, word), &sentence);
                    PartOutcome::Refused(sentence)
                }
            };
            let mut part = here.part((place, number), redirection, outcome);
            if matches!(part.outcome, PartOutcome::Refused(_) | PartOutcome::AtItsTurn) {
                part.explanation.refusal_kind = here.refusal_kind(redirection, of(nth));
            }
            self.parts.push(part);
            shown.push(as_shown);
        }
        shown
    }

    fn refuse(&mut self, (place, number, word): (usize, usize, &str), sentence: &str) {
        if self.refused.as_ref().is_none_or(|first| place < first.place) {
            self.refused = Some(Refused { place, number, word: word.to_owned(), sentence: sentence.to_owned() });
        }
    }
}

/// The knowledge after a command.
struct After {
    status: Status,
    /// The directory that it changes to.
    directory: Option<WorkingDirectory>,
    /// Whether it may have changed files.
    has_run: bool,
}

impl After {
    fn ends_with(&mut self, status: Status) -> PartOutcome {
        self.status = status;
        PartOutcome::Allowed
    }
}

/// The status of a command, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Known(i32),
    /// `exit`, with its status if it names one.
    Exit(Option<u8>),
    Unknown,
}

impl Status {
    fn code(self, before: State) -> Option<i32> {
        match self {
            Self::Known(code) => Some(code),
            Self::Exit(code) => code.map(i32::from).or(before.status),
            Self::Unknown => None,
        }
    }
}
