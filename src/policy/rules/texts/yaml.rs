//! Reads YAML into a tree in which everything knows its line, within bounds.
//!
//! Every scalar is kept as text: its key decides what it means. The parser returns events one by one, so reading stops as soon
//! as a file nests too deeply or expands to too much.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};

use super::super::load::LARGEST_POLICY;

/// How deeply lists and mappings may be nested.
const DEEPEST: usize = 32;
/// The most values, with aliases followed.
const MOST_VALUES: usize = 50_000;
/// The most text in bytes, with aliases followed. No file without aliases comes near it.
const MOST_TEXT: usize = 1024 * 1024;

/// A value, and the line that it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    /// Counted from 1.
    pub line: usize,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text, without the quotes around it.
    Scalar {
        text: String,
        is_quoted: bool,
    },
    List(Vec<Node>),
    /// In the order of the file, no key twice.
    Map(Vec<(Key, Node)>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub text: String,
    pub line: usize,
}

/// A text that YAML reads as exactly this; names and options stand without quotes.
fn quoted_in_flow(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let is_name = text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.chars().all(is_plain);
    if is_name && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text) {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

/// A mistake: its line, and a sentence.
pub(super) type Wrong = (usize, String);

impl Node {
    /// Describes it, for messages.
    pub fn described(&self) -> String {
        match &self.kind {
            Kind::Scalar { .. } if self.is_null() => "nothing".to_owned(),
            Kind::Scalar { text, .. } => crate::policy::quoted(text),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a mapping".to_owned(),
        }
    }

    fn flow(&self) -> String {
        match &self.kind {
            Kind::Scalar { .. } if self.is_null() => "{}".to_owned(),
            Kind::Scalar { text, is_quoted: false } => text.clone(),
            Kind::Scalar { text, is_quoted: true } => quoted_in_flow(text),
            Kind::List(nodes) => format!("[{}]", nodes.iter().map(Self::flow).collect::<Vec<_>>().join(", ")),
            Kind::Map(rows) => {
                let row = |(key, node): &(Key, Self)| format!("{}: {}", quoted_in_flow(&key.text), node.flow());
                format!("{{{}}}", rows.iter().map(row).collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Whether it is empty, `~` or `null`.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, is_quoted: false } if matches!(text.as_str(), "" | "~" | "null"))
    }
}

/// The document of a text in one line, without its comments; `None` if there is none.
pub(crate) fn flow(text: &str) -> Option<String> {
    parse(text).ok().flatten().map(|node| node.flow())
}

/// Reads the one document of a text; `None` if there is none.
pub(super) fn parse(text: &str) -> Result<Option<Node>, Wrong> {
    if u64::try_from(text.len()).is_ok_and(|length| length > LARGEST_POLICY) {
        return Err((0, format!("it is larger than {LARGEST_POLICY} bytes, the most that is read")));
    }
    let mut reader =
        Reader { parser: Parser::new_from_str(text), anchors: HashMap::new(), sum: Sum::default(), line: 1 };
    let mut document = None;
    loop {
        match reader.next()? {
            Event::StreamEnd => return Ok(document),
            Event::DocumentStart(_) if document.is_some() => {
                return Err((reader.line, "a second document begins here; expected one policy per file".to_owned()));
            }
            Event::DocumentStart(_) => {
                let first = reader.next()?;
                let node = reader.node(first, 0)?;
                document = Some(node).filter(|node| !node.is_null());
            }
            _ => {}
        }
    }
}

/// How much was read, with aliases followed.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    values: usize,
    text: usize,
}

impl Sum {
    /// # Errors
    /// What there is too much of.
    fn add(&mut self, Self { values, text }: Self) -> Result<(), String> {
        *self = Self { values: self.values.saturating_add(values), text: self.text.saturating_add(text) };
        if self.values > MOST_VALUES {
            return Err(format!("it holds more than {MOST_VALUES} values, with aliases followed"));
        }
        if self.text > MOST_TEXT {
            return Err(format!("it holds more than {MOST_TEXT} bytes of text, with aliases followed"));
        }
        Ok(())
    }
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    /// The nodes of anchors, and their sizes.
    anchors: HashMap<usize, (Node, Sum)>,
    sum: Sum,
    /// The line of the last event.
    line: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, Wrong> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.line = span.start.line();
                Ok(event)
            }
            Some(Err(error)) => Err(no_yaml(&error, self.line)),
            None => Ok(Event::StreamEnd),
        }
    }

    /// The node that an event begins.
    fn node(&mut self, event: Event<'a>, depth: usize) -> Result<Node, Wrong> {
        let line = self.line;
        if depth > DEEPEST {
            return Err((line, format!("it nests deeper than {DEEPEST} levels")));
        }
        let before = self.sum;
        self.sum.add(Sum { values: 1, text: 0 }).map_err(|why| (line, why))?;
        let (anchor, kind) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                refuse_tag(tag.is_some(), line)?;
                self.sum.add(Sum { values: 0, text: text.len() }).map_err(|why| (line, why))?;
                (anchor, Kind::Scalar { text: text.into_owned(), is_quoted: style != ScalarStyle::Plain })
            }
            Event::SequenceStart(anchor, tag) => {
                refuse_tag(tag.is_some(), line)?;
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => break,
                        event => items.push(self.node(event, depth + 1)?),
                    }
                }
                (anchor, Kind::List(items))
            }
            Event::MappingStart(anchor, tag) => {
                refuse_tag(tag.is_some(), line)?;
                (anchor, Kind::Map(self.entries(depth)?))
            }
            Event::Alias(anchor) => {
                let Some((node, sum)) = self.anchors.get(&anchor) else {
                    return Err((line, "an alias refers to a value that contains it".to_owned()));
                };
                // This must happen before the copy.
                self.sum.add(*sum).map_err(|why| (line, why))?;
                return Ok(Node { line, kind: node.kind.clone() });
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => return Err((line, "the YAML ends where a value is expected".to_owned())),
        };
        let node = Node { line, kind };
        if anchor > 0 {
            let Sum { values, text } = self.sum;
            let sum = Sum { values: values - before.values, text: text - before.text };
            self.anchors.insert(anchor, (node.clone(), sum));
        }
        Ok(node)
    }

    fn entries(&mut self, depth: usize) -> Result<Vec<(Key, Node)>, Wrong> {
        let mut entries: Vec<(Key, Node)> = Vec::new();
        loop {
            let event = match self.next()? {
                Event::MappingEnd => break,
                event => event,
            };
            let line = self.line;
            let Kind::Scalar { text, .. } = self.node(event, depth + 1)?.kind else {
                return Err((line, "a key is not text; put it in quotes".to_owned()));
            };
            let event = self.next()?;
            let value = self.node(event, depth + 1)?;
            entries.push((Key { text, line }, value));
        }
        let mut keys: Vec<&Key> = entries.iter().map(|(key, _)| key).collect();
        keys.sort_by(|one, other| one.text.cmp(&other.text));
        for pair in keys.windows(2) {
            if let [Key { text, line: first }, Key { text: other, line }] = pair {
                if text == other {
                    let key = crate::policy::quoted(text);
                    return Err((*line, format!("key {key} occurs twice, first on line {first}; keep one of them")));
                }
            }
        }
        Ok(entries)
    }
}

fn refuse_tag(has_tag: bool, line: usize) -> Result<(), Wrong> {
    if has_tag { Err((line, "a policy can't have tags (`!…`); leave it out".to_owned())) } else { Ok(()) }
}

/// The scanner notices an open bracket or quote only further down; `read` is the line of the last event, where it may be.
fn no_yaml(error: &ScanError, read: usize) -> Wrong {
    let line = error.marker().line();
    let since =
        if read < line { format!("; a bracket or quote on line {read} may not be closed") } else { String::new() };
    (line, format!("not valid YAML: {}{since}", error.info()))
}
