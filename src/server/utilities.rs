//! The handlers beside tools: prompts, completion, the level of messages, subscriptions.

use serde_json::{Map, Value, json};

use super::Server;
use super::examine::{Asked, examine};
use super::replies::ReplyTo;
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, INVALID_REQUEST, Request};
use crate::mcp::{CompleteParams, LoggingLevel, Revision, check_listen_params, complete_result, prompt_result};
use crate::prompts;

impl Server<'_> {
    pub(super) fn prompts_get(&self, revision: Revision, params: &Map<String, Value>) -> Result<Value, ErrorObject> {
        let Some(name) = params.get("name").and_then(Value::as_str) else {
            return Err(ErrorObject::invalid_params("`prompts/get` needs `name`, the name of a prompt, as a string"));
        };
        let none = Map::new();
        let arguments = match params.get("arguments") {
            None => &none,
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(ErrorObject::invalid_params("`arguments` must be an object of strings")),
        };
        let which = self.toolbox.which();
        let tools: Vec<_> = self.toolbox.list().collect();
        let examine =
            |command: &str| examine(&self.policy, which, Asked::Line(command.to_owned()), None, self.shell.stand());
        let (prompt, text) = prompts::get(name, arguments, &tools, which, self.policy.allow_list(), examine)
            .map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
        Ok(prompt_result(prompt.description, &text, revision))
    }

    pub(super) fn complete(&self, revision: Revision, params: &Map<String, Value>) -> Result<Value, ErrorObject> {
        let params = CompleteParams::from_params(params).map_err(ErrorObject::invalid_params)?;
        let values = prompts::complete(params.prompt, params.argument, params.value, self.policy.allow_list())
            .map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
        Ok(complete_result(&values, revision))
    }

    pub(super) fn set_level(&mut self, params: &Map<String, Value>) -> Result<Value, ErrorObject> {
        let level = params.get("level").unwrap_or(&Value::Null);
        self.session.set_log_level(LoggingLevel::from_value("level", level).map_err(ErrorObject::invalid_params)?);
        Ok(json!({}))
    }

    /// Opens a subscription: acknowledged at once, answered only when the server ends it.
    pub(super) fn listen(
        &mut self,
        request: &Request,
        revision: Revision,
        reply_to: ReplyTo,
    ) -> Result<(), ErrorObject> {
        if reply_to != ReplyTo::Client {
            let why = "invalid request: `subscriptions/listen` can't be part of a batch, which would wait for its end";
            return Err(ErrorObject::new(INVALID_REQUEST, why));
        }
        check_listen_params(&request.params).map_err(ErrorObject::invalid_params)?;
        let acknowledgement = self.subscriptions.open(&request.id, revision)?;
        self.tell(Some(acknowledgement))
    }

    /// Writes a notification that stands before an answer, where there is one. Where the client takes it no more, it takes
    /// no answer either, and the loop ends at that.
    pub(super) fn tell(&mut self, notification: Option<Vec<u8>>) -> Result<(), ErrorObject> {
        let written = notification.map_or(Ok(()), |notification| self.write(&notification));
        written.map_err(|error| ErrorObject::new(INTERNAL_ERROR, format!("the client does not read: {error}")))
    }
}
