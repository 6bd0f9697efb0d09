//! Prompts, which a client can offer to its user, and their results.

use serde_json::{Value, json};

use super::{Caching, Revision, seal};

/// A prompt in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// For programs.
    pub name: &'static str,
    /// For people; left out before 2025-06-18.
    pub title: &'static str,
    /// Its purpose.
    pub description: &'static str,
    /// Its arguments.
    pub arguments: &'static [PromptArgument],
}

/// One argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// For programs.
    pub name: &'static str,
    /// For people; left out before 2025-06-18.
    pub title: &'static str,
    /// Its meaning, for people.
    pub description: &'static str,
    /// Whether the prompt requires it.
    pub required: bool,
}

impl Prompt {
    /// The entry of the list for a client of this revision.
    pub fn to_value(&self, revision: Revision) -> Value {
        let arguments: Vec<Value> = self.arguments.iter().map(|argument| argument.to_value(revision)).collect();
        let mut entry = json!({"name": self.name, "description": self.description});
        if let Value::Object(members) = &mut entry {
            if revision.has_titles() {
                members.insert("title".into(), json!(self.title));
            }
            if !arguments.is_empty() {
                members.insert("arguments".into(), json!(arguments));
            }
        }
        entry
    }
}

impl PromptArgument {
    fn to_value(&self, revision: Revision) -> Value {
        let mut argument = json!({"name": self.name, "description": self.description, "required": self.required});
        if let (true, Value::Object(members)) = (revision.has_titles(), &mut argument) {
            members.insert("title".into(), json!(self.title));
        }
        argument
    }
}

/// The result of `prompts/get`: one message with the role `user` and this text.
pub fn prompt_result(description: &str, text: &str, revision: Revision) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    seal(json!({"description": description, "messages": [message]}), revision, Caching::Once)
}
