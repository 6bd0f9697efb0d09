//! What a rule decides for a call: the forms that match, the paths in them, and which of the forms counts.

use super::grammar::{Access, Arguments, CommandRule, Effect, Expected, Level};
use super::matcher::{self, Claim, Match};
use super::reach::{HeldClaim, PathError};
use super::refusal;

/// What stands in the place of a secret.
pub(crate) const HIDDEN: &str = "***";

/// Says whether a path lies where it must.
pub trait PathJudge {
    /// Looks at one path.
    ///
    /// # Errors
    /// [`PathError`], why it does not.
    fn judge(&mut self, claim: &Claim<'_, '_>) -> Result<HeldClaim, PathError>;
}

/// What a rule decides, and what that rests on.
#[derive(Debug)]
pub struct Judgement<'p> {
    /// Whether it runs.
    pub decision: Expected,
    /// The form that decides, with what each word is; `None` where none matches.
    pub matched: Option<Match<'p>>,
    /// The level that the words lead to.
    pub level: &'p Level,
    /// Why it does not run as it is, in a sentence for the model; `None` where it runs.
    pub refusal: Option<String>,
    /// What the operator says of the form that decides.
    pub reason: Option<&'p str>,
    /// The paths of the form that decides, held.
    pub claims: Vec<HeldClaim>,
}

impl CommandRule {
    /// Decides about the words of a call, of which the first is the command.
    ///
    /// Every form is tried. Of those that match and whose paths lie where they must, deny beats ask beats allow, whatever
    /// their order; where there are none the call is refused.
    pub fn judge<'p>(&'p self, words: &[String], paths: &mut dyn PathJudge) -> Judgement<'p> {
        let matches = match matcher::read(&self.level, words) {
            Ok(matches) => matches,
            Err(failure) => {
                let level = failure.level;
                let refusal = Some(refusal::of_failure(&failure, words, &self.level));
                return Judgement {
                    decision: Expected::Refuse,
                    matched: None,
                    level,
                    refusal,
                    reason: None,
                    claims: Vec::new(),
                };
            }
        };
        let mut best: Option<(Effect, Match<'p>, Vec<HeldClaim>)> = None;
        let mut outside: Option<(usize, Match<'p>, String)> = None;
        for matched in matches {
            let effect = effect_of(&matched);
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
        match (best, outside) {
            (Some((effect, matched, claims)), _) => {
                let level = level_of(&matched, self);
                let reason = reason_of(&matched);
                let (decision, refusal) = match effect {
                    Effect::Allow => (Expected::Allow, None),
                    Effect::Ask => (Expected::Ask, Some(refusal::needs_a_person(level, reason))),
                    Effect::Deny => (Expected::Refuse, Some(refusal::denied(level, words, reason))),
                };
                Judgement { decision, matched: Some(matched), level, refusal, reason, claims }
            }
            (None, outside) => {
                let level = outside.as_ref().map_or(&self.level, |(_, matched, _)| level_of(matched, self));
                let refusal = outside.map_or_else(
                    || refusal::denied(level, words, None),
                    |(_, matched, sentence)| refusal::with_hint(sentence, &matched, words),
                );
                let (decision, claims) = (Expected::Refuse, Vec::new());
                Judgement { decision, matched: None, level, refusal: Some(refusal), reason: None, claims }
            }
        }
    }
}

impl CommandRule {
    /// The words of a call that matches nothing, without what may be a secret: the values of options that the rule calls
    /// secret, and where it calls an operand secret every word that is no option.
    pub fn without_secrets(&self, words: &[String]) -> Vec<String> {
        let mut secret_options: Vec<&str> = Vec::new();
        let mut has_secret_operand = false;
        for level in self.level.levels() {
            let Arguments::Described { options, forms, .. } = &level.arguments else { continue };
            let all = options.iter().chain(forms.iter().flat_map(|form| form.options.iter()));
            secret_options.extend(
                all.filter(|option| option.is_secret).flat_map(|option| option.spellings.iter().map(String::as_str)),
            );
            let operands =
                forms.iter().flat_map(|form| form.operands.iter().chain(form.after_double_dash.iter().flatten()));
            has_secret_operand |= operands.into_iter().any(|operand| operand.is_secret);
        }
        let mut shown = words.to_vec();
        let mut is_value = false;
        for word in shown.iter_mut().skip(1) {
            let is_option = word.starts_with('-') && word != "-";
            let spelling = secret_options.iter().find(|spelling| word.starts_with(**spelling)).map(|found| found.len());
            match spelling {
                _ if is_value || (has_secret_operand && !is_option) => word.replace_range(.., HIDDEN),
                Some(length) if word.len() > length => word.replace_range(length.., HIDDEN),
                Some(_) | None => {}
            }
            is_value = spelling.is_some_and(|length| word.len() == length);
        }
        shown
    }
}

/// Looks at the paths of a form.
///
/// A form that denies counts unless one of its paths is known to lie elsewhere: what can't be found out takes nothing away
/// from a refusal.
fn hold(
    matched: &Match<'_>,
    words: &[String],
    paths: &mut dyn PathJudge,
    effect: Effect,
) -> Result<Vec<HeldClaim>, (usize, String)> {
    let mut held = Vec::new();
    for claim in matched.claims(words) {
        match paths.judge(&claim) {
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

fn effect_of(matched: &Match<'_>) -> Effect {
    match (matched.form, matched.levels.last().map(|(level, _)| &level.arguments)) {
        (Some(form), _) => form.effect,
        (None, Some(Arguments::Any { effect, .. })) => *effect,
        // A match without a form is of a level that takes anything.
        (None, Some(Arguments::Described { .. }) | None) => Effect::Deny,
    }
}

fn reason_of<'p>(matched: &Match<'p>) -> Option<&'p str> {
    match (matched.form, matched.levels.last().map(|(level, _)| &level.arguments)) {
        (Some(form), _) => form.reason.as_deref(),
        (None, Some(Arguments::Any { reason, .. })) => reason.as_deref(),
        (None, Some(Arguments::Described { .. }) | None) => None,
    }
}

impl Match<'_> {
    /// The words of the call with those that the rule inserts at each level.
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

    /// The words with the values that the rule calls secret replaced.
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

/// The judge for examples, which knows no file system: what is relative and has no `..` lies inside.
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
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(PathError::Outside),
            }
        }
        let is_beneath = |under: &String| Path::new(claim.text).strip_prefix("./").unwrap_or(path).starts_with(under);
        let is_project = |under: &String| under == "." || under.is_empty();
        if !claim.path.under.is_empty() && !claim.path.under.iter().any(|under| is_project(under) || is_beneath(under))
        {
            return Err(PathError::Outside);
        }
        let is_excepted = |except: &&String| parts.iter().any(|part| part.eq_ignore_ascii_case(except));
        if let Some(except) = claim.path.except.iter().find(is_excepted) {
            return Err(PathError::Except { name: except.clone() });
        }
        if claim.path.access == Access::Write && parts.is_empty() {
            return Err(PathError::Root);
        }
        Ok(HeldClaim { access: claim.path.access, reached: None })
    }
}
