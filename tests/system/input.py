#!/usr/bin/env python3
"""process.input: conversations with real programs, and commands that read nothing, or go away."""
import base64
import hashlib
import os
import re
import shutil
import signal
import subprocess
import time

from client import WAIT, RpcError, Server, Skip, check, equal, eventually, server_path, status_kib
from suite import Suite

suite = Suite()
WAIT_MS = 60000
CHUNK = 65536
NOWHERE = "/nonexistent"  # as PATH: what should be refused, and is not, finds no program


class Talk:
    """A run with a pipe."""

    def __init__(self, server, command, args=None, **params):
        self.server = server
        run = server.run(command, args, stdin_mode="pipe", background=True, **params)
        check(run["state"] in ("running", "completed"), "the start of %s: %s" % (command, run))
        check(not any("stdin" in w for w in run["warnings"]), str(run["warnings"]))
        self.id = run["process_id"]
        self.seen = {"stdout": 0, "stderr": 0}

    def write(self, data="", **params):
        if isinstance(data, bytes):
            params.update(data=base64.b64encode(data).decode(), encoding="base64")
        elif data:
            params["data"] = data
        return self.server.call("process.input", dict(params, process_id=self.id))

    def refused(self, data, **params):
        try:
            self.write(data, **params)
        except RpcError as e:
            return e
        raise AssertionError("%r was taken" % data)

    def until(self, pattern, stream="stdout"):
        """Read on, by page after page, until what is new matches."""
        text = ""
        while not re.search(pattern, text):
            page = self.server.logs(self.id, stream=stream, offset=self.seen[stream],
                                    wait_ms=WAIT_MS)
            check(page[stream] or page["state"] == "running",
                  "%s ended without %r: %r" % (self.id, pattern, text))
            text += page[stream]
            self.seen[stream] = page[stream + "_next_offset"]
        return text

    def ask(self, data, pattern, stream="stdout"):
        self.write(data)
        return self.until(pattern, stream)

    def end(self):
        return self.server.call("process.monitor", {"process_id": self.id, "wait_ms": WAIT_MS})

    def kill(self):
        self.server.call("process.kill", {"process_id": self.id, "signal": "KILL"})


def need(program):
    path = shutil.which(program)
    if not path:
        raise Skip("no %s" % program)
    return path


# ------------------------------------------------------------- real programs

@suite.test()
def test_python():
    server = Server()
    python = Talk(server, "/usr/bin/python3", ["-i", "-q", "-u"])
    python.ask("x = 6\n", "", "stderr")
    python.ask("print(x * 7)\n", r"^42\n")
    python.write("def f(a):\n  return a + ")
    python.write("1\n\n")
    python.ask("print('it', f(x))\n", r"it 7\n")
    python.ask("print(input('name? '))\nProcpen\n", r"name\? Procpen\n")
    python.write("import sys; sys.exit(4)\n")
    equal(python.end()["exit_code"], 4, "exit code")
    server.stop()


@suite.test()
def test_node():
    node = need("node")
    server = Server()
    talk = Talk(server, node, ["-i"])
    talk.ask("6 * 7\n", r"42")
    talk.ask("console.log(`it's ${[1, 2, 3].map(x => x * 2)}`)\n", r"it's 2,4,6\n")
    talk.write(".exit\n")
    equal(talk.end()["exit_code"], 0, "exit code")
    server.stop()


@suite.test()
def test_bash():
    server = Server()
    bash = Talk(server, "exec /bin/bash", environment={"PATH": NOWHERE})
    bash.ask("cd /tmp; pwd\n", r"^/tmp\n")
    bash.ask("f() {\n echo \"<$1>\"\n}\n", "")
    bash.ask("f 'two\nlines'\n", r"^<two\nlines>\n")
    bash.write("read -r line <<E; echo \"{$line}\"\n")
    bash.ask("here\nE\n", r"^{here}\n")
    bash.ask("read -r line; echo \"[$line]\"\nfrom the next line\n", r"^\[from the next line\]\n")
    bash.write("cd /\n")
    equal(bash.refused("rm -rf *\n").type, "CommandBlocked", "what came before")
    bash.ask("echo $PWD\n", r"^/\n")
    bash.write("exit 5\n")
    equal(bash.end()["exit_code"], 5, "exit code")
    server.stop()


@suite.test()
def test_sqlite():
    sqlite = need("sqlite3")
    server = Server()
    talk = Talk(server, sqlite, ["-batch", "test.db"])
    talk.ask("create table t(a);\ninsert into t values('it''s'), (2);\nselect * from t;\n",
             r"^it's\n2\n")
    talk.ask("select count(*)\n", "")
    talk.ask("from t;\n", r"^2\n")
    talk.write(close=True)
    equal(talk.end()["exit_code"], 0, "exit code")
    server.stop()


class Postgres:
    """A server of its own, on a socket in the workspace."""

    def __init__(self, place):
        for program in ("initdb", "postgres", "psql"):
            need(program)
        self.data = os.path.join(place, "pg")
        self.process = None
        os.mkdir(self.data, 0o700)
        self.user = []
        if os.geteuid() == 0:  # it refuses to run as root
            os.chown(self.data, 65534, 65534)
            for path in (place, os.path.dirname(place)):
                os.chmod(path, 0o711)
            self.user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        self.command("initdb", "-D", self.data, "-U", "tester", "--auth=trust", "--no-sync")

    def command(self, *argv):
        done = subprocess.run(self.user + list(argv), capture_output=True, cwd="/", check=False)
        if done.returncode:
            raise Skip("%s: %.300s" % (argv[0], done.stderr.decode(errors="replace")))

    def start(self):
        self.process = subprocess.Popen(
            self.user + ["postgres", "-D", self.data, "-k", self.data, "-c", "fsync=off",
                         "-c", "listen_addresses="],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd="/")
        eventually(lambda: os.path.exists(self.data + "/.s.PGSQL.5432"), WAIT, "no socket")

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)


@suite.test(180)
def test_psql():
    server = Server()
    postgres = Postgres(server.workspace)
    os.chmod(postgres.data, 0o750)
    try:
        postgres.start()
        talk = Talk(server, need("psql"), ["-h", postgres.data, "-U", "tester", "-d", "postgres", "-At"],
                    environment={"PATH": NOWHERE})
        talk.ask("create table t(a int); insert into t values (1), (2);\n", r"INSERT 0 2\n")
        talk.ask("select 'it''s', sum(a)\n", "")
        talk.ask("from t;\n", r"it's\|3\n")
        equal(talk.refused("\\! rm -rf /\n").type, "CommandBlocked", "a shell command")
        talk.ask("\\! echo from the shell\n", r"from the shell\n")
        talk.write(close=True)
        equal(talk.end()["exit_code"], 0, "exit code")
    finally:
        postgres.stop()
    server.stop()


# ------------------------------------------------------------- odd readers

@suite.test()
def test_command_closes_its_stdin():
    server = Server()
    talk = Talk(server, "read a; exec <&-; echo closed; sleep 600")
    talk.write("x\n")
    talk.until("closed")
    eventually(lambda: talk.refused("y\n").type == "StdinClosed", WAIT, "not closed")
    talk.kill()
    # With input that waits: it is dropped.
    talk = Talk(server, "read a; exec <&-; echo closed; sleep 600")
    for _ in range(4):
        talk.write("x" * CHUNK)
    talk.write("\n")
    talk.until("closed")
    check("has closed" in str(talk.refused("y")), "the reason")
    talk.kill()
    server.stop()


@suite.test()
def test_held_input_that_nobody_reads():
    """A shell closes its stdin while a text waits for its closing quote: that text counts as unread,
    whatever the server sees first, the closed pipe or the rest of the text."""
    server = Server()
    gate, closed = (os.path.join(server.workspace, name) for name in ("gate", "closed"))
    os.mkfifo(gate)
    for _ in range(10):
        talk = Talk(server, "bash")
        talk.write("read -r x <gate; exec </dev/null; touch closed; sleep 600\n")
        equal(talk.write("echo 'abc")["bytes_queued"], 9, "what waits")
        server.signal(signal.SIGSTOP)
        with open(gate, "w", encoding="utf-8") as f:
            f.write("go\n")
        eventually(lambda: os.path.exists(closed), WAIT, "it is not closed")
        os.unlink(closed)
        rest = server.request("process.input", {"process_id": talk.id, "data": "'\n"})
        server.flush()
        server.signal(signal.SIGCONT)
        check("error" in server.answer(rest), "the rest was taken")
        talk.kill()
        equal(talk.end().get("stdin_unread"), 9, "unread")
    server.stop()


@suite.test()
def test_held_input_counts_to_the_bound():
    """What waits in the server for the rest of a command is input that waits, as limits.stdin_bytes has it."""
    server = Server("--set", "limits.stdin_bytes=64K")
    shell = Talk(server, "exec /bin/bash", environment={"PATH": NOWHERE})
    equal(shell.write("echo '" + 40000 * "a")["bytes_incomplete"], 40006, "held")
    equal(shell.refused(30000 * "b").type, "LimitReached", "more than there is room for")
    equal(shell.write(10000 * "c")["bytes_incomplete"], 50006, "held")
    shell.ask("'\n", r"^a{40000}c{10000}\n$")
    server.stop()


@suite.test()
def test_child_keeps_stdin():
    """The command has ended, but a child of it still reads."""
    server = Server()
    talk = Talk(server, "exec 3<&0; (while read -r a; do echo \"got $a\"; done <&3) & exit 0")
    eventually(lambda: talk.end()["state"] == "completed", WAIT, "still running")
    talk.write("x\n")
    eventually(lambda: server.logs(talk.id)["stdout"] == "got x\n", WAIT, "no output of the child")
    talk.write(close=True)
    eventually(lambda: talk.refused("y").type == "ProcessAlreadyExited", WAIT, "still there")
    server.stop()


@suite.test()
def test_command_never_reads():
    server = Server()
    talk = Talk(server, "sleep", ["600"])
    taken = 0
    while True:
        try:
            answer = talk.write("x" * CHUNK)
        except RpcError as e:
            equal(e.type, "LimitReached", "at the limit")
            break
        taken += answer["bytes_written"]
        server.ping()
    equal(taken, (1 << 20) + CHUNK, "bytes taken: the queue, and a pipe")
    equal(talk.refused("x", close=True).type, "LimitReached", "one byte more")
    equal(talk.write(close=True)["closed"], True, "the end alone")
    talk.kill()
    equal(talk.refused("x").type, "ProcessAlreadyExited", "after the kill")
    server.stop()


@suite.test()
def test_command_ends_meanwhile():
    """Whatever comes first, each call has an answer that is true."""
    server = Server()
    for _ in range(50):
        talk = Talk(server, "head", ["-c", "70000"])
        answers = [server.request("process.input", {"process_id": talk.id, "data": "x" * 20000})
                   for _ in range(8)]
        seen = []
        for id in answers:
            answer = server.answer(id)
            seen.append(answer["error"]["data"]["type"] if "error" in answer else
                        answer["result"]["bytes_written"])
        check(seen[:4] == [20000] * 4, "the command had not read enough: %s" % seen)
        check(set(seen[4:]) <= {20000, "StdinClosed", "ProcessAlreadyExited"}, str(seen))
        end = talk.end()
        equal((end["state"], end["exit_code"]), ("completed", 0), "the end")
        equal(server.logs(talk.id, stream="stdout", limit=1)["stdout_size"], 70000, "read")
    server.stop()


@suite.test(300)
def test_flood():
    """All bytes arrive, in order, through a queue that is full most of the time."""
    server = Server("--set", "log.tail_bytes=67108864")
    talk = Talk(server, "cat", [])
    sent = hashlib.sha256()
    total = 0
    for number in range(400):
        chunk = hashlib.sha512(b"%d" % number).digest() * (CHUNK // 64)
        while True:
            try:
                talk.write(chunk)
                break
            except RpcError as e:
                equal((e.type, e.error["data"]["retryable"]), ("LimitReached", True), "flood")
                time.sleep(0.01)
        sent.update(chunk)
        total += len(chunk)
    talk.write(close=True)
    equal(talk.end()["exit_code"], 0, "exit code")
    got = hashlib.sha256()
    offset = 0
    while offset < total:
        page = server.logs(talk.id, stream="stdout", offset=offset, encoding="base64")
        equal(page["stdout_evicted"], None, "evicted")
        got.update(base64.b64decode(page["stdout"]))
        offset = page["stdout_next_offset"]
    equal((offset, got.hexdigest()), (total, sent.hexdigest()), "what cat wrote")
    server.stop()


@suite.test()
def test_long_text_for_a_shell():
    """It is judged in turns; what comes behind it keeps its place, and other runs do not wait."""
    server = Server()
    shell = Talk(server, "exec /bin/bash", environment={"PATH": NOWHERE})
    other = Talk(server, "exec /bin/bash", environment={"PATH": NOWHERE})
    line = "n=$((n + 1))\n"
    text = line * (CHUNK // len(line) - 1)
    want = 0
    for last in (":\n", "rm -rf /\n"):
        ids = [server.request("process.input", {"process_id": shell.id, "data": data})
               for data in (text + last, "echo a $n\n")]
        ids += [server.request("process.input", {"process_id": other.id, "data": "echo b\n"})]
        check("result" in server.answer(ids[2]), "the other run")
        long, short = server.answer(ids[0]), server.answer(ids[1])
        equal(short["result"]["bytes_written"], 10, "behind it")
        if last == ":\n":
            equal(long.get("result", long).get("bytes_written"), len(text + last), str(long)[:600])
            want += text.count(line)
        else:
            equal(long["error"]["data"]["type"], "CommandBlocked", "the last line")
            took = long["error"]["data"]["details"]["bytes_written"]
            check(len(text) // 2 < took < len(text), "the lines before: %d" % took)
            want += text[:took].count(line)
        shell.until(r"^a %d\n" % want)
    gone = [server.request("process.input", {"process_id": shell.id, "data": text})
            for _ in range(3)]
    for id in gone[:2]:
        server.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}})
    for id in gone[:2]:
        answer = server.answer(id)
        check("result" in answer or answer["error"]["data"]["type"] == "Cancelled", str(answer))
    check("result" in server.answer(gone[2]), "the one behind")
    equal([id for id in gone if id not in server.recorded()], [], "calls that are not on record")
    many = [server.request("process.input", {"process_id": shell.id, "data": text + "echo %d\n" % i})
            for i in range(12)]
    behind = [server.request("process.input", {"process_id": shell.id, "data": "echo n%d\n" % i})
              for i in range(12)]
    for id in behind + many:
        answer = server.answer(id)
        check("result" in answer or answer["error"]["data"]["type"] in
              ("LimitReached", "InvalidParams"), str(answer)[:300])
    shell.until(r"\nn11\n$")
    many = [server.request("process.input", {"process_id": shell.id, "data": text})
            for _ in range(2)]
    shell.kill()
    for id in many:
        check(server.answer(id), "a run that ends")
    server.stop()


@suite.test()
def test_memory_goes_with_the_queue():
    """Twenty full queues, then nothing of them."""
    if "asan" in server_path():
        raise Skip("it keeps what is freed")
    server = Server()
    server.run("true")
    talks = [Talk(server, "sleep", ["600"]) for _ in range(20)]
    before = status_kib(server.process.pid, "VmRSS")
    for talk in talks:
        for _ in range(17):
            talk.write("x" * CHUNK)
    full = status_kib(server.process.pid, "VmRSS")
    check(full - before > 15000, "the queues are not full: %d KiB" % (full - before))
    for talk in talks:
        talk.kill()
    eventually(lambda: status_kib(server.process.pid, "VmRSS") < before + 6000, WAIT, "memory stays")
    server.stop()


@suite.test()
def test_server_ends():
    """The pipe ends with the server, however it ends, and what reads from it too."""
    for how in ("eof", "kill"):
        server = Server()
        talk = Talk(server, "cat; sleep 600")
        for _ in range(4):
            talk.write("x" * CHUNK)
        if how == "kill":
            server.signal(signal.SIGKILL)
        else:
            server.close_input()
        server.wait_exit()
        equal(server.survivors(), [], "alive after " + how)
        server.destroy()


if __name__ == "__main__":
    suite.main()
