#!/usr/bin/env python3
"""Compares procpen with other programs that run commands for agents: `make bench-peers`.

Each peer is started as its documentation says, with telemetry off, in a workspace of its own and,
as root, in an empty network namespace. Its adapter knows how to start it and how to ask for a
command; the measurements are the same for all. Peers take turns in each round, and the time of a
run is divided by that of the same program started directly in the same round, so that other load
hits all alike. The last thing printed is a Markdown table.

  peers.py [--rounds N] [--only runs|background] [PEER ...]
"""
import argparse
import fcntl
import http.client
import json
import os
import re
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
JOBS = 1000         # runs in the background
JOBS_S = 60         # an answer about one of them that takes longer counts as none
WINDOW = 64         # calls about them that are outstanding


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
            message = self.message(until)
            if message.get("id") == wanted and "method" not in message:
                return message

    def message(self, until):
        return json.loads(self.line(until))

    def line(self, until):
        while True:
            line, newline, rest = self.buffer.partition(b"\n")
            if newline:
                self.buffer = rest
                return line
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                raise NoAnswer
            read = os.read(self.child.stdout.fileno(), 1 << 16)
            if not read:
                raise NoAnswer
            self.buffer += read

    def call(self, method, params=None):
        return self.answer(self.send(method, params))

    def burst(self, method, calls):
        """The answers to many calls, by their parameters, WINDOW of them outstanding."""
        ids, answers, sent = [], {}, 0
        while len(answers) < len(calls):
            while sent < len(calls) and sent - len(answers) < WINDOW:
                ids.append(self.send(method, calls[sent]))
                sent += 1
            message = self.message(time.monotonic() + JOBS_S)
            if "method" not in message:
                answers[message["id"]] = message
        return [answers[one]["result"] for one in ids]

    def end(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        for stream in (self.child.stdin, self.child.stdout):
            stream.close()


class Web:
    """A peer's HTTP interface, for many calls at once: each connection has one outstanding."""

    def __init__(self, port):
        self.port, self.sockets, self.buffers = port, [], {}

    def _send(self, sock, method, path, body):
        body = json.dumps(body).encode() if body is not None else b""
        sock.sendall(b"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\n\r\n%s" % (method.encode(), path.encode(), len(body),
                                                       body))

    def _answer(self, sock):
        data, length = self.buffers.pop(sock, b""), None
        while length is None or len(data) < length:
            read = sock.recv(1 << 16)
            if not read:
                raise NoAnswer
            data += read
            head, found, _ = data.partition(b"\r\n\r\n")
            if found and length is None:
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
                length = len(head) + 4 + int(fields[b"content-length"])
        self.buffers[sock] = data[length:]
        if not data.startswith(b"HTTP/1.1 200"):
            raise Missing("an answer begins with %r" % data[:200])
        return data[:length].partition(b"\r\n\r\n")[2]

    def burst(self, calls):
        """The answers to many (method, path, body)."""
        return [json.loads(one) for one in self.texts(calls)]

    def texts(self, calls):
        while len(self.sockets) < min(WINDOW, len(calls)):
            sock = socket.create_connection(("127.0.0.1", self.port), timeout=JOBS_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sockets.append(sock)
        answers, width = [], min(WINDOW, len(calls))
        for i in range(width):
            self._send(self.sockets[i], *calls[i])
        for i in range(len(calls)):
            sock = self.sockets[i % width]
            answers.append(self._answer(sock))
            if i + width < len(calls):
                self._send(sock, *calls[i + width])
        return answers

    def close(self):
        for sock in self.sockets:
            sock.close()


class Procpen:
    """procpen serve, plain JSON-RPC, its default sandbox."""
    title = "procpen"
    has_timeout = True
    no_background = None

    def __init__(self, _packages):
        self.program = os.environ.get("PROCPEN", str(ROOT / "build" / "procpen"))

    def start(self, workspace, env):
        self.peer = Lines([self.program, "serve", "--workspace", workspace, "--set",
                           "limits.running_processes=%d" % (JOBS + 100)], workspace, env)
        self.peer.call("agent.session")

    @staticmethod
    def params(argv, timeout):
        return {"command": argv[0], "args": argv[1:], **({"timeout": timeout} if timeout else {})}

    def run(self, argv, timeout=None):
        result = self.peer.call("process.run", self.params(argv, timeout))["result"]
        return result["stdout_summary"]

    def begin(self, argv):
        self.peer.send("process.run", self.params(argv, None))

    def start_jobs(self, argv, count):
        params = {**self.params(argv, None), "background": True}
        return [one["process_id"] for one in self.peer.burst("process.run", [params] * count)]

    def list_jobs(self):
        self.peer.send("process.list", {"state_filter": "running", "limit": JOBS})
        return self.peer.line(time.monotonic() + JOBS_S).count(b'"process_id":')

    def kill_jobs(self, jobs):
        self.peer.burst("process.kill", [{"process_id": one, "signal": "KILL"} for one in jobs])


class Codex:
    """codex app-server, command/exec in its workspace-write sandbox with the network on."""
    title = "Codex"
    has_timeout = True
    no_background = "command/exec answers when the command is over, and no call lists commands"

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
    no_background = None

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

    def start_jobs(self, argv, count):
        """Its timeout_ms is how long an answer waits for the end."""
        texts = [one["content"][0]["text"] for one in
                 self.peer.burst("tools/call", [self.params(argv, 0.001)] * count)]
        return [int(re.search(r"PID (\d+)", text)[1]) for text in texts]

    def list_jobs(self):
        self.peer.send("tools/call", {"name": "list_sessions", "arguments": {}})
        return self.peer.line(time.monotonic() + JOBS_S).count(b"PID:")

    def kill_jobs(self, jobs):
        self.peer.burst("tools/call", [{"name": "force_terminate", "arguments": {"pid": one}}
                                       for one in jobs])


class SandboxAgent:
    """sandbox-agent server, POST /v1/processes/run; it expects a container around it."""
    title = "sandbox-agent"
    has_timeout = True
    no_background = None

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

    def start_jobs(self, argv, count):
        self.web = Web(self.port)
        config = "/v1/processes/config"
        now = self.web.burst([("GET", config, None)])[0]
        self.web.burst([("POST", config, {**now, "maxConcurrentProcesses": JOBS + 100})])
        body = {"command": argv[0], "args": argv[1:]}
        return [one["id"] for one in self.web.burst([("POST", "/v1/processes", body)] * count)]

    def list_jobs(self):
        listed = self.web.texts([("GET", "/v1/processes", None)])[0]
        return listed.count(b'"status":"running"')

    def kill_jobs(self, jobs):
        self.web.burst([("POST", "/v1/processes/%s/kill" % one, None) for one in jobs])
        self.web.close()


class Srt:
    """srt, one process for each command; there is no server to start or to kill."""
    title = "srt"
    has_timeout = False
    no_background = "it is one process for each command, which a host would start and list itself"

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


def jobs_once(peer, packages):
    """One round of JOBS runs in the background, with a fresh server; {measure: seconds}."""
    if peer.no_background:
        return {}
    got = {}
    with Place() as place:
        env = packages.environment(place.home)
        env.pop("NODE_MODULES")
        jobs = []
        try:
            if timed(lambda: peer.start(place.workspace, env)) is None:
                return {}
            got["jobs_start"] = timed(lambda: jobs.extend(
                peer.start_jobs(["sleep", str(MARK)], JOBS)))
            if len(set(jobs)) != JOBS or len(sleepers()) < JOBS:
                raise Missing("%s has started %d of %d" % (peer.title, len(sleepers()), JOBS))
            got["jobs_list"] = statistics.median(timed(lambda: jobs_listed(peer)) for _ in range(5))
            got["jobs_kill"] = timed(lambda: jobs_killed(peer, jobs))
        finally:
            sweep()
            if isinstance(peer.peer, Lines):
                peer.peer.end()
    return got


def jobs_listed(peer):
    """The answer as bytes: parsing it is the client's work."""
    listed = peer.list_jobs()
    if listed != JOBS:
        raise Missing("%s lists %d of %d" % (peer.title, listed, JOBS))


def jobs_killed(peer, jobs):
    """Until the last one is dead, whatever the answers say."""
    peer.kill_jobs(jobs)
    until = time.monotonic() + PATIENCE_S
    while sleepers():
        if time.monotonic() > until:
            raise NoAnswer


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


def job_cells(peer, rounds):
    """What the table says of its runs in the background."""
    def seconds(key):
        values = [got.get(key) for got in rounds]
        if peer.no_background:
            return "cannot"
        return "never" if None in values else "%.4g s" % float("%.2g" % middle(values))

    name = "{:,} background runs: ".format(JOBS)
    return {name + "start": seconds("jobs_start"), name + "list": seconds("jobs_list"),
            name + "kill all, until none lives": seconds("jobs_kill")}


def run_cells(peer, rounds):
    """What the table says of its runs, one after the other."""
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


# What can be measured: one round of it, and its rows of the table.
SECTIONS = {"runs": (once, run_cells),
            "background": (lambda peer, packages, floor: jobs_once(peer, packages), job_cells)}


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
    parser.add_argument("--only", choices=list(SECTIONS))
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
    sections = [options.only] if options.only else list(SECTIONS)
    rounds = {section: {name: [] for name in peers} for section in sections}
    for section in sections:
        for i in range(options.rounds):
            measure_round(i, section, peers, packages, rounds[section])
    if peers:
        print_table(peers, rounds)


def measure_round(i, section, peers, packages, rounds):
    """Each peer once; one that cannot be measured is left out from now on."""
    floor = floor_s()
    for name in list(peers) if i % 2 == 0 else list(reversed(peers)):
        try:
            rounds[name].append(SECTIONS[section][0](peers[name], packages, floor))
        except Missing as reason:
            print("SKIP %s: %s" % (name, reason))
            del peers[name]
            continue
        print("round %d, %s: %s" % (i + 1, name, rounds[name][-1]), flush=True)


def print_table(peers, rounds):
    columns = {name: {} for name in peers}
    for section, measured in rounds.items():
        for name in peers:
            columns[name].update(SECTIONS[section][1](peers[name], measured[name]))
    print("\n| | %s |\n|---|%s" % (" | ".join(peers[name].title for name in peers),
                                   "---|" * len(peers)))
    for row in columns[next(iter(columns))]:
        print("| %s | %s |" % (row, " | ".join(columns[name][row] for name in peers)))
    for peer in peers.values():
        if peer.no_background and "background" in rounds:
            print("%s cannot run in the background: %s" % (peer.title, peer.no_background))


main()
