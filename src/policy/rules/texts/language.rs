//! The language, by tables: a policy, command lines, and what comes of them.

use std::path::Path;
use std::sync::Arc;

use crate::policy::rules::*;
use crate::policy::{AllowList, CommandLine, Rule};

pub(super) fn load(text: &str) -> Result<Rules, PolicyError> {
    let text = PolicyText { file: "p.yaml".into(), text: text.to_owned() };
    Rules::load(&[text], &[], &[])
}

/// Decides on a line by the rules of `commands`, in the indentation of the test.
fn decide(rules: &Rules, line: &str) -> (Expected, String) {
    let words = CommandLine::parse(line).unwrap().into_words();
    let command = rules.get(&words[0]).unwrap_or_else(|| panic!("no rule for {line}"));
    let judgement = decide_example(command, &words);
    (judgement.decision, judgement.refusal.unwrap_or_default())
}

/// Each line begins with `+` (allowed), `?` (a person decides) or `-` (refused).
pub(super) fn check(policy: &str, lines: &str) {
    let rules = load(policy).unwrap_or_else(|error| panic!("{error}"));
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (mark, line) = line.split_at(1);
        let expected = match mark {
            "+" => Expected::Allow,
            "?" => Expected::Ask,
            "-" => Expected::Refuse,
            other => panic!("{other}"),
        };
        let (decision, why) = decide(&rules, line.trim_start());
        assert_eq!(decision, expected, "{line}: {why}");
    }
}

pub(super) fn refusal(policy: &str, line: &str) -> String {
    let (decision, why) = decide(&load(policy).unwrap(), line);
    assert_ne!(decision, Expected::Allow, "{line}");
    why
}

const LOG: &str = r#"
types:
  revision: {text: {chars: "A-Za-z0-9_./@{}^~:-", first: "@", relative: true, max_length: 20}}
sets:
  paging: {"-n, --max-count": {integer: [1, 1000]}, "-NUM": {integer: [1, 99]}}
commands:
  ls: any
  pwd: {}
  git:
    options: {"--no-pager, -P": flag, "--super-prefix": {type: revision}}
    hint: {"-C": choose the directory with `cwd`}
    subcommands:
      status: any
      log:
        use: [paging]
        options:
          "--oneline, -o": flag
          "-z": flag
          "--color": {one_of: [always, never], optional: true}
          "-U, --unified": {integer: [0, 9], optional: true}
          "--date": {one_of: [iso, -raw], attached: true}
          "--grep": {text: {}}
          "--since": {text: {first: "-+@"}}
        operands: [{name: REVISION, type: revision, count: "0.."}]
        after_double_dash: [{name: PATH, path: read, count: "0.."}]
      push:
        forms:
          - {decision: ask, operands: [{one_of: [origin]}, {type: revision}]}
          - {decision: deny, reason: nobody pushes to main from here, operands: [{one_of: [origin]}, {one_of: [main]}]}
          - {options: {"--dry-run": {type: flag, required: true}}, operands: [{one_of: [origin]}, {type: revision}]}
"#;

#[test]
fn gnu_words_pass_in_every_spelling_that_is_declared_and_in_no_other() {
    check(
        LOG,
        "+ ls -l --anything /etc
         + pwd
         - pwd -P
         - pwd x
         + git status --whatever
         + git --no-pager status
         + git -P log
         - git
         - git --no-pager
         - git -- log
         - git stat
         - git statu s
         - git LOG
         - git log push --x
         - git -C .. log
         - git --no-page log
         - git status=1
         - git --super-prefix log
         + git --super-prefix x log
         + git log
         + git log -n 5
         + git log -n5
         + git log -zn5
         + git log -ozn 5
         - git log -nz5 -n5
         + git log --max-count=5
         + git log --max-count 5
         + git log --max-count 5 --max-count 6
         - git log -n
         - git log -n 0
         - git log -n 1001
         - git log -n +5
         - git log -n 05
         - git log -n 5x
         - git log -n ''
         - git log -n=5
         - git log -n -5
         - git log --max-count=
         - git log --max=5
         - git log --max-coun 5
         - git log --maxcount=5
         + git log -5
         + git log -99
         - git log -100
         - git log -05
         - git log -5z
         + git log -z -o
         - git log -zx
         - git log -zo-
         - git log -z=1
         - git log --oneline=yes
         - git log --oneline=
         + git log --color
         + git log --color=always
         - git log --color=red
         + git log --color red
         + git log -U
         + git log -U3
         + git log -U 3
         - git log -U33
         - git log -Uz
         + git log --date=iso
         + git log --date=-raw
         - git log --date iso
         - git log --date
         + git log --grep x
         + git log --grep=x
         + git log --grep ''
         - git log --grep -x
         + git log --grep=-x
         + git log --grep=+x
         - git log --grep=@x
         - git log --grep @x
         - git log --grep +x
         - git log --grep --
         + git log --since -x
         + git log --since=@x
         + git log --since --oneline",
    );
}

#[test]
fn operands_are_counted_and_typed() {
    check(
        LOG,
        "+ git log HEAD~3 main..topic
         + git log @{1}
         - git log /etc/passwd
         - git log ../x
         - git log a/../b
         - git log ..
         + git log a..b
         - git log aaaaaaaaaaaaaaaaaaaaa
         + git log aaaaaaaaaaaaaaaaaaaa
         - git log 'a b'
         - git log +x
         - git log -
         + git log ''
         + git log -- -x
         + git log x -- y z
         + git log -- --output=x
         - git log -- -
         - git log -- ''
         - git log -- /etc/passwd
         - git log -- ../x
         - git log -- +x
         - git log -- @x
         + git log --
         + git log -- --
         ? git push origin topic
         - git push origin main
         - git push other topic
         - git push origin
         - git push origin a b
         + git push --dry-run origin topic
         ? git push -- origin topic
         - git push -- origin main
         - git push -- origin -x x",
    );
}

#[test]
fn each_syntax_reads_words_its_own_way() {
    check(
        r#"
commands:
  posix:
    syntax: posix
    options: {"-a": flag, "-b": {text: {}}}
    operands: [{text: {first: "-", chars: "a-z-"}, count: "0.."}]
  strict:
    syntax: posix
    order: options_first
    options: {"-a": flag}
    operands: [{text: {first: "-"}, count: "0.."}]
  find:
    syntax: single_dash
    order: operands_first
    options: {"-name": {text: {}}, "-print": flag, "!": flag, "(": flag, ")": flag, ",": flag}
    operands: [{path: read, count: "0.."}]
  go:
    syntax: go
    options: {"-v": flag, "--run": {text: {}}, "-o": {one_of: [x], optional: true}}
    operands: [{text: {}, count: "0.."}]
  gofree:
    syntax: go
    order: any
    options: {"-v": flag}
    operands: [{text: {}, count: "0.."}]
  echo:
    syntax: operands
    operands: [{text: {first: "-", chars: "a-z-"}, count: "0.."}]
  expr:
    syntax: operands
    operands: [{text: {}, count: "0.."}]
  first:
    order: options_first
    options: {"-a": flag, "--long": flag}
    operands: [{text: {}, count: "0.."}]
  last:
    order: operands_first
    options: {"-a": flag}
    operands: [{text: {}, count: "0.."}]
  nodash:
    double_dash: refuse
    operands: [{text: {}, count: "0.."}]
"#,
        "+ posix -a x
         + posix -ab x y
         + posix -abx y
         + posix x -a -c
         + posix x --
         + posix -a -- -c
         - posix -c x
         - posix x +y
         - strict x -a
         - strict x -c
         + strict -a x
         + strict -a -- -c
         + find a b -name x -print
         + find ! ( -name x ) , -print
         + find -name '!'
         - find -n x
         - find -pr
         - find -print a
         - find --print
         - find -name=x
         - find -name -x
         - find -name
         - find -print -exec
         - find /
         - find +x
         + go -v -run x a b
         + go --v --run=x a
         + go -o a
         + go -o=x
         - go -o=y
         - go -v=true
         - go a -v
         - go a --
         + go -- -v
         - go -vv
         - go ---v
         - go -ru x
         + go -run '' x
         - go -run -x
         + gofree a -v b
         + gofree a -- b
         + echo -n x --
         + echo - -- -abc
         - echo -X
         - echo +x
         - expr -n
         - expr --
         + expr a
         + first -a --long x
         - first x -a
         - first x --long
         + first x -- -a
         + last x -a
         - last -a x
         - last x -a -- y
         + last x -- y
         + last x -a --
         - nodash --
         - nodash a -- b
         + nodash a",
    );
}

#[test]
fn operands_of_variable_number_stand_between_fixed_ones() {
    check(
        r#"
commands:
  cp: {operands: [{path: read, count: "1.."}, {path: write}]}
  three: {operands: [{one_of: [a]}, {integer: [-5, 5], count: "0..2"}, {one_of: [z], count: 2}]}
  maybe: {operands: [{one_of: [a], optional: true}, {one_of: [b]}]}
  grep:
    options: {"-r": flag}
    forms:
      - options: {"-e": {text: {first: "-"}, required: true}}
        operands: [{path: read, count: "0.."}]
      - operands: [{name: PATTERN, text: {}}, {path: read, count: "0.."}]
  both: {operands: [{text: {}, count: "0..2"}], after_double_dash: [{one_of: [x]}]}
  any-path: {after_double_dash: [{path: read, count: "0.."}]}
  old-path: {after_double_dash: [{path: {access: read, exists: true}, count: "0.."}]}
"#,
        "+ cp a b
         + any-path -- a -a
         + old-path -- a ./-a
         - old-path -- a -a
         + cp a b c
         - cp a
         - cp a .git
         - cp a .git/config
         - cp a x/.GIT/y
         + cp .git/config a
         - cp a .
         - cp a ''
         - cp - a
         + three a z z
         + three a 1 z z
         + three a 1 2 z z
         - three a 1 2 3 z z
         - three a z
         - three a 6 z z
         + three a -- -5 z z
         - three a -- -6 z z
         - three a -- -0 z z
         - three a -5 z z
         + maybe b
         + maybe a b
         - maybe a
         - maybe a a b
         + grep x
         + grep x a b
         + grep -e x
         + grep -re -x a
         - grep
         - grep -r
         - grep -e
         + both a -- x
         - both a
         - both a -- y
         - both a b c -- x
         - both a -- x x",
    );
}

#[test]
fn what_stands_at_a_level_counts_at_this_level() {
    check(
        r#"
commands:
  ctl:
    options: {"--context": {one_of: [test], required: true}, "-v": flag}
    forms:
      - options: {"--version": {type: flag, required: true}}
        operands: [{text: {}, count: "0..1"}]
    subcommands:
      get: {options: {"-o": {text: {}}}, operands: [{one_of: [pods, nodes]}]}
      config: {subcommands: {view: any}}
"#,
        "+ ctl --context=test get pods
         + ctl -v --context test get -o wide nodes
         + ctl --context=test config view --raw
         + ctl --context=test --version
         + ctl --context=test --version x
         - ctl get pods
         - ctl --context=prod get pods
         - ctl --context=test get -v pods
         - ctl --context=test --version get
         - ctl --context=test config
         - ctl --context=test config set
         - ctl --context=test",
    );
}

#[test]
fn a_value_is_exactly_what_its_type_says() {
    let long = format!("+ x {}\n- x {}", "a/".repeat(2048), "a/".repeat(2049));
    check("commands: {x: {operands: [{path: read}]}}", &long);
    check(
        r#"
commands:
  x:
    options:
      "-t": {text: {}}
      "-p": {path: {access: read, chars: "a-z/."}}
      "-b": {text: {must_begin: [refs/, HEAD]}}
      "-s": {one_of: [always, never]}
  not:
    syntax: posix
    options: {"!": flag}
    operands: [{text: {}, count: "0.."}]
"#,
        "+ x -tx
         - x -t=x
         - x -t =x -x
         + x -t =x
         + x -p a/b.c
         - x -p a/B
         - x -pA
         + x -b refs/heads
         + x -b HEAD~1
         - x -b head
         - x -b xrefs/
         - x -s alway
         - x -s alwaysx
         - x -s Always
         + not ! x
         + not ! x ! y",
    );
    // Behind the first operand it is one more.
    let rules = load("commands: {not: {syntax: posix, options: {\"!\": flag}, operands: [{one_of: [a]}]}}").unwrap();
    assert_eq!(decide(&rules, "not ! a").0, Expected::Allow);
    assert_eq!(decide(&rules, "not a !").0, Expected::Refuse);
}

#[test]
fn what_a_refusal_says_is_enough_to_do_better() {
    let check = |line: &str, expected: &str| {
        let found = refusal(LOG, line);
        let found = found.split("; usage:").next().unwrap();
        assert_eq!(found, expected, "{line}");
    };
    check("git log --max-count=", "`--max-count` takes a whole number from 1 to 1000, not ``, which is empty");
    for (revision, why) in [("/x", "begins with `/`"), ("a/../b", "has a part `..`")] {
        let found = refusal(LOG, &format!("git log {revision}"));
        assert!(found.contains(&format!("not `{revision}`, which {why};")), "{found}");
    }
    check("git log --onelin", "`git log` does not take `--onelin`; write options in full");
    check("git log --output=/etc/x", "`git log` does not take `--output`");
    check("git log --no-pager", "`git log` does not take `--no-pager`; put it before `log`");
    check("git --oneline log", "`git` does not take `--oneline`; put it after the subcommand that takes it");
    check("git log -zF", "`git log` does not take `-F`, a letter of `-zF`");
    check("git log -n 5000", "`-n` takes a whole number from 1 to 1000, not `5000`");
    check("git log -zn5000", "`-n` takes a whole number from 1 to 1000, not `5000`");
    check("git log --max-count=x", "`--max-count` takes a whole number from 1 to 1000, not `x`");
    check("git log -n", "`-n` needs a value: a whole number from 1 to 1000");
    check("git log --date iso", "`--date` needs its value in the same word, as `--date=VALUE`: `iso` or `-raw`");
    check("git log --oneline=1", "`--oneline` of `git log` takes no value; write `--oneline` alone");
    check("git log --grep @x", "`--grep` takes a text, not `@x`, which begins with `@`");
    check("git log -- ../x", "`../x` leads outside the allowed directories");
    check("git log -- ''", "`git log` takes a path as PATH, not ``, which is empty");
    check("git -C .. log", "`git` does not take `-C`; choose the directory with `cwd`");
    check("git psh", "`git` may not be called with `psh`; its subcommands here are status, log, push");
    check("git", "`git` needs a subcommand: status, log, push");
    check(
        "git --bad log",
        "`git` does not take `--bad`; only `--no-pager`, `-P` or `--super-prefix` may come before its subcommand",
    );
    // A form without operands says nothing of a subcommand that there is not.
    let versions =
        "commands: {x: {forms: [{options: {--version: {type: flag, required: true}}}], subcommands: {a: {}}}}";
    let found = refusal(versions, "x b --tail 5");
    assert_eq!(found, "`x` may not be called with `b`; its subcommands here are a");
    let find = "commands: {find: {syntax: single_dash, options: {-executable: flag}}}";
    assert_eq!(refusal(find, "find -exec"), "`find` does not take `-exec`; usage: `find [-executable]`");
    let asked = ListEntry { text: "x".to_owned(), effect: Effect::Ask };
    let asked = Rules::load(&[], &[], &[asked]).unwrap();
    assert_eq!(synopsis(asked.get("x").unwrap()), "x …  (a person approves it)");
    let letters = "commands: {x: {options: {'-a, -b': flag, '-c, --see': flag, '-d, --dee, --do': flag, '--eff, -f': flag, \
                   '-g, -h': {type: flag, required: true}}}}";
    let usage = "usage: `x [-abcd] [--dee|--do] [--eff|-f] -g|-h`";
    assert!(refusal(letters, "x -g y").ends_with(usage), "{}", refusal(letters, "x -g y"));
    // A hint of the command holds for its subcommands too.
    assert!(
        refusal(LOG, "git log -C..").ends_with("; choose the directory with `cwd`"),
        "{}",
        refusal(LOG, "git log -C..")
    );
    check(
        "git log --grep -x",
        "`--grep` takes a text, not `-x`, which begins with `-`; if that is the value, attach it: `--grep=-x`",
    );
    check("git -- log", "`git` does not take `--` here; leave it out");
    check("git push origin a b", "`b` is one word too many for `git push`");
    check(
        "git push origin main",
        "the operator does not allow `git push origin main`: nobody pushes to main from here",
    );
    check("git push origin topic", "a person has to approve this call of `git push`");
    assert!(refusal(LOG, "git log -x").contains("; usage: `git log ["), "{}", refusal(LOG, "git log -x"));
}

#[test]
fn words_are_inserted_at_their_level_and_secrets_are_not_shown() {
    let rules = load(
        r#"
commands:
  git:
    options: {"-P": flag}
    insert: [-c, a=b]
    subcommands:
      log: {insert: [--no-ext-diff], options: {"--token": {text: {}, secret: true}, "-p": {text: {}, secret: true}}, operands: [{text: {}, count: "0.."}]}
"#,
    )
    .unwrap();
    let git = rules.get("git").unwrap();
    let shown = |line: &str| {
        let words = CommandLine::parse(line).unwrap().into_words();
        let judgement = decide_example(git, &words);
        let shown = match &judgement.matched {
            Some(matched) => matched.without_secrets(&words),
            None => git.without_secrets(&words),
        };
        let run = judgement.matched.map(|matched| matched.with_inserted(&words).join(" ")).unwrap_or_default();
        (run, shown.join(" "))
    };
    assert_eq!(shown("git -P log x"), ("git -c a=b -P log --no-ext-diff x".to_owned(), "git -P log x".to_owned()));
    assert_eq!(shown("git log --token=s -pt -p u x").1, "git log --token=*** -p*** -p *** x");
    assert_eq!(shown("git log --token s --bad -pt").1, "git log --token *** *** -p***");
}

#[test]
fn of_a_call_that_is_refused_nothing_is_shown_that_may_be_a_secret() {
    let rules = load(
        r#"
commands:
  db:
    options: {"--host": {text: {}}, "-v": flag}
    subcommands:
      log: {options: {"--password": {text: {}, secret: true}, "-p": {text: {}, secret: true}, "--count": {integer: [1, 9]}}}
  plain: {options: {"--host": {text: {}}}, operands: [{text: {}}]}
  echo: {operands: [{text: {}, secret: true, count: "0..1"}]}
  go: {syntax: go, options: {"-p": {text: {}, secret: true}, "-v": flag, "-n": {integer: [1, 9]}}}
  find: {syntax: single_dash, options: {"-key": {text: {}, secret: true}, "-v": flag}}
"#,
    )
    .unwrap();
    let shown = |line: &str| {
        let words = CommandLine::parse(line).unwrap().into_words();
        let judgement = decide_example(rules.get(&words[0]).unwrap(), &words);
        (judgement.shown.join(" "), judgement.refusal.unwrap_or_default())
    };
    for (line, expected) in [
        ("db --host h log --passwrod planted", "db --host h log *** ***"),
        ("db log --passwrod=planted", "db log ***"),
        ("db log --passworplanted", "db log ***"),
        ("db log --PASSWORDplanted", "db log ***"),
        ("db log --passwplanted=x", "db log ***"),
        ("db log -Password=planted", "db log ***"),
        ("db log -Pplanted", "db log ***"),
        ("db log -vPplanted", "db log -v***"),
        ("db log -vvpplanted", "db log -v***"),
        ("db log -passwordplanted x", "db log -p*** ***"),
        ("db log --pplanted", "db log ***"),
        ("db log -v=planted", "db log -v=***"),
        ("db -x --host -pplanted log", "db -x --host -p*** log"),
        ("db --host --passwrodplanted log", "db --host *** log"),
        ("db log --count -plantedplanted", "db log --count -p***"),
        ("db log -- --passwrodplanted", "db log -- ***"),
        ("db log --passwordplanted", "db log --password***"),
        ("db log password planted", "db log *** ***"),
        ("db log planted", "db log ***"),
        ("db log --count planted", "db log --count planted"),
        ("db log --password -- planted", "db log --password *** ***"),
        ("db --host=h -v lgo planted", "db --host=h -v *** ***"),
        ("db log --password log log", "db log --password *** log"),
        ("plain --host a b planted", "plain --host a b planted"),
        ("echo planted planted2", "echo *** ***"),
        ("go -pplanted", "go -p***"),
        ("go --pplanted", "go ***"),
        ("go -planted=x", "go -p***"),
        ("go -xplanted -n 3", "go *** -n 3"),
        ("go -v=planted -n -pplanted", "go -v=*** -n -p***"),
        ("go -vplanted", "go -v***"),
        ("find -keyplanted", "find -key***"),
        ("find -keplanted", "find ***"),
        ("find -kye planted", "find *** ***"),
        ("find -vkey planted", "find -v*** ***"),
    ] {
        let (words, why) = shown(line);
        assert_eq!(words, expected, "{line}");
        assert!(!why.is_empty() && (words.contains("planted") || !why.contains("planted")), "{line}: {why}");
    }
    let why = shown("db log -vS").1;
    assert!(why.starts_with("`db log` does not take `-v***`"), "{why}");
    let why = shown("db log ss").1;
    assert!(why.starts_with("`***` is one word too many for `db log`"), "{why}");
}

#[test]
fn of_the_forms_that_match_deny_beats_ask_beats_allow_in_any_order() {
    let forms = [
        "{operands: [{text: {}}]}",
        "{decision: ask, operands: [{one_of: [b, c]}]}",
        "{decision: deny, operands: [{one_of: [c]}]}",
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let forms = order.map(|at| forms[at]).join(", ");
        check(&format!("commands: {{x: {{forms: [{forms}]}}}}"), "+ x a\n? x b\n- x c\n- x");
    }
}

#[test]
fn a_profile_that_is_shipped_loads_and_its_examples_hold() {
    for name in profile_names() {
        let rules = Rules::load(&[], &[name.to_owned()], &[]).unwrap_or_else(|error| panic!("{error}"));
        assert!(!rules.is_empty(), "{name}");
    }
}

#[test]
fn the_description_of_a_command_is_found_by_its_exact_name() {
    let rules = load(LOG).unwrap();
    assert!(rules.get("git").is_some() && rules.get("gi").is_none() && rules.get("").is_none());
    assert_eq!(rules.get("git").unwrap().origin.to_string(), "p.yaml:9");
    assert_eq!(*rules.get("git").unwrap().origin.source, PolicySource::File(Path::new("p.yaml").to_owned()));
}

#[test]
fn a_command_that_is_only_denied_is_found_and_not_listed() {
    let text =
        "version: 1\ncommands:\n  x: any\n  y: {decision: deny}\n  z: {subcommands: {a: {decision: deny}, b: any}}\n";
    let allow = AllowList::new([]).with_rules(Arc::new(load(text).unwrap()));
    assert_eq!((allow.names(), allow.summary().as_str()), (&["x".to_owned(), "z".to_owned()][..], "x, z"));
    assert!(matches!(allow.find("y"), Some(Rule::Described(rule)) if rule.name == "y"));
}
