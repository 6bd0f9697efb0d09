#!/usr/bin/env python3
"""Writes order.ld: the functions that sessions run, in the order in which sessions first need them.

Needs cargo, valgrind, nm, and the C library as an archive. It builds a release with symbols (below target/order), counts its calls in a few
sessions, and names the section of each function that ran: by its path, since the hash in its name changes with the compiler. Names
that another compiler or C library does not have match nothing. vendor.sh notices when so many don't that a start needs too much memory.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "order"

HEADER = """/*
 * The functions that sessions run, next to each other in a release: those of a start, then those of a first call, at each level.
 *
 * Made by tests/package/order.py; build.rs passes it to the linker. It decides where code lies, never what it does.
 */
"""


def session(era, *calls):
    """The requests of a session. Each is answered before the next is sent."""
    if era == "legacy":
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "order", "version": "1"}}
        first, meta = [("initialize", client), ("notifications/initialized", None)], {}
    else:
        prefix = "io.modelcontextprotocol/"
        client = {"name": "order", "version": "1"}
        meta = {"_meta": {prefix + "protocolVersion": "2026-07-28", prefix + "clientInfo": client, prefix + "clientCapabilities": {}}}
        first = []
    rest = [("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls]
    listed = [("tools/list", {})] if calls else []
    return first + [(method, params | meta) for method, params in listed + rest]


COMMAND = ("execute_command", {"command": "true"})
# valgrind does not know Landlock, so a sandbox can't start under it.
SANDBOX = ["*(.text._ZN9allowexec7sandbox*)", "*(.text._ZN8landlock*)", "*(.text._ZN11seccompiler*)"]
SESSIONS = [
    (["--allow", "true"], session("legacy")),
    (["--allow", "true"], session("legacy", COMMAND)),
    (["--allow", "true"], session("modern", COMMAND)),
]


def functions(binary, arguments, requests):
    """The names of the functions that ran in a session."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "out"
        counted = ["valgrind", "--tool=callgrind", "--demangle=no", "--compress-strings=no", f"--callgrind-out-file={out}"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        server = subprocess.Popen([*counted, binary, *arguments], cwd=directory, **pipes)
        for number, (method, params) in enumerate(requests):
            request = {"jsonrpc": "2.0", "method": method} | ({"id": number, "params": params} if params is not None else {})
            server.stdin.write(json.dumps(request).encode() + b"\n")
            server.stdin.flush()
            while params is not None:
                line = server.stdout.readline() or sys.exit(f"{arguments}: the server ended")
                answer = json.loads(line)
                if answer.get("id") == number and "method" not in answer:
                    if "error" in answer or answer["result"].get("isError"):
                        sys.exit(f"{arguments}: {answer}")
                    break
        server.communicate(timeout=120)
        return set(re.findall(r"^fn=(.+?)(?:'\d+)?$", out.read_text(), re.MULTILINE))


def members():
    """The file of the C library's archive that defines a function, if only one does."""
    archive = subprocess.run(["cc", "-print-file-name=libc.a"], capture_output=True, text=True, check=True).stdout.strip()
    listed = subprocess.run(["nm", "-A", "--defined-only", archive], capture_output=True, text=True, check=True).stdout
    found = {}
    for member, name in re.findall(r":([^:]+\.o):\S+ [tTwWi] (\S+)$", listed, re.MULTILINE):
        found.setdefault(name, set()).add(member)
    return {name: files.pop() for name, files in found.items() if len(files) == 1}


def pattern(name, archived):
    """The linker's pattern for a function's section; `None` if its name does not say where it is, or is of the new kind (`_R`), which are few."""
    if name.startswith("_ZN"):
        return "*(.text." + re.sub(r"17h[0-9a-f]{16}E.*", "17h*", name) + ")"
    return f"*libc.a:{archived[name]}(.text .text.*)" if name in archived else None


def main():
    build = ["cargo", "build", "--release", "--locked", "--target-dir", str(TARGET)]
    subprocess.run(build, cwd=ROOT, check=True, env=os.environ | {"CARGO_PROFILE_RELEASE_STRIP": "none"})
    archived, lines = members(), []
    for arguments, requests in SESSIONS:
        ran = functions(TARGET / "release" / "allowexec", arguments, requests)
        new = {pattern(name, archived) for name in ran} - {None} - set(lines)
        lines += sorted(new)
    lines += SANDBOX
    body = "".join(f"    {line}\n" for line in lines)
    (ROOT / "order.ld").write_text(HEADER + "SECTIONS\n{\n  .text.first :\n  {\n" + body + "  }\n}\nINSERT BEFORE .text;\n")
    print(f"{len(lines)} patterns")


main()
