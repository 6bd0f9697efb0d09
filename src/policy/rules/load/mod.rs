//! Makes [`Rules`] of policies, shipped profiles, and the commands that `--allow` and `--ask` name, or returns the first mistake with its
//! line. It reads no file.
//!
//! - `lists`: commands that `--allow` and `--ask` name, without a policy
//! - `pinned`: rules that the grammar allows and that deserve an error or a warning
//! - `escapes`: options that no check of arguments can bound

mod escapes;
mod lists;
pub(super) mod pinned;

use std::path::PathBuf;
use std::sync::Arc;

use super::error::{PolicyError, PolicyWarning, Problem};
use super::grammar::{CommandRule, Effect, Origin, PolicySource};
use super::redirected::Redirections;
use super::texts::{self, Profile};
use super::{DescribedBy, Rules};
use crate::integrity::reach_of;

/// The largest policy in bytes.
pub const LARGEST_POLICY: u64 = 256 * 1024;

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

/// The descriptions of one source.
#[derive(Default)]
pub(super) struct Described {
    pub commands: Vec<Arc<CommandRule>>,
    /// The commands of shipped profiles that it uses: the profile, and the command's place among its commands.
    pub shipped: Vec<(&'static Profile, usize)>,
    /// Whether a person is asked about every command that nothing describes.
    pub asks_others: bool,
    pub redirections: Option<(Redirections, Origin)>,
    pub warnings: Vec<PolicyWarning>,
}

impl Described {
    /// Uses the commands of a profile, except those that the source describes itself.
    pub fn use_profile(&mut self, profile: &'static Profile, is_own: impl Fn(&str) -> bool) {
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
                DescribedBy::Source(command) => texts::check_examples(command)?,
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
                described.use_profile(texts::profile(name, &origin)?, |_| false);
                rules.take(described)?;
                used.push(name.clone());
            }
        }
        for file in files {
            let source = Arc::new(PolicySource::File(file.file.clone()));
            rules.take(texts::describe(&file.text, &source, &mut used)?)?;
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
