//! The text of a result: YAML that a person and a model can read, and a parser reads back to the same values.
//!
//! Text of several lines is a literal block, which serde_yaml does not choose for text with a tab. A scalar is
//! serde_yaml's, except that text which a parser of another version of YAML could misread is quoted.

/// Writes `key: text` and a line end.
///
/// Text with a line break is a literal block if YAML allows its characters there and no parser loses any of them; any
/// other text, and text with control characters, is a scalar, quoted if some parser would misread it.
pub fn write_text(yaml: &mut String, key: &str, text: &str) {
    yaml.push_str(key);
    yaml.push_str(": ");
    if !text.contains('\n') || loses_blanks_in_a_block(text) || !stands_literally(text) {
        write_scalar(yaml, text);
        return;
    }
    yaml.push('|');
    // A parser takes the indentation from the first line, so it is written explicitly if that line begins with a blank.
    if text.starts_with(BLANKS) {
        yaml.push('2');
    }
    if !text.ends_with('\n') {
        yaml.push('-');
    } else if text.ends_with("\n\n") {
        yaml.push('+');
    }
    yaml.push('\n');
    for line in text.split_inclusive('\n') {
        // Blank lines need no indentation, so they get none.
        if line != "\n" {
            yaml.push_str("  ");
        }
        yaml.push_str(line);
    }
    if !text.ends_with('\n') {
        yaml.push('\n');
    }
}

/// Writes an item of a list, on one line.
pub(super) fn write_item(yaml: &mut String, indentation: &str, text: &str) {
    yaml.push_str(indentation);
    yaml.push_str("- ");
    write_scalar(yaml, text);
}

/// A key that a parser reads as this text, whatever the text is.
pub(super) fn quoted_key(text: &str) -> String {
    let mut key = String::new();
    write_double_quoted(&mut key, text);
    key
}

/// Writes `key: value` and a line end, for a value that YAML writes unquoted: a number, a boolean, a flow list.
pub fn write_value(yaml: &mut String, key: &str, value: &str) {
    yaml.push_str(key);
    yaml.push_str(": ");
    yaml.push_str(value);
    yaml.push('\n');
}

/// Whether widely used parsers lose something of the text in a literal block: they drop its end if the block has
/// explicit indentation and the last line is blank.
fn loses_blanks_in_a_block(text: &str) -> bool {
    let last = text.trim_end_matches('\n').rsplit('\n').next().unwrap_or_default();
    text.starts_with(BLANKS) && last.chars().all(|character| BLANKS.contains(&character))
}

const BLANKS: [char; 3] = [' ', '\t', '\n'];

/// Other characters that end a line for some parsers of YAML.
const LINE_BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

fn write_scalar(yaml: &mut String, text: &str) {
    // Most commands write to one stream, and most results have such a text.
    if text.is_empty() {
        yaml.push_str("''\n");
        return;
    }
    if is_plain_path(text) {
        yaml.push_str(text);
        yaml.push('\n');
        return;
    }
    match serde_yaml::to_string(text) {
        // A scalar that serde_yaml writes as a block would need its place in the mapping.
        Ok(scalar) if scalar.starts_with('|') || scalar.contains(LINE_BREAKS) => {
            write_double_quoted(yaml, text);
            yaml.push('\n');
        }
        Ok(scalar) if scalar.starts_with(['\'', '"']) || is_text_to_every_parser(text) => yaml.push_str(&scalar),
        // What serde_yaml leaves plain contains nothing that a single-quoted scalar can't contain.
        Ok(_) => {
            yaml.push('\'');
            yaml.push_str(&text.replace('\'', "''"));
            yaml.push_str("'\n");
        }
        Err(_) => {
            write_double_quoted(yaml, text);
            yaml.push('\n');
        }
    }
}

/// Writes a double-quoted scalar, without a line end: unprintable characters are written by number.
fn write_double_quoted(yaml: &mut String, text: &str) {
    yaml.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => yaml.extend(['\\', character]),
            '\n' => yaml.push_str("\\n"),
            '\r' => yaml.push_str("\\r"),
            '\t' => yaml.push_str("\\t"),
            printable if may_stand_literally(printable) => yaml.push(printable),
            // `may_stand_literally` accepts every character of more than sixteen bits.
            other => yaml.push_str(&format!("\\u{:04x}", u32::from(other))),
        }
    }
    yaml.push('"');
}

/// Whether text that a plain scalar can hold is read back from one as that text by YAML 1.1 and by YAML 1.2.
///
/// Most parsers still follow 1.1, where `yes`, `1:20` and `2020-01-01` are not text, and serde_yaml quotes only what
/// 1.2 reads as something else. Everything that either version resolves begins with a digit or a sign, or is one of a
/// few words: <https://yaml.org/type/>, <https://yaml.org/spec/1.2.2/#103-core-schema>.
fn is_text_to_every_parser(text: &str) -> bool {
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    // No digit before the exponent: a number to a widely used parser, though to neither version.
    let is_exponent = text.starts_with(['e', 'E']) && text.chars().skip(1).all(|part| "0123456789_.+-".contains(part));
    text.starts_with(|first: char| first.is_ascii_alphabetic() || "/_".contains(first) || !first.is_ascii())
        && !is_exponent
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether the text is a path that needs no quotes, like most paths. Every shell result has one, and the emitter is slow.
fn is_plain_path(text: &str) -> bool {
    text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte))
}

/// Whether every character may stand literally; most output is checked in chunks of bytes.
fn stands_literally(text: &str) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b' '..=b'~');
    let are_plain = |chunk: &[u8]| chunk.iter().fold(true, |all, byte| all & is_plain(byte));
    text.as_bytes().chunks(64).all(are_plain) || text.chars().all(may_stand_literally)
}

/// YAML's printable characters less its line breaks other than `\n`: <https://yaml.org/spec/1.2.2/#51-character-set>.
fn may_stand_literally(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}'
        | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn check(text: &str, expected: &str) {
        let mut yaml = String::new();
        write_text(&mut yaml, "stdout", text);
        assert_eq!(yaml, expected, "{text:?}");
        round_trips(text).unwrap();
    }

    fn round_trips(text: &str) -> Result<(), TestCaseError> {
        let mut yaml = String::new();
        write_value(&mut yaml, "exit_code", "0");
        write_text(&mut yaml, "stdout", text);
        write_text(&mut yaml, "stderr", text);
        let read: BTreeMap<String, serde_yaml::Value> =
            serde_yaml::from_str(&yaml).map_err(|error| TestCaseError::fail(format!("{error} in {yaml:?}")))?;
        for key in ["stdout", "stderr"] {
            prop_assert_eq!(read[key].as_str(), Some(text), "{:?}", &yaml);
        }
        prop_assert_eq!(read["exit_code"].as_i64(), Some(0));
        let (_, scalar) = yaml.split_once("stdout: ").unwrap_or_default();
        let scalar = scalar.lines().next().unwrap_or_default();
        prop_assert!(scalar.starts_with(['\'', '"', '|']) || resolves_to_text(scalar), "{:?}", &yaml);
        let beyond = yaml.chars().find(|&character| !may_stand_literally(character));
        prop_assert!(beyond.is_none(), "{:?} in {:?}", beyond, &yaml);
        Ok(())
    }

    /// Whether parsers of YAML 1.1 (by its types, and as PyYAML does it) and of YAML 1.2 (by its core schema) read a
    /// plain scalar as text, judged from the patterns alone and cautiously: it shares nothing with the tested code.
    fn resolves_to_text(plain: &str) -> bool {
        let folded = plain.to_lowercase();
        let word =
            ["", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<"].contains(&&*folded);
        let unsigned = folded.strip_prefix(['+', '-']).unwrap_or(&folded);
        let not_finite = [".inf", ".nan"].contains(&unsigned);
        // Digits in any base, with the underscores, points, exponents and sexagesimal colons of either version.
        let of_base = |prefix: &str, digits: &str| {
            unsigned.strip_prefix(prefix).is_some_and(|rest| rest.chars().all(|digit| digits.contains(digit)))
        };
        let based = of_base("0x", "0123456789abcdef_") || of_base("0o", "01234567") || of_base("0b", "01_");
        let number = unsigned.contains(|digit: char| digit.is_ascii_digit())
            && unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.')
            && unsigned.chars().all(|part| part.is_ascii_digit() || "_.:e+-".contains(part));
        // A date, and a time after it.
        let date = unsigned.chars().filter(|&part| part == '-').count() >= 2
            && unsigned.starts_with(|first: char| first.is_ascii_digit())
            && unsigned.chars().all(|part| part.is_ascii_digit() || "-:.+tz \t".contains(part));
        !(word || not_finite || based || number || date)
    }

    #[test]
    fn text_of_several_lines_is_a_literal_block_and_the_rest_a_scalar() {
        check("hello\n", "stdout: |\n  hello\n");
        check("a\nb", "stdout: |-\n  a\n  b\n");
        check("a\n\nb\n\n", "stdout: |+\n  a\n\n  b\n\n");
        check("\ta\tb \n c\n", "stdout: |2\n  \ta\tb \n   c\n");
        check("  a\n", "stdout: |2\n    a\n");
        check("\n a\n", "stdout: |2\n\n   a\n");
        check("", "stdout: ''\n");
        check("hello", "stdout: hello\n");
        check("true", "stdout: 'true'\n");
        check("/usr/lib-1/a_b.c", "stdout: /usr/lib-1/a_b.c\n");
        check("/a: b", "stdout: '/a: b'\n");
        check("/a #b", "stdout: '/a #b'\n");
        check("0x1F", "stdout: '0x1F'\n");
        check("\n", "stdout: \"\\n\"\n");
        check(" \n", "stdout: \" \\n\"\n");
        check("\n \t\n\n", "stdout: \"\\n \\t\\n\\n\"\n");
        check(" \n.\n  \n", "stdout: \" \\n.\\n  \\n\"\n");
        check(" .\n  \n.", "stdout: |2-\n   .\n    \n  .\n");
        check(".\n  \n", "stdout: |\n  .\n    \n");
        check("a\r\nb\n", "stdout: \"a\\r\\nb\\n\"\n");
        check("\x1b[1mx\n", "stdout: \"\\e[1mx\\n\"\n");
        check("---\nx: y\n...\n# z\n", "stdout: |\n  ---\n  x: y\n  ...\n  # z\n");
        for breaks in ["a\u{2028}b", "\u{85}", "a\u{2029}b\n", "\u{feff}a\nb\n"] {
            round_trips(breaks).unwrap();
        }
        check("ü 漢 😀\n", "stdout: |\n  ü 漢 😀\n");
    }

    #[test]
    fn what_a_parser_of_any_version_takes_for_something_else_is_quoted() {
        let quoted = "yes no on off y n Yes NO oN Off Y N true FALSE null NULL ~ = << 1:20 190:20:30.15 2020-01-01 \
            2001-12-14t21:59:43.10-05:00 1_000 0x_1f 0b1 0o777777777777777777777777777 0o8 017 -0 +12 1e309 685.230_15e+03 \
            .inf -.INF .NaN .5 5. -.5 .e3 e3 E-35 ._1 <a =a ~a :a -a +a .a 1a";
        for text in quoted.split(' ') {
            check(text, &format!("stdout: '{text}'\n"));
        }
        for text in ["1".repeat(310), "2001-12-14 21:59:43.10 -5".to_owned(), "12 files".to_owned()] {
            check(&text, &format!("stdout: '{text}'\n"));
        }
        for text in
            "hello /yes yesno none nil inf NaN e3x each x1 _1 ünïcode \u{fffd} nobody offer trueish it's a:b a-b c++"
                .split(' ')
        {
            check(text, &format!("stdout: {text}\n"));
        }
        for text in ["yes please", "/a b", "x ".repeat(5_000).trim_end()] {
            check(text, &format!("stdout: {text}\n"));
        }
        check("-it's", "stdout: '-it''s'\n");
    }

    #[test]
    fn what_no_parser_takes_as_it_stands_is_escaped() {
        check("a\u{2028}\"b\\", "stdout: \"a\\u2028\\\"b\\\\\"\n");
        assert_eq!(quoted_key("a\u{7f}\t\r\n\0\u{feff}😀"), "\"a\\u007f\\t\\r\\n\\u0000\\ufeff😀\"");
        for hard in ["\u{2029}\u{fffe}\u{ffff}\u{1b}", "a\u{80}\n\u{2028}", "\u{85}😀"] {
            round_trips(hard).unwrap();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn what_looks_like_a_number_comes_back_as_text(text in "[-+.0-9]?[0-9:_.eE+xobTtZ -]{0,8}") {
            round_trips(&text)?;
        }

        #[test]
        fn what_looks_like_a_word_comes_back_as_text(text in "[ytfno~<=.][-yesnoftrualYESNOFTRUAL~<=.if]{0,4}") {
            round_trips(&text)?;
        }

        #[test]
        fn any_text_comes_back_as_it_was(text in any::<String>()) {
            round_trips(&text)?;
        }

        #[test]
        fn text_full_of_blanks_and_breaks_comes_back_as_it_was(text in "[ \t\n\ra:#'\"|>&*!%@`,\\-?{}\\[\\]~\u{0}\u{7f}\u{85}\u{a0}\u{2028}\u{feff}\u{fffe}0-9]{0,16}") {
            round_trips(&text)?;
        }
    }
}
