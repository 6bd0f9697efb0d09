//! Variables that change how programs read their arguments: other rules for options and operands, or more words. A rule that
//! describes arguments relies on none of them being set.

use std::ffi::OsStr;

/// Unset for commands whose arguments a rule describes, whoever passes them on.
const KNOWN: &[&str] = &[
    // Whether options end at the first operand, and which old spellings count.
    "POSIXLY_CORRECT",
    "_POSIX2_VERSION",
    "POSIX_ME_HARDER",
    "POSIX_PEDANTIC",
    "GETOPT_COMPATIBLE",
    "CMD_ENV",
    "I_WANT_A_BROKEN_PS",
    "PS_FORMAT",
    "PS_PERSONALITY",
    "UNIX95",
    "BASHOPTS",
    "SHELLOPTS",
    "RSYNC_OLD_ARGS",
    "RSYNC_PROTECT_ARGS",
    "GIT_GLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    // More words, or a file of them.
    "ACKRC",
    "ACK_OPTIONS",
    "BAT_CONFIG_PATH",
    "BAT_OPTS",
    "BC_ENV_ARGS",
    "BZIP",
    "BZIP2",
    "CURL_HOME",
    "DC_ENV_ARGS",
    "FZF_DEFAULT_OPTS",
    "FZF_DEFAULT_OPTS_FILE",
    "GNUMAKEFLAGS",
    "GOFLAGS",
    "GREP_OPTIONS",
    "GZIP",
    "GZIP_OPT",
    "INDENT_PROFILE",
    "LESS",
    "LS_OPTIONS",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANOPT",
    "MFLAGS",
    "MORE",
    "PERL5OPT",
    "PYTEST_ADDOPTS",
    "RIPGREP_CONFIG_PATH",
    "RUBYOPT",
    "TAPE",
    "TAR_OPTIONS",
    "UNZIP",
    "UNZIPOPT",
    "WGETRC",
    "XZ_DEFAULTS",
    "XZ_OPT",
    "ZIPINFO",
    "ZIPINFOOPT",
    "ZIPOPT",
    "ZSTD_CLEVEL",
];

/// How the names of other such variables end or begin. They are unset only where they are passed on unnamed.
const ENDINGS: &[&str] = &["_OPTIONS", "_OPTS", "_OPT", "_ARGS", "_ADDOPTS"];
const BEGINNINGS: &[&str] = &["npm_config_", "NPM_CONFIG_"];

/// Whether a variable is known to change how a program reads its arguments.
pub(crate) fn changes_reading(name: &OsStr) -> bool {
    let is_same = |known: &&str| if cfg!(windows) { name.eq_ignore_ascii_case(known) } else { name == *known };
    KNOWN.iter().any(is_same)
}

/// Whether its name looks like that of such a variable.
pub(crate) fn seems_to_change_reading(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    changes_reading(OsStr::new(&*name))
        || ENDINGS.iter().any(|ending| name.to_ascii_uppercase().ends_with(ending))
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}
