//! `allowexec call`: calls one tool as a client does, with a request to a server.

use std::borrow::Cow;
use std::io::{self, Cursor, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::error::CliError;
use super::signals::Signals;
use super::{Outcome, log, print, print_json, stdio, workbench};
use crate::config::{Config, LogLevel, Source};
use crate::exec::own_descendants;
use crate::mcp::Revision;
use crate::server::{DrainTime, Parts, Server, Suggests};
use crate::text::escape_block;

pub(super) fn run(config: &Config, tool: &str, arguments: Option<&str>, json: bool) -> Result<Outcome, CliError> {
    own_descendants();
    if config.record.value.is_some() {
        stdio::note("`call` records nothing; `--record` (`ALLOWEXEC_RECORD`) is for `allowexec serve`");
    }
    let arguments = read(arguments)?;
    if arguments.get("background") == Some(&Value::Bool(true)) {
        stdio::note(
            "a call in the background is ended when `allowexec call` ends; leave `background` out to wait for its end",
        );
    }
    let mut config = config.clone();
    // The result already says what the log would say about the call; a log file is kept for later.
    if config.log.source == Source::Default && config.log_file.value.is_none() {
        config.log.value = LogLevel::Warn;
    }
    let result = answer(&config, &request(tool, &arguments))?;
    let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or_default();
    if json {
        print_json(&result)?;
    } else {
        let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
        let texts = blocks.filter_map(|block| block.get("text").and_then(Value::as_str));
        let text = texts.collect::<Vec<_>>().join("\n");
        let text = if text.ends_with('\n') { text } else { text + "\n" };
        // A program gets every byte; on a terminal, the output of a command must not control the terminal.
        print(&if io::stdout().is_terminal() { escape_block(&text) } else { Cow::Borrowed(&*text) })?;
    }
    Ok(if is_error { Outcome::Bad } else { Outcome::Good })
}

/// The arguments of the tool.
fn read(arguments: Option<&str>) -> Result<Value, CliError> {
    let arguments: Value = serde_json::from_str(arguments.unwrap_or("{}"))
        .map_err(|error| CliError::ToolArguments { why: error.to_string() })?;
    if !arguments.is_object() {
        return Err(CliError::ToolArguments { why: "this is another kind of JSON".to_owned() });
    }
    Ok(arguments)
}

/// The request that a client of the latest revision would send.
fn request(tool: &str, arguments: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": Revision::V2026_07_28.name(),
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

fn answer(config: &Config, request: &str) -> Result<Value, CliError> {
    let mut output = Vec::new();
    let mut parts = Parts::new(config);
    let suggestions = workbench::suggestions(config).filter(|_| config.log.value > LogLevel::Off);
    parts.suggests = suggestions.map(|suggests| {
        let told = Mutex::new(Vec::new());
        let tell: Suggests = Arc::new(move |refused, rules| {
            let how = suggests(refused, rules)?;
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            // Several commands of a line may need the same.
            if !told.contains(&how) {
                stdio::note(&format!("to allow it, {how}"));
                told.push(how);
            }
            None
        });
        tell
    });
    parts.check_start()?;
    let signals = Signals::catch().map_err(CliError::serve)?;
    let server = Server::new(parts, DrainTime::Unbounded, log::sink(config)?, &mut output).ending_orphans();
    server.check_start()?;
    signals.end(server.ender(), stdio::Closing::default()).map_err(CliError::serve)?;
    server.serve(Cursor::new(request.to_owned())).map_err(CliError::serve)?;
    let response: Value = serde_json::from_slice(&output)
        .map_err(|_| CliError::Protocol { message: "the call was ended before it had a result".to_owned() })?;
    match (response.get("result"), response.pointer("/error/message").and_then(Value::as_str)) {
        (Some(result), _) => Ok(result.clone()),
        (None, Some(message)) if message.starts_with("unknown tool ") && config.tools.value.has_execute() => {
            let how = "a command is an argument of one: `allowexec call execute_command '{\"command\":\"ls -l\"}'`";
            Err(CliError::Protocol { message: format!("{message}; {how}") })
        }
        (None, message) => Err(CliError::Protocol { message: message.unwrap_or("no result").to_owned() }),
    }
}
