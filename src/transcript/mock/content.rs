//! The parts of a client's line that count for matching, and the recorded answer adapted to a live client.

use serde_json::{Map, Value, json};

use super::super::Message;
use super::SUBSCRIPTION;
use crate::jsonrpc::Incoming;

/// The prefix of the metadata that the protocol defines.
const OWN_META: &str = "io.modelcontextprotocol/";
/// The client's name for itself: in the metadata of each request, or in the handshake.
const CLIENT_INFO: [&str; 2] = ["io.modelcontextprotocol/clientInfo", "clientInfo"];

/// A line of a client, without what changes from session to session.
#[derive(Debug)]
pub(super) struct Content {
    /// Whether the line is not a message.
    pub malformed: bool,
    pub key: Value,
    /// The ids of its requests, in their order.
    pub ids: Vec<Value>,
    /// Their progress tokens; null for one without a token.
    pub tokens: Vec<Value>,
}

impl Content {
    pub fn of(line: &[u8]) -> Self {
        let (mut ids, mut tokens) = (Vec::new(), Vec::new());
        let value: Option<Value> = serde_json::from_slice(line).ok();
        let malformed = Incoming::parse(line).is_err();
        let key = match value {
            Some(Value::Array(members)) => {
                members.into_iter().map(|member| strip(member, &mut ids, &mut tokens)).collect()
            }
            Some(message) => strip(message, &mut ids, &mut tokens),
            None => Value::from(String::from_utf8_lossy(line)),
        };
        Self { malformed, key, ids, tokens }
    }

    pub fn is_like(&self, other: &Self) -> bool {
        self.malformed == other.malformed && self.key == other.key && self.ids.len() == other.ids.len()
    }

    /// A recorded answer for the live client; `None` for progress that it did not ask for.
    pub fn translate(&self, answer: &Message, live: &Self) -> Option<String> {
        let translation = Translation { recorded: self, live };
        let mut value = answer.value().clone();
        let kept = match &mut value {
            Value::Array(members) => members.iter_mut().all(|member| translation.apply(member)),
            message => translation.apply(message),
        };
        if !kept {
            return None;
        }
        // The text is kept if nothing changed, because printing would sort the keys.
        Some(if value == *answer.value() { answer.text().to_owned() } else { value.to_string() })
    }
}

struct Translation<'a> {
    recorded: &'a Content,
    live: &'a Content,
}

impl Translation<'_> {
    fn apply(&self, message: &mut Value) -> bool {
        if message.get("method").is_none() {
            if let Some(id) = message.get_mut("id") {
                self.replace(&self.recorded.ids, &self.live.ids, id);
            }
            return true;
        }
        if let Some(id) = message.pointer_mut("/params/_meta").and_then(|meta| meta.get_mut(SUBSCRIPTION)) {
            self.replace(&self.recorded.ids, &self.live.ids, id);
        }
        match message.pointer_mut("/params/progressToken") {
            Some(token) => {
                self.replace(&self.recorded.tokens, &self.live.tokens, token);
                !token.is_null()
            }
            None => true,
        }
    }

    fn replace(&self, recorded: &[Value], live: &[Value], value: &mut Value) {
        let index = recorded.iter().position(|recorded| recorded == value);
        if let Some(replacement) = index.and_then(|index| live.get(index)) {
            *value = replacement.clone();
        }
    }
}

/// Removes from a message what a client makes up each time and its name for itself, and keeps a request's id and token.
fn strip(message: Value, ids: &mut Vec<Value>, tokens: &mut Vec<Value>) -> Value {
    let Value::Object(mut members) = message else { return message };
    let is_request = members.contains_key("method") && members.contains_key("id");
    let meta = members.get_mut("params").and_then(|params| params.get_mut("_meta")).and_then(Value::as_object_mut);
    let token = meta.as_ref().and_then(|meta| meta.get("progressToken")).cloned().unwrap_or_default();
    if let Some(meta) = meta {
        meta.retain(|key, _| key.starts_with(OWN_META) && !CLIENT_INFO.contains(&key.as_str()));
    }
    if members.get("method").is_some_and(|method| method == "initialize") {
        if let Some(params) = members.get_mut("params").and_then(Value::as_object_mut) {
            params.retain(|key, _| !CLIENT_INFO.contains(&key.as_str()));
        }
    }
    drop_empty_params(&mut members);
    if members.get("method").and_then(Value::as_str) == Some("notifications/cancelled") {
        return json!({"method": "notifications/cancelled"});
    }
    if is_request {
        ids.extend(members.remove("id"));
        tokens.push(token);
    }
    Value::Object(members)
}

/// Empty `params` and empty metadata do not count as content.
fn drop_empty_params(members: &mut Map<String, Value>) {
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    let Some(params) = members.get_mut("params").and_then(Value::as_object_mut) else { return };
    if params.get("_meta").is_some_and(is_empty) {
        params.remove("_meta");
    }
    if params.is_empty() {
        members.remove("params");
    }
}
