//! Tools, which a client can call, and their results.

use serde_json::{Value, json};

use super::{Revision, TaskSupport, meta};
use crate::text::write_json_string;

/// A tool in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// For programs: `^[a-zA-Z0-9_-]{1,64}$`, which every client accepts.
    pub name: String,
    /// For people; left out before 2025-06-18.
    pub title: String,
    /// For the model.
    pub description: String,
    /// A JSON Schema 2020-12 of the arguments, an object without `$schema`.
    pub input_schema: Value,
    /// A JSON Schema of `structuredContent`, if results have it; left out before 2025-06-18.
    pub output_schema: Option<Value>,
    /// Hints; left out before 2025-03-26.
    pub annotations: ToolAnnotations,
    /// How many characters of a result a client should show, if that is more than clients show by default; left out
    /// before 2025-06-18.
    pub max_result_chars: Option<u64>,
    /// Whether a client may make a call a task; only sent in 2025-11-25.
    pub task_support: TaskSupport,
}

/// The key of `_meta` by which Claude Code learns how much of a result to show the model. It takes up to 500,000.
const MAX_RESULT_CHARS: &str = "anthropic/maxResultSizeChars";

/// Hints about what a tool may do, without guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolAnnotations {
    /// It changes nothing.
    pub read_only: bool,
    /// It may change or remove existing things.
    pub destructive: bool,
    /// Calling it again has no further effect.
    pub idempotent: bool,
    /// It may access the world outside the server.
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
            members.insert(
                "annotations".into(),
                self.annotations.to_value((!revision.has_titles()).then_some(&self.title)),
            );
        }
        if let (Some(characters), true) = (self.max_result_chars, revision.has_titles()) {
            members.insert("_meta".into(), json!({MAX_RESULT_CHARS: characters}));
        }
        if let (TaskSupport::Optional, true) = (self.task_support, revision.has_tasks()) {
            members.insert("execution".into(), json!({"taskSupport": "optional"}));
        }
        if let (Some(schema), true) = (&self.output_schema, revision.has_structured_content()) {
            members.insert("outputSchema".into(), schema.clone());
        }
        entry
    }
}

impl ToolAnnotations {
    /// The title is only here in a revision whose tools have none of their own.
    fn to_value(self, title: Option<&String>) -> Value {
        let mut hints = json!({
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        });
        if let (Some(hints), Some(title)) = (hints.as_object_mut(), title) {
            hints.insert("title".into(), json!(title));
        }
        hints
    }
}

/// The result of a tool call.
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
    /// An error result with one sentence.
    pub fn error(sentence: impl Into<String>) -> Self {
        Self { text: sentence.into(), structured_content: None, is_error: true }
    }

    /// The result as JSON for a client of this revision.
    pub fn encode(&self, revision: Revision) -> Vec<u8> {
        // Most texts need few escapes, about one for each line.
        let mut json = Vec::with_capacity(self.text.len() + self.text.len() / 16 + 256);
        json.extend_from_slice(br#"{"content":[{"type":"text","text":"#);
        write_json_string(&mut json, &self.text);
        json.extend_from_slice(b"}]");
        if let (Some(structured), true) = (&self.structured_content, revision.has_structured_content()) {
            json.extend_from_slice(br#","structuredContent":"#);
            json.extend_from_slice(structured.to_string().as_bytes());
        }
        json.extend_from_slice(if self.is_error { b",\"isError\":true".as_slice() } else { b",\"isError\":false" });
        if revision.is_modern() {
            json.extend_from_slice(br#","resultType":"complete","_meta":"#);
            json.extend_from_slice(meta::server_meta().to_string().as_bytes());
        }
        json.push(b'}');
        json
    }
}

/// Whether a result that [`CallToolResult::encode`] made for the legacy era is an error.
pub fn says_error(encoded: &[u8]) -> bool {
    encoded.ends_with(b"\"isError\":true}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_result_says_whether_it_is_an_error_whatever_its_text_says() {
        let text = "\"isError\":true}".to_owned();
        let structured_content = Some(json!({"stdout": text}));
        for is_error in [false, true] {
            let result =
                CallToolResult { text: text.clone(), structured_content: structured_content.clone(), is_error };
            assert_eq!(says_error(&result.encode(Revision::V2025_11_25)), is_error);
        }
    }
}
