//! `allowexec tools`: what a client would see.

use serde_json::{Value, json};

use super::error::CliError;
use super::{Outcome, print, print_json};
use crate::config::Config;
use crate::mcp::Revision;
use crate::server::Parts;

pub(super) fn run(config: &Config, json: bool) -> Result<Outcome, CliError> {
    let parts = Parts::new(config);
    if json {
        let tools: Vec<Value> = parts.toolbox.list().map(|tool| tool.to_value(Revision::V2026_07_28)).collect();
        return print_json(&json!({"tools": tools}));
    }
    let lines: Vec<[&str; 2]> = parts
        .toolbox
        .list()
        .map(|tool| [tool.name.as_str(), tool.description.lines().next().unwrap_or_default()])
        .collect();
    let width = lines.iter().map(|[name, _]| name.len()).max().unwrap_or_default();
    print(&lines.iter().map(|[name, what]| format!("{name:<width$}  {what}\n")).collect::<String>())
}
