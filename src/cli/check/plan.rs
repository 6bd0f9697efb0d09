//! The output of `check` for a line of several commands: each command with its rule, each `cd`, each redirection.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::workbench::Allowing;
use crate::cli::{Outcome, print, print_json};
use crate::config::Config;
use crate::policy::line::{LineDecision, LineRefusal, PartDecision, PartKind, PartOutcome};
use crate::policy::{Rule, quoted};
use crate::text::escape;

pub(super) fn run(decision: &LineDecision, config: &Config, json: bool) -> Result<Outcome, CliError> {
    let (word, outcome) = match &decision.outcome {
        Ok(_) => ("allowed", Outcome::Good),
        Err(LineRefusal::NeedsApproval(_)) => ("ask", Outcome::Asks),
        Err(_) => ("refused", Outcome::Bad),
    };
    let reason = decision.outcome.as_ref().err().map(ToString::to_string);
    if json {
        let parts: Vec<Value> = decision.parts.iter().map(|part| to_json(part, config)).collect();
        print_json(&json!({
            "decision": word,
            "reason": reason,
            "read_only": decision.is_read_only,
            "parts": parts,
        }))?;
    } else {
        let mut before = Vec::new();
        let parts: String = decision.parts.iter().map(|part| to_text(part, config, &mut before)).collect();
        let reason = reason.map(|reason| format!("  {:<11}{}\n", "reason", escape(&reason))).unwrap_or_default();
        print(&format!("{word}\n{reason}{parts}"))?;
    }
    Ok(outcome)
}

fn kind(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Command => "command",
        PartKind::Builtin => "builtin",
        PartKind::Redirection => "redirection",
    }
}

fn decided(outcome: &PartOutcome) -> (&'static str, Option<&str>) {
    match outcome {
        PartOutcome::Allowed => ("allowed", None),
        PartOutcome::AtItsTurn => ("at its turn", None),
        PartOutcome::Ask => ("ask", None),
        PartOutcome::Refused(why) => ("refused", Some(why)),
    }
}

/// The basis of the decision, as the operator knows it.
fn rule(part: &PartDecision, config: &Config) -> Option<String> {
    let explanation = &part.explanation;
    Some(match explanation.rule.as_ref()? {
        rule @ (Rule::Entry(_) | Rule::Any) => format!("{rule}, from the {}", config.allow.source),
        rule @ Rule::Described(_) => explanation.described.as_ref().map_or_else(
            || rule.to_string(),
            |described| format!("the rule for `{}` in {}", described.level, described.origin),
        ),
        rule @ Rule::Project(_) => rule.to_string(),
    })
}

/// How the operator would allow a command that was refused.
fn allowing(part: &PartDecision, config: &Config) -> Allowing {
    let is_refused = part.kind == PartKind::Command && matches!(part.outcome, PartOutcome::Refused(_));
    Allowing::of(&part.explanation, is_refused, config)
}

fn to_json(part: &PartDecision, config: &Config) -> Value {
    let (decision, reason) = decided(&part.outcome);
    let explanation = &part.explanation;
    json!({
        "part": part.number,
        "kind": kind(part.kind),
        "decision": decision,
        "reason": reason,
        "words": explanation.words,
        "variables": part.variables.iter().cloned().collect::<BTreeMap<_, _>>(),
        "rule": rule(part, config),
        "program": explanation.program.as_ref().map(|path| path.display().to_string()),
        "directory": explanation.directory.as_ref().map(|path| path.display().to_string()),
        "allowing": allowing(part, config).to_json(),
    })
}

type Rows = Vec<(&'static str, String)>;

/// The ways to allow a command that stands further up.
struct Shown {
    number: usize,
    /// The command, if one of the ways is a rule for it.
    rule_for: Option<String>,
    rows: Rows,
}

/// The ways to allow a command. What stands further up is not repeated.
fn ways(part: &PartDecision, config: &Config, before: &mut Vec<Shown>) -> Rows {
    let rows = allowing(part, config).rows();
    // The lines of a rule are rows without a name.
    let has_rule = rows.iter().any(|(name, _)| name.is_empty());
    let rule_for = part.explanation.words.first().filter(|_| has_rule).cloned();
    let same = before.iter().find(|shown| !rows.is_empty() && shown.rows == rows);
    let of_name = before.iter().find(|shown| has_rule && shown.rule_for == rule_for);
    let said = match (same, of_name) {
        (Some(Shown { number, .. }), _) => vec![("to allow", format!("as for command {number}"))],
        (None, Some(Shown { number, .. })) => {
            let name = quoted(rule_for.as_deref().unwrap_or_default());
            let note = format!(
                "command {number} lacks a rule for {name} too: `allowexec policy suggest -- LINE` makes one of both"
            );
            rows.iter().cloned().chain([("note", note)]).collect()
        }
        (None, None) => rows.clone(),
    };
    before.push(Shown { number: part.number, rule_for, rows });
    said
}

fn to_text(part: &PartDecision, config: &Config, before: &mut Vec<Shown>) -> String {
    let (decision, reason) = decided(&part.outcome);
    let words: Vec<String> = part.explanation.words.iter().map(|word| format!("{word:?}")).collect();
    let variables: Vec<String> = part.variables.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    let head = format!("{} {}: {decision}", kind(part.kind), part.number);
    let lines = [
        ("reason", reason.map(str::to_owned)),
        ("words", Some(words.join(" "))),
        ("variables", Some(variables.join(" ")).filter(|variables| !variables.is_empty())),
        ("rule", rule(part, config)),
        ("program", part.explanation.program.as_ref().map(|path| path.display().to_string())),
    ];
    let ways = ways(part, config, before).into_iter().map(|(name, value)| (name, Some(value)));
    let known = lines.into_iter().chain(ways).filter_map(|(name, value)| Some((name, value?)));
    let lines: String = known.map(|(name, value)| format!("  {name:<11}{}\n", escape(&value))).collect();
    format!("{head}\n{lines}")
}
