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
    // Which programs a machine has is not for the configuration to say.
    let said = |key: &str| -> Vec<Value> {
        let said = report[key].as_array().unwrap().iter();
        said.filter(|said| !said.to_string().contains("found in the directories of PATH")).cloned().collect()
    };
    assert_eq!((said("warnings"), said("problems")), (vec![], vec![]), "{report:#}");
}

/// The only warning is that some calls need a person.
fn is_sound_but_asks(root: &Path) {
    let output = allowexec(root, &["doctor", "--json", "--config", "allowexec.yaml"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let warnings = report["warnings"].as_array().unwrap();
    let is_that = |warning: &Value| warning.to_string().contains("need a person's approval");
    assert!(warnings.iter().all(is_that) && report["problems"] == json!([]), "{report:#}");
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
    // The policy goes on to load where a profile that allows more takes the place of the first.
    let policy = root.join("allowexec-policy.yaml");
    let text = fs::read_to_string(&policy).unwrap();
    fs::write(&policy, text.replace("extends: cargo-check", "extends: rust-develop")).unwrap();
    checks(&root, &[("cargo run", 0), ("cargo test", 0), ("cargo publish", 1)]);
    fs::write(&policy, text).unwrap();
    // What only editors read is nothing to commit.
    assert_eq!(fs::read_to_string(root.join(".allowexec/.gitignore")).unwrap(), "*\n");
    // Whoever does not name the settings is told of them.
    let unnamed = allowexec(&root, &["check", "--", "cargo", "test"]);
    let told = String::from_utf8(unnamed.stderr).unwrap();
    assert!(unnamed.status.code() == Some(1) && told.contains("`--config allowexec.yaml`"), "{told}");
    if has("cargo") {
        let before = fs::read(root.join("allowexec.yaml")).unwrap();
        let (exit, result) = call(&root.join("allowexec.yaml"), "cargo test");
        assert_eq!(exit, Some(0), "{result}");
        assert!(result.contains("2 passed"), "{result}");
        // As agents write it: a line, which no shell reads.
        let (exit, result) =
            call(&root.join("allowexec.yaml"), "cd src && cargo test 2>&1 | tail -5; git status --short | head -3");
        assert_eq!(exit, Some(0), "{result}");
        assert!(result.contains("2 passed") || result.contains("0 passed"), "{result}");
        assert_eq!(fs::read(root.join("allowexec.yaml")).unwrap(), before);
        assert!(!root.join(".git/hooks/pre-commit").exists());
    }
}

#[test]
fn a_rust_project_without_a_lock_file_works_at_the_first_try() {
    let manifest = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let (_place, root) = project(&[("Cargo.toml", manifest), ("src/lib.rs", "")]);
    written(&root);
    if has("cargo") {
        let (exit, result) = call(&root.join("allowexec.yaml"), "cargo check");
        assert_eq!(exit, Some(0), "{result}");
        assert!(fs::read_to_string(root.join("Cargo.lock")).unwrap().contains("name = \"x\""));
    }
}

#[test]
fn what_a_build_makes_can_be_made_and_one_test_file_can_be_run() {
    let build = "const fs=require('fs'); for (const d of ['dist','build','.next','coverage','node_modules/.cache']) fs.writeFileSync(d+'/x','1')";
    let package = json!({
        "name": "x",
        "scripts": {"build": "node build.js", "test": "node say.js", "dev": "node say.js", "start:all": "x", "test:unit": "x"},
        "devDependencies": {"next": "1", "react-scripts": "1"},
    });
    let (_place, root) = project(&[
        ("package.json", &package.to_string()),
        ("build.js", build),
        ("say.js", "console.log(process.argv.slice(2).join('+'))"),
        ("src/a.test.js", ""),
        ("node_modules/x/index.js", ""),
    ]);
    written(&root);
    checks(
        &root,
        &[
            ("npm run build", 0),
            ("npm test -- src/a.test.js", 0),
            ("npm run test -- src/a.test.js", 0),
            ("npm run test:unit", 0),
            ("npm test -- --require=x", 1),
            ("npm test -- ../outside.js", 1),
            ("npm test -- /etc/passwd", 1),
            ("npm test -- .git/x", 1),
            ("npm run dev", 1),
            ("npm run start:all", 1),
        ],
    );
    if has("npm") {
        let file = root.join("allowexec.yaml");
        let (exit, result) = call(&file, "npm run build");
        assert_eq!(exit, Some(0), "{result}");
        assert!(root.join("dist/x").is_file() && root.join("node_modules/.cache/x").is_file());
        let (exit, result) = call(&file, "npm test -- src/a.test.js");
        assert!(exit == Some(0) && result.contains("\\nsrc/a.test.js"), "{result}");
    }
}

#[test]
fn the_tools_of_a_virtual_environment_are_found_by_each_of_their_names() {
    let (place, root) = project(&[("pyproject.toml", "[project]\nname = \"x\"\n"), ("tests/test_a.py", "")]);
    let base = place.path().join("pyenv/versions/3.12");
    fs::create_dir_all(base.join("bin")).unwrap();
    let bin = root.join(".venv/bin");
    fs::create_dir_all(&bin).unwrap();
    let _quiet = crate::support::server::spawning();
    for (file, says) in [
        (base.join("bin/python3"), "python3 in $VIRTUAL_ENV, $1 $2"),
        (bin.join("pytest"), "pytest $*"),
        (bin.join("ruff"), "ruff $*"),
    ] {
        let interpreter = if says.starts_with("python3") { "/bin/sh" } else { "/usr/bin/env sh" };
        fs::write(&file, format!("#!{interpreter}\necho {says}; echo x > .pytest_cache/x\n")).unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    drop(_quiet);
    symlink(base.join("bin/python3"), bin.join("python3")).unwrap();
    symlink("python3", bin.join("python")).unwrap();
    fs::write(root.join(".venv/pyvenv.cfg"), format!("home = {}\nversion = 3.12.1\n", base.join("bin").display()))
        .unwrap();
    written(&root);
    let settings = fs::read_to_string(root.join("allowexec.yaml")).unwrap();
    let base = dunce::canonicalize(&base).unwrap();
    assert!(settings.contains(&format!("\"{}\"", base.display())), "{settings}");
    checks(
        &root,
        &[
            ("pytest -x tests", 0),
            (".venv/bin/pytest -x tests", 0),
            ("ruff check .", 0),
            (".venv/bin/ruff check .", 0),
            ("python -m pytest", 0),
            ("python -m pytest tests/test_a.py::test_b -k 'one or two' --tb=short", 0),
            (".venv/bin/python -m pytest -q tests/test_a.py 2>&1 | tail -5", 0),
            ("python -m pytest ../x", 1),
            ("python -m pytest /tmp/x", 1),
            ("python --version", 0),
            ("python3 -m pytest -x tests", 0),
            ("python -c x", 1),
            ("PYTHONUNBUFFERED=1 python -m pytest", 0),
            ("CI=1 NO_COLOR=1 pytest -x", 0),
            ("PYTHONPATH=src python -m pytest", 1),
            ("LD_PRELOAD=x python -m pytest", 1),
            ("python tests/test_a.py", 1),
            ("python tests -m pytest", 1),
            ("python -m pip install x", 1),
            (".venv/bin/pip install x", 1),
            (".venv/bin/python x.py", 1),
        ],
    );
    // As refusals advise: the profile for work beside the rule.
    let policy = root.join("allowexec-policy.yaml");
    let text = fs::read_to_string(&policy).unwrap();
    fs::write(&policy, text.replace("  \"python\":\n", "  \"python\":\n    extends: python-develop\n")).unwrap();
    checks(&root, &[("python tests/test_a.py", 0), ("python -m pytest", 0), ("python -c x", 1)]);
    fs::write(&policy, text).unwrap();
    let file = root.join("allowexec.yaml");
    for (command, says) in
        [("pytest -x", "pytest -x"), (".venv/bin/pytest -q", "pytest -q"), ("python -m pytest", "/.venv, -m pytest")]
    {
        let (exit, result) = call(&file, command);
        assert!(exit == Some(0) && result.contains(says), "{command}: {result}");
    }
    assert!(root.join(".pytest_cache/x").is_file());
    // Nothing that commands run is theirs to write.
    assert!(
        !settings
            .lines()
            .skip_while(|line| *line != "write:")
            .take_while(|line| *line != "exec:")
            .any(|line| line.contains(".venv"))
    );
}

#[test]
fn programs_of_an_environment_that_commands_can_write_start_without_a_warning() {
    let (place, root) = project(&[("pyproject.toml", "[project]\nname = \"x\"\n"), ("tests/test_a.py", "")]);
    let base = place.path().join("pyenv/versions/3.12/bin");
    let bin = root.join(".venv/bin");
    fs::create_dir_all(&base).unwrap();
    fs::create_dir_all(&bin).unwrap();
    // Native programs, which need their loader, and a script.
    crate::support::server::copy_program("/bin/echo", base.join("python3"));
    crate::support::server::copy_program("/bin/echo", bin.join("ruff"));
    fs::write(bin.join("pytest"), "#!/usr/bin/env sh\necho pytest $*\n").unwrap();
    fs::set_permissions(bin.join("pytest"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    symlink(base.join("python3"), bin.join("python3")).unwrap();
    symlink("python3", bin.join("python")).unwrap();
    fs::write(root.join(".venv/pyvenv.cfg"), format!("home = {}\n", base.display())).unwrap();
    assert!(allowexec(&root, &["init", "--to", "../settings"]).status.success());
    let file = place.path().join("settings/allowexec.yaml");
    is_sound(&root, file.to_str().unwrap());
    for (command, says) in [
        ("python -m pytest", "-m pytest"),
        (".venv/bin/pytest -q", "pytest -q"),
        ("ruff check src", "check --no-fix"),
        (".venv/bin/ruff check src", "check --no-fix"),
    ] {
        let (exit, result) = call(&file, command);
        assert!(exit == Some(0) && result.contains(says), "{command}: {result}");
    }
    // What does not start is named once, with every command that it is.
    let _quiet = crate::support::server::spawning();
    fs::remove_file(bin.join("ruff")).unwrap();
    fs::write(bin.join("ruff"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(bin.join("ruff"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    drop(_quiet);
    let output = allowexec(&root, &["doctor", "--json", "--config", file.to_str().unwrap()]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let warnings: Vec<_> = report["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let warnings: Vec<_> = warnings.into_iter().filter(|warning| warning.contains("start")).collect();
    let (start, end) =
        ("`ruff`, `.venv/bin/ruff` may not start in the sandboxes of their rules: ", "where commands can't write");
    assert!(warnings.len() == 1 && warnings[0].starts_with(start) && warnings[0].ends_with(end), "{warnings:#?}");
}

#[test]
fn what_would_allow_a_tool_of_the_environment_runs_the_one_in_it() {
    let (_place, root) = project(&[("pyproject.toml", ""), (".venv/pyvenv.cfg", ""), ("README", "")]);
    let bin = root.join(".venv/bin");
    fs::create_dir_all(&bin).unwrap();
    let _quiet = crate::support::server::spawning();
    for program in ["python", "pytest", "pip", "flask"] {
        fs::write(bin.join(program), "#!/bin/sh\n").unwrap();
        fs::set_permissions(bin.join(program), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    drop(_quiet);
    written(&root);
    let check = |command: &str| {
        let output = allowexec(&root, &["check", "--json", "--config", "allowexec.yaml", "--", command]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let policy = root.join("allowexec-policy.yaml");
    for (command, extends) in [
        ("pip list", Some("python-develop")),
        ("flask --version", None),
        (".venv/bin/pip list", Some("python-develop")),
    ] {
        let said = check(command);
        let lines = said["allowing"][0]["policy"].as_str().unwrap_or_else(|| panic!("{said:#}"));
        let extended = extends.is_none_or(|profile| lines.contains(&format!("    extends: {profile}\n")));
        assert!(extended && !said.to_string().contains("install `"), "{said:#}");
        let text = fs::read_to_string(&policy).unwrap();
        fs::write(&policy, text.clone() + lines.strip_prefix("version: 1\ncommands:\n").unwrap()).unwrap();
        let said = check(command);
        let name = command.split(['/', ' ']).find(|part| *part == "pip" || *part == "flask").unwrap();
        assert_eq!((&said["decision"], &said["program"]), (&json!("allowed"), &json!(bin.join(name))), "{said:#}");
        fs::write(&policy, text).unwrap();
    }
}

#[test]
fn a_home_directory_is_no_project_and_a_subdirectory_belongs_to_the_one_above() {
    let (place, root) = project(&[("Cargo.toml", "[package]\n"), ("src/deep/x.rs", ""), (".git/HEAD", "")]);
    let home = dunce::canonicalize(place.path()).unwrap();
    let init = |directory: &Path, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.arg("init").args(arguments).current_dir(directory).env_clear().env("HOME", &home);
        let output = command.env("PATH", std::env::var_os("PATH").unwrap()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (directory, what) in [(home.as_path(), "your home directory"), (Path::new("/"), "the root of the file system")]
    {
        let (exit, said) = init(directory, &[]);
        assert!(exit == Some(1) && said.contains(what) && said.contains("`--force`"), "{said}");
        assert!(!directory.join("allowexec.yaml").exists());
    }
    // A file of a project in the home directory makes no project of it.
    fs::write(home.join("package.json"), "{}").unwrap();
    let other = home.join("notes");
    fs::create_dir(&other).unwrap();
    assert_eq!(init(&other, &[]).0, Some(0));
    assert!(other.join("allowexec.yaml").is_file() && !home.join("allowexec.yaml").exists());
    let (exit, said) = init(&root.join("src/deep"), &[]);
    assert!(exit == Some(0) && said.contains("the project is"), "{said}");
    assert!(root.join("allowexec.yaml").is_file() && !root.join("src/deep/allowexec.yaml").exists());
    assert_eq!(init(&home, &["--force"]).0, Some(0));
    assert!(home.join("allowexec.yaml").is_file());
}

#[test]
fn a_repository_that_lies_elsewhere_is_granted_and_doctor_names_it() {
    if !has("git") {
        return;
    }
    let (place, main) = project(&[("README", "x")]);
    let base = dunce::canonicalize(place.path()).unwrap();
    let git = |directory: &Path, arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]).args(arguments);
        let output = command.current_dir(directory).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    git(&main, &["init", "-q"]);
    git(&main, &["add", "."]);
    git(&main, &["commit", "-qm", "one"]);
    let main = main.to_str().unwrap();
    let [worktree, shared, parent] = ["worktree", "shared", "parent"].map(|name| base.join(name));
    git(Path::new(main), &["worktree", "add", "-q", worktree.to_str().unwrap()]);
    git(&base, &["clone", "-q", "--shared", main, "shared"]);
    git(&base, &["init", "-q", "parent"]);
    git(&parent, &["submodule", "add", "-q", main, "inner"]);
    for (root, outside) in [
        (worktree, format!("{main}/.git")),
        (shared, format!("{main}/.git/objects")),
        (parent.join("inner"), parent.join(".git/modules/inner").display().to_string()),
    ] {
        let flags = ["--profile", "git-readonly", "--sandbox", "workspace", "--cwd-root", root.to_str().unwrap()];
        let report = |more: &[&str]| {
            let output = allowexec(&root, &[&["doctor", "--json"], &flags[..], more].concat());
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let help = json!(format!("add `--read {outside}`")).to_string().trim_matches('"').to_owned();
        assert!(report(&[]).contains(&help), "{help}: {}", report(&[]));
        assert!(!report(&["--read", &outside]).contains(&help));
        written(&root);
        let (exit, result) = call(&root.join("allowexec.yaml"), "git log --oneline");
        assert!(exit == Some(0) && result.contains("one"), "{result}");
    }
}

#[test]
fn the_person_who_commits_is_written_into_the_rule() {
    let (place, root) = project(&[("README", "x"), (".git/HEAD", "ref: refs/heads/main\n")]);
    let home = place.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join(".gitconfig"), "[core]\n\tname = no\n[user]\n\tname = A \"B\" C\n\temail = a@b.example\n")
        .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_allowexec"))
        .arg("init")
        .current_dir(&root)
        .env_clear()
        .env("HOME", &home)
        .env("PATH", std::env::var_os("PATH").unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let policy: Value = serde_yaml::from_str(&fs::read_to_string(root.join("allowexec-policy.yaml")).unwrap()).unwrap();
    let set = &policy["commands"]["git"]["env"]["set"];
    assert_eq!((&set["GIT_AUTHOR_EMAIL"], &set["GIT_COMMITTER_EMAIL"]), (&json!("a@b.example"), &json!("a@b.example")));
    assert!(set["GIT_AUTHOR_NAME"].as_str().unwrap().starts_with("A "), "{set}");
    is_sound(&root, "allowexec.yaml");
    // What the repository says counts more.
    fs::write(root.join(".git/config"), "[user]\n\tname = D\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_allowexec"))
        .args(["init", "--to", "elsewhere"])
        .current_dir(&root)
        .env_clear()
        .env("HOME", &home)
        .env("PATH", std::env::var_os("PATH").unwrap())
        .output()
        .unwrap();
    let policy =
        fs::read_to_string(root.join("elsewhere/allowexec-policy.yaml")).unwrap_or_else(|_| panic!("{output:?}"));
    assert!(policy.contains("GIT_AUTHOR_NAME: \"D\", GIT_AUTHOR_EMAIL: \"a@b.example\""), "{policy}");
}

#[test]
fn calls_commit_once_the_line_that_init_wrote_is_taken_in() {
    if !has("git") {
        return;
    }
    let places: [&[(&str, &str)]; 2] = [&[("README", "x"), ("src/main", "x")], &[("README", "x")]];
    for (files, to) in [(places[0], None), (places[1], None), (places[0], Some("../settings"))] {
        let (_place, root) = project(files);
        let git = |arguments: &[&str]| {
            let output = Command::new("git").args(arguments).current_dir(&root).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        git(&["init", "-q", "."]);
        git(&["config", "user.name", "A"]);
        git(&["config", "user.email", "a@b.example"]);
        let initialised = match to {
            None => allowexec(&root, &["init"]),
            Some(to) => allowexec(&root, &["init", "--to", to]),
        };
        assert_eq!(initialised.status.code(), Some(0), "{}", String::from_utf8_lossy(&initialised.stderr));
        let directory = root.join(to.unwrap_or("."));
        let (settings, policy) = (directory.join("allowexec.yaml"), directory.join("allowexec-policy.yaml"));
        let text = fs::read_to_string(&policy).unwrap();
        fs::write(&policy, text.replace("extends: git-readonly", "extends: git-commit")).unwrap();
        let written = fs::read_to_string(&settings).unwrap();
        let line = format!("- {}", Value::from(root.join(".git").to_str().unwrap()));
        if to.is_some() {
            // The whole project is written.
            assert!(!written.contains(&line) && !text.contains("commented out"), "{written}{text}");
        } else {
            assert!(text.contains("take in what is commented out under `write` in allowexec.yaml"), "{text}");
            let (_, result) = call(&settings, "git add README");
            assert!(result.contains(".git/index.lock"), "{result}");
            // Also the key, where nothing else is written.
            let is_meant = |line_of: &&str| line_of.ends_with(&line) || *line_of == "# write:";
            let taken = written
                .lines()
                .map(|line| Some(line).filter(is_meant).map_or(line.to_owned(), |line| line.replacen("# ", "", 1)));
            let taken: Vec<String> = taken.collect();
            assert_ne!(taken.join("\n") + "\n", written, "{written}");
            fs::write(&settings, taken.join("\n")).unwrap();
        }
        for command in ["git add README", "git commit -m first"] {
            let (exit, result) = call(&settings, command);
            assert_eq!(exit, Some(0), "{command}: {result}\n{}", fs::read_to_string(&settings).unwrap());
        }
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
    // Words for the script are none of its rule's, and the way to allow them works.
    let said = |command: &str| {
        let output = allowexec(&root, &["check", "--config", "allowexec.yaml", "--", command]);
        String::from_utf8(output.stdout).unwrap()
    };
    let options = ["npm run lint -- --fix", "npm run lint -- --max-warnings 0", "npm test -- -p X"];
    for command in options {
        let said = said(command);
        assert!(
            said.contains("takes a path that exists as FILE, not `-") && said.contains("begins with `-`"),
            "{said}"
        );
        assert!(said.contains("to allow   say `extends: node-develop` in the rule for `npm` in "), "{said}");
    }
    // A file that is missing is none that a rule could allow.
    assert!(said("npm test -- missing").contains("`missing` does not exist"));
    let policy = root.join("allowexec-policy.yaml");
    let text = fs::read_to_string(&policy).unwrap();
    fs::write(&policy, text.replace("  npm:\n", "  npm:\n    extends: node-develop\n")).unwrap();
    is_sound_but_asks(&root);
    checks(&root, &options.map(|command| (command, 0)));
    fs::write(&policy, text).unwrap();
    if has("npm") {
        let (exit, result) = call(&root.join("allowexec.yaml"), "npm run test");
        assert_eq!(exit, Some(0), "{result}");
        assert!(result.contains("42"), "{result}");
    }
}

#[test]
fn tests_start_servers_where_the_system_gives_a_call_a_network_of_its_own() {
    let listens = "require('net').createServer().listen(0, '127.0.0.1', function () { console.log('it-listens'); this.close(); });";
    let package = r#"{"name": "x", "scripts": {"test": "node test/listens.js"}}"#;
    let (_place, root) = project(&[
        ("package.json", package),
        ("test/listens.js", listens),
        ("Makefile", "all:\n\ttrue\n"),
        ("Cargo.toml", "[package]\n"),
        ("pyproject.toml", ""),
        (".venv/pyvenv.cfg", ""),
        (".venv/bin/pytest", ""),
        (".venv/bin/python", ""),
    ]);
    for program in ["pytest", "python"] {
        let program = root.join(".venv/bin").join(program);
        fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    written(&root);
    let report = allowexec(&root, &["doctor", "--json"]).stdout;
    let report: Value = serde_json::from_slice(&report).unwrap();
    let row = report["platform"].as_array().unwrap().iter().find(|row| row["what"] == "network loopback").unwrap();
    let is_there = row["how"].as_str().unwrap().starts_with("a network of each call's own");
    let network = if is_there { "network: loopback" } else { "network: none" };
    let settings = fs::read_to_string(root.join("allowexec.yaml")).unwrap();
    assert!(settings.lines().any(|line| line == network), "{settings}");
    assert_eq!(settings.contains("Tests can't listen on 127.0.0.1 here"), !is_there, "{settings}");
    // The profiles of cargo, and of two names of pytest, take the network away.
    let policy = fs::read_to_string(root.join("allowexec-policy.yaml")).unwrap();
    assert_eq!(
        (policy.matches("{network: ").count(), policy.matches(&format!("{{{network}}}")).count()),
        (3, 3),
        "{policy}"
    );
    if is_there && has("npm") {
        let (exit, result) = call(&root.join("allowexec.yaml"), "npm test");
        assert!(exit == Some(0) && result.contains("it-listens"), "{result}");
    }
}

#[test]
fn what_the_operator_adds_has_no_network_but_that_of_the_file() {
    // An interpreter of the system, and not a version manager's stand-in for one.
    let python = Path::new("/usr/bin/python3");
    if !has(python.to_str().unwrap()) {
        return;
    }
    let (_place, root) = project(&[("README", "x")]);
    written(&root);
    let policy = root.join("allowexec-policy.yaml");
    let text = fs::read_to_string(&policy).unwrap();
    assert!(!text.contains("\ncommands:"), "{text}");
    fs::write(&policy, text + "commands:\n  /usr/bin/python3: any\n").unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let connects = format!(
        "/usr/bin/python3 -c \"import socket; socket.create_connection(('127.0.0.1', {})); print('connected')\"",
        listener.local_addr().unwrap().port()
    );
    let file = root.join("allowexec.yaml");
    let (exit, result) = call(&file, &connects);
    assert!(exit == Some(1) && !result.contains("connected"), "{result}");
    let outwards = "/usr/bin/python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), 5)\"";
    let (_, result) = call(&file, outwards);
    assert!(result.contains("`--network full` (in a file: `network: full`)"), "{result}");
    // The word that the comment and the hint name.
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("# ") && text.contains("`network: full` opens every network"), "{text}");
    let opened = text
        .lines()
        .map(|line| if line.starts_with("network: ") { "network: full\n".to_owned() } else { format!("{line}\n") });
    fs::write(&file, opened.collect::<String>()).unwrap();
    let (exit, result) = call(&file, &connects);
    assert!(exit == Some(0) && result.contains("connected"), "{result}");
}

#[test]
fn a_node_project_keeps_the_tokens_of_npm_from_commands() {
    let (place, root) = project(&[("package.json", r#"{"scripts": {"test": "node -e 0", "steal": "cat ~/.npmrc"}}"#)]);
    let home = dunce::canonicalize(place.path()).unwrap().join("home");
    fs::create_dir_all(home.join(".nvm/versions")).unwrap();
    fs::write(home.join(".npmrc"), "//registry.npmjs.org/:_authToken=TOKEN\n").unwrap();
    let at_home = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        command.args(arguments).current_dir(&root).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        let output = command.env("HOME", &home).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(at_home(&["init"]).0, Some(0));
    let settings = fs::read_to_string(root.join("allowexec.yaml")).unwrap();
    assert!(!settings.contains("\ngrant:") && settings.contains("home/.nvm\""), "{settings}");
    assert_eq!(at_home(&["setup", "cursor", "--config", "allowexec.yaml"]).0, Some(0));
    if has("npm") {
        let run = |script: &str| {
            let call = json!({ "command": format!("npm run {script}"), "timeout_ms": 60_000 }).to_string();
            at_home(&["call", "execute_command", &call, "--config", "allowexec.yaml", "--structured", "--json"]).1
        };
        assert!(run("test").contains("\"exit_code\": 0"), "{}", run("test"));
        let stolen = run("steal");
        assert!(stolen.contains("Permission denied") && !stolen.contains("TOKEN"), "{stolen}");
    }
}

#[test]
fn a_hint_for_what_is_missing_or_replaced_leads_to_what_works() {
    let makefile = "new:\n\tmkdir $(CURDIR)/made\nreplace:\n\trm $(CURDIR)/README\n\
                    edit:\n\tsed -i s/x/y/ ./README\ntouched:\n\ttouch touched\n";
    let place = tempfile::tempdir().unwrap();
    // Without the quotes that make's shell would read.
    let root = dunce::canonicalize(place.path()).unwrap().join("plain");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("Makefile"), makefile).unwrap();
    fs::write(root.join("README"), "x").unwrap();
    written(&root);
    if !has("make") {
        return;
    }
    let elsewhere = "settings outside of the project (`allowexec init --to DIR`)";
    let file = root.join("allowexec.yaml");
    let (exit, result) = call(&file, "make new 2>&1 | tail -5");
    assert!(exit == Some(0) && result.contains("once it exists (`mkdir -p`, or an empty file), or "), "{result}");
    assert!(result.contains(elsewhere), "{result}");
    // A redirection has the same way, by whichever directory it is reached.
    for line in ["echo x > NOTES.md", "(cd .allowexec && echo x > ../NOTES.md) | tail -5"] {
        let (_, result) = call(&file, line);
        let named =
            format!("`{}` to `write:` in the configuration file once it exists", root.join("NOTES.md").display());
        assert!(result.contains(&named) && result.contains(elsewhere), "{line}: {result}");
        assert!(!result.contains("--write"), "{result}");
    }
    let (_, result) = call(&file, "echo x > /tmp/out.txt");
    assert!(result.contains("leads outside the allowed directories"), "{result}");
    assert!(!result.contains("in a directory that commands may write"), "there is none: {result}");
    let (_, result) = call(&file, "echo x > \"$TMPDIR/x\"");
    assert!(result.contains("the temporary directory is one of the commands alone"), "{result}");
    let (exit, result) = call(&file, "make replace");
    assert!(exit == Some(2) && result.contains(&format!("ask the operator to add {elsewhere}")), "{result}");
    let (exit, result) = call(&file, "make edit");
    assert!(exit == Some(2) && result.contains(&format!("ask the operator to add {elsewhere}")), "{result}");
    // A relative path is one in the directory of the call.
    let (_, result) = call(&file, "make touched");
    let named = format!("`{}` to `write:` in the configuration file once it exists", root.join("touched").display());
    assert!(result.contains(&named) && result.contains(elsewhere), "{result}");
    // All of them work.
    let output = allowexec(&root, &["init", "--to", "../settings"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let file = root.parent().unwrap().join("settings/allowexec.yaml");
    for command in ["make edit", "make new", "make replace", "make touched"] {
        let (exit, result) = call(&file, command);
        assert_eq!(exit, Some(0), "{command}: {result}");
    }
}

#[test]
fn the_caches_that_are_made_are_left_out_by_git_and_by_backups() {
    let files = [
        ("pyproject.toml", ""),
        ("Cargo.toml", ""),
        ("package.json", r#"{"scripts": {"build": "x"}}"#),
        (".ruff_cache/0.1/x", ""),
    ];
    let (_place, root) = project(&files);
    written(&root);
    for cache in [".pytest_cache", ".mypy_cache", "target"] {
        assert_eq!(fs::read_to_string(root.join(cache).join(".gitignore")).unwrap(), "*\n", "{cache}");
        let tag = fs::read_to_string(root.join(cache).join("CACHEDIR.TAG")).unwrap();
        assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"), "{cache}: {tag}");
    }
    // One that was there is its tool's, and what a build makes is no cache.
    for other in [".ruff_cache", "dist"] {
        assert!(root.join(other).is_dir() && !root.join(other).join(".gitignore").exists(), "{other}");
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
fn a_directory_that_gitignore_names_is_made_and_can_be_filled() {
    let makefile = "completions:\n\tmkdir -p autocomplete\n\techo x > autocomplete/x.bash\n";
    let ignored = "target/\n/autocomplete/\n/file/\n/linked/\n.cache/\nsecrets/\n**/*.bk\n";
    let (place, root) = project(&[("Makefile", makefile), (".gitignore", ignored), ("file", "x")]);
    fs::create_dir(place.path().join("elsewhere")).unwrap();
    symlink(place.path().join("elsewhere"), root.join("linked")).unwrap();
    let output = allowexec(&root, &["init"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("made `autocomplete`, `target`, so that builds and tests can write there"), "{said}");
    is_sound(&root, "allowexec.yaml");
    let settings = fs::read_to_string(root.join("allowexec.yaml")).unwrap();
    for other in ["secrets", ".cache", "file", "linked"] {
        assert!(!settings.contains(&format!("{other}\"")), "{settings}");
    }
    assert!(!root.join("secrets").exists() && !root.join(".cache").exists());
    if has("make") {
        let (exit, result) = call(&root.join("allowexec.yaml"), "make completions");
        assert_eq!(exit, Some(0), "{result}");
    }
    let (_, result) = call(&root.join("allowexec.yaml"), "echo x > /tmp/out.txt");
    let named = Value::from(format!("such as `{}` or `", root.join("target").display())).to_string();
    assert!(result.contains(named.trim_matches('"')), "{result}");
    // Where everything is written, nothing is made.
    let (_other, root) = project(&[("Makefile", makefile), (".gitignore", ignored)]);
    let output = allowexec(&root, &["init", "--to", "../settings"]);
    assert!(!String::from_utf8(output.stdout).unwrap().contains("made ") && !root.join("autocomplete").exists());
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
