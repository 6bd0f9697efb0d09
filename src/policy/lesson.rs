//! Says what to write instead of the shell syntax in a line, operator by operator.
//!
//! The sentences are fixed: none repeats a word of the line, which could hold a secret.

use super::syntax::{find_quoted_syntax, without_quoted};

const DIRECTORY: &str = "choose the directory with `cwd` instead of `cd`";
const STDERR: &str = "standard error is returned already, so leave redirections like `2>&1` out";
const STATUS: &str = "leave `|| true` out, since the exit code is returned";
const BOUNDED: &str = "leave `| head` and `| tail` out, since output is bounded and `read_output` has the rest";
const SEARCH: &str = "leave `| grep` out and search the output with `read_output`";
const BACKGROUND: &str = "let the call run on with `background: true` instead of `&`";
const INPUT: &str = "pass the text as `input` instead of `<<`";
const MESSAGE: &str = "write the text itself between the quotes, which can hold line breaks";
const INNER: &str = "call the inner command first and write out what it printed";
const CHARACTERS: &str = "write the characters themselves between single quotes";

/// Advises what to write instead, each once, in the order above.
pub fn lesson(line: &str) -> Vec<&'static str> {
    let plain = without_quoted(line);
    let compact: String = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    // The first word behind each `|` that is no `||`.
    let alone = compact.replace("||", "\n").replace("|&", "|");
    let piped: Vec<&str> =
        alone.split('|').skip(1).map(|stage| stage.split_whitespace().next().unwrap_or_default()).collect();
    let first = compact.split([' ', '&', ';']).next().unwrap_or_default();
    let is_list = compact.contains("&&") || compact.contains(';') || plain.trim().contains('\n');
    let without_pairs =
        ["&&", ">&", "&>", "|&", "<&"].iter().fold(compact.clone(), |text, pair| text.replace(pair, " "));
    let quoted = find_quoted_syntax(line).map(|syntax| syntax.to_string());
    let is_message = line.replace(' ', "").contains("\"$(cat<<");
    let is_inner =
        plain.contains("$(") || plain.contains('`') || quoted.as_deref().is_some_and(|q| !q.starts_with("`$'"));
    let found = [
        (first == "cd" && is_list, DIRECTORY),
        ([">&", "&>", "2>"].iter().any(|redirection| compact.contains(redirection)) || compact.contains("|&"), STDERR),
        (["|| true", "||true", "|| :", "||:"].iter().any(|ignored| compact.contains(ignored)), STATUS),
        (piped.iter().any(|word| matches!(*word, "head" | "tail")), BOUNDED),
        (piped.iter().any(|word| matches!(*word, "grep" | "egrep" | "rg")), SEARCH),
        (without_pairs.contains('&'), BACKGROUND),
        (compact.contains("<<") && !is_message, INPUT),
        (is_message, MESSAGE),
        (is_inner && !is_message, INNER),
        (quoted.as_deref() == Some("`$'`"), CHARACTERS),
    ];
    found.into_iter().filter(|(is_found, _)| *is_found).map(|(_, advice)| advice).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn each_operator_has_its_lesson() {
        let cases: [(&str, &[&str]); 20] = [
            ("cd src && cargo test 2>&1 | tail -5", &[DIRECTORY, STDERR, BOUNDED]),
            ("cd a; ls", &[DIRECTORY]),
            ("ls && rm x", &[]),
            ("a | head", &[BOUNDED]),
            ("a|grep b|tail", &[BOUNDED, SEARCH]),
            ("a || tail", &[]),
            ("a | wc", &[]),
            ("a 2>/dev/null", &[STDERR]),
            ("a &>/dev/null", &[STDERR]),
            ("a |& tee b", &[STDERR]),
            ("a || true", &[STATUS]),
            ("a||:", &[STATUS]),
            ("a &", &[BACKGROUND]),
            ("a & b && c", &[BACKGROUND]),
            ("python3 - <<'PY'\nx\nPY", &[INPUT]),
            ("git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"", &[MESSAGE]),
            ("a $(b)", &[INNER]),
            ("a \"`b`\"", &[INNER]),
            ("a $'b\\n'", &[CHARACTERS]),
            ("a '| head' \"2>&1 &\" \\& # || true", &[]),
        ];
        for (line, expected) in cases {
            assert_eq!(lesson(line), expected, "{line:?}");
        }
    }
}
