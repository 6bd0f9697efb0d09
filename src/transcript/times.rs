//! Times in texts: two texts that differ only in them are taken for the same.

use serde_json::Value;

/// Treats texts as equal that differ only in their times.
pub(super) fn same_times(wanted: &Value, came: &mut Value) {
    match (wanted, came) {
        (Value::Object(wanted), Value::Object(came)) => {
            for (name, value) in came {
                wanted.get(name).into_iter().for_each(|wanted| same_times(wanted, value));
            }
        }
        (Value::Array(wanted), Value::Array(came)) => {
            wanted.iter().zip(came).for_each(|(wanted, came)| same_times(wanted, came));
        }
        (Value::String(wanted), Value::String(came))
            if wanted != came && without_times(wanted) == without_times(came) =>
        {
            wanted.clone_into(came);
        }
        (_, _) => {}
    }
}

/// The text with `[time]` for each time in RFC 3339 form, with or without seconds and zone.
fn without_times(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let within_number = shown.ends_with(|c: char| c.is_ascii_digit());
        match time_at(rest).filter(|_| !within_number) {
            Some(length) => {
                shown.push_str("[time]");
                rest = rest.get(length..).unwrap_or_default();
            }
            None => {
                shown.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
            }
        }
    }
    shown
}

/// The length of the time at the beginning of a text: a date, `T` or a blank, hours and minutes, and what may follow.
fn time_at(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let fits = |from: usize, form: &[u8]| {
        let part = bytes.get(from..from + form.len())?;
        let fit = |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
        part.iter().zip(form).all(fit).then_some(from + form.len())
    };
    let mut end = fits(0, b"0000-00-00T00:00").or_else(|| fits(0, b"0000-00-00 00:00"))?;
    if let Some(seconds) = fits(end, b":00") {
        end = seconds;
        if let Some(digits) = bytes.get(end + 1..).filter(|_| matches!(bytes.get(end), Some(b'.' | b','))) {
            let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
            end += if count == 0 { 0 } else { count + 1 };
        }
    }
    let zone = fits(end, b"Z").or_else(|| fits(end, b"+00:00")).or_else(|| fits(end, b"-00:00"));
    Some(zone.unwrap_or(end))
}
