#!/usr/bin/python3
"""The official conformance suite, over the bridge, on the fixture program and on procpen itself.

The fixture program (build/procpen-fixture) must pass every scenario that a revision requires, and
those of the tasks extension. procpen itself is asked what it can be asked without the suite's own
tools. What is known to fail stands in expected.json with the reason; whatever else fails, and
whatever of it does not fail any more, is a failure here.
"""
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
OWN = {"2025-11-25": ("server-initialize", "ping", "logging-set-level", "tools-list",
                      "resources-list", "server-session-lifecycle", "dns-rebinding-protection"),
       "2026-07-28": ("server-stateless", "tools-list", "caching", "resources-list",
                      "sep-2164-resource-not-found", "http-header-validation")}


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

    def __init__(self, packages, scratch, name, program):
        self.packages, self.scratch, self.name = packages, scratch, name
        self.env = packages.environment(scratch.home)
        self.errors = os.path.join(scratch.base, name + ".stderr")
        with open(self.errors, "wb") as err:
            self.program = scratch.start(
                [packages.node, str(HERE / "bridge.mjs"), os.path.join(scratch.records, name),
                 program, "serve"], self.env, cwd=scratch.work, stdout=subprocess.PIPE, stderr=err)
        self.url = self.program.stdout.readline().decode().strip()
        self.expected = [e for e in json.loads((HERE / "expected.json").read_text())
                         if e["server"] == name]

    def suite(self, *args):
        """Run the suite; {scenario: checks} of what it wrote, and what it said."""
        out = os.path.join(self.scratch.base, "out-%d" % len(os.listdir(self.scratch.base)))
        status, text, err = self.scratch.run(
            [self.packages.node, self.packages.path("@modelcontextprotocol", "conformance",
                                                    "dist", "index.js"),
             "server", "--url", self.url, "-o", out, *args], self.env)
        found = {}
        for path in glob.glob(os.path.join(out, "*", "checks.json")):
            scenario = re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT.*$", r"\1",
                              os.path.basename(os.path.dirname(path)))
            with open(path, encoding="utf-8") as f:
                found[scenario] = json.load(f)
        return status, found, (text + err)[-400:]

    def is_expected(self, revision, scenario, check):
        for entry in self.expected:
            if (entry["requirements"], entry["scenario"]) == (revision, scenario) and \
                    entry["check"] == check["id"]:
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
                reason = self.is_expected(revision, scenario, check)
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

    def stale(self, counts):
        for entry in self.expected:
            if "seen" not in entry:
                counts.note(False, "%s %s %s" % (self.name, entry["requirements"],
                                                 entry["scenario"]), "passes although it is expected "
                            "to fail (expected.json): %s" % entry["check"])

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


def fixture(counts, packages, scratch):
    bridge = Bridge(packages, scratch, "fixture", FIXTURE)
    for revision in REVISIONS:
        status, found, text = bridge.suite("--requirements", revision)
        bridge.judge(counts, revision, found)
        missing = sorted(set(required(packages, revision)) - set(found))
        counts.note(status == 0 and not missing, "fixture %s: the suite's own verdict" % revision,
                    "status %s, not run: %s; %s" % (status, missing, text))
    bridge.stale(counts)
    bridge.end(counts)
    scratch.judge(counts, "fixture", Fixture)


def itself(counts, packages, scratch):
    bridge = Bridge(packages, scratch, "procpen", server_path())
    for revision, scenarios in OWN.items():
        for scenario in scenarios:
            _, found, text = bridge.suite("--scenario", scenario, "--spec-version", revision)
            if not found:
                counts.note(False, "procpen %s %s" % (revision, scenario), text)
            bridge.judge(counts, revision, found)
    bridge.stale(counts)
    bridge.end(counts)
    scratch.judge(counts, "procpen")


def test(counts, packages):
    for part in (fixture, itself):
        with Scratch() as scratch:
            part(counts, packages, scratch)


if __name__ == "__main__":
    main("suite", "conformance suite", test)
