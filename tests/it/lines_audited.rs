//! Lines in the audit log: each command and each redirection has a decision, and each process a start and an end.
#![cfg(unix)]

use std::fs;

use hmac_sha256::Hash;
use serde_json::{Value, json};

use crate::support::Server;

fn digest(text: &str) -> Value {
    let sha256: String = Hash::hash(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    json!({"bytes": text.len(), "sha256": sha256})
}

/// The records of a call, each as its event, its part and what is told of it.
fn told(records: &[Value], call: u64) -> Vec<String> {
    let of_call = records.iter().filter(|record| record["call"] == call);
    let told = |record: &Value| {
        let event = record["event"].as_str().unwrap();
        let part = record["part"].as_u64().map_or("-".to_owned(), |part| part.to_string());
        let words = |key: &str| -> String {
            let words = record[key].as_array().into_iter().flatten().map(|word| word.as_str().unwrap());
            words.collect::<Vec<_>>().join(" ")
        };
        match event {
            "decided" => format!("{event} {part} {} {}", record["decision"].as_str().unwrap(), words("argv")),
            "started" => {
                let program = record["program"].as_str().unwrap();
                format!("{event} {part} {}", program.rsplit('/').next().unwrap())
            }
            "ended" => format!("{event} {part} {}", record["exit_code"]),
            other => panic!("{other}"),
        }
    };
    let mut told: Vec<String> = of_call.map(told).collect();
    // The processes of a pipeline run at the same time.
    told.sort_by_key(|line| line.starts_with("ended"));
    told
}

#[test]
fn each_part_of_a_line_is_recorded_before_it_runs_and_nothing_of_what_it_reads() {
    let dir = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(dir.path()).unwrap();
    fs::write(
        here.join("policy.yaml"),
        "commands: {echo: any, cat: {operands: [{path: read, count: '0..'}], stdin: true}}\n",
    )
    .unwrap();
    fs::write(here.join("a.txt"), "a\n").unwrap();
    let (log, policy) = (here.join("audit.jsonl"), here.join("policy.yaml"));
    let args =
        ["--audit", log.to_str().unwrap(), "--policy", policy.to_str().unwrap(), "--lines", "files", "--log", "off"];
    let mut server = Server::command(&args).dir(&here).start();
    server.initialize("2025-11-25");
    let call = |server: &mut Server, arguments: Value| server.call("execute_command", arguments);
    call(&mut server, json!({"command": "cat | cat > f; cat a.txt", "input": "planted-1", "timeout_ms": 5000}));
    call(&mut server, json!({"command": "cat <<EOF && cat <<< planted-3; cat /etc/passwd\nplanted-2\nEOF"}));
    call(&mut server, json!({"command": "echo a; nothing-like-it"}));
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    let text = fs::read_to_string(&log).unwrap();
    assert!(!text.contains("planted"), "{text}");
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        told(&records, 1),
        [
            "decided 1 allowed cat",
            "decided 2 allowed cat",
            "decided 2 allowed > f",
            "started 1 cat",
            "started 2 cat",
            "decided 3 allowed cat a.txt",
            "started 3 cat",
            "ended 1 0",
            "ended 2 0",
            "ended 3 0",
            "ended - 0",
        ]
    );
    assert_eq!(
        told(&records, 2),
        [
            "decided 1 allowed cat",
            "decided 1 allowed <<",
            "decided 2 allowed <<<",
            "started 1 cat",
            "decided 2 allowed cat",
            "started 2 cat",
            "decided 3 refused cat /etc/passwd",
            "ended 1 0",
            "ended 2 0",
            "ended - null",
        ]
    );
    assert_eq!(told(&records, 3), ["decided 1 allowed echo a", "decided 2 refused nothing-like-it"]);
    assert_eq!(records.last().unwrap()["calls"], 3, "a line is one call");
    let inputs: Vec<&Value> = records.iter().map(|record| &record["input"]).filter(|input| !input.is_null()).collect();
    let [document, string] = [digest("planted-2\n"), digest("planted-3\n")];
    assert_eq!(inputs[0], &digest("planted-1"));
    assert!(inputs.contains(&&document), "{inputs:?}");
    assert!(inputs.contains(&&string), "{inputs:?}");
    let first = records.iter().find(|record| record["event"] == "decided").unwrap();
    assert_eq!((&first["timeout_ms"], &first["part"]), (&json!(5000), &json!(1)));
}

#[test]
fn what_runs_is_in_the_log_with_its_directory_and_its_variables() {
    let dir = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir(here.join("sub")).unwrap();
    let log = here.join("audit.jsonl");
    let args = [
        "--audit",
        log.to_str().unwrap(),
        "--allow",
        "ls,pwd,echo,printenv",
        "--lines",
        "files",
        "--line-env",
        "FOO,BAR",
        "--env",
        "KEY=planted",
        "--log",
        "off",
    ];
    let mut server = Server::command(&args).dir(&here).start();
    server.initialize("2025-11-25");
    for line in ["ls nosuch && cd sub; pwd; echo $PWD > made", "FOO=bar BAR='planted $' printenv FOO", "cd sub && pwd"]
    {
        server.call("execute_command", json!({"command": line}));
    }
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    let text = fs::read_to_string(&log).unwrap();
    assert!(!text.contains("planted"), "{text}");
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The last decision on a part before it starts says what runs.
    let last = |part: u64| {
        let of_part = |record: &&Value| record["call"] == 1 && record["part"] == part;
        let started = records.iter().position(|record| of_part(&record) && record["event"] == "started").unwrap();
        let mut before = records[..started].iter().filter(of_part);
        before.rfind(|record| record["event"] == "decided" && record["argv"][0] != ">").unwrap()
    };
    assert_eq!((&last(3)["argv"], &last(3)["cwd"]), (&json!(["pwd"]), &json!(here)));
    assert_eq!((&last(4)["argv"], &last(4)["cwd"]), (&json!(["echo", here]), &json!(here)));
    let cd = records.iter().find(|record| record["argv"] == json!(["cd", "sub"])).unwrap();
    assert_eq!(cd["cwd"], json!(here), "the directory that it changes from");
    let written: Vec<&Value> = records.iter().filter(|record| record["argv"] == json!([">", "made"])).collect();
    assert_eq!(written.last().unwrap()["cwd"], json!(here));
    let sets = records.iter().find(|record| record["event"] == "decided" && record["call"] == 2).unwrap();
    assert_eq!(sets["env"]["FOO"], "bar");
    assert!(sets["env"]["BAR"].as_str().unwrap().starts_with("sha256:"), "{sets}");
    assert!(records.iter().filter(|record| record["call"] == 1).all(|record| record.get("env").is_none()));
    let shown = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec"))
        .args(["audit", "show", "--call", "2"])
        .arg(&log)
        .env("COLUMNS", "400")
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(" FOO=bar; in "), "{shown}");
}
