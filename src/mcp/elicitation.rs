//! Elicitation in form mode: a question that the client shows to its user.

use serde_json::{Map, Value, json};

use super::{Caching, Revision, seal};

/// The method that asks: as a request in the legacy era, as part of a result in the modern one.
pub const ELICITATION_CREATE: &str = "elicitation/create";

/// The field of the form that says how long an approval holds.
const REMEMBER: &str = "remember";

/// Whether a client with these capabilities shows forms. According to the specification, one that names no mode does.
pub fn has_form_elicitation(client_capabilities: &Map<String, Value>) -> bool {
    let elicitation = client_capabilities.get("elicitation").and_then(Value::as_object);
    elicitation.is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}

/// The parameters of the request that asks a user to approve something, with one optional field: for how long.
pub fn approval_params(message: &str, revision: Revision) -> Value {
    let mut remember = json!({
        "type": "string",
        "title": "Remember",
        "description": "`session` approves this very command until the session ends",
        "enum": ["once", "session"],
    });
    if let (true, Value::Object(members)) = (revision.has_defaults_in_forms(), &mut remember) {
        members.insert("default".into(), json!("once"));
    }
    json!({"message": message, "requestedSchema": {"type": "object", "properties": {REMEMBER: remember}}})
}

/// A user's answer to [`approval_params`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Yes, this time.
    Once,
    /// Yes, until the session ends.
    Session,
    /// No.
    Declined,
    /// Neither: the form was closed.
    Cancelled,
}

impl Approval {
    /// Reads an `ElicitResult`; `None` if it is invalid, or contains something that the form does not offer.
    pub fn from_result(result: &Value) -> Option<Self> {
        match result.get("action")?.as_str()? {
            "decline" => Some(Self::Declined),
            "cancel" => Some(Self::Cancelled),
            "accept" => {
                let remember = match result.get("content") {
                    None | Some(Value::Null) => None,
                    Some(content) => content.as_object()?.get(REMEMBER),
                };
                match remember.map(Value::as_str) {
                    None | Some(Some("once")) => Some(Self::Once),
                    Some(Some("session")) => Some(Self::Session),
                    Some(_) => None,
                }
            }
            _ => None,
        }
    }
}

/// The result that asks the client for input before its request can be served (`InputRequiredResult`). Each question
/// has a key, a method and parameters; the client sends the state back with the answers.
pub fn input_required_result<'a>(
    questions: impl Iterator<Item = (&'a str, &'a str, Value)>,
    state: Option<String>,
    revision: Revision,
) -> Value {
    let question = |(key, method, params): (&str, &str, Value)| {
        let mut question = json!({"method": method});
        if let (Value::Object(members), false) = (&mut question, params.is_null()) {
            members.insert("params".into(), params);
        }
        (key.to_owned(), question)
    };
    let questions: Map<String, Value> = questions.map(question).collect();
    let mut result = seal(json!({"inputRequests": questions}), revision, Caching::Once);
    if let Value::Object(members) = &mut result {
        members.insert("resultType".into(), json!("input_required"));
        members.extend(state.map(|state| ("requestState".into(), json!(state))));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_names_no_mode_shows_forms() {
        for (capabilities, shows) in [
            (json!({}), false),
            (json!({"elicitation": {}}), true),
            (json!({"elicitation": {"form": {}}}), true),
            (json!({"elicitation": {"form": {}, "url": {}}}), true),
            (json!({"elicitation": {"url": {}}}), false),
            (json!({"elicitation": true}), false),
        ] {
            assert_eq!(has_form_elicitation(capabilities.as_object().unwrap()), shows, "{capabilities}");
        }
    }

    #[test]
    fn an_answer_counts_only_in_the_shape_that_was_asked_for() {
        for (result, answer) in [
            (json!({"action": "accept"}), Some(Approval::Once)),
            (json!({"action": "accept", "content": {}}), Some(Approval::Once)),
            (json!({"action": "accept", "content": null}), Some(Approval::Once)),
            (json!({"action": "accept", "content": {"remember": "once"}}), Some(Approval::Once)),
            (json!({"action": "accept", "content": {"remember": "session", "more": 1}}), Some(Approval::Session)),
            (json!({"action": "decline", "content": {"remember": "session"}}), Some(Approval::Declined)),
            (json!({"action": "cancel"}), Some(Approval::Cancelled)),
            (json!({"action": "accept", "content": {"remember": "always"}}), None),
            (json!({"action": "accept", "content": {"remember": null}}), None),
            (json!({"action": "accept", "content": ["session"]}), None),
            (json!({"action": "Accept"}), None),
            (json!({"action": true}), None),
            (json!({}), None),
            (json!("accept"), None),
        ] {
            assert_eq!(Approval::from_result(&result), answer, "{result}");
        }
    }
}
