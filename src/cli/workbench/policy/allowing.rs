//! How an operator would allow a command that nothing allows: for `check`, and for the log of a server.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use super::change::{Change, Settings};
use super::rule_yaml::{Printed, quoted};
use super::suggest::{ADDED, WIDENED, does, is_assignment, narrowest, of_profiles, outside, runs_anything};
use super::widened;
use crate::config::Config;
use crate::policy::rules::texts::flow;
use crate::policy::rules::{
    CommandRule, Effect, Level, ListEntry, PolicySource, RuleHead, Rules, SandboxWord, describes, profile_names,
};
use crate::policy::{CommandLineError, Explanation, Lines, is_path};
use crate::server::Suggests;

/// How many profiles are named.
const MOST_PROFILES: usize = 2;

/// The ways, the first of which is the best; none if more than a description is missing.
#[derive(Debug, Default)]
pub(in crate::cli) struct Allowing(Vec<Way>);

#[derive(Debug)]
enum Way {
    /// A shipped profile allows it; how it is taken.
    Profile(&'static str, String),
    /// The narrowest rule, as lines of YAML, and where they go.
    Rule { lines: String, place: String },
    /// A sentence that says what else would be needed.
    Other(String),
    /// There is none, and why.
    None(String),
}

impl Way {
    /// The same way after something else that is needed.
    fn after(self, first: &str) -> Self {
        let and = |how: String| format!("{first}, and {how}");
        match self {
            Self::Profile(profile, how) => Self::Profile(profile, and(how)),
            Self::Rule { lines, place } => Self::Rule { lines, place: and(place) },
            Self::Other(how) => Self::Other(and(how)),
            Self::None(why) => Self::None(why),
        }
    }
}

impl Allowing {
    /// Finds the ways for a command that was refused.
    pub(in crate::cli) fn of(explanation: &Explanation, is_refused: bool, config: &Config) -> Self {
        if !is_refused || !explanation.lacks_something() {
            return Self::default();
        }
        Self(ways(explanation, &config.rules, &Settings::of(config)))
    }

    /// The way for a line that was not read, since lines are off.
    pub(in crate::cli) fn of_line(error: &CommandLineError, config: &Config) -> Self {
        let is_line = matches!(error, CommandLineError::Syntax { .. }) && config.lines.value == Lines::Off;
        let reads = "set `lines: on` (`--lines on`): then lines of several commands are read, and each is decided on";
        Self((is_line && cfg!(unix)).then(|| Way::Other(reads.to_owned())).into_iter().collect())
    }

    /// The rows of the table that `check` prints.
    pub(in crate::cli) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        for way in &self.0 {
            match way {
                Way::Profile(profile, how) => {
                    rows.push((
                        "to allow",
                        format!("{how}; `allowexec policy show {profile}` says what else it allows"),
                    ));
                }
                Way::Rule { lines, place } => {
                    rows.push(("to allow", format!("{place}, after a look at it:")));
                    rows.extend(lines.lines().map(|line| ("", line.to_owned())));
                }
                Way::Other(sentence) => rows.push(("to allow", sentence.clone())),
                Way::None(why) => rows.push(("to allow", unsuggested(why))),
            }
        }
        rows
    }

    /// The same for programs.
    pub(in crate::cli) fn to_json(&self) -> Value {
        let way = |way: &Way| match way {
            Way::Profile(profile, how) => json!({"profile": profile, "how": how}),
            Way::Rule { lines, place } => json!({"policy": format!("version: 1\n{lines}"), "how": place}),
            Way::Other(sentence) => json!({"how": sentence}),
            Way::None(why) => json!({"how": unsuggested(why)}),
        };
        Value::Array(self.0.iter().map(way).collect())
    }
}

fn unsuggested(why: &str) -> String {
    format!("no rule is suggested: {why}")
}

/// Says the ways in one line, for the log of a server.
pub(in crate::cli) fn suggestions(config: &Config) -> Option<Suggests> {
    let settings = Settings::of(config);
    Some(Arc::new(move |refused: &Explanation, rules: &Rules| {
        let said = |way: Way| match way {
            Way::Profile(_, how) | Way::Other(how) => Some(how),
            Way::None(why) => Some(unsuggested(&why)),
            Way::Rule { lines, place } => Some(format!("{place}: {}", flow(&widened::without_values(&lines))?)),
        };
        let said: Vec<String> = ways(refused, rules, &settings).into_iter().filter_map(said).collect();
        (!said.is_empty()).then(|| said.join("; or "))
    }))
}

fn ways(refused: &Explanation, rules: &Rules, settings: &Settings) -> Vec<Way> {
    let Some(name) = refused.words.first() else { return Vec::new() };
    let is_known = |base: &str| settings.single.iter().any(|entry| entry == base) || rules.describes(base);
    if !rules.describes(name) && name.rsplit_once('/').is_some_and(|(_, base)| is_known(base)) {
        // It is to be called by its name, as the refusal says.
        return Vec::new();
    }
    if let Some((variable, _)) = name.split_once('=').filter(|_| is_assignment(name)) {
        let how = format!(
            "set it with `--env` for every command, or let lines set it: `lines: on` and `line_env: [{variable}]`"
        );
        return vec![Way::Other(how)];
    }
    if !refused.barred.is_empty() && refused.lacks_rule() {
        let barred = refused.barred.iter().map(|name| format!("`{name}=…`")).collect::<Vec<_>>().join(", ");
        let leave = format!("leave out {barred}, which the rule for `{name}` decides itself");
        let without = Explanation { barred: Vec::new(), ..refused.clone() };
        return ways(&without, rules, settings).into_iter().map(|way| way.after(&leave)).collect();
    }
    let added = added_by_rule(refused, rules);
    let without: Vec<String> = refused.words.iter().filter(|word| !added.contains(word)).cloned().collect();
    if rules.get(name).filter(|_| !added.is_empty()).is_some_and(|rule| describes(rule, &without)) {
        let added = added.into_iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        return vec![Way::Other(format!("leave out {added}: the rule for `{name}` adds it to each call"))];
    }
    let needs_rule = refused.lacks_rule() || refused.lacks_input();
    let mut ways = if needs_rule { for_words(name, refused, rules, settings) } else { Vec::new() };
    if !refused.variables.is_empty() {
        let (names, flag) = (refused.variables.join(", "), refused.variables.join(","));
        let lets = format!(
            "let lines set {names} (`line_env: [{names}]`, `--line-env {flag}`, or `env: {{accept: …}}` in a rule)"
        );
        if ways.is_empty() {
            ways.push(Way::Other(lets));
        } else {
            ways = ways.into_iter().map(|way| way.after(&lets)).collect();
        }
    }
    let in_environment = settings.in_environment(name, rules);
    let own = in_environment.as_deref().unwrap_or(name);
    let sought = rules.get(name).map_or(own, |rule| rule.sought());
    if settings.programs.find_listed(sought).is_none() {
        let missing = match is_path(sought) {
            true => format!("make `{sought}`, which is no executable file"),
            false => format!("install `{sought}`, which was not found in the directories of PATH"),
        };
        ways = ways.into_iter().map(|way| way.after(&missing)).collect();
    }
    ways
}

/// The words of a call that its rule inserts itself.
fn added_by_rule<'w>(refused: &'w Explanation, rules: &Rules) -> Vec<&'w String> {
    let Some((name, words)) = refused.words.split_first() else { return Vec::new() };
    let levels = rules.get(name).map(|rule| rule.level.levels()).unwrap_or_default();
    let is_called = |level: &&Level| level.path.iter().skip(1).all(|part| words.contains(part));
    let inserted: Vec<&String> = levels.into_iter().filter(is_called).flat_map(|level| &level.insert).collect();
    words.iter().filter(|word| inserted.contains(word)).collect()
}

/// The ways to allow the words, and what they are given to read.
fn for_words(name: &str, refused: &Explanation, rules: &Rules, settings: &Settings) -> Vec<Way> {
    let program = settings.in_environment(name, rules);
    let profiles = profiles_for(&refused.words);
    let profiles: Vec<Way> = match &program {
        Some(program) => {
            profiles.filter_map(|profile| extending(profile, program, refused, rules, settings)).take(1).collect()
        }
        None => profiles.filter_map(|profile| take(profile, refused, rules, settings)).take(MOST_PROFILES).collect(),
    };
    if !profiles.is_empty() {
        return profiles;
    }
    let program = program.as_deref();
    let narrow = || rule(name, program, refused, rules, settings);
    let is_entry =
        rules.get(name).is_some_and(|rule| matches!(*rule.origin.source, PolicySource::Allow | PolicySource::Ask));
    let unlimited = |does: &str| unlimited(name, program, refused, rules, settings, does);
    match does(name).filter(|_| outside(&refused.words, &settings.roots).is_none()) {
        Some(does) if runs_anything(name, &of_profiles()) => match is_entry {
            true => vec![Way::None(does)],
            false => unlimited(&does),
        },
        Some(does) if !is_entry => narrow().map_or_else(|_| unlimited(&does), |way| vec![way]),
        Some(_) | None => vec![narrow().unwrap_or_else(Way::None)],
    }
}

/// A rule that extends a profile, for the program of an environment.
fn extending(profile: &str, program: &str, refused: &Explanation, rules: &Rules, settings: &Settings) -> Option<Way> {
    let name = refused.words.first()?;
    let rule = format!("commands:\n  {}:\n    extends: {profile}\n    program: {}\n", quoted(name), quoted(program));
    let of_place = |(place, how): (Change, String)| (Change { lines: place.lines.clone() + &rule, ..place }, how);
    let mut places = settings.places(name, rules).into_iter().map(of_place);
    let (change, place) = places.find(|(change, _)| settings.allows(refused, change).is_ok())?;
    Some(Way::Rule { lines: change.lines, place })
}

/// How a shipped profile is taken that describes this command; `None` if it can't be taken here.
fn take(profile: &'static str, refused: &Explanation, rules: &Rules, settings: &Settings) -> Option<Way> {
    let name = refused.words.first()?;
    let of_profile = Rules::read(&[], &[profile.to_owned()], &[]).unwrap_or_default();
    let listed = || format!("profiles: [{profile}]\n");
    let flags = |but: &str| {
        let others = settings.profiles.iter().filter(|name| *name != but).cloned();
        Change { profiles: others.chain([profile.to_owned()]).collect(), ..settings.change(None, String::new()) }
    };
    let origin = rules.get(name).map(|rule| &rule.origin);
    let ways: Vec<(Change, String)> = match (origin.map(|origin| (&*origin.source, origin)), settings.files.first()) {
        (Some((PolicySource::File(_), origin)), _) => {
            let lines = format!("commands: {{{}: {{extends: {profile}}}}}", quoted(name));
            let how = format!("say `extends: {profile}` in the rule for `{name}` in {origin}");
            settings
                .places(name, rules)
                .into_iter()
                .map(|(place, _)| (Change { lines: lines.clone(), ..place }, how.clone()))
                .collect()
        }
        (Some((PolicySource::Profile(used), _)), _) if settings.profiles.contains(used) => vec![
            (flags(""), format!("take the profile {profile} beside {used}, or in its place")),
            (flags(used), format!("take the profile {profile} in place of {used}")),
        ],
        (_, Some(_)) => {
            let to = |(number, file): (usize, &PathBuf)| {
                (
                    settings.change(Some(number), listed()),
                    format!("add `{profile}` to `profiles` in {}", file.display()),
                )
            };
            // What runs the project's code, its tests too, keeps the loopback that every other command has.
            let runs_project = |head: RuleHead<'_>| head.sandbox.level == Some(SandboxWord::Workspace);
            let keeps_loopback = settings.has_loopback && of_profile.head(name).is_some_and(runs_project);
            let network = if keeps_loopback { "    sandbox: {network: loopback}\n" } else { "" };
            let extends = |(number, file): (usize, &PathBuf)| {
                let lines = format!("commands:\n  {}:\n    extends: {profile}\n{network}", quoted(name));
                (settings.change(Some(number), lines), format!("add to {}", file.display()))
            };
            // A rule of the file for another command of the profile would replace that of the profile, with a warning at each start.
            let is_own = |rule: &&Arc<CommandRule>| matches!(&*rule.origin.source, PolicySource::File(_));
            let files = || settings.files.iter().enumerate();
            match keeps_loopback || rules.written().filter(is_own).any(|rule| of_profile.describes(&rule.name)) {
                true => files().map(extends).chain(files().map(to)).collect(),
                false => files().map(to).collect(),
            }
        }
        (_, None) => vec![(flags(""), format!("take the profile {profile} (`--profile {profile}`)"))],
    };
    let (change, mut how) = ways.into_iter().find(|(change, _)| settings.allows(refused, change).is_ok())?;
    // It writes there, which a sandbox has to grant.
    if let Some(locked) = settings.locked.as_ref().filter(|_| profile == "git-commit") {
        let line = quoted(&locked.display().to_string());
        let file = settings.configuration.as_ref().map(|file| format!(" in {}", file.display())).unwrap_or_default();
        how.push_str(&format!(", and take in the line `- {line}` under `write`{file}"));
    }
    if matches!(profile, "git-commit" | "coreutils-write") {
        how.push_str(&of_read_only(settings));
    }
    if let Some(why) = outside(&refused.words, &settings.roots) {
        how.push_str(&format!("; {why}"));
    }
    // A new rule is whole lines; what else is said of a rule or of a list, an operator writes into what is there.
    Some(match change.lines.starts_with("commands:\n") {
        true => Way::Rule {
            lines: change.lines,
            place: format!("{how} (`allowexec policy show {profile}` is what it extends)"),
        },
        false => Way::Profile(profile, how),
    })
}

/// A sentence on files that a rule can't write, wherever it says `path: write`, since the sandbox keeps them; empty if there are none.
fn of_read_only(settings: &Settings) -> String {
    match settings.read_only.first() {
        Some(root) => format!(
            "; the sandbox lets commands write only in some directories of {}: settings elsewhere (`allowexec init --to DIR`) let them \
             write in all of it",
            root.display()
        ),
        None => String::new(),
    }
}

/// The shipped profiles whose rules allow these words, or ask about them. A program of an environment is called by its path, too.
fn profiles_for(words: &[String]) -> impl Iterator<Item = &'static str> {
    let name = words.first().and_then(|name| name.rsplit('/').next()).unwrap_or_default();
    profile_names().filter(move |profile| {
        let rules = Rules::read(&[], &[(*profile).to_owned()], &[]).unwrap_or_default();
        let rule = rules.describes(name).then(|| rules.get(name)).flatten();
        rule.is_some_and(|rule| describes(rule, words))
    })
}

/// The narrowest rule for the words, or what is to be added to the rule that there is.
///
/// # Errors
/// Why none is suggested, as a sentence.
fn rule(
    name: &str,
    program: Option<&str>,
    refused: &Explanation,
    rules: &Rules,
    settings: &Settings,
) -> Result<Way, String> {
    let words = refused.words.as_slice();
    let known = of_profiles();
    if let Some(why) = outside(words, &settings.roots) {
        return Err(why);
    }
    let described = rules.get(name);
    let ways: &[Printed] = match described.map(|rule| &*rule.origin.source) {
        Some(PolicySource::Allow) => return entry(refused, Effect::Allow, settings),
        Some(PolicySource::Ask) => return entry(refused, Effect::Ask, settings),
        Some(PolicySource::Profile(_)) => &ADDED,
        Some(PolicySource::File(_)) => &[ADDED[0], ADDED[1], Printed::All],
        None => &[Printed::All],
    };
    let takes_input = described.is_some_and(|rule| rule.stdin);
    let mut own = program.map(|program| format!("    program: {}\n", quoted(program))).unwrap_or_default();
    if refused.has_input && !takes_input {
        own.push_str("    stdin: true\n");
    }
    let calls = BTreeSet::from([words]);
    let mut why = String::new();
    for (place, how) in settings.places(name, rules) {
        let lines = |text: &str| format!("{}{}", place.lines, without_examples(text, &own));
        let accepts = |text: &str| settings.allows(refused, &Change { lines: lines(text), ..place.clone() });
        match narrowest(name, &calls, described.or(known.get(name)), ways, accepts) {
            Ok(text) => {
                let lines = lines(&text);
                let writes = if lines.contains("path: write") { of_read_only(settings) } else { String::new() };
                return Ok(Way::Rule { lines, place: how + &writes });
            }
            Err(wrong) => why = wrong,
        }
    }
    let Some((number, old)) = settings.own_rule(name, rules) else { return Err(why) };
    let lines = |text: &str| without_examples(text, &own);
    let accepts = |text: &str| {
        let new = widened::in_rule(name, &lines(text)).ok_or(why.as_str())?;
        let rule = widened::widened(&old, &new).ok_or(why.as_str())?;
        settings.allows(refused, &replacing(name, number, rule, settings))
    };
    let text = narrowest(name, &calls, described.or(known.get(name)), &WIDENED, accepts)?;
    let new = widened::in_rule(name, &lines(&text)).and_then(|new| widened::widened(&old, &new)).ok_or(why)?;
    let lines = replacing(name, number, new, settings).lines;
    Ok(Way::Rule { lines, place: in_place_of(name, rules) })
}

/// The change of the rule for a command in the policy file of this number.
fn replacing(name: &str, number: usize, rule: serde_yaml::Value, settings: &Settings) -> Change {
    let lines = widened::lines(name, rule);
    Change { replaces: Some(name.to_owned()), ..settings.change(Some(number), lines) }
}

fn in_place_of(name: &str, rules: &Rules) -> String {
    let origin = rules.get(name).map_or_else(String::new, |rule| rule.origin.to_string());
    format!("write this in place of the rule for `{name}` in {origin}")
}

/// The ways to allow a program that runs code or starts others: this very call, and any. `does` is what it does.
fn unlimited(
    name: &str,
    program: Option<&str>,
    refused: &Explanation,
    rules: &Rules,
    settings: &Settings,
    does: &str,
) -> Vec<Way> {
    use serde_yaml::{Mapping, Value};
    let arguments = refused.words.get(1..).unwrap_or_default();
    let takes_input = rules.get(name).is_some_and(|rule| rule.stdin);
    let limited = Mapping::from_iter([(Value::from("operands"), widened::exactly(arguments))]);
    let anything = Mapping::from_iter([(Value::from("operands"), Value::from(vec![widened::anything()]))]);
    let input = || (refused.has_input && !takes_input).then(|| ("stdin".into(), true.into()));
    let own = |program: &str| ("program".into(), program.into());
    // What an operator adds to a rule that has forms, or to a file without one.
    let form = |form: &Mapping| {
        let forms = (Value::from("forms"), Value::from(vec![Value::from(form.clone())]));
        Value::from(std::iter::once(forms).chain(input()).collect::<Mapping>())
    };
    let whole = |form: &Mapping| {
        let syntax = (Value::from("syntax"), Value::from("operands"));
        let words = form.iter().map(|(key, value)| (key.clone(), value.clone()));
        Value::from(program.map(own).into_iter().chain([syntax]).chain(words).chain(input()).collect::<Mapping>())
    };
    let with = |rule: Value, key: &str, value: &str| {
        let entry = (Value::from(key), Value::from(value));
        Value::from(std::iter::once(entry).chain(rule.as_mapping().cloned().unwrap_or_default()).collect::<Mapping>())
    };
    let tried = |choices: Vec<Value>, change: &dyn Fn(&Value) -> Option<Value>, end: &str| {
        for (place, how) in settings.places(name, rules) {
            for rule in &choices {
                let lines = place.lines.clone() + &widened::lines(name, rule.clone());
                let change = Change { lines, ..place.clone() };
                if settings.allows(refused, &change).is_ok() {
                    return Some(Way::Rule { lines: change.lines, place: format!("{how}, {end}") });
                }
            }
        }
        let (number, old) = settings.own_rule(name, rules)?;
        let change = replacing(name, number, change(&old)?, settings);
        settings.allows(refused, &change).ok()?;
        Some(Way::Rule { lines: change.lines, place: format!("{}, {end}", in_place_of(name, rules)) })
    };
    let source = rules.get(name).map(|rule| &*rule.origin.source);
    let is_own = matches!(source, Some(PolicySource::File(_)));
    let any = (program.is_none() && !is_own).then(|| Value::from("any"));
    let choices = match source {
        // Its rule takes other words, too.
        Some(PolicySource::Profile(profile)) => vec![with(form(&limited), "extends", profile)],
        Some(_) | None => vec![form(&limited), whole(&limited)],
    };
    let end = match refused.has_input {
        true => "for these words with any input, which may be code",
        false => "for these words alone",
    };
    let one =
        (!arguments.is_empty()).then(|| tried(choices, &|old| widened::widened(old, &whole(&limited)), end)).flatten();
    let all = tried(
        any.into_iter().chain([form(&anything), whole(&anything)]).collect(),
        &|old| Some(widened::takes_anything(old, refused.has_input)),
        &format!("for any call: {does}"),
    );
    let ways: Vec<Way> = one.into_iter().chain(all).collect();
    if ways.is_empty() { vec![Way::None(does.to_owned())] } else { ways }
}

/// The entry of a list of commands beside those that there are for this one.
///
/// # Errors
/// Why there is none.
fn entry(refused: &Explanation, effect: Effect, settings: &Settings) -> Result<Way, String> {
    let flag = if effect == Effect::Ask { "--ask" } else { "--allow" };
    let words = refused.words.as_slice();
    let text = words.get(..2).unwrap_or(words).join(" ");
    let entry = Some(ListEntry { text: text.clone(), effect });
    let name = words.first().map_or("", String::as_str);
    let why = |_| format!("describe `{name}` in a policy, in place of its entries in `{flag}`");
    settings.allows(refused, &Change { entry, ..settings.change(None, String::new()) }).map_err(why)?;
    Ok(Way::Other(format!("add `{text}` to `{flag}`")))
}

/// The rule with settings of its own, and without the calls that it was made of.
fn without_examples(text: &str, own: &str) -> String {
    let rule = text.split("    examples:\n").next().unwrap_or_default();
    // A rule that is there already says what else a profile would bring.
    let is_kept = |line: &&str| !line.trim_start().starts_with("# review: the profile inserts");
    let (name, rest) = rule.split_once('\n').unwrap_or((rule, ""));
    let rest: String = rest.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect();
    // `{}` takes no arguments at all.
    let nothing = if own.is_empty() && rest.is_empty() { " {}" } else { "" };
    format!("commands:\n{name}{nothing}\n{own}{rest}")
}

#[cfg(test)]
mod tests;
