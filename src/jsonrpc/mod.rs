//! JSON-RPC 2.0 as MCP uses it: messages, their framing in lines, error objects.
//!
//! Knows nothing of MCP: no method name and no revision of the protocol stands here. Written after
//! <https://www.jsonrpc.org/specification>, with two narrower rules of MCP's: an id is never null, and `params` is an
//! object.
//!
//! - [`LineReader`] cuts a stream into lines and survives those that are too long.
//! - [`Incoming::parse`] makes a [`Message`] of a line, or a [`Malformed`] that holds the answer to it.
//! - [`encode`] makes the lines that go out.

pub mod encode;
mod error;
mod framing;
mod id;
mod message;
mod outline;
mod shape;

pub use error::{ErrorObject, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR};
pub use framing::{Line, LineReader, MAX_LINE};
pub use id::RequestId;
pub use message::{Incoming, Malformed, Message, Notification, Request, Response};
