//! Tests of what types ask for and deny, and of `ask` and `deny` beside forms that allow.

use super::language::{check, load, refusal};

const PLACES: &str = r#"
types:
  private: {path: {access: read, under: [private, deep/in/secret]}}
  place: {path: write, deny: private, reason: it is private}
commands:
  rm:
    options: {"-r, --recursive": flag, "-f, --force": flag}
    operands: [{type: place, count: "1.."}]
  mv: {options: {"-t, --target-directory": {type: place}}, operands: [{name: FROM, type: place, count: "1.."}]}
  put: {forms: [{options: {"-x": {flag: , required: true}}, operands: [{text: {}, ask: private}]}, {operands: [{text: {}, deny: private}]}]}
  git:
    subcommands:
      push:
        options: {"-f, --force": flag, "-u": flag, "--branch": {text: {}, ask: {one_of: [release], reason: it is a release}}}
        operands:
          - {one_of: [origin, copy]}
          - {name: BRANCH, text: {chars: "A-Za-z0-9_/@-", first: "@", max_length: 20}, count: "0..", ask: {text: {must_begin: [release/, "@"], max_length: 9}}, deny: {one_of: [main]}, reason: not from here}
  seq: {operands: [{integer: [0, 1000], ask: {integer: [100, 1000]}, deny: {one_of: ["666"]}}]}
"#;

#[test]
fn a_value_that_is_denied_or_asked_for_is_so_in_every_shape_of_the_line() {
    let lines = "
        +rm a
        -rm private/a
        -rm a private/a
        -rm private/a a
        -rm -rf a b private/c d
        -rm -f -f private/a
        -rm -- private/a
        -rm a -- private/a
        -rm --force --recursive ./private//a
        -rm public/../private/a
        -rm private
        -rm private/
        -rm ./private/.
        -rm deep
        -rm deep/in
        +rm deep/other deep/in/other
        -rm deep/in/secret deep/in/other
        +rm privates
        +rm public/private
        -mv private public
        -mv a -t private
        -mv a --target-directory=private/b
        -mv -t a -t private/b a
        +mv a -t public
        -put private/a
        ?put -x private/a
        -put -x -x
        +git push origin topic
        +git push origin -fu topic
        -git push origin main
        -git push -f origin topic main
        -git push origin main topic
        -git push origin -- main
        -git push -f -f copy release/1 main
        ?git push origin release/1
        ?git push origin release/long-name
        ?git push origin @x
        ?git push origin topic --branch release
        ?git push origin --branch=topic --branch=release
        ?git push origin --branch release --branch topic
        +git push origin --branch topic
        +seq 99
        ?seq 100
        -seq 666
    ";
    check(PLACES, lines);
    assert_eq!(refusal(PLACES, "rm private/a"), "the operator does not allow `rm private/a`: it is private");
    let asked = "a person has to approve this call of `git push`: it is a release";
    assert_eq!(refusal(PLACES, "git push origin --branch release"), asked);
    let denied = "the operator does not allow `git push origin main release/x`: not from here";
    assert_eq!(refusal(PLACES, "git push origin main release/x"), denied);
}

#[test]
fn a_model_sees_which_values_are_asked_for_and_denied() {
    let rules = load(PLACES).unwrap();
    let forms = |name: &str| crate::policy::rules::forms_of(rules.get(name).unwrap()).join("\n");
    assert_eq!(forms("rm"), "rm [-rf] PATH...  (PATH: never a path under private, deep/in/secret)");
    assert!(forms("git").ends_with(
        "  (--branch: a person approves `release`)  (BRANCH: a person approves a text that begins with `release/` or `@` of \
         at most 9 characters; never `main`)"
    ), "{}", forms("git"));
    assert!(rules.get("git").unwrap().asks() && !rules.get("rm").unwrap().asks());
}

#[test]
fn what_types_ask_for_and_deny_is_comparable_and_has_a_reason_for_something() {
    let wrong = |types: &str, why: &str| {
        let error = load(&format!("types:\n{types}")).unwrap_err().to_string();
        assert_eq!(error, format!("p.yaml:{why}"));
    };
    let files = "since a file has many names, found a mapping";
    let path = "a path, such as `{path: {access: read, under: [private]}}`";
    wrong("  t: {path: read, deny: {one_of: [private]}}", &format!("2: `deny` of type `t`: expected {path}, {files}"));
    wrong("  t: {path: read, ask: {text: {}}}", &format!("2: `ask` of type `t`: expected {path}, {files}"));
    let number = "no `integer`, since a text spells a number in many ways; make the type itself an `integer`";
    wrong(
        "  t: {text: {}, ask: {integer: [1, 2]}}",
        &format!("2: `ask` of type `t`: expected {number}, found a mapping"),
    );
    wrong("  t: {text: {}, reason: x}", "2: type `t`: `reason` means nothing without `ask` or `deny`");
    wrong("  t: {text: {}, deny: t}", "2: type `t` is defined by itself");
    wrong("  t: {text: {}, deny: u}\n  u: {text: {}, ask: t}", "2: type `t` is defined by itself");
    wrong("  t: {text: {}, deny: v}", "2: unknown type `v`; did you mean `t`?");
    let own = "expected a type without `ask` and `deny` of its own, found";
    wrong(
        "  t: {text: {}, deny: u}\n  u: {text: {}, ask: {one_of: [a]}}",
        &format!("2: `deny` of type `t`: {own} `u`"),
    );
    wrong(
        "  t: {text: {}, deny: {deny: {one_of: [a]}}}",
        "2: unknown key `deny` of `deny` of type `t`; the known keys are integer, one_of, text, path, type, reason",
    );
    let flag = "commands: {x: {options: {-f: {flag: , deny: {one_of: [a]}}}}}";
    assert_eq!(
        load(flag).unwrap_err().to_string(),
        "p.yaml:1: option `-f`: `deny` means nothing with a flag, which has no value"
    );
    assert!(load("types:\n  a: {one_of: [x]}\n  t: {type: a, ask: a, deny: a}").is_ok());
}

#[test]
fn an_example_is_decided_as_the_call_would_be_or_is_a_mistake() {
    // `+` allows, `-` refuses, `!` can't be told without files.
    for (operand, lines) in [
        ("{path: read}", "+a +./a/b +a/../b +. -../a -a/../../b -/a -/"),
        ("{path: write}", "+a -. -a/.. -./ -/a -../a -.git/x"),
        (
            "{path: {access: read, under: [/srv/data]}}",
            "+/srv/data +/srv/data/x +/srv/./data/../data/x -/srv -/srv/dat -/srv/data/../x !x !../x",
        ),
        ("{path: {access: write, under: [/srv/data]}}", "-/srv/data +/srv/data/x -/srv"),
        ("{path: {access: read, under: [/]}}", "+/etc/x +x +../x"),
        (
            "{path: {access: read, under: [src]}}",
            "+src +src/x -. -srcs -../x -../../x !../y/src/x -/etc/x !/home/src !/home/src/x -src/../x +a/../src/x",
        ),
        ("{path: {access: write, under: [src]}}", "-src +src/x -."),
        ("{path: {access: read, under: [.]}}", "+. +x -.. -../x !../x/y !/etc/x -/../../.."),
        (
            "{path: {access: read, under: [.., ../../other/place]}}",
            "+x +../x +.. -../.. +../../other/place/x -../../other",
        ),
        (
            "{path: {access: write, under: [src, private]}, deny: {path: {access: write, under: [private]}}}",
            "+src/x -private -private/x !/x/src/y",
        ),
        // What agents read as instructions is not written.
        ("{path: write}", "-.mcp.json -a/.claude/x -.github/hooks/a -.github +a/b +.github/workflows/a -.VSCODE/x"),
        ("{path: read}", "+.mcp.json +.claude/x"),
        ("{path: {access: write, under: [.claude]}}", "+.claude/x -.claude/.mcp.json"),
        (
            "{path: {access: read, under: [/]}, deny: {path: {access: read, under: [private]}}}",
            "-private/x -. +public +../x/y -.. !../x !/x !/x/private/y -/",
        ),
    ] {
        for example in lines.split(' ') {
            let (mark, path) = example.split_at(1);
            let is_accepted = |expected: &str| {
                let text =
                    format!("commands: {{x: {{operands: [{operand}], examples: {{{expected}: [[x, {path}]]}}}}}}");
                load(&text).map_err(|error| error.to_string())
            };
            let (allow, refuse) = (is_accepted("allow"), is_accepted("refuse"));
            match mark {
                "+" => assert!(allow.is_ok() && refuse.is_err(), "{operand}: {path}: {allow:?}"),
                "-" => assert!(allow.is_err() && refuse.is_ok(), "{operand}: {path}: {refuse:?}"),
                _ => {
                    let why = format!("p.yaml:1: example `x {path}`: {}", super::UNTOLD);
                    assert_eq!((allow.unwrap_err(), refuse.unwrap_err()), (why.clone(), why), "{operand}");
                }
            }
        }
    }
}

#[test]
fn a_form_that_asks_or_denies_holds_in_every_variation_of_its_examples() {
    let forms = |forms: &str, examples: &str| {
        load(&format!("commands: {{x: {{forms: [{forms}], examples: {{{examples}}}}}}}"))
            .map_err(|error| error.to_string())
    };
    let origin = "operands: [{one_of: [origin]}, {one_of: [main]}]";
    for (allows, stricter, examples, evades) in [
        // An option that only the other form has, before and after.
        (
            "{options: {-f: flag}, operands: [{text: {}}]}",
            "{decision: ask, operands: [{one_of: [a]}]}",
            "ask: [x a]",
            "x -f a",
        ),
        (
            "{options: {--to: {integer: [3, 9]}}, operands: [{text: {}}]}",
            "{decision: deny, operands: [{one_of: [a]}]}",
            "refuse: [x a]",
            "x --to 3 a",
        ),
        // An option twice, with another value.
        (
            "{options: {-n: {one_of: [prod, dev]}}}",
            "{decision: ask, options: {-n: {one_of: [prod], required: true}}}",
            "ask: [x -n prod]",
            "x -n dev -n prod",
        ),
        // One more operand.
        (
            "{operands: [{path: write, count: \"1..\"}]}",
            "{decision: ask, operands: [{path: {access: write, under: [p]}, count: \"1..\"}]}",
            "ask: [x p/x]",
            "x a p/x",
        ),
        (
            "{operands: [{text: {}, count: \"0..\"}]}",
            "{decision: deny, operands: [{one_of: [a]}]}",
            "refuse: [x a]",
            "x -- a",
        ),
        // Deny that is evaded by a form that asks.
        (
            "{decision: ask, options: {-f: flag}, operands: [{text: {}}]}",
            "{decision: deny, operands: [{one_of: [a]}]}",
            "refuse: [x a]",
            "x -f a",
        ),
        // A value that only one of the forms restricts.
        (
            "{options: {-f: {flag: , required: true}}, operands: [{text: {}}]}",
            "{operands: [{text: {}, deny: {one_of: [a]}}]}",
            "refuse: [x a]",
            "x -f a",
        ),
        // `--`, whose operands the other form describes.
        (
            "{operands: [{text: {}, count: \"0..\"}], after_double_dash: [{text: {}}]}",
            "{decision: deny, operands: [{one_of: [a]}], after_double_dash: []}",
            "refuse: [x a]",
            "x -- a",
        ),
        // Another spelling that only the other form has.
        (
            "{options: {\"-f, --force\": flag}, operands: [{path: write, count: \"1..3\"}]}",
            "{decision: ask, options: {\"-f\": {flag: , required: true}}, operands: [{path: write, count: \"1..3\"}]}",
            "ask: [x -f a], allow: [x a]",
            "x --force a",
        ),
        (
            "{options: {\"-n, --to\": {one_of: [prod, dev]}, -v: flag}, operands: [{text: {}}]}",
            "{decision: ask, options: {-n: {one_of: [prod], required: true}, -v: flag}, operands: [{text: {}}]}",
            "ask: [x -vnprod a]",
            "x --to prod -v a",
        ),
        // Two options that the other form requires.
        (
            "{options: {-a: {flag: , required: true}, -b: {flag: , required: true}}, operands: [{text: {}}]}",
            "{decision: deny, operands: [{one_of: [prod]}]}",
            "refuse: [x prod]",
            "x -a -b prod",
        ),
        // Two more operands.
        (
            "{operands: [{text: {}, count: \"3..\"}]}",
            "{decision: ask, operands: [{one_of: [prod]}]}",
            "ask: [x prod]",
            "x a a prod",
        ),
        // No example at all.
        (
            "{operands: [{path: read, count: \"0..\"}]}",
            "{decision: ask, operands: [{path: {access: read, under: [private]}, count: \"0..\"}]}",
            "",
            "x a private/a",
        ),
    ] {
        for order in [format!("{allows}, {stricter}"), format!("{stricter}, {allows}")] {
            let error = forms(&order, examples).unwrap_err();
            let begins = ["p.yaml:1: example `x ", "p.yaml:1: the form that would ask at `x private/a`: "];
            let is_it = begins.iter().any(|begin| error.starts_with(begin)) && error.contains("evades it with");
            assert!(is_it, "{order}: {error}");
            assert!(error.contains("`x "), "{evades}");
        }
    }
    for (allows, stricter, examples) in [
        (
            "{operands: [{one_of: [origin]}, {text: {}}]}",
            format!("{{decision: deny, {origin}}}"),
            "refuse: [x origin main]",
        ),
        (
            "{options: {-f: flag}, operands: [{text: {}, deny: {one_of: [a]}}]}",
            "{decision: ask, operands: [{one_of: [a]}]}".to_owned(),
            "refuse: [x a, x -f a]",
        ),
        (
            "{operands: [{path: write, count: \"1..\"}]}",
            "{decision: ask, options: {-f: {flag: , required: true}}, operands: [{path: write, count: \"1..\"}]}"
                .to_owned(),
            "ask: [x -f a], allow: [x a]",
        ),
        (
            "{operands: [{name: WHERE, text: {}}, {path: read, count: \"0..\"}]}",
            "{decision: ask, operands: [{one_of: [prod]}, {path: read, count: \"0..\"}]}".to_owned(),
            "ask: [x prod a], allow: [x dev a]",
        ),
        (
            "{options: {-n: {one_of: [dev]}}, operands: [{text: {}, count: \"0..1\"}]}",
            "{decision: ask, options: {-n: {one_of: [prod], required: true}}, operands: []}".to_owned(),
            "ask: [x -n prod], allow: [x -n dev prod]",
        ),
    ] {
        assert_eq!(forms(&format!("{allows}, {stricter}"), examples).map(|_| ()), Ok(()), "{allows}");
    }
}
