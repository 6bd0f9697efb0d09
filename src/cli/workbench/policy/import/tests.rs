//! The documented examples of each format, and random rules against a small model of each format.

use proptest::prelude::*;
use serde_json::json;

use super::{Format, import};
use crate::policy::rules::texts::run_example;
use crate::policy::rules::{Expected, PolicyText, Rules, decide_example};

/// An imported policy, loaded.
struct Policy {
    text: String,
    rules: Rules,
    /// `LINE: WHAT` of all that is missing.
    missing: Vec<String>,
    /// The same of what the policy says in another way.
    known: Vec<String>,
}

fn imported(format: Format, texts: &[&str]) -> Policy {
    let texts: Vec<(&str, String)> =
        ["a", "b", "c"].into_iter().zip(texts.iter().map(|text| (*text).to_owned())).collect();
    let (imported, text) = import(format, &texts).unwrap_or_else(|error| panic!("{error}: {texts:?}"));
    let rules = Rules::load(&[PolicyText { file: "p".into(), text: text.clone() }], &[], &[]);
    let rules = rules.unwrap_or_else(|error| panic!("{error}: {texts:?}\n{text}"));
    for example in rules.iter().flat_map(|rule| rule.examples.iter().map(move |example| (rule, example))) {
        assert!(run_example(example.0, example.1).is_as_expected, "{}\n{text}", example.1.line);
    }
    let of = |is_missing| {
        let all = imported.left_out.iter().filter(move |left_out| left_out.is_missing == is_missing);
        all.map(|left_out| format!("{}: {}", left_out.place.line, left_out.what)).collect()
    };
    Policy { text, rules, missing: of(true), known: of(false) }
}

impl Policy {
    /// Decides as a line does: that of a shell is read, unless a rule names the shell.
    fn decide(&self, words: &[String]) -> Expected {
        if let [shell, option, line] = words {
            let opens = ["bash", "/bin/sh"].contains(&shell.as_str()) && ["-c", "-lc"].contains(&option.as_str());
            if opens && self.rules.get(shell).is_none() {
                return self.decide(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
            }
        }
        let rule = words.first().and_then(|name| self.rules.get(name));
        rule.map_or(Expected::Refuse, |rule| decide_example(rule, words).decision)
    }

    #[track_caller]
    fn check(&self, expected: Expected, lines: &[&str]) {
        for line in lines {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(self.decide(&words), expected, "{line}\n{}", self.text);
        }
    }
}

fn claude(allow: &[&str], ask: &[&str], deny: &[&str]) -> Policy {
    imported(Format::Claude, &[&json!({"permissions": {"allow": allow, "ask": ask, "deny": deny}}).to_string()])
}

#[test]
fn claude_codes_own_examples_come_out_as_it_documents_them() {
    let policy = imported(
        Format::Claude,
        &[r#"{
  "permissions": {
    "allow": [
      "Bash(npm run lint)",
      "Bash(npm run test *)",
      "Read(~/.zshrc)"
    ],
    "deny": [
      "Bash(curl *)",
      "Read(./.env)",
      "Read(./secrets/**)"
    ]
  }
}"#],
    );
    policy.check(Expected::Allow, &["npm run lint", "npm run test", "npm run test -- x"]);
    policy.check(
        Expected::Refuse,
        &["npm run lint --fix", "npm run test:unit", "npm install", "curl x", "npm -s run lint"],
    );
    assert_eq!(policy.missing, ["6: Read(~/.zshrc)", "10: Read(./.env)", "11: Read(./secrets/**)"]);
    let policy = claude(
        &["Bash(npm *)", "Bash(gat commit:*)", "Bash(git * main)", "Bash(* --version)", "Bash(tool*)"],
        &[],
        &["Bash(gat push *)"],
    );
    policy.check(Expected::Allow, &["gat commit", "gat commit -m x", "tool", "tool x"]);
    policy.check(
        Expected::Refuse,
        &["gat push", "gat push x", "git checkout main", "tools", "node --version", "gat -C x commit"],
    );
    assert_eq!(policy.missing, ["1: Bash(git * main)", "1: Bash(* --version)", "1: Bash(tool*)"]);
    // Deny and ask beat allow, however narrow that is.
    let policy = claude(&["Bash(aws s3 ls)", "Bash(x y *)"], &["Bash(x *)"], &["Bash(aws *)"]);
    policy.check(Expected::Refuse, &["aws s3 ls"]);
    policy.check(Expected::Ask, &["x", "x y", "x y z"]);
    assert_eq!(policy.missing, [""; 0]);
}

#[test]
fn what_claude_code_does_not_decide_by_the_words_is_left_out() {
    let policy = claude(
        &[
            "Bash(find:*)",
            "Bash(ls *)",
            "Bash(rm *)",
            "Bash(cat README.md)",
            "Bash(cat ../x)",
            "Bash(grep -f/etc/x y)",
            "Bash(head -n *)",
            "Bash(timeout 5 x)",
            "Bash(bash *)",
            "Bash(A=1 x)",
            "Bash(cd *)",
            "Bash",
            "Bash(x \"a\")",
            "WebFetch",
        ],
        &["Bash(mv *)"],
        &[],
    );
    policy.check(Expected::Allow, &["ls -l", "cat README.md", "find . -name x", "rm x"]);
    policy.check(Expected::Ask, &["mv a b"]);
    policy.check(
        Expected::Refuse,
        &[
            "ls /etc",
            "rm /etc/x",
            "mv a /etc/x",
            "cat ../x",
            "grep -f/etc/x y",
            "head -n 5 x",
            "timeout 5 x",
            "bash -c x",
            "find . -delete",
            "find . -exec x",
        ],
    );
    assert_eq!(policy.missing.len(), 10, "{:?}", policy.missing);
    // A rule about files decides on the files that a command names.
    let policy = claude(&["Bash(ls *)", "Bash(cat .env)", "Bash(x *)"], &[], &["Read(.env)"]);
    policy.check(Expected::Refuse, &["ls", "cat .env"]);
    policy.check(Expected::Allow, &["x .env"]);
    let policy = claude(&["Bash(x *)", "Bash(y)"], &[], &["Bash"]);
    policy.check(Expected::Refuse, &["x", "y"]);
}

#[test]
fn a_rule_of_claude_code_about_a_parameter_is_listed_and_narrows_if_it_may_be_about_commands() {
    for (rule, expected) in [
        ("Bash(run_in_background:true)", Expected::Allow),
        ("Bash(timeout:*00)", Expected::Allow),
        ("Bash(command:tool publish*)", Expected::Refuse),
    ] {
        for policy in [claude(&["Bash(tool *)"], &[], &[rule]), claude(&["Bash(tool *)"], &[rule], &[])] {
            assert_eq!(policy.missing.first().map(String::as_str), Some(format!("1: {rule}").as_str()));
            let is_asked = expected == Expected::Refuse && policy.decide(&["tool".to_owned()]) == Expected::Ask;
            policy.check(if is_asked { Expected::Ask } else { expected }, &["tool publish"]);
        }
        let policy = claude(&[rule], &[], &[]);
        assert_eq!(policy.missing, [format!("1: {rule}")]);
    }
}

#[test]
fn a_name_of_tools_with_a_star_narrows_what_it_may_mean() {
    for (rule, narrows) in [
        ("B*", true),
        ("*sh", true),
        ("Ba*sh", true),
        ("**", true),
        ("B*(tool x)", true),
        ("mcp__*", false),
        ("Bash_*", false),
        ("*Shell", false),
    ] {
        let expected = if narrows { Expected::Refuse } else { Expected::Allow };
        claude(&["Bash(tool *)"], &[], &[rule]).check(expected, &["tool", "tool x"]);
        let asks = claude(&["Bash(tool *)"], &[rule], &[]);
        assert_eq!(asks.decide(&["tool".to_owned()]) == Expected::Allow, !narrows, "{rule}\n{}", asks.text);
        // One that allows grants nothing.
        claude(&[rule], &[], &[]).check(Expected::Refuse, &["tool"]);
    }
}

#[test]
fn programs_that_claude_code_asks_are_listed() {
    let hooks = json!({"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}]});
    let settings = json!({"hooks": hooks, "permissions": {"allow": ["Bash(tool *)"]}});
    let policy = imported(Format::Claude, &[&settings.to_string()]);
    assert_eq!(policy.missing, ["1: hooks.PreToolUse"]);
    policy.check(Expected::Allow, &["tool x"]);
}

#[test]
fn where_only_managed_rules_count_other_files_of_claude_code_allow_nothing() {
    let file = |more: serde_json::Value| {
        let mut settings = json!({"permissions": {"allow": ["Bash(x *)"], "deny": ["Bash(x y *)"]}});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        settings.to_string()
    };
    let other = json!({"permissions": {"allow": ["Bash(tool *)"], "deny": ["Bash(x z)"]}}).to_string();
    for (only, expected) in [(true, Expected::Refuse), (false, Expected::Allow)] {
        let managed = file(json!({"allowManagedPermissionRulesOnly": only}));
        for files in [[&managed, &other], [&other, &managed]] {
            let policy = imported(Format::Claude, &files.map(String::as_str));
            policy.check(expected, &["tool", "tool x"]);
            policy.check(Expected::Allow, &["x", "x a"]);
            policy.check(Expected::Refuse, &["x y", "x z"]);
        }
    }
}

#[test]
fn codexs_own_examples_become_rules_and_examples() {
    let policy = imported(
        Format::Codex,
        &[r#"
# Prompt before running commands with the prefix `gh pr view` outside the sandbox.
prefix_rule(
    # The prefix to match.
    pattern = ["gh", "pr", ["view", "list"]],
    # The action to take when Codex requests to run a matching command.
    decision = "prompt",
    justification = "Viewing PRs is allowed with approval",
    match = [
        "gh pr view 7888",
        ["gh", "pr", "list", "--repo", "openai/codex"],
    ],
    not_match = [
        # Does not match because the `pattern` must be an exact prefix.
        "gh pr --repo openai/codex view 7888",
        "ghx pr",
    ],
)
prefix_rule(pattern = ["git", "reset", "--hard"], decision = "forbidden", justification = "destructive operation",
    match = [["git", "reset", "--hard"]], not_match = [["git", "reset", "--keep"], "git reset --merge"])
prefix_rule(pattern = ["git"], match = ["git status"])
prefix_rule(["printenv"], match = [["printenv"], ["printenv", "PATH"]])
"#],
    );
    // As the profile describes them: without `--repo`.
    policy.check(Expected::Ask, &["gh pr view 1", "gh pr list"]);
    policy.check(Expected::Allow, &["git status", "git reset --keep", "printenv", "printenv PATH"]);
    policy.check(
        Expected::Refuse,
        &["gh pr --repo x view 1", "git reset --hard", "git reset --hard x", "git reset x --hard"],
    );
    for example in
        ["[\"gh\", \"pr\", \"view\", \"7888\"]", "[\"git\", \"reset\", \"--keep\"]", "[\"printenv\", \"PATH\"]"]
    {
        assert!(policy.text.contains(example), "{example}\n{}", policy.text);
    }
    assert_eq!(policy.rules.get("gh").unwrap().examples.len(), 2);
    assert_eq!(policy.missing, ["9: gh pr list --repo openai/codex"]);
}

#[test]
fn what_codex_may_forbid_otherwise_takes_out_everything() {
    let allow = "prefix_rule(pattern = [\"x\"])\n";
    for (more, is_allowed) in [
        ("", true),
        ("  \n\t# x\n", true),
        ("prefix_rule(pattern = [Y], decision = \"allow\")\n", false),
        ("prefix_rule(pattern = (\"y\", \"a\"))\n", false),
        ("prefix_rule(pattern = [\"y\" \"a\"])\n", false),
        ("prefix_rule(pattern = [\"y\"], \"allow\")\n", false),
        ("prefix_rule(pattern = [\"y\"], pattern = [\"z\"])\n", false),
        ("prefix_rule(pattern = [\"y\"], more = 1)\n", false),
        ("prefix_rule(pattern = [\"y\"], justification = None)\n", false),
        ("prefix_rule(pattern = [\"y\"], justification = \" \")\n", false),
        ("prefix_rule(pattern = [\"y\"], match = [\"\"])\n", false),
        ("prefix_rule(pattern = [\"y\"], match = [[]])\n", false),
        ("prefix_rule(pattern = [\"y\"], match = [\"y 'a\"])\n", false),
        (" prefix_rule(pattern = [\"y\"])\n", false),
        ("network_rule(host = \"a\")\n", true),
        ("prefix_rule(pattern = [\"y\"], decision = D)\n", false),
        ("prefix_rule(pattern = [\"x\"] + Y, decision = \"forbidden\")\n", false),
        ("prefix_rule(pattern = [\"y\"], decision = \"forbidden\", more = 1)\n", false),
        ("for y in [\"x\"]:\n    prefix_rule(pattern = [y], decision = \"forbidden\")\n", false),
        ("load(\"y\", \"z\")\n", false),
    ] {
        let policy = imported(Format::Codex, &[&format!("{allow}{more}")]);
        policy.check(if is_allowed { Expected::Allow } else { Expected::Refuse }, &["x a"]);
        assert_eq!(policy.missing.is_empty(), more.trim_start().is_empty() || more.contains("# x"), "{more}");
    }
    let rule = "prefix_rule(pattern = [[\"x\", \"y\"], \"a\"], ";
    for (more, is_read) in [
        ("match = [\"x a\", [\"y\", \"a\", \"b\"]], not_match = [\"x\", \"y b\"])", true),
        ("match = [\"/bin/x a\"], not_match = [\"/bin/x a\"])", true),
        ("match = [\"x b\"])", false),
        ("match = [\"x a\", [\"z\", \"a\"]])", false),
        ("not_match = [\"y a b\"])", false),
    ] {
        let text = format!("{rule}{more}");
        assert_eq!(import(Format::Codex, &[("a", text.clone())]).is_ok(), is_read, "{text}");
    }
    for wrong in
        ["prefix_rule()", "prefix_rule(pattern = [])", "prefix_rule(pattern = [\"x\"], decision = \"no\")", "f("]
    {
        assert!(import(Format::Codex, &[("a", wrong.to_owned())]).is_err(), "{wrong}");
    }
}

#[test]
fn gemini_clis_own_examples_and_priorities_hold() {
    let policy = imported(
        Format::Gemini,
        &[r#"
[[rule]]
toolName = "run_shell_command"
commandPrefix = "git"
decision = "ask_user"
priority = 100

[[rule]]
toolName = ["run_shell_command", "read_file"]
commandPrefix = ["git status", "git log"]
decision = "allow"
priority = 200

[[rule]]
toolName = "run_shell_command"
commandPrefix = "rm -rf"
decision = "deny"
denyMessage = "Deletion is permanent"
priority = 100

[[rule]]
toolName = "run_shell_command"
commandPrefix = "rm"
decision = "allow"
priority = 50

[[rule]]
toolName = "run_shell_command"
commandRegex = "npm (install|publish)"
decision = "deny"
priority = 999

[[rule]]
toolName = "run_shell_command"
commandPrefix = ["npm", "npx x", "yarn "]
decision = "allow"
priority = 1

[[rule]]
toolName = "*"
decision = "ask_user"
priority = 0
"#],
    );
    policy.check(Expected::Allow, &["git status", "git log -p", "rm x"]);
    policy.check(Expected::Ask, &["git", "git push", "git -C x log"]);
    policy.check(Expected::Refuse, &["rm -rf", "rm -rf /", "rm x -rf", "npm install", "npm test", "npx x", "yarn"]);
    let prefix = "toolName = \"run_shell_command\"\ncommandPrefix = \"x\"\ndecision = \"allow\"\n";
    for (more, is_allowed) in [
        ("priority = 1", true),
        ("priority = 1\nallowRedirection = true", true),
        ("", false),
        ("priority = 1\nmodes = [\"yolo\"]", false),
        ("priority = 1\n[[rule]]\ndecision = \"deny\"\npriority = 1", false),
        ("priority = 1\n[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 0", true),
        // Gemini CLI rejects the file.
        ("priority = 1000", false),
        ("priority = -1", false),
        ("priority = 1.5", false),
        ("priority = 1\n[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\npriority = 1000", false),
        ("priority = 1\n[[rule]]\ndecision = \"deny\"\npriority = 0", false),
        ("priority = 1\n[rule.toolAnnotations]\nreadOnlyHint = true", false),
        ("priority = 1\n[[safety_checker]]\ntoolName = \"run_shell_command\"", false),
        (
            "priority = 1\n[[safety_checker]]\ntoolName = [\"write_file\", \"*\"]\ncommandPrefix = \"x a\"\npriority = 5",
            false,
        ),
        ("priority = 1\n[[safety_checker]]\ntoolName = \"run_shell_command\"\ncommandRegex = \"x.*a\"", false),
        (
            "priority = 1\n[[safety_checker]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"y\"\n[safety_checker.checker]\ntype = \"external\"\nname = \"z\"\n[[safety_checker]]\ntoolName = \"write_file\"\nchecker.type = \"external\"\nchecker.name = \"z\"",
            true,
        ),
        // Gemini CLI takes no rule of a file with such a check.
        ("priority = 1\n[[safety_checker]]\ntoolName = \"write_file\"", false),
        (
            "priority = 1\n[[safety_checker]]\ntoolName = \"write_file\"\n[safety_checker.checker]\ntype = \"z\"\nname = \"z\"",
            false,
        ),
        ("priority = 1\n[[safety_checker]]\n[safety_checker.checker]\ntype = \"external\"\nname = \"z\"", false),
        (
            "priority = 1\n[[rule]]\ntoolName = \"run_shell_command\"\nargsPattern = \"y\"\ndecision = \"deny\"\npriority = 2",
            false,
        ),
        ("priority = 1\n[[rule]]\ntoolName = \"mcp_*\"\ndecision = \"deny\"\npriority = 2", true),
        ("priority = 1\n[[rule]]\ntoolName = \"run_*\"\ndecision = \"deny\"\npriority = 2", false),
        ("priority = 1\n[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\npriority = 2", true),
        (
            "priority = 1\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = \"xy*z\"\ndecision = \"deny\"\npriority = 2",
            false,
        ),
        (
            "priority = 1\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = \"yx\"\ndecision = \"deny\"\npriority = 2",
            true,
        ),
        (
            "priority = 1\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = \"y|x\"\ndecision = \"deny\"\npriority = 2",
            false,
        ),
    ] {
        let policy = imported(Format::Gemini, &[&format!("[[rule]]\n{prefix}{more}\n")]);
        policy.check(if is_allowed { Expected::Allow } else { Expected::Refuse }, &["x a"]);
    }
}

#[test]
fn what_gemini_cli_takes_for_no_rule_of_its_shell_allows_nothing() {
    for (rule, came) in [
        ("[[rule]]\ntoolName = \"run_shell_command\"", Expected::Allow),
        ("[[rule]]\ntoolName = [\"run_shell_command\", \"glob\"]", Expected::Allow),
        ("[[rule]]\ntoolName = \"ShellTool\"", Expected::Refuse),
        ("[rule]\ntoolName = \"run_shell_command\"", Expected::Refuse),
    ] {
        let text = format!("{rule}\ncommandPrefix = \"tool\"\ndecision = \"allow\"\npriority = 1\n");
        imported(Format::Gemini, &[&text]).check(came, &["tool x"]);
    }
    // One value that its schema does not take is enough for the whole file.
    for (key, came) in [
        ("denyMessage = \"x\"", Expected::Allow),
        ("denyMessage = 3", Expected::Refuse),
        ("allowRedirection = true", Expected::Allow),
        ("allowRedirection = \"yes\"", Expected::Refuse),
        ("interactive = 1", Expected::Refuse),
        ("modes = [\"plan\", \"yolo\"]", Expected::Allow),
        ("modes = \"plan\"", Expected::Refuse),
        ("modes = [\"nowhere\"]", Expected::Refuse),
        ("mcpName = []", Expected::Refuse),
        ("commandRegex = 1", Expected::Refuse),
        ("description = 1", Expected::Allow),
    ] {
        let rule = |prefix: &str, more: &str| {
            format!(
                "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"{prefix}\"\ndecision = \"allow\"\npriority = 1\n{more}\n"
            )
        };
        imported(Format::Gemini, &[&(rule("tool", "") + &rule("other", key))]).check(came, &["tool x"]);
    }
}

#[test]
fn opencodes_own_examples_hold_and_overlaps_that_depend_on_order_are_left_out() {
    let policy = imported(
        Format::Opencode,
        &[r#"{
  "$schema": "https://opencode.ai/config.json", // comments are fine
  "permission": {
    "*": "ask",
    "bash": {
      "*": "ask",
      "git *": "allow",
      "npm *": "allow",
      "rm *": "deny",
      "grep *": "allow",
      "git commit *": "deny",
      "git push *": "deny",
    },
    "edit": {"*": "deny", "packages/web/src/content/docs/*.mdx": "allow"}
  }
}"#],
    );
    policy.check(Expected::Allow, &["git", "git status", "npm test", "grep x README.md"]);
    policy
        .check(Expected::Refuse, &["git commit -m x", "git push", "git -C x push", "rm x", "grep x /etc/passwd", "ls"]);
    assert_eq!(policy.missing, ["4: *", "6: *", "14: edit"], "{}", policy.text);
    let of =
        |patterns: &str| imported(Format::Opencode, &[&format!("{{\"permission\": {{\"bash\": {{{patterns}}}}}}}")]);
    // A later one that is narrower decides.
    let policy = of(r#""x *": "ask", "x y *": "allow""#);
    policy.check(Expected::Allow, &["x y", "x y z"]);
    policy.check(Expected::Ask, &["x", "x z"]);
    // A later one that is wider does not lift what is before it.
    let policy = of(r#""x y *": "deny", "x *": "allow""#);
    policy.check(Expected::Refuse, &["x y", "x y z"]);
    policy.check(Expected::Allow, &["x", "x z"]);
    let policy = of(r#""x y?": "deny", "x *": "allow""#);
    policy.check(Expected::Refuse, &["x yz", "x z"]);
    let policy = of(r#""x *": "allow", "*": "deny""#);
    policy.check(Expected::Refuse, &["x"]);
    let policy = imported(Format::Opencode, &[r#"{"permission": {"bash": "allow"}}"#]);
    policy.check(Expected::Refuse, &["x"]);
    assert_eq!(policy.missing, ["1: *"]);
}

#[test]
fn what_any_agent_of_opencode_denies_or_asks_about_holds() {
    let of = |more: &str| {
        let text = format!(r#"{{"permission": {{"bash": {{"tool *": "allow", "a *": "ask"}}}}, {more}}}"#);
        imported(Format::Opencode, &[&text])
    };
    for (more, expected) in [
        (r#""agent": {"build": {"permission": {"bash": "deny"}}}"#, Expected::Refuse),
        (r#""agent": {"build": {"permission": "ask"}}"#, Expected::Ask),
        (r#""agent": {"x": {"permission": {"bash": {"tool p *": "deny"}}}}"#, Expected::Refuse),
        (r#""agent": {"x": {"permission": {"b*": "deny"}}}"#, Expected::Refuse),
        (r#""agent": {"*": {"permission": {"bash": {"*": "deny", "tool *": "ask"}}}}"#, Expected::Ask),
        (r#""agent": {"x": {"permission": {"bash": {"*": "deny", "tool *": "allow"}}}}"#, Expected::Allow),
        (r#""agent": {"x": {"permission": {"edit": "deny"}}}"#, Expected::Allow),
        (r#""agent": {"build": {"tools": {"bash": false}}}"#, Expected::Refuse),
        (r#""mode": {"build": {"tools": {"*": false}}}"#, Expected::Refuse),
        (r#""tools": {"*": false}"#, Expected::Refuse),
        (r#""permissions": [{"action": "shell", "resource": "tool *", "effect": "deny"}]"#, Expected::Refuse),
    ] {
        of(more).check(expected, &["tool p", "tool p x"]);
    }
    // An agent's own permissions grant nothing, and lift nothing.
    let policy = of(r#""agent": {"build": {"permission": {"bash": {"*": "allow", "b *": "ask"}}}}"#);
    policy.check(Expected::Refuse, &["b", "c"]);
    policy.check(Expected::Ask, &["a"]);
    policy.check(Expected::Allow, &["tool"]);
    // opencode asks about paths outside of the project, whatever one agent may.
    let policy = imported(
        Format::Opencode,
        &[
            r#"{"permission": {"bash": {"rm *": "allow"}}, "agent": {"x": {"permission": {"external_directory": "allow"}}}}"#,
        ],
    );
    policy.check(Expected::Refuse, &["rm /etc/x"]);
}

#[test]
fn opencode_asks_about_paths_outside_unless_no_file_says_otherwise() {
    let commands = r#""bash": {"chown *": "allow", "x *": "allow"}"#;
    let file = |outside: &str| format!(r#"{{"permission": {{{outside}{commands}}}}}"#);
    let lets = r#""external_directory": "allow", "#;
    let asks = format!(r#"{lets}"ext*": "ask", "#);
    let [silent, lets, asks] = ["", lets, &asks].map(file);
    for (files, is_bound) in [
        (vec![&silent], true),
        (vec![&lets], false),
        (vec![&lets, &silent], false),
        // Which file counts more depends on where it is.
        (vec![&asks, &lets], true),
        (vec![&lets, &asks], true),
    ] {
        let texts: Vec<&str> = files.iter().map(|text| text.as_str()).collect();
        let policy = imported(Format::Opencode, &texts);
        policy.check(if is_bound { Expected::Refuse } else { Expected::Allow }, &["chown a /etc/passwd"]);
        policy.check(Expected::Allow, &["x"]);
    }
}

#[test]
fn a_command_of_a_profile_is_extended_and_no_wider_than_the_entry() {
    let policy = claude(&["Bash(git log:*)", "Bash(git diff *)"], &["Bash(kubectl get *)"], &[]);
    assert!(policy.text.contains("extends: git-readonly") && policy.text.contains("#     log: any"), "{}", policy.text);
    policy.check(Expected::Allow, &["git log", "git log -n 5", "git diff HEAD"]);
    policy.check(Expected::Ask, &["kubectl get pods"]);
    policy.check(
        Expected::Refuse,
        &[
            "git log --output=x",
            "git status",
            "git",
            "git --version",
            "git --no-pager log",
            "git -P log",
            "git -P= log",
            "git -Px log",
            "git --no-pager=x log",
            "git push",
            "kubectl describe pod x",
            "kubectl -n x get pods",
            "kubectl --namespace=x get pods",
        ],
    );
    let policy = claude(
        &["Bash(gh pr view *)", "Bash(gh pr list:*)", "Bash(kubectl config get-contexts *)"],
        &["Bash(gh run list *)"],
        &[],
    );
    assert_eq!(policy.text.matches("extends: ").count(), 2, "{}", policy.text);
    policy.check(Expected::Allow, &["gh pr view 1", "kubectl config get-contexts"]);
    policy.check(Expected::Ask, &["gh run list"]);
    policy.check(
        Expected::Refuse,
        &["gh pr diff 1", "gh pr", "gh run view 1", "gh issue list", "gh pr -R x/y view 1", "kubectl config view"],
    );
    // No profile has both, so it is as the entries say.
    let policy = claude(&["Bash(git log:*)", "Bash(git push)"], &[], &[]);
    assert!(!policy.text.contains("extends:"), "{}", policy.text);
    policy.check(Expected::Allow, &["git log --output=x", "git push"]);
}

#[test]
fn what_is_not_taken_leaves_nothing_wider_in_its_place() {
    // A question that can't be asked is a denial, for lines that a wider entry would allow.
    let policy = claude(&["Bash"], &["Bash(rm:*)"], &["Bash(rm -rf *)", "Read(./.env)"]);
    policy.check(Expected::Refuse, &["rm -rf src", "rm -fr src", "rm x", "rm", "x"]);
    let policy = claude(&["Bash"], &["Bash(rm:*)"], &["Bash(rm -rf *)"]);
    policy.check(Expected::Ask, &["rm -fr src", "rm x"]);
    policy.check(Expected::Refuse, &["rm -rf src"]);
    let policy = claude(&["Bash", "Bash(ls)"], &["Bash(cp *)"], &["Bash(cp -f *)", "Bash(cat -v *)", "Edit(./x)"]);
    policy.check(Expected::Refuse, &["cp a b", "cp -f a b", "cat .env", "cat -v x", "ls x"]);
    // A person is asked there about paths outside of the project.
    let policy = claude(&["Bash"], &[], &["Bash(rm -rf *)", "Bash(cat -v *)"]);
    policy.check(Expected::Refuse, &["rm -rf x", "rm /etc/x", "cat -v x"]);
    let policy = claude(&["Bash", "Bash(xargs a)"], &["Bash(xargs *)"], &[]);
    policy.check(Expected::Refuse, &["xargs rm x", "xargs a"]);
    let long = format!("x y{}", " z".repeat(100));
    let policy = claude(&["Bash(x *)"], &[&format!("Bash({long})")], &[]);
    policy.check(Expected::Refuse, &[&long, "x y"]);
}

#[test]
fn blanks_that_separate_no_words_make_no_denial_narrower() {
    for pattern in
        ["tool  publish *", " tool publish *", "tool publish  *", "tool publish :*", "tool  publish:*", "tool  pub*"]
    {
        let policy = claude(&["Bash(tool *)"], &[], &[&format!("Bash({pattern})")]);
        policy.check(Expected::Refuse, &["tool publish x", "tool publish"]);
        let policy = claude(&["Bash(tool *)"], &[&format!("Bash({pattern})")], &[]);
        policy.check(Expected::Refuse, &["tool publish x", "tool publish"]);
        assert!(policy.missing.contains(&format!("1: Bash({pattern})")), "{pattern}: {:?}", policy.missing);
    }
    let policy = claude(&["Bash(tool:*)"], &[], &["Bash(tool  publish *)"]);
    policy.check(Expected::Allow, &["tool", "tool x"]);
    let policy = claude(&["Bash(gat log:*)"], &[], &["Bash(gat  log *)"]);
    policy.check(Expected::Refuse, &["gat log", "gat log x"]);
    for (pattern, line) in
        [("tool publish ", "tool publish"), (" ", "tool x"), ("tool  \"x", "tool x"), (":*", "tool x")]
    {
        let policy = claude(&["Bash(tool *)"], &[], &[&format!("Bash({pattern})")]);
        policy.check(Expected::Refuse, &[line]);
    }
    // A question lifts no denial of the same words.
    let of =
        |patterns: &str| imported(Format::Opencode, &[&format!("{{\"permission\": {{\"bash\": {{{patterns}}}}}}}")]);
    of(r#""tool *": "allow", "tool  publish *": "deny""#).check(Expected::Refuse, &["tool publish x"]);
    let policy = of(r#""tool *": "allow", "tool publish *": "deny", "tool  publish *": "ask""#);
    policy.check(Expected::Refuse, &["tool publish x"]);
    let policy = of(r#""tool  publish *": "deny", "tool publish *": "allow""#);
    policy.check(Expected::Refuse, &["tool publish x"]);
    let policy = of(r#""tool  publish *": "allow""#);
    policy.check(Expected::Refuse, &["tool publish x"]);
    assert_eq!(policy.missing, ["1: tool  publish *"]);
}

#[test]
fn what_is_denied_of_commands_that_lines_run_themselves_is_listed_and_no_rule() {
    let names = ["cd", "true", "false", ":", "exit"];
    for name in names {
        for (pattern, words) in
            [(format!("{name} *"), vec![name]), (name.to_owned(), vec![name]), (format!("{name} x"), vec![name, "x"])]
        {
            let rule = format!("Bash({pattern})");
            let gemini = |decision: &str| {
                format!(
                    "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"{}\"\ndecision = \"{decision}\"\npriority = 1\n",
                    words.join(" ")
                )
            };
            let codex =
                |decision: &str| format!("prefix_rule(pattern = {}, decision = \"{decision}\")\n", json!(words));
            for policy in [
                claude(&["Bash(tool *)"], &[], &[&rule]),
                claude(&["Bash(tool *)"], &[&rule], &[]),
                imported(Format::Gemini, &[&gemini("deny")]),
                imported(Format::Gemini, &[&gemini("ask_user")]),
                imported(Format::Codex, &[&codex("forbidden")]),
                imported(Format::Codex, &[&codex("prompt")]),
                imported(Format::Opencode, &[&json!({"permission": {"bash": {pattern.as_str(): "deny"}}}).to_string()]),
            ] {
                assert!(policy.rules.get(name).is_none(), "{pattern}\n{}", policy.text);
                assert_eq!(policy.missing.len(), 1, "{pattern}: {:?}", policy.missing);
            }
        }
    }
    // Where no lines are read, they are programs.
    let policy = claude(&["Bash(true *)", "Bash(cd *)"], &["Bash(true y)"], &["Bash(true x)"]);
    policy.check(Expected::Allow, &["true", "true z"]);
    policy.check(Expected::Refuse, &["true x", "true y", "cd x"]);
    assert_eq!(policy.missing, ["1: Bash(cd *)", "1: Bash(true y)", "1: Bash(true x)"]);
    // Others are programs for lines, too, and refused because nothing allows them.
    let policy = claude(&["Bash(tool *)"], &[], &["Bash(pwd)", "Bash(a b *)", "Bash(curl *)"]);
    assert_eq!(
        (&policy.missing[..], &policy.known[..]),
        (&[][..], &["1: Bash(pwd)".to_owned(), "1: Bash(a b *)".to_owned()][..])
    );
}

#[test]
fn the_line_of_a_shell_is_read_only_where_the_source_allows_it() {
    let all = [
        "bash",
        "/bin/bash",
        "/usr/bin/bash",
        "sh",
        "/bin/sh",
        "/usr/bin/sh",
        "dash",
        "/bin/dash",
        "/usr/bin/dash",
        "zsh",
        "/bin/zsh",
        "/usr/bin/zsh",
    ];
    let denied =
        |policy: &Policy| -> Vec<&str> { all.into_iter().filter(|shell| policy.rules.get(shell).is_some()).collect() };
    let policy = claude(&["Bash(tool *)"], &[], &[]);
    assert_eq!(denied(&policy), all, "{}", policy.text);
    policy.check(Expected::Refuse, &["bash -c tool", "/usr/bin/zsh -lc tool", "sh"]);
    assert_eq!(policy.missing, [""; 0]);
    for policy in [
        claude(&["Bash(tool *)"], &["Bash(bash *)"], &[]),
        claude(&["Bash(tool *)", "Bash(bash *)"], &["Bash(bash -c *)"], &[]),
        imported(Format::Codex, &["prefix_rule(pattern=['tool'])\nprefix_rule(pattern=['bash'], decision='prompt')"]),
    ] {
        assert_eq!(denied(&policy), all, "{}", policy.text);
        policy.check(Expected::Refuse, &["bash -c tool", "/bin/bash -lc tool"]);
        assert!(!policy.missing.is_empty());
    }
    // Who allows a shell allows the line, each command of which is still decided on.
    let policy = claude(&["Bash(tool *)", "Bash(bash *)"], &[], &[]);
    assert_eq!(denied(&policy), all[1..], "{}", policy.text);
    policy.check(Expected::Allow, &["bash -c tool"]);
    assert_eq!(denied(&claude(&["Bash(tool *)", "Bash"], &[], &[])), [""; 0]);
    // Where nothing is allowed there is nothing to deny.
    assert_eq!(denied(&claude(&["Bash(x $y)"], &[], &["Bash(tool *)"])), [""; 0]);
}

#[test]
fn nothing_in_a_source_ends_a_comment_or_a_string() {
    let policy = claude(
        &["Bash(git log\nversion: 2)", "X\ncommands: {ksh: any}", "Bash(x:y *)"],
        &[],
        &["Bash(a\u{2028}b *)", "Bash(x # *)"],
    );
    assert!(!policy.text.contains("version: 2") && policy.rules.get("ksh").is_none());
    let policy = imported(Format::Codex, &["prefix_rule(pattern = ['a b', '\"', '\\n', '- x: {'])"]);
    assert_eq!(policy.decide(&["a b", "\"", "\n", "- x: {"].map(str::to_owned)), Expected::Refuse, "{}", policy.text);
    let policy = imported(Format::Codex, &["prefix_rule(pattern = ['ab', '\"', '\\n', '- x: {', ''])"]);
    assert_eq!(
        policy.decide(&["ab", "\"", "\n", "- x: {", "", "y"].map(str::to_owned)),
        Expected::Allow,
        "{}",
        policy.text
    );
}

#[test]
fn entries_of_very_many_words_and_very_many_entries_are_not_taken() {
    let long = format!("x y{}", " z".repeat(100_000));
    let policy = claude(&[&format!("Bash({long})"), "Bash(x *)"], &[], &[]);
    policy.check(Expected::Allow, &["x y"]);
    assert_eq!(policy.missing.len(), 1);
    let policy = claude(&["Bash(x *)", "Bash(a b *)"], &[], &[&format!("Bash({long})")]);
    policy.check(Expected::Refuse, &["x", "x y"]);
    policy.check(Expected::Allow, &["a b"]);
    let many = vec!["Bash(x)"; 10_001];
    let text = json!({"permissions": {"allow": many}}).to_string();
    let error = import(Format::Claude, &[("a", text)]).map(|_| ()).unwrap_err();
    assert_eq!(error, "too many entries: 10001 of at most 10000");
}

/// The decision of a source, the stricter the higher. A line that nothing matches counts as refused.
const ALLOW: u8 = 0;
const ASK: u8 = 1;
const REFUSE: u8 = 2;
const EFFECTS: [u8; 3] = [ALLOW, ASK, REFUSE];

fn rank(came: Expected) -> u8 {
    match came {
        Expected::Allow => ALLOW,
        Expected::Ask => ASK,
        Expected::Refuse => REFUSE,
    }
}

/// Whether a text matches a pattern in which `*` is any text and, if `has_question`, `?` any character; ` *` at the end also nothing.
fn matches(pattern: &str, text: &str, has_question: bool) -> bool {
    fn glob(pattern: &[u8], text: &[u8], has_question: bool) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), _) => {
                glob(rest, text, has_question)
                    || text.split_first().is_some_and(|(_, text)| glob(pattern, text, has_question))
            }
            (Some((b'?', rest)), Some((_, text))) if has_question => glob(rest, text, has_question),
            (Some((one, rest)), Some((other, text))) => one == other && glob(rest, text, has_question),
            (Some(_) | None, _) => false,
        }
    }
    glob(pattern.as_bytes(), text.as_bytes(), has_question)
        || pattern.strip_suffix(" *").is_some_and(|pattern| glob(pattern.as_bytes(), text.as_bytes(), has_question))
}

fn starts_at_a_boundary(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Words that make overlaps, options, and commands of profiles.
const WORDS: [&str; 13] =
    ["-c", "git", "log", "push", "x", "-f", "--no-pager", "ls", "kubectl", "get", "-n", "y", "status"];

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&WORDS[..])
}

fn line() -> impl Strategy<Value = Vec<String>> {
    let first = prop::sample::select(&["git", "x", "ls", "kubectl", "y"][..]);
    let shell =
        prop::option::weighted(0.2, prop::sample::select(&[("bash", "-c"), ("bash", "-lc"), ("/bin/sh", "-c")][..]));
    (first, prop::collection::vec(word(), 0..4), shell).prop_map(|(first, rest, shell)| {
        let words: Vec<String> = std::iter::once(first).chain(rest).map(str::to_owned).collect();
        match shell {
            Some((shell, option)) => vec![shell.to_owned(), option.to_owned(), words.join(" ")],
            None => words,
        }
    })
}

/// The text of a line with these words.
fn text(words: &[String], blanks: &str) -> String {
    let quoted = |word: &String| if word.contains(' ') { format!("'{word}'") } else { word.clone() };
    words.iter().map(quoted).collect::<Vec<_>>().join(blanks)
}

/// Patterns of text: words, with `*` and `?` at some places.
fn pattern() -> impl Strategy<Value = String> {
    let piece = prop_oneof![6 => word().prop_map(str::to_owned), 1 => Just("*".to_owned()), 1 => word().prop_map(|word| format!("{word}*"))];
    let end = prop::sample::select(&["", "", " *", " *", ":*", "*", "?", " ", " :*"][..]);
    let first =
        prop::sample::select(&["git", "git", "x", "x", "ls", "kubectl", "*", "rm", " x", "", "bash", "/bin/sh"][..]);
    (first, prop::collection::vec(piece, 0..3), blanks(), end).prop_map(|(first, rest, blanks, end)| {
        std::iter::once(first.to_owned()).chain(rest).collect::<Vec<_>>().join(blanks) + end
    })
}

fn blanks() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&[" ", " ", " ", "  "][..])
}

/// Texts of a line with these words: the number of blanks makes no difference to them.
fn texts(words: &[String]) -> [String; 4] {
    let line = text(words, " ");
    [text(words, "  "), format!(" {line}"), format!("{line} "), line]
}

/// The decision of a source that compares text: for the words with single blanks, and for the other texts of the line what an entry says
/// that is not about these. `decides` returns an effect and the number of the entry that it comes from.
fn meant(
    words: &[String],
    decides: impl Fn(&str) -> Option<(u8, usize)>,
    is_about: impl Fn(usize, &str) -> bool,
) -> u8 {
    let line = text(words, " ");
    let texts = texts(words);
    let others = texts.iter().filter_map(|text| decides(text)).filter(|(_, number)| !is_about(*number, &line));
    let own = decides(&line).map_or(REFUSE, |(effect, _)| effect);
    others.map(|(effect, _)| effect).fold(own, u8::max)
}

fn words_pattern() -> impl Strategy<Value = Vec<Vec<String>>> {
    let alternatives = || prop::collection::vec(word().prop_map(str::to_owned), 1..3);
    let first = prop::sample::select(&["git", "x", "ls", "kubectl", "bash"][..]).prop_map(|word| vec![word.to_owned()]);
    (first, prop::collection::vec(alternatives(), 0..3))
        .prop_map(|(first, rest)| std::iter::once(first).chain(rest).collect())
}

/// The kind of a table of Gemini CLI that is no rule but a checker.
const CHECKER: u8 = 6;

fn gemini_priority() -> impl Strategy<Value = i64> {
    prop_oneof![20 => 0..4_i64, 1 => Just(1000)]
}

fn gemini_prefix() -> impl Strategy<Value = Vec<&'static str>> {
    let first = prop_oneof![6 => word(), 1 => Just("bash")];
    (first, prop::collection::vec(word(), 0..3)).prop_map(|(first, rest)| std::iter::once(first).chain(rest).collect())
}

fn effect() -> impl Strategy<Value = u8> {
    prop::sample::select(&EFFECTS[..])
}

/// Checks that the policy is nowhere laxer than the source.
fn is_narrower(policy: &Policy, lines: &[Vec<String>], source: impl Fn(&[String]) -> u8) -> Result<(), TestCaseError> {
    for words in lines {
        let (came, meant) = (rank(policy.decide(words)), source(words));
        prop_assert!(came >= meant, "{words:?}: {came} instead of {meant}\n{}", policy.text);
    }
    Ok(())
}

fn lines() -> impl Strategy<Value = Vec<Vec<String>>> {
    prop::collection::vec(line(), 40)
}

proptest! {
    #[test]
    fn no_line_is_laxer_than_in_claude_code(
        rules in prop::collection::vec((pattern(), effect()), 1..6),
        file in prop::option::of(prop::sample::select(&["Read(./x)", "Edit"][..])),
        lines in lines(),
    ) {
        let of = |wanted: u8| -> Vec<String> {
            rules.iter().filter(|(_, effect)| *effect == wanted).map(|(pattern, _)| format!("Bash({pattern})")).collect()
        };
        let denied: Vec<String> = of(REFUSE).into_iter().chain(file.map(str::to_owned)).collect();
        let text = json!({"permissions": {"allow": of(ALLOW), "ask": of(ASK), "deny": denied}}).to_string();
        is_narrower(&imported(Format::Claude, &[&text]), &lines, |words| {
            let is_about = |number: usize, text: &str| match rules[number].0.strip_suffix(":*").map(str::trim_end) {
                Some("") => true,
                Some(prefix) => matches(&format!("{prefix} *"), text, false),
                None => matches(&rules[number].0, text, false),
            };
            let decides = |text: &str| {
                (0..rules.len()).filter(|number| is_about(*number, text)).map(|number| (rules[number].1, number)).max()
            };
            // Its words may name the file.
            let names_it = file.is_some() && words.len() > 1 && words[0] == "ls";
            if names_it { REFUSE } else { meant(words, decides, is_about) }
        })?;
    }

    #[test]
    fn no_line_is_laxer_than_in_opencode(
        files in prop::collection::vec(prop::collection::vec((pattern(), effect()), 1..5), 1..3),
        agent in prop::option::of(prop::collection::vec((pattern(), effect()), 1..4)),
        lines in lines(),
    ) {
        let name = |effect: u8| ["allow", "ask", "deny"][usize::from(effect)];
        let mut texts = Vec::new();
        let mut merged: Vec<(String, u8)> = Vec::new();
        for rules in &files {
            let mut unique: Vec<(&str, u8)> = Vec::new();
            for (pattern, effect) in rules {
                if !unique.iter().any(|(other, _)| other == pattern) {
                    unique.push((pattern, *effect));
                    match merged.iter_mut().find(|(other, _)| other == pattern) {
                        Some((_, old)) => *old = *effect,
                        None => merged.push((pattern.clone(), *effect)),
                    }
                }
            }
            let patterns: Vec<String> = unique.iter().map(|(pattern, effect)| format!("{}: \"{}\"", json!(pattern), name(*effect))).collect();
            texts.push(format!("{{\"permission\": {{\"bash\": {{{}}}}}}}", patterns.join(",\n")));
        }
        let mut of_agent: Vec<(String, u8)> = Vec::new();
        for (pattern, effect) in agent.iter().flatten() {
            if !of_agent.iter().any(|(other, _)| other == pattern) {
                of_agent.push((pattern.clone(), *effect));
            }
        }
        let patterns: Vec<String> = of_agent.iter().map(|(pattern, effect)| format!("{}: \"{}\"", json!(pattern), name(*effect))).collect();
        texts.push(format!("{{\"agent\": {{\"build\": {{\"permission\": {{\"bash\": {{{}}}}}}}}}}}", patterns.join(",\n")));
        let with_agent: Vec<(String, u8)> = merged.iter().chain(&of_agent).cloned().collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        is_narrower(&imported(Format::Opencode, &texts), &lines, |words| {
            let meant = |rules: &[(String, u8)]| {
                let is_about = |number: usize, text: &str| matches(&rules[number].0, text, true);
                let decides = |text: &str| {
                    let last = (0..rules.len()).rev().find(|number| is_about(*number, text));
                    last.map(|number| (rules[number].1, number))
                };
                meant(words, decides, is_about)
            };
            meant(&merged).max(meant(&with_agent))
        })?;
    }

    #[test]
    fn no_line_is_laxer_than_in_codex(rules in prop::collection::vec((words_pattern(), effect()), 1..6), lines in lines()) {
        let name = |effect: u8| ["allow", "prompt", "forbidden"][usize::from(effect)];
        let text: String = rules.iter().map(|(pattern, effect)| {
            let matched: Vec<&String> = pattern.iter().filter_map(|alternatives| alternatives.last()).collect();
            let matched = json!([matched]);
            format!("prefix_rule(pattern = {}, decision = \"{}\", match = {matched}, not_match = [\"z\"])\n", json!(pattern), name(*effect))
        }).collect();
        let policy = imported(Format::Codex, &[&text]);
        is_narrower(&policy, &lines, |words| {
            let matching = rules.iter().filter(|(pattern, _)| {
                pattern.len() <= words.len() && pattern.iter().zip(words).all(|(alternatives, word)| alternatives.contains(word))
            });
            matching.map(|(_, effect)| *effect).max().unwrap_or(REFUSE)
        })?;
    }

    #[test]
    fn no_line_is_laxer_than_in_gemini_cli(
        rules in prop::collection::vec((gemini_prefix(), blanks(), effect(), gemini_priority(), 0..7_u8), 1..6),
        lines in lines(),
    ) {
        let name = |effect: u8| ["allow", "ask_user", "deny"][usize::from(effect)];
        let text: String = rules.iter().map(|(words, blanks, effect, priority, kind)| {
            let prefix = words.join(blanks);
            let (tool, condition) = match kind {
                0 => ("run_shell_command", format!("commandRegex = \"{prefix}.*f\"")),
                1 => ("run_shell_command", format!("commandPrefix = [\"nothing\", \"{prefix}\"]")),
                // It holds in some modes.
                2 => ("run_shell_command", format!("commandPrefix = '{prefix}'\nmodes = [\"yolo\"]")),
                3 => (["mcp_*", "run_*_thing"][words.len() % 2], String::new()),
                _ => ("run_shell_command", format!("commandPrefix = '{prefix}'")),
            };
            if *kind == CHECKER {
                let program = "checker.type = \"external\"\nchecker.name = \"z\"";
                return format!("[[safety_checker]]\ntoolName = \"{tool}\"\n{condition}\n{program}\n");
            }
            format!("[[rule]]\ntoolName = \"{tool}\"\n{condition}\ndecision = \"{}\"\npriority = {priority}\n", name(*effect))
        }).collect();
        let policy = imported(Format::Gemini, &[&text]);
        for in_mode in [false, true] {
            is_narrower(&policy, &lines, |words| {
                let is_about = |number: usize, text: &str| {
                    let (words, blanks, _, _, kind) = &rules[number];
                    let prefix = words.join(blanks);
                    match kind {
                        0 => matches(&format!("{prefix}*f*"), text, false),
                        2 => in_mode && starts_at_a_boundary(text, &prefix),
                        3 => false,
                        _ => starts_at_a_boundary(text, &prefix),
                    }
                };
                let decides = |text: &str| {
                    // Of equal priorities the first one decides there.
                    let matching = |number: &usize| is_about(*number, text);
                    if let Some(number) = (0..rules.len()).filter(|number| rules[*number].4 == CHECKER).find(matching) {
                        return Some((REFUSE, number));
                    }
                    let matching = (0..rules.len()).rev().filter(matching);
                    matching.max_by_key(|number| rules[*number].3).map(|number| (rules[number].2, number))
                };
                let is_rejected = rules.iter().any(|(.., priority, kind)| *priority > 999 && *kind != CHECKER);
                if is_rejected { REFUSE } else { meant(words, decides, is_about) }
            })?;
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in r#"([\[\]{}()"'=:,.\\#\n *]|permission|allow|deny|prefix_rule|rule|bash|pattern|"x"){0,40}"#) {
        for format in Format::ALL {
            // Most are errors.
            import(format, &[("a", text.clone())]).ok();
        }
    }
}
