//! The files that a call may make although its sandbox grants files alone (`paths: claimed`).
//!
//! Landlock grants what is there. The right to make one file of a directory can't be granted: it would be the right to make
//! any, and to write all of them. So each file that a call names, may write and would have to make is made before, empty,
//! and granted like one that was there. If the command does not use it, it is removed at the end.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use crate::files::{Held, NewFile, Reached};
use crate::policy::rules::{Access, HeldClaim};

/// The files that were made for one call.
#[derive(Debug, Default)]
pub(super) struct NewFiles {
    files: Vec<NewFile>,
    /// Removes what was not used. The thread that runs the command confines itself, and could not.
    remover: Option<(Sender<Vec<NewFile>>, JoinHandle<()>)>,
}

impl NewFiles {
    /// Makes those that the claims of a call name. To be called before the thread confines itself. What can't be made is
    /// left out, and then the command learns why when it tries.
    ///
    /// # Errors
    /// If there is no thread that would remove them.
    pub(super) fn of(claims: &[HeldClaim]) -> io::Result<Self> {
        let new = |claim: &HeldClaim| match (&claim.reached, claim.access) {
            (Some(Reached::Missing { directory, names }), Access::Write) => match names.as_slice() {
                [name] => NewFile::create(directory, name).ok(),
                [] | [_, _, ..] => None,
            },
            (Some(_) | None, Access::Read | Access::Write) => None,
        };
        let files: Vec<NewFile> = claims.iter().filter_map(new).collect();
        if files.is_empty() {
            return Ok(Self::default());
        }
        let (over, is_over) = channel::<Vec<NewFile>>();
        let remove = move || is_over.into_iter().flatten().for_each(NewFile::remove_unless_used);
        match std::thread::Builder::new().name("new-files".into()).spawn(remove) {
            Ok(remover) => Ok(Self { files, remover: Some((over, remover)) }),
            Err(error) => {
                files.into_iter().for_each(NewFile::remove_unless_used);
                Err(error)
            }
        }
    }

    /// The files.
    pub(super) fn held(&self) -> impl Iterator<Item = Arc<Held>> {
        self.files.iter().map(|file| Arc::clone(file.held()))
    }
}

/// Waits until what was not used is gone: the answer to the call comes after that.
impl Drop for NewFiles {
    fn drop(&mut self) {
        if let Some((over, remover)) = self.remover.take() {
            // Where nobody receives them, it has panicked.
            let _ = over.send(std::mem::take(&mut self.files));
            drop(over);
            // A panic there leaves empty files behind and nothing else.
            let _ = remover.join();
        }
    }
}
