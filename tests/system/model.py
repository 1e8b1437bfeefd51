#!/usr/bin/env python3
"""A random mix of all capabilities against a model that knows what must hold.

The model keeps, for each run, the bytes that its command writes and the ways in which it may end,
for a run with a pipe the bytes that were written to it, and for each follow the bytes of its events.
Requests of all kinds are sent without waiting, in plain JSON-RPC and as MCP, between garbage,
cancels and batches. Each answer is checked against the model when it comes, each line against the
schemas. At the end of a round every id has one answer, nothing runs, the records of the audit log
are chained, and the server has neither more descriptors nor more memory than after the first tenth.

  MODEL_SECONDS=60   how long it lasts
  MODEL_SEED=N       the same requests again; the seed is printed with each failure
"""
import base64
import json
import os
import random
import time

from client import STRESS, WAIT, Failure, RpcError, check, equal, status_kib
from followed import Server
from suite import Suite

suite = Suite()

SECONDS = float(os.environ.get("MODEL_SECONDS") or (1200 if STRESS else 60))
SEED = int(os.environ.get("MODEL_SEED") or random.SystemRandom().randrange(1 << 32))
OUTSTANDING = 40         # requests that wait for their answers at a time
RUNS = 24                # that live at a time, as the model sees it
RECORDS = 60             # finished runs that the server keeps
HEAD, TAIL = 65536, 131072  # kept of each stream: most patterns are larger
ENDED = {"completed", "killed", "timed_out"}
MEMORY_GROWTH_KIB = 3000
DESCRIPTOR_GROWTH = 24   # how many shims wait varies
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}


def pattern(size, seed):
    """What `hostile pattern SIZE SEED` writes."""
    return b"".join(b"%07x%08x\n" % (seed, n) for n in range(size // 16 + 1))[:size]


class Follow:
    """The events of one follow, which sends base64: what they show, and whether they are whole."""

    def __init__(self, run):
        self.run = run
        self.at = self.seq = 0
        self.exited = self.closed = False
        self.unfollows = 0  # calls that are not answered yet

    def take(self, event):
        check(not self.closed, "an event after unfollow")
        check(not self.exited, "an event after exited")
        equal(event["seq"], self.seq, "seq")
        equal(event["type"] == "started", self.seq == 0, "started comes first")
        self.seq += 1
        if event["type"] == "stdout":
            data = base64.b64decode(event["data"])
            equal(event["offset"], self.at, "offset of an event")
            check(data == self.run.most[self.at:self.at + len(data)], "other bytes at %d" % self.at)
            self.at += len(data)
        elif event["type"] == "gap" and event["stream"] == "stdout":
            equal(event["from"], self.at, "where a gap begins")
            check(event["to"] > self.at, "an empty gap")
            self.at = event["to"]
        elif event["type"] == "exited":
            equal(event["stdout_size"], self.at, "bytes of all events")
            self.exited = True


class Run:
    """What is known of one run. @output: its whole stdout, or None when only a prefix of it is
    certain; @exit_code: of a run that ends by itself, else None: it lives until it is ended."""

    def __init__(self, exit_code=None, output=b"", states=("completed",), most=b""):
        self.exit_code = exit_code
        self.output = output
        self.states = set(states)  # in which it may end
        self.most = most           # what it can write in all, when it may be cut
        self.process_id = None
        self.request = None
        self.over = False          # an answer has reported its end
        self.killed = False        # some request has asked for its end
        self.deleted = False       # some request has asked to delete its record
        self.fed = None            # with a pipe: what was sent to it; then output is what it echoes

    def may_end(self, state):
        return state in self.states or (self.killed and state == "killed")

    def may_be_over(self):
        return self.over or self.killed or bool(self.states)

    def feed(self, data):
        """It echoes @data, unless the call is refused."""
        self.fed += data
        self.output = self.most = bytes(self.fed)

    def check_end(self, answer, stale):
        """@answer: any result with state and exit_code."""
        state = answer["state"]
        if state == "running":
            check(stale or not self.over, "it runs again")
            return
        self.over = True
        check(state in ENDED and self.may_end(state), "state %s" % state)
        if state == "completed" and self.exit_code is not None:
            equal(answer["exit_code"], self.exit_code, "exit code")
        if state in ("killed", "timed_out"):
            equal(answer["exit_code"], None, "exit code of a run that was ended")

    def check_kept(self, text, start, size):
        """Bytes [@start, ...) of stdout are @text; @size is all that was written."""
        if self.killed or "timed_out" in self.states:
            check(size <= len(self.most), "more bytes than it writes: %d" % size)
        elif self.over:
            equal(size, len(self.output), "bytes of stdout")
        want = self.most[start:start + len(text)]
        check(text == want, "other bytes at %d: %.80r, want %.80r" % (start, text, want))


class Model:
    """Sends the mix, and checks what comes."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.server = Server("--set", "limits.finished_records=%d" % RECORDS,
                             "--set", "log.head_bytes=%d" % HEAD,
                             "--set", "log.tail_bytes=%d" % TAIL,
                             "--set", "tier.process.run=autonomous",
                             "--set", "tier.process.input=autonomous")
        self.hostile = self.server.hostile_path()
        self.waiting = {}   # id -> (what checks the answer, text for a failure)
        self.runs = []      # with a process id, newest last
        self.follows = {}   # follow_id -> Follow, until its last event
        self.early = {}     # follow_id -> events that came before the answer
        self.keys = 0
        self.sent = self.answered = 0
        self.stale = False

    # -- sending

    def send(self, method, params, on_answer, mcp=False, batch=None):
        self.sent += 1
        number = "m%d" % self.sent  # client.Server numbers its own requests
        if mcp:
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
                "name": method.replace(".", "_"), "arguments": params, "_meta": META}}
        else:
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.waiting[number] = (on_answer, mcp, json.dumps(message)[:500])
        if batch is None:
            self.write(json.dumps(message).encode() + b"\n")
        else:
            batch.append(message)
        return number

    def write(self, data):
        self.server.send_bytes(data)

    # -- receiving

    def take(self, message):
        """A batch is answered when its last part is: the others may tell of earlier times."""
        self.stale = isinstance(message, list)
        for one in message if self.stale else [message]:
            if one.get("method") == "process.event":
                self.take_event(one["params"])
            if "method" in one or one["id"] is None:
                continue
            check(one["id"] in self.waiting, "an answer to no open request: %.300s" % one)
            on_answer, mcp, text = self.waiting.pop(one["id"])
            self.answered += 1
            try:
                on_answer(*self.unwrap(one, mcp))
            except Failure as e:
                raise Failure("%s\n  request %s\n  answer %s" % (
                    e, text, json.dumps(one)[:1200])) from None

    def take_event(self, event):
        follow = self.follows.get(event["follow_id"])
        if not follow:
            self.early.setdefault(event["follow_id"], []).append(event)
            return
        try:
            follow.take(event)
        except Failure as e:
            raise Failure("%s\n  event %s\n  command %s" % (
                e, json.dumps(event)[:600], follow.run.process_id)) from None
        if follow.exited:
            del self.follows[event["follow_id"]]

    def followed(self, run, result):
        """A call that began a follow was answered; its first events may be here already."""
        self.follows[result["follow_id"]] = Follow(run)
        for event in self.early.pop(result["follow_id"], ()):
            self.take_event(event)

    @staticmethod
    def unwrap(message, mcp):
        """(result, None) or (None, the type of the error)."""
        if "error" in message:
            return None, (message["error"].get("data") or {}).get("type", message["error"]["code"])
        if not mcp:
            return message["result"], None
        meta = message["result"]["_meta"]
        if message["result"].get("isError"):
            return None, meta["dev.procpen/error"]["type"]
        return meta["dev.procpen/result"], None

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while True:
            message = self.server.receive(max(0.0, end - time.monotonic()))
            if message is None:
                return
            self.take(message)

    # -- what is asked

    def mcp(self, batch):
        """Is the next request one of MCP, whose newest revision has no batches?"""
        return batch is None and self.rng.random() < 0.4

    def any_run(self, living=False):
        found = [run for run in self.runs if not (living and run.over)]
        return self.rng.choice(found) if found else None

    def a_command(self):
        """(params, Run) of a command whose whole behaviour is known."""
        rng = self.rng
        kind = rng.choice(("exit", "pattern", "pattern", "text", "stdin", "tree", "stays", "pipe", "pipe"))
        if kind == "exit":
            code = rng.randrange(256)
            return {"command": "exit %d" % code}, Run(code)
        if kind == "pattern":
            size, seed = rng.choice((1, 15, 4096, 65537, 400000, 3000000)), rng.randrange(1 << 20)
            output = pattern(size, seed)
            return {"command": self.hostile, "args": ["pattern", str(size), str(seed)]}, \
                Run(0, output, most=output)
        if kind == "text":
            text = "".join(rng.choice("aé€😀\n") for _ in range(rng.randrange(200)))
            return {"command": "printf %s \"$TEXT\"", "environment": {"TEXT": text}}, \
                Run(0, text.encode(), most=text.encode())
        if kind == "stdin":
            data = rng.randbytes(rng.randrange(100000))
            return {"command": "cat", "args": [], "stdin": base64.b64encode(data).decode(),
                    "stdin_encoding": "base64"}, Run(0, data, most=data)
        if kind == "pipe":
            run = Run(0)
            run.fed = bytearray()
            return {"command": "cat", "args": [], "stdin_mode": "pipe", "background": True}, run
        if kind == "tree":
            return {"command": "setsid sleep 1000 & (trap '' TERM; exec sleep 1000) & echo up; "
                               "exit 7"}, Run(7, b"up\n", most=b"up\n")
        return {"command": "echo up; while :; do sleep 0.05; done"}, \
            Run(None, b"up\n", states=(), most=b"up\n")

    def do_run(self, batch):
        if sum(not run.over for run in self.runs) >= RUNS:
            return self.do_kill(batch)
        params, run = self.a_command()
        if run.exit_code is None or self.rng.random() < 0.3:
            params["background"] = True
            if "stdin" in params:
                params.pop("background")
        if "background" not in params:
            if self.rng.random() < 0.2:
                params["yield_ms"] = self.rng.choice((1, 20))
            if self.rng.random() < 0.2:
                limit = self.rng.choice(("timeout", "idle_timeout"))
                params[limit] = self.rng.choice((0.01, 0.3))
                run.states.add("timed_out")
        elif self.rng.random() < 0.1:
            params["max_runtime"] = 0.3
            run.states.add("timed_out")
        mcp = self.mcp(batch)
        if not mcp and self.rng.random() < 0.05:
            self.run_twice(params, run, batch)
            return None
        number = self.send("process.run", params, lambda r, e: self.ran(run, r, e),
                           mcp, batch)
        if not (mcp or batch or "background" in params) and self.rng.random() < 0.1:
            run.killed = True
            self.cancel(number)
        return None

    def run_twice(self, params, run, batch):
        """Two calls with one key are one run; of two that wait one may be cancelled."""
        self.keys += 1
        params["idempotency_key"] = "k%d" % self.keys
        replayed = []

        def answered(result, error):
            if error:
                check(error in ("LimitReached", "Cancelled"), "error of a repeat: %s" % error)
                return
            replayed.append(result["replayed"])
            check(replayed.count(False) < 2, "it started twice")
            if run.process_id:
                equal(result["process_id"], run.process_id, "the run of a repeat")
                run.check_end(result, True)
            else:
                self.ran(run, result, None)
        ids = [self.send("process.run", params, answered, False, batch) for _ in range(2)]
        if batch is None and self.rng.random() < 0.3:
            run.killed = True  # the other one can be refused
            self.cancel(self.rng.choice(ids))

    def cancel(self, number):
        self.write(json.dumps({"jsonrpc": "2.0", "method": "$/cancelRequest",
                               "params": {"id": number}}).encode() + b"\n")

    def ran(self, run, result, error):
        if error:
            equal(error, "LimitReached", "error of a run")
            return
        run.process_id = result["process_id"]
        self.runs.append(run)
        run.check_end(result, self.stale)
        if run.over and run.fed is None and result["state"] == "completed" and not run.killed:
            equal(result["stdout_size"], len(run.output), "stdout_size")
        del self.runs[:-2 * RECORDS]

    def do_monitor(self, batch):
        run = self.any_run()
        if run:
            wait_ms = self.rng.choice((0, 0, 30))
            self.send("process.monitor", {"process_id": run.process_id, "wait_ms": wait_ms},
                      lambda r, e: self.about(run, r, e), self.mcp(batch), batch)

    def about(self, run, result, error):
        if error:
            check(error == "ProcessNotFound" and (run.may_be_over() or run.deleted),
                  "error %s" % error)
            run.over = True
            self.runs = [one for one in self.runs if one is not run]
            return False
        run.check_end(result, self.stale)
        return True

    def do_logs(self, batch):
        run = self.any_run()
        if not run:
            return
        params = {"process_id": run.process_id, "encoding": "base64", "stream": "stdout",
                  "offset": self.rng.randrange(len(run.most) + 10),
                  "limit": self.rng.choice((1, 100, 70000))}
        if self.rng.random() < 0.2:
            params["wait_ms"] = 30
        self.send("process.logs", params, lambda r, e: self.page(run, params, r, e), False, batch)

    def page(self, run, params, result, error):
        if error:
            self.about(run, None, error)
            return
        if result["state"] != "running":
            check(run.may_end(result["state"]), "state %s" % result["state"])
            run.over = True
        data = base64.b64decode(result["stdout"])
        check(len(data) <= params["limit"], "a page of %d bytes" % len(data))
        run.check_kept(data, result["stdout_next_offset"] - len(data), result["stdout_size"])

    def do_combined(self, batch):
        run = self.any_run()
        if run:
            since = self.rng.randrange(len(run.most) + 10)
            self.send("process.logs", {"process_id": run.process_id, "encoding": "base64",
                                       "stream": "combined", "since": since,
                                       "limit": self.rng.choice((1, 100, 70000))},
                      lambda r, e: self.entries(run, r, e), False, batch)

    def entries(self, run, result, error):
        if error:
            self.about(run, None, error)
            return
        at = {"stdout": 0, "stderr": 0}
        for entry in result["entries"]:
            data = base64.b64decode(entry["data"])
            check(entry["offset"] >= at[entry["stream"]], "entries that overlap")
            at[entry["stream"]] = entry["offset"] + len(data)
            if entry["stream"] == "stdout":
                run.check_kept(data, entry["offset"], result["stdout_size"])

    def do_until(self, batch):
        run = self.any_run()
        if not run:
            return
        params = {"process_id": run.process_id, "wait_ms": self.rng.choice((0, 30, 200))}
        params.update(self.rng.choice(({"until": "output", "from": 0},
                                       {"until": "pattern", "pattern": "^(u)p|f0$"},
                                       {"until": "pattern", "pattern": "(a+)+$"},
                                       {"until": "port", "port": 9},
                                       {"until": "idle", "idle_ms": 20})))
        number = self.send("process.monitor", params, lambda r, e: self.until(run, params, r, e),
                           False, batch)
        if batch is None and self.rng.random() < 0.2:
            self.cancel(number)

    def until(self, run, params, result, error):
        if error in ("LimitReached", "Cancelled"):
            return
        printable = run.most.replace(b"\n", b"").decode(errors="replace").isprintable()
        if self.about(run, result, error) and result["matched"] and printable and \
                params["until"] == "pattern":
            at = result["match"]["offset"]
            text = result["match"]["text"].encode()
            check(run.most[at:at + len(text)] == text, "a line of no such text")

    def do_wait(self, batch):
        runs = [self.any_run() for _ in range(self.rng.choice((1, 3, 20)))] if self.runs else []
        if not runs:
            return
        params = {"process_ids": [run.process_id for run in runs],
                  "wait_ms": self.rng.choice((0, 30, 300)), "mode": self.rng.choice(("all", "any"))}
        number = self.send("process.wait", params, lambda r, e: self.waited(runs, params, r, e),
                           self.mcp(batch), batch)
        if self.rng.random() < 0.2:
            self.cancel(number)

    def waited(self, runs, params, result, error):
        if error:
            check(error in ("ProcessNotFound", "LimitReached", "Cancelled"), "error %s" % error)
            return
        ended = {row["process_id"]: row for row in result["ended"]}
        over = set(ended) | set(result.get("forgotten", ()))
        equal(over | set(result["pending"]), set(params["process_ids"]), "runs of a wait")
        equal(result["matched"], bool(over) if params["mode"] == "any" else not result["pending"],
              "matched")
        for run in runs:
            if run.process_id in ended:
                run.check_end(ended[run.process_id], self.stale)

    def do_follow(self, batch):
        run = self.any_run()
        if run:
            number = self.send("process.follow", {"process_id": run.process_id,
                                                  "encoding": "base64"},
                               lambda r, e: self.about(run, None, e)
                               if e not in (None, "LimitReached") else
                               r and self.followed(run, r), False, batch)
            if self.rng.random() < 0.1:
                self.cancel(number)

    def do_unfollow(self, batch):
        if not self.follows:
            return
        follow_id = self.rng.choice(list(self.follows))
        self.follows[follow_id].unfollows += 1

        def closed(result, error):
            equal(error, None, "error of unfollow")
            follow = self.follows.get(follow_id)
            if not follow:
                return
            follow.unfollows -= 1
            if result["closed"]:
                check(not follow.closed, "closed twice")
                follow.closed = True
            else:  # or by another call, in a batch that is answered later
                check(follow.closed or follow.unfollows, "not closed, and nothing else closes it")
        self.send("process.unfollow", {"follow_id": follow_id}, closed, False, batch)

    def do_input(self, batch):
        """One call at a time, so that what the model knows is in order."""
        pipes = [run for run in self.runs
                 if run.fed is not None and not run.over and not run.killed]
        if batch is not None or not pipes:
            return
        run = self.rng.choice(pipes)
        data = self.rng.randbytes(self.rng.choice((0, 1, 100, 65536)))
        before = bytes(run.fed)
        run.feed(data)
        params = {"process_id": run.process_id, "data": base64.b64encode(data).decode(),
                  "encoding": "base64", "close": self.rng.random() < 0.3}
        if params["close"]:
            run.killed = True  # no more input; it ends by itself

        def took(result, error):
            if error:
                check(error in ("ProcessAlreadyExited", "StdinClosed", "ProcessNotFound",
                                "LimitReached"), "error of input: %s" % error)
                run.killed = True
                return
            equal(result["bytes_written"], len(data), "bytes_written of %d" % len(before))
            equal(result["closed"], params["close"], "closed")
        self.send("process.input", params, took, self.rng.random() < 0.4)

    def do_delete(self, batch):
        run = self.any_run()
        if not run:
            return
        every = self.rng.random() < 0.1
        for one in self.runs if every else [run]:
            one.deleted = True
        self.send("process.delete", {"state_filter": "completed"} if every else
                  {"process_id": run.process_id},
                  lambda r, e: check(e in (None, "ProcessRunning", "ProcessNotFound"),
                                     "error of delete: %s" % e), self.mcp(batch), batch)

    def do_metrics(self, batch):
        self.send("server.metrics", {}, self.measured, self.mcp(batch), batch)

    @staticmethod
    def measured(result, error):
        equal(error, None, "error of metrics")
        counters = result["counters"]
        equal(sum(counters["runs_" + name] for name in ("running", "succeeded", "failed",
                                                        "timed_out", "killed")),
              counters["runs_started"], "runs_started")

    def do_grep(self, batch):
        run = self.any_run()
        if run:
            self.send("process.logs", {"process_id": run.process_id, "grep": "up|f0$",
                                       "max_matches": 5},
                      lambda r, e: self.about(run, None, e) if e else None,
                      self.mcp(batch), batch)

    def do_kill(self, batch):
        run = self.any_run(living=True)
        if not run:
            return
        run.killed = True
        params = {"process_id": run.process_id}
        params["signal"] = self.rng.choice(("TERM", "SIGKILL", 9, "INT"))
        params["force_after"] = self.rng.choice((1, 2))
        self.send("process.kill", params, lambda r, e: self.was_killed(run, r, e),
                  self.mcp(batch), batch)

    def was_killed(self, run, result, error):
        if error:
            check(error in ("ProcessAlreadyExited", "ProcessNotFound", "LimitReached"),
                  "error of a kill: %s" % error)
            return
        equal(result["survivors"], 0, "survivors")
        if not result["pending"]:
            equal(result["alive"], 0, "alive after a kill")

    def do_list(self, batch):
        state = self.rng.choice(("all", "running", "completed", "killed", "timed_out"))
        limit = self.rng.choice((1, 50, 1000))
        self.send("process.list", {"state_filter": state, "limit": limit},
                  lambda r, e: self.listed(state, limit, r, e), self.mcp(batch), batch)

    @staticmethod
    def listed(state, limit, result, error):
        equal(error, None, "error of a list")
        rows = result["processes"]
        equal(len(rows), min(limit, result["total"]), "rows")
        check(result["total"] <= RECORDS + 2 * RUNS + OUTSTANDING, "%d records" % result["total"])
        check(all(state in ("all", row["state"]) for row in rows), "a row of another state")
        equal(len({row["process_id"] for row in rows}), len(rows), "different rows")

    def do_judge(self, batch):
        blocked = self.rng.random() < 0.5
        text = self.rng.choice(("rm -rf /", "mkfs.ext4 /dev/sda1", "r'm' -r -f /*") if blocked else
                               ("ls -l", "git commit -m 'no reboot'", "make -j2 all"))
        if self.rng.random() < 0.5 or not blocked:
            self.send("is_blocked", {"command": text},
                      lambda r, e: equal((e, r and r["blocked"]), (None, blocked), "verdict"),
                      self.mcp(batch), batch)
        else:
            self.send("process.run", {"command": text},
                      lambda r, e: equal(e, "CommandBlocked", "error"),
                      self.mcp(batch), batch)

    def do_wrong(self, batch):
        method, params, error = self.rng.choice((
            ("process.run", {"cmd": "true"}, "InvalidParams"),
            ("process.run", {"command": "true", "timeout": -1}, "InvalidParams"),
            ("process.run", {"command": "true", "environment": {"LD_PRELOAD": "x"}},
             "ProtectedVariable"),
            ("process.run", {"command": "true", "cwd": "/etc"}, "PathOutOfScope"),
            ("process.run", {"command": "no-such-program-here"}, "CommandNotFound"),
            ("process.monitor", {"process_id": "p0-none"}, "ProcessNotFound"),
            ("process.logs", {"process_id": "p0-none"}, "ProcessNotFound"),
            ("process.kill", {"process_id": "p0-none"}, "ProcessNotFound"),
            ("process.list", {"state_filter": "some"}, "InvalidFilter")))
        self.send(method, params, lambda r, e: check(e in (error, "LimitReached"), "error %s" % e),
                  self.mcp(batch), batch)

    def do_session(self, batch):
        self.send("agent.session", {}, lambda r, e: equal(e, None, "error"),
                  self.mcp(batch), batch)

    def do_ping(self, batch):
        if batch is None:
            self.send("ping", {}, lambda r, e: equal((r, e), ({}, None), "pong"))

    def do_garbage(self, batch):
        if batch is None:
            self.write(self.rng.choice((b"\n", b"{\n", b"\xff\xfe\n", b'{"jsonrpc":"2.0"}\n',
                                        b"[]\n", b'{"a":"' + b"x" * 100000 + b'"}\n')))

    STEPS = ((do_run, 10), (do_monitor, 6), (do_logs, 8), (do_grep, 2), (do_kill, 4), (do_list, 2),
             (do_judge, 2), (do_wrong, 2), (do_session, 1), (do_ping, 2), (do_garbage, 1),
             (do_combined, 3), (do_until, 4), (do_wait, 3), (do_follow, 4), (do_unfollow, 1),
             (do_input, 8), (do_delete, 2), (do_metrics, 1))

    def step(self):
        batch = [] if self.rng.random() < 0.1 else None
        for _ in range(self.rng.randrange(2, 6) if batch is not None else 1):
            (do,) = self.rng.choices([s for s, _ in self.STEPS], [w for _, w in self.STEPS])
            do(self, batch)
        if batch:
            self.write(json.dumps(batch).encode() + b"\n")

    # -- a round

    def settle(self):
        """Waits for all answers."""
        end = time.monotonic() + WAIT
        while self.waiting:
            check(time.monotonic() < end, "no answer to %s" % list(self.waiting.values())[:3])
            self.receive(0.02)

    def end_all(self):
        """Nothing is asked any more, and nothing runs."""
        self.settle()
        listed = self.server.call("process.list", {"state_filter": "running", "limit": 1000})
        while self.server.notes:  # the events that came before the answer
            self.take(self.server.notes.pop(0))
        for row in listed["processes"]:
            for run in self.runs:
                run.killed |= run.process_id == row["process_id"]
            self.send("process.kill", {"process_id": row["process_id"], "signal": "KILL"},
                      lambda r, e: check(e in (None, "ProcessAlreadyExited"), "error %s" % e))
        self.settle()

    def end_follows(self):
        """All runs are over, so every follow ends with exited."""
        end = time.monotonic() + WAIT
        while any(not follow.closed for follow in self.follows.values()):
            check(time.monotonic() < end, "follows without an end: %s" % list(self.follows)[:3])
            self.receive(0.02)
        self.follows.clear()

    def weigh(self):
        """(descriptors, resident KiB) of a server that has nothing to do, and no records. It is not
        dumpable: only root can count its descriptors."""
        self.end_all()
        self.end_follows()
        for left in self.server.call("process.list", {"limit": 1000})["processes"]:
            try:  # leftovers of runs that are over
                self.server.call("process.kill", {"process_id": left["process_id"],
                                                  "signal": "KILL"})
            except RpcError as e:
                check(e.type in ("ProcessAlreadyExited", "ProcessNotFound"), "error %s" % e)
        self.server.call("process.delete", {"state_filter": "all"})
        equal(self.server.call("process.list")["total"], 0, "records after a delete of all")
        self.runs.clear()
        descriptors = len(os.listdir("/proc/%d/fd" % self.server.pid)) if os.geteuid() == 0 else 0
        return descriptors, status_kib(self.server.pid, "VmRSS")

    def play(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if len(self.waiting) < OUTSTANDING:
                self.step()
            self.receive(0 if len(self.waiting) < OUTSTANDING else 0.02)


@suite.test(limit=int(SECONDS * 2 + 300))
def test_a_random_mix_is_as_the_model_says():
    model = Model(SEED)
    try:
        model.play(SECONDS / 6)
        before = model.weigh()
        model.play(SECONDS)
        after = model.weigh()
        print("seed %d: %d requests, descriptors %d and %d, resident %d and %d KiB" % (
            SEED, model.answered, before[0], after[0], before[1], after[1]))
        check(after[0] <= before[0] + DESCRIPTOR_GROWTH, "%d descriptors became %d" % (
            before[0], after[0]))
        if "ASAN_OPTIONS" not in os.environ:  # it keeps what is freed
            check(after[1] <= before[1] + MEMORY_GROWTH_KIB, "%d KiB became %d" % (
                before[1], after[1]))
        model.server.stop()
    except Failure as e:
        raise Failure("MODEL_SEED=%d: %s" % (SEED, e)) from None


if __name__ == "__main__":
    suite.main()
