//! Each setting from each source, and which source wins.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use crate::network::Network;

/// A value for each setting that is not its default, as text and as YAML, and how it is shown.
const VALUES: &[(&str, &str, &str, &str)] = &[
    ("allow", "ls, cat,,ls", "[ls, cat, ls]", "ls, cat"),
    ("policy", EMPTY_POLICY, EMPTY_POLICY, EMPTY_POLICY),
    ("profile", " ,", "[]", "none"),
    ("ask", "rm,git  push,,rm", "[rm, git push, rm]", "rm, git push"),
    ("ask-with", "zenity --text 'a b'", "\"zenity --text 'a b'\"", "zenity --text 'a b'"),
    ("ask-timeout", "90s", "90s", "90s"),
    ("read-only", "ls, cat,,ls", "[ls, cat, ls]", "ls, cat"),
    ("trust", "any", "any", "any"),
    ("lock", "a.lock", "a.lock", "a.lock"),
    ("allow-project-commands", "yes", "true", "on"),
    ("tools", "shell", "shell", "shell"),
    ("shell", "dash", "dash", "dash"),
    // No other value is possible on Windows.
    if cfg!(windows) { ("lines", "Off", "off", "off") } else { ("lines", "On", "on", "on") },
    ("cwd-root", "/srv , data", "[/srv, data]", "/srv, data"),
    ("workspace-dir", "/w", "/w", "/w"),
    ("project-dir", "p", "p", "p"),
    ("cwd", "~/$HOME/*", "~/$HOME/*", "~/$HOME/*"),
    ("roots", "Require", "require", "require"),
    ("sandbox", "strict", "strict", "strict"),
    ("sandbox-best-effort", "yes", "true", "on"),
    ("network", "Full", "full", "full"),
    ("read", "/r , s", "[/r, s]", "/r, s"),
    ("write", "/w", "[/w]", "/w"),
    ("exec", "/x", "[/x]", "/x"),
    ("grant", "Git , rust", "[git, rust]", "git, rust"),
    ("timeout", "90s", "90s", "90s"),
    ("max-timeout", "2h", "2h", "2h"),
    ("grace", "0s", "0s", "0s"),
    ("max-output", "1MB", "1000000", "1MB"),
    ("max-concurrent", "4", "4", "4"),
    ("background", "Off", "false", "off"),
    ("hand-over", "2m", "2m", "2m"),
    ("max-background", "2h", "2h", "2h"),
    ("max-background-calls", "4", "4", "4"),
    ("keep-output", "1MB", "1000000", "1MB"),
    ("max-memory", "1.5GiB", "1.5GiB", "1536MiB"),
    ("max-cpu", "2m", "2m", "2m"),
    ("max-processes", "64", "64", "64"),
    ("max-file-size", "1MB", "1000000", "1MB"),
    ("max-open-files", "100", "100", "100"),
    ("env", "HOME2,A=secret", "[HOME2, 'A=secret, with a comma']", "HOME2, A=…"),
    ("inherit-env", "1", "true", "on"),
    ("line-env", "A , _b", "[A, _b]", "A, _b"),
    ("structured", "TRUE", "true", "on"),
    ("exit-error", "on", "true", "on"),
    ("record", "s.transcript", "s.transcript", "s.transcript"),
    ("record-force", "on", "true", "on"),
    ("record-required", "on", "true", "on"),
    ("audit", "a.jsonl", "a.jsonl", "a.jsonl"),
    ("audit-sync", "on", "true", "on"),
    ("audit-max-size", "10MB", "10000000", "10MB"),
    ("audit-anchor", "logger --tag 'a b'", "\"logger --tag 'a b'\"", "logger --tag 'a b'"),
    ("log", "Debug", "debug", "debug"),
    ("log-file", "l.log", "l.log", "l.log"),
    ("log-format", "JSON", "json", "json"),
];

/// A policy that says nothing; what is named is read with the rest.
const EMPTY_POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/policies/empty.yaml");

#[test]
fn each_setting_comes_from_each_source() {
    let named: Vec<_> = VALUES.iter().map(|row| row.0).chain(["config"]).collect();
    assert_eq!(named, SETTINGS.iter().map(|spec| spec.flag).collect::<Vec<_>>(), "each setting has a row");
    for &(name, text, yaml, shown) in VALUES {
        schema::tests::compare(&format!("{name}: {yaml}"));
        if cfg!(windows) && name == "policy" {
            // Where the tests of Windows run elsewhere than they were built, the path leads to nothing.
            continue;
        }
        let spec = SETTINGS.iter().find(|spec| spec.flag == name).unwrap();
        let (flag, apart) = match spec.takes {
            Takes::Switch => (format!("--{name}"), vec![format!("--{name}")]),
            Takes::Text | Takes::Number | Takes::List => {
                (format!("--{name}={text}"), vec![format!("--{name}"), text.to_owned()])
            }
        };
        let apart: Vec<&str> = apart.iter().map(String::as_str).collect();
        let variable = format!("{}={text}", spec.variable);
        let (file, dashed) = (format!("{}: {yaml}", spec.key()), format!("{name}: {yaml}"));
        let (by_flag, by_variable) =
            (format!("{shown} (flag `--{name}`)"), format!("{shown} (variable `{}`)", spec.variable));
        let by_file = format!("{shown} (file `s.yaml`)");

        assert_eq!(Start::with(&[&flag], &[], None).row(name), by_flag);
        assert_eq!(Start::with(&apart, &[], None).row(name), by_flag);
        assert_eq!(Start::with(&[], &[&variable], None).row(name), by_variable);
        assert_eq!(Start::with(&[], &[], Some(&file)).row(name), by_file);
        assert_eq!(Start::with(&[], &[], Some(&dashed)).row(name), by_file);
        assert_eq!(Start::with(&[&flag], &[&variable], Some(&file)).row(name), by_flag);
        assert_eq!(Start::with(&[], &[&variable], Some(&file)).row(name), by_variable);
    }
}

#[test]
fn the_file_is_named_by_a_flag_or_a_variable() {
    let mut start = Start::with(&[], &["ALLOWEXEC_CONFIG=s.yaml"], None);
    start.file = Some("log: error".to_owned());
    let config = start.resolve().unwrap();
    assert_eq!(config.file.source.to_string(), "variable `ALLOWEXEC_CONFIG`");
    assert_eq!(config.log.source, Source::File("s.yaml".into()));
    let config = Start::with(&[], &["ALLOWEXEC_CONFIG=other.yaml"], Some("")).resolve().unwrap();
    assert_eq!((config.file.value.as_deref(), config.file.source), (Some(Path::new("s.yaml")), Source::Flag("config")));
}

#[test]
fn the_stronger_list_replaces_the_weaker() {
    let check = |arguments: &[&str], variables: &[&str], file: Option<&str>, name: &str, expected: &str| {
        assert_eq!(Start::with(arguments, variables, file).row(name), expected, "{arguments:?} {variables:?} {file:?}");
    };
    let variable = ["ALLOWED_COMMANDS=git"];
    check(&["--allow", "ls"], &variable, Some("allow: rm"), "allow", "ls (flag `--allow`)");
    check(&["--allow="], &variable, None, "allow", "nothing (flag `--allow`)");
    check(&[], &["ALLOWED_COMMANDS=,"], Some("allow: rm"), "allow", "nothing (variable `ALLOWED_COMMANDS`)");
    check(&["--allow", "ls", "--allow=b,,a,ls", "--allow", ""], &[], None, "allow", "ls, b, a (flag `--allow`)");
    check(&["--env", "A=1,B", "--env=C=x=y", "--env", "D="], &[], None, "env", "A=…, B, C=…, D=… (flag `--env`)");
    check(
        &[],
        &["ALLOWEXEC_STRUCTURED=no"],
        Some("structured: true"),
        "structured",
        "off (variable `ALLOWEXEC_STRUCTURED`)",
    );
    check(&[], &[], Some("allow: /opt/my tools/x, g++"), "allow", "/opt/my tools/x, g++ (file `s.yaml`)");
}

#[test]
fn values_of_env_keep_their_commas_in_the_file() {
    let config = Start::with(&[], &[], Some("env: [PATH, 'A=1, B=2 ', '']")).resolve().unwrap();
    assert_eq!(
        config.env.value,
        [EnvEntry::Pass("PATH".to_owned()), EnvEntry::Set("A".to_owned(), "1, B=2 ".to_owned())]
    );
    assert_eq!(format!("{:?}", config.env.value), "[EnvEntry(PATH), EnvEntry(A=…)]");
}

#[test]
fn an_empty_variable_is_unset_and_a_list_without_entries_is_set() {
    let check = |arguments: &[&str], variables: &[&str], file: Option<&str>, expected: Option<&[&str]>| {
        let config = Start::with(arguments, variables, file).resolve().unwrap();
        let expected = expected.map(|roots| roots.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(config.cwd_root.value, expected, "{arguments:?} {variables:?} {file:?}");
    };
    check(&[], &[], None, None);
    check(&[], &["ALLOWED_CWD_ROOTS="], None, None);
    check(&[], &["ALLOWED_CWD_ROOTS="], Some("cwd_root: [/a]"), Some(&["/a"]));
    check(&[], &["ALLOWED_CWD_ROOTS=,"], None, Some(&[]));
    check(&[], &["ALLOWED_CWD_ROOTS= , "], None, Some(&[]));
    check(&[], &["ALLOWED_CWD_ROOTS= "], None, Some(&[]));
    check(&[], &["ALLOWED_CWD_ROOTS=,"], Some("cwd_root: [/a]"), Some(&[]));
    check(&["--cwd-root", ""], &["ALLOWED_CWD_ROOTS=/a"], None, Some(&[]));
    check(&[], &[], Some("cwd_root: []"), Some(&[]));
    check(&[], &[], Some("cwd_root: ['']"), Some(&[]));
    check(&[], &[], Some("cwd_root: ''"), Some(&[]));
    check(&[], &[], Some("cwd_root: ['/a, b', ' c']"), Some(&["/a, b", " c"]));
    check(&["--cwd-root=/b,/a", "--cwd-root", "c d"], &[], None, Some(&["/b", "/a", "c d"]));
    let shown = Start::with(&["--cwd-root="], &[], None).row("cwd-root");
    assert_eq!(shown, "an empty list (flag `--cwd-root`)");
}

#[test]
fn variables_that_are_not_ours_are_kept_and_never_judged() {
    let start = Start::with(&[], &["ALLOWED_THINGS=x", "ALLOWEXEC_=", "ALLOWEXEC_TYPO=", "PATH=/bin"], None);
    let config = start.resolve().unwrap();
    assert_eq!(config.surroundings.variable("ALLOWED_THINGS"), Some("x".as_ref()));
    assert_eq!(config.surroundings.variable("MISSING"), None);
    assert!(format!("{config:?}").contains("Surroundings(4 variables, in `"), "values stay out of debug output");
}

#[test]
fn a_timeout_that_nobody_set_gives_way_to_its_maximum() {
    let check = |arguments: &[&str], expected: Result<(u64, &str), &str>| {
        let found = Start::with(arguments, &[], None).resolve();
        let found = found.map(|config| (config.timeout.value, config.timeout.source.to_string()));
        let expected = expected.map(|(seconds, source)| (Duration::from_secs(seconds), source.to_owned()));
        assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{arguments:?}");
    };
    check(&["--max-timeout=10s"], Ok((10, "flag `--max-timeout`")));
    check(&["--max-timeout=10s", "--timeout=10s"], Ok((10, "flag `--timeout`")));
    check(
        &["--max-timeout=10s", "--timeout=10001ms"],
        Err("the timeout of 10001ms (flag `--timeout`) is longer than the maximum of 10s (flag `--max-timeout`); \
                lower `--timeout` or raise `--max-timeout`"),
    );
    check(
        &["--timeout=11m"],
        Err("the timeout of 11m (flag `--timeout`) is longer than the maximum of 10m (default); \
             lower `--timeout` or raise `--max-timeout`"),
    );
}

#[test]
fn the_network_follows_the_level_unless_it_is_set() {
    let check = |arguments: &[&str], expected: Result<Network, &str>| {
        let found = Start::with(arguments, &[], None).resolve().map(|config| config.network());
        assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{arguments:?}");
    };
    check(&[], Ok(Network::Full));
    check(&["--network=full"], Ok(Network::Full));
    check(&["--sandbox=workspace"], Ok(Network::Full));
    check(&["--sandbox=strict"], Ok(Network::None));
    check(&["--sandbox=workspace", "--network=none"], Ok(Network::None));
    check(&["--sandbox=strict", "--network=full"], Ok(Network::Full));
    check(&["--sandbox=strict", "--network=loopback"], Ok(Network::Loopback));
    check(
        &["--network=loopback"],
        Err(
            "`--network loopback` (flag `--network`) can't be enforced without the sandbox; add `--sandbox workspace` or \
             `--sandbox strict`",
        ),
    );
    check(
        &["--network=none"],
        Err("`--network none` (flag `--network`) can't be enforced without the sandbox; add `--sandbox workspace` or \
             `--sandbox strict`"),
    );
}
