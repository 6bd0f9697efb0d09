//! An MCP server that runs only the commands its operator allows, as a program and as a library.
//!
//! JSON-RPC over any two streams, without an MCP SDK and without an async runtime; no unsafe code, no network. Several
//! servers can run in one process: the only global state is about its child processes. These are the layers, the lowest
//! first; each uses only layers before it:
//!
//! - [`jsonrpc`], [`mcp`]: messages, and the differences between revisions of the protocol.
//! - `text`: makes text from outside safe to show in a log, a message or on a terminal.
//! - [`lines`]: reads a line of several commands into a tree; nothing runs one yet.
//! - `random`: random bytes, and names made from them.
//! - [`network`]: what commands may do with sockets, as it is named.
//! - `files`: files and directories, held open from the check to the use.
//! - `audit`: the audit log, a chain of records that can't be rewritten unnoticed.
//! - [`policy`]: the decision. Only [`Policy::examine`](policy::Policy::examine) makes an
//!   [`AllowedCommand`](policy::AllowedCommand).
//! - [`exec`]: runs an allowed command, once, with its whole process tree bounded in time and output.
//! - [`tools`], `prompts`: what a client can call.
//! - [`config`]: settings from code, flags, variables and a file.
//! - [`server`]: the loop.
//! - [`transcript`]: sessions as text, recorded, replayed and mocked; the server does not know of it.
//! - `report`: a page that shows what was run.
//! - [`cli`]: the program.
//!
//! # Embedding
//!
//! Make a [`Config`](config::Config), make its [`Parts`](server::Parts), and either serve a client with them
//! ([`Server::serve`](server::Server::serve)), run a call without a client ([`Parts::call`](server::Parts::call)), or
//! only ask the policy ([`Policy::examine`](policy::Policy::examine)). Before that you can replace the code that runs
//! commands with your own [`Executor`](exec::Executor), and set an [`Observer`](server::Observer) that is told about
//! every decision and every end of a command.
//!
//! ```
//! use std::io::Cursor;
//! use allowexec::config::{Config, Surroundings};
//! use allowexec::policy::CommandLine;
//! use allowexec::server::{Parts, DrainTime, Server};
//!
//! let config = Config::builder(Surroundings::of_this_process()?).allow(["echo"]).build()?;
//! let parts = Parts::new(&config);
//!
//! // What would be decided?
//! let decision = parts.policy.examine(CommandLine::parse("rm -rf /"), None);
//! assert_eq!(decision.outcome.map(|_| ()).map_err(|refusal| refusal.to_string()),
//!     Err("command `rm` is not allowed; allowed commands: echo".to_owned()));
//!
//! // A client on two streams.
//! let input = Cursor::new("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
//! let mut output = Vec::new();
//! Server::new(parts, DrainTime::FOR_CLIENTS, Box::new(|_| ()), &mut output).serve(input)?;
//! assert_eq!(output, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To serve on the process's own streams, buffer `Stdin`, since it isn't a [`BufRead`](std::io::BufRead):
//!
//! ```no_run
//! use std::io::{BufReader, stdin, stdout};
//! # use allowexec::config::{Config, Surroundings};
//! # use allowexec::server::{Parts, DrainTime, Server};
//! # let config = Config::builder(Surroundings::of_this_process()?).allow(["echo"]).build()?;
//! # let parts = Parts::new(&config);
//! Server::new(parts, DrainTime::FOR_CLIENTS, Box::new(|_| ()), stdout()).serve(BufReader::new(stdin()))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
// A room that is left out, as lines are on Windows, leaves functions of the others unused, and code that nothing reaches. So does a
// platform that has no use for what all have.
#![cfg_attr(
    not(all(target_os = "linux", feature = "workbench")),
    allow(dead_code, missing_docs, unused_imports, unreachable_code)
)]

#[cfg_attr(not(feature = "evidence"), path = "audit/no_audit.rs")]
mod audit;
pub mod cli;
pub mod config;
pub mod exec;
mod files;
mod integrity;
pub mod jsonrpc;
#[cfg(feature = "lines")]
pub mod lines;
#[cfg(feature = "workbench")]
mod lint;
pub mod mcp;
pub mod network;
pub mod policy;
#[cfg(unix)]
mod poll;
mod prompts;
mod random;
#[cfg(feature = "workbench")]
mod report;
mod sandbox;
pub mod server;
#[cfg_attr(not(feature = "shell"), path = "shell/no_shell.rs")]
mod shell;
mod text;
pub mod tools;
#[cfg(feature = "workbench")]
pub mod transcript;

/// The guide's page about embedding. Its examples are compiled and run like those above.
#[cfg(doctest)]
#[doc = include_str!("../spec/guide/embedding.md")]
struct Guide;
