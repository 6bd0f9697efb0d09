//! How much memory a message takes: estimated for a line before its values are made, and for a parsed message.
//!
//! A byte of JSON can cost eighty bytes of memory: `{"a":0}` is a node of a tree with room for eleven members. So the
//! memory for a line's values is estimated before any of them is made.

use serde_json::{Map, Value};

/// The most memory that the values of one line may take: about 32 MiB. A line of 16 MiB that is one string takes half
/// of it.
pub const MOST_WEIGHT: usize = 32 * 1024 * 1024;

/// Shorter lines can't exceed the bound: the worst line takes less than 128 times its bytes.
const LIGHT: usize = MOST_WEIGHT / 128;

/// A value in an array, with the room that a growing one keeps free.
const VALUE: usize = 64;
/// A node of a map, with room for its first members.
const NODE: usize = 640;
/// A member of a map, in nodes that are half full.
const MEMBER: usize = 128;
/// The cost of an allocation in addition to its bytes, which are rounded up.
const ALLOCATION: usize = 32;
/// The smallest room of an array that is not empty.
const ARRAY: usize = 4 * 32 + ALLOCATION;

/// An upper estimate of the memory for the values of a line; 0 for a line that is too short to matter.
pub(super) fn of_line(line: &[u8]) -> usize {
    if line.len() <= LIGHT { 0 } else { of_text_of_values(line, Quotes::Hold) }
}

/// The meaning of quotes in a text that is weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// They enclose strings.
    Hold,
    /// Nothing: the text is a part of a line, so it is not known which of them begin a string.
    AreUnknown,
}

/// An upper estimate of the memory for the values of a text. It need not be JSON: everything outside its strings is counted.
pub(crate) fn of_text_of_values(text: &[u8], quotes: Quotes) -> usize {
    let mut weight = text.len();
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        weight += match byte {
            b'"' => {
                if quotes == Quotes::Hold {
                    skip_string(&mut rest);
                }
                ALLOCATION
            }
            b',' => VALUE,
            b':' => MEMBER,
            b'{' => NODE,
            b'[' => ARRAY,
            _ => 0,
        };
    }
    weight
}

fn skip_string(rest: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                rest.next();
            }
            _ => {}
        }
    }
}

/// The memory of a text.
pub(super) fn of_text(text: &str) -> usize {
    text.len() + ALLOCATION
}

/// The memory of a value in addition to its own slot. Values are at most 128 levels deep, since serde_json reads no
/// deeper ones.
pub(super) fn of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => of_text(text),
        Value::Array(values) => ALLOCATION + values.iter().map(|value| VALUE + of_value(value)).sum::<usize>(),
        Value::Object(members) => of_members(members),
    }
}

/// The memory of the members of an object.
pub(super) fn of_members(members: &Map<String, Value>) -> usize {
    let each = members.iter().map(|(key, value)| MEMBER + of_text(key) + of_value(value));
    if members.is_empty() { 0 } else { NODE + each.sum::<usize>() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_line_is_weighed_as_no_less_than_its_values(
            line in r#"(\[(\{"[a-z]{0,3}":(\[\]|"\\\\"|1|\{\})\},?|"[\[{,:]{1,3}",|\[0,1\],){0,20}0\])"#
        ) {
            let Ok(value) = serde_json::from_str::<Value>(&line) else { return Ok(()) };
            // Blanks make it long enough to be estimated.
            let line = line + &" ".repeat(LIGHT);
            let weighed = of_line(line.as_bytes()) - line.len();
            prop_assert!(of_value(&value) <= weighed + VALUE + 32, "{} > {weighed}: {line}", of_value(&value));
        }
    }
}
