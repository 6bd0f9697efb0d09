//! Grants: a person's approval in an agent, for the one line that its hook has asked about.
//!
//! `hook` makes a grant when it asks, and `run` takes it away when it uses it: a file with a name that nobody can guess, in a
//! directory that only this user can write. It holds a digest of the line and its directory, and until when it is good. No command can
//! make one that can't write that directory: it is protected as the operator's other files are, and no sandbox grants it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::config::Surroundings;
use crate::files::{Sha256, read_regular};
use crate::random;

/// How long a person may take to approve.
const GOOD_FOR: Duration = Duration::from_secs(60 * 60);
/// The largest grant.
const LARGEST: u64 = 256;

/// Makes a grant for the line in the directory of these surroundings; returns its name.
///
/// # Errors
/// In words.
pub(in crate::cli) fn make(surroundings: &Surroundings, line: &str) -> Result<String, String> {
    let made = || -> io::Result<String> {
        let directory = directory(surroundings)?;
        forget_old(&directory);
        let name = random::uuid();
        let until = now() + GOOD_FOR.as_secs();
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(&name))?;
        write!(file, "{} {until}", digest(surroundings, line, until))?;
        Ok(name)
    };
    made().map_err(|error| format!("the approval can't be kept for `allowexec run`: {error}"))
}

/// Takes the grant of this name, which is gone from then on.
///
/// # Errors
/// In words, if it is not for this line in this directory, or not good any more.
pub(super) fn redeem(surroundings: &Surroundings, name: &str, line: &str) -> Result<(), String> {
    let is_name = name.len() == 36 && name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let taken = || -> io::Result<Vec<u8>> {
        let file = directory(surroundings)?.join(name);
        let grant = read_regular(&file, LARGEST).map_err(io::Error::other)?;
        // Whoever removes it has it; a second one finds nothing to remove.
        fs::remove_file(&file)?;
        Ok(grant)
    };
    let grant = is_name.then(taken).and_then(Result::ok).and_then(|grant| String::from_utf8(grant).ok());
    let is_good = grant.as_deref().and_then(|grant| grant.split_once(' ')).is_some_and(|(sum, until)| {
        let until = until.parse().unwrap_or_default();
        sum == digest(surroundings, line, until) && now() <= until
    });
    if is_good {
        Ok(())
    } else {
        Err("nobody has approved this line here, or its approval was used or is too old".to_owned())
    }
}

/// The digest of all that a grant is for.
fn digest(surroundings: &Surroundings, line: &str, until: u64) -> String {
    let directory = surroundings.directory.as_os_str().as_encoded_bytes();
    let lengths = format!("{} {} {until} ", line.len(), directory.len());
    Sha256::of([lengths.as_bytes(), line.as_bytes(), directory].concat()).to_string()
}

/// The directory of the grants, which only this user can write.
fn directory(surroundings: &Surroundings) -> io::Result<PathBuf> {
    let directory = surroundings.grants_directory().ok_or_else(|| io::Error::other("HOME is not set"))?;
    DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
    let found = fs::symlink_metadata(&directory)?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0;
    if is_ours { Ok(directory) } else { Err(io::Error::other(format!("others can use `{}`", directory.display()))) }
}

/// Removes what nobody has come for.
fn forget_old(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let age = entry.metadata().and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > 2 * GOOD_FOR) {
            // Another process may have removed it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(home: &Path, directory: &str) -> Surroundings {
        Surroundings { variables: [("HOME".into(), home.into())].into(), directory: directory.into() }
    }

    #[test]
    fn a_grant_is_good_once_for_its_line_in_its_directory() {
        let home = tempfile::tempdir().unwrap();
        let here = surroundings(home.path(), "/p");
        let name = make(&here, "rm x").unwrap();
        assert!(redeem(&here, &name, "rm x").is_ok());
        assert!(redeem(&here, &name, "rm x").is_err(), "a second time");
        let other_line = make(&here, "rm x").unwrap();
        assert!(redeem(&here, &other_line, "rm y").is_err());
        assert!(redeem(&here, &other_line, "rm x").is_err(), "it was taken by the other line");
        let other_directory = make(&here, "rm x").unwrap();
        assert!(redeem(&surroundings(home.path(), "/q"), &other_directory, "rm x").is_err());
        for name in ["", "../x", "00000000-0000-4000-8000-000000000000"] {
            assert!(redeem(&here, name, "rm x").is_err(), "{name}");
        }
    }

    #[test]
    fn an_old_grant_and_a_directory_of_others_are_not_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let here = surroundings(home.path(), "/p");
        let directory = directory(&here).unwrap();
        let name = random::uuid();
        let until = now() - 1;
        fs::write(directory.join(&name), format!("{} {until}", digest(&here, "ls", until))).unwrap();
        assert!(redeem(&here, &name, "ls").is_err());
        let name = make(&here, "ls").unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o770)).unwrap();
        assert!(make(&here, "ls").is_err() && redeem(&here, &name, "ls").is_err());
    }
}
