//! The decision on a call of several commands, before it waits for its turn.

use crate::audit::Digest;
use crate::exec::Limits;
use crate::policy::line::{LineDecision, LineRefusal, PartDecision, PartKind, PartOutcome, RequestedLine};
use crate::policy::{Directories, Explanation, Proposed, Refusal, bounded};
use crate::server::budget::cost_of_words;
use crate::server::facts::Known;
use crate::server::facts::shown as shown_in_list;
use crate::server::line_job::records::recorded_part;
use crate::server::line_job::{LineJob, changing_part, shown_words};
use crate::server::log::Fields;
use crate::server::not_run::NotRun;
use crate::server::observer::Decided;
use crate::server::planned::{CalledLine, Deciding, Planned, Stopped};
use crate::server::question::CallToApprove;
use crate::server::recorded::RecordedDecision;
use crate::server::requests::Work;
use crate::server::terms::Terms;

impl Deciding<'_> {
    /// Decides on a line before anything of it runs.
    ///
    /// # Errors
    /// [`Stopped`].
    pub(in crate::server) fn line(
        &mut self,
        called: CalledLine,
        terms: Terms,
        directories: &Directories,
    ) -> Result<Planned, Stopped> {
        let (parts, tool_call) = (self.parts, self.tool_call);
        let CalledLine { line, text, cwd, asked_timeout, is_background, is_fed, only_reads } = called;
        let before: Vec<_> = self.remembered_on(&terms).filter_map(Proposed::line).collect();
        let approved = self.approved_on(&terms).and_then(Proposed::line);
        let has_input = terms.input.is_some();
        let asked =
            RequestedLine { line, text: &text, cwd: cwd.as_deref(), has_input, only_reads, approved, before: &before };
        let LineDecision { parts: decided, is_read_only, reader, outcome } = parts.policy.plan(directories, asked);
        let shown = shown_words(&decided);
        let explanation = Explanation {
            words: shown.clone(),
            directory: decided.iter().find_map(|part| part.explanation.directory.clone()),
            ..Explanation::default()
        };
        let outcome = outcome.map_err(|refusal| Refusal::Line(Box::new(refusal)));
        parts.observer.decided(&Decided {
            call: self.key,
            tool: &tool_call.tool,
            explanation: &explanation,
            refusal: outcome.as_ref().err(),
        });
        self.described = tool_call.decided(self.key, &shown);
        let is_refused = |part: &&PartDecision| matches!(part.outcome, PartOutcome::Refused(_));
        let commands = decided.iter().filter(is_refused).filter(|part| part.kind == PartKind::Command);
        let mut ways: Vec<String> = commands.filter_map(|part| parts.suggest(&part.explanation)).collect();
        ways.dedup();
        if !ways.is_empty() {
            self.described = std::mem::take(&mut self.described).reason("to_allow", &ways.join("; "));
        }
        self.audit.decided((self.key, self.facts), self.client(), (self.id, &tool_call.tool), || {
            let input = terms.input.as_ref().map(|input| Digest::of(input.as_bytes()));
            let of_call = |part| {
                let decision = recorded_part(part, input.as_ref().zip(reader))?;
                let (timeout, is_task) = (asked_timeout, tool_call.task.is_some());
                Some(RecordedDecision { timeout, is_background: is_fed, is_task, ..decision })
            };
            decided.iter().filter_map(of_call).collect()
        })?;
        let planned = match outcome {
            Ok(_) if only_reads && !is_read_only => {
                return Err(NotRun::Arguments(parts.toolbox.not_read_only(&changing_part(&decided))).into());
            }
            Ok(planned) => planned,
            Err(refusal) => return Err(self.line_stopped(refusal, terms)),
        };
        let timeout = bounded(terms.timeout, planned.timeout(), parts.limits.timeout);
        let limits = Limits { timeout, ..parts.limits };
        let rule = "the rules of its commands".to_owned();
        let description = tool_call.describe(|| {
            let tool = Fields::default().ours("tool", &tool_call.tool).and(&self.described);
            let fields = tool.directory(planned.begin().directory.path()).allowed(&rule);
            if is_background { fields.ours("background", true) } else { fields }
        });
        let audited = self.audit.is_on().then(|| (self.id.clone(), tool_call.tool.clone()));
        Ok(Planned {
            allowed: (shown.first().cloned().unwrap_or_default(), rule),
            known: Known { description, command: shown_in_list(&shown, &parts.secrets), timeout },
            cost: cost_of_words(&shown) + 2 * text.len(),
            work: Work::Line(Box::new(LineJob {
                key: self.key,
                planned,
                directories: directories.clone(),
                input: terms.input.map(String::into_bytes),
                limits,
                wants_progress: tool_call.context.progress_token.is_some()
                    && (!is_background || tool_call.task.is_some()),
                revision: tool_call.context.revision,
                is_background,
                spool: None,
                audited,
            })),
        })
    }

    fn line_stopped(&self, refusal: Refusal, terms: Terms) -> Stopped {
        let Refusal::Line(line) = refusal else { return refusal.into() };
        let LineRefusal::NeedsApproval(proposal) = *line else { return Refusal::Line(line).into() };
        let proposal = Proposed::Line(proposal);
        let sandbox = self.parts.sandboxes_of(&proposal);
        Stopped::Asks(Box::new(CallToApprove { proposal, terms, sandbox }))
    }
}
