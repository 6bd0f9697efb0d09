//! The client's roots: asks for them, waits for them, and finds the directories for decisions.
//!
//! In the legacy era, the server asks the client after the handshake, and again when the client says that the roots
//! changed. Calls are held until a thread has narrowed the directories to the answer, but not for long. In the modern era,
//! the roots come with the call that needs them, its own thread narrows the directories to them, and nothing is kept.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::event::Deadline;
use super::narrowing::{CalledIn, unusable};
use super::not_run::NotRun;
use super::outgoing::Question;
use super::replies::Reply;
use super::run::{Lifecycle, Server};
use super::sent_words::SentWords;
use super::session::RequestContext;
use crate::config::{LogLevel, RootsMode};
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR};
use crate::mcp::{MISSING_CLIENT_CAPABILITY, has_roots, root_uris, roots_required_capabilities};
use crate::policy::{Directories, MOST_ROOTS};
use crate::text::quote;

/// How long calls are held for the client's answer, and then until its roots were looked at.
const ANSWER_TIME: Duration = Duration::from_secs(3);

/// The place of a call.
pub(super) enum Placed {
    /// It is decided on in these directories.
    In(CalledIn),
    /// Not known yet: this result asks for the roots.
    Asked(Value),
    /// None: the call does not run.
    NotRun(NotRun),
}

impl Server<'_> {
    /// Asks a legacy client for its roots, if it has the capability.
    pub(super) fn ask_for_roots(&mut self) {
        let is_wanted = match self.roots.mode {
            RootsMode::Use | RootsMode::Require => self.session.client_capabilities().is_some_and(has_roots),
            RootsMode::Ignore => false,
        };
        if self.roots.asked.is_some() {
            self.roots.is_stale = is_wanted;
        } else if is_wanted {
            let (number, request) = self.outgoing.send(Question::Roots, &json!({}));
            (self.roots.asked, self.roots.is_answered) = (Some(number), false);
            (self.roots.is_overdue, self.roots.is_stale) = (false, false);
            self.inbox.after(ANSWER_TIME, Deadline::Outgoing(number));
            self.send(Some(request));
        }
    }

    /// Handles the client's answer to the request of this number: a thread narrows the directories to it.
    pub(super) fn roots_answered(&mut self, number: u64, answer: &Result<Value, Value>) {
        if self.roots.asked != Some(number) {
            return;
        }
        let uris = match answer {
            Ok(result) => root_uris(result, MOST_ROOTS)
                .ok_or_else(|| "the client's answer to `roots/list` isn't a list of roots".to_owned()),
            Err(error) => Err(format!("the client does not tell its roots: {}", quote(&error.to_string(), 256))),
        };
        let narrows = uris.and_then(|uris| {
            let without = |why| format!("the client's roots can't be looked at: {why}");
            self.calls.narrow_to(number, uris).map_err(without)
        });
        match narrows {
            Ok(()) => {
                // That has a time of its own, in which calls are held, even if the answer came late.
                (self.roots.is_answered, self.roots.is_overdue) = (true, false);
                self.inbox.forget(Deadline::Outgoing(number));
                self.inbox.after(ANSWER_TIME, Deadline::Outgoing(number));
            }
            Err(why) => {
                self.log.write(LogLevel::Warn, &why);
                self.roots_settled();
            }
        }
    }

    /// Handles the directories that result from the answer to the request of this number.
    pub(super) fn roots_narrowed(&mut self, number: u64, directories: Arc<Directories>) {
        if self.roots.asked == Some(number) {
            self.roots.known = Some(directories);
            self.roots_settled();
        }
    }

    /// Goes on once an answer is known, or can't be used.
    fn roots_settled(&mut self) {
        self.roots.asked = None;
        self.serve_held();
        if self.roots.is_stale && self.lifecycle == Lifecycle::Serving {
            self.ask_for_roots();
        }
    }

    /// Stops holding calls for the answer to the request of this number.
    pub(super) fn roots_overdue(&mut self, number: u64) {
        if self.roots.asked == Some(number) && !self.roots.is_overdue {
            self.roots.is_overdue = true;
            let waited = ANSWER_TIME.as_secs();
            let line = match self.roots.is_answered {
                true => format!("the client's roots could not be looked at within {waited} s"),
                false => format!("the client did not tell its roots within {waited} s"),
            };
            self.log.write(LogLevel::Warn, &line);
        }
        self.serve_held();
    }

    /// Stops waiting for an answer, because none can come any more. One that has come counts.
    pub(super) fn give_up_roots(&mut self) {
        if !self.roots.is_answered {
            self.roots.asked = None;
        }
        self.serve_held();
    }

    /// Serves the held calls, unless the client's answer is still awaited.
    fn serve_held(&mut self) {
        if !self.roots.are_awaited() {
            self.requests.release().into_iter().for_each(|held| self.serve_request(held));
        }
    }

    /// Determines the directories for the decision on a call. If it `needs_roots`, it can't be decided without the
    /// client's roots. `params` are those of its request, and `sent` are its words.
    ///
    /// # Errors
    /// The error object for a request that can't be served at all.
    pub(super) fn place(
        &mut self,
        params: &Map<String, Value>,
        context: &RequestContext,
        (needs_roots, sent): (bool, &mut Option<SentWords>),
        reply: &mut Reply,
    ) -> Result<Placed, ErrorObject> {
        if self.roots.mode == RootsMode::Ignore {
            return Ok(Placed::In(CalledIn::Known(None)));
        }
        let is_required = self.roots.mode == RootsMode::Require;
        let declares = has_roots(&context.client_capabilities);
        let known = if !context.revision.is_modern() {
            self.roots.known.clone()
        } else if let Some(answer) = Question::Roots.answer_in(params).filter(|_| declares) {
            let Some(uris) = root_uris(answer, MOST_ROOTS) else {
                return Err(ErrorObject::invalid_params("`inputResponses.roots` must be the result of `roots/list`"));
            };
            return Ok(match reply.hold(uris.iter().map(String::len).sum()) {
                Ok(()) => Placed::In(CalledIn::Roots { uris, sent: sent.take() }),
                Err(over_budget) => Placed::NotRun(over_budget.into()),
            });
        } else if declares {
            if needs_roots || is_required {
                // There is no decision yet that the question could be bound to.
                let questions = vec![(Question::Roots, Value::Null)];
                let result = self.outgoing.ask_in_result(questions, None, reply.new_charge(), context.revision);
                return result
                    .map(|(result, _)| Placed::Asked(result))
                    .map_err(|error| ErrorObject::new(INTERNAL_ERROR, error.to_string()));
            }
            None
        } else if is_required {
            let message = "calls are refused until the client's roots are known (`--roots require`), and this client does \
                           not declare `roots`";
            return Err(ErrorObject {
                code: MISSING_CLIENT_CAPABILITY,
                message: message.to_owned(),
                data: Some(roots_required_capabilities()),
            });
        } else {
            None
        };
        let why = match &known {
            _ if !is_required => None,
            Some(known) => unusable(known),
            None if declares => Some(NotRun::NoRoots { why: "the client has not told them" }),
            None => Some(NotRun::NoRoots { why: "the client does not declare the capability `roots`" }),
        };
        Ok(why.map_or(Placed::In(CalledIn::Known(known)), Placed::NotRun))
    }
}
