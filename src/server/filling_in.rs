//! Prompts, which a thread fills in: `explain_refusal` decides on a command, and so may walk long paths.
//!
//! They wait in the table of requests and are filled in one by one, since a decision may hold thousands of directories open.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::asked::Asked;
use super::event::{Deadline, Event};
use super::examine::examine;
use super::parts::Parts;
use super::replies::Reply;
use super::requests::MOST_EXPLAINED;
use super::run::Server;
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR};
use crate::mcp::{Revision, prompt_result};
use crate::prompts;
use crate::shell::ShellDirectories;

/// The longest that a prompt may take. After that its request is answered with an error, and the next one has its turn.
const LONGEST: Duration = Duration::from_secs(5);
/// The most threads that may fill in prompts for which nobody waits any more. Beyond that none is filled in.
const MOST_HANGING: usize = 4;

impl Server<'_> {
    /// Fills in a prompt when its turn comes.
    pub(super) fn get_prompt(&mut self, params: Map<String, Value>, revision: Revision, reply: Reply) {
        match self.requests.explain(reply, (params, revision)) {
            Ok(()) => self.fill_in_next(),
            Err(reply) => {
                let why = format!(
                    "{MOST_EXPLAINED} prompts wait to be filled in already; wait for some of their answers first"
                );
                self.refuse(reply, ErrorObject::new(INTERNAL_ERROR, why));
            }
        }
    }

    /// Lets a thread fill in the next prompt, unless one is being filled in.
    fn fill_in_next(&mut self) {
        while self.prompting.filled.is_none() {
            let Some((key, (params, revision))) = self.requests.next_explained() else { return };
            let begun = match self.prompting.hanging < MOST_HANGING {
                true => {
                    let (parts, place) = (Arc::clone(&self.parts), self.shell.place());
                    let fill_in = move || {
                        let result = prompts_get(&parts, place.directories(), revision, &params);
                        Some(Event::Explained { key, result })
                    };
                    self.calls.on_a_thread(key, fill_in).map_err(|why| why.to_string())
                }
                false => Err("prompts can't be filled in while paths of earlier ones do not answer".to_owned()),
            };
            match begun {
                Ok(()) => {
                    self.prompting.filled = Some(key);
                    self.inbox.after(LONGEST, Deadline::Prompt(key));
                }
                Err(why) => self.answer_prompt(key, Err(ErrorObject::new(INTERNAL_ERROR, why))),
            }
        }
    }

    /// Handles a prompt that is filled in, or that can't be.
    pub(super) fn explained(&mut self, key: u64, result: Result<Value, ErrorObject>) {
        if self.prompting.filled.take_if(|filled| *filled == key).is_some() {
            self.inbox.forget(Deadline::Prompt(key));
            self.answer_prompt(key, result);
        } else {
            self.prompting.hanging = self.prompting.hanging.saturating_sub(1);
        }
        self.fill_in_next();
    }

    /// Whether this is the number of a prompt whose thread has panicked; then it is answered.
    pub(super) fn prompt_panicked(&mut self, key: u64) -> bool {
        let is_prompt = self.prompting.filled == Some(key);
        if is_prompt {
            self.explained(key, Err(ErrorObject::new(INTERNAL_ERROR, "an internal error occurred")));
        }
        is_prompt
    }

    /// Answers a prompt that takes too long.
    pub(super) fn prompt_overdue(&mut self, key: u64) {
        if self.prompting.filled.take_if(|filled| *filled == key).is_some() {
            self.prompting.hanging += 1;
            let why =
                "nothing could be said in time; the command may name a path on a file system that does not answer";
            self.answer_prompt(key, Err(ErrorObject::new(INTERNAL_ERROR, why)));
            self.fill_in_next();
        }
    }

    /// Answers the request, unless it was cancelled.
    fn answer_prompt(&mut self, key: u64, result: Result<Value, ErrorObject>) {
        if let Some(reply) = self.requests.take_explained(key) {
            self.respond(reply, result);
        }
    }
}

fn prompts_get(
    parts: &Parts,
    shell: ShellDirectories<'_>,
    revision: Revision,
    params: &Map<String, Value>,
) -> Result<Value, ErrorObject> {
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        return Err(ErrorObject::invalid_params("`prompts/get` needs `name`, the name of a prompt, as a string"));
    };
    let none = Map::new();
    let arguments = match params.get("arguments") {
        None => &none,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(ErrorObject::invalid_params("`arguments` must be an object of strings")),
    };
    let which = parts.toolbox.which();
    let tools: Vec<_> = parts.toolbox.list().collect();
    let examine = |command: &str| examine(&parts.policy, which, Asked::Line(command.to_owned()), None, false, shell);
    let (prompt, text) =
        prompts::get(name, arguments, &tools, (which, parts.policy.lines()), parts.policy.allow_list(), examine)
            .map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
    Ok(prompt_result(prompt.description, &text, revision))
}
