//! The settings in words, and the defaults.

use std::path::PathBuf;

use super::*;

#[test]
fn defaults_hold_where_nothing_is_set() {
    let config = Start::default().resolve().unwrap();
    assert_eq!(config, Config::defaults(config.surroundings.clone()));
    let text: String =
        rows(&config).iter().map(|row| format!("{}: {} ({})\n", row.name, row.value, row.source)).collect();
    // The one default that differs between platforms.
    let text = text.replace("shell: cmd.exe", "shell: /bin/sh");
    insta::assert_snapshot!(text, @r"
    allow: nothing (default)
    policy: none (default)
    profile: none (default)
    ask: none (default)
    ask-with: the client, if it can ask (default)
    ask-timeout: 2m (default)
    read-only: none (default)
    trust: any (default)
    lock: none (default)
    allow-project-commands: off (default)
    tools: execute (default)
    shell: /bin/sh (default)
    lines: off (default)
    cwd-root: no restriction (default)
    workspace-dir: none (default)
    project-dir: the first root of the client, else none (default)
    cwd: the project directory, else the server's (default)
    roots: use (default)
    sandbox: off (default)
    sandbox-best-effort: off (default)
    network: none at strict, else full (default)
    read: none (default)
    write: none (default)
    exec: none (default)
    grant: none (default)
    timeout: 30s (default)
    max-timeout: 10m (default)
    grace: 1s (default)
    max-output: 16KiB (default)
    max-concurrent: 16 (default)
    background: on (default)
    hand-over: 50s (default)
    max-background: 1h (default)
    max-background-calls: 8 (default)
    keep-output: 64MiB (default)
    max-memory: none (default)
    max-cpu: none (default)
    max-processes: none (default)
    max-file-size: none (default)
    max-open-files: none (default)
    env: the built environment (default)
    inherit-env: off (default)
    line-env: none with rules or subcommands (default)
    structured: off (default)
    exit-error: off (default)
    record: off (default)
    record-force: off (default)
    record-required: off (default)
    audit: none (default)
    audit-sync: off (default)
    audit-max-size: none (default)
    audit-anchor: none (default)
    log: info (default)
    log-file: stderr (default)
    log-format: text (default)
    config: none (default)
    ");
}

#[test]
fn stated_defaults_are_the_defaults() {
    let defaults = Config::defaults(Surroundings { variables: BTreeMap::new(), directory: PathBuf::new() });
    for spec in SETTINGS {
        let shown = (spec.show)(&defaults);
        assert_eq!(shown.text.as_deref().unwrap_or(spec.default), spec.default, "--{}", spec.flag);
        assert_eq!(shown.source, &Source::Default, "--{}", spec.flag);
    }
}

#[test]
fn help_states_every_setting_in_lines_of_less_than_100_columns() {
    let text = help();
    assert!(text.lines().all(|line| line.len() < 100), "{text}");
    let text = text.replace("default: cmd.exe", "default: /bin/sh");
    insta::assert_snapshot!(text, @r"
    What may run:
      --allow NAMES             Commands that may run, compared exactly with the first word of a call,
                                or a command and a subcommand (git status); `@shell` stands for common
                                shell commands, and `*` allows every command [ALLOWED_COMMANDS;
                                default: nothing]
      --policy FILE             YAML files with rules for the arguments of commands; a command that
                                they describe runs only by its rule [ALLOWEXEC_POLICY; default: none]
      --profile NAMES           Policies shipped with allowexec, such as git-readonly
                                [ALLOWEXEC_PROFILE; default: none]
      --ask NAMES               Commands that a person must approve each time, or commands and
                                subcommands (git push) [ALLOWEXEC_ASK; default: none]
      --ask-with COMMAND        Your program that asks a person: it gets the request as JSON on
                                standard input; exit status 0 runs the command, 10 runs it for the
                                session, any other status refuses it [ALLOWEXEC_ASK_WITH; default: the
                                client, if it can ask]
      --ask-timeout DURATION    How long a person has to answer; then the command is refused
                                [ALLOWEXEC_ASK_TIMEOUT; default: 2m]
      --read-only NAMES         Commands that only read; a tool is annotated readOnlyHint if all of its
                                commands do [ALLOWEXEC_READ_ONLY; default: none]
      --trust WHOM              Which programs may run, by who can replace them: any, or owner (only
                                root and the server's user can) [ALLOWEXEC_TRUST; default: any]
      --lock FILE               Run only programs that match this file, which `allowexec lock` writes
                                [ALLOWEXEC_LOCK; default: none]
      --allow-project-commands  Allow a command given by a path that leads, with links resolved, below
                                the project directory [ALLOWEXEC_ALLOW_PROJECT_COMMANDS; default: off]
      --tools WHICH             execute: one process for each call; shell: a tool for each allowed
                                command, all in one persistent shell (those of `@shell` if nothing is
                                allowed); all: both [ALLOWEXEC_TOOLS; default: execute]
      --shell PROGRAM           The program of the persistent shell: a POSIX shell, on Windows cmd.exe
                                [ALLOWEXEC_SHELL; default: /bin/sh]
      --lines WHICH             Whether a call may be a line of several commands (`a | b`, `cd d &&
                                c`), decided one by one: off, on, or files to also redirect
                                [ALLOWEXEC_LINES; default: off]

    Where it runs:
      --cwd-root DIRS           Directories that the `cwd` of a call must be in; an empty list refuses
                                every call that names one [ALLOWED_CWD_ROOTS; default: no restriction]
      --workspace-dir DIR       The outermost directory of all projects; no directory that a client
                                names may be outside it [ALLOWEXEC_WORKSPACE_DIR; default: none]
      --project-dir DIR         The directory that relative ones are resolved against, and that calls
                                without `cwd` run in [ALLOWEXEC_PROJECT_DIR; default: the first root of
                                the client, else none]
      --cwd DIR                 The default working directory within the project [ALLOWEXEC_CWD;
                                default: the project directory, else the server's]
      --roots MODE              The client's roots: use (ask clients that have roots), ignore, or
                                require (refuse calls until they are known) [ALLOWEXEC_ROOTS; default:
                                use]

    What commands can touch (Linux):
      --sandbox LEVEL           How far the kernel confines commands: off, workspace or strict
                                [ALLOWEXEC_SANDBOX; default: off]
      --sandbox-best-effort     Run with what the kernel can enforce instead of refusing to start
                                [ALLOWEXEC_SANDBOX_BEST_EFFORT; default: off]
      --network WHICH           Network of commands in the sandbox: none, a loopback of each call's
                                own, TCP on the ports of connect:PORT,listen:PORT (on whatever host),
                                or full [ALLOWEXEC_NETWORK; default: none at strict, else full]
      --read PATHS              What else commands in the sandbox may read [ALLOWEXEC_READ; default:
                                none]
      --write PATHS             What else they may read and write [ALLOWEXEC_WRITE; default: none]
      --exec PATHS              What else they may read and execute [ALLOWEXEC_EXEC; default: none]
      --grant PRESETS           Let commands in the sandbox use files of the home directory: those of
                                git, rust, node, python, go [ALLOWEXEC_GRANT; default: none]

    How long and how much:
      --timeout DURATION        How long a call may run if it names no time limit: a number with ms, s,
                                m or h [ALLOWEXEC_TIMEOUT; default: 30s]
      --max-timeout DURATION    The longest time limit that a call may ask for [ALLOWEXEC_MAX_TIMEOUT;
                                default: 10m]
      --grace DURATION          Time between SIGTERM and SIGKILL when a process tree is ended
                                [ALLOWEXEC_GRACE; default: 1s]
      --max-output BYTES        How much of each stream is kept: bytes, or a number with KB, KiB, MB,
                                MiB, GB or GiB; `0` for no bound [ALLOWEXEC_MAX_OUTPUT; default: 16KiB]
      --max-concurrent N        Calls that run concurrently; the others wait [ALLOWEXEC_MAX_CONCURRENT;
                                default: 16]
      --background on|off       Whether calls can run in the background, and clients get the tools for
                                them: on or off [ALLOWEXEC_BACKGROUND; default: on]
      --hand-over DURATION      When a call that is still running is answered and continues in the
                                background; `0s` for never [ALLOWEXEC_HAND_OVER; default: 50s]
      --max-background DURATION How long a call may run in the background, and the longest time limit
                                that it may ask for [ALLOWEXEC_MAX_BACKGROUND; default: 1h]
      --max-background-calls N  Calls that run concurrently in the background; more are refused
                                [ALLOWEXEC_MAX_BACKGROUND_CALLS; default: 8]
      --keep-output SIZE        How much output of each call is kept to be read later, and four times
                                that in all; `0` keeps nothing [ALLOWEXEC_KEEP_OUTPUT; default: 64MiB]

    How much of the machine commands can use (Unix):
      --max-memory SIZE         Memory of the whole call if a cgroup can be used, else of each of its
                                processes [ALLOWEXEC_MAX_MEMORY; default: none]
      --max-cpu DURATION        Processor time of each process of a call, in whole seconds
                                [ALLOWEXEC_MAX_CPU; default: none]
      --max-processes N         Processes and threads of the whole call if a cgroup can be used, else
                                of the server's user [ALLOWEXEC_MAX_PROCESSES; default: none]
      --max-file-size SIZE      The largest file that a process of a call can write
                                [ALLOWEXEC_MAX_FILE_SIZE; default: none]
      --max-open-files N        Files that a process of a call can have open [ALLOWEXEC_MAX_OPEN_FILES;
                                default: none]

    What commands get:
      --env NAME[=VALUE]        Variables passed on to commands, or set for them; a value with a comma
                                must be given in the file [ALLOWEXEC_ENV; default: the built
                                environment]
      --inherit-env             Pass the server's whole environment on to commands
                                [ALLOWEXEC_INHERIT_ENV; default: off]
      --line-env NAMES          Variables that calls may change in the persistent shell (export, read,
                                unset; set of cmd.exe), and no others [ALLOWEXEC_LINE_ENV; default:
                                none with rules or subcommands]

    What clients get:
      --structured              Declare an output schema and send structured content next to the text,
                                for clients that are programs [ALLOWEXEC_STRUCTURED; default: off]
      --exit-error              Make a non-zero exit an error [ALLOWEXEC_EXIT_ERROR; default: off]

    What the operator gets:
      --record FILE             With `serve`: write the session as a transcript, secrets included; %t
                                is the time, %p the process, %c the client [ALLOWEXEC_RECORD; default:
                                off]
      --record-force            Let the recording replace an existing file; `--force` does the same
                                [ALLOWEXEC_RECORD_FORCE; default: off]
      --record-required         End the session if it can't be recorded any more, instead of continuing
                                with a warning [ALLOWEXEC_RECORD_REQUIRED; default: off]
      --audit FILE              Append every request, decision, start and end to this audit log; a call
                                that can't be recorded does not run [ALLOWEXEC_AUDIT; default: none]
      --audit-sync              Wait until each record of the audit log is on the disk
                                [ALLOWEXEC_AUDIT_SYNC; default: off]
      --audit-max-size SIZE     Begin a new audit log before the file becomes larger; the old one
                                becomes FILE.1, the next FILE.2, and so on [ALLOWEXEC_AUDIT_MAX_SIZE;
                                default: none]
      --audit-anchor COMMAND    Your program that keeps the head of the audit log elsewhere: it gets
                                one on standard input at the end of each session and every ten minutes
                                [ALLOWEXEC_AUDIT_ANCHOR; default: none]
      --log LEVEL               What is written to stderr: off, error, warn, info or debug
                                [ALLOWEXEC_LOG; default: info]
      --log-file FILE           The file that the log is appended to instead of stderr, readable only
                                by its owner [ALLOWEXEC_LOG_FILE; default: stderr]
      --log-format FORMAT       How lines of the log are written: text, or json (one object per line)
                                [ALLOWEXEC_LOG_FORMAT; default: text]
      --config FILE             A YAML file of settings; its keys are the flags' names, with `_` for
                                `-` [ALLOWEXEC_CONFIG; default: none]
    ");
}
