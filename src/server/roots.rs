//! The client's roots: asks for them, waits for them, and turns them into the directories for decisions.
//!
//! In the legacy era, the server asks the client after the handshake, and again when the client says that the roots
//! changed. Calls are held until the answer, but not for long. In the modern era, the roots come with the call that
//! needs them, and nothing is kept.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::effects::{Effect, Effects};
use super::event::Deadline;
use super::log;
use super::not_run::NotRun;
use super::outgoing::{Outgoing, Question};
use super::replies::Reply;
use super::requests::Requests;
use super::session::{RequestContext, Session};
use crate::audit;
use crate::config::{LogLevel, RootsMode};
use crate::files::{Held, are_same};
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR};
use crate::mcp::{MISSING_CLIENT_CAPABILITY, has_roots, root_uris, roots_required_capabilities};
use crate::policy::{Directories, DirectoryError, MOST_ROOTS};
use crate::text::{escape_os, quote};

/// How long calls are held for the client's answer.
const ANSWER_TIME: Duration = Duration::from_secs(3);

/// What is known of the client's roots.
#[derive(Debug)]
pub(super) struct Roots {
    mode: RootsMode,
    /// The number of the request that the client has not answered yet.
    asked: Option<u64>,
    /// Whether calls are no longer held for its answer.
    is_overdue: bool,
    /// Whether the roots have changed since it was sent.
    is_stale: bool,
    /// The answer of a legacy client.
    known: Option<Arc<Directories>>,
    /// The directories that resulted from the last roots, in either era.
    last: Option<Arc<Directories>>,
}

/// The directories for the decision on a call.
pub(super) enum DecidedIn {
    /// These; `None` for the operator's own.
    These(Option<Arc<Directories>>),
    /// Not known yet: this result asks for the roots.
    Asked(Value),
    /// None: the call does not run.
    NotRun(NotRun),
}

impl Roots {
    pub(super) fn new(mode: RootsMode) -> Self {
        Self { mode, asked: None, is_overdue: false, is_stale: false, known: None, last: None }
    }

    /// Forgets the client before a new handshake. Held calls go on at the deadline that was set for them.
    pub(super) fn reset(&mut self, outgoing: &mut Outgoing) {
        (self.asked, self.known) = (None, None);
        outgoing.forget_sent();
    }

    /// Whether calls are held until the client answers.
    pub(super) fn are_awaited(&self) -> bool {
        self.asked.is_some() && !self.is_overdue
    }

    /// Asks a legacy client for its roots, if it has the capability.
    pub(super) fn ask(&mut self, session: &Session, outgoing: &mut Outgoing) -> Effects {
        let is_wanted = match self.mode {
            RootsMode::Use | RootsMode::Require => session.client_capabilities().is_some_and(has_roots),
            RootsMode::Ignore => false,
        };
        let mut effects = Effects::default();
        if self.asked.is_some() {
            self.is_stale = is_wanted;
        } else if is_wanted {
            let (number, request) = outgoing.send(Question::Roots, &json!({}));
            (self.asked, self.is_overdue, self.is_stale) = (Some(number), false, false);
            effects.push(Effect::Wait(ANSWER_TIME, Deadline::Outgoing(number)));
            effects.push(Effect::Send(request));
        }
        effects
    }

    /// Handles the client's answer to the request of this number.
    pub(super) fn answered(
        &mut self,
        number: u64,
        answer: &Result<Value, Value>,
        operators: &Directories,
        (session, requests, outgoing): (&Session, &mut Requests, &mut Outgoing),
    ) -> Effects {
        if self.asked.take_if(|asked| *asked == number).is_none() {
            return Effects::default();
        }
        let mut effects = Effects::default();
        match answer {
            Ok(result) => match root_uris(result, MOST_ROOTS) {
                Some(uris) => self.known = Some(self.narrow(&uris, operators, &mut effects)),
                None => effects.log(LogLevel::Warn, "the client's answer to `roots/list` isn't a list of roots"),
            },
            Err(error) => {
                let why = error.to_string();
                effects.log(LogLevel::Warn, format!("the client does not tell its roots: {}", quote(&why, 256)));
            }
        }
        effects.extend(self.release(requests));
        if self.is_stale {
            effects.extend(self.ask(session, outgoing));
        }
        effects
    }

    /// Stops holding calls for the answer to the request of this number.
    pub(super) fn overdue(&mut self, number: u64, requests: &mut Requests) -> Effects {
        let mut effects = Effects::default();
        if self.asked == Some(number) && !self.is_overdue {
            self.is_overdue = true;
            let waited = ANSWER_TIME.as_secs();
            effects.log(LogLevel::Warn, format!("the client did not tell its roots within {waited} s"));
        }
        effects.extend(self.release(requests));
        effects
    }

    /// Stops waiting for an answer, because none can come any more.
    pub(super) fn give_up(&mut self, requests: &mut Requests) -> Effects {
        self.asked = None;
        self.release(requests)
    }

    /// Serves the held calls, unless the client's answer is still awaited.
    fn release(&self, requests: &mut Requests) -> Effects {
        let mut effects = Effects::default();
        if !self.are_awaited() {
            let held = requests.release().into_iter();
            held.for_each(|held| effects.push(Effect::Serve(Box::new(held))));
        }
        effects
    }

    fn narrow(&mut self, uris: &[String], operators: &Directories, effects: &mut Effects) -> Arc<Directories> {
        // The same directories come again and again, so their handles are reused.
        let before: Vec<_> = self.last.iter().flat_map(|last| last.held_for_client()).cloned().collect();
        let (directories, client) = operators.with_client_roots_after(uris, &before);
        if self.last.is_none() || !client.dropped.is_empty() || !are_same(&client.directories, &before) {
            effects.record(recorded(&client.directories, &client.dropped));
        }
        client.dropped.into_iter().for_each(|why| effects.log(LogLevel::Warn, why));
        effects.log(LogLevel::Info, log::client_roots(&client.directories));
        let directories = Arc::new(directories);
        self.last = Some(Arc::clone(&directories));
        directories
    }

    /// Determines the directories for the decision on a call. If it `needs_roots`, it can't be decided without the
    /// client's roots. `params` are those of its request.
    ///
    /// # Errors
    /// The error object for a request that can't be served at all.
    pub(super) fn place(
        &mut self,
        params: &Map<String, Value>,
        context: &RequestContext,
        (operators, needs_roots): (&Directories, bool),
        (outgoing, reply): (&mut Outgoing, &Reply),
        effects: &mut Effects,
    ) -> Result<DecidedIn, ErrorObject> {
        if self.mode == RootsMode::Ignore {
            return Ok(DecidedIn::These(None));
        }
        let is_required = self.mode == RootsMode::Require;
        let declares = has_roots(&context.client_capabilities);
        let known = if !context.revision.is_modern() {
            self.known.clone()
        } else if let Some(answer) = Question::Roots.answer_in(params).filter(|_| declares) {
            let Some(uris) = root_uris(answer, MOST_ROOTS) else {
                return Err(ErrorObject::invalid_params("`inputResponses.roots` must be the result of `roots/list`"));
            };
            Some(self.narrow(&uris, operators, effects))
        } else if declares {
            if needs_roots || is_required {
                // There is no decision yet that the question could be bound to.
                let questions = vec![(Question::Roots, Value::Null)];
                let result = outgoing.ask_in_result(questions, None, reply.new_charge(), context.revision);
                return result
                    .map(|(result, _)| DecidedIn::Asked(result))
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
        if is_required && known.as_ref().is_none_or(|known| known.client_roots().is_empty()) {
            return Ok(DecidedIn::NotRun(match known.as_ref().map(|known| known.resolve(None)) {
                Some(Err(withheld @ DirectoryError::RootsUnbounded { .. })) => withheld.into(),
                Some(_) => NotRun::NoRoots { why: "none of the client's roots can be used" },
                None if declares => NotRun::NoRoots { why: "the client has not told them" },
                None => NotRun::NoRoots { why: "the client does not declare the capability `roots`" },
            }));
        }
        Ok(DecidedIn::These(known))
    }
}

/// The record of the roots in the audit log.
fn recorded(roots: &[Arc<Held>], dropped: &[String]) -> audit::Event {
    let roots = roots.iter().map(|root| escape_os(root.path().as_os_str()).into_owned()).collect();
    let refused = dropped.iter().map(|reason| audit::RefusedRoot { reason: reason.clone() }).collect();
    audit::Event::Roots(audit::Roots { roots, refused })
}
