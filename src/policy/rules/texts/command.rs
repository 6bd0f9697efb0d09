//! Reads commands, their subcommands and their forms.

use super::super::error::{PolicyError, PolicyWarning, Problem};
use super::super::grammar::{Arguments, CommandRule, Effect, Form, Level, Operand, Options, Order, Origin, Syntax};
use super::super::load::pinned::takes_any_word;
use super::fields::{Fields, What, entries, items, text, texts};
use super::keys::{self, Keys};
use super::yaml::{Key, Kind, Node};
use super::{Context, options, settings};
use crate::policy::of_another_tool;

/// The settings that a subcommand inherits from its command if it does not set them itself.
#[derive(Clone)]
struct Inherited {
    effect: Effect,
    reason: Option<String>,
    syntax: Syntax,
    order: Option<Order>,
    refuses_double_dash: bool,
}

impl Inherited {
    /// The same for a level that extends `base`: its words are read as those of `base`.
    fn with_words_of(&self, base: &Level) -> Self {
        let (syntax, order, refuses_double_dash) = (base.syntax, Some(base.order), base.refuses_double_dash);
        Self { syntax, order, refuses_double_dash, ..self.clone() }
    }
}

/// The keys by which a rule that extends a profile allows more calls.
const ADDITIONS: [&str; 7] = ["options", "use", "operands", "after_double_dash", "forms", "subcommands", "insert"];

/// Reads a command. If it extends a profile, `base` is the profile's rule.
pub(super) fn read(
    key: &Key,
    node: &Node,
    base: Option<CommandRule>,
    context: &Context<'_>,
    warnings: &mut Vec<PolicyWarning>,
) -> Result<CommandRule, PolicyError> {
    let name = &key.text;
    if name.is_empty() || name.chars().any(char::is_control) || name == "*" {
        let (what, expected) = ("the name of a command".to_owned(), "a name or a path".to_owned());
        return Err(context.error(key.line, Problem::Value { what, expected, found: crate::policy::quoted(name) }));
    }
    if let Some(instead) = of_another_tool(name) {
        return Err(context.error(key.line, of_pattern(format!("the command `{name}`"), &instead)));
    }
    if name.contains(char::is_whitespace) && !name.contains(['/', '\\']) {
        let (what, expected) =
            (format!("the command `{name}`"), "one word; `subcommands` describes the rest".to_owned());
        return Err(context.error(key.line, Problem::Value { what, expected, found: "several".to_owned() }));
    }
    let nothing =
        Inherited { effect: Effect::Allow, reason: None, syntax: Syntax::Gnu, order: None, refuses_double_dash: false };
    let inherited = base.as_ref().map_or_else(|| nothing.clone(), |base| nothing.with_words_of(&base.level));
    let base_level = base.as_ref().map(|base| &base.level);
    let adds = |key: &str| ADDITIONS.contains(&key);
    let is_wider = matches!(&node.kind, Kind::Map(entries) if entries.iter().any(|(key, _)| adds(&key.text)));
    let base_only_reads = base.as_ref().is_some_and(|base| base.read_only && base.sandbox.writes_nothing());
    let level = level(vec![name.clone()], key, node, &keys::COMMAND, &inherited, base_level, context, warnings)?;
    let base = base.unwrap_or_else(|| CommandRule::new(name.clone(), context.origin(key.line), level.clone()));
    let mut command = CommandRule { level, origin: context.origin(key.line), examples: Vec::new(), ..base };
    // The profile says so of its own calls only.
    command.read_only &= !is_wider;
    match node.kind {
        // The same as `--allow`, which allows input too.
        Kind::Scalar { .. } => command.stdin = true,
        Kind::Map(_) | Kind::List(_) => {
            let fields = Fields::new(node, What::Named("command", name), &keys::COMMAND, context)?;
            settings::read(&fields, &mut command, context)?;
            if base_only_reads && !command.read_only && command.sandbox.writes_nothing() {
                let text = format!(
                    "`{name}` is not `read_only` here, but can write nothing, since the profile says `write: none`; to let it \
                     write add `sandbox: {{write: full}}`"
                );
                warnings.push(PolicyWarning { origin: command.origin.clone(), text });
            }
        }
    }
    Ok(command)
}

#[expect(clippy::too_many_arguments, reason = "a level is read in all of these")]
fn level(
    path: Vec<String>,
    key: &Key,
    node: &Node,
    known: &'static Keys,
    inherited: &Inherited,
    base: Option<&Level>,
    context: &Context<'_>,
    warnings: &mut Vec<PolicyWarning>,
) -> Result<Level, PolicyError> {
    let title = path.join(" ");
    let mut level = Level {
        origin: context.origin(key.line),
        syntax: inherited.syntax,
        order: inherited.order.unwrap_or(inherited.syntax.order()),
        refuses_double_dash: inherited.refuses_double_dash,
        insert: base.map(|base| base.insert.clone()).unwrap_or_default(),
        env: base.map(|base| base.env.clone()).unwrap_or_default(),
        arguments: Arguments::Any { effect: inherited.effect, reason: inherited.reason.clone() },
        hints: base.map(|base| base.hints.clone()).unwrap_or_default(),
        path,
    };
    if let Kind::Scalar { text, .. } = &node.kind {
        return if text == "any" {
            Ok(level)
        } else {
            Err(context.value(node, &What::Name(&title), "`any`, or a mapping (`{}` for no arguments at all)"))
        };
    }
    let what = if level.path.len() == 1 { "command" } else { "subcommand" };
    let fields = Fields::new(node, What::Named(what, &title), known, context)?;
    let mut own = inherited.clone();
    read_decision(&fields, (&mut own.effect, &mut own.reason), context)?;
    if let Some(syntax) = fields.word("syntax", &Syntax::ALL, Syntax::name, context)? {
        (own.syntax, own.order) = (syntax, None);
    }
    own.order = fields.word("order", &Order::ALL, Order::name, context)?.or(own.order);
    let double_dash = |node: &Node, what: &What<'_>, context: &Context<'_>| match text(node, what, context)? {
        "refuse" => Ok(true),
        "allow" => Ok(false),
        _ => Err(context.value(node, what, "`refuse` or `allow`")),
    };
    if let Some(refuses) = fields.read("double_dash", double_dash, context)? {
        own.refuses_double_dash = refuses;
    }
    (level.syntax, level.refuses_double_dash) = (own.syntax, own.refuses_double_dash);
    level.order = own.order.unwrap_or(own.syntax.order());
    level.insert.extend(fields.read("insert", texts, context)?.unwrap_or_default());
    if let Some(node) = fields.get("env") {
        settings::env(node, fields.what("env"), &mut level.env, context)?;
    }
    for (key, node) in fields.read("hint", entries, context)?.unwrap_or_default() {
        let hint = text(node, &What::Named("the hint for", &key.text), context)?;
        level.hints.push((key.text.clone(), hint.to_owned()));
    }
    level.arguments = arguments(&level, &fields, &own, base, context, warnings)?;
    // A command without arguments takes no `--` either.
    let is_own = base.is_none() && fields.get("double_dash").is_none();
    level.refuses_double_dash |= is_own && takes_nothing(&level.arguments);
    Ok(level)
}

/// Whether nothing may follow, in whatever way the policy says so: by no key at all, `operands: []`, `options: {}` or an empty
/// form.
fn takes_nothing(arguments: &Arguments) -> bool {
    let has_none = |options: &Options| options.iter().next().is_none();
    match arguments {
        Arguments::Any { .. } => false,
        Arguments::Described { options, forms, subcommands } => {
            let is_bare =
                |form: &Form| has_none(&form.options) && form.operands.is_empty() && form.after_double_dash.is_none();
            has_none(options) && forms.iter().all(is_bare) && subcommands.is_empty()
        }
    }
}

fn describes_arguments(fields: &Fields<'_, '_>) -> bool {
    let keys = ["options", "use", "operands", "after_double_dash", "forms", "subcommands"];
    keys.into_iter().any(|key| fields.get(key).is_some())
}

fn arguments(
    level: &Level,
    fields: &Fields<'_, '_>,
    own: &Inherited,
    base: Option<&Level>,
    context: &Context<'_>,
    warnings: &mut Vec<PolicyWarning>,
) -> Result<Arguments, PolicyError> {
    let base = base.map(|base| {
        let mut arguments = base.arguments.clone();
        if fields.get("decision").is_some() {
            decide_all(&mut arguments, own);
        }
        arguments
    });
    let (base_options, mut forms, mut subcommands) = match base {
        // A rule that extends a profile and describes no arguments keeps the profile's.
        Some(arguments) if !describes_arguments(fields) => return Ok(arguments),
        Some(Arguments::Described { options, forms, subcommands }) => (Some(options), forms, subcommands),
        Some(Arguments::Any { .. }) | None => (None, Vec::new(), Vec::new()),
    };
    let mut options = Options::default();
    options::add(&mut options, fields, level.syntax, context)?;
    let of_level = options.clone();
    if let Some(base) = base_options {
        // The file's own description of an option replaces the profile's.
        options = base;
        of_level.iter().for_each(|option| options.replace(option));
        // Options that the file adds belong to the profile's forms as well.
        for form in &mut forms {
            of_level.iter().for_each(|option| form.options.replace(option));
        }
    }
    let beside = ["operands", "after_double_dash"].into_iter().find(|key| fields.get(key).is_some());
    match (fields.get("forms"), beside) {
        (Some(_), Some(key)) => {
            let level = level.title();
            return Err(context.error(fields.line_of(key), Problem::BesideForms { key, level }));
        }
        (Some(node), None) => {
            for node in items(node, &fields.what("forms"), context)? {
                forms.push(form(level, node, &options, own, context)?);
            }
        }
        (None, Some(_)) => forms.push(one_form(level.origin.clone(), fields, &options, own, context)?),
        (None, None) if forms.is_empty() && subcommands.is_empty() && fields.get("subcommands").is_none() => {
            forms.push(one_form(level.origin.clone(), fields, &options, own, context)?);
        }
        (None, None) => {}
    }
    for (key, node) in fields.read("subcommands", entries, context)?.unwrap_or_default() {
        if let Some(instead) = of_another_tool(&key.text) {
            let what = format!("the subcommand `{}` of `{}`", key.text, level.title());
            return Err(context.error(key.line, of_pattern(what, &instead)));
        }
        if key.text.is_empty() || key.text.contains(char::is_whitespace) || key.text.starts_with('-') {
            let (what, expected) = (format!("a subcommand of `{}`", level.title()), "one word".to_owned());
            let found = crate::policy::quoted(&key.text);
            return Err(context.error(key.line, Problem::Value { what, expected, found }));
        }
        let path = level.path.iter().cloned().chain([key.text.clone()]).collect();
        // A subcommand that the profile describes too is extended, as the command is.
        let place = subcommands.iter().position(|other| other.name() == key.text);
        let base = place.and_then(|place| subcommands.get(place));
        let inherited = base.map_or_else(|| own.clone(), |base| own.with_words_of(base));
        let read = self::level(path, key, node, &keys::SUBCOMMAND, &inherited, base, context, warnings)?;
        match place.and_then(|place| subcommands.get_mut(place)) {
            Some(extended) => *extended = read,
            None => subcommands.push(read),
        }
    }
    warn_of_repetition(&forms, warnings);
    Ok(Arguments::Described { options, forms, subcommands })
}

/// Gives all forms of a profile the decision of the rule that extends it.
fn decide_all(arguments: &mut Arguments, own: &Inherited) {
    match arguments {
        Arguments::Any { effect, reason } => (*effect, *reason) = (own.effect, own.reason.clone()),
        Arguments::Described { forms, subcommands, .. } => {
            for form in forms {
                (form.effect, form.reason) = (own.effect, own.reason.clone());
            }
            subcommands.iter_mut().for_each(|level| decide_all(&mut level.arguments, own));
        }
    }
}

/// The one form of a level that has no list of them.
fn one_form(
    origin: Origin,
    fields: &Fields<'_, '_>,
    options: &Options,
    own: &Inherited,
    context: &Context<'_>,
) -> Result<Form, PolicyError> {
    Ok(Form {
        origin,
        effect: own.effect,
        reason: own.reason.clone(),
        options: options.clone(),
        operands: fields.read("operands", options::operands, context)?.unwrap_or_default(),
        after_double_dash: fields.read("after_double_dash", options::operands, context)?,
    })
}

fn form(
    level: &Level,
    node: &Node,
    of_level: &Options,
    own: &Inherited,
    context: &Context<'_>,
) -> Result<Form, PolicyError> {
    let title = level.title();
    let fields = Fields::new(node, What::Named("a form of", &title), &keys::FORM, context)?;
    let mut options = of_level.clone();
    context.count_options(fields.line, options.iter().count())?;
    options::add(&mut options, &fields, level.syntax, context)?;
    let mut form = one_form(context.origin(fields.line), &fields, &options, own, context)?;
    read_decision(&fields, (&mut form.effect, &mut form.reason), context)?;
    Ok(form)
}

/// Reads `decision` and `reason` over what was inherited. A decision of its own drops the inherited reason.
fn read_decision(
    fields: &Fields<'_, '_>,
    (effect, reason): (&mut Effect, &mut Option<String>),
    context: &Context<'_>,
) -> Result<(), PolicyError> {
    if let Some(own) = fields.word("decision", &Effect::ALL, Effect::name, context)? {
        (*effect, *reason) = (own, None);
    }
    if let Some(own) = fields.read("reason", text, context)? {
        *reason = Some(own.to_owned());
    }
    Ok(())
}

/// Warns of a `deny` that can be evaded. It refuses only calls that match it as a whole, so where an operand repeats, a call with
/// one more operand does not match it.
fn warn_of_repetition(forms: &[Form], warnings: &mut Vec<PolicyWarning>) {
    let repeats = |form: &Form| form.all_operands().any(Operand::repeats);
    let evaded = |form: &Form| form.all_operands().any(|operand| operand.repeats() && !takes_any_word(operand));
    for form in forms.iter().filter(|form| form.effect == Effect::Deny) {
        let other = forms.iter().find(|other| other.effect != Effect::Deny && repeats(other));
        if evaded(form) || other.is_some() {
            let text = match other {
                Some(other) if !repeats(form) => format!(
                    "this `deny` does not limit the form on line {}, where an operand repeats: a call with one more \
                     operand gets past it; describe what is allowed instead",
                    other.origin.line
                ),
                Some(_) | None => {
                    "an operand of this `deny` repeats, so a call with one other operand gets past it; describe \
                     what is allowed instead"
                        .to_owned()
                }
            };
            warnings.push(PolicyWarning { origin: form.origin.clone(), text });
        }
    }
}

/// The error for a name that is a pattern of another tool.
fn of_pattern(what: String, instead: &str) -> Problem {
    let expected = match instead {
        "" | "*" => "a name, which takes the arguments that its rule describes".to_owned(),
        instead => format!("a name, such as `{}`", instead.split_whitespace().next().unwrap_or_default()),
    };
    Problem::Value { what, expected, found: "a pattern of another tool".to_owned() }
}
