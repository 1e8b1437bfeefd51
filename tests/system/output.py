#!/usr/bin/env python3
"""Nothing is lost and nothing is made up: every byte of every child, whatever it writes."""
import base64
import collections
import os
import random
import re
import resource
import time

from client import (ROOT, STRESS, WAIT, Server, check, equal, eventually, server_path,
                    status_kib)
from suite import Skip, Suite

suite = Suite()
PINGS_MIN = 5  # answered during a flood that lasts as long as hundreds of them


LOW = [b"%04x" % n for n in range(1 << 16)]


def pattern(size, seed):
    """What `hostile pattern SIZE SEED` writes: lines of the seed, their number, and a newline."""
    heads = [b"%07x%04x" % (seed, high) for high in range((size >> 20) + 1)]
    return b"".join([head + (b"\n" + head).join(LOW) + b"\n" for head in heads])[:size]


def pages(server, process_id, stream, encoding="base64", start=0, **params):
    """All kept bytes of one stream, page by page: [(offset, bytes), ...]."""
    found, offset = [], start
    while True:
        answer = server.logs(process_id, stream=stream, encoding=encoding,
                             **dict(params, offset=offset))
        data = answer[stream]
        data = base64.b64decode(data) if encoding == "base64" else data.encode()
        following = answer[stream + "_next_offset"]
        if following == offset or not data:
            return found, answer
        if encoding == "base64":
            found.append((following - len(data), data))
        else:
            found.append((offset, data))
        offset = following


def whole(server, process_id, stream="stdout", **params):
    return b"".join(data for _, data in pages(server, process_id, stream, **params)[0])


@suite.test()
def test_pages_give_every_byte_once():
    server = Server()
    rng = random.Random(1)
    run = server.hostile("pattern", 1000003, 7)
    want = pattern(1000003, 7)
    equal(run["stdout_size"], len(want), "size")
    equal(whole(server, run["process_id"]), want, "default pages")
    equal(whole(server, run["process_id"], encoding="utf8"), want, "text pages")
    for _ in range(3):
        limit = rng.randint(1000, 300000)
        equal(whole(server, run["process_id"], limit=limit), want, "pages of %d" % limit)
    for _ in range(40):
        offset, limit = rng.randint(0, len(want) + 5), rng.randint(1, 70000)
        answer = server.logs(run["process_id"], stream="stdout", offset=offset, limit=limit)
        page = want[offset:offset + limit]
        lines = page.rfind(b"\n") + 1
        if offset + limit < len(want) and 2 * lines > len(page):
            page = page[:lines]
        equal(answer["stdout"].encode(), page, "offset %d limit %d" % (offset, limit))
    server.stop()


@suite.test()
def test_the_table_of_the_documentation():
    """Each page of the example under "Reading output" is what procpen answers."""
    text = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8").split("## Reading output\n")[1]
    head, tail, command, size = re.search(r"`(log\.head_bytes=\w+)` and\s+`(log\.tail_bytes=\w+)`,\s+after\s+"
                                          r"`(.+?)`\s+\(([\d,]+) bytes\)", text).groups()
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (?:starts at (\d+): )?`(\d+)` … `(\d+)` "
                      r"\| (\d+) \| (\w+) \|$", text, re.M)
    equal(len(rows), 3, "rows")
    evicted = [int(n) for n in re.search(r"`stdout_evicted` is\s+`\[(\d+), (\d+)\]`", text).groups()]
    server = Server("--set", head, "--set", tail)
    run = server.run(command)
    equal(run["stdout_size"], int(size.replace(",", "")), "size")
    for offset, limit, start, first, last, following, truncated in rows:
        page = server.logs(run["process_id"], stream="stdout", offset=int(offset), limit=int(limit))
        numbers = page["stdout"].split()
        equal((numbers[0], numbers[-1]), (first, last), "numbers at " + offset)
        equal(page["stdout_next_offset"], int(following), "next offset at " + offset)
        equal(int(following) - len(page["stdout"]), int(start or offset), "start at " + offset)
        equal(page["truncated"], truncated == "true", "truncated at " + offset)
        equal(page["stdout_evicted"], evicted, "evicted at " + offset)
    server.stop()


@suite.test()
def test_ring_against_a_model():
    """Head and tail of streams of many sizes around the limits, read in all ways."""
    head, tail = 4096, 65536
    server = Server("--set", "log.head_bytes=%d" % head, "--set", "log.tail_bytes=%d" % tail)
    sizes = [0, 1, head - 1, head, head + 1, head + tail - 1, head + tail, head + tail + 1,
             head + 2 * tail, head + 2 * tail + 17, 1000000]
    for size in sizes:
        run = server.hostile("pattern", size, 3, 2, stdout_lines=3)
        want = pattern(size, 3)
        hole = None if size <= head + tail else [head, size - tail]
        kept = want if hole is None else want[:head] + want[size - tail:]
        equal(run["stderr_size"], size, "size")
        found, answer = pages(server, run["process_id"], "stderr", limit=5000)
        equal(answer["stderr_evicted"], hole, "hole of %d bytes" % size)
        equal(answer["stdout_evicted"], None, "hole of the other stream")
        equal(b"".join(d for _, d in found), kept, "kept bytes of %d" % size)
        for offset, data in found:
            equal(data, want[offset:offset + len(data)], "page at %d of %d" % (offset, size))
        lines = want.decode().splitlines(True)[-3:]
        equal(run["stderr_summary"], "".join(lines), "summary of %d" % size)
    server.stop()


@suite.test()
def test_random_bytes_as_text_and_raw():
    """Text pages of random bytes: the same characters as one decoding of the whole."""
    server = Server()
    rng = random.Random(2)
    pieces = [b"\xff", "é".encode(), "€".encode(), "😀".encode(), b"\xe2\x82", b"\xf0\x9f",
              b"a\n", b"\xed\xa0\x80", b"\xc0\xaf", b"\0", b"\xf4\x90\x80\x80", b"\x80"]
    for round in range(8):
        data = b"".join(rng.choice(pieces) for _ in range(rng.randint(1, 3000)))
        path = os.path.join(server.workspace, "data")
        with open(path, "wb") as f:
            f.write(data)
        run = server.run("cat", ["data"])
        equal(run["stdout_size"], len(data), "size")
        equal(whole(server, run["process_id"]), data, "raw pages")
        text = data.decode("utf-8", "replace")
        for limit in (1, 2, 7, 1000, 1048576):
            if limit < 7 and round > 1:
                continue
            equal(whole(server, run["process_id"], encoding="utf8", limit=limit).decode(), text,
                  "text in pages of %d" % limit)
    server.stop()


@suite.test()
def test_half_a_character():
    """A character that is not finished yet is not shown, and not lost."""
    server = Server()
    go = os.path.join(server.workspace, "go")
    run = server.hostile("half", go, background=True)
    eventually(lambda: server.logs(run["process_id"])["stdout_size"] == 5, WAIT, "no output")
    answer = server.logs(run["process_id"])
    equal((answer["stdout"], answer["stdout_next_offset"]), ("abc", 3), "before the end")
    open(go, "w").close()
    server.call("process.monitor", {"process_id": run["process_id"], "wait_ms": 60000})
    answer = server.logs(run["process_id"], offset=3)
    equal((answer["stdout"], answer["stdout_next_offset"]), ("€\n", 7), "after the end")
    never = server.hostile("half")
    equal(never["stdout_summary"], "abc\ufffd", "never finished")
    server.stop()


@suite.test()
def test_closed_output_lives_on():
    """End of file on both pipes is not the end of the run."""
    server = Server()
    answer = server.hostile("closed", 700, 3)
    check(answer["duration_ms"] > 600, "answered before the process ended: %s" % answer)
    equal((answer["exit_code"], answer["stdout_summary"]), (3, "bye\n"), "answer")
    server.stop()


@suite.test()
def test_64_children_byte_by_byte():
    server = Server("--set", "limits.running_processes=80", "--set", "log.head_bytes=4096")
    size = 1000000
    path = server.hostile_path()
    ids = {server.request("process.run", {"command": path, "args": [
        "pattern", str(size + n), str(n), str(1 + n % 2)], "stdout_lines": 1}): n
        for n in range(64)}
    for id, n in ids.items():
        answer = server.result(id)
        stream = ("stdout", "stderr")[n % 2]
        equal(answer["exit_code"], 0, "exit code of child %d" % n)
        equal(answer[stream + "_size"], size + n, "size of child %d" % n)
        check(whole(server, answer["process_id"], stream) == pattern(size + n, n),
              "the bytes of child %d are not what it wrote" % n)
    server.stop()


@suite.test(400)
def test_print_and_exit_loses_nothing():
    """The last byte before the exit is never lost."""
    total, window = (10000 if STRESS else 300), 32
    server = Server("--set", "limits.requests=64")
    path = server.hostile_path()
    waiting = []
    for n in range(total + window):
        if n < total:
            text = "run %d end" % n
            waiting.append((server.request("process.run", {"command": path, "args": [
                "print", text, str(n % 200)]}), n, text))
        if len(waiting) >= window or n >= total:
            if not waiting:
                break
            id, number, text = waiting.pop(0)
            answer = server.result(id)
            equal((answer["stdout_summary"], answer["exit_code"], answer["leftover"]),
                  (text, number % 200, 0), "run %d" % number)
    server.stop()


def flood_measured(server, size, limit):
    """Let one child write @size bytes; (answer, pings answered meanwhile, growth in KiB)."""
    server.ping()
    server.run("true")
    before = anonymous_kib(server.pid)
    id = server.request("process.run", {"command": server.hostile_path(), "timeout": limit,
                                        "args": ["flood", "1", str(size)]})
    pings, peak = 0, before
    while True:
        server.ping()
        peak = max(peak, anonymous_kib(server.pid))
        for message in list(server.inbox):
            if isinstance(message, dict) and message.get("id") == id:
                return server.result(id), pings, peak - before
        pings += 1
        time.sleep(0.002)


def anonymous_kib(pid):
    return status_kib(pid, "RssAnon")


@suite.test(600)
def test_flood_keeps_memory_flat_and_pings_quick():
    size = (10 << 30) if STRESS else (400 << 20)
    server = Server()
    answer, pings, growth = flood_measured(server, size, 500)
    equal((answer["stdout_size"], answer["exit_code"]), (size, 0), "size, exit code")
    check(pings >= PINGS_MIN, "only %d pings were answered during the flood" % pings)
    limit = 65536 if "asan" in server_path() else 8192
    check(growth < limit, "the server grew by %d KiB" % growth)
    last = server.logs(answer["process_id"], stream="stdout", offset=size - 64)
    equal(len(last["stdout"]), 64, "the last bytes")
    equal(last["stdout_evicted"][0], 262144, "start of the hole")
    server.stop()


@suite.test()
def test_an_answered_run_has_given_its_place_back():
    """As many runs at once as are allowed, each replaced when its answer comes: none is refused."""
    server = Server("--set", "limits.running_processes=8")

    def start():
        return server.request("process.run", {"command": "true", "args": []})

    open_ids = collections.deque(start() for _ in range(8))
    for n in range(2000 if STRESS else 300):
        equal(server.result(open_ids.popleft())["exit_code"], 0, "run %d" % n)
        open_ids.append(start())
    for id in open_ids:
        server.result(id)
    server.stop()


@suite.test()
def test_many_floods_at_once():
    server = Server("--set", "log.budget_bytes=64M")
    ids = [server.request("process.run", {"command": server.hostile_path(), "timeout": 300,
                                          "args": ["flood", str(1 + n % 2), "20000000"]})
           for n in range(16)]
    pings = 0
    while not any(isinstance(m, dict) and m.get("id") in ids for m in server.inbox):
        server.ping()
        pings += 1
    check(pings >= PINGS_MIN, "only %d pings were answered before a flood's end" % pings)
    for n, id in enumerate(ids):
        answer = server.result(id)
        equal(answer[("stdout", "stderr")[n % 2] + "_size"], 20000000, "size")
    server.stop()


def resource_of(server, run):
    """The text of the output of @run as a resource of MCP."""
    read = server.call("resources/read", {"uri": "proc://logs/" + run["process_id"]})
    return read["contents"][0]["text"]


@suite.test()
def test_budget_evicts_the_oldest():
    """The log budget: finished runs lose their bytes, oldest first, and offsets stay true."""
    server = Server("--set", "log.budget_bytes=1M", "--set", "log.head_bytes=64K",
                    "--set", "log.tail_bytes=512K")
    runs = [server.hostile("pattern", 400000, n) for n in range(6)]
    newest = server.logs(runs[-1]["process_id"])
    equal((newest["stdout_evicted"], newest["stdout_size"]), (None, 400000), "the newest run")
    oldest = server.logs(runs[0]["process_id"])
    equal((oldest["stdout"], oldest["stdout_size"], oldest["stdout_evicted"]),
          ("", 400000, [0, 400000]), "the oldest run")
    equal(resource_of(server, oldest),
          "--- stdout (400000 bytes)\n[... they are no longer kept ...]\n--- stderr (0 bytes)\n",
          "its resource")
    server.stop()


@suite.test()
def test_shortage_leaves_a_hole():
    """What cannot be stored is counted, and what comes later is the newest again."""
    if os.geteuid() != 0:
        raise Skip("only root may set limits of a server, which is not dumpable")
    server = Server()
    run = server.run("echo start; until [ -e go ]; do sleep 0.02; done; seq 3000;"
                     "until [ -e on ]; do sleep 0.02; done; echo END; exec sleep 60", background=True,
                     log_file="log")

    def written(size):
        eventually(lambda: server.logs(run["process_id"])["stdout_size"] == size, WAIT, "%d bytes" % size)

    written(6)
    _, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (3, hard))
    open(os.path.join(server.workspace, "go"), "w").close()
    written(13899)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (hard, hard))
    open(os.path.join(server.workspace, "on"), "w").close()
    written(13903)
    answer = server.logs(run["process_id"])
    equal((answer["stdout"], answer["stdout_evicted"]), ("start\n", [6, 13899]), "the first page")
    text = resource_of(server, run)
    check(text.startswith("--- stdout (13903 bytes)\n[... the first 13899 bytes ") and
          text.endswith(" ...]\nEND\n--- stderr (0 bytes)\n"), text)
    server.call("process.kill", {"process_id": run["process_id"]})
    with open(os.path.join(server.workspace, "log"), encoding="utf-8") as f:
        text = f.read()
    mark = r"\n\[procpen: (\d+) bytes of stdout are missing here: they were not kept until they could be written\]\n"
    equal((sum(map(int, re.findall(mark, text))), re.sub(mark, "", text)), (13893, "start\nEND\n"), text)
    server.stop()


# Writes argv[2] packets of argv[1] bytes (pipe(2), O_DIRECT).
PACKETS = """
import fcntl, os, sys
fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT)
size, count = map(int, sys.argv[1:])
for i in range(count): assert os.write(1, b"x" * size) == size
"""


@suite.test()
def test_packets_after_a_shortage():
    """The kernel drops what of a packet does not fit in a read; none is cut where nothing more is kept."""
    server = Server(wrapper=("prlimit", "--fsize=65536"))
    for size in (4093, 3001, 4096):
        run = server.run("python3", ["-c", PACKETS, str(size), "1500"])
        equal((run["exit_code"], run["stdout_size"]), (0, 1500 * size), "packets of %d" % size)
        check(server.logs(run["process_id"])["stdout_evicted"], "nothing ran short")
    server.stop()


@suite.test()
def test_budget_stops_growing_tails():
    """Running runs alone over the budget: their tails stop growing, the hole says so. The head and
    64 KiB of the tail are kept of each all the same."""
    server = Server("--set", "log.budget_bytes=1M", "--set", "log.head_bytes=64K",
                    "--set", "log.tail_bytes=1M")
    runs = [server.run("%s pattern 2000000 %d; exec sleep 60" % (server.hostile_path(), n),
                       background=True) for n in range(4)]
    for n, run in enumerate(runs):
        eventually(lambda: server.logs(run["process_id"], limit=1)["stdout_size"] == 2000000, WAIT,
                   "not all was taken")
        answer = server.logs(run["process_id"], limit=10)
        want = pattern(2000000, n)
        equal(answer["stdout"].encode(), want[:10], "head")
        start, end = answer["stdout_evicted"]
        equal(start, 65536, "bytes of the head")
        check(len(want) - end >= 65536, "the tail has only %d bytes" % (len(want) - end))
        tail = whole(server, run["process_id"], start=end)
        check(tail == want[end:], "the tail from %d is not what was written" % end)
    server.stop()


@suite.test()
def test_two_streams_do_not_mix():
    server = Server()
    command = "i=0; while [ $i -lt 500 ]; do echo out$i; echo err$i >&2; i=$((i+1)); done"
    run = server.run(command)
    equal(whole(server, run["process_id"], "stdout").decode(),
          "".join("out%d\n" % i for i in range(500)), "stdout")
    equal(whole(server, run["process_id"], "stderr").decode(),
          "".join("err%d\n" % i for i in range(500)), "stderr")
    server.stop()


@suite.test()
def test_read_while_it_is_written():
    """Pages taken with wait_ms while the child writes: every byte once, in order."""
    server = Server()
    size = 3000000
    run = server.hostile("pattern", size, 5, background=True)
    got, offset = bytearray(), 0
    while len(got) < size:
        answer = server.logs(run["process_id"], stream="stdout", offset=offset, wait_ms=60000,
                             encoding="base64", limit=100000)
        data = base64.b64decode(answer["stdout"])
        check(data or answer["state"] != "running", "no data although it runs")
        if not data:
            break
        got += data
        offset = answer["stdout_next_offset"]
    check(bytes(got) == pattern(size, 5), "the bytes differ (%d of %d)" % (len(got), size))
    server.stop()


LOUD = "seq 1 1000000 | sed 's/$/ a line of a log/' | tee /dev/stderr"


@suite.test()
def test_a_search_delays_no_request():
    """During a search of 16 MiB other requests are answered first, again and again."""
    server = Server()
    run = server.run(LOUD, stdout_lines=0)
    check(run["stdout_size"] > 16 << 20 and run["stderr_size"] > 16 << 20, "too little output")
    before = status_kib(server.process.pid, "VmRSS")
    search = server.request("process.logs", {"process_id": run["process_id"], "grep": "li(n|m)e of",
                                             "max_matches": 1000, "context": 20})
    pings = 0
    while search not in [m.get("id") for m in server.inbox]:
        server.ping()
        pings += 1
    found = server.result(search)
    check(pings > 5, "%d pings" % pings)
    check(found["matches_total"] > 400000 and found["truncated"], "found %s" % found["matches_total"])
    growth = status_kib(server.process.pid, "VmRSS") - before
    limit = 65536 if "asan" in server_path() else 8192
    check(growth < limit, "the server grew by %d KiB" % growth)
    server.stop()


@suite.test()
def test_a_search_ends_with_its_request():
    """The request is cancelled, or its run evicted; the next search is served."""
    server = Server("--set", "limits.finished_records=1")
    run = server.run(LOUD, stdout_lines=0)
    ids = [server.request("tools/call", {"name": "process_logs", "arguments": {
        "process_id": run["process_id"], "grep": "x%d" % n}}) for n in range(3)]
    for id in ids[:2]:
        server.notify("notifications/cancelled", {"requestId": id})
    quick = server.run("echo other")
    server.answer(ids[2])  # what was found, or that the run was forgotten
    found = server.logs(quick["process_id"], grep="other")
    equal(found["matches_total"], 1, "matches")
    server.request("process.logs", {"process_id": quick["process_id"], "grep": "other"})
    server.stop()


@suite.test()
def test_time_limits():
    """What was written before the time was over comes with the answer, and output on either stream puts off
    the end for silence. A busy machine gets more time."""
    server = Server()
    for seconds in (0.5, 2, 8, 32):
        answer = server.run("echo before; echo warn >&2; sleep 60; echo after", timeout=seconds)
        equal((answer["state"], answer["exit_code"]), ("timed_out", None), "its end")
        if answer["stderr_summary"]:
            break
    equal((answer["stdout_summary"], answer["stderr_summary"]), ("before\n", "warn\n"), "output in time")
    logs = server.logs(answer["process_id"])
    equal((logs["stdout"], logs["stderr"]), ("before\n", "warn\n"), "logs")
    for seconds in (1, 4, 16):
        answer = server.run("for i in 1 2 3; do sleep %g; echo $i >&2; sleep %g; echo $i; done" % (seconds / 4, seconds / 4),
                            idle_timeout=seconds)
        if answer["state"] != "timed_out":
            break
    equal((answer["state"], answer["exit_code"]), ("completed", 0), "with output now and then")
    server.stop()


if __name__ == "__main__":
    suite.main()
