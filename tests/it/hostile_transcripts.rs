//! Hostile transcripts, servers and clients: what reads them ends in time, and says what is there.

#![cfg(unix)]

use std::fs;
use std::path::Path;

use allowexec::transcript::Transcript;

use super::replay_any::allowexec;

/// More requests than any client has open.
const MANY: usize = 10_000;

/// Has each of the readers read the file; the statuses of `replay`, `mock` and `lint`, and what they said.
fn read_by_all(place: &Path, text: &[u8]) -> [(i32, String); 3] {
    fs::write(place.join("t.transcript"), text).unwrap();
    let run = |arguments: &[&str]| {
        let (status, output, errors) = allowexec(place, arguments, "");
        (status, output + &errors)
    };
    [
        run(&["replay", "--timeout", "1s", "--server", "cat", "t.transcript"]),
        run(&["mock", "t.transcript"]),
        run(&["lint", "t.transcript"]),
    ]
}

#[test]
fn hostile_transcripts_neither_hang_nor_lie() {
    let place = tempfile::tempdir().unwrap();
    let long = "a".repeat(8 * 1024 * 1024);
    let deep = "[".repeat(100_000);
    // The body; the statuses of the three; what they say.
    for (name, body, statuses, said) in [
        (
            "a long line",
            format!("--> {long}\n<--! {long}\n==> eof\n").into_bytes(),
            [0, 0, 1],
            ["1 the same of 1", "", "3 findings"],
        ),
        ("NUL", b"--> a\0b\n<--! a\0b\n==> eof\n".to_vec(), [0, 0, 1], ["1 the same of 1", "", "3 findings"]),
        ("no UTF-8", b"--> \xff\n".to_vec(), [2, 2, 2], ["t.transcript:3: ", "t.transcript:3: ", "t.transcript:3: "]),
        ("a deep message", format!("<-- {deep}\n").into_bytes(), [2, 2, 2], ["t.transcript:3: "; 3]),
        (
            "a deep line",
            format!("--> {deep}\n<--! {deep}\n==> eof\n").into_bytes(),
            [0, 0, 1],
            ["1 the same of 1", "", "3 findings"],
        ),
        ("cut off", b"--> {\"id\":1}\n<-- {\"id\":".to_vec(), [2, 2, 2], ["t.transcript:4: "; 3]),
        (
            "cut off within a line of the client",
            b"-->+ {\"id\"".to_vec(),
            [0, 0, 1],
            ["1 the same of 1", "", "not JSON"],
        ),
        (
            "pieces without an end",
            "-->+ a\n".repeat(10_000).into_bytes(),
            [0, 0, 1],
            ["1 the same of 1", "", "1 finding in 1 file"],
        ),
    ] {
        let text = [b"transcript: 1\n\n".as_slice(), &body].concat();
        let found = read_by_all(place.path(), &text);
        for ((found, status), said) in found.iter().zip(statuses).zip(said) {
            let shown: String = found.1.chars().take(2_000).collect();
            assert_eq!(found.0, status, "{name}: {shown}");
            assert!(found.1.contains(said), "{name}: {shown}");
            // Nothing of it is printed that long, and nothing that writes to a terminal.
            assert!(found.1.len() < 64 * 1024, "{name}: {} bytes", found.1.len());
            assert!(found.1.chars().all(|c| c == '\n' || !c.is_control()), "{name}: {shown:?}");
        }
    }
    fs::File::create(place.path().join("large.transcript")).unwrap().set_len(64 * 1024 * 1024 + 1).unwrap();
    for command in ["replay", "mock", "lint"] {
        let (status, output, errors) = allowexec(place.path(), &[command, "large.transcript"], "");
        assert_eq!(status, 2, "{command}");
        assert!((output + &errors).contains("larger than"), "{command}");
    }
}

/// Transcripts of a few megabytes whose values would take gigabytes.
fn heavy() -> Vec<(&'static str, String)> {
    let many = |one: &str, count: usize| one.repeat(count);
    let array = format!("[{}0]", many("{\"a\":0},", 1_500_000));
    vec![
        ("lines of the client", many(&format!("--> [{}0]\n", many("{\"a\":0},", 1000)), 2000)),
        (
            "messages of the server",
            many(&format!("<-- {{\"id\":1,\"result\":[{}0]}}\n", many("{\"a\":0},", 1000)), 2000),
        ),
        ("short messages", many("<-- {\"id\":1,\"a\":{\"b\":{\"c\":{\"d\":[[[0]]]}}}}\n", 400_000)),
        ("one line of the client", format!("--> {array}\n")),
        ("one message", format!("<-- {{\"id\":1,\"result\":{array}}}\n")),
        (
            "one message in hex",
            format!(
                "<--x {}\n",
                array
                    .replacen('[', "{\"id\":1,\"result\":[", 1)
                    .bytes()
                    .chain(*b"}")
                    .map(|byte| format!("{byte:02x}"))
                    .collect::<String>()
            ),
        ),
        ("pieces that begin within a string", format!("-->+ {{\"a\n-->+ \":{array}\n--> }}\n")),
        ("a line of the client in hex", many(&format!("-->x {}\n", many("5b5d2c", 10_000)), 500)),
        ("empty lines", many("\n", 2_000_000)),
        ("empty comments", many("#\n", 2_000_000)),
    ]
}

#[test]
fn a_transcript_that_takes_more_memory_than_its_bound_is_refused_by_all() {
    let place = tempfile::tempdir().unwrap();
    let policy = ["policy", "suggest", "t.transcript"];
    for (number, (what, body)) in heavy().into_iter().enumerate() {
        fs::write(place.path().join("t.transcript"), format!("transcript: 1\n\n{body}")).unwrap();
        let all = [
            &["lint", "t.transcript"][..],
            &["report", "t.transcript"],
            &["mock", "t.transcript"],
            &policy,
            &["replay", "--server", "cat", "t.transcript"],
        ];
        // All read it in the same way.
        for command in all.into_iter().take(if number < 2 { all.len() } else { 1 }) {
            // Without the bound it takes 2 to 4 GB.
            let limited = "ulimit -v 1500000; exec \"$0\" \"$@\"";
            let output = std::process::Command::new("sh")
                .args(["-c", limited, env!("CARGO_BIN_EXE_allowexec")])
                .args(command)
                .current_dir(place.path())
                .stdin(std::process::Stdio::null())
                .output()
                .unwrap();
            let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert_eq!(output.status.code(), Some(2), "{what}: {command:?}: {said:.2000}");
            assert!(said.contains("(about ") && said.contains(" MiB"), "{what}: {command:?}: {said:.2000}");
        }
    }
}

#[test]
fn a_header_that_takes_more_memory_than_its_bound_is_refused_by_all() {
    let place = tempfile::tempdir().unwrap();
    let header = [
        format!("args: {}\n", "a ".repeat(10_000_000)),
        format!("env: {}\n", "a= ".repeat(7_000_000)),
        "env: a=b\n".repeat(2_000_000),
        "setup: dir a\n".repeat(1_500_000),
    ];
    for (number, header) in header.into_iter().enumerate() {
        fs::write(place.path().join("t.transcript"), format!("transcript: 1\n{header}\n")).unwrap();
        let all: [&[&str]; 5] = [
            &["lint", "t.transcript"],
            &["report", "t.transcript"],
            &["mock", "t.transcript"],
            &["policy", "suggest", "t.transcript"],
            &["replay", "--server", "cat", "t.transcript"],
        ];
        for command in all.into_iter().take(if number < 1 { 5 } else { 1 }) {
            let (status, output, errors) = allowexec(place.path(), command, "");
            let said = output + &errors;
            assert_eq!(status, 2, "{number}: {command:?}: {said:.2000}");
            assert!(said.contains("the header is longer than 4 MiB"), "{number}: {command:?}: {said:.2000}");
        }
    }
}

/// A session with so many requests open at once, answered backwards.
fn many_in_flight() -> (String, String) {
    let requests: Vec<String> = (1..=MANY)
        .map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\",\"params\":{{\"n\":{id}}}}}"))
        .collect();
    let answers =
        (1..=MANY).rev().map(|id| format!("<-- {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"n\":{id}}}}}\n"));
    let sent: String = requests.iter().map(|request| format!("--> {request}\n")).collect();
    let transcript = format!("transcript: 1\n\n{sent}{}==> eof\n<== exit 0\n", answers.collect::<String>());
    (transcript, requests.iter().map(|request| format!("{request}\n")).collect())
}

#[test]
fn ten_thousand_requests_in_flight_are_recorded_mocked_replayed_and_checked() {
    let place = tempfile::tempdir().unwrap();
    let (transcript, requests) = many_in_flight();
    fs::write(place.path().join("t.transcript"), transcript).unwrap();
    let own = env!("CARGO_BIN_EXE_allowexec");
    let arguments = ["record", "-o", "r.transcript", "--", own, "mock", "--strict", "t.transcript"];
    let (status, answers, errors) = allowexec(place.path(), &arguments, &requests);
    assert_eq!((status, errors.as_str()), (0, ""));
    let expected: String =
        (1..=MANY).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"n\":{id}}}}}\n")).collect();
    assert!(answers == expected, "{} bytes for {}", answers.len(), expected.len());
    let server = format!("{own} mock {}", place.path().join("t.transcript").display());
    for file in ["t.transcript", "r.transcript"] {
        let (status, output, _) = allowexec(place.path(), &["replay", "--server", &server, file], "");
        assert_eq!((status, output.as_str()), (0, "1 the same of 1\n"), "{file}");
    }
    let (_, output, _) = allowexec(place.path(), &["lint", "r.transcript"], "");
    // They come before a handshake, which is the one thing that is wrong with them.
    assert!(output.ends_with("0 findings in 1 file\n"), "{}", output.chars().take(2_000).collect::<String>());
}

#[test]
fn ten_thousand_cancellations_are_looked_up_one_by_one() {
    let place = tempfile::tempdir().unwrap();
    let requests = (1..=MANY).map(|id| format!("--> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"));
    let cancelled = (1..=MANY).map(|id| {
        format!(
            "--> {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}\n"
        )
    });
    let text: String = requests.chain(cancelled).collect();
    fs::write(place.path().join("t.transcript"), format!("transcript: 1\n\n{text}==> eof\n")).unwrap();
    let (status, output, _) = allowexec(place.path(), &["lint", "t.transcript"], "");
    assert_eq!((status, output.as_str()), (0, "0 findings in 1 file\n"));
}

#[test]
fn a_hostile_client_of_a_mock_gets_answers_in_time() {
    let place = tempfile::tempdir().unwrap();
    let text = "transcript: 1\n\n--> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n<-- {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    fs::write(place.path().join("t.transcript"), text).unwrap();
    let long = "a".repeat(17 * 1024 * 1024);
    let input = format!(
        "{long}\n\0\n{}\n{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}}\n{{\"jsonrpc\"",
        "[".repeat(100_000)
    );
    let (status, output, _) = allowexec(place.path(), &["mock", "t.transcript"], &input);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!((status, lines.len()), (0, 5), "{output}");
    assert_eq!(lines[3], "{\"id\":9,\"jsonrpc\":\"2.0\",\"result\":{}}");
    for (at, code) in [(0, "-32600"), (1, "-32700"), (2, "-32700"), (4, "-32700")] {
        assert!(lines[at].contains(&format!("\"code\":{code}")), "{}", lines[at]);
    }
    assert!(output.len() < 8 * 1024, "{} bytes", output.len());
}

#[test]
fn a_server_that_ends_in_the_middle_is_recorded_up_to_there() {
    let place = tempfile::tempdir().unwrap();
    for (script, status, expected) in [
        ("read -r x; printf '{\"jsonrpc\":'; kill -9 $$", 137, "<--! {\"jsonrpc\":\n<== no line feed\n"),
        ("read -r x; printf 'a\\0b\\n'; exit 9", 9, "<--x 610062\n"),
        ("head -c 9000000 /dev/zero | tr '\\0' a; exit 3", 3, "aaaa\n<== no line feed\n"),
    ] {
        let file = place.path().join("r.transcript");
        let arguments = ["record", "--force", "-o", "r.transcript", "--", "sh", "-c", script];
        let (found, _, errors) = allowexec(place.path(), &arguments, "{\"id\":1}\n");
        assert_eq!((found, errors.as_str()), (status, ""), "{script}");
        let text = fs::read_to_string(&file).unwrap();
        assert!(Transcript::parse("r.transcript", &text).is_ok(), "{script}");
        assert!(text.contains(expected), "{script}: {}", text.chars().take(2_000).collect::<String>());
    }
}
