//! Subscriptions: streams of notifications that a client keeps open (2026-07-28).

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Caching, Revision, seal};

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

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
    match filter.get("resourceSubscriptions") {
        Some(value) if !is_list(value) => {
            Err("`notifications.resourceSubscriptions` must be an array of strings".to_owned())
        }
        _ => Ok(()),
    }
}

/// The parameters of `notifications/subscriptions/acknowledged`. The lists never change and there are no resources, so
/// the server sends no notifications and accepts nothing of the filter, which the empty object says.
pub fn acknowledged_params(id: &impl Serialize) -> Value {
    json!({"_meta": {SUBSCRIPTION_ID: id}, "notifications": {}})
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
        ] {
            assert!(!check(broken.clone()), "{broken}");
        }
    }
}
