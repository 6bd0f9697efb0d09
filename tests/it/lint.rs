//! `allowexec lint`: clean sessions have no findings, broken ones have theirs, and the official schemas are understood.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Exit status, standard output and standard error, in the project's directory.
fn lint(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    let output = command.arg("lint").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn sessions_of_the_official_clients_are_clean_and_malformed_ones_are_not() {
    let files = ["python_legacy", "python_modern", "typescript_legacy", "typescript_modern"]
        .map(|name| format!("fixtures/recordings/{name}.transcript"));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let (status, output, errors) = lint(&files);
    assert_eq!((status, output.as_str()), (0, "0 findings in 4 files\n"));
    assert!(errors.contains("messages are not checked against a schema"), "{errors}");
    let (status, output, _) = lint(&["fixtures/recordings/malformed_lines.transcript"]);
    assert_eq!(status, 1);
    for found in [
        "10: client: framing: ",
        "12: client: framing: the line is not UTF-8",
        "18: client: framing: the line is blank",
    ] {
        assert!(output.contains(&format!("malformed_lines.transcript:{found}")), "{output}");
    }
    assert!(!output.contains("server: schema"), "{output}");
}

#[test]
fn a_message_is_checked_against_the_schema_of_its_revision() {
    let Some(schemas) = std::env::var_os("MCP_SCHEMA_DIR") else {
        eprintln!("MCP_SCHEMA_DIR is not set, so nothing is shown of the official schemas");
        return;
    };
    let schemas = schemas.to_str().unwrap();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("s.transcript");
    let file = file.to_str().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut changed = 0;
    for name in ["python_legacy", "python_modern", "typescript_legacy", "typescript_modern"] {
        let text = fs::read_to_string(root.join(format!("fixtures/recordings/{name}.transcript"))).unwrap();
        fs::write(file, &text).unwrap();
        let (status, output, errors) = lint(&[file, "--schema", schemas]);
        assert_eq!((status, output.as_str(), errors.as_str()), (0, "0 findings in 1 file\n", ""), "{name}");
        // Each is one mistake of a server.
        for (right, wrong, found) in [
            ("\"content\":[", "\"contents\":[", "`content` is missing"),
            ("\"type\":\"text\"", "\"type\":\"txt\"", "/content/0"),
            ("\"inputSchema\":{", "\"inputScheme\":{", "`inputSchema` is missing"),
        ] {
            let wrong = text.replacen(right, wrong, 1);
            if wrong == text {
                continue;
            }
            changed += 1;
            fs::write(file, wrong).unwrap();
            let (status, output, _) = lint(&[file, "--schema", schemas]);
            assert_eq!(status, 1, "{name}: {found}");
            assert!(
                output.contains(": server: schema: the answer to `tools/") && output.contains(found),
                "{name}: {output}"
            );
        }
    }
    assert!(changed >= 8, "{changed}");
    let (status, _, errors) = lint(&[file, "--schema", place.path().to_str().unwrap()]);
    assert_eq!(status, 2);
    assert!(errors.contains("expected `REVISION/schema.json` in it"), "{errors}");
}

#[test]
fn tasks_are_checked_against_the_schema_of_their_extension() {
    let Some(schemas) =
        std::env::var_os("MCP_SCHEMA_DIR").filter(|schemas| Path::new(schemas).join("ext-tasks").is_dir())
    else {
        eprintln!("MCP_SCHEMA_DIR names no schema of the extension, so nothing is shown of it");
        return;
    };
    let schemas = schemas.to_str().unwrap();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("s.transcript");
    let file = file.to_str().unwrap();
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recordings/task_modern.transcript"));
    let text = text.unwrap();
    for (right, wrong, found) in [
        ("", "", "0 findings"),
        (
            "\"pollIntervalMs\":500",
            "\"pollIntervalMs\":\"500\"",
            "server: schema: the answer to `tools/call` at `/pollIntervalMs`",
        ),
        (
            "\"status\":\"completed\"",
            "\"status\":\"done\"",
            "server: schema: `notifications/tasks` at `/params/status`",
        ),
        (
            "\"method\":\"tasks/get\",\"params\":{\"taskId\"",
            "\"method\":\"tasks/get\",\"params\":{\"task\"",
            "client: schema: `tasks/get` at `/params`",
        ),
    ] {
        fs::write(file, text.replace(right, wrong)).unwrap();
        let (status, output, _) = lint(&[file, "--schema", schemas]);
        assert_eq!((status, output.contains(found)), (i32::from(wrong != right), true), "{found}: {output}");
    }
}

#[test]
fn a_last_line_without_its_end_is_found() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("s.transcript");
    fs::write(
        &file,
        "transcript: 1\n\n==> eof\n<-- {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n<== no line feed\n<== exit 0\n",
    )
    .unwrap();
    let (status, output, _) = lint(&[file.to_str().unwrap()]);
    assert_eq!(status, 1);
    assert!(output.contains("s.transcript:5: server: framing: its last line does not end with LF\n"), "{output}");
}

#[test]
fn a_broken_transcript_is_2_and_findings_are_json() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("a.transcript"), "transcript: 1\n\n<--! a log\n").unwrap();
    fs::write(place.path().join("b.transcript"), "no transcript\n").unwrap();
    let directory = place.path().to_str().unwrap();
    let (status, output, _) = lint(&[directory]);
    assert_eq!(status, 2);
    assert!(output.ends_with("1 finding in 2 files, 1 broken\n"), "{output}");
    let (_, json, _) = lint(&[directory, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json[0]["findings"][0]["rule"], &json[0]["findings"][0]["line"]), (&"framing".into(), &3.into()));
    assert!(json[1]["error"].as_str().unwrap().contains("expected `transcript: 1`"), "{json}");
}
