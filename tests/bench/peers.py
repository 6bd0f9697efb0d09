#!/usr/bin/env python3
"""Other servers that run commands, and agents' sandbox runtimes, beside this server: `true`, in turns in one run.

    cargo build --profile dist && python3 tests/bench/peers.py [--rounds N] [--keep DIR]

Installs each peer at a pinned version from its registry into DIR (target/peers), asks each server for the same thing
over the same JSON-RPC, and prints medians and ratios. A runtime speaks no protocol: it is a process around the program,
and beside it is `allowexec call` at the sandbox `strict`. A peer that does not install or run is named with the reason.
The limit beside all of them is a bare posix_spawn of the program, its output read to the end.

The runtimes need Debian's packages bubblewrap, socat and ripgrep, and a DIR that is not below /tmp.
"""

import argparse
import json
import os
import pathlib
import queue
import shutil
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
INSTALL_LIMIT = 900
ANSWER_LIMIT = 30


def text_command(name, key="command", **more):
    return {"name": name, "arguments": {key: "true", **more}}


def peers(home):
    """Name, how to install it, how to start it, its environment, and its call of `true`."""
    python = home / "python" / "bin"
    node = home / "node" / "node_modules" / ".bin"
    rust = home / "rust" / "bin"
    root = home / "root"
    root.mkdir(exist_ok=True)
    (root / ".shell-mcp.toml").write_text('allow = ["true"]\n')
    return [
        ("mcp-shell-server 1.1.14 (PyPI)", pip(home, "mcp-shell-server==1.1.14"), [python / "mcp-shell-server"],
         {"ALLOW_COMMANDS": "true"}, {"name": "shell_execute", "arguments": {"command": ["true"], "directory": "/tmp"}}),
        ("cli-mcp-server 0.2.5 (PyPI)", pip(home, "cli-mcp-server==0.2.5"), [python / "cli-mcp-server"],
         {"ALLOWED_DIR": "/tmp", "ALLOWED_COMMANDS": "true", "ALLOWED_FLAGS": "all"}, text_command("run_command")),
        ("mcp-server-commands 0.5.0 (npm)", npm(home, "mcp-server-commands@0.5.0"), [node / "mcp-server-commands"],
         {}, text_command("run_command")),
        ("desktop-commander 0.2.52 (npm)", npm(home, "@wonderwhy-er/desktop-commander@0.2.52"), [node / "desktop-commander"],
         {}, text_command("start_process", timeout_ms=5000)),
        ("shell-mcp 0.1.1 (crate)", ["cargo", "install", "--quiet", "shell-mcp@0.1.1", "--root", home / "rust"],
         [rust / "shell-mcp", "--root", root.resolve()], {}, text_command("shell_exec")),
    ]


def runtimes(home):
    """Name, how to install it, its command around `true`, and its environment."""
    node = home / "node" / "node_modules" / ".bin"
    (home / "codex").mkdir(exist_ok=True)
    return [
        ("@anthropic-ai/sandbox-runtime 0.0.83 (npm)", npm(home, "@anthropic-ai/sandbox-runtime@0.0.83"),
         [node / "srt", "true"], {}),
        ("@openai/codex 0.171.0 (npm), `codex sandbox`", npm(home, "@openai/codex@0.171.0"),
         [node / "codex", "sandbox", "--", "true"], {"CODEX_HOME": str((home / "codex").resolve())}),
    ]


def install_reason(command, install):
    """Installs the peer where it is missing; returns the reason if that fails."""
    if pathlib.Path(command[0]).exists():
        return None
    installed = subprocess.run([str(word) for word in install], capture_output=True, timeout=INSTALL_LIMIT, check=False)
    return None if installed.returncode == 0 else str(installed.stderr.decode().strip().splitlines()[-1:])


def pip(home, package):
    return ["sh", "-c", f"test -d '{home}/python' || {sys.executable} -m venv '{home}/python'; "
                        f"'{home}/python/bin/pip' install --quiet '{package}'"]


def npm(home, package):
    return ["npm", "install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", home / "node", package]


class Server:
    """One server, after its handshake."""

    def __init__(self, command, environment):
        self.child = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, env={**os.environ, **environment})
        self.lines = queue.Queue()
        self.last = 0
        threading.Thread(target=self.read, daemon=True).start()
        info = {"name": "peers", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read(self):
        for line in self.child.stdout:
            self.lines.put(line)

    def send(self, message):
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            try:
                message = json.loads(self.lines.get(timeout=ANSWER_LIMIT))
            except ValueError:
                continue  # Some peers print other things beside the protocol.
            if message.get("id") == self.last and "method" not in message:
                # A refusal may come as a result like any other.
                if "error" in message or message["result"].get("isError") or '\\"ok\\": false' in json.dumps(message):
                    raise RuntimeError(json.dumps(message)[:300])
                return message["result"]

    def tools(self):
        return [tool["name"] for tool in self.ask("tools/list", {})["tools"]]

    def end(self):
        self.child.stdin.close()
        try:
            self.child.wait(5)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


def timed(work):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e6


def spawn(program):
    subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, close_fds=False, check=True)


def measure(name, peer, own, program, rounds):
    works = [peer, own, lambda: spawn(program)]
    rows = [[timed(work) for work in works] for _ in range(rounds + 3)][3:]
    peer, own, limit = (statistics.median(times) for times in zip(*rows))
    return f"| {name} | {peer:.0f} µs | {own:.0f} µs | {limit:.0f} µs | {peer / limit:.1f} × | {own / limit:.2f} × |"


def servers(options, own_binary, program):
    print("| server | a call of `true` | allowexec | a bare spawn | server : spawn | allowexec : spawn |")
    print("|---|---|---|---|---|---|")
    own_call = text_command("execute_command")
    for name, install, command, environment, call in peers(options.keep):
        reason = install_reason(command, install)
        if reason:
            print(f"| {name} | does not install: {reason} | | | | |")
            continue
        own = Server([own_binary, "--allow", "true", "--log", "off"], {})
        server = Server(command, environment)
        try:
            print(measure(name, lambda: server.ask("tools/call", call), lambda: own.ask("tools/call", own_call), program,
                          options.rounds), flush=True)
        except (RuntimeError, queue.Empty) as error:
            print(f"| {name} | failed: {error}; its tools: {server.tools()} | | | | |", flush=True)
        finally:
            server.end()
            own.end()


def around(options, own_binary, program):
    print("| runtime | around `true` | `allowexec call` at `strict` | a bare spawn | runtime : spawn | allowexec : spawn |")
    print("|---|---|---|---|---|---|")
    root = options.keep / "root"
    own = [own_binary, "call", "execute_command", '{"command":"true"}', "--allow", "true", "--sandbox", "strict",
           "--project-dir", ".", "--log", "off"]
    for name, install, command, environment in runtimes(options.keep):
        reason = install_reason(command, install)
        if reason:
            print(f"| {name} | does not install: {reason} | | | | |")
            continue
        try:
            print(measure(name, lambda: run(command, environment, root), lambda: run(own, {}, root), program,
                          options.rounds), flush=True)
        except subprocess.CalledProcessError as error:
            print(f"| {name} | failed: {error.stderr.decode().strip().splitlines()[-1:]} | | | | |", flush=True)


def run(command, environment, directory):
    subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, close_fds=False,
                   check=True, cwd=directory, env={**os.environ, **environment})


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=100)
    arguments.add_argument("--keep", type=pathlib.Path, default=TARGET / "peers")
    options = arguments.parse_args()
    options.keep = options.keep.resolve()
    options.keep.mkdir(parents=True, exist_ok=True)
    program = shutil.which("true")
    own_binary = TARGET / "dist" / "allowexec"
    servers(options, own_binary, program)
    print()
    around(options, own_binary, program)


if __name__ == "__main__":
    main()
