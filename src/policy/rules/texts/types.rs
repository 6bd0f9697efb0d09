//! Reads the types of values: those that a policy declares, and those that are written out where they are used.

use super::super::error::{PolicyError, Problem};
use super::super::grammar::{Access, CharSet, DEFAULT_LENGTH, Effect, PathType, Restriction, TextType, ValueType};
use super::Context;
use super::fields::{Fields, What, at_least_one, boolean, integer, items, one_or_more, text, texts};
use super::keys;
use super::yaml::{Kind, Node};
use crate::text::nearest;

/// A type, and what is decided about single values of it.
#[derive(Clone)]
pub(super) struct Typed {
    pub value: ValueType,
    pub restrictions: Vec<Restriction>,
}

/// How many names may refer to each other before a type.
const DEEPEST: usize = 32;

/// The type of this name.
pub(super) fn named(name: &str, line: usize, context: &Context<'_>) -> Result<Typed, PolicyError> {
    if let Some(known) = context.known_types.borrow().get(name) {
        return Ok(known.clone());
    }
    follow(name, line, context, &mut Vec::new())
}

fn follow<'c>(
    name: &str,
    line: usize,
    context: &'c Context<'_>,
    seen: &mut Vec<&'c str>,
) -> Result<Typed, PolicyError> {
    let Some((key, node)) = context.types.iter().find(|(key, _)| key.text == name) else {
        if name == "text" {
            return Ok(Typed { value: ValueType::Text(TextType::default()), restrictions: Vec::new() });
        }
        let nearest = nearest(name, context.types.iter().map(|(key, _)| key.text.clone()));
        return Err(context.error(line, Problem::UnknownType { name: name.to_owned(), nearest }));
    };
    if seen.contains(&key.text.as_str()) {
        return Err(context.error(key.line, Problem::TypeInItself { name: name.to_owned() }));
    }
    seen.push(&key.text);
    let what = What::Named("type", name);
    if seen.len() > DEEPEST {
        return Err(context.value(node, &what, &format!("a type that is reached by at most {DEEPEST} names")));
    }
    let fields = Fields::new(node, what, &keys::TYPE, context)?;
    match kind(&fields, context)? {
        Some(kind) => {
            let found = restricted(kind, &fields, context, seen)?;
            seen.pop();
            context.known_types.borrow_mut().insert(&key.text, found.clone());
            Ok(found)
        }
        None => Err(context.value(node, &what, "one of `integer`, `one_of`, `text`, `path`")),
    }
}

/// A type that is written out or named.
pub(super) fn written_or_named(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<Typed, PolicyError> {
    if let Kind::Scalar { .. } = node.kind {
        return named(text(node, what, context)?, node.line, context);
    }
    let fields = Fields::new(node, *what, &keys::TYPE, context)?;
    match kind(&fields, context)? {
        Some(kind) => of(kind, &fields, context),
        None => Err(context.value(node, what, "one of `integer`, `one_of`, `text`, `path`, or the name of a type")),
    }
}

/// The key that gives a mapping its type; `None` if there is none.
pub(super) fn kind(fields: &Fields<'_, '_>, context: &Context<'_>) -> Result<Option<&'static str>, PolicyError> {
    let mut found = keys::KINDS.iter().map(|kind| kind.name).filter(|kind| fields.get(kind).is_some());
    match (found.next(), found.next()) {
        (Some(first), Some(second)) => {
            let (what, line) = (fields.of.to_string(), fields.line_of(second));
            Err(context.error(line, Problem::TwoTypes { what, first: first.to_owned(), second: second.to_owned() }))
        }
        (kind, _) => Ok(kind),
    }
}

/// The type that this key of a mapping gives.
pub(super) fn of(kind: &'static str, fields: &Fields<'_, '_>, context: &Context<'_>) -> Result<Typed, PolicyError> {
    restricted(kind, fields, context, &mut Vec::new())
}

fn read<'c>(
    kind: &'static str,
    fields: &Fields<'c, '_>,
    context: &'c Context<'_>,
    seen: &mut Vec<&'c str>,
) -> Result<Typed, PolicyError> {
    let what = fields.what(kind);
    let mut typed = Typed { value: ValueType::Text(TextType::default()), restrictions: Vec::new() };
    let Some(node) = fields.get(kind) else { return Ok(typed) };
    match kind {
        "integer" => typed.value = integers(node, &what, context)?,
        "one_of" => {
            let words = texts(node, &what, context)?;
            if words.is_empty() {
                return Err(context.value(node, &what, "at least one word"));
            }
            typed.value = ValueType::OneOf(words);
        }
        "text" => typed.value = ValueType::Text(text_type(node, what, context)?),
        "path" => typed.value = ValueType::Path(path_type(node, what, context)?),
        _ if seen.is_empty() => typed = named(text(node, &what, context)?, node.line, context)?,
        _ => typed = follow(text(node, &what, context)?, node.line, context, seen)?,
    }
    Ok(typed)
}

/// A type with what its keys `ask` and `deny` decide about single values.
fn restricted<'c>(
    kind: &'static str,
    fields: &Fields<'c, '_>,
    context: &'c Context<'_>,
    seen: &mut Vec<&'c str>,
) -> Result<Typed, PolicyError> {
    let mut typed = read(kind, fields, context, seen)?;
    let reason = fields.read("reason", text, context)?;
    let inherited = typed.restrictions.len();
    for (key, effect) in [("ask", Effect::Ask), ("deny", Effect::Deny)] {
        if let Some(node) = fields.get(key) {
            typed.restrictions.push(restriction(
                effect,
                (node, &fields.what(key)),
                &typed.value,
                reason,
                context,
                seen,
            )?);
        }
    }
    if reason.is_some() && typed.restrictions.len() == inherited {
        let (what, why) = (fields.of.to_string(), "without `ask` or `deny`".to_owned());
        return Err(context.error(fields.line_of("reason"), Problem::Attribute { what, attribute: "reason", why }));
    }
    Ok(typed)
}

/// Reads the values of a type for which something stricter is decided. `reason` is that of the type, and counts if the restriction
/// has none of its own.
fn restriction<'c>(
    effect: Effect,
    (node, what): (&'c Node, &What<'_>),
    of: &ValueType,
    reason: Option<&str>,
    context: &'c Context<'_>,
    seen: &mut Vec<&'c str>,
) -> Result<Restriction, PolicyError> {
    let mut own = None;
    let typed = match &node.kind {
        Kind::Scalar { .. } => follow(text(node, what, context)?, node.line, context, seen)?,
        Kind::Map(_) | Kind::List(_) => {
            let fields = Fields::new(node, *what, &keys::RESTRICTION, context)?;
            own = fields.read("reason", text, context)?;
            let kind = kind(&fields, context)?
                .ok_or_else(|| context.value(node, what, "a type, such as `{one_of: [main]}` or the name of one"))?;
            read(kind, &fields, context, seen)?
        }
    };
    if !typed.restrictions.is_empty() {
        return Err(context.value(node, what, "a type without `ask` and `deny` of its own"));
    }
    // Another spelling of the same path or number would get past a comparison of texts.
    let is_comparable = match (of, &typed.value) {
        (ValueType::Path(_), ValueType::Path(_)) => true,
        (ValueType::Path(_), ValueType::Integer { .. } | ValueType::OneOf(_) | ValueType::Text(_)) => false,
        (ValueType::Text(_), ValueType::Integer { .. }) => false,
        (ValueType::Integer { .. } | ValueType::OneOf(_) | ValueType::Text(_), _) => true,
    };
    if !is_comparable {
        let expected = match of {
            ValueType::Path(_) => {
                "a path, such as `{path: {access: read, under: [private]}}`, since a file has many names"
            }
            ValueType::Integer { .. } | ValueType::OneOf(_) | ValueType::Text(_) => {
                "no `integer`, since a text spells a number in many ways; make the type itself an `integer`"
            }
        };
        return Err(context.value(node, what, expected));
    }
    let reason = own.or(reason).map(str::to_owned);
    Ok(Restriction { effect, value: typed.value, reason, origin: context.origin(node.line) })
}

fn integers(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<ValueType, PolicyError> {
    let [low, high] = items(node, what, context)? else {
        return Err(context.value(node, what, "the lowest and the highest number, such as `[1, 1000]`"));
    };
    let (low, high) = (integer(low, what, context)?, integer(high, what, context)?);
    if low > high {
        let (what, low, high) = (what.to_string(), low.to_string(), high.to_string());
        return Err(context.error(node.line, Problem::Bounds { what, low, high }));
    }
    Ok(ValueType::Integer { low, high })
}

fn char_set(node: &Node, what: &What<'_>, context: &Context<'_>) -> Result<CharSet, PolicyError> {
    CharSet::parse(text(node, what, context)?).map_err(|range| context.error(node.line, Problem::Chars { range }))
}

fn text_type(node: &Node, what: What<'_>, context: &Context<'_>) -> Result<TextType, PolicyError> {
    // `{text}` without a value means any text.
    if node.is_null() {
        return Ok(TextType::default());
    }
    let fields = Fields::new(node, what, &keys::TEXT, context)?;
    let first = |node: &Node, what: &What<'_>, context: &Context<'_>| {
        let first = text(node, what, context)?.to_owned();
        let is_known = first.chars().all(|character| "-+@".contains(character));
        if is_known { Ok(first) } else { Err(context.value(node, what, "some of `-`, `+` and `@`")) }
    };
    let length = |node: &Node, what: &What<'_>, context: &Context<'_>| {
        let length = usize::try_from(integer(node, what, context)?).ok().filter(|length| *length > 0);
        length.ok_or_else(|| context.value(node, what, "a number above 0"))
    };
    Ok(TextType {
        chars: fields.read("chars", char_set, context)?,
        first: fields.read("first", first, context)?.unwrap_or_default(),
        relative: fields.read("relative", boolean, context)?.unwrap_or_default(),
        must_begin: fields.read("must_begin", at_least_one, context)?.unwrap_or_default(),
        max_length: fields.read("max_length", length, context)?.unwrap_or(DEFAULT_LENGTH),
    })
}

/// The name that no part of a path to be written may have, unless the policy says otherwise.
const EXCEPT: &str = ".git";

fn path_type(node: &Node, what: What<'_>, context: &Context<'_>) -> Result<PathType, PolicyError> {
    let access = |node: &Node, what: &What<'_>| match text(node, what, context)? {
        "read" => Ok(Access::Read),
        "write" => Ok(Access::Write),
        _ => Err(context.value(node, what, "`read` or `write`")),
    };
    let defaults = |access| PathType {
        access,
        under: Vec::new(),
        except: if access == Access::Write { vec![EXCEPT.to_owned()] } else { Vec::new() },
        exists: false,
        chars: None,
    };
    if let Kind::Scalar { .. } = node.kind {
        return access(node, &what).map(defaults);
    }
    let fields = Fields::new(node, what, &keys::PATH, context)?;
    let Some(node) = fields.get("access") else {
        let of = fields.of.to_string();
        return Err(context.error(fields.line, Problem::MissingKey { of, key: "access" }));
    };
    let defaults = defaults(access(node, &fields.what("access"))?);
    Ok(PathType {
        under: fields.read("under", at_least_one, context)?.unwrap_or_default(),
        except: fields.read("except", one_or_more, context)?.unwrap_or(defaults.except),
        exists: fields.read("exists", boolean, context)?.unwrap_or_default(),
        chars: fields.read("chars", char_set, context)?,
        access: defaults.access,
    })
}
