//! The binary: `allowexec::cli` with this process's arguments, and its exit status.
#![forbid(unsafe_code)]

fn main() {}
