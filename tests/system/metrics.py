#!/usr/bin/env python3
"""server.metrics: figures that agree with what the kernel has counted."""
import ctypes
import json
import os
import time

from client import STRESS, WAIT, check, equal, eventually
from followed import Server
from suite import Suite

suite = Suite()
PR_SET_CHILD_SUBREAPER = 36


def kernel_usage(server):
    """End the server; what the kernel has counted for it and all its children: processor time in ms,
    bytes read and written. Shims that outlive the server for a moment become our children."""
    check(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "no sub-reaper")
    with open("/proc/%d/task/%d/children" % (server.pid, server.pid)) as f:
        left = {server.pid, *map(int, f.read().split())}
    server.close_input()
    total = [0, 0, 0]
    end = time.monotonic() + WAIT
    while left and time.monotonic() < end:
        server.pump(0.02)
        for pid in sorted(left):
            try:
                collected, status, usage = os.wait4(pid, os.WNOHANG)
            except ChildProcessError:  # still the server's, or collected by it
                left -= {pid} if server.pid not in left else set()
                continue
            if not collected:
                continue
            left.remove(pid)
            for i, used in enumerate((1000 * (usage.ru_utime + usage.ru_stime),
                                      512 * usage.ru_inblock, 512 * usage.ru_oublock)):
                total[i] += used
            if pid == server.pid:
                server.process.returncode = os.waitstatus_to_exitcode(status)
    equal((left, server.process.returncode), (set(), 0), "processes left, and the status")
    return total


def counted_children(server):
    """Milliseconds of the server's collected children."""
    with open("/proc/%d/stat" % server.pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return 1000 * (int(fields[13]) + int(fields[14])) // os.sysconf("SC_CLK_TCK")


def near(got, want, share, slack, what):
    check(abs(got - want) <= want * share + slack, "%s: %d, the kernel has %d" % (what, got, want))


def run_many(server, count, command, **params):
    left = [server.request("process.run", dict(params, command=command)) for _ in range(16)]
    for _ in range(count - len(left)):
        server.result(left.pop(0))
        left.append(server.request("process.run", dict(params, command=command)))
    for id in left:
        server.result(id)


def steady(server):
    """Metrics when nothing runs any more, so that no process has used time in part of a tick."""
    samples = [server.call("server.metrics")]

    def is_steady():
        time.sleep(0.05)
        samples.append(server.call("server.metrics"))
        return samples[-1]["cpu_ms"] - samples[-2]["cpu_ms"] <= 1

    eventually(is_steady, WAIT, "the server does not come to rest")
    return samples[-1]


def agrees(server, count):
    run_many(server, count, "i=0; while [ $i -lt 1500 ]; do i=$((i+1)); done; "
                            "f=$(mktemp -p .); head -c 20000 /dev/zero >$f; rm $f")
    seen = steady(server)
    equal(seen["counters"]["runs_started"], count, "runs started")
    equal(seen["counters"]["runs_succeeded"], count, "runs succeeded")
    cpu_ms, read_bytes, write_bytes = kernel_usage(server)
    near(seen["cpu_ms"], cpu_ms, 0.02, 15, "cpu_ms")
    near(seen["disk_read_bytes"], read_bytes, 0.02, 65536, "disk_read_bytes")
    near(seen["disk_write_bytes"], write_bytes, 0.02, 65536, "disk_write_bytes")


@suite.test()
def many_short_runs_add_up():
    agrees(Server(), 1000 if STRESS else 150)


@suite.test()
def they_add_up_where_every_run_has_a_shim_of_its_own():
    agrees(Server("--set", "sandbox.network=false"), 300 if STRESS else 50)


@suite.test()
def live_runs_count_too():
    server = Server()
    server.run("while :; do :; done", background=True)
    first = server.call("server.metrics")
    used = lambda: server.call("server.metrics")["cpu_ms"] - first["cpu_ms"] >= 100
    eventually(used, WAIT, "no processor time of a live run")
    second = server.call("server.metrics")
    check(second["memory_bytes"] > 500000, "memory of %d bytes" % second["memory_bytes"])
    for p in server.call("process.list")["processes"]:
        server.call("process.kill", {"process_id": p["process_id"], "signal": "KILL"})
    last = server.call("server.metrics")
    check(last["cpu_ms"] >= second["cpu_ms"], "processor time goes back")
    eventually(lambda: counted_children(server) > 80, WAIT, "the shim was not collected")
    last = server.call("server.metrics")
    near(last["cpu_ms"], kernel_usage(server)[0], 0.02, 15, "cpu_ms")


@suite.test()
def what_cannot_be_executed_is_never_counted():
    """No counter goes back, also when a start fails after it was sampled."""
    server = Server()
    server.write_broken_program("broken")
    server.run("true")
    seen = 0
    for n in range(20):
        calls = [("process.run", {"command": "./broken", "args": []}), ("server.metrics", {}), ("process.list", {})]
        server.send_bytes(b"".join(
            json.dumps({"jsonrpc": "2.0", "id": "%d.%d" % (n, i), "method": method, "params": params}).encode()
            + b"\n" for i, (method, params) in enumerate(calls)))  # all in one read
        equal(server.answer("%d.0" % n)["error"]["data"]["type"], "SpawnFailed", "the start")
        equal(server.result("%d.1" % n)["counters"]["runs_started"], 1, "runs_started")
        seen += server.result("%d.2" % n)["total"] == 2
    check(seen, "no start was still open when it was sampled")
    server.stop()


@suite.test()
def percentages_add_up_to_the_total():
    server = Server()
    server.run("while :; do :; done", background=True)
    base = server.call("server.metrics")
    total, at = 0.0, base["uptime_ms"]
    for _ in range(10):
        time.sleep(0.05)
        sample = server.call("server.metrics")
        total += sample["cpu_percent"] / 100 * (sample["uptime_ms"] - at)
        at = sample["uptime_ms"]
    near(total, sample["cpu_ms"] - base["cpu_ms"], 0.02, 5, "sum of percentages")


@suite.test()
def a_client_that_does_not_read_gets_no_backlog():
    server = Server()
    p = server.run("head -c 3000000 /dev/zero | tr '\\0' x", background=True)["process_id"]
    server.call("process.monitor", {"process_id": p, "wait_ms": 30000})
    server.call("server.metrics", {"interval_ms": 100})
    for _ in range(40):
        server.request("process.logs", {"process_id": p, "stream": "stdout"})
    server.flush()
    time.sleep(2)  # without reading: some 20 samples, if they were queued
    before = len(server.notes)
    server.ping()
    equal(server.call("server.metrics.stop")["stopped"], True, "stopped")
    queued = [n for n in server.notes[before:] if n.get("method") == "server.metrics"]
    check(queued, "no sample at all")
    count = len(server.notes)
    time.sleep(0.3)
    server.ping()
    equal(len(server.notes), count, "a sample after the stop")


@suite.test()
def test_usage_of_a_live_run_is_its_own():
    """Not that of the runs before, which its shim has collected, nor what the shim itself has used."""
    server = Server()
    before = server.run("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; "
                        "dd if=/dev/zero of=big bs=1M count=8 conv=fsync 2>&1")["resource_usage"]
    for _ in range(600):
        server.run("true", args=[])
    run = server.run("sleep 100", background=True)
    usage = server.call("process.monitor", {"process_id": run["process_id"]})["resource_usage"]
    check(before["cpu_ms"] > 200, "the first run used %s" % before)
    check(usage["cpu_ms"] < 60, "a run that sleeps uses %s" % usage)
    check(usage["io_write_bytes"] in (None, 0), "and writes: %s" % usage)
    server.stop()


@suite.test()
def test_no_stream_after_the_end():
    """The stream ends with the input, else a slow reader would never have read all."""
    for _ in range(3):  # a busy machine may see the end of the input late
        server = Server(stdio="socket")
        run = server.run("seq 400000")["process_id"]
        server.call("server.metrics", {"interval_ms": 100})
        server.read_paused = True
        for _ in range(3):
            server.request("process.logs", {"process_id": run})
        server.wait_read()
        server.close_input()
        ended_ms = time.time() * 1000
        time.sleep(2.5)
        server.read_paused = False
        equal(server.wait_exit(), 0, "exit status")
        sent = [message["params"]["timestamp_ms"] for message in server.inbox
                if message.get("method") == "server.metrics"]
        if not sent or sent[-1] < ended_ms + 1500:
            return
    check(False, "it goes on %d ms after the end" % (sent[-1] - ended_ms))


if __name__ == "__main__":
    suite.main()
