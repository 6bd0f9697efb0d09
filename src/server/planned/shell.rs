//! The plan of a call of the persistent shell.

use std::sync::Arc;

use super::{Deciding, Planned, Stopped};
use crate::exec::Limits;
use crate::policy::{Directories, Explanation, Proposed, Refusal, ShellCommand, bounded};
use crate::server::budget::{cost_of_directories, cost_of_words};
use crate::server::facts::Known;
use crate::server::facts::shown as shown_in_list;
use crate::server::log::Fields;
use crate::server::recorded::RecordedDecision;
use crate::server::requests::Work;
use crate::server::shell_runner::{CallContext, ShellPlace, ShellRunner, ShellTurn, TurnOf};
use crate::server::terms::Terms;
use crate::shell::dialect::Change;
use crate::shell::{ShellDecision, decide};
use crate::tools::ShellCall;
use crate::tools::shell::{ShellCommandFacts, ShellRequest};

impl Deciding<'_> {
    /// Decides on a call of the persistent shell, as far as that is possible before its turn.
    pub(in crate::server) fn shell(
        &mut self,
        call: ShellCall,
        directories: Option<Arc<Directories>>,
        shell: &ShellRunner,
    ) -> Result<Planned, Stopped> {
        let (parts, tool_call) = (self.parts, self.tool_call);
        let ShellCall { what, timeout } = call;
        let mut cost = directories.as_ref().map_or(0, |directories| cost_of_directories(directories.client_roots()));
        let mut of_rule = None;
        let mut shown = Vec::new();
        let (request, facts) = match what {
            ShellRequest::Restart => {
                let (named, explanation) = ((self.id, tool_call.tool.as_str()), Explanation::default());
                self.audit.decided((self.key, self.facts), self.client(), named, || {
                    vec![RecordedDecision::of(&explanation, None)]
                })?;
                (TurnOf::Restart, ShellCommandFacts::default())
            }
            ShellRequest::Command { entry, arguments } => {
                let literal_pattern = arguments.literal_pattern;
                let ShellDecision { explanation, outcome, change } = decide(&parts.policy, &entry, arguments);
                let here = directories.as_deref().unwrap_or(parts.policy.directories());
                let tool = tool_call.tool.clone();
                let terms = Terms { tool, input: None, timeout, is_background: false, is_in_shell: true };
                let outcome = outcome.and_then(|command| self.in_shell(command, (&shell.place_in(here), here), &terms));
                self.record(&explanation, outcome.as_ref().err(), || {
                    let argv = match &outcome {
                        Ok(command) => Some((command.words(), command.secrets())),
                        Err(Refusal::NeedsApproval(proposal)) => Some((proposal.words(), proposal.secrets())),
                        Err(_) => None,
                    };
                    let refusal = outcome.as_ref().err();
                    RecordedDecision { argv, timeout, ..RecordedDecision::of(&explanation, refusal) }
                })?;
                let command = outcome.map_err(|refusal| self.stopped(refusal, terms))?;
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
        let description = tool_call
            .describe(|| Fields::default().ours("tool", format_args!("{} shell", tool_call.tool)).and(&self.described));
        let timeout = bounded(timeout, of_rule, parts.limits.timeout);
        Ok(Planned {
            allowed: (facts.word.clone(), "the allow-list".to_owned()),
            known: Known { description, command: shown_in_list(&shown, &parts.secrets), timeout },
            cost,
            work: Work::Shell(Box::new(ShellTurn {
                request,
                context: CallContext {
                    key: self.key,
                    facts,
                    revision: tool_call.context.revision,
                    is_audited: self.audit.is_on(),
                    is_kept: false,
                    restarted: None,
                },
                limits: Limits { timeout, ..parts.limits },
                directories,
                wants_progress: tool_call.context.progress_token.is_some(),
                shown,
                described: self.described.clone(),
                spool: None,
            })),
        })
    }

    /// The command with a person's approval, where its rule asks for one. What else stands against it where the shell is
    /// now is found out when its turn comes, and so is whether it is still what was approved.
    ///
    /// # Errors
    /// [`Refusal::NeedsApproval`].
    fn in_shell(
        &self,
        command: ShellCommand,
        (place, directories): (&ShellPlace, &Directories),
        terms: &Terms,
    ) -> Result<ShellCommand, Refusal> {
        if !command.rule().is_some_and(|rule| rule.asks()) {
            return Ok(command);
        }
        if let Some(approved) = self.approved_on(terms).and_then(Proposed::command) {
            return Ok(command.approved(approved.clone()));
        }
        let Err(Refusal::NeedsApproval(proposal)) = place.check(&command, directories) else { return Ok(command) };
        let mut before = self.remembered_on(terms).filter_map(Proposed::command);
        match before.find(|before| before.is_same(&proposal)) {
            Some(before) => Ok(command.approved(before.clone())),
            None => Err(Refusal::NeedsApproval(proposal)),
        }
    }
}
