//! The id of a request, kept so that it is returned exactly as it came.

use std::fmt;

use serde::Serialize;
use serde_json::{Number, Value};

/// The longest id that is accepted, in bytes of its text: 1 KiB.
pub const LONGEST_ID: usize = 1024;

/// A string, or an integer of 64 bits (signed or unsigned). Zero with a sign is zero.
///
/// Null, fractions, larger numbers, strings of more than `LONGEST_ID` bytes and everything else are not ids: MCP
/// forbids null, a number that does not fit 64 bits could not be returned as it came, and a string of megabytes would
/// be repeated in every message about its request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct RequestId(Value);

impl RequestId {
    /// Converts a JSON value to an id, if it is one.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) if text.len() <= LONGEST_ID => Some(Self(value.clone())),
            Value::Number(number) if is_integer(number) => Some(Self(value.clone())),
            // serde_json reads `-0` as a fraction, to keep its sign; the id that goes back equals it.
            Value::Number(number) if is_negative_zero(number) => Some(Self::from(0)),
            Value::String(_) | Value::Number(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                None
            }
        }
    }

    /// The id as the JSON value it came as.
    pub fn as_value(&self) -> &Value {
        &self.0
    }
}

impl From<u64> for RequestId {
    fn from(number: u64) -> Self {
        Self(Value::from(number))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn is_negative_zero(number: &Number) -> bool {
    number.as_f64().is_some_and(|number| number == 0.0 && number.is_sign_negative())
}

fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64()
}
