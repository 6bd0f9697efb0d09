//! Hides the difference between the eras: finds out which revision a request uses, and what its client declared.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::jsonrpc::{ErrorObject, INVALID_PARAMS, METHOD_NOT_FOUND, Request};
use crate::mcp::{Implementation, InitializeParams, LoggingLevel, ProgressToken, RequestMeta, Revision, TraceContext};
use crate::policy::quoted;

/// The properties of a request in addition to its parameters, in either era.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestContext {
    /// The revision in which the answer must be valid.
    pub revision: Revision,
    /// The capabilities that the client declared.
    pub client_capabilities: Arc<Map<String, Value>>,
    /// The name that the client gives itself, which proves nothing.
    pub client_info: Option<Arc<Implementation>>,
    /// The token for progress notifications; without it there are none.
    pub progress_token: Option<ProgressToken>,
    /// The lowest level of the messages that the client wants about the request; without it there are none.
    pub log_level: Option<LoggingLevel>,
    /// The client's trace context for the request.
    pub trace: TraceContext,
}

/// The state of the client between requests: nothing, or its handshake.
#[derive(Debug, Default)]
pub struct Session {
    handshake: Option<Handshake>,
    /// The number of handshakes so far. A call that came before the last one is neither asked about nor begun in the background.
    pub number: u64,
}

/// How much of the client's session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionEnd {
    /// The session before a new handshake.
    Handshake,
    /// The input; calls may go on until their own deadlines.
    Input,
    /// All of the session.
    Client,
}

#[derive(Debug)]
struct Handshake {
    revision: Revision,
    capabilities: Arc<Map<String, Value>>,
    client_info: Option<Arc<Implementation>>,
    /// The level of the last `logging/setLevel`.
    log_level: Option<LoggingLevel>,
}

/// How a request is to be served.
#[derive(Debug, PartialEq)]
pub enum Served {
    /// As an `initialize`, with the negotiated revision.
    Handshake(Revision),
    /// As a request like any other.
    Request(RequestContext),
    /// As a `ping` before the handshake.
    EarlyPing,
}

impl Session {
    /// The revision that the handshake chose.
    pub fn revision(&self) -> Option<Revision> {
        self.handshake.as_ref().map(|handshake| handshake.revision)
    }

    /// Sets the lowest level of messages for a legacy client.
    pub fn set_log_level(&mut self, level: LoggingLevel) {
        if let Some(handshake) = &mut self.handshake {
            handshake.log_level = Some(level);
        }
    }

    /// Returns the capabilities that the client declared in the handshake; `None` before it.
    pub fn client_capabilities(&self) -> Option<&Map<String, Value>> {
        self.handshake.as_ref().map(|handshake| &*handshake.capabilities)
    }

    /// Decides which era a request belongs to: by the request itself, and only then by what came before.
    ///
    /// # Errors
    /// The error object for a request that fits neither era.
    pub fn receive(&mut self, request: &Request) -> Result<Served, ErrorObject> {
        let meta = RequestMeta::of(&request.params);
        if meta.is_modern() {
            return modern(request, meta);
        }
        if request.method == "initialize" {
            return self.initialize(request);
        }
        let Some(handshake) = &self.handshake else {
            return if request.method == "ping" { Ok(Served::EarlyPing) } else { Err(neither(&request.method)) };
        };
        Ok(Served::Request(RequestContext {
            revision: handshake.revision,
            client_capabilities: Arc::clone(&handshake.capabilities),
            client_info: handshake.client_info.clone(),
            progress_token: meta.progress_token(),
            log_level: handshake.log_level,
            trace: meta.trace_context(),
        }))
    }

    /// The client that made the handshake.
    pub(super) fn client_info(&self) -> Option<&Arc<Implementation>> {
        self.handshake.as_ref()?.client_info.as_ref()
    }

    fn initialize(&mut self, request: &Request) -> Result<Served, ErrorObject> {
        let Some(params) = InitializeParams::from_params(&request.params) else {
            return Err(ErrorObject::invalid_params("`initialize` needs `protocolVersion`, a string"));
        };
        let revision = Revision::negotiate(&params.protocol_version);
        let client_info = params.client_info.and_then(kept);
        let capabilities = params.capabilities.into();
        self.handshake = Some(Handshake { revision, capabilities, client_info, log_level: None });
        Ok(Served::Handshake(revision))
    }
}

fn modern(request: &Request, meta: RequestMeta<'_>) -> Result<Served, ErrorObject> {
    let envelope =
        meta.envelope().map_err(|error| ErrorObject { code: error.code, message: error.message, data: error.data })?;
    if request.method == "initialize" {
        let message = "`initialize` does not exist in the protocol version that the request names; send requests with their \
                       metadata, or `initialize` without it";
        return Err(ErrorObject::new(METHOD_NOT_FOUND, message));
    }
    Ok(Served::Request(RequestContext {
        revision: envelope.revision,
        client_capabilities: envelope.client_capabilities.into(),
        client_info: envelope.client_info.and_then(kept),
        progress_token: meta.progress_token(),
        log_level: envelope.log_level,
        trace: meta.trace_context(),
    }))
}

/// The longest name or version of a client that is kept, in bytes.
const LONGEST_NAME: usize = 1024;

fn kept(client: Implementation) -> Option<Arc<Implementation>> {
    let is_short = client.name.len() + client.version.len() <= LONGEST_NAME;
    is_short.then(|| Arc::new(Implementation { title: None, ..client }))
}

fn neither(method: &str) -> ErrorObject {
    let names =
        |revisions: &mut dyn Iterator<Item = Revision>| revisions.map(Revision::name).collect::<Vec<_>>().join(", ");
    ErrorObject::new(
        INVALID_PARAMS,
        format!(
            "{} came without a protocol version: send `initialize` first ({}), or name the version in \
             `_meta[\"io.modelcontextprotocol/protocolVersion\"]` of each request ({})",
            quoted(method),
            names(&mut Revision::legacy()),
            names(&mut Revision::modern())
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Incoming, Message};
    use serde_json::json;

    fn receive(session: &mut Session, method: &str, params: Value) -> String {
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let Ok(Incoming::Single(Message::Request(request))) = Incoming::parse(line.as_bytes()) else {
            panic!("{line}")
        };
        match session.receive(&request) {
            Ok(Served::Handshake(revision)) => format!("handshake {revision}"),
            Ok(Served::Request(context)) => format!("request of {}", context.revision),
            Ok(Served::EarlyPing) => "early ping".to_owned(),
            Err(error) => format!("{} {}", error.code, error.data.unwrap_or_default()),
        }
    }

    fn meta(version: Value) -> Value {
        json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}
        }})
    }

    #[test]
    fn each_request_is_served_as_what_it_says_it_is() {
        let mut session = Session::default();
        assert_eq!(receive(&mut session, "ping", json!({})), "early ping");
        assert_eq!(receive(&mut session, "tools/list", json!({})), "-32602 null");
        assert_eq!(receive(&mut session, "server/discover", json!({})), "-32602 null");
        assert_eq!(receive(&mut session, "server/discover", meta(json!("2026-07-28"))), "request of 2026-07-28");
        assert_eq!(receive(&mut session, "tools/list", json!({})), "-32602 null");
        assert_eq!(receive(&mut session, "initialize", json!({})), "-32602 null");
        assert_eq!(
            receive(&mut session, "initialize", json!({"protocolVersion": "2025-03-26"})),
            "handshake 2025-03-26"
        );
        assert_eq!(receive(&mut session, "tools/list", json!({})), "request of 2025-03-26");
        assert_eq!(receive(&mut session, "tools/list", meta(json!("2026-07-28"))), "request of 2026-07-28");
        assert_eq!(receive(&mut session, "initialize", meta(json!("2026-07-28"))), "-32601 null");
        for version in ["2025-11-25", "1.0"] {
            let expected = json!({"supported": ["2026-07-28"], "requested": version});
            assert_eq!(receive(&mut session, "tools/list", meta(json!(version))), format!("-32022 {expected}"));
        }
        assert_eq!(receive(&mut session, "tools/list", meta(json!(5))), "-32602 null");
        let without = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
        assert_eq!(receive(&mut session, "tools/list", without), "-32602 null");
    }
}
