//! What a line of the client's is: a request, a notification, a response, a batch of them, or malformed.

use serde_json::{Map, Value};

use super::outline::{Outline, readable_members};
use super::shape::{Members, Shape};
use super::{ErrorObject, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, RequestId};

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
    /// The parameters; empty where the message has none, or something else than an object. What no value can hold is left out.
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
    /// [`PARSE_ERROR`], [`INVALID_REQUEST`] or, for parameters that no value can hold, [`INVALID_PARAMS`], and why.
    pub error: ErrorObject,
}

impl Incoming {
    /// Reads one line.
    ///
    /// The line is read once, and what was read is what is looked at and what is run: of a key that stands twice the
    /// last one counts, for the check as for the execution.
    ///
    /// Valid JSON may hold what no value can: more than 128 levels, a number beyond a double's range, half of a surrogate
    /// pair. Such a message is told by the parts that can be read: a notification and a response stay what they are, and
    /// a request is malformed, with its id.
    ///
    /// # Errors
    /// [`Malformed`], with [`PARSE_ERROR`] for what is no JSON (or no UTF-8), [`INVALID_REQUEST`] for JSON that is no
    /// message, and [`INVALID_PARAMS`] for a request whose parameters no value can hold.
    pub fn parse(line: &[u8]) -> Result<Self, Malformed> {
        // Of a whole line that is UTF-8 no string needs to be looked at again; what is wrong with any other is said the same.
        let text = std::str::from_utf8(line);
        let read = match text {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(line),
        };
        match read {
            Ok(Shape::Array(elements)) if elements.is_empty() => {
                Err(invalid(None, "a batch holds at least one message"))
            }
            Ok(Shape::Array(elements)) => Ok(Self::Batch(elements.into_iter().map(Message::from_value).collect())),
            Ok(Shape::Object(members)) => Message::from_members(members).map(Self::Single),
            Ok(Shape::Scalar) => Err(no_object()),
            Err(error) => Self::from_outline(text.ok().and_then(Outline::of), &error),
        }
    }

    /// What can be told of a line that can't be read, for this reason; without an outline it is no JSON.
    fn from_outline(outline: Option<Outline>, error: &serde_json::Error) -> Result<Self, Malformed> {
        match outline {
            None => Err(Malformed { id: None, error: ErrorObject::new(PARSE_ERROR, format!("parse error: {error}")) }),
            Some(Outline::Array(elements)) => Ok(Self::Batch(elements.into_iter().map(Message::from_text).collect())),
            Some(Outline::Object(members)) => Message::from_outline(members, error).map(Self::Single),
            Some(Outline::Scalar) => Err(no_object()),
        }
    }
}

impl Message {
    fn from_value(value: Value) -> Result<Self, Malformed> {
        into_object(value).ok_or_else(no_object).and_then(|members| Self::from_members(members.into()))
    }

    fn from_members(members: Members<Value>) -> Result<Self, Malformed> {
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

    /// Reads the element of a batch that can't be read as a whole.
    fn from_text(text: &str) -> Result<Self, Malformed> {
        match serde_json::from_str(text) {
            Ok(value) => Self::from_value(value),
            Err(error) => match Outline::of(text) {
                Some(Outline::Object(members)) => Self::from_outline(members, &error),
                Some(Outline::Array(_) | Outline::Scalar) | None => Err(no_object()),
            },
        }
    }

    /// Reads what can be read of a message that can't be read as a whole, for this reason.
    fn from_outline(members: Members<&str>, error: &serde_json::Error) -> Result<Self, Malformed> {
        let Members { jsonrpc, id, method, params, result, error: failure } = members;
        let why = why(error);
        let readable = |member: &str| serde_json::from_str::<Value>(member).ok();
        // It is a string, whatever it holds; what can't be read is no method that anybody knows.
        let method = method.map(|method| match method.starts_with('"') {
            true => readable(method).unwrap_or_else(|| "".into()),
            false => Value::Null,
        });
        let said = |member: &str| readable(member).unwrap_or_else(|| why.as_str().into());
        let read = Members {
            jsonrpc: jsonrpc.and_then(readable),
            // What can't be read is no id.
            id: id.map(|id| readable(id).unwrap_or_default()),
            params: params.map(|params| readable(params).unwrap_or_else(|| readable_members(params).into())),
            result: result.and_then(readable),
            // A result that can't be read is an error to whoever waits for it.
            error: failure.or(result.filter(|result| readable(result).is_none())).map(said),
            method,
        };
        let unreadable_params = params.is_some_and(|params| readable(params).is_none());
        match Self::from_members(read)? {
            Self::Request(Request { id, .. }) if unreadable_params => Err(Malformed {
                id: Some(id),
                error: ErrorObject::new(INVALID_PARAMS, format!("invalid params: {why}")),
            }),
            Self::Request(Request { id, .. }) => Err(invalid(Some(id), &why)),
            message => Ok(message),
        }
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

/// Why valid JSON could not be read, in serde_json's words and, where those say it to nobody else, in others too.
fn why(error: &serde_json::Error) -> String {
    let said = error.to_string();
    if said.contains("hex escape") {
        return format!(
            "{said}: a `\\u` escape there is half of a surrogate pair, which stands for no character; \
             send both halves, or neither"
        );
    }
    said
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
        check(r#"{"jsonrpc":"2.0","id":-0,"method":"ping"}"#, "request 0 ping");
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
