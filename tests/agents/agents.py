"""The agents: their packages, how each is pointed at the stand-in for its model, and how it is told of the server.

A `Place` is what one run of an agent has for itself: an empty home directory, a project to stand in, and the address of the stand-in.
"""

import json
from dataclasses import dataclass
from pathlib import Path

PROMPT = "Run the script."
QUIET = {
    "NO_COLOR": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    # What would leave the machine finds nobody.
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
}


@dataclass
class Place:
    home: Path
    project: Path
    url: str
    mode: str
    # How long the agent waits for a call, in milliseconds.
    patience: int


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1))


def merge(path, value):
    """Adds keys to a JSON file, one level deep."""
    known = json.loads(path.read_text()) if path.exists() else {}
    write(path, known | {key: known.get(key, {}) | one if isinstance(one, dict) else one for key, one in value.items()})


class Agent:
    # What people call it, its name for `allowexec setup`, its npm package, the version, its program, and the modes that are run.
    title = client = package = version = program = ""
    modes = ()
    # Whether its own limit for a call ends a call that reports progress.
    has_call_limit = True

    def model(self, place):
        """Points it at the stand-in; gives variables."""
        raise NotImplementedError

    def server(self, place, words):
        """Tells it of the server by hand, as its manual says."""
        raise NotImplementedError

    def prompt(self, program, place):
        """The words that run the prompt."""
        raise NotImplementedError

    def listing(self, program):
        """The words by which it lists its servers."""
        return [program, "mcp", "list"]

    def is_listed(self, said, words):
        """Whether its list says that it read `words`, and connected where it tries to."""
        return " ".join(words) in said and "connected" in said.lower() and "disconnected" not in said.lower()

    def for_prompt_after_setup(self, place):
        """What the notes of `allowexec setup` say to do besides."""


class ClaudeCode(Agent):
    title = "Claude Code"
    client, package, version, program = "claude-code", "@anthropic-ai/claude-code", "2.1.330", "claude"
    modes = ("auto", "legacy")

    def model(self, place):
        variables = {
            "ANTHROPIC_BASE_URL": place.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",
            "MCP_TOOL_TIMEOUT": str(place.patience),
        }
        return variables | ({"MCP_PROTOCOL_NEGOTIATION": "legacy"} if place.mode == "legacy" else {})

    def server(self, place, words):
        merge(place.home / ".claude.json", {"mcpServers": {"allowexec": {"command": words[0], "args": words[1:]}}})

    def prompt(self, program, place):
        return [program, "-p", PROMPT, "--allowedTools", "mcp__allowexec"]


class Codex(Agent):
    title = "Codex"
    client, package, version, program = "codex", "@openai/codex", "0.169.0", "codex"
    modes = ("auto",)

    def model(self, place):
        write(
            place.home / ".codex/config.toml",
            'model = "stand-in"\nmodel_provider = "stand-in"\n\n[model_providers.stand-in]\nname = "stand-in"\n'
            f'base_url = "{place.url}/v1"\nwire_api = "responses"\nrequires_openai_auth = false\n',
        )
        return {}

    def server(self, place, words):
        # Strings of JSON are strings of TOML, and so are arrays of them.
        self.append(
            place,
            f"\n[mcp_servers.allowexec]\ncommand = {json.dumps(words[0])}\nargs = {json.dumps(words[1:])}\n"
            f'default_tools_approval_mode = "approve"\ntool_timeout_sec = {place.patience / 1000}\n',
        )

    @staticmethod
    def append(place, text):
        with open(place.home / ".codex/config.toml", "a") as file:
            file.write(text)

    def prompt(self, program, place):
        return [program, "exec", "--skip-git-repo-check", PROMPT]

    def listing(self, program):
        return [program, "mcp", "list", "--json"]

    def is_listed(self, said, words):
        # It warns on the same stream that a home directory below /tmp is unusual.
        listed = json.loads(said[said.index("[\n"):])
        return [[one["transport"]["command"], *one["transport"]["args"]] for one in listed] == [words]

    def for_prompt_after_setup(self, place):
        path = place.home / ".codex/config.toml"
        table = "[mcp_servers.allowexec]\n"
        text = path.read_text()
        assert table in text, text
        path.write_text(text.replace(table, f'{table}default_tools_approval_mode = "approve"\n'))


class Copilot(Agent):
    title = "GitHub Copilot CLI"
    client, package, version, program = "copilot", "@github/copilot", "1.0.102", "copilot"
    modes = ("messages", "chat")
    has_call_limit = False

    def model(self, place):
        kind = {"messages": "anthropic", "chat": "openai"}[place.mode]
        return {
            "COPILOT_PROVIDER_TYPE": kind,
            "COPILOT_PROVIDER_BASE_URL": place.url + ("/v1" if kind == "openai" else ""),
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "stand-in",
            "COPILOT_OFFLINE": "true",
        }

    def server(self, place, words):
        entry = {"type": "local", "command": words[0], "args": words[1:], "tools": ["*"]}
        write(place.home / ".copilot/mcp-config.json", {"mcpServers": {"allowexec": entry}})

    def prompt(self, program, place):
        return [program, "-p", PROMPT, "--allow-all-tools", "--disable-builtin-mcps"]

    def listing(self, program):
        return [program, "mcp", "list", "--json"]

    def is_listed(self, said, words):
        entry = json.loads(said[said.index("{"):])["mcpServers"]["allowexec"]
        return [entry["command"], *entry["args"]] == words and entry["enabled"]


class Opencode(Agent):
    title = "opencode"
    client, package, version, program = "opencode", "opencode-ai", "1.18.33", "opencode"
    modes = ("messages", "chat")
    has_call_limit = False

    def model(self, place):
        options = {"baseURL": f"{place.url}/v1", "apiKey": "none"}
        provider = {"options": options, "models": {"stand-in": {}}}
        name = {"messages": "anthropic", "chat": "stand-in"}[place.mode]
        if place.mode == "chat":
            provider["npm"] = "@ai-sdk/openai-compatible"
        model = f"{name}/stand-in"
        settings = {"provider": {name: provider}, "model": model, "small_model": model, "autoupdate": False, "share": "disabled"}
        write(place.project / "opencode.json", settings)
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def server(self, place, words):
        write(place.home / ".config/opencode/opencode.json", {"mcp": {"allowexec": {"type": "local", "command": words}}})

    def prompt(self, program, place):
        return [program, "run", PROMPT]


class GeminiCli(Agent):
    title = "Gemini CLI"
    client, package, version, program = "gemini", "@google/gemini-cli", "0.61.0", "gemini"
    modes = ("auto",)

    def model(self, place):
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True},
        }
        write(place.home / ".gemini/settings.json", settings)
        return {"GOOGLE_GEMINI_BASE_URL": place.url, "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def server(self, place, words):
        entry = {"command": words[0], "args": words[1:], "timeout": place.patience}
        merge(place.home / ".gemini/settings.json", {"mcpServers": {"allowexec": entry}})

    def prompt(self, program, place):
        # With a model that is named it asks no other one which model to take.
        return [program, "-p", PROMPT, "--approval-mode", "yolo", "-m", "gemini-2.5-flash"]


ALL = (ClaudeCode(), Codex(), Copilot(), Opencode(), GeminiCli())
