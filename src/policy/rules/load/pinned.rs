//! What deserves an error or a warning though the grammar allows it: rules for programs that run other programs, and
//! options that escape every check of arguments.

use super::super::error::{PolicyError, PolicyWarning, Problem};
use super::super::grammar::{Access, Arguments, CommandRule, Form, Level, Operand, OptionRule, Takes, ValueType};
use crate::policy::wrappers::{Reach, reach_of};

/// Programs whose first operand is the program to run.
const RUNNERS: [&str; 30] = [
    "env",
    "xargs",
    "nice",
    "nohup",
    "timeout",
    "time",
    "setsid",
    "stdbuf",
    "sudo",
    "doas",
    "su",
    "watch",
    "ionice",
    "chrt",
    "taskset",
    "flock",
    "strace",
    "ltrace",
    "unshare",
    "nsenter",
    "chroot",
    "script",
    "setpriv",
    "setarch",
    "systemd-run",
    "parallel",
    "npx",
    "bunx",
    "uvx",
    "busybox",
];

/// Interpreters whose code is mostly harmless, and can start a program all the same.
const LANGUAGES: [&str; 8] = ["sed", "awk", "gawk", "mawk", "nawk", "m4", "sqlite3", "psql"];

/// Options by which interpreters take code.
const CODE: [&str; 12] =
    ["-c", "-e", "-E", "-m", "-r", "-p", "--eval", "--execute", "--command", "-pe", "-ne", "--print"];

/// Options of find by which it runs programs.
const ACTIONS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// A command, an option of it, and what that does.
type Escape = (&'static str, &'static str, &'static str);

/// Options whose value names a program that the command starts, or sets something that can name one.
const STARTS: [(&str, &[&str]); 15] = [
    (
        "tar",
        &[
            "--to-command",
            "-I",
            "--use-compress-program",
            "--checkpoint-action",
            "--rsh-command",
            "-F",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    ("cpio", &["--rsh-command"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("fd", &["-x", "--exec", "-X", "--exec-batch"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("git", &["-c", "--config-env", "--exec-path", "--upload-pack", "--receive-pack", "--open-files-in-pager"]),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("ssh", &["-o", "-F"]),
    ("scp", &["-o", "-F", "-S"]),
    ("go", &["-exec", "-toolexec", "-vettool"]),
    ("cargo", &["--config"]),
    ("make", &["--eval"]),
    ("npm", &["--script-shell", "--node-options"]),
    ("man", &["-P", "--pager", "-H", "--html"]),
];

/// Options that follow links beneath what a call names, or read names from a file. The empty command is every one.
const ESCAPES: [Escape; 35] = [
    ("grep", "-R", "follows links"),
    ("", "--dereference-recursive", "follows links"),
    ("find", "-L", "follows links"),
    ("find", "-H", "follows links"),
    ("find", "-follow", "follows links"),
    ("rg", "-L", "follows links"),
    ("fd", "-L", "follows links"),
    ("ls", "-L", "follows links"),
    ("du", "-L", "follows links"),
    ("tree", "-l", "follows links"),
    ("cp", "-L", "follows links"),
    ("tar", "-h", "follows links"),
    ("rsync", "-L", "follows links"),
    ("chmod", "-R", "works on all that lies beneath"),
    ("chown", "-R", "works on all that lies beneath"),
    ("rg", "--follow", "follows links"),
    ("fd", "--follow", "follows links"),
    ("ls", "--dereference", "follows links"),
    ("du", "--dereference", "follows links"),
    ("cp", "--dereference", "follows links"),
    ("", "--files-from", "reads names from a file"),
    ("", "--files0-from", "reads names from a file"),
    ("", "-files0-from", "reads names from a file"),
    ("", "--from-file", "reads names from a file"),
    ("", "--pathspec-from-file", "reads names from a file"),
    ("", "--exclude-from", "reads names from a file"),
    ("tar", "-T", "reads names from a file"),
    ("tar", "-X", "reads names from a file"),
    ("du", "-X", "reads names from a file"),
    ("xargs", "-a", "reads words from a file"),
    ("grep", "-f", "reads words from a file"),
    ("rg", "-f", "reads words from a file"),
    ("file", "-f", "reads names from a file"),
    ("date", "-f", "reads lines from a file"),
    ("wget", "-i", "reads names from a file"),
];

/// Looks through the rule of a command.
pub(super) fn check(command: &CommandRule, warnings: &mut Vec<PolicyWarning>) -> Result<(), PolicyError> {
    let name = command.program.as_deref().unwrap_or(&command.name);
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let reach = reach_of(name);
    let escaping: Vec<&Escape> =
        ESCAPES.iter().filter(|(command, ..)| command.is_empty() || *command == base).collect();
    let starting = STARTS.iter().find(|(command, _)| *command == base).map_or(&[][..], |(_, spellings)| spellings);
    let first = warnings.len();
    if command.sandbox.writes_nothing() {
        warnings.extend(written_paths(command));
    }
    for level in command.level.levels() {
        let Arguments::Described { options, forms, .. } = &level.arguments else {
            if let Some(reach) = reach.filter(|_| level.path.len() == 1) {
                let text = format!("`{}` {}", command.name, reach.meaning());
                warnings.push(PolicyWarning { origin: level.origin.clone(), text });
            }
            continue;
        };
        let all = options.iter().chain(forms.iter().flat_map(|form| form.options.iter()));
        for option in all {
            escapes(&escaping, option, warnings);
            starts(starting, option, warnings);
            if base == "find"
                && !is_pinned(&option.takes)
                && option.spellings.iter().any(|spelling| ACTIONS.contains(&spelling.as_str()))
            {
                return Err(unpinned(command, Reach::Wrapper, option.origin.clone(), &shown(option)));
            }
        }
        for form in forms {
            pinned(command, base, reach, level, form, warnings)?;
        }
    }
    // An option of the level stands in each of its forms.
    let mut seen = warnings.split_off(first);
    seen.sort_by(|one, other| (&one.origin, &one.text).cmp(&(&other.origin, &other.text)));
    seen.dedup();
    warnings.extend(seen);
    Ok(())
}

/// Paths to be written of a rule whose calls can write nothing.
fn written_paths(command: &CommandRule) -> impl Iterator<Item = PolicyWarning> {
    let is_written = |value: &ValueType| matches!(value, ValueType::Path(path) if path.access == Access::Write);
    let of_form = move |form: &Form| {
        let options = form
            .options
            .iter()
            .filter(|option| matches!(&option.takes, Takes::Value { value, .. } if is_written(value)));
        let operands = form.operands.iter().chain(form.after_double_dash.iter().flatten());
        let operands = operands.filter(|operand| is_written(&operand.value)).map(|operand| operand.origin.clone());
        options.map(|option| option.origin.clone()).chain(operands).collect::<Vec<_>>()
    };
    let origins: Vec<_> = command
        .level
        .levels()
        .into_iter()
        .filter_map(|level| match &level.arguments {
            Arguments::Described { forms, .. } => Some(forms),
            Arguments::Any { .. } => None,
        })
        .flatten()
        .flat_map(of_form)
        .collect();
    let text =
        format!("a path to be written, but `{}` says `write: none`, so its calls can write nothing", command.name);
    origins.into_iter().map(move |origin| PolicyWarning { origin, text: text.clone() })
}

fn escapes(escaping: &[&Escape], option: &OptionRule, warnings: &mut Vec<PolicyWarning>) {
    let found = escaping.iter().find(|(_, spelling, _)| option.spellings.iter().any(|own| own == spelling));
    if let Some((_, spelling, what)) = found {
        let text = format!(
            "`{spelling}` {what}, so a call reaches more than its words name; no check of arguments can see that"
        );
        warnings.push(PolicyWarning { origin: option.origin.clone(), text });
    }
}

fn starts(starting: &[&str], option: &OptionRule, warnings: &mut Vec<PolicyWarning>) {
    let found = starting.iter().find(|spelling| option.spellings.iter().any(|own| own == *spelling));
    if let Some(spelling) = found.filter(|_| option.takes != Takes::Flag && !is_pinned(&option.takes)) {
        let text = format!("`{spelling}` can start any program that a call names; name its values with `one_of`");
        warnings.push(PolicyWarning { origin: option.origin.clone(), text });
    }
}

/// Whether an option takes only words of a fixed list.
fn is_pinned(takes: &Takes) -> bool {
    matches!(takes, Takes::Value { value: ValueType::OneOf(_), .. })
}

/// Whether what an interpreter or a wrapper is told to run is one of a few words.
fn pinned(
    command: &CommandRule,
    base: &str,
    reach: Option<Reach>,
    level: &Level,
    form: &Form,
    warnings: &mut Vec<PolicyWarning>,
) -> Result<(), PolicyError> {
    let is_runner = RUNNERS.contains(&base);
    let Some(reach) = reach.filter(|reach| is_runner || *reach == Reach::Interpreter) else { return Ok(()) };
    let is_language = LANGUAGES.contains(&base);
    // What switches off that such a program starts others.
    if level.insert.iter().any(|word| word == "--sandbox") {
        return Ok(());
    }
    for option in form.options.iter() {
        let takes_code = option.spellings.iter().any(|spelling| CODE.contains(&spelling.as_str()));
        let is_free = matches!(&option.takes, Takes::Value { value: ValueType::Text(_) | ValueType::Path(_), .. });
        if takes_code && is_free && is_language {
            warnings.push(unpinned(command, reach, option.origin.clone(), &shown(option)).into());
        } else if takes_code && is_free {
            return Err(unpinned(command, reach, option.origin.clone(), &shown(option)));
        }
    }
    let name = |operand: &Operand| operand.name.as_ref().map_or("an operand".to_owned(), |name| format!("`{name}`"));
    // What stands behind the word that is pinned is for the program that it names.
    let is_pinned = |operand: &&Operand| matches!(operand.value, ValueType::OneOf(_));
    let mut operands = form.operands.iter().chain(form.after_double_dash.iter().flatten());
    let free = operands.by_ref().take_while(|operand| !is_pinned(operand));
    let Some(free) = free.into_iter().find(|operand| !matches!(operand.value, ValueType::Integer { .. })) else {
        return Ok(());
    };
    match &free.value {
        ValueType::Path(_) if !is_runner => {
            let text = format!(
                "`{}` runs whatever stands in the file that a call names as {}; name the files with `one_of`",
                command.name,
                name(free)
            );
            warnings.push(PolicyWarning { origin: free.origin.clone(), text });
            Ok(())
        }
        ValueType::Text(_) if is_language => {
            warnings.push(unpinned(command, reach, free.origin.clone(), &name(free)).into());
            Ok(())
        }
        ValueType::Text(_) | ValueType::Path(_) | ValueType::OneOf(_) | ValueType::Integer { .. } => {
            Err(unpinned(command, reach, free.origin.clone(), &name(free)))
        }
    }
}

fn shown(option: &OptionRule) -> String {
    option.spellings.first().map_or_else(String::new, |spelling| format!("`{spelling}`"))
}

fn unpinned(command: &CommandRule, reach: Reach, origin: super::super::grammar::Origin, what: &str) -> PolicyError {
    let meaning = match reach {
        Reach::Interpreter => "runs any code that it is given",
        Reach::Wrapper => "starts the programs that it is told to",
    };
    let (command, meaning, what) = (command.name.clone(), meaning.to_owned(), what.to_owned());
    PolicyError { origin, problem: Problem::Unpinned { command, meaning, what } }
}
