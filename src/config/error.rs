//! Everything that can be wrong with the settings, in words for the person who wrote them. What is wrong with a single value
//! is a [`Wrong`].

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::amount;
use super::setting::{SettingPlace, Source};
use super::wrong::Wrong;
use crate::files::ReadError;
use crate::network::Network;
use crate::policy::rules::{Origin, PolicyError, PolicySource};
use crate::tools::{ToolNameError, WhichTools};

/// Why there is no configuration.
///
/// Each text says what was found, what was expected and how to mend it; a cause from below is chained, not repeated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A flag that does not exist.
    #[error("unknown flag `--{given}`{}", meant("--", nearest.as_deref(), "`--help all` lists the flags"))]
    UnknownFlag {
        /// The flag as typed, without its dashes.
        given: String,
        /// The flag that was probably meant, without its dashes.
        nearest: Option<String>,
    },
    /// The flag, value or subcommand of a feature that this build was made without.
    #[error("this build has no `{what}`; it was built without `{feature}`")]
    NotBuilt {
        /// The flag, with its value if only that is missing.
        what: String,
        /// The feature.
        feature: &'static str,
    },
    /// A variable that begins with `ALLOWEXEC_` and is no setting.
    #[error(
        "unknown variable `{given}`{}",
        meant("", *nearest, "only settings begin with `ALLOWEXEC_`, and `--help all` lists them")
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
        meant("", nearest.as_deref(), "the keys are the flags' names with `_` for `-`, and `--help all` lists them")
    )]
    UnknownKey {
        /// The file, as it was named.
        file: PathBuf,
        /// The key as written.
        given: String,
        /// The key that was probably meant.
        nearest: Option<String>,
    },
    /// A key of a policy: the file does not hold settings.
    #[error("unknown key `{key}` in file `{}`; it is a key of policies, which are named with `--policy`", .file.display())]
    PolicyForSettings {
        /// The file, as it was named.
        file: PathBuf,
        /// The key.
        key: String,
    },
    /// A key that occurs twice in the file, perhaps once with `-` and once with `_`.
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
        /// The type that the key takes.
        expected: &'static str,
        /// The value that was found.
        found: String,
    },
    /// A flag that takes one value and was given two.
    #[error("flag `--{flag}` is given twice, with `{first}` and with `{second}`; give it once")]
    Repeated {
        /// The flag, without its dashes.
        flag: &'static str,
        /// Its first value.
        first: String,
        /// Its second value.
        second: String,
    },
    /// A flag at the end of the command line that needs a value.
    #[error("flag `--{flag}` needs a value; write `--{flag} {value}`")]
    MissingValue {
        /// The flag, without its dashes.
        flag: &'static str,
        /// The name of the value in the help.
        value: &'static str,
    },
    /// A flag that is followed by another flag instead of its value.
    #[error("flag `--{flag}` needs a value, found `{found}`; write `--{flag}={found}` if that is the value")]
    FlagForValue {
        /// The flag, without its dashes.
        flag: &'static str,
        /// The argument that followed.
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
    /// A value that is not UTF-8. It is an error and never counts as unset, since unset may mean "unrestricted". The value
    /// isn't shown, since it may be a secret.
    #[error("{place}: expected UTF-8 text, found bytes that are not UTF-8")]
    NotUtf8 {
        /// Where the value was given.
        place: SettingPlace,
    },
    /// A value of the right shape that is not valid.
    #[error("{place}: {wrong}")]
    Value {
        /// Where the value was given.
        place: SettingPlace,
        /// The mistake in it.
        wrong: Wrong,
    },
    /// A mistake in a policy, or in an example of one.
    #[error("the policy can't be used")]
    Policy {
        /// The file, the line and the mistake.
        source: Box<PolicyError>,
    },
    /// A policy that can't be read.
    #[error("{named_by}: policy `{}` can't be read", file.display())]
    PolicyFile {
        /// The file, as it was named.
        file: PathBuf,
        /// The flag, variable or key that named it.
        named_by: Source,
        /// Why.
        source: ReadError,
    },
    /// An entry of several words, in a build without rules.
    #[error(
        "`{entry}` in the allow-list ({allow_source}) names arguments, and this build decides by the first word alone; it was built \
         without `rules`; name `{first}` to allow it with any arguments"
    )]
    SeveralWords {
        /// The entry.
        entry: String,
        /// Its first word.
        first: String,
        /// Where the allow-list comes from.
        allow_source: Source,
    },
    /// A command that the allow-list allows with any arguments, and a policy only with some.
    #[error(
        "`{command}` is described in {described}, and is also in `--allow` ({allow_source}), which would allow any arguments; \
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
    /// A rule for arguments in a shell that does not split arguments into words.
    #[error(
        "the rule for `{command}` in {described} can't be enforced with `--tools {}`: cmd.exe does not split arguments into \
         words; write `{command}: any`, or leave `--tools` out", which.name()
    )]
    RuleOnCmd {
        /// The command.
        command: String,
        /// Where the policy describes it.
        described: Origin,
        /// Which tools were asked for.
        which: WhichTools,
    },
    /// A timeout that is longer than the maximum.
    #[error(
        "the timeout of {} ({timeout_source}) is longer than the maximum of {} ({max_timeout_source}); \
         lower `--timeout` or raise `--max-timeout`",
        amount::duration_text(*timeout), amount::duration_text(*max_timeout)
    )]
    TimeoutOverMaximum {
        /// The timeout of calls that name none.
        timeout: Duration,
        /// Where it was set.
        timeout_source: Source,
        /// The longest timeout that a call may ask for.
        max_timeout: Duration,
        /// Where it was set.
        max_timeout_source: Source,
    },
    /// Lines on a system where they are not run.
    #[error(
        "`--lines` ({lines_source}) is not possible on this system, where a call is one plain command; leave it out"
    )]
    NoLines {
        /// Where it was set.
        lines_source: Source,
    },
    /// Redirections could write the programs that calls may run.
    #[error(
        "`--lines files` ({lines_source}) together with `--allow-project-commands` would let a line write a program and run it; \
         say in a policy which files lines may write, `redirections: {{write: …}}`, or use `--lines on`"
    )]
    LinesWriteProject {
        /// Where it was set.
        lines_source: Source,
    },
    /// No network, or a loopback alone, without the sandbox that would enforce it.
    #[error(
        "`--network {network}` ({network_source}) can't be enforced without the sandbox; add `--sandbox workspace` or \
         `--sandbox strict`"
    )]
    NetworkWithoutSandbox {
        /// Which.
        network: Network,
        /// Where it was set.
        network_source: Source,
    },
    /// A lock file together with `*`, which names no programs.
    #[error(
        "`--lock` ({lock_source}) can't be used with `*` in the allow-list ({allow_source}), which names no program that could \
         be locked; name the commands"
    )]
    LockOfAny {
        /// Where the lock file was named.
        lock_source: Source,
        /// Where the allow-list was set.
        allow_source: Source,
    },
    /// `--trust owner` on a platform whose files have no owners that could be compared.
    #[error(
        "`--trust owner` ({trust_source}) can't be enforced on this platform, whose files have no Unix owners and modes; use \
         `--trust any`, and protect the programs by the system's own access rights"
    )]
    TrustWithoutModes {
        /// Where it was set.
        trust_source: Source,
    },
    /// Commands whose names can't be the names of tools.
    #[error("the allow-list ({allow_source}) can't be used with `--tools {}` ({which_source})", which.name())]
    ToolNames {
        /// Which tools were asked for.
        which: WhichTools,
        /// Where that was set.
        which_source: Source,
        /// Where the list was set.
        allow_source: Source,
        /// The mistake in it.
        source: Box<ToolNameError>,
    },
    /// The file of `--config` or `--lock` can't be read, or is not UTF-8.
    #[error("{named_by}: file `{}` can't be read", file.display())]
    File {
        /// The file, as it was named.
        file: PathBuf,
        /// The flag, variable or key that named it.
        named_by: Source,
        /// Why it can't be read.
        source: ReadError,
    },
    /// A file with more brackets than any settings need.
    #[error(
        "file `{}`, line {line}: found more than {most} of `[` and `{{`; write lists line by line, each entry after `- `",
        file.display()
    )]
    TooManyBrackets {
        /// The file, as it was named.
        file: PathBuf,
        /// The line of the first that is too many, counted from 1.
        line: usize,
        /// The bound.
        most: usize,
    },
    /// A file whose aliases stand for more text than any settings need.
    #[error("file `{}`: its values add up to more than {most} bytes; use fewer or shorter `*` aliases", file.display())]
    TooMuchText {
        /// The file, as it was named.
        file: PathBuf,
        /// The bound.
        most: usize,
    },
    /// A file that is not a YAML mapping.
    #[error("file `{}`{}: expected settings as YAML, such as `allow: [ls, cat]`", file.display(), at(*line))]
    Yaml {
        /// The file, as it was named.
        file: PathBuf,
        /// The line where the part that can't be read begins, counted from 1; unknown for some mistakes.
        line: Option<usize>,
        /// The error of the YAML parser, with line and column.
        source: serde_yaml::Error,
    },
    /// A process without a current directory.
    #[error("the current directory can't be found; start allowexec in a directory that exists")]
    Directory {
        /// The system's error.
        source: io::Error,
    },
}

fn at(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line}")).unwrap_or_default()
}

fn or_list_others(command: &str, described: &Origin) -> String {
    match *described.source {
        PolicySource::Ask => format!(
            "; to ask only about some of its calls, list the others in `--allow`, as in `--allow '{command} SUBCOMMAND'`"
        ),
        PolicySource::File(_) | PolicySource::Profile(_) | PolicySource::Allow => String::new(),
    }
}

/// The end of a message: the word that was probably meant, else `otherwise`.
pub(crate) fn meant(dashes: &str, nearest: Option<&str>, otherwise: &str) -> String {
    match nearest {
        Some(word) => format!("; did you mean `{dashes}{word}`?"),
        None => format!("; {otherwise}"),
    }
}

/// Returns a text that was found, with every character escaped that could control the operator's terminal.
pub(super) fn printable(text: &str) -> String {
    crate::text::escape(text).into_owned()
}
