"""Stands between a client and the server: passes every byte on, and writes down what passed.

usage: tap.py RECORD SERVER [ARGUMENT...]

RECORD is a directory; each start of the tap writes one file of its own there (clients may start a server twice). A line of the
file is one JSON array: ["-->", LINE] from the client, ["<--", LINE] from the server, ["eof", SECONDS] at the end of the client's
stream, ["signal", NUMBER] for a signal that the client sent, ["end", STATUS, SECONDS] at the server's end, with the seconds since
the client left. Bytes that are not UTF-8 stand in the record as surrogates. The tap checks nothing: see check.py.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

CHUNK = 1 << 16


class Record:
    def __init__(self, directory):
        descriptor, self.path = tempfile.mkstemp(".session", time.strftime("%H%M%S-"), directory)
        self.file = os.fdopen(descriptor, "w")
        self.lock = threading.Lock()

    def write(self, *entry):
        with self.lock:
            self.file.write(json.dumps(entry) + "\n")
            self.file.flush()


def pump(source, target, arrow, record):
    """Passes on whole pieces at once, and records line by line."""
    rest = b""
    alive = True
    while piece := os.read(source, CHUNK):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            record.write(arrow, line.decode("utf-8", "surrogateescape"))
        while alive and piece:
            try:
                piece = piece[os.write(target, piece):]
            except BrokenPipeError:
                alive = False
    if rest:
        record.write(arrow + " unended", rest.decode("utf-8", "surrogateescape"))


def main():
    directory, *command = sys.argv[1:]
    record = Record(directory)
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    left = []

    def passed_on(number, _frame):
        record.write("signal", number)
        left.append(time.monotonic())
        server.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, passed_on)

    def from_client():
        pump(0, server.stdin.fileno(), "-->", record)
        left.append(time.monotonic())
        record.write("eof")
        server.stdin.close()

    threading.Thread(target=from_client, daemon=True).start()
    pump(server.stdout.fileno(), 1, "<--", record)
    status = server.wait()
    record.write("end", status, round(time.monotonic() - left[0], 3) if left else None)
    # The thread that reads the client is left behind: a client may keep its end open.
    os._exit(status if status >= 0 else 128 - status)


main()
