#!/usr/bin/env python3
"""A program whose file system answers late: its run has begun, and its exec takes as long as the test
wants. No word that it has started before it has, and no signal, timeout or kill is lost meanwhile."""
import os
import subprocess
import time

from client import WAIT, Server, Skip, check, equal, eventually
from suite import Suite

suite = Suite()

START_LATE_MS = 5000  # after that the answer to a background run waits no longer for the start
FORMS = ([], ["--set", "sandbox.network=false"], ["--set", "sandbox.namespaces=false"],
         ["--set", "sandbox.ahead=false"])

# Arguments: DIRECTORY PROGRAM. A file system (fuse(4)) on DIRECTORY/mount, with the file `late`, a copy of
# PROGRAM. When that was opened, nothing is answered unless DIRECTORY/go is there.
FILE_SYSTEM = """
import ctypes, errno, os, struct, sys, time
directory, program = sys.argv[1:]
go = directory + "/go"
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(1, 9) # ends with its parent
with open(program, "rb") as f:
    data = f.read()
fuse = os.open("/dev/fuse", os.O_RDWR)
options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fuse
if libc.mount(b"late", directory.encode() + b"/mount", b"fuse.late", 6, options):
    sys.exit(os.strerror(ctypes.get_errno()))
def attributes(node):
    mode, size = (0o40755, 0) if node == 1 else (0o100755, len(data))
    return struct.pack("=6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 18, 25, 26
INTERRUPT, BATCH_FORGET = 36, 42
while True:
    try:
        request = os.read(fuse, 1 << 20)
    except OSError as e:
        if e.errno in (errno.EINTR, errno.ENOENT): # the caller was killed
            continue
        raise
    _, what, unique, node = struct.unpack("=IIQQ", request[:24])
    error, answer, body = 0, b"", request[40:]
    if what in (FORGET, INTERRUPT, BATCH_FORGET):
        continue
    if what == INIT:
        answer = struct.pack("=4I2H2I2H8I", 7, 31, 1 << 16, 0, 12, 10, 4096, 1, 0, 0, *[0] * 8)
    elif what == LOOKUP and body == b"late\\0":
        answer = struct.pack("=4Q2I", 2, 0, 3600, 3600, 0, 0) + attributes(2)
    elif what == GETATTR:
        answer = struct.pack("=Q2I", 3600, 0, 0) + attributes(node)
    elif what == OPEN:
        answer = struct.pack("=Q2I", 0, 0, 0)
    elif what == READ:
        start, size = struct.unpack("=QI", body[8:20])
        answer = data[start:start + size]
    elif what not in (RELEASE, FLUSH):
        error = errno.ENOENT if what == LOOKUP else errno.ENOSYS
    try:
        os.write(fuse, struct.pack("=IiQ", 16 + len(answer), -error, unique) + answer)
    except OSError as e:
        if e.errno != errno.ENOENT:
            raise
    if what == OPEN:
        open(directory + "/opened", "w").close()
        while not os.path.exists(go):
            time.sleep(0.005)
"""


class Late:
    """A server, in a mount namespace that has this file system."""

    def __init__(self, options, program):
        if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
            raise Skip("root can mount a file system of its own, where the kernel has fuse")
        self.server = Server(*options, start=False)
        self.directory = self.server.base
        self.program = self.path("mount", "late")
        os.mkdir(self.path("mount"))
        script = 'env -i /usr/bin/python3 -c "$0" "$1" "$2" & ' \
                 'until test -e "$1/mount/late" || ! kill -0 $!; do sleep 0.01; done; shift 2; exec "$@"'
        self.server.wrapper = ["unshare", "--mount", "sh", "-c", script, FILE_SYSTEM,
                               self.directory, program]
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
            raise Skip("no mount namespace can be made here")
        self.server.start()
        self.server.run("true")  # a shim is ready
        if self.server.run("test -e %s" % self.program)["exit_code"]:
            raise Skip("no such file system here: %s" % self.server.stderr_text()[-200:])

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def request(self, seconds, **params):
        return self.server.request("process.run", dict(params, command=self.program,
                                                       args=[str(seconds)]))

    def begin(self, seconds, **params):
        """A run whose exec is under way. The id of its request."""
        id = self.request(seconds, **params)
        eventually(self.was_opened, WAIT, "the program was not opened")
        return id

    def was_opened(self):
        self.server.pump(0)
        return os.path.exists(self.path("opened"))

    def go_on(self):
        open(self.path("go"), "w", encoding="utf-8").close()

    def wait_again(self):
        """For the next exec, after go_on()."""
        self.server.run("test -e %s" % self.path("mount", "other"))  # which the file system answers
        for name in ("go", "opened"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))

    def running(self):
        """The record of the run that is in progress."""
        found = self.server.call("process.list", {"state_filter": "running"})["processes"]
        equal(len(found), 1, "runs in progress")
        return found[0]


def each_form(program="/bin/sleep"):
    """Decorator: one test, with each form in turn."""
    def add(body):
        def test():
            for options in FORMS:
                late = Late(options, program)
                body(late)
                equal(late.server.run("echo on")["stdout_summary"], "on\n", "the next run")
                late.server.stop()
        test.__name__ = body.__name__
        return suite.test()(test)
    return add


def outcome(answer):
    return tuple(answer[key] for key in ("state", "reason", "exit_code", "survivors"))


@each_form()
def test_it_begins_late(late):
    id = late.begin(0)
    time.sleep(0.02)  # a command that lives for so long is no short one for its shim
    equal(late.server.call("process.monitor", {"process_id": late.running()["process_id"]})["alive"],
          1, "processes")
    late.go_on()
    equal(outcome(late.server.result(id)), ("completed", "exited", 0, 0), "the end")


@each_form()
def test_started_is_not_said_before(late):
    id = late.begin(60, background=True)
    late.go_on()
    answer = late.server.result(id)
    equal(answer["state"], "running", "state")
    if answer["duration_ms"] < START_LATE_MS:
        with open("/proc/%d/comm" % answer["pid"], encoding="utf-8") as f:
            equal(f.read(), "late\n", "what runs")
    equal(late.server.call("process.kill", {"process_id": answer["process_id"],
                                            "signal": "SIGKILL"})["survivors"], 0, "survivors")


@each_form()
def test_timeout_meanwhile(late):
    for timeout in (0.001, 0.005, 0.1):
        answer = late.server.result(late.request(60, timeout=timeout))
        equal(outcome(answer), ("timed_out", "timeout", None, 0), "a timeout of %s s" % timeout)
        late.go_on()
        late.wait_again()


@each_form()
def test_kill_meanwhile(late):
    id = late.begin(60)
    killed = late.server.call("process.kill", {"process_id": late.running()["process_id"],
                                               "signal": "SIGKILL"})
    equal((killed["killed"], killed["survivors"]), (True, 0), "process.kill")
    equal(outcome(late.server.result(id)), ("killed", "killed_by_request", None, 0), "the run")
    late.go_on()


@each_form()
def test_signal_meanwhile(late):
    """It reaches the program when that has begun."""
    id = late.begin(60)
    kill = late.server.request("process.kill", {"process_id": late.running()["process_id"],
                                                "signal": "SIGTERM", "force_after": 600})
    late.server.wait_read()
    late.go_on()
    killed = late.server.result(kill)
    equal((killed["killed"], killed["forced"], killed["signal_sent"]), (True, False, "SIGTERM"),
          "process.kill")
    answer = late.server.result(id)
    equal((answer["state"], answer["signal"]), ("killed", "SIGTERM"), "the run")


@each_form(program="/etc/passwd")
def test_no_program_after_all(late):
    """A failed start, whatever was known meanwhile."""
    for background in (False, True):
        id = late.begin(0, background=background)
        time.sleep(0.02)
        late.go_on()
        answer = late.server.answer(id)
        check("error" in answer, "a result: %s" % answer)
        equal((answer["error"]["data"]["type"], answer["error"]["data"]["details"]["errno"]),
              ("SpawnFailed", "ENOEXEC"), "the error")
        late.wait_again()


@each_form(program="/etc/passwd")
def test_a_task_of_no_program(late):
    """A task whose command could not be executed after all: completed, when that was known."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities":
                {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
    id = late.server.request("tools/call", {"name": "process_run", "_meta": meta, "arguments": {
        "command": late.program, "args": [], "yield_ms": 100}})
    eventually(late.was_opened, WAIT, "the program was not opened")
    begun = late.server.result(id)
    equal(begun["status"], "working", "status")
    late.go_on()

    def ended():
        task = late.server.call("tasks/get", {"taskId": begun["taskId"], "_meta": meta})
        return task["status"] != "working" and task

    task = eventually(ended, WAIT, "the task goes on")
    equal((task["status"], task["result"]["isError"]), ("completed", True), "the end")
    check(task["lastUpdatedAt"] > begun["lastUpdatedAt"], "times: %s, %s" % (begun, task))


if __name__ == "__main__":
    suite.main()
