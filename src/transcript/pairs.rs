//! The messages that were expected and those that came, with what may differ by the transcript's own rules and the usual ones.

use std::collections::BTreeMap;

use serde_json::Value;

use super::placeholders::same_versions;
use super::rule::How;
use super::times::same_times;
use super::{Entry, Identity, Rule};

/// How strictly a played transcript is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// By the rules of the transcript and the usual ones.
    Usual,
    /// Only by the rules of the transcript.
    Strict,
}

/// A message that was expected and the one that came for it.
pub(super) struct Pair {
    /// Their indices among the entries.
    pub expected: usize,
    pub played: usize,
    /// The value that came, with the expected one wherever a rule holds.
    pub came: Value,
}

/// Pairs the messages that came with those that were expected, by identity and order, and applies the rules.
/// `first_line` is the line of the file where the expected entries begin.
pub(super) fn pairs(
    expected: &[Entry],
    played: &[Entry],
    rules: &[Rule],
    strictness: Strictness,
    first_line: usize,
) -> Vec<Pair> {
    let mut waiting: BTreeMap<Identity, Vec<usize>> = BTreeMap::new();
    for (index, entry) in played.iter().enumerate().rev() {
        if let Entry::Receive(message) = entry {
            waiting.entry(message.identity().clone()).or_default().push(index);
        }
    }
    let mut pairs = Vec::new();
    for (index, entry) in expected.iter().enumerate() {
        let Entry::Receive(message) = entry else { continue };
        let came = waiting.get_mut(message.identity()).and_then(Vec::pop);
        if let Some((played, Entry::Receive(came))) = came.and_then(|at| Some((at, played.get(at)?))) {
            if !message.is_bare() {
                pairs.push(Pair { expected: index, played, came: came.value().clone() });
            }
        }
    }
    let methods = methods(expected);
    let usual = match strictness {
        Strictness::Usual => Rule::usual(),
        Strictness::Strict => Vec::new(),
    };
    // By the line of the file, as it came: the messages that a rule can refer to.
    let by_line: BTreeMap<usize, Value> = match rules.iter().any(|rule| matches!(rule.how, How::Same { .. })) {
        true => pairs.iter().map(|pair| (first_line + pair.expected, pair.came.clone())).collect(),
        false => BTreeMap::new(),
    };
    for pair in &mut pairs {
        let Some(Entry::Receive(message)) = expected.get(pair.expected) else { continue };
        let wanted = message.value();
        if *wanted == pair.came {
            continue;
        }
        let method = match message.identity() {
            Identity::Method(method) => Some(method),
            Identity::Response(id) => methods.get(id),
            Identity::ErrorWithoutId | Identity::Batch(_) | Identity::NoMessage => None,
        };
        same_versions(wanted, &mut pair.came, strictness == Strictness::Usual);
        if strictness == Strictness::Usual {
            same_times(wanted, &mut pair.came);
        }
        for rule in rules.iter().chain(&usual).filter(|rule| rule.applies_to(method)) {
            apply(&rule.steps(), &rule.how, Some(wanted), &mut pair.came, &by_line);
        }
    }
    pairs
}

/// The method of each request that the client sends, by its id.
pub(super) fn methods(entries: &[Entry]) -> BTreeMap<String, String> {
    let mut methods = BTreeMap::new();
    for entry in entries {
        let Entry::Send(sent) = entry else { continue };
        let Ok(message) = serde_json::from_slice::<Value>(&sent.bytes) else { continue };
        if let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Value::as_str)) {
            methods.insert(id.to_string(), method.to_owned());
        }
    }
    methods
}

/// Applies a rule at each place below `came` that the steps lead to.
fn apply(steps: &[String], how: &How, wanted: Option<&Value>, came: &mut Value, by_line: &BTreeMap<usize, Value>) {
    let Some((step, rest)) = steps.split_first() else {
        if let Some(wanted) = wanted {
            meet(how, wanted, came, by_line);
        }
        return;
    };
    if step == "**" {
        apply(rest, how, wanted, came, by_line);
    }
    // `**` matches this step and any number of further ones.
    let rest = if step == "**" { steps } else { rest };
    let is_any = step == "*" || step == "**";
    match came {
        Value::Object(members) => {
            let wanted = wanted.and_then(Value::as_object);
            if let (How::Ignore, true, Some(wanted)) = (how, rest.is_empty(), wanted) {
                let hit = |name: &String| is_any || name == step;
                members.retain(|name, _| !hit(name) || wanted.contains_key(name));
                members.extend(
                    wanted.iter().filter(|(name, _)| hit(name)).map(|(name, value)| (name.clone(), value.clone())),
                );
                return;
            }
            for (name, value) in members.iter_mut().filter(|(name, _)| is_any || *name == step) {
                apply(rest, how, wanted.and_then(|wanted| wanted.get(name)), value, by_line);
            }
        }
        Value::Array(items) => {
            let wanted = wanted.and_then(Value::as_array);
            let only: Option<usize> = step.parse().ok();
            for (index, value) in items.iter_mut().enumerate().filter(|(index, _)| is_any || only == Some(*index)) {
                apply(rest, how, wanted.and_then(|wanted| wanted.get(index)), value, by_line);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Replaces the actual value by the expected one, if the rule holds.
fn meet(how: &How, wanted: &Value, came: &mut Value, by_line: &BTreeMap<usize, Value>) {
    let holds = match how {
        How::Ignore => true,
        How::String => wanted.is_string() && came.is_string(),
        // A string that the server made up was already replaced by the recorded one, see `Fresh`.
        How::Fresh => false,
        How::Number => wanted.is_number() && came.is_number(),
        How::AtLeast => holds_at_least(wanted, came),
        How::Unordered => {
            if let (Some(wanted), Some(came)) = (wanted.as_array(), came.as_array_mut()) {
                reorder(wanted, came);
            }
            false
        }
        How::Same { line, pointer } => by_line.get(line).and_then(|message| message.pointer(pointer)) == Some(&*came),
    };
    if holds {
        wanted.clone_into(came);
    }
}

/// Whether a value has everything that another one has.
fn holds_at_least(wanted: &Value, came: &Value) -> bool {
    match (wanted, came) {
        (Value::Object(wanted), Value::Object(came)) => {
            wanted.iter().all(|(name, value)| came.get(name).is_some_and(|came| holds_at_least(value, came)))
        }
        (wanted, came) => wanted == came,
    }
}

/// Sorts the expected elements into their order; the others follow in theirs.
fn reorder(wanted: &[Value], came: &mut Vec<Value>) {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, value) in wanted.iter().enumerate().rev() {
        places.entry(value.to_string()).or_default().push(index);
    }
    let mut numbered: Vec<(usize, Value)> = came
        .drain(..)
        .map(|value| (places.get_mut(&value.to_string()).and_then(Vec::pop).unwrap_or(usize::MAX), value))
        .collect();
    numbered.sort_by_key(|(place, _)| *place);
    came.extend(numbered.into_iter().map(|(_, value)| value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the difference that remains between two results of `m` under these rules.
    fn left(rules: &[&str], strictness: Strictness, wanted: Value, came: Value) -> Value {
        let message = |result: Value| {
            Entry::of_server(json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string().as_bytes())
        };
        let request = Entry::parse(r#"--> {"id":1,"method":"m"}"#).unwrap();
        let rules: Vec<Rule> = rules.iter().map(|rule| Rule::parse(rule).unwrap()).collect();
        let expected = [request.clone(), message(wanted.clone())];
        let pairs = pairs(&expected, &[request, message(came)], &rules, strictness, 3);
        let came = pairs[0].came["result"].clone();
        if came == wanted { json!("met") } else { came }
    }

    #[test]
    fn rules_take_what_may_differ_for_what_was_expected() {
        let check = |rule: &str, wanted: Value, came: Value, expected: Value| {
            assert_eq!(left(&[rule], Strictness::Strict, wanted, came), expected, "{rule}");
        };
        let met = || json!("met");
        check("/result/a ignore", json!({"a": 1}), json!({"a": [2]}), met());
        check("/result/a ignore", json!({"a": 1}), json!({}), met());
        check("/result/a ignore", json!({}), json!({"a": 1}), met());
        check("/result/a ignore", json!({"b": 1}), json!({"b": 2}), json!({"b": 2}));
        check("/result/*/t string", json!([{"t": "x"}]), json!([{"t": "y"}]), met());
        check("/result/*/t string", json!([{"t": "x"}]), json!([{"t": 1}]), json!([{"t": 1}]));
        check(
            "/result/*/t string",
            json!([{"t": "x"}]),
            json!([{"t": "x"}, {"t": "y"}]),
            json!([{"t": "x"}, {"t": "y"}]),
        );
        check("/result/0 number", json!([1, 1]), json!([2, 2]), json!([1, 2]));
        check(
            "/result/**/t number",
            json!({"a": {"b": [{"t": 1}]}, "t": 1}),
            json!({"a": {"b": [{"t": 2}]}, "t": 3}),
            met(),
        );
        check("/result unordered", json!([1, 2, 2, 3]), json!([3, 2, 1, 2]), met());
        check("/result unordered", json!([1, 2]), json!([3, 2]), json!([2, 3]));
        check("/result at-least", json!({"a": {}}), json!({"a": {"b": 1}, "c": 2}), met());
        check("/result at-least", json!({"a": {"b": 1}}), json!({"a": {}}), json!({"a": {}}));
        check("/result/b same 4 /result/a", json!({"a": 1, "b": 1}), json!({"a": 1, "b": 1}), met());
        check("/result/b same 4 /result/a", json!({"a": 1, "b": 1}), json!({"a": 2, "b": 2}), json!({"a": 2, "b": 1}));
        check("/result/b same 4 /result/a", json!({"a": 1, "b": 1}), json!({"a": 2, "b": 3}), json!({"a": 2, "b": 3}));
        check("m /result/a~1b ignore", json!({"a/b": 1}), json!({"a/b": 2}), met());
        check("other /result/a ignore", json!({"a": 1}), json!({"a": 2}), json!({"a": 2}));
    }

    #[test]
    fn times_differ_unless_that_is_strict() {
        let wanted = json!({"t": "at 2026-01-02T03:04:05.678Z in [tmp]"});
        for came in [
            "at 2027-11-12T13:14:15Z in [tmp]",
            "at 2027-11-12 13:14 in [tmp]",
            "at 2027-11-12T13:14:15+01:00 in [tmp]",
        ] {
            assert_eq!(left(&[], Strictness::Usual, wanted.clone(), json!({"t": came})), json!("met"), "{came}");
            assert_ne!(left(&[], Strictness::Strict, wanted.clone(), json!({"t": came})), json!("met"), "{came}");
        }
        for came in ["at 2027-11-12 in [tmp]", "at 12027-11-12T13:14:15Z in [tmp]", "at 2027-11-12T13:14:15Z in x"] {
            assert_ne!(left(&[], Strictness::Usual, wanted.clone(), json!({"t": came})), json!("met"), "{came}");
        }
    }

    #[test]
    fn a_version_differs_unless_that_is_strict_and_it_was_recorded() {
        let info = |version: &str| json!({"_meta": {"x/serverInfo": {"name": "s", "version": version}}});
        for (wanted, strictness, met) in [
            ("1", Strictness::Usual, true),
            ("1", Strictness::Strict, false),
            ("[version]", Strictness::Usual, true),
            ("[version]", Strictness::Strict, true),
        ] {
            let left = left(&[], strictness, info(wanted), info("2"));
            assert_eq!(left == json!("met"), met, "{wanted} {strictness:?}");
        }
        let elsewhere = |version: &str| json!({"info": {"version": version}});
        assert_ne!(left(&[], Strictness::Usual, elsewhere("1"), elsewhere("2")), json!("met"));
    }
}
