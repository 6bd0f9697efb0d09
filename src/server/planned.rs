//! The policy's decision on a call, and the work that follows from it.

#[cfg_attr(not(feature = "shell"), path = "planned/no_shell.rs")]
mod shell;

use std::sync::Arc;
use std::time::Duration;

use super::auditor::Auditor;
use super::budget::{cost_of_claims, cost_of_words};
use super::facts::{Facts, Known, shown};
use super::job::Job;
use super::log::Fields;
use super::not_run::NotRun;
use super::observer::Decided;
use super::parts::Parts;
use super::question::CallToApprove;
use super::recorded::RecordedDecision;
use super::requests::{LaneName, Work};
use super::terms::Terms;
use super::tool_call::ToolCall;
use crate::audit::Digest;
use crate::exec::Limits;
use crate::jsonrpc::RequestId;
use crate::mcp::Implementation;
use crate::policy::line::{Line, ReadLine};
use crate::policy::{Approved, Decision, Directories, Explanation, Refusal, Requested};
use crate::tools::{Call, ShellCall, Written};

/// A call that may run.
#[derive(Debug)]
pub(super) struct Planned {
    pub work: Work,
    /// The first word of the command, and the rule that allowed it.
    pub allowed: (String, String),
    pub known: Known,
    /// Its cost to the budget.
    pub cost: usize,
}

/// Why a call does not go on as it is.
#[derive(Debug)]
pub(super) enum Stopped {
    NotRun(NotRun),
    /// A person has to approve it first.
    Asks(Box<CallToApprove>),
}

impl<T: Into<NotRun>> From<T> for Stopped {
    fn from(why: T) -> Self {
        Self::NotRun(why.into())
    }
}

/// A line that a call asks for, and where.
pub(super) struct CalledLine {
    pub line: Line,
    pub text: String,
    pub cwd: Option<String>,
    /// The timeout that the client asks for.
    pub asked_timeout: Option<Duration>,
    /// Whether the call runs in the background, and whether its client asks for that.
    pub is_background: bool,
    pub is_fed: bool,
    /// Whether it may run only what changes nothing.
    pub only_reads: bool,
}

/// A call that the policy has to decide on.
#[derive(Debug)]
pub(super) enum CommandCall {
    /// It runs one process.
    Process(Call),
    /// It uses the persistent shell.
    Shell(ShellCall),
}

impl CommandCall {
    /// The part of the queue that it waits in.
    pub(super) fn lane(&self) -> LaneName {
        match self {
            Self::Process(call) if call.is_background => LaneName::Background,
            Self::Process(_) => LaneName::Processes,
            Self::Shell(_) => LaneName::Shell,
        }
    }

    /// How long it may run, if its client says so.
    pub(super) fn timeout(&self) -> Option<Duration> {
        match self {
            Self::Process(call) => call.timeout,
            Self::Shell(call) => call.timeout(),
        }
    }

    /// Whether it runs a command, whose output can be kept.
    pub(super) fn runs_command(&self) -> bool {
        match self {
            Self::Process(_) => true,
            Self::Shell(call) => call.runs_command(),
        }
    }

    /// Whether it can't be decided without the client's roots: if it names a directory, runs in the client's first
    /// root, or has paths among its words that a rule bounds. The shell starts in the first root and may change to others,
    /// and a sandbox follows the roots, so these calls always need them.
    pub(super) fn needs_roots(&self, parts: &Parts) -> bool {
        let names_directory = match self {
            // A line may change its directory, and name files anywhere.
            Self::Process(call) => call.cwd.is_some() || matches!(call.command, Written::Line(_)),
            Self::Shell(_) => true,
        };
        names_directory
            || !parts.policy.directories().has_operators_project()
            || parts.confinement.is_on()
            || parts.confinement.confines_rules()
            || parts.bounds_paths
    }
}

/// The state that a decision needs besides the call, and its description for the log.
pub(super) struct Deciding<'a> {
    pub parts: &'a Parts,
    pub tool_call: &'a ToolCall,
    /// The number of the call, and the id of its request.
    pub key: u64,
    pub id: &'a RequestId,
    /// The approvals that hold until the session ends.
    pub remembered: &'a [Arc<CallToApprove>],
    /// The person's approval of this very call.
    pub approved: Option<&'a CallToApprove>,
    pub audit: &'a Auditor,
    /// The facts about the call, which say whether anybody waits for it.
    pub facts: &'a Facts,
    /// The fields of the log line about the decision.
    pub described: Fields,
}

impl Deciding<'_> {
    /// Decides on a call that runs processes of its own.
    ///
    /// # Errors
    /// [`Stopped`].
    pub(super) fn process(&mut self, call: Call, directories: &Directories) -> Result<Planned, Stopped> {
        let (parts, tool_call) = (self.parts, self.tool_call);
        let Call { command, only_reads, cwd, input, timeout, is_background, is_fed } = call;
        let asked_timeout = timeout;
        // Also shown to the person who approves the call, since it may run that much longer.
        let timeout = timeout.or(is_background.then_some(parts.max_background));
        let tool = tool_call.tool.clone();
        let terms = Terms { tool, input, timeout, is_background, is_in_shell: false };
        let command = match command {
            Written::Command(command) => command,
            Written::Line(text) => match parts.policy.read_line(&text) {
                Ok(ReadLine::Line(line)) => {
                    let called = CalledLine { line, text, cwd, asked_timeout, is_background, is_fed, only_reads };
                    return self.line(called, terms, directories);
                }
                Ok(ReadLine::Command(command)) => {
                    if only_reads {
                        parts.toolbox.check_read_only(&command)?;
                    }
                    Ok(command)
                }
                Err(error) => Err(error),
            },
        };
        let (now, before) = match parts.asks {
            true => (self.approved_now(&terms), self.approved_before(&terms)),
            false => (None, Vec::new()),
        };
        let approved = Approved { now, before: &before };
        let requested = Requested { command, cwd: cwd.as_deref(), has_input: terms.input.is_some(), approved };
        let Decision { explanation, outcome } = parts.policy.evaluate(directories, requested);
        self.record(&explanation, outcome.as_ref().err(), || {
            let argv = match &outcome {
                Ok(command) => Some(command.words()),
                Err(Refusal::NeedsApproval(proposal)) => Some(proposal.words()),
                Err(_) => None,
            };
            RecordedDecision {
                argv: argv.map(|words| (words, explanation.secrets.clone())),
                input: terms.input.as_ref().map(|input| Digest::of(input.as_bytes())),
                timeout: asked_timeout,
                is_background: is_fed,
                is_task: tool_call.task.is_some(),
                ..RecordedDecision::of(&explanation, outcome.as_ref().err())
            }
        })?;
        let command = match outcome {
            Ok(command) => command,
            Err(refusal) => return Err(self.stopped(refusal, terms)),
        };
        let limits = Limits { timeout: command.timeout(timeout, parts.limits.timeout), ..parts.limits };
        let rule = explanation.rule.map_or_else(String::new, |rule| rule.to_string());
        let description = tool_call.describe(|| {
            let tool = Fields::default().ours("tool", &tool_call.tool).and(&self.described);
            let fields = tool.directory(command.directory().path()).allowed(&rule);
            if is_background { fields.ours("background", true) } else { fields }
        });
        Ok(Planned {
            allowed: (command.words().first().cloned().unwrap_or_default(), rule),
            known: Known { description, command: shown(&explanation.words, &parts.secrets), timeout: limits.timeout },
            cost: cost_of_words(command.words()) + cost_of_claims(command.claims()),
            work: Work::Process(Box::new(Job {
                key: self.key,
                command,
                input: terms.input.map(String::into_bytes),
                limits,
                // After the answer, only a task still reports its progress.
                wants_progress: tool_call.context.progress_token.is_some()
                    && (!is_background || tool_call.task.is_some()),
                is_background,
                is_fed,
                literal_pattern: explanation.literal_pattern,
                revision: tool_call.context.revision,
                spool: None,
                feed: None,
                is_audited: self.audit.is_on(),
            })),
        })
    }

    /// The client that sent the call, as it names itself.
    pub(super) fn client(&self) -> Option<&Arc<Implementation>> {
        self.tool_call.context.client_info.as_ref()
    }

    /// Tells the observer and the log of a decision, and has it recorded: what can't be recorded does not run.
    ///
    /// # Errors
    /// [`NotRun::NotRecorded`], and [`NotRun::GivenUp`] if nobody waits for the call any more.
    fn record<'a>(
        &mut self,
        explanation: &Explanation,
        refusal: Option<&Refusal>,
        decision: impl FnOnce() -> RecordedDecision<'a>,
    ) -> Result<(), NotRun> {
        let (key, tool) = (self.key, self.tool_call.tool.as_str());
        self.parts.observer.decided(&Decided { call: key, tool, explanation, refusal });
        self.described = self.tool_call.decided(key, &explanation.words);
        if let Some(how) = refusal.and_then(|_| self.parts.suggest(explanation)) {
            self.described = std::mem::take(&mut self.described).reason("to_allow", &how);
        }
        self.audit.decided((key, self.facts), self.client(), (self.id, tool), || vec![decision()])
    }
}
