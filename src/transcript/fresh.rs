//! Strings that a server makes up in each session, such as the name of a task.
//!
//! Once such a string has come in place of a recorded one, it is sent wherever the recorded client sent that one, and the
//! recorded one stands in the result wherever it comes again. So a session replays whose client sends back what it got.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::pairs::methods;
use super::rule::Rule;
use super::{Entry, Identity, Message, Transcript};

/// A shorter string is replaced only in members of the same name: it may mean something else elsewhere.
const LONG: usize = 8;
/// The ids of requests are too many and too alike for that.
const ID: &str = "id";
/// A server makes a new one for each answer, even if it says the same as before. Every other string names one thing for the whole session.
const STATE: &str = "requestState";

/// The strings that the server of a play has made up so far.
#[derive(Debug)]
pub(super) struct Fresh {
    rules: Vec<Rule>,
    /// The method of each request of the client, by its id.
    methods: BTreeMap<String, String>,
    /// The recorded strings for which one came, with the names of their members.
    known: HashSet<(String, String)>,
    /// The replacements in lines that are sent, and in lines that came.
    there: Table,
    back: Table,
}

struct Pair {
    /// The name of the member.
    name: String,
    recorded: String,
    real: String,
}

impl Fresh {
    /// The rules are the usual ones, those of the header, and `more`.
    pub fn new(transcript: &Transcript, more: &[Rule]) -> Self {
        let own = transcript.header.rules().iter().chain(more).filter(|rule| rule.is_fresh()).cloned();
        Self {
            rules: Rule::usually_fresh().into_iter().chain(own).collect(),
            methods: methods(&transcript.entries),
            known: HashSet::new(),
            there: Table::default(),
            back: Table::default(),
        }
    }

    /// Takes note of what came in place of a recorded message.
    pub fn learn(&mut self, recorded: &Message, came: &Message) {
        let method = match recorded.identity() {
            Identity::Method(method) => Some(method),
            Identity::Response(id) => self.methods.get(id),
            Identity::ErrorWithoutId | Identity::Batch(_) | Identity::NoMessage => None,
        };
        let mut found = Vec::new();
        for rule in self.rules.iter().filter(|rule| rule.applies_to(method)) {
            pairs(&rule.steps(), "", recorded.value(), came.value(), &mut found);
        }
        for Pair { name, recorded, real } in found {
            // If another one comes for it later, the server has answered with something else: that must be seen.
            if self.known.insert((name.clone(), recorded.clone())) || name == STATE {
                self.there.set(&name, &recorded, &real);
                self.back.set(&name, &real, &recorded);
            }
        }
    }

    /// A line of the recorded client, as the client of this session sends it.
    pub fn sent(&self, line: String) -> String {
        self.there.replaced(line)
    }

    /// Returns the line that came as the recorded server would have written it.
    pub fn came(&self, entry: Entry) -> Entry {
        match entry {
            Entry::Receive(message) => {
                let text = self.back.replaced(message.text().to_owned());
                if text == message.text() { Entry::Receive(message) } else { Entry::of_server(text.as_bytes()) }
            }
            entry => entry,
        }
    }
}

/// The strings at the places of a rule. Those that are the same in both count too: another one may come later.
fn pairs(steps: &[String], name: &str, recorded: &Value, came: &Value, found: &mut Vec<Pair>) {
    let Some((step, rest)) = steps.split_first() else {
        if let (Value::String(recorded), Value::String(real)) = (recorded, came) {
            let shortest = if name == ID { LONG } else { 1 };
            let is_plain = recorded.len().min(real.len()) >= shortest;
            if is_plain {
                let [name, recorded, real] = [name, recorded, real].map(|text: &str| text.to_owned());
                found.push(Pair { name, recorded, real });
            }
        }
        return;
    };
    if step == "**" {
        pairs(rest, name, recorded, came, found);
    }
    let rest = if step == "**" { steps } else { rest };
    let is_met = |name: &str| step == "*" || step == "**" || step == name;
    match (recorded, came) {
        (Value::Object(recorded), Value::Object(came)) => {
            for (name, recorded) in recorded.iter().filter(|(name, _)| is_met(name)) {
                came.get(name).into_iter().for_each(|came| pairs(rest, name, recorded, came, found));
            }
        }
        (Value::Array(recorded), Value::Array(came)) => {
            for (index, (recorded, came)) in recorded.iter().zip(came).enumerate() {
                if is_met(&index.to_string()) {
                    pairs(rest, name, recorded, came, found);
                }
            }
        }
        (_, _) => {}
    }
}

/// Texts with their replacements. Each place of a line is looked at once, however many there are.
#[derive(Debug, Default)]
struct Table {
    /// As they are in JSON: long ones without their quotes, short ones with theirs and the name of the member.
    texts: HashMap<String, String>,
    /// The lengths of those that begin with these bytes.
    lengths: HashMap<[u8; START], BTreeSet<usize>>,
}

/// No text of a table is shorter: `"":"1"`.
const START: usize = 6;

impl Table {
    /// The last one that is set counts.
    fn set(&mut self, name: &str, from: &str, to: &str) {
        let [name, from, to] = [name, from, to].map(|text| Value::from(text).to_string());
        if from.len() >= LONG + 2 {
            // A quote behind these belongs to the string.
            let bare =
                |text: &str| text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text).to_owned();
            return self.insert(bare(&from), bare(&to));
        }
        for blank in ["", " "] {
            self.insert(format!("{name}:{blank}{from}"), format!("{name}:{blank}{to}"));
        }
    }

    fn insert(&mut self, from: String, to: String) {
        if let Some(start) = from.as_bytes().first_chunk() {
            self.lengths.entry(*start).or_default().insert(from.len());
            self.texts.insert(from, to);
        }
    }

    /// The line with every string of the table replaced at once.
    fn replaced(&self, line: String) -> String {
        if self.texts.is_empty() {
            return line;
        }
        let mut text = String::with_capacity(line.len());
        let mut rest = line.as_str();
        while let Some(first) = rest.chars().next() {
            match self.at(&text, rest) {
                Some((to, behind)) => {
                    text.push_str(to);
                    rest = behind;
                }
                None => {
                    text.push(first);
                    rest = rest.get(first.len_utf8()..).unwrap_or_default();
                }
            }
        }
        text
    }

    /// Returns the replacement of the longest string at the start of `rest`, and the text after that string.
    fn at<'a>(&self, before: &str, rest: &'a str) -> Option<(&str, &'a str)> {
        // The name of a member begins so, a long string never.
        let is_word = !rest.starts_with('"');
        let lengths = self.lengths.get(rest.as_bytes().first_chunk()?)?;
        if is_word && !begins_word(before) {
            return None;
        }
        lengths.iter().rev().find_map(|length| {
            let (from, behind) = rest.split_at_checked(*length)?;
            let to = self.texts.get(from)?;
            (!is_word || !behind.starts_with(is_in_word)).then_some((to.as_str(), behind))
        })
    }
}

/// Whether a word can begin after this text: after an escape of JSON, too.
fn begins_word(text: &str) -> bool {
    ["\\n", "\\r", "\\t"].iter().any(|escape| text.ends_with(escape)) || !text.ends_with(is_in_word)
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `line` as it is sent after `came` came in place of `recorded`.
    fn sent(rules: &[&str], recorded: &str, came: &str, line: &str) -> String {
        let text = format!("transcript: 1\n\n--> {{\"id\":1,\"method\":\"m\"}}\n<-- {recorded}\n");
        let rules: Vec<Rule> = rules.iter().map(|rule| Rule::parse(rule).unwrap()).collect();
        let mut fresh = Fresh::new(&Transcript::parse("t", text).unwrap(), &rules);
        let [recorded, came] = [recorded, came].map(|text| Message::parse(text).unwrap());
        fresh.learn(&recorded, &came);
        let there = fresh.sent(line.to_owned());
        // And back again.
        if let Ok(message) = Message::parse(&there) {
            assert_eq!(fresh.came(Entry::Receive(message)).to_string(), format!("<-- {line}"));
        }
        there
    }

    #[test]
    fn what_a_server_made_up_is_sent_in_place_of_what_was_recorded() {
        let task = |id: &str| format!(r#"{{"id":1,"result":{{"task":{{"taskId":"{id}"}}}}}}"#);
        let [old, new] = [task("786512e2-9e0d"), task("0d8f2a11-77aa")];
        let check = |line: &str, expected: &str| assert_eq!(sent(&[], &old, &new, line), expected);
        check(r#"{"id":2,"taskId":"786512e2-9e0d"}"#, r#"{"id":2,"taskId":"0d8f2a11-77aa"}"#);
        check(r#"{"id":2,"uri":"task://786512e2-9e0d/x"}"#, r#"{"id":2,"uri":"task://0d8f2a11-77aa/x"}"#);
        check(r#"{"id":2,"text":"at\n786512e2-9e0d"}"#, r#"{"id":2,"text":"at\n0d8f2a11-77aa"}"#);
        // Part of another word.
        check(r#"{"id":2,"taskId":"786512e2-9e0d-1"}"#, r#"{"id":2,"taskId":"786512e2-9e0d-1"}"#);
        // A short one may mean something else.
        let [old, new] = [task("1"), task("2")];
        let check = |line: &str, expected: &str| assert_eq!(sent(&[], &old, &new, line), expected);
        check(r#"{"id":"1","taskId": "1","text":"1"}"#, r#"{"id":"1","taskId": "2","text":"1"}"#);
        // What no rule names stays.
        let [old, new] = [r#"{"id":1,"result":{"a":{"b":"one"}}}"#, r#"{"id":1,"result":{"a":{"b":"two"}}}"#];
        let line = r#"{"id":3,"b":"one"}"#;
        assert_eq!(sent(&[], old, new, line), line);
        assert_eq!(sent(&["n /result/a/b fresh"], old, new, line), line);
        assert_eq!(sent(&["m /result/*/b fresh"], old, new, line), r#"{"id":3,"b":"two"}"#);
        assert_eq!(sent(&["/**/b fresh"], old, new, line), r#"{"id":3,"b":"two"}"#);
    }

    #[test]
    fn two_that_change_places_are_not_mixed_up() {
        let text = "transcript: 1\n\n--> {\"id\":1,\"method\":\"m\"}\n";
        let mut fresh = Fresh::new(&Transcript::parse("t", text).unwrap(), &[]);
        let message =
            |id: u8, task: &str| Message::parse(&format!(r#"{{"id":{id},"result":{{"taskId":"{task}"}}}}"#)).unwrap();
        fresh.learn(&message(1, "a"), &message(1, "b"));
        fresh.learn(&message(2, "b"), &message(2, "a"));
        assert_eq!(fresh.sent(r#"[{"taskId":"a"},{"taskId":"b"}]"#.to_owned()), r#"[{"taskId":"b"},{"taskId":"a"}]"#);
    }

    fn task(id: u16, task: &str) -> Message {
        Message::parse(&format!(r#"{{"id":{id},"result":{{"taskId":"{task}"}}}}"#)).unwrap()
    }

    fn empty() -> Fresh {
        Fresh::new(&Transcript::parse("t", "transcript: 1\n\n").unwrap(), &[])
    }

    #[test]
    fn another_name_than_the_one_that_was_learnt_stays_visible() {
        let mut fresh = empty();
        fresh.learn(&task(1, "recorded-1"), &task(1, "made-up-1"));
        fresh.learn(&task(2, "recorded-2"), &task(2, "made-up-2"));
        fresh.learn(&task(3, "the-same"), &task(3, "the-same"));
        // The server answers with another task, and with ones that it never named.
        for (recorded, wrong) in [("recorded-1", "made-up-2"), ("recorded-1", "made-up-3"), ("the-same", "made-up-4")] {
            fresh.learn(&task(4, recorded), &task(4, wrong));
            let shown = fresh.came(Entry::Receive(task(4, wrong)));
            assert_ne!(shown, Entry::Receive(task(4, recorded)), "{wrong}");
        }
        assert_eq!(fresh.sent("recorded-1 recorded-2 the-same".to_owned()), "made-up-1 made-up-2 the-same");
        // Each answer has a new state.
        let state =
            |state: &str| Message::parse(&format!(r#"{{"id":1,"result":{{"requestState":"{state}"}}}}"#)).unwrap();
        for state_now in ["made-up-a", "made-up-b", "made-up-a"] {
            fresh.learn(&state("recorded"), &state(state_now));
            assert_eq!(fresh.sent("recorded".to_owned()), state_now);
            assert_eq!(fresh.came(Entry::Receive(state(state_now))), Entry::Receive(state("recorded")));
        }
    }

    #[test]
    fn a_quote_at_an_end_of_a_string_is_part_of_it() {
        let task = |id: &str| format!(r#"{{"id":1,"result":{{"taskId":"{id}"}}}}"#);
        let (old, new) = (task(r#"\"the\" \"one\""#), task("plain-two"));
        assert_eq!(sent(&[], &old, &new, r#"{"uri":"\"the\" \"one\""}"#), r#"{"uri":"plain-two"}"#);
        assert_eq!(sent(&[], &new, &old, r#"{"uri":"plain-two"}"#), r#"{"uri":"\"the\" \"one\""}"#);
    }

    #[test]
    fn an_id_is_made_up_only_if_both_are_long() {
        let request = |id: &str| Message::parse(&format!(r#"{{"id":"{id}","method":"ping"}}"#)).unwrap();
        let mut fresh = empty();
        for (recorded, real) in [("recorded-1", "1"), ("2", "made-up-2")] {
            fresh.learn(&request(recorded), &request(real));
            assert_eq!(fresh.sent(request(recorded).text().to_owned()), request(recorded).text());
            assert_eq!(fresh.came(Entry::Receive(request(real))), Entry::Receive(request(real)));
        }
    }

    #[test]
    fn thousands_of_names_in_a_long_line_take_no_time() {
        let mut fresh = empty();
        let began = std::time::Instant::now();
        // Looking for each by itself would take minutes.
        let names = |name: &str| (0..50_000).map(|n| format!("{name}-{n}")).collect::<Vec<_>>();
        let (recorded, real) = (names("recorded"), names("made-up"));
        recorded.iter().zip(&real).for_each(|(recorded, real)| fresh.learn(&task(1, recorded), &task(1, real)));
        let [line, expected] = [recorded, real].map(|names| format!("{} ", names.join(" ")).repeat(10));
        assert!(fresh.sent(line) == expected);
        assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
    }
}
