//! The decision: one pure function, the only one that makes an [`AllowedCommand`]. Only
//! [`Policy`](super::Policy) calls it, always with the program that it found itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::proposal::{Approved, Proposal};
use super::reading::changes_reading;
use super::rules::{Arguments, CommandRule, EnvRule, Expected, HeldClaim};
use super::{
    AllowList, CommandLine, CommandLineError, DescribedAt, DirectoryError, Explanation, Program, Refusal, RefusalKind,
    Rule, VariableBar, WorkingDirectory, subcommands,
};
use crate::files::FileState;
use crate::integrity::{Checked, Untrusted};

/// A command that was allowed and has not run yet. Only [`Policy::examine`](super::Policy::examine) and
/// [`Policy::evaluate`](super::Policy::evaluate) make one, and running it consumes it.
#[derive(Debug)]
pub struct AllowedCommand {
    /// The command and its subcommands, if a rule describes them.
    level: Option<String>,
    program: PathBuf,
    words: Vec<String>,
    directory: WorkingDirectory,
    rule: Option<Arc<CommandRule>>,
    claims: Vec<HeldClaim>,
    /// Its environment by its rule.
    env: EnvRule,
    /// The program's file as a person approved it; `None` if nobody had to approve it.
    approved: Option<FileState>,
}

impl AllowedCommand {
    /// The absolute path of the file to execute.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// `argv`: the first word as the client gave it, and the arguments, with the words that the rule inserts.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The command, with its subcommand if a rule describes it or its program is known to begin with one: what a failure in a
    /// line is called by.
    pub fn name(&self) -> String {
        let Some((word, arguments)) = self.words.split_first().filter(|_| self.level.is_none()) else {
            return self.level.clone().unwrap_or_default();
        };
        subcommands::named(word.rsplit('/').next().unwrap_or_default(), arguments)
    }

    /// Where it runs.
    pub fn directory(&self) -> &WorkingDirectory {
        &self.directory
    }

    /// Returns its rule; `None` if only its name is allowed.
    pub fn rule(&self) -> Option<&Arc<CommandRule>> {
        self.rule.as_ref()
    }

    /// How long it may take: `named` by the call, but no longer than its rule allows. If the call names no timeout, the
    /// rule's counts, else `otherwise`.
    pub fn timeout(&self, named: Option<Duration>, otherwise: Duration) -> Duration {
        bounded(named, self.rule.as_ref().and_then(|rule| rule.timeout), otherwise)
    }

    /// The exit codes that its rule calls a success; empty if it names none.
    pub fn success_exit_codes(&self) -> &[i32] {
        self.rule.as_ref().map_or(&[], |rule| &rule.success_exit_codes)
    }

    /// Whether a person has approved it.
    pub fn is_approved(&self) -> bool {
        self.approved.is_some()
    }

    /// Whether it may read what nobody has seen: its rule allows input, and no person has approved it with the input that was shown.
    pub(crate) fn takes_input(&self) -> bool {
        !self.is_approved() && self.rule().is_none_or(|rule| rule.stdin)
    }

    /// Whether its program was changed or replaced after a person approved it.
    pub fn is_changed_since_approval(&self, program: &Checked) -> bool {
        let is_same =
            |approved: &FileState| FileState::with_contents(&program.handle_path()).is_ok_and(|now| now == *approved);
        self.approved.as_ref().is_some_and(|approved| !is_same(approved))
    }

    /// Returns its rule's settings for its environment.
    pub fn env(&self) -> &EnvRule {
        &self.env
    }

    /// The paths among its words, as they were when they were checked.
    pub fn claims(&self) -> &[HeldClaim] {
        &self.claims
    }
}

/// How long a call may take: what it names, but no longer than its rule allows. If it names nothing, what the rule says, else
/// `otherwise`.
pub(crate) fn bounded(named: Option<Duration>, of_rule: Option<Duration>, otherwise: Duration) -> Duration {
    match (named, of_rule) {
        (Some(named), Some(of_rule)) => named.min(of_rule),
        (one, other) => one.or(other).unwrap_or(otherwise),
    }
}

/// A decision, with its explanation.
#[derive(Debug)]
pub struct Decision {
    /// The explanation, as far as the decision came.
    pub explanation: Explanation,
    /// The command, to be run once, or why it does not run.
    pub outcome: Result<AllowedCommand, Refusal>,
}

/// The facts about a call before it is decided.
#[derive(Debug)]
pub(super) struct Facts {
    /// The entry or rule that allows its first word; `None` if none does.
    pub rule: Option<Rule>,
    /// Where it would run.
    pub directory: Result<WorkingDirectory, DirectoryError>,
    /// The program, if it was looked for and found.
    pub program: Option<Program>,
    /// Why the guard does not trust the program.
    pub untrusted: Option<Untrusted>,
    /// The program's file, if a person has to approve the call.
    pub state: Option<FileState>,
    /// The rule's verdict on the arguments; `None` if no rule describes them, or if they were not looked at.
    pub judged: Option<Judged>,
    /// Whether the call has an `input`.
    pub has_input: bool,
    /// Whether the rule allows the directory.
    pub is_in_rule: bool,
    /// The variables that a line sets for it.
    pub variables: BTreeMap<String, LineVariable>,
}

/// A rule's verdict on the arguments of a call.
#[derive(Debug)]
pub(super) struct Judged {
    pub decision: Expected,
    pub refusal: Option<String>,
    pub reason: Option<String>,
    /// The words that run: the client's, with those that the rule inserts.
    pub words: Vec<String>,
    /// The client's words without secrets.
    pub shown: Vec<String>,
    /// The same with the words that the rule inserts; empty if the call is refused.
    pub shown_inserted: Vec<String>,
    /// The words that run and have a secret part: the number of the word, and the byte from which it is secret.
    pub secrets: Vec<(usize, usize)>,
    pub described: DescribedAt,
    pub claims: Vec<HeldClaim>,
    /// The rule's settings for the environment of the call.
    pub env: EnvRule,
    pub refusal_kind: RefusalKind,
}

/// Decides whether a command runs. Pure: everything that it rests on is in its arguments.
///
/// It checks in this order: the text is a command line, the first word is allowed, the directory is allowed, the rule allows
/// the arguments, the input and the directory, the program exists and is trusted, and if the rule asks for a person, one has
/// approved exactly this call.
pub(super) fn decide(
    allow: &AllowList,
    command: Result<CommandLine, CommandLineError>,
    facts: Facts,
    approved: Approved<'_>,
) -> Decision {
    let mut explanation = Explanation::default();
    let outcome = decide_in_order(allow, command, facts, approved, &mut explanation);
    Decision { explanation, outcome }
}

fn decide_in_order(
    allow: &AllowList,
    command: Result<CommandLine, CommandLineError>,
    facts: Facts,
    approved: Approved<'_>,
    explanation: &mut Explanation,
) -> Result<AllowedCommand, Refusal> {
    explanation.refusal_kind = refusal_kind(&facts, command.is_err());
    let Facts { rule, directory, program, untrusted, state, judged, has_input, is_in_rule, variables } = facts;
    let env = judged.as_ref().map(|judged| &judged.env);
    let describes = matches!(&rule, Some(Rule::Described(rule)) if rule.describes_arguments());
    explanation.has_input = has_input;
    (explanation.variables, explanation.barred) = not_accepted(&variables, env, describes);
    let command = command?;
    explanation.literal_pattern = command.literal_pattern();
    explanation.words = judged.as_ref().map_or_else(|| command.words().to_vec(), |judged| judged.shown.clone());
    explanation.described = judged.as_ref().map(|judged| judged.described.clone());
    explanation.secrets = judged.as_ref().map(|judged| judged.secrets.clone()).unwrap_or_default();
    let word = command.word().to_owned();
    let Some(rule) = rule else {
        return Err(Refusal::NotAllowed { word, allowed: allow.listed() });
    };
    explanation.rule = Some(rule.clone());
    let directory = directory?;
    explanation.directory = Some(directory.path().to_owned());
    let mut asks = None;
    let (rule, level, words, shown_inserted, claims, mut env) = match rule {
        Rule::Entry(_) | Rule::Any | Rule::Project(_) => {
            (None, None, command.into_words(), Vec::new(), Vec::new(), EnvRule::default())
        }
        Rule::Described(rule) => {
            // Nobody has looked at the arguments, so nothing allows them.
            let Some(judged) = judged else {
                return Err(Refusal::NotAllowed { word, allowed: allow.listed() });
            };
            match (judged.decision, judged.refusal) {
                (Expected::Allow, _) => {}
                (Expected::Ask, sentence) => asks = Some((sentence.unwrap_or_default(), judged.reason)),
                (Expected::Refuse, reason) => return Err(Refusal::Arguments { reason: reason.unwrap_or_default() }),
            }
            if has_input && !rule.stdin {
                return Err(Refusal::Input { word });
            }
            if !is_in_rule {
                return Err(Refusal::OutsideOfRule { word, under: rule.cwd_under.clone() });
            }
            let is_any = matches!(rule.level.arguments, Arguments::Any { .. });
            let level = Some(judged.described.level).filter(|_| !is_any);
            (Some(rule), level, judged.words, judged.shown_inserted, judged.claims, judged.env)
        }
    };
    if !variables.is_empty() {
        let describes_arguments = rule.as_ref().is_some_and(|rule| rule.describes_arguments());
        add_variables(&mut env, variables, (&word, describes_arguments))?;
    }
    let sought = rule.as_ref().map_or_else(|| word.clone(), |rule| rule.sought().to_owned());
    let program = program.ok_or_else(|| Refusal::ProgramNotFound { word: word.clone(), sought: sought.clone() })?;
    explanation.program = Some(program.path().to_owned());
    if let Some(source) = untrusted {
        return Err(Refusal::Untrusted { word, source });
    }
    let program = program.path().to_owned();
    let Some((rule, (sentence, reason))) = rule.clone().zip(asks) else {
        let claims = used(claims, rule.as_deref());
        return Ok(AllowedCommand { level, program, words, directory, rule, claims, env, approved: None });
    };
    let Some(state) = state else { return Err(Refusal::ProgramNotFound { word: rule.name.clone(), sought }) };
    let (held, path) = Proposal::held_in(&directory);
    let proposal = Proposal {
        sentence,
        reason,
        rule: Arc::clone(&rule),
        shown: explanation.words.clone(),
        shown_inserted,
        words,
        program: Some((program.clone(), state.clone())),
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
            let claims = used(claims, Some(&rule));
            let (rule, approved) = (Some(rule), Some(state));
            Ok(AllowedCommand { level, program, words, directory, rule, claims, env, approved })
        }
    }
}

/// How firmly a command is refused, if it is.
fn refusal_kind(facts: &Facts, is_no_command: bool) -> RefusalKind {
    match (&facts.judged, &facts.rule) {
        _ if is_no_command => RefusalKind::Unclear,
        (Some(judged), _) if facts.untrusted.is_some() => judged.refusal_kind.max(RefusalKind::Unclear),
        (Some(judged), _) => judged.refusal_kind,
        (None, _) if facts.untrusted.is_some() => RefusalKind::Unclear,
        (None, Some(Rule::Described(rule))) if rule.denies() => RefusalKind::Unclear,
        (None, Some(_) | None) => RefusalKind::Undescribed,
    }
}

/// A variable that a line sets for a command.
#[derive(Debug)]
pub(super) struct LineVariable {
    pub value: String,
    /// Whether the operator lets lines set it for every command.
    pub is_named: bool,
}

/// Adds the variables that a line sets, as far as they are allowed. What the rule says itself stays, and where it describes arguments, none
/// changes how the program reads them.
fn add_variables(
    env: &mut EnvRule,
    variables: BTreeMap<String, LineVariable>,
    (word, describes_arguments): (&str, bool),
) -> Result<(), Refusal> {
    for (name, LineVariable { value, is_named }) in variables {
        let bar = match () {
            () if env.set.contains_key(&name) => Some(VariableBar::Set),
            () if env.unset.contains(&name) => Some(VariableBar::Removed),
            () if describes_arguments && changes_reading(name.as_ref()) => Some(VariableBar::Reading),
            () => (!is_named && !env.accepts(&name, &value)).then_some(VariableBar::NotNamed),
        };
        if let Some(bar) = bar {
            return Err(Refusal::Variable { word: word.to_owned(), name, bar });
        }
        env.set.insert(name, value);
    }
    Ok(())
}

/// The variables that a line may set only if the operator says so, and those that it may not set whatever is said. If there are any of
/// the latter, the former don't matter.
fn not_accepted(
    variables: &BTreeMap<String, LineVariable>,
    env: Option<&EnvRule>,
    describes: bool,
) -> (Vec<String>, Vec<String>) {
    let is_of_rule = |name: &&String| {
        env.is_some_and(|env| env.set.contains_key(*name) || env.unset.contains(*name))
            || describes && changes_reading(name.as_ref())
    };
    let barred: Vec<String> = variables.keys().filter(is_of_rule).cloned().collect();
    if !barred.is_empty() {
        return (Vec::new(), barred);
    }
    let is_accepted = |name: &str, value: &str| env.is_some_and(|env| env.accepts(name, value));
    let open = variables.iter().filter(|(name, set)| !set.is_named && !is_accepted(name, &set.value));
    (open.map(|(name, _)| name.clone()).collect(), barred)
}

/// The paths that the sandbox of the rule grants. A call may have to wait for its turn, and holds no others open meanwhile.
fn used(claims: Vec<HeldClaim>, rule: Option<&CommandRule>) -> Vec<HeldClaim> {
    if rule.is_some_and(|rule| rule.sandbox.paths_claimed) { claims } else { Vec::new() }
}

#[cfg(test)]
mod tests;
