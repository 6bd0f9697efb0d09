//! The text of a result: YAML that a person and a model can read, and a parser reads back to the same values.
//!
//! Text of several lines stands as a literal block, which serde_yaml does not choose for text with a tab in it;
//! everything else is serde_yaml's.

/// Writes `key: text` and a line end.
///
/// Text with a line break is a literal block where YAML lets its characters stand there; any other text, and text with
/// control characters, is a scalar as serde_yaml writes it.
pub fn write_text(yaml: &mut String, key: &str, text: &str) {
    yaml.push_str(key);
    yaml.push_str(": ");
    if !text.contains('\n') || !text.chars().all(may_stand_literally) || text.chars().all(|character| character == '\n')
    {
        write_scalar(yaml, text);
        return;
    }
    yaml.push('|');
    // A parser takes the indentation from the first line, so it is told where that line begins with a blank.
    if text.starts_with([' ', '\t', '\n']) {
        yaml.push('2');
    }
    if !text.ends_with('\n') {
        yaml.push('-');
    } else if text.ends_with("\n\n") {
        yaml.push('+');
    }
    yaml.push('\n');
    for line in text.split_inclusive('\n') {
        // Blank lines need no indentation, and none is left behind.
        if line != "\n" {
            yaml.push_str("  ");
        }
        yaml.push_str(line);
    }
    if !text.ends_with('\n') {
        yaml.push('\n');
    }
}

/// Writes `key: value` and a line end, for a value that YAML writes as it stands: a number, a boolean, a flow list.
pub fn write_value(yaml: &mut String, key: &str, value: &str) {
    yaml.push_str(key);
    yaml.push_str(": ");
    yaml.push_str(value);
    yaml.push('\n');
}

/// What else ends a line for some parsers of YAML.
const LINE_BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

fn write_scalar(yaml: &mut String, text: &str) {
    if is_plain_path(text) {
        yaml.push_str(text);
        yaml.push('\n');
        return;
    }
    match serde_yaml::to_string(text) {
        // A scalar that serde_yaml writes as a block would need its place in the mapping.
        Ok(scalar) if !scalar.starts_with('|') && !scalar.contains(LINE_BREAKS) => yaml.push_str(&scalar),
        // JSON's strings are YAML's, but for line breaks that JSON does not know and a parser of YAML folds.
        Ok(_) | Err(_) => {
            for character in serde_json::Value::from(text).to_string().chars() {
                if LINE_BREAKS.contains(&character) {
                    yaml.push_str(&format!("\\u{:04x}", u32::from(character)));
                } else {
                    yaml.push(character);
                }
            }
            yaml.push('\n');
        }
    }
}

/// Whether the text is a path that stands for itself, as most do: every result has one, and the emitter takes its time.
fn is_plain_path(text: &str) -> bool {
    text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte))
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
        Ok(())
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
        check("a\r\nb\n", "stdout: \"a\\r\\nb\\n\"\n");
        check("\x1b[1mx\n", "stdout: \"\\e[1mx\\n\"\n");
        check("---\nx: y\n...\n# z\n", "stdout: |\n  ---\n  x: y\n  ...\n  # z\n");
        for breaks in ["a\u{2028}b", "\u{85}", "a\u{2029}b\n", "\u{feff}a\nb\n"] {
            round_trips(breaks).unwrap();
        }
        check("ü 漢 😀\n", "stdout: |\n  ü 漢 😀\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

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
