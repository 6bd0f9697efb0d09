//! The proposal of a line to a person: everything that it would run, in front of everything.

use std::fmt;
use std::path::{Path, PathBuf};

use super::command::{Commanded, Here, Verdict};
use super::{LineRefusal, PartKind};
use crate::files::{Identity, Reached};
use crate::policy::{Proposal, Refusal};

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
    /// Its place among the simple commands and the groups of the line.
    pub(super) place: usize,
    /// The number of the command; 0 for a group.
    number: usize,
    /// Whether a program runs it, or the line itself.
    kind: PartKind,
    /// Its words without those that a rule inserts; for patterns whose names are found later, as they would be now.
    words: Vec<String>,
    /// The same without secrets.
    shown: Vec<String>,
    /// Whether a pattern has found it, for each of the words.
    found: Vec<bool>,
    /// Whether patterns among its words are looked up only when it runs.
    is_as_found: bool,
    /// The directory that it runs in, as far as that is known.
    directory: String,
    identity: Identity,
    /// The program, as far as it is known.
    program: Option<PathBuf>,
    redirections: Vec<ShownRedirection>,
    /// Whether it is given something to read that is not shown among the redirections: by a pipe, or the `input` of the call.
    reads: Option<&'static str>,
    /// The variables that the line sets for it.
    variables: Vec<(String, String)>,
    /// The proposal of the command, if it has to be approved.
    proposal: Option<Proposal>,
}

/// A redirection as a person sees it.
#[derive(Debug, Clone)]
pub(super) struct ShownRedirection {
    /// The operator and the word.
    pub text: Vec<String>,
    /// The path that its word leads to, by its text where nothing is there; `None` if it opens no file.
    pub place: Option<PathBuf>,
    /// Its file, if it has to be approved.
    pub asked: Option<AskedFile>,
}

/// A file of a redirection that a person has to approve.
#[derive(Debug, Clone)]
pub(super) struct AskedFile {
    /// The operator's reason.
    pub reason: Option<String>,
    /// The place that its path leads to.
    pub reached: Option<Reached>,
}

impl ShownRedirection {
    /// Notes where its word leads.
    pub(super) fn lead_to(&mut self, reached: Option<&Reached>) {
        self.place = reached.map(Reached::path).or(self.place.take());
    }

    fn is_same(&self, other: &Self) -> bool {
        let is_same_file = match (&self.asked, &other.asked) {
            (Some(one), Some(other)) => one.is_same(other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.text == other.text && self.place == other.place && is_same_file
    }
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
            let asked = part.redirections.iter().filter_map(|redirection| redirection.asked.as_ref());
            let of_files = asked.filter_map(|file| file.reason.as_deref());
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

    /// The words of its commands, without secrets.
    pub fn shown(&self) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.shown().iter().cloned()).collect()
    }

    /// The directory of its first command.
    pub fn directory(&self) -> PathBuf {
        self.parts.first().map(|part| PathBuf::from(&part.directory)).unwrap_or_default()
    }

    /// The refusal for whoever can't ask a person.
    pub(crate) fn needs_approval(self: Box<Self>) -> Refusal {
        Refusal::Line(Box::new(LineRefusal::NeedsApproval(self)))
    }

    /// Whether another decision came to the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self.difference(other).is_none()
    }

    /// The first part in which it differs from what was shown.
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
            let word = part.shown().first().map_or("a group", String::as_str);
            format!("command {}, {}", part.number, crate::policy::quoted(word))
        });
        let names: Vec<String> = names.collect();
        write!(f, "a person has to approve this line, for {}", names.join("; "))
    }
}

impl ShownPart {
    /// A group at this place, with these redirections.
    pub(super) fn of_group(
        place: usize,
        here: Here<'_>,
        redirections: Vec<ShownRedirection>,
        reads: Option<&'static str>,
    ) -> Self {
        let directory = &here.position.directory;
        Self {
            place,
            number: 0,
            kind: PartKind::Builtin,
            words: Vec::new(),
            shown: Vec::new(),
            found: Vec::new(),
            is_as_found: false,
            directory: directory.path().to_string_lossy().into_owned(),
            identity: directory.held().identity().clone(),
            program: None,
            redirections,
            reads,
            variables: Vec::new(),
            proposal: None,
        }
    }

    /// A command at this place, with these redirections.
    pub(super) fn of_command(
        (place, number): (usize, usize),
        here: Here<'_>,
        commanded: &Commanded,
        redirections: Vec<ShownRedirection>,
    ) -> Self {
        let Commanded { kind, words, found, is_as_found, reads, variables, explanation, verdict } = commanded;
        let proposal = if let Verdict::Ask(proposal) = verdict { Some((**proposal).clone()) } else { None };
        Self {
            number,
            kind: *kind,
            words: words.clone(),
            shown: explanation.words.clone(),
            found: found.clone(),
            is_as_found: *is_as_found,
            program: explanation.program.clone(),
            variables: variables.clone(),
            proposal,
            ..Self::of_group(place, here, redirections, *reads)
        }
    }

    /// The number of the command; 0 for a group.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Its words as they run.
    pub fn words(&self) -> &[String] {
        self.proposal.as_ref().map_or(&self.words, Proposal::words)
    }

    /// Its words as they run, without secrets.
    pub fn shown(&self) -> &[String] {
        self.proposal.as_ref().map_or(&self.shown, Proposal::shown_inserted)
    }

    /// Whether patterns among its words are looked up only when it runs.
    pub fn is_as_found(&self) -> bool {
        self.is_as_found
    }

    /// The directory that it runs in.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// The file that is executed, as far as it is known before the line begins.
    pub fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    /// Its redirections, each as an operator and a word.
    pub fn redirections(&self) -> impl Iterator<Item = &[String]> {
        self.redirections.iter().map(|redirection| redirection.text.as_slice())
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
        self.proposal.is_some() || self.redirections.iter().any(|redirection| redirection.asked.is_some())
    }

    /// The first of its properties that is not what was shown. What was shown as found later may differ in what patterns find, and what
    /// was not known then may be anything.
    pub(super) fn difference(&self, shown: &Self) -> Option<&'static str> {
        // In full, so that no property is forgotten. The others follow from the place and the words.
        let Self {
            place,
            number: _,
            kind,
            words: _,
            shown: _,
            found,
            is_as_found,
            directory,
            identity,
            program,
            redirections,
            reads,
            variables,
            proposal,
        } = self;
        let may_find = shown.is_as_found;
        if *place != shown.place
            || *kind != shown.kind
            || *is_as_found && !may_find
            || !self.fixed(may_find).eq(shown.fixed(may_find))
        {
            return Some("a command of the line");
        }
        if *directory != shown.directory || *identity != shown.identity {
            return Some("the directory of a command of the line");
        }
        if shown.program.is_some() && *program != shown.program {
            return Some("the program of a command of the line");
        }
        let are_same = |(one, other): (&ShownRedirection, &ShownRedirection)| one.is_same(other);
        if redirections.len() != shown.redirections.len()
            || !redirections.iter().zip(&shown.redirections).all(are_same)
            || *reads != shown.reads
            || *variables != shown.variables
        {
            return Some("what a command of the line reads and writes");
        }
        match (proposal, &shown.proposal) {
            (Some(one), Some(other)) if may_find => one.difference_except(other, [found, &shown.found]),
            (Some(one), Some(other)) => one.difference(other),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => Some("the rule"),
        }
    }

    /// Its words, without those of patterns if these may find others.
    fn fixed(&self, may_find: bool) -> impl Iterator<Item = &String> {
        let is_fixed = move |(_, found): &(&String, &bool)| !(may_find && **found);
        self.words.iter().zip(&self.found).filter(is_fixed).map(|(word, _)| word)
    }
}
