#!/usr/bin/env python3
"""stderr without a reader, of each kind a host may give: it delays nothing, and what was
lost is counted. And the texts of the command line, which arrive whole however slow the reader."""
import fcntl
import json
import os
import pty
import re
import shutil
import socket
import subprocess
import tempfile
import time
import tty

from client import WAIT, Server, Skip, check, equal, eventually, server_path
from suite import Suite

suite = Suite()
PYTHON = "/usr/bin/python3"
OTHER = 65534
F_SETPIPE_SZ = 1031  # fcntl.F_SETPIPE_SZ since Python 3.10
RUNS = 300  # a terminal was full after some 120


def master():
    """(the reader's end, the program's end): the wrong way round, as no host should do it"""
    writer, reader = pty.openpty()
    tty.setraw(reader)
    return reader, writer


def sockets():
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


def narrow_pipe():
    reader, writer = os.pipe()
    fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
    return reader, writer


def needs_root():
    if os.geteuid() != 0:
        raise Skip("only root can become another user")


KINDS = {"terminal": pty.openpty, "pipe": narrow_pipe, "socket": sockets, "master": master}


def take_all(fd):
    os.set_blocking(fd, False)
    found = b""
    while True:
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            data = b""
        if not data:
            return found.decode().replace("\r\n", "\n")  # as a terminal writes it
        found += data


def account(text):
    """Lines of @text, and those it tells as lost; each must be whole."""
    count = 0
    for line in text.split("\n")[:-1]:
        lost = re.fullmatch(r"procpen: warning: (\d+) lines? (?:was|were) lost", line)
        check(lost or re.fullmatch(r'procpen: notify \{.*\}', line), "a torn line: %r" % line)
        count += int(lost[1]) if lost else 1
    return count


def start_with(stderr, user, prepare_state=lambda state: None):
    """A server with this stderr, as @user unless that is 0."""
    def prepare():
        os.dup2(stderr, 2)
        if user:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)

    server = Server(start=False, preexec=prepare)
    prepare_state(server.state)
    if user:
        for path in [server.base] + [os.path.join(place, name) for place, *names in
                                     os.walk(server.base) for name in sum(names, [])]:
            os.chown(path, user, user)
    server.start()
    return server


def of_each_kind(function):
    """Decorator: a test of each kind of stderr, our own and another user's."""
    for kind in KINDS:
        for user in (0, OTHER):
            def one(kind=kind, user=user):
                if user:
                    needs_root()
                function(kind, user)
            one.__name__ = "%s_%s%s" % (function.__name__, kind, "_of_another" if user else "")
            suite.test()(one)
    return function


@of_each_kind
def undrained(kind, user):
    """Runs, a timeout and the end come as with a reader; then there is one."""
    reader, writer = KINDS[kind]()
    flags = fcntl.fcntl(writer, fcntl.F_GETFL)
    server = start_with(writer, user)
    for _ in range(RUNS):
        equal(server.run("true")["exit_code"], 0, "exit code")
    equal(server.run("sleep 60", timeout=0.2)["state"], "timed_out", "a timeout")
    text, count = "", RUNS + 1

    def reported():
        """All is there, and some of it as lost. A terminal hands on what is written a little later."""
        nonlocal text, count
        new = take_all(reader)
        text += new
        if "lost" in text and text.endswith("}\n") and account(text) == count:
            return True
        if not new:
            server.run("true")
            count += 1
        return False

    eventually(reported, WAIT, "no line is reported as lost, or not each one")
    equal(fcntl.fcntl(writer, fcntl.F_GETFL), flags, "the flags of what others share")
    for _ in range(RUNS):
        server.run("true")
    server.stop()
    os.close(reader)
    os.close(writer)


def one_pipe_of_many(user):
    """Several servers share a pipe that another writer keeps full and a slow reader drains."""
    reader, writer = narrow_pipe()
    loud = subprocess.Popen(["yes"], stdout=writer, stdin=subprocess.DEVNULL)
    servers = [start_with(writer, user) for _ in range(4)]
    for _ in range(50):
        for server in servers:
            os.read(reader, 100)
            equal(server.run("true")["exit_code"], 0, "exit code")
    for server in servers:
        server.stop()
    loud.kill()
    loud.wait()
    os.close(reader)
    os.close(writer)


@suite.test()
def test_one_pipe_of_many():
    one_pipe_of_many(0)


@suite.test()
def test_one_pipe_of_many_and_of_another():
    needs_root()
    one_pipe_of_many(OTHER)


# ---------------------------------------------------------------- what cleans up

def leave(state):
    """Create leftovers of dead servers: directories to remove, and others to leave alone."""
    place = os.path.join(state, "tmp")
    os.makedirs(place, 0o700)
    for digit in "0123456789":
        path = os.path.join(place, digit * 16)
        os.mkdir(path)
        open(path + ".lock", "w", encoding="utf-8").close()
        os.chmod(path + ".lock", 0o200 if digit in "02468" else 0o600)


def cleans(pid):
    """Does the server have a process that cleans up?"""
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as f:
        for child in f.read().split():
            try:
                with open("/proc/%s/comm" % child, encoding="utf-8") as comm:
                    if comm.read() == "procpen-clean\n":
                        return True
            except OSError:
                pass  # it has just ended
    return False


def fill(writer):
    flags = fcntl.fcntl(writer, fcntl.F_GETFL)
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 100)
    except BlockingIOError:
        fcntl.fcntl(writer, fcntl.F_SETFL, flags)


def clean(kind, user, full):
    reader, writer = os.pipe() if kind == "pipe" else KINDS[kind]()
    if full:
        fill(writer)
    server = start_with(writer, user, leave)
    equal(server.run("true")["exit_code"], 0, "exit code")
    place = os.path.join(server.state, "tmp")
    eventually(lambda: not any(os.path.exists(os.path.join(place, digit * 16))
                               for digit in "02468"), WAIT, "not all was removed")
    eventually(lambda: not cleans(server.process.pid), WAIT, "what cleans up does not end")
    text = ""

    def warned():
        nonlocal text
        text += take_all(reader)
        return text.count("and its lock are not as procpen creates them") == 5

    if not full:
        eventually(warned, WAIT, "five warnings")
    server.stop()
    os.close(reader)
    os.close(writer)


@of_each_kind
def cleaner(kind, user):
    clean(kind, user, False)
    clean(kind, user, True)


# Starts its arguments as a background job of a terminal that lets no such job write (tostop).
BACKGROUND = """
import fcntl, os, pty, sys, termios
master, slave = pty.openpty()
os.setsid()
fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
settings = termios.tcgetattr(slave)
settings[3] |= termios.TOSTOP
termios.tcsetattr(slave, termios.TCSANOW, settings)
job = os.fork()
if not job:
    os.setpgid(0, 0)
    os.dup2(slave, 2)
    os.execv(sys.argv[1], sys.argv[1:])
os.close(0)
os.close(1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))
"""


@suite.test()
def test_background_job():
    """What it writes to its terminal does not stop it."""
    server = Server(wrapper=[PYTHON, "-c", BACKGROUND])
    for _ in range(3):
        equal(server.run("true")["exit_code"], 0, "exit code")
    server.stop()


# ---------------------------------------------------------------- for people

def run_tool(words, stderr):
    base = tempfile.mkdtemp(prefix="procpen-stderr-")
    try:
        env = {"PATH": os.environ["PATH"], "HOME": base}
        os.mkdir(os.path.join(base, "workspace"))
        return subprocess.Popen(
            [server_path(), "run", "--workspace", base + "/workspace", "--state-dir",
             base + "/state"] + words, stderr=stderr, stdin=subprocess.DEVNULL, env=env), base
    except OSError:
        shutil.rmtree(base)
        raise


@suite.test()
def test_tool_waits_for_people():
    """Its text arrives complete, although the pipe was full and is read late."""
    reader, writer = narrow_pipe()
    os.write(writer, b"x" * 4096)
    tool, base = run_tool(["--", "no-such-program-here"], writer)
    os.close(writer)
    time.sleep(0.3)
    equal(tool.poll(), None, "exit status before anybody has read")
    text = b""
    while data := os.read(reader, 100):
        text += data
        time.sleep(0.001)
    equal(tool.wait(WAIT), 127, "exit status")
    check(b"no-such-program-here" in text and text.endswith(b"\n"), "it says %r" % text[4096:])
    os.close(reader)
    shutil.rmtree(base)


@suite.test()
def test_tool_passes_stderr_on():
    """The command gets it as the caller has it: it may wait, and another's flags do not change."""
    for kind in KINDS.values():
        reader, writer = kind()
        flags = fcntl.fcntl(writer, fcntl.F_GETFL)
        tool, base = run_tool(["--", PYTHON, "-c", "import os, sys; sys.exit(not os.get_blocking(2))"],
                              writer)
        equal(tool.wait(WAIT), 0, "exit status")
        equal(fcntl.fcntl(writer, fcntl.F_GETFL), flags, "flags")
        os.close(reader)
        os.close(writer)
        shutil.rmtree(base)


SHOWN = r"\u009b31m \u202e \u2066 \u200b \ufeff \udb40\udc41 \u007f"
HIDDEN = "\u009b31m \u202e \u2066 \u200b \ufeff \U000e0041 \x7f"


@suite.test()
def test_hidden_characters_are_shown_by_code():
    """On stderr and in the audit log; the request id and the directory too."""
    server = Server()
    folder = os.path.join(server.workspace, "dir" + HIDDEN)
    os.mkdir(folder)
    request = {"jsonrpc": "2.0", "id": "id" + HIDDEN, "method": "process.run",
               "params": {"command": ": '%s'" % HIDDEN, "intent": "why " + HIDDEN,
                          "working_directory": folder}}
    server.send_bytes(json.dumps(request, ensure_ascii=False).encode() + b"\n")
    eventually(lambda: "process.run" in server.stderr_text(), WAIT, "no line")
    server.stop()
    audit = os.path.join(server.state, "audit")
    with open(os.path.join(audit, os.listdir(audit)[0]), encoding="utf-8") as f:
        record = f.read()
    for what, text in (("stderr", server.stderr_text()), ("audit log", record)):
        equal(re.findall(r"[^ -~\n]", text), [], "raw in the " + what)
        for member in ("id", "why ", "dir", ": '"):
            check(member + SHOWN in text, "%r in the %s: %s" % (member, what, text))
    attempt = [json.loads(l) for l in record.splitlines()][1]
    equal((attempt["request_id"], attempt["intent"]), ("id" + HIDDEN, "why " + HIDDEN), "values")


if __name__ == "__main__":
    suite.main()
