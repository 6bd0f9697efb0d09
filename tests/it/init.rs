//! `allowexec init`: what it writes is sound for `doctor`, lets a project's own work be done, and is out of reach of commands.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// A project of these files, in a directory of its own.
fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let root = dunce::canonicalize(place.path()).unwrap().join("a project's \"own\"");
    for (name, text) in files {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    (place, root)
}

fn allowexec(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.args(arguments).current_dir(directory).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME"] {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
    command.output().unwrap()
}

fn written(root: &Path) {
    let output = allowexec(root, &["init"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    is_sound(root, "allowexec.yaml");
    is_known_to_editors(root);
}

/// The first line of each file names its schema, relative to the file, and the schema holds.
fn is_known_to_editors(directory: &Path) {
    for file in ["allowexec.yaml", "allowexec-policy.yaml"] {
        let text = fs::read_to_string(directory.join(file)).unwrap();
        let schema =
            text.lines().next().and_then(|line| line.strip_prefix("# yaml-language-server: $schema=")).unwrap();
        let schema: Value = serde_json::from_slice(&fs::read(directory.join(schema)).unwrap()).unwrap();
        let validator = jsonschema::draft7::new(&schema).unwrap();
        assert_eq!(crate::schema::errors(&validator, &text), Vec::<String>::new(), "{text}");
    }
}

fn is_sound(root: &Path, file: &str) {
    let output = allowexec(root, &["doctor", "--json", "--config", file]);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!((&report["warnings"], &report["problems"]), (&json!([]), &json!([])), "{report:#}");
    assert_eq!(output.status.code(), Some(0));
}

/// What `check` says of each command, from another directory than the project's.
fn checks(root: &Path, expected: &[(&str, i32)]) {
    let file = root.join("allowexec.yaml");
    for (command, status) in expected {
        let output = allowexec(Path::new("/"), &["check", "--config", file.to_str().unwrap(), "--", command]);
        assert_eq!(output.status.code(), Some(*status), "{command}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

/// The exit code and the whole result of a call, from another directory than the project's.
fn call(file: &Path, command: &str) -> (Option<i64>, String) {
    let arguments = json!({ "command": command, "timeout_ms": 120_000 }).to_string();
    let config = file.to_str().unwrap();
    let output = allowexec(
        Path::new("/"),
        &["call", "execute_command", &arguments, "--config", config, "--structured", "--json"],
    );
    let result: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (result["structuredContent"]["exit_code"].as_i64(), result.to_string())
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not shown: there is no {program} to run");
    }
    found
}

#[test]
fn a_rust_project_is_built_and_tested_and_not_published() {
    let manifest = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let lock = "version = 3\n\n[[package]]\nname = \"x\"\nversion = \"0.1.0\"\n";
    let source = "#[test]\nfn passes() {}\n#[test]\nfn writes() { assert!(std::fs::write(\"allowexec.yaml\", \"allow: ['*']\").is_err()); \
                  assert!(std::fs::write(\".git/hooks/pre-commit\", \"x\").is_err()); }\n";
    let (_place, root) =
        project(&[("Cargo.toml", manifest), ("Cargo.lock", lock), ("src/lib.rs", source), (".git/hooks/x", "")]);
    written(&root);
    checks(
        &root,
        &[
            ("cargo test", 0),
            ("cargo build --release", 0),
            ("cargo clippy", 0),
            ("git log", 0),
            ("cargo publish", 1),
            ("cargo run", 1),
            ("git push", 1),
        ],
    );
    if has("cargo") {
        let before = fs::read(root.join("allowexec.yaml")).unwrap();
        let (exit, result) = call(&root.join("allowexec.yaml"), "cargo test");
        assert_eq!(exit, Some(0), "{result}");
        assert!(result.contains("2 passed"), "{result}");
        assert_eq!(fs::read(root.join("allowexec.yaml")).unwrap(), before);
        assert!(!root.join(".git/hooks/pre-commit").exists());
    }
}

#[test]
fn a_rust_project_without_a_lock_file_is_told_to_make_one_and_works_with_it() {
    let manifest = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let (_place, root) = project(&[("Cargo.toml", manifest), ("src/lib.rs", "")]);
    let output = allowexec(&root, &["init"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("there is no `Cargo.lock` yet") && said.contains("run `cargo generate-lockfile` once"),
        "{said}"
    );
    is_sound(&root, "allowexec.yaml");
    if has("cargo") {
        let file = root.join("allowexec.yaml");
        let (exit, result) = call(&file, "cargo check");
        assert_ne!(exit, Some(0), "{result}");
        // The path has blanks and quotes in it, of which the hint knows the end.
        assert!(result.contains("add `--write ") && result.contains("/Cargo.lock`"), "{result}");
        let lock = Command::new("cargo").args(["generate-lockfile", "--offline"]).current_dir(&root).output().unwrap();
        assert!(lock.status.success(), "{lock:?}");
        let (exit, result) = call(&file, "cargo check");
        assert_eq!(exit, Some(0), "{result}");
    }
}

#[test]
fn a_node_project_runs_its_scripts_by_their_names() {
    let package =
        r#"{"name": "x", "scripts": {"test": "node -e 'console.log(6*7)'", "lint": "true", "deploy": "false"}}"#;
    let (_place, root) = project(&[("package.json", package)]);
    written(&root);
    checks(
        &root,
        &[
            ("npm test", 0),
            ("npm run lint", 0),
            ("npm run deploy", 1),
            ("npm install", 1),
            ("npm run lint --script-shell=x", 1),
        ],
    );
    if has("npm") {
        let (exit, result) = call(&root.join("allowexec.yaml"), "npm run test");
        assert_eq!(exit, Some(0), "{result}");
        assert!(result.contains("42"), "{result}");
    }
}

#[test]
fn a_makefile_runs_its_targets_and_writes_below_the_project_alone() {
    let makefile =
        ".PHONY: test\ntest:\n\techo made > out/file\nreach:\n\techo x > allowexec.yaml\ninstall:\n\tfalse\n";
    let (_place, root) = project(&[("Makefile", makefile), ("out/keep", "")]);
    written(&root);
    checks(&root, &[("make test", 0), ("make", 0), ("make install", 1), ("make SHELL=x", 1)]);
    if has("make") {
        let file = root.join("allowexec.yaml");
        let (exit, result) = call(&file, "make test");
        assert_eq!(exit, Some(0), "{result}");
        assert_eq!(fs::read_to_string(root.join("out/file")).unwrap(), "made\n");
        let before = fs::read(&file).unwrap();
        let (exit, result) = call(&file, "make reach");
        assert_eq!(exit, Some(2), "{result}");
        assert_eq!(fs::read(&file).unwrap(), before);
        // Where the settings lie elsewhere, the whole project is written.
        let elsewhere = root.parent().unwrap().join("settings");
        let output = allowexec(&root, &["init", "--to", "../settings"]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let file = elsewhere.join("allowexec.yaml");
        is_sound(&root, file.to_str().unwrap());
        assert_eq!(call(&file, "make reach").0, Some(0));
    }
}

#[test]
fn every_known_kind_and_none_get_a_sound_configuration() {
    let kinds: &[&[(&str, &str)]] = &[
        &[("pyproject.toml", "[project]\nname = \"x\"\n"), ("tests/test_x.py", "")],
        &[("go.mod", "module x\n"), ("main.go", "package main\n")],
        &[("README", "x")],
        &[("package.json", "{"), ("Makefile", "\u{85}x: y\n"), ("go.mod", "x"), ("setup.py", "")],
    ];
    for files in kinds {
        let (_place, root) = project(files);
        written(&root);
        checks(&root, &[("ls", 0), ("sh -c x", 1)]);
    }
}

#[test]
fn what_is_there_is_kept_and_no_link_is_followed() {
    let (place, root) = project(&[("Cargo.toml", "[package]\n"), ("allowexec.yaml", "allow: [ls]\n")]);
    let refused = |root: &Path| {
        let output = allowexec(root, &["init"]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        assert!(String::from_utf8_lossy(&output.stderr).contains("already exists, so nothing was written"));
    };
    refused(&root);
    assert_eq!(fs::read_to_string(root.join("allowexec.yaml")).unwrap(), "allow: [ls]\n");
    assert!(!root.join("allowexec-policy.yaml").exists() && !root.join("target").exists());
    assert!(!root.join(".allowexec").exists());
    fs::remove_file(root.join("allowexec.yaml")).unwrap();
    let outside = place.path().join("outside");
    symlink(&outside, root.join("allowexec-policy.yaml")).unwrap();
    refused(&root);
    assert!(!outside.exists() && !root.join("allowexec.yaml").exists());

    // A link among the project's files counts for nothing, and one to a directory is granted to nobody.
    let (_other, root) = project(&[("README", "x")]);
    fs::create_dir(place.path().join("secret")).unwrap();
    symlink(place.path().join("secret"), root.join("linked")).unwrap();
    fs::write(place.path().join("Makefile"), "evil:\n").unwrap();
    symlink(place.path().join("Makefile"), root.join("Makefile")).unwrap();
    written(&root);
    let text = fs::read_to_string(root.join("allowexec.yaml")).unwrap();
    assert!(!text.contains("linked"), "{text}");
    assert!(!fs::read_to_string(root.join("allowexec-policy.yaml")).unwrap().contains("evil"));

    // A schema that is there stays, and the directory for it is not looked for through a link.
    for file in ["allowexec.yaml", "allowexec-policy.yaml"] {
        fs::remove_file(root.join(file)).unwrap();
    }
    fs::write(root.join(".allowexec/policy.schema.json"), "{}").unwrap();
    written(&root);
    assert_eq!(fs::read_to_string(root.join(".allowexec/policy.schema.json")).unwrap(), "{}");
    let (_other, root) = project(&[("README", "x")]);
    symlink(place.path().join("secret"), root.join(".allowexec")).unwrap();
    let output = allowexec(&root, &["init"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(fs::read_dir(place.path().join("secret")).unwrap().count(), 0);
    assert!(!root.join("allowexec.yaml").exists());
}
