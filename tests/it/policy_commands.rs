//! `allowexec policy`: show, test, explain, diff and suggest, with the real binary.

#![cfg(unix)]

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

const POLICY: &str = "version: 1
commands:
  ls:
    options: {\"-l\": flag, \"-n, --number\": {integer: [1, 5]}}
    operands: [{name: FILE, path: read, count: \"0..\"}]
    examples: {allow: [ls -l], refuse: [ls -x]}
  cat:
    decision: ask
    insert: [-v]
    operands: [{name: FILE, path: read}]
    env: {set: {A: b}}
";

/// A directory with a policy.
struct Place(tempfile::TempDir);

impl Place {
    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }
}

fn allowexec(place: &Place, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
    command.args(arguments).current_dir(place.0.path()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).output().unwrap()
}

/// The exit status and what is printed; what stands on standard error where nothing is printed.
fn run(place: &Place, arguments: &[&str]) -> (i32, String) {
    let output = allowexec(place, arguments);
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

fn json(place: &Place, arguments: &[&str]) -> (i32, Value) {
    let more: &[&str] = if arguments.contains(&"--json") { &[] } else { &["--json"] };
    let (status, text) = run(place, &[arguments, more].concat());
    (status, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
}

fn place() -> Place {
    let place = Place(tempfile::tempdir().unwrap());
    place.write("p.yaml", POLICY);
    place
}

#[test]
fn show_lists_the_profiles_and_prints_what_loads_again() {
    let place = place();
    let (status, text) = run(&place, &["policy", "show"]);
    assert_eq!((status, text.lines().count()), (0, 18), "{text}");
    assert!(text.starts_with("git-readonly "), "{text}");
    let (_, listed) = json(&place, &["policy", "show"]);
    for profile in listed["profiles"].as_array().unwrap() {
        let name = profile["name"].as_str().unwrap();
        let (status, text) = run(&place, &["policy", "show", name]);
        assert_eq!(status, 0);
        place.write("copy.yaml", &text);
        let (status, text) = run(&place, &["policy", "test", "copy.yaml"]);
        assert_eq!(status, 0, "{name}: {text}");
        assert!(!profile["commands"].as_array().unwrap().is_empty());
    }
    let (status, text) = run(&place, &["policy", "show", "git-readony"]);
    assert_eq!(status, 2);
    assert!(text.contains("no profile is called `git-readony`; did you mean `git-readonly`?"), "{text}");
}

#[test]
fn test_runs_every_example_and_case_and_names_what_none_uses() {
    let place = place();
    place.write(
        "cases",
        "{\"argv\":[\"ls\",\"-n\",\"5\"],\"expect\":\"allow\"}\n\n{\"argv\":\"cat x\",\"expect\":\"ask\"}\n",
    );
    let (status, text) = run(&place, &["policy", "test", "p.yaml"]);
    let expected = "p.yaml: 2 examples: all as expected\n  p.yaml:4: no example uses `-n, --number` of `ls`\n  p.yaml:7: no \
                    example uses a form of `cat`\n";
    assert_eq!((status, text.as_str()), (0, expected));
    place
        .write("odd.yaml", "commands:\n  rg:\n    options: {--pre: {text: {}}}\n    examples: {allow: [rg --pre x]}\n");
    let (status, text) = run(&place, &["policy", "test", "odd.yaml"]);
    let warned = "odd.yaml:3: `--pre` can start any program that a call names; list its values with `one_of`";
    assert_eq!((status, text), (0, format!("odd.yaml: 1 example: all as expected\n  {warned}\n")));
    assert_eq!(json(&place, &["policy", "test", "odd.yaml"]).1["files"][0]["warnings"], serde_json::json!([warned]));
    let with_cases = run(&place, &["policy", "test", "--cases", "cases", "--policy", "p.yaml"]);
    assert_eq!(with_cases, (0, "p.yaml: 2 examples, 2 cases: all as expected\n".to_owned()));
    place.write("cases", "{\"argv\":[\"ls\",\"-n\",\"6\"],\"expect\":\"allow\"}\n{\"argv\":[\"cat\",\"x\"],\"expect\":\"ask\",\"input\":\"y\"}\n");
    let (status, report) = json(&place, &["policy", "test", "p.yaml", "--cases", "cases"]);
    let wrong = report["files"][0]["wrong"].as_array().unwrap();
    assert_eq!((status, wrong.len()), (1, 2), "{report}");
    assert_eq!((&wrong[0]["file"], &wrong[0]["line"]), (&"cases".into(), &1.into()));
    assert_eq!((&wrong[0]["expected"], &wrong[0]["came"]), (&"allow".into(), &"refuse".into()));
    assert!(wrong[0]["reason"].as_str().unwrap().contains("a whole number from 1 to 5"), "{report}");
}

#[test]
fn test_tells_of_every_example_that_comes_out_otherwise() {
    let place = place();
    place.write("bad.yaml", &POLICY.replace("allow: [ls -l]", "allow: [ls -x, ls -y]"));
    let (status, text) = run(&place, &["policy", "test", "bad.yaml", "p.yaml"]);
    assert_eq!(status, 1);
    assert!(text.starts_with("bad.yaml: 3 examples: 2 wrong\n"), "{text}");
    for line in [
        "bad.yaml:6: `ls -x`: expected allow, got refuse",
        "bad.yaml:6: `ls -y`: expected allow",
        "p.yaml: 2 examples: all",
    ] {
        assert!(text.contains(line), "{text}");
    }
    // A line of another command is wrong whatever is expected, as it is for the server.
    place.write("foreign.yaml", "commands:\n  ls: {examples: {refuse: [cat x]}}\n  cat: {operands: [{path: read}], examples: {allow: [cat x]}}\n");
    let (status, text) = run(&place, &["policy", "test", "foreign.yaml"]);
    let wrong = "foreign.yaml:2: `cat x`: it does not call `ls`";
    assert!(status == 1 && text.contains(wrong), "{text}");
    let (status, text) = run(&place, &["check", "--policy", "foreign.yaml", "--", "ls"]);
    assert!(status == 2 && text.contains("it does not call `ls`"), "{text}");
    // What can't be told without files is a mistake, whatever is expected.
    let untold =
        "commands:\n  cat: {operands: [{path: {access: read, under: [src]}}], examples: {refuse: [cat /x/src/y]}}\n";
    place.write("untold.yaml", untold);
    place.write(
        "untold.cases",
        "{\"argv\":\"cat /x/src/y\",\"expect\":\"refuse\"}\n{\"argv\":\"cat /x\",\"expect\":\"refuse\"}",
    );
    let (status, text) = run(&place, &["policy", "test", "untold.yaml", "--cases", "untold.cases"]);
    assert!(status == 1 && text.starts_with("untold.yaml: 1 example, 2 cases: 2 wrong\n"), "{text}");
    assert!(text.contains("untold.cases:1: `cat /x/src/y`: whether a path of it lies under"), "{text}");
    for (arguments, said) in [
        (&["policy", "test"][..], "needs the file of a policy"),
        (&["policy", "test", "none.yaml"], "cannot read the policy `none.yaml`"),
        (&["policy", "test", "p.yaml", "--cases", "p.yaml"], "p.yaml:1: not JSON"),
    ] {
        let (status, text) = run(&place, arguments);
        assert!(status == 2 && text.contains(said), "{arguments:?}: {text}");
    }
    place.write("broken.yaml", "version: 1\ncommand: {}\n");
    let (status, text) = run(&place, &["policy", "test", "broken.yaml"]);
    assert!(status == 2 && text.contains("broken.yaml:2") && text.contains("`commands`"), "{text}");
}

/// What `explain` says of a command under the policy.
fn explain(place: &Place, more: &[&str], command: &[&str]) -> (i32, Value) {
    let flags = ["policy", "explain", "--json", "--policy", "p.yaml"];
    let (status, text) = run(place, &[&flags, more, &["--"], command].concat());
    (status, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
}

#[test]
fn explain_says_what_each_word_is_and_what_the_call_would_get() {
    let place = place();
    let (status, report) = explain(&place, &[], &["ls", "-ln5", "--number=3", "--", "a b"]);
    let part = |part: &Value| {
        format!("{} {} {}", part["text"].as_str().unwrap(), part["role"].as_str().unwrap(), part["line"])
    };
    let parts: Vec<String> = report["words"].as_array().unwrap().iter().map(part).collect();
    let expected = [
        "ls command 3",
        "-l option 4",
        "-n option 4",
        "5 value 4",
        "--number option 4",
        "3 value 4",
        "-- double_dash null",
        "a b operand 5",
    ];
    assert_eq!((status, report["decision"].as_str().unwrap()), (0, "allowed"));
    assert_eq!(parts, expected, "{report}");
    assert_eq!((&report["file"], &report["line"]), (&"p.yaml".into(), &3.into()));

    let (status, report) = explain(&place, &[], &["cat", "x"]);
    assert_eq!((status, &report["decision"]), (3, &"ask".into()), "{report}");
    assert_eq!(report["argv"], serde_json::json!(["cat", "-v", "x"]));
    assert_eq!(report["inserted"], serde_json::json!([{"level": "cat", "words": ["-v"]}]));
    assert_eq!(report["settings"]["environment"]["set"], serde_json::json!({"A": "b"}));

    let (status, report) = explain(&place, &[], &["ls", "-x"]);
    assert_eq!((status, &report["decision"]), (1, &"refused".into()));
    assert!(report["reason"].as_str().unwrap().contains("`ls` does not take `-x`"), "{report}");
    assert_eq!((&report["words"], &report["settings"]), (&serde_json::json!([]), &Value::Null));
    let (status, report) = explain(&place, &["--with-input"], &["ls"]);
    assert!(status == 1 && report["reason"].as_str().unwrap().contains("input"), "{report}");
    let (status, text) = run(&place, &["policy", "explain", "--policy", "p.yaml", "--", "ls -n 2"]);
    assert!(status == 0 && text.contains("\"2\": the value of `-n`: a whole number from 1 to 5, p.yaml:4"), "{text}");
}

#[test]
fn explain_says_what_an_entry_of_the_allow_list_permits() {
    let place = place();
    let explain = |flags: &[&str], command: &[&str]| {
        let (status, text) = run(&place, &[&["policy", "explain"], flags, &["--"], command].concat());
        assert_eq!(status, 0, "{text}");
        text
    };
    let text = explain(&["--allow", "ls"], &["ls", "-a", "b"]);
    for said in [
        "\"ls\": the command, by the entry `ls` of the allow-list\n",
        "\"-a\": any argument\n",
        "permits      `ls` with any arguments and any input, in every directory where calls may run\n",
        "permits      whatever the server's user can do, since there is no sandbox\n",
        "permits      more than the profile `coreutils-readonly`, which is narrower\n",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let text = explain(&["--allow", "*"], &["sh", "-c", "id"]);
    assert!(text.contains("permits      every command with any arguments"), "{text}");
    assert!(text.contains("permits      `sh` runs any code that a call gives it"), "{text}");
    let text = explain(&["--policy", "p.yaml"], &["ls", "-l"]);
    assert!(!text.contains("permits"), "{text}");
    let report = json(&place, &["policy", "explain", "--json", "--allow", "ls", "--", "ls", "-l"]).1;
    assert_eq!(report["permits"].as_array().unwrap().len(), 3, "{report}");
    assert_eq!(report["words"][1]["role"], "anything", "{report}");
}

#[test]
fn explain_decides_as_check_does() {
    let place = place();
    for command in ["ls", "ls -l x", "ls -x", "cat x", "cat", "cat ../x", "rm x", "ls -n 6", "ls | cat"] {
        let status = |words: &[&str]| {
            run(
                &place,
                &[words, &["--policy", "p.yaml", "--project-dir", ".", "--cwd-root", ".", "--", command]].concat(),
            )
            .0
        };
        assert_eq!(status(&["policy", "explain"]), status(&["check"]), "{command}");
    }
}

#[test]
fn diff_finds_what_is_wider_and_what_is_narrower() {
    let place = place();
    let differs = |change: (&str, &str)| {
        place.write("new.yaml", &POLICY.replace(change.0, change.1));
        let (status, report) = json(&place, &["policy", "diff", "p.yaml", "new.yaml"]);
        let has = |key: &str| !report[key].as_array().unwrap().is_empty();
        let has_wider_setting = report["settings"].as_array().unwrap().iter().any(|setting| setting["wider"] == true);
        (status, has("wider") || has_wider_setting, has("narrower") || (has("settings") && !has_wider_setting))
    };
    assert_eq!(differs(("", "")), (0, false, false));
    for (narrow, wide) in [
        ("[1, 5]", "[1, 6]"),
        ("[1, 5]", "[0, 5]"),
        ("\"-l\": flag, ", "\"-l\": flag, \"-a\": flag, "),
        ("decision: ask", "decision: allow"),
        ("[{name: FILE, path: read}]", "[{name: FILE, text: {}}]"),
        ("[{name: FILE, path: read}]", "[{name: FILE, path: read, count: \"1..\"}]"),
        ("    insert: [-v]\n", ""),
        ("{set: {A: b}}", "{set: {A: c}}"),
    ] {
        assert_eq!(differs((narrow, wide)), (1, true, false), "{wide}");
    }
    for (wide, narrow) in [
        ("[1, 5]", "[2, 5]"),
        ("decision: ask", "decision: deny"),
        ("\"-n, --number\"", "\"-n\""),
        ("\"0..\"", "1"),
        ("env: {set: {A: b}}", "env: {set: {A: b, C: d}}"),
        ("  ls:\n", "  ls:\n    double_dash: refuse\n"),
        ("  ls:\n", "  ls:\n    order: options_first\n"),
        ("  ls:\n", "  ls:\n    order: operands_first\n"),
        ("path: read}", "path: read, secret: true}"),
    ] {
        assert_eq!(differs((wide, narrow)), (0, false, true), "{narrow}");
    }
    assert_eq!(run(&place, &["policy", "diff", "git-readonly", "git-readonly"]).0, 0);
    assert_eq!(run(&place, &["policy", "diff", "p.yaml", "none.yaml"]).0, 2);
}

#[test]
fn diff_sees_what_types_ask_for_and_deny_and_where_files_may_be_missing() {
    let place = place();
    let diff = |old: &str, new: &str| {
        for (name, operand) in [("old.yaml", old), ("new.yaml", new)] {
            place.write(name, &format!("commands: {{x: {{options: {{-o: {operand}}}, operands: [{operand}]}}}}\n"));
        }
        run(&place, &["policy", "diff", "old.yaml", "new.yaml"]).0
    };
    for (narrow, wide) in [
        ("{path: {access: read, exists: true}}", "{path: read}"),
        ("{path: read, deny: {path: {access: read, under: [a/b/c]}}}", "{path: read}"),
        (
            "{path: read, deny: {path: {access: read, under: [c]}}}",
            "{path: read, ask: {path: {access: read, under: [c]}}}",
        ),
        (
            "{path: read, ask: {path: {access: read, under: [c, d]}}}",
            "{path: read, ask: {path: {access: read, under: [d]}}}",
        ),
        ("{path: {access: read, under: [/srv, a]}}", "{path: {access: read, under: [/srv, a, /home]}}"),
        ("{text: {}, deny: {one_of: [main, x]}}", "{text: {}, deny: {one_of: [x]}}"),
        ("{integer: [1, 9], ask: {integer: [5, 9]}}", "{integer: [1, 9], ask: {integer: [6, 9]}}"),
    ] {
        assert_eq!((diff(narrow, wide), diff(wide, narrow), diff(wide, wide)), (1, 0, 0), "{narrow}");
    }
    place.write(
        "r.yaml",
        "commands: {x: {operands: [{name: BRANCH, text: {}, deny: {one_of: [main]}, reason: not from here}]}}",
    );
    let (status, report) = json(&place, &["policy", "explain", "--json", "--policy", "r.yaml", "--", "x", "main"]);
    assert_eq!((status, &report["decision"]), (1, &"refused".into()));
    assert_eq!(report["reason"], "the operator does not allow `x main`: not from here");
    assert_eq!(report["words"][1]["what"], "BRANCH: a text; never `main`");
}

/// A recorded session of these calls, each answered with this text and as this kind of result.
fn session(calls: &[(&str, &str)]) -> String {
    let mut text = "transcript: 1\n\n".to_owned();
    for (id, (command, answer)) in calls.iter().enumerate() {
        let call = serde_json::json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "execute_command", "arguments": {"command": command}}});
        let answer = serde_json::json!({"jsonrpc": "2.0", "id": id,
            "result": {"content": [{"type": "text", "text": answer}], "isError": !answer.starts_with("exit_code: 0")}});
        text.push_str(&format!("--> {call}\n<-- {answer}\n"));
    }
    text + "==> eof\n<== exit 0\n"
}

#[test]
fn diff_sees_what_no_tried_line_shows() {
    let place = place();
    let diff = |old: &str, new: &str| {
        place.write("old.yaml", old);
        place.write("new.yaml", new);
        run(&place, &["policy", "diff", "old.yaml", "new.yaml"])
    };
    let write = |under: &str| format!("redirections: {{write: {{path: {{access: write, under: [{under}]}}}}}}\n");
    let x = |rule: &str| format!("commands: {{x: {{{rule}}}}}\n");
    let wider = |old: &str, new: &str| {
        let (status, text) = diff(old, new);
        assert!(status == 1 && text.starts_with("wider\n") && !text.contains("narrower"), "{status} {text}");
        let (status, text) = diff(new, old);
        assert!(status == 0 && text.starts_with("narrower\n"), "{status} {text}");
    };
    wider(&x(""), &x("env: {accept: {A: {text: {}}}}"));
    wider(&x("env: {accept: {A: {one_of: [a]}}}"), &x("env: {accept: {A: {text: {}}}}"));
    wider(&x("subcommands: {}"), &x("subcommands: {s: {env: {accept: {A: {text: {}}}}}}"));
    wider(&(write("a") + &x("")), &x(""));
    wider(&(write("a") + &x("")), &(write("a, b") + &x("")));
    for count in ["0..90", "0.."] {
        wider(&x("operands: [{path: read, count: 0..7}]"), &x(&format!("operands: [{{path: read, count: {count}}}]")));
    }
    wider(
        &x("operands: [{path: {access: read, under: [a], except: [k.pem]}}]"),
        &x("operands: [{path: {access: read, under: [a]}}]"),
    );
    let (_, text) = diff(&x("operands: [{path: read, count: 0..7}]"), &x("operands: [{path: read, count: 0..90}]"));
    assert_eq!(
        text.lines().nth(1).unwrap(),
        "  arguments of `x`: `x`: form 1, allow: a path, 0 to 7 times → `x`: form 1, allow: a path, 0 to 90 times"
    );
}

#[test]
fn diff_compares_recorded_calls_too() {
    let place = place();
    let rule = |name: &str| format!("version: 1\ncommands:\n  tool: {{operands: [{{text: {{chars: \"{name}\"}}}}]}}\n");
    place.write("a.yaml", &rule("a-z"));
    place.write("b.yaml", &rule("a-cx-z"));
    place.write("t", &session(&[("tool hello", "exit_code: 0")]));
    let (_, report) = json(&place, &["policy", "diff", "a.yaml", "b.yaml", "t"]);
    let recorded = report["narrower"].as_array().unwrap().iter().find(|change| change["from"] == "t, call 1");
    assert_eq!(recorded.unwrap()["argv"], serde_json::json!(["tool", "hello"]));
}

#[test]
fn suggest_allows_the_refused_calls_and_little_more() {
    let place = place();
    place.write(
        "t",
        &session(&[
            ("git log -n 5", "command `git` is not allowed"),
            ("git log -n 9 --oneline", "command `git` is not allowed"),
            ("tool 'free text' src/x", "command `tool` is not allowed"),
            ("sh -c id", "command `sh` is not allowed"),
            ("cat /etc/passwd", "outside"),
            ("ls -l", "exit_code: 0"),
            ("ls -n 3", "refused then, allowed by the policy now"),
        ]),
    );
    let (status, text) = run(&place, &["policy", "suggest", "t", "--policy", "p.yaml"]);
    assert_eq!(status, 0);
    for said in [
        "# sh: nothing suggested",
        "# cat /etc/passwd: nothing suggested",
        "# review: free text",
        "# review: read or write?",
        "profile git-readonly",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    place.write("s.yaml", &text);
    place.write(
        "cases",
        "{\"argv\":\"git log -n 7\",\"expect\":\"allow\"}\n{\"argv\":\"git log -n 10\",\"expect\":\"refuse\"}\n\
         {\"argv\":\"git log -p\",\"expect\":\"refuse\"}\n{\"argv\":\"git diff\",\"expect\":\"refuse\"}\n\
         {\"argv\":\"ls -l\",\"expect\":\"refuse\"}\n{\"argv\":\"tool 'other one' a/b\",\"expect\":\"allow\"}\n\
         {\"argv\":\"sh -c id\",\"expect\":\"refuse\"}\n",
    );
    let (status, report) = run(&place, &["policy", "test", "s.yaml", "--cases", "cases"]);
    assert_eq!(status, 0, "{report}\n{text}");
    let (_, report) = json(&place, &["policy", "suggest", "t", "--policy", "p.yaml"]);
    assert_eq!((&report["calls"], &report["commands"]), (&5.into(), &serde_json::json!(["git", "tool"])), "{report}");
    assert_eq!(run(&place, &["policy", "suggest", "none"]).0, 2);
    // Without settings, too: of the profiles that describe git, the first is the one to compare with.
    let (status, text) = run(&place, &["policy", "suggest", "t"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("`git` is also described in profile git-readonly"), "{text}");
}

#[test]
fn a_rule_is_suggested_for_one_command_and_a_value_is_no_subcommand() {
    let suggest = |flags: &[&str], command: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        let output = program.args(["policy", "suggest"]).args(flags).arg("--").args(command).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for command in [&["git", "add", "-A"][..], &["git add -A"]] {
        let text = suggest(&["--profile", "git-readonly"], command);
        assert!(text.contains("\"add\":") && text.contains("\"-A\""), "{text}");
        serde_yaml::from_str::<Value>(&text).unwrap();
    }
    let text = suggest(&[], &["git", "-C", "web", "status"]);
    assert!(!text.contains("\"web\":") && text.contains("\"status\":"), "{text}");
    // What is allowed already needs no rule.
    let text = suggest(&["--profile", "git-readonly"], &["git", "status"]);
    assert!(text.contains("0 refused calls") && !text.contains("commands:"), "{text}");
}

/// The policy with these lines added to the rule for a command: lists grow.
fn added(policy: &str, name: &str, lines: &str) -> String {
    let mut whole: serde_yaml::Value = serde_yaml::from_str(policy).unwrap();
    let more: serde_yaml::Value = serde_yaml::from_str(lines).unwrap();
    let rule = whole["commands"][name].as_mapping_mut().unwrap();
    for (key, value) in more["commands"][name].as_mapping().unwrap() {
        match (rule.get_mut(key), value) {
            (Some(serde_yaml::Value::Sequence(list)), serde_yaml::Value::Sequence(more)) => list.extend(more.clone()),
            _ => drop(rule.insert(key.clone(), value.clone())),
        }
    }
    serde_yaml::to_string(&whole).unwrap()
}

/// Whoever reads a refusal finds out what would allow it: a profile, a rule, or a setting.
#[test]
fn a_refusal_says_to_the_operator_what_would_allow_it() {
    let place = place();
    let profile = ["--profile", "git-readonly"];
    let says = |arguments: &[&str], expected: &str| {
        let (status, text) = run(&place, &[&["check"], arguments].concat());
        assert!(status == 1 && text.contains(expected), "{arguments:?}: {text}");
    };
    says(&["--allow", "ls", "--", "git", "log"], "to allow   take the profile git-readonly (`--profile git-readonly`)");
    says(
        &[&profile[..], &["--", "git", "commit", "-m", "x"]].concat(),
        "take the profile git-commit beside git-readonly",
    );
    says(
        &[&profile[..], &["--", "git", "push"]].concat(),
        "in place of `--profile git-readonly`, after a look at it:\n",
    );
    says(&[&profile[..], &["--", "git", "push"]].concat(), "                 \"push\": {}\n");
    says(&["--policy", "p.yaml", "--", "nope", "--flag"], "add to p.yaml, after a look at it:\n");
    says(&["--allow", "ls", "--", "FOO=1 make"], "`line_env: [FOO]`");
    says(&["--allow", "ls", "--lines", "on", "--", "ls | nope a"], "\"nope\":\n");
    // A program that starts others: what it does, and rules for these words and for any, each of which works.
    for (command, does) in [
        ("python3 -c x", "runs any code that a call gives it, so allowing it allows everything"),
        ("node -e x", "runs any code that a call gives it, so allowing it allows everything"),
        ("awk x", "runs any code that a call gives it, so allowing it allows everything"),
        ("xargs echo", "can start other programs by its own options, so allowing it allows them too"),
        ("find . -exec ls {} +", "can start other programs by its own options, so allowing it allows them too"),
    ] {
        let name = command.split(' ').next().unwrap();
        for (policy, is_described) in [
            ("version: 1\n".to_owned(), false),
            (
                format!(
                    "commands:\n  {name}:\n    program: {name}\n    syntax: operands\n    operands: [{{one_of: [-V]}}]\n"
                ),
                true,
            ),
            (format!("commands:\n  {name}:\n    options: {{-V: flag}}\n    env: {{set: {{A: b}}}}\n"), true),
        ] {
            place.write("own.yaml", &policy);
            let (status, said) = json(&place, &["check", "--json", "--policy", "own.yaml", "--", command]);
            let ways = said["allowing"].as_array().unwrap();
            assert!(status == 1 && !ways.is_empty(), "{command}: {said:#}");
            let all = ways.last().unwrap();
            let is_limited = name == "find" && is_described;
            let says_all = all["how"].as_str().unwrap().contains(&format!("for any call: `{name}` {does}"));
            assert!(says_all || is_limited, "{said:#}");
            let takes_any = all["policy"].as_str().unwrap();
            assert!(
                is_described
                    || takes_any.contains(&format!(
                        "{name}: any
"
                    )),
                "{said:#}"
            );
            for way in ways {
                let how = way["how"].as_str().unwrap();
                let lines = way["policy"].as_str().unwrap();
                let is_whole = how.contains("in place of the rule") || !is_described;
                place.write("followed.yaml", &if is_whole { lines.to_owned() } else { added(&policy, name, lines) });
                let (status, text) = run(&place, &["check", "--policy", "followed.yaml", "--", command]);
                assert!(status == 0 || text.contains("may run, but no such program"), "{command}: {text}\n{said:#}");
            }
        }
    }
    // What is added to a rule that was suggested is added until it works, however often.
    place.write("grown.yaml", "commands:\n  tool:\n    operands: [{one_of: [a]}]\n");
    for command in
        ["tool b", "tool", "tool 1 2", "tool -r 'a b'", "tool -r 'a longer text'", "tool --level=3", "tool --level=5 a"]
    {
        let (_, said) = json(&place, &["check", "--json", "--policy", "grown.yaml", "--", command]);
        let lines = said["allowing"][0]["policy"].as_str().unwrap_or_else(|| panic!("{command}: {said:#}"));
        let is_whole =
            said["allowing"][0]["how"].as_str().unwrap().contains("in place of the rule for `tool` in grown.yaml:");
        let policy = fs::read_to_string(place.0.path().join("grown.yaml")).unwrap();
        let whole = if is_whole { lines.to_owned() } else { added(&policy, "tool", lines) };
        let (_, suggested) = json(&place, &["policy", "suggest", "--json", "--policy", "grown.yaml", "--", command]);
        for whole in [suggested["policy"].as_str().unwrap(), &whole] {
            place.write("grown.yaml", whole);
            for command in ["tool a", command] {
                let (status, text) = run(&place, &["check", "--policy", "grown.yaml", "--", command]);
                assert!(status == 0 || text.contains("may run, but no such program"), "{command}: {text}\n{whole}");
            }
        }
    }
    // A rule that is there already is not suggested again.
    place.write("cat.yaml", "commands:\n  touch: {operands: [{path: write}]}\n");
    let (_, text) = run(&place, &["policy", "suggest", "--policy", "cat.yaml", "--", "touch .git/x"]);
    let said = "touch .git/x: nothing suggested: its rule takes these words already; `.git/x` lies in `.git`";
    assert!(text.contains(said) && !text.contains("commands:"), "{text}");
    // A rule without arguments, and one that adds to a rule of the file, are printed as they load.
    says(&["--policy", "p.yaml", "--", "scripts/create-deb.sh"], "               \"scripts/create-deb.sh\": {}\n");
    place.write("npm.yaml", "commands:\n  npm:\n    subcommands:\n      run: {operands: [{one_of: [test]}]}\n");
    says(
        &["--policy", "npm.yaml", "--", "npm pack --dry-run"],
        "               \"npm\":\n                 subcommands:\n                   \"pack\":\n",
    );
    // What the rule adds itself.
    let ruff = ["--profile", "python-tools", "--", "ruff check src --no-fix"];
    says(&ruff, "`ruff check` does not take `--no-fix`; its rule adds it to each call, so leave it out");
    says(&ruff, "to allow   leave out `--no-fix`: the rule for `ruff` adds it to each call\n");
    // What is not installed is not found afterwards, either.
    let missing = "install `nope`, which was not found in the directories of PATH, and add to p.yaml, after a look";
    says(&["--policy", "p.yaml", "--", "nope"], missing);
    says(&["--allow", "ls", "--", "./nope"], "make `./nope`, which is no executable file, and ");
    place.write("rg.yaml", "version: 1\ncommands:\n  rg: {program: not-there, extends: ripgrep}\n");
    says(&["--policy", "rg.yaml", "--", "rg --pre x"], "install `not-there`, which");
    // What a line gives it: something to read, and variables.
    let lines = ["--policy", "p.yaml", "--lines", "on", "--"];
    says(
        &[&lines[..], &["ls | yq .scripts"]].concat(),
        "\"yq\":\n                 stdin: true\n                 operands:",
    );
    place.write("yq.yaml", "commands:\n  ls: {}\n  yq:\n    operands: [{one_of: [.scripts]}]\n");
    let reads = ["--policy", "yq.yaml", "--lines", "on", "--", "ls | yq .scripts"];
    says(&reads, "add to the rule for `yq` in yq.yaml:3, after a look at it:\n");
    says(&reads, "\"yq\":\n                 stdin: true\n");
    says(
        &[&lines[..], &["A=1 RUST_BACKTRACE=1 ls -l"]].concat(),
        "to allow   let lines set A, RUST_BACKTRACE (`line_env: [A, RUST_BACKTRACE]`, `--line-env A,RUST_BACKTRACE`, or `env: {accept: …}` in a rule)\n",
    );
    says(&[&lines[..], &["CI=1 ls -z"]].concat(), "let lines set CI (`line_env: [CI]`, `--line-env CI`, ");
    // Beside a profile that a flag names, the file takes its place.
    says(
        &[&profile[..], &["--", "git", "push"]].concat(),
        "             profiles: [git-readonly]\n             commands:\n",
    );
    #[cfg(unix)]
    says(&["--allow", "ls", "--", "ls | wc"], "set `lines: on`");
    // Nothing is missing: what stands against it is something else.
    for arguments in [
        &["check", "--allow", "ls", "--", "ls", "x"][..],
        &["check", "--profile", "git-readonly", "--", "git", "status"],
        &["check", "--profile", "coreutils-readonly", "--", "cat", "/etc/passwd"],
        &["check", "--profile", "coreutils-readonly", "--with-input", "--", "ls", "-l"],
    ] {
        let (_, text) = run(&place, arguments);
        assert!(!text.contains("to allow"), "{arguments:?}: {text}");
    }
    let (_, said) = json(&place, &["check", "--json", "--profile", "git-readonly", "--", "git", "push"]);
    assert!(said["allowing"][0]["policy"].as_str().unwrap().contains("extends: git-readonly"), "{said}");
    // `call` says it to the operator, and not to the model.
    let call = ["call", "execute_command", r#"{"command":"git push"}"#, "--policy", "g.yaml"];
    place.write("g.yaml", "version: 1\ncommands:\n  git:\n    subcommands:\n      status: any\n");
    let output = allowexec(&place, &call);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("add to the rule for `git` in g.yaml:3: {commands: {git: {subcommands: {push: {}}}}}"),
        "{said}"
    );
    assert!(!String::from_utf8(output.stdout).unwrap().contains("commands:"));
}

#[cfg(unix)]
#[test]
fn rules_are_suggested_for_the_commands_of_a_line() {
    let place = place();
    let (status, text) =
        run(&place, &["policy", "suggest", "--allow", "ls", "--", "ls && FOO=1 nope a | other -b > x"]);
    assert_eq!(status, 0, "{text}");
    for expected in ["2 refused calls", "`lines: on`", "`line_env: [FOO]`", "\"nope\":", "\"other\":", "\"-b\": flag"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("\"ls\"") && !text.contains("\"FOO=1\""), "{text}");
    serde_yaml::from_str::<Value>(&text).unwrap();
    let (status, text) = run(&place, &["policy", "suggest", "--allow", "ls", "--", "ls $(id)"]);
    assert_eq!(status, 2, "{text}");
}

/// What lets a line set a variable is said by the refusal and by `policy suggest` alike, and works; so is what can't.
#[cfg(unix)]
#[test]
fn what_lets_a_line_set_a_variable_is_true() {
    let place = place();
    let rule = "commands:\n  ls:\n    options: {-l: flag}\n    env: {set: {SET: a}, unset: [GONE], accept: {TAKEN: {one_of: [a]}}}\n";
    place.write("v.yaml", rule);
    place.write("any.yaml", "commands:\n  ls: any\n");
    for (variable, says, is_open) in [
        ("OPEN=1", "`line_env: [OPEN]` in the configuration (`--line-env OPEN`)", true),
        ("TAKEN=b", "`line_env: [TAKEN]`", true),
        (
            "SET=b",
            "its rule sets it for each call, so no line sets it; leave it out, or ask for another value in the rule (`env: {set: {SET: …}}`)",
            false,
        ),
        (
            "GONE=b",
            "its rule removes it, so no line sets it; leave it out, or ask for one value for every call (`env: {set: {GONE: …}}` in the rule, in place of `GONE` in its `unset`)",
            false,
        ),
        (
            "POSIXLY_CORRECT=1",
            "it changes how the program reads the words that the rule describes; leave it out",
            false,
        ),
    ] {
        let line = format!("{variable} ls -l");
        let flags = ["--policy", "v.yaml", "--lines", "on"];
        let (status, text) = run(&place, &[&["check"], &flags[..], &["--", &line]].concat());
        assert!(status == 1 && text.contains(says), "{line}: {text}");
        assert_eq!(text.contains("to allow"), is_open, "{line}: {text}");
        let (_, suggested) = run(&place, &[&["policy", "suggest"], &flags[..], &["--", &line]].concat());
        let name = variable.split('=').next().unwrap();
        assert_eq!(suggested.contains("line_env: ["), is_open, "{line}: {suggested}");
        assert!(is_open || suggested.contains(says), "{line}: {suggested}");
        let followed = [&["check"], &flags[..], &["--line-env", name, "--", &line]].concat();
        assert_eq!(run(&place, &followed).0 == 0, is_open, "{line}");
    }
    place.write("v.yaml", &rule.replace("unset: [GONE]", "unset: []").replace("SET: a", "SET: a, GONE: b"));
    assert_eq!(run(&place, &["check", "--policy", "v.yaml", "--", "ls -l"]).0, 0);
    let any = [
        "check",
        "--policy",
        "any.yaml",
        "--lines",
        "on",
        "--line-env",
        "POSIXLY_CORRECT",
        "--",
        "POSIXLY_CORRECT=1 ls",
    ];
    assert_eq!(run(&place, &any).0, 0);
}

/// As its comment says, the suggestion stands in the place of the profile.
#[test]
fn what_is_suggested_beside_a_profile_allows_the_command_and_takes_nothing_away() {
    let place = place();
    for (profile, refused, others) in [
        ("git-commit", "git commit --trailer 'a b'", &["git add -A", "git commit -m x", "git log -n 5"][..]),
        ("git-commit", "git push origin main", &["git add -A", "git status"]),
        ("rust-develop", "cargo test --nope", &["cargo run", "cargo build"]),
        ("rust-develop", "cargo fmt --nope", &["cargo run", "cargo fmt"]),
        ("git-readonly", "git log --max-count 500000", &["git log -n 5", "git log -n 500000", "git log --max-count=5"]),
    ] {
        assert_eq!(run(&place, &["check", "--profile", profile, "--", refused]).0, 1, "{profile}: {refused}");
        let (status, text) = run(&place, &["policy", "suggest", "--profile", profile, "--", refused]);
        assert_eq!(status, 0, "{text}");
        place.write("s.yaml", &text);
        for command in others.iter().chain([&refused]) {
            let (status, said) = run(&place, &["check", "--policy", "s.yaml", "--", command]);
            assert_eq!(status, 0, "{profile}, {refused}: {command}: {said}\n{text}");
        }
    }
}

#[test]
fn import_prints_a_policy_that_loads_and_what_it_left_out() {
    let place = place();
    let rules = r#"{"permissions": {"allow": ["Bash(echo log:*)", "Bash(echo)"], "deny": ["Bash(echo log -f *)"]}}"#;
    place.write("settings.json", rules);
    let (status, text) = run(&place, &["policy", "import", "claude", "settings.json"]);
    assert_eq!(status, 0, "{text}");
    place.write("i.yaml", &text);
    for (command, status) in [("echo", 0), ("echo log x", 0), ("echo log -f", 1), ("echo x", 1)] {
        assert_eq!(run(&place, &["check", "--policy", "i.yaml", "--", command]).0, status, "{command}\n{text}");
    }
    // Another file may deny what one allows, and what is left out has its file and line.
    place.write("local.json", "{\"permissions\": {\n\"deny\": [\"Bash(* log)\"]}}");
    let (status, report) = json(&place, &["policy", "import", "claude", "settings.json", "local.json"]);
    assert_eq!((status, report["left_out"][0]["line"].as_u64()), (1, Some(2)), "{report:#}");
    place.write("i.yaml", report["policy"].as_str().unwrap());
    assert_eq!(run(&place, &["check", "--policy", "i.yaml", "--", "echo log x"]).0, 1);
    let (status, text) = run(&place, &["policy", "import", "claude", "settings.json", "local.json"]);
    assert!(
        status == 1 && text.contains("\n# Not taken:\n") && text.contains("# local.json:2: `Bash(* log)`: "),
        "{text}"
    );
    place.write("wrong.json", "{\"permissions\":\n{\"allow\": [], \"allow\": []}}");
    let (status, text) = run(&place, &["policy", "import", "claude", "wrong.json"]);
    assert_eq!((status, text.as_str()), (2, "allowexec: error: wrong.json:2: the key \"allow\" is there twice\n"));
    for (arguments, said) in [
        (&["policy", "import"][..], "needs one of claude, codex, gemini and opencode after `import`"),
        (&["policy", "import", "claude"], "needs a file after `import FORMAT`"),
        (
            &["policy", "import", "cursor", "x"],
            "unknown format `cursor`; the formats are claude, codex, gemini, opencode",
        ),
        (&["policy", "import", "codex", "none"], "cannot read `none`"),
    ] {
        let (status, text) = run(&place, arguments);
        assert!(status == 2 && text.contains(said), "{arguments:?}: {text}");
    }
}

#[test]
fn a_line_says_once_how_to_allow_what_its_commands_lack() {
    let place = place();
    let check = |line: &str| run(&place, &["check", "--allow", "ls", "--lines", "on", "--", line]).1;
    let same = check("mkdir a && touch b && mkdir a");
    assert_eq!((same.matches("coreutils-write").count(), same.matches("as for command 1").count()), (3, 2), "{same}");
    let of_one = check("nosuch plan | nosuch apply");
    assert!(of_one.contains("command 1 lacks a rule for `nosuch` too"), "{of_one}");
    let of_two = check("nosuch plan | other apply; ls");
    assert!(!of_two.contains("as for") && !of_two.contains("policy suggest"), "{of_two}");
}
