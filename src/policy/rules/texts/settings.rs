//! Reads the settings of a command for its calls.

use std::time::Duration;

use super::super::error::PolicyError;
use super::super::grammar::{Access, CommandRule, EnvRule, Example, ExampleLine, Expected, SandboxWord, ValueType};
use super::super::redirected::{RedirectionType, Redirections};
use super::Context;
use super::fields::{Fields, What, at_least_one, boolean, entries, integer, items, text, texts};
use super::yaml::{Kind, Node};
use super::{keys, types};
use crate::network::{Network, NetworkError};
use crate::text::is_never_set;
use crate::text::{read_duration, read_size};

/// Reads the settings. Those that are not given stay as the command has them.
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
    if let Some(node) = fields.get("cwd") {
        let cwd = Fields::new(node, fields.what("cwd"), &keys::CWD, context)?;
        if let Some(under) = cwd.read("under", at_least_one, context)? {
            command.cwd_under = under;
        }
    }
    command.stdin = fields.read("stdin", boolean, context)?.unwrap_or(command.stdin);
    command.read_only = fields.read("read_only", boolean, context)?.unwrap_or(command.read_only);
    command.timeout = fields.read("timeout", duration, context)?.or(command.timeout);
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

/// Reads the environment of a level over what it has.
pub(super) fn env(node: &Node, what: What<'_>, env: &mut EnvRule, context: &Context<'_>) -> Result<(), PolicyError> {
    let fields = Fields::new(node, what, &keys::ENV, context)?;
    let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    for (key, value) in fields.read("set", entries, context)?.unwrap_or_default() {
        let what = What::Named("the variable", &key.text);
        if !is_name(&key.text) {
            return Err(context.value(value, &what, "a name without `=`"));
        }
        // A name without a value sets the empty value.
        let value = if value.is_null() { "" } else { text(value, &what, context)? };
        env.set(&key.text, value);
    }
    if let Some(node) = fields.get("unset") {
        for name in texts(node, &fields.what("unset"), context)? {
            if !is_name(&name) {
                return Err(context.value(node, &fields.what("unset"), "names without `=`"));
            }
            env.unset(&name);
        }
    }
    for (key, node) in fields.read("accept", entries, context)?.unwrap_or_default() {
        let what = What::Named("the variable", &key.text);
        if !is_name(&key.text) || is_never_set(&key.text) {
            return Err(context.value(node, &what, "a name that decides nothing about which code runs"));
        }
        let typed = types::written_or_named(node, &what, context)?;
        // Where a path leads is looked at only among the words.
        if matches!(typed.value, ValueType::Path(_)) || !typed.restrictions.is_empty() {
            return Err(context.value(node, &what, "an `integer`, a `one_of` or a `text` without `ask` and `deny`"));
        }
        env.accept.insert(key.text.clone(), typed.value);
    }
    Ok(())
}

/// Reads what redirections of lines may name.
pub(super) fn redirections(node: &Node, what: What<'_>, context: &Context<'_>) -> Result<Redirections, PolicyError> {
    let fields = Fields::new(node, what, &keys::REDIRECTIONS, context)?;
    let read = |key: &str, access: Access| {
        let Some(node) = fields.get(key) else { return Ok(None) };
        let typed = types::written_or_named(node, &fields.what(key), context)?;
        match typed.value {
            ValueType::Path(path) if path.access == access => {
                Ok(Some(RedirectionType { path, restrictions: typed.restrictions }))
            }
            _ => Err(context.value(node, &fields.what(key), &format!("a path with `access: {}`", access.name()))),
        }
    };
    Ok(Redirections { write: read("write", Access::Write)?, read: read("read", Access::Read)? })
}

fn sandbox(node: &Node, what: What<'_>, command: &mut CommandRule, context: &Context<'_>) -> Result<(), PolicyError> {
    let fields = Fields::new(node, what, &keys::SANDBOX, context)?;
    command.sandbox.level =
        fields.word("level", &SandboxWord::ALL, SandboxWord::name, context)?.or(command.sandbox.level);
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
    if let Some(node) = fields.get("network") {
        let (what, found) = (fields.what("network"), text(node, &fields.what("network"), context)?);
        let network = found.parse().map_err(|error| context.value(node, &what, expected_network(&error)))?;
        command.sandbox.network = Some(network);
    }
    command.sandbox.paths_claimed = is("paths", "claimed", None)?.unwrap_or(command.sandbox.paths_claimed);
    command.sandbox.writes = is("write", "full", Some("none"))?.or(command.sandbox.writes);
    let sandbox = &command.sandbox;
    let needs_one = sandbox.exec_own
        || sandbox.paths_claimed
        || sandbox.network.as_ref().is_some_and(|network| *network != Network::Full);
    match sandbox.level {
        Some(SandboxWord::Off) if needs_one || sandbox.writes_nothing() => {
            Err(context.value(node, &fields.of, "a level that can enforce the rest, `workspace` or `strict`"))
        }
        Some(SandboxWord::Workspace) if sandbox.exec_own => {
            Err(context.value(node, &fields.of, "the level `strict`, the only one that can enforce `exec: own`"))
        }
        // Without a level of its own the rule gets the one that enforces these settings, whatever the server's level is.
        None if needs_one => {
            command.sandbox.level = Some(SandboxWord::Strict);
            Ok(())
        }
        Some(_) | None => Ok(()),
    }
}

fn expected_network(error: &NetworkError) -> &'static str {
    match error {
        NetworkError::NotOne => "`none`, `loopback`, `full`, or ports such as `connect:5432,listen:3000`",
        NetworkError::NotAPort { .. } => "`connect:PORT` and `listen:PORT`, with numbers from 1 to 65535",
        NetworkError::BesidePorts { .. } => "one word alone, or ports alone",
    }
}

fn limits(node: &Node, what: What<'_>, command: &mut CommandRule, context: &Context<'_>) -> Result<(), PolicyError> {
    let fields = Fields::new(node, what, &keys::LIMITS, context)?;
    let limits = &mut command.limits;
    limits.memory = fields.read("memory", size, context)?.or(limits.memory);
    limits.file_size = fields.read("file_size", size, context)?.or(limits.file_size);
    limits.processes = fields.read("processes", count, context)?.or(limits.processes);
    limits.open_files = fields.read("open_files", count, context)?.or(limits.open_files);
    limits.cpu = fields.read("cpu", duration, context)?.or(limits.cpu);
    Ok(())
}

fn size(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<u64, PolicyError> {
    let size = read_size(text(node, what, context)?).ok().filter(|size| *size > 0);
    size.ok_or_else(|| context.value(node, what, "a size above 0, such as `64MiB`"))
}

fn count(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<u64, PolicyError> {
    let count = u64::try_from(integer(node, what, context)?).ok().filter(|count| *count > 0);
    count.ok_or_else(|| context.value(node, what, "a whole number of at least 1"))
}

fn duration(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<Duration, PolicyError> {
    let duration = read_duration(text(node, what, context)?).ok().filter(|duration| !duration.is_zero());
    duration.ok_or_else(|| context.value(node, what, "a duration with its unit, such as `500ms`, `30s` or `10m`"))
}

fn examples(node: &Node, what: What<'_>, command: &mut CommandRule, context: &Context<'_>) -> Result<(), PolicyError> {
    let fields = Fields::new(node, what, &keys::EXAMPLES, context)?;
    for expected in [Expected::Allow, Expected::Ask, Expected::Refuse] {
        for node in fields.read(expected.name(), items, context)?.unwrap_or_default() {
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
