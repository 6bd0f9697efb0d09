//! `--record`: what stands in the file, what doesn't, and what becomes of the session where it can't be written.

use std::fs;
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::support::Server;
use allowexec::transcript::{Entry, Header, OnFailure, Placeholders, Recorder, Transcript};
#[cfg(unix)]
use serde_json::json;

/// A file that takes so many writes and then no more.
#[derive(Clone, Default)]
struct Full {
    written: Arc<Mutex<Vec<u8>>>,
    takes: Option<Arc<Mutex<usize>>>,
}

impl Full {
    fn after(writes: usize) -> Self {
        Self { takes: Some(Arc::new(Mutex::new(writes))), ..Self::default() }
    }

    fn text(&self) -> String {
        String::from_utf8(self.written.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(takes) = &self.takes {
            let mut left = takes.lock().unwrap();
            *left = left.checked_sub(1).ok_or_else(|| io::Error::other("the disk is full"))?;
        }
        self.written.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Records into the file; the vector holds the complaints.
fn recorder(file: &Full, on_failure: OnFailure) -> (Recorder, Arc<Mutex<Vec<String>>>) {
    let complaints = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&complaints);
    let complain = Box::new(move |error: &io::Error| kept.lock().unwrap().push(error.to_string()));
    let recorder =
        Recorder::start(file.clone(), &Header::default(), Placeholders::version_only(), on_failure, complain).unwrap();
    (recorder, complaints)
}

/// Reads all of it through a buffer of so many bytes.
fn read_through(recorder: &Recorder, bytes: &[u8], buffer: usize) -> Vec<u8> {
    let mut read = Vec::new();
    let input = BufReader::with_capacity(buffer, Cursor::new(bytes.to_vec()));
    recorder.input(input).read_to_end(&mut read).unwrap();
    read
}

#[test]
fn what_the_client_sends_is_recorded_to_the_byte_however_it_is_read() {
    let sent = b"one\n\n\xff\xfe\ntwo \nthree\r\n\tlast";
    let expected = "transcript: 1\n\n--> one\n-->\n-->x fffe\n-->x 74776f20\n-->x 74687265650d\n-->+ \tlast\n==> eof\n";
    for buffer in [1, 3, 64] {
        let file = Full::default();
        let (recorder, _) = recorder(&file, OnFailure::GoOn);
        assert_eq!(read_through(&recorder, sent, buffer), sent);
        assert_eq!(file.text(), expected, "with a buffer of {buffer}");
        let again: Vec<u8> = Transcript::parse("t", file.text())
            .unwrap()
            .entries
            .into_iter()
            .flat_map(|entry| match entry {
                Entry::Send(sent) => [
                    sent.bytes,
                    if sent.end == allowexec::transcript::LineEnd::Newline { b"\n".to_vec() } else { Vec::new() },
                ]
                .concat(),
                _ => Vec::new(),
            })
            .collect();
        assert_eq!(again, sent);
    }
}

#[test]
fn a_line_that_has_no_end_is_held_in_pieces() {
    let file = Full::default();
    let (recorder, _) = recorder(&file, OnFailure::GoOn);
    let line = vec![b'a'; 3 * 1024 * 1024];
    assert_eq!(read_through(&recorder, &line, 64 * 1024).len(), line.len());
    let pieces: Vec<usize> = file.text().lines().filter(|line| line.starts_with("-->+")).map(str::len).collect();
    assert!(pieces.len() > 1 && pieces.iter().all(|&piece| piece < 2 * 1024 * 1024), "{pieces:?}");
}

#[test]
fn a_line_stands_in_the_file_before_it_is_handed_out() {
    let file = Full::default();
    let (recorder, _) = recorder(&file, OnFailure::GoOn);
    let mut input = recorder.input(&b"ask\n"[..]);
    input.fill_buf().unwrap();
    assert!(file.text().ends_with("--> ask\n"));
    struct Client(Full);
    impl Write for Client {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            assert!(self.0.text().ends_with("<-- {\"id\":1}\n"));
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    recorder.output(Client(file.clone())).write_all(b"{\"id\":1}\n").unwrap();
}

#[test]
fn a_failure_is_one_complaint_and_the_session_goes_on() {
    // The header, and one line.
    let file = Full::after(2);
    let (recorder, complaints) = recorder(&file, OnFailure::GoOn);
    assert_eq!(read_through(&recorder, b"a\nb\nc\n", 2), b"a\nb\nc\n");
    recorder.output(io::sink()).write_all(b"{}\n").unwrap();
    assert_eq!(*complaints.lock().unwrap(), ["the disk is full"]);
    assert!(!recorder.is_complete());
    assert!(file.text().ends_with("\n\n--> a\n"), "{}", file.text());
}

#[test]
fn a_recording_that_is_required_ends_both_streams_and_hands_out_nothing_unrecorded() {
    let file = Full::after(2);
    let (recorder, complaints) = recorder(&file, OnFailure::End);
    let mut input = recorder.input(BufReader::with_capacity(2, Cursor::new(b"a\nb\n".to_vec())));
    let mut line = String::new();
    assert_eq!(input.read_line(&mut line).unwrap(), 2);
    assert!(input.read_line(&mut line).is_err());
    assert_eq!(line, "a\n");
    assert!(recorder.output(io::sink()).write_all(b"{}\n").is_err());
    assert_eq!(complaints.lock().unwrap().len(), 1);
}

#[test]
fn a_short_directory_is_hidden_only_where_it_is_a_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = dunce::canonicalize(directory.path()).unwrap();
    let placeholders = Placeholders::of_recording(&path).unwrap();
    let path = path.to_str().unwrap();
    let check = |text: String, expected: &str| assert_eq!(placeholders.hide_directory(&text), expected);
    check(format!("{path} '{path}/x' \\n{path}:"), "[tmp] '[tmp]/x' \\n[tmp]:");
    check(format!("file://{path}/x"), "file://[tmp]/x");
    for text in [format!("{path}x"), format!("/usr{path}"), format!("{path}-2/x")] {
        check(text.clone(), &text);
    }
    assert_eq!(Placeholders::of_recording(Path::new("/")).unwrap().hide_directory("/a"), "/a");
}

#[test]
#[cfg(unix)]
fn the_header_starts_a_server_like_the_recorded_one_and_holds_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("c.yaml"), "timeout: 7s\nallow: [ls]\nexit_error: true\n").unwrap();
    let root = format!("{}/sub", dunce::canonicalize(directory.path()).unwrap().display());
    fs::create_dir(&root).unwrap();
    let args = ["--record", "s.transcript", "--config", "c.yaml", "--allow", "sh", "--env", "TOKEN=hunter2,HOME"];
    let command = Server::command(&[&args[..], &["--allow", "echo", "--cwd-root", &root]].concat());
    let command = command.dir(directory.path()).env("ALLOWEXEC_GRACE", "50ms").env("PASSWORD", "hunter3");
    let mut server = command.env("ALLOWEXEC_ENV", "OTHER=hunter4").start();
    server.initialize("2025-11-25");
    server.call("execute_command", json!({"command": "sh -c 'cd sub && pwd'"}));
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    let file = directory.path().join("s.transcript");
    let text = fs::read_to_string(&file).unwrap();
    let header = text.split("\n\n").next().unwrap();
    assert_eq!(
        header,
        format!(
            "transcript: 1\nversion: {}\ndirectory: {}\nargs: --timeout 7s --exit-error --allow sh,echo --env TOKEN,HOME --cwd-root [tmp]/sub\n\
             env: ALLOWEXEC_GRACE=50ms ALLOWEXEC_ENV=OTHER\nplatform: unix",
            env!("CARGO_PKG_VERSION"),
            dunce::canonicalize(directory.path()).unwrap().display()
        )
    );
    assert!(!text.contains("hunter"), "{text}");
    assert!(text.contains("[tmp]/sub\\n"), "{text}");
    assert!(text.ends_with("==> eof\n<== exit 0\n"), "{text}");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
#[cfg(unix)]
fn a_session_that_a_signal_ends_is_played_without_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::command(&["--record", "s.transcript"]).dir(directory.path()).start();
    server.initialize("2025-11-25");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    assert_eq!(server.wait_exit(), 0);
    let text = fs::read_to_string(directory.path().join("s.transcript")).unwrap();
    assert!(text.ends_with("\n# The server ended before its input did.\n"), "{text}");
}

#[test]
fn a_file_that_cannot_be_opened_stops_the_start() {
    let mut server = Server::command(&["--record", "missing/s.transcript"]).start();
    assert_eq!(server.wait_exit(), 2);
    let stderr = server.stderr();
    assert!(stderr.contains("can't record to `missing/s.transcript` (`--record` or `ALLOWEXEC_RECORD`)"), "{stderr}");
}

#[test]
#[cfg(unix)]
fn a_server_that_does_not_start_leaves_an_earlier_recording() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.transcript");
    fs::write(&path, "earlier").unwrap();
    // There is no place for the commands' temporary files, or no sandbox.
    let command = Server::command(&["--record", "s.transcript", "--allow", "ls", "--sandbox", "strict"]);
    let mut server = command.dir(directory.path()).env("TMPDIR", "/missing").start();
    assert_eq!(server.wait_exit(), 2);
    assert_eq!(fs::read_to_string(path).unwrap(), "earlier");
}

#[test]
fn a_call_records_nothing_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.args(["call", "execute_process", r#"{"file":"none"}"#, "--record", "s.transcript", "--log", "off"]);
    let output = command.current_dir(directory.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "allowexec: `call` records nothing; `--record` (`ALLOWEXEC_RECORD`) is for `allowexec serve`\n");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_second_session_never_takes_the_file_of_the_first_one_unless_it_is_forced_to() {
    let directory = tempfile::tempdir().unwrap();
    let start =
        |more: &[&str]| Server::command(&[&["--record", "s.transcript"], more].concat()).dir(directory.path()).start();
    let recorded = || fs::read_to_string(directory.path().join("s.transcript")).unwrap();
    let mut first = start(&[]);
    first.initialize("2025-06-18");
    for more in [&[][..], &["--record-required"]] {
        let mut second = start(more);
        assert_eq!(second.wait_exit(), 2);
        assert!(second.says("it exists already"), "{}", second.stderr());
    }
    first.close_stdin();
    first.wait_exit();
    assert!(recorded().contains("2025-06-18"), "{}", recorded());
    // Of two that are forced to, the last one has it.
    let [mut probe, mut session] = [(); 2].map(|()| start(&["--record-force"]));
    probe.initialize("2025-06-18");
    session.initialize("2025-11-25");
    for server in [&mut probe, &mut session] {
        server.close_stdin();
        server.wait_exit();
    }
    Transcript::parse("s.transcript", recorded()).unwrap();
    // What the others wrote is gone, with whatever name it had to have for a while.
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
#[cfg(windows)]
fn a_file_that_another_program_keeps_for_itself_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.transcript");
    fs::write(&path, "mine").unwrap();
    let mut options = fs::OpenOptions::new();
    let kept = std::os::windows::fs::OpenOptionsExt::share_mode(options.read(true), 0).open(&path).unwrap();
    let mut server = Server::command(&["--record", "s.transcript", "--record-force"]).dir(directory.path()).start();
    assert_eq!(server.wait_exit(), 2);
    let stderr = server.stderr();
    assert!(stderr.contains("can't record to `s.transcript` (`--record` or `ALLOWEXEC_RECORD`)"), "{stderr}");
    drop(kept);
    assert_eq!(fs::read_to_string(path).unwrap(), "mine");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

/// A FIFO that nobody has open.
#[cfg(unix)]
fn fifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
#[cfg(unix)]
fn a_recording_is_written_into_nothing_but_a_file_of_its_own() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let base = dunce::canonicalize(directory.path()).unwrap();
    let (work, outside) = (base.join("work"), base.join("outside"));
    fs::create_dir(&work).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("victim"), "theirs").unwrap();
    symlink(outside.join("victim"), work.join("link")).unwrap();
    symlink(outside.join("new"), work.join("dangling")).unwrap();
    symlink(&outside, work.join("logs")).unwrap();
    fifo(&work.join("fifo"));
    fifo(&work.join("read"));
    // A reader that reads nothing: what fills the FIFO would freeze the session.
    let held = fs::OpenOptions::new().read(true).write(true).open(work.join("read")).unwrap();
    let absolute = work.join("logs/new");
    for (name, why) in [
        ("link", "it is a link; expected a regular file"),
        ("dangling", "it is a link; expected a regular file"),
        ("logs/victim", "`logs` is a link, and no link is followed here"),
        (absolute.to_str().unwrap(), "`logs` is a link, and no link is followed here"),
        ("fifo", "it is a FIFO or a pipe; expected a regular file"),
        ("read", "it is a FIFO or a pipe; expected a regular file"),
        ("/dev/zero", "it is a device; expected a regular file"),
        (".", "directory"),
    ] {
        let mut server = Server::command(&["--record", name]).dir(&work).start();
        assert_eq!(server.wait_exit(), 2, "{name}");
        let stderr = server.stderr();
        assert!(stderr.contains("can't record to `") && stderr.contains(why), "{name}: {stderr}");
    }
    drop(held);
    assert_eq!(fs::read_to_string(outside.join("victim")).unwrap(), "theirs");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&work).unwrap().count(), 5);
}

#[test]
#[cfg(unix)]
fn a_configuration_that_is_no_file_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    fifo(&directory.path().join("fifo"));
    std::os::unix::fs::symlink("fifo", directory.path().join("link")).unwrap();
    for name in ["fifo", "link", "/dev/zero"] {
        let mut server = Server::command(&["--config", name]).dir(directory.path()).start();
        assert_eq!(server.wait_exit(), 2, "{name}");
        let stderr = server.stderr();
        let expected = format!("allowexec: error: flag `--config`: file `{name}` can't be read: it is a ");
        assert!(stderr.starts_with(&expected), "{stderr}");
    }
}

#[test]
fn a_recording_that_may_hold_secrets_is_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let policy = dir.path().join("policy.yaml");
    fs::write(&policy, "commands:\n  echo: {options: {\"--token\": {text: {}, secret: true}}}\n").unwrap();
    let policy = policy.to_str().unwrap();
    let record = ["--record", "%p.transcript"];
    for (flags, is_warned) in [
        (&["--policy", policy][..], true),
        (&["--allow", "echo", "--env", "TOKEN=planted"], true),
        (&["--allow", "echo"], false),
        (&["--profile", "search"], false),
    ] {
        let mut server = Server::command(&[flags, &record].concat()).dir(dir.path()).start();
        server.initialize("2025-11-25");
        server.request("tools/list", serde_json::json!({}));
        server.close_stdin();
        assert_eq!(server.wait_exit(), 0);
        let said = server.stderr();
        let warned = said.contains("warn: the recording (`--record`) holds") && said.contains("`secret: true`");
        assert_eq!(warned, is_warned, "{flags:?}: {said}");
    }
}
