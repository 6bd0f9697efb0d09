//! The programs of the guide that ask a person, each with a stand-in for what shows the dialog.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::server::spawning;

const GUIDE: &str = include_str!("../../spec/guide/approval.md");
/// What a script must not let a command do: end its quotes, start another one, or become markup.
const TEXT: &str =
    "Run this command?\ncommand: \"rm\" \"a\\\"b\" \"$(touch pwned)\" \"`touch pwned`\" \"'; touch pwned\" \"<b>&\\n\"";

/// The script of this name, without the line that names it.
fn script(name: &str) -> &'static str {
    let (_, rest) = GUIDE.split_once(&format!("# file: {name}\n")).unwrap_or_else(|| panic!("the guide has {name}"));
    rest.split("```").next().unwrap()
}

fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a script with a stand-in that keeps its arguments and standard input and does what stands in `$SAYS`, for each
/// answer; gives what the stand-in was told the last time.
fn check(name: &str, program: &str, answers: &[(&str, i32)]) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    fs::create_dir_all(dir.path().join("home/.config/allowexec")).unwrap();
    fs::create_dir(&bin).unwrap();
    fs::write(dir.path().join("home/.config/allowexec/webhook-url"), "https://chat.example/ask\n").unwrap();
    let told = |what: &str| fs::read_to_string(dir.path().join(what)).unwrap();
    for (says, status) in answers {
        let mut child = {
            let _quiet = spawning();
            let stand_in =
                "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$TOLD/arguments\"\ncat > \"$TOLD/input\"\neval \"$SAYS\"\n";
            executable(&bin.join(program), stand_in);
            executable(&dir.path().join(name), script(name));
            Command::new(dir.path().join(name))
                .current_dir(dir.path())
                .env_clear()
                .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
                .env("HOME", dir.path().join("home"))
                .env("TMPDIR", dir.path())
                .env("TOLD", dir.path())
                .env("SAYS", says)
                .env("ALLOWEXEC_ASK_TEXT", TEXT)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        // A script that reads no JSON closes it unread, as it may.
        child.stdin.take().unwrap().write_all(b"{\"argv\":[\"rm\"]}").ok();
        assert_eq!(child.wait().unwrap().code(), Some(*status), "{name}: {says}");
        assert!(!dir.path().join("pwned").exists(), "{name}: {says}");
    }
    let is_known = |entry: &String| ["arguments", "bin", "home", "input", name].contains(&entry.as_str());
    let entries = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(entries.filter(|entry| !is_known(entry)).collect::<Vec<_>>(), [""; 0], "{name} leaves nothing behind");
    (told("arguments"), told("input"))
}

#[test]
fn zenity_asks() {
    let (arguments, _) = check(
        "ask-zenity",
        "zenity",
        &[("exit 0", 0), ("echo Run for the session; exit 1", 10), ("exit 1", 1), ("exit 5", 5)],
    );
    assert!(arguments.contains(&format!("--text={}", TEXT.replace('\\', "\\\\"))), "{arguments}");
    assert!(arguments.contains("--no-markup\n"), "{arguments}");
}

#[test]
fn kdialog_asks() {
    let (arguments, _) =
        check("ask-kdialog", "kdialog", &[("exit 0", 0), ("exit 1", 10), ("exit 2", 1), ("exit 127", 1)]);
    let shown = TEXT.replace('\\', "\\\\").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    assert!(arguments.contains(&format!("<qt><pre>{shown}</pre></qt>")), "{arguments}");
}

#[test]
fn osascript_asks() {
    let answers = [
        ("echo Run once", 0),
        ("echo Run for the session", 10),
        ("echo Refuse", 1),
        ("exit 1", 1),
        ("echo Run once; exit 1", 1),
        ("true", 1),
    ];
    let (arguments, input) = check("ask-osascript", "osascript", &answers);
    assert_eq!(arguments, format!("-\n{TEXT}\n"));
    assert!(input.starts_with("on run arguments\n") && !input.contains("rm"), "{input}");
}

#[test]
fn tmux_asks() {
    // The popup's command is its last argument; what is typed there comes from the stand-in, which keeps what is shown.
    let type_in =
        |typed: &str| format!("for last; do :; done; echo '{typed}' | sh -c \"$last\" >> \"$TOLD/arguments\"");
    let typed = ["s", "n", "", "yes", "y"].map(type_in);
    let answers = typed.iter().map(String::as_str).zip([10, 1, 1, 1, 0]);
    let answers: Vec<(&str, i32)> = [("exit 1", 1)].into_iter().chain(answers).collect();
    let (arguments, _) = check("ask-tmux", "tmux", &answers);
    assert!(arguments.starts_with("display-popup\n") && arguments.contains(TEXT), "{arguments}");
}

#[test]
fn a_webhook_asks() {
    let (arguments, input) = check(
        "ask-webhook",
        "curl",
        &[
            ("echo session", 10),
            ("echo no", 1),
            ("true", 1),
            ("echo once; exit 22", 1),
            ("exit 28", 1),
            ("echo once", 0),
        ],
    );
    assert_eq!(input, "{\"argv\":[\"rm\"]}");
    assert!(
        arguments.ends_with("--data-binary\n@-\nhttps://chat.example/ask\n") && arguments.contains("--fail\n"),
        "{arguments}"
    );
}

#[test]
fn the_script_for_windows_takes_the_text_from_the_variable_and_answers_by_its_status() {
    let script = script("ask.ps1");
    // There is no PowerShell with forms here to run it: what counts is that no text becomes a part of it.
    assert!(
        script.contains("Show($env:ALLOWEXEC_ASK_TEXT, ") && script.contains("{ exit 0 } else { exit 1 }"),
        "{script}"
    );
    assert_eq!(script.matches("ALLOWEXEC_ASK_TEXT").count(), 1);
}
