//! Limits that every Unix enforces; `limits.rs` has what is Linux's own.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::Server;
use serde_json::{Value, json};

/// A server that stands in this directory; `None` if it refuses to start since it is root's, whose commands could raise
/// their limits.
fn server(dir: &tempfile::TempDir, args: &[&str]) -> Option<Server> {
    let mut command = vec!["--allow", "sh,dd,./no-format"];
    command.extend(args);
    let mut server = Server::command(&command).dir(dir.path()).start();
    if rustix::process::geteuid().is_root() && !cfg!(target_os = "linux") {
        assert_eq!(server.wait_exit(), 2);
        assert!(server.says("who may raise them"), "{}", server.stderr());
        return None;
    }
    server.initialize("2025-06-18");
    Some(server)
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn a_command_begins_with_its_limits_and_cannot_raise_them() {
    let dir = tempfile::tempdir().unwrap();
    let Some(mut server) = server(&dir, &["--max-open-files", "50", "--max-file-size", "64KiB"]) else { return };
    let script = "ulimit -Hn; ulimit -n 60 2>/dev/null || echo kept; read line; echo $line";
    let raised = server.call("execute_process", json!({"file": "sh", "args": ["-c", script], "input": "read"}));
    assert_eq!(text(&raised), "exit_code: 0\nstdout: |\n  50\n  kept\n  read\nstderr: ''\n");
    let written = server.call("execute_command", json!({"command": "dd if=/dev/zero of=made bs=1000 count=1000"}));
    assert!(text(&written).starts_with("exit_code: 153\nlimit: file-size\nsignal: SIGXFSZ\n"), "{written}");
    assert_eq!(fs::metadata(dir.path().join("made")).unwrap().len(), 65536);
}

#[test]
fn what_never_began_is_told_as_without_limits() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("no-format");
    fs::write(&file, "#!/nowhere/at/all\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let Some(mut limited) = server(&dir, &["--max-open-files", "50"]) else { return };
    let mut plain = server(&dir, &[]).unwrap();
    let [limited, plain] =
        [&mut limited, &mut plain].map(|server| server.call("execute_process", json!({"file": "./no-format"})));
    assert_eq!(limited["isError"], true, "{limited}");
    assert_eq!(limited, plain);
}

#[test]
fn a_limit_that_the_kernel_does_not_enforce_stops_the_start() {
    for (flag, value) in [("--max-memory", "1GiB"), ("--max-cpu", "10s")] {
        let mut server = Server::start(&["--allow", "sh", flag, value]);
        if cfg!(target_os = "macos") {
            assert_eq!(server.wait_exit(), 2);
            assert!(server.says(&format!("`{flag}` can't be enforced on macos")), "{}", server.stderr());
        } else if cfg!(target_os = "linux") {
            server.initialize("2025-06-18");
        }
    }
}

#[test]
fn words_that_are_longer_than_the_system_takes_say_where_long_text_goes() {
    let dir = tempfile::tempdir().unwrap();
    let one = vec!["-c".to_owned(), "true".to_owned(), "x".repeat(4 << 20)];
    let many = ["-c", "true"].map(str::to_owned).into_iter().chain(vec!["x".repeat(90); 100_000]).collect();
    for limits in [&[][..], &["--max-open-files", "50"]] {
        let Some(mut server) = server(&dir, limits) else { return };
        for args in [&one, &many] {
            let result = server.call("execute_process", json!({"file": "sh", "args": args}));
            assert_eq!(result["isError"], true, "{limits:?}");
            assert!(
                text(&result).ends_with("; pass long text as `input`, and many files in several calls"),
                "{result}"
            );
        }
    }
}
