//! Durations, sizes, counts and switches: how they are written, and written out again.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::error::printable;
use super::wrong::Wrong;
use crate::text::{DurationError, SizeError, read_duration, read_size};
pub(super) use crate::text::{LARGEST_SIZE as LARGEST, LONGEST_DURATION as LONGEST, duration_text, size_text};

/// Reads a duration: a number, decimals allowed, and one of the units `ms`, `s`, `m` and `h`; zero to a week.
pub(super) fn duration(text: &str) -> Result<Duration, Wrong> {
    let found = || printable(text);
    read_duration(text).map_err(|error| match error {
        DurationError::MissingUnit => Wrong::MissingUnit { found: printable(text.trim_ascii()) },
        DurationError::NotOne => Wrong::NotADuration { found: found() },
        DurationError::TooLong => Wrong::LongDuration { found: found() },
    })
}

/// Reads a [`duration`] of more than zero.
pub(super) fn time_limit(text: &str) -> Result<Duration, Wrong> {
    let duration = duration(text)?;
    if duration.is_zero() { Err(Wrong::ZeroDuration { found: printable(text) }) } else { Ok(duration) }
}

/// Reads a size in bytes: a number, with decimals if they make whole bytes, and a unit, which is `B` if it is left out.
/// `KB`, `MB` and `GB` are decimal, `KiB`, `MiB` and `GiB` binary; their case doesn't matter. Zero to 1024 GiB.
pub(super) fn size(text: &str) -> Result<u64, Wrong> {
    read_size(text).map_err(|error| match error {
        SizeError::NotOne => Wrong::NotASize { found: printable(text) },
        SizeError::TooLarge => Wrong::LargeSize { found: printable(text) },
    })
}

/// Reads a [`size`] of more than zero.
pub(super) fn limit_size(text: &str) -> Result<u64, Wrong> {
    match size(text)? {
        0 => Err(Wrong::ZeroSize { found: printable(text) }),
        bytes => Ok(bytes),
    }
}

/// Reads a whole number of at least 1.
pub(super) fn count(text: &str) -> Result<usize, Wrong> {
    let count = text.trim_ascii().parse().map(NonZeroUsize::get);
    count.map_err(|_| Wrong::NotACount { found: printable(text) })
}

/// Reads a switch, on or off; case doesn't matter.
pub(super) fn switch(text: &str) -> Result<bool, Wrong> {
    match text.trim_ascii().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(Wrong::NotASwitch { found: printable(text) }),
    }
}

/// Writes what [`switch`] reads.
pub(super) fn switch_text(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations() {
        let check = |text: &str, nanos: u64| assert_eq!(duration(text), Ok(Duration::from_nanos(nanos)), "`{text}`");
        check("0ms", 0);
        check("500ms", 500_000_000);
        check(" 30s ", 30_000_000_000);
        check("1.5s", 1_500_000_000);
        check("0.000001ms", 1);
        check("2 m", 120_000_000_000);
        check("168h", 604_800_000_000_000);
        for text in
            ["", "s", "1", ".5s", "1.s", "1..5s", "1S", "1e3s", "+1s", "-1s", "0.0000001ms", "1s2", "168.1h", "٣s"]
        {
            assert!(duration(text).is_err(), "`{text}`");
        }
        assert!(matches!(duration(&format!("{}h", "9".repeat(99))), Err(Wrong::LongDuration { .. })));
    }

    #[test]
    fn sizes() {
        let check = |text: &str, bytes: u64| assert_eq!(size(text), Ok(bytes), "`{text}`");
        check("0", 0);
        check("0GiB", 0);
        check("65536", 65_536);
        check("64KiB", 65_536);
        check("64 kib", 65_536);
        check("64KB", 64_000);
        check("1.5MiB", 1_572_864);
        check("2MB", 2_000_000);
        check("1GB", 1_000_000_000);
        check("1024GiB", LARGEST);
        for text in ["", "B", "1.5", "1K", "0.0001KB", "-1", "0x10", "1_000", "1024.1GiB", "1 2"] {
            assert!(size(text).is_err(), "`{text}`");
        }
        assert!(matches!(size(&"9".repeat(99)), Err(Wrong::LargeSize { .. })));
    }

    fn control_character_in_error(text: &str) -> Option<String> {
        let errors = [duration(text).err(), size(text).err(), count(text).err(), switch(text).err()];
        let mut texts = errors.iter().flatten().map(ToString::to_string);
        texts.find(|error| error.contains(char::is_control))
    }

    proptest! {
        #[test]
        fn errors_about_any_text_hold_no_control_character(text in any::<String>()) {
            prop_assert_eq!(control_character_in_error(&text), None);
        }

        #[test]
        fn errors_about_any_amount_hold_no_control_character(
            text in "[0-9]{0,60}\\.?[0-9]{0,60} ?(ms|s|m|h|B|KiB|gb|\t)?"
        ) {
            prop_assert_eq!(control_character_in_error(&text), None);
        }

        #[test]
        fn a_duration_is_read_back(nanos in 0..=604_800_000_000_000_u64) {
            let written = Duration::from_nanos(nanos);
            prop_assert_eq!(duration(&duration_text(written)), Ok(written));
        }

        #[test]
        fn a_duration_of_whole_units_is_read_back(number in 0..=168_u64, unit in 0..4_usize) {
            let written = Duration::from_nanos(number * [3_600_000_000_000_u64, 60_000_000_000, 1_000_000_000, 1_000_000][unit]);
            prop_assert_eq!(duration(&duration_text(written)), Ok(written));
        }

        #[test]
        fn a_size_is_read_back(bytes in prop_oneof![0..=LARGEST, (0..=1024_u64).prop_map(|n| n << 20)]) {
            prop_assert_eq!(size(&size_text(bytes)), Ok(bytes));
        }
    }
}
