//! Roots: the directories that a client works in.

use serde_json::{Map, Value, json};

use super::{Caching, Revision, seal};

/// The method that asks for them, of the legacy era as a request, of the modern one within a result.
pub const ROOTS_LIST: &str = "roots/list";

/// The key that the modern era's question and its answer stand under.
const KEY: &str = "roots";

/// Whether these capabilities of a client say that it has roots.
pub fn has_roots(client_capabilities: &Map<String, Value>) -> bool {
    client_capabilities.get("roots").is_some_and(Value::is_object)
}

/// The result that asks for the roots before the call can be served (`InputRequiredResult`).
pub fn roots_required_result(revision: Revision) -> Value {
    let mut result = seal(json!({"inputRequests": {KEY: {"method": ROOTS_LIST}}}), revision, Caching::Once);
    if let Value::Object(members) = &mut result {
        members.insert("resultType".into(), json!("input_required"));
    }
    result
}

/// The `data` of the error for a client that lacks the capability.
pub fn roots_required_capabilities() -> Value {
    json!({"requiredCapabilities": {"roots": {}}})
}

/// The answer that a call's parameters bring with them (`inputResponses`); `None` where it is missing.
pub fn roots_in_responses(params: &Map<String, Value>) -> Option<&Value> {
    params.get("inputResponses")?.get(KEY)
}

/// The URIs of a `ListRootsResult`; `None` where it is none.
pub fn root_uris(result: &Value) -> Option<Vec<String>> {
    let roots = result.get("roots")?.as_array()?;
    roots.iter().map(|root| root.get("uri")?.as_str().map(str::to_owned)).collect()
}
