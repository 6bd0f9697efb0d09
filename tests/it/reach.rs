//! What commands reach of the server, of its shell and of its client by what stands under `/proc`, by descriptors and by
//! process groups, with and without a sandbox, as root and as an ordinary user.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Server;
use crate::support::server::{DEADLINE, spawning, wait_with_deadline};
use crate::support::world::{User, World, is_installed, text};
use rustix::process::{Pid, Signal, geteuid, getsid, kill_process};
use serde_json::json;

const LEVELS: [&str; 3] = ["off", "workspace", "strict"];

fn users_and_levels() -> impl Iterator<Item = (User, &'static str)> {
    User::all().into_iter().flat_map(|user| LEVELS.into_iter().map(move |level| (user, level)))
}

fn pid_of(number: u32) -> Pid {
    Pid::from_raw(i32::try_from(number).unwrap()).unwrap()
}

/// What `execute_process` answers.
fn process(server: &mut Server, file: &str, arguments: &[&str]) -> String {
    text(&server.call("execute_process", json!({"file": file, "args": arguments})))
}

fn wait_for(path: &Path) {
    let until = Instant::now() + DEADLINE;
    while !path.exists() {
        assert!(Instant::now() < until, "{} never came to be", path.display());
        thread::park_timeout(Duration::from_millis(2));
    }
}

/// What a process can do to another one by its directory under `/proc`, which is `$1`. A line for each that succeeds.
const ATTEMPTS: &str = "\
    for t in $1 $1/task/*; do \
    for n in 0 1 2; do \
    (: < $t/fd/$n) && echo reads-$n; (: > $t/fd/$n) && echo writes-$n; test -e $t/fd/$n && echo sees-$n; \
    done; \
    (: < $t/mem) && echo reads-memory; (: > $t/mem) && echo writes-memory; \
    (cd -P $t/cwd) && echo enters; (cd -P $t/root) && echo enters-root; test -e $t/exe && echo sees-program; \
    read x < $t/maps && echo reads-maps; \
    read x < $t/auxv; read x < $t/environ; test -n \"$x\" && echo reads-environment; \
    done 2>/dev/null; true";

#[test]
fn no_command_reaches_into_the_server() {
    // The kernel opens what a process was started with to whoever has one of these, since Linux 6.15; see may_access_mm.
    let by_capability = ["reads-maps", "reads-environment"];
    for (user, level) in users_and_levels() {
        let world = World::new();
        let mut server = world.server_of(user, level, "sh,sleep", &["--tools", "all"]);
        let place = format!("/proc/{}", server.pid());
        let output = process(&mut server, "sh", &["-c", ATTEMPTS, "sh", &place]);
        let in_shell = json!({"arguments": format!("-c '{ATTEMPTS}' sh {place}").replace('\n', " ")});
        let in_shell = text(&server.call("sh", in_shell));
        for output in [output, in_shell] {
            let mut done: Vec<&str> = output.lines().map(str::trim).filter(|line| line.contains('-')).collect();
            done.retain(|line| line.starts_with("reads") || line.starts_with("writes") || line.starts_with("sees"));
            if level == "off" && user == User::Own && geteuid().is_root() {
                done.retain(|line| !by_capability.contains(line));
            }
            assert_eq!(done, [""; 0], "{user:?}, {level}: {output}");
            assert!(!output.contains("enters"), "{user:?}, {level}: {output}");
            assert!(output.contains("exit_code: 0"), "{user:?}, {level}: {output}");
        }
        if level == "off" {
            // So that the server fails them, and nothing else does.
            let of_its_own = format!("sleep 60 & set /proc/$!; {ATTEMPTS}; kill $!");
            let output = process(&mut server, "sh", &["-c", &of_its_own]);
            for done in
                ["reads-memory", "writes-memory", "reads-environment", "reads-maps", "sees-1", "writes-1", "enters"]
            {
                assert!(output.contains(done), "{user:?}: {done}: {output}");
            }
        }
    }
}

#[test]
fn root_traces_what_it_has_started_itself() {
    if !is_installed("strace") {
        return;
    }
    for user in User::all() {
        let world = World::new();
        let mut server = world.server_of(user, "off", "strace", &[]);
        let output = process(&mut server, "strace", &["-f", "-e", "trace=execve", "sh", "-c", "/bin/true"]);
        assert!(output.contains("exit_code: 0") && output.contains("/bin/true"), "{user:?}: {output}");
    }
}

/// Opens what a client may leave open, and becomes what comes behind: a file, a directory, both ends of a pipe and of a socket
/// pair, each also under a high number.
const LEAKING: &str = r#"
    $^F = 1 << 20; use POSIX (); use Socket;
    open(my $file, "+<", "/dev/zero"); pipe(my $reader, my $writer); socketpair(my $one, my $other, AF_UNIX, SOCK_STREAM, 0);
    open(my $directory, "<", "/"); my $high = 200;
    for my $leaked ($file, $reader, $writer, $one, $other, $directory) { POSIX::dup2(fileno($leaked), $high++); }
    exec @ARGV;
"#;

/// Tells which descriptors are open behind the first three, without `/proc`, which `strict` does not open.
const OPEN: &str = "for (3..600) { if (open(my $leaked, q(<&=), $_)) { print qq(leaked-$_ ) } } print qq(looked\\n)";

#[test]
fn no_descriptor_that_the_client_has_left_open_reaches_a_command() {
    let output = Command::new("perl").args(["-e", LEAKING, "perl", "-e", OPEN]).output().unwrap();
    let control = String::from_utf8(output.stdout).unwrap();
    assert!(control.contains("leaked-3 ") && control.contains("leaked-205 "), "it leaks: {control}");
    for (user, level) in users_and_levels() {
        let world = World::new();
        let project = world.fill("[base]/project");
        let args =
            ["--sandbox", level, "--allow", "perl,ls", "--tools", "all", "--project-dir", &project, "--log", "off"];
        let mut server = world.command(user, &args).through(&["perl", "-e", LEAKING]).start();
        server.initialize("2025-06-18");
        let output = process(&mut server, "perl", &["-e", OPEN]);
        assert!(output.contains("looked") && !output.contains("leaked"), "{user:?}, {level}: {output}");
        let output = text(&server.call("perl", json!({"arguments": format!("-e '{OPEN}'")})));
        assert!(output.contains("looked") && !output.contains("leaked"), "{user:?}, {level}, shell: {output}");
    }
}

/// A server with the tools of both kinds, and the number of its shell.
fn with_shell(world: &World, user: User, level: &str, shell: &str) -> (Server, String) {
    let more = ["--tools", "all", "--shell", shell, "--log", "off"];
    let mut server = world.server_of(user, level, "cp,dd,tee,sh,echo,perl,seq,cat", &more);
    let output = text(&server.call("sh", json!({"arguments": "-c 'echo pid-$PPID-'"})));
    let pid = output.split("pid-").nth(1).unwrap().split('-').next().unwrap().to_owned();
    (server, pid)
}

fn shells() -> Vec<&'static str> {
    ["/bin/sh", "/bin/bash", "/bin/busybox"].into_iter().filter(|shell| Path::new(shell).exists()).collect()
}

fn users_levels_and_shells() -> impl Iterator<Item = (User, &'static str, &'static str)> {
    users_and_levels().flat_map(|(user, level)| shells().into_iter().map(move |shell| (user, level, shell)))
}

#[test]
fn nothing_that_writes_files_writes_a_command_for_the_shell() {
    for (user, level, shell) in users_levels_and_shells() {
        let world = World::new();
        let payload = world.base.join("project/payload");
        fs::write(&payload, world.fill("\necho injected > [base]/project/marker\n")).unwrap();
        let (mut server, pid) = with_shell(&world, user, level, shell);
        for number in [0, 1, 2, 3, 10, 11, 255] {
            let [from, to] = [payload.display().to_string(), format!("/proc/{pid}/fd/{number}")];
            for (tool, arguments) in [
                ("cp", format!("{from} {to}")),
                ("dd", format!("if={from} of={to} conv=notrunc status=none")),
                ("sh", format!("-c 'tee {to} < {from} > /dev/null'")),
            ] {
                // In the shell itself, and beside it.
                server.call(tool, json!({"arguments": arguments}));
                server.call("execute_command", json!({"command": format!("{tool} {arguments}")}));
            }
            let output = text(&server.call("echo", json!({"arguments": "well"})));
            assert!(output.starts_with("exit_code: 0\noutput: |\n  well\n"), "{user:?}, {level}, {shell}: {output}");
            assert!(!output.contains("shell_restarted"), "{user:?}, {level}, {shell}: {output}");
        }
        assert!(!world.base.join("project/marker").exists(), "{user:?}, {level}, {shell}: a command was injected");
    }
}

#[test]
fn no_other_call_writes_into_the_answer_of_the_shell_or_reads_it_away() {
    for (user, level, shell) in users_levels_and_shells() {
        let world = World::new();
        let (mut server, pid) = with_shell(&world, user, level, shell);
        let project = world.base.join("project");
        let script = "-c 'echo mine; : > running; while ! test -e go; do :; done; echo mine too'";
        let running = server.send_request("tools/call", json!({"name": "sh", "arguments": {"arguments": script}}));
        wait_for(&project.join("running"));
        for number in [1, 2] {
            let of_shell = format!("/proc/{pid}/fd/{number}");
            let line = format!(
                "for f in {of_shell} /proc/[0-9]*/fd/{number}; \
                 do case $(readlink $f) in socket:*) echo forged > $f; esac; done"
            );
            process(&mut server, "sh", &["-c", &line]);
            server.call("execute_command", json!({"command": format!("tee {of_shell}"), "input": "forged\n"}));
            let reads = json!({"command": format!("cat {of_shell}"), "timeout_ms": 200});
            let read = text(&server.call("execute_command", reads));
            assert!(!read.contains("mine"), "{user:?}, {level}, {shell}: {read}");
        }
        fs::write(project.join("go"), "").unwrap();
        let mut answer = server.response(&json!(running));
        let output = text(&answer["result"].take());
        let expected = "exit_code: 0\noutput: |\n  mine\n  mine too\n";
        assert!(output.starts_with(expected) && !output.contains("forged"), "{user:?}, {level}, {shell}: {output}");
    }
}

#[test]
fn what_a_command_does_to_the_shells_streams_ends_with_it() {
    let nonblocking = "use Fcntl; fcntl($_, F_SETFL, O_WRONLY | O_NONBLOCK) for (*STDOUT, *STDERR)";
    let hasty = "use Socket; setsockopt(STDOUT, SOL_SOCKET, SO_SNDTIMEO, pack(q(l!l!), 0, 1))";
    for shell in shells() {
        let world = World::new();
        let (mut server, _) = with_shell(&world, User::Own, "off", shell);
        for script in [nonblocking, hasty] {
            server.call("perl", json!({"arguments": format!("-e '{script}'")}));
            // Longer than what a stream holds, so that it has to wait for the server.
            let output = server.call("seq", json!({"arguments": "600000"}));
            let output = text(&output);
            assert!(output.starts_with("exit_code: 0\n") && output.contains("\n  600000\n"), "{shell}: {output:.300}");
        }
        // What is sent beside the bytes, and out of band, is nobody's.
        let beside = "use Socket; send(STDOUT, q(oob), MSG_OOB); syswrite(STDOUT, qq(said\\n))";
        let output = text(&server.call("perl", json!({"arguments": format!("-e '{beside}'")})));
        assert!(output.starts_with("exit_code: 0\n") && output.contains("said"), "{shell}: {output}");
        let output = text(&server.call("echo", json!({"arguments": "well"})));
        assert!(output.starts_with("exit_code: 0\noutput: |\n  well\n"), "{shell}: {output}");
        // Who shuts the stream for good loses the shell, and the next call is told and gets another one.
        server.call("perl", json!({"arguments": "-e 'shutdown(STDOUT, 2)'"}));
        for expected in ["well", "again"] {
            let output = text(&server.call("echo", json!({"arguments": expected})));
            assert!(output.starts_with(&format!("exit_code: 0\noutput: |\n  {expected}\n")), "{shell}: {output}");
        }
    }
}

#[test]
fn a_network_connection_for_input_makes_no_shell_read_a_file_at_its_start() {
    for shell in shells() {
        let world = World::new();
        for file in [".bashrc", ".profile", ".bash_profile", ".shrc"] {
            fs::write(world.base.join("home").join(file), world.fill("echo x > [base]/project/marker\n")).unwrap();
        }
        let (mut server, _) = with_shell(&world, User::Own, "off", shell);
        server.call("echo", json!({"arguments": "well"}));
        assert!(!world.base.join("project/marker").exists(), "{shell}");
    }
}

fn answers(server: &mut Server) {
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
}

/// Joins the group of the server, and stops there as its own parent ends: the kernel tells the whole group by SIGHUP.
const STOPPED_MEMBER: &str = "\
    my $server = getpgrp(getppid()); my $member = fork(); \
    if (!$member) { setpgrp(0, $server); open(my $f, q(>), q(joined)); kill q(STOP), $$; exit } \
    while (!-e q(joined) || do { open(my $s, q(<), qq(/proc/$member/stat)); <$s> !~ /\\) T / }) { \
    select(undef, undef, undef, 0.01) } \
    print qq(stopped\\n)";

#[test]
fn a_stopped_member_of_its_group_does_not_end_the_server() {
    for user in User::all() {
        // A session of its own is what clients start it with; there the group has no tie to any other.
        for through in [&["setsid"][..], &[]] {
            let world = World::new();
            let project = world.fill("[base]/project");
            let args = ["--allow", "perl", "--project-dir", &project, "--log", "off"];
            let mut server = world.command(user, &args).through(through).start();
            server.initialize("2025-06-18");
            let output = process(&mut server, "perl", &["-e", STOPPED_MEMBER]);
            assert!(output.contains("stopped"), "{user:?}: {output}");
            answers(&mut server);
        }
    }
}

#[test]
fn sighup_ends_no_server_and_is_ignored_by_no_command() {
    let mut server = Server::start(&["--allow", "sh", "--tools", "all", "--log", "off"]);
    server.initialize("2025-06-18");
    for _ in 0..3 {
        kill_process(pid_of(server.pid()), Signal::HUP).unwrap();
        answers(&mut server);
    }
    let output = process(&mut server, "sh", &["-c", "kill -HUP $$; echo ignored"]);
    assert!(output.contains("SIGHUP") && !output.contains("ignored"), "{output}");
    let output = text(&server.call("sh", json!({"arguments": "-c 'kill -HUP $$; echo it-is'"})));
    assert!(output.contains("exit_code: 129"), "{output}");
    server.close_stdin();
    assert_eq!(server.wait_exit(), 0);
}

/// Blocks and ignores every signal that can be ignored, and becomes what comes behind.
const IGNORING: &str = "use Config; use POSIX; my $all = POSIX::SigSet->new; $all->fillset; sigprocmask(SIG_BLOCK, $all); \
    $SIG{$_} = q(IGNORE) for grep { !/^(ZERO|KILL|STOP|NUM32|NUM33)$/ } split q( ), $Config{sig_name}; \
    exec @ARGV";

/// The signals that a process ignores and blocks, see proc_pid_status(5).
const IGNORED: &str = "while (<>) { print if /^Sig(Ign|Blk)/ } print qq(looked\\n)";

#[test]
fn a_command_ignores_and_blocks_nothing_that_the_client_does() {
    let output =
        Command::new("perl").args(["-e", IGNORING, "perl", "-ne", IGNORED, "/proc/self/status"]).output().unwrap();
    let control = String::from_utf8(output.stdout).unwrap();
    assert!(control.contains("SigIgn:\tfffffff"), "it ignores them: {control}");
    assert!(control.contains("SigBlk:\tfffffff"), "it blocks them: {control}");
    for (level, more) in [("off", &[][..]), ("off", &["--max-open-files", "100"]), ("workspace", &[])] {
        let world = World::new();
        let project = world.fill("[base]/project");
        let args = ["--sandbox", level, "--allow", "perl", "--tools", "all", "--project-dir", &project, "--log", "off"];
        let args = [&args[..], more].concat();
        let mut server = world.command(User::Own, &args).through(&["perl", "-e", IGNORING]).start();
        server.initialize("2025-06-18");
        let output = process(&mut server, "perl", &["-e", IGNORED, "/proc/self/status"]);
        let in_shell = json!({"arguments": format!("-e '{IGNORED}' /proc/self/status")});
        for output in [output, text(&server.call("perl", in_shell))] {
            // What does nothing by default may stay ignored: SIGURG, SIGWINCH; and SIGSEGV, SIGILL, SIGFPE, which no
            // handler can be given to.
            let mask = |name: &str| {
                let mask =
                    output.split(name).nth(1).unwrap().trim_start_matches(|char: char| !char.is_ascii_hexdigit());
                u64::from_str_radix(&mask[..16], 16).unwrap()
            };
            assert_eq!(mask("SigBlk:"), 0, "{level}, {more:?}: {output}");
            let may_stay = [4, 8, 11, 18, 23, 28, 32, 33].iter().fold(0, |mask, signal| mask | 1_u64 << (signal - 1));
            assert_eq!(mask("SigIgn:") & !may_stay, 0, "{level}, {more:?}: {output}");
        }
        server.close_stdin();
        assert_eq!(server.wait_exit(), 0);
    }
}

#[test]
fn no_command_joins_a_group_of_the_clients() {
    // rustix expects no group of an outer PID namespace; such a one has no number by which it could be joined.
    let status = fs::read_to_string("/proc/self/stat").unwrap();
    let own = status.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(2).unwrap();
    if own == "0" {
        return;
    }
    let join = format!("setpgrp(0, {own}) and print qq(joined\\n); print qq(tried\\n)");
    for leads_a_group in [false, true] {
        for level in LEVELS {
            let world = World::new();
            let project = world.fill("[base]/project");
            let mut command = Command::new(env!("CARGO_BIN_EXE_allowexec"));
            command.args(["serve", "--sandbox", level, "--allow", "perl", "--project-dir", &project, "--log", "off"]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            if leads_a_group {
                command.process_group(0);
            }
            let mut child = {
                let _quiet = spawning();
                command.spawn().unwrap()
            };
            let mut server = Raw::new(&mut child);
            let output = server.call("perl", &["-e", &join]);
            assert!(output.contains("tried") && !output.contains("joined"), "{level}, {leads_a_group}: {output}");
            let session = getsid(Some(pid_of(server.child.id()))).unwrap();
            assert_eq!(session, pid_of(server.child.id()), "{level}, {leads_a_group}");
            drop(server.child.stdin.take());
            assert_eq!(wait_with_deadline(server.child, DEADLINE), Some(0));
        }
    }
}

/// A server that was started otherwise than those of the harness.
struct Raw<'a> {
    child: &'a mut Child,
}

impl<'a> Raw<'a> {
    fn new(child: &'a mut Child) -> Self {
        Self { child }
    }

    fn call(&mut self, file: &str, arguments: &[&str]) -> String {
        use std::io::{BufRead, BufReader, Write};
        let arguments = json!({"file": file, "args": arguments});
        let params = json!({"name": "execute_process", "arguments": arguments, "_meta": crate::support::modern_meta()});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        writeln!(self.child.stdin.as_mut().unwrap(), "{request}").unwrap();
        let mut line = String::new();
        BufReader::new(self.child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }
}

/// `call` is started by hand, and so is `serve` here: both end with their terminal, which `script` is.
#[test]
fn what_was_started_by_hand_ends_with_its_terminal() {
    if !is_installed("script") {
        return;
    }
    let binary = env!("CARGO_BIN_EXE_allowexec");
    let call =
        r#"call execute_command '{"command":"sh -c \"echo $$ > pid; exec sleep 300\""}' --timeout 5m --allow sh"#;
    for (words, ready) in [(call, "pid"), ("serve --allow sh --tools shell", "started")] {
        let directory = tempfile::tempdir().unwrap();
        let line = format!("echo $$ > written; mv written started; exec {binary} {words} --log off");
        let mut script = {
            let _quiet = spawning();
            Command::new("script")
                .args(["-qec", &line, "/dev/null"])
                .current_dir(directory.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        };
        wait_for(&directory.path().join(ready));
        let pid: u32 = fs::read_to_string(directory.path().join("started")).unwrap().trim().parse().unwrap();
        // It is the program by now, and has what it catches signals with.
        let until = Instant::now() + DEADLINE;
        let threads = || fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        while threads() < 2 {
            assert!(Instant::now() < until, "{words}: it never came up");
            thread::park_timeout(Duration::from_millis(2));
        }
        script.kill().unwrap();
        script.wait().unwrap();
        let gone = || !fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        while !gone() {
            assert!(Instant::now() < until, "{words}: it lives on");
            thread::park_timeout(Duration::from_millis(5));
        }
    }
}
