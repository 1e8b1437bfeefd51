#!/usr/bin/env python3
"""Runs with a terminal: in every kind of sandbox, with real programs, floods and rude ends."""
import base64
import errno
import fcntl
import glob
import itertools
import json
import os
import re
import select
import shutil
import termios
import time
import tty

from client import (WAIT, RpcError, Server, Skip, check, equal, eventually, hostile_program,
                    processes_marked)
from suite import Suite

suite = Suite()
WAIT_MS = 60000
USER = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
NOWHERE = "/nonexistent"  # as PATH: what should be refused, and is not, finds no program

# What a terminal is to the programs on it.
FACTS = r"""
import fcntl, os, struct, termios
print("same", len({os.fstat(fd).st_rdev for fd in (0, 1, 2)}) == 1 and os.isatty(0))
try:
    with open(os.ttyname(0), "w") as f: f.write("by name\n")
except OSError as e:
    print("no name", e.errno)
with open("/dev/tty", "w") as f: f.write("by tty\n")
print("leads", os.getsid(0) == os.getpid() == os.tcgetpgrp(0))
print("size", os.get_terminal_size())
print("term", os.environ["TERM"])
try:
    fcntl.ioctl(0, termios.TIOCSTI, b"x")
    print("TIOCSTI open")
except OSError as e:
    print("TIOCSTI", e.errno)
"""

# Knock at a terminal of the host in all ways, then make one: its name, those of a process that holds
# it, the system's. An access mode of 3 is for ioctl(2) alone (open(2)).
KNOCK = r"""
import fcntl, glob, os, pty, sys, termios
path, dev, rdev, holder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
def settings(fd): termios.tcsetattr(fd, termios.TCSANOW, termios.tcgetattr(fd))
def peer(fd): os.close(fcntl.ioctl(fd, 0x5441, os.O_RDWR | os.O_NOCTTY)) # TIOCGPTPEER
ways = {"read": lambda fd: os.read(fd, 1), "write": lambda fd: os.write(fd, b"knock"),
        "size": os.get_terminal_size, "settings": settings, "peer": peer,
        "type": lambda fd: fcntl.ioctl(fd, termios.TIOCSTI, b"x")}
for name in {path, "/dev/tty", "/dev/console", *glob.glob("/dev/pts/*"), *glob.glob("/proc/self/fd/*"),
             *glob.glob("/proc/%s/fd/*" % holder), *glob.glob("/proc/%s/root/dev/pts/*" % holder)}:
    for mode in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, 3):
        try: fd = os.open(name, mode | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError: continue
        if (os.fstat(fd).st_dev, os.fstat(fd).st_rdev) == (dev, rdev):
            for way in ways:
                try: ways[way](fd)
                except (BlockingIOError, OSError, termios.error) as e:
                    if not isinstance(e, BlockingIOError): continue
                print("reached", name, mode, way)
        os.close(fd)
try:
    ours, theirs = pty.openpty()
    os.write(os.open(os.ttyname(theirs), os.O_RDWR | os.O_NOCTTY), b"own\n")
    made = b""
    while not made.endswith(b"\n"): made += os.read(ours, 100) # it may come in pieces
    print("made", made)
except OSError as e:
    print("made none", e.strerror)
"""


class Terminal:
    """A background run with a terminal."""

    def __init__(self, server, command, args=None, **params):
        self.server = server
        self.id = server.run(command, args, tty=True, background=True, **params)["process_id"]
        self.seen = 0

    def type(self, data="", **params):
        if isinstance(data, bytes):
            params.update(data=base64.b64encode(data).decode(), encoding="base64")
        elif data:
            params["data"] = data
        return self.server.call("process.input", dict(params, process_id=self.id))

    def until(self, pattern):
        """Read on until what is new matches."""
        text = ""
        while not re.search(pattern, text):
            page = self.server.logs(self.id, stream="stdout", offset=self.seen, wait_ms=WAIT_MS)
            check(page["stdout"] or page["state"] == "running",
                  "%s ended without %r: %r" % (self.id, pattern, text))
            text += page["stdout"]
            self.seen = page["stdout_next_offset"]
        return text

    def ask(self, data, pattern):
        self.type(data)
        return self.until(pattern)

    def end(self):
        return self.server.call("process.monitor", {"process_id": self.id, "wait_ms": WAIT_MS})

    def kill(self, **params):
        return self.server.call("process.kill", dict(params, process_id=self.id))

    def refused(self, data, **params):
        try:
            self.type(data, **params)
        except RpcError as e:
            return e
        raise AssertionError("%r was taken" % data)


def need(program):
    path = shutil.which(program)
    if not path:
        raise Skip("no %s" % program)
    return path


def bash(server):
    """An interactive shell with a prompt that nothing else writes."""
    shell = Terminal(server, "/bin/bash", ["--norc", "--noprofile", "-i"],
                     environment={"PS1": "<ready>", "HISTFILE": "/dev/null"})
    shell.until("<ready>")
    return shell


def in_foreground(server, terminal, command):
    """Wait until @command has the terminal: what is typed before may go to the shell."""
    def found():
        for pid in processes_marked(server.base):
            try:
                with open("/proc/%d/cmdline" % pid) as f:
                    words = f.read().replace("\0", " ").strip()
                with open("/proc/%d/stat" % pid) as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if words == command and fields[2] == fields[5]:  # pgrp, tpgid
                return True
        return False
    eventually(found, WAIT, "%s is not in the foreground of %s" % (command, terminal.id))


# ---------------------------------------------------------------- every sandbox

class HostTerminal:
    """A terminal of the host that belongs to @user, for a server to sit on (@lead as its preexec)."""

    def __init__(self, user):
        self.ours, self.theirs = os.openpty()
        tty.setraw(self.theirs)
        if user:
            os.fchown(self.theirs, 65534, -1)

    def lead(self):
        os.setsid()
        fcntl.ioctl(self.theirs, termios.TIOCSCTTY, 0)

    def knock(self, server, **params):
        """The ways in which a run has reached it; can it make one of its own? The run."""
        there = os.fstat(self.theirs)
        run = server.run("python3", ["-c", KNOCK, os.ttyname(self.theirs), str(there.st_dev),
                                     str(there.st_rdev), str(os.getpid())], **params)
        text = run["stdout_summary"]
        made = "made b'own\\r\\n'" in text
        check(made or "made none" in text, str(run))
        reached = re.findall(r"^reached (.*?)\r?$", text, re.M)
        written = any(way.endswith(" write") for way in reached)
        # What is written comes a little later, by a thread of the kernel.
        equal(bool(select.select([self.ours], [], [], WAIT * written)[0]), written, text)
        termios.tcflush(self.theirs, termios.TCIOFLUSH)
        return reached, made, run

    def close(self):
        os.close(self.ours)
        os.close(self.theirs)


def in_sandbox(name, options, user, lacks=None):
    """@lacks: what the kernel does not have, see tests/hostile/without.c."""
    def test():
        if user and os.geteuid() != 0:
            raise Skip("only root becomes another user")
        host = HostTerminal(user)
        wrapper = (USER if user else ()) + ((hostile_program("without"), lacks) if lacks else ())
        server = Server(*options, wrapper=wrapper, start=False, preexec=host.lead)
        if user:
            for path in (server.base, server.workspace, server.home):
                os.chown(path, 65534, 65534)
        server.start()
        run = server.run("python3", ["-c", FACTS], tty=True, cols=101, rows=33)
        text = run["stdout_summary"]
        equal((run["exit_code"], run["stderr_size"]), (0, 0), text)
        hidden = lacks == "devpts" and "mount_namespace" in run["sandbox"] and LENT not in options
        for fact in ("same True", "no name" if hidden else "by name", "by tty", "leads True",
                     "columns=101, lines=33", "term xterm-256color"):
            check(fact in text, "%s: %s" % (fact, text))
        if "sandbox.profile=none" not in options:
            check("TIOCSTI 1" in text, text)
        run = server.run("tty; : < /dev/tty", environment={"TERM": "vt100"})
        check(run["exit_code"] and run["stdout_summary"] == "not a tty\n", str(run))
        gaps = server.call("agent.session", {})["sandbox"]["gaps"]
        for terminal in (False, True):
            reached, made, run = host.knock(server, tty=terminal)
            layers = {layer.split(":")[0] for layer in run["sandbox"]}
            lent = LENT in options
            own = "mount_namespace" in layers and lacks != "devpts"
            equal(bool(reached), not own and (lent or not layers & {"mount_namespace", "landlock"}),
                  str(run))
            # A lent /dev/ptmx is a mount of its own, and none makes terminals beside another's /dev/pts.
            equal(made, own or bool(reached) and lacks != "devpts", str(run))
            equal((READ_GAP in gaps, MAKE_GAP in gaps), (bool(reached), not own and not reached),
                  str(gaps))
        server.stop()
        host.close()
    test.__name__ = "test_sandbox_%s_%s" % (name, "user" if user else "root")
    suite.test()(test)


LENT = "sandbox.writable=/dev/pts,/dev/ptmx"
READ_GAP = "terminals: other terminals of the user can be read and written"
MAKE_GAP = "terminals: programs cannot make any (script, tmux, expect)"
PLAIN = ("--set", "sandbox.namespaces=false")
for kind, settings, missing in (
        ("default", (), None), ("strict", ("--set", "sandbox.profile=strict"), None),
        ("none", ("--set", "sandbox.profile=none"), None), ("plain", PLAIN, None),
        ("lent", PLAIN + ("--set", LENT), None),
        ("plain_abi2", PLAIN, "landlock_abi2"),
        ("no_devpts", (), "devpts"), ("no_devpts_lent", ("--set", LENT), "devpts")):
    for as_user in (False, True):
        in_sandbox(kind, settings, as_user, missing)


# A container engine binds the terminal of its container to this name.
BINDS = 'mount --bind "$0" /dev/console && exec "$@"'


def console(options, closed):
    """Is the server's terminal out of reach where it has a name in /dev itself?"""
    host = HostTerminal(True)
    wrapper = ("unshare", "--mount", "--propagation", "private", "sh", "-c", BINDS,
               os.ttyname(host.theirs)) + USER
    server = Server(*options, wrapper=wrapper, start=False, preexec=host.lead)
    for path in (server.base, server.workspace, server.home):
        os.chown(path, 65534, 65534)
    server.start()
    for terminal in (False, True):
        reached, _, run = host.knock(server, tty=terminal)
        equal(reached == [], closed, str(run))
    server.stop()
    host.close()


@suite.test()
def test_server_terminal_in_dev():
    if os.geteuid() != 0 or not os.path.exists("/dev/console"):
        raise Skip("needs root and a /dev/console")
    for options in (), PLAIN, ("--set", "sandbox.profile=strict"):
        console(options, True)
    for options in ("--set", "sandbox.profile=none"), ("--set", "sandbox.writable=/dev/console"):
        console(options, False)


def made_at(name):
    """Another terminal of the host may have its number later."""
    try:
        return os.stat(name).st_ctime_ns
    except OSError:
        return None


def is_mounted(device):
    """Does a process have the pseudo-terminals of @device (as stat(2) has it) in its mounts?"""
    found = re.compile(r" %d:%d .* - devpts " % (os.major(device), os.minor(device)))
    for path in glob.glob("/proc/[0-9]*/mountinfo"):
        try:
            with open(path) as f:
                if found.search(f.read()):
                    return True
        except OSError:
            continue
    return False


@suite.test()
def test_server_that_is_killed():
    """Neither a process nor a terminal is left, whoever held it."""
    for settings in (), ("--set", "sandbox.namespaces=false"), ("--set", "sandbox.profile=none"):
        server = Server(*settings)
        held = Terminal(server, "trap '' HUP; tty; (trap '' HUP; setsid sleep 600) & sleep 600; sleep 600")
        name = re.search(r"/dev/pts/\d+", held.until(r"/dev/pts/\d+\r\n"))[0]
        pid = server.call("process.monitor", {"process_id": held.id})["pid"]
        instance = os.stat("/proc/%d/root/dev/pts" % pid).st_dev
        shares = instance == os.stat("/dev/pts").st_dev
        made = made_at(name)
        check(is_mounted(instance), "the test sees the run's terminals")
        server.process.kill()
        equal(server.survivors(), [], "survivors")
        if shares:
            eventually(lambda: made != made_at(name), WAIT, name + " is left")
        else:
            eventually(lambda: not is_mounted(instance), WAIT, "its instance is left")
        server.destroy()


# Hands its /dev/pts to a socket, and a terminal there unless it is not to make any.
GIVES = r"""
import array, os, pty, socket, sys
fds = [os.open("/dev/pts", os.O_RDONLY | os.O_DIRECTORY), *(pty.openpty() if sys.argv[2:] == [] else [])]
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
socket.send_fds(s, [b"x"], fds)
"""
# Keeps them; then gives up one after the other, and says what is in that directory. For "open" it
# opens the terminals there, as their user may: what gives a right to read gives it a terminal to lead.
KEEPS = r"""
import os, socket, sys
def reach(name):
    for mode in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try: os.open(name, mode | os.O_NONBLOCK, dir_fd=fds[0])
        except OSError as e: print(e.strerror, end=" ")
        else: print("reached", end=" ")
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print("ready", flush=True)
fds = socket.recv_fds(server.accept()[0], 1, 3)[1]
print("kept", flush=True)
for line in sys.stdin:
    if line == "open\n":
        for name in os.listdir(fds[0]):
            if name != "ptmx": reach(name)
        print("tried", flush=True)
        continue
    os.close(fds.pop())
    print(sorted(os.listdir(fds[0])), flush=True)
"""
# Makes a terminal, tells it, and waits.
MAKES = r"""
import os, sys
os.openpty()
print("made", flush=True)
sys.stdin.read(1)
"""


@suite.test()
def test_given_away():
    """Who keeps a terminal of an earlier run and its /dev/pts sees no terminal of a later one."""
    server = Server()
    if "mount_namespace" not in server.run("true")["sandbox"]:
        raise Skip("there is no mount namespace here")
    for given in (0, 1):  # a run with a terminal has number 0 already
        keeper = Terminal(server, "python3", ["-c", KEEPS, "socket%d" % given])
        keeper.until("ready")
        run = server.run("python3", ["-c", GIVES, "socket%d" % given], tty=bool(given))
        equal(run["exit_code"], 0, "it is given")
        keeper.until("kept")
        for _ in range(3):
            equal(server.run("ls /dev/pts")["stdout_summary"], "ptmx\n", "of a later run")
        shell = Terminal(server, "tty; read x")
        shell.until("/dev/pts/0")
        for there in ("'%d', 'ptmx'" % given, "'ptmx'"):  # our end goes last, and its name with it
            keeper.ask("\n", re.escape("[%s]\r\n" % there))
    server.stop()


@suite.test()
def test_later_terminal_of_the_same_shim():
    """Who keeps the /dev/pts of a pipe run opens no terminal that a later command makes there."""
    for options in (), ("--set", "sandbox.profile=strict"):
        server = Server(*options)
        if {"mount_namespace", "landlock"} - {n.split(":")[0] for n in server.run("true")["sandbox"]}:
            raise Skip("needs a mount namespace and Landlock")
        keeper = Terminal(server, "python3", ["-c", KEEPS, "socket"])
        keeper.until("ready")
        server.run("python3", ["-c", GIVES, "socket", "none"])
        keeper.until("kept")
        makers = [server.run("python3", ["-c", MAKES], background=True, stdin_mode="pipe")["process_id"]
                  for _ in range(20)]
        for maker in makers:
            server.call("process.monitor", {"process_id": maker, "wait_ms": WAIT_MS,
                                            "until": "pattern", "pattern": "made"})
        said = keeper.ask("open\n", "tried\r\n")
        check("reached" not in said, "in %s: %s" % (options, said))
        if "Permission denied" not in said:
            raise Skip("no later command got that shim")
        server.stop()


@suite.test()
def test_modes_of_an_earlier_run():
    """What a command has changed in its /dev/pts no later one finds."""
    server = Server()
    for path in "/dev/pts", "/dev/pts/ptmx":
        usual = server.run("stat", ["-c", "%a", path])
        if "mount_namespace" not in usual["sandbox"]:
            raise Skip("there is no mount namespace here")
        run = server.run("chmod 0111 %s && stat -c %%a %s" % (path, path))
        if run["exit_code"]:
            raise Skip("a command cannot change it here: %s" % run["stderr_summary"])
        equal(run["stdout_summary"], "111\n", "its own")
        for _ in range(3):
            equal(server.run("stat", ["-c", "%a", path])["stdout_summary"], usual["stdout_summary"],
                  "of a later run")
    server.stop()


@suite.test()
def test_thousand_terminals():
    """A run takes no more than its share of the host's, and the next has its own."""
    server = Server()
    takes = "import os\n" \
            "try:\n  for n in range(1000): os.openpty()\n" \
            "except OSError as e: print(n, e.strerror)"
    run = server.run("python3", ["-c", takes])
    if "mount_namespace" in run["sandbox"]:
        equal(run["stdout_summary"], "256 No space left on device\n", run["stderr_summary"])
    equal(server.run("tty", tty=True)["exit_code"], 0, "the next run")
    server.stop()


@suite.test()
def test_as_another_user():
    """The terminal belongs to the account that the run changes to."""
    if os.geteuid() != 0:
        raise Skip("only root becomes another user")
    server = Server("--set", "sandbox.users=nobody", start=False)
    for path in (server.base, server.workspace):
        os.chmod(path, 0o755)
    server.start()
    run = server.run("id -un; stat -c %U $(tty); echo named > $(tty)", tty=True, user="nobody")
    equal(run["stdout_summary"], "nobody\r\nnobody\r\nnamed\r\n", "the terminal's owner")
    server.stop()


@suite.test()
def test_processor_limit_without_a_group():
    """SIGSTOP would show to job control: refused, never shaken off."""
    if os.geteuid() != 0:
        raise Skip("only root becomes another user")
    server = Server(wrapper=USER, start=False)
    for path in (server.base, server.workspace, server.home):
        os.chown(path, 65534, 65534)
    server.start()
    if "cpu_limit:duty_cycle" not in server.run("true", cpu_limit=0.5)["sandbox"]:
        raise Skip("a control group holds it here")
    try:
        server.run("true", tty=True, cpu_limit=0.5)
        check(False, "it ran")
    except RpcError as e:
        equal(e.type, "SandboxUnavailable", str(e))
    equal(server.run("true", tty=True)["exit_code"], 0, "without a limit")
    server.stop()


# ---------------------------------------------------------------- real programs

@suite.test()
def test_bash_job_control():
    server = Server()
    shell = bash(server)
    text = shell.ask("echo $((6 * 7))\r", "42\r\n<ready>|42\r\n.*<ready>")
    check("no job control" not in text, text)
    shell.type("sleep 600\r")
    in_foreground(server, shell, "sleep 600")
    shell.ask("\x1a", r"Stopped(.|\n)*<ready>")
    shell.ask("jobs\r", r"Stopped +sleep 600(.|\n)*<ready>")
    shell.type("fg\r")
    in_foreground(server, shell, "sleep 600")
    shell.ask("\x03", r"\^C(.|\n)*<ready>")
    shell.ask("echo status $?\r", r"status 130\r\n")
    shell.type("exit 5\r")
    equal(shell.end()["exit_code"], 5, "exit code")
    server.stop()


@suite.test()
def test_line_longer_than_a_terminal_keeps():
    """Its end is lost in the kernel, and no silence about it; in raw mode it is not."""
    server = Server()
    count = Terminal(server, "read line; echo ${#line} first; read line; echo ${#line} ready; "
                             "read line; echo ${#line}; "
                             "stty raw -echo; echo raw; head -c 5001 | wc -c")
    erased = "x" * 3000 + "\x15" + "y" * 4000 + "\x7f" * 500 + "y" * 500 + "\n"
    equal(count.type(erased)["warnings"], [], "a line that fits when it ends")
    count.until("4000 first")
    equal(count.type("x" * 4095 + "\n")["warnings"], [], "a line that fits")
    count.until("4095 ready")
    check("canonical" in str(count.type("x" * 4096 + "\n")["warnings"]), "one that does not")
    count.until("\n4095\r(.|\n)*raw")
    equal(count.type("x" * 5000 + "\n")["warnings"], [], "raw")
    count.until("5001")
    server.stop()


@suite.test()
def test_end_of_file():
    """^D by its character and by close, on an empty line and on an open one; none in raw mode."""
    server = Server()
    cat = Terminal(server, "cat", [])
    cat.ask("one\n", "one\r\none\r\n")
    cat.type("\x04")
    equal(cat.end()["exit_code"], 0, "^D")
    cat = Terminal(server, "cat", [])
    cat.ask("open", "open")
    equal(cat.type(close=True)["closed"], True, "closed")
    equal(cat.end()["exit_code"], 0, "close on an open line")
    equal(server.logs(cat.id)["stdout"], "openopen", "what cat wrote")
    both = Terminal(server, "cat; cat; echo over")
    both.ask("a\n", "a\r\na\r\n")
    equal(both.type(close=True)["closed"], True, "first")
    both.ask("b\n", "b\r\nb\r\n")
    both.type(close=True)
    both.until("over")
    equal(both.end()["exit_code"], 0, "two ends")
    erased = Terminal(server, "cat; echo one; cat; echo two")
    erased.ask("aé\x7f\x7f", "aé\x08 \x08\x08 \x08")
    erased.type(close=True)
    erased.until("one")
    erased.ask("open\n", "open\r\nopen\r\n")
    erased.type("b\x16\x04", close=True)
    equal(erased.end()["exit_code"], 0, "close behind a ^D that is text")
    check(server.logs(erased.id)["stdout"].endswith("b\x04two\r\n"), "which cat wrote")
    for data, wrote in (("\x16", "\x04"), (b"\x80", "\ufffd")):
        cat = Terminal(server, "cat", [])
        cat.type(data, close=True)
        equal(cat.end()["exit_code"], 0, f"close behind {data!r}")
        check(server.logs(cat.id)["stdout"].endswith(wrote), f"what cat wrote of {data!r}")
    raw = Terminal(server, "stty raw -echo; echo ready; head -c 3; sleep 600")
    raw.until("ready")
    answer = raw.type("xy", close=True)
    equal((answer["closed"], answer["bytes_written"]), (False, 2), "raw")
    check(re.search(r"raw mode.*\\u0004 \(\^D\)", answer["warnings"][0]), str(answer))
    raw.ask("z", "xyz")
    server.stop()


@suite.test()
def test_python():
    server = Server()
    python = Terminal(server, "python3", ["-i", "-q"], environment={"PYTHON_BASIC_REPL": "1"})
    python.until(">>> ")
    python.ask("6 * 7\n", r"42\r\n")
    python.ask("import time; print('as' + 'leep'); time.sleep(600)\n", r"asleep\r\n")
    python.ask("\x03", "KeyboardInterrupt(.|\n)*>>> ")
    python.type("\x04")
    check(python.end()["state"] != "running", "^D does not end it")  # by SIGINT, after that ^C
    server.stop()


@suite.test()
def test_sqlite3_and_node():
    server = Server()
    if shutil.which("sqlite3"):
        sqlite = Terminal(server, "sqlite3", [])
        sqlite.until("sqlite> ")
        sqlite.ask("select 6 * 7;\r", r"42\r\n")
        sqlite.ask(".quit\r", "")
        equal(sqlite.end()["exit_code"], 0, "sqlite3")
    node = Terminal(server, need("node"), [])
    node.until("> ")
    node.ask("6 * 7\r", "42")
    node.type(".exit\r")
    equal(node.end()["exit_code"], 0, "node")
    server.stop()


@suite.test()
def test_resize():
    server = Server()
    run = Terminal(server, "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.1; done")
    run.until("ready")
    equal(server.call("process.resize", {"process_id": run.id, "cols": 132, "rows": 43}),
          {"process_id": run.id, "cols": 132, "rows": 43}, "answer")
    run.until("43 132\r\n")
    equal(run.end()["state"], "completed", "state")
    server.stop()


@suite.test()
def test_waits_for_input():
    server = Server()

    def waits(run):
        return server.call("process.monitor", {"process_id": run.id})["waits_for_input"]

    run = Terminal(server, "echo first; read x; echo second; read y < /dev/tty; echo third; "
                           "sleep 600")
    run.until("first\r\n")
    eventually(lambda: waits(run) is True, WAIT, "a read of stdin")
    run.ask("x\n", "second\r\n")
    eventually(lambda: waits(run) is True, WAIT, "a read of /dev/tty")
    run.ask("y\n", "third\r\n")
    eventually(lambda: waits(run) is False, WAIT, "a sleep")
    shell = bash(server)
    eventually(lambda: waits(shell) is True, WAIT, "a prompt")
    # Whoever reads in the background is stopped, and takes nothing of what is typed.
    run = Terminal(server, "bash --norc -i -c "
                           "'cat & until jobs | grep Stopped; do sleep .1; done; sleep 600'")
    run.until("Stopped")
    eventually(lambda: waits(run) is False, WAIT, "a read in the background")
    server.stop()


@suite.test()
def test_text_says_that_it_waits():
    """Whoever reads the text alone sees that the run waits, and how to answer it."""
    server = Server()

    def text(tool, **params):
        answer = server.call("tools/call", {"name": tool, "arguments": params})
        return answer["content"][0]["text"]

    def one_that_waits(tries, **params):
        """A slow machine gets more time with each run."""
        shown = text("process_run", command="read -r x", yield_ms=200 * next(tries), **params)
        return "waits for input" in shown and shown

    for params in {"tty": True}, {"stdin_mode": "pipe"}:
        tries = itertools.count(1)
        shown = eventually(lambda: one_that_waits(tries, **params), WAIT, "a run that waits")
        answer = re.search(r'; process_input (\{.*\}) answers it, process_kill stops it\.$', shown)
        check(answer, shown)
        call = json.loads(answer[1])
        equal(call["data"], "...\n", "the line to be filled in")
        check("process_input %s answers it, process_kill stops it\n" % answer[1] in
              text("process_monitor", process_id=call["process_id"]), "the text of process_monitor")
        text("process_input", **call)
        end = server.call("process.monitor", {"process_id": call["process_id"], "wait_ms": 60000})
        equal(end["exit_code"], 0, "the line was read")
    server.stop()


# ---------------------------------------------------------------- rude programs

@suite.test()
def test_closes_its_terminal():
    """What no process has open for a while is open again later, and can be typed on."""
    server = Server()
    run = Terminal(server, "exec 0<&- 1>&- 2>&-; sleep 0.5; exec 0</dev/tty 1>/dev/tty; "
                           "echo back; read x; echo \"got $x\"")
    run.ask("typed before\n", r"back\r\n(.|\n)*got typed before\r\n")
    equal(run.end()["exit_code"], 0, "exit code")
    server.stop()


@suite.test()
def test_fork_holds_it():
    """A process that has left the session goes on writing; the answer does not wait for it."""
    server = Server()
    run = server.run("setsid sh -c ': >up; until [ -e go ]; do sleep 0.1; done; echo late; sleep 600' & "
                     "until [ -e up ]; do sleep 0.02; done; echo over", tty=True)
    with open(os.path.join(server.workspace, "go"), "w", encoding="utf-8"):
        pass  # had the answer waited for the fork, it would not be here
    equal((run["state"], run["exit_code"], run["leftover"] > 0), ("completed", 0, True), "state")
    eventually(lambda: "late" in server.logs(run["process_id"])["stdout"], WAIT, "late output")
    server.stop()
    equal(server.survivors(), [], "alive")


# Lives on without the terminal, and then writes to it by name more than the kernel keeps.
COMES_BACK = ('trap "" HUP; t=$(tty); (exec 0<&- 1>&- 2>&-; : >closed; until [ -e go ]; do sleep 0.1; done; '
              'head -c 300000 /dev/zero >"$t"; echo $? >status; exec sleep 600) & until [ -e closed ]; do sleep 0.1; done; echo over')


@suite.test()
def test_ends_when_nobody_holds_it():
    """After the command a terminal that no process has open is closed for good, at both ends: who
    opens it by name is told so, and neither loses what it writes nor waits for a reader."""
    server = Server()
    run = Terminal(server, COMES_BACK)
    equal(run.end()["exit_code"], 0, "exit code")
    e = run.refused("late\n")
    equal((e.type, "has closed its stdin" in str(e)), ("StdinClosed", True), str(e))
    try:
        server.call("process.resize", {"process_id": run.id, "cols": 90, "rows": 30})
        raise AssertionError("it has a size")
    except RpcError as e:
        equal(e.type, "ProcessAlreadyExited", str(e))
    with open(os.path.join(server.workspace, "go"), "w", encoding="utf-8"):
        pass
    status = os.path.join(server.workspace, "status")
    eventually(lambda: os.path.exists(status) and os.path.getsize(status), WAIT, "its writer waits")
    with open(status, encoding="utf-8") as f:
        check(f.read().strip() != "0", "it was told that it could write")
    page = server.logs(run.id)
    equal((page["stdout"], page["stdout_size"]), ("over\r\n", 6), str(page))
    server.stop()
    equal(server.survivors(), [], "alive")


@suite.test()
def test_ends_while_another_process_holds_it():
    """One that is not of the run cannot write where nobody reads, once the end is told."""
    server = Server("--set", "sandbox.namespaces=false")
    for _ in range(5):
        run = Terminal(server, "tty; read go")
        try:
            held = os.open(re.search(r"/dev/pts/\d+", run.until("\n"))[0], os.O_RDWR | os.O_NOCTTY)
        except FileNotFoundError:
            raise Skip("the terminal is not the host's") from None
        run.type("go\n")
        equal(run.end()["state"], "completed", "state")
        try:
            os.write(held, b"lost")
            raise AssertionError("it was told that it could write")
        except OSError as e:
            equal(e.errno, errno.EIO, str(e))
        os.close(held)
    server.stop()


@suite.test()
def test_hang_up():
    """SIGHUP reaches each process, stopped ones too, and what they say last is kept."""
    server = Server()
    run = Terminal(server, "sh -c 'trap \"echo outer; exit\" HUP; echo a; while :; do sleep 0.1; done'"
                           " & setsid sh -c 'trap \"echo inner; sleep 0.5; echo last; exit\" HUP; "
                           "echo b; while :; do sleep 0.1; done' & wait")
    text = run.until("[ab]")
    if not ("a" in text and "b" in text):
        run.until("[ab]")
    answer = run.kill(signal="HUP", force_after=20)
    equal((answer["killed"], answer["forced"], answer["alive"]), (True, False, 0), str(answer))
    text = server.logs(run.id)["stdout"]
    check("inner" in text and "last" in text, text)
    stopped = bash(server)
    stopped.type("sleep 600\r")
    in_foreground(server, stopped, "sleep 600")
    stopped.ask("\x1a", "Stopped")
    answer = stopped.kill(signal="SIGHUP", wait_ms=20000)
    eventually(lambda: not server.call("process.monitor", {"process_id": stopped.id})["alive"], WAIT,
               "alive after SIGHUP")
    server.stop()


@suite.test()
def test_kill_of_a_shell():
    """It ignores SIGTERM: the text of the kill names the signal that ends it, and that does."""
    server = Server()

    def kill(**how):
        answer = server.call("tools/call", {"name": "process_kill",
                                            "arguments": dict(how, process_id=bash(server).id)})
        return answer["content"][0]["text"]

    text = kill(force_after=1.5)
    check(re.search(r"^ended by SIGKILL in [\d.]+ s(?: with \d+ child\w*)?, forced \[.*\]; .*"
                    r"signal \"HUP\" ends one at once$", text), text)
    for _ in range(5):  # bash notes it and waits on, if it comes just before bash reads
        text = kill(signal="HUP", force_after=5)
        if "SIGKILL" not in text:
            break
    check(re.search(r"^ended by SIGHUP in [^;]*\]$", text), text)
    server.stop()


@suite.test()
def test_flood_while_fed():
    """A program that writes without end takes what is typed; nothing of either is lost."""
    server = Server()
    run = Terminal(server, "stty -echo; seq 400000 & n=0; while read x; do n=$((n + 1)); done; wait; "
                           "echo \"read $n\"")
    lines = 0
    for _ in range(40):
        run.type("line\n" * 100)
        lines += 100
    server.ping()
    run.type(close=True)
    equal(run.end()["exit_code"], 0, "exit code")
    size = sum(len(str(n)) + 2 for n in range(1, 400001)) + len("read 4000\r\n")
    text = server.logs(run.id, tail_lines=1)["stdout"]
    equal(text, "read %d\r\n" % lines, "lines that it read")
    total = server.logs(run.id)["stdout_size"]
    check(size <= total <= size + 6 * lines, "%d bytes of %d" % (total, size))
    server.stop()


@suite.test()
def test_bytes_exact():
    """In raw mode each byte goes through, both ways."""
    server = Server()
    run = Terminal(server, "stty raw -echo; echo ready; head -c 200000 | tee copy | cksum; "
                           "cat copy")
    run.until("ready\n")
    sent = bytes(range(256)) * 800
    for at in range(0, 200000, 50000):
        run.type(sent[at:at + 50000])
    equal(run.end()["exit_code"], 0, "exit code")
    with open(os.path.join(server.workspace, "copy"), "rb") as f:
        check(f.read() == sent[:200000], "what it read differs")
    got = b""
    while len(got) < 200000:
        page = server.logs(run.id, offset=run.seen + len(got), encoding="base64")
        got += base64.b64decode(page["stdout"])
        check(page["stdout"], "the log ends early")
    check(got.endswith(sent[:200000]) or sent[:200000] in got, "what it wrote differs")
    server.stop()


@suite.test()
def test_server_ends():
    """However the server ends, nothing on its terminals is left."""
    for how in ("eof", "kill", "term"):
        server = Server()
        shell = bash(server)
        shell.type("trap '' HUP TERM; (trap '' HUP; setsid sleep 600) & sleep 600\r")
        shell.until("sleep 600")
        time.sleep(0.3)
        if how == "eof":
            server.close_input()
        else:
            server.signal(9 if how == "kill" else 15)
        server.wait_exit()
        equal(server.survivors(), [], "alive after " + how)
        server.destroy()


@suite.test()
def test_password_is_not_on_record():
    """While echo is off the audit log has no text of what is typed to a shell."""
    server = Server()
    shell = Terminal(server, "/bin/sh", [], environment={"PATH": NOWHERE, "PS1": "<ready>"})
    shell.until("<ready>")
    shell.type("echo shown\n")
    shell.until("shown\r\n")
    quiet = Terminal(server, "/bin/stty -echo; PS1='<ready>' exec /bin/sh",
                     environment={"PATH": NOWHERE})
    quiet.until("<ready>")
    quiet.type("hunter-two\n")  # nothing but the terminal tells what that is
    quiet.until("not found")
    server.stop()
    log = ""
    for path in glob.glob(os.path.join(server.state, "audit", "*")):
        with open(path) as f:
            log += f.read()
    check("echo shown" in log, "text with echo")
    check("hunter-two" not in log, "text without echo")


if __name__ == "__main__":
    suite.main()
