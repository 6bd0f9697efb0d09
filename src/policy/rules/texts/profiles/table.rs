//! The shipped profiles, with the heads of their rules and their arguments in one line, so that a start reads none of them.
//!
//! A test compares all of it with the profiles and writes what the table should say. The order is that in which profiles are listed.

use super::{Profile, Shipped, profile};
use crate::network::Network;
use crate::policy::rules::grammar::{SandboxRule, SandboxWord};

const fn sandbox(
    level: Option<SandboxWord>,
    exec_own: bool,
    network: Option<Network>,
    writes: Option<bool>,
) -> SandboxRule {
    SandboxRule { level, exec_own, network, paths_claimed: false, writes }
}

/// The sandbox that the server has for all commands.
static SERVERS: SandboxRule = sandbox(None, false, None, None);
/// Confined to the project, without a network.
static WORKSPACE: SandboxRule = sandbox(Some(SandboxWord::Workspace), false, Some(Network::None), None);
/// Executes only its own program, without a network, and writes within the project.
static OWN_WRITING: SandboxRule = sandbox(Some(SandboxWord::Strict), true, Some(Network::None), Some(true));
/// The same, and writes nothing.
static OWN_READING: SandboxRule = sandbox(Some(SandboxWord::Strict), true, Some(Network::None), Some(false));

#[rustfmt::skip]
pub(super) static PROFILES: [Profile; 18] = [
    profile("git-readonly", include_str!("../../../profiles/git-readonly.yaml"), &[
        Shipped { name: "git", sandbox: &OWN_READING, read_only: true, asks: false, has_paths: true, synopsis: "git status|log|show|diff|whatchanged|range-diff|blame|annotate|grep|branch|tag|remote (show)|ls-remote|stash|reflog (show)|diff-tree|diff-index|diff-files|rev-list|rev-parse|shortlog|describe|name-rev|check-ignore|merge-base|cherry|for-each-ref|show-branch|fsck|show-ref|symbolic-ref|ls-files|ls-tree|cat-file (blob|tree|commit|tag)|hash-object|apply|bisect (log|terms)|notes (list|show)|replace|archive|bundle (verify)|verify-pack|commit-graph (verify)|multi-pack-index (verify)|sparse-checkout (list)|check-ref-format|check-mailmap|var (GIT_AUTHOR_IDENT|GIT_COMMITTER_IDENT|GIT_DEFAULT_BRANCH)|help|config|count-objects|worktree|version" },
    ]),
    profile("coreutils-readonly", include_str!("../../../profiles/coreutils-readonly.yaml"), &[
        Shipped { name: "ls", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "ls [-DaAbBcCfgklmoqtuUvxXdFpGhinNQrRsS1Z] [--hyperlink[=always|never|auto]] [--classify|--file-type] [--human-readable|--si] [-I|--ignore|--hide TEXT] [--author|--full-time|--group-directories-first] [--block-size TEXT] [--color[=always|never|auto]] [--format across|commas|horizontal|long|single-column|verbose|vertical] [--hide-control-chars|--show-control-chars] [--quoting-style literal|locale|shell|shell-always|shell-escape|shell-escape-always|c|escape] [--zero] [-T|--tabsize N] [--indicator-style none|slash|file-type|classify] [--sort none|size|time|version|extension|width] [--time atime|access|use|ctime|status|birth|creation] [--time-style TEXT] [-w|--width N] [--help|--version] [PATH...]" },
        Shipped { name: "cat", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "cat [-AbetuEnsTv] [--help|--version] [FILE...]" },
        Shipped { name: "head", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "head [-qvz] [-c|--bytes TEXT] [-n|--lines TEXT] [-NUM] [--quiet|--silent] [--help|--version] [FILE...]" },
        Shipped { name: "tail", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "tail [-qvz] [-c|--bytes TEXT] [-n|--lines TEXT] [-NUM] [--quiet|--silent] [--help|--version] [FILE...]" },
        Shipped { name: "wc", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "wc [-cmlLw] [--total auto|always|only|never] [--help|--version] [FILE...]" },
        Shipped { name: "stat", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "stat [-ft] [--cached default|always|never] [-c|--format TEXT] [--printf TEXT] FILE..." },
        Shipped { name: "file", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "file [-rbihkN0] [-e|--exclude WORD] [-P|--parameter TEXT] [--mime-type|--mime-encoding|--extension] [-F|--separator TEXT] FILE..." },
        Shipped { name: "du", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "du [-0abchkmlsSx] [-B|--block-size TEXT] [--time-style TEXT] [--apparent-size|--inodes|--si] [-d|--max-depth N] [-t|--threshold TEXT] [--exclude TEXT] [--time[=atime|access|use|ctime|status]] [--help|--version] [PATH...]" },
        Shipped { name: "df", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "df [-ahHikmlPT] [-B|--block-size TEXT] [-t|--type TEXT] [-x|--exclude-type TEXT] [--output[=TEXT]] [--total|--no-sync] [--help|--version] [PATH...]" },
        Shipped { name: "sort", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "sort [-bdfgiMhnrRVcCmsuz] [-S|--buffer-size TEXT] [--batch-size N] [--sort general-numeric|human-numeric|month|numeric|random|version] [--check[=diagnose-first|quiet|silent]] [--debug] [--parallel N] [-k|--key TEXT] [-t|--field-separator TEXT] [--help|--version] [FILE...]" },
        Shipped { name: "uniq", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "uniq [-cdDiuz] [--group[=separate|prepend|append|both]] [--all-repeated[=none|prepend|separate]] [-f|--skip-fields N] [-s|--skip-chars N] [-w|--check-chars N] [--help|--version] [FILE]" },
        Shipped { name: "cut", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "cut [-sz] [-b|--bytes TEXT] [-c|--characters TEXT] [-f|--fields TEXT] [-d|--delimiter TEXT] [--complement] [--output-delimiter TEXT] [--help|--version] [FILE...]" },
        Shipped { name: "tr", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "tr [-cCdst] [--complement] SET [SET]" },
        Shipped { name: "diff", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "diff [-HPabBcenydEiNpqrstTuwZ] [--normal|-f|--forward-ed|--ed] [-F|--show-function-line TEXT] [-L TEXT] [-D|--ifdef TEXT] [--tabsize N] [--horizon-lines N] [--ignore-file-name-case|--no-ignore-file-name-case] [--suppress-blank-empty] [-C N] [--context[=N]] [-I|--ignore-matching-lines TEXT] [--no-dereference] [-U N] [--unified[=N]] [-W|--width N] [-x|--exclude TEXT] [--color[=always|never|auto]] [--label TEXT] [--left-column|--suppress-common-lines|--side-by-side|--strip-trailing-cr] OLD NEW" },
        Shipped { name: "cmp", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "cmp [-bls] [-i|--ignore-initial TEXT] [-n|--bytes N] [--quiet|--silent] OLD NEW" },
        Shipped { name: "comm", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "comm [-123z] [--total|--check-order|--nocheck-order] [--output-delimiter TEXT] FILE FILE" },
        Shipped { name: "join", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "join [-zi] [-e TEXT] [-1|-2|-j N] [-a|-v N] [-t TEXT] [-o TEXT] [--header|--check-order|--nocheck-order] FILE FILE" },
        Shipped { name: "paste", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "paste [-sz] [-d|--delimiters TEXT] [--help|--version] [FILE...]" },
        Shipped { name: "nl", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "nl [-p] [-f|--footer-numbering a|t|n] [-h|--header-numbering a|t|n] [-d|--section-delimiter TEXT] [-i|--line-increment N] [-l|--join-blank-lines N] [-b|--body-numbering a|t|n] [-n|--number-format ln|rn|rz] [-s|--number-separator TEXT] [-v|--starting-line-number N] [-w|--number-width N] [--help|--version] [FILE...]" },
        Shipped { name: "tac", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "tac [-br] [-s|--separator TEXT] [--help|--version] [FILE...]" },
        Shipped { name: "fold", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "fold [-bs] [-w|--width N] [-NUM] [--help|--version] [FILE...]" },
        Shipped { name: "expand", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "expand [-i] [-t|--tabs TEXT] [--help|--version] [FILE...]" },
        Shipped { name: "unexpand", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "unexpand [-a] [--first-only] [-t|--tabs TEXT] [--help|--version] [FILE...]" },
        Shipped { name: "od", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "od [-vabcdilfox] [-S|--strings[=N]] [--endian big|little] [-A|--address-radix d|o|x|n] [-j|--skip-bytes N] [-N|--read-bytes N] [-t|--format TEXT] [-w|--width[=N]] [--help|--version] [FILE...]" },
        Shipped { name: "base64", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "base64 [-di] [-w|--wrap N] [--help|--version] [FILE]" },
        Shipped { name: "sha256sum", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "sha256sum [-btz] [--help|--version] [--tag] [FILE...]" },
        Shipped { name: "sha1sum", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "sha1sum [-btz] [--help|--version] [--tag] [FILE...]" },
        Shipped { name: "md5sum", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "md5sum [-btz] [--help|--version] [--tag] [FILE...]" },
        Shipped { name: "sha224sum", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "sha224sum [-btz] [--help|--version] [--tag] [FILE...]" },
        Shipped { name: "sha384sum", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "sha384sum [-btz] [--help|--version] [--tag] [FILE...]" },
        Shipped { name: "sha512sum", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "sha512sum [-btz] [--help|--version] [--tag] [FILE...]" },
        Shipped { name: "b2sum", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "b2sum [-btz] [-l|--length N] [--help|--version] [--tag] [FILE...]" },
        Shipped { name: "cksum", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "cksum [-z] [-a|--algorithm WORD] [-l|--length N] [--base64|--debug|--raw|--tag|--untagged] [--help|--version] [FILE...]" },
        Shipped { name: "pwd", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "pwd [-LP] [--help|--version]" },
        Shipped { name: "date", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "date [-uR] [--utc|--universal] [--help|--version|--debug|--resolution] [-d|--date TEXT] [-I|--iso-8601[=date|hours|minutes|seconds|ns]] [--rfc-3339=date|seconds|ns] [-r|--reference PATH] [FORMAT]" },
        Shipped { name: "realpath", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "realpath [-LPemsqz] [--logical|--physical] [--strip|--no-symlinks] [--relative-to|--relative-base PATH] PATH..." },
        Shipped { name: "readlink", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "readlink [-femnqsvz] [--quiet|--silent] PATH..." },
        Shipped { name: "basename", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "basename [-az] [-s|--suffix TEXT] NAME..." },
        Shipped { name: "dirname", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "dirname [-z] NAME..." },
        Shipped { name: "test", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "test STRING" },
        Shipped { name: "[", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "[ STRING ]" },
        Shipped { name: "echo", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "echo [TEXT...]" },
        Shipped { name: "printf", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "printf FORMAT [TEXT...]" },
        Shipped { name: "seq", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "seq [-w] [-s|--separator TEXT] NUMBER..." },
        Shipped { name: "true", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "true [--help|--version]" },
        Shipped { name: "false", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "false [--help|--version]" },
        Shipped { name: "id", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "id [-ugGnrzZ] [--help|--version]" },
        Shipped { name: "whoami", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "whoami [--help|--version]" },
        Shipped { name: "groups", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "groups [--help|--version]" },
        Shipped { name: "hostname", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "hostname [-dfiIsaAVh] [--fqdn|--long] [--help|--version]" },
        Shipped { name: "arch", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "arch [--help|--version]" },
        Shipped { name: "numfmt", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "numfmt [-z] [--help|--version] [-d|--delimiter TEXT] [--field TEXT] [--format TEXT] [--from|--to none|auto|si|iec|iec-i] [--from-unit|--to-unit TEXT] [--grouping|--debug] [--header[=N]] [--invalid abort|fail|warn|ignore] [--padding N] [--round up|down|from-zero|towards-zero|nearest] [--suffix TEXT] [NUMBER...]" },
        Shipped { name: "uname", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "uname [-asnrvmpio] [--kernel-name|--nodename|--kernel-release|--kernel-version|--machine|--processor|--hardware-platform|--operating-system] [--help|--version]" },
        Shipped { name: "nproc", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "nproc [--all] [--ignore=N] [--help|--version]" },
        Shipped { name: "sed", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "sed [-nErsuz] [--quiet|--silent] [--regexp-extended] [-l|--line-length N] [--posix] SCRIPT [FILE...]" },
        Shipped { name: "tar", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "tar tf|tvf|vtf|tvvf|tzf|ztf|tvzf|tzvf|ztvf|zvtf|tjf|jtf|tvjf|tjvf|jtvf|jvtf|tJf|Jtf|tvJf|tJvf|Jtvf|Jvtf" },
        Shipped { name: "jq", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "jq [-aCcehjMnRrSs] [--indent N] [--seq|--stream|--tab|--unbuffered] FILTER [FILE...]  (FILTER: never a text that begins with `import` or `include` or `module` or ` ` or `\\t` or `\\r` or `\\n` or `#`)" },
        Shipped { name: "which", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "which [-a] NAME..." },
        Shipped { name: "rev", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "rev [--help|--version] [FILE...]" },
        Shipped { name: "column", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "column [-tx] [-c|--output-width N] [-s|--separator TEXT] [-o|--output-separator TEXT] [--help|--version] [FILE...]" },
        Shipped { name: "hexdump", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "hexdump [-bcdoxCv] [-n|--length N] [-s|--skip N] [--help|--version] [FILE...]" },
    ]),
    profile("ripgrep", include_str!("../../../profiles/ripgrep.yaml"), &[
        Shipped { name: "rg", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "rg [-.u0abcFHIisSvlnNxwUoPpq] [-g|--glob TEXT] [--iglob TEXT] [-t|--type TEXT] [-T|--type-not TEXT] [--hidden|--no-hidden] [--no-ignore|--no-ignore-vcs|--no-ignore-parent|--no-ignore-dot|--no-ignore-exclude|--no-ignore-global] [-d|--max-depth N] [--max-filesize TEXT] [--sort|--sortr path|modified|accessed|created|none] [--type-add TEXT] [--type-clear TEXT] [--glob-case-insensitive|--no-require-git|--ignore-file-case-insensitive|--no-config] [--ignore|--ignore-vcs|--ignore-parent|--ignore-dot|--ignore-exclude|--ignore-global|--no-ignore-files|--sort-files] [--path-separator TEXT] [--no-one-file-system|--no-glob-case-insensitive] [--one-file-system] [--color never|auto|always|ansi] [--no-messages|--messages] [--line-buffered|--block-buffered|--no-line-buffered|--no-block-buffered] [-j|--threads N] [-A|--after-context N] [-B|--before-context N] [-C|--context N] [--binary] [--column] [--context-separator|--field-context-separator|--field-match-separator TEXT] [--no-context-separator] [--count-matches] [--include-zero] [--colors TEXT] [--crlf] [--engine default|pcre2|auto] [--null-data|--no-unicode] [-E|--encoding TEXT] [--heading|--no-heading] [--json] [--files-without-match] [-m|--max-count N] [-M|--max-columns N] [--max-columns-preview] [--mmap|--no-mmap] [--multiline-dotall] [--passthru] [-r|--replace TEXT] [--stats] [--trim] [--no-column|--no-fixed-strings|--no-multiline|--no-multiline-dotall|--no-stats|--no-trim|--no-invert-match|--no-text] [--no-byte-offset|--no-binary|--no-crlf|--no-json|--no-max-columns-preview|--no-include-zero|--no-pcre2|--unicode] [--auto-hybrid-regex|--no-auto-hybrid-regex|--no-pcre2-unicode|--stop-on-nonmatch|--no-encoding] [--regex-size-limit|--dfa-size-limit TEXT] [--vimgrep] PATTERN [PATH...]" },
    ]),
    profile("search", include_str!("../../../profiles/search.yaml"), &[
        Shipped { name: "grep", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "grep [-abcEFGPhHIiylLUnoqrsTvwxzZ] [-A|--after-context N] [-B|--before-context N] [-C|--context N] [-NUM] [--binary-files=binary|text|without-match] [--color|--colour[=always|never|auto]] [-d|--directories skip] [--ignore-case] [--no-ignore-case] [--include|--exclude|--exclude-dir TEXT] [--label TEXT] [--line-buffered] [--group-separator=TEXT] [--no-group-separator] [-m|--max-count N] [--quiet|--silent] PATTERN [FILE...]" },
        Shipped { name: "find", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "find [-P] [(|)|!] [,] [-a|-and|-o|-or|-not] [-maxdepth|-mindepth N] [-depth|-d|-mount|-xdev|-daystart|-noleaf|-ignore_readdir_race|-noignore_readdir_race] [-name|-iname|-path|-ipath|-wholename|-iwholename|-lname|-ilname|-regex|-iregex TEXT] [-regextype WORD] [-type|-xtype TEXT] [-size TEXT] [-mtime|-atime|-ctime|-mmin|-amin|-cmin|-used|-links|-inum|-uid|-gid TEXT] [-newer|-anewer|-cnewer|-samefile PATH] [-newermt|-newerat|-newerct TEXT] [-perm TEXT] [-user|-group|-fstype TEXT] [-nowarn|-warn] [-empty|-readable|-writable|-executable|-nouser|-nogroup|-true|-false] [-prune|-quit|-print|-print0|-ls] [-printf TEXT] [PATH...]" },
    ]),
    profile("cargo-check", include_str!("../../../profiles/cargo-check.yaml"), &[
        Shipped { name: "cargo", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: false, synopsis: "cargo check|clippy|doc|help|package|read-manifest|verify-project|report (future-incompatibilities|future-incompat)|fmt|metadata|tree|locate-project|pkgid|version" },
    ]),
    profile("npm-scripts", include_str!("../../../profiles/npm-scripts.yaml"), &[
        Shipped { name: "npm", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: false, synopsis: "npm run (build|check|format:check|lint|test|typecheck)|run-script (build|check|format:check|lint|test|typecheck)|test|t|ls|list|explain|why|la|ll|view|info|show|v|outdated|audit (signatures)|search|config (list|ls)|get|fund|ping|whoami|query|sbom|dist-tag (ls|list)|owner (ls|list)|help|version|root|prefix|pkg" },
    ]),
    profile("go-check", include_str!("../../../profiles/go-check.yaml"), &[
        Shipped { name: "go", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: true, synopsis: "go vet|build|list|doc|mod|env|version|tool|help" },
        Shipped { name: "gofmt", sandbox: &OWN_READING, read_only: true, asks: false, has_paths: true, synopsis: "gofmt [-l] [-d] [-e] [-s] PATH..." },
    ]),
    profile("python-tools", include_str!("../../../profiles/python-tools.yaml"), &[
        Shipped { name: "pytest", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: true, synopsis: "pytest [-xqvslhV] [-k TEXT] [-m TEXT] [-r TEXT] [--maxfail N] [--tb auto|long|short|line|native|no] [--co|--collect-only] [--lf|--last-failed] [--ff|--failed-first] [--sw|--stepwise] [--durations N] [--durations-min TEXT] [--verbosity N] [--show-capture no|stdout|stderr|log|all] [--ignore-glob TEXT] [--nf|--new-first] [--full-trace|--runxfail|--setup-only|--setup-plan] [--timeout N] [--dist no|each|load|loadscope|loadfile|loadgroup|worksteal] [--cov-fail-under N] [--ignore PATH] [--deselect TEXT] [-p TEXT] [-W|--pythonwarnings default|error|ignore|always|module|once|error::DeprecationWarning|ignore::DeprecationWarning|ignore::UserWarning] [-n|--numprocesses TEXT] [--cov-report term|term-missing|term:skip-covered|term-missing:skip-covered] [--cov-branch|--no-cov|--fixtures|--markers] [--no-header|--no-summary|--strict-markers|--strict-config|--disable-warnings|--setup-show] [--color yes|no|auto] [--capture fd|sys|no|tee-sys] [--cov TEXT] [TEST...]" },
        Shipped { name: "mypy", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: true, synopsis: "mypy [-vVh] [--strict] [--ignore-missing-imports|--check-untyped-defs|--disallow-untyped-defs|--disallow-incomplete-defs|--disallow-any-generics] [--warn-unused-ignores|--warn-unreachable|--warn-redundant-casts|--warn-return-any|--warn-unused-configs] [--no-implicit-optional|--no-strict-optional|--strict-equality|--extra-checks] [--namespace-packages|--explicit-package-bases] [--disable-error-code|--enable-error-code TEXT] [--no-incremental|--no-error-summary|--show-error-codes|--show-column-numbers|--show-error-context|--pretty] [--no-color-output] [--disallow-untyped-calls|--allow-redefinition|--no-warn-no-return|--show-traceback|--hide-error-codes|--no-pretty] [--follow-imports normal|silent|skip|error] [--python-version TEXT] [--platform linux|darwin|win32] [--exclude TEXT] [-m|--module TEXT] [-p|--package TEXT] [--version|--help] [PATH...]" },
        Shipped { name: "ruff", sandbox: &OWN_READING, read_only: true, asks: false, has_paths: true, synopsis: "ruff help (analyze|check|clean|config|format|help|linter|rule|server|version)|check|format|rule|linter|config|version" },
    ]),
    profile("make-targets", include_str!("../../../profiles/make-targets.yaml"), &[
        Shipped { name: "make", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: false, synopsis: "make [-ksnqBwird] [--silent|--quiet] [--just-print|--dry-run] [--print-directory|--no-print-directory] [--debug[=WORD]] [-O|--output-sync[=none|line|target|recurse]] [--trace] [-j|--jobs N] [TARGET...]" },
    ]),
    profile("gh-readonly", include_str!("../../../profiles/gh-readonly.yaml"), &[
        Shipped { name: "gh", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "gh help|pr|issue|run|workflow|auth|release|label|repo|cache|search|status|alias|extension|config|gist|org|project|ruleset|variable|ssh-key|gpg-key|codespace|version" },
    ]),
    profile("kubectl-readonly", include_str!("../../../profiles/kubectl-readonly.yaml"), &[
        Shipped { name: "kubectl", sandbox: &SERVERS, read_only: true, asks: false, has_paths: true, synopsis: "kubectl help|options|get|describe|logs|top (pod|pods|po|node|nodes|no)|events|explain|wait|diff|kustomize|rollout|auth|cluster-info|config|api-resources|api-versions|completion (bash|fish|powershell|zsh)|plugin (list)|version" },
    ]),
    profile("docker-readonly", include_str!("../../../profiles/docker-readonly.yaml"), &[
        Shipped { name: "docker", sandbox: &SERVERS, read_only: true, asks: false, has_paths: false, synopsis: "docker help|events|ps|images|logs|inspect|stats|top|port|diff|history|version|info|container|image|network|volume|context|system|plugin|node|service|stack|secret|config|compose" },
    ]),
    // These extend others, and count where both are named.
    profile("git-commit", include_str!("../../../profiles/git-commit.yaml"), &[
        Shipped { name: "git", sandbox: &OWN_WRITING, read_only: false, asks: true, has_paths: true, synopsis: "git status|log|show|diff|whatchanged|range-diff|blame|annotate|grep|branch|tag|remote (show)|ls-remote|stash|reflog (show)|diff-tree|diff-index|diff-files|rev-list|rev-parse|shortlog|describe|name-rev|check-ignore|merge-base|cherry|for-each-ref|show-branch|fsck|show-ref|symbolic-ref|ls-files|ls-tree|cat-file (blob|tree|commit|tag)|hash-object|apply|bisect (log|terms)|notes (list|show)|replace|archive|bundle (verify)|verify-pack|commit-graph (verify)|multi-pack-index (verify)|sparse-checkout (list)|check-ref-format|check-mailmap|var (GIT_AUTHOR_IDENT|GIT_COMMITTER_IDENT|GIT_DEFAULT_BRANCH)|help|config|count-objects|worktree|version|add|commit|restore (.)|switch (-)" },
    ]),
    profile("coreutils-write", include_str!("../../../profiles/coreutils-write.yaml"), &[
        Shipped { name: "mkdir", sandbox: &SERVERS, read_only: false, asks: false, has_paths: true, synopsis: "mkdir [-pv] DIRECTORY..." },
        Shipped { name: "rmdir", sandbox: &SERVERS, read_only: false, asks: false, has_paths: true, synopsis: "rmdir [-v] [--ignore-fail-on-non-empty] DIRECTORY..." },
        Shipped { name: "touch", sandbox: &SERVERS, read_only: false, asks: false, has_paths: true, synopsis: "touch [-cam] [-d|--date TEXT] FILE..." },
        Shipped { name: "cp", sandbox: &SERVERS, read_only: false, asks: false, has_paths: true, synopsis: "cp [-rRnfuvT] [--recursive] SOURCE... DEST" },
        Shipped { name: "mv", sandbox: &SERVERS, read_only: false, asks: false, has_paths: true, synopsis: "mv [-nfuvT] SOURCE... DEST" },
        Shipped { name: "rm", sandbox: &SERVERS, read_only: false, asks: false, has_paths: true, synopsis: "rm [-rRfdv] [--recursive] FILE..." },
        Shipped { name: "chmod", sandbox: &SERVERS, read_only: false, asks: false, has_paths: true, synopsis: "chmod [-vc] MODE FILE..." },
        Shipped { name: "tee", sandbox: &SERVERS, read_only: false, asks: false, has_paths: true, synopsis: "tee [-a] [FILE...]" },
        Shipped { name: "sed", sandbox: &SERVERS, read_only: false, asks: false, has_paths: true, synopsis: "sed [-nErsuz] [--quiet|--silent] [--regexp-extended] [-l|--line-length N] [--posix] SCRIPT [FILE...]" },
    ]),
    profile("rust-develop", include_str!("../../../profiles/rust-develop.yaml"), &[
        Shipped { name: "cargo", sandbox: &WORKSPACE, read_only: false, asks: true, has_paths: false, synopsis: "cargo check|clippy|doc|help|package|read-manifest|verify-project|report (future-incompatibilities|future-incompat)|fmt|metadata|tree|locate-project|pkgid|version|build|b|test|t|bench|run|r|nextest|fix|clean|add|remove|update|fetch|generate-lockfile|install" },
    ]),
    profile("node-develop", include_str!("../../../profiles/node-develop.yaml"), &[
        Shipped { name: "npm", sandbox: &WORKSPACE, read_only: false, asks: true, has_paths: false, synopsis: "npm run (build|check|format:check|lint|test|typecheck)|run-script (build|check|format:check|lint|test|typecheck)|test|t|ls|list|explain|why|la|ll|view|info|show|v|outdated|audit (signatures)|search|config (list|ls)|get|fund|ping|whoami|query|sbom|dist-tag (ls|list)|owner (ls|list)|help|version|root|prefix|pkg|start|install|i|add|ci|update|uninstall|remove" },
        Shipped { name: "node", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: true, synopsis: "node -v|--version|-h|--help" },
        Shipped { name: "npx", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: false, synopsis: "npx TOOL [ARGUMENT...]" },
    ]),
    profile("python-develop", include_str!("../../../profiles/python-develop.yaml"), &[
        Shipped { name: "pytest", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: true, synopsis: "pytest [-xqvslhV] [-k TEXT] [-m TEXT] [-r TEXT] [--maxfail N] [--tb auto|long|short|line|native|no] [--co|--collect-only] [--lf|--last-failed] [--ff|--failed-first] [--sw|--stepwise] [--durations N] [--durations-min TEXT] [--verbosity N] [--show-capture no|stdout|stderr|log|all] [--ignore-glob TEXT] [--nf|--new-first] [--full-trace|--runxfail|--setup-only|--setup-plan] [--timeout N] [--dist no|each|load|loadscope|loadfile|loadgroup|worksteal] [--cov-fail-under N] [--ignore PATH] [--deselect TEXT] [-p TEXT] [-W|--pythonwarnings default|error|ignore|always|module|once|error::DeprecationWarning|ignore::DeprecationWarning|ignore::UserWarning] [-n|--numprocesses TEXT] [--cov-report term|term-missing|term:skip-covered|term-missing:skip-covered] [--cov-branch|--no-cov|--fixtures|--markers] [--no-header|--no-summary|--strict-markers|--strict-config|--disable-warnings|--setup-show] [--color yes|no|auto] [--capture fd|sys|no|tee-sys] [--cov TEXT] [TEST...]" },
        Shipped { name: "mypy", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: true, synopsis: "mypy [-vVh] [--strict] [--ignore-missing-imports|--check-untyped-defs|--disallow-untyped-defs|--disallow-incomplete-defs|--disallow-any-generics] [--warn-unused-ignores|--warn-unreachable|--warn-redundant-casts|--warn-return-any|--warn-unused-configs] [--no-implicit-optional|--no-strict-optional|--strict-equality|--extra-checks] [--namespace-packages|--explicit-package-bases] [--disable-error-code|--enable-error-code TEXT] [--no-incremental|--no-error-summary|--show-error-codes|--show-column-numbers|--show-error-context|--pretty] [--no-color-output] [--disallow-untyped-calls|--allow-redefinition|--no-warn-no-return|--show-traceback|--hide-error-codes|--no-pretty] [--follow-imports normal|silent|skip|error] [--python-version TEXT] [--platform linux|darwin|win32] [--exclude TEXT] [-m|--module TEXT] [-p|--package TEXT] [--version|--help] [PATH...]" },
        Shipped { name: "ruff", sandbox: &OWN_WRITING, read_only: false, asks: false, has_paths: true, synopsis: "ruff help (analyze|check|clean|config|format|help|linter|rule|server|version)|check|format|rule|linter|config|version" },
        Shipped { name: "python", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: true, synopsis: "python -V|--version|-VV|-h|--help" },
        Shipped { name: "python3", sandbox: &WORKSPACE, read_only: false, asks: false, has_paths: true, synopsis: "python3 -V|--version|-VV|-h|--help" },
        Shipped { name: "pip", sandbox: &WORKSPACE, read_only: false, asks: true, has_paths: false, synopsis: "pip -V|--version|-h|--help" },
    ]),
    profile("go-develop", include_str!("../../../profiles/go-develop.yaml"), &[
        Shipped { name: "go", sandbox: &WORKSPACE, read_only: false, asks: true, has_paths: true, synopsis: "go vet|build|list|doc|mod|env|version|tool|help|test|run|fmt|clean|generate|get|install" },
        Shipped { name: "gofmt", sandbox: &OWN_WRITING, read_only: false, asks: false, has_paths: true, synopsis: "gofmt [-l] [-d] [-e] [-s] [-w] PATH..." },
    ]),
];
