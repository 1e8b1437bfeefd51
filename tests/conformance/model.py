"""A model on the loopback interface that plays a script, and keeps what hosts send it.

It speaks as much of three interfaces as the hosts want: Anthropic's messages, OpenAI's responses
and Gemini's contents. A host that asks with tools gets the next call of the script; once that is
at its end, and for all other requests (titles, summaries), a word.
"""
import collections
import http.server
import json
import threading

# What a host shows its model of one tool, and what it made of a call: the texts, in blocks, and
# whether it calls that an error (None where the interface has no word for it).
Tool = collections.namedtuple("Tool", "description schema")
Result = collections.namedtuple("Result", "blocks is_error")


def events(*pairs):
    """Server-sent events, each a name and its members."""
    return "".join("event: %s\ndata: %s\n\n" % (kind, json.dumps(dict(members, type=kind)))
                   for kind, members in pairs)


def texts(content):
    """The texts of a result, which is one string or a list of blocks."""
    return [content] if isinstance(content, str) else [block.get("text", "") for block in content]


class Messages:
    """Anthropic's messages: Claude Code, opencode."""
    path = "/messages"

    @staticmethod
    def tools(body):
        return {t["name"]: Tool(t.get("description", ""), t.get("input_schema", {}))
                for t in body.get("tools", [])}

    @staticmethod
    def results(body):
        blocks = [b for m in body["messages"] if isinstance(m["content"], list)
                  for b in m["content"]]
        return [Result(texts(b.get("content", "")), bool(b.get("is_error")))
                for b in blocks if b.get("type") == "tool_result"]

    @staticmethod
    def answer(body, number, call):
        message = {"id": "msg_%d" % number, "type": "message", "role": "assistant", "content": [],
                   "model": body.get("model", "none"), "stop_reason": None, "stop_sequence": None,
                   "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not body.get("stream"):
            return json.dumps(dict(message, content=[{"type": "text", "text": "done"}],
                                   stop_reason="end_turn"))
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
        if call:
            block = {"type": "tool_use", "id": "toolu_%d" % number, "name": call[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        return events(
            ("message_start", {"message": message}),
            ("content_block_start", {"index": 0, "content_block": block}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": "tool_use" if call else "end_turn",
                                         "stop_sequence": None}, "usage": {"output_tokens": 1}}),
            ("message_stop", {}))


class Responses:
    """OpenAI's responses: Codex. Tools of a server stand in a namespace: its name and a dot come
    first here."""
    path = "/responses"

    @staticmethod
    def tools(body):
        found = {}
        for tool in body.get("tools", []):
            space = tool["name"] + "." if tool["type"] == "namespace" else ""
            for t in tool["tools"] if space else [tool]:
                if t.get("type") == "function":
                    found[space + t["name"]] = Tool(t.get("description", ""),
                                                    t.get("parameters", {}))
        return found

    @staticmethod
    def results(body):
        return [Result(texts(i["output"]), None) for i in body.get("input", [])
                if i.get("type", "").endswith("_output")]

    @staticmethod
    def answer(_, number, call):
        item = {"type": "message", "id": "msg_%d" % number, "role": "assistant",
                "content": [{"type": "output_text", "text": "done"}]}
        if call:
            space, _, name = call[0].rpartition(".")
            item = {"type": "function_call", "id": "fc_%d" % number, "call_id": "call_%d" % number,
                    "name": name, "arguments": json.dumps(call[1])}
            if space:
                item["namespace"] = space
        return events(
            ("response.created", {"response": {"id": "resp_%d" % number}}),
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": {
                "id": "resp_%d" % number,
                "usage": {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1,
                          "output_tokens_details": None, "total_tokens": 2}}}))


class Contents:
    """Gemini's contents: Gemini CLI."""
    path = "enerateContent"

    @staticmethod
    def tools(body):
        return {f["name"]: Tool(f.get("description", ""),
                                f.get("parametersJsonSchema") or f.get("parameters") or {})
                for t in body.get("tools", []) for f in t.get("functionDeclarations", [])}

    @staticmethod
    def results(body):
        answers = [part["functionResponse"]["response"] for content in body.get("contents", [])
                   for part in content.get("parts", []) if "functionResponse" in part]
        return [Result(texts(a.get("error") or a.get("output", "")), "error" in a)
                for a in answers]

    @staticmethod
    def answer(_, number, call):
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": "done"}
        return "data: %s\n\n" % json.dumps({
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP",
                            "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1,
                              "totalTokenCount": 2},
            "modelVersion": "none", "responseId": "response-%d" % number})


class Handler(http.server.BaseHTTPRequestHandler):
    """One request of the host."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # pylint: disable=C0103
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        data = self.server.model.answer(self.path, body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if data.startswith(b"{")
                         else "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):  # pylint: disable=C0103
        self.send_error(404)

    do_HEAD = do_GET

    def log_message(self, *args):  # pylint: disable=W0221
        pass


class Model:
    """Plays @script, a generator: it yields calls (name, arguments) and is sent their Results.

    What a host sends may repeat (it asks again when an answer was lost): a call is made anew until
    its result has come, and a result is given to the script once."""

    def __init__(self, script):
        self.script, self.calls, self.tools = script, [], {}
        self.ended = False
        self.lock = threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.model = self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.server.server_address[1]

    def answer(self, path, body):
        interface = next((i for i in (Messages, Responses, Contents)
                          if i.path in path and "count" not in path), None)
        if not interface:
            return "{}"
        with self.lock:
            tools = interface.tools(body)
            call = self._next(tools, interface.results(body)) if tools else None
            return interface.answer(body, len(self.calls), call)

    def _next(self, tools, results):
        """The call for a host that shows @results; None when there is none any more."""
        if not self.calls:
            self.tools = tools
        if len(results) == len(self.calls) and not self.ended:
            try:
                self.calls.append(self.script.send(results[-1] if results else None))
            except StopIteration:
                self.ended = True
        return self.calls[len(results)] if len(results) < len(self.calls) else None

    def end(self):
        self.server.shutdown()
        self.server.server_close()
