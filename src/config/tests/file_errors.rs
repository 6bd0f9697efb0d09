//! The texts of errors in the file, word for word.

use super::*;

#[test]
fn files() {
    let check = |text: &str, expected: &str| {
        assert_eq!(Start::with(&[], &[], Some(text)).row("allow"), expected, "{text}");
        schema::tests::compare(text);
    };
    check("", "nothing (default)");
    check("# nothing\n---\n", "nothing (default)");
    check("{}", "nothing (default)");
    check("alow: [ls]", "unknown key `alow` in file `s.yaml`; did you mean `allow`?");
    check(
        "zzzzz: 1",
        "unknown key `zzzzz` in file `s.yaml`; the keys are the flags' names with `_` for `-`, and `--help all` lists them",
    );
    check(
        "config: other.yaml",
        "unknown key `config` in file `s.yaml`; the keys are the flags' names with `_` for `-`, and `--help all` lists \
                them",
    );
    check("cwd_root: a\ncwd_root: b", "key `cwd_root` occurs twice in file `s.yaml`; keep one of them");
    check("cwd_root: a\ncwd-root: b", "key `cwd-root` occurs twice in file `s.yaml`; keep one of them");
    check(
        "version: 1",
        "unknown key `version` in file `s.yaml`; it is a key of policies, which are named with \
            `--policy`",
    );
    check("allow: [ls]\nbackground: false", "ls (file `s.yaml`)");
    check("background: 1", "key `background` in file `s.yaml`: expected `true` or `false`, found the number `1`");
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
        "key `max_output` in file `s.yaml`: `-1` is not a size; expected whole bytes, as a \
         number (`0` for no bound) or with a unit (B, KB, KiB, MB, MiB, GB or GiB), such as \
         `64KiB`",
    );
    check(
        "max_concurrent: 1.5",
        "key `max_concurrent` in file `s.yaml`: `1.5` is not a count; expected a whole number of at least 1",
    );
    check(
        "cwd: 5",
        "key `cwd` in file `s.yaml`: expected one text, in quotes if it looks like something else, found the number \
                `5`",
    );
    check(
        "cwd: ''",
        "key `cwd` in file `s.yaml`: expected a path, found an empty text; leave the setting \
         out for its default",
    );
    check("structured: yes", "key `structured` in file `s.yaml`: expected `true` or `false`, found the text `yes`");
    check(
        "log: null",
        "key `log` in file `s.yaml`: expected one text, in quotes if it looks like something else, found nothing",
    );
    check(
        "- ls",
        "file `s.yaml`: expected settings as YAML, such as `allow: [ls, cat]`\n  invalid \
         type: sequence, expected a mapping of settings",
    );
    check(
        "allow",
        "file `s.yaml`: expected settings as YAML, such as `allow: [ls, cat]`\n  invalid \
         type: string \"allow\", expected a mapping of settings",
    );
    check(
        "1: 2",
        "unknown key `1` in file `s.yaml`; the keys are the flags' names with `_` for `-`, and `--help all` lists them",
    );
    check(
        "allow: [ls",
        "file `s.yaml`, line 1: expected settings as YAML, such as `allow: [ls, cat]`\n  did not \
         find expected ',' or ']' at line 2 column 1, while parsing a flow sequence at line 1 \
         column 8",
    );
    check(
        "allow: a\n---\nb: 2",
        "file `s.yaml`: expected settings as YAML, such as `allow: [ls, cat]`\n  \
         deserializing from YAML containing more than one document is not supported",
    );
}

/// The error of `doctor`'s row for a file, and the most text that may be shown of it.
fn error_of(text: &str) -> String {
    Start::with(&[], &[], Some(text)).row("allow")
}

#[test]
fn files_that_cost_more_than_settings_need() {
    let check = |text: String, expected: &str| assert_eq!(error_of(&text), expected);
    check(
        "x".repeat(256 * 1024 + 1),
        "flag `--config`: file `s.yaml` can't be read\n  it is larger than 256 KiB, the most that is read",
    );
    // The YAML parser takes a quarter of a minute for these.
    check(
        format!("allow:\n{}", "[".repeat(200_000)),
        "file `s.yaml`, line 2: found more than 500 of `[` and `{`; write lists line by line, each \
         entry after `- `",
    );
    check(
        format!("allow: [{}]", "x,".repeat(10_001)),
        "key `allow` in file `s.yaml`: expected at most 10000 entries, found 10001",
    );
    check(
        format!("allow: {}", "x".repeat(65_537)),
        "key `allow` in file `s.yaml`: expected at most 65536 bytes, found 65537",
    );
    // Ten kilobytes that stand for 90 million entries, and for as many bytes of one.
    let list = "x,".repeat(2_000);
    let aliases = "*a,".repeat(2_000);
    let unknown = error_of(&format!("a: &a [{list}]\nallow: [{aliases}]"));
    assert!(unknown.starts_with("unknown key `a`"), "{unknown}");
    check(
        format!("read: &a [{list}]\nallow: [{aliases}]"),
        "key `allow` in file `s.yaml`: expected a list of texts such as `[]` or `[ls, 'true']`, found a list with a list",
    );
    check(
        format!("cwd: &a {}\nallow: [{aliases}]", "x".repeat(60_000)),
        "file `s.yaml`: its values add up to more than 524288 bytes; use fewer or shorter `*` aliases",
    );
    // Aliases as people use them.
    check("read: &a [x, y]\nallow: *a".to_owned(), "x, y (file `s.yaml`)");
    let deep = error_of(&"- ".repeat(100_000));
    assert!(deep.starts_with("file `s.yaml`: expected settings as YAML"), "{deep}");
}

#[test]
fn long_words_are_reported_without_being_compared_with_every_setting() {
    let error = error_of(&format!("{}: 1", "k".repeat(1000)));
    assert!(error.ends_with("`--help all` lists them"), "{error}");
    let error = error_of(&format!("allow: {{{}: 1}}", "k".repeat(1000)));
    assert!(error.ends_with("found a mapping"), "{error}");
}

#[test]
#[cfg(unix)]
fn only_regular_files_are_read() {
    let check = |path: &str, expected: &str| {
        let error = with_causes(&Start::with(&["--config", path], &[], None).resolve().unwrap_err());
        assert_eq!(error, format!("flag `--config`: file `{path}` can't be read\n  {expected}"));
    };
    check("/dev/zero", "it is a device; expected a regular file");
    check("/", "it is a directory; expected a regular file");
}

#[test]
fn a_file_that_others_name_is_beneath_the_directory_and_reached_without_a_link() {
    let directory = tempfile::tempdir().unwrap();
    let (inside, outside) = (directory.path().join("in"), directory.path().join("out.yaml"));
    fs::create_dir_all(inside.join("sub")).unwrap();
    fs::write(&outside, "allow: [secret]").unwrap();
    fs::write(inside.join("sub/s.yaml"), "allow: [ls]").unwrap();
    let files = crate::files::Beneath::open(&inside).unwrap();
    let resolve = |name: &str| {
        let variables = BTreeMap::from([("ALLOWEXEC_CONFIG".into(), name.into())]);
        let surroundings = Surroundings { variables, directory: files.path().to_owned() };
        Config::resolve_beneath(&Flags::default(), surroundings, &files)
            .map(|config| config.allow.value.join(","))
            .map_err(|error| with_causes(&error))
    };
    assert_eq!(resolve("sub/s.yaml").unwrap(), "ls");
    assert_eq!(resolve(files.path().join("sub/s.yaml").to_str().unwrap()).unwrap(), "ls");
    let above = "expected a relative path without `..`";
    for (name, why) in [
        ("../out.yaml", above),
        ("sub/../../out.yaml", above),
        (outside.to_str().unwrap(), "it is outside the directory that it must be in"),
    ] {
        let error = resolve(name).unwrap_err();
        assert!(error.ends_with(why), "{error}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&outside, inside.join("link.yaml")).unwrap();
        let error = resolve("link.yaml").unwrap_err();
        assert!(error.ends_with("`link.yaml` is a link, and no link is followed here"), "{error}");
    }
}

#[test]
fn a_file_that_cannot_be_read() {
    assert_eq!(
        with_causes(&Start::with(&["--config", "gone.yaml"], &[], None).resolve().unwrap_err()),
        format!("flag `--config`: file `gone.yaml` can't be read\n  {}", fs::read("gone.yaml").unwrap_err())
    );
}
