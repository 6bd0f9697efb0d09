//! Makes rules from policies: takes YAML, and returns [`Rules`] or the first mistake with its line. It reads no file.
//!
//! - `keys`: the keys of each mapping, and what they take; `schema`: the same as a JSON schema
//! - `fields`: a mapping, key by key
//! - `types`: the types of values
//! - `options`: options and operands
//! - `command`: commands, subcommands and forms
//! - `lists`: commands that `--allow` and `--ask` name, without a policy
//! - `settings`: the settings of a command for its calls
//! - `pinned`: rules that the grammar allows and that deserve an error or a warning
//! - `escapes`: options that no check of arguments can bound

mod command;
mod escapes;
mod fields;
mod keys;
mod lists;
mod options;
mod pinned;
mod schema;
mod settings;
#[cfg(test)]
#[cfg(unix)]
mod tests;
mod types;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::{PolicyError, PolicyWarning, Problem};
use super::grammar::{CommandRule, Effect, OptionRule, Origin, PolicySource, Syntax};
use super::profiles::{self, Profile};
use super::redirected::Redirections;
use super::yaml::{self, Key, Node};
use super::{DescribedBy, Rules, examples};
use crate::integrity::reach_of;
use crate::text::nearest;
use fields::{Fields, What, entries, one_or_more, text};
pub(crate) use schema::schema;

/// A policy file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyText {
    /// The path that was given.
    pub file: PathBuf,
    /// The contents.
    pub text: String,
}

/// An entry of a list of commands: a command, or a command and its subcommands, separated by blanks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEntry {
    /// The entry as it was given.
    pub text: String,
    /// The decision on its calls.
    pub effect: Effect,
}

/// The options of sets, by the name of the set and the syntax that it was read for.
type KnownSets<'n> = HashMap<(&'n str, Syntax), Vec<Arc<OptionRule>>>;

/// The state that all descriptions of one source share.
pub(super) struct Context<'n> {
    source: Arc<PolicySource>,
    types: &'n [(Key, Node)],
    sets: &'n [(Key, Node)],
    /// The types that were read so far, by name.
    known_types: RefCell<HashMap<&'n str, types::Typed>>,
    /// The sets that were read so far, since many forms use the same one.
    known_sets: RefCell<KnownSets<'n>>,
    /// How many options all forms have so far.
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

/// The descriptions of one source.
#[derive(Default)]
pub(super) struct Described {
    commands: Vec<Arc<CommandRule>>,
    /// The commands of shipped profiles that it uses: the profile, and the command's place among its commands.
    shipped: Vec<(&'static Profile, usize)>,
    /// Whether a person is asked about every command that nothing describes.
    asks_others: bool,
    redirections: Option<(Redirections, Origin)>,
    warnings: Vec<PolicyWarning>,
}

impl Described {
    /// The rules for the commands that the source itself describes.
    #[cfg(all(test, unix))]
    pub fn into_rules(self) -> Vec<Arc<CommandRule>> {
        self.commands
    }

    /// Warnings to the operator.
    #[cfg(all(test, unix))]
    pub fn warnings(&self) -> &[PolicyWarning] {
        &self.warnings
    }

    /// Uses the commands of a profile, except those that the source describes itself.
    fn use_profile(&mut self, profile: &'static Profile, is_own: impl Fn(&str) -> bool) {
        let others = profile.commands().iter().enumerate().filter(|(_, command)| !is_own(command.name));
        self.shipped.extend(others.map(|(place, _)| (profile, place)));
    }
}

impl Rules {
    /// Makes rules from files, shipped profiles and entries of lists, and checks the examples. The entries are those of the
    /// allow-list with several words, and all commands that a person has to approve.
    ///
    /// # Errors
    /// The first mistake.
    pub fn load(files: &[PolicyText], profiles: &[String], entries: &[ListEntry]) -> Result<Self, PolicyError> {
        let rules = Self::read(files, profiles, entries)?;
        for command in &rules.commands {
            match command {
                DescribedBy::Source(command) => examples::check(command)?,
                // A test checks the examples of shipped profiles.
                DescribedBy::Profile(..) => {}
            }
        }
        Ok(rules)
    }

    /// Checks the operator's own rules once more, for programs that are interpreters or wrappers under other names. `known` says
    /// what the program is that a rule looks for, if its own name says nothing.
    ///
    /// # Errors
    /// The first rule that does not limit what such a program runs.
    pub(crate) fn check_programs(&mut self, known: impl Fn(&str) -> Option<String>) -> Result<(), PolicyError> {
        let mut warnings = Vec::new();
        for command in self.written().filter(|command| reach_of(command.sought()).is_none()) {
            if let Some(name) = known(command.sought()) {
                let text = format!("`{}` is `{name}` under another name", command.name);
                warnings.push(PolicyWarning { origin: command.origin.clone(), text });
                pinned::check_as(&name, command, &mut warnings)?;
            }
        }
        warnings.retain(|warning| !self.warnings.contains(warning));
        self.warnings.extend(warnings);
        Ok(())
    }

    /// The same without checking the examples, for callers that report every example that fails.
    ///
    /// # Errors
    /// The first mistake.
    pub fn read(files: &[PolicyText], profiles: &[String], entries: &[ListEntry]) -> Result<Self, PolicyError> {
        let mut rules = Self::default();
        let flag = Arc::new(PolicySource::File("--profile".into()));
        let mut used: Vec<String> = Vec::new();
        for name in profiles {
            let origin = Origin { source: Arc::clone(&flag), line: 0 };
            if !used.contains(name) {
                let mut described = Described::default();
                described.use_profile(profile(name, &origin)?, |_| false);
                rules.take(described)?;
                used.push(name.clone());
            }
        }
        for file in files {
            let source = Arc::new(PolicySource::File(file.file.clone()));
            rules.take(describe(&file.text, &source, &mut used)?)?;
        }
        let has_profile = |name: &str| rules.of_profile(name).is_some();
        let mut described = lists::described(entries, has_profile);
        rules.asks_others = described.asks_others;
        let (beside, alone) = std::mem::take(&mut described.commands)
            .into_iter()
            .partition::<Vec<_>, _>(|command| rules.of_profile(&command.name).is_some());
        beside.iter().try_for_each(|entry| rules.add_to_profile(entry))?;
        rules.take(Described { commands: alone, ..described })?;
        Ok(rules)
    }

    /// The place of the command of this name, and its rule, if a profile describes it.
    fn of_profile(&self, name: &str) -> Option<(usize, &Arc<CommandRule>)> {
        let place = *self.by_name.get(name)?;
        match self.commands.get(place)? {
            described @ DescribedBy::Profile(..) => Some((place, described.rule()?)),
            DescribedBy::Source(_) => None,
        }
    }

    /// Adds the subcommands that entries of lists name to the rule of a profile.
    fn add_to_profile(&mut self, entry: &CommandRule) -> Result<(), PolicyError> {
        let Some((place, base)) = self.of_profile(&entry.name) else { return Ok(()) };
        // The examples say what the profile alone decides.
        let mut rule = CommandRule { read_only: false, examples: Vec::new(), ..CommandRule::clone(base) };
        if !lists::add(&mut rule.level, &entry.level) {
            let titles: Vec<String> = entry.level.levels().iter().map(|level| level.title()).collect();
            let command = titles.into_iter().next_back().unwrap_or_default();
            let problem = Problem::CommandTwice { command, first: base.origin.clone() };
            return Err(PolicyError { origin: entry.origin.clone(), problem });
        }
        if rule.sandbox.writes_nothing() {
            rule.sandbox.writes = Some(true);
        }
        if let Some(command) = self.commands.get_mut(place) {
            *command = DescribedBy::Source(Arc::new(rule));
        }
        Ok(())
    }

    fn take(&mut self, described: Described) -> Result<(), PolicyError> {
        self.warnings.extend(described.warnings);
        match (&self.redirections, described.redirections) {
            (Some((_, first)), Some((_, origin))) => {
                return Err(PolicyError { origin, problem: Problem::RedirectionsTwice { first: first.clone() } });
            }
            (None, redirections @ Some(_)) => self.redirections = redirections,
            (_, None) => {}
        }
        let own = described.commands.into_iter().map(DescribedBy::Source);
        let shipped = described.shipped.into_iter().map(|(profile, place)| DescribedBy::Profile(profile, place));
        own.chain(shipped).try_for_each(|command| self.add(command))
    }

    fn add(&mut self, command: DescribedBy) -> Result<(), PolicyError> {
        let name = command.name().to_owned();
        let place = self.by_name.get(&name).copied();
        if let Some(first) = place.and_then(|place| self.commands.get_mut(place)) {
            // Of two profiles the one that extends the other has all that this one has, and who names both means it.
            if let (DescribedBy::Profile(one, _), DescribedBy::Profile(other, _)) = (&*first, &command) {
                if one.extends(other) {
                    return Ok(());
                }
                if other.extends(one) {
                    *first = command;
                    return Ok(());
                }
            }
        }
        // A profile is read here only for the message.
        let first = self.by_name.get(&name).and_then(|place| self.commands.get(*place));
        if let Some(first) = first.map(DescribedBy::origin) {
            let problem = Problem::CommandTwice { command: name, first };
            return Err(PolicyError { origin: command.origin(), problem });
        }
        self.by_name.insert(name, self.commands.len());
        self.commands.push(command);
        Ok(())
    }
}

/// The rule for a command of which every call is asked about.
pub(super) fn asked(name: &str) -> Arc<CommandRule> {
    let origin = Origin { source: Arc::new(PolicySource::Ask), line: 0 };
    Arc::new(CommandRule {
        stdin: true,
        ..CommandRule::new(name.to_owned(), origin.clone(), lists::any(name, &origin, Effect::Ask))
    })
}

/// Finds a shipped profile.
fn profile(name: &str, named_by: &Origin) -> Result<&'static Profile, PolicyError> {
    Profile::find(name).ok_or_else(|| {
        let nearest = nearest(name, profiles::names()).map(str::to_owned);
        let problem = Problem::UnknownProfile { name: name.to_owned(), nearest };
        PolicyError { origin: named_by.clone(), problem }
    })
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
