//! The question to a person about one call, as text and as JSON, and the possible answers.
//!
//! [`Terms`] and [`Proposal`] hold everything of a call that changes what happens. All of [`Terms`] is compared,
//! and [`CallToApprove::properties`] takes it apart in full, so that nothing is approved that was not shown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use super::not_run::NotRun;
use super::terms::Terms;
use crate::mcp::{Approval, Implementation};
use crate::policy::rules::EnvRule;
use crate::policy::{Proposal, Proposed, Refusal, bounded};
use crate::text::{escape, escape_os, milliseconds, quote_to_judge as shown};

/// The longest text that a person is shown, in bytes. If a call can't be shown in full, nobody is asked about it.
pub(super) const LONGEST_TEXT: usize = 4 * 1024;
/// How many equal calls one answer is for at most.
pub(super) const MOST_EQUAL: usize = 16;
/// How much of a client's name is shown, in bytes.
const LONGEST_CLIENT: usize = 128;

/// A call that a person is asked about.
#[derive(Debug, Clone)]
pub(super) struct CallToApprove {
    /// The command that would run.
    pub proposal: Proposed,
    /// How it would run.
    pub terms: Terms,
    /// How it would be confined.
    pub sandbox: String,
}

/// One property of a call, as a person and as the operator's program reads it; `None` if that is not told.
pub(super) struct Property {
    pub name: Cow<'static, str>,
    pub text: Option<String>,
    /// Its key for the operator's program; `None` if that is part of another property.
    pub key: Option<&'static str>,
    pub value: Option<Value>,
}

impl Property {
    pub(super) fn new(name: &'static str, text: Option<String>, key: &'static str, value: Option<Value>) -> Self {
        Self { name: name.into(), text, key: Some(key), value }
    }
}

impl CallToApprove {
    /// The refusal of a call that nobody is asked about.
    pub(super) fn into_refusal(self) -> Refusal {
        match self.proposal {
            Proposed::Command(proposal) => Refusal::NeedsApproval(proposal),
            Proposed::Line(proposal) => proposal.needs_approval(),
        }
    }

    /// Says that it has to be approved.
    pub(super) fn sentence(&self) -> String {
        self.proposal.to_string()
    }

    /// Whether an answer about one of these calls is also an answer about the other.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let Self { proposal, terms, sandbox } = self;
        *terms == other.terms && *sandbox == other.sandbox && proposal.is_same(&other.proposal)
    }

    /// Returns the text for a person; `None` if it is too long to be shown in full.
    ///
    /// Each word is in quotes. Characters that are invisible, end a line, change the direction of text or are written from
    /// right to left are escaped, and so is each blank after the third in a row. So no word can look like two words or
    /// like another line, or push what follows out of sight.
    pub(super) fn text(&self, of: AnswerOf) -> Option<String> {
        self.text_with(Shows::All, of)
    }

    /// The question in the audit log, without the words that the rule marks as secret.
    pub(super) fn recorded_text(&self, of: AnswerOf) -> String {
        self.text_with(Shows::NoSecrets, of).unwrap_or_default()
    }

    fn text_with(&self, shows: Shows, of: AnswerOf) -> Option<String> {
        // Checked first, so that nothing far too long is copied.
        let length = match &self.proposal {
            Proposed::Command(proposal) => length_of(proposal, shows),
            // `line_calls/shown.rs` has both of what is asked of a line here.
            Proposed::Line(line) => line.length(),
        };
        if length + self.terms.input.as_ref().map_or(0, String::len) > LONGEST_TEXT {
            return None;
        }
        let question = match &self.proposal {
            Proposed::Command(_) => "Run this command?",
            Proposed::Line(_) => "Run these commands, connected as a shell would connect them?",
        };
        let lines = self.properties(shows).into_iter().map(|property| (property.name, property.text));
        let lines = lines.chain([("times".into(), of.times())]);
        let lines = lines.filter_map(|(name, value)| Some(format!("\n{name}: {}", value?)));
        let text = format!("{question}{}", lines.collect::<String>());
        (text.len() <= LONGEST_TEXT).then_some(text)
    }

    /// Everything of the call that changes what happens. What the operator chose for all calls is left out.
    fn properties(&self, shows: Shows) -> Vec<Property> {
        let Self { proposal, terms, sandbox } = self;
        let Terms { tool, input, timeout, is_background, is_in_shell } = terms;
        let (mut properties, env, reason, rule, of_rule) = match proposal {
            Proposed::Command(proposal) => {
                let rule = format!("the rule for `{}` in {}", proposal.rule().name, proposal.rule().origin);
                let reason = proposal.reason().map(str::to_owned);
                (of_command(proposal, shows), proposal.env(), reason, rule, proposal.rule().timeout)
            }
            Proposed::Line(line) => {
                let reasons = Some(line.reasons().join("; ")).filter(|reasons| !reasons.is_empty());
                (line.properties(shows), &NO_VARIABLES, reasons, line.rules().join("; "), None)
            }
        };
        // The rule's timeout bounds what the call names.
        let timeout = timeout.map(|named| bounded(Some(named), of_rule, named));
        let EnvRule { set, unset, accept: _ } = env;
        // Values may be secret, and are the operator's own.
        let names = set.keys().map(|name| format!("sets {}", shown(name)));
        let names: Vec<String> = names.chain(unset.iter().map(|name| format!("removes {}", shown(name)))).collect();
        properties.extend([
            Property::new("input", input.as_deref().map(shown), "input", input.as_ref().map(|input| json!(input))),
            Property::new(
                "background",
                is_background
                    .then(|| "yes: the call is answered when the command starts, and the command goes on".to_owned()),
                "background",
                is_background.then(|| json!(true)),
            ),
            Property::new(
                "timeout",
                timeout.map(|timeout| format!("{timeout:?}")),
                "timeout_ms",
                timeout.map(|timeout| json!(milliseconds(timeout))),
            ),
            Property::new(
                "environment",
                (!names.is_empty()).then(|| names.join(", ")),
                "env",
                (!names.is_empty()).then(|| json!({"set": set.keys().collect::<Vec<_>>(), "unset": unset})),
            ),
            Property::new(
                "reason",
                reason.as_deref().map(|reason| escape(reason).into_owned()),
                "reason",
                Some(json!(reason)),
            ),
            Property::new("rule", Some(escape(&rule).into_owned()), "rule", Some(json!(rule))),
            Property::new("sandbox", Some(sandbox.clone()), "sandbox", Some(json!(sandbox))),
            Property::new(
                "tool",
                is_in_shell.then(|| format!("{}, in the persistent shell", shown(tool))),
                "tool",
                Some(json!(tool)),
            ),
        ]);
        properties
    }

    /// The JSON that the operator's program reads.
    pub(super) fn to_json(&self, client: Option<&Implementation>) -> Value {
        let client = client.map(|client| format!("{} {}", client.name, client.version));
        let client = client.map(|client| client.chars().take(LONGEST_CLIENT).collect::<String>());
        let properties = self.properties(Shows::All).into_iter();
        let members = properties.filter_map(|property| Some((property.key?.to_owned(), property.value?)));
        members.chain([("client".to_owned(), json!(client))]).collect::<Map<String, Value>>().into()
    }
}

/// Which words are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    All,
    /// Those that rules call secret are replaced.
    NoSecrets,
}

static NO_VARIABLES: EnvRule = EnvRule { set: BTreeMap::new(), unset: Vec::new(), accept: BTreeMap::new() };

/// The words of a command, and those of the changes before it.
fn words_of(proposal: &Proposal, shows: Shows) -> (&[String], Vec<&[String]>) {
    let changes = proposal.changes().iter();
    match shows {
        Shows::All => (proposal.words(), changes.map(|change| change.words.as_slice()).collect()),
        Shows::NoSecrets => (proposal.shown_inserted(), changes.map(|change| change.shown.as_slice()).collect()),
    }
}

fn length_of(proposal: &Proposal, shows: Shows) -> usize {
    let (words, changes) = words_of(proposal, shows);
    changes.into_iter().flatten().chain(words).map(|word| word.len() + 3).sum()
}

/// The words in quotes.
pub(super) fn quoted(words: &[String]) -> String {
    words.iter().map(|word| shown(word)).collect::<Vec<_>>().join(" ")
}

/// The properties of one command that a person sees.
fn of_command(proposal: &Proposal, shows: Shows) -> Vec<Property> {
    let (words, changes) = words_of(proposal, shows);
    let program = proposal.program().map(|program| (shown(&escape_os(program.as_os_str())), program.to_string_lossy()));
    let (program_text, program) = program.unzip();
    let directory = proposal.directory();
    let earlier: Vec<String> = changes.iter().map(|words| quoted(words)).collect();
    vec![
        Property::new("command", Some(quoted(words)), "argv", Some(json!(words))),
        Property::new("program", program_text, "program", Some(json!(program))),
        Property::new(
            "directory",
            Some(shown(&escape_os(directory.as_os_str()))),
            "cwd",
            Some(json!(directory.to_string_lossy())),
        ),
        Property::new(
            "earlier in this shell",
            (!changes.is_empty()).then(|| earlier.join("; ")),
            "shell_changes",
            (!changes.is_empty()).then(|| json!(changes)),
        ),
    ]
}

/// Which calls an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerOf {
    /// The call that the question was asked for.
    OneCall,
    /// That call and the calls equal to it that come before the answer, [`MOST_EQUAL`] in all at most.
    EqualCalls,
}

impl AnswerOf {
    /// How often the answer lets the command run, if that may be more than once.
    fn times(self) -> Option<String> {
        match self {
            Self::OneCall => None,
            Self::EqualCalls => {
                Some(format!("once for each identical call made before you answer ({MOST_EQUAL} at most)"))
            }
        }
    }
}

/// The channel by which a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// The client, by an elicitation.
    Client,
    /// The program of `--ask-with`.
    Program,
    /// `allowexec run`, on its terminal.
    Terminal,
    /// The agent whose hook has asked.
    Hook,
}

impl Channel {
    /// Returns its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Program => "program",
            Self::Terminal => "terminal",
            Self::Hook => "hook",
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The end of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Approved, for this call.
    Once,
    /// Approved, for this call and for every identical call until the session ends.
    Session,
    /// A person declined.
    Declined,
    /// The form was closed without an answer.
    Cancelled,
    /// Nobody answered in time.
    TimedOut,
    /// Nobody is waiting for the answer any more.
    Withdrawn,
    /// Nobody could be asked, or the response was not an answer.
    Failed(String),
}

impl Answer {
    /// Returns its name in the log.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Withdrawn => "withdrawn",
            Self::Failed(_) => "failed",
        }
    }
}

impl Answer {
    /// Why a call does not run after a person was asked about it.
    pub(super) fn not_run(&self, sentence: String) -> NotRun {
        match self {
            Self::Failed(why) => NotRun::NotAsked { sentence, why: why.clone() },
            Self::Declined => NotRun::Declined { sentence },
            Self::Once | Self::Session | Self::Cancelled | Self::TimedOut | Self::Withdrawn => {
                NotRun::Unanswered { sentence }
            }
        }
    }

    /// The end of a question in the audit log: its name, and whether it is remembered.
    pub(super) fn recorded(&self) -> (&'static str, bool) {
        (self.name(), *self == Self::Session)
    }
}

impl From<Option<Approval>> for Answer {
    /// Makes it from a client's response; `None` stands for a response that isn't an answer.
    fn from(answer: Option<Approval>) -> Self {
        match answer {
            Some(Approval::Once) => Self::Once,
            Some(Approval::Session) => Self::Session,
            Some(Approval::Declined) => Self::Declined,
            Some(Approval::Cancelled) => Self::Cancelled,
            None => Self::Failed("the client's answer is none that the form offers".to_owned()),
        }
    }
}

/// A call of these words, which a person has to approve.
#[cfg(test)]
#[cfg(unix)]
pub(super) fn asked_about(words: &[&str]) -> CallToApprove {
    use crate::policy::rules::{Effect, ListEntry, Rules};
    use crate::policy::{
        AllowList, CommandLine, Directories, DirectorySettings, Policy, Programs, Refusal, SearchPath,
    };
    use std::sync::Arc;

    let entry = ListEntry { text: words[0].to_owned(), effect: Effect::Ask };
    let allow = AllowList::new([]).with_rules(Arc::new(Rules::load(&[], &[], &[entry]).unwrap()));
    let programs = Programs::new(SearchPath::new(Some("/bin:/usr/bin".as_ref())), "/".into());
    let directories = Directories::new(DirectorySettings { server: "/".into(), ..DirectorySettings::default() });
    let arguments = words[1..].iter().map(|&word| word.to_owned()).collect();
    let command = CommandLine::from_process(words[0].to_owned(), arguments);
    let decision = Policy::new(allow, directories, programs).examine(command, None);
    let Err(Refusal::NeedsApproval(proposal)) = decision.outcome else { panic!("{decision:?}") };
    let tool = "execute_process".to_owned();
    let terms = Terms { tool, input: None, timeout: None, is_background: false, is_in_shell: false };
    CallToApprove { proposal: Proposed::Command(proposal), terms, sandbox: "off".to_owned() }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
