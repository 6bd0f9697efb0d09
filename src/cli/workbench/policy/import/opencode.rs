//! opencode's `permission` in `opencode.json` and `opencode.jsonc`.
//!
//! `*` stands for any text and `?` for one character; ` *` at the end also for nothing. Of the patterns that match, the last decides.
//! So a later pattern that is narrower makes an exception, which a policy says as well. A later one that is wider would lift what
//! is stricter before it; that is left out, since nothing in a policy depends on its order. See <https://opencode.ai/docs/permissions>.

use std::rc::Rc;

use super::entry::{Entry, Imported, Place, effect_named};
use super::json::{self, Node, Value};
use super::pattern::{add, add_unclear, literal_beginning};
use super::{Wrong, paths};
use crate::policy::rules::Effect;

pub(super) fn read(file: &str, text: &str, imported: &mut Imported) -> Result<(), Wrong> {
    let root = json::parse(text, true)?;
    if !matches!(root.value, Value::Map(_)) {
        return Err((root.line, "expected the configuration of opencode, a JSON object".to_owned()));
    }
    imported.keeps_stricter = true;
    let mut reader = Reader { file, priority: 0, part: None, asks_outside: None };
    reader.permissions(&root, imported)?;
    if let Some(rules) = root.get("permissions") {
        let entry = Entry { priority: i64::MAX, ..Entry::new(reader.place(rules), "permissions", Effect::Deny) };
        add_unclear(entry, "", "rules of opencode 2 are not read", imported);
    }
    for key in ["agent", "mode"] {
        for (name, node) in root.get(key).map_or(&[][..], Node::entries) {
            if node.get("permission").is_some() || node.get("tools").is_some() {
                reader.agent(format!("{key}.{name}"), node, imported)?;
            }
        }
    }
    if let Some(asks) = reader.asks_outside {
        imported.asks_outside = Some(asks || imported.asks_outside == Some(true));
    }
    Ok(())
}

/// Whether a name of tools, in which `*` and `?` stand for others, may mean `bash`.
fn may_be_bash(tool: &str) -> bool {
    tool == "bash" || tool.split_once(['*', '?']).is_some_and(|(beginning, _)| "bash".starts_with(beginning))
}

/// Applies what opencode decides by the paths in a command line, now that all files were read.
pub(super) fn finish(imported: &mut Imported) {
    if imported.asks_outside != Some(false) {
        paths::bound(imported, "opencode", None);
    }
}

struct Reader<'f> {
    file: &'f str,
    /// That of the last entry.
    priority: i64,
    /// The agent whose permissions are read.
    part: Option<Rc<str>>,
    /// Whether a person is asked about paths outside the project; `None` if the file does not say.
    asks_outside: Option<bool>,
}

impl Reader<'_> {
    fn place(&self, node: &Node) -> Place {
        Place { file: self.file.into(), line: node.line }
    }

    /// An entry that comes after all others so far.
    fn entry(&mut self, node: &Node, what: &str, effect: Effect) -> Entry {
        self.priority += 1;
        Entry { priority: self.priority, part: self.part.clone(), ..Entry::new(self.place(node), what, effect) }
    }

    /// Reads `permission` and the older `tools`, of the file or of an agent.
    fn permissions(&mut self, of: &Node, imported: &mut Imported) -> Result<(), Wrong> {
        match of.get("permission") {
            None => {}
            Some(node) if node.text().is_some() => self.tool("*", node, imported)?,
            Some(permission) => {
                for (tool, node) in permission.entries() {
                    self.tool(tool, node, imported)?;
                }
            }
        }
        for (tool, node) in of.get("tools").map_or(&[][..], Node::entries) {
            if may_be_bash(tool) && !node.is_true() {
                let entry = self.entry(node, &format!("tools.{tool}"), Effect::Deny);
                add(entry, "*", false, imported);
            }
        }
        Ok(())
    }

    /// Reads the permissions of an agent. Which agent runs is not known, so what any of them denies or asks about holds.
    fn agent(&mut self, name: String, node: &Node, imported: &mut Imported) -> Result<(), Wrong> {
        let (before, asks_outside) = (imported.entries.len(), self.asks_outside);
        self.part = Some(name.as_str().into());
        self.permissions(node, imported)?;
        self.part = None;
        if self.asks_outside == Some(false) {
            self.asks_outside = asks_outside;
        }
        let allows = imported.entries.iter().skip(before).any(|entry| entry.effect == Effect::Allow);
        let why = "what it denies or asks about holds for all agents";
        if allows {
            imported.leave_out(self.place(node), &name, format!("{why}; what it allows holds for that agent alone"));
        } else {
            imported.note(self.place(node), &name, why);
        }
        Ok(())
    }

    /// Reads what one key of `permission` says. The key may be a pattern, too.
    fn tool(&mut self, tool: &str, node: &Node, imported: &mut Imported) -> Result<(), Wrong> {
        let is_all = !tool.is_empty() && tool.chars().all(|c| c == '*');
        let lets_all = node.text() == Some("allow");
        if is_all || tool == "external_directory" || (tool.contains(['*', '?']) && !lets_all) {
            self.asks_outside = Some(!lets_all);
        }
        let means_bash = tool == "bash" || is_all;
        if !means_bash && may_be_bash(tool) {
            let effect = node.text().and_then(effect_named).filter(|effect| *effect == Effect::Allow);
            let entry = self.entry(node, tool, effect.unwrap_or(Effect::Deny));
            add_unclear(entry, "", "it may name the tool `bash`, too", imported);
            return Ok(());
        }
        if !means_bash {
            imported.leave_out(self.place(node), tool, "it is about another tool than `bash`");
            return Ok(());
        }
        match &node.value {
            Value::Map(patterns) => patterns.iter().try_for_each(|(text, node)| self.pattern(text, node, imported)),
            Value::Text(_) | Value::List(_) | Value::Other(_) => self.pattern("*", node, imported),
        }
    }

    fn pattern(&mut self, text: &str, node: &Node, imported: &mut Imported) -> Result<(), Wrong> {
        let effect = node
            .text()
            .and_then(effect_named)
            .ok_or_else(|| (node.line, format!("expected `allow`, `ask` or `deny` for {text:?} of `permission`")))?;
        let entry = self.entry(node, text, effect);
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            // JavaScript puts such keys in front of all others.
            add_unclear(entry, text, "a key that is a number is read before all others", imported);
        } else if text.contains('?') {
            add_unclear(entry, &literal_beginning(text), "`?` stands for any character", imported);
        } else {
            add(entry, text, false, imported);
        }
        Ok(())
    }
}
