//! Rules that the grammar allows and that still deserve an error or a warning, above all rules for programs that run other
//! programs: what these run has to be pinned to a list of words.

use super::super::error::{PolicyError, PolicyWarning, Problem};
use super::super::grammar::{
    Access, Arguments, CommandRule, Effect, Form, Level, Operand, OptionRule, Order, Origin, Syntax, Takes, TextType,
    ValueType,
};
use super::escapes::Escapes;
use crate::integrity::{Reach, is_runner, reach_of};
use crate::policy::{changes_reading, quoted};

/// Interpreters whose code is mostly harmless, but can start programs.
const LANGUAGES: [&str; 8] = ["sed", "awk", "gawk", "mawk", "nawk", "m4", "sqlite3", "psql"];

/// Options of interpreters that take code.
const CODE: [&str; 12] =
    ["-c", "-e", "-E", "-m", "-r", "-p", "--eval", "--execute", "--command", "-pe", "-ne", "--print"];

/// Options of find that run programs.
const ACTIONS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Checks the rule of a command.
pub(in crate::policy::rules) fn check(
    command: &CommandRule,
    warnings: &mut Vec<PolicyWarning>,
) -> Result<(), PolicyError> {
    check_as(command.sought(), command, warnings)
}

/// The same for a program that is known under another name.
pub(super) fn check_as(
    name: &str,
    command: &CommandRule,
    warnings: &mut Vec<PolicyWarning>,
) -> Result<(), PolicyError> {
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let reach = reach_of(name);
    let runs = reach.filter(|reach| *reach == Reach::Interpreter || is_runner(base));
    let escapes = Escapes::of(base);
    let first = warnings.len();
    warn_of_written_paths(command, warnings);
    check_reading(command)?;
    for level in command.level.levels() {
        if let Arguments::Any { .. } = level.arguments {
            if let Some(reach) = reach.filter(|_| level.path.len() == 1) {
                let text = format!("`{}` {}", command.name, reach.meaning());
                warnings.push(PolicyWarning { origin: level.origin.clone(), text });
            }
        }
        for option in level.all_options() {
            // Only in front of its subcommand is `-c` a setting of git.
            let is_setting = base != "git" || level.path.len() == 1 || spelling_in(option, &["-c"]).is_none();
            if is_setting {
                escapes.check(option, warnings);
            }
            if let Some(action) = spelling_in(option, &ACTIONS).filter(|_| base == "find") {
                if !is_pinned(&option.takes) {
                    return Err(unpinned(command, Reach::Wrapper, option.origin.clone(), &shown(option)));
                }
                check_action(action, option, warnings);
            }
        }
        if let Some(reach) = runs {
            level.forms().iter().try_for_each(|form| pinned(command, base, reach, level, form, warnings))?;
        }
    }
    // The options of a level are also in each of its forms.
    let mut seen = warnings.split_off(first);
    seen.sort_by(|one, other| (&one.origin, &one.text).cmp(&(&other.origin, &other.text)));
    seen.dedup();
    warnings.extend(seen);
    Ok(())
}

/// The first spelling of an option that is in a list.
fn spelling_in<'o>(option: &'o OptionRule, list: &[&str]) -> Option<&'o str> {
    option.spellings.iter().map(String::as_str).find(|spelling| list.contains(spelling))
}

/// Warns of an action of find that can start a program which runs code or starts programs itself.
fn check_action(action: &str, option: &OptionRule, warnings: &mut Vec<PolicyWarning>) {
    let Takes::Value { value: ValueType::OneOf(words), .. } = &option.takes else { return };
    if let Some(runs) = words.iter().filter_map(|word| Runs::of(word)).max_by_key(Runs::rank) {
        let text = format!("`{action}` can start `{}`, which {}", runs.program(), runs.meaning());
        warnings.push(PolicyWarning { origin: option.origin.clone(), text });
    }
}

/// Whether an option takes only words from a fixed list.
pub(super) fn is_pinned(takes: &Takes) -> bool {
    matches!(takes, Takes::Value { value: ValueType::OneOf(_), .. })
}

/// Whether an operand is any number of any words, which says as plainly as `any` that nothing is limited.
fn takes_anything(operand: &Operand) -> bool {
    takes_any_word(operand) && operand.least == 0 && operand.most.is_none()
}

/// Checks that a form limits what an interpreter or a wrapper runs to a fixed list of words.
fn pinned(
    command: &CommandRule,
    base: &str,
    reach: Reach,
    level: &Level,
    form: &Form,
    warnings: &mut Vec<PolicyWarning>,
) -> Result<(), PolicyError> {
    let is_runner = is_runner(base);
    let is_language = LANGUAGES.contains(&base);
    if form.effect == Effect::Deny {
        return Ok(());
    }
    // With `--sandbox`, sed and awk start no programs.
    if level.insert.iter().any(|word| word == "--sandbox") {
        return Ok(());
    }
    if level.syntax == Syntax::Operands && form.all_operands().all(takes_anything) && !form.operands.is_empty() {
        let text = format!("`{}` {}", command.name, reach.meaning());
        warnings.push(PolicyWarning { origin: form.origin.clone(), text });
        return Ok(());
    }
    for option in form.options.iter() {
        let takes_code = spelling_in(option, &CODE).is_some();
        let is_free = matches!(&option.takes, Takes::Value { value: ValueType::Text(_) | ValueType::Path(_), .. });
        if takes_code && is_free && is_language {
            warnings.push(unpinned(command, reach, option.origin.clone(), &shown(option)).into());
        } else if takes_code && is_free {
            return Err(unpinned(command, reach, option.origin.clone(), &shown(option)));
        }
    }
    let mut walk = Walk::new(base, is_runner);
    level.insert.iter().for_each(|word| walk.pass(std::slice::from_ref(word), true));
    for operand in form.all_operands() {
        let is_text = match &operand.value {
            ValueType::OneOf(words) => {
                walk.pass(words, operand.least > 0);
                continue;
            }
            ValueType::Integer { .. } => continue,
            ValueType::Text(_) => true,
            ValueType::Path(_) => false,
        };
        let name = operand.name.as_ref().map_or("an operand".to_owned(), |name| format!("`{name}`"));
        let mut warn = |text| warnings.push(PolicyWarning { origin: operand.origin.clone(), text });
        match &walk.runs {
            None => break,
            Some(Runs::Options(_)) if !is_text => {}
            Some(Runs::Code(program)) if !is_text => {
                let program = if walk.is_through { program } else { &command.name };
                warn(format!(
                    "`{program}` runs whatever is in the file that a call names as {name}; list the files with `one_of`"
                ));
                break;
            }
            Some(runs) if walk.is_through => {
                let (program, meaning) = (runs.program(), runs.meaning());
                warn(format!(
                    "`{}` starts `{program}`, which {meaning}, and {name} does not limit it; list what it may be with `one_of`",
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
    let has_code = form.options.iter().any(|option| option.is_required && spelling_in(option, &CODE).is_some());
    let from_input = match &walk.runs {
        _ if !command.stdin => None,
        _ if walk.takes_words => {
            Some("adds words of its input to those of the call, and no check of arguments sees them".to_owned())
        }
        Some(Runs::Code(program)) if !has_code && !READS_DATA.contains(&program.as_str()) => Some(if walk.is_through {
            format!("starts `{program}`, which runs any code in its input")
        } else {
            "runs any code in its input".to_owned()
        }),
        Some(_) | None => None,
    };
    if let Some(what) = from_input {
        let text = format!("`{}` {what}: its rule says `stdin: true`", command.name);
        warnings.push(PolicyWarning { origin: form.origin.clone(), text });
    }
    Ok(())
}

/// Interpreters whose input is data, not code.
const READS_DATA: [&str; 5] = ["sed", "awk", "gawk", "mawk", "nawk"];

/// Wrappers that pass words from their input to the program.
const TAKES_WORDS: [&str; 2] = ["xargs", "parallel"];

const RUNS_CODE: &str = "runs any code that it is given";
const STARTS_PROGRAMS: &str = "starts the programs that it is told to";

/// The choice that the next word of a call makes.
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
        if is_runner(base) {
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
            Self::Code(_) => RUNS_CODE,
            Self::Programs(_) => STARTS_PROGRAMS,
            Self::Options(_) => "can start other programs by its own options",
        }
    }

    /// How much a call can choose by a word that is not limited here.
    fn rank(&self) -> u8 {
        match self {
            Self::Options(_) => 0,
            Self::Code(_) => 1,
            Self::Programs(_) => 2,
        }
    }
}

/// Follows the words of a call from first to last: a wrapper may start another wrapper, and that one an interpreter.
struct Walk {
    /// `None` if what follows is for a script, or for a program that starts nothing.
    runs: Option<Runs>,
    /// Whether that program is started by the command, and is not the command itself.
    is_through: bool,
    /// Whether one of the wrappers takes words from its input.
    takes_words: bool,
}

impl Walk {
    fn new(base: &str, is_runner: bool) -> Self {
        let name = base.to_owned();
        let runs = Some(if is_runner { Runs::Programs(name) } else { Runs::Code(name) });
        Self { runs, is_through: false, takes_words: TAKES_WORDS.contains(&base) }
    }

    /// Goes past a word that is one of these; `is_always` says that the word can't be left out.
    fn pass(&mut self, words: &[String], is_always: bool) {
        match &self.runs {
            None | Some(Runs::Options(_)) => {}
            // The words after the name of a script are for the script.
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

fn unpinned(command: &CommandRule, reach: Reach, origin: Origin, what: &str) -> PolicyError {
    let meaning = match reach {
        Reach::Interpreter => RUNS_CODE,
        Reach::Wrapper => STARTS_PROGRAMS,
    };
    let (command, meaning, what) = (command.name.clone(), meaning.to_owned(), what.to_owned());
    PolicyError { origin, problem: Problem::Unpinned { command, meaning, what } }
}

/// Whether no word but an overlong one is none of it.
pub(in crate::policy::rules) fn takes_any_word(operand: &Operand) -> bool {
    let is_any = |text: &TextType| {
        text.chars.is_none()
            && !text.relative
            && text.must_begin.is_empty()
            && "-+@".chars().all(|c| text.first.contains(c))
    };
    matches!(&operand.value, ValueType::Text(text) if is_any(text))
}

/// Warns of paths to be written in a rule whose calls can write nothing.
fn warn_of_written_paths(command: &CommandRule, warnings: &mut Vec<PolicyWarning>) {
    if !command.sandbox.writes_nothing() {
        return;
    }
    let is_written = |value: &ValueType| matches!(value, ValueType::Path(path) if path.access == Access::Write);
    let takes_written = |option: &OptionRule| matches!(&option.takes, Takes::Value { value, .. } if is_written(value));
    for form in command.level.levels().into_iter().flat_map(Level::forms) {
        let options = form.options.iter().filter(|option| takes_written(option)).map(|option| &option.origin);
        let operands = form.all_operands().filter(|operand| is_written(&operand.value)).map(|operand| &operand.origin);
        warnings.extend(options.chain(operands).map(|origin| PolicyWarning {
            origin: origin.clone(),
            text: format!(
                "a path to be written, but `{}` says `write: none`, so its calls can write nothing",
                command.name
            ),
        }));
    }
}

/// Makes programs end their options at the first operand, whatever its value is; see getopt(3).
const POSIXLY_CORRECT: &str = "POSIXLY_CORRECT";

/// Checks that a command's own variables don't make its program read words in another order than the rule.
fn check_reading(command: &CommandRule) -> Result<(), PolicyError> {
    let is_moved = |level: &&Level| {
        level.syntax == Syntax::Gnu
            && level.order != Order::OptionsFirst
            && matches!(level.arguments, Arguments::Described { .. })
    };
    let levels = command.level.levels();
    let accepts = |level: &Level| level.env.accept.keys().find(|name| changes_reading(name.as_ref())).cloned();
    let describes = |level: &&Level| matches!(level.arguments, Arguments::Described { .. });
    if let Some((name, level)) =
        levels.iter().copied().filter(describes).find_map(|level| Some((accepts(level)?, level)))
    {
        let what = format!("`env` of command {}", quoted(&command.name));
        let expected = "variables in `accept` that don't change how the program reads its words".to_owned();
        return Err(PolicyError {
            origin: level.origin.clone(),
            problem: Problem::Value { what, expected, found: quoted(&name) },
        });
    }
    let is_set = levels.iter().any(|level| level.env.set.contains_key(POSIXLY_CORRECT));
    match levels.into_iter().find(is_moved).filter(|_| is_set) {
        None => Ok(()),
        Some(level) => {
            let what = format!("`env` of command {}", quoted(&command.name));
            let expected = format!("no `{POSIXLY_CORRECT}`, `order: options_first` or `syntax: posix` with it");
            let found = format!("`{POSIXLY_CORRECT}` with another order of `{}`", level.title());
            Err(PolicyError { origin: level.origin.clone(), problem: Problem::Value { what, expected, found } })
        }
    }
}
