"""A model on the loopback interface that says one thing: call this tool, then stop.

It speaks as much of Anthropic's messages interface as Claude Code wants, and keeps what it was sent:
the tools that the host shows its model, and the result as the model would read it.
"""
import http.server
import json
import threading


def event(kind, **members):
    return "event: %s\ndata: %s\n\n" % (kind, json.dumps(dict(members, type=kind)))


class Model:
    """Answers the first question with a call of @tool, every later one with a word."""

    def __init__(self, tool, arguments):
        self.tool, self.arguments = tool, arguments
        self.tools, self.results = set(), []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One request of the host."""
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # pylint: disable=C0103
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
                text = model.answer(body) if "messages" in body else "{}"
                data = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream" if body.get("stream")
                                 else "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):  # pylint: disable=C0103
                self.send_error(404)

            do_HEAD = do_GET

            def log_message(self, *args):  # pylint: disable=W0221
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.server.server_address[1]

    def answer(self, body):
        self.tools |= {t["name"] for t in body.get("tools", [])}
        blocks = [b for m in body["messages"] if isinstance(m["content"], list)
                  for b in m["content"]]
        self.results = [b for b in blocks if b.get("type") == "tool_result"]
        wants_tool = self.tool in {t["name"] for t in body.get("tools", [])}
        if wants_tool and not self.results:
            block = {"type": "tool_use", "id": "toolu_1", "name": self.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(self.arguments)}
            return self.stream(body, block, delta, "tool_use")
        return self.stream(body, {"type": "text", "text": ""},
                           {"type": "text_delta", "text": "done"}, "end_turn")

    @staticmethod
    def stream(body, block, delta, reason):
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
                   "model": body.get("model", "none"), "stop_reason": None, "stop_sequence": None,
                   "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not body.get("stream"):
            return json.dumps(dict(message, content=[{"type": "text", "text": "done"}],
                                   stop_reason="end_turn"))
        return "".join((event("message_start", message=message),
                        event("content_block_start", index=0, content_block=block),
                        event("content_block_delta", index=0, delta=delta),
                        event("content_block_stop", index=0),
                        event("message_delta", delta={"stop_reason": reason,
                                                      "stop_sequence": None},
                              usage={"output_tokens": 1}),
                        event("message_stop")))

    def end(self):
        self.server.shutdown()
        self.server.server_close()
