//! Makes rules for commands that are only on a list, without a policy: allow-list entries with a subcommand, and commands that
//! a person has to approve. Beside a profile that describes the command, such entries add subcommands to it.

use std::sync::Arc;

use super::super::error::PolicyWarning;
use super::super::grammar::{
    Arguments, CommandRule, Effect, EnvRule, Form, Level, Operand, Options, Origin, PolicySource, Restriction, Syntax,
    TextType, ValueType,
};
use super::super::texts::Profile;
use super::{Described, ListEntry};

/// The words after the name of a level, and what is decided for such calls.
type Entry<'e> = (Vec<&'e str>, Effect);

/// Makes a rule for each command that the entries name. An entry takes any arguments. If one entry begins with another, the
/// stricter decision holds for both: a list can't describe calls of `git stash` that are not `git stash drop`.
///
/// With the entry `*`, all other calls of such a command are decided as `*` says, unless `has_profile` says that a profile
/// describes it.
pub(super) fn described(entries: &[ListEntry], has_profile: impl Fn(&str) -> bool) -> Described {
    let (star, entries): (Vec<&ListEntry>, Vec<&ListEntry>) = entries.iter().partition(|entry| entry.text == "*");
    let others = star.iter().map(|entry| entry.effect).max();
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
    let mut described = Described { asks_others: others == Some(Effect::Ask), ..Described::default() };
    for (name, entries) in commands {
        let asks = entries.iter().any(|(_, effect)| *effect == Effect::Ask);
        let source = Arc::new(if asks { PolicySource::Ask } else { PolicySource::Allow });
        let origin = Origin { source, line: 0 };
        let is_whole = entries.iter().any(|(words, _)| words.is_empty());
        let level = match others.filter(|_| !is_whole && !has_profile(name)) {
            Some(others) => level_among_others(name, &origin, entries.clone(), others),
            None => level_of(vec![name.to_owned()], &origin, &entries),
        };
        let allows_one = entries.iter().any(|(_, effect)| *effect == Effect::Allow);
        if let Some(profile) = Profile::describing(name).filter(|_| allows_one) {
            let second = entries.iter().find_map(|(words, _)| words.first());
            let text = match second.filter(|second| profile.rule_for(second).is_some()) {
                // The operator probably typed a blank instead of a comma.
                Some(second) => format!(
                    "`{second}` is taken for a subcommand of `{name}`; to allow both commands, put a comma between them"
                ),
                None if has_profile(name) => format!(
                    "a subcommand with any arguments is added to the profile's rule for `{name}`: it has the profile's environment \
                     and sandbox, and the calls of `{name}` may now write"
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

/// The level of a command of which only some calls are on a list, while `others` is decided for all others.
///
/// A word may be anywhere: `git -C DIR push` is `git push`, too. So a call is asked about if any of its words is the last one of
/// an entry.
fn level_among_others(name: &str, origin: &Origin, entries: Vec<Entry<'_>>, others: Effect) -> Level {
    let (looser, stricter): (Vec<Entry<'_>>, Vec<Entry<'_>>) =
        entries.into_iter().filter(|(_, effect)| *effect != others).partition(|(_, effect)| *effect < others);
    let restriction = |(words, effect): &Entry<'_>| Restriction {
        effect: *effect,
        value: ValueType::OneOf(words.last().map(|word| (*word).to_owned()).into_iter().collect()),
        reason: None,
        origin: origin.clone(),
    };
    let words = Operand {
        name: Some("WORD".to_owned()),
        origin: origin.clone(),
        value: ValueType::Text(TextType { first: "-+@".to_owned(), max_length: usize::MAX, ..TextType::default() }),
        restrictions: stricter.iter().map(restriction).collect(),
        least: 0,
        most: None,
        is_secret: false,
    };
    let form = Form {
        origin: origin.clone(),
        effect: others,
        reason: None,
        options: Options::default(),
        operands: vec![words],
        after_double_dash: None,
    };
    let below = level_of(vec![name.to_owned()], origin, &looser);
    let subcommands = match below.arguments {
        Arguments::Described { ref subcommands, .. } => subcommands.clone(),
        Arguments::Any { .. } => Vec::new(),
    };
    let arguments = Arguments::Described { options: Options::default(), forms: vec![form], subcommands };
    Level { syntax: Syntax::Operands, order: Syntax::Operands.order(), arguments, ..below }
}

/// The level of a command with any arguments.
pub(super) fn any(name: &str, origin: &Origin, effect: Effect) -> Level {
    level_of(vec![name.to_owned()], origin, &[(Vec::new(), effect)])
}

/// Adds the subcommands of an entry to the level of a profile. Whether the profile had none of them.
pub(super) fn add(level: &mut Level, entry: &Level) -> bool {
    let is_command = level.path.len() == 1;
    let (Arguments::Described { subcommands, .. }, Arguments::Described { subcommands: new, .. }) =
        (&mut level.arguments, &entry.arguments)
    else {
        return false;
    };
    // The words after a subcommand that has none itself are described already.
    if subcommands.is_empty() && !is_command {
        return false;
    }
    new.iter().all(|new| match subcommands.iter_mut().find(|level| level.name() == new.name()) {
        Some(level) => add(level, new),
        None => {
            subcommands.push(new.clone());
            true
        }
    })
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
