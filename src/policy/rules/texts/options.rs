//! Reads options and operands.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::super::error::{PolicyError, Problem};
use super::super::grammar::{NUMBER_OPTION, Operand, OptionRule, Options, Syntax, Takes, ValuePlace, ValueType};
use super::fields::{Fields, What, boolean, entries, items, one_or_more, text};
use super::yaml::{Key, Kind, Node};
use super::{Context, keys, types};
use crate::policy::quoted;
use crate::text::nearest;

/// Adds the options that the keys `options` and `use` of a level or a form name.
pub(super) fn add(
    options: &mut Options,
    fields: &Fields<'_, '_>,
    syntax: Syntax,
    context: &Context<'_>,
) -> Result<(), PolicyError> {
    let read = |node: &Node, what: &What<'_>| -> Result<Vec<Arc<OptionRule>>, PolicyError> {
        let option = |(key, value): &(Key, Node)| option(key, value, Some(syntax), context).map(Arc::new);
        entries(node, what, context)?.iter().map(option).collect()
    };
    let mut add = |option: &Arc<OptionRule>| {
        let line = option.origin.line;
        context.count_options(line, option.spellings.len())?;
        options.add(Arc::clone(option)).map_err(|(spelling, first)| {
            context.error(line, Problem::OptionTwice { spelling, first: first.origin.clone() })
        })
    };
    if let Some(node) = fields.get("options") {
        read(node, &fields.what("options"))?.iter().try_for_each(&mut add)?;
    }
    let Some(node) = fields.get("use") else { return Ok(()) };
    for name in one_or_more(node, &fields.what("use"), context)? {
        let Some((key, set)) = context.sets.iter().find(|(key, _)| key.text == name) else {
            let nearest = nearest(&name, context.sets.iter().map(|(key, _)| key.text.clone()));
            return Err(context.error(node.line, Problem::UnknownSet { name, nearest }));
        };
        let mut known = context.known_sets.borrow_mut();
        let of_set = match known.entry((&key.text, syntax)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(read(set, &What::Named("set", &name))?),
        };
        of_set.iter().try_for_each(&mut add)?;
    }
    Ok(())
}

/// Checks a set for mistakes, whatever syntax it will be used with.
pub(super) fn check_set(key: &Key, set: &Node, context: &Context<'_>) -> Result<(), PolicyError> {
    for (option_key, value) in entries(set, &What::Named("set", &key.text), context)? {
        option(option_key, value, None, context)?;
    }
    Ok(())
}

fn option(key: &Key, node: &Node, syntax: Option<Syntax>, context: &Context<'_>) -> Result<OptionRule, PolicyError> {
    let what = What::Named("option", &key.text);
    let spellings = spellings(key, syntax, context)?;
    let mut option = OptionRule {
        spellings,
        origin: context.origin(key.line),
        takes: Takes::Flag,
        restrictions: Vec::new(),
        value_name: None,
        is_required: false,
        is_leading: false,
        is_secret: false,
    };
    let attribute = |attribute, why: &str| {
        let (what, why) = (what.to_string(), why.to_owned());
        context.error(node.line, Problem::Attribute { what, attribute, why })
    };
    if let Kind::Scalar { text, .. } = &node.kind {
        if node.is_null() {
            return Err(context.value(node, &what, "`flag` or a type"));
        }
        if text != "flag" {
            let typed = types::named(text, node.line, context)?;
            option.takes = Takes::Value { value: typed.value, place: ValuePlace::Anywhere };
            option.restrictions = typed.restrictions;
        }
    } else {
        let fields = Fields::new(node, what, &keys::OPTION, context)?;
        let is_on = |key| fields.read(key, boolean, context).map(Option::unwrap_or_default);
        let kind = types::kind(&fields, context)?;
        let names_flag =
            fields.get("type").is_some_and(|node| matches!(&node.kind, Kind::Scalar { text, .. } if text == "flag"));
        (option.is_required, option.is_secret) = (is_on("required")?, is_on("secret")?);
        option.is_leading = is_on("leading")?;
        option.value_name = fields.read("name", text, context)?.map(str::to_owned);
        let (optional, attached) = (is_on("optional")?, is_on("attached")?);
        match kind.filter(|_| !names_flag) {
            Some(_) if fields.get("flag").is_some() => {
                return Err(attribute("flag", "next to a type"));
            }
            None => {
                let of_values = ["optional", "attached", "secret", "name", "ask", "deny", "reason"];
                let meaningless = of_values.into_iter().find(|key| fields.get(key).is_some());
                if let Some(key) = meaningless {
                    return Err(attribute(key, "with a flag, which has no value"));
                }
            }
            Some(kind) => {
                let place = match (optional, attached) {
                    (true, _) => ValuePlace::Optional,
                    (false, true) => ValuePlace::Attached,
                    (false, false) => ValuePlace::Anywhere,
                };
                let typed = types::of(kind, &fields, context)?;
                option.takes = Takes::Value { value: typed.value, place };
                option.restrictions = typed.restrictions;
            }
        }
    }
    let Takes::Value { value, place } = &option.takes else { return Ok(option) };
    if option.spellings.iter().any(|spelling| !spelling.starts_with('-')) {
        return Err(context.value(node, &what, "`flag`, since a word without a dash has no value"));
    }
    if option.spellings.iter().any(|spelling| spelling == NUMBER_OPTION) && !matches!(value, ValueType::Integer { .. })
    {
        return Err(context.value(node, &what, "`flag` or `integer`"));
    }
    if syntax == Some(Syntax::SingleDash) && *place != ValuePlace::Anywhere {
        let key = if *place == ValuePlace::Optional { "optional" } else { "attached" };
        return Err(attribute(key, "in the syntax `single_dash`, where every value is a word of its own"));
    }
    Ok(option)
}

/// The spellings in the key of an option, as the matcher looks them up.
fn spellings(key: &Key, syntax: Option<Syntax>, context: &Context<'_>) -> Result<Vec<String>, PolicyError> {
    let mut spellings: Vec<String> = Vec::new();
    // A comma alone is not a separator, but an operator of find.
    let written: Vec<&str> = if key.text == "," { vec![","] } else { key.text.split(',').map(str::trim).collect() };
    for spelling in written {
        let wrong = |why: &str| {
            let (spelling, why) = (spelling.to_owned(), why.to_owned());
            context.error(key.line, Problem::Spelling { spelling, why })
        };
        let is_letter = spelling.chars().count() == 2 && !spelling.starts_with("--");
        let is_long = spelling.starts_with("--") && spelling.len() > 2;
        match syntax {
            _ if spelling.is_empty() => return Err(wrong("a spelling is empty; write `\"-n, --name\"`")),
            _ if spelling == "-" || spelling == "--" => return Err(wrong("it is not an option")),
            _ if spelling.contains(|c: char| c.is_whitespace() || c == '=' || c.is_control()) => {
                return Err(wrong("a spelling holds neither blanks nor `=`; the value is described after the `:`"));
            }
            // Only signs are allowed, such as `!` and `(` of find: a word would match wherever an option may be.
            _ if !spelling.starts_with('-') && spelling.chars().any(char::is_alphanumeric) => {
                return Err(wrong(
                    "an option begins with `-`; write `-x` or `--name`, and describe a word without a dash as an operand, \
                     with `one_of`",
                ));
            }
            Some(Syntax::Operands) => return Err(wrong("the syntax `operands` has no options")),
            Some(Syntax::SingleDash | Syntax::Go) if spelling == NUMBER_OPTION => {
                return Err(wrong("`-NUM` stands for a number only in the syntaxes `gnu` and `posix`"));
            }
            Some(Syntax::Gnu | Syntax::Posix)
                if spelling.starts_with('-') && !is_letter && !is_long && spelling != NUMBER_OPTION =>
            {
                return Err(wrong(
                    "one dash and several letters is a bundle of options; expected `-x` or `--name`, or `syntax: single_dash` \
                     or `go` for programs that know no bundles",
                ));
            }
            Some(_) | None => {}
        }
        let spelling = match spelling.strip_prefix('-') {
            Some(one_dash) if syntax == Some(Syntax::Go) && one_dash.starts_with('-') => one_dash,
            Some(_) | None => spelling,
        };
        if spellings.iter().any(|other| other == spelling) {
            return Err(wrong("it occurs twice in its key"));
        }
        spellings.push(spelling.to_owned());
    }
    Ok(spellings)
}

/// Reads a list of operands.
pub(super) fn operands(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<Vec<Operand>, PolicyError> {
    let list = items(node, what, context)?;
    let operands: Vec<Operand> = list.iter().map(|node| operand(node, context)).collect::<Result<_, _>>()?;
    let mut variable = operands.iter().filter(|operand| !operand.is_fixed());
    if let (Some(first), Some(second)) = (variable.next(), variable.next()) {
        let name = |operand: &Operand| operand.name.as_ref().map_or("without a name".to_owned(), |name| quoted(name));
        let (line, first, second) = (second.origin.line, name(first), name(second));
        return Err(context.error(line, Problem::TwoVariable { first, second }));
    }
    Ok(operands)
}

const AN_OPERAND: What<'_> = What::Words("an operand");

fn operand(node: &Node, context: &Context<'_>) -> Result<Operand, PolicyError> {
    let fields = Fields::new(node, AN_OPERAND, &keys::OPERAND, context)?;
    let name = fields.read("name", text, context)?;
    let is_on = |key| fields.read(key, boolean, context).map(Option::unwrap_or_default);
    let Some(kind) = types::kind(&fields, context)? else {
        return Err(context.value(node, &AN_OPERAND, "a type: `integer`, `one_of`, `text`, `path` or `type`"));
    };
    let attribute = |attribute, why: &str| {
        let (what, why) = ("an operand".to_owned(), why.to_owned());
        context.error(node.line, Problem::Attribute { what, attribute, why })
    };
    let (mut least, most) = fields.read("count", count, context)?.unwrap_or((1, Some(1)));
    if is_on("optional")? {
        if fields.get("count").is_some() {
            return Err(attribute("optional", "next to `count`"));
        }
        least = 0;
    }
    if is_on("required")? && least == 0 {
        return Err(attribute("required", "with a count that may be 0"));
    }
    let typed = types::of(kind, &fields, context)?;
    Ok(Operand {
        name: name.map(str::to_owned),
        origin: context.origin(node.line),
        value: typed.value,
        restrictions: typed.restrictions,
        least,
        most,
        is_secret: is_on("secret")?,
    })
}

/// The most operands that a bounded count may name.
const MOST: usize = 100_000;

/// Reads `1`, `"0..1"`, `"0.."`.
fn count(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<(usize, Option<usize>), PolicyError> {
    let text = text(node, what, context)?;
    let number = |text: &str| text.parse().ok().filter(|number| *number <= MOST);
    let wrong = || context.value(node, what, "`1`, `\"0..1\"`, `\"0..\"` or `\"1..\"`");
    let (least, most) = match text.split_once("..") {
        None => (number(text), number(text)),
        Some((least, "")) => return Ok((number(least).ok_or_else(wrong)?, None)),
        Some((least, most)) => (number(least), number(most)),
    };
    match (least, most) {
        (Some(least), Some(most)) if least <= most && most > 0 => Ok((least, Some(most))),
        _ => Err(wrong()),
    }
}
