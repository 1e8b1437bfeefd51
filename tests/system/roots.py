#!/usr/bin/env python3
"""A host that starts the server in / or the home: it serves its list, says what is missing, and takes
the client's root as the workspace."""
import json
import os
import signal
import time
import urllib.parse

from client import WAIT, Server, Skip, check, equal, eventually
from suite import Suite

suite = Suite()
REVISION = "2025-11-25"


def uri(path):
    return "file://" + urllib.parse.quote(path)


class Host(Server):
    """A client of the handshake, in a place that is no workspace."""

    def __init__(self, *args, cwd="home", **options):
        super().__init__(*args, cwd=cwd, **options)

    def handshake(self, **capabilities):
        self.call("initialize", {"protocolVersion": REVISION, "capabilities": capabilities,
                                 "clientInfo": {"name": "host", "version": "1"}})
        self.notify("notifications/initialized")

    def question(self):
        """The server's roots/list, which must be the next message."""
        message = self.receive()
        equal(message and message.get("method"), "roots/list", "the question")
        return message["id"]

    def answer_roots(self, *uris):
        self.send({"jsonrpc": "2.0", "id": self.question(),
                   "result": {"roots": [{"uri": u} for u in uris]}})

    def tool(self, name, **arguments):
        return self.call("tools/call", {"name": name, "arguments": arguments})

    def text(self, name, **arguments):
        return self.tool(name, **arguments)["content"][0]["text"]

    def stays_without(self):
        refused = self.tool("process_run", command="touch ran")
        check(refused["isError"], "it ran: %s" % refused)
        check("--workspace" in refused["content"][0]["text"], "text: %s" % refused)
        return refused

    def works_in(self, directory):
        eventually(lambda: "the workspace is" in self.stderr_text(), WAIT, "no workspace")
        check(directory in self.text("process_run", command="pwd -P"), "not in " + directory)
        check("exit 0" in self.text("process_run", command="echo x >inside"), "it cannot write")
        check(os.path.exists(os.path.join(directory, "inside")), "nothing was written")


def has_shim(server):
    with open("/proc/%d/task/%d/children" % (server.pid, server.pid)) as f:
        return bool(f.read().split())


@suite.test()
def test_sandbox_ahead_of_a_late_root():
    """It is made in the first silence after the root is known."""
    server = Host()
    server.handshake(roots={})
    time.sleep(0.5)
    check(not has_shim(server), "one without a workspace")
    server.answer_roots(uri(server.workspace))
    eventually(lambda: has_shim(server), WAIT, "no sandbox is made ahead")
    server.works_in(server.workspace)
    server.stop()


@suite.test()
def test_root_that_comes_with_the_end():
    """A signal is handled before the root, which was read already: the call that waited starts nothing."""
    server = Host()
    server.handshake(roots={})
    question = server.question()
    call = server.request("tools/call", {"name": "process_run", "arguments": {"command": "sleep 600"}})
    messages = [{"jsonrpc": "2.0", "id": 1000 + n, "method": "tools/list"} for n in range(300)]
    messages.append({"jsonrpc": "2.0", "id": question, "result": {"roots": [{"uri": uri(server.workspace)}]}})
    server.send_bytes(b"".join(json.dumps(m).encode() + b"\n" for m in messages))
    server.wait_read()
    server.signal(signal.SIGTERM)
    equal(server.wait_exit(), 0, "exit status")
    check("InternalError" not in str(server.result(call)), "no run, and no refusal of one")
    equal(server.survivors(), [], "survivors")


@suite.test()
def test_list_without_a_workspace():
    usual = Server()
    for cwd in ("/", "home"):
        server = Host(cwd=cwd)
        server.handshake()
        equal(server.call("tools/list"), usual.call("tools/list"), "the tools in " + cwd)
        server.stays_without()
        for name in ("agent_session", "process_list", "is_blocked"):
            check("--workspace" in server.text(name, command="ls"), name)
        equal(server.call("resources/list")["resources"], [], "resources")
        equal(server.call("rpc.discover")["info"]["title"], "procpen", "what runs nothing")
        equal(server.call("config.get", {"keys": ["packs"]})["packs"]["value"], [], "what runs nothing")
        server.stop()
        check("no command can run" in server.stderr_text(), server.stderr_text())
        check(not server.notes, "it asked without roots: %s" % server.notes)
        check(not os.path.exists(os.path.join(server.home, "ran")), "it ran")
    usual.stop()


@suite.test()
def test_plain_and_stateless_calls_are_refused():
    server = Host()
    error = server.answer(server.request("process.run", {"command": "true"}))["error"]
    check("--workspace" in error["data"]["hint"], "hint: %s" % error)
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"roots": {}}}
    result = server.call("tools/call", {"name": "process_run", "_meta": meta,
                                        "arguments": {"command": "true"}})
    check(result["isError"] and "--workspace" in result["content"][0]["text"], str(result))
    server.stop()


@suite.test()
def test_root_becomes_the_workspace():
    server = Host()
    server.handshake(roots={"listChanged": True})
    server.answer_roots(uri(server.workspace), uri(server.base))
    server.works_in(server.workspace)
    check("Read-only" in server.text("process_run", command="echo x >../outside") or
          not os.path.exists(os.path.join(server.base, "outside")), "a write outside")
    session = server.call("agent.session")
    equal(session["accessible_directories"], [server.workspace], "directories")
    run = server.call("process.run", {"command": "sleep 600", "background": True})
    server.notify("notifications/roots/list_changed")
    server.notify("notifications/initialized")
    equal(server.call("process.monitor", {"process_id": run["process_id"]})["state"], "running",
          "the run")
    check(not [n for n in server.notes if n["method"] == "roots/list"], "it asked again")
    server.stop()
    equal(server.survivors(), [], "survivors")


HOLD_S = 2  # how long calls wait for them (HOLD_MS in src/mcp/roots.c)


def in_time(begin, *params):
    """What @begin returns: a server, which it has given its roots, first. A busy machine may be later
    with these than calls wait: then it begins again."""
    for _ in range(5):
        began = time.monotonic()
        begun = begin(*params)
        begun[0].wait_read()
        if time.monotonic() - began < HOLD_S:
            return begun
    raise Skip("this machine is too busy to answer in time")


@suite.test()
def test_calls_wait_for_the_roots():
    """In their order; cancelled ones run nothing; without roots all are refused at once."""
    arguments = [{"name": "process_run", "arguments": {"command": c}} for c in
                 ("echo 1 >o; mv o order", "touch cancelled", "until cat order; do sleep 0.05; done")]

    def begin(roots):
        server = Host()
        server.handshake(roots={})
        question = server.question()
        ids = [server.request("tools/call", a) for a in arguments]
        plain = server.request("process.run", {"command": "echo plain"})
        server.notify("notifications/cancelled", {"requestId": ids[1]})
        equal(server.call("config.get", {"keys": []}), {}, "what needs no workspace")
        server.send({"jsonrpc": "2.0", "id": question,
                     "result": {"roots": [{"uri": uri(server.workspace)}] * roots}})
        return server, ids, plain

    for roots in (True, False):
        server, ids, plain = in_time(begin, roots)
        first, last = server.result(ids[0]), server.result(ids[2])
        equal([r["isError"] for r in (first, last)], [not roots] * 2, "%s %s" % (first, last))
        check(("1\n" if roots else "--workspace") in last["content"][0]["text"], str(last))
        equal("result" in server.answer(plain), roots, "of the plain call")
        server.stop()
        check(not os.path.exists(os.path.join(server.workspace, "cancelled")), "the cancelled one ran")
    server = Host()
    server.handshake(roots={})
    server.question()
    id = server.request("tools/call", arguments[0])
    server.call("config.get", {"keys": []})  # so the server has read it
    server.signal(signal.SIGTERM)
    check(server.result(id)["isError"], "at the end")
    equal(server.wait_exit(), 0, "exit status")


@suite.test()
def test_call_that_waited_enters_once():
    """Also one that takes longer than the client had to answer."""
    def begin(options, capabilities, command):
        server = Host(*options)
        server.handshake(roots={}, **capabilities)
        question = server.question()
        run = server.request("tools/call", {"name": "process_run", "arguments": {
            "command": command, "yield_ms": 0}})
        server.call("config.get", {"keys": []})  # so the server has read it
        server.send({"jsonrpc": "2.0", "id": question, "result": {"roots": [{"uri": uri(server.workspace)}]}})
        return server, run

    server, run = in_time(begin, (), {}, "echo x >>runs; sleep 3")
    check("exit 0" in server.result(run)["content"][0]["text"], "the answer")
    with open(os.path.join(server.workspace, "runs")) as f:
        equal(f.read(), "x\n", "the runs")
    equal(server.call("process.list", {})["total"], 1, "the list")
    server.stop()
    server, _ = in_time(begin, ("--set", "tier.process.run=confirm"), {"elicitation": {}}, "true")
    equal(server.receive()["method"], "elicitation/create", "the question to the human")
    time.sleep(3)
    server.ping()
    equal([n["method"] for n in server.notes if n["method"] == "elicitation/create"], [], "asked again")
    server.stop()


@suite.test()
def test_first_root_that_can_be_the_workspace():
    server = Host("--allow-dir", "/usr/share")
    place = os.path.join(server.base, "my prøject 100%")
    os.mkdir(place)
    os.symlink("/", os.path.join(server.base, "link"))
    server.handshake(roots={})
    server.answer_roots("https://u:S3CRET@example.org/x", "file://elsewhere/tmp", "file:///%00", "file:///%zz",
                        "file:///%2", uri("/"), uri(server.home), uri(server.base + "/missing"),
                        uri(server.base + "/link"), uri(server.base), "FILE://localhost" +
                        urllib.parse.quote(place))
    server.works_in(place)
    equal(server.call("agent.session")["accessible_directories"], [place, "/usr/share"],
          "directories")
    equal(server.stderr_text().count("a root of the client"), 11, "roots named on stderr")
    check("S3CRET" not in server.stderr_text(), "a password is on stderr")
    server.stop()


@suite.test()
def test_no_root_that_can():
    for roots in ([], [uri("/")], ["x"]):
        server = Host()
        server.handshake(roots={})
        server.answer_roots(*roots)
        server.stays_without()
        server.stop()
    for answer in ({"error": {"code": -32601, "message": "no"}}, {"result": {}},
                   {"result": {"roots": "x"}}, {"result": {"roots": [5, {}, {"uri": 7}]}},
                   {"result": None}):
        server = Host()
        server.handshake(roots={})
        server.send({"jsonrpc": "2.0", "id": server.question(), **answer})
        server.stays_without()
        server.handshake(roots={})
        server.stays_without()
        check(not [n for n in server.notes if n["method"] == "roots/list"], "it asked again")
        server.stop()


@suite.test()
def test_client_that_does_not_answer():
    """The question holds up neither calls nor the end."""
    server = Host()
    server.handshake(roots={})
    server.question()
    server.stays_without()
    server.stop()
    server = Host()
    server.handshake(roots={})
    server.question()
    server.signal(signal.SIGTERM)
    equal(server.wait_exit(), 0, "exit status")


@suite.test()
def test_call_that_is_cancelled_before_the_root_is_known():
    """It is on record, as one that is cancelled later."""
    server = Host()
    server.handshake(roots={})
    call = server.request("tools/call", {"name": "process_run", "arguments": {"command": "touch ran"}})
    server.notify("notifications/cancelled", {"requestId": call})
    server.answer_roots(uri(server.workspace))
    server.works_in(server.workspace)
    equal(server.recorded().get(call), "Cancelled", "its record")
    check(not os.path.exists(os.path.join(server.workspace, "ran")), "it ran")
    server.stop()


@suite.test()
def test_no_question_where_there_is_a_workspace():
    server = Host(cwd=None)
    server.handshake(roots={})
    check(server.workspace in server.text("process_run", command="pwd -P"), "workspace")
    server.stop()
    check(not [n for n in server.notes if n["method"] == "roots/list"], "it asked")


if __name__ == "__main__":
    suite.main()
