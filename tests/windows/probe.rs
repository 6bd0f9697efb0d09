//! The program that the tests of Windows run: it says what it was given, and starts the trees that the server must end.

#![allow(clippy::print_stdout, reason = "to print is what it is for")]

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// How long a process of a tree lives where nobody ends it, so that a failed test leaves nothing behind for long.
const LIFE: Duration = Duration::from_secs(60);

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (verb, rest) = arguments.split_first().map_or(("", &[][..]), |(verb, rest)| (verb.as_str(), rest));
    let first = || rest.first().map_or("", String::as_str);
    match verb {
        "args" => rest.iter().for_each(|argument| println!("{argument:?}")),
        "env" => std::env::vars().for_each(|(name, value)| println!("{name}={value}")),
        "cwd" => println!("{}", std::env::current_dir()?.display()),
        "cat" => drop(io::copy(&mut io::stdin(), &mut io::stdout())?),
        // All that stands on its input, which is nothing at all where it has none.
        "count" => println!("{}", io::copy(&mut io::stdin(), &mut io::sink())?),
        "exit" => std::process::exit(first().parse().map_err(io::Error::other)?),
        "flood" => flood(first().parse().map_err(io::Error::other)?)?,
        // Starts a grandchild that starts another one, and outlives them both.
        "tree" => {
            start(&["branch", first()])?;
            hold(&Path::new(first()).join("root"))?;
        }
        "branch" => {
            start(&["leaf", first()])?;
            hold(&Path::new(first()).join("branch"))?;
        }
        "leaf" => hold(&Path::new(first()).join("leaf"))?,
        // Leaves a process behind, and says so once that one lives.
        "leave" => {
            start(&["leaf", first()])?;
            while !Path::new(first()).join("leaf").exists() {
                std::thread::sleep(Duration::from_millis(2));
            }
            println!("left");
        }
        _ => return Ok(ExitCode::from(64)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts this program once more; it lives on its own, with the same output.
fn start(arguments: &[&str]) -> io::Result<()> {
    Command::new(std::env::current_exe()?).args(arguments).spawn().map(drop)
}

/// Writes its process id to the file and keeps it open for nobody else: it can be opened as soon as this process is gone.
fn hold(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, 0);
    let mut file = options.open(path)?;
    write!(file, "{}", std::process::id())?;
    file.flush()?;
    std::thread::sleep(LIFE);
    Ok(())
}

/// Writes so many bytes to both streams, with a mark at either end.
fn flood(bytes: usize) -> io::Result<()> {
    let text = [b"<".as_slice(), &vec![b'x'; bytes.saturating_sub(2)], b">"].concat();
    io::stdout().write_all(&text)?;
    io::stderr().write_all(&text)
}
