//! The judgement of a call by a rule: which forms match, where their paths lead, and which form counts.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::grammar::{
    Arguments, CommandRule, Effect, EnvRule, Expected, Form, Level, Restriction, Takes, ValuePlace, ValueType,
};
use super::matcher::{self, Claim, Match};
use super::reach::{HeldClaim, PathError};
use super::refusal;
use crate::policy::{RefusalKind, windows_name};
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

/// A rule's decision on a call, with its reasons.
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
    /// How firmly it is refused, if it is.
    pub(crate) refusal_kind: RefusalKind,
}

impl CommandRule {
    /// Decides on the words of a call, of which the first is the command.
    ///
    /// Every form is tried. A call runs only by a form that matches and whose paths lie where they must. Of all that the
    /// matching forms and the types of their values decide, deny beats ask and ask beats allow, whatever their order. To ask
    /// and to deny it is enough that a form or a value may be meant: what can't be found out never lets a call run.
    pub fn judge<'p>(&'p self, words: &[String], paths: &mut dyn PathJudge) -> Judgement<'p> {
        let word = words.first().map_or("", String::as_str);
        let judgement = match self.is_called_by(word) {
            true => self.judge_forms(words, paths),
            false => self.judge_other_name(word),
        };
        let shown = match &judgement.matched {
            Some(matched) if judgement.decision != Expected::Refuse => matched.without_secrets(words),
            Some(_) | None => self.without_secrets(words),
        };
        let refusal = judgement.refusal.map(|sentence| without_values(sentence, words, &shown));
        let least = match judgement.decision {
            Expected::Refuse if judgement.level.only_denies() => RefusalKind::Denied,
            Expected::Refuse if self.may_deny(words, paths) => RefusalKind::Unclear,
            Expected::Refuse | Expected::Ask | Expected::Allow => RefusalKind::Undescribed,
        };
        Judgement { refusal, shown, refusal_kind: judgement.refusal_kind.max(least), ..judgement }
    }

    /// Whether words that are refused may be another spelling of those that are denied: one of them is a denied value, or an option, which
    /// can make anything of the others.
    fn may_deny(&self, words: &[String], paths: &mut dyn PathJudge) -> bool {
        let levels = self.level.levels();
        let restrictions = || levels.iter().flat_map(|level| level.restrictions());
        let mut arguments = words.iter().enumerate().skip(1);
        self.denies()
            && arguments.any(|(place, word)| {
                let mut denied = restrictions().filter(|restriction| restriction.effect == Effect::Deny);
                word.starts_with('-')
                    || denied.any(|restriction| is_restricted(restriction, (place, word), paths).is_some())
            })
    }

    /// Whether a word calls the program by the name for which the rule describes arguments. A program that is many in one file does what
    /// its name says, so that the same arguments may mean something else by another name: `git-push status` is not `git status`.
    fn is_called_by(&self, word: &str) -> bool {
        let is_name_of = |name: &str| match (Path::new(word).file_name(), Path::new(name).file_name()) {
            (Some(word), Some(name)) => is_same_name(&word.to_string_lossy(), &name.to_string_lossy()),
            (word, name) => word == name,
        };
        !self.describes_arguments() || is_same_name(word, &self.name) || is_name_of(self.sought())
    }

    /// Refuses a call of the rule's file by another name. Nobody knows what it means, so that it may be what the rule asks for or denies.
    fn judge_other_name(&self, word: &str) -> Judgement<'_> {
        let refusal_kind = if self.denies() || self.asks() { RefusalKind::Unclear } else { RefusalKind::Undescribed };
        Judgement { refusal_kind, ..refused(&self.level, refusal::of_other_name(word, &self.name)) }
    }

    fn judge_forms<'p>(&'p self, words: &[String], paths: &mut dyn PathJudge) -> Judgement<'p> {
        let matches = match matcher::read(&self.level, words) {
            Ok(matches) => matches,
            Err(failure) => {
                let shown = self.without_secrets(words);
                return refused(failure.level, refusal::of_failure(&failure, words, &shown, &self.level));
            }
        };
        let mut runs: Option<(Effect, Match<'p>, Vec<HeldClaim>)> = None;
        let mut outside: Option<(usize, Match<'p>, String)> = None;
        let mut kind = RefusalKind::Undescribed;
        let mut strictest =
            Strictest { effect: Effect::Allow, reason: None, matched: None, is_certain: true, mend: None };
        for matched in matches {
            let (effect, reason) = effect_of(&matched);
            let restricted = matched.restricted(words);
            let most = restricted.iter().map(|(_, _, restriction)| restriction.effect).fold(effect, Effect::max);
            if runs.as_ref().is_some_and(|(other, ..)| *other >= effect) && strictest.effect >= most {
                continue;
            }
            let held = hold(&matched, words, paths);
            kind = kind.max(held.as_ref().err().map_or(RefusalKind::Undescribed, |unheld| unheld.kind));
            if let Err(Unheld { is_elsewhere: true, .. }) = held {
                outside = further(outside, effect, matched, held);
                continue;
            }
            if effect > strictest.effect {
                let is_certain = held.is_ok();
                strictest = Strictest { effect, reason, matched: Some(matched.clone()), is_certain, mend: None };
            }
            for (word, text, restriction) in restricted {
                let Restriction { effect, reason, .. } = restriction;
                if *effect <= strictest.effect {
                    continue;
                }
                if let Some((is_certain, mend)) = is_restricted(restriction, (word, text), paths) {
                    let (reason, matched) = (reason.as_deref(), Some(matched.clone()));
                    strictest = Strictest { effect: *effect, reason, matched, is_certain, mend };
                }
            }
            match held {
                Ok(claims) if runs.as_ref().is_none_or(|(other, ..)| effect > *other) => {
                    runs = Some((effect, matched, claims));
                }
                Ok(_) => {}
                Err(_) => outside = further(outside, effect, matched, held),
            }
        }
        let denied = |level, reason| refusal::denied(level, words, &self.without_secrets(words), reason);
        let judged = |decision, refusal, reason, matched: Match<'p>, claims| {
            let level = level_of(&matched, self);
            Judgement {
                decision,
                matched: Some(matched),
                level,
                refusal,
                reason,
                claims,
                shown: Vec::new(),
                refusal_kind: RefusalKind::Undescribed,
            }
        };
        match (strictest, runs, outside) {
            (Strictest { effect: Effect::Deny, is_certain: false, .. }, None, Some((_, matched, sentence))) => {
                let sentence = refusal::with_hint(sentence, &matched, words);
                Judgement { refusal_kind: kind, ..refused(level_of(&matched, self), sentence) }
            }
            (Strictest { effect: Effect::Deny, mend: Some(sentence), matched: Some(matched), .. }, _, _) => {
                Judgement { refusal_kind: RefusalKind::Denied, ..refused(level_of(&matched, self), sentence) }
            }
            (Strictest { effect: Effect::Deny, reason, matched: Some(matched), .. }, _, _) => {
                let refusal = Some(denied(level_of(&matched, self), reason));
                Judgement {
                    refusal_kind: RefusalKind::Denied,
                    ..judged(Expected::Refuse, refusal, reason, matched, Vec::new())
                }
            }
            (Strictest { effect: Effect::Ask, reason, .. }, Some((_, matched, claims)), _) => {
                let refusal = Some(refusal::needs_a_person(level_of(&matched, self), reason));
                judged(Expected::Ask, refusal, reason, matched, claims)
            }
            (Strictest { reason, .. }, Some((_, matched, claims)), _) => {
                judged(Expected::Allow, None, reason, matched, claims)
            }
            (_, None, Some((_, matched, sentence))) => {
                let sentence = refusal::with_hint(sentence, &matched, words);
                Judgement { refusal_kind: kind, ..refused(level_of(&matched, self), sentence) }
            }
            (_, None, None) => refused(&self.level, denied(&self.level, None)),
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

fn refused(level: &Level, refusal: String) -> Judgement<'_> {
    let (decision, refusal, claims, shown) = (Expected::Refuse, Some(refusal), Vec::new(), Vec::new());
    let refusal_kind = RefusalKind::Undescribed;
    Judgement { decision, matched: None, level, refusal, reason: None, claims, shown, refusal_kind }
}

/// Whether two words name the same program.
fn is_same_name(word: &str, name: &str) -> bool {
    word == name || (cfg!(windows) && windows_name::means(word, name))
}

/// Which values are left in the words of a refused call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    /// Those of options that are not secret.
    OfKnownOptions,
    None,
}

/// Properties of the options with a name.
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

/// The kind of the next word.
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
/// The most quoted texts of a sentence that are looked for in the values.
const MOST_QUOTED: usize = 16;

/// Removes from a sentence about a call what is hidden of its words.
pub(crate) fn without_values(sentence: String, words: &[String], shown: &[String]) -> String {
    let hidden = words.iter().zip(shown).filter(|(word, shown)| word != shown);
    let values = hidden.map(|(word, shown)| word.get(shown.len().saturating_sub(HIDDEN.len())..).unwrap_or(word));
    // A sentence may quote a part of a value, such as the name of a variable in it.
    let is_part = |quoted: &&str| quoted.len() >= SHORTEST_SECRET && values.clone().any(|value| value.contains(quoted));
    let parts: Vec<&str> = sentence.split('`').skip(1).step_by(2).take(MOST_QUOTED).filter(is_part).collect();
    let start = |value: &str, length| value.chars().take(length).collect::<String>();
    let values = values.filter(|value| sentence.contains(&*escape(&start(value, SHORTEST_SECRET))));
    let values: BTreeSet<String> =
        values.chain(parts).map(|value| start(value, LONGEST_VALUE)).take(MOST_VALUES + 1).collect();
    if values.len() > MOST_VALUES {
        return "the arguments are not what the rule takes; `list_commands` shows what it takes".to_owned();
    }
    // A short value is replaced only where it is quoted, since it may occur in the rest of the sentence by chance.
    let quoted = |value: String| if value.len() < SHORTEST_SECRET { format!("`{value}`") } else { value };
    let values = Secrets::new(values.into_iter().map(quoted));
    if values.are_none() { sentence } else { values.hide(&sentence).into_owned() }
}

/// The strictest of what the forms and the types of the values decide.
struct Strictest<'p> {
    effect: Effect,
    reason: Option<&'p str>,
    /// The form by which it was decided; `None` for [`Effect::Allow`].
    matched: Option<Match<'p>>,
    /// Whether it is certain that the form or the value is meant.
    is_certain: bool,
    /// Why it can't be certain of any path, if the operator can mend it.
    mend: Option<String>,
}

/// Why the paths of a form don't all lie where they must.
struct Unheld {
    /// The first word that does not.
    word: usize,
    /// The sentence about it.
    sentence: String,
    /// Whether it is certain that the form does not mean the call.
    is_elsewhere: bool,
    kind: RefusalKind,
}

/// Checks the paths of a form.
fn hold(matched: &Match<'_>, words: &[String], paths: &mut dyn PathJudge) -> Result<Vec<HeldClaim>, Unheld> {
    let mut held = Vec::new();
    let mut unheld = None;
    for claim in matched.claims(words) {
        match paths.judge(&claim) {
            // The rule means it, but the client's roots don't let the call run.
            Ok(HeldClaim { narrowed: Some(sentence), .. }) => {
                unheld.get_or_insert(Unheld {
                    word: claim.word,
                    sentence,
                    is_elsewhere: false,
                    kind: RefusalKind::Undescribed,
                });
            }
            Ok(claim) => held.push(claim),
            Err(error) => {
                let is_elsewhere = error.is_elsewhere();
                let sentence = || error.sentence(claim.text, claim.path.access);
                let kind = error.refusal_kind(claim.path.access);
                let found =
                    unheld.get_or_insert_with(|| Unheld { word: claim.word, sentence: sentence(), is_elsewhere, kind });
                found.kind = found.kind.max(kind);
                if is_elsewhere {
                    found.is_elsewhere = true;
                    break;
                }
            }
        }
    }
    unheld.map_or(Ok(held), Err)
}

/// The form that got further of those whose paths don't lie where they must. One that denies says nothing about what is allowed.
fn further<'p>(
    one: Option<(usize, Match<'p>, String)>,
    effect: Effect,
    matched: Match<'p>,
    held: Result<Vec<HeldClaim>, Unheld>,
) -> Option<(usize, Match<'p>, String)> {
    match held {
        Err(Unheld { word, sentence, .. })
            if effect != Effect::Deny && one.as_ref().is_none_or(|(other, ..)| word > *other) =>
        {
            Some((word, matched, sentence))
        }
        Ok(_) | Err(_) => one,
    }
}

/// Whether a value is one of those that are asked for or denied: `None` if it is not, else whether that is certain, and the sentence
/// if it can be of no path.
pub(super) fn is_restricted(
    restriction: &Restriction,
    (word, text): (usize, &str),
    paths: &mut dyn PathJudge,
) -> Option<(bool, Option<String>)> {
    if !matcher::fits(&restriction.value, text) {
        return None;
    }
    match &restriction.value {
        ValueType::Integer { .. } | ValueType::OneOf(_) | ValueType::Text(_) => Some((true, None)),
        ValueType::Path(path) => match paths.judge(&Claim { word, text, path }) {
            Ok(_) => Some((true, None)),
            Err(error @ PathError::NoProject) => Some((false, Some(error.sentence(text, path.access)))),
            Err(error) => (!error.is_elsewhere()).then_some((false, None)),
        },
    }
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

/// Whether some form describes the words, wherever their paths lead.
pub(crate) fn describes(command: &CommandRule, words: &[String]) -> bool {
    struct Anywhere;
    impl PathJudge for Anywhere {
        fn judge(&mut self, claim: &Claim<'_, '_>) -> Result<HeldClaim, PathError> {
            Ok(HeldClaim { word: claim.word, access: claim.path.access, reached: None, narrowed: None })
        }
    }
    command.judge(words, &mut Anywhere).decision != Expected::Refuse
}
