//! `allowexec completions SHELL`: the script that completes the command line in a shell, made from the tables of commands,
//! flags and settings.

// Writing to a string can't fail: what `writeln!` returns is dropped in this file.
use std::fmt::Write as _;

use super::policy::ACTIONS;
use super::schema::Schema;
use super::setup::Client;
use crate::cli::evidence::audit;
use crate::cli::help;
use crate::cli::lines::hook::{Agent, Shell as LineShell, Unknown};
use crate::cli::name::Name;
use crate::cli::own_flags::{self, OwnFlag, Value, flag};
use crate::config::{SETTINGS, Spec, Takes, words_of};
use crate::policy::rules::profile_names;

/// A shell that has completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Shell {
    Bash,
    Zsh,
    Fish,
    Pwsh,
}

impl Shell {
    pub(super) const ALL: [Self; 4] = [Self::Bash, Self::Zsh, Self::Fish, Self::Pwsh];

    /// Its name on the command line.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Pwsh => "powershell",
        }
    }
}

/// The script for this shell.
pub(super) fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => bash(),
        Shell::Zsh => zsh(),
        Shell::Fish => fish(),
        Shell::Pwsh => powershell(),
    }
}

/// The flags that work everywhere: the settings, `--help` and `--version`.
fn flags() -> Vec<OwnFlag> {
    let setting = |spec: &Spec| flag(spec.flag, &[], value(spec), spec.help);
    let mut flags: Vec<OwnFlag> = SETTINGS.iter().map(setting).collect();
    flags.push(flag("help", &[], Value::None, "Print the help"));
    flags.push(flag("version", &[], Value::None, "Print the version"));
    flags
}

fn value(spec: &Spec) -> Value {
    match (spec.takes, spec.value) {
        (Takes::Switch, _) => Value::None,
        (_, "DIR" | "DIRS") => Value::Directory,
        (_, "FILE" | "PATHS") => Value::File,
        (_, "NAMES") if spec.flag == "profile" => Value::Any,
        (_, "NAMES" | "PROGRAM") => Value::Program,
        (Takes::Text | Takes::Number | Takes::List, _) => Value::Any,
    }
}

/// The words that a flag takes, if it takes only certain ones.
fn choices(flag: &OwnFlag) -> Vec<&'static str> {
    match (flag.name, SETTINGS.iter().find(|spec| spec.flag == flag.name)) {
        (_, Some(spec)) => words_of(spec),
        ("unknown", None) => Unknown::ALL.map(Unknown::name).to_vec(),
        ("agent-shell", None) => LineShell::NAMED.map(LineShell::name).to_vec(),
        (_, None) => Vec::new(),
    }
}

/// The subcommands whose first word is one of certain ones.
fn first_words() -> [(Name, Vec<&'static str>); 4] {
    [
        (Name::Completions, Shell::ALL.map(Shell::text).to_vec()),
        (Name::Schema, Schema::ALL.map(Schema::text).to_vec()),
        (Name::Setup, Client::ALL.map(Client::name).to_vec()),
        (Name::Hook, Agent::ALL.map(Agent::name).to_vec()),
    ]
}

/// Each flag of a subcommand, with the subcommands that have it, separated by `separator`.
fn owners(separator: &str) -> Vec<(String, OwnFlag)> {
    let mut owners: Vec<(String, OwnFlag)> = Vec::new();
    for name in Name::SUBCOMMANDS {
        for flag in own_flags::of(name) {
            match owners.iter_mut().find(|(_, known)| known.name == flag.name) {
                Some((names, _)) => {
                    names.push_str(separator);
                    names.push_str(name.text());
                }
                None => owners.push((name.text().to_owned(), *flag)),
            }
        }
    }
    owners
}

fn names(separator: &str) -> String {
    Name::SUBCOMMANDS.map(Name::text).join(separator)
}

fn profiles(separator: &str) -> String {
    profile_names().collect::<Vec<_>>().join(separator)
}

/// The flags with this kind of value, as `--a|--b`.
fn pattern(flags: &[OwnFlag], value: Value) -> Option<String> {
    let found: Vec<String> =
        flags.iter().filter(|flag| flag.value == value).map(|flag| format!("--{}", flag.name)).collect();
    (!found.is_empty()).then(|| found.join("|"))
}

fn bash() -> String {
    let mut flags = flags();
    let words: Vec<String> = flags.iter().map(|flag| format!("--{}", flag.name)).collect();
    let owners = owners("|");
    let mut own_words = String::new();
    for (commands, flag) in owners {
        let _ = writeln!(own_words, "    case $command in {commands}) flags+=' --{}' ;; esac", flag.name);
        flags.push(flag);
    }
    let mut values = String::new();
    let chosen = flags.iter().map(|flag| (format!("--{}", flag.name), choices(flag)));
    let first = first_words().map(|(name, words)| (name.text().to_owned(), words));
    for (before, words) in chosen.chain(first).filter(|(_, words)| !words.is_empty()) {
        let words = words.join(" ");
        let _ = writeln!(values, "        {before}) candidates=$(compgen -W '{words}' -- \"$current\") ;;");
    }
    for (value, action) in [
        (Value::Directory, "candidates=$(compgen -d -- \"$current\") ;;"),
        (Value::File, "candidates=$(compgen -f -- \"$current\") ;;"),
        (Value::Program, "candidates=$(compgen -c -- \"$current\") ;;"),
        (Value::Any, "return ;;"),
    ] {
        if let Some(pattern) = pattern(&flags, value) {
            let _ = writeln!(values, "        {pattern}) {action}");
        }
    }
    format!(
        "# bash completion for allowexec; made by `allowexec completions bash`.\n\
         _allowexec() {{\n    \
             local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command='' word candidates=''\n    \
             local flags='{flags}'\n    \
             COMPREPLY=()\n    \
             # `--flag=value` arrives as three words.\n    \
             if [[ $current == '=' ]]; then current=''; elif [[ $previous == '=' ]]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi\n    \
             for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n        \
                 case $word in {names}) command=$word; break ;; esac\n    \
             done\n\
         {own_words}    \
             # `audit show` takes files.\n    \
             [[ $command != audit || $previous != show ]] || previous=''\n    \
             case $previous in\n\
         {values}        \
                 policy) candidates=$(compgen -W '{actions}' -- \"$current\") ;;\n        \
                 audit) candidates=$(compgen -W '{audit}' -- \"$current\") ;;\n        \
                 show) candidates=$(compgen -W '{profiles}' -- \"$current\") ;;\n        \
                 *)\n            \
                     if [[ $current == -* ]]; then candidates=$(compgen -W \"$flags\" -- \"$current\")\n            \
                     elif [[ -z $command ]]; then candidates=$(compgen -W '{commands}' -- \"$current\")\n            \
                     else candidates=$(compgen -f -- \"$current\"); fi ;;\n    \
             esac\n    \
             while IFS= read -r word; do [[ -z $word ]] || COMPREPLY+=(\"$word\"); done <<< \"$candidates\"\n\
         }}\n\
         complete -o filenames -F _allowexec allowexec\n",
        flags = words.join(" "),
        names = names("|"),
        commands = names(" "),
        actions = ACTIONS.join(" "),
        audit = audit::ACTIONS.join(" "),
        profiles = profiles(" "),
    )
}

/// Text in single quotes for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A row for zsh's `_arguments`.
fn zsh_row(flag: &OwnFlag) -> String {
    let help = flag.help.replace('[', "\\[").replace(']', "\\]");
    let choices = choices(flag);
    let action = match flag.value {
        Value::None => return quoted(&format!("--{}[{help}]", flag.name)),
        _ if !choices.is_empty() => format!("({})", choices.join(" ")),
        Value::Any => " ".to_owned(),
        Value::Directory => "_files -/".to_owned(),
        Value::File => "_files".to_owned(),
        Value::Program => "_command_names -e".to_owned(),
    };
    quoted(&format!("*--{}=[{help}]:value:{action}", flag.name))
}

fn zsh() -> String {
    let mut rows = String::new();
    for flag in flags() {
        let _ = writeln!(rows, "        {}", zsh_row(&flag));
    }
    let mut own_rows = String::new();
    for (commands, flag) in owners("|") {
        let _ = writeln!(own_rows, "    case $command in ({commands}) rows+=({}) ;; esac", zsh_row(&flag));
    }
    let mut commands = String::new();
    for name in Name::SUBCOMMANDS {
        let row = format!("{}:{}", name.text(), help::summary(name).replace(':', "\\:"));
        let _ = writeln!(commands, "        {}", quoted(&row));
    }
    let first: String = first_words()
        .iter()
        .map(|(name, words)| {
            format!("if [[ $words[CURRENT-1] == {} ]]; then _values word {}; el", name.text(), words.join(" "))
        })
        .collect();
    format!(
        "#compdef allowexec\n\
         # zsh completion for allowexec; made by `allowexec completions zsh`.\n\
         _allowexec() {{\n    \
             local curcontext=$curcontext state command word\n    \
             local -a rows commands line\n    \
             local -A opt_args\n    \
             rows=(\n{rows}    )\n    \
             commands=(\n{commands}    )\n    \
             for word in ${{words[2,CURRENT-1]}}; do\n        \
                 case $word in ({names}) command=$word; break ;; esac\n    \
             done\n\
         {own_rows}    \
             _arguments -C $rows '1:command:->command' '*:argument:->argument'\n    \
             case $state in\n        \
                 (command) _describe command commands ;;\n        \
                 (argument) {first}if [[ $words[CURRENT-1] == policy ]]; then _values action {actions}\n            \
                 elif [[ $words[CURRENT-1] == audit ]]; then _values action {audit}\n            \
                 elif [[ $command == policy && $words[CURRENT-1] == show ]]; then _values profile {profiles}; else _files; fi ;;\n    \
             esac\n\
         }}\n\
         if [[ $funcstack[1] == _allowexec ]]; then _allowexec \"$@\"; else compdef _allowexec allowexec; fi\n",
        names = names("|"),
        actions = ACTIONS.join(" "),
        audit = audit::ACTIONS.join(" "),
        profiles = profiles(" "),
    )
}

fn fish() -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    let row = |flag: &OwnFlag| {
        let choices = choices(flag);
        let value = match flag.value {
            Value::None => String::new(),
            _ if !choices.is_empty() => format!(" -x -a '{}'", choices.join(" ")),
            Value::Any => " -x".to_owned(),
            Value::Directory => " -x -a '(__fish_complete_directories)'".to_owned(),
            Value::File => " -r -F".to_owned(),
            Value::Program => " -x -a '(__fish_complete_command)'".to_owned(),
        };
        format!("-l {}{value} -d {}", flag.name, quoted(flag.help))
    };
    let mut script = "# fish completion for allowexec; made by `allowexec completions fish`.\n".to_owned();
    let seen = format!("__fish_seen_subcommand_from {}", names(" "));
    let _ = writeln!(script, "complete -c allowexec -n 'not {seen}' -f");
    for name in Name::SUBCOMMANDS {
        let summary = quoted(help::summary(name));
        let _ = writeln!(script, "complete -c allowexec -n 'not {seen}' -a {} -d {summary}", name.text());
    }
    for (name, words) in first_words() {
        let (name, words) = (name.text(), words.join(" "));
        let _ = writeln!(script, "complete -c allowexec -n '__fish_seen_subcommand_from {name}' -f -a '{words}'");
    }
    let actions = ACTIONS.join(" ");
    let _ = writeln!(
        script,
        "complete -c allowexec -n '__fish_seen_subcommand_from policy; and not __fish_seen_subcommand_from {actions}' -f -a '{actions}'"
    );
    let actions = audit::ACTIONS.join(" ");
    let _ = writeln!(
        script,
        "complete -c allowexec -n '__fish_seen_subcommand_from audit; and not __fish_seen_subcommand_from {actions}' -f -a '{actions}'"
    );
    let _ = writeln!(
        script,
        "complete -c allowexec -n '__fish_seen_subcommand_from policy; and __fish_seen_subcommand_from show' -f -a '{}'",
        profiles(" ")
    );
    for flag in flags() {
        let _ = writeln!(script, "complete -c allowexec {}", row(&flag));
    }
    for (commands, flag) in owners(" ") {
        let _ = writeln!(script, "complete -c allowexec -n '__fish_seen_subcommand_from {commands}' {}", row(&flag));
    }
    script
}

fn powershell() -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut rows = String::new();
    for name in Name::SUBCOMMANDS {
        let _ = writeln!(rows, "        @('', '{}', {})", name.text(), quoted(help::summary(name)));
    }
    for (name, words) in first_words() {
        for word in words {
            let _ = writeln!(rows, "        @('{0}', '{word}', '{0} {word}')", name.text());
        }
    }
    for flag in flags().iter().chain(owners(" ").iter().map(|(_, flag)| flag)) {
        for word in choices(flag) {
            let _ = writeln!(rows, "        @('--{}', '{word}', {})", flag.name, quoted(flag.help));
        }
    }
    for action in ACTIONS {
        let _ = writeln!(rows, "        @('policy', '{action}', 'policy {action}')");
    }
    for action in audit::ACTIONS {
        let _ = writeln!(rows, "        @('audit', '{action}', 'audit {action}')");
    }
    for profile in profile_names() {
        let _ = writeln!(rows, "        @('policy', '{profile}', 'The profile')");
    }
    for flag in flags() {
        let _ = writeln!(rows, "        @('*', '--{}', {})", flag.name, quoted(flag.help));
    }
    for name in Name::SUBCOMMANDS {
        for flag in own_flags::of(name) {
            let _ = writeln!(rows, "        @('{}', '--{}', {})", name.text(), flag.name, quoted(flag.help));
        }
    }
    format!(
        "# PowerShell completion for allowexec; made by `allowexec completions powershell`.\n\
         Register-ArgumentCompleter -Native -CommandName allowexec -ScriptBlock {{\n    \
             param($wordToComplete, $commandAst, $cursorPosition)\n    \
             $names = {names}\n    \
             $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object {{ $_.ToString() }})\n    \
             $command = $words | Where-Object {{ $_ -in $names -and $_ -ne $wordToComplete }} | Select-Object -First 1\n    \
             if (-not $command) {{ $command = '' }}\n    \
             $before = @($words | Where-Object {{ $_ -ne $wordToComplete }}) | Select-Object -Last 1\n    \
             @(\n{rows}    ) | Where-Object {{\n        \
                 ($_[0] -eq $before -or $_[0] -eq $command -or ($_[0] -eq '*' -and $wordToComplete.StartsWith('-'))) -and $_[1] -like \"$wordToComplete*\"\n    \
             }} | ForEach-Object {{\n        \
                 [System.Management.Automation.CompletionResult]::new($_[1], $_[1], 'ParameterValue', $_[2])\n    \
             }}\n\
         }}\n",
        names = Name::SUBCOMMANDS.map(|name| format!("'{}'", name.text())).join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_completes_each_command_and_each_flag() {
        for shell in Shell::ALL {
            let script = script(shell);
            for name in Name::SUBCOMMANDS {
                assert!(script.contains(name.text()), "{shell:?} lacks {name:?}");
            }
            for flag in flags().iter().chain(owners("|").iter().map(|(_, flag)| flag)) {
                let dashed = if shell == Shell::Fish { "-l " } else { "--" };
                assert!(script.contains(&format!("{dashed}{}", flag.name)), "{shell:?} lacks {}", flag.name);
            }
            for other in Shell::ALL {
                assert!(script.contains(other.text()), "{shell:?} does not complete {other:?}");
            }
            for word in ACTIONS.into_iter().chain(audit::ACTIONS).chain(profile_names()) {
                assert!(script.contains(word), "{shell:?} does not complete {word}");
            }
        }
    }

    /// bash itself completes, with what the script defines.
    #[cfg(target_os = "linux")]
    #[test]
    fn bash_completes_the_words_that_flags_and_subcommands_take() {
        let completed = |words: &[&str]| {
            let script = format!(
                "{}\nCOMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _allowexec; echo \"${{COMPREPLY[*]}}\"",
                script(Shell::Bash)
            );
            let output = std::process::Command::new("bash").args(["-c", &script, "bash"]).args(words).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        for (words, expected) in [
            (&["allowexec", "--sandbox", ""][..], "off workspace strict"),
            (&["allowexec", "check", "--lines", "o"], "off on"),
            (&["allowexec", "--log", "=", "d"], "debug"),
            (&["allowexec", "hook", "claude-code", "--unknown", ""], "deny ask pass"),
            (&["allowexec", "hook", "cop"], "copilot"),
            (&["allowexec", "setup", "cur"], "cursor"),
            (&["allowexec", "schema", ""], "config policy"),
            (&["allowexec", "policy", "show", "rust"], "rust-develop"),
            (&["allowexec", "--profile", "ripg"], "ripgrep"),
        ] {
            assert_eq!(completed(words), expected, "{words:?}");
        }
    }
}
