//! Points in time as text, in UTC.

use std::time::SystemTime;

/// A point in time in the format of ISO 8601 without separators, with milliseconds; for names of files.
pub(crate) fn basic(time: SystemTime) -> String {
    let ([year, month, day], [hour, minute, second], milliseconds) = parts(time);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{milliseconds:03}Z")
}

/// A point in time in the format of RFC 3339, with milliseconds.
pub(crate) fn extended(time: SystemTime) -> String {
    let ([year, month, day], [hour, minute, second], milliseconds) = parts(time);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

fn parts(time: SystemTime) -> ([u64; 3], [u64; 3], u32) {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86400, since.as_secs() % 86400);
    // Days are counted from March of a leap year's cycle, so that the leap day is the last:
    // https://howardhinnant.github.io/date_algorithms.html#civil_from_days
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    ([year, month, day], [second / 3600, second / 60 % 60, second % 60], since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_time_is_that_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (4_107_542_399, "2100-02-28T23:59:59.007Z"),
            (1_795_372_200, "2026-11-22T18:30:00.007Z"),
        ] {
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7);
            assert_eq!(extended(time), expected);
            assert_eq!(basic(time), expected.replace(['-', ':'], ""));
        }
    }
}
