//! Full files of the audit log: whatever ends the server between two steps, and wherever old files are kept, the log stays one
//! chain whose files are in the order of their numbers.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Server;
use serde_json::{Value, json};

struct Log(tempfile::TempDir);

impl Log {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn server(&self) -> Server {
        let path = self.path("audit.jsonl");
        let args = ["--audit", path.to_str().unwrap(), "--allow", "true", "--audit-max-size", "4KiB", "--log", "off"];
        let mut server = Server::command(&args).dir(self.0.path()).start();
        server.initialize("2025-11-25");
        server
    }

    /// Runs a session that fills at least one file.
    fn session(&self) {
        let mut server = self.server();
        fill(&mut server);
        end(server);
    }

    /// The numbers of the full files, in order.
    fn numbers(&self) -> Vec<u64> {
        let names = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut numbers: Vec<u64> = names.filter_map(|name| name.strip_prefix("audit.jsonl.")?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// What `verify` says about all files, in the order of their numbers.
    fn verified(&self) -> Value {
        let mut files: Vec<PathBuf> =
            self.numbers().iter().map(|number| self.path(&format!("audit.jsonl.{number}"))).collect();
        files.push(self.path("audit.jsonl"));
        verified(&files)
    }

    fn moved(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }
}

fn verified(files: &[PathBuf]) -> Value {
    let output =
        Command::new(env!("CARGO_BIN_EXE_allowexec")).args(["audit", "verify", "--json"]).args(files).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn fill(server: &mut Server) {
    for _ in 0..8 {
        assert_eq!(server.call("execute_command", json!({"command": "true"}))["isError"], false);
    }
}

fn end(mut server: Server) {
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
}

fn records(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn next(log: &Log) -> u64 {
    log.numbers().last().unwrap() + 1
}

#[test]
fn a_rotation_that_was_cut_short_is_finished_by_the_next_start() {
    type Cut = fn(&Log, &str);
    let cuts: [(&str, Cut); 3] = [
        ("the full file has its new name", |_, _| {}),
        ("the new file is empty", |log, _| fs::write(log.path("audit.jsonl"), "").unwrap()),
        ("the full file is torn", |log, full| {
            let text = fs::read_to_string(log.path(full)).unwrap();
            fs::write(log.path(full), &text[..text.len() - 20]).unwrap();
        }),
    ];
    for (what, cut) in cuts {
        let log = Log::new();
        log.session();
        let full = format!("audit.jsonl.{}", next(&log));
        log.moved("audit.jsonl", &full);
        cut(&log, &full);
        log.session();
        let found = log.verified();
        assert_eq!(found["intact"], true, "{what}: {found}");
        assert_eq!(found["torn"].as_array().unwrap().len(), usize::from(what.contains("torn")), "{what}");
        // Each file can be checked without those before it, too.
        for number in log.numbers() {
            let file = log.path(&format!("audit.jsonl.{number}"));
            let alone = verified(&[file]);
            assert!(alone["intact"] == true || alone["unfinished"].is_object(), "{what}: {number}: {alone}");
        }
        log.session();
        assert_eq!(log.verified()["intact"], true, "{what}");
    }
}

#[test]
fn another_server_finishes_a_rotation_that_was_cut_short_without_a_break() {
    let log = Log::new();
    let mut idle = log.server();
    fill(&mut idle);
    log.session();
    // As a server does that is killed before it writes the first record of the new file.
    let full = format!("audit.jsonl.{}", next(&log));
    log.moved("audit.jsonl", &full);
    fs::write(log.path("audit.jsonl"), "").unwrap();
    fill(&mut idle);
    end(idle);
    let found = log.verified();
    assert_eq!(found["intact"], true, "{found}");
    // An empty file that no full one stands for is a cut, though full files are there.
    let mut server = log.server();
    fill(&mut server);
    fs::write(log.path("audit.jsonl"), "").unwrap();
    fill(&mut server);
    end(server);
    assert_eq!(log.verified()["intact"], false);
}

#[test]
fn numbers_of_full_files_only_rise_whatever_was_archived() {
    // What is moved away of the full files, and what it is called there.
    type Archived = fn(u64, u64) -> Option<String>;
    let archives: [(&str, Archived); 5] = [
        ("all", |number, _| Some(format!("archive.{number}"))),
        ("all but the first", |number, _| (number > 1).then(|| format!("archive.{number}"))),
        ("the first", |number, _| (number == 1).then(|| format!("archive.{number}"))),
        ("all but the last", |number, last| (number != last).then(|| format!("archive.{number}"))),
        ("all, as compressed files beside", |number, _| Some(format!("audit.jsonl.{number}.gz"))),
    ];
    for (what, archived) in archives {
        let log = Log::new();
        for round in 0..2 {
            log.session();
            log.session();
            let before = log.numbers();
            let last = *before.last().unwrap();
            let mut moved = Vec::new();
            for number in before {
                if let Some(to) = archived(number, last) {
                    let name = format!("audit.jsonl.{number}");
                    log.moved(&name, &to);
                    moved.push((to, name));
                }
            }
            log.session();
            let after = log.numbers();
            assert!(
                after.contains(&(last + 1)) && !moved.iter().any(|(_, name)| log.path(name).exists()),
                "{what}: {after:?}"
            );
            for (to, name) in moved {
                log.moved(&to, &name);
            }
            let found = log.verified();
            assert_eq!(found["intact"], true, "{what}, round {round}: {found}");
            assert_eq!(found["continues"], Value::Null, "{what}");
        }
    }
}

#[test]
fn other_names_beside_the_log_are_no_full_files() {
    let log = Log::new();
    for name in
        ["audit.jsonl.99999999999", "audit.jsonl.x", "audit.jsonl.", "audit.jsonl.bak.7", "other.7", "audit.jsonl.-9"]
    {
        fs::write(log.path(name), "something else\n").unwrap();
    }
    fs::create_dir(log.path("audit.jsonl.3")).unwrap();
    log.session();
    assert!(log.path("audit.jsonl.4").exists(), "{:?}", log.numbers());
    let first = records(&log.path("audit.jsonl.4")).remove(0);
    assert_eq!((&first["continues"], &first["prev"]), (&Value::Null, &json!("0".repeat(64))));
    // Something else with the highest number is not continued.
    let log = Log::new();
    fs::write(log.path("audit.jsonl.5"), "something else\n").unwrap();
    std::os::unix::fs::symlink(log.path("audit.jsonl.5"), log.path("audit.jsonl.6")).unwrap();
    log.session();
    assert!(log.path("audit.jsonl.7").exists(), "{:?}", log.numbers());
    assert_eq!(
        verified(
            &[log.path("audit.jsonl.7"), log.path("audit.jsonl.8"), log.path("audit.jsonl")]
                .into_iter()
                .filter(|file| file.exists())
                .collect::<Vec<_>>()
        )["intact"],
        true
    );
}
