//! `allowexec policy`: the shipped profiles, and what policies would decide.
//!
//! - `show`: the profiles
//! - `test`: the examples and cases of a policy, and the forms and options that none of them uses
//! - `explain`: what each word of a command is, and how its call would run
//! - `diff`: what is wider and what is narrower in another policy
//! - `suggest`: rules for the calls that recorded sessions were refused; `rule_yaml`: one such rule as YAML
//! - `import`: a policy for what another tool allows
//! - `allowing`: how an operator would allow what was refused, for `check` and for the log; `change`: whether that works
//! - `cases`, `recorded`, `probes`: the command lines that these look at; `seen`: what was seen in recorded ones

mod allowing;
mod cases;
mod change;
mod diff;
mod explain;
mod import;
mod probes;
mod recorded;
mod rule_yaml;
mod seen;
mod show;
mod suggest;
mod test;
mod widened;

use std::path::{Path, PathBuf};

pub(in crate::cli) use self::allowing::{Allowing, suggestions};
pub(in crate::cli) use self::import::Format;
use crate::cli::Outcome;
use crate::cli::arguments::DASHES;
use crate::cli::error::CliError;
use crate::cli::own_flags::Given;
use crate::cli::words::{check_flags, named, some, word};
use crate::config::{Config, Surroundings};
use crate::files::read_regular;
use crate::policy::rules::{LARGEST_POLICY, Origin, PolicyText, Rules, profile_text};

/// The actions of `allowexec policy`, with their words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Action {
    /// Prints shipped profiles, or lists them.
    Show {
        /// Those to print; without any, all are listed.
        names: Vec<String>,
    },
    /// Runs the examples of policies, and cases.
    Test {
        /// The policies; without any, the configured ones.
        files: Vec<String>,
        /// Files of cases.
        cases: Vec<String>,
    },
    /// Explains a command.
    Explain {
        /// The directory that the call would name.
        directory: Option<String>,
        /// The command.
        command: Vec<String>,
        /// Whether the call would bring input.
        with_input: bool,
    },
    /// Compares two policies.
    Diff {
        /// The old policy.
        old: String,
        /// The new policy.
        new: String,
        /// Recorded sessions, whose calls are compared too.
        transcripts: Vec<String>,
    },
    /// Suggests rules.
    Suggest {
        /// Recorded sessions.
        transcripts: Vec<String>,
    },
    /// Suggests a rule for one command.
    SuggestFor {
        /// Its words.
        command: Vec<String>,
    },
    /// Prints a policy for what another tool allows.
    Import {
        /// The tool.
        format: Format,
        /// Its files.
        files: Vec<String>,
    },
}

/// The name of each action on the command line.
pub(super) const ACTIONS: [&str; 6] = ["show", "test", "explain", "diff", "suggest", "import"];
/// The flags that only one action has.
const FLAGS: [(&str, &str); 3] = [("cases", "test"), ("in", "explain"), ("with-input", "explain")];

impl Action {
    /// Reads the words after `policy`, with the flags that some actions have.
    pub(super) fn parse(words: &mut impl Iterator<Item = String>, given: &Given) -> Result<Self, CliError> {
        let name = word(words, "policy", "one of show, test, explain, diff, suggest and import")?;
        let name = named("policy action", &name, ACTIONS, |action| action)?;
        check_flags("policy", name, given, &FLAGS)?;
        match name {
            "show" => Ok(Self::Show { names: words.collect() }),
            "test" => Ok(Self::Test { files: words.collect(), cases: given.all("cases").map(str::to_owned).collect() }),
            "explain" => Ok(Self::Explain {
                directory: given.one("in")?,
                command: some(words, "policy", "a command after `explain --`")?,
                with_input: given.is_given("with-input"),
            }),
            "diff" => {
                let both = words.next().zip(words.next());
                let (old, new) =
                    both.ok_or(CliError::Missing { subcommand: "policy", what: "two policies after `diff`" })?;
                Ok(Self::Diff { old, new, transcripts: words.collect() })
            }
            "import" => {
                let format = word(words, "policy", "one of claude, codex, gemini and opencode after `import`")?;
                Ok(Self::Import {
                    format: named("format", &format, Format::ALL, Format::name)?,
                    files: some(words, "policy", "a file after `import FORMAT`")?,
                })
            }
            _ if given.is_given(DASHES) => {
                Ok(Self::SuggestFor { command: some(words, "policy", "a command after `suggest --`")? })
            }
            _ => Ok(Self::Suggest { transcripts: some(words, "policy", "the file of a transcript after `suggest`")? }),
        }
    }
}

/// Runs an action. `config` is called only by actions that need settings.
pub(super) fn run(
    action: &Action,
    json: bool,
    config: impl FnOnce() -> Result<Config, CliError>,
) -> Result<Outcome, CliError> {
    match action {
        Action::Show { names } => show::run(names, json),
        Action::Test { files, cases } if files.is_empty() => {
            let config = config()?;
            let files: Vec<String> = config.policy.value.iter().map(|file| file.display().to_string()).collect();
            let files: Vec<String> = files.into_iter().chain(config.profile.value.iter().cloned()).collect();
            if files.is_empty() {
                return Err(CliError::Missing {
                    subcommand: "policy test",
                    what: "the file of a policy, or `--policy`",
                });
            }
            test::run(&files, cases, json)
        }
        Action::Test { files, cases } => test::run(files, cases, json),
        Action::Explain { directory, command, with_input } => {
            explain::run(&config()?, directory.as_deref(), command, *with_input, json)
        }
        Action::Diff { old, new, transcripts } => diff::run(old, new, transcripts, json),
        Action::Suggest { transcripts } => suggest::run(&config()?, transcripts, json),
        Action::SuggestFor { command } => suggest::run_for(&config()?, command, json),
        Action::Import { format, files } => import::run(*format, files, json),
    }
}

/// The rules of a policy file, or of the shipped profile of this name if there is no such file. The examples are not run.
fn rules_of(file: &str) -> Result<Rules, CliError> {
    let wrong = |why: String| CliError::Policy { why };
    let directory = Surroundings::of_this_process()?.directory;
    let path = directory.join(file);
    if profile_text(file).is_some() && !path.exists() {
        return Rules::read(&[], &[file.to_owned()], &[]).map_err(|error| wrong(error.to_string()));
    }
    let text =
        text_of(&path, LARGEST_POLICY).map_err(|why| wrong(format!("cannot read the policy `{file}`: {why}")))?;
    let text = PolicyText { file: PathBuf::from(file), text };
    Rules::read(&[text], &[], &[]).map_err(|error| wrong(error.to_string()))
}

/// The text of a file of at most `most` bytes, or why it can't be read.
fn text_of(path: &Path, most: u64) -> Result<String, String> {
    let bytes = read_regular(path, most).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// A place as JSON has it: the file or profile, and the line if there is one.
fn place(origin: &Origin) -> (String, Option<usize>) {
    (origin.source.to_string(), Some(origin.line).filter(|line| *line > 0))
}

/// A place as people read it: `FILE:LINE`, or the file or profile alone.
fn shown_place((file, line): &(String, Option<usize>)) -> String {
    line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"))
}
