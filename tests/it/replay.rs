//! `allowexec replay`: recordings play without a difference, differences are shown, and the format's conformance set.

#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use allowexec::transcript::{Peer, Player, Transcript};

/// Exit status, standard output and standard error of `allowexec replay`, in the project's directory.
fn replay(arguments: &[impl AsRef<OsStr>]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    let output = command.arg("replay").args(arguments).current_dir(root()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder of `fixtures/` with this ending, by name.
fn fixtures(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("fixtures").join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == ending));
    files.sort();
    assert!(!files.is_empty(), "{folder} holds no .{ending}");
    files
}

#[test]
fn recorded_sessions_of_the_official_clients_play_without_a_difference_twice() {
    let files = fixtures("recordings", "transcript");
    for needed in ["python_legacy", "python_modern", "typescript_legacy", "typescript_modern"] {
        assert!(files.iter().any(|file| file.ends_with(format!("{needed}.transcript"))), "{needed} is missing");
    }
    let first = replay(&files);
    assert_eq!(first, (0, format!("{0} the same of {0}\n", files.len()), String::new()));
    assert_eq!(replay(&files), first);
}

const SESSION: &str = r#"transcript: 1
args: --allow echo
setup: file x.txt "x"

# A comment stays.
--> {"jsonrpc":"2.0","id":1,"method":"ping"}
<-- {"result":{},"id":1, "jsonrpc":"2.0"}
--> {"jsonrpc":"2.0","id":2,"method":"nothing","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
<-- {"id":2}
==> eof
<== exit 0
"#;

/// A session in both eras, of which the modern one differs, and the legacy one if the answer to `ping` is another one.
const BOTH: &str = r#"transcript: 1
args: --allow echo
era: both

--> {"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<-- {"id":"i"}
--> {"jsonrpc":"2.0","method":"notifications/initialized"}
legacy --> {"jsonrpc":"2.0","id":1,"method":"ping"}
legacy <-- {"jsonrpc":"2.0","id":1,"result":{}}
--> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_command","arguments":{"command":"echo hi"}}}
<-- {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"exit_code: 0\nstdout: |\n  hi\nstderr: ''\n"}],"isError":false}}
==> eof
<== exit 0
"#;

#[test]
fn a_transcript_of_both_eras_plays_twice_and_a_difference_names_its_era() {
    let (_directory, file) = file_with(BOTH);
    let (status, output, _) = replay(&[&file]);
    assert_eq!(status, 1, "{output}");
    assert!(
        output.starts_with(&format!("{file}:11: different\n--- {file} (modern)\n+++ played\n@@ -8,6 +8,6 @@\n")),
        "{output}"
    );
    assert!(output.contains("resultType") && output.ends_with("\n0 the same, 1 different of 1\n"), "{output}");
    let (_directory, file) = file_with(&BOTH.replace(r#""id":1,"result":{}"#, r#""id":1,"result":{"a":1}"#));
    let (_, output, _) = replay(&[&file]);
    assert!(output.starts_with(&format!("{file}:9: different\n--- {file} (legacy)\n")), "{output}");
    assert!(output.contains(&format!("\n--- {file} (modern)\n")), "{output}");
    let answer = BOTH.lines().nth(10).unwrap();
    let same = BOTH.replace(answer, "<-- {\"id\":2}");
    let (_directory, file) = file_with(&same);
    assert_eq!(replay(&[&file]), (0, "1 the same of 1\n".to_owned(), String::new()));
    let (_directory, other) = file_with(SESSION);
    assert_eq!(replay(&[&file, &other]), (0, "2 the same of 2\n".to_owned(), String::new()));
}

#[test]
fn a_transcript_of_both_eras_is_not_rewritten() {
    let (_directory, file) = file_with(BOTH);
    for arguments in [&["--update", file.as_str()][..], &["--update", "--dry-run", &file]] {
        let (status, output, _) = replay(arguments);
        let why = format!("{file}: expected a transcript of one session to rewrite, found `era: both`: ");
        assert!(status == 2 && output.starts_with(&why), "{output}");
    }
    let mut review = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    let output = review.args(["review", "--accept", &file]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && text.contains("This can't be accepted: "), "{text}");
    assert_eq!(fs::read_to_string(&file).unwrap(), BOTH);
}

#[test]
fn a_transcript_of_both_eras_is_checked_in_both_and_answers_no_client() {
    // A ping is unknown in the modern era.
    let text = BOTH
        .replace("legacy -->", "-->")
        .replace("legacy <-- {\"jsonrpc\":\"2.0\",\"id\":1,", "<-- {\"jsonrpc\":\"2.0\",\"id\":7,");
    let (_directory, file) = file_with(&text);
    let run = |command: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_allowexec")).args([command, &file]).stdin(Stdio::null()).output();
        let output = output.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let (status, output, _) = run("lint");
    assert_eq!(status, 1, "{output}");
    for era in ["legacy", "modern"] {
        assert!(
            output.lines().any(|line| line.starts_with(&format!("{file}:9: server: id: "))
                && line.ends_with(&format!(" (in the {era} session)"))),
            "{output}"
        );
    }
    let why = format!("{file}:3: expected a transcript of one session, found `era: both`; ");
    let (status, _, errors) = run("mock");
    assert!(status == 2 && errors.contains(&why), "{errors}");
}

/// The scenarios, area by area.
fn scenarios() -> Vec<PathBuf> {
    let areas = fs::read_dir(root().join("fixtures/transcripts")).unwrap();
    let mut areas: Vec<PathBuf> = areas.map(|area| area.unwrap().path()).filter(|path| path.is_dir()).collect();
    areas.sort();
    areas
        .iter()
        .flat_map(|area| {
            fixtures(&format!("transcripts/{}", area.file_name().unwrap().to_string_lossy()), "transcript")
        })
        .collect()
}

#[test]
fn the_whole_fixture_set_plays_twice_to_the_same_bytes() {
    let files = scenarios();
    assert!(files.len() > 150, "{files:?}");
    // Both at once, so that the test takes the time of one.
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(|| replay(&files));
        (replay(&files), second.join().unwrap())
    });
    assert_eq!(first.0, 0, "{}", first.1);
    assert_eq!(first, second);
}

fn file_with(text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("s.transcript");
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap().to_owned();
    (directory, file)
}

#[test]
fn messages_are_compared_as_json_and_a_bare_wait_is_content_with_any() {
    let (_directory, file) = file_with(SESSION);
    assert_eq!(replay(&[&file]), (0, "1 the same of 1\n".to_owned(), String::new()));
}

#[test]
fn a_difference_is_a_unified_diff_with_file_and_line() {
    let (_directory, file) = file_with(&SESSION.replace(r#""result":{}"#, r#""result":{"a":1}"#));
    let (status, output, _) = replay(&[&file]);
    let expected = format!(
        r#"{file}:7: different
--- {file}
+++ played
@@ -5,6 +5,6 @@
 # A comment stays.
 --> {{"jsonrpc":"2.0","id":1,"method":"ping"}}
-<-- {{"result":{{"a":1}},"id":1, "jsonrpc":"2.0"}}
+<-- {{"jsonrpc":"2.0","id":1,"result":{{}}}}
"#
    );
    let start: String = output.lines().take(8).map(|line| format!("{line}\n")).collect();
    assert_eq!((status, start), (1, expected));
    assert!(output.ends_with("\n0 the same, 1 different of 1\n"), "{output}");
    let (status, json, _) = replay(&[file.as_str(), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, &json["files"][0]["line"], &json["different"]), (1, &7.into(), &1.into()));
}

#[test]
fn update_writes_what_happened_and_keeps_header_and_comments() {
    let (_directory, file) = file_with(SESSION);
    let (status, shown, _) = replay(&["--update", "--dry-run", &file]);
    assert_eq!((status, fs::read_to_string(&file).unwrap().as_str()), (0, SESSION));
    assert!(shown.starts_with(&format!("{file}: would be updated\n--- {file}\n+++ played\n@@ -")), "{shown}");
    // A wait that is filled in is shown, although nothing differs.
    assert!(shown.contains("\n-<-- {\"id\":2}\n+<-- {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{"), "{shown}");
    assert!(shown.ends_with("\n0 the same, 1 would be updated of 1\n"), "{shown}");
    let (status, done, _) = replay(&["--update", &file]);
    assert_eq!((status, done), (0, shown.replace("would be updated", "updated")));
    let updated = fs::read_to_string(&file).unwrap();
    assert!(updated.starts_with(SESSION.split("--> ").next().unwrap()), "{updated}");
    assert!(updated.contains("\n<-- {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"), "{updated}");
    assert!(updated.contains("\n<-- {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601"), "{updated}");
    assert_eq!(replay(&["--update", &file]), (0, "1 the same of 1\n".to_owned(), String::new()));
    assert_eq!(fs::read_to_string(&file).unwrap(), updated);
}

/// A recorded session of a client that asked about its task until it had ended.
fn asked_until_it_ended() -> String {
    let path = root().join("fixtures/recordings/task_modern.transcript");
    let text = fs::read_to_string(path).unwrap();
    let id = |line: &&str| {
        let message: serde_json::Value = serde_json::from_str(line.split_once(' ')?.1).ok()?;
        message["id"].as_u64()
    };
    assert!(text.contains("sleep 0.5;"), "{text}");
    // So long that it still works when a busy machine asks.
    let text = text.replace("sleep 0.5;", "sleep 3;");
    // Without the subscription that tells the end of the task.
    let lines = text.lines().filter(|line| id(line) != Some(3) && !line.contains("\"method\":\"notifications/"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_task_that_still_works_is_asked_about_again() {
    let (_directory, file) = file_with(&asked_until_it_ended());
    assert_eq!(replay(&[&file]), (0, "1 the same of 1\n".to_owned(), String::new()));
    // Not where the transcript alone says what may differ.
    let (status, shown, _) = replay(&["--strict", &file]);
    assert!(status == 1 && shown.contains("-\"completed\"\n+\"working\"\n"), "{shown}");
    // What ends otherwise is no reason to ask on.
    let (_directory, file) = file_with(&asked_until_it_ended().replace("echo done", "exit 3"));
    let (status, shown, _) = replay(&[&file]);
    assert!(status == 1 && shown.contains("+exit_code: 3\n"), "{shown}");
}

#[test]
fn a_wait_that_is_not_met_is_never_written() {
    let text = SESSION.replace("==> eof\n", "==> eof\n<-- {\"id\":3}\n");
    let (_directory, file) = file_with(&text);
    let (status, output, _) = replay(&["--update", &file]);
    assert_eq!(status, 1);
    assert!(output.contains("\n+<-- (end of output)\n"), "{output}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_broken_transcript_is_refused_by_file_line_and_what_was_expected_and_the_others_play() {
    let (_good, good) = file_with(SESSION);
    let (_bad, bad) = file_with(&SESSION.replace("==> eof", "==> end"));
    let (status, output, errors) = replay(&[&bad, &good]);
    let why = format!("{bad}:10: expected `==> eof`, found `==> end`\n");
    assert_eq!((status, output), (2, format!("{why}1 the same, 1 broken of 2\n")));
    assert_eq!(errors, "", "each failure is said once");
}

#[test]
fn other_platforms_are_left_out_and_wrong_settings_end_the_server_with_2() {
    let (_elsewhere, elsewhere) = file_with("transcript: 1\nplatform: windows\n\n<== exit 0\n");
    let (_wrong, wrong) = file_with("transcript: 1\nargs: --timeout never\n\n<== exit 2\n");
    let (status, output, _) = replay(&[&elsewhere, &wrong]);
    assert_eq!(
        (status, output),
        (0, format!("{elsewhere}: not for this platform\n1 the same, 1 for other platforms of 2\n"))
    );
}

#[test]
fn a_recording_plays_in_a_directory_of_ones_own() {
    let text = r#"transcript: 1
args: --allow ls

--> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_command","arguments":{"command":"ls"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}
<-- {"id":2}
"#;
    let (directory, file) = file_with(text);
    fs::create_dir(directory.path().join("project")).unwrap();
    fs::write(directory.path().join("project/here.txt"), "").unwrap();
    let project = directory.path().join("project").to_str().unwrap().to_owned();
    assert_eq!(replay(&["--update", "--in", &project, &file]).0, 0);
    assert!(fs::read_to_string(&file).unwrap().contains("here.txt"));
    assert_eq!(replay(&["--in", &project, &file]).0, 0);
    assert_eq!(replay(&[&file]).0, 1);
}

/// A peer that says each line that it hears, and ends with its input and 0.
fn echo() -> Peer {
    let (input, heard) = channel::<Vec<u8>>();
    let (say, output) = channel();
    std::thread::spawn(move || {
        let mut line = Vec::new();
        for byte in heard.into_iter().flatten() {
            line.push(byte);
            if byte == b'\n' {
                say.send(std::mem::take(&mut line)).unwrap();
            }
        }
        if !line.is_empty() {
            say.send(line).unwrap();
        }
    });
    Peer::over_channels(input, output, |_| Some(0))
}

#[test]
fn the_conformance_set_holds() {
    for file in fixtures("conformance/valid", "transcript") {
        let transcript = Transcript::parse("f", fs::read(&file).unwrap()).unwrap();
        let canonical = fs::read_to_string(file.with_extension("canonical")).unwrap();
        assert_eq!(transcript.to_string(), canonical, "{}", file.display());
        assert_eq!(Transcript::parse("f", &canonical).unwrap(), transcript, "{}", file.display());
    }
    for file in fixtures("conformance/invalid", "transcript") {
        let error = Transcript::parse_sessions("f", fs::read(&file).unwrap()).unwrap_err();
        let line = fs::read_to_string(file.with_extension("line")).unwrap();
        assert_eq!(error.line.to_string(), line.trim(), "{}: {error}", file.display());
    }
    for file in fixtures("conformance/eras", "transcript") {
        for (era, session) in Transcript::parse_sessions("f", fs::read(&file).unwrap()).unwrap() {
            let expected = fs::read_to_string(file.with_extension(era.unwrap().to_string())).unwrap();
            assert_eq!(session.to_string(), expected, "{}", file.display());
            assert_eq!(Transcript::parse("f", &expected).unwrap(), session, "{}", file.display());
        }
    }
    for file in fixtures("conformance/echo", "transcript") {
        let transcript = Transcript::parse("f", fs::read(&file).unwrap()).unwrap();
        let played = Player::default().deadline(Duration::from_millis(200)).play(&transcript, echo());
        let expected = fs::read_to_string(file.with_extension("played")).unwrap();
        assert_eq!(played.to_string(), expected, "{}", file.display());
    }
}

/// A call of `sh -c SCRIPT` with a bare wait for its answer, which `--update` fills in.
fn calls(header: &str, scripts: &[&str]) -> String {
    let mut text = format!("transcript: 1\n{header}\n\n");
    for (id, script) in scripts.iter().enumerate() {
        let call = serde_json::json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "execute_process", "arguments": {"file": "sh", "args": ["-c", script]},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}},
        }});
        text.push_str(&format!("--> {call}\n<-- {{\"id\":{id}}}\n"));
    }
    text + "==> eof\n"
}

/// As [`replay`], with variables, and killed after a while: what hangs fails.
fn replay_with(arguments: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.arg("replay").args(arguments).envs(variables.iter().copied()).current_dir(root());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("{arguments:?}: still running");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn setup_writes_nothing_outside_through_a_link_of_its_own() {
    let victim = tempfile::tempdir().unwrap();
    fs::write(victim.path().join("file"), "theirs").unwrap();
    let out = victim.path().to_str().unwrap();
    for lines in [
        format!("setup: link out {out}\nsetup: file out/new x"),
        format!("setup: link out {out}\nsetup: script out/deep/new x"),
        format!("setup: link out {out}\nsetup: dir out/new"),
        format!("setup: link out {out}\nsetup: link out/new /"),
        format!("setup: link out {out}\nsetup: link again out\nsetup: file again/new x"),
        format!("setup: link a/out {out}\nsetup: file a/out/new x"),
        format!("setup: link new {out}/new\nsetup: file new x"),
        format!("setup: link new {out}/new\nsetup: dir new"),
        "setup: link out [tmp]/..\nsetup: file out/allowexec-escaped x".to_owned(),
    ] {
        let (_directory, file) = file_with(&format!("transcript: 1\n{lines}\n\n==> eof\n<== exit 0\n"));
        let (status, output, _) = replay_with(&[&file], &[("TMPDIR", out)]);
        assert_eq!(status, 2, "{lines}: {output}");
        assert!(output.contains(": setup: "), "{lines}: {output}");
        let names: Vec<_> = fs::read_dir(victim.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["file"], "{lines}");
    }
    assert_eq!(fs::read_to_string(victim.path().join("file")).unwrap(), "theirs");
    // To make a link that leads outside is no harm, and scenarios need it.
    let (_directory, file) = file_with(&calls(&format!("args: --allow sh\nsetup: link out {out}"), &["cat out/file"]));
    assert_eq!(replay_with(&["--update", &file], &[]).0, 0);
    assert!(fs::read_to_string(&file).unwrap().contains("theirs"));
}

#[test]
fn a_transcript_gets_no_variable_of_the_players_that_is_not_passed() {
    let script = "echo \"<$TOKEN> <$OWN> <$HOME>\"";
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("c.yaml"), "env: [TOKEN]\n").unwrap();
    for header in [
        "args: --allow sh --env TOKEN --env OWN=mine",
        "args: --allow sh --inherit-env\nenv: OWN=mine",
        "args: --allow sh\nenv: ALLOWEXEC_ENV=TOKEN,OWN=mine",
        "args: --allow sh --config c.yaml --env TOKEN,OWN=mine\nsetup: file c.yaml \"env: [TOKEN]\\n\"",
    ] {
        let played = |options: &[&str]| {
            let (_directory, file) = file_with(&calls(header, &[script]));
            let arguments = [&["--update", file.as_str()], options].concat();
            let (status, output, _) = replay_with(&arguments, &[("TOKEN", "hunter2"), ("HOME", "/players/home")]);
            assert_eq!(status, 0, "{header}: {output}");
            fs::read_to_string(&file).unwrap()
        };
        let alone = played(&[]);
        assert!(alone.contains("<> <mine> <[tmp]>"), "{header}: {alone}");
        let passed = played(&["--pass-env", "TOKEN", "--pass-env=MISSING, HOME"]);
        assert!(passed.contains("<hunter2> <mine> </players/home>"), "{header}: {passed}");
    }
}

#[test]
fn a_transcript_names_no_file_of_the_players() {
    let place = tempfile::tempdir().unwrap();
    let base = dunce::canonicalize(place.path()).unwrap();
    fs::write(base.join("c.yaml"), "allow: [sh]\nenv: ['TOKEN=hunter2']\n").unwrap();
    assert!(Command::new("mkfifo").arg(base.join("fifo")).status().unwrap().success());
    let [config, fifo] = ["c.yaml", "fifo"].map(|name| base.join(name).display().to_string());
    for header in [
        format!("args: --config {config}"),
        format!("env: ALLOWEXEC_CONFIG={config}"),
        format!("args: --config link.yaml\nsetup: link link.yaml {config}"),
        format!("args: --config sub/c.yaml\nsetup: link sub {}", base.display()),
        format!("args: --config {fifo}"),
        format!("args: --config fifo\nsetup: link fifo {fifo}"),
        "args: --config /dev/zero".to_owned(),
        "args: --allow ls --lock /dev/zero".to_owned(),
        format!("args: --allow ls --lock {config}"),
        format!("args: --allow ls --lock link.lock\nsetup: link link.lock {config}"),
        format!("args: --policy {config}"),
    ] {
        let (_directory, file) = file_with(&format!("transcript: 1\n{header}\n\n<== exit 2\n"));
        assert_eq!(replay_with(&[&file], &[]), (0, "1 the same of 1\n".to_owned(), String::new()), "{header}");
    }
    // Nothing of such a file is shown, and the message says what to do.
    let place_it = "a file that a transcript names must be in the directory that it plays in, and no link may lead to it: copy \
                    it there and change its name in the header, or play in a directory that contains it (`--in DIR`)\n";
    for (header, why, advice) in [
        (format!("args: --policy {config}"), "it is outside the directory that it must be in", place_it),
        (format!("args: --allow ls --lock {config}"), "it is outside the directory that it must be in", place_it),
        ("args: --config gone.yaml".to_owned(), "No such file", place_it),
        (
            "directory: /home/me\nargs: --policy gone.yaml".to_owned(),
            "No such file",
            "recorded in /home/me; try `--in /home/me`\n",
        ),
        (format!("directory: /home/me\nargs: --policy {config}"), "outside", place_it),
    ] {
        let (_directory, file) = file_with(&format!("transcript: 1\n{header}\n\n==> eof\n<== exit 0\n"));
        let (status, output, _) = replay_with(&[&file], &[]);
        assert!(status == 1 && output.contains(why) && output.contains(advice), "{header}: {output}");
        assert!(!output.contains("hunter2"), "{output}");
    }
    // A file that is in a directory of the player's is read there, also if it is named as a whole.
    let (_directory, file) = file_with(&format!("transcript: 1\nargs: --config {config}\n\n==> eof\n<== exit 0\n"));
    let output = replay_with(&["--in", base.to_str().unwrap(), &file], &[]);
    assert_eq!(output.0, 0, "{output:?}");
    // `--record` writes no file in a replay.
    let record = base.join("recorded");
    let text = format!("transcript: 1\nargs: --allow ls --record {}\n\n==> eof\n<== exit 0\n", record.display());
    let (_directory, file) = file_with(&text);
    assert_eq!(replay_with(&[&file], &[]).0, 0);
    assert!(!record.exists());
}

#[test]
fn a_transcript_is_a_regular_file_of_bounded_size() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
    fs::File::create(path("huge")).unwrap().set_len(1 << 40).unwrap();
    for (file, why) in [
        (path("fifo"), "it is a FIFO or a pipe; expected a regular file"),
        ("/dev/zero".to_owned(), "it is a device; expected a regular file"),
        (path("huge"), "it is larger than 64 MiB, the most that is read"),
    ] {
        let (status, output, _) = replay_with(&[&file], &[]);
        assert_eq!((status, output), (2, format!("{file}: {why}\n0 the same, 1 broken of 1\n")));
    }
    let deep = format!("transcript: 1\n\n<-- {}\n", "[".repeat(1_000_000));
    let (_directory, file) = file_with(&deep);
    let (status, output, _) = replay_with(&[&file], &[]);
    assert_eq!(status, 2);
    assert!(output.len() < 3000, "{}", output.len());
}

#[test]
fn nothing_of_a_transcript_writes_to_the_terminal() {
    let unseen = "\u{200f}\u{2028}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{feff}";
    let bad = format!("\u{1b}[2J\u{7f}\u{9b}31m{unseen}\r");
    let is_clean = |text: &str| !text.contains(|c: char| c != '\n' && (c.is_control() || unseen.contains(c)));
    let place = tempfile::tempdir().unwrap();
    for (at, text) in [
        format!("transcript: {bad}1\n"),
        format!("{bad}\n"),
        format!("transcript: 1\nk{bad}: x\n"),
        format!("transcript: 1\nk{bad}\n"),
        format!("transcript: 1\nscenario: a{bad}b\n"),
        format!("transcript: 1\nversion: a{bad}b\n"),
        format!("transcript: 1\ndirectory: a{bad}b\nserver: none\n"),
        format!("transcript: 1\nmatch: /a {bad}b\n"),
        format!("transcript: 1\nserver: 'none{unseen}'\n\n==> eof\n"),
        format!("transcript: 1\nargs: '--{unseen}'\n\n==> eof\n<== exit 0\n"),
        format!("transcript: 1\nargs: --policy '{unseen}'\n\n==> eof\n<== exit 0\n"),
        format!("transcript: 1\nargs: --allow ls --lock '{unseen}'\n\n==> eof\n<== exit 0\n"),
        format!("transcript: 1\nargs: --timeout '{unseen}'\n\n==> eof\n<== exit 0\n"),
        format!("transcript: 1\nargs: '{bad}\n"),
        format!("transcript: 1\nenv: {bad}\n"),
        format!("transcript: 1\nplatform: {bad}\n"),
        format!("transcript: 1\nsetup: {bad}\n"),
        format!("transcript: 1\nsetup: file ../{bad} x\n"),
        format!("transcript: 1\nsetup: file {bad}x x\nsetup: file {bad}x x\n"),
        format!("transcript: 1\n\n{bad}\n"),
        format!("transcript: 1\n\n-->x {bad}\n"),
        format!("transcript: 1\n\n<-- {bad}\n"),
        format!("transcript: 1\n\n<-- {{\"a{bad}\":1}}\n"),
        format!("transcript: 1\n\n<-- ({bad}\n"),
        format!("transcript: 1\n\n==> {bad}\n"),
        format!("transcript: 1\n\n<== {bad}\n"),
        // A difference shows the lines around it too, and what the server said.
        format!("transcript: 1\nargs: --allow sh\n\n# {bad}\n--> {bad}\n<-- {{\"jsonrpc\":\"2.0\",\"error\":\"\u{9b}\u{202e}\"}}\n==> eof\n"),
    ]
    .iter()
    .enumerate()
    {
        let file = place.path().join(format!("{at}\u{1b}[2J.transcript")).to_str().unwrap().to_owned();
        fs::write(&file, text).unwrap();
        for arguments in [&[file.as_str()][..], &[file.as_str(), "--json"], &[file.as_str(), "--tap"]] {
            let (status, output, errors) = replay_with(arguments, &[]);
            assert_ne!(status, 0, "{text:?}");
            assert!(is_clean(&output) && is_clean(&errors), "{text:?}: {output:?} {errors:?}");
            assert!(errors.lines().count() <= 1, "{text:?}: {errors:?}");
        }
    }
}

#[test]
fn update_writes_nothing_through_a_link_that_a_command_put_there() {
    let place = tempfile::tempdir().unwrap();
    let victim = place.path().join("victim");
    fs::write(&victim, "theirs").unwrap();
    let file = place.path().join("s.transcript").to_str().unwrap().to_owned();
    let script = format!("rm {file} && ln -s {} {file} && echo swapped", victim.display());
    fs::write(&file, calls("args: --allow sh", &[&script])).unwrap();
    let (status, output, _) = replay_with(&["--update", &file], &[]);
    assert_eq!((status, output.contains("can't be updated: it is a link")), (2, true), "{output}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
    // A link that was there from the beginning is none either.
    let (status, output, _) = replay_with(&["--update", &file], &[]);
    assert_eq!((status, output.contains("can't be updated: it is a link")), (2, true), "{output}");
    // The permissions of a file stay.
    use std::os::unix::fs::PermissionsExt;
    fs::remove_file(&file).unwrap();
    fs::write(&file, calls("args: --allow sh", &["echo hello"])).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
    assert_eq!(replay_with(&["--update", &file], &[]).0, 0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o664);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
}

#[test]
fn what_takes_the_place_of_the_directory_is_not_removed_with_it() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().to_str().unwrap();
    fs::create_dir(place.path().join("victim")).unwrap();
    fs::write(place.path().join("victim/file"), "theirs").unwrap();
    // By `[tmp]` and never by `$HOME`: where a server has the player's HOME, that would be what is moved away.
    let script = format!("test -n '[tmp]' && mv '[tmp]' {base}/moved && mv {base}/victim '[tmp]'");
    let (_directory, file) = file_with(&calls("args: --allow sh", &[&script]));
    assert_eq!(replay_with(&[&file], &[("TMPDIR", base)]).0, 0);
    let kept: Vec<_> = fs::read_dir(base).unwrap().map(|entry| entry.unwrap().path().join("file")).collect();
    assert!(kept.iter().any(|file| file.exists()), "{kept:?}");
}
