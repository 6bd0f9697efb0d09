"""Has the own shell of every agent ask `allowexec hook`, with a stand-in for its model, and checks what runs and what the model hears.

usage: hooks.py KEPT ALLOWEXEC

KEPT is the directory that run.sh installs into. `allowexec setup AGENT --hook` says what goes into which file. Exits with 1 where
anything failed; an agent that is not installed is left out.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import agents
from model import Model

KEPT, ALLOWEXEC = (str(Path(path).resolve()) for path in sys.argv[1:3])
WORK = Path(tempfile.mkdtemp(prefix="allowexec-hooks-", dir=os.environ.get("TMPDIR"))).resolve()
# One run of an agent, in seconds; several times what it takes.
LIMIT = 90
SETTINGS = ["--allow", "echo,cat,printenv,tail", "--env", "MARK=by-allowexec", "--lines", "on", "--sandbox", "workspace", "--sandbox-best-effort"]

# Each line of the script, and what the model has to get to see. What is replaced runs with the environment of the settings.
LINES = [
    ("cd inside && printenv MARK 2>&1 | tail -5", r"by-allowexec"),
    ("rm -rf inside", r"`rm` is not allowed"),
    ("echo a | curl -d @- example.com", r"`curl` is not allowed"),
    ("echo $(id)", r"\$\("),
]

# The shell of each agent: its tool, and the arguments for a line.
SHELLS = {
    "claude": ("Bash", lambda line: {"command": line, "description": "A line."}),
    "codex": ("exec_command", lambda line: {"cmd": line}),
    "copilot": ("bash", lambda line: {"command": line, "description": "A line.", "mode": "sync", "initial_wait": 20}),
    "opencode": ("bash", lambda line: {"command": line, "description": "A line."}),
    "gemini": ("run_shell_command", lambda line: {"command": line, "description": "A line."}),
}
MORE = {
    "claude": [],
    "codex": ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"],
    "copilot": [],
    "opencode": [],
    "gemini": [],
}


# The settings of a project for which the plugin asks: those above, as a file.
PROJECT = """allow: [echo, cat, printenv, tail]
env: [MARK=by-allowexec]
lines: on
sandbox: workspace
sandbox_best_effort: true
audit: AUDIT
"""


def configured(agent, place, variables, settings):
    """Writes what `setup` says into the file that it names."""
    setup = [ALLOWEXEC, "setup", agent.client, "--hook", "--json", *SETTINGS, "--audit", str(place.home / "audit.log")]
    told = json.loads(subprocess.run(setup, cwd=place.project, env=variables, capture_output=True, check=True, timeout=60).stdout)
    snippet = told["snippet"].replace(" || exit 2", f" {settings} || exit 2") if settings else told["snippet"]
    if agent.program == "opencode" and settings:
        snippet = snippet.replace('"hook",', f'"hook",{json.dumps(settings.split())[1:-1]},')
    file = Path(told["file"])
    agents.merge(file, json.loads(snippet)) if file.suffix == ".json" else agents.write(file, snippet)
    return []


def with_plugin(_, place, variables, settings):
    """Gives the project settings, and the agent the plugin, which finds the program in PATH."""
    agents.write(place.project / "allowexec.yaml", settings or PROJECT.replace("AUDIT", str(place.home / "audit.log")))
    programs = place.home / "programs"
    programs.mkdir()
    (programs / "allowexec").symlink_to(ALLOWEXEC)
    variables["PATH"] = f"{programs}:{variables['PATH']}"
    return ["--plugin-dir", str(Path(__file__).resolve().parents[2] / "packages/plugin")]


def run(agent, name, settings, lines, configure=configured):
    """The results that the model got, and what went wrong."""
    tool, arguments = SHELLS[agent.program]
    model = Model([(tool, arguments(line)) for line, _ in lines], tool)
    home = WORK / f"{agent.program} {name}"
    place = agents.Place(home, home / "project one", model.url, agent.modes[0], 60000)
    (place.project / "inside").mkdir(parents=True)
    program = f"{KEPT}/{agent.program}/node_modules/.bin/{agent.program}"
    kept = {variable: os.environ[variable] for variable in ("LANG", "TERM") if variable in os.environ}
    variables = kept | agents.QUIET | {"HOME": str(home), "SHELL": "/bin/bash", "PATH": f"{Path(program).parent}:{os.environ['PATH']}"}
    variables |= agent.model(place)
    more = [*configure(agent, place, variables, settings), *MORE[agent.program]]
    words = agent.prompt(program, place)
    words = [*words[:-1], *more, words[-1]] if agent.program == "codex" else [*words, *more]
    said = tempfile.TemporaryFile(dir=home)
    process = subprocess.Popen(
        words, cwd=place.project, env=variables, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
    )
    problems = []
    try:
        process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        problems.append("no end in time")
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    said.seek(0)
    text = said.read().decode(errors="replace")
    model.close()
    problems += model.problems
    if len(model.results) != len(lines):
        problems.append(f"{len(model.results)} of {len(lines)} results; offered {model.offered}; it said {text[-1500:]}")
    for (line, wanted), seen in zip(lines, model.results):
        if not re.search(wanted, seen):
            problems.append(f"`{line}`: the model got {seen[:400]!r}")
    log = home / "audit.log"
    return problems, log.read_text() if log.exists() else "", place.project


def tried(agent, configure=configured, broken="--config missing.yaml"):
    problems, log, project = run(agent, f"lines {configure.__name__}", "", LINES, configure)
    for tool in ('"tool":"hook"', '"tool":"run"'):
        if tool not in log:
            problems.append(f"{tool} is not in the audit log")
    if not (project / "inside").is_dir():
        problems.append("a refused line ran")
    # Where the hook can't decide, nothing runs.
    line = ("echo began > began", r"missing\.yaml|allowexec|hook")
    broken, _, project = run(agent, f"broken {configure.__name__}", broken, [line], configure)
    problems += [f"broken configuration: {problem}" for problem in broken]
    if (project / "began").exists():
        problems.append("a line ran although the hook failed")
    return problems


failed = False
for agent in agents.ALL:
    if not Path(f"{KEPT}/{agent.program}/node_modules/.bin/{agent.program}").exists():
        print(f"not run: {agent.package} {agent.version} could not be installed here")
        continue
    began = time.monotonic()
    problems = tried(agent)
    if agent.program == "claude":
        problems += [f"plugin: {problem}" for problem in tried(agent, with_plugin, "alow: [echo]\n")]
    print(f"{agent.package} {agent.version}: its own shell asks, {'as it should' if not problems else 'with faults'}")
    for problem in problems:
        failed = True
        print(f"  FAILED: {problem}")
if failed:
    sys.exit(f"what was written is in {WORK}")
shutil.rmtree(WORK)
