//! What a handler knows of the request beside its parameters, whatever era it came from.

use serde_json::{Map, Value};

use crate::mcp::{Implementation, Revision};

/// Made for each request, from the handshake or from the request's own metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestContext {
    /// What the answer must be valid in.
    pub revision: Revision,
    /// What the client declared.
    pub client_capabilities: Map<String, Value>,
    /// The client's name for itself, where it gives one.
    pub client_info: Option<Implementation>,
}
