//! Patterns that are the text of a command line, in which `*` stands for any text.

use super::entry::{Entry, Imported, Pattern};
use crate::policy::rules::Effect;

/// The words of a text without quotes, expansions and operators, separated by single blanks; `None` for any other text.
pub(super) fn plain_words(text: &str) -> Option<Vec<String>> {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    words.iter().all(|word| !word.is_empty() && word.chars().all(is_plain)).then_some(words)
}

/// A character that stands for itself, wherever a shell reads it.
pub(super) fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_./:=@%+,-".contains(character)
}

/// The text that every command line which the pattern means begins with: up to the first character that may stand for others.
pub(super) fn literal_beginning(text: &str) -> String {
    text.chars().take_while(|character| is_plain(*character) || *character == ' ').collect()
}

const NOT_PLAIN: &str = "it has characters that a shell reads; only plain words are taken";
const IN_THE_MIDDLE: &str = "a `*` that is not the last word stands for any words, also for options";

/// Adds the entries of a pattern that ends in ` *` or, if `has_colon`, in `:*`. `base` is the entry without its pattern.
pub(super) fn add(base: Entry, text: &str, has_colon: bool, imported: &mut Imported) {
    if text.trim_matches('*').is_empty() {
        imported.entries.push(Entry { pattern: Pattern::Prefix(Vec::new()), ..base });
        return;
    }
    let colon = text.strip_suffix(":*").filter(|_| has_colon);
    let (stem, is_prefix, is_whole) = match colon.or_else(|| text.strip_suffix(" *")) {
        Some(stem) => (stem, true, true),
        None => match text.strip_suffix('*') {
            Some(stem) => (stem, true, false),
            None => (text, false, true),
        },
    };
    let words = plain_words(stem);
    let why = if stem.contains('*') { IN_THE_MIDDLE } else { NOT_PLAIN };
    match words {
        Some(words) if is_prefix && !is_whole => {
            // `ls*` means `lsof` as well.
            let what = words.join(" ");
            let why =
                format!("it also means commands and words that only begin so; taken for `{what}` and its arguments");
            imported.leave_out(base.place.clone(), &base.what, why);
            let stricter = base.effect != Effect::Allow;
            imported.entries.push(Entry { pattern: Pattern::Prefix(words), ..base.clone() });
            if stricter {
                imported.entries.push(Entry { pattern: Pattern::Unclear(literal_beginning(stem)), ..base });
            }
        }
        Some(words) if is_prefix => imported.entries.push(Entry { pattern: Pattern::Prefix(words), ..base }),
        Some(words) => imported.entries.push(Entry { pattern: Pattern::Exact(words), ..base }),
        None => add_unclear(base, &literal_beginning(text), why, imported),
    }
}

/// Adds an entry that can't be taken: one that allows is left out, any other narrows what it may touch.
pub(super) fn add_unclear(base: Entry, beginning: &str, why: &str, imported: &mut Imported) {
    let narrows = base.effect != Effect::Allow;
    let why = if narrows { format!("{why}; what it may touch is left out") } else { why.to_owned() };
    imported.leave_out(base.place.clone(), &base.what, why);
    if narrows {
        imported.entries.push(Entry { pattern: Pattern::Unclear(beginning.to_owned()), ..base });
    }
}
