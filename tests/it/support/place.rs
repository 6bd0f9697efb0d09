//! What the tests of Windows run in: a directory with the example `probe` (`tests/windows/probe.rs`) and a PATH that finds it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::Server;
use super::server::DEADLINE;

/// The names of the three processes of a tree.
pub const TREE: [&str; 3] = ["root", "branch", "leaf"];

/// A directory with the program `probe.exe` in `bin`, which is all of the PATH beside the system's own, and an empty `work`.
pub struct Place {
    dir: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        for name in ["bin", "work"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        let tests = std::env::current_exe().unwrap();
        let probe = tests.parent().and_then(Path::parent).unwrap().join("examples").join("probe.exe");
        fs::copy(&probe, place.path("bin/probe.exe")).unwrap_or_else(|error| panic!("{}: {error}", probe.display()));
        place
    }

    /// A path in it, with the system's own kind of slash.
    pub fn path(&self, name: &str) -> PathBuf {
        name.split('/').fold(dunce::canonicalize(self.dir.path()).unwrap(), |path, part| path.join(part))
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).into_os_string().into_string().unwrap()
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A server that has gone through the handshake; it stands in `work`.
    pub fn server(&self, args: &[&str]) -> Server {
        self.server_with_path(args, &format!(r"{};C:\windows\system32", self.text("bin")))
    }

    pub fn server_with_path(&self, args: &[&str], path: &str) -> Server {
        let command = Server::command(args).dir(self.path("work")).env("PATH", path).env("SECRET", "s");
        let mut server = command.env("ALLOWEXEC_STRUCTURED", "true").start();
        server.initialize("2025-11-25");
        server
    }
}

/// The text of a refusal, or of another tool error.
pub fn error(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

/// The lines of standard output of a command that ended with 0.
pub fn lines(result: &Value) -> Vec<&str> {
    assert_eq!(result["structuredContent"]["exit_code"], 0, "{result}");
    result["structuredContent"]["stdout"].as_str().unwrap().lines().collect()
}

/// Looks until it holds.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "still not: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The probe keeps its file open for nobody else while it lives, and the system closes it whatever ends the process.
pub fn is_alive(file: &Path) -> bool {
    file.exists() && fs::File::open(file).is_err()
}

pub fn wait_for_tree(place: &Place) {
    for name in TREE {
        wait_until(&format!("{name} lives"), || is_alive(&place.path("work").join(name)));
    }
}

pub fn assert_tree_is_gone(place: &Place) {
    for name in TREE {
        let file = place.path("work").join(name);
        wait_until(&format!("{name} is gone"), || !is_alive(&file));
        // It lived, and it was ended in time: the number that it wrote is there, and its life would have been a minute.
        fs::read_to_string(&file).unwrap().parse::<u32>().unwrap();
    }
}
