"""Checks the records of the tap: what a client's own software would forgive is found here.

Every line of the server against the schema of the revision in use (`<MCP_SCHEMA_DIR>/<revision>/schema.json`), and beyond the
schemas: an answer for each request and no second one, with the id as it was sent; nothing for a request after its
cancellation; progress that rises, under a token that an open request carries; roots asked for from a client that declares
them, and in the way of its era; an orderly end, with 0 and in time.
"""

import json
from functools import cache
from pathlib import Path

import jsonschema

MODERN = "2026-07-28"
LATEST_LEGACY = "2025-11-25"
META = "io.modelcontextprotocol/"
# Clients wait two seconds before they send SIGTERM; the server is to be gone before.
LATEST_END = 1.5
ENDED_FIRST = "the server ended before its client did"
# What a server may ask of a client that declares it.
ASKS = {"roots/list": "roots", "elicitation/create": "elicitation"}
RESULTS = {
    "tasks/get": "GetTaskResult",
    "tasks/result": "CallToolResult",
    "tasks/list": "ListTasksResult",
    "tasks/cancel": "CancelTaskResult",
    "initialize": "InitializeResult",
    "server/discover": "DiscoverResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}


@cache
def schema(directory, revision):
    return json.loads((Path(directory) / revision / "schema.json").read_text())


@cache
def validator(directory, revision, name):
    whole = schema(directory, revision)
    key = "$defs" if "$defs" in whole else "definitions"
    if name not in whole[key]:
        return None
    return jsonschema.validators.validator_for(whole)({**whole, "$ref": f"#/{key}/{name}"})


def definition_of(directory, revision, method, kind):
    whole = schema(directory, revision)
    for name, definition in whole.get("$defs", whole.get("definitions")).items():
        if name.endswith(kind) and definition.get("properties", {}).get("method", {}).get("const") == method:
            return name
    return None


def token(value):
    """1 and "1" are two ids, and so are 1 and true."""
    return json.dumps(value)


class Session:
    """One start of the server."""

    def __init__(self, path, schemas):
        self.path, self.schemas = path, schemas
        self.problems = []
        self.revision = None
        self.spoken = set()
        self.open = {}
        self.cancelled = set()
        self.asked = {}
        self.declared = set()
        self.roots_asked = self.roots_told = self.roots_changed = 0
        self.lines = 0
        self.cancels = 0
        self.left = self.ended = False
        for entry in map(json.loads, Path(path).read_text().splitlines()):
            self.take(*entry)
        if not self.ended:
            self.problems.append("the server was still there when the tap ended")
        if self.roots_asked > 1 + self.roots_changed:
            self.complain(f"asked for roots {self.roots_asked} times, which changed {self.roots_changed} times")

    def complain(self, what, line=""):
        self.problems.append(f"{what}{': ' if line else ''}{line[:300]}")

    def take(self, kind, *rest):
        match kind:
            case "-->":
                self.client(rest[0])
            case "<--":
                self.lines += 1
                self.server(rest[0])
            case "eof" | "signal":
                self.left = True
            case "end":
                self.ended = True
                status, seconds = rest
                if status != 0:
                    self.complain(f"the server ended with {status}")
                if seconds is None:
                    self.complain(ENDED_FIRST)
                elif seconds > LATEST_END:
                    self.complain(f"the server took {seconds} s to end")
            case _:
                self.complain(f"{kind}: a line without an end", rest[0])

    def client(self, line):
        try:
            messages = json.loads(line)
        except ValueError:
            return
        for message in messages if isinstance(messages, list) else [messages]:
            params = message.get("params") or {}
            meta = params.get("_meta") or {}
            if message.get("method") == "notifications/cancelled":
                id = token(params.get("requestId"))
                if id in self.open:
                    self.cancels += self.open[id]["method"] == "tools/call"
                    self.cancelled.add(id)
                    del self.open[id]
            elif message.get("method") == "notifications/roots/list_changed":
                self.roots_changed += 1
            elif "method" not in message:
                self.roots_told += self.asked.pop(token(message.get("id")), None) == "roots/list" and "result" in message
            elif "id" in message:
                if message["method"] == "initialize":
                    self.declared = set(params.get("capabilities", {}))
                has_told = "roots" in params.get("inputResponses", {})
                self.roots_told += has_told
                self.open[token(message["id"])] = {
                    "method": message["method"],
                    "asks for a task": "task" in params,
                    "declared": set(meta.get(META + "clientCapabilities", {})),
                    "has told roots": has_told,
                    "revision": MODERN if META + "protocolVersion" in meta else None,
                    "token": token(meta["progressToken"]) if "progressToken" in meta else None,
                    "progress": 0,
                }

    def server(self, line):
        try:
            line.encode()
            messages = json.loads(line)
        except ValueError:
            return self.complain("no JSON in UTF-8", line)
        if isinstance(messages, list) and self.revision != "2025-03-26":
            self.complain("a batch", line)
        for message in messages if isinstance(messages, list) else [messages]:
            if "method" in message:
                self.pushed(message, line)
            else:
                self.answer(message, line)

    def pushed(self, message, line):
        method, params = message["method"], message.get("params", {})
        revision = self.revision or MODERN
        if method == "notifications/progress":
            asked = [one for one in self.open.values() if one["token"] == token(params.get("progressToken"))]
            if not asked:
                return self.complain("progress that no open request asks for", line)
            revision = asked[0]["revision"] or revision
            if params["progress"] <= asked[0]["progress"]:
                self.complain("progress that does not rise", line)
            asked[0]["progress"] = params["progress"]
        elif META + "subscriptionId" in params.get("_meta", {}):
            revision = MODERN
            if token(params["_meta"][META + "subscriptionId"]) not in self.open:
                self.complain("a notification on a subscription that is not open", line)
        kind = "Request" if "id" in message else "Notification"
        if kind == "Request":
            id = token(message["id"])
            if id in self.asked:
                self.complain("a second request of this id", line)
            self.asked[id] = method
            self.roots_asked += method == "roots/list"
            if ASKS.get(method) not in self.declared:
                self.complain("a request that the client does not declare to answer", line)
            if revision == MODERN:
                self.complain("a request of the server without a handshake", line)
        if self.schemas:
            name = definition_of(self.schemas, revision, method, kind)
            if name is None:
                return self.complain(f"{revision} has no `{method}`", line)
            self.check(revision, name, message, line)

    def answer(self, message, line):
        if "id" not in message:
            return self.complain("an error for no request", line)
        id = token(message["id"])
        if id not in self.open:
            why = "was cancelled" if id in self.cancelled else "is not open"
            return self.complain(f"an answer for {id}, which {why}", line)
        request = self.open.pop(id)
        result = message.get("result")
        if request["method"] == "initialize" and request["revision"] is None and result:
            self.revision = result["protocolVersion"]
        revision = request["revision"] or self.revision or LATEST_LEGACY
        if result is not None and request["method"] != "server/discover":
            self.spoken.add(revision)
        if not self.schemas:
            return
        if result is None:
            for name in ("JSONRPCErrorResponse", "JSONRPCError"):
                self.check(revision, name, message, line)
            return
        for name in ("JSONRPCResultResponse", "JSONRPCResponse"):
            self.check(revision, name, message, line)
        name = RESULTS.get(request["method"])
        if request["method"] == "tools/call" and "task" in result:
            name = "CreateTaskResult"
            if not request["asks for a task"]:
                self.complain("a task that nobody asked for", line)
        if result.get("resultType") == "input_required":
            name = "InputRequiredResult"
            asked = [one.get("method") for one in result.get("inputRequests", {}).values()]
            # Beside another question roots are asked for again, since the next call stands for itself.
            again = asked == ["roots/list"] and request["has told roots"]
            if not asked or again or any(ASKS.get(one) not in request["declared"] for one in asked):
                self.complain("a question that the client does not declare to answer, or has answered", line)
        if name is None or validator(self.schemas, revision, name) is None:
            return self.complain(f"a result for `{request['method']}`, which {revision} does not know", line)
        self.check(revision, name, result, line)
        if name == "EmptyResult" and revision != MODERN and result != {}:
            self.complain("an empty result is {}", line)

    def check(self, revision, name, value, line):
        known = validator(self.schemas, revision, name)
        if known is not None:
            for error in known.iter_errors(value):
                self.complain(f"{revision} {name}: {error.message[:200]}", line)


def sessions(directory, schemas):
    return [Session(path, schemas) for path in sorted(Path(directory).glob("*.session"))]
