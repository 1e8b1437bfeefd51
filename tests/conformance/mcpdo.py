#!/usr/bin/python3
"""mcpdo, which keeps connections in a daemon of its own, against procpen.

The heart of it is a whole round trip of a confirmation: the call is parked, the question is shown,
a human's answer goes back, and only then, and only once, the command runs.
"""
import glob
import json
import os
import re
import selectors
import subprocess
import time

from rig import Scratch, main, server_path, stop

LIMIT = 30  # seconds for what must come


class Mcpdo:
    """Two connections of one daemon: `plain` and `ask`, where each command needs a yes."""

    def __init__(self, packages, scratch, era):
        self.argv = [packages.node, packages.path("@modelcontextprotocol/inspector", "clients",
                                                  "mcpdo", "build", "mcp-bin.js"),
                     "--format", "json"]
        self.env = packages.environment(
            scratch.home, MCP_INSPECTOR_SECRET_STORE="file",
            MCP_INSPECTOR_DAEMON_DIR=os.path.join(scratch.base, "daemon"),
            MCP_INSPECTOR_DAEMON_TOKEN="rig-" + os.path.basename(scratch.base))
        self.scratch, self.era = scratch, era
        self.config = os.path.join(scratch.base, "config.json")
        os.mkdir(self.env["MCP_INSPECTOR_DAEMON_DIR"], 0o700)
        servers = {}
        for name, more in (("plain", []), ("ask", ["--set", "tier.process.run=confirm"])):
            program, *args = scratch.tapped("lines", server_path(), "serve", "--workspace",
                                            scratch.work, *more)
            servers[name] = {"type": "stdio", "command": program, "args": args}
        with open(self.config, "w", encoding="utf-8") as f:
            json.dump({"mcpServers": servers}, f)

    def run(self, *args):
        """(status, parsed output or its text)."""
        status, out, err = self.scratch.run(self.argv + list(args), self.env, limit=LIMIT)
        for text in (out, err):
            try:
                return status, json.loads(text)
            except ValueError:
                continue
        return status, out + err

    def begin(self, name, *args):
        """A command that goes on until it is stopped or its call ends."""
        return self.scratch.start(self.argv + ["@" + name, *args], self.env, cwd=self.scratch.work,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)

    def recorded(self, pattern):
        """The newest match of @pattern in what the server wrote; None if there is none."""
        found = []
        for path in glob.glob(os.path.join(self.scratch.records, "lines.*")):
            with open(path, encoding="utf-8") as f:
                found += re.findall(pattern, "".join(x for x in f if x.startswith("< ")))
        return found[-1] if found else None

    def connect(self, name):
        return self.run("connect", name, "--config", self.config, "--era", self.era)

    def on(self, name, *args):
        return self.run("@" + name, *args)


def read_until(pipe, wanted):
    """What comes out of a pipe until @wanted, its end, or the limit."""
    seen, end = b"", time.monotonic() + LIMIT
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while time.monotonic() < end and wanted not in seen:
            if selector.select(0.5):
                data = os.read(pipe.fileno(), 65536)
                if not data:
                    break
                seen += data
    return seen


def find(value, key):
    """The first member @key anywhere in @value."""
    if isinstance(value, dict):
        if key in value:
            return value[key]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            found = find(inner, key)
            if found is not None:
                return found
    return None


class Trip:
    """One era's checks."""

    def __init__(self, counts, mcpdo):
        self.counts, self.mcpdo = counts, mcpdo

    def note(self, ok, name, seen):
        self.counts.note(ok, "mcpdo %s: %s" % (self.mcpdo.era, name),
                         "%.500s" % json.dumps(seen))

    def plain(self):
        status, out = self.mcpdo.connect("plain")
        self.note(status == 0 and find(out, "protocolEra") == self.mcpdo.era, "connect",
                  (status, out))
        status, out = self.mcpdo.on("plain", "tools/call", "process_run", "command:=exit 3")
        self.note(status == 0 and find(out, "exit_code") == 3, "tools/call", (status, out))
        self.background()

    def background(self):
        """In the stateless era this client sees a task, and its connection waits for the end."""
        modern = self.mcpdo.era == "modern"
        command = "echo noise; sleep 0.5" if modern else "while echo noise; do sleep 0.2; done"
        status, out = self.mcpdo.on("plain", "tools/call", "process_run", "command:=" + command,
                                    "background:=true")
        run = find(out, "process_id") or "none"
        state = find(out, "state")
        self.note(status == 0 and state == ("completed" if modern else "running"),
                  "a run in the background", (status, out))
        self.resource("proc://logs/" + run, modern)
        if modern:
            self.task()
            return
        status, out = self.mcpdo.on("plain", "tools/call", "process_kill", "process_id:=" + run,
                                    "signal:=KILL")
        self.note(status == 0 and find(out, "killed") is True, "process_kill", (status, out))

    def resource(self, uri, over):
        status, out = self.mcpdo.on("plain", "resources/read", uri)
        self.note(status == 0 and (over or "noise" in json.dumps(out)), "resources/read",
                  (status, out))
        listener = self.mcpdo.begin("plain", "resources/subscribe", uri)
        wanted = b"subscribed" if over else b"resources/updated"
        seen = read_until(listener.stdout, wanted)
        self.note(wanted in seen, "resources/subscribe", seen.decode()[-300:])
        stop(listener)
        if not over:
            status, out = self.mcpdo.on("plain", "resources/unsubscribe", uri)
            self.note(status == 0, "resources/unsubscribe", (status, out))

    def task(self):
        """The task of the run that is over; its id is in the record only."""
        task = self.mcpdo.recorded(r'"taskId": ?"([^"]+)"') or "none"
        for method, wanted in (("get", 0), ("cancel", 0), ("get", 0)):
            status, out = self.mcpdo.on("plain", "tasks/" + method, task)
            good = status == wanted and (method != "get" or find(out, "status") == "completed")
            self.note(good, "tasks/%s of a task that is over" % method, (status, out))
        status, out = self.mcpdo.on("plain", "tasks/get", task[:-1])
        self.note(status != 0, "tasks/get with an id that is none", (status, out))

    def ask(self, command):
        """Call; what is asked, or None."""
        status, out = self.mcpdo.on("ask", "tools/call", "process_run", "command:=" + command)
        question = find(out, "elicitationPending")
        asked = find(question, "elicitationId") if question else find(out, "elicitationId")
        self.note(status == 0 and bool(asked) and command in json.dumps(out),
                  "the question shows the command", (status, out))
        fields = (find(out, "requestedSchema") or {}).get("properties", {})
        return asked, ["%s:=true" % name for name in fields]

    def confirm(self):
        status, out = self.mcpdo.connect("ask")
        self.note(status == 0, "connect", (status, out))
        witness = os.path.join(self.mcpdo.scratch.work, "ran")
        asked, yes = self.ask("echo x >> ran")
        self.note(not os.path.exists(witness), "nothing runs before the answer", None)
        status, out = self.mcpdo.on("ask", "elicitation/respond", asked or "none", *yes)
        self.note(status == 0 and find(out, "exit_code") == 0, "yes runs it", (status, out))
        self.note(ran(witness) == 1, "it ran once", ran(witness))
        status, out = self.mcpdo.on("ask", "elicitation/respond", asked or "none", *yes)
        self.note(status != 0 and ran(witness) == 1, "the same answer again runs nothing",
                  (status, out))
        for refusal in ("--decline", "--cancel"):
            asked, _ = self.ask("echo x >> ran")
            status, out = self.mcpdo.on("ask", "elicitation/respond", asked or "none", refusal)
            self.note("PermissionDenied" in json.dumps(out) and ran(witness) == 1,
                      refusal + " runs nothing", (status, out))


def ran(witness):
    if not os.path.exists(witness):
        return 0
    with open(witness, encoding="utf-8") as f:
        return len(f.readlines())


def test(counts, packages):
    for era in ("legacy", "modern"):
        with Scratch() as scratch:
            mcpdo = Mcpdo(packages, scratch, era)
            trip = Trip(counts, mcpdo)
            try:
                trip.plain()
                trip.confirm()
            finally:
                status, out = mcpdo.run("daemon", "stop")
            trip.note(status == 0, "daemon stop", (status, out))
            scratch.judge(counts, "lines")


if __name__ == "__main__":
    main("clients", "mcpdo", test)
