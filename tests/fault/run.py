#!/usr/bin/env python3
"""Makes the Nth system call of each kind fail, in the server, its shims and its commands.

Whatever fails, the server must not hang, not die of a signal, leave no process behind, answer
each request at most once (and all of them, unless it exits), and never run a command without
its filter, or, where the machine has both, with neither of the two layers that keep it from writing
outside the workspace: the commands of the session write NoNewPrivs and Seccomp from /proc/self/status
into a file, and try to make a file beside the workspace. Anything but 1 and 2, and a file there, is a
failure. The commands are not asked whether that write failed: a bash whose rt_sigprocmask(2) fails
can lose the exit status of its child, and takes it for 0.

strace(1) does the injection; its count is kept for each process on its own, so that one run
hits the Nth call of every process. A first run without faults counts the calls. Short form: a
few N for each call, spread over all; STRESS=1: every N.

strace stops only the calls that it is to see (--seccomp-bpf), which takes a third of the time. It sets
NoNewPrivs and a filter for that, which every process inherits; so a command must have one filter more
than that, and strace must have seen each shim set NoNewPrivs, which its commands inherit.

  run.py [CALL[:ERRNO[:N]] ...]    only these
"""
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "system"))

from client import STRESS, Failure, Server, Skip, check, equal, open_servers, server_path

# Which error each call is given; the first one is used in the short form. A call that is made
# to fail is not made at all: close(2), which frees its descriptor even then, is not in here.
FAULTS = """
    openat EMFILE ENOMEM        openat2 EMFILE ENOSYS EPERM
    pipe2 EMFILE ENFILE         socketpair EMFILE             eventfd2 EMFILE
    memfd_create EMFILE ENOSYS  ftruncate ENOSPC              fallocate ENOSPC
    mmap ENOMEM                 mprotect ENOMEM               brk ENOMEM
    clone EAGAIN ENOMEM         clone3 ENOSYS EAGAIN          fork EAGAIN
    vfork EAGAIN                execve ENOMEM EACCES          execveat ENOMEM ENOENT ENOSYS
    read EIO EINTR              write EIO EINTR ENOSPC        pwrite64 ENOSPC
    pread64 EIO                 splice ENOMEM EINVAL EINTR    lseek ESPIPE
    fcntl EMFILE EINVAL         dup2 EMFILE                   dup3 EMFILE
    close_range ENOSYS          seccomp EINVAL ENOMEM EPERM   prctl EINVAL EPERM
    setsid EPERM                fchdir EACCES                 prlimit64 EPERM
    rt_sigaction EINVAL         rt_sigprocmask EINVAL         wait4 EINTR
    waitid EINTR                kill EPERM                    pidfd_open ENOSYS
    sendto ENOBUFS EPIPE        sendmsg ENOBUFS               recvfrom ECONNRESET EINTR
    recvmsg ECONNRESET EINTR    epoll_create1 EMFILE          epoll_ctl ENOMEM ENOSPC
    epoll_wait EINTR            epoll_pwait EINTR             poll EINTR
    getdents64 EIO              newfstatat EACCES             statx EACCES
    readlink EACCES             readlinkat EACCES             mkdir EACCES
    fchmod EPERM                getrandom ENOSYS              ppoll EINTR
    mount EPERM ENOSPC ENOMEM   umount2 EBUSY                 mount_setattr EPERM ENOMEM
    open_tree EPERM ENFILE      move_mount EPERM ENOSPC       fsopen EPERM ENODEV
    fsmount EPERM               setns EPERM                   ioctl EIO
    landlock_create_ruleset EOPNOTSUPP ENOMEM                 landlock_add_rule ENOMEM EINVAL
    landlock_restrict_self EPERM E2BIG
"""
MCP = "io.modelcontextprotocol/"
SHORT_COUNT = 2   # values of N for each call in the short form
ANSWER_WAIT = EXIT_WAIT = 120.0
AT_A_TIME = 6     # sessions, which wait most of the time
STATUS = ("(echo >>../outside-%s) 2>/dev/null; "
          "grep -E '^(NoNewPrivs|Seccomp|Seccomp_filters):' /proc/self/status >>status-%s; echo ran; ")
both_layers = True  # set by the session without faults
# With these a process confines itself: strace's own filter must not hide what they leave open.
CONFINING_CALLS = ("prctl", "seccomp")
# The dynamic loader makes these before main(), and dies when they fail.
LOADER_CALLS = ("mmap", "mprotect", "brk")


def faults():
    """{call: [errno, ...]}"""
    found = {}
    for word in FAULTS.split():
        if word.islower():
            current = found.setdefault(word, [])
        elif word[0] == "E":
            current.append(word)
        else:
            current = found.setdefault(word, [])
    return found


class Session:
    """The same little session every time, with what must hold at its end."""

    def __init__(self, strace_args, call=None, filtered=False):
        """@filtered: with strace's own seccomp filter, and a trace of prctl."""
        self.call = call
        self.filtered = filtered
        if filtered:
            strace_args = ["--seccomp-bpf"] + strace_args
        self.trace = tempfile.NamedTemporaryFile(prefix="procpen-trace-")
        self.server = Server("--set", "tier.agent.session=confirm",
                             "--set", "server.eof_seconds=1", start=False,
                             wrapper=["strace", "-f", "-qq", "-o", self.trace.name]
                             + strace_args)
        self.answers = collections.Counter()
        self.messages = {}
        self.sent = []

    def play(self):
        server = self.server
        try:
            server.start()
            self.requests()
            server.close_input()
            status = server.wait_exit(EXIT_WAIT)
            self.take(0)
            self.judge(status)
        finally:
            left = self.clean_up()
        check(not left, "left behind: %s" % ", ".join(left))

    def clean_up(self):
        complaints = self.server.destroy()
        open_servers.remove(self.server)
        return complaints

    def ask(self, method, params):
        id = self.server.request(method, params)
        self.sent.append(id)
        return id

    def take(self, timeout):
        message = self.server.receive(timeout)
        if isinstance(message, dict) and "method" not in message:
            self.answers[message["id"]] += 1
            self.messages[message["id"]] = message
        return message

    def answer(self, id):
        """The answer to @id; None when the server has gone instead."""
        end = time.monotonic() + ANSWER_WAIT
        while id not in self.messages:
            if self.take(max(0.0, end - time.monotonic())) is None:
                if self.server.eof_seen or self.server.write_failed:
                    return None
                raise Failure("hangs: no answer to request %d" % id)
        return self.messages[id]

    def process_id(self, answer):
        return ((answer or {}).get("result") or {}).get("process_id", "none")

    def requests(self):
        shell, argv, wait, tty = (STATUS % (n, n) for n in ("shell", "argv", "wait", "tty"))
        run = self.ask("process.run", {"command": shell + "cat", "stdin": "x" * 100})
        first = self.answer(run)
        self.answer(self.ask("process.run", {"command": "sh", "args": ["-c", argv + "exit 3"]}))
        self.answer(self.ask("process.run", {"command": tty + "tty; stty size", "tty": True}))
        job = self.answer(self.ask("process.run", {
            "command": wait + "(setsid sleep 30 &) ; exec sleep 30", "background": True}))
        late = self.ask("process.run", {"command": "echo part; sleep 30 & sleep 30",
                                        "timeout": 0.2})
        self.answer(self.ask("process.logs", {"process_id": self.process_id(first)}))
        self.answer(late)
        self.answer(self.ask("process.kill", {"process_id": self.process_id(job),
                                              "force_after": 1}))
        self.answer(self.ask("process.list", {}))
        self.mcp_requests()
        self.ask("process.run", {"command": "sleep 30"})
        self.server.flush()

    def call_tool(self, name, arguments, **params):
        meta = {MCP + "protocolVersion": "2026-07-28", MCP + "clientCapabilities": {
            "elicitation": {}, "extensions": {MCP + "tasks": {}}}, "progressToken": name}
        answer = self.answer(self.ask("tools/call", dict(
            params, name=name, arguments=arguments, _meta=meta)))
        return (answer or {}).get("result") or {}

    def mcp_requests(self):
        """A task that is watched, and an approval: without one nothing of the session is shown."""
        task = self.call_tool("process_run", {"command": "echo out; sleep 30", "background": True})
        self.ask("subscriptions/listen", {
            "notifications": {"taskIds": [task.get("taskId", "none")]},
            "_meta": {MCP + "protocolVersion": "2026-07-28", MCP + "clientCapabilities": {
                "extensions": {MCP + "tasks": {}}}}})
        asked = self.call_tool("agent_session", {})
        check(asked.get("isError") or "dev.procpen/result" not in asked.get("_meta", {}),
              "shown without approval")
        yes = {"confirm": {"action": "accept", "content": {"allow": True}}}
        if asked.get("requestState"):
            self.call_tool("agent_session", {}, requestState=asked["requestState"],
                           inputResponses=yes)

    def judge(self, status):
        if status < 0 and not self.answers and self.call in LOADER_CALLS:
            return
        if "libev: " in self.server.stderr_text():
            raise Skip("libev asserts that this call works")
        check(0 <= status < 128, "ended by signal or with status %s: %.300s"
              % (status, self.server.stderr_text()[-300:]))
        while self.server.inbox:
            self.take(0)
        for id, count in self.answers.items():
            check(count == 1, "request %s was answered %d times" % (id, count))
            check(id in self.sent, "an answer to nothing: %s" % id)
        if status == 0 and not self.server.write_failed and not self.output_failed():
            missing = [id for id in self.sent if id not in self.answers]
            check(not missing, "exit 0, and requests %s were never answered" % missing)
        self.judge_status_files()

    def output_failed(self):
        """The fault hit the client's own streams: for the server the client was gone. strace writes a
        call in two parts where another process comes in between."""
        return re.search(r"\b(write|read|fcntl|poll)(\(| resumed>).*\(INJECTED\)",
                         self.traced()) is not None

    def traced(self):
        with open(self.trace.name) as f:
            return f.read()

    def judge_status_files(self):
        """A machine with one of the two layers lacks both when that one fails, and says so: a gap."""
        wanted = ("NoNewPrivs:1", "Seccomp:2", "Seccomp_filters:%d" % (1 + self.filtered))
        written = [n for n in os.listdir(self.server.base) if n.startswith("outside-")]
        check(not written or not both_layers, "written outside the workspace: %s" % written)
        ran = [n for n in os.listdir(self.server.workspace) if n.startswith("status-")]
        for name in ran:
            with open(os.path.join(self.server.workspace, name)) as f:
                for line in f.read().replace("\t", "").splitlines():
                    check(line in wanted, "%s ran half-sandboxed: %s" % (name, line))
        if self.filtered:
            def callers(of):
                return set(re.findall(r"^(\d+) +prctl\(" + of, self.traced(), re.M))

            shims = callers('PR_SET_NAME, "procpen-shim"')
            check(shims or not ran, "%d commands ran, and no shim" % len(ran))
            equal(shims - callers("PR_SET_NO_NEW_PRIVS, 1"), set(), "shims without NoNewPrivs")


def count_calls():
    """The most calls of each kind that one process makes in a session without faults."""
    global both_layers
    session = Session(["-e", "trace=all"])
    session.play()
    both_layers = any({"mount_namespace", "landlock"} <= {layer.split(":")[0] for layer in
                                                         (m.get("result") or {}).get("sandbox", ())}
                      for m in session.messages.values())
    counts = collections.Counter()
    with open(session.trace.name) as f:
        for line in f:
            m = re.match(r"(\d+) +(\w+)\(", line)
            if m:
                counts[m[1], m[2]] += 1
    most = collections.Counter()
    for (_, call), count in counts.items():
        most[call] = max(most[call], count)
    return most


def cases(most, words):
    """(call, errno, n) of this run."""
    for call, errors in faults().items():
        if call not in most:
            continue
        total = most[call] + 2
        for error in errors if STRESS or words else errors[:1]:
            if STRESS or words:
                numbers = range(1, total + 1)
            else:
                step = max(1, total // SHORT_COUNT)
                numbers = sorted({1, 2} | set(range(step, total + 1, step)))[:SHORT_COUNT + 2]
            for n in numbers:
                name = "%s:%s:%d" % (call, error, n)
                if not words or any((name + ":").startswith(w + ":") for w in words):
                    yield call, error, n


def run_case(case):
    call, error, n = case
    # brk(2) does not return an error: its result is lower than what was asked for.
    result = "retval=0" if call == "brk" else "error=" + error
    filtered = FILTERS and call not in CONFINING_CALLS
    session = Session(["-e", "trace=%s%s" % (call, ",prctl" if filtered else ""), "-e",
                       "inject=%s:%s:when=%d" % (call, result, n)], call, filtered)
    try:
        session.play()
    except Skip as e:
        return case, "SKIP", str(e)
    except Exception as e:
        return case, "FAIL", "%s: %s" % (type(e).__name__, e)
    return case, "ok", ""


def can_filter():
    """Has strace --seccomp-bpf, and the kernel a count of the filters of a process?"""
    done = subprocess.run(["strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e",
                           "trace=prctl", "cat", "/proc/self/status"], capture_output=True)
    return done.returncode == 0 and b"\nSeccomp_filters:\t1\n" in done.stdout


FILTERS = can_filter()


def can_trace():
    if not shutil.which("strace"):
        return "strace is not installed"
    done = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", "-e",
                           "inject=chdir:error=EPERM:when=1", "true"], capture_output=True)
    return None if done.returncode == 0 else "strace cannot trace here"


def finish(passed, failed, skipped):
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(1 if failed else 0)


def main():
    if not os.access(server_path(), os.X_OK):
        print("FAIL  %s is missing: run make first" % server_path())
        finish(0, 1, 0)
    reason = can_trace()
    if reason:
        print("SKIP  fault injection: " + reason)
        finish(0, 0, 1)
    most = count_calls()
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for case, outcome, text in pool.map(run_case, cases(most, sys.argv[1:])):
            counts[outcome] += 1
            if text:
                print("%-5s %s:%s:%d: %s" % (outcome, *case, text), flush=True)
    finish(counts["ok"], counts["FAIL"], counts["SKIP"])


if __name__ == "__main__":
    main()
