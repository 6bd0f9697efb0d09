//! The persistent shell for real: each property with `/bin/sh`, bash and, where it is installed, busybox.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Server;
use crate::support::server::DEADLINE;
#[cfg(target_os = "linux")]
use crate::support::server::bound_descriptors;
use serde_json::{Value, json};

/// The shells of this machine, the first two of which every machine for tests has.
pub(crate) fn shells() -> Vec<PathBuf> {
    let found: Vec<PathBuf> = ["/bin/sh", "/bin/bash", "/usr/bin/bash", "/bin/busybox", "/usr/bin/busybox"]
        .into_iter()
        .map(PathBuf::from)
        .filter(|path| path.is_file())
        .collect();
    let one_of_a_name = |names: &[&str]| found.iter().find(|path| path.ends_with(names[0])).cloned();
    let shells: Vec<PathBuf> =
        [&["sh"], &["bash"], &["busybox"]].into_iter().filter_map(|name| one_of_a_name(name)).collect();
    assert!(shells.len() >= 2, "sh and bash are needed, found {shells:?}");
    shells
}

/// A session with one server.
struct Session {
    server: Server,
    dir: tempfile::TempDir,
}

/// What a tool on the shell answered.
#[derive(Debug)]
struct Said {
    text: String,
    code: Option<i64>,
    output: String,
    cwd: String,
    restarted: Option<String>,
    is_error: bool,
}

impl Said {
    fn of(result: &Value) -> Self {
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        let yaml: serde_yaml::Value = serde_yaml::from_str(&text).unwrap_or(serde_yaml::Value::Null);
        let string = |key: &str| yaml.get(key).and_then(serde_yaml::Value::as_str).map(str::to_owned);
        Self {
            code: yaml.get("exit_code").and_then(serde_yaml::Value::as_i64),
            output: string("output").unwrap_or_default(),
            cwd: string("cwd").unwrap_or_default(),
            restarted: string("shell_restarted"),
            is_error: result["isError"].as_bool().unwrap(),
            text,
        }
    }
}

fn session(shell: &Path, allow: &str, more: &[&str]) -> Session {
    let dir = tempfile::tempdir().unwrap();
    let shell = shell.to_str().unwrap();
    let mut args = vec!["--tools", "shell", "--shell", shell, "--allow", allow, "--log", "off"];
    args.extend(more);
    let mut server = Server::command(&args).dir(dir.path()).start();
    server.initialize("2025-11-25");
    Session { server, dir }
}

impl Session {
    fn call(&mut self, tool: &str, arguments: &str) -> Said {
        Said::of(&self.server.call(tool, json!({"arguments": arguments})))
    }

    fn send(&mut self, tool: &str, arguments: &str) -> i64 {
        self.server.send_request("tools/call", json!({"name": tool, "arguments": {"arguments": arguments}}))
    }

    fn answer(&mut self, id: i64) -> Said {
        Said::of(&self.server.response(&json!(id))["result"])
    }

    fn output(&mut self, tool: &str, arguments: &str) -> String {
        let said = self.call(tool, arguments);
        assert_eq!((said.code, said.restarted.as_deref(), said.is_error), (Some(0), None, false), "{}", said.text);
        said.output
    }

    /// The number of the shell's process, by a program that it starts.
    fn shell_pid(&mut self) -> i32 {
        self.output("sh", "-c 'echo $PPID'").trim().parse().unwrap()
    }
}

/// Waits until the process is gone, or a zombie that nobody has reaped yet.
fn gone(pid: i32) {
    let until = Instant::now() + DEADLINE;
    let lives = || {
        let status = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
        let status = String::from_utf8_lossy(&status.stdout).trim().to_owned();
        !status.is_empty() && !status.starts_with('Z')
    };
    while lives() {
        assert!(Instant::now() < until, "process {pid} lives on");
        thread::park_timeout(Duration::from_millis(5));
    }
}

#[test]
fn all_calls_share_one_shell_and_its_state() {
    for shell in shells() {
        let mut session = session(&shell, "cd,pwd,export,printenv,sh", &[]);
        let pid = session.shell_pid();
        fs::create_dir(session.dir.path().join("sub")).unwrap();
        let sub = fs::canonicalize(session.dir.path().join("sub")).unwrap();
        assert_eq!(session.call("cd", "sub").cwd, sub.to_str().unwrap(), "{shell:?}");
        assert_eq!(session.output("pwd", ""), format!("{}\n", sub.display()));
        session.output("export", "GREETING='good day'");
        assert_eq!(session.output("printenv", "GREETING"), "good day\n");
        assert_eq!(session.shell_pid(), pid);
        let restarted = Said::of(&session.server.call("restart", json!({})));
        assert_eq!(restarted.restarted.as_deref(), Some("`restart` was called"));
        assert_ne!(session.shell_pid(), pid);
        assert_eq!(session.call("printenv", "GREETING").code, Some(1));
        assert_eq!(session.output("pwd", ""), format!("{}\n", sub.parent().unwrap().display()));
    }
}

#[test]
fn every_argument_arrives_as_it_is_and_none_is_syntax() {
    let arguments = [
        r"'$(id)' '`id`' '${HOME}' $HOME ~ * ? [a-z] {a,b} !x %s",
        r#""a;b" "c && d" "e | f" "g > h" "i < j" "k & l""#,
        r"\; \& \| \> \< \$ \` \\ \' it\'s",
        r#"'it'"'"'s' "say \"x\"" '' "" ' ' '  a  '"#,
        "if then fi { } ! time function case -n -e -- --help =",
        "A=b PATH=x '</dev/null' '>&2' '#x' a#b",
        "'\\n' '\\0' '%d' 'ü 漢 😀' '\u{a0}' '\u{2028}'",
        "Marker_ Marker_x '\\printf' ':0:' 'Marker_0:0:/:Marker_0'",
    ];
    for shell in shells() {
        let mut session = session(&shell, "printf", &["--max-output", "0"]);
        for line in arguments {
            let words = shlex::split(line).unwrap();
            let expected: String = words.iter().map(|word| format!("<{word}>\n")).collect();
            assert_eq!(session.output("printf", &format!("'<%s>\\n' {line}")), expected, "{shell:?}: {line}");
        }
        let long = "x'y".repeat(40_000);
        assert!(session.output("printf", &format!("%s \"{long}\"")) == long, "{shell:?}: a long argument came changed");
    }
}

#[test]
fn syntax_and_control_characters_are_refused_and_nothing_runs() {
    let mut session = session(Path::new("/bin/sh"), "echo,touch,set,eval,exec,.,export", &[]);
    let operators = ["&&", "||", ";", "|", ">", ">>", "<", "<<", "&", "`touch x`", "$(touch x)"];
    for operator in operators {
        for line in [format!("a {operator} touch x"), format!("{operator}touch x")] {
            let said = session.call("echo", &line);
            assert!(said.is_error && said.text.contains("outside quotes is shell syntax"), "{line}: {}", said.text);
        }
    }
    for character in ['\0', '\r', '\x07', '\x1b', '\x7f', '\u{85}'] {
        let said = session.call("echo", &format!("'a{character}b'"));
        assert!(said.is_error && said.text.contains("can't be given to the shell"), "{}", said.text);
    }
    for line in ["'a", "\"a", "a\\"] {
        assert!(session.call("echo", line).text.contains("not balanced"), "{line}");
    }
    let words = [("eval", "touch x"), ("exec", "touch x"), (".", "./x"), ("set", "-e"), ("set", "+o posix")];
    for (word, arguments) in words {
        let said = session.call(&word.replace('.', "_"), arguments);
        assert!(said.is_error && said.text.contains("never given to the persistent shell"), "{word}: {}", said.text);
    }
    for variable in [
        "PATH=/x",
        "LD_PRELOAD=/x",
        "-p PATH",
        "-- PATH=x",
        "IFS=x",
        "BASH_ENV=/x",
        "PATH",
        "A=b OPTIND=1",
        "PAGER=x",
        "PERL5OPT=x",
        "GIT_CONFIG_COUNT=1",
    ] {
        let said = session.call("export", variable);
        assert!(said.is_error && said.text.contains("decides which code runs"), "{variable}: {}", said.text);
    }
    assert!(!session.dir.path().join("x").exists());
    assert_eq!(session.output("echo", "still one shell"), "still one shell\n");
}

/// What some shells compute, though it is quoted: `touch x` would run.
const COMPUTED: &[(&str, &str)] = &[
    ("test", "-v 'a[$(touch x)]'"),
    ("test", "'a[$(touch x)]' -eq 0"),
    ("[", "-v 'a[$(touch x)]' ]"),
    ("printf", "-v 'a[$(touch x)]' y"),
    ("printf", "'-va[$(touch x)]' y"),
    ("printf", "%d 'a[$(touch x)]'"),
    ("read", "'a[$(touch x)]'"),
    ("read", "-a 'a[$(touch x)]'"),
    ("export", "'OPTIND=a[$(touch x)]'"),
    ("export", "'RANDOM=a[$(touch x)]'"),
    ("export", "'COLUMNS=a[$(touch x)]'"),
    ("export", "'BASHPID+=a[$(touch x)]'"),
    ("export", "'a[$(touch x)]=1'"),
    ("readonly", "-a 'a=($(touch x))'"),
    ("readonly", "'SECONDS=a[$(touch x)]'"),
    ("unset", "'a[$(touch x)]'"),
    ("getopts", "ab 'a[$(touch x)]'"),
    ("jobs", "-x touch x"),
    ("hash", "-p /usr/bin/touch ls"),
    ("wait", "-p 'a[$(touch x)]' -n"),
    ("kill", "'a[$(touch x)]'"),
    ("shift", "'a[$(touch x)]'"),
    ("ulimit", "-n 'a[$(touch x)]'"),
    ("umask", "'a[$(touch x)]'"),
    ("exit", "'a[$(touch x)]'"),
    ("echo", "'a[$(touch x)]'"),
    ("type", "'a[$(touch x)]'"),
    ("declare", "'a[$(touch x)]=1'"),
    ("declare", "-i 'b=a[$(touch x)]'"),
    ("typeset", "'a[$(touch x)]=1'"),
    ("local", "'a[$(touch x)]=1'"),
    ("let", "'a[$(touch x)]'"),
    ("compgen", "-W '$(touch x)'"),
    ("compgen", "-C 'touch x'"),
    ("mapfile", "'a[$(touch x)]'"),
    ("mapfile", "-C 'touch x' -c 1"),
    ("bind", "-x 'a:touch x'"),
    ("complete", "-C 'touch x' ls"),
    ("integer", "'b=a[$(touch x)]'"),
    ("coproc", "touch x"),
];

#[test]
fn nothing_that_a_shell_computes_in_an_argument_runs() {
    for shell in shells() {
        let mut allow: Vec<&str> = COMPUTED.iter().map(|(word, _)| *word).chain(["ls"]).collect();
        allow.sort_unstable();
        allow.dedup();
        let mut session = session(&shell, &allow.join(","), &[]);
        for (word, arguments) in COMPUTED {
            session.call(&word.replace('[', "_"), arguments);
            assert!(!session.dir.path().join("x").exists(), "{shell:?}: {word} {arguments}");
            session.call("ls", "x");
            assert!(!session.dir.path().join("x").exists(), "{shell:?}: {word} {arguments}, then ls");
        }
    }
}

#[test]
fn a_limit_that_the_shell_could_not_work_with_is_refused() {
    for shell in shells() {
        let mut session = session(&shell, "ulimit,ls", &[]);
        for arguments in
            ["-n 0", "-n 5", "-Sn 10", "-n10", "-S -n 20", "-u 0", "-u 1", "-p 1", "-c 0 -u 1", "-f 9 -n 3"]
        {
            let answer = session.call("ulimit", arguments);
            assert!(
                answer.text.contains("would keep the persistent shell itself"),
                "{shell:?} {arguments}: {answer:?}"
            );
            let answer = session.call("ls", "/");
            assert!(answer.text.contains("exit_code: 0"), "{shell:?} {arguments}: {answer:?}");
        }
        for arguments in ["-n", "-c 0", "-S -n 64", "-n 64", "-a"] {
            let answer = session.call("ulimit", arguments);
            assert!(answer.text.contains("exit_code"), "{shell:?} {arguments}: {answer:?}");
            let answer = session.call("ls", "/");
            assert!(answer.text.contains("exit_code: 0"), "{shell:?} {arguments}: {answer:?}");
        }
    }
}

#[test]
fn output_arrives_whole_and_clean_whatever_it_is() {
    for shell in shells() {
        let mut session = session(&shell, "printf,cat,sh,true", &["--max-output", "0"]);
        assert_eq!(session.output("printf", "x"), "x");
        assert_eq!(session.output("true", ""), "");
        let like = "Marker_00000000-0000-4000-8000-000000000000:0:/:Marker_";
        assert_eq!(session.output("printf", &format!("%s {like}")), like);
        let said = session.call("sh", "-c 'printf out; printf err >&2; exit 7'");
        assert_eq!((said.code, said.output.as_str()), (Some(7), "out\nerr"));
        fs::write(session.dir.path().join("binary"), (0..=255).collect::<Vec<u8>>()).unwrap();
        let said = session.call("cat", "binary");
        assert!(said.text.contains("lossy: [stdout]") && said.output.starts_with('\0'), "{}", said.text);
        let lines = "0123456789abcde\n".repeat(64 * 1024);
        fs::write(session.dir.path().join("lines"), &lines).unwrap();
        assert!(session.output("cat", "lines") == lines, "{shell:?}: 1 MiB came changed");
        assert!(
            session.output("sh", "-c 'cat lines >&2'") == lines,
            "{shell:?}: 1 MiB on the standard error came changed"
        );
    }
}

#[test]
fn ten_megabytes_arrive_whole_on_either_stream() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("large"), "x".repeat(10_000_000)).unwrap();
    for (tool, arguments) in [("cat", "large"), ("sh", "-c 'cat large >&2'")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        let arguments = json!({"arguments": arguments, "timeout_ms": 300_000}).to_string();
        command.args(["call", tool, &arguments, "--tools", "shell", "--allow", "cat,sh"]);
        command.args(["--max-output", "0", "--log", "off"]).current_dir(dir.path()).env_remove("ALLOWED_COMMANDS");
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (head, rest) = text.split_once("output: ").unwrap();
        assert_eq!(head, "exit_code: 0\n");
        let (large, rest) = rest.split_once('\n').unwrap();
        assert!(large.len() == 10_000_000 && large.bytes().all(|byte| byte == b'x'), "{} bytes", large.len());
        assert!(rest.starts_with("cwd: "), "{rest}");
    }
}

#[test]
fn what_the_shell_itself_prints_arrives_whole_however_long_it_takes() {
    for shell in shells() {
        let mut session = session(&shell, "kill,echo,export", &["--max-output", "0", "--grace", "100ms"]);
        for length in [1, 4096, 32 * 1024, 64 * 1024, 100_000] {
            // It is not a number, which the shell says on its standard error.
            let word = "x".repeat(length);
            let said = session.call("kill", &word);
            assert!(said.code.is_some_and(|code| code > 0), "{shell:?}: {:.300}", said.text);
            assert!(said.output.contains(&word), "{shell:?}: {length} bytes: {:.300}", said.text);
            assert_eq!(session.output("echo", "mine"), "mine\n", "{shell:?}");
        }
        // More than a pipe holds, and more than a moment.
        let long = "x".repeat(3_000_000);
        assert_eq!(session.output("echo", &long).len(), long.len() + 1, "{shell:?}");
        session.output("export", "KEPT=yes");
        assert_eq!(session.output("echo", "x"), "x\n", "{shell:?}");
    }
}

#[test]
fn a_builtin_that_does_not_end_takes_its_shell_with_it_at_the_deadline() {
    // Where `times` never ends: there is nothing below the shell that could be ended in its place.
    let dir = tempfile::tempdir().unwrap();
    let shell = dir.path().join("shell");
    let script = "#!/bin/bash\ntimes() { while :; do :; done; }\nwhile IFS= read -r line; do eval \"$line\"; done\n";
    fs::write(&shell, script).unwrap();
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
    let mut session = session(&shell, "times,echo", &["--grace", "100ms"]);
    let said = Said::of(&session.server.call("times", json!({"timeout_ms": 300})));
    assert!(said.is_error && said.text.contains("timed_out: true") && said.restarted.is_some(), "{:.300}", said.text);
    assert_eq!(session.output("echo", "again"), "again\n");
}

#[test]
fn a_command_reads_nothing_of_the_shells_and_sees_no_marker() {
    for shell in shells() {
        let mut session = session(&shell, "cat,sh,echo,read,env", &["--grace", "100ms"]);
        assert_eq!(session.output("cat", ""), "");
        assert_eq!(session.call("read", "line").code, Some(1));
        let seen = session.output("sh", "-c 'env; cat /proc/$$/cmdline /proc/$PPID/cmdline /proc/$PPID/environ'");
        assert!(!seen.contains("Marker_"), "{seen}");
        // There is nothing in the shell's own input while a command runs (some keep it at 11 meanwhile), and nothing that
        // comes later is lost.
        for descriptor in [0, 10, 11] {
            let arguments = json!({"arguments": format!("-c 'cat /proc/$PPID/fd/{descriptor}'"), "timeout_ms": 200});
            let said = Said::of(&session.server.call("sh", arguments));
            assert!(!said.output.contains("Marker_") && said.restarted.is_none(), "{}", said.text);
        }
        let after = session.call("echo", "hello");
        assert_eq!(after.output, "hello\n");
    }
}

#[test]
fn at_the_deadline_the_command_ends_and_the_shell_lives_on() {
    for shell in shells() {
        let mut session = session(&shell, "export,printenv,sh,sleep", &["--grace", "100ms"]);
        session.output("export", "KEPT=yes");
        let pid = session.shell_pid();
        let commands: &[(&str, &str)] = match cfg!(target_os = "linux") {
            true => &[("sleep", "100"), ("sh", "-c 'trap : TERM; while :; do sleep 100; done'")],
            // Where a command that stays can't be told from its shell, the shell ends with it.
            false => &[("sleep", "100")],
        };
        for (tool, arguments) in commands {
            let arguments = json!({"arguments": arguments, "timeout_ms": 100});
            let said = Said::of(&session.server.call(tool, arguments));
            assert!(said.is_error && said.text.contains("timed_out: true"), "{shell:?}: {}", said.text);
            assert_eq!((said.code, said.restarted), (Some(124), None), "{shell:?}");
        }
        assert_eq!(session.output("printenv", "KEPT"), "yes\n");
        assert_eq!(session.shell_pid(), pid);
    }
}

#[test]
fn a_shell_that_dies_is_started_anew_and_the_answer_says_so() {
    for shell in shells() {
        let mut session = session(&shell, "exit,export,printenv,sh,echo", &[]);
        session.output("export", "KEPT=yes");
        let said = session.call("exit", "3");
        assert_eq!((said.code, said.is_error), (Some(3), false), "{}", said.text);
        assert!(said.restarted.unwrap().contains("ended with exit status 3 during this call"), "{shell:?}");
        assert_eq!(session.call("printenv", "KEPT").code, Some(1));
        let said = session.call("sh", "-c 'echo before; kill -9 $PPID'");
        assert!(said.is_error && said.text.contains("signal: SIGKILL"), "{}", said.text);
        assert_eq!(said.output, "before\n");
        assert!(said.restarted.unwrap().contains("ended by signal 9 during this call"));
        let pid = session.shell_pid();
        assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
        gone(pid);
        let said = session.call("echo", "hello");
        assert_eq!((said.output.as_str(), said.is_error), ("hello\n", false));
        assert!(said.restarted.unwrap().contains("had ended before this call"), "{shell:?}");
        assert_eq!(session.output("echo", "again"), "again\n");
    }
}

#[test]
fn cancelling_ends_the_command_and_not_the_shell_and_takes_waiting_calls_out() {
    for shell in shells() {
        let mut session = session(&shell, "export,printenv,sh,touch,echo", &[]);
        session.output("export", "KEPT=yes");
        let pid = session.shell_pid();
        let running = session.send("sh", "-c 'echo $$ > running; sleep 100'");
        let waiting = session.send("touch", "never");
        let last = session.send("printenv", "KEPT");
        session.server.notify("notifications/cancelled", json!({"requestId": waiting}));
        let file = session.dir.path().join("running");
        let until = Instant::now() + DEADLINE;
        let command = loop {
            match fs::read_to_string(&file).unwrap_or_default().trim().parse() {
                Ok(command) => break command,
                Err(_) => assert!(Instant::now() < until, "the command never ran"),
            }
            thread::park_timeout(Duration::from_millis(2));
        };
        session.server.notify("notifications/cancelled", json!({"requestId": running}));
        let said = session.answer(last);
        assert_eq!((said.output.as_str(), said.restarted), ("yes\n", None), "{shell:?}");
        gone(command);
        assert!(!session.dir.path().join("never").exists());
        assert_eq!(session.shell_pid(), pid);
        assert_eq!(session.server.drain(), Vec::<Value>::new());
    }
}

#[test]
fn two_hundred_calls_at_once_get_their_own_answers_in_their_order() {
    let mut session = session(Path::new("/bin/sh"), "echo", &[]);
    let sent: Vec<(i64, usize)> = (0..200).map(|n| (session.send("echo", &format!("{n} of many")), n)).collect();
    for (id, n) in sent {
        let answer = session.server.recv();
        assert_eq!(answer["id"], json!(id), "answers come in the order of the calls");
        assert_eq!(Said::of(&answer["result"]).output, format!("{n} of many\n"));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn many_calls_in_one_shell_leave_nothing_behind() {
    let mut session = session(Path::new("/bin/sh"), "echo,sh", &[]);
    let pid = session.shell_pid();
    let open = |pid: i32| fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let server = i32::try_from(session.server.pid()).unwrap();
    // Only root looks into the server; for others the limit tells.
    bound_descriptors(session.server.pid(), 64);
    let open_in_server = |pid| if rustix::process::geteuid().is_root() { open(pid) } else { 0 };
    // What ends the next call is made with the first one that the loop finishes itself, and kept. On a busy machine the shell's
    // thread may have to finish a few.
    let first = |_| {
        session.output("echo", "first");
        open_in_server(server)
    };
    let before = ((0..50).map(first).max().unwrap(), open(pid));
    for n in 0..1000 {
        assert_eq!(session.output("echo", &n.to_string()), format!("{n}\n"));
    }
    // The shell puts a descriptor back after its marker, so that one more may be seen for a moment.
    let until = Instant::now() + DEADLINE;
    while open_in_server(server) > before.0 || open(pid) > before.1 {
        assert!(Instant::now() < until, "{:?} open, {before:?} before", (open_in_server(server), open(pid)));
        thread::park_timeout(Duration::from_millis(2));
    }
    assert_eq!(session.shell_pid(), pid);
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_command_leaves_behind_is_ended_before_its_answer() {
    for shell in shells() {
        let mut session = session(&shell, "sh,echo", &[]);
        for leave in ["sleep 100 &", "setsid sleep 100 &", "(setsid sleep 100 &) ;", "trap : TERM; sleep 100 &"] {
            let left: i32 = session.output("sh", &format!("-c '{leave} echo $!'")).trim().parse().unwrap_or(0);
            if left > 0 {
                gone(left);
            }
        }
        // It would write into the answers of others, if it lived.
        let left = "-c '(trap : TERM; while :; do echo late; sleep 0.01; done) & setsid -f sh -c \"while :; do echo late; sleep 0.01; done\"'";
        session.call("sh", left);
        for _ in 0..30 {
            assert_eq!(session.output("echo", "mine"), "mine\n", "{shell:?}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_command_leaves_behind_is_ended_also_while_another_process_runs() {
    let dir = tempfile::tempdir().unwrap();
    let mut server =
        Server::command(&["--tools", "all", "--allow", "sh,sleep", "--log", "off"]).dir(dir.path()).start();
    server.initialize("2025-11-25");
    let running =
        server.send_request("tools/call", json!({"name": "execute_command", "arguments": {"command": "sleep 100"}}));
    let leave =
        "-c 'setsid -f sh -c \"echo \\$\\$ > left; exec sleep 100\"; while ! [ -s left ]; do :; done; cat left'";
    let said = Said::of(&server.call("sh", json!({"arguments": leave})));
    gone(said.output.trim().parse().unwrap());
    server.notify("notifications/cancelled", json!({"requestId": running}));
}

#[test]
fn the_shell_changes_its_directory_within_the_allowed_roots_alone() {
    for shell in shells() {
        let roots = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(roots.path()).unwrap();
        let (inside, outside) = (base.join("inside"), base.join("outside"));
        fs::create_dir_all(inside.join("a b")).unwrap();
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        let inside_text = inside.to_str().unwrap();
        let more = ["--cwd-root", inside_text, "--cwd", inside_text];
        let mut session = session(&shell, "cd,pwd,export", &more);
        let within = inside.join("a b");
        assert_eq!(session.call("cd", "'a b'").cwd, within.to_str().unwrap());
        for target in
            ["../..", "/", outside.to_str().unwrap(), "../link", "-P ../link", "-- ../link", "missing", "''", "a b"]
        {
            let said = session.call("cd", target);
            assert!(said.is_error, "{shell:?}: cd {target}: {}", said.text);
            assert_eq!(session.output("pwd", ""), format!("{}\n", within.display()), "{target}");
        }
        assert!(session.call("cd", "/").text.contains("is not inside an allowed root"));
        // No variable leads elsewhere.
        assert!(session.call("export", "CDPATH=/").is_error);
        session.output("export", "HOME=/");
        assert_eq!(session.call("cd", "-").cwd, inside_text, "{shell:?}");
        assert_eq!(session.call("cd", "-").cwd, within.to_str().unwrap());
    }
}

#[test]
fn what_is_refused_only_at_its_turn_is_logged_with_its_words() {
    for shell in shells() {
        let dir = tempfile::tempdir().unwrap();
        let shell = shell.to_str().unwrap();
        let args = ["--tools", "shell", "--shell", shell, "--allow", "cd,sleep", "--cwd-root", ".", "--log", "info"];
        let mut server = Server::command(&args).dir(dir.path()).start();
        server.initialize("2025-11-25");
        let mut session = Session { server, dir };
        // One that has to wait, and one that has not.
        let ids = [session.send("sleep", "0.2"), session.send("cd", "/etc")];
        assert!(!session.answer(ids[0]).is_error && session.answer(ids[1]).is_error);
        assert!(session.call("cd", "/usr").is_error);
        for (number, directory) in [(2, "/etc"), (3, "/usr")] {
            let line = format!("tool=cd number={number} command=\"cd {directory}\" refused=");
            assert!(session.server.says(&line), "{line}: {}", session.server.stderr());
        }
    }
}

#[test]
fn a_command_that_is_not_there_is_told() {
    for shell in shells() {
        let mut session = session(&shell, "no_such_command_anywhere", &[]);
        let said = session.call("no_such_command_anywhere", "");
        assert_eq!((said.code, said.is_error), (None, true), "{shell:?}");
        assert!(said.text.contains("was not found in the directories of the server's PATH"), "{}", said.text);
        assert!(said.text.contains("Note: This tool does not support interactive commands."), "{}", said.text);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_the_kernel_does_not_execute_is_not_run_by_the_shell_either() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (name, text, runs) in [
        ("script", "#!/bin/sh\necho RAN\n", true),
        ("plain", "echo RAN\n", false),
        ("empty", "", false),
        ("no_name", "#!\necho RAN\n", false),
        ("no_elf", "\x7fELF\necho RAN\n", false),
    ] {
        let path = file(name, text);
        let tool = path.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_");
        for shell in shells() {
            let mut session = session(&shell, &path, &[]);
            let said = session.call(&tool, "");
            assert_eq!((said.is_error, said.text.contains("RAN")), (!runs, runs), "{shell:?} {name}: {}", said.text);
            let told = format!("the program `{path}` could not be started: Exec format error (os error 8)");
            assert_eq!(said.text.contains(&told), !runs, "{}", said.text);
        }
    }
}

#[test]
fn line_breaks_and_tabs_in_quotes_reach_the_command() {
    for shell in shells() {
        let mut session = session(&shell, "echo,printf,export,printenv,cat", &[]);
        let message = "first\n\n\tit\'s second; exit 3\n# `id` $(id)\nexit 4\n";
        for arguments in
            ["'%s|' 'a\nb\tc' \"d\n\te\" ''", "\t'%s|'\t'a\nb\tc'\t\"d\n\te\"\t''", "'%s|' a'\n'b'\t'c d\"\n\te\" ''"]
        {
            let said = session.call("printf", arguments);
            assert_eq!((said.code, said.output.as_str()), (Some(0), "a\nb\tc|d\n\te||"), "{shell:?}, {arguments:?}");
        }
        let quoted = format!("'{}'", message.replace('\'', r"'\''"));
        assert_eq!(session.call("echo", &quoted).output, format!("{message}\n"), "{shell:?}");
        assert_eq!(session.call("export", &format!("MESSAGE={quoted}")).code, Some(0), "{shell:?}");
        assert_eq!(session.call("printenv", "MESSAGE").output, format!("{message}\n"), "{shell:?}");
        // Nothing is left for the command or the next line to read.
        assert_eq!(session.call("cat", "").output, "", "{shell:?}");
        for (arguments, why) in
            [("a\necho b", "a line break outside quotes"), ("'a\rb'", "the control character U+000D")]
        {
            let said = session.call("echo", arguments);
            assert!(said.is_error && said.text.contains(why), "{shell:?}: {}", said.text);
        }
        assert_eq!(session.call("echo", "a").output, "a\n", "{shell:?}");
    }
}

#[test]
fn a_check_and_the_prompt_decide_as_a_call_would() {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir(root.join("sub")).unwrap();
    let root = root.to_str().unwrap();
    let allow = "cd,printf,set,export,ls,no-such-program,test";
    let flags = ["--tools", "shell", "--allow", allow, "--cwd-root", root, "--cwd", root, "--log", "off"];
    let mut server = Server::command(&flags).dir(dir.path()).start();
    server.initialize("2025-11-25");
    for (command, expected) in [
        ("ls -l 'a b'", Ok(())),
        ("cd sub", Ok(())),
        ("cd", Err("is not inside an allowed root")),
        ("cd /", Err("is not inside an allowed root")),
        ("cd sub/missing", Err("does not exist")),
        ("export A=b", Ok(())),
        ("export PATH=/x", Err("decides which code runs")),
        ("export 'a[1]=x'", Err("is not one of them")),
        ("set -x", Err("changes how the shell reads its lines")),
        ("printf 'a\tb\nc'", Ok(())),
        ("printf a\nrm", Err("a line break outside quotes is shell syntax")),
        ("printf 'a\u{7}b'", Err("hold the control character U+0007")),
        ("ls && ls", Err("outside quotes is shell syntax")),
        ("no-such-program", Err("found in the directories of")),
        ("rm x", Err("is not allowed")),
        ("/bin/ls", Err("call it by its name alone, `ls`")),
    ] {
        let mut check = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        let output = check.arg("check").args(flags).args(["--", command]).env("HOME", "/").output().unwrap();
        let checked = String::from_utf8(output.stdout).unwrap();
        let explained =
            server.request("prompts/get", json!({"name": "explain_refusal", "arguments": {"command": command}}));
        let explained = explained["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
        let (tool, arguments) = command.split_once(' ').unwrap_or((command, ""));
        match expected {
            Ok(()) => {
                assert_eq!(output.status.code(), Some(0), "{command}: {checked}");
                assert!(explained.contains("would not be refused"), "{explained}");
            }
            Err(why) => {
                assert_eq!(output.status.code(), Some(1), "{command}: {checked}");
                assert!(checked.contains(why) && explained.contains(why), "{command}: {checked}\n{explained}");
            }
        }
        if allow.split(',').any(|name| name == tool) {
            let said = Said::of(&server.call(tool, json!({"arguments": arguments})));
            assert_eq!(said.code.is_some(), expected.is_ok(), "{command}: {}", said.text);
            server.call("restart", json!({}));
        }
    }
}

#[test]
fn a_shell_that_is_none_is_told() {
    for (shell, what) in [("/no/such/shell", "was not found"), ("true", "does not answer as a POSIX shell")] {
        let mut session = session(Path::new(shell), "echo", &[]);
        let said = session.call("echo", "x");
        assert!(said.is_error && said.text.contains(what), "{}", said.text);
    }
}

#[test]
fn the_shell_ends_with_the_server() {
    for shell in shells() {
        let mut session = session(&shell, "sh,sleep", &[]);
        let pid = session.shell_pid();
        session.send("sleep", "100");
        session.server.close_stdin();
        assert_eq!(session.server.wait_exit(), 0);
        gone(pid);
    }
}

#[test]
fn the_allow_list_makes_the_tools_or_the_start_fails() {
    let tools = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        let output = command.arg("tools").args(args).env_remove("ALLOWED_COMMANDS").output().unwrap();
        let names = String::from_utf8(output.stdout).unwrap();
        let names: Vec<String> = names.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect();
        (output.status.code().unwrap(), names.join(" "), String::from_utf8(output.stderr).unwrap())
    };
    let (code, names, _) = tools(&["--tools", "shell"]);
    assert_eq!(code, 0);
    let about_calls = "read_output stop_call list_calls";
    let of_shell =
        format!("ls echo curl cat find grep cd pwd which printenv podman restart {about_calls} list_commands");
    assert_eq!(names, of_shell);
    let (_, names, _) = tools(&["--tools", "shell", "--allow", "git,@shell,ls"]);
    assert_eq!(names, format!("git {of_shell}"));
    let (code, _, stderr) = tools(&["--tools", "shell", "--allow", "@shel"]);
    assert!(code == 2 && stderr.contains("`@shel` is not a set of commands; the only set is `@shell`"), "{stderr}");
    let doctor = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
        let output = command.arg("doctor").args(args).env_remove("ALLOWED_COMMANDS").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let warning = "`--tools shell` allows `@shell`: ls, echo, curl,";
    assert!(doctor(&["--tools", "shell"]).contains(warning));
    assert!(!doctor(&["--tools", "shell", "--allow", "@shell"]).contains(warning));
    let (_, names, _) = tools(&["--tools", "all", "--allow", "g++"]);
    assert_eq!(
        names,
        "execute_command execute_process g__ restart read_output write_input stop_call list_calls list_commands"
    );
    for (allow, what) in [("*", "names no command"), ("g++,g--,g__", "`g__`"), ("restart", "this server itself")] {
        let (code, _, stderr) = tools(&["--tools", "shell", "--allow", allow]);
        assert!(code == 2 && stderr.contains(what), "{allow}: {stderr}");
    }
    let (code, _, stderr) = tools(&["--tools", "shel"]);
    assert!(code == 2 && stderr.contains("did you mean `shell`?"), "{stderr}");
}

#[test]
fn an_entry_for_the_file_of_a_described_command_has_its_rule() {
    for shell in shells() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("private")).unwrap();
        fs::write(at("private/x"), "kept\n").unwrap();
        fs::write(at("public"), "shown\n").unwrap();
        std::os::unix::fs::symlink("/bin/cat", at("other")).unwrap();
        let rules = "commands:\n  cat: {operands: [{path: read, deny: {path: {access: read, under: [private]}}}]}\n  \
                     head: {decision: ask, operands: [{path: read}]}\n";
        fs::write(at("rules.yaml"), rules).unwrap();
        let (rules, allow) = (at("rules.yaml"), format!("/bin/cat,/bin/head,{}", at("other").display()));
        let (rules, project) = (rules.to_str().unwrap(), dir.path().to_str().unwrap());
        let mut session = session(&shell, &allow, &["--policy", rules, "--project-dir", project, "--cwd", project]);
        let tools = session.server.request("tools/list", json!({}));
        let names = tools["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
        let names: Vec<String> = names
            .filter(|name| name.ends_with("cat") || name.ends_with("other") || name.ends_with("head"))
            .map(str::to_owned)
            .collect();
        assert!(names.len() >= 3, "{names:?}");
        for name in &names {
            let said = session.call(name, "private/x");
            assert!(!said.text.contains("kept"), "{name}: {}", said.text);
        }
        for name in &names {
            // By another name it may do something else than its rule says.
            let said = session.call(name, "public");
            assert_eq!(said.text.contains("shown"), name.ends_with("cat"), "{name}: {}", said.text);
        }
        for name in names.iter().filter(|name| name.ends_with("head")) {
            let said = session.call(name, "public");
            assert!(said.text.contains("approve") && !said.text.contains("shown"), "{name}: {}", said.text);
        }
    }
}
