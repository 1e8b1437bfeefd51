#!/usr/bin/env python3
"""The end of the input: a client that reads, however slowly, gets an answer to every request."""
import collections
import errno
import json
import os
import pty
import signal
import socket
import subprocess
import tempfile
import threading
import time
import tty

from client import (MODES, STRESS, WAIT, Server, check, equal, eventually, is_alive,
                    processes_marked, server_path, status_kib)
from suite import Suite

suite = Suite(at_a_time=4)

BOTH = ("pipe", "socket")
SMALL_QUEUE = ["--set", "limits.output_queue_bytes=1M"]


def line(id, method, params=None):
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message).encode() + b"\n"


def run_line(id, command, **params):
    return line(id, "process.run", dict(params, command=command))


class Session:
    """A server whose whole input is given at once, and whose reader is as slow as the test likes."""

    def __init__(self, requests, stdio="pipe", options=(), command=None, source=subprocess.PIPE,
                 target=subprocess.PIPE):
        self.server = Server(start=False)
        self.command = command or [
            server_path(), "serve", "--workspace", self.server.workspace, "--state-dir",
            self.server.state] + MODES[os.environ.get("PROCPEN_TEST_MODE", "")] + list(options)
        self.errors = tempfile.TemporaryFile()
        self.got = bytearray()
        self.socket = None
        if stdio == "socket":
            self.socket, theirs = socket.socketpair()
            self.start(theirs, theirs)
            theirs.close()
            self.feed(self.socket.sendall, requests,
                      lambda: self.socket.shutdown(socket.SHUT_WR))
            self.output = self.socket.fileno()
            return
        if stdio == "terminal":
            self.output, target = pty.openpty()
            tty.setraw(target)
        self.start(source, target)
        if stdio == "terminal":
            os.close(target)
        if source == subprocess.PIPE:
            self.feed(self.write_all, requests, self.process.stdin.close)
        if target == subprocess.PIPE:
            self.output = self.process.stdout.fileno()

    def start(self, stdin, stdout):
        self.process = subprocess.Popen(self.command, stdin=stdin, stdout=stdout, bufsize=0,
                                        stderr=self.errors, env=self.server.env)
        self.server.process = self.process  # so that it is destroyed with the others

    def write_all(self, requests):
        while requests:  # a signal, or SIGSTOP, may cut a write short
            requests = requests[self.process.stdin.write(requests):]

    def feed(self, write, requests, close):
        def work():
            try:
                write(requests)
                close()
            except OSError:
                pass  # the server has gone first: the test sees what is missing
        self.feeder = threading.Thread(target=work, daemon=True)
        self.feeder.start()

    def read(self, count=1 << 16):
        try:
            data = os.read(self.output, count)
        except OSError as e:  # a terminal that no process has open any more
            if e.errno != errno.EIO:
                raise
            data = b""
        self.got += data
        return data

    def read_all(self, rate=None, count=1 << 14):
        """To the end of file, at @rate bytes a second."""
        start, before = time.monotonic(), len(self.got)
        while self.read(count):
            ahead = rate and (len(self.got) - before) / rate - (time.monotonic() - start)
            if ahead and ahead > 0:
                time.sleep(ahead)

    def close(self):
        """No reader will come."""
        if self.socket:
            self.socket.close()
        else:
            self.process.stdout.close()

    def wait(self):
        status = self.process.wait(WAIT)
        equal(processes_marked(self.server.base), [], "survivors")
        return status

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def answers(self):
        """{id: message}; each came once, and nothing was cut."""
        check(not self.got or self.got.endswith(b"\n"), "the output ends inside a line")
        messages = [json.loads(text) for text in self.got.splitlines()]
        messages = [m for m in messages if "method" not in m]
        counts = collections.Counter(m["id"] for m in messages)
        equal([id for id, count in counts.items() if count > 1], [], "answered twice")
        return {m["id"]: m for m in messages}


def exact(session, count, what):
    answers = session.answers()
    equal(sorted(answers), list(range(count)), what)
    check(all("result" in m for m in answers.values()), what + ": an error among the answers")
    equal(session.wait(), 0, what + ": exit status")
    check("did not read" not in session.said(), session.said())


@suite.test(limit=600)
def test_slow_readers_get_every_answer():
    count, options = (3000, ()) if STRESS else (400, SMALL_QUEUE)
    for stdio in BOTH:
        for rate in (1e6, 5e6, 10e6, 40e6):
            requests = b"".join(line(n, "tools/list") for n in range(count))
            session = Session(requests, stdio, options)
            session.read_all(rate)
            exact(session, count, "%d MB/s through a %s" % (rate / 1e6, stdio))


@suite.test()
def test_a_late_reader_gets_whole_logs():
    """Twenty logs of 900 KB to a client that comes back after its input has ended."""
    want = b"".join(b"%07x%08x\n" % (1, n) for n in range(900000 // 16 + 1))[:900000].decode()
    for stdio in BOTH:
        server = Server(stdio=stdio)
        run = server.hostile("pattern", 900000, 1)
        server.read_paused = True
        ids = [server.request("process.logs", {"process_id": run["process_id"],
                                               "stream": "stdout"}) for _ in range(20)]
        server.close_input()
        server.flush()
        time.sleep(3)
        server.read_paused = False
        for id in ids:
            check(server.result(id)["stdout"] == want, "a log differs")
        equal(server.wait_exit(), 0, "exit status")
        equal(bytes(server.buffer), b"", "a cut line")


SLEEPER = run_line(0, "sleep 0.5; echo done")


def is_done(session, what):
    answers = session.answers()
    equal(sorted(answers), [0], what)
    equal(answers[0]["result"]["stdout_summary"], "done\n", what)
    equal(session.wait(), 0, what + ": exit status")


@suite.test()
def test_the_whole_input_at_once():
    """printf | serve, and a socket whose writer has shut it down."""
    for stdio in BOTH:
        session = Session(SLEEPER, stdio)
        session.read_all()
        is_done(session, stdio)


@suite.test()
def test_nobody_is_asked_behind_the_end():
    """A start that queued until the input had ended, and needs a human's answer."""
    count = 40
    runs = [run_line(i, "true", network=False, background=True) for i in range(count)]
    session = Session(b"".join(runs + [run_line(count, "git push --force")]),
                      options=("--set", "packs=git:confirm"))
    session.read_all()
    equal(session.wait(), 0, "exit status")
    answers = session.answers()
    equal(len(answers), count + 1, "answers")
    equal(answers[count]["error"]["data"]["type"], "PermissionDenied", "nobody can answer")
    check("input has ended" in answers[count]["error"]["message"], answers[count])


@suite.test()
def test_a_file_as_input():
    """serve < file, and answers into a file."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
        source.write(SLEEPER)
        source.seek(0)
        session = Session(b"", source=source)
        session.read_all()
        is_done(session, "a file")
        source.seek(0)
        session = Session(b"", source=source, target=target)
        session.wait()
        target.seek(0)
        session.got += target.read()
        is_done(session, "two files")


@suite.test()
def test_as_sshd_runs_it():
    """sshd gives a command one socket for input and output, and shuts down its side at the end."""
    session = Session(b"", "socket")
    equal(session.wait(), 0, "an empty session")
    server = Server(start=False)
    shell = ["sh", "-c", 'exec "$0" serve --workspace "$1" --state-dir "$2"', server_path(),
             server.workspace, server.state]
    requests = b"".join(line(n, "tools/list") for n in range(200)) + run_line(200, "sleep 1")
    session = Session(requests, "socket", command=shell)
    session.read_all(5e6)
    exact(session, 201, "as sshd does")
    equal(session.answers()[200]["result"]["exit_code"], 0, "the run")


@suite.test()
def test_a_reader_that_takes_little_is_waited_for():
    """A byte now and then is enough, even if it makes no room for the next write."""
    requests = b"".join(line(n, "tools/list") for n in range(200))
    session = Session(requests, options=["--set", "server.eof_seconds=3"])
    for _ in range(12):
        session.read(10)
        time.sleep(0.3)
    session.read_all()
    exact(session, 200, "a trickle")


@suite.test()
def test_a_reader_that_takes_nothing_is_given_up():
    """After server.eof_seconds, or half a minute if only MCP was spoken; stderr says so."""
    small = SMALL_QUEUE + ["--set", "server.eof_seconds=1"]
    for stdio in BOTH:
        for options, count in ((small, 60), (small, 400)) + ((([], 60),) if STRESS else ()):
            requests = b"".join(line(n, "tools/list") for n in range(count))
            session = Session(requests + line("run", "tools/call", {
                "name": "process_run", "arguments": {"command": "sleep 60"}}), stdio, options)
            session.read(10)
            equal(session.wait(), 1, "exit status")
            check("did not read" in session.said(), session.said())


@suite.test()
def test_a_slow_reader_of_mcp():
    """The kernel reports its reads in blocks, which take longer than open requests may."""
    for stdio in BOTH + ("terminal",):
        session = Session(b"".join(line(n, "tools/list") for n in range(200)), stdio)
        for _ in range(40):
            session.read(500)
            time.sleep(0.1)
        session.read_all()
        exact(session, 200, "a slow reader of a " + stdio)


@suite.test()
def test_a_plain_reader_is_waited_for_longer():
    """After a plain request the reader has more time than an MCP host."""
    requests = b"".join(line(n, "tools/list") for n in range(200))
    session = Session(requests + line(200, "process.list"))
    session.read(10)
    time.sleep(3)
    session.read_all()
    exact(session, 201, "a reader that comes back")


@suite.test()
def test_a_device_that_is_full():
    for requests in (line(0, "process.list"), line(0, "tools/list"), SLEEPER):
        with open("/dev/full", "wb") as full:
            session = Session(requests, target=full)
        equal(session.wait(), 1, "exit status")
        check("ENOSPC" in session.said(), session.said())


@suite.test()
def test_a_reader_that_goes_ends_the_session():
    """While nothing is to be written: runs are killed at once, before and after the end."""
    for stdio in BOTH:
        session = Session(run_line(0, "touch on; sleep 60"), stdio)
        mark = os.path.join(session.server.workspace, "on")
        eventually(lambda: os.path.exists(mark), WAIT, "no run")
        session.feeder.join()
        session.close()
        equal(session.wait(), 0, "exit status")
    server = Server()
    server.run("sleep 60", background=True)
    server.close_output()  # its input stays open
    equal(server.process.wait(WAIT), 0, "exit status")
    equal(server.survivors(), [], "survivors")


@suite.test()
def test_a_signal_while_answers_wait():
    """It ends the wait for a slow reader as it ends everything."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        requests = b"".join(line(n, "tools/list") for n in range(300))
        session = Session(requests + run_line("run", "touch on; sleep 60"))
        mark = os.path.join(session.server.workspace, "on")
        eventually(lambda: os.path.exists(mark), WAIT, "no run")
        session.feeder.join()
        session.process.send_signal(number)
        equal(session.wait(), 0, "exit status")
        check("did not read" in session.said(), session.said())


@suite.test()
def test_a_signal_while_requests_wait():
    """What the server has read is answered, whatever it is, and nothing starts any more."""
    for stdio in BOTH:
        server = Server(stdio=stdio)
        server.run("true")
        lines = [run_line(n, "touch ran-%d" % n) if n % 2 else line(n, "process.list", {"limit": 1})
                 for n in range(1000, 1100)]
        server.send_bytes(b"".join(lines))
        server.wait_read()
        server.signal(signal.SIGTERM)
        equal(server.wait_exit(), 0, "exit status")
        answers = [m for m in server.inbox if "id" in m]
        answered = collections.Counter(m["id"] for m in answers)
        equal([n for n in range(1000, 1100) if answered[n] != 1], [], "answers with %s" % stdio)
        equal([m["id"] for m in answers if "error" in m and
               os.path.exists(os.path.join(server.workspace, "ran-%s" % m["id"]))], [], "ran all the same")


@suite.test()
def test_a_signal_that_comes_twice():
    """Processes that are being killed are not survivors because of a second signal."""
    for _ in range(20):
        server = Server("--set", "sandbox.profile=none")
        mark = os.path.join(server.workspace, "on")
        run = server.request("process.run", {"command": "sleep 60 & sleep 60 & touch on; sleep 60"})
        eventually(lambda: os.path.exists(mark), WAIT, "no run")
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.001)
        server.process.send_signal(signal.SIGTERM)
        equal(server.result(run)["reason"], "server_shutdown", "reason")
        equal(server.wait_exit(), 0, "exit status")


@suite.test()
def test_signals_until_it_has_ended():
    """No signal interrupts the end: the audit log has its last record, the status is 0."""
    for _ in range(10):
        server = Server()
        server.run("sleep 60", background=True)
        while server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.0001)
        equal(server.wait_exit(), 0, "exit status")
        folder = os.path.join(server.state, "audit")
        with open(os.path.join(folder, os.listdir(folder)[0]), encoding="utf-8") as f:
            equal(json.loads(f.read().splitlines()[-1])["event"], "server_stop", "last record")


@suite.test()
def test_background_runs_live_until_the_last_answer():
    server = Server()
    pid = server.run("sleep 60", background=True)["pid"]
    last = server.request("process.run", {"command": "sleep 1; touch last"})
    server.close_input()
    mark = os.path.join(server.workspace, "last")
    while not os.path.exists(mark):
        alive = is_alive(pid)
        check(alive or os.path.exists(mark), "killed while a request was open")
        server.pump(0.01)
    equal(server.result(last)["exit_code"], 0, "the last answer")
    equal(server.wait_exit(), 0, "exit status")
    equal(server.survivors(), [], "survivors")


@suite.test()
def test_timers_go_on_and_memory_is_bounded():
    """Ten thousand requests for a reader that hardly takes any: a time limit strikes meanwhile."""
    requests = run_line("run", "touch on; sleep 60", timeout=1)
    requests += b"".join(line(n, "tools/list") for n in range(10000))
    session = Session(requests, options=SMALL_QUEUE)
    peak, end = 0, time.monotonic() + 4
    while time.monotonic() < end:
        session.read(10000)
        peak = max(peak, status_kib(session.process.pid, "RssAnon"))
        time.sleep(0.1)
    session.read_all()
    limit = 65536 if "asan" in server_path() else 12288
    check(peak < limit, "the server grew to %d KiB" % peak)
    answers = session.answers()
    equal(len(answers), 10001, "answers")
    result = answers["run"]["result"]
    equal(result["state"], "timed_out", "state")
    check(result["duration_ms"] < 30000, "timed out after %d ms" % result["duration_ms"])
    equal(session.wait(), 0, "exit status")


if __name__ == "__main__":
    suite.main()
