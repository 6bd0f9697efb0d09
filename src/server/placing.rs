//! The client's roots: asks for them, waits for them, and turns them into the directories for decisions.
//!
//! In the legacy era, the server asks the client after the handshake, and again when the client says that the roots
//! changed. Calls are held until the answer, but not for long. In the modern era, the roots come with the call that
//! needs them, and nothing is kept.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::event::Deadline;
use super::log;
use super::not_run::NotRun;
use super::outgoing::Question;
use super::replies::Reply;
use super::run::Server;
use super::session::RequestContext;
use crate::config::{LogLevel, RootsMode};
use crate::files::are_same;
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR};
use crate::mcp::{MISSING_CLIENT_CAPABILITY, has_roots, root_uris, roots_required_capabilities};
use crate::policy::{Directories, DirectoryError, MOST_ROOTS};
use crate::text::quote;

/// How long calls are held for the client's answer.
const ANSWER_TIME: Duration = Duration::from_secs(3);

/// The directories for the decision on a call.
pub(super) enum DecidedIn {
    /// These; `None` for the operator's own.
    These(Option<Arc<Directories>>),
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

    /// Handles the client's answer to the request of this number.
    pub(super) fn roots_answered(&mut self, number: u64, answer: &Result<Value, Value>) {
        if self.roots.asked.take_if(|asked| *asked == number).is_none() {
            return;
        }
        match answer {
            Ok(result) => match root_uris(result, MOST_ROOTS) {
                Some(uris) => self.roots.known = Some(self.narrow_to(&uris)),
                None => self.log.write(LogLevel::Warn, "the client's answer to `roots/list` isn't a list of roots"),
            },
            Err(error) => {
                let why = quote(&error.to_string(), 256).to_string();
                self.log.write(LogLevel::Warn, &format!("the client does not tell its roots: {why}"));
            }
        }
        self.serve_held();
        if self.roots.is_stale {
            self.ask_for_roots();
        }
    }

    /// Stops holding calls for the answer to the request of this number.
    pub(super) fn roots_overdue(&mut self, number: u64) {
        if self.roots.asked == Some(number) && !self.roots.is_overdue {
            self.roots.is_overdue = true;
            let waited = ANSWER_TIME.as_secs();
            self.log.write(LogLevel::Warn, &format!("the client did not tell its roots within {waited} s"));
        }
        self.serve_held();
    }

    /// Stops waiting for an answer, because none can come any more.
    pub(super) fn give_up_roots(&mut self) {
        self.roots.asked = None;
        self.serve_held();
    }

    /// Serves the held calls, unless the client's answer is still awaited.
    fn serve_held(&mut self) {
        if !self.roots.are_awaited() {
            self.requests.release().into_iter().for_each(|held| self.serve_request(held));
        }
    }

    /// Returns the operator's directories, narrowed to these roots of the client.
    fn narrow_to(&mut self, uris: &[String]) -> Arc<Directories> {
        // The same directories come again and again, so their handles are reused.
        let before: Vec<_> = self.roots.last.iter().flat_map(|last| last.held_for_client()).cloned().collect();
        let (directories, client) = self.parts.policy.directories().with_client_roots_after(uris, &before);
        if self.roots.last.is_none() || !client.dropped.is_empty() || !are_same(&client.directories, &before) {
            self.audit.roots(&client.directories, &client.dropped);
        }
        client.dropped.into_iter().for_each(|why| self.log.write(LogLevel::Warn, &why));
        self.log.write(LogLevel::Info, &log::client_roots(&client.directories));
        let directories = Arc::new(directories);
        self.roots.last = Some(Arc::clone(&directories));
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
        needs_roots: bool,
        reply: &Reply,
    ) -> Result<DecidedIn, ErrorObject> {
        if self.roots.mode == RootsMode::Ignore {
            return Ok(DecidedIn::These(None));
        }
        let is_required = self.roots.mode == RootsMode::Require;
        let declares = has_roots(&context.client_capabilities);
        let known = if !context.revision.is_modern() {
            self.roots.known.clone()
        } else if let Some(answer) = Question::Roots.answer_in(params).filter(|_| declares) {
            let Some(uris) = root_uris(answer, MOST_ROOTS) else {
                return Err(ErrorObject::invalid_params("`inputResponses.roots` must be the result of `roots/list`"));
            };
            Some(self.narrow_to(&uris))
        } else if declares {
            if needs_roots || is_required {
                // There is no decision yet that the question could be bound to.
                let questions = vec![(Question::Roots, Value::Null)];
                let result = self.outgoing.ask_in_result(questions, None, reply.new_charge(), context.revision);
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
