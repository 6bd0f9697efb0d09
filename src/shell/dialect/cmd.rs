//! `cmd.exe`. No escaping is known to be safe there, so everything that could be syntax is refused.
//!
//! This form of the line works both in the real cmd.exe and in Wine's: one line for each command, since Wine's drops
//! what follows the first line end of one read; `(call )` sets errorlevel to 0; `call echo %^errorlevel%` expands it
//! when it runs, and not when the line is parsed.

use std::path::Path;

use super::{Change, Refused, Status};
use crate::policy::{Settable, quoted};
use crate::shell::Marker;

/// The builtins that change what the shell gives to later commands.
const KEPT: &[&str] = &["set", "path"];

/// The commands that are built into cmd.exe; programs are found in PATH.
const BUILTINS: &[&str] = &[
    "assoc", "cd", "chdir", "cls", "copy", "date", "del", "dir", "echo", "erase", "exit", "ftype", "md", "mkdir",
    "mklink", "move", "path", "rd", "ren", "rename", "rmdir", "set", "time", "title", "type", "ver", "verify", "vol",
];

/// Words that run something else, or change how the rest of the line is read.
const REFUSED: &[(&str, &str)] = &[
    ("call", "runs another command"),
    ("start", "runs another command"),
    ("cmd", "runs another command"),
    ("cmd.exe", "runs another command"),
    ("for", "runs another command"),
    ("forfiles", "runs another command"),
    ("if", "runs another command"),
    ("goto", "is for batch files"),
    ("rem", "makes a comment of the rest of the line"),
    ("pause", "waits for a key"),
    ("prompt", "changes how the shell answers"),
    ("setlocal", "changes how the shell reads its lines"),
    ("endlocal", "changes how the shell reads its lines"),
    ("pushd", "changes the directory unchecked"),
    ("popd", "changes the directory unchecked"),
];

/// Variables that decide which code runs, or that hide what the shell reports about itself.
const GUARDED: &[&str] = &[
    "PATH",
    "PATHEXT",
    "COMSPEC",
    "ERRORLEVEL",
    "CD",
    "PROMPT",
    "CMDCMDLINE",
    "CMDEXTVERSION",
    // Without it cmd.exe looks for programs in its own directory first.
    "NODEFAULTCURRENTDIRECTORYINEXEPATH",
];

/// The characters that have or might have a meaning to cmd.exe.
const SYNTAX: &[char] = &['%', '!', '^', '&', '|', '<', '>', '(', ')'];
/// Also refused outside quotes: separators of shells that clients know better.
const SEPARATORS: &[char] = &[';', '$', '`'];

/// The name of this dialect in a sentence.
pub const SHELL: &str = "cmd.exe";
/// The line end after the last marker.
pub const LINE_END: &str = "\r\n";
/// The most characters of a command with its arguments. A line may have 8191, and the rest could be read as another
/// line; the remaining characters are for the markers.
const MOST: usize = 7500;

/// Without AutoRun, without echoing, without `!` expansion, staying for more lines.
pub fn start_arguments(_program: &Path) -> &'static [&'static str] {
    &["/D", "/Q", "/V:OFF", "/K"]
}

/// Variables that would hide what the shell reports about itself; they are not passed on to it.
pub fn is_dropped_variable(name: &str) -> bool {
    ["ERRORLEVEL", "CD", "PROMPT"].iter().any(|dropped| dropped.eq_ignore_ascii_case(name))
}

/// The first line of a session: no prompts, and the first marker, after what cmd.exe prints at its start.
pub fn opening_line(marker: &Marker) -> Vec<u8> {
    let mut line = String::from("(call )&prompt $S");
    push_markers(&mut line, marker);
    line.into_bytes()
}

/// Checks the arguments of a call; they are one word, which is passed on unchanged.
///
/// # Errors
/// [`Refused`] for a control character, a character with a meaning to cmd.exe (even within quotes), an unclosed quote,
/// or a first word that runs something else.
pub fn words(arguments: &str) -> Result<Vec<String>, Refused> {
    let refused = |character| Refused::Character { character, shell: SHELL };
    let mut is_quoted = false;
    for character in arguments.chars() {
        if character == '"' {
            is_quoted = !is_quoted;
        } else if character.is_control()
            || SYNTAX.contains(&character)
            || (!is_quoted && SEPARATORS.contains(&character))
        {
            return Err(refused(character));
        }
    }
    if is_quoted {
        return Err(Refused::Unbalanced { arguments: arguments.to_owned() });
    }
    let arguments = arguments.trim_matches(' ');
    if arguments.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(refused) = first_word(arguments).and_then(refused_word) {
        return Err(refused);
    }
    Ok(vec![arguments.to_owned()])
}

/// Returns the word that cmd.exe takes as the first: up to a separator, without quotes and a leading `@`.
fn first_word(arguments: &str) -> Option<&str> {
    arguments
        .split([' ', ',', ';', '=', '/', '.', ':'])
        .map(|word| word.trim_matches(['"', '@']))
        .find(|word| !word.is_empty())
}

fn refused_word(word: &str) -> Option<Refused> {
    let (word, why) = REFUSED.iter().find(|(refused, _)| refused.eq_ignore_ascii_case(word))?;
    Some(Refused::Word { word: (*word).to_owned(), why })
}

/// Refuses what this shell must never get, even if the operator allows it.
///
/// # Errors
/// [`Refused`].
pub fn refuse(words: &[String], settable: Settable<'_>) -> Result<(), Refused> {
    let Some((word, arguments)) = words.split_first() else { return Ok(()) };
    let arguments = arguments.first().map_or("", String::as_str);
    // In UTF-16, as cmd.exe counts.
    if word.encode_utf16().count() + arguments.encode_utf16().count() > MOST {
        return Err(Refused::TooLong { most: MOST, shell: SHELL });
    }
    // Even an entry of the operator must not be syntax: a path that contains some can't be run in this shell.
    if let Some(character) =
        word.chars().find(|c| SYNTAX.contains(c) || SEPARATORS.contains(c) || c.is_control() || *c == '"')
    {
        return Err(Refused::Character { character, shell: SHELL });
    }
    if let Some(refused) = refused_word(word) {
        return Err(refused);
    }
    if word.eq_ignore_ascii_case("echo") && ["on", "off"].iter().any(|state| state.eq_ignore_ascii_case(arguments)) {
        return Err(Refused::Word {
            word: format!("echo {arguments}"),
            why: "changes whether the shell repeats its lines",
        });
    }
    if word.eq_ignore_ascii_case("path") && !arguments.is_empty() {
        return Err(Refused::Variable { name: "PATH".to_owned() });
    }
    if word.eq_ignore_ascii_case("set") {
        return refuse_set(arguments, settable);
    }
    Ok(())
}

fn refuse_set(arguments: &str, settable: Settable<'_>) -> Result<(), Refused> {
    let computes = arguments.get(..2).is_some_and(|option| option.eq_ignore_ascii_case("/a"));
    // `/a` assigns at any `=` in its expression, the other options before the first one.
    let names = if computes { arguments } else { arguments.split_once('=').map_or("", |(name, _)| name) };
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut parts = names.split(|c| !is_part(c)).filter(|part| !part.is_empty());
    if let Some(name) = parts.find(|part| GUARDED.iter().any(|guarded| guarded.eq_ignore_ascii_case(part))) {
        return Err(Refused::Variable { name: name.to_ascii_uppercase() });
    }
    let Settable::Named(allowed) = settable else { return Ok(()) };
    let is_allowed = |name: &str| allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
    let refused = |name: &str| Err(Refused::NotSettable { name: name.to_owned(), settable: allowed.to_vec() });
    if computes {
        // It changes at least one of them.
        let names = arguments.get(2..).unwrap_or_default().split(|c| !is_part(c));
        let mut names = names.filter(|part| part.starts_with(|c: char| !c.is_ascii_digit()));
        return names.find(|name| !is_allowed(name)).map_or(Ok(()), refused);
    }
    // Without `=` it only shows variables. Blanks and other characters can be part of a name, so the name must be the very one.
    let option = arguments.get(..2).filter(|option| option.eq_ignore_ascii_case("/p"));
    let rest = option.map_or(arguments, |_| arguments.get(2..).unwrap_or_default()).trim_start_matches(' ');
    match rest.strip_prefix('"').unwrap_or(rest).split_once('=') {
        Some((name, _)) if !is_allowed(name) => refused(name),
        Some(_) | None => Ok(()),
    }
}

/// The directory change, if the words are one. Without a target cmd.exe prints the directory.
///
/// # Errors
/// [`Refused::ChangeArguments`] if the target is unclear.
pub fn change_of(words: &[String]) -> Result<Option<Change>, Refused> {
    let is_change = |word: &&String| ["cd", "chdir"].iter().any(|name| name.eq_ignore_ascii_case(word));
    let Some(word) = words.first().filter(is_change) else { return Ok(None) };
    let arguments = words.get(1).map_or("", String::as_str);
    let target = match arguments.get(..2) {
        Some(option) if option.eq_ignore_ascii_case("/d") => arguments.get(2..).unwrap_or_default(),
        _ => arguments,
    };
    let target = target.trim_matches(' ');
    let bare = target.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(target);
    if bare.is_empty() {
        return Ok(Some(Change::Show));
    }
    if bare.contains(['"', '*', '?']) || bare.starts_with('/') {
        return Err(Refused::ChangeArguments { word: word.clone(), arguments: arguments.to_owned() });
    }
    Ok(Some(Change::To(bare.to_owned())))
}

/// The words that change drive and directory to this absolute path.
///
/// # Errors
/// [`Refused`] if the path contains characters that arguments must not contain either: the shell can be in a directory
/// that no call could have named, by its start or through a link, and `%NAME%` is expanded even within quotes.
pub fn change_to(path: &str) -> Result<Vec<String>, Refused> {
    let is_refused = |c: &char| SYNTAX.contains(c) || c.is_control() || *c == '"';
    if let Some(character) = path.chars().find(is_refused) {
        return Err(Refused::Path { path: path.to_owned(), character, shell: SHELL });
    }
    let words = vec!["cd".to_owned(), format!("/d \"{path}\"")];
    refuse(&words, Settable::Named(&[])).map(|()| words)
}

/// The one line of a command, with its standard input from nowhere, followed by the marker on both streams. The
/// redirection comes first, since a blank between it and the arguments would become part of what `echo` and `set` take.
pub fn line(words: &[String], marker: &Marker) -> Vec<u8> {
    let mut line = String::from("(call )&<nul ");
    line.push_str(&words.join(" "));
    push_markers(&mut line, marker);
    line.into_bytes()
}

/// Prints the directory only by `cd`: as part of a line that is parsed it could contain syntax. Redirections come
/// first, since a digit before `>` would be read as the number of a handle.
fn push_markers(line: &mut String, marker: &Marker) {
    let marker = marker.as_str();
    line.push_str(&format!("&call echo {marker}:%^errorlevel%:&cd&echo {marker}&>&2 echo {marker}:{marker}\r\n"));
}

/// Reads the note between the two markers on the standard output.
pub fn status(note: &[u8]) -> Option<Status> {
    let note = String::from_utf8_lossy(note);
    let (code, directory) = note.strip_prefix(':')?.split_once(':')?;
    // cmd.exe stores an unsigned number of 32 bits; programs mean a signed one.
    let code = code.parse::<i64>().ok()?;
    let code = i32::try_from(code).ok().or_else(|| u32::try_from(code).ok().map(|code| code as i32))?;
    Some(Status { code, directory: directory.trim_matches(['\r', '\n']).to_owned() })
}

/// Whether the shell runs it itself, without waiting for anything: never here, since threads read each command's output.
pub fn runs_alone(_words: &[String]) -> bool {
    false
}

/// Whether the words may change what the shell gives to later commands, apart from its directory.
pub fn changes_state(words: &[String]) -> bool {
    let is_kept = |word: &String| KEPT.iter().any(|kept| kept.eq_ignore_ascii_case(word));
    words.split_first().is_some_and(|(word, arguments)| is_kept(word) && !arguments.is_empty())
}

/// Whether the word is a builtin that changes variables.
pub fn sets_variables(word: &str) -> bool {
    word.eq_ignore_ascii_case("set")
}

/// Whether the word is built into the shell, so that no program of that name is needed.
pub fn is_builtin(word: &str) -> bool {
    BUILTINS.iter().any(|builtin| builtin.eq_ignore_ascii_case(word))
}

/// The arguments of a call that result in these words; empty if one of them can't be an argument.
pub fn join(words: &[String]) -> String {
    let quoted = words.iter().map(|word| match word.is_empty() || word.contains(' ') {
        true => format!("\"{word}\""),
        false => word.clone(),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Whether the shell itself looks the word up: it reads paths by rules of its own, and does not look for programs in
/// its current directory.
pub fn is_found_by_shell(_word: &str) -> bool {
    true
}

/// The hint in the answer to a command that the shell did not find.
pub fn hint_for(code: i32, word: &str) -> Option<String> {
    (code == 9009).then(|| format!("exit code 9009: the shell found no command {}", quoted(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands of the seed, and what each may be given.
    const ALLOWED: &[(&str, &str)] = &[
        ("dir", "/b C:\\Users"),
        ("dir", "\"C:\\Program Files\""),
        ("echo", "hello world"),
        ("curl", "-s https://example.com/a?b=c"),
        ("type", "notes.txt"),
        ("find", "\"two words\" notes.txt"),
        ("findstr", "/n /c:\"two words\" *.txt"),
        ("cd", "/d \"C:\\a b\""),
        ("where", "git"),
        ("set", "GREETING=hello"),
        ("podman", "ps --all"),
    ];

    fn decide(word: &str, arguments: &str) -> Result<Vec<String>, Refused> {
        let all: Vec<String> = std::iter::once(word.to_owned()).chain(words(arguments)?).collect();
        refuse(&all, Settable::Harmless)?;
        Ok(all)
    }

    #[test]
    fn every_command_of_the_list_takes_plain_arguments_as_they_stand() {
        for (word, arguments) in ALLOWED {
            assert_eq!(decide(word, arguments).unwrap(), [*word, *arguments]);
            assert_eq!(decide(word, "").unwrap(), [*word]);
        }
    }

    #[test]
    fn every_operator_is_refused_for_every_command_within_quotes_too() {
        let operators =
            ["&&", "||", "|", ">", ">>", "<", "<<", "&", "^", "%", "!", "(", ")", "%PATH%", "^&", "2>&1", "!x!"];
        let commands = ALLOWED.iter().map(|(word, _)| word);
        for (word, operator) in commands.flat_map(|word| operators.iter().map(move |operator| (word, operator))) {
            for line in [
                format!("a {operator} b"),
                format!("a{operator}b"),
                format!("\"a {operator} b\""),
                (*operator).to_owned(),
            ] {
                assert!(matches!(decide(word, &line), Err(Refused::Character { .. })), "{word} {line}");
            }
        }
        for separator in [";", "$", "`"] {
            assert!(decide("echo", &format!("a {separator} b")).is_err());
            assert!(decide("echo", &format!("\"a {separator} b\"")).is_ok());
        }
        for control in (0..32).chain([127]).filter_map(char::from_u32) {
            assert!(matches!(decide("echo", &format!("\"a{control}b\"")), Err(Refused::Character { .. })));
        }
        for line in ["\"", "a \"b", "\"a\" \"b"] {
            assert!(matches!(decide("echo", line), Err(Refused::Unbalanced { .. })), "{line}");
        }
    }

    #[test]
    fn words_that_run_something_else_are_refused_as_commands_and_as_first_arguments() {
        for word in ["call", "start", "CALL", "Start", "cmd", "for", "if", "rem", "pushd"] {
            assert!(matches!(decide(word, "notepad"), Err(Refused::Word { .. })), "{word}");
            for line in [
                format!("{word} notepad"),
                format!("  \"{word}\" x"),
                format!("@{word}"),
                format!("{word}.exe"),
                format!("{word}/?"),
            ] {
                assert!(matches!(decide("echo", &line), Err(Refused::Word { .. })), "{line}");
            }
            assert!(decide("echo", &format!("please {word} me")).is_ok());
        }
    }

    #[test]
    fn what_a_line_can_not_hold_is_refused() {
        assert!(decide("echo", &"x".repeat(MOST - 4)).is_ok());
        for long in ["x".repeat(MOST - 3), "\u{1F600}".repeat(MOST / 2)] {
            assert!(matches!(decide("echo", &long), Err(Refused::TooLong { .. })), "{}", long.len());
        }
        let longest = [vec!["echo".to_owned(), "x".repeat(MOST - 4)], change_to(&"x".repeat(MOST - 7)).unwrap()];
        for words in longest {
            assert!(line(&words, &Marker::fresh()).len() < 8191);
        }
        assert!(matches!(change_to(&"x".repeat(MOST)), Err(Refused::TooLong { .. })));
    }

    #[test]
    fn what_the_session_stands_on_can_not_be_set() {
        for line in [
            "PATH=x",
            "path=x",
            "\"PATH=x\"",
            "/p Path=x",
            "errorlevel=0",
            "/a x=1,errorlevel=2",
            "CD=x",
            "PATHEXT=.TXT",
            "NoDefaultCurrentDirectoryInExePath=",
        ] {
            assert!(matches!(decide("set", line), Err(Refused::Variable { .. })), "{line}");
        }
        for line in ["", "PATH", "X=path", "MY_PATH=x", "/a x=1"] {
            assert!(decide("set", line).is_ok(), "{line}");
        }
        assert!(decide("echo", "OFF").is_err() && decide("echo", "off we go").is_ok());
        assert!(decide("a&b", "").is_err());
    }

    #[test]
    fn only_the_variables_that_the_operator_names_can_be_set_where_names_count() {
        let names = ["GREETING".to_owned()];
        let refused = |line: &str, names: &[String]| {
            let words = vec!["set".to_owned(), line.to_owned()];
            matches!(refuse(&words, Settable::Named(names)), Err(Refused::NotSettable { .. }))
        };
        for line in [
            "GREETING=x",
            "greeting=x",
            "\"GREETING=x=y\"",
            "/p Greeting=x",
            "/a greeting=1",
            "/A greeting+=0x1f,greeting=2",
        ] {
            assert!(!refused(line, &names), "{line}");
            assert!(refused(line, &[]), "{line}");
        }
        for line in [
            "GIT_DIR=x",
            "\"GIT_DIR=x\"",
            "GREETING =x",
            "A GREETING=x",
            "=GREETING=x",
            ",GIT_DIR=x",
            "/p GIT_DIR=x",
            "/a HOME=1",
            "/a greeting=1,HOME=2",
            "/aHOME=1",
            "/pHOME=1",
            "  HOME=1",
        ] {
            assert!(refused(line, &names), "{line}");
        }
        for line in ["", "GREETING", "GIT", "/a 1+1"] {
            assert!(!refused(line, &[]), "{line}");
        }
    }

    #[test]
    fn a_line_is_one_line_with_its_markers_and_its_note_is_read_back() {
        let marker = Marker::fresh();
        let m = marker.as_str();
        let line = String::from_utf8(line(&["dir".to_owned(), "/b".to_owned()], &marker)).unwrap();
        let expected = format!("(call )&<nul dir /b&call echo {m}:%^errorlevel%:&cd&echo {m}&>&2 echo {m}:{m}\r\n");
        assert_eq!(line, expected);
        let read = |note: &str| status(note.as_bytes()).map(|status| (status.code, status.directory));
        assert_eq!(read(":0:\r\nC:\\a b\r\n"), Some((0, "C:\\a b".to_owned())));
        assert_eq!(read(":-1073741819:\r\nC:\\\r\n"), Some((-1_073_741_819, "C:\\".to_owned())));
        assert_eq!(read(":x:\r\nC:\\\r\n"), None);
    }

    #[test]
    fn a_change_of_directory_is_read_or_refused() {
        let read = |arguments: &str| change_of(&decide("cd", arguments).unwrap());
        assert_eq!(read(""), Ok(Some(Change::Show)));
        assert_eq!(read("/D \"C:\\a b\""), Ok(Some(Change::To("C:\\a b".to_owned()))));
        assert_eq!(read("..\\x y"), Ok(Some(Change::To("..\\x y".to_owned()))));
        for arguments in ["a*", "a?", "/x"] {
            assert!(matches!(read(arguments), Err(Refused::ChangeArguments { .. })), "{arguments}");
        }
        assert_eq!(change_of(&["dir".to_owned()]), Ok(None));
    }

    #[test]
    fn a_path_that_cmd_exe_would_read_otherwise_is_never_changed_to() {
        for path in ["C:\\a b\\ü", "C:\\$x;y`z,=@~'[]{}", "\\\\server\\share"] {
            assert_eq!(change_to(path).unwrap(), ["cd".to_owned(), format!("/d \"{path}\"")]);
        }
        for character in SYNTAX.iter().chain(&['"', '\n', '\r', '\t', '\u{7f}']) {
            for path in [format!("C:\\a{character}b"), format!("C:\\{character}TEMP{character}\\sub")] {
                let expected = Refused::Path { path: path.clone(), character: *character, shell: SHELL };
                assert_eq!(change_to(&path), Err(expected));
            }
        }
        let said = change_to("C:\\100%\\sub").unwrap_err().to_string();
        let expected =
            "the path `C:\\100%\\sub` holds `%`, which can't be given to cmd.exe; use a directory without it";
        assert_eq!(said, expected);
    }
}
