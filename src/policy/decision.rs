//! The decision: one pure function, the only one that makes an [`AllowedCommand`]. Only
//! [`Policy`](super::Policy) calls it, always with the program that it found itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::rules::{self, Approved, Asks, CommandRule, EnvRule, HeldClaim, Judged, LineVariables};
use super::{
    AllowList, CommandLine, CommandLineError, DirectoryError, Explanation, Program, Refusal, RefusalKind, Rule,
    WorkingDirectory, subcommands,
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
    /// The rule's verdict on the call; `None` if no rule describes it, or if it was not looked at.
    pub judged: Option<Judged>,
    /// Whether the call has an `input`.
    pub has_input: bool,
    /// The variables that a line sets for it.
    pub variables: LineVariables,
}

impl Facts {
    /// Whether rules have anything to say of it.
    fn is_for_rules(&self) -> bool {
        self.judged.is_some() || !self.variables.is_empty() || matches!(self.rule, Some(Rule::Described(_)))
    }
}

/// The command as its entry or rule lets a call run it.
#[derive(Debug)]
pub(super) struct Granted {
    /// Its rule; `None` if only its name is allowed.
    pub rule: Option<Arc<CommandRule>>,
    /// The command and its subcommands, if the rule describes them.
    pub level: Option<String>,
    /// The words that run: the client's, with those that the rule inserts.
    pub words: Vec<String>,
    pub claims: Vec<HeldClaim>,
    pub env: EnvRule,
    /// The question to a person, if one has to approve it.
    pub asks: Option<Asks>,
}

impl Granted {
    /// All of a command whose name is allowed.
    fn any(words: Vec<String>) -> Self {
        Self { rule: None, level: None, words, claims: Vec::new(), env: EnvRule::default(), asks: None }
    }
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
    if command.is_err() || facts.untrusted.is_some() {
        explanation.refusal_kind = RefusalKind::Unclear;
    }
    if facts.is_for_rules() {
        rules::explain(&facts, explanation);
    }
    let Facts { rule, directory, program, untrusted, judged, has_input, variables } = facts;
    explanation.has_input = has_input;
    let command = command?;
    explanation.literal_pattern = command.literal_pattern();
    if judged.is_none() {
        explanation.words = command.words().to_vec();
    }
    let word = command.word().to_owned();
    let not_allowed = || Refusal::NotAllowed { word: word.clone(), allowed: allow.listed() };
    let rule = rule.ok_or_else(not_allowed)?;
    explanation.rule = Some(rule.clone());
    let directory = directory?;
    explanation.directory = Some(directory.path().to_owned());
    let sought = rule.sought(&word).to_owned();
    let mut granted = match rule {
        Rule::Entry(_) | Rule::Any | Rule::Project(_) => Granted::any(command.into_words()),
        Rule::Described(rule) => rules::granted(rule, judged.ok_or_else(not_allowed)?, (&word, has_input))?,
    };
    if !variables.is_empty() {
        rules::add_variables(&mut granted, &word, variables)?;
    }
    let program = program.ok_or_else(|| Refusal::ProgramNotFound { word: word.clone(), sought: sought.clone() })?;
    explanation.program = Some(program.path().to_owned());
    if let Some(source) = untrusted {
        return Err(Refusal::Untrusted { word, source });
    }
    let program = program.path().to_owned();
    let (granted, approved) = match granted.asks.take() {
        None => (granted, None),
        Some(asks) => {
            let (granted, state) =
                asks.approve(granted, (&program, &directory), (&sought, &explanation.words), approved)?;
            (granted, Some(state))
        }
    };
    let Granted { rule, level, words, claims, env, asks: _ } = granted;
    // A call may have to wait for its turn, and holds no paths open meanwhile that its sandbox does not grant.
    let claims = if rule.as_ref().is_some_and(|rule| rule.sandbox.paths_claimed) { claims } else { Vec::new() };
    Ok(AllowedCommand { level, program, words, directory, rule, claims, env, approved })
}

#[cfg(test)]
mod tests;
