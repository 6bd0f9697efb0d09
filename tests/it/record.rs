//! `allowexec record`: every byte passes as it came, the file holds what happened, and no file is lost.

#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use allowexec::transcript::{Entry, Transcript};

/// A command in a directory of its own, with pipes.
fn allowexec(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.args(arguments).current_dir(directory);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Exit status, standard output and standard error of a session in which the client sends all of `input` at once.
fn session(directory: &Path, arguments: &[&str], input: &[u8]) -> (i32, Vec<u8>, String) {
    let mut child = allowexec(directory, arguments).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A server that ends early takes no more of it.
    let sending = std::thread::spawn(move || stdin.write_all(&input).ok());
    let output = child.wait_with_output().unwrap();
    sending.join().unwrap();
    (output.status.code().unwrap(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

fn recordings(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn wait(child: &mut Child) -> i32 {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status.code().unwrap(),
            None if Instant::now() > deadline => {
                child.kill().unwrap();
                panic!("still running");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

#[test]
fn what_both_sides_write_passes_to_the_byte_and_stands_in_a_transcript() {
    let place = tempfile::tempdir().unwrap();
    let here = dunce::canonicalize(place.path()).unwrap();
    // A line of a log, a CR, bytes that are not UTF-8, a line without its end, and standard error.
    let script = "read line; echo starting in $PWD; printf '{\"id\":1,\"result\":{}}\\r\\n'; printf '\\377\\000\\n'; \
                  printf '  {\"id\":2} \\n\\n'; echo oops >&2; cat >&2; printf 'last'; exit 7";
    let input = format!("{PING}\nnonsense \n\u{1}\ntail");
    let (status, output, errors) =
        session(&here, &["record", "-o", "s.transcript", "--", "sh", "-c", script], input.as_bytes());
    let mut expected = format!("starting in {}\n{{\"id\":1,\"result\":{{}}}}\r\n", here.display()).into_bytes();
    expected.extend_from_slice(b"\xff\x00\n  {\"id\":2} \n\nlast");
    assert_eq!((status, output), (7, expected));
    assert_eq!(errors, "oops\nnonsense \n\u{1}\ntail");
    let text = fs::read_to_string(here.join("s.transcript")).unwrap();
    let transcript = Transcript::parse("s.transcript", &text).unwrap();
    assert_eq!(transcript.header.server(), ["sh", "-c", script]);
    assert_eq!(transcript.header.directory(), here.to_str());
    let of = |wanted: fn(&Entry) -> bool| -> Vec<String> {
        transcript.entries.iter().filter(|entry| wanted(entry)).map(ToString::to_string).collect()
    };
    assert_eq!(
        of(|entry| matches!(entry, Entry::Send(_) | Entry::CloseInput)),
        [&format!("--> {PING}"), "-->x 6e6f6e73656e736520", "-->x 01", "-->+ tail", "==> eof"]
    );
    assert_eq!(
        of(|entry| matches!(entry, Entry::Receive(_) | Entry::Noise(_) | Entry::NoLineEnd | Entry::Exit(_))),
        [
            "<--! starting in [tmp]",
            "<--x 7b226964223a312c22726573756c74223a7b7d7d0d",
            "<--x ff00",
            "<-- {\"id\":2}",
            "<--!",
            "<--! last",
            "<== no line feed",
            "<== exit 7"
        ]
    );
    // The two streams have no order between them.
    assert_eq!(
        of(|entry| matches!(entry, Entry::Comment(_))),
        ["# stderr: oops", "# stderr: nonsense ", "# stderr: \\u{1}", "# stderr: tail"]
    );
}

#[test]
fn no_file_is_replaced_without_force() {
    let place = tempfile::tempdir().unwrap();
    let record = |more: &[&str]| {
        let arguments = [&["record", "-o", "s.transcript"], more, &["--", "cat"]].concat();
        session(place.path(), &arguments, PING.as_bytes())
    };
    assert_eq!(record(&[]).0, 0);
    let first = fs::read_to_string(place.path().join("s.transcript")).unwrap();
    for more in [&[][..], &["--required"]] {
        let (status, output, errors) = record(more);
        assert_eq!((status, output.len()), (2, 0));
        assert!(errors.contains("it exists already") && errors.contains("`--force`"), "{errors}");
    }
    assert_eq!(fs::read_to_string(place.path().join("s.transcript")).unwrap(), first);
    assert_eq!(record(&["--force", "--timing"]).0, 0);
    let timed = fs::read_to_string(place.path().join("s.transcript")).unwrap();
    assert!(timed.contains("\n# at 0."), "{timed}");
    let untimed: String =
        timed.lines().filter(|line| !line.starts_with("# at ")).map(|line| format!("{line}\n")).collect();
    assert_eq!(untimed, first);
    // The server of this program is no other.
    for more in [&[][..], &["--record-required"]] {
        let serve = [&["serve", "--record", "s.transcript"], more].concat();
        let (status, _, errors) = session(place.path(), &serve, b"");
        assert_eq!(status, 2);
        assert!(errors.contains("it exists already"), "{errors}");
    }
    assert_eq!(fs::read_to_string(place.path().join("s.transcript")).unwrap(), timed);
    assert_eq!(session(place.path(), &["serve", "--record", "s.transcript", "--force"], b"").0, 0);
    assert_ne!(fs::read_to_string(place.path().join("s.transcript")).unwrap(), timed);
    assert_eq!(recordings(place.path()).len(), 1);
}

#[test]
fn a_directory_that_is_something_else_is_said_in_words() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("file"), "").unwrap();
    for arguments in [&["record", "--dir", "file", "--", "cat"][..], &["init", "--to", "file"]] {
        let (status, _, errors) = session(place.path(), arguments, b"");
        assert_eq!(status, 2);
        assert!(errors.contains("it is a regular file; expected a directory or none\n"), "{errors}");
    }
}

#[test]
fn names_are_made_of_the_time_the_process_and_the_client() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("new/sessions");
    let old = "{\"id\":0,\"method\":\"initialize\",\"params\":{\"clientInfo\":{\"name\":\"My client/1\"}}}\n";
    let new = "{\"id\":0,\"method\":\"ping\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/clientInfo\":{\"name\":\"other\"}}}}\n";
    for input in [old, new, "", old] {
        let (status, _, errors) =
            session(place.path(), &["record", "--dir", "new/sessions", "--", "cat"], input.as_bytes());
        assert_eq!(status, 0, "{errors}");
    }
    let names: Vec<String> =
        recordings(&directory).iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    let count = |start: &str| names.iter().filter(|name| name.starts_with(start)).count();
    assert_eq!((count("My_client_1-2"), count("other-2"), count("client-2"), names.len()), (2, 1, 1, 4), "{names:?}");
    // A name that turns out to be taken is not taken over either.
    let fixed = ["record", "--required", "-o", "%c.transcript", "--", "cat"];
    assert_eq!(session(place.path(), &fixed, old.as_bytes()).0, 0);
    let (status, _, errors) = session(place.path(), &fixed, old.as_bytes());
    assert_eq!(status, 2);
    assert!(errors.contains("it exists already"), "{errors}");
}

#[test]
fn a_server_that_does_not_start_leaves_no_file() {
    let place = tempfile::tempdir().unwrap();
    let (status, output, errors) =
        session(place.path(), &["record", "-o", "s.transcript", "--", "./no-such-server"], b"");
    assert_eq!((status, output.len()), (2, 0));
    assert!(errors.contains("can't start `./no-such-server`: No such file"), "{errors}");
    assert_eq!(recordings(place.path()).len(), 0);
}

#[test]
fn a_command_that_no_header_can_hold_is_recorded_without_it() {
    let place = tempfile::tempdir().unwrap();
    let (status, output, errors) =
        session(place.path(), &["record", "-o", "s.transcript", "--", "sh", "-c", "true\ncat"], PING.as_bytes());
    assert_eq!((status, output.as_slice(), errors.as_str()), (0, PING.as_bytes(), ""));
    let text = fs::read_to_string(place.path().join("s.transcript")).unwrap();
    let transcript = Transcript::parse("s.transcript", &text).unwrap();
    assert!(transcript.header.server().is_empty(), "{text}");
    assert!(text.contains("\n# The command is missing, so a replay needs `--server`: "), "{text}");
}

#[test]
fn each_side_sees_the_other_one_close() {
    let place = tempfile::tempdir().unwrap();
    let start = |name: &str, script: &str| {
        allowexec(place.path(), &["record", "-o", name, "--", "sh", "-c", script]).spawn().unwrap()
    };
    // The server closes its output and goes on.
    let mut child = start("output", "echo '{\"id\":1}'; exec >&-; cat >/dev/null; exit 3");
    let mut seen = String::new();
    child.stdout.take().unwrap().read_to_string(&mut seen).unwrap();
    assert_eq!((seen.as_str(), child.try_wait().unwrap()), ("{\"id\":1}\n", None));
    drop(child.stdin.take());
    assert_eq!(wait(&mut child), 3);
    // The server closes its input: the client hears of it as it would from the server.
    let mut child = start("input", "exec <&-; echo '{\"id\":1}'; sleep 5");
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut seen).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let deadline = Instant::now() + Duration::from_secs(4);
    while stdin.write_all(b"x\n").is_ok() {
        assert!(Instant::now() < deadline, "nobody reads, and nobody says so");
        std::thread::sleep(Duration::from_millis(5));
    }
    // SIGTERM goes to the server, whose status is the program's.
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(wait(&mut child), 143);
    // What the server has started holds the output open: its end is the server's end all the same.
    let mut child = start("held", "sleep 30 & echo \"{\\\"id\\\":$!}\"; exit 5");
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(wait(&mut child), 5);
    let sleeper: i32 = line.trim().trim_start_matches("{\"id\":").trim_end_matches('}').parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(sleeper).unwrap(), rustix::process::Signal::KILL)
        .unwrap();
    // The server has ended, and the client does not read the rest: a signal ends the waiting for it.
    let mut child = start("unread", "echo '{\"id\":1}'; head -c 120000 /dev/zero; exit 6");
    let mut unread = BufReader::new(child.stdout.take().unwrap());
    unread.read_line(&mut line).unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let children = format!("/proc/{pid}/task/{pid}/children");
    let deadline = Instant::now() + Duration::from_secs(10);
    while fs::read_to_string(&children).is_ok_and(|children| !children.is_empty()) {
        assert!(Instant::now() < deadline, "the server does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "no signal ends it");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(wait(&mut child), 6);
    drop(unread);
}

#[test]
fn twenty_megabytes_pass_with_four_of_memory() {
    let place = tempfile::tempdir().unwrap();
    let megabyte = "a".repeat(1024 * 1024);
    // One line of 10 MB each way; the server's is a message.
    let script = "printf '{\"id\":1,\"result\":\"'; head -c 10485760 /dev/zero | tr '\\0' b; printf '\"}\\n'; cat; \
                  grep -E 'VmHWM|RssFile' /proc/$PPID/status >&2";
    let mut child =
        allowexec(place.path(), &["record", "-o", "s.transcript", "--", "sh", "-c", script]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let sending = std::thread::spawn(move || {
        for _ in 0..10 {
            stdin.write_all(megabyte.as_bytes()).unwrap();
        }
        stdin.write_all(b"\n").unwrap();
    });
    let mut passed = 0;
    let mut output = child.stdout.take().unwrap();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match output.read(&mut chunk).unwrap() {
            0 => break,
            count => passed += count,
        }
    }
    sending.join().unwrap();
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(wait(&mut child), 0);
    assert_eq!(passed, 2 * 10_485_760 + "{\"id\":1,\"result\":\"\"}\n".len() + 1);
    // Without the pages of the program itself: of a build for tests they are more than all else.
    let kilobytes = |name: &str| -> u64 {
        let line = errors.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_end_matches(" kB").trim().parse().unwrap()
    };
    let peak = kilobytes("VmHWM:") - kilobytes("RssFile:");
    assert!(peak <= 4 * 1024, "{peak} KiB");
    let file = BufReader::new(fs::File::open(place.path().join("s.transcript")).unwrap());
    let lengths: Vec<(String, usize)> = file
        .split(b'\n')
        .map(|line| line.unwrap())
        .map(|line| (String::from_utf8_lossy(&line[..line.len().min(5)]).into_owned(), line.len()))
        .filter(|(start, _)| start.starts_with("<--"))
        .collect();
    assert_eq!(lengths, [("<-- {".to_owned(), 10_485_760 + 24), ("<--! ".to_owned(), 10_485_760 + 5)]);
    assert_eq!(recordings(place.path()).len(), 1);
}
