"""Records, replays, mocks and lints third-party servers, each with the official client.

usage: run.py KEPT ALLOWEXEC [NAME...]

KEPT is the directory that run.sh installs into. A server that is not installed there is left out, which is said. Prints a table in
Markdown, as it stands in spec/servers.md, and exits with 1 if a session was not recorded, replayed with a difference, or answered
the client differently from the mock. With MCP_SCHEMA_DIR it also compares each row with the page.
"""

import functools
import http.server
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

HERE = pathlib.Path(__file__).parent
KEPT, ALLOWEXEC = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
NAMED = sys.argv[3:]
SCHEMAS = os.environ.get("MCP_SCHEMA_DIR")
LIMIT = 90


def node(name):
    return [str(KEPT / "node/node_modules/.bin" / name)]


def python(name, environment):
    return [str(KEPT / environment / "bin" / name)]


def rust(name):
    return [str(KEPT / name / "bin" / name)]


# The name and version; where it comes from; its command; its calls; what may differ beside the usual.
def servers(page):
    return [
        ("@modelcontextprotocol/server-filesystem 2026.8.31", "npm", node("mcp-server-filesystem") + ["."], [
            ["list_directory", {"path": "."}], ["read_text_file", {"path": "a.txt"}], ["write_file", {"path": "b.txt", "content": "x"}],
            ["edit_file", {"path": "a.txt", "edits": [{"oldText": "hello", "newText": "bye"}]}],
            ["read_text_file", {"path": "/etc/passwd"}], ["list_allowed_directories", {}]], []),
        ("@modelcontextprotocol/server-everything 2026.8.31", "npm", node("mcp-server-everything"), [
            ["echo", {"message": "hi"}], ["get-sum", {"a": 1, "b": 2}], ["get-sum", {"a": "no number"}], ["no-such-tool", {}],
            ["get-structured-content", {"location": "Chicago"}], ["get-resource-links", {"count": 2}],
            ["trigger-long-running-operation", {"duration": 1, "steps": 2}], ["trigger-sampling-request", {"prompt": "p", "maxTokens": 5}],
            ["trigger-elicitation-request", {}]], []),
        ("@modelcontextprotocol/server-memory 2026.8.31", "npm", ["sh", "-c", f"MEMORY_FILE_PATH=$PWD/memory.json exec {node('mcp-server-memory')[0]}"], [
            ["create_entities", {"entities": [{"name": "a", "entityType": "t", "observations": ["o"]}]}],
            ["search_nodes", {"query": "a"}], ["read_graph", {}]], []),
        ("@modelcontextprotocol/server-sequential-thinking 2026.8.31", "npm", node("mcp-server-sequential-thinking"), [
            ["sequentialthinking", {"thought": f"thought {number}", "nextThoughtNeeded": number < 2, "thoughtNumber": number, "totalThoughts": 2}]
            for number in (1, 2)], []),
        ("mcp-server-git 2026.10.19", "PyPI", python("mcp-server-git", "mcp-2.3.0") + ["--repository", "."], [
            ["git_status", {"repo_path": "."}], ["git_log", {"repo_path": "."}], ["git_diff_unstaged", {"repo_path": "."}],
            ["git_status", {"repo_path": "/"}]], []),
        ("mcp-server-time 2026.10.19", "PyPI", python("mcp-server-time", "mcp-2.3.0") + ["--local-timezone", "UTC"], [
            ["get_current_time", {"timezone": "UTC"}], ["get_current_time", {"timezone": "No/Where"}],
            ["convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}]],
            # What is left of the time when the date has another day.
            ["tools/call /result/**/text ignore"]),
        ("mcp-server-sqlite 2025.4.25", "PyPI", python("mcp-server-sqlite", "mcp-1.30.0") + ["--db-path", "base.db"], [
            ["create_table", {"query": "create table t (a int)"}], ["write_query", {"query": "insert into t values (1)"}],
            ["read_query", {"query": "select * from t"}], ["read_query", {"query": "drop table t"}], ["list_tables", {}]], []),
        ("mcp-server-fetch 2026.10.24", "PyPI", python("mcp-server-fetch", "mcp-2.3.0") + ["--allow-private-ips"], [
            ["fetch", {"url": f"{page}/page.html"}], ["fetch", {"url": f"{page}/missing"}], ["fetch", {"url": "no URL"}]], []),
        ("mcp-server-calculator 0.2.1", "PyPI", python("mcp-server-calculator", "mcp-1.30.0"), [
            ["calculate", {"expression": "2+3*4"}], ["calculate", {"expression": "1/0"}]], []),
        ("rust-mcp-filesystem 0.4.5", "crates.io", rust("rust-mcp-filesystem") + ["."], [
            ["list_directory", {"path": "."}], ["read_text_file", {"path": "a.txt"}], ["read_text_file", {"path": "/etc/passwd"}]], []),
    ]


def workspace(place):
    """A directory as each session finds it: a file in a repository with one commit."""
    place.mkdir()
    (place / "a.txt").write_text("hello\n")
    date = "2026-01-02T03:04:05Z"
    settings = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    git = ["git", "-C", str(place), "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "a.txt"], ["commit", "-q", "-m", "first"]):
        subprocess.run(git + words, check=True, env={**os.environ, **settings})
    (place / "a.txt").write_text("hello again\n")
    return place


def run(words, place):
    """Runs a program to its end, or ends it with all that it has started when its time is over."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = subprocess.Popen([str(word) for word in words], cwd=place, text=True, start_new_session=True, **pipes)
    try:
        output, errors = program.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        output, errors = program.communicate()
        return 124, output, f"{errors}\nnot ended after {LIMIT} s"
    return program.returncode, output, errors


def session(calls, words, place):
    return run([KEPT / "mcp-1.30.0/bin/python", HERE / "client.py", json.dumps(calls), *words], place)


# What no official client sends: unknown methods and tools, wrong parameters, ids that are text, lines that are no JSON.
RUDE = [
    {"jsonrpc": "2.0", "id": 0, "method": "ping"},
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "rude", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": "text", "method": "ping"},
    {"jsonrpc": "2.0", "id": 2, "method": "no/such"},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call"},
    {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "no such tool", "arguments": {}}},
    {"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"cursor": "nonsense"}},
    {"jsonrpc": "2.0", "method": "notifications/unknown"},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
    "no JSON",
    {"jsonrpc": "2.0", "id": 6, "method": "ping"},
]


def rude(command, file, place):
    """Records what a server answers to those lines; it has ten seconds after the last one."""
    server = subprocess.Popen([str(ALLOWEXEC), "record", "-o", str(file), "--", *command], cwd=place, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    came = queue.Queue()

    def read():
        for line in server.stdout:
            came.put(line)
        came.put(None)

    threading.Thread(target=read, daemon=True).start()
    try:
        for message in RUDE:
            line = message if isinstance(message, str) else json.dumps(message)
            server.stdin.write(line.encode() + b"\n")
            server.stdin.flush()
            # The next one comes when this one is answered, or will not be.
            until = time.monotonic() + (10 if message is RUDE[-1] else 3)
            while isinstance(message, dict) and "id" in message and (left := until - time.monotonic()) > 0:
                answer = came.get(timeout=left)
                if answer is None or json.loads(answer).get("id") == message["id"]:
                    break
    except (queue.Empty, BrokenPipeError):
        pass  # The linter says what was not answered.
    server.stdin.close()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def linted(file, place):
    schemas = ["--schema", SCHEMAS] if SCHEMAS else []
    status, output, errors = run([ALLOWEXEC, "lint", "--json", *schemas, file], place)
    return (json.loads(output)[0]["findings"], []) if status in (0, 1) else ([], [f"lint: {output}{errors}"])


def shown(findings):
    counts = Counter(f"{finding['rule']}: {finding['what']}" for finding in findings if finding["side"] == "server")
    return "; ".join(f"{what} ({count})" if count > 1 else what for what, count in counts.items()).replace("|", "\\|") or "nothing"


def tried(command, calls, rules, place):
    """What the linter found in the session of the official client and in the rude one, and what went wrong."""
    file, problems = place / "s.transcript", []
    status, recorded, errors = session(calls, [ALLOWEXEC, "record", "-o", file, "--", *command], workspace(place / "recorded"))
    if status != 0:
        return "", "", [f"recording: {errors[-2000:]}"]
    (place / "s.match").write_text("".join(f"{rule}\n" for rule in rules))
    # Elsewhere, so that a path that was not recorded as `[tmp]` shows.
    status, output, errors = run([ALLOWEXEC, "replay", "--timeout", "20s", "--in", ".", file], workspace(place / "replayed"))
    if status != 0:
        problems.append(f"replay: {output[-4000:]}{errors}")
    # A mock fills in where it runs, and the client's own directory is the recorded one.
    status, mocked, errors = session(calls, [ALLOWEXEC, "mock", "--strict", file], place / "recorded")
    if status != 0 or json.loads(mocked) != json.loads(recorded) or "did not send" in errors:
        problems.append(f"mock: {errors[-2000:]}{mocked[-2000:]}")
    findings, broken = linted(file, place)
    rude(command, place / "rude.transcript", workspace(place / "rude"))
    more, also_broken = linted(place / "rude.transcript", place)
    return shown(findings), shown(more), problems + broken + also_broken


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def main():
    root = pathlib.Path(tempfile.mkdtemp(prefix="allowexec-servers-"))
    (root / "web").mkdir()
    (root / "web/page.html").write_text("<html><body><h1>A page</h1><p>Some text.</p></body></html>")
    handler = functools.partial(Quiet, directory=str(root / "web"))
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    rows, failed, missing = [], False, False
    for number, (name, source, command, calls, rules) in enumerate(servers(f"http://127.0.0.1:{web.server_port}")):
        program = command[-1].split()[-1] if command[0] == "sh" else command[0]
        if NAMED and not any(word in name for word in NAMED) or not pathlib.Path(program).exists():
            print(f"not installed, so nothing is shown of it: {name}", file=sys.stderr)
            missing = True
            continue
        place = root / str(number)
        place.mkdir()
        findings, rude_findings, problems = tried(command, calls, rules, place)
        for problem in problems:
            print(f"{name}: {problem}", file=sys.stderr)
        failed |= bool(problems)
        rows.append(f"| {name} | {source} | {len(calls)} | {'failed' if problems else 'yes'} | {findings} | {rude_findings} |")
        print(rows[-1], flush=True)
    shutil.rmtree(root, ignore_errors=True)
    page = HERE.parent.parent / "spec/servers.md"
    if missing:
        print(f"{len(rows)} servers were tried", file=sys.stderr)
    if SCHEMAS and page.exists():
        for row in rows:
            if row not in page.read_text().splitlines():
                print(f"spec/servers.md does not say this: {row}", file=sys.stderr)
                failed = True
    sys.exit(failed)


main()
