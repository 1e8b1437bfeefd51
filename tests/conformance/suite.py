#!/usr/bin/python3
"""The official conformance suite, over the bridge, on the fixture program and on procpen itself.

The fixture program (build/procpen-fixture) must pass every scenario that a revision requires, and
those of the tasks extension. procpen itself is asked every other scenario of the suite, too: where
that wants a tool or a resource of the suite's, own.json says which command of procpen's stands for
it, and which scenarios are played with confirmation. What is known to fail stands in expected.json
with the reason, and so does what procpen cannot be asked (an entry without a check). Whatever else
fails, and whatever of it does not fail any more, is a failure here.
"""
import fnmatch
import glob
import json
import os
import re
import subprocess

from rig import HERE, ROOT, Scratch, main, server_path
from official import is_mcp
from validate import Session

FIXTURE = str(ROOT / "build" / "procpen-fixture")
REVISIONS = ("2025-11-25", "2026-07-28")
EXTENSIONS = "2026-07-28"  # extensions are played in this revision


EXPECTED = json.loads((HERE / "expected.json").read_text())


class Fixture(Session):
    """Lines of the fixture: the official schemas and eras, without procpen's own tools."""

    def _error_data(self, data, code):
        pass

    def _result(self, method, params, message):
        if is_mcp(method):
            if method == "initialize":
                self.revision = message["result"].get("protocolVersion")
            self.schemas.official.result(self._revision(params), method, message)


class Bridge:
    """The bridge in front of one program, and the suite run against it."""

    def __init__(self, packages, scratch, name, command, part=None):
        self.packages, self.scratch, self.name = packages, scratch, name
        self.env = packages.environment(scratch.home, NAMES=json.dumps(part or {}))
        self.errors = os.path.join(scratch.base, name + ".stderr")
        with open(self.errors, "wb") as err:
            self.program = scratch.start(
                [packages.node, str(HERE / "bridge.mjs"), os.path.join(scratch.records, name),
                 *command], self.env, cwd=scratch.work, stdout=subprocess.PIPE, stderr=err)
        self.url = self.program.stdout.readline().decode().strip()
        self.expected = [e for e in EXPECTED if e["server"] == name]

    def program_of_suite(self):
        return self.packages.path("@modelcontextprotocol", "conformance", "dist", "index.js")

    def suite(self, *args):
        """Run the suite; {scenario: checks} of what it wrote, and what it said."""
        out = os.path.join(self.scratch.base, "out-%d" % len(os.listdir(self.scratch.base)))
        status, text, err = self.scratch.run(
            [self.packages.node, self.program_of_suite(), "server", "--url", self.url, "-o", out,
             *args], self.env)
        found = {}
        for path in glob.glob(os.path.join(out, "*", "checks.json")):
            scenario = re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT.*$", r"\1",
                              os.path.basename(os.path.dirname(path)))
            with open(path, encoding="utf-8") as f:
                found[scenario] = json.load(f)
        return status, found, (text + err)[-400:]

    def is_expected(self, revision, scenario, check=None):
        """Why this check fails, or without one: why this scenario cannot be asked. None: it must
        pass."""
        for entry in self.expected:
            if entry.get("requirements", revision) == revision and \
                    fnmatch.fnmatch(scenario, entry["scenario"]) and entry.get("check") == check:
                entry["seen"] = True
                return entry["reason"]
        return None

    def judge(self, counts, revision, found):
        """One line for each scenario; a known failure is printed with its reason."""
        for scenario, checks in sorted(found.items()):
            wrong, known, warned = [], [], []
            for check in checks:
                if check["status"] == "WARNING":
                    warned.append("%s: %s" % (check["id"], check.get("errorMessage")))
                if check["status"] != "FAILURE":
                    continue
                reason = self.is_expected(revision, scenario, check["id"])
                (known if reason else wrong).append(reason or "%s: %s" % (
                    check["id"], check.get("errorMessage")))
            passed = sum(c["status"] == "SUCCESS" for c in checks)
            counts.note(not wrong, "%s %s %s: %d checks passed%s" % (
                self.name, revision, scenario, passed,
                ", %d failed as expected" % len(known) if known else ""), "; ".join(wrong))
            for text in sorted(set(known)):
                print("      expected: " + text)
            for text in warned:
                print("      warning: %.200s" % text)

    def end(self, counts):
        self.program.terminate()
        self.program.wait()
        with open(self.errors, encoding="utf-8", errors="replace") as f:
            said = f.read()
        counts.note(not said, self.name + ": the bridge has nothing to complain of", said)


def required(packages, revision):
    """The scenarios that the suite itself lists as required."""
    path = packages.path("@modelcontextprotocol", "conformance", "requirements",
                         revision + ".yaml")
    with open(path, encoding="utf-8") as f:
        part = f.read().split("\nserver:\n")[1].split("\nclient:")[0]
    return re.findall(r"^\s+- (\S+)", part, re.M)


def scenarios(bridge, revision):
    """All that the suite has for servers of this revision."""
    _, text, _ = bridge.scratch.run([bridge.packages.node, bridge.program_of_suite(), "list"],
                                    bridge.env)
    part = text.split("Server scenarios")[1].split("Client scenarios")[0]
    return [name for name, revisions in re.findall(r"- (\S+) \[(.*)\]", part)
            if revision in revisions or (revisions == "extension" and revision == EXTENSIONS)]


def fixture(counts, packages, scratch):
    bridge = Bridge(packages, scratch, "fixture", [FIXTURE, "serve"])
    for revision in REVISIONS:
        status, found, text = bridge.suite("--requirements", revision)
        bridge.judge(counts, revision, found)
        missing = sorted(set(required(packages, revision)) - set(found))
        counts.note(status == 0 and not missing, "fixture %s: the suite's own verdict" % revision,
                    "status %s, not run: %s; %s" % (status, missing, text))
    bridge.end(counts)
    scratch.judge(counts, "fixture", Fixture)


def itself(counts, packages, scratch):
    """procpen as it is, and with confirmation what needs that."""
    parts = json.loads((HERE / "own.json").read_text())
    bridges = {name: Bridge(packages, scratch, "procpen", [server_path(), "serve",
                                                           *part["options"]], part)
               for name, part in parts.items()}
    for revision in REVISIONS:
        for scenario in scenarios(bridges["runs"], revision):
            asks = any(fnmatch.fnmatch(scenario, p) for p in parts["confirm"]["scenarios"])
            ask(counts, bridges["confirm" if asks else "runs"], revision, scenario)
    for bridge in bridges.values():
        bridge.end(counts)
    scratch.judge(counts, "procpen")


def ask(counts, bridge, revision, scenario):
    reason = bridge.is_expected(revision, scenario)
    if reason:
        print("not asked: procpen %s %s: %s" % (revision, scenario, reason), flush=True)
        return
    _, found, text = bridge.suite("--scenario", scenario, "--spec-version", revision, "--force")
    if not found:
        counts.note(False, "procpen %s %s" % (revision, scenario), text)
    bridge.judge(counts, revision, found)


def stale(counts):
    for entry in EXPECTED:
        if "seen" not in entry:
            counts.note(False, "%s %s" % (entry["server"], entry["scenario"]), "%s in expected.json "
                        "does not fail, or is no more" % entry.get("check", "an entry"))


def test(counts, packages):
    for part in (fixture, itself):
        with Scratch() as scratch:
            part(counts, packages, scratch)
    stale(counts)


if __name__ == "__main__":
    main("suite", "conformance suite", test)
