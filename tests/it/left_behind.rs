//! What a server leaves that is killed, and what the next one makes of it.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::background::yaml;
use crate::support::Server;

/// A confined server with a temporary directory of its own in `place`, and something in it.
fn server(place: &Path) -> Server {
    let args = ["--allow", "sh", "--sandbox", "workspace", "--sandbox-best-effort", "--log", "off"];
    let work = fs::canonicalize(env!("CARGO_MANIFEST_DIR")).unwrap().join("fixtures");
    let mut server = Server::command(&args).env("TMPDIR", place).dir(work).start();
    server.initialize("2025-11-25");
    let script = "sh -c 'mkdir -p $TMPDIR/a/b && echo x > $TMPDIR/a/b/c && head -c 200000 /dev/zero'";
    let answer = yaml(&server.call("execute_command", json!({"command": script})));
    assert_eq!((&answer["exit_code"], &answer["output"]), (&json!(0), &json!(1)), "{answer}");
    server
}

fn names(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.collect()
}

#[test]
fn what_a_killed_server_leaves_is_removed_by_the_next_and_nothing_of_one_that_lives() {
    let dir = tempfile::tempdir().unwrap();
    let place = fs::canonicalize(dir.path()).unwrap();
    let mut living = server(&place);
    let of_living = names(&place);
    let killed = server(&place);
    let of_killed: Vec<String> = names(&place).into_iter().filter(|name| !of_living.contains(name)).collect();
    assert_eq!((of_living.len(), of_killed.len()), (1, 1), "there is the directory of each, and nothing of an output");
    let pid = rustix::process::Pid::from_raw(i32::try_from(killed.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    drop(killed);
    assert!(names(&place).contains(&of_killed[0]));
    let mut next = server(&place);
    let until = Instant::now() + Duration::from_secs(20);
    while names(&place).contains(&of_killed[0]) {
        assert!(Instant::now() < until, "{:?} is left", of_killed);
        std::thread::park_timeout(Duration::from_millis(5));
    }
    assert!(place.join(&of_living[0]).join("a/b/c").exists());
    for server in [&mut living, &mut next] {
        server.drain();
        assert_eq!(server.wait_exit(), 0);
    }
    assert_eq!(names(&place), Vec::<String>::new());
}

#[test]
fn the_log_says_what_the_end_has_left_behind() {
    // In memory where that can be: the names of 11,000 files reach a disk after whatever else it has to write.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let place = fs::canonicalize(dir.path()).unwrap();
    for (files, is_left) in [(100, false), (11_000, true)] {
        let args = ["--allow", "sh", "--sandbox", "workspace", "--sandbox-best-effort", "--log", "warn"];
        let mut server = Server::command(&args).env("TMPDIR", &place).dir(&place).start();
        server.initialize("2025-11-25");
        let script = format!("sh -c 'cd $TMPDIR && mkdir d && cd d && seq {files} | xargs touch'");
        let answer = yaml(&server.call("execute_command", json!({"command": script})));
        assert_eq!(answer["exit_code"], 0, "{answer}");
        server.drain();
        assert_eq!(server.wait_exit(), 0);
        let said = server.stderr();
        let says = said.contains("is left behind: it holds too much to be removed now; the next server that starts");
        assert_eq!((says, names(&place).len()), (is_left, usize::from(is_left)), "{said}");
    }
}
