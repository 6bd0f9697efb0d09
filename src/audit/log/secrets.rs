//! Values that must not be in the log. They are replaced by a salted digest, so that whoever knows a value can check whether
//! it was used.

use std::borrow::Cow;

use serde_json::Value;

use crate::files::Summing;
use crate::text;

/// How many of a call's own secret values are looked for in the rest of its record, and how long they may be.
const MOST_OF_CALL: usize = 32;
const LONGEST_OF_CALL: usize = 1024;

/// The values to replace, and the salt of their digests.
pub(super) struct Secrets {
    salt: [u8; 16],
    values: text::Secrets,
}

impl Secrets {
    pub(super) fn new(salt: [u8; 16], values: Vec<String>) -> Self {
        Self { salt, values: text::Secrets::new(values) }
    }

    /// Whether there are no secret values to replace.
    pub(super) fn are_none(&self) -> bool {
        self.values.are_none()
    }

    /// The salt, in hexadecimal digits.
    pub(super) fn salt(&self) -> String {
        self.salt.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Replaces each secret in a text with a digest, however the secret is escaped there.
    pub(super) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.values.replace(text, |value| self.digest(value))
    }

    /// The same for a value that a client has sent. A number that holds a secret becomes a string.
    pub(super) fn hide_value(&self, value: &mut Value) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if let Cow::Owned(hidden) = self.hide(&text) {
            *value = Value::String(hidden);
        }
    }

    /// Replaces each of these values in a text with a digest.
    pub(super) fn hide_these<'t>(&self, text: &'t str, values: &text::Secrets) -> Cow<'t, str> {
        values.replace(text, |value| self.digest(value))
    }

    /// The secret values of a call that are looked for in the rest of its record.
    pub(super) fn of_call(values: Vec<String>) -> text::Secrets {
        let values = values.into_iter().filter(|value| value.len() <= LONGEST_OF_CALL);
        text::Secrets::new(values.take(MOST_OF_CALL))
    }

    /// Returns the replacement of a value: `sha256:` and the digest of the salt and the value.
    pub(super) fn digest(&self, value: &str) -> String {
        let mut sum = Summing::default();
        sum.add(&self.salt);
        sum.add(value.as_bytes());
        format!("sha256:{}", sum.finish())
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Sha256;

    #[test]
    fn a_secret_is_replaced_wherever_it_stands() {
        let secrets = Secrets::new([7; 16], vec!["pass".into(), "password".into(), "abc".into(), "1234".into()]);
        let digest = |value: &str| Sha256::of([&[7; 16], value.as_bytes()].concat());
        assert_eq!(secrets.hide("--a=password"), format!("--a=sha256:{}", digest("password")));
        let of_call = Secrets::of_call(vec!["sha256".into(), "x".repeat(2000)]);
        assert_eq!(secrets.hide_these("sha256", &of_call), format!("sha256:{}", digest("sha256")));
        assert!(matches!(secrets.hide("abc"), Cow::Borrowed("abc")));
        assert_eq!(secrets.salt(), "07".repeat(16));
        let hidden = |mut value: Value| {
            secrets.hide_value(&mut value);
            value
        };
        assert_eq!(hidden(51234.into()), Value::String(format!("5sha256:{}", digest("1234"))));
        assert_eq!((hidden(7.into()), hidden(Value::Null)), (7.into(), Value::Null));
    }
}
