//! Stands where the tools on the persistent shell would, in a build without it: there are none.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{ArgumentError, ToolSettings};
use crate::mcp::Tool;

/// Whether this build has the room.
pub(crate) const IS_BUILT: bool = false;

/// There is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellTool {}

impl ShellTool {
    pub(super) fn entry(self) -> Option<usize> {
        match self {}
    }
}

/// Never made.
#[derive(Debug)]
pub enum ShellCall {}

impl ShellCall {
    pub fn timeout(&self) -> Option<Duration> {
        match *self {}
    }

    pub fn runs_command(&self) -> bool {
        match *self {}
    }
}

pub(super) fn tools(_: &ToolSettings) -> Vec<(ShellTool, Tool)> {
    Vec::new()
}

pub(super) fn read(tool: ShellTool, _: Map<String, Value>, _: &ToolSettings) -> Result<ShellCall, ArgumentError> {
    match tool {}
}

pub(super) fn rules(_: &ToolSettings) -> String {
    String::new()
}
