//! A rule's verdict on a call, and what follows from it for the decision.

use std::path::Path;
use std::sync::Arc;

use super::{Approved, Arguments, CommandRule, EnvRule, Expected, HIDDEN, HeldClaim, Match, OnDisk, Proposal};
use crate::files::FileState;
use crate::policy::decision::{Facts, Granted};
use crate::policy::{DescribedAt, Directories, Explanation, Program, Refusal, RefusalKind, Rule, WorkingDirectory};

/// A rule's verdict on the arguments of a call.
#[derive(Debug)]
pub(crate) struct Judged {
    decision: Expected,
    refusal: Option<String>,
    reason: Option<String>,
    /// The words that run: the client's, with those that the rule inserts.
    words: Vec<String>,
    /// The client's words without secrets.
    shown: Vec<String>,
    /// The same with the words that the rule inserts; empty if the call is refused.
    shown_inserted: Vec<String>,
    /// The words that run and have a secret part: the number of the word, and the byte from which it is secret.
    secrets: Vec<(usize, usize)>,
    described: DescribedAt,
    claims: Vec<HeldClaim>,
    /// The rule's settings for the environment of the call.
    env: EnvRule,
    pub refusal_kind: RefusalKind,
    /// The program's file, if a person has to approve the call.
    state: Option<FileState>,
    /// Whether the rule allows the directory.
    is_in_rule: bool,
}

impl Judged {
    /// Judges the words of a call, and where it would run.
    pub(in crate::policy) fn of(
        rule: &CommandRule,
        words: &[String],
        (directories, directory): (&Directories, &WorkingDirectory),
        program: Option<&Program>,
    ) -> Self {
        let judgement = rule.judge(words, &mut OnDisk::new(directories, directory));
        let matched = judgement.matched.as_ref();
        let form = matched.and_then(|matched| matched.form).map(|form| form.origin.clone());
        let described = DescribedAt {
            level: judgement.level.title(),
            origin: form.unwrap_or_else(|| judgement.level.origin.clone()),
        };
        let shown = judgement.shown;
        let (words, shown_inserted) = match matched {
            Some(matched) if judgement.decision != Expected::Refuse => {
                (matched.with_inserted(words), matched.with_inserted(&shown))
            }
            Some(_) | None => (words.to_vec(), Vec::new()),
        };
        let (decision, refusal_kind) = (judgement.decision, judgement.refusal_kind);
        let asked = program.filter(|_| decision == Expected::Ask);
        Self {
            decision,
            refusal: judgement.refusal,
            reason: judgement.reason.map(str::to_owned),
            secrets: secrets_of(&words, &shown_inserted),
            words,
            shown,
            shown_inserted,
            described,
            claims: judgement.claims,
            // Words that nothing takes have the environment of all calls of the rule, for what is said of their variables.
            env: matched.map_or_else(|| rule.level.env.clone(), Match::env),
            refusal_kind,
            state: asked.and_then(|program| FileState::with_contents(program.path()).ok()),
            is_in_rule: rule.cwd_under.is_empty()
                || directories.beneath_project(&rule.cwd_under).holds(directory.held()),
        }
    }
}

/// Explains what is known of a call before it is decided.
pub(in crate::policy) fn explain(facts: &Facts, explanation: &mut Explanation) {
    let Facts { rule, judged, variables, .. } = facts;
    let kind = match (judged, rule) {
        (Some(judged), _) => judged.refusal_kind,
        (None, Some(Rule::Described(rule))) if rule.denies() => RefusalKind::Unclear,
        (None, Some(_) | None) => RefusalKind::Undescribed,
    };
    explanation.refusal_kind = explanation.refusal_kind.max(kind);
    let env = judged.as_ref().map(|judged| &judged.env);
    let describes = matches!(rule, Some(Rule::Described(rule)) if rule.describes_arguments());
    (explanation.variables, explanation.barred) = super::variables::not_accepted(variables, env, describes);
    if let Some(judged) = judged {
        explanation.words.clone_from(&judged.shown);
        explanation.described = Some(judged.described.clone());
        explanation.secrets.clone_from(&judged.secrets);
    }
}

/// The command as a rule lets a call run it, by its verdict.
///
/// # Errors
/// Why the rule does not.
pub(in crate::policy) fn granted(
    rule: Arc<CommandRule>,
    judged: Judged,
    (word, has_input): (&str, bool),
) -> Result<Granted, Refusal> {
    let Judged { words, claims, env, shown_inserted, state, .. } = judged;
    let asks = match (judged.decision, judged.refusal) {
        (Expected::Allow, _) => None,
        (Expected::Ask, sentence) => {
            Some(Asks { sentence: sentence.unwrap_or_default(), reason: judged.reason, shown_inserted, state })
        }
        (Expected::Refuse, reason) => return Err(Refusal::Arguments { reason: reason.unwrap_or_default() }),
    };
    if has_input && !rule.stdin {
        return Err(Refusal::Input { word: word.to_owned() });
    }
    if !judged.is_in_rule {
        return Err(Refusal::OutsideOfRule { word: word.to_owned(), under: rule.cwd_under.clone() });
    }
    let is_any = matches!(rule.level.arguments, Arguments::Any { .. });
    let level = Some(judged.described.level).filter(|_| !is_any);
    Ok(Granted { rule: Some(rule), level, words, claims, env, asks })
}

/// The question to a person who has to approve a call.
#[derive(Debug)]
pub(crate) struct Asks {
    sentence: String,
    reason: Option<String>,
    shown_inserted: Vec<String>,
    state: Option<FileState>,
}

impl Asks {
    /// Lets a call run that a person has approved, exactly as it is now; also returns its program's file.
    ///
    /// # Errors
    /// [`Refusal::NeedsApproval`], or why the approval does not count.
    pub(in crate::policy) fn approve(
        self,
        granted: Granted,
        (program, directory): (&Path, &WorkingDirectory),
        (sought, shown): (&str, &[String]),
        approved: Approved<'_>,
    ) -> Result<(Granted, FileState), Refusal> {
        let Self { sentence, reason, shown_inserted, state } = self;
        let Granted { rule, level, words, claims, env, asks: _ } = granted;
        let not_found = |word: &str| Refusal::ProgramNotFound { word: word.to_owned(), sought: sought.to_owned() };
        let rule = rule.ok_or_else(|| not_found(sought))?;
        let state = state.ok_or_else(|| not_found(&rule.name))?;
        let (held, path) = Proposal::held_in(directory);
        let proposal = Proposal {
            sentence,
            reason,
            rule: Arc::clone(&rule),
            shown: shown.to_vec(),
            shown_inserted,
            words,
            program: Some((program.to_owned(), state.clone())),
            directory: held,
            path,
            claims,
            env,
            changes: Vec::new(),
        };
        let is_approved_before = approved.before.iter().any(|before| proposal.is_same(before));
        match approved.now.map(|now| proposal.difference(now)) {
            Some(Some(what)) if !is_approved_before => Err(Refusal::ChangedSinceApproval { what }),
            None if !is_approved_before => Err(Refusal::NeedsApproval(Box::new(proposal))),
            Some(_) | None => {
                let Proposal { words, claims, env, .. } = proposal;
                Ok((Granted { rule: Some(rule), level, words, claims, env, asks: None }, state))
            }
        }
    }
}

/// Compares words with how they are shown: the numbers of those with a secret part, and the byte from which it is secret.
pub(in crate::policy) fn secrets_of(words: &[String], shown: &[String]) -> Vec<(usize, usize)> {
    let both = words.iter().zip(shown).enumerate().filter(|(_, (word, shown))| word != shown);
    both.map(|(place, (_, shown))| (place, shown.strip_suffix(HIDDEN).map_or(0, str::len))).collect()
}
