#!/usr/bin/env python3
"""What keeps a server from running any command is told when it starts, with what to do about it."""
import fcntl
import json
import os
import resource
import shutil
import stat
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
        status, out, err = self.start(*options, **how)
        equal((status, out), (1, ""), "%s: status, stdout: %s" % (options, err))
        equal(err.count("\n"), 1, "lines in %r" % err)
        for word in ("cannot start: ", *words):
            check(word in err, "no %r in %r" % (word, err))
        for word in FOR_MODELS:
            check(word not in err, "%r is nothing for people: %r" % (word, err))
        return err


def is_root():
    return os.geteuid() == 0


def as_other():
    if is_root() and not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    return ["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups", "--"] \
        if is_root() else []


def ran(out):
    return '"stdout_summary":"hi\\n"' in out


# ---------------------------------------------------------------- descriptors and processes

def limit(which, number):
    return lambda: resource.setrlimit(which, (number, number))


@suite.test()
def test_few_descriptors():
    """Whoever starts can run a command; whoever does not says how many descriptors that takes."""
    for wrapper in ([], as_other()):
        with Place() as place:
            refusals = 0
            for number in (4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 64):
                how = {"preexec": limit(resource.RLIMIT_NOFILE, number)}
                if wrapper and number < 8:
                    continue  # setpriv itself needs some
                status, out, err = place.start(**how, wrapper=wrapper)
                if status:
                    refusals += 1
                    place.refused(("%d" % number, "48", "ulimit -n"), wrapper=wrapper, **how)
                else:
                    check(ran(out), "%d descriptors: %s %s" % (number, out, err))
            check(4 < refusals < 19, "%d of 19 starts refused" % refusals)


@suite.test()
def test_descriptors_of_others_count():
    """The limit is high enough, but whoever started the server left it many open files."""
    with Place() as place:
        def fill():
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
            for fd in range(3, 80):
                os.dup2(2, fd)

        place.refused(("100", "48", "ulimit -n"), preexec=fill, close_fds=False)


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
    """A user who may have no more processes is told so, unless the kernel does not hold it to that."""
    with Place() as place:
        for options in ([], ["--set", "sandbox.namespaces=false"]):
            refusals = 0
            for number in (0, 1, 2, 3, 4, 5, 6, 60, 400):
                wrapper = as_other() + ["prlimit", "--nproc=%d" % number]
                status, out, err = place.start(*options, wrapper=wrapper)
                if status:
                    refusals += 1
                    place.refused(("processes", "%d" % number, "ulimit -u"), *options,
                                  wrapper=wrapper)
                else:
                    check(ran(out), "%d processes: %d %s %s" % (number, status, out, err))
            check(1 < refusals < 8, "%d of 9 starts refused" % refusals)


# ---------------------------------------------------------------- stdin and stdout

@suite.test()
def test_no_protocol():
    """A closed or useless end is named, and how a server is tried by hand."""
    with Place() as place:
        env = {"PATH": os.environ["PATH"], "HOME": place.home}
        for how, word in (("<&-", "stdin"), (">&-", "stdout"), ("</dev/null >&-", "stdout"),
                          ("<&- >&-", "stdin"), ("0>/dev/null", "stdin"), ("1</dev/null", "stdout")):
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


if __name__ == "__main__":
    suite.main()
