//! The rule of an operator's own policy, widened to take one more call: as YAML, with all else that it says.

use serde_yaml::{Mapping, Value};

/// The keys of a level for its words apart from its options; a form has them too.
const WORDS: [&str; 2] = ["operands", "after_double_dash"];
/// The keys of a rule for the words of its calls, and those that depend on them.
const OF_WORDS: [&str; 13] = [
    "extends",
    "syntax",
    "order",
    "double_dash",
    "use",
    "options",
    "operands",
    "after_double_dash",
    "forms",
    "subcommands",
    "insert",
    "hint",
    "examples",
];

/// The rule `old` that takes what `new` takes, too; `None` if it can't be said by more options, values and forms.
pub(super) fn widened(old: &Value, new: &Value) -> Option<Value> {
    let mut rule = old.as_mapping()?.clone();
    let new = new.as_mapping()?;
    if let Some(options) = new.get("options").and_then(Value::as_mapping) {
        let own = rule.entry("options".into()).or_insert_with(|| Mapping::new().into()).as_mapping_mut()?;
        for (spelling, value) in options {
            let known = own.iter_mut().find(|(key, _)| is_spelling(key, spelling)).map(|(_, value)| value);
            match known {
                Some(known) => *known = either(known, value)?,
                None => {
                    own.insert(spelling.clone(), value.clone());
                }
            }
        }
    }
    for key in ["stdin", "program"] {
        if let Some(value) = new.get(key) {
            rule.insert(key.into(), value.clone());
        }
    }
    if let Some(subcommands) = new.get("subcommands").and_then(Value::as_mapping) {
        let own = rule.entry("subcommands".into()).or_insert_with(|| Mapping::new().into()).as_mapping_mut()?;
        for (name, level) in subcommands {
            let level = match own.get(name) {
                Some(known) => widened(known, level)?,
                None => level.clone(),
            };
            own.insert(name.clone(), level);
        }
        return Some(rule.into());
    }
    if let Some(more) = new.get("forms").and_then(Value::as_sequence) {
        let own = words_of(&rule);
        if !rule.contains_key("forms") {
            WORDS.iter().for_each(|key| drop(rule.remove(*key)));
            rule.insert("forms".into(), vec![Value::from(own)].into());
        }
        rule.get_mut("forms")?.as_sequence_mut()?.extend(more.iter().cloned());
        return Some(rule.into());
    }
    let form = words_of(new);
    match rule.get_mut("forms").and_then(Value::as_sequence_mut) {
        Some(forms) if forms.iter().filter_map(Value::as_mapping).any(|own| words_of(own) == form) => {}
        Some(forms) => forms.push(form.into()),
        None => {
            let own = words_of(&rule);
            let alone = |form: &Mapping| Some(form.get("operands")?.as_sequence()?.clone()).filter(|_| form.len() == 1);
            let joined = alone(&own).zip(alone(&form)).and_then(|(own, new)| one_wider(&own, &new));
            match joined {
                _ if own == form => {}
                Some(operands) => {
                    rule.insert("operands".into(), operands.into());
                }
                None => {
                    WORDS.iter().for_each(|key| drop(rule.remove(*key)));
                    rule.insert("forms".into(), vec![Value::from(own), Value::from(form)].into());
                }
            }
        }
    }
    Some(rule.into())
}

/// The rule `old` that takes any arguments, with all that it sets for its calls.
pub(super) fn takes_anything(old: &Value, has_input: bool) -> Value {
    let mut rule = old.as_mapping().cloned().unwrap_or_default();
    OF_WORDS.iter().for_each(|key| drop(rule.remove(*key)));
    // It would no longer be true.
    rule.remove("read_only");
    if rule.is_empty() {
        return "any".into();
    }
    rule.insert("syntax".into(), "operands".into());
    rule.insert("operands".into(), vec![anything()].into());
    if has_input {
        rule.insert("stdin".into(), true.into());
    }
    rule.into()
}

/// The operand that is any number of any words.
pub(super) fn anything() -> Value {
    let text = Mapping::from_iter([("first".into(), "-+@".into())]);
    Mapping::from_iter([("text".into(), text.into()), ("count".into(), "0..".into())]).into()
}

/// The operands that are exactly these words.
pub(super) fn exactly(words: &[String]) -> Value {
    let one = |word: &String| Mapping::from_iter([("one_of".into(), vec![Value::from(word.as_str())].into())]);
    words.iter().map(|word| Value::from(one(word))).collect::<Vec<_>>().into()
}

/// The rule for a command in lines of YAML.
pub(super) fn in_rule(name: &str, lines: &str) -> Option<Value> {
    let whole: Value = serde_yaml::from_str(lines).ok()?;
    Some(whole.get("commands")?.get(name)?.clone())
}

/// The lines of a policy with this rule.
pub(super) fn lines(name: &str, rule: Value) -> String {
    let commands = Mapping::from_iter([(Value::from(name), rule)]);
    let policy = Mapping::from_iter([(Value::from("commands"), Value::from(commands))]);
    // It consists of texts, numbers, lists and mappings, which YAML can say.
    serde_yaml::to_string(&policy).unwrap_or_default()
}

/// The same lines without the values of variables, which may be secret: a log is read by others than the policy.
pub(super) fn without_values(lines: &str) -> String {
    let mut policy: Value = serde_yaml::from_str(lines).unwrap_or_default();
    hide_values(&mut policy);
    serde_yaml::to_string(&policy).unwrap_or_default()
}

fn hide_values(value: &mut Value) {
    match value {
        Value::Mapping(mapping) => {
            let set = mapping.get_mut("env").and_then(|env| env.get_mut("set")).and_then(Value::as_mapping_mut);
            set.into_iter().flatten().for_each(|(_, value)| *value = "…".into());
            mapping.iter_mut().for_each(|(_, value)| hide_values(value));
        }
        Value::Sequence(values) => values.iter_mut().for_each(hide_values),
        _ => {}
    }
}

fn words_of(level: &Mapping) -> Mapping {
    WORDS.iter().filter_map(|key| Some((Value::from(*key), level.get(*key)?.clone()))).collect()
}

/// Whether a key of `options` has this spelling among others.
fn is_spelling(key: &Value, spelling: &Value) -> bool {
    let (Some(key), Some(spelling)) = (key.as_str(), spelling.as_str()) else { return false };
    key == spelling || key.split(", ").any(|one| one == spelling)
}

/// The operands with the one that differs widened. If more than one did, calls would pass that nobody made.
fn one_wider(own: &[Value], new: &[Value]) -> Option<Vec<Value>> {
    let differ = own.iter().zip(new).filter(|(own, new)| own != new).count();
    (own.len() == new.len() && differ == 1)
        .then(|| own.iter().zip(new).map(|(own, new)| either(own, new)).collect())
        .flatten()
}

/// The type that takes the values of both; `None` if no type does that takes no others.
fn either(own: &Value, new: &Value) -> Option<Value> {
    if own == new {
        return Some(own.clone());
    }
    let (mut joined, other) = (own.as_mapping()?.clone(), new.as_mapping()?);
    let list = |of: &Mapping, key: &str| of.get(key).and_then(Value::as_sequence).cloned();
    if let Some((mut words, more)) = list(&joined, "one_of").zip(list(other, "one_of")) {
        words.extend(more.into_iter().filter(|word| !own.get("one_of").is_some_and(|own| holds(own, word))));
        joined.insert("one_of".into(), words.into());
        return Some(joined.into());
    }
    let text =
        |of: &Mapping| of.get("text").and_then(Value::as_mapping).filter(|text| text.keys().all(is_bound)).cloned();
    if let Some((mut text, more)) = text(&joined).zip(text(other)) {
        let longest = |text: &Mapping| text.get("max_length").and_then(Value::as_u64);
        match longest(&text).zip(longest(&more)) {
            Some((one, other)) => drop(text.insert("max_length".into(), one.max(other).into())),
            None => drop(text.remove("max_length")),
        }
        let first = |text: &Mapping| text.get("first").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (mut all, more) = (first(&text), first(&more));
        all.extend(more.chars().filter(|character| !first(&text).contains(*character)));
        if !all.is_empty() {
            text.insert("first".into(), all.into());
        }
        joined.insert("text".into(), text.into());
        return Some(joined.into());
    }
    let range = |of: &Mapping| {
        let ends = list(of, "integer")?;
        Some((ends.first()?.as_i64()?, ends.get(1)?.as_i64()?))
    };
    let ((low, high), (other_low, other_high)) = range(&joined).zip(range(other))?;
    joined.insert("integer".into(), vec![Value::from(low.min(other_low)), Value::from(high.max(other_high))].into());
    Some(joined.into())
}

/// Whether a key of a text bounds it so that the wider of two is known.
fn is_bound(key: &Value) -> bool {
    matches!(key.as_str(), Some("max_length" | "first"))
}

fn holds(list: &Value, word: &Value) -> bool {
    list.as_sequence().is_some_and(|list| list.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> Value {
        serde_yaml::from_str(text).unwrap()
    }

    #[test]
    fn a_rule_is_widened_by_values_where_one_differs_and_by_forms_otherwise() {
        for (old, new, expected) in [
            ("operands: [{one_of: [a]}]", "operands: [{one_of: [b]}]", Some("operands: [{one_of: [a, b]}]")),
            ("operands: [{integer: [1, 1]}]", "operands: [{integer: [5, 5]}]", Some("operands: [{integer: [1, 5]}]")),
            (
                "operands: [{one_of: [a]}, {one_of: [b]}]",
                "operands: [{one_of: [c]}, {one_of: [d]}]",
                Some("forms: [{operands: [{one_of: [a]}, {one_of: [b]}]}, {operands: [{one_of: [c]}, {one_of: [d]}]}]"),
            ),
            (
                "{program: x, operands: [{path: read}]}",
                "{}",
                Some("{program: x, forms: [{operands: [{path: read}]}, {}]}"),
            ),
            ("{}", "operands: [{path: read}]", Some("forms: [{}, {operands: [{path: read}]}]")),
            (
                "{forms: [{}], timeout: 5s}",
                "operands: [{one_of: [a]}]",
                Some("{forms: [{}, {operands: [{one_of: [a]}]}], timeout: 5s}"),
            ),
            (
                "options: {'-n, --max': {integer: [1, 5]}}",
                "options: {-n: {integer: [9, 9]}}",
                Some("options: {'-n, --max': {integer: [1, 9]}}"),
            ),
            (
                "operands: [{path: read}]",
                "forms: [{options: {-n: flag}}]",
                Some("forms: [{operands: [{path: read}]}, {options: {-n: flag}}]"),
            ),
            (
                "operands: [{text: {max_length: 5}}]",
                "operands: [{text: {first: -, max_length: 9}}]",
                Some("operands: [{text: {first: -, max_length: 9}}]"),
            ),
            ("options: {-n: flag}", "options: {-n: {integer: [9, 9]}}", None),
            (
                "subcommands: {run: {operands: [{one_of: [a]}]}}",
                "subcommands: {run: {operands: [{one_of: [b]}]}, pack: {}}",
                Some("subcommands: {run: {operands: [{one_of: [a, b]}]}, pack: {}}"),
            ),
            ("any", "operands: [{one_of: [b]}]", None),
        ] {
            assert_eq!(widened(&yaml(old), &yaml(new)), expected.map(yaml), "{old} and {new}");
        }
        let kept = "{program: x, env: {unset: [A]}, syntax: operands, operands: [{text: {first: -+@}, count: 0..}], stdin: true}";
        let old = "{program: x, extends: y, forms: [{}], examples: {}, env: {unset: [A]}}";
        assert_eq!(takes_anything(&yaml(old), true), yaml(kept));
        assert_eq!(takes_anything(&yaml("{options: {-a: flag}}"), false), yaml("any"));
    }
}
