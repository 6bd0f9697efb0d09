#!/usr/bin/env python3
"""Draws `spec/session.svg`: a session of an MCP client with the server, from a real run.

    tests/session/draw.py PATH/TO/allowexec > spec/session.svg

It starts the server as a client does, makes the calls below in a fresh repository, and draws what was asked and what came back. The
picture follows the reader's choice of light or dark. `tests/it/session.rs` draws it anew and compares.
"""

import json
import os
import subprocess
import sys
import tempfile
from html import escape

FLAGS = ["--profile", "git-readonly", "--allow", "cat", "--sandbox", "workspace", "--cwd-root", ".", "--cwd", "."]
CALLS = ["cat notes.txt", "git push origin main", "cat notes.txt && rm -rf /", "cat ../token.txt"]
WIDTH = 92
LINE, LEFT, TOP = 19, 18, 46


class Client:
    """The few messages of a client that a session needs."""

    def __init__(self, server: str, directory: str) -> None:
        environment = {"PATH": "/usr/bin:/bin", "HOME": directory}
        self.server = subprocess.Popen(
            [server, *FLAGS], cwd=directory, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.count = 0

    def request(self, method: str, params: dict) -> dict:
        self.count += 1
        self.send({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params})
        return json.loads(self.server.stdout.readline())["result"]

    def send(self, message: dict) -> None:
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()

    def close(self) -> None:
        self.server.stdin.close()
        if self.server.wait(timeout=20) != 0:
            raise SystemExit("the server did not end as it should")


def session(server: str) -> list[tuple[str, str]]:
    """The lines of the session, each with the class that it is drawn in."""
    with tempfile.TemporaryDirectory() as home:
        directory = os.path.join(home, "project")
        os.mkdir(directory)
        with open(os.path.join(home, "token.txt"), "w", encoding="utf-8") as token:
            token.write("secret\n")
        with open(os.path.join(directory, "notes.txt"), "w", encoding="utf-8") as notes:
            notes.write("ship it on Friday\n")
        client = Client(server, directory)
        info = {"name": "session", "version": "1"}
        client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        lines = [("shell", "$ allowexec " + " ".join(FLAGS))]
        for command in CALLS:
            result = client.request("tools/call", {"name": "execute_command", "arguments": {"command": command}})
            text = result["content"][0]["text"]
            if os.path.realpath(directory) in text:
                raise SystemExit(f"a path of this machine stands in the answer: {text}")
            lines += [("", ""), ("call", f"→ execute_command  {json.dumps({'command': command})}")]
            kind = "refused" if result.get("isError") else "result"
            for line in text.rstrip("\n").splitlines():
                denied = "refused" if "Permission denied" in line else kind
                lines += [(denied, "  " + part) for part in wrapped(line)]
        client.close()
        return lines


def wrapped(line: str) -> list[str]:
    """The line in pieces of at most that width, broken at blanks."""
    parts = []
    while len(line) > WIDTH:
        cut = line.rfind(" ", 1, WIDTH)
        cut = cut if cut > 0 else WIDTH
        parts.append(line[:cut])
        line = line[cut:].lstrip()
    return [*parts, line]


def svg(lines: list[tuple[str, str]]) -> str:
    height = TOP + LINE * len(lines) + 14
    width = LEFT * 2 + int(8.43 * (WIDTH + 4))
    rows = [
        f'<text class="{kind}" x="{LEFT}" y="{TOP + LINE * (number + 1) - 6}" xml:space="preserve">{escape(text)}</text>'
        for number, (kind, text) in enumerate(lines) if text
    ]
    style = """
.frame{fill:#fff;stroke:#d0d7de}.bar{fill:#f6f8fa}text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}
.shell{fill:#57606a}.call{fill:#0550ae;font-weight:600}.refused{fill:#a40e26}.result{fill:#1f2328}
@media (prefers-color-scheme:dark){.frame{fill:#0d1117;stroke:#30363d}.bar{fill:#161b22}text,.result{fill:#e6edf3}
.shell{fill:#8d96a0}.call{fill:#79c0ff}.refused{fill:#ff7b72}}"""
    dots = "".join(f'<circle cx="{22 + 20 * place}" cy="17" r="6" fill="{colour}"/>'
                   for place, colour in enumerate(["#ff5f57", "#febc2e", "#28c840"]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="A session: allowed commands run, others are refused with a reason">'
        f"<style>{style}\n</style>\n"
        f'<rect class="frame" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>'
        f'<path class="bar" d="M1 9a8 8 0 0 1 8-8h{width - 18}a8 8 0 0 1 8 8v25H1z"/>{dots}\n'
        + "\n".join(rows) + "\n</svg>\n"
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    sys.stdout.write(svg(session(os.path.abspath(sys.argv[1]))))
