//! The numbers in the names of full files: `FILE.1`, `FILE.2` and so on.

use std::ffi::{OsStr, OsString};

/// The most digits in the number of a file beside the log. Anybody may have put such a file there, and there must be room above
/// its number.
const MOST_DIGITS: usize = 10;
/// The same for the number that a log names.
const MOST_DIGITS_IN_LOG: usize = 18;

/// The name of the full file with this number.
pub(super) fn numbered(own: &OsStr, number: u64) -> OsString {
    let mut name = own.to_owned();
    name.push(format!(".{number}"));
    name
}

/// The number of a full file, whatever was added to its name since, such as `.gz`.
pub(super) fn number_of(own: &OsStr, name: &OsStr) -> Option<u64> {
    let rest = name.as_encoded_bytes().strip_prefix(own.as_encoded_bytes())?.strip_prefix(b".")?;
    number(rest.split(|byte| *byte == b'.').next()?, MOST_DIGITS)
}

/// The number of the full file that a log names, which may have had another name then.
pub(super) fn number_in(name: &str) -> Option<u64> {
    number(name.rsplit('.').next()?.as_bytes(), MOST_DIGITS_IN_LOG)
}

fn number(digits: &[u8], most: usize) -> Option<u64> {
    let is_number = (1..=most).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_full_files_have_a_number() {
        let of = |name: &str| number_of("log".as_ref(), name.as_ref());
        assert_eq!(["log.1", "log.12", "log.3.gz", "log.007"].map(of), [Some(1), Some(12), Some(3), Some(7)]);
        for name in ["log", "log.", "log.x", "log.+1", "log.-1", "log.x.1", "log1", "other.1", "log.12345678901"] {
            assert_eq!(of(name), None, "{name}");
        }
        let planted = numbered("log".as_ref(), 9_999_999_999);
        assert_eq!(number_of("log".as_ref(), &planted), Some(9_999_999_999));
        // The numbers go on above it.
        assert_eq!(
            ["other.10000000000", "log", "log.99999999999999999999"].map(number_in),
            [Some(10_000_000_000), None, None]
        );
    }
}
