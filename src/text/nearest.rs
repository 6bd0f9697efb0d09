//! The known word that an unknown one was probably meant to be.

use std::cmp::min;

/// Longer words, in bytes, are not typing errors, and comparing takes the product of both lengths.
const LONGEST: usize = 200;

/// The candidate that `given` was probably meant to be, if any is close enough: one with few typing errors (at most a
/// third of its letters, but at least one), else one that `given` is the beginning of, else one that it begins with.
/// Case is ignored. The first of several equally close ones is taken.
pub fn nearest<T: AsRef<str>>(given: &str, candidates: impl IntoIterator<Item = T>) -> Option<T> {
    if given.len() > LONGEST {
        return None;
    }
    let nearness = |candidate: &str| {
        let distance = distance(given, candidate);
        if distance <= (candidate.chars().count() / 3).max(1) {
            return Some((Nearness::Slip, distance));
        }
        let kind = if begins(given, candidate) {
            Nearness::Shortened
        } else if begins(candidate, given) {
            Nearness::Lengthened
        } else {
            return None;
        };
        Some((kind, distance))
    };
    candidates
        .into_iter()
        .filter_map(|candidate| Some((nearness(candidate.as_ref())?, candidate)))
        .min_by_key(|(nearness, _)| *nearness)
        .map(|(_, candidate)| candidate)
}

/// How a word resembles another, the closest kind first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    /// Few of its letters are wrong.
    Slip,
    /// It is the beginning of the other.
    Shortened,
    /// The other is its beginning.
    Lengthened,
}

/// Whether the first word is the beginning of the second, and has at least two letters.
fn begins(beginning: &str, word: &str) -> bool {
    beginning.chars().nth(1).is_some() && word.to_lowercase().starts_with(&beginning.to_lowercase())
}

/// How many letters have to be inserted, deleted, replaced or swapped with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    // Only the rows for the last two letters of `a` are needed.
    let mut above_that: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut letter_before = None;
    for (i, letter) in a.chars().flat_map(char::to_lowercase).enumerate() {
        let mut row = vec![i + 1];
        let mut left = i + 1;
        for (j, &other) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX - 1);
            let mut cost = min(left, at(&above, j + 1)) + 1;
            cost = min(cost, at(&above, j) + usize::from(letter != other));
            if let Some(before) = j.checked_sub(1) {
                if letter_before == Some(other) && b.get(before) == Some(&letter) {
                    cost = min(cost, at(&above_that, before) + 1);
                }
            }
            row.push(cost);
            left = cost;
        }
        letter_before = Some(letter);
        above_that = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_swaps_as_one() {
        let check = |a: &str, b: &str, expected: usize| {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "`{a}` and `{b}`");
        };
        check("", "", 0);
        check("", "log", 3);
        check("timeout", "timeout", 0);
        check("Timeout", "tIMEOUT", 0);
        check("timout", "timeout", 1);
        check("tiemout", "timeout", 1);
        check("cwd_roots", "cwd-root", 2);
        check("straße", "strasse", 2);
        check("kitten", "sitting", 3);
    }

    #[test]
    fn only_near_words_are_suggested() {
        let check = |given: &str, expected: Option<&str>| {
            let known = ["allow", "allow-project", "cwd", "log", "inherit-env", "max-output", "max-timeout", "timeout"];
            assert_eq!(nearest(given, known), expected, "`{given}`");
        };
        check("alow", Some("allow"));
        check("LOG", Some("log"));
        check("lgo", Some("log"));
        check("tmeout", Some("timeout"));
        check("maxtimeout", Some("max-timeout"));
        check("allowed", Some("allow"));
        check("Inherit", Some("inherit-env"));
        check("max", Some("max-output"));
        check("allow-p", Some("allow-project"));
        check("allow-project-things", Some("allow-project"));
        check("max-t", Some("max-timeout"));
        check("logging-level", Some("log"));
        check("m", None);
        check("zzz", None);
        check("", None);
        check("json", None);
    }
}
