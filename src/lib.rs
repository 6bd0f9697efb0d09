//! An MCP server that runs only the commands its operator allows, as a program and as a library.
//!
//! JSON-RPC over any two streams, without an MCP SDK and without an async runtime; no unsafe code, no network. Several
//! servers can run in one process: the only global state is about its child processes. These are the layers, the lowest
//! first; each uses only layers before it:
//!
//! - [`jsonrpc`], [`mcp`]: messages, and the differences between revisions of the protocol.
//! - `text`: makes text from outside safe to show in a log, a message or on a terminal.
//! - `random`: random bytes, and names made of them.
//! - `files`: files and directories, held open from the check to the use.
//! - `audit`: the audit log, a chain of records that can't be rewritten unnoticed.
//! - [`policy`]: the decision. [`Policy::examine`](policy::Policy::examine) alone makes an
//!   [`AllowedCommand`](policy::AllowedCommand).
//! - [`exec`]: runs one, once, with its whole tree bounded in time and output.
//! - [`tools`], `prompts`: what a client can call.
//! - [`config`]: settings from code, flags, variables and a file.
//! - [`server`]: the loop.
//! - [`transcript`]: sessions as text, recorded, replayed and mocked; the server does not know of it.
//! - `report`: a page about what was run.
//! - [`cli`]: the program.
//!
//! # Embedding
//!
//! Make a [`Config`](config::Config), make its [`Parts`](server::Parts), and either serve a client with them
//! ([`Server::serve`](server::Server::serve)), run a call without a client ([`Parts::call`](server::Parts::call)), or
//! ask the policy alone ([`Policy::examine`](policy::Policy::examine)). Before that you can replace the code that runs
//! commands by an [`Executor`](exec::Executor) of your own, and set an [`Observer`](server::Observer) that is told
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
//! The process's own streams: `Stdin` is no [`BufRead`](std::io::BufRead), so it is buffered first.
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

mod audit;
pub mod cli;
pub mod config;
pub mod exec;
mod files;
mod integrity;
pub mod jsonrpc;
mod lint;
pub mod mcp;
pub mod policy;
#[cfg(unix)]
mod poll;
mod prompts;
mod random;
mod report;
mod sandbox;
pub mod server;
mod shell;
mod text;
pub mod tools;
pub mod transcript;

/// The guide's page about embedding: its examples are compiled and run as those above.
#[cfg(doctest)]
#[doc = include_str!("../spec/guide/embedding.md")]
struct Guide;
