//! Problems of the operator's directories, which are told before the first call.

use std::sync::Arc;

use super::{Directories, usable};
use crate::files::{Ancestry, Held};
use crate::policy::directory_error::{DirectoryError, PROJECT, ROOTS, WORKSPACE};
use crate::policy::opened::Opened;

impl Directories {
    /// Returns the errors of the operator's directories: calls would be refused with them.
    pub fn problems(&self) -> Vec<DirectoryError> {
        let roots = self.usable_roots().err();
        let workspace = self.workspace.as_ref().and_then(|workspace| usable(workspace, WORKSPACE).err());
        roots.into_iter().chain(workspace).chain(self.resolve(None).err()).collect()
    }

    /// Contradictions between the operator's directories, each of which is fine by itself; one sentence each.
    pub(crate) fn contradictions(&self) -> Vec<String> {
        let Some(workspace) = self.workspace.as_ref().and_then(Opened::held) else { return Vec::new() };
        let mut contradictions = Vec::new();
        let lies_in = |inner: &Held, outer: &Held| Ancestry::of(inner).lies_in(outer);
        let meets = |root: &&Arc<Held>| lies_in(root, workspace) || lies_in(workspace, root);
        let roots = self.usable_roots().ok().flatten();
        if roots.is_some_and(|roots| !roots.iter().any(meets)) {
            contradictions.push(format!(
                "no directory of {ROOTS} has anything in common with `{}` of {WORKSPACE}, so every `cwd` is refused",
                workspace.path().display()
            ));
        }
        for (setting, directory) in [(PROJECT, &self.project), ("`--cwd`", &self.cwd)] {
            let held = directory.as_ref().and_then(Opened::held);
            if let Some(outside) = held.filter(|directory| !lies_in(directory, workspace)) {
                contradictions.push(format!(
                    "`{}` of {setting} lies outside `{}` of {WORKSPACE}, which no `cwd` may leave",
                    outside.path().display(),
                    workspace.path().display()
                ));
            }
        }
        contradictions
    }
}
