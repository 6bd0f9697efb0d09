//! A command or a line of a person or a script, without a client: decided and recorded as a call, with the standard streams of this
//! process.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::exec::line::{Decides, LineError, LineInvocation, LineOutput, Observes};
use crate::exec::{
    End, ExecError, Invocation, Limits, OnStart, Orphans, Output, Processes, StopSignal, Streams, own_children,
};
use crate::jsonrpc::RequestId;
use crate::lines::Pipeline;
use crate::policy::line::{
    DecidedStage, LineProposal, LineRefusal, PlannedLine, Position, ReadLine, RequestedLine, Turn,
};
use crate::policy::{
    AllowedCommand, Approved, CommandLine, CommandLineError, Lines, Proposal, Proposed, Refusal, Requested, bounded,
};
use crate::server::asked::Asked;
use crate::server::auditor::Auditor;
use crate::server::deadlines::Since;
use crate::server::event::{CallEnded, EndOfCommand, HowEnded};
use crate::server::facts::Facts;
use crate::server::line_job::records::recorded_part;
use crate::server::parts::Parts;
use crate::server::question::{Answer, AnswerOf, CallToApprove, Channel};
use crate::server::recorded::RecordedDecision;
use crate::server::terms::Terms;

/// The number of the one call, and the name of its tool in the audit log.
const CALL: u64 = 1;
const TOOL: &str = "run";
/// The timeout of a run that is given none: a hundred years.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// The time that processes which left the tree of their command have to end.
const LAST_LOOK: Duration = Duration::from_millis(600);

/// The surroundings of a run.
pub(crate) struct Alone<'a> {
    /// The directory that it runs in.
    pub directory: String,
    /// Where the signal arrives that ends it.
    pub stop: StopSignal,
    /// Its timeout, if the operator names one.
    pub timeout: Option<Duration>,
    /// The standard input, for the command that a call's `input` would go to.
    pub stdin: Option<OwnedFd>,
    /// Standard output and standard error.
    pub output: [OwnedFd; 2],
    /// The channel by which a person is asked.
    pub channel: Channel,
    /// Asks a person to approve the call that this text shows; `None` shows that it can't be shown in full.
    pub ask: &'a mut dyn FnMut(Option<&str>) -> Answer,
    /// Hears of the process that reads the standard input.
    pub reads: Option<Box<dyn Fn(u32) + Send + Sync>>,
}

/// The end of a run.
#[derive(Debug)]
pub(crate) enum RunEnded {
    /// It ran, and ended so.
    Ran(End),
    /// It did not run, or not to its end, and why.
    Refused(String),
    /// There is no such program, or it can't be executed.
    NotFound(String),
}

/// The decision before anything runs.
enum Plan {
    Command(Box<AllowedCommand>),
    Line(Box<PlannedLine>),
}

/// Why nothing runs.
enum Stopped {
    Refused(RunEnded),
    Asks(Proposed),
}

impl Parts {
    /// Runs it to its end, and blocks until then.
    pub(crate) fn run_alone(mut self, asked: &Asked, mut alone: Alone<'_>) -> RunEnded {
        let auditor = Auditor::new(self.audit.take());
        if let Some(error) = auditor.broken() {
            return RunEnded::Refused(error.to_string());
        }
        let mut started = Since::now();
        let ended = self.plan_alone(asked, &mut alone, &auditor).map(|plan| {
            started = Since::now();
            self.run_plan(plan, alone, &auditor)
        });
        if let Ok(ended) = &ended {
            let how = match ended {
                RunEnded::Ran(end) => HowEnded::Ran { end: *end, elapsed: started.elapsed(), hint: None },
                RunEnded::Refused(why) | RunEnded::NotFound(why) => HowEnded::Failed(why.clone()),
            };
            let facts = auditor.is_on().then(|| Box::new(EndOfCommand::default()));
            auditor.ended(&CallEnded { key: CALL, result: Vec::new(), how, shell: None, facts });
        }
        auditor.end();
        ended.unwrap_or_else(|refused| refused)
    }

    /// Decides on all of it; asks a person where a rule says so, and decides again.
    fn plan_alone(&self, asked: &Asked, alone: &mut Alone<'_>, auditor: &Auditor) -> Result<Plan, RunEnded> {
        let proposal = match self.decide_alone(asked, &alone.directory, None, auditor) {
            Ok(plan) => return Ok(plan),
            Err(Stopped::Refused(refused)) => return Err(refused),
            Err(Stopped::Asks(proposal)) => proposal,
        };
        let terms =
            Terms { tool: TOOL.to_owned(), input: None, timeout: None, is_background: false, is_in_shell: false };
        let call = CallToApprove { sandbox: self.sandboxes_of(&proposal), proposal, terms };
        let (channel, of) = (alone.channel, AnswerOf::OneCall);
        auditor.asked(CALL, channel.name(), || call.recorded_text(of));
        let since = Since::now();
        let answer = (alone.ask)(call.text(of).as_deref());
        auditor.answered((CALL, channel.name()), answer.recorded(), since.elapsed());
        match answer {
            Answer::Once => {}
            Answer::Failed(why) => return Err(RunEnded::Refused(why)),
            _ => return Err(RunEnded::Refused("it was not approved, so it was not run".to_owned())),
        }
        match self.decide_alone(asked, &alone.directory, Some(&call.proposal), auditor) {
            Ok(plan) => Ok(plan),
            Err(Stopped::Refused(refused)) => Err(refused),
            Err(Stopped::Asks(_)) => {
                Err(RunEnded::Refused("it is not what it was when it was approved, so it was not run".to_owned()))
            }
        }
    }

    /// How the commands that a person is asked about would be confined.
    pub(super) fn sandboxes_of(&self, proposal: &Proposed) -> String {
        let rules: Vec<_> = match proposal {
            Proposed::Command(proposal) => vec![proposal.rule()],
            Proposed::Line(line) => {
                line.parts().iter().filter_map(|part| part.proposal()).map(Proposal::rule).collect()
            }
        };
        let mut sandboxes: Vec<String> = Vec::new();
        for rule in rules {
            let sandbox = self.confinement.describe_for(rule);
            if !sandboxes.contains(&sandbox) {
                sandboxes.push(sandbox);
            }
        }
        sandboxes.join("; ")
    }

    fn decide_alone(
        &self,
        asked: &Asked,
        directory: &str,
        approved: Option<&Proposed>,
        auditor: &Auditor,
    ) -> Result<Plan, Stopped> {
        let command = match asked {
            Asked::Words(first, arguments) => CommandLine::from_process(first.clone(), arguments.clone()),
            Asked::Line(text) if self.policy.lines() == Lines::Off => CommandLine::parse(text),
            Asked::Line(text) => match self.policy.read_line(text) {
                Ok(ReadLine::Command(command)) => Ok(command),
                Ok(ReadLine::Line(line)) => {
                    let approved = approved.and_then(Proposed::line);
                    return self.decide_line_alone((line, text, directory), approved, auditor);
                }
                Err(error) => Err(error),
            },
        };
        self.decide_command_alone((command, directory), approved.and_then(Proposed::command), auditor)
    }

    fn decide_command_alone(
        &self,
        (command, directory): (Result<CommandLine, CommandLineError>, &str),
        approved: Option<&Proposal>,
        auditor: &Auditor,
    ) -> Result<Plan, Stopped> {
        let approved = Approved { now: approved, before: &[] };
        let requested = Requested { command, cwd: Some(directory), has_input: false, approved };
        let decision = self.policy.evaluate(self.policy.directories(), requested);
        let (explanation, outcome) = (decision.explanation, decision.outcome);
        let recorded = auditor.decided((CALL, &Facts::default()), None, (&id(), TOOL), || {
            let argv = match &outcome {
                Ok(command) => Some(command.words()),
                Err(Refusal::NeedsApproval(proposal)) => Some(proposal.words()),
                Err(_) => None,
            };
            let argv = argv.map(|words| (words, explanation.secrets.clone()));
            vec![RecordedDecision { argv, ..RecordedDecision::of(&explanation, outcome.as_ref().err()) }]
        });
        recorded.map_err(|why| Stopped::Refused(RunEnded::Refused(why.to_string())))?;
        match outcome {
            Ok(command) => Ok(Plan::Command(Box::new(command))),
            Err(Refusal::NeedsApproval(proposal)) => Err(Stopped::Asks(Proposed::Command(proposal))),
            Err(refusal @ Refusal::ProgramNotFound { .. }) => {
                Err(Stopped::Refused(RunEnded::NotFound(refusal.to_string())))
            }
            Err(refusal) => Err(Stopped::Refused(RunEnded::Refused(refusal.to_string()))),
        }
    }

    fn decide_line_alone(
        &self,
        (line, text, directory): (crate::lines::Line, &str, &str),
        approved: Option<&LineProposal>,
        auditor: &Auditor,
    ) -> Result<Plan, Stopped> {
        let requested = RequestedLine {
            line,
            text,
            cwd: Some(directory),
            has_input: false,
            only_reads: false,
            approved,
            before: &[],
        };
        let decision = self.policy.plan(self.policy.directories(), requested);
        let id = id();
        let decided = || decision.parts.iter().filter_map(|part| recorded_part(part, None)).collect();
        let recorded = auditor.decided((CALL, &Facts::default()), None, (&id, TOOL), decided);
        recorded.map_err(|why| Stopped::Refused(RunEnded::Refused(why.to_string())))?;
        match decision.outcome {
            Ok(planned) => Ok(Plan::Line(Box::new(planned))),
            Err(LineRefusal::NeedsApproval(proposal)) => Err(Stopped::Asks(Proposed::Line(proposal))),
            Err(refusal) => Err(Stopped::Refused(RunEnded::Refused(refusal.to_string()))),
        }
    }

    /// Runs what was decided on a thread of its own: one that confines itself stays confined.
    fn run_plan(&self, plan: Plan, alone: Alone<'_>, auditor: &Auditor) -> RunEnded {
        let Alone { stop, timeout, stdin, output, reads, directory: _, ask: _, channel: _ } = alone;
        let Some(processes) = self.executor.as_processes() else {
            return RunEnded::Refused(ExecError::NoLines.to_string());
        };
        let ended = std::thread::scope(|scope| {
            let run = || {
                own_children();
                match plan {
                    Plan::Command(command) => {
                        self.run_command(*command, (stop, timeout, (stdin, output), reads), auditor)
                    }
                    Plan::Line(planned) => {
                        self.run_planned(processes, &planned, (stop, timeout, (stdin, output), reads), auditor)
                    }
                }
            };
            scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        // What has left the tree of its command has become a child of this process.
        Orphans::new(|_| ()).end_all(LAST_LOOK);
        ended
    }

    fn run_command(&self, command: AllowedCommand, how: How, auditor: &Auditor) -> RunEnded {
        let (stop, timeout, (stdin, output), reads) = how;
        let stdin = stdin.filter(|_| command.takes_input());
        let own = command.rule().and_then(|rule| self.executor.for_rule(rule));
        let executor = own.as_ref().unwrap_or(&self.executor);
        let Some(processes) = executor.as_processes() else {
            return RunEnded::Refused(ExecError::NoLines.to_string());
        };
        let limits = Limits { timeout: command.timeout(timeout, FOREVER), ..self.limits };
        let on_start = started(auditor, None, reads.map(Arc::from).filter(|_| stdin.is_some()));
        let invocation = Invocation {
            command,
            input: None,
            limits,
            stop,
            heartbeat: None,
            spool: None,
            feed: None,
            on_start: Some(on_start),
        };
        match processes.run_with(invocation, Streams::Own { stdin, output }) {
            Ok(Output { end, .. }) => RunEnded::Ran(end),
            Err(error @ (ExecError::ProgramGone { .. } | ExecError::InterpreterMissing { .. })) => {
                RunEnded::NotFound(error.to_string())
            }
            Err(error) => RunEnded::Refused(error.to_string()),
        }
    }

    fn run_planned(&self, processes: &Processes, planned: &PlannedLine, how: How, auditor: &Auditor) -> RunEnded {
        let (stop, timeout, (stdin, output), reads) = how;
        let limits = Limits { timeout: bounded(timeout, planned.timeout(), FOREVER), ..self.limits };
        let reader = planned.first_reader();
        let line = Arc::clone(planned.line());
        let observes =
            Heard { auditor: auditor.clone(), reader, reads: reads.map(Arc::from).filter(|_| stdin.is_some()) };
        let invocation = LineInvocation {
            line: &line,
            begin: planned.begin(),
            reader,
            input: None,
            limits,
            stop,
            heartbeat: None,
            spool: None,
            decides: &mut AtTurn { parts: self, planned, auditor },
            observes: &observes,
        };
        match processes.run_line_with(invocation, Streams::Own { stdin, output }) {
            Ok(LineOutput { error: Some(error), .. }) => RunEnded::Refused(error.to_string()),
            Ok(LineOutput { output, .. }) => RunEnded::Ran(output.end),
            Err(error) => RunEnded::Refused(error.to_string()),
        }
    }
}

/// The stop signal, the timeout, the streams, and the observer of the process that reads.
type How = (StopSignal, Option<Duration>, (Option<OwnedFd>, [OwnedFd; 2]), Option<Box<dyn Fn(u32) + Send + Sync>>);

/// Hears of the process that reads the standard input.
type Reads = Option<Arc<dyn Fn(u32) + Send + Sync>>;

fn id() -> RequestId {
    RequestId::from(CALL)
}

/// Records a start, and notifies `reads` of the process.
fn started(auditor: &Auditor, part: Option<usize>, reads: Reads) -> OnStart {
    let auditor = auditor.clone();
    OnStart(Box::new(move |started| {
        auditor.started(CALL, part, &started);
        if let (Some(reads), Some(pid)) = (reads, started.pid) {
            reads(pid);
        }
    }))
}

/// Decides on pipelines at their turns, and records it.
struct AtTurn<'a> {
    parts: &'a Parts,
    planned: &'a PlannedLine,
    auditor: &'a Auditor,
}

impl Decides for AtTurn<'_> {
    fn decide(&mut self, pipeline: &Pipeline, at: &Position) -> Result<Vec<DecidedStage>, LineError> {
        let policy = &self.parts.policy;
        let Turn { parts, outcome } = self.planned.pipeline(policy, policy.directories(), pipeline, at);
        let id = id();
        let decided = parts.iter().filter_map(|part| recorded_part(part, None)).collect();
        let recorded = self.auditor.decided_parts((CALL, &id, TOOL), decided);
        recorded.map_err(|why| LineError::NotRecorded { why: why.to_string() })?;
        outcome.map_err(LineError::Refused)
    }
}

/// Records the processes of a line.
struct Heard {
    auditor: Auditor,
    reader: Option<usize>,
    reads: Reads,
}

impl Observes for Heard {
    fn on_start(&self, part: usize) -> Option<OnStart> {
        let reads = self.reads.clone().filter(|_| self.reader == Some(part));
        Some(started(&self.auditor, Some(part), reads))
    }

    fn ended(&self, part: usize, end: End) {
        self.auditor.part_ended(CALL, part, end);
    }
}
