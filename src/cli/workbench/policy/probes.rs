//! Command lines made from two policies: each option once with values at the edges of its type, and each operand with such
//! values. What one policy describes is tried in both.

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::rules::{
    Access, Arguments, CharSet, Form, Level, NUMBER_OPTION, Operand, OptionRule, Options, Order, Restriction, Rules,
    Syntax, Takes, ValuePlace, ValueType,
};

/// The most command lines that are made.
const MOST: usize = 50_000;

/// Values to try, by the level and the spelling of the option, which is empty for operands.
type Samples = BTreeMap<(Vec<String>, String), BTreeSet<String>>;

/// The command lines for both policies, each once, and whether there would have been more.
pub(super) fn probes(old: &Rules, new: &Rules) -> (BTreeSet<Vec<String>>, bool) {
    let mut samples = Samples::new();
    let both = || old.iter().chain(new.iter());
    for level in both().flat_map(|command| command.level.levels()) {
        collect(level, &mut samples);
    }
    let mut lines = BTreeSet::new();
    for level in both().flat_map(|command| command.level.levels()) {
        of_level(level, &samples, &mut lines);
        if lines.len() > MOST {
            return (lines.into_iter().take(MOST).collect(), true);
        }
    }
    (lines, false)
}

fn collect(level: &Level, samples: &mut Samples) {
    let Arguments::Described { options, forms, .. } = &level.arguments else { return };
    let mut add = |spelling: &str, value: &ValueType, restrictions: &[Restriction]| {
        let all = std::iter::once(value).chain(restrictions.iter().map(|restriction| &restriction.value));
        samples.entry((level.path.clone(), spelling.to_owned())).or_default().extend(all.flat_map(values));
    };
    for option in options.iter().chain(forms.iter().flat_map(|form| form.options.iter())) {
        if let Takes::Value { value, .. } = &option.takes {
            option.spellings.iter().for_each(|spelling| add(spelling, value, &option.restrictions));
        }
    }
    for operand in forms.iter().flat_map(|form| form.operands.iter().chain(form.after_double_dash.iter().flatten())) {
        add("", &operand.value, &operand.restrictions);
    }
}

/// Values within a type, at its edges, and outside.
fn values(value: &ValueType) -> Vec<String> {
    match value {
        ValueType::Integer { low, high } => {
            let near = [*low, *high, low.saturating_sub(1), high.saturating_add(1)];
            near.map(|number| number.to_string()).to_vec()
        }
        ValueType::OneOf(words) => words.clone(),
        ValueType::Text(text) => {
            let mut found =
                vec!["a".to_owned(), "x/y".to_owned(), "/x".to_owned(), "../x".to_owned(), "a b".to_owned()];
            let one = text.chars.as_ref().and_then(first_of).unwrap_or('a');
            found.push(one.to_string());
            found.push(one.to_string().repeat(text.max_length.min(5000)));
            found.extend(text.first.chars().map(|first| format!("{first}{one}")));
            found.extend(text.must_begin.iter().flat_map(|begin| [begin.clone(), format!("{begin}{one}")]));
            found.extend(text.chars.iter().flat_map(edges).map(|character| character.to_string()));
            found
        }
        ValueType::Path(path) => {
            let mut found: Vec<String> =
                ["a", "a/b", "/etc/x", "../x", ".git/x"].into_iter().map(str::to_owned).collect();
            found.extend(path.under.iter().flat_map(|under| [under.clone(), format!("{under}/x")]));
            found.extend(path.except.iter().map(|except| format!("{except}/x")));
            if path.access == Access::Write {
                found.push(".".to_owned());
            }
            found
        }
    }
}

fn first_of(set: &CharSet) -> Option<char> {
    edges(set).find(|character| !"-+@".contains(*character))
}

/// The characters that the text of a set names, such as the ends of its ranges.
fn edges(set: &CharSet) -> impl Iterator<Item = char> {
    set.text().chars().filter(|character| set.holds(*character)).collect::<BTreeSet<char>>().into_iter()
}

fn of_level(level: &Level, samples: &Samples, lines: &mut BTreeSet<Vec<String>>) {
    let words = |more: &[&str]| level.path.iter().cloned().chain(more.iter().map(|word| (*word).to_owned())).collect();
    let (options, forms, subcommands) = match &level.arguments {
        Arguments::Any { .. } => {
            lines.insert(words(&[]));
            lines.insert(words(&["--any", "/x"]));
            return;
        }
        Arguments::Described { options, forms, subcommands } => (options, forms, subcommands),
    };
    for form in forms {
        let least: Vec<Vec<String>> = operands(&form.operands, level, samples);
        let required: Vec<String> = required(&form.options, level, samples);
        let line = |options: &[String], operands: &[String]| -> Vec<String> {
            let path = level.path.iter();
            let (first, then) =
                if level.order == Order::OperandsFirst { (operands, options) } else { (options, operands) };
            let required = required.iter();
            if level.order == Order::OperandsFirst {
                path.chain(first).chain(required).chain(then).cloned().collect()
            } else {
                path.chain(required).chain(first).chain(then).cloned().collect()
            }
        };
        let base = least.first().cloned().unwrap_or_default();
        lines.extend(least.iter().map(|operands| line(&[], operands)));
        for option in form.options.iter() {
            for spelled in spelled(option, level, samples) {
                lines.insert(line(&spelled, &base));
            }
        }
        // Options before and after an operand, and `--` before one, after one and alone.
        let with_operand: &[String] = &one_of_each(&form.operands);
        let placed =
            |words: &[&[String]]| level.path.iter().chain(&required).chain(words.concat().iter()).cloned().collect();
        let double_dash = ["--".to_owned()];
        for option in form.options.iter() {
            if let Some(spelled) = spelled(option, level, samples).first() {
                lines.insert(placed(&[spelled, with_operand]));
                lines.insert(placed(&[with_operand, spelled]));
                lines.insert(placed(&[spelled, &double_dash, with_operand]));
            }
        }
        lines.insert(placed(&[&base, &double_dash]));
        lines.insert(placed(&[with_operand, &double_dash]));
        lines.insert(placed(&[&double_dash, with_operand]));
        lines.insert(placed(&[&double_dash, &["-x".to_owned()]]));
        for after in form.after_double_dash.iter().flat_map(|after| operands(after, level, samples)) {
            let after: Vec<String> = base.iter().cloned().chain(["--".to_owned()]).chain(after).collect();
            lines.insert(line(&[], &after));
        }
    }
    of_subcommands(level, options, subcommands, samples, lines);
}

/// Each option that may come before a subcommand, with each subcommand.
fn of_subcommands(
    level: &Level,
    options: &Options,
    subcommands: &[Level],
    samples: &Samples,
    lines: &mut BTreeSet<Vec<String>>,
) {
    for spelled in options.iter().flat_map(|option| spelled(option, level, samples)) {
        for below in subcommands {
            let form = match &below.arguments {
                Arguments::Described { forms, .. } => forms.first(),
                Arguments::Any { .. } => None,
            };
            let base = |form: &Form| operands(&form.operands, below, samples).into_iter().next();
            let required = form.map_or_else(Vec::new, |form| required(&form.options, below, samples));
            let base = form.and_then(base).unwrap_or_default();
            let words = level.path.iter().chain(&spelled).chain(below.path.last()).chain(&required).chain(&base);
            lines.insert(words.cloned().collect());
        }
    }
}

/// The first value of each operand, including those that may be left out.
fn one_of_each(operands: &[Operand]) -> Vec<String> {
    let words = |operand: &Operand| std::iter::repeat_n(first(operand), operand.least.clamp(1, 8));
    operands.iter().flat_map(words).collect()
}

fn first(operand: &Operand) -> String {
    values(&operand.value).into_iter().next().unwrap_or_default()
}

/// The fewest operands, with each sample in each place once, and with one more of those that repeat.
fn operands(operands: &[Operand], level: &Level, samples: &Samples) -> Vec<Vec<String>> {
    let of_any = samples.get(&(level.path.clone(), String::new()));
    let base: Vec<String> =
        operands.iter().flat_map(|operand| std::iter::repeat_n(first(operand), operand.least.min(8))).collect();
    let mut all = vec![base.clone()];
    let mut at = 0;
    for operand in operands {
        let tried = of_any.into_iter().flatten();
        for sample in tried {
            let mut with = base.clone();
            match with.get_mut(at).filter(|_| operand.least > 0) {
                Some(word) => word.clone_from(sample),
                None => with.insert(at, sample.clone()),
            }
            all.push(with);
        }
        if operand.repeats() {
            let mut with = base.clone();
            with.splice(at..at, [first(operand), first(operand)]);
            all.push(with);
        }
        at += operand.least.min(8);
    }
    all
}

/// The options that a form requires, each in its first spelling with its first value.
fn required(options: &Options, level: &Level, samples: &Samples) -> Vec<String> {
    let needed = options.iter().filter(|option| option.is_required);
    needed.filter_map(|option| spelled(option, level, samples).into_iter().next()).flatten().collect()
}

/// An option in each of its spellings, with each of its samples.
fn spelled(option: &OptionRule, level: &Level, samples: &Samples) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for spelling in &option.spellings {
        let Takes::Value { value, place } = &option.takes else {
            all.push(vec![if spelling == NUMBER_OPTION { "-5".to_owned() } else { spelling.clone() }]);
            continue;
        };
        if *place == ValuePlace::Optional {
            all.push(vec![spelling.clone()]);
        }
        let own = values(value).into_iter();
        let tried: BTreeSet<String> =
            own.chain(samples.get(&(level.path.clone(), spelling.clone())).into_iter().flatten().cloned()).collect();
        for sample in tried {
            let is_long = spelling.starts_with("--") || level.syntax == Syntax::Go;
            all.push(match (spelling.as_str(), place) {
                (NUMBER_OPTION, _) => vec![format!("-{sample}")],
                (_, ValuePlace::Anywhere) => vec![spelling.clone(), sample],
                (_, ValuePlace::Attached | ValuePlace::Optional) if is_long => vec![format!("{spelling}={sample}")],
                (_, ValuePlace::Attached | ValuePlace::Optional) => vec![format!("{spelling}{sample}")],
            });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::rules::PolicyText;

    fn rules(text: &str) -> Rules {
        Rules::load(&[PolicyText { file: "p.yaml".into(), text: text.to_owned() }], &[], &[]).unwrap()
    }

    fn lines(old: &str, new: &str) -> Vec<String> {
        let (lines, _) = probes(&rules(old), &rules(new));
        lines.into_iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn each_option_is_tried_at_the_edges_of_both_types() {
        let old = "version: 1\ncommands:\n  a: {options: {\"-n, --number\": {integer: [1, 5]}}}\n";
        let new = "version: 1\ncommands:\n  a: {options: {\"-n, --number\": {integer: [1, 9]}, \"-v\": flag}}\n";
        let lines = lines(old, new);
        for line in ["a", "a -n 5", "a -n 6", "a -n 9", "a --number 10", "a -v"] {
            assert!(lines.contains(&line.to_owned()), "{line}: {lines:?}");
        }
    }

    #[test]
    fn each_operand_is_tried_in_its_place() {
        let text = "version: 1\ncommands:\n  a:\n    subcommands:\n      b: {operands: [{one_of: [x, y]}, {path: read, count: \"0..\"}]}\n      c: any\n";
        let lines = lines(text, "version: 1\n");
        for line in ["a b x", "a b y", "a b x a", "a b x ../x", "a b x a a", "a c --any /x"] {
            assert!(lines.contains(&line.to_owned()), "{line}: {lines:?}");
        }
    }
}
