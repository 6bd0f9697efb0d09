//! What only Windows has: job objects, endings and case of names, its own rules for words, batch files.
//!
//! `tests/windows/run.sh` runs it under Wine on Linux; the continuous integration of Windows runs it as it is. The program that
//! the commands run is the example `probe` (`tests/windows/probe.rs`), which `cargo test` builds beside the tests.

#![cfg(windows)]

use std::fs;
use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::Duration;

use crate::support::place::{Place, TREE, assert_tree_is_gone, error, is_alive, lines, wait_for_tree, wait_until};
use crate::support::server::DEADLINE;
use crate::support::{Server, modern_meta};
use serde_json::{Value, json};

/// What came of `execute_process`.
fn process(server: &mut Server, file: &str, args: &[&str]) -> Value {
    server.call("execute_process", json!({"file": file, "args": args}))
}

/// What came of `execute_command`.
fn command(server: &mut Server, command: &str) -> Value {
    server.call("execute_command", json!({"command": command}))
}

#[test]
fn arguments_arrive_as_they_were_given() {
    let place = Place::new();
    let mut server = place.server(&["--allow", "probe"]);
    let words = ["a b", "", "\"", r"C:\dir\", r#"x\"y"#, "%PATH%", "^&|<>!", "é 日本", "a\tb"];
    let arguments: Vec<&str> = std::iter::once("args").chain(words).collect();
    let result = process(&mut server, "probe", &arguments);
    assert_eq!(lines(&result), words.map(|word| format!("{word:?}")));
}

#[test]
fn a_backslash_is_an_ordinary_character_of_a_command() {
    let place = Place::new();
    let mut server = place.server(&["--allow", "probe"]);
    let result = command(&mut server, r#"probe args C:\Users\me "C:\Program Files\\" 'a b' "" "a && b""#);
    assert_eq!(
        lines(&result),
        [r"C:\Users\me", r"C:\Program Files\", "'a", "b'", "", "a && b"].map(|word| format!("{word:?}"))
    );
}

#[test]
fn operators_outside_double_quotes_are_refused() {
    let place = Place::new();
    let mut server = place.server(&["--allow", "*"]);
    for operator in ["&&", "||", ";", "|", ">", ">>", "<", "<<", "&", "^", "$(", "`", "\n"] {
        for line in [format!("probe args a {operator} b"), format!("probe args 'a {operator} b'")] {
            let result = command(&mut server, &line);
            assert!(error(&result).contains("outside quotes is shell syntax"), "{line:?}: {result}");
        }
        let result = command(&mut server, &format!("probe args \"a {operator} b\""));
        assert_eq!(lines(&result), [format!("{:?}", format!("a {operator} b"))]);
    }
    // No shell runs, so what `cmd.exe` would expand reaches the program as it is.
    let result = command(&mut server, "probe args %PATH% $HOME !x! call start");
    assert_eq!(lines(&result), ["%PATH%", "$HOME", "!x!", "call", "start"].map(|word| format!("{word:?}")));
}

#[test]
fn exit_codes_are_numbers_of_32_bits() {
    let place = Place::new();
    let mut server = place.server(&["--allow", "probe"]);
    for code in [0, 1, 255, 256, 259, -1, -1_073_741_819] {
        let result = process(&mut server, "probe", &["exit", &code.to_string()]);
        assert_eq!(result["structuredContent"]["exit_code"], code, "{result}");
    }
}

#[test]
fn the_environment_holds_what_windows_programs_need_and_a_cleaned_path() {
    let place = Place::new();
    let bin = place.text("bin");
    let path = format!(r".;{bin};;bin;\windows;C:relative;C:\windows\system32");
    let mut server = place.server_with_path(&["--allow", "probe", "--env", "X=1"], &path);
    let result = process(&mut server, "probe", &["env"]);
    let lines = lines(&result);
    let value = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    assert_eq!(value("PATH"), Some(format!(r"{bin};C:\windows\system32").as_str()));
    assert!(value("SystemRoot").is_some(), "{lines:?}");
    assert_eq!(value("NoDefaultCurrentDirectoryInExePath"), Some("1"));
    assert_eq!(value("TERM"), Some("dumb"));
    assert_eq!(value("X"), Some("1"));
    assert_eq!(value("SECRET"), None);

    // Inherited under another case, it must not come back beside the cleaned one.
    let command = Server::command(&["--allow", "probe", "--inherit-env"]).dir(place.path("work"));
    let mut server = command.env("Path", &path).env("SECRET", "s").env("ALLOWEXEC_STRUCTURED", "true").start();
    server.initialize("2025-11-25");
    let result = process(&mut server, "probe", &["env"]);
    let text = result["structuredContent"]["stdout"].as_str().unwrap();
    let paths: Vec<&str> = text.lines().filter(|line| line.to_ascii_uppercase().starts_with("PATH=")).collect();
    assert_eq!(paths.len(), 1, "{paths:?}");
    assert!(paths[0].ends_with(&format!(r"={bin};C:\windows\system32")), "{paths:?}");
    assert!(text.lines().any(|line| line == "SECRET=s"), "{text}");
}

#[test]
fn input_is_read_and_without_it_there_is_none() {
    let place = Place::new();
    let mut server = place.server(&["--allow", "probe"]);
    let text = "line\r\n".repeat(40_000);
    let result = server.call("execute_process", json!({"file": "probe", "args": ["count"], "input": text}));
    assert_eq!(lines(&result), [text.len().to_string()]);
    let result = server.call("execute_process", json!({"file": "probe", "args": ["cat"], "input": "é\n"}));
    assert_eq!(lines(&result), ["é"]);
    assert_eq!(lines(&process(&mut server, "probe", &["count"])), ["0"]);
    // A command that reads none of it ends all the same.
    let result = server.call("execute_process", json!({"file": "probe", "args": ["exit", "3"], "input": text}));
    assert_eq!(result["structuredContent"]["exit_code"], 3);
}

#[test]
fn big_output_keeps_its_head_and_its_tail() {
    let place = Place::new();
    let mut server = place.server(&["--allow", "probe", "--max-output", "1000"]);
    let result = process(&mut server, "probe", &["flood", "3000000"]);
    let content = &result["structuredContent"];
    for stream in ["stdout", "stderr"] {
        let text = content[stream].as_str().unwrap();
        assert!(text.starts_with('<') && text.trim_end().ends_with('>'), "{stream}: {text}");
        assert_eq!(content["truncated"][stream], 3_000_000 - 1000, "{stream}");
    }
}

#[test]
fn a_timeout_ends_the_tree_with_its_grandchildren() {
    // On a busy machine the tree may not stand yet at the deadline, and then a later one shows more.
    for timeout in [2000, 4000, 8000] {
        let place = Place::new();
        let mut server = place.server(&["--allow", "probe"]);
        let arguments = json!({"file": "probe", "args": ["tree", "."], "timeout_ms": timeout});
        let result = server.call("execute_process", arguments);
        assert!(error(&result).contains("timed_out: true"), "{result}");
        if TREE.iter().all(|name| place.path("work").join(name).exists()) {
            assert_tree_is_gone(&place);
            // The server goes on.
            assert_eq!(lines(&process(&mut server, "probe", &["args", "x"])), ["\"x\""]);
            return;
        }
    }
    panic!("the tree never stood");
}

#[test]
fn a_cancelled_call_ends_its_tree() {
    let place = Place::new();
    let mut server = place.server(&["--allow", "probe"]);
    let id = server.send_request(
        "tools/call",
        json!({"name": "execute_process", "arguments": {"file": "probe", "args": ["tree", "."]}}),
    );
    wait_for_tree(&place);
    server.notify("notifications/cancelled", json!({"requestId": id}));
    assert_tree_is_gone(&place);
    assert_eq!(lines(&process(&mut server, "probe", &["args", "x"])), ["\"x\""]);
}

#[test]
fn what_a_command_leaves_behind_ends_with_it() {
    let place = Place::new();
    let mut server = place.server(&["--allow", "probe"]);
    assert_eq!(lines(&process(&mut server, "probe", &["leave", "."])), ["left"]);
    let leaf = place.path("work/leaf");
    wait_until("the leaf is gone", || !is_alive(&leaf));
}

#[test]
fn commands_end_with_the_server_however_it_ends() {
    let call = json!({"name": "execute_process", "arguments": {"file": "probe", "args": ["tree", "."]}});
    let place = Place::new();
    let mut server = place.server(&["--allow", "probe"]);
    server.send_request("tools/call", call.clone());
    wait_for_tree(&place);
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    assert_tree_is_gone(&place);

    let place = Place::new();
    let mut server = place.server(&["--allow", "probe"]);
    server.send_request("tools/call", call);
    wait_for_tree(&place);
    // Dropping it kills it, without a word to it.
    drop(server);
    assert_tree_is_gone(&place);
}

#[test]
fn a_server_that_is_killed_while_it_starts_commands_leaves_none() {
    let place = Place::new();
    let arguments = json!({"file": "probe", "args": ["args"]});
    let call = json!({"name": "execute_process", "arguments": arguments, "_meta": modern_meta()});
    let line = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}).to_string();
    let calls: String = (0..200).map(|id| line(id) + "\n").collect();
    for round in 0..20 {
        let command = Server::command(&["--allow", "probe"]).dir(place.path("work"));
        let mut child = command.env("PATH", place.text("bin")).spawn();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        stdin.write_all(calls.as_bytes()).unwrap();
        // The first answer: from now on there is always one that starts.
        stdout.read_exact(&mut [0]).unwrap();
        std::thread::sleep(Duration::from_millis(round));
        child.kill().unwrap();
        child.wait().unwrap();
        // What it has started holds the same pipe.
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(stdout.read_to_end(&mut Vec::new())));
        receiver.recv_timeout(DEADLINE).expect("nothing is left").unwrap();
    }
}

#[test]
fn case_and_ending_of_a_name_are_folded_and_nothing_else() {
    let place = Place::new();
    place.write("bin/both.bat", "@echo batch\r\n");
    fs::copy(place.path("bin/probe.exe"), place.path("bin/both.exe")).unwrap();
    let mut server = place.server(&["--allow", "probe,both,ONLY.EXE"]);
    for word in ["probe", "PROBE", "Probe.EXE", "probe.exe"] {
        assert_eq!(lines(&process(&mut server, word, &["args", "x"])), ["\"x\""], "{word}");
    }
    let bin = place.text("bin");
    for word in [
        "probe.bat",
        "probe.",
        "probe ",
        "probe.exe.",
        "probe.exe ",
        "prob",
        r".\probe",
        "probe:x",
        &format!(r"{bin}\probe.exe"),
        "only.bat",
    ] {
        let result = process(&mut server, word, &["args", "x"]);
        let said = error(&result);
        assert!(said.contains("is not allowed") || said.contains("was not found"), "{word}: {said}");
    }
    // The entry means the first that is found, `both.exe`; a word that asks for the other one does not get it.
    assert_eq!(lines(&process(&mut server, "both", &["args", "x"])), ["\"x\""]);
    assert!(error(&process(&mut server, "both.bat", &[])).contains("was not found"));
}

#[test]
fn a_listed_path_is_matched_with_its_drive_in_any_case_and_with_either_slash() {
    let place = Place::new();
    let probe = place.text("bin/probe.exe");
    let mut server = place.server(&["--allow", &probe]);
    for word in [probe.clone(), probe.to_lowercase(), probe.to_uppercase(), probe.replace('\\', "/")] {
        assert_eq!(lines(&process(&mut server, &word, &["args", "x"])), ["\"x\""], "{word}");
    }
    for word in ["probe".to_owned(), format!("{probe}."), format!(r"\\?\{probe}"), format!("{probe}::$DATA")] {
        assert!(error(&process(&mut server, &word, &[])).contains("is not allowed"), "{word}");
    }
}

#[test]
fn a_program_in_the_current_directory_is_never_found() {
    let place = Place::new();
    for name in ["work/planted.exe", "work/cmd.exe"] {
        fs::copy(place.path("bin/probe.exe"), place.path(name)).unwrap();
    }
    place.write("work/batch.bat", "@echo planted\r\n");
    let path = format!(r".;{};C:\windows\system32", place.text("bin"));
    let mut server = place.server_with_path(&["--allow", "planted,batch,cmd"], &path);
    for word in ["planted", "planted.exe", "batch", "batch.bat"] {
        assert!(error(&process(&mut server, word, &["args"])).contains("was not found"), "{word}");
    }
    let result = process(&mut server, "cmd", &["/d", "/c", "exit 7"]);
    assert_eq!(result["structuredContent"]["exit_code"], 7, "{result}");
}

#[test]
fn batch_files_run_and_their_arguments_stay_arguments() {
    let place = Place::new();
    place.write("bin/tool.bat", "@echo [%~1]\r\n@exit /b 5\r\n");
    place.write("bin/quiet.bat", "@exit /b 5\r\n");
    let mut server = place.server(&["--allow", "tool,quiet"]);
    for word in ["tool", "TOOL.BAT"] {
        let result = process(&mut server, word, &["a b"]);
        assert_eq!(result["structuredContent"]["exit_code"], 5, "{result}");
        assert_eq!(result["structuredContent"]["stdout"].as_str().unwrap().trim_end(), "[a b]", "{result}");
    }
    // What a batch file itself makes of `%1` is its own; here none of it may reach the `cmd.exe` that runs the file.
    for argument in ["a\" & exit 9 & rem \"", "& exit 9", "a|exit 9", "\"&exit 9", "%ComSpec%", "^&exit 9"] {
        let result = process(&mut server, "quiet", &[argument]);
        assert_eq!(result["structuredContent"]["exit_code"], 5, "{argument}: {result}");
    }
    // std can't write these so that `cmd.exe` reads them as one argument, and refuses.
    for argument in ["a\nexit 9", "a\rexit 9"] {
        let result = process(&mut server, "tool", &[argument]);
        assert!(error(&result).contains("could not be started: batch file arguments are invalid"), "{result}");
    }
}

#[test]
fn a_batch_file_is_seen_through_dots_and_blanks_at_its_end() {
    let place = Place::new();
    place.write("bin/tool.bat", "@echo ran\r\n");
    let tool = place.text("bin/tool.bat");
    let mut server = place.server(&["--allow", "*"]);
    for word in
        ["tool.bat.", "tool.bat ", "tool.bat. .", "tool.bat::$DATA", &format!("{tool}."), &format!("{tool} . .")]
    {
        assert!(error(&process(&mut server, word, &["\" & exit 9"])).contains("was not found"), "{word}");
    }
}

#[test]
fn roots_hold_whatever_the_case_the_slash_and_the_drive() {
    let place = Place::new();
    for name in ["work/Root", "work/Root/Sub", "work/RootB"] {
        fs::create_dir(place.path(name)).unwrap();
    }
    let root = place.text("work/Root");
    let mut server = place.server(&["--allow", "probe", "--cwd-root", &root.to_lowercase()]);
    let mut cwd = |cwd: &str| server.call("execute_process", json!({"file": "probe", "args": ["cwd"], "cwd": cwd}));
    let sub = place.text("work/Root/Sub");
    let rooted = sub.get(2..).unwrap();
    let inside = [
        sub.clone(),
        sub.to_uppercase(),
        sub.to_lowercase(),
        sub.replace('\\', "/"),
        "root/SUB".to_owned(),
        r"ROOT\..\Root\sub\.".to_owned(),
        rooted.to_owned(),
        format!(r"\\?\{sub}"),
    ];
    for word in inside {
        assert_eq!(lines(&cwd(&word)), [sub.as_str()], "{word}");
    }
    let drive = root.get(..2).unwrap().to_owned();
    for word in [
        "RootB".to_owned(),
        "root/..".to_owned(),
        ".".to_owned(),
        format!(r"{drive}\"),
        r"C:\windows".to_owned(),
        r"\".to_owned(),
        format!("{root}B"),
    ] {
        assert!(error(&cwd(&word)).contains("is not inside an allowed root"), "{word}");
    }
    for word in [r"Z:\no\such", r"\\server\no\such", "NUL", "CON", "root:stream"] {
        let result = cwd(word);
        let said = error(&result);
        assert!(
            ["does not exist", "is not a directory", "can't be used", "is not allowed"]
                .iter()
                .any(|why| said.contains(why)),
            "{word}: {said}"
        );
    }
}

#[test]
fn a_command_of_the_project_is_found_with_either_slash_and_without_its_ending() {
    let place = Place::new();
    fs::create_dir(place.path("work/tools")).unwrap();
    fs::copy(place.path("bin/probe.exe"), place.path("work/tools/own.exe")).unwrap();
    fs::copy(place.path("bin/probe.exe"), place.path("outside.exe")).unwrap();
    let project = place.text("work");
    let mut server = place.server(&["--project-dir", &project, "--allow-project-commands"]);
    for word in [r"tools\own", "tools/own.exe", r".\TOOLS\OWN.EXE", &format!(r"{project}\tools\own")] {
        assert_eq!(lines(&process(&mut server, word, &["args", "x"])), ["\"x\""], "{word}");
    }
    for word in [
        "own",
        r"..\outside.exe",
        r"tools\..\..\outside",
        &format!("{}tools\\own.exe", project.get(..2).unwrap()),
        r"tools\own.exe.",
    ] {
        assert!(error(&process(&mut server, word, &[])).contains("is not allowed"), "{word}");
    }
}

#[test]
fn the_clients_roots_are_directories_of_a_drive() {
    let place = Place::new();
    for name in ["work/One Root", "work/two", "work/three"] {
        fs::create_dir(place.path(name)).unwrap();
    }
    let path = format!(r"{};C:\windows\system32", place.text("bin"));
    let command = Server::command(&["--allow", "probe", "--structured"]).dir(place.path("work")).env("PATH", path);
    let mut server = command.start();
    server.initialize_with("2025-11-25", json!({"roots": {}}));
    let id = server.send_request(
        "tools/call",
        json!({"name": "execute_process", "arguments": {"file": "probe", "args": ["cwd"]}}),
    );
    let question = server.recv_until(|message| message["method"] == "roots/list");
    let uri = |name: &str| format!("file:///{}", place.text(name).replace('\\', "/").replace(' ', "%20"));
    // The case of neither counts, and a share of a machine that is not there is dropped.
    let roots = [uri("work/One Root").to_lowercase(), uri("work/two"), "file://no.such.host.invalid/share".to_owned()];
    let roots: Vec<Value> = roots.iter().map(|uri| json!({"uri": uri})).collect();
    server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": roots}}));
    let response = server.response(&json!(id));
    assert_eq!(lines(&response["result"]), [place.text("work/One Root")]);
    let mut cwd = |cwd: &str| server.call("execute_process", json!({"file": "probe", "args": ["cwd"], "cwd": cwd}));
    assert_eq!(lines(&cwd(r"..\TWO")), [place.text("work/two")]);
    assert!(error(&cwd(r"..\three")).contains("is not inside an allowed root"));
}

#[test]
fn a_recorded_session_replays_without_a_difference() {
    let place = Place::new();
    let mut server = place.server(&["--allow", "probe", "--record", "s.transcript"]);
    assert_eq!(lines(&process(&mut server, "probe", &["args", r"C:\x y", "\"z"])), [r#""C:\\x y""#, r#""\"z""#]);
    assert!(error(&command(&mut server, "nosuch.exe")).contains("is not allowed"));
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    let text = fs::read_to_string(place.path("work/s.transcript")).unwrap();
    assert!(text.contains("\nplatform: windows\n") && text.ends_with("==> eof\n<== exit 0\n"), "{text}");
    let replay = || {
        let mut replay = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec"));
        let path = format!(r"{};C:\windows\system32", place.text("bin"));
        let output = replay.args(["replay", "s.transcript"]).current_dir(place.path("work")).env("PATH", path).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(replay(), (Some(0), "1 the same of 1\n".to_owned()));
    place.write("work/s.transcript", &text.replace("is not allowed", "is allowed"));
    let (status, said) = replay();
    assert_eq!(status, Some(1), "{said}");
}

#[test]
fn doctor_tells_what_holds_commands_here() {
    let place = Place::new();
    let mut doctor = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec"));
    let output = doctor.args(["doctor", "--allow", "probe"]).env("PATH", place.text("bin")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["job object, which nothing leaves", "only Linux has Landlock", &format!("{}: probe", place.text("bin"))]
    {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

#[test]
fn a_sandbox_that_there_is_not_stops_the_start_or_is_a_warning() {
    for level in ["workspace", "strict"] {
        let mut server = Server::command(&["--sandbox", level]).start();
        assert_eq!(server.wait_exit(), 2);
        assert!(server.says("only Linux has Landlock"), "{}", server.stderr());
        let mut server = Server::command(&["--sandbox", level, "--sandbox-best-effort"]).start();
        server.initialize("2025-11-25");
        server.close_stdin();
        assert_eq!(server.wait_exit(), 0);
        assert!(server.says("only Linux has Landlock"), "{}", server.stderr());
    }
}
