//! Programs that start other programs or run code. Allowing one allows all that it can start, so the operator is warned.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::iter;
use std::sync::{LazyLock, OnceLock};

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
    abcl alisp amm ansible-console applescript ash awk babashka bash bb bigloo bpftrace bprolog bpython bpython3 BQN \
    bqn brexx brython bun busybox bvi byebug casperjs cbqn ccl ccl64 ceylon cgdb chez chezscheme chibi-scheme \
    chicken-csi circuitpython cjs clickhouse clickhouse-client clickhouse-local clisp clj clojure clojure-clj cmd \
    cmucl coffee command.com coqtop crash crystal cscript csh csharp csi csx d8 dart dartaotruntime dash dbx dc ddd \
    deno dgsh dotnet-fsi dotnet-script dtrace duckdb duk dyalog ecl ed editor elixir elvis elvish emacs emacs-gtk \
    emacs-lucid emacs-nativecomp emacs-nox emacs-pgtk emacsclient eptex erl escript etex euporie euptex evcxr eview \
    evim ex expect expectk fennel fish frankenphp frawk freemat frege fricas fsharpi fsi gambit gameconqueror gawk gcl \
    gdb gdb-multiarch gdbtui gforth ghc ghci ghostscript ginsh gjs gjs-console gnu-apl gnu-smalltalk gnuplot \
    gnuplot-nox gnuplot-qt gnuplot-x11 goawk gomacro gore gorun gosh gprolog graalpy groff-pic groovy groovyConsole \
    groovysh gs gsc gsed gsi gst guile gview gvim gvimdiff gvpr gwsh gxi helix hhvm hugs hush hx hy icont icr idle \
    idle3 iex ijconsole iojs ioke ipdb ipython ipython3 irb isql isql-fb itclsh janet java jawk jbang jdb jed jimsh \
    jirb jjs jmacs joe joker jove jpico jruby jrunscript js jsc jshell jstar jtag julia jupyter jupyter-console jxa \
    jython kak kakoune kawa kotlin kotlin-repl kotlinc ksh ksql latex litecli lksh lldb lldb-server llrt lua luahbtex \
    luajit luajittex lualatex luatex luau lumo lune lvim lx86cl lx86cl64 m4 macaulay2 mariadb marimo mawk maxima mg \
    micro micropython mirb mit-scheme mksh mojo mongo mongosh mono mono-sgen moon moonrun mruby mshta mtxrun mujs \
    murex mview mvim mycli mysql mzscheme nano nawk nbb ne nelua neovide newlisp ngn-k ngnk nim njs node nodejs nu nvi \
    nvim nvim-qt nvimdiff ocaml ocamlrun ocamlscript octave octave-cli oksh oorexx openocd original-awk osacompile \
    osascript osh pdb pdb3 pdflatex pdftex pdksh perl perldb petite pforth pgcli phantomjs pharo php php-cgi php-cli \
    php-fpm phpdbg pico picolisp pike pil pip pip3 planck platex posh posix-awk powershell powershell-preview \
    powershell_ise pry psql psysh ptex ptipython ptpython pudb pudb3 pwndbg pwsh pwsh-preview py pydb pypy pypy3 \
    pyston python python2 python3 pythonw qjs quickjs R r2 racket radare2 raku rakudo ravi rbash rbx rc rdbg re.pl red \
    regina rexx rgview rgvim rhino rizin rjoe rlang rlua rmaxima Rscript ruby runghc runhaskell runscript rust-script \
    rustpython rustscript rview rvim s9 sage sash sbcl scala scala-cli scala3 scanmem scheme scilab scilab-cli scilex \
    scriptcs scsh sed select-editor sensible-editor sh singular slimerjs slsh snobol4 sperl sqlite sqlite3 squeak ssed \
    stackless stap stklos suidperl swift swift-repl swipl systemtap tarantool tasksh tcl tclkit tclsh tcsh tex texlua \
    texluajit tinyscheme tixwish tjs toybox truffleruby ts-node tsx txiki unicon uplatex usql utop vi view vile vim \
    vim.athena vim.basic vim.gnome vim.gtk vim.gtk3 vim.motif vim.nox vim.tiny vimdiff vimr vimx wish wscript wsl \
    xelatex xemacs xemacs21 xetex xonsh xvile yacas yaegi yap yash ysh zile zsh";

const WRAPPERS: &str = "\
    7z 7za 7zr 7zz aa-exec aa-genprof abduco aclocal afio agetty alacritty alien alpine ammonite anacron ansible \
    ansible-playbook ansible-pull ansible-test ansible-vault ant apache2ctl apachectl apk aprun apt apt-cache \
    apt-cdrom apt-file apt-ftparchive apt-get apt-mark aptitude arch-chroot argocd aria2c arj asdf at atop autoconf \
    autom4te automake automator autoreconf autossh aws aws-vault az b2 bat batcat batch bazel bazelisk bconsole beesu \
    bemenu-run bjam bmake borg borgmatic bower box64 box86 bpftool bq breezy brew broot brz bsd-mailx bsdcpio bsdtar \
    bsub btop buck buck2 buildah buildctl buildkitd bundle bundler bunx busctl busybox-extras bwrap byobu bzless \
    bzmore bzr c++ c3c c89 c99 cabal caffeinate capsh cargo cargo-nextest cargo-watch carthage catatonit catchsegv cc \
    cc1 ccache ccmake cdist certbot chamber check_by_ssh chef chef-client chezmoi choom chpst chroot chrt chruby \
    chruby-exec circusd ckati clang clang++ clang-cl clang-repl clang-tidy clippy-driver clush cmake cmake-gui cmake3 \
    collect2 colordiff composer concurrently conda consul consul-template cookiecutter cool-retro-term cordova \
    coredumpctl corepack coreutils coursier cowbuilder cowsay cowthink cpack cpan cpanm cpanp cpio cpp cpulimit crictl \
    cron cronnext crontab cross-env cross-env-shell crun csvtool csync csysdig ctest ctr cvs cwltool daemonize dar \
    darcs darling dask-worker dbclient dbus-launch dbus-run-session dchroot debconf debconf-set-selections debootstrap \
    debugfs debuild deepin-terminal deepspeed delta delve dex diff-so-fancy difft direnv distcc django-admin dlv dmake \
    dmd dmenu dmenu_run dmsetup dnf dnf-3 dnf5 doas doas-rs docker docker-compose docker-init docker-machine dotenv \
    dotenv-cli dotenvx dotnet dpkg dpkg-architecture dpkg-buildpackage dpkg-deb dpkg-divert dpkg-preconfigure \
    dpkg-query dpkg-reconfigure dpkg-source dropbear dsh dstat dtach dtruss dumb-init dumb-init-static dune duplicity \
    dvips earthly easy_install easy_install3 eatmydata eb electron elinks emerge enscript entr env env-cmd envchain \
    envconsul envdir envuidgid eopkg eqn equery etckeeper eterm execlineb exim exim4 f77 f95 fab fabric fakechroot \
    fakeroot fakeroot-ng fakeroot-sysv fakeroot-tcp faketime falco fastlane fcron fd fdfind fetchmail fex-emu fff \
    fghack find firejail flang flatpak flatpak-spawn flock flutter fnm footclient forego foreman forfiles formail \
    fossil fpc fpp fsniper ftp fzf fzf-tmux fzy g++ gapply gcc gccgo gchroot gcj gcloud gcore gcpio gdbserver gdc gem \
    genv gerrit getmail gfind gfortran gh ghostty gio git git-annex git-lfs git-review git-shell gitk gitui gksu \
    gksudo glab glances gmake gmrun gnat gnatmake gnice gnohup gnome-console gnome-terminal gnome-terminal.wrapper \
    gnome-www-browser gnumake go godoc gopls goreleaser goreman gosu gotip gparallel gpax gpg gpg-agent \
    gpg-connect-agent gpg-wks-server gpg2 gpgconf gpgsm gpgv gradle gradlew groff grunt grunuser gsetsid gsort gsplit \
    gstdbuf gsutil gtar gtee gtime gtimeout gtk-launch guake guix gulp gvisor gxargs hatch heaptrack heirloom-mailx \
    helm helmfile helmsman hg hgk hipcc home-manager honcho horovodrun hping3 htop hub husky hyperfine i386 icc icx \
    ifort include-what-you-use incrond incrontab incus inetd initctl inoticoming installutil instruments intltoolize \
    inv invoke ionice ip ipcluster istioctl iwasm j4-dmenu-desktop jake jar jarsigner javac javadoc javap jcmd \
    jconsole jdeprscan jdeps jexec jfr jhsdb jimage jinfo jj jjui jlink jmap jmod jom joshuto journalctl jpackage jps \
    jsrun jstack jstat jstatd just k3d k3s k9s kata-runtime kati kdesu kdesudo kermit kernprof keytool kgx kitty knife \
    koi8rxterm konsole krun krunner ksu ktrace kubectl kubectx kustomize latexmk launchctl lazygit ld ld.bfd ld.gold \
    ld.lld ld.so ldc2 lein lerna lerna-lite less lessfile lesskey lesspipe lftp lha libtool libtoolize lint-staged \
    linux32 linux64 lld loginctl logrotate logsave ltrace lxc lxc-attach lxc-exec lxterm lxterminal lynx lzless lzmore \
    machinectl mail maildrop mailx make makeself mamba man mate-terminal mc mcdiff mcedit mcview mercurial meson \
    microdnf micromamba minicom minikube mise mix mlterm mock mod_wsgi-express mold monit mono-service moor more mosh \
    mosh-client mpiexec mpiexec.hydra mpirun msbuild msfconsole msgexec msgfilter msmtp multitime mutt muvm mvn mvnd \
    mvnDebug mvnw myrepos nala nc nc.openbsd nc.traditional ncat ncftp neomutt nerdctl netcat newgrp newsyslog \
    nextflow nice niceload nimble nimc ninja ninja-build nix nix-build nix-env nix-shell nix-store nixos-rebuild nmake \
    nmap nmh nnn node-gyp nodegyp nodemon nohup nomad nox npm npm-run-all nps npx nroff nsenter nullmailer numactl \
    nvcc nvm nw nx nx-cloud oc ocamlc ocamlfind ocamlopt odin opam openrc openrc-run openssl openvpn opkg orterun \
    oshrun overmind p7zip packer pacman pager pandoc pants pants-run parallel parallel-ssh paru pax pbuilder pdm pdsh \
    peco percol perf pexec pfbash pfexec pg pgrphack pic pidstat pijul pinentry pipenv pipx pixi pkcon pkexec pkg \
    pkg_add pm2 pm2-runtime pmake pnpm pnpx pnuke podman podman-compose podman-init podman-remote poetry postdrop \
    postfix pre-commit premake4 premake5 prlimit procmail proot proxychains proxychains-ng proxychains4 prsync prun \
    pscp psftp pspg pssh ptyxis pulumi puppet pxargs py-spy pyenv pyinstaller pyinvoke pytest-watch qemu qemu-aarch64 \
    qemu-aarch64-static qemu-arm qemu-i386 qemu-riscv64 qemu-system qemu-x86_64 qemu-x86_64-static qmake qmake6 qsub \
    qterminal rake ranger rar rbenv rc-service rclone rdmd react-native rebar3 redo-ifchange regsvr32 remake restic \
    rexec rg rlogin rlwrap rmiregistry rofi rpm rpm-ostree rpmbuild rpmdb rpmquery rpmverify rr rsh rshd rsnapshot \
    rsync rtorrent run-mailcap run-p run-parts run-s run0 runc runcon rundll32 runsc runsv runsvdir runuser rustc \
    rustdoc rustup rustup-init rvm rxvt rye s-nail s6-env s6-envdir s6-setlock s6-setuidgid s6-softlimit s6-supervise \
    s6-svscan sakura salloc salt salt-call salt-ssh samu sandbox-exec sbatch sbt sbuild sc-im scan-build sccache \
    schroot scons scons3 scp screen script scriptlive sem sendmail sensible-browser sensible-pager serialver service \
    setarch setlock setpriv setsid setuidgid sftp sg shar shdotenv simctl skaffold skim skopeo sl slrn smbclient \
    snakemake snap snapcraft socat socksify softlimit sops sort sort-rs spindump split sqlmap srun ssh ssh-add \
    ssh-agent ssh-agent-filter ssh-copy-id ssh-keygen ssh-keyscan sshd sshfs sshpass sshuttle ssmtp stack \
    start-stop-daemon startx stdbuf stow strace strace64 streamlit su su-exec su-rs sudo sudo-rs sudoedit supervisor \
    supervisorctl supervisord sux svcadm svn svnadmin svnlook svnserve svscan swift-package swift-run swift-test \
    swiftc swupd synaptic syncthing sysdig systemctl systemd-cat systemd-dissect systemd-inhibit systemd-mount \
    systemd-nspawn systemd-resolve systemd-run systemd-socket-activate systemd-tmpfiles tar task taskset tcc tcpclient \
    tcpdump tcpserver tdbtool tdnf telepresence telnet terminator terminology terraform terragrunt tig tilda tilix \
    tilt time timedatectl timeout tini tini-static tinygo tmate tmux tofi tofu top torchrun torify torsocks tox \
    trace-cmd trickle troff truss tshark tsocks turbo ucf uclampset ulauncher ultra-runner unbuffer unison unrar \
    unshar unshare unsquashfs unzip urpmi urxvt urxvtc uu_chroot uu_env uu_nice uu_nohup uu_runcon uu_sort uu_split \
    uu_stdbuf uu_timeout uv uvx uwsgi uxterm vacation vagrant valgrind vcsh viddy vifm vigr vimpager vipw virsh \
    virt-install virtualenv visidata visudo viztracer vlang volta w3m waf wasm-bindgen-test-runner wasm-interp \
    wasm-pack wasm3 wasmedge wasmer wasmtime watch watchexec watchman wezterm wget wine wine-stable wine64 wineconsole \
    wireit wmic wofi www-browser x-terminal-emulator x-www-browser x86_64 xargs xbps-install xcodebuild xcrun xctest \
    xdg-mime xdg-open xdg-settings xdg-terminal-exec xdg-user-dir xdotool xfce4-session xfce4-terminal xfrun4 xinetd \
    xinit xmake xmodmap xpad xplr xterm xvfb-run xzless xzmore yadm yarn yarn-berry yarnpkg yay yazi yelp youki yt-dlp \
    yum yumdownloader zathura zellij zig zip zless zmore zoo zstdless zx zypper";

/// Programs that run the program which their first operand names.
const RUNNERS: &str = "\
    aa-exec arch-chroot aws-vault box64 box86 bunx busybox busybox-extras bwrap caffeinate catatonit catchsegv choom \
    chpst chroot chrt chruby-exec coreutils cpulimit cross-env cross-env-shell daemonize dbus-run-session doas doas-rs \
    dotenvx dtruss dumb-init dumb-init-static eatmydata entr env env-cmd envchain envdir envuidgid fakechroot fakeroot \
    fakeroot-ng fakeroot-sysv fakeroot-tcp faketime fex-emu fghack firejail flock gchroot gdbserver genv gnice gnohup \
    gosu gparallel gstdbuf gtime gtimeout gxargs heaptrack hyperfine i386 ionice ktrace ld.so linux32 linux64 logsave \
    ltrace mpiexec mpirun multitime nice niceload nohup npx nsenter numactl parallel pexec pfexec pgrphack pkexec pnpx \
    prlimit proot proxychains proxychains-ng proxychains4 qemu-aarch64 qemu-aarch64-static qemu-arm qemu-i386 \
    qemu-riscv64 qemu-x86_64 qemu-x86_64-static rlwrap run0 runcon runuser s6-envdir s6-setlock s6-setuidgid \
    s6-softlimit sandbox-exec schroot script sem setarch setlock setpriv setsid setuidgid socksify softlimit srun \
    sshpass stdbuf strace strace64 su su-exec su-rs sudo sudo-rs systemd-cat systemd-inhibit systemd-run taskset time \
    timeout tini tini-static torify torsocks toybox trickle truss tsocks uclampset unbuffer unshare uu_chroot uu_env \
    uu_nice uu_nohup uu_runcon uu_stdbuf uu_timeout uvx valgrind viddy watch wine wine64 x86_64 xargs xvfb-run";

/// All names of interpreters and wrappers.
pub(super) fn known_names() -> impl Iterator<Item = &'static str> {
    table().keys().copied()
}

/// FNV-1a. All keys are names of this file, so nobody can make them collide, and std's hash takes six times as long at each start.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Names = HashSet<&'static str, BuildHasherDefault<Fnv>>;

fn table() -> &'static HashMap<&'static str, Reach, BuildHasherDefault<Fnv>> {
    static TABLE: OnceLock<HashMap<&str, Reach, BuildHasherDefault<Fnv>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let of = |list: &'static str, reach| list.split(' ').map(move |name| (name, reach));
        of(WRAPPERS, Reach::Wrapper).chain(of(INTERPRETERS, Reach::Interpreter)).collect()
    })
}

/// Looks up what else allowing `entry` (a name or a path) allows; `None` if nothing is known.
///
/// This only helps operators. A program that is missing here is not therefore harmless.
pub fn reach_of(entry: &str) -> Option<Reach> {
    let name = name_of(entry);
    if is_loader(&name) { Some(Reach::Wrapper) } else { table().get(stem(&name)).copied() }
}

/// Whether a program runs the program that its first operand names.
pub(crate) fn is_runner(entry: &str) -> bool {
    let name = name_of(entry);
    let stem = stem(&name);
    is_loader(&name) || RUNNERS.split(' ').any(|runner| runner == stem)
}

/// The loader of ELF files starts the one that its arguments name.
fn is_loader(name: &str) -> bool {
    name.starts_with("ld-linux") || name.starts_with("ld-musl")
}

/// The file name of a path, where files have the same name in every case in lower case, without the ending of programs.
fn name_of(entry: &str) -> String {
    let name = entry.rsplit(['/', '\\']).next().unwrap_or(entry);
    let is_listed = !cfg!(any(windows, target_os = "macos")) || table().contains_key(name);
    let name = if is_listed { name.to_owned() } else { name.to_ascii_lowercase() };
    let ending = [".exe", ".com", ".bat", ".cmd"].iter().find_map(|ending| name.strip_suffix(ending));
    ending.map(str::to_owned).unwrap_or(name)
}

/// The listed name that a name is a variation of: `python` of `python3.13t`, `gcc` of `x86_64-linux-gnu-gcc-14`, `busybox` of
/// `busybox-static`; otherwise the name itself.
pub(super) fn stem(name: &str) -> &str {
    let is_listed = |name: &&str| table().contains_key(name);
    let plain = without_flavor(name);
    let of_target = |name| is_listed(&name).then_some(name).or_else(|| without_target(name).filter(is_listed));
    // Thousands of names are looked up at a start, and most have no flavor.
    let plain = Some(plain).filter(|plain| *plain != name);
    let names = || iter::once(name).chain(plain);
    let unversioned = names().filter_map(without_version).find_map(of_target);
    // Only a compiler is named after what it compiles for.
    unversioned.or_else(|| names().find_map(of_target)).unwrap_or(name)
}

/// Additions of packages to the name of a program: how it was built, or that another one is in front of it.
static FLAVORS: LazyLock<Names> = LazyLock::new(|| {
    "\
    amd64 arm64 athena basic bin cgi cli current debug dbg dev distrib fpm freethreaded gtk gtk2 gtk3 intel64 jit lts lucid \
    minimal motif musl nightly nogil nojit nox openbsd orig original pgtk real stable static system tiny traditional wrapped \
    wrapper x11"
        .split(' ')
        .collect()
});

fn without_flavor(name: &str) -> &str {
    let name = name.strip_prefix('.').unwrap_or(name);
    let cut = name.rsplit_once(['-', '.', '_']);
    cut.filter(|(_, flavor)| is_flavor(flavor)).map_or(name, |(name, _)| name)
}

fn is_flavor(word: &str) -> bool {
    FLAVORS.contains(word)
}

/// A name without its version and what follows it: the letters of Python's builds, a flavor, or the machine.
fn without_version(name: &str) -> Option<&str> {
    let start = name.find(|c: char| c.is_ascii_digit())?;
    // The version of a name with a number in it, such as that of a machine, is its last one.
    let last = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let at_end = Some(last.trim_end_matches(['-', '_', '.'])).filter(|cut| cut.len() < name.len() && !cut.is_empty());
    let (stem, version) = name.split_at_checked(start)?;
    let tail = version.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '_'));
    let first = tail.strip_prefix(['-', '.', '_']).map_or("", |tail| tail.split('-').next().unwrap_or(tail));
    let is_known = matches!(tail, "" | "t" | "d" | "td" | "m" | "dm" | "mu" | "w" | "a" | "b" | "p" | "g")
        || is_flavor(first)
        || is_machine(first)
        || ["beta", "rc", "alpha", "pre"].iter().any(|word| first.starts_with(word));
    // `ed25519` is no version of ed(1).
    let is_number = version.chars().take_while(char::is_ascii_digit).count() > 4;
    let is_known = is_known && !is_number;
    let at_end = at_end.filter(|_| !is_number);
    let stem = stem.trim_end_matches(['-', '_', '.']);
    let at_start = Some(stem).filter(|stem| is_known && !stem.is_empty());
    at_start.filter(|stem| table().contains_key(stem)).or(at_end)
}

fn is_machine(word: &str) -> bool {
    static MACHINES: LazyLock<Names> = LazyLock::new(|| {
        "\
        aarch64 alpha amd64 arm avr hppa i386 i486 i586 i686 ia64 loongarch64 m68k mips mips64 mips64el mipsel nvptx powerpc \
        powerpc64 powerpc64le ppc64 ppc64le riscv32 riscv64 s390x sh4 sparc sparc64 wasm32 x86_64 xtensa"
            .split(' ')
            .collect()
    });
    word.starts_with("arm") || MACHINES.contains(word)
}

/// A name without the machine and the system that stand in front of it, as in `aarch64-linux-gnu-gcc`.
fn without_target(name: &str) -> Option<&str> {
    let machine = name.split('-').next().filter(|machine| machine.len() < name.len() && is_machine(machine));
    // `clang-cl` is a name.
    machine.and_then(|_| {
        let starts = name.match_indices('-').map(|(at, _)| name.get(at + 1..).unwrap_or_default());
        starts.into_iter().find(|rest| table().contains_key(rest))
    })
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

    #[test]
    fn versions_flavors_and_targets_of_a_name_count_as_the_name() {
        for name in "python3.13t ruby3.2 node-22 php8.3 php8.3-cgi php-cgi8.3 lua5.4 perl5.36-x86_64-linux-gnu python3.12-intel64 \
                     pythonw3.12 luajit-2.1.0-beta3 ksh93 tclsh8.6 wish8.6 guile-3.0 julia-1.10 emacs-29.1 emacs29-nox bash5 \
                     bash-static busybox.static busybox-1.36.1 .python3-wrapped nodejs-current node18 pypy3.10 python3-dbg \
                     python3.11-dbg erl26 sqlite3 swipl-9 gawk-5.2 vim.gtk3 mksh-static rbash lksh qjs gjs d8 ksh2020 tclsh9.0 \
                     python3.6m python2.7 R gst"
            .split_whitespace()
        {
            assert_eq!(reach_of(name), Some(Reach::Interpreter), "{name}");
        }
        for name in "gcc-14 clang-18 clang++-18 g++-14.2 x86_64-linux-gnu-gcc x86_64-linux-gnu-gcc-12 aarch64-linux-gnu-g++-13 \
                     arm-none-eabi-gcc x86_64-w64-mingw32-gcc i686-linux-gnu-cpp-12 go1.22 cargo-watch qemu-x86_64-static \
                     nc.openbsd sudo-rs run0 batcat apt-file ansible-playbook gradlew mvnw nerdctl javac jar make-4.4 \
                     cmake3 ld.so gfind gmake coreutils"
            .split_whitespace()
        {
            assert_eq!(reach_of(name), Some(Reach::Wrapper), "{name}");
        }
        for name in "ls cat b2sum sha256sum base64 md5sum factor py3clean py3compile python3-config perl5-doc man2html ed25519 \
                     java2html x86_64-linux-gnu-nm x86_64-linux-gnu-objdump git2cl pytest ruff mypy eslint tsc jq [ 3 g \
                     python3.11-config lsb_release rm mv h2ph pl2pm gzip bzip2 7 2to3 mkfs.ext4 fsck.ext4 e2fsck x11"
            .split_whitespace()
        {
            assert_eq!(reach_of(name), None, "{name}");
        }
        assert_eq!(
            ["python3.13t", "x86_64-linux-gnu-gcc-12", "vim.gtk3", "ls"].map(stem),
            ["python", "gcc", "vim.gtk", "ls"]
        );
    }

    #[test]
    fn what_runs_its_first_operand_is_known_in_each_spelling() {
        for name in [
            "env",
            "/usr/bin/nice",
            "sudo-rs",
            "busybox-static",
            "coreutils",
            "/lib64/ld-linux-x86-64.so.2",
            "qemu-x86_64",
        ] {
            assert!(is_runner(name) && reach_of(name).is_some(), "{name}");
        }
        assert!(!is_runner("python3") && !is_runner("git"));
        // Each list has each name once, and a name in both would be ambiguous.
        let names: Vec<&str> = INTERPRETERS.split(' ').chain(WRAPPERS.split(' ')).collect();
        assert_eq!(names.len(), table().len());
        assert!(RUNNERS.split(' ').all(|name| reach_of(name).is_some()));
    }
}
