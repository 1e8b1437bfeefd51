#!/usr/bin/env python3
"""Messages behind Content-Length headers, as editors send them: the same server, in both directions."""
import json
import re
import subprocess

from client import WAIT, Server, check, equal, server_path
from suite import Suite

suite = Suite()
HEADER = re.compile(rb"Content-Length: ([0-9]+)\r\n\r\n")
MARK = "io.modelcontextprotocol/"


def headed(text, header="Content-Length: %d\r\n\r\n"):
    body = text if isinstance(text, bytes) else json.dumps(text).encode()
    return header.encode() % len(body) + body


def request(id, method, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def take(buffer):
    """The whole messages at the front of @buffer, which loses them; nothing else may stand there."""
    messages = []
    while True:
        match = HEADER.match(buffer)
        end = match and match.end() + int(match[1])
        if not match or end > len(buffer):
            check(match or HEADER.match(bytes(buffer) + b"0\r\n\r\n") or len(buffer) < 40,
                  "no header: %.80r" % bytes(buffer))
            return messages
        messages.append(json.loads(buffer[match.end():end]))
        del buffer[:end]


class Editor(Server):
    """A client that sends headers and demands them."""

    def send(self, message):
        self.send_bytes(headed(message))

    def _take_messages(self, data):
        self.inbox.extend(take(self.buffer))


def session(data, *options):
    """(messages, status, stderr) of a server with @data as its whole input."""
    server = Server(start=False)
    done = subprocess.run([server_path(), "serve", "--workspace", server.workspace, "--state-dir",
                           server.state, *options], input=data, capture_output=True,
                          env=server.env, timeout=WAIT)
    out = bytearray(done.stdout)
    messages = take(out) if data[:1] in b"Cc" else [json.loads(m) for m in out.splitlines()]
    check(data[:1] not in b"Cc" or not out, "bytes that are no message: %.80r" % bytes(out))
    return messages, done.returncode, done.stderr.decode()


def ids(messages):
    return sorted(m["id"] for m in messages if "method" not in m and m["id"] is not None)


def refused(messages):
    """The texts of answers with id null, all of them -32700."""
    errors = [m["error"] for m in messages if "method" not in m and m["id"] is None]
    equal([e["code"] for e in errors], [-32700] * len(errors), "codes")
    return [e["message"] for e in errors]


@suite.test()
def test_plain_calls_notices_and_questions():
    server = Editor("--set", "tier.process.kill=confirm")
    run = server.call("process.run", {"command": "echo hällo; sleep 60", "background": True})
    equal(server.notes[-1]["method"], "capability.notify", "the notice before the answer")
    page = server.call("process.logs", {"process_id": run["process_id"], "wait_ms": 40000})
    equal(page["stdout"], "hällo\n", "stdout")
    kill = server.request("process.kill", {"process_id": run["process_id"], "signal": "KILL"})
    question = server.receive()
    equal(question["method"], "capability.confirm", "the question")
    server.send({"jsonrpc": "2.0", "id": question["id"], "result": {"allow": True}})
    check(server.result(kill)["killed"], "not killed")
    server.stop()


@suite.test()
def test_mcp_of_both_eras():
    server = Editor()
    opened = server.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                        "clientInfo": {"name": "editor", "version": "1"}})
    equal(opened["protocolVersion"], "2025-11-25", "revision")
    server.notify("notifications/initialized")
    call = {"name": "process_run", "arguments": {"command": "echo one"}}
    check("one" in server.call("tools/call", call)["content"][0]["text"], "no output")
    meta = {MARK + "protocolVersion": "2026-07-28", MARK + "clientCapabilities": {}}
    check("one" in server.call("tools/call", dict(call, _meta=meta))["content"][0]["text"],
          "no output")
    server.stop()


@suite.test()
def test_split_anywhere():
    """Byte by byte; and headers and body, each whole, with a pause for the server between them."""
    server = Editor()
    for byte in headed(request(1, "is_blocked", command="ls")) + \
            headed(request(2, "is_blocked", command="ls"), "content-length:%d\r\nX: y\r\n\r\n"):
        server.send_bytes(bytes([byte]))
        server.flush()
    for id in (1, 2):
        server.result(id)
    for id, cut in enumerate((b"Content", b":", b"\r", b"\r\n", b"\r\n\r", b"\r\n\r\n", b"{"), 3):
        data = headed(request(id, "is_blocked", command="ls"))
        at = data.index(cut) + len(cut)
        server.send_bytes(data[:at])
        equal(server.receive(0.1), None, "an answer to a part of a message")
        server.send_bytes(data[at:])
        server.result(id)
    server.stop()


@suite.test()
def test_batch_and_long_answers():
    server = Editor()
    server.send_bytes(headed([request(1, "process.list"), request(2, "is_blocked", command="x")]))
    equal(ids(server.receive()), [1, 2], "answers of the batch")
    run = server.call("process.run", {"command": "head -c 600000 /dev/zero | tr '\\0' x"})
    for _ in range(20):  # longer than a pipe takes, so that some wait in the queue
        server.request("process.logs", {"process_id": run["process_id"]})
    for id in range(server.next_id - 20, server.next_id):
        equal(len(server.result(id)["stdout"]), 600000, "bytes")
    server.stop()


@suite.test()
def test_newlines_in_a_body():
    body = json.dumps(request(1, "is_blocked", command="ls"), indent=1).encode() + b"\n"
    messages, status, _ = session(headed(body) + headed(b" \n ") + headed(b"") + headed(body))
    equal((ids(messages), refused(messages), status), ([1, 1], [], 0), "answers")


@suite.test()
def test_malformed_body_ends_nothing():
    messages, status, _ = session(headed(b"{") + headed(request(1, "process.list")))
    equal((ids(messages), len(refused(messages)), status), ([1], 1, 0), "answers")


@suite.test()
def test_long_body_is_skipped():
    limit = ("--set", "limits.line_bytes=64K")
    data = headed(b"[\n" * 100000) + headed(request(1, "process.list"))
    messages, status, _ = session(data, *limit)
    equal((ids(messages), status), ([1], 0), "answers")
    equal(refused(messages), ["a message of more than 65536 bytes was skipped"], "refusal")
    server = Editor(*limit)
    server.send_bytes(b"Content-Length: 999999999999\r\n\r\n")
    check("skipped" in server.receive()["error"]["message"], "the refusal waits for the body")
    server.stop()


@suite.test()
def test_broken_headers_end_the_session():
    """What was asked before is answered, what comes after is not, whether or not input goes on."""
    good = headed(request(1, "process.run", command="sleep 0.3; echo done"))
    after = headed(request(2, "process.list"))
    for bad in (b"Content-Length: -1\r\n\r\n", b"\n", b"\r\n", b"{",
                b"Content-Length: +5\r\n\r\n", b"Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
                b"X: " + b"y" * 5000, b"Content-Length: 99999999999999999999\r\n\r\n"):
        messages, status, stderr = session(good + bad + after)
        equal((ids(messages), status), ([1], 1), "answers and status after %r" % bad[:40])
        check("no more input is read" in refused(messages)[-1], "no refusal")
        check("no more input is read" in stderr, "stderr: " + stderr)
    server = Editor()
    server.send_bytes(good + b"Content-Length: no\r\n\r\n")
    equal(server.result(1)["stdout_summary"], "done\n", "the run")
    equal(server.wait_exit(), 1, "exit status while the input is open")


@suite.test()
def test_broken_headers_are_answered_after_much_garbage():
    messages, status, _ = session(headed(b"x") * 40 + b"Content-Length: x\r\n")
    equal((len(refused(messages)), status), (17, 1), "answers")


@suite.test()
def test_end_inside_a_message():
    data = headed(request(1, "process.list"))
    for cut in (1, 30, len(data) - 21):
        messages, status, _ = session(data + data[:-cut])
        equal((ids(messages), len(refused(messages)), status), ([1], 1, 1), "cut %d" % cut)


@suite.test()
def test_only_the_first_bytes_decide():
    """Anything else first, a blank or a byte order mark too, and the session has lines."""
    ask = json.dumps(request(1, "process.list")).encode() + b"\n"
    for first in (b"\xef\xbb\xbf", b" ", b"\n"):
        messages, status, _ = session(first + b"Content-Length: 9\r\n\r\n" + ask)
        equal((ids(messages), len(refused(messages)), status), ([1], 1, 0), "after %r" % first)
    server = Server()
    server.send_bytes(b"C\n")  # might still have become a header
    equal(server.receive()["error"]["code"], -32700, "code")
    server.send_bytes(ask)
    server.result(1)
    server.stop()


if __name__ == "__main__":
    suite.main()
