#!/usr/bin/python3
"""The Inspector's command line against procpen: every method in both eras, portable schemas, load.

The load mode calls procpen and the reference server in turns, so that both meet the same machine.
What counts is that no call fails; the median of the ratios of their speed is printed.
"""
import json
import re
import statistics

from rig import Scratch, main, server_path

ERAS = ("legacy", "modern", "auto")
LOAD = ("--load", "--load-requests", "1500", "--load-concurrency", "32")
ROUNDS = 3


class Inspector:
    """One scratch place, and the program run in it."""

    def __init__(self, packages, scratch):
        self.argv = [packages.node, packages.path("@modelcontextprotocol/inspector", "clients",
                                                  "launcher", "build", "index.js"),
                     "--cli", "--format", "json"]
        self.env = packages.environment(scratch.home, MCP_INSPECTOR_SECRET_STORE="file")
        self.scratch = scratch

    def run(self, era, *args, server):
        """(status, parsed stdout or its text, stderr)."""
        status, out, err = self.scratch.run(
            self.argv + ["--protocol-era", era, *args, *server], self.env, limit=120)
        for text in (out, err):
            try:
                return status, json.loads(text), err
            except ValueError:
                continue
        return status, out, err


def call(tool, **arguments):
    return ("--method", "tools/call", "--tool-name", tool, "--tool-args-json",
            json.dumps(arguments))


def methods(counts, inspector, era, server):
    """Each method that this program knows, and what its exit status must be."""
    def expect(name, wanted, args, condition):
        status, out, err = inspector.run(era, *args, server=server)
        try:
            good = status == wanted and condition(out)
        except (KeyError, TypeError, IndexError):
            good = False
        counts.note(good, "inspector %s: %s" % (era, name),
                    "status %s, %.300s %.300s" % (status, out, err))

    expect("tools/list", 0, ("--method", "tools/list"),
           lambda o: "process_run" in [t["name"] for t in o["result"]["tools"]])
    expect("tools/call", 0, call("process_run", command="exit 3"),
           lambda o: o["result"]["_meta"]["dev.procpen/result"]["exit_code"] == 3)
    expect("an unknown tool", 5, call("nope"), lambda o: True)
    expect("a tool's error", 5, call("process_kill", process_id="none"),
           lambda o: "ProcessNotFound" in json.dumps(o))
    expect("resources/list", 0, ("--method", "resources/list"),
           lambda o: o["result"]["resources"] == [])
    expect("resources/templates/list", 0, ("--method", "resources/templates/list"),
           lambda o: "proc://logs/" in o["result"]["resourceTemplates"][0]["uriTemplate"])
    expect("an unknown resource", 1, ("--method", "resources/read", "--uri", "proc://logs/none"),
           lambda o: "proc://logs/none" in json.dumps(o))
    if era == "legacy":
        expect("logging/setLevel", 0, ("--method", "logging/setLevel", "--log-level", "error"),
               lambda o: True)


def strict(counts, inspector, server):
    status, _, err = inspector.run("legacy", "--method", "tools/list", "--strict", server=server)
    found = re.search(r"^(\d+) errors?, (\d+) warnings?", err, re.M)
    counts.note(status == 0, "inspector: tools/list --strict (%s)" % (
        found[0] if found else "no findings"), "status %s: %s" % (status, err[-500:]))


def throughput(inspector, era, tool, server):
    status, out, err = inspector.run(era, *call(*tool[:1], **tool[1]), *LOAD, server=server)
    if status or out["result"]["errors"] or out["result"]["toolErrors"]:
        raise RuntimeError("status %s: %.300s %.300s" % (status, out, err))
    return out["result"]["throughput"]


def load(counts, inspector, packages):
    """Only the handshake era: the reference server speaks no other."""
    ours = ("is_blocked", {"command": "true"}), (server_path(), "serve")
    theirs = ("echo", {"message": "true"}), (packages.node, packages.path(
        "@modelcontextprotocol/server-everything", "dist", "index.js"))
    try:
        pairs = [(throughput(inspector, "legacy", *ours), throughput(inspector, "legacy", *theirs))
                 for _ in range(ROUNDS)]
        modern = throughput(inspector, "modern", *ours)
    except RuntimeError as e:
        counts.note(False, "inspector: load", str(e))
        return
    ratio = statistics.median(a / b for a, b in pairs)
    counts.note(True, "inspector: load, %.0f calls/s (stateless %.0f), reference server %.0f, "
                "ratio %.2f" % (statistics.median(a for a, _ in pairs), modern,
                                statistics.median(b for _, b in pairs), ratio))


def test(counts, packages):
    with Scratch() as scratch:
        inspector = Inspector(packages, scratch)
        for era in ERAS:
            methods(counts, inspector, era, scratch.tapped("lines"))
        strict(counts, inspector, scratch.tapped("lines"))
        scratch.judge(counts, "lines")
        load(counts, inspector, packages)


if __name__ == "__main__":
    main("clients", "inspector", test)
