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
const BLANKS: &str = "it means text, and a policy does not tell how many blanks separate words";

/// Adds the entries of a pattern that ends in ` *` or, if `has_colon`, in `:*`. `base` is the entry without its pattern.
pub(super) fn add(base: Entry, text: &str, has_colon: bool, imported: &mut Imported) {
    if !text.is_empty() && text.trim_matches('*').is_empty() {
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
    let Some((base, words)) = by_words(base, stem, imported) else { return };
    let why = if stem.contains('*') { IN_THE_MIDDLE } else { NOT_PLAIN };
    match words {
        Some(words) if is_prefix && !is_whole => {
            // `ls*` means `lsof` as well.
            let what = words.join(" ");
            let why =
                format!("it also means commands and words that only begin so; taken for `{what}` and its arguments");
            imported.leave_out(base.place.clone(), &base.what, why);
            let stricter = base.effect != Effect::Allow;
            let beginning = Pattern::unclear(&what);
            imported.entries.push(Entry { pattern: Pattern::Prefix(words), ..base.clone() });
            if stricter {
                imported.entries.push(Entry { pattern: beginning, ..base });
            }
        }
        Some(words) if is_prefix || words.is_empty() => {
            imported.entries.push(Entry { pattern: Pattern::Prefix(words), ..base })
        }
        Some(words) => imported.entries.push(Entry { pattern: Pattern::Exact(words), ..base }),
        None => {
            let beginning = literal_beginning(stem);
            let is_all = stem.trim_end_matches(['*', ' ']).len() <= beginning.len();
            // `x **` also means `x` with a blank after it.
            add_unclear(base, if is_all { beginning.trim_end() } else { &beginning }, why, imported);
        }
    }
}

/// The words of a text that an entry is about, if they are plain, and the entry to which they belong. A line has the same words however
/// many blanks separate them, and the text does not. So an entry with other than single blanks denies the lines with its words, if it
/// denies or asks; one that allows is left out, and `None` is returned.
pub(super) fn by_words(base: Entry, text: &str, imported: &mut Imported) -> Option<(Entry, Option<Vec<String>>)> {
    let single: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    let words = plain_words(&single.join(" ")).or_else(|| single.is_empty().then(Vec::new));
    if words.is_none() || plain_words(text).is_some() {
        return Some((base, words));
    }
    let (why, instead) = match single.as_slice() {
        [] => ("it names no words", "every line is refused"),
        [..] => (BLANKS, "lines with its words are refused"),
    };
    match base.effect {
        Effect::Allow => {
            imported.leave_out(base.place, &base.what, why);
            return None;
        }
        Effect::Ask => imported.leave_out(base.place.clone(), &base.what, format!("{why}; {instead}")),
        Effect::Deny => imported.note(base.place.clone(), &base.what, format!("{why}; {instead}")),
    }
    // An entry for the words with single blanks is about other texts, and does not overrule it.
    Some((Entry { effect: Effect::Deny, priority: i64::MAX, ..base }, words))
}

/// Adds an entry that can't be taken: one that allows is left out, any other narrows what it may touch.
pub(super) fn add_unclear(base: Entry, beginning: &str, why: &str, imported: &mut Imported) {
    let narrows = base.effect != Effect::Allow;
    let why = if narrows { format!("{why}; what it may touch is left out") } else { why.to_owned() };
    imported.leave_out(base.place.clone(), &base.what, why);
    if narrows {
        imported.entries.push(Entry { pattern: Pattern::unclear(beginning), ..base });
    }
}
