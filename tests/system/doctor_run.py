#!/usr/bin/env python3
"""procpen doctor and procpen run: what they print, how they end, what they leave."""
import glob
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

from client import (PASSED_ON, ROOT, WAIT, Skip, check, equal, eventually, hostile_program, is_alive,
                    processes_marked, server_path)
from suite import Suite

suite = Suite()
PYTHON = "/usr/bin/python3"
# What commands leave behind ends while procpen does: without namespaces as with.
FORMS = ([], ["--set", "sandbox.namespaces=false"])


class Place:
    """A workspace, a state directory and a home whose name marks every process."""

    def __init__(self):
        self.base = tempfile.mkdtemp(prefix="procpen-run-")
        for name in ("workspace", "home"):
            os.mkdir(os.path.join(self.base, name))
        self.workspace = os.path.join(self.base, "workspace")
        self.state = os.path.join(self.base, "state")
        self.env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8",
                    "HOME": os.path.join(self.base, "home")}
        for name in PASSED_ON:
            if name in os.environ:
                self.env[name] = os.environ[name]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        left = processes_marked(self.base)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        temporary = glob.glob(self.state + "/tmp/*")
        shutil.rmtree(self.base, ignore_errors=True)
        if kind is None:
            equal(left, [], "processes left behind")
            equal(temporary, [], "temporary directory left behind")

    def argv(self, *words, wrapper=()):
        return list(wrapper) + [server_path()] + list(words[:1]) + [
            "--workspace", self.workspace, "--state-dir", self.state] + list(words[1:])

    def call(self, *words, wrapper=(), input=None, **how):
        """(status, stdout, stderr) of one procpen."""
        how.setdefault("stdin", subprocess.DEVNULL if input is None else None)
        if input is not None:
            del how["stdin"]
        done = subprocess.run(self.argv(*words, wrapper=wrapper), env=self.env, timeout=40,
                              input=input, capture_output=True, cwd=self.workspace, **how)
        return (done.returncode, done.stdout.decode(errors="replace"),
                done.stderr.decode(errors="replace"))

    def run(self, *words, **how):
        return self.call("run", *words, **how)

    def start(self, *words, wrapper=(), **how):
        how.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(self.argv("run", *words, wrapper=wrapper), env=self.env,
                                cwd=self.workspace, **how)

    def records(self):
        found = []
        for name in sorted(glob.glob(self.state + "/audit/*.jsonl")):
            with open(name, encoding="utf-8") as f:
                found += [json.loads(line) for line in f]
        return found


# ---------------------------------------------------------------- doctor

def examine(place, *options, wrapper=()):
    status, out, err = place.call("doctor", "--json", *options, wrapper=wrapper)
    try:
        return status, json.loads(out)
    except ValueError:
        check(False, "status %d, no JSON: %s %s" % (status, out, err))


TEXT = (str, type(None))
MEMBERS = {"version": str, "machine": dict, "environment": TEXT, "verdict": str, "summary": str,
           "ok": bool, "workspace": TEXT, "workspace_problem": TEXT, "state_directory": TEXT,
           "git_common_directory": TEXT, "shell": TEXT, "descriptors": dict, "active": list,
           "missing": list, "files_open": bool, "gaps": list, "readonly": list, "hidden": list}
NEVER_MISSED = ("cgroup", "network_namespace")


def check_shape(found):
    """As docs/protocol.md says."""
    equal(sorted(found), sorted(MEMBERS), "members")
    for name, kind in MEMBERS.items():
        check(isinstance(found[name], kind), "%s: %r" % (name, found[name]))
    equal({name: type(value) for name, value in found["machine"].items()},
          {"kernel": str, "machine": str, "uid": int}, "members of machine")
    check(all(isinstance(t, str) and t for t in found["active"] + found["gaps"]), "texts")
    for row in found["missing"]:
        equal(sorted(row), ["expected", "layer", "reason", "remedy"], "members of a missing layer")
        check(row["layer"] and row["reason"] and row["remedy"], "empty text in %s" % row)
    counted = [row for row in found["missing"] if row["layer"] not in NEVER_MISSED]
    if found["verdict"] == "broken":
        equal(found["ok"], False, "broken, but ok")
    else:
        equal(found["verdict"] == "weaker", bool(counted) or not found["ok"], "verdict of %s" % found)
        if found["verdict"] == "ok":
            equal(found["summary"], "commands get every layer of the profile" +
                  ", or what stands in for it" * bool(found["missing"]), "summary of %s" % found)
        if found["ok"]:
            equal([row for row in counted if not row["expected"]], [], "missed, and yet ok")


def modes():
    """The table in docs/security.md: {environment: its cells by column}."""
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = re.search(r"^## Modes\n.*?\n(\|.*?)\n\n", text, re.M | re.S)[1].split("\n")
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {re.sub(r" \(.*\)$", "", row[0]): dict(zip(cells[0], row)) for row in cells[2:]}


# Layers of a column; "capabilities" is only root's.
COLUMNS = {"filter": ["seccomp"], "Landlock": ["landlock"],
           "namespaces": ["pid_namespace", "mount_namespace"]}


def check_mode(found, status):
    """What the table says of this environment is what was found: layers, verdict, status."""
    row = modes().get(found["environment"])
    check(row, "no row in docs/security.md: %s" % found["environment"])
    active = {layer.split(":")[0] for layer in found["active"]}
    for column, layers in COLUMNS.items():
        word = re.match("yes|no|by kernel", row[column])[0]
        for layer in layers:
            equal(layer in active, word != "no", "%s: %s" % (found["environment"], layer))
    verdicts = row["doctor"].split("; as root ")
    equal("%s, %d" % (found["verdict"], status), verdicts[-1 if os.geteuid() == 0 and
          found["machine"]["uid"] == 0 else 0], "verdict in " + found["environment"])
    return found["environment"]


def as_other():
    """Another user than root, whom the kernel holds to what users may."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]


def without(*features):
    return [word for feature in features for word in (hostile_program("without"), feature)]


@suite.test()
def test_doctor_modes():
    """Every kind of machine that can be imitated here has its row, and the row is right."""
    seen = set()
    with Place() as place:
        _, usual = examine(place)
        if not {"landlock", "pid_namespace", "mount_namespace"} <= {
                layer.split(":")[0] for layer in usual["active"]}:
            raise Skip("this machine lacks a layer that the test removes")
        for path in (place.base, place.workspace, place.env["HOME"]):
            os.chmod(path, 0o777)
        cases = [(as_other(), feature) for feature in ((), ("namespaces",), ("landlock",),
                                                       ("landlock", "namespaces"))]
        if os.geteuid() == 0:
            contained = ["setpriv", "--bounding-set", "-sys_admin", "--"]
            cases += [([], ()), ([], ("landlock",)), ([], ("landlock", "namespaces")),
                      (contained, ()), (contained, ("landlock",))]
        for wrapper, features in cases:
            shutil.rmtree(place.state, ignore_errors=True)
            status, found = examine(place, wrapper=wrapper + without(*features))
            check_shape(found)
            seen.add(check_mode(found, status))
    wanted = set(modes()) - {"user with a delegated control group"}
    if os.geteuid():
        wanted -= {name for name in wanted if "root" in name}
    equal(wanted - seen, set(), "environments of docs/security.md that were not met")


@suite.test()
def test_doctor_json():
    with Place() as place:
        status, found = examine(place)
        check_shape(found)
        equal(status, 0 if found["ok"] else 1, "status")
        equal(found["workspace"], place.workspace, "workspace")
        equal(found["state_directory"], place.state, "state directory")
        check(found["descriptors"]["limit"] >= found["descriptors"]["needed"] > 9, "descriptors")
        equal(found["machine"]["kernel"], os.uname().release, "kernel")
        equal(found["machine"]["uid"], os.geteuid(), "uid")
        for layer in ("shim", "session", "rlimits", "no_new_privs", "seccomp:default"):
            check(layer in found["active"], "%s in %s" % (layer, found["active"]))
        check(not place.records(), "doctor runs nothing, and records nothing")
        for words in ([], ["--set", "sandbox.user=nobody"] * (os.geteuid() == 0)):
            status, found = examine(place, *words)
            session = json.loads(place.call("call", "--json", *words, "agent.session")[1])
            equal(found["gaps"], session["sandbox"]["gaps"], "gaps, as agent.session has them")
            as_root = any(gap.startswith("root: ") for gap in found["gaps"])
            equal(as_root, os.geteuid() == 0 and not words, "commands run as root: %s" % found["gaps"])


@suite.test()
def test_doctor_anywhere():
    """It works in the home and in /, which are no workspaces, and leaves nothing."""
    with Place() as place:
        before = set(glob.glob("/tmp/procpen-doctor.*"))  # of others, who come and go
        for cwd in ("/", place.env["HOME"], place.workspace):
            done = subprocess.run([server_path(), "doctor", "--json"], cwd=cwd, env=place.env,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=40)
            found = json.loads(done.stdout or b"{}")
            check_shape(found)
            equal((done.returncode, found["workspace"] == cwd),
                  (0 if found["ok"] else 1, cwd == place.workspace), "status, workspace in " + cwd)
            check(not any("procpen-doctor." in gap for gap in found["gaps"]), "of what was made for it: %s" % found["gaps"])
            problem = found["workspace_problem"]
            check(not problem if cwd == place.workspace else cwd in problem and
                  "--workspace" in problem, "%s: %s" % (cwd, problem))
            text = subprocess.run([server_path(), "doctor"], cwd=cwd, env=place.env,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=40).stdout
            equal(b"no command runs here" in text, problem is not None, "%s: %r" % (cwd, text))
            check(b"no server starts" not in text, "a server does start in %s" % cwd)
        new = set(glob.glob("/tmp/procpen-doctor.*")) - before
        eventually(lambda: not any(map(os.path.exists, new)), WAIT, "left behind: %s" % new)


@suite.test()
def test_doctor_without_a_reader():
    """A report that cannot be written is no success, whatever it says."""
    with Place() as place:
        for words in (["doctor"], ["doctor", "--json"]):
            for how in (">/dev/full", ">&-"):
                done = subprocess.run(["/bin/sh", "-c", '"$@" ' + how, "sh", *place.argv(*words)],
                                      env=place.env, cwd="/", capture_output=True, timeout=40)
                equal(done.returncode, 1, "%s %s: status" % (words, how))
                check(b"procpen doctor: " in done.stderr and b"stdout" in done.stderr,
                      "%s %s: %r" % (words, how, done.stderr))


@suite.test()
def test_doctor_shows_hidden_characters():
    """A name that others gave moves no cursor and turns no text around; JSON keeps its value."""
    with Place() as place:
        place.workspace = os.path.join(place.base, "x\u202ey\x9b\x1b[2J\nz")
        os.mkdir(place.workspace)
        for options in ([], ["--allow-dir", place.workspace + "/none"]):
            out = place.call("doctor", *options)[1]
            check(not set("\u202e\x9b\x1b") & set(out) and "\nz" not in out, repr(out))
            check("x\\u202ey\\u009b\\u001b[2J\\u000az" in out, repr(out))
            check(not options or "\\u000az/none" in out, repr(out))
        equal(examine(place)[1]["workspace"], place.workspace, "as JSON")


@suite.test()
def test_doctor_text():
    """The same findings for people: short, without words of the protocol."""
    with Place() as place:
        for wrapper in ([], without("namespaces")):
            status, found = examine(place, wrapper=wrapper)
            text_status, out, err = place.call("doctor", wrapper=wrapper)
            equal((text_status, err), (status, ""), "status, stderr")
            for layer in found["active"]:
                check(re.search(r"^  ok  .*  (.*, )?%s(,|$)" % re.escape(layer), out, re.M),
                      "%s in %s" % (layer, out))
            for row in found["missing"]:
                check(row["layer"] == "network_namespace" or
                      (row["reason"] in out and "do:  " + row["remedy"] in out and
                       row["layer"] in out), "%s in %s" % (row, out))
            for gap in found["gaps"]:
                check(gap.split(": ", 1)[-1] in out, "%s in %s" % (gap, out))
            check("\n%s: %s\n" % (found["verdict"], found["summary"]) in out, "the verdict in " + out)
            for name in ("workspace", "state_directory", "shell", "environment"):
                check(found[name] in out, "%s in %s" % (name, out))
            # An ordinary user mostly lacks control groups, too.
            limit = 32 if os.geteuid() == 0 else 35
            check(out.count("\n") <= limit, "%d lines" % out.count("\n"))
            check("parameter" not in out and "agent.session" not in out, out)


@suite.test()
def test_doctor_when_nothing_can_run():
    """The reason is shown whatever bytes a path has, also a path that is not UTF-8."""
    with Place() as place:
        for name in (b"file", b"file\xff"):
            file = os.path.join(os.fsencode(place.base), name)
            with open(file, "w", encoding="utf-8") as f:
                f.write("no directory")
            status, found = examine(place, "--state-dir", file)
            check_shape(found)
            equal((status, found["verdict"], found["active"], found["environment"]),
                  (1, "broken", [], None), "state directory %r" % name)
            check(any("temporary directory" in row["reason"] for row in found["missing"]),
                  "%s" % found["missing"])
            status, out, _ = place.call("doctor", "--state-dir", file)
            check(status == 1 and "\nbroken: " in out and "temporary directory" in out,
                  "%d %r" % (status, out))
        odd = os.path.join(os.fsencode(place.base), b"odd\xff")
        os.mkdir(odd)
        status, found = examine(place, "--workspace", odd)
        check_shape(found)
        equal((status, found["workspace"]), (0 if found["ok"] else 1, place.base + "/odd\ufffd"),
              "status, workspace")


@suite.test()
def test_doctor_when_no_server_starts():
    """Then it has a verdict too, and the option that helps."""
    with Place() as place:
        for options, words in ((["--workspace", place.base + "/gone"], ("gone", "--workspace DIR")),
                               (["--state-dir", place.workspace + "/s"], ("audit log", "--state-dir")),
                               (["--set", "process.shell=/none/sh"], ("no such file", "process.shell"))):
            status, found = examine(place, *options)
            check_shape(found)
            equal((status, found["verdict"]), (1, "broken"), str(options))
            equal([row["layer"] for row in found["missing"]], ["start"], str(options))
            for word in words:
                check(word in found["missing"][0]["reason"] + found["missing"][0]["remedy"],
                      "%s in %s" % (word, found["missing"]))
            status, out, err = place.call("doctor", *options)
            check(status == 1 and not err and "\nbroken: " in out and words[0] in out,
                  "%d %r %r" % (status, out, err))


@suite.test()
def test_doctor_worktree():
    """A linked git worktree: git's directory is named with the option that opens it."""
    if not shutil.which("git"):
        raise Skip("git is not installed")
    with Place() as place:
        main, tree = place.base + "/main", place.base + "/tree"
        os.mkdir(main)
        env = dict(place.env, GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@t",
                   GIT_COMMITTER_NAME="t", GIT_COMMITTER_EMAIL="t@t")
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "t"],
                      ["worktree", "add", "-q", tree]):
            subprocess.run(["git", *words], cwd=main, env=env, check=True, capture_output=True,
                           timeout=40)
        git = main + "/.git"
        equal(examine(place, "--workspace", tree)[1]["git_common_directory"], git, "in the worktree")
        check("--allow-dir '%s'" % git in place.call("doctor", "--workspace", tree)[1], "text")
        equal(examine(place, "--workspace", tree, "--allow-dir", git)[1]["git_common_directory"],
              None, "when it is open")
        equal(examine(place, "--workspace", main)[1]["git_common_directory"], None, "in the main one")


@suite.test()
def test_doctor_missing_layers():
    """The layer, why, and what to do about it; status 1 where this machine should have it."""
    cases = {"landlock": {"landlock"}, "landlock_switched_off": {"landlock"},
             "landlock_refused": {"landlock"}, "namespaces": {"pid_namespace", "mount_namespace"},
             "mount": {"pid_namespace", "mount_namespace"},
             "new_mounts": {"pid_namespace", "mount_namespace"}}
    kernels = ("landlock", "landlock_switched_off")
    with Place() as place:
        _, usual = examine(place)
        there = {layer.split(":")[0] for layer in usual["active"]}
        tried = 0
        for feature, layers in cases.items():
            if not layers <= there:
                continue
            tried += 1
            wrapper = without(feature)
            status, found = examine(place, wrapper=wrapper)
            check_shape(found)
            usual_here = feature in kernels or (os.geteuid() and layers > {"pid_namespace"})
            equal((status, found["verdict"]), (0 if usual_here else 1, "weaker"),
                  "without %s" % feature)
            reported = {row["layer"] for row in found["missing"]}
            check(layers <= reported, "without %s: %s" % (feature, reported))
            active = {layer.split(":")[0] for layer in found["active"]}
            check(not layers & active, "without %s: %s" % (feature, active))
            text_status, out, _ = place.call("doctor", wrapper=wrapper)
            equal(text_status, status, "status of the text")
            for layer in layers:
                check(re.search(r"^  (\w+, )*%s(, \w+)*: " % layer, out, re.M), out)
        if not tried:
            raise Skip("nothing is there that could be taken away")


@suite.test()
def test_doctor_follows_options():
    with Place() as place:
        status, found = examine(place, "--set", "sandbox.namespaces=false")
        equal((status, found["verdict"]), (1, "weaker"), "without namespaces")
        check(not any("namespace" in layer for layer in found["active"]), str(found["active"]))
        status, found = examine(place, "--set", "sandbox.profile=strict")
        check("seccomp:strict" in found["active"], str(found["active"]))
        check(any(layer.startswith("network_off") for layer in found["active"]), str(found["active"]))
        status, found = examine(place, "--set", "sandbox.profile=none")
        check(any("NOT SANDBOXED" in layer for layer in found["active"]), str(found["active"]))
        equal((status, found["verdict"], found["files_open"]), (1, "weaker" if os.getuid() else "broken", True),
              "without a sandbox")
        if not os.getuid():
            status, found = examine(place, "--set", "sandbox.profile=none", "--set", "sandbox.user=nobody")
            equal((status, found["verdict"], found["files_open"]), (1, "weaker", True), "as another account")
        hide = ("--set", "sandbox.hide=%s/key,/none" % place.base)
        status, found = examine(place, *hide)
        if "mount_namespace" in found["active"]:
            equal(found["hidden"], [place.base + "/key", "/none"], "what is hidden")
            check("cannot see" in place.call("doctor", *hide)[1], "the text names no hidden path")
        equal(examine(place)[1]["hidden"], [], "nothing is hidden")
        equal("--json" in place.call("doctor", "--jsn")[2], True, "the nearest option")
        for words in (["--jsn"], ["--set", "sandbox.profle=strict"], ["--workspace"]):
            status, out, err = place.call("doctor", *words)
            check(status == 2 and not out and err, "%s: %d %r %r" % (words, status, out, err))


# ---------------------------------------------------------------- run: exit status

@suite.test()
def test_exit_status():
    """Every one of them, as the command's own."""
    with Place() as place:
        for status in range(256):
            equal(place.run("--", "/bin/sh", "-c", "exit %d" % status), (status, "", ""), "exit %d" % status)


@suite.test()
def test_signal_status():
    with Place() as place:
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGSEGV, signal.SIGUSR1):
            status, out, _ = place.run("--shell", "--", "kill -%d $$" % number)
            equal((status, out), (128 + number, ""), "signal %d" % number)


@suite.test()
def test_reserved_status():
    """127 not found, 126 not executable, 125 procpen's own, 77 refused, 2 a wrong command line."""
    with Place() as place:
        plain = os.path.join(place.workspace, "plain")
        with open(plain, "w", encoding="utf-8") as f:
            f.write("text")
        script = os.path.join(place.workspace, "script")
        with open(script, "w", encoding="utf-8") as f:
            f.write("#!/no/such/interpreter\n")
        os.chmod(script, 0o755)
        cases = [
            (127, ["--", script], "interpreter"),
            (127, ["--", "no-such-program-here"], "no-such-program-here"),
            (127, ["--", "./no-such-file"], "no-such-file"),
            (127, ["--", "ls -la"], "--shell"),
            (127, ["--shell", "--", "no-such-program-here"], "no-such-program-here"),
            (126, ["--", plain], "plain"),
            (126, ["--", "/"], "/"),
            (77, ["--shell", "--", "shutdown now"], ""),
            (77, ["--set", "blocklist.literal_match=anywhere", "--", "echo", "reboot"], ""),
            (77, ["--cwd", "/", "--", "true"], "--allow-dir DIR"),
            (77, ["--cwd", "missing", "--", "true"], "--cwd"),
            (77, ["--env", "LD_PRELOAD=/x", "--", "true"], "LD_PRELOAD"),
            (77, ["--set", "tier.process.run=deny", "--", "true"], "tier.process.run"),
            (77, ["--set", "tier.process.run=confirm", "--", "true"], "nobody can be asked"),
            (125, ["--workspace", place.base + "/missing", "--", "true"], "missing"),
            (125, ["--state-dir", place.workspace + "/state", "--", "true"], "--state-dir"),
            (125, ["--set", "sandbox.namespaces=false", "--set", "sandbox.require=pid_namespace",
                   "--", "true"], "pid_namespace"),
            (2, [], "no command"),
            (2, ["--"], "no command"),
            (2, ["--", ""], "empty"),
            (2, ["--tmeout", "3", "--", "true"], "--timeout"),
            (2, ["--timeout", "x", "--", "true"], "x"),
            (2, ["--timeout", "0", "--", "true"], "0"),
            (2, ["--timeout", "nan", "--", "true"], "nan"),
            (2, ["--memory", "12", "--", "true"], "4M"),
            (2, ["--cpu", "-1", "--", "true"], "-1"),
            (2, ["--env", "NOVALUE", "--", "true"], "NAME=VALUE"),
            (2, ["--strict=yes", "--", "true"], "no value"),
            (2, ["--shell", "--", "a", "b"], "one command line"),
        ]
        for wanted, words, text in cases:
            status, out, err = place.run(*words)
            equal((status, out), (wanted, ""), "%s: %s" % (words, err))
            check(text in err and err.endswith("\n"), "%s: no %r in %r" % (words, text, err))
            for model in ("parameter", "all again", "agent.session", "details."):
                check(model not in err, "%s: %r is nothing for people: %r" % (words, model, err))


# ---------------------------------------------------------------- run: input and output

@suite.test()
def test_output_is_passed_live():
    """The first line is here while the command still runs; both streams, byte for byte."""
    with Place() as place:
        done = os.path.join(place.workspace, "go")
        script = "echo first; echo oops >&2; while [ ! -e go ]; do sleep 0.02; done; printf 'last\\001\\377'"
        run = place.start("--shell", "--", script, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        equal(run.stdout.readline(), b"first\n", "first line")
        equal(run.stderr.readline(), b"oops\n", "stderr")
        equal(run.poll(), None, "it runs on")
        open(done, "w", encoding="utf-8").close()
        out, err = run.communicate(timeout=40)
        equal((run.returncode, out, err), (0, b"last\x01\xff", b""), "the rest")


@suite.test()
def test_much_output():
    with Place() as place:
        status, out, _ = place.run("--", PYTHON, "-c", "import sys; sys.stdout.write('x' * 5000000)")
        equal((status, len(out)), (0, 5000000), "status, bytes")


@suite.test()
def test_stdin():
    with Place() as place:
        data = os.urandom(3000000)
        done = subprocess.run(place.argv("run", "--", "cat"), env=place.env, input=data,
                              capture_output=True, timeout=30)
        check(done.returncode == 0 and done.stdout == data, "stdin to stdout")
        equal(place.run("--", "cat"), (0, "", ""), "an empty stdin")


@suite.test()
def test_closed_standard_descriptors():
    """What is closed is /dev/null for the command, never a file of procpen's own."""
    with Place() as place:
        shown = os.path.join(place.workspace, "shown")
        command = "for fd in 0 1 2; do readlink /proc/$$/fd/$fd; done >shown"
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            words = " ".join("'%s'" % word for word in place.argv("run", "--shell", "--", command))
            subprocess.run(["/bin/sh", "-c", "exec %s %s" % (words, closed)], env=place.env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=40, check=True)
            with open(shown, encoding="utf-8") as f:
                lines = f.read().split("\n")
            equal([lines[0], lines[2]], ["/dev/null", "/dev/null"], "descriptors after %s" % closed)
        os.unlink(shown)
        done = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&-', "sh",
                               *place.argv("run", "--json", "--shell", "--", command)],
                              env=place.env, stderr=subprocess.PIPE, text=True, timeout=40)
        equal((done.returncode, os.path.exists(shown)), (125, False), "a result for nobody: status, it ran")
        check("stdout is closed" in done.stderr, done.stderr)


@suite.test()
def test_inherited_descriptors():
    for wrapper in ([], [hostile_program("without"), "close_range"]):
        with Place() as place:
            with open("/dev/zero", "rb") as extra:
                os.set_inheritable(extra.fileno(), True)
                done = subprocess.run(place.argv("run", "--", "ls", "/proc/self/fd", wrapper=wrapper),
                                      env=place.env, capture_output=True, timeout=40,
                                      close_fds=False, stdin=subprocess.DEVNULL)
            equal(done.stdout.split(), [b"0", b"1", b"2", b"3"], "descriptors")


@suite.test()
def test_stdout_is_closed():
    """A reader that goes away ends the command as it would without procpen."""
    with Place() as place:
        run = place.start("--", "yes", stdout=subprocess.PIPE)
        run.stdout.read(1000)
        run.stdout.close()
        equal(run.wait(40), 128 + signal.SIGPIPE, "status")
        run = place.start("--", "sleep", "0.3", stdout=subprocess.PIPE)
        run.stdout.close()
        equal(run.wait(40), 0, "a command that does not write")


def talk(master, until, limit=WAIT):
    """What the terminal shows up to @until."""
    seen, end = b"", time.monotonic() + limit
    while until not in seen:
        check(time.monotonic() < end, "no %r in %r" % (until, seen))
        if select.select([master], [], [], 0.1)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:
                break
    check(until in seen, "no %r in %r" % (until, seen))
    return seen


def open_terminal():
    try:
        return pty.openpty()
    except OSError as e:
        raise Skip("no pseudo-terminal is available here: %s" % e)


def start_in_terminal(place, *words, **params):
    """The run, and our end of its terminal."""
    master, slave = open_terminal()
    run = place.start(*words, stdin=slave, stdout=slave, stderr=slave, **params)
    os.close(slave)
    return run, master


@suite.test()
def test_terminal():
    """The command has the caller's terminal: it is one, has its name, and input comes through."""
    for form in FORMS:
        with Place() as place:
            master, slave = open_terminal()
            script = "test -t 0 && test -t 1 && test -t 2 && test $(tty) = %s && echo all > $(tty);" \
                     "stat -c '%%d %%i' $(tty); read line; echo got $line; exit 5" % os.ttyname(slave)
            named = os.fstat(slave)
            run = place.start(*form, "--shell", "--", script, stdin=slave, stdout=slave, stderr=slave)
            os.close(slave)
            talk(master, b"all\r\n%d %d\r\n" % (named.st_dev, named.st_ino))
            os.write(master, b"hello\n")
            talk(master, b"got hello")
            equal(run.wait(40), 5, "status")
            os.close(master)


# ---------------------------------------------------------------- run: signals

TRAP = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.02; done"
DEAF = "trap '' INT TERM; (setsid sleep 300 &) ; echo ready; while :; do sleep 0.02; done"
HEARS = "trap 'echo heard' INT; " + DEAF.replace("INT ", "")


def begin(place, *words):
    run = place.start(*words, stdout=subprocess.PIPE)
    equal(run.stdout.readline(), b"ready\n", "first line")
    return run


def over(run, limit=40):
    status = run.wait(limit)
    out = run.stdout.read()
    run.stdout.close()
    return status, out


def interrupted(script):
    """In each form, in a place of its own: @script begun, and given SIGINT."""
    for form in FORMS:
        with Place() as place:
            run = begin(place, *form, "--shell", "--", script)
            run.send_signal(signal.SIGINT)
            yield place, run


@suite.test()
def test_interrupt_once():
    """The command gets it, and may have the last word."""
    for _, run in interrupted(TRAP):
        equal(over(run), (9, b"caught\n"), "status, output")
    for _, run in interrupted("echo ready; exec sleep 60"):
        equal(over(run), (128 + signal.SIGINT, b""), "a command that dies of it")


@suite.test()
def test_interrupt_twice():
    """A command that goes on after the first does not after the second, nor does its daemon."""
    for place, run in interrupted(HEARS):
        equal(run.stdout.readline(), b"heard\n", "the command after the first")
        equal(run.poll(), None, "it goes on after the first")
        run.send_signal(signal.SIGINT)
        equal(over(run)[0], 128 + signal.SIGKILL, "status after the second")
        equal(processes_marked(place.base), [], "alive")


@suite.test()
def test_interrupt_from_the_terminal():
    """Ctrl-C, typed."""
    with Place() as place:
        def own_terminal():
            os.setsid()
            import fcntl
            import termios
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        run, master = start_in_terminal(place, "--shell", "--", TRAP, preexec_fn=own_terminal)
        talk(master, b"ready")
        os.write(master, b"\x03")
        talk(master, b"caught")
        equal(run.wait(40), 9, "status")
        os.close(master)


@suite.test()
def test_terminate():
    """SIGTERM, SIGHUP, SIGQUIT and SIGALRM end the whole tree, whatever it ignores, and leave nothing."""
    for form in FORMS:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM):
            with Place() as place:
                run = begin(place, *form, "--shell", "--", DEAF)
                run.send_signal(number)
                equal(over(run)[0], 128 + signal.SIGKILL, "status")
                equal(processes_marked(place.base), [], "alive")
                equal(os.listdir(place.state + "/tmp"), [], "temporary directories")


@suite.test()
def test_ignored_signals():
    """What the caller ignores, as nohup does, ends nothing."""
    def ignore():
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)

    with Place() as place:
        run = place.start("--shell", "--", "echo ready; read line; exit 7",
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=ignore)
        equal(run.stdout.readline(), b"ready\n", "first line")
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            run.send_signal(number)
        run.stdin.write(b"\n")
        run.stdin.close()
        equal(over(run)[0], 7, "status")


@suite.test()
def test_other_signals():
    """What batch systems send besides, SIGUSR1 for one, ends nothing, and the end is on record."""
    others = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU, signal.SIGPWR, signal.SIGRTMIN)
    for form in FORMS:
        with Place() as place:
            run = begin(place, *form, "--shell", "--", "echo ready; sleep 0.3; exit 7")
            for number in others:
                run.send_signal(number)
            equal(over(run)[0], 7, "status")
            equal([record["event"] for record in place.records()], ["attempt", "end"], "the log")


@suite.test()
def test_stop():
    """Ctrl-Z, which reaches procpen alone: the command stops with it, and goes on with it."""
    def state():
        with open("/proc/%d/stat" % run.pid, encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0]

    for form in FORMS:
        with Place() as place:
            count = os.path.join(place.workspace, "count")
            run = place.start(*form, "--shell", "--", "trap 'exit 7' INT; echo ready; "
                              "while :; do (echo x >>count); sleep 0.01; done",
                              stdout=subprocess.PIPE, preexec_fn=os.setpgrp)
            equal(run.stdout.readline(), b"ready\n", "first line")
            eventually(lambda: os.path.exists(count), WAIT, "nothing counted")
            run.send_signal(signal.SIGTSTP)
            eventually(lambda: state() == "T", WAIT, "procpen does not stop")
            time.sleep(0.1)
            before = os.path.getsize(count)
            time.sleep(0.3)
            equal(os.path.getsize(count), before, "counted while it is stopped")
            run.send_signal(signal.SIGCONT)
            eventually(lambda: os.path.getsize(count) > before, WAIT, "the command stays stopped")
            run.send_signal(signal.SIGINT)
            equal(over(run)[0], 7, "status")


@suite.test()
def test_two_stops_at_once():
    """They are one: a shell sees no other way to go on than to say so once."""
    with Place() as place:
        count = os.path.join(place.workspace, "count")
        run = place.start("--shell", "--", "while :; do echo x >>count; sleep 0.01; done", preexec_fn=os.setpgrp)
        eventually(lambda: os.path.exists(count), WAIT, "nothing counted")
        for n in range(40):
            for _ in range(2):
                run.send_signal(signal.SIGTSTP)
                until = time.perf_counter() + n % 8 * 1e-5
                while time.perf_counter() < until:
                    pass
            time.sleep(0.03)
            os.kill(run.pid, signal.SIGCONT)
            before = os.path.getsize(count)
            eventually(lambda: os.path.getsize(count) > before + 10, WAIT, "it has stopped once more")
        run.terminate()
        run.wait(40)


@suite.test()
def test_killed_procpen():
    """SIGKILL for procpen itself: nothing outlives it for long."""
    for form in FORMS:
        place = Place()
        run = begin(place, *form, "--shell", "--", DEAF)
        run.kill()
        run.wait(40)
        run.stdout.close()
        eventually(lambda: not processes_marked(place.base), WAIT, "alive after SIGKILL of procpen")
        left = os.listdir(place.state + "/tmp")
        check(left, "the killed one has had no temporary directory")
        with place:  # the next ones remove it
            eventually(lambda: place.run("--", "true")[0] or not os.listdir(place.state + "/tmp"),
                       WAIT, "%s stays" % left)
            equal(place.run("--", "true")[0], 0, "the next one")


# ---------------------------------------------------------------- run: ends and limits

@suite.test()
def test_timeout():
    """124, and every escapee dead."""
    escapees = "(setsid sh -c 'trap \"\" TERM; sleep 300' &) ; nohup sleep 300 >/dev/null 2>&1 & "
    for form in FORMS:
        with Place() as place:
            status, _, err = place.run(*form, "--timeout", "0.5", "--shell", "--", escapees + "sleep 60")
            equal(status, 124, "status: %s" % err)
            check(re.search(r"timed out after ([5-9]\d\d ms|[1-9][0-9.]* s)", err), "stderr %r" % err)
            equal(processes_marked(place.base), [], "alive")
            status, out, err = place.run(*form, "--timeout", "30", "--", "echo", "quick")
            equal((status, out, err), (0, "quick\n", ""), "a quick command")


@suite.test()
def test_left_behind():
    """A daemon that holds the output open ends with the command, and delays nothing."""
    for form in FORMS:
        with Place() as place:
            script = "setsid sh -c 'trap \"\" HUP TERM; sleep 300' & setsid sleep 300 >/dev/null 2>&1 & echo done; exit 3"
            status, out, _ = place.run(*form, "--shell", "--", script)
            equal((status, out), (3, "done\n"), "status, output")
            equal(processes_marked(place.base), [], "alive")


# Takes 400 MiB, and says so; with an argument it keeps them until it is killed.
HOG = """
import sys, time
b = []
for i in range(400):
    b.append(bytearray(b'x') * 1048576)
print("grown", flush=True)
if len(sys.argv) > 1:
    time.sleep(60)
"""


@suite.test()
def test_memory():
    """The whole run ends with the process that went beyond it, whatever a shell makes of that."""
    with Place() as place:
        equal(place.run("--", PYTHON, "-c", HOG)[:2], (0, "grown\n"), "without a limit")
        with open(os.path.join(place.workspace, "hog.py"), "w", encoding="utf-8") as f:
            f.write(HOG)
        for form in FORMS:
            for words in (["--", PYTHON, "hog.py", "keep"],
                          ["--shell", "--", PYTHON + " hog.py keep; echo after; exit 3"]):
                status, out, err = place.run(*form, "--memory", "64M", *words)
                equal((status, "after" in out), (128 + signal.SIGKILL, False), "%s: %s" % (words, err))
                check("ended by its memory limit" in err, "stderr %r" % err)
            equal(place.run(*form, "--memory", "256M", "--", PYTHON, "-c", "pass")[0], 0, "enough")


@suite.test()
def test_limits_of_the_operator():
    """The options of serve hold here too: default and allowance."""
    with Place() as place:
        with open(os.path.join(place.workspace, "hog.py"), "w", encoding="utf-8") as f:
            f.write(HOG)
        for option in ("process.memory_bytes=64M", "limits.memory_bytes=64M"):
            status, _, err = place.run("--set", option, "--", PYTHON, "hog.py", "keep")
            equal(status, 128 + signal.SIGKILL, "%s: %s" % (option, err))
            check("ended by its memory limit" in err, "stderr %r" % err)
        for words, text in ((["--set", "limits.memory_bytes=64M", "--memory", "65M"], "limits.memory_bytes"),
                            (["--set", "limits.cpu_percent=50", "--cpu", "0.6"], "limits.cpu_percent")):
            status, out, err = place.run(*words, "--", "echo", "ran")
            equal((status, out), (125, ""), "%s: %s" % (words, err))
            check(text in err, "%s: %r" % (words, err))
        equal(place.run("--set", "limits.memory_bytes=64M", "--memory", "64M", "--set",
                        "limits.cpu_percent=50", "--cpu", "0.5", "--", "echo", "ran")[:2], (0, "ran\n"),
              "as much as is allowed")


# Works for a second as a clock on the wall has it, or as many as are asked for; prints what of
# them it got of a processor.
BURN = """
import os, sys, time
seconds = float(sys.argv[1])
end = time.monotonic() + seconds
while time.monotonic() < end:
    pass
t = os.times()
print((t.user + t.system) / seconds)
"""


@suite.test()
def test_cpu():
    """Slowed down: with a limit of 0.03 it gets less than a third of what it gets without. A machine
    that is busy with other things is asked again, for longer."""
    with Place() as place:
        for form in FORMS:
            most = 0
            for seconds in ("1", "3", "9"):
                free = float(place.run(*form, "--", PYTHON, "-c", BURN, seconds)[1])
                most = max(most, free)
                status, out, err = place.run(*form, "--cpu", "0.03", "--", PYTHON, "-c", BURN, seconds)
                equal(status, 0, err)
                if float(out) < free / 3:
                    break
            else:
                if most < 0.09:
                    raise Skip("this busy machine gives %.3f of a core to what has no limit" % most)
                check(False, "%s of a processor, and %.2f without a limit" % (out, free))


@suite.test()
def test_options():
    with Place() as place:
        os.mkdir(os.path.join(place.workspace, "sub"))
        for words in (["--env", "A=1", "--env", "B=x=y", "--cwd", "sub"],
                      ["--env=A=1", "--env=B=x=y", "--cwd=" + place.workspace + "/sub"]):
            status, out, err = place.run(*words, "--shell", "--", "echo $A $B; pwd")
            equal((status, out), (0, "1 x=y\n%s/sub\n" % place.workspace), err)
        status, out, _ = place.run("--", "printf", "%s|", "a b", "", "$HOME", "--timeout")
        equal(out, "a b||$HOME|--timeout|", "words")
        equal(place.run("printf", "%s", "--timeout")[1], "--timeout", "words without --")
        status, out, _ = place.run("--shell", "--", "echo $HOME $((1+2)) | tr 1-9 a-i")
        check(out.endswith(" c\n"), "--shell: %r" % out)


@suite.test()
def test_what_no_request_could_ask_for():
    """More and other bytes in its words than a client may send."""
    with Place() as place:
        status, out, err = place.run("--", "echo", *["a"] * 70000)
        equal((status, len(out), err), (0, 140000, ""), "arguments")
        done = subprocess.run(place.argv("run", "--", "printf", "%s|", b"\xff\xfe"), env=place.env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=40)
        equal((done.returncode, done.stdout), (0, b"\xff\xfe|"), "bytes")


@suite.test()
def test_bounds():
    """Those of process.run, said in words for people, with the forms that are accepted."""
    with Place() as place:
        for option, values, said in (
                ("--timeout", ("0", "2h", "3601", "7200s"), ("more than 0", "at most 1h", "500ms")),
                ("--timeout", ("soon", "5M", "-1", "1e3", "5 m"), ("is not a time", "500ms", "5m")),
                ("--memory", ("0", "2M", "4095K"), ("at least 4M", "64MiB")),
                ("--memory", ("64MB", "much", "64KK"), ("is not a size", "64MiB")),
                ("--cpu", ("0", "0.001", "2000", "-1"), ("at least 0.01", "at most 1024")),
                ("--cpu", ("half", "inf", "nan"), ("is not a number", "0.5"))):
            for value in values:
                status, out, err = place.run(option, value, "--", "echo", "ran")
                equal((status, out), (2, ""), "%s %s: %s" % (option, value, err))
                for part in (option + " " + value, *said):
                    check(part in err, "%s: no %r in %r" % (value, part, err))
        for words in (["--timeout", "1h"], ["--timeout=90s"], ["--timeout", "500ms"], ["--timeout", "1.5m"],
                      ["--memory", "64MiB"], ["--memory", "2G"], ["--memory", "65536K"]):
            status, out, err = place.run(*words, "--", "echo", "ran")
            check((status, out) == (0, "ran\n") or "500ms" in words, "%s: %d %s" % (words, status, err))


@suite.test()
def test_words_for_people():
    """No word of the protocol's in what is said on the command line."""
    with Place() as place:
        cases = ((["--cwd", "/etc"], 77, "--cwd"), (["--env", "LD_PRELOAD=x"], 77, "LD_PRELOAD"),
                 (["--env", "A-B=x", "--shell"], 125, "underscores, or leave out --shell"),
                 (["--env", "=x"], 2, "NAME=VALUE"), (["--set", "limits.cpu_percent=50", "--cpu", "1"], 125, "--cpu"),
                 (["--set", "limits.memory_bytes=64M", "--memory", "65M"], 125, "--memory"),
                 (["--set", "tier.process.run=deny"], 77, "tier.process.run"),
                 (["--set", "sandbox.require=network_off"], 125, "--no-network"),
                 (["--workspace", place.base + "/none"], 125, "none"),
                 (["--state-dir", place.workspace], 125, "--state-dir"))
        for words, wanted, part in cases:
            status, _, err = place.run(*words, "--", "true")
            equal(status, wanted, "%s: %s" % (words, err))
            check(part in err, "%s: no %s in %r" % (words, part, err))
            for word in ("parameter", "param", "call ", "as args", "InvalidParams", "agent.session", "_limit",
                         "working_directory", "network: false"):
                check(word not in err, "%s: %s in %r" % (words, word, err))
        err = place.run("--shell", "--", "rm -rf /")[2]
        check("files.remove_tree" in err and "client" not in err, err)


@suite.test()
def test_document():
    """--json: the output is kept, and one document says all of it; the status stays."""
    with Place() as place:
        status, out, err = place.run("--json", "--shell", "--", "echo hi; echo oh >&2; exit 3", input=b"x")
        result = json.loads(out)
        equal((status, err, result["exit_code"], result["stdout_summary"], result["stderr_summary"]),
              (3, "", 3, "hi\n", "oh\n"), "status, stderr, result")
        status, out, err = place.run("--json", "--timeout", "500ms", "--", "sleep", "60")
        result = json.loads(out)
        equal((status, result["state"], result["survivors"]), (124, "timed_out", 0), "a timeout")
        for words, wanted, kind in ((["--", "no-such-program-here"], 127, "CommandNotFound"),
                                    (["--shell", "rm -rf /"], 77, "CommandBlocked"),
                                    (["--set", "sandbox.require=network_off", "--", "true"], 125, None)):
            status, out, err = place.run("--json", *words)
            error = json.loads(out)["error"]
            equal(status, wanted, "%s: %s" % (words, err))
            check(err and kind in (None, error["data"]["type"]), "%s: %s" % (words, out))
        with open("/dev/full", "wb") as full:
            done = subprocess.run(place.argv("run", "--json", "--", "true"), env=place.env, timeout=40,
                                  stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE)
        equal(done.returncode, 125, "a full disk: %s" % done.stderr)


CONNECT = """
import socket
try:
    socket.create_connection(("127.0.0.1", %d), 15)
    print("open")
except OSError as e:
    print("shut")
try:
    import os
    open(%r, "w")
    print("open")
except OSError as e:
    print("shut")
"""


@suite.test()
def test_network_and_profile():
    import socket
    host = socket.socket()
    host.bind(("127.0.0.1", 0))
    host.listen(16)
    for form in FORMS:
        with Place() as place:
            _, found = examine(place, *form)
            kept = any(layer.startswith(("landlock", "mount_n")) for layer in found["active"])
            probe = ["--", PYTHON, "-c", CONNECT % (host.getsockname()[1], place.base + "/outside")]
            free = place.run(*form, "--set", "sandbox.profile=none", *probe)[1]
            equal(free, "open\nopen\n", "without a sandbox")
            files = "shut\n" if kept else "open\n"
            equal(place.run(*form, *probe)[1], "open\n" + files, "default")
            equal(place.run(*form, "--no-network", *probe)[1], "shut\n" + files, "--no-network")
            if kept:
                equal(place.run(*form, "--strict", *probe)[1], "shut\nshut\n", "--strict")
    host.close()


@suite.test()
def test_user():
    with Place() as place:
        if os.geteuid() != 0:
            status, _, err = place.run("--user", "root", "--", "id")
            equal((status, err), (125, "procpen run: --user is not available: procpen is not root, and cannot "
                                  "become \"root\". Start procpen as root, or remove --user; "
                                  "`procpen doctor` shows all layers.\n"), "status, stderr")
            return
        os.chmod(place.base, 0o755)
        os.chmod(place.workspace, 0o755)
        status, out, err = place.run("--user", "nobody", "--shell", "--",
                                     "id -un; echo $USER; echo x >$TMPDIR/y && cat $TMPDIR/y")
        equal((status, out), (0, "nobody\nnobody\nx\n"), err)
        equal(place.run("--user", "no-such-account", "--", "id"), (
            125, "", "procpen run: --user is not available: \"no-such-account\" has no account in /etc/passwd. "
            "Name an account: `--user nobody`, or remove --user; "
            "`procpen doctor` shows all layers.\n"), "unknown account")
        check("--set sandbox.user=nobody" in place.run("--set", "sandbox.user=no-such-account", "id")[2],
              "the option that was set")
        equal(place.run("--user", "a,b", "--", "id")[0], 2, "two names")
        os.chmod(place.workspace, 0o700)
        status, out, err = place.run("--user", "nobody", "--", "id")
        equal((status, out), (77, ""), "a workspace that it may not enter: %s" % err)


@suite.test()
def test_confirm():
    """Who wants to be asked, and what to change: for the person who has typed the command."""
    with Place() as place:
        asks = "procpen run: process.run was not allowed: it needs a confirmation, and nobody can be asked here. "
        for words, said in (
                (["--set", "packs=git:confirm", "git", "push", "--force"],
                 "Rule \"git.push_force\" of pack git asks for it, which the operator can change in packs "
                 "(set by --set)"),
                (["--set", "tier.process.run=confirm", "true"],
                 "The operator can change this with --set tier.process.run=... (set by --set)")):
            status, out, err = place.run(*words)
            equal((status, out, err.rstrip(".\n")), (77, "", (asks + said).rstrip(".")), str(words))
        _, _, err = place.run("--set", "packs=git:deny", "git", "push", "--force")
        check("--force-with-lease" in err and "The operator can change" in err and "retry" not in err, err)


# ---------------------------------------------------------------- run: the record

@suite.test()
def test_record():
    """Attempts and ends are recorded, refused ones too, and nothing runs unrecorded."""
    with Place() as place:
        place.run("--env", "SECRET=hidden", "--", "echo", "one")
        place.run("--shell", "--", "exit 7")
        place.run("--set", "blocklist.literal_match=anywhere", "--", "echo", "reboot")
        lines = place.records()
        events = [(r["event"], r.get("decision"), r.get("outcome")) for r in lines]
        for event in (("attempt", "allowed", None), ("end", None, "exit status 0"),
                      ("end", None, "exit status 7"), ("attempt", "blocked", "CommandBlocked")):
            check(event in events, "%s in %s" % (event, events))
        place.run("--set", "tier.process.run=deny", "--", "true")
        place.run("--", "no-such-program-here")
        place.run("--cwd", "/", "--", "true")
        lines = place.records()
        events = [(r.get("decision"), r.get("rule"), r.get("outcome")) for r in lines]
        for event in (("blocked", "literal.reboot", "CommandBlocked"),
                      ("denied", "tier.deny", "PermissionDenied"),
                      ("failed", None, "CommandNotFound"), ("failed", None, "PathOutOfScope")):
            check(event in events, "%s in %s" % (event, events))
        place.run("--", "echo", "one two")
        place.run("--", "echo", "one", "two")
        place.run("--shell", "--", "echo one two")
        hashes = [r["argv_sha256"] for r in place.records()
                  if r["event"] == "attempt" and r["command"] == "echo one two"]
        equal((len(hashes), len(set(hashes))), (3, 3), "each command has a hash of its own")
        ends = [r for r in lines if r["event"] == "end"]
        check(all(r["process_id"] and r["request_id"] == 1 for r in ends), "ends are joined: %s" % ends)
        commands = [r.get("command") for r in lines]
        check("echo one" in commands and "exit 7" in commands, str(commands))
        check("hidden" not in json.dumps(lines), "a value of the environment is on record")
        shutil.rmtree(place.state)
        with open(place.state, "w", encoding="utf-8") as f:
            f.write("no directory")
        status, _, err = place.run("--", "touch", place.workspace + "/ran")
        check(status in (77, 125) and not os.path.exists(place.workspace + "/ran"),
              "%d %r" % (status, err))
        os.unlink(place.state)


if __name__ == "__main__":
    suite.main()
