"""Has the official client (PyPI package `mcp`) make the calls of one session, and prints what came as one line of JSON.

usage: client.py CALLS SERVER [ARGUMENT...]

CALLS is JSON: the list of [TOOL, ARGUMENTS] to call, one after the other, with progress. What the server offers beside tools is
listed too. Its questions (roots, sampling, elicitation) are answered, each always in the same way.
"""

import asyncio
import json
import logging
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

logging.disable(logging.CRITICAL)
seen = []


def plain(result):
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def sample(_context, params):
    seen.append(["sampling", plain(params)])
    return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text="sampled"), model="none")


async def elicit(_context, params):
    seen.append(["elicitation", plain(params)])
    return types.ElicitResult(action="decline")


async def roots(_context):
    return types.ListRootsResult(roots=[])


async def progressed(progress, total, _message):
    seen.append(["progress", progress, total])


async def main():
    calls, command = json.loads(sys.argv[1]), sys.argv[2:]
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    answers = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}
    async with stdio_client(parameters, errlog=sys.stderr) as streams, ClientSession(*streams, **answers) as session:
        capabilities = (await session.initialize()).capabilities
        seen.append(["tools/list", plain(await session.list_tools())])
        if capabilities.prompts:
            seen.append(["prompts/list", plain(await session.list_prompts())])
        if capabilities.resources:
            seen.append(["resources/list", plain(await session.list_resources())])
        for tool, arguments in calls:
            seen.append([tool, plain(await session.call_tool(tool, arguments, progress_callback=progressed))])
        seen.append(["ping", plain(await session.send_ping())])
    print(json.dumps(seen))


asyncio.run(asyncio.wait_for(main(), 60))
