//! Every integration test, in one binary: it links once, and its tests run side by side.
//!
//! A file is about one area and is named after it; `cargo test --test it sandbox::` runs those of `sandbox.rs`. The
//! harness that starts the real binary is `support`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, and clippy's own exception does not cover the helpers of tests"
)]

mod support;

mod approval;
mod approved_calls;
mod ask_scripts;
mod audit;
mod audit_disks;
mod audit_rotation;
mod audited;
mod background;
mod book;
mod clients;
mod decisions;
mod dependencies;
mod directories;
mod doc_comments;
mod doctor;
mod embedding;
mod ends;
mod fuzz;
mod grants;
mod guide;
mod harness;
mod held;
mod hook;
mod hostile;
mod hostile_transcripts;
mod init;
mod interpreters;
mod layers;
mod left_behind;
mod limits;
mod limits_of_unix;
mod lines_audited;
mod lines_bash;
mod lines_held;
mod lines_sandbox;
mod lint;
mod lock;
mod log;
mod loopback;
mod mistakes;
mod mock;
mod model;
mod moving;
mod never_written;
mod other_names;
mod packaging;
mod policy;
mod policy_commands;
mod ports;
mod processes;
mod profiles;
mod public_interface;
mod reach;
mod reading;
mod readme;
mod record;
mod recording;
mod replay;
mod replay_any;
mod report;
mod review;
mod roots;
mod run;
mod sandbox;
mod sandbox_calls;
mod sandbox_handles;
mod sandbox_shell;
mod sandbox_tools;
mod scenarios;
mod schema;
mod session;
mod setup;
mod shell;
mod shell_background;
mod shell_variables;
mod size;
mod tasks;
mod tried;
mod trust;
mod watching;
mod windows;
mod windows_shell;
