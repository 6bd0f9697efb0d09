//! The differences between what two policies say of a command: of its arguments, and of the settings for its calls. Probes show
//! only what some line can show, and can't try every value.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::explain;
use super::within;
use crate::network::Network;
use crate::policy::rules::{
    Arguments, CommandRule, EnvRule, Level, LimitsRule, Operand, OptionRule, RedirectionType, Redirections,
    Restriction, Rules, SandboxRule, SandboxWord, Takes, ValuePlace, ValueType, described, restricted, written,
};

/// Something that the two policies say differently about a command, or about the redirections `>` and `<`.
pub(super) struct Setting {
    command: String,
    what: &'static str,
    old: String,
    new: String,
    pub(super) is_wider: bool,
}

impl Setting {
    /// Compares what two rules say; `is_within` says whether the new one lies within the old one, and the reverse. `None` if both do.
    fn new(command: &str, what: &'static str, old: &str, new: &str, is_within: (bool, bool)) -> Option<Self> {
        let is_same = is_within == (true, true);
        let (command, old, new) = (command.to_owned(), old.to_owned(), new.to_owned());
        (!is_same).then_some(Self { command, what, old, new, is_wider: !is_within.0 })
    }

    pub(super) fn to_text(&self) -> String {
        format!("{} of `{}`: {} → {}", self.what, self.command, self.old, self.new)
    }

    pub(super) fn to_json(&self) -> Value {
        let Self { command, what, old, new, is_wider } = self;
        json!({"command": command, "what": what, "old": old, "new": new, "wider": is_wider})
    }
}

/// Returns what the two policies say differently. A change counts as wider unless it is known to be narrower.
pub(super) fn settings(old: &Rules, new: &Rules) -> Vec<Setting> {
    let mut all = redirections(old.redirections(), new.redirections());
    for after in new.iter() {
        match old.get(&after.name) {
            Some(before) => all.extend(of_command(before, after)),
            None => all.extend(Setting::new(&after.name, "rule", "none", "new", (after.level.only_denies(), false))),
        }
    }
    for before in old.iter().filter(|before| new.get(&before.name).is_none()) {
        all.extend(Setting::new(&before.name, "rule", "there is one", "none", (true, false)));
    }
    all
}

/// Compares the rules for a command. A field that is new in a rule doesn't compile until it is compared here, or named as one that
/// says nothing about what runs.
fn of_command(before: &CommandRule, after: &CommandRule) -> Vec<Setting> {
    let CommandRule {
        name,
        origin: _,
        program,
        level,
        cwd_under,
        stdin,
        timeout,
        success_exit_codes,
        sandbox,
        limits,
        read_only,
        examples: _,
    } = after;
    let mut all = Vec::new();
    let mut add = |what, old: String, new: String, is_narrower: bool| {
        if old != new {
            all.push(Setting { command: name.clone(), what, old, new, is_wider: !is_narrower });
        }
    };
    let (was, is) = (inserted(before), inserted(after));
    // Inserting more words after the same ones is meant to narrow; any other change deserves a look.
    let keeps = was.iter().all(|(title, was)| match is.get(title) {
        Some(is) => is.starts_with(was),
        None => level_is_gone(title, after),
    });
    add("inserted words", inserted_shown(&was), inserted_shown(&is), keeps);
    add("input", before.stdin.to_string(), stdin.to_string(), !stdin);
    let is_narrower = before.cwd_under.is_empty()
        || (!cwd_under.is_empty() && cwd_under.iter().all(|under| before.cwd_under.contains(under)));
    add("`cwd`", none_or(&before.cwd_under.join(", ")), none_or(&cwd_under.join(", ")), is_narrower);
    let shown = |rule: &SandboxRule| explain::sandbox(rule).unwrap_or_else(|| "none".to_owned());
    add("sandbox", shown(&before.sandbox), shown(sandbox), sandbox_is_narrower(&before.sandbox, sandbox));
    let shown = |rule: &LimitsRule| explain::limits(rule).unwrap_or_else(|| "none".to_owned());
    add("limits", shown(&before.limits), shown(limits), limits_are_narrower(&before.limits, limits));
    let shown = |program: &Option<String>| program.clone().unwrap_or_else(|| "none".to_owned());
    add("program", shown(&before.program), shown(program), false);
    let is_shorter = before.timeout.is_none_or(|was| timeout.is_some_and(|is| is <= was));
    let shown = |timeout: Option<Duration>| timeout.map_or_else(|| "none".to_owned(), |timeout| format!("{timeout:?}"));
    add("timeout", shown(before.timeout), shown(*timeout), is_shorter);
    let shown = |codes: &[i32]| none_or(&codes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    let is_narrower = success_exit_codes.iter().all(|code| *code == 0 || before.success_exit_codes.contains(code));
    add("`success_exit_codes`", shown(&before.success_exit_codes), shown(success_exit_codes), is_narrower);
    add("`read_only`", before.read_only.to_string(), read_only.to_string(), !read_only);
    let (was, is) = (environments(before), environments(after));
    let (shown_was, shown_is) = (environments_shown(&was), environments_shown(&is));
    let is_within = (keeps_environments(&was, &is), keeps_environments(&is, &was));
    all.extend(Setting::new(name, "environment", &shown_was, &shown_is, is_within));
    let is_within = (within::level(level, &before.level), within::level(&before.level, level));
    let (was, is) = (said(&before.level), said(level));
    let only = |these: &[String], those: &[String]| {
        let only: Vec<&str> = these.iter().filter(|one| !those.contains(one)).map(String::as_str).collect();
        none_or(&only.join("; "))
    };
    all.extend(Setting::new(name, "arguments", &only(&was, &is), &only(&is, &was), is_within));
    all
}

/// Compares the files that redirections may name.
fn redirections(old: Option<&Redirections>, new: Option<&Redirections>) -> Vec<Setting> {
    let nothing = Redirections::default();
    let Redirections { write, read } = new.unwrap_or(&nothing);
    let old = old.unwrap_or(&nothing);
    let shown = |own: &Option<RedirectionType>| {
        own.as_ref().map_or_else(
            || "any that calls may name".to_owned(),
            |own| restrictedly(described_fully(&ValueType::Path(own.path.clone())), &own.restrictions),
        )
    };
    let compared = [(">", &old.write, write), ("<", &old.read, read)].map(|(sign, was, is)| {
        let within = |new: &Option<RedirectionType>, old: &Option<RedirectionType>| {
            within::redirection(new.as_ref(), old.as_ref())
        };
        Setting::new(sign, "files", &shown(was), &shown(is), (within(is, was), within(was, is)))
    });
    compared.into_iter().flatten().collect()
}

/// Describes what a level and those below it allow, a line for each part.
fn said(level: &Level) -> Vec<String> {
    let mut all = Vec::new();
    for level in level.levels() {
        let title = level.title();
        let mut say = |what: String| all.push(format!("`{title}`: {what}"));
        say(format!("the syntax {}, the order {}", level.syntax.name(), level.order.name()));
        if level.refuses_double_dash {
            say("no `--`".to_owned());
        }
        match &level.arguments {
            Arguments::Any { effect, .. } => say(format!("any arguments, {}", effect.name())),
            Arguments::Described { options, forms, .. } => {
                options.iter().for_each(|own| say(option(own)));
                for (number, form) in (1..).zip(forms) {
                    let of_form = form.options.iter().filter(|own| !options.iter().any(|other| other == *own));
                    let mut parts: Vec<String> = of_form.map(|own| option(own)).collect();
                    parts.extend(form.operands.iter().map(operand));
                    if let Some(after) = &form.after_double_dash {
                        parts.push(format!(
                            "after `--` {}",
                            none_or(&after.iter().map(operand).collect::<Vec<_>>().join(", "))
                        ));
                    }
                    say(format!("form {number}, {}: {}", form.effect.name(), none_or(&parts.join(", "))));
                }
            }
        }
    }
    all
}

fn option(option: &OptionRule) -> String {
    let spelled = option.spellings.join(", ");
    let mut text = match &option.takes {
        Takes::Flag => format!("{spelled}: a flag"),
        Takes::Value { value, place } => {
            let place = match place {
                ValuePlace::Anywhere => "",
                ValuePlace::Attached => " in its own word",
                ValuePlace::Optional => " that may be left out",
            };
            format!("{spelled}: {}{place}", restrictedly(described_fully(value), &option.restrictions))
        }
    };
    for (word, is_so) in
        [("required", option.is_required), ("leading", option.is_leading), ("secret", option.is_secret)]
    {
        if is_so {
            text.push_str(&format!(" ({word})"));
        }
    }
    text
}

fn operand(operand: &Operand) -> String {
    let name = operand.name.as_ref().map_or_else(String::new, |name| format!("{name}: "));
    let value = restrictedly(described_fully(&operand.value), &operand.restrictions);
    let count = match (operand.least, operand.most) {
        (1, Some(1)) => String::new(),
        (least, Some(most)) => format!(", {least} to {most} times"),
        (least, None) => format!(", at least {least} times"),
    };
    format!("{name}{value}{count}{}", if operand.is_secret { " (secret)" } else { "" })
}

/// Describes a type with what a refusal leaves out.
fn described_fully(value: &ValueType) -> String {
    let mut text = described(value);
    match value {
        ValueType::Path(path) => {
            if !path.except.is_empty() {
                text.push_str(&format!(" without {}", path.except.join(", ")));
            }
            if path.exists {
                text.push_str(" that exists");
            }
            if let Some(chars) = &path.chars {
                text.push_str(&format!(" of the characters {}", chars.text()));
            }
        }
        ValueType::Text(of) if !of.first.is_empty() => text.push_str(&format!(" that may begin with {}", of.first)),
        ValueType::Integer { .. } | ValueType::OneOf(_) | ValueType::Text(_) => {}
    }
    text
}

fn restrictedly(value: String, restrictions: &[Restriction]) -> String {
    restricted(restrictions).map_or_else(|| value.clone(), |restricted| format!("{value}; {restricted}"))
}

/// Whether the level with these inserted words is no longer described, so that nothing can run without them.
fn level_is_gone(title: &str, after: &CommandRule) -> bool {
    let is_there = |title: &str| after.level.levels().iter().any(|level| level.title() == title);
    let has_any = after
        .level
        .levels()
        .iter()
        .any(|level| matches!(level.arguments, Arguments::Any { .. }) && title.starts_with(&level.title()));
    !is_there(title) && !has_any
}

fn sandbox_is_narrower(was: &SandboxRule, is: &SandboxRule) -> bool {
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
    let SandboxRule { level, exec_own, network, paths_claimed, writes: _ } = is;
    rank(*level) >= rank(was.level)
        && is_network_narrower(was.network.as_ref(), network.as_ref())
        && *exec_own >= was.exec_own
        && *paths_claimed >= was.paths_claimed
        && is.writes_nothing() >= was.writes_nothing()
}

fn limits_are_narrower(was: &LimitsRule, is: &LimitsRule) -> bool {
    fn keeps<T: PartialOrd>(was: Option<T>, is: Option<T>) -> bool {
        was.is_none_or(|was| is.is_some_and(|is| is <= was))
    }
    let LimitsRule { memory, file_size, cpu, processes, open_files } = is;
    keeps(was.memory, *memory)
        && keeps(was.file_size, *file_size)
        && keeps(was.cpu, *cpu)
        && keeps(was.processes, *processes)
        && keeps(was.open_files, *open_files)
}

/// The words that each level inserts, by its title.
fn inserted(rule: &CommandRule) -> BTreeMap<String, Vec<String>> {
    let levels = rule.level.levels().into_iter().filter(|level| !level.insert.is_empty());
    levels.map(|level| (level.title(), level.insert.clone())).collect()
}

fn inserted_shown(all: &BTreeMap<String, Vec<String>>) -> String {
    none_or(&all.iter().map(|(title, words)| format!("{title}: {}", written(words))).collect::<Vec<_>>().join("; "))
}

fn none_or(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { text.to_owned() }
}

/// The environment of the calls of each level, by its path.
fn environments(rule: &CommandRule) -> BTreeMap<Vec<String>, EnvRule> {
    let mut all: BTreeMap<Vec<String>, EnvRule> = BTreeMap::new();
    for level in rule.level.levels() {
        let above = level.path.split_last().and_then(|(_, above)| all.get(above));
        let mut env = above.cloned().unwrap_or_default();
        env.add(&level.env);
        all.insert(level.path.clone(), env);
    }
    all
}

/// The environment of a level, or of the nearest one above it that is described.
fn nearest<'e>(all: &'e BTreeMap<Vec<String>, EnvRule>, path: &[String]) -> Option<&'e EnvRule> {
    (1..=path.len()).rev().find_map(|length| all.get(path.get(..length)?))
}

/// Whether the calls of each level keep their environment.
fn keeps_environments(was: &BTreeMap<Vec<String>, EnvRule>, is: &BTreeMap<Vec<String>, EnvRule>) -> bool {
    is.iter().all(|(path, is)| nearest(was, path).is_some_and(|was| keeps_environment(was, is)))
}

/// Whether each variable that was set or removed still is, and no line may set another one or another value.
fn keeps_environment(was: &EnvRule, is: &EnvRule) -> bool {
    let EnvRule { set, unset, accept } = is;
    was.set.iter().all(|(name, value)| set.get(name) == Some(value))
        && was.unset.iter().all(|name| unset.contains(name))
        && accept.iter().all(|(name, is)| was.accept.get(name).is_some_and(|was| within::value(is, was)))
}

/// The environment of the command, and of each subcommand that differs from it.
fn environments_shown(all: &BTreeMap<Vec<String>, EnvRule>) -> String {
    let mut all = all.iter();
    let Some((_, of_command)) = all.next() else { return none_or("") };
    let others = all.filter(|(_, env)| *env != of_command);
    let others = others.map(|(path, env)| format!("; {}: {}", path.join(" "), environment(env)));
    environment(of_command) + &others.collect::<String>()
}

/// `A=1 B=2, without C D, E from lines: a text`, with values quoted if necessary.
fn environment(rule: &EnvRule) -> String {
    let set: Vec<String> = rule.set.iter().map(|(name, value)| written(&[format!("{name}={value}")])).collect();
    let accepted = rule.accept.iter();
    let accepted: Vec<String> =
        accepted.map(|(name, value)| format!("{name} from lines: {}", described_fully(value))).collect();
    let parts = [
        set.join(" "),
        if rule.unset.is_empty() { String::new() } else { format!("without {}", rule.unset.join(" ")) },
        accepted.join(", "),
    ];
    none_or(&parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
