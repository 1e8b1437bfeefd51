#!/usr/bin/env python3
"""Records of runs: their output in order, deleting them, and keys that stand for them."""
import json
import os
import signal

from client import WAIT, RpcError, check, equal, eventually, is_alive
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
    if os.geteuid() == 0:  # no other user may look into a server
        equal(log_files(server), 30, "logs before")
    asked = server.request("process.delete", {"state_filter": "all"})
    pings = [server.request("process.list", {}) for _ in range(20)]
    result = server.result(asked)
    equal((result["deleted"], result["bytes_freed"]), (30, kept), "deleted")
    for ping in pings:
        server.result(ping)
    if os.geteuid() == 0:
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


# ---------------------------------------------------------------- combined

UNTIL_READ = r"""
import fcntl, os, random, sys, termios, time

def until_read(stream):
    while any(fcntl.ioctl(stream, termios.FIONREAD, b"    ")):
        time.sleep(0.0001)
"""

WRITER = UNTIL_READ + r"""
rng = random.Random(int(sys.argv[1]))
pieces = ["x", "line\n", "\u00e9", "\u20ac", "\U0001f600", "more words here ", "\n"]
for _ in range(int(sys.argv[2])):
    data = "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 20))).encode()
    cut = rng.randrange(len(data) + 1)
    stream = rng.choice((1, 2))
    os.write(stream, data[:cut])
    if rng.random() < 0.3:
        os.write(3 - stream, b"-")
    os.write(stream, data[cut:])
    if rng.random() < float(sys.argv[3]):
        until_read(stream)
"""


def ends_as_a_page_does(page, limit):
    """No more than the limit, and up to the last line end of the second half."""
    text = "".join(entry["data"] for entry in page["entries"]).encode()
    check(len(text) <= limit, "%d bytes with a limit of %d" % (len(text), limit))
    if page["truncated"] and b"\n" in text[len(text) // 2:]:
        equal(text[-1:], b"\n", "the end of a page that has a line end in its second half")


def combined(server, process_id, since=0, **params):
    """All entries from @since on, page by page, and where the last page ended."""
    entries = []
    while True:
        page = server.logs(process_id, stream="combined", since=since, **params)
        if "limit" in params:
            ends_as_a_page_does(page, params["limit"])
        entries += page["entries"]
        check(page["next_since"] > since or not page["truncated"], "no progress at %d" % since)
        since = page["next_since"]
        if not page["truncated"]:
            return entries, since


def joined(entries, stream, first=0):
    """What the entries have of a stream; they follow each other without gap or overlap."""
    text = b""
    for entry in entries:
        if entry["stream"] == stream:
            equal(entry["offset"], first + len(text), "offset in " + stream)
            check(entry["data"] and "\ufffd" not in entry["data"], "data of %r" % entry)
            text += entry["data"].encode()
    return text.decode()


def same_as_apart(server, process_id, entries):
    page = server.logs(process_id)
    for stream in ("stdout", "stderr"):
        equal(joined(entries, stream), page[stream], stream)


@suite.test()
def combined_pages_are_both_streams_exactly():
    server = Server()
    for seed in range(3):
        run = server.run("python3", args=["-c", WRITER, str(seed), "400", "0.5"])
        p = run["process_id"]
        entries, end = combined(server, p)
        same_as_apart(server, p, entries)
        equal(end, run["stdout_size"] + run["stderr_size"], "the end")
        check([e["timestamp_ms"] for e in entries] == sorted(e["timestamp_ms"] for e in entries),
              "times go back")
        for limit in (17, 1000):
            same_as_apart(server, p, combined(server, p, limit=limit)[0])
        lines = server.logs(p, stream="combined", tail_lines=5)["entries"]
        text = "".join(e["data"] for e in lines)
        equal(text.count("\n", 0, len(text) - 1), 4, "newlines within the last five lines")
        check("".join(e["data"] for e in entries).endswith(text), "the tail is no tail")


@suite.test()
def a_clean_entry_has_the_time_of_its_first_byte():
    server = Server()
    p = server.run("for i in 1 2 3 4; do echo line $i; sleep 0.05; done")["process_id"]
    for place in ({"tail_lines": 1}, {"since": 7}, {"since": 17}, {}):
        plain, clean = (server.logs(p, stream="combined", clean=clean, **place)["entries"][0]
                        for clean in (False, True))
        equal((clean["offset"], clean["timestamp_ms"]), (plain["offset"], plain["timestamp_ms"]),
              "offset and time of the first entry at %r" % place)


@suite.test()
def combined_can_be_followed_while_it_is_thinned():
    server = Server()
    p = server.run("python3", args=["-c", WRITER, "9", "2500", "1"], background=True)["process_id"]
    entries, since = [], 0
    while True:
        page = server.logs(p, stream="combined", since=since, limit=300, wait_ms=30000)
        entries += page["entries"]
        since = page["next_since"]
        if page["state"] != "running" and not page["truncated"]:
            break
    same_as_apart(server, p, entries)
    entries, _ = combined(server, p)
    check(512 < len(entries) <= 1024, "%d entries" % len(entries))
    same_as_apart(server, p, entries)


@suite.test()
def clean_combined_waits_for_the_rest_of_an_escape_sequence():
    """Until that comes there is no page, whatever the other stream has written meanwhile."""
    server = Server()
    p = server.run("printf '\\033[3'; sleep 0.1; echo later >&2; read x; printf '1mred\\n'",
                   stdin_mode="pipe", background=True)["process_id"]
    server.call("process.monitor", {"process_id": p, "wait_ms": 30000, "until": "pattern",
                                    "pattern": "later", "stream": "stderr"})
    page = server.logs(p, stream="combined", clean=True)
    equal((page["entries"], page["truncated"]), ([], False), "before the rest")
    asked = server.request("process.logs", {"process_id": p, "stream": "combined", "clean": True,
                                            "wait_ms": 30000})
    server.ping()
    check(not server.has_answered(asked), "there is no page, and yet an answer")
    server.call("process.input", {"process_id": p, "data": "\n"})
    server.result(asked)
    entries, _ = combined(server, p, clean=True)
    equal([entry["stream"] for entry in entries], ["stdout", "stderr", "stdout"], "all of it")


ONE_BY_ONE = UNTIL_READ + r"""
def write(stream, data):
    os.write(stream, data)
    until_read(stream)

for n in range(900):
    if n == 300:
        while not os.path.exists("go"):
            time.sleep(0.01)
    write(1, b"o%06d\n" % n)
    write(2, b"e%06d\n" % n)
"""


@suite.test()
def readers_of_combined_do_not_disturb_each_other():
    """The writer waits for each read, so that the streams alternate, 300 times before the pages
    and the looks, and so often after them that the order of those is thinned."""
    server = Server()
    p = server.run("python3", args=["-c", ONE_BY_ONE], background=True)["process_id"]
    eventually(lambda: server.logs(p, limit=1)["stderr_size"] == 300 * 8, WAIT, "300 of each")
    first = {limit: server.logs(p, stream="combined", limit=limit) for limit in (2000, 2001, 1206)}
    for _ in range(6):
        server.logs(p, stream="combined", tail_lines=5)
        server.logs(p, stream="combined", limit=100)
    end = server.logs(p, stream="combined", tail_lines=0)["next_since"]
    open(os.path.join(server.workspace, "go"), "w").close()
    equal(server.call("process.monitor", {"process_id": p, "wait_ms": 60000})["exit_code"], 0, "exit")
    for page in first.values():
        rest, _ = combined(server, p, page["next_since"])
        same_as_apart(server, p, page["entries"] + rest)
    rest, _ = combined(server, p, end)
    for stream in ("stdout", "stderr"):
        equal(joined(rest, stream, end // 2), server.logs(p)[stream][end // 2:], "the rest")
    equal(server.logs(p, stream="combined")["entries"][0]["data"], "o000000\n", "the first read")
    check(len(combined(server, p)[0]) <= 1024, "the order is not thinned")


@suite.test()
def combined_names_what_is_not_kept():
    server = Server("--set", "log.head_bytes=4K", "--set", "log.tail_bytes=64K")
    p = server.run("seq 1 30000; echo end >&2")["process_id"]
    page = server.logs(p, stream="combined")
    (start, end), size = page["stdout_evicted"], page["stdout_size"]
    out = [e for e in page["entries"] if e["stream"] == "stdout"]
    equal(joined([e for e in out if e["offset"] < start], "stdout"), server.logs(p)["stdout"][:start],
          "the head")
    tail = [e for e in out if e["offset"] >= end]
    equal(len(joined(tail, "stdout", end)), size - end, "the tail")
    equal(joined(page["entries"], "stderr"), "end\n", "stderr")
    equal(page["next_since"], size + 4, "the end")


@suite.test()
def the_text_of_combined_pages_is_complete():
    server = Server()
    run = server.run("python3", args=["-c", WRITER, "5", "900", "0.2"])
    since, text = 0, ""
    while True:
        result = server.call("tools/call", {"name": "process_logs", "arguments": {
            "process_id": run["process_id"], "stream": "combined", "since": since}})
        shown = result["content"][0]["text"]
        page = result["_meta"]["dev.procpen/result"]
        check(len(shown.encode()) <= 10000, "a text of %d bytes" % len(shown.encode()))
        wanted = "".join(e["data"] for e in page["entries"])
        lines = [l for l in shown.split("\n") if l not in ("--- stdout", "--- stderr")]
        lines = "\n".join(lines).replace("\n[... no newline here ...]\n", "")
        check(lines.startswith(wanted.rstrip("\n")), "the text lacks bytes of the page")
        since = page["next_since"]
        if not page["truncated"]:
            break
    equal(since, run["stdout_size"] + run["stderr_size"], "the end")


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
    pid = eventually(pids, WAIT, "a run")[0]
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
def a_start_that_fails_frees_its_key():
    """Also after the first call was cancelled, while its repeat waited for the same start."""
    server = Server()
    server.write_broken_program("broken")
    cancelled = 0
    for n in range(20):
        call = {"command": "./broken", "args": [], "idempotency_key": "key %d" % n}
        lines = [{"id": "first", "method": "process.run", "params": call},
                 {"id": "repeat", "method": "process.run", "params": call},
                 {"method": "$/cancelRequest", "params": {"id": "first"}}]
        server.send_bytes(b"".join(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n" for line in lines))
        cancelled += server.answer("first")["error"]["data"]["type"] == "Cancelled"
        equal(server.answer("repeat")["error"]["data"]["type"], "SpawnFailed", "the repeat")
        equal(failure(server, "process.run", **call).type, "SpawnFailed", "the next call")
    check(cancelled, "none of 20 was cancelled before its start had failed")


@suite.test()
def repeats_end_with_the_server():
    server = Server("--set", "tier.process.run=confirm")
    for _ in range(3):
        server.request("process.run", {"command": "true", "idempotency_key": "k"})
    eventually(lambda: server.pump(0.05) or server.notes, WAIT, "a question")
    server.signal(signal.SIGTERM)
    equal(server.wait_exit(), 0, "status")


if __name__ == "__main__":
    suite.main()
