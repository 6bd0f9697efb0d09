//! Cancels requests, and tells the log and the audit log about it.

use super::event::Deadline;
use super::log::Fields;
use super::replies::Reply;
use super::requests::{Cancelled, CancelledAs};
use super::run::Server;
use crate::config::LogLevel;
use crate::jsonrpc::RequestId;

impl Server<'_> {
    /// Gives up every request with this id, without an answer.
    pub(super) fn cancel(&mut self, id: &RequestId) {
        for cancelled in self.requests.cancel(id) {
            let reply = self.record_cancelled(cancelled);
            self.withdraw(reply);
        }
    }

    /// Tells the log and the audit log; returns the right to answer the request.
    pub(super) fn record_cancelled(&mut self, cancelled: Cancelled) -> Reply {
        let Cancelled { key, reply, call, was } = cancelled;
        self.inbox.forget(Deadline::Read(key));
        if let Some(facts) = call {
            let line = Fields::of_call(reply.id()).and(facts.description()).ours("cancelled", true);
            self.log.write(LogLevel::Info, line.as_str());
        }
        match was {
            CancelledAs::Undecided => {
                self.audit.refused(&reply, None, "cancelled before it was decided on");
            }
            CancelledAs::Deciding(call) => {
                self.audit.given_up(call, &reply, "cancelled before it was decided on");
            }
            CancelledAs::Queued(call) => self.audit.not_started(call, None),
            CancelledAs::Other => {}
        }
        reply
    }
}
