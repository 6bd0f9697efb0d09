//! What a client can have the server hold: floods of a bounded size, after each of which the server answers `ping` and has
//! never used more memory than `spec/architecture.md` says.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::support::Server;
use crate::support::server::modern_meta;
use serde_json::{Value, json};

/// The most memory that a server with default settings takes, in KiB, whatever its client sends.
const MOST_MEMORY: u64 = 256 * 1024;
/// How long a flood may take to be answered, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server whose client sends whatever it likes, and reads all that comes.
struct Flooded {
    child: Child,
    input: Option<Box<dyn Write>>,
    answers: Receiver<Value>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Flooded {
    fn start(args: &[&str]) -> Self {
        let mut child = Server::command(args).env("ALLOWEXEC_LOG", "off").spawn();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = channel();
        let reader = thread::spawn(move || {
            for line in output.lines() {
                let line = line.unwrap();
                // A server that is ended may leave half of a line.
                let Ok(answer) = serde_json::from_str(&line) else { return };
                if sender.send(answer).is_err() {
                    return;
                }
            }
        });
        let input: Box<dyn Write> = Box::new(child.stdin.take().unwrap());
        Self { child, input: Some(input), answers, reader: Some(reader) }
    }

    fn send(&mut self, line: impl AsRef<[u8]>) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_ref()).unwrap();
        input.write_all(b"\n").unwrap();
    }

    fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params});
        self.send(message.to_string());
    }

    fn initialize(&mut self, revision: &str, capabilities: Value) {
        let info = json!({"name": "flood", "version": "0"});
        self.request(
            "init",
            "initialize",
            json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info}),
        );
        self.until(|answer| answer["id"] == "init");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// All answers up to the one that is wanted.
    fn until(&self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut before = Vec::new();
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).expect("the server answers");
            let is_last = wanted(&answer);
            before.push(answer);
            if is_last {
                return before;
            }
        }
    }

    /// Asks for an answer behind all that was sent; gives those before it.
    fn ping(&mut self) -> Vec<Value> {
        self.request("alive", "ping", json!({}));
        let mut answers = self.until(|answer| answer["id"] == "alive");
        assert_eq!(answers.pop().unwrap()["result"], json!({}));
        answers
    }

    fn most_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    fn assert_bounded(&self, flood: &str) {
        let most = self.most_memory();
        assert!(most < MOST_MEMORY, "{flood}: {} MiB", most / 1024);
    }
}

impl Drop for Flooded {
    fn drop(&mut self) {
        drop(self.input.take());
        // Its end may be awaited however the test goes: it ends what runs by itself.
        let _ = self.child.wait();
        drop(self.reader.take().map(thread::JoinHandle::join));
    }
}

fn refusals(answers: &[Value]) -> usize {
    let says = |answer: &&Value| {
        let text = answer["error"]["message"].as_str().or(answer["result"]["content"][0]["text"].as_str());
        text.is_some_and(|text| text.starts_with("pending requests take 64 MiB already"))
    };
    answers.iter().filter(says).count()
}

/// A member of a message that takes a hundred times its bytes.
fn padding(objects: usize) -> Value {
    vec![json!({"a": {}}); objects].into()
}

/// One call runs at once, and none ends by itself while a flood is answered, however long that takes.
const ONE_FOR_LONG: [&str; 8] =
    ["--allow", "sleep", "--max-concurrent", "1", "--timeout", "10m", "--max-timeout", "10m"];

/// A server with the one call that runs, so that all others wait.
fn busy() -> Flooded {
    let mut server = Flooded::start(&ONE_FOR_LONG);
    server.initialize("2025-06-18", json!({}));
    server.request("runs", "tools/call", json!({"name": "execute_command", "arguments": {"command": "sleep 600"}}));
    server
}

#[test]
fn calls_that_wait_are_charged_with_all_that_they_bring() {
    let mut server = busy();
    let id = |number: usize| format!("{number}{}", "i".repeat(1000));
    let padding = padding(100);
    for number in 0..1_500 {
        let call = json!({"name": "execute_command", "arguments": {"command": "sleep 1"}, "more": padding});
        server.request(id(number), "tools/call", call);
    }
    let answers = server.ping();
    assert!(refusals(&answers) > 500, "{}", refusals(&answers));
    server.assert_bounded("calls with unknown members");
    // Cancelled calls give back what they held.
    for number in 0..1_500 {
        let params = json!({"requestId": id(number)});
        server.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string());
    }
    server.request(
        "again",
        "tools/call",
        json!({"name": "execute_command", "arguments": {"command": "sleep 1"}, "more": padding}),
    );
    assert_eq!(refusals(&server.ping()), 0);
}

#[test]
fn words_and_inputs_and_tokens_of_calls_are_charged() {
    let mut server = busy();
    let words = format!("sleep{}", " 1".repeat(130_000));
    for number in 0..40 {
        server.request(number, "tools/call", json!({"name": "execute_command", "arguments": {"command": words}}));
    }
    let answers = server.ping();
    assert!(refusals(&answers) > 20, "{}", refusals(&answers));
    server.assert_bounded("one-letter words");
    let too_many = format!("sleep{}", " 1".repeat(4_000_000));
    for number in 100..103 {
        server.request(number, "tools/call", json!({"name": "execute_command", "arguments": {"command": too_many}}));
    }
    for answer in server.ping() {
        let is_refused =
            answer.to_string().contains("more than 131072 words") || refusals(std::slice::from_ref(&answer)) == 1;
        assert!(is_refused, "{answer}");
    }
    let input = "i".repeat(12 * 1024 * 1024);
    for number in 200..206 {
        let arguments = json!({"command": "sleep 1", "input": input});
        server.request(number, "tools/call", json!({"name": "execute_command", "arguments": arguments}));
    }
    assert!(refusals(&server.ping()) >= 2);
    for number in 300..310 {
        let meta = json!({"progressToken": "t".repeat(1024 * 1024)});
        let arguments = json!({"command": "sleep 1"});
        server.request(number, "tools/call", json!({"name": "execute_command", "arguments": arguments, "_meta": meta}));
    }
    server.ping();
    server.assert_bounded("words, inputs and tokens");
}

#[test]
fn calls_that_wait_for_roots_are_charged() {
    let mut server = Flooded::start(&["--allow", "echo"]);
    server.initialize("2025-06-18", json!({"roots": {}}));
    server.until(|message| message["method"] == "roots/list");
    for number in 0..200 {
        let call = json!({"name": "execute_command", "arguments": {"command": "echo"}, "more": padding(2_000)});
        server.request(number, "tools/call", call);
    }
    // How many are refused depends on how long the server waits for the roots; what it takes does not.
    server.ping();
    server.assert_bounded("calls that wait for roots");
}

#[test]
fn a_long_id_is_refused_and_comes_back_nowhere() {
    let mut server = Flooded::start(&["--allow", "echo"]);
    server.initialize("2025-06-18", json!({}));
    for method in ["ping", "tools/call", "nonsense"] {
        server.request("i".repeat(15 * 1024 * 1024), method, json!({}));
        let answers = server.ping();
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0]["error"]["message"], "invalid request: `id` must be no longer than 1024 bytes");
        assert_eq!((answers[0]["error"]["code"].clone(), answers[0].get("id")), (json!(-32600), None));
    }
    server.request("i".repeat(1024), "ping", json!({}));
    assert_eq!(server.ping()[0]["id"], "i".repeat(1024));
    server.assert_bounded("long ids");
}

#[test]
fn a_request_that_is_too_long_is_answered_with_its_id() {
    let mut server = Flooded::start(&["--allow", "echo"]);
    server.initialize("2025-06-18", json!({}));
    let padding = "x".repeat(17 * 1024 * 1024);
    for line in [
        format!(r#"{{"id":"first","method":"ping","params":{{"id":1,"x":"{padding}"}}}}"#),
        format!(r#"{{"method":"tools/call","params":{{"id":1,"x":"{padding}"}},"jsonrpc":"2.0","id":"first"}}"#),
        // A response is not answered.
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"{padding}"}}}}"#),
    ] {
        server.send(&line);
        let answers = server.ping();
        if !line.contains("first") {
            assert!(answers.is_empty(), "{answers:?}");
            continue;
        }
        assert_eq!((answers.len(), &answers[0]["id"]), (1, &json!("first")));
        assert_eq!(answers[0]["error"]["message"], "invalid request: the line is longer than 16777216 bytes");
    }
    server.assert_bounded("long lines");
}

#[test]
fn subscriptions_are_charged_and_counted() {
    let mut server = Flooded::start(&["--allow", "echo"]);
    let mut listen = |number: usize, padding: Value| {
        let params = json!({"notifications": {}, "_meta": modern_meta(), "more": padding});
        server.request(number, "subscriptions/listen", params);
    };
    (0..500).for_each(|number| listen(number, padding(200)));
    (1_000..3_000).for_each(|number| listen(number, json!([])));
    let answers = server.ping();
    assert!(refusals(&answers) > 100);
    assert!(
        answers.iter().filter(|answer| answer["method"] == "notifications/subscriptions/acknowledged").count() <= 1_000
    );
    server.assert_bounded("subscriptions");
}

#[test]
fn batches_are_bounded_in_number_and_in_length() {
    // The default timeout would end the first call on a machine that is busy for 30 s, and answer its batch in between.
    let mut server = Flooded::start(&[&ONE_FOR_LONG[..], &["--background", "off"]].concat());
    server.initialize("2025-03-26", json!({}));
    let call = json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call",
        "params": {"name": "execute_command", "arguments": {"command": "sleep 600"}}});
    let lists = vec![json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}); 40];
    for _ in 0..400 {
        let mut batch = vec![call.clone()];
        batch.extend(lists.clone());
        server.send(Value::from(batch).to_string());
    }
    server.ping();
    server.assert_bounded("open batches");
    let element = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    server.send(format!("[{}]", vec![element; 1_001].join(",")));
    let answers = server.ping();
    let why = "invalid request: the batch holds more than 1000 messages; send several";
    assert_eq!((answers.len(), &answers[0]["error"]["message"]), (1, &json!(why)));
    server.send(format!("[{}]", vec![element; 1_000].join(",")));
    let answers = server.ping();
    assert_eq!(answers[0].as_array().unwrap().len(), 1_000);
    server.assert_bounded("long batches");
}

/// A line of nearly 16 MiB, of as many of these values as fit.
fn filled(before: &str, value: &str, behind: &str) -> String {
    let count = (16 * 1024 * 1024 - 1024 - before.len() - behind.len()) / (value.len() + 1);
    let mut line = String::with_capacity(16 * 1024 * 1024);
    line.push_str(before);
    for place in 0..count {
        if place > 0 {
            line.push(',');
        }
        line.push_str(value);
    }
    line.push_str(behind);
    line
}

#[test]
fn no_line_costs_many_times_its_bytes() {
    let mut server = Flooded::start(&["--allow", "echo"]);
    server.initialize("2025-03-26", json!({}));
    let call = r#"{"jsonrpc":"2.0","id":"h","method":"tools/call","params":{"name":"execute_process","arguments":{"file":"echo","args":["#;
    let response = r#"{"jsonrpc":"2.0","id":"roots-1","result":{"roots":["#;
    let lines = [
        filled("[", "0", "]"),
        filled("[", "[]", "]"),
        filled("[", r#"{"":0}"#, "]"),
        filled("[", r#"{"method":"a","id":1}"#, "]"),
        filled(call, r#""""#, "]}}}"),
        filled(call, r#"{"a":{}}"#, "]}}}"),
        filled(call, r#""\ud800""#, "]}}}"),
        filled(response, r#"{"uri":""}"#, "]}}"),
        filled(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"a":["#, "[[]]", "]}}"),
        format!(r#"{{"jsonrpc":"2.0","id":"h","method":"m","params":{{"a":"{}"}}}}"#, r"\n".repeat(8_000_000)),
        "[".repeat(16 * 1024 * 1024 - 1),
        format!("{}{}", "[".repeat(8_000_000), "]".repeat(8_000_000)),
        "{\"a\":".repeat(3_000_000),
        // As heavy as is taken.
        format!("[{}]", vec!["0"; 480_000].join(",")),
        format!("[{}]", vec!["[]"; 140_000].join(",")),
        format!("[{}]", vec!["\"\""; 320_000].join(",")),
        format!("{call}{}]}}}}}}", vec![r#"{"a":{"a":0}}"#; 18_000].join(",")),
        format!("{response}{}]}}}}", vec![r#"{"uri":""}"#; 36_000].join(",")),
    ];
    for (place, line) in lines.iter().enumerate() {
        server.send(line);
        server.ping();
        server.assert_bounded(&format!("line {place}: {}", &line[..60]));
    }
    // A call that does not look for trouble, with as many arguments as a system takes.
    server.send(filled(call, r#""x""#, "]}}}"));
    let answers = server.ping();
    assert_eq!((&answers[0]["id"], &answers[0]["error"]["code"]), (&json!("h"), &json!(-32600)));
    let capabilities: String = filled(
        r#"{"jsonrpc":"2.0","id":"c","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"more":""#,
        "x",
        r#""}}}"#,
    );
    server.send(capabilities);
    server.ping();
    server.assert_bounded("capabilities");
}

/// What a rule reads of one line: letters of options, and paths with their links.
#[test]
fn no_command_line_takes_many_times_its_bytes_or_holds_up_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path();
    std::fs::write(base.join("a"), "").unwrap();
    std::fs::create_dir(base.join("s")).unwrap();
    std::os::unix::fs::symlink("s/../".repeat(800) + "a", base.join("link")).unwrap();
    let root = base.to_str().unwrap();
    let args = ["--profile", "coreutils-readonly,git-readonly", "--cwd-root", root, "--cwd", root];
    // One path is walked once, however often it is named.
    let many = |count: usize, word: &dyn Fn(usize) -> String| (0..count).map(word).collect::<Vec<_>>().join(" ");
    for (words, refusal) in [
        (format!("ls -{}", "l".repeat(15_000_000)), "more letters than are read"),
        (format!("git branch -{}", "a".repeat(15_000_000)), "more letters than are read"),
        (format!("ls {}", format!("-{} ", "l".repeat(1000)).repeat(15_000)), "more letters than are read"),
        (format!("cat {}", many(130_000, &|number| format!("a{number}"))), "parts together"),
        (format!("cat {}", many(700, &|number| "s/../".repeat(800 - number) + "a")), "parts together"),
        (format!("cat {}", many(300, &|number| "./".repeat(number) + "link")), "parts together"),
        (format!("cat {}", many(3900, &|number| format!("n{number}/") + &"a/".repeat(2000))), "parts together"),
    ] {
        let mut server = Flooded::start(&args);
        server.initialize("2025-06-18", json!({}));
        server.request("w", "tools/call", json!({"name": "execute_command", "arguments": {"command": words}}));
        let mut answers = server.ping();
        // It does not wait for the call.
        answers.extend(if answers.is_empty() { server.until(|answer| answer["id"] == "w") } else { Vec::new() });
        let answer = answers.first().unwrap_or_else(|| panic!("no answer to {}", &words[..30]));
        let answer = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(answer.contains(refusal), "{}: {}", &words[..30], &answer[..answer.len().min(300)]);
        server.assert_bounded(&words[..30]);
    }
    // Each call of a batch may walk as much by itself, and the server goes on meanwhile.
    let mut server = Flooded::start(&args);
    server.initialize("2025-03-26", json!({}));
    let words = format!("cat {}", many(10, &|number| format!("n{number}/") + &"a/".repeat(1500)));
    let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "execute_command", "arguments": {"command": words}}});
    server.send(Value::Array((0..100).map(call).collect()).to_string());
    let answers = server.ping();
    let ran = |answer: &&Value| answer["result"]["content"][0]["text"].as_str().unwrap().contains("exit_code");
    let batch = answers.into_iter().next().unwrap_or_else(|| server.answers.recv_timeout(PATIENCE).unwrap());
    assert_eq!(batch.as_array().unwrap().iter().filter(ran).count(), 100);
    server.assert_bounded("a batch of long paths");
}

/// Each of these calls walks some seven thousand directories, which takes a thread many milliseconds.
#[test]
fn paths_that_take_long_to_walk_hold_up_no_other_request() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path();
    std::fs::create_dir_all(base.join("s/t")).unwrap();
    let root = base.to_str().unwrap();
    let mut server = Flooded::start(&[
        "--profile",
        "coreutils-readonly",
        "--cwd-root",
        root,
        "--cwd",
        root,
        "--max-concurrent",
        "1",
    ]);
    server.initialize("2025-06-18", json!({}));
    let words = (0..10).map(|number| "s/../".repeat(370 + number) + "a").collect::<Vec<_>>().join(" ");
    let arguments = json!({"command": format!("cat {words} /etc/passwd")});
    let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "execute_command", "arguments": arguments}});
    let calls: Vec<String> = (0..8).map(|id| call(id).to_string()).collect();
    server.send(calls.join("\n"));
    let before = server.ping().len();
    assert!(before < 8, "all {before} calls were answered before the ping that followed them");
    for _ in before..8 {
        server.until(|answer| answer["id"].is_number());
    }
    server.assert_bounded("calls with long paths");
}

/// The calls of the persistent shell run one after another, each after its paths were walked: other calls and requests go on meanwhile.
#[test]
fn paths_of_the_persistent_shell_that_take_long_to_walk_hold_up_no_other_request() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path();
    std::fs::create_dir_all(base.join("s/t")).unwrap();
    let root = base.to_str().unwrap();
    let rules = base.join("rules.yaml");
    // What a person must approve is also looked at before its turn.
    let asks = "commands:\n  asked:\n    program: /bin/cat\n    decision: ask\n    reason: it reads\n    forms: [{operands: [{path: {access: read}, count: '0..'}]}]\n";
    std::fs::write(&rules, asks).unwrap();
    let (profile, rules) = ("coreutils-readonly", rules.to_str().unwrap());
    let args = ["--profile", profile, "--policy", rules, "--cwd-root", root, "--cwd", root, "--tools", "all"];
    let mut server = Flooded::start(&args);
    server.initialize("2025-06-18", json!({}));
    let words = (0..10).map(|number| "s/../".repeat(370 + number) + "a").collect::<Vec<_>>().join(" ");
    let call = |id: usize, tool: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let arguments = json!({"arguments": format!("{words} /etc/passwd")});
    let mut calls: Vec<String> =
        (0..20).map(|id| call(id, if id % 5 == 0 { "asked" } else { "cat" }, arguments.clone()).to_string()).collect();
    calls.insert(19, call(100, "execute_command", json!({"command": "pwd"})).to_string());
    server.send(calls.join("\n"));
    let mut answers = server.ping();
    assert!(answers.len() < 20, "all calls were answered before the ping that followed them");
    while answers.len() < 21 {
        answers.extend(server.until(|answer| answer["id"].is_number()));
    }
    let place = |id: usize| answers.iter().position(|answer| answer["id"] == id).unwrap();
    assert!(place(100) < place(19), "the call beside the shell waited for those in it");
    let in_shell: Vec<usize> = (0..20).filter(|id| id % 5 != 0).map(place).collect();
    assert!(in_shell.is_sorted(), "{in_shell:?}");
    server.assert_bounded("calls of the shell with long paths");
}

/// A prompt about a command takes as long as a decision on it, and holds up nothing either.
#[test]
fn prompts_that_take_long_to_fill_in_hold_up_no_other_request() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path();
    std::fs::create_dir_all(base.join("s/t")).unwrap();
    let root = base.to_str().unwrap();
    let mut server = Flooded::start(&["--profile", "coreutils-readonly", "--cwd-root", root, "--cwd", root]);
    server.initialize("2025-06-18", json!({}));
    let words = (0..10).map(|number| "s/../".repeat(370 + number) + "a").collect::<Vec<_>>().join(" ");
    let prompt = |id: usize| {
        let words = if id < 8 { &words } else { "a" };
        let arguments = json!({"command": format!("cat {words} /etc/passwd")});
        let params = json!({"name": "explain_refusal", "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": id, "method": "prompts/get", "params": params})
    };
    let prompts: Vec<String> = (0..108).map(|id| prompt(id).to_string()).collect();
    server.send(prompts[..8].join("\n"));
    let mut answers = server.ping();
    assert!(answers.len() < 8, "all were filled in before the ping that followed them");
    server.send(prompts[8..].join("\n"));
    while answers.len() < 108 {
        answers.extend(server.until(|answer| answer["id"].is_number()));
    }
    // Those beyond the bound are refused at once.
    let is_explained = |answer: &&Value| {
        let text = answer["result"]["messages"][0]["content"]["text"].as_str();
        text.is_some_and(|text| text.contains("leads outside the allowed directories"))
    };
    let is_refused = |answer: &&Value| {
        let message = answer["error"]["message"].as_str();
        message.is_some_and(|message| message.starts_with("64 prompts wait to be filled in"))
    };
    let (explained, refused) = (answers.iter().filter(is_explained).count(), answers.iter().filter(is_refused).count());
    assert!(explained >= 64 && explained + refused == 108, "{explained} explained, {refused} refused");
    // What is cancelled leaves nothing behind.
    let cancel =
        |id: usize| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let lines: Vec<String> = (1000..1300)
        .flat_map(|id| {
            let mut prompt = prompt(0);
            prompt["id"] = json!(id);
            [prompt.to_string(), cancel(id).to_string()]
        })
        .collect();
    server.send(lines.join("\n"));
    server.ping();
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.child.id()));
    assert!(threads.map_or(0, Iterator::count) < 20);
    server.assert_bounded("prompts with long paths");
}

#[test]
fn many_outputs_at_once_stay_within_the_bound() {
    let mut server = Flooded::start(&["--allow", "head"]);
    server.initialize("2025-06-18", json!({}));
    for number in 0..64 {
        let command = "head -c 3000000 /dev/zero";
        server.request(number, "tools/call", json!({"name": "execute_command", "arguments": {"command": command}}));
    }
    for _ in 0..64 {
        server.until(|answer| answer["id"].is_number());
    }
    server.assert_bounded("outputs");
}
