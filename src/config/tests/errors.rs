//! The texts of errors in flags, variables and values, word for word.

use super::*;

#[test]
fn flags() {
    let check = |arguments: &[&str], expected: &str| {
        assert_eq!(Start::with(arguments, &[], None).row("allow"), expected, "{arguments:?}");
    };
    check(&["--timout", "1s"], "unknown flag `--timout`; did you mean `--timeout`?");
    check(&["--jsom"], "unknown flag `--jsom`; did you mean `--json`?");
    check(&["--cwd_root=/"], "unknown flag `--cwd_root`; did you mean `--cwd-root`?");
    check(&["--zzz"], "unknown flag `--zzz`; `--help all` lists the flags");
    check(&["--x\u{1b}[2J"], "unknown flag `--x\\u{1b}[2J`; `--help all` lists the flags");
    check(&["--allow"], "flag `--allow` needs a value; write `--allow NAMES`");
    check(&["--env"], "flag `--env` needs a value; write `--env NAME[=VALUE]`");
    check(
        &["--allow", "--structured"],
        "flag `--allow` needs a value, found `--structured`; write `--allow=--structured` if \
         that is the value",
    );
    check(&["--cwd", "--", "ls"], "flag `--cwd` needs a value, found `--`; write `--cwd=--` if that is the value");
    check(&["--structured=yes"], "flag `--structured` takes no value, found `yes`; write `--structured` to turn it on");
    check(
        &["--sandbox", "strict", "--sandbox=off"],
        "flag `--sandbox` is given twice, with `strict` and with `off`; give it once",
    );
    check(&["--timeout=1s", "--timeout=1s"], "flag `--timeout` is given twice, with `1s` and with `1s`; give it once");
    check(&["--structured", "--allow=ls", "--structured", "--allow=cat"], "ls, cat (flag `--allow`)");
    check(&["--structured="], "flag `--structured` takes no value, found ``; write `--structured` to turn it on");
}

#[test]
fn values() {
    let check = |argument: &str, expected: &str| {
        assert_eq!(Start::with(&[argument], &[], None).row("allow"), expected, "{argument}");
    };
    check(
        "--allow=cat,ls -l",
        "flag `--allow`: `ls -l` contains a blank; expected the name of a command, which the first word of a call is \
                compared with (write a name that itself contains a blank as a path)",
    );
    check(
        "--allow=ls /tmp",
        "flag `--allow`: `ls /tmp` contains a blank; expected the name of a command, which the first word of a call \
                is compared with (write a name that itself contains a blank as a path)",
    );
    check(
        "--allow=a\nb",
        "flag `--allow`: `a\\nb` contains a control character; expected the name of a command, or its path",
    );
    check(
        "--allow=a\0b",
        "flag `--allow`: `a\\u{0}b` contains a control character; expected the name of a command, or its path",
    );
    check("--cwd-root=/a,b\0", "flag `--cwd-root`: `b\\u{0}` contains a NUL character, which no path can contain");
    check(
        "--line-env=A=b",
        "flag `--line-env`: `A=b` is not the name of a variable; expected letters, digits and `_`, without a value",
    );
    for name in ["PATH", "IFS", "ENV", "PWD", "OLDPWD", "SHELLOPTS", "BASH_ENV", "BASH", "LD_PRELOAD", "LD_", "DYLD_X"]
    {
        check(
            &format!("--line-env=A,{name}"),
            &format!(
                "flag `--line-env`: `{name}` can't be left to calls: `PATH`, `IFS`, `ENV`, `PWD`, `OLDPWD`, `SHELLOPTS`, `BASH*`, \
                 `LD_*` and `DYLD_*` decide which code runs, or are the shell's own; set it with `--env`"
            ),
        );
    }
    check(
        "--cwd=",
        "flag `--cwd`: expected a path, found an empty text; leave the setting out for its \
         default",
    );
    check(
        "--config=",
        "flag `--config`: expected a path, found an empty text; leave the setting out for its \
         default",
    );
    check("--timeout=30", "flag `--timeout`: `30` has no unit; write `30s` for seconds, or one of ms, m and h");
    check("--timeout=1.5", "flag `--timeout`: `1.5` has no unit; write `1.5s` for seconds, or one of ms, m and h");
    check(
        "--timeout=",
        "flag `--timeout`: `` is not a duration; expected a number and a unit (ms, s, m or h), \
         such as `500ms` or `1.5s`",
    );
    check(
        "--timeout=-1s",
        "flag `--timeout`: `-1s` is not a duration; expected a number and a unit (ms, s, m or \
         h), such as `500ms` or `1.5s`",
    );
    check(
        "--timeout=1d",
        "flag `--timeout`: `1d` is not a duration; expected a number and a unit (ms, s, m or h), \
         such as `500ms` or `1.5s`",
    );
    check("--timeout=0ms", "flag `--timeout`: `0ms` leaves no time at all; expected more than zero");
    check("--max-timeout=0s", "flag `--max-timeout`: `0s` leaves no time at all; expected more than zero");
    check("--grace=169h", "flag `--grace`: `169h` is too long; expected at most 168h");
    check(
        "--max-output=64KX",
        "flag `--max-output`: `64KX` is not a size; expected whole bytes, as a number (`0` for \
         no bound) or with a unit (B, KB, KiB, MB, MiB, GB or GiB), such as `64KiB`",
    );
    check(
        "--max-output=0.5B",
        "flag `--max-output`: `0.5B` is not a size; expected whole bytes, as a number (`0` for \
         no bound) or with a unit (B, KB, KiB, MB, MiB, GB or GiB), such as `64KiB`",
    );
    check(
        "--max-output=1025GiB",
        "flag `--max-output`: `1025GiB` is too large; expected at most 1024GiB, or `0` for no \
         bound",
    );
    check("--max-concurrent=0", "flag `--max-concurrent`: `0` is not a count; expected a whole number of at least 1");
    check("--max-memory=0", "flag `--max-memory`: `0` leaves no room at all; expected more than zero");
    check(
        "--max-concurrent=many",
        "flag `--max-concurrent`: `many` is not a count; expected a whole number of at least 1",
    );
    check(
        "--env==x",
        "flag `--env`: an entry names no variable; expected `NAME` or `NAME=VALUE`, with letters, digits and `_` in \
                the name; a value with a comma must be given in the file",
    );
    check(
        "--env=MESSAGE=one, two words",
        "flag `--env`: an entry names no variable; expected `NAME` or `NAME=VALUE`, with letters, digits and `_` in \
                the name; a value with a comma must be given in the file",
    );
    check(
        "--env=AWS_*",
        "flag `--env`: an entry names no variable; expected `NAME` or `NAME=VALUE`, with letters, digits and `_` in \
                the name; a value with a comma must be given in the file",
    );
    check("--env=A=secret\0", "flag `--env`: the value of `A` contains a NUL character, which no variable can contain");
    check("--log=inof", "flag `--log`: `inof` is not a log level; did you mean `info`?");
    check("--log=verbose", "flag `--log`: `verbose` is not a log level; did you mean `debug`?");
    check("--log=Warning", "flag `--log`: `Warning` is not a log level; did you mean `warn`?");
    check("--log=loud", "flag `--log`: `loud` is not a log level; expected off, error, warn, info or debug");
    for (given, meant) in [
        ("allowed", "allow"),
        ("inherit", "inherit-env"),
        ("project", "project-dir"),
        ("max", "max-cpu"),
        ("workspace", "workspace-dir"),
        ("environment", "env"),
        ("allow-project", "allow-project-commands"),
        ("log-level", "log"),
    ] {
        check(&format!("--{given}=x"), &format!("unknown flag `--{given}`; did you mean `--{meant}`?"));
    }
}

#[test]
fn variables() {
    let check = |variable: &str, expected: &str| {
        assert_eq!(Start::with(&[], &[variable], None).row("allow"), expected, "{variable}");
    };
    check("ALLOWEXEC_TIMOUT=1s", "unknown variable `ALLOWEXEC_TIMOUT`; did you mean `ALLOWEXEC_TIMEOUT`?");
    check("ALLOWEXEC_ALLOW=ls", "unknown variable `ALLOWEXEC_ALLOW`; did you mean `ALLOWED_COMMANDS`?");
    check("ALLOWEXEC_CWD_ROOTS=/", "unknown variable `ALLOWEXEC_CWD_ROOTS`; did you mean `ALLOWED_CWD_ROOTS`?");
    check(
        "ALLOWEXEC_QQQQQ=1",
        "unknown variable `ALLOWEXEC_QQQQQ`; only settings begin with `ALLOWEXEC_`, and `--help all` lists them",
    );
    check(
        "ALLOWEXEC_STRUCTURED=maybe",
        "variable `ALLOWEXEC_STRUCTURED`: `maybe` is neither on nor off; expected true, \
         false, yes, no, on, off, 1 or 0",
    );
    check(
        "ALLOWEXEC_TIMEOUT= ",
        "variable `ALLOWEXEC_TIMEOUT`: ` ` is not a duration; expected a number and a unit (ms, \
         s, m or h), such as `500ms` or `1.5s`",
    );
    check(
        "ALLOWED_COMMANDS=ls -l",
        "variable `ALLOWED_COMMANDS`: `ls -l` contains a blank; expected the name of a command, which the first word \
                of a call is compared with (write a name that itself contains a blank as a path)",
    );
    // A stronger source doesn't hide it.
    assert_eq!(
        Start::with(&["--log=off"], &["ALLOWEXEC_LOG=loud"], None).row("log"),
        "variable `ALLOWEXEC_LOG`: `loud` is not a log level; expected off, error, warn, info or \
         debug"
    );
}

/// A value that is not UTF-8 is an error and never "unset", which would mean "no restriction".
#[cfg(unix)]
#[test]
fn values_that_are_not_utf_8() {
    use std::os::unix::ffi::OsStringExt;

    let check = |argument: Option<&[u8]>, variable: Option<(&[u8], &[u8])>, expected: &str| {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let arguments = argument.map(text).into_iter().collect();
        let variables = variable.map(|(name, value)| (text(name), text(value))).into_iter().collect();
        assert_eq!(Start { arguments, variables, file: None }.row("cwd-root"), expected);
    };
    for spec in SETTINGS {
        check(
            None,
            Some((spec.variable.as_bytes(), b"/a\xff")),
            &format!("variable `{}`: expected UTF-8 text, found bytes that are not UTF-8", spec.variable),
        );
    }
    check(Some(b"--cwd-root=/a\xff"), None, "flag `--cwd-root`: expected UTF-8 text, found bytes that are not UTF-8");
    check(
        None,
        Some((b"ALLOWEXEC_LO\xff", b"1")),
        "unknown variable `ALLOWEXEC_LO\u{FFFD}`; did you mean `ALLOWEXEC_LOG`?",
    );
    check(None, Some((b"OTHER\xff", b"\xff")), "no restriction (default)");
}
