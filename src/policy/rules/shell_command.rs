//! A command for the persistent shell, allowed by the same list as other commands. Only this file makes one, and only
//! [`Policy`] calls it, always with the programs that it finds itself.

use std::path::Path;
use std::sync::Arc;

use super::{
    Claim, CommandRule, EnvRule, Expected, HeldClaim, Judgement, OnDisk, PathError, PathJudge, Proposal, ShellChange,
    matcher, secrets_of,
};

use crate::files::FileState;
#[cfg(target_os = "linux")]
use crate::files::Held;
#[cfg(target_os = "linux")]
use crate::integrity::{Needed, needed_by};
use crate::policy::{AllowList, Directories, Policy, Programs, Refusal, WorkingDirectory};

/// A command that the persistent shell may run, once, if [`check_in`](Self::check_in) passes when its turn comes.
#[derive(Debug)]
pub struct ShellCommand {
    words: Vec<String>,
    /// The path that replaces the first word; `None` if the shell itself finds what the word means.
    program: Option<String>,
    /// The rule for it, with the words that were judged; `None` if only its name is allowed.
    judged: Option<JudgedWords>,
    /// The approval of a person, if anyone was asked.
    approved: Option<Box<Proposal>>,
}

/// The rule of a command, and the client's words.
#[derive(Debug)]
struct JudgedWords {
    rule: Arc<CommandRule>,
    words: Vec<String>,
    /// The words without what the rule calls secret.
    shown: Vec<String>,
    /// The same with the words that the rule inserts.
    shown_inserted: Vec<String>,
}

/// The one that looks up the first word of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finder {
    /// The shell: the word is a builtin, or the shell looks words up in its own way.
    Shell,
    /// The policy.
    Policy,
}

impl Policy {
    /// Decides on a command for the persistent shell, which has checked the words itself before. `finder` says whether the
    /// shell or the policy finds the program.
    pub(crate) fn allow_in_shell(
        &self,
        entry: &str,
        arguments: Vec<String>,
        finder: Finder,
    ) -> Result<ShellCommand, Refusal> {
        // A rule is for a file, by whatever entry the file is allowed beside it. A builtin has none.
        let of_file = || {
            let program = self.programs.find_listed(entry).filter(|_| finder == Finder::Policy)?;
            self.programs.rule_of(program.path(), Path::new(entry), self.allow.rules(), &self.directories)
        };
        let rule = self.allow.rules().get(entry).cloned().or_else(of_file);
        let command = allow_in_shell(&self.allow, rule.as_ref(), &self.programs, entry, arguments, finder)?;
        if let Some((program, error)) = command.program().and_then(|program| Some((program, not_executed(program)?))) {
            let reason = format!("the program `{}` could not be started: {error}", program.display());
            return Err(Refusal::InShell { reason });
        }
        match self.guard.as_ref().zip(command.program()).map(|(guard, program)| guard.glance(program)) {
            Some(Err(source)) => Err(Refusal::Untrusted { word: entry.to_owned(), source }),
            Some(Ok(())) | None => Ok(command),
        }
    }
}

impl ShellCommand {
    /// The allow-list entry and its arguments. Never empty.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The program that runs; `None` if the shell finds it.
    pub fn program(&self) -> Option<&Path> {
        self.program.as_deref().map(Path::new)
    }

    /// The rule for it; `None` if only its name is allowed.
    pub fn rule(&self) -> Option<&Arc<CommandRule>> {
        self.judged.as_ref().map(|judged| &judged.rule)
    }

    /// The client's words, without what its rule calls secret.
    pub(crate) fn shown(&self) -> &[String] {
        self.judged.as_ref().map_or(&self.words, |judged| &judged.shown)
    }

    /// The words with a secret part: the number of the word, and the byte from which it is secret.
    pub(crate) fn secrets(&self) -> Vec<(usize, usize)> {
        self.judged.as_ref().map_or_else(Vec::new, |judged| secrets_of(&self.words, &judged.shown_inserted))
    }

    /// Adds what a person has approved.
    #[must_use]
    pub fn approved(self, proposal: Proposal) -> Self {
        Self { approved: Some(Box::new(proposal)), ..self }
    }

    /// Whether a person has approved it for a shell that earlier calls had changed.
    pub(crate) fn relies_on_changes(&self) -> bool {
        self.approved.as_ref().is_some_and(|proposal| !proposal.changes.is_empty())
    }

    /// Checks what is known only when its turn comes: the shell's directory, what earlier calls have changed in the shell,
    /// and the paths among the words. If the rule asks for a person, one must have approved the command as it is now.
    ///
    /// # Errors
    /// [`Refusal`], if it may not run.
    pub fn check_in(
        &self,
        directories: &Directories,
        here: &WorkingDirectory,
        changes: &[ShellChange],
    ) -> Result<(), Refusal> {
        let Some(JudgedWords { rule, words, shown, shown_inserted }) = &self.judged else { return Ok(()) };
        let judgement = rule.judge(words, &mut OnDisk::new(directories, here));
        refuse(&judgement)?;
        if !rule.cwd_under.is_empty() && !directories.beneath_project(&rule.cwd_under).holds(here.held()) {
            return Err(Refusal::OutsideOfRule { word: rule.name.clone(), under: rule.cwd_under.clone() });
        }
        if judgement.decision != Expected::Ask {
            return Ok(());
        }
        let program = match self.program() {
            None => None,
            Some(program) => match FileState::with_contents(program) {
                Ok(state) => Some((program.to_owned(), state)),
                Err(_) => {
                    return Err(Refusal::ProgramNotFound { word: rule.name.clone(), sought: rule.sought().to_owned() });
                }
            },
        };
        let (directory, path) = Proposal::held_in(here);
        let proposal = Proposal {
            sentence: judgement.refusal.unwrap_or_default(),
            reason: judgement.reason.map(str::to_owned),
            rule: Arc::clone(rule),
            shown: shown.clone(),
            shown_inserted: shown_inserted.clone(),
            words: self.words.clone(),
            program,
            directory,
            path,
            claims: judgement.claims,
            // A rule with an environment of its own is refused in the shell.
            env: EnvRule::default(),
            changes: changes.to_vec(),
        };
        match self.approved.as_deref().map(|approved| proposal.difference(approved)) {
            None => Err(Refusal::NeedsApproval(Box::new(proposal))),
            Some(Some(what)) => Err(Refusal::ChangedSinceApproval { what }),
            Some(None) => Ok(()),
        }
    }

    /// The words for the shell's line. The program is named by its path, so that no builtin, function or alias runs instead.
    pub(crate) fn into_shell_words(self) -> Vec<String> {
        let Self { mut words, program, judged: _, approved: _ } = self;
        if let (Some(word), Some(program)) = (words.first_mut(), program) {
            *word = program;
        }
        words
    }
}

/// Decides whether the shell may run `entry` with `arguments`. The list must hold exactly that entry, since there is a tool for
/// each entry. `*` allows nothing here.
///
/// # Errors
/// [`Refusal`]. A program whose path does not fit into the shell's line counts as not found.
pub(super) fn allow_in_shell(
    allow: &AllowList,
    rule: Option<&Arc<CommandRule>>,
    programs: &Programs,
    entry: &str,
    arguments: Vec<String>,
    finder: Finder,
) -> Result<ShellCommand, Refusal> {
    if !allow.has_entry(entry) {
        return Err(Refusal::NotAllowed { word: entry.to_owned(), allowed: allow.names().to_vec() });
    }
    let mut words: Vec<String> = std::iter::once(entry.to_owned()).chain(arguments).collect();
    let mut judged = None;
    let mut named = entry;
    let mut finder = finder;
    if let Some(rule) = rule {
        if !rule.has_no_settings() {
            let reason = format!(
                "the rule for `{entry}` sets a sandbox, an environment or limits of its own, and the persistent shell has one \
                 for all commands; call it as a process of its own"
            );
            return Err(Refusal::InShell { reason });
        }
        let matches = match rule.level.has_paths() {
            // The paths are checked when its turn comes.
            true => matcher::read(&rule.level, &words).unwrap_or_default(),
            false => {
                let judgement = rule.judge(&words, &mut NoPaths);
                refuse(&judgement)?;
                judgement.matched.into_iter().collect()
            }
        };
        let Some(matched) = matches.first() else {
            // No form matches. The judge says why.
            refuse(&rule.judge(&words, &mut NoPaths))?;
            return Err(Refusal::NotAllowed { word: entry.to_owned(), allowed: allow.names().to_vec() });
        };
        // Which form counts is not known yet, so what any of them calls secret is hidden.
        let shown = matches.iter().fold(words.clone(), |shown, matched| matched.without_secrets(&shown));
        let (inserted, shown_inserted) = (matched.with_inserted(&words), matched.with_inserted(&shown));
        judged = Some(JudgedWords { rule: Arc::clone(rule), words, shown, shown_inserted });
        words = inserted;
        if let Some(program) = rule.program.as_deref().filter(|_| rule.name == entry) {
            (named, finder) = (program, Finder::Policy);
        }
    }
    let program = match finder {
        Finder::Shell => None,
        Finder::Policy => {
            let found = programs.find_listed(named);
            let path = found.as_ref().and_then(|program| program.path().to_str());
            let path = path.filter(|path| !path.contains(char::is_control));
            let (word, sought) = (entry.to_owned(), named.to_owned());
            Some(path.ok_or(Refusal::ProgramNotFound { word, sought })?.to_owned())
        }
    };
    Ok(ShellCommand { words, program, judged, approved: None })
}

/// The error that a process of its own would end with, if the kernel does not execute this file. A shell reads such a file as a
/// script.
#[cfg(target_os = "linux")]
fn not_executed(program: &Path) -> Option<std::io::Error> {
    let needed = Held::open(program).and_then(|held| needed_by(&held)).ok()?;
    needed.contains(&Needed::Shell).then(|| rustix::io::Errno::NOEXEC.into())
}

#[cfg(not(target_os = "linux"))]
fn not_executed(_: &Path) -> Option<std::io::Error> {
    None
}

/// The refusal of a judgement, if it refuses. Whether a person has approved the call is checked when its turn comes.
fn refuse(judgement: &Judgement<'_>) -> Result<(), Refusal> {
    match judgement.decision {
        Expected::Allow | Expected::Ask => Ok(()),
        Expected::Refuse => Err(Refusal::Arguments { reason: judgement.refusal.clone().unwrap_or_default() }),
    }
}

/// A judge for rules without paths.
struct NoPaths;

impl PathJudge for NoPaths {
    fn judge(&mut self, _claim: &Claim<'_, '_>) -> Result<HeldClaim, PathError> {
        Err(PathError::Outside { allowed: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::SearchPath;

    fn programs() -> Programs {
        Programs::new(SearchPath::new(Some("".as_ref())), "/".into())
    }

    #[test]
    fn only_what_stands_on_the_list_may_be_given_to_the_shell() {
        let allow = AllowList::new(["ls".to_owned(), "*".to_owned()]);
        let command = allow_in_shell(&allow, None, &programs(), "ls", vec!["-l".to_owned()], Finder::Shell).unwrap();
        assert_eq!(command.words(), ["ls", "-l"]);
        for entry in ["rm", "*", "", "LS", "/bin/ls", "ls "] {
            assert!(allow_in_shell(&allow, None, &programs(), entry, Vec::new(), Finder::Shell).is_err(), "{entry}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_or_has_no_plain_path_is_refused() {
        let allow = AllowList::new(["ls".to_owned()]);
        let refused = allow_in_shell(&allow, None, &programs(), "ls", Vec::new(), Finder::Policy).unwrap_err();
        assert!(refused.to_string().starts_with("command `ls` was not found"), "{refused}");
    }
}
