//! Cases: command lines with what must be decided for them, as JSON lines `{"argv", "expect", "cwd", "input"}`.

use std::path::{Component, Path};

use serde_json::Value;

use crate::policy::rules::texts::{UNTOLD, decide_anywhere};
use crate::policy::rules::{ExampleLine, Expected, Judgement, Rules, words_of};

/// One line of a file of cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    /// Counted from 1.
    pub line: usize,
    /// The words; a text is split as a client's command line is.
    pub argv: ExampleLine,
    /// The expected decision.
    pub expected: Expected,
    /// The directory that the call names, relative to the project.
    pub cwd: Option<String>,
    /// Whether the call brings input.
    pub has_input: bool,
}

/// A decision, with its reason unless the line is simply allowed.
pub(super) struct DecidedCase<'p> {
    /// `None` if that can't be told without files.
    pub came: Option<Expected>,
    pub why: Option<String>,
    pub judgement: Option<Judgement<'p>>,
}

/// Reads cases. Blank lines are skipped.
///
/// # Errors
/// The first line that is not a case, with what was expected there.
pub(super) fn parse(text: &str) -> Result<Vec<Case>, (usize, String)> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(index, line)| case(index + 1, line).map_err(|why| (index + 1, why))).collect()
}

fn case(line: usize, text: &str) -> Result<Case, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let fields = value.as_object().ok_or("expected an object with `argv` and `expect`")?;
    if let Some(key) = fields.keys().find(|key| !["argv", "expect", "cwd", "input"].contains(&key.as_str())) {
        return Err(format!("unknown key `{}`; known are argv, expect, cwd, input", key.escape_debug()));
    }
    let words =
        |list: &Vec<Value>| list.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
    let argv = match fields.get("argv") {
        Some(Value::String(line)) => Some(ExampleLine::Line(line.clone())),
        Some(Value::Array(list)) => words(list).filter(|words| !words.is_empty()).map(ExampleLine::Words),
        _ => None,
    };
    let expected = match fields.get("expect").and_then(Value::as_str) {
        Some("allow" | "allowed") => Expected::Allow,
        Some("ask") => Expected::Ask,
        Some("refuse" | "refused") => Expected::Refuse,
        _ => return Err("`expect` must be `allow`, `ask` or `refuse`".to_owned()),
    };
    let cwd = match fields.get("cwd") {
        None | Some(Value::Null) => None,
        Some(Value::String(cwd)) => Some(cwd.clone()),
        Some(_) => return Err("`cwd` must be a text".to_owned()),
    };
    let has_input = match fields.get("input") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Bool(true) | Value::String(_)) => true,
        Some(_) => return Err("`input` must be a text".to_owned()),
    };
    let argv = argv.ok_or("`argv` must be a list of words, or a command line")?;
    Ok(Case { line, argv, expected, cwd, has_input })
}

impl Case {
    /// Decides by these rules, without looking at any file.
    pub(super) fn decide<'p>(&self, rules: &'p Rules) -> DecidedCase<'p> {
        let refused = |why: String| DecidedCase { came: Some(Expected::Refuse), why: Some(why), judgement: None };
        let words = match words_of(&self.argv) {
            Ok(words) => words,
            Err(error) => return refused(error.to_string()),
        };
        let decided = decide(rules, &words);
        let Some(command) = words.first().and_then(|word| rules.get(word)) else { return decided };
        if matches!(decided.came, None | Some(Expected::Refuse)) {
            return decided;
        }
        if self.has_input && !command.stdin {
            return refused(format!("`{}` takes no input", command.name));
        }
        let cwd = self.cwd.as_deref().unwrap_or(".");
        if !is_inside(cwd) {
            return refused(format!("`{}` is outside", cwd.escape_debug()));
        }
        let is_beneath = |under: &String| plain(Path::new(cwd)).starts_with(plain(Path::new(under)));
        if !command.cwd_under.is_empty() && !command.cwd_under.iter().any(is_beneath) {
            return refused(format!("`{}` runs only under {}", command.name, command.cwd_under.join(", ")));
        }
        decided
    }
}

/// Decides on words by these rules.
pub(super) fn decide<'p>(rules: &'p Rules, words: &[String]) -> DecidedCase<'p> {
    let name = words.first().map_or("", String::as_str);
    let Some(command) = rules.get(name) else {
        let why = Some(format!("no rule describes `{}`", name.escape_debug()));
        return DecidedCase { came: Some(Expected::Refuse), why, judgement: None };
    };
    match decide_anywhere(command, words) {
        Some(judgement) => {
            DecidedCase { came: Some(judgement.decision), why: judgement.refusal.clone(), judgement: Some(judgement) }
        }
        None => DecidedCase { came: None, why: Some(UNTOLD.to_owned()), judgement: None },
    }
}

fn is_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The path without its `.` parts.
fn plain(path: &Path) -> std::path::PathBuf {
    path.components().filter(|part| !matches!(part, Component::CurDir)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::rules::PolicyText;

    fn rules(text: &str) -> Rules {
        Rules::load(&[PolicyText { file: "p.yaml".into(), text: text.to_owned() }], &[], &[]).unwrap()
    }

    #[test]
    fn a_case_has_words_an_expectation_a_directory_and_input() {
        let cases = parse(
            "{\"argv\":[\"a\",\"b c\"],\"expect\":\"allow\"}\n\n{\"argv\":\"a \\\"b c\\\"\",\"expect\":\"refused\",\"cwd\":\"x\",\"input\":\"y\"}\n",
        );
        let cases = cases.unwrap();
        assert_eq!(words_of(&cases[0].argv).unwrap(), words_of(&cases[1].argv).unwrap());
        assert_eq!((cases[1].line, cases[1].expected, cases[1].has_input), (3, Expected::Refuse, true));
        assert_eq!(cases[1].cwd.as_deref(), Some("x"));
    }

    #[test]
    fn a_line_that_is_no_case_is_named() {
        let check = |text: &str, line: usize, why: &str| {
            let error = parse(text).unwrap_err();
            assert!(error.0 == line && error.1.contains(why), "{text}: {error:?}");
        };
        check("{\"argv\":[\"a\"],\"expect\":\"allow\"}\nx", 2, "not JSON");
        check("[]", 1, "expected an object");
        check("{\"argv\":[],\"expect\":\"allow\"}", 1, "`argv` must be");
        check("{\"argv\":[1],\"expect\":\"allow\"}", 1, "`argv` must be");
        check("{\"argv\":[\"a\"],\"expect\":\"maybe\"}", 1, "`expect` must be");
        check("{\"argv\":[\"a\"],\"expects\":\"allow\"}", 1, "unknown key `expects`");
        check("{\"argv\":[\"a\"],\"expect\":\"ask\",\"cwd\":1}", 1, "`cwd` must be");
        check("{\"argv\":[\"a\"],\"expect\":\"ask\",\"input\":1}", 1, "`input` must be");
    }

    #[test]
    fn input_and_the_directory_count() {
        let rules = rules("version: 1\ncommands:\n  a: {stdin: true, cwd: {under: [src]}}\n  b: {}\n");
        let came = |text: &str| parse(text).unwrap()[0].decide(&rules).came.unwrap();
        assert_eq!(came("{\"argv\":[\"a\"],\"expect\":\"allow\",\"cwd\":\"src/x\",\"input\":\"y\"}"), Expected::Allow);
        assert_eq!(came("{\"argv\":[\"a\"],\"expect\":\"allow\",\"cwd\":\"./src\"}"), Expected::Allow);
        for cwd in ["docs", "..", "src/..", "/src", "srcs", "."] {
            let case = format!("{{\"argv\":[\"a\"],\"expect\":\"allow\",\"cwd\":\"{cwd}\"}}");
            assert_eq!(came(&case), Expected::Refuse, "{cwd}");
        }
        assert_eq!(came("{\"argv\":[\"a\"],\"expect\":\"allow\"}"), Expected::Refuse);
        assert_eq!(came("{\"argv\":[\"b\"],\"expect\":\"allow\"}"), Expected::Allow);
        assert_eq!(came("{\"argv\":[\"b\"],\"expect\":\"allow\",\"input\":true}"), Expected::Refuse);
        assert_eq!(came("{\"argv\":[\"c\"],\"expect\":\"allow\"}"), Expected::Refuse);
    }
}
