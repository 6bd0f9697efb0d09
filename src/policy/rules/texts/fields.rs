//! Reads a mapping of a policy key by key. Unknown keys are errors.

use std::fmt;

use super::super::error::{PolicyError, Problem};
use super::super::grammar::Origin;
use super::Context;
use super::keys::Keys;
use super::yaml::{Key, Kind, Node};
use crate::policy::quoted;
use crate::text::nearest;

/// The name of a part of a policy in messages. The text is made only if there is a message.
#[derive(Clone, Copy)]
pub(super) enum What<'w> {
    /// These words.
    Words(&'static str),
    /// Only a name, such as "`git`".
    Name(&'w str),
    /// A kind of thing and its name, such as "command `git`".
    Named(&'static str, &'w str),
    /// The value of a key, such as "`env` of command `git`".
    Key(&'w str, &'w What<'w>),
}

impl fmt::Display for What<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::Name(name) => f.write_str(&quoted(name)),
            Self::Named(thing, name) => write!(f, "{thing} {}", quoted(name)),
            Self::Key(key, of) => write!(f, "`{key}` of {of}"),
        }
    }
}

/// A mapping whose keys are all known.
pub(super) struct Fields<'n, 'w> {
    /// The part that the mapping describes, for messages.
    pub of: What<'w>,
    pub line: usize,
    entries: &'n [(Key, Node)],
}

impl<'n, 'w> Fields<'n, 'w> {
    /// Checks that a node is a mapping, and that its keys are all among `known`.
    pub fn new(node: &'n Node, of: What<'w>, known: &'static Keys, context: &Context<'_>) -> Result<Self, PolicyError> {
        let entries = entries(node, &of, context)?;
        for (key, _) in entries {
            if !known.iter().any(|known| known.name == key.text) {
                let known: Vec<&str> = known.iter().map(|known| known.name).collect();
                let nearest = nearest(&key.text, known.iter().copied()).map(str::to_owned);
                let (key_text, of) = (quoted(&key.text), of.to_string());
                return Err(context.error(key.line, Problem::UnknownKey { key: key_text, of, nearest, known }));
            }
        }
        Ok(Self { of, line: node.line, entries })
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'n Node> {
        self.entries.iter().find(|(found, _)| found.text == key).map(|(_, node)| node)
    }

    /// Applies `read` to the value of a key; returns `None` if the key is missing.
    pub fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&'n Node, &What<'_>, &Context<'_>) -> Result<T, PolicyError>,
        context: &Context<'_>,
    ) -> Result<Option<T>, PolicyError> {
        self.get(key).map(|node| read(node, &self.what(key), context)).transpose()
    }

    /// The word at a key, one of `all`; `None` if the key is missing.
    pub fn word<T: Copy>(
        &self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
        context: &Context<'_>,
    ) -> Result<Option<T>, PolicyError> {
        self.read(key, |node, what, context| word(node, what, all, name, context), context)
    }

    /// The line of a key, or of the mapping if the key is missing.
    pub fn line_of(&self, key: &str) -> usize {
        self.entries.iter().find(|(found, _)| found.text == key).map_or(self.line, |(key, _)| key.line)
    }

    /// Returns the name of a key's value in messages.
    pub fn what<'a>(&'a self, key: &'a str) -> What<'a> {
        What::Key(key, &self.of)
    }
}

/// The entries of a mapping with any keys.
pub(super) fn entries<'n>(
    node: &'n Node,
    what: &What<'_>,
    context: &Context<'_>,
) -> Result<&'n [(Key, Node)], PolicyError> {
    match &node.kind {
        Kind::Map(entries) => Ok(entries),
        Kind::Scalar { .. } | Kind::List(_) => Err(context.value(node, what, "a mapping")),
    }
}

/// The items of a list.
pub(super) fn items<'n>(node: &'n Node, what: &What<'_>, context: &Context<'_>) -> Result<&'n [Node], PolicyError> {
    match &node.kind {
        Kind::List(items) => Ok(items),
        Kind::Scalar { .. } | Kind::Map(_) => Err(context.value(node, what, "a list")),
    }
}

/// A text, as the file has it.
pub(super) fn text<'n>(node: &'n Node, what: &What<'_>, context: &Context<'_>) -> Result<&'n str, PolicyError> {
    match &node.kind {
        Kind::Scalar { text, .. } if !node.is_null() => Ok(text),
        Kind::Scalar { .. } | Kind::List(_) | Kind::Map(_) => Err(context.value(node, what, "one text")),
    }
}

/// A list of texts.
pub(super) fn texts(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<Vec<String>, PolicyError> {
    items(node, what, context)?.iter().map(|item| text(item, what, context).map(str::to_owned)).collect()
}

/// A text, or a list of them.
pub(super) fn one_or_more(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<Vec<String>, PolicyError> {
    match &node.kind {
        Kind::Scalar { .. } => Ok(vec![text(node, what, context)?.to_owned()]),
        Kind::List(_) | Kind::Map(_) => texts(node, what, context),
    }
}

/// The same for a key that restricts something, so that an empty list would restrict nothing.
pub(super) fn at_least_one(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<Vec<String>, PolicyError> {
    let all = one_or_more(node, what, context)?;
    if all.is_empty() { Err(context.value(node, what, "at least one text")) } else { Ok(all) }
}

/// `true` or `false`.
pub(super) fn boolean(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<bool, PolicyError> {
    match &node.kind {
        Kind::Scalar { text, is_quoted: false } if text == "true" => Ok(true),
        Kind::Scalar { text, is_quoted: false } if text == "false" => Ok(false),
        Kind::Scalar { .. } | Kind::List(_) | Kind::Map(_) => Err(context.value(node, what, "`true` or `false`")),
    }
}

/// A whole number.
pub(super) fn integer(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<i64, PolicyError> {
    text(node, what, context)?.parse().map_err(|_| context.value(node, what, "a whole number"))
}

/// One of a few words.
fn word<T: Copy>(
    node: &Node,
    what: &What<'_>,
    all: &[T],
    name: fn(T) -> &'static str,
    context: &Context<'_>,
) -> Result<T, PolicyError> {
    let found = text(node, what, context)?;
    let known = || all.iter().map(|&one| format!("`{}`", name(one))).collect::<Vec<_>>().join(", ");
    all.iter().copied().find(|&one| name(one) == found).ok_or_else(|| context.value(node, what, &known()))
}

impl Context<'_> {
    /// A line of this source.
    pub fn origin(&self, line: usize) -> Origin {
        Origin { source: self.source.clone(), line }
    }

    /// A mistake on a line.
    pub fn error(&self, line: usize, problem: Problem) -> PolicyError {
        PolicyError { origin: self.origin(line), problem }
    }

    /// A value of another kind than expected.
    pub(super) fn value(&self, node: &Node, what: &What<'_>, expected: &str) -> PolicyError {
        let (what, expected, found) = (what.to_string(), expected.to_owned(), node.described());
        self.error(node.line, Problem::Value { what, expected, found })
    }
}
