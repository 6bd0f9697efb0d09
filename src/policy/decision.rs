//! The decision: one pure function, the one maker of [`AllowedCommand`], and its explanation. Only
//! [`Policy`](super::Policy) calls it, so that the program is always the one that it found for the word and the rule.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::allow_list::OF_PROJECT;
use super::program::is_path;
use super::proposal::{Approved, Proposal};
use super::quoted::quoted;
use super::rules::{CommandRule, Expected, HeldClaim, Origin};
use super::windows_name;
use super::{AllowList, CommandLine, CommandLineError, DirectoryError, Program, Rule, WorkingDirectory};
use crate::files::FileState;
use crate::integrity::{Checked, Untrusted};

/// A command that was allowed, and has not run yet. Only [`Policy::examine`](super::Policy::examine) and
/// [`Policy::evaluate`](super::Policy::evaluate) make one, and running it uses it up.
#[derive(Debug)]
pub struct AllowedCommand {
    program: PathBuf,
    words: Vec<String>,
    directory: WorkingDirectory,
    rule: Option<Arc<CommandRule>>,
    claims: Vec<HeldClaim>,
    /// The program as a person has approved it; `None` where nobody was asked.
    approved: Option<FileState>,
}

impl AllowedCommand {
    /// The absolute path of the file to execute.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// `argv`: the first word as the client gave it, then the arguments, with those that the rule inserts.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Where it runs.
    pub fn directory(&self) -> &WorkingDirectory {
        &self.directory
    }

    /// What a policy says of it, and sets for it; `None` where the allow-list has its name alone.
    pub fn rule(&self) -> Option<&Arc<CommandRule>> {
        self.rule.as_ref()
    }

    /// How long it may take: what the call says, but no longer than its rule; where the call says nothing, what the rule
    /// says, else `otherwise`.
    pub fn timeout(&self, named: Option<Duration>, otherwise: Duration) -> Duration {
        bounded(named, self.rule.as_ref().and_then(|rule| rule.timeout), otherwise)
    }

    /// The exit codes that its rule calls a success; none where it says nothing of them.
    pub fn success_exit_codes(&self) -> &[i32] {
        self.rule.as_ref().map_or(&[], |rule| &rule.success_exit_codes)
    }

    /// Whether a person has approved it.
    pub fn is_approved(&self) -> bool {
        self.approved.is_some()
    }

    /// Whether its program was changed or replaced since a person has approved it.
    pub fn is_changed_since_approval(&self, program: &Checked) -> bool {
        let is_same =
            |approved: &FileState| FileState::with_contents(&program.handle_path()).is_ok_and(|now| now == *approved);
        self.approved.as_ref().is_some_and(|approved| !is_same(approved))
    }

    /// The paths among its words, as they were when they were checked.
    pub fn claims(&self) -> &[HeldClaim] {
        &self.claims
    }
}

/// How long a call may take: what it names, but no longer than its rule says; where it names nothing, what the rule says,
/// else `otherwise`.
pub(crate) fn bounded(named: Option<Duration>, of_rule: Option<Duration>, otherwise: Duration) -> Duration {
    match (named, of_rule) {
        (Some(named), Some(of_rule)) => named.min(of_rule),
        (one, other) => one.or(other).unwrap_or(otherwise),
    }
}

/// What was decided, and why.
#[derive(Debug)]
pub struct Decision {
    /// What the decision rests on, as far as it came.
    pub explanation: Explanation,
    /// The command, to be run once, or the reason why not.
    pub outcome: Result<AllowedCommand, Refusal>,
}

/// What would be decided for a command that is not to be run, and why.
#[derive(Debug)]
pub struct Verdict {
    /// What the decision rests on, as far as it came.
    pub explanation: Explanation,
    /// The reason why not; `None` where it would run.
    pub refusal: Option<Refusal>,
}

/// What a decision rests on. A part that was not reached is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The words of the command, without the values that its rule calls secret. Of what is no command line they are what was
    /// asked for, as [`CommandLineError::attempted`] has it.
    pub words: Vec<String>,
    /// The rule that lets the first word pass.
    pub rule: Option<Rule>,
    /// Where a policy describes what the words lead to; `None` where no policy does.
    pub described: Option<DescribedAt>,
    /// The file that would be executed.
    pub program: Option<PathBuf>,
    /// The canonical directory that it would run in.
    pub directory: Option<PathBuf>,
    /// What a shell would have expanded, and is passed on literally.
    pub literal_pattern: Option<&'static str>,
    /// The words that run of which the rest is secret, and from which byte on.
    pub(crate) secrets: Vec<(usize, usize)>,
}

/// The part of a policy that a call was decided by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedAt {
    /// The command with its subcommands, as far as the words lead.
    pub level: String,
    /// The form that decided, else what describes the level.
    pub origin: Origin,
}

/// Why a command does not run. Each text is one sentence for the model or the person that asked.
#[derive(Debug, Error)]
pub enum Refusal {
    /// It is no command line.
    #[error(transparent)]
    CommandLine(#[from] CommandLineError),
    /// No rule lets its first word pass.
    #[error("command {} is not allowed; {}", quoted(.word), advice(.word, .allowed))]
    NotAllowed {
        /// The first word.
        word: String,
        /// What is allowed: the names of the allow-list, and the programs of the project.
        allowed: Vec<String>,
    },
    /// Its rule does not take these arguments.
    #[error("{reason}")]
    Arguments {
        /// Why, as a sentence.
        reason: String,
    },
    /// Its rule wants a person to approve it.
    #[error("{0}")]
    NeedsApproval(Box<Proposal>),
    /// A person has approved it, and it would not be the same any more.
    #[error(
        "{what} is not what it was when a person was asked to approve this call, so it was not run; call it again to have it \
         approved as it is now"
    )]
    ChangedSinceApproval {
        /// What differs.
        what: &'static str,
    },
    /// Its rule takes no `input`.
    #[error("{} takes no `input`: its standard input is empty; give what it needs as arguments, or in a file", quoted(.word))]
    Input {
        /// The first word.
        word: String,
    },
    /// Its rule lets it run in other directories.
    #[error("{} may not run in this directory: its rule names the directories of the project that it may run in ({}); choose one with `cwd`", quoted(.word), .under.join(", "))]
    OutsideOfRule {
        /// The first word.
        word: String,
        /// The directories, relative to the project.
        under: Vec<String>,
    },
    /// The directory is none, or not allowed.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The persistent shell must not be given it, or not in this way.
    #[error("{reason}")]
    InShell {
        /// Why, as a sentence.
        reason: String,
    },
    /// The rule lets it pass, but there is no such program.
    #[error("{}", not_found(.word, .sought))]
    ProgramNotFound {
        /// The first word.
        word: String,
        /// What was looked for: a name in PATH, or the file at a path.
        sought: String,
    },
    /// Its program is not one that the operator trusts.
    #[error("command {} is not run: {source}", quoted(.word))]
    Untrusted {
        /// The first word.
        word: String,
        /// Why not.
        source: Untrusted,
    },
}

/// What an answer to a call ends with whose program can't be found.
pub const NOT_FOUND_NOTE: &str = "Note: This tool does not support interactive commands. \
     Ensure the command is non-interactive and the executable exists.";

fn advice(word: &str, allowed: &[String]) -> String {
    if allowed.is_empty() {
        return "no command is allowed yet: the operator names them with `--allow` or `ALLOWED_COMMANDS`".to_owned();
    }
    let allowed_names = allowed.join(", ");
    if word == "cd" {
        return format!("choose the directory of each call with `cwd`; allowed commands: {allowed_names}");
    }
    if is_assignment(word) {
        return format!(
            "a call can't set variables, the operator sets them with `--env`; leave it out, and begin with an allowed command: {allowed_names}"
        );
    }
    let name = word.rsplit(|c| c == '/' || (cfg!(windows) && c == '\\')).next().unwrap_or(word);
    let is_it = |entry: &String| entry == name || (cfg!(windows) && windows_name::means(name, entry));
    if let Some((_, advice)) = name_alone(word).filter(|(name, _)| allowed.iter().any(|entry| entry == name)) {
        return format!("{advice}; allowed commands: {allowed_names}");
    }
    if name != word && allowed.iter().any(is_it) {
        return format!("call it by its name alone, `{name}`; allowed commands: {allowed_names}");
    }
    if word.contains(['/', std::path::MAIN_SEPARATOR]) && allowed.iter().any(|entry| entry == OF_PROJECT) {
        return format!("no program under the project directory has this path; allowed commands: {allowed_names}");
    }
    format!("allowed commands: {allowed_names}")
}

/// The name in front and what to do, where a word holds more than a name.
fn name_alone(word: &str) -> Option<(&str, String)> {
    let mut parts = word.split_whitespace();
    let name = parts.next().filter(|name| *name != word)?;
    let shown = quoted(name);
    let advice = match parts.next() {
        None => format!("leave out the blanks around its name {shown}"),
        Some(_) => format!(
            "put its arguments into `args`, apart from its name {shown}, or leave out the quotes around them all"
        ),
    };
    Some((name, advice))
}

fn not_found(word: &str, sought: &str) -> String {
    let command = quoted(word);
    if is_path(sought) {
        return format!(
            "command {command} was not found: no executable file is at {}. {NOT_FOUND_NOTE}",
            quoted(sought)
        );
    }
    if word == "cd" {
        return format!("command {command} is not a program here; choose the directory of each call with `cwd`");
    }
    if let Some((_, advice)) = name_alone(word) {
        return format!("command {command} was not found; {advice}");
    }
    format!("command {command} was not found in the directories of the server's PATH. {NOT_FOUND_NOTE}")
}

/// Whether the word is `NAME=VALUE`, which a shell would take for a variable of the command behind it.
fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        let mut characters = name.chars();
        characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && characters.all(|character| character.is_ascii_alphanumeric() || character == '_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

impl Refusal {
    /// Whether the call would run if a person approved it.
    pub fn needs_approval(&self) -> bool {
        matches!(self, Self::NeedsApproval(_))
    }
}

/// What was found out about a call before it is decided.
#[derive(Debug)]
pub(super) struct Facts {
    /// What is said of its first word.
    pub rule: Option<Rule>,
    /// Where it would run.
    pub directory: Result<WorkingDirectory, DirectoryError>,
    /// The program that was found by the rule, if it was looked for.
    pub program: Option<Program>,
    /// What the guard has against it.
    pub untrusted: Option<Untrusted>,
    /// The program's file, where a person has to approve the call.
    pub state: Option<FileState>,
    /// What the rule says of the arguments; `None` where it takes any, or where nobody could look.
    pub judged: Option<Judged>,
    /// Whether the call brings input.
    pub has_input: bool,
    /// Whether the directory is one of those that the rule names.
    pub is_in_rule: bool,
}

/// What a rule says of the arguments of a call.
#[derive(Debug)]
pub(super) struct Judged {
    pub decision: Expected,
    pub refusal: Option<String>,
    pub reason: Option<String>,
    /// What runs: the words with those that the rule inserts.
    pub words: Vec<String>,
    /// The words without secrets.
    pub shown: Vec<String>,
    /// The same with those that the rule inserts; empty where the call is refused.
    pub shown_inserted: Vec<String>,
    /// Which of the words that run are secret, and from which byte on.
    pub secrets: Vec<(usize, usize)>,
    pub described: DescribedAt,
    pub claims: Vec<HeldClaim>,
}

/// Decides whether a command runs. Pure: what it rests on is in its arguments and in the explanation that it gives.
///
/// In this order: the command line must be one, a rule must let its first word pass, the directory must be allowed, the rule
/// must take the arguments and the input, the program must exist, and where the rule asks for a person, one must have
/// approved the very same.
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
    let Facts { rule, directory, program, untrusted, state, judged, has_input, is_in_rule } = facts;
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
    let (rule, words, shown_inserted, claims) = match rule {
        Rule::Entry(_) | Rule::Any | Rule::Project(_) => (None, command.into_words(), Vec::new(), Vec::new()),
        Rule::Described(rule) => {
            // Of a call whose arguments nobody looked at nothing is known that allows it.
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
            (Some(rule), judged.words, judged.shown_inserted, judged.claims)
        }
    };
    let sought = rule.as_ref().map_or_else(|| word.clone(), |rule| rule.sought().to_owned());
    let program = program.ok_or_else(|| Refusal::ProgramNotFound { word: word.clone(), sought: sought.clone() })?;
    explanation.program = Some(program.path().to_owned());
    if let Some(source) = untrusted {
        return Err(Refusal::Untrusted { word, source });
    }
    let program = program.path().to_owned();
    let Some((rule, (sentence, reason))) = rule.clone().zip(asks) else {
        return Ok(AllowedCommand { program, words, directory, rule, claims, approved: None });
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
        changes: Vec::new(),
    };
    let is_approved_before = approved.before.iter().any(|before| proposal.is_same(before));
    match approved.now.map(|now| proposal.difference(now)) {
        Some(Some(what)) if !is_approved_before => Err(Refusal::ChangedSinceApproval { what }),
        None if !is_approved_before => Err(Refusal::NeedsApproval(Box::new(proposal))),
        Some(_) | None => {
            let Proposal { words, claims, .. } = proposal;
            Ok(AllowedCommand { program, words, directory, rule: Some(rule), claims, approved: Some(state) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(allowed: &[&str], line: &str, directory: Result<WorkingDirectory, DirectoryError>) -> Decision {
        let allow = AllowList::new(allowed.iter().map(|&name| name.to_owned()));
        let command = CommandLine::parse(line);
        let rule = command.as_ref().ok().and_then(|command| allow.find(command.word()));
        let facts = Facts {
            rule,
            directory,
            program: None,
            untrusted: None,
            state: None,
            judged: None,
            has_input: false,
            is_in_rule: true,
        };
        decide(&allow, command, facts, Approved::default())
    }

    fn refusal(allowed: &[&str], line: &str) -> String {
        let directory = WorkingDirectory::open(Path::new("/")).map_err(|_| DirectoryError::NoRoots);
        decided(allowed, line, directory).outcome.unwrap_err().to_string()
    }

    #[test]
    fn a_refusal_says_what_was_wrong_and_what_is_allowed() {
        assert_eq!(refusal(&["ls"], "pwd"), "command `pwd` is not allowed; allowed commands: ls");
        assert_eq!(
            refusal(&["ls", "cat"], "/bin/ls -l"),
            "command `/bin/ls` is not allowed; call it by its name alone, `ls`; allowed commands: ls, cat"
        );
        assert_eq!(
            refusal(&[], "ls"),
            "command `ls` is not allowed; no command is allowed yet: the operator names them with `--allow` or `ALLOWED_COMMANDS`"
        );
        assert_eq!(
            refusal(&["ls"], "cd web"),
            "command `cd` is not allowed; choose the directory of each call with `cwd`; allowed commands: ls"
        );
        assert_eq!(
            refusal(&["ls"], "FOO=1 ls"),
            "command `FOO=1` is not allowed; a call can't set variables, the operator sets them with `--env`; leave it out, and \
             begin with an allowed command: ls"
        );
        assert_eq!(
            refusal(&["ls"], "\"ls -l\""),
            "command `ls -l` is not allowed; put its arguments into `args`, apart from its name `ls`, or leave out the quotes \
             around them all; allowed commands: ls"
        );
        assert!(refusal(&["*"], "\"lx -l\"").contains("was not found; put its arguments into `args`"));
        assert_eq!(
            refusal(&["cd"], "cd web"),
            "command `cd` is not a program here; choose the directory of each call with `cwd`"
        );
        assert!(
            refusal(&["./lx"], "./lx")
                .starts_with("command `./lx` was not found: no executable file is at `./lx`. Note")
        );
        assert!(refusal(&["ls"], "a-b=1").ends_with("is not allowed; allowed commands: ls"));
        assert!(refusal(&["cargo"], "cargo test 2>&1").contains("standard error is returned already"));
        assert_eq!(
            refusal(&["lx"], "lx"),
            "command `lx` was not found in the directories of the server's PATH. Note: This tool does not support \
             interactive commands. Ensure the command is non-interactive and the executable exists."
        );
    }

    #[test]
    fn what_is_not_on_the_list_is_refused_whatever_the_directory_is() {
        let decision = decided(&["ls"], "rm x", Err(DirectoryError::NoRoots));
        assert!(matches!(decision.outcome, Err(Refusal::NotAllowed { .. })));
        let decision = decided(&["ls"], "ls x", Err(DirectoryError::NoRoots));
        assert!(matches!(decision.outcome, Err(Refusal::Directory(DirectoryError::NoRoots))));
        assert_eq!(decision.explanation.rule, Some(Rule::Entry("ls".to_owned())));
    }
}
