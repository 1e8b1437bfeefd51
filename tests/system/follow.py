#!/usr/bin/env python3
"""Follows give what process.logs gives, once, however the client reads and the run ends."""
import base64
import hashlib
import os
import random
import shutil
import signal
import time

import client
from client import STRESS, WAIT, Skip, check, equal, eventually, status_kib
from followed import Server
from output import pattern, whole
from suite import Suite

suite = Suite(at_a_time=2)
HEAD, TAIL = 4096, 65536
SMALL = ("--set", "log.head_bytes=%d" % HEAD, "--set", "log.tail_bytes=%d" % TAIL)

# Writes random characters, halves of them and other bytes to both streams, in random pieces.
WRITER = r"""
import os, random, sys, time
rng = random.Random(int(sys.argv[1]))
units = [b"a", b"\n", "\u00e9".encode(), "\u20ac".encode(), "\U0001f600".encode(), b"\xff", b"\xc3",
         b"\xe2\x82", b"\xf0\x9f\x98", b"\x80", b"\xed\xa0\x80", b"\xe0\x80", b"\0", b"\x1b[1m", b'"\\']
for _ in range(int(sys.argv[2])):
    data = b"".join(rng.choice(units) for _ in range(rng.choice((1, 3, 50, 3000))))
    fd = rng.choice((1, 2))
    while data:
        n = rng.randint(1, rng.choice((1, 4, 5000)))
        data = data[os.write(fd, data[:n]):]
    if rng.random() < 0.2:
        time.sleep(0.001)
"""


class Stream:
    """What the events of one stream were: pieces without a hole between them."""

    def __init__(self):
        self.parts = []  # [offset, [data, ...]]; a gap begins a new one
        self.gaps = []
        self.next = None

    def add(self, event):
        if not self.parts or self.parts[-1] is None:
            if self.parts:
                self.parts.pop()
            self.parts.append([event["offset"], []])
        if event["encoding"] == "base64":
            data = base64.b64decode(event["data"])
            if self.next is not None:
                equal(event["offset"], self.next, "offset")
            self.next = event["offset"] + len(data)
        else:
            data = event["data"]
        self.parts[-1][1].append(data)

    def gap(self, event):
        check(event["from"] < event["to"], "an empty gap: %s" % event)
        self.gaps.append((event["from"], event["to"]))
        self.next = event["to"]
        self.parts.append(None)

    def whole(self, empty):
        """The one piece that it is."""
        equal(self.gaps, [], "gaps")
        check(len(self.parts) <= 1, "several pieces")
        return empty.join(self.parts[0][1]) if self.parts else empty


class Follow:
    def __init__(self):
        self.stdout, self.stderr = Stream(), Stream()
        self.events = 0
        self.size = 0
        self.exited = None

    def take(self, event):
        check(self.exited is None, "an event after exited: %s" % event)
        equal(event["seq"], self.events, "seq")
        self.events += 1
        kind = event["type"]
        if kind in ("stdout", "stderr"):
            self.size += len(event["data"])
            getattr(self, kind).add(event)
        elif kind == "gap":
            getattr(self, event["stream"]).gap(event)
        elif kind == "exited":
            self.exited = event


class Follows(dict):
    """All follows of a server, by id."""

    def __init__(self, server):
        super().__init__()
        self.server = server

    def take(self):
        """Sort the notifications that have come."""
        notes, self.server.notes = self.server.notes, []
        for note in notes:
            if note["method"] == "process.event":
                event = note["params"]
                self.setdefault(event["follow_id"], Follow()).take(event)

    def pump(self, timeout):
        """Take what comes within @timeout; answers stay in the inbox."""
        self.server.pump(0 if self.server.inbox else timeout)
        inbox, self.server.inbox = self.server.inbox, type(self.server.inbox)()
        for message in inbox:
            (self.server.notes if "method" in message else self.server.inbox).append(message)
        self.take()

    def ended(self, ids, timeout=WAIT):
        """Wait until these follows have ended."""
        end = time.monotonic() + timeout
        while not all(i in self and self[i].exited for i in ids):
            check(time.monotonic() < end, "a follow does not end: %s" %
                  {i: (self[i].events, self[i].exited) for i in ids if i in self})
            self.pump(0.1)

    def begin(self, process_id, **params):
        id = self.server.call("process.follow", dict(params, process_id=process_id))["follow_id"]
        self.take()
        return id


def start(server, *args, **params):
    return server.hostile(*args, background=True, **params)["process_id"]


def segments_match(stream, want, what):
    """Each piece of a base64 stream is what the run wrote there, and the gaps are between them."""
    for offset, data in filter(None, stream.parts):
        data = b"".join(data)
        equal(hashlib.sha256(data).hexdigest(),
              hashlib.sha256(want[offset:offset + len(data)]).hexdigest(),
              "%s: bytes from %d" % (what, offset))
    kept = sum(len(d) for part in filter(None, stream.parts) for d in part[1])
    lost = sum(to - start for start, to in stream.gaps)
    equal(kept + lost, len(want), what + ": bytes and gaps")


def ends(server):
    """How many runs are final, by the audit log: it tells while the client does not read."""
    folder = os.path.join(server.state, "audit")
    texts = (open(os.path.join(folder, name), encoding="utf-8").read()
             for name in os.listdir(folder) if name.endswith(".jsonl"))
    return sum(text.count('"event":"end"') for text in texts)


@suite.test()
def test_random_halves_of_characters():
    """Text and raw bytes, live and afterwards, are those of process.logs."""
    server = Server("--set", "limits.output_queue_bytes=1M")
    follows = Follows(server)
    rng = random.Random(3)
    for seed in range(6):
        run = server.run("/usr/bin/python3", ["-c", WRITER, str(seed), "300"], background=True)
        p = run["process_id"]
        ids = {}
        for encoding in ("utf8", "base64"):
            for _ in range(2):
                ids[follows.begin(p, encoding=encoding)] = encoding
                for _ in range(rng.randint(0, 5)):
                    follows.pump(0.001)
        follows.ended(ids)
        for encoding in ("utf8", "base64"):
            ids[follows.begin(p, encoding=encoding)] = encoding
        follows.ended(ids)
        for name in ("stdout", "stderr"):
            for encoding in ("utf8", "base64"):
                want = whole(server, p, name, encoding=encoding)
                for id in (i for i in ids if ids[i] == encoding):
                    got = getattr(follows[id], name).whole("" if encoding == "utf8" else b"")
                    equal(got.encode() if encoding == "utf8" else got, want,
                          "%s of seed %d as %s" % (name, seed, encoding))
    server.stop()


@suite.test()
def test_from_any_offset():
    """A follow goes on where an earlier one was ended, as often as it may be."""
    server = Server()
    follows = Follows(server)
    p = server.hostile("pattern", 1000003, 7)["process_id"]
    want = pattern(1000003, 7)
    rng = random.Random(5)
    for offset in [0, 1, 65535, 65536, 999999, 1000002, 1000003] + rng.sample(range(10**6), 8):
        id = follows.begin(p, encoding="base64", **{"from": {"stdout": offset}})
        follows.ended([id])
        equal(follows[id].stdout.whole(b""), want[offset:], "from %d" % offset)
    at, got = 0, b""
    while at < len(want):
        id = follows.begin(p, encoding="base64", stream="stdout", **{"from": {"stdout": at}})
        for _ in range(rng.randint(1, 3)):
            follows.pump(0.02)
        closed = server.call("process.unfollow", {"follow_id": id})["closed"]
        follows.take()
        follow = follows.get(id) or Follow()
        equal(closed, follow.exited is None, "closed")
        got += follow.stdout.whole(b"")
        at = len(got)
    equal(got, want, "all pieces")
    server.stop()


@suite.test()
def test_events_are_bounded():
    """An event takes no more than its share of the queue, though its text grows in JSON."""
    for queue in (1 << 20, 8 << 20):
        server = Server("--set", "limits.output_queue_bytes=%d" % queue)
        follows = Follows(server)
        sizes = []
        checked = server.on_line
        server.on_line = lambda line: (sizes.append(len(line)), checked(line))
        p = server.run("head -c 500000 /dev/zero; printf '%0500000d' 7 | tr 0 '\\377'",
                       stdout_lines=0)["process_id"]
        sizes.clear()
        id = follows.begin(p, stream="stdout")
        follows.ended([id])
        equal(follows[id].stdout.whole(""), "\0" * 500000 + "\ufffd" * 499999 + "7", "text")
        check(max(sizes) <= queue // 64, "a line of %d bytes" % max(sizes))
        server.stop()


@suite.test()
def test_a_reader_that_stops():
    """It costs no memory and slows nothing down; what was lost meanwhile is a gap."""
    server = client.Server(*SMALL)
    follows = Follows(server)
    size, runs = 8 << 20, 8
    server.hostile("pattern", size, 1)
    before = status_kib(server.pid, "RssAnon")
    ids, started = {}, []
    for seed in range(runs):
        command = "until [ -e go ]; do sleep 0.01; done; %s pattern %d %d; touch done%d" % (
            server.hostile_path(), size, seed, seed)
        started.append(server.run(command, background=True)["process_id"])
        ids[follows.begin(started[-1], encoding="base64")] = seed
    server.read_paused = True
    open(os.path.join(server.workspace, "go"), "w").close()
    names = ["done%d" % seed for seed in range(runs)]
    eventually(lambda: set(names) <= set(os.listdir(server.workspace)), WAIT,
               "a client that does not read stops the runs")
    grown = status_kib(server.pid, "RssAnon") - before
    check(grown < 4096, "the server has grown by %d KiB" % grown)
    server.read_paused = False
    follows.ended(ids)
    for id, seed in ids.items():
        stream = follows[id].stdout
        check(stream.gaps, "nothing was lost: the test is too small")
        # A few while the client's pipe fills, and not one for each of 128 pieces.
        check(len(stream.gaps) <= 8, "the gaps are not coalesced: %s" % stream.gaps)
        segments_match(stream, pattern(size, seed), "run %d" % seed)
        equal(follows[id].exited["stdout_size"], size, "size")
    server.stop()


@suite.test()
def test_a_slow_reader():
    """It reads a little now and then, while a run writes much more."""
    server = client.Server(*SMALL)
    follows = Follows(server)
    size = 30 << 20
    p = start(server, "pattern", size, 9)
    id = follows.begin(p, encoding="base64")
    while id not in follows or not follows[id].exited:
        follows.pump(WAIT)
        time.sleep(0.01)
    segments_match(follows[id].stdout, pattern(size, 9), "slow")
    server.stop()


@suite.test()
def test_floods_share():
    """64 follows of 64 floods: fair, bounded, and others are served."""
    server = client.Server("--set", "log.tail_bytes=1M", "--set", "limits.running_processes=70")
    follows = Follows(server)
    ids = [follows.begin(start(server, "flood")) for _ in range(64)]
    while len(follows) < 64:
        follows.pump(WAIT)
    before, pings, end = status_kib(server.pid, "RssAnon"), [], time.monotonic() + (3 if STRESS else 1)
    begun = {i: follows[i].events for i in ids}
    while time.monotonic() < end or len(pings) < 20:
        pings.append(server.ping())
        follows.take()
    grown = status_kib(server.pid, "RssAnon") - before
    events = sorted(follows[i].events - begun[i] for i in ids)
    print("      %d pings, median %.1f ms; %d to %d events for each follow; grown %d KiB"
          % (len(pings), 1e3 * sorted(pings)[len(pings) // 2], events[0], events[-1], grown))
    check(events[-1] <= 2 * events[0] + 8, "unfair: %d to %d events" % (events[0], events[-1]))
    check(grown < 8192, "the server has grown by %d KiB" % grown)
    for id in ids:
        server.call("process.unfollow", {"follow_id": id})
        follows.take()
    events = {i: follows[i].events for i in ids}
    server.ping()
    follows.take()
    equal({i: follows[i].events for i in ids}, events, "events after unfollow")
    server.stop()


@suite.test()
def test_leftovers_overwrite_the_end():
    """What a run had written when it ended is sent or named, whatever its daemon writes then."""
    server = client.Server(*SMALL)
    follows = Follows(server)
    hostile = server.hostile_path()
    command = ("%s pattern 200003 5; (until [ -e go ]; do sleep 0.01; done; %s flood 1 3000000; "
               "touch done; exec sleep 60) &" % (hostile, hostile))
    p = server.run(command, background=True)["process_id"]
    eventually(lambda: server.call("process.monitor", {"process_id": p})["state"] == "completed",
               WAIT, "the run does not end")
    server.notes.clear()
    ids = [follows.begin(p, encoding="base64", **{"from": {"stdout": at}})
           for at in (0, HEAD - 3, HEAD, 190000)]
    follows.ended(ids)
    early = follows[ids[0]]
    equal(early.exited["stdout_size"], 200003, "size at the end")
    segments_match(early.stdout, pattern(200003, 5), "before the daemon writes")
    open(os.path.join(server.workspace, "go"), "w").close()
    eventually(lambda: os.path.exists(os.path.join(server.workspace, "done")), WAIT,
               "the daemon does not write")
    eventually(lambda: server.logs(p)["stdout_size"] == 3200003, WAIT,
               "the server does not read it all")
    late = follows.begin(p, encoding="base64")
    follows.ended([late])
    equal(follows[late].exited["stdout_size"], 3200003, "a follow that begins later")
    equal(follows[late].stdout.gaps, [(HEAD, 3200003 - TAIL)], "gaps of it")
    server.stop()


@suite.test()
def test_overwritten_while_not_read():
    """As before, but the client has not read when the daemon overwrites the end of the run."""
    server = client.Server(*SMALL)
    follows = Follows(server)
    hostile = server.hostile_path()
    command = ("until [ -e go ]; do sleep 0.01; done; %s pattern 3000003 5; "
               "(until [ -e on ]; do sleep 0.01; done; %s flood 1 3000000; touch done; "
               "exec sleep 60) &" % (hostile, hostile))
    id = follows.begin(server.run(command, background=True)["process_id"], encoding="base64")
    server.read_paused = True
    open(os.path.join(server.workspace, "go"), "w").close()
    eventually(lambda: ends(server) == 1, WAIT, "the run does not end")
    open(os.path.join(server.workspace, "on"), "w").close()
    eventually(lambda: os.path.exists(os.path.join(server.workspace, "done")), WAIT,
               "the daemon does not write")
    server.read_paused = False
    follows.ended([id])
    equal(follows[id].exited["stdout_size"], 3000003, "size at the end")
    segments_match(follows[id].stdout, pattern(3000003, 5), "overwritten")
    server.stop()


@suite.test()
def test_a_record_that_is_gone():
    """Its follow ends with a gap for what was not sent, and with the end of the run."""
    server = client.Server("--set", "limits.finished_records=1")
    follows = Follows(server)
    p = server.run("until [ -e go ]; do sleep 0.01; done; %s pattern 4000000 1; exit 3"
                   % server.hostile_path(), background=True)["process_id"]
    id = follows.begin(p, encoding="base64")
    server.read_paused = True
    open(os.path.join(server.workspace, "go"), "w").close()
    for number in range(1, 4):
        eventually(lambda: ends(server) == number, WAIT, "run %d does not end" % number)
        server.request("process.run", {"command": "true"})
    server.read_paused = False
    follows.ended([id])
    follow = follows[id]
    equal((follow.exited["exit_code"], follow.exited["stdout_size"]), (3, 4000000), "the end")
    check(follow.stdout.gaps, "the record was there to the end: the test is too small")
    segments_match(follow.stdout, pattern(4000000, 1), "removed")
    server.stop()


@suite.test()
def test_the_end_of_the_input():
    """Follows get all of what their runs wrote, however slowly the client reads."""
    server = client.Server()
    follows = Follows(server)
    size = 3 << 20
    done = start(server, "pattern", size, 4)
    eventually(lambda: ends(server) == 1, WAIT, "the first run does not end")
    live = server.run("%s pattern %d 5; touch written; exec sleep 60" % (
        server.hostile_path(), size), background=True)["process_id"]
    eventually(lambda: os.path.exists(os.path.join(server.workspace, "written")), WAIT, "written")
    ids = [follows.begin(p, encoding="base64") for p in (done, live)]
    server.close_input()
    deadline = time.monotonic() + WAIT
    while not server.eof_seen:
        check(time.monotonic() < deadline, "the server does not end")
        if server.read_paused:
            time.sleep(0.2)
        server.read_paused = not server.read_paused
        follows.pump(0.01)
    equal(server.wait_exit(), 0, "exit status")
    for id, seed, reason in zip(ids, (4, 5), ("exited", "server_shutdown")):
        equal(follows[id].exited["reason"], reason, "reason")
        equal(follows[id].stdout.whole(b""), pattern(size, seed), "bytes")


def end_and_read(server, follows, pause=0):
    """End it by SIGTERM. Returns whether it read as steadily as it meant to: the server gives up on a
    client from which nothing has come for 150 ms, and a busy machine stops this one as long."""
    longest, last = 0, time.monotonic()
    server.signal(signal.SIGTERM)
    while not server.eof_seen:
        follows.pump(1)
        time.sleep(pause)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    equal(server.wait_exit(), 0, "exit status")
    return longest < 0.1


def repeat_until_steady(function):
    """Repeat it where the reader was not steady."""
    for _ in range(10):
        if function():
            return
    raise Skip("this machine is too busy for a steady reader")


@suite.test()
def test_a_signal():
    """SIGTERM kills what is followed; a client that reads learns it, one that does not, holds
    nothing up."""
    def end(paused):
        server = client.Server()
        follows = Follows(server)
        ids = [follows.begin(start(server, "flood")) for _ in range(8)]
        follows.pump(0.3)
        server.read_paused = paused
        time.sleep(0.3)
        if paused:
            server.signal(signal.SIGTERM)
            equal(client.wait_pid(server.process, WAIT), 0, "exit status")
            return True
        if not end_and_read(server, follows):
            return False
        for id in ids:
            equal(follows[id].exited["reason"], "server_shutdown", "reason")
        equal(server.survivors(), [], "survivors")
        return True

    repeat_until_steady(lambda: end(False))
    end(True)


@suite.test()
def test_a_signal_and_a_slow_reader():
    """Who reads steadily but slowly gets gaps and the ends, instead of minutes of output."""
    size = 8 << 20

    def end():
        server = client.Server()
        follows = Follows(server)
        runs = [server.hostile("pattern", size, seed)["process_id"] for seed in range(8)]
        ids = [follows.begin(p, encoding="base64") for p in runs]
        if not end_and_read(server, follows, 0.02):  # 256 KiB each time
            return False
        for seed, id in enumerate(ids):
            check(follows[id].exited, "no end of run %d" % seed)
            segments_match(follows[id].stdout, pattern(size, seed), "run %d" % seed)
        check(any(follows[id].stdout.gaps for id in ids), "all was sent: the test is too small")
        return True

    repeat_until_steady(end)


@suite.test()
def test_a_client_that_is_gone():
    server = client.Server()
    follows = Follows(server)
    for _ in range(8):
        follows.begin(start(server, "flood"))
    follows.pump(0.2)
    server.close_output()
    equal(server.wait_exit(), 0, "exit status")
    equal(server.survivors(), [], "survivors")


@suite.test()
def test_a_run_that_is_killed_from_outside():
    server = Server()
    follows = Follows(server)
    run = server.run("echo a; exec sleep 60", background=True)
    id = follows.begin(run["process_id"])
    follows[id] = follows.get(id, Follow())
    while not follows[id].size:
        follows.pump(WAIT)
    pid = server.call("process.monitor", {"process_id": run["process_id"]})["pid"]
    os.kill(pid, signal.SIGKILL)
    follows.ended([id])
    exited = follows[id].exited
    equal((exited["state"], exited["reason"], exited["signal"], exited["exit_code"]),
          ("killed", "signaled", "SIGKILL", None), "the end")
    equal(follows[id].stdout.whole(""), "a\n", "output")
    server.stop()


@suite.test()
def test_a_start_that_fails_late():
    """A background run whose program loads slowly is answered as running after 5 s; if it then cannot
    be executed, the client is told that there is no run."""
    if not STRESS:
        raise Skip("5 seconds: make stress")
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    server = Server("--set", "server.exit_events=true", start=False)
    slow = os.path.join(server.workspace, "slow")
    shutil.copy(shutil.which("true"), slow)
    server.wrapper = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", slow, "-e", "trace=execve",
                      "-e", "inject=execve:error=EIO:delay_enter=5500000"]
    server.start()
    run = server.run(slow, [], background=True)
    equal((run["state"], run["pid"]), ("running", None), "the answer while nothing runs")
    event = server.receive()
    while event.get("method") != "process.event":
        event = server.receive()
    equal((event["params"]["process_id"], event["params"]["type"],
           event["params"]["error"]["type"]), (run["process_id"], "exited", "SpawnFailed"), "event")
    server.stop()


@suite.test()
def test_batches():
    """Follows may come in a batch, whose answer may come after events of theirs."""
    server = Server()
    follows = Follows(server)
    p = server.run("echo a")["process_id"]
    server.send([{"jsonrpc": "2.0", "id": "f%d" % i, "method": "process.follow",
                  "params": {"process_id": p}} for i in range(3)]
                + [{"jsonrpc": "2.0", "id": "r", "method": "process.run",
                    "params": {"command": "echo b; sleep 0.2", "follow": True}}])
    answers = None
    while answers is None:
        message = server.receive()
        if isinstance(message, list):
            answers = {a["id"]: a["result"] for a in message}
        else:
            server.notes.append(message)
    follows.take()
    ids = {name: a["follow_id"] for name, a in answers.items()}
    equal(len(set(ids.values())), 4, "ids of follows")
    follows.ended(ids.values())
    for name, id in ids.items():
        equal(follows[id].stdout.whole(""), "b\n" if name == "r" else "a\n", name)
    server.stop()


if __name__ == "__main__":
    suite.main()
