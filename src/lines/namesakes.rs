//! Builtins of shells whose names are those of programs, where the two understand their words in different ways. A line runs the
//! program, so such words are refused.

use super::tree::{Command, Line, Redirection, Simple};
use super::unreadable::{Reason, Unreadable};
use super::{Part, Piece, Word};

/// The shells by how their builtins understand words.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Its `echo` takes backslashes literally, and has options as the program has.
    Bash,
    /// `echo` of `sh`, `dash` and `zsh` reads backslashes, and has other options.
    Others,
}

/// Refuses commands for which a shell of this family would do something else than the program of that name.
pub(super) fn check(line: &Line, family: Family) -> Result<(), Unreadable> {
    line.commands().into_iter().try_for_each(|simple| of_simple(simple, family))
}

/// Refuses them in a line of its own. One plain command is the call of a program, and no shell is meant by it.
pub(super) fn check_alone(line: &Line) -> Result<(), Unreadable> {
    match line.lists.as_slice() {
        [list] if list.rest.is_empty() => match list.first.stages.as_slice() {
            [stage] => match &stage.command {
                Command::Simple(simple) if simple.redirections.is_empty() && simple.assignments.is_empty() => Ok(()),
                Command::Simple(_) | Command::Group(_) => check(line, Family::Bash),
            },
            _ => check(line, Family::Bash),
        },
        _ => check(line, Family::Bash),
    }
}

fn of_simple(simple: &Simple, family: Family) -> Result<(), Unreadable> {
    let Some((name, arguments)) = simple.words.split_first() else { return Ok(()) };
    let texts: Vec<String> = arguments.iter().map(written).collect();
    let first = texts.first().map_or("", String::as_str);
    let found = match (name.text().as_deref(), family) {
        (Some("echo"), Family::Others) if is_option_of_echo(first) => {
            Some(("echo", "an option", "sh, dash or zsh", TEXT))
        }
        (Some("echo"), Family::Others) if texts.iter().any(|text| text.contains('\\')) => {
            Some(("echo", "a backslash", "sh, dash or zsh", TEXT))
        }
        (Some("echo"), _) if texts.len() == 1 && matches!(first, "--help" | "--version") => {
            Some(("echo", "this option", "a shell", TEXT))
        }
        (Some("printf"), _) if first.starts_with('-') && first != "--" => {
            Some(("printf", "an option", "a shell", "put `--` in front of a format that begins with `-`"))
        }
        (Some("printf"), _) if has_directive_of_shells(format_of(&texts)) => {
            Some(("printf", "`%q` or `%(`", "a shell", "write the text out as it is to be"))
        }
        (Some("printf"), Family::Others) if has_other_escape(format_of(&texts)) => {
            Some(("printf", "this escape", "sh, dash or zsh", r"use `\NNN` with octal digits"))
        }
        (Some("echo"), Family::Bash)
            if is_option_of_echo(first) && texts.iter().any(|text| has_escape(text, "uUE1234567")) =>
        {
            Some(("echo", "this escape", "a shell", TEXT))
        }
        (Some("printf"), Family::Bash) if has_escape(format_of(&texts), "E?'") || has_escape_by_b(&texts) => {
            Some(("printf", "this escape", "a shell", "write the text out as it is to be"))
        }
        (Some("test" | "["), _) if operators(&texts).any(|operator| OF_SHELLS.contains(&operator)) => {
            Some(("test", "this operator", "a shell", "compare by `=`, `!=` or numbers"))
        }
        (Some("test" | "["), Family::Others) if operators(&texts).any(|operator| operator == "==") => {
            Some(("test", "this operator", "sh or dash", "compare by `=`"))
        }
        (Some(":" | "exit"), Family::Others) if simple.redirections.iter().any(opens_file) => {
            Some((":` or `exit", "a redirection", "sh or dash", "leave it out, it prints nothing"))
        }
        (Some("pwd"), _) if texts.iter().any(|text| text.starts_with("--")) => {
            Some(("pwd", "this option", "a shell", "write `pwd` alone"))
        }
        (Some("kill"), _) if matches!(first, "-l" | "-L") || first.len() > 2 && first.starts_with("--") => {
            Some(("kill", "this option", "a shell", "name the signal and the processes"))
        }
        _ => None,
    };
    match found {
        None => Ok(()),
        Some((name, what, shell, instead)) => {
            Err(Unreadable { at: simple.at, reason: Reason::Namesake { name, what, shell, instead } })
        }
    }
}

const TEXT: &str = r"write `printf '%s\n' TEXT`";

/// The literal text of a word; what its variables and patterns become is left out.
fn written(word: &Word) -> String {
    let literal = |part: &Part| match part {
        Part::Piece(Piece::Literal(text)) => Some(text.clone()),
        Part::Piece(Piece::Home | Piece::Variable { .. }) | Part::Pattern(_) => None,
    };
    word.parts.iter().filter_map(literal).collect()
}

fn is_option_of_echo(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|letters| letters.chars().all(|letter| "neE".contains(letter)))
}

fn format_of(arguments: &[String]) -> &str {
    arguments.iter().find(|text| *text != "--").map_or("", String::as_str)
}

/// Whether a format has `%q`, which quotes in another way, or `%(`, which only shells have.
fn has_directive_of_shells(format: &str) -> bool {
    format.replace("%%", "").split('%').skip(1).any(|directive| {
        directive
            .trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #0.*'".contains(c))
            .starts_with(['q', 'Q', '('])
    })
}

/// Whether a text has a backslash in front of one of these, which programs leave as it is.
fn has_escape(text: &str, escaped: &str) -> bool {
    text.replace(r"\\", "").split('\\').skip(1).any(|escape| escape.starts_with(|c: char| escaped.contains(c)))
}

/// Whether `printf` has such an escape in an argument, which its `%b` reads.
fn has_escape_by_b(texts: &[String]) -> bool {
    format_of(texts).contains("%b") && texts.iter().any(|text| has_escape(text, "E?'"))
}

/// The operators of test(1) that only shells have, or that the program has alone.
const OF_SHELLS: &[&str] = &["-v", "-R", "-o", "-l", "<", ">"];

/// The words of test(1) that are operators by how many words there are, as POSIX has it. Of more than four any may be one.
fn operators(texts: &[String]) -> impl Iterator<Item = &str> {
    let words = texts.strip_suffix(&["]".to_owned()]).unwrap_or(texts);
    let words = match words {
        [not, rest @ ..] if not == "!" && !rest.is_empty() => rest,
        all => all,
    };
    let (found, is_many) = match words {
        [operator, _] | [_, operator, _] => (std::slice::from_ref(operator), false),
        [] | [_] => (&[][..], false),
        all => (all, true),
    };
    // Between others it means "or".
    found.iter().map(String::as_str).filter(move |word| !is_many || *word != "-o")
}

/// Whether a redirection opens a file, which may fail.
fn opens_file(redirection: &Redirection) -> bool {
    match redirection {
        Redirection::Read(file) | Redirection::Write { target: file, .. } => {
            !matches!(file.pieces.as_slice(), [Piece::Literal(path)] if path == "/dev/null")
        }
        Redirection::Document(_)
        | Redirection::HereString(_)
        | Redirection::StderrToStdout
        | Redirection::StdoutToStderr => false,
    }
}

/// Whether a format has an escape that not all shells know.
fn has_other_escape(format: &str) -> bool {
    let plain = format.replace(r"\\", "");
    plain.split('\\').skip(1).any(|escape| !escape.starts_with(|c: char| "abfnrtv01234567".contains(c)))
}
