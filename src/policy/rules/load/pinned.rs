//! What deserves an error or a warning though the grammar allows it: rules for programs that run other programs, and
//! options that escape every check of arguments.

use super::super::error::{PolicyError, PolicyWarning, Problem};
use super::super::grammar::{Access, Arguments, CommandRule, Effect, Form, Level, OptionRule, Takes, ValueType};
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
            if base == "find" {
                actions(option, warnings);
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

/// What find starts by its actions that runs code or starts programs itself.
fn actions(option: &OptionRule, warnings: &mut Vec<PolicyWarning>) {
    let Takes::Value { value: ValueType::OneOf(words), .. } = &option.takes else { return };
    let Some(action) = option.spellings.iter().find(|spelling| ACTIONS.contains(&spelling.as_str())) else { return };
    if let Some(runs) = words.iter().filter_map(|word| Runs::of(word)).max_by_key(Runs::rank) {
        let text = format!("`{action}` can start `{}`, which {}", runs.program(), runs.meaning());
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
    if form.effect == Effect::Deny {
        return Ok(());
    }
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
    let mut row = Row::new(base, is_runner);
    level.insert.iter().for_each(|word| row.pass(std::slice::from_ref(word), true));
    let operands = form.operands.iter().chain(form.after_double_dash.iter().flatten());
    for operand in operands {
        let is_text = match &operand.value {
            ValueType::OneOf(words) => {
                row.pass(words, operand.least > 0);
                continue;
            }
            ValueType::Integer { .. } => continue,
            ValueType::Text(_) => true,
            ValueType::Path(_) => false,
        };
        let name = operand.name.as_ref().map_or("an operand".to_owned(), |name| format!("`{name}`"));
        let mut warn = |text| warnings.push(PolicyWarning { origin: operand.origin.clone(), text });
        match &row.runs {
            None => break,
            Some(Runs::Options(_)) if !is_text => {}
            Some(Runs::Code(program)) if !is_text => {
                let program = if row.is_through { program } else { &command.name };
                warn(format!(
                    "`{program}` runs whatever stands in the file that a call names as {name}; name the files with `one_of`"
                ));
                break;
            }
            Some(runs) if row.is_through => {
                let (program, meaning) = (runs.program(), runs.meaning());
                warn(format!(
                    "`{}` starts `{program}`, which {meaning}, and {name} does not pin what that is; name it with `one_of`",
                    command.name
                ));
                break;
            }
            Some(_) if is_language => {
                warnings.push(unpinned(command, reach, operand.origin.clone(), &name).into());
                break;
            }
            Some(_) => return Err(unpinned(command, reach, operand.origin.clone(), &name)),
        }
    }
    let has_code = form
        .options
        .iter()
        .any(|option| option.is_required && option.spellings.iter().any(|spelling| CODE.contains(&spelling.as_str())));
    let from_input = match &row.runs {
        _ if !command.stdin => None,
        _ if row.takes_words => {
            Some("adds words of its input to those of the call, and no check of arguments sees them".to_owned())
        }
        Some(Runs::Code(program)) if !has_code && !READS_DATA.contains(&program.as_str()) => Some(if row.is_through {
            format!("starts `{program}`, which runs any code in its input")
        } else {
            "runs any code in its input".to_owned()
        }),
        Some(_) | None => None,
    };
    if let Some(what) = from_input {
        let text = format!("`{}` {what}; leave `stdin: true` out", command.name);
        warnings.push(PolicyWarning { origin: form.origin.clone(), text });
    }
    Ok(())
}

/// Interpreters whose input is data and no code.
const READS_DATA: [&str; 5] = ["sed", "awk", "gawk", "mawk", "nawk"];

/// Wrappers that take words for the program from their input.
const TAKES_WORDS: [&str; 2] = ["xargs", "parallel"];

/// What the next word of a call decides.
enum Runs {
    /// The code that this interpreter runs.
    Code(String),
    /// The program that this wrapper starts.
    Programs(String),
    /// An option or an operand of this program, which may name a program.
    Options(String),
}

impl Runs {
    fn of(word: &str) -> Option<Self> {
        let base = word.rsplit(['/', '\\']).next().unwrap_or(word);
        if RUNNERS.contains(&base) {
            return Some(Self::Programs(base.to_owned()));
        }
        reach_of(word).map(|reach| match reach {
            Reach::Interpreter => Self::Code(base.to_owned()),
            Reach::Wrapper => Self::Options(base.to_owned()),
        })
    }

    fn program(&self) -> &str {
        match self {
            Self::Code(program) | Self::Programs(program) | Self::Options(program) => program,
        }
    }

    fn meaning(&self) -> &'static str {
        match self {
            Self::Code(_) => "runs any code that it is given",
            Self::Programs(_) => "starts the programs that it is told to",
            Self::Options(_) => "can start other programs by its own options",
        }
    }

    /// How much a call decides by a word that is free here.
    fn rank(&self) -> u8 {
        match self {
            Self::Options(_) => 0,
            Self::Code(_) => 1,
            Self::Programs(_) => 2,
        }
    }
}

/// The words of a call from the first to the last: wrappers may start wrappers, and these an interpreter.
struct Row {
    /// `None` where what follows is for a program that starts nothing, or a script.
    runs: Option<Runs>,
    /// Whether that program is started by the command, and is not the command.
    is_through: bool,
    /// Whether one of the wrappers takes words from its input.
    takes_words: bool,
}

impl Row {
    fn new(base: &str, is_runner: bool) -> Self {
        let name = base.to_owned();
        let runs = Some(if is_runner { Runs::Programs(name) } else { Runs::Code(name) });
        Self { runs, is_through: false, takes_words: TAKES_WORDS.contains(&base) }
    }

    /// Goes past a word that is one of these, if there always is one.
    fn pass(&mut self, words: &[String], is_always: bool) {
        match &self.runs {
            None | Some(Runs::Options(_)) => {}
            // Behind the name of a script stands what is for the script.
            Some(Runs::Code(_)) => {
                if is_always && !words.iter().any(|word| word.starts_with('-')) {
                    self.runs = None;
                }
            }
            Some(Runs::Programs(_)) => {
                let is_program = |word: &&String| {
                    !word.starts_with('-') && !word.contains('=') && !word.starts_with(|c: char| c.is_ascii_digit())
                };
                let programs: Vec<&String> = words.iter().filter(is_program).collect();
                if programs.is_empty() {
                    return;
                }
                let worst = programs.iter().filter_map(|word| Runs::of(word)).max_by_key(Runs::rank);
                self.takes_words |= programs.iter().any(|word| TAKES_WORDS.contains(&word.as_str()));
                if is_always {
                    self.is_through = true;
                    self.runs = worst;
                }
            }
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
