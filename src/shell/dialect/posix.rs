//! POSIX shells: `/bin/sh`, dash, bash, busybox. Every word is quoted again, so that no part of it is syntax.

mod builtins;

use std::path::Path;

use super::{Change, Refused, Status};
use crate::policy::{Settable, SplitError, find_syntax, split_words};
use crate::shell::Marker;

/// The builtin that reads its standard input; no other builtin does.
const READING: &str = "read";

/// The builtins that change the directory.
const CHANGES: &[&str] = &["cd", "chdir"];

/// Words that run something else in the shell itself, or change how the session works.
const REFUSED: &[(&str, &str)] = &[
    (".", "runs a file in the shell itself"),
    ("source", "runs a file in the shell itself"),
    ("eval", "runs its arguments as shell code"),
    ("exec", "replaces the shell"),
    ("command", "runs another command"),
    ("builtin", "runs another command"),
    ("trap", "keeps shell code for later"),
    ("alias", "changes what other commands mean"),
    ("unalias", "changes what other commands mean"),
    ("enable", "changes what other commands mean"),
    ("shopt", "changes how the shell reads its lines"),
    ("fc", "runs earlier commands again"),
    ("history", "shows the shell's own lines"),
    ("pushd", "changes the directory unchecked"),
    ("popd", "changes the directory unchecked"),
    ("let", "computes with variables, and runs what is in them"),
];

/// The name of this dialect in a sentence.
pub const SHELL: &str = "a POSIX shell";
/// The line end after the last marker.
pub const LINE_END: &str = "\n";

/// The arguments that make the program read commands from its standard input.
pub fn start_arguments(program: &Path) -> &'static [&'static str] {
    if program.file_name().is_some_and(|name| name == "busybox") { &["sh"] } else { &[] }
}

/// Variables that would make the shell run something at its start, or change how it reads; they are not passed on to
/// it.
pub fn is_dropped_variable(name: &str) -> bool {
    let set_by_the_shell = matches!(name, "PWD" | "OLDPWD" | "IFS");
    set_by_the_shell
        || matches!(name, "ENV" | "BASH_ENV" | "SHELLOPTS" | "BASHOPTS" | "PS4" | "PROMPT_COMMAND" | "CDPATH")
        || name.starts_with("BASH_FUNC_")
}

/// The first line of a session. Only the shell catches SIGTERM and SIGINT, which end a command with everything that it
/// started: its children have the default again. PATH is made read-only, so that no command can change it.
pub fn opening_line(marker: &Marker) -> Vec<u8> {
    let mut line = String::from("trap : TERM INT; readonly PATH; ");
    push_marker(&mut line, marker);
    push_error_marker(&mut line, marker);
    line.push('\n');
    line.into_bytes()
}

/// Splits the arguments of a call into words, by the rules of a POSIX shell and without any of its expansions.
///
/// # Errors
/// [`Refused`] for a control character, even within quotes, except for tabs and line breaks, which mean nothing in single quotes;
/// for syntax outside quotes, which line breaks are there; and for unclosed quotes.
pub fn words(arguments: &str) -> Result<Vec<String>, Refused> {
    let is_refused = |character: &char| character.is_control() && !matches!(character, '\t' | '\n');
    if let Some(character) = arguments.chars().find(is_refused) {
        return Err(Refused::Character { character, shell: "the shell" });
    }
    if let Some((_, syntax)) = find_syntax(arguments) {
        return Err(Refused::Syntax { syntax });
    }
    split_words(arguments).map_err(|error| match error {
        SplitError::Unbalanced => Refused::Unbalanced { arguments: arguments.to_owned() },
        SplitError::TooMany => Refused::TooManyWords,
    })
}

/// The arguments of a call that result in these words; empty if one of them can't be an argument.
pub fn join(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// Refuses what this shell must never get, even if the operator allows it.
///
/// # Errors
/// [`Refused::Word`], [`Refused::Variable`], [`Refused::NotSettable`], [`Refused::Limit`] or [`Refused::Operand`].
pub fn refuse(words: &[String], settable: Settable<'_>) -> Result<(), Refused> {
    let Some((word, arguments)) = words.split_first() else { return Ok(()) };
    if let Some((word, why)) = REFUSED.iter().find(|(refused, _)| refused == word) {
        return Err(Refused::Word { word: (*word).to_owned(), why });
    }
    if word == "set" && arguments.first().is_some_and(|first| first != "--" && first.starts_with(['-', '+'])) {
        return Err(Refused::Word {
            word: "set".to_owned(),
            why: "with options changes how the shell reads its lines",
        });
    }
    builtins::check(word, arguments, settable)
}

/// The builtins that change what the shell gives to later commands: their environment, limits and umask.
const KEPT: &[&str] = &["export", "readonly", "unset", "read", "getopts", "umask", "ulimit"];
/// Options with which these only show something.
const SHOWS: &[&str] = &["-p", "-S", "-a"];

/// Whether the words may change what the shell gives to later commands, apart from its directory.
pub fn changes_state(words: &[String]) -> bool {
    let changes = |(word, arguments): (&String, &[String])| {
        KEPT.contains(&word.as_str()) && arguments.iter().any(|argument| !SHOWS.contains(&argument.as_str()))
    };
    words.split_first().is_some_and(changes)
}

/// Whether the word is a builtin that changes variables.
pub fn sets_variables(word: &str) -> bool {
    matches!(word, "export" | "readonly" | "unset" | "read" | "getopts")
}

/// The directory change, if the words are one.
///
/// # Errors
/// [`Refused::ChangeArguments`] if the target is unclear.
pub fn change_of(words: &[String]) -> Result<Option<Change>, Refused> {
    let Some((word, arguments)) = words.split_first().filter(|(word, _)| CHANGES.contains(&word.as_str())) else {
        return Ok(None);
    };
    let options = arguments.iter().take_while(|argument| matches!(argument.as_str(), "-L" | "-P")).count();
    let rest = arguments.get(options..).unwrap_or_default();
    let (rest, is_literal) = match rest.split_first() {
        Some((dashes, rest)) if dashes == "--" => (rest, true),
        _ => (rest, false),
    };
    match rest {
        [] => Ok(Some(Change::Home)),
        [target] if target == "-" => Ok(Some(Change::Back)),
        [target] if is_literal || !target.starts_with('-') => Ok(Some(Change::To(target.clone()))),
        _ => Err(Refused::ChangeArguments { word: word.clone(), arguments: arguments.join(" ") }),
    }
}

/// The words that change the directory to this absolute path, whatever variables say.
///
/// # Errors
/// None here: any path can be quoted.
pub fn change_to(path: &str) -> Result<Vec<String>, Refused> {
    Ok(["cd", "-P", "--", path].map(str::to_owned).into())
}

/// Whether the shell runs these words itself: it starts nothing for them, and waits for nothing outside.
pub fn runs_alone(words: &[String]) -> bool {
    words.first().is_some_and(|word| is_builtin(word))
}

/// The line of a command, which goes on where a word holds a line break: its words, quoted, with an empty standard input if it could read one, followed by the
/// marker: on both streams, or only on the standard output if the shell itself runs the command. What the shell has
/// printed itself is in both streams before the marker.
///
/// The shell reads the whole line before it runs any of it, so that there is nothing for the command to read. The
/// arguments and the environment of the command do not contain the marker.
pub fn line(words: &[String], marker: &Marker) -> Vec<u8> {
    let length = words.iter().map(|word| word.len() + 8).sum::<usize>();
    let mut line = String::with_capacity(length + 256);
    for word in words {
        push_quoted(&mut line, word);
        line.push(' ');
    }
    let is_alone = runs_alone(words);
    let reads = !is_alone || words.first().is_some_and(|word| word == READING);
    line.push_str(if reads { "</dev/null; " } else { "; " });
    if is_alone && !words.first().is_some_and(|word| CHANGES.contains(&word.as_str())) {
        push_short_marker(&mut line, marker);
    } else {
        push_marker(&mut line, marker);
    }
    if !is_alone {
        push_error_marker(&mut line, marker);
    }
    line.push('\n');
    line.into_bytes()
}

/// `\printf`, so that no alias replaces it. The marker is printed before and after the note, and never as the whole of
/// one argument with what follows it, so that no trace of the line looks like its output.
fn push_marker(line: &mut String, marker: &Marker) {
    let marker = marker.as_str();
    line.push_str(r"\printf '%s:%s:%s:%s\n' ");
    line.push_str(marker);
    line.push_str(r#" "$?" "${PWD-}" "#);
    line.push_str(marker);
}

/// The same with an empty directory, if the shell stays where it is: no shell's `echo` changes letters, digits and
/// these signs, and it costs less than `printf`.
fn push_short_marker(line: &mut String, marker: &Marker) {
    let marker = marker.as_str();
    line.push_str(r"\echo ");
    line.push_str(marker);
    line.push_str(":$?::");
    line.push_str(marker);
}

fn push_error_marker(line: &mut String, marker: &Marker) {
    let marker = marker.as_str();
    line.push_str(r"; \printf '%s:%s\n' ");
    line.push_str(marker);
    line.push(' ');
    line.push_str(marker);
    line.push_str(" >&2");
}

fn push_quoted(line: &mut String, word: &str) {
    line.push('\'');
    for (place, part) in word.split('\'').enumerate() {
        if place > 0 {
            line.push_str(r"'\''");
        }
        line.push_str(part);
    }
    line.push('\'');
}

/// Reads the note between the two markers on the standard output.
pub fn status(note: &[u8]) -> Option<Status> {
    let note = String::from_utf8_lossy(note);
    let (code, directory) = note.strip_prefix(':')?.strip_suffix(':')?.split_once(':')?;
    Some(Status { code: code.parse().ok()?, directory: directory.to_owned() })
}

/// Whether the word is built into the shell, so that no program of that name is needed.
pub fn is_builtin(word: &str) -> bool {
    builtins::is_builtin(word)
}

/// Whether the shell itself looks the word up. It gets programs by their paths, so that no builtin, function or alias
/// takes their place.
pub fn is_found_by_shell(word: &str) -> bool {
    is_builtin(word)
}

/// Nothing: a program that is not found is refused before.
pub fn hint_for(_code: i32, _word: &str) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_line_is_quoted_words_an_empty_input_and_the_markers() {
        let marker = Marker::fresh();
        let m = marker.as_str();
        let out = format!("\\printf '%s:%s:%s:%s\\n' {m} \"$?\" \"${{PWD-}}\" {m}");
        let error = format!("\\printf '%s:%s\\n' {m} {m} >&2");
        for (words, expected) in [
            (&["ls", "it's", ""][..], format!("'ls' 'it'\\''s' '' </dev/null; {out}; {error}\n")),
            (&["cd", "/"], format!("'cd' '/' ; {out}\n")),
            (&["echo", "a"], format!("'echo' 'a' ; \\echo {m}:$?::{m}\n")),
            (&["read", "x"], format!("'read' 'x' </dev/null; \\echo {m}:$?::{m}\n")),
        ] {
            assert_eq!(String::from_utf8(line(&owned(words), &marker)).unwrap(), expected);
        }
    }

    #[test]
    fn a_note_is_an_exit_code_and_a_directory() {
        let read = |note: &str| status(note.as_bytes()).map(|status| (status.code, status.directory));
        assert_eq!(read(":0:/:"), Some((0, "/".to_owned())));
        assert_eq!(read(":127:/a:b\n c:"), Some((127, "/a:b\n c".to_owned())));
        assert_eq!(read(":1::"), Some((1, String::new())));
        for note in ["", ":", "::", "0:/:", ":x:/:", ":0:/", " :0:/:"] {
            assert_eq!(read(note), None, "{note}");
        }
    }

    #[test]
    fn a_change_of_directory_is_read_or_refused() {
        let read = |words: &[&str]| change_of(&owned(words));
        assert_eq!(read(&["ls", "x"]), Ok(None));
        assert_eq!(read(&["cd"]), Ok(Some(Change::Home)));
        assert_eq!(read(&["cd", "--"]), Ok(Some(Change::Home)));
        assert_eq!(read(&["cd", "-"]), Ok(Some(Change::Back)));
        assert_eq!(read(&["chdir", "-P", "a b"]), Ok(Some(Change::To("a b".to_owned()))));
        assert_eq!(read(&["cd", "--", "-x"]), Ok(Some(Change::To("-x".to_owned()))));
        for words in [&["cd", "a", "b"][..], &["cd", "-x"], &["cd", "-e", "a"], &["cd", "-LP", "a"]] {
            assert!(matches!(read(words), Err(Refused::ChangeArguments { .. })), "{words:?}");
        }
    }

    proptest! {
        #[test]
        fn every_word_comes_back_from_its_quoting(words in proptest::collection::vec(r"[^\x00]{0,12}", 1..5)) {
            prop_assume!(!runs_alone(&words));
            let marker = Marker::fresh();
            let line = String::from_utf8(line(&words, &marker)).unwrap();
            let (quoted, _) = line.rsplit_once(" </dev/null; \\printf '%s:%s:%s:%s").unwrap();
            prop_assert_eq!(shlex::split(quoted), Some(words));
        }
    }
}
