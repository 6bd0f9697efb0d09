//! Which message answers which wait: the same id, or the same method.

use serde_json::Value;

/// The part of a server's message that must match a wait; the rest is content, which is compared afterwards.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// A response, by its id as JSON: `1` and `"1"` differ.
    Response(String),
    /// A request or a notification of the server, by its method.
    Method(String),
    /// An error that answers a message without a readable id.
    ErrorWithoutId,
    /// A batch, by the identities in it, in any order.
    Batch(Vec<Identity>),
    /// A line that is not a message.
    NoMessage,
}

impl Identity {
    /// The identity of a message, or `None` if it has no method, no id other than null, and no error.
    #[must_use]
    pub fn of(message: &Value) -> Option<Self> {
        if let Value::Array(members) = message {
            let mut members = members.iter().map(Self::of).collect::<Option<Vec<_>>>()?;
            members.sort();
            return (!members.is_empty()).then_some(Self::Batch(members));
        }
        if let Some(Value::String(method)) = message.get("method") {
            return Some(Self::Method(method.clone()));
        }
        match message.get("id") {
            None | Some(Value::Null) => message.get("error").map(|_| Self::ErrorWithoutId),
            Some(id) => Some(Self::Response(id.to_string())),
        }
    }
}
