//! Scripts for other languages than shells: whether a call that starts programs or runs code names the script's arguments.

use std::collections::HashMap;

use super::{ARGUMENTS, Lookup, command, is_in, stem};

/// The calls of a language by which a script hands its arguments on.
struct Language {
    /// The names of its interpreters.
    names: &'static str,
    /// The names of the arguments of a script.
    arguments: &'static str,
    /// Calls that start the program which their words name.
    starts: &'static str,
    /// Calls that give a text to a shell.
    shell: &'static str,
    /// Calls that run code of the language.
    code: &'static str,
    /// The modules that may stand in front of a call, with a point.
    modules: &'static str,
    /// The interpreter itself.
    itself: &'static str,
    /// A comment begins with one of these.
    comment: &'static str,
}

const LANGUAGES: [Language; 7] = [
    Language {
        names: "python pypy ipython",
        arguments: "argv parse_args parse_known_args orig_argv",
        starts: "execl execle execlp execlpe execv execve execvp execvpe spawnl spawnlp spawnv spawnvp spawnve spawnvpe \
                 posix_spawn posix_spawnp run call Popen check_call check_output create_subprocess_exec spawn",
        shell: "system popen getoutput getstatusoutput create_subprocess_shell",
        code: "exec eval run_path run_module execfile",
        modules: "os posix subprocess sp pty runpy",
        itself: "sys.executable",
        comment: "#",
    },
    Language {
        names: "node nodejs bun deno tsx ts-node",
        arguments: "argv",
        starts: "spawn spawnSync execFile execFileSync fork execa execve",
        shell: "exec execSync",
        code: "eval Function runInThisContext runInNewContext",
        modules: "child_process childProcess cp proc vm process Deno Bun",
        itself: "process.execPath",
        comment: "//",
    },
    Language {
        names: "perl",
        arguments: "ARGV",
        starts: "exec system",
        shell: "qx",
        code: "eval do",
        modules: "",
        itself: "$^X",
        comment: "#",
    },
    Language {
        names: "ruby jruby",
        arguments: "ARGV",
        starts: "exec system spawn popen capture2 capture2e capture3 popen2 popen3",
        shell: "",
        code: "eval instance_eval class_eval load",
        modules: "Kernel Process IO Open3 PTY",
        itself: "RbConfig.ruby",
        comment: "#",
    },
    Language {
        names: "php",
        arguments: "argv",
        starts: "pcntl_exec proc_open",
        shell: "system exec passthru shell_exec popen",
        code: "eval include require include_once require_once",
        modules: "",
        itself: "PHP_BINARY",
        comment: "//",
    },
    Language {
        names: "lua luajit",
        arguments: "arg",
        starts: "",
        shell: "execute popen",
        code: "load loadstring dofile loadfile",
        modules: "os io",
        itself: "arg[-1]",
        comment: "--",
    },
    Language {
        names: "tclsh wish expect jimsh",
        arguments: "argv",
        starts: "exec spawn",
        shell: "",
        code: "eval source uplevel",
        modules: "",
        itself: "[info nameofexecutable]",
        comment: "#",
    },
];

/// The most words of a call that are looked at, and the most characters of a call or of the value of a variable.
const MOST_WORDS: usize = 200;
const LONGEST_CALL: usize = 2000;

/// Words that stand before the name of a variable.
const DECLARE: &str = "my our local const let var";

/// The known program that a script for this interpreter hands its arguments on to.
pub(super) fn program(script: &str, interpreter: &str, known: &Lookup<'_>) -> Option<String> {
    let language = LANGUAGES.iter().find(|language| is_in(language.names, stem(interpreter)))?;
    let text = code(script, language).replace(language.itself, &format!("'{interpreter}'"));
    let variables = variables(&text, language);
    let names_module = identifiers(&text).any(|(_, module)| is_in(language.modules, module));
    for (at, name) in identifiers(&text) {
        let does = |calls| is_in(calls, name);
        let is_call = does(language.starts) || does(language.shell) || does(language.code);
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + name.len()..).unwrap_or_default());
        if !is_call || !is_of_module(before, name, names_module, language) {
            continue;
        }
        let call = extent(after);
        let words = words(call, language, &variables);
        if !words.iter().any(|word| word.contains(ARGUMENTS)) {
            continue;
        }
        let is_text = call.contains("shell=True")
            || words.len() == 1 && call.trim_start_matches(['(', ' ']).starts_with(['\'', '"', '`']);
        let found = if does(language.code) {
            Some(interpreter.to_owned())
        } else if does(language.shell) || is_text {
            Some("sh".to_owned())
        } else {
            command::program(&words, false, known)
        };
        if found.is_some() {
            return found;
        }
    }
    let mut between_backticks = text.split('`').skip(1).step_by(2);
    let is_shell = ["perl", "ruby", "php"].contains(&stem(interpreter));
    let is_given_some = |text: &str| identifiers(text).any(|(_, name)| is_in(language.arguments, name));
    (is_shell && between_backticks.any(is_given_some)).then(|| "sh".to_owned())
}

/// The lines of a script that are neither comments nor documentation.
fn code(script: &str, language: &Language) -> String {
    let mut is_told = false;
    let is_code = |line: &&str| {
        let line = line.trim_start();
        // Texts in three quotes of Python, and pages of Perl.
        let quotes = line.matches("\"\"\"").count() + line.matches("'''").count();
        let is_page = line.starts_with('=') && line.chars().nth(1).is_some_and(|char| char.is_ascii_lowercase());
        let was_told = is_told || quotes > 0 || is_page;
        is_told = if is_page { !line.starts_with("=cut") } else { is_told != (quotes % 2 == 1) };
        !was_told && !line.starts_with(language.comment)
    };
    script.lines().take_while(|line| *line != "__END__").filter(is_code).collect::<Vec<_>>().join("\n")
}

/// Whether a call belongs to one of the language's modules, or stands alone where the script names one: `run(` may be anything.
fn is_of_module(before: &str, name: &str, names_module: bool, language: &Language) -> bool {
    let is_of = |module: &str| is_in(language.modules, module);
    if let Some(owner) = before.strip_suffix('.').or_else(|| before.strip_suffix("::")) {
        let owner = owner.trim_end_matches(")").trim_end_matches(['\'', '"']);
        let is_apart = |char: char| !char.is_ascii_alphanumeric() && char != '_';
        let owner = owner.rsplit(is_apart).next().unwrap_or_default();
        return identifiers(owner).last().is_some_and(|(at, module)| is_of(module) && at + module.len() == owner.len());
    }
    let is_defined = before.ends_with("def ") || before.ends_with("function ");
    let needs_module =
        ["run", "call", "spawn"].contains(&name) || name == "exec" && language.modules.contains("child_process");
    !is_defined && !before.ends_with(['\'', '"', '$', '@']) && (!needs_module || names_module)
}

/// The words of a call, up to its closing parenthesis, or to the end of its line or statement if it has none.
fn extent(after: &str) -> &str {
    let after = beginning(after);
    let has_parenthesis = after.starts_with('(');
    let mut depth = 0_usize;
    for (at, char) in after.char_indices() {
        match char {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ';' | '\n' if !has_parenthesis => return after.get(..at).unwrap_or_default(),
            // The block of `eval { … }` is no text.
            '{' if at < 2 && after.starts_with([' ', '{']) && !after.starts_with(" {*}") => return "",
            _ => {}
        }
        if has_parenthesis && depth == 0 {
            return after.get(..at).unwrap_or_default();
        }
    }
    after
}

/// As much of a text as is looked at.
fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST_CALL).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

/// The texts of the variables that are made from the arguments.
fn variables<'t>(text: &'t str, language: &Language) -> HashMap<&'t str, &'t str> {
    let mut variables = HashMap::new();
    for line in text.lines() {
        let (names, value) = match (line.trim_start().strip_prefix("for "), line.split_once('=')) {
            (Some(rest), _) => rest.split_once(" in ").or_else(|| rest.split_once(" of ")).unwrap_or_default(),
            (None, assigned) => assigned.unwrap_or_default(),
        };
        let is_given_some = |(_, name)| is_in(language.arguments, name) || variables.contains_key(name);
        if names.len() < 100
            && !names.contains("if ")
            && !names.contains(['"', '\''])
            && identifiers(value).any(is_given_some)
        {
            let names = identifiers(names).map(|(_, name)| name);
            variables.extend(names.filter(|name| !is_in(DECLARE, name)).map(|name| (name, beginning(value))));
        }
    }
    variables
}

/// The words of a call: its texts and names, with [`ARGUMENTS`] in place of the script's arguments.
fn words(call: &str, language: &Language, variables: &HashMap<&str, &str>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = call;
    while let Some(first) = rest.chars().next().filter(|_| words.len() < MOST_WORDS) {
        let (length, word) = if ['\'', '"', '`'].contains(&first) {
            let text = rest.get(1..).unwrap_or_default();
            let text = text.get(..text.find(first).unwrap_or(text.len())).unwrap_or_default();
            let is_argument =
                |(_, name): (usize, &str)| is_in(language.arguments, name) || variables.contains_key(name);
            let is_formed = text.contains(['{', '$', '@']) && identifiers(text).any(is_argument);
            (text.len() + 2, Some(if is_formed { format!("{text}{ARGUMENTS}") } else { text.to_owned() }))
        } else if let Some((0, name)) = identifiers(rest).next() {
            let after = rest.get(name.len()..).unwrap_or_default();
            let word = if is_in(language.arguments, name) {
                Some(ARGUMENTS.to_string())
            } else if let Some(value) = variables.get(name) {
                // The words of its value, in which it does not stand again.
                words.extend(self::words(value, language, &HashMap::new()));
                None
            } else {
                (!after.starts_with(['.', '(', '=', ':'])).then(|| name.to_owned())
            };
            (name.len(), word)
        } else {
            // The name behind a point is a part of what stands before it, unless it is that of the arguments.
            let name = if first == '.' {
                identifiers(rest).next().filter(|(at, _)| *at == 1).map(|(_, name)| name)
            } else {
                None
            };
            let is_part = name.filter(|name| !is_in(language.arguments, name));
            (first.len_utf8() + is_part.map_or(0, str::len), None)
        };
        // The first argument of a program is its name once more.
        words.extend(word.filter(|word| !(words.len() == 1 && words.first() == Some(word))));
        rest = rest.get(length..).unwrap_or_default();
    }
    words
}

/// The identifiers of a text, with where they begin.
fn identifiers(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let start = at + rest.find(is_part)?;
        let rest = text.get(start..)?;
        let end = start + rest.find(|char| !is_part(char)).unwrap_or(rest.len());
        at = end;
        text.get(start..end).map(|name| (start, name))
    })
}
