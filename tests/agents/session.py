"""What passed between an agent and the server, read from a transcript of `allowexec record`."""

import json
from pathlib import Path

META = "io.modelcontextprotocol/"


def names(capabilities):
    """What is declared, extensions under their own names."""
    return set(capabilities) | set(capabilities.get("extensions", {}))


class Session:
    """One start of the server."""

    def __init__(self, path):
        self.path = Path(path)
        self.client = self.revision = None
        self.declared = set()
        self.calls = self.roots = self.cancelled = 0
        # What the user's side answered to forms: accept, decline or cancel.
        self.answers = []
        # How the server ended, if its client waited for that.
        self.status = None
        self.asked, self.open = {}, {}
        for line in self.path.read_text().splitlines():
            arrow, _, rest = line.partition(" ")
            if arrow == "-->":
                self.sent(json.loads(rest))
            elif arrow == "<--":
                self.received(json.loads(rest))
            elif line.startswith("<== exit "):
                self.status = int(line.removeprefix("<== exit "))

    def sent(self, message):
        method, params = message.get("method"), message.get("params") or {}
        meta = params.get("_meta") or {}
        if method is None:
            self.told(self.asked.pop(message["id"], None), message.get("result"))
        elif method == "notifications/cancelled":
            self.cancelled += self.open.pop(params["requestId"], None) == "tools/call"
        elif "id" in message:
            self.open[message["id"]] = method
            self.calls += method == "tools/call"
        if method == "initialize":
            self.client, self.declared = params["clientInfo"], names(params["capabilities"])
        if META + "protocolVersion" in meta and method != "server/discover":
            self.revision = meta[META + "protocolVersion"]
            self.client = meta.get(META + "clientInfo", self.client)
            self.declared = names(meta.get(META + "clientCapabilities", {}))
        for name, result in params.get("inputResponses", {}).items():
            self.told(self.asked.pop(name, None), result)

    def told(self, question, result):
        if question == "roots/list":
            self.roots += bool(result) and "roots" in result
        elif question == "elicitation/create" and result:
            self.answers.append(result["action"])

    def received(self, message):
        result = message.get("result") or {}
        if "method" in message:
            if "id" in message:
                self.asked[message["id"]] = message["method"]
        elif self.open.pop(message.get("id"), None) == "initialize":
            self.revision = result.get("protocolVersion")
        for name, question in result.get("inputRequests", {}).items():
            self.asked[name] = question["method"]
