//! The hint for a model if the sandbox has probably refused something: the grant that the operator would have to add, as
//! far as the command's own error message says what the command wanted.

use super::report::NetworkGrant;
use crate::sandbox::Preset;

/// The longest path that a hint repeats, in bytes.
const LONGEST: usize = 256;
/// How many lines above the error are searched for a path: some programs name the file first and the error below.
const ABOVE: usize = 3;
/// How many bytes at the end of the output are searched: a program that fails prints its error last.
const LOOKED_AT: usize = 16 * 1024;

/// The hint for a confined command that failed and printed this; `None` if nothing in it looks like a refusal. Without
/// a network, what looks like a failing one is the sandbox's refusal, too.
pub(super) fn hint(stderr: &str, network: NetworkGrant) -> Option<String> {
    let mut start = stderr.len().saturating_sub(LOOKED_AT);
    while !stderr.is_char_boundary(start) {
        start += 1;
    }
    let lines: Vec<&str> = stderr.get(start..)?.lines().collect();
    let denied: Vec<usize> =
        (0..lines.len()).filter(|&place| lines.get(place).is_some_and(|line| is_denial(line))).collect();
    // A failure after the last refusal is the one that ended the command.
    let failure = lines.iter().rposition(|line| fails_to_connect(line)).filter(|_| network != NetworkGrant::None);
    if failure.is_some_and(|failure| denied.last().is_none_or(|last| *last < failure)) {
        return Some(sentence(of_network(network)));
    }
    // The words around a path say what was to be done with it; words inside the path say nothing about that. Frames of a traceback
    // name code.
    let of_line = |place: usize| {
        let around = (place.saturating_sub(ABOVE)..=place).rev();
        around.filter_map(|place| lines.get(place)).filter(|line| !is_frame(line)).find_map(|line| {
            let path = path_in(line)?;
            Some((line.split_once(path)?, path))
        })
    };
    let without_path = |place: usize| {
        let line = lines.get(place).copied().unwrap_or_default();
        path_in(line).filter(|path| !path.starts_with("/dev/")).map_or(line.to_owned(), |path| line.replace(path, ""))
    };
    let is_in_socket = |place: usize| {
        let is_without_path = lines.get(place).is_some_and(|line| path_in(line).is_none());
        is_without_path && traceback(&lines, place).iter().any(|line| is_frame(line) && line.contains("/socket.py\""))
    };
    if denied.iter().any(|&place| is_of_network(&without_path(place)) || is_in_socket(place)) {
        return Some(sentence(of_network(network)));
    }
    let Some((place, ((before, behind), path))) = denied.iter().find_map(|&place| Some((place, of_line(place)?)))
    else {
        let grants =
            if is_write(lines.get(*denied.first()?)?) { "`--write`" } else { "`--read`, `--write` or `--exec`" };
        return Some(sentence(&format!("{grants} of the path that is needed")));
    };
    // Another line about the same path may say more: cargo fails to write a file, because it failed to open it. Python's
    // error says only which path, and the traceback what for.
    let traceback = traceback(&lines, place);
    let is_write = is_write(before)
        || lines.iter().any(|line| line.contains(path) && is_write(&line.replace(path, "")))
        || traceback.iter().any(|line| is_written_by(line));
    let is_started = traceback.iter().any(|line| is_frame(line) && line.contains("/subprocess.py\""));
    if let Some(preset) = Preset::ALL.into_iter().find(|preset| !is_write && concerns(*preset, path)) {
        return Some(sentence(&format!("`--grant {}`", preset.name())));
    }
    let flag = match (is_write, is_started || is_execution(before, behind)) {
        (true, _) => "write",
        (false, true) => "exec",
        (false, false) => "read",
    };
    // A path that was cut would not be a valid grant.
    let path = if path.len() > LONGEST { "PATH" } else { path };
    Some(sentence(&format!("`--{flag} {path}`")))
}

fn of_network(network: NetworkGrant) -> &'static str {
    match network {
        NetworkGrant::None | NetworkGrant::OfServer => "`--network full`",
        NetworkGrant::OfRule => "`network: full` to the `sandbox` of its rule",
    }
}

fn sentence(grant: &str) -> String {
    format!(
        "the sandbox has probably refused this; work inside the allowed directories, or ask the operator to add {grant}"
    )
}

/// Whether a line is one of a Python traceback: where the code stands that was running.
fn is_frame(line: &str) -> bool {
    line.trim_start().starts_with("File \"") && line.contains("\", line ")
}

/// The lines of the traceback that ends in front of this one.
fn traceback<'a>(lines: &'a [&'a str], end: usize) -> &'a [&'a str] {
    let above = lines.get(..end).unwrap_or_default();
    let start = above.iter().rposition(|line| !line.starts_with("  ")).map_or(0, |other| other + 1);
    above.get(start..).unwrap_or_default()
}

/// Whether a line of a traceback opens a file to write it, or calls what changes one.
fn is_written_by(line: &str) -> bool {
    let calls = ["mkdir", "makedirs", "write_text", "write_bytes", "unlink", "rename", "rmdir", "os.remove"];
    let modes =
        ["'w", "\"w", "'a", "\"a", "'x", "\"x"].iter().any(|mode| line.contains("open(") && line.contains(mode));
    modes || calls.iter().any(|call| line.contains(call))
}

/// Whether a line says that another machine could not be found or reached.
fn fails_to_connect(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    [
        "resolve host",
        "name resolution",
        "failure resolving",
        "name or service not known",
        "no such host",
        "eai_again",
        "enotfound",
        "couldn't connect",
        "failed to connect",
        "network is unreachable",
    ]
    .iter()
    .any(|words| line.contains(words))
}

fn is_denial(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["permission denied", "operation not permitted", "eacces", "eperm"].iter().any(|words| line.contains(words))
}

fn is_of_network(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["socket", "connect", "network", "resolve", "/dev/tcp/"].iter().any(|words| line.contains(words))
}

fn is_write(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["create", "write", "writing", "mkdir", "touch", "unlink", "remove", "rename", "delete", "truncate"]
        .iter()
        .any(|words| line.contains(words))
}

/// Whether a program could not be started: shells print only the path, and other programs mention executing or spawning.
fn is_execution(before: &str, behind: &str) -> bool {
    let before = before.to_ascii_lowercase();
    let is_shells = ["sh: ", "bash: ", "dash: "].iter().any(|shell| before.starts_with(shell));
    let says_more = before.contains("open") || behind.to_ascii_lowercase().contains("directory");
    (is_shells && !says_more) || ["exec", "spawn", "cannot run"].iter().any(|words| before.contains(words))
}

/// The absolute path that a line names: the last one in quotes, else the last word that begins with `/`.
fn path_in(line: &str) -> Option<&str> {
    let mut quoted = line.match_indices(['\'', '"', '`', '‘']).filter_map(|(place, quote)| {
        let inner = line.get(place + quote.len()..)?;
        let end = inner.find(if quote == "‘" { "’" } else { quote })?;
        inner.get(..end).filter(|inner| inner.starts_with('/'))
    });
    let is_path = |word: &&str| word.starts_with('/') && word.len() > 1;
    let words = line.split([' ', '\t', '(', ')', '[', ']', '\'', '"', '`', ',', ';']);
    let mut words = words.map(|word| word.trim_end_matches([':', '.'])).filter(is_path);
    quoted.rfind(is_path).or(words.next_back())
}

/// Whether the path is in some home directory, at a place that the preset grants.
fn concerns(preset: Preset, path: &str) -> bool {
    let mut granted = preset.read().iter().chain(preset.executed());
    granted.any(|granted| {
        let behind =
            path.match_indices(granted).find(|(place, _)| path.get(..*place).is_some_and(|head| head.ends_with('/')));
        behind.is_some_and(|(place, _)| {
            path.get(place + granted.len()..).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stderr: &str, grant: Option<&str>) {
        assert_eq!(hint(stderr, NetworkGrant::None), grant.map(sentence), "{stderr}");
    }

    #[test]
    fn a_network_that_the_sandbox_refuses_is_named_whatever_the_program_says() {
        for (stderr, is_named) in [
            ("curl: (6) Could not resolve host: example.com\n", true),
            ("curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server\n", true),
            ("fatal: unable to access 'http://127.0.0.1:9/x/': Failed to connect to 127.0.0.1 port 9", true),
            ("ssh: Could not resolve hostname a: Temporary failure in name resolution\r\n", true),
            ("socket.gaierror: [Errno -3] Temporary failure in name resolution\n", true),
            ("npm error code EAI_AGAIN\nnpm error request to https://registry.npmjs.org/x failed\n", true),
            (
                "warning: unable to access '/root/.gitconfig': Permission denied\nfatal: Could not resolve host: a\n",
                true,
            ),
            ("cat: a: No such file or directory\n", false),
        ] {
            assert_eq!(
                hint(stderr, NetworkGrant::OfServer),
                is_named.then(|| sentence("`--network full`")),
                "{stderr}"
            );
        }
        let of_rule = hint("curl: (6) Could not resolve host: example.com\n", NetworkGrant::OfRule);
        assert_eq!(of_rule, Some(sentence("`network: full` to the `sandbox` of its rule")));
        // With a network it is a failure like others.
        assert_eq!(hint("curl: (6) Could not resolve host: example.com\n", NetworkGrant::None), None);
        // What ends the command is refused behind it.
        let then_denied = "curl: (6) Could not resolve host: a\ncat: /srv/x: Permission denied\n";
        assert_eq!(hint(then_denied, NetworkGrant::OfServer), Some(sentence("`--read /srv/x`")));
    }

    #[test]
    fn a_traceback_of_python_says_what_was_refused_and_not_where_the_code_stands() {
        let library = "/usr/lib/python3.11";
        let begin = "Traceback (most recent call last):\n  File \"/srv/run.py\", line 1, in <module>\n";
        for (frames, error, grant) in [
            (
                format!(
                    "  File \"{library}/socket.py\", line 232, in __init__\n    _socket.socket.__init__(self, family)\n"
                ),
                "PermissionError: [Errno 13] Permission denied",
                "`--network full`",
            ),
            (
                format!(
                    "  File \"{library}/subprocess.py\", line 1901, in _execute_child\n    raise child_exception\n"
                ),
                "PermissionError: [Errno 13] Permission denied: '/usr/bin/id'",
                "`--exec /usr/bin/id`",
            ),
            (
                format!(
                    "  File \"{library}/shutil.py\", line 258, in copyfile\n    with open(dst, 'wb') as fdst:\n         ^^^\n"
                ),
                "PermissionError: [Errno 13] Permission denied: '/etc/q'",
                "`--write /etc/q`",
            ),
            (
                format!("  File \"{library}/pathlib.py\", line 1045, in open\n    return io.open(self, mode)\n"),
                "PermissionError: [Errno 13] Permission denied: '/srv/data'",
                "`--read /srv/data`",
            ),
            (
                String::new(),
                "PermissionError: [Errno 1] Operation not permitted",
                "`--read`, `--write` or `--exec` of the path that is needed",
            ),
        ] {
            check(&format!("{begin}{frames}{error}\n"), Some(grant));
        }
    }

    #[test]
    fn the_grant_is_read_off_what_the_program_says() {
        for (stderr, grant) in [
            ("cat: /srv/data.csv: Permission denied\n", "`--read /srv/data.csv`"),
            ("ls: cannot open directory '/srv/my data': Permission denied\n", "`--read /srv/my data`"),
            ("sh: 1: cannot create /etc/x: Permission denied\n", "`--write /etc/x`"),
            ("mkdir: cannot create directory ‘/srv/x’: Permission denied\n", "`--write /srv/x`"),
            ("sh: 1: /usr/bin/touch: Permission denied\n", "`--exec /usr/bin/touch`"),
            ("bash: line 1: /opt/tool: Operation not permitted", "`--exec /opt/tool`"),
            ("PermissionError: [Errno 13] Permission denied: '/srv/x.py'", "`--read /srv/x.py`"),
            ("Error: EACCES: permission denied, open '/home/me/.npmrc'", "`--grant node`"),
            ("warning: unable to access '/root/.config/git/attributes': Permission denied", "`--grant git`"),
            ("warning: unable to access '/root/.gitconfig': Permission denied\nfatal: unknown error", "`--grant git`"),
            (
                "error: could not read `/h/.cargo/config.toml`\n\nCaused by:\n  Permission denied (os error 13)",
                "`--grant rust`",
            ),
            (
                "error: failed to write /p/Cargo.lock\n\nCaused by:\n  failed to open: /p/Cargo.lock\n\nCaused by:\n  \
                 Permission denied (os error 13)",
                "`--write /p/Cargo.lock`",
            ),
            ("socket: Operation not permitted\n", "`--network full`"),
            ("curl: (7) Couldn't connect to server: Permission denied", "`--network full`"),
            ("cat: /srv/socket.txt: Permission denied", "`--read /srv/socket.txt`"),
            ("bash: /dev/tcp/127.0.0.1/80: Operation not permitted", "`--network full`"),
            ("touch: permission denied", "`--write` of the path that is needed"),
            ("npm error EPERM", "`--read`, `--write` or `--exec` of the path that is needed"),
            // A preset never lets commands write.
            (
                "mkdir: cannot create directory '/root/.npm/_cacache': Permission denied",
                "`--write /root/.npm/_cacache`",
            ),
            // The name of a file that only looks like one of a preset's.
            ("cat: /srv/x.gitconfig: Permission denied", "`--read /srv/x.gitconfig`"),
            ("cat: /root/.gitconfig.bak: Permission denied", "`--read /root/.gitconfig.bak`"),
        ] {
            check(stderr, Some(grant));
        }
        for nothing in ["", "cat: /srv/x: No such file or directory", "denied"] {
            check(nothing, None);
        }
    }

    #[test]
    fn a_hint_stays_short_whatever_was_printed() {
        let long = format!("cat: /{}: Permission denied", "é".repeat(10_000));
        assert!(hint(&long, NetworkGrant::OfServer).is_some_and(|hint| hint.len() < LONGEST + 200));
        let denial = "cat: /srv/x: Permission denied\n";
        assert_eq!(hint(&format!("{denial}{}", "é\n".repeat(LOOKED_AT)), NetworkGrant::OfServer), None);
        assert!(hint(&format!("{}{denial}", "é\n".repeat(LOOKED_AT)), NetworkGrant::OfServer).is_some());
    }
}
