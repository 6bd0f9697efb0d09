//! The texts of errors in the file, word for word.

use super::*;

#[test]
fn files() {
    let check = |text: &str, expected: &str| {
        assert_eq!(Start::with(&[], &[], Some(text)).row("allow"), expected, "{text}");
    };
    check("", "nothing (default)");
    check("# nothing\n---\n", "nothing (default)");
    check("{}", "nothing (default)");
    check("alow: [ls]", "unknown key `alow` in file `s.yaml`; did you mean `allow`?");
    check(
        "zzzzz: 1",
        "unknown key `zzzzz` in file `s.yaml`; the keys are the flags' names with `_`, and \
         `--help` lists them",
    );
    check(
        "config: other.yaml",
        "unknown key `config` in file `s.yaml`; the keys are the flags' names with `_`, and \
         `--help` lists them",
    );
    check("cwd_root: a\ncwd_root: b", "key `cwd_root` stands twice in file `s.yaml`; keep one of them");
    check("cwd_root: a\ncwd-root: b", "key `cwd-root` stands twice in file `s.yaml`; keep one of them");
    check(
        "allow:",
        "key `allow` in file `s.yaml`: expected a list of texts such as `[]` or `[ls, \
         'true']`, found nothing",
    );
    check(
        "allow: {ls: true}",
        "key `allow` in file `s.yaml`: expected a list of texts such as `[]` or `[ls, \
         'true']`, found a mapping",
    );
    check(
        "allow: [ls, true]",
        "key `allow` in file `s.yaml`: expected a list of texts such as `[]` or `[ls, \
         'true']`, found a list with the boolean `true`",
    );
    check(
        "allow: [7]",
        "key `allow` in file `s.yaml`: expected a list of texts such as `[]` or `[ls, \
         'true']`, found a list with the number `7`",
    );
    check(
        "allow: !secret ls",
        "key `allow` in file `s.yaml`: expected a list of texts such as `[]` or `[ls, \
         'true']`, found the tag `!secret`",
    );
    check(
        "timeout: 30",
        "key `timeout` in file `s.yaml`: `30` has no unit; write `30s` for seconds, or one of \
         ms, m and h",
    );
    check("timeout: [30s]", "key `timeout` in file `s.yaml`: expected a number or one text, found a list");
    check(
        "max_output: -1",
        "key `max_output` in file `s.yaml`: `-1` is no size; expected whole bytes, as a \
         number (`0` for no bound) or with a unit (B, KB, KiB, MB, MiB, GB or GiB), such as \
         `64KiB`",
    );
    check(
        "max_concurrent: 1.5",
        "key `max_concurrent` in file `s.yaml`: `1.5` is no number of calls; expected a whole \
         number of at least 1",
    );
    check(
        "cwd: 5",
        "key `cwd` in file `s.yaml`: expected one text, in quotes where it looks like \
         something else, found the number `5`",
    );
    check(
        "cwd: ''",
        "key `cwd` in file `s.yaml`: expected a path, found an empty text; leave the setting \
         out for its default",
    );
    check("structured: yes", "key `structured` in file `s.yaml`: expected `true` or `false`, found the text `yes`");
    check(
        "log: null",
        "key `log` in file `s.yaml`: expected one text, in quotes where it looks like \
         something else, found nothing",
    );
    check(
        "- ls",
        "file `s.yaml` holds no settings; expected YAML such as `allow: [ls, cat]`\n  invalid \
         type: sequence, expected a mapping of settings",
    );
    check(
        "allow",
        "file `s.yaml` holds no settings; expected YAML such as `allow: [ls, cat]`\n  invalid \
         type: string \"allow\", expected a mapping of settings",
    );
    check(
        "1: 2",
        "unknown key `1` in file `s.yaml`; the keys are the flags' names with `_`, and \
         `--help` lists them",
    );
    check(
        "allow: [ls",
        "file `s.yaml` holds no settings; expected YAML such as `allow: [ls, cat]`\n  did not \
         find expected ',' or ']' at line 2 column 1, while parsing a flow sequence at line 1 \
         column 8",
    );
    check(
        "a: 1\n---\nb: 2",
        "file `s.yaml` holds no settings; expected YAML such as `allow: [ls, cat]`\n  \
         deserializing from YAML containing more than one document is not supported",
    );
}

#[test]
fn a_file_that_cannot_be_read() {
    assert_eq!(
        with_causes(&Start::with(&["--config", "gone.yaml"], &[], None).resolve().unwrap_err()),
        format!("flag `--config`: file `gone.yaml` can't be read\n  {}", fs::read("gone.yaml").unwrap_err())
    );
}
