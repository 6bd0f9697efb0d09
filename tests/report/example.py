#!/usr/bin/env python3
"""Writes an audit log of a day's work that never was, the same one each time: example.py > audit.jsonl

`tests/report/draw.sh` makes spec/report.png from it.
"""
import hashlib
import json
import random
import sys

chance = random.Random(2026)
last = "0" * 64
clock = 0


def record(session, event, **fields):
    global last, clock
    clock += chance.randrange(40, 900)
    hour, rest = divmod(clock, 3_600_000)
    minute, rest = divmod(rest, 60_000)
    second, thousandth = divmod(rest, 1000)
    time = f"2026-11-23T{9 + hour:02}:{minute:02}:{second:02}.{thousandth:03}Z"
    line = json.dumps({"seq": session["seq"], "time": time, "session": session["id"], "prev": last, "event": event, **fields},
                      separators=(",", ":"), ensure_ascii=False)
    session["seq"] += 1
    last = hashlib.sha256(line.encode()).hexdigest()
    print(line)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


CALLS = [
    (16, ["cargo", "check", "--locked"], "cargo-check:12", 900, 9000, 0.1),
    (12, ["cargo", "test", "--locked", "parser::"], "cargo-check:31", 3000, 26000, 0.2),
    (18, ["git", "status", "--short"], "git-readonly:8", 8, 40, 0),
    (14, ["git", "diff", "HEAD~1", "--", "src/parser.rs"], "git-readonly:21", 10, 60, 0),
    (10, ["git", "log", "-n", "20", "--oneline"], "git-readonly:34", 10, 50, 0),
    (22, ["rg", "-n", "fn parse_header", "src"], "search:5", 5, 60, 0.15),
    (12, ["ls", "-l", "target/debug"], "ls", 2, 9, 0.05),
    (9, ["cat", "Cargo.toml"], "cat", 2, 6, 0),
]
REFUSED = [
    (["git", "push", "--force", "origin", "main"], "subcommand `push` of `git` is not allowed; allowed: status, diff, log, show, blame"),
    (["rm", "-rf", "target"], "command `rm` is not allowed; allowed commands: cargo, git, rg, ls, cat"),
    (["cargo", "publish"], "subcommand `publish` of `cargo` is not allowed; allowed: check, clippy, test, build"),
    (["cat", "/home/me/.ssh/id_ed25519"], "`/home/me/.ssh/id_ed25519` lies outside of /home/me/project"),
]


def session(name, client, version, calls):
    this = {"seq": 0, "id": name}
    record(this, "session_started", version="0.1.0", program_sha256=digest("program"), config_sha256=digest("config"),
           policies=[{"path": "/home/me/.config/allowexec/policy.yaml", "sha256": digest("policy")}], host="workstation", user="me",
           pid=chance.randrange(2000, 60000), platform="linux x86_64", sandbox="workspace",
           client={"name": client, "version": version}, salt=digest(name)[:32])
    record(this, "roots", roots=["/home/me/project"], refused=[])
    for call in range(1, calls + 1):
        common = {"call": call, "id": call, "tool": "execute_command", "cwd": "/home/me/project"}
        if chance.random() < 0.09:
            argv, reason = chance.choice(REFUSED)
            record(this, "decided", **common, argv=argv, decision="refused", rule=None, reason=reason)
            continue
        asks = chance.random() < 0.035
        weights = [weight for weight, *_ in CALLS]
        _, argv, rule, shortest, longest, failing = chance.choices(CALLS, weights)[0]
        if asks:
            argv, rule, shortest, longest, failing = ["terraform", "apply", "-auto-approve", "plan.out"], "policy.yaml:40", 4000, 30000, 0.2
        record(this, "decided", **common, argv=argv, decision="ask" if asks else "allowed", rule=rule, reason=None)
        if asks:
            record(this, "asked", call=call, channel="client", text="Run terraform?\n\n  /usr/bin/terraform \"apply\" \"-auto-approve\" \"plan.out\"\n  in /home/me/project")
            approved = chance.random() < 0.6
            record(this, "answered", call=call, channel="client", answer="once" if approved else "declined", remembered=False, waited_ms=chance.randrange(2000, 20000))
            if not approved:
                continue
            record(this, "decided", **common, argv=argv, decision="allowed", rule=rule, reason=None)
        record(this, "started", call=call, program="/usr/bin/" + argv[0], identity={"device": 2049, "inode": 131, "size": 9, "modified": "1"}, pid=chance.randrange(2000, 60000))
        fails, slow = chance.random() < failing, chance.random() < 0.01
        fields = {"exit_code": None, "signal": "SIGKILL", "timed_out": True} if slow else {"exit_code": 101 if fails else 0}
        took = 30000 if slow else int(shortest * (longest / shortest) ** chance.random())
        global clock
        clock += took
        record(this, "ended", call=call, **fields, duration_ms=took,
               stdout={"bytes": chance.randrange(0, 40000), "sha256": digest(str(clock))},
               stderr={"bytes": chance.randrange(0, 4000) if fails else 0, "sha256": digest("")})
    record(this, "session_ended", calls=calls)


calls = int(sys.argv[1]) if len(sys.argv) > 1 else 240
session("3f2a91c0-5b1e-4a7d-9c3e-0d6f2b8a1e55", "claude-code", "2.1.197", calls * 2 // 3)
session("b81d07e4-20cf-4f0a-8a55-7be1c09d3f12", "codex", "0.61.0", calls // 3)
