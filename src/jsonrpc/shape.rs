//! The shape of a line: an object with the members that messages have, an array of values, or neither. Members that no
//! message has are parsed nevertheless, since a line must be JSON that can be stored.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The content of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Shape {
    /// Maybe a message.
    Object(Members<Value>),
    /// Maybe a batch.
    Array(Vec<Value>),
    /// No message.
    Scalar,
}

/// The members of an object that a message can have, whatever their values are. If a key occurs twice, the last one
/// counts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Members<T> {
    pub jsonrpc: Option<T>,
    pub id: Option<T>,
    pub method: Option<T>,
    pub params: Option<T>,
    pub result: Option<T>,
    pub error: Option<T>,
}

/// The key of a member.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
pub(super) enum Key {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    #[serde(other)]
    Other,
}

impl<T> Members<T> {
    /// Stores a value under its key; members that no message has are dropped.
    pub fn set(&mut self, key: Key, value: T) {
        let member = match key {
            Key::Jsonrpc => &mut self.jsonrpc,
            Key::Id => &mut self.id,
            Key::Method => &mut self.method,
            Key::Params => &mut self.params,
            Key::Result => &mut self.result,
            Key::Error => &mut self.error,
            Key::Other => return,
        };
        *member = Some(value);
    }
}

impl From<Map<String, Value>> for Members<Value> {
    fn from(mut members: Map<String, Value>) -> Self {
        let mut take = |key| members.remove(key);
        Self {
            jsonrpc: take("jsonrpc"),
            id: take("id"),
            method: take("method"),
            params: take("params"),
            result: take("result"),
            error: take("error"),
        }
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut members = Members::default();
        while let Some(key) = map.next_key()? {
            members.set(key, map.next_value()?);
        }
        Ok(Shape::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Shape, A::Error> {
        let mut array = Vec::new();
        while let Some(element) = elements.next_element()? {
            array.push(element);
        }
        Ok(Shape::Array(array))
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Scalar)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::Scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The shape computed from a whole value, which defines what a line means.
    fn by_value(line: &str) -> Result<Shape, String> {
        match serde_json::from_str(line).map_err(|error| error.to_string())? {
            Value::Object(members) => Ok(Shape::Object(members.into())),
            Value::Array(elements) => Ok(Shape::Array(elements)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(Shape::Scalar),
        }
    }

    fn check(line: &str) -> Result<(), TestCaseError> {
        let read = serde_json::from_str::<Shape>(line).map_err(|error| error.to_string());
        prop_assert_eq!(read, by_value(line), "{}", line);
        Ok(())
    }

    #[test]
    fn a_line_has_the_shape_of_its_value() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]},"result":null,"error":{},"more":1}"#,
            r#"{"id":1,"id":2,"more":1,"more":{}}"#,
            r#"{"\u0069d":1}"#,
            "{}",
            "[]",
            r#"[1,{"id":1},[{}],"x"]"#,
            "null",
            "true",
            "-1",
            "1",
            "1.5",
            r#""x""#,
            "1e999",
            r#"{"more":1e999}"#,
            r#"{"more":"\ud800"}"#,
            r#"{"\ud800":1}"#,
            r#"{"id":1,}"#,
            r#"{"id"}"#,
            "{1:1}",
            "[1,]",
            "{} {}",
            "",
            &format!("{}{}", "[".repeat(128), "]".repeat(128)),
            &format!("{}{}", "[".repeat(127), "]".repeat(127)),
            &format!("{{\"more\":{}{}}}", "[".repeat(127), "]".repeat(127)),
            &format!("{{\"more\":{}{}}}", "[".repeat(126), "]".repeat(126)),
        ] {
            check(line).unwrap();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn any_line_has_the_shape_of_its_value(
            line in r#"[\[{]{0,2}(("(jsonrpc|id|method|params|result|error|x)":)?("2\.0"|-?[0-9]{1,25}|1e[0-9]{3}|null|true|\{\}|\[1\]|"x\\u[0d]{4}"),?){0,7}[\]}]{0,2}"#
        ) {
            check(&line)?;
        }
    }
}
