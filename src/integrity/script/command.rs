//! The known program that takes a script's arguments in one command.

use super::super::wrappers::{Reach, is_runner, reach_of, stem};
use super::{ARGUMENTS, Lookup, MADE, SHELLS, calls, is_in, shell};

/// Interpreters that give the words after a script or a program text to it.
const TAKE_SCRIPTS: &str = "\
    sh ash bash dash rbash zsh ksh mksh lksh oksh pdksh posh yash osh fish csh tcsh python pypy perl \
    ruby jruby node nodejs php lua luajit tclsh wish expect Rscript awk gawk mawk nawk java julia elixir \
    escript guile osascript pwsh ts-node tsx groovy scala rust-script";

/// Interpreters whose input is data, not code.
const READ_DATA: &str = "sed gsed awk gawk mawk nawk";

/// Options which take the next word: of programs that start others, and of interpreters.
const WITH_VALUE: &str = "-u --user -g --group -C --chdir -D -s --signal -T -a -o -e -I -d -L -P";
const TAKE_A_WORD: &str = "-W -X -I -r --require --import -cp -classpath --class-path -F -v -f";

/// Modules of Python that run the code that their arguments name.
const RUN_CODE: &str = "code pdb runpy IPython timeit cProfile profile trace asyncio";

/// Programs that take one operand before the program that they run.
const AFTER_ONE: &str = "timeout gtimeout flock chroot chrt taskset gosu su-exec setarch runcon";

/// The program that a command hands arguments of the script to. `is_fed` says whether its input has some.
pub(super) fn program(words: &[String], is_fed: bool, known: &Lookup<'_>) -> Option<String> {
    let (head, rest) = words.split_first()?;
    match head.as_str() {
        "exec" if rest.first().is_some_and(|word| word == "-a") => return program(rest.get(2..)?, is_fed, known),
        // It only asks where the program is.
        "command" if rest.first().is_some_and(|word| word.starts_with('-')) => return None,
        "exec" | "command" | "builtin" | "time" => return program(rest, is_fed, known),
        // The words become the arguments, and what is done with them stands elsewhere.
        "eval" if rest.first().is_some_and(|word| word == "set" || word.starts_with("set ")) => return None,
        "eval" | "trap" | "." | "source" => return of_text(rest, known),
        "set" if rest.first().is_some_and(|word| word == "--") => {
            return program(rest.get(1..)?, is_fed, known).filter(|name| name != "env");
        }
        _ => {}
    }
    if head.contains(ARGUMENTS) {
        return Some("env".to_owned());
    }
    let name = known(head)?;
    if is_runner(stem(&name)) {
        return of_runner(name, rest, is_fed, known);
    }
    let takes_them = match reach_of(&name) {
        Some(Reach::Wrapper) => rest.iter().any(|word| word.contains(ARGUMENTS)),
        _ => return of_interpreter(name, rest, is_fed, known),
    };
    takes_them.then_some(name)
}

/// The same for words that the shell itself reads as code.
fn of_text(words: &[String], known: &Lookup<'_>) -> Option<String> {
    // What is made of arguments may be quoted for it.
    if words.iter().any(|word| {
        word.contains(ARGUMENTS) && !word.contains(MADE)
            || word.strip_suffix(ARGUMENTS).is_some_and(|before| before.chars().eq([MADE]))
    }) {
        return Some("sh".to_owned());
    }
    shell::program(words.first()?, known)
}

/// The same for a program that runs the program which its first operand names.
fn of_runner(name: String, words: &[String], is_fed: bool, known: &Lookup<'_>) -> Option<String> {
    let takes_input = is_fed && ["xargs", "gxargs", "parallel"].contains(&stem(&name));
    let mut operands_before = usize::from(is_in(AFTER_ONE, stem(&name)));
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if word.starts_with('-') || word.contains('=') {
            rest = rest.get(usize::from(is_in(WITH_VALUE, word))..).unwrap_or_default();
        } else if word.contains(ARGUMENTS) {
            return Some(name);
        } else if known(word).is_some() {
            let mut command = vec![word.clone()];
            command.extend(rest.iter().cloned());
            command.extend(takes_input.then(|| ARGUMENTS.to_string()));
            return program(&command, is_fed, known);
        } else if operands_before == 0 && !word.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        } else {
            operands_before = operands_before.saturating_sub(1);
        }
    }
    takes_input.then_some(name)
}

/// The same for an interpreter: it takes arguments as its options and as code, and a script of its own takes those behind it.
fn of_interpreter(name: String, words: &[String], is_fed: bool, known: &Lookup<'_>) -> Option<String> {
    let stem = stem(&name);
    let mut takes_script = is_in(TAKE_SCRIPTS, stem);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word.contains(ARGUMENTS) {
            // The value of a variable or of a long option, or an expression of sed(1), is not code of the script's arguments.
            let is_within =
                word.trim_start_matches(MADE).chars().count() > 1 && (word.contains('=') || is_in(READ_DATA, stem));
            if !is_within {
                return Some(name);
            }
        } else if takes_script && gives_code(word, stem) {
            let code = rest.next()?;
            if code.contains(ARGUMENTS) {
                return Some(name);
            }
            let is_of_shell = is_in(SHELLS, stem);
            let found = if is_of_shell { shell::program(code, known) } else { calls::program(code, &name, known) };
            // What follows is for the code. Other interpreters read it as options once more.
            if found.is_some() || is_of_shell || is_in("python pypy", stem) {
                return found;
            }
            takes_script = false;
        } else if is_in(TAKE_A_WORD, word) {
            rest.next();
        } else if word == "-m" && is_in("python pypy", stem) {
            return rest.next().is_some_and(|module| is_in(RUN_CODE, module)).then_some(name);
        } else if takes_script && is_script(word) || !takes_script && word == "--" {
            return None;
        }
    }
    (is_fed && !is_in(READ_DATA, stem)).then_some(name)
}

/// Whether a word of an interpreter is its script, or brings one.
fn is_script(word: &str) -> bool {
    word == "-jar" || !word.starts_with(['-', '+']) && !word.is_empty()
}

/// Whether the word after this option is code: shells take `-c` in a bundle, too, such as `-lc`.
fn gives_code(option: &str, stem: &str) -> bool {
    let is_short = option.starts_with('-') && !option.starts_with("--") && option.len() > 1;
    match stem {
        "perl" | "ruby" | "jruby" => is_short && option.ends_with(['e', 'E']),
        "node" | "nodejs" => ["-e", "-p", "-pe", "--eval", "--print"].contains(&option),
        "php" => option == "-r",
        "awk" | "gawk" | "mawk" | "nawk" | "java" => false,
        _ if is_in(SHELLS, stem) => is_short && option.ends_with('c'),
        _ => ["-c", "-e", "--eval"].contains(&option),
    }
}
