//! An MCP server that runs only the commands its operator allows.
#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
pub mod exec;
pub mod jsonrpc;
pub mod mcp;
pub mod policy;
pub mod prompts;
pub mod sandbox;
pub mod server;
pub mod shell;
pub mod tools;
pub mod transcript;
