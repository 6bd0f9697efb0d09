//! A line diff: the longest common subsequence, and its unified form.

use std::fmt::Write;

/// Beyond this many comparisons no common lines are searched: in transcripts of that length everything between the
/// common beginning and end is one difference.
const MOST_COMPARISONS: usize = 4_000_000;
/// Equal lines shown before and after each difference.
const CONTEXT: usize = 3;

/// One line of a diff, by its index on either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The two agree.
    Same { left: usize, right: usize },
    /// Only the left side has it.
    Removed { left: usize },
    /// Only the right side has it.
    Added { right: usize },
}

/// Compares two sequences; `agree` says whether an element of the left matches one of the right.
pub(super) fn diff(left: usize, right: usize, agree: &dyn Fn(usize, usize) -> bool) -> Vec<Change> {
    let shorter = left.min(right);
    let before = (0..shorter).take_while(|&at| agree(at, at)).count();
    let behind = (0..shorter - before).take_while(|&at| agree(left - 1 - at, right - 1 - at)).count();
    let (rows, columns) = (left - before - behind, right - before - behind);
    let mut changes: Vec<Change> = (0..before).map(|at| Change::Same { left: at, right: at }).collect();
    changes.extend(middle(rows, columns, &|row, column| agree(before + row, before + column)).into_iter().map(
        |change| match change {
            Change::Same { left, right } => Change::Same { left: left + before, right: right + before },
            Change::Removed { left } => Change::Removed { left: left + before },
            Change::Added { right } => Change::Added { right: right + before },
        },
    ));
    changes.extend((0..behind).map(|at| Change::Same { left: left - behind + at, right: right - behind + at }));
    changes
}

fn middle(rows: usize, columns: usize, agree: &dyn Fn(usize, usize) -> bool) -> Vec<Change> {
    let all = || {
        let removed = (0..rows).map(|left| Change::Removed { left });
        removed.chain((0..columns).map(|right| Change::Added { right })).collect()
    };
    if rows.saturating_mul(columns) > MOST_COMPARISONS {
        return all();
    }
    // The length of the longest common subsequence that begins at each pair of indices; the last row and column are
    // empty.
    let mut lengths = vec![vec![0_u32; columns + 1]; rows + 1];
    let length = |lengths: &[Vec<u32>], row: usize, column: usize| -> u32 {
        lengths.get(row).and_then(|row| row.get(column)).copied().unwrap_or_default()
    };
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            let longest = if agree(row, column) {
                length(&lengths, row + 1, column + 1) + 1
            } else {
                length(&lengths, row + 1, column).max(length(&lengths, row, column + 1))
            };
            if let Some(cell) = lengths.get_mut(row).and_then(|row| row.get_mut(column)) {
                *cell = longest;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut changes = Vec::new();
    while row < rows || column < columns {
        if row < rows && column < columns && agree(row, column) {
            changes.push(Change::Same { left: row, right: column });
            (row, column) = (row + 1, column + 1);
        } else if row < rows
            && (column == columns || length(&lengths, row + 1, column) >= length(&lengths, row, column + 1))
        {
            changes.push(Change::Removed { left: row });
            row += 1;
        } else {
            changes.push(Change::Added { right: column });
            column += 1;
        }
    }
    changes
}

/// The hunks of a unified diff. Lines are counted from `first` on both sides; `show` writes a line with its mark.
pub(super) fn unified(changes: &[Change], first: usize, show: &dyn Fn(&Change) -> String) -> String {
    let mut text = String::new();
    let different = |change: &Change| !matches!(change, Change::Same { .. });
    let mut at = 0;
    while let Some(offset) = changes.get(at..).and_then(|rest| rest.iter().position(different)) {
        let start = (at + offset).saturating_sub(CONTEXT).max(at);
        let mut end = at + offset + 1;
        // A hunk continues if the next difference is so close that their contexts meet.
        while let Some(next) = changes.get(end..).and_then(|rest| rest.iter().position(different)) {
            if next > 2 * CONTEXT {
                break;
            }
            end += next + 1;
        }
        at = (end + CONTEXT).min(changes.len());
        let (before, hunk) = (changes.get(..start).unwrap_or_default(), changes.get(start..at).unwrap_or_default());
        let range = |is_there: fn(&&Change) -> bool| {
            let (start, count) = (before.iter().filter(is_there).count(), hunk.iter().filter(is_there).count());
            // As diff(1) counts: an empty range has the number of the line before it.
            let start = if count == 0 { first + start - 1 } else { first + start };
            if count == 1 { start.to_string() } else { format!("{start},{count}") }
        };
        let from = range(|change| !matches!(change, Change::Added { .. }));
        let to = range(|change| !matches!(change, Change::Removed { .. }));
        // Writing to a string can't fail.
        let _ = writeln!(text, "@@ -{from} +{to} @@");
        text.extend(hunk.iter().map(show));
    }
    text
}

/// A line of a diff with its mark.
pub(super) fn marked(change: &Change, left: &[String], right: &[String]) -> String {
    let line = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_default();
    match *change {
        Change::Same { left: at, .. } => format!(" {}\n", line(left, at)),
        Change::Removed { left: at } => format!("-{}\n", line(left, at)),
        Change::Added { right: at } => format!("+{}\n", line(right, at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(left: &str, right: &str, expected: &str) {
        let split = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        let (left, right) = (split(left), split(right));
        let changes = diff(left.len(), right.len(), &|l, r| left[l] == right[r]);
        assert_eq!(unified(&changes, 1, &|change| marked(change, &left, &right)).replace('\n', "|"), expected);
    }

    #[test]
    fn differences_stand_in_hunks_as_other_programs_write_them() {
        check("abc", "abc", "");
        check("abc", "abd", "@@ -1,3 +1,3 @@| a| b|-c|+d|");
        check("", "a", "@@ -0,0 +1 @@|+a|");
        check("a", "", "@@ -1 +0,0 @@|-a|");
        check("abcdefgh", "abcXdefgh", "@@ -1,6 +1,7 @@| a| b| c|+X| d| e| f|");
        check("Xbcdefghi", "bcdefghiY", "@@ -1,4 +1,3 @@|-X| b| c| d|@@ -7,3 +6,4 @@| g| h| i|+Y|");
        check("Xbcdefgh", "bcdefghY", "@@ -1,4 +1,3 @@|-X| b| c| d|@@ -6,3 +5,4 @@| f| g| h|+Y|");
        check("Xbcdefg", "bcdefgY", "@@ -1,7 +1,7 @@|-X| b| c| d| e| f| g|+Y|");
        check("axbyc", "aybxc", "@@ -1,5 +1,5 @@| a|-x|-b| y|+b|+x| c|");
    }
}
