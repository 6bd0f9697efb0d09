//! A message of the client: a request, a notification or a response, or malformed.

use serde_json::{Map, Value};

use super::outline::{Outline, readable_members};
use super::shape::Members;
use super::{ErrorObject, INVALID_PARAMS, INVALID_REQUEST, LONGEST_ID, RequestId, weight};

/// One message of the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A request, which must be answered.
    Request(Request),
    /// A notification, which is never answered, even if something is wrong with it.
    Notification(Notification),
    /// An answer to one of the server's requests.
    Response(Response),
}

/// A message with an id and a method.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Returned with the answer as it came.
    pub id: RequestId,
    /// The name of the method.
    pub method: String,
    /// The parameters; empty if the message has none.
    pub params: Map<String, Value>,
}

/// A message with a method and without an id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Notification {
    /// The name of the method.
    pub method: String,
    /// The parameters; empty if the message has none, or something else than an object. Values that can't be stored are
    /// left out.
    pub params: Map<String, Value>,
}

/// A message with a result or an error.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The id of the server's request; `None` if it is missing or not an id.
    pub id: Option<RequestId>,
    /// The result, or the error as it came.
    pub result: Result<Value, Value>,
}

/// A line, or an element of a batch, that is not a message, with the error that answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Malformed {
    /// The id, if there was one that can be returned.
    pub id: Option<RequestId>,
    /// `PARSE_ERROR`, `INVALID_REQUEST` or, for parameters that can't be stored, `INVALID_PARAMS`, and why.
    pub error: ErrorObject,
}

impl Request {
    /// Roughly how much memory the message takes while it waits for its answer, in bytes.
    pub fn weight(&self) -> usize {
        weight::of_text(&self.method) + weight::of_value(self.id.as_value()) + weight::of_members(&self.params)
    }
}

impl Message {
    /// Reads an element of a batch.
    pub(super) fn from_value(value: Value) -> Result<Self, Malformed> {
        into_object(value).ok_or_else(no_object).and_then(|members| Self::from_members(members.into()))
    }

    /// Reads the members of an object.
    pub(super) fn from_members(members: Members<Value>) -> Result<Self, Malformed> {
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
            // Nobody waits for an answer, so there is nobody to report an error to.
            let params = params.and_then(into_object).unwrap_or_default();
            return Ok(Self::Notification(Notification { method, params }));
        }
        let Some(known_id) = known_id else {
            return Err(invalid(
                None,
                &match id {
                    Some(Value::String(_)) => format!("`id` must be no longer than {LONGEST_ID} bytes"),
                    _ => "`id` must be a string or an integer of 64 bits".to_owned(),
                },
            ));
        };
        if !version_fits {
            return Err(invalid(Some(known_id), "`jsonrpc` must be \"2.0\""));
        }
        let params = match params {
            // Libraries that serialize every field write the ones that they leave out as null.
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(invalid(Some(known_id), "`params` must be an object")),
        };
        Ok(Self::Request(Request { id: known_id, method, params }))
    }

    /// Reads an element of a batch that can't be read as a whole.
    pub(super) fn from_text(text: &str) -> Result<Self, Malformed> {
        match serde_json::from_str(text) {
            Ok(value) => Self::from_value(value),
            Err(error) => match Outline::of(text) {
                Some(Outline::Object(members)) => Self::from_outline(members, &error),
                Some(Outline::Array(_) | Outline::Scalar) | None => Err(no_object()),
            },
        }
    }

    /// Reads the readable parts of a message that can't be read as a whole, for this reason.
    pub(super) fn from_outline(members: Members<&str>, error: &serde_json::Error) -> Result<Self, Malformed> {
        let Members { jsonrpc, id, method, params, result, error: failure } = members;
        let why = why(error);
        let readable = |member: &str| serde_json::from_str::<Value>(member).ok();
        // It is a string, whatever it contains; one that can't be read is not a known method.
        let method = method.map(|method| match method.starts_with('"') {
            true => readable(method).unwrap_or_else(|| "".into()),
            false => Value::Null,
        });
        let said = |member: &str| readable(member).unwrap_or_else(|| why.as_str().into());
        let read = Members {
            jsonrpc: jsonrpc.and_then(readable),
            // One that can't be read is not an id.
            id: id.map(|id| readable(id).unwrap_or_default()),
            params: params.map(|params| readable(params).unwrap_or_else(|| readable_members(params).into())),
            result: result.and_then(readable),
            // A result that can't be read counts as an error.
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

pub(super) fn no_object() -> Malformed {
    invalid(None, "expected an object with `jsonrpc`, `method` and, for a request, `id`")
}

pub(super) fn invalid(id: Option<RequestId>, why: &str) -> Malformed {
    Malformed { id, error: ErrorObject::new(INVALID_REQUEST, format!("invalid request: {why}")) }
}

/// Why valid JSON could not be read, in serde_json's words, and in plainer ones if those are unclear.
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
