//! A decision as each agent reads it: what is printed, and the exit status.
//!
//! What each agent does with an answer was tried with the installed ones; `spec/clients.md` has the versions.

use serde_json::{Map, Value, json};

use super::agent::Agent;
use super::event::{Event, Kind};
use super::verdict::Verdict;

/// The output of the process, and its exit status.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::cli) struct Answer {
    /// For standard output; `None` for nothing at all.
    pub output: Option<Value>,
    /// For standard error; the agent shows it as the reason.
    pub error: Option<String>,
    pub status: u8,
}

/// The status that blocks. Other failures let some agents go on.
pub(super) const BLOCKS: u8 = 2;

impl Answer {
    fn say(output: Option<Value>) -> Self {
        Self { output, error: None, status: 0 }
    }

    /// Blocks, since no decision could be made.
    pub fn block(agent: Agent, why: &str) -> Self {
        let why = format!("allowexec blocks this: {why}");
        let output = match agent {
            Agent::Cursor => Some(cursor("deny", Some(&why))),
            Agent::ClaudeCode | Agent::Vscode | Agent::Codex | Agent::Copilot | Agent::Gemini | Agent::Opencode => None,
        };
        Self { output, error: Some(why), status: BLOCKS }
    }

    /// Answers without an opinion.
    pub fn none(agent: Agent) -> Self {
        Self::say(match agent {
            Agent::ClaudeCode | Agent::Vscode | Agent::Codex | Agent::Copilot => None,
            Agent::Gemini | Agent::Cursor => Some(json!({})),
            Agent::Opencode => Some(json!({"decision": "pass"})),
        })
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
                let mut fields = event.fields.clone();
                fields.insert("command".to_owned(), command.into());
                Some(fields)
            }
            (Some(_), _) => return Self::block(agent, "it takes no other command in place of the line"),
        };
        match agent {
            Agent::ClaudeCode | Agent::Vscode => claude(verdict, input),
            Agent::Codex => codex(kind, verdict, input),
            Agent::Copilot => copilot(verdict, input),
            Agent::Gemini => gemini(verdict, input),
            Agent::Cursor => match verdict {
                Verdict::Allow { .. } => Self::say(Some(cursor("allow", None))),
                Verdict::Ask { reason, .. } => Self::say(Some(cursor("ask", Some(&reason)))),
                Verdict::Deny { reason } => Self::say(Some(cursor("deny", Some(&reason)))),
                Verdict::Pass => Self::none(agent),
            },
            Agent::Opencode => opencode(verdict, input),
        }
    }
}

/// The fields of the input, with the other command.
type Input = Option<Map<String, Value>>;

/// Returns the reason of a denial where an agent can't ask a person.
fn unasked(reason: &str) -> String {
    format!("a person would have to approve this, and no hook of this agent can ask: {reason}")
}

fn with(mut answer: Value, key: &str, input: Input) -> Value {
    if let (Some(answer), Some(input)) = (answer.as_object_mut(), input) {
        answer.insert(key.to_owned(), Value::Object(input));
    }
    answer
}

fn before_tool(event: &str, decision: &str, reason: &str, input: Input) -> Answer {
    let inner = json!({"hookEventName": event, "permissionDecision": decision, "permissionDecisionReason": reason});
    Answer::say(Some(json!({"hookSpecificOutput": with(inner, "updatedInput", input)})))
}

const ALLOWED: &str = "allowexec allows it";

fn claude(verdict: Verdict, input: Input) -> Answer {
    match verdict {
        Verdict::Allow { .. } => before_tool("PreToolUse", "allow", ALLOWED, input),
        Verdict::Ask { reason, .. } => before_tool("PreToolUse", "ask", &reason, input),
        Verdict::Deny { reason } => before_tool("PreToolUse", "deny", &reason, None),
        Verdict::Pass => Answer::none(Agent::ClaudeCode),
    }
}

/// Before a tool, Codex takes `deny`, and `allow` only with another input; anything else would let the line run unseen. When it is
/// about to ask a person, it does so unless the hook decides.
fn codex(kind: Kind, verdict: Verdict, input: Input) -> Answer {
    let decided = |decision: Value| {
        Answer::say(Some(json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})))
    };
    match (kind, verdict) {
        (Kind::BeforeTool, Verdict::Allow { .. }) if input.is_some() => {
            before_tool("PreToolUse", "allow", ALLOWED, input)
        }
        (Kind::BeforeTool, Verdict::Ask { reason, .. }) => before_tool("PreToolUse", "deny", &unasked(&reason), None),
        (Kind::BeforeTool, Verdict::Deny { reason }) => before_tool("PreToolUse", "deny", &reason, None),
        (Kind::PermissionRequest, Verdict::Allow { .. }) => decided(json!({"behavior": "allow"})),
        (Kind::PermissionRequest, Verdict::Deny { reason }) => decided(json!({"behavior": "deny", "message": reason})),
        (Kind::BeforeTool, Verdict::Allow { .. } | Verdict::Pass)
        | (Kind::PermissionRequest, Verdict::Ask { .. } | Verdict::Pass) => Answer::none(Agent::Codex),
    }
}

fn copilot(verdict: Verdict, input: Input) -> Answer {
    let say = |decision: &str, reason: &str, input: Input| {
        let answer = json!({"permissionDecision": decision, "permissionDecisionReason": reason});
        Answer::say(Some(with(answer, "modifiedArgs", input)))
    };
    match verdict {
        Verdict::Allow { .. } => say("allow", ALLOWED, input),
        Verdict::Ask { reason, .. } => say("ask", &reason, input),
        Verdict::Deny { reason } => say("deny", &reason, None),
        Verdict::Pass => Answer::none(Agent::Copilot),
    }
}

fn gemini(verdict: Verdict, input: Input) -> Answer {
    let deny = |reason: &str| Answer::say(Some(json!({"decision": "deny", "reason": reason})));
    match verdict {
        Verdict::Allow { .. } if input.is_some() => {
            let inner = with(json!({"hookEventName": "BeforeTool"}), "tool_input", input);
            Answer::say(Some(json!({"hookSpecificOutput": inner})))
        }
        Verdict::Allow { .. } | Verdict::Pass => Answer::none(Agent::Gemini),
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
fn opencode(verdict: Verdict, input: Input) -> Answer {
    let deny = |reason: &str| Answer::say(Some(json!({"decision": "deny", "reason": reason})));
    match verdict {
        Verdict::Allow { .. } => Answer::say(Some(with(json!({"decision": "allow"}), "args", input))),
        Verdict::Ask { reason, .. } => deny(&unasked(&reason)),
        Verdict::Deny { reason } => deny(&reason),
        Verdict::Pass => Answer::none(Agent::Opencode),
    }
}
