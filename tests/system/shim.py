#!/usr/bin/env python3
"""Commands that turn on their shim, or on the server itself: calls are answered, nothing stays."""
import os
import re
import resource
import signal
import subprocess
import time

os.environ["PROCPEN_TEST_MODE"] = "bare"  # any layer would keep a command from its shim
from client import STRESS, WAIT, Server, Skip, check, equal, eventually, is_alive, processes_marked
from suite import Suite

suite = Suite()


def said(server, run, word):
    """The number behind @word in what the run printed; None until it has."""
    logs = server.logs(run["process_id"])
    found = re.search(word + r" (\d+)", logs["stdout"])
    check(found or logs["state"] == "running", "%s before it said %s" % (logs["state"], word))
    return found


def stopped_shim(server):
    """A background run that has stopped its shim."""
    run = server.hostile("attack", int(signal.SIGSTOP), background=True)
    number = int(eventually(lambda: said(server, run, "attack"), WAIT, "no attack")[1])
    if number:
        raise Skip("a command cannot stop its shim here: %s" % os.strerror(number))
    return run


def without_descriptors(server, victim, then):
    """A background run that took all descriptors from the shim or the server."""
    run = server.hostile("descriptors", victim, then, background=True)
    number = int(eventually(lambda: said(server, run, "descriptors"), WAIT, "no attack")[1])
    if number:
        raise Skip("a command cannot set limits of its %s here: %s" % (
            victim, os.strerror(number)))
    return run


def gone(server):
    equal(server.survivors(), [], "alive after the end of the server")


@suite.test()
def test_kill_is_answered_when_the_shim_is_stopped():
    """The time counts from the request, not from the shim's report that the signal was sent."""
    for params in ({"signal": "SIGTERM", "force_after": 0.5}, {"signal": "SIGUSR1"}):
        server = Server()
        run = stopped_shim(server)
        id = server.request("process.kill", dict(params, process_id=run["process_id"]))
        message = server.answer(id)
        if params["signal"] == "SIGTERM":
            equal((message["result"]["killed"], message["result"]["survivors"]), (True, 0),
                  "answer")
            eventually(lambda: not server.survivors(0), WAIT, "alive after process.kill")
        else:
            check("result" in message or message["error"]["data"]["type"] == "KillFailed",
                  "answer %s" % message)
        server.ping()
        server.stop()


@suite.test()
def test_stopped_shim_and_a_killed_server():
    server = Server()
    stopped_shim(server)
    server.signal(signal.SIGKILL)
    server.wait_exit()
    gone(server)


@suite.test()
def test_shim_without_descriptors_and_a_killed_server():
    server = Server()
    without_descriptors(server, "shim", "stay")
    server.signal(signal.SIGKILL)
    server.wait_exit()
    gone(server)


@suite.test()
def test_killed_shim_and_a_stopped_server():
    """No process of the run lives on until the server can look for what its shim has left."""
    for options in ([], ["--set", "sandbox.namespaces=false"], ["--set", "sandbox.profile=none"]):
        server = Server(*options)
        run = server.run("sleep", ["100"], background=True)
        with open("/proc/%d/status" % run["pid"], encoding="utf-8") as f:
            shim = int(re.search(r"^PPid:\s*(\d+)$", f.read(), re.M)[1])
        server.signal(signal.SIGSTOP)
        os.kill(shim, signal.SIGKILL)
        eventually(lambda: not is_alive(run["pid"]), WAIT, "the command lives on, with %s" % options)
        server.signal(signal.SIGCONT)
        equal(server.call("process.monitor", {"process_id": run["process_id"], "wait_ms": 30000})["state"],
              "killed", "state")
        server.stop()


@suite.test()
def test_server_without_descriptors_and_a_killed_shim():
    """A server that cannot list processes must not report that none is left."""
    server = Server()
    run = without_descriptors(server, "server", "kill")
    answer = eventually(lambda: ended(server, run), WAIT, "the run has no end")
    left = [pid for pid in processes_marked(server.base) if pid != server.pid]
    kill = server.answer(server.request("process.kill", {"process_id": run["process_id"],
                                                         "signal": "SIGKILL"}))
    for pid in left:  # this test's own: the alarm would end them in a minute
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
    check(answer["state"] != "running", "state %s" % answer["state"])
    said = ("error" in kill and kill["error"]["data"]["type"] == "KillFailed" or
            "result" in kill and kill["result"]["survivors"] > 0)
    check(said or not left, "%d processes live and no answer says so: %s" % (len(left), kill))
    server.close_input()
    equal(server.wait_exit(), 3 if said else 0, "exit status")


def ended(server, run):
    answer = server.call("process.monitor", {"process_id": run["process_id"]})
    return answer if answer["state"] != "running" else None


@suite.test()
def test_leftovers_of_a_killed_shim_are_not_counted():
    """The shim dies: its daemons are killed, and figures that only it had are null."""
    server = Server()
    answer = server.hostile("attack", int(signal.SIGKILL), timeout=20)
    found = re.search(r"attack (\d+)", answer["stdout_summary"])
    if found and int(found[1]):
        raise Skip("a command cannot kill its shim here: %s" % os.strerror(int(found[1])))
    equal((answer["state"], answer["reason"], answer["exit_code"], answer["signal"]),
          ("killed", "supervisor_lost", None, None), "the end")
    equal(answer["leftover"], None, "leftover")
    check([w for w in answer["warnings"] if "resource_usage" in w], "no word about the usage")
    check([w for w in answer["warnings"] if "the shim of this run was killed" in w], "no word why")
    equal((answer["survivors"], server.survivors(0)), (0, []), "survivors")
    server.stop()


class Idle:
    """A process that has nothing to do but to answer, as a measure of what else goes on here."""

    def __enter__(self):
        self.cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        return self

    def ask(self):
        """Seconds that an answer took."""
        start = time.monotonic()
        self.cat.stdin.write(b"x")
        self.cat.stdout.read(1)
        return time.monotonic() - start

    def __exit__(self, *_):
        self.cat.communicate()


def kill_chains(count, seconds):
    """A run of @count chains, which end by themselves after @seconds, is timed out. Its answer."""
    server = Server()
    worst = idle_worst = 0.0
    end = time.monotonic() + 50
    id = server.request("process.run", {"command": server.hostile_path(), "timeout": 0.7,
                                        "args": ["chains", str(count), str(seconds)]})
    with Idle() as idle:
        while not any(m.get("id") == id for m in server.inbox):
            worst = max(worst, server.ping())
            idle_worst = max(idle_worst, idle.ask())
            check(time.monotonic() < end, "no answer to a timeout")
            time.sleep(0.02)
    answer = server.result(id)
    left = server.survivors(0)
    equal(answer["state"], "timed_out", "state")
    check(answer["survivors"] or not left, "alive after the answer: %s" % left)
    server.stop()
    eventually(lambda: not server.survivors(0), WAIT, "alive after the end")
    said = "a ping waited %.2f s, an idle process %.2f s" % (worst, idle_worst)
    print("      " + said)
    check(not STRESS or worst < max(1, 10 * idle_worst), said)
    return answer


@suite.test()
def test_chains_of_runners():
    """Many runners at once do not outrun the kill, and no other request waits for it."""
    equal(kill_chains(20, 60)["survivors"], 0, "survivors")


@suite.test()
def test_flood_of_runners():
    """They use up the processors and die as fast as they can be reaped: calls go on."""
    kill_chains(100, 15)


@suite.test(limit=1200)
def test_end_with_many_runs():
    """EOF with a thousand runs (in make stress again and again): the server ends in order."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 8192:
        raise Skip("a thousand runs need 8192 descriptors, the hard limit is %d" % hard)
    for turn in range(50 if STRESS else 1):
        server = Server("--set", "limits.running_processes=1000",
                        "--set", "limits.requests=1000")
        ids = [server.request("process.run", {"command": "sleep", "args": ["60"],
                                              "background": True}) for _ in range(1000)]
        for id in ids:
            answer = server.answer(id)
            short = answer.get("error", {}).get("data", {}).get("details", {}).get("errno")
            if short in ("EAGAIN", "ENOMEM"):
                raise Skip("a thousand runs at once cannot be started here: %s" % short)
            check("result" in answer, "a start failed: %s" % answer)
        server.close_input()
        equal(server.wait_exit(), 0, "exit status in round %d" % turn)
        equal(server.survivors(), [], "survivors in round %d" % turn)


if __name__ == "__main__":
    suite.main()
