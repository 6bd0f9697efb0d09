//! The meaning of a program's name to Windows: case, endings, and names that Windows reads as other names.
//!
//! It is pure text, so it is tested on every platform.

use std::ffi::OsStr;

/// The endings of files that Windows can start as a process. Other endings in `PATHEXT` are of files that some program opens.
const STARTABLE: [&str; 4] = ["com", "exe", "bat", "cmd"];

/// The endings to try for a name without one, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endings(Vec<&'static str>);

impl Endings {
    /// Takes the endings in `PATHEXT` that can be started, in its order; without `PATHEXT`, all that can.
    pub(super) fn new(pathext: Option<&OsStr>) -> Self {
        let Some(pathext) = pathext.and_then(OsStr::to_str) else { return Self(STARTABLE.to_vec()) };
        let known = |given: &str| {
            let given = given.trim().strip_prefix('.')?;
            STARTABLE.into_iter().find(|ending| ending.eq_ignore_ascii_case(given))
        };
        let mut endings: Vec<&str> = Vec::new();
        for ending in pathext.split(';').filter_map(known) {
            if !endings.contains(&ending) {
                endings.push(ending);
            }
        }
        Self(endings)
    }

    /// The file names that `name` can mean: itself if it has an ending that can be started, else itself with each ending.
    /// None if Windows would read the name as another one.
    pub(super) fn candidates(&self, name: &str) -> Vec<String> {
        if !is_plain(name) {
            return Vec::new();
        }
        if split_ending(name).1.is_some() {
            return vec![name.to_owned()];
        }
        self.0.iter().map(|ending| format!("{name}.{ending}")).collect()
    }
}

/// Splits off the ending if it is one that can be started.
fn split_ending(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('.') {
        Some((stem, ending)) if STARTABLE.iter().any(|known| known.eq_ignore_ascii_case(ending)) => {
            (stem, Some(ending))
        }
        _ => (name, None),
    }
}

/// Whether a word means an allow-list entry: case and the kind of slash do not count, and an ending counts only if both have
/// one.
pub(super) fn means(word: &str, entry: &str) -> bool {
    let ((word, word_ending), (entry, entry_ending)) = (split_ending(word), split_ending(entry));
    let same = |left: char, right: char| left.eq_ignore_ascii_case(&right) || (is_slash(left) && is_slash(right));
    let same_stem = word.chars().count() == entry.chars().count()
        && word.chars().zip(entry.chars()).all(|(left, right)| same(left, right));
    let same_ending = match (word_ending, entry_ending) {
        (Some(word), Some(entry)) => word.eq_ignore_ascii_case(entry),
        _ => true,
    };
    same_stem && same_ending
}

/// Whether the file that was found for a word has the ending that the word asks for, if it asks for one.
pub(super) fn has_ending_of(found: &str, word: &str) -> bool {
    let asked = split_ending(word).1;
    asked.is_none_or(|asked| split_ending(found).1.is_some_and(|ending| ending.eq_ignore_ascii_case(asked)))
}

/// Whether Windows reads the name of this file as it is written.
///
/// Windows drops dots and blanks at the end of a name (`tool.bat. .` is `tool.bat`), takes what follows a colon for a stream of
/// the file (`tool.exe:x`) or for a path in another drive's current directory (`C:tool`), and treats control characters and
/// wildcards in its own ways.
fn is_plain(path: &str) -> bool {
    let rest = match path.as_bytes() {
        [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic() => path.get(2..).unwrap_or_default(),
        _ => path,
    };
    let file = rest.rsplit(is_slash).next().unwrap_or_default();
    !file.is_empty()
        && !file.ends_with(['.', ' '])
        && !file.contains(['"', '<', '>', '|', '*', '?'])
        && !rest.contains(':')
        && !rest.chars().any(char::is_control)
}

/// Whether a word is a path rather than a name to be looked up.
pub(super) fn is_path(word: &str) -> bool {
    word.contains(['/', '\\', ':'])
}

fn is_slash(character: char) -> bool {
    matches!(character, '/' | '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_slashes_and_a_missing_ending_do_not_count() {
        for (word, entry) in [
            ("tool", "tool"),
            ("TOOL", "tool"),
            ("tool.EXE", "Tool"),
            ("tool", "tool.exe"),
            ("tool.cmd", "TOOL.CMD"),
            ("c:/bin/TOOL.exe", r"C:\bin\tool"),
        ] {
            assert!(means(word, entry), "{word} {entry}");
        }
        for (word, entry) in [
            ("tool.bat", "tool.exe"),
            ("tool.txt", "tool"),
            ("tool.", "tool"),
            ("tool ", "tool"),
            ("tool.exe.", "tool.exe"),
            ("tool.exe.bat", "tool.exe"),
            (r".\tool", "tool"),
            (r"C:\bin\tool", "tool"),
            ("too", "tool"),
            ("tool:x", "tool"),
            // To Windows the Kelvin sign is not a `k`.
            ("\u{212a}ill", "kill"),
        ] {
            assert!(!means(word, entry), "{word} {entry}");
        }
    }

    #[test]
    fn the_endings_are_those_of_pathext_that_a_process_can_be_made_of() {
        let tried =
            |pathext: Option<&str>, name: &str| Endings::new(pathext.map(OsStr::new)).candidates(name).join(" ");
        assert_eq!(tried(None, "x"), "x.com x.exe x.bat x.cmd");
        assert_eq!(tried(Some(".EXE;.VBS;.bat;;.exe;.JS"), "x"), "x.exe x.bat");
        assert_eq!(tried(Some(""), "x"), "");
        assert_eq!(tried(None, "x.Exe"), "x.Exe");
        assert_eq!(tried(None, "x.1"), "x.1.com x.1.exe x.1.bat x.1.cmd");
        assert_eq!(tried(Some(".EXE"), r"C:\bin\x"), r"C:\bin\x.exe");
    }

    #[test]
    fn a_name_that_windows_would_read_as_another_is_nobodys() {
        for name in [
            "",
            "x.",
            "x ",
            "x.bat. .",
            "x.exe ",
            "x.exe:y",
            "C:x",
            r"C:\bin\x.bat.",
            r"C:\bin\",
            "x\n",
            "x?.exe",
            r"\??\C:\x",
            r"C:\a:b\x",
        ] {
            assert_eq!(Endings::new(None).candidates(name), Vec::<String>::new(), "{name:?}");
        }
    }

    #[test]
    fn a_word_with_an_ending_is_not_answered_by_another_file() {
        assert!(has_ending_of(r"C:\bin\tool.exe", "TOOL.EXE"));
        assert!(has_ending_of(r"C:\bin\tool.exe", "tool"));
        assert!(!has_ending_of(r"C:\bin\tool.exe", "tool.bat"));
    }
}
