//! Durations, sizes, counts and switches: how they are written, and written out again.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::error::{Wrong, printable};

/// The longest duration that can be set: a week, far from where adding it to a clock could overflow.
pub(super) const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The largest size that can be set: 1024 GiB, far from where sums could overflow.
pub(super) const LARGEST: u64 = 1 << 40;

/// Nanoseconds a unit, the largest first.
const TIMES: [(&str, u128); 4] =
    [("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000)];
/// Bytes a unit, in the order in which `size_text` tries them.
const SIZES: [(&str, u128); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Reads a duration: a number, decimals allowed, and one of the units `ms`, `s`, `m` and `h`; zero to a week.
pub(super) fn duration(text: &str) -> Result<Duration, Wrong> {
    let found = || printable(text);
    let (number, unit) = parted(text);
    if unit.is_empty() && scaled(number, 1_000_000_000).is_some() {
        return Err(Wrong::MissingUnit { found: number.to_owned() });
    }
    let unit = TIMES.iter().find(|(name, _)| *name == unit);
    let nanos =
        unit.and_then(|(_, unit)| scaled(number, *unit)).ok_or_else(|| Wrong::NotADuration { found: found() })?;
    match u64::try_from(nanos).map(Duration::from_nanos) {
        Ok(duration) if duration <= LONGEST => Ok(duration),
        Ok(_) | Err(_) => Err(Wrong::LongDuration { found: found() }),
    }
}

/// Reads a [`duration`] under which something can happen: zero is an error.
pub(super) fn time_limit(text: &str) -> Result<Duration, Wrong> {
    let duration = duration(text)?;
    if duration.is_zero() { Err(Wrong::ZeroDuration { found: printable(text) }) } else { Ok(duration) }
}

/// Writes a duration so that [`duration`] reads the same from it: in the largest unit that divides it.
pub(super) fn duration_text(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    match TIMES.iter().find(|(_, unit)| nanos % unit == 0) {
        Some((name, unit)) => format!("{}{name}", nanos / unit),
        None => {
            let decimals = format!("{:06}", nanos % 1_000_000);
            format!("{}.{}ms", nanos / 1_000_000, decimals.trim_end_matches('0'))
        }
    }
}

/// Reads a size in bytes: a number, decimals allowed where they make whole bytes, and a unit, `B` where there is none.
/// `KB`, `MB` and `GB` are decimal, `KiB`, `MiB` and `GiB` binary; their case doesn't matter. Zero to 1024 GiB.
pub(super) fn size(text: &str) -> Result<u64, Wrong> {
    let (number, unit) = parted(text);
    let unit = if unit.is_empty() { "B" } else { unit };
    let unit = SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let bytes = unit.and_then(|(_, unit)| scaled(number, *unit));
    let bytes = bytes.ok_or_else(|| Wrong::NotASize { found: printable(text) })?;
    match u64::try_from(bytes) {
        Ok(bytes) if bytes <= LARGEST => Ok(bytes),
        Ok(_) | Err(_) => Err(Wrong::LargeSize { found: printable(text) }),
    }
}

/// Writes a size so that [`size`] reads the same from it.
pub(super) fn size_text(bytes: u64) -> String {
    match SIZES.iter().find(|(_, unit)| bytes > 0 && u128::from(bytes) % unit == 0) {
        Some((name, unit)) => format!("{}{name}", u128::from(bytes) / unit),
        None => "0".to_owned(),
    }
}

/// Reads a whole number of at least 1.
pub(super) fn count(text: &str) -> Result<usize, Wrong> {
    let count = text.trim_ascii().parse().map(NonZeroUsize::get);
    count.map_err(|_| Wrong::NotACount { found: printable(text) })
}

/// Reads what turns something on or off; case doesn't matter.
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

/// A number and its unit, without the blanks around and between them.
fn parted(text: &str) -> (&str, &str) {
    let text = text.trim_ascii();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_ascii_start())
}

/// `number` times `unit`, exactly: `None` where it is no number of the form `1` or `1.5` with at most nine decimals,
/// or makes no whole result. What is too large saturates, so that the callers' limits catch it.
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 9 {
        return None;
    }
    // Only digits are left, so the one way to fail is to overflow.
    let whole = whole.parse::<u128>().unwrap_or(u128::MAX);
    let one = 10_u128.pow(u32::try_from(decimals.len()).ok()?);
    let part = decimals.parse::<u128>().ok()?.checked_mul(unit)?;
    (part % one == 0).then(|| whole.saturating_mul(unit).saturating_add(part / one))
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
            let written = Duration::from_nanos(number * u64::try_from(TIMES[unit].1).unwrap());
            prop_assert_eq!(duration(&duration_text(written)), Ok(written));
        }

        #[test]
        fn a_size_is_read_back(bytes in prop_oneof![0..=LARGEST, (0..=1024_u64).prop_map(|n| n << 20)]) {
            prop_assert_eq!(size(&size_text(bytes)), Ok(bytes));
        }
    }
}
