//! What a person is asked about one call, as text and as JSON, and the possible answers.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::audit;
use crate::mcp::{Approval, Implementation};
use crate::policy::{Proposal, ShellChange};
use crate::text::{escape, escape_os, quote_to_judge as shown};

/// The longest text that a person is shown, in bytes. If a call can't be shown in full, nobody is asked about it.
pub(super) const LONGEST_TEXT: usize = 4 * 1024;
/// How many equal calls one answer is for at most.
pub(super) const MOST_EQUAL: usize = 16;
/// How much of a client's name is shown, in bytes.
const LONGEST_CLIENT: usize = 128;

/// A call that a person is asked about.
#[derive(Debug, Clone)]
pub(super) struct CallToApprove {
    /// What would run.
    pub proposal: Proposal,
    /// What it would read on its standard input.
    pub input: Option<String>,
    /// The timeout, if the call gives one.
    pub timeout: Option<Duration>,
    /// The tool that was called.
    pub tool: String,
    /// How it would be confined.
    pub sandbox: String,
}

impl CallToApprove {
    /// Whether an answer about one of these calls is also an answer about the other.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.is_called_as(&other.tool, other.input.as_deref(), other.timeout)
            && self.sandbox == other.sandbox
            && self.proposal.is_same(&other.proposal)
    }

    /// Whether a call of this tool, with this input and this timeout, can be the same.
    pub(super) fn is_called_as(&self, tool: &str, input: Option<&str>, timeout: Option<Duration>) -> bool {
        self.tool == tool && self.input.as_deref() == input && self.timeout == timeout
    }

    /// What a person reads; `None` if it is too long to be shown in full.
    ///
    /// Each word is in quotes. Characters that are invisible, end a line, change the direction of text or are written from
    /// right to left are escaped, and so is each blank after the third in a row. So no word can look like two words or
    /// like another line, or push what follows out of sight.
    pub(super) fn text(&self, of: AnswerOf) -> Option<String> {
        self.text_with(self.proposal.words(), |change| &change.words, of)
    }

    /// The question in the audit log, without the words that the rule marks as secret.
    pub(super) fn to_record(&self, call: u64, channel: Channel, of: AnswerOf) -> audit::Event {
        let text = self.text_with(self.proposal.shown_inserted(), |change| &change.shown, of).unwrap_or_default();
        audit::Event::Asked(audit::Asked { call, channel: channel.name(), text })
    }

    fn text_with(
        &self,
        words: &[String],
        of_change: impl Fn(&ShellChange) -> &[String],
        of: AnswerOf,
    ) -> Option<String> {
        let proposal = &self.proposal;
        let changes = || proposal.changes().iter().map(&of_change);
        // Checked first, so that nothing far too long is copied.
        let length = changes().flatten().chain(words).map(|word| word.len() + 3).sum::<usize>();
        if length + self.input.as_ref().map_or(0, String::len) > LONGEST_TEXT {
            return None;
        }
        let quoted = |words: &[String]| words.iter().map(|word| shown(word)).collect::<Vec<_>>().join(" ");
        let changes: Vec<String> = changes().map(quoted).collect();
        let directory = escape_os(proposal.directory().as_os_str());
        let lines = [
            ("command", Some(quoted(words))),
            ("program", proposal.program().map(|program| shown(&escape_os(program.as_os_str())))),
            ("directory", Some(shown(&directory))),
            ("earlier in this shell", (!changes.is_empty()).then(|| changes.join("; "))),
            ("input", self.input.as_deref().map(shown)),
            ("reason", proposal.reason().map(|reason| escape(reason).into_owned())),
            ("rule", Some(escape(&self.rule()).into_owned())),
            ("sandbox", Some(self.sandbox.clone())),
            ("times", of.times()),
        ];
        let lines = lines.into_iter().filter_map(|(name, value)| Some(format!("\n{name}: {}", value?)));
        let text = format!("Run this command?{}", lines.collect::<String>());
        (text.len() <= LONGEST_TEXT).then_some(text)
    }

    /// The JSON that the operator's program reads.
    pub(super) fn to_json(&self, client: Option<&Implementation>) -> Value {
        let client = client.map(|client| format!("{} {}", client.name, client.version));
        let client = client.map(|client| client.chars().take(LONGEST_CLIENT).collect::<String>());
        let proposal = &self.proposal;
        let mut request = json!({
            "program": proposal.program().map(|program| program.to_string_lossy()),
            "argv": proposal.words(),
            "cwd": proposal.directory().to_string_lossy(),
            "rule": self.rule(),
            "reason": proposal.reason(),
            "sandbox": self.sandbox,
            "client": client,
            "tool": self.tool,
        });
        if let Value::Object(members) = &mut request {
            members.extend(self.input.as_ref().map(|input| ("input".to_owned(), json!(input))));
            let changes: Vec<&[String]> = proposal.changes().iter().map(|change| change.words.as_slice()).collect();
            members.extend((!changes.is_empty()).then(|| ("shell_changes".to_owned(), json!(changes))));
        }
        request
    }

    fn rule(&self) -> String {
        let rule = self.proposal.rule();
        format!("the rule for `{}` in {}", rule.name, rule.origin)
    }
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

/// Who asks the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// The client, by an elicitation.
    Client,
    /// The program of `--ask-with`.
    Program,
}

impl Channel {
    /// What the log calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Program => "program",
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What became of a question.
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
    /// What the log calls it.
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
    /// The end of a question in the audit log.
    pub(super) fn to_record(&self, call: u64, channel: Channel, waited: Duration) -> audit::Event {
        audit::Event::Answered(audit::Answered {
            call,
            channel: channel.name(),
            answer: self.name(),
            remembered: *self == Self::Session,
            waited_ms: audit::milliseconds(waited),
        })
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
    let (tool, sandbox) = ("execute_process".to_owned(), "off".to_owned());
    CallToApprove { proposal: *proposal, input: None, timeout: None, tool, sandbox }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::text::{is_plain, is_right_to_left};

    #[test]
    fn a_person_reads_each_word_in_quotes_and_everything_that_runs() {
        let mut asked = asked_about(&["echo", "a b", "\"c\" \\"]);
        asked.input = Some("line\n".to_owned());
        let program = asked.proposal.program().unwrap().display().to_string();
        assert_eq!(
            asked.text(AnswerOf::OneCall).unwrap(),
            format!(
                "Run this command?\ncommand: \"echo\" \"a b\" \"\\\"c\\\" \\\\\"\nprogram: \"{program}\"\ndirectory: \"/\"\n\
                 input: \"line\\n\"\nrule: the rule for `echo` in --ask\nsandbox: off"
            )
        );
        assert_eq!(
            asked.to_json(None),
            json!({
                "program": program, "argv": ["echo", "a b", "\"c\" \\"], "cwd": "/", "input": "line\n", "reason": null,
                "rule": "the rule for `echo` in --ask", "sandbox": "off", "client": null, "tool": "execute_process",
            })
        );
        assert!(!asked.is_same(&asked_about(&["echo", "a b", "\"c\" \\"])), "the other one has no input");
        asked.input = None;
        assert!(asked.is_same(&asked_about(&["echo", "a b", "\"c\" \\"])));
        assert!(!asked.is_same(&asked_about(&["echo", "a", "b", "\"c\" \\"])));
    }

    #[test]
    fn no_text_looks_like_another_command() {
        for word in [
            "x\ncommand: \"ls\"",
            "\u{202e}ls\u{2066}",
            "\u{1b}[2K\rls",
            "a\u{200b}b\u{feff}",
            "\" \"ls",
            "x\u{2028}y\u{85}z\0".trim_end_matches('\0'),
            // Hebrew, Arabic, Arabic digits, a Hebrew ligature, and the oldest of them.
            "\u{5d0}\" \"\u{5d1}",
            "/home/\u{627}/1/\u{661}/\u{fb1d}/\u{10900}",
        ] {
            let text = asked_about(&["echo", word]).text(AnswerOf::OneCall).unwrap();
            assert_eq!(text.lines().count(), 6, "{text}");
            let is_shown = |character| is_plain(character) && !is_right_to_left(character);
            assert!(text.chars().all(|character| character == '\n' || is_shown(character)), "{text}");
            let command = text.lines().nth(1).unwrap();
            let inside = command.strip_prefix("command: \"echo\" \"").unwrap().strip_suffix('"').unwrap();
            assert!(!inside.replace("\\\\", "").replace("\\\"", "").contains('"'), "{command}");
        }
    }

    #[test]
    fn blanks_push_nothing_out_of_sight_and_what_is_too_long_is_not_shown() {
        let text = asked_about(&["echo", &format!("a{}b", " ".repeat(20))]).text(AnswerOf::OneCall).unwrap();
        assert!(text.contains(&format!("\"a   {}b\"", "\\u{20}".repeat(17))), "{text}");
        for long in [" ".repeat(1_000), "x".repeat(LONGEST_TEXT), "\u{202e}".repeat(600)] {
            assert_eq!(asked_about(&["echo", &long]).text(AnswerOf::OneCall), None, "{}", long.len());
        }
        let mut asked = asked_about(&["echo"]);
        asked.input = Some("x".repeat(LONGEST_TEXT));
        assert_eq!(asked.text(AnswerOf::OneCall), None);
        let words: Vec<&str> = std::iter::once("echo").chain(std::iter::repeat_n("", 2_000)).collect();
        assert_eq!(asked_about(&words).text(AnswerOf::OneCall), None);
        let most = asked_about(&["echo", &"x".repeat(LONGEST_TEXT - 200)]).text(AnswerOf::OneCall).unwrap();
        assert!(most.len() <= LONGEST_TEXT && most.len() > LONGEST_TEXT - 200);
    }
}
