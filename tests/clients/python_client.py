"""Drives the server with the PyPI package `mcp`, of either major version.

usage: python_client.py MODE ROOT OTHER SERVER [ARGUMENT...]

MODE is `legacy` for 1.x; for 2.x also `auto` or the revision 2026-07-28. ROOT is the directory that is offered as a root, and
holds a directory `inside`; OTHER is offered in its place later. SERVER is given `--roots use`.
Prints one line of JSON: the version, the revision spoken, and what was tried with how it went.
"""

import asyncio
import inspect
import json
import logging
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import mcp
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
MODE, ROOT, OTHER, *SERVER = sys.argv[1:]
SECOND = MODE != "legacy" or not version("mcp").startswith("1.")
tried = {}
# What is offered as roots, and how often that was asked for.
offered = [ROOT]
roots_asked = 0
messages = []


async def step(name, work):
    try:
        tried[name] = await asyncio.wait_for(work(), 15) or "ok"
    except Exception as error:  # every failure is a result
        while hasattr(error, "exceptions"):
            error = error.exceptions[0]
        tried[name] = f"FAILED: {type(error).__name__}: {error}"


def expect(condition, seen):
    if not condition:
        raise AssertionError(f"unexpected: {seen!r}")


def text(result):
    return result.content[0].text


def failed(result):
    return result.is_error if hasattr(result, "is_error") else result.isError


async def list_roots(_context):
    global roots_asked
    roots_asked += 1
    return types.ListRootsResult(roots=[types.Root(uri=Path(root).as_uri()) for root in offered])


async def on_message(params):
    messages.append(params)


async def exercise(client, revision, has_progress, call, cancel):
    async def listing():
        tools = (await client.list_tools()).tools
        expect({"execute_command", "execute_process"} <= {tool.name for tool in tools}, tools)

    async def calling():
        result = await call("echo hello")
        expect(not failed(result) and "hello" in text(result), result)

    async def refused():
        result = await call("rm -rf x")
        expect(failed(result) and "not allowed" in text(result), result)

    async def timed_out():
        result = await call("sleep 30", timeout_ms=300)
        expect(failed(result) and "timed_out: true" in text(result), result)

    async def progress():
        seen = []

        async def heard(progress, total, message=None):
            seen.append((progress, message))

        await call("sh -c 'echo tick; sleep 2.4'", heard)
        expect(seen and [p for p, _ in seen] == sorted({p for p, _ in seen}) and seen[0][1] == "tick", seen)

    async def prompts():
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        expect(names[:2] == ["intro", "explain_refusal"], names)
        await client.get_prompt("intro")
        result = await client.get_prompt("explain_refusal", {"command": "rm x"})
        expect("would be refused" in result.messages[0].content.text, result)
        try:
            await client.get_prompt("explain_refusal", {})
        except Exception as error:
            expect("command" in str(error), error)
        else:
            raise AssertionError("a prompt without its argument")

    async def completion():
        reference = types.PromptReference(type="ref/prompt", name="explain_refusal")
        asked = client.complete(reference, {"name": "command", "value": "s"})
        if revision == "2024-11-05":
            try:
                result = await asked
            except Exception as error:
                expect("does not exist" in str(error), error)
                return "ok, refused: 2024-11-05 has none"
        result = await asked
        expect(sorted(result.completion.values) == ["sh", "sleep"], result)

    async def many():
        results = await asyncio.gather(*(call(f"echo {number}") for number in range(50)))
        expect(all(f"{number}\n" in text(result) for number, result in enumerate(results)), results)

    await step("list", listing)
    await step("call", calling)
    await step("refused", refused)
    await step("timeout", timed_out)
    await step("cancel", cancel)
    if has_progress:
        await step("progress", progress)
    await step("prompts", prompts)
    await step("completion", completion)
    await step("50 at once", many)

    await step("roots", lambda: roots(revision, call, client.send_roots_list_changed))


def runs_in(directory, result):
    expect(not failed(result) and f"stdout: |\n  {directory}\n" in text(result), text(result))


def is_outside(result):
    expect(failed(result) and "is not inside an allowed root" in text(result), text(result))


async def roots(revision, call, tell):
    """The root is where calls run and what bounds them, and so is the next one once the client changed it."""
    modern = revision == "2026-07-28"

    async def change(*roots):
        offered[:] = roots
        if not modern:
            await tell()

    begun = roots_asked
    runs_in(ROOT, await call("sh -c pwd"))
    runs_in(f"{ROOT}/inside", await call("sh -c pwd", cwd="inside"))
    is_outside(await call("sh -c pwd", cwd="../" + Path(OTHER).name))
    # A legacy client was asked once after the handshake, a modern one is asked for each call, once.
    expect((begun, roots_asked) == (1, 1) or modern and roots_asked == begun + 3, (begun, roots_asked))

    await change(OTHER)
    runs_in(OTHER, await call("sh -c pwd"))
    is_outside(await call("sh -c pwd", cwd="../" + Path(ROOT).name))
    await change(ROOT, OTHER)
    runs_in(ROOT, await call("sh -c pwd"))
    runs_in(OTHER, await call("sh -c pwd", cwd="../" + Path(OTHER).name))
    if modern:
        expect(roots_asked == begun + 7, (begun, roots_asked))
        return "ok, input_required"
    expect(roots_asked == 3, roots_asked)
    is_outside(await call("sh -c pwd", cwd="/"))
    await change()
    runs_in("/", await call("sh -c pwd", cwd="/"))
    expect(roots_asked == 4, roots_asked)
    return "ok, list_changed"


async def required(call):
    """Under `--roots require` no directory is served unless the client's roots hold it, whatever the era."""
    offered[:] = [ROOT]
    runs_in(ROOT, await call("sh -c pwd"))
    runs_in(f"{ROOT}/inside", await call("sh -c pwd", cwd=f"{ROOT}/inside"))
    is_outside(await call("sh -c pwd", cwd=OTHER))


def requiring():
    return [{"use": "require"}.get(argument, argument) for argument in SERVER[1:]]


# What the user of this client answers, one after the other.
answers = []


async def elicited(_context, params):
    expect(params.message.startswith("Run this command?\ncommand: "), params)
    action, remember = answers.pop(0)
    return types.ElicitResult(action=action, content={"remember": remember} if remember else None)


def asking():
    return [*SERVER[1:], "--ask", "echo"]


async def approved(call):
    """`echo` runs only where the user says so, and for the session without being asked again."""
    answers[:] = [("accept", "once"), ("decline", None), ("cancel", None), ("accept", "session")]
    for runs in [True, False, False, True, True]:
        result = await call("echo approved")
        expect(failed(result) != runs and ("approved\n" in text(result)) == runs, result)
    expect(answers == [], answers)


async def unasked(call):
    result = await call("echo approved")
    expect(failed(result) and "nobody can be asked" in text(result), result)


async def tasks(experimental):
    """A task runs to its end, another is cancelled, and a third is asked about again after the client gave up on its result."""

    async def run(script):
        arguments = {"file": "sh", "args": ["-c", script]}
        return (await experimental.call_tool_as_task("execute_process", arguments)).task.taskId

    def result(id):
        return experimental.get_task_result(id, types.CallToolResult)

    id = await run("echo as a task")
    async for seen in experimental.poll_task(id):
        last = seen
    expect(last.status == "completed" and "as a task" in text(await result(id)), last)
    id = await run("echo begun; sleep 297")
    expect((await experimental.cancel_task(id)).status == "cancelled", id)
    expect("signal: SIGTERM" in text(await result(id)), id)
    id = await run("sleep 1; echo at last")
    try:
        await asyncio.wait_for(result(id), 0.1)
    except asyncio.TimeoutError:
        pass
    else:
        raise AssertionError("it was too fast")
    expect("at last" in text(await result(id)), id)
    expect(id in [task.taskId for task in (await experimental.list_tasks()).tasks], id)


async def first():
    parameters = StdioServerParameters(command=SERVER[0], args=SERVER[1:])
    async with stdio_client(parameters) as streams, ClientSession(
        *streams, list_roots_callback=list_roots, logging_callback=on_message
    ) as session:
        revision = (await session.initialize()).protocolVersion
        has_progress = "progress_callback" in inspect.signature(session.call_tool).parameters

        async def call(command, heard=None, **more):
            options = {"progress_callback": heard} if heard else {}
            return await session.call_tool("execute_command", {"command": command, **more}, **options)

        async def cancel():
            # This client has no way of its own to give up a request: the notification is sent by hand.
            id = session._request_id
            task = asyncio.ensure_future(call("sleep 299"))
            while session._request_id == id:
                await asyncio.sleep(0)
            await session.send_ping()
            cancelled = types.CancelledNotification(
                method="notifications/cancelled", params=types.CancelledNotificationParams(requestId=id)
            )
            await session.send_notification(types.ClientNotification(cancelled))
            await session.send_ping()
            expect(not task.done(), task)
            task.cancel()

        async def log():
            await session.set_logging_level("info")
            await call("echo logged")
            expect([message.data["event"] for message in messages] == ["allowed", "ended"], messages)
            await session.set_logging_level("emergency")

        await exercise(session, revision, has_progress, call, cancel)
        await step("logging", log)
        if hasattr(session, "experimental") and revision == "2025-11-25":
            await step("tasks", lambda: tasks(session.experimental))
    await step("roots required", first_required)
    await step("approval", first_approval)
    return revision


async def first_required():
    parameters = StdioServerParameters(command=SERVER[0], args=requiring())
    async with stdio_client(parameters) as streams, ClientSession(*streams, list_roots_callback=list_roots) as session:
        await session.initialize()
        await required(lambda command, **more: session.call_tool("execute_command", {"command": command, **more}))


async def first_approval():
    parameters = StdioServerParameters(command=SERVER[0], args=asking())
    shows_forms = "elicitation_callback" in inspect.signature(ClientSession.__init__).parameters
    for callback in [{"elicitation_callback": elicited}, {}] if shows_forms else [{}]:
        async with stdio_client(parameters) as streams, ClientSession(*streams, **callback) as session:
            await session.initialize()
            work = approved if callback else unasked
            await work(lambda command: session.call_tool("execute_command", {"command": command}))
    return "ok" if shows_forms else "ok, refused: this version shows no forms"


async def second():
    client = mcp.Client(
        StdioServerParameters(command=SERVER[0], args=SERVER[1:]),
        mode=MODE,
        list_roots_callback=list_roots,
        logging_callback=on_message,
        log_level=None if MODE == "legacy" else "info",
    )
    async with client:
        revision = client.protocol_version

        async def call(command, heard=None, **more):
            return await client.call_tool("execute_command", {"command": command, **more}, progress_callback=heard)

        async def cancel():
            begun = asyncio.Event()

            async def heard(progress, total, message=None):
                begun.set()

            task = asyncio.ensure_future(call("sleep 299", heard))
            await begun.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await client.list_tools()

        async def log():
            if MODE == "legacy":
                await client.set_logging_level("info")
            messages.clear()
            await call("echo logged")
            expect([message.data["event"] for message in messages] == ["allowed", "ended"], messages)
            if MODE == "legacy":
                await client.set_logging_level("emergency")

        async def listen():
            async with client.listen(tools_list_changed=True) as subscription:
                await call("echo beside")
                return f"ok, honoured {subscription.honored.model_dump(exclude_none=True, exclude_defaults=True)}"

        await exercise(client, revision, True, call, cancel)
        await step("logging", log)
        if MODE != "legacy":
            await step("listen", listen)
    await step("roots required", second_required)
    await step("approval", second_approval)
    return revision


async def second_required():
    parameters = StdioServerParameters(command=SERVER[0], args=requiring())
    async with mcp.Client(parameters, mode=MODE, list_roots_callback=list_roots) as client:
        await required(lambda command, **more: client.call_tool("execute_command", {"command": command, **more}))


async def second_approval():
    parameters = StdioServerParameters(command=SERVER[0], args=asking())
    for callback in [{"elicitation_callback": elicited}, {}]:
        async with mcp.Client(parameters, mode=MODE, **callback) as client:
            work = approved if callback else unasked
            await work(lambda command: client.call_tool("execute_command", {"command": command}))


async def main():
    revision = "none"
    started = time.monotonic()
    try:
        revision = await asyncio.wait_for(second() if SECOND else first(), 90)
        tried["end"] = "ok"
    except BaseException as error:
        tried["end"] = f"FAILED: {type(error).__name__}: {error}"
    print(json.dumps({"client": "PyPI mcp", "version": version("mcp"), "mode": MODE, "revision": revision, "tried": tried}))


asyncio.run(main())
