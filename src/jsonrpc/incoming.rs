//! The content of a client's line: a message, a batch of them, or malformed.

use super::message::{Malformed, Message, Notification, Response, invalid, no_object};
use super::outline::Outline;
use super::shape::{Members, Shape};
use super::weight::{self, MOST_WEIGHT};
use super::{ErrorObject, LONGEST_ID, PARSE_ERROR, RequestId};

/// The most messages in a batch.
const MOST_ELEMENTS: usize = 1_000;

/// The content of one line.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// One message.
    Single(Message),
    /// An array: each of its elements separately. Whether batches are served is not known here.
    Batch(Vec<Result<Message, Malformed>>),
}

impl Incoming {
    /// Reads one line.
    ///
    /// The line is parsed once, and the same values are checked and run: if a key occurs twice, the last one counts for
    /// both.
    ///
    /// Valid JSON may contain what can't be stored: more than 128 levels, a number beyond a double's range, half of a
    /// surrogate pair. Such a message is classified by the parts that can be read: a notification and a response stay
    /// what they are, and a request is malformed, with its id.
    ///
    /// # Errors
    /// [`Malformed`], with `PARSE_ERROR` for text that is not JSON (or not UTF-8), `INVALID_REQUEST` for JSON that
    /// is not a message or takes too much memory, and `INVALID_PARAMS` for a request whose parameters can't be
    /// stored.
    pub fn parse(line: &[u8]) -> Result<Self, Malformed> {
        if weight::of_line(line) > MOST_WEIGHT {
            // The outline of an array takes nearly as much memory as its values.
            let is_object = line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
            let text = std::str::from_utf8(line).ok().filter(|_| is_object);
            return Self::too_heavy(text.and_then(Outline::of));
        }
        // If the whole line is UTF-8, no string has to be checked again; any other line gets the same error.
        let text = std::str::from_utf8(line);
        let read = match text {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(line),
        };
        match read {
            Ok(Shape::Array(elements)) if elements.is_empty() => {
                Err(invalid(None, "a batch holds at least one message"))
            }
            Ok(Shape::Array(elements)) if elements.len() > MOST_ELEMENTS => Err(too_many_elements()),
            Ok(Shape::Array(elements)) => Ok(Self::Batch(elements.into_iter().map(Message::from_value).collect())),
            Ok(Shape::Object(members)) => Message::from_members(members).map(Self::Single),
            Ok(Shape::Scalar) => Err(no_object()),
            Err(error) => Self::from_outline(text.ok().and_then(Outline::of), &error),
        }
    }

    /// Classifies a line whose values would take too much memory, by its outline: a request is refused, and a
    /// notification and a response stay what they are, without their content.
    fn too_heavy(outline: Option<Outline<'_>>) -> Result<Self, Malformed> {
        let most = MOST_WEIGHT >> 20;
        let why = format!("the message holds more values than fit into {most} MiB; send fewer, or longer ones");
        let Some(Outline::Object(Members { id, method, result, error, .. })) = outline else {
            return Err(invalid(None, &why));
        };
        // A text longer than any id, even with every character escaped, is not an id.
        let readable = id.filter(|id| id.len() <= 6 * LONGEST_ID + 2).and_then(|id| serde_json::from_str(id).ok());
        let known_id = readable.as_ref().and_then(RequestId::from_value);
        match (method, id, result.or(error)) {
            (Some(_), None, _) => Ok(Self::Single(Message::Notification(Notification::default()))),
            (None, _, Some(_)) => {
                Ok(Self::Single(Message::Response(Response { id: known_id, result: Err(why.into()) })))
            }
            (Some(_), Some(_), _) | (None, _, None) => Err(invalid(known_id, &why)),
        }
    }

    /// Classifies a line that can't be read, for this reason; a line without an outline is not JSON.
    fn from_outline(outline: Option<Outline>, error: &serde_json::Error) -> Result<Self, Malformed> {
        match outline {
            None => Err(Malformed { id: None, error: ErrorObject::new(PARSE_ERROR, format!("parse error: {error}")) }),
            Some(Outline::Array(elements)) if elements.len() > MOST_ELEMENTS => Err(too_many_elements()),
            Some(Outline::Array(elements)) => Ok(Self::Batch(elements.into_iter().map(Message::from_text).collect())),
            Some(Outline::Object(members)) => Message::from_outline(members, error).map(Self::Single),
            Some(Outline::Scalar) => Err(no_object()),
        }
    }
}

fn too_many_elements() -> Malformed {
    invalid(None, &format!("the batch holds more than {MOST_ELEMENTS} messages; send several"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{INVALID_PARAMS, INVALID_REQUEST, Request};
    use proptest::prelude::*;
    use serde_json::Value;

    fn check(line: &str, expected: &str) {
        let said = match Incoming::parse(line.as_bytes()) {
            Ok(Incoming::Single(Message::Request(request))) => format!("request {} {}", request.id, request.method),
            Ok(Incoming::Single(Message::Notification(notification))) => {
                format!("notification {}", notification.method)
            }
            Ok(Incoming::Single(Message::Response(response))) => {
                format!("response {:?}", response.id.map(|id| id.to_string()))
            }
            Ok(Incoming::Batch(elements)) => format!("batch of {}", elements.len()),
            Err(Malformed { id, error }) => {
                format!("{} {:?}: {}", error.code, id.map(|id| id.to_string()), error.message)
            }
        };
        assert_eq!(said, expected, "for the line {line}");
    }

    #[test]
    fn each_kind_of_line_is_told_from_the_others() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1 ping");
        check(r#"{"jsonrpc":"2.0","id":"1","method":"ping","params":{}}"#, r#"request "1" ping"#);
        check(r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#, "request 18446744073709551615 ping");
        check(r#"{"jsonrpc":"2.0","id":-9223372036854775808,"method":"ping"}"#, "request -9223372036854775808 ping");
        check(r#"{"jsonrpc":"2.0","id":-0,"method":"ping"}"#, "request 0 ping");
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, "request 1 ping");
        check(r#"{"jsonrpc":"2.0","method":"x","params":7}"#, "notification x");
        check(r#"{"method":"x"}"#, "notification x");
        check(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#, r#"response Some("5")"#);
        check(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "response None");
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},7]"#, "batch of 2");
        for element in ["7", "1e999"] {
            check(&format!("[{}]", vec![element; 1_000].join(",")), "batch of 1000");
            let why = "-32600 None: invalid request: the batch holds more than 1000 messages; send several";
            check(&format!("[{}]", vec![element; 1_001].join(",")), why);
        }
    }

    #[test]
    fn what_is_no_message_says_why_and_keeps_the_id_where_there_is_one() {
        check("nonsense", "-32700 None: parse error: expected ident at line 1 column 2");
        check(r#"{"jsonrpc":"2.0","#, "-32700 None: parse error: EOF while parsing a value at line 1 column 17");
        check("{} {}", "-32700 None: parse error: trailing characters at line 1 column 4");
        check("[]", "-32600 None: invalid request: a batch holds at least one message");
        check(
            "7",
            "-32600 None: invalid request: expected an object with `jsonrpc`, `method` and, for a request, `id`",
        );
        check("{}", "-32600 None: invalid request: a message has a `method`, a `result` or an `error`");
        for id in ["null", "1.5", "1e3", "true", "{}", "[]", "18446744073709551616"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            check(&line, "-32600 None: invalid request: `id` must be a string or an integer of 64 bits");
        }
        check(
            r#"{"jsonrpc":"2.0","id":3,"method":5}"#,
            r#"-32600 Some("3"): invalid request: `method` must be a string"#,
        );
        check(r#"{"id":3,"method":"ping"}"#, r#"-32600 Some("3"): invalid request: `jsonrpc` must be "2.0""#);
        check(
            r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}"#,
            r#"-32600 Some("3"): invalid request: `params` must be an object"#,
        );
    }

    #[test]
    fn an_id_of_more_than_a_kibibyte_is_none_and_comes_back_nowhere() {
        let line = |length| format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "i".repeat(length));
        check(&line(1024), &format!("request \"{}\" ping", "i".repeat(1024)));
        check(&line(1025), "-32600 None: invalid request: `id` must be no longer than 1024 bytes");
    }

    #[test]
    fn a_line_whose_values_would_take_too_much_memory_is_refused_with_its_id() {
        let refused = |id: &str| {
            format!(
                "-32600 {id}: invalid request: the message holds more values than fit into 32 MiB; send fewer, or longer ones"
            )
        };
        for (value, count) in [("[]", 1_000_000), ("{}", 1_000_000), ("0", 1_000_000), ("\"\"", 1_000_000)] {
            let list = vec![value; count].join(",");
            let line = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":[{list}]}},"id":7}}"#);
            check(&line, &refused("Some(\"7\")"));
            check(&format!("[{list}]"), &refused("None"));
            check(&format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":[{list}]}}}}"#), "notification ");
            check(&format!(r#"{{"jsonrpc":"2.0","id":3,"result":{{"a":[{list}]}}}}"#), "response Some(\"3\")");
        }
        // A long text of any characters is one value.
        let text = "{[,:".repeat(1_000_000);
        check(&format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":"{text}\\\""}}}}"#), "request 7 m");
    }

    #[test]
    fn what_no_value_can_hold_is_told_by_what_can_be_read() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        for hard in [r#""\ud800""#, r#""a\udc00b""#, "1e400", "-1e400", &deep, r#"{"\ud800":1}"#] {
            check(&format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"x":{hard}}}}}"#), "notification x");
            check(&format!(r#"{{"method":"x","params":{hard},"more":[{hard}]}}"#), "notification x");
            check(&format!(r#"{{"jsonrpc":"2.0","id":5,"result":{{"x":{hard}}}}}"#), r#"response Some("5")"#);
            check(&format!(r#"{{"jsonrpc":"2.0","error":{hard},"id":"a"}}"#), r#"response Some("\"a\"")"#);
            check(&format!(r#"{{"jsonrpc":"2.0","result":1,"id":{hard}}}"#), "response None");
            let id = |line: String| match Incoming::parse(line.as_bytes()) {
                Err(malformed) => (malformed.id.map(|id| id.to_string()), malformed.error.code),
                Ok(incoming) => panic!("{incoming:?} for {line}"),
            };
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"x":{hard}}}}}"#);
            assert_eq!(id(line), (Some("1".to_owned()), INVALID_PARAMS), "{hard}");
            let line = format!(r#"{{"more":{hard},"id":"a","method":"m","jsonrpc":"2.0","params":{{}}}}"#);
            assert_eq!(id(line), (Some(r#""a""#.to_owned()), INVALID_REQUEST), "{hard}");
            let line = format!(r#"{{"jsonrpc":{hard},"id":1,"method":"m"}}"#);
            assert_eq!(id(line), (Some("1".to_owned()), INVALID_REQUEST), "{hard}");
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":{hard}}}"#);
            assert_eq!(id(line), (Some("1".to_owned()), INVALID_REQUEST), "{hard}");
            let line = format!(r#"{{"jsonrpc":"2.0","id":{hard},"method":"m"}}"#);
            assert_eq!(id(line), (None, INVALID_REQUEST), "{hard}");
        }
        check(r#"{"jsonrpc":"2.0","method":"\ud800"}"#, "notification ");
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"command":"echo \ud800"}}"#,
            "-32602 Some(\"1\"): invalid params: unexpected end of hex escape at line 1 column 70: a `\\u` escape there is half \
             of a surrogate pair, which stands for no character; send both halves, or neither",
        );
        check(&deep, "batch of 1");
        check(&"[".repeat(10_000), "-32700 None: parse error: recursion limit exceeded at line 1 column 128");
        assert_eq!(Incoming::parse(b"{\"a\":\"\xff\"}").unwrap_err().error.code, PARSE_ERROR);
        assert_eq!(Incoming::parse(br#"{"a":"\ud8"}"#).unwrap_err().error.code, PARSE_ERROR);
    }

    #[test]
    fn a_notification_keeps_the_parameters_that_can_be_read() {
        let line = r#"{"method":"x","params":{"requestId":5,"reason":"cut \ud83d","\ud800":1,"more":{"a":[1]}}}"#;
        let Ok(Incoming::Single(Message::Notification(notification))) = Incoming::parse(line.as_bytes()) else {
            panic!("no notification")
        };
        assert_eq!(Value::from(notification.params), serde_json::json!({"requestId": 5, "more": {"a": [1]}}));
    }

    #[test]
    fn a_member_of_a_batch_that_no_value_can_hold_leaves_the_others_as_they_are() {
        let line = r#"[{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":"\ud800"}},{"jsonrpc":"2.0","id":2,"method":"m"},
            {"method":"n","params":{"x":1e400}},1e400,[["\udfff"]]]"#;
        let Ok(Incoming::Batch(elements)) = Incoming::parse(line.as_bytes()) else { panic!("no batch") };
        let said: Vec<String> = elements
            .into_iter()
            .map(|element| match element {
                Ok(Message::Request(Request { id, .. })) => format!("request {id}"),
                Ok(Message::Notification(Notification { method, .. })) => format!("notification {method}"),
                Ok(Message::Response(_)) => "response".to_owned(),
                Err(Malformed { id, error }) => format!("{} {:?}", error.code, id.map(|id| id.to_string())),
            })
            .collect();
        assert_eq!(said, ["-32602 Some(\"1\")", "request 2", "notification n", "-32600 None", "-32600 None"]);
    }

    proptest! {
        #[test]
        fn no_line_panics(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(Incoming::parse(&line));
        }

        #[test]
        fn no_almost_message_panics(line in r#"[\[{]{0,3}("(jsonrpc|id|method|params|result|error)":("2.0"|[0-9]{1,25}|null|\{\}|\[\]|"x"),?){0,6}[\]}]{0,3}"#) {
            drop(Incoming::parse(line.as_bytes()));
        }

        #[test]
        fn every_id_comes_back_as_it_was(number in any::<i64>(), text in any::<String>()) {
            for id in [Value::from(number), Value::from(text)] {
                let line = serde_json::json!({"jsonrpc": "2.0", "id": id, "method": "m"}).to_string();
                let Ok(Incoming::Single(Message::Request(request))) = Incoming::parse(line.as_bytes()) else { panic!("{line}") };
                prop_assert_eq!(request.id.as_value(), &id);
            }
        }
    }
}
