//! The handshake, the discovery, and the names of client and server.

use serde_json::{Map, Value, json};

use super::{Caching, Revision, seal};

/// The name of the extension for tasks.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The name and version of a client or server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Implementation {
    /// For programs.
    pub name: String,
    /// For people; left out before 2025-06-18.
    pub title: Option<String>,
    /// Of the software, not of the protocol.
    pub version: String,
}

impl Implementation {
    /// This server.
    pub fn of_this_server() -> Self {
        Self {
            name: env!("CARGO_PKG_NAME").to_owned(),
            title: Some("allowexec".to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Reads the name and version; `None` if one is missing.
    pub fn from_value(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self { name: text("name")?, title: text("title"), version: text("version")? })
    }

    /// The object for a client of this revision.
    pub fn to_value(&self, revision: Revision) -> Value {
        let mut value = json!({"name": self.name, "version": self.version});
        if let (Some(title), true, Value::Object(members)) = (&self.title, revision.has_titles(), &mut value) {
            members.insert("title".into(), json!(title));
        }
        value
    }
}

/// The parameters of `initialize`, as far as they matter.
#[derive(Debug, Clone, PartialEq)]
pub struct InitializeParams {
    /// The revision that the client asks for.
    pub protocol_version: String,
    /// The capabilities of the client, as far as they matter; empty if it declares none.
    pub capabilities: Map<String, Value>,
    /// The client's name for itself.
    pub client_info: Option<Implementation>,
}

impl InitializeParams {
    /// Reads them; `None` if `protocolVersion` is not a string.
    pub fn from_params(params: &Map<String, Value>) -> Option<Self> {
        Some(Self {
            protocol_version: params.get("protocolVersion")?.as_str()?.to_owned(),
            capabilities: params.get("capabilities").and_then(Value::as_object).map(relevant).unwrap_or_default(),
            client_info: params.get("clientInfo").and_then(Implementation::from_value),
        })
    }
}

/// The only capabilities of a client that matter: whether it has roots, shows forms, and accepts tasks. The rest is not
/// kept, since it could be long.
pub(super) fn relevant(capabilities: &Map<String, Value>) -> Map<String, Value> {
    let roots = super::has_roots(capabilities).then(|| ("roots".to_owned(), json!({})));
    let elicitation =
        super::has_form_elicitation(capabilities).then(|| ("elicitation".to_owned(), json!({"form": {}})));
    let tasks = takes_tasks(capabilities).then(|| ("extensions".to_owned(), json!({TASKS_EXTENSION: {}})));
    roots.into_iter().chain(elicitation).chain(tasks).collect()
}

/// Whether calls can become tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSupport {
    /// Never.
    Forbidden,
    /// Some can, in the revisions that have tasks.
    Optional,
}

/// Returns the capabilities of the server. The lists never change while it runs, so it declares no `listChanged`.
fn server_capabilities(revision: Revision, tasks: TaskSupport) -> Value {
    let mut capabilities = json!({"logging": {}, "prompts": {}, "tools": {}});
    if let (true, Value::Object(members)) = (revision.has_completions(), &mut capabilities) {
        members.insert("completions".into(), json!({}));
    }
    if let (TaskSupport::Optional, Value::Object(members)) = (tasks, &mut capabilities) {
        if revision.has_tasks() {
            members.insert("tasks".into(), json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}));
        }
        if revision.is_modern() {
            members.insert("extensions".into(), json!({TASKS_EXTENSION: {}}));
        }
    }
    capabilities
}

/// The result of `initialize` in the revision that was chosen.
pub fn initialize_result(revision: Revision, instructions: &str, tasks: TaskSupport) -> Value {
    json!({
        "protocolVersion": revision.name(),
        "capabilities": server_capabilities(revision, tasks),
        "serverInfo": Implementation::of_this_server().to_value(revision),
        "instructions": instructions,
    })
}

/// The result of `server/discover`.
pub fn discover_result(revision: Revision, instructions: &str, tasks: TaskSupport) -> Value {
    let supported: Vec<&str> = Revision::modern().map(Revision::name).collect();
    let result = json!({
        "supportedVersions": supported,
        "capabilities": server_capabilities(revision, tasks),
        "instructions": instructions,
    });
    seal(result, revision, Caching::Cacheable)
}

/// Whether a client with these capabilities accepts tasks instead of results (2026-07-28).
pub fn takes_tasks(client_capabilities: &Map<String, Value>) -> bool {
    let extensions = client_capabilities.get("extensions");
    extensions.and_then(|extensions| extensions.get(TASKS_EXTENSION)).is_some_and(Value::is_object)
}
