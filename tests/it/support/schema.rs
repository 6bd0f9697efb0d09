//! The official JSON schemas of MCP, read from `../shared/schema` or `MCP_SCHEMA_DIR`; the project does not hold them.
//!
//! What the schemas leave open is closed here for the objects that the server makes: a key that a revision does not
//! know is a mistake there (`title` before 2025-06-18), though its schema would let it pass.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, OnceLock};

use jsonschema::Validator;
use serde_json::{Value, json};

/// The released revisions, the oldest first.
pub const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN];

/// The revision without a handshake.
pub const MODERN: &str = "2026-07-28";

/// The extension for tasks, which stands beside the revisions.
pub const TASKS: &str = "ext-tasks";

/// Objects that the server makes, whose keys must all be known. `Result` is not among them: others refer to it.
const CLOSED: [&str; 31] = [
    "CallToolResult",
    "CompleteResult",
    "CreateTaskResult",
    "DiscoverResult",
    "GetPromptResult",
    "Implementation",
    "InitializeResult",
    "InputRequiredResult",
    "JSONRPCError",
    "JSONRPCErrorResponse",
    "JSONRPCNotification",
    "JSONRPCResponse",
    "JSONRPCResultResponse",
    "ListPromptsResult",
    "ListTasksResult",
    "ListToolsResult",
    "LoggingMessageNotification",
    "LoggingMessageNotificationParams",
    "ProgressNotification",
    "ProgressNotificationParams",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "ServerCapabilities",
    "SubscriptionsAcknowledgedNotificationParams",
    "SubscriptionsListenResult",
    "Task",
    "TextContent",
    "Tool",
    "ToolAnnotations",
    "ToolExecution",
];

/// One revision's schema.
pub struct Schema {
    pub revision: &'static str,
    keyword: &'static str,
    document: Value,
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Schema {
    /// The schema of a revision; `None` where the schemas are missing, which is said once on stderr.
    ///
    /// # Panics
    /// Where the schemas are missing though `MCP_SCHEMA_DIR` is set, or in CI (`CI=true`) though `../shared` exists:
    /// the check must run there.
    pub fn of(revision: &str) -> Option<&'static Self> {
        static SCHEMAS: OnceLock<Vec<Schema>> = OnceLock::new();
        static MISSING: Once = Once::new();
        let schemas = SCHEMAS.get_or_init(|| match directory() {
            Some(directory) => {
                REVISIONS.iter().chain([&TASKS]).map(|revision| Self::read(&directory, revision)).collect()
            }
            None => Vec::new(),
        });
        if schemas.is_empty() {
            MISSING.call_once(|| {
                // Not `eprintln`, which the test runner keeps to itself where tests pass.
                let text = "the official MCP schemas are missing, so messages were not validated against them";
                writeln!(std::io::stderr(), "{text}; expected ../shared/schema or MCP_SCHEMA_DIR").ok();
            });
        }
        schemas.iter().find(|schema| schema.revision == revision)
    }

    fn read(directory: &Path, revision: &'static str) -> Self {
        let path = directory.join(revision).join("schema.json");
        let text = fs::read(&path).unwrap_or_else(|error| panic!("can't read {}: {error}", path.display()));
        let mut document: Value = serde_json::from_slice(&text).expect("a schema is JSON");
        let keyword = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
        for name in CLOSED {
            if let Some(definition) = document[keyword].get_mut(name) {
                close(definition);
            }
        }
        Self { revision, keyword, document, compiled: Mutex::default() }
    }

    fn definitions(&self) -> &serde_json::Map<String, Value> {
        self.document[self.keyword].as_object().expect("definitions are an object")
    }

    /// The name of the definition whose `method` is this one, among those that end with `Request` or `Notification`.
    pub fn definition_for_method(&self, method: &str, suffix: &str) -> Option<&str> {
        let is_it = |(name, definition): &(&String, &Value)| {
            name.ends_with(suffix) && definition["properties"]["method"]["const"] == method
        };
        self.definitions().iter().find(is_it).map(|(name, _)| name.as_str())
    }

    /// What the answer to this method must be; `EmptyResult` where the method has no result of its own, `None` where
    /// the revision does not know the method.
    pub fn result_for_method(&self, method: &str) -> Option<String> {
        let request = self.definition_for_method(method, "Request")?;
        let result = format!("{}Result", request.trim_end_matches("Request"));
        Some(if self.definitions().contains_key(&result) { result } else { "EmptyResult".to_owned() })
    }

    /// What is wrong with a value by the first of these definitions that the revision has; nothing where it is valid.
    pub fn problems(&self, definitions: &[&str], value: &Value) -> Vec<String> {
        let Some(name) = definitions.iter().find(|name| self.definitions().contains_key(**name)) else {
            return vec![format!("{} has no definition {definitions:?}", self.revision)];
        };
        let validator = self.validator(name);
        let problem = |error: jsonschema::ValidationError<'_>| {
            format!("by {name} of {} at `{}`: {error}", self.revision, error.instance_path())
        };
        validator.iter_errors(value).map(problem).collect()
    }

    fn validator(&self, name: &str) -> Arc<Validator> {
        let mut compiled = self.compiled.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let compile = || {
            let schema = json!({
                "$schema": self.document["$schema"],
                // Old drafts ignore what stands beside a `$ref`.
                "allOf": [{"$ref": format!("#/{}/{name}", self.keyword)}],
                self.keyword: self.document[self.keyword],
            });
            Arc::new(jsonschema::validator_for(&schema).expect("an official schema compiles"))
        };
        Arc::clone(compiled.entry(name.to_owned()).or_insert_with(compile))
    }
}

/// Forbids unknown keys in an object, and in the parameters of a notification that stand within it.
fn close(definition: &mut Value) {
    if definition["properties"]["params"].get("properties").is_some() {
        close(&mut definition["properties"]["params"]);
    }
    if definition["properties"].get("method").is_some() && definition["properties"].get("jsonrpc").is_none() {
        // Old revisions leave it to the definition of the envelope.
        definition["properties"]["jsonrpc"] = json!({"const": "2.0"});
    }
    let open = definition.get("additionalProperties").is_none();
    if open && definition.get("properties").is_some() && definition.get("allOf").is_none() {
        definition["additionalProperties"] = json!(false);
    }
}

fn directory() -> Option<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let named = std::env::var_os("MCP_SCHEMA_DIR");
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true") && shared.is_dir();
    let must_run = in_ci || named.is_some();
    let directory = named.map_or_else(|| shared.join("schema"), PathBuf::from);
    let there = directory.join(MODERN).join("schema.json").is_file();
    assert!(there || !must_run, "the schemas must be in {}", directory.display());
    there.then_some(directory)
}
