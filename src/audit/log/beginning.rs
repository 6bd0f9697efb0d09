//! Reads a line of a log as a record. Of a line that is too long to be kept, it reads the beginning.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::read::Line;

/// The record in a line; `None` if it is none. Of a line that [is not whole](Line::is_whole) it has the fields that are in the
/// beginning; what is cut off there is null or missing.
pub(crate) fn record(line: &Line) -> Option<Value> {
    if line.is_whole() {
        return serde_json::from_slice(&line.bytes).ok().filter(Value::is_object);
    }
    let mut begun = Value::Null;
    let mut json = serde_json::Deserializer::from_slice(&line.bytes);
    // It ends with an error, as the line goes on.
    Merged(&mut begun).deserialize(&mut json).ok();
    Some(begun).filter(|begun| begun.get("event").is_some_and(Value::is_string))
}

/// Puts a value where it belongs as it is read, so that what was read is there if the text ends.
struct Merged<'v>(&'v mut Value);

impl<'de> DeserializeSeed<'de> for Merged<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Merged<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        *self.0 = value.into();
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        *self.0 = value.into();
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        *self.0 = value.into();
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        *self.0 = value.into();
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        *self.0 = value.into();
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        *self.0 = Value::Array(Vec::new());
        let Value::Array(array) = self.0 else { return Ok(()) };
        loop {
            array.push(Value::Null);
            let Some(last) = array.last_mut() else { return Ok(()) };
            if items.next_element_seed(Merged(last))?.is_none() {
                array.pop();
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        *self.0 = Value::Object(serde_json::Map::new());
        let Value::Object(object) = self.0 else { return Ok(()) };
        while let Some(key) = members.next_key::<String>()? {
            members.next_value_seed(Merged(object.entry(key).or_insert(Value::Null)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_beginning_of_a_long_record_says_what_is_in_it() {
        let long = "x".repeat(2 << 20);
        let read = |text: String| {
            let mut line = Line::new();
            line.read(&mut text.as_bytes()).unwrap();
            record(&line)
        };
        let head = r#"{"event":"decided","call":7,"id":{"a":[1,-1,null,true,0.5]},"argv":["#;
        let begun =
            json!({"event": "decided", "call": 7, "id": {"a": [1, -1, null, true, 0.5]}, "argv": ["echo", null]});
        assert_eq!(read(format!("{head}\"echo\",\"{long}\"],\"reason\":null}}\n")), Some(begun));
        let many = format!("{head}{}", "{\"a\":0},".repeat(1 << 18));
        assert_eq!(read(many).unwrap()["call"], 7);
        assert_eq!(read(format!("{head}\"echo\"]}}")).unwrap()["argv"], json!(["echo"]));
        for none in [
            format!("{{\"x\":\"{long}\",\"event\":\"decided\"}}"),
            long,
            "[1]".into(),
            "{".into(),
            "{\"event\":1".into(),
        ] {
            assert_eq!(read(none), None);
        }
    }
}
