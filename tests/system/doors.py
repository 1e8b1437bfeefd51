#!/usr/bin/env python3
"""The doors from a command to the server, its shim, its record and the host: each is first shown to
be open without the sandbox, then shut in it, in every form that a user may have."""
import os
import re
import shutil
import socket
import tempfile

from client import Server, Skip, check, equal, hostile_program
from suite import Suite

suite = Suite()

# What stays open without namespaces, as docs/security.md says.
OPEN_WITHOUT_NAMESPACES = {"outside_chmod", "outside_times", "outside_flags", "audit_read", "exe"}
# What a command may do to files of its own user only where the user is root.
NEEDS_ROOT = {"sysctl", "device", "mount", "mem", "maps", "environ", "fd_list", "root", "exe",
              "ptrace", "ptrace_shim", "vm_read", "shim_mem", "shim_slack", "shim_oom", "pidfd_getfd"}
CAP_SYS_PTRACE, CAP_SYS_ADMIN = 19, 21
# Shut for everybody, with or without a sandbox.
NEVER_OPEN = {"own_descriptor"}


class Place:
    """Folders that the server's user owns, and a listening abstract socket."""

    def __init__(self, user):
        self.user = user
        self.base = tempfile.mkdtemp(prefix="procpen-doors-", dir="/var/tmp")
        self.outside = os.path.join(self.base, "outside")
        self.name = os.path.basename(self.base)
        os.makedirs(os.path.join(self.base, "state", "audit"), mode=0o700)
        os.mkdir(self.outside)
        for name in ("workspace", "home"):
            os.mkdir(os.path.join(self.base, name))
        shutil.copy(hostile_program("doors"), self.base)
        self.fill()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind("\0" + self.name)
        self.socket.listen(64)

    def fill(self):
        """Put the target behind each door, also after a walk that removed it."""
        shutil.rmtree(self.outside)
        os.mkdir(self.outside)
        for path in (os.path.join(self.outside, "there"),
                     os.path.join(self.base, "state", "audit", "first")):
            with open(path, "w", encoding="utf-8") as f:
                f.write("there\n")
        if self.user:
            for folder, _, names in os.walk(self.base):
                for name in [folder] + [os.path.join(folder, n) for n in names]:
                    os.chown(name, self.user, self.user)

    def walk(self, *options, wrapper=()):
        """The result of each door for a command of a server with @options; its sandbox; its gaps."""
        self.fill()
        server = Server(*options, base=self.base, wrapper=wrapper)
        gaps = " ".join(server.call("agent.session")["sandbox"]["gaps"])
        result = server.run(os.path.join(self.base, "doors"),
                            [str(server.pid), "0", server.state, self.outside, self.name])
        doors = dict(re.findall(r"^door (\w+) (open|shut \S+)$", result["stdout_summary"], re.M))
        equal(result["exit_code"], 0, "exit code; %s" % result)
        server.ping()
        server.stop()
        return doors, result["sandbox"], gaps

    def close(self):
        self.socket.close()
        shutil.rmtree(self.base, ignore_errors=True)


def is_whole_root():
    """Does root have all capabilities? In a container it may not."""
    with open("/proc/self/status", encoding="ascii") as f:
        mask = int(re.search(r"^CapEff:\s*(\w+)$", f.read(), re.M)[1], 16)
    return os.geteuid() == 0 and mask >> CAP_SYS_PTRACE & mask >> CAP_SYS_ADMIN & 1 == 1


def opened(doors):
    return {name for name, what in doors.items() if what == "open"}


def open_by_kernel(sandbox, gaps):
    """The doors that an older kernel's Landlock leaves open, which the server reports."""
    reported = {"abstract": "abstract sockets of other programs can be reached",
            "outside_truncate": "files outside the workspace can be truncated"}
    found = {door for door, gap in reported.items() if gap in gaps}
    if "abstract" in found and "pid_namespace" in sandbox:
        # The call succeeds, but the kernel drops what the first process of a PID namespace is sent
        # from inside; tree.py sends it SIGKILL and SIGSTOP.
        found.add("kill_shim")
    return found


def as_user(user):
    return ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups",
            "--"] if user else []


def compare(user, options, stays_open):
    if os.geteuid() != 0 and user:
        raise Skip("only root can become another user")
    if user and not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    place = Place(user)
    try:
        bare, sandbox, _ = place.walk("--set", "sandbox.profile=none", wrapper=as_user(user))
        check(any("NOT SANDBOXED" in layer for layer in sandbox), "the profile none is not shouted")
        root = not user and is_whole_root()
        if bare["mount"] == "shut EINVAL":
            NEVER_OPEN.add("mount")  # in a chroot / is no mount, and the call proves nothing
        if bare["outside_flags"] == "shut ENOTTY":
            NEVER_OPEN.add("outside_flags")  # files have none on this file system
        closed = set(bare) - opened(bare) - NEVER_OPEN - (set() if root else NEEDS_ROOT)
        equal(closed, set(), "doors that are shut without a sandbox, so their test proves nothing")
        doors, sandbox, gaps = place.walk(*options, wrapper=as_user(user))
        equal(sorted(opened(doors) - stays_open - open_by_kernel(sandbox, gaps)), [],
              "open in %s" % " ".join(sandbox))
        equal({name: what for name, what in doors.items() if what == "shut ENOENT"
               and name.startswith("outside")}, {}, "doors with nothing behind them")
    finally:
        place.close()


def namespaces_work(user):
    """Does the sandbox of this user have namespaces here? procpen's own report says so."""
    place = Place(user)
    try:
        server = Server(base=place.base, wrapper=as_user(user))
        active = server.call("agent.session")["sandbox"]["active"]
        server.stop()
        return "pid_namespace" in active, any(a.startswith("landlock") for a in active)
    finally:
        place.close()


def with_namespaces(user):
    if os.geteuid() != 0 and user:
        raise Skip("only root can become another user")
    if not namespaces_work(user)[0]:
        raise Skip("namespaces are not allowed here")
    compare(user, [], set())


def without_namespaces(user):
    if os.geteuid() != 0 and user:
        raise Skip("only root can become another user")
    if not namespaces_work(user)[1]:
        raise Skip("no Landlock here")
    root = not user and os.geteuid() == 0
    compare(user, ["--set", "sandbox.namespaces=false"],
            OPEN_WITHOUT_NAMESPACES | ({"fd_list"} if root else set()))


@suite.test()
def test_as_started_with_namespaces():
    with_namespaces(0)


@suite.test()
def test_as_started_without_namespaces():
    without_namespaces(0)


@suite.test()
def test_as_ordinary_user_with_namespaces():
    with_namespaces(65534)


@suite.test()
def test_as_ordinary_user_without_namespaces():
    without_namespaces(65534)


# The shim leads a process group of its own, which kill(2) takes as a negative pid.
SIGNAL_BY_GROUP = """
import os, sys
try:
    os.kill(-os.getppid(), 0)
except OSError as e:
    sys.exit(str(e))
"""


@suite.test()
def test_shim_by_its_group():
    """Below ABI 6 Landlock holds no signal back, so the filter has to."""
    shown = []
    for profile in ("none", "default"):
        server = Server("--set", "sandbox.namespaces=false", "--set", "sandbox.profile=" + profile,
                        wrapper=[hostile_program("without"), "landlock"])
        result = server.run("/usr/bin/python3", ["-c", SIGNAL_BY_GROUP])
        shown.append((result["exit_code"], result["stderr_summary"]))
        server.stop()
    equal(shown, [(0, ""), (1, "[Errno 1] Operation not permitted\n")], "kill(-shim)")


# Asks the kernel to send the server SIGTERM when a pipe becomes readable (fcntl(2), F_SETOWN). It is
# sent before the write returns.
SIGNAL_BY_PIPE = """
import fcntl, os, sys, time
r, w = os.pipe()
try:
    fcntl.fcntl(r, fcntl.F_SETOWN, int(sys.argv[1]))
except OSError as e:
    sys.exit(str(e))
fcntl.fcntl(r, 10, 15)
fcntl.fcntl(r, fcntl.F_SETFL, fcntl.fcntl(r, fcntl.F_GETFL) | os.O_ASYNC)
os.write(w, b"x")
time.sleep(float(sys.argv[2]))
"""


def signal_by_pipe(server, then_sleep):
    return server.request("process.run", {
        "command": "/usr/bin/python3",
        "args": ["-c", SIGNAL_BY_PIPE, str(server.pid), str(then_sleep)]})


@suite.test()
def test_signal_by_pipe():
    server = Server("--set", "sandbox.profile=none")
    signal_by_pipe(server, 60)
    equal(server.wait_exit(), 0, "exit status without a sandbox, where the door is open")
    for options in ([], ["--set", "sandbox.namespaces=false"]):
        server = Server(*options)
        equal(server.result(signal_by_pipe(server, 0))["state"], "completed", "the run")
        for _ in range(5):  # it has had its turn to see a signal
            server.ping()
        server.stop()


if __name__ == "__main__":
    suite.main()
