"""A second player of transcripts, written from `spec/transcript_format.md` alone: it shows that the page is enough."""

import collections, json, queue, re, shlex

KEYS = ["transcript", "scenario", "version", "server", "directory", "args", "env", "platform", "setup", "match"]
RULE = re.compile(r"([^/\s]\S*\s+)?/\S*\s+(ignore|string|number|unordered|at-least|fresh|same\s+[1-9]\d*(\s+/\S*)?)")


class Broken(Exception):
    pass


def expect(condition):
    if not condition:
        raise Broken


def words(value):
    try:
        return shlex.split(value, comments=True)
    except ValueError:
        raise Broken from None


def setup_words(value):
    found = re.findall(r'("(?:[^"\\]|\\.)*"|[^" ][^ ]*)(?: +|$)', value)
    expect(" ".join(found) == re.sub(r' +(?=(?:[^"]*"[^"]*")*[^"]*$)', " ", value))
    found = [json.loads(word) if word[0] == '"' else word for word in found]
    expect(len(found) == {"dir": 2, "file": 3, "script": 3, "link": 3}.get(found[0] if found else ""))
    expect(found[1] and len(found[1].encode()) <= 1024 and not found[1].startswith("/") and ".." not in found[1].split("/"))
    return found


def identity(message):
    if isinstance(message, list) and message:
        inner = [identity(member) for member in message]
        return None if None in inner else "batch " + " ".join(sorted(inner))
    if isinstance(message, dict):
        if isinstance(message.get("method"), str):
            return "method " + message["method"]
        if message.get("id") is not None:
            return "id " + json.dumps(message["id"])
        return "error" if "error" in message else None
    return None


def printable(data):
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    plain = all(c == "\t" or not (ord(c) < 32 or 127 <= ord(c) < 160) for c in text)
    return text if plain and text == text.rstrip() else None


def without_versions(line):  # of allowexec, which is the server if the header has none
    found = rb'(serverInfo":\s*\{(?:[^{}]|\{[^{}]*\})*?"version":\s*)"(?:[^"\\]|\\.)*"'
    return re.sub(found, rb'\1"[version]"', line)


def server_line(data):
    """A line of the server: ("wait", text, identity), or ("noise", bytes, None)."""
    try:
        text = data.decode().strip(" \t")
        found = identity(json.loads(text))
    except ValueError:
        found = None
    return ("wait", text, found) if found else ("noise", data, None)


def unhex(text):
    expect(re.fullmatch(r"([0-9A-Fa-f]{2})*", text))
    return bytes.fromhex(text)


def entry(line):
    if not line.strip(" \t"):
        return ("blank",)
    if line[0] == "#":
        return ("comment", line[1:])
    prefix, _, rest = line.partition(" ")
    if prefix in ("-->", "-->x", "-->+", "-->x+"):
        return ("send", unhex(rest) if "x" in prefix else rest.encode(), "+" not in prefix)
    if prefix == "<--":
        found = server_line(rest.encode())
        expect(found[0] == "wait")
        return found
    if prefix == "<--!":
        return ("noise", rest.encode(), None)
    if prefix == "<--x":
        return server_line(unhex(rest))
    if (prefix, rest.strip()) in (("==>", "eof"), ("<==", "no line feed")):
        return ("eof" if prefix == "==>" else "open",)
    status = re.fullmatch(r"exit\s+(-?\d+)", rest.strip())
    expect(prefix == "<==" and status)
    return ("exit", int(status[1]))


def parse(data):
    """The header and the entries; Broken with the number of the line."""
    header, entries, in_header = collections.defaultdict(list), [], True
    for number, raw in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
        try:
            line = raw.removesuffix(b"\r").decode()
            if number == 1:
                expect(re.fullmatch(r"transcript:[ \t]*1[ \t]*", line))
            elif in_header and not line.strip(" \t"):
                in_header = False
            elif in_header:
                key, colon, value = line.partition(":")
                value = value.strip(" \t")
                expect(colon and key in KEYS[1:])
                expect(key not in header or key in ("server", "args", "env", "setup", "match"))
                new = {"setup": lambda: [setup_words(value)], "platform": value.split, "match": lambda: [value]}
                plain = [value] if key in ("scenario", "version", "directory") else None
                header[key] += plain or new.get(key, lambda: words(value))()
                expect(key != "env" or all("=" in word for word in header[key]))
                expect(key != "platform" or set(header[key]) <= {"unix", "windows", "linux", "macos"})
                expect(key != "match" or RULE.fullmatch(value))
            else:
                entries.append(entry(line))
        except (Broken, UnicodeDecodeError):
            raise Broken(number) from None
    return header, entries


def shown(one):
    kind, *rest = one
    if kind == "send":
        plus, text = "" if rest[1] else "+", printable(rest[0])
        return f"-->{plus} {text}".rstrip(" ") if text is not None else f"-->x{plus} {rest[0].hex()}"
    if kind in ("wait", "noise"):
        data = rest[0].encode() if kind == "wait" else rest[0]
        text, mark = printable(data), "" if kind == "wait" else "!"
        return f"<--{mark} {text}".rstrip(" ") if text is not None else f"<--x {data.hex()}"
    return {"eof": "==> eof", "open": "<== no line feed"}.get(kind) or {"comment": "#{}", "exit": "<== exit {}", "failed": "<-- ({})", "blank": ""}[kind].format(*rest)


def canonical(header, entries):
    bare = lambda word: word if re.fullmatch(r"[^\s'\"\\#][^\s'\"\\]*", word) else shlex.quote(word)
    spelled = lambda word: word if re.fullmatch(r'[^\s"\x00-\x1f]+', word) else json.dumps(word, ensure_ascii=False)
    lines = ["transcript: 1"]
    for key in KEYS[1:]:
        if key in ("setup", "match"):
            lines += [f"{key}: " + (" ".join(map(spelled, value)) if key == "setup" else value) for value in header[key]]
        elif header[key]:
            quoted = map(bare, header[key]) if key in ("server", "args", "env") else header[key]
            lines.append(f"{key}: " + " ".join(quoted))
    return "".join(line + "\n" for line in lines + [""] + [shown(one) for one in entries])


def play(entries, write, close, lines, ended, fill, hide, deadline):
    """What happened: the entries, with what came. A line of `lines` has its end; `hide` puts in the placeholders."""
    waits, kept, happened = collections.Counter(one[2] for one in entries if one[0] in ("wait", "noise")), [], []
    at_end, ends, fresh = [], [], {}
    made_up = lambda one: re.findall(r'"(requestState|taskId|elicitationId)": ?"([^"]+)"', one[1]) if one[0] == "wait" else []
    swapped = lambda text, by: re.sub(r'"((?:[^"\\]|\\.)*)"', lambda found: f'"{by.get(found[1], found[1])}"', text)

    def read():
        line = None if at_end else lines.get(timeout=deadline)
        (at_end if line is None else ends).append(line is not None and line.endswith(b"\n"))
        return server_line(hide(line.removesuffix(b"\n"))) if line is not None else None

    def notice(came):
        wanted = waits[came[2]] > sum(other[2] == came[2] for other in kept)
        (kept if wanted else happened).append(came)

    def wait_for(wanted):
        if early := [came for came in kept if came[2] == wanted]:
            return kept.pop(kept.index(early[0]))
        try:
            while (came := read()) and came[2] != wanted:
                notice(came)
            return came or ("failed", "end of output")
        except queue.Empty:
            return ("failed", f"nothing within {int(deadline * 1000)}ms")

    def drain():
        while came := read():
            notice(came)
        happened.extend([("open",)] * (ends[-1:] == [False] and ("open",) not in happened))

    for one in entries:
        if one[0] == "send":
            write(swapped(fill(one[1]).decode("latin-1"), fresh).encode("latin-1") + (b"\n" if one[2] else b""))
        elif one[0] == "eof":
            close()
        elif one[0] in ("wait", "noise"):
            waits[one[2]] -= 1
            recorded, one = one, wait_for(one[2])
            fresh |= {old: new for (name, old), (_, new) in zip(made_up(recorded), made_up(one)) if name == "requestState" or old not in fresh}
        elif one[0] in ("open", "exit"):
            drain()
            one = ("exit", ended()) if one[0] == "exit" else None
        happened += filter(None, [one])
    if {"eof", "exit"} & {one[0] for one in entries} == {"eof"}:
        drain()
    close()
    back = {real: recorded for recorded, real in fresh.items()}
    return [("wait", swapped(one[1], back), one[2]) if one[0] == "wait" else one for one in happened + kept]
