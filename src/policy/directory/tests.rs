//! The directories of calls: which are allowed, and which very ones they are.

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
    // Whether a directory outside is there is not told by going through it and back.
    for cwd in ["other/../rootA", "no/../rootA", "rootAB/./../rootA/sub", "rootA/out/../rootA"] {
        check(cwd, &outside(cwd));
    }
    if cfg!(target_os = "linux") {
        let here = std::env::current_dir().unwrap();
        let settings =
            DirectorySettings { server: base.clone(), roots: Roots::Within(vec![here]), ..Default::default() };
        assert!(resolve(settings, Some("/proc/self/cwd")).contains("is not allowed"));
    }
    let absolute = |path: &str| base.join(path).display().to_string();
    for path in ["other/../rootA", "no/../rootA"] {
        let settings = DirectorySettings {
            server: base.clone(),
            roots: Roots::Within(vec!["rootA".into()]),
            ..Default::default()
        };
        let said = resolve(settings, Some(&absolute(path)));
        assert_eq!(said, outside(&format!("[base]/{path}")));
    }
    for literal in ["~", "$HOME", "no/x"] {
        check(literal, &outside(literal));
    }
    for literal in ["rootA/~", "rootA/$HOME", "rootA/*"] {
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
    let settings = DirectorySettings { server: base.clone(), workspace: Some("rootA".into()), ..Default::default() };
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
    let other = base.join("other");
    check(["rootA", "rootA", other.to_str().unwrap()], &[], 1);
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
