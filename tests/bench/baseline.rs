//! The same work without the server: what no server can be faster than.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Where a program is, so that neither side searches for it.
pub fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").expect("a PATH");
    std::env::split_paths(&path)
        .map(|entry| entry.join(name))
        .find(|file| file.is_file())
        .expect("the program is installed")
}

/// A plain spawn, its output read to the end.
pub fn spawn(program: &Path, arguments: &[&str]) -> usize {
    let output = Command::new(program).args(arguments).output().expect("it runs");
    assert!(output.status.success());
    output.stdout.len()
}

/// So many plain spawns, by two threads.
pub fn two_threads(program: &Path, calls: usize) {
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..calls / 2).map(|_| spawn(program, &[])).sum::<usize>());
        }
    });
}

/// A program that answers every line with one, as `cat` does.
pub struct Lines {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Lines {
    pub fn start(name: &str) -> Self {
        let mut child =
            Command::new(program(name)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdin, stdout }
    }

    pub fn round_trip(&mut self, line: &str) -> usize {
        self.stdin.as_mut().expect("open until the drop").write_all(line.as_bytes()).expect("it reads");
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).expect("it answers")
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.child.wait().expect("it ends with its input");
    }
}

/// A file of text, removed with the value.
pub struct TextFile(PathBuf);

impl TextFile {
    /// Lines of 80 characters.
    pub fn of_megabytes(megabytes: usize) -> Self {
        let path = std::env::temp_dir().join(format!("allowexec-bench-{}.txt", std::process::id()));
        let line = format!("{}\n", "the quick brown fox jumps over the lazy dog ".repeat(2).split_at(79).0);
        std::fs::write(&path, line.repeat(megabytes * 1_000_000 / line.len())).expect("a temporary file");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TextFile {
    fn drop(&mut self) {
        // Left behind only where the directory for temporary files is gone.
        let _ = std::fs::remove_file(&self.0);
    }
}
