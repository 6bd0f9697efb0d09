//! Random bytes of the system, and UUIDs made of them.

use std::io;

/// Fills the bytes.
///
/// # Errors
/// The system's error; it has one where a filter of system calls refuses to give any.
pub(crate) fn fill(bytes: &mut [u8]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::rand::{GetRandomFlags, getrandom};
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match getrandom(rest, GetRandomFlags::empty()) {
                Ok(more) => filled += more,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
    #[cfg(not(target_os = "linux"))]
    {
        getrandom::fill(bytes).map_err(io::Error::other)
    }
}

/// Makes a UUID that nobody can guess.
///
/// # Panics
/// Where the system gives no random bytes: nothing that rests on such a name would be safe.
pub(crate) fn uuid() -> String {
    let mut random = [0; 16];
    #[expect(clippy::expect_used, reason = "no caller could go on without it")]
    fill(&mut random).expect("the system gives random bytes");
    uuid_of(random)
}

/// Makes a UUID of random bytes: version 4 of RFC 9562, in lower case.
pub(crate) fn uuid_of(random: [u8; 16]) -> String {
    let version_and_variant: u128 = (0xf << 76) | (0b11 << 62);
    let bits = u128::from_be_bytes(random) & !version_and_variant | (4 << 76) | (0b10 << 62);
    let group = |shift: u32, digits: u32| (bits >> shift) & ((1 << (4 * digits)) - 1);
    let [first, second, third, fourth, last] = [group(96, 8), group(80, 4), group(64, 4), group(48, 4), group(0, 12)];
    format!("{first:08x}-{second:04x}-{third:04x}-{fourth:04x}-{last:012x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_filled() {
        let mut bytes = [0; 4096];
        fill(&mut bytes).unwrap();
        assert!(bytes.chunks(16).all(|part| part != [0; 16]));
        fill(&mut []).unwrap();
    }

    #[test]
    fn a_uuid_has_its_version_and_variant_and_the_random_bits_everywhere_else() {
        assert_eq!(uuid_of([0; 16]), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid_of([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        let counted = std::array::from_fn(|at| u8::try_from(at).unwrap() * 0x11);
        assert_eq!(uuid_of(counted), "00112233-4455-4677-8899-aabbccddeeff");
        assert_ne!(uuid(), uuid());
    }
}
