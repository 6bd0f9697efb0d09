//! Which message answers which wait: the same id, or the same method.

use serde_json::Value;

/// What of a server's message must agree with a wait; the rest is content, which is compared afterwards.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// A response, by its id as JSON: `1` and `"1"` differ.
    Response(String),
    /// A request or a notification of the server, by its method.
    Method(String),
    /// An error that answers something without a readable id.
    ErrorWithoutId,
    /// A batch, by what it holds, in any order.
    Batch(Vec<Identity>),
}

impl Identity {
    /// The identity of a message, or `None` where it has no method, no id that is not null, and no error.
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
