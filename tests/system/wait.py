#!/usr/bin/env python3
"""process.monitor waits for output, lines, ports and silence, process.wait for many runs."""
import fcntl
import json
import os
import re
import signal
import socket
import tempfile
import time

from client import (WAIT, RpcError, Server, Skip, check, equal, eventually, free_port, held_up,
                    is_alive)
from suite import Suite

suite = Suite(at_a_time=4)

PYTHON = "/usr/bin/python3"
USER = 65534
WAIT_MS = 1000 * 120
F_SETPIPE_SZ = 1031  # fcntl.F_SETPIPE_SZ since Python 3.10

# Listens on a free port of an address, and says on which.
LISTEN = """
import os, socket, sys, time
address, how = sys.argv[1:3]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
s = socket.socket(family)
s.bind((address, 0))
print(s.getsockname()[1], flush=True)
if how == "late":
    while not os.path.exists("go"):
        time.sleep(0.02)
s.listen()
if how == "daemon":
    if os.fork():
        s.close()
        while True:
            time.sleep(1)
    os.setsid()
time.sleep(600)
"""


def as_user(*options):
    """A server of an ordinary user, with its own base directory."""
    if os.geteuid() != 0:
        return Server(*options)
    base = tempfile.mkdtemp(prefix="procpen-test-")
    os.chmod(base, 0o755)
    for name in ("workspace", "home", "state"):
        path = os.path.join(base, name)
        os.mkdir(path)
        os.chown(path, USER, USER)
    server = Server(*options, base=base, wrapper=[
        "setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"])
    server.own_base = True
    return server


def failed(answer):
    """Type and message of an answer that is an error."""
    check("error" in answer, str(answer))
    return answer["error"]["data"]["type"], answer["error"]["message"]


def start(server, command, **params):
    return server.run(command, background=True, **params)["process_id"]


def monitor(server, process_id, until, **params):
    return server.call("process.monitor", dict(params, process_id=process_id, until=until,
                                               wait_ms=WAIT_MS), WAIT + WAIT_MS / 1000)


def ask(server, process_id, **params):
    return server.request("process.monitor", dict(params, process_id=process_id, wait_ms=WAIT_MS))


def listener(server, address, how="now", **params):
    """Start LISTEN; returns the process and its port, once it has said that."""
    with open(os.path.join(server.workspace, "listen.py"), "w") as f:
        f.write(LISTEN)
    process_id = start(server, PYTHON, args=["listen.py", address, how], **params)
    found = monitor(server, process_id, "pattern", pattern=r"^(\d+)$")
    if not found["matched"]:
        raise Skip("cannot listen on %s: %s" % (
            address, server.logs(process_id)["stderr"].strip().split("\n")[-1]))
    return process_id, int(found["match"]["groups"][0])


# ---- ports

def ready_in_one_call(server):
    port = free_port()
    process_id = start(server, "exec %s -m http.server --bind 127.0.0.1 %d" % (PYTHON, port))
    answer = monitor(server, process_id, "port", port=port)
    equal((answer["state"], answer["matched"], answer["match"]), ("running", True, {"port": port}),
          "the server's start")
    page = server.run("%s -c 'import urllib.request as u; "
                      "print(u.urlopen(\"http://127.0.0.1:%d\").status)'" % (PYTHON, port))
    equal(page["stdout_summary"], "200\n", "a request right after")


@suite.test()
def test_a_run_that_never_begins():
    """Calls that wait for a run that cannot be executed are told why; later ones that there is none."""
    server = Server()
    server.write_broken_program("bad")

    def begin(*calls):
        """Start it, with @calls on it behind that in one piece; the id of the run and the answers."""
        number, tag = server.run("true")["process_id"][1:].split("-")
        id = "p%d-%s" % (int(number) + 1, tag)
        lines = [("process.run", {"command": "./bad", "args": []})]
        lines += [(method, dict(params, wait_ms=WAIT_MS)) for method, params in calls]
        server.send_bytes(b"".join(
            json.dumps({"jsonrpc": "2.0", "id": "c%d" % i, "method": method,
                        "params": params if not i else dict(params, process_id=id)}).encode() + b"\n"
            for i, (method, params) in enumerate(lines)))
        return id, [server.answer("c%d" % i) for i in range(len(lines))]

    def waited(*calls):
        """As begin(); the start must be on its way when the others come."""
        for _ in range(100):
            id, answers = begin(*calls)
            if all(failed(a)[0] != "ProcessNotFound" for a in answers[1:]):
                return id, answers
        raise Skip("the calls came too early or too late, each time")

    for call in (("process.monitor", {}), ("process.monitor", {"until": "output"}),
                 ("process.logs", {}), ("process.logs", {"stream": "combined"})):
        id, (run, other) = waited(call)
        check("ENOENT" in run["error"]["message"], str(run))
        equal(failed(other), failed(run), str(call))
    id, (run, kill) = waited(("process.kill", {"signal": "WINCH"}))
    equal(failed(kill)[0], "ProcessAlreadyExited", "kill")
    check("never began" in failed(kill)[1] and "ENOENT" in failed(kill)[1], str(kill))
    equal(kill["error"]["data"]["actions"], [], "there is no state to look at")
    equal(server.recorded()["c1"], "ProcessAlreadyExited", "its record")
    answer = server.answer(server.request("process.monitor", {"process_id": id}))
    equal(failed(answer)[0], "ProcessNotFound", "later")
    check("could not be executed" in answer["error"]["data"]["hint"], str(answer))
    server.stop()


@suite.test()
def test_a_server_is_ready_in_one_call():
    ready_in_one_call(Server())


@suite.test()
def test_a_server_is_ready_in_one_call_of_a_user():
    ready_in_one_call(as_user())


@suite.test()
def test_a_server_is_ready_in_one_call_without_namespaces():
    ready_in_one_call(Server("--set", "sandbox.namespaces=false"))


def port_of(address):
    server = Server()
    process_id, port = listener(server, address)
    equal(monitor(server, process_id, "port", port=port)["match"], {"port": port}, address)


@suite.test()
def test_port_of_ipv6_loopback():
    port_of("::1")


@suite.test()
def test_port_of_any_address():
    port_of("0.0.0.0")


@suite.test()
def test_port_of_any_ipv6_address():
    port_of("::")


@suite.test()
def test_port_in_a_network_namespace():
    server = Server()
    process_id, port = listener(server, "127.0.0.1", network=False)
    here = server.run("readlink /proc/self/ns/net")["stdout_summary"]
    there = server.run("readlink /proc/self/ns/net", network=False)["stdout_summary"]
    if here == there:
        raise Skip("no network namespace here")
    equal(monitor(server, process_id, "port", port=port)["match"], {"port": port}, "in there")


@suite.test()
def test_port_of_a_daemon():
    server = Server()
    process_id, port = listener(server, "127.0.0.1", "daemon")
    equal(monitor(server, process_id, "port", port=port)["match"], {"port": port}, "a daemon's")


@suite.test()
def test_port_of_what_a_command_left():
    server = Server()
    with open(os.path.join(server.workspace, "listen.py"), "w") as f:
        f.write(LISTEN)
    over = server.run("%s listen.py 127.0.0.1 late >port & until [ -s port ]; do sleep 0.02; done; cat port"
                      % PYTHON)
    look = {"process_id": over["process_id"], "until": "port", "port": int(over["stdout_summary"]),
            "wait_ms": WAIT_MS}
    answer = server.call("process.monitor", look)
    equal((answer["state"], answer["alive"], answer["matched"]), ("completed", 1, False), "before it listens")
    open(os.path.join(server.workspace, "go"), "w").close()
    eventually(lambda: server.call("process.monitor", look)["match"] == {"port": look["port"]}, WAIT,
               "the port of a process that was left is not seen")


@suite.test()
def test_port_is_seen_when_it_listens():
    server = Server()
    process_id, port = listener(server, "127.0.0.1", "late")
    waits = [ask(server, process_id, until="port", port=port) for _ in range(20)]
    check(not server.call("process.monitor", {"process_id": process_id, "until": "port",
                                              "port": port})["matched"], "bound is not listening")
    open(os.path.join(server.workspace, "go"), "w").close()
    for id in waits:
        equal(server.result(id)["match"], {"port": port}, "a wait for it")


@suite.test()
def test_port_of_another_process():
    server = Server()
    process_id = start(server, "sleep 600")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        answer = server.call("process.monitor", {"process_id": process_id, "until": "port",
                                                 "port": port, "wait_ms": 300})
    equal((answer["state"], answer["matched"]), ("running", False), "a port of this test")


# ---- output

@suite.test()
def test_many_waits_for_ports():
    """One look serves all of them: a table costs the kernel milliseconds, and each wait that read its
    own would take so long that all come minutes late."""
    server = Server("--set", "limits.requests=300")
    ids, ports = zip(*[listener(server, "127.0.0.1", "late") for _ in range(4)])
    calls = [server.request("process.monitor", {"process_id": ids[i % 4], "until": "port",
                                                "port": ports[i % 4], "wait_ms": 20000})
             for i in range(250)]
    server.ping()
    with open(os.path.join(server.workspace, "go"), "w", encoding="ascii"):
        pass
    for i, call in enumerate(calls):
        equal(server.answer(call)["result"]["match"], {"port": ports[i % 4]}, "match")
    server.stop()


@suite.test()
def test_line_behind_a_flood():
    """The search keeps up or says what it has not seen; the end of the output is always found."""
    server = Server("--set", "log.tail_bytes=1M")
    process_id = start(server, "head -c 200M /dev/zero | tr '\\0' x | fold -w 79; echo; "
                               "echo now it is ready; exec sleep 600")
    answer = monitor(server, process_id, "pattern", pattern="is (ready)")
    equal(answer["match"]["text"], "now it is ready", "the line")
    equal(answer["match"]["groups"], ["ready"], "its group")
    process_id = start(server, "head -c 200M /dev/zero | tr '\\0' x | fold -w 79")
    answer = monitor(server, process_id, "pattern", pattern="ready")
    equal((answer["state"], answer["matched"]), ("completed", False), "no such line")
    check(answer.get("unsearched_bytes", 1) > 0, "unsearched_bytes")


@suite.test()
def test_line_that_comes_byte_by_byte():
    server = Server()
    script = ("import time\nfor c in 'x' * 300 + ' done':\n"
              "    print(c, end='', flush=True)\n    time.sleep(0.003)\ntime.sleep(600)")
    process_id = start(server, PYTHON, args=["-c", script])
    answer = monitor(server, process_id, "pattern", pattern="^x+ done$")
    equal(answer["match"]["line_number"], 1, "a line that grew")


@suite.test()
def test_silence_of_a_loud_run():
    server = Server()
    for idle_ms in (1500, 6000, 24000):  # on a busy machine it may be silent for a while before
        process_id = start(server, "for i in 1 2 3 4 5 6 7 8; do echo; sleep 0.2; done; exec sleep 600")
        answer = monitor(server, process_id, "idle", idle_ms=idle_ms)
        check(answer["matched"], "it is silent at last")
        size = server.logs(process_id)["stdout_size"]
        if size == 8:
            break
    equal(size, 8, "after all of its output")


def begin(server, command, number, **params):
    """Start @command, which ends when the file `go` with @number is there: its record, when it has
    begun or its time is over, and the request."""
    begun = os.path.join(server.workspace, "begun%d" % number)
    command += "touch begun%d; until [ -e go%d ]; do sleep 0.02; done; exit 3" % (number, number)
    request = server.request("process.run", dict(params, command=command))
    eventually(lambda: os.path.exists(begun) or server.has_answered(request), WAIT, "it does not begin")
    known = lambda: [run for run in server.call("process.list")["processes"][:1]
                     if run["pid"] or run["state"] != "running"]
    return eventually(known, WAIT, "no pid")[0], request


def end_unseen(server, run, number, seconds):
    """Let that run end while the server does not look for so long."""
    open(os.path.join(server.workspace, "go%d" % number), "w", encoding="utf-8").close()
    eventually(lambda: not (run["pid"] and is_alive(run["pid"])), WAIT, "it does not end")
    time.sleep(seconds)


@suite.test()
def test_end_while_the_server_is_stopped():
    """A run that ended in time is not late because the server looks later: no timeout kills what it
    has left."""
    server = Server()
    for timeout in (2, 8, 30):  # a busy machine may take as long before the server is stopped
        run, request = begin(server, "sleep 600 & ", timeout, timeout=timeout)
        server.signal(signal.SIGSTOP)
        end_unseen(server, run, timeout, timeout + 0.2)
        server.signal(signal.SIGCONT)
        result = server.result(request)
        if result["state"] == "completed":
            break
    equal((result["state"], result["exit_code"]), ("completed", 3), "the end")
    equal(server.call("process.monitor", {"process_id": run["process_id"]})["alive"], 1, "what it left")
    server.stop()


@suite.test()
def test_time_that_passes_while_the_server_is_stopped():
    """What has come by then is there before the time of a wait is over."""
    server = Server()
    for number in range(5):
        run, _ = begin(server, "", number)
        begun = time.monotonic()
        waits = server.request("process.monitor", {"process_id": run["process_id"], "wait_ms": 3000})
        server.ping()
        server.signal(signal.SIGSTOP)
        in_time = time.monotonic() - begun < 2  # on a busy machine the wait may be over before
        end_unseen(server, run, number, 3.2)
        server.signal(signal.SIGCONT)
        seen = server.result(waits)
        if in_time:
            break
    equal((seen["matched"], seen["state"]), (True, "completed"), "the wait")
    server.stop()


@suite.test()
def test_end_while_the_audit_log_is_slow():
    """What came while the server waited for its disk is there before the time of a wait is over."""
    server = Server()
    for number in range(5):  # a busy machine may take two seconds before the run ends
        run, _ = begin(server, "", number)
        with held_up(server, 2500):
            waits = server.message("process.monitor", {"process_id": run["process_id"], "wait_ms": 2000})
            server.send(waits, server.message("process.kill", {"process_id": run["process_id"],
                                                               "signal": "WINCH"}))
            end_unseen(server, run, number, 2.2)
            seen = server.result(waits["id"])
        if seen["matched"]:
            break
    equal((seen["matched"], seen["state"]), (True, "completed"), "the wait")
    server.stop()


@suite.test()
def test_silence_of_a_stopped_server():
    """What was written while the server did not run is no silence, for idle_timeout and until idle."""
    server = Server()
    for idle, count in ((2, 50), (8, 120)):  # on a busy machine it may be silent for two seconds
        process_id = start(server, "for i in $(seq %d); do echo; sleep 0.1; done" % count, idle_timeout=idle)
        request = server.request("process.monitor", {"process_id": process_id, "wait_ms": 60000,
                                                     "until": "idle", "idle_ms": 1000 * idle})
        eventually(lambda: server.logs(process_id)["stdout_size"] > 0, WAIT, "output")
        server.signal(signal.SIGSTOP)
        time.sleep(idle + 1)
        server.signal(signal.SIGCONT)
        answer = server.result(request)
        if not answer["matched"] and answer["state"] == "completed":
            break
    equal((answer["matched"], answer["state"], answer["reason"]), (False, "completed", "exited"), "its end")


# ---- input

WAITING = ["cat", "bash -c 'read x'", "exec python3 -i", "cat | sort",
           "printf 'continue? [Y/n] '; read -r a"]
POLLING = ["exec python3 -c 'import select, sys; select.select([sys.stdin], [], [])'"]
# Reads twice; before the second time it forbids to look at it.
HIDING = """exec %s -u -c 'import ctypes, sys
input()
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
print("hidden")
sys.stdin.read()'""" % PYTHON
# Waits for the next event, and does not read what the last one told of.
LEAVING = """exec %s -c 'import select
events = select.epoll()
events.register(0, select.EPOLLIN | select.EPOLLET)
while True: events.poll()'""" % PYTHON
NOT_WAITING = ["exec sleep 600", "sleep 600 | cat", "while :; do :; done", "sleep 600 & wait"]


def judge(server, command, want):
    """What waits_for_input says of @command, in the end: a slow one may be silent before it asks."""
    process_id = start(server, command, stdin_mode="pipe")
    answer = monitor(server, process_id, "idle", idle_ms=1000)
    end = time.monotonic() + WAIT
    while (answer["waits_for_input"] is not want and answer["state"] == "running"
           and time.monotonic() < end):
        answer = server.call("process.monitor", {"process_id": process_id, "wait_ms": 300})
    server.call("process.kill", {"process_id": process_id, "signal": "KILL"})
    return answer["waits_for_input"]


def judge_all(server):
    try:
        server.run("true", stdin_mode="pipe")
    except RpcError as e:
        raise Skip("no stdin_mode: %s" % e)
    for command in WAITING + POLLING:
        equal(judge(server, command, True), True, command)
    for command in NOT_WAITING:
        equal(judge(server, command, False), False, command)


@suite.test()
def test_waits_for_input():
    judge_all(Server())


@suite.test()
def test_waits_for_input_of_a_user():
    judge_all(as_user())


@suite.test()
def test_waits_for_input_without_namespaces():
    judge_all(Server("--set", "sandbox.namespaces=false"))


@suite.test()
def test_waits_for_input_of_the_undumpable():
    """Nothing is known of a process that hides, also when it was seen before."""
    for server in (as_user(), as_user("--set", "sandbox.namespaces=false")):
        process_id = start(server, HIDING, stdin_mode="pipe")

        def waits():
            return server.call("process.monitor", {"process_id": process_id})["waits_for_input"]

        eventually(lambda: waits() is True, WAIT, "the first read")
        server.call("process.input", {"process_id": process_id, "data": "\n"})
        check(monitor(server, process_id, "pattern", pattern="^hidden$")["matched"], "it hides")
        eventually(lambda: waits() is None, WAIT, "the second read")


@suite.test()
def test_bytes_that_are_left_are_not_waited_for():
    server = Server()
    process_id = start(server, LEAVING, stdin_mode="pipe")

    def waits():
        return server.call("process.monitor", {"process_id": process_id})["waits_for_input"]

    eventually(lambda: waits() is True, WAIT, "an empty stdin")
    server.call("process.input", {"process_id": process_id, "data": "x"})
    for _ in range(3):
        equal(monitor(server, process_id, "idle", idle_ms=300)["waits_for_input"], False, "bytes")


@suite.test()
def test_nothing_waits_for_dev_null():
    server = Server()
    process_id = start(server, "cat; exec sleep 600")
    equal(monitor(server, process_id, "idle", idle_ms=300)["waits_for_input"], False, "/dev/null")


# ---- many

@suite.test()
def test_waits_and_floods():
    """256 waits of every kind beside floods: each is answered once, and so is everything else."""
    server = Server("--set", "log.tail_bytes=64K")
    floods = [start(server, "exec yes") for _ in range(4)]
    quiet = start(server, "exec sleep 600")
    kinds = [{"until": "exit"}, {"until": "idle", "idle_ms": 300000},
             {"until": "pattern", "pattern": "never"}, {"until": "port", "port": 1},
             {"until": "output", "stream": "stderr"}]
    waits = [ask(server, floods[i % 4] if i % 3 else quiet, **kinds[i % 5]) for i in range(255)]
    waits.append(server.request("process.wait", {"process_ids": floods + [quiet],
                                                 "wait_ms": WAIT_MS}))
    answer = server.answer(ask(server, quiet, until="exit"))
    equal(answer["error"]["data"]["type"], "LimitReached", "one more")
    for _ in range(50):
        server.ping()
    equal(server.call("process.monitor", {"process_id": quiet})["state"], "running", "a look")
    equal(server.call("process.list", {})["total"], 5, "a list")
    check(server.call("is_blocked", {"command": "ls"})["blocked"] is False, "is_blocked")
    for process_id in floods + [quiet]:
        check(server.call("process.kill", {"process_id": process_id, "signal": "KILL"})["killed"],
              "a kill")
    for i, id in enumerate(waits[:-1]):
        answer = server.result(id)
        equal((answer["state"], answer["matched"]), ("killed", i % 5 == 0), "wait %d" % i)
    equal(len(server.result(waits[-1])["ended"]), 5, "process.wait")
    server.ping()
    check(not server.inbox, "nothing is answered twice")


@suite.test()
def test_hostile_patterns_wait_for_their_turn():
    """Long searches take turns: what is asked after them is answered before they are done."""
    server = Server()
    process_id = start(server, "head -c 6M /dev/zero | tr '\\0' a | fold -w 40 | "
                               "sed 's/$/!/'; exec sleep 600")
    eventually(lambda: server.logs(process_id, limit=1)["stdout_size"] > 6200000, WAIT, "output")
    searches = [server.request("process.monitor", {
        "process_id": process_id, "until": "pattern", "wait_ms": WAIT_MS,
        "pattern": "(?:a|b|aa)*c%d" % i}) for i in range(20)]
    server.request("process.logs", {"process_id": process_id, "grep": "(?:a|b|aa)*c"})
    before = 0
    for _ in range(20):
        server.call("ping")
        before += 1
        answered = {m.get("id") for m in server.inbox if "method" not in m}
        if answered & set(searches):
            break
    equal(before, 20, "pings that were answered before the first search was done")
    server.call("process.kill", {"process_id": process_id, "signal": "KILL"})
    for id in searches:
        answer = server.answer(id, 3 * WAIT)  # they are meant to take long
        check(answer.get("result", {}).get("matched") is False or
              answer["error"]["data"]["type"] == "LimitReached", json.dumps(answer)[:200])


@suite.test()
def test_wait_for_64_runs():
    server = Server()
    runs = [start(server, "until [ -e go ]; do sleep 0.05; done; exit %d" % i) for i in range(64)]
    everything = server.request("process.wait", {"process_ids": runs, "wait_ms": WAIT_MS})
    first = server.request("process.wait", {"process_ids": runs, "wait_ms": WAIT_MS, "mode": "any"})
    server.ping()
    open(os.path.join(server.workspace, "go"), "w").close()
    answer = server.result(first)
    check(answer["matched"] and answer["ended"], "any")
    equal(len(answer["ended"]) + len(answer["pending"]), 64, "all are named")
    answer = server.result(everything)
    equal([r["exit_code"] for r in answer["ended"]], list(range(64)), "all, in their order")
    equal(answer["pending"], [], "pending")


# ---- the end

def check_search(found, lines, first, size):
    """The answer to a search from offset @first in @size bytes, where @lines (offsets) match."""
    lines = [offset for offset in lines if offset >= first]
    shown = [match["offset"] for match in found["matches"]]
    after = found["stdout_next_offset"]
    equal(shown, lines[:len(shown)], "matches")
    if found["matches_total"] > len(shown):
        equal(after, lines[len(shown)], "next, the first that is not shown")
    else:
        equal(shown, [offset for offset in lines if offset < after], "before offset %d" % after)
        check(first <= after <= size, "next: %d" % after)
    equal(found["truncated"], after < size, "truncated, up to %d of %d" % (after, size))


@suite.test()
def test_searches_at_the_end():
    """A search that is not over when the server has to end is answered with what it has found, and with
    the place where another would go on."""
    wanted = "1.*2.*3.*4"
    text = "".join("%d\n" % n for n in range(1, 1200001))
    lines = [match.start() for match in re.finditer("^.*" + wanted, text, re.MULTILINE)]
    check(len(lines) > 2000, "%d lines match" % len(lines))
    for end, most in (("eof", 1000), ("signal", 2)):
        server = Server("--set", "limits.requests=400", "--set", "server.eof_seconds=1")
        fcntl.fcntl(server.r, F_SETPIPE_SZ, 1 << 20)  # room for all: no answer waits for a reader
        run = server.run("seq 1200000")["process_id"]
        search = {"process_id": run, "wait_ms": WAIT_MS, "until": "pattern", "pattern": "1.*2.*3.*4x"}
        searches = [server.request("process.monitor", search) for _ in range(150)]
        greps = [server.request("process.logs", {
            "process_id": run, "grep": wanted, "offset": 7, "max_matches": most, "context": 0})
            for _ in range(150)]
        texts = [server.request("tools/call", {"name": "process_logs", "arguments": {
            "process_id": run, "grep": "1.*2.*3.*4x"}}) for _ in range(50)]
        server.wait_read()
        if end == "eof":
            server.close_input()
        else:
            server.signal(signal.SIGTERM)
        answers = [server.answer(id) for id in searches + greps]
        equal([answer for answer in answers if "error" in answer], [], end)
        for found in (answer["result"] for answer in answers[:len(searches)]):
            check(not found.get("match"), str(found)[:300])
        for found in (answer["result"] for answer in answers[len(searches):]):
            check_search(found, lines, 7, len(text))
        for shown in (server.result(id) for id in texts):
            equal("not searched" in shown["content"][0]["text"],
                  shown["_meta"]["dev.procpen/result"]["truncated"], shown["content"][0]["text"])
        equal(server.wait_exit(), 0, "exit status")


@suite.test()
def test_waits_at_the_end_of_the_input():
    """The open waits are answered with what is known when their time after the end is over."""
    server = Server("--set", "server.eof_seconds=1")
    process_id = start(server, "echo on; exec sleep 600")
    waits = [ask(server, process_id, until="pattern", pattern="never"),
             ask(server, process_id, until="port", port=1),
             ask(server, process_id, until="idle", idle_ms=300000),
             server.request("process.wait", {"process_ids": [process_id], "wait_ms": WAIT_MS})]
    server.close_input()
    for id in waits:
        check(not server.result(id)["matched"], "an open wait")
    equal(server.wait_exit(), 0, "exit status")


if __name__ == "__main__":
    suite.main()
