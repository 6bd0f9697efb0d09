//! The voice of the doc comments in `src/`: they begin with a verb or name the thing.

use crate::layers::files;

/// A comment that begins so makes the reader guess what the item is.
const GUESSED: [&str; 3] = ["What", "Who", "Has"];

/// The first line of each doc comment, with its number. A blank line or an attribute ends a comment.
fn doc_comments(text: &str) -> Vec<(usize, &str)> {
    let mut first_lines = Vec::new();
    let mut kind_before = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let kind = ["///", "//!"].into_iter().find(|kind| line.starts_with(kind) && !line.starts_with("////"));
        if let Some(kind) = kind.filter(|_| kind != kind_before) {
            first_lines.push((index + 1, line[kind.len()..].trim_start()));
        }
        kind_before = kind;
    }
    first_lines
}

fn is_guessed(comment: &str) -> bool {
    let end = comment.find(|character: char| !character.is_alphanumeric()).unwrap_or(comment.len());
    GUESSED.contains(&&comment[..end])
}

#[test]
fn no_doc_comment_begins_with_what_who_or_has() {
    let mut read = 0;
    let mut found = Vec::new();
    for (path, text) in files() {
        let comments = doc_comments(&text);
        read += comments.len();
        let guessed = comments.into_iter().filter(|(_, comment)| is_guessed(comment));
        found.extend(guessed.map(|(line, comment)| format!("src/{path}:{line}: {comment}")));
    }
    assert!(read > 1000, "src/ has doc comments: {read}");
    assert!(
        found.is_empty(),
        "begin these doc comments with a verb (Returns, Starts, Writes), or name the thing:\n{}",
        found.join("\n")
    );
}

#[test]
fn the_reader_of_doc_comments_sees_the_first_line_of_each() {
    let text = "//! What it is.\n//! Who reads.\n\n/// Whatever.\nfn a() {\n    //// Has no meaning.\n    // What?\n    \
                /// Has\n    /// What\n    b: u8,\n    #[cfg(unix)]\n    /// Who's there.\n    c: u8,\n";
    let comments = doc_comments(text);
    assert_eq!(comments, [(1, "What it is."), (4, "Whatever."), (8, "Has"), (12, "Who's there.")]);
    let guessed: Vec<usize> =
        comments.into_iter().filter(|(_, comment)| is_guessed(comment)).map(|(line, _)| line).collect();
    assert_eq!(guessed, [1, 8, 12]);
}
