//! The library as a program that embeds it uses it: each of its ways in, and several servers in one process.

#![cfg(unix)]

use std::io::{self, BufRead, Cursor, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use allowexec::config::{Config, ConfigError, Surroundings};
use allowexec::exec::{Captured, End, ExecError, Executor, Invocation, Output, Processes, StopReason, stop};
use allowexec::policy::{CommandLine, Refusal};
use allowexec::server::{
    CallError, CommandEnded, CommandOutcome, Decided, DrainTime, Observer, Parts, QuestionAnswered, QuestionAsked,
    Server,
};
use serde_json::{Map, Value, json};

const PROMPT: Duration = Duration::from_secs(10);

fn config(allowed: &[&str]) -> Config {
    Config::builder(Surroundings::of_this_process().unwrap()).allow(allowed.iter().copied()).build().unwrap()
}

fn arguments(command: &str) -> Map<String, Value> {
    json!({"command": command}).as_object().cloned().unwrap()
}

fn request(id: u64, command: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "execute_command", "arguments": {"command": command}, "_meta": meta});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}

/// A part of the input that ends without a byte once this is true.
struct Until(Arc<AtomicBool>);

impl Read for Until {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.fill_buf().map(<[u8]>::len)
    }
}

impl BufRead for Until {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let until = std::time::Instant::now() + PROMPT;
        while !self.0.load(Ordering::SeqCst) && std::time::Instant::now() < until {
            thread::park_timeout(Duration::from_millis(1));
        }
        Ok(&[])
    }

    fn consume(&mut self, _: usize) {}
}

/// Serves the lines and says the texts of the results by their ids.
fn serve(parts: Parts, lines: &str) -> Vec<(u64, String)> {
    serve_from(parts, Cursor::new(lines.to_owned()))
}

fn serve_from(parts: Parts, input: impl BufRead + Send + 'static) -> Vec<(u64, String)> {
    let mut output = Vec::new();
    let server = Server::new(parts, DrainTime::Unbounded, Box::new(|_| ()), &mut output);
    server.serve(input).unwrap();
    let text = String::from_utf8(output).unwrap();
    let mut answers: Vec<(u64, String)> = text
        .lines()
        .map(|line| {
            let answer: Value = serde_json::from_str(line).unwrap();
            let text = answer.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or(line);
            (answer.get("id").and_then(Value::as_u64).unwrap(), text.to_owned())
        })
        .collect();
    answers.sort();
    answers
}

/// Keeps what it hears, a line each.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Heard {
    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Heard {
    fn decided(&self, decided: &Decided<'_>) {
        let refused = decided.refusal.map_or("allowed".to_owned(), ToString::to_string);
        let Decided { call, tool, explanation, .. } = decided;
        self.0.lock().unwrap().push(format!("{call} {tool} {:?}: {refused}", explanation.words));
    }

    fn ended(&self, ended: &CommandEnded<'_>) {
        let outcome = match ended.outcome {
            CommandOutcome::Ran(output) => format!("{:?}", output.end),
            CommandOutcome::Failed(error) => error.to_string(),
            CommandOutcome::Panicked => "panicked".to_owned(),
        };
        self.0.lock().unwrap().push(format!("{} ended: {outcome}", ended.call));
    }
}

#[test]
fn a_configuration_is_made_in_code_and_checked_as_a_written_one() {
    let surroundings = || Surroundings::of_this_process().unwrap();
    let config = Config::builder(surroundings())
        .allow(["ls"])
        .cwd_root(["/tmp"])
        .timeout(Duration::from_millis(1500))
        .max_output(10)
        .env("A", "1,2")
        .env("B", "")
        .build()
        .unwrap();
    assert_eq!(config.timeout.value, Duration::from_millis(1500));
    assert_eq!(config.timeout.source.to_string(), "code");
    assert_eq!(config.env.value.iter().map(|entry| entry.name()).collect::<Vec<_>>(), ["A", "B"]);
    let wrong = Config::builder(surroundings()).max_concurrent(0).build().unwrap_err().to_string();
    assert_eq!(wrong, "setting `max-concurrent`: `0` is not a count; expected a whole number of at least 1");
    let unknown = Config::builder(surroundings()).setting("timeuot", ["1s"]).build().unwrap_err();
    assert!(matches!(unknown, ConfigError::UnknownFlag { .. }), "{unknown}");
}

#[test]
fn any_two_streams_are_served() {
    let lines = [request(1, "echo one"), request(2, "rm x")].concat();
    let answers = serve(Parts::new(&config(&["echo"])), &lines);
    assert_eq!(
        answers,
        [
            (1, "exit_code: 0\nstdout: |\n  one\nstderr: ''\n".to_owned()),
            (2, "command `rm` is not allowed; allowed commands: echo".to_owned()),
        ]
    );
}

#[test]
fn a_call_runs_without_a_client_and_its_errors_are_typed() {
    let parts = Parts::new(&config(&["sh"]));
    let result = parts.call("execute_command", arguments("sh -c 'echo out; echo err >&2; exit 3'")).unwrap();
    assert_eq!(result.text, "exit_code: 3\nstdout: |\n  out\nstderr: |\n  err\n");
    assert!(matches!(
        parts.call("execute_command", arguments("rm x")),
        Err(CallError::Refused(Refusal::NotAllowed { word, .. })) if word == "rm"
    ));
    assert!(matches!(parts.call("nothing", Map::new()), Err(CallError::UnknownTool { .. })));
    assert!(matches!(parts.call("execute_command", Map::new()), Err(CallError::Arguments(_))));
}

/// An executor that obeys no stop signal.
struct Deaf(Mutex<std::sync::mpsc::Receiver<()>>, Arc<AtomicBool>);

impl Executor for Deaf {
    fn run(&self, _: Invocation) -> Result<Output, ExecError> {
        self.1.store(true, Ordering::SeqCst);
        self.0.lock().unwrap().recv().unwrap_err();
        panic!("nobody hears of this end");
    }
}

#[test]
fn an_end_that_nobody_hears_of_is_on_record_as_lost() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("audit.jsonl");
    let config = Config::builder(Surroundings::of_this_process().unwrap())
        .allow(["true"])
        .setting("audit", [log.to_str().unwrap()])
        .build()
        .unwrap();
    let (_hold, held) = std::sync::mpsc::channel();
    let mut parts = Parts::new(&config);
    let runs = Arc::new(AtomicBool::new(false));
    parts.executor = Arc::new(Deaf(Mutex::new(held), Arc::clone(&runs)));
    let server = Server::new(parts, DrainTime::Bounded(Duration::ZERO), Box::new(|_| ()), Vec::new());
    server.serve(Cursor::new(request(1, "true")).chain(Until(runs))).unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let [ended] = &records.filter(|record| record["event"] == "ended").collect::<Vec<_>>()[..] else {
        panic!("{text}")
    };
    assert_eq!((&ended["call"], &ended["cancelled"]), (&json!(1), &json!(true)));
    let error = ended["error"].as_str().unwrap();
    assert!(error.starts_with("its end was lost: "), "{error}");
}

#[test]
fn a_call_without_a_client_can_be_ended_early() {
    let parts = Parts::new(&config(&["sleep"]));
    let (wish, signal) = stop().unwrap();
    let ended = thread::spawn(move || parts.call_until(signal, "execute_command", arguments("sleep 600")));
    wish.send(StopReason::Cancelled);
    let result = ended.join().unwrap().unwrap();
    assert!(result.text.contains("signal: SIGTERM"), "{}", result.text);
}

#[test]
fn the_policy_alone_can_be_asked() {
    let parts = Parts::new(&config(&["sh"]));
    let decision = parts.policy.examine(CommandLine::parse("sh -c 'echo *'"), Some("/"));
    assert!(decision.outcome.is_ok());
    assert_eq!(decision.explanation.words, ["sh", "-c", "echo *"]);
    assert_eq!(decision.explanation.rule.unwrap().to_string(), "the entry `sh` of the allow-list");
    assert!(decision.explanation.program.unwrap().is_absolute());
}

/// The binary of this test is no launcher.
#[test]
fn limits_that_a_host_cannot_set_stop_every_command() {
    let builder = Config::builder(Surroundings::of_this_process().unwrap()).allow(["echo"]).max_open_files(20);
    let parts = Parts::new(&builder.build().unwrap());
    let reason = "`allowexec::exec::launched`";
    assert!(parts.problems().iter().any(|problem| problem.contains(reason)), "{:?}", parts.problems());
    let error = parts.call("execute_command", arguments("echo x")).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
}

/// Runs nothing; waits for the wish to stop where it is told to.
#[derive(Default)]
struct Fake {
    runs: Arc<AtomicBool>,
}

impl Executor for Fake {
    fn run(&self, invocation: Invocation) -> Result<Output, ExecError> {
        self.runs.store(true, Ordering::SeqCst);
        let words = invocation.command.words().join(" ");
        if words.contains("panic") {
            panic!("the executor of the host panics, as the test asks");
        }
        let end = match words.contains("wait").then(|| invocation.stop.wait(PROMPT).unwrap()) {
            Some(Some(reason)) => {
                assert_eq!(reason, StopReason::Cancelled);
                End::Stopped
            }
            Some(None) | None => End::Exited(0),
        };
        assert_eq!(invocation.stop.wait(Duration::ZERO).unwrap(), None);
        let stdout = Captured { head: format!("fake {words}").into_bytes(), ..Captured::default() };
        Ok(Output { end, stdout, stderr: Captured::default(), limit: None, elapsed: Duration::ZERO })
    }
}

#[test]
fn a_host_runs_commands_its_own_way_and_one_hook_hears_of_each() {
    let heard = Arc::new(Heard::default());
    let mut parts = Parts::new(&config(&["sh"]));
    parts.executor = Arc::new(Fake::default());
    parts.observer = heard.clone();
    let lines = [request(1, "sh x"), request(2, "rm x"), request(3, "sh 'x y' | rm")].concat();
    let answers = serve(parts, &lines);
    assert_eq!(answers.first().unwrap().1, "exit_code: 0\nstdout: fake sh x\nstderr: ''\n");
    let mut lines = heard.lines();
    lines.sort();
    assert_eq!(
        lines,
        [
            "1 ended: Exited(0)",
            r#"1 execute_command ["sh", "x"]: allowed"#,
            r#"2 execute_command ["rm", "x"]: command `rm` is not allowed; allowed commands: sh"#,
            &format!(r#"3 execute_command ["sh", "x y", "|", "rm"]: {}"#, answers[2].1),
        ]
    );
}

#[test]
fn the_hook_hears_of_the_question_and_of_the_answer() {
    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Observer for Told {
        fn decided(&self, decided: &Decided<'_>) {
            let asks = decided.refusal.is_some_and(Refusal::needs_approval);
            self.0.lock().unwrap().push(format!("{} decided, asks: {asks}", decided.call));
        }

        fn asked(&self, asked: &QuestionAsked<'_>) {
            let words = asked.proposal.command().unwrap().words().join(" ");
            self.0.lock().unwrap().push(format!("{} asked about {words} by {}", asked.call, asked.channel));
        }

        fn answered(&self, answered: &QuestionAnswered<'_>) {
            self.0.lock().unwrap().push(format!("{} answered {}", answered.call, answered.answer.name()));
        }

        fn ended(&self, ended: &CommandEnded<'_>) {
            self.0.lock().unwrap().push(format!("{} ended", ended.call));
        }
    }

    for (program, answer) in [("true", "once"), ("false", "declined")] {
        let surroundings = Surroundings::of_this_process().unwrap();
        let config =
            Config::builder(surroundings).setting("ask", ["echo"]).setting("ask-with", [program]).build().unwrap();
        let mut parts = Parts::new(&config);
        // Without a server nobody is asked.
        let refused = parts.call("execute_command", arguments("echo hi")).unwrap_err();
        assert!(matches!(refused, CallError::Refused(Refusal::NeedsApproval(_))), "{refused}");
        let told = Arc::new(Told::default());
        parts.observer = Arc::clone(&told) as Arc<dyn Observer>;
        let answers = serve(parts, &request(7, "echo hi"));
        assert_eq!(answers[0].1.contains("hi\n"), answer == "once", "{answers:?}");
        let mut expected = vec![
            "1 decided, asks: true".to_owned(),
            "1 asked about echo hi by program".to_owned(),
            format!("1 answered {answer}"),
        ];
        if answer == "once" {
            expected.extend(["1 decided, asks: false".to_owned(), "1 ended".to_owned()]);
        }
        assert_eq!(*told.0.lock().unwrap(), expected);
    }
}

#[test]
fn the_hook_hears_of_cancelled_commands_and_of_panics() {
    let heard = Arc::new(Heard::default());
    let mut parts = Parts::new(&config(&["sh"]));
    let runs = Arc::new(AtomicBool::new(false));
    parts.executor = Arc::new(Fake { runs: Arc::clone(&runs) });
    parts.observer = heard.clone();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let input = Cursor::new(request(1, "sh wait")).chain(Until(runs));
    let answers = serve_from(parts, input.chain(Cursor::new(format!("{cancel}\n{}", request(2, "sh panic")))));
    assert_eq!(answers.len(), 1, "{answers:?}");
    let mut ends: Vec<String> = heard.lines().into_iter().filter(|line| line.contains("ended")).collect();
    ends.sort();
    assert_eq!(ends, ["1 ended: Stopped", "2 ended: panicked"]);
}

#[test]
fn the_hook_hears_of_commands_on_the_persistent_shell() {
    let heard = Arc::new(Heard::default());
    let builder = Config::builder(Surroundings::of_this_process().unwrap()).allow(["echo", "exit"]);
    let mut parts = Parts::new(&builder.setting("tools", ["shell"]).build().unwrap());
    parts.observer = heard.clone();
    let lines = [request(1, "x"), request(2, "x")].concat();
    let lines = lines.replacen("execute_command", "echo", 1).replace("execute_command", "restart");
    let lines =
        lines.replacen(r#"{"command":"x"}"#, r#"{"arguments":"a 'b c'"}"#, 1).replace(r#"{"command":"x"}"#, "{}");
    let answers = serve(parts, &lines);
    assert!(answers.first().unwrap().1.contains("a b c"), "{answers:?}");
    assert_eq!(heard.lines(), [r#"1 echo ["echo", "a", "b c"]: allowed"#, "1 ended: Exited(0)"]);
}

#[test]
fn a_hook_that_panics_costs_no_answer() {
    struct Panics;
    impl Observer for Panics {
        fn ended(&self, _: &CommandEnded<'_>) {
            panic!("the hook of the host panics, as the test asks");
        }
    }
    let mut parts = Parts::new(&config(&["echo"]));
    parts.observer = Arc::new(Panics);
    assert_eq!(serve(parts, &request(1, "echo x")).len(), 1);
}

#[test]
fn servers_of_one_process_know_nothing_of_each_other() {
    let servers = ["one", "two"].map(|word| {
        thread::spawn(move || {
            let surroundings = Surroundings::of_this_process().unwrap();
            let config = Config::builder(surroundings).allow(["sh"]).env("WORD", word).build().unwrap();
            let lines: String = (0..20).map(|id| request(id, "sh -c 'echo $WORD'")).collect();
            (word, serve(Parts::new(&config), &lines))
        })
    });
    for server in servers {
        let (word, answers) = server.join().unwrap();
        assert_eq!(answers.len(), 20);
        assert!(answers.iter().all(|(_, text)| text.contains(&format!("  {word}\n"))), "{answers:?}");
    }
}

/// A server that ends orphans takes every child of its thread for one.
#[test]
fn children_of_the_host_are_left_alone() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut done = Command::new("true").spawn().unwrap();
    assert_eq!(serve(Parts::new(&config(&["echo"])), &request(1, "echo x")).len(), 1);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(done.wait().unwrap().success());
}

/// Panics where nobody expects it of an executor.
struct PanicsEarly;

impl Executor for PanicsEarly {
    fn run(&self, _: Invocation) -> Result<Output, ExecError> {
        unreachable!("it panics before")
    }

    fn as_processes(&self) -> Option<&Processes> {
        panic!("the executor of the host panics, as the test asks")
    }
}

/// The records of a log, by their kinds and calls.
fn records(log: &Path) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(log).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let kind = |record: &Value| record["event"].as_str().unwrap().to_owned();
    lines.map(|record| (kind(&record), record["call"].as_u64().unwrap_or_default())).collect()
}

/// How many records of this kind there are.
fn count(records: &[(String, u64)], kind: &str) -> usize {
    records.iter().filter(|(event, _)| event == kind).count()
}

/// A configuration with two turns and an audit log.
fn audited(folder: &Path) -> Config {
    let builder = Config::builder(Surroundings::of_this_process().unwrap()).allow(["echo"]).max_concurrent(2);
    let log = folder.join("log").to_str().unwrap().to_owned();
    builder.timeout(Duration::from_secs(1)).setting("audit", [log]).build().unwrap()
}

#[test]
fn a_thread_that_panics_anywhere_answers_its_call_and_gives_back_its_turn() {
    struct Panics;
    impl Observer for Panics {
        fn decided(&self, _: &Decided<'_>) {
            panic!("the hook of the host panics, as the test asks");
        }
    }
    let lines: String = (1..=20).map(|id| request(id, "echo x")).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut parts = Parts::new(&audited(folder.path()));
    parts.executor = Arc::new(PanicsEarly);
    // The server ends when nothing runs, so the call in the background has ended too.
    let background = request(21, "echo x").replace(r#""command":"echo x""#, r#""command":"echo x","background":true"#);
    let mut answers = serve(parts, &[lines.as_str(), &background].concat());
    let (_, of_background) = answers.pop().unwrap();
    assert!(of_background.contains("running"), "{of_background}");
    assert!(answers.iter().all(|(_, text)| text.contains("the server failed while it ran")), "{answers:?}");
    assert_eq!(answers.len(), 20);
    let of_run = records(&folder.path().join("log"));
    assert_eq!(["decided", "ended", "refused_request"].map(|kind| count(&of_run, kind)), [21, 21, 0], "{of_run:?}");

    let folder = tempfile::tempdir().unwrap();
    let mut parts = Parts::new(&audited(folder.path()));
    parts.observer = Arc::new(Panics);
    let answers = serve(parts, &lines);
    assert!(answers.iter().all(|(_, text)| text.contains("-32603")), "{answers:?}");
    assert_eq!(answers.len(), 20);
    let undecided = records(&folder.path().join("log"));
    let counted = ["decided", "ended", "refused_request"].map(|kind| count(&undecided, kind));
    assert_eq!(counted, [0, 0, 20], "{undecided:?}");
}

#[test]
fn a_decision_that_hangs_is_answered_in_time_and_gives_back_its_place() {
    /// Decides on `echo hang` when the test ends.
    struct Hangs(Arc<AtomicBool>);
    impl Observer for Hangs {
        fn decided(&self, decided: &Decided<'_>) {
            while decided.explanation.words.contains(&"hang".to_owned()) && !self.0.load(Ordering::SeqCst) {
                thread::park_timeout(Duration::from_millis(50));
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let mut parts = Parts::new(&audited(folder.path()));
    parts.observer = Arc::new(Hangs(Arc::clone(&is_over)));
    // Two have a turn, 48 are decided on without one, and the rest waits for that.
    let mut lines: String = (1..=60).map(|id| request(id, "echo hang")).collect();
    for id in [2, 3, 60] {
        let params = json!({"requestId": id});
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        lines.push_str(&format!("{cancel}\n"));
    }
    lines.push_str(&request(61, "echo after"));
    let answers = serve(parts, &lines);
    let (last, hanging) = answers.split_last().unwrap();
    assert!(last.0 == 61 && last.1.contains("  after\n"), "{last:?}");
    assert!(hanging.iter().all(|(_, text)| text.contains("nothing could be decided")), "{answers:?}");
    assert_eq!(hanging.len(), 57);
    let records = records(&folder.path().join("log"));
    let counted = ["decided", "started", "ended", "refused_request"].map(|kind| count(&records, kind));
    assert_eq!(counted, [1, 1, 1, 60], "{records:?}");
    is_over.store(true, Ordering::SeqCst);
}
