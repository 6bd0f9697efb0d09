//! Each key of the language, changed once, and the direction that is told.

use std::collections::BTreeSet;

use super::*;
use crate::policy::rules::texts::schema;
use crate::policy::rules::{PolicyText, profile_names};

fn rules(command: &str) -> Rules {
    policy(&format!("version: 1\ncommands:\n  a: {command}\n"))
}

fn policy(text: &str) -> Rules {
    Rules::load(&[PolicyText { file: "p.yaml".into(), text: text.to_owned() }], &[], &[]).expect(text)
}

#[test]
fn each_setting_is_told_to_be_wider_or_narrower() {
    let check = |narrow: &str, wide: &str, what: &str| {
        let (narrow, wide) = (rules(narrow), rules(wide));
        let found = |old, new| settings(old, new).into_iter().map(|s| (s.what, s.is_wider)).collect::<Vec<_>>();
        assert_eq!(found(&narrow, &wide), [(what, true)], "{what}");
        assert_eq!(found(&wide, &narrow), [(what, false)], "{what}");
        assert_eq!(found(&wide, &wide), [], "{what}");
    };
    check("{insert: [-x]}", "{}", "inserted words");
    check("{insert: [-x, -y]}", "{insert: [-x]}", "inserted words");
    assert!(settings(&rules("{insert: [-x]}"), &rules("{insert: [-xy]}"))[0].is_wider);
    check("{env: {set: {A: b}}}", "{}", "environment");
    check("{env: {unset: [A]}}", "{}", "environment");
    check("{}", "{stdin: true}", "input");
    check("{cwd: {under: [src]}}", "{}", "`cwd`");
    check("{cwd: {under: [src]}}", "{cwd: {under: [src, docs]}}", "`cwd`");
    check("{sandbox: {level: strict}}", "{sandbox: {level: workspace}}", "sandbox");
    check("{sandbox: {level: workspace}}", "{}", "sandbox");
    check("{sandbox: {exec: own}}", "{}", "sandbox");
    check("{sandbox: {network: none}}", "{sandbox: {network: full}}", "sandbox");
    check("{sandbox: {network: loopback}}", "{sandbox: {network: full}}", "sandbox");
    check("{sandbox: {network: none}}", "{sandbox: {network: loopback}}", "sandbox");
    check("{sandbox: {network: connect:1}}", "{sandbox: {network: 'connect:1,listen:2'}}", "sandbox");
    check("{sandbox: {write: none}}", "{}", "sandbox");
    for of in ["options: {--to: {text: {}, secret: S}}", "operands: [{text: {}, secret: S}]"] {
        let of = |is: &str| format!("{{{}}}", of.replace('S', is));
        check(&of("true"), &of("false"), "arguments");
    }
    check("{limits: {memory: 1MiB}}", "{limits: {memory: 2MiB}}", "limits");
    check("{timeout: 1s}", "{}", "timeout");
    check("{}", "{read_only: true}", "`read_only`");
}

/// Keys that say nothing about what runs: words for people, and what is so anyway.
const SAY_NOTHING: [&str; 17] = [
    "policy.version",
    "type.reason",
    "restriction.reason",
    "option.name",
    "option.reason",
    "operand.name",
    "operand.reason",
    "operand.required",
    "command.reason",
    "command.hint",
    "command.examples",
    "subcommand.reason",
    "subcommand.hint",
    "form.reason",
    "examples.allow",
    "examples.ask",
    "examples.refuse",
];

/// Keys of which any change counts as wider.
const UNTOLD: [&str; 5] =
    ["command.program", "command.extends", "command.syntax", "subcommand.syntax", "option.leading"];

/// For each other key a narrow policy and a wider one that differs in it. What begins with `{`, or comes after a `C`, is the rule of
/// one command. Keys of a `LEVEL` are tried at a command and at a subcommand.
#[rustfmt::skip]
const CHANGED: &[(&str, &str, &str)] = &[
    ("policy.profiles", "commands: {}", "profiles: ripgrep"),
    ("policy.types", "types: {t: {integer: [1, 5]}}\nC{operands: [{type: t}]}", "types: {t: {integer: [1, 6]}}\nC{operands: [{type: t}]}"),
    ("policy.sets", "sets: {s: {-a: flag}}\nC{use: s}", "sets: {s: {-a: flag, -b: flag}}\nC{use: s}"),
    ("policy.commands", "commands: {}", "{}"),
    ("policy.redirections", "redirections: {write: {path: {access: write, under: [b]}}}", "commands: {}"),
    ("redirections.write", "redirections: {write: {path: {access: write, under: [b]}}}", "redirections: {}"),
    ("redirections.write", "redirections: {write: {path: {access: write, under: [b]}}}", "redirections: {write: {path: {access: write, under: [b, c]}}}"),
    ("redirections.read", "redirections: {read: {path: {access: read, under: [b]}, deny: {path: {access: read, under: [b/c]}}}}", "redirections: {read: {path: {access: read, under: [b]}}}"),
    ("type.integer", "types: {t: {integer: [1, 5]}}\nC{operands: [{type: t}]}", "types: {t: {integer: [0, 5]}}\nC{operands: [{type: t}]}"),
    ("type.one_of", "types: {t: {one_of: [x]}}\nC{operands: [{type: t}]}", "types: {t: {one_of: [x, y]}}\nC{operands: [{type: t}]}"),
    ("type.text", "types: {t: {text: {chars: a-c}}}\nC{operands: [{type: t}]}", "types: {t: {text: }}\nC{operands: [{type: t}]}"),
    ("type.path", "types: {t: {path: {access: read, except: [.git]}}}\nC{operands: [{type: t}]}", "types: {t: {path: write}}\nC{operands: [{type: t}]}"),
    ("type.type", "types: {u: {one_of: [x]}, t: {type: u}}\nC{operands: [{type: t}]}", "types: {u: {one_of: [x]}, t: {type: text}}\nC{operands: [{type: t}]}"),
    ("type.ask", "types: {t: {text: {}, ask: {one_of: [x]}}}\nC{operands: [{type: t}]}", "types: {t: {text: {}}}\nC{operands: [{type: t}]}"),
    ("type.deny", "types: {t: {text: {}, deny: {one_of: [x]}}}\nC{operands: [{type: t}]}", "types: {t: {text: {}, ask: {one_of: [x]}}}\nC{operands: [{type: t}]}"),
    ("restriction.integer", "{operands: [{integer: [1, 99], deny: {integer: [5, 50]}}]}", "{operands: [{integer: [1, 99], deny: {integer: [6, 50]}}]}"),
    ("restriction.one_of", "{operands: [{text: {}, deny: {one_of: [x, y]}}]}", "{operands: [{text: {}, deny: {one_of: [x]}}]}"),
    ("restriction.text", "{operands: [{text: {}, deny: {text: {must_begin: x}}}]}", "{operands: [{text: {}, deny: {text: {must_begin: xy}}}]}"),
    ("restriction.path", "{operands: [{path: read, deny: {path: {access: read, under: [b]}}}]}", "{operands: [{path: read, deny: {path: {access: read, under: [b/c]}}}]}"),
    ("restriction.type", "types: {t: {text: {}}}\nC{operands: [{text: {}, ask: {type: t}}]}", "types: {t: {text: {}}}\nC{operands: [{text: {}}]}"),
    ("text.chars", "{operands: [{text: {chars: bd-f}}]}", "{operands: [{text: {chars: b-g}}]}"),
    ("text.first", "{operands: [{text: {}}]}", "{operands: [{text: {first: '@'}}]}"),
    ("text.relative", "{operands: [{text: {relative: true}}]}", "{operands: [{text: {}}]}"),
    ("text.must_begin", "{operands: [{text: {must_begin: [xy]}}]}", "{operands: [{text: {must_begin: [x]}}]}"),
    ("text.max_length", "{operands: [{text: {max_length: 9000}}]}", "{operands: [{text: {max_length: 9999}}]}"),
    ("path.access", "{operands: [{path: {access: read, except: [.git]}}]}", "{operands: [{path: {access: write}}]}"),
    ("path.under", "{operands: [{path: {access: read, under: [b]}}]}", "{operands: [{path: {access: read, under: [b, c]}}]}"),
    ("path.except", "{operands: [{path: {access: read, under: [b], except: [k.pem]}}]}", "{operands: [{path: {access: read, under: [b]}}]}"),
    ("path.exists", "{operands: [{path: {access: read, exists: true}}]}", "{operands: [{path: read}]}"),
    ("path.chars", "{operands: [{path: {access: read, chars: a-z/}}]}", "{operands: [{path: read}]}"),
    ("option.integer", "{options: {-n: {integer: [1, 5]}}}", "{options: {-n: {integer: [1, 6]}}}"),
    ("option.one_of", "{options: {-n: {one_of: [x]}}}", "{options: {-n: {one_of: [x, y]}}}"),
    ("option.text", "{options: {-n: {text: {max_length: 4}}}}", "{options: {-n: {text: }}}"),
    ("option.path", "{options: {-n: {path: {access: read, except: [.git]}}}}", "{options: {-n: {path: write}}}"),
    ("option.type", "{options: {-n: {one_of: [x]}}}", "{options: {-n: {type: text}}}"),
    ("option.ask", "{options: {-n: {text: {}, ask: {one_of: [x]}}}}", "{options: {-n: {text: {}}}}"),
    ("option.deny", "{options: {-n: {text: {}, deny: {one_of: [x]}}}}", "{options: {-n: {text: {}}}}"),
    ("option.optional", "{options: {-n: {text: {}, attached: true}}}", "{options: {-n: {text: {}, optional: true}}}"),
    ("option.attached", "{options: {-n: {text: {}, attached: true}}}", "{options: {-n: {text: {}}}}"),
    ("option.required", "{options: {-n: {flag: , required: true}}}", "{options: {-n: flag}}"),
    ("option.secret", "{options: {-n: {text: {}, secret: true}}}", "{options: {-n: {text: {}}}}"),
    ("option.flag", "{options: {-n: flag}}", "{options: {-n: flag, -m: {flag: }}}"),
    ("operand.integer", "{operands: [{integer: [1, 5]}]}", "{operands: [{integer: [1, 6]}]}"),
    ("operand.one_of", "{operands: [{one_of: [x]}]}", "{operands: [{one_of: [x, y]}]}"),
    ("operand.text", "{operands: [{one_of: [x]}]}", "{operands: [{text: }]}"),
    ("operand.path", "{operands: [{path: {access: read, except: [.git]}}]}", "{operands: [{path: write}]}"),
    ("operand.type", "{operands: [{one_of: [x]}]}", "{operands: [{type: text}]}"),
    ("operand.ask", "{operands: [{text: {}, ask: {one_of: [x]}}]}", "{operands: [{text: {}}]}"),
    ("operand.deny", "{operands: [{text: {}, deny: {one_of: [x]}}]}", "{operands: [{text: {}}]}"),
    ("operand.count", "{operands: [{path: read, count: 0..7}]}", "{operands: [{path: read, count: 0..90}]}"),
    ("operand.count", "{operands: [{path: read, count: 0..7}]}", "{operands: [{path: read, count: 0..}]}"),
    ("operand.optional", "{operands: [{text: {}}]}", "{operands: [{text: {}, optional: true}]}"),
    ("operand.secret", "{operands: [{text: {}, secret: true}]}", "{operands: [{text: {}}]}"),
    ("LEVEL.options", "{}", "{options: {-a: flag}}"),
    ("LEVEL.use", "sets: {s: {-a: flag}}\nC{}", "sets: {s: {-a: flag}}\nC{use: [s]}"),
    ("LEVEL.operands", "{}", "{operands: [{text: {}, count: 0..1}]}"),
    ("LEVEL.after_double_dash", "{operands: [{one_of: [x]}], after_double_dash: []}", "{operands: [{one_of: [x]}], after_double_dash: [{one_of: [x], count: 0..1}]}"),
    ("LEVEL.forms", "{forms: [{operands: [{one_of: [x]}]}]}", "{forms: [{operands: [{one_of: [x]}]}, {}]}"),
    ("LEVEL.subcommands", "{subcommands: {x: any}}", "{subcommands: {x: any, y: any}}"),
    ("LEVEL.insert", "{insert: [-x, -y]}", "{insert: [-x]}"),
    ("LEVEL.env", "{env: {unset: [A]}}", "{}"),
    ("LEVEL.decision", "{decision: ask}", "{}"),
    ("LEVEL.syntax", "{syntax: gnu, options: {-a: flag}}", "{syntax: posix, options: {-a: flag}}"),
    ("LEVEL.order", "{order: options_first, options: {-a: flag}, operands: [{one_of: [x]}]}", "{options: {-a: flag}, operands: [{one_of: [x]}]}"),
    ("LEVEL.double_dash", "{double_dash: refuse}", "{double_dash: allow}"),
    ("command.program", "{program: /bin/b}", "{program: /bin/c}"),
    ("command.extends", "commands: {rg: {}}", "commands: {rg: {extends: ripgrep}}"),
    ("command.cwd", "{cwd: {under: [b]}}", "{}"),
    ("command.stdin", "{stdin: false}", "{stdin: true}"),
    ("command.timeout", "{timeout: 1s}", "{timeout: 2s}"),
    ("command.success_exit_codes", "{success_exit_codes: [0]}", "{success_exit_codes: [0, 1]}"),
    ("command.sandbox", "{sandbox: {level: strict}}", "{}"),
    ("command.limits", "{limits: {cpu: 1s}}", "{}"),
    ("command.read_only", "{}", "{read_only: true}"),
    ("form.options", "{forms: [{}]}", "{forms: [{options: {-a: flag}}]}"),
    ("form.use", "sets: {s: {-a: flag}}\nC{forms: [{}]}", "sets: {s: {-a: flag}}\nC{forms: [{use: s}]}"),
    ("form.operands", "{forms: [{operands: [{one_of: [x]}]}]}", "{forms: [{operands: [{one_of: [x, y]}]}]}"),
    ("form.after_double_dash", "{forms: [{after_double_dash: []}]}", "{forms: [{after_double_dash: [{one_of: [x], count: 0..1}]}]}"),
    ("form.decision", "{forms: [{decision: deny}]}", "{forms: [{decision: ask}]}"),
    ("env.set", "{env: {set: {A: b}}}", "{}"),
    ("env.unset", "{env: {unset: [A]}}", "{}"),
    ("env.accept", "{}", "{env: {accept: {A: {text: {}}}}}"),
    ("env.accept", "{env: {accept: {A: {one_of: [x]}}}}", "{env: {accept: {A: {text: {}}}}}"),
    ("env.accept", "{subcommands: {s: {}}}", "{subcommands: {s: {env: {accept: {A: {text: {}}}}}}}"),
    ("cwd.under", "{cwd: {under: [b]}}", "{cwd: {under: [b, c]}}"),
    ("sandbox.level", "{sandbox: {level: strict}}", "{sandbox: {level: workspace}}"),
    ("sandbox.exec", "{sandbox: {exec: own}}", "{}"),
    ("sandbox.network", "{sandbox: {network: none}}", "{sandbox: {network: full}}"),
    ("sandbox.paths", "{sandbox: {paths: claimed}, operands: [{path: read}]}", "{operands: [{path: read}]}"),
    ("sandbox.write", "{sandbox: {write: none}}", "{sandbox: {write: full}}"),
    ("limits.memory", "{limits: {memory: 1MiB}}", "{limits: {memory: 2MiB}}"),
    ("limits.cpu", "{limits: {cpu: 1s}}", "{limits: {cpu: 2s}}"),
    ("limits.file_size", "{limits: {file_size: 1MiB}}", "{limits: {file_size: 2MiB}}"),
    ("limits.processes", "{limits: {processes: 1}}", "{limits: {processes: 2}}"),
    ("limits.open_files", "{limits: {open_files: 9}}", "{limits: {open_files: 10}}"),
    ("option.leading", "{order: operands_first, options: {-P: {flag: , leading: true}}, operands: [{one_of: [x]}]}", "{order: operands_first, options: {-P: flag}, operands: [{one_of: [x]}]}"),
];

#[test]
fn no_key_of_the_language_is_missed_and_none_is_told_in_the_wrong_direction() {
    let schema = schema();
    let mut missing: BTreeSet<String> = BTreeSet::new();
    let mut add = |name: &str, mapping: &Value| {
        missing.extend(mapping["properties"].as_object().unwrap().keys().map(|key| format!("{name}.{key}")));
    };
    add("policy", &schema);
    schema["definitions"].as_object().unwrap().iter().for_each(|(name, mapping)| add(name, mapping));
    for key in SAY_NOTHING {
        assert!(missing.remove(key), "{key}");
    }
    for (key, narrow, wide) in CHANGED {
        let levels = [("command", "{}"), ("subcommand", "{subcommands: {b: {}}}")];
        for (level, around) in levels.into_iter().filter(|(level, _)| key.starts_with("LEVEL") || *level == "command") {
            let key = key.replace("LEVEL", level);
            let load = |text: &str| {
                let (above, command) = text.split_once("\nC").unwrap_or(("", text));
                let command = around.replace("{}", command);
                if command.starts_with('{') {
                    policy(&format!("{above}\ncommands: {{a: {command}}}"))
                } else {
                    policy(text)
                }
            };
            let (narrow, wide) = (load(narrow), load(wide));
            let is_wider = |old, new| {
                let found = settings(old, new);
                (!found.is_empty(), found.iter().any(|setting| setting.is_wider))
            };
            assert_eq!(is_wider(&narrow, &wide), (true, true), "{key}");
            assert_eq!(is_wider(&wide, &narrow), (true, UNTOLD.contains(&key.as_str())), "{key}");
            assert_eq!(is_wider(&wide, &wide), (false, false), "{key}");
            missing.remove(&key);
        }
    }
    assert_eq!(missing, BTreeSet::new());
}

#[test]
fn a_policy_is_neither_wider_nor_narrower_than_itself() {
    for name in profile_names() {
        let rules = policy(&format!("profiles: {name}"));
        assert!(settings(&rules, &rules).is_empty(), "{name}");
    }
}

#[test]
fn settings_are_shown_as_people_write_them() {
    let all = settings(
        &rules("{}"),
        &rules(
            "{env: {set: {A: b c, D: e}, unset: [F], accept: {G: {one_of: [x]}}}, program: /bin/b, timeout: 1m, stdin: true}",
        ),
    );
    let shown: Vec<String> = all.iter().map(|s| format!("{}: {} -> {}", s.what, s.old, s.new)).collect();
    assert_eq!(
        shown,
        [
            "input: false -> true",
            "program: none -> /bin/b",
            "timeout: none -> 60s",
            "environment: none -> 'A=b c' 'D=e', without F, G from lines: `x`",
        ]
    );
    let cat = |operand: &str| rules(&format!("{{options: {{-n: {{integer: [1, 5]}}}}, operands: [{{{operand}}}]}}"));
    let all =
        settings(&cat("name: FILE, path: read, count: 0..7"), &cat("path: {access: read, under: [b]}, secret: true"));
    assert_eq!(
        all[0].to_text(),
        "arguments of `a`: `a`: form 1, allow: FILE: a path, 0 to 7 times → `a`: form 1, allow: a path under b (secret)"
    );
}

#[test]
fn another_program_is_never_narrower() {
    let (old, new) = (rules("{program: /bin/a}"), rules("{program: /bin/b}"));
    assert!(settings(&old, &new)[0].is_wider && settings(&new, &old)[0].is_wider);
}
