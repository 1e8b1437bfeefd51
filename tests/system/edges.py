#!/usr/bin/env python3
"""Sizes and moments at the edge: cancels that come at once, floods, few descriptors, lost files."""
import base64
import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import time

from client import (STRESS, WAIT, RpcError, Skip, check, equal, eventually, is_alive, on_small_disk,
                    server_path, slow_open, traced)
from followed import Server
from suite import Suite

suite = Suite()

LINE_MAX = 1 << 20


def line(method, request_id=None, **params):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if request_id is not None:
        message["id"] = request_id
    return json.dumps(message).encode() + b"\n"


def states(server):
    """State of each process that is on record."""
    found = server.call("process.list", {"limit": 1000})["processes"]
    return {p["process_id"]: p["state"] for p in found}


@suite.test()
def test_cancel_in_the_same_write():
    """A background run that is cancelled before it has started is killed, and the answer says so."""
    server = Server()
    cancelled = 0
    for n in range(40):
        server.send_bytes(line("process.run", "r%d" % n, command="sleep 60", background=True) +
                          line("$/cancelRequest", id="r%d" % n))
        answer = server.result("r%d" % n)
        if answer["state"] == "running":  # it had started before the second line was read
            server.call("process.kill", {"process_id": answer["process_id"],
                                         "signal": "SIGKILL"})
            continue
        equal((answer["state"], answer["reason"], answer["exit_code"]),
              ("killed", "cancelled", None), "answer")
        cancelled += 1
    check(cancelled, "none of 40 was cancelled before it had started")
    equal(server.call("process.list", {"state_filter": "running"})["total"], 0, "running")
    equal(server.survivors(), [], "alive")
    server.stop()


@suite.test()
def test_silent_cancel_in_the_same_write():
    """The same in MCP, where the client would never learn the id of the run that lives on."""
    server = Server()
    for n in range(10):
        call = line("tools/call", "r%d" % n, name="process_run",
                    arguments={"command": "sleep 60", "background": True})
        server.send_bytes(call + line("notifications/cancelled", requestId="r%d" % n))
    server.ping()
    answered = [m["id"] for m in list(server.inbox) if "id" in m]
    eventually(lambda: list(states(server).values()).count("running") <= len(answered), WAIT,
               "cancelled runs live on")
    server.stop()


@suite.test()
def test_cancel_races_the_yield():
    """An answer with state "running" is about a run that runs, never one being killed."""
    server = Server("--set", "limits.running_processes=512")
    running = []
    for n in range(400 if STRESS else 120):
        server.send_bytes(line("process.run", n, command="sleep 600", yield_ms=2))
        time.sleep(0.0015)
        server.send_bytes(line("$/cancelRequest", id=n))
        answer = server.result(n)
        if answer["state"] == "running":
            running.append(answer["process_id"])
        else:
            equal((answer["state"], answer["reason"]), ("killed", "cancelled"), "answer")
    time.sleep(0.2)
    now = states(server)
    dead = [p for p in running if now[p] != "running"]
    equal(dead, [], "reported as running while it was killed")
    server.stop()


@suite.test()
def test_texts_of_a_big_batch():
    """The calls of a batch of MCP share the line: each shows both ends of its output, in less room."""
    server = Server()
    server.call("initialize", {"protocolVersion": "2025-03-26", "capabilities": {},
                               "clientInfo": {"name": "t", "version": "1"}})
    call = {"name": "process_run", "arguments": {"command": "seq 1 5000", "idempotency_key": "k"}}
    server.send([{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": call}
                 for n in range(200)])
    message = server.receive()
    while not isinstance(message, list):
        message = server.receive()
    equal(len(message), 200, "answers")
    for answer in message:
        check("error" not in answer, "no room: %s" % answer)
        text = answer["result"]["content"][0]["text"]
        check("--- stdout\n1\n2\n" in text and text.endswith("\n5000\n"), text)
    server.stop()


@suite.test()
def test_list_in_a_big_batch():
    """A share of the reply that is too small for one entry still gives one."""
    server = Server()
    for _ in range(3):
        server.run("true")
    batch = [{"jsonrpc": "2.0", "id": "b%d" % n, "method": "process.list"} for n in range(1000)]
    server.send(batch)
    answers = None
    while answers is None:
        message = server.receive()
        answers = message if isinstance(message, list) else None
    results = [a["result"] for a in answers if "result" in a]
    check(results, "no list was answered: %.300s" % answers[:1])
    for result in results:
        check(result["total"] == 3 and result["processes"], "an empty list: %.300s" % result)
    server.stop()


@suite.test()
def test_too_many_values():
    """A line of small size that makes a huge tree is refused as a whole; strings count once."""
    server = Server()
    for text in ("[" + "0," * 250000 + "0]", "[" + "{}," * 250000 + "{}]",
                 '{"a":[' + "[]," * 250000 + "[]]}"):
        server.send_bytes(b'{"jsonrpc":"2.0","id":"v","method":"ping","params":{"x":%s}}\n' %
                          text.encode())
        message = server.receive()
        check("error" in message, "taken: %.200s" % message)
        equal(message["error"]["code"], -32600, "code")
    server.send_bytes(line("ping", "s", x="[],{}" * 250000))
    equal(server.result("s"), {}, "a long string")
    server.ping()
    server.stop()


@suite.test()
def test_few_descriptors():
    """Logs of more than 4 KiB hold descriptors: the oldest are given up before a start fails. A
    short one holds none and stays."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 512:
        raise Skip("the hard descriptor limit is %d, this test sets it to 512" % hard)
    server = Server(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512)))
    ids = []
    short = server.run("echo short")["process_id"]
    for n in range(700):
        run = server.run("printf %%05000d %d" % n)
        equal((run["state"], run["stdout_summary"]), ("completed", "%05000d" % n), "run %d" % n)
        ids.append(run["process_id"])
    equal(server.logs(ids[-1])["stdout"], "%05000d" % 699, "the newest log")
    oldest = server.logs(ids[0])
    equal((oldest["stdout"], oldest["stdout_size"], oldest["stdout_evicted"]),
          ("", 5000, [0, 5000]), "the oldest log")
    equal(server.logs(short)["stdout"], "short\n", "the short log")
    for n in range(40):
        equal(server.run("sleep 60", background=True)["state"], "running", "background %d" % n)
    server.stop()


@suite.test()
def test_logs_leave_descriptors_to_a_burst():
    """However many the logs of finished runs hold, as many runs as may live at a time can start, with
    three pipes each, in control groups that have served others."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 600:
        raise Skip("the hard descriptor limit is %d, this test sets it to 600" % hard)
    server = Server(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600)))
    for n in range(160):
        server.run("printf %05000d 0")
    last = server.request("process.run", {"command": "sleep", "args": ["60"]})
    for _ in range(2):
        begun = [server.request("process.run", {"command": "cat", "stdin_mode": "pipe", "args": []})
                 for _ in range(63)]
        running = []

        def all_run():
            listed = server.call("process.list", {"state_filter": "running", "limit": 100})
            running[:] = [p["process_id"] for p in listed["processes"] if p["command"] == "cat"]
            return len(running) == 63 or any(server.has_answered(id) for id in begun)

        eventually(all_run, WAIT, "not all runs have started")
        for id in running:
            server.call("process.input", {"process_id": id, "close": True})
        for id in begun:
            equal(server.result(id)["state"], "completed", "a run of the burst")
    server.notify("$/cancelRequest", {"id": last})
    server.result(last)
    server.stop()


@suite.test()
def test_what_waits_can_always_be_ended():
    """Waiting calls have slots of their own; process.kill, which waits too, has others."""
    limit, kills_max = 8, 256
    server = Server("--set", "limits.requests=%d" % limit)
    run = server.run("trap '' TERM; touch deaf; while :; do sleep 0.1; done", background=True)
    target = {"process_id": run["process_id"]}
    eventually(lambda: os.path.exists(os.path.join(server.workspace, "deaf")), WAIT, "no run")
    waits = [server.request("process.monitor", dict(target, wait_ms=300000))
             for _ in range(limit)]
    refused = server.answer(server.request("process.monitor", dict(target, wait_ms=300000)))
    equal(refused["error"]["data"]["type"], "LimitReached", "one wait more")
    kills = [server.request("process.kill", dict(target, force_after=600)) for _ in range(64)]
    kills += [server.request("process.kill", dict(target, force_after=600))
              for _ in range(kills_max - 64)]
    kills.append(server.request("process.kill", dict(target, force_after=600)))
    equal(server.result(kills.pop(0))["pending"], True, "the oldest makes room for one more")
    for method, params in (("process.list", {}), ("process.monitor", target), ("ping", {}),
                           ("process.logs", target), ("is_blocked", {"command": "ls"}),
                           ("agent.session", {})):
        server.call(method, params)
    equal(server.call("process.kill", dict(target, signal="KILL"))["killed"], True, "SIGKILL")
    equal(server.result(kills.pop(0))["pending"], True, "the oldest makes room for it")
    for id in kills:
        equal(server.result(id)["killed"], True, "an earlier kill")
    for id in waits:
        equal(server.result(id)["state"], "killed", "a wait")
    server.stop()


def descriptors(server):
    """How many it has when it prepares nothing more for the next run."""
    seen = []

    def steady():
        seen.append(len(os.listdir("/proc/%d/fd" % server.pid)))
        return len(seen) >= 30 and len(set(seen[-30:])) == 1

    eventually(steady, WAIT, "it opens and closes descriptors")
    return seen[-1]


@suite.test()
def test_what_waits_gives_its_descriptors():
    """Idle shims and control groups hold descriptors; no start fails for that."""
    if os.geteuid() != 0:
        raise Skip("the server is not dumpable: only root can count its descriptors")
    plenty = Server()
    plenty.run("true")
    limit = descriptors(plenty) + 21  # enough for three runs of another kind at once
    plenty.stop()
    server = Server(preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    for params in ({"memory_limit": 1 << 28}, {"profile": "strict"}, {}):
        equal(server.run("true", **params)["state"], "completed", "at first: %s" % params)
    requests = [server.request("process.run", {"command": "sleep 0.1"}) for _ in range(5)]
    for request in requests:
        server.answer(request)  # it may fail: that is too many at once
    for params in ({"memory_limit": 1 << 28}, {"profile": "strict"}, {}):
        equal(server.run("true", **params)["state"], "completed", "when all is idle: %s" % params)
    server.stop()


@suite.test()
def test_control_characters_delay_no_request():
    """Long summaries in which every byte is escaped are made without stopping the others."""
    server = Server()
    with open(os.path.join(server.workspace, "c"), "wb") as f:
        f.write(b"\x01" * LINE_MAX)
    server.ping()
    ids = [server.request("process.run", {"command": "cat c; cat c >&2",
                                          "max_output_bytes": LINE_MAX}) for _ in range(16)]
    pings = 0  # some of them come between the sixteen long answers
    while not all(any(m.get("id") == id for m in server.inbox) for id in ids):
        server.ping()
        pings += 1
    check(pings > 1, "no ping was answered before all of the long answers")
    for id in ids:
        equal(server.result(id)["stdout_size"], LINE_MAX, "size of the output")
    server.stop()


@suite.test()
def test_tool_list_fits_a_line():
    """MCP sends a list twice, once escaped twice: the line keeps its bound."""
    lines = []
    server = Server()
    server.on_line = lines.append
    quoted = ": '" + "\\" * 250 + "'"
    ids = [server.request("process.run", {"command": quoted}) for _ in range(60)]
    for n in range(700):
        equal(server.result(ids[n])["exit_code"], 0, "exit code")
        if len(ids) < 700:
            ids.append(server.request("process.run", {"command": quoted}))
    server.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                               "clientInfo": {"name": "t", "version": "1"}})
    answer = server.call("tools/call", {"name": "process_list", "arguments": {"limit": 1000}})
    listed = answer["_meta"]["dev.procpen/result"]
    check(listed["total"] == 700 and len(listed["processes"]) > 50, "%d of %d processes" % (
        len(listed["processes"]), listed["total"]))
    longest = max(len(text) for text in lines)
    check(longest < LINE_MAX, "a line of %d bytes" % longest)
    server.stop()


def flooded(server, pages):
    """Ask for so many pages of about a million bytes, and do not read them."""
    run = server.hostile("pattern", 3000000, 1)
    server.run("sleep 60", background=True)
    server.read_paused = True
    for n in range(pages):
        server.send_bytes(line("process.logs", "p%d" % n, process_id=run["process_id"],
                               stream="stdout", encoding="base64", offset=0))


@suite.test()
def test_client_that_closes_and_waits():
    """The client closes its end and waits, without reading: the server ends all the same."""
    server = Server("--set", "server.eof_seconds=1")
    flooded(server, 40)
    server.flush()
    time.sleep(0.3)
    server.close_input()
    try:
        equal(server.process.wait(WAIT), 1, "exit status")
    except subprocess.TimeoutExpired:
        check(False, "the server did not end within %d s" % WAIT)
    equal(server.survivors(), [], "survivors")


@suite.test()
def test_client_that_pauses_after_the_end():
    """Answers wait for a client that closed its end and reads a little later."""
    server = Server()
    flooded(server, 5)
    server.flush()
    server.close_input()
    time.sleep(0.6)
    server.read_paused = False
    sizes = [len(base64.b64decode(server.result("p%d" % n)["stdout"])) for n in range(5)]
    check(min(sizes) > 500000, "pages of %s bytes" % sizes)
    equal(server.wait_exit(), 0, "exit status")
    equal(bytes(server.buffer), b"", "a cut line")


@suite.test()
def test_state_lies_in_the_workspace():
    """The state directory is elsewhere, but a folder in it is not: that of the record, or that of the
    temporary directories of all servers."""
    server = Server(start=False)
    state = os.path.join(server.base, "place")
    places = [os.path.join(state, name) for name in ("audit", "tmp")]
    for place in places:
        os.makedirs(place, 0o700)
    for args in [["--workspace", place] for place in places] + [
            ["--workspace", server.workspace, "--allow-dir", place] for place in places]:
        done = subprocess.run([server_path(), "serve", "--state-dir", state] + args, text=True,
                              input="", capture_output=True, env=server.env, timeout=WAIT,
                              cwd=server.workspace, check=False)
        check(done.returncode != 0 and not done.stdout, "%s: status %d" % (args, done.returncode))
        check("--state-dir" in done.stderr, "%s: %r" % (args, done.stderr))


@suite.test()
def test_lost_record():
    """The audit log was removed, or cut, under the server: nothing starts unrecorded."""
    def cut(path):
        os.truncate(path, 10)

    def add(path):
        with open(path, "ab") as f:
            f.write(b"{}\n")

    for harm in (os.unlink, cut, add):
        server = Server()
        equal(server.run("echo fine")["exit_code"], 0, "a run before")
        folder = os.path.join(server.state, "audit")
        harm(os.path.join(folder, os.listdir(folder)[0]))
        answer = server.answer(server.request("process.run", {"command": "touch ran"}))
        check("error" in answer, "%s: a run without a record" % harm.__name__)
        equal((answer["error"]["code"], answer["error"]["data"]["type"]),
              (1003, "PermissionDenied"), harm.__name__)
        check(not os.path.exists(os.path.join(server.workspace, "ran")), "it ran")
        server.stop()


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(child) for child in f.read().split()]


def waiting_shims(server):
    """Shims of a server that has no runs."""
    found = []
    for pid in children_of(server.pid):
        with contextlib.suppress(OSError), open("/proc/%d/comm" % pid) as name:  # it may go now
            if name.read().startswith("procpen-shim"):
                found.append(pid)
    return found


def sockets(server):
    """Each shim that waits has one, and loses it at once when the server gives the shim up."""
    links = []
    for name in os.listdir("/proc/%d/fd" % server.pid):
        with contextlib.suppress(OSError):
            links.append(os.readlink("/proc/%d/fd/%s" % (server.pid, name)))
    return [link for link in links if link.startswith("socket:")]


def is_held(pid):
    """Does a tracer keep it from going on?"""
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "t"


def shims_at_rest(server):
    """Those that wait, if they are still the same half a second later: no trial, and ready."""
    found = waiting_shims(server)
    time.sleep(0.5)
    return found if found == waiting_shims(server) else []


@suite.test()
def test_shim_is_made_in_the_first_silence():
    """It serves the first command. None is made where none would be used, and none before the client
    is silent: a host may only ask what there is."""
    for options in ([], ["--set", "sandbox.namespaces=false"], ["--set", "sandbox.profile=none"]):
        server = Server(*options, start=False)
        for folder in (server.state, server.state + "/audit"): # which is hidden, so it is there
            os.mkdir(folder, 0o700)
        server.start()
        equal(waiting_shims(server), [], "before the first words")
        server.call("process.list")
        eventually(lambda: shims_at_rest(server), WAIT, "no shim waits with %s" % options)
        ready = waiting_shims(server)
        run = server.call("process.run", {"command": "sleep", "args": ["60"], "background": True})
        check(ready[0] in waiting_shims(server), "it is gone")
        equal(run["sandbox"], server.run("true")["sandbox"], "layers with %s" % options)
        check(children_of(ready[0]), "another shim has the command, with %s" % options)
        server.stop()
    for option in ("sandbox.ahead=false", "tier.process.run=deny"):
        server = Server("--set", option)
        server.call("process.list")
        time.sleep(1)
        equal(waiting_shims(server), [], option)
        server.stop()


@suite.test()
def test_shims_of_a_burst():
    """While a request is open, all of them serve the rest of it. Then no more than 16 wait."""
    server = Server()
    server.run("true")
    for _ in range(2):
        begun = [server.request("process.run", {"command": "sleep", "args": ["0.5"]})
                 for _ in range(24)]
        last = server.request("process.run", {"command": "sleep", "args": ["60"]})
        for request in begun:
            server.result(request)
        if "landlock" in str(server.run("true")["sandbox"]):  # else each serves one command
            check(len(waiting_shims(server)) > 20, "shims are gone within the burst")
        server.notify("$/cancelRequest", {"id": last})
        server.result(last)
        eventually(lambda: len(waiting_shims(server)) <= 16, WAIT, "too many shims wait")
    server.stop()


@suite.test()
def test_shims_of_a_burst_beside_a_listener():
    """A stateless host may listen all the time: that is no request that somebody waits for."""
    if os.geteuid() != 0:
        raise Skip("the server is not dumpable: only root can count its sockets")
    version = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
               "io.modelcontextprotocol/clientCapabilities": {}}
    server = Server()
    server.request("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["proc://list"]},
                                            "_meta": version})
    for request in [server.request("process.run", {"command": "sleep", "args": ["0.5"]})
                    for _ in range(24)]:
        server.result(request)
    server.ping()
    check(len(sockets(server)) <= 16, "as many shims wait as in the burst")
    server.stop()


@suite.test()
def test_shims_of_a_burst_leave_room():
    """A request may stay open for hours. What a burst beside it has needed goes before, because it takes
    processes and descriptors that others could use."""
    server = Server()
    long = server.request("process.run", {"command": "sleep", "args": ["60"]})
    for request in [server.request("process.run", {"command": "sleep", "args": ["0.5"]})
                    for _ in range(24)]:
        server.result(request)
    eventually(lambda: len(waiting_shims(server)) <= 17, 15, "they wait as long as a request is open")
    check(not server.has_answered(long), "the long run has ended")
    server.notify("$/cancelRequest", {"id": long})
    server.result(long)
    server.stop()


def faults_of(server):
    """How many pages it has touched first, so far (proc(5), minflt)."""
    with open("/proc/%d/stat" % server.pid) as f:
        return int(f.read().rsplit(")", 1)[1].split()[7])


def sleeps(server):
    with open("/proc/%d/stat" % server.pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "S"


def faults_of_the_first_verdict(silence):
    """And of the answer before it, behind which the client was silent."""
    server = Server()
    before = faults_of(server)
    ids = [server.request("process.list")]
    if silence:
        server.answer(ids.pop())
        before -= faults_of(server)
        eventually(lambda: shims_at_rest(server) and sleeps(server), WAIT, "no shim waits")
        before += faults_of(server)
    ids.append(server.request("is_blocked", {"command": "ls", "args": []}))
    for request in ids:
        server.answer(request)
    faults = faults_of(server) - before
    server.stop()
    return faults


@suite.test()
def test_verdict_is_prepared_in_the_first_silence():
    """The first one then finds its tables built and its code mapped."""
    # on a busy machine there may be a silence where none is meant
    prepared, not_prepared = (best(faults_of_the_first_verdict(silence) for _ in range(5))
                              for silence, best in ((True, min), (False, max)))
    check(prepared + 4 <= not_prepared,
          "new pages: %d with a silence, %d without" % (prepared, not_prepared))


@suite.test()
def test_waiting_shim_dies():
    """A shim that is killed while it waits: the next command runs all the same, once. Where the kernel
    has not ended it yet the command may begin with it; then nothing is claimed about the command."""
    server = Server()
    tried, ended = 0, []
    for n in range(60):
        server.run("true")
        shims = waiting_shims(server)
        tried += len(shims)
        for pid in shims:
            os.kill(pid, signal.SIGKILL)
        if n % 2:
            for pid in shims:
                eventually(lambda: not is_alive(pid), WAIT, "a killed shim lives")
        result = server.run("echo %d >>ran" % n)
        got = (result["state"], result["reason"])
        if n % 2 or got[1] != "supervisor_lost":
            equal(got + (result["warnings"],), ("completed", "exited", []), "the command")
            ended.append(n)
    if not tried:
        raise Skip("no shim waits here")
    with open(server.workspace + "/ran") as f:
        ran = [int(number) for number in f]
    equal(sorted(set(ran)), ran, "each ran once")
    equal([n for n in ended if n not in ran], [], "ended, but did not run")
    server.stop()


@suite.test()
def test_command_that_kills_its_shim():
    """It has begun, however soon it does that, so it is not started again."""
    server = Server("--set", "sandbox.profile=none")
    for n in range(20):
        equal(server.run("echo %d >>ran; kill -9 $PPID" % n)["reason"], "supervisor_lost", "the end")
    with open(server.workspace + "/ran") as f:
        equal([int(number) for number in f], list(range(20)), "each ran once")
    server.stop()


@contextlib.contextmanager
def deaf_shims(server):
    """What is started meanwhile does not begin: the shims that wait are deaf, and die then."""
    server.run("true")
    shims = eventually(lambda: shims_at_rest(server), WAIT, "no shim waits")
    deaf = shims + sum(map(children_of, shims), [])
    with traced(deaf, "-e", "trace=ppoll,recvmsg,read",
                "-e", "inject=ppoll,recvmsg,read:delay_enter=30000000"):
        try:
            eventually(lambda: all(map(is_held, deaf)), WAIT, "they are not held")
            yield
        finally:
            for pid in deaf:
                with contextlib.suppress(ProcessLookupError):  # it has ended with its shim
                    os.kill(pid, signal.SIGKILL)


@suite.test()
def test_key_of_a_run_whose_shim_dies():
    """The command is started once more, and its key stands for that start, also while its log is opened."""
    for more in ({}, {"log_file": "log"}):
        server = Server()
        call = {"command": "echo x >>ran; wc -l <ran", "idempotency_key": "k", **more}
        with deaf_shims(server):
            ids = [server.request("process.run", call) for _ in range(2)]
            eventually(lambda: server.call("process.list")["total"] == 2, WAIT, "no start")
        results = [server.result(id) for id in ids] + [server.run(**call)]
        equal([r["stdout_summary"] for r in results], 3 * ["1\n"], "lines with %s" % more)
        equal([r["replayed"] for r in results], [False, True, True], "replayed")
        server.stop()


@suite.test()
def test_key_of_a_cancelled_run_whose_shim_dies():
    """Nothing ran, so the next of the calls that wait starts as if it were the first."""
    for more in ({}, {"log_file": "log"}):
        server = Server()
        call = {"command": "echo x >>ran; wc -l <ran", "idempotency_key": "k", **more}
        with deaf_shims(server):
            ids = [server.request("process.run", call) for _ in range(3)]
            eventually(lambda: server.call("process.list")["total"] == 2, WAIT, "no start")
            server.notify("$/cancelRequest", {"id": ids[0]})
            equal(server.answer(ids[0])["error"]["data"]["type"], "Cancelled", "the first call")
        results = [server.result(id) for id in ids[1:]] + [server.run(**call)]
        equal([r["stdout_summary"] for r in results], 3 * ["1\n"], "lines with %s" % more)
        equal([r["replayed"] for r in results], [False, True, True], "replayed")
        equal([server.recorded()[id] for id in ids], [None, None, "replayed"], "outcomes on record")
        server.stop()


def stop_waiting_processes(server):
    """Those that wait for a command, which can be stopped from outside. Returns them and their shims."""
    server.run("true")
    shims = eventually(lambda: shims_at_rest(server), WAIT, "no shim waits")
    waiting = sum(map(children_of, shims), [])
    if not waiting:
        raise Skip("no process waits for a command here")
    for pid in waiting:
        os.kill(pid, signal.SIGSTOP)
    return shims, waiting


def check_end_before_it_begins(namespaces, end):
    """@end ends a run whose process is stopped before its exec, at once, in order and on record."""
    server = Server("--set", "sandbox.namespaces=" + namespaces)
    stop_waiting_processes(server)
    id = server.request("process.run", {"command": "touch ran"})
    run = eventually(lambda: [p["process_id"] for p in server.call("process.list")["processes"] if p["alive"]],
                     WAIT, "no start")
    began = time.monotonic()
    end(server, run[0])
    result = server.result(id)
    check(time.monotonic() - began < 3, "it took long")
    equal([result[key] for key in ("state", "exit_code", "signal", "leftover", "warnings")],
          ["killed", None, None, 0, []], "the end")
    server.stop()
    with open(server.audit_log(), encoding="utf-8") as f:
        ends = [line for line in map(json.loads, f) if line["event"] == "end"]
    check(run[0] in [line["process_id"] for line in ends], "no record of the end")
    check(not os.path.exists(server.workspace + "/ran"), "it ran")


@suite.test()
def test_end_before_a_stopped_process_begins():
    """One that waits for a command can be stopped from outside. A kill ends it, and so does the server."""
    def kill(server, run):
        answer = server.call("process.kill", {"process_id": run, "signal": "KILL"})
        equal((answer["killed"], answer["signal_sent"], answer["forced"]), (True, "SIGKILL", True), "the answer")

    for namespaces in ("true", "false"):
        check_end_before_it_begins(namespaces, kill)
        check_end_before_it_begins(namespaces, lambda server, run: server.signal(signal.SIGTERM))


@suite.test()
def test_server_dies_before_a_stopped_process_begins():
    """Without a PID namespace one that waits for a command can be stopped from outside. It and its shim
    end with the server all the same."""
    server = Server("--set", "sandbox.namespaces=false")
    shims, waiting = stop_waiting_processes(server)
    server.request("process.run", {"command": "touch ran"})
    eventually(lambda: server.call("process.list")["total"] == 2, WAIT, "no start")
    server.signal(signal.SIGKILL)
    server.wait_exit()
    for pid in shims + waiting:
        eventually(lambda: not is_alive(pid), WAIT, "it lives on")
    check(not os.path.exists(server.workspace + "/ran"), "it ran")


@suite.test()
def test_end_before_a_run_is_started_again():
    """The calls for it end as for a first start: its log file is not open, so nothing runs."""
    for end in (Server.close_input, lambda server: server.signal(signal.SIGTERM)):
        server = Server("--set", "server.eof_seconds=1")
        call = {"command": "touch ran", "log_file": "log", "idempotency_key": "k"}
        with contextlib.ExitStack() as slow:
            with deaf_shims(server):
                ids = [server.request("process.run", call) for _ in range(2)]
                eventually(lambda: server.call("process.list")["total"] == 2, WAIT, "no start")
                slow.enter_context(slow_open(server, "log"))
            eventually(lambda: server.call("process.list")["total"] == 1, WAIT, "it has begun")
            end(server)
            errors = [server.answer(id)["error"] for id in ids]
            server.wait_exit()  # a leak checker fails when it is traced
        equal([(e["data"]["type"], e["data"]["retryable"]) for e in errors],
              2 * [("LimitReached", False)], str(errors))
        check(not os.path.exists(server.workspace + "/ran"), "it ran")


@suite.test()
def test_end_before_a_queued_start():
    """What still queues when its time at the end of the input is over starts nothing, and is on record."""
    server = Server("--set", "server.eof_seconds=1")
    server.run("true")
    with traced([server.pid], "-e", "trace=clone,clone3",
                "-e", "inject=clone,clone3:delay_enter=300000"):
        ids = [server.request("process.run", {"command": "sleep 60"}) for _ in range(20)]
        server.close_input()
        answers = [server.answer(id) for id in ids]
        server.wait_exit()  # a leak checker fails when it is traced
    late = {a["error"]["data"]["type"] for a in answers if "error" in a}
    equal(late, {"LimitReached"}, "the errors")
    equal([id for id in ids if id not in server.recorded()], [], "calls that are not on record")
    equal({a["result"]["reason"] for a in answers if "result" in a} - {"server_shutdown"}, set(), "the others")


@suite.test()
def test_follow_of_a_run_whose_shim_dies():
    """A follow of the run that never began ends, and so does a session at the end of the input."""
    server = Server()
    with deaf_shims(server):
        id = server.request("process.run", {"command": "echo once"})
        eventually(lambda: server.call("process.list")["total"] == 2, WAIT, "no start")
        run = server.call("process.list")["processes"][0]["process_id"]
        follow = server.call("process.follow", {"process_id": run})["follow_id"]
    result = server.result(id)
    equal(result["stdout_summary"], "once\n", "the command")
    check(result["process_id"] != run, "it had begun")
    server.close_input()
    equal(server.wait_exit(), 0, "exit status")
    events = [message["params"] for message in [*server.notes, *server.inbox]
              if message.get("method") == "process.event"]
    equal([(e["follow_id"], e["type"], e["state"], e["error"]["type"]) for e in events],
          [(follow, "exited", None, "ProcessNotFound")], "events")
    with open(server.audit_log(), encoding="utf-8") as f:
        ends = [event["process_id"] for event in map(json.loads, f) if event["event"] == "end"]
    equal(ends[1:], [result["process_id"]], "ends on record, after that of the first command")


# Of the process that prints them: nice, class, processors, I/O priority, limit of descriptors.
SHOW_ATTRIBUTES = """
import ctypes, os, platform, resource
get = {"x86_64": 252, "aarch64": 31}[platform.machine()]
print(os.nice(0), os.sched_getscheduler(0), os.sched_getaffinity(0),
      ctypes.CDLL(None).syscall(get, 1, 0), resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def change_attributes(pid, limits):
    """What a command of the same user can change of a process that it sees; @limits: without a filter."""
    os.setpriority(os.PRIO_PROCESS, pid, min(os.getpriority(os.PRIO_PROCESS, pid) + 1, 19))
    os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))
    os.sched_setaffinity(pid, {min(os.sched_getaffinity(pid))})
    if limits:
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft - 1, hard))


@suite.test()
def test_waiting_shim_is_changed():
    """Without a PID namespace any process of the user can do that, commands too, also to a process that
    waits for a command; so can commands without a sandbox to a shim in a PID namespace. No later
    command gets what was changed."""
    for options, ask, waits in ((["--set", "sandbox.namespaces=false"], {}, False),
                                (["--set", "sandbox.namespaces=false"], {}, True),
                                (["--set", "sandbox.profile=none"], {}, False),
                                (["--set", "sandbox.profile=none"], {"profile": "default"}, False)):
        server = Server(*options)
        show = {"command": "/usr/bin/python3", "args": ["-c", SHOW_ATTRIBUTES], **ask}
        before = server.call("process.run", show)["stdout_summary"]
        for id in [server.request("process.run", {"command": "sleep", "args": ["0.1"], **ask})
                   for _ in range(3)]:
            server.result(id)
        shims = eventually(lambda: shims_at_rest(server), WAIT, "no shim waits")
        changed = {pid: children_of(pid) if waits else [pid] for pid in shims}
        for pid in sum(changed.values(), []):
            change_attributes(pid, "sandbox.profile=none" in options)
        for id in [server.request("process.run", show) for _ in range(len(shims) + 1)]:
            equal(server.result(id)["stdout_summary"], before, "a command with %s %s" % (options, ask))
        for pid in filter(changed.get, shims):
            eventually(lambda: pid not in waiting_shims(server), WAIT, "a changed shim waits on")
        server.stop()


# Argument: the nanoseconds to which the time slice of further arguments, PIDs, is set. Prints its own.
TIME_SLICE = """
import ctypes, os, platform, struct, sys
set_attributes, get = {"x86_64": (314, 315), "aarch64": (274, 275)}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
def attributes(pid):
    read = ctypes.create_string_buffer(48)
    if libc.syscall(get, pid, read, 48, 0):
        raise OSError(ctypes.get_errno(), "sched_getattr")
    return list(struct.unpack("IIQiIQQQ", read.raw))
for pid in map(int, sys.argv[2:]):
    changed = attributes(pid)
    changed[5] = int(sys.argv[1])
    if libc.syscall(set_attributes, pid, struct.pack("IIQiIQQQ", *changed), 0):
        raise OSError(ctypes.get_errno(), "sched_setattr")
print(attributes(0)[5])
"""


@suite.test()
def test_waiting_process_keeps_its_time_slice():
    """Where the shim is not real-time, its process inherits that of the server, and a command of the
    same user can change it."""
    wrapper = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]
    if os.geteuid() == 0 and not shutil.which(wrapper[0]):
        raise Skip("setpriv is not installed")
    server = Server("--set", "sandbox.namespaces=false",
                    wrapper=wrapper if os.geteuid() == 0 else [])
    show = {"command": "/usr/bin/python3", "args": ["-c", TIME_SLICE]}
    before = server.call("process.run", show)["stdout_summary"]
    if before == "0\n":
        raise Skip("the kernel has no time slices")
    for id in [server.request("process.run", {"command": "sleep", "args": ["0.1"]})
               for _ in range(3)]:
        server.result(id)
    shims = eventually(lambda: shims_at_rest(server), WAIT, "no shim waits")
    waits = [str(child) for pid in shims for child in children_of(pid)]
    subprocess.run([show["command"], *show["args"], "100000000", *waits], check=True,
                   capture_output=True)
    for id in [server.request("process.run", show) for _ in range(len(shims) + 1)]:
        equal(server.result(id)["stdout_summary"], before, "the time slice of a command")
    server.stop()


# Arguments: PIDs. Says of each but its own and its shim's whether it was stopped.
STOP = """
import os, signal, sys
for pid in set(map(int, sys.argv[1:])) - {os.getpid(), os.getppid()}:
    try:
        os.kill(pid, signal.SIGSTOP)
        print(pid, "stopped")
    except PermissionError:
        print(pid, "out of reach")
"""


@suite.test()
def test_waiting_process_is_not_stopped():
    """Without a PID namespace a process waits for a command only where Landlock keeps the signals of
    other runs from it: stopped, it would never run that, and no one would be told."""
    server = Server("--set", "sandbox.namespaces=false")
    for id in [server.request("process.run", {"command": "sleep", "args": ["0.1"]})
               for _ in range(3)]:
        server.result(id)
    shims = eventually(lambda: shims_at_rest(server), WAIT, "no shim waits")
    waits = [child for pid in shims for child in children_of(pid)]
    if not waits:
        raise Skip("no process waits here: Landlock does not scope signals")
    victim = subprocess.Popen(["sleep", "60"])
    stop = ["/usr/bin/python3", "-c", STOP, *map(str, waits)]
    equal(subprocess.run(stop[:3] + [str(victim.pid)], capture_output=True, text=True).stdout,
          "%d stopped\n" % victim.pid, "outside of a sandbox")
    said = server.call("process.run", {"command": stop[0], "args": stop[1:]})["stdout_summary"]
    check(said.count("out of reach") == len(waits) - 1 > 0 == said.count("stopped"), said)
    for id in [server.request("process.run", {"command": "echo on"}) for _ in range(len(waits) + 1)]:
        equal(server.result(id)["stdout_summary"], "on\n", "a command behind it")
    victim.kill()
    victim.wait()
    server.stop()


def is_stopped(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "T"


@suite.test()
def test_unconfined_run_stops_what_waits():
    """With the operator's profile none a run may ask for a sandbox beside runs without one, and these can
    stop what waits, in a PID namespace too. The next run with a sandbox does not get it."""
    server = Server("--set", "sandbox.profile=none")
    for id in [server.request("process.run", {"command": "sleep", "args": ["0.1"], "profile": "default"})
               for _ in range(3)]:
        server.result(id)
    shims = eventually(lambda: shims_at_rest(server), WAIT, "no shim waits")
    waits = [child for pid in shims for child in children_of(pid)] or shims
    said = server.call("process.run", {"command": "/usr/bin/python3",
                                       "args": ["-c", STOP, *map(str, waits)]})["stdout_summary"]
    stopped = [pid for pid in waits if "%d stopped" % pid in said]
    check(len(stopped) == said.count("\n") > 0, said)
    eventually(lambda: all(map(is_stopped, stopped)), WAIT, "not all have stopped")
    for id in [server.request("process.run", {"command": "echo on", "profile": "default"})
               for _ in range(len(shims) + 1)]:
        equal(server.result(id)["stdout_summary"], "on\n", "a command with a sandbox")
    server.stop()


# Argument: PID. Betters no attribute of the children of that process, without end.
CHANGE_CHILDREN = """
import os, sys
while True:
    with open("/proc/%s/task/%s/children" % (sys.argv[1], sys.argv[1])) as f:
        children = f.read().split()
    for pid in children:
        try:
            os.setpriority(os.PRIO_PROCESS, int(pid), 19)
            os.sched_setaffinity(int(pid), {min(os.sched_getaffinity(int(pid)))})
        except OSError:
            pass
"""


@suite.test()
def test_new_shims_are_changed():
    """What changes shims while they come to be has no effect on commands when it has ended."""
    for options in (["--set", "sandbox.namespaces=false"], ["--set", "sandbox.profile=none"]):
        server = Server(*options)
        show = {"command": "/usr/bin/python3", "args": ["-c", SHOW_ATTRIBUTES]}
        before = server.call("process.run", show)["stdout_summary"]
        with subprocess.Popen(["/usr/bin/python3", "-c", CHANGE_CHILDREN, str(server.pid)]) as changer:
            for id in [server.request("process.run", {"command": "sleep", "args": ["0.01"]})
                       for _ in range(40)]:
                server.answer(id)  # it may be refused, if its shim was changed twice
            changer.kill()
        for id in [server.request("process.run", show) for _ in range(20)]:
            equal(server.result(id)["stdout_summary"], before, "a command with %s" % options)
        server.stop()


def remake(path, fill=lambda: None):
    shutil.rmtree(path)
    os.mkdir(path, 0o700)
    fill()


@suite.test()
def test_workspace_is_made_again():
    """Removed, runs are BadDirectory; made again, they work in the new one, sandboxed as before."""
    for options in ((), ("--set", "sandbox.namespaces=false"), ("--set", "sandbox.ahead=false")):
        server = Server(*options)
        before = server.run("touch old; pwd")
        shutil.rmtree(server.workspace)
        answer = server.answer(server.request("process.run", {"command": "true"}))
        equal(answer["error"]["data"]["type"], "BadDirectory", "in no workspace")
        check("was removed" in answer["error"]["message"], answer["error"]["message"])
        os.mkdir(server.workspace)
        for _ in range(3):
            after = server.run("ls; touch new; pwd")
            equal((after["exit_code"], after["sandbox"], after["stderr_summary"]),
                  (0, before["sandbox"], ""), "in a new workspace")
        check(os.path.exists(server.workspace + "/new"), "not written")
        remake(server.workspace)
        equal(server.run("ls; touch third")["stdout_summary"], "", "replaced between two runs")
        check("was removed or replaced" in server.stderr_text(), "nothing on stderr")
        server.stop()


@suite.test()
def test_accessible_directory_is_made_again():
    """While it is removed, commands there are BadDirectory; others run."""
    server = Server(start=False)
    other = server.base + "/other"
    os.makedirs(other + "/in")
    server.args += ["--allow-dir", other]
    server.start()
    equal(server.run("true", working_directory=other)["exit_code"], 0, "before")
    shutil.rmtree(other)
    for path in (other, other + "/in"):
        try:
            server.run("true", working_directory=path)
            check(False, "it runs in " + path)
        except RpcError as e:
            equal(e.type, "BadDirectory", "type for " + path)
            check("was removed" in str(e), "message %s" % e)
    equal(server.run("true")["exit_code"], 0, "in the workspace")
    os.mkdir(other)
    equal(server.run("touch new", working_directory=other)["exit_code"], 0, "made again")
    server.stop()


@suite.test()
def test_link_in_the_place_of_a_directory():
    """What a command puts at the path of a writable directory opens nothing else."""
    server = Server(start=False)
    outside, cache = server.base + "/outside", server.workspace + "/cache"
    os.mkdir(outside)
    os.mkdir(cache)
    server.args += ["--set", "sandbox.writable=" + cache]
    server.start()
    equal(server.run("mv cache x && mkdir cache && touch cache/in")["exit_code"], 0, "a new one")
    server.run("rmdir cache; rm -r cache; ln -s %s cache" % outside)
    remake(server.workspace, lambda: os.symlink(outside, cache))
    server.run("touch cache/out; touch %s/out" % outside)
    equal(os.listdir(outside), [], "written outside")
    server.stop()


@suite.test()
def test_state_directory_is_made_again():
    """The audit log goes on, and TMPDIR is there again."""
    server = Server()
    equal(server.run("touch $TMPDIR/a")["exit_code"], 0, "before")
    for path in (server.state, server.state + "/tmp"):
        server.ping()  # the end of the run is on record
        shutil.rmtree(path)
        for _ in range(2):
            result = server.run("touch $TMPDIR/b && ls -d $TMPDIR")
            equal((result["exit_code"], result["stderr_summary"]), (0, ""), "without " + path)
    check("temporary directory" in server.stderr_text() and "audit log" in server.stderr_text(),
          "nothing on stderr: " + server.stderr_text())
    folder = server.state + "/audit"
    with open(os.path.join(folder, os.listdir(folder)[0])) as f:
        first = json.loads(f.readline())
    equal((first["event"], first["count"]), ("lost", first["seq"] - 1), "the first line")
    server.stop()


def records(server, script):
    """The lines of the log, read where the server sees it; after @script of a shell."""
    done = subprocess.run(["nsenter", "--mount", "--target", str(server.pid), "sh", "-c",
                           script + "; cat %s/audit/*" % server.state], capture_output=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@suite.test()
def test_full_disk_is_cleaned():
    """A command has filled the disk of the workspace, the temporary files and the audit log: the
    next ones run, and one of them cleans it."""
    server = on_small_disk(Server(start=False))
    for place in (".", "$TMPDIR"):
        check(server.run("cat /dev/zero >%s/big" % place)["exit_code"] != 0, "no disk was full")
        for _ in range(20):
            equal(server.run("echo alive")["stdout_summary"], "alive\n", "on a full disk")
        equal(server.run("rm %s/big" % place)["exit_code"], 0, "cleaning")
    server.stop()


@suite.test()
def test_end_on_a_full_disk():
    """What fills it are temporary files: when these are gone the end is recorded."""
    server = on_small_disk(Server(start=False))
    process_id = server.run("sleep 1000", background=True)["process_id"]
    server.run("cat /dev/zero >$TMPDIR/big")
    refused = False
    for _ in range(5000):
        try:
            server.run("true")
        except RpcError as e:
            refused = "audit" in str(e)
            break
    check(refused, "the disk was not full")
    folder = os.open("/proc/%d/root%s/audit" % (server.pid, server.state), os.O_RDONLY)
    server.close_input()
    equal(server.wait_exit(), 0, "exit status")
    with open(os.open(os.listdir(folder)[0], os.O_RDONLY, dir_fd=folder), encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    os.close(folder)
    equal(lines[-1]["event"], "server_stop", "the last line")
    check([line for line in lines if line["event"] == "end" and line["process_id"] == process_id],
          "no end of the run in the background")
    equal(sorted(line["seq"] for line in lines), list(range(1, len(lines) + 1)), "seq")


@suite.test()
def test_full_disk_without_a_reserve():
    """When the reserve is used up as well nothing starts; the error says why and is retryable. An
    end is on record later, a refused attempt is counted."""
    server = on_small_disk(Server(start=False))
    run = server.run("sleep 60", background=True)["process_id"]
    script = ("for f in %s/audit/*; do truncate -s $(stat -c %%s $f) $f; done; "  # no reserve
              "cat /dev/zero >%s/big" % (server.state, server.base))
    done = subprocess.run(["nsenter", "--mount", "--target", str(server.pid), "sh", "-c", script],
                          capture_output=True)
    check(b"No space" in done.stderr, "no disk was full: %r" % done.stderr)
    while True:
        message = server.answer(server.request("process.run", {"command": "true"}))
        if "error" in message:
            break
    data = message["error"]["data"]
    equal((data["type"], data["retryable"]), ("PermissionDenied", True), "the refusal")
    check("Space ran out" in data["hint"], data["hint"])
    server.call("process.kill", {"process_id": run, "signal": "KILL"})
    lines = records(server, "rm %s/big" % server.base)
    check(run not in [line.get("process_id") for line in lines if line["event"] == "end"],
          "the end was written")
    equal(server.run("echo again")["stdout_summary"], "again\n", "with space")
    lines = records(server, ":")
    late = [line for line in lines if line["event"] == "end" and line["process_id"] == run]
    equal([line["outcome"] for line in late], ["killed/killed_by_request"], "the end")
    check("happened_at" in late[0], "no time: %r" % late)
    check([line for line in lines if line["event"] == "lost"], "nothing was lost: %r" % lines)
    server.stop()


if __name__ == "__main__":
    suite.main()
