//! The JSON schema of policies, made of the loader's own [`keys`](super::keys), for editors. It accepts what the loader accepts. What only
//! the loader can see, it leaves to the loader: examples that don't hold, names of nothing, words that no rule may have.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::keys::{self, KINDS, Keys, Kinds, Takes};
use super::profiles;
use crate::text::{DURATION_PATTERN, SIZE_PATTERN, ZERO_PATTERN};

/// Returns the JSON schema (draft 7) of a policy.
pub(crate) fn schema() -> Value {
    let mut definitions = Definitions::default();
    let mut root = definitions.mapping(&keys::POLICY);
    for (key, value) in [
        ("$schema", json!("http://json-schema.org/draft-07/schema#")),
        ("title", json!("allowexec policy")),
        ("description", json!("Which commands may run, and with which arguments.")),
        ("definitions", json!(definitions.by_name)),
    ] {
        root.insert(key.to_owned(), value);
    }
    // An empty file is a policy that describes nothing.
    root.insert("type".to_owned(), json!(["object", "null"]));
    Value::Object(root)
}

/// YAML reads `7` and `true` as something other than text, and the loader does not.
const TEXT: [&str; 3] = ["string", "number", "boolean"];

#[derive(Default)]
struct Definitions {
    by_name: BTreeMap<&'static str, Value>,
}

impl Definitions {
    fn mapping(&mut self, keys: &'static Keys) -> Map<String, Value> {
        let mut properties = Map::new();
        for key in keys.iter() {
            let mut value = self.value(&key.takes);
            // Next to `$ref` draft 7 ignores a description.
            if value.get("$ref").is_some() {
                value = json!({"allOf": [value]});
            }
            if let Some(value) = value.as_object_mut() {
                value.insert("description".to_owned(), json!(key.about));
            }
            properties.insert(key.name.to_owned(), value);
        }
        let mut mapping = Map::new();
        mapping.insert("type".to_owned(), json!("object"));
        mapping.insert("properties".to_owned(), properties.into());
        mapping.insert("additionalProperties".to_owned(), json!(false));
        mapping.extend(keys.required.map(|key| ("required".to_owned(), json!([key]))));
        let mut kinds: Vec<Value> = KINDS.iter().map(|kind| json!({"required": [kind.name]})).collect();
        match keys.kinds {
            Kinds::None => return mapping,
            Kinds::AtMostOne => kinds.push(json!({"not": {"anyOf": kinds.clone()}})),
            Kinds::One => {}
        }
        mapping.insert("oneOf".to_owned(), kinds.into());
        mapping
    }

    fn named(&mut self, of_type: Value, names: &str, value: &'static Takes) -> Value {
        json!({"type": of_type, "propertyNames": {"pattern": names}, "additionalProperties": self.value(value)})
    }

    fn value(&mut self, takes: &'static Takes) -> Value {
        match takes {
            Takes::Version => json!({"enum": [1, "1"]}),
            Takes::Null => json!({"type": "null"}),
            Takes::Boolean => json!({"type": "boolean"}),
            Takes::Text => json!({"type": TEXT}),
            Takes::Pattern(pattern) => json!({"type": TEXT, "pattern": pattern}),
            Takes::Words(words) => json!({"enum": words()}),
            Takes::Profile => json!({"enum": profiles::profile_names().collect::<Vec<_>>()}),
            Takes::Integer(least, most) => {
                json!({"type": ["integer", "string"], "minimum": least, "maximum": most, "pattern": "^[+-]?[0-9]+$"})
            }
            Takes::Duration => {
                json!({"type": "string", "pattern": DURATION_PATTERN, "not": {"type": "string", "pattern": ZERO_PATTERN}})
            }
            Takes::Size => json!({
                "type": ["integer", "string"],
                "exclusiveMinimum": 0,
                "pattern": SIZE_PATTERN,
                "not": {"type": "string", "pattern": ZERO_PATTERN},
            }),
            Takes::Count => {
                json!({"type": ["integer", "string"], "minimum": 1, "pattern": r"^[0-9]+(\.\.([0-9]+)?)?$"})
            }
            Takes::List(least, item) => json!({"type": "array", "items": self.value(item), "minItems": least}),
            Takes::Range => {
                let number = self.value(&Takes::Integer(i64::MIN, i64::MAX));
                json!({"type": "array", "items": number, "minItems": 2, "maxItems": 2})
            }
            Takes::Any(all) => json!({"anyOf": all.iter().map(|one| self.value(one)).collect::<Vec<_>>()}),
            Takes::Named(names, value) => self.named(json!("object"), names, value),
            Takes::Declared(names, value) => self.named(json!(["object", "null"]), names, value),
            Takes::Keys(keys) => {
                // Subcommands have subcommands, so the name is taken before the mapping is described.
                if !self.by_name.contains_key(keys.name) {
                    self.by_name.insert(keys.name, Value::Null);
                    let mapping = self.mapping(keys).into();
                    self.by_name.insert(keys.name, mapping);
                }
                json!({"$ref": format!("#/definitions/{}", keys.name)})
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;
    use std::sync::LazyLock;

    use jsonschema::Validator;

    use super::super::super::{PolicyText, Problem, Rules};
    use super::*;

    static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| jsonschema::draft7::new(&schema()).unwrap());

    fn load(text: &str) -> Result<Rules, Problem> {
        let text = PolicyText { file: "p.yaml".into(), text: text.to_owned() };
        Rules::load(&[text], &[], &[]).map_err(|error| error.problem)
    }

    /// Mistakes that a schema can't find, by the words of the loader's message: they depend on other parts of the
    /// policy, or are about a key.
    const UNSAID: &[&str] = &[
        "a level that can enforce the rest",
        "a pattern of another tool",
        "the only one that can enforce",
        "`count` of an operand",
        "reached by at most 32 names",
        "the options of all forms together",
        "a word without a dash has no value",
        "`-NUM`: expected",
        "with another order of",
        "a type without `ask` and `deny` of its own",
        "since a file has many names",
        "since a text spells a number in many ways",
        "that don't change how the program reads",
        "that decides nothing about which code runs",
        "without `ask` and `deny`, found",
        "a path with `access: ",
    ];

    /// Compares the schema with the loader: what one accepts, the other accepts, and a mistake in the shape is refused by both.
    #[track_caller]
    pub fn compare(text: &str) {
        let (loaded, Ok(policy)) = (load(text), serde_yaml::from_str::<Value>(text)) else { return };
        let errors: Vec<String> = VALIDATOR.iter_errors(&policy).map(|error| error.to_string()).collect();
        let problem = match loaded {
            Ok(_) => return assert_eq!(errors, Vec::<String>::new(), "{text}"),
            Err(problem) => problem,
        };
        let is_of_shape = match &problem {
            Problem::UnknownKey { .. }
            | Problem::MissingKey { .. }
            | Problem::TwoTypes { .. }
            | Problem::UnknownProfile { .. } => true,
            Problem::Value { .. } => !UNSAID.iter().any(|words| problem.to_string().contains(words)),
            Problem::Yaml { .. }
            | Problem::UnknownType { .. }
            | Problem::TypeInItself { .. }
            | Problem::UnknownSet { .. }
            | Problem::NothingToExtend { .. }
            | Problem::Chars { .. }
            | Problem::Bounds { .. }
            | Problem::Spelling { .. }
            | Problem::OptionTwice { .. }
            | Problem::Attribute { .. }
            | Problem::TwoVariable { .. }
            | Problem::BesideForms { .. }
            | Problem::CommandTwice { .. }
            | Problem::RedirectionsTwice { .. }
            | Problem::Unpinned { .. }
            | Problem::Example { .. }
            | Problem::Evaded { .. } => false,
        };
        assert!(!is_of_shape || !errors.is_empty(), "the schema accepts {text}, but {problem}");
    }

    #[test]
    fn each_mapping_has_the_keys_that_the_loader_knows_there() {
        let schema = schema();
        let mut found = BTreeSet::new();
        for (name, text) in [
            ("policy", "zzz: 1"),
            ("type", "types: {t: {zzz: 1}}"),
            ("text", "types: {t: {text: {zzz: 1}}}"),
            ("path", "types: {t: {path: {zzz: 1}}}"),
            ("restriction", "types: {t: {text: {}, deny: {zzz: 1}}}"),
            ("option", "sets: {s: {--a: {zzz: 1}}}"),
            ("command", "commands: {x: {zzz: 1}}"),
            ("subcommand", "commands: {x: {subcommands: {y: {zzz: 1}}}}"),
            ("form", "commands: {x: {forms: [{zzz: 1}]}}"),
            ("operand", "commands: {x: {operands: [{zzz: 1}]}}"),
            ("redirections", "redirections: {zzz: 1}"),
            ("env", "commands: {x: {env: {zzz: 1}}}"),
            ("cwd", "commands: {x: {cwd: {zzz: 1}}}"),
            ("sandbox", "commands: {x: {sandbox: {zzz: 1}}}"),
            ("limits", "commands: {x: {limits: {zzz: 1}}}"),
            ("examples", "commands: {x: {examples: {zzz: 1}}}"),
        ] {
            let Err(Problem::UnknownKey { known, .. }) = load(text) else { panic!("{text}") };
            let mapping = if name == "policy" { &schema } else { &schema["definitions"][name] };
            let properties: BTreeSet<&str> =
                mapping["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(properties, known.into_iter().collect(), "{text}");
            assert!(properties.iter().all(|key| mapping["properties"][key]["description"].is_string()), "{name}");
            compare(text);
            found.insert(name);
        }
        found.remove("policy");
        let described: BTreeSet<&str> = schema["definitions"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(described, found, "a mapping of the schema that this test does not try");
    }

    #[test]
    fn every_shipped_policy_is_valid() {
        for name in profiles::profile_names() {
            compare(profiles::profile_text(name).unwrap());
        }
    }

    #[test]
    fn the_unit_of_an_amount_is_one_that_the_loader_reads() {
        for unit in ["h", "m", "s", "ms", "B", "kb", "KiB", "MB", "MiB", "GB", "gib", "d", "", "H", "K", "iB", "TB"] {
            for number in ["1", "0.5", "0", "1.", " 2 ", "0.0"] {
                compare(&format!("commands: {{x: {{timeout: '{number}{unit}'}}}}"));
                compare(&format!("commands: {{x: {{limits: {{memory: '{number}{unit}'}}}}}}"));
            }
        }
    }
}
