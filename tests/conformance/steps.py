"""What the scripted model does in every host, and what it must be sent for it.

One table: what an agent does with a shell, as calls of procpen's tools, each with what its result
must say. Every tool is called, because some hosts look at a schema only then. Some commands run a
second time through the host's own shell tool, so that both can be compared.
"""
import collections
import json
import os
import re
import socket

PROJECT = {
    "main.c": '#include <stdio.h>\nint add(int a, int b) { return a + b }\n'
              'int main(void) { printf("%d\\n", add(1, 2)); return 0; }\n',
    "Makefile": "app: main.c\n\tcc -Wall -o app main.c\n",
    "tests.sh": "i=0\nwhile [ $((i += 1)) -le 5000 ]; do\n"
                "  case $i in\n"
                "  2500) echo \"test case_$i ... FAILED: expected 3, got 4\" ;;\n"
                "  *) echo \"test case_$i ... ok\" ;;\n"
                "  esac\ndone\necho '1 of 5000 failed' >&2\nexit 1\n",
}
CASES = ["test case_%d ... %s" % (i, "FAILED: expected 3, got 4" if i == 2500 else "ok")
         for i in range(1, 5001)]

# The port of a server that the model starts. Bound here, it is given to nobody who asks for any
# free one; not listened on here, it is still free for a server that sets SO_REUSEADDR, as
# http.server does.
HELD = socket.socket()
HELD.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
HELD.bind(("127.0.0.1", 0))
PORT = HELD.getsockname()[1]

TIME = r"\d[\d.]* (ms|s|min)( \d+ s)?"  # for TIME in what must be said; WORK is the project

# @arguments: of the call; None: those of the call that the result before names. @says: what the
# text must begin with, then what it must have. @until: the model goes on with the call that each
# result names until one has this pattern or names none; what the last one says counts. @own: the
# host's own shell tool runs the command too.
Step = collections.namedtuple("Step", "name tool arguments says is_error until own")


def step(name, tool, arguments, *says, **more):
    return Step(name, tool, arguments, says, **{"is_error": False, "until": None, "own": False,
                                                **more})


STEPS = (
    step("nothing to say", "process_run", {"command": "true"},
         r"exit 0 in TIME, no output \[p\S+\]\Z", own=True),
    step("failing build", "process_run", {"command": "make"},
         r"exit 2 in TIME \[p\S+\]\n", r"^main\.c:2:\d+: error: expected .;. before",
         r"^make: .* Error 1$", own=True),
    step("fix", "process_run",
         {"command": "sed -i 's/a + b }/a + b; }/' main.c && make && ./app && pwd"},
         r"exit 0 in TIME \[p\S+\]\n", r"^3\nWORK\n"),
    step("long test run", "process_run", {"command": "sh tests.sh"},
         r"exit 1 in TIME \[p\S+\]; stdout [\d,]+ bytes in 5,000 lines, both ends shown\n",
         r"^test case_1 \.\.\. ok$", r"^test case_5000 \.\.\. ok$", r"^1 of 5000 failed$",
         r'process_logs \{"process_id":"p\S+","offset":\d+\}, or with "grep"', own=True),
    step("the pages left out", "process_logs", None, r"test case_\d+ \.\.\. ok\n",
         until=r"(?!)"),
    step("grep", "process_logs", {"process_id": "long test run", "grep": "FAILED"},
         r"", r"test case_2500 \.\.\. FAILED: expected 3, got 4$", r"case_2499 \.\.\. ok$"),
    step("background server", "process_run",
         {"command": "python3 -u -m http.server --bind 127.0.0.1 0", "background": True},
         r"started in background(, no output yet)? \[p\S+\]; process_logs \{", "process_kill stops"),
    step("poll its output", "process_logs", None, r"Serving HTTP on 127\.0\.0\.1 port \d+",
         until=r"Serving"),
    step("poll its state", "process_monitor", {"process_id": "background server"},
         r"running for TIME \[p\S+\]: python3 -u", r"process_logs \{.*\} reads it$"),
    step("list", "process_list", {}, r"p\S+ running for TIME: python3 -u",
         r"^p\S+ exit 1 in TIME: sh tests\.sh$"),
    step("kill", "process_kill", {"process_id": "background server"},
         r"ended by SIGTERM in TIME \[p\S+\]\Z"),
    step("a prompt", "process_run", {"command": "rm -iv app", "tty": True, "background": True},
         r"started in background(, no output yet)?"
         r"( \[p\S+\]; process_logs|, waits for input \[p\S+\]; process_input) \{"),
    step("wait for a prompt", "process_monitor",
         {"process_id": "a prompt", "until": "pattern", "pattern": r"\? $", "wait_ms": 45000},
         r"running for TIME(, waits for input)? \[p\S+\]: rm -iv app\n",
         r"^matched line 1 of stdout: rm: remove regular file 'app'\? $"),
    step("answer it", "process_input", {"process_id": "a prompt", "data": "y\n"},
         r"took 2 bytes \[p\S+\]; process_logs \{.*\} shows what it answers\.\Z"),
    step("what it answers", "process_logs", None, r"", r"^removed 'app'$", until=r"removed"),
    # Only the port tells that it is up: Python holds back what it prints to a pipe. It comes late,
    # so whoever answers without a wait is wrong.
    step("server on a port", "process_run",
         {"command": "sleep 1; exec python3 -m http.server --bind 127.0.0.1 %d" % PORT,
          "background": True}, r"started in background, no output yet \[p\S+\]; process_logs \{"),
    step("wait for a port", "process_monitor",
         {"process_id": "server on a port", "until": "port", "port": PORT, "wait_ms": 45000},
         r"running for (?!\d+ ms)TIME \[p\S+\]: sleep 1; exec python3 -m http\.server",
         r"^it listens on port %d$" % PORT),
    step("end it", "process_kill", {"process_id": "server on a port"},
         r"ended by SIGTERM in TIME \[p\S+\]\Z"),
    # Refused as long as any process of it lives.
    step("forget it", "process_delete", {"process_id": "server on a port"},
         r"1 record deleted, \d+ bytes of output freed\Z"),
    step("ask before", "is_blocked", {"command": "mkfs.ext4 /dev/does-not-exist"}, r"blocked: "),
    step("blocked command", "process_run", {"command": "mkfs.ext4 /dev/does-not-exist"},
         r"CommandBlocked: ", r"erases its target", r"No rule or tier overrides it", is_error=True),
    step("bad parameter", "process_run", {"command": "true", "timeuot": 5},
         r"InvalidParams: ", r'did you mean "timeout"\?', is_error=True),
    step("a human is asked", "process_run", {"command": "npm publish"},
         r"PermissionDenied: process_run ", r'rule "publish\.npm"', is_error=True),
    step("session", "agent_session", {}, r"(.*\n)*workspace:? WORK"),
)

RUN_ID = re.compile(r"\[(p\d+-\w+)\]")
NEXT = re.compile(r"\b((?:process|agent|is)_\w+) (\{.*?\})")
MEMBER = re.compile(r'"\w+" ?:')


class Turn:
    """One call, and what the model was sent for it: @whole as it is, @text without the host's
    frame. @tool is None for the host's own shell tool."""

    def __init__(self, name, tool, text, result):
        self.name, self.tool, self.text = name, tool, text
        self.whole, self.is_error = "\n".join(result.blocks), result.is_error

    def next_call(self):
        """(tool, arguments) of the call that the text names, or None."""
        found = NEXT.search(self.text)
        return found and (found[1], json.loads(found[2]))


def script(host, turns):
    """The model's part: yields calls under the host's names, is sent Results, adds to @turns."""
    runs, last = {}, None
    for s in STEPS:
        arguments = dict(s.arguments or {})
        if "process_id" in arguments:
            arguments["process_id"] = runs.get(arguments["process_id"], "none")
        call = (s.tool, arguments) if s.arguments is not None else last.next_call()
        while call:
            result = yield host.prefix + call[0], call[1]
            last = Turn(s.name, call[0], host.unframed(result), result)
            turns.append(last)
            found = RUN_ID.search(last.text)
            if found:
                runs.setdefault(s.name, found[1])
            goes_on = s.until and not re.search(s.until, last.text)
            call = last.next_call() if goes_on else None
        if s.own:
            result = yield host.own(arguments["command"])
            turns.append(Turn(s.name, None, "\n".join(result.blocks), result))


def write_project(folder):
    for name, text in PROJECT.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)


def unsaid(s, turn, work):
    """What @turn should have been told and was not, or None."""
    first, *others = (pattern.replace("WORK", re.escape(work)).replace("TIME", TIME)
                      for pattern in s.says)
    if not re.match(first, turn.text):
        return "does not begin with %s" % first
    for pattern in others:
        if not re.search(pattern, turn.text, re.M):
            return "does not say %s" % pattern
    return None


def misshapen(s, turn, schemas):
    """What no text may be, or None. @schemas: of the tools that the model was offered, by procpen's
    names."""
    if turn.is_error not in (None, s.is_error):
        return "is an error" if turn.is_error else "is no error"
    found = MEMBER.search(NEXT.sub("", turn.text))
    if found:
        return "has JSON: %s" % found[0]
    for tool, arguments in NEXT.findall(turn.text):
        unknown = set(json.loads(arguments)) - set(schemas[tool]["properties"])
        if unknown:
            return "names %s, which %s does not list" % (sorted(unknown), tool)
    return None


def judge(counts, host, turns, schemas):
    """One line for each step, and one for all cases of the long run."""
    for s in STEPS:
        mine = [t for t in turns if (t.name, t.tool is None) == (s.name, False)]
        name = "%s: %s" % (host.name, s.name)
        if not mine:
            counts.note(False, name, "was not called")
            continue
        wrong = [(w, t) for t in mine for w in [misshapen(s, t, schemas)] if w]
        missing = unsaid(s, mine[-1], host.scratch.work)
        if missing:
            wrong.append((missing, mine[-1]))
        counts.note(not wrong, name, wrong and "%s: %.300r" % (wrong[0][0], wrong[0][1].text))
        if s.is_error and mine[0].text != mine[0].whole and host.frames_errors:
            counts.skip(name + ", no JSON around it", host.frames_errors)
    seen = {line for t in turns if t.tool for line in t.text.splitlines()}
    lost = [case for case in CASES if case not in seen]
    counts.note(not lost, "%s: no line of 5,000 is lost" % host.name,
                "%d lost, the first: %s" % (len(lost), lost and lost[0]))
