//! With which line of the client a message of the server is sent.
//!
//! Most messages come with the line that they belong to. But what a server says after a question of its own (a person's
//! approval, the roots) comes with the client's answer to that question: the client could not have it earlier.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::SUBSCRIPTION;
use super::content::Content;

/// Where a message goes, by the numbers of the client's lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The line whose ids and tokens it carries.
    pub owner: usize,
    /// The line that it is sent after.
    pub after: usize,
}

/// The state of a recording up to the current line.
#[derive(Default)]
pub(super) struct Placing {
    /// How many lines the client has sent.
    lines: usize,
    /// The last line with an id, and with a token, as JSON.
    ids: BTreeMap<String, usize>,
    tokens: BTreeMap<String, usize>,
    /// The malformed lines that have no answer yet.
    malformed: VecDeque<usize>,
    /// The lines with a request that has no answer yet.
    open: BTreeSet<usize>,
    /// By the id of each question of the server: the line that it was asked for.
    questions: BTreeMap<String, usize>,
    /// By a line for which a question was asked: the client's last answer.
    resumed: BTreeMap<usize, usize>,
    /// The line for which a question was asked, by the client's answer.
    asked_for: BTreeMap<usize, usize>,
}

impl Placing {
    /// Takes note of a line of the client.
    pub fn line(&mut self, content: &Content) {
        let at = self.lines;
        self.lines += 1;
        self.ids.extend(content.ids.iter().map(|id| (id.to_string(), at)));
        self.tokens.extend(content.tokens.iter().map(|token| (token.to_string(), at)));
        if content.malformed {
            self.malformed.push_back(at);
        }
        if !content.ids.is_empty() {
            self.open.insert(at);
        } else if let Some(asked) = content.key.get("id").and_then(|id| self.questions.get(&id.to_string())) {
            self.resumed.insert(*asked, at);
            self.asked_for.insert(at, *asked);
        }
    }

    /// Finds the place of a message of the server; `None` if the client has sent nothing yet.
    pub fn message(&mut self, message: &Value) -> Option<Place> {
        let last = self.lines.checked_sub(1)?;
        let owner = match owners(message) {
            Owner::Requests(ids) => {
                let owner = ids.iter().filter_map(|id| self.ids.get(&id.to_string())).max().copied();
                if message.get("method").is_none() {
                    if let Some(owner) = owner {
                        self.open.remove(&owner);
                    }
                    self.malformed.retain(|malformed| Some(*malformed) != owner);
                }
                owner
            }
            Owner::Token(token) => self.tokens.get(&token.to_string()).copied(),
            // The first error without an id belongs to the first malformed line.
            Owner::Malformed => self.malformed.pop_front(),
            Owner::Question(id) => {
                let only = self.open.first().filter(|_| self.open.len() == 1).copied();
                let asked = only.or_else(|| self.asked_for.get(&last).copied()).unwrap_or(last);
                self.questions.insert(id.to_string(), asked);
                Some(asked)
            }
            Owner::Last => None,
        };
        let owner = owner.unwrap_or(last);
        Some(Place { owner, after: self.resumed.get(&owner).copied().unwrap_or(owner) })
    }
}

/// The line that a message of the server belongs to.
enum Owner {
    /// The requests with these ids.
    Requests(Vec<Value>),
    /// The request with this progress token.
    Token(Value),
    /// A malformed line.
    Malformed,
    /// The server asks the client something, under this id.
    Question(Value),
    /// The message names none: the last line.
    Last,
}

fn owners(message: &Value) -> Owner {
    if let Value::Array(members) = message {
        return Owner::Requests(members.iter().filter_map(|member| member.get("id")).cloned().collect());
    }
    if message.get("method").is_some() {
        let subscription = message.pointer("/params/_meta").and_then(|meta| meta.get(SUBSCRIPTION));
        return match (message.pointer("/params/progressToken"), subscription) {
            (Some(token), _) => Owner::Token(token.clone()),
            (None, Some(id)) => Owner::Requests(vec![id.clone()]),
            (None, None) => message.get("id").map_or(Owner::Last, |id| Owner::Question(id.clone())),
        };
    }
    message.get("id").map_or(Owner::Malformed, |id| Owner::Requests(vec![id.clone()]))
}
