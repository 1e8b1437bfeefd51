#!/usr/bin/env python3
"""Compares procpen with other programs that run commands for agents: `make bench-peers`.

Each peer is started as its documentation says, with telemetry off, in a workspace of its own and,
as root, in an empty network namespace. Its adapter knows how to start it and how to ask for a
command; the measurements are the same for all. Peers take turns in each round, and the time of a
run is divided by that of the same program started directly in the same round, so that other load
hits all alike. The last thing printed is a Markdown table.

  peers.py [--rounds N] [PEER ...]
"""
import argparse
import fcntl
import http.client
import json
import os
import select
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "conformance"))
from packages import Missing, Packages  # noqa: E402

PATIENCE_S = 5      # an answer that takes longer counts as none
TIMEOUT_S = 1       # of the run that is to be stopped
SECRET = "sk-ant-of-the-host"
MARK = 100000 + os.getpid()  # seconds that our sleeps sleep: how they are found again
RUNS = 60           # of `true` a round; a peer without a server does a tenth


class NoAnswer(Exception):
    """The peer did not answer within PATIENCE_S, or ended."""


class Lines:
    """A peer that speaks JSON-RPC, one message a line, on its stdin and stdout."""

    def __init__(self, argv, cwd, env):
        self.child = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.pid, self.last_id, self.buffer = self.child.pid, 0, b""

    def send(self, method, params=None, notification=False):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if not notification:
            self.last_id += 1
            message["id"] = self.last_id
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()
        return self.last_id

    def answer(self, wanted):
        until = time.monotonic() + PATIENCE_S
        while True:
            line, newline, rest = self.buffer.partition(b"\n")
            if newline:
                self.buffer = rest
                message = json.loads(line)
                if message.get("id") == wanted and "method" not in message:
                    return message
                continue
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                raise NoAnswer
            read = os.read(self.child.stdout.fileno(), 1 << 16)
            if not read:
                raise NoAnswer
            self.buffer += read

    def call(self, method, params=None):
        return self.answer(self.send(method, params))

    def close_stdin(self):
        self.child.stdin.close()

    def end(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        for stream in (self.child.stdin, self.child.stdout):
            stream.close()


class Procpen:
    """procpen serve, plain JSON-RPC, its default sandbox."""
    title = "procpen"
    has_timeout = True

    def __init__(self, _packages):
        self.program = os.environ.get("PROCPEN", str(ROOT / "build" / "procpen"))

    def start(self, workspace, env):
        self.peer = Lines([self.program, "serve", "--workspace", workspace], workspace, env)
        self.peer.call("agent.session")

    @staticmethod
    def params(argv, timeout):
        return {"command": argv[0], "args": argv[1:], **({"timeout": timeout} if timeout else {})}

    def run(self, argv, timeout=None):
        result = self.peer.call("process.run", self.params(argv, timeout))["result"]
        return result["stdout_summary"]

    def begin(self, argv):
        self.peer.send("process.run", self.params(argv, None))


class Codex:
    """codex app-server, command/exec in its workspace-write sandbox with the network on."""
    title = "Codex"
    has_timeout = True

    def __init__(self, packages):
        self.program = packages.path("@openai", "codex-linux-x64", "vendor",
                                     "x86_64-unknown-linux-musl", "bin", "codex")

    def start(self, workspace, env):
        home = os.path.join(env["HOME"], ".codex")
        os.makedirs(home, exist_ok=True)
        self.workspace = workspace
        self.peer = Lines([self.program, "app-server"], workspace, {**env, "CODEX_HOME": home})
        self.peer.call("initialize", {"clientInfo": {"name": "peers", "version": "1"}})
        self.peer.send("initialized", notification=True)

    def params(self, argv, timeout):
        params = {"command": argv, "cwd": self.workspace,
                  "sandboxPolicy": {"type": "workspaceWrite", "networkAccess": True,
                                    "writableRoots": [self.workspace]}}
        return {**params, "timeoutMs": timeout * 1000} if timeout else params

    def run(self, argv, timeout=None):
        return self.peer.call("command/exec", self.params(argv, timeout))["result"]["stdout"]

    def begin(self, argv):
        self.peer.send("command/exec", self.params(argv, None))


class DesktopCommander:
    """Desktop Commander, its start_process with /bin/sh; it has no sandbox."""
    title = "Desktop Commander"
    has_timeout = True

    def __init__(self, packages):
        self.argv = [packages.node, packages.path("@wonderwhy-er", "desktop-commander", "dist",
                                                  "index.js"), "--no-onboarding"]

    def start(self, workspace, env):
        self.peer = Lines(self.argv, workspace,
                          {**env, "DESKTOP_COMMANDER_DISABLE_TELEMETRY": "1"})
        self.peer.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                      "clientInfo": {"name": "peers", "version": "1"}})
        self.peer.send("notifications/initialized", notification=True)

    @staticmethod
    def params(argv, timeout):
        text = " ".join("'%s'" % word.replace("'", "'\\''") for word in argv)
        return {"name": "start_process", "arguments": {
            "command": text, "shell": "/bin/sh", "timeout_ms": int((timeout or 60) * 1000)}}

    def run(self, argv, timeout=None):
        result = self.peer.call("tools/call", self.params(argv, timeout))["result"]
        return result["content"][0]["text"]

    def begin(self, argv):
        self.peer.send("tools/call", self.params(argv, 60))


class SandboxAgent:
    """sandbox-agent server, POST /v1/processes/run; it expects a container around it."""
    title = "sandbox-agent"
    has_timeout = True

    def __init__(self, packages):
        self.program = packages.path("@sandbox-agent", "cli-linux-x64", "bin", "sandbox-agent")
        os.chmod(self.program, 0o755)  # its install script, which is not run, would do that

    def start(self, workspace, env):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.peer = Lines([self.program, "server", "--no-token", "--no-telemetry", "--host",
                           "127.0.0.1", "--port", str(self.port)], workspace, env)
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.connection = self.connect()
                break
            except OSError:
                if time.monotonic() > until:
                    raise NoAnswer from None
                time.sleep(0.001)

    def connect(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def post(self, argv, timeout):
        body = {"command": argv[0], "args": argv[1:]}
        if timeout:
            body["timeoutMs"] = timeout * 1000
        self.connection.request("POST", "/v1/processes/run", json.dumps(body),
                                {"Content-Type": "application/json"})

    def run(self, argv, timeout=None):
        self.post(argv, timeout)
        try:
            return json.loads(self.connection.getresponse().read())["stdout"]
        except (OSError, http.client.HTTPException):
            self.connection = self.connect()
            raise NoAnswer from None

    def begin(self, argv):
        self.post(argv, None)


class Srt:
    """srt, one process for each command; there is no server to start or to kill."""
    title = "srt"
    has_timeout = False

    def __init__(self, packages):
        for tool in ("bwrap", "socat", "rg"):
            if not shutil.which(tool):
                raise Missing("%s is not installed, and srt needs it" % tool)
        self.argv = [packages.node, packages.path("@anthropic-ai", "sandbox-runtime", "dist",
                                                  "cli.js")]
        self.peer = None

    def start(self, workspace, env):
        settings = os.path.join(env["HOME"], ".srt-settings.json")
        with open(settings, "w", encoding="utf-8") as file:
            json.dump({"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": {
                "denyRead": [], "allowWrite": [workspace], "denyWrite": []}}, file)
        self.workspace, self.env, self.peer = workspace, env, None

    def spawn(self, argv):
        return subprocess.Popen([*self.argv, *argv], cwd=self.workspace, env=self.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)

    def run(self, argv, timeout=None):
        child = self.spawn(argv)
        try:
            return child.communicate(timeout=timeout or PATIENCE_S)[0].decode()
        except subprocess.TimeoutExpired:
            child.terminate()  # what a host does: srt has no timeout of its own
            raise NoAnswer from None
        finally:
            child.stdout.close()
            child.poll()

    def begin(self, argv):
        self.peer = self.spawn(argv)


PEERS = {"procpen": Procpen, "codex": Codex, "sandbox-agent": SandboxAgent,
         "desktop-commander": DesktopCommander, "srt": Srt}


# --- what is measured -------------------------------------------------------------------------

def sleepers():
    """The pids of our sleeps, in whatever namespace they run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"sleep", b"%d" % MARK]:
                found.append(int(entry.name))
    return found


def sweep():
    for pid in sleepers():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def descendants(pid):
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    todo, all_of_them = [pid], []
    while todo:
        pid = todo.pop()
        all_of_them.append(pid)
        todo += children.get(pid, [])
    return all_of_them


def memory_mb(pid):
    """Proportional set size of a server and the helpers that it keeps."""
    total = 0
    for one in descendants(pid):
        try:
            text = Path("/proc/%d/smaps_rollup" % one).read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return total / 1024


def timed(what):
    """Seconds that what() takes, or None without an answer."""
    began = time.monotonic()
    try:
        what()
    except NoAnswer:
        return None
    return time.monotonic() - began


def floor_s():
    """`true`, started directly, which costs no fork of this process, and waited for."""
    def directly():
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    return statistics.median(timed(directly) for _ in range(RUNS))


class Place:
    """A scratch directory with a workspace and a home for one peer. It lies below build/, because
    some sandboxes leave the temporary directory of the system writable."""

    def __enter__(self):
        (ROOT / "build").mkdir(exist_ok=True)
        self.scratch = tempfile.mkdtemp(prefix="peers-", dir=ROOT / "build")
        self.workspace = os.path.join(self.scratch, "workspace")
        self.home = os.path.join(self.scratch, "home")
        os.mkdir(self.workspace)
        os.mkdir(self.home)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.scratch, ignore_errors=True)


def once(peer, packages, floor):
    """One round with a fresh server; {measure: value}."""
    got = {}
    with Place() as place:
        env = {**packages.environment(place.home), "ANTHROPIC_API_KEY": SECRET}
        env.pop("NODE_MODULES")
        said = []
        got["start_ms"] = timed(lambda: (peer.start(place.workspace, env),
                                         said.append(peer.run(["echo", "hi"]))))
        try:
            if "hi" not in "".join(said):
                raise Missing("%s cannot run a command here" % peer.title)
            if peer.peer:
                time.sleep(0.3)
                got["memory_mb"] = memory_mb(peer.peer.pid)
            got["run"] = run_ratio(peer, floor)
            got["leaks"] = SECRET in peer.run(["sh", "-c", "echo $ANTHROPIC_API_KEY"])
            probe = os.path.join(place.home, "probe")
            peer.run(["sh", "-c", "touch '%s'; true" % probe])
            got["writes"] = os.path.exists(probe)
            got["held"] = timed(lambda: peer.run(["sh", "-c", "sleep %d & echo hi" % MARK]))
            sweep()
            tree = ["sh", "-c", "setsid sleep %d & sleep %d; true" % (MARK, MARK)]
            got["timeout"] = timed(lambda: peer.run(tree, TIMEOUT_S))
            got["left"] = left()
            got["killed"] = after_kill(peer, tree)
        finally:
            sweep()
            if isinstance(peer.peer, Lines):
                peer.peer.end()
    return got


def run_ratio(peer, floor):
    count = RUNS if peer.peer else RUNS // 10
    return statistics.median(timed(lambda: peer.run(["true"])) for _ in range(count)) / floor


def left():
    """How many of our sleeps live on, half a second later; none does afterwards."""
    time.sleep(0.5)
    count = len(sleepers())
    sweep()
    return count


def after_kill(peer, tree):
    """Survivors of a run with a child in a session of its own, when its server is SIGKILLed."""
    peer.begin(tree)
    until = time.monotonic() + PATIENCE_S
    while len(sleepers()) < 2:
        if time.monotonic() > until:
            return None
        time.sleep(0.02)
    os.kill(peer.peer.pid, signal.SIGKILL)
    (peer.peer.child if isinstance(peer.peer, Lines) else peer.peer).wait()
    return left()


# --- the table --------------------------------------------------------------------------------

def middle(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def number(value, form):
    return "–" if value is None else form % value


def yes(values):
    return "**yes**" if any(values) else "no"


def cells(peer, rounds):
    """What the table says of one peer."""
    def of(key):
        return [got.get(key) for got in rounds]

    def answered(key, form, scale):
        seconds = of(key)
        return "never" if None in seconds else form % (middle(seconds) * scale)

    return {
        "`true`, one call after the other, against starting it directly":
            number(middle(of("run")), "%.1f ×"),
        "start to first result": number(middle(s * 1e3 for s in of("start_ms") if s), "%.0f ms"),
        "memory at rest": number(middle(of("memory_mb")), "%.0f MB"),
        "a command can write outside the workspace": yes(of("writes")),
        "a command sees the host's API key": yes(of("leaks")),
        "`sleep 99999 & echo hi` is answered":
            answered("held", "after %.0f ms", 1e3),
        "a timeout of 1 s is answered":
            answered("timeout", "after %.2f s", 1) if peer.has_timeout else "has none",
        "processes that live on after it (2 before)": number(max(of("left")), "%d"),
        "processes that live on when the server is killed (2 before)":
            number(max((n for n in of("killed") if n is not None), default=None), "%d"),
    }


def isolate(argv):
    """Goes on in an empty network namespace with its loopback interface up, where that works."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return
    os.execvp("unshare", ["unshare", "-n", sys.executable, __file__, "--isolated", *argv])


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14x", b"lo", 0x1)  # IFF_UP, netdevice(7)
        fcntl.ioctl(sock, 0x8914, request)            # SIOCSIFFLAGS


def main():
    parser = argparse.ArgumentParser(description="procpen beside other programs of its kind")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isolated", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("peers", nargs="*", choices=[*PEERS, []], metavar="PEER")
    options = parser.parse_args()
    try:
        packages = Packages("peers")
    except Missing as reason:
        print("SKIP bench-peers: %s" % reason)
        return
    if not options.isolated:
        isolate(sys.argv[1:])
    else:
        raise_loopback()
    peers = {}
    for name in options.peers or PEERS:
        try:
            peers[name] = PEERS[name](packages)
        except Missing as reason:
            print("SKIP %s: %s" % (name, reason))
    rounds = {name: [] for name in peers}
    for i in range(options.rounds):
        floor = floor_s()
        for name in list(peers) if i % 2 == 0 else list(reversed(peers)):
            try:
                rounds[name].append(once(peers[name], packages, floor))
            except Missing as reason:
                print("SKIP %s: %s" % (name, reason))
                del peers[name]
                continue
            print("round %d, %s: %s" % (i + 1, name, rounds[name][-1]), flush=True)
    if not peers:
        return
    columns = {name: cells(peers[name], rounds[name]) for name in peers}
    print("\n| | %s |\n|---|%s" % (" | ".join(peers[name].title for name in peers),
                                   "---|" * len(peers)))
    for row in columns[next(iter(columns))]:
        print("| %s | %s |" % (row, " | ".join(columns[name][row] for name in peers)))


main()
