//! The decision on a whole line before anything of it runs.
//!
//! The line is walked in the order of its text, as it would run. As long as no program has run, the statuses of builtins are
//! known and files are as they will be: then a refusal is final. After that, what depends on files is decided when its turn
//! comes. Every command is decided, also one that is never reached.

use std::sync::Arc;
use std::time::Duration;

use super::command::{Commanded, Here, Stage, Verdict};
use super::places::{Changed, change};
use super::proposal::AskedFile;
use super::redirection::{self, Of};
use super::{
    LineDecision, LineProposal, LineRefusal, PartDecision, PartKind, PartOutcome, PlannedLine, Position, RequestedLine,
    ShownPart, reading,
};
use crate::lines::{Assignment, Builtin, Command, Connector, Group, Line, Pipeline, Redirection, Simple};
use crate::policy::{Approved, Directories, Policy, Rule, WorkingDirectory};

impl Policy {
    /// Decides on a line before anything of it runs.
    pub fn plan(&self, directories: &Directories, asked: RequestedLine<'_>) -> LineDecision {
        let RequestedLine { line, text, cwd, has_input, approved, before } = asked;
        let reader = if has_input { reading::first_program(&line) } else { None };
        let directory = match directories.resolve(cwd) {
            Ok(directory) => directory,
            Err(error) => {
                return LineDecision { parts: Vec::new(), is_read_only: false, reader, outcome: Err(error.into()) };
            }
        };
        let mut walk = Walk {
            policy: self,
            directories,
            reader,
            parts: Vec::new(),
            shown: Vec::new(),
            refused: None,
            allowed: Vec::new(),
            timeout: None,
            is_read_only: true,
        };
        let mut position = Position { directory: directory.clone(), inherits_input: false };
        walk.line(&line, &mut position, State { status: Some(0), has_run: false, is_reached: true, is_over: false });
        let Walk { parts, shown, refused, allowed, timeout, is_read_only, .. } = walk;
        let of_turn = parts.iter().filter(|part| part.outcome == PartOutcome::AtItsTurn);
        let undecided = of_turn.map(|part| (part.number, part.kind)).collect();
        let line = Arc::new(line);
        let planned = |approved| PlannedLine { line, directory, reader, timeout, approved, undecided };
        let outcome = match refused {
            Some((number, word, sentence)) => Err(LineRefusal::Part { number, word, sentence, allowed: Some(allowed) }),
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
    directories: &'a Directories,
    /// The number of the command that reads the input of the call.
    reader: Option<usize>,
    parts: Vec<PartDecision>,
    shown: Vec<ShownPart>,
    /// The first part that is refused: the number of its command, its word, and why.
    refused: Option<(usize, String, String)>,
    /// The first words of the commands that are not refused.
    allowed: Vec<String>,
    timeout: Option<Duration>,
    is_read_only: bool,
}

impl Walk<'_> {
    fn line(&mut self, line: &Line, position: &mut Position, mut state: State) -> State {
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
                state = self.pipeline(pipeline, position, state, runs);
            }
        }
        state
    }

    fn pipeline(&mut self, pipeline: &Pipeline, position: &mut Position, state: State, runs: Runs) -> State {
        let is_certain = runs == Runs::Yes && !state.has_run;
        let is_alone = pipeline.stages.len() == 1;
        let mut after = State { status: None, ..state };
        let before = position.clone();
        for (place, stage) in pipeline.stages.iter().enumerate() {
            let inherits_input = place > 0 || before.inherits_input;
            match &stage.command {
                Command::Simple(simple) => {
                    let ended = self.simple(simple, &before, (!is_alone, inherits_input, is_certain));
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
                    let inner = self.group(group, &before, (inherits_input, is_certain), inner);
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
        position: &Position,
        (inherits_input, is_certain): (bool, bool),
        state: State,
    ) -> State {
        let here = Here { policy: self.policy, directories: self.directories, position, is_certain };
        let stage = Stage { is_one_of_several: false, inherits_input, reads_call: false };
        let has_input = here.is_given_input(&group.redirections, stage);
        if !group.redirections.is_empty() {
            let files = self.redirections(here, (0, ""), &group.redirections, None);
            let reads = inherits_input.then_some("the output of another command");
            self.shown.push(ShownPart { reads, files, ..ShownPart::new(0, here, &group.redirections) });
        }
        let mut inner = Position { inherits_input: has_input, ..position.clone() };
        let has_run = state.has_run || !is_certain;
        self.line(&group.line, &mut inner, State { has_run, ..state })
    }

    /// Decides on a command; returns what is known after it.
    fn simple(
        &mut self,
        simple: &Simple,
        position: &Position,
        (is_one_of_several, inherits_input, is_certain): (bool, bool, bool),
    ) -> After {
        let number = simple.number;
        let here = Here { policy: self.policy, directories: self.directories, position, is_certain };
        let stage = Stage { is_one_of_several, inherits_input, reads_call: self.reader == Some(number) };
        let commanded = here.command(simple, stage, Approved::default());
        let Commanded { kind, words, is_as_found, has_input, explanation, verdict } = commanded;
        let word = explanation.words.first().cloned().unwrap_or_default();
        let rule = match &explanation.rule {
            Some(Rule::Described(rule)) => Some(Arc::clone(rule)),
            Some(Rule::Entry(_) | Rule::Any | Rule::Project(_)) | None => None,
        };
        if let Some(of_rule) = rule.as_ref().and_then(|rule| rule.timeout) {
            self.timeout = Some(self.timeout.map_or(of_rule, |least| least.min(of_rule)));
        }
        if kind == PartKind::Command {
            self.is_read_only &= rule.as_ref().is_some_and(|rule| rule.read_only);
        }
        let mut proposal = None;
        let mut after = After { status: Status::Unknown, directory: None, has_run: kind == PartKind::Command };
        let outcome = match verdict {
            Verdict::Nothing => {
                after.status = Status::Known(0);
                PartOutcome::Allowed
            }
            Verdict::Builtin(builtin) => self.builtin(&builtin, here, &mut after),
            Verdict::Program(_) | Verdict::NotFound { .. } => PartOutcome::Allowed,
            Verdict::AtItsTurn => {
                after.has_run = true;
                PartOutcome::AtItsTurn
            }
            Verdict::Ask(asked) => {
                proposal = Some(*asked);
                PartOutcome::Ask
            }
            Verdict::Refused(sentence) => PartOutcome::Refused(sentence),
        };
        match &outcome {
            PartOutcome::Refused(sentence) => self.refuse((number, &word), sentence),
            PartOutcome::Allowed | PartOutcome::AtItsTurn
                if kind == PartKind::Command && !self.allowed.contains(&word) =>
            {
                self.allowed.push(word.clone());
            }
            PartOutcome::Allowed | PartOutcome::AtItsTurn | PartOutcome::Ask => {}
        }
        let shown = explanation.words.clone();
        if !words.is_empty() {
            self.parts.push(PartDecision { number, kind, explanation, input: None, outcome });
        }
        let of = rule.as_ref().map(|rule| (&**rule, words.as_slice()));
        let files = self.redirections(here, (number, &word), &simple.redirections, of);
        let opened = simple.redirections.iter().filter(|redirection| here.opens_file(redirection));
        for redirection in opened {
            // It may fail, and writing may make a file.
            after.status = Status::Unknown;
            after.has_run |= matches!(redirection, Redirection::Write { .. });
        }
        let is_given = has_input && !simple.redirections.iter().any(gives_input);
        let reads = match is_given {
            true if inherits_input => Some("the output of another command, or what its group is given"),
            true => Some("the `input` of the call"),
            false => None,
        };
        let value = |one: &Assignment| (one.name.clone(), here.value(&one.value).unwrap_or_default());
        self.shown.push(ShownPart {
            words: proposal.as_ref().map_or(words, |proposal| proposal.words().to_vec()),
            shown: proposal.as_ref().map_or(shown, |proposal| proposal.shown_inserted().to_vec()),
            is_as_found,
            reads,
            variables: simple.assignments.iter().map(value).collect(),
            proposal,
            files,
            ..ShownPart::new(number, here, &simple.redirections)
        });
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

    /// Decides on the redirections of a command; returns the files that have to be approved.
    fn redirections(
        &mut self,
        here: Here<'_>,
        (number, word): (usize, &str),
        redirections: &[Redirection],
        of: Of<'_>,
    ) -> Vec<AskedFile> {
        let mut files = Vec::new();
        for redirection in redirections {
            let writes = matches!(redirection, Redirection::Write { .. });
            self.is_read_only &= !(writes && here.opens_file(redirection));
            let outcome = match here.redirection(redirection, of) {
                redirection::Verdict::Done(_) => PartOutcome::Allowed,
                redirection::Verdict::AtItsTurn => PartOutcome::AtItsTurn,
                redirection::Verdict::Ask(_, asked) => {
                    files.push(asked);
                    PartOutcome::Ask
                }
                redirection::Verdict::Refused(sentence) => {
                    self.refuse((number, word), &sentence);
                    PartOutcome::Refused(sentence)
                }
            };
            let mut part = here.part(number, redirection, outcome);
            if matches!(part.outcome, PartOutcome::Refused(_) | PartOutcome::AtItsTurn) {
                part.explanation.refusal_kind = here.refusal_kind(redirection, of);
            }
            self.parts.push(part);
        }
        files
    }

    fn refuse(&mut self, (number, word): (usize, &str), sentence: &str) {
        self.refused.get_or_insert_with(|| (number, word.to_owned(), sentence.to_owned()));
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

fn gives_input(redirection: &Redirection) -> bool {
    match redirection {
        Redirection::Read(_) | Redirection::Document(_) | Redirection::HereString(_) => true,
        Redirection::Write { .. } | Redirection::StderrToStdout | Redirection::StdoutToStderr => false,
    }
}
