#!/usr/bin/env python3
"""Records of runs: deleting them, what refers to them, and keys that stand for them."""
import os
import signal

from client import RpcError, check, equal, eventually, is_alive
from followed import Server
from suite import Suite

suite = Suite()
MIB = 1 << 20


def log_files(server):
    """How many memory files the server holds logs in."""
    count = 0
    for name in os.listdir("/proc/%d/fd" % server.pid):
        try:
            count += "procpen-log" in os.readlink("/proc/%d/fd/%s" % (server.pid, name))
        except OSError:
            pass
    return count


def failure(server, method, **params):
    try:
        server.call(method, params)
    except RpcError as e:
        return e
    raise AssertionError("%s did not fail" % method)


@suite.test()
def many_large_logs_are_freed_while_others_are_served():
    server = Server()
    for _ in range(30):
        server.run("head -c %d /dev/zero" % (9 * MIB))
    kept = 0
    for p in server.call("process.list", {"limit": 100})["processes"]:
        page = server.logs(p["process_id"], limit=1)
        hole = page["stdout_evicted"] or [0, 0]
        kept += page["stdout_size"] - (hole[1] - hole[0])
    equal(log_files(server), 30, "logs before")
    asked = server.request("process.delete", {"state_filter": "all"})
    pings = [server.request("process.list", {}) for _ in range(20)]
    result = server.result(asked)
    equal((result["deleted"], result["bytes_freed"]), (30, kept), "deleted")
    for ping in pings:
        server.result(ping)
    equal(log_files(server), 0, "logs after")
    equal(server.call("process.list")["total"], 0, "records")
    equal(server.run("echo on")["stdout_summary"], "on\n", "a run after it")


@suite.test()
def new_records_are_not_of_the_call():
    server = Server()
    for _ in range(20):
        server.run("head -c %d /dev/zero" % (9 * MIB))
    asked = server.request("process.delete", {"state_filter": "completed"})
    later = server.run("true")["process_id"]
    equal(server.result(asked)["deleted"], 20, "deleted")
    equal(server.call("process.monitor", {"process_id": later})["state"], "completed", "later")


@suite.test()
def a_search_of_a_deleted_run_ends():
    server = Server("--set", "log.tail_bytes=64M")
    p = server.run("seq 1 6000000")["process_id"]
    search = server.request("process.logs", {"process_id": p, "grep": "no such line"})
    server.call("process.delete", {"process_id": p})
    answer = server.answer(search)
    if "error" in answer:
        equal(answer["error"]["data"]["type"], "ProcessNotFound", "the search")
    else:
        equal(answer["result"]["matches_total"], 0, "the search was done first")


@suite.test()
def waiting_calls_are_answered_before_the_record_goes():
    server = Server()
    p = server.run("sleep 60", background=True)["process_id"]
    waits = [server.request("process.monitor", {"process_id": p, "wait_ms": 60000}),
             server.request("process.logs", {"process_id": p, "wait_ms": 60000}),
             server.request("process.kill", {"process_id": p, "signal": "KILL"})]
    equal(server.result(waits[0])["state"], "killed", "monitor")
    equal(server.result(waits[1])["state"], "killed", "logs")
    check(server.result(waits[2])["killed"], "kill")
    equal(server.call("process.delete", {"process_id": p})["deleted"], 1, "deleted")
    equal(failure(server, "process.logs", process_id=p).type, "ProcessNotFound", "logs")


@suite.test()
def deleting_makes_room_for_nothing_that_lives():
    server = Server("--set", "limits.running_processes=2")
    for _ in range(2):
        server.run("sleep 60", background=True)
    equal(server.call("process.delete", {"state_filter": "all"})["deleted"], 0, "deleted")
    equal(failure(server, "process.run", command="true").type, "LimitReached", "a third")
    for p in server.call("process.list")["processes"]:
        server.call("process.kill", {"process_id": p["process_id"], "signal": "KILL"})
    equal(server.call("process.delete", {"state_filter": "killed"})["deleted"], 2, "deleted")
    equal(server.run("true")["exit_code"], 0, "a run")


# ---------------------------------------------------------------- idempotency keys

@suite.test()
def a_burst_of_one_key_starts_once():
    server = Server()
    for key in ("one", "two"):
        asked = [server.request("process.run", {"command": "echo x >>%s; wc -l <%s" % (key, key),
                                                "idempotency_key": key}) for _ in range(40)]
        asked += [server.request("process.run", {"command": "true"}) for _ in range(20)]
        results = [server.result(id) for id in asked[:40]]
        equal({r["stdout_summary"] for r in results}, {"1\n"}, "lines")
        equal(len({r["process_id"] for r in results}), 1, "runs")
        equal(sum(not r["replayed"] for r in results), 1, "first ones")
        for id in asked[40:]:
            server.result(id)


@suite.test()
def cancelling_all_of_many_ends_the_run():
    server = Server()
    asked = [server.request("process.run", {"command": "echo $$; exec sleep 60",
                                            "idempotency_key": "k"}) for _ in range(5)]
    pids = lambda: [p["pid"] for p in server.call("process.list")["processes"] if p["pid"]]
    pid = eventually(pids, 40, "a run")[0]
    for id in asked:
        server.notify("$/cancelRequest", {"id": id})
    answers = [server.answer(id) for id in asked]
    for answer in answers[:4]:
        equal(answer["error"]["data"]["type"], "Cancelled", "one of many")
    equal(answers[4]["result"]["reason"], "cancelled", "the last one")
    check(not is_alive(pid), "the command lives")
    again = server.run("echo $$; exec sleep 60", idempotency_key="k", timeout=60, yield_ms=1)
    check(again["state"] == "running" and not again["replayed"], "the key is not free")


@suite.test()
def keys_go_with_their_records():
    server = Server("--set", "limits.finished_records=5")
    for n in range(12):
        server.run("true", idempotency_key="key %d" % n)
    for n in range(12):
        result = server.run("true", idempotency_key="key %d" % n)
        equal(result["replayed"], False, "key %d of a record that is gone" % n)


@suite.test()
def repeats_end_with_the_server():
    server = Server("--set", "tier.process.run=confirm")
    for _ in range(3):
        server.request("process.run", {"command": "true", "idempotency_key": "k"})
    eventually(lambda: server.pump(0.05) or server.notes, 40, "a question")
    server.signal(signal.SIGTERM)
    equal(server.wait_exit(), 0, "status")


if __name__ == "__main__":
    suite.main()
