//! Messages about what the server does, for clients that ask for them.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// The severity of a message, according to RFC 5424, in increasing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoggingLevel {
    /// Details for debugging.
    Debug,
    /// Normal events.
    Info,
    /// Normal but significant events.
    Notice,
    /// Warnings.
    Warning,
    /// Errors.
    Error,
    /// Critical failures.
    Critical,
    /// Somebody must act immediately.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LoggingLevel {
    /// All levels, the least severe first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// The word for it in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// Reads a level.
    ///
    /// # Errors
    /// The message for an invalid level: `key` is its name in the request.
    pub fn from_value(key: &str, value: &Value) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|level| value.as_str() == Some(level.name()))
            .ok_or_else(|| format!("`{key}` must be one of {}", known()))
    }
}

impl Serialize for LoggingLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The parameters of `notifications/message`.
pub fn message_params(level: LoggingLevel, data: &Value) -> Value {
    json!({"level": level, "logger": env!("CARGO_PKG_NAME"), "data": data})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eight_levels_rise_and_nothing_else_is_one() {
        assert!(LoggingLevel::ALL.is_sorted());
        for level in LoggingLevel::ALL {
            assert_eq!(LoggingLevel::from_value("level", &json!(level)), Ok(level));
        }
        for other in [json!("warn"), json!("INFO"), json!(""), json!(3), Value::Null] {
            assert_eq!(
                LoggingLevel::from_value("level", &other),
                Err("`level` must be one of debug, info, notice, warning, error, critical, alert, emergency".into())
            );
        }
    }
}
