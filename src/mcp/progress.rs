//! Progress of calls, for clients that ask for it with a token.

use std::time::Duration;

use serde_json::{Value, json};

use super::Revision;

/// The longest token, in bytes of its text: every notification repeats it.
const LONGEST_TOKEN: usize = 1024;

/// The token for progress: a string or an integer, which is returned as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressToken(Value);

impl ProgressToken {
    /// Accepts a string of at most 1 KiB, or an integer; returns `None` for anything else, which means no progress.
    pub fn from_value(value: &Value) -> Option<Self> {
        let is_short = value.as_str().is_some_and(|text| text.len() <= LONGEST_TOKEN);
        (is_short || value.is_i64() || value.is_u64()).then(|| Self(value.clone()))
    }
}

/// The parameters of `notifications/progress`: the whole seconds that have passed, and `message`, if there is one and
/// the revision supports it.
pub fn progress_params(token: &ProgressToken, elapsed: Duration, message: &str, revision: Revision) -> Value {
    let mut params = json!({"progressToken": token.0, "progress": elapsed.as_secs()});
    if let (Value::Object(members), true, false) = (&mut params, revision.has_progress_messages(), message.is_empty()) {
        members.insert("message".into(), json!(message));
    }
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_string_or_an_integer_and_goes_back_as_it_came() {
        for token in [json!(0), json!(-1), json!(u64::MAX), json!("0"), json!("")] {
            let read = ProgressToken::from_value(&token).unwrap();
            let params = progress_params(&read, Duration::from_millis(1900), "line", Revision::V2024_11_05);
            assert_eq!(params, json!({"progressToken": token, "progress": 1}));
            let params = progress_params(&read, Duration::from_secs(2), "line", Revision::V2025_03_26);
            assert_eq!(params, json!({"progressToken": token, "progress": 2, "message": "line"}));
        }
        assert!(ProgressToken::from_value(&json!("t".repeat(1024))).is_some());
        for other in [json!("t".repeat(1025)), json!(0.5), json!(true), Value::Null, json!([]), json!({})] {
            assert_eq!(ProgressToken::from_value(&other), None, "{other}");
        }
    }
}
