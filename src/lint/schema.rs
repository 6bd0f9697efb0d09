//! The part of JSON Schema that the official schemas of MCP use.
//!
//! A full validator would bring more crates than the rest of the program has. A keyword that is not known here makes
//! the schema an error, so that nothing is called valid that was not checked. `format` is an annotation, as in the
//! drafts themselves.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use thiserror::Error;

/// Keywords that do not affect whether a value is valid.
const ANNOTATIONS: [&str; 7] = ["$schema", "$comment", "title", "description", "default", "examples", "format"];
/// The result for a request of the modern era that needs the client's input first.
const INPUT_REQUIRED: &str = "InputRequiredResult";
/// The result for a request that has become a task.
const CREATE_TASK: &str = "CreateTaskResult";
/// How deep references are followed within one value.
const DEEPEST: usize = 200;

/// Why a schema can't be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is not JSON.
    #[error("it is not JSON")]
    NoJson {
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// It has no definitions.
    #[error("expected `$defs` or `definitions` in it")]
    NoDefinitions,
    /// It uses an unknown keyword.
    #[error("it uses the keyword `{keyword}`, which is not known")]
    UnknownKeyword {
        /// The keyword.
        keyword: String,
    },
}

/// The schema of one revision.
#[derive(Debug, Clone)]
pub struct Schema {
    definitions: Map<String, Value>,
}

/// The place of a fault in a value, as a JSON pointer, and its description.
pub(super) type Fault = (String, String);

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// [`SchemaError`], even if only a part can't be understood.
    pub fn parse(text: &[u8]) -> Result<Self, SchemaError> {
        let document: Value = serde_json::from_slice(text).map_err(|source| SchemaError::NoJson { source })?;
        let definitions = document.get("$defs").or_else(|| document.get("definitions"));
        let definitions = definitions.and_then(Value::as_object).cloned().ok_or(SchemaError::NoDefinitions)?;
        definitions.values().try_for_each(check)?;
        Ok(Self { definitions })
    }

    /// Adds the definitions of an extension, such as that for tasks. What both define is the revision's.
    #[must_use]
    pub fn extended_by(mut self, extension: &Self) -> Self {
        for (name, definition) in &extension.definitions {
            self.definitions.entry(name.as_str()).or_insert_with(|| definition.clone());
        }
        self
    }

    /// The name of the request's or notification's definition with this method. An extension has it in a part of its own.
    pub(super) fn of_method(&self, method: &str) -> Option<&str> {
        let says_so = |part: &Value| part.pointer("/properties/method/const").and_then(Value::as_str) == Some(method);
        let is_it = |definition: &Value| {
            says_so(definition) || definition.get("allOf").is_some_and(|parts| items(parts).iter().any(says_so))
        };
        let found = self.definitions.iter().find(|(_, definition)| is_it(definition));
        found.map(|(name, _)| name.as_str())
    }

    /// The name of the definition of what answers this method, where there is one: the method's own, or that of a result which
    /// asks for more input first, or says that the request has become a task.
    pub(super) fn of_result(&self, method: &str, result: &Value) -> Option<String> {
        let asks = result.get("resultType").and_then(Value::as_str) == Some("input_required");
        if asks && self.definitions.contains_key(INPUT_REQUIRED) {
            return Some(INPUT_REQUIRED.to_owned());
        }
        let is_task = match result.get("resultType") {
            Some(kind) => kind == "task",
            None => method == "tools/call" && result.get("task").is_some_and(Value::is_object),
        };
        if is_task {
            // In 2026-07-28 tasks are an extension, which may be unknown here.
            return self.definitions.contains_key(CREATE_TASK).then(|| CREATE_TASK.to_owned());
        }
        let result = format!("{}Result", self.of_method(method)?.strip_suffix("Request")?);
        let empty = || self.definitions.contains_key("EmptyResult").then(|| "EmptyResult".to_owned());
        if self.definitions.contains_key(&result) { Some(result) } else { empty() }
    }

    /// The first of these names that is a definition.
    pub(super) fn first<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|name| self.definitions.contains_key(*name))
    }

    /// Returns the first fault of a value according to a definition.
    pub(super) fn fault(&self, definition: &str, value: &Value) -> Option<Fault> {
        let Some(schema) = self.definitions.get(definition) else {
            return Some((String::new(), format!("the schema has no `{definition}`")));
        };
        self.validate(schema, value, String::new(), 0).err()
    }

    fn validate(&self, schema: &Value, value: &Value, at: String, depth: usize) -> Result<(), Fault> {
        let keywords = match schema {
            Value::Object(keywords) if depth < DEEPEST => keywords,
            Value::Bool(true) => return Ok(()),
            _ => return Err((at, "nothing may stand here".to_owned())),
        };
        for (keyword, rule) in keywords {
            match keyword.as_str() {
                "$ref" => {
                    let name = rule.as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
                    let Some(schema) = self.definitions.get(name) else {
                        return Err((at, format!("the schema has no `{name}`")));
                    };
                    self.validate(schema, value, at.clone(), depth + 1)?;
                }
                "allOf" => {
                    for schema in items(rule) {
                        self.validate(schema, value, at.clone(), depth + 1)?;
                    }
                }
                "anyOf" | "oneOf" => self.any(items(rule), value, &at, depth)?,
                "properties" => {
                    for (name, schema) in rule.as_object().into_iter().flatten() {
                        if let Some(member) = value.get(name) {
                            self.validate(schema, member, below(&at, name), depth + 1)?;
                        }
                    }
                }
                "additionalProperties" => {
                    let known = keywords.get("properties").and_then(Value::as_object);
                    for (name, member) in value.as_object().into_iter().flatten() {
                        if !known.is_some_and(|known| known.contains_key(name)) {
                            self.validate(rule, member, below(&at, name), depth + 1)?;
                        }
                    }
                }
                "not" if self.validate(rule, value, at.clone(), depth + 1).is_ok() => {
                    return Err((at, format!("nothing of this kind may stand here, found {}", shown(value))));
                }
                "propertyNames" => {
                    for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
                        self.validate(rule, &Value::from(name.as_str()), below(&at, name), depth + 1)?;
                    }
                }
                "items" => {
                    for (index, item) in items(value).iter().enumerate() {
                        self.validate(rule, item, below(&at, &index.to_string()), depth + 1)?;
                    }
                }
                keyword => simple(keyword, rule, value).map_err(|why| (at.clone(), why))?,
            }
        }
        Ok(())
    }

    /// Checks that one of the alternatives fits. The fault is that of the alternative that fits furthest.
    fn any(&self, alternatives: &[Value], value: &Value, at: &str, depth: usize) -> Result<(), Fault> {
        let mut nearest: Option<Fault> = None;
        for schema in alternatives {
            match self.validate(schema, value, at.to_owned(), depth + 1) {
                Ok(()) => return Ok(()),
                Err(fault) if nearest.as_ref().is_none_or(|nearest| fault.0.len() > nearest.0.len()) => {
                    nearest = Some(fault);
                }
                Err(_) => {}
            }
        }
        Err(nearest.unwrap_or_else(|| (at.to_owned(), "no alternative is left".to_owned())))
    }
}

/// Whether every keyword is known, at any depth.
fn check(schema: &Value) -> Result<(), SchemaError> {
    const SIMPLE: [&str; 10] =
        ["type", "const", "enum", "required", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"];
    for (keyword, rule) in schema.as_object().into_iter().flatten() {
        match keyword.as_str() {
            "properties" => rule.as_object().into_iter().flatten().try_for_each(|(_, schema)| check(schema))?,
            "items" | "additionalProperties" | "propertyNames" | "not" => check(rule)?,
            "anyOf" | "oneOf" | "allOf" => items(rule).iter().try_for_each(check)?,
            "$ref" => {}
            keyword if SIMPLE.contains(&keyword) || ANNOTATIONS.contains(&keyword) => {}
            _ => return Err(SchemaError::UnknownKeyword { keyword: keyword.clone() }),
        }
    }
    Ok(())
}

/// The keywords that look only at the value.
fn simple(keyword: &str, rule: &Value, value: &Value) -> Result<(), String> {
    let length = |value: &Value| match value {
        Value::String(text) => Some(text.chars().count()),
        Value::Array(items) => Some(items.len()),
        _ => None,
    };
    let bound = rule.as_f64().unwrap_or_default();
    let number = match keyword {
        "minItems" | "maxItems" if value.is_array() => length(value).map(|length| length as f64),
        "minLength" | "maxLength" if value.is_string() => length(value).map(|length| length as f64),
        "minimum" | "maximum" => value.as_f64(),
        _ => None,
    };
    let holds = match keyword {
        "type" => match rule {
            Value::Array(names) => names.iter().any(|name| is_of(name, value)),
            name => is_of(name, value),
        },
        "const" => rule == value,
        "enum" => items(rule).contains(value),
        "required" => {
            let has: BTreeSet<&str> = value.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            let mut names = items(rule).iter().filter_map(Value::as_str);
            let missing = if value.is_object() { names.find(|name| !has.contains(name)) } else { None };
            return missing.map_or(Ok(()), |name| Err(format!("`{name}` is missing")));
        }
        "minimum" | "minItems" | "minLength" => number.is_none_or(|number| number >= bound),
        "maximum" | "maxItems" | "maxLength" => number.is_none_or(|number| number <= bound),
        _ => true,
    };
    match (holds, keyword) {
        (true, _) => Ok(()),
        (false, "type") => Err(format!("expected the type {rule}, found {}", shown(value))),
        (false, "const" | "enum") => Err(format!("expected {rule}, found {}", shown(value))),
        (false, _) => Err(format!("expected {keyword} {rule}, found {}", shown(value))),
    }
}

fn is_of(name: &Value, value: &Value) -> bool {
    match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("string") => value.is_string(),
        _ => false,
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn below(at: &str, step: &str) -> String {
    format!("{at}/{}", step.replace('~', "~0").replace('/', "~1"))
}

pub(super) fn shown(value: &Value) -> String {
    let text = value.to_string();
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(80).collect();
    if characters.next().is_some() { format!("{start}…") } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_with_a_task_is_judged_as_one() {
        let call = json!({"properties": {"method": {"const": "tools/call"}}});
        let old = json!({"$defs": {"CallToolRequest": call, "CallToolResult": {}, "CreateTaskResult": {}}});
        let new = json!({"$defs": {"CallToolRequest": call, "CallToolResult": {}}});
        let [old, new] = [old, new].map(|schema| Schema::parse(schema.to_string().as_bytes()).unwrap());
        let judged_by = |schema: &Schema, result: Value| schema.of_result("tools/call", &result);
        assert_eq!(judged_by(&old, json!({"task": {}})).as_deref(), Some("CreateTaskResult"));
        assert_eq!(judged_by(&old, json!({"content": []})).as_deref(), Some("CallToolResult"));
        assert_eq!(judged_by(&new, json!({"resultType": "task", "taskId": "x"})), None);
        assert_eq!(judged_by(&new, json!({"resultType": "complete", "task": {}})).as_deref(), Some("CallToolResult"));
    }

    #[test]
    fn an_extension_adds_its_methods_and_changes_none_of_the_revisions() {
        let schema = |definitions: Value| Schema::parse(json!({"$defs": definitions}).to_string().as_bytes()).unwrap();
        let method = |name: &str| json!({"properties": {"method": {"const": name}}});
        let base = schema(json!({"PingRequest": method("ping"), "Result": {"required": ["a"]}}));
        let extension =
            schema(json!({"GetTaskRequest": {"allOf": [{}, method("tasks/get")]}, "GetTaskResult": {}, "Result": {}}));
        assert_eq!((base.of_method("tasks/get"), base.of_method("ping")), (None, Some("PingRequest")));
        let both = base.extended_by(&extension);
        assert_eq!(
            (both.of_method("tasks/get"), both.of_method("ping")),
            (Some("GetTaskRequest"), Some("PingRequest"))
        );
        assert_eq!(both.of_result("tasks/get", &json!({})).as_deref(), Some("GetTaskResult"));
        assert!(both.fault("Result", &json!({})).is_some());
    }

    #[test]
    fn the_known_keywords_hold_and_others_are_refused() {
        let schema = json!({"$defs": {
            "A": {"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}, "properties": {
                "a": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": ["integer", "null"], "minimum": 2, "maximum": 3}]},
                "c": {"const": 1}, "e": {"enum": ["x", "y"]}, "l": {"type": "array", "items": {"type": "number"}, "maxItems": 2},
                "o": {"allOf": [{"$ref": "#/$defs/B"}, {"required": ["z"]}]}, "n": {"propertyNames": {"enum": ["x"]}}, "not": {"not": {}}}},
            "B": {"type": "object", "properties": {"b": {"type": "boolean"}}}}});
        let schema = Schema::parse(schema.to_string().as_bytes()).unwrap();
        let check = |value: Value, expected: Option<&str>| {
            let fault = schema.fault("A", &value).map(|(at, why)| format!("{at}: {why}"));
            assert_eq!(fault.as_deref(), expected, "{value}");
        };
        for valid in [
            json!({"a": 2}),
            json!({"a": 3.0}),
            json!({"a": null}),
            json!({"a": {}, "x": "y"}),
            json!({"a": {"b": true}, "l": [1, 2.5]}),
        ] {
            check(valid, None);
        }
        check(json!({}), Some(": `a` is missing"));
        check(json!([]), Some(": expected the type \"object\", found []"));
        check(json!({"a": {"b": 1}}), Some("/a/b: expected the type \"boolean\", found 1"));
        check(json!({"a": 2, "x": 1}), Some("/x: expected the type \"string\", found 1"));
        check(json!({"a": 2, "c": 2}), Some("/c: expected 1, found 2"));
        check(json!({"a": 2, "e": "z"}), Some("/e: expected [\"x\",\"y\"], found \"z\""));
        check(json!({"a": 2, "l": [1, 2, 3]}), Some("/l: expected maxItems 2, found [1,2,3]"));
        check(json!({"a": 2, "l": ["a"]}), Some("/l/0: expected the type \"number\", found \"a\""));
        check(json!({"a": 2, "o": {}}), Some("/o: `z` is missing"));
        check(json!({"a": 2, "n": {"x": 1}}), None);
        check(json!({"a": 2, "not": 1}), Some("/not: nothing of this kind may stand here, found 1"));
        check(json!({"a": 2, "n": {"y": 1}}), Some("/n/y: expected [\"x\"], found \"y\""));
        assert!(schema.fault("A", &json!({"a": 4})).is_some() && schema.fault("A", &json!({"a": 2.5})).is_some());
        let other = json!({"definitions": {"A": {"properties": {"a": {"pattern": "x"}}}}});
        let error = Schema::parse(other.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "it uses the keyword `pattern`, which is not known");
    }
}
