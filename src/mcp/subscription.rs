//! Subscriptions: streams of notifications that a client keeps open (2026-07-28).

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Caching, Revision, seal};

pub(super) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The key under which a filter names tasks, according to the extension for tasks.
const TASK_IDS: &str = "taskIds";

/// Checks the parameters of `subscriptions/listen`.
///
/// # Errors
/// The message for invalid parameters.
pub fn check_listen_params(params: &Map<String, Value>) -> Result<(), String> {
    let Some(filter) = params.get("notifications").and_then(Value::as_object) else {
        return Err("`subscriptions/listen` needs `notifications`, an object".to_owned());
    };
    for key in ["toolsListChanged", "promptsListChanged", "resourcesListChanged"] {
        if filter.get(key).is_some_and(|value| !value.is_boolean()) {
            return Err(format!("`notifications.{key}` must be a boolean"));
        }
    }
    let is_list = |value: &Value| value.as_array().is_some_and(|uris| uris.iter().all(Value::is_string));
    for key in ["resourceSubscriptions", TASK_IDS] {
        if filter.get(key).is_some_and(|value| !is_list(value)) {
            return Err(format!("`notifications.{key}` must be an array of strings"));
        }
    }
    Ok(())
}

/// The tasks that a `subscriptions/listen` with valid parameters names; `None` without that key.
pub fn wanted_tasks(params: &Map<String, Value>) -> Option<Vec<&str>> {
    let ids = params.get("notifications")?.get(TASK_IDS)?.as_array()?;
    Some(ids.iter().filter_map(Value::as_str).collect())
}

/// The parameters of `notifications/subscriptions/acknowledged`, with the accepted tasks, if the client named any.
/// The lists never change and there are no resources, so nothing else of the filter is accepted.
pub fn acknowledged_params(id: &impl Serialize, tasks: Option<Vec<&str>>) -> Value {
    let tasks = tasks.map_or_else(|| json!({}), |ids| json!({TASK_IDS: ids}));
    json!({"_meta": {SUBSCRIPTION_ID: id}, "notifications": tasks})
}

/// The result that ends a subscription from the server's side.
pub fn listen_result(id: &impl Serialize, revision: Revision) -> Value {
    let mut result = seal(json!({}), revision, Caching::Once);
    if let Some(meta) = result.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.insert(SUBSCRIPTION_ID.into(), json!(id));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_an_object_of_the_right_types() {
        let check = |params: Value| check_listen_params(params.as_object().unwrap()).is_ok();
        assert!(check(json!({"notifications": {}})));
        assert!(check(
            json!({"notifications": {"toolsListChanged": true, "later": 1, "resourceSubscriptions": ["a"]}})
        ));
        for broken in [
            json!({}),
            json!({"notifications": []}),
            json!({"notifications": {"promptsListChanged": "yes"}}),
            json!({"notifications": {"resourceSubscriptions": [1]}}),
            json!({"notifications": {"taskIds": "x"}}),
            json!({"notifications": {"taskIds": [1]}}),
        ] {
            assert!(!check(broken.clone()), "{broken}");
        }
    }
}
