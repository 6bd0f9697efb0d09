//! How much two messages differ, and where first.

use serde_json::Value;

/// A place where two values differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// The place as a JSON pointer (RFC 6901); empty for the whole.
    pub pointer: String,
    /// The expected value; `None` if there is none.
    pub expected: Option<Value>,
    /// The value found there.
    pub found: Option<Value>,
}

impl Difference {
    /// How many characters of the two are not in a common beginning or end.
    fn distance(&self) -> usize {
        let text = |value: &Option<Value>| -> Vec<char> {
            value.as_ref().map_or_else(String::new, Value::to_string).chars().collect()
        };
        let (a, b) = (text(&self.expected), text(&self.found));
        let shorter = a.len().min(b.len());
        let before = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        let behind = a.iter().rev().zip(b.iter().rev()).take(shorter - before).take_while(|(a, b)| a == b).count();
        a.len().max(b.len()) - before - behind
    }
}

/// All places where two values differ, as deep in them as possible.
pub(super) fn differences(expected: &Value, found: &Value) -> Vec<Difference> {
    let mut differences = Vec::new();
    collect(String::new(), Some(expected), Some(found), &mut differences);
    differences
}

/// How much two values differ: first by the number of places, then by how different the text is there.
pub(super) fn distance(differences: &[Difference]) -> (usize, usize) {
    (differences.len(), differences.iter().map(Difference::distance).sum())
}

fn collect(pointer: String, expected: Option<&Value>, found: Option<&Value>, all: &mut Vec<Difference>) {
    match (expected, found) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let more = right.keys().filter(|key| !left.contains_key(*key));
            for key in left.keys().chain(more) {
                let step = key.replace('~', "~0").replace('/', "~1");
                collect(format!("{pointer}/{step}"), left.get(key), right.get(key), all);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for at in 0..left.len().max(right.len()) {
                collect(format!("{pointer}/{at}"), left.get(at), right.get(at), all);
            }
        }
        (expected, found) if expected == found => {}
        (expected, found) => {
            all.push(Difference { pointer, expected: expected.cloned(), found: found.cloned() });
        }
    }
}
