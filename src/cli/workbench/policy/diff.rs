//! `allowexec policy diff`: what a new policy widens and narrows.
//!
//! Both policies decide about the same command lines: the examples of both, recorded calls, and probes made from both. What
//! they set for calls (inserted words, the environment, the sandbox) is compared separately. No file is looked at.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{explain, probes, recorded, rules_of};
use crate::cli::error::CliError;
use crate::cli::{Outcome, print, print_json};
use crate::config::Surroundings;
use crate::network::Network;
use crate::policy::rules::{
    Access, Arguments, CommandRule, EnvRule, Expected, Rules, SandboxWord, Takes, ValueType, decide_readings, words_of,
    written,
};
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

/// Something that the two policies set differently for the calls of a command.
struct Setting {
    command: String,
    what: &'static str,
    old: String,
    new: String,
    is_wider: bool,
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
    let changes: Vec<Change> = lines
        .into_iter()
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

impl Setting {
    fn to_text(&self) -> String {
        format!("{} of `{}`: {} → {}", self.what, self.command, self.old, self.new)
    }

    fn to_json(&self) -> Value {
        let Self { command, what, old, new, is_wider } = self;
        json!({"command": command, "what": what, "old": old, "new": new, "wider": is_wider})
    }
}

/// Returns the settings in which the two policies differ. A change counts as wider unless it is known to be narrower.
fn settings(old: &Rules, new: &Rules) -> Vec<Setting> {
    let mut all = Vec::new();
    for (before, after) in old.iter().filter_map(|before| Some((before, new.get(&before.name)?))) {
        let mut add = |what, old: String, new: String, is_narrower: bool| {
            if old != new {
                all.push(Setting { command: after.name.clone(), what, old, new, is_wider: !is_narrower });
            }
        };
        let inserted = |rule: &CommandRule| {
            let levels = rule.level.levels().into_iter().filter(|level| !level.insert.is_empty());
            levels.map(|level| format!("{}: {}", level.title(), written(&level.insert))).collect::<Vec<_>>()
        };
        let (was, is) = (inserted(before), inserted(after));
        // Inserting more words after the same ones is meant to narrow; any other change deserves a look.
        let keeps = was.iter().all(|was| is.iter().any(|is| is.starts_with(was.as_str())) || level_is_gone(was, after));
        add("inserted words", none_or(&was.join("; ")), none_or(&is.join("; ")), keeps);
        let (was, is) = (environments(before), environments(after));
        let keeps_env = was.iter().all(|(title, was)| is.get(title).is_none_or(|is| keeps_environment(was, is)));
        add("environment", environments_shown(&was), environments_shown(&is), keeps_env);
        add("input", before.stdin.to_string(), after.stdin.to_string(), !after.stdin);
        let cwd_is_narrower = before.cwd_under.is_empty()
            || (!after.cwd_under.is_empty() && after.cwd_under.iter().all(|under| before.cwd_under.contains(under)));
        add("`cwd`", none_or(&before.cwd_under.join(", ")), none_or(&after.cwd_under.join(", ")), cwd_is_narrower);
        let sandbox = |rule: &CommandRule| explain::sandbox(&rule.sandbox).unwrap_or_else(|| "none".to_owned());
        add("sandbox", sandbox(before), sandbox(after), sandbox_is_narrower(before, after));
        let limits = |rule: &CommandRule| explain::limits(&rule.limits).unwrap_or_else(|| "none".to_owned());
        add("limits", limits(before), limits(after), limits_are_narrower(before, after));
        let (was, is) = (values(before), values(after));
        for (place, was, is) in was.iter().filter_map(|(place, was)| Some((place, was, is.get(place)?))) {
            // A program that may write a path can usually read it, too.
            let access =
                |access: Access| format!("{place} is {}", if access == Access::Read { "read" } else { "written" });
            if let (Some(old), Some(new)) = (was.access, is.access) {
                add("access", access(old), access(new), new < old);
            }
            let secrecy =
                |secret: bool| format!("{place} is {}", if secret { "hidden in the log" } else { "in the log" });
            add("`secret`", secrecy(was.is_secret), secrecy(is.is_secret), is.is_secret);
        }
        let program = |rule: &CommandRule| rule.program.clone().unwrap_or_else(|| "none".to_owned());
        add("program", program(before), program(after), false);
        let timeout_is_shorter = before.timeout.is_none_or(|was| after.timeout.is_some_and(|is| is <= was));
        let timeout =
            |rule: &CommandRule| rule.timeout.map_or_else(|| "none".to_owned(), |timeout| format!("{timeout:?}"));
        add("timeout", timeout(before), timeout(after), timeout_is_shorter);
        add("`read_only`", before.read_only.to_string(), after.read_only.to_string(), !after.read_only);
    }
    all
}

/// The properties of a value that a command line does not show.
#[derive(Default)]
struct ValueOf {
    access: Option<Access>,
    is_secret: bool,
}

/// The values of options and the operands, by their place in words. Forms are distinguished by their number.
fn values(rule: &CommandRule) -> BTreeMap<String, ValueOf> {
    let access = |value: &ValueType| match value {
        ValueType::Path(path) => Some(path.access),
        ValueType::Integer { .. } | ValueType::OneOf(_) | ValueType::Text(_) => None,
    };
    let mut all = BTreeMap::new();
    for level in rule.level.levels() {
        let Arguments::Described { options, forms, .. } = &level.arguments else { continue };
        let title = level.title();
        for option in options.iter().chain(forms.iter().flat_map(|form| form.options.iter())) {
            let Takes::Value { value, .. } = &option.takes else { continue };
            for spelling in &option.spellings {
                let value = ValueOf { access: access(value), is_secret: option.is_secret };
                all.insert(format!("`{title} {spelling}`"), value);
            }
        }
        for (number, form) in (1..).zip(forms) {
            let number = if forms.len() > 1 { format!(" of form {number}") } else { String::new() };
            for (dash, operands) in [("", Some(&form.operands)), ("-- ", form.after_double_dash.as_ref())] {
                for (place, operand) in (1..).zip(operands.into_iter().flatten()) {
                    let name = operand.name.clone().unwrap_or_else(|| format!("operand {place}"));
                    let value = ValueOf { access: access(&operand.value), is_secret: operand.is_secret };
                    all.insert(format!("`{title} {dash}{name}`{number}"), value);
                }
            }
        }
    }
    all
}

/// Whether the level with these inserted words is no longer described, so that nothing can run without them.
fn level_is_gone(was: &str, after: &CommandRule) -> bool {
    let title = was.split(": ").next().unwrap_or_default();
    let is_there = |title: &str| after.level.levels().iter().any(|level| level.title() == title);
    let has_any = after
        .level
        .levels()
        .iter()
        .any(|level| matches!(level.arguments, Arguments::Any { .. }) && title.starts_with(&level.title()));
    !is_there(title) && !has_any
}

fn sandbox_is_narrower(before: &CommandRule, after: &CommandRule) -> bool {
    let rank = |level: Option<SandboxWord>| match level {
        Some(SandboxWord::Off) => 0,
        None => 1,
        Some(SandboxWord::Workspace) => 2,
        Some(SandboxWord::Strict) => 3,
    };
    // The setting that a rule leaves the network to may be any of them.
    let is_network_narrower = |was: Option<&Network>, is: Option<&Network>| match (was, is) {
        (Some(was), Some(is)) => is.is_within(was),
        (was, is) => was == is || was == Some(&Network::Full) || is == Some(&Network::None),
    };
    let (was, is) = (&before.sandbox, &after.sandbox);
    rank(is.level) >= rank(was.level)
        && is_network_narrower(was.network.as_ref(), is.network.as_ref())
        && is.exec_own >= was.exec_own
        && is.paths_claimed >= was.paths_claimed
        && is.writes_nothing() >= was.writes_nothing()
}

fn limits_are_narrower(before: &CommandRule, after: &CommandRule) -> bool {
    fn keeps<T: PartialOrd>(was: Option<T>, is: Option<T>) -> bool {
        was.is_none_or(|was| is.is_some_and(|is| is <= was))
    }
    let (was, is) = (&before.limits, &after.limits);
    keeps(was.memory, is.memory)
        && keeps(was.file_size, is.file_size)
        && keeps(was.cpu, is.cpu)
        && keeps(was.processes, is.processes)
        && keeps(was.open_files, is.open_files)
}

fn none_or(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { text.to_owned() }
}

/// The environment of the calls of each level, by its title.
fn environments(rule: &CommandRule) -> BTreeMap<String, EnvRule> {
    let mut all: BTreeMap<String, EnvRule> = BTreeMap::new();
    for level in rule.level.levels() {
        let above = level.path.split_last().and_then(|(_, above)| all.get(&above.join(" ")));
        let mut env = above.cloned().unwrap_or_default();
        env.add(&level.env);
        all.insert(level.title(), env);
    }
    all
}

/// Whether each variable that was set or removed still is.
fn keeps_environment(was: &EnvRule, is: &EnvRule) -> bool {
    was.set.iter().all(|(name, value)| is.set.get(name) == Some(value))
        && was.unset.iter().all(|name| is.unset.contains(name))
}

/// The environment of the command, and of each subcommand that differs from it.
fn environments_shown(all: &BTreeMap<String, EnvRule>) -> String {
    let mut all = all.iter();
    let Some((_, of_command)) = all.next() else { return none_or("") };
    let others = all.filter(|(_, env)| *env != of_command);
    let others = others.map(|(title, env)| format!("; {title}: {}", environment(env)));
    environment(of_command) + &others.collect::<String>()
}

/// `A=1 B=2, without C D`, with values quoted if necessary.
fn environment(rule: &EnvRule) -> String {
    let set: Vec<String> = rule.set.iter().map(|(name, value)| written(&[format!("{name}={value}")])).collect();
    let parts = [
        set.join(" "),
        if rule.unset.is_empty() { String::new() } else { format!("without {}", rule.unset.join(" ")) },
    ];
    none_or(&parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::rules::PolicyText;

    fn rules(command: &str) -> Rules {
        let text = format!("version: 1\ncommands:\n  a: {command}\n");
        Rules::load(&[PolicyText { file: "p.yaml".into(), text }], &[], &[]).unwrap()
    }

    #[test]
    fn each_setting_is_told_to_be_wider_or_narrower() {
        let check = |narrow: &str, wide: &str, what: &str| {
            let (narrow, wide) = (rules(narrow), rules(wide));
            let found = |old, new| settings(old, new).into_iter().map(|s| (s.what, s.is_wider)).collect::<Vec<_>>();
            assert_eq!(found(&narrow, &wide), [(what, true)], "{what}");
            assert_eq!(found(&wide, &narrow), [(what, false)], "{what}");
            assert_eq!(found(&wide, &wide), [], "{what}");
        };
        check("{insert: [-x]}", "{}", "inserted words");
        check("{insert: [-x, -y]}", "{insert: [-x]}", "inserted words");
        check("{env: {set: {A: b}}}", "{}", "environment");
        check("{env: {unset: [A]}}", "{}", "environment");
        check("{}", "{stdin: true}", "input");
        check("{cwd: {under: [src]}}", "{}", "`cwd`");
        check("{cwd: {under: [src]}}", "{cwd: {under: [src, docs]}}", "`cwd`");
        check("{sandbox: {level: strict}}", "{sandbox: {level: workspace}}", "sandbox");
        check("{sandbox: {level: workspace}}", "{}", "sandbox");
        check("{sandbox: {exec: own}}", "{}", "sandbox");
        check("{sandbox: {network: none}}", "{sandbox: {network: full}}", "sandbox");
        check("{sandbox: {network: loopback}}", "{sandbox: {network: full}}", "sandbox");
        check("{sandbox: {network: none}}", "{sandbox: {network: loopback}}", "sandbox");
        check("{sandbox: {network: connect:1}}", "{sandbox: {network: 'connect:1,listen:2'}}", "sandbox");
        check("{sandbox: {write: none}}", "{}", "sandbox");
        for of in ["options: {--to: {path: A}}", "operands: [{name: FILE, path: A}]", "after_double_dash: [{path: A}]"]
        {
            let of = |access: &str| format!("{{{}}}", of.replace("A}", &format!("{access}}}")));
            check(&of("read"), &of("write"), "access");
        }
        for of in ["options: {--to: {text: {}, secret: S}}", "operands: [{text: {}, secret: S}]"] {
            let of = |is: &str| format!("{{{}}}", of.replace('S', is));
            check(&of("true"), &of("false"), "`secret`");
        }
        check("{limits: {memory: 1MiB}}", "{limits: {memory: 2MiB}}", "limits");
        check("{timeout: 1s}", "{}", "timeout");
        check("{}", "{read_only: true}", "`read_only`");
    }

    #[test]
    fn settings_are_shown_as_people_write_them() {
        let all = settings(
            &rules("any"),
            &rules("{env: {set: {A: b c, D: e}, unset: [F]}, program: /bin/b, timeout: 1m, stdin: true}"),
        );
        let shown: Vec<String> = all.iter().map(|s| format!("{}: {} -> {}", s.what, s.old, s.new)).collect();
        assert_eq!(
            shown,
            ["environment: none -> 'A=b c' 'D=e', without F", "program: none -> /bin/b", "timeout: none -> 60s"]
        );
    }

    #[test]
    fn another_program_is_never_narrower() {
        let (old, new) = (rules("{program: /bin/a}"), rules("{program: /bin/b}"));
        assert!(settings(&old, &new)[0].is_wider && settings(&new, &old)[0].is_wider);
    }
}
