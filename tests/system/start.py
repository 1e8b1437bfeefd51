#!/usr/bin/env python3
"""A server that could run no command refuses to start and says what to do about it."""
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile

from client import WAIT, Skip, check, equal, server_path
from suite import Suite

suite = Suite()
RUN = (b'{"jsonrpc":"2.0","id":1,"method":"process.run","params":{"command":"echo hi",'
       b'"memory_limit":100000000,"explain_denials":true,"stdin":"x"}}\n')
OTHER = 58741  # a user that no other test is: the kernel counts processes by user
# What is said to people names no part of a request.
FOR_MODELS = ("parameter", "call again", "Call ", "agent.session", "details.", "retry")

# A sanitizer cannot look for leaks without /proc or without a further process.
SANITIZER = (r"^==\d+==(WARNING: reading executable name|Can't open /proc/|LeakSanitizer (has|does)|"
             r"HINT: ).*\n")


class Place:
    """A workspace, a home and a state directory; other users can use the first two."""

    def __init__(self):
        self.base = tempfile.mkdtemp(prefix="procpen-start-")
        os.chmod(self.base, 0o755)
        self.workspace, self.home = (os.path.join(self.base, name) for name in ("ws", "home"))
        for path in (self.workspace, self.home):
            os.mkdir(path)
            os.chmod(path, 0o777)
        self.state = os.path.join(self.home, "state")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.base, ignore_errors=True)

    def start(self, *options, cwd=None, preexec=None, input=RUN, wrapper=(), close_fds=True,
              **environment):
        """(status, stdout, stderr) of a server that gets one request."""
        env = {"PATH": os.environ["PATH"], "HOME": self.home, **environment}
        done = subprocess.run([*wrapper, server_path(), "serve", *options], env=env, input=input,
                              cwd=cwd or self.workspace, capture_output=True, timeout=WAIT,
                              preexec_fn=preexec, close_fds=close_fds)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def refused(self, words, *options, **how):
        """It does not start, says why in one line for people that has @words; that line."""
        return self.check_refusal(self.start(*options, **how), words, *options)

    @staticmethod
    def check_refusal(result, words, *options):
        status, out, err = result
        equal((status, out), (1, ""), "%s: status, stdout: %s" % (options, err))
        err = re.sub(SANITIZER, "", err, flags=re.M)
        equal(err.count("\n"), 1, "lines in %r" % err)
        for word in ("cannot start: ", *words):
            check(word in err, "no %r in %r" % (word, err))
        for word in FOR_MODELS:
            check(word not in err, "%r is nothing for people: %r" % (word, err))
        return err


    def refuses_calls(self, words, *options, **how):
        """It starts, runs nothing, and says why in one line that has @words."""
        status, out, err = self.start(*options, **how)
        check(status == 0 and not ran(out) and "BadDirectory" in out, "%d %s %s" % (status, out, err))
        equal(err.count("\n"), 1, "lines in %r" % err)
        for word in ("no command can run: ", *words):
            check(word in err, "no %r in %r" % (word, err))


def is_root():
    return os.geteuid() == 0


def as_other(user=OTHER):
    if is_root() and not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    return ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", "--"] \
        if is_root() else []


def ran(out):
    return '"stdout_summary":"hi\\n"' in out


# ---------------------------------------------------------------- descriptors and processes

def limit(which, number):
    return lambda: resource.setrlimit(which, (number, number))


@suite.test()
def test_few_descriptors():
    """A server that starts can run a command; one that does not says how many descriptors it needs."""
    for wrapper in ([], as_other()):
        with Place() as place:
            refusals = 0
            for number in (4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 72):
                how = {"preexec": limit(resource.RLIMIT_NOFILE, number)}
                if wrapper and number < 8:
                    continue  # setpriv itself needs some
                status, out, err = place.start(**how, wrapper=wrapper)
                if status:
                    refusals += 1
                    place.refused(("%d" % number, "56", "ulimit -n"), wrapper=wrapper, **how)
                else:
                    check(ran(out), "%d descriptors: %s %s" % (number, out, err))
            check(4 < refusals < 22, "%d of 22 starts refused" % refusals)


@suite.test()
def test_descriptors_of_others_count():
    """The limit is high enough, but the server inherited many open files."""
    with Place() as place:
        def fill():
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
            for fd in range(3, 80):
                os.dup2(2, fd)

        place.refused(("100", "56", "ulimit -n"), preexec=fill, close_fds=False)


@suite.test()
def test_limit_on_file_sizes():
    """Below what output and the audit log may need, the server says what is lost."""
    with Place() as place:
        for limit, warned in ((65 << 20, False), ((65 << 20) - 1, True)):
            def lower():
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

            status, out, err = place.start(preexec=lower)
            check(status == 0 and ran(out), "%d: %s %s" % (status, out, err))
            equal("68157439" in err and "ulimit -f" in err and "68157440" in err, warned, err)
        status, out, err = place.start("--set", "audit.file_bytes=1M", "--set", "log.tail_bytes=64M", preexec=lower)
        check("134742016" in err, err)


@suite.test()
def test_no_proc():
    """Without /proc no kill is complete; the server says so when it starts."""
    if not is_root():
        raise Skip("root can mount over /proc")
    wrapper = ["unshare", "--mount", "--", "/bin/sh", "-c",
               'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode:
        raise Skip("no mount namespace can be made here")
    with Place() as place:
        place.refused(("/proc", "mount -t proc proc /proc"), wrapper=wrapper)


@suite.test()
def test_no_null_device():
    if not is_root():
        raise Skip("root can mount over /dev")
    wrapper = ["unshare", "--mount", "--", "/bin/sh", "-c",
               'mount -t tmpfs none /dev && exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode:
        raise Skip("no mount namespace can be made here")
    with Place() as place:
        place.refused(("/dev/null", "mknod -m 666 /dev/null c 1 3"), wrapper=wrapper)


@suite.test()
def test_few_processes():
    """A user at the process limit gets an error, unless the kernel does not enforce the limit."""
    if not is_root():
        raise Skip("all other processes of this user count, too")
    with Place() as place:
        for options in ([], ["--set", "sandbox.namespaces=false"]):
            refusals = 0
            for number in (0, 1, 2, 3, 4, 5, 6, 60, 400):
                wrapper = as_other() + ["prlimit", "--nproc=%d" % number]
                status, out, err = place.start(*options, wrapper=wrapper)
                if status:
                    refusals += 1
                    # Not tried again: processes of the last one may still count.
                    place.check_refusal((status, out, err),
                                        ("processes", "ulimit -u"), *options)
                else:
                    check(ran(out), "%d processes: %d %s %s" % (number, status, out, err))
            check(1 < refusals < 8, "%d of 9 starts refused" % refusals)


@suite.test()
def test_few_processes_pass():
    """What fails because the user has no process left is told as that, and may be tried again."""
    lines = "".join('{"jsonrpc":"2.0","id":%d,"method":"process.run","params":%s}\n' %
                    (n, ['{"command":"true"}', '{"command":"sleep .1","background":true}',
                         '{"command":"true","log_file":"x"}'][n % 3])
                    for n in range(120)).encode()
    failed = 0
    with Place() as place:
        for number in (4, 6, 8):
            # Shims of the last server that init has not collected count for their user.
            user = OTHER + os.getpid() % 10000 * 10 + number
            wrapper = as_other(user) + ["prlimit", "--nproc=%d" % number]
            _, out, _ = place.start(wrapper=wrapper, input=lines)
            for answer in map(json.loads, out.splitlines()):
                if "error" in answer:
                    failed += 1
                    check(answer["error"]["data"]["retryable"], "of %d: %s" % (number, answer))
                    check(not answer["error"]["message"].startswith("x "),  # the file is no program
                          "of %d: %s" % (number, answer))
    if not failed:
        raise Skip("the kernel does not enforce the limit here")


# ---------------------------------------------------------------- stdin and stdout

@suite.test()
def test_no_protocol():
    """A closed or useless end is named, and how a server is tried by hand."""
    with Place() as place:
        env = {"PATH": os.environ["PATH"], "HOME": place.home}
        for how, word in (("<&-", "stdin"), (">&-", "stdout"), ("</dev/null >&-", "stdout"),
                          ("<&- >&-", "stdin"), ("0>/dev/null", "stdin"), ("1</dev/null", "stdout"),
                          ("</", "stdin is a directory")):
            done = subprocess.run(["/bin/sh", "-c", '"$0" serve ' + how, server_path()], env=env,
                                  capture_output=True, cwd=place.workspace, timeout=WAIT)
            err = done.stderr.decode()
            equal((done.returncode, done.stdout), (1, b""), "%s: status, stdout: %s" % (how, err))
            check("cannot start: " in err and word in err and "procpen call" not in err and
                  "| procpen serve" in err, "%s: %r" % (how, err))
            for model in FOR_MODELS:
                check(model not in err, "%s: %r" % (how, err))
        done = subprocess.run(["/bin/sh", "-c", '"$0" serve 2>&-', server_path()], env=env,
                              input=RUN, capture_output=True, cwd=place.workspace, timeout=WAIT)
        check(done.returncode == 0 and ran(done.stdout.decode()), "stderr closed: %s" % done)


# ---------------------------------------------------------------- workspace and state directory

@suite.test()
def test_home_that_does_not_exist():
    """Nothing is made in its place, by root least of all."""
    with Place() as place:
        gone = os.path.join(place.base, "nonexistent")
        for wrapper in ([], as_other()):
            err = place.refused((gone, "does not exist", "--state-dir"), HOME=gone, wrapper=wrapper)
            equal("--state-dir /var/lib/procpen." in err, is_root() and not wrapper, err)
            for words in (["run", "--", "true"], ["doctor"]):
                done = subprocess.run([*wrapper, server_path(), *words], cwd=place.workspace,
                                      env={"PATH": os.environ["PATH"], "HOME": gone},
                                      capture_output=True, timeout=WAIT)
                text = (done.stdout + done.stderr).decode()
                check(done.returncode in (1, 125) and "--state-dir" in text, "%s: %s" % (words, done))
            check(not os.path.exists(gone), "%s was made" % gone)
        status, out, err = place.start("--state-dir", place.state, HOME=gone)
        check(status == 0 and ran(out), "with --state-dir: %s %s" % (out, err))
        status, out, err = place.start(HOME=gone, XDG_STATE_HOME=place.home + "/xdg")
        check(status == 0 and ran(out), "with XDG_STATE_HOME: %s %s" % (out, err))


@suite.test()
def test_workspace_too_wide():
    """One message, with the option as it must be typed."""
    with Place() as place:
        place.refuses_calls((place.home, "the home", "--workspace %s/PROJECT" % place.home),
                            "--state-dir", place.base + "/records", cwd=place.home)
        place.refuses_calls(("/", "whole file system", "--workspace /path/to/PROJECT"),
                            "--state-dir", place.base + "/records", cwd="/")
        err = place.refused((place.home, "audit log", "--state-dir",
                             "--workspace %s/PROJECT" % place.home), "--workspace", place.home)
        equal("--state-dir /var/lib/procpen;" in err, is_root(), err)
        place.refused(("audit log", "narrower workspace: --workspace DIR"), "--workspace", "/")
        check(not os.listdir(place.home), "made in the home: %s" % os.listdir(place.home))


@suite.test()
def test_one_in_the_other():
    """A workspace in the state directory, and the state directory in a workspace."""
    with Place() as place:
        for inner in ("", "ws", "audit/ws", "tmp"):
            path = os.path.join(place.state, inner).rstrip("/")
            os.makedirs(path, exist_ok=True)
            for options in (["--workspace", path],
                            ["--workspace", place.workspace, "--allow-dir", path]):
                place.refused((path, place.state, "--state-dir", "--workspace"),
                              "--state-dir", place.state, *options)
        place.refused((place.workspace, "audit log", "--state-dir"), "--state-dir",
                      place.workspace + "/s")
        other = place.base + "/other"
        os.mkdir(other)
        place.refused(("(--allow-dir: %s)" % other, "audit log"), "--state-dir", other + "/s",
                      "--allow-dir", other)


@suite.test()
def test_state_directory_in_shared_memory():
    """There commands may write, below a link to it too; nothing is made."""
    with Place() as place:
        shared = "/dev/shm/" + os.path.basename(place.base)
        os.symlink("/dev/shm", place.base + "/link")
        for state in (shared, shared + "/a/b", place.base + "/link/" + os.path.basename(shared)):
            place.refused((state, "/dev/shm", "audit log", "--state-dir"), "--state-dir", state)
        place.refused(("/dev/shm", "--state-dir"), XDG_STATE_HOME=shared)
        check(not os.path.exists(shared), "%s was made" % shared)


@suite.test()
def test_no_such_workspace():
    with Place() as place:
        file = os.path.join(place.base, "file")
        with open(file, "w", encoding="utf-8"):
            pass
        for path in (place.base + "/gone", file):
            place.refused((path, "Name a directory that exists", "--workspace"), "--workspace", path)
            place.refused((path, "CLAUDE_PROJECT_DIR"), CLAUDE_PROJECT_DIR=path)
            place.refused((path, "--allow-dir DIR"), "--allow-dir", path)
        gone = os.path.join(place.base, "cwd")
        os.mkdir(gone)
        script = 'cd "$0" && rmdir "$0" && exec "$@"'
        place.refuses_calls(("was removed", "--workspace /path/to/PROJECT"), "--state-dir",
                            place.state, wrapper=["/bin/sh", "-c", script, gone])


@suite.test()
def test_workspace_that_cannot_be_entered():
    with Place() as place:
        shut = os.path.join(place.base, "shut")
        os.mkdir(shut, 0o600)
        if is_root():
            os.chown(shut, OTHER, OTHER)
        place.refused((shut, "cannot be entered", "chmod", "--workspace"), "--workspace", shut,
                      wrapper=as_other())


@suite.test()
def test_workspace_that_cannot_be_written():
    """May be wanted, for looking only: the server says so, and starts."""
    with Place() as place:
        os.chmod(place.workspace, 0o555)
        status, out, err = place.start("--state-dir", place.state, wrapper=as_other())
        check(status == 0 and ran(out), "%s %s" % (out, err))
        check("commands cannot write in %s: " % place.workspace in err and "EACCES" in err, err)
        os.chmod(place.workspace, 0o777)
        status, out, err = place.start("--state-dir", place.state, wrapper=as_other())
        check(status == 0 and ran(out) and "warning" not in err, "%s %s" % (out, err))


@suite.test()
def test_record_that_cannot_be_written():
    """Told at the start; it may be repaired until something runs."""
    with Place() as place:
        os.chmod(place.home, 0o555)
        status, out, err = place.start(wrapper=as_other())
        check(status == 0 and not ran(out), "%s %s" % (out, err))
        for word in ("audit log", place.home + ": ", "EACCES", "--state-dir DIR"):
            check(word in err, "no %r in %r" % (word, err))
        _, _, err = place.start("--set", "audit.required=false", wrapper=as_other())
        check("audit log" not in err.splitlines()[0], "it is not required: %s" % err)
    with Place() as place:
        os.mkdir(place.state)
        os.chmod(place.state, 0o777)
        open(os.path.join(place.state, "audit"), "w").close()
        status, out, err = place.start("--state-dir", place.state, wrapper=as_other())
        check(status == 0 and not ran(out), "%s %s" % (out, err))
        check("audit log cannot be written: %s/audit: " % place.state in err and "ENOTDIR" in err, err)


@suite.test()
def test_no_temporary_directory_of_the_system():
    """/tmp is not needed: commands have one of their own."""
    if not is_root():
        raise Skip("root can mount over /tmp")
    wrapper = ["unshare", "--mount", "--", "/bin/sh", "-c",
               'mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode:
        raise Skip("no mount namespace can be made here")
    base = tempfile.mkdtemp(prefix="procpen-start-", dir="/var/tmp")
    try:
        done = subprocess.run([*wrapper, os.path.abspath(server_path()), "serve", "--workspace", base,
                               "--state-dir", "/var/tmp/%s-state" % os.path.basename(base)],
                              env={"PATH": os.environ["PATH"], "HOME": base}, cwd=base,
                              capture_output=True, input=RUN, timeout=WAIT)
        check(done.returncode == 0 and ran(done.stdout.decode()), str(done))
    finally:
        shutil.rmtree(base)
        shutil.rmtree("/var/tmp/%s-state" % os.path.basename(base), ignore_errors=True)


if __name__ == "__main__":
    suite.main()
