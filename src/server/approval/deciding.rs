//! The approvals that the decision on a call takes into account, and the question that may follow from it.

use std::sync::Arc;

use crate::policy::{Proposal, Proposed, Refusal};
use crate::server::planned::{Deciding, Stopped};
use crate::server::question::CallToApprove;
use crate::server::terms::Terms;

impl Deciding<'_> {
    /// The commands on these terms that are approved until the session ends.
    pub(in crate::server) fn approved_before(&self, terms: &Terms) -> Vec<&Proposal> {
        self.remembered_on(terms).filter_map(Proposed::command).collect()
    }

    /// The command of this very call as a person has approved it.
    pub(in crate::server) fn approved_now(&self, terms: &Terms) -> Option<&Proposal> {
        self.approved_on(terms).and_then(Proposed::command)
    }

    /// The approvals that hold until the session ends of calls on these terms.
    pub(in crate::server) fn remembered_on(&self, terms: &Terms) -> impl Iterator<Item = &Proposed> {
        let is_meant = |asked: &&Arc<CallToApprove>| asked.terms == *terms;
        self.remembered.iter().filter(is_meant).map(|asked| &asked.proposal)
    }

    /// Returns the person's approval of this very call, if the call still comes on the terms that were shown.
    pub(in crate::server) fn approved_on(&self, terms: &Terms) -> Option<&Proposed> {
        self.approved.filter(|asked| asked.terms == *terms).map(|asked| &asked.proposal)
    }

    /// Why a call does not go on that the policy refuses, or does not allow before a person approves it.
    pub(in crate::server) fn stopped(&self, refusal: Refusal, terms: Terms) -> Stopped {
        let Refusal::NeedsApproval(proposal) = refusal else { return refusal.into() };
        let sandbox = self.parts.confinement.describe_for(proposal.rule());
        Stopped::Asks(Box::new(CallToApprove { proposal: Proposed::Command(proposal), terms, sandbox }))
    }
}
