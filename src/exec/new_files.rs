//! The files that a call may create although its sandbox grants only files (`paths: claimed`).
//!
//! Landlock grants only what exists. It can't grant the right to create one file in a directory: that would be the right to
//! create any file there, and to write all of them. So if a call names a file that it may write and that does not exist, the
//! file is created before the start, empty, and granted like any other. If the command does not use it, it is removed at the
//! end.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use crate::files::{Held, NewFile, Reached};
use crate::policy::rules::{Access, HeldClaim};

/// The files that were created for one call.
#[derive(Debug, Default)]
pub(super) struct NewFiles {
    files: Vec<NewFile>,
    /// The thread that removes the files that were not used. The thread that runs the command can't: it confines itself.
    remover: Option<(Sender<Vec<NewFile>>, JoinHandle<()>)>,
}

impl NewFiles {
    /// Creates the missing files that the claims of a call name. The thread must not have confined itself yet. A file that
    /// can't be created is left out; the command gets the error when it tries.
    ///
    /// # Errors
    /// The system's, if the thread that removes the files can't be started.
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

/// Waits until the files that were not used are removed, so the call is answered only after that.
impl Drop for NewFiles {
    fn drop(&mut self) {
        if let Some((over, remover)) = self.remover.take() {
            // If nobody receives them, the thread has panicked.
            let _ = over.send(std::mem::take(&mut self.files));
            drop(over);
            // A panic in the thread only leaves empty files behind.
            let _ = remover.join();
        }
    }
}
