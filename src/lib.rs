//! An MCP server that runs only the commands its operator allows.
#![forbid(unsafe_code)]

/// The settings: default, file, environment and flags, resolved into one `Config`.
pub mod config;
