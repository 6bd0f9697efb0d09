#!/usr/bin/env python3
"""Other servers that run commands, beside this one: a call of `true`, in turns in one run.

    cargo build --profile dist && python3 tests/bench/peers.py [--rounds N] [--keep DIR]

Installs each peer at a pinned version from its registry into DIR (target/peers), asks each for the same thing over the
same JSON-RPC, and prints medians and ratios. A peer that does not install is named with the reason. The limit beside
all of them is a bare posix_spawn of the program, its output read to the end.
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


def measure(name, server, call, own, program, rounds):
    own_call = text_command("execute_command")
    times = {"peer": [], "own": [], "limit": []}
    for done in range(rounds + 3):
        row = {
            "peer": timed(lambda: server.ask("tools/call", call)),
            "own": timed(lambda: own.ask("tools/call", own_call)),
            "limit": timed(lambda: spawn(program)),
        }
        if done >= 3:
            for key, value in row.items():
                times[key].append(value)
    peer, own_median, limit = (statistics.median(times[key]) for key in ("peer", "own", "limit"))
    return f"| {name} | {peer:.0f} µs | {own_median:.0f} µs | {limit:.0f} µs | {peer / limit:.1f} × | {own_median / limit:.2f} × |"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=100)
    arguments.add_argument("--keep", type=pathlib.Path, default=ROOT / "target" / "peers")
    options = arguments.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    program = shutil.which("true")
    own_binary = ROOT / "target" / "dist" / "allowexec"
    print("| server | a call of `true` | allowexec in turns | a bare spawn in turns | server : spawn | allowexec : spawn |")
    print("|---|---|---|---|---|---|")
    for name, install, command, environment, call in peers(options.keep):
        if not pathlib.Path(command[0]).exists():
            installed = subprocess.run([str(word) for word in install], capture_output=True, timeout=INSTALL_LIMIT, check=False)
            if installed.returncode != 0:
                print(f"| {name} | does not install: {installed.stderr.decode().strip().splitlines()[-1:]} | | | | |")
                continue
        own = Server([own_binary, "--allow", "true", "--log", "off"], {})
        server = Server(command, environment)
        try:
            print(measure(name, server, call, own, program, options.rounds), flush=True)
        except (RuntimeError, queue.Empty) as error:
            print(f"| {name} | failed: {error}; its tools: {server.tools()} | | | | |", flush=True)
        finally:
            server.end()
            own.end()


if __name__ == "__main__":
    main()
