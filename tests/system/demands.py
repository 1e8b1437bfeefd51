#!/usr/bin/env python3
"""What the operator demands and this machine cannot give stops the start, of serve and run, and
doctor says so. And what sandbox.hide names is hidden from every command that starts after it came,
whatever comes, goes and leads elsewhere meanwhile."""
import json
import os
import shutil
import subprocess
import tempfile

from client import WAIT, RpcError, Server, Skip, check, equal, hostile_program, server_path
from suite import Suite

suite = Suite()
PLAIN = ["--set", "sandbox.namespaces=false"]
BARE = ["--set", "sandbox.profile=none"]
ORDINARY = 65534


def without(*features):
    """A wrapper for a kernel that lacks these."""
    return [word for feature in features for word in (hostile_program("without"), feature)]


def as_user(user):
    if not user:
        return []
    if os.geteuid() != 0:
        raise Skip("only root can become another user")
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    return ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", "--"]


class Place:
    """A workspace with a secret in it, and beside it, of the user who will work there."""

    def __init__(self, user=0):
        if user and os.geteuid() != 0:
            raise Skip("only root can become another user")
        self.user = user
        self.base = tempfile.mkdtemp(prefix="procpen-demands-", dir="/var/tmp")
        for name in ("workspace", "home", "outside"):
            os.mkdir(self.path(name))
        self.write("workspace/key")
        self.write("outside/key")
        self.own()

    def path(self, *names):
        return os.path.join(self.base, *names)

    def write(self, name, text="SECRET"):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def own(self):
        os.chmod(self.base, 0o755)
        for folder, _, names in os.walk(self.base):
            for name in [folder] + [os.path.join(folder, n) for n in names]:
                if self.user:
                    os.chown(name, self.user, self.user, follow_symlinks=False)

    def server(self, *options, wrapper=()):
        return Server(*options, base=self.base, wrapper=as_user(self.user) + list(wrapper))

    def tool(self, *words, wrapper=()):
        """(status, stdout, stderr) of procpen with @words."""
        argv = as_user(self.user) + list(wrapper) + [server_path(), *words]
        done = subprocess.run(argv, cwd=self.path("workspace"), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=WAIT,
                              env={"PATH": os.environ["PATH"], "HOME": self.path("home")})
        return done.returncode, done.stdout, done.stderr

    def options(self, *options):
        return ["--workspace", self.path("workspace"), "--state-dir", self.path("state"), *options]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.base, ignore_errors=True)


def has(place, layer):
    server = place.server()
    active = server.call("agent.session")["sandbox"]["active"]
    server.stop()
    return any(name.split(":")[0] == layer for name in active)


def demands(place):
    """(option, what else is set, the kernel's lack, words that the refusal must have)"""
    hide = "sandbox.hide=" + place.path("workspace", "key")
    yield hide, PLAIN, [], ("mount_namespace", "switched off by the operator", "sandbox.namespaces=on")
    yield hide, BARE, [], ("mount_namespace", "profile none")
    yield "sandbox.hide=" + place.base, [], [], ("holds", place.path("workspace"))
    yield "sandbox.hide=/", [], [], ("holds",)
    yield "sandbox.hide=/proc/version", [], [], ("/proc",)
    yield "sandbox.hide=" + ",".join("/none/%d" % i for i in range(100)), [], [], ("no room",)
    yield "sandbox.readonly=" + ",".join("%s/%d" % ("long" * 50, i) for i in range(100)), [], [], ("no room",)
    yield "sandbox.writable=" + ",".join("/bin/../" * i + "/etc" for i in range(56)), [], [], ("no room",)
    for feature in ("namespaces", "mount", "new_mounts"):
        yield hide, [], [feature], ("mount_namespace", "namespace")
        yield "sandbox.require=mount_namespace", [], [feature], ("mount_namespace",)
        yield "sandbox.require=landlock,pid_namespace", [], [feature], ("pid_namespace",)
    for feature in ("landlock", "landlock_switched_off", "landlock_refused"):
        yield "sandbox.require=landlock", [], [feature], ("Landlock" if feature != "landlock_refused"
                                                          else "ruleset",)
        yield "sandbox.profile=strict", PLAIN, [feature], ("neither Landlock nor a mount namespace",)
    yield "sandbox.require=landlock", BARE, [], ("landlock", "profile none")
    yield "sandbox.user=no-such-account", [], [], ("no-such-account",) if not place.user else ("root",)
    if place.user:
        yield "sandbox.user=nobody", [], [], ("root",)
        yield "sandbox.require=capabilities", [], [], ("capabilities",)


def refused(user):
    with Place(user) as place:
        if not has(place, "mount_namespace") or not has(place, "landlock"):
            raise Skip("this machine lacks the layer that the test removes")
        for option, more, features, words in demands(place):
            name, wrapper = option.split("=")[0], without(*features)
            what = "%s %s %s" % (option[:80], more, features)
            settings = ["--set", option, *more]
            server = place.server(*settings, wrapper=wrapper)
            equal(server.wait_exit(), 1, "%s: exit status of serve" % what)
            with open(server.stderr_path, encoding="utf-8") as f:
                text = f.read().split("\n")[-2]
            for word in (name, "cannot start", "or remove", "procpen doctor") + words:
                check(word in text, "%s: no %r in %r" % (what, word, text))
            mark = place.path("workspace", "ran")
            status, _, err = place.tool("run", *place.options(*settings), "--", "touch", mark,
                                        wrapper=wrapper)
            equal(status, 125, "%s: exit status of run: %s" % (what, err))
            check(name in err and words[0] in err, "%s: run says %r" % (what, err))
            check(not os.path.exists(mark), "%s: it ran" % what)
            status, out, err = place.tool("doctor", "--json", *place.options(*settings),
                                          wrapper=wrapper)
            found = json.loads(out)
            equal((status, found["verdict"], found["ok"]), (1, "broken", False), "%s: doctor" % what)
            rows = [row for row in found["missing"] if row["layer"].split("=")[0] == name]
            check(rows and words[0] in rows[0]["reason"] + rows[0]["layer"] and rows[0]["remedy"],
                  "%s: doctor says %s" % (what, found["missing"]))


@suite.test()
def test_refused_as_started():
    refused(0)


@suite.test()
def test_refused_as_ordinary_user():
    refused(ORDINARY)


def met(user):
    """The same options on a machine that meets them."""
    with Place(user) as place:
        for layer in ("mount_namespace", "landlock"):
            if not has(place, layer):
                raise Skip("no %s here" % layer)
        for option in ("sandbox.hide=" + place.path("workspace", "key"), "sandbox.network=false",
                       "sandbox.require=landlock,pid_namespace,mount_namespace",
                       "sandbox.profile=strict"):
            server = place.server("--set", option)
            equal(server.run("cat key; echo ran")["stdout_summary"],
                  "ran\n" if "hide" in option else "SECRETran\n", option)
            server.stop()
            status, out, err = place.tool("run", *place.options("--set", option), "--", "echo", "ran")
            equal((status, out, err), (0, "ran\n", ""), option)


@suite.test()
def test_met_as_started():
    met(0)


@suite.test()
def test_met_as_ordinary_user():
    met(ORDINARY)


@suite.test()
def test_lazy_without_demands():
    """A server without demands tries no layer at its start."""
    for option, tried in (("sandbox.writable=/var/tmp/none", False), ("sandbox.hide=/none", True)):
        with Place() as place:
            server = place.server("--set", option)
            server.ping()
            equal(os.path.exists(server.state), tried, "made at the start, with " + option)
            server.stop()


# In a user namespace of its own, where the number of mount namespaces can be set.
OWN_LIMITS = ["unshare", "--user", "--map-root-user", "--"]


@suite.test()
def test_refused_in_passing():
    """A run whose namespaces the kernel refuses does not start if a path is to be hidden."""
    if not shutil.which("unshare") or not shutil.which("nsenter") or subprocess.run(
            OWN_LIMITS + ["true"], capture_output=True).returncode:
        raise Skip("no user namespace can be made here")
    for option, status in (("sandbox.writable=/none", "ran"), ("sandbox.hide=@/key", None)):
        with Place() as place:
            server = place.server("--set", option.replace("@", place.path("workspace")),
                                  "--set", "sandbox.ahead=false", wrapper=OWN_LIMITS)
            if "mount_namespace" not in server.run("true")["sandbox"]:
                raise Skip("no mount namespace in a user namespace here")
            subprocess.run(["nsenter", "--user", "--preserve-credentials", "--target",
                            str(server.pid), "--", "sh", "-c",
                            "echo 0 >/proc/sys/user/max_mnt_namespaces"], check=True, timeout=WAIT)
            try:
                found = server.run("cat key; echo ran")["stdout_summary"]
                equal((found, status), ("SECRETran\n", "ran"), "without namespaces")
            except RpcError as e:
                equal((e.type, status), ("SandboxUnavailable", None), str(e))
            server.stop()


# ---------------------------------------------------------------- what keeps files

AS_ROOT = ("commands run as root and nothing confines the files that they write: "
           "neither Landlock nor a mount namespace is available")
ANYONE = "nothing confines the files that"
NOTHING = ("landlock", "namespaces")


def boundary(place, *options, features=NOTHING):
    """(can a command write outside?, lines of stderr with the sentence, gaps, doctor's findings)"""
    wrapper = without(*features)
    server = place.server(*options, wrapper=wrapper)
    server.ping()
    at_start = server.stderr_text().count(ANYONE)
    mark = place.path("outside", "mark")
    for _ in range(3):
        server.run("echo x 2>/dev/null >" + mark)
    gaps = server.call("agent.session")["sandbox"]["gaps"]
    server.stop()
    reported = (at_start, server.stderr_text().count(ANYONE))
    writes = os.path.exists(mark)
    if writes:
        os.unlink(mark)
    found = json.loads(place.tool("doctor", "--json", *place.options(*options), wrapper=wrapper)[1])
    shutil.rmtree(place.path("state"))
    return writes, reported, gaps, found


def needs_both(place):
    if not has(place, "mount_namespace") or not has(place, "landlock"):
        raise Skip("this machine lacks the layer that the test removes")


@suite.test()
def test_root_that_nothing_confines():
    """The line at the start, the gap and the verdict have the same words, and a server that
    requires `files` does not start."""
    if os.geteuid() != 0:
        raise Skip("only for a server that is root")
    with Place() as place:
        needs_both(place)
        writes, reported, gaps, found = boundary(place)
        equal((writes, reported), (True, (1, 1)), "written outside, lines at the start and at the end")
        check(AS_ROOT in gaps and AS_ROOT in found["gaps"], "gaps %s, %s" % (gaps, found["gaps"]))
        equal(found["verdict"], "broken", "verdict")
        status, out, _ = place.tool("doctor", *place.options(), wrapper=without(*NOTHING))
        check(status == 1 and "\nbroken: %s\n" % AS_ROOT in out, "doctor's text: %d %s" % (status, out))
        status, out, err = place.tool("run", *place.options(), "--", "echo", "ran",
                                      wrapper=without(*NOTHING))
        equal((status, out, err), (0, "ran\n", "procpen: warning: %s\n" % AS_ROOT), "procpen run")
        files = ["--set", "sandbox.require=files"]
        server = place.server(*files, wrapper=without(*NOTHING))
        equal(server.wait_exit(), 1, "exit status with sandbox.require=files")
        check(AS_ROOT in server.stderr_text(), server.stderr_text())
        status, out, err = place.tool("run", *place.options(*files), "--", "echo", "ran",
                                      wrapper=without(*NOTHING))
        equal((status, out), (125, ""), "run with sandbox.require=files: %s" % err)
        check(AS_ROOT in err, err)


@suite.test()
def test_root_found_out_late():
    """Landlock is there and refused when it is entered: reported with the first run, once."""
    if os.geteuid() != 0:
        raise Skip("only for a server that is root")
    with Place() as place:
        needs_both(place)
        writes, reported, gaps, found = boundary(place, features=("landlock_refused", "namespaces"))
        equal((writes, reported, found["verdict"]), (True, (0, 1), "broken"), "late")
        check(AS_ROOT in gaps, str(gaps))


@suite.test()
def test_root_that_a_request_does_not_confine():
    """With the profile none the line comes with the first run that asks for a sandbox, once."""
    if os.geteuid() != 0:
        raise Skip("only for a server that is root")
    with Place() as place:
        needs_both(place)
        server = place.server("--set", "sandbox.profile=none", wrapper=without(*NOTHING))
        said = []
        for ask in ({}, {"profile": "default"}, {"profile": "default"}):
            server.run("true", **ask)
            said.append(server.stderr_text().count(AS_ROOT))
        server.stop()
        equal(said, [0, 1, 1], "lines after each run")


@suite.test()
def test_one_file_layer_confines():
    """One of the two layers is enough; and an ordinary user's commands are no root's."""
    cases = [(0, [], ("landlock",)), (0, [], ("namespaces",)), (0, [], ())]
    for user, options, features in cases + [(ORDINARY, [], ("landlock",))]:
        with Place(user) as place:
            needs_both(place)
            require = ["--set", "sandbox.require=files"]
            writes, reported, gaps, found = boundary(place, *options, *require, features=features)
            equal((writes, reported), (False, (0, 0)), "%s: written outside, lines" % (features,))
            check(AS_ROOT not in gaps and found["verdict"] == ("weaker" if features else "ok"),
                  "%s: %s" % (features, found))


@suite.test()
def test_others_that_nothing_confines():
    """An ordinary user's server, an account for all commands, and a profile that says it itself."""
    for user, options in ((ORDINARY, []), (0, ["--set", "sandbox.user=nobody"]), (0, BARE)):
        with Place(user) as place:
            needs_both(place)
            os.chmod(place.path("workspace"), 0o777)
            os.chmod(place.path("outside"), 0o777)
            writes, reported, gaps, found = boundary(place, *options)
            lines = 0 if options == BARE else 1
            equal((writes, reported), (True, (lines, lines)), "%d %s: written outside, lines" % (user, options))
            check(AS_ROOT not in gaps and "files: commands can write whatever the user can write" in gaps,
                  str(gaps))
            equal(found["verdict"], "broken" if options == BARE else "weaker", "verdict")
            server = place.server(*options, "--set", "sandbox.require=files", wrapper=without(*NOTHING))
            equal(server.wait_exit(), 1, "exit status with sandbox.require=files")
            check("sandbox.require=files" in server.stderr_text(), server.stderr_text())


# ---------------------------------------------------------------- hidden, whenever it comes

def keep_away(place, name):
    path = place.path("workspace", name)
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    elif os.path.isdir(path):
        shutil.rmtree(path)


def come(place, kind, name):
    """Create something that holds SECRET at @name."""
    path = place.path("workspace", name)
    keep_away(place, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if kind == "file":
        place.write("workspace/" + name)
    elif kind == "moved":
        place.write("outside/new")
        os.rename(place.path("outside", "new"), path)
    elif kind == "directory":
        os.mkdir(path)
        place.write("workspace/%s/key" % name)
    elif kind == "link":
        os.symlink(place.path("outside", "key"), path)
    elif kind == "link_to_directory":
        os.symlink(place.path("outside"), path)
    elif kind == "link_again":
        place.write("outside/other")
        os.symlink(place.path("outside", "other"), path)
    place.own()


KINDS = ("file", "directory", "moved", "link", "link_again", "link_to_directory", "file")


def seen(server, name, **params):
    """What a command can read at @name, and below it."""
    return server.run("cat %s %s/* 2>/dev/null; true" % (name, name), **params)["stdout_summary"]


def hidden_later(user, *options):
    with Place(user) as place:
        if not has(place, "mount_namespace"):
            raise Skip("no mount_namespace here")
        bare = place.server()
        for name, written in (("later", "later"), ("a/b/later", "a/b/later"),
                              ("slash", "slash/"), ("dots", "./dots")):
            hide = place.path("workspace") + "/" + written
            server = place.server("--set", "sandbox.hide=" + hide, *options)
            equal(seen(server, name), "", "before it is there")
            check("does not exist yet" in server.stderr_text() and hide in server.stderr_text(),
                  "it is not named: %r" % server.stderr_text())
            for kind in KINDS:
                come(place, kind, name)
                check("SECRET" in seen(bare, name), "%s as %s: not readable anyway" % (name, kind))
                for params in ({}, {}, {"profile": "strict"}, {}):
                    equal(seen(server, name, **params), "", "%s as %s, %s" % (name, kind, params))
                keep_away(place, name)
                for _ in range(2):  # shims that found nothing there wait again
                    equal(seen(server, name), "", "gone")
            come(place, "file", name)
            equal(place.tool("run", *place.options("--set", "sandbox.hide=" + hide), "--", "cat",
                             name)[1], "", "procpen run")
            keep_away(place, name.split("/")[0])
            server.stop()
        bare.stop()


@suite.test()
def test_hidden_later_as_started():
    hidden_later(0)


@suite.test()
def test_hidden_later_as_ordinary_user():
    hidden_later(ORDINARY)


@suite.test()
def test_hidden_later_with_new_shims():
    hidden_later(0, "--set", "sandbox.ahead=false")


@suite.test()
def test_hidden_path_that_cannot_be():
    """A link to a place where no path can be hidden appears: nothing runs until it is gone."""
    with Place() as place:
        if not has(place, "mount_namespace"):
            raise Skip("no mount_namespace here")
        later = place.path("workspace", "later")
        server = place.server("--set", "sandbox.hide=" + later)
        equal(server.run("echo ran")["stdout_summary"], "ran\n", "before")
        for target in (place.base, "/", "/proc/version"):
            os.symlink(target, later)
            try:
                server.run("echo ran")
                check(False, "it ran with a link to " + target)
            except RpcError as e:
                equal(e.type, "SandboxUnavailable", str(e))
                check("sandbox.hide" in str(e) and later in str(e), str(e))
            os.unlink(later)
            equal(server.run("echo ran")["stdout_summary"], "ran\n", "after")
        server.stop()


@suite.test()
def test_options_are_checked():
    for value in ("relative", "/home/*", "/a/../b", "/a/.."):
        with Place() as place:
            server = place.server("--set", "sandbox.hide=" + value)
            equal(server.wait_exit(), 2, "exit status with " + value)
            check("sandbox.hide" in server.stderr_text(), server.stderr_text())


@suite.test()
def test_what_is_not_there_is_named():
    """A path that may appear later, and a grant that no run can use, do not stop the start."""
    with Place() as place:
        server = place.server("--set", "sandbox.writable=/var/tmp/no-such-place",
                              "--set", "sandbox.users=no-such-account")
        equal(server.run("echo ran")["stdout_summary"], "ran\n", "a run")
        server.stop()
        for word in ("sandbox.writable: /var/tmp/no-such-place", "sandbox.users: ", "no-such-account"):
            check(word in server.stderr_text(), "%s in %r" % (word, server.stderr_text()))


@suite.test()
def test_as_many_writable_paths_as_there_is_room_for():
    """All of them, the temporary directory and the session's shared memory are there; these two also where
    the bytes of long paths do not suffice for all."""
    with Place() as place:
        paths = [place.path("outside", str(i)) for i in range(55)]
        for path in paths:
            os.mkdir(path)
        server = place.server("--set", "sandbox.writable=" + ",".join(paths))
        result = server.run('touch "$@" "$TMPDIR/x" && f=$(mktemp -p /dev/shm) && rm "$f"',
                            [path + "/x" for path in paths], shell=True)
        equal((result["exit_code"], result["stderr_summary"]), (0, ""), "touch")
        server.stop()
        paths = [place.path("outside", "long" * 60 + str(i)) for i in range(51)] + paths[:4]
        for path in paths[:51]:
            os.mkdir(path)
        server = place.server("--set", "sandbox.writable=" + ",".join(paths))
        result = server.run('touch "$TMPDIR/x" && f=$(mktemp -p /dev/shm) && rm "$f"')
        equal((result["exit_code"], result["stderr_summary"]), (0, ""), "touch")
        server.stop()


if __name__ == "__main__":
    suite.main()
