#!/usr/bin/python3
"""Real agent hosts, offline: each reads what `procpen setup` wrote and says that it is connected.
Claude Code also lets a model on the loopback interface call a tool, and shows it the result.

A host gets a scratch home and a project. `procpen setup HOST --write` makes its configuration; then
the path of procpen in it is replaced by that of a wrapper that records every line and where it was
started. Nothing here needs an account, a model or a network.
"""
import json
import os
import selectors
import sys
import time

from model import Model
from rig import Scratch, main, server_path

LIMIT = 120  # seconds for one health check
WRAPPER = """#!/bin/sh
pwd > '%(records)s/cwd'
exec %(tap)s "$@"
"""


class Host:
    """What all hosts have in common."""
    in_project = True  # its health check starts servers where its sessions do

    def __init__(self, packages, scratch):
        self.packages, self.scratch = packages, scratch
        self.env = packages.environment(scratch.home)
        self.wrapper = os.path.join(scratch.base, "procpen")

    def prepare(self):
        """What the user has in the home before."""

    def file(self, *parts):
        return os.path.join(self.scratch.home, *parts)

    def setup(self):
        """Returns what went wrong, or None."""
        self.prepare()
        status, _, err = self.scratch.run([server_path(), "setup", self.name, "--write"], self.env)
        if status:
            return "procpen setup: " + err
        with open(self.wrapper, "w", encoding="utf-8") as f:
            f.write(WRAPPER % {"records": self.scratch.records,
                               "tap": " ".join(self.scratch.tapped(self.name, server_path()))})
        os.chmod(self.wrapper, 0o755)
        path = self.file(*self.config)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        real = os.path.realpath(server_path())
        if real not in text:
            return "no absolute path in " + text
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(real, self.wrapper))
        return None

    def health(self):
        """(is it connected, what the host says)."""
        status, out, err = self.scratch.run(self.command(), self.env, limit=LIMIT)
        return (status == 0 and self.sign in out + err,
                "status %s: %s %s" % (status, out[-300:], err[-300:]))

    def sessions(self, counts):
        """What its model sees of calls, where one can be had offline."""

    def cwd(self):
        with open(os.path.join(self.scratch.records, "cwd"), encoding="utf-8") as f:
            return f.read().strip()


class ClaudeCode(Host):
    """`claude mcp list` speaks to each server; `claude -p` works with any model."""
    name, config, sign = "claude-code", (".claude.json",), "Connected"
    offline = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ENABLE_TOOL_SEARCH": "false",
               "ANTHROPIC_API_KEY": "none"}

    def program(self):
        self.env.update(self.offline)
        return self.packages.path("@anthropic-ai", "claude-code-linux-x64", "claude")

    def command(self):
        return [self.program(), "mcp", "list"]

    def session(self, arguments):
        """The one result that the model is shown of process_run, and all tools it is offered."""
        model = Model("mcp__procpen__process_run", arguments)
        status, out, err = self.scratch.run(
            [self.program(), "-p", "go", "--allowedTools", "mcp__procpen", "--output-format",
             "stream-json", "--verbose"], dict(self.env, ANTHROPIC_BASE_URL=model.url),
            limit=LIMIT)
        model.end()
        if status or len(model.results) != 1:
            return {"content": "status %s: %s %s" % (status, out[-300:], err[-300:])}, model.tools
        return model.results[0], model.tools

    def sessions(self, counts):
        result, tools = self.session({"command": "echo seen; exit 3"})
        text = json.dumps(result)
        counts.note("exit 3 in " in text and "seen" in text and not result.get("is_error"),
                    "claude-code: its model calls a command and reads its result", text)
        counts.note(len([t for t in tools if t.startswith("mcp__procpen__")]) == 7,
                    "claude-code: its model is offered all tools", str(sorted(tools)))
        result, _ = self.session({"command": "true", "timeuot": 5})
        text = json.dumps(result)
        counts.note(result.get("is_error") is True and "InvalidParams" in text and
                    "did you mean" in text, "claude-code: its model reads what was wrong", text)


class GeminiCli(Host):
    """`gemini mcp list`, in a home with settings of the user's own."""
    name, config, sign = "gemini-cli", (".gemini", "settings.json"), "Connected"

    def prepare(self):
        os.makedirs(self.file(".gemini"))
        with open(self.file(*self.config), "w", encoding="utf-8") as f:
            f.write('{\n  // servers start in trusted folders only\n'
                    '  "security": {"folderTrust": {"enabled": false}}\n}\n')

    def command(self):
        return [self.packages.node,
                self.packages.path("@google", "gemini-cli", "bundle", "gemini.js"), "mcp", "list"]


class Opencode(Host):
    """`opencode mcp list`."""
    name, config = "opencode", (".config", "opencode", "opencode.json")
    sign = "connected"

    def command(self):
        return [self.packages.path("opencode-linux-x64-baseline", "bin", "opencode"),
                "mcp", "list"]


class Codex(Host):
    """Its own protocol for editors tells the state and the tools of each server."""
    in_project = False  # without a session it starts them in its own folder
    name, config = "codex", (".codex", "config.toml")
    requests = ({"id": 1, "method": "initialize",
                 "params": {"clientInfo": {"name": "rig", "version": "1"}}},
                {"method": "initialized"},
                {"id": 2, "method": "mcpServerStatus/list", "params": {}})

    def prepare(self):
        os.makedirs(self.file(".codex"))
        with open(self.file(*self.config), "w", encoding="utf-8") as f:
            f.write('model = "none" # no server so far\n[history]\npersistence = "none"\n')

    def command(self):
        return [self.packages.path("@openai", "codex-linux-x64", "vendor",
                                   "x86_64-unknown-linux-musl", "bin", "codex"), "app-server"]

    def health(self):
        with open(os.path.join(self.scratch.base, "stderr"), "wb") as err:
            program = self.scratch.start(self.command(), self.env, cwd=self.scratch.work,
                                         stdin=-1, stdout=-1, stderr=err)
        for request in self.requests:
            program.stdin.write(json.dumps(dict(request, jsonrpc="2.0")).encode() + b"\n")
        program.stdin.flush()
        for answer in lines(program.stdout, LIMIT):
            if answer.get("id") == 2:
                servers = {s["name"]: s for s in answer.get("result", {}).get("data", [])}
                tools = servers.get("procpen", {}).get("tools", {})
                return "process_run" in tools, json.dumps(answer)[:500]
        return False, "no answer"


def lines(pipe, limit):
    """The JSON lines of a pipe until its end or the limit."""
    end, rest = time.monotonic() + limit, b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while time.monotonic() < end:
            if not selector.select(1):
                continue
            data = os.read(pipe.fileno(), 65536)
            if not data:
                return
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                if line.startswith(b"{"):
                    yield json.loads(line)


def check(counts, host):
    wrong = host.setup()
    counts.note(not wrong, host.name + ": configuration by procpen setup", wrong or "")
    if wrong:
        return
    connected, said = host.health()
    counts.note(connected, host.name + ": its own health check", said)
    if not connected:
        return
    if host.in_project:
        counts.note(host.cwd() == host.scratch.work, host.name + ": started in the project",
                    host.cwd())
    host.sessions(counts)
    host.scratch.judge(counts, host.name)


def test(counts, packages):
    for kind in (ClaudeCode, Codex, GeminiCli, Opencode):
        if len(sys.argv) > 1 and kind.name not in sys.argv[1:]:
            continue
        with Scratch() as scratch:
            check(counts, kind(packages, scratch))


if __name__ == "__main__":
    main("hosts", "hosts", test)
