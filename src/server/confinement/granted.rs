//! The operator's grants, by presets and by naming paths.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::sandbox::{Named, NamedPlaces, Preset};

/// The grants of a preset on this machine.
#[derive(Debug, Clone)]
pub(super) struct Granted {
    pub preset: Preset,
    pub read: Vec<Named>,
    pub executed: Vec<Named>,
}

/// The home directory of the commands.
pub(super) fn home(config: &Config) -> Option<&Path> {
    config.surroundings.variable("HOME").map(Path::new).filter(|home| home.is_absolute())
}

/// Returns the grants of the presets in the home directory; paths that don't exist are silently left out.
pub(super) fn granted_by_presets(config: &Config) -> Vec<Granted> {
    let there = |paths: &[&str]| -> Vec<Named> {
        let paths = home(config).into_iter().flat_map(|home| paths.iter().map(|path| home.join(path)));
        paths.filter(|path| path.exists()).map(|path| Named { setting: "`--grant`", path }).collect()
    };
    let granted = |&preset: &Preset| Granted { preset, read: there(preset.read()), executed: there(preset.executed()) };
    config.grant.value.iter().map(granted).collect()
}

/// Returns the operator's paths as absolute ones, and whether some root is read-only because `--read` names it too.
pub(super) fn named_places(config: &Config, presets: &[Granted]) -> (NamedPlaces, bool) {
    let server = &config.surroundings.directory;
    let named = |setting, paths: &[PathBuf]| -> Vec<Named> {
        paths.iter().map(|path| Named { setting, path: server.join(path) }).collect()
    };
    let workspace = named("`--workspace-dir`", config.workspace_dir.value.as_slice());
    let project = named("`--project-dir`", config.project_dir.value.as_slice());
    let mut roots = named("`--cwd-root`", config.cwd_root.value.as_deref().unwrap_or_default());
    let read = named("`--read`", &config.read.value);
    let count = roots.len();
    roots.retain(|root| !read.iter().any(|read| read.path.components().eq(root.path.components())));
    let has_read_only_roots = roots.len() < count;
    let with = |own: Vec<Named>, of: fn(&Granted) -> &Vec<Named>| -> Vec<Named> {
        own.into_iter().chain(presets.iter().flat_map(of).cloned()).collect()
    };
    let named = NamedPlaces {
        directories: workspace.into_iter().chain(project).chain(roots).collect(),
        read: with(read, |granted| &granted.read),
        write: named("`--write`", &config.write.value),
        exec: with(named("`--exec`", &config.exec.value), |granted| &granted.executed),
    };
    (named, has_read_only_roots)
}
