#!/usr/bin/env python3
"""process.kill gives every process of a run its time to end; SIGKILL comes when that is over."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from client import (STRESS, WAIT, Server, Skip, check, equal, eventually, held_up, is_alive,
                    processes_marked, traced)
from suite import Suite

suite = Suite(at_a_time=5)

USER = 65534
PYTHON = "/usr/bin/python3"

# Says that it is ready, and saves its file when it is asked to end: that takes half a second. With a
# third word it is not the command's child any more, but a daemon in a session of its own, and ready
# when those between them have ended.
SAVE = """
import os, signal, sys, time
name, number = sys.argv[1], getattr(signal, sys.argv[2])
if sys.argv[3:]:
    for _ in range(2):
        parent = os.getpid()
        if os.fork():
            os._exit(0)
        while os.getppid() == parent:
            time.sleep(0.01)
        os.setsid()
def save(*_):
    time.sleep(0.5)
    with open(name + ".saved", "w") as f:
        f.write("saved")
    os._exit(0)
signal.signal(number, save)
with open(name + ".ready", "w") as f:
    f.write(str(os.getpid()))
while True:
    time.sleep(0.05)  # a pause(2) would miss a signal that came right before it
"""


def saver(name="app", number="SIGTERM"):
    return "%s save.py %s %s" % (PYTHON, name, number)


FORMS = {
    "plain": lambda save: {"command": save},
    "after_cd": lambda save: {"command": "cd . && " + save},
    "before_more": lambda save: {"command": save + "; true"},
    "pipeline": lambda save: {"command": save + " | cat"},
    "bash": lambda save: {"command": "bash -c '%s; true'" % save},
    "subshells": lambda save: {"command": "sh -c '(sh -c \"%s; true\"); true'; true" % save},
    "npm": lambda save: {"command": "npm start --silent --no-update-notifier"},
    "make": lambda save: {"command": "make -s run"},
    "argv": lambda save: {"command": save.split()[0], "args": save.split()[1:]},
    "exec": lambda save: {"command": "exec " + save},
    "daemon": lambda save: {"command": save + " daemon; sleep 100"},
}
PATH = "/usr/local/bin:/usr/bin:/bin"  # where other users get at programs as well
NEEDS = ("npm", "make", "bash")

# How the server is started, and as whom.
MODES = {
    "default": ([], 0),
    "no_namespaces": (["--set", "sandbox.namespaces=false"], 0),
    "no_sandbox": (["--set", "sandbox.profile=none"], 0),
    "not_ahead": (["--set", "sandbox.ahead=false"], 0),
    "user": ([], USER),
    "user_no_namespaces": (["--set", "sandbox.namespaces=false"], USER),
    "user_no_sandbox": (["--set", "sandbox.profile=none"], USER),
}


class Place:
    """A server of @mode; its workspace has the programs, as files and as targets of tools."""

    def __init__(self, mode="default", *more):
        options, user = MODES[mode]
        self.mode = mode
        if user and os.geteuid() != 0:
            raise Skip("only root can become another user")
        if user and not shutil.which("setpriv"):
            raise Skip("setpriv is not installed")
        self.base = tempfile.mkdtemp(prefix="procpen-grace-", dir="/var/tmp")
        os.chmod(self.base, 0o755)
        self.workspace = os.path.join(self.base, "workspace")
        os.mkdir(self.workspace)
        os.mkdir(os.path.join(self.base, "home"))
        self.write("save.py", SAVE)
        self.write("Makefile", "run:\n\t%s\n" % saver("make"))
        self.write("package.json", json.dumps({"name": "app", "version": "1.0.0",
                                               "scripts": {"start": saver("npm")}}))
        for folder, _, names in os.walk(self.base):
            for path in [folder] + [os.path.join(folder, n) for n in names]:
                if user:
                    os.chown(path, user, user)
        wrapper = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups",
                   "--"] if user else []
        self.server = Server(*options, *more, base=self.base, wrapper=wrapper,
                             env={"PATH": PATH})

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.server.stop()
            equal(self.server.survivors(), [], "alive after the end")
        else:
            self.server.destroy()
        shutil.rmtree(self.base, ignore_errors=True)

    def write(self, name, text):
        with open(os.path.join(self.workspace, name), "w", encoding="utf-8") as f:
            f.write(text)

    def has(self, name):
        return os.path.exists(os.path.join(self.workspace, name))

    def read(self, name):
        with open(os.path.join(self.workspace, name), encoding="utf-8") as f:
            return f.read()

    def start(self, *ready, **params):
        """A run in the background whose programs @ready are."""
        for name in ready:
            for file in (name + ".ready", name + ".saved"):
                if self.has(file):
                    os.remove(os.path.join(self.workspace, file))
        run = self.server.call("process.run", dict(params, background=True))
        for name in ready:
            eventually(lambda name=name: self.has(name + ".ready"), WAIT, name + " is not ready")
        return run["process_id"]

    def ask(self, process_id, **params):
        return self.server.request("process.kill", dict(params, process_id=process_id))

    def kill(self, process_id, **params):
        return self.server.result(self.ask(process_id, **params))

    def monitor(self, process_id, **params):
        return self.server.call("process.monitor", dict(params, process_id=process_id))

    def over(self, process_id):
        record = self.monitor(process_id, wait_ms=int(WAIT * 1000))
        equal(record["alive"], 0, "alive at the end")
        return record


def check_graceful(place, answer, what, sent="SIGTERM", name="app"):
    """All of it was asked, and needed nothing else."""
    equal((answer["killed"], answer["signal_sent"], answer["forced"], answer["pending"],
           answer["state"], answer["reason"], answer["survivors"], answer["alive"]),
          (True, sent, False, False, "killed", "killed_by_request", 0, 0), what)
    check(answer["waited_ms"] >= 400, "%s: waited %d ms" % (what, answer["waited_ms"]))
    check(place.has(name + ".saved"), what + ": the file is not saved")


def each_mode(function):
    for mode in MODES:
        def one(mode=mode):
            with Place(mode) as place:
                function(place)
        one.__name__ = "%s_%s" % (function.__name__, mode)
        suite.test()(one)
    return function


@each_mode
def test_file_is_saved_in_every_form(place):
    """Whatever started the program; all at once, and none disturbs another."""
    missing = [program for program in NEEDS if not shutil.which(program, path=PATH)]
    few = [] if STRESS or place.mode in ("default", "user_no_namespaces") else ["npm"]  # starts long
    runs = {form: place.start(form, **params(saver(form))) for form, params in FORMS.items()
            if form not in missing + few}
    asked = {form: place.ask(p, force_after=30) for form, p in runs.items()}
    for form, id in asked.items():
        check_graceful(place, place.server.result(id), form, name=form)
        record = place.monitor(runs[form])
        equal((record["state"], record["exit_code"], record["alive"]), ("killed", None, 0), form)
    if missing:
        raise Skip("not installed: " + ", ".join(missing))


@each_mode
def test_force_after_takes_the_rest_only(place):
    """One saves, one ignores the signal: the first has its grace, SIGKILL ends the second."""
    for force_after in (3, 12, 30):  # half a second is all that it needs, on a machine that is idle
        p = place.start("app", command="rm -f deaf; (trap '' TERM; : >deaf; sleep 100; sleep 100) & "
                        "until [ -e deaf ]; do sleep 0.02; done; " + saver())
        answer = place.kill(p, force_after=force_after)
        if place.has("app.saved"):
            break
    check(place.has("app.saved"), "the file is not saved")
    equal((answer["killed"], answer["signal_sent"], answer["forced"], answer["survivors"],
           answer["alive"]), (True, "SIGKILL", True, 0, 0), "answer")


LIVES_ON = "trap '' TERM; touch app.ready; while :; do sleep 0.1; [ -e end ] && exit 5; done"


@each_mode
def test_never_forced(place):
    """force_after 0: the answer counts the live processes, and no SIGKILL follows."""
    p = place.start("app", command=LIVES_ON)
    answer = place.kill(p, force_after=0)
    equal((answer["killed"], answer["signal_sent"], answer["forced"], answer["pending"],
           answer["state"]), (False, "SIGTERM", False, False, "running"), "answer")
    check(answer["alive"] >= 1, "%s alive" % answer["alive"])
    place.write("end", "")
    record = place.monitor(p, wait_ms=30000)
    equal((record["state"], record["reason"], record["exit_code"]), ("completed", "exited", 5),
          "it lived on and ended by itself")


def stat_of(pid):
    """What /proc says of it, from its state on."""
    with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
        return f.read().rsplit(")", 1)[1].split()


@suite.test()
def test_never_forced_by_a_late_shim():
    """Once the answer says that the run lives on, its end is its own, however late the signal was."""
    with Place() as place:
        late = True
        while late:
            place.write("end", "")
            os.remove(os.path.join(place.workspace, "end"))
            p = place.start("app", command=LIVES_ON)
            shim = int(stat_of(place.monitor(p)["pid"])[1])
            os.kill(shim, signal.SIGSTOP)
            began = time.monotonic()
            asked = place.ask(p, force_after=0)
            time.sleep(0.7)
            os.kill(shim, signal.SIGCONT)
            late = time.monotonic() - began > 1.5  # after 2 s the answer no longer waits for it
            answer = place.server.result(asked)
            place.write("end", "")
            record = place.over(p)
        equal((answer["killed"], answer["signal_sent"], answer["state"]),
              (False, "SIGTERM", "running"), "answer")
        equal((record["state"], record["reason"], record["exit_code"]), ("completed", "exited", 5),
              "the end of its own")


@suite.test()
def test_repeated_kill_that_comes_too_late():
    """The run is gone because it was killed: whoever repeats the kill reads that too, also when nothing
    was left for its own signal."""
    with Place() as place:
        p = place.start("app", command="trap 'until [ -e end ]; do sleep 0.02; done; exit 0' TERM; "
                        "touch app.ready; while :; do sleep 0.05; done")
        command = place.monitor(p)["pid"]
        shim = int(stat_of(command)[1])
        first = place.ask(p, force_after=600)
        place.kill(p, force_after=600, wait_ms=0)  # both signals were sent
        os.kill(shim, signal.SIGSTOP)
        place.write("end", "")
        eventually(lambda: stat_of(command)[0] == "Z", WAIT, "it does not end")
        second = place.ask(p, signal="INT")
        place.server.ping()
        os.kill(shim, signal.SIGCONT)
        for asked, sent in ((first, "SIGTERM"), (second, None)):
            answer = place.server.result(asked)
            equal((answer["killed"], answer["signal_sent"], answer["forced"], answer["pending"],
                   answer["state"], answer["reason"], answer["alive"]),
                  (True, sent, False, False, "killed", "killed_by_request", 0), str(sent))


def name_of(pid):
    """Its name; "" when it has ended."""
    try:
        with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""


@each_mode
def test_daemon_lives_on_after_other_signals(place):
    """INT, HUP and QUIT go to the group and never escalate: the answer says what lives on."""
    for name in ("INT", "HUP", "QUIT"):
        p = place.start("app", command="(setsid %s &); exec sleep 100" % saver())
        # A shell that still waits for its subshell lives on after INT, and then starts the next.
        eventually(lambda: name_of(place.monitor(p)["pid"]) == "sleep", WAIT, "it is no sleep")
        answer = place.kill(p, signal=name)
        equal((answer["killed"], answer["signal_sent"], answer["forced"], answer["pending"]),
              (False, "SIG" + name, False, False), name)
        # On a busy machine the answer comes before the command has died.
        record = place.monitor(p, wait_ms=int(WAIT * 1000))
        equal((record["state"], record["alive"]), ("killed", 1), name)
        if answer["state"] == "killed":
            equal((answer["leftover"], answer["survivors"], answer["alive"]), (1, 0, 1), name)
        check(not place.has("app.saved"), name + " has reached who is not in the group")
        answer = place.kill(p)
        equal((answer["killed"], answer["state"], answer["alive"]), (True, "killed", 0), name)
        check(place.has("app.saved"), name + ": the file is not saved")


@each_mode
def test_other_signals_with_a_deadline(place):
    """Then they go to every process, as SIGTERM does."""
    p = place.start("app", command="(setsid %s &); exec sleep 100" % saver("app", "SIGINT"))
    eventually(lambda: name_of(place.monitor(p)["pid"]) == "sleep", WAIT, "it is no sleep")
    check_graceful(place, place.kill(p, signal="INT", force_after=30), "SIGINT", "SIGINT")
    p = place.start("app", command="trap '' USR1; touch app.ready; %s" % saver("x", "SIGUSR2"))
    answer = place.kill(p, signal="USR1", force_after=0.2)
    equal((answer["killed"], answer["signal_sent"], answer["forced"], answer["state"]),
          (True, "SIGKILL", True, "killed"), "SIGUSR1 without a receiver")


@each_mode
def test_leftovers_have_their_time_too(place):
    p = place.start("app", command=saver() + " daemon; until [ -e app.ready ]; do sleep 0.01; done; exit 3")
    place.monitor(p, wait_ms=30000)
    answer = place.kill(p, force_after=30)
    check(place.has("app.saved"), "the file is not saved")
    equal((answer["killed"], answer["signal_sent"], answer["forced"], answer["state"],
           answer["reason"], answer["leftover"], answer["alive"]),
          (True, "SIGTERM", False, "completed", "exited", 1, 0), "answer")
    equal(place.monitor(p)["exit_code"], 3, "exit code")


@each_mode
def test_forking_while_it_is_signalled(place):
    """A child born before its parent takes the signal gets it too."""
    server = place.server
    for i in range(6):
        run = server.hostile("births", background=True)
        eventually(lambda: "ready" in server.logs(run["process_id"])["stdout"], WAIT, "not ready")
        time.sleep(0.02 * i)
        answer = place.kill(run["process_id"], force_after=30)
        equal((answer["killed"], answer["signal_sent"], answer["forced"], answer["alive"]),
              (True, "SIGTERM", False, 0), "answer")


@each_mode
def test_what_a_handler_starts_is_left_alone(place):
    """A process that a handler starts gets no signal: each process is signalled once."""
    place.write("late.sh", "trap 'for i in 1 2 3 4 5 6 7 8 9; do sleep 0.01 || echo hit; done; "
                           "echo end; exit 0' TERM; touch $1.ready; while :; do sleep 0.05; done")
    for _ in range(3):
        p = place.start("in", "out", command="setsid sh late.sh out & sh late.sh in; true")
        answer = place.kill(p, force_after=30)
        equal((answer["killed"], answer["forced"]), (True, False), "answer")
        equal(place.server.logs(p)["stdout"], "end\nend\n", "two handlers")


@each_mode
def test_stopped_processes_can_save(place):
    p = place.start("app", "other", command="(setsid %s &); %s; true" % (saver("other"), saver()))
    equal(place.kill(p, signal="STOP")["state"], "running", "stopped")
    answer = place.kill(p, force_after=30)
    check_graceful(place, answer, "stopped")
    check(place.has("other.saved"), "the other file is not saved")


def states_of_run(place):
    """As /proc has them, of what the only run has started."""
    found = []
    for pid in set(processes_marked(place.base)) - {place.server.pid}:
        with contextlib.suppress(OSError), open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            found.append(f.read().rsplit(")", 1)[1].split()[0])
    return found


@each_mode
def test_who_is_to_stop_is_not_woken(place):
    """SIGCONT comes behind a signal with a deadline, but for one that stops."""
    p = place.start(command="(setsid sleep 100 &); sleep 100 & exec sleep 100")
    eventually(lambda: len(states_of_run(place)) == 3, WAIT, "not all have begun")
    stop = place.ask(p, signal="STOP", force_after=3000)
    eventually(lambda: set(states_of_run(place)) == {"T"}, WAIT, "not all are stopped")
    equal(place.kill(p, signal="KILL")["killed"], True, "killed")
    equal(place.server.result(stop)["signal_sent"], "SIGKILL", "the answer to the first call")


@each_mode
def test_next_run_of_the_shim_is_left_alone(place):
    """A deadline ends with its run and does not hit the next run of the same shim."""
    for _ in range(3):
        p = place.start(command="exec sleep 100")
        equal(place.kill(p, force_after=1)["forced"], False, "forced")
    answer = place.server.run("sleep 2; echo on")
    equal((answer["state"], answer["stdout_summary"]), ("completed", "on\n"), "the next run")


def throttled(mode):
    with Place(mode) as place:
        p = place.start("app", cpu_limit=0.1,
                        command="%s & while :; do :; done" % saver())
        time.sleep(0.3)
        answer = place.kill(p, force_after=60)
        check_graceful(place, answer, "cpu_limit")


@suite.test()
def test_throttled_process_gets_its_time():
    throttled("default")


@suite.test()
def test_throttled_process_gets_its_time_as_user():
    throttled("user")


@suite.test()
def test_throttled_process_gets_its_time_without_namespaces():
    throttled("user_no_namespaces")


# ---------------------------------------------------------------- the answer and the deadline

@suite.test()
def test_answer_comes_first():
    """wait_ms bounds the answer and not the grace."""
    with Place() as place:
        p = place.start("app", command=saver() + "; true")
        answer = place.kill(p, force_after=30, wait_ms=0)
        equal((answer["killed"], answer["signal_sent"], answer["forced"], answer["pending"],
               answer["state"]), (False, "SIGTERM", False, True, "running"), "answer")
        check(answer["alive"] >= 1, "%s alive" % answer["alive"])
        equal(place.monitor(p)["ended_at"], None, "ended_at of a run that is not over")
        record = place.over(p)
        equal((record["state"], record["exit_code"]), ("killed", None), "its end")
        check(place.has("app.saved"), "the file is not saved")

        p = place.start("app", command="trap '' TERM; touch app.ready; while :; do sleep 1; done")
        answer = place.kill(p, force_after=1, wait_ms=100)
        equal((answer["pending"], answer["forced"]), (True, False), "answer")
        record = place.over(p)
        equal((record["state"], record["signal"]), ("killed", "SIGKILL"), "its end")

        p = place.start(command="exec sleep 100")
        answer = place.kill(p, force_after=30, wait_ms=20000)
        equal((answer["killed"], answer["pending"]), (True, False), "its end came first")


@suite.test()
def test_ten_seconds_by_default():
    with Place() as place:
        p = place.start("app", command="trap '' TERM; touch app.ready; while :; do sleep 1; done")
        answer = place.kill(p, wait_ms=8000)
        equal((answer["pending"], answer["forced"]), (True, False), "answer after 8 s")
        record = place.monitor(p, wait_ms=9000, until="exit")
        equal((record["state"], record["signal"]), ("killed", "SIGKILL"), "its end within 17 s")


def shim_of(server, name="bash"):
    """Of the only run, whose processes called @name are its children. None: it is over."""
    for pid in processes_marked(server.base):
        with contextlib.suppress(OSError):  # it has just ended
            with open("/proc/%d/status" % pid, encoding="utf-8") as f:
                shim = int(re.search(r"^PPid:\s*(\d+)", f.read(), re.M)[1])
            if name_of(pid) == name and name_of(shim).startswith("procpen-shim"):
                return shim
    return None


@suite.test()
def test_signal_before_the_time_was_over():
    """A timeout is not the end of a run that had its signal before, of which a server that was stopped
    has yet to read."""
    server = Server()
    has = lambda name: os.path.exists(os.path.join(server.workspace, name))
    for timeout in (3, 10, 30):  # a busy machine may take as long before the server is stopped
        began = time.monotonic()
        ready = "ready%d" % timeout
        run = server.request("process.run", {"timeout": timeout, "command":
                             "trap '' TERM; touch %s; while :; do sleep 0.05; done" % ready})
        eventually(lambda: has(ready) or server.has_answered(run), WAIT, "it does not begin")
        process_id = server.call("process.list")["processes"][0]["process_id"]
        shim = shim_of(server)
        in_time = time.monotonic() - began < timeout - 0.1 and shim
        if not in_time:
            continue
        os.kill(shim, signal.SIGSTOP)
        server.request("process.kill", {"process_id": process_id, "force_after": 100})
        server.ping()
        server.signal(signal.SIGSTOP)
        in_time = time.monotonic() - began < timeout - 0.1
        os.kill(shim, signal.SIGCONT)
        time.sleep(timeout + 0.2)
        server.signal(signal.SIGCONT)
        result = server.result(run)
        if in_time:
            break
    if not in_time:
        raise Skip("the machine is too busy")
    equal((result["state"], result["reason"]), ("killed", "killed_by_request"), "the end")
    server.stop()


@suite.test()
def test_pending_is_not_killed():
    """What is dead, but of which the shim has not said so, is pending: not killed as well."""
    server = Server()
    has = lambda name: os.path.exists(os.path.join(server.workspace, name))
    run = server.run("(trap 'touch asked; until rm go 2>/dev/null; do sleep 0.02; done; exit' TERM; "
                     "touch ready; while :; do sleep 0.02; done) & true")["process_id"]
    eventually(lambda: has("ready"), WAIT, "no leftover")
    shim = eventually(lambda: shim_of(server), WAIT, "no shim")
    kill = server.request("process.kill", {"process_id": run, "force_after": 600, "wait_ms": 2000})
    eventually(lambda: has("asked"), WAIT, "no signal")
    os.kill(shim, signal.SIGSTOP)
    open(os.path.join(server.workspace, "go"), "w", encoding="utf-8").close()
    answer = server.result(kill)
    os.kill(shim, signal.SIGCONT)
    equal((answer["killed"], answer["pending"]), (False, True), str(answer))
    eventually(lambda: server.call("process.monitor", {"process_id": run})["alive"] == 0, WAIT,
               "it lives")
    server.stop()


@suite.test()
def test_what_is_due_is_not_put_off():
    """What comes in the turn in which SIGKILL and a sample are due is no new deadline, and ends the stream."""
    server = Server()
    run = server.run("trap '' TERM; touch ready; while :; do sleep 0.05; done", background=True)["process_id"]
    other = server.run("sleep 600", background=True)["process_id"]
    eventually(lambda: os.path.exists(os.path.join(server.workspace, "ready")), WAIT, "it does not begin")
    server.call("server.metrics", {"interval_ms": 1000})
    first = server.request("process.kill", {"process_id": run, "force_after": 2})
    server.ping()
    with held_up(server, 3500):
        stop = server.message("server.metrics.stop")
        server.send(server.message("process.kill", {"process_id": other, "signal": "WINCH"}), stop,
                    server.message("process.kill", {"process_id": run, "force_after": 3600}))
        equal(server.result(first)["signal_sent"], "SIGKILL", "the first call")
        equal(server.result(stop["id"]), {"stopped": True}, "the stream")
    server.stop()


@suite.test()
def test_deadline_survives_its_call():
    """The call is cancelled, in MCP without an answer: SIGKILL comes all the same."""
    with Place() as place:
        p = place.start("app", command="trap '' TERM; touch app.ready; while :; do sleep 1; done")
        kill = place.server.message("process.kill", {"process_id": p, "force_after": 1})
        place.server.send(kill, {"jsonrpc": "2.0", "method": "$/cancelRequest",
                                 "params": {"id": kill["id"]}})
        check("error" in place.server.answer(kill["id"]), "a cancelled call has a result")
        record = place.over(p)
        equal((record["state"], record["reason"], record["signal"]),
              ("killed", "killed_by_request", "SIGKILL"), "its end")


@suite.test()
def test_earlier_deadline_holds():
    with Place() as place:
        stubborn = "trap '' TERM; touch app.ready; while :; do sleep 1; done"
        for params in ({"force_after": 0.2}, {"signal": "KILL"}):
            p = place.start("app", command=stubborn)
            first = place.ask(p, force_after=3000)
            second = place.kill(p, **params)
            for answer in (second, place.server.result(first)):
                equal((answer["killed"], answer["signal_sent"], answer["forced"]),
                      (True, "SIGKILL", True), params)
        for later in (0, 3000):  # neither takes it back nor pushes it away
            p = place.start("app", command=stubborn)
            first, second = (place.server.message("process.kill", dict(params, process_id=p)) for params in
                             ({"force_after": 1}, {"force_after": later, "wait_ms": 100}))
            place.server.send(first, second)
            check(place.server.result(second["id"])["pending"], "a deadline is set")
            check(place.server.result(first["id"])["forced"], "the first one held")


@suite.test()
def test_foreground_run_is_answered_at_the_end_of_its_tree():
    """Output written during the grace belongs to the run."""
    with Place() as place:
        id = place.server.request("process.run", {
            "command": "trap 'sleep 0.5; echo saved; exit 0' TERM; touch app.ready; "
                       "while :; do sleep 0.1; done | cat; echo not reached"})
        eventually(lambda: place.has("app.ready"), WAIT, "not ready")
        p = place.server.call("process.list")["processes"][0]["process_id"]
        answer = place.kill(p)
        check(answer["killed"] and not answer["forced"], "kill: %s" % answer)
        run = place.server.result(id)
        equal((run["state"], run["reason"], run["exit_code"], run["survivors"]),
              ("killed", "killed_by_request", None, 0), "run")



@suite.test()
def test_timeout_in_the_grace():
    """A run's own timeout ends it at once, also while it has its time to end; the cause is the kill."""
    for timeout in (2, 10, 30):  # the kill must come first
        with Place() as place:
            over = lambda: place.server.call("process.list", {"state_filter": "timed_out"})["total"]
            id = place.server.request("process.run", {
                "timeout": timeout, "command": "trap '' TERM; touch app.ready; while :; do sleep 1; done"})
            eventually(lambda: place.has("app.ready") or over(), WAIT, "not ready")
            p = place.server.call("process.list")["processes"][0]["process_id"]
            kill = place.server.answer(place.ask(p, force_after=3000))
            run = place.server.result(id)
        if run["state"] != "timed_out":
            break
    equal((run["state"], run["reason"]), ("killed", "killed_by_request"), "run")
    answer = kill["result"]
    equal((answer["killed"], answer["forced"], answer["state"]), (True, True, "killed"), "kill")


@contextlib.contextmanager
def undead(pid):
    """When @pid dies it stays a zombie meanwhile: its tracer has to look first, and is stopped."""
    with traced([pid]) as tracer:
        tracer.send_signal(signal.SIGSTOP)
        yield


@suite.test()
def test_kill_after_the_timeout():
    """A call that comes when the timeout has killed the command, and its last process is about to go, has
    not ended the run."""
    with Place() as place:
        server = place.server
        run = server.request("process.run", {"command": "sleep 600 & echo; wait", "timeout": 8})
        sleeping = lambda: [pid for pid in processes_marked(server.base) if name_of(pid) == "sleep"]
        [pid] = eventually(sleeping, WAIT, "it does not begin")
        row = lambda: server.call("process.list")["processes"][0]
        with undead(pid):
            eventually(lambda: not row()["pid"], WAIT, "no timeout")
            kills = [place.ask(row()["process_id"], signal=name) for name in ("KILL", "TERM", "WINCH")]
            server.ping()
        equal(server.result(run)["state"], "timed_out", "the run")
        for id in kills:
            answer = server.result(id)
            equal((answer["killed"], answer["alive"]), (False, 0), str(answer))


def start_two(place):
    """A run of two processes: its id, and the pid of its command."""
    p = place.server.run("sleep 300 & touch app.ready; exec sleep 301", background=True)["process_id"]
    eventually(lambda: place.has("app.ready"), WAIT, "not ready")
    os.unlink(os.path.join(place.workspace, "app.ready"))
    return p, place.server.call("process.list")["processes"][0]["pid"]


@suite.test()
def test_a_crash_that_races_a_kill():
    """The server finds the end of the command and the call at once, in either order: it was a crash,
    and the call ended what the command had left."""
    with Place() as place:
        server = place.server
        for _ in range(12):
            p, pid = start_two(place)
            server.signal(signal.SIGSTOP)
            os.kill(pid, signal.SIGSEGV)
            eventually(lambda: not os.path.exists("/proc/%d" % pid), WAIT, "the command lives")
            id = place.ask(p, signal="KILL")
            server.signal(signal.SIGCONT)
            kill = server.answer(id)["result"]
            equal((kill["state"], kill["reason"], kill["alive"]), ("killed", "signaled", 0), "kill")
            check(kill["killed"] or kill["leftover"] is None, "what is left was not killed")
            equal(server.call("process.monitor", {"process_id": p})["signal"], "SIGSEGV", "signal")


@suite.test()
def test_killed_but_not_counted():
    """The command has crashed, and its shim is stopped: nobody counts what SIGKILL ends. Whether the server
    finds the crash before the calls or behind them, all say that they killed."""
    for mode in ("default", "no_namespaces"):
        with Place(mode) as place:
            server = place.server
            for _ in range(4):
                p, pid = start_two(place)
                shim = eventually(lambda: shim_of(server, "sleep"), WAIT, "no shim")
                server.signal(signal.SIGSTOP)
                os.kill(pid, signal.SIGSEGV)
                eventually(lambda: not os.path.exists("/proc/%d" % pid), WAIT, "the command lives")
                os.kill(shim, signal.SIGSTOP)
                kills = [place.ask(p, signal="KILL") for _ in range(2)]
                server.signal(signal.SIGCONT)
                for answer in map(server.result, kills):
                    equal((answer["state"], answer["alive"], answer["leftover"]), ("killed", 0, None), "the run")
                    equal((answer["killed"], answer["signal_sent"], answer["forced"]),
                          (True, "SIGKILL", True), "the kill")


@suite.test()
def test_end_of_the_server_ends_the_grace():
    for number in (signal.SIGTERM, signal.SIGKILL):
        place = Place()
        p = place.start("app", command="trap '' TERM; touch app.ready; while :; do sleep 1; done")
        place.ask(p, force_after=3000)
        place.server.ping()
        place.server.signal(number)
        place.server.wait_exit()
        equal(place.server.survivors(), [], "alive")
        shutil.rmtree(place.base, ignore_errors=True)


@each_mode
def test_others_are_left_alone(place):
    """Another run, and a process of the server's own group, get no signal."""
    ours = subprocess.Popen(["sleep", "100"])
    try:
        other = place.start("other", command=saver("other") + "; true")
        p = place.start("app", command="(setsid %s &); %s; true" % (saver("out"), saver()))
        check_graceful(place, place.kill(p, force_after=30), "a run")
        check(is_alive(ours.pid) and place.monitor(other)["alive"] >= 2, "others are gone")
        check(not place.has("other.saved"), "another run was asked to end")
    finally:
        ours.kill()
        ours.wait()


PLACES = 256  # REQ_ENDS_MAX in src/rpc/req.h


@suite.test()
def test_kill_always_finds_a_place():
    """When all wait, the oldest call is answered; the grace that it asked for goes on."""
    server = Server()
    p = server.run("trap '' TERM; touch on; while :; do sleep 1; done", background=True)
    eventually(lambda: os.path.exists(os.path.join(server.workspace, "on")), WAIT, "no run")
    patient = {"process_id": p["process_id"], "force_after": 3600}
    first = server.request("process.kill", patient)
    time.sleep(0.3)
    others = [server.request("process.kill", patient) for _ in range(PLACES - 1)]
    server.ping()
    check(all("method" in m for m in server.inbox), "answered though there were places")
    others.append(server.request("process.kill", patient))
    early = server.result(first)
    equal((early["pending"], early["killed"], early["signal_sent"], early["state"]),
          (True, False, "SIGTERM", "running"), "the oldest")
    check(server.call("process.kill", {"process_id": p["process_id"], "signal": "KILL"})["killed"],
          "not killed")
    for id in others:
        server.result(id)
    server.stop()


@suite.test()
def test_kill_finds_a_place_among_questions():
    """The oldest question is dropped for a newer call."""
    server = Server("--set", "tier.process.kill=confirm")
    p = server.run("sleep 60", background=True)
    calls = [server.request("process.kill", {"process_id": p["process_id"]})
             for _ in range(PLACES + 1)]
    error = server.answer(calls[0])["error"]
    equal(error["data"]["type"], "PermissionDenied", "the oldest")
    check("newer calls" in error["message"], error["message"])
    server.stop()


if __name__ == "__main__":
    suite.main()
