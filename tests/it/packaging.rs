//! What stands under `.github` is pinned, asks for little, and agrees with the program.

use std::path::{Path, PathBuf};

use serde_json::Value;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn github(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".github").join(path)
}

fn text(path: &str) -> String {
    std::fs::read_to_string(github(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn json(path: &str) -> Value {
    serde_json::from_str(&text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The owner of the repository, from the one place that says who it is.
fn owner() -> &'static str {
    env!("CARGO_PKG_REPOSITORY").split('/').nth(3).expect("a repository on GitHub")
}

/// The name of the server in the registry.
fn server_name() -> String {
    format!("io.github.{}/allowexec", owner())
}

fn package(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packages").join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The workflows by name, as values.
fn workflows() -> Vec<(String, Value)> {
    let files = std::fs::read_dir(github("workflows")).expect("workflows");
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let workflow = |name: String| {
        let value = serde_yaml::from_str(&text(&format!("workflows/{name}"))).expect("a workflow is YAML");
        (name, value)
    };
    names.map(workflow).collect()
}

/// The steps of all jobs of a workflow.
fn steps(workflow: &Value) -> impl Iterator<Item = &Value> {
    let jobs = workflow["jobs"].as_object().expect("jobs");
    jobs.values().flat_map(|job| job["steps"].as_array().expect("steps"))
}

#[test]
fn every_action_is_pinned_by_a_full_hash_and_names_its_version() {
    let mut pinned = 0;
    for (name, workflow) in workflows() {
        for action in steps(&workflow).filter_map(|step| step["uses"].as_str()) {
            let (repository, hash) = action.split_once('@').expect("an action has a version");
            let full = hash.len() == 40 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            assert!(full, "{name}: `{action}` is not pinned by a full hash");
            assert!(repository.starts_with("actions/"), "{name}: `{action}` is not one of the platform's own");
            assert!(text(&format!("workflows/{name}")).contains(&format!("{action} # v")), "{name}: `{action}`");
            pinned += 1;
        }
    }
    assert!(pinned >= 8, "the workflows were not read: {pinned}");
}

#[test]
fn workflows_may_only_read_and_what_a_job_may_write_is_known() {
    let mut writes = Vec::new();
    for (name, workflow) in workflows() {
        assert_eq!(workflow["permissions"], serde_json::json!({"contents": "read"}), "{name}");
        for (job, value) in workflow["jobs"].as_object().unwrap() {
            assert!(value["timeout-minutes"].is_u64(), "{name}: {job} has no time limit");
            for (scope, access) in value["permissions"].as_object().into_iter().flatten() {
                if access != "read" {
                    writes.push(format!("{name}: {job}: {scope}"));
                }
            }
        }
        for step in steps(&workflow) {
            if step["uses"].as_str().is_some_and(|action| action.starts_with("actions/checkout@")) {
                assert_eq!(step["with"]["persist-credentials"], false, "{name}: a checkout leaves its token behind");
            }
            // What others choose (titles, branches) would be read by a shell.
            let script = step["run"].as_str().unwrap_or_default();
            assert!(!script.contains("${{ github."), "{name}: {script}");
        }
    }
    writes.sort();
    let publish = ["id-token", "packages"].map(|scope| format!("release.yml: publish: {scope}"));
    let release = ["attestations", "contents", "id-token"].map(|scope| format!("release.yml: release: {scope}"));
    assert_eq!(writes, [&publish[..], &release[..]].concat());
}

#[test]
fn the_workflow_in_the_guide_is_as_careful_as_the_projects_own() {
    let page = include_str!("../../spec/guide/transcripts.md");
    let (_, block) = page.split_once("```yaml\n# .github/workflows/transcripts.yml\n").expect("the page shows it");
    let block = block.split("```").next().unwrap();
    let workflow: Value = serde_yaml::from_str(block).expect("a workflow is YAML");
    assert_eq!(workflow["permissions"], serde_json::json!({"contents": "read"}));
    let own: String = workflows().iter().map(|(name, _)| text(&format!("workflows/{name}"))).collect();
    let actions: Vec<&str> =
        block.lines().filter_map(|line| line.split_once("uses: ").map(|(_, action)| action)).collect();
    assert_eq!(actions.len(), 2);
    for action in actions {
        assert!(own.contains(action), "{action} is not one that the project uses itself");
    }
}

#[test]
fn the_workflows_cover_each_system_and_the_minimum_rust() {
    let check = text("workflows/check.yml");
    for system in ["ubuntu-", "macos-", "windows-"] {
        assert!(check.contains(system), "no tests on {system}");
    }
    let minimum = concat!("cargo +", env!("CARGO_PKG_RUST_VERSION"), ".0 check --locked --all-targets");
    assert!(check.contains(minimum), "{minimum}");
    // What is more than a line is the project's own script, which CI runs beside the workflows.
    for script in
        ["tests/package/vendor.sh", "tests/package/packages.sh", "tests/package/files.sh", "tests/remote/ssh.sh"]
    {
        assert!(check.contains(script), "{script}");
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(script).is_file(), "{script}");
    }
    let release = text("workflows/release.yml");
    for part in [
        "cargo auditable build",
        "--profile dist",
        "cargo cyclonedx",
        "attest-build-provenance@",
        "SHA256SUMS",
        "completions",
        "pack.sh",
        "packages/build.sh",
    ] {
        assert!(release.contains(part), "the release lacks {part}");
    }
}

#[test]
fn the_image_holds_the_binary_alone_and_does_not_run_as_root() {
    let instructions: Vec<String> = text("Dockerfile")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(str::to_owned)
        .collect();
    let expected = [
        "FROM scratch",
        &format!("ARG OWNER={}", owner()),
        &format!("ARG VERSION={VERSION}"),
        "LABEL io.modelcontextprotocol.server.name=\"io.github.${OWNER}/allowexec\" \\",
        "    org.opencontainers.image.source=\"https://github.com/${OWNER}/allowexec\" \\",
        "    org.opencontainers.image.version=\"${VERSION}\" \\",
        "    org.opencontainers.image.licenses=\"MIT OR Apache-2.0\"",
        "COPY allowexec /allowexec",
        "USER 65534:65534",
        "ENTRYPOINT [\"/allowexec\"]",
    ];
    assert_eq!(instructions, expected);
}

#[test]
fn the_bundle_starts_the_server_with_what_its_user_chose() {
    let manifest = json("bundle/manifest.json");
    assert_eq!(manifest["version"], VERSION);
    let config = &manifest["server"]["mcp_config"];
    let asked: Vec<&String> = manifest["user_config"].as_object().unwrap().keys().collect();
    assert_eq!(asked, ["allow", "directory"]);
    for (_, question) in manifest["user_config"].as_object().unwrap() {
        assert_eq!(question["required"], true, "without an answer the text of the placeholder would be the value");
    }
    let directory = tempfile::tempdir().unwrap();
    let own = match std::env::consts::OS {
        "macos" => &config["platform_overrides"]["darwin"]["args"],
        "windows" => &config["platform_overrides"]["win32"]["args"],
        _ => &config["args"],
    };
    let arguments: Vec<String> = own
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| {
            let argument = argument.as_str().unwrap().replace("${user_config.allow}", "ls, cat");
            argument.replace("${user_config.directory}", directory.path().to_str().unwrap())
        })
        .collect();
    assert!(!arguments.concat().contains("${"), "{arguments:?}");
    let mut server = crate::support::Server::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    server.initialize("2025-06-18");
    let listed = server.request("tools/list", serde_json::json!({}));
    let names =
        |tools: &Value| -> Vec<Value> { tools.as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect() };
    assert_eq!(names(&listed["result"]["tools"]), names(&manifest["tools"]));
    let inside = |path: &str| text("bundle/pack.sh").contains(path.trim_start_matches("${__dirname}/"));
    assert!(inside(config["command"].as_str().unwrap()));
    assert_eq!(config["command"], format!("${{__dirname}}/{}", manifest["server"]["entry_point"].as_str().unwrap()));
    for (system, replaced) in config["platform_overrides"].as_object().unwrap() {
        assert!(inside(replaced["command"].as_str().unwrap()), "{system}");
        // All that they lack is the sandbox.
        let own: Vec<&Value> = replaced["args"].as_array().unwrap().iter().collect();
        let of_linux: Vec<&Value> = config["args"].as_array().unwrap().iter().collect();
        assert_eq!([&own[..], &[&Value::from("--sandbox"), &Value::from("workspace")]].concat(), of_linux, "{system}");
    }
}

#[test]
fn the_registry_s_entry_follows_its_schema_and_names_real_variables() {
    let entry = json("server.json");
    assert_eq!(entry["version"], VERSION);
    assert_eq!(entry["repository"]["url"], env!("CARGO_PKG_REPOSITORY"));
    let packages = entry["packages"].as_array().unwrap();
    let types: Vec<&str> = packages.iter().map(|package| package["registryType"].as_str().unwrap()).collect();
    assert_eq!(types, ["npm", "pypi", "oci", "mcpb"]);
    for package in packages {
        let identifier = package["identifier"].as_str().unwrap();
        assert!(package["version"] == VERSION || identifier.ends_with(&format!(":{VERSION}")), "{package}");
        for variable in package["environmentVariables"].as_array().unwrap() {
            let name = variable["name"].as_str().unwrap();
            assert!(allowexec::config::SETTINGS.iter().any(|spec| spec.variable == name), "no setting reads {name}");
        }
    }
    // The registry's own rules, which hold without its schema.
    assert_eq!(entry["name"], server_name());
    assert!(entry["description"].as_str().unwrap().len() <= 100);
    assert_eq!(packages[3]["fileSha256"].as_str().unwrap().len(), 64);
    // The schema is no part of the project; it lies beside the protocol's where they are had.
    let Some(directory) = std::env::var_os("MCP_SCHEMA_DIR") else { return };
    let Ok(schema) = std::fs::read(Path::new(&directory).join("registry/server.schema.json")) else { return };
    let schema: Value = serde_json::from_slice(&schema).expect("the schema is JSON");
    assert_eq!(entry["$schema"], schema["$id"], "another version of the schema");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&entry).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn the_packages_and_pages_name_the_owner_that_the_manifest_names() {
    assert_eq!(env!("CARGO_PKG_HOMEPAGE"), env!("CARGO_PKG_REPOSITORY"));
    assert_eq!(package("npm/allowexec/package.json")["mcpName"], server_name());
    // The registry looks for this line on the page of the package.
    let line = format!("mcp-name: {}", server_name());
    assert!(include_str!("../../README.md").lines().any(|found| found.contains(&line)), "{line}");
    let page = include_str!("../../spec/guide/install.md");
    assert!(page.contains(&format!("--repo {}/allowexec", owner())));
}

#[test]
fn the_main_package_of_npm_brings_the_binary_of_each_platform() {
    let main = package("npm/allowexec/package.json");
    let mut platforms: Vec<String> = Vec::new();
    for (name, _) in main["optionalDependencies"].as_object().unwrap() {
        let platform = name.strip_prefix("@allowexec/").unwrap();
        let own = package(&format!("npm/{platform}/package.json"));
        let (system, cpu) = platform.split_once('-').unwrap();
        assert_eq!((&own["name"], &own["os"][0], &own["cpu"][0]), (&name.as_str().into(), &system.into(), &cpu.into()));
        assert!(own["files"][0].as_str().unwrap().starts_with("bin/allowexec") && own["libc"].is_null());
        assert!(own["scripts"].is_null() && main["scripts"].is_null(), "a script runs at installation");
        platforms.push(platform.to_owned());
    }
    assert_eq!(platforms, ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64", "win32-x64"]);
}

/// The hook of the plugin for Claude Code, as its shell starts it.
#[cfg(target_os = "linux")]
#[test]
fn the_plugin_asks_the_hook_where_the_project_has_settings() {
    use std::io::Write;
    use std::process::{Command, Stdio};

    let hooks = &package("plugin/.claude-plugin/plugin.json")["hooks"]["PreToolUse"];
    let printed = Command::new(env!("CARGO_BIN_EXE_allowexec"))
        .args(["setup", "claude-code", "--hook", "--json", "--allow", "echo"])
        .output()
        .unwrap();
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let printed: Value = serde_json::from_str(printed["snippet"].as_str().unwrap()).unwrap();
    assert_eq!(hooks[0]["matcher"], printed["hooks"]["PreToolUse"][0]["matcher"]);
    let command = hooks[0]["hooks"][0]["command"].as_str().unwrap();
    let place = tempfile::tempdir().unwrap();
    let (project, programs) = (place.path().join("a project"), place.path().join("programs"));
    std::fs::create_dir(&project).unwrap();
    std::fs::create_dir(&programs).unwrap();
    let ask = |line: &str| {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
        // The path of the project has a blank, which is only written for a shell that is known: this agent's is, also without SHELL.
        shell.env("CLAUDE_PROJECT_DIR", &project).env_remove("SHELL").current_dir(&project);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let event = serde_json::json!({
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": line}, "cwd": project,
        });
        // A hook that is not started reads nothing.
        let _ = shell.stdin.take().unwrap().write_all(event.to_string().as_bytes());
        let output = shell.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(ask("rm x"), (Some(0), String::new()), "it has an opinion without settings");
    let settings = project.join("allowexec.yaml");
    std::fs::write(&settings, "allow: [echo]\nlines: on\n").unwrap();
    assert_eq!(ask("echo a"), (Some(2), String::new()), "the line runs though the program is missing");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_allowexec"), programs.join("allowexec")).unwrap();
    for (line, decision) in [("echo a | echo b", "\"allow\""), ("rm x", "\"deny\""), ("echo a; rm x", "\"deny\"")] {
        let (status, said) = ask(line);
        assert!(status == Some(0) && said.contains(decision), "{line}: {status:?} {said}");
        assert_eq!(said.contains(" run "), decision == "\"allow\"", "{line}: {said}");
    }
    std::fs::write(&settings, "alow: [echo]\n").unwrap();
    assert_eq!(ask("echo a"), (Some(2), String::new()), "the line runs though the settings are wrong");
}

#[test]
fn the_plugin_starts_the_server_with_the_settings_of_the_project() {
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("allowexec.yaml"), "allow: [echo]\n").unwrap();
    let plugin = project.path().join(".agents/plugins/allowexec");
    std::fs::create_dir_all(&plugin).unwrap();
    let at = |path: &Path| path.to_str().unwrap().to_owned();
    let manifests = [
        package("plugin/mcp.json"),
        package("plugin/.claude-plugin/plugin.json"),
        package("plugin/gemini-extension.json"),
    ];
    for manifest in &manifests {
        let server = &manifest["mcpServers"]["allowexec"];
        assert_eq!(server["command"], "allowexec");
        let argument = |argument: &Value| {
            let text = argument.as_str().unwrap().replace("${PLUGIN_ROOT}", &at(&plugin)).replace("${/}", "/");
            text.replace("${CLAUDE_PROJECT_DIR}", &at(project.path())).replace("${workspacePath}", &at(project.path()))
        };
        let arguments: Vec<String> = server["args"].as_array().unwrap().iter().map(argument).collect();
        let mut server = crate::support::Server::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        server.initialize("2025-06-18");
        let listed = server.request("tools/list", serde_json::json!({}));
        assert!(listed["result"]["tools"][0]["description"].as_str().unwrap().contains("echo"), "{arguments:?}");
    }
    let portable = package("plugin/plugin.json");
    for manifest in [&portable, &manifests[1], &manifests[2]] {
        assert_eq!((&manifest["name"], &manifest["version"]), (&"allowexec".into(), &VERSION.into()));
    }
    for (manifest, schema) in [(&portable, "plugin"), (&manifests[0], "mcp")] {
        assert_eq!(manifest["$schema"], format!("https://agent-plugins.org/schemas/1.0.0/{schema}.schema.json"));
    }
    // The skill names tools that there are, and has the name of its directory.
    let skill = include_str!("../../packages/plugin/skills/allowexec/SKILL.md");
    assert!(skill.starts_with("---\nname: allowexec\ndescription: "));
    let mut server = crate::support::Server::start(&["--allow", "echo"]);
    server.initialize("2025-06-18");
    let listed = server.request("tools/list", serde_json::json!({}));
    let tools: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for word in skill.split('`').skip(1).step_by(2).filter(|word| word.contains('_') && !word.contains(['=', ':', ' ']))
    {
        let is_argument = ["exit_code", "timeout_ms", "wait_ms", "allowexec_yaml"].contains(&word);
        assert!(is_argument || tools.contains(&word), "the skill names `{word}`");
    }
}
