#!/usr/bin/env python3
"""Nothing survives: every process of a run dies with it, whatever it did to get away."""
import os
import re
import signal
import subprocess
import time

from client import STRESS, WAIT, InnerPid, Server, Skip, check, equal, eventually, is_alive
from suite import Suite

suite = Suite()

KINDS = ["child", "double", "setsid", "group", "ignore", "daemon", "stop", "subreaper", "nowait",
         "rename"]
# Processes that each kind leaves alive beside the leader.
LIVE = {kind: 1 for kind in KINDS}
LIVE.update(subreaper=2, nowait=2)


def escapees(text):
    """Pids that the hostile child reported, by kind."""
    found = re.findall(r"^escapee (\w+) (\d+) (\d+)$", text, re.M)
    return {kind: InnerPid(pid, int(namespace)) for kind, pid, namespace in found}


def start_hostile(server, kinds=KINDS, leader="stay"):
    """A background run with all @kinds of escapees; its record and their pids."""
    run = server.hostile("escape", leader, *kinds, background=True)
    text = eventually(lambda: ready(server, run), WAIT, "the hostile child is not ready")
    pids = escapees(text)
    equal(sorted(pids), sorted(kinds), "escapees that reported themselves")
    return run, pids


def ready(server, run):
    text = server.logs(run["process_id"])["stdout"]
    return text if "ready\n" in text else None


def parent(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])


def all_dead(pids, timeout=20.0):
    eventually(lambda: not [p for p in pids.values() if is_alive(p)], timeout,
               "still alive: %s" % pids)


def live_total(kinds=KINDS):
    return sum(LIVE[kind] for kind in kinds)


@suite.test()
def test_timeout_kills_every_escapee():
    server = Server()
    for timeout in (1.5, 5, 15):  # on a busy machine it takes a while until all have got away
        id = server.request("process.run", {"command": server.hostile_path(), "timeout": timeout,
                                            "args": ["escape", "stay"] + KINDS})
        answer = server.result(id)
        if "ready" in answer["stdout_summary"]:
            break
    pids = escapees(answer["stdout_summary"])
    equal(sorted(pids), sorted(KINDS), "escapees")
    left = {kind: pid for kind, pid in pids.items() if is_alive(pid)}
    equal(left, {}, "alive when the answer came")
    equal((answer["state"], answer["reason"], answer["exit_code"]),
          ("timed_out", "timeout", None), "state")
    equal((answer["leftover"], answer["survivors"]), (live_total(), 0), "leftover, survivors")
    server.stop()


@suite.test()
def test_kill_takes_every_escapee():
    for name, more in (("SIGTERM", {"force_after": 0.5}), ("SIGKILL", {})):
        server = Server()
        run, pids = start_hostile(server)
        answer = server.call("process.kill", dict(more, process_id=run["process_id"],
                                                  signal=name))
        left = {kind: pid for kind, pid in pids.items() if is_alive(pid)}
        equal(left, {}, "alive when the answer to %s came" % name)
        equal((answer["killed"], answer["state"], answer["survivors"]), (True, "killed", 0), name)
        server.stop()


@suite.test()
def test_each_escapee_alone():
    server = Server()
    for kind in KINDS:
        run, pids = start_hostile(server, [kind])
        answer = server.call("process.kill", {"process_id": run["process_id"],
                                              "signal": "SIGKILL"})
        equal([p for p in pids.values() if is_alive(p)], [], "%s alive after the answer" % kind)
        equal((answer["leftover"], answer["survivors"]), (LIVE[kind], 0),
              "%s: leftover, survivors" % kind)
    server.stop()


@suite.test()
def test_cancel_kills_every_escapee():
    server = Server()
    id = server.request("process.run", {"command": server.hostile_path(),
                                        "args": ["escape", "stay"] + KINDS})
    run = eventually(lambda: server.call("process.list")["processes"], WAIT, "no run")[0]
    text = eventually(lambda: ready(server, run), WAIT, "not ready")
    server.notify("$/cancelRequest", {"id": id})
    answer = server.result(id)
    equal((answer["state"], answer["reason"]), ("killed", "cancelled"), "state")
    equal([k for k, p in escapees(text).items() if is_alive(p)], [], "alive when the answer came")
    server.stop()


@suite.test()
def test_leader_gone_leftovers_listed_and_killed():
    server = Server()
    answer = server.hostile("escape", "leave", *KINDS)
    pids = escapees(answer["stdout_summary"])
    equal((answer["state"], answer["exit_code"]), ("completed", 0), "state")
    equal((answer["leftover"], answer["survivors"]), (live_total(), 0), "leftover, survivors")
    check(answer["warnings"], "leftovers without a warning")
    equal([k for k, p in pids.items() if not is_alive(p)], [], "dead before anybody killed them")
    killed = server.call("process.kill", {"process_id": answer["process_id"]})
    equal((killed["killed"], killed["state"], killed["leftover"], killed["survivors"]),
          (True, "completed", live_total(), 0), "process.kill of leftovers")
    equal([k for k, p in pids.items() if is_alive(p)], [], "alive when the answer came")
    server.stop()


@suite.test()
def test_pipe_held_by_grandchild():
    server = Server()
    go = os.path.join(server.workspace, "go")
    answer = server.hostile("hold", go, 7)  # before there is such a file
    equal((answer["exit_code"], answer["stdout_summary"], answer["leftover"]),
          (7, "leader\n", 1), "answer")
    open(go, "w", encoding="utf-8").close()
    eventually(lambda: server.logs(answer["process_id"])["stdout"] == "leader\nlate\n", WAIT,
               "late output is missing")
    server.call("process.kill", {"process_id": answer["process_id"]})
    server.stop()


def end_with(finish, status=0):
    """A server with foreground and background hostile jobs is ended by @finish."""
    server = Server()
    run, pids = start_hostile(server)
    left = server.hostile("escape", "leave", *KINDS)
    pids.update(("left " + k, p) for k, p in escapees(left["stdout_summary"]).items())
    for _ in range(5):
        server.run("sleep 60", background=True)
    equal([k for k, p in pids.items() if not is_alive(p)], [], "dead too early")
    finish(server)
    equal(server.wait_exit(), status, "exit status")
    all_dead(pids)
    equal(server.survivors(), [], "survivors")


@suite.test()
def test_eof_leaves_nothing():
    end_with(lambda s: s.close_input())


@suite.test()
def test_sigterm_leaves_nothing():
    end_with(lambda s: s.signal(signal.SIGTERM))


@suite.test()
def test_sigint_leaves_nothing():
    end_with(lambda s: s.signal(signal.SIGINT))


@suite.test()
def test_sigkill_leaves_nothing():
    end_with(lambda s: s.signal(signal.SIGKILL), -signal.SIGKILL)


@suite.test()
def test_client_gone_leaves_nothing():
    """The host dies: both pipes close at once."""
    def vanish(server):
        server.close_output()
        server.close_input()
    end_with(vanish)


@suite.test()
def test_as_hosts_stop():
    """SIGTERM and EOF together, SIGKILL 35 ms later."""
    def finish(server):
        server.signal(signal.SIGTERM)
        server.close_input()
        time.sleep(0.035)
        server.signal(signal.SIGKILL)
    server = Server()
    run, pids = start_hostile(server)
    finish(server)
    server.wait_exit()
    all_dead(pids)
    equal(server.survivors(), [], "survivors")


@suite.test()
def test_sigkill_during_starts():
    """The server dies while runs are being started, many times."""
    for i in range(30 if STRESS else 6):
        server = Server()
        for n in range(40):
            server.request("process.run", {"command": "setsid sleep 60 & exec sleep 60",
                                           "background": n % 2 == 0})
        time.sleep(0.003 * (i % 10))
        server.signal(signal.SIGKILL)
        server.wait_exit()
        equal(server.survivors(), [], "survivors, round %d" % i)


IGNORES_ITS_CHILDREN = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(200):
    if not os.fork():
        time.sleep(300)
        os._exit(0)
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print("ready", flush=True)
time.sleep(300)
"""


@suite.test()
def test_more_than_can_be_looked_at():
    """Who is killed beside a parent that ignores SIGCHLD is collected by the kernel; the shim looks at
    so many and no more. An answer that has a number has the right one."""
    server = Server()
    run = server.run("python3", ["-c", IGNORES_ITS_CHILDREN], background=True)
    eventually(lambda: ready(server, run), WAIT, "no children")
    answer = server.call("process.kill", {"process_id": run["process_id"], "signal": "SIGKILL"})
    check(answer["leftover"] in (None, 200), "leftover: %s" % answer["leftover"])
    equal((answer["killed"], answer["survivors"]), (True, 0), "killed, survivors")
    server.stop()


@suite.test()
def test_runner_is_caught():
    """A chain that forks, starts a new session and leaves its parent, as fast as it can."""
    server = Server()
    for _ in range(20 if STRESS else 4):
        run = server.hostile("runner", 100000, background=True)
        eventually(lambda: "running" in server.logs(run["process_id"])["stdout"], WAIT, "no start")
        time.sleep(0.1)
        answer = server.call("process.kill", {"process_id": run["process_id"],
                                              "signal": "SIGKILL"})
        equal((answer["killed"], answer["survivors"]), (True, 0), "kill of a runner")
        equal(server.survivors(), [], "alive after the kill")
    server.stop()


@suite.test()
def test_runner_dies_with_the_server():
    for number in (signal.SIGTERM, signal.SIGKILL):
        server = Server()
        run = server.hostile("runner", 100000, background=True)
        eventually(lambda: "running" in server.logs(run["process_id"])["stdout"], WAIT, "no start")
        server.signal(number)
        server.wait_exit()
        equal(server.survivors(), [], "survivors of %d" % number)


def attacked(server, run):
    logs = server.logs(run["process_id"])
    return logs["state"] if "attack" in logs["stdout"] or logs["state"] != "running" else None


@suite.test()
def test_job_attacks_its_shim():
    """The job signals its parent if the kernel permits it: still nothing is left at the end."""
    for number in (signal.SIGKILL, signal.SIGSTOP):
        server = Server()
        run = server.hostile("attack", int(number), background=True)
        # Without its shim the whole run may be killed before it can report.
        text = eventually(lambda: attacked(server, run), WAIT, "the attack did not report")
        server.ping()
        id = server.request("process.kill", {"process_id": run["process_id"],
                                             "signal": "SIGKILL"})
        message = server.answer(id)
        if "result" in message:
            equal(message["result"]["survivors"], 0, "survivors after %s" % text)
        else:
            equal(message["error"]["data"]["type"], "ProcessAlreadyExited", "answer")
        eventually(lambda: not server.survivors(0), WAIT, "alive after the kill (%s)" % text)
        again = server.run("echo still here")
        equal(again["stdout_summary"], "still here\n", "the next run")
        server.stop()


@suite.test()
def test_stopped_shim_at_the_end():
    """A job that stopped its shim does not keep the server from ending."""
    server = Server()
    run = server.hostile("attack", int(signal.SIGSTOP), background=True)
    eventually(lambda: "attack" in server.logs(run["process_id"])["stdout"], WAIT, "no report")
    server.close_input()
    equal(server.wait_exit(), 0, "exit status")  # the job would live for longer than we wait
    equal(server.survivors(), [], "survivors")


@suite.test()
def test_no_zombies():
    server = Server()
    for _ in range(20):
        server.run("sleep 0.01 & true")
    server.hostile("escape", "leave", "double", "daemon")
    for record in server.call("process.list", {"limit": 100})["processes"]:
        server.answer(server.request("process.kill", {"process_id": record["process_id"]}))

    def zombies():
        found = []
        for name in os.listdir("/proc"):
            try:
                with open("/proc/%s/stat" % name) as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if fields[0] == "Z" and int(fields[1]) == server.pid:
                found.append(name)
        return found
    eventually(lambda: not zombies(), WAIT, "zombies of the server")
    server.stop()


# Becomes the server after it has started a child of its own, and one that leaves a grandchild.
FOREIGN = """
sleep 300 & echo $! >child
(sleep 300 & echo $! >grandchild; while test ! -e on; do sleep 0.02; done) &
exec "$@"
"""


@suite.test()
def test_processes_of_others_stay():
    """The hunt for what a dead shim has left takes no process that the server did not start."""
    with open("/proc/self/status", encoding="ascii") as f:
        if "NoNewPrivs:\t1" in f.read():
            raise Skip("every process here has no_new_privs")
    server = Server("--set", "sandbox.namespaces=false",
                    wrapper=["/bin/sh", "-c", FOREIGN, "sh"])
    pids = []
    for name in ("child", "grandchild"):
        path = os.path.join(server.workspace, name)
        pids.append(int(eventually(lambda: os.path.exists(path) and open(path).read().strip(), WAIT,
                                   "no " + name)))
    run = server.run("sleep 300 & sleep 300", background=True)
    with open(os.path.join(server.workspace, "on"), "w", encoding="ascii"):
        pass
    eventually(lambda: parent(pids[1]) == server.pid, WAIT, "the grandchild is not adopted")
    os.kill(parent(run["pid"]), signal.SIGKILL)
    ended = server.call("process.monitor", {"process_id": run["process_id"], "wait_ms": 20000})
    equal((ended["reason"], is_alive(run["pid"])), ("supervisor_lost", False), "the run")
    check(all(map(is_alive, pids)), "killed as well: %s" % [p for p in pids if not is_alive(p)])
    server.close_input()
    equal(server.wait_exit(), 0, "exit status")
    check(all(map(is_alive, pids)), "killed at the end")
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@suite.test()
def test_a_stop_of_a_traced_command_is_no_end():
    server = Server()
    answer = server.hostile("traced")
    equal((answer["state"], answer["exit_code"], answer["leftover"]), ("completed", 5, 0),
          "state, exit code, leftover")
    check(answer["duration_ms"] >= 200, "it was called over while it ran")
    server.stop()


def is_real_time(pid):
    return os.sched_getscheduler(pid) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO


def filters(pid):
    """How many filters of system calls a process has."""
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        found = re.search(r"^Seccomp_filters:\s*(\d+)$", f.read(), re.M)
    return int(found[1]) if found else 0


def makes_work(server, kind, quiet):
    """Can processes of runs like @quiet make their shim work at will?"""
    if kind == "jobs":
        return True
    if kind == "stops":
        return server.hostile("traced")["exit_code"] != 3
    other = server.run("sleep", ["300"], background=True)
    return filters(quiet["pid"]) > filters(other["pid"]) and "seccomp:default" in other["sandbox"]


@suite.test()
def test_shim_that_is_kept_busy():
    """A real-time shim takes its turn like any other process, once its run makes work for it without
    end. Calls are answered, and a kill is whole."""
    tried = []
    for kind, params in (("stops", {}), ("jobs", {}), ("sockets", {"network": False})):
        server = Server()
        quiet = server.run("sleep", ["300"], background=True, **params)
        if is_real_time(parent(quiet["pid"])) and makes_work(server, kind, quiet):
            run = server.hostile("busy", kind, 20, background=True, **params)
            shim = parent(run["pid"])
            eventually(lambda: server.logs(run["process_id"])["stdout"].count("busy") == 20, WAIT,
                       "not all are busy")
            eventually(lambda: not is_real_time(shim), WAIT, "real-time with endless " + kind)
            server.ping()
            check(is_real_time(parent(quiet["pid"])), "the shim of another run was lowered")
            answer = server.call("process.kill", {"process_id": run["process_id"],
                                                  "signal": "SIGKILL"})
            equal((answer["killed"], answer["survivors"]), (True, 0), "killed, survivors")
            # Without a turn for the shim in 50 ms the server kills, which cannot count.
            check(answer["leftover"] in (20, None), "leftover: %s" % answer["leftover"])
            tried.append(kind)
        server.stop()
    if not tried:
        raise Skip("no shim is real-time here, or no run can make work for it")


# A user, and a /proc that shows him only what he may trace. Linux 5.8 is the first whose mounts of /proc
# have options of their own, and that knows this word.
HIDING = ("unshare", "-m", "sh", "-c", "mount -t proc -o hidepid=ptraceable proc /proc && exec "
          "setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"", "sh")
# As an agent that keeps keys: nobody may trace it.
AGENT = """
import ctypes, os, signal, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
os.setsid()
signal.signal(signal.SIGTERM, lambda *_: open("asked", "w").close())
open("ready", "w").close()
while not os.path.exists("asked"):
    time.sleep(0.05)  # a pause(2) would miss a signal that came right before it
"""


@suite.test()
def test_hidden_processes_are_neither_denied_nor_forgotten():
    """/proc shows nothing of a process that a command has left: it counts, and gets the signal."""
    if os.geteuid() != 0 or subprocess.run([*HIDING, "true"], capture_output=True).returncode:
        raise Skip("needs root, and a kernel that mounts /proc with hidepid=ptraceable")
    server = Server("--set", "sandbox.namespaces=false", wrapper=HIDING, start=False)
    for path in (server.base, server.workspace, server.home):
        os.chown(path, 65534, 65534)
    server.start()
    answer = server.run("/usr/bin/python3 -c '%s' & until [ -e ready ]; do sleep 0.01; done"
                        % AGENT)
    equal(answer["leftover"], None, "leftover, of which no more than its own process can be seen")
    check([w for w in answer["warnings"] if "at least 1 process of it still runs" in w],
          "warnings: %s" % answer["warnings"])
    killed = server.call("process.kill", {"process_id": answer["process_id"], "force_after": 600})
    equal((killed["killed"], killed["signal_sent"], killed["forced"]), (True, "SIGTERM", False),
          "the kill")
    check(os.path.exists(os.path.join(server.workspace, "asked")), "it did not get SIGTERM")
    server.stop()


if __name__ == "__main__":
    suite.main()
