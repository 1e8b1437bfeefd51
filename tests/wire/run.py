#!/usr/bin/env python3
"""Plays the stories of fixtures/wire against a server and checks every message.

  run.py [STORY ...]    all stories, or those whose name contains one of the words
  run.py --server PATH  the program under test (default: $PROCPEN, else build/procpen)

Several stories are played at a time, each with a server of its own.

The examples in schema/*.json are played too. A full run also fails when a capability, an
error type or a dialect was never exercised. The last line: N passed, N failed, N skipped.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import multiprocessing
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "system"))

import auditlog
from client import (ROOT, WAIT, Failure, Server, check, destroy_servers, server_path)
from jsontext import dump, parse
from match import message_mismatch, mismatch
from story import Story
from official import jsonschema
from validate import Schemas, Session

STORY_LIMIT = 300  # seconds; only a guard against a story that hangs
# What a story waits for may be two seconds of a processor, which a busy machine gives in minutes.
PATIENCE = 3 * WAIT
AT_A_TIME = 4  # stories; most wait most of the time


class Player:
    """Plays one story against one server."""

    def __init__(self, story, schemas):
        self.story = story
        self.session = Session(schemas)
        self.schemas = schemas
        self.captures = {}
        self.received = []
        self.exit_status = None
        self.step = None

    # -- variables

    def expand(self, text, quoted=True):
        """Replace $NAME, and %{N*TEXT} by N times TEXT. In JSON, "$NAME" alone becomes the
        captured value, whatever its type."""
        def whole(m):
            return dump(self.captures[m[1]]) if m[1] in self.captures else m[0]

        def part(m):
            if m[1] not in self.captures:
                return m[0]
            value = self.captures[m[1]]
            text = value if isinstance(value, str) else dump(value)
            return json.dumps(text, ensure_ascii=False)[1:-1] if quoted else text

        text = re.sub(r"%\{(\d+)\*([^}]*)\}", lambda m: m[2] * int(m[1]), text)
        if quoted:
            text = re.sub(r'"\$([A-Za-z_]+)"', whole, text)
        return re.sub(r"\$([A-Za-z_]+)", part, text)

    # -- the server

    def start(self):
        server = self.server = Server(start=False)
        self.captures.update(WORKSPACE=server.workspace, STATE=server.state, HOME=server.home,
                             BASE=server.base)
        for text in self.story.before_start("env"):
            name, _, value = self.expand(text, False).partition("=")
            server.env[name] = value
        for text in self.story.before_start("setup"):
            subprocess.run(["sh", "-c", self.expand(text, False)], cwd=server.workspace,
                           check=True, timeout=WAIT, stdin=subprocess.DEVNULL)
        for text in self.story.before_start("$"):
            server.args += shlex.split(self.expand(text, False))
        for limit in re.findall(r"limits\.line_bytes=(\d+)", " ".join(server.args)):
            self.session.line_bytes = int(limit)
        server.on_line = self._line
        server.start()

    def _line(self, line):
        self.session.server_line(line)
        self.received.append(parse(line))

    # -- steps

    def play(self):
        self.start()
        for kind, step in self.story.groups():
            self.step = step[-1] if kind == "<" else step
            if kind == "<":
                self.expect(step)
            elif kind in self.ACTIONS:
                self.ACTIONS[kind](self, step.value)
        self.step = None
        self.end()

    def send(self, data):
        self.session.client_bytes(data)
        self.server.send_bytes(data)

    def send_line(self, value):
        text = self.expand(value)
        self.send(text.encode("utf-8", "surrogateescape") + b"\n")

    def send_part(self, value):
        self.send(self.expand(value).encode())
        self.server.flush()

    def send_hex(self, value):
        self.send(bytes.fromhex(value))

    def take(self, timeout):
        """The next message as the story compares it, or None."""
        while not self.server.inbox:
            if timeout <= 0 or self.server.eof_seen:
                return None
            start = time.monotonic()
            self.server.pump(timeout)
            timeout -= time.monotonic() - start
        self.server.inbox.popleft()
        message = self.received[len(self.received) - len(self.server.inbox) - 1]
        return message

    def expect(self, steps):
        """Messages for all of @steps, in any order."""
        left = [(step, parse(self.expand(step.value))) for step in steps]
        deadline = time.monotonic() + PATIENCE
        while left:
            message = self.take(deadline - time.monotonic())
            if message is None:
                raise Failure("nothing came that fits %s%s" % (
                    left[0][0].value[:200],
                    " (the server closed its output)" if self.server.eof_seen else ""))
            reasons = []
            for item in left:
                trial = dict(self.captures)
                reason = message_mismatch(item[1], message, trial)
                if reason is None:
                    self.captures.update(trial)
                    left.remove(item)
                    break
                reasons.append(reason)
            else:
                if not is_notification(message):
                    raise Failure("unexpected message: %s in %.1200s" % (
                        " / ".join(reasons), dump(message)))

    def silence(self, value):
        message = self.take(int(value) / 1000)
        check(message is None, "a message where silence was wanted: %.400s" % (
            message and dump(message)))

    def never(self, value):
        want = parse(self.expand(value))
        for message in self.received:
            check(mismatch(want, message, {}) is not None,
                  "a message that must not come: %.400s" % dump(message))

    def pause(self, value):
        time.sleep(int(value) / 1000)

    def touch(self, value):
        self.server.wait_read()
        with open(os.path.join(self.server.workspace, value), "w", encoding="utf-8"):
            pass

    def await_file(self, value):
        path = os.path.join(self.server.workspace, value)
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(path):
            check(time.monotonic() < deadline, "no command has made %s" % value)
            self.server.pump(0.01)

    def send_signal(self, value):
        self.server.signal(getattr(signal, "SIG" + value.strip()))

    def eof(self, _):
        self.session.client_eof()
        self.server.close_input()

    def exit(self, value):
        self.exit_status = int(value)
        status = self.server.wait_exit()
        check(status == self.exit_status, "exit status %s, not %s" % (status, value))

    ACTIONS = {">": send_line, ">|": send_part, ">hex": send_hex, "~": silence, "<!": never,
               "pause": pause, "touch": touch, "await": await_file, "!": send_signal,
               "eof": eof, "exit": exit}

    # -- the end

    def end(self):
        if self.exit_status is None:
            self.eof("")
            self.exit("0")
        while self.server.inbox:
            message = self.take(0)
            check(is_notification(message), "a message that no line expects: %.600s" %
                  dump(message))
        check(not self.server.buffer, "the output ends inside a line")
        self.session.finish()
        self.audit()
        for pattern in self.story.before_start("stderr"):
            check(re.search(pattern, self.server.stderr_text()),
                  "stderr has no %r: %.400s" % (pattern, self.server.stderr_text()))
        left = self.server.survivors()
        check(not left, "processes left behind: %s" % left)

    def audit(self):
        found = auditlog.records(self.server.state, self.schemas.audit)
        for kind in ("audit", "audit!"):
            for text in self.story.before_start(kind):
                want = parse(self.expand(text))
                there = any(mismatch(want, record, {}) is None for record in found)
                check(there == (kind == "audit"), "%s: %s in %.2000s" % (
                    "no such audit record" if kind == "audit" else "an audit record", text,
                    "\n".join(dump(r) for r in found)))


def is_notification(message):
    return isinstance(message, dict) and "method" in message and "id" not in message


# ------------------------------------------------------- examples of schemas

class Examples:
    """Plays the examples of one capability's schema: each must succeed."""

    def __init__(self, capability, schemas):
        self.capability = capability
        self.session = Session(schemas)
        self.processes = 0

    def play(self):
        name = self.capability["name"]
        server = Server(start=False)
        for folder in ("src", "build", "docs", "tests"):
            os.makedirs(os.path.join(server.workspace, folder), exist_ok=True)
        server.on_line = self.session.server_line
        server.start()
        for number, example in enumerate(self.capability["examples"], 1):
            params = dict(example["params"])
            if "process_id" in params:
                params["process_id"] = self.a_process(server)
            if "process_ids" in params:
                params["process_ids"] = [self.a_process(server) for _ in params["process_ids"]]
            if "follow_id" in params:
                params["follow_id"] = self.a_follow(server)
            self.call(server, "%s-%d" % (name, number), name, params)
        self.session.client_eof()
        server.stop()
        self.session.finish()

    def call(self, server, id, method, params):
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        line = json.dumps(message).encode() + b"\n"
        self.session.client_bytes(line)
        server.send_bytes(line)
        answer = server.answer(id)
        check("result" in answer, "example %s: %.600s" % (id, json.dumps(answer)))
        return answer["result"]

    def a_process(self, server):
        self.processes += 1
        answer = self.call(server, "process-%d" % self.processes, "process.run",
                           {"command": "echo ready; exec sleep 30", "background": True,
                            "tty": self.capability["name"] == "process.resize",
                            "stdin_mode": "pipe"})
        return answer["process_id"]

    def a_follow(self, server):
        answer = self.call(server, "follow-%d" % self.processes, "process.follow",
                           {"process_id": self.a_process(server)})
        return answer["follow_id"]


# ------------------------------------------------------------------ the run

def attempt(name, function, where=lambda: ""):
    """Run one story or example set; whether it passed, and the line about it."""
    def expired(number, frame):
        raise Failure("took more than %d s" % STORY_LIMIT)

    signal.signal(signal.SIGALRM, expired)
    signal.alarm(STORY_LIMIT)
    reasons = []
    try:
        function()
    except (Failure, OSError, subprocess.SubprocessError) as e:
        reasons.append("%s%s" % (where(), e))
    except Exception:
        reasons.append(where() + traceback.format_exc())
    finally:
        signal.alarm(0)
    reasons += destroy_servers()
    return not reasons, "%-5s %s%s" % ("FAIL" if reasons else "ok", name,
                                       ": " + "; ".join(reasons) if reasons else "")


def play_story(path, schemas):
    story = Story(path)
    player = Player(story, schemas)

    def where():
        if player.step is None:
            return ""
        return "%s:%d: " % (os.path.relpath(path, ROOT), player.step.line)

    return attempt(story.name, player.play, where)


def play_examples(name, schemas):
    return attempt("example-" + name, Examples(schemas.capabilities[name], schemas).play)


def pieces(words, schemas):
    """What is to be played: (function, argument). The examples first: they take longest."""
    stories = sorted(glob.glob(str(ROOT / "fixtures" / "wire" / "*.wire")))
    everything = ([(play_examples, name, "example-" + name) for name in schemas.capabilities] +
                  [(play_story, path, os.path.basename(path)) for path in stories])
    return [(function, argument) for function, argument, name in everything
            if not words or any(word in name for word in words)]


schemas_here = []  # those of this worker


def play_piece(piece):
    """What came of it, and what this worker has exercised so far."""
    function, argument = piece
    return function(argument, schemas_here[0]), schemas_here[0].seen()


def play_all(words):
    if not jsonschema:
        print("FAIL  python3-jsonschema is not installed: nothing could be validated")
        print("0 passed, 1 failed, 0 skipped")
        sys.exit(1)
    counts = collections.Counter()
    schemas = Schemas()
    if not schemas.official.available():
        print("SKIP  the official MCP schemas are not in %s: shapes of messages are checked by "
              "this program only" % schemas.official.folder)
        counts["skipped"] += 1
    fork = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(AT_A_TIME, fork, schemas_here.append, [schemas]) as pool:
        for (passed, line), seen in pool.map(play_piece, pieces(words, schemas)):
            print(line, flush=True)
            counts[passed] += 1
            schemas.add_seen(seen)
    if not words:
        missing = schemas.missing()
        for text in missing:
            print("FAIL  coverage: " + text)
        counts[not missing] += 1
    print("%d passed, %d failed, %d skipped" % (counts[True], counts[False], counts["skipped"]))
    sys.exit(1 if counts[False] else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server")
    parser.add_argument("words", nargs="*", metavar="STORY")
    options = parser.parse_args()
    if options.server:
        os.environ["PROCPEN"] = options.server
    if not os.access(server_path(), os.X_OK):
        print("FAIL  %s is missing: run make first" % server_path())
        print("0 passed, 1 failed, 0 skipped")
        sys.exit(1)
    play_all(options.words)


if __name__ == "__main__":
    main()
