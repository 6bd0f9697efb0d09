//! Fuzzes the events of agents; see `fuzz/README.md`.
#![no_main]

#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::hook_event(data));
