//! `allowexec policy explain`: what each word of a command is by its rule, and how the call would run.

use serde_json::{Value, json};

use super::{place, shown_place};
use crate::cli::check::{decision, examine};
use crate::cli::error::CliError;
use crate::cli::{Outcome, print, print_json};
use crate::config::Config;
use crate::integrity::reach_of;
use crate::network::Network;
use crate::policy::rules::{
    Claim, CommandRule, EnvRule, ExampleLine, HeldClaim, LimitsRule, Origin, PathError, PathJudge, Reading,
    Restriction, Role, SandboxRule, SandboxWord, ValueType, described, profile_describing, restricted, words_of,
};
use crate::policy::{Rule, quoted};
use crate::server::Parts;
use crate::text::escape;

/// The meaning of a word, or of a part of one.
struct Explained {
    text: String,
    role: &'static str,
    what: String,
    at: Option<(String, Option<usize>)>,
}

/// The rule's additions to the call.
struct Added {
    inserted: Vec<(String, Vec<String>)>,
    argv: Vec<String>,
    env: EnvRule,
}

pub(super) fn run(
    config: &Config,
    directory: Option<&str>,
    command: &[String],
    with_input: bool,
    json: bool,
) -> Result<Outcome, CliError> {
    let line = match command {
        [line] => ExampleLine::Line(line.clone()),
        words => ExampleLine::Words(words.to_vec()),
    };
    let parts = Parts::new(config);
    let verdict = examine(&parts, command.to_vec(), directory, with_input);
    let words = words_of(&line).unwrap_or_default();
    let rule = words.first().and_then(|word| config.rules.get(word));
    let (decision, outcome) = decision(&verdict);
    let entry = verdict.explanation.rule.as_ref().filter(|_| rule.is_none_or(|rule| rule.is_plain_any()));
    let explained = match (rule, entry) {
        (Some(rule), _) => explain(rule, &words),
        (None, Some(entry)) => explain_entry(entry, &words),
        (None, None) => Vec::new(),
    };
    let permits = entry.map(|entry| permits(entry, words.first().map_or("", String::as_str), &parts));
    let added = rule.and_then(|rule| added(rule, &words));
    let at = verdict.explanation.described.as_ref();
    let rule_text = match (at, &verdict.explanation.rule) {
        (Some(at), _) => Some(format!("{}, {}", at.level, at.origin)),
        (None, rule) => rule.as_ref().map(ToString::to_string),
    };
    let reason = verdict.refusal.as_ref().map(ToString::to_string);
    let is_plain = rule.is_none_or(|rule| rule.is_plain_any());
    // The settings for a call are of interest only if some form matches it.
    let settings = rule.filter(|_| !is_plain).zip(added.as_ref().map(|added| &added.env));
    if json {
        let word = |part: &Explained| {
            let (file, line) = part.at.clone().unzip();
            json!({"text": part.text, "role": part.role, "what": part.what, "file": file, "line": line.flatten()})
        };
        let inserted = added.as_ref().map_or(&[][..], |added| &added.inserted);
        let inserted = inserted.iter().map(|(level, words)| json!({"level": level, "words": words}));
        let (file, line) = at.map(|at| place(&at.origin)).unzip();
        print_json(&json!({
            "decision": decision,
            "reason": reason,
            "rule": rule_text,
            "file": file,
            "line": line.flatten(),
            "words": explained.iter().map(word).collect::<Vec<Value>>(),
            "inserted": inserted.collect::<Vec<Value>>(),
            "permits": permits,
            "argv": added.as_ref().map(|added| &added.argv),
            "settings": settings.map(|(rule, env)| settings_json(rule, env)),
            "program": verdict.explanation.program.as_ref().map(|path| path.display().to_string()),
            "directory": verdict.explanation.directory.as_ref().map(|path| path.display().to_string()),
        }))?;
    } else {
        let path = |path: &std::path::PathBuf| path.display().to_string();
        let mut lines = vec![("reason", reason), ("rule", rule_text)];
        lines.extend(explained.iter().map(|part| ("word", Some(part.to_text()))));
        lines.extend(permits.into_iter().flatten().map(|permitted| ("permits", Some(permitted))));
        for (level, words) in added.iter().flat_map(|added| &added.inserted) {
            lines.push(("inserted", Some(format!("after `{level}`: {}", words.join(" ")))));
        }
        lines.extend(
            settings
                .into_iter()
                .flat_map(|(rule, env)| setting_rows(rule, env))
                .map(|(name, value)| (name, Some(value))),
        );
        lines.push(("program", verdict.explanation.program.as_ref().map(path)));
        lines.push(("directory", verdict.explanation.directory.as_ref().map(path)));
        let known = lines.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let lines: String = known.map(|(name, value)| format!("  {name:<13}{}\n", escape(&value))).collect();
        print(&format!("{decision}\n{lines}"))?;
    }
    Ok(outcome)
}

/// Accepts every path: what a word is does not depend on where it leads.
struct Anywhere;

impl PathJudge for Anywhere {
    fn judge(&mut self, claim: &Claim<'_, '_>) -> Result<HeldClaim, PathError> {
        Ok(HeldClaim { word: claim.word, access: claim.path.access, reached: None, narrowed: None })
    }
}

/// Explains each word by the form that matches; empty if none does, since then no reading is the right one.
fn explain(rule: &CommandRule, words: &[String]) -> Vec<Explained> {
    let Some(matched) = rule.judge(words, &mut Anywhere).matched else { return Vec::new() };
    let shown = matched.without_secrets(words);
    let mut readings: Vec<&Reading<'_>> = matched.readings.iter().collect();
    readings.sort_by_key(|reading| (reading.word, reading.from));
    let part = |(index, reading): (usize, &&Reading<'_>)| {
        // A part of a word ends where the next one begins: `-n5` is `-n` and `5`.
        let next = readings.get(index + 1).filter(|next| next.word == reading.word).map(|next| next.from);
        let word = shown.get(reading.word).map_or("", String::as_str);
        let text = word.get(reading.from..next.unwrap_or(word.len()).max(reading.from)).unwrap_or(word);
        let (role, what, at) = role(&reading.role);
        // A letter of a bundle: `-l` of `-ln5`.
        let is_letter = matches!(reading.role, Role::Option(_)) && reading.from > 0;
        let text = if is_letter { format!("-{text}") } else { text.trim_end_matches('=').to_owned() };
        Explained { text, role, what, at: at.map(place) }
    };
    readings.iter().enumerate().map(part).collect()
}

/// Explains each word if an entry of the allow-list allows the command with any arguments.
fn explain_entry(entry: &Rule, words: &[String]) -> Vec<Explained> {
    let part = |(index, word): (usize, &String)| {
        let (role, what) = match index {
            0 => ("command", format!("the command, by {entry}")),
            _ => ("anything", "any argument".to_owned()),
        };
        Explained { text: word.clone(), role, what, at: None }
    };
    words.iter().enumerate().map(part).collect()
}

/// Describes what an entry permits beyond this call, a sentence each.
fn permits(entry: &Rule, word: &str, parts: &Parts) -> Vec<String> {
    let what = match entry {
        Rule::Any => "every command".to_owned(),
        Rule::Project(_) => "every program of the project".to_owned(),
        Rule::Entry(_) | Rule::Described(_) => quoted(word),
    };
    let mut permitted =
        vec![format!("{what} with any arguments and any input, in every directory where calls may run")];
    permitted.extend(reach_of(word).map(|reach| format!("{} {}", quoted(word), reach.meaning())));
    permitted.push(match parts.confinement.describe() {
        Some(sandbox) => format!("what the sandbox lets it do: {sandbox}"),
        None => "whatever the server's user can do, since there is no sandbox".to_owned(),
    });
    let profile =
        profile_describing(word).map(|profile| format!("more than the profile `{profile}`, which is narrower"));
    permitted.extend(profile);
    permitted
}

fn role<'p>(role: &Role<'p>) -> (&'static str, String, Option<&'p Origin>) {
    match role {
        Role::Name(level) if level.path.len() == 1 => ("command", "the command".to_owned(), Some(&level.origin)),
        Role::Name(level) => ("subcommand", "a subcommand".to_owned(), Some(&level.origin)),
        Role::Option(option) => {
            ("option", format!("the option `{}`", option.spellings.join(", ")), Some(&option.origin))
        }
        Role::Value(option, value) => {
            let spelling = option.spellings.first().map_or("", String::as_str);
            let what = value_text(value, &option.restrictions);
            ("value", format!("the value of `{spelling}`: {what}"), Some(&option.origin))
        }
        Role::Operand(operand) => {
            let name = operand.name.as_ref().map_or_else(String::new, |name| format!("{name}: "));
            let what = value_text(&operand.value, &operand.restrictions);
            ("operand", format!("{name}{what}"), Some(&operand.origin))
        }
        Role::DoubleDash => ("double_dash", "the end of the options".to_owned(), None),
        Role::Anything => ("anything", "any argument".to_owned(), None),
    }
}

/// A type, with what is decided about single values of it.
fn value_text(value: &ValueType, restrictions: &[Restriction]) -> String {
    let described = described(value);
    restricted(restrictions).map_or_else(|| described.clone(), |restricted| format!("{described}; {restricted}"))
}

impl Explained {
    fn to_text(&self) -> String {
        let at = self.at.as_ref().map_or_else(String::new, |at| format!(", {}", shown_place(at)));
        format!("{:?}: {}{at}", self.text, self.what)
    }
}

fn added(rule: &CommandRule, words: &[String]) -> Option<Added> {
    let matched = rule.judge(words, &mut Anywhere).matched?;
    let inserting = matched.levels.iter().filter(|(level, _)| !level.insert.is_empty());
    let inserted = inserting.map(|(level, _)| (level.title(), level.insert.clone())).collect();
    // Secret values are hidden first, and then the inserted words are added.
    let argv = matched.with_inserted(&matched.without_secrets(words));
    Some(Added { inserted, argv, env: matched.env() })
}

/// Describes the settings of a rule for its calls, a row each.
fn setting_rows(rule: &CommandRule, env: &EnvRule) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    rows.extend(env.set.iter().map(|(name, value)| ("environment", format!("{name}={value}"))));
    if !env.unset.is_empty() {
        rows.push(("environment", format!("without {}", env.unset.join(", "))));
    }
    rows.push(("input", if rule.stdin { "taken" } else { "refused" }.to_owned()));
    if !rule.cwd_under.is_empty() {
        rows.push(("runs under", rule.cwd_under.join(", ")));
    }
    if let Some(timeout) = rule.timeout {
        rows.push(("timeout", format!("{timeout:?}")));
    }
    if !rule.success_exit_codes.is_empty() {
        let codes: Vec<String> = rule.success_exit_codes.iter().map(ToString::to_string).collect();
        rows.push(("success", format!("exit codes {}", codes.join(", "))));
    }
    rows.extend(sandbox(&rule.sandbox).map(|text| ("sandbox", text)));
    rows.extend(limits(&rule.limits).map(|text| ("limits", text)));
    if rule.read_only {
        rows.push(("read only", "what it can run changes nothing".to_owned()));
    }
    rows
}

/// Describes the settings of a rule for its calls, as JSON.
fn settings_json(rule: &CommandRule, env: &EnvRule) -> Value {
    let CommandRule { cwd_under, stdin, timeout, success_exit_codes, sandbox, limits, read_only, .. } = rule;
    json!({
        "environment": {"set": env.set, "unset": env.unset},
        "cwd": {"under": cwd_under},
        "stdin": stdin,
        "timeout_ms": timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
        "success_exit_codes": success_exit_codes,
        "sandbox": {
            "level": sandbox.level.map(level),
            "exec": if sandbox.exec_own { Some("own") } else { None },
            "network": sandbox.network.as_ref().map(ToString::to_string),
            "paths": if sandbox.paths_claimed { Some("claimed") } else { None },
            "write": sandbox.writes.map(|writes| if writes { "full" } else { "none" }),
        },
        "limits": {
            "memory": limits.memory,
            "file_size": limits.file_size,
            "cpu_ms": limits.cpu.map(|cpu| u64::try_from(cpu.as_millis()).unwrap_or(u64::MAX)),
            "processes": limits.processes,
            "open_files": limits.open_files,
        },
        "read_only": read_only,
    })
}

fn level(level: SandboxWord) -> &'static str {
    match level {
        SandboxWord::Off => "off",
        SandboxWord::Workspace => "workspace",
        SandboxWord::Strict => "strict",
    }
}

/// The sandbox in words; `None` where the rule leaves it to the settings.
pub(super) fn sandbox(rule: &SandboxRule) -> Option<String> {
    let network = rule.network.as_ref().map(|network| match network {
        Network::None => "no network".to_owned(),
        Network::Loopback => "a loopback network of its own".to_owned(),
        Network::Ports(ports) => format!("no network but {}", ports.in_words()),
        Network::Full => "network".to_owned(),
    });
    let parts = [
        rule.level.map(level),
        rule.exec_own.then_some("executes only its own program"),
        network.as_deref(),
        rule.paths_claimed.then_some("touches only the claimed paths"),
        rule.writes_nothing().then_some("writes nothing"),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The limits in words; `None` where the rule leaves them to the settings.
pub(super) fn limits(rule: &LimitsRule) -> Option<String> {
    let number = |name: &str, number: Option<u64>| number.map(|number| format!("{name} {number}"));
    let parts = [
        number("memory", rule.memory),
        number("file size", rule.file_size),
        rule.cpu.map(|cpu| format!("cpu {cpu:?}")),
        number("processes", rule.processes),
        number("open files", rule.open_files),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
