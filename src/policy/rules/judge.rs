//! What a rule decides for a call: which forms match, where their paths lead, and which form counts.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::grammar::{Access, Arguments, CommandRule, Effect, EnvRule, Expected, Form, Level, Takes, ValuePlace};
use super::matcher::{self, Claim, Match};
use super::reach::{HeldClaim, PathError};
use super::refusal;
use crate::text::{SHORTEST_SECRET, Secrets, escape};

/// Replaces a secret.
pub(crate) const HIDDEN: &str = "***";

/// Checks whether paths lie where they must.
pub trait PathJudge {
    /// Checks one path.
    ///
    /// # Errors
    /// [`PathError`], if it lies elsewhere.
    fn judge(&mut self, claim: &Claim<'_, '_>) -> Result<HeldClaim, PathError>;
}

/// What a rule decides for a call, and why.
#[derive(Debug)]
pub struct Judgement<'p> {
    /// Whether it runs.
    pub decision: Expected,
    /// The form that decides, with what each word is; `None` if none matches.
    pub matched: Option<Match<'p>>,
    /// The command or subcommand that the words name.
    pub level: &'p Level,
    /// Why it does not run, or not without an approval, in a sentence for the model; `None` if it runs.
    pub refusal: Option<String>,
    /// The operator's reason for the form that decides.
    pub reason: Option<&'p str>,
    /// The paths of the form that decides, held open.
    pub claims: Vec<HeldClaim>,
    /// The words of the call, without the values that the rule calls secret; if it is refused, without all that may be secret.
    pub(crate) shown: Vec<String>,
}

impl CommandRule {
    /// Decides on the words of a call, of which the first is the command.
    ///
    /// Every form is tried. Among the forms that match and whose paths lie where they must, deny beats ask and ask beats
    /// allow, whatever their order. If there are none, the call is refused.
    pub fn judge<'p>(&'p self, words: &[String], paths: &mut dyn PathJudge) -> Judgement<'p> {
        let judgement = self.judge_forms(words, paths);
        let shown = match &judgement.matched {
            Some(matched) if judgement.decision != Expected::Refuse => matched.without_secrets(words),
            Some(_) | None => self.without_secrets(words),
        };
        let refusal = judgement.refusal.map(|sentence| without_values(sentence, words, &shown));
        Judgement { refusal, shown, ..judgement }
    }

    fn judge_forms<'p>(&'p self, words: &[String], paths: &mut dyn PathJudge) -> Judgement<'p> {
        let refused = |level: &'p Level, refusal: String| {
            let (decision, refusal, claims, shown) = (Expected::Refuse, Some(refusal), Vec::new(), Vec::new());
            Judgement { decision, matched: None, level, refusal, reason: None, claims, shown }
        };
        let matches = match matcher::read(&self.level, words) {
            Ok(matches) => matches,
            Err(failure) => {
                let shown = self.without_secrets(words);
                return refused(failure.level, refusal::of_failure(&failure, words, &shown, &self.level));
            }
        };
        let mut best: Option<(Effect, Match<'p>, Vec<HeldClaim>)> = None;
        let mut outside: Option<(usize, Match<'p>, String)> = None;
        for matched in matches {
            let (effect, _) = effect_of(&matched);
            if best.as_ref().is_some_and(|(other, ..)| *other >= effect) {
                continue;
            }
            match hold(&matched, words, paths, effect) {
                Ok(claims) => best = Some((effect, matched, claims)),
                Err((word, sentence)) => {
                    let is_further = outside.as_ref().is_none_or(|(other, ..)| word > *other);
                    if is_further && effect != Effect::Deny {
                        outside = Some((word, matched, sentence));
                    }
                }
            }
        }
        let denied = |level, reason| refusal::denied(level, words, &self.without_secrets(words), reason);
        match (best, outside) {
            (Some((_, matched, claims)), _) => {
                let level = level_of(&matched, self);
                let (effect, reason) = effect_of(&matched);
                let narrowed = claims.iter().find_map(|claim| claim.narrowed.clone());
                if let Some(sentence) = narrowed.filter(|_| effect == Effect::Ask) {
                    return refused(level, refusal::with_hint(sentence, &matched, words));
                }
                let (decision, refusal) = match effect {
                    Effect::Allow => (Expected::Allow, None),
                    Effect::Ask => (Expected::Ask, Some(refusal::needs_a_person(level, reason))),
                    Effect::Deny => (Expected::Refuse, Some(denied(level, reason))),
                };
                Judgement { decision, matched: Some(matched), level, refusal, reason, claims, shown: Vec::new() }
            }
            (None, Some((_, matched, sentence))) => {
                refused(level_of(&matched, self), refusal::with_hint(sentence, &matched, words))
            }
            (None, None) => refused(&self.level, denied(&self.level, None)),
        }
    }

    /// Whether it calls any value secret.
    pub(crate) fn has_secrets(&self) -> bool {
        self.level.levels().into_iter().any(|level| {
            let mut operands = level.forms().iter().flat_map(Form::all_operands);
            operands.any(|operand| operand.is_secret) || level.all_options().any(|option| option.is_secret)
        })
    }

    /// The words of a refused call, without anything that may be a secret, if the rule has secrets: an option may be misspelt, so
    /// its value may be anywhere, also in a word that looks like another option. What is left is the names of options and subcommands
    /// that the rule knows, and the values of known options that are not secret.
    pub fn without_secrets(&self, words: &[String]) -> Vec<String> {
        self.shown_of(words, Values::OfKnownOptions)
    }

    /// The same for words that nobody has judged, such as those of a line with shell syntax: what looks like a value may hold
    /// more, so only names are left.
    pub fn without_values(&self, words: &[String]) -> Vec<String> {
        self.shown_of(words, Values::None)
    }

    fn shown_of(&self, words: &[String], values: Values) -> Vec<String> {
        let mut shown = words.to_vec();
        if !self.has_secrets() {
            return shown;
        }
        let levels = self.level.levels();
        // A call may have very many words, so they are looked up here and not compared with each option.
        let mut named: HashMap<&str, Named> = HashMap::new();
        for option in levels.iter().flat_map(|level| level.all_options()) {
            let (takes_value, takes_next) = match &option.takes {
                Takes::Flag => (false, false),
                Takes::Value { place, .. } => (true, *place == ValuePlace::Anywhere),
            };
            let one = Named { is_secret: option.is_secret, takes_value, takes_next };
            for spelling in &option.spellings {
                named.entry(spelling).and_modify(|known| *known = known.and(one)).or_insert(one);
            }
        }
        let known = |name: &str| {
            let of_both = [Some(name), name.strip_prefix('-')].into_iter().flatten().filter_map(|name| named.get(name));
            of_both.copied().reduce(Named::and)
        };
        let lengths: BTreeSet<usize> = named.keys().map(|name| name.len()).collect();
        // Where the longest known name ends that the word begins with: what follows may be its value.
        let end_of_name = |word: &str| {
            let is_name = |length: &usize| word.get(..*length).is_some_and(|start| named.contains_key(start));
            lengths.iter().rev().copied().find(is_name).unwrap_or(0)
        };
        let subcommands: HashSet<&str> = levels.iter().skip(1).map(|level| level.name()).collect();
        let mut follows = Follows::Unknown;
        for word in shown.iter_mut().skip(1) {
            let value_of = std::mem::replace(&mut follows, Follows::Unknown);
            let name = word.split('=').next().unwrap_or(word);
            let from = match (known(word), known(name)) {
                _ if value_of == Follows::Secret => Some(0),
                (Some(option), _) => {
                    follows = match option {
                        Named { is_secret: true, .. } => Follows::Secret,
                        Named { takes_next: true, .. } if values == Values::OfKnownOptions => Follows::Plain,
                        Named { .. } => Follows::Unknown,
                    };
                    None
                }
                (None, Some(Named { is_secret: false, takes_value: true, .. })) if values == Values::OfKnownOptions => {
                    None
                }
                (None, Some(_)) => Some(name.len() + 1),
                (None, None) if subcommands.contains(word.as_str()) || matches!(word.as_str(), "-" | "--") => None,
                (None, None) if !word.starts_with('-') => (value_of != Follows::Plain).then_some(0),
                // One letter is an option or nothing.
                (None, None) if word.chars().count() == 2 => None,
                (None, None) => Some(end_of_name(word)),
            };
            if let Some(from) = from {
                word.truncate(from);
                word.push_str(HIDDEN);
            }
        }
        shown
    }
}

/// Which values are left in the words of a refused call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    /// Those of options that are not secret.
    OfKnownOptions,
    None,
}

/// What the rule says about the options with a name.
#[derive(Debug, Clone, Copy)]
struct Named {
    /// One of them is secret.
    is_secret: bool,
    /// All of them take a value.
    takes_value: bool,
    /// All of them take the next word as their value.
    takes_next: bool,
}

impl Named {
    fn and(self, other: Self) -> Self {
        Self {
            is_secret: self.is_secret || other.is_secret,
            takes_value: self.takes_value && other.takes_value,
            takes_next: self.takes_next && other.takes_next,
        }
    }
}

/// What is known about the next word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// The value of a secret option.
    Secret,
    /// The value of an option that is not secret.
    Plain,
    /// Nothing is known.
    Unknown,
}

/// How many values are looked for in a sentence, and how many characters of each: a sentence repeats no more of a word.
const MOST_VALUES: usize = 1000;
const LONGEST_VALUE: usize = 256;

/// Removes from a sentence about a call what is hidden of its words.
pub(crate) fn without_values(sentence: String, words: &[String], shown: &[String]) -> String {
    let hidden = words.iter().zip(shown).filter(|(word, shown)| word != shown);
    let values = hidden.map(|(word, shown)| word.get(shown.len().saturating_sub(HIDDEN.len())..).unwrap_or(word));
    let start = |value: &str, length| value.chars().take(length).collect::<String>();
    let values = values.filter(|value| sentence.contains(&*escape(&start(value, SHORTEST_SECRET))));
    let values: BTreeSet<String> = values.map(|value| start(value, LONGEST_VALUE)).take(MOST_VALUES + 1).collect();
    if values.len() > MOST_VALUES {
        return "the arguments are not what the rule takes; `list_commands` shows what it takes".to_owned();
    }
    // A short value is replaced only where it is quoted, since it may occur in the rest of the sentence by chance.
    let quoted = |value: String| if value.len() < SHORTEST_SECRET { format!("`{value}`") } else { value };
    let values = Secrets::new(values.into_iter().map(quoted));
    if values.are_none() { sentence } else { values.hide(&sentence).into_owned() }
}

/// Checks the paths of a form.
///
/// A form that denies counts unless one of its paths is known to lie elsewhere: if that can't be found out, the call is refused.
fn hold(
    matched: &Match<'_>,
    words: &[String],
    paths: &mut dyn PathJudge,
    effect: Effect,
) -> Result<Vec<HeldClaim>, (usize, String)> {
    let mut held = Vec::new();
    for claim in matched.claims(words) {
        match paths.judge(&claim) {
            // The other effects are measured without the client's roots, so that these take nothing out of them.
            Ok(HeldClaim { narrowed: Some(sentence), .. }) if effect == Effect::Allow => {
                return Err((claim.word, sentence));
            }
            Ok(claim) => held.push(claim),
            Err(error) if effect == Effect::Deny && !error.is_elsewhere() => {}
            Err(error) => return Err((claim.word, error.sentence(claim.text, claim.path.access))),
        }
    }
    Ok(held)
}

fn level_of<'p>(matched: &Match<'p>, rule: &'p CommandRule) -> &'p Level {
    matched.levels.last().map_or(&rule.level, |(level, _)| level)
}

/// The effect of a match and the operator's reason for it, from its form or from a level that takes anything.
fn effect_of<'p>(matched: &Match<'p>) -> (Effect, Option<&'p str>) {
    match (matched.form, matched.levels.last().map(|(level, _)| &level.arguments)) {
        (Some(form), _) => (form.effect, form.reason.as_deref()),
        (None, Some(Arguments::Any { effect, reason })) => (*effect, reason.as_deref()),
        // Only a level that takes anything matches without a form.
        (None, Some(Arguments::Described { .. }) | None) => (Effect::Deny, None),
    }
}

impl Match<'_> {
    /// The environment of the call: that of its command, and over it those of its subcommands.
    pub fn env(&self) -> EnvRule {
        let mut env = EnvRule::default();
        self.levels.iter().for_each(|(level, _)| env.add(&level.env));
        env
    }

    /// The words of the call with the words that the rule inserts at each level.
    pub fn with_inserted(&self, words: &[String]) -> Vec<String> {
        let mut all = Vec::with_capacity(words.len() + 8);
        let mut from = 0;
        for (level, start) in &self.levels {
            all.extend(words.get(from..*start).unwrap_or_default().iter().cloned());
            all.extend(level.insert.iter().cloned());
            from = *start;
        }
        all.extend(words.get(from..).unwrap_or_default().iter().cloned());
        all
    }

    /// The words, with the values replaced that the rule calls secret.
    pub fn without_secrets(&self, words: &[String]) -> Vec<String> {
        let mut shown = words.to_vec();
        for reading in &self.readings {
            let is_secret = match &reading.role {
                matcher::Role::Value(option, _) => option.is_secret,
                matcher::Role::Operand(operand) => operand.is_secret,
                matcher::Role::Name(_)
                | matcher::Role::Option(_)
                | matcher::Role::DoubleDash
                | matcher::Role::Anything => false,
            };
            if let Some(word) = shown.get_mut(reading.word).filter(|_| is_secret) {
                word.truncate(reading.from);
                word.push_str(HIDDEN);
            }
        }
        shown
    }
}

/// The judge for examples, which does not ask the file system: a relative path without `..` lies inside.
#[derive(Debug, Default)]
pub(super) struct ByText;

impl PathJudge for ByText {
    fn judge(&mut self, claim: &Claim<'_, '_>) -> Result<HeldClaim, PathError> {
        use std::path::{Component, Path};
        let path = Path::new(claim.text);
        let mut parts = Vec::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => parts.push(name.to_string_lossy()),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(PathError::Outside { allowed: Vec::new() });
                }
            }
        }
        let is_beneath = |under: &String| Path::new(claim.text).strip_prefix("./").unwrap_or(path).starts_with(under);
        let is_project = |under: &String| under == "." || under.is_empty();
        if !claim.path.under.is_empty() && !claim.path.under.iter().any(|under| is_project(under) || is_beneath(under))
        {
            return Err(PathError::Outside { allowed: Vec::new() });
        }
        let is_excepted = |except: &&String| parts.iter().any(|part| part.eq_ignore_ascii_case(except));
        if let Some(except) = claim.path.except.iter().find(is_excepted) {
            return Err(PathError::Except { name: except.clone() });
        }
        if claim.path.access == Access::Write && parts.is_empty() {
            return Err(PathError::Root);
        }
        Ok(HeldClaim { access: claim.path.access, reached: None, narrowed: None })
    }
}
