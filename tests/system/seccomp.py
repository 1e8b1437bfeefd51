#!/usr/bin/env python3
"""The system call filter in real runs: each door is first seen open without it, then shut with it,
and with explain_denials it is the filter that says so and not some other layer."""
import errno
import os
import platform
import re

from client import ROOT, WAIT, Server, Skip, check, equal, eventually
from suite import Suite

suite = Suite()
NONE = ("--set", "sandbox.profile=none")
STRICT = ("--set", "sandbox.profile=strict")
SHARED = ("--set", "sandbox.namespaces=false")  # commands see the server's pid


def numbers():
    """Number of each call by name, as the golden file lists them."""
    if platform.machine() != "x86_64":
        raise Skip("the numbers in this test are of x86_64")
    text = (ROOT / "tests" / "golden" / "seccomp-default.txt").read_text()
    return {m[2]: int(m[1]) for m in re.finditer(r"^ *(\d+) (\w+) ", text, re.M)}


def calls(server, texts, **params):
    """Errno of each call ("name:arg:arg"; "xN:name:…" N times), and the whole result."""
    table = numbers()

    def with_number(text):
        parts = text.split(":")
        at = 1 if re.match(r"x\d+$", parts[0]) else 0
        parts[at] = str(table.get(parts[at], parts[at]))
        return ":".join(parts)
    result = server.run(server.hostile_path("calls"), [with_number(t) for t in texts], **params)
    return [int(line) for line in result["stdout_summary"].split()], result


def denied(result):
    return {d["name"]: (d["count"], d["error"]) for d in result.get("denied_calls", [])}


def refused(server, texts, error=errno.EPERM, **params):
    """All of them are refused, and by the filter."""
    got, result = calls(server, texts, explain_denials=True, **params)
    equal(dict(zip(texts, got)), {t: error for t in texts}, "with the filter")
    want = {}
    for text in texts:
        name = text.split(":")[0]
        want[name] = (want.get(name, (0,))[0] + 1, errno.errorcode[error])
    equal(denied(result), want, "what the filter tells")
    return result


def reach_the_kernel(server, texts, not_as=(errno.EPERM,)):
    """The filter refuses none: the kernel executes it or rejects the arguments."""
    got, _ = calls(server, texts)
    for text, error in zip(texts, got):
        check(error not in not_as, "%s without the filter: %s" % (text, errno.errorcode.get(error)))


# Every argument here makes the call harmless or senseless where it is not refused.
DEFAULT = ["clone:0x10000000", "unshare:0", "setns:-1:0", "mount:0:0:0:0xc0ed0000:0", "keyctl:0:-3:0",
           "open_tree:-1:0:0", "fsopen:0:0", "io_uring_setup:0:0", "userfaultfd:0xffff", "bpf:999:0:0",
           "add_key:0:0:0:0:0", "ustat:0:0", "sysfs:3", "perf_event_open:0:0:-1:-1:0",
           "open_by_handle_at:-1:0:0", "listns:0:0:0:0", "ioctl:0:0x5412:0", "ioctl:0:0x541c:0",
           "ioctl:0:0x5423:0", "ioctl:0:0x100005412:0"]
STRICT_ONLY = ["ptrace:99:0", "process_vm_readv:0:0:0:0:0:0", "process_vm_writev:0:0:0:0:0:0", "kcmp:0:0:99",
               "process_madvise:-1:0:0:0", "pidfd_getfd:-1:-1:0", "name_to_handle_at:-1:0:0:0:0",
               "fanotify_mark:-1:0:0:0:0", "modify_ldt:99:0:0", "adjtimex:0", "vmsplice:-1:0:0:0",
               "msgget:1:0", "semget:1:0:0", "shmget:1:0:0", "mq_open:0:0:0:0", "personality:0x40000"]


@suite.test()
def test_default_refuses():
    open_server = Server(*NONE)
    # The kernel refuses some of these to an ordinary user anyway.
    got, _ = calls(open_server, DEFAULT)
    reached = [text for text, error in zip(DEFAULT, got)
               if error not in (errno.EPERM, errno.ENOSYS)]
    check(len(reached) >= 8, "open without the filter: only %s" % reached)
    open_server.stop()
    server = Server()
    refused(server, reached)
    got, _ = calls(server, DEFAULT)
    equal(set(got), {errno.EPERM}, "without a listener")
    server.stop()


@suite.test()
def test_strict_refuses_more():
    server = Server()
    reach_the_kernel(server, STRICT_ONLY)
    server.stop()
    server = Server(*STRICT)
    refused(server, STRICT_ONLY)
    got, _ = calls(server, ["personality:0xffffffff", "personality:0"])
    equal(got, [0, 0], "harmless personalities")
    server.stop()


@suite.test()
def test_sockets():
    """Families; tools that have no network give up at once with this errno."""
    rare = ["socket:38:5:0", "socket:16:3:0", "socket:2:1:0", "socket:10:1:0", "socketpair:2:1:0:0",
            "socket:0x100000002:1:0"]
    server = Server(*SHARED)
    got, _ = calls(server, ["socket:2:1:0", "socket:10:1:0", "socket:16:3:0", "socket:1:1:0"])
    equal(got, [0, 0, 0, 0], "with a network")
    refused(server, ["socket:38:5:0", "socket:40:1:0", "socket:16:2:11"], errno.EAFNOSUPPORT)
    refused(server, rare, errno.EAFNOSUPPORT, network=False)
    got, _ = calls(server, ["socket:1:1:0"], network=False)
    equal(got, [0], "a local socket")
    server.stop()
    server = Server(*STRICT, *SHARED)
    refused(server, rare, errno.EAFNOSUPPORT)
    server.stop()


def doors(server):
    pid, group = server.pid, os.getpgid(server.pid)
    # prlimit64 of any other process, such as this one: it may be the shim of another run
    return ["prlimit64:%d:7:0:0" % os.getpid()] + [
        text.replace("S", str(pid)).replace("G", str(group)) for text in (
        "kill:S:0", "kill:-1:0", "kill:-G:0", "kill:P:0", "tkill:S:0", "tgkill:S:S:0",
        "rt_sigqueueinfo:S:0:0", "rt_tgsigqueueinfo:S:S:0:0", "prlimit64:S:7:0:0",
        "prlimit64:P:7:0:0", "setpriority:0:S:0", "setpriority:1:G:0", "setpriority:2:54321:0",
        "ioprio_set:1:S:0", "ioprio_set:3:54321:0", "sched_setparam:S:0", "sched_setscheduler:S:99:0",
        "sched_setattr:S:0:0", "sched_setaffinity:S:0:0", "process_vm_readv:S:0:0:0:0:0",
        "process_vm_writev:S:0:0:0:0:0", "pidfd_open:S:0", "pidfd_open:P:0", "ptrace:99:S:0:0",
        "fcntl:0:8:S", "fcntl:0:8:-G", "fcntl:0:15:0", "ioctl:0:0x8901:0", "ioctl:0:0x8902:0")]


def in_a_group_of_its_own(*args):
    """A server whose process group is not this test's."""
    return Server(*args, preexec=lambda: os.setpgid(0, 0))


@suite.test()
def test_doors_to_the_server():
    open_server = in_a_group_of_its_own(*NONE, *SHARED)
    reach_the_kernel(open_server, doors(open_server))
    got, _ = calls(open_server, ["pidfd_send_signal:-1:0:0:0"])
    equal(got, [errno.EBADF], "pidfd_send_signal without the filter")
    open_server.stop()
    for profile in ((), STRICT):
        server = in_a_group_of_its_own(*profile, *SHARED)
        refused(server, doors(server))
        # one that another filter rule does not cover: others are reached as before
        own = os.getpriority(os.PRIO_PROCESS, 0)  # to better it takes privilege
        got, _ = calls(server, ["kill:0:0", "prlimit64:0:7:0:0", "setpriority:0:0:%d" % own,
                                "fcntl:0:8:0", "pidfd_send_signal:-1:0:0:0"])
        equal(got, [0, 0, 0, 0, errno.ENOSYS], "oneself")
        check(server.ping() >= 0, "the server lives")
        server.stop()


@suite.test()
def test_signals_to_server_and_shim():
    """SIGKILL to the server, its group, the shim and -1 ends no process."""
    shell = "for p in $PPID %d -%d -1; do kill -9 $p; done; kill -STOP %d; echo alive"
    server = in_a_group_of_its_own(*SHARED)
    # In a file, because the blocklist refuses such words.
    with open(os.path.join(server.workspace, "signals.sh"), "w", encoding="utf-8") as f:
        f.write(shell % (server.pid, server.pid, server.pid))
    result = server.run("/bin/sh", ["signals.sh"], explain_denials=True)
    equal((result["state"], result["stdout_summary"]), ("completed", "alive\n"), "the run")
    equal(denied(result)["kill"], (5, "EPERM"), "refused")
    equal(server.run("echo on")["stdout_summary"], "on\n", "the next run")
    server.stop()
    victim = in_a_group_of_its_own(*NONE, *SHARED)
    victim.request("process.run", {"command": "kill -9 %d" % victim.pid})
    equal(victim.process.wait(20), -9, "without the filter")


@suite.test()
def test_signal_through_a_directory_of_proc():
    """pidfd_send_signal(2) takes one for a process."""
    script = ("import ctypes,os;c=ctypes.CDLL(None,use_errno=True);"
              "d=os.open('/proc/%d',os.O_RDONLY);r=c.syscall(424,d,0,0,0);print(r,ctypes.get_errno())")
    for options, want in ((NONE, "0 0\n"), ((), "-1 %d\n" % errno.ENOSYS)):
        server = Server(*options, *SHARED)
        result = server.run("/usr/bin/python3", ["-c", script % server.pid])
        equal(result["stdout_summary"], want, "with %s" % (options,))
        server.stop()


# ---- explain_denials

@suite.test()
def test_explained():
    server = Server()
    _, result = calls(server, ["x3:mount", "unshare:0", "getpid", "clone3:0:0"],
                      explain_denials=True)
    equal(denied(result), {"mount": (3, "EPERM"), "unshare": (1, "EPERM")}, "denied_calls")
    for text in ("the sandbox refused mount (3 times): EPERM", "the sandbox refused unshare (1 time): EPERM"):
        check(text in result["warnings"], "%s is not in %s" % (text, result["warnings"]))
    _, result = calls(server, ["mount"])
    check("denied_calls" not in result, "nobody asked")
    equal(result["warnings"], [], "nobody asked")
    _, result = calls(server, ["getpid"], explain_denials=True)
    equal((result["denied_calls"], result["warnings"]), ([], []), "nothing was refused")
    server.stop()


@suite.test()
def test_explained_in_background():
    server = Server()
    table = numbers()
    started = server.run(server.hostile_path("calls"), [str(table["mount"])], background=True,
                         explain_denials=True)
    ended = server.call("process.monitor", {"process_id": started["process_id"], "wait_ms": 15000})
    equal(denied(ended), {"mount": (1, "EPERM")}, "process.monitor")
    server.stop()


@suite.test()
def test_explained_descendants():
    """Every process of the tree, after every exec, has the same filter."""
    server = Server()
    program, nr = server.hostile_path("calls"), numbers()["mount"]
    result = server.run("for i in 1 2 3 4; do (setsid %s %d & %s %d; wait); done"
                        % (program, nr, program, nr), explain_denials=True)
    equal(denied(result)["mount"], (8, "EPERM"), "of eight processes")
    server.stop()


@suite.test()
def test_flood_of_denials():
    """Refused calls delay no other request, and every one is counted."""
    server = Server()
    waiting = server.request("process.run", {
        "command": server.hostile_path("calls"), "args": ["x1600:%d" % numbers()["mount"]],
        "explain_denials": True})
    for _ in range(20):
        server.ping()
    equal(denied(server.result(waiting))["mount"], (1600, "EPERM"), "counted")
    equal(server.run("echo on")["stdout_summary"], "on\n", "the next run")
    server.stop()


@suite.test()
def test_flood_is_killed_at_timeout():
    """A process that waits for an answer dies like any other."""
    server = Server()
    for timeout in (1, 5, 20):  # a busy machine may not have got as far as the first call
        result = server.run(server.hostile_path("calls"), ["x100000000:%d" % numbers()["mount"]],
                            explain_denials=True, timeout=timeout)
        if denied(result):
            break
    equal((result["state"], result["survivors"]), ("timed_out", 0), "the end")
    check(denied(result)["mount"][0] > 0, "counted")
    server.stop()


@suite.test()
def test_more_calls_than_names():
    """32 different calls by name, the rest as a number."""
    got = [name for name, verdict in re.findall(
        r"^ *\d+ (\w+) +(\w+)$", (ROOT / "tests/golden/seccomp-strict.txt").read_text(), re.M)
        if verdict == "EPERM"]
    check(len(got) > 40, "calls that are refused")
    server = Server(*STRICT)
    _, result = calls(server, got[:40], explain_denials=True)
    equal(len(result["denied_calls"]), 32, "by name")
    check("the sandbox refused other calls 8 times" in result["warnings"], "%s" % result["warnings"][-2:])
    server.stop()


def check_unknown_death(result, denied_calls, warning):
    """Anybody can send SIGSYS, so it alone is not the sandbox's."""
    equal((result["reason"], result["signal"]), ("signaled", "SIGSYS"), "the end")
    equal(result.get("denied_calls"), denied_calls, "denied calls")
    check(any(warning in w for w in result["warnings"]), "%s" % result["warnings"])


@suite.test()
def test_died_of_a_foreign_call():
    """Another architecture's call kills; a listener knows its name."""
    numbers()
    server = Server()
    program = server.hostile_path("calls")
    open_server = Server(*NONE)
    result = open_server.run(open_server.hostile_path("calls"), ["i386:20"])
    if result["signal"] == "SIGSEGV":
        raise Skip("this kernel has no i386 calls")
    equal((result["state"], result["stdout_summary"]), ("completed", "0\n"), "without the filter")
    open_server.stop()
    for args, name in ((["i386:20"], "i386 getpid"), ([str(0x40000000 + 39)], "x32 getpid")):
        result = server.run(program, args)
        check_unknown_death(result, None, "only explain_denials can tell")
        result = server.run(program, args, explain_denials=True)
        equal((result["reason"], result["signal"]), ("seccomp", "SIGSYS"), "the end, with a listener")
        equal(result["denied_calls"], [{"name": name, "count": 1, "error": "SIGSYS"}], "its name")
        result = server.run("trap '' SYS; %s %s" % (program, args[0]), explain_denials=True)
        equal((result["exit_code"], result["stdout_summary"]), (0, "%d\n" % errno.ENOSYS),
              "one who ignores SIGSYS is refused all the same")
    server.stop()


@suite.test()
def test_died_of_its_own_filter():
    numbers()
    server = Server()
    program = server.hostile_path("calls")
    check_unknown_death(server.run(program, ["self-filter"]), None, "only explain_denials can tell")
    check_unknown_death(server.run(program, ["self-filter"], explain_denials=True), [],
                        "not by this sandbox")
    server.stop()


@suite.test()
def test_no_filter_to_explain():
    server = Server(*NONE)
    result = server.run("true", explain_denials=True)
    check("denied_calls" not in result, "denied_calls")
    check(any("cannot be named" in w for w in result["warnings"]), "%s" % result["warnings"])
    result = server.run("kill -SYS $$")
    equal((result["reason"], result["signal"]), ("signaled", "SIGSYS"), "no filter can have sent it")
    check("denied_calls" not in result, "denied_calls")
    check(not any("SIGSYS" in w for w in result["warnings"]), "%s" % result["warnings"])
    server.stop()


@suite.test()
def test_listener_goes_no_further():
    """Neither the command nor the shim can answer, and the server closes it at the end."""
    server = Server()
    fds = "/proc/%d/fd" % server.pid

    def is_listener(fd):
        try:
            return "seccomp notify" in os.readlink(os.path.join(fds, fd))
        except FileNotFoundError:
            return False  # closed meanwhile

    def listeners():
        return sum(is_listener(fd) for fd in os.listdir(fds))
    result = server.run("ls -l /proc/self/fd | grep -c seccomp", explain_denials=True)
    equal(result["stdout_summary"], "0\n", "of the command")
    try:
        os.readlink(os.path.join(fds, "0"))
    except PermissionError:
        raise Skip("only a root that may trace sees the server's descriptors")
    started = server.run("sleep 60", background=True, explain_denials=True)
    equal(listeners(), 1, "while it runs")
    server.call("process.kill", {"process_id": started["process_id"], "signal": "KILL"})
    eventually(lambda: listeners() == 0, WAIT, "the listener stays open")
    server.stop()


if __name__ == "__main__":
    suite.main()
