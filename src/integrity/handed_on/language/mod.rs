//! Reads a script of another language than a shell's call by call: whether a call that starts programs or runs code names the script's
//! arguments.

mod tokens;

use std::collections::HashMap;

use super::{Lookup, UNKNOWN, Value, base, handed, is_in};
use tokens::{Token, statement, tokens, within};

/// The use that a call makes of its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Starts the program that its words name.
    Starts,
    /// Passes them to a shell.
    Shell,
    /// Runs them as code of the language.
    Code,
}

/// How scripts of a language are read.
struct Language {
    /// The names of its interpreters.
    names: &'static str,
    /// The names of the arguments of a script.
    arguments: &'static str,
    /// Calls, which may stand after a module of these names, or alone.
    starts: &'static str,
    shell: &'static str,
    code: &'static str,
    modules: &'static str,
    /// Calls of those above that mean something else, unless one of the modules is named.
    only_of_modules: &'static str,
    /// How a comment begins.
    comment: &'static str,
    /// The call may have no parentheses.
    is_bare: bool,
}

const LANGUAGES: [Language; 7] = [
    Language {
        names: "python pypy ipython",
        arguments: "argv parse_args parse_known_args orig_argv",
        starts: "execl execle execlp execlpe execv execve execvp execvpe spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe posix_spawn posix_spawnp run call Popen check_call check_output create_subprocess_exec spawn",
        shell: "system popen getoutput getstatusoutput create_subprocess_shell",
        code: "exec eval run_path run_module execfile",
        modules: "os posix subprocess sp asyncio pty runpy builtins",
        only_of_modules: "run call spawn",
        comment: "#",
        is_bare: false,
    },
    Language {
        names: "node nodejs bun deno tsx ts-node",
        arguments: "argv Deno.args",
        starts: "spawn spawnSync execFile execFileSync fork execa execve",
        shell: "exec execSync",
        code: "eval Function runInThisContext runInNewContext",
        modules: "child_process childProcess cp proc vm process Deno Bun",
        only_of_modules: "exec",
        comment: "//",
        is_bare: false,
    },
    Language {
        names: "perl",
        arguments: "ARGV",
        starts: "exec system",
        shell: "qx",
        code: "eval do",
        modules: "",
        only_of_modules: "",
        comment: "#",
        is_bare: true,
    },
    Language {
        names: "ruby jruby",
        arguments: "ARGV",
        starts: "exec system spawn popen capture2 capture2e capture3 popen2 popen3",
        shell: "",
        code: "eval instance_eval class_eval load",
        modules: "Kernel Process IO Open3 PTY",
        only_of_modules: "",
        comment: "#",
        is_bare: true,
    },
    Language {
        names: "php",
        arguments: "argv",
        starts: "pcntl_exec proc_open",
        shell: "system exec passthru shell_exec popen",
        code: "eval include require include_once require_once",
        modules: "",
        only_of_modules: "",
        comment: "//",
        is_bare: true,
    },
    Language {
        names: "lua luajit",
        arguments: "arg",
        starts: "",
        shell: "execute popen",
        code: "load loadstring dofile loadfile",
        modules: "os io",
        only_of_modules: "",
        comment: "--",
        is_bare: false,
    },
    Language {
        names: "tclsh wish expect jimsh",
        arguments: "argv",
        starts: "exec spawn",
        shell: "",
        code: "eval source uplevel",
        modules: "",
        only_of_modules: "",
        comment: "#",
        is_bare: true,
    },
];

/// The most words and signs that are looked at.
const MOST_TOKENS: usize = 50_000;

/// The names of the interpreter itself.
const ITSELF: &str = "sys.executable process.execPath execPath PHP_BINARY RbConfig.ruby $^X";

/// Finds the known program that gets the arguments of a script for the interpreter `name`, which is also called `stem`.
pub(super) fn program(script: &str, stem: &str, name: &str, known: &Lookup<'_>) -> Option<String> {
    let language = LANGUAGES.iter().find(|language| is_in(language.names, stem))?;
    let reader = Reader { language, name, known };
    reader.run(&tokens(script, language))
}

struct Reader<'l> {
    language: &'static Language,
    name: &'l str,
    known: &'l Lookup<'l>,
}

impl Reader<'_> {
    fn run(&self, tokens: &[Token]) -> Option<String> {
        let mut variables: HashMap<&str, Vec<Value>> = HashMap::new();
        let names_module = tokens.iter().any(|token| match token {
            Token::Name(name) | Token::Text(name) => {
                name.split(['.', ':']).any(|part| is_in("subprocess pty child_process", part))
            }
            Token::Shell(_) | Token::Sign(_) => false,
        });
        for (at, token) in tokens.iter().enumerate().take(MOST_TOKENS) {
            let rest = tokens.get(at + 1..).unwrap_or_default();
            match token {
                Token::Shell(text) if matches!(self.text(text), Value::Arguments | Value::Holding(_)) => {
                    return Some("sh".to_owned());
                }
                Token::Name(name) => {
                    let does = self.does(name, tokens.get(..at).unwrap_or_default(), names_module);
                    let found = does.and_then(|does| self.call(does, self.extent(does, rest), &variables));
                    if found.is_some() {
                        return found;
                    }
                    let before = tokens.get(..at).unwrap_or_default();
                    // What a script puts in front of its arguments.
                    if name == "unshift"
                        && rest.iter().take(3).any(|token| matches!(token, Token::Name(name) if name == "ARGV"))
                    {
                        variables.insert("ARGV", vec![Value::Text(UNKNOWN.to_string()), Value::Arguments]);
                    }
                    // An assignment, a loop over values, or Tcl's `set`.
                    let (target, value) = match rest {
                        [Token::Sign('='), Token::Sign('=' | '>' | '~'), ..] => continue,
                        [Token::Sign('='), ..] if is_parameter(before) => continue,
                        [Token::Sign('='), value @ ..] => (name.as_str(), value),
                        [Token::Name(word), value @ ..] if is_in("in of", word) => (name.as_str(), value),
                        [Token::Name(target), value @ ..] if name == "set" => (target.as_str(), value),
                        _ => continue,
                    };
                    let values = self.values(statement(value), &variables);
                    if let [.., Token::Name(other), Token::Sign(',')] = before {
                        variables.insert(other, values.clone());
                    }
                    variables.insert(target, values);
                }
                Token::Text(_) | Token::Shell(_) | Token::Sign(_) => {}
            }
        }
        None
    }

    /// Returns the use that a call of this name makes of its arguments; `None` if none that counts.
    fn does(&self, name: &str, before: &[Token], names_module: bool) -> Option<Does> {
        let (module, call) = name.rsplit_once('.').unwrap_or(("", name));
        let list = |list| is_in(list, call);
        let does = match () {
            () if list(self.language.starts) => Does::Starts,
            () if list(self.language.shell) => Does::Shell,
            () if list(self.language.code) => Does::Code,
            () => return None,
        };
        let is_meant = match module {
            "asyncio" => call.starts_with("create_"),
            "" => names_module || !list(self.language.only_of_modules),
            module => is_in(self.language.modules, module.rsplit('.').next().unwrap_or(module)),
        };
        // A definition of this name is no call of it.
        let is_defined =
            matches!(before.last(), Some(Token::Name(word)) if matches!(word.as_str(), "def" | "sub" | "function"));
        (is_meant && !is_defined).then_some(does)
    }

    /// The tokens that a call gets.
    fn extent<'t>(&self, does: Does, rest: &'t [Token]) -> &'t [Token] {
        match rest.first() {
            Some(Token::Sign('(')) => within(rest),
            // A block, which is no text that becomes code.
            Some(Token::Sign('{')) if does == Does::Code => &[],
            Some(_) if self.language.is_bare => statement(rest),
            _ => &[],
        }
    }

    fn call(&self, does: Does, given: &[Token], variables: &HashMap<&str, Vec<Value>>) -> Option<String> {
        let mut values = self.values(given, variables);
        if !values.iter().any(Value::has_arguments) {
            return None;
        }
        let is_shell = given.windows(3).any(|part| match part {
            [Token::Name(name), Token::Sign('=' | ':'), Token::Name(word)] => {
                name == "shell" && word.eq_ignore_ascii_case("true")
            }
            _ => false,
        });
        match does {
            Does::Code => Some(self.name.to_owned()),
            Does::Shell => Some("sh".to_owned()),
            Does::Starts if is_shell => Some("sh".to_owned()),
            Does::Starts => {
                // The name of the program is given twice.
                values.dedup();
                let (first, rest) = values.split_first()?;
                match first {
                    Value::Arguments => Some("env".to_owned()),
                    Value::Holding(before) if before.contains(char::is_whitespace) => Some("sh".to_owned()),
                    Value::Holding(before) => (before.is_empty() || before.ends_with('/')).then(|| "env".to_owned()),
                    Value::Others => Some("env".to_owned()),
                    Value::Text(text) => {
                        let program = (self.known)(text)?;
                        let named_again =
                            |value: &Value| matches!(value, Value::Text(word) if base(word) == base(text));
                        let rest = if rest.first().is_some_and(named_again) { rest.get(1..)? } else { rest };
                        let code = |text: &str, _: &[Value]| super::shell::program(text, &program, self.known);
                        handed(&program, rest, false, self.known, &code)
                    }
                }
            }
        }
    }

    /// The words that an expression stands for.
    fn values(&self, tokens: &[Token], variables: &HashMap<&str, Vec<Value>>) -> Vec<Value> {
        let mut values = Vec::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            let next = tokens.get(at);
            match token {
                Token::Text(text) => values.push(self.text(text)),
                Token::Shell(_) => values.push(Value::Others),
                Token::Name(name) if next == Some(&Token::Sign('=')) && !self.is_argument(name) => {
                    // The name of a parameter.
                    at += 1;
                }
                Token::Name(name) => values.extend(self.of_name(name, next, variables)),
                Token::Sign(_) => {}
            }
        }
        values
    }

    fn of_name(&self, name: &str, next: Option<&Token>, variables: &HashMap<&str, Vec<Value>>) -> Vec<Value> {
        let first = name.split('.').next().unwrap_or(name);
        if let Some(values) = variables.get(first) {
            return values.clone();
        }
        if self.is_argument(name) {
            return vec![Value::Arguments];
        }
        if is_in(ITSELF, name) {
            return vec![Value::Text(self.name.to_owned())];
        }
        // Outside of functions these are the script's.
        if name == "shift" {
            return vec![Value::Others];
        }
        let is_word = name.chars().all(|c| c.is_ascii_digit())
            || is_in("and or not in if else await new my const lindex list", name)
            || first.starts_with("P_")
            || name.ends_with("P_WAIT")
            || name.ends_with("P_NOWAIT")
            || name.starts_with('.')
            || next == Some(&Token::Sign('('));
        match () {
            () if is_word => Vec::new(),
            // A bare word of Tcl.
            () if self.is("tclsh") && !name.starts_with('$') => vec![Value::Text(name.to_owned())],
            () => vec![Value::Text(UNKNOWN.to_string())],
        }
    }

    fn is(&self, interpreter: &str) -> bool {
        is_in(self.language.names, interpreter)
    }

    fn is_argument(&self, name: &str) -> bool {
        let is_part = |sought: &str| match sought.contains('.') {
            true => name.strip_prefix(sought).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
            false => name.split('.').any(|part| part == sought),
        };
        self.language.arguments.split(' ').any(is_part)
    }

    /// A text, in which names of the arguments may stand.
    fn text(&self, text: &str) -> Value {
        for (at, sign) in text.match_indices(['{', '$', '@']) {
            let rest = text.get(at + 1..).unwrap_or_default();
            let inner = rest.trim_start_matches(['{', '(', '[', '@', '$', ' ']);
            let end = inner.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(inner.len());
            let name = inner.get(..end).unwrap_or_default();
            let is_inserted = sign != "@" || self.is("perl");
            if is_inserted && self.is_argument(name) {
                let before = text.get(..at).unwrap_or_default().trim_end_matches(['#', '$']);
                return Value::Holding(before.to_owned());
            }
        }
        Value::Text(text.to_owned())
    }
}

/// Whether a parameter is named after these tokens, and not the last of several variables that are assigned to.
fn is_parameter(before: &[Token]) -> bool {
    match before {
        [.., Token::Sign('('), Token::Name(_), Token::Sign(',')] | [.., Token::Sign('(')] => true,
        [.., Token::Sign('\n'), Token::Name(_), Token::Sign(',')] => false,
        [.., Token::Sign(',')] => true,
        _ => false,
    }
}
