//! The gate: which of the lines that were allowed may go to the agent's own shell as they are.
//!
//! That shell reads the line again, with builtins, patterns and syntax of its own, so what was decided is not all that counts. A line
//! goes through only if bash, zsh and sh start exactly the programs that were decided, with the same words. Aliases, functions and
//! the startup files of the shell can't be seen from here; `spec/guide/hooks.md` says so.

use std::path::Path;

use super::verdict::Shell;
use crate::config::Config;
use crate::exec::changes_reading;
use crate::lines::{Command, Line, Part, Piece, Pipeline, Redirection, Simple, Stream, Word};
use crate::policy::Rule;
use crate::policy::line::{PartDecision, PartKind, PartOutcome};

/// Why a line does not go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doubt {
    /// A shell may read it in another way.
    Unreadable(String),
    /// The decision rests on more than the line.
    Undescribed(String),
}

/// The names that are builtins or reserved words of bash, zsh or dash, whatever programs have these names too.
const BUILTINS: &str = ". : [ [[ ]] ! alias autoload bg bind bindkey break builtin bye caller case cap cd chdir clone command \
    comparguments compcall compctl compdescribe compfiles compgen compgroups complete compopt compquote comptags comptry \
    compvalues continue coproc declare dirs disable disown do done echo echotc echoti elif else emulate enable end esac eval \
    exec exit export false fc fg fi float for foreach function functions getcap getln getopts hash help history if in integer \
    jobs kill let limit local log logout mapfile noglob nocorrect popd print printf private pushd pushln pwd r read readarray \
    readonly rehash repeat return sched select set setcap setopt shift shopt source stat suspend test then time times trap true \
    ttyctl type typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt until vared wait whence where which while \
    zcompile zformat zftp zle zmodload zparseopts zprof zpty zregexparse zselect zsocket zstat zstyle ztcp zsystem syswrite \
    sysread sysopen sysseek syserror strftime { } - builtin";

/// Looks at a line that was allowed, with the decisions on its parts.
pub(super) fn doubt(
    text: &str,
    shell: Shell,
    parts: &[PartDecision],
    (config, here): (&Config, &Path),
) -> Option<Doubt> {
    let read = match shell {
        Shell::Bash | Shell::Zsh => Line::read(text),
        Shell::Sh => Line::read_posix(text),
        Shell::Other => {
            return Some(Doubt::Unreadable(
                "only bash, zsh and sh are known to read a line as it was decided".to_owned(),
            ));
        }
    };
    // The line of a shell in it was decided, and is what the agent's shell would start another shell for.
    let line = match read.and_then(|line| line.open_shells(&|_| false)) {
        Ok(line) => line,
        Err(error) => return Some(Doubt::Unreadable(error.to_string())),
    };
    if let Some(what) = bare_doubt(text) {
        return Some(unreadable(what));
    }
    of_line(&line).map(unreadable).or_else(|| of_parts(&line, parts, (config, here)))
}

fn unreadable(what: impl std::fmt::Display) -> Doubt {
    Doubt::Unreadable(format!("the agent's shell may read {what} in another way than it was decided"))
}

/// A character outside quotes that one of the shells reads as more than itself.
fn bare_doubt(text: &str) -> Option<String> {
    let mut characters = text.chars().peekable();
    let (mut before, mut quote) = (' ', None);
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('"') | None, '\\') => drop(characters.next()),
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '}' | '{' | ']' | '^' | '#') => return Some(format!("an unquoted `{character}`")),
            (None, '=') if matches!(before, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | '<' | '>') => {
                return Some("a word that begins with `=`".to_owned());
            }
            (None, '<') if characters.peek().is_some_and(|next| next.is_ascii_digit() || *next == '-') => {
                return Some("`<` before a digit".to_owned());
            }
            (None, '>') if characters.peek() == Some(&'!') => return Some("`>!`".to_owned()),
            (None, character) if !character.is_ascii() || (character.is_control() && !"\n\t".contains(character)) => {
                return Some("characters outside of ASCII without quotes".to_owned());
            }
            (None, _) => {}
        }
        before = character;
    }
    None
}

/// A command or a redirection that one of the shells runs in another way.
fn of_line(line: &Line) -> Option<String> {
    line.pipelines().find_map(of_pipeline)
}

fn of_pipeline(pipeline: &Pipeline) -> Option<String> {
    let last = pipeline.stages.len().saturating_sub(1);
    pipeline.stages.iter().enumerate().find_map(|(place, stage)| match &stage.command {
        Command::Simple(simple) => of_simple(simple, place == last && !stage.pipes_stderr),
        Command::Group(group) if group.shell.is_some() => Some("the line of another shell".to_owned()),
        Command::Group(group) => {
            of_line(&group.line).or_else(|| of_redirections(&group.redirections, place == last && !stage.pipes_stderr))
        }
    })
}

fn of_simple(simple: &Simple, is_last: bool) -> Option<String> {
    if !simple.assignments.is_empty() {
        return Some("a variable that is set for a command".to_owned());
    }
    let brackets = |word: &Word| {
        word.parts.windows(2).any(|pair| match pair {
            [Part::Piece(Piece::Variable { .. }), Part::Piece(Piece::Literal(text))] => text.starts_with('['),
            [Part::Piece(Piece::Variable { .. }), Part::Pattern(_)] => true,
            _ => false,
        })
    };
    if simple.words.iter().any(brackets) {
        return Some("a variable before a `[`".to_owned());
    }
    let Some((first, arguments)) = simple.words.split_first() else {
        return of_redirections(&simple.redirections, is_last);
    };
    let Some(name) = first.text() else { return Some("a command whose name is not written out".to_owned()) };
    let arguments: Option<Vec<String>> = arguments.iter().map(Word::text).collect();
    let is_builtin = BUILTINS.split_ascii_whitespace().any(|builtin| builtin == name);
    if is_builtin && !is_harmless(&name, arguments.as_deref()) {
        return Some(format!("`{name}`, which is a builtin of shells,"));
    }
    // Names for options of zsh, jobs and numbers.
    if name.starts_with(['-', '%', '+', '@', '=']) {
        return Some(format!("`{name}`"));
    }
    of_redirections(&simple.redirections, is_last)
}

/// Whether a builtin does the same in all three shells, with these arguments.
fn is_harmless(name: &str, arguments: Option<&[String]>) -> bool {
    let Some(arguments) = arguments else { return false };
    match (name, arguments) {
        ("cd", [directory]) => {
            directory.starts_with('/') || directory.starts_with("./") || directory.starts_with("../")
        }
        ("exit", [code]) => !code.is_empty() && code.bytes().all(|digit| digit.is_ascii_digit()),
        ("true" | "false" | ":" | "pwd", []) => true,
        ("echo", words) => !words.iter().any(|word| word.starts_with('-') || word.contains('\\')),
        _ => false,
    }
}

/// Redirections that zsh does for more than one file, and texts that begin in another way in some shells.
fn of_redirections(redirections: &[Redirection], is_last: bool) -> Option<String> {
    let mut count = [0; 3];
    for redirection in redirections {
        match redirection {
            Redirection::Document(_) => return Some("a here-document".to_owned()),
            Redirection::Read(_) | Redirection::HereString(_) => count[0] += 1,
            Redirection::Write { stream: Stream::Stdout, .. } | Redirection::StdoutToStderr => count[1] += 1,
            Redirection::Write { stream: Stream::Stderr, .. } | Redirection::StderrToStdout => count[2] += 1,
            Redirection::Write { stream: Stream::Both, .. } => {
                count[1] += 1;
                count[2] += 1;
            }
        }
    }
    // The pipe is one of its outputs.
    if count.iter().any(|count| *count > 1) || (!is_last && count[1] > 0) {
        return Some("two redirections of one stream".to_owned());
    }
    None
}

/// Decisions that rest on more than the words.
fn of_parts(line: &Line, parts: &[PartDecision], (config, here): (&Config, &Path)) -> Option<Doubt> {
    let undescribed = |why: String| Some(Doubt::Undescribed(why));
    let commands = line.commands();
    // What was decided are the commands of the text, one by one.
    let decided = |simple: &Simple| {
        let mut own = parts.iter().filter(|part| part.number == simple.number && part.kind != PartKind::Redirection);
        let word = simple.words.first().and_then(Word::text);
        own.any(|part| word.is_none() || part.explanation.words.first() == word.as_ref())
    };
    if let Some(simple) = commands.iter().find(|simple| !simple.words.is_empty() && !decided(simple)) {
        let name = simple.words.first().and_then(Word::text).unwrap_or_default();
        return undescribed(format!("`{name}` was not decided as the agent's shell would read it"));
    }
    for part in parts.iter().filter(|part| part.kind == PartKind::Command) {
        let name = part.explanation.words.first().map_or("", String::as_str);
        if part.outcome == PartOutcome::AtItsTurn {
            return undescribed(format!("`{name}` depends on what an earlier command of the line may change"));
        }
        let rule = match &part.explanation.rule {
            Some(Rule::Described(rule)) => Some(rule),
            Some(Rule::Entry(_) | Rule::Any | Rule::Project(_)) | None => None,
        };
        if rule.is_some_and(|rule| !rule.rests_on_words_alone()) {
            return undescribed(format!(
                "the rule for `{name}` relies on words, variables, a program, a sandbox or limits of its own, which the agent's \
                 shell would not add; the hook holds it with `--rewrite`"
            ));
        }
        if rule.is_some() && config.surroundings.variables.keys().any(|name| changes_reading(name)) {
            return undescribed(format!("a variable such as POSIXLY_CORRECT changes how `{name}` reads its words"));
        }
        let has_pattern = commands.iter().filter(|simple| simple.number == part.number).any(|simple| {
            simple
                .words
                .iter()
                .any(|word| word.parts.iter().any(|part| matches!(part, Part::Pattern(_))) && !is_bound(word))
        });
        let takes_patterns = rule.is_none_or(|rule| rule.is_plain_any());
        let has_any = commands.iter().filter(|simple| simple.number == part.number).any(|simple| {
            simple.words.iter().any(|word| word.parts.iter().any(|part| matches!(part, Part::Pattern(_))))
        });
        if has_pattern || (has_any && !takes_patterns) {
            return undescribed(format!("a pattern for `{name}` may become other words in the agent's shell"));
        }
        let is_path = name.contains('/');
        let is_found = match &part.explanation.program {
            Some(program) => is_path || is_first_in_path(name, program, (config, here)),
            None => is_harmless(name, Some(&[])) || name == "echo" || name == "cd" || name == "exit",
        };
        if !is_found {
            return undescribed(format!("the agent's shell may find another program for `{name}` in its PATH"));
        }
    }
    None
}

/// Whether the names that a pattern becomes begin with a directory, so that none looks like an option.
fn is_bound(word: &Word) -> bool {
    match word.parts.first() {
        Some(Part::Piece(Piece::Literal(text))) => {
            text.split_once('/').is_some_and(|(name, _)| !name.is_empty() && !name.starts_with('-'))
        }
        Some(Part::Piece(Piece::Variable { .. } | Piece::Home) | Part::Pattern(_)) | None => false,
    }
}

/// Whether a shell that looks the name up in PATH finds this program first, in a directory that commands can't write.
fn is_first_in_path(name: &str, program: &Path, (config, here): (&Config, &Path)) -> bool {
    let Some(path) = config.surroundings.variable("PATH") else { return false };
    let mut changeable = config.changeable_directories();
    changeable.push(here.to_owned());
    for directory in std::env::split_paths(path) {
        // An empty or relative entry leads wherever the line runs.
        if !directory.is_absolute() || changeable.iter().any(|changeable| directory.starts_with(changeable)) {
            return false;
        }
        let candidate = directory.join(name);
        if crate::files::is_executable(&candidate) {
            let same = |one: &Path, other: &Path| {
                one == other
                    || matches!((crate::files::canonicalize(one), crate::files::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
            };
            return same(&candidate, program);
        }
    }
    false
}

#[cfg(test)]
mod tests;
