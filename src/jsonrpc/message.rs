//! What a line of the client's is: a request, a notification, a response, a batch of them, or malformed.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::shape::{Members, Shape};
use super::{ErrorObject, INVALID_REQUEST, PARSE_ERROR, RequestId};

/// One message of the client's.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none, whatever is wrong with it.
    Notification(Notification),
    /// Answers a request of the server's own.
    Response(Response),
}

/// A message with an id and a method.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Goes back with the answer as it came.
    pub id: RequestId,
    /// The name of the method.
    pub method: String,
    /// The parameters; empty where the message has none.
    pub params: Map<String, Value>,
}

/// A message with a method and without an id.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// The name of the method.
    pub method: String,
    /// The parameters; empty where the message has none, or something else than an object.
    pub params: Map<String, Value>,
}

/// A message with a result or an error.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The id of the server's request; `None` where it is missing or no id.
    pub id: Option<RequestId>,
    /// The result, or the error as it came.
    pub result: Result<Value, Value>,
}

/// What one line holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// One message.
    Single(Message),
    /// An array: each of its elements by itself. Whether batches are served is not known here.
    Batch(Vec<Result<Message, Malformed>>),
}

/// A line, or an element of a batch, that is no message, with the error that answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Malformed {
    /// The id, where there was one that can be sent back.
    pub id: Option<RequestId>,
    /// [`PARSE_ERROR`] or [`INVALID_REQUEST`], and why.
    pub error: ErrorObject,
}

impl Incoming {
    /// Reads one line.
    ///
    /// The line is read once, and what was read is what is looked at and what is run: of a key that stands twice the
    /// last one counts, for the check as for the execution.
    ///
    /// # Errors
    /// [`Malformed`], with [`PARSE_ERROR`] for what is no JSON (or no UTF-8), [`INVALID_REQUEST`] for JSON that is no
    /// message, or that is valid but nested deeper than 128 levels or holds a number beyond a double's range.
    pub fn parse(line: &[u8]) -> Result<Self, Malformed> {
        // Of a whole line that is UTF-8 no string needs to be looked at again; what is wrong with any other is said the same.
        let read = match std::str::from_utf8(line) {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(line),
        };
        match read.map_err(|error| unreadable(line, &error))? {
            Shape::Array(elements) if elements.is_empty() => Err(invalid(None, "a batch holds at least one message")),
            Shape::Array(elements) => Ok(Self::Batch(elements.into_iter().map(Message::from_value).collect())),
            Shape::Object(members) => Message::from_members(members).map(Self::Single),
            Shape::Scalar => Err(no_object()),
        }
    }
}

impl Message {
    fn from_value(value: Value) -> Result<Self, Malformed> {
        into_object(value).ok_or_else(no_object).and_then(|members| Self::from_members(members.into()))
    }

    fn from_members(members: Members) -> Result<Self, Malformed> {
        let Members { jsonrpc, id, method, params, result, error } = members;
        let known_id = id.as_ref().and_then(RequestId::from_value);
        let Some(method) = method else {
            return response(known_id, result, error);
        };
        let Value::String(method) = method else {
            return Err(invalid(known_id, "`method` must be a string"));
        };
        let version_fits = jsonrpc.as_ref().and_then(Value::as_str) == Some("2.0");
        if id.is_none() {
            // Nobody waits for an answer, so what is wrong with it is nobody's to hear.
            let params = params.and_then(into_object).unwrap_or_default();
            return Ok(Self::Notification(Notification { method, params }));
        }
        let Some(known_id) = known_id else {
            return Err(invalid(None, "`id` must be a string or an integer of 64 bits"));
        };
        if !version_fits {
            return Err(invalid(Some(known_id), "`jsonrpc` must be \"2.0\""));
        }
        let params = match params {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(invalid(Some(known_id), "`params` must be an object")),
        };
        Ok(Self::Request(Request { id: known_id, method, params }))
    }
}

fn response(id: Option<RequestId>, result: Option<Value>, error: Option<Value>) -> Result<Message, Malformed> {
    let result = match (result, error) {
        (_, Some(error)) => Err(error),
        (Some(result), None) => Ok(result),
        (None, None) => return Err(invalid(id, "a message has a `method`, a `result` or an `error`")),
    };
    Ok(Message::Response(Response { id, result }))
}

fn into_object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(members) => Some(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

fn no_object() -> Malformed {
    invalid(None, "expected an object with `jsonrpc`, `method` and, for a request, `id`")
}

fn invalid(id: Option<RequestId>, why: &str) -> Malformed {
    Malformed { id, error: ErrorObject::new(INVALID_REQUEST, format!("invalid request: {why}")) }
}

fn unreadable(line: &[u8], error: &serde_json::Error) -> Malformed {
    // `IgnoredAny` walks any depth without recursion: what it accepts is JSON, only not JSON that a value can hold.
    let is_json = std::str::from_utf8(line).is_ok() && serde_json::from_slice::<IgnoredAny>(line).is_ok();
    if is_json {
        return invalid(None, &error.to_string());
    }
    Malformed { id: None, error: ErrorObject::new(PARSE_ERROR, format!("parse error: {error}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        check(r#"{"jsonrpc":"2.0","method":"x","params":7}"#, "notification x");
        check(r#"{"method":"x"}"#, "notification x");
        check(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#, r#"response Some("5")"#);
        check(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "response None");
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},7]"#, "batch of 2");
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
    fn json_that_no_value_can_hold_is_an_invalid_request_and_not_a_parse_error() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        check(&deep, "-32600 None: invalid request: recursion limit exceeded at line 1 column 128");
        check(&"[".repeat(10_000), "-32700 None: parse error: recursion limit exceeded at line 1 column 128");
        check("[1e999]", "-32600 None: invalid request: number out of range at line 1 column 6");
        assert_eq!(Incoming::parse(b"{\"a\":\"\xff\"}").unwrap_err().error.code, PARSE_ERROR);
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
