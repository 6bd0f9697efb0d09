//! The id of a request, kept so that it goes back exactly as it came.

use std::fmt;

use serde::Serialize;
use serde_json::{Number, Value};

/// A string, or an integer of 64 bits (signed or unsigned). Zero with a sign or a fraction is zero.
///
/// Null, fractions, larger numbers and everything else are no ids: MCP forbids null, and a number that does not fit
/// 64 bits could not be sent back as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct RequestId(Value);

impl RequestId {
    /// Takes a JSON value for an id, if it is one.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(_) => Some(Self(value.clone())),
            Value::Number(number) if is_integer(number) => Some(Self(value.clone())),
            // serde_json reads `-0` as a fraction, to keep its sign; the id that goes back equals it.
            Value::Number(number) if number.as_f64() == Some(0.0) => Some(Self::from(0)),
            Value::Number(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
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

fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64()
}
