//! The parts of a JSON text that its value does not hold: without this, two different texts could be taken for the
//! same.

use std::collections::BTreeSet;

/// The digits that a double holds exactly.
const DIGITS: usize = 17;

/// The whole numbers beyond 64 bits and the longer fractions, as they are written, and each object in which a name comes
/// twice, all in their order. The text is JSON.
pub(super) fn unheld(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let (mut found, mut open) = (Vec::new(), Vec::<Open<'_>>::new());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let from = at;
        at += 1;
        match byte {
            b'"' => {
                while let Some(&byte) = bytes.get(at).filter(|byte| **byte != b'"') {
                    at += if byte == b'\\' { 2 } else { 1 };
                }
                at += 1;
                if let Some(object) = open.last_mut().filter(|open| open.is_key) {
                    object.has_twice |= !object.names.insert(part(from, at));
                }
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                at += bytes.get(at..).unwrap_or_default().iter().take_while(is_part).count();
                let number = part(from, at);
                if !is_held(number) {
                    found.push(number.to_owned());
                }
            }
            b'{' | b'[' => {
                open.push(Open { from, is_key: byte == b'{', names: BTreeSet::new(), has_twice: false });
            }
            b'}' | b']' => {
                let twice = open.pop().filter(|open| open.has_twice);
                found.extend(twice.map(|object| part(object.from, at).to_owned()));
            }
            b':' => open.last_mut().into_iter().for_each(|object| object.is_key = false),
            b',' => open.last_mut().into_iter().for_each(|open| open.is_key = bytes.get(open.from) == Some(&b'{')),
            _ => {}
        }
    }
    found
}

/// An object or an array that has not ended.
struct Open<'a> {
    from: usize,
    /// Whether the next string is a name.
    is_key: bool,
    names: BTreeSet<&'a str>,
    has_twice: bool,
}

fn is_held(number: &str) -> bool {
    if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    }
    let digits = number.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).filter(u8::is_ascii_digit);
    digits.skip_while(|digit| *digit == b'0').count() <= DIGITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_value_loses_is_found_and_nothing_else() {
        let check = |text: &str, expected: &[&str]| assert_eq!(unheld(text), expected, "{text}");
        check(
            r#"{"a":1,"b":{"a":[1,-1,1.5e-7,18446744073709551615,-9223372036854775808]},"c":"{\"a\":1,\"a\":2}"}"#,
            &[],
        );
        check(r#"[18446744073709551616, -9223372036854775809,0.1]"#, &["18446744073709551616", "-9223372036854775809"]);
        check("0.10000000000000000001", &["0.10000000000000000001"]);
        check("0.00000000000000000001", &[]);
        check(r#"[{"a":{"b":1,"c":["b"],"b":2}},{"x":"x"}]"#, &[r#"{"b":1,"c":["b"],"b":2}"#]);
        check(r#"{"a\"":1,"a\"" : 2}"#, &[r#"{"a\"":1,"a\"" : 2}"#]);
        check(r#""\\""#, &[]);
        // Text that is not JSON ends too.
        check(r#"}]"open\"#, &[]);
    }
}
