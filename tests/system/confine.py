#!/usr/bin/env python3
"""What keeps a command to its places and off the network: as the user that started this, as an
ordinary user, and as where namespaces are refused. Each attempt first succeeds without a sandbox."""
import glob
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile

from client import (STRESS, WAIT, RpcError, Server, Skip, check, equal, eventually, hostile_program,
                    server_path)
from suite import Suite

suite = Suite(at_a_time=3)
PYTHON = "/usr/bin/python3"
ORDINARY = 65534
NO_NAMESPACES = ["--set", "sandbox.namespaces=false"]
NO_SANDBOX = ["--set", "sandbox.profile=none"]

# Begins the scripts that follow: each call is an attempt with a name, and says how it went.
ATTEMPT = """
import errno, os, socket, sys
def attempt(name, call):
    try:
        call()
        print(name, "open")
    except OSError as e:
        print(name, "shut", errno.errorcode.get(e.errno, e.errno))
"""

# Arguments: LABEL PATH... Tries what changes files below each directory, or the file itself.
ATTEMPTS = ATTEMPT + """
def write(path, how):
    with open(path, how) as f:
        f.write("written\\n")
for label, path in zip(sys.argv[1::2], sys.argv[2::2]):
    if not os.path.isdir(path):
        attempt(label + ".append", lambda: write(path, "a"))
        continue
    at = lambda name: os.path.join(path, name)
    attempt(label + ".append", lambda: write(at("there"), "a"))
    attempt(label + ".create", lambda: write(at("new"), "x"))
    attempt(label + ".mkdir", lambda: os.mkdir(at("dir")))
    attempt(label + ".link", lambda: os.symlink("x", at("link")))
    attempt(label + ".rename", lambda: os.rename(at("victim"), at("renamed")))
    attempt(label + ".unlink", lambda: os.unlink(at("gone")))
"""

# Arguments: PORT, then what to do: nothing, or "own" to try the loopback device itself.
NETWORK = ATTEMPT + """
port = int(sys.argv[1])
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(15)
    s.connect(("127.0.0.1", port)) # so that an absent listener is an error
    s.send(b"hello")
    s.recv(10)
def own():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(1)
    socket.create_connection(s.getsockname(), 15).close()
attempt("tcp", lambda: socket.create_connection(("127.0.0.1", port), 15).close())
attempt("udp", udp)
attempt("own", own)
attempt("unix", lambda: socket.socketpair())
"""


class Place:
    """Folders of the server's user below /var/tmp (or @top), and a server there."""

    def __init__(self, user=0, top="/var/tmp", workspace=None):
        if user and os.geteuid() != 0:
            raise Skip("only root can become another user")
        if user and not shutil.which("setpriv"):
            raise Skip("setpriv is not installed")
        self.user = user
        self.base = tempfile.mkdtemp(prefix="procpen-confine-", dir=top)
        os.chmod(self.base, 0o755)
        self.workspace = workspace or os.path.join(self.base, "workspace")
        for name in ("workspace", "workspace_evil", "outside", "extra", "extra_evil", "home"):
            self.fill(os.path.join(self.base, name))
        self.own()

    def fill(self, folder):
        os.makedirs(folder, exist_ok=True)
        for name in ("there", "victim", "gone"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write("there\n")

    def own(self):
        for folder, _, names in os.walk(self.base):
            for name in [folder] + [os.path.join(folder, n) for n in names]:
                if self.user:
                    os.chown(name, self.user, self.user, follow_symlinks=False)

    def path(self, *names):
        return os.path.join(self.base, *names)

    def server(self, *options, wrapper=(), before=()):
        """@before: like @wrapper, but started before root becomes the user."""
        as_user = ["setpriv", "--reuid", str(self.user), "--regid", str(self.user),
                   "--clear-groups", "--"] if self.user else []
        return Server(*options, base=self.base, wrapper=list(before) + as_user + list(wrapper))

    def close(self):
        subprocess.run(["rm", "-rf", self.base], check=False, capture_output=True)  # it may be deep


def doors(server, script, *args, **params):
    """{name: "open" or the errno} of a probe, and the layers it ran in."""
    result = server.run(PYTHON, ["-c", script] + list(args), **params)
    equal(result["exit_code"], 0, "exit code of the probe; %s" % result["stderr_summary"])
    found = dict(re.findall(r"^(\S+) (?:shut )?(\S+)\r?$", result["stdout_summary"], re.M))
    check(found, "the probe said nothing: %s" % result)
    return found, result["sandbox"]


def is_open(found, label):
    return {name: what for name, what in found.items()
            if name.startswith(label + ".") and what == "open"}


def is_shut(found, label):
    return {name: what for name, what in found.items()
            if name.startswith(label + ".") and what != "open"}


def works_as_root(place):
    return os.geteuid() == 0 and not place.user


def session(server):
    return server.call("agent.session")["sandbox"]


def forms():
    """(name, user, options) of each form that a user may have."""
    for user in (0, ORDINARY):
        for options in ([], NO_NAMESPACES):
            yield user, options


def keeps_files(sandbox):
    return any(layer.startswith(("landlock", "mount_namespace")) for layer in sandbox)


def profiles(place, options):
    """The profiles that a run may have here: strict needs one layer that keeps files."""
    server = place.server(*options)
    kept = keeps_files(session(server)["active"])
    server.stop()
    return ("default", "strict") if kept else ("default",)


def needs_strict(place, options):
    if "strict" not in profiles(place, options):
        raise Skip("nothing keeps files here, so nothing runs under strict")


def each_form(body):
    """One test for each form."""
    for user, options in forms():
        def test(user=user, options=options):
            place = Place(user)
            try:
                body(place, options)
            finally:
                place.close()
        test.__name__ = "%s_%s_%s" % (body.__name__, "ordinary" if user else "as_started",
                                      "plain" if options else "full")
        suite.test()(test)
    return body


# ---------------------------------------------------------------- files

@each_form
def test_writing(place, options):
    """Everything can be written in the writable places and nothing elsewhere, in both profiles."""
    args = ["in", place.path("workspace"), "out", place.path("outside"),
            "evil", place.path("workspace_evil"), "home", place.path("home"),
            "dots", place.path("workspace", "..", "outside"),
            "shm", "/dev/shm/" + os.path.basename(place.base)]
    server = place.server(*NO_SANDBOX)
    found, _ = doors(server, ATTEMPTS, *args[:6])
    for label in ("in", "out", "evil"):
        equal(len(is_open(found, label)), 6, "open without a sandbox: %s" % found)
    server.stop()
    for profile in profiles(place, options):
        for name in ("workspace", "workspace_evil", "outside", "home"):
            shutil.rmtree(place.path(name))
            place.fill(place.path(name))
        place.own()
        server = place.server(*options)
        found, sandbox = doors(server, ATTEMPTS, *args, profile=profile)
        server.stop()
        if os.path.exists(args[-1]):
            os.unlink(args[-1])
        if not keeps_files(sandbox):
            raise Skip("nothing keeps files here: %s" % sandbox)
        equal(is_shut(found, "in"), {}, "shut in the workspace (%s)" % profile)
        for label in ("out", "evil", "home", "dots"):
            equal(is_open(found, label), {}, "open outside (%s, %s)" % (profile, sandbox))
        if os.stat("/dev/shm").st_mode & 0o1777 == 0o1777:  # as it is everywhere but in a chroot
            equal(set(is_open(found, "shm")), {"shm.append"}, "/dev/shm")


@each_form
def test_temporary_directory(place, options):
    server = place.server(*options)
    result = server.run("echo $TMPDIR; stat -c '%%a %%u' $TMPDIR; mktemp; "
                        "echo x >$TMPDIR/kept; for d in /tmp /var/tmp; do touch $d/%s 2>/dev/null && "
                        "rm $d/%s && echo $d; done" % ((os.path.basename(place.base) + "-no",) * 2))
    tmpdir, mode, made, *shared = result["stdout_summary"].rstrip("\n").split("\n")
    equal(os.path.dirname(tmpdir), server.state + "/tmp", "where TMPDIR is")
    equal(mode, "700 %d" % (place.user or os.geteuid()), "its mode and owner")
    equal(os.path.dirname(made), tmpdir, "mktemp uses it")
    if keeps_files(result["sandbox"]):
        equal(shared, [], "shared folders that can be written")
    else:
        equal(shared, ["/tmp", "/var/tmp"], "without a layer for files")
    equal(server.run("cat $TMPDIR/kept")["stdout_summary"].strip(), "x", "the next run sees it")
    server.stop()
    equal(os.listdir(server.state + "/tmp"), [], "left after an orderly end")


def write(path, text="kept"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


@each_form
def test_state_directory_is_shared(place, options):
    """Nothing in the state directory is procpen's but what it made there itself, whatever its name:
    with a place that everybody may write, like /tmp, as the state directory too."""
    names = ["tmp-mydata/sub/file", "tmp-1234-abcd/file", "tmp-0123456789abcdef/file", "tmp-nobody/file",
             "0123456789abcdef/file", "tmpfile"]
    state = place.path("state")
    for name in names:
        write(os.path.join(state, name))
    place.own()
    os.chmod(state, 0o1777)
    if os.geteuid() == 0:
        for name in ("tmp-nobody", "tmp-nobody/file"):
            os.chown(os.path.join(state, name), 1, 1)
    for _ in range(2):
        server = place.server(*options)
        equal(server.run("true")["exit_code"], 0, "a run")
        server.stop()
        for name in names:
            check(os.path.exists(os.path.join(state, name)), name + " is gone")


@each_form
def test_temporary_directory_after_sigkill(place, options):
    server = place.server(*options)
    server.run("mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; chmod 0 $TMPDIR/a/b")
    server.signal(signal.SIGKILL)
    server.wait_exit()
    left = os.listdir(server.state + "/tmp")
    equal(len(left), 2, "left by the killed server: its directory and its lock, %s" % left)
    server = place.server(*options)
    server.run("true")
    eventually(lambda: not set(left) & set(os.listdir(server.state + "/tmp")), WAIT,
               "the next server has not removed %s" % left)
    equal(len(os.listdir(server.state + "/tmp")), 2, "its own")
    server.stop()
    equal(os.listdir(server.state + "/tmp"), [], "left after an orderly end")


# Takes the lock that every `procpen run` needs, as far as its file can be opened.
TAKE_LOCK = """
import fcntl, os, sys
try:
    fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("locked")
except OSError as e:
    print("errno", e.errno)
"""


@each_form
def test_lock_of_the_audit_log(place, options):
    """No command keeps the next `procpen run` from starting. Root may read any file, where none is hidden."""
    server = place.server(*options)
    started = subprocess.run([*server.wrapper, server_path(), "run", "--workspace", server.workspace,
                              "--state-dir", server.state, "--", "true"], env=server.env,
                             capture_output=True, text=True, check=False, timeout=WAIT)
    equal((started.returncode, started.stderr), (0, ""), "procpen run")
    lock = os.path.join(server.state, "audit", "run.lock")
    result = server.run(PYTHON, ["-c", TAKE_LOCK, lock])
    if place.user or "mount_namespace" in result["sandbox"]:
        check(result["stdout_summary"].startswith("errno"), "the lock: " + result["stdout_summary"])
    server.stop()


# Takes a lock of each sort that a reader can have, of all logs; ends when "verified" is there.
READ_LOCKS = """
import fcntl, os, struct, sys, time
locked = 0
for name in sys.argv[1:]:
    try:
        fd = os.open(name, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 1, 0)) # F_OFD_SETLK
        locked += 1
    except OSError:
        pass
print(locked)
open("locked", "w").close()
while not os.path.exists("verified"):
    time.sleep(0.02)
"""


@each_form
def test_locks_on_the_logs(place, options):
    """A command can lock a log that it can read, and does not make a killed server seem alive."""
    killed = place.server(*options)
    killed.run("true")
    killed.signal(signal.SIGKILL)
    killed.wait_exit()
    log = killed.audit_log()
    server = place.server(*options)
    run = server.request("process.run", {"command": PYTHON, "args": ["-c", READ_LOCKS, log]})
    eventually(lambda: os.path.exists(place.path("workspace", "locked")), WAIT, "no locks")
    status = subprocess.run([server_path(), "audit", "verify", "--state-dir", server.state], env=server.env,
                            capture_output=True, text=True, check=False, timeout=WAIT)
    open(place.path("workspace", "verified"), "w").close()
    result = server.result(run)
    hidden = "mount_namespace" in result["sandbox"]
    equal(result["stdout_summary"], "0\n" if hidden else "1\n", "locked logs")
    equal(status.returncode, 1, "of verify")
    check("ended without a stop record" in status.stdout, status.stdout)
    server.stop()


# Takes a lease of a file that it can only read, so that whoever opens that for writing waits.
LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDONLY)
try:
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    print("leased", flush=True)
except OSError as e:
    print("errno", e.errno, flush=True)
sys.stdin.read()
"""


@each_form
def test_leases(place, options):
    """No command has others wait who open a file outside of what it may write, such as a log."""
    victim = place.path("outside", "there")

    def is_held_up(server):
        run = server.run(PYTHON, ["-c", LEASE, victim], stdin_mode="pipe", background=True)
        said = server.call("process.monitor", {"process_id": run["process_id"], "until": "pattern",
                                               "pattern": ".", "stream": "stdout", "wait_ms": 20000})["match"]["text"]
        try:
            os.close(os.open(victim, os.O_WRONLY | os.O_NONBLOCK))
            return said, False
        except BlockingIOError:
            return said, True
        finally:
            server.call("process.input", {"process_id": run["process_id"], "data": "", "close": True})
            server.call("process.wait", {"process_ids": [run["process_id"]], "wait_ms": 20000})
            server.stop()

    equal(is_held_up(place.server("--set", "sandbox.profile=none")), ("leased", True), "without a sandbox")
    equal(is_held_up(place.server(*options)), ("errno 1", False), "in the sandbox")


@each_form
def test_repeat_names_the_profile(place, options):
    """Where the operator has set strict, a call that asks for it is the same call."""
    needs_strict(place, options)
    server = place.server("--set", "sandbox.profile=strict", *options)
    first = server.run("true", idempotency_key="k")
    again = server.run("true", idempotency_key="k", profile="strict")
    equal((again["process_id"], again["replayed"]), (first["process_id"], True), "with the profile")
    server.stop()


def move_away(place, path):
    """And put another directory there."""
    os.rename(path, path + ".old")
    os.mkdir(path, 0o700)
    if place.user:
        os.chown(path, place.user, place.user)


@each_form
def test_temporary_directory_is_made_again(place, options):
    """Removed or replaced, as often as that happens; without a sandbox a command can do it."""
    for profile in ("default", "none"):
        server = place.server("--set", "sandbox.profile=" + profile, *options)
        for change in (lambda _, path: shutil.rmtree(path), move_away) * 2:
            tmpdir = server.run("echo $TMPDIR")["stdout_summary"].strip()
            change(place, tmpdir)
            for _ in range(3):
                result = server.run("echo kept >>$TMPDIR/b && cat $TMPDIR/b")
                check(result["success"], "after a change: %s" % result)
            equal(result["stdout_summary"], "kept\n" * 3, "in the new one")
            shutil.rmtree(tmpdir + ".old", ignore_errors=True)
        if profile == "none":
            mode = os.stat(place.path("outside")).st_mode
            for script in ("mkdir $TMPDIR; ln -s %s $TMPDIR/shm", "ln -s %s $TMPDIR", ": >$TMPDIR # %s"):
                server.run("rm -r $TMPDIR; " + script % place.path("outside"))
                equal(server.run("touch $TMPDIR/c")["exit_code"], 0, "after " + script)
            equal((os.stat(place.path("outside")).st_mode, os.path.exists(place.path("outside", "c"))),
                  (mode, False), "where the links lead")
        server.stop()
        equal(os.listdir(server.state + "/tmp"), [], "left after the end")


@each_form
def test_place_is_put_right(place, options):
    """What was refused runs when the operator has corrected what the error names."""
    server = place.server(*options)
    folder = server.state + "/tmp"
    os.makedirs(folder, mode=0o700)
    place.own()
    os.chmod(folder, 0o755)
    for _ in range(2):
        try:
            server.run("true")
            check(False, "it runs with the wrong mode")
        except RpcError as e:
            check(e.type == "SandboxUnavailable" and "0755" in str(e), "error %s" % e)
    os.chmod(folder, 0o700)
    equal(server.run("true")["exit_code"], 0, "with the right mode")
    server.stop()


# Arguments: how many files, how many levels of directories.
CLUTTER = """
import os, sys
top = os.environ["TMPDIR"]
os.mkdir(top + "/wide")
for n in range(int(sys.argv[1])):
    os.close(os.open("%s/wide/%d" % (top, n), os.O_CREAT | os.O_WRONLY))
os.chdir(top)
for n in range(int(sys.argv[2])):
    os.mkdir("d")
    os.chdir("d")
"""


@each_form
def test_clutter_is_gone_or_named(place, options):
    """However much a run leaves: at the end it is gone, or stderr names it, and the next server
    removes it. After a SIGKILL too."""
    sizes = ["30000", "3000"] if STRESS else ["2000", "100"]
    for end in (Server.close_input, lambda server: server.signal(signal.SIGKILL)):
        server = place.server(*options)
        equal(server.run(PYTHON, ["-c", CLUTTER] + sizes, timeout=200)["exit_code"], 0, "the clutter")
        tmpdir = server.run("echo $TMPDIR")["stdout_summary"].strip()
        end(server)
        killed = server.wait_exit() != 0
        if os.path.exists(tmpdir) and not killed:
            check("warning: %s still holds at least" % tmpdir in server.stderr_text(), "not named")
        server = place.server(*options)
        server.run("true")
        eventually(lambda: not os.path.exists(tmpdir), 3 * WAIT, "the next server leaves it")
        eventually(lambda: len(os.listdir(server.state + "/tmp")) == 2, WAIT, "its lock")
        server.stop()


@each_form
def test_cleaner_ends_with_its_server(place, options):
    """The cleaner of a killed server's files does not outlive the server that started it."""
    server = place.server(*options)
    server.run(PYTHON, ["-c", CLUTTER, "3000", "0"], timeout=200)
    server.signal(signal.SIGKILL)
    server.wait_exit()
    server = place.server(*options)
    server.run("true")
    server.signal(signal.SIGKILL)
    server.wait_exit()
    equal(server.survivors(), [], "alive after SIGKILL of the server")


@each_form
def test_servers_share_a_state_directory(place, options):
    """A live server loses nothing to one that starts, cleans up and ends."""
    first = place.server(*options)
    first.run("echo kept >$TMPDIR/file")
    for end in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
        second = place.server(*options)
        second.run("echo other >$TMPDIR/file")
        second.signal(end)
        second.wait_exit()
        equal(first.run("cat $TMPDIR/file")["stdout_summary"], "kept\n", "after another server")
    first.stop()

    def last():
        server = place.server(*options)
        server.run("true")
        server.stop()
        return not os.listdir(server.state + "/tmp")
    eventually(last, WAIT, "left by all of them")


@each_form
def test_place_that_is_not_ours(place, options):
    """A link, another user's directory, one that others may read: refused and left alone."""
    def link(path):
        os.rename(path, place.path("elsewhere"))
        os.symlink("../elsewhere", path)

    harms = {"Not a directory": link, "its mode is 0755": lambda path: os.chmod(path, 0o755),
             "its mode is 1777": lambda path: os.chmod(path, 0o1777)}
    if os.geteuid() == 0:
        harms["belongs to uid 1"] = lambda path: (os.chown(path, 1, 1), os.chmod(path, 0o755))
    for text, harm in harms.items():
        tmp = place.path("state", "tmp")
        inside = ["0123456789abcdef/file", "0123456789abcdef.lock"]
        for name in inside:
            write(os.path.join(tmp, name), "")
        os.chmod(tmp, 0o700)
        place.own()
        os.chmod(os.path.join(tmp, inside[1]), 0o200)
        harm(tmp)
        server = place.server(*options)
        try:
            server.run("true")
            check(False, "it ran: " + text)
        except RpcError as e:
            equal(e.type, "SandboxUnavailable", text)
            check(text in str(e) and "--state-dir" in str(e), "%s: %s" % (text, e))
        server.stop()
        for name in inside:
            check(os.path.exists(os.path.join(tmp, name)), "%s: %s is gone" % (text, name))
        shutil.rmtree(place.path("state"))


@each_form
def test_writable_option(place, options):
    """One more directory and one more file are writable, and nothing beside them."""
    file = place.path("outside", "there")
    server = place.server(*options, "--set",
                          "sandbox.writable=%s,%s,%s" % (place.path("extra"), file,
                                                         place.path("not", "there")))
    found, sandbox = doors(server, ATTEMPTS, "extra", place.path("extra"), "file", file,
                           "evil", place.path("extra_evil"), "out", place.path("outside"))
    check("sandbox.writable: %s does not exist and is left out" % place.path("not", "there")
          in server.stderr_text(), "no word about the one that is not there")
    server.stop()
    if not keeps_files(sandbox):
        raise Skip("nothing keeps files here: %s" % sandbox)
    equal(is_shut(found, "extra"), {}, "shut in sandbox.writable")
    equal(found["file.append"], "open", "the named file")
    equal(is_open(found, "evil"), {}, "open beside")
    equal(set(is_open(found, "out")), {"out.append"}, "open beside the named file")


def hides(place, options):
    """Can paths be hidden here? Where they cannot, no server starts (tests/system/demands.py)."""
    server = place.server(*options)
    active = session(server)["active"]
    server.stop()
    return "mount_namespace" in active


REPLACE = """
import os, sys
while os.getppid() == int(sys.argv[2]):
    open(sys.argv[1] + ".new", "w").close()
    os.rename(sys.argv[1] + ".new", sys.argv[1])
"""


@each_form
def test_hidden_file_that_is_replaced(place, options):
    """As programs do that write by rename(2): each run starts, also one that makes its mounts then."""
    place.fill(place.path("secret", "replaced"))
    key = place.path("secret", "replaced", "there")
    if not hides(place, options):
        return
    server = place.server(*options, "--set", "sandbox.ahead=false", "--set", "sandbox.hide=" + key)
    server.run("true")
    first = os.stat(key).st_ino
    with subprocess.Popen([sys.executable, "-c", REPLACE, key, str(os.getpid())]) as other:
        try:
            eventually(lambda: os.stat(key).st_ino != first, WAIT, "nobody replaces the file")
            for _ in range(60):
                equal(server.run("true")["exit_code"], 0, "exit code")
            equal(other.poll(), None, "the program that replaces it has ended")
        finally:
            other.kill()
    server.stop()


@each_form
def test_hidden_link_that_changes(place, options):
    """What it leads to now is hidden, and what it led to at the start, in each profile."""
    if not hides(place, options):
        return
    for name in ("one", "two"):
        place.fill(place.path("workspace", name))
    link = place.path("workspace", "link")
    os.symlink("one", link)
    place.own()
    server = place.server(*options, "--set", "sandbox.hide=" + link)
    seen = lambda profile: server.run("cat one/there two/there", profile=profile)["stdout_summary"]
    for profile in ("default", "strict"):
        equal(seen(profile), "there\n", "of the other one, " + profile)
    os.unlink(link)
    os.symlink("two", link)
    for profile in ("strict", "default"):
        equal(seen(profile), "", "of both, " + profile)
    server.stop()


@each_form
def test_hidden_working_directory(place, options):
    """The error says why nothing can run there."""
    if not hides(place, options):
        return
    secret = place.path("workspace", "secret")
    os.mkdir(secret)
    place.own()
    server = place.server(*options, "--set", "sandbox.hide=" + secret)
    try:
        server.run("true", working_directory="secret")
        check(False, "it runs there")
    except RpcError as e:
        equal((e.type, "sandbox.hide" in e.error["data"]["hint"]), ("BadDirectory", True), str(e))
    server.stop()


@each_form
def test_hidden_devices(place, options):
    """A command without input finds its stdin empty there, too."""
    if not hides(place, options):
        return
    server = place.server(*options, "--set", "sandbox.hide=/dev")
    result = server.run("cat; ls /dev")
    equal((result["exit_code"], result["stdout_summary"], result["stderr_summary"]), (0, "", ""),
          "what it reads and sees")
    server.stop()


@each_form
def test_hidden_paths(place, options):
    """Files, directories, what comes later, by links too; and the record always."""
    for name in ("dir", "link_target"):
        place.fill(place.path("secret", name))
    os.symlink("secret/link_target", place.path("link"))
    place.own()
    hidden = [place.path("secret", "dir"), place.path("home", "there"), place.path("link", "there"),
              place.path("link", "later"), place.path("workspace", "victim")]
    if not hides(place, options):
        return
    server = place.server(*options, "--set", "sandbox.hide=" + ",".join(hidden))
    script = "cat %s %s 2>/dev/null; ls %s %s 2>/dev/null; true" % (
        " ".join(hidden[1:]), hidden[0] + "/there", hidden[0], server.state + "/audit")
    bare = place.server(*NO_SANDBOX)
    server.run("true")
    equal((session(server)["hidden"], session(bare)["hidden"]), (hidden, []), "said to be hidden")
    with open(place.path("link", "later"), "w", encoding="utf-8") as f:
        f.write("there too\n")
    place.own()
    check(bare.run(script)["stdout_summary"].count("there") >= 5, "it cannot be read at all")
    result = server.run(script)
    bare.stop()
    server.stop()
    equal(result["stdout_summary"].replace(hidden[0] + ":", "").replace(
        server.state + "/audit:", "").split(), [], "of what is hidden")


@each_form
def test_hidden_behind_a_link(place, options):
    """A command that changes a link, or the way to it, does not show the next one what it led to."""
    key = place.path("outside", "there")
    ways = ("rm sub/link", "mv sub moved", "chmod 0 sub", "ln -sfn .. sub/link")
    for way in ways if hides(place, options) else ():
        for name in os.listdir(place.workspace):
            os.chmod(place.path("workspace", name), 0o755)
        shutil.rmtree(place.workspace)
        os.makedirs(place.path("workspace", "sub"))
        os.symlink(place.path("outside"), place.path("workspace", "sub", "link"))
        place.own()
        server = place.server(*options, "--set",
                              "sandbox.hide=" + place.path("workspace", "sub", "link", "there"))
        done = server.run(way)
        seen = server.run("cat", [key])
        server.stop()
        equal((done["exit_code"], seen["stdout_summary"]), (0, ""), way)


@each_form
def test_hidden_under_another_name(place, options):
    """A file system that is mounted twice shows nothing of what is hidden in the other place, be it
    before the start or later; nor does a part of a hidden directory, unless commands may write that."""
    if os.geteuid() != 0 or not hides(place, options):
        raise Skip("only root can mount, and hide what shows")
    names = [place.path("seen", name) for name in ("extra", "file", "home", "state", "part", "later")]
    key = place.path("extra", "there")
    for name in names:
        os.makedirs(name)
    os.rmdir(names[1])
    place.fill(place.path("home", "part"))
    open(names[1], "w", encoding="utf-8").close()
    place.own()
    places = [place.path("extra"), key, place.path("home"), place.path("state"),
              place.path("home", "part")]
    mounts = " && ".join("mount --bind %s %s" % pair for pair in zip(places, names))
    server = place.server(*options, "--set", "sandbox.hide=%s,%s" % (key, place.path("home")),
                          "--set", "sandbox.writable=" + names[4],
                          before=["unshare", "-m", "sh", "-c", mounts + ' && exec "$@"', "sh"])
    probe = ("cd %s; cat file extra/there home/there home/part/there later/there */audit/*;"
             "cat extra/victim later/victim; echo more >> part/victim" % place.path("seen"))
    server.run("true")
    mounted = subprocess.run(["nsenter", "-t", str(server.pid), "-m", "cat", names[1]],
                             capture_output=True, text=True, check=True).stdout
    equal(mounted, "there\n", "what the host sees")
    equal(server.run(probe)["stdout_summary"], "there\n", "found before the later mount")
    subprocess.run(["nsenter", "-t", str(server.pid), "-m", "mount", "--bind", places[0], names[5]],
                   check=True)
    equal(server.run(probe)["stdout_summary"], "there\n" * 2, "found behind it")
    server.stop()
    with open(place.path("home", "part", "victim"), encoding="utf-8") as f:
        equal(f.read(), "there\nmore\nmore\n", "written to a part of what is hidden elsewhere")


@each_form
def test_hidden_in_a_locked_directory(place, options):
    """A command that locks and unlocks a directory uncovers nothing in it. That of another group,
    which a user namespace does not know, is locked for the shim as well."""
    if os.geteuid() != 0 or not hides(place, options):
        raise Skip("only root can give a directory to a group of others, and hide it")
    sub, key = place.path("workspace", "sub"), place.path("workspace", "sub", "deep", "key")
    os.makedirs(os.path.dirname(key))
    with open(key, "w", encoding="utf-8") as f:
        f.write("secret")
    place.own()
    os.chown(sub, -1, 12345)
    server = place.server(*options, "--set", "sandbox.hide=" + key)
    for script in ("chmod 0 sub", "true", "chmod 755 sub; cat sub/deep/key", "cat sub/deep/key"):
        check("secret" not in server.run(script)["stdout_summary"], "shown by " + script)
    os.chmod(sub, 0o755)
    shown = server.run("ls sub/deep; cat sub/deep/key")
    server.stop()
    equal(shown["stdout_summary"], "key\n", "unlocked from outside")


@each_form
def test_hidden_below_the_workspace(place, options):
    """A command cannot uncover it, for itself or the next one, by renaming a directory above."""
    ways = ("cd %s; mv sub moved; mv sub/deep sub/other; mv moved/deep moved/other; rm -rf sub/deep; "
            "find . -name key -exec cat {} + 2>/dev/null; true")
    key = [place.path(name, "sub", "deep", "key") for name in ("workspace", "extra")]
    # The second place is writable twice: a directory, and another one above it.
    nested = "sandbox.writable=%s,%s" % (place.path("extra", "sub"), place.path("extra"))
    for at, hide in ((0, []), (0, [key[0]]), (1, [key[1]])) if hides(place, options) else ():
        folder = os.path.dirname(os.path.dirname(os.path.dirname(key[at])))
        shutil.rmtree(folder)
        os.makedirs(os.path.dirname(key[at]))
        with open(key[at], "w", encoding="utf-8") as f:
            f.write("secret")
        place.own()
        server = place.server(*options, "--set", nested,
                              *(word for path in hide for word in ("--set", "sandbox.hide=" + path)))
        seen = "".join(server.run(ways % folder)["stdout_summary"] for _ in range(3))
        server.stop()
        if not hide:
            check("secret" in seen, "it is not readable anyway")
        else:
            check("secret" not in seen, "it came to light in %s" % folder)


@each_form
def test_workspace_below_tmp(place, options):
    """The workspace is writable there, its neighbours are not."""
    other = Place(place.user, top="/tmp")
    try:
        for profile in profiles(place, options):
            server = other.server(*options)
            found, sandbox = doors(server, ATTEMPTS, "in", other.path("workspace"),
                                   "out", other.path("outside"), profile=profile)
            server.stop()
            if not keeps_files(sandbox):
                raise Skip("nothing keeps files here: %s" % sandbox)
            equal(is_shut(found, "in"), {}, "shut in the workspace")
            equal(is_open(found, "out"), {}, "open in /tmp")
            shutil.rmtree(other.path("workspace"))
            other.fill(other.path("workspace"))
            other.own()
    finally:
        other.close()


@each_form
def test_nested_and_linked_workspace(place, options):
    """The workspace by a link, an accessible directory in another, one of them linked."""
    os.rename(place.path("workspace"), place.path("real"))
    os.symlink("real", place.path("workspace"))
    place.fill(place.path("real", "sub", "deep"))
    place.fill(place.path("real", "sub"))
    os.symlink("real/sub", place.path("alias"))
    place.own()
    server = place.server(*options, "--allow-dir", place.path("alias"),
                          "--allow-dir", place.path("workspace", "sub", "deep"))
    found, sandbox = doors(server, ATTEMPTS, "link", place.path("workspace"),
                           "alias", place.path("alias"), "deep", place.path("real", "sub", "deep"),
                           "out", place.path("outside"))
    equal([len(is_open(found, label)) for label in ("link", "alias", "deep")], [6, 6, 6], "writable")
    if keeps_files(sandbox):
        equal(is_open(found, "out"), {}, "open outside")
    equal(server.run("pwd", working_directory=place.path("alias"))["stdout_summary"].strip(),
          place.path("real", "sub"), "working directory by a link")
    server.stop()


@each_form
def test_swapped_directory(place, options):
    """A link that replaces an accessible directory is not followed."""
    server = place.server(*options, "--allow-dir", place.path("extra"))
    found, sandbox = doors(server, ATTEMPTS, "extra", place.path("extra"))
    if not keeps_files(sandbox):
        raise Skip("nothing keeps files here: %s" % sandbox)
    equal(is_shut(found, "extra"), {}, "shut before")
    os.rename(place.path("extra"), place.path("extra_before"))
    os.symlink("outside", place.path("extra"))
    for profile in ("default", "strict", "default"):
        found, _ = doors(server, ATTEMPTS, "swapped", place.path("extra"), profile=profile)
        equal(is_open(found, "swapped"), {}, "open by the swapped link")
    try:
        result = server.run("touch by_directory; pwd", working_directory=place.path("extra"))
        check(result["stdout_summary"].strip() != place.path("outside"), "it ran outside")
    except RpcError as e:
        check(e.type in ("PathOutOfScope", "SpawnFailed", "SandboxUnavailable"), str(e))
    check(not os.path.exists(place.path("outside", "by_directory")), "written outside")
    server.ping()
    server.stop()


@each_form
def test_swapped_by_a_command(place, options):
    """A command swaps an accessible directory inside its workspace; the next run is kept in."""
    place.fill(place.path("workspace", "sub"))
    place.own()
    server = place.server(*options, "--allow-dir", place.path("workspace", "sub"), "--set",
                          "sandbox.readonly=")  # it would hold the directories above such paths
    result = server.run("mv sub away && ln -s %s sub" % place.path("outside"))
    if not keeps_files(result["sandbox"]):
        raise Skip("nothing keeps files here: %s" % result["sandbox"])
    equal(result["exit_code"], 0, "the swap")
    for _ in range(2):
        found, _ = doors(server, ATTEMPTS, "sub", place.path("workspace", "sub"))
        equal(is_open(found, "sub"), {}, "open by the swapped link")
    try:
        server.run("touch by_directory", working_directory="sub")
    except RpcError as e:
        check(e.type in ("PathOutOfScope", "SpawnFailed", "SandboxUnavailable"), str(e))
    check(not os.path.exists(place.path("outside", "by_directory")), "written outside")
    server.stop()


def kept_open(server):
    """What the server's children, its shims, have open; only root may look."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc") if os.geteuid() == 0 else ()):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as f:
                if int(f.read().rsplit(")", 1)[1].split()[1]) != server.pid:
                    continue
            found.update(os.readlink("/proc/%s/fd/%s" % (name, fd))
                         for fd in os.listdir("/proc/%s/fd" % name))
        except OSError:
            continue
    return found


@each_form
def test_directory_made_anew(place, options):
    """A command's directory is the one that has its path, however many ran in an earlier one."""
    server = place.server(*options, "--set", "sandbox.readonly=")
    path = place.path("workspace", "sub")

    def serves():
        """Three runs in a row: what the first two leave to the third must not matter."""
        for name in ("one", "two", "three"):
            result = server.run("touch %s; stat -c %%i ." % name, working_directory="sub")
            equal(int(result["stdout_summary"]), os.stat(path).st_ino, "the directory of %s" % name)
            check(os.path.exists(os.path.join(path, name)), "%s was not made there" % name)

    os.makedirs(path, exist_ok=True)
    place.own()
    serves()
    result = server.run("mv ../sub ../away && mkdir ../sub", working_directory="sub")
    equal(result["exit_code"], 0, "the swap")
    serves()
    kept = kept_open(server)
    check(place.path("workspace", "away") not in kept, "a shim keeps the earlier one open: %s" % kept)
    os.rename(path, place.path("workspace", "older"))
    os.rename(place.path("workspace", "away"), path)
    for name in ("one", "two", "three"):
        os.unlink(os.path.join(path, name))
    serves()
    server.stop()


@each_form
def test_directories_of_each_length(place, options):
    """A shim keeps open what has a short path; the others work as well."""
    server = place.server(*options, "--set", "sandbox.readonly=")
    for length in (254, 255, 256, 257, 1000):
        path = place.path("workspace")
        while length - len(path) > 200:
            path += "/" + "x" * 150
        path += "/" + "y" * (length - len(path) - 1)
        os.makedirs(path)
        place.own()
        for _ in range(3):
            result = server.run("pwd; touch file && rm file", working_directory=path)
            equal((result["exit_code"], result["stdout_summary"]), (0, path + "\n"), "with %d" % length)
    server.stop()


@each_form
def test_moved_workspace(place, options):
    """The workspace is renamed and another made: a run is refused or works in one of the two."""
    server = place.server(*options)
    server.run("touch before")
    os.rename(place.path("workspace"), place.path("moved"))
    for again in range(2):
        try:
            result = server.run("touch after; pwd; touch %s" % place.path("outside", "no"))
            check(result["stdout_summary"].strip() in (place.path("workspace"), place.path("moved")),
                  "it ran in %r" % result["stdout_summary"])
            if keeps_files(result["sandbox"]):
                check(not os.path.exists(place.path("outside", "no")), "written outside")
        except RpcError as e:
            check(e.type in ("PathOutOfScope", "SpawnFailed", "SandboxUnavailable"), str(e))
            check(not os.path.exists(place.path("moved", "after")), "refused and run")
        if not again:
            place.fill(place.path("workspace"))
            place.own()
    server.ping()
    server.stop()


# Disks, and devices that take orders as they are opened for reading, by name and by descriptor; the
# usual devices and what they are for. Opening none of them does anything by itself.
DEVICES = ATTEMPT + """
import pty, stat
others = ["fuse", "kvm", "kmsg", "loop-control", "userfaultfd", "net/tun", "autofs"]
others += [name for name in os.listdir("/dev") if stat.S_ISBLK(os.lstat("/dev/" + name).st_mode)]
def reopen(path):
    os.close(os.open("/proc/self/fd/%d" % os.open(path, os.O_PATH), os.O_RDONLY | os.O_NONBLOCK))
def use(name, how=os.O_RDWR):
    os.close(os.open("/dev/" + name, how | os.O_NOCTTY | os.O_NONBLOCK))
for name in others:
    attempt("other." + name, lambda: use(name, os.O_RDONLY))
    attempt("other.again." + name, lambda: reopen("/dev/" + name))
for name in ["null", "zero", "full", "random", "urandom", "stdin", "fd/1"]:
    attempt("usual." + name, lambda: use(name, os.O_RDONLY if name == "stdin" else os.O_WRONLY
                                         if name == "fd/1" else os.O_RDWR))
attempt("usual.pty", lambda: os.write(os.open(os.ttyname(pty.openpty()[1]), os.O_RDWR), b"x"))
def shared_memory():
    path = "/dev/shm/procpen-%d" % os.getpid()
    os.close(os.open(path, os.O_CREAT | os.O_RDWR))
    os.unlink(path)
attempt("usual.shm", shared_memory)
def controlling():
    pid, fd = pty.fork()
    if not pid:
        os._exit(0 if os.isatty(os.open("/dev/tty", os.O_RDWR)) else 1)
    if os.waitpid(pid, 0)[1]:
        raise OSError(errno.ENXIO, "no /dev/tty")
attempt("usual.tty", controlling)
"""


@each_form
def test_devices(place, options):
    """Of the devices in /dev only the usual ones can be opened, with Landlock or mounts or both.
    Landlock alone permits no pseudo-terminal but the run's."""
    script = place.path("workspace", "devices.py")  # the blocklist judges what is in the command
    write(script, DEVICES)
    code = "exec(open(%r).read())" % script
    bare = place.server(*NO_SANDBOX)
    found, _ = doors(bare, code)
    bare.stop()
    if not is_open(found, "other"):
        raise Skip("there is no other device here that this user may open")
    usual = is_open(found, "usual")
    for wrapper in ([], [hostile_program("without"), "landlock"]):
        server = place.server(*options, wrapper=wrapper)
        gaps = " ".join(session(server)["gaps"])
        found, sandbox = doors(server, code)
        server.stop()
        own_pts = "mount_namespace" in sandbox or not keeps_files(sandbox)
        want = {name: how for name, how in usual.items()
                if own_pts or name not in ("usual.pty", "usual.tty")}  # both make one
        equal(is_open(found, "usual"), want, "the usual devices in %s" % sandbox)
        if keeps_files(sandbox):
            equal(is_open(found, "other"), {}, "open in %s" % sandbox)
        else:
            check("devices: all that" in gaps, "gaps %s" % gaps)


# Starts what follows with a /dev/null of its own, which lies below $0.
OWN_NULL = ["unshare", "--mount", "/bin/sh", "-ec", 'mkdir "$0"; mount -t tmpfs none "$0"; '
            'mknod -m 666 "$0/null" c 1 3; mount --bind "$0/null" /dev/null; exec "$@"']
# Changes the mode of its stdin, and of /dev/null by name.
NULL_MODE = ATTEMPT + """
if not os.path.samestat(os.stat(0), os.stat("/dev/null")):
    sys.exit("stdin is another file")
attempt("mode.stdin", lambda: os.fchmod(0, 0o600))
attempt("mode.name", lambda: os.chmod("/dev/null", 0o600))
"""


@suite.test()
def test_mode_of_an_empty_stdin():
    """Root's commands can change the mode of /dev/null through their stdin only where they can by
    name. In the mount namespace they cannot."""
    place = Place()
    own = os.path.join(place.base, "own")
    if os.geteuid() or subprocess.run(OWN_NULL + [own, "true"], capture_output=True).returncode:
        place.close()
        raise Skip("this user can make no /dev/null")
    os.rmdir(own)
    try:
        for options in ([], NO_NAMESPACES):
            server = place.server(*options, wrapper=OWN_NULL + [own])
            null = "/proc/%d/root/dev/null" % server.pid
            eventually(lambda: os.stat(null).st_dev != os.stat("/dev/null").st_dev, WAIT,
                       "the server has the host's /dev/null")
            for params in ({}, {"profile": "strict"}, {"tty": True, "stdin_mode": "null"}):
                found, sandbox = doors(server, NULL_MODE, **params)
                equal(found["mode.stdin"], found["mode.name"], "%s in %s" % (params, sandbox))
                if "mount_namespace" in sandbox:
                    equal((found["mode.stdin"], stat.S_IMODE(os.stat(null).st_mode)),
                          ("EROFS", 0o666), "%s in %s" % (params, sandbox))
                os.chmod(null, 0o666)
            server.stop()
            os.rmdir(own)
    finally:
        place.close()


@each_form
def test_lent_directory_of_devices(place, options):
    """A directory in /dev that the operator lends keeps its devices, and no other run has them."""
    folders = [entry.path for entry in os.scandir("/dev") if entry.is_dir(follow_symlinks=False) and
               os.stat(entry.path).st_dev == os.stat("/dev").st_dev]  # not /dev/pts, /dev/shm
    found = [path for folder in sorted(folders) for path in sorted(glob.glob(folder + "/*"))
             if stat.S_ISCHR(os.lstat(path).st_mode)]
    script = "for f in %s; do (: <$f) 2>/dev/null && echo $f; done; true" % " ".join(found)
    opened = {}
    for kind, more in ("bare", NO_SANDBOX), ("usual", ()):
        server = place.server(*(() if kind == "bare" else options), *more)
        opened[kind] = server.run(script)["stdout_summary"].split()
        server.stop()
    if not opened["bare"]:
        raise Skip("no device in a directory of /dev that this user may open")
    equal(opened["usual"], [], "what nobody has lent")
    lent = os.path.dirname(opened["bare"][0])
    server = place.server(*options, "--set", "sandbox.writable=" + lent)
    equal(server.run(script)["stdout_summary"].split(),
          [path for path in opened["bare"] if path.startswith(lent + "/")], lent)
    server.stop()


@suite.test()
def test_hidden_file_on_a_block_device():
    """The file system that a hidden file lies on is not read from its device either."""
    place = Place()
    try:
        image, mounted = place.path("outside", "image"), place.path("outside")
        key = os.path.join(mounted, "mnt", "key")
        os.mkdir(os.path.dirname(key))
        ways = ["dd if=/dev/zero of=%s bs=1M count=2" % image, "mkfs.ext2 -q -F %s" % image,
                "mount -o loop,sync %s %s" % (image, os.path.dirname(key))]
        if os.geteuid() or any(subprocess.run(way.split(), capture_output=True, check=False).returncode
                               for way in ways):
            raise Skip("no file system can be mounted from a loop device here")
        try:
            with open(key, "w", encoding="utf-8") as f:
                f.write("hidden on a device\n")
            os.sync()
            with open("/proc/self/mountinfo", encoding="utf-8") as f:
                device = [line.split()[-2] for line in f if os.path.dirname(key) in line][0]
            script = "grep -a -o 'hidden on a device' %s" % device
            bare = place.server(*NO_SANDBOX)
            check(bare.run(script)["stdout_summary"], "it cannot be read at all")
            bare.stop()
            for wrapper in ([], [hostile_program("without"), "landlock"]):
                for profile in ("default", "strict"):
                    server = place.server("--set", "sandbox.hide=" + key, wrapper=wrapper)
                    result = server.run(script, profile=profile)
                    server.stop()
                    equal(result["stdout_summary"], "", "read from %s in %s" % (device,
                                                                                result["sandbox"]))
        finally:
            subprocess.run(["umount", os.path.dirname(key)], check=False)
    finally:
        place.close()


# Ways from the working directory, and from what a process has, out of a mount namespace.
WAYS_OUT = ATTEMPT + """
base = sys.argv[1]
def make(path, at=None):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600, dir_fd=at))
def above():
    up = os.open("..", os.O_RDONLY | os.O_DIRECTORY)
    try:
        make("outside/above", up)
    finally:
        os.close(up)
def by_path_descriptor():
    here = os.open(".", os.O_PATH | os.O_DIRECTORY)
    make("../outside/path_descriptor", here)
def from_root():
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    make(base[1:] + "/outside/root", root)
def by_shim(name):
    make("/proc/%d/%s%s/outside/shim" % (os.getppid(), name, base))
def chdir_up():
    os.chdir("../outside")
    make("chdir")
attempt("way.above", above)
attempt("way.path_descriptor", by_path_descriptor)
attempt("way.root", from_root)
attempt("way.cwd", lambda: make("/proc/self/cwd/../outside/cwd"))
attempt("way.own_root", lambda: make("/proc/self/root%s/outside/own_root" % base))
attempt("way.init_root", lambda: make("/proc/1/root%s/outside/init_root" % base))
attempt("way.init_cwd", lambda: make("/proc/1/cwd%s/outside/init_cwd" % base))
attempt("way.shim_root", lambda: by_shim("root"))
attempt("way.chdir", chdir_up)
for fd in os.listdir("/proc/self/fd"):
    attempt("way.fd" + fd, lambda: make("/proc/self/fd/%s/../outside/fd%s" % (fd, fd)))
"""


@each_form
def test_no_way_out(place, options):
    """Also by the mount namespace alone, where no Landlock helps."""
    bare = place.server(*NO_SANDBOX)
    found, _ = doors(bare, WAYS_OUT, place.base)
    bare.stop()
    for way in ("above", "path_descriptor", "root", "cwd", "own_root", "chdir"):
        equal(found["way." + way], "open", "without a sandbox")
    for wrapper in ([], [hostile_program("without"), "landlock"]):
        shutil.rmtree(place.path("outside"))
        place.fill(place.path("outside"))
        place.own()
        server = place.server(*options, wrapper=wrapper)
        found, sandbox = doors(server, WAYS_OUT, place.base)
        server.stop()
        if keeps_files(sandbox):
            equal(is_open(found, "way"), {}, "open in %s" % sandbox)
            equal(sorted(os.listdir(place.path("outside"))), ["gone", "there", "victim"], "outside")


def mounts_of(server):
    """[(path, options, those of the file system)] of a run, and its layers."""
    result = server.run("cat", ["/proc/self/mountinfo"], max_output_bytes=1 << 20, stdout_lines=10000)
    lines = [line.split(" ") for line in result["stdout_summary"].splitlines()]
    return [(at[4], at[5].split(","), at[-1].split(",")) for at in lines], result["sandbox"]


@each_form
def test_mounts_are_shut(place, options):
    """By their own options: the other layers refuse what these would allow."""
    server = place.server(*options)
    mounts, sandbox = mounts_of(server)
    if "mount_namespace" not in sandbox:
        raise Skip("no mount namespace here: %s" % sandbox)
    tmpdir = server.run("echo $TMPDIR")["stdout_summary"].strip()
    devices = "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty".split()
    terminals = ["/dev/pts", "/dev/ptmx"]
    for path, own, _ in mounts:
        if path not in [place.workspace, tmpdir, "/dev/shm", "/dev/mqueue", *terminals]:
            check("ro" in own, "%s is writable: %s" % (path, own))
        if path not in [*devices, *terminals, "/proc/locks"]:
            check("nodev" in own, "%s has devices: %s" % (path, own))
    if "pid_namespace" in sandbox:
        own, of_type = [mount[1:] for mount in mounts if mount[0] == "/proc"][-1]
        equal({"ro", "nosuid", "nodev", "noexec"} - set(own), set(), "/proc")
        check("hidepid=ptraceable" in of_type, "/proc shows its shim: %s" % of_type)
        equal(server.run("ls", ["-d", "/proc/1"])["exit_code"], 2, "status of ls /proc/1")
    server.stop()


@each_form
def test_inherited_descriptors(place, options):
    """What a host left open in the server, directories above all, does not reach a command."""
    opener = ["/bin/sh", "-c", 'exec 5<"$0" 9<"$0" 8<"$0/outside/there"; exec "$@"', place.base]
    shown = subprocess.run(opener[:2] + ['exec 5<"$0" 9<"$0"; ls /proc/self/fd', place.base],
                           capture_output=True, text=True, check=True).stdout.split()
    check("5" in shown and "9" in shown, "a child inherits nothing anyway: %s" % shown)
    for wrapper in ([], [hostile_program("without"), "close_range"]):
        server = place.server(*options, wrapper=opener + wrapper)
        for params in ({}, {"stdin": "x"}, {"network": False}):
            result = server.run("ls", ["/proc/self/fd"], **params)
            equal(result["stdout_summary"].split(), ["0", "1", "2", "3"], "descriptors")
        server.stop()


# ---------------------------------------------------------------- from run to run

# Arguments: SOCKET MARK [HIDDEN]. Takes descriptors from another run, looks through them for a
# process with MARK and the file HIDDEN when the file `port` is there, and writes what it found to
# `looked`.
HOLDER = """
import array, os, socket, sys, time
mark, found, fds = sys.argv[2].encode(), set(), array.array("i")
def whole(fd):
    return b"".join(iter(lambda: os.read(fd, 65536), b""))
def read(path, at):
    fd = os.open(path, os.O_RDONLY, dir_fd=at)
    try:
        return whole(fd)
    finally:
        os.close(fd)
def attempt(name, call):
    try:
        if call():
            found.add(name)
    except OSError:
        pass
def processes(at):
    for pid in filter(str.isdigit, os.listdir(at)):
        attempt("cmdline", lambda: mark in read(pid + "/cmdline", at))
        attempt("environ", lambda: mark in read(pid + "/environ", at))
        attempt("output", lambda: mark in read(pid + "/cmdline", at) and
                os.open(pid + "/fd/1", os.O_WRONLY | os.O_NONBLOCK, dir_fd=at))
def connect(at):
    s = socket.socket(fileno=os.dup(at))
    s.settimeout(15)
    with open("port") as f:
        s.connect(("127.0.0.1", int(f.read())))
    return True
def root(at):
    for _ in range(100 if sys.argv[3:] else 0):  # the namespace ends a little after its run
        attempt("hidden", lambda: read(sys.argv[3][1:], at))
        time.sleep(0.01)
    processes(os.open("proc", os.O_RDONLY, dir_fd=at))
def listed(name, text):
    def look(at):
        os.lseek(at, 0, os.SEEK_SET)
        attempt(name, lambda: text() in whole(at))
    return look
def lock():
    return b":%d " % os.stat("lock").st_ino
def again(name, text):
    def look(fd):
        attempt(name, lambda: text() in read("/proc/self/fd/%d" % fd, None))
    return look
def listening():
    with open("port") as f:
        return b" 0100007F:%04X 00000000:0000 0A " % int(f.read())
def address():
    return b"@" + mark
looks = {"root": root, "locks": listed("lock", lock),
         "segments": listed("segment", lambda: b" 20301 "),
         "proc": lambda at: processes(at) or attempt("lock", lambda: lock() in read("locks", at)),
         "init": lambda at: attempt("children", lambda: read("task/1/children", at).split()),
         "tcp": listed("port", listening), "tcp_path": again("port", listening),
         "unix": listed("name", address), "unix_path": again("name", address),
         "socket": lambda at: attempt("connection", lambda: connect(at))}
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1] + ".new")
server.listen(1)
os.rename(sys.argv[1] + ".new", sys.argv[1])
server, _ = server.accept()
kinds, ancillary, _, _ = server.recvmsg(100, socket.CMSG_SPACE(10 * fds.itemsize))
fds.frombytes(ancillary[0][2])
open("taken", "x").close()
while not os.path.exists("port"):
    time.sleep(0.02)
for kind, fd in zip(kinds.decode().split(), fds):
    attempt("", lambda: looks[kind](fd))
with open("looked.new", "x") as f:
    f.write(" ".join(sorted(found)))
os.rename("looked.new", "looked")
"""

# Arguments: SOCKET. Gives away what shows or reaches the processes of its namespaces.
GIVER = """
import os, socket, sys
ways = {"proc": lambda: os.open("/proc", os.O_RDONLY), "init": lambda: os.open("/proc/1", os.O_RDONLY),
        "root": lambda: os.open("/", os.O_RDONLY), "socket": lambda: socket.socket().detach(),
        "locks": lambda: os.open("/proc/locks", os.O_RDONLY),
        "segments": lambda: os.open("/proc/sysvipc/shm", os.O_RDONLY),
        "tcp": lambda: os.open("/proc/net/tcp", os.O_RDONLY),
        "tcp_path": lambda: os.open("/proc/net/tcp", os.O_PATH),
        "unix": lambda: os.open("/proc/net/unix", os.O_RDONLY),
        "unix_path": lambda: os.open("/proc/net/unix", os.O_PATH)}
fds = {}
for kind, way in ways.items():
    try:
        fds[kind] = way()
    except OSError:
        pass
print(os.readlink("/proc/self/ns/pid"))
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
socket.send_fds(s, [" ".join(fds).encode()], fds.values())
"""

# Arguments: MARK. Locks the file `lock`, makes a segment of 20,301 bytes, has MARK for an address,
# listens on its loopback device and writes the port to `port`; ends after `looked`.
VICTIM = """
import ctypes, fcntl, os, socket, sys, time
port = 1
named = socket.socket(socket.AF_UNIX)
named.bind("\\0" + sys.argv[1])
lock = open("lock", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
libc = ctypes.CDLL(None)
segment = libc.shmget(0, 20301, 0o600)
try:
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(1)
    port = s.getsockname()[1]
except OSError:
    pass
with open("port.new", "x") as f:
    f.write(str(port))
os.rename("port.new", "port")
while not os.path.exists("looked"):
    time.sleep(0.02)
libc.shmctl(segment, 0, None)
"""


def come_back_to(server, namespace, **params):
    """Run something until the shim with this PID namespace has served it, if it serves again: as the
    last to come back it serves the next run, too. The network namespace of that run, or None."""
    script = "readlink /proc/self/ns/pid /proc/self/ns/net; sleep 0.05"
    for at_once in [1, 2, 3] * 10:  # one that makes something anew falls behind the others
        ids = [server.request("process.run", dict(params, command=script)) for _ in range(at_once)]
        seen = [server.result(id)["stdout_summary"].split() for id in ids]
        if namespace in (pid for pid, _ in seen):
            return dict(seen)[namespace]
    return None


def seen_through(place, *options, wrapper=(), hidden=(), **params):
    """(what a run finds of a later one through descriptors that one between the two gave it, the
    layers of the later one, the gaps)"""
    mark = os.path.basename(place.base)

    def there(name):
        return os.path.exists(os.path.join(place.workspace, name))

    shutil.rmtree(place.workspace)
    place.fill(place.workspace)
    place.own()
    server = place.server(*options, wrapper=wrapper)
    gaps = session(server)["gaps"]
    server.run("true", **params)
    server.run(PYTHON, ["-c", HOLDER, "socket", mark, *hidden], background=True)
    eventually(lambda: there("socket"), WAIT, "no holder")
    result = server.run(PYTHON, ["-c", GIVER, "socket"], **params)
    equal(result["exit_code"], 0, "the giver; %s" % result["stderr_summary"])
    eventually(lambda: there("taken"), WAIT, "nothing was taken")
    if any(layer.startswith("landlock") for layer in result["sandbox"]):
        come_back_to(server, result["stdout_summary"].strip(), **params)
    result = server.run(PYTHON, ["-c", VICTIM, mark], environment={"TOKEN": mark}, **params)
    equal(result["exit_code"], 0, "the victim; %s" % result["stderr_summary"])
    server.stop()
    with open(os.path.join(place.workspace, "looked"), encoding="utf-8") as f:
        return set(f.read().split()), result["sandbox"], " ".join(gaps)


@each_form
def test_descriptors_of_an_earlier_run(place, options):
    """They show and reach nothing of a later run, whichever layers the two have. Without a PID
    namespace every process of the user can be seen, which is a gap with a name."""
    found, _, _ = seen_through(place, *options, *NO_SANDBOX)
    check({"cmdline", "environ", "output", "connection", "lock", "segment", "port", "name"} <= found,
          "open without a sandbox: %s" % found)
    for wrapper in ([], [hostile_program("without"), "landlock"]):
        for params in ({}, {"network": False}, {"profile": "strict"}):
            if wrapper and options and params:
                continue  # strict demands one layer for files
            found, sandbox, _ = seen_through(place, *options, wrapper=wrapper, **params)
            if "pid_namespace" in sandbox:
                equal(found - ({"connection", "port", "name"} if not params else set()), set(),
                      "open in %s" % " ".join(sandbox))
            elif "network_off:seccomp" in sandbox:
                check("connection" not in found, "connected in %s" % " ".join(sandbox))


# What a run does with sockets, and whether something of it may be left in its network namespace, or
# lead there.
SOCKETS = [
    ("nothing", "pass", False),
    ("streams", "socketpair(); socketpair(AF_UNIX, SOCK_SEQPACKET)", False),
    ("bound", "socket().bind(('127.0.0.1', 0)); socket(AF_INET6, SOCK_DGRAM).close()", False),
    ("unix", "socket(AF_UNIX).close()", True),
    ("datagrams", "socketpair(AF_UNIX, SOCK_DGRAM)", True),
    ("raw", "socketpair(AF_UNIX, SOCK_RAW)", True),
    ("flags", "socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK)", True),
    ("thread", "t = threading.Thread(target=socket, args=[AF_UNIX]); t.start(); t.join()", True),
    ("grandchild", """
if not os.fork():
    os.setsid()
    if not os.fork():
        socket(AF_UNIX)
        os._exit(0)
    os.wait()
    os._exit(0)
os.wait()
""", True),
    ("filter", """
libc, filter = ctypes.CDLL(None), ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
code = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 1, ctypes.addressof(filter)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, code, 0, 0):
    raise OSError("no filter")
socket(AF_UNIX)
""", True),
]
IP = [
    ("ip", "socket(AF_INET, SOCK_RAW, 2).close()", True),
    ("label", """
if not os.path.exists("/proc/net/ip6_flowlabel"):
    socket(AF_UNIX)
else: # struct in6_flowlabel_req, IPV6_FLOWLABEL_MGR: get, exclusive, create
    request = struct.pack("=16sIBBHHHI", inet_pton(AF_INET6, "::1"), 0, 0, 1, 1, 60, 60, 0)
    socket(AF_INET6, SOCK_DGRAM).setsockopt(IPPROTO_IPV6, 32, request)
""", True),
    ("connected", """
s = socket()
s.bind(("127.0.0.1", 0))
s.listen()
create_connection(s.getsockname()).close()
""", True),
    ("refused", "socket().connect_ex(('127.0.0.1', 1))", True),
    ("datagram", "socket(AF_INET, SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))", True),
]
SOCKET_MAKER = """
import ctypes, os, struct, sys, threading
from socket import *
print(os.readlink("/proc/self/ns/pid"), os.readlink("/proc/self/ns/net"), flush=True)
try:
    exec(sys.argv[1])
except OSError as e:
    print(e)
"""


@each_form
def test_network_namespace_serves_again(place, options):
    """It serves the next run if nothing leads there from the last one, and nothing is left."""
    server = place.server(*options)
    for params, ways in (({"network": False}, SOCKETS + IP), ({"profile": "strict"}, SOCKETS)):
        for name, code, changes in ways:
            result = server.run(PYTHON, ["-I", "-c", SOCKET_MAKER, code], **params)
            if "network_off:namespace" not in result["sandbox"]:
                raise Skip("no network namespace here: %s" % result["sandbox"])
            own, net = result["stdout_summary"].splitlines()[0].split()
            after = come_back_to(server, own, **params)
            if after is None:
                raise Skip("no shim serves again here after " + name)
            equal((name, after != net), (name, changes), "%s %s" % (params, result["stdout_summary"]))
    server.stop()


@each_form
def test_sockets_that_end_late(place, options):
    """The kernel keeps some for a while: they are not in the next run's namespace."""
    server = place.server(*options)
    program = place.path("workspace", "hostile")  # strict hides /tmp, where this may lie
    shutil.copy(hostile_program(), program)
    for params, ways in (({"network": False}, ("queue", "poll")), ({"profile": "strict"}, ("queue",))):
        for way in ways:
            for n in range(100):
                left = server.run(program, ["leave", way], **params)
                if "network_off:namespace" not in left["sandbox"]:
                    raise Skip("no network namespace here: %s" % left["sandbox"])
                equal(left["exit_code"], 0, left["stderr_summary"])
                taken = server.run(program, ["leave", "none"], **params)
                equal((taken["exit_code"], n), (0, n), way + ": " + taken["stderr_summary"])
    server.stop()


# A name in / that is new, replaced, or begins with a dot. In a root of its own.
ROOT = """
set -e
mount -t tmpfs none "$0"
cd "$0"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
cd root
for path in /*; do
    case $path in /tmp|/var) ;; *) mountpoint -q "$path" || continue ;; esac
    mount --rbind "$path" "${path#/}"
done
mkdir -p old .dots
echo fine >.dots/file
echo fine >replaced
pivot_root . old
umount -l /old
exec "$@"
"""


@each_form
def test_names_in_the_root(place, options):
    """Commands read what lies in / directly, also what comes and changes after the server's start."""
    before = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ROOT]
    with tempfile.TemporaryDirectory() as top:
        wrapper = before + [top]
        if os.geteuid() or subprocess.run(wrapper + ["true"], capture_output=True, check=False).returncode:
            raise Skip("no root of its own can be made here")
        server = place.server(*options, before=wrapper)
        root = "/proc/%d/root/" % server.pid
        equal(server.run("cat /.dots/file /replaced")["stdout_summary"], "fine\nfine\n", "at the start")
        for n in range(3):
            os.makedirs(root + "new%d" % n)
            write(root + "new%d/file" % n, "new\n")
            write(root + "other", "other\n")
            os.rename(root + "other", root + "replaced")
            equal(server.run("cat /new%d/file /replaced" % n)["stdout_summary"], "new\nother\n", str(n))
        server.stop()


MANY_SOCKETS = """
import threading
from socket import *
def make(count):
    for _ in range(count):
        socket(AF_UNIX).close()
threads = [threading.Thread(target=make, args=[%s]) for _ in range(8)]
print("begun", flush=True)
for t in threads: t.start()
for t in threads: t.join()
"""


@each_form
def test_many_sockets(place, options):
    """The calls that the shim is told of work as ever, and a run full of them is killed at once."""
    server = place.server(*options)
    for params in ({"network": False}, {"profile": "strict"}):
        result = server.run(PYTHON, ["-c", MANY_SOCKETS % 200], **params)
        equal((result["exit_code"], result["stderr_summary"]), (0, ""), "all are made")
        result = server.run(PYTHON, ["-c", MANY_SOCKETS % (1 << 40)], timeout=1, **params)
        equal((result["state"], result["survivors"]), ("timed_out", 0), "endless ones")
        check(result["duration_ms"] < 1000 * WAIT, "it took %d ms" % result["duration_ms"])
        run = server.run(PYTHON, ["-c", MANY_SOCKETS % (1 << 40)], background=True, **params)
        this = {"process_id": run["process_id"]}
        server.call("process.monitor", dict(this, until="output", wait_ms=10000, **{"from": 0}))
        server.call("process.kill", dict(this, signal="SIGKILL"))
        ended = server.call("process.monitor", dict(this, until="exit", wait_ms=10000))
        equal((ended["matched"], ended["state"]), (True, "killed"), "its end")
    server.stop()


@each_form
def test_hidden_through_a_kept_directory(place, options):
    """A directory that a run gave away shows nothing hidden when the run's mounts are gone. Where
    they cannot be locked it does, and the gap says so."""
    key = place.path("extra", "there")
    option = "sandbox.hide=" + place.path("extra")
    if not hides(place, options):
        return
    without = [hostile_program("without"), "user_namespaces"]
    for wrapper in ([], without) if works_as_root(place) else ([],):
        found, sandbox, gaps = seen_through(place, "--set", option, "--set", "sandbox.ahead=false",
                                            wrapper=wrapper, hidden=[key])
        check("mount_namespace" in sandbox, "layers %s" % sandbox)
        equal("hidden" in found, bool(wrapper), "found by the other run")
        equal("hands to another one" in gaps, bool(wrapper), "gap")


# ---------------------------------------------------------------- network

class Listener:
    """A service of this host on loopback: it takes connections and echoes datagrams."""

    def __enter__(self):
        self.tcp = socket.socket()
        self.tcp.bind(("127.0.0.1", 0))
        self.tcp.listen(16)
        self.port = self.tcp.getsockname()[1]
        self.echo = subprocess.Popen([PYTHON, "-c", """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
while True:
    data, whom = s.recvfrom(100)
    s.sendto(data, whom)
""", str(self.port)], stdout=subprocess.PIPE)
        self.echo.stdout.readline()
        return self

    def __exit__(self, *_):
        self.echo.kill()
        self.echo.wait()
        self.echo.stdout.close()
        self.tcp.close()


@each_form
def test_network(place, options):
    """On by default; off when the operator, the request or strict says so, by kernel means."""
    off = ["--set", "sandbox.network=false"]
    needs_strict(place, options)
    with Listener() as host:
        for extra, params in (([], {"network": False}), (off, {}), (off, {"network": True}),
                              ([], {"profile": "strict"}),
                              (["--set", "sandbox.profile=strict"], {"profile": "default"}),
                              (["--set", "sandbox.profile=strict"], {"network": True})):
            server = place.server(*options, *extra)
            found, sandbox = doors(server, NETWORK, str(host.port), **params)
            server.stop()
            layer = [name for name in sandbox if name.startswith("network_off")]
            equal(len(layer), 1, "network_off in %s" % sandbox)
            check(found["tcp"] != "open" and found["udp"] != "open",
                  "%s, %s: %s" % (extra, params, found))
            equal(found["unix"], "open", "sockets within the run")
            if layer == ["network_off:seccomp"]:
                equal((found["tcp"], found["own"]), ("EAFNOSUPPORT", "EAFNOSUPPORT"), "by filter")
            elif "seccomp:strict" not in sandbox:
                equal(found["own"], "open", "the run's own loopback")
            check(not options or layer == ["network_off:seccomp"], "layer %s" % layer)
        server = place.server(*options)
        found, sandbox = doors(server, NETWORK, str(host.port))
        server.stop()
        equal((found["tcp"], found["udp"], found["own"]), ("open",) * 3, "the network is on")
        check(not any(name.startswith("network_off") for name in sandbox), str(sandbox))


# ---------------------------------------------------------------- shared memory

# Arguments: FILE in /dev/shm, KEY, then "make" or "find"; and the kinds, without which it is all.
SHARED = ATTEMPT + """
import ctypes, ctypes.util
libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
key, flags = int(sys.argv[2]), 0o1600 if sys.argv[3] == "make" else 0
def call(name, *args):
    if getattr(libc, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), "")
def queue():
    call("mq_open", b"/" + sys.argv[1].encode(), 0o102 if flags else 2, 0o600, None)
kinds = {"file": lambda: open("/dev/shm/" + sys.argv[1], "a" if flags else "r").close(),
         "segment": lambda: call("shmget", key, 4096 if flags else 0, flags),
         "semaphores": lambda: call("semget", key, 1 if flags else 0, flags),
         "messages": lambda: call("msgget", key, flags), "queue": queue}
for kind in sys.argv[4:] or kinds:
    attempt(kind, kinds[kind])
"""
REMOVE = """
import ctypes, ctypes.util, os, sys
libc = ctypes.CDLL(ctypes.util.find_library("c"))
key = int(sys.argv[2])
libc.shmctl(libc.shmget(key, 0, 0), 0, None)
libc.semctl(libc.semget(key, 0, 0), 0, 0)
libc.msgctl(libc.msgget(key, 0), 0, None)
libc.mq_unlink(b"/" + sys.argv[1].encode())
if os.path.exists("/dev/shm/" + sys.argv[1]):
    os.unlink("/dev/shm/" + sys.argv[1])
"""


def shared(server, args, what, *kinds, **params):
    """What of it can be made or found, and the layers. Landlock lets no command open a queue."""
    found, sandbox = doors(server, SHARED, *args, what, *kinds, **params)
    if not kinds and any(layer.startswith("landlock") for layer in sandbox):
        check(found.pop("queue") != "open", "a queue under Landlock")
    return found, sandbox


def shared_memory(place, options, ours, others, wrapper):
    server = place.server(*NO_SANDBOX)
    made, _ = shared(server, others, "make")
    equal((set(made.values()), shared(server, others, "find")[0]), ({"open"}, made), "no sandbox")
    server.stop()
    server = place.server(*options, wrapper=wrapper)
    gaps = server.call("agent.session")["sandbox"]["gaps"]
    named = any(gap.startswith("shared_memory:") for gap in gaps)
    found, sandbox = shared(server, others, "find")
    made = dict.fromkeys(found, "open")
    if "mount_namespace" not in sandbox:
        equal((found, named), (made, True), "without namespaces")
        server.stop()
        return
    equal((found, named), (dict.fromkeys(made, "ENOENT"), False), "the host's")
    equal(shared(server, ours, "make")[0], made, "made")
    for _ in range(3):  # a shim that has served a command could serve the next
        found, _ = shared(server, ours, "find")
        equal(found, dict(dict.fromkeys(made, "ENOENT"), file="open"), "found by the next run")
    for kind in ("segment", "semaphores", "messages"):  # the only one that a run leaves
        equal(shared(server, ours, "make", kind)[0], {kind: "open"}, "made alone")
        equal(shared(server, ours, "find", kind)[0], {kind: "ENOENT"}, "found by the next run")
    equal(doors(server, SHARED, *ours, "find", profile="strict")[0]["file"], "open", "under strict")
    check(not os.path.exists("/dev/shm/" + ours[0]), "it is on the host")
    server.run("mv $TMPDIR/.shm $TMPDIR/gone; ln -s /dev $TMPDIR/.shm")
    server.stop()  # the next shim finds something else in its place
    server = place.server(*options, wrapper=wrapper)
    for _ in range(4):
        check(shared(server, others, "find")[0]["file"] != "open", "the host's after all")
        server.run("rm -rf $TMPDIR/.shm; ln -s /dev $TMPDIR/.shm; sleep 0.1 & sleep 0.2")
    server.stop()


@each_form
def test_shared_memory(place, options):
    """/dev/shm is the session's and IPC the run's where there are namespaces; else a gap says so."""
    name, key = os.path.basename(place.base), os.getpid() << 8 | 77
    ours, others = [name, str(key)], [name + "-host", str(key + 1)]
    try:
        for wrapper in ([], [hostile_program("without"), "landlock"]):
            shared_memory(place, options, ours, others, wrapper)
    finally:
        for args in (ours, others):
            subprocess.run([PYTHON, "-c", REMOVE] + args, check=False)


# ---------------------------------------------------------------- set-uid and set-gid files

# Each call with a mode that sets an id, and whether the file has it then. Raw numbers: libc
# has no function for these, or one that uses another call.
SET_ID = ATTEMPT + """
import ctypes, platform, stat
libc = ctypes.CDLL(None, use_errno=True)
def raw(number, *args):
    result = libc.syscall(number, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result
def there(name):
    open(name, "w").close()
    return name
class How(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("flags", "mode", "resolve")]
for bit in (stat.S_ISUID, stat.S_ISGID):
    mode = bit | 0o755
    here = os.open(".", os.O_RDONLY)
    ways = {
        "chmod": lambda: os.chmod(there("f"), mode),
        "fchmod": lambda: os.fchmod(os.open(there("f"), os.O_RDONLY), mode),
        "fchmodat": lambda: os.chmod(there("f"), mode, dir_fd=here),
        "openat": lambda: os.close(os.open("f", os.O_RDWR | os.O_CREAT, mode)),
        "mkdir": lambda: os.mkdir("f", mode),
        "mkdirat": lambda: os.mkdir("f", mode, dir_fd=here),
        "mknod": lambda: os.mknod("f", mode | stat.S_IFREG),
        "mknodat": lambda: os.mknod("f", mode | stat.S_IFREG, dir_fd=here),
        "fchmodat2": lambda: raw(452, here, there("f").encode(), mode, 0),
        "openat2": lambda: raw(437, here, b"f", ctypes.byref(How(os.O_RDWR | os.O_CREAT, mode, 0)),
                               24),
    }
    if platform.machine() == "x86_64":
        ways["open"] = lambda: raw(2, b"f", os.O_RDWR | os.O_CREAT, mode)
        ways["creat"] = lambda: raw(85, b"f", mode)
    def unnamed():
        made = os.fstat(os.open(".", os.O_RDWR | os.O_TMPFILE, mode))
        if not made.st_mode & bit:
            raise OSError(errno.ENODATA, "")
    def named(call):
        call()
        if not os.stat("f").st_mode & bit:
            raise OSError(errno.ENODATA, "")
    for name, call in ways.items():
        attempt("%o.%s" % (bit, name), lambda: named(call))
        if os.path.isdir("f"):
            os.rmdir("f")
        elif os.path.exists("f"):
            os.unlink("f")
    attempt("%o.O_TMPFILE" % bit, unnamed)
"""
FILE_CAPABILITY = ATTEMPT + """
import struct
open("f", "w").close()
attempt("setcap", lambda: os.setxattr("f", "security.capability",
                                      struct.pack("<5I", 0x2000001, 1, 0, 0, 0)))
"""
DIRECTORIES = {"mkdir", "mkdirat"}  # the kernel drops these bits of their mode itself


@each_form
def test_set_id_files(place, options):
    """No call leaves a set-uid file; root and strict leave no set-gid one either."""
    server = place.server(*NO_SANDBOX)
    outside, _ = doors(server, SET_ID)
    server.stop()
    for bit in ("4000", "2000"):
        closed = {name.partition(".")[2] for name in is_shut(outside, bit)}
        check(closed <= DIRECTORIES | {"fchmodat2", "O_TMPFILE"}, "shut without it: %s" % outside)
    for profile in profiles(place, options):
        server = place.server(*options)
        found, _ = doors(server, SET_ID, profile=profile)
        server.stop()
        want = {name: "ENOSYS" if name.endswith(".openat2") else
                "EPERM" if name.partition(".")[2] not in DIRECTORIES and (
                    name.startswith("4000") or profile == "strict" or works_as_root(place))
                else outside[name] for name in outside}
        equal(found, want, "%s, user %d" % (profile, place.user))


@each_form
def test_file_capabilities(place, options):
    """Programs that give their capabilities to every user cannot be left behind by root."""
    if place.user:
        raise Skip("only root can set them anyway")
    server = place.server(*NO_SANDBOX)
    found, _ = doors(server, FILE_CAPABILITY)
    server.stop()
    if found["setcap"] != "open":
        raise Skip("they cannot be set here: %s" % found)
    server = place.server(*options)
    equal(doors(server, FILE_CAPABILITY)[0], {"setcap": "EPERM"}, "as root")
    server.stop()


@each_form
def test_set_gid_trees(place, options):
    """Users share trees by set-gid directories: git, cp and tar go on making them."""
    if not place.user or not shutil.which("git"):
        raise Skip("it takes an ordinary user, and git")
    server = place.server(*options)
    result = server.run("git init -q --shared=group repo && mkdir tree && chmod 2775 tree && "
                        "touch tree/f && cp -a tree copy && tar cf tree.tar tree && mkdir out && "
                        "tar xpf tree.tar -C out && stat -c %a repo/.git/objects copy out/tree")
    equal((result["exit_code"], result["stderr_summary"], result["stdout_summary"]),
          (0, "", "2775\n2775\n2775\n"), "trees")
    server.stop()


# ---------------------------------------------------------------- what is required

@each_form
def test_request_only_tightens(place, options):
    needs_strict(place, options)
    server = place.server(*options, "--set", "sandbox.profile=strict")
    for params in ({}, {"profile": "default"}, {"profile": "strict"}):
        sandbox = server.run("true", **params)["sandbox"]
        check("seccomp:strict" in sandbox, "%s: %s" % (params, sandbox))
    for params in ({"profile": "none"}, {"profile": ""}, {"sandbox": "none"}):
        try:
            server.run("touch ran", **params)
            check(False, "%s was taken" % params)
        except RpcError as e:
            equal(e.type, "InvalidParams", str(params))
    server.stop()
    server = place.server(*options)
    check("seccomp:default" in server.run("true")["sandbox"], "the default profile")
    check("seccomp:strict" in server.run("true", profile="strict")["sandbox"], "tightened")
    server.stop()
    check(not os.path.exists(place.path("workspace", "ran")), "it ran")


def refused(server, layer, **params):
    """process.run is SandboxUnavailable because of @layer, and nothing runs."""
    for _ in range(2):
        try:
            server.run("touch", [server.workspace + "/ran"], **params)
        except RpcError as e:
            equal(e.type, "SandboxUnavailable", str(e))
            equal(e.error["data"]["details"].get("layer"), layer, "details: %s" % e)
            check("procpen doctor" in e.error["data"]["hint"], "a hint: %s" % e.error)
        else:
            check(False, "it was not refused")
    check(not os.path.exists(server.workspace + "/ran"), "it ran")
    server.ping()
    server.stop()


@each_form
def test_session_lists_the_layers_of_a_run(place, options):
    """Of one that asks for nothing; what holds each limit stands beside them."""
    for limits in ((), ("--set", "limits.tasks_per_run=0", "--set", "process.memory_bytes=128M")):
        server = place.server(*options, *limits)
        layers = [layer for layer in server.run("true")["sandbox"] if "_limit:" not in layer]
        equal(session(server)["active"], layers, "layers with %s" % (limits,))
        server.stop()


@each_form
def test_namespaces_that_are_good_for_nothing(place, options):
    """The clone is allowed but its mounts or maps are refused: the run goes on without."""
    usual = place.server(*options)
    active = session(usual)["active"]
    usual.stop()
    for feature in ("ambient", "bounding"):
        server = place.server(*options, wrapper=[hostile_program("without"), feature])
        equal(server.run("echo", ["ran"])["stdout_summary"], "ran\n", "a command")
        sandbox = session(server)
        server.stop()
        reported = {m["layer"]: m["reason"] for m in sandbox["missing"]}
        gone = {"pid_namespace", "mount_namespace"}
        if not place.user and os.geteuid() == 0:  # it needs no user namespace
            gone = {"capabilities"} if feature == "bounding" else set()
        equal(set(active) - set(sandbox["active"]), gone & set(active), "gone without " + feature)
        for layer in gone & set(active):
            check("EPERM" in reported[layer], "%s" % reported)


@each_form
def test_required_layer_missing(place, options):
    without = hostile_program("without")
    # Strict needs one of the two that keep files. The operator's own word stops the start.
    server = place.server("--set", "sandbox.namespaces=false", wrapper=[without, "landlock"])
    equal(server.run("true")["exit_code"], 0, "the default profile does without")
    refused(server, "mount_namespace", profile="strict")


@suite.test()
def test_required_names_are_checked():
    """An unknown name would protect nothing: the server does not start."""
    place = Place()
    try:
        for setting in ("sandbox.require=landlok", "sandbox.require=landlock,everything",
                        "sandbox.hide=secret", "sandbox.writable=cache", "sandbox.hide=/home/*",
                        "sandbox.user=a,b"):
            server = place.server("--set", setting)
            check(server.wait_exit() != 0, "%s: it started" % setting)
            check(setting.split("=")[0] in server.stderr_text(), server.stderr_text())
    finally:
        place.close()


# ---------------------------------------------------------------- another user

@suite.test()
def test_user():
    """Only an account that the operator lists, and only if the server is root."""
    place = Place()
    os.chmod(place.path("workspace"), 0o777)
    try:
        server = place.server("--set", "sandbox.users=nobody,nosuchuser")
        for user, kind in (("daemon", "PermissionDenied"), ("root", "PermissionDenied"),
                           ("nosuchuser", "InvalidParams")):
            try:
                server.run("touch ran", user=user)
                check(False, "user %s was taken" % user)
            except RpcError as e:
                wanted = kind if os.geteuid() == 0 or kind == "PermissionDenied" else "InvalidParams"
                equal(e.type, wanted, str(e))
        check(not os.path.exists(place.path("workspace", "ran")), "it ran")
        check("sandbox.users: no command can run as nosuchuser" in server.stderr_text(), "stderr")
        if os.geteuid() != 0:
            raise Skip("only root can run commands as another user")
        equal(server.call("agent.session")["users"], ["nobody", "nosuchuser"], "users")
        body = ("id -u; id -G; echo $HOME $USER $LOGNAME; stat -c %a:%u $TMPDIR; echo ok >/dev/stdout; "
                "touch mine && stat -c %U mine; grep ^CapBnd /proc/self/status")
        for again in range(3):  # the third finds a shim that waits
            result = server.run(body, user="nobody")
            lines = result["stdout_summary"].split("\n")
            equal(lines[0:2], ["65534", "65534"], "ids: %s" % result)
            equal(lines[2].split()[1:], ["nobody", "nobody"], "USER, LOGNAME")
            check(lines[2].split()[0] != place.path("home"), "HOME is the server's")
            equal(lines[3:6], ["700:65534", "ok", "nobody"], "TMPDIR, /dev/stdout, owner of a file")
            equal(lines[6].split()[1], "0" * 16, "capabilities")
            check("credentials:65534" in result["sandbox"], str(result["sandbox"]))
            other = server.run("id -u; echo $HOME; grep ^CapBnd /proc/self/status; ls $TMPDIR/../..")
            lines = other["stdout_summary"].split("\n")
            equal(lines[:2], [str(os.geteuid()), place.path("home")],
                  "a run of the server's own user")
            equal(lines[2].split()[1], "00000000200425eb", "capabilities of root's commands")
        result = server.run("echo $HOME $USER", user="nobody", environment={"HOME": "/x", "USER": "y"})
        equal(result["stdout_summary"].strip(), "/x y", "the request's own variables")
        tmpdir = server.run("echo $TMPDIR", user="nobody")["stdout_summary"].strip()
        instance = os.path.dirname(tmpdir)
        equal(os.path.dirname(instance), "/var/lib/procpen/tmp-users", "where TMPDIR is")
        server.stop()
        check(not os.path.exists(instance) and not os.path.exists(instance + ".lock"),
              "temporary directory after the end")
    finally:
        place.close()


def capabilities_of_writers(server):
    """The effective ones of each process that writes a run's log file, a child of its shim."""
    found = []
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path, encoding="utf-8") as f:
                status = dict(line.strip().partition(":\t")[::2] for line in f)
            with open("/proc/%s/stat" % status["PPid"], encoding="utf-8") as f:
                grandparent = f.read().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if status["Name"] == "procpen-log" and int(grandparent) == server.pid:
            found.append(int(status["CapEff"], 16))
    return found


@suite.test()
def test_ambient_capabilities():
    """Those that an ordinary user's server was given are not its commands', nor their writers'."""
    try:
        place = Place(ORDINARY)
    except Skip as e:
        raise Skip("%s, and give it capabilities" % e) from e
    given = ["setpriv", "--reuid", str(ORDINARY), "--regid", str(ORDINARY), "--clear-groups",
             "--inh-caps", "+net_raw", "--ambient-caps", "+net_raw", "--"]
    try:
        for options, kept in ((["--set", "sandbox.profile=none"], True), (NO_NAMESPACES, False),
                              ([], False)):
            server = Server(*options, base=place.base, wrapper=given)
            for again in range(3):  # the third finds a shim that waits
                for params in ({}, {"explain_denials": not kept}):
                    found = server.run("grep -E '^Cap(Prm|Eff|Amb)' /proc/self/status",
                                       **params)["stdout_summary"]
                    equal(sum(int(line.split()[1], 16) != 0 for line in found.splitlines()),
                          3 if kept else 0, "%s, run %d: %s" % (options, again, found))
            if not kept:
                server.run("sleep", ["100"], background=True, log_file="log")
                # it names itself, and the answer does not wait for that
                found = eventually(lambda s=server: capabilities_of_writers(s), WAIT, "no writer")
                equal(found, [0], "%s: of the writer" % options)
            server.stop()
    finally:
        place.close()


# Bits of capabilities(7): chown, dac_override, fowner, kill, setgid, setuid, setpcap,
# net_bind_service, net_raw, sys_chroot, audit_write.
ROOT_KEEPS = sum(1 << bit for bit in (0, 1, 3, 5, 6, 7, 8, 10, 13, 18, 29))


@suite.test()
def test_capabilities_of_root():
    """These and no others: CAP_MKNOD, CAP_SETFCAP and CAP_FSETID leave something behind."""
    if os.geteuid() != 0:
        raise Skip("only root has any")
    with open("/proc/self/status", encoding="utf-8") as f:
        own = int(re.search(r"^CapEff:\s*(\w+)$", f.read(), re.M)[1], 16)
    place = Place()
    try:
        for options in ((), ("--set", "sandbox.namespaces=false")):
            server = place.server(*options)
            for _ in range(2): # of a shim that is made, and of one that waited
                got = dict(re.findall(r"^Cap(\w+):\s*(\w+)$",
                                      server.run("cat /proc/self/status")["stdout_summary"], re.M))
                equal({name: int(bits, 16) for name, bits in got.items()},
                      {"Inh": 0, "Prm": ROOT_KEEPS & own, "Eff": ROOT_KEEPS & own,
                       "Bnd": ROOT_KEEPS & own, "Amb": 0}, "with %s" % (options,))
            server.stop()
    finally:
        place.close()


@suite.test()
def test_user_by_default():
    if os.geteuid() != 0:
        raise Skip("only root can run commands as another user")
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    place = Place()
    try:
        server = place.server("--set", "sandbox.user=nobody", "--set", "sandbox.users=daemon",
                              before=["setpriv", "--groups", "4242", "--"])
        equal(server.run("id -G")["stdout_summary"], "65534\n", "groups, without the server's own")
        for params, want in (({}, "nobody"), ({"user": "nobody"}, "nobody"), ({"user": "daemon"}, "daemon")):
            equal(server.run("id -un", **params)["stdout_summary"].strip(), want, str(params))
            equal(server.run("echo shared >/dev/shm/" + want, **params)["exit_code"], 0, "/dev/shm")
        os.chmod(place.path("workspace"), 0o700)
        try:
            server.run("touch ran")
            check(False, "it ran where it may not go")
        except RpcError as e:
            equal((e.type, e.error["data"]["details"]["stage"]), ("BadDirectory", "chdir"), str(e))
        server.stop()
        record = "".join(open(name, encoding="utf-8").read()
                         for name in glob.glob(server.state + "/audit/*"))
        check('"user":"daemon"' in record and '"user":"nobody"' in record, "the record names them")
        place.user = ORDINARY
        shutil.rmtree(server.state)
        place.own()
        server = place.server("--set", "sandbox.user=nobody")
        equal(server.wait_exit(), 1, "exit status of a server that cannot follow it")
        check("sandbox.user" in server.stderr_text(), server.stderr_text())
    finally:
        place.close()


if __name__ == "__main__":
    suite.main()
