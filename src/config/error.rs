//! Everything that can be wrong with the settings, in words for the person who wrote them.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::amount;
use super::setting::{SettingPlace, Source};
use crate::files::ReadError;
use crate::policy::rules::{Origin, PolicyError, PolicySource};
use crate::tools::{ToolNameError, WhichTools};

/// Why there is no configuration.
///
/// Each text says what was found, what was expected and how to mend it; a cause from below is chained, not repeated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A flag that no table knows.
    #[error("unknown flag `--{given}`{}", meant("--", nearest.as_deref(), "`--help` lists the flags"))]
    UnknownFlag {
        /// The flag as typed, without its dashes.
        given: String,
        /// The flag that was probably meant, without its dashes.
        nearest: Option<String>,
    },
    /// A variable that begins like ours and is none.
    #[error(
        "unknown variable `{given}`{}",
        meant("", *nearest, "names that begin with `ALLOWEXEC_` are settings, and `--help` lists them")
    )]
    UnknownVariable {
        /// The variable's name.
        given: String,
        /// The variable that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A key of the file that is no setting.
    #[error(
        "unknown key `{given}` in file `{}`{}", file.display(),
        meant("", nearest.as_deref(), "the keys are the flags' names with `_`, and `--help` lists them")
    )]
    UnknownKey {
        /// The file, as it was named.
        file: PathBuf,
        /// The key as written.
        given: String,
        /// The key that was probably meant.
        nearest: Option<String>,
    },
    /// A key of a policy: the file is none with settings.
    #[error("unknown key `{key}` in file `{}`; policies have it, and `--policy` names one", .file.display())]
    PolicyForSettings {
        /// The file, as it was named.
        file: PathBuf,
        /// The key.
        key: String,
    },
    /// A key that stands twice in the file, perhaps once with `-` and once with `_`.
    #[error("key `{key}` occurs twice in file `{}`; keep one of them", file.display())]
    DuplicateKey {
        /// The file, as it was named.
        file: PathBuf,
        /// The second of the two, as written.
        key: String,
    },
    /// A value of the file that has the wrong shape.
    #[error("{place}: expected {expected}, found {found}")]
    Type {
        /// The key.
        place: SettingPlace,
        /// What the key takes.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A flag that takes one value and has got two.
    #[error("flag `--{flag}` is given twice, with `{first}` and with `{second}`; give it once")]
    Repeated {
        /// The flag, without its dashes.
        flag: &'static str,
        /// Its first value.
        first: String,
        /// Its second value.
        second: String,
    },
    /// A flag at the end of the line, or before another flag, that needs a value.
    #[error("flag `--{flag}` needs a value; write `--{flag} {value}`")]
    MissingValue {
        /// The flag, without its dashes.
        flag: &'static str,
        /// What the value is called in the help.
        value: &'static str,
    },
    /// A flag followed by another where its value was expected.
    #[error("flag `--{flag}` needs a value, found `{found}`; write `--{flag}={found}` if that is the value")]
    FlagForValue {
        /// The flag, without its dashes.
        flag: &'static str,
        /// What followed.
        found: String,
    },
    /// A switch that was given a value.
    #[error("flag `--{flag}` takes no value, found `{found}`; write `--{flag}` to turn it on")]
    SwitchWithValue {
        /// The flag, without its dashes.
        flag: &'static str,
        /// The value.
        found: String,
    },
    /// A value that is no text. It is an error, never "unset", since unset may mean "unrestricted". The value isn't
    /// shown, since it may be a secret.
    #[error("{place}: expected UTF-8 text, found bytes that are none")]
    NotUtf8 {
        /// Where the value stands.
        place: SettingPlace,
    },
    /// A value of the right shape that means nothing.
    #[error("{place}: {wrong}")]
    Value {
        /// Where the value stands.
        place: SettingPlace,
        /// What is wrong with it.
        wrong: Wrong,
    },
    /// A mistake in a policy, or in an example of one.
    #[error("the policy can't be used")]
    Policy {
        /// The file, the line and the mistake.
        source: Box<PolicyError>,
    },
    /// A policy that can't be read.
    #[error("cannot read the policy `{}` of {named_by}", file.display())]
    PolicyFile {
        /// As it was named.
        file: PathBuf,
        /// What names it.
        named_by: Source,
        /// Why.
        source: ReadError,
    },
    /// A command that the allow-list allows with any arguments, and a policy with some.
    #[error(
        "`{command}` is described in {described}, and stands in `--allow` ({allow_source}), which would allow any arguments; \
         keep one of them{}", or_list_others(.command, .described)
    )]
    DescribedTwice {
        /// The command.
        command: String,
        /// Where the policy describes it.
        described: Origin,
        /// Where the allow-list comes from.
        allow_source: Source,
    },
    /// A rule for arguments where arguments are no words.
    #[error(
        "the rule for `{command}` in {described} can't hold with `--tools {}`: on cmd.exe the arguments are no words; write \
         `{command}: any`, or leave `--tools` out", which.name()
    )]
    RuleOnCmd {
        /// The command.
        command: String,
        /// Where the policy describes it.
        described: Origin,
        /// Which tools there were to be.
        which: WhichTools,
    },
    /// Two settings that contradict each other.
    #[error(
        "the timeout of {} ({timeout_source}) is longer than the longest that is allowed, {} ({max_timeout_source}); \
         lower `--timeout` or raise `--max-timeout`",
        amount::duration_text(*timeout), amount::duration_text(*max_timeout)
    )]
    TimeoutOverMaximum {
        /// The time for calls that name none.
        timeout: Duration,
        /// Where it was set.
        timeout_source: Source,
        /// The most a call may ask for.
        max_timeout: Duration,
        /// Where it was set.
        max_timeout_source: Source,
    },
    /// No network, and nothing that would take it away.
    #[error(
        "`--network none` ({network_source}) can't be enforced without the sandbox; add `--sandbox workspace` or \
         `--sandbox strict`"
    )]
    NetworkWithoutSandbox {
        /// Where it was set.
        network_source: Source,
    },
    /// A lock file for programs that nobody names.
    #[error(
        "`--lock` ({lock_source}) does not go with `*` in the allow-list ({allow_source}), which names no program that could be \
         locked; name the commands"
    )]
    LockOfAny {
        /// Where the lock file was named.
        lock_source: Source,
        /// Where the allow-list was set.
        allow_source: Source,
    },
    /// Trust by owners on a platform whose files have none that could be compared.
    #[error(
        "`--trust owner` ({trust_source}) can't be enforced on this platform, whose files have no Unix owners and modes; use \
         `--trust any`, and protect the programs by the system's own access rights"
    )]
    TrustWithoutModes {
        /// Where it was set.
        trust_source: Source,
    },
    /// Commands that can't each have a tool.
    #[error("the allow-list ({allow_source}) does not go with `--tools {}` ({which_source})", which.name())]
    ToolNames {
        /// Which tools there are to be.
        which: WhichTools,
        /// Where that was set.
        which_source: Source,
        /// Where the list was set.
        allow_source: Source,
        /// What is wrong with it.
        source: Box<ToolNameError>,
    },
    /// The file of `--config` that can't be read, or holds no UTF-8.
    #[error("{named_by}: file `{}` can't be read", file.display())]
    File {
        /// The file, as it was named.
        file: PathBuf,
        /// What named it.
        named_by: Source,
        /// Why it can't be read.
        source: ReadError,
    },
    /// A file with more brackets than any settings need.
    #[error(
        "file `{}`, line {line}: found more than {most} of `[` and `{{`, the most that are read; write lists line by line, \
         each entry after `- `", file.display()
    )]
    TooManyBrackets {
        /// The file, as it was named.
        file: PathBuf,
        /// The line of the first that is too many, counted from 1.
        line: usize,
        /// The bound.
        most: usize,
    },
    /// A file whose aliases repeat more than any settings need.
    #[error("file `{}`: its values come to more than {most} bytes, the most that is read; use fewer or shorter `*` aliases", file.display())]
    TooMuchText {
        /// The file, as it was named.
        file: PathBuf,
        /// The bound.
        most: usize,
    },
    /// A file that is no YAML mapping.
    #[error("file `{}` holds no settings{}; expected YAML such as `allow: [ls, cat]`", file.display(), at(*line))]
    Yaml {
        /// The file, as it was named.
        file: PathBuf,
        /// The line in which the part begins that can't be read, counted from 1; unknown for some mistakes.
        line: Option<usize>,
        /// What the YAML parser says, with line and column.
        source: serde_yaml::Error,
    },
    /// A process without a current directory.
    #[error("the current directory can't be found; start allowexec in a directory that exists")]
    Directory {
        /// What the system says.
        source: io::Error,
    },
}

fn at(line: Option<usize>) -> String {
    line.map(|line| format!(" from line {line} on")).unwrap_or_default()
}

/// What is wrong with one value; it does not know where the value stands.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// A text that is longer than any that means something. It isn't shown.
    #[error("expected at most {most} bytes, found {length}")]
    TooLong {
        /// How long it is.
        length: usize,
        /// How long it may be.
        most: usize,
    },
    /// A list of more entries than any that means something.
    #[error("expected at most {most} entries, found {count}")]
    TooManyEntries {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// An empty text where a path is needed: joined to a directory it would silently mean that directory.
    #[error("expected a path, found an empty text; leave the setting out for its default")]
    EmptyPath,
    /// `*` where each command has to be named.
    #[error("`*` is no command that a person can approve; name the commands")]
    StarToAsk,
    /// A command line of the operator's that is none.
    #[error("`{found}` is no command line; expected a program and its arguments, with every quote closed")]
    NoProgram {
        /// The value.
        found: String,
    },
    /// A path that no system call takes.
    #[error("`{found}` holds a NUL character, which no path can hold")]
    NulInPath {
        /// The path, with what can't be printed escaped.
        found: String,
    },
    /// A number of unknown unit.
    #[error("`{found}` has no unit; write `{found}s` for seconds, or one of ms, m and h")]
    MissingUnit {
        /// The number.
        found: String,
    },
    /// No duration.
    #[error("`{found}` is not a duration; expected a number and a unit (ms, s, m or h), such as `500ms` or `1.5s`")]
    NotADuration {
        /// The value.
        found: String,
    },
    /// A limit of nothing, within which no command could run.
    #[error("`{found}` leaves no room at all; expected more than zero")]
    ZeroSize {
        /// The value.
        found: String,
    },
    /// A time limit of nothing, under which no command could run.
    #[error("`{found}` leaves no time at all; expected more than zero")]
    ZeroDuration {
        /// The value.
        found: String,
    },
    /// A duration over the limit.
    #[error("`{found}` is too long; expected at most {}", amount::duration_text(amount::LONGEST))]
    LongDuration {
        /// The value.
        found: String,
    },
    /// No size.
    #[error(
        "`{found}` is not a size; expected whole bytes, as a number (`0` for no bound) or with a unit \
         (B, KB, KiB, MB, MiB, GB or GiB), such as `64KiB`"
    )]
    NotASize {
        /// The value.
        found: String,
    },
    /// A size over the limit.
    #[error("`{found}` is too large; expected at most {}, or `0` for no bound", amount::size_text(amount::LARGEST))]
    LargeSize {
        /// The value.
        found: String,
    },
    /// No number of calls.
    #[error("`{found}` is not a number of calls; expected a whole number of at least 1")]
    NotACount {
        /// The value.
        found: String,
    },
    /// Neither on nor off.
    #[error("`{found}` is neither on nor off; expected true, false, yes, no, on, off, 1 or 0")]
    NotASwitch {
        /// The value.
        found: String,
    },
    /// No choice of tools.
    #[error("`{found}` is not a choice of tools{}", meant("", *nearest, "expected execute, shell or all"))]
    NotTools {
        /// The value.
        found: String,
        /// The choice that was probably meant.
        nearest: Option<&'static str>,
    },
    /// No log level.
    #[error("`{found}` is not a log level{}", meant("", *nearest, "expected off, error, warn, info or debug"))]
    NotALogLevel {
        /// The value.
        found: String,
        /// The level that was probably meant.
        nearest: Option<&'static str>,
    },
    /// None of the few words that a setting takes.
    #[error("`{found}` is no {what}{}", meant("", *nearest, &format!("expected one of {known}")))]
    NotAWord {
        /// What was expected.
        what: &'static str,
        /// The value.
        found: String,
        /// The word that was probably meant.
        nearest: Option<&'static str>,
        /// All of them.
        known: &'static str,
    },
    /// A name that no command line could hold.
    #[error("`{found}` holds a control character; expected the name of a command, or its path")]
    ControlInCommand {
        /// The entry, with what can't be printed escaped.
        found: String,
    },
    /// A named set of commands that does not exist.
    #[error(
        "`{found}` is no set of commands; the one there is is `@shell`, and a command's name does not begin with `@`"
    )]
    UnknownSet {
        /// The entry.
        found: String,
    },
    /// A command line where the name of a command belongs.
    #[error(
        "`{found}` holds a blank; expected the name of a command, which the first word of a call is compared with \
         (a name that itself holds a blank is written as a path)"
    )]
    BlankInCommand {
        /// The entry.
        found: String,
    },
    /// No name of a variable. The entry isn't shown, since it may be what stands behind the comma of a secret.
    #[error(
        "an entry names no variable; expected `NAME` or `NAME=VALUE`, where a name holds letters, digits and `_`, \
         and a value that holds a comma has to stand in the file"
    )]
    NotAVariable,
    /// A value that no environment can hold; it isn't shown, since it may be a secret.
    #[error("the value of `{name}` holds a NUL character, which no variable can hold")]
    NulInVariable {
        /// The variable's name.
        name: String,
    },
}

fn or_list_others(command: &str, described: &Origin) -> String {
    match *described.source {
        PolicySource::Ask => format!(
            ", or, so that only some of its calls are asked for, list the others in `--allow`, as in `--allow '{command} SUBCOMMAND'`"
        ),
        PolicySource::File(_) | PolicySource::Profile(_) | PolicySource::Allow => String::new(),
    }
}

/// Ends a message with the word that was probably meant, else with another help.
pub(crate) fn meant(dashes: &str, nearest: Option<&str>, otherwise: &str) -> String {
    match nearest {
        Some(word) => format!("; did you mean `{dashes}{word}`?"),
        None => format!("; {otherwise}"),
    }
}

/// What was found, with everything escaped that could write to the operator's terminal.
pub(super) fn printable(text: &str) -> String {
    crate::text::escape(text).into_owned()
}
