//! What else of a call an approval is bound to: what its command is given to read, for how long it runs, and how.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::{Server, modern_meta};
use serde_json::{Value, json};

const RULES: &str = "version: 1\ncommands:\n  sh:\n    options: {-c: flag}\n    operands: [{name: ARG, one_of: ['true'], count: '0..1'}]\n    \
     decision: ask\n    stdin: true\n    env: {set: {TOKEN: hidden}, unset: [LANG]}\n";

/// Who asks the person, and in which era the client calls.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    Form,
    Result,
    Program { modern: bool },
}

const EACH: [By; 4] = [By::Form, By::Result, By::Program { modern: false }, By::Program { modern: true }];

/// A server that asks about `sh`, by `--ask` or by a rule that lets it read, and a client whose user approves.
struct Approving {
    dir: tempfile::TempDir,
    server: Server,
    by: By,
}

impl Approving {
    fn new(by: By, has_rule: bool, more: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("rules.yaml"), RULES).unwrap();
        let script = "#!/bin/sh\ncd \"${0%/*}\" && cat > request && printf '%s' \"$ALLOWEXEC_ASK_TEXT\" > text && echo >> count\nexit 10\n";
        fs::write(path("asker"), script).unwrap();
        fs::set_permissions(path("asker"), fs::Permissions::from_mode(0o755)).unwrap();
        let (rules, asker) = (path("rules.yaml").display().to_string(), path("asker").display().to_string());
        let mut args = if has_rule { vec!["--policy", &rules] } else { vec!["--ask", "sh"] };
        if matches!(by, By::Program { .. }) {
            args.extend(["--ask-with", &asker]);
        }
        args.extend(more);
        let mut server = Server::command(&args).dir(dir.path()).start();
        if matches!(by, By::Form | By::Program { modern: false }) {
            server.initialize_with("2025-11-25", json!({"elicitation": {"form": {}}}));
        }
        Self { dir, server, by }
    }

    fn request(&mut self, name: &str, arguments: &Value, more: &Value) -> i64 {
        let mut params = json!({"name": name, "arguments": arguments});
        if matches!(self.by, By::Result | By::Program { modern: true }) {
            params["_meta"] = modern_meta();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
        }
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.server.send_request("tools/call", params)
    }

    /// Makes a call, and approves it for the session if the person is asked. Returns what the person read, and the result.
    fn call(&mut self, name: &str, arguments: &Value) -> (Option<String>, Value) {
        let approves = json!({"action": "accept", "content": {"remember": "session"}});
        let before = self.count();
        let id = self.request(name, arguments, &json!({}));
        let is_asked = |message: &Value| message["method"] == "elicitation/create" || message["id"] == id;
        match self.by {
            By::Form => {
                let message = self.server.recv_until(is_asked);
                if message["id"] == id && message.get("method").is_none() {
                    return (None, message["result"].clone());
                }
                self.server.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": approves}));
                let result = self.server.response(&json!(id))["result"].clone();
                (message["params"]["message"].as_str().map(str::to_owned), result)
            }
            By::Result => {
                let result = self.server.response(&json!(id))["result"].clone();
                if result["resultType"] != "input_required" {
                    return (None, result);
                }
                let text = result["inputRequests"]["approval"]["params"]["message"].as_str().map(str::to_owned);
                let more = json!({"requestState": result["requestState"], "inputResponses": {"approval": approves}});
                let id = self.request(name, arguments, &more);
                (text, self.server.response(&json!(id))["result"].clone())
            }
            By::Program { .. } => {
                let result = self.server.response(&json!(id))["result"].clone();
                let is_asked = self.count() > before;
                (is_asked.then(|| fs::read_to_string(self.path("text")).unwrap()), result)
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// How often the operator's program was asked.
    fn count(&self) -> usize {
        fs::read_to_string(self.path("count")).unwrap_or_default().lines().count()
    }

    /// Waits for the end of a call in the background; returns the text.
    fn wait(&mut self, number: u64) -> String {
        let (_, result) = self.call("read_output", &json!({"call": number, "wait_ms": 20_000}));
        text(&result)
    }
}

fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

/// The number of a call in its answer.
fn number(result: &Value) -> u64 {
    let text = text(result);
    let number = text.lines().find_map(|line| line.strip_prefix("call: ")).unwrap_or_else(|| panic!("{text}"));
    number.trim().parse().unwrap()
}

#[test]
fn an_approved_command_reads_what_was_shown_and_nothing_that_is_written_to_it_later() {
    for (by, has_rule) in EACH.into_iter().flat_map(|by| [(by, false), (by, true)]) {
        let mut client = Approving::new(by, has_rule, &[]);
        let made = client.path("made");
        for input in [None, Some(""), Some("sleep 0.2\n")] {
            let mut call = json!({"command": "sh", "background": true, "timeout_ms": 30_000});
            input.into_iter().for_each(|input| call["input"] = json!(input));
            // The second time it runs by what was approved for the session.
            for _ in 0..2 {
                let (_, result) = client.call("execute_command", &call);
                let number = number(&result);
                let script = format!("touch {}\n", made.display());
                let write = json!({"call": number, "text": script, "close": true});
                let (_, written) = client.call("write_input", &write);
                assert_eq!(written["isError"], true, "{by:?}, {has_rule}, {input:?}: {written}");
                // Without anything to read it ends, though nobody closes its input.
                let ended = client.wait(number);
                assert!(ended.contains("exit_code: 0"), "{by:?}, {has_rule}, {input:?}: {ended}");
                assert!(!made.exists(), "{by:?}, {has_rule}, {input:?}");
            }
        }
        // A command that nobody is asked about still reads.
        let mut client = Approving::new(by, has_rule, &["--allow", "cat"]);
        let (_, result) = client.call("execute_command", &json!({"command": "cat", "background": true}));
        let number = number(&result);
        let (_, written) = client.call("write_input", &json!({"call": number, "text": "read\n", "close": true}));
        assert_ne!(written["isError"], true, "{by:?}: {written}");
        assert!(client.wait(number).contains("read"), "{by:?}");
    }
}

#[test]
fn a_running_approved_call_says_why_it_reads_nothing_more() {
    for by in EACH {
        let mut client = Approving::new(by, false, &[]);
        let call = json!({"command": "sh", "input": "sleep 30", "background": true});
        let (_, result) = client.call("execute_command", &call);
        let number = number(&result);
        let (_, written) = client.call("write_input", &json!({"call": number, "text": "echo fed\n"}));
        assert!(text(&written).contains("no person had to approve"), "{by:?}: {written}");
        client.call("stop_call", &json!({"call": number}));
    }
}

#[test]
fn whatever_a_call_changes_is_shown_and_asked_about_anew() {
    for (by, has_rule) in EACH.into_iter().flat_map(|by| [(by, false), (by, true)]) {
        let mut client = Approving::new(by, has_rule, &["--max-background", "20m"]);
        let plain = json!({"command": "sh -c true"});
        let with = |name: &str, value: Value| {
            let mut call = plain.clone();
            call[name] = value;
            call
        };
        let lines = ["\nbackground: yes", "\ntimeout: ", "\ninput: "];
        let mut background = with("background", json!(true));
        background["timeout_ms"] = json!(2500);
        for (tool, call, shown) in [
            ("execute_command", plain.clone(), &[][..]),
            ("execute_command", with("input", json!("x")), &["\ninput: \"x\"\n"]),
            ("execute_command", with("timeout_ms", json!(2500)), &["\ntimeout: 2.5s\n"]),
            ("execute_command", with("background", json!(true)), &["\nbackground: yes", "\ntimeout: 1200s\n"]),
            ("execute_command", background, &["\nbackground: yes", "\ntimeout: 2.5s\n"]),
            ("execute_command", with("cwd", json!("/")), &["\ndirectory: \"/\"\n"]),
            ("execute_process", json!({"file": "sh", "args": ["-c", "true"]}), &[]),
        ] {
            let (asked, result) = client.call(tool, &call);
            let asked = asked.unwrap_or_else(|| panic!("{by:?}, {has_rule}: {call} ran unasked: {result}"));
            assert_ne!(result["isError"], true, "{by:?}, {has_rule}: {call}: {result}");
            assert!(shown.iter().all(|line| asked.contains(line)), "{by:?}: {asked}");
            let count = |text: &str| lines.iter().filter(|line| text.contains(**line)).count();
            assert_eq!(count(&asked), count(&shown.concat()), "{by:?}: {asked}");
            let environment = "\nenvironment: sets \"TOKEN\", removes \"LANG\"\n";
            assert_eq!(asked.contains(environment), has_rule, "{by:?}: {asked}");
            assert!(!asked.contains("hidden"), "{asked}");
            // The very same call runs by the answer for the session.
            let (asked, result) = client.call(tool, &call);
            assert_eq!((asked, result["isError"] == true), (None, false), "{by:?}, {has_rule}: {call}");
        }
    }
}

#[test]
fn the_operators_program_gets_whatever_a_call_changes() {
    for modern in [false, true] {
        let mut client = Approving::new(By::Program { modern }, true, &[]);
        let mut request = |call: Value| -> Value {
            client.call("execute_command", &call);
            serde_json::from_slice(&fs::read(client.path("request")).unwrap()).unwrap()
        };
        let plain = request(json!({"command": "sh -c true"}));
        assert_eq!(plain["env"], json!({"set": ["TOKEN"], "unset": ["LANG"]}));
        for key in ["input", "background", "timeout_ms"] {
            assert_eq!(plain.get(key), None, "{plain}");
        }
        let all = json!({"command": "sh -c true", "input": "x", "background": true, "timeout_ms": 2500, "cwd": "/"});
        let all = request(all);
        let expected = json!({"input": "x", "background": true, "timeout_ms": 2500, "cwd": "/"});
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(all[key], *value, "{all}");
        }
    }
}

#[test]
fn an_approved_task_reads_what_was_shown_and_nothing_else() {
    let mut client = Approving::new(By::Program { modern: false }, true, &[]);
    for background in [false, true] {
        let made = client.path("made");
        let arguments = json!({"command": "sh", "input": "sleep 0.2", "background": background});
        let id = client.request("execute_command", &arguments, &json!({"task": {}}));
        let task = client.server.response(&json!(id))["result"]["task"]["taskId"].clone();
        // Its number is not told, so all that there can be are tried.
        for number in 0..8 {
            let script = format!("touch {}\n", made.display());
            let (_, written) = client.call("write_input", &json!({"call": number, "text": script, "close": true}));
            assert_eq!(written["isError"], true, "{written}");
        }
        let result = client.server.request("tasks/result", json!({"taskId": task}));
        assert!(text(&result["result"]).contains("exit_code: 0"), "{result}");
        assert!(fs::read_to_string(client.path("text")).unwrap().contains("\nbackground: yes"), "{background}");
        assert!(!made.exists(), "{background}");
    }
}
