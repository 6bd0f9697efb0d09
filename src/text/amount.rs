//! Durations and sizes as people write them, read and written out again.

use std::time::Duration;

/// The longest duration that can be set: a week, far from where adding it to a clock could overflow.
pub const LONGEST_DURATION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The largest size that can be set: 1024 GiB, far from where sums could overflow.
pub const LARGEST_SIZE: u64 = 1 << 40;

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

/// The durations that [`read_duration`] reads, as a regular expression of JSON Schema, which does not see whether one
/// is too long.
pub(crate) const DURATION_PATTERN: &str = r"^\s*[0-9]+(\.[0-9]{1,9})?\s*(h|m|s|ms)\s*$";
/// The sizes that [`read_size`] reads, likewise.
pub(crate) const SIZE_PATTERN: &str = r"^\s*[0-9]+(\s*[bB]?|(\.[0-9]{1,9})?\s*[kKmMgG][iI]?[bB])\s*$";

/// An amount of nothing, whatever its unit.
pub(crate) const ZERO_PATTERN: &str = r"^[\s0.]*[A-Za-z]*\s*$";

/// A time in whole milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    // This holds 500 million years.
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Why a text is not a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurationError {
    /// It is a number without a unit.
    MissingUnit,
    /// It is not a duration.
    NotOne,
    /// It is longer than [`LONGEST_DURATION`].
    TooLong,
}

/// Why a text is not a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeError {
    /// It is not a size.
    NotOne,
    /// It is larger than [`LARGEST_SIZE`].
    TooLarge,
}

/// Reads a duration: a number, decimals allowed, and one of the units `ms`, `s`, `m` and `h`; zero to a week.
///
/// # Errors
/// [`DurationError`].
pub fn read_duration(text: &str) -> Result<Duration, DurationError> {
    let (number, unit) = parted(text);
    if unit.is_empty() && scaled(number, 1_000_000_000).is_some() {
        return Err(DurationError::MissingUnit);
    }
    let unit = TIMES.iter().find(|(name, _)| *name == unit);
    let nanos = unit.and_then(|(_, unit)| scaled(number, *unit)).ok_or(DurationError::NotOne)?;
    match u64::try_from(nanos).map(Duration::from_nanos) {
        Ok(duration) if duration <= LONGEST_DURATION => Ok(duration),
        Ok(_) | Err(_) => Err(DurationError::TooLong),
    }
}

/// Writes a duration so that [`read_duration`] reads it back: in the largest unit that divides it.
pub fn duration_text(duration: Duration) -> String {
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

/// Reads a size in bytes: a number, with decimals if they make whole bytes, and a unit, `B` if there is none. `KB`,
/// `MB` and `GB` are decimal, `KiB`, `MiB` and `GiB` binary, in any case. Zero to 1024 GiB.
///
/// # Errors
/// [`SizeError`].
pub fn read_size(text: &str) -> Result<u64, SizeError> {
    let (number, unit) = parted(text);
    let unit = if unit.is_empty() { "B" } else { unit };
    let unit = SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let bytes = unit.and_then(|(_, unit)| scaled(number, *unit)).ok_or(SizeError::NotOne)?;
    match u64::try_from(bytes) {
        Ok(bytes) if bytes <= LARGEST_SIZE => Ok(bytes),
        Ok(_) | Err(_) => Err(SizeError::TooLarge),
    }
}

/// Writes a size so that [`read_size`] reads it back.
pub fn size_text(bytes: u64) -> String {
    match SIZES.iter().find(|(_, unit)| bytes > 0 && u128::from(bytes) % unit == 0) {
        Some((name, unit)) => format!("{}{name}", u128::from(bytes) / unit),
        None => "0".to_owned(),
    }
}

/// A number and its unit, without the blanks around and between them.
fn parted(text: &str) -> (&str, &str) {
    let text = text.trim_ascii();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_ascii_start())
}

/// `number` times `unit`, exactly: `None` if it is not a number of the form `1` or `1.5` with at most nine decimals, or
/// if the result is not whole. Too large values saturate, so that the limits of the callers catch them.
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 9 {
        return None;
    }
    // Only digits are left, so it can only fail by overflow.
    let whole = whole.parse::<u128>().unwrap_or(u128::MAX);
    let one = 10_u128.pow(u32::try_from(decimals.len()).ok()?);
    let part = decimals.parse::<u128>().ok()?.checked_mul(unit)?;
    (part % one == 0).then(|| whole.saturating_mul(unit).saturating_add(part / one))
}

/// A count with its noun; `one` is the noun's singular.
pub(crate) fn counted(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}
