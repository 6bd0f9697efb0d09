//! Lines in a sandbox: what the kernel does not let commands write, redirections don't write either, and commands that share a sandbox
//! keep limits of their own.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::Server;

/// Runs a line where commands may read a directory, and write only to `out` in it.
fn run(directory: &Path, sandbox: &str, line: &str) -> String {
    let (all, out) = (directory.to_str().unwrap(), directory.join("out"));
    let policy = directory.join("policy.yaml");
    let mut server = Server::start(&[
        "--policy",
        policy.to_str().unwrap(),
        "--lines",
        "files",
        "--cwd",
        all,
        "--sandbox",
        sandbox,
        "--read",
        all,
        "--write",
        out.to_str().unwrap(),
        "--log",
        "off",
    ]);
    server.initialize("2025-11-25");
    let result = server.call("execute_command", json!({"command": line}));
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_redirection_writes_only_what_the_sandbox_lets_its_command_write() {
    let directory = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(directory.path()).unwrap();
    fs::create_dir(here.join("out")).unwrap();
    fs::write(here.join("policy.yaml"), "commands: {echo: any, cat: any}\n").unwrap();
    fs::write(here.join("kept"), "kept\n").unwrap();
    for sandbox in ["workspace", "strict"] {
        let allowed = run(&here, sandbox, "echo a > out/f; echo b >> out/f; cat < out/f");
        assert!(allowed.contains("stdout: |\n  a\n  b\n"), "{sandbox}: {allowed}");
        for line in
            ["echo a > new", "echo a > kept", "echo a >> kept", "(echo a; echo b) > new", "echo a 2> new", "> new"]
        {
            let refused = run(&here, sandbox, line);
            assert!(refused.contains("Permission denied"), "{sandbox}, {line}: {refused}");
        }
        assert!(!here.join("new").exists());
        assert_eq!(fs::read_to_string(here.join("kept")).unwrap(), "kept\n");
    }
}

#[test]
fn commands_with_the_sandbox_of_others_keep_their_own_limits() {
    let directory = tempfile::tempdir().unwrap();
    let here = fs::canonicalize(directory.path()).unwrap();
    fs::create_dir(here.join("out")).unwrap();
    let policy = "commands: {echo: any, cat: any, sh: {syntax: operands, \
                  operands: [{one_of: ['-c']}, {one_of: ['ulimit -n']}], limits: {open_files: 33}}}\n";
    fs::write(here.join("policy.yaml"), policy).unwrap();
    let text = run(&here, "workspace", "echo a | cat; sh -c 'ulimit -n'; echo b | cat");
    assert!(text.contains("stdout: |\n  a\n  33\n  b\n"), "{text}");
}
