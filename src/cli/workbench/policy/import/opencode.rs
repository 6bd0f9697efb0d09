//! opencode's `permission` in `opencode.json` and `opencode.jsonc`.
//!
//! `*` stands for any text and `?` for one character; ` *` at the end also for nothing. Of the patterns that match, the last decides.
//! So a later pattern that is narrower makes an exception, which a policy says as well. A later one that is wider would lift what
//! is stricter before it; that is left out, since nothing in a policy depends on its order. See <https://opencode.ai/docs/permissions>.

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
    let mut reader = Reader { file, priority: 0, asks_outside: None };
    match root.get("permission") {
        None => {}
        Some(node) if node.text().is_some() => reader.tool("*", node, imported)?,
        Some(permission) => {
            for (tool, node) in permission.entries() {
                reader.tool(tool, node, imported)?;
            }
        }
    }
    if let Some(bash) = root.get("tools").and_then(|tools| tools.get("bash")).filter(|bash| !bash.is_true()) {
        let place = reader.place(bash);
        reader.priority += 1;
        let entry = Entry::new(place, "tools.bash", Effect::Deny);
        add(Entry { priority: reader.priority, ..entry }, "*", false, imported);
    }
    for key in ["agent", "mode"] {
        for (name, node) in root.get(key).map_or(&[][..], Node::entries) {
            if node.get("permission").is_some() || node.get("tools").is_some() {
                let what = format!("{key}.{name}");
                imported.leave_out(reader.place(node), &what, "its permissions hold for that agent alone");
            }
        }
    }
    if let Some(asks) = reader.asks_outside {
        imported.asks_outside = Some(asks || imported.asks_outside == Some(true));
    }
    Ok(())
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
    /// Whether a person is asked about paths outside the project; `None` if the file does not say.
    asks_outside: Option<bool>,
}

impl Reader<'_> {
    fn place(&self, node: &Node) -> Place {
        Place { file: self.file.into(), line: node.line }
    }

    /// Reads what one key of `permission` says. The key may be a pattern, too.
    fn tool(&mut self, tool: &str, node: &Node, imported: &mut Imported) -> Result<(), Wrong> {
        let is_all = !tool.is_empty() && tool.chars().all(|c| c == '*');
        let lets_all = node.text() == Some("allow");
        if is_all || tool == "external_directory" || (tool.contains(['*', '?']) && !lets_all) {
            self.asks_outside = Some(!lets_all);
        }
        let means_bash = tool == "bash" || is_all;
        let may_mean_bash = tool.split_once(['*', '?']).is_some_and(|(beginning, _)| "bash".starts_with(beginning));
        if !means_bash && may_mean_bash {
            let effect = node.text().and_then(effect_named).filter(|effect| *effect == Effect::Allow);
            self.priority += 1;
            let entry = Entry::new(self.place(node), tool, effect.unwrap_or(Effect::Deny));
            let entry = Entry { priority: self.priority, ..entry };
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
        self.priority += 1;
        let entry = Entry { priority: self.priority, ..Entry::new(self.place(node), text, effect) };
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
