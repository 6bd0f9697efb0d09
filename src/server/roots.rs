//! The client's roots: asked for, waited for, and turned into the directories that calls are decided by.
//!
//! The legacy era is asked by a request of the server's own, once after the handshake and again when the client says that
//! they changed; calls wait for the answer, but not long. The modern era brings them with the call that needs them, and
//! nothing is kept.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::event::Deadline;
use super::replies::ReplyTo;
use super::{RequestContext, Server};
use crate::config::{LogLevel, RootsMode};
use crate::jsonrpc::{ErrorObject, Request, RequestId, Response, encode};
use crate::mcp::{
    MISSING_CLIENT_CAPABILITY, ROOTS_LIST, has_roots, root_uris, roots_in_responses, roots_required_capabilities,
    roots_required_result,
};
use crate::policy::Directories;

/// How long calls wait for the client's answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many bytes of parameters the waiting calls hold at most.
const MOST_HELD_BYTES: usize = 64 * 1024 * 1024;

/// What is known of a legacy client's roots, and the calls that wait for them.
#[derive(Debug)]
pub(super) struct ClientRootsState {
    mode: RootsMode,
    question: Option<Question>,
    last_question: u64,
    known: Option<Arc<Directories>>,
    held: Vec<Held>,
    held_bytes: usize,
}

/// A question that the client has not answered.
#[derive(Debug)]
struct Question {
    id: RequestId,
    number: u64,
    /// Whether the calls have waited long enough.
    is_overdue: bool,
    /// Whether the roots have changed since it was asked.
    is_stale: bool,
}

#[derive(Debug)]
struct Held {
    request: Request,
    reply_to: ReplyTo,
    bytes: usize,
}

/// Where a call is to be decided.
pub(super) enum Place {
    /// In these directories; `None` for the operator's own.
    In(Option<Arc<Directories>>),
    /// Nowhere yet: this result asks for the roots.
    Asked(Value),
    /// Nowhere, for this reason.
    Refused(String),
}

impl ClientRootsState {
    pub(super) fn new(mode: RootsMode) -> Self {
        Self { mode, question: None, last_question: 0, known: None, held: Vec::new(), held_bytes: 0 }
    }

    /// Forgets the client before a new handshake. Calls that wait go on at the deadline that was set for them.
    pub(super) fn reset(&mut self) {
        self.question = None;
        self.known = None;
    }

    /// Whether calls wait for an answer.
    pub(super) fn are_awaited(&self) -> bool {
        self.question.as_ref().is_some_and(|question| !question.is_overdue)
    }

    /// Keeps a call until the roots are known; gives it back where too much waits already.
    pub(super) fn hold(&mut self, request: Request, reply_to: ReplyTo) -> Result<(), Box<Request>> {
        let bytes = encode::to_json(&request.params).len();
        if self.held_bytes.saturating_add(bytes) > MOST_HELD_BYTES {
            return Err(Box::new(request));
        }
        self.held_bytes += bytes;
        self.held.push(Held { request, reply_to, bytes });
        Ok(())
    }

    /// Gives up a call that waits.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<ReplyTo> {
        let place = self.held.iter().position(|held| held.request.id == *id)?;
        let held = self.held.remove(place);
        self.held_bytes -= held.bytes;
        Some(held.reply_to)
    }
}

impl Server<'_> {
    /// Asks a client of the legacy era that has roots for them.
    pub(super) fn ask_for_roots(&mut self) -> io::Result<()> {
        let asks = match self.roots.mode {
            RootsMode::Use | RootsMode::Require => self.session.client_capabilities().is_some_and(has_roots),
            RootsMode::Ignore => false,
        };
        if !asks {
            return Ok(());
        }
        if let Some(question) = &mut self.roots.question {
            question.is_stale = true;
            return Ok(());
        }
        self.roots.last_question += 1;
        let number = self.roots.last_question;
        let id = RequestId::from_value(&json!(format!("roots-{number}"))).unwrap_or_else(|| number.into());
        let request = encode::request(&id, ROOTS_LIST, &json!({}));
        self.roots.question = Some(Question { id, number, is_overdue: false, is_stale: false });
        self.deadline(PATIENCE, Deadline::Roots(number));
        self.write(&request)
    }

    /// Takes a response of the client's: the answer to the question that is open, or one that nobody asked for.
    pub(super) fn response(&mut self, response: &Response) -> io::Result<()> {
        let Some(question) = self.roots.question.take_if(|question| response.id.as_ref() == Some(&question.id)) else {
            return Ok(());
        };
        match &response.result {
            Ok(result) => match root_uris(result) {
                Some(uris) => {
                    let directories = self.narrow(&uris);
                    self.roots.known = Some(directories);
                }
                None => self.log.write(LogLevel::Warn, "the client's answer to `roots/list` is no list of roots"),
            },
            Err(error) => {
                self.log.write(LogLevel::Warn, &format!("the client does not tell its roots: {error}"));
            }
        }
        self.release_held()?;
        if question.is_stale { self.ask_for_roots() } else { Ok(()) }
    }

    /// The calls have waited long enough for the answer to this question.
    pub(super) fn roots_overdue(&mut self, number: u64) -> io::Result<()> {
        let question = self.roots.question.as_mut().filter(|question| question.number == number);
        if let Some(question) = question.filter(|question| !question.is_overdue) {
            question.is_overdue = true;
            let patience = PATIENCE.as_secs();
            self.log.write(LogLevel::Warn, &format!("the client did not tell its roots within {patience} s"));
        }
        self.release_held()
    }

    /// Nobody will answer any more.
    pub(super) fn stop_waiting_for_roots(&mut self) -> io::Result<()> {
        self.roots.question = None;
        self.release_held()
    }

    fn release_held(&mut self) -> io::Result<()> {
        if self.roots.are_awaited() {
            return Ok(());
        }
        self.roots.held_bytes = 0;
        for Held { request, reply_to, .. } in std::mem::take(&mut self.roots.held) {
            self.request(request, reply_to)?;
        }
        Ok(())
    }

    fn narrow(&mut self, uris: &[String]) -> Arc<Directories> {
        let (directories, client) = self.policy.directories().with_client_roots(uris);
        client.dropped.iter().for_each(|why| self.log.write(LogLevel::Warn, why));
        if self.log.writes(LogLevel::Info) {
            let roots: Vec<String> = client.directories.iter().map(|root| root.display().to_string()).collect();
            self.log.write(LogLevel::Info, &format!("client roots: [{}]", roots.join(", ")));
        }
        Arc::new(directories)
    }

    /// Finds out in which directories a call is to be decided. `params` are those of its request.
    ///
    /// # Errors
    /// The error object that answers a request which can't be served at all.
    pub(super) fn place(
        &mut self,
        params: &Map<String, Value>,
        context: &RequestContext,
        cwd: Option<&str>,
    ) -> Result<Place, ErrorObject> {
        if self.roots.mode == RootsMode::Ignore {
            return Ok(Place::In(None));
        }
        let is_required = self.roots.mode == RootsMode::Require;
        let known = if !context.revision.is_modern() {
            self.roots.known.clone()
        } else if let Some(answer) = roots_in_responses(params).filter(|_| has_roots(&context.client_capabilities)) {
            let Some(uris) = root_uris(answer) else {
                return Err(ErrorObject::invalid_params("`inputResponses.roots` must be the result of `roots/list`"));
            };
            Some(self.narrow(&uris))
        } else if has_roots(&context.client_capabilities) {
            let needs_project = cwd.is_none_or(|cwd| Path::new(cwd).is_relative())
                && !self.policy.directories().has_operators_project();
            // A sandbox lets commands work in the roots, so it needs them whatever the directory is.
            if needs_project || is_required || self.confinement.is_on() {
                return Ok(Place::Asked(roots_required_result(context.revision)));
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
            let why = match &known {
                Some(_) => "none of the client's roots can be used",
                None if has_roots(&context.client_capabilities) => "the client has not told them",
                None => "the client does not declare the capability `roots`",
            };
            return Ok(Place::Refused(format!(
                "calls are refused until the client's roots are known (`--roots require`), and {why}; open a directory in \
                 the client that the operator allows"
            )));
        }
        Ok(Place::In(known))
    }
}
