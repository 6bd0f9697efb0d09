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
    /// Describes the effect of allowing the program, as the end of a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Interpreter => "runs any code that a call gives it, so allowing it allows everything",
            Self::Wrapper => "can start other programs by its own options, so allowing it allows them too",
        }
    }
}

const INTERPRETERS: &str = "\
    amm ash awk bash bpython bun busybox clisp clj clojure cmd coffee crystal cscript csh csi dart dash dc deno ed \
    elixir elvish emacs emacs-gtk emacs-nox emacsclient erl escript ex expect fennel fish gawk gdb ghc ghci \
    gnuplot gosh graalpy groovy groovysh gsed gsi guile gview gvim helix hx hy iex ipython ipython3 irb janet java \
    jdb jed jjs joe jruby jrunscript jshell julia jython kak kotlin kotlinc ksh lldb lua luajit m4 mariadb mawk \
    micro micropython mksh mongo mongosh mshta mysql nano nawk ne node nodejs nu nvim ocaml octave oksh osascript \
    osh pdb pdksh perl php pico pip pip3 posh powershell pry psql ptpython pwsh py pypy pypy3 python python2 \
    python3 R racket raku rbash rc red rlang Rscript ruby runghc rust-script rview rvim sash sbcl scala scheme \
    scsh sed sh sqlite3 swift tclsh tcsh texlua toybox ts-node tsx vi view vim vim.basic vim.gtk vim.gtk3 vim.nox \
    vim.tiny vimdiff vimx wish wscript wsl xonsh yash zsh";

const WRAPPERS: &str = "\
    abduco alacritty ansible apt apt-get aptitude aria2c asdf at batch bazel bazelisk bsdtar bundle bunx busctl \
    bwrap byobu c++ capsh cargo catchsegv cc ccache choom chpst chroot chrt clang clang++ cmake cmake3 composer \
    conda corepack cpan cpio cpulimit crontab csvtool ctest cvs daemonize dbus-run-session direnv distcc dnf doas \
    docker dotnet dpkg dpkg-architecture dtach dumb-init eatmydata entr env envdir exim4 fakeroot faketime fd \
    fdfind find firejail flatpak flock fossil ftp fzf g++ gcc gcore gdbserver gem genv gfind gh git glab gmake \
    gnice gnohup gnumake go gosu gpg gpg-agent gradle gsort gsplit gstdbuf gtar gtimeout gxargs hatch helm hg hub \
    husky hyperfine i386 inv invoke ionice jj just kitty knife konsole kubectl latexmk ld.so lerna less lftp \
    linux32 linux64 logrotate logsave ltrace mail mailx make mamba man mercurial meson micromamba mise more mosh \
    multitime mutt mvn nc nc.openbsd nc.traditional ncat netcat nice ninja nix nix-build nix-env nix-shell nmap \
    nodemon nohup nox npm npx nsenter numactl nx openssl openvpn parallel pdm perf pipenv pipx pkexec pm2 pnpm \
    pnpx podman poetry pre-commit prlimit proot proxychains proxychains4 psftp pssh pyenv rake rbenv rexec rg \
    rlwrap rpm rpmbuild rr rsh rsync run-mailcap run-parts runcon runuser rustup rye sccache scons scp screen \
    script scriptlive sem sendmail service setarch setlock setpriv setsid sftp sg socat sort split ssh ssh-agent \
    sshfs sshpass start-stop-daemon stdbuf strace su su-exec sudo svn systemctl systemd-run tar task taskset \
    tcpdump tee telnet terraform time timeout tini tmate tmux tofu torify torsocks tox trickle tshark tsocks turbo \
    uclampset unbuffer unshare uv uvx vagrant valgrind w3m watch watchexec watchman wezterm wget wine \
    x-terminal-emulator x86_64 xargs xdg-open xdotool xterm xvfb-run yarn yt-dlp yum zellij zip zypper";

/// All names of interpreters and wrappers.
pub(super) fn known_names() -> impl Iterator<Item = &'static str> {
    INTERPRETERS.split(' ').chain(WRAPPERS.split(' '))
}

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
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let listed =
        |list: &str| list.split(' ').any(|known| known == name || (known == unversioned && !unversioned.is_empty()));
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
        assert_eq!(reach_of("gawk-5.2"), Some(Reach::Interpreter));
        for name in ["pypy", "ipython", "nodejs", "nvim", "ex", "lldb", "vim.tiny"] {
            assert_eq!(reach_of(name), Some(Reach::Interpreter), "{name}");
        }
        for name in ["fdfind", "gmake", "screen", "hg", "pnpx", "g++", "gcc-12", "x-terminal-emulator"] {
            assert_eq!(reach_of(name), Some(Reach::Wrapper), "{name}");
        }
        assert_eq!(reach_of("find"), Some(Reach::Wrapper));
        assert_eq!(reach_of("git"), Some(Reach::Wrapper));
        assert_eq!(reach_of("/lib64/ld-linux-x86-64.so.2"), Some(Reach::Wrapper));
        assert_eq!(reach_of("ls"), None);
        assert_eq!(reach_of("7"), None);
    }
}
