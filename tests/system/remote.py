#!/usr/bin/env python3
"""An engine elsewhere: the lease of a session whose client may be gone without an end of file."""
import os
import signal
import time

from client import Server, check, equal, eventually, is_alive
from suite import Suite

suite = Suite(at_a_time=4)
LEASE = ["--set", "server.lease_ms=1500", "--set", "server.eof_seconds=2"]
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {},
              "clientInfo": {"name": "far", "version": "1"}}


def sleeper(server):
    """The pid of a run that outlives the test."""
    return server.run("sleep 1000", background=True)["pid"]


def pings(server, method):
    """Answer @method until three requests came."""
    for _ in range(3):
        message = server.receive()
        while message and message.get("method") != method:
            message = server.receive()
        check(message, "no %s came" % method)
        server.send({"jsonrpc": "2.0", "id": message["id"], "result": {}})


@suite.test()
def test_a_frozen_client_ends_its_runs():
    server = Server(*LEASE)
    sleeper(server)
    open_run = server.request("process.run", {"command": "echo begun; exec sleep 1000"})
    result = server.result(open_run)
    equal((result["state"], result["reason"], result["stdout_summary"]),
          ("killed", "server_shutdown", "begun\n"), "the open run")
    equal(server.wait_exit(), 0, "exit status")
    equal(server.survivors(), [], "survivors")
    check("server.lease_ms" in server.stderr_text(), server.stderr_text())


@suite.test()
def test_a_frozen_client_that_reads_nothing():
    """The queue to it is full, so no input is read either."""
    server = Server(*LEASE, "--set", "limits.output_queue_bytes=1M")
    pid = sleeper(server)
    server.read_paused = True
    for _ in range(400):
        server.request("tools/list")
    equal(server.process.wait(40), 1, "exit status")
    check(not is_alive(pid), "the run is alive")
    check("server.lease_ms" in server.stderr_text(), server.stderr_text())


@suite.test()
def test_answers_to_pings_keep_the_lease():
    plain = Server(*LEASE)
    plain.call("agent.session", {"ping": True})
    handshake = Server(*LEASE)
    handshake.call("initialize", INITIALIZE)
    handshake.notify("notifications/initialized")
    for server, method in ((plain, "server.ping"), (handshake, "ping")):
        pid = sleeper(server)
        pings(server, method)
        check(is_alive(pid), "the run has ended in spite of the answers")
        equal(server.wait_exit(), 0, "exit status without answers")


@suite.test()
def test_no_ping_without_consent():
    server = Server(*LEASE)
    server.call("agent.session", {"ping": True})
    server.call("agent.session", {"ping": False})
    sleeper(server)
    equal(server.wait_exit(), 0, "exit status")
    equal([m for m in [*server.inbox, *server.notes] if m.get("method") == "server.ping"], [],
          "pings")


@suite.test()
def test_without_runs_there_is_no_lease():
    server = Server("--set", "server.lease_ms=200")
    server.run("true")
    check(server.receive(1.5) is None, "a message without need")
    server.stop()


@suite.test()
def test_a_server_that_was_stopped_hears_its_client_first():
    server = Server(*LEASE)
    pid = sleeper(server)
    server.signal(signal.SIGSTOP)
    time.sleep(2)
    server.request("ping")
    server.signal(signal.SIGCONT)
    server.ping()
    check(is_alive(pid), "the run has ended although the client had written")
    server.stop()


if __name__ == "__main__":
    suite.main()
