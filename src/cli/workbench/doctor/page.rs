//! The report as text: the verdict first, what is wrong and risky and what to change, and then what the settings amount to. It is
//! short: what has its default or is as usual is left to the JSON.

use std::path::Path;

use super::{PlatformRow, Report};
use crate::config::Source;
use crate::text::{counted, escape};

/// Whether findings are coloured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Palette {
    Plain,
    Coloured,
}

#[derive(Clone, Copy)]
enum Colour {
    Bold,
    Red,
    Yellow,
    Green,
}

impl Palette {
    /// Adds colour to text that is already escaped.
    fn paint(self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Bold => "1",
            Colour::Red => "1;31",
            Colour::Yellow => "1;33",
            Colour::Green => "1;32",
        };
        match self {
            Self::Plain => text.to_owned(),
            Self::Coloured => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// The most lines for the commands with rules.
const MOST_RULES: usize = 6;
/// The longest line, unless one word is longer.
const WIDTH: usize = 100;
/// The widest first column: a longer cell moves only its own line.
const WIDEST: usize = 40;

impl Report {
    pub(super) fn to_text(&self, palette: Palette) -> String {
        let version = format!("allowexec {}\n\n", env!("CARGO_PKG_VERSION"));
        let platform = self.platform().into_iter().filter(|row| row.is_of_interest);
        // All that a level keeps commands from is told by the JSON.
        let brief = |how: String| match how.split_once(": ") {
            Some((level, _)) if level.contains(", enforced by the kernel") => level.to_owned(),
            Some(_) | None => how,
        };
        let platform: Vec<_> = platform.map(|PlatformRow { what, how, .. }| [what, brief(how)]).collect();
        let place = [
            ["calls run in".to_owned(), self.directory.clone()],
            [
                "`cwd` must be in".to_owned(),
                if self.roots.is_empty() { "no bound".to_owned() } else { self.roots.join(", ") },
            ],
        ];
        let sections = [
            version,
            self.verdict(palette),
            self.findings(palette),
            self.allowed(palette),
            section(palette, "where", &place),
            self.found(palette),
            self.settings(palette),
            section(palette, "platform", &platform),
        ];
        sections.concat()
    }

    fn verdict(&self, palette: Palette) -> String {
        let count = |number: usize, what: &str| counted(number as u64, what);
        let counts = format!("{}, {}", count(self.problems.len(), "problem"), count(self.risks.len(), "warning"));
        let verdict = match (self.problems.len(), self.risks.len()) {
            (0, 0) => palette.paint(Colour::Green, &format!("sound: {counts}")),
            (0, _) => palette.paint(Colour::Yellow, &format!("sound: {counts}")),
            (_, _) => palette.paint(Colour::Red, &format!("not sound: {counts}")),
        };
        format!("{verdict}\n")
    }

    /// Describes the problems, and then the warnings; empty without any.
    fn findings(&self, palette: Palette) -> String {
        let mut text = String::new();
        for problem in &self.problems {
            text.push_str(&format!("  {}: {}\n", palette.paint(Colour::Red, "error"), escape(problem)));
        }
        for risk in &self.risks {
            text.push_str(&format!("  {}: {}\n", palette.paint(Colour::Yellow, "warning"), escape(&risk.what)));
            if let Some(help) = &risk.help {
                text.push_str(&format!("    {}: {}\n", palette.paint(Colour::Bold, "help"), escape(help)));
            }
        }
        text
    }

    /// Describes the commands that may run.
    fn allowed(&self, palette: Palette) -> String {
        let mut lines = Vec::new();
        if self.allows_any {
            lines.push("every command, with any arguments".to_owned());
        }
        let any: Vec<&str> =
            self.commands.iter().filter(|(_, takes)| takes.is_none()).map(|(name, _)| name.as_str()).collect();
        if !any.is_empty() {
            lines.extend(indented(&format!("with any arguments: {}", escape(&any.join(", ")))));
        }
        let described: Vec<&String> = self.commands.iter().filter_map(|(_, takes)| takes.as_ref()).collect();
        let shown = if described.len() > MOST_RULES + 1 { MOST_RULES } else { described.len() };
        lines.extend(described.iter().take(shown).map(|takes| shortened(&escape(takes))));
        if described.len() > shown {
            lines.push(format!(
                "and {} more: `allowexec call list_commands` with the same flags shows all",
                counted((described.len() - shown) as u64, "command")
            ));
        }
        if self.allows_project {
            lines.push("programs under the project directory, by their path".to_owned());
        }
        if lines.is_empty() {
            lines.push("nothing".to_owned());
        }
        list(palette, "allowed", &lines)
    }

    /// Describes where the programs are: by directories, but each alone that does not start or has another name.
    fn found(&self, palette: Palette) -> String {
        let mut directories: Vec<(String, Vec<&str>)> = Vec::new();
        let mut alone = Vec::new();
        for (name, path) in &self.programs {
            let Some(path) = path else {
                alone.push(format!("{}: not found", escape(name)));
                continue;
            };
            if self.not_executable.contains(name) {
                alone.push(format!("{}: {} can't be executed", escape(name), escape(path)));
                continue;
            }
            let directory = match Path::new(path).parent() {
                // What is built into the shell has no directory.
                Some(directory) if directory.as_os_str().is_empty() => path.clone(),
                Some(directory) if is_file_of(name, Path::new(path)) => directory.display().to_string(),
                Some(_) | None => {
                    alone.push(format!("{}: {}", escape(name), escape(path)));
                    continue;
                }
            };
            match directories.iter_mut().find(|(other, _)| *other == directory) {
                Some((_, names)) => names.push(name),
                None => directories.push((directory, vec![name])),
            }
        }
        let grouped = directories
            .into_iter()
            .flat_map(|(directory, names)| indented(&format!("{}: {}", escape(&directory), escape(&names.join(", ")))));
        let lines: Vec<String> = grouped.chain(alone).collect();
        if lines.is_empty() { lines.concat() } else { list(palette, "programs", &lines) }
    }

    /// Describes the settings that somebody made.
    fn settings(&self, palette: Palette) -> String {
        let mut files = self.rows.iter().filter_map(|row| match &row.source {
            Source::File(file) => Some(file),
            Source::Default | Source::Code | Source::Variable(_) | Source::Flag(_) => None,
        });
        let file = files.next();
        let heading = match file {
            Some(file) => {
                format!("settings of `{}` (all others are at their default: `allowexec doctor --json`)", file.display())
            }
            None => "settings (all others are at their default: `allowexec doctor --json`)".to_owned(),
        };
        let is_made = self.rows.iter().filter(|row| row.source != Source::Default);
        let rows = is_made.filter(|row| row.name != "config" || file.is_none()).map(|row| match &row.source {
            Source::File(_) => [row.name.to_owned(), row.value.clone()],
            source => [row.name.to_owned(), format!("{} ({source})", row.value)],
        });
        section(palette, &escape(&heading), &rows.collect::<Vec<_>>())
    }
}

/// Whether a name is that of this file, so that its directory says where it is.
fn is_file_of(name: &str, path: &Path) -> bool {
    let name = Path::new(name).file_name();
    path.file_name() == name || cfg!(windows) && path.file_stem() == name
}

/// The text in lines of at most `width`, broken at blanks.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + word.chars().count() < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text in lines, all but the first of which are indented.
fn indented(text: &str) -> impl Iterator<Item = String> + use<> {
    let lines = wrapped(text, WIDTH - 4).into_iter().enumerate();
    lines.map(|(number, line)| if number == 0 { line } else { format!("  {line}") })
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(WIDTH - 3) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// Lines under a heading. They are escaped already.
fn list(palette: Palette, heading: &str, lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("\n{}\n{lines}", palette.paint(Colour::Bold, heading))
}

/// A table of two columns. The cells are escaped: names and values come from files and variables.
fn section(palette: Palette, heading: &str, rows: &[[String; 2]]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rows: Vec<[_; 2]> = rows.iter().map(|row| row.each_ref().map(|cell| escape(cell))).collect();
    let cells = rows.iter().map(|[name, _]| name.chars().count());
    let first = cells.filter(|&count| count <= WIDEST).max().unwrap_or_default();
    let lines = rows.iter().flat_map(|[name, value]| {
        let values = wrapped(value, WIDTH - first - 4).into_iter().enumerate();
        values.map(move |(number, value)| {
            format!("{}  {value}", padded(if number == 0 { name } else { "" }, first)).trim_end().to_owned()
        })
    });
    list(palette, heading, &lines.collect::<Vec<_>>())
}

/// A cell padded to a width. The width of a format string has only 16 bits, and a larger one would panic.
fn padded(cell: &str, width: usize) -> String {
    format!("{cell}{}", " ".repeat(width.saturating_sub(cell.chars().count())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_cells_of_any_length_and_content() {
        let row = |name: &str, value: &str| [name.to_owned(), value.to_owned()];
        let words = vec!["command,"; 20].join(" ");
        let rows = [row("a", "1"), row("bc", "\u{1b}[2J"), row("d", &"x".repeat(100_000)), row("e", &words)];
        let text = section(Palette::Plain, "settings", &rows);
        let start: String = text.chars().take(100).collect();
        assert!(start.starts_with("\nsettings\n  a   1\n  bc  \\u{1b}[2J\n  d   xxx"), "{start}");
        let (_, wrapped) = text.split_once("\n  e   ").unwrap();
        assert!(wrapped.lines().count() == 2 && wrapped.contains("command,\n      command,"), "{wrapped}");
    }

    #[test]
    fn long_lists_are_wrapped_and_long_lines_cut() {
        let words = vec!["command"; 40].join(" ");
        let lines: Vec<_> = indented(&words).collect();
        assert!(lines.len() > 3 && lines.iter().all(|line| line.chars().count() < WIDTH), "{lines:?}");
        assert_eq!(shortened(&"é".repeat(300)).chars().count(), WIDTH - 2);
        assert_eq!(Palette::Coloured.paint(Colour::Red, "x"), "\u{1b}[1;31mx\u{1b}[0m");
    }

    #[test]
    fn a_program_is_listed_by_its_directory_if_that_says_where_it_is() {
        for (name, path, is) in [
            ("ls", "/usr/bin/ls", true),
            (".venv/bin/ruff", "/p/.venv/bin/ruff", true),
            ("py", "/usr/bin/python3", false),
        ] {
            assert_eq!(is_file_of(name, Path::new(path)), is, "{name}");
        }
    }
}
