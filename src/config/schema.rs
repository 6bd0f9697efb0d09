//! The JSON schema of the settings in a file, made of the table of settings, for editors. It accepts what the file's reader accepts. What a
//! setting takes is asked of the setting itself: it is given a few texts to parse.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::config::Config;
use super::error::ConfigError;
use super::file::in_file;
use super::given::Given;
use super::setting::SettingPlace;
use super::spec::{Spec, Takes};
use super::table::ON_OR_OFF;
use super::variables::Surroundings;
use super::wrong::Wrong;
use crate::network::Network;
use crate::policy::rules::profile_names;
use crate::text::{DURATION_PATTERN, SIZE_PATTERN, ZERO_PATTERN};

/// The texts that a switch takes.
const SWITCH: [&str; 8] = ["on", "off", "true", "false", "yes", "no", "1", "0"];

/// Returns the JSON schema (draft 7) of a file of settings.
pub(crate) fn schema() -> Value {
    let mut properties = Map::new();
    let mut with_dashes = Map::new();
    for spec in in_file() {
        let (key, mut value) = (spec.key(), of(spec));
        if let Some(value) = value.as_object_mut() {
            let about = format!("{}.\n\nDefault: {}. Flag `--{}`.", spec.help, spec.default, spec.flag);
            value.insert("description".to_owned(), about.into());
        }
        if key != spec.flag {
            // The reader takes these as well; editors suggest only the usual names.
            with_dashes.insert(format!("^{}$", spec.flag), json!({"$ref": format!("#/properties/{key}")}));
        }
        properties.insert(key, value);
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "allowexec settings",
        "description": "The file that `--config` names.",
        "type": ["object", "null"],
        "properties": properties,
        "patternProperties": with_dashes,
        "additionalProperties": false,
    })
}

fn of(spec: &'static Spec) -> Value {
    let words = words(spec);
    match spec.takes {
        Takes::Switch => json!({"type": "boolean"}),
        Takes::Text if spec.value == ON_OR_OFF => {
            json!({"type": ["boolean", "string"], "pattern": format!(r"^\s*{}\s*$", in_any_case(&SWITCH))})
        }
        Takes::Number => number(spec),
        // The words come first, since editors suggest them.
        Takes::Text if !words.is_empty() => {
            let pattern = format!(r"^\s*{}\s*$", in_any_case(&words));
            let mut any = vec![json!({"enum": words}), json!({"type": "string", "pattern": pattern})];
            if parsed(spec, "?").is_err_and(|wrong| matches!(wrong, Wrong::NotANetwork { .. })) {
                let in_any_case = in_any_case(&["connect", "listen"]);
                let pattern = Network::PORTS_PATTERN.replace("(connect|listen)", &in_any_case);
                any.push(json!({"type": "string", "pattern": pattern}));
            }
            json!({"anyOf": any})
        }
        Takes::Text => json!({"type": "string"}),
        Takes::List if words.is_empty() => json!({"type": ["array", "string"], "items": {"type": "string"}}),
        Takes::List => {
            let word = in_any_case(&words);
            let item =
                json!({"anyOf": [{"enum": words}, {"type": "string", "pattern": format!(r"^(\s*{word}\s*)?$")}]});
            // In one text there are commas between the entries.
            let text = format!(r"^[\s,]*({word}\s*(,[\s,]*|$))*$");
            json!({"type": ["array", "string"], "items": item, "pattern": text})
        }
    }
}

/// The words that a setting takes, if it takes only certain ones.
pub(crate) fn words(spec: &'static Spec) -> Vec<&'static str> {
    match parsed(spec, "?") {
        _ if spec.flag == "profile" => profile_names().collect(),
        Err(Wrong::NotAWord { known, .. }) => known.split(", ").flat_map(|words| words.split(" or ")).collect(),
        Err(Wrong::NotANetwork { .. }) => Network::WORDS.map(|(word, _)| word).to_vec(),
        Ok(()) | Err(_) => Vec::new(),
    }
}

fn number(spec: &'static Spec) -> Value {
    let takes = |text| parsed(spec, text).is_ok();
    let (is_duration, is_size) = (takes("1s"), takes("1KB"));
    let pattern = match (is_duration, is_size) {
        (true, _) => DURATION_PATTERN,
        (_, true) => SIZE_PATTERN,
        (false, false) => r"^\s*\+?[0-9]+\s*$",
    };
    let is_more = !takes("0s") && !takes("0B");
    let text = match is_more {
        true => json!({"type": "string", "pattern": pattern, "not": {"type": "string", "pattern": ZERO_PATTERN}}),
        false => json!({"type": "string", "pattern": pattern}),
    };
    match (is_duration, takes("0")) {
        (true, false) => text,
        (true, true) => json!({"anyOf": [text, {"enum": [0, "0"]}]}),
        (false, zero) => json!({"anyOf": [text, {"type": "integer", "minimum": u8::from(!zero)}]}),
    }
}

/// One of the words, in any case, as a regular expression.
fn in_any_case(words: &[&str]) -> String {
    let either = |c: char| match c.is_ascii_alphabetic() {
        true => format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase()),
        false => c.to_string(),
    };
    format!("({})", words.join("|").chars().map(either).collect::<String>())
}

/// Parses a text as a value of the setting.
fn parsed(spec: &'static Spec, text: &str) -> Result<(), Wrong> {
    let surroundings = Surroundings { variables: Default::default(), directory: PathBuf::new() };
    let given = Given { spec, place: SettingPlace::Flag(spec.flag), texts: vec![text.to_owned()] };
    match (spec.set)(&mut Config::defaults(surroundings), &given) {
        Err(ConfigError::Value { wrong, .. }) => Err(wrong),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;
    use std::sync::LazyLock;

    use jsonschema::Validator;

    use super::super::file::parse;
    use super::super::table::SETTINGS;
    use super::*;

    static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| jsonschema::draft7::new(&schema()).unwrap());

    fn read(text: &str) -> Result<(), ConfigError> {
        let surroundings = Surroundings { variables: Default::default(), directory: PathBuf::new() };
        let mut config = Config::defaults(surroundings);
        parse(text, Path::new("s.yaml"))?.iter().try_for_each(|given| (given.spec.set)(&mut config, given))
    }

    /// Compares the schema with the reader: what the reader accepts the schema accepts, and a mistake in the shape is refused by both.
    #[track_caller]
    pub fn compare(text: &str) {
        let (read, Ok(settings)) = (read(text), serde_yaml::from_str::<Value>(text)) else { return };
        let errors: Vec<String> = VALIDATOR.iter_errors(&settings).map(|error| error.to_string()).collect();
        let error = match read {
            Ok(()) => return assert_eq!(errors, Vec::<String>::new(), "{text}"),
            Err(error) => error,
        };
        let is_of_shape = match &error {
            ConfigError::UnknownKey { .. } | ConfigError::PolicyForSettings { .. } | ConfigError::Type { .. } => true,
            ConfigError::Value { wrong, .. } => matches!(
                wrong,
                Wrong::NotAWord { .. }
                    | Wrong::NotANetwork { .. }
                    | Wrong::WordBesidePorts { .. }
                    | Wrong::NotASwitch { .. }
                    | Wrong::MissingUnit { .. }
                    | Wrong::NotADuration { .. }
                    | Wrong::ZeroDuration { .. }
                    | Wrong::NotASize { .. }
                    | Wrong::ZeroSize { .. }
                    | Wrong::NotACount { .. }
            ),
            _ => false,
        };
        assert!(!is_of_shape || !errors.is_empty(), "the schema accepts {text}, but {error}");
    }

    #[test]
    fn each_setting_takes_in_the_schema_what_it_takes_in_a_file() {
        let values = [
            "true",
            "'true'",
            "on",
            "OFF",
            "0",
            "'0'",
            "1",
            "'1'",
            "-1",
            "1.5",
            "30s",
            "0s",
            "' 1.5 m '",
            "30",
            "64KiB",
            "'0 B'",
            "0.5B",
            "1 gb",
            "[]",
            "[a]",
            "[[a]]",
            "[true]",
            "[1]",
            "a,b",
            "''",
            "{}",
            "{a: b}",
            "~",
            "git-readonly",
            "[git-readonly]",
            "connect:5432",
            "' Connect:1 , LISTEN:65535 '",
            "connect:0",
            "'connect:1,'",
            "none,listen:1",
        ];
        for spec in SETTINGS {
            // JSON Schema takes `1e3` for a whole number, so that is not tried. Whether there is such a profile, the reader leaves to those who load it.
            for value in values
                .iter()
                .filter(|value| spec.flag != "profile" || value.contains("readonly") || value.contains("{"))
            {
                compare(&format!("{}: {value}", spec.key()));
                compare(&format!("{}: {value}", spec.flag));
            }
        }
    }

    #[test]
    fn the_words_of_a_setting_are_those_that_it_takes() {
        let schema = schema();
        let mut count = 0;
        for spec in SETTINGS {
            let property = &schema["properties"][spec.key()];
            let either = if spec.takes == Takes::List { &property["items"] } else { property };
            for word in either["anyOf"][0]["enum"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                assert!(parsed(spec, word).is_ok(), "{}: {word}", spec.flag);
                compare(&format!("{}: '{}'", spec.key(), word.to_uppercase()));
                count += 1;
            }
            assert_eq!(spec.flag == "config", property.is_null(), "{}", spec.flag);
        }
        let sandbox = &schema["properties"]["sandbox"]["anyOf"][0]["enum"];
        assert!(count >= 25 && *sandbox == json!(["off", "workspace", "strict"]), "{count} {sandbox}");
    }
}
