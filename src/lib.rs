//! An MCP server that runs only the commands its operator allows.
#![forbid(unsafe_code)]

pub mod jsonrpc;
pub mod policy;
pub mod transcript;
