//! The server alone: what every build does, whatever features it is made with. `tests/it` needs all of them.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, and clippy's own exception does not cover the helpers of tests"
)]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// Starts the program without variables that are settings.
fn program(arguments: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("ALLOWEXEC_") || name == "ALLOWED_COMMANDS" {
            program.env_remove(&*name);
        }
    }
    program.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

/// The answers of a server to these messages.
fn answers(arguments: &[&str], messages: &[Value]) -> Vec<Value> {
    let mut server = program(arguments).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    for message in messages {
        writeln!(input, "{message}").unwrap();
    }
    drop(input);
    let Output { status, stdout, stderr } = server.wait_with_output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The answer to the request with this id.
fn answer(answers: &[Value], id: u64) -> &Value {
    answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("no answer to {id} in {answers:?}"))
}

fn said(program: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = program.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn call(id: u64, line: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "execute_command", "arguments": {"command": line}}})
}

#[test]
fn a_client_of_a_legacy_revision_is_served() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": revision,
            "capabilities": {}, "clientInfo": {"name": "core", "version": "1"}}});
        let messages = [
            initialize,
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
            call(3, "echo hello"),
            call(4, "rm -rf /"),
            json!({"jsonrpc": "2.0", "id": 5, "method": "prompts/get", "params": {"name": "intro"}}),
        ];
        let answers = answers(&["--allow", "echo"], &messages);
        assert_eq!(answer(&answers, 1)["result"]["protocolVersion"], revision);
        let tools = answer(&answers, 2)["result"]["tools"].as_array().unwrap().clone();
        assert!(tools.iter().any(|tool| tool["name"] == "execute_command"), "{tools:?}");
        let ran = answer(&answers, 3)["result"].to_string();
        assert!(ran.contains("hello") && ran.contains("exit_code: 0"), "{ran}");
        let refused = &answer(&answers, 4)["result"];
        assert_eq!(refused["isError"], true);
        assert!(refused.to_string().contains("command `rm` is not allowed; allowed commands: echo"), "{refused}");
        assert!(answer(&answers, 5)["result"]["messages"].is_array());
    }
}

#[test]
fn a_client_of_the_modern_revision_is_served() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "core", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let with = |mut message: Value| {
        message["params"]["_meta"] = meta.clone();
        message
    };
    let discover = with(json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}));
    let answers = answers(&["--allow", "echo"], &[discover, with(call(2, "echo hello")), with(call(3, "ls"))]);
    assert!(answer(&answers, 1)["result"]["supportedVersions"].to_string().contains("2026-07-28"));
    assert!(answer(&answers, 2)["result"].to_string().contains("hello"));
    assert_eq!(answer(&answers, 3)["result"]["isError"], true);
}

#[test]
fn call_and_check_decide_alike() {
    let (status, stdout, _) =
        said(&mut program(&["call", "execute_command", r#"{"command":"echo hello"}"#, "--allow", "echo"]));
    assert_eq!((status, stdout.contains("hello")), (Some(0), true), "{stdout}");
    let (status, stdout, _) =
        said(&mut program(&["call", "execute_command", r#"{"command":"id"}"#, "--allow", "echo"]));
    assert_eq!((status, stdout.contains("not allowed")), (Some(1), true), "{stdout}");
    assert_eq!(said(&mut program(&["check", "--allow", "echo", "--", "echo", "hello"])).0, Some(0));
    assert_eq!(said(&mut program(&["check", "--allow", "echo", "--", "id"])).0, Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_sandbox_keeps_a_command_out_of_what_is_not_granted() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("secret");
    std::fs::write(&file, "kept out").unwrap();
    let project = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let here = project.path().to_str().unwrap();
    let arguments = json!({"command": format!("cat {}", file.display())}).to_string();
    let read = |level: &str| {
        said(&mut program(&[
            "call",
            "execute_command",
            &arguments,
            "--allow",
            "cat",
            "--project-dir",
            here,
            "--sandbox",
            level,
        ]))
    };
    let (status, stdout, stderr) = read("off");
    assert_eq!((status, stdout.contains("kept out")), (Some(0), true), "{stdout}{stderr}");
    let (_, stdout, stderr) = read("strict");
    if stderr.contains("Landlock") && stdout.is_empty() {
        println!("not shown: this kernel has no Landlock");
        return;
    }
    assert!(!stdout.contains("kept out") && stdout.contains("Permission denied"), "{stdout}{stderr}");
}

/// Makes sure that no server starts with any of these settings, and that it says what is missing, by this name.
#[cfg(not(feature = "workbench"))]
fn settings_are_missing(feature: &str, settings: &[(&str, &[&str])]) {
    for (name, setting) in settings {
        let (status, _, stderr) = said(program(&["serve", "--allow", "ls"]).args(*setting));
        let expected = format!("this build has no `{name}`; it was built without `{feature}`");
        assert_eq!((status, stderr.contains(&expected)), (Some(2), true), "{setting:?}: {stderr}");
    }
}

#[cfg(not(feature = "shell"))]
#[test]
fn a_shell_that_was_left_out_says_so_by_name() {
    settings_are_missing(
        "shell",
        &[
            ("--tools shell", &["--tools", "shell"]),
            ("--tools all", &["--tools", "all"]),
            ("--shell", &["--shell", "/bin/sh"]),
        ],
    );
    let help = said(&mut program(&["--help", "all"])).1;
    assert!(!help.contains("--shell ") && help.contains("--tools "), "{help}");
}

#[cfg(not(feature = "limits"))]
#[test]
fn limits_that_were_left_out_say_so_by_name() {
    settings_are_missing(
        "limits",
        &[
            ("--max-memory", &["--max-memory", "1GiB"]),
            ("--max-cpu", &["--max-cpu", "5s"]),
            ("--max-processes", &["--max-processes", "5"]),
            ("--max-file-size", &["--max-file-size", "1KiB"]),
            ("--max-open-files", &["--max-open-files", "20"]),
            ("--network loopback", &["--network", "loopback", "--sandbox", "strict"]),
        ],
    );
    assert!(!said(&mut program(&["--help", "all"])).1.contains("--max-memory"));
    let missing = "it was built without `limits`";
    let (status, _, stderr) = said(program(&["serve", "--allow", "ls"]).env("ALLOWEXEC_MAX_CPU", "5s"));
    assert_eq!((status, stderr.contains(missing)), (Some(2), true), "{stderr}");
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let config = file("config.yaml", "allow: [ls]\nmax_open_files: 20\n");
    let (status, _, stderr) = said(&mut program(&["serve", "--config", &config]));
    assert_eq!((status, stderr.contains(missing)), (Some(2), true), "{stderr}");
    if cfg!(feature = "rules") {
        let policy = file("policy.yaml", "commands:\n  ls:\n    limits: {cpu: 5s}\n");
        let call = ["call", "execute_command", r#"{"command":"ls"}"#, "--policy", &policy];
        let (status, stdout, _) = said(&mut program(&call));
        assert_eq!((status, stdout.contains(missing)), (Some(1), true), "{stdout}");
    }
}

#[cfg(not(feature = "rules"))]
#[test]
fn policies_that_were_left_out_say_so_by_name() {
    let program_that_asks = ["--allow", "ls", "--ask-with", "true"];
    settings_are_missing(
        "rules",
        &[
            ("--policy", &["--policy", "x"]),
            ("--profile", &["--profile", "git-readonly"]),
            ("--ask", &["--allow", "ls", "--ask", "cat"]),
            ("--ask-with", &program_that_asks),
            ("--ask-timeout", &["--allow", "ls", "--ask-timeout", "5s"]),
        ],
    );
    let several = |server: &mut Command| {
        let (status, _, stderr) = said(server);
        let expected =
            "names arguments, and this build decides by the first word alone; it was built without `rules`; name `git`";
        assert_eq!((status, stderr.contains(expected)), (Some(2), true), "{stderr}");
    };
    several(&mut program(&["serve", "--allow", "git status,ls"]));
    several(program(&["serve"]).env("ALLOWED_COMMANDS", "git status,ls"));
    let help = said(&mut program(&["--help", "all"])).1;
    assert!(!help.contains("--policy ") && !help.contains("--profile ") && !help.contains("--ask "), "{help}");
    // The first word decides.
    for (words, status) in [(&["git", "push"][..], 0), (&["ls", "-l"], 0), (&["/bin/ls"], 1), (&["id"], 1)] {
        let (found, stdout, _) = said(program(&["check", "--allow", "git,ls", "--"]).args(words));
        assert_eq!(found, Some(status), "{words:?}: {stdout}");
    }
}

#[cfg(not(feature = "lines"))]
#[test]
fn lines_that_were_left_out_say_so_by_name() {
    for subcommand in ["run", "hook"] {
        let (status, stdout, stderr) = said(&mut program(&[subcommand, "--", "ls"]));
        // A hook that answers nothing has to block, which this status does.
        assert_eq!((status, stdout.as_str()), (Some(2), ""));
        assert!(
            stderr.contains(&format!("this build has no `{subcommand}`; it was built without `lines`")),
            "{stderr}"
        );
    }
    settings_are_missing("lines", &[("--lines on", &["--lines", "on"]), ("--lines files", &["--lines", "files"])]);
    let help = said(&mut program(&["--help"])).1;
    assert!(!help.contains("hook AGENT") && help.contains("check -- COMMAND"), "{help}");
    // What is written as one command goes on.
    let call = |line: &str| {
        let arguments = json!({"command": line}).to_string();
        said(&mut program(&["call", "execute_command", &arguments, "--allow", "echo", "--lines", "off"]))
    };
    let (status, stdout, _) = call("echo 'a && b'");
    assert_eq!((status, stdout.contains("a && b")), (Some(0), true), "{stdout}");
    let (status, stdout, _) = call("echo a && echo b");
    assert_eq!((status, stdout.contains("no shell runs here")), (Some(1), true), "{stdout}");
    let checked = said(&mut program(&["check", "--allow", "echo", "--", "echo a && echo b"]));
    assert_eq!((checked.0, checked.1.starts_with("refused")), (Some(1), true), "{}", checked.1);
}

#[cfg(not(feature = "background"))]
#[test]
fn calls_in_the_background_that_were_left_out_say_so_by_name() {
    settings_are_missing(
        "background",
        &[
            ("--background", &["--background", "on"]),
            ("--hand-over", &["--hand-over", "5s"]),
            ("--max-background", &["--max-background", "1h"]),
            ("--max-background-calls", &["--max-background-calls", "3"]),
            ("--keep-output", &["--keep-output", "1MiB"]),
        ],
    );
    assert!(!said(&mut program(&["--help", "all"])).1.contains("--keep-output"));
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "core", "version": "1"}}});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let tasks = json!({"jsonrpc": "2.0", "id": 3, "method": "tasks/list"});
    let about = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call",
        "params": {"name": "read_output", "arguments": {"call": 1}}});
    let mut later = call(5, "echo later");
    later["params"]["arguments"]["background"] = json!(true);
    let answers = answers(&["serve", "--allow", "echo"], &[initialize, list, tasks, about, later, call(6, "echo now")]);
    let capabilities = &answer(&answers, 1)["result"]["capabilities"];
    assert!(capabilities["tools"].is_object() && capabilities["tasks"].is_null(), "{capabilities}");
    let tools = answer(&answers, 2)["result"]["tools"].to_string();
    assert!(tools.contains("execute_command") && !tools.contains("read_output"), "{tools}");
    assert!(!tools.contains("background"), "{tools}");
    assert_eq!(answer(&answers, 3)["error"]["code"], -32601);
    assert_eq!(answer(&answers, 4)["error"]["code"], -32602);
    let (later, now) = (&answer(&answers, 5)["result"], &answer(&answers, 6)["result"]);
    assert!(
        later["isError"] == true && later["content"][0]["text"].as_str().unwrap().contains("background"),
        "{later}"
    );
    assert!(now["content"][0]["text"].as_str().unwrap().contains("stdout: |\n  now\n"), "{now}");
}

#[cfg(not(feature = "evidence"))]
#[test]
fn evidence_that_was_left_out_says_so_by_name() {
    let without = "it was built without `evidence`";
    for subcommand in ["audit", "lock"] {
        let (status, _, stderr) = said(&mut program(&[subcommand]));
        assert_eq!(status, Some(2));
        assert!(stderr.contains(&format!("this build has no `{subcommand}`; {without}")), "{stderr}");
    }
    settings_are_missing(
        "evidence",
        &[("--audit", &["--audit", "x"]), ("--lock", &["--lock", "x"]), ("--trust", &["--trust", "owner"])],
    );
    assert!(!std::path::Path::new("x").exists());
}

#[cfg(not(feature = "evidence"))]
#[test]
fn a_host_that_demands_evidence_runs_nothing() {
    use allowexec::config::{Config, Surroundings};
    use allowexec::server::{DrainTime, Parts, Server};
    let plain = Config::builder(Surroundings::of_this_process().unwrap()).allow(["echo"]).build().unwrap();
    let (mut audited, mut locked) = (plain.clone(), plain.clone());
    audited.audit.value = Some("x".into());
    locked.lock.value = Some("x".into());
    let mut messages = Vec::new();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "core", "version": "1"}}});
    for message in [initialize, call(2, "echo hello")] {
        writeln!(messages, "{message}").unwrap();
    }
    for (config, runs) in [(&plain, true), (&audited, false), (&locked, false)] {
        let mut output = Vec::new();
        let server = Server::new(Parts::new(config), DrainTime::FOR_CLIENTS, Box::new(|_| ()), &mut output);
        server.serve(std::io::Cursor::new(messages.clone())).unwrap();
        let output = String::from_utf8(output).unwrap();
        assert_eq!(output.contains("hello"), runs, "{output}");
        assert!(runs || output.contains("it was built without `evidence`"), "{output}");
    }
    assert!(!std::path::Path::new("x").exists());
}

#[cfg(not(feature = "workbench"))]
#[test]
fn a_workbench_that_was_left_out_says_so_by_name() {
    let without = "it was built without `workbench`";
    for subcommand in
        ["policy", "init", "setup", "doctor", "record", "replay", "review", "mock", "lint", "report", "man"]
    {
        let (status, _, stderr) = said(&mut program(&[subcommand, "x"]));
        assert_eq!(status, Some(2));
        assert!(stderr.contains(&format!("this build has no `{subcommand}`; {without}")), "{stderr}");
    }
    settings_are_missing("workbench", &[("--record", &["--record", "x"])]);
    assert!(!said(&mut program(&["-h"])).1.contains("replay"));
}
