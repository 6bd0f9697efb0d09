//! SHA-256, as hexadecimal digits.

use std::fmt;
use std::io::{self, Read};

use hmac_sha256::Hash;

/// A SHA-256; shown as 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Sha256([u8; 32]);

impl Sha256 {
    /// The hash of the previous record for the first record of a chain.
    pub(crate) const ZERO: Self = Self([0; 32]);

    /// The digest of some bytes.
    pub(crate) fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Hash::hash(bytes.as_ref()))
    }

    /// Its bytes.
    pub(crate) fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// The digest of these bytes.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest of what is left of a stream.
    ///
    /// # Errors
    /// The error of reading the stream.
    pub(crate) fn of_stream(mut stream: impl Read) -> io::Result<Self> {
        let (mut sum, mut buffer) = (Summing::default(), vec![0; 64 * 1024]);
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(sum.finish()),
                // A reader reads at most what the buffer holds.
                Ok(read) => sum.add(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads 64 hexadecimal digits.
    pub(crate) fn from_hex(digits: &str) -> Option<Self> {
        let digits = digits.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *byte = value(*high)? << 4 | value(*low)?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each record of the audit log has several of these, so this avoids formatting byte by byte.
        let mut digits = String::with_capacity(64);
        for half in self.0.iter().flat_map(|byte| [byte >> 4, byte & 0xf]) {
            digits.push(char::from_digit(half.into(), 16).unwrap_or_default());
        }
        f.write_str(&digits)
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256({self})")
    }
}

/// Computes a SHA-256 piece by piece.
#[derive(Clone, Default)]
pub(crate) struct Summing(Hash);

impl Summing {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Sha256 {
        Sha256(self.0.finalize())
    }
}

impl fmt::Debug for Summing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Summing").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        // FIPS 180-2, appendix B.1, and the digest of nothing.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Sha256::of("abc").to_string(), abc);
        assert_eq!(Sha256::from_hex(abc), Some(Sha256::of("abc")));
        assert_eq!(Sha256::from_hex(&abc.to_uppercase()), Some(Sha256::of("abc")));
        assert_eq!(Sha256::of_stream(&b"abc"[..]).unwrap(), Sha256::of("abc"));
        let mut sum = Summing::default();
        ["a", "", "bc"].iter().for_each(|part| sum.add(part.as_bytes()));
        assert_eq!(sum.finish(), Sha256::of("abc"));
        assert_eq!(Sha256::of("").to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(Sha256::ZERO.to_string(), "0".repeat(64));
        for wrong in ["", "ab", &abc[1..], &format!("{abc}0"), &abc.replace('b', "g"), &"é".repeat(32)] {
            assert_eq!(Sha256::from_hex(wrong), None, "{wrong}");
        }
    }
}
