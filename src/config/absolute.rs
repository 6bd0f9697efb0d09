//! The flags, rewritten to mean the same wherever the server is started: paths are absolute.
//!
//! Clients start servers in any directory, and a relative path in a flag or in the file would lead elsewhere there.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf, is_separator};

use super::config::Config;
use super::entry;
use super::error::ConfigError;
use super::file::{self, FileFrom};
use super::flags::Flags;
use super::given::Given;
use super::spec::{Spec, Takes};
use super::variables::Surroundings;
use crate::policy::written;

/// The arguments that mean in any directory what `flags` mean in the directory of `surroundings`. A relative path in the file
/// of `--config` becomes a flag, unless a flag overrides it anyway; a list with a comma in a path can't, and stays in the file.
///
/// # Errors
/// A [`ConfigError`] if the file can't be read. The values are checked by [`Config::resolve`].
pub(crate) fn absolute_arguments(
    config: &Config,
    flags: &Flags,
    surroundings: &Surroundings,
) -> Result<Vec<String>, ConfigError> {
    let directory = &surroundings.directory;
    let mut arguments = Vec::new();
    for given in flags.given() {
        push(&mut arguments, given, &|text| absolute(given.spec, text, directory));
    }
    for given in file::given(&config.file, directory, FileFrom::Anywhere)? {
        let is_overridden = flags.given().iter().any(|flag| flag.spec.flag == given.spec.flag);
        let is_relative = given.texts.iter().any(|text| matches!(absolute(given.spec, text, directory), Cow::Owned(_)));
        let is_list = matches!(given.spec.takes, Takes::List);
        if is_relative && !is_overridden && !(is_list && given.texts.iter().any(|text| text.contains(','))) {
            push(&mut arguments, &given, &|text| absolute(given.spec, text, directory));
        }
    }
    Ok(arguments)
}

/// The flags as they were given, for another command in the same directory.
pub(crate) fn given_arguments(flags: &Flags) -> Vec<String> {
    let mut arguments = Vec::new();
    for given in flags.given() {
        push(&mut arguments, given, &|text| Cow::Borrowed(text));
    }
    arguments
}

fn push<'a>(arguments: &mut Vec<String>, given: &'a Given, written: &dyn Fn(&'a str) -> Cow<'a, str>) {
    let spec = given.spec;
    let texts: Vec<Cow<'_, str>> = given.texts.iter().map(|text| written(text)).collect();
    let value = match spec.takes {
        Takes::Switch => return arguments.push(format!("--{}", spec.flag)),
        Takes::List => texts.join(","),
        Takes::Text | Takes::Number => texts.last().map(ToString::to_string).unwrap_or_default(),
    };
    // As a word of its own it would be taken for a flag, or for no value.
    if value.is_empty() || value.starts_with('-') {
        arguments.push(format!("--{}={value}", spec.flag));
    } else {
        arguments.extend([format!("--{}", spec.flag), value]);
    }
}

/// The text of a value, made absolute if it is a relative path. A command or a program is a path only if it contains a
/// separator; of a program with arguments, only the program is.
fn absolute<'a>(spec: &Spec, text: &'a str, directory: &Path) -> Cow<'a, str> {
    let is_path = match spec.value {
        "DIR" | "DIRS" | "FILE" | "PATHS" => !text.is_empty(),
        "NAMES" | "PROGRAM" => text.contains(is_separator),
        "COMMAND" => return absolute_program(text, directory).map_or(Cow::Borrowed(text), Cow::Owned),
        _ => false,
    };
    if is_path { absolute_path(text, directory) } else { Cow::Borrowed(text) }
}

/// The text of a program and its arguments, if its program is a relative path.
fn absolute_program(text: &str, directory: &Path) -> Option<String> {
    let mut words = entry::program(text).ok()?;
    let program = words.first_mut().filter(|program| program.contains(is_separator))?;
    match absolute_path(program, directory) {
        Cow::Owned(path) => *program = path,
        Cow::Borrowed(_) => return None,
    }
    Some(written(&words))
}

fn absolute_path<'a>(text: &'a str, directory: &Path) -> Cow<'a, str> {
    if Path::new(text).is_absolute() {
        return Cow::Borrowed(text);
    }
    let parts = Path::new(text).components().filter(|part| *part != Component::CurDir);
    // `join` would leave a separator at the end if the path is `.`.
    let path: PathBuf = directory.components().chain(parts).collect();
    // If the directory is not UTF-8, no client's file can contain it, so the text stays relative.
    path.to_str().map_or(Cow::Borrowed(text), |path| Cow::Owned(path.to_owned()))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn arguments(words: &[&str]) -> Vec<String> {
        let mut parser = lexopt::Parser::from_args(words);
        let mut flags = Flags::default();
        while let Some(lexopt::Arg::Long(name)) = parser.next().unwrap() {
            let name = name.to_owned();
            assert!(flags.accept(&mut parser, &name).unwrap());
        }
        let surroundings = Surroundings { variables: BTreeMap::new(), directory: PathBuf::from("/home/me") };
        let config = Config::defaults(surroundings.clone());
        absolute_arguments(&config, &flags, &surroundings).unwrap()
    }

    #[test]
    fn paths_become_absolute_and_the_rest_stays() {
        let check = |words: &[&str], expected: &[&str]| assert_eq!(arguments(words), expected, "{words:?}");
        check(&["--allow", "ls,./lint", "--allow=cat"], &["--allow", "ls,/home/me/lint,cat"]);
        check(&["--cwd-root", ".,../x,/y"], &["--cwd-root", "/home/me,/home/me/../x,/y"]);
        check(&["--cwd-root", ""], &["--cwd-root="]);
        check(&["--timeout=5s", "--structured", "--structured"], &["--timeout", "5s", "--structured"]);
        check(
            &["--profile", "git-readonly", "--policy=./p.yaml"],
            &["--profile", "git-readonly", "--policy", "/home/me/p.yaml"],
        );
        check(&["--env", "A=b/c", "--shell=bash"], &["--env", "A=b/c", "--shell", "bash"]);
        check(&["--env=-A=b"], &["--env=-A=b"]);
        check(&["--ask-with", "./ask.sh 'a b' ./c"], &["--ask-with", "/home/me/ask.sh 'a b' ./c"]);
        check(
            &["--ask-with=ask ./c", "--audit-anchor=bin/keep"],
            &["--ask-with", "ask ./c", "--audit-anchor", "/home/me/bin/keep"],
        );
        check(&["--audit-anchor=/a/./keep  x"], &["--audit-anchor", "/a/./keep  x"]);
    }
}
