//! The operator's directories, by which the paths of calls are measured. A client's roots only narrow.

use std::path::Path;

use super::Protected;
use super::region::Region;
use crate::files::Ancestry;
use crate::policy::Directories;
use crate::policy::opened::Opened;

impl Directories {
    /// The regions that the paths of a call must lie in, in each of them: the operator's roots and the workspace, as far as
    /// there are any; else [`Self::own`]. If a directory can't be used, nothing is known to lie in its region.
    pub(crate) fn regions(&self) -> Vec<Region> {
        let mut regions = Vec::new();
        if self.roots.is_some() {
            regions.push(match self.usable_roots() {
                Ok(roots) => Region::of(roots.into_iter().flatten().map(Some)),
                Err(_) => Region::of([None]),
            });
        }
        if let Some(workspace) = &self.workspace {
            regions.push(Region::of([workspace.held()]));
        }
        if regions.is_empty() {
            regions.push(Region::of(self.own().map(Opened::held)));
        }
        regions
    }

    /// The region that a client's roots narrow these to; `None` if no root counts.
    pub(crate) fn region_of_client(&self) -> Option<Region> {
        (!self.client.is_empty()).then(|| Region::of(self.client.iter().map(Some)))
    }

    /// Returns the region of paths that are relative to the operator's project, as in `under`.
    pub(crate) fn beneath_project(&self, paths: &[String]) -> Region {
        let own = self.own().and_then(Opened::held);
        let (absolute, relative): (Vec<_>, Vec<_>) = paths.iter().partition(|path| Path::new(path).is_absolute());
        Region::beneath(own.or(self.server.held()), absolute).and(Region::beneath(own, relative))
    }

    /// The files that no call writes, as they are now, with the links that lead to them.
    pub(crate) fn protected(&self) -> Region {
        let (files, links): (Vec<_>, Vec<_>) = self.protected.iter().filter_map(Protected::file_and_links).unzip();
        Region::beneath(self.server.held(), files).and(Region::reached(links.into_iter().flatten()))
    }

    /// Whether a path is named like files that no call writes.
    pub(crate) fn protects_name(&self, reached: &Path) -> bool {
        self.protected.iter().any(|protected| protected.is_named_like(reached))
    }

    /// Whether the operator named a directory that the paths of calls are measured by, or the client has no roots.
    pub(crate) fn measures_paths(&self) -> bool {
        self.roots.is_some() || self.workspace.is_some() || self.own().is_some()
    }

    /// Whether it is known what paths mean that are relative to the operator's project, if any of these is.
    pub(crate) fn measures(&self, paths: &[String]) -> bool {
        self.own().is_some() || paths.iter().all(|path| Path::new(path).is_absolute())
    }

    /// The operator's directory that paths are measured by if no other setting bounds them: the project, else an absolute
    /// `--cwd`, else the only directory that the operator named for calls, else, where there are several, the one that the server was
    /// started in, if it lies in them. A client's roots choose none of these, but where they make another directory the project nothing is
    /// known: then it is none. Where the operator named no directory at all, it is that of calls without a `cwd`, for clients without roots.
    pub(in crate::policy) fn own(&self) -> Option<&Opened> {
        let project = self.project.as_ref().filter(|_| self.has_operators_project());
        let is_absolute = self.settings.cwd.as_ref().is_some_and(|cwd| cwd.is_absolute());
        let named = project.or_else(|| self.cwd.as_ref().filter(|_| is_absolute));
        let has_roots = !self.client.is_empty() || !self.unbounded.is_empty();
        let is_bounded = self.roots.is_some() || self.workspace.is_some();
        named.or_else(|| match (is_bounded, has_roots) {
            (_, true) => self.only_bound().filter(|bound| self.is_project(bound)),
            (true, false) => {
                self.only_bound().or_else(|| Some(&self.server).filter(|server| self.lies_in_bounds(server)))
            }
            (false, false) => Some(self.cwd.as_ref().unwrap_or(&self.server)),
        })
    }

    /// The directories beneath which a relative path of a rule may be meant: the operator's, and the project of calls.
    pub(in crate::policy) fn bases_of_rules(&self) -> impl Iterator<Item = &Path> {
        let named = self.own().into_iter().chain(&self.workspace).chain(self.roots.iter().flatten());
        named.filter_map(Opened::held).chain(self.project_for_commands()).map(|base| base.path())
    }

    /// Whether a directory lies in one of the operator's roots, and in the workspace.
    fn lies_in_bounds(&self, directory: &Opened) -> bool {
        let Ok((roots, workspace)) = self.usable_bounds() else { return false };
        directory.held().map(|held| Ancestry::of(held)).is_some_and(|ancestry| {
            let is_in_roots = roots.is_none_or(|roots| roots.iter().any(|root| ancestry.lies_in(root)));
            is_in_roots && workspace.is_none_or(|workspace| ancestry.lies_in(workspace))
        })
    }

    /// The only `--cwd-root`, or the workspace if there is no `--cwd-root`.
    fn only_bound(&self) -> Option<&Opened> {
        match self.roots.as_deref() {
            Some([root]) => Some(root),
            Some(_) => None,
            None => self.workspace.as_ref(),
        }
    }

    fn is_project(&self, directory: &Opened) -> bool {
        let identity = |opened: &Opened| opened.held().map(|held| held.identity().clone());
        self.project.as_ref().and_then(identity).is_some_and(|project| identity(directory) == Some(project))
    }
}
