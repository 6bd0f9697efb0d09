"""`era: both` for the second player, from `spec/transcript_format.md` alone: a text as the texts of its two sessions."""

import json

from player import Broken, expect, identity, unhex

ARROWS = ("-->", "<--", "==>", "<==")


def sessions(data):
    """The era and the text of each session, with the lines where they were; Broken with the number of a line."""
    lines = data.split(b"\n")
    body = next((at for at, line in enumerate(lines) if not line.strip()), len(lines))
    eras = [at for at in range(1, body) if lines[at].startswith(b"era:")]
    marked = [line.partition(b" ")[0] in (b"legacy", b"modern") for line in lines]
    if not eras:
        expect_at(not any(marked[body:]), body + marked[body:].index(True) + 1 if any(marked[body:]) else 0)
        return [("", data)]
    expect_at(lines[eras[0]][4:].strip() == b"both", eras[0] + 1)
    expect_at(len(eras) == 1, eras[-1] + 1)
    lines[eras[0]] = b"args:"  # says nothing, and keeps the numbers of the lines
    shared = [at for at in range(body, len(lines)) if lines[at].strip() and not lines[at].startswith(b"#")]
    opening = [None if at >= len(shared) else lines[shared[at]] for at in range(3)]
    initialize = message(opening[0])
    is_handshake = [
        initialize.get("method") == "initialize" and "id" in initialize,
        opening[1] is not None and answer(opening[1]) == identity({"id": initialize.get("id")}),
        message(opening[2]).get("method") == "notifications/initialized",
    ]
    if False in is_handshake:
        wrong = is_handshake.index(False)
        raise Broken((shared[wrong] if wrong < len(shared) else len(lines) - (not lines[-1])) + 1)
    params = initialize.get("params") if isinstance(initialize.get("params"), dict) else {}
    meta = {"protocolVersion": "2026-07-28", "clientCapabilities": params.get("capabilities", {})}
    meta |= {"clientInfo": params["clientInfo"]} if "clientInfo" in params else {}
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in meta.items()}
    texts = []
    for era in ("legacy", "modern"):
        text = list(lines)
        for at in range(body, len(lines)):
            if marked[at]:
                mark, _, rest = lines[at].partition(b" ")
                expect_at(rest.startswith(tuple(arrow.encode() for arrow in ARROWS)), at + 1)
                text[at] = rest if mark == era.encode() else b""
            elif era == "modern":
                text[at] = b"" if at in shared[:3] else with_meta(lines[at], meta)
        texts.append((era, b"\n".join(text)))
    return texts


def expect_at(condition, line):
    if not condition:
        raise Broken(line)


def held(pairs):
    names = [name for name, _ in pairs]
    expect(len(names) == len(set(names)))
    return dict(pairs)


def number(text):
    expect(text[-1].isdigit())
    found = (float if set(text) & set(".eE") else int)(text)
    expect(-(2**63) <= found < 2**64 if isinstance(found, int) else len(text.strip("-0.")) <= 17)
    return found


def message(line):
    """The object that a line of the client is, or an empty one."""
    try:
        expect(line is not None and line.startswith(b"--> "))
        found = json.loads(line[4:], object_pairs_hook=held, parse_int=number, parse_float=number, parse_constant=number)
        json.dumps(found, ensure_ascii=False).encode()
        return found if isinstance(found, dict) else {}
    except (Broken, ValueError):
        return {}


def answer(line):
    try:
        prefix, _, rest = line.decode().partition(" ")
        return identity(json.loads(unhex(rest) if prefix == "<--x" else rest)) if prefix.startswith("<--") else None
    except (Broken, ValueError):
        return None


def with_meta(line, meta):
    found = message(line)
    params = found.get("params", {})
    own = params.get("_meta", {}) if isinstance(params, dict) else None
    if not isinstance(found.get("method"), str) or not isinstance(own, dict):
        return line
    found["params"] = params | {"_meta": meta | own}
    return b"--> " + json.dumps(found, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
