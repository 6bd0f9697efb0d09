//! From a request to its handler, and from the handler's result to the answer: each request is answered exactly once.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value, json};

use super::calls::{Pending, Waiting};
use super::feedback::Feedback;
use super::replies::ReplyTo;
use super::roots::Place;
use super::session::Served;
use super::workers::{Job, heartbeat};
use super::{Decided, RequestContext, Server};
use crate::config::LogLevel;
use crate::exec::{Invocation, Limits, stop};
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, Notification, Request, RequestId, encode};
use crate::mcp::{Caching, CallToolResult, Revision, discover_result, initialize_result, seal};
use crate::policy::{Directories, quoted};
use crate::prompts::{self, PROMPTS};
use crate::tools::{Call, Called, ShellCall, ShellRequest};

/// Stands for the directory of the persistent shell where a call's `cwd` is asked for: an absolute one.
const SHELLS_OWN: &str = "/";

/// What a handler comes to.
enum Handled {
    /// The result, encoded.
    Done(Vec<u8>),
    /// A command runs first; its end brings the answer.
    Later,
}

impl Server<'_> {
    pub(super) fn request(&mut self, request: Request, reply_to: ReplyTo) -> io::Result<()> {
        let Request { id, .. } = &request;
        let id = id.clone();
        // A panic in a handler is a bug, and not the end of the server or of the client's wait.
        let handled = catch_unwind(AssertUnwindSafe(|| self.handle(request, reply_to))).unwrap_or_else(|_| {
            Err(ErrorObject::new(INTERNAL_ERROR, "the server failed at this request; its log says more"))
        });
        let response = match handled {
            Ok(Handled::Done(result)) => encode::result(&id, &result),
            Ok(Handled::Later) => return Ok(()),
            Err(error) => {
                self.log.write(LogLevel::Debug, &format!("request id={id} error={} {}", error.code, error.message));
                encode::error(Some(&id), &error)
            }
        };
        self.reply(reply_to, Some(response))
    }

    pub(super) fn notification(&mut self, notification: &Notification) -> io::Result<()> {
        match notification.method.as_str() {
            "notifications/cancelled" => {}
            "notifications/initialized" | "notifications/roots/list_changed" => return self.ask_for_roots(),
            _ => return Ok(()),
        }
        let Some(id) = notification.params.get("requestId").and_then(RequestId::from_value) else { return Ok(()) };
        self.subscriptions.cancel(&id);
        if let Some(reply_to) = self.roots.cancel(&id) {
            self.log.write(LogLevel::Info, &format!("call id={id} cancelled=true"));
            self.reply(reply_to, None)?;
        }
        for pending in self.calls.cancel(&id).into_iter().chain(self.shell.cancel(&id)) {
            self.log.write(LogLevel::Info, &format!("call id={id} {} cancelled=true", pending.description));
            self.reply(pending.reply_to, None)?;
        }
        self.start_calls()
    }

    fn handle(&mut self, request: Request, reply_to: ReplyTo) -> Result<Handled, ErrorObject> {
        let context = match self.session.receive(&request)? {
            Served::Request(context) => context,
            Served::EarlyPing => return Ok(done(&json!({}))),
            Served::Handshake(revision) => {
                self.roots.reset();
                let instructions = prompts::instructions(self.policy.allow_list(), self.toolbox.which());
                return Ok(done(&initialize_result(revision, &instructions)));
            }
        };
        let revision = context.revision;
        match (request.method.as_str(), revision.is_modern()) {
            ("ping", false) => Ok(done(&json!({}))),
            ("server/discover", true) => Ok(done(&discover_result(
                revision,
                &prompts::instructions(self.policy.allow_list(), self.toolbox.which()),
            ))),
            ("tools/list", _) => self.tools_list(&context, &request.params),
            ("tools/call", _) => self.tools_call(request, &context, reply_to),
            ("prompts/list", _) => prompts_list(revision, &request.params),
            ("prompts/get", _) => self.prompts_get(revision, &request.params).map(|prompt| done(&prompt)),
            ("completion/complete", _) if revision.has_completions() => {
                self.complete(revision, &request.params).map(|completion| done(&completion))
            }
            ("logging/setLevel", false) => self.set_level(&request.params).map(|empty| done(&empty)),
            ("subscriptions/listen", true) => self.listen(&request, revision, reply_to).map(|()| Handled::Later),
            (method, _) => Err(ErrorObject::method_not_found(method)),
        }
    }

    fn tools_list(&self, context: &RequestContext, params: &Map<String, Value>) -> Result<Handled, ErrorObject> {
        only_page(params)?;
        let tools: Vec<Value> = self.toolbox.list().map(|tool| tool.to_value(context.revision)).collect();
        Ok(done(&seal(json!({"tools": tools}), context.revision, Caching::Cacheable)))
    }

    fn tools_call(
        &mut self,
        mut request: Request,
        context: &RequestContext,
        reply_to: ReplyTo,
    ) -> Result<Handled, ErrorObject> {
        let revision = context.revision;
        if !revision.is_modern() && self.roots.are_awaited() {
            return Ok(match self.roots.hold(request, reply_to) {
                Ok(()) => Handled::Later,
                Err(_) => {
                    let sentence =
                        "too many calls are waiting for the client's roots; wait for some of their answers first";
                    Handled::Done(encode::to_json(&CallToolResult::error(sentence.to_owned()).for_revision(revision)))
                }
            });
        }
        let arguments = request.params.remove("arguments");
        let Some(name) = request.params.get("name").and_then(Value::as_str) else {
            return Err(ErrorObject::invalid_params("`tools/call` needs `name`, the name of a tool, as a string"));
        };
        let arguments = match arguments {
            None => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(ErrorObject::invalid_params("`arguments` must be an object")),
        };
        let Some(kind) = self.toolbox.find(name) else {
            let known: Vec<&str> = self.toolbox.list().map(|tool| tool.name.as_str()).collect();
            let message = format!("unknown tool {}; the tools are {}", quoted(name), known.join(", "));
            return Err(ErrorObject::invalid_params(message));
        };
        let outcome = match self.toolbox.read(kind, arguments) {
            Ok(Called::Execute(call)) => match self.place(&request.params, context, call.cwd.as_deref())? {
                Place::In(directories) => {
                    self.start(call, directories.as_deref(), name, request.id.clone(), context, reply_to)
                }
                Place::Asked(result) => return Ok(done(&result)),
                Place::Refused(sentence) => Err(sentence),
            },
            Ok(Called::Shell(ShellCall { what: ShellRequest::List(result), .. })) => {
                return Ok(Handled::Done(encode::to_json(&result.for_revision(revision))));
            }
            // The shell has a directory of its own, so the project's is not what a call of it needs.
            Ok(Called::Shell(call)) => match self.place(&request.params, context, Some(SHELLS_OWN))? {
                Place::In(directories) => {
                    self.queue_for_shell(call, directories, name, request.id.clone(), context, reply_to)
                }
                Place::Asked(result) => return Ok(done(&result)),
                Place::Refused(sentence) => Err(sentence),
            },
            Err(error) => Err(error.to_string()),
        };
        let Err(sentence) = outcome else { return Ok(Handled::Later) };
        let line = format!("call id={} tool={name} refused={sentence:?}{}", request.id, context.trace);
        self.log.write(LogLevel::Info, &line);
        self.tell(Feedback::new(&request.id, name, context).refused())?;
        Ok(Handled::Done(encode::to_json(&CallToolResult::error(sentence).for_revision(context.revision))))
    }

    /// Has the policy decide, and queues what is allowed. The error is the sentence for the model.
    fn start(
        &mut self,
        call: Call,
        directories: Option<&Directories>,
        tool: &str,
        id: RequestId,
        context: &RequestContext,
        reply_to: ReplyTo,
    ) -> Result<(), String> {
        let Call { command, cwd, input, timeout } = call;
        let directories = directories.unwrap_or(self.policy.directories());
        let decision = self.policy.examine_in(directories, command, cwd.as_deref());
        let client_roots = directories.client_roots().to_vec();
        self.last_key += 1;
        self.observer.decided(&Decided {
            call: self.last_key,
            tool,
            explanation: &decision.explanation,
            refusal: decision.outcome.as_ref().err(),
        });
        let command = decision.outcome.map_err(|refusal| refusal.to_string())?;
        let explanation = decision.explanation;
        let rule = explanation.rule.map_or_else(String::new, |rule| rule.to_string());
        let description = if self.log.writes(LogLevel::Info) {
            let directory = command.directory().path().display();
            let words = command.words().join(" ");
            format!("tool={tool} command={words:?} directory=\"{directory}\" allowed={rule:?}{}", context.trace)
        } else {
            String::new()
        };
        let (stop, signal) =
            stop().map_err(|error| format!("the server has no means left to run a command: {error}"))?;
        let feedback = Box::new(Feedback::new(&id, tool, context));
        let allowed = feedback.allowed(command.words().first().map_or("", String::as_str), &rule);
        let heartbeat = feedback.wants_progress().then(|| heartbeat(self.last_key, self.events.clone()));
        let job = Box::new(Job {
            key: self.last_key,
            invocation: Invocation {
                command,
                input: input.map(String::into_bytes),
                limits: Limits { timeout, ..self.limits },
                stop: signal,
                heartbeat,
            },
            client_roots,
            literal_pattern: explanation.literal_pattern,
            revision: context.revision,
        });
        let pending = Pending { id, reply_to, description, feedback };
        self.calls.queue(Waiting { pending, stop, job }).map_err(|_| {
            "too many calls are waiting for their turn; wait for some of their answers first".to_owned()
        })?;
        self.tell(allowed).map_err(|error| error.message)?;
        self.start_calls().map_err(|error| error.to_string())
    }

    /// Starts the calls whose turn it is.
    pub(super) fn start_calls(&mut self) -> io::Result<()> {
        while let Some(job) = self.calls.next() {
            if let Err(job) = self.workers.run(job) {
                let Some(pending) = self.calls.finish(job.key) else { continue };
                let sentence = "the server has no thread left to run a command; try again when other calls have ended";
                let result = encode::to_json(&CallToolResult::error(sentence).for_revision(job.revision));
                self.reply(pending.reply_to, Some(encode::result(&pending.id, &result)))?;
            }
        }
        Ok(())
    }
}

fn prompts_list(revision: Revision, params: &Map<String, Value>) -> Result<Handled, ErrorObject> {
    only_page(params)?;
    let prompts: Vec<Value> = PROMPTS.iter().map(|prompt| prompt.to_value(revision)).collect();
    Ok(done(&seal(json!({"prompts": prompts}), revision, Caching::Cacheable)))
}

/// Lists have one page, so no cursor was ever handed out.
fn only_page(params: &Map<String, Value>) -> Result<(), ErrorObject> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(()),
        Some(_) => Err(ErrorObject::invalid_params("the cursor is unknown: lists have one page here")),
    }
}

fn done(result: &Value) -> Handled {
    Handled::Done(encode::to_json(result))
}
