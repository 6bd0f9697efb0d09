//! The hints for what real tools print.

use super::*;

/// A strict sandbox that grants `/usr` and `/etc` to be read and `/srv/project` to be written.
#[derive(Clone, Copy)]
struct Fake {
    network: NetworkGrant,
    writes_nothing: bool,
    directory: Option<&'static str>,
    listed: ListedIn,
}

const STRICT: Fake = Fake {
    network: NetworkGrant::OfServer(Given::Nothing),
    writes_nothing: false,
    directory: None,
    listed: ListedIn::Flag,
};

impl Surroundings for Fake {
    fn network(&self) -> NetworkGrant {
        self.network
    }

    fn writes_nothing(&self) -> bool {
        self.writes_nothing
    }

    fn directory(&self) -> Option<&Path> {
        self.directory.map(Path::new)
    }

    fn lists(&self) -> GrantLists {
        let Self { listed, .. } = *self;
        GrantLists { read: listed, write: listed, exec: listed, grant: listed }
    }

    fn grants(&self, path: &Path, access: Access) -> bool {
        match access {
            Access::Read => ["/usr", "/etc", "/srv/project"].iter().any(|granted| path.starts_with(granted)),
            _ => path.starts_with("/srv/project"),
        }
    }

    fn is_readable(&self, path: &Path) -> bool {
        path.extension().is_some_and(|end| end == "txt" || end == "conf")
    }

    fn look(&self, path: &Path) -> LiesThere {
        let first = path.components().nth(1).map(|part| part.as_os_str().to_owned()).unwrap_or_default();
        if !["usr", "etc", "srv", "root", "home", "opt", "var", "dev", "tmp"].iter().any(|there| first == *there) {
            LiesThere::NoPath
        } else if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("new")) {
            LiesThere::Nothing
        } else if path.ends_with("allowexec.yaml") {
            if path.starts_with("/srv/settled") { LiesThere::Data } else { LiesThere::Nothing }
        } else if path.extension().is_some_and(|end| end == "txt" || end == "conf") {
            LiesThere::Data
        } else {
            LiesThere::Other
        }
    }
}

fn check(fake: Fake, output: &str, grant: Option<&str>) {
    assert_eq!(hint_of(output, &fake), grant.map(sentence), "{output}");
}

const ANY: &str = "`--read`, `--write` or `--exec` of the path that is needed";
const WRITE: &str = "`--write` of the path that is needed, once it exists, or of its directory";
const NETWORK: &str = "`--network full` (in a file: `network: full`)";
const LISTENING: &str =
    "`--network loopback`, or `--network full` for other machines (in a file: `network: loopback`, or `full`)";

/// The errors of real tools in a sandbox, without the lines in between that say nothing, and the grant that helps.
const FAILURES: &[(&str, Option<&str>)] = &[
    (r#"cat: /srv/data.csv: Permission denied"#, Some("`--read /srv/data.csv`")),
    (r#"ls: cannot open directory '/srv/my data': Permission denied"#, Some("`--read /srv/my data`")),
    (
        r#"touch: cannot touch '/etc/new': Permission denied"#,
        Some("`--write /etc/new` once it exists (`mkdir -p`, or an empty file), or `--write /etc`"),
    ),
    (
        r#"mkdir: cannot create directory '/srv/x/new/new2': Permission denied"#,
        Some("`--write /srv/x/new/new2` once it exists (`mkdir -p`, or an empty file), or `--write /srv/x`"),
    ),
    (
        r#"mkdir: cannot create directory '/srv/settled/new': Permission denied"#,
        Some(
            "`--write /srv/settled/new` once it exists (`mkdir -p`, or an empty file), or settings outside of the project (`allowexec init --to DIR`)",
        ),
    ),
    (
        r#"error: unable to unlink old 'README.md': Permission denied"#,
        Some(
            "`--write` of the directory that holds it, or settings outside of the project (`allowexec init --to DIR`)",
        ),
    ),
    (r#"error: unable to unlink old '/srv/a/README.md': Permission denied"#, Some("`--write /srv/a`")),
    (
        r#"rm: cannot remove '/srv/settled/README.md': Permission denied"#,
        Some("settings outside of the project (`allowexec init --to DIR`)"),
    ),
    (r#"Error: EACCES: permission denied, open '/root/.npm/_cacache/tmp/***'"#, Some(ANY)),
    (
        r#"npm error code EACCES
npm error syscall open
npm error path /root/.npm/_cacache/tmp/***
npm error errno EACCES"#,
        Some(ANY),
    ),
    (r#"fatal: Unable to create '/srv/p/.git/index.lock': Permission denied"#, Some("`--write /srv/p/.git`")),
    (r#"touch: cannot touch 'x': Permission denied"#, Some(WRITE)),
    (
        r#"cp: cannot create regular file '/srv/new': Permission denied"#,
        Some("`--write /srv/new` once it exists (`mkdir -p`, or an empty file), or `--write /srv`"),
    ),
    (r#"mv: cannot move 'a.py' to '/srv/b.txt': Permission denied"#, Some("`--write /srv`")),
    (r#"mkdir: cannot create directory ‘/srv/x’: Permission denied"#, Some("`--write /srv/x`")),
    (
        r#"tar: /srv/new.tar: Cannot open: Permission denied
tar: Error is not recoverable: exiting now"#,
        Some("`--write /srv/new.tar` once it exists (`mkdir -p`, or an empty file), or `--write /srv`"),
    ),
    (r#"sh: 1: cannot create /etc/x: Permission denied"#, Some("`--write /etc/x`")),
    (r#"/bin/sh: 1: cannot create x: Permission denied"#, Some(WRITE)),
    (r#"sh: 1: /usr/bin/gcc: Permission denied"#, Some("`--exec /usr/bin/gcc`")),
    (r#"bash: line 1: /opt/tool: Operation not permitted"#, Some("`--exec /opt/tool`")),
    (r#"/bin/bash: line 1: /opt/tool: Permission denied"#, Some("`--exec /opt/tool`")),
    (r#"bash: line 1: /etc/hosts.conf: Permission denied"#, Some("`--write /etc/hosts.conf`")),
    (
        r#"bash: socket: Permission denied
bash: line 1: /dev/tcp/127.0.0.1/9: Permission denied"#,
        Some(NETWORK),
    ),
    (
        r#"gcc: fatal error: cannot execute ‘/usr/lib/gcc/x86_64-linux-gnu/12/cc1’: execv: Permission denied
compilation terminated."#,
        Some("`--exec /usr/lib/gcc/x86_64-linux-gnu/12/cc1`"),
    ),
    (
        r#"cannot open /etc/new: Permission denied at -e line 1."#,
        Some("`--write /etc/new` once it exists (`mkdir -p`, or an empty file), or `--write /etc`"),
    ),
    (r#"curl: (6) Could not resolve host: example.com"#, Some(NETWORK)),
    (r#"curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server"#, Some(NETWORK)),
    (
        r#"Resolving example.com (example.com)... failed: Temporary failure in name resolution.
wget: unable to resolve host address ‘example.com’"#,
        Some(NETWORK),
    ),
    (r#"ssh: Could not resolve hostname a: Temporary failure in name resolution"#, Some(NETWORK)),
    (
        r#"warning: unable to access '/root/.gitconfig': Permission denied
fatal: unable to access 'http://127.0.0.1:9/x/': Failed to connect to 127.0.0.1 port 9"#,
        Some(NETWORK),
    ),
    (
        r#"warning: unable to access '/root/.gitconfig': Permission denied
fatal: unknown error occurred while reading the configuration files"#,
        Some("`--grant git`"),
    ),
    (
        r#"npm error code EAI_AGAIN
npm error request to https://registry.npmjs.org/x failed"#,
        Some(NETWORK),
    ),
    (
        r#"npm error code EACCES
npm error syscall mkdir
npm error path /root/.npm/_cacache
npm error errno -13
npm error Error: EACCES: permission denied, mkdir '/root/.npm/_cacache'"#,
        Some("`--write /root/.npm/_cacache`"),
    ),
    (
        r#"npm error code EACCES
npm error syscall open
npm error path /root/.npm/_cacache/new
npm error errno EACCES
npm error
npm error Your cache folder contains root-owned files"#,
        Some(
            "`--write /root/.npm/_cacache/new` once it exists (`mkdir -p`, or an empty file), or `--write /root/.npm/_cacache`",
        ),
    ),
    (r#"npm error code EPERM"#, Some(ANY)),
    (
        r#"Error: listen EACCES: permission denied 0.0.0.0:3000
    at Server.setupListenHandle [as _listen2] (node:net:1886:21)
    at Object.<anonymous> (/srv/project/l.js:1:32)
  code: 'EACCES',
  syscall: 'listen',"#,
        Some(LISTENING),
    ),
    (
        r#"node:fs:2380
    return binding.writeFileUtf8(
                   ^

Error: EACCES: permission denied, open '/etc/new'
    at Object.writeFileSync (node:fs:2380:20)
    at Object.<anonymous> (/srv/project/w.js:1:15) {
  errno: -13,
  code: 'EACCES',
  syscall: 'open',
  path: '/etc/new'
}"#,
        Some("`--write /etc/new` once it exists (`mkdir -p`, or an empty file), or `--write /etc`"),
    ),
    (
        r#"<ref *1> Error: spawnSync /opt/tool EACCES
    at Object.spawnSync (node:internal/child_process:1123:20)
  errno: -13,
  code: 'EACCES',
  syscall: 'spawnSync /opt/tool',
  path: '/opt/tool',"#,
        Some("`--exec /opt/tool`"),
    ),
    (
        r#"Error: getaddrinfo EAI_AGAIN example.com
    at GetAddrInfoReqWrap.onlookup [as oncomplete] (node:dns:111:26) {"#,
        Some(NETWORK),
    ),
    (r#"Error: getaddrinfo ENOTFOUND registry.npmjs.org"#, Some(NETWORK)),
    (
        r#"Error: Cannot find module 'nosuch'
Require stack:
- /srv/project/m.js
  code: 'MODULE_NOT_FOUND',"#,
        None,
    ),
    (r#"Error: EACCES: permission denied, open '/home/me/.npmrc'"#, Some("`--grant node`")),
    (
        r#"/srv/project/x.js:3
  return text.replace(/abc/g, '') // strip
              ^

Error: EPERM: operation not permitted"#,
        Some(ANY),
    ),
    (
        r#"Traceback (most recent call last):
  File "/srv/run.py", line 1, in <module>
    import requests
ModuleNotFoundError: No module named 'requests'"#,
        None,
    ),
    (
        r#"Traceback (most recent call last):
  File "/srv/run.py", line 8, in <module>
    import socket; socket.socket()
  File "/usr/lib/python3.11/socket.py", line 232, in __init__
    _socket.socket.__init__(self, family, type, proto, fileno)
PermissionError: [Errno 13] Permission denied"#,
        Some(NETWORK),
    ),
    (r#"socket.gaierror: [Errno -3] Temporary failure in name resolution"#, Some(NETWORK)),
    (
        r#"  File "/usr/lib/python3.11/multiprocessing/synchronize.py", line 57, in __init__
    sl = self._semlock = _multiprocessing.SemLock(
                         ^^^^^^^^^^^^^^^^^^^^^^^^
PermissionError: [Errno 13] Permission denied"#,
        Some("`--write /dev/shm`"),
    ),
    (
        r#"  File "/usr/lib/python3.11/multiprocessing/shared_memory.py", line 93, in __init__
    self._fd = _posixshmem.shm_open(
               ^^^^^^^^^^^^^^^^^^^^^
PermissionError: [Errno 13] Permission denied: '/psm_8c4297a7'"#,
        Some("`--write /dev/shm`"),
    ),
    (
        r#"[ERROR:platform_shared_memory_region_posix.cc(214)] Creating shared memory in /dev/shm/.org.chromium.x failed: Permission denied (13)"#,
        Some("`--write /dev/shm`"),
    ),
    (
        r#"Traceback (most recent call last):
  File "/srv/run.py", line 18, in <module>
    import subprocess; subprocess.run(["/opt/tool"])
  File "/usr/lib/python3.11/subprocess.py", line 1901, in _execute_child
    raise child_exception_type(errno_num, err_msg, err_filename)
PermissionError: [Errno 13] Permission denied: '/opt/tool'"#,
        Some("`--exec /opt/tool`"),
    ),
    (
        r#"Traceback (most recent call last):
  File "/usr/lib/python3.11/shutil.py", line 258, in copyfile
    with open(dst, 'wb') as fdst:
         ^^^
PermissionError: [Errno 13] Permission denied: '/etc/q'"#,
        Some("`--write /etc/q`"),
    ),
    (
        r#"Traceback (most recent call last):
  File "/usr/lib/python3.11/pathlib.py", line 1045, in open
    return io.open(self, mode)
PermissionError: [Errno 13] Permission denied: '/srv/data'"#,
        Some("`--read /srv/data`"),
    ),
    (
        r#"    def test_w():
>       open("/etc/q39", "w")
E       PermissionError: [Errno 13] Permission denied: '/etc/q39'

test_a.py:2: PermissionError"#,
        Some("`--write /etc/q39`"),
    ),
    (
        r#"    def __init__(self, family=-1, type=-1, proto=-1, fileno=None):
>       _socket.socket.__init__(self, family, type, proto, fileno)
E       PermissionError: [Errno 13] Permission denied

/usr/lib/python3.11/socket.py:232: PermissionError"#,
        Some(NETWORK),
    ),
    (
        r#"/usr/lib/ruby/3.1.0/socket.rb:201:in `bind': Permission denied - bind(2) for 127.0.0.1:3000 (Errno::EACCES)"#,
        Some(LISTENING),
    ),
    (
        r#"/usr/lib/ruby/3.1.0/fileutils.rb:243:in `mkdir': Permission denied @ dir_s_mkdir - /srv/new (Errno::EACCES)"#,
        Some("`--write /srv/new` once it exists (`mkdir -p`, or an empty file), or `--write /srv`"),
    ),
    (
        r#"error: could not read `/root/.cargo/config.toml`

Caused by:
  Permission denied (os error 13)"#,
        Some("`--grant rust`"),
    ),
    (
        r#"error: failed to write /srv/p/Cargo.lock

Caused by:
  failed to open: /srv/p/Cargo.lock

Caused by:
  Permission denied (os error 13)"#,
        Some("`--write /srv/p/Cargo.lock`"),
    ),
    (
        r#"open /root/.config/go/telemetry/new: permission denied"#,
        Some(
            "`--write /root/.config/go/telemetry/new` once it exists (`mkdir -p`, or an empty file), or `--write /root/.config/go/telemetry`",
        ),
    ),
    (r#"listen tcp 127.0.0.1:8080: socket: operation not permitted"#, Some(LISTENING)),
    (r#"cat: socket.txt: Permission denied"#, Some(ANY)),
    (r#"socket: Operation not permitted"#, Some(NETWORK)),
    (r#"cat: /srv/x: No such file or directory"#, None),
    (r#"denied"#, None),
    (r#""#, None),
];

#[test]
fn of_the_failures_of_real_tools_the_hint_names_what_was_refused() {
    assert!(FAILURES.len() >= 30);
    for (output, grant) in FAILURES {
        check(STRICT, output, *grant);
        // In front of and behind what else is printed, too.
        check(STRICT, &format!("> build\n\n{output}\n\nnpm notice\n"), *grant);
    }
}

#[cfg(unix)]
const ELSEWHERE: &str = "settings outside of the project (`allowexec init --to DIR`)";

/// The errors of real tools that name a path relative to their directory, and the path.
#[cfg(unix)]
const RELATIVE: &[(&str, &str)] = &[
    ("touch: cannot touch 'new.txt': Permission denied", "new.txt"),
    ("touch: cannot touch './new.txt': Permission denied", "new.txt"),
    ("mkdir: cannot create directory ‘a/new’: Permission denied", "a/new"),
    ("/bin/sh: 1: cannot create new.txt: Permission denied", "new.txt"),
    ("bash: line 1: new.txt: Permission denied", "new.txt"),
    ("tar: new.tar: Cannot open: Permission denied\ntar: Error is not recoverable: exiting now", "new.tar"),
    ("mv: cannot create regular file 'new.txt': Permission denied", "new.txt"),
    ("cc1: fatal error: opening output file new.o: Permission denied", "new.o"),
    ("PermissionError: [Errno 13] Permission denied: 'new'", "new"),
    (
        "Traceback (most recent call last):\n  File \"/srv/run.py\", line 1, in <module>\n    os.mkdir('new')\n\
         PermissionError: [Errno 13] Permission denied: 'new'",
        "new",
    ),
    ("E       PermissionError: [Errno 13] Permission denied: 'a/new'", "a/new"),
    ("Error: EACCES: permission denied, mkdir 'new'", "new"),
    ("Error: EACCES: permission denied, open 'new.js'", "new.js"),
    ("open new.out: permission denied", "new.out"),
    ("go: open new.sum: permission denied", "new.sum"),
    ("fatal: could not create work tree dir 'new': Permission denied", "new"),
    ("cp: cannot create regular file 'new file': Permission denied", "new file"),
];

#[test]
#[cfg(unix)]
fn a_relative_path_is_taken_from_the_commands_directory() {
    let settled = Fake { directory: Some("/srv/settled"), ..STRICT };
    let other = Fake { directory: Some("/srv/other"), ..STRICT };
    for (output, path) in RELATIVE {
        let missing = "once it exists (`mkdir -p`, or an empty file), or";
        let deep = if *path == "a/new" { "/srv/other/a" } else { "/srv/other" };
        check(other, output, Some(&format!("`--write /srv/other/{path}` {missing} `--write {deep}`")));
        check(settled, output, Some(&format!("`--write /srv/settled/{path}` {missing} {ELSEWHERE}")));
        // It is written anyway.
        let said = hint_of(output, &Fake { directory: Some("/srv/project"), ..STRICT });
        assert!(!said.is_some_and(|said| said.contains("/srv/project")), "{output}");
    }
    // What is made anew, replaced or removed is a matter of the directory.
    for output in [
        "sed: couldn't open temporary file ./sedwnYAnk: Permission denied",
        "perl: Can't create temporary file ./newXYZ: Permission denied",
        "rm: cannot remove 'README.md': Permission denied",
        "mv: cannot move 'a.py' to 'b.py': Permission denied",
        "error: unable to unlink old 'README.md': Permission denied",
    ] {
        check(other, output, Some("`--write /srv/other`"));
        check(settled, output, Some(ELSEWHERE));
    }
    check(other, "cat: data.csv: Permission denied", Some("`--read /srv/other/data.csv`"));
    // These name none.
    for output in [
        "cat: ../data.csv: Permission denied",
        "PermissionError: [Errno 13] Permission denied",
        "mkdir: Permission denied",
        "npm error code EPERM",
        "git@example.com: Permission denied (publickey).",
        "/usr/lib/ruby/3.1.0/fileutils.rb:243:in `mkdir': Permission denied",
    ] {
        let said = hint_of(output, &settled).unwrap_or_default();
        assert!(!said.contains("/srv/settled") && said.ends_with(&format!(", or {ELSEWHERE}")), "{output}: {said}");
    }
}

#[test]
#[cfg(unix)]
fn where_a_file_or_a_variable_lists_the_grants_the_flag_that_would_replace_them_is_not_named() {
    let file = Fake { listed: ListedIn::File, directory: Some("/srv/settled"), ..STRICT };
    let variable = Fake { listed: ListedIn::Variable("ALLOWEXEC_X"), ..STRICT };
    for (output, in_file) in [
        ("cat: /srv/data.csv: Permission denied", "`/srv/data.csv` to `read:` in the configuration file".to_owned()),
        ("sh: 1: /opt/tool: Permission denied", "`/opt/tool` to `exec:` in the configuration file".to_owned()),
        (
            "touch: cannot touch '/etc/new': Permission denied",
            "`/etc/new` once it exists (`mkdir -p`, or an empty file), or `/etc` to `write:` in the configuration file"
                .to_owned(),
        ),
        (
            "touch: cannot touch 'x': Permission denied",
            format!("`/srv/settled/x` to `write:` in the configuration file, or {ELSEWHERE}"),
        ),
        (
            "npm error code EPERM",
            format!(
                "the path that is needed to `read:`, `write:` or `exec:` in the configuration file, or {ELSEWHERE}"
            ),
        ),
        (
            "warning: unable to access '/root/.gitconfig': Permission denied",
            "`git` to `grant:` in the configuration file".to_owned(),
        ),
    ] {
        check(file, output, Some(&in_file));
        let said = hint_of(output, &variable).unwrap_or_default();
        assert!(!said.contains("`--") && said.contains("to `ALLOWEXEC_X`"), "{output}: {said}");
    }
}

#[test]
fn what_is_granted_already_is_never_named() {
    let online = Fake { network: NetworkGrant::None, ..STRICT };
    for (output, grant) in FAILURES {
        let said = hint_of(output, &online).unwrap_or_default();
        assert!(!said.contains("--network"), "{output}\n{said}");
        if !grant.is_some_and(|grant| grant == NETWORK || grant == LISTENING) {
            check(online, output, *grant);
        }
    }
    for granted in [
        "cat: /usr/share/x: Permission denied",
        "cp: cannot create regular file '/srv/project/x': Permission denied",
        "sh: 1: /srv/project/run: Permission denied",
    ] {
        check(STRICT, granted, None);
    }
}

#[test]
fn what_can_be_read_anyway_was_to_be_written() {
    for (output, grant) in [
        ("Error: EACCES: permission denied, open '/usr/lib/x.txt'", Some("`--write /usr/lib/x.txt`")),
        (
            "    at Module._load (node:1)\n  errno: -13,\n  code: 'EACCES',\n  syscall: 'open',\n  path: '/usr/lib/x.conf'\n}",
            Some("`--write /usr/lib/x.conf`"),
        ),
        ("IOError: could not open '/usr/lib/x.txt': Permission denied", Some("`--write /usr/lib/x.txt`")),
        // The ordinary permissions keep it from being read.
        ("Error: EACCES: permission denied, open '/usr/lib/x.key1'", None),
        // It is written anyway.
        ("Error: EACCES: permission denied, open '/srv/project/x.txt'", None),
    ] {
        check(STRICT, output, grant);
    }
}

#[test]
fn the_file_of_a_redirection_is_named_with_what_helps() {
    let missing = "once it exists (`mkdir -p`, or an empty file), or";
    let elsewhere = "settings outside of the project (`allowexec init --to DIR`)";
    for (file, grant) in [
        ("/srv/settled/new.md", Some(format!("`--write /srv/settled/new.md` {missing} {elsewhere}"))),
        ("/srv/settled/x.txt", Some(format!("`--write /srv/settled/x.txt`, or {elsewhere}"))),
        ("/srv/other/new.md", Some(format!("`--write /srv/other/new.md` {missing} `--write /srv/other`"))),
        ("/srv/project/x.txt", None),
    ] {
        let expected = grant.map(|grant| sentence(&grant));
        assert_eq!(hint_of_file(file, &STRICT), expected, "{file}");
    }
}

#[test]
fn a_rule_that_takes_something_is_named() {
    let rule = Fake { network: NetworkGrant::OfRule(Given::Nothing), writes_nothing: true, ..STRICT };
    let network = Some("`network: full` to the `sandbox` of its rule");
    check(rule, "curl: (6) Could not resolve host: example.com", network);
    let listening = Some("`network: loopback`, or `network: full` for other machines, to the `sandbox` of its rule");
    check(rule, "Error: listen EACCES: permission denied 0.0.0.0:3000", listening);
    // A loopback that it has does not help.
    for (network, grant) in [
        (NetworkGrant::OfServer(Given::Loopback), NETWORK),
        (NetworkGrant::OfRule(Given::Loopback), "`network: full` to the `sandbox` of its rule"),
    ] {
        let has_loopback = Fake { network, ..STRICT };
        check(has_loopback, "Error: listen EACCES: permission denied 0.0.0.0:3000", Some(grant));
        check(has_loopback, "curl: (6) Could not resolve host: example.com", Some(grant));
    }
    let ports = Fake { network: NetworkGrant::OfServer(Given::Ports), ..STRICT };
    check(
        ports,
        "Error: listen EACCES: permission denied 0.0.0.0:3000",
        Some("its port to `--network`, or `--network full`"),
    );
    let ports = Fake { network: NetworkGrant::OfRule(Given::Ports), ..STRICT };
    let network = Some("its port, or `network: full`, to the `sandbox` of its rule");
    check(ports, "PermissionError: [Errno 13] Permission denied: connect", network);
    for path in ["/srv/project/new", "/etc/new", "new"] {
        let touch = format!("touch: cannot touch '{path}': Permission denied");
        check(rule, &touch, Some("`write: full` to the `sandbox` of its rule"));
    }
    check(rule, "cat: /srv/x: Permission denied", Some("`--read /srv/x`"));
}

#[test]
fn a_place_of_secrets_is_never_named() {
    for path in [
        "/root/.ssh/id_ed25519",
        "/home/me/.aws/credentials",
        "/home/me/.gnupg/x",
        "/home/me/.netrc",
        "/etc/shadow",
        "/home/me/.config/gcloud/x",
        "/home/me/.local/share/keyrings/login",
        "/home/me/.kube/config",
        "/srv/tls.key",
        "/home/me/.git-credentials",
        "/home/me/.docker/config.json",
        "/home/me/.cargo/credentials.toml",
    ] {
        for error in
            [format!("cat: {path}: Permission denied"), format!("touch: cannot touch '{path}': Permission denied")]
        {
            let said = hint_of(&error, &STRICT).unwrap_or_default();
            assert!(!said.contains(path) && !said.contains("--"), "{said}");
        }
    }
}

#[test]
fn a_hint_stays_short_whatever_was_printed() {
    let long = format!("cat: /srv/{}: Permission denied", "é".repeat(10_000));
    assert!(hint_of(&long, &STRICT).is_some_and(|hint| hint.len() < LONGEST + 200));
    let denial = "cat: /srv/x: Permission denied\n";
    assert_eq!(hint_of(&format!("{denial}{}", "é\n".repeat(LOOKED_AT)), &STRICT), None);
    assert!(hint_of(&format!("{}{denial}", "é\n".repeat(LOOKED_AT)), &STRICT).is_some());
}

#[test]
fn cargo_that_finds_no_repository_needs_the_settings_of_git() {
    let said = "error: no VCS found for this package and `cargo fix` can potentially perform destructive changes; if you'd like to \
                suppress this error pass `--allow-no-vcs`\n";
    assert_eq!(hint_of(said, &STRICT), Some(format!("{OF_REPOSITORY}`--read ~/.gitconfig`")));
    // What was refused by its path says more.
    let denial = format!("{said}cat: /srv/x: Permission denied\n");
    assert!(hint_of(&denial, &STRICT).is_some_and(|hint| hint.contains("/srv/x")));
    assert_eq!(hint_of("error: no VCS\n", &STRICT), None);
}
