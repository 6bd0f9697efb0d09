//! The lines that the server sends: each is one JSON object with its line end, to be written as a whole.

use serde::Serialize;

use super::{ErrorObject, RequestId};

/// Encodes a response with a result. `result` is encoded JSON; it grows into the response, so that ten megabytes are not
/// copied only to add the envelope.
pub fn result(id: &RequestId, mut result: Vec<u8>) -> Vec<u8> {
    let mut start = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    write_json(&mut start, id);
    start.extend_from_slice(br#","result":"#);
    result.reserve(start.len() + 2);
    result.splice(..0, start);
    result.extend_from_slice(b"}\n");
    result
}

/// Encodes a response with an error. Without an id the member is left out, since MCP has no null ids.
pub fn error(id: Option<&RequestId>, error: &ErrorObject) -> Vec<u8> {
    #[derive(Serialize)]
    struct ErrorResponse<'a> {
        jsonrpc: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a RequestId>,
        error: &'a ErrorObject,
    }
    line(&ErrorResponse { jsonrpc: "2.0", id, error })
}

/// Encodes a request of the server.
pub fn request(id: &RequestId, method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Request<'a, P> {
        jsonrpc: &'static str,
        id: &'a RequestId,
        method: &'a str,
        params: &'a P,
    }
    line(&Request { jsonrpc: "2.0", id, method, params })
}

/// Encodes a notification.
pub fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Notification<'a, P> {
        jsonrpc: &'static str,
        method: &'a str,
        params: &'a P,
    }
    line(&Notification { jsonrpc: "2.0", method, params })
}

/// Encodes a notification whose parameters are encoded JSON.
pub fn notification_of(method: &str, params: &[u8]) -> Vec<u8> {
    let mut line = br#"{"jsonrpc":"2.0","method":"#.to_vec();
    write_json(&mut line, &method);
    line.extend_from_slice(br#","params":"#);
    line.extend_from_slice(params);
    line.extend_from_slice(b"}\n");
    line
}

/// Joins the lines of several responses into the one array that answers a batch.
pub fn batch(responses: &[Vec<u8>]) -> Vec<u8> {
    let objects: Vec<&[u8]> = responses.iter().map(|line| line.strip_suffix(b"\n").unwrap_or(line)).collect();
    let mut line = vec![b'['];
    line.extend_from_slice(&objects.join(&b','));
    line.extend_from_slice(b"]\n");
    line
}

/// Encodes a value of ours as JSON.
pub fn to_json(value: &impl Serialize) -> Vec<u8> {
    let mut json = Vec::with_capacity(256);
    write_json(&mut json, value);
    json
}

fn write_json(json: &mut Vec<u8>, value: &impl Serialize) {
    let start = json.len();
    // Only a map with keys that are not strings, or a failing Serialize, can fail here; our values have neither.
    if serde_json::to_writer(&mut *json, value).is_err() {
        json.truncate(start);
        json.extend_from_slice(b"null");
    }
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = to_json(value);
    line.push(b'\n');
    line
}
