//! Stands where the tools about calls would, in a build without them: there are none.

use serde_json::{Map, Value};

use super::{ArgumentError, CallTool, ToolSettings};
use crate::mcp::Tool;

/// A call of one of these tools; there is none.
#[derive(Debug)]
pub enum CallRequest {}

/// The part of an output that is to be read; there is none.
#[derive(Debug)]
pub enum ReadOutput {}

pub(in crate::tools) fn tools(_: &ToolSettings) -> Vec<(CallTool, Tool)> {
    Vec::new()
}

/// Never called, since no list of tools names one.
pub(in crate::tools) fn read(
    _: CallTool,
    _: Map<String, Value>,
    _: &ToolSettings,
) -> Result<CallRequest, ArgumentError> {
    Err(ArgumentError::Missing { name: "call", expected: "the number of a call" })
}
