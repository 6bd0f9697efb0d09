//! Reads the arguments of a call by the tool's schema; for each violation the model gets one sentence.
//!
//! An optional argument that is null or empty counts as absent, because a model that must name every argument of a tool,
//! as in OpenAI's strict mode, leaves one out in this way.

use std::time::Duration;

use serde_json::{Map, Value};
use thiserror::Error;

use crate::policy::quoted;

/// The arguments that a client sent, all of whose names are known to the tool.
#[derive(Debug)]
pub struct Arguments {
    values: Map<String, Value>,
}

/// How arguments violate the schema of their tool.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArgumentError {
    /// A required one is missing.
    #[error("the argument `{name}` is missing; expected {expected}")]
    Missing {
        /// Its name.
        name: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    /// One has the wrong type.
    #[error("the argument `{name}` must be {expected}, but it is {found}")]
    WrongType {
        /// Its name.
        name: &'static str,
        /// The expected type.
        expected: &'static str,
        /// The type that was found.
        found: &'static str,
    },
    /// A list was sent as text.
    #[error(
        "the argument `{name}` must be an array of strings, but it is a string; send one string for each word, such as \
         `[\"-n\", \"5\"]`, or call `execute_command`, which takes the whole line as `command`"
    )]
    ListAsText {
        /// Its name.
        name: &'static str,
    },
    /// One is not an argument of this tool.
    #[error("the argument {} is unknown; the arguments of this tool are {known}", quoted(.name))]
    Unknown {
        /// As the client wrote it.
        name: String,
        /// The names of all arguments.
        known: String,
    },
    /// A number is out of its range.
    #[error("the argument `{name}` must be a whole number from {least} to {most}, but it is {found}")]
    OutOfRange {
        /// Its name.
        name: &'static str,
        /// The least that is allowed.
        least: i64,
        /// The most that is allowed.
        most: i64,
        /// As the client wrote it.
        found: String,
    },
    /// The command is not one that only reads.
    #[error("`inspect_command` runs only what changes nothing: {known}; call {} with `execute_command`", quoted(.word))]
    NotReadOnly {
        /// The command, as the client wrote it.
        word: String,
        /// The commands that only read.
        known: String,
    },
    /// Two of them exclude each other.
    #[error("the arguments `{one}` and `{other}` exclude each other; leave one of them out")]
    Both {
        /// One of them.
        one: &'static str,
        /// The other.
        other: &'static str,
    },
    /// A timeout is out of its range.
    #[error("the argument `{name}` must be between 1 and {most} milliseconds{}, but it is {found}", in_background(*.background))]
    TimeoutOutOfRange {
        /// Its name.
        name: &'static str,
        /// The most that the operator allows.
        most: u128,
        /// The most in the background, where a call there may take longer.
        background: Option<u128>,
        /// As the client wrote it.
        found: String,
    },
}

impl Arguments {
    /// Takes the arguments of a call.
    ///
    /// # Errors
    /// [`ArgumentError::Unknown`] if one is not among `known`.
    pub fn new(values: Map<String, Value>, known: &[&'static str]) -> Result<Self, ArgumentError> {
        match values.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                Err(ArgumentError::Unknown { name: name.clone(), known })
            }
            None => Ok(Self { values }),
        }
    }

    /// Takes a required string.
    ///
    /// # Errors
    /// [`ArgumentError::Missing`] or [`ArgumentError::WrongType`].
    pub fn required_string(&mut self, name: &'static str) -> Result<String, ArgumentError> {
        match self.values.remove(name) {
            None => Err(ArgumentError::Missing { name, expected: A_STRING }),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(ArgumentError::WrongType { name, expected: A_STRING, found: kind(&other) }),
        }
    }

    /// Takes an optional argument.
    fn optional(&mut self, name: &str) -> Option<Value> {
        self.values.remove(name).filter(|value| !matches!(value, Value::Null) && value.as_str() != Some(""))
    }

    /// Takes an optional string.
    ///
    /// # Errors
    /// [`ArgumentError::WrongType`].
    pub fn string(&mut self, name: &'static str) -> Result<Option<String>, ArgumentError> {
        match self.optional(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(ArgumentError::WrongType { name, expected: A_STRING, found: kind(&other) }),
        }
    }

    /// Takes an optional array of strings; empty if it is left out.
    ///
    /// # Errors
    /// [`ArgumentError::WrongType`].
    pub fn strings(&mut self, name: &'static str) -> Result<Vec<String>, ArgumentError> {
        let wrong = |found: &'static str| ArgumentError::WrongType { name, expected: "an array of strings", found };
        match self.optional(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(elements)) => elements
                .into_iter()
                .map(|element| match element {
                    Value::String(text) => Ok(text),
                    _ => Err(wrong("an array that holds something else")),
                })
                .collect(),
            Some(Value::String(_)) => Err(ArgumentError::ListAsText { name }),
            Some(other) => Err(wrong(kind(&other))),
        }
    }

    /// Takes an optional boolean; false if it is left out.
    ///
    /// # Errors
    /// [`ArgumentError::WrongType`].
    pub fn flag(&mut self, name: &'static str) -> Result<bool, ArgumentError> {
        match self.optional(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(ArgumentError::WrongType { name, expected: "true or false", found: kind(&other) }),
        }
    }

    /// Takes an optional whole number within these bounds.
    ///
    /// # Errors
    /// [`ArgumentError::WrongType`] or [`ArgumentError::OutOfRange`].
    pub fn whole(&mut self, name: &'static str, least: i64, most: i64) -> Result<Option<i64>, ArgumentError> {
        let Some(value) = self.optional(name) else { return Ok(None) };
        let Value::Number(number) = &value else {
            return Err(ArgumentError::WrongType { name, expected: "a whole number", found: kind(&value) });
        };
        // A number like 1000.0 is an integer to JSON Schema.
        let of_float = || number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15);
        let whole = number.as_i64().or_else(|| of_float().map(|float| float as i64));
        let out_of_range = || ArgumentError::OutOfRange { name, least, most, found: number.to_string() };
        whole.filter(|whole| (least..=most).contains(whole)).map(Some).ok_or_else(out_of_range)
    }

    /// Takes a duration in whole milliseconds, from 1 to `most`; `background` is what a call in the background may take.
    ///
    /// # Errors
    /// [`ArgumentError::WrongType`] or [`ArgumentError::TimeoutOutOfRange`].
    pub fn timeout(
        &mut self,
        name: &'static str,
        most: Duration,
        background: Option<Duration>,
    ) -> Result<Option<Duration>, ArgumentError> {
        let Some(value) = self.optional(name) else { return Ok(None) };
        let wrong = |found| ArgumentError::WrongType { name, expected: "a whole number of milliseconds", found };
        let Value::Number(number) = &value else { return Err(wrong(kind(&value))) };
        let out_of_range = || ArgumentError::TimeoutOutOfRange {
            name,
            most: most.as_millis(),
            background: background.filter(|longer| *longer > most).map(|longer| longer.as_millis()),
            found: number.to_string(),
        };
        // A number like 1000.0 is an integer to JSON Schema.
        let whole = number.as_f64().is_some_and(|float| float.fract() == 0.0);
        if !whole {
            return Err(wrong("a fraction"));
        }
        let millis = number
            .as_u64()
            .or_else(|| number.as_f64().filter(|float| (1.0..1e15).contains(float)).map(|float| float as u64));
        let timeout = millis.map(Duration::from_millis).ok_or_else(out_of_range)?;
        if timeout.is_zero() || timeout > most {
            return Err(out_of_range());
        }
        Ok(Some(timeout))
    }
}

const A_STRING: &str = "a string";

fn in_background(most: Option<u128>) -> String {
    most.map_or_else(String::new, |most| format!(", or up to {most} with `background: true`"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn timeout(value: Value) -> String {
        timeout_or(value, None)
    }

    fn timeout_or(value: Value, background: Option<Duration>) -> String {
        let Value::Object(values) = json!({"timeout_ms": value}) else { unreachable!() };
        let mut arguments = Arguments::new(values, &["timeout_ms"]).unwrap();
        match arguments.timeout("timeout_ms", Duration::from_secs(600), background) {
            Ok(timeout) => format!("{timeout:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_timeout_is_a_whole_number_of_milliseconds_within_the_operators_bound() {
        for whole in [json!(1500), json!(1500.0)] {
            assert_eq!(timeout(whole), "Some(1.5s)");
        }
        assert_eq!(timeout(json!(600_000)), "Some(600s)");
        for value in [json!(0), json!(-1), json!(600_001), json!(1e300), json!(u64::MAX)] {
            let expected =
                format!("the argument `timeout_ms` must be between 1 and 600000 milliseconds, but it is {value}");
            assert_eq!(timeout(value), expected);
        }
        let background = Some(Duration::from_secs(3600));
        assert_eq!(
            timeout_or(json!(700_000), background),
            "the argument `timeout_ms` must be between 1 and 600000 milliseconds, or up to 3600000 with `background: true`, but \
             it is 700000"
        );
        for (value, found) in [(json!("5"), "a string"), (json!(0.5), "a fraction"), (json!(false), "a boolean")] {
            let expected =
                format!("the argument `timeout_ms` must be a whole number of milliseconds, but it is {found}");
            assert_eq!(timeout(value), expected);
        }
    }

    #[test]
    fn an_optional_argument_that_is_null_or_empty_counts_as_absent() {
        for nothing in [json!(null), json!("")] {
            assert_eq!(timeout(nothing.clone()), "None");
            let Value::Object(values) = json!({"cwd": nothing, "args": nothing, "command": nothing}) else {
                unreachable!()
            };
            let mut arguments = Arguments::new(values, &["cwd", "args", "command"]).unwrap();
            assert_eq!(arguments.string("cwd"), Ok(None));
            assert_eq!(arguments.strings("args"), Ok(Vec::new()));
            // A required one must be present.
            let required = arguments.required_string("command").map_err(|error| error.to_string());
            let expected = match nothing {
                Value::Null => Err("the argument `command` must be a string, but it is null".to_owned()),
                _ => Ok(String::new()),
            };
            assert_eq!(required, expected);
        }
    }

    #[test]
    fn what_breaks_the_schema_is_named() {
        let read = |values: Value, known: &[&'static str]| {
            let Value::Object(values) = values else { unreachable!() };
            Arguments::new(values, known).and_then(|mut arguments| {
                arguments.strings("args")?;
                arguments.required_string("command")
            })
        };
        let said = |values: Value| read(values, &["command", "args"]).unwrap_err().to_string();
        assert_eq!(said(json!({})), "the argument `command` is missing; expected a string");
        assert_eq!(said(json!({"command": 5})), "the argument `command` must be a string, but it is a number");
        assert_eq!(
            said(json!({"comand": ""})),
            "the argument `comand` is unknown; the arguments of this tool are `command`, `args`"
        );
        for text in ["a", "[\"a\"]"] {
            assert_eq!(
                said(json!({"args": text})),
                "the argument `args` must be an array of strings, but it is a string; send one string for each word, such \
                 as `[\"-n\", \"5\"]`, or call `execute_command`, which takes the whole line as `command`"
            );
        }
        assert_eq!(said(json!({"args": {}})), "the argument `args` must be an array of strings, but it is an object");
        assert_eq!(
            said(json!({"args": ["a", 1]})),
            "the argument `args` must be an array of strings, but it is an array that holds something else"
        );
    }
}
