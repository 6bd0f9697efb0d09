//! A client that wants to run what it may not, or where it may not.
//!
//! The proof that something did not run is never a message: each program that must not run leaves a canary, and each one
//! that may run only in some places writes down where it ran. After each attack the server answers `ping`.

#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::support::Server;
use serde_json::{Value, json};

/// A directory with programs: `bin/ok` says what it was given, `bin/canary` leaves `~/canary`, `bin/here` writes down
/// where it runs. HOME is the directory itself, which the environment of commands passes on.
struct Ground {
    directory: tempfile::TempDir,
    root: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let ground = Self { directory, root };
        ground.script("bin/ok", "printf 'ok %s\\n' \"$#\"");
        ground.script("bin/canary", "touch \"$HOME/canary\"");
        ground.script("bin/here", "pwd -P >> \"$HOME/ran\"");
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn directory(&self, name: &str) {
        fs::create_dir_all(self.path(name)).unwrap();
    }

    fn script(&self, name: &str, body: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _quiet = crate::support::server::spawning();
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn serve(&self, args: &[&str], env: &[(&str, &OsStr)]) -> Server {
        let search_path = format!("{}:/usr/bin:/bin", self.text("bin"));
        let command = Server::command(args).dir(self.directory.path()).env("HOME", &self.root).env("PATH", search_path);
        let command = command.env("ALLOWEXEC_LOG", "off");
        let mut server = env.iter().fold(command, |command, (name, value)| command.env(name, value)).start();
        server.initialize("2025-11-25");
        server
    }

    fn assert_no_canary(&self, attack: &dyn std::fmt::Debug) {
        assert!(!self.path("canary").exists(), "the canary ran by {attack:?}");
    }

    /// Where `here` ran since the last time.
    fn ran(&self) -> Vec<String> {
        let path = self.path("ran");
        let text = fs::read_to_string(&path).unwrap_or_default();
        if path.exists() {
            fs::remove_file(path).unwrap();
        }
        text.lines().map(str::to_owned).collect()
    }
}

fn assert_alive(server: &mut Server, attack: &dyn std::fmt::Debug) {
    assert_eq!(server.request("ping", json!({}))["result"], json!({}), "after {attack:?}");
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// Whether the result is that of `ok`, and of nothing else; otherwise it must be an error.
fn assert_ok_or_refused(result: &Value, attack: &dyn std::fmt::Debug) {
    let is_ok = text(result).starts_with("exit_code: 0\nstdout: |\n  ok ");
    assert!(is_ok || result["isError"] == true, "{attack:?} came to {result}");
}

#[test]
fn the_canary_runs_where_it_is_allowed_so_that_its_absence_means_something() {
    let ground = Ground::new();
    let mut server = ground.serve(&["--allow", "canary"], &[]);
    server.call("execute_command", json!({"command": "canary"}));
    assert!(ground.path("canary").exists());
}

/// Command lines that would run the canary in a shell, or that look as if they named an allowed command.
fn hostile_lines(ground: &Ground) -> Vec<String> {
    let canary = ground.text("bin/canary");
    let operators = [
        "&&", "||", ";", "|", "&", "|&", ";;", ";&", "\n", "\r\n", "\r", "\n\n", "\u{b}", "\u{c}", "\u{85}", "\u{a0}",
        "\u{2028}", "\u{2029}", "\u{200b}", "\u{feff}", "\u{3000}", "；", "＆＆", "｜", "；\n", "\u{1b}", "\0", "\0\n",
        ">", ">>", "<", "<<", "<<<", ">|", "<>", ">&", "&>", "!", "{", "}", "(", ")", "\\\n", "\\;", "';'", "\";\"",
        "#\n", "# \n", "--", "-exec", "$'\\n'", "%0a", "%3b", "&#10;", "\\n", "\\x3b", "\\u003b", "\u{8}", "\u{7f}",
    ];
    let mut lines = Vec::new();
    for operator in operators {
        for (before, behind) in [("", ""), (" ", ""), ("", " "), (" ", " "), ("\t", "\t")] {
            lines.push(format!("ok{before}{operator}{behind}canary"));
        }
        lines.push(format!("{operator}canary"));
        lines.push(format!("canary{operator}ok"));
        lines.push(format!("ok 'a'{operator}{canary}"));
        lines.push(format!("ok \"a\"{operator}canary"));
    }
    for wrapped in [
        "$({})",
        "`{}`",
        "<({})",
        ">({})",
        "({})",
        "{ {}; }",
        "$(<{})",
        "${{}}",
        "\"$({})\"",
        "\"`{}`\"",
        "$[{}]",
        "=({})",
    ] {
        for prefix in ["ok ", "ok a", "", "ok \\", "ok ''"] {
            lines.push(format!("{prefix}{}", wrapped.replace("{}", "canary")));
        }
    }
    for prefix in [
        "",
        " ",
        "\t",
        "A=b ",
        "PATH=. ",
        "LD_PRELOAD=x ",
        "env ",
        "exec ",
        "command ",
        "builtin ",
        "nohup ",
        "sudo ",
        "sh -c ",
        "xargs ",
        "time ",
        "! ",
        "./",
        "bin/",
        "~/bin/",
        "$HOME/bin/",
        "ok/../",
        "./bin/../bin/",
        "file://",
        "\\",
        "''",
        "\"\"",
        "eval ",
        ". ",
        "source ",
        "coproc ",
        "if true; then ",
        "while ",
        "function f() ",
        "alias ok=",
        "@",
        "=",
        ":",
    ] {
        lines.push(format!("{prefix}canary"));
        lines.push(format!("{prefix}{canary}"));
    }
    for name in [
        "OK",
        "Ok",
        "ok.",
        "ok..",
        "ok/",
        "ok\\",
        "ok ",
        "о\u{43a}",
        "ｏｋ",
        "o\u{200b}k",
        "ok\u{200d}",
        "ok\u{fe0f}",
        "oķ",
        "ok\0",
        "ok.exe",
        "ok,canary",
        "ok:canary",
        "*",
        "o?",
        "[o]k",
        "ok*",
        "{ok,canary}",
        "~",
        "-",
        "--",
        "..",
        ".",
        "/",
        "//",
    ] {
        lines.push(format!("{name} canary"));
        lines.push(format!("'{name}' canary"));
    }
    for unbalanced in
        ["ok '", "ok \"", "ok \\", "ok 'a' \"b", "'ok", "\"ok canary", "ok $'", "ok \"\\\"", "ok '\\'' ; canary '"]
    {
        lines.push(unbalanced.to_owned());
    }
    lines.push(format!("ok{}", " x".repeat(10_000)));
    lines.push(format!("ok {}", "y".repeat(200_000)));
    lines.push("z".repeat(1_000_000));
    lines.push(format!("{}ok", " ".repeat(100_000)));
    lines.push(format!("ok {}", "'".repeat(99_999)));
    lines.push(format!("ok {}", "\\".repeat(99_999)));
    lines.push(format!("ok{};canary", " ".repeat(100_000)));
    lines
}

#[test]
fn no_command_line_runs_what_is_not_allowed() {
    let ground = Ground::new();
    let mut server = ground.serve(&["--allow", "ok"], &[]);
    let lines = hostile_lines(&ground);
    assert!(lines.len() > 500, "{} lines", lines.len());
    for line in lines {
        let shown: String = line.chars().take(80).collect();
        let result = server.call("execute_command", json!({"command": line}));
        ground.assert_no_canary(&shown);
        assert_ok_or_refused(&result, &shown);
        assert_alive(&mut server, &shown);
    }
}

#[test]
fn ten_thousand_arguments_arrive_and_too_many_are_an_error() {
    let ground = Ground::new();
    let mut server = ground.serve(&["--allow", "ok"], &[]);
    let result = server.call("execute_process", json!({"file": "ok", "args": vec!["x"; 10_000]}));
    assert_eq!(text(&result), "exit_code: 0\nstdout: |\n  ok 10000\nstderr: ''\n");
    // More than any system takes in one call of execve(2).
    let result = server.call("execute_process", json!({"file": "ok", "args": ["x".repeat(9_000_000)]}));
    assert_eq!(result["isError"], true, "{result}");
    assert_alive(&mut server, &"nine million characters");
}

#[test]
fn no_file_or_argument_runs_what_is_not_allowed() {
    let ground = Ground::new();
    let mut server = ground.serve(&["--allow", "ok"], &[]);
    let (canary, ok) = (ground.text("bin/canary"), ground.text("bin/ok"));
    let mut files = vec![canary.clone(), ok, format!("ok;{canary}"), format!("ok\n{canary}"), "x".repeat(1_000_000)];
    for file in [
        "canary",
        "ok canary",
        "ok;canary",
        "ok\ncanary",
        "ok\0canary",
        "ok\0",
        "\0canary",
        "",
        " ",
        " ok",
        "ok ",
        "\tok",
        "ok\n",
        "OK",
        "./ok",
        "./canary",
        "bin/ok",
        "bin/canary",
        "../bin/canary",
        "~/bin/canary",
        "$HOME/bin/canary",
        "$(canary)",
        "`canary`",
        "file:///bin/ls",
        "'ok'",
        "\"ok\"",
        "\\ok",
        "ok\\",
        "*",
        "o?",
        "-",
        "--",
        ".",
        "..",
        "/",
        "/bin/sh",
        "sh",
        "env",
        "ｏｋ",
        "о\u{43a}",
        "o\u{200b}k",
        "ok\u{a0}",
        "ok,canary",
        "ok|canary",
        "ok&&canary",
    ] {
        files.push(file.to_owned());
    }
    for file in files {
        let shown: String = file.chars().take(80).collect();
        for args in [json!([]), json!(["canary"]), json!(["-c", "canary"])] {
            let result = server.call("execute_process", json!({"file": file, "args": args}));
            ground.assert_no_canary(&shown);
            assert_eq!(result["isError"], true, "{shown:?} came to {result}");
        }
        assert_alive(&mut server, &shown);
    }
    for argument in [
        ";canary",
        "&& canary",
        "| canary",
        "$(canary)",
        "`canary`",
        "\ncanary",
        "> /dev/null; canary",
        "'; canary; '",
        "\"; canary; \"",
        "a\0; canary",
        "-exec",
        "--",
        "",
        " ",
        "\u{2028}canary",
        "\\",
        "%s%n",
        "${IFS}canary",
    ] {
        let result = server.call("execute_process", json!({"file": "ok", "args": [argument, "x"]}));
        ground.assert_no_canary(&argument);
        assert_ok_or_refused(&result, &argument);
        assert_alive(&mut server, &argument);
    }
}

#[test]
fn no_cwd_leads_out_of_the_roots() {
    let ground = Ground::new();
    for directory in ["rootA/sub/deep", "rootAB", "rootA2/sub", "root", "other/sub", "rootA/~", "rootA/ "] {
        ground.directory(directory);
    }
    fs::write(ground.path("rootA/file"), "").unwrap();
    for (link, target) in [
        ("rootA/out", "../other"),
        ("rootA/up", ".."),
        ("rootA/slash", "/"),
        ("rootA/proc", "/proc/self/cwd"),
        ("rootA/dangling", "nowhere"),
        ("rootA/loop", "loop"),
        ("rootA/chain", "out/sub"),
        ("rootA/sideways", "../rootAB"),
        ("into", "rootA/sub"),
    ] {
        symlink(target, ground.path(link)).unwrap();
    }
    let a = ground.text("rootA");
    let mut server = ground.serve(&["--allow", "here", "--cwd-root", &a, "--cwd", &a], &[]);
    let absolute = |name: &str| ground.text(name);
    let mut attacks: Vec<String> = [
        "..",
        "../",
        "../..",
        "../../..",
        "./..",
        "sub/../..",
        "sub/deep/../../..",
        "../rootAB",
        "../rootA2",
        "../root",
        "../other",
        "../rootA/../rootAB",
        "out",
        "out/",
        "out/.",
        "out/sub",
        "out/../rootAB",
        "up",
        "up/other",
        "up/rootAB",
        "slash",
        "slash/tmp",
        "slash/..",
        "proc",
        "chain",
        "sideways",
        "dangling",
        "loop",
        "loop/x",
        "file",
        "file/",
        "file/..",
        "file/../..",
        "missing",
        "missing/..",
        "missing/../sub",
        "\0",
        "sub\0",
        "sub/\0/../..",
        "\n",
        "sub\n",
        "$HOME",
        "${HOME}",
        "*",
        "su?",
        "`pwd`",
        "$(pwd)",
        "%2e%2e",
        "..%2f",
        "..\\",
        "..;/",
        "…",
        "．．",
        "../rootA\u{200b}",
        "file:///",
        "file://localhost/",
        "http://x/",
        "/",
        "//",
        "///",
        "/..",
        "/.",
        "/tmp",
        "/etc",
        "/proc",
        "/proc/self",
        "/proc/self/cwd",
        "/proc/self/root",
        "/proc/self/root/tmp",
        "/proc/self/cwd/..",
        "/proc/1/root",
        "/proc/self/fd",
        "/proc/self/fd/0",
        "/proc/self/task",
        "/dev/fd/0",
        "/dev/stdin",
        "/dev/null",
        "/nonexistent",
    ]
    .map(str::to_owned)
    .into();
    for name in [
        "",
        "root",
        "rootAB",
        "rootA2",
        "rootA2/sub",
        "other",
        "rootA/..",
        "rootA/../other",
        "rootA/out",
        "rootA/sub/../../rootAB",
        "rootA\0/..",
    ] {
        attacks.push(absolute(name));
    }
    attacks.push(format!("{a}B"));
    attacks.push(format!("{a}/../"));
    attacks.push(format!("/proc/{}/cwd/..", server.pid()));
    attacks.push("../".repeat(2000));
    attacks.push("x".repeat(300));
    attacks.push(format!("/{}", "x/".repeat(5000)));
    attacks.push("x".repeat(1_000_000));
    assert!(attacks.len() >= 90, "{}", attacks.len());
    for attack in &attacks {
        let shown: String = attack.chars().take(80).collect();
        let result = server.call("execute_command", json!({"command": "here", "cwd": attack}));
        assert_eq!(ground.ran(), Vec::<String>::new(), "{shown:?} came to {result}");
        assert_eq!(result["isError"], true, "{shown:?} came to {result}");
        assert_alive(&mut server, &shown);
    }
    let allowed = [
        (".", "rootA"),
        ("./", "rootA"),
        ("sub", "rootA/sub"),
        ("sub/", "rootA/sub"),
        ("sub//deep///", "rootA/sub/deep"),
        ("sub/deep/..", "rootA/sub"),
        ("../rootA/sub", "rootA/sub"),
        ("../into", "rootA/sub"),
        ("up/rootA", "rootA"),
        ("~", "rootA/~"),
        (" ", "rootA/ "),
    ];
    for (cwd, expected) in allowed {
        let result = server.call("execute_command", json!({"command": "here", "cwd": cwd}));
        assert_eq!(ground.ran(), [absolute(expected)], "{cwd:?} came to {result}");
    }
}

#[test]
fn roots_that_are_none_refuse_every_cwd() {
    let ground = Ground::new();
    ground.directory("rootA");
    fs::write(ground.path("file"), "").unwrap();
    symlink("loop", ground.path("loop")).unwrap();
    let a = ground.text("rootA");
    let lists = [
        ",".to_owned(),
        " ".to_owned(),
        " , ,\t,".to_owned(),
        "missing".to_owned(),
        "file".to_owned(),
        "loop".to_owned(),
        "~".to_owned(),
        "~/rootA".to_owned(),
        "$HOME".to_owned(),
        "${HOME}/rootA".to_owned(),
        "rootA*".to_owned(),
        "root?".to_owned(),
        format!("file://{a}"),
        format!("'{a}'"),
        format!("\"{a}\""),
        format!("{a},missing"),
        format!("missing,{a}"),
        format!("{a},file"),
        format!("{a};{a}"),
        format!("{a}:{a}"),
    ];
    for list in lists {
        let mut server = ground.serve(&["--allow", "here"], &[("ALLOWED_CWD_ROOTS", OsStr::new(&list))]);
        for cwd in [".", "rootA", a.as_str(), "/", "/tmp", "missing", ".."] {
            let result = server.call("execute_command", json!({"command": "here", "cwd": cwd}));
            assert_eq!(ground.ran(), Vec::<String>::new(), "{list:?} let {cwd:?} pass: {result}");
            assert_eq!(result["isError"], true, "{list:?} {cwd:?}");
        }
        assert_alive(&mut server, &list);
        server.call("execute_command", json!({"command": "here"}));
        assert_eq!(ground.ran(), [ground.text("")].map(|path| path.trim_end_matches('/').to_owned()), "{list:?}");
    }
}

#[test]
fn what_is_no_unicode_is_never_read_as_unset() {
    let ground = Ground::new();
    for name in ["ALLOWED_CWD_ROOTS", "ALLOWED_COMMANDS", "ALLOWEXEC_TIMEOUT"] {
        let value = OsStr::from_bytes(b"/tmp/\xff");
        let mut child = Server::command(&["--allow", "here"]).dir(&ground.root).env(name, value).spawn();
        drop(child.stdin.take());
        let status = crate::support::server::wait_with_deadline(&mut child, crate::support::server::DEADLINE);
        assert_eq!(status, Some(2), "{name}");
    }
}

#[test]
fn no_path_runs_what_lies_in_a_directory_of_the_clients() {
    let ground = Ground::new();
    ground.script("good/tool", "printf 'ok %s\\n' \"$#\"");
    // Planted wherever an entry that is empty or relative would lead: from the server's directory, and from the call's.
    for place in
        ["tool", "bin/tool", "work/tool", "work/bin/tool", "work/good/tool", "~/tool", "work/~/tool", "$HOME/tool"]
    {
        ground.script(place, "touch \"$HOME/canary\"");
    }
    let good = ground.text("good");
    for path in [
        format!(":{good}"),
        format!("{good}:"),
        format!("::{good}::"),
        format!(".:{good}"),
        format!("./:{good}"),
        format!("..:{good}"),
        format!("bin:{good}"),
        format!("./bin:{good}"),
        format!("work/../bin:{good}"),
        format!("~:{good}"),
        format!("$HOME:{good}"),
        format!("missing:/missing:{good}"),
        String::new(),
        ":".to_owned(),
        ".".to_owned(),
        "bin".to_owned(),
        "\n".to_owned(),
    ] {
        let full = format!("{path}{}", if path.contains(&good) { ":/usr/bin:/bin" } else { "" });
        let mut server = ground.serve(&["--allow", "tool"], &[("PATH", OsStr::new(&full))]);
        for cwd in [json!({}), json!({"cwd": "work"}), json!({"cwd": "bin"})] {
            for (name, value) in
                [("execute_command", json!({"command": "tool x"})), ("execute_process", json!({"file": "tool"}))]
            {
                let mut arguments = value;
                arguments.as_object_mut().unwrap().extend(cwd.as_object().unwrap().clone());
                let result = server.call(name, arguments);
                ground.assert_no_canary(&full);
                assert_ok_or_refused(&result, &full);
                assert_eq!(result["isError"] == true, !path.contains(&good), "{full:?} came to {result}");
            }
        }
        assert_alive(&mut server, &full);
    }
}

/// An empty `PATH` is the current directory to a shell and to execvp(3), and the client chose that.
#[test]
fn commands_find_nothing_in_their_own_directory() {
    let ground = Ground::new();
    ground.script("work/tool", "touch \"$HOME/canary\"");
    for path in ["", ":", ".", "work", "bin:.:", "\n"] {
        let mut server = ground.serve(&["--allow", "/bin/sh"], &[("PATH", OsStr::new(path))]);
        for script in ["tool", "exec tool", "command tool", "echo \"<$PATH>\""] {
            let arguments = json!({"file": "/bin/sh", "args": ["-c", script], "cwd": "work"});
            let result = server.call("execute_process", arguments);
            ground.assert_no_canary(&path);
            assert!(!text(&result).contains("<>"), "{path:?} came to {result}");
        }
        assert_alive(&mut server, &path);
    }
}

/// Makes the next swap, by its number.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only on Linux a test swaps what was checked"))]
type Swap<'a> = Box<dyn Fn(usize) + Send + Sync + 'a>;

/// Swaps a name between two things in one step each, for as long as `calls` takes, and says how often.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only on Linux a test swaps what was checked"))]
fn swapping(swap: impl Fn(usize) + Send + Sync, calls: impl FnOnce()) -> usize {
    let (done, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap(swaps.fetch_add(1, Ordering::Relaxed));
            }
        });
        calls();
        done.store(true, Ordering::Relaxed);
    });
    swaps.into_inner()
}

/// Only Linux holds the checked directory; elsewhere the race is documented in the threat model.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_is_swapped_during_the_call_leads_nowhere_else() {
    let ground = Ground::new();
    ground.directory("rootA/inside");
    ground.directory("other/sub");
    ground.directory("rootA/dir/sub");
    symlink(ground.path("rootA/inside"), ground.path("rootA/link")).unwrap();
    let a = ground.text("rootA");
    let mut server = ground.serve(&["--allow", "here", "--cwd-root", &a], &[]);
    let targets = [ground.path("other"), ground.path("rootA/inside")];
    let (link, spare) = (ground.path("rootA/link"), ground.path("rootA/spare"));
    let swap_link = |turn: usize| {
        symlink(&targets[turn % 2], &spare).unwrap();
        fs::rename(&spare, &link).unwrap();
    };
    // A directory on the way becomes a link to the outside, and a directory again.
    let (way, aside) = (ground.path("rootA/dir"), ground.path("rootA/aside"));
    let swap_way = |turn: usize| {
        if turn % 2 == 0 {
            fs::rename(&way, &aside).unwrap();
            symlink(ground.path("other"), &way).unwrap();
        } else {
            fs::remove_file(&way).unwrap();
            fs::rename(&aside, &way).unwrap();
        }
    };
    let attacks: [(&str, Swap<'_>); 2] = [("rootA/link", Box::new(swap_link)), ("rootA/dir/sub", Box::new(swap_way))];
    for (cwd, swap) in attacks {
        let mut answers = Vec::new();
        // Most calls are refused, by where the link leads just then: enough of the others, and a bound for both.
        let swaps = swapping(swap, || {
            let mut started = 0;
            while started < 40 && answers.len() < 600 {
                let answer = server.call("execute_command", json!({"command": "here", "cwd": cwd}));
                started += usize::from(answer["isError"] == false);
                answers.push(answer);
            }
        });
        assert!(swaps > 1, "nothing was swapped");
        let ran = ground.ran();
        for place in &ran {
            // `aside` is what the directory is called after it was moved away, and still inside.
            assert!(PathBuf::from(place).starts_with(&a), "{cwd} ran in {place}");
        }
        let started = answers.iter().filter(|answer| answer["isError"] == false).count();
        assert_eq!(ran.len(), started, "{cwd}");
        assert_alive(&mut server, &cwd);
    }
}

/// A root that is linked anew after the start does not move.
#[test]
fn a_root_that_is_swapped_after_the_start_stays_where_it_was() {
    let ground = Ground::new();
    ground.directory("rootA");
    ground.directory("other");
    symlink(ground.path("rootA"), ground.path("root")).unwrap();
    let root = ground.text("root");
    let mut server = ground.serve(&["--allow", "here", "--cwd-root", &root], &[]);
    fs::remove_file(ground.path("root")).unwrap();
    symlink(ground.path("other"), ground.path("root")).unwrap();
    let result = server.call("execute_command", json!({"command": "here", "cwd": root}));
    assert_eq!((ground.ran(), &result["isError"]), (Vec::new(), &json!(true)), "{result}");
    server.call("execute_command", json!({"command": "here", "cwd": "rootA"}));
    assert_eq!(ground.ran(), [ground.text("rootA")]);
}

/// Some clients close the connection over a message of 10 MiB, and a request may hold more than that in one word.
#[test]
fn a_long_name_does_not_come_back_whole() {
    let ground = Ground::new();
    let long = "\u{1}é".repeat(20_000);
    let mut server = Server::command(&["--allow", "ok"]).dir(&ground.root).start();
    let mut ask = |method: &str, params: Value| server.request(method, params).to_string().len();
    assert!(ask(&long, json!({})) < 4000);
    assert!(ask(&long, json!({"_meta": crate::support::modern_meta()})) < 4000);
    let mut other = crate::support::modern_meta();
    other["io.modelcontextprotocol/protocolVersion"] = json!(long);
    assert!(ask("tools/list", json!({"_meta": other})) < 4000);
    server.initialize("2025-11-25");
    let mut ask = |method: &str, params: Value| server.request(method, params).to_string().len();
    assert!(ask(&long, json!({})) < 4000);
    assert!(ask("tools/call", json!({"name": long, "arguments": {}})) < 4000);
    assert!(ask("prompts/get", json!({"name": long})) < 4000);
    let mut call = |arguments: Value| ask("tools/call", json!({"name": "execute_command", "arguments": arguments}));
    assert!(call(json!({"command": long})) < 4000);
    assert!(call(json!({"command": "ok", "cwd": long})) < 4000);
    assert!(call(json!({"command": "ok", (long.clone()): 1})) < 4000);
    assert!(call(json!({"command": format!("'{long}")})) < 4000);
    assert_alive(&mut server, &"long names");
}

#[test]
fn no_line_ends_the_server() {
    let ground = Ground::new();
    let mut server = ground.serve(&["--allow", "ok"], &[]);
    let mut lines: Vec<Vec<u8>> = vec![
        vec![b'x'; 17 * 1024 * 1024],
        "[".repeat(10_000).into_bytes(),
        format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)).into_bytes(),
        format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000)).into_bytes(),
        (0..=255).filter(|byte| *byte != b'\n').collect(),
        b"\xff\xfe{\0}\0".to_vec(),
        br#"{"jsonrpc":"2.0","id":1e999,"method":"ping"}"#.to_vec(),
        format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, "9".repeat(10_000)).into_bytes(),
        br#"{"jsonrpc":"2.0","method":"tools/call","id":null,"params":{}}"#.to_vec(),
        br#""\ud800""#.to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"ping\"}".to_vec(),
    ];
    lines.extend([b"{".to_vec(), b"}".to_vec(), b"null".to_vec(), b"[]".to_vec(), b"[[]]".to_vec(), b"\0".to_vec()]);
    for mut line in lines {
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        line.push(b'\n');
        server.send_bytes(&line);
        let answer = server.recv();
        let code = answer["error"]["code"].as_i64();
        assert!(matches!(code, Some(-32700 | -32600)), "{shown:?} was answered by {answer}");
        assert_alive(&mut server, &shown);
    }
}
