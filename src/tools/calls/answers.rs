//! The results of the tools about calls: short fields, followed by long ones.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{CallState, Field};
use crate::mcp::CallToolResult;
use crate::tools::ReportSettings;
use crate::tools::yaml::{write_text, write_value};

/// A call in the list.
#[derive(Debug, Clone)]
pub struct ListedCall {
    /// Its number.
    pub call: u64,
    /// Its words.
    pub command: String,
    /// How far it is.
    pub state: CallState,
    /// How long it has run.
    pub elapsed: Duration,
}

/// The answer of `list_calls`.
pub fn list_result(calls: Vec<ListedCall>, settings: &ReportSettings) -> CallToolResult {
    let mut yaml = String::from(if calls.is_empty() { "calls: []\n" } else { "calls:\n" });
    let mut list = Vec::new();
    for ListedCall { call, command, state, elapsed } in calls {
        let mut fields = vec![("call", number(call)), ("command", Field::Text(command))];
        fields.extend(state.fields());
        fields.push(("elapsed_ms", number(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))));
        let CallToolResult { text, structured_content, .. } = of_fields(fields, settings);
        for (place, line) in text.lines().enumerate() {
            yaml.push_str(if place == 0 { "  - " } else { "    " });
            yaml.push_str(line);
            yaml.push('\n');
        }
        list.extend(structured_content);
    }
    let structured_content = settings.structured.then(|| json!({"calls": list}));
    CallToolResult { text: yaml, structured_content, is_error: false }
}

/// The answer of `stop_call` and `write_input`.
pub fn stop_result(call: u64, state: &CallState, settings: &ReportSettings) -> CallToolResult {
    let mut fields = vec![("call", number(call))];
    fields.extend(state.fields());
    of_fields(fields, settings)
}

pub(super) fn number(number: u64) -> Field {
    Field::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The result of some fields, in their order.
pub(super) fn of_fields(fields: Vec<(&'static str, Field)>, settings: &ReportSettings) -> CallToolResult {
    let mut yaml = String::new();
    let mut content = Map::new();
    for (key, field) in fields {
        let value = match field {
            Field::Flag(flag) => {
                write_value(&mut yaml, key, if flag { "true" } else { "false" });
                json!(flag)
            }
            Field::Number(number) => {
                write_value(&mut yaml, key, &number.to_string());
                json!(number)
            }
            Field::Text(text) => {
                write_text(&mut yaml, key, &text);
                if settings.structured { Value::String(text) } else { Value::Null }
            }
        };
        content.insert(key.to_owned(), value);
    }
    let structured_content = settings.structured.then_some(Value::Object(content));
    CallToolResult { text: yaml, structured_content, is_error: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::End;

    #[test]
    fn a_list_is_read_back_whatever_its_commands_are() {
        let call = |call, command: &str, state| ListedCall {
            call,
            command: command.to_owned(),
            state,
            elapsed: Duration::from_millis(1500),
        };
        let calls = vec![
            call(1, "echo 'a: b\nc' #", CallState::Ended { end: End::Exited(0), hint: None }),
            call(2, "sleep 5", CallState::Running),
            call(3, "yes", CallState::Failed("no: such".to_owned())),
        ];
        let settings = ReportSettings { structured: true, ..ReportSettings::default() };
        let result = list_result(calls, &settings);
        let read: Value = serde_yaml::from_str(&result.text).unwrap();
        assert_eq!(result.structured_content.as_ref(), Some(&read), "{}", result.text);
        assert_eq!(
            read["calls"][0],
            json!({"call": 1, "command": "echo 'a: b\nc' #", "running": false, "exit_code": 0, "elapsed_ms": 1500})
        );
        assert_eq!(read["calls"][2]["failed"], json!("no: such"));
        assert_eq!(list_result(Vec::new(), &settings).text, "calls: []\n");
    }
}
