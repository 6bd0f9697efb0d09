//! The binary: [`allowexec::cli`] with this process's arguments, and its exit status.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    allowexec::cli::run(std::env::args_os().skip(1))
}
