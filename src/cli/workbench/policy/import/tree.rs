//! The words of all entries as a tree. Every command line belongs to one place in it, and all lines of a place are decided alike.

use super::entry::{Entry, Imported, Pattern};
use super::pattern::is_plain;
use super::verdict::{Verdict, decide};
use crate::policy::rules::Effect;

/// The command lines that begin with the words down to here.
#[derive(Debug)]
pub(super) struct Node {
    pub word: String,
    pub children: Vec<Node>,
    /// Decided for the line that ends here.
    pub here: Verdict,
    /// Decided for lines that go on with a word that no child has.
    pub beyond: Verdict,
}

impl Node {
    fn new(word: &str) -> Self {
        let nothing = Verdict { effect: None, by: None };
        Self { word: word.to_owned(), children: Vec::new(), here: nothing, beyond: nothing }
    }

    /// The tree of all entries. Its root has no word.
    pub fn of(imported: &Imported) -> Self {
        let mut root = Self::new("");
        for entry in &imported.entries {
            match &entry.pattern {
                Pattern::Prefix(words) | Pattern::Exact(words) => root.insert(words),
                Pattern::Unclear(beginning) => {
                    // Only the words before the last blank are whole.
                    let whole = beginning.rsplit_once(' ').map_or("", |(whole, _)| whole);
                    root.insert(&whole.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
                }
            }
        }
        root.decide(&mut Vec::new(), imported);
        root
    }

    fn insert(&mut self, words: &[String]) {
        let Some((first, rest)) = words.split_first() else { return };
        match self.children.iter_mut().find(|child| child.word == *first) {
            Some(child) => child.insert(rest),
            None => {
                let mut child = Self::new(first);
                child.insert(rest);
                self.children.push(child);
            }
        }
    }

    fn decide(&mut self, path: &mut Vec<String>, imported: &Imported) {
        let text = known_text(path);
        let of = |means: &dyn Fn(&Entry) -> bool| -> Vec<usize> {
            imported.entries.iter().enumerate().filter(|(_, entry)| means(entry)).map(|(number, _)| number).collect()
        };
        let begins = |entry: &Entry| matches!(&entry.pattern, Pattern::Prefix(words) if path.starts_with(words));
        let is_it = |entry: &Entry| begins(entry) || matches!(&entry.pattern, Pattern::Exact(words) if words == path);
        let decide =
            |certain: &[usize], perhaps: &[usize]| decide(&imported.entries, certain, perhaps, imported.keeps_stricter);
        let may_be = |entry: &Entry| match &entry.pattern {
            Pattern::Unclear(beginning) if text.is_whole => text.text.starts_with(beginning.as_str()),
            Pattern::Unclear(beginning) => overlap(&text.text, beginning),
            Pattern::Prefix(_) | Pattern::Exact(_) => false,
        };
        let is_next = |rest: &str| self.children.iter().any(|child| rest.starts_with(&format!("{} ", child.word)));
        let may_go_on = |entry: &Entry| match &entry.pattern {
            Pattern::Unclear(beginning) if text.is_whole => {
                let longer = if path.is_empty() { String::new() } else { format!("{} ", text.text) };
                // Lines that go on with the word of a child belong there.
                overlap(&longer, beginning) && !beginning.strip_prefix(&longer).is_some_and(is_next)
            }
            Pattern::Unclear(beginning) => overlap(&text.text, beginning),
            Pattern::Prefix(_) | Pattern::Exact(_) => false,
        };
        let here = decide(&of(&is_it), &of(&may_be));
        let beyond = decide(&of(&begins), &of(&may_go_on));
        (self.here, self.beyond) = (here, beyond);
        for child in &mut self.children {
            path.push(child.word.clone());
            child.decide(path, imported);
            path.pop();
        }
    }

    /// The decision for all lines from here on, if it is the same for all.
    pub fn uniform(&self) -> Option<Option<Effect>> {
        let effect = self.here.effect;
        let is_same = self.beyond.effect == effect
            && self.children.iter().all(|child| child.uniform().is_some_and(|other| other == effect));
        is_same.then_some(effect)
    }

    /// Whether any line from here on may run.
    pub fn grants(&self) -> bool {
        self.here.grants() || self.beyond.grants() || self.children.iter().any(Self::grants)
    }

    /// Whether any line with more words than the tree knows runs without a question.
    pub fn allows_more(&self) -> bool {
        self.beyond.effect == Some(Effect::Allow) || self.children.iter().any(Self::allows_more)
    }

    /// The strictest that is decided from here on; what nothing decides counts as denied.
    pub fn strictest(&self) -> Effect {
        let own = [self.here, self.beyond].map(|verdict| verdict.effect.unwrap_or(Effect::Deny));
        own.into_iter().chain(self.children.iter().map(Self::strictest)).max().unwrap_or_default()
    }

    /// The decision for these words.
    pub fn verdict(&self, words: &[String]) -> Verdict {
        match words.split_first() {
            None => self.here,
            Some((first, rest)) => {
                self.children.iter().find(|child| child.word == *first).map_or(self.beyond, |child| child.verdict(rest))
            }
        }
    }
}

/// The text of a line as far as it is certain.
struct KnownText {
    text: String,
    /// Whether it goes to the end of the words: no word needs quotes.
    is_whole: bool,
}

fn known_text(words: &[String]) -> KnownText {
    let is_plain_word = |word: &&String| !word.is_empty() && word.chars().all(is_plain);
    let plain: Vec<&str> = words.iter().take_while(is_plain_word).map(String::as_str).collect();
    KnownText { is_whole: plain.len() == words.len(), text: plain.join(" ") }
}

/// Whether a text may begin with both.
fn overlap(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
