//! Codex's `.rules`: calls of `prefix_rule` with literals.
//!
//! A rule means the command lines that begin with the words of its pattern; a list among them has alternatives for one word. The
//! strictest of all rules that match decides: forbidden, prompt, allow. `match` and `not_match` are examples, as lists of words or
//! as lines; Codex rejects a file with one that contradicts its rule. It also rejects one in which a value has another type or an argument
//! is not known, so a rule that is more than literals leaves nothing of the others. See <https://developers.openai.com/codex/rules>.

use super::Wrong;
use super::entry::{Entry, Imported, Pattern, Place, Sample};
use super::pattern::add_unclear;
use super::starlark::{self, Argument, Statement, Value};
use crate::policy::rules::Effect;
use crate::policy::split_words;

/// The most patterns that the alternatives of one rule may make.
const MOST_PATTERNS: usize = 1000;

pub(super) fn read(file: &str, text: &str, imported: &mut Imported) -> Result<(), Wrong> {
    for statement in starlark::parse(text)? {
        match statement {
            Statement::Call { line, name, arguments } => {
                let place = Place { file: file.into(), line };
                match name.as_str() {
                    "prefix_rule" => rule(place, arguments, imported)?,
                    "host_executable" | "network_rule" => {
                        imported.leave_out(place, &name, "it is no rule for commands")
                    }
                    _ => {
                        let entry = Entry::new(place, &name, Effect::Deny);
                        add_unclear(entry, "", "only calls of `prefix_rule` are understood", imported);
                    }
                }
            }
            Statement::Other { line } => {
                let entry = Entry::new(Place { file: file.into(), line }, "…", Effect::Deny);
                let why = "from here on the file is more than calls with literals, and may forbid any command";
                add_unclear(entry, "", why, imported);
            }
        }
    }
    Ok(())
}

fn rule(place: Place, arguments: Vec<Argument>, imported: &mut Imported) -> Result<(), Wrong> {
    let line = place.line;
    let (mut pattern, mut decision, mut reason) = (None, Value::Text("allow".to_owned()), None);
    let (mut examples, mut names) = (Vec::new(), Vec::new());
    // One without a name comes before all that have one.
    let mut is_known =
        !arguments.windows(2).any(|pair| matches!(pair, [one, next] if one.name.is_some() && next.name.is_none()));
    for (number, argument) in arguments.into_iter().enumerate() {
        let name = argument.name.or(["pattern", "decision"].get(number).map(|name| (*name).to_owned()));
        match name.as_deref() {
            Some("pattern") => pattern = Some(argument.value),
            Some("decision") => decision = argument.value,
            Some("justification") => {
                reason = argument.value.into_text().filter(|reason| !reason.trim().is_empty());
                is_known &= reason.is_some();
            }
            Some("match") => examples.push((argument.line, true, argument.value)),
            Some("not_match") => examples.push((argument.line, false, argument.value)),
            Some(_) | None => is_known = false,
        }
        is_known &= !names.contains(&name);
        names.push(name);
    }
    is_known &= examples.iter().all(|(_, _, lines)| match lines {
        Value::List(lines) => lines.iter().all(|line| words_of(line).is_some()),
        Value::Text(_) | Value::Other => false,
    });
    let pattern = pattern.ok_or((line, "`prefix_rule` has no `pattern`".to_owned()))?;
    let what = shown(&pattern);
    let effect = match &decision {
        Value::Text(decision) => Some(match decision.as_str() {
            "allow" => Effect::Allow,
            "prompt" => Effect::Ask,
            "forbidden" => Effect::Deny,
            _ => {
                return Err((
                    line,
                    format!("expected `allow`, `prompt` or `forbidden` as the decision, found `{decision}`"),
                ));
            }
        }),
        Value::List(_) | Value::Other => None,
    };
    let (Some(patterns), Some(effect), true) = (expanded(&pattern, line)?, effect, is_known) else {
        // Whatever it decides, Codex may take no rule of the file.
        let entry = Entry::new(place, &what, Effect::Deny);
        add_unclear(entry, "", "it is more than literals and the arguments that are known", imported);
        return Ok(());
    };
    let entry = Entry { reason, ..Entry::new(place.clone(), &what, effect) };
    for (line, is_match, example) in &examples {
        if let Some(wrong) = contradicting(&patterns, *is_match, example) {
            let sentence = if *is_match { "which the pattern does not match" } else { "which the pattern matches" };
            let name = if *is_match { "match" } else { "not_match" };
            return Err((*line, format!("Codex rejects the file: `{name}` has {wrong}, {sentence}")));
        }
    }
    for words in patterns {
        let is_path = words.first().is_some_and(|word| word.contains('/'));
        if is_path && entry.effect != Effect::Deny {
            // Codex can apply the rules for `git` to `/usr/bin/git`.
            imported.leave_out(place.clone(), &what, "the rules for the name of a program may hold for its path, too");
        } else {
            imported.entries.push(Entry { pattern: Pattern::Prefix(words), ..entry.clone() });
        }
    }
    for (line, _, value) in examples {
        let place = Place { line, ..place.clone() };
        let Value::List(lines) = value else { continue };
        let words = lines.iter().filter_map(words_of);
        imported.samples.extend(words.map(|words| Sample { place: place.clone(), words }));
    }
    Ok(())
}

/// An example that says otherwise than the patterns of its rule. A path may be that of a program which a pattern names, so it is none.
fn contradicting(patterns: &[Vec<String>], is_match: bool, examples: &Value) -> Option<String> {
    let Value::List(examples) = examples else { return None };
    let contradicts = |example: &&Value| {
        let Some(words) = words_of(example) else { return false };
        let is_path = words.first().is_some_and(|word| word.contains('/'));
        !is_path && patterns.iter().any(|pattern| words.starts_with(pattern)) != is_match
    };
    examples.iter().find(contradicts).map(shown)
}

/// The words of an example.
fn words_of(line: &Value) -> Option<Vec<String>> {
    let words = match line {
        Value::Text(line) => split_words(line).ok()?,
        Value::List(words) => words.iter().map(|word| word.clone().into_text()).collect::<Option<_>>()?,
        Value::Other => return None,
    };
    Some(words).filter(|words| words.first().is_some_and(|word| !word.is_empty()))
}

/// The patterns with one alternative each; `None` if a word is no literal.
fn expanded(pattern: &Value, line: usize) -> Result<Option<Vec<Vec<String>>>, Wrong> {
    let Value::List(words) = pattern else { return Ok(None) };
    if words.is_empty() {
        return Err((line, "the pattern of `prefix_rule` is empty".to_owned()));
    }
    let mut patterns: Vec<Vec<String>> = vec![Vec::new()];
    for word in words {
        let alternatives = match word {
            Value::Text(word) => vec![word.clone()],
            Value::List(words) => match words.iter().map(|word| word.clone().into_text()).collect::<Option<Vec<_>>>() {
                Some(words) if !words.is_empty() => words,
                Some(_) | None => return Ok(None),
            },
            Value::Other => return Ok(None),
        };
        if patterns.len() * alternatives.len() > MOST_PATTERNS {
            return Err((line, format!("the alternatives make more than {MOST_PATTERNS} patterns")));
        }
        patterns = patterns
            .iter()
            .flat_map(|before| alternatives.iter().map(|word| [before.as_slice(), std::slice::from_ref(word)].concat()))
            .collect();
    }
    Ok(Some(patterns))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        Value::List(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Other => "…".to_owned(),
    }
}
