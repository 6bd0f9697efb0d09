"""Drives an installed program as a client would: session.py [--signal] COMMAND...

It starts the command, asks, calls, and leaves; with --signal it ends it by SIGTERM while a call runs. Then the command has ended, and nothing that it
started is left.
"""

import json
import os
import signal
import subprocess
import sys
import time
import uuid

by_signal = sys.argv[1] == "--signal"
command = sys.argv[2:] if by_signal else sys.argv[1:]
MARK = f"SESSION_MARK_{uuid.uuid4().hex}"


def left():
    """The processes that have the mark of this session in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/stat") as stat:
                if MARK.encode() in environ.read() and stat.read().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(pid)
        except OSError:
            pass
    return found


server = subprocess.Popen(
    [*command, "--allow", "echo,sleep", "--inherit-env"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {MARK: "1"},
)


def send(message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    server.stdin.flush()


def ask(number, method, params):
    send({"id": number, "method": method, "params": params})
    while True:
        line = server.stdout.readline() or sys.exit(f"the server ended: {server.stderr.read()}")
        answer = json.loads(line)
        if answer.get("id") == number:
            return answer["result"]


client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "package", "version": "1"}}
assert ask(1, "initialize", client)["serverInfo"]["name"] == "allowexec"
send({"method": "notifications/initialized"})
tools = [tool["name"] for tool in ask(2, "tools/list", {})["tools"]]
assert "execute_command" in tools, tools
said = ask(3, "tools/call", {"name": "execute_command", "arguments": {"command": "echo installed"}})
assert said["content"][0]["text"].startswith("exit_code: 0\nstdout: |\n  installed\n"), said
refused = ask(4, "tools/call", {"name": "execute_command", "arguments": {"command": "ls"}})
assert refused["isError"] and "not allowed" in refused["content"][0]["text"], refused
send({"id": 5, "method": "tools/call", "params": {"name": "execute_command", "arguments": {"command": "sleep 86399"}}})
deadline = time.monotonic() + 30
while not any(b"86399" in open(f"/proc/{pid}/cmdline", "rb").read() for pid in left()):
    assert time.monotonic() < deadline, "the call does not start"
    time.sleep(0.05)
if by_signal:
    server.send_signal(signal.SIGTERM)
else:
    server.stdin.close()
status = server.wait(30)
while left() and time.monotonic() < deadline:
    time.sleep(0.05)
assert not left(), "something is left"
assert status == 0 or by_signal and status in (-signal.SIGTERM, 128 + signal.SIGTERM), status
print(f"session: {'ended by SIGTERM' if by_signal else 'ended'}, status {status}")
