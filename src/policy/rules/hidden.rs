//! Secrets of rules in calls that no rule has judged: in their words, and in the reasons why they don't run.
//!
//! Such words may be anything: a whole command in one word, a line that can't be read, a command behind `$(`. So a word is read as
//! the pieces that shells would read in it.

use std::borrow::Cow;
use std::ops::Range;

use super::{CommandRule, HIDDEN, without_values};
use crate::policy::{CommandLineError, NotALine, Policy, Refusal};
use crate::text::nearest;

/// The words of a call, without what may be secret.
pub(crate) struct Hidden {
    pub words: Vec<String>,
    /// The pieces that were read from the first word of the command on, and what is left of each.
    pieces: Vec<String>,
    left: Vec<String>,
}

impl Hidden {
    /// A sentence about the call, without what may be secret.
    pub fn in_sentence(&self, sentence: String) -> String {
        without_values(sentence, &self.pieces, &self.left)
    }

    /// The refusal of the call, without what may be secret in the words that its sentence repeats.
    pub(in crate::policy) fn in_refusal(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::NotAllowed { word, allowed } => Refusal::NotAllowed { word: self.in_sentence(word), allowed },
            Refusal::ProgramNotFound { word, sought } => {
                Refusal::ProgramNotFound { word: self.in_sentence(word), sought: self.in_sentence(sought) }
            }
            other => other,
        }
    }
}

impl Policy {
    /// Hides what may be a secret in the words of a refused call that no rule has judged, according to the rule of its first word.
    /// The rule also counts if the first word is a path that ends with its name, or is spelled almost like it. If there is none,
    /// the call may start a command with a rule, so that of the first word that names one counts.
    pub(crate) fn hide(&self, words: Vec<String>) -> Hidden {
        let rules = self.allow.rules();
        let name = |word: &str| word.rsplit(['/', '\\']).next().unwrap_or(word).to_owned();
        let exact = |word: &str| rules.get(word).or_else(|| rules.get(&name(word)));
        let near = |word: &str| rules.get(nearest(name(word).as_str(), rules.names())?);
        let rule_of = |(place, nth): (usize, usize), piece: &str| {
            let rule = exact(piece).or_else(|| near(piece).filter(|_| (place, nth) == (0, 0)));
            rule.filter(|rule| rule.has_secrets())
        };
        let found = words.iter().enumerate().find_map(|(place, word)| {
            let mut found = pieces(word).enumerate();
            found.find_map(|(nth, piece)| Some(((place, nth), rule_of((place, nth), word.get(piece)?)?)))
        });
        match found {
            Some((begin, rule)) => hidden(words, begin, rule),
            None => Hidden { words, pieces: Vec::new(), left: Vec::new() },
        }
    }

    /// The words of [`Policy::hide`].
    pub(crate) fn without_secrets(&self, words: Vec<String>) -> Vec<String> {
        self.hide(words).words
    }

    /// The error, without what may be a secret in the words that its text repeats.
    pub(in crate::policy) fn hidden_in_error(&self, error: CommandLineError) -> CommandLineError {
        match error {
            CommandLineError::Unbalanced { line } => {
                CommandLineError::Unbalanced { line: self.hide(vec![line]).words.concat() }
            }
            // The error does not say whose argument the word is.
            CommandLineError::Nul { .. } if self.allow.rules().have_secrets() => {
                CommandLineError::Nul { word: HIDDEN.to_owned() }
            }
            CommandLineError::Unreadable { source: NotALine { line, reason } } => {
                let hidden = self.hide(vec![line]);
                let reason = hidden.in_sentence(reason);
                CommandLineError::Unreadable { source: NotALine { line: hidden.words.concat(), reason } }
            }
            CommandLineError::Empty
            | CommandLineError::Syntax { .. }
            | CommandLineError::Nul { .. }
            | CommandLineError::TooManyWords => error,
        }
    }
}

/// Hides the values of the command that begins with this piece of this word. What stands behind it in the same word is read piece
/// by piece, and each further word as one.
fn hidden(words: Vec<String>, (place, nth): (usize, usize), rule: &CommandRule) -> Hidden {
    let first = words.get(place).map_or("", String::as_str);
    let in_first: Vec<Range<usize>> = pieces(first).skip(nth).collect();
    let text = |piece: &Range<usize>| first.get(piece.clone()).unwrap_or_default().to_owned();
    let mut pieces: Vec<String> = in_first.iter().map(text).collect();
    pieces.extend(words.iter().skip(place + 1).cloned());
    let left = rule.without_values(&pieces);
    let mut shown = Cow::Borrowed(first);
    for (range, left) in in_first.into_iter().zip(&left).rev() {
        shown.to_mut().replace_range(range, left);
    }
    let before = words.iter().take(place).cloned();
    let after = left.iter().skip(left.len() - (words.len() - place - 1)).cloned();
    Hidden { words: before.chain([shown.into_owned()]).chain(after).collect(), pieces, left }
}

/// The pieces of a word, which a shell could read as words of their own.
fn pieces(word: &str) -> impl Iterator<Item = Range<usize>> {
    let separates = |character: char| character.is_whitespace() || "\"'`$(){}|&;<>".contains(character);
    let mut end = 0;
    let pieces = word.split_inclusive(separates).map(move |piece| {
        let begin = end;
        end += piece.len();
        begin..begin + piece.trim_end_matches(separates).len()
    });
    pieces.filter(|piece| !piece.is_empty())
}
