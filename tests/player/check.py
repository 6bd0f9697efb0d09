"""Tries the second player on all fixtures.

usage: check.py conformance DIR            the sets `valid`, `invalid`, `eras` and `echo` below DIR
       check.py play ALLOWEXEC FILE...     plays files against that program, and says what differs
"""

import json, os, pathlib, queue, re, subprocess, sys, tempfile, threading

import eras
import player

HERE = {"win32": ["windows"], "linux": ["unix", "linux"], "darwin": ["unix", "macos"]}.get(sys.platform, ["unix"])


def conformance(folder):
    wrong, seen = [], 0
    for file in sorted(folder.glob("*/*.transcript")):
        seen += 1
        data = file.read_bytes()
        try:
            sessions = [(era, *player.parse(text)) for era, text in eras.sessions(data)]
            parsed, line = sessions[0][1:], None
        except player.Broken as broken:
            parsed, line = None, broken.args[0]
        if file.parent.name == "invalid":
            expected, found = file.with_suffix(".line").read_text().strip(), str(line)
        elif parsed is None:
            expected, found = "it parses", f"line {line} is wrong"
        elif file.parent.name == "eras":
            expected = "".join(file.with_suffix(f".{era}").read_text() for era in ("legacy", "modern"))
            found = "".join(player.canonical(header, entries) for _, header, entries in sessions)
        elif file.parent.name == "valid":
            expected, found = file.with_suffix(".canonical").read_text(), player.canonical(*parsed)
        else:
            expected, found = file.with_suffix(".played").read_text(), echoed(*parsed)
        if expected != found:
            wrong.append(f"{file}:\n--- expected\n{expected}\n--- found\n{found}")
    return wrong, seen


def echoed(header, entries):
    """Played with a peer that writes each line that it reads, and ends with 0 at the end of its input."""
    lines, rest, closed = queue.Queue(), [b""], []

    def write(data):
        *whole, rest[0] = (rest[0] + data).split(b"\n")
        for line in whole:
            lines.put(line + b"\n")

    def close():
        if not closed:
            closed.append(True)
            if rest[0]:
                lines.put(rest[0])
            lines.put(None)

    same = lambda data: data
    return player.canonical(header, player.play(entries, write, close, lines, lambda: 0, same, player.without_versions, 0.2))


def played(program, file):
    """What differs when each session of the file is played against the program; nothing where it is for other platforms."""
    results = [(era, session(program, text)) for era, text in eras.sessions(file.read_bytes())]
    wrong = [f"{era}{difference}" for era, result in results for difference in result or []]
    return None if results[0][1] is None else wrong


def session(program, text):
    header, entries = player.parse(text)
    if header["platform"] and not set(header["platform"]) & set(HERE):
        return None
    with tempfile.TemporaryDirectory() as directory:
        tmp = os.path.realpath(directory)
        put = lambda text: text.replace("[tmp]", tmp)
        for kind, path, *rest in header["setup"]:
            path = pathlib.Path(tmp, path)
            (path if kind == "dir" else path.parent).mkdir(parents=True, exist_ok=True)
            if kind == "link":
                path.symlink_to(put(rest[0]))
            elif kind != "dir":
                path.write_text(put(rest[0]))
                path.chmod(0o755 if kind == "script" else 0o644)
        env = {"HOME": tmp} | {name: os.environ[name] for name in ("PATH", "SystemRoot") if name in os.environ}
        env |= {name: put(value) for name, value in (word.split("=", 1) for word in header["env"])}
        command = [put(word) for word in header["server"]] or [program, "serve", *map(put, header["args"])]
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        server = subprocess.Popen(command, cwd=tmp, env=env, **pipes)
        lines = queue.Queue()

        def read():
            for line in server.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()

        def write(data):
            try:
                server.stdin.write(data)
                server.stdin.flush()
            except (OSError, ValueError):
                pass  # a server that has gone shows in the waits that follow

        def close():
            try:
                server.stdin.close()
            except OSError:
                pass

        hide = lambda line: player.without_versions(line.replace(tmp.encode(), b"[tmp]"))
        fill = lambda data: data.replace(b"[tmp]", tmp.encode()) if player.printable(data) is not None else data
        try:
            found = player.play(entries, write, close, lines, lambda: server.wait(15), fill, hide, 15)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()
    return differences(entries, found)


def differences(entries, found):
    expected = [one for one in entries if one[0] != "blank"]
    found = [one for one in found if one[0] != "blank"]
    wrong = [f"-{player.shown(one)}\n+{player.shown(other)}" for one, other in zip(expected, found) if not agree(one, other)]
    return wrong + ([f"{len(expected)} lines were expected, and {len(found)} came"] if len(expected) != len(found) else [])


def is_bare(message):
    return list(message) in (["id"], ["method"]) or message == {"error": {}}


def without_times(message):
    return re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:\d\d)?", "[time]", json.dumps(message, sort_keys=True))


def agree(one, other):
    if one[0] == other[0] == "wait" and one[2] == other[2]:
        message = json.loads(one[1])
        bare = all(is_bare(member) for member in (message if isinstance(message, list) else [message]))
        return bare or without_times(message) == without_times(json.loads(other[1]))
    return player.shown(one) == player.shown(other)


def main():
    what, *arguments = sys.argv[1:]
    if what == "conformance":
        wrong, seen = conformance(pathlib.Path(arguments[0]))
    else:
        program = os.path.realpath(arguments[0])
        results = {file: played(program, pathlib.Path(file)) for file in arguments[1:]}
        wrong = [f"{file}:\n" + "\n".join(result) for file, result in results.items() if result]
        seen = sum(result is not None for result in results.values())
    print("\n".join(wrong + [f"{seen - len(wrong)} of {seen} are right"]))
    sys.exit(bool(wrong))


main()
