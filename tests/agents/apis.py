"""The wire formats of four model APIs: what a request offers and holds, and how a call or a text is answered.

Each class reads only what the stand-in needs, and writes the least that an agent takes. `is_streamed` says whether the request
wants server-sent events. Results are `(id, text)` of every call that the conversation holds, oldest first; where an API has no
ids for calls, `id` is None.
"""

import json


class Tool:
    """A tool as the agent offers it: its name, and the namespace that it stands in, if the API has those."""

    def __init__(self, name, namespace=None):
        self.name, self.namespace = name, namespace


def text_of(content):
    """The text of a string or of a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def events(named):
    """Server-sent events with names."""
    return "".join(f"event: {data['type']}\ndata: {json.dumps(data)}\n\n" for data in named)


class Messages:
    """Anthropic's Messages API."""

    @staticmethod
    def takes(path):
        return path.endswith("/messages")

    @staticmethod
    def is_streamed(_path, request):
        return bool(request.get("stream"))

    @staticmethod
    def tools(request):
        return [Tool(tool["name"]) for tool in request.get("tools", [])]

    @staticmethod
    def results(request):
        parts = [part for message in request["messages"] if isinstance(message["content"], list) for part in message["content"]]
        return [(part["tool_use_id"], text_of(part.get("content"))) for part in parts if part["type"] == "tool_result"]

    @staticmethod
    def call(id, tool, arguments):
        return {"type": "tool_use", "id": id, "name": tool.name, "input": arguments}

    @staticmethod
    def text(text):
        return {"type": "text", "text": text}

    @staticmethod
    def answer(block, is_streamed, number):
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "stand-in", "usage": usage}
        if not is_streamed:
            return json.dumps({**message, "content": [block], "stop_reason": reason, "stop_sequence": None})
        if block["type"] == "tool_use":
            begun, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        else:
            begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        return events([
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None}},
            {"type": "content_block_start", "index": 0, "content_block": begun},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ])


class Responses:
    """OpenAI's Responses API. Only streamed: no agent asks it otherwise."""

    @staticmethod
    def takes(path):
        return path.endswith("/responses")

    @staticmethod
    def is_streamed(_path, _request):
        return True

    @staticmethod
    def tools(request):
        tools = []
        for tool in request.get("tools", []):
            if tool["type"] == "function":
                tools.append(Tool(tool["name"]))
            elif tool["type"] == "namespace":
                tools += [Tool(one["name"], tool["name"]) for one in tool["tools"]]
        return tools

    @staticmethod
    def results(request):
        items = [item for item in request["input"] if item.get("type") == "function_call_output"]
        return [(item["call_id"], text_of(item["output"])) for item in items]

    @staticmethod
    def call(id, tool, arguments):
        item = {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": tool.name, "arguments": json.dumps(arguments)}
        return {**item, "namespace": tool.namespace} if tool.namespace else item

    @staticmethod
    def text(text):
        return {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": text}]}

    @staticmethod
    def answer(item, _is_streamed, number):
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
        return events([
            {"type": "response.created", "response": {"id": f"resp_{number}"}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": f"resp_{number}", "usage": usage}},
        ])


class ChatCompletions:
    """OpenAI's Chat Completions API."""

    @staticmethod
    def takes(path):
        return path.endswith("/chat/completions")

    @staticmethod
    def is_streamed(_path, request):
        return bool(request.get("stream"))

    @staticmethod
    def tools(request):
        return [Tool(tool["function"]["name"]) for tool in request.get("tools") or []]

    @staticmethod
    def results(request):
        told = [message for message in request["messages"] if message["role"] == "tool"]
        return [(message["tool_call_id"], text_of(message["content"])) for message in told]

    @staticmethod
    def call(id, tool, arguments):
        function = {"name": tool.name, "arguments": json.dumps(arguments)}
        return {"tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}]}

    @staticmethod
    def text(text):
        return {"content": text}

    @staticmethod
    def answer(part, is_streamed, number):
        reason = "tool_calls" if "tool_calls" in part else "stop"
        whole = {"id": f"chat_{number}", "created": 1, "model": "stand-in"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        said = {"role": "assistant", "content": None, **part}
        if not is_streamed:
            choice = {"index": 0, "message": said, "finish_reason": reason}
            return json.dumps({**whole, "object": "chat.completion", "choices": [choice], "usage": usage})
        chunks = [
            {"choices": [{"index": 0, "delta": said, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {"choices": [], "usage": usage},
        ]
        lines = [json.dumps({**whole, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
        return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])


class Gemini:
    """Google's Gemini API, which tells calls apart by their order."""

    @staticmethod
    def takes(path):
        return path.endswith((":generateContent", ":streamGenerateContent"))

    @staticmethod
    def is_streamed(path, _request):
        return path.endswith(":streamGenerateContent")

    @staticmethod
    def tools(request):
        sets = [tools.get("functionDeclarations", []) for tools in request.get("tools", [])]
        return [Tool(tool["name"]) for declarations in sets for tool in declarations]

    @staticmethod
    def results(request):
        parts = [part for content in request["contents"] for part in content.get("parts", [])]
        told = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
        return [(None, response.get("output") or response.get("error") or json.dumps(response)) for response in told]

    @staticmethod
    def call(_id, tool, arguments):
        return {"functionCall": {"name": tool.name, "args": arguments}}

    @staticmethod
    def text(text):
        return {"text": text}

    @staticmethod
    def answer(part, is_streamed, _number):
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        said = json.dumps({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stand-in"})
        return f"data: {said}\r\n\r\n" if is_streamed else said


ALL = (Messages, Responses, ChatCompletions, Gemini)
