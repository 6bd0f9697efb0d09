"""Measures what `allowexec record` adds to a `ping` of the official client, in turns with the server alone.

usage: ping.py ALLOWEXEC NAME SERVER [ARGUMENT...]

Runs in the environment of the official client (PyPI package `mcp`) that run.sh installs. Both servers and the client run on one
core first, and on two then. Prints a row of the table in spec/benchmark.md for each.
"""

import asyncio
import logging
import os
import statistics
import sys
import tempfile
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

logging.disable(logging.CRITICAL)
ALLOWEXEC, NAME, *SERVER = sys.argv[1:]
ROUNDS = 400


async def measured(recording, nothing):
    commands = [SERVER, [ALLOWEXEC, "record", "--force", "-o", recording, "--", *SERVER]]
    directly, through = [StdioServerParameters(command=command[0], args=command[1:]) for command in commands]
    async with (stdio_client(directly, errlog=nothing) as one, ClientSession(*one) as alone,
                stdio_client(through, errlog=nothing) as two, ClientSession(*two) as recorded):
        os.sched_setaffinity(0, {CLIENT})
        times = ([], [])
        for session in (alone, recorded):
            await session.initialize()
        for round_ in range(ROUNDS + 40):
            for session, found in zip((alone, recorded), times):
                began = time.perf_counter()
                await session.send_ping()
                if round_ >= 40:
                    found.append(time.perf_counter() - began)
        return [statistics.median(found) * 1e6 for found in times]


cores = sorted(os.sched_getaffinity(0))[:2]
for what, servers, CLIENT in (("one core", cores[0], cores[0]), ("two cores", cores[-1], cores[0])):
    os.sched_setaffinity(0, {servers})
    with tempfile.TemporaryDirectory() as place, open(os.devnull, "w") as nothing:
        directly, through = asyncio.run(asyncio.wait_for(measured(f"{place}/r.transcript", nothing), 120))
    os.sched_setaffinity(0, set(cores))
    print(f"| {NAME}, {what} | {directly:.0f} µs | {through:.0f} µs | {through / directly:.2f} × |")
