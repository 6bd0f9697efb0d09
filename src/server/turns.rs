//! The turn of a call, and its end: what starts it, what it left behind, its answer.

use std::sync::Arc;
use std::time::Duration;

use super::anchor::Anchor;
use super::asker::Asker;
use super::auditor::Auditor;
use super::effects::{Effect, Effects};
use super::event::{CallEnded, Deadline, HowEnded};
use super::kept::KeptCalls;
use super::late_parts::LateParts;
use super::leftovers::Leftovers;
use super::log::Fields;
use super::not_run::NotRun;
use super::parts::Parts;
use super::reading::Background;
use super::requests::{Finished, LaneName, Pending, Requests, Work};
use super::shell_runner::{Begun, ShellRunner};
use super::task_requests;
use super::tasks::TaskChange;
use super::workers::Workers;
use crate::config::LogLevel;
use crate::exec::{End, Looked};
use crate::mcp::{CallToolResult, Revision};
use crate::tools::{RunsIn, running_result};

/// The shortest run before a call is handed over, unless `--hand-over` is shorter.
const LEAST_RUN: Duration = Duration::from_millis(500);

/// What runs calls.
pub(super) struct Runners {
    pub workers: Workers,
    pub shell: ShellRunner,
    pub leftovers: Leftovers,
    pub asker: Asker,
    /// What keeps the head of the audit log elsewhere, if the operator has a program for that.
    pub anchor: Option<Anchor>,
}

/// The pending calls, the calls that can be asked about, and the audit log.
type Calls<'a> = (&'a mut Requests, &'a mut KeptCalls, &'a mut Auditor);

/// Starts the calls whose turn it is; those that can't run are answered. While the leftovers of a call are being
/// searched for, none starts, so that none of its processes can be mistaken for leftovers.
pub(super) fn start(
    parts: &LateParts,
    (requests, background, audit): (&mut Requests, &mut Background, &mut Auditor),
    runners: &mut Runners,
) -> Effects {
    let mut effects = Effects::default();
    if runners.leftovers.are_looked_for() {
        return effects;
    }
    for lane in [LaneName::Processes, LaneName::Shell, LaneName::Background] {
        let Background { kept, tasks, .. } = &mut *background;
        while let Some((key, mut pending, work)) = requests.next(lane) {
            runners.leftovers.begins(key);
            audit.begins(key);
            let (revision, timeout) = (work.revision(), work.timeout());
            let begun = match work {
                Work::Process(mut job) => {
                    let words = std::mem::take(&mut job.shown);
                    job.spool = parts.keeper().map(|keeper| kept.begin(key, keeper, &words, lane));
                    job.feed = kept
                        .get_mut(key)
                        .filter(|_| job.is_fed())
                        .map(|call| Arc::clone(call.feed.insert(Arc::default())));
                    runners.workers.run(job).map(Begun::Runs)
                }
                Work::Shell(mut turn) => {
                    // A call that runs no command prints nothing.
                    turn.spool = parts
                        .keeper()
                        .filter(|_| !turn.shown.is_empty())
                        .map(|keeper| kept.begin(key, keeper, &turn.shown, lane));
                    let started = audit.is_on().then(|| turn.started());
                    let begun = runners.shell.begin(*turn, parts.policy.directories());
                    if let Some(started) = started.flatten().filter(|_| begun.is_ok()) {
                        audit.started(key, &started);
                    }
                    begun
                }
            };
            match begun {
                Ok(Begun::Runs(stop)) if lane == LaneName::Background => {
                    match (pending.reply.task(), parts.task_ttl()) {
                        (Some(task), _) => effects.push(Effect::Task(task, TaskChange::Runs(key))),
                        (None, Some(ttl)) if pending.feedback.takes_tasks() => {
                            let runs = TaskChange::Runs(key);
                            effects.extend(task_requests::for_pending(tasks, &mut pending, ttl, runs));
                        }
                        (None, _) => {}
                    }
                    if let Some(reply) = requests.run_in_background(key, pending, stop, false) {
                        let result = running_result(key, Default::default(), &parts.report, RunsIn::Process);
                        effects.push(Effect::Answer(reply, result.encode(revision)));
                    }
                }
                Ok(Begun::Runs(stop)) => {
                    // If the output is not kept, as for a restart of the shell, nobody could read the rest later.
                    let is_kept = kept.get(key).is_some();
                    if let Some(after) = parts.hand_over.filter(|after| *after < timeout && is_kept) {
                        // Even after a long wait in the queue, it gets some time to finish.
                        let left = after.saturating_sub(pending.feedback.age()).max(after.min(LEAST_RUN));
                        effects.push(Effect::Wait(left, Deadline::HandOver(key)));
                    }
                    requests.run(key, lane, pending, Some(stop));
                }
                Ok(Begun::Ended(ended)) => {
                    requests.run(key, lane, pending, None);
                    effects.push(Effect::End(ended));
                }
                Err(why) => {
                    runners.leftovers.ends(key);
                    kept.forget(key);
                    requests.give_up(lane);
                    effects.extend(not_started(audit, (key, pending, revision), &why));
                }
            }
        }
    }
    effects
}

/// Answers a call that was allowed but will never start.
fn not_started(audit: &mut Auditor, (key, pending, revision): (u64, Pending, Revision), why: &NotRun) -> Effects {
    let mut effects = Effects::default();
    let line = Fields::of_call(pending.reply.id()).and(&pending.description);
    effects.log(LogLevel::Info, line.reason(why.kind(), &why.to_string()).as_str());
    audit.not_started(key, Some(&why.to_string()));
    effects.push(Effect::Answer(pending.reply, CallToolResult::error(why.to_string()).encode(revision)));
    effects
}

/// Why a call of the persistent shell would have to wait longer than its client does: the shell runs a call that was
/// handed over, and nobody has told that one to end.
pub(super) fn busy(requests: &Requests, kept: &KeptCalls) -> Option<NotRun> {
    let call = requests.shell_is_busy_with()?;
    let running = kept.get(call).filter(|running| running.stopped.is_none())?;
    Some(NotRun::ShellBusy { call, command: running.command.clone() })
}

/// Answers the calls that wait for the persistent shell, if it will be busy for longer than they can wait.
pub(super) fn turn_away((requests, kept, audit): Calls<'_>) -> Effects {
    let mut effects = Effects::default();
    while let Some(why) = busy(requests, kept) {
        let Some(waiting) = requests.take_waiting_for_shell() else { break };
        effects.extend(not_started(audit, waiting, &why));
    }
    effects
}

/// Handles the end of a call's command. The answer waits until the processes that it left behind are gone.
pub(super) fn ended(parts: &Parts, tables: Calls<'_>, runners: &mut Runners, ended: CallEnded) -> Effects {
    match runners.leftovers.after(ended) {
        Some(ended) => finish(parts, tables, runners, ended),
        None => Effects::default(),
    }
}

/// Answers a call whose leftovers are gone, or are not waited for any more.
pub(super) fn looked(parts: &Parts, tables: Calls<'_>, runners: &mut Runners, looked: Looked) -> Effects {
    let Some(ended) = runners.leftovers.release(looked.key) else { return Effects::default() };
    let mut effects = Effects::default();
    if !looked.is_gone {
        let why = "processes that a call left behind could not be ended in time; the server keeps trying";
        effects.log(LogLevel::Warn, why);
    }
    effects.and(finish(parts, tables, runners, ended))
}

/// Answers a call, and tells the log and the client of its end.
fn finish(parts: &Parts, (requests, kept, audit): Calls<'_>, runners: &mut Runners, ended: CallEnded) -> Effects {
    audit.ended(&ended);
    let CallEnded { key, result, how, shell, facts: _ } = ended;
    kept.ended(key, &how);
    let mut effects = Effects::default();
    let restarted = shell.as_ref().and_then(|state| state.restarted.clone());
    match shell {
        None => runners.workers.release(key),
        Some(state) => {
            if let Some(why) = &state.restarted {
                effects.log(LogLevel::Warn, format!("the persistent shell was restarted: {why}"));
            }
            runners.shell.take(state, parts.policy.directories());
        }
    }
    if parts.hand_over.is_some() {
        effects.push(Effect::Forget(Deadline::HandOver(key)));
    }
    let Some(Finished { description, feedback, reply, is_background }) = requests.finish(key) else { return effects };
    if is_background {
        runners.shell.tell_later(restarted);
    }
    if parts.log_level >= LogLevel::Info {
        let line = describe_end(Fields::of_call(feedback.request()).and(&description), &how);
        effects.log(LogLevel::Info, line.as_str());
    }
    // In the modern era a message belongs to a pending request, and a call in the background has been answered.
    if !is_background || !feedback.revision().is_modern() {
        effects.send(feedback.ended(&how));
    }
    if let Some(reply) = reply {
        effects.push(Effect::Answer(reply, result));
    }
    effects
}

fn describe_end(fields: Fields, how: &HowEnded) -> Fields {
    match how {
        HowEnded::Ran { end, elapsed, .. } => {
            let fields = match end {
                End::Exited(code) => fields.ours("exit", code),
                End::Signaled(number) => fields.ours("signal", number),
                End::TimedOut(_) => fields.ours("timed_out", true),
                End::Stopped => fields.ours("stopped", true),
            };
            fields.ours("time", format_args!("{:.1}ms", elapsed.as_secs_f64() * 1000.0))
        }
        HowEnded::Failed(why) => fields.reason("failed", why),
    }
}
