//! The tool that lists the commands: for each its tool, its arguments if a policy describes them, and examples.

use serde_json::{Map, Value, json};

use super::name::tool_name;
use super::yaml::{quoted_key, write_item, write_text};
use super::{ArgumentError, Arguments, ToolSettings};
use crate::mcp::{CallToolResult, TaskSupport, Tool, ToolAnnotations};
use crate::policy::quoted;

/// A command that a policy describes, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedCommand {
    /// Its name.
    pub name: String,
    /// Its arguments, in one line.
    pub synopsis: String,
}

/// All that a policy allows of a command.
struct Allowed<'s> {
    name: &'s str,
    /// A line for each form of the command and of its subcommands.
    forms: Vec<String>,
    /// Command lines that are allowed.
    examples: Vec<String>,
}

/// The most examples of a command that a model is shown.
const MOST_EXAMPLES: usize = 12;

impl<'s> Allowed<'s> {
    fn of(name: &'s str, settings: &ToolSettings) -> Option<Self> {
        let (forms, mut examples) = settings.rules.shown(name)?;
        examples.truncate(MOST_EXAMPLES);
        Some(Self { name, forms, examples })
    }

    /// The part of it that is about these words, a command with its subcommand; if nothing is, all of it.
    fn about(self, words: &str) -> Self {
        let is_about =
            |line: &&String| line.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        let about = |lines: &[String]| lines.iter().filter(is_about).cloned().collect::<Vec<_>>();
        let forms = about(&self.forms);
        if forms.is_empty() { self } else { Self { forms, examples: about(&self.examples), ..self } }
    }
}

/// How many bytes of a description are at most about the commands' arguments.
const MOST_DESCRIBED: usize = 1000;
/// The longest line about arguments, in characters.
const LONGEST_LINE: usize = 130;

/// The arguments of the commands, for a tool's description: a line each, as long as there is room; empty if no policy
/// describes any.
pub(super) fn synopses(settings: &ToolSettings) -> String {
    if settings.described.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nOf these, the following take no other arguments than:");
    let more = "\n  more: see `list_commands`";
    for command in &settings.described {
        let mut line = format!("\n  {}", command.synopsis);
        if let Some((cut, _)) = line.char_indices().nth(LONGEST_LINE) {
            line.truncate(cut);
            line.push('…');
        }
        if text.len() + line.len() + more.len() > MOST_DESCRIBED {
            text.push_str(more);
            break;
        }
        text.push_str(&line);
    }
    text.push_str("\nA refusal says which argument was wrong; `list_commands` shows all forms, with examples.");
    text
}

/// The tool.
pub(super) fn tool(settings: &ToolSettings) -> Tool {
    let properties = json!({
        "command": {"type": "string", "description": "The command to describe, also with its subcommand (`git log`); without it, all commands."},
    });
    let mut description = if settings.described.is_empty() {
        "Lists the commands that are allowed, the tool of each, and how they are matched. Runs nothing."
    } else {
        "Lists the commands that are allowed, the tool of each, and what arguments they take, with examples. Runs nothing."
    }
    .to_owned();
    if settings.which.has_shell() {
        description.push_str(&super::shell::rules(settings));
    }
    let output_schema = || {
        let commands = json!({
            "type": "object",
            "description": "The commands that are allowed, each with its tool.",
            "additionalProperties": {"type": "string"},
        });
        let lists = |description| {
            let lines = json!({"type": "array", "items": {"type": "string"}});
            json!({"type": "object", "description": description, "additionalProperties": lines})
        };
        let matching = json!({"type": "string", "description": "How a call is matched with a command."});
        json!({
            "type": "object",
            "properties": {
                "commands": commands,
                "arguments": lists("The arguments of a command, a line for each form; a command that is missing here takes any arguments."),
                "examples": lists("Calls of a command that are allowed."),
                "matching": matching,
            },
            "required": ["commands", "matching"],
            "additionalProperties": false,
        })
    };
    Tool {
        name: "list_commands".to_owned(),
        title: "List commands".to_owned(),
        description,
        input_schema: json!({"type": "object", "properties": properties, "additionalProperties": false}),
        output_schema: settings.structured.then(output_schema),
        annotations: ToolAnnotations { read_only: true, destructive: false, idempotent: true, open_world: false },
        max_result_chars: settings.max_result_chars(),
        task_support: TaskSupport::Forbidden,
    }
}

const MATCHING: &str = "Each command has a tool of its own on the one persistent shell, and nothing else can be run there; \
     the tool's name is the command's, with `_` for each character that a tool's name may not have.";

const MATCHING_WITHOUT_SHELL: &str = "The first word of a call must be a command exactly as it is written here.";

const MATCHING_ANY: &str = "Every command is allowed, including those that are not listed here.";

const MATCHING_PROJECT: &str = " `execute_command` and `execute_process` also run any program under the project directory, called \
     by its path, such as `./build`.";

const MATCHING_ARGUMENTS: &str = " Where `arguments` tells of a command, its words must match one of the lines: options in full \
     and exactly as they stand there, every other word in its place; `|` parts alternatives, `[ ]` may be left out, `...` repeats.";

/// The result of a call.
pub(super) fn read(arguments: Map<String, Value>, settings: &ToolSettings) -> Result<CallToolResult, ArgumentError> {
    let mut arguments = Arguments::new(arguments, &["command"])?;
    let asked = arguments.string("command")?;
    let (asked, subcommand) = match asked {
        // `git log` is `git` with a subcommand.
        Some(line) if !settings.entries.contains(&line) => match line.trim().split_once(' ') {
            Some((command, _)) => {
                (Some(command.to_owned()), Some(line.split_whitespace().collect::<Vec<_>>().join(" ")))
            }
            None => (Some(line), None),
        },
        asked => (asked, None),
    };
    match asked {
        Some(command) if !settings.entries.contains(&command) && !settings.allows_any => {
            let command = quoted(&command);
            Ok(CallToolResult::error(match (settings.entries.is_empty(), settings.allows_project) {
                (true, false) => format!("command {command} is not allowed, and no other is"),
                (_, true) => format!("command {command} is not listed; allowed commands: {}", settings.allowed),
                (false, false) => {
                    format!("command {command} is not allowed; allowed commands: {}", settings.entries.join(", "))
                }
            }))
        }
        asked => Ok(list(settings, asked.as_deref(), subcommand.as_deref())),
    }
}

/// Lists the commands, or `only` one, or what is allowed of the words of one with its `subcommand`.
fn list(settings: &ToolSettings, only: Option<&str>, subcommand: Option<&str>) -> CallToolResult {
    let is_asked = |name: &str| only.is_none_or(|only| only == name);
    let entries: Vec<&String> = settings.entries.iter().filter(|entry| is_asked(entry)).collect();
    let tool_of = |entry: &str| match settings.which.has_shell() {
        true => tool_name(entry),
        false => "execute_command".to_owned(),
    };
    let described = settings.described.iter().filter(|command| is_asked(&command.name));
    let allowed = described.filter_map(|command| Allowed::of(&command.name, settings));
    let allowed: Vec<Allowed<'_>> = match subcommand {
        Some(words) => allowed.map(|of| of.about(words)).collect(),
        None => allowed.collect(),
    };
    let mut matching = match settings.which.has_shell() {
        true => MATCHING,
        false if settings.allows_any => MATCHING_ANY,
        false => MATCHING_WITHOUT_SHELL,
    }
    .to_owned();
    if settings.allows_project && !settings.allows_any {
        matching.push_str(MATCHING_PROJECT);
    }
    if !settings.described.is_empty() {
        matching.push_str(MATCHING_ARGUMENTS);
    }
    let mut text = String::from(if entries.is_empty() { "commands: {}\n" } else { "commands:\n" });
    for entry in &entries {
        text.push_str("  ");
        write_text(&mut text, &quoted_key(entry), &tool_of(entry));
    }
    let commands: Map<String, Value> = entries.iter().map(|entry| ((*entry).clone(), tool_of(entry).into())).collect();
    let mut content = json!({"commands": commands, "matching": matching});
    type Lines = for<'l> fn(&'l Allowed<'_>) -> &'l Vec<String>;
    let lists: [(&str, Lines); 2] =
        [("arguments", |command| &command.forms), ("examples", |command| &command.examples)];
    for (key, of) in lists {
        let with: Vec<_> = allowed.iter().filter(|command| !of(command).is_empty()).collect();
        if with.is_empty() {
            continue;
        }
        text.push_str(&format!("{key}:\n"));
        for command in &with {
            text.push_str(&format!("  {}:\n", quoted_key(command.name)));
            of(command).iter().for_each(|line| write_item(&mut text, "    ", line));
        }
        let lists: Map<String, Value> =
            with.iter().map(|command| (command.name.to_owned(), of(command).clone().into())).collect();
        if let Some(content) = content.as_object_mut() {
            content.insert(key.to_owned(), lists.into());
        }
    }
    write_text(&mut text, "matching", &matching);
    CallToolResult { text, structured_content: settings.structured.then_some(content), is_error: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Lines;
    #[cfg(unix)]
    use crate::policy::rules::{PolicyText, Rules};
    use crate::tools::WhichTools;
    use std::sync::Arc;
    use std::time::Duration;

    fn settings(which: WhichTools, entries: &[&str]) -> ToolSettings {
        ToolSettings {
            allowed: String::new(),
            which,
            entries: entries.iter().map(|&entry| entry.to_owned()).collect(),
            allows_any: false,
            allows_project: false,
            lines: Lines::Off,
            described: Vec::new(),
            rules: Arc::default(),
            read_only: Vec::new(),
            timeout: Duration::from_secs(30),
            max_timeout: Duration::from_secs(600),
            max_output: 0,
            structured: true,
            sandbox: None,
            background: None,
        }
    }

    #[test]
    fn the_list_names_each_command_with_its_tool() {
        let settings = settings(WhichTools::Shell, &["ls", "g++", "yes", "1:20", "/opt/a: b", "/opt/\u{2028}\u{feff}"]);
        let result = list(&settings, None, None);
        let commands = "commands:\n  \"ls\": ls\n  \"g++\": g__\n  \"yes\": 'yes'\n  \"1:20\": '1_20'\n  \"/opt/a: b\": _opt_a__b\n  \
                        \"/opt/\\u2028\\ufeff\": _opt___\nmatching: ";
        assert!(result.text.starts_with(commands), "{}", result.text);
        let text: Value = serde_yaml::from_str(&result.text).unwrap();
        assert_eq!(result.structured_content.as_ref(), Some(&text));
        jsonschema::draft202012::new(&tool(&settings).output_schema.unwrap()).unwrap().validate(&text).unwrap();
    }

    // The lines of examples are split by the rules of a POSIX shell.
    #[cfg(unix)]
    #[test]
    fn what_a_policy_says_of_a_command_stands_beside_it_and_can_be_asked_for_alone() {
        let text = "commands: {git: {subcommands: {status: any, log: {options: {--oneline: flag}, operands: \
                    [{text: {chars: 'a-z: '}}]}}, examples: {allow: [\"git log 'a: b'\"]}}}";
        let text = PolicyText { file: "p.yaml".into(), text: text.to_owned() };
        let rules = Rules::load(&[text], &[], &[]);
        if !crate::config::Feature::Rules.is_built() {
            assert!(rules.unwrap_err().to_string().contains("it was built without `rules`"));
            return;
        }
        let rules = Arc::new(rules.unwrap());
        let git = DescribedCommand { name: "git".to_owned(), synopsis: "git log|status".to_owned() };
        let settings = ToolSettings { described: vec![git], rules, ..settings(WhichTools::Execute, &["ls", "git"]) };
        for only in [None, Some("git"), Some("ls")] {
            let result = list(&settings, only, None);
            let text: Value = serde_yaml::from_str(&result.text).unwrap();
            assert_eq!(result.structured_content.as_ref(), Some(&text));
            jsonschema::draft202012::new(&tool(&settings).output_schema.unwrap()).unwrap().validate(&text).unwrap();
            assert_eq!(text["commands"]["git"].is_string(), only != Some("ls"), "{only:?}");
            assert_eq!(text["arguments"]["git"][0].is_string(), only != Some("ls"), "{only:?}");
        }
        let call = |command: &str| {
            let arguments = json!({"command": command});
            read(arguments.as_object().unwrap().clone(), &settings).unwrap()
        };
        assert_eq!(call("rm").text, "command `rm` is not allowed; allowed commands: ls, git");
        assert!(synopses(&settings).contains("\n  git log|status\n"), "{}", synopses(&settings));
    }

    #[test]
    fn it_is_there_with_every_set_of_tools_and_can_be_asked_about_one_command() {
        for which in [WhichTools::Execute, WhichTools::Shell, WhichTools::All] {
            let toolbox = crate::tools::Toolbox::new(settings(which, &["ls", "cat"]));
            let tool = toolbox.list().find(|tool| tool.name == "list_commands").unwrap();
            assert!(tool.input_schema["properties"]["command"].is_object(), "{which:?}");
        }
        let read = |settings: &ToolSettings, command: &str| {
            read(json!({"command": command}).as_object().unwrap().clone(), settings).unwrap()
        };
        let some = settings(WhichTools::Execute, &["ls", "cat"]);
        assert!(read(&some, "cat").text.starts_with("commands:\n  \"cat\": execute_command\nmatching: "));
        let none = settings(WhichTools::Execute, &[]);
        assert_eq!(read(&none, "ls").text, "command `ls` is not allowed, and no other is");
        let of_project = ToolSettings { allows_project: true, allowed: "those".to_owned(), ..none.clone() };
        assert_eq!(read(&of_project, "rm").text, "command `rm` is not listed; allowed commands: those");
        let text = list(&of_project, None, None).text;
        assert!(text.contains("any program under the project directory") && !text.contains("Every command"), "{text}");
        let any = ToolSettings { allows_any: true, ..none };
        assert!(read(&any, "ls").text.contains("Every command is allowed"), "{}", read(&any, "ls").text);
    }

    #[test]
    fn descriptions_stay_short_whatever_policies_say() {
        let command = |number: usize| DescribedCommand {
            name: format!("c{number}"),
            synopsis: format!("c{number} {}", "[--option VALUE] ".repeat(number)),
        };
        let settings =
            ToolSettings { described: (0..100).map(command).collect(), ..settings(WhichTools::Execute, &[]) };
        let text = synopses(&settings);
        assert!(text.len() < MOST_DESCRIBED + 100 && text.contains("more: see `list_commands`"), "{}", text.len());
    }
}
