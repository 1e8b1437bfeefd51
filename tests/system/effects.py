#!/usr/bin/env python3
"""What a call does to the machine before it is allowed: nothing but its line in the audit log. Seen
by strace(1), between the read of the request and the write of its answer."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from client import WAIT, Server, Skip, check, equal, eventually
from suite import Suite

suite = Suite()

# Calls that start, make, change or remove something. Of open, only with O_CREAT or O_TMPFILE.
STARTS = ("clone", "clone3", "fork", "vfork", "execve", "execveat")
CHANGES = ("mkdir", "mkdirat", "mknod", "mknodat", "rmdir", "unlink", "unlinkat", "rename", "renameat",
           "renameat2", "link", "linkat", "symlink", "symlinkat", "truncate", "chmod", "fchmod",
           "fchmodat", "chown", "fchown", "lchown", "fchownat", "utimensat", "setxattr", "memfd_create",
           "mount", "umount2", "open_tree", "move_mount", "mount_setattr", "fsopen", "fsmount",
           "unshare", "setns", "pivot_root", "kill", "tkill", "tgkill", "pidfd_send_signal",
           "landlock_create_ruleset", "landlock_restrict_self", "seccomp")
OPENS = ("open", "openat", "openat2", "creat")
TALK = ("read", "write", "recvfrom", "sendto")
READS = ("pread64",)


def tracer(trace):
    strace = shutil.which("strace")
    if not strace:
        raise Skip("strace is not installed")
    words = [strace, "-f", "-qq", "-y", "-s", "4096", "-o", trace]
    if subprocess.run(words + ["true"], capture_output=True, timeout=WAIT).returncode:
        raise Skip("no process can be traced here")
    return words + ["-e", "trace=" + ",".join("?" + n for n in STARTS + CHANGES + OPENS + TALK + READS)]


def between(lines, request, answer, alone):
    """The calls of the trace between the read of @request and the write of @answer; @alone: only those
    of the server itself, not of its shims."""
    found, inside, server = [], False, None
    for line in lines:
        call = re.match(r"(\d+) +(\w+)\((.*)", line)
        if not call:
            continue
        pid, name, rest = call.groups()
        if name in ("read", "recvfrom") and request in rest:
            inside, server = True, pid
        elif name in ("write", "sendto") and answer in rest:
            return found
        elif inside and (not alone or pid == server):
            found.append((name, rest))
    check(inside, "the request is not in the trace: %s" % lines[-3:])
    check(False, "the answer is not in the trace: %s" % lines[-3:])


def effects(calls, state):
    """The calls among @calls that change anything but the audit log below @state."""
    audit = os.path.join(state, "audit")
    found = []
    for name, rest in calls:
        if name in READS:
            continue
        if name in TALK:
            own = name == "write" and (audit in rest.split(",")[0] or
                                       re.match(r"\d+<(pipe|socket|/dev/null|.*/stderr)", rest))
            if name == "write" and not own:
                found.append("%s(%s" % (name, rest[:120]))
        elif name in OPENS:
            if re.search(r"O_CREAT|O_TMPFILE", rest) or name == "creat":
                if audit + "/" not in rest:
                    found.append("%s(%s" % (name, rest[:120]))
        elif name == "seccomp" and "SECCOMP_GET_" in rest:
            continue  # a question to the kernel
        elif name not in ("mkdir", "mkdirat") or not made_for_audit(rest, audit):
            found.append("%s(%s" % (name, rest[:120]))
    return found


def made_for_audit(rest, audit):
    """mkdir(2) of the log's own directory, or of one above it."""
    path = re.search(r'"([^"]*)"', rest)
    return path and (audit + "/").startswith(path[1].rstrip("/") + "/")


def traced_calls(method, params, *options, before=None, follow=None, alone=False):
    """The answer to one call of a server with @options, the system calls until then, of the server
    @alone, and where its state is. @before, if any, makes the parameters from those given."""
    with tempfile.TemporaryDirectory(prefix="procpen-effects-") as scratch:
        trace = os.path.join(scratch, "trace")
        # What is made in a silence, such as that of a human who is asked, is no effect of the call.
        server = Server("--set", "sandbox.ahead=false", *options, wrapper=tracer(trace))
        server.ping()
        params = before(server, params) if before else params
        number = server.request(method, dict(params, intent="marked-call") if method == "process.run"
                                else params, id="marked-id")
        if follow:
            follow(server)
        message = server.answer(number)
        state = server.state
        server.close_input()
        server.wait_exit()
        with open(trace, encoding="utf-8", errors="replace") as f:
            lines = f.read().split("\n")
    if any(re.search(r" read\(\d+[^ ]*, 0x\w+, \d+\) += [1-9]", line) for line in lines):
        raise Skip("the server's memory is not dumpable: only root's strace can read it")
    return message, between(lines, '\\"id\\": \\"marked-id\\"', '\\"id\\":\\"marked-id\\"', alone), state


def traced(method, params, *options, **more):
    """The answer to one call of a server with @options, and what it did until then."""
    message, calls, state = traced_calls(method, params, *options, **more)
    return message, effects(calls, state)


def refuse_question(server):
    question = server.receive()
    while "method" in question and question["method"] != "capability.confirm":
        question = server.receive()
    server.send({"jsonrpc": "2.0", "id": question["id"], "result": {"allow": False}})


@suite.test()
def test_allowed_call():
    """The control: a call that runs clones, makes a directory, and all of that is seen."""
    message, found = traced("process.run", {"command": "true"})
    equal(message["result"]["exit_code"], 0, "exit code")
    names = {text.split("(")[0] for text in found}
    check(names & set(STARTS), "no start is seen: %s" % found)
    check(names & {"mkdir", "mkdirat"}, "no directory is seen: %s" % found)


def refused(kind, params, *options, **more):
    message, found = traced("process.run", params, *options, **more)
    equal(message.get("error", {}).get("data", {}).get("type"), kind, "answer %s" % json.dumps(message))
    equal(found, [], "effects of a call that is %s" % kind)


@suite.test()
def test_denied_by_tier():
    refused("PermissionDenied", {"command": "true"}, "--set", "tier.process.run=deny")
    asks = {"command": "cat", "stdin": "x", "background": True, "explain_denials": True,
            "memory_limit": 64 << 20, "cpu_limit": 0.5, "limits": {"nofile": 64}, "network": False,
            "environment": {"A": "b"}, "working_directory": "."}
    refused("PermissionDenied", asks, "--set", "tier.process.run=deny")
    if os.geteuid() == 0:
        refused("PermissionDenied", dict(asks, user="nobody"), "--set", "tier.process.run=deny",
                "--set", "sandbox.users=nobody")


def try_layers(server, params):
    """A question says where the command could write, so the layers are tried for the first one."""
    server.call("agent.session")
    return params


@suite.test()
def test_confirmation_refused():
    refused("PermissionDenied", {"command": "true"}, "--set", "tier.process.run=confirm",
            before=try_layers, follow=refuse_question)


@suite.test()
def test_blocked():
    refused("CommandBlocked", {"command": "rm", "args": ["-rf", "/"]})


@suite.test()
def test_cannot_be_resolved():
    for kind, params in (("CommandNotFound", {"command": "no-such-program-here", "args": []}),
                         ("PathOutOfScope", {"command": "true", "working_directory": "/"}),
                         ("ProtectedVariable", {"command": "true", "environment": {"LD_PRELOAD": "x"}}),
                         ("InvalidParams", {"command": "true", "timeout": 0})):
        refused(kind, params)


@suite.test()
def test_session():
    """agent.session reports the layers, so it tries them; if denied, it does not."""
    message, found = traced("agent.session", {})
    check("result" in message and found, "nothing is seen: %s" % found)
    message, found = traced("agent.session", {}, "--set", "tier.agent.session=deny")
    equal(message["error"]["data"]["type"], "PermissionDenied", "type")
    equal(found, [], "effects")


@suite.test()
def test_a_record_reads_each_file_once():
    """A wait for a line is answered with what the run does just then: each file that says so costs
    as much as the rest of the answer, more if it must be opened."""
    def start(server, params):
        run = server.run("cat", [], stdin_mode="pipe", background=True)
        params = dict(params, process_id=run["process_id"])
        # strace follows cat as well, and its start is long over when it waits.
        eventually(lambda: server.call("process.monitor", params)["waits_for_input"] is not False,
                   WAIT, "cat does not wait")
        return params

    message, calls, _ = traced_calls("process.monitor", {}, before=start, alone=True)
    equal(message["result"]["alive"], 1, "alive")
    equal([rest for name, rest in calls if name in OPENS and "/proc/" in rest], [], "opened again")
    looks = [re.search(r"<(/proc/[^>]*)>.*, 0\) +=", rest) for name, rest in calls if name in READS]
    read = [look[1] for look in looks if look]
    check(any(path.endswith("/syscall") for path in read), "the trace shows no look: %s" % read)
    equal([path for path in sorted(set(read)) if read.count(path) > 1], [], "read again")
    check(len(read) <= 8, "files of one shim and one process: %s" % read)


if __name__ == "__main__":
    suite.main()
