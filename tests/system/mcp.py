#!/usr/bin/env python3
"""What MCP clients rely on beyond single messages: rates, probes, and what a human saw."""
import json
import os
import random
import re
import time

from client import STRESS, WAIT, Skip, check, equal, eventually
from followed import Server
from suite import Suite

suite = Suite()

META = "io.modelcontextprotocol/"
INTERVAL_MS = 200  # between two reports, or two updates of one resource


def stateless(params=None, capabilities=None, **meta):
    """Params of a request of the stateless era."""
    own = {META + "protocolVersion": "2026-07-28", META + "clientCapabilities": capabilities or {}}
    return dict(params or {}, _meta=dict(own, **meta))


def run_tool(server, arguments, params=None, **how):
    tool = dict(params or {}, name="process_run", arguments=arguments)
    return server.call("tools/call", stateless(tool, **how))


CHATTER = "i=0; while [ $i -lt 600 ]; do echo line $i; i=$((i+1)); sleep 0.002; done"


@suite.test()
def test_progress_is_rare_and_grows():
    """However much a command writes, five reports a second; the values grow; none comes later."""
    server = Server()
    result = run_tool(server, {"command": CHATTER}, progressToken="p")[
        "_meta"]["dev.procpen/result"]
    equal(result["exit_code"], 0, "exit code")
    reports = [n["params"] for n in server.notes if n["method"] == "notifications/progress"]
    most = result["duration_ms"] // INTERVAL_MS + 2
    check(2 <= len(reports) <= most, "%d reports in %d ms" % (len(reports), result["duration_ms"]))
    values = [r["progress"] for r in reports]
    check(all(a < b for a, b in zip(values, values[1:])), "values: %s" % values)
    check(values[-1] <= result["stdout_size"], "more than there is: %s" % values)
    check(all(r["message"].startswith("line ") for r in reports[1:]), "messages: %s" % reports)
    equal(server.receive(0.5), None, "after the answer")
    server.stop()


@suite.test()
def test_updates_are_coalesced():
    """A resource that changes all the time is reported five times a second, and at its end."""
    server = Server()
    started = server.run("until [ -e go ]; do sleep 0.02; done; " + CHATTER, background=True)
    run = {"process_id": started["process_id"]}
    uri = "proc://logs/" + started["process_id"]
    listen = server.request("subscriptions/listen",
                            stateless({"notifications": {"resourceSubscriptions": [uri]}}))
    before = server.call("process.monitor", run)
    open(os.path.join(server.workspace, "go"), "w", encoding="utf-8").close()
    end = server.call("process.monitor", dict(run, wait_ms=60000))
    equal(end["state"], "completed", "state")
    server.receive(2 * INTERVAL_MS / 1000)  # the last one may be on its way
    server.ping()
    updates = [n for n in server.notes if n["method"] == "notifications/resources/updated"]
    took_ms = end["duration_ms"] - before["duration_ms"]
    check(1 <= len(updates) <= took_ms // INTERVAL_MS + 2, "%d updates in %d ms" % (len(updates), took_ms))
    server.close_input()
    equal(server.result(listen)["_meta"][META + "subscriptionId"], listen, "end of the listener")
    equal(server.wait_exit(), 0, "exit status")


@suite.test()
def test_waits_end_before_the_host_gives_up():
    """However long a wait_ms asks for: hosts end a call after a minute."""
    if not STRESS:
        raise Skip("45 seconds: make stress")
    server = Server()
    run = server.run("sleep 100", background=True)["process_id"]
    calls = {name: server.request("tools/call", stateless({"name": name, "arguments": dict(
        more, wait_ms=120000)})) for name, more in (
            ("process_logs", {"process_id": run}), ("process_monitor", {"process_id": run}),
            ("process_wait", {"process_ids": [run]}))}
    for name, call in calls.items():
        check("result" in server.answer(call, timeout=55), name)
    server.stop()


@suite.test()
def test_probes_leave_nothing_and_disturb_no_server():
    """Clients start throw-away copies to see what a server can do."""
    real = Server()
    process = real.run("sleep 60", background=True)["process_id"]
    before = sorted(os.listdir(os.path.join(real.state, "audit")))
    probes = [Server(base=real.base) for _ in range(6)]
    for probe in probes:
        probe.request("server/discover", stateless(), id="probe")
    for probe in probes:
        check("2026-07-28" in probe.result("probe")["supportedVersions"], "no versions")
    for probe in probes:
        probe.close_input()
        equal(probe.wait_exit(), 0, "exit status of a probe")
    equal(sorted(os.listdir(os.path.join(real.state, "audit"))), before, "files in the state")
    equal(os.listdir(real.workspace), [], "files in the workspace")
    equal(real.call("process.monitor", {"process_id": process})["state"], "running", "the run")
    real.stop()
    alone = Server()
    alone.call("server/discover", stateless())
    alone.stop()
    check(not os.path.exists(alone.state), "a server that was only looked at has left something")


TASKS = {"extensions": {META + "tasks": {}}}
LONE_TASKS = 256  # kept of runs that never started


@suite.test()
def test_tasks_of_failed_starts_are_bounded():
    """The tasks of failed starts are kept, but only a bounded number."""
    server = Server()
    server.write_broken_program("bad")
    tasks = []
    for n in range(20000):
        answer = run_tool(server, {"command": "./bad", "args": [], "yield_ms": 1},
                          capabilities=TASKS)
        if answer["resultType"] == "task":
            tasks.append(answer["taskId"])
        if len(tasks) > LONE_TASKS + 20:
            break
        if n == 300 and len(tasks) < 30:
            raise Skip("a start fails within a millisecond here")
    if len(tasks) <= LONE_TASKS + 20:
        raise Skip("only %d of so many starts took a millisecond to fail here" % len(tasks))

    def get(task):
        return server.answer(server.request("tasks/get", stateless({"taskId": task}, TASKS)))

    eventually(lambda: get(tasks[-1])["result"]["status"] == "completed", WAIT, "the newest task")
    check("SpawnFailed" in json.dumps(get(tasks[-1])), "what the newest says")
    equal(get(tasks[0])["error"]["code"], -32602, "the oldest task")
    server.stop()


YES = {"confirm": {"action": "accept", "content": {"allow": True}}}
ASKING = {"elicitation": {}}


@suite.test()
def test_what_was_shown_is_what_runs():
    """A link that points elsewhere when the approval comes back: the human is asked again."""
    server = Server("--set", "tier.process.run=confirm")
    link = os.path.join(server.workspace, "link")
    for name in ("one", "two"):
        os.mkdir(os.path.join(server.workspace, name))
    os.symlink("one", link)
    arguments = {"command": "pwd -P; touch ran", "working_directory": "link"}
    first = run_tool(server, arguments, capabilities=ASKING)
    message = first["inputRequests"]["confirm"]["params"]["message"]
    check("/one" in message, "shown: %s" % message)
    os.unlink(link)
    os.symlink("two", link)
    again = run_tool(server, arguments, capabilities=ASKING,
                     params={"requestState": first["requestState"], "inputResponses": YES})
    equal(again["resultType"], "input_required", "an approval of something else")
    message = again["inputRequests"]["confirm"]["params"]["message"]
    check("/two" in message and "/one" not in message, "shown: %s" % message)
    check(not os.path.exists(os.path.join(server.workspace, "two", "ran")), "it ran")
    done = run_tool(server, arguments, capabilities=ASKING,
                    params={"requestState": again["requestState"], "inputResponses": YES})
    check(done["_meta"]["dev.procpen/result"]["stdout_summary"].endswith("/two\n"), "ran elsewhere")
    server.stop()


@suite.test()
def test_an_approval_survives_no_restart():
    """A state of an earlier server is no state, though everything else is the same."""
    first = Server("--set", "tier.process.run=confirm")
    arguments = {"command": "echo ran"}
    state = run_tool(first, arguments, capabilities=ASKING)["requestState"]
    first.stop()
    second = Server("--set", "tier.process.run=confirm", base=first.base)
    for _ in range(2):  # before and after it has a key of its own
        id = second.request("tools/call", stateless({
            "name": "process_run", "arguments": arguments, "requestState": state,
            "inputResponses": YES}, ASKING))
        equal(second.answer(id)["error"]["code"], -32602, "error code")
        run_tool(second, arguments, capabilities=ASKING)
    equal(second.call("process.list")["total"], 0, "runs")
    second.stop()


def made(server, name):
    """Wait until a command has made the file, while the server can write as much as is read."""
    def there():
        server.pump(0.01)
        return os.path.exists(os.path.join(server.workspace, name))
    eventually(there, WAIT, "no command has made " + name)


@suite.test()
def test_what_a_slow_reader_missed_is_told_later():
    """A client that does not read gets no notifications queued; once it reads, it gets all."""
    server = Server("--set", "limits.output_queue_bytes=1M")
    loud = server.hostile("pattern", 900000, 1)["process_id"]
    runs = [server.run("until [ -e go ]; do sleep 0.02; done; echo x; touch said%d; sleep 60" % n,
                       background=True)["process_id"] for n in range(3)]
    uris = ["proc://logs/" + process for process in runs]
    server.request("subscriptions/listen", stateless({
        "notifications": {"resourceSubscriptions": uris}}))
    server.ping()
    server.read_paused = True
    page = {"process_id": loud, "stream": "stdout"}
    first = server.request("process.logs", page)
    mark = server.request("process.run", {"command": "touch taken"})
    ids = [server.request("process.logs", page) for _ in range(3)]
    made(server, "taken")  # so the first page is in the queue before any of the runs writes
    open(os.path.join(server.workspace, "go"), "w").close()
    for n in range(3):
        made(server, "said%d" % n)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        server.pump(0.05)
    server.read_paused = False
    server.result(first)
    equal([n for n in server.notes if n["method"].endswith("updated")], [], "reported too early")
    for id in [mark] + ids:
        server.result(id)

    def reported():
        server.ping()
        return sorted(n["params"]["uri"] for n in server.notes if n["method"].endswith("updated"))

    eventually(lambda: reported() == sorted(uris), WAIT, "missed changes were not reported: %s" % reported())
    server.stop()


def shown_page(text):
    """What the text of a page shows: bytes of each stream, the call it names, the holes it tells of."""
    marks = re.findall(r"^\[\.\.\. .* \.\.\.\]$", text, re.M)
    named = re.search(r"process_logs (\{.*\})", marks[-1]) if marks else None
    holes = {stream: int(end.replace(",", "")) for mark in marks
             for end, stream in re.findall(r"to ([\d,]+) of (\w+) are no longer", mark)}
    for mark in marks:
        text = text.replace(mark + "\n", "").replace(mark, "")
    parts = re.split(r"^--- (stdout|stderr)\n", text, flags=re.M)
    return parts, json.loads(named.group(1)) if named else None, holes


@suite.test()
def test_the_text_alone_shows_every_byte():
    """A client that makes the calls named in the pages of process_logs gets every byte."""
    server = Server("--set", "log.head_bytes=20000", "--set", "log.tail_bytes=100000")
    rng = random.Random(5)
    data = {"stdout": "".join(rng.choices(["a", "word ", '"', "\\", "\t", "\n"], k=90000)),
            "stderr": "e" * 30000 + "\n"}
    for stream, text in data.items():
        with open(os.path.join(server.workspace, stream), "w", encoding="utf-8") as f:
            f.write(text)
    call = {"process_id": server.run("cat stdout; cat stderr >&2")["process_id"]}
    at, got = {"stdout": 0, "stderr": 0}, {"stdout": "", "stderr": ""}
    while call:
        only = call.get("stream")
        text = server.call("tools/call", stateless({"name": "process_logs", "arguments": call}))[
            "content"][0]["text"]
        check(len(text.encode()) <= 10000, "%d bytes" % len(text.encode()))
        parts, call, holes = shown_page(text)
        shown = dict(zip(parts[1::2], parts[2::2])) if len(parts) > 1 else {only: parts[0]}
        for stream, page in shown.items():
            to = len(data[stream])
            if call and call.get("stream") in (None, stream):
                to = call.get("stderr_offset", call["offset"]) if stream == "stderr" else call["offset"]
            if at[stream] >= 20000 and stream in holes:
                at[stream] = max(at[stream], holes[stream])
            got[stream] += page[:to - at[stream]]  # a page that ends within a line has one more "\n"
            at[stream] = to
    equal(got["stderr"], data["stderr"], "stderr")
    equal(got["stdout"], data["stdout"][:20000] + data["stdout"][-100000:], "stdout")
    server.stop()


@suite.test()
def test_no_call_is_named_for_a_record_that_goes():
    """Without records process_logs reads only runs of which something lives."""
    server = Server("--set", "limits.finished_records=0")
    for command, named in (("seq 100000; printf '\\377'", False), ("sleep 60 & seq 100000; printf '\\377'", True)):
        text = run_tool(server, {"command": command})["content"][0]["text"]
        check(" left out" in text and "\ufffd" in text, text[:200])
        equal(text.count("process_logs {"), 2 if named else 0, command)
    server.stop()


if __name__ == "__main__":
    suite.main()
