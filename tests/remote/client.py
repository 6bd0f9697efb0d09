"""The far end of tests/remote/ssh.sh: the official Python client, whose server is a program called ssh."""

import os
import signal
import sys
import time
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

DIRECTORY, PORT, USER = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
DEADLINE = 30


@asynccontextmanager
async def connected(*remote_words):
    options = {"BatchMode": "yes", "IdentitiesOnly": "yes", "UserKnownHostsFile": DIRECTORY / "known_hosts", "LogLevel": "ERROR"}
    args = ["-T", "-F", "none", "-p", PORT, "-i", str(DIRECTORY / "key")]
    args += [f"-o{name}={value}" for name, value in options.items()]
    parameters = StdioServerParameters(command="ssh", args=[*args, f"{USER}@127.0.0.1", *remote_words])
    async with stdio_client(parameters) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        yield session


def exists(pid):
    return Path(f"/proc/{pid}").exists()


def child(name):
    """The one child of this process with this name."""
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    found = [pid for pid in pids if Path(f"/proc/{pid}/comm").read_text().strip() == name]
    assert len(found) == 1, f"{found} are called {name}"
    return found[0]


async def until(what, condition):
    end = time.monotonic() + DEADLINE
    while not (value := condition()):
        assert time.monotonic() < end, f"waited in vain for: {what}"
        await anyio.sleep(0.02)
    return value


async def wait_for_sshd():
    async def answers():
        try:
            stream = await anyio.connect_tcp("127.0.0.1", int(PORT))
        except OSError:
            return False
        await stream.aclose()
        return True

    end = time.monotonic() + DEADLINE
    while not await answers():
        assert time.monotonic() < end, "sshd does not listen"
        await anyio.sleep(0.02)


async def a_session_works_and_nothing_but_the_server_is_started():
    canary = DIRECTORY / "canary"
    async with connected("touch", str(canary)) as session:
        tools = [tool.name for tool in (await session.list_tools()).tools]
        assert tools[:2] == ["execute_command", "execute_process"], tools
        good = await session.call_tool("execute_command", {"command": "echo far away"})
        assert "far away" in good.content[0].text, good
        refused = await session.call_tool("execute_command", {"command": f"touch {canary}"})
        assert "is not allowed" in refused.content[0].text, refused
    assert not canary.exists(), "the client's own command was run in place of the forced one"


async def a_break_in_the_middle_of_a_call_leaves_nothing(name, number):
    file = DIRECTORY / f"pids-{name}"
    # The server, the command and a grandchild; the file appears whole.
    script = f"sleep 3600 & echo $PPID $$ $! > {file}.new; mv {file}.new {file}; wait"
    pids = []

    async def call(session):
        try:
            await session.call_tool("execute_process", {"file": "sh", "args": ["-c", script], "timeout_ms": 300_000})
        except Exception as error:  # Which one is the client's own business; that there is one is not.
            print(f"  {name}: the client is told: {type(error).__name__}: {error}")
            return
        raise AssertionError("the call was answered")

    async with connected() as session:
        ssh = child("ssh")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, session)
            await until("the command", file.exists)
            pids = [int(pid) for pid in file.read_text().split()]
            assert len(pids) == 3 and all(map(exists, pids)), pids
            started = time.monotonic()
            os.kill(ssh, number)
            await until(f"the end of {pids}", lambda: not any(map(exists, pids)))
            print(f"  {name}: server, command and grandchild were gone after {time.monotonic() - started:.2f} s")
            if number == signal.SIGSTOP:
                # The client's end still stands, as it does where the network between the two is gone.
                os.kill(ssh, signal.SIGKILL)


async def main():
    await wait_for_sshd()
    with anyio.fail_after(100):
        await a_session_works_and_nothing_but_the_server_is_started()
        await a_break_in_the_middle_of_a_call_leaves_nothing("killed", signal.SIGKILL)
        await a_break_in_the_middle_of_a_call_leaves_nothing("silent", signal.SIGSTOP)
    print("ssh: all as it should be")


anyio.run(main)
