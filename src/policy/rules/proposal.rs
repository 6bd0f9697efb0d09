//! A call that a person is asked to approve: everything that it would run, resolved and held.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CommandRule, EnvRule, HeldClaim, secrets_of};
use crate::files::{FileState, Held};
use crate::policy::WorkingDirectory;

/// A call that a person has to approve: what it was resolved to, held open so that nothing else can take its place
/// unnoticed. Only a decision makes one.
///
/// After the approval the call is decided again, and the second proposal must be the same as the one that was approved.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// Says in a sentence that it has to be approved.
    pub(in crate::policy) sentence: String,
    /// Why, in the operator's words.
    pub(in crate::policy) reason: Option<String>,
    pub(in crate::policy) rule: Arc<CommandRule>,
    /// The client's words, without what the rule calls secret.
    pub(in crate::policy) shown: Vec<String>,
    /// The same with the words that the rule inserts.
    pub(in crate::policy) shown_inserted: Vec<String>,
    /// The words that run: the client's, with those that the rule inserts.
    pub(in crate::policy) words: Vec<String>,
    /// The program and its file; `None` if the persistent shell finds what the first word means.
    pub(in crate::policy) program: Option<(PathBuf, FileState)>,
    pub(in crate::policy) directory: Arc<Held>,
    /// The path that the directory had when it was decided.
    pub(in crate::policy) path: PathBuf,
    pub(in crate::policy) claims: Vec<HeldClaim>,
    /// The rule's settings for its environment.
    pub(in crate::policy) env: EnvRule,
    /// The changes that earlier calls made in the persistent shell; empty for a process of its own.
    pub(in crate::policy) changes: Vec<ShellChange>,
}

/// A command that has changed, or may have changed, what later commands in the persistent shell get: variables, limits, the
/// umask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellChange {
    /// Its words.
    pub words: Vec<String>,
    /// Its words, without what its rule calls secret.
    pub shown: Vec<String>,
}

/// The approvals of a person.
#[derive(Debug, Clone, Copy, Default)]
pub struct Approved<'a> {
    /// This call; the decision must come to the same proposal again.
    pub now: Option<&'a Proposal>,
    /// Earlier calls, for the rest of the session.
    pub before: &'a [&'a Proposal],
}

impl Proposal {
    /// Why it has to be approved, in the operator's words.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The rule that asks for the approval.
    pub fn rule(&self) -> &CommandRule {
        &self.rule
    }

    /// The client's words, without what the rule calls secret.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// `argv` with the words that the rule inserts, without what it calls secret.
    pub(crate) fn shown_inserted(&self) -> &[String] {
        &self.shown_inserted
    }

    /// `argv` with the words that the rule inserts, secrets included.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The words with a secret part: the number of the word, and the byte from which it is secret.
    pub(crate) fn secrets(&self) -> Vec<(usize, usize)> {
        secrets_of(&self.words, &self.shown_inserted)
    }

    /// The file that is executed; `None` if the persistent shell finds what the first word means.
    pub fn program(&self) -> Option<&Path> {
        self.program.as_ref().map(|(program, _)| program.as_path())
    }

    /// The canonical path of the directory that it runs in.
    pub fn directory(&self) -> &Path {
        &self.path
    }

    /// Returns the rule's settings for its environment.
    pub(crate) fn env(&self) -> &EnvRule {
        &self.env
    }

    /// Returns the changes that earlier calls made in the persistent shell, the oldest first.
    pub fn changes(&self) -> &[ShellChange] {
        &self.changes
    }

    /// Whether another decision came to exactly the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self.difference(other).is_none()
    }

    /// The first part in which it differs from what another decision came to.
    pub(in crate::policy) fn difference(&self, other: &Self) -> Option<&'static str> {
        let words = (self.words != other.words).then_some("the command");
        words.or_else(|| self.difference_except(other, [&[], &[]]))
    }

    /// The same for two whose words are not compared. A path counts unless a pattern has found its word, which `here` and
    /// `there` say of each word of the client.
    pub(in crate::policy) fn difference_except(
        &self,
        other: &Self,
        [here, there]: [&[bool]; 2],
    ) -> Option<&'static str> {
        let [claims_here, claims_there] = [(self, here), (other, there)].map(|(proposal, found)| {
            let is_fixed = |claim: &&HeldClaim| !found.get(claim.word).copied().unwrap_or(false);
            proposal.claims.iter().filter(is_fixed).collect::<Vec<&HeldClaim>>()
        });
        let is_same_claim = |(one, other): (&&HeldClaim, &&HeldClaim)| {
            let is_same_place = match (&one.reached, &other.reached) {
                (Some(one), Some(other)) => one.is_same(other),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            one.access == other.access && is_same_place
        };
        // In full, so that no field is forgotten. The others follow from the rule and the words.
        let Self {
            sentence: _,
            shown: _,
            shown_inserted: _,
            words: _,
            rule,
            reason,
            program,
            directory,
            path,
            claims: _,
            env,
            changes,
        } = self;
        if *rule != other.rule || *reason != other.reason {
            Some("the rule")
        } else if *program != other.program {
            Some("the program")
        } else if directory.identity() != other.directory.identity() || *path != other.path {
            Some("the directory")
        } else if claims_here.len() != claims_there.len() || !claims_here.iter().zip(&claims_there).all(is_same_claim) {
            Some("what a path among the arguments leads to")
        } else if *env != other.env {
            Some("the environment")
        } else if *changes != other.changes {
            Some("what earlier calls have set in the shell")
        } else {
            None
        }
    }

    /// The directory of a call, and its path now.
    pub(in crate::policy) fn held_in(directory: &WorkingDirectory) -> (Arc<Held>, PathBuf) {
        (Arc::clone(directory.held()), directory.path().to_owned())
    }
}

/// The sentence for the model.
impl fmt::Display for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}
