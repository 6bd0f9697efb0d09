//! Makes rules for commands that are only on a list, without a policy: allow-list entries with a subcommand, and commands that
//! a person has to approve.

use std::sync::Arc;

use super::super::error::PolicyWarning;
use super::super::grammar::{Arguments, CommandRule, Effect, EnvRule, Level, Options, Origin, PolicySource, Syntax};
use super::super::profiles::Profile;
use super::{Described, ListEntry};

/// The words after the name of a level, and what is decided for such calls.
type Entry<'e> = (Vec<&'e str>, Effect);

/// Makes a rule for each command that the entries name. An entry takes any arguments. If one entry begins with another, the
/// stricter decision holds for both: a list can't describe calls of `git stash` that are not `git stash drop`.
pub(super) fn described(entries: &[ListEntry]) -> Described {
    let mut commands: Vec<(&str, Vec<Entry<'_>>)> = Vec::new();
    for entry in entries {
        // A path may hold blanks, so it is not split.
        let is_path = entry.text.contains(std::path::is_separator);
        let mut words = entry.text.split_whitespace().filter(|_| !is_path);
        let name = if is_path { &*entry.text } else { words.next().unwrap_or_default() };
        let words = (words.collect(), entry.effect);
        match commands.iter_mut().find(|(other, _)| *other == name) {
            Some((_, all)) => all.push(words),
            None => commands.push((name, vec![words])),
        }
    }
    let mut described = Described::default();
    for (name, entries) in commands {
        let asks = entries.iter().any(|(_, effect)| *effect == Effect::Ask);
        let source = Arc::new(if asks { PolicySource::Ask } else { PolicySource::Allow });
        let origin = Origin { source, line: 0 };
        let level = level_of(vec![name.to_owned()], &origin, &entries);
        let allows_one = entries.iter().any(|(_, effect)| *effect == Effect::Allow);
        if let Some(profile) = Profile::describing(name).filter(|_| allows_one) {
            let second = entries.iter().find_map(|(words, _)| words.first());
            let text = match second.filter(|second| profile.commands().contains(second)) {
                // The operator probably typed a blank instead of a comma.
                Some(second) => format!(
                    "`{second}` is taken for a subcommand of `{name}`; to allow both commands, put a comma between them"
                ),
                None => format!(
                    "a subcommand of `{name}` with any arguments is allowed; the profile `{}` is narrower",
                    profile.name()
                ),
            };
            described.warnings.push(PolicyWarning { origin: origin.clone(), text });
        }
        let rule = CommandRule::new(name.to_owned(), origin, level);
        described.commands.push(Arc::new(CommandRule { stdin: true, ..rule }));
    }
    described
}

/// The level with these subcommands. It takes any arguments if an entry ends here.
fn level_of(path: Vec<String>, origin: &Origin, entries: &[Entry<'_>]) -> Level {
    let effect = entries.iter().map(|(_, effect)| *effect).max().unwrap_or_default();
    let mut arguments = Arguments::Any { effect, reason: None };
    if !entries.iter().any(|(words, _)| words.is_empty()) {
        let mut beneath: Vec<(&str, Vec<Entry<'_>>)> = Vec::new();
        for (words, effect) in entries {
            let Some((first, rest)) = words.split_first() else { continue };
            let entry = (rest.to_vec(), *effect);
            match beneath.iter_mut().find(|(name, _)| name == first) {
                Some((_, all)) => all.push(entry),
                None => beneath.push((first, vec![entry])),
            }
        }
        let subcommand = |(name, entries): (&str, Vec<Entry<'_>>)| {
            level_of(path.iter().cloned().chain([name.to_owned()]).collect(), origin, &entries)
        };
        let subcommands = beneath.into_iter().map(subcommand).collect();
        arguments = Arguments::Described { options: Options::default(), forms: Vec::new(), subcommands };
    }
    Level {
        path,
        origin: origin.clone(),
        syntax: Syntax::Gnu,
        order: Syntax::Gnu.order(),
        refuses_double_dash: false,
        insert: Vec::new(),
        env: EnvRule::default(),
        arguments,
        hints: Vec::new(),
    }
}
