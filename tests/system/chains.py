#!/usr/bin/env python3
"""Chains that do nothing but fork, start a session and leave their parent: no kill is outrun.

Where a run has a PID namespace or a control group of its own nothing of them is left, however the
run or the server ends. Where it has neither they may be too many; then that is said.
"""
import fcntl
import json
import os
import re
import signal
import threading
import time
from pathlib import Path

from client import STRESS, WAIT, Server, Skip, check, equal, eventually, is_alive
from suite import Suite

suite = Suite()

PLAIN = ("--set", "sandbox.namespaces=false")
# A mount namespace without control groups; only root can make one.
NO_GROUPS = ("unshare", "-m", "sh", "-c", "umount -R /sys/fs/cgroup; exec \"$@\"", "sh")
AS_USER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
COUNT = 100
PATIENCE = 3 * WAIT  # chains, each with a session of its own, leave a server little of the processors
SECONDS = PATIENCE + 60  # after which they end by themselves: longer than any test waits


class Storm:
    """A server with a background run of chains, or with one that is about to be timed out."""

    def __init__(self, layer, user=False, count=COUNT, seconds=SECONDS):
        args, wrapper = (), ()
        if user and os.geteuid() != 0:
            raise Skip("only root becomes another user")
        if layer != "namespaces":
            args = PLAIN
        if layer == "nothing" and os.geteuid() == 0 and not user:
            wrapper = NO_GROUPS
        self.server = Server(*args, wrapper=wrapper + (AS_USER if user else ()), start=False)
        if user:
            for path in (self.server.base, self.server.workspace, self.server.home):
                os.chown(path, 65534, 65534)
        self.server.start()
        self.user, self.count = user, count
        self.args = ["chains", str(count), str(seconds)]
        layers = self.server.run("true", [])["sandbox"]
        has = {"namespaces": "pid_namespace" in layers,
               "group": any(l.startswith("cgroup:") for l in layers),
               "nothing": not any(l.startswith(("cgroup:", "pid_n")) for l in layers)}
        if not has[layer]:
            self.server.stop()
            raise Skip("runs have another layer here: %s" % ", ".join(layers))

    def start(self):
        run = self.server.hostile(*self.args, background=True)
        eventually(lambda: self.server.logs(run["process_id"])["stdout"], WAIT, "no chains")
        time.sleep(0.2)  # so that they run, and use up both processors
        return run

    def gone(self, what):
        """Scan twice: one scan can miss a chain."""
        for _ in range(2):
            equal(self.server.survivors(), [], "alive after " + what)
            time.sleep(0.2)


def watch(server, run):
    """Calls that look at the tree are answered, although it is another one at each look."""
    for _ in range(2):
        server.call("process.list", {"limit": 1}, PATIENCE)
        state = server.call("process.monitor", {"process_id": run["process_id"]}, PATIENCE)
        equal(state["state"], "running", "state")


def end_by_kill(storm):
    run = storm.start()
    watch(storm.server, run)
    answer = storm.server.call("process.kill", {"process_id": run["process_id"],
                                                "signal": "SIGKILL"}, PATIENCE)
    equal((answer["killed"], answer["survivors"]), (True, 0), "killed, survivors")
    storm.gone("process.kill")
    storm.server.stop()


def end_by_timeout(storm):
    answer = storm.server.hostile(*storm.args, timeout=0.5)
    equal((answer["state"], answer["survivors"]), ("timed_out", 0), "state, survivors")
    check(not [w for w in answer["warnings"] if "shim" in w or "refused" in w],
          "a warning about what the server did itself: %s" % answer["warnings"])
    storm.gone("the timeout")
    storm.server.stop()


def ended(storm):
    """The shim of a user, no real-time process, may not get its turn among 100 sessions in the 3 s
    that the server takes for its end. Then that is said, and the shim goes on."""
    status = storm.server.wait_exit()
    check(status == 0 or (status == 3 and storm.user and storm.count >= COUNT),
          "exit status %d" % status)


def end_by_eof(storm):
    storm.start()
    storm.server.close_input()
    ended(storm)
    storm.gone("the end of the input")


def end_by_term(storm):
    storm.start()
    storm.server.signal(signal.SIGTERM)
    ended(storm)
    storm.gone("SIGTERM")


def end_by_sigkill(storm):
    storm.start()
    storm.server.signal(signal.SIGKILL)
    storm.server.wait_exit()
    storm.gone("SIGKILL of the server")


ENDS = (end_by_kill, end_by_timeout, end_by_eof, end_by_term, end_by_sigkill)


def every_end(layer, user=False):
    """All of them for root's namespace; elsewhere those that go another way, unless there is time."""
    all_ends = STRESS or (layer == "namespaces" and not user)
    for end in ENDS if all_ends else (end_by_kill, end_by_timeout, end_by_sigkill):
        for count in (20, 100, 300) if STRESS else (COUNT,):
            end(Storm(layer, user, count))


@suite.test()
def test_namespace():
    every_end("namespaces")


@suite.test()
def test_namespace_of_a_user():
    every_end("namespaces", user=True)


@suite.test()
def test_group():
    every_end("group")


def group_of(pid):
    """The directory of the control group in which @pid has its pids controller."""
    with open("/proc/%d/cgroup" % pid, encoding="utf-8") as f:
        for line in f:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if "pids" in controllers.split(",") or not controllers:
                for root in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
                    if os.path.exists(root + path + "/pids.max"):
                        return root + path
    raise Skip("the control group of a run cannot be found")


def keep_group(path):
    """A thread that takes the group's lock when its server dies, so that no other server removes it."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    thread = threading.Thread(target=fcntl.flock, args=(fd, fcntl.LOCK_EX), daemon=True)
    thread.start()
    return thread


def forks_after_the_server():
    """pids.max of a run's group after SIGKILL of its server; None: another server was the first to
    take the group's lock, and has removed it."""
    storm = Storm("group")
    run = storm.server.hostile("escape", "stay", background=True)
    eventually(lambda: "ready" in storm.server.logs(run["process_id"])["stdout"], WAIT, "not ready")
    group = group_of(run["pid"])
    keep = keep_group(group)
    storm.server.signal(signal.SIGKILL)
    storm.server.wait_exit()
    storm.gone("SIGKILL of the server")
    keep.join()
    try:
        with open(group + "/pids.max", encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


@suite.test()
def test_shim_alone_ends_all_forks():
    """The server is gone: the shim itself stops all forks in the group."""
    found = None
    for _ in range(5):
        found = found or forks_after_the_server()
    equal(found, "0\n", "pids.max of the run's group")


def shim_of(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return int(re.search(r"^PPid:\s*(\d+)$", f.read(), re.M)[1])


@suite.test()
def test_init_that_is_stopped():
    """A shim that cannot kill is killed, which ends its namespace; nothing was counted then."""
    storm = Storm("namespaces")
    run = storm.server.hostile("escape", "stay", "daemon", "setsid", background=True)
    eventually(lambda: "ready" in storm.server.logs(run["process_id"])["stdout"], WAIT, "not ready")
    shim = shim_of(run["pid"])
    os.kill(shim, signal.SIGSTOP)
    answer = storm.server.call("process.kill", {"process_id": run["process_id"],
                                                "signal": "SIGKILL"})
    equal((answer["killed"], answer["leftover"], answer["survivors"]), (True, None, 0), "answer")
    check(not is_alive(shim), "the shim lives")
    storm.gone("process.kill")
    storm.server.stop()


@suite.test()
def test_group_of_a_stopped_shim():
    """A shim that is stopped: its group is killed, its orphans are found and counted."""
    storm = Storm("group")
    run = storm.server.hostile("escape", "stay", "daemon", "setsid", background=True)
    eventually(lambda: "ready" in storm.server.logs(run["process_id"])["stdout"], WAIT, "not ready")
    os.kill(shim_of(run["pid"]), signal.SIGSTOP)
    answer = storm.server.call("process.kill", {"process_id": run["process_id"],
                                                "signal": "SIGKILL"})
    equal((answer["killed"], answer["survivors"]), (True, 0), "answer")
    storm.gone("process.kill")
    storm.server.stop()


@suite.test()
def test_usage_of_a_shim_that_is_stopped():
    """Usage that was not reported is not made up: the last sample, and a warning."""
    for args in ((), PLAIN):
        server = Server(*args)
        id = server.request("process.run", {"command": "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); "
                                                       "done; echo done; sleep 100"})
        run = eventually(lambda: server.call("process.list")["processes"], WAIT, "no run")[0]
        eventually(lambda: server.logs(run["process_id"])["stdout"], WAIT, "it does not get done")
        pid = eventually(lambda: server.call("process.monitor", run_id(run))["pid"], WAIT, "no pid")
        os.kill(shim_of(pid), signal.SIGSTOP)
        server.call("process.kill", dict(run_id(run), signal="SIGKILL"))
        answer = server.result(id)
        equal((answer["state"], answer["survivors"]), ("killed", 0), "answer")
        check(answer["resource_usage"]["cpu_ms"] > 0, "usage: %s" % answer["resource_usage"])
        check([w for w in answer["warnings"] if "resource_usage" in w], "no word about the usage")
        server.stop()


def run_id(run):
    return {"process_id": run["process_id"]}


@suite.test()
def test_no_limit_struck_that_the_kill_made():
    """Forks that fail because the run is being killed are no limit of the operator's."""
    storm = Storm("group", count=20)
    id = storm.server.request("process.run", {"command": storm.server.hostile_path(),
                                              "args": storm.args, "timeout": 100})
    run = eventually(lambda: storm.server.call("process.list", {"state_filter": "running"})
                     ["processes"], WAIT, "no run")[0]
    eventually(lambda: storm.server.logs(run["process_id"])["stdout"], WAIT, "no chains")
    pid = eventually(lambda: storm.server.call("process.monitor", run_id(run))["pid"], WAIT, "no pid")
    os.kill(shim_of(pid), signal.SIGKILL)
    answer = storm.server.result(id)
    equal([w for w in answer["warnings"] if "refused" in w], [], "warnings")
    storm.gone("the shim's death")
    storm.server.stop()


def stop_record(server):
    """The last line of the audit log."""
    folder = os.path.join(server.state, "audit")
    with open(os.path.join(folder, os.listdir(folder)[0]), encoding="utf-8") as f:
        return json.loads(f.read().splitlines()[-1])


@suite.test()
def test_user_with_neither():
    """Chains of a user with neither layer may live on; then stderr, record and status say so."""
    for end in ("EOF", "SIGTERM"):
        storm = Storm("nothing", user=True, seconds=10)
        storm.start()
        if end == "EOF":
            storm.server.close_input()
        else:
            storm.server.signal(signal.SIGTERM)
        status, record = storm.server.wait_exit(), stop_record(storm.server)
        equal(record["event"], "server_stop", "the last record")
        if status == 0:
            equal((record["survivors"], record["gaps"]), (0, []), "what is recorded")
            storm.gone(end)
            continue
        equal((status, record["gaps"]), (3, ["fork_chains"]), "exit status, gaps")
        check(record["survivors"] > 0, "survivors: %s" % record["survivors"])
        check("fork_chains" in storm.server.stderr_text(), "no word on stderr")


class Freezer:
    """A control group whose processes do not even die."""

    def __init__(self):
        # Not procpen-*: another server that starts removes what looks like a dead server's.
        self.path = "/sys/fs/cgroup/freezer/test-procpen-%d" % os.getpid()

    def __enter__(self):
        try:
            os.mkdir(self.path)
        except OSError as e:
            raise Skip("no freezer of control groups: %s" % e.strerror) from e
        return self

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as f:
            f.write(text)

    def __exit__(self, *_):
        self.write("freezer.state", "THAWED")
        eventually(self.remove, WAIT, "the group cannot be removed")

    def remove(self):
        try:
            os.rmdir(self.path)
            return True
        except OSError:
            return False


@suite.test()
def test_group_without_its_shim():
    """The shim cannot act: the server ends the group. That the processes die proves nothing, because
    they become children of the server, which kills these too; that no fork is allowed any more does.
    A process that cannot die keeps the group until we have looked."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        storm = Storm("group")
        run = storm.server.run("sleep", ["300"], background=True)
        forks, shim = group_of(run["pid"]) + "/pids.max", shim_of(run["pid"])
        with Freezer() as freezer:
            freezer.write("cgroup.procs", str(run["pid"]))
            freezer.write("freezer.state", "FROZEN")
            os.kill(shim, number)
            storm.server.request("process.kill", dict(run_id(run), signal="SIGKILL"))
            eventually(lambda: Path(forks).read_text() == "0\n", WAIT,
                       "forks go on after " + signal.Signals(number).name)
        storm.gone("the kill")
        storm.server.stop()


@suite.test()
def test_late_shim_of_a_killed_group():
    """The shim gets no processor: the server kills the group, and what the shim finds then is no
    count."""
    storm = Storm("group")
    run = storm.server.hostile("escape", "stay", "child", "setsid", background=True)
    eventually(lambda: "ready" in storm.server.logs(run["process_id"])["stdout"], WAIT, "not ready")
    with Freezer() as freezer:
        freezer.write("cgroup.procs", str(shim_of(run["pid"])))
        freezer.write("freezer.state", "FROZEN")
        id = storm.server.request("process.kill", dict(run_id(run), signal="SIGKILL"))
        eventually(lambda: not is_alive(run["pid"]), WAIT, "the group was not killed")
        freezer.write("freezer.state", "THAWED")
        answer = storm.server.result(id)
        storm.server.stop()  # the shim may wait for another command
    equal((answer["killed"], answer["leftover"], answer["survivors"]), (True, None, 0), "answer")
    storm.gone("process.kill")


@suite.test()
def test_what_cannot_be_killed_is_told():
    """A process that does not die: stderr, the record and the exit status say so."""
    for args in ((), PLAIN):
        server = Server(*args)
        run = server.run("sleep", ["300"], background=True)
        with Freezer() as freezer:
            freezer.write("cgroup.procs", str(run["pid"]))
            freezer.write("freezer.state", "FROZEN")
            server.close_input()
            equal(server.wait_exit(), 3, "exit status")
            check("may still be alive" in server.stderr_text(), "no word on stderr")
            record = stop_record(server)
            equal((record["event"], record["gaps"]), ("server_stop", []), "the last record")
            check(record["survivors"] >= 1, "survivors: %s" % record["survivors"])
            check(is_alive(run["pid"]), "it could be killed after all")
        eventually(lambda: not is_alive(run["pid"]), WAIT, "the shim has given up")


@suite.test()
def test_request_whose_run_cannot_be_killed():
    """It is answered when the server ends, and not told to try the same server again."""
    for args in ((), PLAIN):
        server = Server(*args)
        id = server.request("process.run", {"command": "sleep", "args": ["300"]})
        pids = lambda: [r["pid"] for r in server.call("process.list")["processes"] if r["pid"]]
        pid = eventually(pids, WAIT, "no run")[0]
        with Freezer() as freezer:
            freezer.write("cgroup.procs", str(pid))
            freezer.write("freezer.state", "FROZEN")
            server.signal(signal.SIGTERM)
            error = server.answer(id)["error"]
            equal(server.wait_exit(), 3, "exit status")
        equal((error["data"]["type"], error["data"]["retryable"]), ("InternalError", False), str(error))
        eventually(lambda: not is_alive(pid), WAIT, "the shim has given up")


def frozen(server, timeout):
    """A run that cannot die when its time is over: the answer, its pid and its shim. Without these its
    time was over first."""
    id = server.request("process.run", {"command": "sleep", "args": ["300"], "timeout": timeout})
    pids = lambda: [r["pid"] for r in server.call("process.list")["processes"] if r["pid"]]
    over = lambda: any(m.get("id") == id for m in server.inbox)
    pid = eventually(lambda: pids() or over() and [None], WAIT, "no run")[0]
    with Freezer() as freezer:
        try:
            shim = shim_of(pid)
            freezer.write("cgroup.procs", str(pid))
        except (OSError, TypeError):
            return server.result(id), None, None
        freezer.write("freezer.state", "FROZEN")
        answer = server.result(id)
        return (answer, pid, shim) if is_alive(pid) else (answer, None, None)


@suite.test()
def test_run_that_cannot_be_killed_is_answered():
    """A timeout of a process that does not die: an answer that says so; later it is gone."""
    for args in ((), PLAIN):
        server = Server(*args)
        for timeout in (2, 10, 30):  # it must be frozen before
            answer, pid, shim = frozen(server, timeout)
            if pid:
                break
        equal((answer["state"], answer["survivors"]), ("timed_out", 1), "answer")
        eventually(lambda: not is_alive(pid), WAIT, "it lives")
        eventually(lambda: not is_alive(shim), WAIT, "its shim lives")
        now = server.call("process.monitor", {"process_id": answer["process_id"]})
        equal((now["state"], now["alive"]), ("timed_out", None), "nobody counts it any more")
        server.stop()


@suite.test()
def test_shim_that_dies_late():
    """A shim that hangs in the kernel: its run is answered; its orphans are killed later."""
    storm = Storm("nothing")
    run = storm.server.hostile("escape", "stay", "daemon", "setsid", background=True)
    eventually(lambda: "ready" in storm.server.logs(run["process_id"])["stdout"], WAIT, "not ready")
    with Freezer() as freezer:
        freezer.write("cgroup.procs", str(shim_of(run["pid"])))
        freezer.write("freezer.state", "FROZEN")
        answer = storm.server.call("process.kill", dict(run_id(run), signal="SIGKILL"))
        equal((answer["killed"], answer["survivors"]), (False, 1), "answer")
    eventually(lambda: not storm.server.survivors(0), WAIT, "what the shim left is alive")
    storm.server.stop()


if __name__ == "__main__":
    suite.main()
