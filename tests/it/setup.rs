//! `allowexec setup`: what it prints is read by a parser of its format, and started as written it answers `initialize`.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const CLIENTS: [&str; 9] =
    ["claude-code", "claude-desktop", "codex", "copilot", "cursor", "gemini", "opencode", "vscode", "zed"];

fn setup(directory: &Path, home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.arg("setup").args(arguments).current_dir(directory).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("HOME", home).output().unwrap()
}

/// What it prints, without the lines that explain.
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect()
}

/// The server's words in the client's own command, or in the part of its file.
fn server(client: &str, printed: &str) -> Vec<String> {
    let words = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let of = |entry: &Value| [vec![entry["command"].as_str().unwrap().to_owned()], words(&entry["args"])].concat();
    let line = || shlex::split(printed).unwrap();
    let behind = |before: &[&str]| {
        let line = line();
        assert_eq!(line[..before.len()], *before);
        line[before.len()..].to_vec()
    };
    let file = || serde_json::from_str::<Value>(printed).unwrap();
    match client {
        "claude-code" => behind(&["claude", "mcp", "add", "allowexec", "--"]),
        "codex" | "copilot" | "opencode" => behind(&[client, "mcp", "add", "allowexec", "--"]),
        "gemini" => {
            let mut words = behind(&["gemini", "mcp", "add", "--scope", "user", "allowexec"]);
            assert_eq!(words.remove(1), "--");
            words
        }
        "vscode" => {
            let words = behind(&["code", "--add-mcp"]);
            let entry: Value = serde_json::from_str(&words[0]).unwrap();
            assert_eq!((words.len(), &entry["name"]), (1, &json!("allowexec")));
            of(&entry)
        }
        "zed" => of(&file()["context_servers"]["allowexec"]),
        _ => of(&file()["mcpServers"]["allowexec"]),
    }
}

/// Starts a server by its words in another directory, and asks it for itself.
fn answers(words: &[String]) {
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .current_dir("/")
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let info = json!({"name": "test", "version": "0"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{request}").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    drop(input);
    child.wait().unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{words:?}: {line} {error}"));
    assert_eq!(answer["result"]["serverInfo"]["name"], "allowexec", "{words:?}");
}

#[test]
fn what_is_printed_for_each_client_starts_the_server_from_another_directory() {
    let place = tempfile::tempdir().unwrap();
    // What each of the languages quotes in its own way.
    let project = dunce::canonicalize(place.path()).unwrap().join("it's \"a\" $HOME \\ é");
    fs::create_dir_all(project.join("sub")).unwrap();
    fs::write(project.join("tool"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(project.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(project.join("p.yaml"), "version: 1\ncommands: {cat: any}\n").unwrap();
    let flags =
        ["--allow", "ls,./tool", "--cwd-root", ".,sub", "--policy", "./p.yaml", "--timeout", "5s", "--structured"];
    let root = project.display();
    let expected = [
        "--allow".to_owned(),
        format!("ls,{root}/tool"),
        "--cwd-root".to_owned(),
        format!("{root},{root}/sub"),
        "--policy".to_owned(),
        format!("{root}/p.yaml"),
        "--timeout".to_owned(),
        "5s".to_owned(),
        "--structured".to_owned(),
    ];
    for client in CLIENTS {
        let output = setup(&project, place.path(), &[&[client], flags.as_slice()].concat());
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{client}");
        let words = server(client, &printed(&output));
        assert!(Path::new(&words[0]).is_absolute());
        assert_eq!(words[1..], expected, "{client}");
        answers(&words);
    }
    // Nobody's files are made.
    assert!(fs::read_dir(place.path()).unwrap().all(|entry| entry.unwrap().path() == project));
}

#[test]
fn the_part_of_a_file_is_printed_on_demand_and_the_toml_is_read_by_tomllib() {
    let place = tempfile::tempdir().unwrap();
    let project = dunce::canonicalize(place.path()).unwrap().join("a \"b\" \\ é");
    fs::create_dir_all(&project).unwrap();
    let flags = ["--allow", "ls", "--cwd-root", "."];
    let typed = ["claude-code", "copilot", "gemini"].map(|client| (client, "mcpServers"));
    for (client, key) in typed.into_iter().chain([("vscode", "servers")]) {
        let output = setup(&project, place.path(), &[&[client, "--snippet"], flags.as_slice()].concat());
        assert!(!String::from_utf8_lossy(&output.stdout).contains("--scope"), "that is of the command alone");
        let file: Value = serde_json::from_str(&printed(&output)).unwrap();
        let entry = &file[key]["allowexec"];
        assert_eq!(entry["args"], json!(["--allow", "ls", "--cwd-root", project.to_str().unwrap()]), "{client}");
        assert_eq!(entry["tools"], if client == "copilot" { json!(["*"]) } else { Value::Null });
    }
    let output = setup(&project, place.path(), &[&["opencode", "--snippet"], flags.as_slice()].concat());
    let file: Value = serde_json::from_str(&printed(&output)).unwrap();
    let command = file["mcp"]["allowexec"]["command"].as_array().unwrap();
    assert_eq!(command[1..], ["--allow", "ls", "--cwd-root", project.to_str().unwrap()]);
    let output = setup(&project, place.path(), &[&["codex", "--snippet"], flags.as_slice()].concat());
    let expected_file = format!("{}/.codex/config.toml", place.path().display());
    assert!(String::from_utf8_lossy(&output.stdout).contains(&expected_file));
    let toml = project.join("config.toml");
    // As it is, with the lines that explain: they are comments.
    fs::write(&toml, &output.stdout).unwrap();
    let read = "import json, sys, tomllib; print(json.dumps(tomllib.load(open(sys.argv[1], 'rb'))))";
    let python = Command::new("python3").args(["-c", read]).arg(&toml).output();
    let python = match python {
        Ok(python) if python.status.success() => python,
        other => {
            let has_tomllib =
                Command::new("python3").args(["-c", "import tomllib"]).status().is_ok_and(|s| s.success());
            assert!(!has_tomllib, "{other:?}");
            println!("not shown: there is no Python with tomllib to read the TOML");
            return;
        }
    };
    let file: Value = serde_json::from_slice(&python.stdout).unwrap();
    let entry = &file["mcp_servers"]["allowexec"];
    assert_eq!(entry["args"], json!(["--allow", "ls", "--cwd-root", project.to_str().unwrap()]));
    answers(&[vec![entry["command"].as_str().unwrap().to_owned()], vec!["--allow".into(), "ls".into()]].concat());
}

#[test]
fn nothing_of_a_path_controls_the_terminal_and_the_words_stay_the_same() {
    let place = tempfile::tempdir().unwrap();
    let project = dunce::canonicalize(place.path()).unwrap().join("\u{1b}]0;x\u{7}\u{202e}it's\n\\1\u{9b}\u{301}“");
    fs::create_dir_all(&project).unwrap();
    let root = project.to_str().unwrap();
    for client in CLIENTS {
        for more in [&[][..], &["--snippet"], &["--json"]] {
            let output = setup(&project, &project, &[&[client, "--allow", "ls", "--cwd-root", "."], more].concat());
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            let is_shown = |c: char| c == '\n' || !c.is_control() && !"\u{202e}\u{301}“".contains(c);
            assert_eq!(text.chars().find(|c| !is_shown(*c)), None, "{client} {more:?}: {text:?}");
        }
    }
    // Only these shells are sure to have this kind of quotes.
    let output = setup(&project, place.path(), &["codex", "--allow", "ls", "--cwd-root", "."]);
    let line = printed(&output);
    let read =
        Command::new("bash").args(["-c", &format!("codex() {{ printf '%s\\0' \"$@\"; }}; {line}")]).output().unwrap();
    let words = String::from_utf8(read.stdout).unwrap();
    assert!(words.split('\0').any(|word| word == root), "{line}");
}

#[test]
fn relative_paths_of_the_file_become_flags_and_what_serve_refuses_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let project = dunce::canonicalize(place.path()).unwrap();
    fs::write(project.join("allowexec.yaml"), "allow: [ls]\ncwd_root: [.]\nworkspace_dir: /\ntimeout: 5s\n").unwrap();
    let run = |arguments: &[&str]| setup(&project, &project, arguments);
    let output = run(&["cursor", "--config", "allowexec.yaml", "--json"]);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let root = project.to_str().unwrap();
    let config = format!("{root}/allowexec.yaml");
    assert_eq!(printed["server"]["args"], json!(["--config", config, "--cwd-root", root]));
    assert_eq!(printed["file"], json!(format!("{root}/.cursor/mcp.json")));
    assert_eq!(printed["command"], Value::Null);

    let refused = |arguments: &[&str], expected: &str| {
        let output = run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
        assert!(error.contains(expected), "{error}");
    };
    refused(&["cursor", "--timout", "5s"], "did you mean `--timeout`?");
    refused(&["cursor", "--allow", "ls", "--timeout", "5"], "`5` has no unit");
    refused(&["cursr", "--allow", "ls"], "did you mean `cursor`?");
    refused(&["cursor", "--config", "missing.yaml"], "missing.yaml");
    let output = run(&["cursor"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no command is allowed"));
}

#[test]
fn the_list_says_which_clients_are_there() {
    let place = tempfile::tempdir().unwrap();
    let home = dunce::canonicalize(place.path()).unwrap();
    fs::create_dir_all(home.join(".cursor")).unwrap();
    let output = setup(&home, &home, &["--list", "--json"]);
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let clients = list["clients"].as_array().unwrap();
    let names: Vec<&str> = clients.iter().map(|client| client["client"].as_str().unwrap()).collect();
    assert_eq!(names, CLIENTS);
    let found = |name: &str| &clients[CLIENTS.iter().position(|client| *client == name).unwrap()]["found"];
    assert_eq!(found("cursor"), &json!(home.join(".cursor").to_str().unwrap()));
    assert_eq!(found("claude-desktop"), &Value::Null);
    let output = setup(&home, &home, &["--list"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with("claude-desktop") && line.ends_with("not found")), "{text}");
}
