//! The capabilities that both sides have offered in the handshake, and the messages that they permit.

use serde_json::Value;

use super::Side;

/// The capabilities of both sides; `None` as long as one has not said its own.
#[derive(Default)]
pub(super) struct Capabilities {
    pub client: Option<Value>,
    pub server: Option<Value>,
}

/// Which capability allows a method: who sends it, who has to offer it, and where that stands.
const NEEDED: [(Side, &str, Side, &str); 15] = [
    (Side::Server, "sampling/createMessage", Side::Client, "/sampling"),
    (Side::Server, "roots/list", Side::Client, "/roots"),
    (Side::Server, "elicitation/create", Side::Client, "/elicitation"),
    (Side::Server, "notifications/message", Side::Server, "/logging"),
    (Side::Server, "notifications/tools/list_changed", Side::Server, "/tools/listChanged"),
    (Side::Server, "notifications/prompts/list_changed", Side::Server, "/prompts/listChanged"),
    (Side::Server, "notifications/resources/list_changed", Side::Server, "/resources/listChanged"),
    (Side::Server, "notifications/resources/updated", Side::Server, "/resources/subscribe"),
    (Side::Client, "notifications/roots/list_changed", Side::Client, "/roots/listChanged"),
    (Side::Client, "tools/", Side::Server, "/tools"),
    (Side::Client, "prompts/", Side::Server, "/prompts"),
    (Side::Client, "resources/subscribe", Side::Server, "/resources/subscribe"),
    (Side::Client, "resources/", Side::Server, "/resources"),
    (Side::Client, "logging/setLevel", Side::Server, "/logging"),
    (Side::Client, "completion/complete", Side::Server, "/completions"),
];

impl Capabilities {
    /// Why a side may not send this; `None` if it may, or if that can't be told. A row that ends with `/` is about all methods that
    /// begin so.
    pub fn missing(&self, side: Side, method: &str, revision: Option<&str>) -> Option<String> {
        let is_about = |row: &str| row == method || row.ends_with('/') && method.starts_with(row);
        let (_, _, offering, place) =
            NEEDED.into_iter().find(|(sender, row, _, _)| *sender == side && is_about(row))?;
        // The first revision completes without a word about it.
        if place == "/completions" && revision.is_none_or(|revision| revision < "2025-03-26") {
            return None;
        }
        let offered = match offering {
            Side::Client => self.client.as_ref()?,
            Side::Server => self.server.as_ref()?,
        };
        match offered.pointer(place) {
            Some(Value::Bool(false) | Value::Null) | None => {
                let name = place.trim_start_matches('/').replace('/', ".");
                Some(format!("`{method}`, but the {offering} has not declared `{name}`"))
            }
            Some(_) => None,
        }
    }
}
