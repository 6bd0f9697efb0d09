//! A decision as each agent reads it: what is printed, and the exit status.
//!
//! What each agent does with an answer was tried with the installed ones; `spec/clients.md` has the versions.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Error, Value, json};

use super::agent::Agent;
use super::event::{Event, Kind};
use super::verdict::Verdict;

/// The output of the process, and its exit status.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct Answer {
    /// JSON for standard output; `None` for nothing at all.
    pub output: Option<String>,
    /// For standard error; the agent shows it as the reason.
    pub error: Option<String>,
    pub status: u8,
}

/// The status that blocks. Other failures let some agents go on.
pub(super) const BLOCKS: u8 = 2;

impl Answer {
    fn say(output: &impl ToString) -> Self {
        Self { output: Some(output.to_string()), error: None, status: 0 }
    }

    fn silence() -> Self {
        Self { output: None, error: None, status: 0 }
    }

    /// Blocks, since no decision could be made.
    pub fn block(agent: Agent, why: &str) -> Self {
        let why = format!("allowexec blocks this: {why}");
        let output = match agent {
            Agent::Cursor => Some(cursor("deny", Some(&why)).to_string()),
            Agent::ClaudeCode | Agent::Vscode | Agent::Codex | Agent::Copilot | Agent::Gemini | Agent::Opencode => None,
        };
        Self { output, error: Some(why), status: BLOCKS }
    }

    /// Answers without an opinion.
    pub fn none(agent: Agent) -> Self {
        match agent {
            Agent::ClaudeCode | Agent::Vscode | Agent::Codex | Agent::Copilot => Self::silence(),
            Agent::Gemini | Agent::Cursor => Self::say(&json!({})),
            Agent::Opencode => Self::say(&json!({"decision": "pass"})),
        }
    }

    /// The answer for a decision. `event` is the one whose line may be rewritten.
    ///
    /// Where an agent can't ask, what a person would have to decide is denied. Where it can't take another command, one that was to
    /// be rewritten is blocked.
    pub fn new(agent: Agent, kind: Kind, event: Option<&Event>, verdict: Verdict) -> Self {
        let rewritten = match &verdict {
            Verdict::Allow { rewritten } | Verdict::Ask { rewritten, .. } => rewritten.as_deref(),
            Verdict::Deny { .. } | Verdict::Pass => None,
        };
        let input = match (rewritten, event) {
            (None, _) => None,
            (Some(command), Some(event)) if agent.takes_rewriting() && kind == Kind::BeforeTool => {
                match with(&event.written, "command", &json!(command)) {
                    Ok(input) => Some(input),
                    Err(error) => return Self::block(agent, &format!("its arguments can't be written: {error}")),
                }
            }
            (Some(_), _) => return Self::block(agent, "it takes no other command in place of the line"),
        };
        let made = match agent {
            Agent::ClaudeCode | Agent::Vscode => claude(verdict, input),
            Agent::Codex => codex(kind, verdict, input),
            Agent::Copilot => copilot(verdict, input),
            Agent::Gemini => gemini(verdict, input),
            Agent::Cursor => Ok(match verdict {
                Verdict::Allow { .. } => Self::say(&cursor("allow", None)),
                Verdict::Ask { reason, .. } => Self::say(&cursor("ask", Some(&reason))),
                Verdict::Deny { reason } => Self::say(&cursor("deny", Some(&reason))),
                Verdict::Pass => Self::none(agent),
            }),
            Agent::Opencode => opencode(verdict, input),
        };
        made.unwrap_or_else(|error| Self::block(agent, &format!("the answer can't be written: {error}")))
    }
}

/// The arguments of the tool, with the other command.
type Input = Option<Box<RawValue>>;

/// An object with one more entry, or with another value in its place. The other values stay as they are written.
fn with(object: &str, key: &str, value: &impl Serialize) -> Result<Box<RawValue>, Error> {
    let mut entries: BTreeMap<String, Box<RawValue>> = serde_json::from_str(object)?;
    entries.insert(key.to_owned(), to_raw_value(value)?);
    to_raw_value(&entries)
}

/// Returns the reason of a denial where an agent can't ask a person.
fn unasked(reason: &str) -> String {
    format!("a person would have to approve this, and no hook of this agent can ask: {reason}")
}

fn with_input(answer: &Value, key: &str, input: Input) -> Result<Box<RawValue>, Error> {
    match input {
        Some(input) => with(&answer.to_string(), key, &input),
        None => to_raw_value(answer),
    }
}

fn before_tool(decision: &str, reason: &str, input: Input) -> Result<Answer, Error> {
    let inner =
        json!({"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason});
    specific(&with_input(&inner, "updatedInput", input)?)
}

fn specific(output: &impl Serialize) -> Result<Answer, Error> {
    Ok(Answer::say(&with("{}", "hookSpecificOutput", output)?))
}

const ALLOWED: &str = "allowexec allows it";

fn claude(verdict: Verdict, input: Input) -> Result<Answer, Error> {
    match verdict {
        Verdict::Allow { .. } => before_tool("allow", ALLOWED, input),
        Verdict::Ask { reason, .. } => before_tool("ask", &reason, input),
        Verdict::Deny { reason } => before_tool("deny", &reason, None),
        Verdict::Pass => Ok(Answer::none(Agent::ClaudeCode)),
    }
}

/// Before a tool, Codex takes `deny`, and `allow` only with another input; anything else would let the line run unseen. When it is
/// about to ask a person, it does so unless the hook decides.
fn codex(kind: Kind, verdict: Verdict, input: Input) -> Result<Answer, Error> {
    let decided = |decision: Value| specific(&json!({"hookEventName": "PermissionRequest", "decision": decision}));
    match (kind, verdict) {
        (Kind::BeforeTool, Verdict::Allow { .. }) if input.is_some() => before_tool("allow", ALLOWED, input),
        (Kind::BeforeTool, Verdict::Ask { reason, .. }) => before_tool("deny", &unasked(&reason), None),
        (Kind::BeforeTool, Verdict::Deny { reason }) => before_tool("deny", &reason, None),
        (Kind::PermissionRequest, Verdict::Allow { .. }) => decided(json!({"behavior": "allow"})),
        (Kind::PermissionRequest, Verdict::Deny { reason }) => decided(json!({"behavior": "deny", "message": reason})),
        (Kind::BeforeTool, Verdict::Allow { .. } | Verdict::Pass)
        | (Kind::PermissionRequest, Verdict::Ask { .. } | Verdict::Pass) => Ok(Answer::none(Agent::Codex)),
    }
}

fn copilot(verdict: Verdict, input: Input) -> Result<Answer, Error> {
    let say = |decision: &str, reason: &str, input: Input| {
        let answer = json!({"permissionDecision": decision, "permissionDecisionReason": reason});
        Ok(Answer::say(&with_input(&answer, "modifiedArgs", input)?))
    };
    match verdict {
        Verdict::Allow { .. } => say("allow", ALLOWED, input),
        Verdict::Ask { reason, .. } => say("ask", &reason, input),
        Verdict::Deny { reason } => say("deny", &reason, None),
        Verdict::Pass => Ok(Answer::none(Agent::Copilot)),
    }
}

fn gemini(verdict: Verdict, input: Input) -> Result<Answer, Error> {
    let deny = |reason: &str| Ok(Answer::say(&json!({"decision": "deny", "reason": reason})));
    match verdict {
        Verdict::Allow { .. } if input.is_some() => {
            specific(&with_input(&json!({"hookEventName": "BeforeTool"}), "tool_input", input)?)
        }
        Verdict::Allow { .. } | Verdict::Pass => Ok(Answer::none(Agent::Gemini)),
        Verdict::Ask { reason, .. } => deny(&unasked(&reason)),
        Verdict::Deny { reason } => deny(&reason),
    }
}

fn cursor(permission: &str, reason: Option<&str>) -> Value {
    match reason {
        None => json!({"permission": permission}),
        Some(reason) => json!({"permission": permission, "user_message": reason, "agent_message": reason}),
    }
}

/// Returns the answer for the plugin that `setup` prints. The plugin throws unless the decision is `allow` or `pass`,
/// and takes over `args`.
fn opencode(verdict: Verdict, input: Input) -> Result<Answer, Error> {
    let deny = |reason: &str| Ok(Answer::say(&json!({"decision": "deny", "reason": reason})));
    match verdict {
        Verdict::Allow { .. } => Ok(Answer::say(&with_input(&json!({"decision": "allow"}), "args", input)?)),
        Verdict::Ask { reason, .. } => deny(&unasked(&reason)),
        Verdict::Deny { reason } => deny(&reason),
        Verdict::Pass => Ok(Answer::none(Agent::Opencode)),
    }
}
