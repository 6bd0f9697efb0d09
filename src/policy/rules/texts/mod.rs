//! Policies as people write them, and the shipped profiles: from YAML to rules, or to the first mistake with its line.
//!
//! - `yaml`: the text as a tree in which everything knows its line
//! - `keys`: the keys of each mapping, and what they take; `schema`: the same as a JSON schema
//! - `fields`: a mapping, key by key
//! - `types`: the types of values
//! - `options`: options and operands
//! - `command`: commands, subcommands and forms
//! - `settings`: the settings of a command for its calls
//! - `profiles`: the policies that are shipped with the binary
//! - `examples`: the command lines in a policy that say what it must decide
//! - `by_text`: where the paths of examples lead, as far as their text tells
//! - `variations`: whether another shape of an example evades what it is decided by

mod by_text;
mod command;
mod examples;
mod fields;
mod keys;
#[cfg(test)]
#[cfg(unix)]
mod language;
mod options;
mod profiles;
// Their lines are split by the rules of a POSIX shell.
#[cfg(test)]
#[cfg(unix)]
mod properties;
#[cfg(test)]
#[cfg(unix)]
mod restrictions;
mod schema;
mod settings;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod types;
mod variations;
mod yaml;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use super::error::{PolicyError, PolicyWarning, Problem};
use super::grammar::{CommandRule, OptionRule, Origin, PolicySource, Syntax};
use super::load::{Described, pinned};
use crate::text::nearest;
pub(super) use examples::check as check_examples;
pub(crate) use examples::{ExampleRun, UNTOLD, decide_anywhere, decide_readings, run_example};
pub use examples::{decide_example, words_of};
use fields::{Fields, What, entries, one_or_more, text};
pub(super) use profiles::{Profile, Shipped};
pub use profiles::{profile_names, profile_text};
pub(crate) use schema::schema;
pub(crate) use yaml::flow;
use yaml::{Key, Node};

/// The options of sets, by the name of the set and the syntax that it was read for.
type KnownSets<'n> = HashMap<(&'n str, Syntax), Vec<Arc<OptionRule>>>;

/// The state that all descriptions of one source share.
struct Context<'n> {
    source: Arc<PolicySource>,
    types: &'n [(Key, Node)],
    sets: &'n [(Key, Node)],
    /// The types that were read so far, by name.
    known_types: RefCell<HashMap<&'n str, types::Typed>>,
    /// The sets that were read so far, since many forms use the same one.
    known_sets: RefCell<KnownSets<'n>>,
    /// The options of all forms so far.
    options: Cell<usize>,
}

/// The most options in one source. The options of a set count in each form that uses it.
const MOST_OPTIONS: usize = 100_000;

impl<'n> Context<'n> {
    fn new(source: &Arc<PolicySource>, types: &'n [(Key, Node)], sets: &'n [(Key, Node)]) -> Self {
        Self {
            source: Arc::clone(source),
            types,
            sets,
            known_types: RefCell::default(),
            known_sets: RefCell::default(),
            options: Cell::new(0),
        }
    }

    /// Adds to the count of options.
    fn count_options(&self, line: usize, more: usize) -> Result<(), PolicyError> {
        self.options.set(self.options.get().saturating_add(more));
        if self.options.get() <= MOST_OPTIONS {
            return Ok(());
        }
        let (what, found) = ("the options of all forms together".to_owned(), "more".to_owned());
        Err(self.error(line, Problem::Value { what, expected: format!("at most {MOST_OPTIONS}"), found }))
    }
}

/// A policy whose types, sets and commands are still to be read.
struct Document<'n> {
    fields: Fields<'n, 'static>,
    commands: &'n [(Key, Node)],
    context: Context<'n>,
}

impl<'n> Document<'n> {
    fn new(document: &'n Node, source: &Arc<PolicySource>) -> Result<Self, PolicyError> {
        let nothing = Context::new(source, &[], &[]);
        let fields = Fields::new(document, What::Words("a policy"), &keys::POLICY, &nothing)?;
        if let Some(node) = fields.get("version") {
            if text(node, &What::Name("version"), &nothing)? != "1" {
                return Err(nothing.value(node, &What::Name("version"), "`1`, the only version"));
            }
        }
        let declared = |key: &'static str| {
            fields
                .get(key)
                .filter(|node| !node.is_null())
                .map_or(Ok(&[][..]), |node| entries(node, &What::Name(key), &nothing))
        };
        let (types, sets, commands) = (declared("types")?, declared("sets")?, declared("commands")?);
        Ok(Self { fields, commands, context: Context::new(source, types, sets) })
    }

    /// Reads all types and sets, also those that no command uses.
    fn check_declared(&self) -> Result<(), PolicyError> {
        let context = &self.context;
        for (key, _) in context.types {
            if ["flag", "text"].contains(&key.text.as_str()) {
                let what = "the name of a type".to_owned();
                let (expected, found) = ("another one".to_owned(), format!("`{}`, which is built in", key.text));
                return Err(context.error(key.line, Problem::Value { what, expected, found }));
            }
            types::named(&key.text, key.line, context)?;
        }
        context.sets.iter().try_for_each(|(key, set)| options::check_set(key, set, context))
    }
}

fn parse(text: &str, source: &Arc<PolicySource>) -> Result<Option<Node>, PolicyError> {
    let nothing = Context::new(source, &[], &[]);
    yaml::parse(text).map_err(|(line, why)| nothing.error(line, Problem::Yaml { why }))
}

/// Reads the one command of a text, without looking for mistakes that its author's tests have found.
pub(super) fn one_command(text: &str, source: &Arc<PolicySource>) -> Result<Arc<CommandRule>, PolicyError> {
    let nothing = |line| Context::new(source, &[], &[]).error(line, Problem::Yaml { why: "no command".to_owned() });
    let document = parse(text, source)?.ok_or_else(|| nothing(0))?;
    let Document { commands, context, .. } = Document::new(&document, source)?;
    let (key, node) = commands.first().ok_or_else(|| nothing(document.line))?;
    let base = extended(key, node, &context)?;
    command::read(key, node, base, &context, &mut Vec::new()).map(Arc::new)
}

/// Reads what one text describes. A profile in `used` is not used again.
pub(super) fn describe(
    text: &str,
    source: &Arc<PolicySource>,
    used: &mut Vec<String>,
) -> Result<Described, PolicyError> {
    let Some(document) = parse(text, source)? else { return Ok(Described::default()) };
    let document = Document::new(&document, source)?;
    document.check_declared()?;
    let Document { fields, commands, context } = document;
    let mut described = Described::default();
    if let Some(node) = fields.get("redirections") {
        let redirections = settings::redirections(node, What::Name("redirections"), &context)?;
        described.redirections = Some((redirections, context.origin(fields.line_of("redirections"))));
    }
    let mut extending: Vec<&str> = Vec::new();
    for (key, node) in commands {
        let base = extended(key, node, &context)?;
        if base.is_some() {
            extending.push(&key.text);
        }
        let command = command::read(key, node, base, &context, &mut described.warnings)?;
        pinned::check(&command, &mut described.warnings)?;
        described.commands.push(Arc::new(command));
    }
    if let Some(node) = fields.get("profiles") {
        for name in one_or_more(node, &What::Name("profiles"), &context)? {
            if used.contains(&name) {
                continue;
            }
            let from = profile(&name, &context.origin(node.line))?;
            used.push(name);
            // The file's own description of a command replaces the profile's. Only then its rule is read here.
            for (place, command) in from.commands().iter().enumerate() {
                let name = command.name;
                let is_own = |own: &&Arc<CommandRule>| own.name == name && !extending.contains(&own.name.as_str());
                let Some(own) = described.commands.iter().find(is_own) else { continue };
                let Some(other) = from.rule(place) else { continue };
                let text = format!(
                    "`{name}` replaces the rule in {}, which no longer applies; to add to it instead, say \
                     `extends: {}`",
                    other.origin,
                    from.name()
                );
                described.warnings.push(PolicyWarning { origin: own.origin.clone(), text });
            }
            described.use_profile(from, |command| commands.iter().any(|(key, _)| key.text == command));
        }
    }
    Ok(described)
}

/// The profile's rule for a command that says `extends`; `None` if it does not.
fn extended(key: &Key, node: &Node, context: &Context<'_>) -> Result<Option<CommandRule>, PolicyError> {
    let yaml::Kind::Map(entries) = &node.kind else { return Ok(None) };
    let Some((_, node)) = entries.iter().find(|(key, _)| key.text == "extends") else { return Ok(None) };
    let name = text(node, &What::Name("extends"), context)?;
    let from = profile(name, &context.origin(node.line))?;
    // A program of the project is called by its path, too: `.venv/bin/pytest` is a pytest.
    let names = [Some(key.text.as_str()), key.text.rsplit_once('/').map(|(_, name)| name)];
    let base = names.into_iter().flatten().find_map(|name| from.rule_for(name));
    base.map(|base| Some(CommandRule { name: key.text.clone(), ..CommandRule::clone(base) })).ok_or_else(|| {
        let (profile, command) = (name.to_owned(), key.text.clone());
        context.error(node.line, Problem::NothingToExtend { profile, command })
    })
}

/// Finds a shipped profile.
pub(super) fn profile(name: &str, named_by: &Origin) -> Result<&'static Profile, PolicyError> {
    Profile::find(name).ok_or_else(|| {
        let nearest = nearest(name, profile_names()).map(str::to_owned);
        let problem = Problem::UnknownProfile { name: name.to_owned(), nearest };
        PolicyError { origin: named_by.clone(), problem }
    })
}
