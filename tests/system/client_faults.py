#!/usr/bin/env python3
"""Clients that misbehave: they do not read, send garbage, vanish, or have odd pipes."""
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import time

from client import (STRESS, WAIT, Server, check, equal, eventually, is_alive, server_path,
                    status_kib)
from suite import Suite

suite = Suite()


def rss_anon(server):
    return status_kib(server.pid, "RssAnon")


@suite.test()
def test_client_that_does_not_read():
    """The queue is bounded, reading stops, timers go on, and all answers come in the end."""
    server = Server("--set", "limits.output_queue_bytes=1M")
    run = server.hostile("pattern", 900000, 1)
    server.run("sleep 60", background=True)
    before = rss_anon(server)
    server.read_paused = True
    mark = os.path.join(server.workspace, "timed")
    slow = server.request("process.run", {"command": "sleep 0.6; touch timed", "yield_ms": 0})
    late = server.request("process.run", {"command": "echo x; sleep 60", "timeout": 1})
    ids = [server.request("process.logs", {"process_id": run["process_id"], "stream": "stdout"})
           for _ in range(200)]
    peak, end = before, time.monotonic() + 2.5
    last = end + WAIT
    while time.monotonic() < end or not os.path.exists(mark):
        check(time.monotonic() < last, "a run stood still while the client did not read")
        server.pump(0.05)
        peak = max(peak, rss_anon(server))
    limit = 65536 if "asan" in server_path() else 24576
    check(peak - before < limit, "the server grew by %d KiB" % (peak - before))
    check(server.pending or server.process.poll() is None, "the server is gone")
    server.read_paused = False
    for id in ids:
        equal(len(server.result(id)["stdout"]), 900000, "a page after the pause")
    equal(server.result(slow)["exit_code"], 0, "slow run")
    equal(server.result(late)["state"], "timed_out", "the timer went on")
    server.stop()


@suite.test()
def test_client_that_never_reads_again():
    """The session ends without a reader: the server gives up flushing and exits."""
    def by_eof(server):
        server.close_input()
        server.flush()

    for pages, finish, status in ((4, by_eof, 1), (20, by_eof, 1),
                                  (20, lambda s: s.signal(signal.SIGTERM), 0)):
        server = Server("--set", "server.eof_seconds=1")
        run = server.hostile("pattern", 900000, 1)
        server.run("sleep 60", background=True)
        server.read_paused = True
        for _ in range(pages):
            server.request("process.logs", {"process_id": run["process_id"], "stream": "stdout"})
        server.flush()
        time.sleep(0.5)
        finish(server)
        equal(server.process.wait(WAIT), status, "exit status")
        check("did not read" in server.stderr_text(), server.stderr_text())
        equal(server.survivors(), [], "survivors")


@suite.test()
def test_epipe():
    """The client closes its reading end: the same as the end of the session."""
    server = Server()
    server.run("sleep 60", background=True)
    server.close_output()
    server.request("process.list")
    equal(server.process.wait(WAIT), 0, "exit status")
    equal(server.survivors(), [], "survivors")


@suite.test()
def test_garbage():
    """Random bytes, broken JSON, mutated requests: one error each at most, and it lives."""
    server = Server()
    rng = random.Random(4)
    good = json.dumps({"jsonrpc": "2.0", "id": "g", "method": "process.list",
                       "params": {"limit": 5, "state_filter": "all"}}).encode()
    for _ in range(20000 if STRESS else 1500):
        data = bytearray(good)
        for _ in range(rng.randint(1, 6)):
            place = rng.randrange(len(data))
            change = rng.randrange(3)
            if change == 0:
                data[place] = rng.randrange(256)
            elif change == 1:
                del data[place]
            else:
                data[place:place] = bytes([rng.randrange(256)])
        server.send_bytes(bytes(data).replace(b"\n", b" ") + b"\n")
    server.send_bytes(bytes(rng.randrange(256) for _ in range(100000)) + b"\n")
    server.ping()
    equal(server.run("echo alive")["stdout_summary"], "alive\n", "a run after garbage")
    server.stop()


@suite.test()
def test_long_lines():
    """Just under 4 MiB is served, over it is refused once, and nothing is lost behind it."""
    server = Server()
    limit = 4 << 20
    head = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"'
    line = head + b"a" * (limit - len(head) - 3) + b'"}}'
    equal(len(line), limit, "length of the line")
    server.send_bytes(line + b"\n")
    equal(server.result(1), {}, "a line of exactly the limit")
    server.send_bytes(head + b"b" * limit + b'"}}\n')
    error = server.answer(None)["error"]
    equal(error["code"], -32700, "a line over the limit")
    server.send_bytes(b"c" * (9 << 20) + b"\n")
    equal(server.answer(None)["error"]["code"], -32700, "nine megabytes")
    server.ping()
    server.send_bytes(b"d" * (5 << 20))
    server.flush()
    growth = status_kib(server.pid, "RssAnon")
    check(growth < 120000, "%d KiB after long lines" % growth)
    server.stop()


@suite.test()
def test_large_stdin_through_a_long_line():
    server = Server()
    text = "0123456789abcde\n" * 200000
    answer = server.run("md5sum", [], stdin=text)
    equal(answer["exit_code"], 0, "exit code")
    answer = server.run("wc", ["-c"], stdin=text)
    equal(answer["stdout_summary"].strip(), str(len(text)), "bytes that arrived")
    server.stop()


@suite.test()
def test_byte_by_byte():
    server = Server()
    for byte in b'{"jsonrpc":"2.0","id":9,"method":"ping"}\n':
        server.send_bytes(bytes([byte]))
        time.sleep(0.002)
    equal(server.result(9), {}, "answer")
    server.stop()


@suite.test()
def test_socket_as_stdio():
    """Hosts give a socketpair; its flags are given back at the end."""
    server = Server(stdio="socket")
    equal(server.run("echo hi", stdin="x")["stdout_summary"], "hi\n", "run")
    server.run("sleep 60", background=True)
    server.stop()


def start_plain(server, stdin, stdout):
    """The server of @server's directories on other descriptors."""
    command = [server_path(), "serve", "--workspace", server.workspace, "--state-dir",
               server.state]
    return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL,
                            env=server.env)


@suite.test()
def test_files_as_stdio():
    """Requests from a file, answers into a file."""
    server = Server(start=False)
    requests = [{"jsonrpc": "2.0", "id": n, "method": "process.list"} for n in range(500)]
    requests.append({"jsonrpc": "2.0", "id": "last", "method": "agent.session"})
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
        source.write("\n".join(json.dumps(r) for r in requests).encode())
        source.seek(0)
        process = start_plain(server, source, target)
        try:
            equal(process.wait(WAIT), 0, "exit status")
        finally:
            process.kill()
        target.seek(0)
        answers = [json.loads(line) for line in target.read().splitlines()]
    equal([a["id"] for a in answers], list(range(500)) + ["last"], "answers")


@suite.test()
def test_devnull_and_closed_stdin():
    server = Server(start=False)
    process = start_plain(server, subprocess.DEVNULL, subprocess.PIPE)
    equal((process.communicate(timeout=WAIT)[0], process.returncode), (b"", 0), "/dev/null")
    process = subprocess.Popen(
        ["sh", "-c", 'exec "$@" <&-', "sh", server_path(), "serve", "--workspace",
         server.workspace, "--state-dir", server.state], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=server.env)
    process.communicate(timeout=WAIT)
    check(process.returncode in (0, 1, 2), "exit status %d" % process.returncode)


@suite.test()
def test_flags_are_given_back():
    """O_NONBLOCK on a shared open file description would break the client's own reads."""
    ours, theirs = socket.socketpair()
    ours.setblocking(True)
    server = Server(start=False)
    check(os.get_blocking(theirs.fileno()), "blocking before")
    process = start_plain(server, theirs, theirs)
    ours.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    ours.settimeout(WAIT)
    check(b'"id":1' in ours.recv(4096).replace(b" ", b""), "answer")
    ours.shutdown(socket.SHUT_WR)
    equal(process.wait(WAIT), 0, "exit status")
    check(os.get_blocking(theirs.fileno()), "the flags were not restored")
    ours.close()
    theirs.close()


@suite.test()
def test_eof_answers_everything():
    server = Server("--set", "server.eof_seconds=1")
    path = server.hostile_path()
    ids = [server.request("process.run", {"command": path, "args": ["ignore"]})
           for _ in range(20)]
    eventually(lambda: server.call("process.list", {"state_filter": "running", "limit": 1})
               ["total"] == 20, WAIT, "not all run")
    for _ in range(20):
        server.run("sleep 60", background=True)
    server.close_input()
    for id in ids:
        answer = server.result(id)
        equal((answer["state"], answer["reason"], answer["exit_code"], answer["survivors"]),
              ("killed", "server_shutdown", None, 0), "answer at the end")
    equal(server.wait_exit(), 0, "exit status")


@suite.test()
def test_no_request_after_sigterm():
    """What arrives after SIGTERM starts nothing, though the server still waits for its reader."""
    server = Server()
    page = {"process_id": server.hostile("pattern", 900000, 1)["process_id"], "stream": "stdout"}
    pid = server.run("sleep 60", background=True)["pid"]
    check(is_alive(pid), "it does not run")
    server.read_paused = True
    server.request("process.logs", page)  # less than what would stop the server from reading
    server.flush()
    server.signal(signal.SIGTERM)
    eventually(lambda: not is_alive(pid), WAIT, "SIGTERM ends no run")
    server.request("process.run", {"command": "touch ran; sleep 60"})
    equal(server.wait_exit(), 0, "exit status")
    check(not os.path.exists(os.path.join(server.workspace, "ran")), "a run after SIGTERM")


@suite.test()
def test_second_sigterm():
    server = Server()
    run = server.hostile("runner", 100000, background=True)
    check(run["process_id"], "run")
    server.signal(signal.SIGTERM)
    server.signal(signal.SIGTERM)
    server.wait_exit()
    equal(server.survivors(), [], "survivors")


@suite.test()
def test_several_servers_at_once():
    """Hosts start throw-away probes: they share a workspace and a state directory."""
    first = Server()
    others = [Server(base=first.base) for _ in range(4)]
    for n, server in enumerate([first] + others):
        equal(server.run("echo %d" % n)["stdout_summary"], "%d\n" % n, "server %d" % n)
    for server in others:
        server.close_input()
        equal(server.process.wait(WAIT), 0, "exit status")
    equal(first.run("echo on")["stdout_summary"], "on\n", "the first one lives")
    first.stop()


if __name__ == "__main__":
    suite.main()
