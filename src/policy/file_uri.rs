//! Turns a `file://` URI into a path, by RFC 8089 and RFC 3986.

use std::path::PathBuf;

use thiserror::Error;

/// Why a URI is not the path of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FileUriError {
    /// It has another scheme, or no `//`.
    #[error("it does not begin with `file://`")]
    NotFile,
    /// It names another machine.
    #[error("it names another machine; expected `file:///...` or `file://localhost/...`")]
    Host,
    /// It has no path, or a relative one.
    #[error("it has no absolute path")]
    NoPath,
    /// It has a query or a fragment.
    #[error("it has a query or a fragment; `?` and `#` in a path are written `%3F` and `%23`")]
    Query,
    /// It holds a character that has to be percent-encoded.
    #[error("it holds a character that has to be percent-encoded")]
    Character,
    /// A percent sign is not followed by two hexadecimal digits.
    #[error("it holds a `%` without two hexadecimal digits after it")]
    Escape,
    /// It encodes a separator or a NUL, which no name can hold.
    #[error("it encodes a character that no file name can hold")]
    Encoded,
}

/// Reads a `file://` URI.
///
/// The host is empty or `localhost`; on Windows another one makes a path of the form `\\host\share`. Names are
/// percent-decoded, printable characters that no URI holds are taken as they are, and an encoded separator or NUL is refused. The file system is not asked, and `.` and `..` are kept.
///
/// # Errors
/// [`FileUriError`] for anything else.
pub fn parse_file_uri(uri: &str) -> Result<PathBuf, FileUriError> {
    let (host, segments) = split(uri)?;
    to_path(host, &segments)
}

/// The host, and the decoded names of the path.
fn split(uri: &str) -> Result<(&str, Vec<Vec<u8>>), FileUriError> {
    let rest = uri.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("file://"));
    let rest = rest.and(uri.get(7..)).ok_or(FileUriError::NotFile)?;
    if rest.contains(['?', '#']) {
        return Err(FileUriError::Query);
    }
    let (host, path) = rest.split_at(rest.find('/').ok_or(FileUriError::NoPath)?);
    let segments = path.split('/').skip(1).map(decode).collect::<Result<Vec<_>, _>>()?;
    Ok((if host.eq_ignore_ascii_case("localhost") { "" } else { host }, segments))
}

fn decode(segment: &str) -> Result<Vec<u8>, FileUriError> {
    let mut decoded = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        let digit = |byte: Option<u8>| {
            let digit = byte.and_then(|byte| char::from(byte).to_digit(16)).ok_or(FileUriError::Escape)?;
            u8::try_from(digit).map_err(|_| FileUriError::Escape)
        };
        let byte = match byte {
            b'%' => {
                let byte = digit(bytes.next())? << 4 | digit(bytes.next())?;
                if matches!(byte, 0 | b'/') || cfg!(windows) && byte == b'\\' {
                    return Err(FileUriError::Encoded);
                }
                byte
            }
            b'\\' | 0..b' ' | 0x7f => return Err(FileUriError::Character),
            // Many clients put `file://` in front of a path as it is, so blanks and the like are taken although no URI holds them.
            byte => byte,
        };
        decoded.push(byte);
    }
    Ok(decoded)
}

#[cfg(unix)]
fn to_path(host: &str, segments: &[Vec<u8>]) -> Result<PathBuf, FileUriError> {
    use std::os::unix::ffi::OsStringExt;
    if !host.is_empty() {
        return Err(FileUriError::Host);
    }
    let mut path = vec![b'/'];
    path.extend(segments.join(&b'/'));
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path)))
}

#[cfg(windows)]
fn to_path(host: &str, segments: &[Vec<u8>]) -> Result<PathBuf, FileUriError> {
    windows_path(host, segments).map(PathBuf::from)
}

/// The path on Windows: a drive (`/C:/x`, `/c|/x`), or a share of a host.
#[cfg(any(windows, test))]
fn windows_path(host: &str, segments: &[Vec<u8>]) -> Result<String, FileUriError> {
    let text = |segment: &Vec<u8>| String::from_utf8(segment.clone()).map_err(|_| FileUriError::Encoded);
    let segments = segments.iter().map(text).collect::<Result<Vec<String>, _>>()?;
    if !host.is_empty() {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let has_share = segments.first().is_some_and(|share| !share.is_empty());
        if !host.chars().all(is_name) {
            return Err(FileUriError::Host);
        }
        return if has_share { Ok(format!(r"\\{host}\{}", segments.join(r"\"))) } else { Err(FileUriError::NoPath) };
    }
    let (drive, rest) = segments.split_first().ok_or(FileUriError::NoPath)?;
    match drive.as_bytes() {
        [letter, b':' | b'|'] if letter.is_ascii_alphabetic() => {
            Ok(format!(r"{}:\{}", char::from(*letter), rest.join(r"\")))
        }
        _ => Err(FileUriError::NoPath),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_uri_is_read_by_the_rules() {
        let check = |uri: &str, expected: Result<&str, FileUriError>| {
            assert_eq!(parse_file_uri(uri), expected.map(PathBuf::from), "{uri:?}");
        };
        check("file:///home/x", Ok("/home/x"));
        check("FILE://LocalHost/home/x/", Ok("/home/x/"));
        check("file:///a%20b/%C3%A9%25", Ok("/a b/é%"));
        check("file:///é", Ok("/é"));
        check("file:///", Ok("/"));
        check("file:///a/../b", Ok("/a/../b"));
        check("file:///c%3A/x", Ok("/c:/x"));
        for uri in ["", "/home/x", "file:/home/x", "http://x/y", "file", "é", "filé:///x", " file:///x"] {
            check(uri, Err(FileUriError::NotFile));
        }
        for uri in ["file://example.org/x", "file://127.0.0.1/x", "file://user@localhost/x", "file://localhost:80/x"] {
            check(uri, Err(FileUriError::Host));
        }
        for uri in ["file://", "file://localhost"] {
            check(uri, Err(FileUriError::NoPath));
        }
        for uri in ["file:///a?b", "file:///a#b"] {
            check(uri, Err(FileUriError::Query));
        }
        check("file:///a b/[x] {y}", Ok("/a b/[x] {y}"));
        for uri in ["file:///a\\b", "file:///a\nb", "file:///\0"] {
            check(uri, Err(FileUriError::Character));
        }
        for uri in ["file:///%", "file:///%2", "file:///%zz", "file:///%+1", "file:///%é"] {
            check(uri, Err(FileUriError::Escape));
        }
        for uri in ["file:///a%2Fb", "file:///a%00b"] {
            check(uri, Err(FileUriError::Encoded));
        }
    }

    #[test]
    fn drives_and_shares_are_those_of_windows() {
        let check = |uri: &str, expected: Result<&str, FileUriError>| {
            let path = split(uri).and_then(|(host, segments)| windows_path(host, &segments));
            assert_eq!(path, expected.map(str::to_owned), "{uri:?}");
        };
        check("file:///C:/a/b%20c", Ok(r"C:\a\b c"));
        check("file:///c%3A/a", Ok(r"c:\a"));
        check("file:///c|/a", Ok(r"c:\a"));
        check("file:///C:", Ok(r"C:\"));
        check("file://server/share/x", Ok(r"\\server\share\x"));
        check("file://server/", Err(FileUriError::NoPath));
        check("file://a@b/share", Err(FileUriError::Host));
        for uri in ["file:///", "file:///home/x", "file:///1:/x", "file:///C:x"] {
            check(uri, Err(FileUriError::NoPath));
        }
        check("file:///C:/%ff", Err(FileUriError::Encoded));
    }
}
