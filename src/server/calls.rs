//! `tools/call`: from the request to a queued call, or to the reason why it does not run.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::approval::CallToApprove;
use super::auditing::{Auditor, decided_record};
use super::budget::{cost_of_directories, cost_of_words};
use super::effects::{Effect, Effects};
use super::in_results::{answer_in, ask_in_result};
use super::job::Job;
use super::log::Fields;
use super::not_run::NotRun;
use super::observer::Decided;
use super::outgoing::Outgoing;
use super::parts::Parts;
use super::questions::{Questions, Way};
use super::reading::{self, Background};
use super::replies::Reply;
use super::requests::{ApprovedCall, AskedCall, Pending, Requests, Work};
use super::roots::{DecidedIn, Roots};
use super::session::RequestContext;
use super::shell::{CallContext, ShellRunner, ShellTurn, TurnOf};
use super::task_requests;
use super::tasks::TaskChange;
use super::tool_call::{Stopped, ToolCall, not_run};
use super::turns;
use crate::audit::{self, Digest, milliseconds};
use crate::config::LogLevel;
use crate::exec::Limits;
use crate::jsonrpc::{ErrorObject, Request, RequestId};
use crate::policy::{
    Approved, Directories, Explanation, Refusal, Requested, ShellCommand, bounded, quoted, split_words,
};
use crate::shell::dialect::Change;
use crate::shell::{ShellDecision, decide};
use crate::tools::{Call, CallTool, Called, ShellCall, ShellCommandFacts, ShellRequest, ToolKind};

/// How much of the requested command is kept for the log: characters of a line or a word, and words after the first.
const LONGEST_ASKED: usize = 512;
const MOST_ASKED: usize = 16;

/// A call that may run.
struct Planned {
    work: Work,
    /// The first word of the command, and the rule that allowed it.
    allowed: (String, String),
    description: Fields,
    /// What it costs the budget.
    cost: usize,
}

/// What calls change.
pub(super) struct Tables<'a> {
    pub requests: &'a mut Requests,
    pub roots: &'a mut Roots,
    pub outgoing: &'a mut Outgoing,
    pub questions: &'a mut Questions,
    pub background: &'a mut Background,
    pub shell: &'a ShellRunner,
    pub audit: &'a mut Auditor,
}

/// Serves a `tools/call`. `approved` is what a person approved, if one was asked; `recorded` is why a call that runs nothing
/// could not be recorded, if so.
pub(super) fn call(
    parts: &Parts,
    tables: Tables<'_>,
    mut request: Request,
    context: &RequestContext,
    mut reply: Reply,
    (mut approved, recorded): (Option<Box<ApprovedCall>>, Result<(), NotRun>),
) -> Effects {
    let Tables { requests, roots, outgoing, questions, background, shell: runner, audit } = tables;
    let revision = context.revision;
    if let Err(why) = recorded {
        let tool = request.params.get("name").and_then(Value::as_str).unwrap_or_default();
        let tool_call = ToolCall { tool, context, is_told: parts.log_level >= LogLevel::Info, task: None };
        // `stop_call` is served in any case, since it only ends something.
        if parts.toolbox.find(tool) != Some(ToolKind::Calls(CallTool::StopCall)) {
            return not_run(tool_call, &Fields::default(), reply, &why);
        }
    }
    let mut effects = match task_requests::as_asked(parts, &mut background.tasks, &request.params, revision, &mut reply)
    {
        Ok(created) => created,
        Err(error) => return Effect::Refuse(reply, error).into(),
    };
    if !revision.is_modern() && roots.are_awaited() {
        requests.hold(request, reply, approved);
        return effects;
    }
    let resumed = match revision.is_modern() && approved.is_none() {
        true => outgoing.resume(&request.params),
        false => Ok(None),
    };
    let arguments = request.params.remove("arguments");
    // Only calls that a person may be asked about are served again.
    let kept = if parts.asks { arguments.clone() } else { None };
    let found = resumed.and_then(|resumed| Ok((resumed, tool_of(parts, &request.params, arguments)?)));
    let (resumed, (tool, kind, arguments)) = match found {
        Ok(found) => found,
        Err(error) => return effects.and(Effect::Refuse(reply, error).into()),
    };
    let task = reply.task().and_then(|number| background.tasks.get(number)).map(|kept| kept.task.id.clone());
    let is_told = parts.log_level >= LogLevel::Info;
    let tool_call = ToolCall { tool, context, is_told, task: task.as_deref() };
    let asked = tool_call.is_told.then(|| Asked::of(&arguments, parts.toolbox.entry_of(kind)));
    let asked = || asked.as_ref().map_or_else(Fields::default, |asked| asked.describe(parts));
    let read = match task {
        Some(_) => parts.toolbox.read_in_background(kind, arguments),
        None => parts.toolbox.read(kind, arguments),
    };
    let called = match read {
        Ok(Called::Done(result)) => return effects.and(Effect::Answer(reply, result.encode(revision)).into()),
        Ok(Called::Calls(request)) => {
            return effects.and(reading::serve(parts, (requests, background), tool_call, request, reply));
        }
        Ok(called) => called,
        Err(error) => return effects.and(undecided(audit, tool_call, &asked(), reply, &error.into())),
    };
    // A call that comes again with an answer is the one that was asked about.
    let known = approved.as_ref().map(|approved| approved.key).or(resumed.as_ref().map(|closed| closed.call));
    let key = known.unwrap_or_else(|| requests.next_number());
    if let Some(closed) = resumed {
        match answer_in(parts, (key, &request, tool_call), closed, (questions, audit), &mut effects) {
            Ok(Some(asked)) => {
                let feedback = Box::new(tool_call.feedback(reply.id()));
                approved = Some(Box::new(ApprovedCall { asked, key, feedback }));
            }
            Ok(None) => {}
            Err(Stopped::NotRun(why)) => return effects.and(undecided(audit, tool_call, &asked(), reply, &why)),
            Err(Stopped::Asks(_)) => {
                let why = "`inputResponses.approval` must be the result of `elicitation/create`, as its form asks";
                return effects.and(Effect::Refuse(reply, ErrorObject::invalid_params(why)).into());
            }
        }
    }
    let needs = (parts.policy.directories(), needs_roots(parts, &called));
    let directories = match roots.place(&request.params, context, needs, (outgoing, &reply), &mut effects) {
        Ok(DecidedIn::These(directories)) => directories,
        Ok(DecidedIn::Asked(result)) => {
            // The call that brings the answer is a new request.
            audit.refused(reply.id(), reply.called(), None, "its client is asked for the roots first");
            return effects.and(Effects::answer(reply, &result));
        }
        Ok(DecidedIn::NotRun(why)) => return effects.and(undecided(audit, tool_call, &asked(), reply, &why)),
        Err(error) => return effects.and(Effect::Refuse(reply, error).into()),
    };
    requests.decides_on(key);
    let mut described = Fields::default();
    let is_background = matches!(&called, Called::Execute(call) if call.is_background);
    let person = Person { questions, approved: approved.as_ref().map(|approved| &*approved.asked) };
    let is_of_shell = matches!(called, Called::Shell(_));
    let planned = match called {
        // These were served above, and need no roots.
        Called::Calls(request) => {
            return effects.and(reading::serve(parts, (requests, background), tool_call, request, reply));
        }
        Called::Done(result) => return effects.and(Effect::Answer(reply, result.encode(revision)).into()),
        Called::Execute(call) => {
            let told = (&mut described, &mut *audit, reply.id());
            process(parts, tool_call, key, call, directories.as_deref(), person, told)
        }
        Called::Shell(call) => {
            let told = (&mut described, &mut *audit, reply.id());
            shell(parts, tool_call, key, call, directories, (runner, person), told)
        }
    };
    let planned = planned.and_then(|planned| Ok(reply.hold(planned.cost).map(|()| planned)?));
    let feedback = match approved {
        Some(approved) => approved.feedback,
        None => Box::new(tool_call.feedback(reply.id())),
    };
    let Planned { work, allowed: (command, rule), description, .. } = match planned {
        Ok(planned) => planned,
        Err(Stopped::NotRun(why)) => {
            // The policy's refusals are recorded as decisions.
            if !matches!(why, NotRun::Policy(_) | NotRun::NotRecorded { .. }) {
                audit.not_started(key, Some(&why.to_string()));
            }
            return effects.and(not_run(tool_call, &described, reply, &why));
        }
        Err(Stopped::Asks(asked)) => {
            // Don't ask about a call that could not run.
            if let Some(why) = turns::busy(requests, &background.kept).filter(|_| is_of_shell) {
                audit.not_started(key, Some(&why.to_string()));
                return effects.and(not_run(tool_call, &described, reply, &why));
            }
            let way = match questions.way(&parts.ask, context, &asked, (requests, outgoing)) {
                Ok(way) => way,
                Err(why) => {
                    if matches!(why, NotRun::NobodyToAsk { .. }) {
                        effects.log(LogLevel::Warn, HOW_TO_ASK);
                    }
                    audit.not_started(key, Some(&why.to_string()));
                    return effects.and(not_run(tool_call, &described, reply, &why));
                }
            };
            let description = tool_call.describe(|| {
                let tool = Fields::default().ours("tool", tool_call.tool).and(&described);
                tool.directory(asked.proposal.directory())
            });
            request.params.extend(kept.map(|arguments| ("arguments".to_owned(), arguments)));
            let mut pending = Pending { reply, description, feedback };
            if let (Some(ttl), true, None) = (parts.task_ttl(), is_background, pending.reply.task()) {
                if pending.feedback.takes_tasks() {
                    let tasks = &mut background.tasks;
                    effects.extend(task_requests::for_pending(tasks, &mut pending, ttl, TaskChange::Works));
                }
            }
            let way = match (way, pending.reply.task()) {
                (Way::Result, Some(_)) => Way::Task,
                (way, _) => way,
            };
            let asked_call = AskedCall { request, pending, key, question: 0 };
            let asks = match way {
                Way::Program(_) | Way::Request | Way::Task => {
                    let told = (context, &parts.ask, &*parts.observer);
                    questions.wait((requests, outgoing), way, *asked, asked_call, told)
                }
                Way::Result => ask_in_result(parts, outgoing, *asked, asked_call, context),
            };
            return effects.and(asks);
        }
    };
    let allowed = feedback.allowed(&command, &rule);
    let is_full = requests.has_no_room_for(&work).map(|most| NotRun::BackgroundFull { most });
    if let Some(why) = is_full.or_else(|| turns::busy(requests, &background.kept).filter(|_| is_of_shell)) {
        audit.not_started(key, Some(&why.to_string()));
        return effects.and(not_run(tool_call, &described, reply, &why));
    }
    match requests.queue(key, Pending { reply, description, feedback }, work) {
        Ok(()) => effects.send(allowed),
        Err(pending) => {
            audit.not_started(key, Some(&NotRun::QueueFull.to_string()));
            return effects.and(not_run(tool_call, &described, pending.reply, &NotRun::QueueFull));
        }
    }
    effects
}

/// Answers a call that does not run, without a decision, and records it.
fn undecided(audit: &mut Auditor, tool_call: ToolCall<'_>, asked: &Fields, reply: Reply, why: &NotRun) -> Effects {
    audit.refused(reply.id(), reply.called(), None, &why.to_string());
    not_run(tool_call, asked, reply, why)
}

/// What the log tells the operator if nobody can be asked.
const HOW_TO_ASK: &str = "a call needs a person's approval, and its client shows no forms (elicitation); name a program that asks \
     with `--ask-with`";

/// What is known of a person's approval.
#[derive(Clone, Copy)]
struct Person<'a> {
    questions: &'a Questions,
    /// What was approved for this very call.
    approved: Option<&'a CallToApprove>,
}

/// The name of the tool that a call names, and the call's arguments.
fn tool_of<'a>(
    parts: &Parts,
    params: &'a Map<String, Value>,
    arguments: Option<Value>,
) -> Result<(&'a str, ToolKind, Map<String, Value>), ErrorObject> {
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        return Err(ErrorObject::invalid_params("`tools/call` needs `name`, the name of a tool, as a string"));
    };
    let arguments = match arguments {
        None => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(ErrorObject::invalid_params("`arguments` must be an object")),
    };
    let Some(kind) = parts.toolbox.find(name) else {
        let known: Vec<&str> = parts.toolbox.list().map(|tool| tool.name.as_str()).collect();
        let message = format!("unknown tool {}; the tools are {}", quoted(name), known.join(", "));
        return Err(ErrorObject::invalid_params(message));
    };
    Ok((name, kind, arguments))
}

/// Whether a call can't be decided without the client's roots: if it names a directory, runs in the client's first
/// root, or has paths among its words that a rule bounds. The shell starts in the first root and may change to others,
/// and a sandbox follows the roots, so these calls always need them.
fn needs_roots(parts: &Parts, called: &Called) -> bool {
    let names_directory = match called {
        Called::Execute(call) => call.cwd.is_some(),
        Called::Shell(_) => true,
        Called::Calls(_) | Called::Done(_) => false,
    };
    names_directory
        || !parts.policy.directories().has_operators_project()
        || parts.confinement.is_on()
        || parts.confinement.confines_rules()
        || parts.bounds_paths
}

/// Has the policy decide on a call that runs one process.
fn process(
    parts: &Parts,
    tool_call: ToolCall<'_>,
    key: u64,
    call: Call,
    directories: Option<&Directories>,
    person: Person<'_>,
    (described, audit, id): (&mut Fields, &mut Auditor, &RequestId),
) -> Result<Planned, Stopped> {
    let Call { command, cwd, input, timeout, is_background, is_fed } = call;
    let asked_timeout = timeout;
    // Also shown to the person who approves the call, since it may run that much longer.
    let timeout = timeout.or(is_background.then_some(parts.max_background));
    let directories = directories.unwrap_or(parts.policy.directories());
    let before = person.questions.remembered(tool_call.tool, input.as_deref(), timeout);
    let approved = Approved { now: person.approved.map(|asked| &asked.proposal), before: &before };
    let requested = Requested { command, cwd: cwd.as_deref(), has_input: input.is_some(), approved };
    let decision = parts.policy.evaluate(directories, requested);
    let explanation = decision.explanation;
    let refusal = decision.outcome.as_ref().err();
    parts.observer.decided(&Decided { call: key, tool: tool_call.tool, explanation: &explanation, refusal });
    *described = tool_call.decided(key, &explanation.words);
    audit.decided(|| {
        let argv = match &decision.outcome {
            Ok(command) => Some(command.words()),
            Err(Refusal::NeedsApproval(proposal)) => Some(proposal.words()),
            Err(_) => None,
        };
        let argv = argv.map(|words| (words, explanation.secrets.as_slice()));
        audit::Decided {
            input: input.as_ref().map(|input| Digest::of(input.as_bytes())),
            timeout_ms: asked_timeout.map(milliseconds),
            background: is_fed,
            task: tool_call.task.is_some(),
            ..decided_record((key, id, tool_call.tool), &explanation, argv, refusal)
        }
    })?;
    let command = match decision.outcome {
        Ok(command) => command,
        Err(Refusal::NeedsApproval(proposal)) => {
            let (tool, sandbox) = (tool_call.tool.to_owned(), parts.confinement.describe_for(proposal.rule()));
            return Err(Stopped::Asks(Box::new(CallToApprove { proposal: *proposal, input, timeout, tool, sandbox })));
        }
        Err(refusal) => return Err(refusal.into()),
    };
    let limits = Limits { timeout: command.timeout(timeout, parts.limits.timeout), ..parts.limits };
    let rule = explanation.rule.map_or_else(String::new, |rule| rule.to_string());
    let description = tool_call.describe(|| {
        let tool = Fields::default().ours("tool", tool_call.tool).and(described);
        let fields = tool.directory(command.directory().path()).allowed(&rule);
        if is_background { fields.ours("background", true) } else { fields }
    });
    Ok(Planned {
        allowed: (command.words().first().cloned().unwrap_or_default(), rule),
        description,
        cost: cost_of_words(command.words()),
        work: Work::Process(Box::new(Job {
            key,
            command,
            input: input.map(String::into_bytes),
            limits,
            // After the answer, only a task still reports its progress.
            wants_progress: tool_call.context.progress_token.is_some() && (!is_background || tool_call.task.is_some()),
            is_background,
            is_fed,
            literal_pattern: explanation.literal_pattern,
            revision: tool_call.context.revision,
            shown: explanation.words,
            spool: None,
            feed: None,
            is_audited: audit.is_on(),
        })),
    })
}

/// Has the policy decide on a call of the persistent shell, as far as that is possible before its turn.
fn shell(
    parts: &Parts,
    tool_call: ToolCall<'_>,
    key: u64,
    call: ShellCall,
    directories: Option<Arc<Directories>>,
    (runner, person): (&ShellRunner, Person<'_>),
    (described, audit, id): (&mut Fields, &mut Auditor, &RequestId),
) -> Result<Planned, Stopped> {
    let ShellCall { what, timeout } = call;
    let mut cost = directories.as_ref().map_or(0, |directories| cost_of_directories(directories.client_roots()));
    let mut of_rule = None;
    let mut shown = Vec::new();
    let (request, facts) = match what {
        ShellRequest::Restart => {
            let tool = (key, id, tool_call.tool);
            audit.decided(|| decided_record(tool, &Explanation::default(), None, None))?;
            (TurnOf::Restart, ShellCommandFacts::default())
        }
        ShellRequest::Command { entry, arguments } => {
            let literal_pattern = arguments.literal_pattern;
            let ShellDecision { explanation, outcome, change } = decide(&parts.policy, &entry, arguments);
            let here = directories.as_deref().unwrap_or(parts.policy.directories());
            let outcome =
                outcome.and_then(|command| in_shell(command, (runner, here), person, (tool_call.tool, timeout)));
            let refusal = outcome.as_ref().err();
            parts.observer.decided(&Decided { call: key, tool: tool_call.tool, explanation: &explanation, refusal });
            *described = tool_call.decided(key, &explanation.words);
            audit.decided(|| {
                let argv = match &outcome {
                    Ok(command) => Some((command.words(), command.secrets())),
                    Err(Refusal::NeedsApproval(proposal)) => Some((proposal.words(), proposal.secrets())),
                    Err(_) => None,
                };
                let argv = argv.as_ref().map(|(words, secrets)| (*words, secrets.as_slice()));
                let timeout_ms = timeout.map(milliseconds);
                let decided = decided_record((key, id, tool_call.tool), &explanation, argv, refusal);
                audit::Decided { timeout_ms, ..decided }
            })?;
            let command = match outcome {
                Ok(command) => command,
                Err(Refusal::NeedsApproval(proposal)) => {
                    let (tool, sandbox) = (tool_call.tool.to_owned(), parts.confinement.describe_for(proposal.rule()));
                    let asked = CallToApprove { proposal: *proposal, input: None, timeout, tool, sandbox };
                    return Err(Stopped::Asks(Box::new(asked)));
                }
                Err(refusal) => return Err(refusal.into()),
            };
            cost += cost_of_words(command.words());
            shown = explanation.words;
            of_rule = command.rule().and_then(|rule| rule.timeout);
            let success = command.rule().map(|rule| rule.success_exit_codes.clone()).unwrap_or_default();
            let request = match change {
                // The command only shows something, so the shell runs it.
                Some(Change::Show) | None => TurnOf::Run(command),
                Some(change) => TurnOf::Change(change, command),
            };
            (request, ShellCommandFacts { word: entry, literal_pattern, success })
        }
    };
    Ok(Planned {
        allowed: (facts.word.clone(), "the allow-list".to_owned()),
        description: tool_call
            .describe(|| Fields::default().ours("tool", format_args!("{} shell", tool_call.tool)).and(described)),
        cost,
        work: Work::Shell(Box::new(ShellTurn {
            request,
            context: CallContext {
                key,
                facts,
                revision: tool_call.context.revision,
                is_audited: audit.is_on(),
                is_kept: false,
                restarted: None,
            },
            limits: Limits { timeout: bounded(timeout, of_rule, parts.limits.timeout), ..parts.limits },
            directories,
            wants_progress: tool_call.context.progress_token.is_some(),
            shown,
            spool: None,
        })),
    })
}

/// What a call asks to run, as its client sent it, cut to what the log shows.
enum Asked {
    Line(String),
    Words(Vec<String>),
}

impl Asked {
    /// `entry` is the command of a tool that has one of its own.
    fn of(arguments: &Map<String, Value>, entry: Option<&str>) -> Self {
        let word = |value: &Value| value.as_str().map(cut);
        if let Some(line) = ["command", "arguments"].into_iter().find_map(|key| word(arguments.get(key)?)) {
            return Self::Line(entry.map_or_else(|| line.clone(), |entry| format!("{entry} {line}")));
        }
        let words = arguments.get("args").and_then(Value::as_array).into_iter().flatten().take(MOST_ASKED);
        Self::Words(arguments.get("file").into_iter().chain(words).filter_map(word).collect())
    }

    fn describe(&self, parts: &Parts) -> Fields {
        let words = match self {
            Self::Line(line) => split_words(line).unwrap_or_else(|_| vec![line.clone()]),
            Self::Words(words) => words.clone(),
        };
        Fields::default().asked(&parts.policy.without_secrets(words))
    }
}

fn cut(word: &str) -> String {
    let is_long = word.chars().nth(LONGEST_ASKED).is_some();
    word.chars().take(LONGEST_ASKED).chain(is_long.then_some('…')).collect()
}

/// The command with a person's approval, where its rule asks for one. What else stands against it where the shell is now is
/// found out when its turn comes, and so is whether it is still what was approved.
///
/// # Errors
/// [`Refusal::NeedsApproval`].
fn in_shell(
    command: ShellCommand,
    (runner, directories): (&ShellRunner, &Directories),
    person: Person<'_>,
    (tool, timeout): (&str, Option<Duration>),
) -> Result<ShellCommand, Refusal> {
    if !command.rule().is_some_and(|rule| rule.asks()) {
        return Ok(command);
    }
    if let Some(asked) = person.approved {
        return Ok(command.approved(asked.proposal.clone()));
    }
    let Err(Refusal::NeedsApproval(proposal)) = runner.check(&command, directories) else { return Ok(command) };
    let mut before = person.questions.remembered(tool, None, timeout).into_iter();
    match before.find(|before| before.is_same(&proposal)) {
        Some(before) => Ok(command.approved(before.clone())),
        None => Err(Refusal::NeedsApproval(proposal)),
    }
}
