//! Values that must not stand in the log: a salted digest stands in their place, so that whoever knows a value can tell
//! whether it was the one.

use std::borrow::Cow;

use crate::files::Summing;

/// A shorter value is no secret, and to replace it wherever it stands would make the log unreadable.
const SHORTEST: usize = 4;

/// What is replaced, and with what salt.
#[derive(Clone)]
pub(super) struct Secrets {
    salt: [u8; 16],
    values: Vec<String>,
}

impl Secrets {
    pub(super) fn new(salt: [u8; 16], mut values: Vec<String>) -> Self {
        values.retain(|value| value.len() >= SHORTEST);
        // What lies in another one goes with it.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { salt, values }
    }

    /// Whether there are no secret values to replace.
    pub(super) fn are_none(&self) -> bool {
        self.values.is_empty()
    }

    /// The salt, in hexadecimal digits.
    pub(super) fn salt(&self) -> String {
        self.salt.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The text with a digest wherever a secret stands; `more` are secrets of this text alone.
    pub(super) fn hide<'t>(&self, text: &'t str, more: &[String]) -> Cow<'t, str> {
        let long = |value: &&String| value.len() >= SHORTEST;
        let values: Vec<&String> = more.iter().filter(long).chain(&self.values).collect();
        let (mut hidden, mut rest) = (String::new(), text);
        // The first that stands in the rest; of two at one place the longer one.
        let first = |rest: &str| {
            let found = values.iter().filter_map(|value| Some((rest.find(value.as_str())?, *value)));
            found.min_by_key(|(at, value)| (*at, std::cmp::Reverse(value.len())))
        };
        while let Some((before, value, behind)) =
            first(rest).and_then(|(at, value)| Some((rest.get(..at)?, value, rest.get(at + value.len()..)?)))
        {
            hidden += before;
            hidden += &self.digest(value);
            rest = behind;
        }
        if hidden.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(hidden + rest) }
    }

    /// What stands in the place of a value: `sha256:` and the digest of the salt and the value.
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
        let secrets = Secrets::new([7; 16], vec!["pass".into(), "password".into(), "abc".into()]);
        let digest = |value: &str| Sha256::of([&[7; 16], value.as_bytes()].concat());
        assert_eq!(secrets.hide("--a=password", &[]), format!("--a=sha256:{}", digest("password")));
        assert_eq!(secrets.hide("sha256", &["sha256".into(), "a256".into()]), format!("sha256:{}", digest("sha256")));
        assert_eq!(secrets.hide("token pass", &["token".into()]), {
            format!("sha256:{} sha256:{}", digest("token"), digest("pass"))
        });
        assert!(matches!(secrets.hide("abc", &[]), Cow::Borrowed("abc")));
        assert_eq!(secrets.salt(), "07".repeat(16));
    }
}
