//! The values of `PATH` that commands get. env(1) looks up the interpreters of scripts in them.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::Unclear;
use crate::files::is_executable;

/// Each value of `PATH` that some command gets; `None` if a command gets no `PATH`.
#[derive(Debug, Clone, Default)]
pub struct CommandPaths(BTreeSet<Option<OsString>>);

impl FromIterator<Option<OsString>> for CommandPaths {
    fn from_iter<T: IntoIterator<Item = Option<OsString>>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

impl CommandPaths {
    /// The files that a name may mean, one for each value. Like execvp(3), this skips files that can't be executed.
    pub(super) fn find(&self, name: &OsStr) -> Result<BTreeSet<PathBuf>, Unclear> {
        let shown = || name.to_string_lossy().into_owned();
        let mut found = BTreeSet::new();
        for value in &self.0 {
            let value = value.as_deref().ok_or_else(|| Unclear::NoPath { name: shown() })?;
            for entry in std::env::split_paths(value) {
                if !entry.is_absolute() {
                    return Err(Unclear::InDirectory { name: shown(), entry });
                }
                let place = entry.join(name);
                if is_executable(&place) {
                    found.insert(place);
                    break;
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_name_is_found_once_for_each_path_unless_the_directory_of_the_call_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        for (place, mode) in [("a", 0o644), ("b", 0o755), ("c", 0o755)] {
            fs::create_dir(base.join(place)).unwrap();
            fs::write(base.join(place).join("x"), "").unwrap();
            fs::set_permissions(base.join(place).join("x"), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir_all(base.join("d/x")).unwrap();
        let find = |values: &[Option<&str>]| {
            let value = |value: &str| value.replace('@', &base.display().to_string()).into();
            let paths: CommandPaths = values.iter().map(|path| path.map(value)).collect();
            let found = paths.find(OsStr::new("x"));
            found.map(|found| {
                found.iter().map(|file| file.strip_prefix(base).unwrap().display().to_string()).collect::<Vec<_>>()
            })
        };
        assert_eq!(find(&[Some("@/d:@/a:@/none:@/b:@/c:.")]), Ok(vec!["b/x".to_owned()]));
        assert_eq!(find(&[Some("@/c"), Some("@/b:@/c"), Some("@/a")]), Ok(vec!["b/x".to_owned(), "c/x".to_owned()]));
        assert_eq!(find(&[Some("/dev/null")]), Ok(Vec::new()));
        for value in ["", ":@/b", "@/a::@/b", "bin:@/b", "@/a:.:@/b"] {
            assert!(matches!(find(&[Some(value)]), Err(Unclear::InDirectory { .. })), "{value}");
        }
        assert_eq!(find(&[Some("@/b"), None]), Err(Unclear::NoPath { name: "x".to_owned() }));
    }
}
