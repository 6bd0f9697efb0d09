//! The files that starting a program needs besides the program: its ELF loader, its `#!` interpreters, and theirs.
//!
//! The kernel requires the right to execute each of these files, see execve(2). Shared libraries only need to be
//! readable. The amount read of a file is bounded, and a file that is not a program needs nothing.
//!
//! Files that commands can write must not decide what is granted. So such a file is granted, but not what it names, since
//! that could be any file, even one in the user's home directory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::{Held, Identity, Places, Walked};
use crate::integrity::{CommandPaths, Interpreters, Needed, Unclear, needed_by};

/// How many interpreters of interpreters are followed; the kernel itself follows five.
const DEEPEST: usize = 8;

/// The files that are executed when some programs start. Each was opened once, and is read through the handle that is
/// granted.
#[derive(Debug, Clone, Default)]
pub struct Executed {
    files: BTreeMap<Identity, Arc<Held>>,
    /// The ELF loaders of programs that commands can't write, by the path that these name.
    loaders: BTreeMap<PathBuf, Identity>,
    not_followed: Vec<NotFollowed>,
}

/// A file that is not granted, usually because commands could decide what it is.
#[derive(Debug, Clone)]
enum NotFollowed {
    /// The system does not open it, for example because too many files are open.
    Unopened { program: PathBuf, why: String },
    /// A link leads to it that commands can make. As the link is now, the program needs these files, itself included.
    Link { program: PathBuf, link: PathBuf, needed: Vec<Arc<Held>> },
    /// It can't be told which interpreter it has.
    Unclear { program: PathBuf, why: Unclear },
    /// Files needed by a file that commands can write.
    Needs { program: PathBuf, needed: Vec<Arc<Held>> },
}

impl Executed {
    /// Adds what is executed when `program` is started, including itself. What does not exist is left out.
    ///
    /// For `#!/usr/bin/env NAME` it looks NAME up in each of `paths`, as env(1) does. Commands may write in `writable`.
    pub fn add(&mut self, program: &Path, paths: &CommandPaths, writable: &Places) {
        match Walked::to(program) {
            Ok(walked) => self.follow(program, &walked, paths, writable, DEEPEST),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let (program, why) = (program.to_owned(), error.to_string());
                self.not_followed.push(NotFollowed::Unopened { program, why });
            }
        }
    }

    /// The same for a program that was opened already.
    pub fn add_walked(&mut self, program: &Path, walked: &Walked, paths: &CommandPaths, writable: &Places) {
        self.follow(program, walked, paths, writable, DEEPEST);
    }

    /// Returns the files that are executed when `program` alone is started, as [`add`](Self::add) finds them. If commands can
    /// write the program, they decide which loader it names, so it gets that loader only if these files have it from a program
    /// that commands can't write.
    pub fn of_one(&self, program: &Path, paths: &CommandPaths, writable: &Places) -> Self {
        let mut one = Self::default();
        one.add(program, paths, writable);
        let needed = one.not_followed.iter().filter_map(|not_followed| match not_followed {
            NotFollowed::Needs { needed, .. } => Some(needed),
            NotFollowed::Unopened { .. } | NotFollowed::Link { .. } | NotFollowed::Unclear { .. } => None,
        });
        let is_known = |held: &Arc<Held>| self.loaders.values().any(|loader| loader == held.identity());
        let known: Vec<_> = needed.filter(|needed| needed.iter().all(is_known)).flatten().collect();
        one.files.extend(known.into_iter().map(|held| (held.identity().clone(), Arc::clone(held))).collect::<Vec<_>>());
        one
    }

    /// The files.
    pub fn files(&self) -> impl Iterator<Item = &Arc<Held>> {
        self.files.values()
    }

    /// Describes the files that were left out although a program may need them to start, one sentence each; without
    /// those in one of `granted`, which can be executed anyway.
    pub fn warnings(&self, granted: &[&Path]) -> Vec<String> {
        let is_missing = |held: &Arc<Held>| {
            let is_granted = granted.iter().any(|place| held.path().starts_with(place));
            !is_granted && !self.files.contains_key(held.identity())
        };
        let warning = |not_followed: &NotFollowed| {
            match not_followed {
            NotFollowed::Unopened { program, why } => {
                Some(format!("the program `{}` is not granted, since it can't be opened: {why}", program.display()))
            }
            NotFollowed::Link { program, link, needed } => needed.iter().any(is_missing).then(|| {
                format!(
                    "the program `{}` is not granted: the link `{}` leads to it, which commands can make lead elsewhere; \
                     name the file that is meant with `--exec` (in a file: add it to `exec:`)",
                    program.display(),
                    link.display()
                )
            }),
            NotFollowed::Unclear { program, why } => {
                Some(format!("the interpreter of `{}` is not granted, since {why}", program.display()))
            }
            NotFollowed::Needs { program, needed } => needed.iter().any(is_missing).then(|| {
                format!(
                    "commands can write `{}`, so what it needs to start (its interpreter, its loader) is not \
                     granted for it; name that with `--exec` (in a file: add it to `exec:`)",
                    program.display()
                )
            }),
        }
        };
        let mut warnings: Vec<String> = Vec::new();
        for warning in self.not_followed.iter().filter_map(warning) {
            // Several entries of the allow-list may mean one program.
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }

    fn follow(&mut self, program: &Path, walked: &Walked, paths: &CommandPaths, writable: &Places, depth: usize) {
        let held = walked.held();
        if depth == 0 || !walked.is_file() || self.files.contains_key(held.identity()) {
            return;
        }
        let is_writable = writable.hold_walked(walked);
        if let Some(link) = writable.first_link(walked).filter(|_| !is_writable) {
            let (program, link) = (program.to_owned(), link.path.clone());
            let mut needed = Vec::new();
            needs(walked, paths, depth, &mut needed);
            self.not_followed.push(NotFollowed::Link { program, link, needed });
            return;
        }
        self.files.insert(held.identity().clone(), Arc::clone(held));
        // A file that can't be read can't be followed; the kernel reports it when it is started.
        let named = needed_by(held).unwrap_or_default();
        let interpreters = match &*named {
            // It could be any file, and has no need of a shell.
            [Needed::Shell] => Ok(Interpreters::default()),
            named => Interpreters::of(named, paths),
        };
        let interpreters = interpreters.unwrap_or_else(|why| {
            self.not_followed.push(NotFollowed::Unclear { program: program.to_owned(), why });
            Interpreters::default()
        });
        let broken = interpreters.broken.filter(|_| is_writable);
        // Most programs name the same loader, and each walk to it takes a dozen handles. Of one that is granted nothing is missing.
        let is_granted = |path: &PathBuf| self.loaders.get(path).is_some_and(|loader| self.files.contains_key(loader));
        let loaders = walked_to(loaders(&named).filter(|path| !is_granted(path)));
        let files = walked_to(interpreters.files.into_iter().chain(broken));
        if is_writable {
            let mut needed = Vec::new();
            for (_, walked) in files.iter().chain(&loaders) {
                needs(walked, paths, depth - 1, &mut needed);
            }
            self.not_followed.push(NotFollowed::Needs { program: held.path().to_owned(), needed });
            return;
        }
        self.loaders.extend(loaders.iter().map(|(path, walked)| (path.clone(), walked.held().identity().clone())));
        for (path, walked) in files.into_iter().chain(loaders) {
            self.follow(&path, &walked, paths, writable, depth - 1);
        }
    }
}

fn loaders(named: &[Needed]) -> impl Iterator<Item = PathBuf> {
    named.iter().filter_map(|needed| match needed {
        Needed::Loader(loader) => Some(loader.clone()),
        Needed::Interpreter(..) | Needed::Shell => None,
    })
}

fn walked_to(paths: impl Iterator<Item = PathBuf>) -> Vec<(PathBuf, Walked)> {
    paths.filter_map(|path| Walked::to(&path).ok().map(|walked| (path, walked))).collect()
}

/// Adds what starting a file needs now, itself included. This grants nothing: it only tells whether a warning is true.
fn needs(walked: &Walked, paths: &CommandPaths, depth: usize, found: &mut Vec<Arc<Held>>) {
    let held = walked.held();
    if depth == 0 || found.iter().any(|other| other.identity() == held.identity()) {
        return;
    }
    found.push(Arc::clone(held));
    let named = needed_by(held).unwrap_or_default();
    let interpreters = match &*named {
        [Needed::Shell] => Interpreters::default(),
        named => Interpreters::of(named, paths).unwrap_or_default(),
    };
    for (_, walked) in walked_to(interpreters.files.into_iter().chain(loaders(&named))) {
        needs(&walked, paths, depth - 1, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn paths(directories: &[PathBuf]) -> CommandPaths {
        [Some(std::env::join_paths(directories).unwrap())].into_iter().collect()
    }

    /// The real paths of what is executed, and the warnings.
    fn executed(program: &Path, directories: &[PathBuf], writable: &[&Path]) -> (Vec<PathBuf>, Vec<String>) {
        let writable = writable.iter().map(|path| Arc::new(Held::open(path).unwrap())).collect();
        let mut executed = Executed::default();
        executed.add(program, &paths(directories), &writable);
        let mut files: Vec<_> = executed.files().map(|held| held.path().to_owned()).collect();
        files.sort();
        (files, executed.warnings(&[]))
    }

    #[test]
    fn a_script_needs_its_interpreters_and_their_loader() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let write = |name: &str, text: &str| {
            fs::write(base.join(name), text).unwrap();
            fs::set_permissions(base.join(name), fs::Permissions::from_mode(0o755)).unwrap();
            base.join(name)
        };
        let inner = write("inner", "#!/bin/sh\n");
        let script = write("script", "#!/usr/bin/env inner\n");
        symlink(&script, base.join("link")).unwrap();
        let (files, warnings) = executed(&base.join("link"), std::slice::from_ref(&base), &[]);
        for expected in [script, inner, fs::canonicalize("/bin/sh").unwrap(), fs::canonicalize("/usr/bin/env").unwrap()]
        {
            assert!(files.contains(&expected), "{expected:?} in {files:?}");
        }
        assert_eq!(warnings, [] as [String; 0]);
        // A script that names itself, and one that names a missing file.
        let own = base.join("own");
        write("own", &format!("#!{}\n", own.display()));
        assert_eq!(executed(&own, &[], &[]).0, [own]);
        let lost = write("lost", "#!/nowhere/at/all\n");
        assert_eq!(executed(&lost, &[], &[]).0, [lost]);
        assert_eq!(executed(&base.join("missing"), &[], &[]).0, [] as [PathBuf; 0]);
    }

    #[test]
    fn what_commands_can_write_is_granted_as_it_is_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let project = base.join("project");
        fs::create_dir_all(project.join("bin")).unwrap();
        fs::write(base.join("letter"), "secret").unwrap();
        fs::set_permissions(base.join("letter"), fs::Permissions::from_mode(0o755)).unwrap();
        let script = project.join("bin/script");
        fs::write(&script, format!("#!{}/letter\n", base.display())).unwrap();
        symlink(base.join("letter"), project.join("bin/out")).unwrap();
        symlink("script", project.join("bin/in")).unwrap();
        let outer = base.join("outer");
        fs::write(&outer, format!("#!{}\n", project.join("bin/out").display())).unwrap();
        // A link from outside into the project belongs to the operator.
        symlink(&script, base.join("shim")).unwrap();

        assert_eq!(executed(&script, &[], &[]).0, [base.join("letter"), script.clone()]);
        for way in ["project/bin/script", "project/bin/in", "shim"] {
            let (files, warnings) = executed(&base.join(way), &[], &[&project]);
            assert_eq!(files, std::slice::from_ref(&script), "{way}");
            assert!(warnings.len() == 1 && warnings[0].contains("what it needs to start"), "{way}: {warnings:?}");
        }
        let (files, warnings) = executed(&script, &[], &[&script]);
        assert!(files == [script] && warnings.len() == 1, "{warnings:?}");
        let (files, warnings) = executed(&project.join("bin/out"), &[], &[&project]);
        assert!(files.is_empty() && warnings[0].contains("lead elsewhere"), "{warnings:?}");
        // Nor does a script of the operator follow a link of the project.
        let (files, warnings) = executed(&outer, &[], &[&project]);
        assert!(files == [outer] && warnings[0].contains("lead elsewhere"), "{warnings:?}");
        // A file that another program grants needs no warning.
        let writable = [Arc::new(Held::open(&project).unwrap())].into_iter().collect();
        let tool = project.join("tool");
        fs::write(&tool, "#!/bin/sh\n").unwrap();
        let mut executed = Executed::default();
        executed.add(&tool, &paths(&[]), &writable);
        assert_eq!((executed.warnings(&[]).len(), executed.warnings(&["/usr", "/bin"].map(Path::new)).len()), (1, 0));
        executed.add(Path::new("/bin/sh"), &paths(&[]), &writable);
        assert_eq!(executed.warnings(&[]), [] as [String; 0]);
    }
    #[test]
    fn what_is_granted_in_another_way_needs_no_warning() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let (project, python) = (base.join("project"), base.join("python"));
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(&python).unwrap();
        fs::copy("/bin/true", python.join("python3")).unwrap();
        symlink(python.join("python3"), project.join("python3")).unwrap();
        symlink("python3", project.join("python")).unwrap();
        fs::write(project.join("tool"), format!("#!{}\n", project.join("python").display())).unwrap();
        fs::set_permissions(project.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        let writable = [Arc::new(Held::open(&project).unwrap())].into_iter().collect();
        let mut executed = Executed::default();
        for name in ["python", "python", "tool", "tool"] {
            executed.add(&project.join(name), &paths(&[]), &writable);
        }
        let system: Vec<&Path> = ["/usr", "/lib", "/lib64"].into_iter().map(Path::new).collect();
        let count = |granted: &[&[&Path]]| executed.warnings(&granted.concat()).len();
        // Each file is named once, and not at all if it starts.
        assert_eq!([count(&[]), count(&[&system]), count(&[&[&python]]), count(&[&system, &[&python]])], [2, 2, 2, 0]);
    }

    #[test]
    fn a_program_that_commands_can_write_gets_the_loader_of_others_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        let (native, script) = (base.join("native"), base.join("script"));
        fs::copy("/bin/true", &native).unwrap();
        fs::write(&script, "#!/bin/sh\n").unwrap();
        let writable = [Arc::new(Held::open(&base).unwrap())].into_iter().collect();
        let mut others = Executed::default();
        others.add(Path::new("/bin/sh"), &paths(&[]), &writable);
        let counts = |of: &Executed, program: &Path| {
            let one = of.of_one(program, &paths(&[]), &writable);
            (one.files().count(), one.warnings(&[]).len())
        };
        assert_eq!((counts(&others, &native), counts(&Executed::default(), &native)), ((2, 0), (1, 1)));
        assert_eq!(counts(&others, &script), (1, 1));
    }
}
