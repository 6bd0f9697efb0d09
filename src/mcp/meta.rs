//! `_meta` of requests and results.

use std::fmt;

use serde_json::{Map, Value, json};

use super::lifecycle::{Implementation, relevant};
use super::{LoggingLevel, ProgressToken, Revision, UNSUPPORTED_PROTOCOL_VERSION};
use crate::text::{escape, quote};

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// The key of `_meta` that says which task a message is about.
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// The content of `_meta` in a modern request.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// The revision of the request.
    pub revision: Revision,
    /// The capabilities for this request, as far as they matter.
    pub client_capabilities: Map<String, Value>,
    /// The client's name for itself, if it gives one.
    pub client_info: Option<Implementation>,
    /// The lowest level of log messages that are wanted for this request; `None` means no messages.
    pub log_level: Option<LoggingLevel>,
}

/// Why the metadata of a modern request can't be used.
#[derive(Debug, Clone, PartialEq)]
pub struct EnvelopeError {
    /// The code of the error that answers the request.
    pub code: i32,
    /// One sentence.
    pub message: String,
    /// The data that a client needs to choose another version.
    pub data: Option<Value>,
}

/// `_meta` of a request, unchecked.
#[derive(Debug, Clone, Copy)]
pub struct RequestMeta<'a>(Option<&'a Map<String, Value>>);

impl<'a> RequestMeta<'a> {
    /// Looks for `_meta` in the parameters of a request; one that is not an object counts as absent.
    pub fn of(params: &'a Map<String, Value>) -> Self {
        Self(params.get("_meta").and_then(Value::as_object))
    }

    /// Whether the request comes from a modern client: it names a version itself.
    pub fn is_modern(self) -> bool {
        self.get(PROTOCOL_VERSION).is_some()
    }

    /// Reads what a modern request must carry.
    ///
    /// # Errors
    /// [`EnvelopeError`]: -32602 if a required key is missing or of the wrong type, [`UNSUPPORTED_PROTOCOL_VERSION`]
    /// with the supported ones if the version is not one of them.
    pub fn envelope(self) -> Result<Envelope, EnvelopeError> {
        let invalid = |message: String| EnvelopeError { code: INVALID_PARAMS, message, data: None };
        let Some(version) = self.get(PROTOCOL_VERSION).and_then(Value::as_str) else {
            return Err(invalid(format!("`_meta[\"{PROTOCOL_VERSION}\"]` must be a string")));
        };
        let Some(revision) = Revision::modern().find(|revision| revision.name() == version) else {
            let supported: Vec<&str> = Revision::modern().map(Revision::name).collect();
            // No real version is that long, and clients close the connection if an answer is too long.
            let version: String = version.chars().take(120).collect();
            return Err(EnvelopeError {
                code: UNSUPPORTED_PROTOCOL_VERSION,
                message: format!(
                    "protocol version `{}` is not served without a handshake; supported: {}",
                    escape(&version),
                    supported.join(", ")
                ),
                data: Some(json!({"supported": supported, "requested": version})),
            });
        };
        let Some(client_capabilities) = self.get(CLIENT_CAPABILITIES).and_then(Value::as_object) else {
            return Err(invalid(format!("`_meta[\"{CLIENT_CAPABILITIES}\"]` must be an object; `{{}}` declares none")));
        };
        let log_level = self.get(LOG_LEVEL).map(|level| LoggingLevel::from_value(LOG_LEVEL, level)).transpose();
        let log_level = log_level.map_err(invalid)?;
        Ok(Envelope {
            revision,
            client_capabilities: relevant(client_capabilities),
            client_info: self.get(CLIENT_INFO).and_then(Implementation::from_value),
            log_level,
        })
    }

    /// The token that the client wants progress under.
    pub fn progress_token(self) -> Option<ProgressToken> {
        self.get("progressToken").and_then(ProgressToken::from_value)
    }

    /// The trace context of the request.
    pub fn trace_context(self) -> TraceContext {
        let entries = TRACE_KEYS.into_iter().filter_map(|key| Some((key, self.get(key)?.as_str()?.to_owned())));
        TraceContext(entries.collect())
    }

    fn get(self, key: &str) -> Option<&'a Value> {
        self.0?.get(key)
    }
}

/// The keys of W3C Trace Context and W3C Baggage, which are in `_meta` without a prefix.
const TRACE_KEYS: [&str; 3] = ["traceparent", "tracestate", "baggage"];
/// How many bytes of each are shown: a `traceparent` whole, and enough of the others to find them.
const TRACE_LENGTH: usize = 128;

/// The trace context of a request: the raw `traceparent`, `tracestate` and `baggage`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceContext(Vec<(&'static str, String)>);

impl fmt::Display for TraceContext {
    /// As in a line of the log: a blank and `key="value"` for each one that came.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(key, value)| write!(f, " {key}={}", quote(value, TRACE_LENGTH)))
    }
}

/// JSON-RPC's code for parameters that are not those of the method.
const INVALID_PARAMS: i32 = -32602;

/// `_meta` of every modern result: the name of the server.
pub(super) fn server_meta() -> Value {
    json!({SERVER_INFO: Implementation::of_this_server().to_value(Revision::V2026_07_28)})
}

/// The `_meta` of a message about a task (2025-11-25).
pub fn related_task_meta(id: &str) -> Value {
    json!({RELATED_TASK: {"taskId": id}})
}
