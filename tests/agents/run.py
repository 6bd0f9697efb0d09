"""Has every agent make real calls, with a stand-in for its model, and checks all that passes between it and the server.

usage: run.py KEPT ALLOWEXEC [--update]

KEPT is the directory that run.sh installs into. `allowexec record` stands between an agent and the server, and `allowexec lint`
checks each line, by the official schemas where MCP_SCHEMA_DIR names them. What was seen has to be what seen.json says, from which
the table in spec/guide/tested.md is made; --update writes it. Exits with 1 where anything failed, and with 0 where an agent is not installed.
"""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import agents
from model import Model
from session import Session

HERE = Path(__file__).resolve().parent
SEEN = HERE / "seen.json"
KEPT, ALLOWEXEC = (str(Path(path).resolve()) for path in sys.argv[1:3])
SCHEMAS = os.environ.get("MCP_SCHEMA_DIR")
WORK = Path(tempfile.mkdtemp(prefix="allowexec-agents-", dir=os.environ.get("TMPDIR"))).resolve()
# All runs together, and one of them, in seconds; at least twice what they take on two busy cores.
DEADLINE = time.monotonic() + 240
LIMIT = 90
FLAGS = ["--allow", "echo,sh,sleep,pwd,cd,printf", "--tools", "all", "--roots", "use", "--ask", "printf", "--log", "warn"]


def number(results):
    """The number of the background call that the last result names."""
    return int(re.search(r"call: (\d+)", results[-1])[1])


# Each step: its name, the tool, its arguments, and what the model has to get to see.
CALLS = [
    ("hello", "execute_command", {"command": "echo hello"}, r"exit_code: 0\s+stdout: \|\s+hello"),
    ("refusal", "execute_command", {"command": "rm -rf x"}, r"command `rm` is not allowed"),
    ("timeout", "execute_command", {"command": "sleep 30", "timeout_ms": 300}, r"timed_out: true"),
    ("shell", "cd", {"arguments": "inside"}, r"exit_code: 0"),
    ("shell", "pwd", {}, r"cwd: \S+/project one/inside"),
    ("directory", "execute_command", {"command": "pwd"}, r"/project one\s"),
    ("roots", "execute_command", {"command": "pwd", "cwd": "/etc"}, None),
    ("background", "execute_command", {"command": "sh -c 'echo first; sleep 1; echo last'", "background": True}, r"running: true"),
    ("background", "read_output", lambda results: {"call": number(results), "wait_ms": 20000}, r"first\s+last"),
    ("elicitation", "execute_command", {"command": "printf asked"}, r"a person has to approve this call of `printf`"),
]

LINE_FLAGS = ["--allow", "cargo,tail,git,echo", "--lines", "on", "--log", "warn"]
MESSAGE = "fix: handle an empty list\n\nIt's `parse` that returned early: $HOME was lost.\n"
# What agents write to their own shells.
LINES = [
    (
        "lines", "execute_command", {"command": "cd src && cargo test 2>&1 | tail -5"},
        r'exit_code: 0\s+failed: \["cargo test": 101\]\s+stdout: \|\s+running in src\s+three\s+four\s+five\s+failed\s+stderr',
    ),
    ("lines", "execute_command", {"command": f"git add -A && git commit -q -m \"$(cat <<'EOF'\n{MESSAGE}EOF\n)\""}, r"exit_code: 0"),
    (
        "lines", "execute_command", {"command": "git status && rm -rf src | tail -1; echo done"},
        r"command 2, `rm`: command `rm` is not allowed.*nothing of the line was run; allowed in it: `git`, `tail`, `echo`",
    ),
]
CARGO = """#!/bin/sh
echo one >&2; echo two; echo "running in ${PWD##*/}"; echo three >&2; echo four; echo five; echo failed >&2; exit 101
"""


class Run:
    """One agent in one mode, once."""

    def __init__(self, agent, mode, name, script, patience=60000):
        self.agent, self.mode, self.name = agent, mode, name
        self.title = f"{agent.package} {agent.version}, {mode}: {name}"
        self.script = script
        self.model = Model([(tool, arguments) for _, tool, arguments, _ in script])
        home = WORK / re.sub(r"\W+", "-", f"{agent.program} {mode} {name}")
        self.place = agents.Place(home, home / "project one", self.model.url, mode, patience)
        (self.place.project / "inside").mkdir(parents=True)
        self.records = home / "records"
        self.records.mkdir()
        self.program = f"{KEPT}/{agent.program}/node_modules/.bin/{agent.program}"
        kept = {variable: os.environ[variable] for variable in ("LANG", "TERM") if variable in os.environ}
        path = f"{Path(self.program).parent}:{os.environ['PATH']}"
        self.variables = kept | agents.QUIET | {"HOME": str(home), "PATH": path} | agent.model(self.place)
        self.problems, self.sessions, self.is_interrupted = [], [], False

    def tapped(self, flags=FLAGS):
        self.agent.server(self.place, [ALLOWEXEC, "record", "--dir", str(self.records), "--", ALLOWEXEC, *flags])
        return self

    def words(self, words, until=None):
        """Runs a program of the agent's to its end, or interrupts it once `until` says so; gives its status and what it said."""
        limit = min(DEADLINE, time.monotonic() + LIMIT)
        said = tempfile.TemporaryFile(dir=self.place.home)
        process = subprocess.Popen(
            words, cwd=self.place.project, env=self.variables, stdin=subprocess.DEVNULL, stdout=said,
            stderr=subprocess.STDOUT, start_new_session=True,
        )
        while process.poll() is None:
            if time.monotonic() > limit:
                os.killpg(process.pid, signal.SIGKILL)
                self.problems.append("no end in time")
                process.wait()
            elif until and not self.is_interrupted and until():
                # As Ctrl-C on a terminal does: to the agent and all that it has in the foreground.
                os.killpg(process.pid, signal.SIGINT)
                self.is_interrupted = True
            time.sleep(0.02)
        said.seek(0)
        return process.returncode, said.read().decode(errors="replace")

    def is_running(self, command):
        return command in processes_of(self.place.home).values()

    def prompted(self, until=None):
        status, said = self.words(self.agent.prompt(self.program, self.place), until)
        if status != 0 and until is None:
            self.problems.append(f"the agent ended with {status}: {said[-600:]}")
        self.sessions = [Session(path) for path in sorted(self.records.glob("*"))]
        if not any(session.calls for session in self.sessions):
            self.problems.append(f"no call reached the server: {said[-600:]}")
        for (step, _, _, wanted), seen in zip(self.script, self.model.results):
            if wanted and not re.search(wanted, seen.replace("\\n", "\n")):
                self.problems.append(f"{step}: the model got {seen[:300]!r}")
        return self

    def closed(self):
        """What has to hold after every run."""
        self.model.close()
        self.problems += self.model.problems
        self.problems += [f"the stand-in does not know {path}" for path in self.model.unknown if "count" not in path]
        if left := processes_left(self.place.home):
            self.problems.append(f"left behind: {list(left.values())}")
            for id in left:
                os.kill(id, signal.SIGKILL)
        files = [str(session.path) for session in self.sessions]
        if files:
            schemas = ["--schema", SCHEMAS] if SCHEMAS else []
            lint = subprocess.run([ALLOWEXEC, "lint", "--json", *schemas, *files], capture_output=True, text=True, timeout=60)
            if lint.returncode == 2:
                self.problems.append(f"lint: {lint.stderr}")
            for one in json.loads(lint.stdout or "[]"):
                for finding in one["findings"]:
                    # Who leaves in the middle of a call is not told how it ended.
                    if not (self.is_interrupted and finding["what"].endswith("was never answered")):
                        self.problems.append(f"lint: {one['file']}: {finding}")
        self.problems += [f"the server ended with {one.status}" for one in self.sessions if one.status not in (0, None)]
        return self

    def total(self, what):
        return sum(getattr(session, what) for session in self.sessions)


def processes_of(directory):
    """What runs in a directory or below it, by its number."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if Path(os.readlink(process / "cwd")).is_relative_to(directory):
                found[int(process.name)] = (process / "cmdline").read_text().replace("\0", " ").strip()
        except OSError:
            continue  # It has ended, or is another user's.
    # One that ended and waits to be reaped has no words.
    return {id: words for id, words in found.items() if words}


def processes_left(directory):
    """What still runs there once everything had its time to end."""
    limit = time.monotonic() + 10
    while (left := processes_of(directory)) and time.monotonic() < limit:
        time.sleep(0.1)
    return left


def calls(agent, mode):
    run = Run(agent, mode, "calls", CALLS).tapped().prompted()
    seen = {}
    if len(run.model.results) != len(CALLS):
        run.problems.append(f"{len(run.model.results)} of {len(CALLS)} results came back: {run.model.results[-1:]}")
    else:
        declared = set().union(*(session.declared for session in run.sessions))
        # Where the client has roots they bind; where it has none, `--roots use` leaves the directory free.
        outside = run.model.results[6]
        is_bound = "is not inside an allowed root" in outside
        if is_bound != ("roots" in declared) or is_bound != (run.total("roots") > 0) or not (is_bound or "/etc" in outside):
            run.problems.append(f"roots: declared {sorted(declared)}, told {run.total('roots')} times, then {outside[:300]}")
        answers = [answer for session in run.sessions for answer in session.answers]
        if len(answers) != ("elicitation" in declared):
            run.problems.append(f"elicitation: declared {sorted(declared)}, answered {answers}")
        if tasks := declared & {"tasks", "io.modelcontextprotocol/tasks"}:
            run.problems.append(f"it declares {tasks}, and nothing here has it run one")
        # Each was checked above; what is left to say is what the agent itself does.
        seen = {name: "yes" for name in ("hello", "refusal", "timeout", "shell", "background")}
        seen["roots"] = "yes" if is_bound else "no roots"
        seen["elicitation"] = answers[0] if answers else "no forms"
    return run.closed(), seen


def lines(agent, mode):
    """Lines of several commands: one that hides a failure, a commit with its message in a here-document, one that is refused."""
    run = Run(agent, mode, "lines", LINES)
    programs = run.place.home / "programs"
    agents.write(programs / "cargo", CARGO)
    (programs / "cargo").chmod(0o755)
    run.variables["PATH"] = f"{programs}:{run.variables['PATH']}"
    agents.write(run.place.project / "src/lib.rs", "// Nothing yet.\n")
    git = ["git", "-C", str(run.place.project)]
    for words in (["init", "-q"], ["config", "user.name", "Agent"], ["config", "user.email", "agent@example.com"]):
        subprocess.run([*git, *words], check=True, timeout=60)
    run.tapped(LINE_FLAGS).prompted()
    committed = subprocess.run([*git, "log", "-1", "--format=%B"], capture_output=True, text=True, timeout=60)
    if committed.stdout.strip() != MESSAGE.strip():
        run.problems.append(f"the commit says {committed.stdout!r} {committed.stderr!r}")
    if not (run.place.project / "src/lib.rs").exists():
        run.problems.append("a part of a refused line ran")
    if len(run.model.results) != len(LINES):
        run.problems.append(f"{len(run.model.results)} of {len(LINES)} results came back: {run.model.results[-1:]}")
    return run.closed(), {"lines": "yes"}


def cancels(agent, mode):
    """A call that the agent gives up by its own limit, where it has one; a call in which its user interrupts it."""
    longest = "sleep 600.5"
    script = [("interrupt", "execute_command", {"command": longest, "timeout_ms": 600000}, None)]
    if agent.has_call_limit:
        script.insert(0, ("cancel", "execute_command", {"command": "sleep 60", "timeout_ms": 60000}, r"(?i)time"))
        script.insert(1, ("cancel", "execute_command", {"command": "echo after"}, r"stdout: \|\s+after"))
    run = Run(agent, mode, "cancels", script, patience=3000 if agent.has_call_limit else 60000).tapped()
    # Not before it runs: the server may just be asking for roots, and its question would cross the cancellation.
    run.prompted(until=lambda: run.is_running(longest))
    if not run.is_interrupted:
        run.problems.append(f"it never came to `{longest}`: {run.model.results}")
    # What an agent that is interrupted still sends before it ends the server is a race, so only a limit of its own counts.
    seen = {"cancel": "yes" if agent.has_call_limit else "no limit of its own", "interrupt": "yes"}
    if agent.has_call_limit and not run.total("cancelled"):
        run.problems.append("the call that took too long was not cancelled")
    return run.closed(), seen


def setup(agent, mode):
    """What `allowexec setup` prints is done as it says: the agent lists the server, and calls it."""
    run = Run(agent, mode, "setup", CALLS[:2])
    record = run.records / "own.transcript"
    flags = ["--allow", "echo", "--cwd-root", ".", "--cwd", ".", "--sandbox", "workspace", "--sandbox-best-effort", "--record", str(record)]
    status, told = run.words([ALLOWEXEC, "setup", agent.client, *flags, "--json"])
    if status != 0:
        run.problems.append(f"setup: {told}")
        return run.closed(), {}
    told = json.loads(told)
    words = [told["server"]["command"], *told["server"]["args"]]
    if told["command"]:
        _, line = run.words([ALLOWEXEC, "setup", agent.client, *flags])
        status, said = run.words(["sh", "-ec", line])
        if status != 0:
            run.problems.append(f"{line} ended with {status}: {said}")
    else:
        agents.write(Path(told["file"]), told["snippet"])
    _, said = run.words(agent.listing(run.program))
    if not agent.is_listed(said, words):
        run.problems.append(f"it lists something else: {said[-600:]}")
    # The part of a file that stands for the command is read as well.
    if told["command"]:
        other = Run(agent, mode, "snippet", [])
        file = Path(told["file"].replace(str(run.place.home), str(other.place.home)))
        if told["format"] == "json":
            agents.merge(file, json.loads(told["snippet"]))
        else:
            agents.write(file, file.read_text() + "\n" + told["snippet"] + "\n")
        _, said = other.words(agent.listing(other.program))
        if "allowexec" not in said or words[-1] not in said:
            other.problems.append(f"it lists something else: {said[-600:]}")
        run.problems += [f"snippet: {problem}" for problem in other.closed().problems]
    # The list may have started the server, and the file of a record is not overwritten.
    record.unlink(missing_ok=True)
    agent.for_prompt_after_setup(run.place)
    run.prompted()
    if len(run.model.results) != 2:
        run.problems.append(f"{len(run.model.results)} of 2 results came back")
    return run.closed(), {"setup": "yes"}


def results_of(agent):
    """Every run of one agent, as the rows of its modes."""
    rows = []
    for place, mode in enumerate(agent.modes):
        runs = [calls(agent, mode)]
        # A second mode differs in the lines of a call and in nothing else.
        if place == 0:
            runs += [lines(agent, mode), cancels(agent, mode), setup(agent, mode)]
        seen = {step: how for run, of_run in runs if not run.problems for step, how in of_run.items()}
        first = runs[0][0]
        revisions = sorted({session.revision for session in first.sessions if session.revision})
        row = {"agent": agent.title, "package": agent.package, "version": agent.version, "mode": mode, "api": ", ".join(sorted(first.model.apis))}
        rows.append((row | {"revision": ", ".join(revisions), "seen": seen}, [run for run, _ in runs]))
    return rows


def main():
    # Orphans of the agents fall to this process (PR_SET_CHILD_SUBREAPER), so that none hides.
    if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) != 0:
        sys.exit("this needs Linux")
    if not SCHEMAS:
        print("MCP_SCHEMA_DIR is not set: no line is checked against a schema")
    known = {(row["package"], row["mode"]): row for row in json.loads(SEEN.read_text())} if SEEN.exists() else {}
    installed = [agent for agent in agents.ALL if Path(f"{KEPT}/{agent.program}/node_modules/.bin/{agent.program}").exists()]
    for agent in agents.ALL:
        if agent not in installed:
            print(f"not run: {agent.package} {agent.version} could not be installed here")
    failed = False
    with ThreadPoolExecutor(2) as pool:
        futures = [(agent, pool.submit(results_of, agent)) for agent in installed]
        for agent, future in futures:
            try:
                rows = future.result()
            except Exception as error:  # A fault of this script, or an answer that it does not know.
                failed = True
                print(f"{agent.package} {agent.version}:\n  FAILED: {error!r}")
                continue
            for row, runs in rows:
                key = (row["package"], row["mode"])
                print(f"{agent.package} {agent.version}, {row['mode']}: {row['revision']}, {row['api']}, {row['seen']}")
                problems = [f"{run.title}: {problem}" for run in runs for problem in run.problems]
                for problem in problems:
                    print(f"  FAILED: {problem}")
                failed |= bool(problems)
                if not problems and "--update" in sys.argv:
                    known[key] = row
                elif not problems and known.get(key) != row:
                    failed = True
                    print(f"  FAILED: seen.json says {known.get(key)}; `tests/agents/run.sh --update` writes what was seen")
    if "--update" in sys.argv:
        order = {(agent.package, mode): 0 for agent in agents.ALL for mode in agent.modes}
        rows = [known[key] for key in order if key in known]
        SEEN.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    if failed:
        sys.exit(f"the records are in {WORK}")
    shutil.rmtree(WORK)


main()
