//! Every kind of mistake in a policy, with its message, its file and its line.

use super::super::ListEntry;
use super::super::grammar::{Effect, Expected};
use super::super::{Rules, load::PolicyText};
use crate::policy::rules::decide_example;

fn load(text: &str) -> Result<Rules, String> {
    let text = PolicyText { file: "p.yaml".into(), text: text.to_owned() };
    Rules::load(&[text], &[], &[]).map_err(|error| error.to_string())
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(load(text).map(|_| ()).unwrap_err(), format!("p.yaml:{expected}"), "{text}");
    super::schema::tests::compare(text);
}

/// The warnings of a policy that loads.
fn warnings(text: &str) -> Vec<String> {
    super::schema::tests::compare(text);
    load(text).unwrap_or_else(|error| panic!("{error}")).warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_no_policy_is_named_with_its_line() {
    for (text, line) in [("commands: [", 2), ("a: b: c", 1), ("commands:\n  ls: \"any", 2), ("a: *b", 1)] {
        let error = load(text).unwrap_err();
        assert!(error.starts_with(&format!("p.yaml:{line}: not valid YAML: ")), "{error}");
    }
    check("- ls", "1: a policy: expected a mapping, found a list");
    check("ls", "1: a policy: expected a mapping, found `ls`");
    check("version: 2", "1: `version`: expected `1`, the only version, found `2`");
    check("version: 1\n---\nversion: 1", "2: a second document begins here; expected one policy per file");
    check("commands:\n  ls: any\n  ls: any", "3: key `ls` occurs twice, first on line 2; keep one of them");
    check("commands:\n  ls: !any x", "2: a policy can't have tags (`!…`); leave it out");
    check("? [a]\n: b", "1: a key is not text; put it in quotes");
    check("command:\n  ls: any", "1: unknown key `command` of a policy; did you mean `commands`?");
    check(
        "zzz: 1",
        "1: unknown key `zzz` of a policy; the known keys are version, profiles, types, sets, commands, redirections",
    );
    assert!(load("").is_ok() && load("# nothing\n").is_ok() && load("version: 1").is_ok());
}

#[test]
fn redirections_are_paths_of_their_access_and_described_once() {
    let redirections = |text: &str| format!("version: 1\nredirections:\n  {text}");
    for good in [
        "write: {path: {access: write, under: [out]}}",
        "read: {path: read}",
        "write: {path: write}\n  read: {path: read, deny: {path: {access: read, under: [secrets]}}}",
    ] {
        load(&redirections(good)).unwrap();
    }
    let named = "types: {mine: {path: {access: write, under: [out]}}}\nredirections: {write: mine}";
    load(named).unwrap();
    check(
        &redirections("write: {path: read}"),
        "3: `write` of `redirections`: expected a path with `access: write`, found a mapping",
    );
    check(
        &redirections("write: {text: {}}"),
        "3: `write` of `redirections`: expected a path with `access: write`, found a mapping",
    );
    check(&redirections("wirte: {}"), "3: unknown key `wirte` of `redirections`; did you mean `write`?");
}

#[test]
fn a_variable_that_a_line_may_set_has_a_type() {
    let accept = |text: &str| format!("commands:\n  x:\n    env: {{accept: {text}}}");
    for good in ["{LEVEL: {one_of: [low, high]}}", "{COUNT: {integer: [1, 9]}}", "{NAME: text}", "{NAME: {text: {}}}"] {
        load(&accept(good)).unwrap();
    }
    for (bad, expected) in [
        (
            "{PATH: text}",
            "3: the variable `PATH`: expected a name that decides nothing about which code runs, found `text`",
        ),
        (
            "{LD_PRELOAD: text}",
            "3: the variable `LD_PRELOAD`: expected a name that decides nothing about which code runs, found `text`",
        ),
        (
            "{FILE: {path: read}}",
            "3: the variable `FILE`: expected an `integer`, a `one_of` or a `text` without `ask` and `deny`, found a mapping",
        ),
    ] {
        check(&accept(bad), expected);
    }
}

#[test]
fn a_command_says_what_it_takes_and_nothing_unknown() {
    let command = |line: &str, expected: &str| check(&format!("commands:\n  x:\n    {line}"), expected);
    check("commands:\n  ls: all", "2: `ls`: expected `any`, or a mapping (`{}` for no arguments at all), found `all`");
    check("commands:\n  ls:", "2: `ls`: expected `any`, or a mapping (`{}` for no arguments at all), found nothing");
    check("commands:\n  ls: [any]", "2: command `ls`: expected a mapping, found a list");
    check(
        "commands:\n  git log: any",
        "2: the command `git log`: expected one word; `subcommands` describes the rest, found several",
    );
    check(
        "commands:\n  'git*': any",
        "2: the command `git*`: expected a name, such as `git`, found a pattern of another tool",
    );
    check(
        "commands:\n  'Bash(git log:*)': any",
        "2: the command `Bash(git log:*)`: expected a name, such as `git`, found a pattern of another tool",
    );
    command(
        "subcommands: {'log*': any}",
        "3: the subcommand `log*` of `x`: expected a name, such as `log`, found a pattern of another tool",
    );
    check("commands:\n  '*': any", "2: the name of a command: expected a name or a path, found `*`");
    command("optoins: {}", "3: unknown key `optoins` of command `x`; did you mean `options`?");
    command("decision: maybe", "3: `decision` of command `x`: expected `allow`, `ask`, `deny`, found `maybe`");
    command(
        "syntax: bsd",
        "3: `syntax` of command `x`: expected `gnu`, `posix`, `single_dash`, `go`, `operands`, found `bsd`",
    );
    command(
        "order: first",
        "3: `order` of command `x`: expected `any`, `options_first`, `operands_first`, found `first`",
    );
    command("double_dash: no", "3: `double_dash` of command `x`: expected `refuse` or `allow`, found `no`");
    command("subcommands: {a b: any}", "3: a subcommand of `x`: expected one word, found `a b`");
    command(
        "subcommands: {a: {timeout: 3s}}",
        "3: unknown key `timeout` of subcommand `x a`; the known keys are options, use, operands, after_double_dash, forms, subcommands, insert, env, decision, reason, syntax, order, double_dash, hint",
    );
    command("insert: -c", "3: `insert` of command `x`: expected a list, found `-c`");
    command("forms: {}", "3: `forms` of command `x`: expected a list, found a mapping");
    command(
        "forms: [{operands: []}]\n    operands: []",
        "4: `x` has both `operands` and `forms`; put `operands` into the forms that it belongs to",
    );
    command(
        "forms: [{syntax: go}]",
        "3: unknown key `syntax` of a form of `x`; the known keys are options, use, operands, after_double_dash, decision, reason",
    );
    command("use: [paging]", "3: unknown set `paging`; declare it under `sets`");
    command("extends: nothing", "3: unknown profile `nothing`; `allowexec policy show` lists them");
}

#[test]
fn a_command_sets_for_its_calls_what_means_something() {
    let command = |line: &str, expected: &str| check(&format!("commands:\n  x:\n    {line}"), expected);
    command("stdin: yes", "3: `stdin` of command `x`: expected `true` or `false`, found `yes`");
    command("read_only: 'true'", "3: `read_only` of command `x`: expected `true` or `false`, found `true`");
    command(
        "timeout: 30",
        "3: `timeout` of command `x`: expected a duration with its unit, such as `500ms`, `30s` or `10m`, found `30`",
    );
    command(
        "timeout: 0s",
        "3: `timeout` of command `x`: expected a duration with its unit, such as `500ms`, `30s` or `10m`, found `0s`",
    );
    command(
        "success_exit_codes: [256]",
        "3: `success_exit_codes` of command `x`: expected numbers from 0 to 255, found `256`",
    );
    command("env: {sets: {}}", "3: unknown key `sets` of `env` of command `x`; did you mean `set`?");
    command("env: {set: {'A=B': c}}", "3: the variable `A=B`: expected a name without `=`, found `c`");
    command("env: {unset: ['']}", "3: `unset` of `env` of command `x`: expected names without `=`, found a list");
    command("cwd: {in: [.]}", "3: unknown key `in` of `cwd` of command `x`; the known keys are under");
    command("program: ''", "3: `program` of command `x`: expected a name or a path, found ``");
    command(
        "sandbox: {level: tight}",
        "3: `level` of `sandbox` of command `x`: expected `off`, `workspace`, `strict`, found `tight`",
    );
    command("sandbox: {exec: all}", "3: `exec` of `sandbox` of command `x`: expected `own`, found `all`");
    command(
        "sandbox: {network: 'connect:0'}",
        "3: `network` of `sandbox` of command `x`: expected `connect:PORT` and `listen:PORT`, with numbers from 1 to 65535, found \
         `connect:0`",
    );
    command(
        "sandbox: {network: 'full,listen:1'}",
        "3: `network` of `sandbox` of command `x`: expected one word alone, or ports alone, found `full,listen:1`",
    );
    command(
        "sandbox: {level: off, network: 'connect:1'}",
        "3: `sandbox` of command `x`: expected a level that can enforce the rest, `workspace` or `strict`, found a mapping",
    );
    command(
        "sandbox: {network: some}",
        "3: `network` of `sandbox` of command `x`: expected `none`, `loopback`, `full`, or ports such as `connect:5432,listen:3000`, found `some`",
    );
    command(
        "sandbox: {level: off, exec: own}",
        "3: `sandbox` of command `x`: expected a level that can enforce the rest, `workspace` or `strict`, found a mapping",
    );
    command(
        "sandbox: {level: workspace, exec: own}",
        "3: `sandbox` of command `x`: expected the level `strict`, the only one that can enforce `exec: own`, found a mapping",
    );
    command(
        "limits: {memory: 0}",
        "3: `memory` of `limits` of command `x`: expected a size above 0, such as `64MiB`, found `0`",
    );
    command(
        "limits: {processes: many}",
        "3: `processes` of `limits` of command `x`: expected a whole number, found `many`",
    );
    command(
        "limits: {disk: 1}",
        "3: unknown key `disk` of `limits` of command `x`; the known keys are memory, cpu, file_size, processes, open_files",
    );
    command(
        "examples: {deny: []}",
        "3: unknown key `deny` of `examples` of command `x`; the known keys are allow, ask, refuse",
    );
    command("examples: {allow: x}", "3: `allow` of `examples` of command `x`: expected a list, found `x`");
    command("hint: [x]", "3: `hint` of command `x`: expected a mapping, found a list");
}

#[test]
fn an_option_is_spelled_as_its_syntax_has_it_and_stands_once() {
    let options = |line: &str, expected: &str| check(&format!("commands:\n  x:\n    options:\n      {line}"), expected);
    let syntax = |syntax: &str, line: &str, expected: &str| {
        check(&format!("commands:\n  x:\n    syntax: {syntax}\n    options:\n      {line}"), expected);
    };
    options(
        "\"-n\": flag\n      \"-n, --max\": flag",
        "5: option `-n` occurs twice in this form, first in p.yaml:4; keep one of them",
    );
    options("\"-n, -n\": flag", "4: option `-n`: it occurs twice in its key");
    options("\"-n,, -m\": flag", "4: option ``: a spelling is empty; write `\"-n, --name\"`");
    options("\"-\": flag", "4: option `-`: it is not an option");
    options("\"--\": flag", "4: option `--`: it is not an option");
    for word in ["verbose", "n", "xf"] {
        let expected = format!(
            "4: option `{word}`: an option begins with `-`; write `-x` or `--name`, and describe a word without a dash as an operand, with `one_of`"
        );
        for syntax in ["gnu", "posix", "single_dash", "go"] {
            check(
                &format!("commands:\n  x: {{syntax: {syntax}, options:\n  \n    {{\"-v, {word}\": flag}}}}"),
                &expected,
            );
        }
    }
    options(
        "\"--a=b\": flag",
        "4: option `--a=b`: a spelling holds neither blanks nor `=`; the value is described after the `:`",
    );
    options(
        "-name: flag",
        "4: option `-name`: one dash and several letters is a bundle of options; expected `-x` or `--name`, or `syntax: single_dash` or `go` for programs that know no bundles",
    );
    options("-n:", "4: option `-n`: expected `flag` or a type, found nothing");
    options("-n: number", "4: unknown type `number`; declare it under `types`");
    options(
        "-n: {kind: flag}",
        "4: unknown key `kind` of option `-n`; the known keys are integer, one_of, text, path, type, ask, deny, reason, name, optional, attached, required, leading, secret, flag",
    );
    options(
        "-n: {integer: [1, 2], text: {}}",
        "4: option `-n` has the two types `integer` and `text`; keep one of them",
    );
    options(
        "-n: {required: true, secret: true}",
        "4: option `-n`: `secret` means nothing with a flag, which has no value",
    );
    options(
        "-n: {type: flag, optional: true}",
        "4: option `-n`: `optional` means nothing with a flag, which has no value",
    );
    options(
        "'!': {text: {}}",
        "4: option `!`: expected `flag`, since a word without a dash has no value, found a mapping",
    );
    options("-NUM: {text: {}}", "4: option `-NUM`: expected `flag` or `integer`, found a mapping");
    syntax("operands", "-n: flag", "5: option `-n`: the syntax `operands` has no options");
    syntax(
        "single_dash",
        "-n: {integer: [1, 2], optional: true}",
        "5: option `-n`: `optional` means nothing in the syntax `single_dash`, where every value is a word of its own",
    );
    syntax("go", "-NUM: flag", "5: option `-NUM`: `-NUM` stands for a number only in the syntaxes `gnu` and `posix`");
    syntax("go", "\"-n, --n\": flag", "5: option `--n`: it occurs twice in its key");
    check(
        "sets:\n  a: {-n: flag}\ncommands:\n  x:\n    use: [a]\n    options: {-n: flag}",
        "2: option `-n` occurs twice in this form, first in p.yaml:6; keep one of them",
    );
    check(
        "commands:\n  x:\n    options: {-n: flag}\n    forms:\n      - options: {-n: flag}",
        "5: option `-n` occurs twice in this form, first in p.yaml:3; keep one of them",
    );
    check(
        "sets:\n  a:\n    -n: numbr\ntypes:\n  number: {integer: [1, 2]}",
        "3: unknown type `numbr`; did you mean `number`?",
    );
    check("sets:\n  paging: {}\ncommands:\n  x:\n    use: [pagin]", "5: unknown set `pagin`; did you mean `paging`?");
}

#[test]
fn a_type_is_declared_once_and_means_something() {
    let declared = |text: &str, expected: &str| check(&format!("types:\n  t: {text}"), expected);
    declared("{}", "2: type `t`: expected one of `integer`, `one_of`, `text`, `path`, found a mapping");
    declared("{type: t}", "2: type `t` is defined by itself");
    declared("{type: u}\n  u: {type: t}", "2: type `t` is defined by itself");
    declared(
        "{regex: x}",
        "2: unknown key `regex` of type `t`; the known keys are integer, one_of, text, path, type, ask, deny, reason",
    );
    declared(
        "{integer: [1]}",
        "2: `integer` of type `t`: expected the lowest and the highest number, such as `[1, 1000]`, found a list",
    );
    declared("{integer: [1, x]}", "2: `integer` of type `t`: expected a whole number, found `x`");
    declared("{integer: [2, 1]}", "2: `integer` of type `t`: 2 is more than 1");
    declared("{one_of: []}", "2: `one_of` of type `t`: expected at least one word, found a list");
    declared("{one_of: [{a: b}]}", "2: `one_of` of type `t`: expected one text, found a mapping");
    declared("{text: {chars: z-a}}", "2: `chars`: the range `z-a` runs backwards");
    declared("{text: {chars: ''}}", "2: `chars`: the set is empty");
    declared("{text: {first: x}}", "2: `first` of `text` of type `t`: expected some of `-`, `+` and `@`, found `x`");
    declared("{text: {max_length: 0}}", "2: `max_length` of `text` of type `t`: expected a number above 0, found `0`");
    declared(
        "{text: {relative: maybe}}",
        "2: `relative` of `text` of type `t`: expected `true` or `false`, found `maybe`",
    );
    declared(
        "{text: {regex: x}}",
        "2: unknown key `regex` of `text` of type `t`; the known keys are chars, first, relative, must_begin, max_length",
    );
    declared("{path: append}", "2: `path` of type `t`: expected `read` or `write`, found `append`");
    declared("{path: {under: [a]}}", "2: `path` of type `t` needs the key `access`");
    declared(
        "{path: {access: read, under: []}}",
        "2: `under` of `path` of type `t`: expected at least one text, found a list",
    );
    declared(
        "{text: {must_begin: []}}",
        "2: `must_begin` of `text` of type `t`: expected at least one text, found a list",
    );
    declared(
        "{path: {access: read, below: [a]}}",
        "2: unknown key `below` of `path` of type `t`; the known keys are access, under, except, exists, chars",
    );
    check(
        "types:\n  flag: {integer: [1, 2]}",
        "2: the name of a type: expected another one, found `flag`, which is built in",
    );
}

#[test]
fn an_empty_list_of_directories_is_an_error_and_does_not_mean_anywhere() {
    check(
        "commands:\n  x:\n    cwd: {under: []}",
        "3: `under` of `cwd` of command `x`: expected at least one text, found a list",
    );
}

#[test]
fn a_rule_sets_no_variable_that_makes_its_program_read_words_in_another_order() {
    let rule = |more: &str| {
        format!(
            "commands:\n  cat: {{options: {{-n: flag}}, operands: [{{path: read}}], env: {{set: {{POSIXLY_CORRECT: ''}}}}{more}}}"
        )
    };
    check(
        &rule(""),
        "2: `env` of command `cat`: expected no `POSIXLY_CORRECT`, `order: options_first` or `syntax: posix` with it, found `POSIXLY_CORRECT` with \
         another order of `cat`",
    );
    for first in [", order: options_first", ", syntax: posix"] {
        load(&rule(first)).unwrap();
    }
}

#[test]
fn a_rule_accepts_no_variable_of_a_line_that_changes_how_its_words_are_read() {
    for name in ["POSIXLY_CORRECT", "TAR_OPTIONS", "_POSIX2_VERSION", "GREP_OPTIONS"] {
        let accepts = |arguments: &str| {
            format!("commands:\n  x: {{operands: {arguments}, env: {{accept: {{{name}: {{one_of: ['1']}}}}}}}}")
        };
        check(
            &accepts("[{path: read}]"),
            &format!(
                "2: `env` of command `x`: expected variables in `accept` that don't change how the program reads its words, found `{name}`"
            ),
        );
    }
    load("commands:\n  x: {operands: [{path: read}], env: {accept: {LEVEL: {one_of: ['1']}}}}").unwrap();
}

#[test]
fn operands_have_a_type_and_one_variable_number() {
    let operands = |text: &str, expected: &str| check(&format!("commands:\n  x:\n    operands: {text}"), expected);
    operands("[text]", "3: an operand: expected a mapping, found `text`");
    operands(
        "[{name: A}]",
        "3: an operand: expected a type: `integer`, `one_of`, `text`, `path` or `type`, found a mapping",
    );
    operands(
        "[{text: {}, count: many}]",
        "3: `count` of an operand: expected `1`, `\"0..1\"`, `\"0..\"` or `\"1..\"`, found `many`",
    );
    operands(
        "[{text: {}, count: 2..1}]",
        "3: `count` of an operand: expected `1`, `\"0..1\"`, `\"0..\"` or `\"1..\"`, found `2..1`",
    );
    operands(
        "[{text: {}, count: 0}]",
        "3: `count` of an operand: expected `1`, `\"0..1\"`, `\"0..\"` or `\"1..\"`, found `0`",
    );
    operands("[{text: {}, count: \"0..\", optional: true}]", "3: an operand: `optional` means nothing next to `count`");
    operands(
        "[{text: {}, count: \"0..\", required: true}]",
        "3: an operand: `required` means nothing with a count that may be 0",
    );
    operands(
        "[{text: {}, attached: true}]",
        "3: unknown key `attached` of an operand; the known keys are integer, one_of, text, path, type, ask, deny, reason, name, count, optional, required, secret",
    );
    operands(
        "[{name: A, text: {}, count: \"0..\"},\n      {text: {}, count: \"0..1\"}]",
        "4: the operands `A` and without a name both have a variable count, so it is not clear where the first one ends; give one of them a fixed `count`",
    );
}

#[test]
fn a_wrong_example_stops_the_start_and_says_what_came_and_why() {
    let policy = "commands:\n  x:\n    operands: [{one_of: [a]}]\n    examples:\n      ";
    let example = |text: &str, expected: &str| check(&format!("{policy}{text}"), expected);
    example("allow: [x b]", "5: example `x b`: expected allow, got refuse: `x` takes `a`, not `b`; usage: `x a`");
    example(
        "refuse:\n        - x b\n        - x a",
        "7: example `x a`: expected refuse, got allow: the form in p.yaml:2 matches",
    );
    example("ask: [[x, a]]", "5: example `x a`: expected ask, got allow: the form in p.yaml:2 matches");
    example("refuse: [y b]", "5: example `y b`: it does not call `x`");
    assert!(load(&format!("{policy}allow: [x a, [x, a]]\n      refuse: [x, x b, 'x | y']")).is_ok());
}

fn allowed(entries: &[&str]) -> Vec<ListEntry> {
    listed(entries, Effect::Allow)
}

fn listed(entries: &[&str], effect: Effect) -> Vec<ListEntry> {
    entries.iter().map(|&text| ListEntry { text: text.to_owned(), effect }).collect()
}

#[test]
fn a_command_is_described_in_one_place() {
    let file = |name: &str, text: &str| PolicyText { file: name.into(), text: text.to_owned() };
    let load = |allow: &[&str]| {
        let files = [file("a.yaml", "commands: {git: any}"), file("b.yaml", "version: 1\ncommands:\n  git: any")];
        let allow = allowed(allow);
        let files = if allow.is_empty() { &files[..] } else { &files[1..] };
        Rules::load(files, &[], &allow).unwrap_err().to_string()
    };
    let twice = "is described here and in";
    let keep = "a command has one description, so keep one of them";
    assert_eq!(load(&[]), format!("b.yaml:3: `git` {twice} a.yaml:1; {keep}"));
    assert_eq!(load(&["git status"]), format!("--allow: `git` {twice} b.yaml:3; {keep}"));
    let profile = Rules::load(&[], &["git-readonly".to_owned()], &allowed(&["git status"])).unwrap_err().to_string();
    assert!(
        profile
            .ends_with(", or extend the profile in a policy file: `extends: git-readonly` in the rule of the command")
    );
    let unknown = Rules::load(&[], &["nothing".to_owned()], &[]).unwrap_err().to_string();
    assert_eq!(unknown, "--profile: unknown profile `nothing`; `allowexec policy show` lists them");
}

#[test]
fn a_blank_in_place_of_a_comma_is_warned_about() {
    let warned = |entry: &str| {
        let rules = Rules::load(&[], &[], &allowed(&[entry])).unwrap();
        rules.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let comma = "--allow: `cat` is taken for a subcommand of `ls`; to allow both commands, put a comma between them";
    assert_eq!(warned("ls cat"), [comma]);
    assert!(warned("git grep")[0].ends_with("the profile `git-readonly` is narrower"));
}

#[test]
fn entries_of_several_words_are_subcommands_with_any_arguments() {
    let rules = Rules::load(&[], &[], &allowed(&["git status", "git log", "gh pr view"])).unwrap();
    for (line, expected) in [
        ("git status --porcelain", true),
        ("git log -p x", true),
        ("git push", false),
        ("git", false),
        ("git -C x log", false),
        ("gh pr view 1 --web", true),
        ("gh pr", false),
        ("gh pr list", false),
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let judgement = decide_example(rules.get(&words[0]).unwrap(), &words);
        assert_eq!(judgement.refusal.is_none(), expected, "{line}");
    }
}

#[test]
fn what_is_asked_for_is_asked_for_whatever_a_list_allows_beneath_or_above_it() {
    let entries =
        [allowed(&["git status", "git stash", "hg log"]), listed(&["git push", "git stash drop"], Effect::Ask)];
    let rules = [entries.concat(), listed(&["hg", "/opt/my tools/x"], Effect::Ask)].concat();
    let rules = Rules::load(&[], &[], &rules).unwrap();
    for (line, expected) in [
        ("git status -s", Expected::Allow),
        ("git push origin main", Expected::Ask),
        ("git stash", Expected::Ask),
        ("git stash drop", Expected::Ask),
        ("git log", Expected::Refuse),
        ("git -C x push", Expected::Refuse),
        ("hg log", Expected::Ask),
        ("hg", Expected::Ask),
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let judgement = decide_example(rules.get(&words[0]).unwrap(), &words);
        assert_eq!(judgement.decision, expected, "{line}");
    }
    assert!(rules.get("/opt/my tools/x").unwrap().asks_always() && rules.get("git").unwrap().asks());
    assert_eq!(rules.get("git").unwrap().origin.to_string(), "--ask");
}

#[test]
fn programs_that_run_others_are_pinned_or_told_of() {
    check(
        "commands:\n  sh:\n    options:\n      -c: {text: {}}",
        "4: `sh` runs any code that it is given, and `-c` does not limit it: list what it may run with `one_of`, or allow everything with `sh: any`",
    );
    check(
        "commands:\n  env:\n    operands: [{name: WORD, text: {}, count: \"0..\"}]",
        "3: `env` starts the programs that it is told to, and `WORD` does not limit it: list what it may run with `one_of`, or allow everything with `env: any`",
    );
    check(
        "commands:\n  x:\n    program: /usr/bin/python3.11\n    operands: [{text: {}}]",
        "4: `x` runs any code that it is given, and an operand does not limit it: list what it may run with `one_of`, or allow everything with `x: any`",
    );
    check(
        "commands:\n  find:\n    syntax: single_dash\n    options:\n      -exec: {text: {}}",
        "5: `find` starts the programs that it is told to, and `-exec` does not limit it: list what it may run with `one_of`, or allow everything with `find: any`",
    );
    assert!(load("commands:\n  find:\n    syntax: single_dash\n    options: {-exec: {one_of: [wc]}, ;: flag}").is_ok());
    assert_eq!(
        warnings(
            "commands:\n  tar:\n    options:\n      -t: flag\n      -I, --use-compress-program: {text: {}}\n      --to-command: {one_of: [wc]}"
        ),
        ["p.yaml:5: `-I` can start any program that a call names; list its values with `one_of`"]
    );
    assert_eq!(
        warnings("commands:\n  x:\n    options: {-I: {text: {}}}\n  go: {syntax: go, options: {-exec: flag}}"),
        [""; 0]
    );
    assert!(load("commands:\n  sh:\n    operands: [{one_of: [build.sh]}, {integer: [1, 9]}]").is_ok());
    check(
        "commands:\n  timeout:\n    operands: [{integer: [1, 9]}, {name: COMMAND, text: {}}]",
        "3: `timeout` starts the programs that it is told to, and `COMMAND` does not limit it: list what it may run \
         with `one_of`, or allow everything with `timeout: any`",
    );
    assert_eq!(
        warnings("commands:\n  sed:\n    operands: [{name: SCRIPT, text: }, {path: read}]"),
        ["p.yaml:3: `sed` runs any code that it is given, and `SCRIPT` does not limit it: list what it may run with \
          `one_of`, or allow everything with `sed: any`"]
    );
    assert!(load("commands:\n  timeout:\n    operands: [{integer: [1, 9]}, {one_of: [make]}, {text: {}}]").is_ok());
    assert!(load("commands:\n  sed:\n    insert: [--sandbox]\n    operands: [{text: {}}]").is_ok());
    assert_eq!(
        warnings("commands:\n  python3:\n    operands: [{name: FILE, path: read}]"),
        ["p.yaml:3: `python3` runs whatever is in the file that a call names as `FILE`; list the files with `one_of`"]
    );
    assert_eq!(
        warnings("commands:\n  bash: any"),
        ["p.yaml:2: `bash` runs any code that a call gives it, so allowing it allows everything"]
    );
}

#[test]
fn what_a_wrapper_starts_is_pinned_as_it_would_be_alone() {
    let of = |command: &str, rule: &str| warnings(&format!("commands:\n  {command}:\n    {rule}"));
    let code = |wrapper: &str, program: &str, word: &str| {
        vec![format!(
            "p.yaml:3: `{wrapper}` starts `{program}`, which runs any code that it is given, and {word} does not limit it; list what it may be with `one_of`"
        )]
    };
    for wrapper in ["env", "nice", "xargs"] {
        let rule = "operands: [{one_of: [python3]}, {name: ARG, text: {}, count: \"0..\"}]";
        assert_eq!(of(wrapper, rule), code(wrapper, "python3", "`ARG`"));
    }
    let several = "operands: [{one_of: [A=b]}, {one_of: [nice]}, {one_of: [\"-n\"]}, {integer: [1, 9]}, {one_of: [/bin/bash, ls]}, {one_of: [\"-c\"]}, {text: {}}]";
    assert_eq!(of("env", several), code("env", "bash", "an operand"));
    assert_eq!(
        of("timeout", "operands: [{integer: [1, 9]}, {one_of: [git]}, {name: ARG, text: {}}]"),
        [
            "p.yaml:3: `timeout` starts `git`, which can start other programs by its own options, and `ARG` does not limit it; list what it may be with `one_of`"
        ]
    );
    // A script, or a program that starts nothing, may have any words behind it.
    for rule in [
        "operands: [{one_of: [ls, wc]}, {text: {}, count: \"0..\"}]",
        "operands: [{one_of: [python3]}, {one_of: [run.py]}, {text: {}, count: \"0..\"}]",
        "insert: [python3, run.py]\n    operands: [{text: {}}]",
    ] {
        assert_eq!(of("env", rule), [""; 0], "{rule}");
    }
    let check_env = |rule: &str, line: usize, command: &str, meaning: &str| {
        check(
            &format!("commands:\n  {command}:\n    {rule}"),
            &format!(
                "{line}: `{command}` {meaning}, and an operand does not limit it: list what it may run with `one_of`, or allow everything with `{command}: any`"
            ),
        );
    };
    // Nobody has to name what is optional.
    check_env(
        "operands: [{one_of: [ls], optional: true}, {text: {}}]",
        3,
        "env",
        "starts the programs that it is told to",
    );
    check_env(
        "syntax: operands\n    operands: [{one_of: [\"-c\"]}, {text: {}}]",
        4,
        "sh",
        "runs any code that it is given",
    );
    assert_eq!(
        of("find", "syntax: single_dash\n    options: {-exec: {one_of: [wc, sh]}, -ok: {one_of: [wc]}}"),
        ["p.yaml:4: `-exec` can start `sh`, which runs any code that it is given"]
    );
}

#[test]
fn what_runs_code_of_its_input_is_told_of() {
    let of = |command: &str, rule: &str| {
        let rule = format!("commands:\n  {command}:\n    stdin: true\n    operands: {rule}");
        warnings(&rule).into_iter().map(|warning| warning.replace("p.yaml:2: ", "")).collect::<Vec<_>>()
    };
    let input = "runs any code in its input: its rule says `stdin: true`";
    assert_eq!(of("python3", "[]"), [format!("`python3` {input}")]);
    assert_eq!(of("sh", "[{one_of: [\"-s\"]}]"), [format!("`sh` {input}")]);
    assert_eq!(of("env", "[{one_of: [nice]}, {one_of: [node]}]"), [format!("`env` starts `node`, which {input}")]);
    let words = "adds words of its input to those of the call, and no check of arguments sees them: its rule says `stdin: true`";
    assert_eq!(of("xargs", "[{one_of: [ls]}]"), [format!("`xargs` {words}")]);
    assert_eq!(of("nice", "[{one_of: [xargs]}, {one_of: [ls]}]"), [format!("`nice` {words}")]);
    for (command, rule) in [("python3", "[{one_of: [run.py]}]"), ("env", "[{one_of: [ls]}]"), ("ls", "[]")] {
        assert_eq!(of(command, rule), [""; 0], "{command} {rule}");
    }
}

#[test]
fn what_no_check_of_arguments_can_see_is_told_of() {
    assert_eq!(
        warnings(
            "commands:\n  grep:\n    options: {\"-R, --dereference-recursive\": flag}\n    forms: [{operands: []}, {operands: [{text: {}}]}]"
        ),
        [
            "p.yaml:3: `-R` follows links, so a call reaches more than its words name; no check of arguments can see that"
        ]
    );
    assert_eq!(
        warnings("commands:\n  wc:\n    options: {\"--files0-from\": {path: read}}"),
        [
            "p.yaml:3: `--files0-from` reads names from a file, so a call reaches more than its words name; no check of arguments can see that"
        ]
    );
    assert_eq!(
        warnings(
            "commands:\n  x:\n    forms:\n      - {options: {-a: {flag: , required: true}}, operands: [{text: {}, count: \"1..\"}]}\n      - {decision: deny, operands: [{one_of: [main]}]}"
        ),
        [
            "p.yaml:5: this `deny` does not limit the form on line 4, where an operand repeats: a call with one more operand gets past it; describe what is allowed instead"
        ]
    );
    assert_eq!(
        warnings("commands:\n  x:\n    forms:\n      - {decision: deny, operands: [{one_of: [main], count: \"0..\"}]}"),
        [
            "p.yaml:4: an operand of this `deny` repeats, so a call with one other operand gets past it; describe what is allowed instead"
        ]
    );
    // No other operand gets past one that takes any word.
    let any = |first: &str| {
        warnings(&format!(
            "commands: {{x: {{decision: deny, operands: [{{text: {{first: \"{first}\"}}, count: \"0..\"}}]}}}}"
        ))
    };
    assert_eq!((any("-+@").len(), any("-").len()), (0, 1));
}

#[test]
fn a_rule_that_writes_nothing_has_no_path_to_be_written_and_no_level_off() {
    check(
        "commands:\n  x:\n    sandbox: {level: off, write: none}",
        "3: `sandbox` of command `x`: expected a level that can enforce the rest, `workspace` or `strict`, found a mapping",
    );
    check(
        "commands:\n  x:\n    sandbox: {write: all}",
        "3: `write` of `sandbox` of command `x`: expected `full` or `none`, found `all`",
    );
    assert_eq!(
        warnings("commands:\n  x:\n    sandbox: {write: none}\n    operands:\n      - {path: write}\n"),
        ["p.yaml:5: a path to be written, but `x` says `write: none`, so its calls can write nothing"]
    );
    let extends = |sandbox: &str| {
        warnings(&format!("commands:\n  git:\n    extends: git-readonly\n    read_only: false\n    sandbox: {sandbox}"))
    };
    assert_eq!(
        extends("{}"),
        [
            "p.yaml:2: `git` is not `read_only` here, but can write nothing, since the profile says `write: none`; to let it write add `sandbox: {write: full}`"
        ]
    );
    assert_eq!(extends("{write: full}"), [""; 0]);
}

#[test]
fn a_rule_that_replaces_one_of_a_profile_is_warned_of_with_both_places() {
    let of_profile = Rules::load(&[], &["go-check".to_owned()], &[]).unwrap().get("gofmt").unwrap().origin.to_string();
    assert!(of_profile.starts_with("profile go-check:"), "{of_profile}");
    assert_eq!(
        warnings("profiles: [go-check]\ncommands:\n  gofmt: {}"),
        [format!(
            "p.yaml:3: `gofmt` replaces the rule in {of_profile}, which no longer applies; to add to it instead, say `extends: go-check`"
        )]
    );
    assert_eq!(warnings("profiles: [go-check]\ncommands:\n  gofmt: {extends: go-check}"), [""; 0]);
    assert_eq!(warnings("profiles: [go-check]\ncommands:\n  ls: {}"), [""; 0]);
}

#[test]
fn what_a_rule_adds_to_a_subcommand_of_a_profile_leaves_the_rest_of_it_as_it_was() {
    let load = |text: &str| {
        let text = format!("commands:\n  git:\n    extends: git-readonly\n{text}");
        Rules::load(&[PolicyText { file: "p.yaml".into(), text }], &[], &[]).unwrap_or_else(|error| panic!("{error}"))
    };
    let decide = |rules: &Rules, line: &str| {
        let words = shlex::split(line).unwrap();
        let judgement = decide_example(rules.get("git").unwrap(), &words);
        let argv = judgement.matched.map(|matched| matched.with_inserted(&words).join(" ")).unwrap_or_default();
        (judgement.decision, argv)
    };
    let rules = load(
        "    subcommands:\n      log:\n        options: {--new: flag}\n        insert: [--last]\n      stash: {subcommands: {list: {options: {--new: flag}}}}\n",
    );
    for line in ["git log -n 5", "git log --new --oneline", "git stash list -n 3 --new", "git stash show", "git status"]
    {
        assert_eq!(decide(&rules, line).0, Expected::Allow, "{line}");
    }
    let (_, argv) = decide(&rules, "git log --new");
    assert!(argv.contains(" log --no-ext-diff --no-textconv --ignore-submodules=dirty --last --new"), "{argv}");
    for (decision, came) in [("ask", Expected::Ask), ("deny", Expected::Refuse)] {
        let rules =
            load(&format!("    subcommands: {{log: {{decision: {decision}}}, stash: {{decision: {decision}}}}}\n"));
        for line in ["git log -n 5", "git stash list"] {
            assert_eq!(decide(&rules, line).0, came, "{line}");
        }
        assert_eq!(decide(&rules, "git status").0, Expected::Allow);
        assert_eq!(decide(&load(&format!("    decision: {decision}\n")), "git status").0, came);
    }
}

#[test]
fn a_file_that_stands_for_too_much_is_refused_at_once() {
    let aliases = {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..30 {
            let before = format!("*a{}", level - 1);
            let items = [before.as_str(); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{items}]\n"));
        }
        text
    };
    let text_of_aliases = format!("a: &a {}\nb: [{}]", "x".repeat(150_000), "*a,".repeat(7));
    let deep = |open: &str| open.repeat(100_000);
    let long = format!("commands:\n{}", "  x: any\n".repeat(1_200_000));
    for (text, why) in [
        (text_of_aliases.as_str(), "more than 1048576 bytes of text"),
        (aliases.as_str(), "it holds more than 50000 values, with aliases followed"),
        // The parser looks a few brackets ahead, and has a bound of its own.
        (deep("[").as_str(), "recursion limit exceeded"),
        (deep("{a: ").get(..250_000).unwrap(), "recursion limit exceeded"),
        (&format!("a: {}", ["["; 40].join("x, ")), "it nests deeper than 32 levels"),
        (deep("- ").as_str(), "it nests deeper than 32 levels"),
        (long.as_str(), "it is larger than 262144 bytes, the most that is read"),
    ] {
        let started = std::time::Instant::now();
        let error = load(text).unwrap_err();
        assert!(error.contains(why), "{error}");
        // Ten times what it may take of the operator's patience, for a machine that does other things meanwhile.
        assert!(started.elapsed() < std::time::Duration::from_secs(1), "{:?}", started.elapsed());
    }
}

#[test]
fn what_stands_for_too_much_is_left_as_soon_as_it_does() {
    let types: String = (1..100).map(|number| format!("  t{number}: {{type: t{}}}\n", number - 1)).collect();
    check(
        &format!("types:\n  t0: {{text: {{}}}}\n{types}"),
        "2: type `t0`: expected a type that is reached by at most 32 names, found a mapping",
    );
    let options: String = (0..500).map(|number| format!("\"--o{number}\": flag, ")).collect();
    let forms = "      - {}\n".repeat(1000);
    check(
        &format!("sets: {{s: {{{options}}}}}\ncommands:\n  x:\n    use: [s]\n    forms:\n{forms}"),
        "205: the options of all forms together: expected at most 100000, found more",
    );
}

#[test]
fn of_two_profiles_the_one_that_extends_the_other_counts_in_each_order() {
    for (base, more) in [
        ("git-readonly", "git-commit"),
        ("cargo-check", "rust-develop"),
        ("npm-scripts", "node-develop"),
        ("python-tools", "python-develop"),
        ("go-check", "go-develop"),
    ] {
        let load = |profiles: &[&str], text: &str| {
            let names: Vec<String> = profiles.iter().map(|name| (*name).to_owned()).collect();
            let file = PolicyText { file: "p.yaml".into(), text: text.to_owned() };
            Rules::load(&[file], &names, &[]).unwrap_or_else(|error| panic!("{base}, {more}: {error}"))
        };
        let (alone, narrow) = (load(&[more], ""), load(&[base], ""));
        let both = [
            load(&[base, more], ""),
            load(&[more, base], ""),
            load(&[], &format!("profiles: [{base}, {more}]")),
            load(&[], &format!("profiles: [{more}, {base}]")),
            load(&[base], &format!("profiles: [{more}]")),
            load(&[more], &format!("profiles: [{base}]")),
        ];
        for rules in both {
            assert!(
                rules.names().all(|name| rules.get(name) == alone.get(name).or(narrow.get(name))),
                "{base}, {more}"
            );
            assert!(alone.names().chain(narrow.names()).all(|name| rules.describes(name)), "{base}, {more}");
        }
    }
}

#[test]
fn profiles_and_rules_that_do_not_extend_each_other_are_not_replaced() {
    let own = "commands: {git: {subcommands: {push: any}}}";
    for (profiles, text) in [(vec!["git-commit"], own), (vec!["git-readonly", "git-commit"], own)] {
        let names: Vec<String> = profiles.into_iter().map(str::to_owned).collect();
        let file = PolicyText { file: "p.yaml".into(), text: text.to_owned() };
        let error = Rules::load(&[file], &names, &[]).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("`git`"), "{error}");
    }
}
