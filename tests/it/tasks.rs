//! Calls as tasks, in both eras: they run to their end, are cancelled, expire, and ask.

#![cfg(unix)]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Server, modern_meta};

const OLD: &str = "2025-11-25";
const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// A client of one era.
struct Client {
    server: Server,
    is_modern: bool,
    /// What a client of the modern era declares.
    capabilities: Value,
}

impl Client {
    /// One that takes tasks, and shows forms.
    fn start(is_modern: bool, args: &[&str]) -> Self {
        let mut server = Server::start(args);
        let mut capabilities = json!({"elicitation": {"form": {}}});
        if is_modern {
            capabilities["extensions"] = json!({EXTENSION: {}});
        } else {
            server.initialize_with(OLD, capabilities.clone());
        }
        Self { server, is_modern, capabilities }
    }

    fn params(&self, mut params: Value) -> Value {
        if self.is_modern {
            let mut meta = modern_meta();
            meta[CAPABILITIES] = self.capabilities.clone();
            meta.as_object_mut().unwrap().extend(params["_meta"].as_object().cloned().unwrap_or_default());
            params["_meta"] = meta;
        }
        params
    }

    fn send(&mut self, method: &str, params: Value) -> i64 {
        let params = self.params(params);
        self.server.send_request(method, params)
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let params = self.params(params);
        self.server.request(method, params)
    }

    /// The code of the error that answers a request.
    fn error(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.request(method, params);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// Has `sh` run a script as a task; gives the task.
    fn start_task(&mut self, script: &str) -> Value {
        self.start_task_with(json!({"file": "sh", "args": ["-c", script]}), json!({}), json!({}))
    }

    fn start_task_with(&mut self, mut arguments: Value, task: Value, meta: Value) -> Value {
        let mut params = json!({"name": "execute_process", "_meta": meta});
        if self.is_modern {
            arguments["background"] = json!(true);
        } else {
            params["task"] = task;
        }
        params["arguments"] = arguments;
        let answer = self.request("tools/call", params);
        let task = if self.is_modern { &answer["result"] } else { &answer["result"]["task"] };
        assert_eq!(task["status"], "working", "{answer}");
        task.clone()
    }

    fn get(&mut self, task: &Value) -> Value {
        let answer = self.request("tasks/get", json!({"taskId": task["taskId"]}));
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    }

    /// Asks until the task has this status.
    fn wait_for(&mut self, task: &Value, status: &str) -> Value {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let seen = self.get(task);
            if seen["status"] == status {
                return seen;
            }
            assert!(Instant::now() < until, "{seen} is not {status}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The result of a task that has ended, as its era gives it.
    fn result(&mut self, task: &Value, status: &str) -> Value {
        if self.is_modern {
            return self.wait_for(task, status)["result"].clone();
        }
        let mut answer = self.request("tasks/result", json!({"taskId": task["taskId"]}));
        assert_eq!(answer["result"]["_meta"][RELATED_TASK]["taskId"], task["taskId"], "{answer}");
        assert_eq!(self.get(task)["status"], status);
        answer["result"].take()
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

/// A directory with a flag that scripts wait for, as `$0` of `sh -c`.
struct Flag(tempfile::TempDir);

impl Flag {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn waits(&self) -> String {
        format!("while [ ! -e '{}' ]; do sleep 0.01; done", self.0.path().join("flag").display())
    }

    fn raise(&self) {
        std::fs::write(self.0.path().join("flag"), "").unwrap();
    }
}

#[test]
fn a_task_runs_to_its_end_in_both_eras() {
    for is_modern in [false, true] {
        let mut client = Client::start(is_modern, &["--allow", "sh"]);
        let flag = Flag::new();
        let task = client.start_task(&format!("echo begins; {}; echo ends", flag.waits()));
        assert_eq!(task["taskId"].as_str().map(str::len), Some(36));
        let [ttl, interval] = if is_modern { ["ttlMs", "pollIntervalMs"] } else { ["ttl", "pollInterval"] };
        assert_eq!((task[ttl].as_u64(), task[interval].as_u64()), (Some(7_200_000), Some(500)));
        let seen = client.get(&task);
        assert_eq!((&seen["status"], &seen["statusMessage"]), (&json!("working"), &json!("call 1 runs")));
        // It is an ordinary call in the background, too.
        let read = json!({"name": "read_output", "arguments": {"call": 1, "until": "begins", "wait_ms": 10_000}});
        let read = client.request("tools/call", read);
        assert!(text(&read["result"]).contains("running: true"), "{read}");
        let waiting = (!is_modern).then(|| client.send("tasks/result", json!({"taskId": task["taskId"]})));
        assert!(waiting.is_none_or(|id| client.server.try_response(id).is_none()));
        flag.raise();
        let result = client.result(&task, "completed");
        assert_eq!(text(&result), "exit_code: 0\nstdout: |\n  begins\n  ends\nstderr: ''\n");
        if let Some(id) = waiting {
            assert_eq!(client.server.response(&json!(id))["result"], result);
            let told = client.server.recv_until(|message| message["method"] == "notifications/tasks/status");
            let seen = client.get(&task);
            assert_eq!(told["params"], seen);
            let list = client.request("tasks/list", json!({}));
            assert_eq!(list["result"], json!({"tasks": [seen]}));
        }
        assert_eq!(client.result(&task, "completed"), result, "it is kept");
        assert_eq!(client.server.drain().len(), 0);
    }
}

#[test]
fn only_the_revisions_that_have_tasks_see_any_of_them() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", OLD] {
        for background in ["on", "off"] {
            let has_tasks = revision == OLD && background == "on";
            let mut server = Server::start(&["--allow", "echo", "--background", background]);
            let capabilities = server.initialize(revision)["capabilities"].take();
            let declared = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
            assert_eq!(capabilities.get("tasks"), has_tasks.then_some(&declared), "{revision}");
            assert_eq!(capabilities.get("extensions"), None);
            let tools = server.request("tools/list", json!({}))["result"]["tools"].take();
            for tool in tools.as_array().unwrap() {
                let runs = tool["name"].as_str().unwrap().starts_with("execute_");
                let optional = json!({"taskSupport": "optional"});
                assert_eq!(tool.get("execution"), (has_tasks && runs).then_some(&optional), "{tool}");
            }
            let call = json!({"name": "execute_command", "arguments": {"command": "echo a"}, "task": {"ttl": 1000}});
            let result = server.request("tools/call", call)["result"].take();
            assert_eq!(result.get("task").is_some(), has_tasks, "{result}");
            assert_eq!(result.get("content").is_some(), !has_tasks);
            for (method, is_there) in
                [("get", true), ("result", true), ("list", true), ("cancel", true), ("update", false)]
            {
                let code = server.request(&format!("tasks/{method}"), json!({"cursor": 1}))["error"]["code"].as_i64();
                assert_eq!(code, Some(if has_tasks && is_there { -32602 } else { -32601 }), "{revision} {method}");
            }
        }
    }
}

#[test]
fn in_the_modern_era_each_request_declares_that_it_takes_tasks() {
    for background in ["on", "off"] {
        let mut client = Client::start(true, &["--allow", "echo", "--background", background]);
        let is_on = background == "on";
        let discovered = client.request("server/discover", json!({}));
        let extensions = json!({EXTENSION: {}});
        assert_eq!(discovered["result"]["capabilities"].get("extensions"), is_on.then_some(&extensions));
        assert_eq!(discovered["result"]["capabilities"].get("tasks"), None);
        // There is nothing to wait for.
        let call = json!({"name": "execute_command", "arguments": {"command": "echo a"}, "task": {}});
        assert_eq!(client.request("tools/call", call)["result"]["resultType"], "complete");
        for (method, code) in
            [("get", -32602), ("cancel", -32602), ("update", -32602), ("result", -32601), ("list", -32601)]
        {
            let expected = if is_on { code } else { -32601 };
            assert_eq!(client.error(&format!("tasks/{method}"), json!({"taskId": "x"})), expected, "{method}");
        }
        client.capabilities = json!({});
        if !is_on {
            continue;
        }
        let call = json!({"name": "execute_command", "arguments": {"command": "echo a", "background": true}});
        let result = client.request("tools/call", call)["result"].take();
        assert_eq!((&result["resultType"], text(&result).starts_with("running: true\n")), (&json!("complete"), true));
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let answer = client.request(method, json!({"taskId": "x", "inputResponses": {}}));
            let required = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
            assert_eq!((&answer["error"]["code"], &answer["error"]["data"]), (&json!(-32021), &required));
        }
        let listen = json!({"notifications": {"taskIds": ["x"]}});
        assert_eq!(client.error("subscriptions/listen", listen), -32021);
    }
}

#[test]
fn what_is_asked_wrongly_of_tasks_is_an_error() {
    let mut client = Client::start(false, &["--allow", "echo"]);
    for task in [json!(1), json!({"ttl": -1}), json!({"ttl": "1"}), json!({"ttl": 0.5})] {
        let call = json!({"name": "execute_command", "arguments": {"command": "echo a"}, "task": task});
        assert_eq!(client.error("tools/call", call), -32602, "{task}");
    }
    for (name, arguments, code) in [
        ("list_calls", json!({}), -32601),
        ("read_output", json!({"call": 1}), -32601),
        ("no_such_tool", json!({}), -32602),
        ("execute_command", json!([]), -32602),
    ] {
        assert_eq!(
            client.error("tools/call", json!({"name": name, "arguments": arguments, "task": {}})),
            code,
            "{name}"
        );
    }
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        for id in [json!("00000000-0000-4000-8000-000000000000"), json!(1), Value::Null] {
            assert_eq!(client.error(method, json!({"taskId": id})), -32602, "{method} {id}");
        }
    }
    for cursor in [json!(1), json!("after-1"), json!("")] {
        assert_eq!(client.error("tasks/list", json!({"cursor": cursor})), -32602, "{cursor}");
    }
    assert_eq!(client.request("tasks/list", json!({}))["result"], json!({"tasks": []}));
    // What the tool or the policy refuses is a result of the task.
    for arguments in [json!({"command": "rm x"}), json!({"command": 1}), json!({"command": "echo", "cwd": "/no/such"})]
    {
        let call = json!({"name": "execute_command", "arguments": arguments, "task": {}});
        let task = client.request("tools/call", call)["result"]["task"].take();
        assert_eq!(client.result(&task, "failed")["isError"], json!(true));
    }
    assert_eq!(client.request("tasks/list", json!({}))["result"]["tasks"].as_array().map(Vec::len), Some(3));
}

#[test]
#[cfg(target_os = "linux")]
fn a_cancelled_task_ends_with_its_tree_and_gives_what_it_has_printed() {
    use crate::background::{running, wait_until};
    for (number, is_modern) in [false, true].into_iter().enumerate() {
        let mut client = Client::start(is_modern, &["--allow", "sh", "--grace", "100ms"]);
        let word = format!("31.{}{number}", std::process::id());
        let task = client.start_task(&format!("echo printed; (sleep {word}) & sleep {word}"));
        wait_until("it runs", || running(&word) == 2);
        // The request is answered, so that its notification ends nothing.
        client.server.notify("notifications/cancelled", json!({"requestId": if is_modern { 1 } else { 2 }}));
        assert_eq!(client.get(&task)["status"], "working");
        let cancelled = client.request("tasks/cancel", json!({"taskId": task["taskId"]}));
        let seen = client.get(&task);
        assert_eq!((&seen["status"], seen.get("result")), (&json!("cancelled"), None));
        wait_until("its tree is gone", || running(&word) == 0);
        if is_modern {
            assert_eq!(cancelled["result"]["resultType"], "complete");
            assert_eq!(
                client.request("tasks/cancel", json!({"taskId": task["taskId"]}))["result"],
                cancelled["result"]
            );
        } else {
            assert_eq!(cancelled["result"], seen);
            assert_eq!(client.error("tasks/cancel", json!({"taskId": task["taskId"]})), -32602);
            let result = client.result(&task, "cancelled");
            assert!(text(&result).contains("signal: SIGTERM") && text(&result).contains("printed"), "{result}");
        }
        assert_eq!(client.get(&task)["status"], "cancelled");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_task_is_forgotten_and_ended_when_its_time_is_over_or_its_session() {
    use crate::background::{running, wait_until};
    let mut client = Client::start(false, &["--allow", "sh,sleep", "--grace", "100ms"]);
    let word = format!("32.{}", std::process::id());
    let arguments = || json!({"file": "sleep", "args": [word.clone()]});
    let task = client.start_task_with(arguments(), json!({"ttl": 1}), json!({}));
    assert_eq!(task["ttl"], 1000, "none is shorter");
    let long = client.start_task_with(arguments(), json!({"ttl": 1e15}), json!({}));
    assert_eq!(long["ttl"], 86_400_000, "none is longer");
    wait_until("both run", || running(&word) == 2);
    let waiting = client.send("tasks/result", json!({"taskId": task["taskId"]}));
    assert_eq!(client.server.response(&json!(waiting))["error"]["code"], -32602);
    assert_eq!(client.error("tasks/get", json!({"taskId": task["taskId"]})), -32602);
    wait_until("one has ended", || running(&word) == 1);
    assert_eq!(client.get(&long)["status"], "working");
    let waiting = client.send("tasks/result", json!({"taskId": long["taskId"]}));
    client.server.initialize(OLD);
    assert_eq!(client.server.response(&json!(waiting))["error"]["code"], -32602);
    assert_eq!(client.error("tasks/get", json!({"taskId": long["taskId"]})), -32602);
    assert_eq!(client.request("tasks/list", json!({}))["result"], json!({"tasks": []}));
    wait_until("both have ended", || running(&word) == 0);
    let last = client.start_task_with(arguments(), json!({}), json!({}));
    wait_until("it runs", || running(&word) == 1);
    client.send("tasks/result", json!({"taskId": last["taskId"]}));
    assert_eq!(client.server.drain().iter().filter(|message| message.get("result").is_some()).count(), 1);
    assert_eq!((client.server.wait_exit(), running(&word)), (0, 0));
}

#[test]
fn tasks_count_as_calls_in_the_background_and_read_their_input_and_nothing_else() {
    let mut client = Client::start(false, &["--allow", "sh,cat", "--max-background-calls", "1"]);
    let cat = |more: Value| {
        let mut arguments = json!({"file": "cat", "input": "given\n"});
        arguments.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        arguments
    };
    let task = client.start_task_with(cat(json!({})), json!({}), json!({}));
    assert!(text(&client.result(&task, "completed")).contains("given"));
    let fed = client.start_task_with(cat(json!({"background": true})), json!({}), json!({}));
    client.wait_for(&fed, "working");
    let refused = client.start_task_with(cat(json!({})), json!({}), json!({}));
    assert!(text(&client.result(&refused, "failed")).contains("background"));
    let list = text(&client.request("tools/call", json!({"name": "list_calls"}))["result"]).to_owned();
    let list: Value = serde_yaml::from_str(&list).unwrap();
    let call = list["calls"].as_array().unwrap().iter().find(|call| call["running"] == true).unwrap()["call"].clone();
    let write = json!({"call": call, "text": "more\n", "close": true});
    client.request("tools/call", json!({"name": "write_input", "arguments": write}));
    assert!(text(&client.result(&fed, "completed")).contains("given\n  more\n"));
}

#[test]
fn progress_and_messages_of_a_task_go_on_and_say_whose_they_are() {
    let mut client = Client::start(false, &["--allow", "sh"]);
    client.request("logging/setLevel", json!({"level": "info"}));
    let flag = Flag::new();
    let script = format!("echo tick; {}", flag.waits());
    let task =
        client.start_task_with(json!({"file": "sh", "args": ["-c", script]}), json!({}), json!({"progressToken": "p"}));
    let told = client.server.recv_until(|message| message["method"] == "notifications/progress");
    assert_eq!((&told["params"]["progressToken"], &told["params"]["message"]), (&json!("p"), &json!("tick")));
    flag.raise();
    client.result(&task, "completed");
    let events: Vec<Value> = ["allowed", "ended"]
        .map(|event| client.server.recv_until(|message| message["params"]["data"]["event"] == event))
        .into();
    for message in events.iter().chain([&told]) {
        assert_eq!(message["params"]["_meta"], json!({RELATED_TASK: {"taskId": task["taskId"]}}), "{message}");
    }
}

#[test]
fn a_person_is_asked_within_a_task_by_a_request_in_the_older_era() {
    let mut client = Client::start(false, &["--ask", "echo"]);
    let echo = json!({"file": "echo", "args": ["approved"]});
    for (action, status) in [("accept", "completed"), ("decline", "failed")] {
        let task = client.start_task_with(echo.clone(), json!({}), json!({}));
        let asked = client.server.recv_until(|message| message["method"] == "elicitation/create");
        assert_eq!(asked["params"]["_meta"], json!({RELATED_TASK: {"taskId": task["taskId"]}}));
        assert_eq!(client.get(&task)["status"], "input_required");
        let waiting = client.send("tasks/result", json!({"taskId": task["taskId"]}));
        client.server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": action}}));
        let result = client.server.response(&json!(waiting))["result"].take();
        assert_eq!(
            (text(&result).contains("approved\n"), &client.get(&task)["status"]),
            (action == "accept", &json!(status))
        );
        let told: Vec<Value> = std::iter::from_fn(|| {
            let told = client.server.recv_until(|message| message["method"] == "notifications/tasks/status");
            (told["params"]["status"] != status).then(|| told["params"]["status"].clone())
        })
        .collect();
        let expected = if action == "accept" { vec!["input_required", "working"] } else { vec!["input_required"] };
        assert_eq!(told, expected);
    }
    // Cancelled while it waits, it takes its question along.
    let task = client.start_task_with(echo, json!({}), json!({}));
    let asked = client.server.recv_until(|message| message["method"] == "elicitation/create");
    client.request("tasks/cancel", json!({"taskId": task["taskId"]}));
    let withdrawn = client.server.recv_until(|message| message["method"] == "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    let result = client.result(&task, "cancelled");
    assert_eq!(text(&result), "the task was cancelled before its command was started");
}

#[test]
fn a_person_is_asked_within_a_task_by_what_stands_in_it_in_the_modern_era() {
    let mut client = Client::start(true, &["--ask", "echo"]);
    let echo = json!({"file": "echo", "args": ["approved"]});
    let asks = |client: &mut Client, task: &Value| {
        let seen = client.wait_for(task, "input_required");
        let (key, asked) = seen["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(asked["method"], "elicitation/create");
        assert!(asked["params"]["message"].as_str().unwrap().contains("\"echo\" \"approved\""), "{asked}");
        key.clone()
    };
    let update =
        |task: &Value, key: &str, response: Value| json!({"taskId": task["taskId"], "inputResponses": {key: response}});
    let task = client.start_task_with(echo.clone(), json!({}), json!({}));
    let other = client.start_task_with(echo.clone(), json!({}), json!({}));
    let (key, other_key) = (asks(&mut client, &task), asks(&mut client, &other));
    assert_ne!(key, other_key);
    // A key of another task, or of none, is ignored; what is no answer is refused.
    for wrong in [other_key.as_str(), "approval"] {
        let answer = client.request("tasks/update", update(&task, wrong, json!({"action": "accept"})));
        assert_eq!(answer["result"]["resultType"], "complete");
    }
    assert_eq!(client.error("tasks/update", update(&task, &key, json!({"action": "yes"}))), -32602);
    assert_eq!(client.error("tasks/update", json!({"taskId": task["taskId"]})), -32602);
    assert_eq!(asks(&mut client, &task), key);
    client.request("tasks/update", update(&task, &key, json!({"action": "accept"})));
    assert!(text(&client.result(&task, "completed")).contains("approved\n"));
    // It was used.
    client.request("tasks/update", update(&task, &key, json!({"action": "decline"})));
    assert!(text(&client.result(&task, "completed")).contains("approved\n"));
    client.request("tasks/update", update(&other, &other_key, json!({"action": "decline"})));
    assert_eq!(client.result(&other, "completed")["isError"], json!(true));
    // Who takes no tasks is asked by the result of the call.
    client.capabilities = json!({"elicitation": {"form": {}}});
    let call = json!({"name": "execute_process", "arguments": {"file": "echo", "background": true}});
    assert_eq!(client.request("tools/call", call)["result"]["resultType"], "input_required");
}

#[test]
fn a_question_within_a_task_ends_with_its_time_and_its_task() {
    let mut client = Client::start(true, &["--ask", "echo", "--ask-timeout", "100ms"]);
    let task = client.start_task_with(json!({"file": "echo"}), json!({}), json!({}));
    let result = client.result(&task, "completed");
    assert_eq!(result["isError"], json!(true), "{result}");
    let mut client = Client::start(true, &["--ask", "echo"]);
    // No more questions than that are open at once.
    for _ in 0..40 {
        let task = client.start_task_with(json!({"file": "echo"}), json!({}), json!({}));
        client.wait_for(&task, "input_required");
        client.request("tasks/cancel", json!({"taskId": task["taskId"]}));
        assert_eq!(client.get(&task)["status"], "cancelled");
    }
}

#[test]
fn a_call_that_takes_long_becomes_a_task_of_a_client_that_takes_it() {
    let mut client = Client::start(true, &["--allow", "sh", "--hand-over", "300ms"]);
    let flag = Flag::new();
    let script = format!("echo begins; {}; echo ends", flag.waits());
    let call = json!({
        "name": "execute_process", "arguments": {"file": "sh", "args": ["-c", script]}, "_meta": {"progressToken": 1}
    });
    let task = client.request("tools/call", call)["result"].take();
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    flag.raise();
    assert!(text(&client.result(&task, "completed")).contains("begins\n  ends\n"));
    // One that does not take long is answered.
    let call = json!({"name": "execute_process", "arguments": {"file": "sh", "args": ["-c", "exit 3"]}});
    assert_eq!(client.request("tools/call", call)["result"]["resultType"], "complete");
}

#[test]
fn a_subscription_tells_what_becomes_of_the_tasks_that_it_names() {
    let mut client = Client::start(true, &["--allow", "sh", "--ask", "echo"]);
    let flag = Flag::new();
    let ends = client.start_task(&flag.waits());
    let cancelled = client.start_task("sleep 60");
    let untold = client.start_task("sleep 60");
    let ids = json!([ends["taskId"], cancelled["taskId"], "no such task"]);
    let listen =
        client.send("subscriptions/listen", json!({"notifications": {"taskIds": ids, "toolsListChanged": true}}));
    let acknowledged =
        client.server.recv_until(|message| message["method"] == "notifications/subscriptions/acknowledged");
    let agreed = json!({"taskIds": [ends["taskId"], cancelled["taskId"]]});
    assert_eq!(acknowledged["params"]["notifications"], agreed);
    for task in [&untold, &cancelled] {
        client.request("tasks/cancel", json!({"taskId": task["taskId"]}));
    }
    let told = client.server.recv_until(|message| message["method"] == "notifications/tasks");
    assert_eq!((&told["params"]["taskId"], &told["params"]["status"]), (&cancelled["taskId"], &json!("cancelled")));
    flag.raise();
    let told = client.server.recv_until(|message| message["method"] == "notifications/tasks");
    let mut params = told["params"].clone();
    let meta = params.as_object_mut().unwrap().remove("_meta");
    assert_eq!(meta, Some(json!({"io.modelcontextprotocol/subscriptionId": listen})));
    let mut seen = client.get(&ends);
    for key in ["_meta", "resultType"] {
        seen.as_object_mut().unwrap().remove(key);
    }
    assert_eq!(params, seen);
    client.server.notify("notifications/cancelled", json!({"requestId": listen}));
    let left = client.server.drain();
    assert!(left.iter().all(|message| message["method"] != "notifications/tasks"), "{left:?}");
}

#[test]
fn a_task_that_waits_is_cancelled_by_its_request_and_the_list_has_pages() {
    let mut client = Client::start(false, &["--allow", "sh", "--max-background-calls", "100"]);
    let flag = Flag::new();
    let tasks: Vec<Value> = (0..60).map(|_| client.start_task(&flag.waits())).collect();
    let first = client.request("tasks/list", json!({}))["result"].take();
    assert_eq!(first["tasks"].as_array().map(Vec::len), Some(50));
    let second = client.request("tasks/list", json!({"cursor": first["nextCursor"]}))["result"].take();
    assert_eq!((second["tasks"].as_array().map(Vec::len), second.get("nextCursor")), (Some(10), None));
    let waits = client.send("tasks/result", json!({"taskId": tasks[0]["taskId"]}));
    client.server.notify("notifications/cancelled", json!({"requestId": waits}));
    // It has heard of that before any task ends.
    client.request("ping", json!({}));
    flag.raise();
    for task in &tasks {
        client.result(task, "completed");
    }
    assert!(client.server.drain().iter().all(|message| message["id"] != json!(waits)));
}

#[test]
fn the_audit_log_has_a_task_as_it_has_any_call() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("audit.jsonl");
    let mut client = Client::start(false, &["--allow", "echo", "--audit", log.to_str().unwrap()]);
    let task = client.start_task_with(json!({"file": "echo", "args": ["a"]}), json!({}), json!({}));
    client.result(&task, "completed");
    assert_eq!(client.server.drain().len(), 1, "the notification");
    assert_eq!(client.server.wait_exit(), 0);
    let text = std::fs::read_to_string(&log).unwrap();
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&str> = records.iter().filter_map(|record| record["event"].as_str()).collect();
    let position = |event: &str| events.iter().position(|seen| *seen == event).unwrap_or_else(|| panic!("{events:?}"));
    assert!(position("decided") < position("started") && position("started") < position("ended"), "{events:?}");
}

#[test]
fn a_command_of_the_persistent_shell_becomes_a_task_at_its_hand_over() {
    let mut client = Client::start(true, &["--tools", "shell", "--allow", "sh,echo", "--hand-over", "300ms"]);
    let flag = Flag::new();
    let script = format!("echo begins; {}; echo ends", flag.waits()).replace('\'', "\"");
    let arguments = json!({"arguments": format!("-c '{script}'")});
    let call = json!({"name": "sh", "arguments": arguments});
    let task = client.request("tools/call", call)["result"].take();
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    flag.raise();
    assert!(text(&client.result(&task, "completed")).contains("begins\n  ends\n"));
    let next = client.request("tools/call", json!({"name": "echo", "arguments": {"arguments": "again"}}));
    assert!(text(&next["result"]).contains("again"), "{next}");
}

/// `ALLOWEXEC_TASKS` says how many; a thousand take seconds.
#[test]
#[cfg(target_os = "linux")]
fn many_tasks_one_after_the_other_and_eight_at_once_leave_nothing() {
    use crate::background::wait_until;
    let count: usize = std::env::var("ALLOWEXEC_TASKS").map_or(120, |count| count.parse().unwrap());
    let mut client = Client::start(false, &["--allow", "echo"]);
    let pid = client.server.pid();
    let descriptors = || std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let run = |client: &mut Client, at_once: usize| {
        let start = |_| client.start_task_with(json!({"file": "echo", "args": ["a"]}), json!({}), json!({}));
        let tasks: Vec<Value> = (0..at_once).map(start).collect();
        for task in tasks {
            assert!(text(&client.result(&task, "completed")).contains("stdout: |\n  a\n"));
        }
    };
    // What is kept of the last ones, and the threads, are there from then on.
    (0..20).for_each(|_| run(&mut client, 8));
    let before = (descriptors(), memory());
    (0..count).for_each(|_| run(&mut client, 1));
    (0..count / 8).for_each(|_| run(&mut client, 8));
    wait_until("the descriptors are those of before", || descriptors() == before.0);
    eprintln!("{} tasks: {} KiB before, {} KiB after", 2 * count, before.1, memory());
    assert!(memory() < before.1 + 4 * 1024, "{} KiB, then {} KiB", before.1, memory());
    let mut kept = 0;
    let mut cursor = json!({});
    loop {
        let page = client.request("tasks/list", cursor)["result"].take();
        kept += page["tasks"].as_array().unwrap().len();
        match page.get("nextCursor") {
            Some(next) => cursor = json!({"cursor": next}),
            None => break,
        }
    }
    assert_eq!(kept, 100);
}
