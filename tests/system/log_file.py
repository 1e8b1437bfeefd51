#!/usr/bin/env python3
"""The log file of a run: what is in it, what cannot be one, and who writes it."""
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import time

import client
from client import RpcError, check, equal, eventually, on_small_disk
from followed import Server
from suite import Skip, Suite

suite = Suite()
SMALL = ("--set", "log.head_bytes=4096", "--set", "log.tail_bytes=65536")


def status(pid, field):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return re.search(r"^%s:\s*(\S+)" % field, f.read(), re.M)[1]


def writers(server):
    """Pids of the writers of @server: children of its shims."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if status(int(name), "Name") == "procpen-log" and \
               int(status(int(status(int(name), "PPid")), "PPid")) == server.pid:
                found.append(int(name))
        except (OSError, TypeError):
            continue
    return found


def warned(result):
    """What the answer says of its log file."""
    return [text for text in result["warnings"] if text.startswith("log_file")]


def gone(server, pids=None):
    eventually(lambda: not [p for p in pids if client.is_alive(p)] if pids else not writers(server),
               client.WAIT, "a writer is left")


def content(server, *names):
    with open(os.path.join(server.workspace, *names), "rb") as f:
        return f.read()


def refused(server, path, kind, errno=None, **params):
    """@path cannot be a log file, and nothing runs. Returns the error."""
    error = None
    try:
        result = server.run("touch ran", log_file=path, **params)
        check(False, "%s was taken: %s" % (path, result))
    except RpcError as e:
        equal(e.type, kind, "%s: %s" % (path, e))
        error = e.error
        details = error["data"].get("details") or {}
        if errno:
            equal((details.get("stage"), details.get("errno")), ("log_file", errno), str(e))
    check(not os.path.exists(os.path.join(server.workspace, "ran")), "it ran: %s" % path)
    return error


@suite.test()
def test_both_streams():
    """The file has what process.logs has, in the order of arrival, all of a long output included."""
    server = Server()
    result = server.run("for i in $(seq 50); do echo o$i; echo e$i >&2; done", log_file="both")
    entries = server.logs(result["process_id"], stream="combined")["entries"]
    equal(content(server, "both").decode(), "".join(e["data"] for e in entries), "the file")
    equal(result["log_file"], os.path.join(os.path.realpath(server.workspace), "both"), "log_file")
    equal(result["log_file_bytes"], len(content(server, "both")), "log_file_bytes")
    result = server.run("seq 600000", log_file="long")
    equal(content(server, "long"), b"".join(b"%d\n" % i for i in range(1, 600001)), "a long file")
    equal((result["log_file_bytes"], warned(result)), (result["stdout_size"], []), "all")
    result = server.run("true", log_file="empty")
    equal((content(server, "empty"), result["log_file_bytes"]), (b"", 0), "an empty one")
    os.mkdir(os.path.join(server.workspace, "sub"))
    server.run("echo 1", log_file="x", working_directory="sub")
    server.run("echo 2", log_file=os.path.join(os.path.realpath(server.workspace), "sub", "x"))
    equal(content(server, "sub", "x"), b"1\n2\n", "relative, then absolute")
    server.run("echo 3", log_file="./sub//x", log_mode="truncate")
    equal(content(server, "sub", "x"), b"3\n", "truncated")
    gone(server)
    server.stop()


@suite.test()
def test_what_cannot_be_one():
    """Links on each component, further links, FIFO, device, socket, directory, outside, nothing."""
    server = Server()
    at = lambda *names: os.path.join(server.workspace, *names)
    os.makedirs(at("a", "b"))
    victim = os.path.join(server.base, "victim")
    for name in (victim, at("one")):
        with open(name, "w", encoding="utf-8") as f:
            f.write("there\n")
    os.link(at("one"), at("two"))
    os.mkfifo(at("fifo"))
    os.symlink("a", at("first"))
    os.symlink("b", at("a", "second"))
    os.symlink("new", at("a", "b", "third"))
    os.symlink(victim, at("out"))
    os.symlink("/proc/self/cwd", at("magic"))
    for path in ("first/b/x", "a/second/x", "a/b/third", "out", "magic/x"):
        for mode in ("append", "truncate"):
            refused(server, path, "SpawnFailed", "ELOOP", log_mode=mode)
    for path, errno in (("one", "EMLINK"), ("fifo", "EOPNOTSUPP"), ("a", "EISDIR"), (".", "EISDIR"),
                        ("a/", "EISDIR"), ("a/new/", "EISDIR"), ("one/x", "ENOTDIR"), ("none/x", "ENOENT"),
                        ("x" * 256, "ENAMETOOLONG")):
        refused(server, path, "SpawnFailed", errno, log_mode="truncate")
    for path in ("one/", "new/"):
        said = refused(server, path, "SpawnFailed", "EISDIR")["data"]["hint"]
        check("slash at the end" in said, said)
    for path in ("..", "../x", "a/../x", "a/..", "/dev/null", "/etc/passwd", victim, "/",
                 os.path.realpath(server.workspace) + "x/y",
                 os.path.realpath(server.workspace) + "/../victim"):
        refused(server, path, "PathOutOfScope")
    refused(server, "", "InvalidParams")
    refused(server, "x" * 4096, "InvalidParams")
    if os.geteuid() == 0:
        try:
            os.mknod(at("null"), 0o666 | 0o020000, os.makedev(1, 3))
            refused(server, "null", "SpawnFailed", "EOPNOTSUPP")
        except PermissionError:
            pass
    for name in (victim, at("one")):
        with open(name, encoding="utf-8") as f:
            equal(f.read(), "there\n", name)
    check(not os.path.exists(at("a", "b", "new")), "a link was followed")
    gone(server)
    server.stop()


@suite.test()
def test_refused_starts():
    """Where no run may start, the file stays as it is."""
    def server_with_file(*options):
        server = Server(*options)
        server.run("printf kept >kept")
        return server, server.run("sleep 600", background=True)["process_id"]

    server, _ = server_with_file("--set", "limits.running_processes=1")
    refused(server, "kept", "LimitReached", log_mode="truncate")
    equal(content(server, "kept"), b"kept", "as many runs as may be")
    server.stop()

    server, run = server_with_file()
    for _ in range(64):
        server.call("process.follow", {"process_id": run})
    refused(server, "kept", "LimitReached", log_mode="truncate", follow=True)
    equal(content(server, "kept"), b"kept", "as many follows as may be")
    server.stop()


@suite.test()
def test_truncates_as_it_begins():
    """Truncated is the file of a command that runs, with output or without; never that of one that
    cannot be executed."""
    server = Server()
    server.write_broken_program("bad")

    def held(name, **params):
        """The file @name holds something; then the run."""
        with open(os.path.join(server.workspace, name), "w", encoding="utf-8") as f:
            f.write("kept\n")
        return server.run(log_file=name, log_mode="truncate", **params)

    for params in ({"command": "./bad", "args": []}, {"command": "true", "args": ["x" * 131072]},
                   {"command": "./bad", "args": [], "background": True},
                   {"command": "./bad", "args": [], "tty": True}):
        try:
            check(False, str(held("kept", **params)))
        except RpcError as e:
            equal(e.type, "SpawnFailed", str(e))
        gone(server)
        equal(content(server, "kept"), b"kept\n", str(params)[:60])
    equal((held("none", command="true")["log_file_bytes"], content(server, "none")), (0, b""), "silent")
    equal((held("some", command="echo 1")["log_file_bytes"], content(server, "some")), (2, b"1\n"), "1")
    equal((held("fail", command="exit 3")["exit_code"], content(server, "fail")), (3, b""), "failed")
    held("lives", command="sleep 100", background=True)
    eventually(lambda: content(server, "lives") == b"", client.WAIT, "not while it lives")
    held("yields", command="sleep 100", yield_ms=1)
    eventually(lambda: content(server, "yields") == b"", client.WAIT, "not in the foreground")
    server.stop()


@suite.test()
def test_truncates_nothing_that_the_command_wrote():
    """A command may write to its log file itself before the server sees that it has begun."""
    server = Server()
    def wrote(held, command):
        with open(os.path.join(server.workspace, "x"), "w", encoding="utf-8") as f:
            f.write(held)
        os.utime(f.name, (1, 1))  # its time is that of another write, however coarse the clock is
        result = server.run(command, log_file="x", log_mode="truncate")
        return content(server, "x"), warned(result)

    equal(wrote("", "echo 1 >x"), (b"1\n", []), "an empty file")
    equal(wrote("held", "echo 1 >x")[0], b"1\n", "a short command")
    equal(wrote("0\n", "echo 1 >x")[0], b"1\n", "as many bytes as before")
    equal(wrote("held", "echo 1 >x; sleep 0.3; echo 2")[0], b"1\n2\n", "a longer one")
    eventually(lambda: "keeps" in str(wrote("held", "echo 1 >x")[1]), client.WAIT, "no warning")
    eventually(lambda: wrote("held", "echo 1 >>x")[0] == b"held1\n", client.WAIT, "not kept")
    server.stop()


@suite.test()
def test_untouched_before_it_begins():
    """A run that is cancelled while its program loads, and a server that dies then, leave the file."""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    for end in ("cancel", "kill"):
        server = Server(start=False)
        slow = os.path.join(server.workspace, "slow")
        shutil.copy(shutil.which("true"), slow)
        server.wrapper = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", slow, "-e", "trace=execve",
                          "-e", "inject=execve:error=EIO:delay_enter=2000000"]
        server.start()
        with open(os.path.join(server.workspace, "kept"), "w", encoding="utf-8") as f:
            f.write("kept\n")
        id = server.request("process.run", {"command": slow, "args": [], "log_file": "kept",
                                            "log_mode": "truncate"})
        eventually(lambda: server.call("process.list")["processes"], client.WAIT, "no start")
        if end == "cancel":
            server.notify("$/cancelRequest", {"id": id})
            server.answer(id)
        else:
            with open("/proc/%d/task/%d/children" % (server.pid, server.pid), encoding="utf-8") as f:
                os.kill(int(f.read()), signal.SIGKILL)  # strace's one child
            server.process.wait()
        equal(content(server, "kept"), b"kept\n", end)


@suite.test()
def test_rights_of_the_run():
    """Hidden and unwritable places stay so, and the file belongs to the user of the run."""
    server = Server()
    layers = server.run("true")["sandbox"]
    server.stop()
    if "mount_namespace" in layers:
        server = Server(start=False)
        secret = os.path.join(server.workspace, "secret")
        os.mkdir(secret)
        with open(os.path.join(secret, "there"), "w", encoding="utf-8"):
            pass
        server.args += ["--set", "sandbox.hide=" + secret]
        server.start()
        refused(server, "secret/there", "SpawnFailed")
        refused(server, "secret/new", "SpawnFailed")
        equal(os.listdir(secret), ["there"], "in the hidden directory")
        server.stop()
    if os.geteuid() != 0:
        raise Skip("only root can run commands as another user")
    server = Server("--set", "sandbox.users=nobody")
    os.chmod(server.base, 0o755)
    os.chmod(server.workspace, 0o777)
    os.mkdir(os.path.join(server.workspace, "roots"))
    os.chmod(os.path.join(server.workspace, "roots"), 0o755)
    server.run("echo 1", log_file="mine", user="nobody")
    equal(os.stat(os.path.join(server.workspace, "mine")).st_uid, 65534, "owner")
    refused(server, "roots/x", "SpawnFailed", "EACCES", user="nobody")
    server.run("echo 2", log_file="roots/x")
    refused(server, "roots/x", "SpawnFailed", "EACCES", user="nobody", log_mode="truncate")
    equal(content(server, "roots", "x"), b"2\n", "the file of root")
    server.stop()


def status_of(pid):
    with open("/proc/%s/status" % pid, encoding="utf-8") as f:
        return dict(re.findall(r"^(\w+):\s*(\S*)", f.read(), re.M))


@suite.test()
def test_capabilities_of_the_writer():
    """Those of root's commands: it is made without an exec, which would take the others away."""
    if os.geteuid() != 0:
        raise Skip("the server is not root")
    server = Server()
    server.run("sleep", ["100"], background=True, log_file="log")
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            status = status_of(pid)
            if status["Name"] == "procpen-log" and int(status_of(status["PPid"])["PPid"]) == server.pid:
                found.append(status)
    equal(len(found), 1, "writers")
    equal([found[0]["Cap" + name] for name in ("Prm", "Eff", "Inh", "Amb")],
          ["00000000200425eb"] * 2 + ["0" * 16] * 2, "capabilities")
    server.stop()


@suite.test()
def test_mode_of_a_new_file():
    """What the umask leaves of 666; also where no filter refuses a mode with more."""
    umask = os.umask(0)
    os.umask(umask)
    for options in ([], ["--set", "sandbox.profile=none"]):
        server = Server(*options)
        server.run("echo 1", log_file="new")
        equal(oct(os.stat(os.path.join(server.workspace, "new")).st_mode), oct(0o100666 & ~umask), "mode")
        server.stop()


@suite.test()
def test_writer_dies_with_its_shim():
    """Also where no init ends it and the server cannot look for what the shim has left."""
    server = Server("--set", "sandbox.namespaces=false")
    id, writer = with_stopped_writer(server, "true")
    shim = int(status_of(writer)["PPid"])
    server.signal(signal.SIGSTOP)
    os.kill(shim, signal.SIGKILL)
    gone(server, [writer])
    server.signal(signal.SIGCONT)
    go(server)
    check("killed from outside" in str(warned(server.result(id))), "the run")
    server.stop()


@suite.test()
def test_what_the_writer_holds():
    """The end of its pipe, the file, and its way to the server; no process of its user gets at them."""
    if os.geteuid() != 0:
        raise Skip("only root sees what it holds")
    server = Server("--set", "sandbox.namespaces=false", "--set", "sandbox.users=nobody")
    os.chmod(server.base, 0o755)
    os.chmod(server.workspace, 0o777)
    server.run("sleep", ["100"], background=True, log_file="log", user="nobody")
    [writer] = eventually(lambda: writers(server), client.WAIT, "no writer")
    folder = "/proc/%d/fd/" % writer
    held = [os.readlink(folder + str(fd)).split(":")[0] for fd in sorted(map(int, os.listdir(folder)))]
    log = os.path.join(os.path.realpath(server.workspace), "log")
    equal(held, ["pipe", log, "/dev/null", "socket"], "descriptors")
    equal((os.stat(log).st_uid, os.stat(folder).st_uid), (65534, 0), "whose they are")
    server.stop()


@suite.test()
def test_bound():
    """The file stops at log.file_bytes, whatever it held before; the run does not notice."""
    server = Server("--set", "log.file_bytes=1000")
    result = server.run("seq 1000", log_file="x")
    equal((result["exit_code"], result["log_file_bytes"]), (0, 1000), "the first run")
    check("1000 bytes (log.file_bytes)" in str(warned(result)), str(result))
    result = server.run("seq 10; seq 100000", log_file="x")
    equal((result["log_file_bytes"], len(content(server, "x"))), (0, 1000), "the second")
    equal(result["stdout_size"], 21 + 588895, "its output")
    result = server.run("seq 10", log_file="x", log_mode="truncate")
    equal((result["log_file_bytes"], warned(result)), (21, []), "truncated")
    server.stop()


@suite.test()
def test_bound_of_the_server():
    """The limit of file sizes that procpen was started with is not taken for the operator's option."""
    limit = 1 << 20  # the audit log needs some, too
    server = Server(preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    with open(os.path.join(server.workspace, "x"), "wb") as f:
        f.truncate(limit - 1000)
    result = server.run("seq 1000", log_file="x")
    equal((result["exit_code"], result["log_file_bytes"]), (0, 1000), "the run")
    equal(warned(result), ["log_file is not complete: writing it failed after 1000 bytes: "
                           "File too large (EFBIG)"], "its warning")
    server.stop()


@suite.test()
def test_size_that_cannot_be_read():
    """As on a network file system that is gone: it is not taken for the operator's limit."""
    server = Server(wrapper=[client.hostile_program("without"), "log_size"])
    result = server.run("echo x", log_file="x")
    equal((result["exit_code"], result["log_file_bytes"]), (0, 0), "the run")
    equal(warned(result), ["log_file is not complete: writing it failed after 0 bytes: "
                           "Input/output error (EIO)"], "its warning")
    server.stop()


@suite.test()
def test_full_disk():
    """A disk that gets full ends the file, not the run; the answer says how much was written."""
    server = on_small_disk(Server(start=False))
    result = server.run("head -c 8000000 /dev/zero", log_file="x")
    equal((result["exit_code"], result["stdout_size"]), (0, 8000000), "the run")
    check("ENOSPC" in str(warned(result)), str(result))
    size = int(server.run("stat -c %s x; rm x")["stdout_summary"])
    check(1 << 20 < size < 4 << 20, "%d bytes" % size)
    equal(result["log_file_bytes"], size, "log_file_bytes")
    server.stop()


@suite.test()
def test_replaced_while_written():
    """The file that was opened is written, not what has its name later."""
    server = Server()
    with open(os.path.join(server.workspace, "victim"), "w", encoding="utf-8") as f:
        f.write("there\n")
    server.run("echo 1; sleep 0.1; mv x old; ln -s victim x; echo 2", log_file="x")
    equal((content(server, "old"), content(server, "victim")), (b"1\n2\n", b"there\n"), "files")
    server.run("echo 1; rm y; echo 2", log_file="y")
    check(not os.path.exists(os.path.join(server.workspace, "y")), "it came back")
    server.run("echo 12345; until grep -q 12345 z; do sleep 0.01; done; : >z; echo 6", log_file="z")
    equal(content(server, "z"), b"6\n", "truncated by the run: no hole")
    server.stop()


@suite.test()
def test_slow_writer():
    """A writer that does not go on delays no output of the run; what is lost is marked."""
    server = Server(*SMALL)
    run = server.run("read x; seq 100000; sleep 0.3; echo end; read x", log_file="x", background=True,
                     stdin_mode="pipe")["process_id"]
    eventually(lambda: writers(server), client.WAIT, "no writer")
    [writer] = writers(server)
    os.kill(writer, signal.SIGSTOP)
    server.call("process.input", {"process_id": run, "data": "\n"})
    eventually(lambda: server.logs(run, tail_lines=1)["stdout"] == "end\n", client.WAIT, "no end")
    os.kill(writer, signal.SIGCONT)
    server.call("process.input", {"process_id": run, "data": "\n"})
    eventually(lambda: server.call("process.monitor", {"process_id": run})["state"] == "completed",
               client.WAIT, "it does not end")
    got = content(server, "x")
    result = server.call("process.monitor", {"process_id": run})
    equal(result["log_file_bytes"], len(got), "monitor")
    whole = b"".join(b"%d\n" % i for i in range(1, 100001)) + b"end\n"
    marks = re.findall(rb"\n\[procpen: (\d+) bytes of stdout are missing here: [^]]*\]\n", got)
    check(marks, "no mark in %d bytes" % len(got))
    kept = re.split(rb"\n\[procpen: [^]]*\]\n", got)
    equal(len(b"".join(kept)) + sum(map(int, marks)), len(whole), "what is there and what is not")
    [warning] = warned(result)
    check(" %d bytes of output were not kept " % sum(map(int, marks)) in warning, warning)
    check(whole.startswith(kept[0]) and whole.endswith(kept[-1]), "the parts")
    gone(server)
    server.stop()


@suite.test()
def test_stuck_writer():
    """One that never goes on is killed, and the answer says that the file is not known."""
    server = Server()
    def struck(number):
        """The answer about a run whose writer got this signal before there was output."""
        id = server.request("process.run", {"command": "until rm go 2>/dev/null; do sleep 0.02; done; seq 100000",
                                            "log_file": "x"})
        [writer] = eventually(lambda: writers(server), client.WAIT, "no writer")
        os.kill(writer, number)
        open(os.path.join(server.workspace, "go"), "w", encoding="utf-8").close()
        return server.result(id), writer

    result, writer = struck(signal.SIGSTOP)
    equal((result["exit_code"], result["log_file_bytes"]), (0, None), "the run")
    check("too slow" in str(warned(result)), str(result))
    gone(server, [writer])
    result, _ = struck(signal.SIGKILL)
    check("killed from outside" in str(warned(result)), str(result))
    server.stop()


def with_stopped_writer(server, command, **params):
    """Start a run whose writer is stopped; go() lets the run do what it is for."""
    command = "until rm go 2>/dev/null; do sleep 0.02; done; " + command
    id = server.request("process.run", dict(params, command=command, log_file="x"))
    [writer] = eventually(lambda: writers(server), client.WAIT, "no writer")
    os.kill(writer, signal.SIGSTOP)
    return id, writer


def go(server):
    open(os.path.join(server.workspace, "go"), "w", encoding="utf-8").close()


def await_last_bytes(server):
    """Until no process of the run is alive: then it waits for its file, or is over."""
    eventually(lambda: not any(row["alive"] for row in server.call("process.list")["processes"]),
               client.WAIT, "a process lives")


@suite.test()
def test_kill_before_the_last_bytes():
    """When the tree is gone and the file is not whole, process.kill says that the end comes."""
    server = Server()
    for number in ("TERM", "INT"):
        # A shell ignores SIGINT while it waits for a command, so wait until it has done so.
        id, writer = with_stopped_writer(server, "seq 100000; : >wrote; exec sleep 600", background=True)
        run = server.result(id)["process_id"]
        go(server)
        wrote = os.path.join(server.workspace, "wrote")
        eventually(lambda: os.path.exists(wrote), client.WAIT, "output")
        os.unlink(wrote)
        answer = server.call("process.kill", {"process_id": run, "signal": number, "wait_ms": 300})
        check(answer["killed"] or answer["pending"] or answer["alive"], str(answer))
        end = server.call("process.monitor", {"process_id": run, "wait_ms": 60000})
        equal((end["state"], end["reason"]), ("killed", "killed_by_request"), number)
        gone(server, [writer])
    server.stop()


@suite.test()
def test_late_server():
    """The time in which the server itself was stopped is not the writer's."""
    server = Server()
    # Longer than a writer may be stuck, and than it may take for all.
    for command, size, seconds in (("echo 1", 2, 1.5), ("seq 100000", 588895, 1.5), ("seq 100000", 588895, 5.5)):
        for _ in range(5):
            id, writer = with_stopped_writer(server, command, log_mode="truncate")
            began = time.monotonic()
            go(server)
            await_last_bytes(server)
            server.signal(signal.SIGSTOP)
            in_time = time.monotonic() - began < 0.9  # later, the server may have given the writer up
            with contextlib.suppress(ProcessLookupError):
                os.kill(writer, signal.SIGCONT)
            time.sleep(seconds)
            server.signal(signal.SIGCONT)
            result = server.result(id)
            if in_time:
                break
        else:
            raise Skip("this busy machine lets no server be stopped within a second")
        equal((result["log_file_bytes"], warned(result)), (size, []), command)
        equal(len(content(server, "x")), size, command)
    server.stop()


@suite.test()
def test_slow_disk_at_the_end():
    """A disk that takes little keeps back no answer about a run that is over."""
    server = Server()
    id, writer = with_stopped_writer(server, "seq 600000; exit 3")
    with client.traced([writer], "-e", "trace=write", "-e", "inject=write:delay_enter=400000"):
        os.kill(writer, signal.SIGCONT)
        go(server)
        await_last_bytes(server)
        server.signal(signal.SIGTERM)
        result = server.result(id)
        equal((result["state"], result["exit_code"]), ("completed", 3), "the run")
        check("too slow" in str(warned(result)), str(result))
        equal(server.wait_exit(), 0, "exit status")


@suite.test()
def test_end_in_a_hurry():
    """A second signal leaves the last bytes no time, but the run its result and its record."""
    server = Server()
    id, writer = with_stopped_writer(server, "seq 100000; exit 3")
    go(server)
    await_last_bytes(server)
    other = server.request("process.run", {"command": "sleep 600"})
    server.ping()
    server.signal(signal.SIGTERM)
    server.answer(other)  # the first signal is handled
    server.signal(signal.SIGTERM)
    result = server.result(id)
    equal((result["state"], result["exit_code"], result["log_file_bytes"]), ("completed", 3, None), "the run")
    check("too slow" in str(warned(result)), str(result))
    equal(server.wait_exit(), 0, "exit status")
    with open(server.audit_log(), encoding="utf-8") as f:
        ends = [line for line in map(json.loads, f) if line["event"] == "end"]
    equal([end["reason"] for end in ends if end["process_id"] == result["process_id"]], ["exited"], "on record")
    gone(server, [writer])


@suite.test()
def test_end_before_it_is_open():
    """A call whose file is still being opened is answered when it is cancelled and when the server ends,
    and nothing runs."""
    for how, kind in (("cancel", "Cancelled"), ("signal", "LimitReached"), ("eof", "LimitReached")):
        server = Server("--set", "server.eof_seconds=1")
        server.run("true")
        with client.slow_open(server, "slow"):
            id, again = [server.request("process.run", {"command": "touch ran", "log_file": "slow",
                                                        "idempotency_key": "k"}) for _ in range(2)]
            for _ in range(3):
                server.ping()
            if how == "cancel":
                for one in (again, id):
                    server.notify("$/cancelRequest", {"id": one})
            elif how == "signal":
                server.signal(signal.SIGTERM)
            else:
                server.close_input()
            for one in (id, again):
                error = server.answer(one)["error"]["data"]
                equal((error["type"], error["retryable"]), (kind, False), how)
            if how == "cancel":
                equal(server.run("echo 1", log_file="quick")["log_file_bytes"], 2, "the next one")
            else:
                server.wait_exit()  # a leak checker fails when it is traced
        if how == "cancel":
            server.stop()
        check(not os.path.exists(os.path.join(server.workspace, "ran")), "it ran: %s" % how)


@suite.test()
def test_ends():
    """A timeout, a kill and a cancellation keep what was written; the server takes its writers
    along, whatever ends it."""
    server = Server()
    result = server.run("echo 1; sleep 100", log_file="t", timeout=0.3)
    equal((result["state"], result["log_file_bytes"]), ("timed_out", result["stdout_size"]), "timeout")
    equal(content(server, "t"), b"1\n"[:result["stdout_size"]], "timeout")  # a busy machine: nothing
    run = server.run("echo 1; sleep 100", log_file="k", background=True)["process_id"]
    eventually(lambda: server.logs(run)["stdout"] == "1\n", client.WAIT, "no output")
    server.call("process.kill", {"process_id": run, "signal": "KILL"})
    equal(content(server, "k"), b"1\n", "killed")
    id = server.request("process.run", {"command": "sleep 100", "log_file": "c"})
    server.notify("$/cancelRequest", {"id": id})
    answer = server.answer(id)  # most often the file is not open yet
    check(answer["error"]["data"]["type"] == "Cancelled" if "error" in answer else
          answer["result"]["reason"] == "cancelled", "cancelled at once: %s" % answer)
    server.run("(sleep 100; echo late) & echo 1", log_file="l")
    equal(content(server, "l"), b"1\n", "of a run that leaves a process")
    gone(server)
    server.run("while :; do echo x; done", log_file="f", background=True)
    eventually(lambda: writers(server), client.WAIT, "no writer")
    pids = writers(server)
    server.process.kill()
    server.process.wait()
    gone(server, pids)
    server = Server()
    run = server.run("echo 1; sleep 100", log_file="x", background=True)["process_id"]
    eventually(lambda: server.logs(run)["stdout"] == "1\n", client.WAIT, "no output")
    pids = writers(server)
    server.stop()
    gone(server, pids)
    equal(content(server, "x"), b"1\n", "at the end of the session")


@suite.test()
def test_many():
    """As many runs as may be, each with a file, and calls between them."""
    server = Server()
    ids = [server.request("process.run", {"command": "seq 20000; echo %d >&2" % i,
                                          "log_file": "f%d" % i}) for i in range(64)]
    for _ in range(5):
        server.ping()
    for i, id in enumerate(ids):
        result = server.result(id)
        equal((result["log_file_bytes"], warned(result)),
              (108894 + len("%d\n" % i), []), str(result))
        equal(len(content(server, "f%d" % i)), result["log_file_bytes"], "size of a file")
    gone(server)
    server.stop()


@suite.test()
def test_beside_others():
    """With a key the file is written once; a follow of the same run misses nothing."""
    server = Server()
    params = {"command": "echo 1; sleep 0.3; echo 2", "log_file": "x", "idempotency_key": "k"}
    ids = [server.request("process.run", params) for _ in range(3)]
    results = [server.result(id) for id in ids]
    equal([r["replayed"] for r in results], [False, True, True], "replayed")
    equal({r["log_file_bytes"] for r in results}, {4}, "bytes")
    equal(content(server, "x"), b"1\n2\n", "written once")
    equal(server.run(**params)["log_file_bytes"], 4, "later")
    equal(server.run(**dict(params, log_mode="append"))["replayed"], True, "the default written out")
    try:
        server.run(**dict(params, log_mode="truncate"))
        check(False, "another request with the key")
    except RpcError as e:
        equal(e.type, "InvalidParams", str(e))
    refused(server, "none/x", "SpawnFailed", "ENOENT", idempotency_key="again")
    equal(server.run("echo 1", log_file="y", idempotency_key="again")["replayed"], False, "free")
    result = server.run("seq 50000", log_file="z", follow=True)
    data = "".join(n["params"].get("data", "") for n in server.notes)
    while len(data) < result["stdout_size"]:
        data += server.receive()["params"].get("data", "")
    equal(data.encode(), content(server, "z"), "the follow")
    server.stop()


if __name__ == "__main__":
    suite.main()
