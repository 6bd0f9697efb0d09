//! `allowexec replay` with other servers than this one: recorded, played, compared by rules, and never updated by a failure.

#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Exit status, standard output and standard error; what hangs fails.
pub fn allowexec(directory: &Path, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.args(arguments).current_dir(directory);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // What does not read it ends early.
    let sending = std::thread::spawn(move || stdin.write_all(input.as_bytes()).ok());
    let deadline = Instant::now() + Duration::from_secs(60);
    let watched = child.id();
    let (ended, end) = std::sync::mpsc::channel::<()>();
    let watching = std::thread::spawn(move || {
        if end.recv_timeout(deadline - Instant::now()).is_err() {
            let pid = rustix::process::Pid::from_raw(i32::try_from(watched).unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    });
    let output = child.wait_with_output().unwrap();
    ended.send(()).unwrap();
    watching.join().unwrap();
    sending.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().expect("it ended in time"), text(output.stdout), text(output.stderr))
}

/// A server that logs to its standard output, and whose answers depend on a file beside it and on the time.
const SERVER: &str = r#"#!/bin/sh
echo "listening in $PWD"
while read -r line; do
    case $line in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}' ;;
    *'"id":1,'*) printf '%s\n' "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"$(cat words)\\n$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)\\nend\",\"pid\":$$}}" ;;
    esac
done
"#;

const CLIENT: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#,
    "\n"
);

/// A directory with the server, the file that it reads, and its recording.
fn recorded() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("server.sh"), SERVER).unwrap();
    fs::write(place.path().join("words"), "hello").unwrap();
    let (status, _, errors) =
        allowexec(place.path(), &["record", "-o", "s.transcript", "--", "sh", "server.sh"], CLIENT);
    assert_eq!((status, errors.as_str()), (0, ""));
    // The number of the process is the one thing that nothing knows of.
    let file = place.path().join("s.transcript");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(file, text.replacen("\n\n", "\nmatch: tools/call /result/pid number\n\n", 1)).unwrap();
    place
}

#[test]
fn a_recorded_server_plays_against_itself_without_a_difference() {
    let place = recorded();
    let check = |arguments: &[&str], input: &str, expected: (i32, &str)| {
        let (status, output, errors) = allowexec(place.path(), &[&["replay"], arguments].concat(), input);
        assert_eq!((status, output.as_str(), errors.as_str()), (expected.0, expected.1, ""), "{arguments:?}");
    };
    let same = (0, "1 the same of 1\n");
    check(&["--in", ".", "s.transcript"], "", same);
    let text = fs::read_to_string(place.path().join("s.transcript")).unwrap();
    check(&["--in", ".", "-"], &text, same);
    // A program that is named by a path is found from where the player is started.
    fs::set_permissions(place.path().join("server.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    check(&["--in", ".", "s.transcript", "--server", "./server.sh"], "", same);
    // Without a fresh look at the clock only what the transcript names may differ.
    assert_eq!(allowexec(place.path(), &["replay", "--in", ".", "--strict", "s.transcript"], "").0, 1);
    let text = text.replacen("match:", "match: tools/call /result/text string\nmatch:", 1);
    fs::write(place.path().join("s.transcript"), &text).unwrap();
    check(&["--in", ".", "--strict", "s.transcript"], "", same);
    // The rules of the file beside it are the same.
    fs::write(place.path().join("s.match"), "# what the clock says\n/result/text string\n/result/pid number\n")
        .unwrap();
    let without: String =
        text.lines().filter(|line| !line.starts_with("match:")).map(|line| format!("{line}\n")).collect();
    fs::write(place.path().join("s.transcript"), without).unwrap();
    check(&["--in", ".", "--strict", "s.transcript"], "", same);
    fs::write(place.path().join("s.match"), "/result/text string\nnonsense\n").unwrap();
    let (status, output, _) = allowexec(place.path(), &["replay", "--in", ".", "s.transcript"], "");
    assert_eq!(status, 2);
    assert!(output.starts_with("s.match:2: expected `[METHOD] POINTER` and"), "{output}");
}

#[test]
fn the_version_of_another_server_is_kept_and_compared_strictly() {
    let place = recorded();
    let file = place.path().join("s.transcript");
    let text =
        fs::read_to_string(&file).unwrap().replacen("match:", "match: tools/call /result/text string\nmatch:", 1);
    fs::write(&file, &text).unwrap();
    let info = |version: &str| format!(r#""serverInfo":{{"name":"s","version":"{version}"}}"#);
    assert!(text.contains(&info("1")), "{text}");
    let answers = |expected: &str| {
        let (status, output, errors) = allowexec(place.path(), &["mock", "s.transcript"], CLIENT);
        assert!(status == 0 && output.contains(&info(expected)), "{output}{errors}");
    };
    answers("1");
    fs::write(place.path().join("server.sh"), SERVER.replace(&info("1"), &info("2"))).unwrap();
    let replay = |more: &[&str]| {
        let (status, output, _) =
            allowexec(place.path(), &[&["replay", "--in", ".", "s.transcript"], more].concat(), "");
        (status, output)
    };
    assert_eq!(replay(&[]), (0, "1 the same of 1\n".to_owned()));
    let (status, output) = replay(&["--strict"]);
    assert!(
        status == 1 && output.contains(r#"+<-- {"jsonrpc":"2.0","id":0"#) && output.contains(&info("2")),
        "{output}"
    );
    // A placeholder stands for any version, and `mock` makes up none in its place.
    fs::write(&file, text.replace(&info("1"), &info("[version]"))).unwrap();
    assert_eq!(replay(&["--strict"]).0, 0);
    answers("[version]");
    fs::write(&file, text.replace(&info("1"), &info("[version]")).replacen("server:", "version: 7\nserver:", 1))
        .unwrap();
    answers("7");
}

#[test]
fn a_difference_in_text_of_several_lines_is_shown_as_text() {
    let place = recorded();
    fs::write(place.path().join("words"), "goodbye").unwrap();
    let (status, output, _) = allowexec(place.path(), &["replay", "--in", ".", "s.transcript"], "");
    assert_eq!(status, 1);
    assert!(output.contains(" <-- {\"id\":1} differs:\n /result/text\n@@ -1,3 +1,3 @@\n-hello\n"), "{output}");
    assert!(output.contains("\n+goodbye\n") && output.contains("\n end\n"), "{output}");
    // What is shown is what would be written, and what is written plays.
    let before = fs::read_to_string(place.path().join("s.transcript")).unwrap();
    let (status, shown, _) = allowexec(place.path(), &["replay", "--in", ".", "--dry-run", "s.transcript"], "");
    assert_eq!((status, shown.contains("+goodbye")), (0, true), "{shown}");
    assert_eq!(fs::read_to_string(place.path().join("s.transcript")).unwrap(), before);
    let (status, shown, _) = allowexec(place.path(), &["replay", "--in", ".", "--update", "s.transcript"], "");
    assert_eq!((status, shown.contains("+goodbye")), (0, true), "{shown}");
    let after = fs::read_to_string(place.path().join("s.transcript")).unwrap();
    assert_eq!(before.lines().zip(after.lines()).filter(|(before, after)| before != after).count(), 1);
    assert_eq!(allowexec(place.path(), &["replay", "--in", ".", "s.transcript"], "").0, 0);
}

#[test]
fn a_server_that_does_not_start_says_why_and_is_never_the_truth() {
    let place = recorded();
    let before = fs::read_to_string(place.path().join("s.transcript")).unwrap();
    let here = dunce::canonicalize(place.path()).unwrap();
    let advice = format!("recorded in {0}; try `--in {0}`\n", here.display());
    // Elsewhere its files are missing.
    let (status, output, errors) = allowexec(place.path(), &["replay", "--update", "s.transcript"], "");
    assert_eq!((status, errors.as_str()), (1, ""));
    assert!(output.contains("the server ended with status 2, and said on standard error:\n  sh: "), "{output}");
    // What is printed is the same in each run, so it does not name the fresh directory.
    let arguments = ["replay", "s.transcript", "--server", "sh -c 'echo in $PWD >&2'"];
    let (_, output, _) = allowexec(place.path(), &arguments, "");
    assert!(output.contains("said on standard error:\n  in [tmp]\n"), "{output}");
    assert!(output.contains(&advice), "{output}");
    let (status, output, errors) =
        allowexec(place.path(), &["replay", "--update", "s.transcript", "--server", "no-such-server"], "");
    let expected = "s.transcript: can't start `no-such-server`: No such file or directory (os error 2)\n";
    assert_eq!((status, output, errors.as_str()), (2, format!("{expected}{advice}0 the same, 1 broken of 1\n"), ""));
    assert_eq!(fs::read_to_string(place.path().join("s.transcript")).unwrap(), before);
    // One that was written by hand does not say where its files are.
    let text = "transcript: 1\nserver: sh server.sh\n\n--> x\n<-- {\"id\":1}\n";
    fs::write(place.path().join("hand.transcript"), text).unwrap();
    let (status, output, _) = allowexec(place.path(), &["replay", "hand.transcript"], "");
    assert!(
        status == 1 && output.contains("\na transcript plays in an empty directory; to play here, try `--in .`\n"),
        "{output}"
    );
    // The server that is built in is no other, also where no wait is missed.
    let text = "transcript: 1\nargs: --timeout never\n\n==> eof\n<== exit 0\n";
    fs::write(place.path().join("own.transcript"), text).unwrap();
    let (status, output, _) = allowexec(place.path(), &["replay", "--update", "own.transcript"], "");
    assert_eq!(status, 1);
    assert!(output.contains("the server did not start: ") && output.contains("`--timeout`"), "{output}");
    assert_eq!(fs::read_to_string(place.path().join("own.transcript")).unwrap(), text);
}

#[test]
fn a_second_player_agrees_on_all_fixtures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = |arguments: &[&str]| {
        Command::new("python3")
            .arg("-B")
            .arg("tests/player/check.py")
            .args(arguments)
            .current_dir(root)
            .output()
            .unwrap()
    };
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("python3 is not installed here, so nothing is shown of the second player");
        return;
    }
    let lines = fs::read_to_string(root.join("tests/player/player.py")).unwrap().lines().count();
    assert!(lines <= 200, "{lines} lines");
    let check = |arguments: &[&str], at_least: usize| {
        let output = python(arguments);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        let right: usize = said.split(' ').next().unwrap().parse().unwrap();
        assert!(right >= at_least, "{said}");
    };
    check(&["conformance", "fixtures/conformance"], 35);
    let mut files: Vec<String> = Vec::new();
    let mut folders = vec![root.join("fixtures/transcripts"), root.join("fixtures/recordings")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "transcript") {
                files.push(path.to_str().unwrap().to_owned());
            }
        }
    }
    let files = files.iter().map(String::as_str);
    check(&["play", env!("CARGO_BIN_EXE_allowexec")].into_iter().chain(files).collect::<Vec<_>>(), 150);
}

#[test]
fn a_directory_that_can_not_be_used_is_said_once() {
    let place = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let text = "transcript: 1\nserver: cat\n\n==> eof\n";
        fs::write(place.path().join(format!("{name}.transcript")), text).unwrap();
    }
    for (directory, why) in [("nowhere", "No such file or directory"), ("a.transcript", "Not a directory")] {
        for command in [&["replay"][..], &["review", "--list"]] {
            let arguments = [command, &["--in", directory, "a.transcript", "b.transcript"]].concat();
            let (status, output, errors) = allowexec(place.path(), &arguments, "");
            assert_eq!((status, output.as_str()), (2, ""));
            let said = format!("allowexec: error: flag `--in`: `{directory}` can't be used: {why}");
            assert!(errors.starts_with(&said) && errors.lines().count() == 1, "{errors}");
        }
    }
}

#[test]
fn the_verdicts_for_machines_are_written_to_a_regular_file_only() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let text =
        "transcript: 1\nserver: sh -c 'touch played; cat'\n\n--> {\"id\":1}\n<-- {\"id\":1}\n==> eof\n<== exit 0\n";
    fs::write(path("t.transcript"), text).unwrap();
    fs::write(path("theirs"), "theirs").unwrap();
    symlink("theirs", path("link")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    fs::create_dir(path("directory")).unwrap();
    assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
    let replay = |file: &str| allowexec(place.path(), &["replay", "--in", ".", "--junit", file, "t.transcript"], "");
    for (name, found) in [
        ("link", "a link"),
        ("dangling", "a link"),
        ("fifo", "a FIFO or a pipe"),
        ("directory", "a directory"),
        ("/dev/null", "a device"),
    ] {
        let (status, output, errors) = replay(name);
        let said = format!("allowexec: error: can't write `{name}`: it is {found}; expected a regular file or none\n");
        assert_eq!((status, output.as_str(), errors), (2, "", said));
    }
    assert_eq!((fs::read_to_string(path("theirs")).unwrap().as_str(), path("nowhere").exists()), ("theirs", false));
    assert!(!path("played").exists(), "it is said before anything is played");
    // Of an earlier file the permissions stay.
    fs::write(path("out.xml"), "earlier").unwrap();
    fs::set_permissions(path("out.xml"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(replay("out.xml").0, 0);
    assert!(fs::read_to_string(path("out.xml")).unwrap().contains("<testsuite"));
    assert_eq!(fs::metadata(path("out.xml")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(replay("new.xml").0, 0);
    // A server that puts a link there has nothing written through it.
    fs::write(path("t.transcript"), text.replace("touch played", "ln -sf theirs late.xml")).unwrap();
    assert_eq!(replay("late.xml").0, 2);
    assert_eq!(fs::read_to_string(path("theirs")).unwrap(), "theirs");
}

#[test]
fn directories_play_side_by_side_and_the_verdicts_come_in_order() {
    let place = tempfile::tempdir().unwrap();
    let server = "server: sh -c 'read -r x; sleep 1; echo \"{\\\"id\\\":1}\"; cat'";
    let text = |wait: &str| format!("transcript: 1\n{server}\n\n--> a\n<-- {wait}\n==> eof\n<== exit 0\n");
    fs::create_dir_all(place.path().join("d/sub")).unwrap();
    for (name, wait) in
        [("d/a", r#"{"id":1}"#), ("d/b", r#"{"id":2}"#), ("d/sub/c", r#"{"id":1}"#), ("d/e", r#"{"id":1}"#)]
    {
        fs::write(place.path().join(format!("{name}.transcript")), text(wait)).unwrap();
    }
    fs::write(place.path().join("d/f.transcript"), "transcript: 1\nplatform: windows\n").unwrap();
    fs::write(place.path().join("d/g.transcript"), "none\n").unwrap();
    fs::write(place.path().join("d/h.txt"), "no transcript").unwrap();
    let began = Instant::now();
    let arguments = ["replay", "d", "--tap", "--junit", "out.xml", "--jobs", "6", "--timeout", "4s"];
    let (status, tap, errors) = allowexec(place.path(), &arguments, "");
    assert_eq!((status, errors.as_str()), (2, ""));
    // One wait of 4 s and four starts of 1 s: one after the other they take 7 s and more.
    let took = began.elapsed();
    assert!(took < Duration::from_secs(7) || std::thread::available_parallelism().unwrap().get() < 2, "{took:?}");
    let lines: Vec<&str> = tap.lines().filter(|line| line.starts_with("ok") || line.starts_with("not ok")).collect();
    assert_eq!(
        lines,
        [
            "ok 1 - d/a.transcript",
            "not ok 2 - d/b.transcript",
            "ok 3 - d/e.transcript",
            "ok 4 - d/f.transcript # SKIP not for this platform",
            "not ok 5 - d/g.transcript",
            "ok 6 - d/sub/c.transcript"
        ]
    );
    assert!(tap.starts_with("TAP version 14\n1..6\n"), "{tap}");
    let xml = fs::read_to_string(place.path().join("out.xml")).unwrap();
    assert!(xml.contains("tests=\"6\" failures=\"1\" errors=\"1\" skipped=\"1\""), "{xml}");
    let (status, output, _) = allowexec(place.path(), &["replay", "d/h.txt", "missing"], "");
    assert_eq!(status, 2);
    assert!(output.contains("0 the same, 2 broken of 2"), "{output}");
}

#[test]
fn hostile_servers_neither_hang_nor_lie() {
    let place = tempfile::tempdir().unwrap();
    let many: String = (0..10_000).map(|id| format!("--> {{\"id\":{id}}}\n")).collect();
    for (script, body, expected) in [
        // Lines without an end, NUL, bytes that are not UTF-8, an end in the middle, no end at all, no reading.
        ("yes", "<-- {\"id\":1}\n", "(gave up after 1000 other messages)"),
        ("tr '\\0' a </dev/zero", "<-- {\"id\":1}\n", "(gave up after "),
        ("printf 'a\\0b\\n\\377\\n'", "<-- {\"id\":1}\n==> eof\n", "+<--x 610062\n+<--x ff\n+<-- (end of output)\n"),
        (
            "printf '{\"id\"'; exit 9",
            "<-- {\"id\":1}\n<== exit 0\n",
            "+<--! {\"id\"\n+<-- (end of output)\n+<== no line feed\n+<== exit 9\n",
        ),
        ("kill -9 $$", "--> x\n<== exit 0\n", "+<== exit 137\n"),
        ("trap '' TERM; while :; do sleep 1; done", "==> eof\n<== exit 0\n", "(output still open after 1s)"),
        ("sleep 60", &format!("{many}<-- {{\"id\":1}}\n"), "(nothing within 1s)"),
        ("exec >&-; sleep 60", "==> eof\n<== exit 0\n", "+<== (still running after 1s)\n"),
    ] {
        let text = format!("transcript: 1\nserver: sh -c {}\n\n{body}", shlex::try_quote(script).unwrap());
        fs::write(place.path().join("s.transcript"), text).unwrap();
        let began = Instant::now();
        let (status, output, _) = allowexec(place.path(), &["replay", "--timeout", "1s", "s.transcript"], "");
        assert_eq!(status, 1, "{script}: {output}");
        assert!(output.contains(expected), "{script}: {}", output.chars().take(3000).collect::<String>());
        assert!(began.elapsed() < Duration::from_secs(30), "{script}: {:?}", began.elapsed());
    }
}

#[test]
fn what_differs_is_never_the_same() {
    let place = tempfile::tempdir().unwrap();
    let server =
        "#!/bin/sh\nread -r line\necho \"{\\\"id\\\":1,\\\"result\\\":{\\\"answer\\\":$1}}\"\ncat >/dev/null\n";
    fs::write(place.path().join("server.sh"), server).unwrap();
    let play = |body: &str, server: &str| {
        fs::write(place.path().join("t.transcript"), format!("transcript: 1\n\n{body}")).unwrap();
        allowexec(place.path(), &["replay", "--timeout", "2s", "--server", server, "t.transcript"], "")
    };
    // A server that leaves out `jsonrpc` has answered nevertheless.
    let body =
        "--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n<-- {\"id\":1,\"result\":{\"answer\":1}}\n==> eof\n";
    let server = |answer: u32| format!("sh {} {answer}", place.path().join("server.sh").display());
    assert_eq!(play(body, &server(1)).0, 0);
    let (status, shown, _) = play(body, &server(2));
    assert!(status == 1 && shown.contains("\"answer\":2"), "{shown}");
    // A server that ends at once has not started, also where no answer is waited for.
    let body = "--> {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n==> eof\n";
    let (status, shown, _) = play(body, "false");
    assert!(status == 1 && shown.contains("ended with status 1"), "{shown}");
    assert_eq!(play(body, "cat /dev/null").0, 0);
    assert_eq!(play(&format!("{body}<== exit 1\n"), "false").0, 0);
    // What expects nothing and sends nothing shows nothing.
    let (status, shown, _) = play("# The recording was broken off.\n", "false");
    assert!(status == 2 && shown.contains("it sends and expects nothing"), "{shown}");
}

#[test]
fn a_server_that_stays_silent_is_not_waited_for_once_a_line() {
    let place = tempfile::tempdir().unwrap();
    let waits: String = (0..200).map(|id| format!("<-- {{\"id\":{id}}}\n")).collect();
    fs::write(place.path().join("t.transcript"), format!("transcript: 1\n\n{waits}==> eof\n")).unwrap();
    let began = Instant::now();
    let arguments = ["replay", "--timeout", "1s", "--server", "sleep 60", "t.transcript"];
    let (status, shown, _) = allowexec(place.path(), &arguments, "");
    assert_eq!(status, 1, "{shown}");
    // One by one they would take 200 seconds, and the limit of `allowexec` is 60.
    assert!(began.elapsed() < Duration::from_secs(50));
}

/// Plays a session in which a server prints these lines, and the transcript has others.
fn played(place: &Path, more: &[&str], recorded: &[&str], printed: &[&str]) -> (i32, String) {
    let lines = |mark: &str, lines: &[&str]| lines.iter().map(|line| format!("{mark}{line}\n")).collect::<String>();
    fs::write(place.join("printed"), lines("", printed)).unwrap();
    let server = "transcript: 1\nserver: sh -c 'read -r x; cat printed; cat >/dev/null'\n\n--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n";
    fs::write(place.join("t.transcript"), format!("{server}{}==> eof\n<== exit 0\n", lines("<-- ", recorded))).unwrap();
    let (status, output, _) = allowexec(place, &[&["replay", "--in", ".", "t.transcript"], more].concat(), "");
    (status, output)
}

#[test]
fn strictly_the_order_of_the_servers_messages_counts() {
    let place = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|method| format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"}}"));
    let answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
    let recorded = [a.as_str(), &b, &a, answer];
    for printed in [[&b, &a, &a, answer], [answer, &a, &b, &a], [&a, &a, &b, answer]] {
        assert_eq!(played(place.path(), &[], &recorded, &printed).0, 0, "{printed:?}");
        let (status, shown) = played(place.path(), &["--strict"], &recorded, &printed);
        assert_eq!(status, 1, "{printed:?}");
        // What moved is shown where it came and where it was, and nothing is lost.
        let count = |mark: &str| shown.lines().filter(|line| line.starts_with(mark)).count();
        assert!(count("-<-- ") == count("+<-- ") && count("+<-- ") > 0, "{shown}");
        assert!(!shown.contains('('), "{shown}");
    }
    assert_eq!(played(place.path(), &["--strict"], &recorded, &recorded).0, 0);
}

#[test]
fn a_last_line_without_its_end_differs_from_one_with_it() {
    let place = tempfile::tempdir().unwrap();
    let message = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let play = |format: &str, end: &str| {
        let text = format!(
            "transcript: 1\nserver: sh -c 'read -r x; printf \"$0\" \"$1\"' '{format}' '{message}'\n\n\
             --> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}}\n<-- {message}\n==> eof\n{end}<== exit 0\n"
        );
        fs::write(place.path().join("t.transcript"), text).unwrap();
        let (status, output, _) = allowexec(place.path(), &["replay", "t.transcript"], "");
        (status, output)
    };
    let open = "<== no line feed\n";
    assert_eq!((play("%s\\n", "").0, play("%s", open).0), (0, 0));
    let (status, shown) = play("%s", "");
    assert!(status == 1 && shown.contains("\n+<== no line feed\n"), "{shown}");
    let (status, shown) = play("%s\\n", open);
    assert!(status == 1 && shown.contains("\n-<== no line feed\n"), "{shown}");
}

/// A server that makes up a name for each order and knows no other.
const SHOP: &str = r#"
import json, sys, uuid
orders = {}
for line in sys.stdin:
    request = json.loads(line)
    arguments = request["params"]
    if request["method"] == "order":
        order = str(uuid.uuid4())
        orders[order] = arguments["what"]
        result = {"receipt": {"order": order}, "text": f"ordered as {order}"}
    else:
        result = {"what": orders.get(arguments["order"], "no such order"), "seen": f"order:{arguments['order']}"}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

#[test]
fn what_a_server_makes_up_is_sent_back_to_it() {
    let place = tempfile::tempdir().unwrap();
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("python3 is not installed here, so nothing is shown of a server that makes up names");
        return;
    }
    fs::write(place.path().join("shop.py"), SHOP).unwrap();
    let play = |rule: &str| {
        let text = format!(
            "transcript: 1\nserver: python3 shop.py\n{rule}\n\
             --> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"order\",\"params\":{{\"what\":\"tea\"}}}}\n\
             <-- {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"receipt\":{{\"order\":\"recorded-1\"}},\"text\":\"ordered as recorded-1\"}}}}\n\
             --> {{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"look\",\"params\":{{\"order\":\"recorded-1\"}}}}\n\
             <-- {{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{{\"what\":\"tea\",\"seen\":\"order:recorded-1\"}}}}\n\
             ==> eof\n<== exit 0\n"
        );
        fs::write(place.path().join("t.transcript"), text).unwrap();
        let (status, output, _) = allowexec(place.path(), &["replay", "--in", ".", "t.transcript"], "");
        (status, output)
    };
    let (status, shown) = play("");
    assert!(status == 1 && shown.contains("no such order"), "{shown}");
    let (status, shown) = play("match: order /result/receipt/order fresh\n");
    assert_eq!(status, 0, "{shown}");
    // In the file beside it, too.
    fs::write(place.path().join("t.match"), "order /result/receipt/order fresh\n").unwrap();
    assert_eq!(play("").0, 0);
}

#[test]
fn another_made_up_name_for_the_same_thing_is_a_difference() {
    let place = tempfile::tempdir().unwrap();
    let answer = |id: u32, order: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"order":"{order}"}}}}"#);
    let ask = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"look"}}"#);
    let text = format!(
        "transcript: 1\nserver: sh shop.sh\nmatch: /result/order fresh\n\n--> {}\n<-- {}\n--> {}\n<-- {}\n==> eof\n<== exit 0\n",
        ask(1),
        answer(1, "recorded-1"),
        ask(2),
        answer(2, "recorded-1")
    );
    fs::write(place.path().join("t.transcript"), text).unwrap();
    for (second, status) in [("made-up-1", 0), ("made-up-2", 1)] {
        let (first, second) = (answer(1, "made-up-1"), answer(2, second));
        let shop = format!("read line; echo '{first}'\nread line; echo '{second}'\ncat\n");
        fs::write(place.path().join("shop.sh"), shop).unwrap();
        let (ended, shown, _) = allowexec(place.path(), &["replay", "--in", ".", "t.transcript"], "");
        assert_eq!(ended, status, "{shown}");
    }
}

#[test]
fn what_no_value_holds_is_compared_as_it_came() {
    let place = tempfile::tempdir().unwrap();
    let answer = |result: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}");
    for (recorded, printed, status) in [
        ("123456789012345678901234567890", "123456789012345678901234567890", 0),
        ("123456789012345678901234567890", "123456789012345678901234567891", 1),
        ("0.12345678901234567890", "0.12345678901234567891", 1),
        (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#, 0),
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#, 1),
        (r#"{"a":1,"a":2}"#, r#"{"a":3,"a":2}"#, 1),
        (r#"{"a":1,"b":2.50}"#, r#"{"b":2.5, "a":1}"#, 0),
        // Beside a difference that a rule allows, too.
        (
            r#"[111111111111111111111111,"at 2026-01-02T03:04:05Z"]"#,
            r#"[111111111111111111111112,"at 2027-01-02T03:04:05Z"]"#,
            1,
        ),
        (
            r#"[111111111111111111111111,"at 2026-01-02T03:04:05Z"]"#,
            r#"[111111111111111111111111,"at 2027-01-02T03:04:05Z"]"#,
            0,
        ),
    ] {
        let (found, shown) = played(place.path(), &[], &[&answer(recorded)], &[&answer(printed)]);
        assert_eq!(found, status, "{recorded} {printed}: {shown}");
        assert!(status == 0 || shown.contains(&format!("+<-- {}\n", answer(printed))), "{shown}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_leaves_the_group_of_a_server_ends_with_it() {
    if Command::new("setsid").arg("true").output().is_err() {
        eprintln!("setsid is not installed here, so nothing is shown of a server that leaves its group");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'echo $$ >left; exec sleep 300' & while ! [ -s left ]; do sleep 0.01; done\n\
                  read -r x; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'; cat >/dev/null\n";
    fs::write(place.path().join("server.sh"), script).unwrap();
    let text = "transcript: 1\nserver: sh server.sh\n\n--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n<-- {\"id\":1}\n==> eof\n";
    fs::write(place.path().join("t.transcript"), text).unwrap();
    // What it has left holds its output open.
    let (status, shown, _) = allowexec(place.path(), &["replay", "--timeout", "1s", "--in", ".", "t.transcript"], "");
    assert_eq!(status, 1, "{shown}");
    assert!(shown.contains("(output still open after 1s)"), "{shown}");
    let left: u32 = fs::read_to_string(place.path().join("left")).unwrap().trim().parse().unwrap();
    let is_left = fs::read_to_string(format!("/proc/{left}/comm")).is_ok_and(|name| name.trim() == "sleep");
    assert!(!is_left, "process {left} is left");
}
