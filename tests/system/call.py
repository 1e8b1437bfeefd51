#!/usr/bin/env python3
"""procpen call: one request to a server of its own, its answer, its ends."""
import json
import os
import pty
import re
import resource
import signal
import socket
import subprocess

from client import WAIT, Server, Skip, check, equal, eventually, processes_marked, server_path
from suite import Suite

suite = Suite()


class Place(Server):
    """A workspace and a home whose name marks every process; no server of its own."""

    def __init__(self):
        super().__init__(start=False)

    def argv(self, *words):
        return [server_path(), "call", "--workspace", self.workspace, "--state-dir", self.state, *words]

    def call(self, *words, input=b""):
        """(status, stdout, stderr)."""
        done = subprocess.run(self.argv(*words), env=self.env, cwd=self.workspace, input=input,
                              capture_output=True, timeout=WAIT)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def document(self, *words, **how):
        status, out, err = self.call("--json", *words, **how)
        equal(out.count("\n"), 1, "lines of %r (%s)" % (out, err))
        return status, json.loads(out)

    def start(self, *words, **how):
        return subprocess.Popen(self.argv(*words), env=self.env, cwd=self.workspace, **how)

    def records(self):
        folder = os.path.join(self.state, "audit")
        return [json.loads(line) for name in sorted(os.listdir(folder))
                for line in open(os.path.join(folder, name), encoding="utf-8")]

    def nothing_left(self):
        eventually(lambda: not processes_marked(self.base), WAIT, "processes left behind")


@suite.test()
def test_a_result():
    place = Place()
    status, out, err = place.call("process.run", '{"command":"echo hi; exit 3"}')
    equal((status, err), (0, ""), "status, stderr: a command that fails is a result")
    for line in ("exit_code: 3", "success: false", "stdout_summary:\n    hi"):
        check(line in out, "no %r in %s" % (line, out))
    check("null" not in out and "warnings" not in out, "what is empty is shown: " + out)
    status, result = place.document("process.run", '{"command":"echo hi"}')
    equal((status, result["exit_code"], result["stdout_summary"]), (0, 0, "hi\n"), "--json")
    equal([r["event"] for r in place.records()].count("attempt"), 2, "attempts on record")


@suite.test()
def test_methods():
    place = Place()
    equal(place.document("agent.session")[1]["workspace"], place.workspace, "another capability")
    equal(place.document("process.list", "{}")[1]["total"], 0, "a session of its own")
    equal(place.document("is_blocked", '{"command":"rm -rf /"}')[1]["blocked"], True, "is_blocked")
    status, out, err = place.call("proces.run")
    equal((status, out), (1, ""), "an unknown method: status, stdout")
    check("process.run" in err, "no nearest name in %r" % err)


@suite.test()
def test_figures_and_reasons_are_readable():
    """A rounded figure, and each reason on a line of its own; as a method and as a tool."""
    place = Place()
    for name, line in (("server.metrics", r"\n +net_rx_bytes: the kernel "),
                       ("server_metrics", r"\n- net_rx_bytes: the kernel ")):
        status, out, err = place.call(name)
        equal((status, err), (0, ""), name)
        check(re.match(r"cpu_percent: [0-9]+(\.[0-9])?\n", out), out)
        check(re.search(r"\nunknown:\n", out) and re.search(line, out), out)


@suite.test()
def test_an_empty_list_is_a_value():
    place = Place()
    status, out, err = place.call("--set", "sandbox.readonly=", "config.get",
                                  '{"keys":["sandbox.readonly","sandbox.network"]}')
    equal((status, err), (0, ""), "status, stderr")
    check("sandbox.readonly:\n  value: (none)\n  default: .git/hooks\n  origin: --set\n" in out, out)


@suite.test()
def test_a_tool_prints_what_its_model_reads():
    place = Place()
    status, out, err = place.call("process_run", '{"command":"echo hi; exit 3"}')
    equal((status, err), (0, ""), "status, stderr: a command that fails is a result")
    check(out.startswith("exit 3 in ") and out.endswith("\nhi\n"), "not the text of a run: " + out)
    status, out, err = place.call("process_run", '{"command":"rm -rf /"}')
    equal((status, out.split(":")[0]), (1, "CommandBlocked"), "an error")
    status, result = place.document("process_run", '{"command":"true"}')
    equal((status, result["_meta"]["dev.procpen/result"]["exit_code"]), (0, 0), "--json")
    status, out, err = place.call("process_run", '{"command":"sleep 60","yield_ms":10}')
    check("still running" in out and "killed now" in err, "%r, %r" % (out, err))


@suite.test()
def test_output_with_nul():
    """It is an answer like another, and shown by code to the end, on one line and on several."""
    place = Place()
    for command, shown in (("printf 'a\\0b'", ["a\\u0000b"]),
                           ("printf 'a\\0b\\nc\\0d\\n'", ["a\\u0000b", "c\\u0000d"])):
        params = json.dumps({"command": command})
        for name in ("process.run", "process_run"):
            status, out, err = place.call(name, params)
            equal((status, err), (0, ""), "%s %s: status, stderr" % (name, command))
            for text in shown:
                check(re.search(r"^( *|stdout_summary: )%s$" % re.escape(text), out, re.M), out)
        status, result = place.document("process.run", params)
        equal((status, result["stdout_summary"][:3]), (0, "a\0b"), "--json")


@suite.test()
def test_errors():
    place = Place()
    for words, kind in ((["process.run", '{"command":"rm -rf /"}'], "CommandBlocked"),
                        (["process.run", '{"comand":"ls"}'], "InvalidParams"),
                        (["process.run"], "InvalidParams"),
                        (["--set", "tier.process.run=confirm", "process.run", '{"command":"ls"}'],
                         "PermissionDenied"),
                        (["process.monitor", '{"process_id":"p1-0000"}'], "ProcessNotFound")):
        status, out, err = place.call(*words)
        equal((status, out), (1, ""), "%s: status, stdout" % words)
        check("procpen call: %s: " % kind in err, "%s: %r" % (words, err))
        status, document = place.document(*words)
        equal((status, document["error"]["data"]["type"]), (1, kind), "%s --json" % words)


@suite.test()
def test_process_of_another_call():
    """It is gone with its session: said here, because the error is for those who have one."""
    place = Place()
    _, result = place.document("process.run", '{"command":"true"}')
    for method in "process.logs", "process_logs":
        for options in [], ["--json"]:
            _, _, err = place.call(*options, method, json.dumps({"process_id": result["process_id"]}))
            check("each call is a session of its own" in err, "%s %s: %r" % (options, method, err))
    _, _, err = place.call("process.run", '{"comand":"ls"}')
    check("session" not in err, err)


@suite.test()
def test_partial_result():
    """A run that its limit ended: the error, and what there is of the result."""
    place = Place()
    status, out, err = place.call("process.run", json.dumps(
        {"command": "echo begun; exec python3 -c 'x = bytearray(10**9)'", "memory_limit": 64 << 20}))
    equal(status, 1, err)
    check("ResourceLimitExceeded" in err and "begun" in out, "%r %r" % (out, err))


@suite.test()
def test_usage():
    place = Place()
    for words, part in (([], "no method"), ([""], "no method"), (["process.run", "{", "}"], "quotes"),
                        (["process.run", "{"], "not JSON"), (["process.run", "[1]"], "object"),
                        (["process.run", "{command:ls}"], """ quotes, like '{"command":"echo hi"}'"""),
                        (["process.run", '"x"'], "object"), (["process.run", ""], "not JSON"),
                        (["process.run", '{"command":"ls","command":"ls"}'], "this JSON is refused: the member"),
                        (["process.run", '{"command":"a\nb"}'], "not JSON"),
                        (["process.run", '{"command":"ls","background":true}'], "background"),
                        (["process.run", "-"], "not JSON"), (["--jsom", "process.run"], "--json")):
        status, out, err = place.call(*words)
        equal((status, out), (2, ""), "%s: status, stdout" % words)
        check(part in err, "%s: no %r in %r" % (words, part, err))
    check(not os.path.exists(place.state), "a server was started")


@suite.test()
def test_json_from_stdin():
    place = Place()
    text = json.dumps({"command": "cat", "stdin": "x  y\r\nz"}, indent=2).encode()
    status, result = place.document("process.run", "-", input=text)
    equal((status, result["stdout_summary"]), (0, "x  y\r\nz"), "pretty-printed JSON")
    status, result = place.document("process.run", "-", input='{"command":"echo a"}'.encode("utf-8-sig"))
    equal((status, result["stdout_summary"]), (0, "a\n"), "behind a byte order mark")
    status, _, err = place.call("process.run", "-", input=b'{"command":"' + b"x" * (17 << 20) + b'"}')
    equal(status, 2, "17 MiB: %s" % err)
    status, _, err = place.call("process.run", "-", input=b'{"command":"' + b"x" * (5 << 20) + b'"}')
    check(status == 1 and "ParseError" in err, "longer than a line may be: %d %s" % (status, err))


@suite.test()
def test_options_stand_anywhere():
    place = Place()
    status, out, _ = place.call("agent.session", "--json")
    equal((status, json.loads(out)["workspace"]), (0, place.workspace), "--json behind the method")


@suite.test()
def test_escapes_are_shown():
    """What a command prints moves no cursor and clears no screen."""
    place = Place()
    status, out, _ = place.call("process.run", '{"command":"printf \'a\\\\033[2Jb\\\\302\\\\233c\\\\rd\'"}')
    equal(status, 0, "status")
    check("\x1b" not in out and "\u009b" not in out and "\r" not in out, repr(out))
    check("a\\u001b[2Jb\\u009bc\\u000dd" in out, repr(out))
    _, out, _ = place.call("process_run", '{"command":"printf \'a\\\\033[2Jb\'"}')
    check("\x1b" not in out and "a\\u001b[2Jb" in out, repr(out))


@suite.test()
def test_hidden_characters_are_shown():
    """What turns text around or cannot be seen is shown by code, for people alone; tabs stay."""
    place = Place()
    params = json.dumps({"command": "printf '%s' \"$X\"", "environment": {"X": "\ta\u202eb\tc\u200bd"}})
    for method in ("process.run", "process_run"):
        _, out, _ = place.call(method, params)
        check("\ta\\u202eb\tc\\u200bd" in out, repr(out))
        check("\u202e" not in out and "\u200b" not in out, repr(out))
    _, out, _ = place.call("process.run", params, "--json")
    equal(json.loads(out)["stdout_summary"], "\ta\u202eb\tc\u200bd", "--json")


@suite.test()
def test_yield():
    place = Place()
    status, out, err = place.call("process.run", '{"command":"echo hi; sleep 300","yield_ms":300}')
    equal(status, 0, err)
    check("state: running" in out and "killed" in err, "%r %r" % (out, err))
    place.nothing_left()


@suite.test()
def test_long_runs_are_not_cut():
    """The end of the input does not bound the request: the server's stays open."""
    place = Place()
    status, result = place.document("--set", "server.eof_seconds=1", "process.run", '{"command":"sleep 2.5"}')
    equal((status, result["state"]), (0, "completed"), "longer than server.eof_seconds")


DEAF = json.dumps({"command": "trap '' INT TERM; (setsid sleep 300 &); echo ready >ready; sleep 300"})


def started(place, **how):
    """A call whose command runs."""
    process = place.start("process.run", DEAF, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, **how)
    eventually(lambda: os.path.exists(place.workspace + "/ready"), WAIT, "the command has not begun")
    return process


@suite.test()
def test_signals():
    """The run is killed, its answer is printed, and the status says why."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        place = Place()
        process = started(place)
        process.send_signal(number)
        out, err = (part.decode() for part in process.communicate(timeout=WAIT))
        equal(process.returncode, 128 + number, "status: " + err)
        check("state: killed" in out and "reason: server_shutdown" in out, out)
        check(number.name in err and "killed" in err, err)
        place.nothing_left()


@suite.test()
def test_interrupt_from_the_terminal():
    place = Place()
    try:
        master, slave = pty.openpty()
    except OSError as e:
        raise Skip("no pseudo-terminal can be had here: %s" % e)

    def own_terminal():
        os.setsid()
        import fcntl
        import termios
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    process = started(place, preexec_fn=own_terminal)
    os.write(master, b"\x03")
    out, err = process.communicate(timeout=WAIT)
    equal(process.returncode, 130, "status: %s" % err)
    check(b"reason: server_shutdown" in out, out)
    place.nothing_left()
    os.close(slave)
    os.close(master)


@suite.test()
def test_interrupted_with_its_reader():
    """^C on `call | less` is for both: what it did is said all the same."""
    place = Place()
    process = started(place)
    process.stdout.close()
    process.send_signal(signal.SIGINT)
    err = process.stderr.read().decode()
    equal((process.wait(WAIT), "SIGINT: what was running was killed" in err), (130, True), err)
    process.stderr.close()
    place.nothing_left()


@suite.test()
def test_killed():
    """SIGKILL for the call itself: the server sees that nobody reads, and ends everything."""
    place = Place()
    process = started(place)
    process.kill()
    process.communicate(timeout=WAIT)
    place.nothing_left()


# For bash: into a pipe whose reader has gone.
TO_NO_READER = 'exec 3> >(exec true); wait $!; "$@" >&3 3>&-'


@suite.test()
def test_answers_that_cannot_be_written():
    place = Place()
    for shell in ("exec \"$@\" >/dev/full", "exec \"$@\" >&-",
                  "trap '' PIPE; \"$@\" | true; exit ${PIPESTATUS[0]}"):
        for option in ([], ["--json"]):
            done = subprocess.run(["bash", "-c", shell, "bash", *place.argv(*option), "process.run",
                                   '{"command":"sleep 0.2; head -c 300000 /dev/zero | tr \'\\\\0\' x",'
                                   '"max_output_bytes":300000}'],
                                  env=place.env, capture_output=True, text=True, timeout=WAIT)
            equal(done.returncode, 125, "%s %s: %s" % (shell, option, done.stderr))
            check("stdout" in done.stderr, "%s: %r" % (shell, done.stderr))
    for target, why in ("/dev/full", "No space left on device"), ("pipe", "Broken pipe"):
        shell = 'trap "" PIPE; ' + TO_NO_READER if target == "pipe" else '"$@" >' + target
        done = subprocess.run(["bash", "-c", shell, "bash", *place.argv("process.run", '{"command":"sleep 0.2"}')],
                              env=place.env, stderr=subprocess.PIPE, text=True, timeout=WAIT)
        equal((done.returncode, done.stderr), (125, "procpen call: cannot write to stdout: %s\n" % why), target)


@suite.test()
def test_a_reader_that_goes():
    """`call | head` ends without a word, as other filters do; what it started does not live on."""
    place = Place()
    run = '{"command":"setsid sleep 99 & seq 9999"}'
    options = ["--workspace", place.workspace, "--state-dir", place.state]
    for words in (["call", *options, "process.run", run], ["call", *options, "process_run", run],
                  ["call", *options, "--json", "rpc.discover"], ["doctor", *options],
                  ["doctor", "--json", *options], ["run", *options, "--json", "seq", "99999"]):
        done = subprocess.run(["bash", "-c", TO_NO_READER, "bash", server_path(), *words],
                              env=place.env, capture_output=True, timeout=WAIT, cwd=place.workspace)
        equal((done.returncode, done.stderr), (128 + signal.SIGPIPE, b""), "%s: status, stderr" % words)
        ours, reader = socket.socketpair()
        reader.close()
        done = subprocess.run([server_path(), *words], env=place.env, stdout=ours, stderr=subprocess.PIPE,
                              timeout=WAIT, cwd=place.workspace)
        ours.close()
        equal((done.returncode, done.stderr), (-signal.SIGPIPE, b""), "%s, to a socket: status, stderr" % words)
    place.nothing_left()


@suite.test()
def test_a_server_that_cannot_start():
    place = Place()
    status, out, err = place.call("--workspace", place.base + "/none", "agent.session")
    equal((status, out), (125, ""), "status, stdout")
    check("none" in err and "no answer. See what it says on stderr" in err, err)
    for stdio in ("0<&-", "2>&-", "0<&- 2>&-"):
        done = subprocess.run(["sh", "-c", "exec \"$@\" " + stdio, "sh", *place.argv("--json", "agent.session")],
                              env=place.env, stdout=subprocess.PIPE, timeout=WAIT)
        equal(done.returncode, 0, "status with " + stdio)
        check(json.loads(done.stdout)["workspace"], "answer with " + stdio)


@suite.test()
def test_too_few_descriptors():
    """Whatever cannot be opened, what helps is a higher limit, and nothing else is named."""
    place = Place()
    for limit in (3, 4, 6, 8):
        done = subprocess.run(place.argv("agent.session"), env=place.env, capture_output=True, text=True, timeout=WAIT,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
        equal((done.returncode, done.stdout), (125, ""), "%d: status, stdout" % limit)
        check("ulimit -n" in done.stderr and "mknod" not in done.stderr, "%d: %s" % (limit, done.stderr))


if __name__ == "__main__":
    suite.main()
