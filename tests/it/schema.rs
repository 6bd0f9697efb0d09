//! The schemas for editors: every configuration and policy that the project shows or uses is valid, and common mistakes are not.
//! What the loaders accept and refuse is compared in `src`, next to the schemas.

use std::fs;
use std::path::Path;
use std::process::Command;

use jsonschema::Validator;
use serde_json::Value;

/// The schema of this name, as the program prints it.
pub fn validator(name: &str) -> Validator {
    let output = Command::new(env!("CARGO_BIN_EXE_allowexec")).args(["schema", name]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(jsonschema::meta::is_valid(&schema), "{name}");
    jsonschema::draft7::new(&schema).unwrap()
}

pub fn errors(validator: &Validator, yaml: &str) -> Vec<String> {
    let value: Value = serde_yaml::from_str(yaml).unwrap_or_else(|error| panic!("{error}: {yaml}"));
    validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The texts of files with this extension, below a directory.
fn files(directory: &str, extension: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(path.to_str().unwrap(), extension, found);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_policy_and_configuration_of_the_project_is_valid() {
    let (config, policy) = (validator("config"), validator("policy"));
    let mut texts = Vec::new();
    files("fixtures", "yaml", &mut texts);
    let mut transcripts = Vec::new();
    files("fixtures/transcripts", "transcript", &mut transcripts);
    for line in transcripts.iter().flat_map(|text| text.lines()) {
        let Some((name, text)) = line.strip_prefix("setup: file ").and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        if name.ends_with(".yaml") {
            texts.push(serde_json::from_str(text).unwrap());
        }
    }
    let mut pages = Vec::new();
    files("spec", "md", &mut pages);
    pages.push(include_str!("../../README.md").to_owned());
    for page in pages {
        texts.extend(page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()));
    }
    let (mut configs, mut policies) = (0, 0);
    for text in texts {
        // Results, workflows and parts of files are neither.
        let Ok(Value::Object(keys)) = serde_yaml::from_str::<Value>(&text) else { continue };
        let has = |wanted: &[&str]| wanted.iter().any(|key| keys.contains_key(*key));
        if has(&["files"]) {
            // A lock file.
        } else if has(&["commands", "sets", "types"]) {
            policies += 1;
            assert_eq!(errors(&policy, &text), Vec::<String>::new(), "{text}");
        } else if has(&["allow", "profile", "policy", "sandbox", "cwd_root", "cwd-root", "timeout"])
            && !has(&["scenario"])
        {
            configs += 1;
            assert_eq!(errors(&config, &text), Vec::<String>::new(), "{text}");
        }
    }
    assert!(configs >= 7 && policies >= 16, "{configs} configurations, {policies} policies");
}

#[test]
fn an_editor_marks_common_mistakes() {
    let (config, policy) = (validator("config"), validator("policy"));
    let rows = [
        (&config, "alow: [ls]", "alow"),
        (&config, "timeout: 30", "/timeout"),
        (&config, "sandbox: stric", "/sandbox"),
        (&config, "allow: [ls, 7]", "/allow/1"),
        (&config, "structured: 'yes'", "/structured"),
        (&config, "profile: [git-readonli]", "/profile"),
        (&config, "version: 1", "version"),
        (&policy, "version: 2", "/version"),
        (&policy, "commands: {ls: all}", "/commands/ls"),
        (&policy, "commands: {ls: {optoins: {}}}", "/commands/ls"),
        (&policy, "commands: {x: {operands: [{name: FILE}]}}", "/commands/x"),
        (&policy, "commands: {x: {operands: [{text: {}, path: read}]}}", "/commands/x"),
        (&policy, "commands: {x: {options: {-n: {path: {under: [a]}}}}}", "/commands/x"),
        (&policy, "commands: {x: {timeout: 0s}}", "/commands/x"),
        (&policy, "allow: [ls]", "allow"),
    ];
    for (validator, text, place) in rows {
        let errors = errors(validator, text);
        assert!(errors.iter().any(|error| error.contains(place)), "{text}: {errors:?}");
    }
}

#[test]
fn a_word_that_is_no_schema_is_answered_with_those_that_are() {
    for (arguments, expected) in [
        (&["schema"][..], "`config` or `policy`"),
        (&["schema", "polici"], "policy"),
        (&["schema", "lock"], "config, policy"),
        (&["schema", "config", "x"], "nothing more is expected here"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_allowexec")).args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty() && said.contains(expected), "{said}");
    }
}
