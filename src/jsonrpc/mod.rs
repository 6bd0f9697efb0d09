//! JSON-RPC 2.0 as MCP uses it: messages, their framing in lines, error objects.
//!
//! Knows nothing of MCP: it contains no method name and no revision of the protocol. Written according to
//! <https://www.jsonrpc.org/specification>, with two stricter rules of MCP: an id is never null, and `params` is an
//! object.
//!
//! - [`LineReader`] splits a stream into lines, and skips those that are too long.
//! - [`Incoming::parse`] makes a [`Message`] of a line, or a [`Malformed`] that contains the answer to it.
//! - `MOST_WEIGHT` bounds the memory for the values of a line, before any is made.
//! - [`encode`] makes the lines that are sent.

pub mod encode;
mod error;
mod framing;
mod id;
mod incoming;
mod long_line;
mod message;
mod outline;
mod shape;
pub(crate) mod weight;

pub use error::ErrorObject;
pub(crate) use error::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR};
pub(crate) use framing::MAX_LINE;
pub use framing::{Line, LineReader};
pub(crate) use id::LONGEST_ID;
pub use id::RequestId;
pub use incoming::Incoming;
pub use long_line::LongLine;
pub use message::{Malformed, Message, Notification, Request, Response};
