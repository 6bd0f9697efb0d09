use std::io;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::agent::Agent;
use super::answer::Answer;
use super::event::{Event, Incoming, Kind};
use super::rewriting::{Quoting, Rewriting, RewritingError};
use super::verdict::{Unknown, Verdict};
use super::{LARGEST, respond};

/// An absolute path on every platform.
const DIRECTORY: &str = if cfg!(windows) { "C:\\p" } else { "/p" };

/// The event of an agent for a line, with one more argument.
fn event_of(agent: Agent, line: &str) -> Value {
    let input = json!({"command": line, "description": "d"});
    match agent {
        Agent::ClaudeCode | Agent::Vscode => {
            json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input, "cwd": DIRECTORY, "session_id": "s"})
        }
        Agent::Codex => {
            json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input, "cwd": DIRECTORY})
        }
        Agent::Copilot => json!({"toolName": "bash", "toolArgs": input, "cwd": DIRECTORY, "timestamp": 1}),
        Agent::Gemini => {
            json!({"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "tool_input": input, "cwd": DIRECTORY})
        }
        Agent::Cursor => json!({"hook_event_name": "beforeShellExecution", "command": line, "cwd": DIRECTORY}),
        Agent::Opencode => json!({"tool": "bash", "args": input, "cwd": DIRECTORY}),
    }
}

fn read(agent: Agent, event: &Value) -> Result<Incoming, String> {
    Event::read(agent, event.to_string().as_bytes()).map_err(|error| error.to_string())
}

fn command(agent: Agent, event: &Value) -> Event {
    match read(agent, event) {
        Ok(Incoming::Command(event)) => event,
        other => panic!("{agent:?}: {other:?}"),
    }
}

fn answer(agent: Agent, verdict: &Verdict) -> Answer {
    let event = event_of(agent, "ls").to_string();
    respond(agent, event.as_bytes(), Unknown::Deny, |_| Ok(verdict.clone()))
}

/// The output of an answer.
fn printed(answer: &Answer) -> Option<Value> {
    answer.output.as_ref().map(|output| serde_json::from_str(output).unwrap())
}

fn allow(rewritten: Option<&str>) -> Verdict {
    Verdict::Allow { rewritten: rewritten.map(str::to_owned) }
}

fn ask(rewritten: Option<&str>) -> Verdict {
    Verdict::Ask { reason: "r".to_owned(), rewritten: rewritten.map(str::to_owned) }
}

fn deny() -> Verdict {
    Verdict::Deny { reason: "r".to_owned() }
}

#[test]
fn agents_and_decisions_have_the_names_of_the_command_line() {
    let names = ["claude-code", "vscode", "codex", "copilot", "gemini", "cursor", "opencode"];
    assert_eq!((Agent::ALL.map(Agent::name), Unknown::ALL.map(Unknown::name)), (names, ["deny", "ask", "pass"]));
}

#[test]
fn every_agents_event_gives_its_line_its_directory_and_its_other_arguments() {
    for agent in Agent::ALL {
        let event = command(agent, &event_of(agent, "ls -l\n'x'"));
        assert_eq!((event.line.as_str(), event.cwd.as_deref()), ("ls -l\n'x'", Some(DIRECTORY.as_ref())), "{agent:?}");
        let fields = if agent == Agent::Cursor { json!({}) } else { json!({"description": "d"}) };
        assert_eq!((Value::Object(event.fields), event.kind), (fields, Kind::BeforeTool), "{agent:?}");
    }
    // Copilot's documents have a string of JSON.
    let text = json!({"command": "ls", "mode": "sync"}).to_string();
    let event = command(Agent::Copilot, &json!({"toolName": "bash", "toolArgs": text}));
    assert_eq!((event.line.as_str(), event.cwd, event.fields["mode"].as_str()), ("ls", None, Some("sync")));
    let mut event = event_of(Agent::Codex, "ls");
    event["hook_event_name"] = "PermissionRequest".into();
    assert_eq!(command(Agent::Codex, &event).kind, Kind::PermissionRequest);
}

#[test]
fn the_directory_is_the_one_that_the_line_runs_in_or_is_not_known() {
    let of = |cwd: Value, input: Value| {
        let mut event = event_of(Agent::Gemini, "ls");
        event["cwd"] = cwd;
        event["tool_input"].as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
        command(Agent::Gemini, &event).cwd
    };
    let below = std::path::Path::new(DIRECTORY).join("sub");
    assert_eq!(of(DIRECTORY.into(), json!({"dir_path": "sub"})), Some(below.clone()));
    assert_eq!(of(json!(null), json!({"directory": below})), Some(below.clone()));
    assert_eq!(of(DIRECTORY.into(), json!({"directory": null})), Some(DIRECTORY.into()));
    for (cwd, input) in [
        (json!(""), json!({})),
        (json!("relative"), json!({})),
        (json!(1), json!({})),
        (json!(null), json!({"dir_path": "sub"})),
        (json!(DIRECTORY), json!({"dir_path": 1})),
        (json!(DIRECTORY), json!({"dir_path": "a", "directory": "b"})),
        // Gemini CLI has no such argument.
        (json!(DIRECTORY), json!({"workdir": "sub"})),
        (json!(DIRECTORY), json!({"cwd": "sub"})),
    ] {
        assert_eq!(of(cwd.clone(), input.clone()), None, "{cwd} {input}");
    }
}

#[test]
fn only_an_argument_of_the_agents_own_tool_chooses_the_directory() {
    for agent in Agent::ALL.into_iter().filter(|agent| *agent != Agent::Cursor) {
        for name in ["workdir", "dir_path", "directory", "cwd"] {
            let mut event = event_of(agent, "ls");
            let fields =
                ["tool_input", "toolArgs", "args"].into_iter().find(|field| event.get(*field).is_some()).unwrap();
            event[fields][name] = "sub".into();
            let chosen = agent.directories().contains(&name).then(|| std::path::Path::new(DIRECTORY).join("sub"));
            assert_eq!(command(agent, &event).cwd, chosen, "{agent:?} {name}");
        }
    }
}

#[test]
fn other_tools_get_no_opinion_and_tools_that_feed_a_shell_are_not_readable() {
    for (agent, field, shells, others) in [
        (
            Agent::ClaudeCode,
            "tool_name",
            &["PowerShell", "Monitor", "bash", "Eval", "mcp__workspace__bash"][..],
            &["Read", "BashOutput", "mcp__x__run"][..],
        ),
        (Agent::Vscode, "tool_name", &["send_to_terminal", "runTask"], &["editFiles"]),
        (Agent::Codex, "tool_name", &["write_stdin", "exec_command"], &["apply_patch"]),
        (
            Agent::Copilot,
            "toolName",
            &["write_bash", "powershell", "write_powershell", "local_shell"],
            &["view", "read_bash", "stop_bash", "read_powershell"],
        ),
        (Agent::Gemini, "tool_name", &["write_to_shell"], &["read_file"]),
        (Agent::Opencode, "tool", &["pty_write"], &["edit"]),
    ] {
        let mut event = event_of(agent, "ls");
        for tool in others {
            event[field] = (*tool).into();
            assert_eq!(read(agent, &event), Ok(Incoming::NoCommand), "{agent:?} {tool}");
            let answer = respond(agent, event.to_string().as_bytes(), Unknown::Deny, |_| panic!("{tool}"));
            assert_eq!(answer, Answer::none(agent));
        }
        for tool in shells {
            event[field] = (*tool).into();
            let shell = Incoming::Shell { tool: (*tool).to_owned(), kind: Kind::BeforeTool };
            assert_eq!(read(agent, &event), Ok(shell), "{agent:?} {tool}");
            for unknown in Unknown::ALL {
                let answer = respond(agent, event.to_string().as_bytes(), unknown, |_| panic!("{tool}"));
                let said = answer.output.unwrap();
                let asks =
                    unknown != Unknown::Deny && [Agent::ClaudeCode, Agent::Vscode, Agent::Copilot].contains(&agent);
                assert!(said.contains(if asks { "\"ask\"" } else { "\"deny\"" }) && said.contains(tool), "{said}");
            }
        }
    }
}

#[test]
fn what_is_no_event_blocks_with_a_reason_and_status_2() {
    let line = event_of(Agent::ClaudeCode, "ls").to_string();
    let large = format!("{line}{}", " ".repeat(LARGEST as usize));
    let largest = format!("{line}{}", " ".repeat(LARGEST as usize - line.len()));
    let twice = line.replace("\"command\":\"ls\"", "\"command\":\"ls\",\"command\":\"rm\"");
    assert_ne!(twice, line);
    for (text, said) in [
        ("", "not JSON as it should be"),
        ("{", "not JSON as it should be"),
        ("[]", "no `event`"),
        ("null", "no `event`"),
        (&line[..line.len() - 1], "not JSON as it should be"),
        (&format!("{line} {line}"), "not JSON as it should be"),
        (&twice, "the key \"command\" is there twice"),
        (&large, "more than 1048576 bytes"),
        (&line.replace("\"ls\"", "[\"ls\"]"), "no `command`"),
        (&line.replace("\"command\"", "\"comand\""), "no `command`"),
        (&line.replace("tool_input", "input"), "no `tool_input`"),
        (&line.replace("tool_name", "name"), "no `tool_name`"),
        (
            &line.replace("PreToolUse", "PostToolUse"),
            "the event is `PostToolUse`; configure this hook for `PreToolUse`",
        ),
        (&line.replace("\"PreToolUse\"", "1"), "no `hook_event_name`"),
    ] {
        for agent in [Agent::ClaudeCode, Agent::Vscode] {
            let answer = respond(agent, text.as_bytes(), Unknown::Pass, |_| panic!("{text}"));
            assert!(answer.error.as_ref().is_some_and(|error| error.contains(said)), "{said}: {answer:?}");
            assert_eq!((answer.status, answer.output), (2, None));
        }
    }
    assert_eq!(respond(Agent::ClaudeCode, largest.as_bytes(), Unknown::Deny, |_| Ok(Verdict::Pass)).status, 0);
    let not_text = [b"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"".as_slice(), b"\xff\"}}"].concat();
    assert_eq!(respond(Agent::ClaudeCode, not_text.as_slice(), Unknown::Pass, |_| panic!()).status, 2);
    let codex = event_of(Agent::Codex, "ls").to_string().replace("hook_event_name", "event");
    assert_eq!(respond(Agent::Codex, codex.as_bytes(), Unknown::Pass, |_| panic!()).status, 2);
    let copilot = json!({"toolName": "bash", "toolArgs": "{\"command\":\"ls\",\"command\":\"rm\"}"}).to_string();
    assert_eq!(respond(Agent::Copilot, copilot.as_bytes(), Unknown::Pass, |_| panic!()).status, 2);
    struct Broken;
    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    for agent in Agent::ALL {
        let event = event_of(agent, "ls").to_string();
        let failed = respond(agent, event.as_bytes(), Unknown::Pass, |_| Err("no configuration".to_owned()));
        assert_eq!((failed.status, failed.error.as_deref()), (2, Some("allowexec blocks this: no configuration")));
        let denies = json!({"permission": "deny", "user_message": failed.error, "agent_message": failed.error});
        assert_eq!(printed(&failed), (agent == Agent::Cursor).then_some(denies));
        assert_eq!(respond(agent, Broken, Unknown::Pass, |_| panic!()).status, 2);
    }
}

#[test]
fn each_agent_gets_each_decision_in_its_own_words() {
    let claude = |decision: &str, reason: &str| json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}});
    let rewritten = json!({"command": "new", "description": "d"});
    let with = |mut answer: Value, at: &str| {
        *answer.pointer_mut(at).unwrap() = rewritten.clone();
        answer
    };
    let claude_with = |decision: &str, reason: &str| {
        let mut answer = claude(decision, reason);
        answer["hookSpecificOutput"]["updatedInput"] = rewritten.clone();
        answer
    };
    let ours = "allowexec allows it";
    let unasked = "a person would have to approve this, and no hook of this agent can ask: r";
    let copilot =
        |decision: &str, reason: &str| json!({"permissionDecision": decision, "permissionDecisionReason": reason});
    let copilot_with = |decision: &str, reason: &str| json!({"permissionDecision": decision, "permissionDecisionReason": reason, "modifiedArgs": rewritten});
    let gemini = |reason: &str| json!({"decision": "deny", "reason": reason});
    let gemini_with = with(
        json!({"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": null}}),
        "/hookSpecificOutput/tool_input",
    );
    let cursor = |permission: &str| json!({"permission": permission, "user_message": "r", "agent_message": "r"});
    let verdicts = [allow(None), ask(None), deny(), Verdict::Pass, allow(Some("new")), ask(Some("new"))];
    for (agent, answers) in [
        (
            Agent::ClaudeCode,
            [
                Some(claude("allow", ours)),
                Some(claude("ask", "r")),
                Some(claude("deny", "r")),
                None,
                Some(claude_with("allow", ours)),
                Some(claude_with("ask", "r")),
            ],
        ),
        (
            Agent::Codex,
            [
                None,
                Some(claude("deny", unasked)),
                Some(claude("deny", "r")),
                None,
                Some(claude_with("allow", ours)),
                Some(claude("deny", unasked)),
            ],
        ),
        (
            Agent::Copilot,
            [
                Some(copilot("allow", ours)),
                Some(copilot("ask", "r")),
                Some(copilot("deny", "r")),
                None,
                Some(copilot_with("allow", ours)),
                Some(copilot_with("ask", "r")),
            ],
        ),
        (
            Agent::Gemini,
            [
                Some(json!({})),
                Some(gemini(unasked)),
                Some(gemini("r")),
                Some(json!({})),
                Some(gemini_with),
                Some(gemini(unasked)),
            ],
        ),
        (
            Agent::Opencode,
            [
                Some(json!({"decision": "allow"})),
                Some(gemini(unasked)),
                Some(gemini("r")),
                Some(json!({"decision": "pass"})),
                Some(json!({"decision": "allow", "args": rewritten})),
                Some(gemini(unasked)),
            ],
        ),
    ] {
        for (verdict, output) in verdicts.iter().zip(answers) {
            let answer = answer(agent, verdict);
            assert_eq!((printed(&answer), &answer.error, answer.status), (output, &None, 0), "{agent:?} {verdict:?}");
        }
    }
    let same = |verdict: &Verdict| assert_eq!(answer(Agent::Vscode, verdict), answer(Agent::ClaudeCode, verdict));
    verdicts.iter().for_each(same);
    let of_cursor = [json!({"permission": "allow"}), cursor("ask"), cursor("deny"), json!({})];
    for (verdict, output) in verdicts.iter().zip(of_cursor) {
        assert_eq!(printed(&answer(Agent::Cursor, verdict)), Some(output));
    }
    // Cursor runs no other command.
    for verdict in &verdicts[4..] {
        assert_eq!(answer(Agent::Cursor, verdict).status, 2);
    }
}

#[test]
fn the_arguments_beside_a_rewritten_line_stay_as_they_were_written() {
    let others = [
        ("a", "18446744073709551617"),
        ("b", "0.1000000000000000055511151231257827021181583404541015625"),
        ("c", "1.0"),
        ("d", "-0"),
        ("e", "[1e2,{\"z\":1,\"a\":\"\\u00e9\"}]"),
        ("f", "null"),
    ];
    for agent in Agent::ALL.into_iter().filter(|agent| agent.takes_rewriting()) {
        let written: String = others.iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect();
        let event = event_of(agent, "ls").to_string().replace(",\"description\":\"d\"", &written);
        let mut events = vec![event];
        if agent == Agent::Copilot {
            let arguments = format!("{{\"command\":\"ls\"{written}}}");
            events.push(json!({"toolName": "bash", "toolArgs": arguments, "cwd": DIRECTORY}).to_string());
        }
        for event in events {
            let answer = respond(agent, event.as_bytes(), Unknown::Deny, |_| Ok(allow(Some("new"))));
            let output = answer.output.unwrap();
            for (name, value) in others {
                assert!(output.contains(&format!("\"{name}\":{value}")), "{agent:?} {name}: {output}");
            }
            assert!(output.contains("\"command\":\"new\""), "{agent:?}: {output}");
        }
    }
}

#[test]
fn codex_asks_a_person_itself_unless_the_hook_decides() {
    let mut event = event_of(Agent::Codex, "ls");
    event["hook_event_name"] = "PermissionRequest".into();
    let of = |verdict: Verdict| respond(Agent::Codex, event.to_string().as_bytes(), Unknown::Deny, |_| Ok(verdict));
    let decided =
        |decision: Value| json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
    assert_eq!(printed(&of(allow(None))), Some(decided(json!({"behavior": "allow"}))));
    assert_eq!(printed(&of(deny())), Some(decided(json!({"behavior": "deny", "message": "r"}))));
    assert_eq!((of(ask(None)), of(Verdict::Pass)), (Answer::none(Agent::Codex), Answer::none(Agent::Codex)));
    assert_eq!(of(allow(Some("new"))).status, 2);
}

#[test]
fn what_nothing_describes_is_decided_as_the_operator_says() {
    let (reason, why) = (|| "r".to_owned(), "r".to_owned());
    assert_eq!(Unknown::default().undescribed(reason()), deny());
    assert_eq!(Unknown::Ask.undescribed(reason()), ask(None));
    assert_eq!(Unknown::Pass.undescribed(reason()), Verdict::Pass);
    assert_eq!((Unknown::Deny.unreadable(reason()), Unknown::Ask.unreadable(reason())), (deny(), ask(None)));
    assert_eq!(Unknown::Pass.unreadable(why), ask(None));
}

fn rewriting(quoting: Quoting) -> Rewriting {
    Rewriting::new("/opt/allowexec", ["--policy", "p.yaml"], quoting, false).unwrap()
}

#[test]
fn a_rewritten_line_is_one_word_for_the_shell() {
    let posix = Rewriting::new("/o p/it's", ["--policy", "a b"], Quoting::Posix, false).unwrap();
    assert_eq!(
        posix.command("echo 'x' $HOME").unwrap(),
        r"'/o p/it'\''s' run '--policy' 'a b' -- 'echo '\''x'\'' $HOME'"
    );
    let hex = rewriting(Quoting::Hex).command("ls é").unwrap();
    assert_eq!(hex, "/opt/allowexec run --policy p.yaml --line-hex 6c7320c3a9");
    for word in ["a b", "", "a'b", "$x", "~", "a\nb", "%x%", "é"] {
        let error = Rewriting::new("/a", [word], Quoting::Hex, false).unwrap_err();
        assert_eq!(error, RewritingError::Word { word: word.escape_debug().to_string() });
    }
    let head = rewriting(Quoting::Posix).command("").unwrap().len();
    assert!(rewriting(Quoting::Posix).command(&"x".repeat(100_000 - head)).is_ok());
    let long = rewriting(Quoting::Posix).command(&"x".repeat(100_001 - head));
    assert_eq!(long, Err(RewritingError::Long { length: 100_001 }));
    assert_eq!(rewriting(Quoting::Posix).command("a\0b"), Err(RewritingError::Nul));
    assert_eq!(Rewriting::new("/a\0", [], Quoting::Posix, false), Err(RewritingError::Nul));
}

#[test]
fn a_line_that_a_terminal_would_take_for_keys_is_written_in_digits() {
    let typed = |line: &str, is_typed| {
        Rewriting::new("/a b", ["--allow", "x"], Quoting::Posix, is_typed).unwrap().command(line).unwrap()
    };
    let granted = Rewriting::new("/a", [], Quoting::Posix, true).unwrap().granted("g").unwrap();
    assert_eq!(granted.command("a\nb").unwrap(), "'/a' run '--grant' 'g' --line-hex 610a62");
    for key in ["\u{15}", "\u{1b}[201~", "\u{1}", "\u{3}", "\u{4}", "\r", "\u{7f}", "\u{9b}"] {
        for is_typed in [false, true] {
            let command = typed(&format!("echo 'x{key}touch y #'"), is_typed);
            assert!(command.starts_with("'/a b' run '--allow' 'x' --line-hex 6563"), "{command}");
        }
    }
    for line in ["cat <<'E'\n\ta\nE\n", "echo a\tb"] {
        assert!(typed(line, false).contains(line.split('\'').next().unwrap()), "{line}");
        assert!(typed(line, true).contains(" --line-hex "), "{line}");
    }
    // No setting is written so that it could be a key.
    let error = Rewriting::new("/a", ["a\u{15}b"], Quoting::Posix, false).unwrap_err();
    assert_eq!(error, RewritingError::Word { word: "a\\u{15}b".to_owned() });
}

#[test]
fn a_tool_in_other_letters_is_a_shell_and_every_tool_of_vs_code_is_known_to_both() {
    use super::agent::Tool;
    for (agent, name) in
        [(Agent::ClaudeCode, "bash"), (Agent::Vscode, "BASH "), (Agent::Copilot, "Bash"), (Agent::Codex, "bash")]
    {
        assert_eq!(agent.tool(name), Tool::Shell, "{agent:?} {name}");
    }
    for agent in [Agent::ClaudeCode, Agent::Vscode] {
        for name in ["Bash", "run_in_terminal", "runInTerminal"] {
            assert_eq!(agent.tool(name), Tool::Command, "{agent:?} {name}");
        }
        for name in ["Monitor", "REPL", "PowerShell", "send_to_terminal", "write_bash"] {
            assert_eq!(agent.tool(name), Tool::Shell, "{agent:?} {name}");
        }
        assert_eq!(agent.tool("Read"), Tool::Other);
    }
}

#[test]
fn only_its_own_rewriting_is_known_again() {
    let posix = rewriting(Quoting::Posix);
    let command = posix.command("echo 'x'").unwrap();
    assert_eq!(posix.line_of(&command).as_deref(), Some("echo 'x'"));
    for other in [
        format!("{command} "),
        format!(" {command}"),
        format!("{command}; rm x"),
        format!("{command} 'y'"),
        command.replace("p.yaml", "q.yaml"),
        command.replace(" -- ", "  -- "),
        command.replace("'echo ", "''echo "),
        command.replace('\'', "\""),
        String::new(),
    ] {
        assert_eq!(posix.line_of(&other), None, "{other}");
    }
    let hex = rewriting(Quoting::Hex);
    let command = hex.command("jk").unwrap();
    assert_eq!(hex.line_of(&command).as_deref(), Some("jk"));
    for other in [
        command.replace("6a6b", "6A6B"),
        command.replace("6a6b", "6a6"),
        command.replace("6a6b", "+a+b"),
        command.replace("6a6b", "ff"),
    ] {
        assert_eq!(hex.line_of(&other), None, "{other}");
    }
}

proptest! {
    #[test]
    fn a_line_comes_back_from_its_rewriting_and_is_one_word(line in r"[^\x00]{0,40}|['\\ a\n]{0,20}") {
        for quoting in [Quoting::Posix, Quoting::Hex] {
            let rewriting = rewriting(quoting);
            let command = rewriting.command(&line).unwrap();
            prop_assert_eq!(rewriting.line_of(&command), Some(line.clone()));
            let words = shlex::split(&command).unwrap();
            prop_assert_eq!(words.len(), if quoting == Quoting::Posix { 6 } else { 6 - usize::from(line.is_empty()) });
            let is_key = |c: char| c.is_control() && c != '\n' && c != '\t';
            if quoting == Quoting::Posix && !line.contains(is_key) {
                prop_assert_eq!(words.last(), Some(&line));
            }
            prop_assert!(!command.contains(is_key));
            let typed = Rewriting::new("/a", [], quoting, true).unwrap();
            prop_assert!(!typed.command(&line).unwrap().contains(char::is_control));
        }
    }

    #[test]
    fn no_text_is_allowed_by_accident(text in r#"[\[\]{}:,"a \\]{0,30}"#, agent in prop::sample::select(&Agent::ALL[..])) {
        let answer = respond(agent, text.as_bytes(), Unknown::Pass, |_| panic!("no command"));
        prop_assert_eq!(answer.status, 2);
    }
}
