//! A directory that was checked, held so that it stays the one that was checked.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A directory to run in. On Linux it holds a handle to the very directory that was checked, so that nothing that is
/// renamed or linked anew between the check and the use changes where a command runs.
#[derive(Debug)]
pub struct WorkingDirectory {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    handle: OwnedFd,
}

impl WorkingDirectory {
    /// Opens the directory at `path`, links followed, and finds out its canonical path.
    ///
    /// # Errors
    /// What resolving, opening or entering it fails with; `NotADirectory` where it is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::hold(path)
    }

    /// Opens first and asks the kernel then where that is, so that what is compared is what is used.
    #[cfg(target_os = "linux")]
    fn hold(path: &Path) -> io::Result<Self> {
        use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags};
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        rustix::fs::accessat(&handle, ".", Access::EXEC_OK, AtFlags::EACCESS)?;
        match std::fs::read_link(proc_path(&handle)) {
            Ok(path) => Ok(Self { path, handle }),
            // Without `/proc` there is only the path to ask for.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self { path: dunce::canonicalize(path)?, handle })
            }
            Err(error) => Err(error),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn hold(path: &Path) -> io::Result<Self> {
        let path = dunce::canonicalize(path)?;
        if path.is_dir() { Ok(Self { path }) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    /// The canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path to start a process in while this value lives: on Linux the held handle's, as long as `/proc` is there.
    pub fn spawn_path(&self) -> PathBuf {
        #[cfg(target_os = "linux")]
        {
            if *HAS_PROC {
                return proc_path(&self.handle);
            }
        }
        #[cfg(windows)]
        if let Some(path) = without_verbatim_share(&self.path) {
            return path;
        }
        self.path.clone()
    }
}

/// The plain form of `\\?\UNC\server\share`, which dunce leaves as it is, and which no process can start in.
#[cfg(windows)]
fn without_verbatim_share(path: &Path) -> Option<PathBuf> {
    use std::path::{Component, Prefix};
    let mut components = path.components();
    let Some(Component::Prefix(prefix)) = components.next() else { return None };
    let Prefix::VerbatimUNC(server, share) = prefix.kind() else { return None };
    let mut plain = std::ffi::OsString::from(r"\\");
    plain.push(server);
    plain.push(r"\");
    plain.push(share);
    plain.push(r"\");
    Some(PathBuf::from(plain).join(components.as_path().strip_prefix(r"\").ok()?))
}

/// Whether `/proc` is there, looked up once.
#[cfg(target_os = "linux")]
static HAS_PROC: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| Path::new("/proc/self/fd").exists());

#[cfg(target_os = "linux")]
fn proc_path(handle: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}
