//! The words of a call, as its client sent them, for the log lines of calls without a decision.

use serde_json::{Map, Value};

use super::log::Fields;
use super::parts::Parts;
use crate::policy::split_words;

/// How much is kept: characters of a line or a word, and words after the first.
const LONGEST: usize = 512;
const MOST: usize = 16;

/// The words of a call, or its whole line, cut to what the log shows.
#[derive(Debug)]
pub(super) enum SentWords {
    Line(String),
    Words(Vec<String>),
}

impl SentWords {
    /// `entry` is the command of a tool that has one of its own.
    pub(super) fn of(arguments: &Map<String, Value>, entry: Option<&str>) -> Self {
        let word = |value: &Value| value.as_str().map(cut);
        if let Some(line) = ["command", "arguments"].into_iter().find_map(|key| word(arguments.get(key)?)) {
            return Self::Line(entry.map_or_else(|| line.clone(), |entry| format!("{entry} {line}")));
        }
        let words = arguments.get("args").and_then(Value::as_array).into_iter().flatten().take(MOST);
        Self::Words(arguments.get("file").into_iter().chain(words).filter_map(word).collect())
    }

    /// The field of a log line.
    pub(super) fn describe(&self, parts: &Parts) -> Fields {
        let words = match self {
            Self::Line(line) => split_words(line).unwrap_or_else(|_| vec![line.clone()]),
            Self::Words(words) => words.clone(),
        };
        Fields::default().asked(&parts.policy.without_secrets(words))
    }
}

fn cut(word: &str) -> String {
    let is_long = word.chars().nth(LONGEST).is_some();
    word.chars().take(LONGEST).chain(is_long.then_some('…')).collect()
}
