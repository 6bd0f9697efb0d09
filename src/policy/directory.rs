//! Where a command runs: a `cwd` becomes a directory that was checked and is held open until it is used.
//!
//! The operator's directories are opened once, and a client's roots when they are compared with them. Whether one directory
//! lies in another is decided by these handles and not by paths, so later renames and links don't move a bound.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use super::base::Base;
use super::client_roots::{Bound, Bounds};
use super::directory_error::{DirectoryError, PROJECT, ROOTS, WORKSPACE};
use super::opened::{NotOpened, Opened};
use super::{ClientRoots, DirectorySettings, Protected, Roots, WorkingDirectory};
use crate::files::{Ancestry, Held, NotReached, Reached, Steps};

/// The most parts that the paths of one call may have together, with those of the links that they lead through.
pub(crate) const MOST_STEPS: usize = 16_384;

/// Where the project directory comes from if the operator named none.
pub(super) const FIRST_ROOT: &str = "the client's first root";

/// The operator's directories and the client's roots. Resolves the `cwd` of calls.
#[derive(Debug, Clone)]
pub struct Directories {
    pub(super) settings: Arc<DirectorySettings>,
    pub(super) server: Opened,
    pub(super) cwd: Option<Opened>,
    pub(super) roots: Option<Vec<Opened>>,
    pub(super) workspace: Option<Opened>,
    pub(super) project: Option<Opened>,
    /// Where the project directory comes from, for messages.
    project_setting: &'static str,
    /// The client's roots, cut to the operator's bounds; empty if it has none.
    pub(super) client: Vec<Arc<Held>>,
    /// The client's roots that do not count, because the operator named no directory that they could lie in.
    pub(super) unbounded: Vec<Arc<Held>>,
    /// Files that no call writes, whatever a rule says; found when a call is first about to write.
    pub(super) protected: Arc<LazyLock<Vec<Protected>, Finds>>,
}

/// Finds the files that no call writes.
type Finds = Box<dyn FnOnce() -> Vec<Protected> + Send>;

/// The roots and the workspace, as far as the operator set them.
type UsableBounds<'a> = (Option<Vec<&'a Arc<Held>>>, Option<&'a Arc<Held>>);

impl Directories {
    /// Opens the operator's directories. If one can't be opened, calls that need it are refused.
    pub fn new(settings: DirectorySettings) -> Self {
        let server = Opened::new(settings.server.clone());
        let writable = settings.writable_by_commands();
        let open = |path: &PathBuf| Opened::past(settings.server.join(path), &writable);
        let project = settings.project.as_ref().map(open);
        let roots = match &settings.roots {
            Roots::Unrestricted => None,
            Roots::Within(roots) => Some(roots.iter().map(open).collect()),
        };
        let workspace = settings.workspace.as_ref().map(open);
        let cwd = settings.cwd.as_ref().map(|cwd| match &project {
            Some(project) if !cwd.is_absolute() => Opened::within(project, cwd, PROJECT),
            Some(_) | None => open(cwd),
        });
        let settings = Arc::new(settings);
        let (client, unbounded) = (Vec::new(), Vec::new());
        Self {
            settings,
            server,
            cwd,
            roots,
            workspace,
            project,
            project_setting: PROJECT,
            client,
            unbounded,
            protected: Arc::new(LazyLock::new(Box::new(Vec::new))),
        }
    }

    /// Names files that no call writes, whatever a rule says: those of the settings, and allowed programs.
    #[must_use]
    pub(crate) fn protecting(self, find: impl FnOnce() -> Vec<Protected> + Send + 'static) -> Self {
        Self { protected: Arc::new(LazyLock::new(Box::new(find))), ..self }
    }

    /// Narrows them to a client's roots. If the operator named no project directory, the first root becomes it.
    ///
    /// In a sandbox roots grant access, so they count only inside the operator's directories, and not at all if there are
    /// none.
    pub fn with_client_roots(&self, uris: &[String]) -> (Self, ClientRoots) {
        self.with_client_roots_after(uris, &[])
    }

    /// The same, but reuses the handles in `before`.
    pub(crate) fn with_client_roots_after(&self, uris: &[String], before: &[Arc<Held>]) -> (Self, ClientRoots) {
        let roots = ClientRoots::new(uris, &self.bounds(), before);
        let mut narrowed =
            Self { client: roots.directories.clone(), unbounded: roots.unbounded.clone(), ..self.clone() };
        if let (None, Some(first)) = (&self.project, roots.directories.first()) {
            let project = Opened::of(Arc::clone(first));
            if let Some(cwd) = self.settings.cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
                narrowed.cwd = Some(Opened::within(&project, cwd, FIRST_ROOT));
            }
            (narrowed.project, narrowed.project_setting) = (Some(project), FIRST_ROOT);
        }
        (narrowed, roots)
    }

    /// Returns the bounds that a client's roots must lie in.
    fn bounds(&self) -> Bounds {
        let mut bounds = Vec::new();
        if self.roots.is_some() {
            // If the roots can't be used, no directory is allowed.
            bounds.push(Bound::new(ROOTS, self.usable_roots().ok().flatten().unwrap_or_default()));
        }
        if let Some(workspace) = &self.workspace {
            bounds.push(Bound::new(WORKSPACE, workspace.held()));
        }
        if let (true, true, Some(project)) = (bounds.is_empty(), self.settings.is_confined, &self.project) {
            bounds.push(Bound::new(PROJECT, project.held()));
        }
        match bounds.is_empty() {
            false => Bounds::Within(bounds),
            true if self.settings.is_confined => Bounds::Missing,
            true => Bounds::Free,
        }
    }

    /// Whether the operator named a directory inside which a client's roots can grant something: access in a sandbox, or
    /// the commands of a project.
    fn bounds_clients_roots(&self) -> bool {
        let DirectorySettings { project, workspace, roots, .. } = &*self.settings;
        project.is_some() || workspace.is_some() || *roots != Roots::Unrestricted
    }

    /// Whether a client's roots could grant something, but don't because the operator named no directory around them.
    pub fn withholds_from_clients_roots(&self) -> bool {
        (self.settings.is_confined || self.settings.project_commands) && !self.bounds_clients_roots()
    }

    /// Whether the operator named the project directory.
    pub fn has_operators_project(&self) -> bool {
        self.settings.project.is_some()
    }

    /// The client's roots that count; empty if it has none.
    pub fn client_roots(&self) -> &[Arc<Held>] {
        &self.client
    }

    /// All handles that are held for the client.
    pub(crate) fn held_for_client(&self) -> impl Iterator<Item = &Arc<Held>> {
        self.client.iter().chain(&self.unbounded)
    }

    /// Where calls without a `cwd` run.
    pub fn base(&self) -> Base {
        match (&self.cwd, &self.project) {
            (Some(cwd), _) => Base::new(cwd, "`--cwd`"),
            (None, Some(project)) => Base::new(project, self.project_setting),
            (None, None) => Base::new(&self.server, "the server's start"),
        }
    }

    /// Whether commands of the project are allowed, whatever the project directory is.
    pub fn allow_project_commands(&self) -> bool {
        self.settings.project_commands
    }

    /// The project directory, if its commands are allowed. A client's project counts only inside the operator's directories.
    pub fn project_for_commands(&self) -> Option<&Arc<Held>> {
        let counts = self.settings.project_commands && self.bounds_clients_roots();
        self.project.as_ref().filter(|_| counts)?.held()
    }

    /// Why a command of the client's project is not allowed, if the reason is that the operator named no directory around it.
    pub(super) fn withheld(&self, word: &str) -> Option<DirectoryError> {
        let has_roots = !self.client.is_empty() || !self.unbounded.is_empty();
        let is_withheld = self.settings.project_commands && has_roots && !self.bounds_clients_roots();
        let in_project = Path::new(word).is_relative() && word.contains(['/', std::path::MAIN_SEPARATOR]);
        (is_withheld && in_project).then(|| DirectoryError::ProjectUnbounded { word: word.to_owned() })
    }

    /// The directories that a sandbox lets commands read and write: the workspace, the project, the operator's roots and the
    /// client's, as far as they could be opened.
    pub fn granted(&self) -> Vec<Arc<Held>> {
        let own = self.workspace.iter().chain(&self.project).chain(self.roots.iter().flatten());
        own.filter_map(Opened::held).chain(&self.client).cloned().collect()
    }

    /// Turns the `cwd` of a call into a directory to run in.
    ///
    /// Without a `cwd` it is [`Self::base`], which is not checked, because the operator chose it. A relative `cwd` is
    /// relative to that base. The directory is opened first; then the directories around it are compared with the roots, by
    /// identity.
    ///
    /// # Errors
    /// [`DirectoryError`].
    pub fn resolve(&self, cwd: Option<&str>) -> Result<WorkingDirectory, DirectoryError> {
        let Some(cwd) = cwd else { return self.open_base() };
        if cwd.is_empty() {
            return Err(DirectoryError::Empty { base: self.base().path });
        }
        let cwd = cwd.to_owned();
        if cwd.contains('\0') {
            return Err(DirectoryError::Nul { cwd });
        }
        // A mistake in the configuration is reported first, whatever the `cwd` is.
        self.usable_bounds()?;
        let start = if Path::new(&cwd).is_absolute() { None } else { Some(self.open_base()?) };
        self.open(&cwd, start)
    }

    /// Turns a path in a line, such as that of `cd`, into a directory to run in. A relative one starts at `from`, by its handle; the
    /// bounds are those of a `cwd`.
    ///
    /// # Errors
    /// [`DirectoryError`].
    pub(super) fn resolve_from(&self, from: &WorkingDirectory, path: &str) -> Result<WorkingDirectory, DirectoryError> {
        self.usable_bounds()?;
        self.open(path, Some(from.clone()).filter(|_| Path::new(path).is_relative()))
    }

    /// Whether a `cwd` may not name this directory.
    pub(crate) fn is_outside(&self, directory: &Held) -> bool {
        self.is_bounded() && self.usable_bounds().is_ok() && self.check("", Some(&Ancestry::of(directory))).is_err()
    }

    /// Whether it is the directory of calls without a `cwd`.
    pub(crate) fn is_base(&self, directory: &Held) -> bool {
        self.base().opened().held().is_some_and(|base| base.identity() == directory.identity())
    }

    /// Checks that calls without a `cwd` are not meant to run in a root of the client that does not count.
    ///
    /// # Errors
    /// [`DirectoryError::RootsUnbounded`].
    pub(crate) fn check_client_roots(&self) -> Result<(), DirectoryError> {
        // If the operator named a directory, calls run there, whatever the client's roots are.
        let is_operators = self.settings.cwd.as_ref().is_some_and(|cwd| cwd.is_absolute()) || self.project.is_some();
        match self.unbounded.first() {
            Some(root) if !is_operators => Err(DirectoryError::RootsUnbounded { root: root.path().to_owned() }),
            Some(_) | None => Ok(()),
        }
    }

    /// Compares a directory with the bounds, by what lies around it; `None` for one that is not known, which lies in no bound.
    fn check(&self, cwd: &str, ancestry: Option<&Ancestry>) -> Result<(), DirectoryError> {
        let (roots, workspace) = self.usable_bounds()?;
        let lies_in = |outer: &Held| ancestry.is_some_and(|ancestry| ancestry.lies_in(outer));
        if let Some(root) = self.unbounded.iter().find(|root| lies_in(root)) {
            return Err(DirectoryError::RootsUnbounded { root: root.path().to_owned() });
        }
        for roots in [Some(self.client.iter().collect()).filter(|client: &Vec<_>| !client.is_empty()), roots] {
            let Some(roots) = roots.filter(|roots| !roots.iter().any(|root| lies_in(root))) else { continue };
            let roots = roots.into_iter().map(|root| root.path().to_owned()).collect();
            return Err(DirectoryError::OutsideRoots { cwd: cwd.to_owned(), roots });
        }
        if let Some(workspace) = workspace.filter(|workspace| !lies_in(workspace)) {
            let workspace = workspace.path().to_owned();
            return Err(DirectoryError::OutsideWorkspace { cwd: cwd.to_owned(), workspace });
        }
        Ok(())
    }

    /// Whether a `cwd` must lie somewhere.
    fn is_bounded(&self) -> bool {
        self.roots.is_some() || self.workspace.is_some() || !self.client.is_empty() || !self.unbounded.is_empty()
    }

    fn open_base(&self) -> Result<WorkingDirectory, DirectoryError> {
        self.check_client_roots()?;
        let base = self.base();
        if let Err(NotOpened::Outside { path, project, setting }) = base.opened().get() {
            let (path, project) = (path.clone(), project.clone());
            return Err(DirectoryError::BaseOutside { path, project, project_setting: setting });
        }
        base.open().map_err(|source| DirectoryError::BaseUnusable { setting: base.setting, path: base.path, source })
    }

    /// Opens the directory that a `cwd` leads to from `start`, and checks that it may be named.
    fn open(&self, cwd: &str, start: Option<WorkingDirectory>) -> Result<WorkingDirectory, DirectoryError> {
        let path = Path::new(cwd);
        let opened = match &start {
            None => Held::open_directory(path),
            Some(base) => base.held().open_directory_from(path),
        };
        if self.is_bounded() {
            let is_literal = |held: &Held| {
                let from = start.as_ref().map_or(Path::new("/"), |start| start.path());
                Reached::is_literal(from, path, held.path())
            };
            if !opened.as_ref().is_ok_and(is_literal) && !self.is_way_allowed(start.as_ref(), path) {
                self.check(cwd, None)?;
            }
            if let Ok(directory) = &opened {
                self.check(cwd, Some(&Ancestry::of(directory)))?;
            }
        }
        opened.and_then(WorkingDirectory::new).map_err(|source| {
            // A client must learn nothing about what lies outside, not even whether it exists.
            let hidden = self.is_bounded().then(|| self.check(cwd, self.nearest(start.as_ref(), path).as_ref()).err());
            hidden.flatten().unwrap_or_else(|| match source.kind() {
                io::ErrorKind::NotFound => {
                    DirectoryError::NotFound { cwd: cwd.to_owned(), path: self.base().path.join(cwd) }
                }
                io::ErrorKind::NotADirectory => DirectoryError::NotADirectory { cwd: cwd.to_owned() },
                _ => DirectoryError::Unusable { cwd: cwd.to_owned(), source },
            })
        })
    }

    /// Whether a path enters no special file system, and leaves no directory by `..` that a `cwd` may not name: otherwise what it leads to
    /// would tell whether such a directory exists.
    fn is_way_allowed(&self, start: Option<&WorkingDirectory>, path: &Path) -> bool {
        let root = || Held::open_directory(Path::new("/")).ok().map(Arc::new);
        let Some(start) = start.map_or_else(root, |start| Some(Arc::clone(start.held()))) else { return true };
        let mut steps = Steps::new(MOST_STEPS);
        let Ok(left) = Reached::left_again(&start, path, &mut steps) else { return false };
        let is_outside = |directory: &Arc<Held>| self.check("", Some(&Ancestry::of(directory))).is_err();
        !left.iter().any(is_outside)
            && !matches!(Reached::from(&start, path, &mut steps), Err(NotReached::Special | NotReached::TooLong))
    }

    /// Returns the ancestry of the last directory that can be reached on the way to a path; `None` if it is not known.
    fn nearest(&self, start: Option<&WorkingDirectory>, path: &Path) -> Option<Ancestry> {
        let root = || Held::open_directory(Path::new("/")).ok().map(Arc::new);
        let start = start.map_or_else(root, |start| Some(Arc::clone(start.held())))?;
        let directory = match Reached::from(&start, path, &mut Steps::new(MOST_STEPS)) {
            Ok(Reached::There { held, is_directory: true, .. }) => held,
            Ok(Reached::There { directory, .. } | Reached::Missing { directory, .. }) => directory,
            Err(NotReached::Failed { directory, .. }) => directory,
            Err(NotReached::Special | NotReached::TooLong) => return None,
        };
        Some(Ancestry::of(&directory))
    }

    /// The roots and the workspace; `None` if the operator set none.
    pub(super) fn usable_bounds(&self) -> Result<UsableBounds<'_>, DirectoryError> {
        let roots = self.usable_roots()?;
        let workspace = self.workspace.as_ref().map(|workspace| usable(workspace, WORKSPACE)).transpose()?;
        Ok((roots, workspace))
    }

    /// The roots; `None` if the operator set none.
    pub(super) fn usable_roots(&self) -> Result<Option<Vec<&Arc<Held>>>, DirectoryError> {
        let Some(roots) = &self.roots else { return Ok(None) };
        if roots.is_empty() {
            return Err(DirectoryError::NoRoots);
        }
        roots.iter().map(|root| usable(root, ROOTS)).collect::<Result<_, _>>().map(Some)
    }
}

fn usable<'a>(directory: &'a Opened, setting: &'static str) -> Result<&'a Arc<Held>, DirectoryError> {
    directory.get().map_err(|error| {
        let said = error.to_io();
        // For an error of the system the kind says enough; our own errors keep their text.
        let source = if said.raw_os_error().is_some() { io::Error::from(said.kind()) } else { said };
        DirectoryError::Unresolvable { setting, path: directory.given.clone(), source }
    })
}

mod contradictions;
#[cfg(test)]
#[cfg(unix)]
mod tests;
