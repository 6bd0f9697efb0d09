//! A command or a subcommand: how its program reads words, and what may follow.

use super::{EnvRule, Form, OptionRule, Options, Origin, Restriction, Takes, ValueType};

/// The decision if a form matches. Decisions are ordered by precedence: deny beats ask, and ask beats allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Effect {
    /// The command runs.
    #[default]
    Allow,
    /// A person has to approve the command.
    Ask,
    /// The command is refused, even if another form allows it.
    Deny,
}

impl Effect {
    /// All effects.
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// The word for it in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One command or subcommand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// The command and its subcommands down to this one: `git`, `log`.
    pub path: Vec<String>,
    /// Where it is described.
    pub origin: Origin,
    /// How its program reads words.
    pub syntax: Syntax,
    /// Where options may be.
    pub order: Order,
    /// Whether `--` is refused.
    pub refuses_double_dash: bool,
    /// Words that are inserted after the name of this level, before the client's.
    pub insert: Vec<String>,
    /// The environment of its calls, over that of the levels above it.
    pub env: EnvRule,
    /// The words that may follow.
    pub arguments: Arguments,
    /// Words, and what else a model is told if a refusal is about that word.
    pub hints: Vec<(String, String)>,
}

impl Level {
    /// The name of this command or subcommand alone.
    pub(crate) fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// The command and its subcommands, as they are written.
    pub fn title(&self) -> String {
        self.path.join(" ")
    }

    /// Whether any word, of subcommands too, may be a path.
    pub fn has_paths(&self) -> bool {
        let is_path = |value: &ValueType| matches!(value, ValueType::Path(_));
        self.levels().into_iter().any(|level| {
            let is_restricted = level.restrictions().any(|restriction| is_path(&restriction.value));
            let takes_path =
                |option: &OptionRule| matches!(&option.takes, Takes::Value { value, .. } if is_path(value));
            let mut operands = level.forms().iter().flat_map(Form::all_operands);
            is_restricted || level.all_options().any(takes_path) || operands.any(|operand| is_path(&operand.value))
        })
    }

    /// The forms; empty for a level that takes anything.
    pub(crate) fn forms(&self) -> &[Form] {
        match &self.arguments {
            Arguments::Any { .. } => &[],
            Arguments::Described { forms, .. } => forms,
        }
    }

    /// The options of this level and of its forms; many are in both.
    pub(crate) fn all_options(&self) -> impl Iterator<Item = &OptionRule> {
        let own = match &self.arguments {
            Arguments::Any { .. } => None,
            Arguments::Described { options, .. } => Some(options),
        };
        let of_forms = self.forms().iter().map(|form| &form.options);
        own.into_iter().chain(of_forms).flat_map(Options::iter).map(|option| &**option)
    }

    /// The decisions about single values of this level's options and operands.
    pub(crate) fn restrictions(&self) -> impl Iterator<Item = &Restriction> {
        let operands = self.forms().iter().flat_map(Form::all_operands);
        self.all_options()
            .flat_map(|option| &option.restrictions)
            .chain(operands.flat_map(|operand| &operand.restrictions))
    }

    /// Whether this is what it, a level below it, or the type of a value decides somewhere.
    pub(crate) fn decides(&self, effect: Effect) -> bool {
        self.levels().into_iter().any(|level| level.decides_itself(effect))
    }

    /// The same without the levels below it.
    pub(crate) fn decides_itself(&self, effect: Effect) -> bool {
        self.own_effects().any(|own| own == effect)
            || self.restrictions().any(|restriction| restriction.effect == effect)
    }

    /// Whether nothing but `deny` is said of it, and of the levels below it.
    pub(crate) fn only_denies(&self) -> bool {
        let mut effects = self.levels().into_iter().flat_map(Self::own_effects).peekable();
        effects.peek().is_some() && effects.all(|effect| effect == Effect::Deny)
    }

    /// The decisions of its forms, or of itself where it takes anything.
    fn own_effects(&self) -> impl Iterator<Item = Effect> {
        let any = match &self.arguments {
            Arguments::Any { effect, .. } => Some(*effect),
            Arguments::Described { .. } => None,
        };
        any.into_iter().chain(self.forms().iter().map(|form| form.effect))
    }

    /// This level, and all levels below it.
    pub fn levels(&self) -> Vec<&Self> {
        let mut all = vec![self];
        if let Arguments::Described { subcommands, .. } = &self.arguments {
            all.extend(subcommands.iter().flat_map(Self::levels));
        }
        all
    }
}

/// The words that may follow the name of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// Anything.
    Any {
        /// The decision.
        effect: Effect,
        /// Why, in the operator's words.
        reason: Option<String>,
    },
    /// Only what is described.
    Described {
        /// The options of this level, which may precede a subcommand.
        options: Options,
        /// The ways to call it without a subcommand.
        forms: Vec<Form>,
        /// The subcommands.
        subcommands: Vec<Level>,
    },
}

/// How a program reads its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Syntax {
    /// `-a`, `-abc` as a bundle, `--name`, `--name=value`; options may follow operands.
    #[default]
    Gnu,
    /// The same, but everything after the first operand is an operand.
    Posix,
    /// Whole names: `-name VALUE`.
    SingleDash,
    /// Whole names with one dash or two, `-name=value`; options stop at the first operand.
    Go,
    /// Every word is an operand.
    Operands,
}

impl Syntax {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Gnu, Self::Posix, Self::SingleDash, Self::Go, Self::Operands];

    /// The word for it in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gnu => "gnu",
            Self::Posix => "posix",
            Self::SingleDash => "single_dash",
            Self::Go => "go",
            Self::Operands => "operands",
        }
    }

    /// The order of options and operands if a policy names none.
    pub fn order(self) -> Order {
        match self {
            Self::Gnu | Self::Posix | Self::SingleDash | Self::Operands => Order::Any,
            Self::Go => Order::OptionsFirst,
        }
    }
}

/// Where options may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Anywhere before `--`.
    Any,
    /// Before the operands.
    OptionsFirst,
    /// After the operands.
    OperandsFirst,
}

impl Order {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Any, Self::OptionsFirst, Self::OperandsFirst];

    /// The word for it in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::OptionsFirst => "options_first",
            Self::OperandsFirst => "operands_first",
        }
    }
}
