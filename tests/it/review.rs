//! `allowexec review`: shows what differs, and writes what a person accepts, as it was shown, and nothing else.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use super::replay_any::allowexec;

/// A session whose server answers in two lines of text, the second of which is `word`.
fn transcript(word: &str) -> String {
    format!(
        "transcript: 1\nserver: sh -c 'read -r x; cat answer; cat >/dev/null'\nsetup: file answer {}\n\n\
         --> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}}\n\
         <-- {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"text\":\"one\\n{word}\\n\"}}}}\n==> eof\n<== exit 0\n",
        serde_json::json!("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"one\\ntwo\\n\"}}\n")
    )
}

/// A directory with a session that differs for each of the names, and one that does not.
fn recorded(different: &[&str]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("d")).unwrap();
    fs::write(place.path().join("d/same.transcript"), transcript("two")).unwrap();
    for name in different {
        fs::write(place.path().join(format!("d/{name}.transcript")), transcript("too")).unwrap();
    }
    place
}

fn read(place: &Path, name: &str) -> String {
    fs::read_to_string(place.join(format!("d/{name}.transcript"))).unwrap()
}

#[test]
fn without_a_terminal_it_lists_or_accepts_everything() {
    let place = recorded(&["a", "b"]);
    for arguments in [&["review", "d"][..], &["review", "--list", "d"], &["review", "--accept", "--list", "d"]] {
        let (status, output, errors) = allowexec(place.path(), arguments, "a\na\n");
        assert_eq!((status, errors.as_str()), (1, ""), "{output}");
        let text = "d/a.transcript:6: different\n--- d/a.transcript\n+++ played\n";
        assert!(output.starts_with(text), "{output}");
        // Text stands there as text.
        assert!(output.contains(" /result/text\n@@ -1,2 +1,2 @@\n one\n-too\n+two\n"), "{output}");
        assert!(output.ends_with("1 the same, 2 different of 3\n"), "{output}");
        assert_eq!(read(place.path(), "a"), transcript("too"));
    }
    let (status, output, _) = allowexec(place.path(), &["review", "--accept", "d"], "");
    assert_eq!(status, 0, "{output}");
    assert!(output.contains("d/b.transcript: accepted\n"), "{output}");
    assert!(output.ends_with("1 the same, 2 accepted of 3\n"), "{output}");
    for name in ["a", "b", "same"] {
        assert_eq!(read(place.path(), name), transcript("two"), "{name}");
    }
    assert_eq!(allowexec(place.path(), &["replay", "d"], "").0, 0);
}

#[test]
fn what_did_not_happen_can_not_be_accepted() {
    let place = recorded(&[]);
    let more = |text: &str| transcript("two").replace("==> eof", &format!("{text}\n==> eof"));
    fs::write(place.path().join("d/unmet.transcript"), more("<-- {\"id\":2}")).unwrap();
    let fails = transcript("two").replace("cat answer", "exit 3");
    fs::write(place.path().join("d/start.transcript"), &fails).unwrap();
    let (status, output, _) = allowexec(place.path(), &["review", "--accept", "--timeout", "1s", "d"], "");
    assert_eq!(status, 1, "{output}");
    assert_eq!(output.matches("This can't be accepted: ").count(), 2, "{output}");
    assert!(output.ends_with("1 the same, 2 different of 3\n"), "{output}");
    assert_eq!(read(place.path(), "start"), fails);
    assert_eq!(read(place.path(), "unmet"), more("<-- {\"id\":2}"));
    // A broken one is 2, and the others are looked at nevertheless.
    fs::write(place.path().join("d/broken.transcript"), "none\n").unwrap();
    let (status, output, _) = allowexec(place.path(), &["review", "--timeout", "1s", "d"], "");
    assert_eq!(status, 2);
    assert!(output.ends_with("1 the same, 2 different, 1 broken of 4\n"), "{output}");
    let (status, _, errors) = allowexec(place.path(), &["review", "-"], "");
    assert_eq!(status, 2);
    assert!(errors.contains("`-` can't be reviewed"), "{errors}");
}

#[test]
fn nothing_is_written_through_a_link() {
    let place = recorded(&["a"]);
    fs::rename(place.path().join("d/a.transcript"), place.path().join("real")).unwrap();
    std::os::unix::fs::symlink("../real", place.path().join("d/a.transcript")).unwrap();
    let (status, output, _) = allowexec(place.path(), &["review", "--accept", "d/a.transcript"], "");
    assert_eq!(status, 2, "{output}");
    assert!(output.contains("d/a.transcript: can't be updated: "), "{output}");
    assert_eq!(fs::read_to_string(place.path().join("real")).unwrap(), transcript("too"));
}

/// Types one answer at each question on a terminal; what hangs is killed.
const TERMINAL: &str = r#"
import os, pty, select, signal, sys, time
answers = sys.argv[1].split(",")
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen, asked, until = b"", 0, time.monotonic() + 60
while time.monotonic() < until:
    if not select.select([terminal], [], [], 1)[0]:
        continue
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    while seen.count(b"[q]uit? ") > asked and asked < len(answers):
        answer = answers[asked]
        os.write(terminal, {"^D": b"\x04", "^C": b"\x03"}.get(answer, answer.encode() + b"\n"))
        asked += 1
else:
    os.kill(child, signal.SIGKILL)
sys.stdout.write(seen.decode().replace("\r\n", "\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;

#[test]
fn a_person_at_a_terminal_decides_file_by_file() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("python3 is not installed here, so nothing is shown of a terminal");
        return;
    }
    // The answers; the exit status, the last line, and which files were accepted.
    for (answers, status, summary, accepted) in [
        ("r,a,r", 1, "1 the same, 1 accepted, 2 different of 4", &["b"][..]),
        ("a,all", 0, "1 the same, 3 accepted of 4", &["a", "b", "c"]),
        ("what,a,q", 1, "1 accepted, 1 different, 2 not looked at of 4", &["a"]),
        ("a,^D", 1, "1 accepted, 1 different, 2 not looked at of 4", &["a"]),
        ("a,^C", 2, "allowexec: error: interrupted", &["a"]),
    ] {
        let place = recorded(&["a", "b", "c"]);
        let output = Command::new("python3")
            .args(["-c", TERMINAL, answers, env!("CARGO_BIN_EXE_allowexec"), "review", "d"])
            .current_dir(place.path())
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(status), "{answers}: {shown}");
        let summary = if summary.starts_with("1 accepted") { format!("0 the same, {summary}") } else { summary.into() };
        assert!(shown.ends_with(&format!("{summary}\n")), "{answers}: {shown}");
        for name in ["a", "b", "c"] {
            let word = if accepted.contains(&name) { "two" } else { "too" };
            assert_eq!(read(place.path(), name), transcript(word), "{answers}: {name}");
        }
    }
}
