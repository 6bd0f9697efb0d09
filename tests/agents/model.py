"""A stand-in for an agent's model, on loopback: it reads the conversation so far and asks for the next call of its script.

It holds no state about where an agent stands. That is in each request: as many calls of the script are done as the conversation
has results. A request that does not offer the server's tools (agents also ask for titles and summaries) gets a word.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import apis


class Model:
    """`script` is a list of `(tool, arguments)`; `arguments` may be a function of the results so far."""

    def __init__(self, script, needed="execute_command"):
        self.script = script
        # A tool without which a request is about something else.
        self.needed = needed
        self.results = []
        self.offered = []
        self.apis = set()
        self.unknown = set()
        self.problems = []
        self.answered = 0
        self.lock = threading.Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.rest({"data": [], "models": []})

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = self.path.partition("?")[0]
                api = next((api for api in apis.ALL if api.takes(path)), None)
                if api is None:
                    with model.lock:
                        model.unknown.add(path)
                    return self.rest({"input_tokens": 1, "totalTokens": 1})
                try:
                    request = json.loads(body)
                    is_streamed = api.is_streamed(path, request)
                    answer = model.answer(api, request, is_streamed)
                except Exception as error:  # What the agent sent is none of what apis.py knows: the run says so.
                    model.problems.append(f"the stand-in can't read {path}: {error!r}: {body[:300]!r}")
                    return self.rest({"error": {"message": repr(error)}}, 500)
                self.send(answer.encode(), "text/event-stream" if is_streamed else "application/json")

            def rest(self, value, status=200):
                self.send(json.dumps(value).encode(), "application/json", status)

            def send(self, body, kind, status=200):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except BrokenPipeError:
                    pass  # The agent was interrupted.

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, api, request, is_streamed):
        offered = api.tools(request)
        with self.lock:
            self.answered += 1
            number = self.answered
            self.apis.add(api.__name__)
            if not any(tool.name.endswith(self.needed) for tool in offered):
                return api.answer(api.text("done"), is_streamed, number)
            self.offered = [tool.name for tool in offered]
            results = [text for _, text in api.results(request)]
            if len(results) > len(self.results):
                self.results = results
            if len(results) >= len(self.script):
                return api.answer(api.text("done"), is_streamed, number)
            name, arguments = self.script[len(results)]
            tool = next((tool for tool in offered if tool.name == name or tool.name.endswith(("_" + name, "-" + name))), None)
            if tool is None:
                self.problems.append(f"the agent offers no tool `{name}`: {self.offered}")
                return api.answer(api.text("done"), is_streamed, number)
            if callable(arguments):
                arguments = arguments(results)
        return api.answer(api.call(f"call_{number}", tool, arguments), is_streamed, number)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
