//! The prompt `explain_refusal`: what the policy decides about a command, and what a model should do next.

use serde_json::json;

use crate::mcp::Tool;
use crate::policy::{AllowList, CommandLineError, Refusal, Verdict, quoted};

/// The text of the prompt, for a verdict from the same code that decides on calls.
pub fn explain_refusal(command: &str, tools: &[&Tool], allow: &AllowList, verdict: &Verdict) -> String {
    let shown = quoted(command);
    match &verdict.refusal {
        None => format!(
            "The command {shown} would not be refused: it may run by {}.\n\n{}\nNothing was run to find this out. The result \
             of the call tells the rest: `exit_code`, `stdout` and `stderr`; an `exit_code` other than 0 comes from the program and \
             isn't a refusal. A call with a `cwd` can still be refused for its directory.\n",
            rule(verdict),
            how_to_call(command, tools)
        ),
        Some(refusal) => format!(
            "The command {shown} {}: {refusal}\n\nNothing was run to find this out.\n\nWhat to do instead:\n{}\
             - The allowed commands are: {}. Names are compared exactly, and {}.\n\
             - A refusal is the operator's rule and not a mistake of the server: do not try the same through another program, an \
             interpreter, a path or an encoding. If no allowed command can do it, tell the user, who can ask the \
             operator to allow more.\n",
            if refusal.needs_approval() { "runs only if a person approves it" } else { "would be refused" },
            instead(refusal, allow),
            allow.summary(),
            if allow.rules().is_empty() {
                "only the first word counts"
            } else {
                "if a command has rules, its arguments count too"
            }
        ),
    }
}

fn rule(verdict: &Verdict) -> String {
    verdict.explanation.rule.as_ref().map_or_else(|| "a rule of the operator".to_owned(), ToString::to_string)
}

fn how_to_call(command: &str, tools: &[&Tool]) -> String {
    if tools.iter().any(|tool| tool.name == "execute_command") {
        return format!("Call `execute_command` with {}.\n", json!({"command": command}));
    }
    "Call the tool of that command, with the rest of the line as `arguments`.\n".to_owned()
}

/// The steps that fit this refusal, one on each line.
fn instead(refusal: &Refusal, allow: &AllowList) -> String {
    match refusal {
        Refusal::CommandLine(CommandLineError::Unreadable { .. }) => {
            "- Write the line without what the reason above names, or put it in single quotes if it belongs to an argument.\n".to_owned()
        }
        Refusal::CommandLine(_) => "- Send one program with plain arguments: instead of `&&`, `;` and `|` make one call after the other, \
             and read the output of the first before the second; instead of `cd` give the directory as `cwd`; instead of \
             `<` give the text as `input`.\n\
             - If the characters belong to an argument, put the argument in single quotes, or call `execute_process` with \
             `args`, which are passed on as they are.\n"
            .to_owned(),
        Refusal::NotAllowed { word, .. } => {
            let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_lowercase();
            let meant = allow.names().iter().find(|known| **known == name && known != &word);
            meant.map_or_else(
                || "- Look for an allowed command that does the same, and call that.\n".to_owned(),
                |meant| format!("- Call `{meant}` by exactly that name.\n"),
            )
        }
        Refusal::Arguments { .. } => {
            "- The command itself is allowed: call it with the arguments that its rule takes; `list_commands` shows them.\n"
                .to_owned()
        }
        Refusal::NeedsApproval(_) | Refusal::ChangedSinceApproval { .. } => {
            "- Call it if it is needed: a person is asked if the server can ask one. Otherwise go on without it, or tell the \
             user what should be run and why.\n"
                .to_owned()
        }
        Refusal::Line(_) => {
            "- Leave out the command that is refused, or call the others by themselves.\n".to_owned()
        }
        Refusal::Variable { .. } => "- Call it without that variable.\n".to_owned(),
        Refusal::Input { .. } => "- Call it without `input`.\n".to_owned(),
        Refusal::OutsideOfRule { .. } => "- Name one of these directories as `cwd`.\n".to_owned(),
        Refusal::InShell { .. } => {
            "- The command itself is allowed: call it in a way that the reason above does not rule out.\n".to_owned()
        }
        Refusal::Directory(_) => {
            "- The command itself is allowed: name a `cwd` that the reason above does not rule out.\n".to_owned()
        }
        Refusal::Untrusted { .. } => {
            "- The command is allowed, but its program is not trusted: tell the user what the reason above says.\n".to_owned()
        }
        Refusal::ProgramNotFound { .. } => {
            "- The command is allowed, but not installed where the server looks: use another one, or tell the user.\n"
                .to_owned()
        }
    }
}

// These use the names and programs of Unix; the differences on Windows are tested with the code that makes them.
#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::policy::rules::{Effect, ListEntry, Rules};
    use crate::policy::{CommandLine, Directories, DirectorySettings, Policy, Programs, SearchPath};

    fn explain(allowed: &[&str], command: &str) -> String {
        explain_by(AllowList::new(allowed.iter().map(|&name| name.to_owned())), command)
    }

    fn explain_by(allow: AllowList, command: &str) -> String {
        let directories = Directories::new(DirectorySettings { server: "/".into(), ..DirectorySettings::default() });
        let programs = Programs::new(SearchPath::new(Some("/bin:/usr/bin".as_ref())), "/".into());
        let decision = Policy::new(allow.clone(), directories, programs).examine(CommandLine::parse(command), None);
        let verdict = Verdict { explanation: decision.explanation, refusal: decision.outcome.err() };
        explain_refusal(command, &[], &allow, &verdict)
    }

    #[test]
    fn each_kind_of_refusal_has_its_own_way_out() {
        for (command, reason, way) in [
            ("rm -rf x", "command `rm` is not allowed; allowed commands: ls, no-such-program", "Look for an allowed"),
            (
                "/bin/ls",
                "command `/bin/ls` is not allowed; call it by its name alone",
                "Call `ls` by exactly that name",
            ),
            ("LS", "command `LS` is not allowed", "Call `ls` by exactly that name"),
            ("ls | wc", "`|` outside quotes is shell syntax", "one call after the other"),
            ("ls 'x", "are not balanced", "single quotes"),
            ("", "the command is empty", "one program with plain arguments"),
            ("no-such-program", "was not found", "not installed where the server looks"),
        ] {
            let text = explain(&["ls", "no-such-program"], command);
            assert!(text.contains("would be refused: ") && text.contains(reason) && text.contains(way), "{text}");
        }
    }

    #[test]
    fn what_a_person_has_to_approve_is_not_said_to_be_refused() {
        let asked = ListEntry { text: "ls".to_owned(), effect: Effect::Ask };
        let rules = Rules::load(&[], &[], &[asked]);
        if !crate::policy::rules::IS_BUILT {
            assert!(rules.unwrap_err().to_string().contains("it was built without `rules`"));
            return;
        }
        let allow = AllowList::new([]).with_rules(Arc::new(rules.unwrap()));
        let text = explain_by(allow, "ls x");
        assert!(text.starts_with("The command `ls x` runs only if a person approves it: "), "{text}");
    }

    #[test]
    fn what_would_run_is_said_to_run() {
        let text = explain(&["ls"], "ls -l");
        assert!(
            text.starts_with("The command `ls -l` would not be refused: it may run by the entry `ls` of"),
            "{text}"
        );
    }
}
