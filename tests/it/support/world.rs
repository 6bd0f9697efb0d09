//! A world to get out of: a project, a place outside of it, a home directory with a secret, and who tries it.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::Value;

use super::Server;
use super::server::{ServerCommand, copy_program, spawning};

/// What shows that an attempt has succeeded.
#[derive(Clone, Copy, Debug)]
pub enum Sign {
    /// A program that is not on the list made this file in the project.
    Started,
    /// A file came to be outside of the project.
    Written,
    /// A file outside of the project is gone.
    Removed,
    /// The output holds what stands in the home directory, or how a file in it is named.
    Read,
    /// The listener has a connection.
    Connected,
    /// The output says so.
    Said,
}

/// Who runs the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Who runs the test.
    Own,
    /// A user without any rights, where root runs the test.
    Ordinary,
}

pub const NOBODY: u32 = 65534;

impl User {
    /// Root and an ordinary user, or the ordinary user who runs the test.
    pub fn all() -> Vec<Self> {
        if rustix::process::geteuid().is_root() { vec![Self::Own, Self::Ordinary] } else { vec![Self::Own] }
    }
}

/// Gives a directory with all that is in it to a user.
pub fn give(path: &Path, user: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        fs::read_dir(path).unwrap().flatten().for_each(|entry| give(&entry.path(), user));
    }
}

/// A project, a place outside of it, a home directory with a secret, and a listener.
pub struct World {
    _dir: tempfile::TempDir,
    pub base: PathBuf,
    listener: Listener,
}

/// Closes each connection as soon as it is made, so that no program waits for an answer.
struct Listener {
    address: SocketAddr,
    /// The other ends; `None` while it ends.
    connections: Option<Receiver<SocketAddr>>,
}

impl Listener {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, connections) = mpsc::channel();
        thread::spawn(move || while listener.accept().is_ok_and(|(_, peer)| sender.send(peer).is_ok()) {});
        Self { address, connections: Some(connections) }
    }

    /// Whether there was one since the last time. Connections are accepted in their order, so all of them come before this one.
    fn had_connections(&self) -> bool {
        let own = TcpStream::connect(self.address).unwrap().local_addr().unwrap();
        self.connections.iter().flatten().take_while(|peer| *peer != own).count() > 0
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.connections = None;
        // The thread finds nobody to tell of this one, and ends.
        drop(TcpStream::connect(self.address));
    }
}

/// Makes a copy of the binary that another user may own and execute. All of them are links to one file, since it has tens of
/// megabytes, and hundreds of worlds have one.
pub fn put_binary(to: &Path) {
    static COPY: LazyLock<PathBuf> = LazyLock::new(|| {
        let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("allowexec");
        let fresh = copy.with_extension(std::process::id().to_string());
        copy_program(env!("CARGO_BIN_EXE_allowexec"), &fresh);
        fs::rename(&fresh, &copy).unwrap();
        copy
    });
    // Temporary files may lie on another file system.
    if fs::hard_link(&*COPY, to).is_err() {
        copy_program(&*COPY, to);
    }
}

/// What stands in the home directory.
pub const SECRET: &str = "sesame-6f1c";

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(dir.path()).unwrap();
        for place in ["project", "outside", "home", "tmp"] {
            fs::create_dir(base.join(place)).unwrap();
        }
        fs::write(base.join("home/letter"), format!("{SECRET}\n")).unwrap();
        fs::write(base.join("home").join(SECRET), "").unwrap();
        fs::write(base.join("project/file"), "b\na\n").unwrap();
        static NUMBERS: LazyLock<String> =
            LazyLock::new(|| (0..60_000).map(|number| format!("{}\n", number * 7919 % 60_000)).collect());
        fs::write(base.join("project/big"), NUMBERS.as_str()).unwrap();
        let hook = base.join("project/hook");
        fs::write(&hook, "#!/bin/sh\ntouch marker\ncat\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        Self { _dir: dir, base, listener: Listener::new() }
    }

    pub fn fill(&self, text: &str) -> String {
        let base = self.base.to_str().unwrap();
        text.replace("[base]", base)
            .replace("[port]", &self.listener.address.port().to_string())
            .replace("[ld]", LOADER)
    }

    /// A server of the user that runs the test.
    pub fn server(&self, level: &str, allow: &str, more: &[&str]) -> Server {
        self.server_of(User::Own, level, allow, more)
    }

    /// A server whose project is the world's.
    pub fn server_of(&self, user: User, level: &str, allow: &str, more: &[&str]) -> Server {
        let project = self.fill("[base]/project");
        let mut args = vec!["--sandbox", level, "--allow", allow, "--project-dir", &project];
        if !more.contains(&"--timeout") {
            args.extend(["--timeout", "8s"]);
        }
        args.extend(more);
        let mut server = self.command(user, &args).start();
        server.initialize("2025-06-18");
        server
    }

    /// What starts a server in this world.
    pub fn command(&self, user: User, args: &[&str]) -> ServerCommand {
        let mut command = Server::command(args)
            .env("HOME", self.base.join("home"))
            .env("TMPDIR", self.base.join("tmp"))
            .dir(&self.base);
        if user == User::Ordinary {
            // It may not be allowed to enter the directory where the binary was built.
            let binary = self.base.join("allowexec");
            if !binary.exists() {
                put_binary(&binary);
            }
            give(&self.base, NOBODY);
            command = command.run_by(binary, NOBODY);
        }
        command
    }

    /// What `doctor` says of a feature of the platform to this user with these flags; nothing where it does not name it.
    pub fn doctor_says(&self, user: User, flags: &[&str], what: &str) -> String {
        // It puts the binary where the ordinary user may execute it.
        drop(self.command(user, &[]));
        let mut doctor = match user {
            User::Own => Command::new(env!("CARGO_BIN_EXE_allowexec")),
            User::Ordinary => Command::new(self.base.join("allowexec")),
        };
        if user == User::Ordinary {
            doctor.uid(NOBODY).gid(NOBODY);
        }
        doctor.args(["doctor", "--json", "--allow", "sh"]).args(flags).current_dir(&self.base);
        let _no_child_inherits_it = spawning();
        let report: Value = serde_json::from_slice(&doctor.output().unwrap().stdout).unwrap();
        let rows = report["platform"].as_array().unwrap();
        rows.iter()
            .find(|row| row["what"] == what)
            .map(|row| row["how"].as_str().unwrap().to_owned())
            .unwrap_or_default()
    }

    /// Makes the project's file anew, as its user would.
    pub fn put_file(&self, user: User) {
        let file = self.base.join("project/file");
        fs::write(&file, "b\na\n").unwrap();
        if user == User::Ordinary {
            give(&file, NOBODY);
        }
    }

    /// Whether the sign is there; afterwards it is not.
    pub fn take(&self, sign: Sign, output: &str) -> bool {
        let (marker, outside) = (self.base.join("project/marker"), self.base.join("outside/marker"));
        let found = match sign {
            Sign::Started => marker.exists(),
            Sign::Written => outside.exists(),
            Sign::Removed => !self.base.join("outside/victim").exists(),
            Sign::Read => output.contains(SECRET),
            Sign::Connected => self.listener.had_connections(),
            Sign::Said => output.contains("it-worked"),
        };
        for made in [marker, outside] {
            if made.is_dir() { fs::remove_dir_all(&made).unwrap() } else { fs::remove_file(&made).ok().unwrap_or(()) }
        }
        fs::write(self.base.join("outside/victim"), "").unwrap();
        found
    }
}

#[cfg(target_arch = "x86_64")]
pub const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
#[cfg(not(target_arch = "x86_64"))]
pub const LOADER: &str = "/lib/ld-linux-aarch64.so.1";

pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).any(|entry| entry.join(program).is_file());
    if !found {
        eprintln!("{program} is not installed here, so nothing is shown of it");
    }
    found
}

/// Whether the system's own Python is there, which sandboxed commands can start.
pub fn has_python() -> bool {
    let found = Path::new("/usr/bin/python3").exists();
    if !found {
        eprintln!("python3 is not installed here, so nothing is shown of it");
    }
    found
}

pub fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap().to_owned()
}
