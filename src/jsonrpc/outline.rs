//! The outline of a line that is JSON but can't be stored: the text of each member, or of each element.
//!
//! serde_json can skip what it can't store: half of a surrogate pair, numbers beyond a double, any depth. So if one
//! part of a message can't be read the others still can, and the sender gets an answer.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::shape::{Key, Members};

/// The shape of a line, with the texts of its parts.
#[derive(Debug, PartialEq)]
pub(super) enum Outline<'a> {
    /// Maybe a message.
    Object(Members<&'a str>),
    /// Maybe a batch.
    Array(Vec<&'a str>),
    /// No message.
    Scalar,
}

impl<'a> Outline<'a> {
    /// The outline of a JSON text; `None` for any other text.
    pub fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str::<IgnoredAny>(text).ok()?;
        let text = text.trim_start_matches(BLANKS);
        if let Some(inside) = text.strip_prefix('[') {
            return Some(Self::Array(Values(inside).collect()));
        }
        let Some(inside) = text.strip_prefix('{') else { return Some(Self::Scalar) };
        let mut members = Members::default();
        for (key, value) in pairs(inside) {
            // A key that can't be read is not a key of a message.
            members.set(serde_json::from_str(key).unwrap_or(Key::Other), value);
        }
        Some(Self::Object(members))
    }
}

/// The readable members of an object; none if the JSON text is not an object.
pub(super) fn readable_members(text: &str) -> Map<String, Value> {
    let inside = text.strip_prefix('{').unwrap_or_default();
    let read = |(key, value)| Some((serde_json::from_str(key).ok()?, serde_json::from_str(value).ok()?));
    pairs(inside).filter_map(read).collect()
}

fn pairs(inside: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut values = Values(inside);
    std::iter::from_fn(move || values.next().zip(values.next()))
}

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// The values within brackets or braces, including keys, up to the closing one; the text is JSON.
struct Values<'a>(&'a str);

impl<'a> Iterator for Values<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start_matches(|character| BLANKS.contains(&character) || matches!(character, ',' | ':'));
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
        // The closing bracket is not a value.
        values.next()?.ok()?;
        let (value, rest) = text.split_at_checked(values.byte_offset())?;
        self.0 = rest;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_part_is_told_by_itself() {
        let line = " {\"\\ud800\" : [1e999,\"]\"] ,\"\\u0069d\":\t-1e999,\"method\":\"a\\\"}\\udc00\", \"params\":{\"x\":{}},\"id\":7} ";
        let Some(Outline::Object(members)) = Outline::of(line) else { panic!("{line}") };
        assert_eq!((members.id, members.method), (Some("7"), Some("\"a\\\"}\\udc00\"")));
        assert_eq!((members.params, members.result), (Some("{\"x\":{}}"), None));
        assert_eq!(
            Outline::of("[1 , [2], true,{\"a\":3}]"),
            Some(Outline::Array(vec!["1", "[2]", "true", "{\"a\":3}"]))
        );
        assert_eq!(Outline::of("[]"), Some(Outline::Array(Vec::new())));
        assert_eq!(Outline::of("{}"), Some(Outline::Object(Members::default())));
        assert_eq!(Outline::of("\"\\udfff\""), Some(Outline::Scalar));
        for wrong in ["", "{", "[1,]", "{\"id\":1", "{} {}", "\"\\ud8\""] {
            assert_eq!(Outline::of(wrong), None, "{wrong}");
        }
        let deep = format!("[{}{},5]", "[".repeat(100_000), "]".repeat(100_000));
        assert!(
            matches!(Outline::of(&deep), Some(Outline::Array(elements)) if elements.len() == 2 && elements[1] == "5")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn the_parts_are_those_of_the_value(
            line in r#"[\[{]{1,2}(("(id|method|params|x)"[ ]?:)?("2\.0"|-?[0-9]{1,25}|null|true|\{\}|\[1, ?2\]|"[x,:\]}]"),?){0,5}[\]}]{1,2}"#
        ) {
            let parts: Option<Vec<Option<Value>>> = match Outline::of(&line) {
                None => None,
                Some(Outline::Scalar) => Some(Vec::new()),
                Some(Outline::Array(elements)) => Some(elements.into_iter().map(|part| serde_json::from_str(part).ok()).collect()),
                Some(Outline::Object(Members { id, method, params, .. })) => {
                    Some([id, method, params].map(|part| part.and_then(|part| serde_json::from_str(part).ok())).into())
                }
            };
            let expected = serde_json::from_str::<Value>(&line).ok().map(|value| match value {
                Value::Array(elements) => elements.into_iter().map(Some).collect(),
                Value::Object(members) => ["id", "method", "params"].map(|key| members.get(key).cloned()).into(),
                _ => Vec::new(),
            });
            prop_assert_eq!(parts, expected, "{}", line);
        }
    }
}
