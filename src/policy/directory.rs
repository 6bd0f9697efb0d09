//! Where a command runs: a `cwd` becomes a directory that was checked, and that is held until it is used.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::directory_error::{DirectoryError, PROJECT, ROOTS, WORKSPACE};
use super::{ClientRoots, SystemPlaces, WorkingDirectory};

/// What the operator said of directories. Relative ones are relative to `cwd`, then the project, then the server's.
#[derive(Debug, Clone, Default)]
pub struct DirectorySettings {
    /// The directory that the server was started in, absolute.
    pub server: PathBuf,
    /// Where calls run that name no `cwd`; `None`: in the project directory, else in the server's.
    pub cwd: Option<PathBuf>,
    /// What relative directories are relative to.
    pub project: Option<PathBuf>,
    /// Outside of it no client's `cwd` may lie.
    pub workspace: Option<PathBuf>,
    /// Where a client's `cwd` must lie.
    pub roots: Roots,
    /// Whether a command may be given by a path under the project directory.
    pub project_commands: bool,
    /// Whether a sandbox grants the directories of the work, those of a client among them.
    pub is_confined: bool,
    /// Where the programs and the settings of the system and its user are.
    pub system: Arc<SystemPlaces>,
}

/// Where the `cwd` of a call must lie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Roots {
    /// Anywhere.
    #[default]
    Unrestricted,
    /// In one of these directories; an empty list refuses every `cwd`.
    Within(Vec<PathBuf>),
}

/// Where calls run that name no `cwd`, and what relative ones are relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// The directory as configured, absolute, links not resolved.
    pub path: PathBuf,
    /// The setting it comes from, for messages.
    pub setting: &'static str,
}

/// Resolves the `cwd` of calls, and says why not.
#[derive(Debug, Clone)]
pub struct Directories {
    /// As the operator gave them.
    given: DirectorySettings,
    settings: DirectorySettings,
    /// The canonical directory of each root, resolved once, at the start: a root that is linked anew later does not move.
    roots: Option<Vec<Resolved>>,
    workspace: Option<Resolved>,
    project: Option<Resolved>,
    /// The client's, cut to the operator's bounds; empty where it has none.
    client: Vec<PathBuf>,
    /// Where the project directory comes from, for messages.
    project_setting: &'static str,
}

#[derive(Debug, Clone)]
struct Resolved {
    given: PathBuf,
    canonical: Result<PathBuf, io::ErrorKind>,
}

impl Resolved {
    fn new(given: PathBuf) -> Self {
        let canonical = dunce::canonicalize(&given)
            .and_then(|path| if path.is_dir() { Ok(path) } else { Err(io::ErrorKind::NotADirectory.into()) });
        Self { given, canonical: canonical.map_err(|error| error.kind()) }
    }

    fn canonical(&self, setting: &'static str) -> Result<&Path, DirectoryError> {
        self.canonical.as_deref().map_err(|&kind| DirectoryError::Unresolvable {
            setting,
            path: self.given.clone(),
            source: kind.into(),
        })
    }
}

impl Directories {
    /// Resolves the operator's directories. One that can't be resolved is no error yet: it refuses calls.
    pub fn new(settings: DirectorySettings) -> Self {
        Self::of(settings, Vec::new(), PROJECT)
    }

    /// The same, narrowed to a client's roots, of which the first is the project directory where the operator named none.
    ///
    /// Where a root grants something (in a sandbox, or a command of the project's), it grants nothing beyond the operator's
    /// directories; where there are none, nothing of the system's.
    pub fn with_client_roots(&self, uris: &[String]) -> (Self, ClientRoots) {
        let mut bounds = Vec::new();
        if self.roots.is_some() {
            // Roots that can't be used allow no directory at all.
            bounds.push((ROOTS, self.canonical_roots().ok().flatten().unwrap_or_default()));
        }
        if let Some(workspace) = &self.workspace {
            bounds.push((WORKSPACE, workspace.canonical.as_deref().into_iter().collect()));
        }
        if let (true, true, Some(project)) = (bounds.is_empty(), self.given.is_confined, &self.project) {
            bounds.push((PROJECT, project.canonical.as_deref().into_iter().collect()));
        }
        let kept = self.are_clients_roots_free().then_some(&*self.given.system);
        let client = ClientRoots::new(uris, &bounds, kept);
        let mut settings = self.given.clone();
        let mut project_setting = self.project_setting;
        if let (None, Some(first)) = (&settings.project, client.directories.first()) {
            settings.project = Some(first.clone());
            project_setting = "the client's first root";
        }
        (Self::of(settings, client.directories.clone(), project_setting), client)
    }

    /// Whether a client's roots grant something, and no directory of the operator's bounds them.
    pub fn are_clients_roots_free(&self) -> bool {
        let DirectorySettings { project, workspace, roots, project_commands, is_confined, .. } = &self.given;
        (*is_confined || *project_commands) && project.is_none() && workspace.is_none() && *roots == Roots::Unrestricted
    }

    /// Whether the operator named the project directory.
    pub fn has_operators_project(&self) -> bool {
        self.given.project.is_some()
    }

    /// The client's roots that this is narrowed to, canonical; empty for none.
    pub fn client_roots(&self) -> &[PathBuf] {
        &self.client
    }

    fn of(settings: DirectorySettings, client: Vec<PathBuf>, project_setting: &'static str) -> Self {
        let given = settings.clone();
        let project_dir = settings.project.as_ref().map(|project| settings.server.join(project));
        let relative_to = project_dir.clone().unwrap_or_else(|| settings.server.clone());
        let resolve = |path: &PathBuf| Resolved::new(settings.server.join(path));
        let roots = match &settings.roots {
            Roots::Unrestricted => None,
            Roots::Within(roots) => Some(roots.iter().map(resolve).collect()),
        };
        let workspace = settings.workspace.as_ref().map(resolve);
        let project = project_dir.map(Resolved::new);
        let settings = DirectorySettings { cwd: settings.cwd.map(|cwd| relative_to.join(cwd)), ..settings };
        Self { given, settings, roots, workspace, project, client, project_setting }
    }

    /// Where calls run that name no `cwd`.
    pub fn base(&self) -> Base {
        match (&self.settings.cwd, &self.project) {
            (Some(cwd), _) => Base { path: cwd.clone(), setting: "`--cwd`" },
            (None, Some(project)) => Base { path: project.given.clone(), setting: self.project_setting },
            (None, None) => Base { path: self.settings.server.clone(), setting: "the server's start" },
        }
    }

    /// Whether commands of the project's are allowed, whatever the project directory is.
    pub fn allow_project_commands(&self) -> bool {
        self.settings.project_commands
    }

    /// The canonical project directory, where commands of the project's are allowed.
    pub fn project_for_commands(&self) -> Option<&Path> {
        let project = self.project.as_ref().filter(|_| self.settings.project_commands)?;
        project.canonical.as_deref().ok()
    }

    /// The canonical directories of the work, where a sandbox lets commands read and write: the workspace, the project
    /// and the roots, as far as they can be resolved.
    pub fn granted(&self) -> Vec<PathBuf> {
        let all = self.workspace.iter().chain(&self.project).chain(self.roots.iter().flatten());
        all.filter_map(|resolved| resolved.canonical.clone().ok()).collect()
    }

    /// What is wrong with the operator's directories, each as the sentence that a call would be refused with.
    pub fn problems(&self) -> Vec<DirectoryError> {
        let roots = self.canonical_roots().err();
        let workspace = self.workspace.as_ref().and_then(|workspace| workspace.canonical(WORKSPACE).err());
        roots.into_iter().chain(workspace).chain(self.resolve(None).err()).collect()
    }

    /// Where the operator's directories, each sound by itself, leave nothing of one another; one sentence each.
    pub(crate) fn contradictions(&self) -> Vec<String> {
        let Some(workspace) = self.workspace.as_ref().and_then(|workspace| workspace.canonical.as_deref().ok()) else {
            return Vec::new();
        };
        let mut contradictions = Vec::new();
        let meets = |root: &&Path| root.starts_with(workspace) || workspace.starts_with(root);
        let roots = self.canonical_roots().ok().flatten();
        if roots.is_some_and(|roots| !roots.iter().any(meets)) {
            contradictions.push(format!(
                "no directory of {ROOTS} has anything in common with `{}` of {WORKSPACE}, so every `cwd` is refused",
                workspace.display()
            ));
        }
        let cwd = self.settings.cwd.clone().map(Resolved::new);
        for (setting, directory) in [(PROJECT, &self.project), ("`--cwd`", &cwd)] {
            let canonical = directory.as_ref().and_then(|directory| directory.canonical.as_deref().ok());
            if let Some(outside) = canonical.filter(|directory| !directory.starts_with(workspace)) {
                contradictions.push(format!(
                    "`{}` of {setting} lies outside `{}` of {WORKSPACE}, which no `cwd` may leave",
                    outside.display(),
                    workspace.display()
                ));
            }
        }
        contradictions
    }

    /// Turns the `cwd` of a call into a directory to run in.
    ///
    /// Without a `cwd` it is [`Self::base`], unchecked: the operator chose it. A relative `cwd` is relative to that
    /// base. Of a named one the canonical path is compared, part by part, with the canonical roots.
    ///
    /// # Errors
    /// [`DirectoryError`], each failure its own.
    pub fn resolve(&self, cwd: Option<&str>) -> Result<WorkingDirectory, DirectoryError> {
        let Base { path: base, setting } = self.base();
        let Some(cwd) = cwd else {
            return WorkingDirectory::open(&base).map_err(|source| DirectoryError::BaseUnusable {
                setting,
                path: base,
                source,
            });
        };
        if cwd.is_empty() {
            return Err(DirectoryError::Empty { base });
        }
        let cwd = cwd.to_owned();
        if cwd.contains('\0') {
            return Err(DirectoryError::Nul { cwd });
        }
        let roots = self.canonical_roots()?;
        let workspace = self.workspace.as_ref().map(|workspace| workspace.canonical(WORKSPACE)).transpose()?;
        let path = base.join(&cwd);
        let directory = WorkingDirectory::open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => DirectoryError::NotFound { cwd: cwd.clone(), path },
            io::ErrorKind::NotADirectory => DirectoryError::NotADirectory { cwd: cwd.clone() },
            _ => DirectoryError::Unusable { cwd: cwd.clone(), source },
        })?;
        if !self.client.is_empty() && !self.client.iter().any(|root| directory.path().starts_with(root)) {
            return Err(DirectoryError::OutsideRoots { cwd, roots: self.client.clone() });
        }
        if let Some(roots) = roots.filter(|roots| !roots.iter().any(|root| directory.path().starts_with(root))) {
            return Err(DirectoryError::OutsideRoots { cwd, roots: roots.into_iter().map(Path::to_owned).collect() });
        }
        if let Some(workspace) = workspace.filter(|workspace| !directory.path().starts_with(workspace)) {
            return Err(DirectoryError::OutsideWorkspace { cwd, workspace: workspace.to_owned() });
        }
        Ok(directory)
    }

    /// The canonical roots; `None` where there is no restriction.
    fn canonical_roots(&self) -> Result<Option<Vec<&Path>>, DirectoryError> {
        let Some(roots) = &self.roots else { return Ok(None) };
        if roots.is_empty() {
            return Err(DirectoryError::NoRoots);
        }
        roots.iter().map(|root| root.canonical(ROOTS)).collect::<Result<_, _>>().map(Some)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A tree with a root, its look-alike, a file and links in and out of it.
    fn tree() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let base = dunce::canonicalize(dir.path()).unwrap();
        for place in ["rootA/sub", "rootAB", "other"] {
            fs::create_dir_all(base.join(place)).unwrap();
        }
        fs::write(base.join("rootA/file"), "").unwrap();
        symlink(base.join("other"), base.join("rootA/out")).unwrap();
        symlink(base.join("rootA/sub"), base.join("in")).unwrap();
        symlink("loop", base.join("rootA/loop")).unwrap();
        (dir, base)
    }

    fn resolve(settings: DirectorySettings, cwd: Option<&str>) -> String {
        let base = settings.server.to_string_lossy().into_owned();
        let resolved = Directories::new(settings).resolve(cwd);
        let said = match resolved {
            Ok(directory) => directory.path().display().to_string(),
            Err(error) => error.to_string(),
        };
        said.replace(&base, "[base]")
    }

    #[test]
    fn containment_is_by_parts_of_canonical_paths() {
        let (_dir, base) = tree();
        let check = |cwd: &str, expected: &str| {
            let roots = Roots::Within(vec!["rootA".into()]);
            let settings = DirectorySettings { server: base.clone(), roots, ..Default::default() };
            assert_eq!(resolve(settings, Some(cwd)), expected, "{cwd:?}");
        };
        let outside = |cwd: &str| {
            format!("`cwd` `{cwd}` is not allowed: it is not inside an allowed root; allowed roots: [base]/rootA")
        };
        for inside in ["rootA/sub", "in", "rootA/../rootA/sub/.", "rootA//sub/"] {
            check(inside, "[base]/rootA/sub");
        }
        check("rootA", "[base]/rootA");
        for cwd in ["rootAB", "rootA/out", "rootA/..", ".", "/", "rootA/../rootAB", "rootA/sub/../.."] {
            check(cwd, &outside(cwd));
        }
        check("rootA/file", "`cwd` `rootA/file` is not a directory; name an existing directory");
        check("rootA/no", "`cwd` `rootA/no` does not exist (looked for `[base]/rootA/no`); name an existing directory");
        check("", "`cwd` is empty; name a directory, or leave `cwd` out to run in `[base]`");
        check("a\0b", r"`cwd` `a\u{0}b` holds a NUL character, which no path can hold; name an existing directory");
        for literal in ["~", "$HOME", "rootA/*", "file:///", " rootA"] {
            let expected =
                format!("`cwd` `{literal}` does not exist (looked for `[base]/{literal}`); name an existing directory");
            check(literal, &expected);
        }
        let settings = DirectorySettings { server: base.clone(), ..Default::default() };
        assert!(resolve(settings, Some("rootA/loop")).starts_with("`cwd` `rootA/loop` can't be used: "));
    }

    #[test]
    fn a_root_that_can_not_be_resolved_refuses_every_cwd_and_only_those() {
        let (_dir, base) = tree();
        let with = |roots: Vec<PathBuf>| DirectorySettings {
            server: base.clone(),
            roots: Roots::Within(roots),
            ..Default::default()
        };
        let problem = "configuration problem with `ALLOWED_CWD_ROOTS` (`--cwd-root`): ";
        for missing in ["no", "rootA/file", "rootA/loop"] {
            let said = resolve(with(vec!["rootA".into(), missing.into()]), Some("rootA/sub"));
            assert!(said.starts_with(&format!("{problem}`[base]/{missing}` can't be resolved (")), "{said}");
            assert_eq!(resolve(with(vec![missing.into()]), None), "[base]");
        }
        let said = resolve(with(vec![]), Some("rootA"));
        assert!(said.starts_with(&format!("{problem}it is set but holds no directory")), "{said}");
    }

    #[test]
    fn a_call_without_cwd_runs_in_cwd_then_project_then_the_servers_directory() {
        let (_dir, base) = tree();
        let settings = DirectorySettings { server: base.clone(), ..Default::default() };
        let project = DirectorySettings { project: Some("rootA".into()), ..settings.clone() };
        let cwd = DirectorySettings { cwd: Some("sub".into()), ..project.clone() };
        assert_eq!(resolve(settings, None), "[base]");
        assert_eq!(resolve(project.clone(), None), "[base]/rootA");
        assert_eq!(resolve(project, Some("sub")), "[base]/rootA/sub");
        assert_eq!(resolve(cwd.clone(), None), "[base]/rootA/sub");
        assert_eq!(resolve(cwd, Some("..")), "[base]/rootA");
    }

    #[test]
    fn nothing_a_client_names_lies_outside_the_workspace() {
        let (_dir, base) = tree();
        let settings =
            DirectorySettings { server: base.clone(), workspace: Some("rootA".into()), ..Default::default() };
        assert_eq!(resolve(settings.clone(), Some("in")), "[base]/rootA/sub");
        let outside = "`cwd` `rootA/out` is not allowed: it is not inside the workspace directory `[base]/rootA`";
        assert_eq!(resolve(settings, Some("rootA/out")), outside);
    }

    #[test]
    fn directories_that_leave_nothing_of_one_another_contradict() {
        let (_dir, base) = tree();
        let check = |[workspace, project, cwd]: [&str; 3], roots: &[&str], expected: usize| {
            let given = |path: &str| (!path.is_empty()).then(|| PathBuf::from(path));
            let roots = match roots {
                [] => Roots::Unrestricted,
                roots => Roots::Within(roots.iter().map(PathBuf::from).collect()),
            };
            let settings = DirectorySettings {
                server: base.clone(),
                workspace: given(workspace),
                project: given(project),
                cwd: given(cwd),
                roots,
                ..Default::default()
            };
            let said = Directories::new(settings).contradictions();
            assert_eq!(said.len(), expected, "{said:?}");
        };
        check(["", "rootA", "../other"], &["rootAB"], 0);
        check(["rootA", "rootA", "sub"], &["rootA/sub", "other"], 0);
        check(["rootA", "in", ""], &["/"], 0);
        check(["rootA", "", ""], &["rootAB", "other"], 1);
        check(["rootA", "rootAB", ""], &[], 1);
        check(["rootA/sub", "rootA", ""], &[], 1);
        check(["rootA", "rootA", "out"], &[], 1);
        check(["rootA", "other", ""], &["other"], 2);
        check(["missing", "other", ""], &["other"], 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_link_that_is_swapped_after_the_check_changes_nothing() {
        let (_dir, base) = tree();
        let link = base.join("link");
        symlink(base.join("rootA"), &link).unwrap();
        let directory = WorkingDirectory::open(&link).unwrap();
        fs::rename(base.join("rootA"), base.join("moved")).unwrap();
        symlink(base.join("other"), base.join("rootA")).unwrap();
        assert_eq!(fs::read_link(directory.spawn_path()).unwrap(), base.join("moved"));
    }
}
