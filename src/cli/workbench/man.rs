//! `allowexec man`: the manual page, from the texts of `--help` and the table of settings.

// Writing to a string can't fail: what `writeln!` returns is dropped in this file.
use std::fmt::Write as _;

use crate::cli::help;
use crate::cli::name::Name;
use crate::config::{Group, SETTINGS};

/// The page in the man(7) language, for section 1.
pub(super) fn page() -> String {
    let (usage, what) = help::words(Name::Program);
    let what = what.split("\n\n").next().unwrap_or_default();
    let mut page = format!(
        ".TH ALLOWEXEC 1 \"\" \"allowexec {version}\" \"User Commands\"\n\
         .SH NAME\nallowexec \\- run only the commands that the operator allows, for MCP clients\n\
         .SH SYNOPSIS\n.B {usage}\n\
         .SH DESCRIPTION\n{what}\n\
         .SH COMMANDS\n",
        version = text(env!("CARGO_PKG_VERSION")),
        usage = text(usage),
        what = text(what),
    );
    for name in Name::SUBCOMMANDS {
        let (usage, what) = help::words(name);
        let _ = writeln!(page, ".TP\n.B {}\n{}", text(usage), broken(&text(what)));
    }
    page.push_str(".SH OPTIONS\nA flag beats its variable, which beats the file, which beats the default.\nA flag for a list replaces the list of the file.\n");
    for group in Group::ALL {
        let _ = writeln!(page, ".SS \"{}\"", text(group.heading()));
        for spec in SETTINGS.iter().filter(|spec| spec.group == group) {
            let flag = text(&format!("--{}", spec.flag));
            let value = if spec.value.is_empty() { String::new() } else { format!(" \\fI{}\\fR", text(spec.value)) };
            let _ = writeln!(page, ".TP\n\\fB{flag}\\fR{value}\n{}.", text(spec.help));
            let (variable, key, default) = (text(spec.variable), text(&spec.key()), text(spec.default));
            let _ = writeln!(page, "Variable \\fB{variable}\\fR, key \\fB{key}\\fR in the file; default: {default}.");
        }
    }
    page.push_str(
        ".SS \"Other\"\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint the help of the program or of a command.\n\
         .TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nPrint the version.\n\
         .SH \"EXIT STATUS\"\n\
         0; 1 if a call is an error, a command is refused or a problem is found; 2 for a wrong flag or configuration; 3 if a person would have to approve a command.\n",
    );
    page
}

/// Puts flags and the exit status on lines of their own, as in the help; roff would join them into one paragraph. After an
/// empty line they begin a line anyway.
fn broken(what: &str) -> String {
    let mut lines = Vec::new();
    let mut begins = true;
    for line in what.lines() {
        if !begins && ["\\-\\-", "Exit status"].iter().any(|start| line.starts_with(start)) {
            lines.push(".br");
        }
        lines.push(line);
        begins = line.is_empty();
    }
    lines.join("\n")
}

/// Text that roff prints unchanged: hyphens stay hyphens, and no line is a request.
fn text(plain: &str) -> String {
    let escaped = plain.replace('\\', "\\e").replace('-', "\\-").replace('`', "\\(ga");
    let line = |line: &str| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() };
    escaped.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_every_command_and_every_setting() {
        let page = page();
        for name in Name::SUBCOMMANDS {
            assert!(page.contains(&format!("\n.B allowexec {}", name.text())), "{name:?}");
        }
        for spec in SETTINGS {
            assert!(page.contains(&format!("\\fB{}\\fR", text(&format!("--{}", spec.flag)))), "{}", spec.flag);
            assert!(page.contains(spec.variable), "{}", spec.variable);
        }
    }

    #[test]
    fn flags_and_the_exit_status_begin_lines_of_their_own() {
        let help = text("Does it.\n\n--one    first\n--two    second\n\nExit status: 0.");
        assert_eq!(broken(&help), "Does it.\n\n\\-\\-one    first\n.br\n\\-\\-two    second\n\nExit status: 0.");
        assert_eq!(broken("Does it.\nExit status: 0.\n"), "Does it.\n.br\nExit status: 0.");
    }

    #[test]
    fn no_text_is_taken_for_a_request() {
        assert_eq!(text(".so x\n'y\n--a\\b"), "\\&.so x\n\\&'y\n\\-\\-a\\eb");
    }
}
