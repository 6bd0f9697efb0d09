//! What a command sets for its calls.

use std::time::Duration;

use super::super::error::PolicyError;
use super::super::grammar::{CommandRule, Example, ExampleLine, Expected, SandboxWord};
use super::super::yaml::{Kind, Node};
use super::Context;
use super::command::is_on;
use super::fields::{Fields, What, entries, integer, items, one_or_more, text, texts, word};
use crate::text::{read_duration, read_size};

/// Reads the settings over those that the command has already.
pub(super) fn read(
    fields: &Fields<'_, '_>,
    command: &mut CommandRule,
    context: &Context<'_>,
) -> Result<(), PolicyError> {
    if let Some(node) = fields.get("program") {
        let program = text(node, &fields.what("program"), context)?;
        if program.is_empty() || program.chars().any(char::is_control) {
            return Err(context.value(node, &fields.what("program"), "a name or a path"));
        }
        command.program = Some(program.to_owned());
    }
    if let Some(node) = fields.get("env") {
        env(node, fields.what("env"), command, context)?;
    }
    if let Some(node) = fields.get("cwd") {
        let cwd = Fields::new(node, fields.what("cwd"), &["under"], context)?;
        if let Some(node) = cwd.get("under") {
            command.cwd_under = one_or_more(node, &cwd.what("under"), context)?;
        }
    }
    command.stdin = is_on(fields, "stdin", context)?.unwrap_or(command.stdin);
    command.read_only = is_on(fields, "read_only", context)?.unwrap_or(command.read_only);
    if let Some(node) = fields.get("timeout") {
        command.timeout = Some(duration(node, &fields.what("timeout"), context)?);
    }
    if let Some(node) = fields.get("success_exit_codes") {
        let what = fields.what("success_exit_codes");
        let code = |node| {
            let code = integer(node, &what, context)?;
            let code = i32::try_from(code).ok().filter(|code| (0..=255).contains(code));
            code.ok_or_else(|| context.value(node, &what, "numbers from 0 to 255"))
        };
        command.success_exit_codes = items(node, &what, context)?.iter().map(code).collect::<Result<_, _>>()?;
    }
    if let Some(node) = fields.get("sandbox") {
        sandbox(node, fields.what("sandbox"), command, context)?;
    }
    if let Some(node) = fields.get("limits") {
        limits(node, fields.what("limits"), command, context)?;
    }
    if let Some(node) = fields.get("examples") {
        examples(node, fields.what("examples"), command, context)?;
    }
    Ok(())
}

fn env(node: &Node, what: What<'_>, command: &mut CommandRule, context: &Context<'_>) -> Result<(), PolicyError> {
    let fields = Fields::new(node, what, &["set", "unset"], context)?;
    let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    if let Some(node) = fields.get("set") {
        for (key, value) in entries(node, &fields.what("set"), context)? {
            if !is_name(&key.text) {
                return Err(context.value(value, &What::Named("the variable", &key.text), "a name without `=`"));
            }
            // Nothing behind the name is the empty value.
            let value =
                if value.is_null() { "" } else { text(value, &What::Named("the variable", &key.text), context)? };
            command.env.unset.retain(|name| *name != key.text);
            command.env.set.insert(key.text.clone(), value.to_owned());
        }
    }
    if let Some(node) = fields.get("unset") {
        for name in texts(node, &fields.what("unset"), context)? {
            if !is_name(&name) {
                return Err(context.value(node, &fields.what("unset"), "names without `=`"));
            }
            command.env.set.remove(&name);
            command.env.unset.push(name);
        }
    }
    Ok(())
}

fn sandbox(node: &Node, what: What<'_>, command: &mut CommandRule, context: &Context<'_>) -> Result<(), PolicyError> {
    let fields = Fields::new(node, what, &["level", "exec", "network", "paths", "write"], context)?;
    if let Some(node) = fields.get("level") {
        let all = [SandboxWord::Off, SandboxWord::Workspace, SandboxWord::Strict];
        command.sandbox.level = Some(word(node, &fields.what("level"), &all, SandboxWord::name, context)?);
    }
    let is = |key: &str, wanted: &str, other: Option<&str>| {
        let Some(node) = fields.get(key) else { return Ok(None) };
        match text(node, &fields.what(key), context)? {
            found if found == wanted => Ok(Some(true)),
            found if Some(found) == other => Ok(Some(false)),
            _ => {
                let expected = other.map_or_else(|| format!("`{wanted}`"), |other| format!("`{wanted}` or `{other}`"));
                Err(context.value(node, &fields.what(key), &expected))
            }
        }
    };
    command.sandbox.exec_own = is("exec", "own", None)?.unwrap_or(command.sandbox.exec_own);
    command.sandbox.network = is("network", "full", Some("none"))?.or(command.sandbox.network);
    command.sandbox.paths_claimed = is("paths", "claimed", None)?.unwrap_or(command.sandbox.paths_claimed);
    command.sandbox.writes = is("write", "full", Some("none"))?.or(command.sandbox.writes);
    let sandbox = &command.sandbox;
    let needs_one = sandbox.exec_own || sandbox.paths_claimed || sandbox.network == Some(false);
    match sandbox.level {
        Some(SandboxWord::Off) if needs_one || sandbox.writes_nothing() => {
            Err(context.value(node, &fields.of, "a level that can hold the rest, `workspace` or `strict`"))
        }
        Some(SandboxWord::Workspace) if sandbox.exec_own => {
            Err(context.value(node, &fields.of, "the level `strict`, the only one at which `exec: own` holds"))
        }
        // The level that keeps what was asked for, whatever the server's is.
        None if needs_one => {
            command.sandbox.level = Some(SandboxWord::Strict);
            Ok(())
        }
        Some(_) | None => Ok(()),
    }
}

fn limits(node: &Node, what: What<'_>, command: &mut CommandRule, context: &Context<'_>) -> Result<(), PolicyError> {
    let fields = Fields::new(node, what, &["memory", "cpu", "file_size", "processes", "open_files"], context)?;
    let size = |key: &str| -> Result<Option<u64>, PolicyError> {
        let Some(node) = fields.get(key) else { return Ok(None) };
        let size = read_size(text(node, &fields.what(key), context)?).ok().filter(|size| *size > 0);
        size.map(Some).ok_or_else(|| context.value(node, &fields.what(key), "a size above 0, such as `64MiB`"))
    };
    let count = |key: &str| -> Result<Option<u64>, PolicyError> {
        let Some(node) = fields.get(key) else { return Ok(None) };
        let count = u64::try_from(integer(node, &fields.what(key), context)?).ok().filter(|count| *count > 0);
        count.map(Some).ok_or_else(|| context.value(node, &fields.what(key), "a whole number of at least 1"))
    };
    let limits = &mut command.limits;
    limits.memory = size("memory")?.or(limits.memory);
    limits.file_size = size("file_size")?.or(limits.file_size);
    limits.processes = count("processes")?.or(limits.processes);
    limits.open_files = count("open_files")?.or(limits.open_files);
    if let Some(node) = fields.get("cpu") {
        limits.cpu = Some(duration(node, &fields.what("cpu"), context)?);
    }
    Ok(())
}

fn duration(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<Duration, PolicyError> {
    let duration = read_duration(text(node, what, context)?).ok().filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| context.value(node, what, "a duration with its unit, such as `500ms`, `30s` or `10m`"))
}

fn examples(node: &Node, what: What<'_>, command: &mut CommandRule, context: &Context<'_>) -> Result<(), PolicyError> {
    let fields = Fields::new(node, what, &["allow", "ask", "refuse"], context)?;
    for expected in [Expected::Allow, Expected::Ask, Expected::Refuse] {
        let Some(node) = fields.get(expected.name()) else { continue };
        for node in items(node, &fields.what(expected.name()), context)? {
            let what = fields.what(expected.name());
            let line = match &node.kind {
                Kind::List(_) => ExampleLine::Words(texts(node, &what, context)?),
                Kind::Scalar { .. } | Kind::Map(_) => ExampleLine::Line(text(node, &what, context)?.to_owned()),
            };
            command.examples.push(Example { origin: context.origin(node.line), line, expected });
        }
    }
    Ok(())
}
