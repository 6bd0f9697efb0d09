//! The error object of a response, and the codes that JSON-RPC itself defines.

use serde::Serialize;
use serde_json::Value;

use crate::text::escape;

/// The line is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The line is JSON, but not a message.
pub const INVALID_REQUEST: i32 = -32600;
/// The method does not exist, or not in the revision in use.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// The parameters are not those of the method.
pub const INVALID_PARAMS: i32 = -32602;
/// The server itself failed.
pub const INTERNAL_ERROR: i32 = -32603;

/// The `error` member of a response.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorObject {
    /// One of the codes of this module, or one that a protocol on top of JSON-RPC defines.
    pub code: i32,
    /// One sentence: what was wrong, what was expected and what to do.
    pub message: String,
    /// Data that a program needs to react to the error; left out if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ErrorObject {
    /// Makes an error without `data`.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Makes the error for parameters that are not those of the method.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// Makes the error for a method that does not exist in the revision in use.
    pub fn method_not_found(method: &str) -> Self {
        // Only as much as a person reads: a client closes the connection at an answer of 10 MiB.
        let shown: String = method.chars().take(120).collect();
        Self::new(METHOD_NOT_FOUND, format!("method `{}` does not exist here", escape(&shown)))
    }
}
