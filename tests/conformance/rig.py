"""What the rigs share: programs run in scratch homes, checks counted, records of a tap judged."""
import collections
import contextlib
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests" / "system"), str(ROOT / "tests" / "wire")]

import client  # noqa: E402
from client import Failure, server_path  # noqa: E402
from packages import Missing, Packages  # noqa: E402
from validate import Schemas, Session  # noqa: E402

LIMIT = 600  # seconds for one program

# Whoever stops a rig stops what it started, too: SystemExit runs every cleanup.
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


class Counts(collections.Counter):
    """Prints one line for each check and the counts at the end."""

    def note(self, ok, name, why=""):
        self["passed" if ok else "failed"] += 1
        print("%-5s %s%s" % ("ok" if ok else "FAIL", name,
                             ": %.600s" % why if why and not ok else ""), flush=True)

    def skip(self, name, why):
        self["skipped"] += 1
        print("SKIP  %s: %s" % (name, why), flush=True)

    def end(self):
        print("%d passed, %d failed, %d skipped" % (self["passed"], self["failed"],
                                                    self["skipped"]))
        return 1 if self["failed"] else 0


class Scratch:
    """A home, a workspace and a folder of records, gone at the end with all that ran in them."""

    def __init__(self):
        self.base = tempfile.mkdtemp(prefix="procpen-rig-")
        self.home, self.work, self.records = (os.path.join(self.base, n)
                                              for n in ("home", "work", "records"))
        for folder in (self.home, self.work, self.records):
            os.mkdir(folder)
        self.programs = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            stop(program)
        for pid in client.processes_marked(self.base):  # what left its session
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.base, ignore_errors=True)

    def tapped(self, name, *command):
        """The command, with its lines recorded under @name."""
        return ["/usr/bin/python3", str(HERE / "tap.py"), os.path.join(self.records, name),
                *(command or (server_path(), "serve"))]

    def start(self, argv, env, **options):
        program = subprocess.Popen(argv, env=env, start_new_session=True, **options)
        self.programs.append(program)
        return program

    def run(self, argv, env, cwd=None, limit=LIMIT):
        """(status, stdout, stderr) of a program that ends by itself; None is a status too late."""
        program = self.start(argv, env, cwd=cwd or self.work, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = program.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            stop(program)
            return None, *rest_of(program)
        except SystemExit:
            stop(program)
            raise
        return program.returncode, out.decode(errors="replace"), err.decode(errors="replace")

    def judge(self, counts, name, session=Session):
        """Every recorded line against our own schemas, and the official ones that there are."""
        schemas = Schemas()
        if schemas.official.missing():
            with contextlib.suppress(Missing):
                schemas.official.folder = schemas_of_suite()
        if schemas.official.missing():
            counts.skip("%s: lines of %s against official schemas" % (
                name, ", ".join(schemas.official.missing())),
                "they are neither beside the project (MCP_SCHEMAS) nor in the suite's package")
        lines = 0
        for path in records_of(self, name):
            follower = session(schemas)
            try:
                lines += replay(path, follower)
            except Failure as e:
                counts.note(False, name + ": lines", str(e))
                return
        counts.note(lines > 0, "%s: %d lines of the server against the schemas" % (name, lines),
                    "none was recorded")


def schemas_of_suite():
    """The folder of the official schemas that the conformance suite carries."""
    packages = Packages("suite")
    folder = packages.folder / "schemas"
    if not (folder / "2026-07-28.json").exists():  # the last one written
        bundle = packages.path("@modelcontextprotocol", "conformance", "dist", "index.js")
        subprocess.run([packages.node, str(HERE / "schemas.mjs"), bundle, str(folder)], check=True)
    return folder


def records_of(scratch, name):
    return sorted(glob.glob(os.path.join(scratch.records, name + ".*")))


def recorded(scratch, name):
    """(of the client or the server, message) of each line in the records of @name."""
    for path in records_of(scratch, name):
        with open(path, "rb") as f:
            for line in f.read().splitlines():
                yield line[:1].decode(), json.loads(line[2:])


def replay(path, follower):
    """Feed a record to a Session; how many lines the server wrote."""
    count = 0
    with open(path, "rb") as f:
        for line in f.read().splitlines():
            if line.startswith(b"> "):
                follower.client_bytes(line[2:] + b"\n")
            elif line.startswith(b"< "):
                follower.server_line(line[2:])
                count += 1
    return count


def stop(program):
    """End a program of ours with everything in its session."""
    try:
        os.killpg(program.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    program.wait()


def rest_of(program):
    """What a stopped program wrote; a process that left its session may still hold the pipes."""
    try:
        out, err = program.communicate(timeout=5)
    except subprocess.TimeoutExpired as e:
        out, err = e.stdout or b"", e.stderr or b""
    return out.decode(errors="replace"), err.decode(errors="replace")


def steps(counts, name, status, out, err):
    """The reports of a client script, one JSON object a line."""
    found = 0
    for line in out.splitlines():
        if line.startswith('{"name"'):
            report = json.loads(line)
            counts.note(report["ok"], "%s: %s" % (name, report["name"]), report.get("why", ""))
            found += 1
    if status != 0 or not found:
        counts.note(False, name, "status %s: %s" % (status, err[-400:] or out[-400:]))


def main(name, what, test):
    """The program: @test with the set @name of packages, or a SKIP of @what that says why not."""
    counts = Counts()
    try:
        packages = Packages(name)
    except Missing as e:
        counts.skip(what, e)
    else:
        test(counts, packages)
    sys.exit(counts.end())
