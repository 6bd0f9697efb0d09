//! The gate: which of the lines that were allowed may go to the agent's own shell as they are.
//!
//! That shell reads the line again, with builtins, patterns and syntax of its own, so what was decided is not all that counts. A line
//! goes through only if bash, zsh and sh start exactly the programs that were decided, with the same words. Aliases, functions and
//! the startup files of the shell can't be seen from here; `spec/guide/hooks.md` says so.

use std::ffi::OsString;
use std::path::{Component, Path};

use super::verdict::Shell;
use crate::config::Config;
use crate::files::{Held, is_executable};
use crate::integrity::{Needed, needed_by};
use crate::lines::{Command, Line, Part, Piece, Pipeline, Redirection, Simple, Stage, Stream, Word};
use crate::policy::Rule;
use crate::policy::changes_reading;
use crate::policy::line::{PartDecision, PartKind, PartOutcome};
use crate::policy::rules::CommandRule;
use crate::server::Parts;

/// Why a line does not go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doubt {
    /// A shell may read it in another way.
    Unreadable(String),
    /// The decision rests on more than the line.
    Undescribed(String),
}

/// The names that are builtins or reserved words of bash, zsh or dash, or aliases that zsh has from the start, whatever programs
/// have these names too.
const BUILTINS: &str = ". : [ [[ ]] ! alias autoload bg bind bindkey break builtin bye caller case cap cd chdir clone command \
    comparguments compadd compcall compctl compdescribe compfiles compgen compgroups complete compopt compquote compset comptags comptry \
    compvalues continue coproc declare dirs disable disown do done echo echotc echoti elif else emulate enable end esac eval \
    exec exit export false fc fg fi float for foreach function functions getcap getln getopts hash help history if in integer \
    jobs kill let limit local log logout mapfile noglob nocorrect popd print printf private pushd pushln pwd r read readarray \
    readonly rehash repeat return run-help sched select set setcap setopt shift shopt source stat suspend test then time times trap true \
    ttyctl type typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt until vared wait whence where which which-command while \
    zcompile zformat zftp zle zmodload zparseopts zprof zpty zregexparse zselect zsocket zstat zstyle ztcp zsystem syswrite \
    sysread sysopen sysseek syserror strftime { } - builtin";

/// The variables by which bash runs a file first, splits off words of the form `NAME=value`, traces commands with code in `PS4`, or
/// passes over programs.
const OF_BASH: [&str; 3] = ["BASH_ENV", "SHELLOPTS", "EXECIGNORE"];

/// The facts that decide whether a line goes through.
pub(super) struct Gate<'a> {
    pub shell: Shell,
    /// The decisions on the parts of the line.
    pub parts: &'a [PartDecision],
    /// Decides on one of its pipelines again.
    pub server: &'a Parts,
    pub config: &'a Config,
    /// The directory of the event.
    pub here: &'a Path,
    pub leaves: Leaves,
}

/// The facts that say where a `cd` of the agent's shell leads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaves {
    /// Whether the next line may begin where this one ends.
    pub stays: bool,
    /// Whether the shell knows the directory of the event by its real path, so that `..` leads to the real parent.
    pub is_plain: bool,
}

impl Gate<'_> {
    /// Looks at a line that was allowed, and returns why it does not go through.
    pub(super) fn doubt(&self, text: &str) -> Option<Doubt> {
        if self.shell == Shell::Other {
            let why = "only bash, zsh and sh are known to read a line as it was decided";
            return Some(Doubt::Unreadable(why.to_owned()));
        }
        let line = Line::read_common(text).map_err(|error| Doubt::Unreadable(error.to_string()));
        line.and_then(|line| self.line(&line, &mut false)).err()
    }

    /// Looks at the pipelines in their order. `has_changed` says whether a command before may have changed files.
    fn line(&self, line: &Line, has_changed: &mut bool) -> Result<(), Doubt> {
        for pipeline in line.pipelines() {
            match pipeline.stages.as_slice() {
                [Stage { command: Command::Group(group), .. }] if group.redirections.is_empty() => {
                    self.line(&group.line, has_changed)?;
                }
                stages => {
                    let commands: Option<Vec<&Simple>> = stages.iter().map(|stage| stage.command.simple()).collect();
                    let commands = commands.ok_or_else(|| unreadable("a group in a pipe or with redirections"))?;
                    self.pipeline(pipeline, &commands, has_changed)?;
                }
            }
        }
        Ok(())
    }

    fn pipeline(&self, pipeline: &Pipeline, commands: &[&Simple], has_changed: &mut bool) -> Result<(), Doubt> {
        for (place, simple) in commands.iter().enumerate() {
            check_words(simple)?;
            self.check_directory(simple)?;
            check_streams(&simple.redirections, place + 1 == commands.len())?;
            self.check_environment(&name_of(simple))?;
            self.check_rule(simple)?;
            // The commands of a pipeline run at the same time.
            let changes = |(other, simple): (usize, &&Simple)| other != place && self.changes_files(simple);
            if self.asks_of_files(simple) && (*has_changed || commands.iter().enumerate().any(changes)) {
                let name = name_of(simple);
                return Err(unreadable(format!("`{name}`, which depends on files that another command may change,")));
            }
        }
        let own = commands.iter().flat_map(|simple| self.parts_of(simple));
        for part in own.filter(|part| part.outcome == PartOutcome::AtItsTurn) {
            // Whether a `cd` is reached, and so where all later commands run, is not known.
            let directory = part.explanation.directory.as_deref().filter(|_| part.kind != PartKind::Builtin);
            if !directory.is_some_and(|directory| self.server.allows_now(pipeline, directory)) {
                return Err(unreadable(format!("`{}`, at its turn,", part.explanation.words.join(" "))));
            }
        }
        let writes =
            |redirection: &Redirection| opens_file(redirection) && !matches!(redirection, Redirection::Read(_));
        let changes = |simple: &&Simple| self.changes_files(simple) || simple.redirections.iter().any(writes);
        *has_changed |= commands.iter().any(changes);
        Ok(())
    }

    /// Refuses a `cd` after which the shell may be elsewhere than it was decided.
    fn check_directory(&self, simple: &Simple) -> Result<(), Doubt> {
        if name_of(simple) != "cd" {
            return Ok(());
        }
        let target = simple.words.get(1).and_then(Word::text).unwrap_or_default();
        if self.leaves.stays {
            return Err(unreadable("lines after a `cd`, since it keeps the directory,"));
        }
        let leads_up = Path::new(&target).components().any(|part| part == Component::ParentDir);
        match leads_up && !self.leaves.is_plain {
            true => Err(unreadable("`cd ..`, since it has come here by a link,")),
            false => Ok(()),
        }
    }

    fn parts_of(&self, simple: &Simple) -> impl Iterator<Item = &PartDecision> {
        self.parts.iter().filter(|part| part.number == simple.number)
    }

    /// The rule of a command that a program runs; `None` if it is a builtin.
    fn rule_of(&self, simple: &Simple) -> Option<Option<&CommandRule>> {
        let part = self.parts_of(simple).find(|part| part.kind == PartKind::Command)?;
        Some(match &part.explanation.rule {
            Some(Rule::Described(rule)) => Some(rule),
            Some(Rule::Entry(_) | Rule::Any | Rule::Project(_)) | None => None,
        })
    }

    /// Whether it may change files in other ways than by its redirections.
    fn changes_files(&self, simple: &Simple) -> bool {
        self.rule_of(simple).is_some_and(|rule| rule.is_none_or(|rule| !rule.read_only))
    }

    /// Whether its decision depends on files.
    fn asks_of_files(&self, simple: &Simple) -> bool {
        let words: Option<Vec<String>> = simple.words.iter().map(Word::text).collect();
        let of_rule = |words: &[String]| self.rule_of(simple).flatten().is_some_and(|rule| rule.asks_of_files(words));
        words.is_none_or(|words| of_rule(&words))
            || name_of(simple).contains('/')
            || simple.redirections.iter().any(opens_file)
    }

    /// Refuses a command that bash runs in another way with the agent's environment: it takes functions from there, also for the
    /// names of builtins, and what its variables of settings say.
    fn check_environment(&self, name: &str) -> Result<(), Doubt> {
        let changes_command = |variable: &&OsString| {
            let function = variable.to_str().and_then(|variable| variable.strip_prefix("BASH_FUNC_"));
            OF_BASH.iter().any(|known| *variable == known)
                || function.is_some_and(|function| function.trim_end_matches(['%', '(', ')']) == name)
        };
        match self.config.surroundings.variables.keys().find(changes_command) {
            Some(variable) => Err(Doubt::Undescribed(format!(
                "`{}` in the agent's environment changes how its shell runs `{name}`",
                variable.to_string_lossy()
            ))),
            None => Ok(()),
        }
    }

    /// Decisions that rest on more than the words.
    fn check_rule(&self, simple: &Simple) -> Result<(), Doubt> {
        let name = name_of(simple);
        let undescribed = |why: String| Err(Doubt::Undescribed(why));
        // What was decided are the commands of the text, one by one.
        let mut own = self.parts_of(simple).filter(|part| part.kind != PartKind::Redirection);
        let Some(part) = own.find(|part| part.explanation.words.first() == Some(&name)) else {
            return undescribed(format!("`{name}` was not decided as the agent's shell would read it"));
        };
        let Some(rule) = self.rule_of(simple) else { return Ok(()) };
        if rule.is_some_and(|rule| !rule.rests_on_words_alone()) {
            return undescribed(format!(
                "the rule for `{name}` relies on words, variables, a program, a sandbox or limits of its own, which the agent's \
                 shell would not add; the hook holds it with `--rewrite`"
            ));
        }
        if rule.is_some() && self.config.surroundings.variables.keys().any(|name| changes_reading(name)) {
            return undescribed(format!("a variable such as POSIXLY_CORRECT changes how `{name}` reads its words"));
        }
        let mut patterns = simple.words.iter().filter(|word| word.text().is_none());
        if patterns.any(|word| !is_bound(word) || !rule.is_none_or(CommandRule::is_plain_any)) {
            return Err(unreadable(format!("a pattern for `{name}`")));
        }
        let is_found = match &part.explanation.program {
            Some(program) => name.contains('/') || is_first_in_path(&name, program, (self.config, self.here)),
            None => is_builtin(&name),
        };
        let why = || format!("the agent's shell may find another program for `{name}` in its PATH");
        if is_found { Ok(()) } else { undescribed(why()) }
    }
}

fn unreadable(what: impl std::fmt::Display) -> Doubt {
    Doubt::Unreadable(format!("the agent's shell may read {what} in another way than it was decided"))
}

/// The name of a command as it is written; empty if that is a pattern.
fn name_of(simple: &Simple) -> String {
    simple.words.first().and_then(Word::text).unwrap_or_default()
}

fn is_builtin(name: &str) -> bool {
    BUILTINS.split_ascii_whitespace().any(|builtin| builtin == name)
}

/// Refuses a command that one of the shells runs in another way.
fn check_words(simple: &Simple) -> Result<(), Doubt> {
    if !simple.assignments.is_empty() || simple.shell().is_some() {
        return Err(unreadable("variables for a command, or the line of another shell,"));
    }
    let name = name_of(simple);
    // zsh runs a program of its own where there are only redirections. Other names are options of zsh, or jobs.
    if !name.starts_with(|first: char| first.is_ascii_alphanumeric() || "_./:".contains(first)) {
        return Err(unreadable("a command without a plain name"));
    }
    let arguments: Option<Vec<String>> = simple.words.iter().skip(1).map(Word::text).collect();
    if is_builtin(&name) && !is_harmless(&name, arguments.as_deref()) {
        return Err(unreadable(format!("`{name}`, which is a builtin of shells,")));
    }
    Ok(())
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

/// Refuses what zsh writes to, or reads from, more than one file.
fn check_streams(redirections: &[Redirection], is_last: bool) -> Result<(), Doubt> {
    let mut count = [0; 3];
    for redirection in redirections {
        match redirection {
            Redirection::Read(_) | Redirection::Document(_) | Redirection::HereString(_) => count[0] += 1,
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
        return Err(unreadable("two redirections of one stream"));
    }
    Ok(())
}

/// Whether it opens a file other than `/dev/null`.
fn opens_file(redirection: &Redirection) -> bool {
    match redirection {
        Redirection::Read(file) | Redirection::Write { target: file, .. } => {
            file.pieces != [Piece::Literal("/dev/null".to_owned())]
        }
        Redirection::StderrToStdout | Redirection::StdoutToStderr => false,
        Redirection::Document(_) | Redirection::HereString(_) => false,
    }
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
    let real = |path: &Path| crate::files::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let changeable = config.changeable_directories().into_iter().chain([here.to_owned()]);
    let changeable: Vec<_> = changeable.map(|directory| real(&directory)).collect();
    for directory in std::env::split_paths(path) {
        // An empty or relative entry leads wherever the line runs.
        let is_changeable = |changeable: &std::path::PathBuf| real(&directory).starts_with(changeable);
        if !directory.is_absolute() || changeable.iter().any(is_changeable) {
            return false;
        }
        let candidate = directory.join(name);
        if is_executable(&candidate) {
            let same = |one: &Path, other: &Path| {
                one == other
                    || matches!((crate::files::canonicalize(one), crate::files::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
            };
            return same(&candidate, program) && has_interpreter(&candidate);
        }
    }
    false
}

/// Whether the loader and the interpreter of a program are there. Where one is missing, dash and zsh go on to the next program of the
/// name. Elsewhere than on Linux they are taken for granted.
fn has_interpreter(program: &Path) -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let needed = Held::open(program).and_then(|held| needed_by(&held)).unwrap_or_default();
    needed.iter().all(|needed| match needed {
        Needed::Interpreter(file, _) | Needed::Loader(file) => is_executable(file),
        Needed::Shell => true,
    })
}

#[cfg(test)]
mod tests;
