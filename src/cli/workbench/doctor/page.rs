//! The report as text. Settings and platform come first, so that the last screen shows what people look for: what is allowed
//! and where, what is risky and what to change, and the verdict.

use std::borrow::Cow;

use super::Report;
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

/// The most lines for the allowed commands.
const MOST_COMMANDS: usize = 20;
/// The longest line.
const WIDTH: usize = 100;
/// The widest column: a longer cell moves only the rest of its own line.
const WIDEST: usize = 60;

impl Report {
    pub(super) fn to_text(&self, palette: Palette) -> String {
        let settings = self.rows.iter().map(|row| [row.name.to_owned(), row.value.clone(), row.source.to_string()]);
        let programs = self
            .programs
            .iter()
            .map(|(name, path)| [name.clone(), path.clone().unwrap_or_else(|| "not found".to_owned()), String::new()]);
        let platform = self.platform().into_iter().map(|(what, how)| [what, how, String::new()]);
        let sections = [
            section(palette, "settings", &settings.collect::<Vec<_>>()),
            section(palette, "programs", &programs.collect::<Vec<_>>()),
            section(palette, "platform", &platform.collect::<Vec<_>>()),
            self.allowed(palette),
            self.findings(palette),
        ];
        format!("allowexec {}\n{}", env!("CARGO_PKG_VERSION"), sections.concat())
    }

    /// Describes the commands that may run, their directories, and their sandbox.
    fn allowed(&self, palette: Palette) -> String {
        let mut lines = Vec::new();
        if self.allows_any {
            lines.push("every command, with any arguments".to_owned());
        }
        let any: Vec<&str> =
            self.commands.iter().filter(|(_, takes)| takes.is_none()).map(|(name, _)| name.as_str()).collect();
        if !any.is_empty() {
            lines.extend(wrapped(&format!("with any arguments: {}", any.join(", "))));
        }
        let described = self.commands.iter().filter_map(|(_, takes)| takes.as_ref());
        lines.extend(described.map(|takes| shortened(takes)));
        if self.allows_project {
            lines.push("programs under the project directory, by their path".to_owned());
        }
        if lines.is_empty() {
            lines.push("nothing".to_owned());
        }
        let more = lines.len().saturating_sub(MOST_COMMANDS);
        lines.truncate(MOST_COMMANDS);
        if more > 0 {
            lines.push(format!(
                "and {} more: `allowexec call list_commands` with the same flags shows all",
                counted(more as u64, "line")
            ));
        }
        let list: String = lines.iter().map(|line| format!("  {}\n", escape(line))).collect();
        let roots = if self.roots.is_empty() { "no bound".to_owned() } else { self.roots.join(", ") };
        let place = [
            ["calls run in".to_owned(), self.directory.clone(), String::new()],
            ["`cwd` must be in".to_owned(), roots, String::new()],
            ["sandbox".to_owned(), self.sandbox.split(':').next().unwrap_or_default().to_owned(), String::new()],
        ];
        format!("\n{}\n{list}{}", palette.paint(Colour::Bold, "allowed"), section(palette, "where", &place))
    }

    fn findings(&self, palette: Palette) -> String {
        let mut text = format!("\n{}\n", palette.paint(Colour::Bold, "warnings"));
        for risk in &self.risks {
            text.push_str(&format!("  {}: {}\n", palette.paint(Colour::Yellow, "warning"), escape(&risk.what)));
            if let Some(help) = &risk.help {
                text.push_str(&format!("    {}: {}\n", palette.paint(Colour::Bold, "help"), escape(help)));
            }
        }
        if self.risks.is_empty() {
            text.push_str("  none\n");
        }
        text.push_str(&format!("\n{}\n", palette.paint(Colour::Bold, "problems")));
        for problem in &self.problems {
            text.push_str(&format!("  {}: {}\n", palette.paint(Colour::Red, "error"), escape(problem)));
        }
        if self.problems.is_empty() {
            text.push_str("  none\n");
        }
        let count = |number: usize, what: &str| counted(number as u64, what);
        let sum = match (self.problems.len(), self.risks.len()) {
            (0, 0) => palette.paint(Colour::Green, "sound"),
            (0, risks) => palette.paint(Colour::Yellow, &format!("sound, with {}", count(risks, "warning"))),
            (problems, risks) => palette
                .paint(Colour::Red, &format!("not sound: {}, {}", count(problems, "problem"), count(risks, "warning"))),
        };
        format!("{text}\n{sum}\n")
    }
}

/// The text in lines of at most [`WIDTH`], broken at blanks.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + word.chars().count() < WIDTH - 2 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("  {word}")),
        }
    }
    lines
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(WIDTH - 3) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// A table of three columns. The cells are escaped: names and values come from files and variables.
fn section(palette: Palette, heading: &str, rows: &[[String; 3]]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rows: Vec<[Cow<'_, str>; 3]> = rows.iter().map(|row| row.each_ref().map(|cell| escape(cell))).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.filter(|&count| count <= WIDEST).max().unwrap_or_default()
    };
    let (first, second) = (width(0), width(1));
    let lines = rows.iter().map(|[name, value, source]| {
        let line = format!("{}  {}  {source}", padded(name, first), padded(value, second));
        format!("  {}\n", line.trim_end())
    });
    format!("\n{}\n{}", palette.paint(Colour::Bold, heading), lines.collect::<String>())
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
        let row = |name: &str, value: &str| [name.to_owned(), value.to_owned(), "default".to_owned()];
        let rows = [row("a", "1"), row("bc", "\u{1b}[2J"), row("d", &"x".repeat(100_000))];
        let text = section(Palette::Plain, "settings", &rows);
        let start: String = text.chars().take(200).collect();
        let expected =
            format!("\nsettings\n  a   1          default\n  bc  \\u{{1b}}[2J  default\n  d   {}", "x".repeat(99));
        assert!(start.starts_with(&expected), "{start}");
        assert!(text.ends_with("xx  default\n"));
    }

    #[test]
    fn long_lists_are_wrapped_and_long_lines_cut() {
        let words = vec!["command"; 40].join(" ");
        let lines = wrapped(&words);
        assert!(lines.len() > 3 && lines.iter().all(|line| line.chars().count() < WIDTH), "{lines:?}");
        assert_eq!(shortened(&"é".repeat(300)).chars().count(), WIDTH - 2);
        assert_eq!(Palette::Coloured.paint(Colour::Red, "x"), "\u{1b}[1;31mx\u{1b}[0m");
    }
}
