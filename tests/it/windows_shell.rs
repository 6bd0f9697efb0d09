//! The persistent `cmd.exe` for real: its state, its answers, its end, and what never reaches it.
//!
//! `tests/windows/run.sh` runs it under Wine on Linux; the continuous integration of Windows runs it as it is.

#![cfg(windows)]

use std::fs;

use crate::support::Server;
use crate::support::place::{Place, TREE, assert_tree_is_gone, error, is_alive, lines, wait_for_tree, wait_until};
use serde_json::{Value, json};

/// The default list of commands, which is the seed's.
const COMMANDS: [&str; 10] = ["dir", "echo", "curl", "type", "find", "findstr", "cd", "where", "set", "podman"];

/// A server with a tool for each of these commands, and with more flags.
fn server(place: &Place, allow: &str, more: &[&str]) -> Server {
    place.server(&[&["--tools", "shell", "--allow", allow], more].concat())
}

fn call(server: &mut Server, tool: &str, arguments: &str) -> Value {
    server.call(tool, json!({"arguments": arguments}))
}

fn send(server: &mut Server, tool: &str, arguments: &str) -> i64 {
    server.send_request("tools/call", json!({"name": tool, "arguments": {"arguments": arguments}}))
}

/// Where the shell stands, as the answer says.
fn cwd(result: &Value) -> &str {
    result["structuredContent"]["cwd"].as_str().unwrap_or_else(|| panic!("{result}"))
}

/// Why the shell was restarted.
fn restarted(result: &Value) -> Option<&str> {
    result["structuredContent"]["shell_restarted"].as_str()
}

#[test]
fn all_calls_share_one_shell_and_its_state() {
    let place = Place::new();
    fs::create_dir(place.path("work/a b")).unwrap();
    let mut server = server(&place, "cd,set,echo,probe", &[]);
    let result = call(&mut server, "set", "GREETING=hello world");
    assert_eq!(result["structuredContent"]["exit_code"], 0, "{result}");
    assert_eq!(lines(&call(&mut server, "set", "GREETING")), ["GREETING=hello world"]);
    let result = call(&mut server, "cd", "\"a b\"");
    assert_eq!(cwd(&result), place.text("work/a b"));
    assert_eq!(lines(&call(&mut server, "probe", "cwd")), [place.text("work/a b")]);
    assert!(lines(&call(&mut server, "probe", "env")).contains(&"GREETING=hello world"));
    assert_eq!(lines(&call(&mut server, "cd", "")), [place.text("work/a b")]);
    assert_eq!(cwd(&call(&mut server, "cd", "/d ..")), place.text("work"));
    assert_eq!(restarted(&call(&mut server, "echo", "x")), None);
}

#[test]
fn restart_makes_a_fresh_shell() {
    let place = Place::new();
    fs::create_dir(place.path("work/sub")).unwrap();
    let mut server = server(&place, "cd,set,probe", &[]);
    call(&mut server, "set", "GREETING=hello");
    call(&mut server, "cd", "sub");
    // What the old shell left running ends with it.
    assert_eq!(lines(&call(&mut server, "probe", "leave .")), ["left"]);
    let leaf = place.path("work/sub/leaf");
    assert!(is_alive(&leaf));
    let result = server.call("restart", json!({}));
    assert_eq!(restarted(&result), Some("`restart` was called"), "{result}");
    assert_eq!(cwd(&result), place.text("work"));
    wait_until("the leaf is gone", || !is_alive(&leaf));
    let result = call(&mut server, "set", "GREETING");
    assert!(!result.to_string().contains("hello"), "{result}");
}

#[test]
fn the_exit_code_is_the_commands_own() {
    let place = Place::new();
    place.write("bin/tool.bat", "@echo batch [%~1]\r\n@exit /b 5\r\n");
    let mut server = server(&place, "probe,echo,tool,nosuch,type", &[]);
    for code in [3, 0, 255, 256, -1, -1_073_741_819, 9008] {
        let result = call(&mut server, "probe", &format!("exit {code}"));
        assert_eq!(result["structuredContent"]["exit_code"], code, "{result}");
        // Not that of the command before.
        assert_eq!(lines(&call(&mut server, "echo", "hello")), ["hello"]);
    }
    let result = call(&mut server, "tool", "\"a b\"");
    assert_eq!(result["structuredContent"]["exit_code"], 5, "{result}");
    assert_eq!(result["structuredContent"]["stdout"], "batch [a b]\n", "{result}");
    let result = call(&mut server, "nosuch", "");
    assert_eq!(result["structuredContent"]["exit_code"], 9009, "{result}");
    assert!(result["structuredContent"]["hint"].as_str().unwrap().contains("found no command `nosuch`"), "{result}");
    let result = call(&mut server, "type", "nosuch.txt");
    assert_eq!(result["structuredContent"]["exit_code"], 1, "{result}");
    assert_eq!(restarted(&call(&mut server, "echo", "x")), None);
}

#[test]
fn output_arrives_whole_and_clean() {
    let place = Place::new();
    let mut server = server(&place, "probe,echo,type", &["--max-output", "0"]);
    place.write("work/text", "Marker_\r\nMarker_00000000-0000-4000-8000-000000000000 no line end");
    for _ in 0..50 {
        let result = call(&mut server, "echo", "hello  \"a;b\"");
        assert_eq!(result["structuredContent"]["stdout"], "hello  \"a;b\"\n", "{result}");
        assert_eq!(result["structuredContent"]["stderr"], "", "{result}");
    }
    let result = call(&mut server, "type", "text");
    let text = result["structuredContent"]["stdout"].as_str().unwrap();
    assert!(text.starts_with("Marker_\nMarker_00000000-0000-4000-8000-000000000000 no line end"), "{text:?}");
    // A megabyte on each stream, both without a line end.
    let result = call(&mut server, "probe", "flood 1000000");
    for stream in ["stdout", "stderr"] {
        let text = result["structuredContent"][stream].as_str().unwrap();
        assert!(text.len() == 1_000_000 && text.starts_with('<') && text.ends_with('>'), "{stream}: {}", text.len());
    }
    assert_eq!(lines(&call(&mut server, "echo", "after")), ["after"]);
}

#[test]
fn a_command_reads_nothing_of_the_shells_and_sees_no_marker() {
    let place = Place::new();
    let mut server = server(&place, "probe,set", &[]);
    assert_eq!(lines(&call(&mut server, "probe", "count")), ["0"]);
    assert_eq!(lines(&call(&mut server, "probe", "args a \"b c\"")), ["\"a\"", "\"b c\""]);
    let result = call(&mut server, "probe", "env");
    assert!(!lines(&result).is_empty() && !result.to_string().contains("Marker_"), "{result}");
    // It asks, and has nobody to answer.
    let result = call(&mut server, "set", "/p ANSWER=what");
    assert!(!result.to_string().contains("Marker_"), "{result}");
    assert_eq!(restarted(&call(&mut server, "probe", "args x")), None);
}

#[test]
fn every_operator_is_refused_for_every_command_and_nothing_runs() {
    let place = Place::new();
    let mut server = place.server(&["--tools", "shell"]);
    let tools = server.request("tools/list", json!({}));
    let names: Vec<&str> =
        tools["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [&COMMANDS[..], &["restart", "read_output", "stop_call", "list_calls", "list_commands"]].concat()
    );

    // What stands behind it would show that it ran.
    let ran = place.path("work/ran");
    for tool in COMMANDS {
        for operator in ["&&", "||", "|", ">", ">>", "<", "<<", "&", "^", "%", "!", "(", ")", "\n", "\r\n", "\r"] {
            for line in [
                format!("a {operator} echo x>ran"),
                format!("a{operator}ran"),
                format!("\"a {operator} ran\""),
                format!("{operator}ran"),
                operator.to_owned(),
            ] {
                let result = call(&mut server, tool, &line);
                assert!(error(&result).contains("which can't be given to cmd.exe"), "{tool} {line:?}: {result}");
            }
        }
        for separator in [";", "$"] {
            let result = call(&mut server, tool, &format!("a {separator} b"));
            assert!(error(&result).contains("which can't be given to cmd.exe"), "{tool} {separator}: {result}");
        }
        for word in ["call", "start", "CALL", "Start", "\"call\"", "@start"] {
            let result = call(&mut server, tool, &format!("{word} ran"));
            assert!(error(&result).contains("runs another command"), "{tool} {word}: {result}");
        }
        let result = call(&mut server, tool, "a \"b");
        assert!(error(&result).contains("are not balanced"), "{tool}: {result}");
        // A part of it would be a line of its own.
        let result = call(&mut server, tool, &"x".repeat(8000));
        assert!(error(&result).contains("is longer than the 7500 characters"), "{tool}: {result}");
    }
    for tool in ["call", "start"] {
        let result = server.request("tools/call", json!({"name": tool, "arguments": {"arguments": "x"}}));
        assert!(result.get("error").is_some(), "{result}");
    }
    assert!(!ran.exists());
    let result = call(&mut server, "echo", "the same shell");
    assert_eq!((lines(&result), restarted(&result)), (vec!["the same shell"], None));
}

/// That cmd.exe heeds it is not tested, since Wine's does not.
#[test]
fn the_variable_that_keeps_the_shell_from_programs_in_its_directory_stays() {
    let place = Place::new();
    let mut server = server(&place, "probe,set", &[]);
    for line in ["NoDefaultCurrentDirectoryInExePath=", "\"nodefaultcurrentdirectoryinexepath=\""] {
        let result = call(&mut server, "set", line);
        assert!(error(&result).contains("decides which code runs"), "{result}");
    }
    assert!(lines(&call(&mut server, "probe", "env")).contains(&"NoDefaultCurrentDirectoryInExePath=1"));
}

#[test]
fn words_that_run_something_else_are_refused_whoever_allows_them() {
    let place = Place::new();
    let words = ["call", "start", "cmd", "for", "if", "goto", "rem", "pause", "prompt", "setlocal", "pushd", "popd"];
    let mut server = server(&place, &words.join(","), &[]);
    for word in words {
        let result = call(&mut server, word, "probe");
        assert!(error(&result).contains("so it is never given to the persistent shell"), "{word}: {result}");
    }
}

#[test]
fn a_timeout_ends_the_tree_with_its_grandchildren_and_the_next_shell_serves() {
    // On a busy machine the tree may not stand yet at the deadline, and then a later one shows more.
    for timeout in [2000, 4000, 8000] {
        let place = Place::new();
        let mut server = server(&place, "probe,echo", &[]);
        let result = server.call("probe", json!({"arguments": "tree .", "timeout_ms": timeout}));
        let said = error(&result);
        assert!(said.contains("timed_out: true"), "{said}");
        assert!(said.contains("the shell was ended with its command; its state is lost"), "{said}");
        if TREE.iter().all(|name| place.path("work").join(name).exists()) {
            assert_tree_is_gone(&place);
            let result = call(&mut server, "echo", "x");
            // It was told once.
            assert_eq!((lines(&result), restarted(&result)), (vec!["x"], None));
            return;
        }
    }
    panic!("the tree never stood");
}

#[test]
fn a_cancelled_call_ends_its_tree_and_one_that_waits_never_runs() {
    let place = Place::new();
    let mut server = server(&place, "probe,echo", &[]);
    let running = send(&mut server, "probe", "tree .");
    let waiting = send(&mut server, "probe", "leave ..");
    let last = send(&mut server, "echo", "last");
    wait_for_tree(&place);
    server.notify("notifications/cancelled", json!({"requestId": waiting}));
    server.notify("notifications/cancelled", json!({"requestId": running}));
    let answer = server.response(&json!(last));
    assert_eq!(lines(&answer["result"]), ["last"]);
    assert_tree_is_gone(&place);
    assert!(!place.path("leaf").exists());
}

#[test]
fn a_shell_that_ends_is_started_anew_and_the_answer_says_so() {
    let place = Place::new();
    let mut server = server(&place, "exit,echo,set", &[]);
    call(&mut server, "set", "GREETING=hello");
    let result = call(&mut server, "exit", "3");
    assert_eq!(result["structuredContent"]["exit_code"], 3, "{result}");
    let expected = "the shell ended with exit status 3 during this call; its state is lost";
    assert_eq!(restarted(&result), Some(expected));
    let result = call(&mut server, "set", "GREETING");
    assert!(!result.to_string().contains("hello"), "{result}");
    assert_eq!(lines(&call(&mut server, "echo", "x")), ["x"]);
}

#[test]
fn the_shell_and_its_commands_end_with_the_server_however_it_ends() {
    for is_killed in [false, true] {
        let place = Place::new();
        let mut server = server(&place, "probe", &[]);
        send(&mut server, "probe", "tree .");
        wait_for_tree(&place);
        if is_killed {
            // Dropping it kills it, without a word to it.
            drop(server);
        } else {
            server.close_stdin();
            assert_eq!(server.wait_exit(), 0);
        }
        assert_tree_is_gone(&place);
    }
}

#[test]
fn the_shell_changes_its_directory_within_the_allowed_roots_alone() {
    let place = Place::new();
    for name in ["work/root", "work/root/sub", "work/rootb"] {
        fs::create_dir(place.path(name)).unwrap();
    }
    let root = place.text("work/root");
    let mut server = server(&place, "cd,chdir,probe", &["--cwd-root", &root, "--cwd", &root]);
    for (tool, target, stands) in [
        ("cd", "sub", "work/root/sub"),
        ("CHDIR", "..", "work/root"),
        ("cd", "SUB\\..\\sub\\.", "work/root/sub"),
        ("cd", "/d \"..\"", "work/root"),
    ] {
        let result = call(&mut server, &tool.to_lowercase(), target);
        assert_eq!(cwd(&result), place.text(stands), "{result}");
    }
    for target in ["..", "..\\rootb", "C:\\windows", "\\", "sub\\..\\..", "/d C:\\windows"] {
        let result = call(&mut server, "cd", target);
        assert!(error(&result).contains("is not inside an allowed root"), "{target}: {result}");
        assert_eq!(lines(&call(&mut server, "probe", "cwd")), [root.as_str()], "{target}");
    }
}

#[test]
fn a_path_that_cmd_exe_would_expand_or_read_as_syntax_never_reaches_it() {
    let place = Place::new();
    // Where the second one is entered by the name of the first one, cmd.exe has put the value in place of the variable.
    let pairs = [("%DIR%", "plain"), ("a&b", "a"), ("a^b", "ab"), ("(x86)", "x86"), ("a!b", "ab")];
    for (held, misread) in pairs {
        for name in [held, misread] {
            fs::create_dir_all(place.path(&format!("work/{name}/sub"))).unwrap();
        }
        let start = place.text(&format!("work/{held}"));
        let mut server = server(&place, "cd,probe,set", &["--cwd", &start]);
        call(&mut server, "set", "DIR=plain");
        let character = held.chars().find(|c| !c.is_alphanumeric()).unwrap();
        for target in ["sub", "."] {
            let result = call(&mut server, "cd", target);
            let said = error(&result);
            assert!(said.starts_with("the directory stays as it is: the path `"), "{said}");
            let why = format!("holds `{character}`, which can't be given to cmd.exe; use a directory without it");
            assert!(said.contains(&why), "{said}");
            assert_eq!(lines(&call(&mut server, "probe", "cwd")), [start.as_str()]);
        }
        // It works there all the same, and can leave for where no such character is.
        let result = call(&mut server, "cd", "..");
        assert_eq!((cwd(&result), restarted(&result)), (place.text("work").as_str(), None), "{result}");
    }
}

#[test]
fn two_hundred_calls_at_once_get_their_own_answers() {
    let place = Place::new();
    let mut server = server(&place, "echo", &[]);
    let sent: Vec<i64> = (0..200).map(|number| send(&mut server, "echo", &format!("number {number}"))).collect();
    for (number, id) in sent.into_iter().enumerate() {
        let answer = server.response(&json!(id));
        assert_eq!(lines(&answer["result"]), [format!("number {number}")]);
    }
}
