//! `allowexec setup CLIENT`: what to do so that a client starts this server with the flags given. It edits no file.
//!
//! - `clients`: the clients, how each is told of a server, and where its file is on this system
//! - `hook`: how an agent's own shell asks before it runs a line
//! - `snippet`: commands, JSON and TOML, each with its own quoting
//!
//! Explanations are lines that begin with `# `, so that the rest can be given to a shell or appended to a file.

mod clients;
mod hook;
mod snippet;

use clients::Command;
pub(in crate::cli) use clients::{Client, ClientFiles};
use snippet::Server;

use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::{Outcome, print, print_json, stdio};
use crate::config::{Config, Flags, Surroundings, absolute_arguments};
use crate::policy::SearchPath;
use crate::server::Parts;
use crate::text::escape;

/// The flags of the subcommand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::cli) struct Options {
    /// Print the snippet for the file, even if the client has a command.
    pub snippet: bool,
    /// Print how the agent's own shell asks, in place of how the server is added.
    pub hook: bool,
    pub json: bool,
}

/// Prints what to do for one client.
pub(super) fn run(client: Client, flags: &Flags, options: Options) -> Result<Outcome, CliError> {
    let here = Surroundings::of_this_process()?;
    let files = ClientFiles::new(&here);
    let unused: Vec<&str> = here.setting_variables().collect();
    // The client starts servers in an environment of its own.
    let surroundings = here.clone().without_settings();
    let config = Config::resolve(flags, surroundings.clone())?;
    let parts = Parts::new(&config);
    parts.check_start()?;
    for problem in parts.problems() {
        stdio::note(&format!("warning: {problem}"));
    }
    for variable in unused {
        stdio::note(&format!(
            "warning: `{variable}` is set here, and the client's servers may not get it; give the flag instead"
        ));
    }
    let program = std::env::current_exe().map_err(|source| CliError::OwnProgram { source })?;
    let program = program.to_str().ok_or_else(|| CliError::OwnProgramName { name: program.display().to_string() })?;
    let server = Server { program: program.to_owned(), arguments: absolute_arguments(&config, flags, &surroundings)? };
    if options.hook {
        let hook::Hook { file, snippet, notes } = hook::hook(client, &server, &files, &config)?;
        if options.json {
            return print_json(&json!({"client": client.name(), "file": file, "snippet": snippet, "notes": notes}));
        }
        let file = file.as_deref().map_or_else(|| "its file of hooks".into(), escape);
        let notes: String = notes.iter().map(|note| format!("# {note}\n")).collect();
        return print(&format!("# {}: add this to {file}.\n{snippet}\n{notes}", client.title()));
    }
    let form = client.form();
    let command = form.command.and_then(|command| command_line(command, &server));
    let snippet = form.snippet.text(&server);
    let file = files.file(client);
    if options.json {
        return print_json(&json!({
            "client": client.name(),
            "command": command,
            "file": file,
            "format": form.snippet.format(),
            "snippet": snippet,
            "server": {"command": server.program, "args": server.arguments},
            "notes": form.of_command.iter().chain(form.notes).chain(form.own_shell.iter()).collect::<Vec<_>>(),
        }));
    }
    let command = command.filter(|_| !options.snippet);
    let notes = form.of_command.iter().filter(|_| command.is_some()).chain(form.notes).chain(form.own_shell.iter());
    let what = match &command {
        Some(command) => format!("# {}: run this.\n{command}\n", client.title()),
        None => {
            let file = file.as_deref().map_or_else(|| "its file of settings".into(), escape);
            format!("# {}: add this to {file}.\n{snippet}\n", client.title())
        }
    };
    print(&format!("{what}{}", notes.map(|note| format!("# {note}\n")).collect::<String>()))
}

fn command_line(command: Command, server: &Server) -> Option<String> {
    let Server { program, arguments } = server;
    let (before, after) = match command {
        Command::Words(before) => (before, [vec![program.clone()], arguments.clone()].concat()),
        Command::ProgramFirst(before) => (before, [vec![program.clone(), "--".to_owned()], arguments.clone()].concat()),
        Command::Json(before) => {
            let json = json!({"name": snippet::NAME, "command": program, "args": arguments});
            (before, vec![snippet::compact(&json)])
        }
    };
    let words: Vec<String> = before.iter().map(|word| (*word).to_owned()).chain(after).collect();
    snippet::command_line(&words)
}

/// Prints which clients are found on this system.
pub(super) fn list(json: bool) -> Result<Outcome, CliError> {
    let surroundings = Surroundings::of_this_process()?;
    let files = ClientFiles::new(&surroundings);
    let search_path = SearchPath::new(surroundings.variable("PATH")).with_endings(surroundings.variable("PATHEXT"));
    let found: Vec<(Client, Option<String>)> =
        Client::ALL.into_iter().map(|client| (client, files.found(client, &search_path))).collect();
    if json {
        let clients: Vec<Value> = found
            .iter()
            .map(|(client, at)| json!({"client": client.name(), "title": client.title(), "found": at, "file": files.file(*client)}))
            .collect();
        return print_json(&json!({ "clients": clients }));
    }
    let lines = found.iter().map(|(client, at)| {
        let at = at.as_deref().map_or_else(|| "not found".into(), escape);
        format!("{:<16}{:<20}{at}\n", client.name(), client.title())
    });
    print(&lines.collect::<String>())
}
