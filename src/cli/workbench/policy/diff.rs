//! `allowexec policy diff`: what a new policy widens and narrows.
//!
//! Both policies decide about the same command lines: the examples of both, recorded calls, and probes made from both. What
//! the rules say, of arguments and of the settings for calls, is compared separately. No file is looked at.
//!
//! - `settings`: what is said differently
//! - `within`: whether a rule allows no more than another

mod settings;
mod within;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use self::settings::{Setting, settings};
use super::{probes, recorded, rules_of};
use crate::cli::error::CliError;
use crate::cli::{Outcome, print, print_json};
use crate::config::Surroundings;
use crate::policy::rules::texts::decide_readings;
use crate::policy::rules::{Expected, Rules, words_of, written};
use crate::text::escape;

/// The most command lines that are shown of each kind; JSON has all.
const MOST_SHOWN: usize = 40;

/// A command line about which the two disagree.
struct Change {
    words: Vec<String>,
    /// Where the line comes from: an example, a recorded call or a probe.
    from: String,
    old: Expected,
    new: Expected,
}

pub(super) fn run(old: &str, new: &str, transcripts: &[String], json: bool) -> Result<Outcome, CliError> {
    let (old_rules, new_rules) = (rules_of(old)?, rules_of(new)?);
    let mut lines: BTreeMap<Vec<String>, String> = BTreeMap::new();
    for command in old_rules.iter().chain(new_rules.iter()) {
        for example in &command.examples {
            // Both refuse an example that is not a command line.
            if let Ok(words) = words_of(&example.line) {
                lines.entry(words).or_insert_with(|| format!("example, {}", example.origin));
            }
        }
    }
    let directory = Surroundings::of_this_process()?.directory;
    for file in transcripts {
        for call in recorded::read(file, &directory).map_err(|why| CliError::Transcript { why })? {
            lines.entry(call.words).or_insert(call.at);
        }
    }
    let (probes, has_more) = probes::probes(&old_rules, &new_rules);
    for words in probes {
        lines.entry(words).or_insert_with(|| "probe".to_owned());
    }
    let count = lines.len();
    // Most rules are those of the same profiles in both.
    let names: BTreeSet<&str> = old_rules.iter().chain(new_rules.iter()).map(|rule| rule.name.as_str()).collect();
    let changed: BTreeSet<&str> = names.into_iter().filter(|name| old_rules.get(name) != new_rules.get(name)).collect();
    let is_changed = |words: &[String]| words.first().is_some_and(|name| changed.contains(name.as_str()));
    let changes: Vec<Change> = lines
        .into_iter()
        .filter(|(words, _)| is_changed(words))
        .filter_map(|(words, from)| {
            let (old, new) = differing(readings(&old_rules, &words), readings(&new_rules, &words))?;
            Some(Change { words, from, old, new })
        })
        .collect();
    let settings = settings(&old_rules, &new_rules);
    let is_wider = changes.iter().any(Change::is_wider) || settings.iter().any(|setting| setting.is_wider);
    if json {
        let wider = |wanted: bool| {
            let changes = changes.iter().filter(|change| change.is_wider() == wanted);
            changes.map(Change::to_json).collect::<Vec<Value>>()
        };
        print_json(&json!({
            "compared": count,
            "bounded": has_more,
            "wider": wider(true),
            "narrower": wider(false),
            "settings": settings.iter().map(Setting::to_json).collect::<Vec<Value>>(),
        }))?;
    } else {
        print(&text(&changes, &settings, count, has_more))?;
    }
    Ok(if is_wider { Outcome::Bad } else { Outcome::Good })
}

/// Decides for words whose paths lie inside, outside, or don't exist.
fn readings(rules: &Rules, words: &[String]) -> [Expected; 4] {
    let command = words.first().and_then(|name| rules.get(name));
    command.map_or([Expected::Refuse; 4], |command| decide_readings(command, words))
}

/// The first two decisions of which the new one is wider, else the first two that differ.
fn differing(old: [Expected; 4], new: [Expected; 4]) -> Option<(Expected, Expected)> {
    let pairs = || old.into_iter().zip(new);
    pairs().find(|(old, new)| rank(*new) > rank(*old)).or_else(|| pairs().find(|(old, new)| old != new))
}

fn text(changes: &[Change], settings: &[Setting], count: usize, has_more: bool) -> String {
    let mut lines = Vec::new();
    for (title, wanted) in [("wider", true), ("narrower", false)] {
        let changes: Vec<&Change> = changes.iter().filter(|change| change.is_wider() == wanted).collect();
        let settings: Vec<&Setting> = settings.iter().filter(|setting| setting.is_wider == wanted).collect();
        if changes.is_empty() && settings.is_empty() {
            continue;
        }
        lines.push(title.to_owned());
        lines.extend(settings.iter().map(|setting| format!("  {}", setting.to_text())));
        lines.extend(changes.iter().take(MOST_SHOWN).map(|change| format!("  {}", change.to_text())));
        if changes.len() > MOST_SHOWN {
            lines.push(format!("  … and {} more; `--json` has all", changes.len() - MOST_SHOWN));
        }
    }
    let bounded = if has_more { "; there would be more" } else { "" };
    let verdict = if lines.is_empty() { "no difference" } else { "compared" };
    lines.push(format!("{verdict}: {count} command lines{bounded}"));
    lines.iter().map(|line| format!("{}\n", escape(line))).collect()
}

impl Change {
    fn is_wider(&self) -> bool {
        rank(self.new) > rank(self.old)
    }

    fn to_text(&self) -> String {
        let line = shortened(&written(&self.words));
        format!("{line}: {} → {} ({})", self.old.name(), self.new.name(), self.from)
    }

    fn to_json(&self) -> Value {
        json!({"argv": self.words, "from": self.from, "old": self.old.name(), "new": self.new.name()})
    }
}

/// The line, cut if it is long: a probe of a length may have thousands of characters.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(100) {
        Some((end, _)) => format!("{}… ({} characters)", line.get(..end).unwrap_or_default(), line.chars().count()),
        None => line.to_owned(),
    }
}

fn rank(decision: Expected) -> u8 {
    match decision {
        Expected::Refuse => 0,
        Expected::Ask => 1,
        Expected::Allow => 2,
    }
}
