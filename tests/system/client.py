"""What all black-box tests share: a server under test, a JSON-RPC client, /proc.

Every server gets a base directory of its own, with workspace, state and home in it. HOME
is part of the environment of every command, so the unique name of that directory marks
all processes of a run: survivors() finds them in /proc wherever they have moved to.
"""
import collections
import contextlib
import fcntl
import glob
import json
import multiprocessing.util
import os
import re
import selectors
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STRESS = os.environ.get("STRESS") == "1"
# Seconds after which what does not come is a failure. A guard against waiting for ever, no statement
# about speed: how long anything takes depends on the machine and on what else it does. Shorter than
# what the tests start would live by itself.
WAIT = 40.0
PASSED_ON = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")
SANITIZER_MARKS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:",
                   "WARNING: MemorySanitizer", "AddressSanitizer:DEADLYSIGNAL")


class Failure(Exception):
    """The program did not do what the test wants."""


class Skip(Exception):
    """This test cannot run here; the text says why."""


class RpcError(Exception):
    """An error answer where a result was wanted."""

    def __init__(self, error):
        super().__init__(json.dumps(error)[:600])
        self.error = error
        self.code = error.get("code")
        self.type = (error.get("data") or {}).get("type")


# Programs that nohup(1) or a shell's & has started ignore these, and pass that on.
for ignored in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(ignored, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.umask(0o022)  # some tests are another user, who has to get at what is made here
reachable = {}


def others_reach(path):
    """Can other users start the program that root can start? They may not enter root's home."""
    folders = all(os.stat(p).st_mode & 0o001 for p in Path(path).resolve().parents)
    return folders and os.stat(path).st_mode & 0o005 == 0o005


def for_others(path):
    """@path, or a copy of it that every user can start: root's tests become other users."""
    if os.geteuid() != 0 or not os.access(path, os.X_OK) or others_reach(path):
        return path
    if path not in reachable:
        folder = tempfile.mkdtemp(prefix="procpen-copy-")
        # Not by atexit, which forgets what a forked process of multiprocessing has made.
        multiprocessing.util.Finalize(None, shutil.rmtree, [folder, True], exitpriority=0)
        os.chmod(folder, 0o755)
        copy = os.path.join(folder, os.path.relpath(path, ROOT).replace("../", ""))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copy(path, copy)
        os.chmod(copy, 0o755)
        reachable[path] = copy
    return reachable[path]


def server_path():
    path = os.environ.get("PROCPEN") or str(ROOT / "build" / "procpen")
    return for_others(os.path.abspath(path))


def check(condition, text):
    if not condition:
        raise Failure(text)


def equal(got, want, what):
    if got != want:
        raise Failure("%s: got %.300r, want %.300r" % (what, got, want))


def eventually(condition, timeout, text):
    """Poll until @condition() is true; its value is returned."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure("%s (waited %.1f s)" % (text, timeout))
        time.sleep(0.01)


# PROCPEN_TEST_MODE: as where the kernel allows no namespaces; and with nothing but the shim.
MODES = {"": [], "plain": ["--set", "sandbox.namespaces=false"],
         "bare": ["--set", "sandbox.profile=none"],
         "strict": ["--set", "sandbox.profile=strict"]}


# ---------------------------------------------------------------- processes

def processes_marked(mark):
    """Pids of live (not zombie) processes whose environment has @mark in HOME."""
    found = []
    needle = b"HOME=" + mark.encode()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/environ" % name, "rb") as f:
                if needle not in f.read():
                    continue
            with open("/proc/%s/stat" % name) as f:
                if f.read().rsplit(")", 1)[1].split()[0] in "ZX":
                    continue
        except OSError:
            continue
        found.append(int(name))
    return found


def process_text(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return "%d %s" % (pid, f.read().replace(b"\0", b" ").decode(errors="replace")[:80])
    except OSError:
        return str(pid)


class InnerPid(int):
    """A pid as a process of the PID namespace @namespace (an inode number) knows it."""

    def __new__(cls, number, namespace):
        self = super().__new__(cls, number)
        self.namespace = namespace
        return self


def outer_pid(pid):
    """Our number of an InnerPid, or None when there is no such process."""
    if pid.namespace == os.stat("/proc/self/ns/pid").st_ino:
        return int(pid)
    for name in os.listdir("/proc"):
        try:
            if not name.isdigit() or os.stat("/proc/%s/ns/pid" % name).st_ino != pid.namespace:
                continue
            with open("/proc/%s/status" % name) as f:
                numbers = re.search(r"^NSpid:(.*)$", f.read(), re.M)
            if int(numbers[1].split()[-1]) == pid:
                return int(name)
        except OSError:
            continue
    return None


def is_alive(pid):
    """Does @pid run (zombies do not)?"""
    if isinstance(pid, InnerPid):
        pid = outer_pid(pid)
        if pid is None:
            return False
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def status_kib(pid, field):
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    raise Failure("no %s in /proc/%d/status" % (field, pid))


def is_traced(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return "TracerPid:\t0\n" not in f.read()


@contextlib.contextmanager
def traced(pids, *how):
    """strace(1) does @how to the system calls of @pids meanwhile."""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    tracer = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", *("-p%d" % pid for pid in pids), *how],
                              stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: tracer.poll() is not None or all(map(is_traced, pids)), WAIT, "not traced")
        if tracer.poll() is not None:
            raise Skip("strace cannot attach to a process")
        yield tracer
    finally:
        tracer.kill()
        tracer.wait()


def held_up(server, ms):
    """The next line of its audit log takes the server @ms: it looks at nothing else meanwhile."""
    return traced([server.pid], "-P", server.audit_log(), "-e", "trace=write", "-e", "inject=write:delay_enter=%d000:when=1" % ms)


def slow_open(server, name):
    """To open the file @name takes the processes that @server makes meanwhile half a minute."""
    return traced([server.pid], "-f", "-P", name, "-e", "trace=openat", "-e",
                  "inject=openat:delay_enter=30000000")


_held_ports = []


def free_port():
    """Nobody else gets it while this program runs. Who says SO_REUSEADDR, as servers do, may listen there,
    because the socket that holds it does not."""
    _held_ports.append(socket.socket())
    _held_ports[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _held_ports[-1].bind(("127.0.0.1", 0))
    return _held_ports[-1].getsockname()[1]


def hostile_program(name="hostile"):
    """Path of a child of tests/hostile, compiled when it is missing or older than its source."""
    source = ROOT / "tests" / "hostile" / (name + ".c")
    program = ROOT / "build" / "tests" / name
    if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
        return for_others(str(program))
    program.parent.mkdir(parents=True, exist_ok=True)
    scratch = "%s.%d" % (program, os.getpid())
    command = [os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra",
               "-o", scratch, str(source)]
    subprocess.run(command, check=True, timeout=120)
    os.replace(scratch, program)
    return for_others(str(program))


def wait_pid(process, timeout):
    """Exit status of a Popen object within @timeout, or None."""
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None


# ------------------------------------------------------------------ a server

class Server:
    """One procpen under test. Not thread-safe; all waits are bounded."""

    def __init__(self, *args, env=None, stdio="pipe", wrapper=(), base=None, start=True,
                 preexec=None, cwd=None):
        """@cwd: start it there without --workspace; "home": in its home."""
        self.own_base = base is None
        self.base = base or tempfile.mkdtemp(prefix="procpen-test-")
        self.workspace = os.path.join(self.base, "workspace")
        self.state = os.path.join(self.base, "state")
        self.home = os.path.join(self.base, "home")
        for path in (self.workspace, self.home):
            os.makedirs(path, exist_ok=True)
        self.args = MODES[os.environ.get("PROCPEN_TEST_MODE", "")] + list(args)
        self.stdio = stdio
        self.where = [] if cwd else ["--workspace", self.workspace]
        self.cwd = {None: self.workspace, "home": self.home}.get(cwd, cwd)
        self.wrapper = list(wrapper)
        self.preexec = preexec
        self.env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.home,
                    "LANG": "C.UTF-8", "TERM": "dumb"}
        for name in PASSED_ON:
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.env.update(env or {})
        self.process = None
        self.on_line = None        # called with each raw line of the server
        self.inbox = collections.deque()
        self.notes = []            # notifications and requests of the server
        self.next_id = 1
        self.buffer = bytearray()
        self.pending = bytearray() # bytes that the server did not take yet
        self.eof_wanted = False
        self.eof_seen = False
        self.write_failed = False
        self.read_paused = False
        open_servers.append(self)
        if start:
            self.start()

    # -- life

    def start(self):
        path = server_path()
        if not os.access(path, os.X_OK):
            raise Failure("%s is missing: run make first" % path)
        command = self.wrapper + [path, "serve", *self.where, "--state-dir", self.state] + self.args
        self.stderr_path = os.path.join(self.base, "stderr")
        with open(self.stderr_path, "ab") as stderr:
            if self.stdio == "socket":
                ours, theirs = socket.socketpair()
                self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, env=self.env,
                                                stderr=stderr, cwd=self.cwd,
                                                preexec_fn=self.preexec)
                theirs.close()
                self.socket = ours
                self.w = self.r = ours.fileno()
            else:
                self.process = subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0,
                                                stdout=subprocess.PIPE, stderr=stderr,
                                                env=self.env, cwd=self.cwd,
                                                preexec_fn=self.preexec)
                self.w = self.process.stdin.fileno()
                self.r = self.process.stdout.fileno()
        self.pid = self.process.pid
        os.set_blocking(self.r, False)
        os.set_blocking(self.w, False)

    def stderr_text(self):
        try:
            with open(self.stderr_path, errors="replace") as f:
                return f.read()
        except (OSError, AttributeError):
            return ""

    def signal(self, number):
        os.kill(self.pid, number)

    def close_input(self):
        """End of file for the server, after what is still to be written."""
        self.eof_wanted = True
        self.pump(0)

    def _close_now(self):
        if self.w is None:
            return
        if self.stdio == "socket":
            self.socket.shutdown(socket.SHUT_WR)
        else:
            self.process.stdin.close()
        self.w = None

    def close_output(self):
        """The client stops listening for good: the server gets EPIPE."""
        if self.stdio == "socket":
            self.socket.close()
            self.w = None
        else:
            self.process.stdout.close()
        self.r = None

    def wait_exit(self, timeout=WAIT):
        """Exit status; takes all output first so that a full pipe holds nothing up."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.r is not None and not self.eof_seen:
                self.pump(0.05)
            status = wait_pid(self.process, 0.02)
            if status is not None:
                while self.r is not None and not self.eof_seen and self.pump(0.2):
                    pass
                return status
        raise Failure("the server did not exit within %.1f s" % timeout)

    def stop(self, timeout=WAIT):
        """EOF, and the exit status must be 0."""
        self.close_input()
        equal(self.wait_exit(timeout), 0, "exit status after EOF")

    def audit_log(self):
        [log] = glob.glob(os.path.join(self.state, "audit", "*.jsonl"))
        return log

    def recorded(self):
        """Outcome of each call in the audit log, by its id."""
        with open(self.audit_log(), encoding="utf-8") as f:
            events = [json.loads(line) for line in f]
        return {e["request_id"]: e.get("outcome") for e in events if e["event"] == "attempt"}

    def survivors(self, grace=WAIT):
        """Processes of this server that are still alive after @grace seconds; the server itself
        counts only when it should have ended."""
        end = time.monotonic() + grace
        while True:
            over = time.monotonic() >= end  # before the check, which may take long itself
            left = processes_marked(self.base)
            if self.process and self.process.poll() is None:
                left = [pid for pid in left if pid != self.pid]
            if not left or over:
                return left
            time.sleep(0.02)

    def destroy(self):
        """Ends everything by force; returns complaints about what was left."""
        complaints = []
        if self.process:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                if stream and not stream.closed:
                    stream.close()
            if self.stdio == "socket":
                self.socket.close()
        left = self.survivors()
        for pid in left:
            complaints.append("left behind: " + process_text(pid))
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        text = self.stderr_text()
        for mark in SANITIZER_MARKS:
            at = text.find(mark)
            if at >= 0:
                complaints.append("sanitizer: " + text[at:at + 1500])
                break
        if self.own_base:
            shutil.rmtree(self.base, ignore_errors=True)
        return complaints

    # -- bytes

    def send_bytes(self, data):
        self.pending += data
        self.pump(0)

    def flush(self, timeout=WAIT):
        end = time.monotonic() + timeout
        while self.pending and not self.write_failed:
            check(time.monotonic() < end, "the server does not take its input")
            self.pump(0.1)

    def wait_read(self, timeout=WAIT):
        """Until the server has read all that was sent to it. It handles what it has read before it
        looks at what its runs do."""
        if self.w is None:
            return
        end = time.monotonic() + timeout
        unread = termios.TIOCOUTQ if stat.S_ISSOCK(os.fstat(self.w).st_mode) else termios.FIONREAD
        self.flush(timeout)
        while struct.unpack("i", fcntl.ioctl(self.w, unread, bytes(4)))[0]:
            check(time.monotonic() < end, "the server does not read its input")
            self.pump(0.001)

    def _write(self):
        try:
            done = os.write(self.w, self.pending[:262144])
            del self.pending[:done]
        except BlockingIOError:
            pass
        except OSError:
            self.write_failed = True
            self.pending.clear()
        if self.eof_wanted and not self.pending:
            self._close_now()

    def _read(self):
        try:
            data = os.read(self.r, 262144)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.eof_seen = True
            return
        self.buffer += data
        self._take_messages(data)

    def _take_messages(self, data):
        """Move what is whole from the buffer to the inbox; @data came last."""
        if b"\n" not in data:
            return
        *lines, rest = bytes(self.buffer).split(b"\n")
        self.buffer = bytearray(rest)
        for line in lines:
            if self.on_line:
                self.on_line(line)
            self.inbox.append(json.loads(line))

    def pump(self, timeout):
        """Move bytes both ways until something happened, at most @timeout seconds."""
        with selectors.DefaultSelector() as poll:
            if self.w is not None and (self.pending or self.eof_wanted):
                if not self.pending:
                    self._close_now()
                else:
                    poll.register(self.w, selectors.EVENT_WRITE)
            if self.r is not None and not self.eof_seen and not self.read_paused:
                if self.r == self.w and self.w in poll.get_map():
                    poll.modify(self.r, selectors.EVENT_READ | selectors.EVENT_WRITE)
                else:
                    poll.register(self.r, selectors.EVENT_READ)
            if not poll.get_map():
                time.sleep(min(timeout, 0.01))
                return False
            events = poll.select(timeout)
            for key, mask in events:
                if mask & selectors.EVENT_READ and key.fd == self.r:
                    self._read()
                if mask & selectors.EVENT_WRITE:
                    self._write()
        return bool(events)

    # -- messages

    def send(self, *messages):
        """Those of one call come in one write: nothing delays the later ones."""
        self.send_bytes(b"".join(json.dumps(m).encode() + b"\n" for m in messages))

    def message(self, method, params=None, id=None):
        """A request that is still to be sent."""
        if id is None:
            id = self.next_id
            self.next_id += 1
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            message["params"] = params
        return message

    def request(self, method, params=None, id=None):
        """Send a request; returns its id."""
        message = self.message(method, params, id)
        self.send(message)
        return message["id"]

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def receive(self, timeout=WAIT):
        """The next message, or None when there is none in time or no more."""
        end = time.monotonic() + timeout
        while not self.inbox:
            left = end - time.monotonic()
            if left < 0 or self.eof_seen or self.r is None:
                return None
            self.pump(left)
        return self.inbox.popleft()

    def answer(self, id, timeout=WAIT):
        """The answer to request @id; other answers are kept, notifications go to notes."""
        end = time.monotonic() + timeout
        kept = []
        try:
            while True:
                message = self.receive(max(0.0, end - time.monotonic()))
                if message is None:
                    raise Failure("no answer to request %r within %.1f s%s" % (
                        id, timeout, " (the server closed its output)" if self.eof_seen else ""))
                if isinstance(message, dict) and "method" in message:
                    self.notes.append(message)
                elif isinstance(message, dict) and message.get("id") == id:
                    return message
                else:
                    kept.append(message)
        finally:
            self.inbox.extendleft(reversed(kept))

    def has_answered(self, id):
        """Has the answer come? It stays there for answer()."""
        self.pump(0)
        return any(isinstance(m, dict) and m.get("id") == id for m in self.inbox)

    def result(self, id, timeout=WAIT):
        message = self.answer(id, timeout)
        if "error" in message:
            raise RpcError(message["error"])
        return message["result"]

    def call(self, method, params=None, timeout=WAIT):
        return self.result(self.request(method, params), timeout)

    # -- capabilities

    def run(self, command, args=None, **params):
        params["command"] = command
        if args is not None:
            params["args"] = args
        return self.call("process.run", params, WAIT + params.get("timeout", 0))

    def hostile(self, *args, **params):
        """Run the hostile child with @args."""
        return self.run(self.hostile_path(), [str(a) for a in args], **params)

    def hostile_path(self, name="hostile"):
        inside = os.path.join(self.workspace, name)
        if not os.path.exists(inside):
            shutil.copy(hostile_program(name), inside)
        return inside

    def write_broken_program(self, name):
        """Make @name in the workspace a program whose interpreter is not there."""
        path = os.path.join(self.workspace, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/no/such/interpreter\n")
        os.chmod(path, 0o755)

    def logs(self, process_id, **params):
        return self.call("process.logs", dict(params, process_id=process_id))

    def ping(self, timeout=WAIT):
        """Seconds that a ping took."""
        start = time.monotonic()
        self.call("ping", None, timeout)
        return time.monotonic() - start


open_servers = []


SMALL_DISK = ["unshare", "--mount", "sh", "-c",
              'mount -t tmpfs -o size=4m,mode=755 none "$0" && mkdir "$0/workspace" "$0/home" && '
              'exec "$@"']


def on_small_disk(server):
    """Start @server with everything of it on a file system of 4 MiB."""
    if subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", server.base],
                      capture_output=True).returncode:
        raise Skip("this user can mount no small disk")
    server.wrapper = SMALL_DISK + [server.base]
    server.start()
    return server


def destroy_servers():
    complaints = []
    while open_servers:
        complaints += open_servers.pop().destroy()
    return complaints
