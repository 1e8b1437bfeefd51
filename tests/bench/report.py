"""Measures procpen beside the bare floor and a bare server, interleaved, and prints ratios.

    report.py BENCH-PROGRAMS SERVER [--json]       called by tests/bench/run

Every experiment runs its arms in alternating rounds, in an order that turns each round; a ratio is
the median of the ratios of single rounds. That evens out slow changes of the machine, but not other
work on it: arms with different numbers of processes lose different amounts to it, and ratios shift
in either direction. So what others used of the machine is measured with every arm, and verdicts of
experiments that had company carry a question mark. A figure never fails this program, a wrong
answer does.
"""
import hashlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

QUICK = os.environ.get("BENCH") == "quick"
CORPORA = os.path.abspath(os.environ.get("PROCPEN_CORPORA", "../shared/corpora"))
LOG_BYTES = 8 << 20
BIG_BYTES = (1 << 28) if QUICK else (1 << 30)
AUDIT_LINES = 100_000
JOBS = 1000
RUNS_BEFORE_WEIGHING = 1000
ARM_TIME_LIMIT = 150
COMPANY_MAX = 0.10  # share of the processors used by others from which on figures are in doubt
TIMED_UNITS = ("us", "ms", "/s", "MB/s")  # memory and exactness do not depend on company
# No verdict on company: their own orphans look like it.
ORPHANING = ("end kill", "end eof", "chains 20", "chains 100")
# What a request may ask for beside the default, each from the pool where it has one.
KINDS = {"strict": {"profile": "strict"}, "network off": {"network": False},
         "memory limit": {"memory_limit": 256 << 20}}
# Version managers put dozens of folders into PATH; looking `true` up there is not what is measured.
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}


class Experiment:
    """One way of measuring: its arms by name, and how many rounds in the short and long form."""

    def __init__(self, name, rounds, arms):
        self.name, self.arms = name, arms
        self.rounds = rounds[0] if QUICK else rounds[1]
        self.results = {arm: [] for arm in arms}
        self.company = []  # of each arm of each round

    def measure(self, number):
        """One round. Returns complaints about wrong answers."""
        names = list(self.arms)
        turn = number % len(names)
        complaints = []
        for arm in names[turn:] + names[:turn]:
            with Company(self.company):
                figures, complaint = run_arm(self.arms[arm])
            if complaint:
                complaints.append(f"{self.name}, {arm}: {complaint}")
            else:
                self.results[arm].append((number, figures))
        return complaints

    def figure(self, arm, key):
        """Median over the rounds, or None."""
        values = [figures[key] for _, figures in self.results.get(arm, [])
                  if figures[key] is not None]
        return statistics.median(values) if values else None

    def ratio(self, arm, base, key, base_key=None):
        """Median of arm / base over the rounds that both have, or None."""
        bases = dict(self.results.get(base, []))
        values = [figures[key] / bases[number][base_key or key]
                  for number, figures in self.results.get(arm, [])
                  if number in bases and bases[number][base_key or key] > 0]
        return statistics.median(values) if values else None


class Company:
    """What others use of the processors meanwhile: all busy time less that of our children.

    Processes whose shim dies first are not counted as ours: it errs on the side of doubt, always
    so where the server is killed on purpose (ORPHANING).
    """

    def __init__(self, shares):
        self.shares = shares

    @staticmethod
    def _busy():
        with open("/proc/stat", encoding="ascii") as f:
            ticks = [int(t) for t in f.readline().split()[1:9]]
        children, own = (resource.getrusage(who) for who in
                         (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
        idle = ticks[3] + ticks[4]
        return ((sum(ticks) - idle) / os.sysconf("SC_CLK_TCK") -
                sum(u.ru_utime + u.ru_stime for u in (children, own)))

    def __enter__(self):
        self.busy, self.begin = self._busy(), time.monotonic()

    def __exit__(self, *_):
        wall = (time.monotonic() - self.begin) * os.cpu_count()
        self.shares.append(max(0.0, self._busy() - self.busy) / wall)


def run_arm(argv):
    """The figures one measuring program printed, or what went wrong."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=ARM_TIME_LIMIT, env=ENVIRONMENT, check=False)
    except subprocess.TimeoutExpired:
        return None, f"no end after {ARM_TIME_LIMIT} s"
    if done.returncode:
        return None, done.stderr.strip() or f"status {done.returncode}"
    figures = json.loads(done.stdout)
    for name in ("left", "survivors"):
        if figures.get(name):
            return None, f"{figures[name]:.0f} processes left alive"
    return figures, None


class Row:
    """A line of the table. limit: what the ratio, or without a base the figure, is held against."""

    def __init__(self, what, experiment, key, unit, **more):
        self.what, self.experiment, self.key, self.unit = what, experiment, key, unit
        self.arm = more.get("arm", "procpen")
        self.base, self.base_key = more.get("base"), more.get("base_key")
        self.limit, self.at_least = more.get("limit"), more.get("at_least", False)
        self.absolute = more.get("absolute", self.base is None)
        self.inverse = more.get("inverse", False)
        self.named = more.get("named")  # the figure that is the name of what was measured

    def values(self, experiments):
        e = experiments[self.experiment]
        base = e.figure(self.base, self.base_key or self.key) if self.base else None
        ratio = e.ratio(self.arm, self.base, self.key, self.base_key) if self.base else None
        if ratio and self.inverse:
            ratio = 1 / ratio
        return base, e.figure(self.arm, self.key), ratio

    def which(self, experiments):
        results = experiments[self.experiment].results.get(self.arm) if self.named else None
        return results[-1][1][self.named] if results else None

    def target(self):
        if self.limit is None:
            return ""
        sign = ">=" if self.at_least else "<="
        return f"{sign} {self.limit:g} " + (self.unit if self.absolute else f"x {self.base}")

    def met(self, figure, ratio):
        value = figure if self.absolute else ratio
        if self.limit is None or value is None:
            return None
        return value >= self.limit if self.at_least else value <= self.limit

    def result(self, experiments):
        base, figure, ratio = self.values(experiments)
        company = statistics.median(experiments[self.experiment].company)
        return {"company": round(company, 3),
                "in_doubt": (self.unit in TIMED_UNITS and company > COMPANY_MAX and
                             self.experiment not in ORPHANING),
                "what": self.what, "which": self.which(experiments), "unit": self.unit, "base": self.base, "base_figure": base,
                "arm": self.arm, "figure": figure, "ratio": ratio, "target": self.target(),
                "met": self.met(figure, ratio)}


def chains_rows(count):
    """The ends of a run in which so many chains fork, start a session and leave their parent."""
    ends = {"timeout": "timeout: late by", "kill": "process.kill", "eof": "end of the input",
            "term": "SIGTERM", "sigkill": "SIGKILL of the server"}
    return [Row(f"{count} fork-setsid chains, {text}" if key == "timeout" else f"  {text}",
                f"chains {count}", f"{key}_ms", "ms", base="floor", base_key="end_ms",
                limit=100, absolute=True) for key, text in ends.items()]


ROWS = [
    Row("run true, argv, one at a time: p50", "argv", "p50_us", "us", base="floor", limit=1.3),
    Row("  without namespaces", "argv", "p50_us", "us", base="floor", arm="no namespaces", limit=1.3),
    Row("  of that, the seccomp filter", "argv", "p50_us", "us", base="floor", arm="floor+filter"),
    Row("  a bare server", "argv", "p50_us", "us", base="floor", arm="bare"),
    Row("  p99", "argv", "p99_us", "us", base="floor"),
    Row("  nothing started ahead: shim alone", "layers", "p50_us", "us", base="floor", arm="shim"),
    Row("    + filter, Landlock, capabilities", "layers", "p50_us", "us", base="floor",
        arm="filters"),
    Row("    + PID and mount namespace", "layers", "p50_us", "us", base="floor", arm="namespaces"),
    Row("    + network namespace", "layers", "p50_us", "us", base="floor", arm="network off"),
    Row("    + control group of three limits", "layers", "p50_us", "us", base="floor", arm="limits"),
    Row("  all of it, one started ahead", "layers", "p50_us", "us", base="floor"),
    Row("  server CPU per run", "argv", "cpu_us", "us", base="bare"),
    Row("  strict", "kinds", "p50_us", "us", base="floor", arm="strict", limit=1.5),
    Row("  network: false", "kinds", "p50_us", "us", base="floor", arm="network off", limit=1.5),
    Row("  memory_limit", "kinds", "p50_us", "us", base="floor", arm="memory limit"),
    Row("  after a pause of 0.3 s", "idle", "p50_us", "us", base="bare"),
    Row("  on a terminal, beside pipes", "tty", "p50_us", "us", base="pipe", limit=1.3),
    Row("run true through sh, one at a time: p50", "shell", "p50_us", "us", base="floor"),
    Row("runs, 64 outstanding", "many", "rate", "/s", base="bare", limit=1, at_least=True),
    Row("  without namespaces", "many", "rate", "/s", base="bare", arm="no namespaces", limit=1,
        at_least=True),
    Row("  server CPU per run", "many", "cpu_us", "us", base="bare"),
    Row("ping, p50", "ping", "p50_us", "us", base="bare", limit=1.5),
    Row("start to first answer (ping)", "start", "p50_us", "us", base="bare", limit=1.15),
    Row("start to tools/list", "start tools", "p50_us", "us", base="bare"),
    Row("start to the answer of the first run", "start run", "p50_us", "us", base="bare"),
    Row("memory at rest", "memory", "rest_kb", "KB", limit=3072),
    Row("memory added by 1,000 runs", "memory", "grown_kb", "KB", limit=512),
    Row("descriptors added by 1,000 runs (16 shims wait)", "memory", "fds_grown", "", limit=64),
    Row("memory added by 1,000 runs that print", "memory output", "grown_kb", "KB", limit=512),
    Row("  without pages of the program's file", "memory output", "own_grown_kb", "KB"),
    Row("descriptors added by 1,000 runs that print", "memory output", "fds_grown", "", limit=64),
    Row("1,000 in the background: each, with shim", "jobs", "kb_each", "KB", limit=24),
    Row("  start all", "jobs", "start_ms", "ms", base="floor", limit=1300, absolute=True),
    Row("  list", "jobs", "list_ms", "ms", limit=5),
    Row("  kill all", "jobs", "kill_ms", "ms", base="floor", limit=400, absolute=True),
    Row("much output in one run: rate", "output", "mb_per_s", "MB/s", base="bare", limit=0.85,
        at_least=True),
    Row("  server CPU per GB", "output", "cpu_ms_per_gb", "ms", base="bare", limit=200,
        absolute=True),
    Row("  beside a bare splice loop into memory", "output", "cpu_ms_per_gb", "ms", base="splice",
        limit=1.5),
    Row("  heap grown", "output", "heap_grown_kb", "KB", limit=512),
    Row("ping while a child floods: p99", "flood 1", "p99_us", "us", base="bare", limit=1000,
        absolute=True),
    Row("ping while 64 children flood: p99", "flood 64", "p99_us", "us", base="bare", limit=5000,
        absolute=True),
    Row("  with 10,000 finished records (quick: 2,000)", "flood records", "p99_us", "us",
        base="bare", limit=5000, absolute=True),
    Row("  with 64 follows of them", "flood follow", "p99_us", "us", limit=5000),
    Row("ping while 4 children flood and 255 requests wait for a line: p99", "flood waits",
        "p99_us", "us", limit=5000),
    Row("ping behind the first 60 runs", "burst", "ping_ms", "ms", limit=5),
    Row("a line into cat by process.input and back as an event", "input", "p50_us", "us",
        base="pipes", limit=2),
    Row("  beside a bare server", "input", "p50_us", "us", base="bare"),
    Row("  server CPU per line", "input", "cpu_us", "us", base="bare"),
    Row("  beside one cat, with half the switches", "input", "p50_us", "us", base="pipe"),
    Row("answer to the wait for a line", "wait", "p50_us", "us", base="grep", limit=1.5),
    Row("  beside a bare server", "wait", "p50_us", "us", base="bare"),
    Row("  server CPU per wait", "wait", "cpu_us", "us", base="bare"),
    Row("  beside a reader that only waits", "wait", "p50_us", "us", base="floor"),
    Row("request of 1 MiB: server CPU", "request 1", "cpu_ms", "ms", base="jansson"),
    Row("request of 4 MiB: server CPU", "request 4", "cpu_ms", "ms", base="jansson"),
    Row("process.logs of 8 MiB in pages", "logs", "p50_us", "us", base="cat", limit=0.5,
        at_least=True, inverse=True),
    Row("process.follow of 8 MiB", "follow", "p50_us", "us", base="cat", limit=0.5, at_least=True,
        inverse=True),
    Row("  of what was written on a terminal", "follow tty", "p50_us", "us", base="pipe", limit=1.2),
    Row("audit verify of 100,000 lines", "verify", "p50_us", "us", base="sha256sum", limit=5),
    Row("64 runs of 1 MiB at once, bytes exact", "exact", "exact", "runs", limit=64, at_least=True),
    Row("timeout: late by", "timeout plain", "late_p50_ms", "ms", limit=5),
    Row("  with a child of its own session", "timeout setsid", "late_p50_ms", "ms", limit=5),
    Row("  with a child that ignores TERM", "timeout ignore", "late_p50_ms", "ms", limit=5),
    Row("20 trees when the server is killed: gone in", "end kill", "gone_ms", "ms", limit=1000),
    Row("20 trees when its stdin closes: gone in", "end eof", "gone_ms", "ms", limit=1000),
    *(row for count in (20, 100) for row in chains_rows(count)),
    Row("verdict on 10 kB, the worst everyday text", "judge", "everyday_ms", "ms", limit=1,
        named="everyday_name"),
    Row("  the worst of many hostile shapes", "judge", "small_ms", "ms", limit=1,
        named="small_name"),
    Row("  loops over lists in loops", "judge", "loops_ms", "ms", limit=1, named="loops_name"),
    Row("  on 1 MiB, the worst everyday text", "judge", "everyday_large_ms", "ms", limit=50,
        named="everyday_large_name"),
    Row("  the worst of many hostile shapes", "judge", "large_ms", "ms", limit=50,
        named="large_name"),
    Row("  on 100,000 commands", "judge", "many_ms", "ms", limit=50),
    Row("  on a command of nl2bash, mean", "judge", "real_us", "us"),
    Row("blocked of the sample: must", "judge", "must_percent", "%", limit=97, at_least=True),
    Row("  should", "judge", "should_percent", "%", limit=75, at_least=True),
    Row("  benign", "judge", "benign_percent", "%", limit=0.5),
    Row("  seed-literal", "judge", "seed_percent", "%", limit=100, at_least=True),
    Row("  nl2bash (some of it is destructive)", "judge", "real_percent", "%"),
    Row("blocked of our tricks: block", "judge", "block_percent", "%", limit=100, at_least=True),
    Row("  allow", "judge", "allow_percent", "%", limit=0),
]


def write_audit_log(folder):
    """The log of one server that ran half as many commands as it has lines. Returns the file."""
    path = f"{folder}/20260101T000000Z-0123456789abcdef.jsonl"
    start = '{"time":"2026-01-01T00:00:00.000Z","seq":%d,"instance":"0123456789abcdef","event":"'
    attempt = ('attempt","request_id":%d,"uid":1000,"capability":"process.run","tier":"notify",'
               '"decision":"allowed","command":"grep -rn pattern src include | head -20",'
               f'"argv_sha256":"{"5" * 64}","cwd":"/home/user/project","prev":"')
    end = ('end","request_id":%d,"process_id":"p1-0123","outcome":"completed/exited","exit_code":0,'
           '"reason":"exited","duration_ms":4,"stdout_size":1024,"stderr_size":0,"leftover":0,'
           '"survivors":0,"prev":"')
    before = "0" * 64
    os.makedirs(folder, 0o700)
    with open(path, "wb") as f:
        for seq in range(1, AUDIT_LINES + 1):
            members = (attempt, end)[seq % 2 == 0] % ((seq + 1) // 2)
            if seq == AUDIT_LINES:
                members = 'server_stop","survivors":0,"gaps":[],"prev":"'
            line = (start % seq + members + before + '"}').encode()
            before = hashlib.sha256(line).hexdigest()
            f.write(line + b"\n")
    return path


def experiments_of(programs, server, scratch):
    """All experiments by name."""
    bare, drive = [f"{programs}/bare"], f"{programs}/drive"
    floor, writer = f"{programs}/floor", f"{programs}/writer"
    page_file, code = f"{scratch}/pages", f"{scratch}/filter"
    audit_file = write_audit_log(f"{scratch}/verify/audit")
    sha256sum = shutil.which("sha256sum", path=ENVIRONMENT["PATH"])
    true, sleep = (shutil.which(p, path=ENVIRONMENT["PATH"]) for p in ("true", "sleep"))
    # the same path as the floors execute, and in the form that the bare server reads
    run_true = json.dumps({"command": true, "args": []}, separators=(",", ":"))
    with open(page_file, "wb") as f:
        subprocess.run([writer, str(LOG_BYTES), "3"], stdout=f, check=True)
    with open(code, "wb") as f:
        subprocess.run([f"{programs}/filter"], stdout=f, check=True)

    def with_servers(*mode, floors=None):
        return dict(floors or {}, bare=[drive, *mode, "--", *bare],
                    procpen=[drive, *mode, "--", *server])

    def procpen(*mode, floors=None):
        return dict(floors or {}, procpen=[drive, *mode, "--", *server])

    def sandboxed(*options):
        return server + [word for option in options for word in ("--set", option)]

    def layers(mode):
        late = "sandbox.ahead=false"
        arms = {"shim": ["sandbox.profile=none", late],
                "filters": ["sandbox.namespaces=false", late], "namespaces": [late],
                "network off": [late, "sandbox.network=false"],
                "limits": [late, "sandbox.network=false", "process.memory_bytes=1G",
                           "process.cpu_percent=400"]}
        return {name: [drive, *mode, "--", *sandboxed(*options)] for name, options in arms.items()}

    def kinds(n):
        arms = {name: json.dumps(dict(more, command=true, args=[]))
                for name, more in KINDS.items()}
        return {name: [drive, "run", params, n, "1", "--", *server]
                for name, params in arms.items()}

    def started(first):
        """As a host starts it: nothing set but the directories."""
        plain = server[:server.index("--set")]
        return {"bare": [drive, "start", first, "20", "--", *bare],
                "procpen": [drive, "start", first, "20", "--", *plain]}

    def request(size, count):
        return procpen("request", str(size), count, floors={
            "jansson": [f"{programs}/parse", str(size), count]})

    def chains(count):
        return procpen("chains", count, f"{programs}/hostile", floors={
            "floor": [floor, "chains", count, f"{programs}/hostile"]})

    n = "100" if QUICK else "200"
    many, writes = ("500", "0.5") if QUICK else ("1000", "1.5")
    found = [
        Experiment("argv", (4, 20), with_servers("run", run_true, n, "1", floors={
            "floor": [floor, "run", n, true],
            "floor+filter": [floor, "filter", code, n, true],
            "no namespaces": [drive, "run", run_true, n, "1", "--",
                              *sandboxed("sandbox.namespaces=false")]})),
        Experiment("layers", (2, 8), procpen("run", run_true, n, "1", floors=dict(
            layers(("run", run_true, n, "1")), floor=[floor, "run", n, true]))),
        Experiment("kinds", (2, 6), dict(kinds(n), floor=[floor, "run", n, true])),
        Experiment("idle", (1, 3), with_servers("idle", "8", "300")),
        Experiment("shell", (3, 10), with_servers("run", "shell", n, "1", floors={
            "floor": [floor, "run", n, "/bin/sh", "-c", "true"]})),
        Experiment("many", (3, 9), with_servers("run", "argv", many, "64", floors={
            "no namespaces": [drive, "run", "argv", many, "64", "--",
                              *sandboxed("sandbox.namespaces=false")]})),
        Experiment("ping", (4, 12), with_servers("ping", "5000")),
        Experiment("start", (3, 12), started("ping")),
        Experiment("start tools", (2, 5), started("tools")),
        Experiment("start run", (2, 5), started("run")),
        Experiment("memory", (1, 3), with_servers("memory", str(RUNS_BEFORE_WEIGHING), "true")),
        Experiment("memory output", (1, 3), with_servers("memory", str(RUNS_BEFORE_WEIGHING),
                                                         "echo")),
        Experiment("jobs", (1, 4), procpen("background", str(JOBS), floors={
            "floor": [floor, "many", str(JOBS), sleep, "30"]})),
        Experiment("output", (2, 6), with_servers("output", str(BIG_BYTES), writer, floors={
            "splice": [floor, "splice", str(BIG_BYTES), writer]})),
        Experiment("flood 1", (2, 5), with_servers("flood", "1", writes, writer, "0", "false", "0")),
        Experiment("flood 64", (2, 5), with_servers("flood", "64", writes, writer, "0", "false", "0")),
        Experiment("flood records", (1, 3), {
            "bare": [drive, "flood", "64", writes, writer, "0", "false", "0", "--", *bare],
            "procpen": [drive, "flood", "64", writes, writer, "2000" if QUICK else "10000", "false", "0", "--",
                        *sandboxed("limits.finished_records=10000")]}),
        Experiment("flood follow", (1, 3), procpen("flood", "64", writes, writer, "0", "true",
                                                   "0")),
        Experiment("flood waits", (1, 3), {
            "procpen": [drive, "flood", "4", writes, writer, "0", "false", "255", "--",
                        *sandboxed("limits.requests=300")]}),
        Experiment("burst", (2, 6), procpen("burst", "60")),
        Experiment("input", (3, 9), with_servers("input", "2000", floors={
            "pipes": [floor, "echo", "10000", "3"], "pipe": [floor, "echo", "20000", "1"]})),
        Experiment("wait", (2, 6), with_servers("wait", "100", floor, floors={
            "grep": [floor, "grep", "100"], "floor": [floor, "lines", "100"]})),
        Experiment("request 1", (2, 5), request(1 << 20, "20")),
        Experiment("request 4", (2, 5), request((1 << 22) - 4096, "10")),
        Experiment("logs", (2, 6), procpen("logs", str(LOG_BYTES), "3", writer, floors={
            "cat": [floor, "cat", "3", page_file]})),
        Experiment("follow", (2, 6), procpen("follow", str(LOG_BYTES), "3", writer, "pipe", floors={
            "cat": [floor, "cat", "3", page_file]})),
        Experiment("follow tty", (2, 6), procpen("follow", str(LOG_BYTES), "3", writer, "tty", floors={
            "pipe": [drive, "follow", str(LOG_BYTES), "3", writer, "pipe", "--", *sandboxed()]})),
        Experiment("tty", (3, 10), procpen("run", "tty", n, "1", floors={
            "pipe": [drive, "run", "argv", n, "1", "--", *sandboxed()]})),
        Experiment("verify", (2, 8), {
            "sha256sum": [floor, "run", "1", sha256sum, audit_file],
            "procpen": [floor, "run", "1", server[0], "audit", "verify", "--state-dir",
                        f"{scratch}/verify"]}),
        Experiment("exact", (1, 2), procpen("exact", "1", writer)),
        Experiment("timeout plain", (1, 3), procpen("timeout", "plain", "10")),
        Experiment("timeout setsid", (1, 3), procpen("timeout", "setsid", "10")),
        Experiment("timeout ignore", (1, 3), procpen("timeout", "ignore", "10")),
        Experiment("end kill", (1, 3), procpen("end", "kill", "1")),
        Experiment("end eof", (1, 3), procpen("end", "eof", "1")),
        Experiment("chains 20", (1, 3), chains("20")),
        Experiment("chains 100", (1, 3), chains("100")),
        Experiment("judge", (1, 3), {"procpen": [f"{programs}/judge", CORPORA]}),
    ]
    return {e.name: e for e in found}


def scale_output(experiment):
    """CPU for a GB, whatever amount the form at hand wrote."""
    for results in experiment.results.values():
        for _, figures in results:
            figures["cpu_ms_per_gb"] = figures["cpu_ms"] * (1 << 30) / BIG_BYTES


def number(value, unit=""):
    if value is None:
        return "-"
    digits = 0 if abs(value) >= 100 or value == int(value) else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()


def print_table(rows):
    widths = (46, 18, 14, 7, 16)
    print("  ".join(t.ljust(w) for t, w in zip(
        ("what", "base", "figure", "ratio", "target"), widths)) + "  met")
    for r in rows:
        name = f"{r['base']} {number(r['base_figure'], r['unit'])}" if r["base"] else ""
        if r["which"]:
            name = json.dumps(r["which"])[:18]
        cells = (r["what"], name, number(r["figure"], r["unit"]),
                 "-" if r["ratio"] is None else f"{r['ratio']:.2f}", r["target"])
        met = {True: "yes", False: "NO", None: ""}[r["met"]]
        if met and r["in_doubt"]:
            met += "?"
        print(("  ".join(t.ljust(w) for t, w in zip(cells, widths)) + "  " + met).rstrip())


def main():
    as_json = "--json" in sys.argv[3:]
    programs, program = (os.path.abspath(p) for p in sys.argv[1:3])
    begin, load = time.monotonic(), os.getloadavg()[0]
    complaints = []
    with tempfile.TemporaryDirectory(prefix="procpen-bench-") as scratch:
        os.mkdir(f"{scratch}/workspace")
        server = [program, "serve", "--workspace", f"{scratch}/workspace",
                  "--state-dir", f"{scratch}/state",
                  "--set", "process.shell=/bin/sh",  # the bare server has no choice
                  "--set", f"limits.running_processes={JOBS + 100}"]
        experiments = experiments_of(programs, server, scratch)
        for e in experiments.values():
            if not as_json:
                print(f"{time.monotonic() - begin:6.1f} s  {e.name}", file=sys.stderr)
            for i in range(e.rounds):
                complaints += e.measure(i)
    scale_output(experiments["output"])
    rows = [row.result(experiments) for row in ROWS]
    took = time.monotonic() - begin
    if as_json:
        print(json.dumps({"rows": rows, "wrong_answers": complaints, "seconds": round(took, 1),
                          "load_before": load, "quick": QUICK}, indent=1))
    else:
        print_table(rows)
        print(f"\n{took:.0f} s, {os.cpu_count()} processors, load {load:.1f} before. A ratio is "
              "the median of single rounds; base figures are medians.")
        doubtful = [r["company"] for r in rows if r["in_doubt"]]
        if doubtful:
            print(f"? {len(doubtful)} of {len(rows)} rows were measured while others used "
                  f"{min(doubtful):.0%} to {max(doubtful):.0%} of the machine (median of rounds, "
                  f"limit {COMPANY_MAX:.0%}):\n  those ratios and verdicts prove nothing; measure "
                  "again on an idle machine.")
        for complaint in complaints:
            print(f"WRONG ANSWER: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
