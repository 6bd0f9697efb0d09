//! The keys of each mapping in a policy, with what each takes. The loader refuses every other key, and the JSON schema is made of
//! these tables, so the two know the same keys.

use self::Takes::{
    Any, Boolean, Count, Declared, Duration, Integer, List, Named, Null, Pattern, Profile, Range, Size, Text, Version,
    Words,
};
use super::super::grammar::{Effect, Order, SandboxWord, Syntax};
use crate::network::Network;

/// A mapping of a policy.
pub(super) struct Keys {
    /// Its name in the schema.
    pub name: &'static str,
    /// Its keys. Mappings that share keys share the list of them.
    pub groups: &'static [&'static [Key]],
    /// How many of [`KINDS`] it must have.
    pub kinds: Kinds,
    /// A key that it must have.
    pub required: Option<&'static str>,
}

/// A key of a mapping.
pub(super) struct Key {
    pub name: &'static str,
    pub takes: Takes,
    /// One sentence for somebody who writes a policy.
    pub about: &'static str,
}

/// How many keys of a mapping may give its type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kinds {
    /// It has no such keys.
    None,
    /// None or one: without one, an option is a flag.
    AtMostOne,
    One,
}

/// The type of a key's value.
pub(super) enum Takes {
    /// The text `1`, the only version.
    Version,
    Null,
    Boolean,
    /// A text; numbers and booleans count as such.
    Text,
    /// A text that matches this regular expression of JSON Schema.
    Pattern(&'static str),
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// The name of a shipped profile.
    Profile,
    /// A whole number of at least the first and at most the second.
    Integer(i64, i64),
    /// More than zero.
    Duration,
    /// More than zero.
    Size,
    /// `1`, `"0..1"` and the like.
    Count,
    /// A list of at least this many.
    List(usize, &'static Takes),
    /// The lowest and the highest of a range.
    Range,
    /// Any of these.
    Any(&'static [Takes]),
    /// A mapping with these keys.
    Keys(&'static Keys),
    /// A mapping from names that match this regular expression to such values.
    Named(&'static str, &'static Takes),
    /// The same, or nothing.
    Declared(&'static str, &'static Takes),
}

impl Keys {
    /// All its keys.
    pub fn iter(&self) -> impl Iterator<Item = &'static Key> {
        self.groups.iter().copied().flatten()
    }

    const fn new(name: &'static str, groups: &'static [&'static [Key]]) -> Self {
        Self { name, groups, kinds: Kinds::None, required: None }
    }
}

const fn key(name: &'static str, takes: Takes, about: &'static str) -> Key {
    Key { name, takes, about }
}

const TEXTS: Takes = List(0, &Text);
const ONE_OR_MORE: Takes = Any(&[Text, TEXTS]);
const AT_LEAST_ONE: Takes = Any(&[Text, List(1, &Text)]);
const OPERANDS: Takes = List(0, &ONE_OPERAND);
static ONE_OPERAND: Takes = Takes::Keys(&OPERAND);
const ANY_ARGUMENTS: Takes = Words(|| vec!["any"]);
/// One word other than `*`, or a path.
const COMMAND_NAME: &str = r"^([^\s*]|\S{2,}|.*[/\\].*)$";
const VARIABLE: &str = "^[^=]+$";
/// A variable with nothing after its name is set to the empty text.
const OR_NOTHING: Takes = Any(&[Text, Null]);

/// A policy.
pub(super) static POLICY: Keys = Keys::new("policy", &[POLICY_KEYS]);
static POLICY_KEYS: &[Key] = &[
    key("version", Version, "The version of the language: 1."),
    key("profiles", Any(&[Profile, List(0, &Profile)]), "Shipped policies whose commands are allowed as well."),
    key(
        "types",
        Declared("^(?!(flag|text)$)", &Takes::Keys(&TYPE)),
        "Types of values, by names that options and operands can refer to.",
    ),
    key("sets", Declared("", &OPTIONS), "Groups of options, by names that `use` refers to."),
    key(
        "commands",
        Declared(COMMAND_NAME, &Any(&[ANY_ARGUMENTS, Takes::Keys(&COMMAND)])),
        "The commands that may run. `any` allows any arguments, `{}` allows none.",
    ),
    key("redirections", Takes::Keys(&REDIRECTIONS), "The files that redirections of lines may name."),
];

/// The files of redirections.
pub(super) static REDIRECTIONS: Keys = Keys::new("redirections", &[REDIRECTIONS_KEYS]);
static REDIRECTIONS_KEYS: &[Key] = &[
    key("write", TYPE_OR_NAME, "The type of the paths that they write."),
    key("read", TYPE_OR_NAME, "The type of the paths that they read."),
];
const TYPE_OR_NAME: Takes = Any(&TYPE_FORMS);
static TYPE_FORMS: [Takes; 2] = [Text, Takes::Keys(&TYPE)];

/// A type with a name of its own.
pub(super) static TYPE: Keys = Keys { kinds: Kinds::One, ..Keys::new("type", &[KINDS, RESTRICTIONS]) };
/// The keys that give a value its type.
pub(super) static KINDS: &[Key] = &[
    key("integer", Range, "A whole number: the lowest and the highest, such as `[1, 1000]`."),
    key("one_of", List(1, &Text), "One of these words."),
    key("text", Any(&[Null, Takes::Keys(&TEXT)]), "Any text, within these bounds."),
    key(
        "path",
        Any(&[Words(|| vec!["read", "write"]), Takes::Keys(&PATH)]),
        "A path in the allowed directories, links followed, to be read or written.",
    ),
    key("type", Text, "The name of a type from `types`, or `text`."),
];

/// The keys that decide about single values.
static RESTRICTIONS: &[Key] = &[
    key("ask", STRICTER, "The values that a person must approve, whatever else the call is."),
    key("deny", STRICTER, "The values that make a call refused, whatever else it is."),
    REASON,
];
const STRICTER: Takes = Any(&STRICTER_FORMS);
static STRICTER_FORMS: [Takes; 2] = [Text, Takes::Keys(&RESTRICTION)];
const REASON: Key = key("reason", Text, "Why, for whoever is asked or refused.");

/// Values that are asked for or denied.
pub(super) static RESTRICTION: Keys =
    Keys { kinds: Kinds::One, ..Keys::new("restriction", &[KINDS, std::slice::from_ref(&REASON)]) };

/// The bounds of a text.
pub(super) static TEXT: Keys = Keys::new("text", &[TEXT_KEYS]);
static TEXT_KEYS: &[Key] = &[
    key("chars", Text, "The characters that it may hold, with ranges: `A-Za-z0-9_`."),
    key("first", Pattern("^[-+@]*$"), "Those of `-`, `+` and `@` that it may begin with."),
    key("relative", Boolean, "Whether a leading `/` and a part `..` are refused."),
    key("must_begin", AT_LEAST_ONE, "What it must begin with: one of these."),
    key("max_length", Integer(1, i64::MAX), "The most characters; 4096 if it is left out."),
];

/// A path.
pub(super) static PATH: Keys = Keys { required: Some("access"), ..Keys::new("path", &[PATH_KEYS]) };
static PATH_KEYS: &[Key] = &[
    key("access", Words(|| vec!["read", "write"]), "What the command does with it."),
    key(
        "under",
        AT_LEAST_ONE,
        "The directories that it must be in, relative to the project, instead of all allowed ones.",
    ),
    key("except", ONE_OR_MORE, "Names that no part of it may have; `.git` for a path to be written if it is left out."),
    key("exists", Boolean, "Whether it must exist."),
    key("chars", Text, "The characters that it may hold, with ranges."),
];

const OPTIONS: Takes = Named("", &OPTION_OR_NAME);
static OPTION_OR_NAME: Takes = Any(&OPTION_FORMS);
static OPTION_FORMS: [Takes; 2] = [Text, Takes::Keys(&OPTION)];

/// An option that is more than `flag` or the name of a type.
pub(super) static OPTION: Keys =
    Keys { kinds: Kinds::AtMostOne, ..Keys::new("option", &[KINDS, RESTRICTIONS, OPTION_KEYS]) };
static OPTION_KEYS: &[Key] = &[
    key("name", Text, "What messages call its value."),
    key("optional", Boolean, "Whether the value may be missing; then it is written in the option's own word."),
    key("attached", Boolean, "Whether the value must be in the option's own word: `--name=value`."),
    key("required", Boolean, "Whether each call must have it."),
    key("leading", Boolean, "Whether it stands before the operands, with the order `operands_first`."),
    key("secret", Boolean, "Whether its value is kept out of logs."),
    key("flag", Any(&[Text, Null]), "It has no value."),
];

/// An operand.
pub(super) static OPERAND: Keys =
    Keys { kinds: Kinds::One, ..Keys::new("operand", &[KINDS, RESTRICTIONS, OPERAND_KEYS]) };
static OPERAND_KEYS: &[Key] = &[
    key("name", Text, "What messages call it."),
    key("count", Count, "How often it occurs: `1`, `\"0..1\"`, `\"0..\"` or `\"1..\"`."),
    key("optional", Boolean, "The same as the count `\"0..1\"`."),
    key("required", Boolean, "Whether each call must have it, as is usual."),
    key("secret", Boolean, "Whether it is kept out of logs."),
];

/// A command.
pub(super) static COMMAND: Keys = Keys::new("command", &[LEVEL, COMMAND_KEYS]);
/// A subcommand.
pub(super) static SUBCOMMAND: Keys = Keys::new("subcommand", &[LEVEL]);
/// The keys of a command and of a subcommand.
static LEVEL: &[Key] = &[
    key("options", OPTIONS, "The options that it may be called with, such as `\"-n, --lines\": {integer: [1, 1000]}`."),
    key("use", ONE_OR_MORE, "Groups of options from `sets`."),
    key("operands", OPERANDS, "The words that are no options, in their order."),
    key("after_double_dash", OPERANDS, "The words that may follow a `--`."),
    key("forms", List(0, &Takes::Keys(&FORM)), "Several ways to call it; one of them must match."),
    key(
        "subcommands",
        Named(r"^[^-\s]\S*$", &Any(&[ANY_ARGUMENTS, Takes::Keys(&SUBCOMMAND)])),
        "The words that may come next, with what each may be called with.",
    ),
    key("insert", TEXTS, "Words that the server puts in front of the client's."),
    key("env", Takes::Keys(&ENV), "Variables of its calls."),
    key("decision", EFFECT, "What is decided for calls that match: `allow`, `ask` a person, or `deny`."),
    key("reason", Text, "Why, for whoever is asked or refused."),
    key("syntax", Words(|| Syntax::ALL.map(Syntax::name).to_vec()), "How its words are read; `gnu` if it is left out."),
    key("order", Words(|| Order::ALL.map(Order::name).to_vec()), "Whether options and operands may be mixed."),
    key("double_dash", Words(|| vec!["allow", "refuse"]), "Whether the word `--` may be used."),
    key("hint", Named("", &Text), "By word: how to do it instead, at the end of a refusal of this word."),
];
const EFFECT: Takes = Words(|| Effect::ALL.map(Effect::name).to_vec());

/// The keys that only a command has.
static COMMAND_KEYS: &[Key] = &[
    key("program", Pattern("^.+$"), "The program that runs instead of the one with the command's name."),
    key("extends", Profile, "The profile whose rule for this command is added to."),
    key("cwd", Takes::Keys(&CWD), "Where its calls may run."),
    key("stdin", Boolean, "Whether calls may have input."),
    key("timeout", Duration, "The time limit of its calls."),
    key("success_exit_codes", List(0, &Integer(0, 255)), "Exit codes that are no errors."),
    key("sandbox", Takes::Keys(&SANDBOX), "How the kernel confines its calls."),
    key("limits", Takes::Keys(&LIMITS), "What each call may use of the machine."),
    key("read_only", Boolean, "Whether it only reads."),
    key("examples", Takes::Keys(&EXAMPLES), "Calls, by what must be decided for them; checked at every start."),
];

/// One way to call a command.
pub(super) static FORM: Keys = Keys::new("form", &[FORM_KEYS]);
static FORM_KEYS: &[Key] = &[
    key("options", OPTIONS, "Options that only this form has."),
    key("use", ONE_OR_MORE, "Groups of options from `sets`."),
    key("operands", OPERANDS, "The words that are no options, in their order."),
    key("after_double_dash", OPERANDS, "The words that may follow a `--`."),
    key("decision", EFFECT, "What is decided for calls that match."),
    key("reason", Text, "Why, for whoever is asked or refused."),
];

/// Variables of a command.
pub(super) static ENV: Keys = Keys::new("env", &[ENV_KEYS]);
static ENV_KEYS: &[Key] = &[
    key("set", Named(VARIABLE, &OR_NOTHING), "Variables and their values."),
    key("unset", List(0, &Pattern(VARIABLE)), "Variables that its calls don't get."),
    key("accept", Named(VARIABLE, &TYPE_OR_NAME), "Variables that a line may set for it, with their types."),
];

/// Where calls of a command may run.
pub(super) static CWD: Keys = Keys::new("cwd", &[CWD_KEYS]);
static CWD_KEYS: &[Key] = &[key("under", AT_LEAST_ONE, "Directories, relative to the project.")];

/// How calls of a command are confined.
pub(super) static SANDBOX: Keys = Keys::new("sandbox", &[SANDBOX_KEYS]);
static SANDBOX_KEYS: &[Key] = &[
    key("level", Words(|| SandboxWord::ALL.map(SandboxWord::name).to_vec()), "The level of the sandbox."),
    key("exec", Words(|| vec!["own"]), "`own`: it can execute its own program and no other."),
    key(
        "network",
        Any(&[Words(|| Network::WORDS.map(|(word, _)| word).to_vec()), Pattern(Network::PORTS_PATTERN)]),
        "Its network: none, a loopback interface of each call's own, all, or TCP ports (`connect:5432,listen:3000`).",
    ),
    key("paths", Words(|| vec!["claimed"]), "`claimed`: it can touch the files that its call names and no others."),
    key("write", Words(|| vec!["full", "none"]), "Whether it can write."),
];

/// Limits on a call's use of the machine.
pub(super) static LIMITS: Keys = Keys::new("limits", &[LIMITS_KEYS]);
static LIMITS_KEYS: &[Key] = &[
    key("memory", Size, "Memory, such as `1GiB`."),
    key("cpu", Duration, "Processor time of each process."),
    key("file_size", Size, "The largest file that it can write."),
    key("processes", Integer(1, i64::MAX), "Processes and threads."),
    key("open_files", Integer(1, i64::MAX), "Files that a process can have open."),
];

/// Example calls.
pub(super) static EXAMPLES: Keys = Keys::new("examples", &[EXAMPLE_KEYS]);
const LINES: Takes = List(0, &Any(&[Text, TEXTS]));
static EXAMPLE_KEYS: &[Key] = &[
    key("allow", LINES, "Calls that are allowed, as lines or lists of words."),
    key("ask", LINES, "Calls that a person must approve."),
    key("refuse", LINES, "Calls that are refused."),
];
