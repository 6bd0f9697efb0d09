//! Fuzzes the reader of lines; see `fuzz/README.md`.
#![no_main]

#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::shell_line(data));
