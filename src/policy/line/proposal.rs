//! The proposal of a line to a person: everything that it would run, in front of everything.

use std::fmt;
use std::path::PathBuf;

use super::command::Here;
use crate::files::{Identity, Reached};
use crate::lines::Redirection;
use crate::policy::Proposal;

/// A command or a line that a person is asked to approve.
#[derive(Debug, Clone)]
pub enum Proposed {
    /// One command.
    Command(Box<Proposal>),
    /// A line of several.
    Line(Box<LineProposal>),
}

impl Proposed {
    /// The command, if it is one.
    pub fn command(&self) -> Option<&Proposal> {
        match self {
            Self::Command(proposal) => Some(proposal),
            Self::Line(_) => None,
        }
    }

    /// The line, if it is one of several commands.
    pub fn line(&self) -> Option<&LineProposal> {
        match self {
            Self::Line(line) => Some(line),
            Self::Command(_) => None,
        }
    }

    /// Whether another decision came to exactly the same.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Command(one), Self::Command(other)) => one.is_same(other),
            (Self::Line(one), Self::Line(other)) => one.is_same(other),
            (Self::Command(_), Self::Line(_)) | (Self::Line(_), Self::Command(_)) => false,
        }
    }

    /// The client's words, without what a rule calls secret; of a line those of its commands.
    pub fn shown(&self) -> Vec<String> {
        match self {
            Self::Command(proposal) => proposal.shown().to_vec(),
            Self::Line(line) => line.parts.iter().flat_map(|part| part.shown.iter().cloned()).collect(),
        }
    }

    /// The directory that it runs in; of a line, its first command.
    pub fn directory(&self) -> PathBuf {
        match self {
            Self::Command(proposal) => proposal.directory().to_owned(),
            Self::Line(line) => line.parts.first().map(|part| PathBuf::from(&part.directory)).unwrap_or_default(),
        }
    }
}

/// The sentence for the model.
impl fmt::Display for Proposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(proposal) => proposal.fmt(f),
            Self::Line(line) => line.fmt(f),
        }
    }
}

/// A line that a person has to approve. After the approval it is decided again, and the second proposal must be the same.
#[derive(Debug, Clone)]
pub struct LineProposal {
    /// Its commands, and its groups that have redirections, in the order of the text.
    pub(super) parts: Vec<ShownPart>,
    /// The text of the line.
    pub(super) text: String,
}

/// A command of a line, or a group with redirections, as a person sees it.
#[derive(Debug, Clone)]
pub struct ShownPart {
    /// The number of the command; 0 for a group.
    pub(super) number: usize,
    /// Its words as they run; for patterns whose names are found later, as they would be now.
    pub(super) words: Vec<String>,
    /// The same without secrets.
    pub(super) shown: Vec<String>,
    /// Whether patterns among its words are looked up only when it runs.
    pub(super) is_as_found: bool,
    /// The directory that it runs in, as far as that is known.
    pub(super) directory: String,
    pub(super) identity: Identity,
    /// Its redirections.
    pub(super) redirections: Vec<Vec<String>>,
    /// Whether it is given something to read that is not shown among the redirections: by a pipe, or the `input` of the call.
    pub(super) reads: Option<&'static str>,
    /// The variables that the line sets for it.
    pub(super) variables: Vec<(String, String)>,
    /// The proposal of the command, if it has to be approved.
    pub(super) proposal: Option<Proposal>,
    /// The files of its redirections that have to be approved.
    pub(super) files: Vec<AskedFile>,
}

/// A file of a redirection that a person has to approve.
#[derive(Debug, Clone)]
pub(super) struct AskedFile {
    /// The operator's reason.
    pub reason: Option<String>,
    /// The place that its path leads to.
    pub reached: Option<Reached>,
}

impl AskedFile {
    /// Whether another decision came to the same file for the same reason.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_same_place = match (&self.reached, &other.reached) {
            (Some(one), Some(other)) => one.is_same(other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.reason == other.reason && is_same_place
    }
}

impl LineProposal {
    /// Its parts, in the order of the text.
    pub fn parts(&self) -> &[ShownPart] {
        &self.parts
    }

    /// The text of the line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The operator's reasons, each once.
    pub fn reasons(&self) -> Vec<&str> {
        let mut reasons: Vec<&str> = Vec::new();
        for part in &self.parts {
            let of_command = part.proposal.as_ref().and_then(Proposal::reason);
            let of_files = part.files.iter().filter_map(|file| file.reason.as_deref());
            for reason in of_command.into_iter().chain(of_files) {
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
        reasons
    }

    /// The rules that ask, each once, as messages name them.
    pub fn rules(&self) -> Vec<String> {
        let mut rules: Vec<String> = Vec::new();
        for proposal in self.parts.iter().filter_map(|part| part.proposal.as_ref()) {
            let rule = format!("the rule for `{}` in {}", proposal.rule().name, proposal.rule().origin);
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        rules
    }

    /// Whether another decision came to exactly the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self.difference(other).is_none()
    }

    /// The first part in which it differs from what another decision came to.
    pub(super) fn difference(&self, other: &Self) -> Option<&'static str> {
        if self.text != other.text || self.parts.len() != other.parts.len() {
            return Some("the line");
        }
        self.parts.iter().zip(&other.parts).find_map(|(one, other)| one.difference(other))
    }
}

/// The sentence for the model.
impl fmt::Display for LineProposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.parts.iter().filter(|part| part.asks()).map(|part| {
            let word = part.shown.first().map_or("a group", String::as_str);
            format!("command {}, {}", part.number, crate::policy::quoted(word))
        });
        let names: Vec<String> = names.collect();
        write!(f, "a person has to approve this line, for {}", names.join("; "))
    }
}

impl ShownPart {
    /// A part with nothing but its place and its redirections.
    pub(super) fn new(number: usize, here: Here<'_>, redirections: &[Redirection]) -> Self {
        let directory = &here.position.directory;
        Self {
            number,
            words: Vec::new(),
            shown: Vec::new(),
            is_as_found: false,
            directory: directory.path().to_string_lossy().into_owned(),
            identity: directory.held().identity().clone(),
            redirections: redirections.iter().map(|redirection| here.shown(redirection)).collect(),
            reads: None,
            variables: Vec::new(),
            proposal: None,
            files: Vec::new(),
        }
    }

    /// The number of the command; 0 for a group.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Its words as they run.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Its words as they run, without secrets.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Whether patterns among its words are looked up only when it runs.
    pub fn is_as_found(&self) -> bool {
        self.is_as_found
    }

    /// The directory that it runs in.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Its redirections, each as an operator and a word.
    pub fn redirections(&self) -> &[Vec<String>] {
        &self.redirections
    }

    /// Describes its input, if that is not among the redirections.
    pub fn reads(&self) -> Option<&'static str> {
        self.reads
    }

    /// The variables that the line sets for it.
    pub fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// The proposal of the command itself, if it has to be approved.
    pub fn proposal(&self) -> Option<&Proposal> {
        self.proposal.as_ref()
    }

    /// Whether a person has to approve it.
    pub fn asks(&self) -> bool {
        self.proposal.is_some() || !self.files.is_empty()
    }

    fn difference(&self, other: &Self) -> Option<&'static str> {
        // In full, so that no field is forgotten.
        let Self {
            number,
            words,
            shown: _,
            is_as_found,
            directory,
            identity,
            redirections,
            reads,
            variables,
            proposal,
            files,
        } = self;
        if *number != other.number || *words != other.words || *is_as_found != other.is_as_found {
            return Some("a command of the line");
        }
        if *directory != other.directory || *identity != other.identity {
            return Some("the directory of a command of the line");
        }
        if *redirections != other.redirections || *reads != other.reads || *variables != other.variables {
            return Some("what a command of the line reads and writes");
        }
        if files.len() != other.files.len() || !files.iter().zip(&other.files).all(|(one, other)| one.is_same(other)) {
            return Some("what a redirection of the line leads to");
        }
        match (proposal, &other.proposal) {
            (Some(one), Some(other)) => one.difference(other),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => Some("the rule"),
        }
    }
}
