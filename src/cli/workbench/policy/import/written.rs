//! A command of the tree as YAML.
//!
//! `git log` with any arguments is the subcommand `log: any`, and `npm test` alone `test: {}`. Where lines with some words are decided
//! otherwise than the rest, all words are operands: `deny: {one_of: […]}` takes a word out wherever it stands, which is narrower
//! than a prefix. A word that can't be a subcommand is a fixed operand of a form.

use serde_json::Value;

use super::entry::Entry;
use super::tree::Node;
use crate::policy::rules::{Arguments, CommandRule, Effect, Level};

/// The type of a word, as the printed policy declares it.
pub(super) const WORD: &str = "types:\n  word: {text: {first: \"-+@\", max_length: 100000}}\n";

/// The arguments of a command or a subcommand.
#[derive(Default)]
struct Shape {
    forms: Vec<Form>,
    subcommands: Vec<(String, Shape)>,
    /// The source's reason, if all of it is denied.
    reason: Option<String>,
}

struct Form {
    effect: Effect,
    /// Words that must stand first.
    fixed: Vec<String>,
    rest: Option<Rest>,
}

/// Any words, after the fixed ones.
struct Rest {
    needs_one: bool,
    denied: Vec<String>,
    asked: Vec<String>,
    /// The source's reason for one of these words.
    reason: Option<String>,
}

/// Writes a command, indented by two blanks.
pub(super) fn command(node: &Node, entries: &[Entry]) -> String {
    let shape = shape(node, entries);
    let mut text = format!("  {}:", quoted(&node.word));
    if shape.has_forms() {
        text.push_str("\n    syntax: operands\n");
        write_fields(&shape, 4, &mut text);
    } else {
        write(&shape, 2, &mut text);
    }
    text
}

/// Writes in one line that a command is denied with any arguments.
pub(super) fn denied(command: &str) -> String {
    let operands = any(Effect::Deny).operands();
    format!(
        "  {}: {{syntax: operands, decision: deny, reason: call the command itself, operands: {operands}}}\n",
        quoted(command)
    )
}

/// Writes a command that extends a profile, if the profile's rule takes nothing that the entries don't: the whole command, or some
/// of its subcommands.
pub(super) fn extending(node: &Node, profile: &str, rule: &CommandRule) -> Option<String> {
    let head = format!("  {}:\n    extends: {profile}\n", quoted(&node.word));
    match node.uniform() {
        Some(Some(Effect::Allow)) => return Some(head),
        Some(Some(Effect::Ask)) => return Some(format!("{head}    decision: ask\n")),
        Some(Some(Effect::Deny) | None) => return None,
        None => {}
    }
    let mut text = format!("{head}    decision: deny\n    reason: what was imported does not name it\n");
    extend_level(node, &rule.level, 4, &mut text)?;
    Some(text)
}

/// Writes which subcommands of a profile's level are granted; `None` if the level lacks one, or if more than subcommands is granted.
fn extend_level(node: &Node, level: &Level, indent: usize, text: &mut String) -> Option<()> {
    let Arguments::Described { options, subcommands, .. } = &level.arguments else { return None };
    if node.here.grants() || node.beyond.grants() {
        return None;
    }
    let pad = " ".repeat(indent);
    let spellings: Vec<&str> = options.iter().flat_map(|option| &option.spellings).map(String::as_str).collect();
    if !spellings.is_empty() {
        // No value fits and none may be left out, so no option can be given here.
        let spellings = quoted(&spellings.join(", "));
        text.push_str(&format!(
            "{pad}options: {{{spellings}: {{text: {{}}, attached: true, deny: {{text: {{}}}}}}}}  # none in front\n"
        ));
    }
    text.push_str(&format!("{pad}subcommands:\n"));
    for child in node.children.iter().filter(|child| child.grants()) {
        let extended = subcommands.iter().find(|level| level.name() == child.word)?;
        text.push_str(&format!("{pad}  {}:", quoted(&child.word)));
        match child.uniform() {
            Some(effect) => text.push_str(&format!(" {{decision: {}}}\n", effect?.name())),
            None => {
                text.push('\n');
                extend_level(child, extended, indent + 4, text)?;
            }
        }
    }
    Some(())
}

fn shape(node: &Node, entries: &[Entry]) -> Shape {
    let mut shape = Shape::default();
    if node.uniform() == Some(Some(Effect::Deny)) {
        shape.forms.push(any(Effect::Deny));
        shape.reason = reason(node, entries);
        return shape;
    }
    let beyond = node.beyond.effect.filter(|_| node.beyond.grants());
    for child in node.children.iter().filter(|child| can_be_subcommand(&child.word)) {
        let is_denied = beyond.is_none() && child.uniform() == Some(Some(Effect::Deny));
        let is_other = beyond.is_none_or(|effect| child.uniform() != Some(Some(effect)));
        if is_other && (child.grants() || is_denied) {
            shape.subcommands.push((child.word.clone(), self::shape(child, entries)));
        }
    }
    let is_subcommand = |word: &str| shape.subcommands.iter().any(|(name, _)| name == word);
    let others: Vec<&Node> = node.children.iter().filter(|child| !is_subcommand(&child.word)).collect();
    add_forms(node, &others, entries, &mut Vec::new(), &mut shape.forms);
    shape
}

/// Adds the forms for lines that end at a place and for those that go on, also with the words of `children`.
fn add_forms(node: &Node, children: &[&Node], entries: &[Entry], path: &mut Vec<String>, forms: &mut Vec<Form>) {
    let here = node.here.effect.filter(|_| node.here.grants());
    let beyond = node.beyond.effect.filter(|_| node.beyond.grants());
    if let Some(effect) = here.filter(|_| here != beyond) {
        forms.push(Form { effect, fixed: path.clone(), rest: None });
    }
    match beyond {
        Some(effect) => {
            let stricter = |wanted: Effect| {
                let is_it = move |child: &&&Node| child.strictest() == wanted && wanted > effect;
                children.iter().filter(is_it).map(|child| child.word.clone()).collect()
            };
            let rest = Rest {
                needs_one: here != beyond,
                denied: stricter(Effect::Deny),
                asked: stricter(Effect::Ask),
                reason: children.iter().filter(|child| !child.grants()).find_map(|child| reason(child, entries)),
            };
            forms.push(Form { effect, fixed: path.clone(), rest: Some(rest) });
        }
        None => {
            for child in children.iter().filter(|child| child.grants()) {
                path.push(child.word.clone());
                add_forms(child, &child.children.iter().collect::<Vec<_>>(), entries, path, forms);
                path.pop();
            }
        }
    }
}

/// The source's reason for what is decided there.
fn reason(node: &Node, entries: &[Entry]) -> Option<String> {
    entries.get(node.here.by?)?.reason.clone()
}

fn any(effect: Effect) -> Form {
    let rest = Rest { needs_one: false, denied: Vec::new(), asked: Vec::new(), reason: None };
    Form { effect, fixed: Vec::new(), rest: Some(rest) }
}

fn can_be_subcommand(word: &str) -> bool {
    !word.is_empty() && !word.starts_with('-') && !word.contains(char::is_whitespace)
}

impl Form {
    /// Whether it takes any words and no word makes a difference.
    fn is_any(&self) -> bool {
        let is_free = |rest: &Rest| !rest.needs_one && rest.denied.is_empty() && rest.asked.is_empty();
        self.fixed.is_empty() && self.rest.as_ref().is_some_and(is_free)
    }

    fn is_nothing(&self) -> bool {
        self.fixed.is_empty() && self.rest.is_none()
    }

    fn operands(&self) -> String {
        let fixed = self.fixed.iter().map(|word| format!("{{one_of: [{}]}}", quoted(word)));
        let rest = self.rest.iter().map(|rest| {
            let mut text = format!("{{type: word, count: \"{}\"", if rest.needs_one { "1.." } else { "0.." });
            for (key, words) in [("deny", &rest.denied), ("ask", &rest.asked)] {
                if !words.is_empty() {
                    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                    text.push_str(&format!(", {key}: {{one_of: [{}]}}", words.join(", ")));
                }
            }
            if let Some(reason) = &rest.reason {
                text.push_str(&format!(", reason: {}", quoted(reason)));
            }
            text + "}"
        });
        format!("[{}]", fixed.chain(rest).collect::<Vec<_>>().join(", "))
    }
}

impl Shape {
    /// `any` and `{}` need no form.
    fn scalar(&self) -> Option<&'static str> {
        match self.forms.as_slice() {
            [form] if self.subcommands.is_empty() && form.effect == Effect::Allow => {
                if form.is_any() {
                    Some("any")
                } else {
                    form.is_nothing().then_some("{}")
                }
            }
            _ => None,
        }
    }

    fn has_forms(&self) -> bool {
        let has_own = self.scalar().is_none() && !self.forms.is_empty();
        has_own || self.subcommands.iter().any(|(_, shape)| shape.has_forms())
    }
}

fn write(shape: &Shape, indent: usize, text: &mut String) {
    match shape.scalar() {
        Some(scalar) => text.push_str(&format!(" {scalar}\n")),
        None => {
            text.push('\n');
            write_fields(shape, indent + 2, text);
        }
    }
}

fn write_fields(shape: &Shape, indent: usize, text: &mut String) {
    let pad = " ".repeat(indent);
    match shape.forms.as_slice() {
        // A decision of a level would hold for its subcommands, too.
        [form] if shape.subcommands.is_empty() => {
            if form.effect != Effect::Allow {
                text.push_str(&format!("{pad}decision: {}\n", form.effect.name()));
            }
            if let Some(reason) = &shape.reason {
                text.push_str(&format!("{pad}reason: {}\n", quoted(reason)));
            }
            text.push_str(&format!("{pad}operands: {}\n", form.operands()));
        }
        [] => {}
        forms => {
            text.push_str(&format!("{pad}forms:\n"));
            for form in forms {
                let decision = match form.effect {
                    Effect::Allow => String::new(),
                    Effect::Ask | Effect::Deny => format!("decision: {}, ", form.effect.name()),
                };
                text.push_str(&format!("{pad}  - {{{decision}operands: {}}}\n", form.operands()));
            }
        }
    }
    if !shape.subcommands.is_empty() {
        text.push_str(&format!("{pad}subcommands:\n"));
        for (name, shape) in &shape.subcommands {
            text.push_str(&format!("{pad}  {}:", quoted(name)));
            write(shape, indent + 2, text);
        }
    }
}

/// A JSON string is YAML, too.
pub(super) fn quoted(text: &str) -> String {
    let is_bare = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c))
        && !["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&text);
    if is_bare { text.to_owned() } else { Value::String(text.to_owned()).to_string() }
}
