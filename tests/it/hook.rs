//! `allowexec hook`: the event of an agent in, its answer out, and what is put in place of a line run by a real shell.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::server::spawning;

const PROGRAM: &str = env!("CARGO_BIN_EXE_allowexec");

fn command(program: &str, here: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(here).env("XDG_STATE_HOME", here.join("state")).env("SHELL", "/bin/bash");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALLOW") || name == "CLAUDE_CODE_SHELL" {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts it while no test writes a script.
fn started(command: &mut Command) -> Child {
    let _quiet = spawning();
    command.spawn().unwrap()
}

/// Runs it to its end.
fn ended(command: &mut Command) -> Output {
    started(command).wait_with_output().unwrap()
}

/// The event of an agent for a line in this directory.
fn event(agent: &str, line: &str, here: &Path) -> Value {
    let input = json!({"command": line, "description": "d"});
    match agent {
        "copilot" => json!({"toolName": "bash", "toolArgs": input, "cwd": here}),
        "gemini" => {
            json!({"hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "tool_input": input, "cwd": here})
        }
        "cursor" => json!({"hook_event_name": "beforeShellExecution", "command": line, "cwd": here}),
        "opencode" => json!({"tool": "bash", "args": input, "cwd": here}),
        _ => json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input, "cwd": here}),
    }
}

/// The status, the answer and the errors of `hook`.
fn hook(here: &Path, arguments: &str, event: &Value) -> (Option<i32>, Value, String) {
    let mut child = started(command(PROGRAM, here).arg("hook").args(arguments.split(' ')));
    let _ = child.stdin.take().unwrap().write_all(event.to_string().as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let answer = if stdout.is_empty() { Value::Null } else { serde_json::from_slice(&stdout).unwrap() };
    (status.code(), answer, String::from_utf8(stderr).unwrap())
}

/// The decision in an answer, the reason, and the command that replaces the line.
fn read(agent: &str, answer: &Value) -> (String, String, Option<String>) {
    let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let inner = "/hookSpecificOutput";
    let (decision, reason, replaced) = match agent {
        "copilot" => (
            "/permissionDecision".to_owned(),
            "/permissionDecisionReason".to_owned(),
            "/modifiedArgs/command".to_owned(),
        ),
        "gemini" => ("/decision".to_owned(), "/reason".to_owned(), format!("{inner}/tool_input/command")),
        "cursor" => ("/permission".to_owned(), "/agent_message".to_owned(), "/none".to_owned()),
        "opencode" => ("/decision".to_owned(), "/reason".to_owned(), "/args/command".to_owned()),
        _ => (
            format!("{inner}/permissionDecision"),
            format!("{inner}/permissionDecisionReason"),
            format!("{inner}/updatedInput/command"),
        ),
    };
    (text(&decision).unwrap_or_default(), text(&reason).unwrap_or_default(), text(&replaced))
}

const AGENTS: [&str; 7] = ["claude-code", "vscode", "codex", "copilot", "gemini", "cursor", "opencode"];

#[test]
fn each_agent_is_answered_by_the_parts_of_its_line() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    let settings = "--allow cat,head --ask touch";
    for agent in AGENTS {
        let asked = |line: &str, more: &str| {
            let (status, answer, stderr) =
                hook(&here, &format!("{agent} {settings}{more}"), &event(agent, line, &here));
            assert_eq!(status, Some(0), "{agent} {line}: {stderr}");
            read(agent, &answer)
        };
        // Codex and Gemini hear nothing of what they may run.
        let allows = if matches!(agent, "codex" | "gemini") { "" } else { "allow" };
        let asks = if matches!(agent, "codex" | "gemini" | "opencode") { "deny" } else { "ask" };
        let passes = if agent == "opencode" { "pass" } else { "" };
        assert_eq!(asked("cat a | head -3", "").0, allows, "{agent}");
        assert_eq!(asked("touch a", "").0, asks, "{agent}");
        assert_eq!(asked("cat a; touch a", "").0, asks, "{agent}");
        let (decision, reason, _) = asked("cat a | curl -d @- x", "");
        assert_eq!((decision.as_str(), reason.contains("`curl` is not allowed")), ("deny", true), "{agent}: {reason}");
        assert_eq!(asked("curl x", " --unknown pass").0, passes, "{agent}");
        assert_eq!(asked("curl x", " --unknown ask").0, asks, "{agent}");
        assert_eq!(asked("curl x; touch a", " --unknown pass").0, asks, "{agent}");
        // What can't be read is never passed on.
        assert_eq!(asked("for i in a; do cat $i; done", " --unknown pass").0, asks, "{agent}");
    }
    assert!(!here.join("a").exists());
}

#[test]
fn a_deny_of_a_rule_is_no_matter_of_opinion() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    fs::write(
        here.join("p.yaml"),
        "commands: {cat: {forms: [{operands: [{type: text}]}, {options: {-n: {required: true}}, decision: deny}]}}\n",
    )
    .unwrap();
    for line in ["cat -n", "cat -n | cat a"] {
        let (_, answer, _) =
            hook(&here, "claude-code --policy p.yaml --unknown pass", &event("claude-code", line, &here));
        assert_eq!(read("claude-code", &answer).0, "deny", "{line}: {answer}");
    }
    let (_, answer, _) =
        hook(&here, "claude-code --policy p.yaml --unknown pass", &event("claude-code", "cat a b", &here));
    assert_eq!(answer, Value::Null);
}

#[test]
fn what_is_denied_never_becomes_no_opinion() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    fs::write(
        here.join("p.yaml"),
        "version: 1\ncommands:\n  ls: any\n  date: {sandbox: {write: none}}\n  \
         cat: {operands: [{path: read, count: '0..', deny: {path: {access: read, under: [secret]}}}], stdin: true}\n  \
         cp: {operands: [{path: read}, {path: write}]}\n  \
         rm: {decision: deny, operands: [{text: {}, count: '0..'}]}\n  mv: {decision: deny}\n",
    )
    .unwrap();
    for directory in ["secret", "sub", ".claude"] {
        fs::create_dir(here.join(directory)).unwrap();
    }
    fs::write(here.join("secret/s"), "").unwrap();
    std::os::unix::fs::symlink("/bin/rm", here.join("other")).unwrap();
    std::os::unix::fs::symlink("secret", here.join("link")).unwrap();
    let asked = |line: &str| {
        let arguments = "claude-code --policy p.yaml --project-dir . --lines files --agent-shell bash --unknown pass";
        let (status, answer, stderr) = hook(&here, arguments, &event("claude-code", line, &here));
        assert_eq!(status, Some(0), "{line}: {stderr}");
        read("claude-code", &answer).0
    };
    for (line, expected) in [
        // What nothing describes.
        ("curl x", ""),
        ("curl x; ls", ""),
        ("cp ../a b", ""),
        // Redirections.
        ("cat < secret/s", "deny"),
        ("cat < secret/s; ls", "deny"),
        ("curl x < secret/s", ""),
        ("ls > .git/hooks/x", "deny"),
        ("curl x > .claude/settings.json", "deny"),
        ("(curl x) > .claude/settings.json", "deny"),
        ("curl x; ls > .claude/settings.json", "deny"),
        ("ls; ls > .claude/settings.json", "deny"),
        ("date > x", "deny"),
        ("ls > /etc/cron.d/x", "ask"),
        ("curl x > $NOVAR", "ask"),
        // Paths among arguments.
        ("cp a .claude/settings.json", "deny"),
        ("cp a ../b", "ask"),
        // After another command.
        ("ls; cat secret/s", "deny"),
        ("ls nosuch || cat secret/s", "deny"),
        ("ls; rm *", "deny"),
        ("curl x; cat f", "ask"),
        ("ls; cat f", "ask"),
        // Words that are not known.
        ("rm $NOVAR", "deny"),
        ("cat $NOVAR secret/s", "deny"),
        ("cat $NOVAR", "ask"),
        ("ls $NOVAR", "ask"),
        // Words that the rule does not describe.
        ("cat --weird secret/s", "ask"),
        ("cat ../x secret/s", "ask"),
        ("cat ../x", ""),
        ("rm -rf x", "deny"),
        ("mv a b", "deny"),
        // Another directory than the one that is known.
        ("cd link && cat s", "ask"),
        ("ls && cd sub; curl s", "ask"),
        // The same program.
        ("/bin/rm x", "deny"),
        ("./other x", "deny"),
        ("ls; /bin/rm x", "deny"),
        ("/bin/cat secret/s", "deny"),
        ("/bin/cat f", ""),
    ] {
        assert_eq!(asked(line), expected, "{line}");
    }
    // Where the event's directory is not allowed.
    let elsewhere = |line: &str| {
        let arguments = "claude-code --policy p.yaml --cwd-root sub --agent-shell bash --unknown pass";
        let (_, answer, stderr) = hook(&here, arguments, &event("claude-code", line, &here));
        (read("claude-code", &answer).0, stderr)
    };
    for (line, expected) in [("cat f", "ask"), ("rm f", "ask"), ("/bin/rm f", "ask"), ("ls; rm f", "ask"), ("curl", "")]
    {
        assert_eq!(elsewhere(line), (expected.to_owned(), String::new()), "{line}");
    }
}

#[test]
fn whatever_goes_wrong_blocks_with_a_reason() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    for agent in AGENTS {
        let good = event(agent, "cat a", &here);
        for (arguments, event, said) in [
            (format!("{agent} --allow cat --config missing.yaml"), good.clone(), "missing.yaml"),
            (format!("{agent} --allow cat --audit {}", here.display()), good.clone(), "audit log"),
            (format!("{agent} --allow cat"), json!([]), "no `event`"),
            (format!("{agent} --alow cat"), good.clone(), "--alow"),
        ] {
            let (status, answer, stderr) = hook(&here, &arguments, &event);
            assert_eq!((status, stderr.contains(said)), (Some(2), true), "{arguments}: {answer} {stderr}");
        }
    }
    // An event that never ends is not waited for.
    let mut child = started(command(PROGRAM, &here).args(["hook", "claude-code", "--allow", "cat"]));
    let held = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(held);
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true));
}

#[test]
fn an_answer_that_nobody_can_read_blocks() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    fs::write(here.join("file"), "").unwrap();
    for (agent, line) in [("claude-code", "id"), ("claude-code", "cat a"), ("gemini", "id"), ("cursor", "id")] {
        for output in [">&-", ">/dev/null", "1<file", ">/dev/full"] {
            let hook = format!("exec {PROGRAM} hook {agent} --allow cat {output}");
            let mut child = started(command("/bin/sh", &here).args(["-c", &hook]));
            child.stdin.take().unwrap().write_all(event(agent, line, &here).to_string().as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!((output.status.code(), said.contains("blocks this")), (Some(2), true), "{agent} {hook}: {said}");
        }
    }
}

/// Runs the command as an agent's shell does.
fn in_shell(shell: &str, here: &Path, line: &str) -> (Option<i32>, String, String) {
    let output = ended(command(shell, here).args(["-c", line]).stdin(Stdio::null()));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn what_replaces_a_line_runs_what_was_decided() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    fs::write(here.join("a"), "1\n2\n3\n").unwrap();
    let settings = "--allow cat,head,echo --ask touch --lines files --audit log";
    let line = "cat a | head -2; echo 'it''s $HOME \"x\"' > out";
    for agent in AGENTS.into_iter().filter(|agent| *agent != "cursor") {
        let (status, answer, stderr) =
            hook(&here, &format!("{agent} --rewrite {settings}"), &event(agent, line, &here));
        assert_eq!(status, Some(0), "{agent}: {stderr}");
        let (_, _, replaced) = read(agent, &answer);
        let replaced = replaced.unwrap_or_else(|| panic!("{agent}: {answer}"));
        for shell in ["/bin/sh", "/bin/bash", "/bin/zsh"].into_iter().filter(|shell| Path::new(shell).exists()) {
            let _ = fs::remove_file(here.join("out"));
            assert_eq!(
                in_shell(shell, &here, &replaced),
                (Some(0), "1\n2\n".to_owned(), String::new()),
                "{agent} {shell}"
            );
            assert_eq!(fs::read_to_string(here.join("out")).unwrap(), "its $HOME \"x\"\n");
        }
    }
    let log = fs::read_to_string(here.join("log")).unwrap();
    assert!(log.contains("\"tool\":\"hook\"") && log.contains("\"tool\":\"run\""), "{log}");
    // The other arguments of the tool stay.
    let (_, answer, _) =
        hook(&here, &format!("claude-code --rewrite {settings}"), &event("claude-code", "cat a", &here));
    assert_eq!(answer["hookSpecificOutput"]["updatedInput"]["description"], "d");
}

#[test]
fn a_hook_and_what_replaces_a_line_measure_paths_by_the_same_directory() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path().canonicalize().unwrap();
    let (here, other) = (root.join("project"), root.join("other"));
    fs::create_dir(&here).unwrap();
    fs::create_dir(&other).unwrap();
    fs::write(other.join("secret"), "secret\n").unwrap();
    fs::write(here.join("p.yaml"), "commands: {true: any, cat: {stdin: true, operands: [{path: read}]}}\n").unwrap();
    let line = "true; cat secret";
    // The directory is one that the model has chosen.
    let mut asked = event("gemini", line, &here);
    asked["tool_input"]["dir_path"] = other.to_str().unwrap().into();
    let (_, answer, said) = hook(&here, "gemini --rewrite --policy p.yaml --lines files", &asked);
    let (decision, _, _) = read("gemini", &answer);
    assert_eq!(decision, "deny", "{answer} {said}");
    // The line was decided where the hook was started; run elsewhere it finds nothing.
    let (_, answer, said) =
        hook(&here, "gemini --rewrite --policy p.yaml --lines files", &event("gemini", line, &here));
    let (_, _, rewritten) = read("gemini", &answer);
    let rewritten = rewritten.unwrap_or_else(|| panic!("{answer} {said}"));
    let (status, out, said) = in_shell("sh", &other, &rewritten);
    assert!(status != Some(0) && !out.contains("secret"), "{status:?} {out} {said}");
    // Nothing is measured by the root of the file system.
    let mut at_root = event("gemini", "cat /etc/hostname", &here);
    at_root["cwd"] = "/".into();
    let policy = here.join("p.yaml");
    let (_, answer, said) = hook(Path::new("/"), &format!("gemini --rewrite --policy {}", policy.display()), &at_root);
    assert!(format!("{answer} {said}").contains("the hook was started in `/`"), "{answer} {said}");
}

#[test]
fn what_a_person_approved_runs_once_in_its_directory() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    fs::create_dir(here.join("other")).unwrap();
    let replaced = || {
        let (_, answer, stderr) =
            hook(&here, "claude-code --rewrite --ask touch", &event("claude-code", "touch made", &here));
        let (decision, _, replaced) = read("claude-code", &answer);
        assert_eq!(decision, "ask", "{answer} {stderr}");
        replaced.unwrap()
    };
    let command = replaced();
    assert_eq!(in_shell("/bin/sh", &here, &command).0, Some(0));
    assert!(here.join("made").exists());
    fs::remove_file(here.join("made")).unwrap();
    let (status, _, stderr) = in_shell("/bin/sh", &here, &command);
    assert_eq!((status, stderr.contains("nobody has approved")), (Some(126), true), "{stderr}");
    let command = replaced();
    assert_eq!(in_shell("/bin/sh", &here, &format!("cd other && {command}")).0, Some(126));
    let command = replaced().replace("touch made", "touch more");
    assert_eq!(in_shell("/bin/sh", &here, &command).0, Some(126));
    assert!(!here.join("made").exists() && !here.join("more").exists() && !here.join("other/made").exists());
}

#[test]
fn an_approval_is_good_in_its_directory_however_the_event_writes_it() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    fs::create_dir_all(here.join("p/d")).unwrap();
    std::os::unix::fs::symlink("p", here.join("link")).unwrap();
    for (place, written) in ["p", "p/", "p/.", "p/d/..", "link", "link/d/..", "./link/"].into_iter().enumerate() {
        let line = format!("touch made{place}");
        let of_event = event("claude-code", &line, Path::new(&format!("{}/{written}", here.display())));
        let (_, answer, stderr) = hook(&here, "claude-code --rewrite --ask touch", &of_event);
        let (decision, _, replaced) = read("claude-code", &answer);
        assert_eq!(decision, "ask", "{answer} {stderr}");
        let ran = in_shell("/bin/sh", &here, &format!("cd {written} && {}", replaced.unwrap()));
        assert_eq!((ran.0, here.join(format!("p/made{place}")).exists()), (Some(0), true), "{written}: {}", ran.2);
    }
}

#[test]
fn without_rewriting_nothing_is_allowed_where_the_event_does_not_tell_the_shell_or_the_directory() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    let decision = |agent: &str, event: &Value| read(agent, &hook(&here, &format!("{agent} --allow cat"), event).1).0;
    for (field, value) in [("shell", json!("fish")), ("env", json!({"PATH": "/tmp"})), ("environment", json!([]))] {
        let mut event = event("opencode", "cat a", &here);
        assert_eq!(decision("opencode", &event), "allow");
        event["args"][field] = Value::Null;
        assert_eq!(decision("opencode", &event), "allow", "{field}");
        event["args"][field] = value;
        assert_eq!(decision("opencode", &event), "deny", "{field}");
        // What replaces the line would be read by that shell, or with these variables.
        let rewritten = hook(&here, "opencode --rewrite --allow cat", &event).1;
        assert_eq!(rewritten["decision"], "deny", "{field}");
        event["args"][field] = json!({});
        assert_eq!(decision("opencode", &event), "allow", "{field}");
    }
    // Codex tells a hook neither the directory nor the shell of a call.
    let mut event = event("codex", "cat a", &here);
    event["hook_event_name"] = "PermissionRequest".into();
    let (status, answer, _) = hook(&here, "codex --allow cat", &event);
    assert_eq!((status, answer), (Some(0), Value::Null));
}

#[test]
fn a_gate_allows_nothing_in_a_shell_that_copilot_may_have_started_elsewhere() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    let mut event = event("copilot", "cat a", &here);
    let decision = |flags: &str, event: &Value| read("copilot", &hook(&here, &format!("copilot {flags}"), event).1).0;
    assert_eq!(decision("--allow cat", &event), "allow");
    event["toolArgs"]["shellId"] = Value::Null;
    assert_eq!(decision("--allow cat", &event), "allow");
    event["toolArgs"]["shellId"] = "build".into();
    assert_eq!(decision("--allow cat", &event), "deny");
    // What replaces the line decides in the directory in which it starts.
    assert_eq!(decision("--rewrite --allow cat", &event), "allow");
}

#[test]
fn codex_asks_again_about_what_replaced_its_line_and_only_that_is_known() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    let settings = "codex --rewrite --allow cat";
    let (_, answer, _) = hook(&here, settings, &event("codex", "cat a", &here));
    let (_, _, replaced) = read("codex", &answer);
    let replaced = replaced.unwrap();
    let again = |line: &str| {
        let mut event = event("codex", line, &here);
        event["hook_event_name"] = "PermissionRequest".into();
        let (_, answer, _) = hook(&here, settings, &event);
        answer.pointer("/hookSpecificOutput/decision/behavior").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    assert_eq!(again(&replaced), "allow");
    for other in
        ["cat a".to_owned(), replaced.replace("cat a", "rm a"), format!("{replaced}; id"), format!(" {replaced}")]
    {
        assert_eq!(again(&other), "deny", "{other}");
    }
}

#[test]
fn the_decision_is_that_of_check() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    let settings = ["--allow", "cat,head,echo,wc", "--ask", "touch", "--lines", "on"];
    for line in [
        "cat a",
        "cat a | wc -l",
        "cat a && touch b",
        "touch b",
        "id",
        "cat a; id",
        "echo $(id)",
        "echo '",
        "",
        "cd / && cat a",
        "echo *",
        "cat < a",
        "cat a > b",
        "cat a 2>&1",
        "(cat a; echo b) | wc",
        "! cat a",
        "echo $HOME",
        "echo $NOTSET",
        "A=b cat a",
        "./cat a",
    ] {
        let mut check = command(PROGRAM, &here);
        check.arg("check").args(settings).args(["--in", here.to_str().unwrap(), "--", line]);
        let checked = ended(&mut check).status.code();
        let (_, answer, stderr) =
            hook(&here, &format!("claude-code --rewrite {}", settings.join(" ")), &event("claude-code", line, &here));
        let decided = match read("claude-code", &answer).0.as_str() {
            "allow" => Some(0),
            "deny" => Some(1),
            "ask" => Some(3),
            other => panic!("{line}: {other} {stderr}"),
        };
        // `check` takes no empty line.
        assert!(
            decided == checked || (line.is_empty() && decided == Some(1)),
            "{line}: {decided:?} {checked:?} {answer}"
        );
    }
}

#[test]
fn setup_prints_a_hook_that_answers() {
    let here = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(here.path()).unwrap();
    for agent in AGENTS {
        let mut setup = command(PROGRAM, &here);
        setup.args(["setup", agent, "--hook", "--json", "--allow", "cat"]).env("HOME", &here);
        let output = ended(&mut setup);
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        let snippet = printed["snippet"].as_str().unwrap();
        if agent == "opencode" {
            assert!(snippet.contains("tool.execute.before") && snippet.contains("throw new Error"), "{snippet}");
            continue;
        }
        let hooks: Value = serde_json::from_str(snippet).unwrap();
        let text = hooks.to_string();
        let (_, from) = text.split_once("\"bash\":\"").or_else(|| text.split_once("\"command\":\"")).unwrap();
        let line = from.split('"').next().unwrap();
        assert!(line.ends_with(" || exit 2"), "{line}");
        let mut child = started(command("/bin/sh", &here).args(["-c", line]));
        child.stdin.take().unwrap().write_all(event(agent, "id", &here).to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(read(agent, &answer).0, "deny", "{agent}: {answer}");
        let mut broken = command("/bin/sh", &here);
        broken.args(["-c", &line.replace(PROGRAM, "/nonexistent/allowexec")]);
        assert_eq!(ended(broken.stdin(Stdio::null())).status.code(), Some(2), "{agent}");
    }
}

#[test]
fn the_shell_is_the_one_that_the_agent_takes_in_its_environment() {
    let here = tempfile::tempdir().unwrap();
    let fish = |directory: &str| {
        fs::create_dir(here.path().join(directory)).unwrap();
        let fish = here.path().join(directory).join("fish");
        std::os::unix::fs::symlink("/bin/true", &fish).unwrap();
        fish.to_str().unwrap().to_owned()
    };
    let (of_zshara, of_bash) = (fish("zshara"), fish("bash"));
    let decides = |agent: &str, tool: &str, variables: &[(&str, &str)]| {
        let mut command = command(PROGRAM, here.path());
        command.args(["hook", agent, "--allow", "pwd"]).env_remove("SHELL").envs(variables.iter().copied());
        let mut child = started(&mut command);
        let mut event = event(agent, "pwd", here.path());
        if !tool.is_empty() {
            event["tool_name"] = tool.into();
        }
        let _ = child.stdin.take().unwrap().write_all(event.to_string().as_bytes());
        read(agent, &serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()).0 == "allow"
    };
    for (agent, tool, variables, allows) in [
        // Claude Code finds a bash or a zsh wherever no program's path looks like one.
        ("claude-code", "", &[][..], true),
        ("claude-code", "", &[("SHELL", "/usr/bin/fish")], true),
        ("claude-code", "", &[("CLAUDE_CODE_SHELL", "/opt/fish"), ("SHELL", "/bin/zsh")], true),
        ("claude-code", "", &[("SHELL", "/missing/zshara/bin/fish")], true),
        ("claude-code", "", &[("SHELL", &of_zshara)], false),
        ("claude-code", "", &[("CLAUDE_CODE_SHELL", &of_bash), ("SHELL", "/bin/bash")], false),
        ("claude-code", "", &[("CLAUDE_CODE_SHELL", "/missing/bash"), ("SHELL", &of_zshara)], false),
        // VS Code reads the hooks of Claude Code, and types into the user's shell.
        ("claude-code", "run_in_terminal", &[], false),
        ("claude-code", "run_in_terminal", &[("SHELL", "/usr/bin/fish")], false),
        ("claude-code", "run_in_terminal", &[("SHELL", "/bin/bash")], true),
        ("copilot", "", &[("SHELL", "/usr/bin/fish")], true),
        ("vscode", "", &[], false),
        ("vscode", "", &[("SHELL", "/usr/bin/fish"), ("CLAUDE_CODE_SHELL", "/bin/bash")], false),
        ("vscode", "", &[("SHELL", "/usr/bin/zsh")], true),
    ] {
        assert_eq!(decides(agent, tool, variables), allows, "{agent} {tool} {variables:?}");
    }
}
