//! What clients do that no scenario can hold: thousands of requests at once, a request in the last breath, long calls.
//!
//! Real clients drive the server in `tests/clients/`, which CI runs beside this.

#![cfg(unix)]

use std::collections::BTreeSet;

use crate::support::{Server, modern_meta};
use serde_json::{Value, json};

fn call(id: u64, command: &str) -> Value {
    let arguments = json!({"command": command});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "execute_command", "arguments": arguments}})
}

#[test]
fn five_thousand_requests_at_once_are_each_answered_once() {
    let mut server = Server::command(&["--allow", "true"]).env("ALLOWEXEC_LOG", "off").start();
    server.initialize("2025-11-25");
    let ids = 1000..6000;
    for id in ids.clone() {
        let message = match id % 10 {
            0 => call(id, "true"),
            1 => json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}),
            2 => json!({"jsonrpc": "2.0", "id": id, "method": "nonsense"}),
            3 => json!({"jsonrpc": "2.0", "id": id, "method": "ping"}),
            _ => call(id, "rm x"),
        };
        server.send(&message);
    }
    // The tap fails the test where an id is answered twice.
    let answered: BTreeSet<u64> = ids.clone().map(|_| server.recv()["id"].as_u64().unwrap()).collect();
    assert_eq!(answered, ids.collect());
    assert_eq!(server.drain(), Vec::<Value>::new());
    assert_eq!(server.wait_exit(), 0);
}

#[test]
fn a_request_that_comes_with_the_end_of_the_input_is_answered() {
    let mut server = Server::command(&["--allow", "echo"]).env("ALLOWEXEC_LOG", "off").start();
    server.initialize("2025-11-25");
    server.send(&call(1000, "echo last"));
    server.send_bytes(call(1001, "echo words").to_string().as_bytes());
    let answered: BTreeSet<u64> = server.drain().iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(answered, BTreeSet::from([1000, 1001]));
    assert_eq!(server.wait_exit(), 0);
}

#[test]
fn progress_rises_until_the_answer_and_each_call_has_its_own() {
    let mut server = Server::command(&["--allow", "sh"]).env("ALLOWEXEC_LOG", "off").start();
    for (id, token) in [(1, json!(0)), (2, json!("0"))] {
        let mut meta = modern_meta();
        meta["progressToken"] = token;
        let mut request = call(id, &format!("sh -c 'echo out {id}; echo err {id} >&2; sleep 2.2'"));
        request["params"]["_meta"] = meta;
        server.send(&request);
    }
    for id in [1, 2] {
        server.response(&json!(id));
    }
    // The tap checked that each rises, and that none came after its answer.
    let heard = server.drain();
    for (id, token) in [(1, json!(0)), (2, json!("0"))] {
        let of_call = heard.iter().filter(|message| message["params"]["progressToken"] == token);
        let messages: Vec<&str> = of_call.filter_map(|message| message["params"]["message"].as_str()).collect();
        assert!(!messages.is_empty(), "{heard:?}");
        assert!(messages.iter().all(|line| line.ends_with(&id.to_string())), "{heard:?}");
    }
}

#[test]
fn the_trace_of_a_call_stands_in_its_line_of_the_log() {
    let mut server = Server::start(&["--allow", "echo"]);
    let trace = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    for (id, command) in [(1, "echo x"), (2, "rm x")] {
        let mut meta = modern_meta();
        meta["traceparent"] = json!(trace);
        meta["tracestate"] = json!("vendor=\"a\"\nforged: line");
        meta["baggage"] = json!(7);
        let mut request = call(id, command);
        request["params"]["_meta"] = meta;
        server.send(&request);
        server.response(&json!(id));
    }
    server.drain();
    server.wait_exit();
    let log = server.stderr();
    for line in ["call id=1 ", "call id=2 "] {
        let line = log.lines().find(|logged| logged.contains(line)).unwrap_or_else(|| panic!("{log}"));
        let expected = format!(" traceparent=\"{trace}\" tracestate=\"vendor=\\\"a\\\"\\nforged: line\"");
        assert!(line.contains(&expected) && !line.contains("baggage"), "{line}");
    }
}

#[test]
fn a_subscription_can_not_be_part_of_a_batch() {
    let mut server = Server::start(&[]);
    server.initialize("2025-03-26");
    let params = json!({"notifications": {}, "_meta": modern_meta()});
    let listen = json!({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params});
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    server.send(&json!([listen, ping]));
    let answers = server.recv();
    assert_eq!(answers[0]["error"]["code"], -32600, "{answers}");
    assert_eq!(answers[1]["result"], json!({}), "{answers}");
}
