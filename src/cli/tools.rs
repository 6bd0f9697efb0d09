//! `allowexec tools`: what a client would see.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::error::CliError;
use super::{Outcome, print, print_json};
use crate::config::Config;
use crate::mcp::Revision;
use crate::server::Parts;
use crate::text::escape;

pub(super) fn run(config: &Config, json: bool) -> Result<Outcome, CliError> {
    let parts = Parts::new(config);
    if json {
        let tools: Vec<Value> = parts.toolbox.list().map(|tool| tool.to_value(Revision::V2026_07_28)).collect();
        return print_json(&json!({"tools": tools}));
    }
    // Names of tools are ASCII, and the protocol bounds their length.
    let lines: Vec<[Cow<'_, str>; 2]> = parts
        .toolbox
        .list()
        .map(|tool| [escape(&tool.name), escape(tool.description.lines().next().unwrap_or_default())])
        .collect();
    let width = lines.iter().map(|[name, _]| name.len()).max().unwrap_or_default().min(128);
    print(&lines.iter().map(|[name, what]| format!("{name:<width$}  {what}\n")).collect::<String>())
}
