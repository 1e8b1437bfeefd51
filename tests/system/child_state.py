#!/usr/bin/env python3
"""What a command inherits: three descriptors, default signals, a session of its own, no secrets."""
import json
import os
import re
import resource
import signal
import subprocess

from client import MODES, Server, Skip, check, equal
from suite import Suite

suite = Suite()


def state(server, **params):
    return json.loads(server.hostile("state", **params)["stdout_summary"])


@suite.test()
def test_descriptors():
    """Only 0, 1, 2, also while other runs hold pipes."""
    server = Server()
    for _ in range(5):
        server.run("sleep 30", background=True)
    got = state(server)
    equal(sorted(got["fds"]), ["0", "1", "2"], "descriptors %s" % got["fds"])
    equal(got["fds"]["0"], "/dev/null", "stdin")
    check(got["fds"]["1"].startswith("pipe:") and got["fds"]["2"].startswith("pipe:") and
          got["fds"]["1"] != got["fds"]["2"], "stdout and stderr: %s" % got["fds"])
    got = state(server, stdin="x")
    equal(sorted(got["fds"]), ["0", "1", "2"], "descriptors with stdin")
    server.stop()


# Prints what the last run left on the open file of stdin, and leaves something there.
MARK_STDIN = """
import fcntl, os
print(fcntl.fcntl(0, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND), fcntl.fcntl(0, fcntl.F_GETOWN))
fcntl.flock(0, fcntl.LOCK_EX | fcntl.LOCK_NB)
fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
"""


@suite.test()
def test_stdin_is_of_one_run():
    """Flags, owner and locks belong to the open file, which no other run has, in any shim."""
    for options in MODES.values():
        server = Server(*options)
        for _ in range(4):
            got = server.run(command="/usr/bin/python3", args=["-c", MARK_STDIN])
            equal((got["stdout_summary"], got["exit_code"]), ("0 0\n", 0), str(got))
        server.stop()


@suite.test()
def test_inherited_descriptors_go_no_further():
    """A host that leaks descriptors into the server does not leak them into commands."""
    server = Server(wrapper=["sh", "-c", 'exec "$@" 7</dev/null 8</dev/null 9>/dev/null', "sh"])
    equal(sorted(state(server)["fds"]), ["0", "1", "2"], "descriptors")
    server.stop()


@suite.test()
def test_signals():
    """Default dispositions and an empty mask, whatever the host had set."""
    def host():
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD,
                       signal.SIGUSR1, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGWINCH,
                                                  signal.SIGQUIT])
    # The second demand makes the server start a process before it serves.
    for preexec, demand in ((None, ()), (host, ()), (None, ("--set", "sandbox.network=false"))):
        server = Server(*demand, preexec=preexec)
        got = state(server)
        equal(got["blocked"], [], "blocked signals")
        equal(got["not_default"], [], "signals without their default disposition")
        server.stop()


# nice, class and timer slack of a command, without the start of a shell that could change them.
SCHEDULING = "import os; print(os.nice(0), os.sched_getscheduler(0), open('/proc/self/timerslack_ns').read())"


@suite.test()
def test_scheduling():
    """A shim may come before the command; the command has what the server was started with."""
    user = ["setpriv", "--reuid", "4242", "--regid", "4242", "--clear-groups", "--"]
    tried = 0
    for wrapper in (["nice", "-n", "1"], ["chrt", "-b", "0"], ["nice", "-n", "1", "chrt", "-i", "0"],
                    ["chrt", "-f", "2"], ["chrt", "-r", "2"], ["chrt", "-f", "2", *user]):
        own = subprocess.run([*wrapper, "/usr/bin/python3", "-c", SCHEDULING], capture_output=True)
        if own.returncode:
            continue  # not permitted here
        server = Server(wrapper=wrapper, start=False)
        if user[0] in wrapper:
            for path in (server.base, server.workspace, server.home):
                os.chown(path, 4242, 4242)
        server.start()
        for _ in range(2):  # of one shim
            text = server.run("/usr/bin/python3", ["-c", SCHEDULING])["stdout_summary"]
            equal(text, own.stdout.decode(), "nice, class and timer slack under %s" % wrapper)
        tried += 1
        server.stop()
    check(tried, "nothing could be tried")


# All that a process inherits and can read of itself.
ATTRIBUTES = """
import ctypes, fcntl, os, platform, resource
c = ctypes.CDLL(None)
number, flag = {"x86_64": (252, 315), "aarch64": (31, 275)}[platform.machine()]
attributes = ctypes.create_string_buffer(56)
c.syscall(flag, 0, attributes, 56, 0)
print("sched_attr", attributes.raw.hex(), "ioprio", c.syscall(number, 1, 0))
print("nice", os.nice(0), "slack", c.prctl(30), "processors", sorted(os.sched_getaffinity(0)))
print("limits", [resource.getrlimit(n) for n in range(16)])
print("session", os.getsid(0) == os.getpid(), "group", os.getpgrp() == os.getpid())
print("dumpable", c.prctl(3), "keeps capabilities", c.prctl(7), "secure bits", c.prctl(27))
print("bounding", [c.prctl(23, n) for n in range(41)])
print("ambient", [c.prctl(47, 1, n, 0, 0) for n in range(41)])
for fd in range(3):
    print(fd, fcntl.fcntl(fd, fcntl.F_GETFD), fcntl.fcntl(fd, fcntl.F_GETFL))
print(os.getcwd(), sorted(n for n in os.environ if n != "_"), sorted(os.listdir("/proc/self/fd")))
for name in ("oom_score_adj", "coredump_filter", "timerslack_ns", "personality", "comm"):
    with open("/proc/self/" + name) as f:
        print(name, f.read())
with open("/proc/self/status") as f:
    for line in f:
        if line.startswith(("Umask", "Uid", "Gid", "Groups", "Threads", "SigB", "SigI", "SigC", "Cap", "NoNew",
                            "Seccomp:", "Speculation", "Cpus", "Mems", "TracerPid")):
            print(line)
"""


@suite.test()
def test_of_each_command_of_a_shim():
    """The first, the second and a late one have what the command of a shim that serves one has."""
    show = {"stdout_lines": 1000, "max_output_bytes": 65536}
    for options in ([], ["--set", "sandbox.network=false"], ["--set", "sandbox.profile=strict"],
                    ["--set", "sandbox.namespaces=false"], ["--set", "sandbox.profile=none"]):
        server = Server(*options, "--set", "sandbox.ahead=false")
        base = server.base
        want = server.run("/usr/bin/python3", ["-c", ATTRIBUTES], **show)
        equal((want["exit_code"], want["stdout_truncated"]), (0, False), want["stderr_summary"])
        server.stop()
        server = Server(*options)
        for n in range(50):
            if n in (0, 1, 49):
                got = server.run("/usr/bin/python3", ["-c", ATTRIBUTES], **show)["stdout_summary"]
                differ = set(got.replace(server.base, base).splitlines()).symmetric_difference(
                    want["stdout_summary"].splitlines())
                equal(differ, set(), "command %d with %s" % (n + 1, options))
            else:
                server.run("true")
        server.stop()


@suite.test()
def test_session():
    server = Server()
    got = state(server)
    equal((got["sid"], got["pgid"]), (got["pid"], got["pid"]), "session and group")
    equal(got["tty"], 0, "a controlling terminal")
    check(got["pid"] != server.pid, "pid")
    other = state(server)
    # Where each run has a PID namespace of its own, both may have the same number.
    check(other["sid"] != got["sid"] or got["pid"] < 10, "two runs in one session")
    server.stop()


@suite.test()
def test_umask():
    server = Server(preexec=lambda: os.umask(0o077))
    equal(state(server)["umask"], 0o022, "default umask")
    server.stop()
    server = Server("--set", "process.umask=027")
    equal(state(server)["umask"], 0o027, "umask of the operator")
    server.stop()


@suite.test()
def test_rlimits():
    """The server raises its own descriptor limit; commands get the host's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(512, hard)

    def host():
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    server = Server(preexec=host)
    limits = state(server)["rlimits"]
    equal(limits["nofile"], [wanted, hard], "nofile")
    with open("/proc/%d/limits" % server.pid) as f:
        for line in f:
            if line.startswith("Max open files"):
                equal(int(line.split()[3]), hard, "the server's own soft limit")
    own = {"cpu": resource.RLIMIT_CPU, "as": resource.RLIMIT_AS, "fsize": resource.RLIMIT_FSIZE,
           "stack": resource.RLIMIT_STACK}
    for name, number in own.items():
        equal(limits[name], list(resource.getrlimit(number)), name)
    server.stop()


@suite.test()
def test_sandbox_flags():
    server = Server()
    for params in ({}, {"stdin": "x"}):
        got = state(server, **params)
        equal((got["no_new_privs"], got["seccomp"]), (1, 2), "no_new_privs, seccomp")
    shell = server.run("%s state" % server.hostile_path())
    got = json.loads(shell["stdout_summary"])
    equal((got["no_new_privs"], got["seccomp"]), (1, 2), "through the shell")
    server.stop()


ORDINARY = ["setpriv", "--reuid", "4242", "--regid", "4242", "--clear-groups"]
ROOTS = "00000000200425eb"  # of those that root's commands keep


@suite.test()
def test_capabilities():
    """None is in a set from which an exec could take it, but for root's own few."""
    none, tried, mode = "0" * 16, 0, os.environ.get("PROCPEN_TEST_MODE", "")
    given = [*ORDINARY, "--inh-caps=+net_raw", "--ambient-caps=+net_raw", "--"]
    for wrapper in ([], [*ORDINARY, "--"], given):
        if wrapper and subprocess.run([*wrapper, "true"], capture_output=True).returncode:
            continue  # not permitted here
        own = ROOTS if not wrapper and os.geteuid() == 0 else none
        for options in ([], ["sandbox.ahead=false"], ["sandbox.namespaces=false"], ["sandbox.network=false"]):
            if wrapper is given and "sandbox.namespaces=false" in MODES[mode] + options:
                continue  # without a user namespace the layer is for root
            server = Server(*(w for o in options for w in ("--set", o)), wrapper=wrapper, start=False)
            for path in (server.base, server.workspace, server.home) if wrapper else ():
                os.chown(path, 4242, 4242)
            server.start()
            for _ in range(2):  # of one shim
                text = server.run("grep ^Cap /proc/self/status")["stdout_summary"]
                sets = dict(re.findall(r"^Cap(\w+):\s*(\w+)$", text, re.M))
                equal([sets[name] for name in ("Inh", "Prm", "Eff", "Amb")], [none, own, own, none],
                      "with %s and %s" % (wrapper, options))
            tried += 1
            server.stop()
    check(tried, "nothing could be tried")


@suite.test()
def test_memory_of_the_machine():
    """When it runs out the kernel takes a command before the server."""
    with open("/proc/self/oom_score_adj", encoding="utf-8") as f:
        own = f.read().strip()
    for options in ([], ["--set", "sandbox.ahead=false"], ["--set", "sandbox.profile=none"]):
        server = Server(*options)
        for _ in range(3):
            equal(server.run("cat", ["/proc/self/oom_score_adj"])["stdout_summary"].strip(), "500",
                  "of a command, %s" % options)
        with open("/proc/%d/oom_score_adj" % server.pid, encoding="utf-8") as f:
            equal(f.read().strip(), own, "of the server")
        server.stop()


@suite.test()
def test_environment():
    secrets = {"OPENAI_API_KEY": "sk-1", "AWS_SECRET_ACCESS_KEY": "x", "SSH_AUTH_SOCK": "/s",
               "LD_LIBRARY_PATH": "/nowhere", "XDG_STATE_HOME": "/tmp/nowhere", "IFS": "x",
               "PROCPEN_WORKSPACE": "/nowhere", "MAIL": "x"}
    server = Server(env=secrets)
    text = server.run("env", ["-0"])["stdout_summary"]
    names = dict(item.split("=", 1) for item in text.split("\0") if item)
    allowed = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TERM", "TMPDIR",
               "TMUX_TMPDIR", "SCREENDIR", "XDG_CACHE_HOME", "npm_config_cache",
               "CHROME_CONFIG_HOME"}
    extra = {n for n in names if n not in allowed and not n.startswith("LC_")}
    equal(extra, set(), "variables that no operator allowed")
    equal((names["HOME"], names["SHELL"], names["LANG"]),
          (server.home, server.call("agent.session")["shell"], "C.UTF-8"),
          "base")
    with_request = server.run("env", ["-0"], environment={"LC_ALL": "C", "OPENAI_API_KEY": "mine"})
    text = with_request["stdout_summary"]
    check("OPENAI_API_KEY=mine\0" in text and "LC_ALL=C\0" in text, "of the request: %r" % text)
    server.stop()


@suite.test()
def test_arguments_are_not_the_shims():
    """Nobody finds a command twice, nor what it was given in what watches it."""
    server = Server()
    for how in ({}, {"explain_denials": True}): # the latter gets a shim of its own
        run = server.run("sleep", ["300.25"], background=True, env={"GIVEN": "hunter2"}, **how)
        with open("/proc/%d/status" % run["pid"], encoding="utf-8") as f:
            shim = int(re.search(r"^PPid:\s*(\d+)$", f.read(), re.M)[1])
        with open("/proc/%d/cmdline" % shim, "rb") as f:
            equal(f.read().rstrip(b"\0"), b"procpen-shim", "what the shim is called with")
        try:
            with open("/proc/%d/environ" % shim, "rb") as f:
                check(b"hunter2" not in f.read(), "the shim has the command's environment")
        except PermissionError: # the shim is not dumpable: only root sees that
            check(os.getuid() != 0, "root may not look")
    server.stop()


@suite.test()
def test_bare_host_environment():
    """A host that passes almost nothing: commands still find their programs."""
    server = Server(start=False)
    server.env = {k: v for k, v in server.env.items() if k.endswith("SAN_OPTIONS")}
    server.start()
    answer = server.run("ls / >/dev/null && echo $HOME:$TERM")
    equal(answer["stdout_summary"], "/:dumb\n", "answer")
    server.stop()


@suite.test()
def test_identity_and_directory():
    server = Server()
    got = state(server)
    equal((got["uid"], got["cwd"]), (os.getuid(), os.path.realpath(server.workspace)), "uid, cwd")
    server.stop()


@suite.test()
def test_nothing_printed_into_the_protocol():
    """Descriptors 0 and 1 of the server itself are no longer the client's."""
    server = Server()
    server.run("true")
    try:
        stdin = os.readlink("/proc/%d/fd/0" % server.pid)
    except PermissionError:
        raise Skip("the server is not dumpable: only a root that may trace sees its descriptors")
    equal(stdin, "/dev/null", "fd 0 of the server")
    equal(os.readlink("/proc/%d/fd/1" % server.pid), os.readlink("/proc/%d/fd/2" % server.pid),
          "fd 1 of the server")
    server.stop()


if __name__ == "__main__":
    suite.main()
