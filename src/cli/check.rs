//! `allowexec check`: what would be decided, by the very code that decides, without running anything.

use serde_json::{Value, json};

use super::error::CliError;
use super::{Outcome, print, print_json};
use crate::config::Config;
use crate::policy::{Rule, Verdict, wrappers};
use crate::server::{Asked, Parts};

pub(super) fn run(
    config: &Config,
    directory: Option<&str>,
    command: Vec<String>,
    json: bool,
) -> Result<Outcome, CliError> {
    let mut words = command.into_iter();
    let first = words.next().unwrap_or_default();
    let arguments: Vec<String> = words.collect();
    let asked = if arguments.is_empty() { Asked::Line(first) } else { Asked::Words(first, arguments) };
    let verdict = Parts::new(config).examine(asked, directory);
    let facts = Facts::new(&verdict, config);
    if json {
        print_json(&facts.to_json())?
    } else {
        print(&facts.to_text())?
    };
    Ok(if verdict.refusal.is_none() { Outcome::Good } else { Outcome::Bad })
}

/// A decision, ready to be shown.
struct Facts {
    reason: Option<String>,
    words: Vec<String>,
    rule: Option<String>,
    program: Option<String>,
    directory: Option<String>,
    notes: Vec<String>,
}

impl Facts {
    fn new(verdict: &Verdict, config: &Config) -> Self {
        let explanation = &verdict.explanation;
        let rule = explanation.rule.as_ref().map(|rule| match rule {
            Rule::Entry(_) | Rule::Any => format!("{rule}, from the {}", config.allow.source),
            Rule::Project(_) => rule.to_string(),
        });
        let pattern = explanation
            .literal_pattern
            .map(|pattern| format!("no shell runs, so the unquoted `{pattern}` is passed on literally"));
        let reach = explanation
            .words
            .first()
            .filter(|_| rule.is_some())
            .and_then(|word| wrappers::reach_of(word).map(|reach| format!("`{word}` {}", reach.meaning())));
        Self {
            reason: verdict.refusal.as_ref().map(ToString::to_string),
            words: explanation.words.clone(),
            rule,
            program: explanation.program.as_ref().map(|path| path.display().to_string()),
            directory: explanation.directory.as_ref().map(|path| path.display().to_string()),
            notes: pattern.into_iter().chain(reach).collect(),
        }
    }

    fn decision(&self) -> &'static str {
        if self.reason.is_some() { "refused" } else { "allowed" }
    }

    fn to_json(&self) -> Value {
        json!({
            "decision": self.decision(),
            "reason": self.reason,
            "words": self.words,
            "rule": self.rule,
            "program": self.program,
            "directory": self.directory,
            "notes": self.notes,
        })
    }

    fn to_text(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| format!("{word:?}")).collect();
        let lines = [
            ("reason", self.reason.clone()),
            ("words", Some(words.join(" ")).filter(|words| !words.is_empty())),
            ("rule", self.rule.clone()),
            ("program", self.program.clone()),
            ("directory", self.directory.clone()),
        ];
        let notes = self.notes.iter().map(|note| ("note", Some(note.clone())));
        let known = lines.into_iter().chain(notes).filter_map(|(name, value)| Some((name, value?)));
        let lines: String = known.map(|(name, value)| format!("  {name:<11}{value}\n")).collect();
        format!("{}\n{lines}", self.decision())
    }
}
