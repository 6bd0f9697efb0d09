//! What a handler knows of the request beside its parameters, whatever era it came from.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::mcp::{Implementation, LoggingLevel, ProgressToken, Revision, TraceContext};

/// Made for each request, from the handshake or from the request's own metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestContext {
    /// What the answer must be valid in.
    pub revision: Revision,
    /// What the client declared.
    pub client_capabilities: Arc<Map<String, Value>>,
    /// The client's name for itself, where it gives one.
    pub client_info: Option<Arc<Implementation>>,
    /// The token that the client wants progress under; without one it hears of none.
    pub progress_token: Option<ProgressToken>,
    /// The level from which on the client wants messages about the request; without one it gets none.
    pub log_level: Option<LoggingLevel>,
    /// Where the request stands in a trace of the client's.
    pub trace: TraceContext,
}
