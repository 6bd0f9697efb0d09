//! Where the persistent shell stands, and where a change of the directory would lead from there.

use std::path::{Path, PathBuf};

use crate::policy::Directories;
use crate::shell::dialect::{Change, current as dialect};

/// The places that a change of the directory can be relative to.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::server) struct Stand<'a> {
    /// Where the shell stands; `None` for where it starts.
    pub here: Option<&'a Path>,
    /// Where it stood before.
    pub previous: Option<&'a Path>,
    /// The home directory that it was given.
    pub home: Option<&'a Path>,
}

impl Stand<'_> {
    /// Finds out where a change of the directory leads, and whether it may.
    pub fn target(&self, change: &Change, directories: &Directories) -> Result<PathBuf, String> {
        let base = || directories.resolve(None).map(|directory| directory.path().to_owned());
        let here = match self.here {
            Some(here) => here.to_owned(),
            None => base().map_err(|error| error.to_string())?,
        };
        let target = match change {
            Change::Show => return Ok(here),
            Change::Home => self.home.ok_or("there is no home directory; name one to change to")?.to_owned(),
            Change::Back => self.previous.ok_or("the shell has stood nowhere else yet; name a directory")?.to_owned(),
            Change::To(target) if target.is_empty() => {
                return Err("the directory to change to is empty; name an existing one".to_owned());
            }
            Change::To(target) => here.join(target),
        };
        let target = target.to_str().ok_or("the path is no UTF-8; name another directory")?;
        let stays = |why: &dyn std::fmt::Display| format!("the directory stays as it is: {why}");
        let resolved = directories.resolve(Some(target)).map_err(|error| stays(&error))?;
        let path = resolved.path();
        // The worker refuses too what the shell would read otherwise; here it is said before the shell has its turn.
        if let Some(Err(refused)) = path.to_str().map(dialect::change_to) {
            return Err(stays(&refused));
        }
        Ok(path.to_owned())
    }
}
