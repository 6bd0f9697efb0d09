use super::*;
use crate::mcp::Revision;

#[test]
fn rules_and_limits_come_first_and_descriptions_stay_below_what_clients_cut() {
    let entries: Vec<String> = (0..300).map(|number| format!("some-command-{number}")).collect();
    let described = |name: &String| DescribedCommand {
        name: name.clone(),
        synopsis: format!("{name} [--option VALUE]... FILE..."),
    };
    let settings = |which| ToolSettings {
        allowed: entries.join(", "),
        which,
        described: entries.iter().take(200).map(described).collect(),
        rules: Arc::default(),
        entries: entries.clone(),
        read_only: Vec::new(),
        allows_any: false,
        allows_project: false,
        lines: Lines::Off,
        timeout: Duration::from_secs(30),
        max_timeout: Duration::from_secs(600),
        max_output: 16 * 1024,
        structured: false,
        sandbox: Some("Sandbox: workspace.".to_owned()),
        background: Some(BackgroundSettings {
            keeps_output: true,
            max_wait: Duration::from_secs(600),
            max_background: Duration::from_secs(3600),
            most_calls: 8,
            hand_over: Duration::from_secs(50),
        }),
    };
    let toolbox = Toolbox::new(settings(WhichTools::Execute));
    for (kind, tool) in toolbox.tools() {
        assert!(tool.description.len() < 4000, "{}: {}", tool.name, tool.description.len());
        if matches!(kind, ToolKind::Execute(_)) {
            let start = tool.description.get(..2000).unwrap_or(&tool.description);
            let parts = ["ONLY for non-interactive", "no shell"];
            // The other tools refer to this one.
            let more: &[&str] = match tool.name.as_str() {
                "execute_command" => &["`cwd`", "30 s a call", "16384 bytes", "Sandbox: workspace."],
                _ => &["with the rules and limits of `execute_command`"],
            };
            for part in parts.iter().chain(more) {
                assert!(start.contains(part), "{part}: {start}");
            }
            assert!(start.contains("Allowed commands: some-command-0, some-command-1"));
            assert!(tool.description.contains(" more (see `list_commands`)"), "{}", tool.description);
        }
    }
    assert!(toolbox.list().any(|tool| tool.name == "list_commands"));
    assert_eq!(shortened_list("one, two, three", 9, "rest"), "one, and 2 more (rest)");
    assert_eq!(shortened_list("one, two", 8, "rest"), "one, two");
    if !crate::config::Feature::Shell.is_built() {
        return;
    }
    // What 300 tools have in common is written only once.
    let toolbox = Toolbox::new(settings(WhichTools::Shell));
    let one_by_one = |(kind, _): &&(ToolKind, Tool)| matches!(kind, ToolKind::Shell(tool) if tool.entry().is_some());
    assert!(toolbox.tools().iter().filter(one_by_one).all(|(_, tool)| tool.description.len() < 320));
    let list = toolbox.list().find(|tool| tool.name == "list_commands").unwrap();
    assert!(list.description.contains("30 s a call") && list.description.contains("quoting rules"));
}

#[test]
fn clients_hear_how_much_to_show_where_the_operator_raised_the_bound() {
    let settings = |max_output| ToolSettings {
        allowed: String::new(),
        which: WhichTools::All,
        entries: vec!["ls".to_owned()],
        allows_any: false,
        allows_project: false,
        lines: Lines::Off,
        described: Vec::new(),
        rules: Arc::default(),
        read_only: Vec::new(),
        timeout: Duration::from_secs(30),
        max_timeout: Duration::from_secs(600),
        max_output,
        structured: false,
        sandbox: None,
        background: None,
    };
    for (max_output, expected) in
        [(16 * 1024, None), (100, None), (20_000, Some(60_000)), (1 << 40, Some(500_000)), (0, Some(500_000))]
    {
        for (_, tool) in Toolbox::new(settings(max_output)).tools() {
            assert_eq!(tool.max_result_chars, expected, "{max_output} {}", tool.name);
            let meta = |revision| tool.to_value(revision)["_meta"]["anthropic/maxResultSizeChars"].as_u64();
            assert_eq!(meta(Revision::V2025_06_18), expected);
            assert_eq!(meta(Revision::V2025_03_26), None);
        }
    }
}
