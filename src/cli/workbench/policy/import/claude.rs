//! Claude Code's `settings.json`: the lists `allow`, `ask` and `deny` of `permissions`.
//!
//! Deny beats ask, and ask beats allow, whatever the order and the file. `Bash(git log *)` and `Bash(git log:*)` mean `git log` with any
//! or no arguments, `Bash(npm test)` exactly that, `Bash` and `Bash(*)` everything, `Bash(NAME:VALUE)` a parameter of the tool. Rules for `Read` and `Edit` also decide on files
//! that known commands name. See <https://code.claude.com/docs/en/permissions>.

use super::entry::{Entry, Imported, Place, effect_named};
use super::json::{self, Value};
use super::pattern::{add, add_unclear};
use super::{Wrong, paths};
use crate::policy::rules::Effect;

/// The tools for files. Their rules hold for commands, too.
const FILE_TOOLS: [&str; 5] = ["Read", "Edit", "Write", "MultiEdit", "NotebookEdit"];
/// The key with which only the rules of managed files count.
const ONLY_MANAGED: &str = "allowManagedPermissionRulesOnly";

pub(super) fn read(file: &str, text: &str, imported: &mut Imported) -> Result<(), Wrong> {
    let root = json::parse(text, false)?;
    if !matches!(root.value, Value::Map(_)) {
        return Err((root.line, "expected the settings of Claude Code, a JSON object".to_owned()));
    }
    let place = |line| Place { file: file.into(), line };
    if let Some(only) = root.get(ONLY_MANAGED).filter(|only| only.is_true()) {
        imported.note(place(only.line), ONLY_MANAGED, "what other files allow is not taken");
        imported.managed.push(file.into());
    }
    if let Some(hooks) = root.get("hooks").and_then(|hooks| hooks.get("PreToolUse")) {
        let why = "these programs may refuse command lines, and no policy asks them";
        imported.leave_out(place(hooks.line), "hooks.PreToolUse", why);
    }
    let Some(permissions) = root.get("permissions") else { return Ok(()) };
    for (key, node) in permissions.entries() {
        let Some(effect) = effect_named(key) else {
            imported.leave_out(place(node.line), key, "it is no list of commands");
            continue;
        };
        let Value::List(list) = &node.value else {
            return Err((node.line, format!("expected a list of rules as `permissions.{key}`")));
        };
        for node in list {
            let rule = node.text().ok_or_else(|| (node.line, format!("expected a rule in `permissions.{key}`")))?;
            read_rule(Entry::new(place(node.line), rule, effect), rule, imported);
        }
    }
    Ok(())
}

fn read_rule(base: Entry, rule: &str, imported: &mut Imported) {
    let (tool, inside) = match rule.split_once('(') {
        None => (rule, "*"),
        Some((tool, inside)) => (tool, inside.strip_suffix(')').unwrap_or(inside)),
    };
    match tool {
        "Bash" => match parameter(inside) {
            Some(name) => add_parameter(base, name, imported),
            None => add(base, inside, true, imported),
        },
        // Any tool.
        "*" => add(base, "*", true, imported),
        _ if may_be_bash(tool) => add_unclear(base, "", "its `*` may stand for the tool `Bash`", imported),
        _ => {
            if base.effect != Effect::Allow && FILE_TOOLS.contains(&tool) {
                imported.files.get_or_insert_with(|| base.clone());
            }
            imported.leave_out(base.place, rule, "it is about another tool than `Bash`");
        }
    }
}

/// Whether a name of tools, in which `*` stands for any text, may mean `Bash`.
fn may_be_bash(tool: &str) -> bool {
    let beginning = tool.split_once('*').map(|(beginning, _)| beginning);
    let end = tool.rsplit_once('*').map_or("", |(_, end)| end);
    beginning.is_some_and(|beginning| "Bash".starts_with(beginning) && "Bash".ends_with(end))
}

/// The name of the tool's parameter, if a rule is about its value: `run_in_background:true`.
fn parameter(inside: &str) -> Option<&str> {
    let (name, value) = inside.split_once(':')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    (is_name && value != "*").then_some(name)
}

/// Adds a rule about a parameter of the tool. One that is not known to leave the command alone may be about any.
fn add_parameter(base: Entry, name: &str, imported: &mut Imported) {
    match name {
        "run_in_background" => {
            imported.leave_out(base.place, &base.what, "no rule decides on `background`; `--background off` refuses it")
        }
        "timeout" | "description" | "dangerouslyDisableSandbox" => {
            imported.leave_out(base.place, &base.what, "it is about another parameter than the command");
        }
        _ => add_unclear(base, "", "it is about the value of a parameter", imported),
    }
}

/// Applies which files may allow, and what Claude Code decides by the paths in a command line.
pub(super) fn finish(imported: &mut Imported) {
    let managed = std::mem::take(&mut imported.managed);
    imported.drop_grants(|entry| {
        let counts = managed.is_empty() || managed.contains(&entry.place.file) || entry.effect != Effect::Allow;
        (!counts).then(|| format!("`{ONLY_MANAGED}` in {} leaves nothing to it", managed.join(", ")))
    });
    let decides = imported.files.take();
    paths::bound(imported, "Claude Code", decides.as_ref());
}
