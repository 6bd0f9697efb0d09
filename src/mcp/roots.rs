//! Roots: the directories that a client works in.

use serde_json::{Map, Value, json};

/// The method that asks for them: a request in the legacy era, part of a result in the modern one.
pub const ROOTS_LIST: &str = "roots/list";

/// Whether a client with these capabilities has roots.
pub fn has_roots(client_capabilities: &Map<String, Value>) -> bool {
    client_capabilities.get("roots").is_some_and(Value::is_object)
}

/// The `data` of the error for a client that lacks the capability.
pub fn roots_required_capabilities() -> Value {
    json!({"requiredCapabilities": {"roots": {}}})
}

/// The URIs of a `ListRootsResult`, at most `most` plus one of them; `None` if it is invalid.
pub fn root_uris(result: &Value, most: usize) -> Option<Vec<String>> {
    let roots = result.get("roots")?.as_array()?.iter().take(most.saturating_add(1));
    roots.map(|root| root.get("uri")?.as_str().map(str::to_owned)).collect()
}
