//! The client's roots: asks for them, waits for them, and finds the directories for decisions.
//!
//! In the legacy era, the server asks the client after the handshake, and again when the client says that the roots
//! changed. Calls are held until a thread has narrowed the directories to the answer, but not for long. In the modern era,
//! the roots come with the call that needs them, its own thread narrows the directories to them, and nothing is kept.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::call_threads::NO_CALL;
use super::event::{Deadline, Event};
use super::narrowed::Narrowed;
use super::narrowing::CalledIn;
use super::not_run::NotRun;
use super::outgoing::Question;
use super::replies::Reply;
use super::run::{Lifecycle, Server};
use super::sent_words::SentWords;
use super::session::RequestContext;
use crate::config::{LogLevel, RootsMode};
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR};
use crate::mcp::{MISSING_CLIENT_CAPABILITY, has_roots, root_uris, roots_required_capabilities};
use crate::policy::MOST_ROOTS;
use crate::text::quote;

/// How long calls are held for the client's answer, and then until its roots were looked at.
const ANSWER_TIME: Duration = Duration::from_secs(3);

/// The most threads that may look at roots for which nobody waits any more. Beyond that no other roots are looked at.
const MOST_HANGING: usize = 4;

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
            (self.roots.asked, self.roots.is_overdue, self.roots.is_stale) = (Some(number), false, false);
            self.inbox.after(ANSWER_TIME, Deadline::Outgoing(number));
            self.send(Some(request));
        }
    }

    /// Handles the client's answer to the request of this number: a thread narrows the directories to it.
    pub(super) fn roots_answered(&mut self, number: u64, answer: &Result<Value, Value>) {
        if self.roots.asked.take_if(|asked| *asked == number).is_none() {
            return;
        }
        self.inbox.forget(Deadline::Outgoing(number));
        match answer {
            Ok(result) => match root_uris(result, MOST_ROOTS) {
                Some(uris) => (self.roots.latest, self.roots.waiting) = (Some(number), Some((number, uris))),
                None => self.log.write(LogLevel::Warn, "the client's answer to `roots/list` isn't a list of roots"),
            },
            Err(error) => {
                let why = quote(&error.to_string(), 256).to_string();
                self.log.write(LogLevel::Warn, &format!("the client does not tell its roots: {why}"));
            }
        }
        self.look_at_roots();
        // Before held calls are served: they wait for what has changed.
        if self.roots.is_stale && self.lifecycle == Lifecycle::Serving {
            self.ask_for_roots();
        }
        self.serve_held();
    }

    /// Lets a thread look at the latest answer, once no other does.
    fn look_at_roots(&mut self) {
        if self.roots.looked_at.is_some() {
            return;
        }
        let Some((number, uris)) = self.roots.waiting.take() else { return };
        let begun = match self.roots.hanging < MOST_HANGING {
            true => {
                let narrowing = Arc::clone(&self.narrowing);
                let narrow = move || {
                    let narrowed = catch_unwind(AssertUnwindSafe(|| narrowing.narrow_to(&uris)));
                    Some(Event::Narrowed { asked: number, narrowed: narrowed.ok().map(Box::new) })
                };
                self.calls.on_a_thread(NO_CALL, narrow).map_err(|why| why.to_string())
            }
            false => Err("looks at earlier ones have not ended".to_owned()),
        };
        match begun {
            Ok(()) => {
                self.roots.looked_at = Some(number);
                self.inbox.after(ANSWER_TIME, Deadline::Outgoing(number));
            }
            Err(why) => {
                self.roots.is_unknown = true;
                self.log.write(LogLevel::Warn, &format!("the client's roots can't be looked at: {why}"));
            }
        }
    }

    /// Handles the directories that result from the answer to the request of this number.
    pub(super) fn roots_narrowed(&mut self, number: u64, narrowed: Option<Narrowed>) {
        self.inbox.forget(Deadline::Outgoing(number));
        if self.roots.ends_look(number) {
            self.roots.is_unknown = narrowed.is_none();
            if let Some(narrowed) = narrowed {
                self.roots.known = Some(Arc::clone(&narrowed.directories));
                let told = self.narrowing.record(narrowed);
                told.iter().for_each(|(level, line)| self.log.write(*level, line));
            }
        }
        self.look_at_roots();
        self.serve_held();
    }

    /// Stops holding calls for the answer to the request of this number, or for the thread that looks at it.
    pub(super) fn roots_overdue(&mut self, number: u64) {
        let waited = ANSWER_TIME.as_secs();
        if self.roots.looked_at == Some(number) {
            self.roots.give_up_look();
            self.roots.is_unknown |= self.roots.latest == Some(number);
            self.log.write(LogLevel::Warn, &format!("the client's roots could not be looked at within {waited} s"));
            self.look_at_roots();
        } else if self.roots.asked == Some(number) && !self.roots.is_overdue {
            self.roots.is_overdue = true;
            self.log.write(LogLevel::Warn, &format!("the client did not tell its roots within {waited} s"));
        }
        self.serve_held();
    }

    /// Stops waiting for an answer, because none can come any more. One that has come counts.
    pub(super) fn give_up_roots(&mut self) {
        self.roots.asked = None;
        self.serve_held();
    }

    /// Serves the held calls, unless the client's roots are still awaited.
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
            return Ok(Placed::In(CalledIn::Operators));
        }
        let is_required = self.roots.mode == RootsMode::Require;
        let declares = has_roots(&context.client_capabilities);
        let known = if !context.revision.is_modern() {
            if self.roots.is_unknown {
                return Ok(Placed::NotRun(NotRun::Hangs));
            }
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
        Ok(match known {
            Some(directories) => Placed::In(CalledIn::Known { directories, sent: sent.take() }),
            None if !is_required => Placed::In(CalledIn::Operators),
            None if declares => Placed::NotRun(NotRun::NoRoots { why: "the client has not told them" }),
            None => Placed::NotRun(NotRun::NoRoots { why: "the client does not declare the capability `roots`" }),
        })
    }
}
