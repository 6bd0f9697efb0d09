//! Cancels requests, and tells the log and the audit log about it.

use super::auditor::Auditor;
use super::effects::{Effect, Effects};
use super::event::Deadline;
use super::log::Fields;
use super::replies::Reply;
use super::requests::{Cancelled, CancelledAs, Requests};
use crate::config::LogLevel;
use crate::jsonrpc::RequestId;

/// Gives up every request with this id, without an answer.
pub(super) fn cancel(requests: &mut Requests, audit: &mut Auditor, id: &RequestId) -> Effects {
    let mut effects = Effects::default();
    for cancelled in requests.cancel(id) {
        let (told, reply) = tell(audit, cancelled);
        effects.extend(told);
        effects.push(Effect::Withdraw(reply));
    }
    effects
}

/// Tells the log and the audit log; returns the right to answer the request.
pub(super) fn tell(audit: &mut Auditor, cancelled: Cancelled) -> (Effects, Reply) {
    let Cancelled { key, reply, call, was } = cancelled;
    let mut effects = Effects::from(Effect::Forget(Deadline::Read(key)));
    if let Some(description) = call {
        let line = Fields::of_call(reply.id()).and(&description).ours("cancelled", true);
        effects.log(LogLevel::Info, line.as_str());
    }
    match was {
        CancelledAs::Undecided => {
            audit.refused(reply.id(), reply.called(), None, "cancelled before it was decided on");
        }
        CancelledAs::Queued(call) => audit.not_started(call, None),
        CancelledAs::Other => {}
    }
    (effects, reply)
}
