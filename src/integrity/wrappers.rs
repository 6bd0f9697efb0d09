//! Programs that start other programs or run code. Allowing one allows all that it can start, so the operator is warned.

/// Why a name on the allow-list deserves a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Runs code from its arguments or its input.
    Interpreter,
    /// Starts programs that its arguments, options or configuration name.
    Wrapper,
}

impl Reach {
    /// What allowing the program means, as the end of a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Interpreter => "runs any code that a call gives it, so allowing it allows everything",
            Self::Wrapper => "can start other programs by its own options, so allowing it allows them too",
        }
    }
}

const INTERPRETERS: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "bun",
    "busybox",
    "cmd",
    "csh",
    "dash",
    "deno",
    "ed",
    "emacs",
    "expect",
    "fish",
    "gawk",
    "gdb",
    "ghci",
    "irb",
    "java",
    "jshell",
    "julia",
    "ksh",
    "lua",
    "luajit",
    "m4",
    "mawk",
    "nawk",
    "node",
    "nodejs",
    "osascript",
    "perl",
    "php",
    "pip",
    "pip3",
    "powershell",
    "psql",
    "pwsh",
    "pypy3",
    "python",
    "python2",
    "python3",
    "R",
    "rbash",
    "Rscript",
    "ruby",
    "sed",
    "sh",
    "sqlite3",
    "tcsh",
    "tclsh",
    "toybox",
    "ts-node",
    "tsx",
    "vi",
    "vim",
    "zsh",
];

const WRAPPERS: &[&str] = &[
    "ansible",
    "at",
    "batch",
    "bundle",
    "bunx",
    "busctl",
    "bwrap",
    "capsh",
    "cargo",
    "choom",
    "chroot",
    "chrt",
    "cmake",
    "composer",
    "cpio",
    "cpulimit",
    "crontab",
    "dbus-run-session",
    "doas",
    "docker",
    "dotnet",
    "dpkg-architecture",
    "env",
    "fakeroot",
    "fd",
    "find",
    "firejail",
    "flock",
    "gem",
    "gh",
    "git",
    "go",
    "gpg-agent",
    "gradle",
    "hyperfine",
    "ionice",
    "just",
    "kubectl",
    "ld.so",
    "less",
    "linux32",
    "linux64",
    "ltrace",
    "make",
    "man",
    "more",
    "mvn",
    "nc",
    "ncat",
    "nice",
    "ninja",
    "nix-shell",
    "nohup",
    "npm",
    "npx",
    "nsenter",
    "numactl",
    "openssl",
    "parallel",
    "perf",
    "pipx",
    "pkexec",
    "pnpm",
    "podman",
    "poetry",
    "prlimit",
    "rake",
    "rg",
    "rsync",
    "run-parts",
    "runcon",
    "runuser",
    "rustup",
    "scp",
    "script",
    "scriptlive",
    "sem",
    "service",
    "setarch",
    "setpriv",
    "setsid",
    "sftp",
    "sg",
    "socat",
    "sort",
    "split",
    "ssh",
    "ssh-agent",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemctl",
    "systemd-run",
    "tar",
    "taskset",
    "tee",
    "telnet",
    "time",
    "timeout",
    "tmux",
    "tox",
    "uclampset",
    "unshare",
    "uv",
    "uvx",
    "valgrind",
    "watch",
    "wget",
    "wine",
    "xargs",
    "xdg-open",
    "xvfb-run",
    "yarn",
    "zip",
];

/// Looks up what else allowing `entry` (a name or a path) allows; `None` if nothing is known.
///
/// This only helps operators. A program that is missing here is not therefore harmless.
pub fn reach_of(entry: &str) -> Option<Reach> {
    let name = entry.rsplit(['/', '\\']).next().unwrap_or(entry);
    let lower = name.to_ascii_lowercase();
    let name = if cfg!(windows) { lower.as_str() } else { name };
    let name = [".exe", ".com", ".bat", ".cmd"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    // The loader of ELF files starts the one that its arguments name.
    if name.starts_with("ld-linux") || name.starts_with("ld-musl") {
        return Some(Reach::Wrapper);
    }
    // `python3.11` and `perl5.36` count as their names without the version.
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let listed = |list: &[&str]| list.contains(&name) || (!unversioned.is_empty() && list.contains(&unversioned));
    if listed(INTERPRETERS) {
        Some(Reach::Interpreter)
    } else if listed(WRAPPERS) {
        Some(Reach::Wrapper)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_and_wrappers_are_known_by_name_path_and_version() {
        assert_eq!(reach_of("python3.11"), Some(Reach::Interpreter));
        assert_eq!(reach_of("/usr/bin/bash"), Some(Reach::Interpreter));
        assert_eq!(reach_of("find"), Some(Reach::Wrapper));
        assert_eq!(reach_of("git"), Some(Reach::Wrapper));
        assert_eq!(reach_of("/lib64/ld-linux-x86-64.so.2"), Some(Reach::Wrapper));
        assert_eq!(reach_of("ls"), None);
        assert_eq!(reach_of("7"), None);
    }
}
