//! Tools: what a client can call, and what it gets for it.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Revision, meta};

/// A tool in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// For programs: `^[a-zA-Z0-9_-]{1,64}$`, which every client takes.
    pub name: String,
    /// For people; left out before 2025-06-18.
    pub title: String,
    /// For the model.
    pub description: String,
    /// A JSON Schema 2020-12 of the arguments, an object without `$schema`.
    pub input_schema: Value,
    /// A JSON Schema of `structuredContent`, where results have it; left out before 2025-06-18.
    pub output_schema: Option<Value>,
    /// Hints; left out before 2025-03-26.
    pub annotations: ToolAnnotations,
}

/// Hints about what a tool may do; no promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolAnnotations {
    /// It changes nothing.
    pub read_only: bool,
    /// It may change or remove what is there.
    pub destructive: bool,
    /// To call it again changes nothing more.
    pub idempotent: bool,
    /// It may deal with the world outside of the server.
    pub open_world: bool,
}

impl Tool {
    /// The entry of the list for a client of this revision.
    pub fn to_value(&self, revision: Revision) -> Value {
        let mut entry = json!({"name": self.name, "description": self.description, "inputSchema": self.input_schema});
        let Value::Object(members) = &mut entry else { return entry };
        if revision.has_titles() {
            members.insert("title".into(), json!(self.title));
        }
        if revision.has_annotations() {
            members.insert("annotations".into(), self.annotations.to_value(&self.title));
        }
        if let (Some(schema), true) = (&self.output_schema, revision.has_structured_content()) {
            members.insert("outputSchema".into(), schema.clone());
        }
        entry
    }
}

impl ToolAnnotations {
    fn to_value(self, title: &str) -> Value {
        json!({
            "title": title,
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        })
    }
}

/// What a call of a tool comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct CallToolResult {
    /// The one content block; complete by itself.
    pub text: String,
    /// The same for programs, by the tool's output schema.
    pub structured_content: Option<Value>,
    /// Whether the call failed, so that a model can see it and adapt.
    pub is_error: bool,
}

impl CallToolResult {
    /// A failure, told in one sentence.
    pub fn error(sentence: impl Into<String>) -> Self {
        Self { text: sentence.into(), structured_content: None, is_error: true }
    }

    /// The result as JSON for a client of this revision.
    pub fn for_revision(&self, revision: Revision) -> impl Serialize {
        ForRevision { result: self, revision }
    }
}

struct ForRevision<'a> {
    result: &'a CallToolResult,
    revision: Revision,
}

impl Serialize for ForRevision<'_> {
    /// By hand, since a result of ten megabytes is not to be copied for its envelope's sake.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct TextContent<'a> {
            r#type: &'static str,
            text: &'a str,
        }
        let Self { result, revision } = self;
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("content", &[TextContent { r#type: "text", text: &result.text }])?;
        if let (Some(structured), true) = (&result.structured_content, revision.has_structured_content()) {
            members.serialize_entry("structuredContent", structured)?;
        }
        members.serialize_entry("isError", &result.is_error)?;
        if revision.is_modern() {
            members.serialize_entry("resultType", "complete")?;
            members.serialize_entry("_meta", &meta::server_meta())?;
        }
        members.end()
    }
}
