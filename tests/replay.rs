//! `allowexec replay`: recordings play without a difference, differences are shown, and the format's conformance set.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy's exception for test functions leaves out"
)]
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

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
    assert_eq!(
        replay(&["--update", &file]),
        (0, format!("{file}: updated\n0 the same, 1 updated of 1\n"), String::new())
    );
    let updated = fs::read_to_string(&file).unwrap();
    assert!(updated.starts_with(SESSION.split("--> ").next().unwrap()), "{updated}");
    assert!(updated.contains("\n<-- {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"), "{updated}");
    assert!(updated.contains("\n<-- {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601"), "{updated}");
    assert_eq!(replay(&["--update", &file]), (0, "1 the same of 1\n".to_owned(), String::new()));
    assert_eq!(fs::read_to_string(&file).unwrap(), updated);
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
    assert_eq!(errors, format!("allowexec: error: {why}"));
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
            match byte {
                b'\n' => say.send(std::mem::take(&mut line)).unwrap(),
                byte => line.push(byte),
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
        let error = Transcript::parse("f", fs::read(&file).unwrap()).unwrap_err();
        let line = fs::read_to_string(file.with_extension("line")).unwrap();
        assert_eq!(error.line.to_string(), line.trim(), "{}: {error}", file.display());
    }
    for file in fixtures("conformance/echo", "transcript") {
        let transcript = Transcript::parse("f", fs::read(&file).unwrap()).unwrap();
        let played = Player::default().deadline(Duration::from_millis(200)).play(&transcript, echo());
        let expected = fs::read_to_string(file.with_extension("played")).unwrap();
        assert_eq!(played.to_string(), expected, "{}", file.display());
    }
}
