//! The builtins of a POSIX shell that a call may use, and with which arguments.
//!
//! A quoted argument is not syntax, but some builtins of some shells evaluate their arguments again: bash evaluates the
//! subscript in `test -v 'a[$(x)]'`, `printf -v`, `read` and `unset`, and the value of a numeric variable, and runs
//! what is in there. So the shell runs only the commands in this table itself, with the kinds of arguments that the
//! table names. Everything else is a program, which the shell gets by its path.

use crate::policy::Settable;
use crate::shell::dialect::Refused;

/// One command that is built into every POSIX shell.
struct Builtin {
    word: &'static str,
    /// The letters that may follow a `-`, before the operands; `"*"` for all.
    options: &'static str,
    operands: Operands,
}

/// The operands that a builtin may have.
#[derive(Clone, Copy)]
enum Operands {
    /// Anything: they are printed, ignored, or checked elsewhere.
    Any,
    /// Numbers, jobs, signals, names of limits: nothing that could be evaluated.
    Plain,
    /// Names of variables.
    Names,
    /// Names of variables, or assignments to them.
    Assignments,
    /// Letters, a variable name, and anything.
    Getopts,
}

const BUILTINS: &[Builtin] = {
    use Operands::{Any, Assignments, Getopts, Names, Plain};
    &[
        Builtin { word: ":", options: "*", operands: Any },
        Builtin { word: "bg", options: "", operands: Plain },
        Builtin { word: "cd", options: "*", operands: Any },
        Builtin { word: "chdir", options: "*", operands: Any },
        Builtin { word: "echo", options: "*", operands: Any },
        Builtin { word: "exit", options: "", operands: Plain },
        Builtin { word: "export", options: "p", operands: Assignments },
        Builtin { word: "false", options: "*", operands: Any },
        Builtin { word: "fg", options: "", operands: Plain },
        Builtin { word: "getopts", options: "", operands: Getopts },
        Builtin { word: "hash", options: "r", operands: Plain },
        Builtin { word: "jobs", options: "lp", operands: Plain },
        Builtin { word: "kill", options: "*", operands: Plain },
        Builtin { word: "pwd", options: "LP", operands: Plain },
        Builtin { word: "read", options: "r", operands: Names },
        Builtin { word: "readonly", options: "p", operands: Assignments },
        // Its options are refused before.
        Builtin { word: "set", options: "*", operands: Any },
        Builtin { word: "shift", options: "", operands: Plain },
        Builtin { word: "times", options: "", operands: Plain },
        Builtin { word: "true", options: "*", operands: Any },
        Builtin { word: "type", options: "*", operands: Any },
        Builtin { word: "ulimit", options: "*", operands: Plain },
        Builtin { word: "umask", options: "S", operands: Plain },
        Builtin { word: "unset", options: "v", operands: Names },
        Builtin { word: "wait", options: "", operands: Plain },
    ]
};

/// Variables that decide which code runs, here or in every program that the shell starts, or whose value the shell
/// evaluates. Nobody can allow them.
const GUARDED: &[&str] = &[
    "PATH",
    "FPATH",
    "IFS",
    "ENV",
    "SHELLOPTS",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PROMPT",
    "CDPATH",
    "PWD",
    "OLDPWD",
    "ZDOTDIR",
    "DIRSTACK",
    "FUNCNAME",
    "GROUPS",
    "PIPESTATUS",
    "MAPFILE",
    "COPROC",
    "EUID",
    "UID",
    "PPID",
    "LINENO",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
    "OPTIND",
    "OPTERR",
    "TMOUT",
    "MAILCHECK",
    "IGNOREEOF",
    "INPUTRC",
    "EXECIGNORE",
    "GLOBIGNORE",
    "POSIXLY_CORRECT",
];
const GUARDED_PREFIXES: &[&str] = &["LD_", "DYLD_", "BASH", "HIST", "COMP_", "EPOCH", "READLINE_", "PROMPT_", "ZSH"];
/// Variables from which widely used programs take code, libraries or other programs. No such list is complete, so it counts
/// only where no rule limits commands, and the operator names no variables.
const HOOKS: &[&str] = &[
    "AWKLIBPATH",
    "AWKPATH",
    "BROWSER",
    "CLASSPATH",
    "EDITOR",
    "GCONV_PATH",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GLIBC_TUNABLES",
    "GNUMAKEFLAGS",
    "LESSCLOSE",
    "LESSOPEN",
    "MAKEFLAGS",
    "MANPAGER",
    "PAGER",
    "RUSTC",
    "RUSTC_WRAPPER",
    "SHELL",
    "SSH_ASKPASS",
    "TAR_OPTIONS",
    "VISUAL",
];
const HOOK_PREFIXES: &[&str] = &[
    "CARGO_",
    "GIT_CONFIG",
    "JAVA_",
    "JDK_",
    "LUA_",
    "NODE_",
    "NPM_CONFIG_",
    "OPENSSL_",
    "PERL5",
    "PYTHON",
    "RUBY",
    "_JAVA_",
    "npm_config_",
];
/// Variables whose value some shells evaluate.
const NUMBERS: &[&str] = &["COLUMNS", "LINES", "SHLVL"];

/// Whether every shell has the command built in, and a call may use it.
pub(super) fn is_builtin(word: &str) -> bool {
    find(word).is_some()
}

fn find(word: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.word == word)
}

/// Checks the arguments of a builtin; other words may have any arguments.
///
/// # Errors
/// [`Refused::Variable`], [`Refused::NotSettable`], [`Refused::Limit`] or [`Refused::Operand`].
pub(super) fn check(word: &str, arguments: &[String], settable: Settable<'_>) -> Result<(), Refused> {
    let Some(Builtin { options, operands, .. }) = find(word) else { return Ok(()) };
    if *options == "*" && matches!(operands, Operands::Any) {
        return Ok(());
    }
    let is_option = |argument: &&String| argument.len() > 1 && argument.starts_with('-') && *argument != "--";
    let count = arguments.iter().take_while(is_option).count();
    let (given, rest) = arguments.split_at(count);
    let refused = |argument: &String| Refused::Operand { word: word.to_owned(), argument: argument.clone() };
    let is_known = |option: &&String| {
        let mut letters = option.chars().skip(1);
        if *options == "*" {
            letters.all(|letter| letter.is_ascii_alphanumeric())
        } else {
            letters.all(|letter| options.contains(letter))
        }
    };
    if let Some(unknown) = given.iter().find(|option| !is_known(option)) {
        return Err(refused(unknown));
    }
    if word == "ulimit" {
        check_limit(arguments)?;
    }
    let rest = rest.strip_prefix(&["--".to_owned()]).unwrap_or(rest);
    let name = |variable: &str| name(variable, settable);
    rest.iter().enumerate().try_for_each(|(place, operand)| match (operands, place) {
        (Operands::Any, _) | (Operands::Getopts, 2..) => Ok(()),
        (Operands::Plain, _) | (Operands::Getopts, 0) => {
            is_plain(operand).then_some(()).ok_or_else(|| refused(operand))
        }
        (Operands::Names, _) | (Operands::Getopts, _) => name(operand).unwrap_or_else(|| Err(refused(operand))),
        (Operands::Assignments, _) => match operand.split_once('=') {
            Some((variable, value))
                if NUMBERS.contains(&variable) && !value.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                Err(refused(operand))
            }
            Some((variable, _)) => name(variable).unwrap_or_else(|| Err(refused(operand))),
            None => name(operand).unwrap_or_else(|| Err(refused(operand))),
        },
    })
}

/// The fewest files that a shell, which keeps some open under higher numbers, can be limited to and go on.
const FEWEST_FILES: u64 = 64;

/// Refuses limits with which the shell itself can't start the next command, and so never answers: of open files (`-n`), and of
/// processes (`-u`, in some shells `-p`), which counts all that the user runs. The letters can be in any word.
fn check_limit(arguments: &[String]) -> Result<(), Refused> {
    let (mut of_files, mut of_processes, mut lowest) = (false, false, None);
    for argument in arguments {
        if argument.starts_with('-') {
            of_files |= argument.contains(['n', 'N']);
            of_processes |= argument.contains(['u', 'p', 'N']);
        }
        let digits = argument.trim_start_matches(|char: char| !char.is_ascii_digit());
        if !digits.is_empty() {
            let value = digits.parse().unwrap_or(0);
            lowest = Some(lowest.map_or(value, |lowest: u64| lowest.min(value)));
        }
    }
    match lowest {
        Some(_) if of_processes => Err(Refused::Limit { of: "processes" }),
        Some(lowest) if of_files && lowest < FEWEST_FILES => Err(Refused::Limit { of: "open files" }),
        Some(_) | None => Ok(()),
    }
}

/// Letters, digits, and the signs of jobs, modes and lists of options.
fn is_plain(operand: &str) -> bool {
    operand.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"%+-=,:_.".contains(&byte))
}

/// Whether the variable of this name may be changed; `None` if it is not a plain name, such as an element of an array.
fn name(name: &str, settable: Settable<'_>) -> Option<Result<(), Refused>> {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_name =
        name.bytes().next().is_some_and(is_letter) && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit());
    is_name.then(|| {
        let is_in = |names: &[&str], prefixes: &[&str]| {
            names.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        match settable {
            _ if is_in(GUARDED, GUARDED_PREFIXES) => Err(Refused::Variable { name: name.to_owned() }),
            Settable::Named(names) if names.iter().any(|settable| settable == name) => Ok(()),
            Settable::Named(names) => Err(Refused::NotSettable { name: name.to_owned(), settable: names.to_vec() }),
            Settable::Harmless if is_in(HOOKS, HOOK_PREFIXES) => Err(Refused::Variable { name: name.to_owned() }),
            Settable::Harmless => Ok(()),
        }
    })
}
