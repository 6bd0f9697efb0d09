#!/usr/bin/env python3
"""A second implementation of `allowexec audit verify` for one file, from the description in spec/guide/audit.md alone.

    verify.py FILE[@HEAD]...

Prints `intact` or `broken KIND LINE` for each file, and ends with 0 or 1. It keeps all lines in memory, which the first one does not.
"""
import hashlib
import json
import re
import sys

ZERO = "0" * 64
PREV = re.compile(rb'^\{"seq":\d+,"time":"[^"]*","session":"[^"]*","prev":"([0-9a-f]{64})"')


def no_constant(_):
    raise ValueError("no JSON")


class Line:
    def __init__(self, data):
        self.hash = hashlib.sha256(data).hexdigest()
        self.record = None
        try:
            value = json.loads(data.decode("utf-8"), parse_constant=no_constant)
            numbers = type(value["seq"]) is int and 0 <= value["seq"] < 2**64
            texts = all(type(value[key]) is str for key in ("session", "prev", "event"))
            if numbers and texts and re.fullmatch(r"[0-9a-fA-F]{64}", value["prev"]) and len(value["session"]) <= 64:
                self.record = value
        except (ValueError, KeyError, TypeError):
            pass
        # What a torn line still says of the line before.
        torn = PREV.match(data)
        self.prev = self.record["prev"].lower() if self.record else torn and torn[1].decode()

    def is_recovered(self):
        return bool(self.record) and self.record["event"] == "recovered"


def verify(data, head=None):
    """Returns None, or the kind and the number of the line."""
    has_end = data.endswith(b"\n") or not data
    lines = [Line(part) for part in data.split(b"\n")]
    if has_end:
        lines.pop()
    expected, last_record, lost = {}, None, 0
    older = bool(lines) and bool(lines[0].record) and "continues" in lines[0].record

    def gap(record, known):
        """The difference between a record's number and the one that its session's next has."""
        start = record["seq"] if older else 0
        return record["seq"] - known.get(record["session"], start)

    def count(record, known):
        known[record["session"]] = record["seq"] + 1
        if record["event"] == "session_ended":
            del known[record["session"]]

    def suspect(at):
        """The chain is broken at this line; what comes behind tells how."""
        before = lines[at - 1].hash if at else ZERO
        earlier = {line.hash: index for index, line in enumerate(lines[:at])}
        behind = range(at + 1, len(lines))
        goes_on = any(lines[i].record and lines[i].prev == before for i in behind)
        if goes_on:
            early = any(lines[i].hash == lines[at].prev for i in behind) and lines[at].record
            return ("reordered" if early else "inserted"), at + 1
        if lines[at].record and lines[at].prev in earlier:
            return "inserted", earlier[lines[at].prev] + 2
        if not lines[at].record and (lines[at].prev is None or lines[at].prev == before):
            return "changed", at + 1
        known, left = dict(expected), lost
        for line in lines[at:]:
            if line.record:
                missing = gap(line.record, known)
                if missing > left:
                    return "removed", at + 1
                left -= max(missing, 0)
                count(line.record, known)
        following = [line for line in lines[at + 1:] if line.record][:1]
        denied = any(line.prev != lines[at].hash for line in following)
        return ("changed", at) if at and not denied else ("changed", at + 1)

    pending = []
    for at, line in enumerate(lines):
        before = lines[at - 1].hash if at else ZERO
        follows = line.prev == before or (at == 0 and older)
        if not line.record:
            if line.prev is not None and not follows:
                return suspect(pending[0] if pending else at)
            pending.append(at)
            continue
        if line.is_recovered() and follows and "torn_sha256" not in line.record:
            return "cut", at + 1
        if pending and not (follows and line.is_recovered() and line.record["torn_sha256"] == before):
            return suspect(pending[0])
        if not follows:
            return suspect(at)
        if line.is_recovered():
            of_file_before = at == 0 and older
            if not pending and line.record["torn_sha256"] != before and not of_file_before:
                return "changed", at + 1
            if not pending and not of_file_before:
                expected[last_record["session"]] = last_record["seq"]
            lost += len(pending) or (not of_file_before)
            pending = []
        missing = gap(line.record, expected)
        if missing < 0 or missing > lost:
            following = lines[at + 1] if at + 1 < len(lines) else None
            if following and following.record and following.prev != line.hash:
                return "changed", at + 1
            if not (following and not following.record):
                return ("removed" if missing > 0 else "inserted"), at + 1
            return suspect(at + 1)
        lost -= max(missing, 0)
        count(line.record, expected)
        last_record = line.record
    if pending and (has_end or pending[-1] != len(lines) - 1):
        return "changed", pending[0] + 1
    if head and head != ZERO and all(line.hash != head for line in lines):
        return "cut", len(lines)
    return None


if __name__ == "__main__":
    verdicts = []
    for argument in sys.argv[1:]:
        path, _, head = argument.partition("@")
        with open(path, "rb") as log:
            verdicts.append(verify(log.read(), head))
        print("intact" if verdicts[-1] is None else "broken {} {}".format(*verdicts[-1]))
    sys.exit(1 if any(verdicts) else 0)
