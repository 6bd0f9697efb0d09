//! Which known program gets the arguments of a script, as far as its text tells. No script is run for it.
//!
//! - `shell`: scripts for shells, command by command; `words`: their words
//! - `language`: scripts for Python, Perl, Ruby, Node, PHP, Lua and Tcl, call by call
//!
//! It only helps operators. A script that nothing is found in is not therefore harmless: it can hide what it does, for example in a file
//! that it reads.

mod language;
mod shell;
mod words;

use super::wrappers::{Reach, is_runner, reach_of, stem};

/// Finds the known program that a word names; `None` if it names another one.
pub(super) type Lookup<'l> = dyn Fn(&str) -> Option<String> + 'l;

/// Stands in a text for what is not known of it.
pub(super) const UNKNOWN: char = '\0';

/// A word of a command in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    /// This word.
    Text(String),
    /// Any number of the script's arguments.
    Arguments,
    /// A word with arguments of the script in it, and the text before the first.
    Holding(String),
    /// Any number of words that the script does not take from its arguments.
    Others,
}

impl Value {
    fn has_arguments(&self) -> bool {
        matches!(self, Self::Arguments | Self::Holding(_))
    }
}

/// The program that reads the arguments of a script: the interpreter if the script is the value of one of its options, as in
/// `#!/usr/bin/awk -f`, or the program that gets them from it, as by `exec python3 "$@"`.
pub(super) fn of_script(script: &str, known: &Lookup<'_>) -> Option<String> {
    let first = script.lines().next().unwrap_or_default();
    let Some(line) = first.strip_prefix("#!") else { return shell::program(script, "sh", known) };
    let is_of_env =
        |word: &&str| base(word) == "env" || word.starts_with("-S") || *word == "--split-string" || word.contains('=');
    let mut words = line.split_whitespace().skip_while(is_of_env);
    let named = words.next()?;
    let interpreter = known(named).unwrap_or_else(|| base(named).to_owned());
    let takes_arguments =
        |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains(['c', 'f', 'i', 's']);
    if reach_of(&interpreter).is_some() && words.any(takes_arguments) {
        return Some(interpreter);
    }
    match stem(&interpreter) {
        name if is_in(SHELLS, name) => shell::program(script, &interpreter, known),
        name => language::program(script, name, &interpreter, known),
    }
}

/// Whether a list, separated by blanks, has a word.
fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// The last part of a path.
fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Shells whose scripts are read as those of sh(1).
const SHELLS: &str = "sh ash bash dash rbash zsh ksh mksh lksh oksh pdksh posh yash busybox osh";

/// Interpreters that give the words after a script or a program text to it.
const TAKE_SCRIPTS: &str = "\
    sh ash bash dash rbash zsh ksh mksh lksh oksh pdksh posh yash osh fish csh tcsh python pypy perl \
    ruby jruby node nodejs php lua luajit tclsh wish expect Rscript awk gawk mawk nawk java julia elixir \
    escript guile osascript pwsh ts-node tsx groovy scala rust-script";

/// The options of an interpreter that take code, and those that take another word.
fn options(interpreter: &str) -> (&'static str, &'static str) {
    match interpreter {
        "python" | "pypy" => ("-c", "-W -X"),
        "perl" => ("-e -E -ne -pe -le -nE -pE -lne -lpe -lane -ane", "-I"),
        "ruby" | "jruby" => ("-e -ne -pe", "-I -r -E -C"),
        "node" | "nodejs" => ("-e -p -pe --eval --print", "-r --require --import --loader -C --conditions"),
        "php" => ("-r -R -B -E", "-c -d -z"),
        "java" => ("", "-cp -classpath --class-path -p --module-path --add-modules --add-opens --add-exports"),
        "awk" | "gawk" | "mawk" | "nawk" => ("-e --source", "-F -v -f -i -l --file --assign"),
        _ if is_in(SHELLS, interpreter) => ("", "-o -O +o +O --rcfile --init-file"),
        _ => ("-e -E --eval", "-I -r -l -o"),
    }
}

/// Options of programs that start others which take the next word.
const WITH_VALUE: &str = "-u --user -g --group -C --chdir -D -s --signal -T -a -o -e -I -d -L -P";

/// The number of operands that a runner takes before the program.
fn operands_before(runner: &str) -> usize {
    match runner {
        "timeout" | "gtimeout" | "flock" | "chroot" | "chrt" | "taskset" | "gosu" | "su-exec" | "setarch"
        | "runcon" => 1,
        // They run what an option names.
        "su" | "runuser" | "script" => usize::MAX,
        _ => 0,
    }
}

/// The known program that gets the script's arguments from the known program `name` with these words, or is that one. `is_fed` says
/// whether its input has arguments of the script in it. `code` finds the program in a text that a shell runs.
fn handed(
    name: &str,
    words: &[Value],
    is_fed: bool,
    known: &Lookup<'_>,
    code: &dyn Fn(&str, &[Value]) -> Option<String>,
) -> Option<String> {
    let stem = stem(name);
    let itself = || Some(name.to_owned());
    if is_runner(stem) {
        return of_runner(name, stem, words, is_fed, known, code);
    }
    if reach_of(name) == Some(Reach::Wrapper) {
        return if words.iter().any(Value::has_arguments) { itself() } else { None };
    }
    let is_shell = is_in(SHELLS, stem);
    let takes_script = is_in(TAKE_SCRIPTS, stem);
    let (code_options, value_options) = options(stem);
    let reads_code = is_fed && !is_in(READ_DATA, stem);
    let (mut has_code, mut rest) = (false, words.iter().enumerate());
    while let Some((at, word)) = rest.next() {
        match word {
            Value::Arguments => return itself(),
            // The value of a variable or of a long option.
            Value::Holding(before) if before.contains('=') => {}
            Value::Holding(_) if is_in(READ_DATA, stem) => {}
            Value::Holding(_) => return itself(),
            Value::Others => {}
            Value::Text(text) if text == "--" => {
                if has_code || !takes_script {
                    return None;
                }
            }
            Value::Text(text) if text == "-" || text == "/dev/stdin" => {
                return if reads_code { itself() } else { None };
            }
            Value::Text(text) if takes_script && (is_in(code_options, text) || is_shell && is_command_option(text)) => {
                let (at, given) = rest.next()?;
                match given {
                    Value::Text(given) if is_shell => return code(given, words.get(at + 1..).unwrap_or_default()),
                    // What follows is for the code. Other interpreters read it as options once more.
                    Value::Text(given) if stem == "python" || stem == "pypy" => {
                        return language::program(given, stem, name, known);
                    }
                    Value::Text(given) => {
                        if let Some(found) = language::program(given, stem, name, known) {
                            return Some(found);
                        }
                        has_code = true;
                    }
                    Value::Arguments | Value::Holding(_) => return itself(),
                    Value::Others => has_code = true,
                }
            }
            Value::Text(text) if text == "-m" && (stem == "python" || stem == "pypy") => {
                let module = words.get(at + 1)?;
                let is_known = match module {
                    Value::Text(module) => is_in(RUN_CODE, module) || reach_of(module).is_some(),
                    Value::Arguments | Value::Holding(_) => true,
                    Value::Others => false,
                };
                return if is_known { itself() } else { None };
            }
            Value::Text(text) if text == "-s" && is_shell => {}
            Value::Text(text) if is_in(value_options, text) => {
                // What follows the file of a program text is still read as options.
                has_code |= text == "-f" || text == "--file";
                if rest.next().is_some_and(|(_, value)| value == &Value::Arguments) {
                    return itself();
                }
            }
            Value::Text(text) if text.starts_with('-') || text.starts_with('+') || text.is_empty() => {}
            // The words after a script are for the script, but not for programs such as sed, which look for options everywhere.
            Value::Text(_) if takes_script && !has_code => return None,
            Value::Text(_) => {}
        }
    }
    if reads_code { itself() } else { None }
}

/// Interpreters whose input is data, not code.
const READ_DATA: &str = "sed gsed awk gawk mawk nawk";

/// Modules of Python that run the code that their arguments name.
const RUN_CODE: &str = "code pdb runpy IPython timeit cProfile profile trace asyncio";

/// A shell takes `-c` in a bundle, too, such as `-lc`.
fn is_command_option(text: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.ends_with('c')
}

/// The same for a program that runs the program which its first operand names.
fn of_runner(
    name: &str,
    stem: &str,
    words: &[Value],
    is_fed: bool,
    known: &Lookup<'_>,
    code: &dyn Fn(&str, &[Value]) -> Option<String>,
) -> Option<String> {
    let takes_input = is_fed && ["xargs", "gxargs", "parallel"].contains(&stem);
    let mut left = operands_before(stem);
    let mut rest = words.iter().enumerate();
    while let Some((at, word)) = rest.next() {
        let text = match word {
            Value::Arguments => return Some(name.to_owned()),
            Value::Holding(before) if before.contains('=') => continue,
            Value::Holding(_) => return Some(name.to_owned()),
            Value::Others => continue,
            Value::Text(text) => text,
        };
        if is_in(WITH_VALUE, text) {
            rest.next();
            continue;
        }
        let is_setting = text.starts_with('-') || text.contains('=') || text.is_empty();
        if is_setting {
            continue;
        }
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            left = left.saturating_sub(1);
            continue;
        }
        if let Some(program) = known(text) {
            let mut after = words.get(at + 1..).unwrap_or_default().to_vec();
            if takes_input {
                after.push(Value::Arguments);
            }
            return handed(&program, &after, is_fed, known, code);
        }
        if left == 0 {
            return None;
        }
        left -= 1;
    }
    if takes_input { Some(name.to_owned()) } else { None }
}

#[cfg(test)]
mod tests;
