#!/usr/bin/env python3
"""The operator's configuration: where it is read from, who may write it, how mistakes are told."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from client import PASSED_ON, Skip, check, equal, server_path
from suite import Suite

suite = Suite()
ORDINARY = 65534


class Place:
    """A home, a workspace and a state directory; their paths have no other writer."""

    def __init__(self, user=0):
        if user and os.geteuid() != 0:
            raise Skip("only root can become another user")
        if user and not shutil.which("setpriv"):
            raise Skip("setpriv is not installed")
        self.base = tempfile.mkdtemp(prefix="procpen-config-")
        self.home = self.path("home")
        self.workspace = self.path("workspace")
        for path in (self.home, self.workspace, self.path("state")):
            os.mkdir(path)
        self.user_file = self.path("home/.config/procpen/config.json")
        os.makedirs(os.path.dirname(self.user_file))
        self.env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.home}
        for name in PASSED_ON:
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.wrapper = []
        if user:
            for folder, _, names in os.walk(self.base):
                for path in [folder] + [os.path.join(folder, name) for name in names]:
                    os.chown(path, user, user)
            self.wrapper = ["setpriv", "--reuid=%d" % user, "--regid=%d" % user, "--clear-groups"]
        self.user = user

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.base, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.base, name)

    def write(self, path, value, mode=0o600):
        text = value if isinstance(value, (str, bytes)) else json.dumps(value)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        if self.user:
            os.chown(path, self.user, self.user)
        return path

    def call(self, command, *words, env=None, wrapper=(), input=b""):
        """(status, stdout, stderr)"""
        where = ["--workspace", self.workspace, "--state-dir", self.path("state")]
        argv = list(wrapper) + self.wrapper + [server_path(), command]
        argv += where if command in ("run", "serve", "call", "doctor") else []
        done = subprocess.run(argv + list(words), env=dict(self.env, **(env or {})), timeout=40,
                              capture_output=True, cwd=self.base, input=input, check=False)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(
            errors="replace")

    def expect_refused(self, part, *words, **how):
        """The same in every command, each with its own status; nothing runs."""
        for command, operands, status in (
                ("run", ["--", "touch", "ran"], 125), ("serve", [], 1), ("check", ["true"], 2),
                ("call", ["agent.session"], 125), ("doctor", [], 1)):
            got = self.call(command, *words, *operands, **how)
            equal(got[0], status, "status of %s: %s" % (command, got))
            check(part in " ".join((got[1] + got[2]).split()), "%s: %s" % (command, got))
        check(not os.path.exists(os.path.join(self.workspace, "ran")), "nothing runs")

    def network(self, *words, **how):
        """sandbox.network as a run has it: does the result name network_off?"""
        got = self.call("run", "--json", *words, "--", "true", **how)
        equal(got[0], 0, str(got))
        return not any(layer.startswith("network_off") for layer in json.loads(got[1])["sandbox"])


@suite.test()
def test_sources_in_order():
    with Place() as p:
        check(p.network(), "the default")
        p.write(p.user_file, '// all projects\n{"sandbox.network": false, /* x */}')
        check(not p.network(), "the user's file")
        on = {"PROCPEN_SET_SANDBOX__NETWORK": "on"}
        check(p.network(env=on), "the environment wins over the file")
        check(not p.network("--set", "sandbox.network=no", env=on), "--set wins over both")
        other = p.write(p.path("other.json"), {})
        check(p.network("--config", other), "--config replaces the user's file")
        check(p.network(env={"XDG_CONFIG_HOME": p.path("none")}), "XDG_CONFIG_HOME moves it")
        check(not p.network(env={"XDG_CONFIG_HOME": "none"}), "a relative one counts as unset")


@suite.test()
def test_every_command_reads_it():
    with Place() as p:
        p.write(p.user_file, {"process.umask": "077", "blocklist.literal_match": "anywhere"})
        equal(p.call("run", "--shell", "umask")[1], "0077\n", "run")
        equal(p.call("check", "echo reboot")[0], 1, "check")
        request = {"jsonrpc": "2.0", "id": 1, "method": "process.run", "params": {"command": "umask"}}
        answer = p.call("serve", input=json.dumps(request).encode() + b"\n")[1].splitlines()[-1]
        equal(json.loads(answer)["result"]["stdout_summary"], "0077\n", "serve")
        check("0077" in p.call("call", "process.run", '{"command":"umask"}')[1], "call")
        p.write(p.user_file, {"sandbox.profile": "none"})
        check(json.loads(p.call("doctor", "--json")[1])["files_open"], "doctor")


@suite.test()
def test_machine_file():
    if os.geteuid() or not shutil.which("unshare"):
        raise Skip("only root can mount over /etc/procpen")
    with Place() as p:
        script = ('mount -t tmpfs none %s && mkdir %s/upper %s/work && mount -t overlay none -o '
                  'lowerdir=/etc,upperdir=%s/upper,workdir=%s/work /etc || exit 99; '
                  'mkdir /etc/procpen && printf %%s "$0" >/etc/procpen/config.json; exec "$@"'
                  ) % ((p.path("home"),) * 5)
        wrapper = ["unshare", "--mount", "sh", "-c", script, '{"sandbox.network": false}']
        got = p.call("run", "--json", "--", "true", wrapper=wrapper)
        if got[0] == 99:
            raise Skip("no overlay file system: %s" % got[2])
        check("network_off" in got[1], str(got))
        own = {"XDG_CONFIG_HOME": p.path("own")}
        os.makedirs(p.path("own/procpen"))
        p.write(p.path("own/procpen/config.json"), {"sandbox.network": True})
        check(p.network(env=own, wrapper=wrapper), "the user's wins")
        wrapper[-1] = '{"sandbox.netwrk": false}'
        p.expect_refused("/etc/procpen/config.json:1:2: unknown option", wrapper=wrapper)


@suite.test()
def test_mistakes():
    with Place() as p:
        p.write(p.user_file, b'\xef\xbb\xbf{\r\n  "sandbox.netwrok": false\r\n}')
        p.expect_refused(p.user_file + ':2:3: unknown option "sandbox.netwrok"; the nearest is '
                         '"sandbox.network"')
        for text, part in ((b"", ":1:1: "), (b"\0", ":1:1: a NUL byte"), (b"[" * 2**20, "nested too deep"),
                           (b'{"rules": [{}]}', '1:12: a rule has no id'),
                           (b'{"packs": "gits:deny"}', 'the nearest is "git"'),
                           (b'{"sandbox.network":1,"sandbox.network":0}', "duplicate"),
                           (b'{"\x1b[31m": 1}', "control character"), (b'{"\xff": 1}', "unable to decode"),
                           (b" " * (2**20 + 1), "larger than 1 MiB")):
            p.write(p.user_file, text)
            got = p.call("check", "true")
            equal(got[0], 2, "%r: %s" % (text[:40], got))
            check(part in got[2] and "\x1b" not in got[2], "%r: %s" % (text[:40], got))
            equal("Remove one of the two" in got[2], part == "duplicate", "hint for %r: %s" % (text[:40], got))
            check(part != "duplicate" or "one JSON object" not in got[2], str(got))
        os.unlink(p.user_file)
        p.expect_refused("environment variable PROCPEN_SET_SANDBOX__NETWRK: unknown option",
                         env={"PROCPEN_SET_SANDBOX__NETWRK": "1"})
        p.expect_refused("A dot is two underscores: PROCPEN_SET_SANDBOX__NETWORK for sandbox.network",
                         env={"PROCPEN_SET_SANDBOX_NETWORK": "false"})
        p.expect_refused("No such file", "--config", p.path("none"))


@suite.test()
def test_others_may_write():
    with Place() as p:
        p.write(p.user_file, {}, mode=0o664)
        p.expect_refused("other users may write the file")
        p.write(p.user_file, {})
        folder = os.path.dirname(p.user_file)
        for path in (folder, os.path.dirname(folder), p.home):
            os.chmod(path, 0o775)
            p.expect_refused("other users may write the directory %s" % path)
            os.chmod(path, 0o1777)
            equal(p.call("run", "true")[0], 0, "with the sticky bit")
            os.chmod(path, 0o755)
        os.chmod(p.home, 0o777)
        equal(p.call("run", "--config", p.write(p.path("c"), {}), "true")[0], 0, "--config instead")
        os.unlink(p.user_file)
        equal(p.call("run", "true")[0], 0, "there is no file")


@suite.test()
def test_links():
    with Place() as p:
        os.mkdir(p.path("open"))
        p.write(p.path("open/c"), {"sandbox.network": False})
        os.symlink(p.path("open/c"), p.user_file)
        check(not p.network(), "a link is followed")
        os.chmod(p.path("open"), 0o777)
        p.expect_refused("other users may write the directory %s" % p.path("open"))
        os.unlink(p.user_file)
        os.symlink("nowhere", p.user_file)
        p.expect_refused("cannot look for %s" % p.user_file)


@suite.test()
def test_no_file():
    with Place() as p:
        os.mkfifo(p.path("fifo"), 0o600)
        for path in (p.path("fifo"), "/dev/zero", "/dev/null", p.home):
            p.expect_refused("is not a regular file", "--config", path)
        p.expect_refused("ELOOP", "--config", "/dev/stdin")
        p.expect_refused("such as /dev/stdin and <(COMMAND)", "--config", "/dev/fd/0")


@suite.test()
def test_where_commands_write():
    with Place() as p:
        part = "is where commands may write"
        inside = p.write(os.path.join(p.workspace, "c.json"), {})
        os.symlink(p.write(p.path("c.json"), {}), os.path.join(p.workspace, "link"))
        for path in (inside, os.path.join(p.workspace, "link"), "workspace/../workspace/c.json",
                     "workspace/../c.json"):
            for command in ("run", "doctor"):
                got = p.call(command, "--config", path, *(["true"] if command == "run" else []))
                check(part in " ".join((got[1] + got[2]).split()), "%s %s: %s" % (command, path, got))
        got = p.call("run", "--config", "workspace/../c.json", "true")
        check("by a path that does not pass there" in got[2], "a path through it: %s" % (got,))
        p.write(p.user_file, {"sandbox.writable": [os.path.dirname(p.user_file)]})
        got = p.call("run", "true")
        check(got[0] == 125 and part in got[2], "sandbox.writable: %s" % (got,))
        got = p.call("run", "--allow-dir", p.home, "true")
        check(got[0] == 125 and part in got[2], "--allow-dir: %s" % (got,))
        os.unlink(p.user_file)
        got = p.call("serve", "--allow-dir", p.home)
        check(got[0] == 0 and "commands can create %s" % p.user_file in got[2], "missing: %s" % (got,))


@suite.test()
def test_mounted_from_where_commands_write():
    """A bind mount gives a file of the workspace the path of the configuration, as in a container."""
    if os.geteuid() or not shutil.which("unshare"):
        raise Skip("only root can mount")
    with Place() as p:
        os.mkdir(os.path.join(p.workspace, "seen"))
        inside = p.write(os.path.join(p.workspace, "seen", "config.json"), {})
        p.write(p.user_file, {})
        folder = os.path.dirname(p.user_file)
        for what, place in ((inside, p.user_file), (os.path.dirname(inside), folder)):
            wrapper = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"',
                       what, place]
            got = p.call("run", "true", wrapper=wrapper)
            check(got[0] == 125 and "is where commands may write" in got[2], "%s: %s" % (place, got))
        wrapper[-2:] = [p.path("elsewhere"), folder]
        os.mkdir(wrapper[-2])
        p.write(os.path.join(wrapper[-2], "config.json"), {})
        equal(p.call("run", "true", wrapper=wrapper)[0], 0, "of another directory")


@suite.test()
def test_show():
    with Place() as p:
        p.write(p.user_file, '{\n\n"limits.memory_bytes": "64M", "env.allow": ["A", "B*"]}')
        env = {"PROCPEN_SET_LOG__HEAD_BYTES": "64K"}
        status, out, err = p.call("config", "show", "--origin", "--set", "process.umask=077", env=env)
        equal((status, err), (0, ""), "status, stderr")
        lines = dict(line.split("\t") for line in out.splitlines())
        equal(lines["limits.memory_bytes=67108864"], p.user_file + ":3", "of a file")
        equal(lines["env.allow=A,B*"], p.user_file + ":3", "of a file")
        equal(lines["log.head_bytes=65536"], "PROCPEN_SET_LOG__HEAD_BYTES", "of the environment")
        equal(lines["process.umask=077"], "--set", "of the command line")
        equal(lines["sandbox.network=true"], "default", "of the table")
        plain = p.call("config", "show")[1].splitlines()
        equal(len(plain), len(lines), "keys")
        check("env.allow=A,B*" in plain, "without origin")
        shown = json.loads(p.call("config", "show", "--json", env=env)[1])
        equal(shown["log.head_bytes"], {
            "value": 65536, "default": 262144, "origin": "PROCPEN_SET_LOG__HEAD_BYTES",
            "bounds": {"minimum": 4096, "maximum": 16777216, "unit": "bytes"}}, "as JSON")
        equal(shown["env.allow"]["value"], ["A", "B*"], "names as JSON")
        # What is shown sets the same again.
        again = p.write(p.path("again"), {key: one["value"] for key, one in shown.items()})
        same = json.loads(p.call("config", "show", "--json", "--config", again)[1])
        equal({k: v["value"] for k, v in same.items()}, {k: v["value"] for k, v in shown.items()}, "again")
        p.write(p.user_file, "{")
        equal(p.call("config", "show")[0], 1, "a mistake")
        for words in ([], ["shw"], ["show", "x"], ["schema", "x"], ["validate"], ["validate", "a", "b"]):
            equal(p.call("config", *words)[0], 2, str(words))
        check("did you mean show" in p.call("config", "shw")[2], "the nearest")


LAPSED = {"rules": [{"id": "a", "decision": "deny", "program": "x", "until": "2020-01-01"}]}


@suite.test()
def test_validate():
    """Also of a file whose name is no UTF-8: its JSON is whole, with U+FFFD in the name."""
    with Place() as p:
        good = p.write(p.path("good"), {"sandbox.network": False})
        equal(p.call("config", "validate", good), (0, good + ": valid\n", ""), "valid")
        equal(json.loads(p.call("config", "validate", "--json", good)[1]),
              {"valid": True, "file": good, "mistakes": [], "mistakes_total": 0, "notes": []}, "JSON")
        project = p.write(os.path.join(p.workspace, ".procpen.json"), {"sandbox.hide": ["/x"]})
        status, out, err = p.call("config", "validate", project)
        check((status, out) == (0, project + ": valid\n") and "names what is ignored of it" in err, err)
        words = re.search("`procpen (.+)`", err)[1].split()
        check("sandbox.hide" in p.call(*words)[2], "what the note names says nothing")
        equal(len(json.loads(p.call("config", "validate", "--json", project)[1])["notes"]), 1, "its note")
        for value, part in (({"a": 1}, ":1:2: unknown option"), ({"sandbox.writable": ["x"]}, "absolute"),
                            ({"sandbox.require": ["landlok"]}, "landlock")):
            status, out, err = p.call("config", "validate", p.write(p.path("bad"), value))
            check((status, out) == (1, "") and part in err, "%s: %s" % (value, err))
        verdict = json.loads(p.call("config", "validate", "--json", p.path("bad"))[1])
        check(verdict["valid"] is False and "landlok" in verdict["mistakes"][0]["message"], str(verdict))
        for value, valid in ((LAPSED, True), ("{", False)):
            odd = p.write(os.fsencode(p.path("odd")) + b"\xff", value)
            status, out, err = p.call("config", "validate", "--json", odd)
            verdict = json.loads(out)
            equal((status, verdict["valid"], verdict["file"]), (int(not valid), valid, p.path("odd\ufffd")), out + err)
            check(p.path("odd\ufffd") + ":1" in (verdict["notes"] + [one["message"] for one in verdict["mistakes"]])[0],
                  out)
        p.write(odd, LAPSED)
        tested = json.loads(p.call("policy", "test", "--json", odd)[1])
        equal([one["from"] for one in tested["rules"]], [p.path("odd\ufffd") + ":1"], "policy test")
        p.write(p.user_file, "{")  # other places do not count
        equal(p.call("config", "validate", good)[0], 0, "the file alone")
        os.chmod(good, 0o666)
        equal(p.call("config", "validate", good)[0], 1, "others may write it")
        equal(p.call("config", "validate", p.path("none"))[0], 1, "none")


MISTAKES = '''{
  "sandbox.netwrok": false,
  "limits.requests": 0,
  "sandbox.profile": "none",
  "sandbox.require": ["landlok",
                      "filez"], "sandbox.hide": ["x", "/a/../b"],
  "rules": [
    {"id": "a", "decision": "deny", "progam": "x", "wrds": "y"},
    {"id": "b", "decision": "denied", "program": "x"},
    {"id": "c", "decision": "deny", "program": "x"},
    {"id": "d", "decision": "deny", "program": "x",
     "examples": ["y"]}],
  "packs": ["gitt:confirm", "db:allow", "git:deny"],
  "process.shell": "/bin/zsh", "audit.sink": "file"
}'''
NAMED = [  # line, column, what
    (2, 3, 'the nearest is "sandbox.network"'), (3, 3, "limits.requests"), (5, 3, 'the nearest is "landlock"'),
    (5, 3, 'the nearest is "files"'), (6, 33, '"x" is not an absolute path'), (6, 33, 'contains ".."'),
    (8, 5, 'the nearest is "program"; rule "a": unknown member "wrds"; the nearest is "words"'),
    (9, 5, 'rule "b": decision is none of'), (11, 5, 'rule "d" does not match its example: y'),
    (13, 3, 'the nearest is "git"'), (13, 3, '"db:allow" does not end in notify, confirm or deny'),
    (14, 3, "process.shell: "), (14, 32, "audit.sink=file is not fd:N")]


@suite.test()
def test_validate_names_all_mistakes():
    """With file, line, column and the nearest name; a start says the same of the first of them."""
    with Place() as p:
        path = p.write(p.path("many"), MISTAKES)
        status, out, err = p.call("config", "validate", path)
        lines = err.splitlines()
        equal((status, out, len(lines)), (1, "", len(NAMED)), err)
        verdict = json.loads(p.call("config", "validate", "--json", path)[1])
        equal((verdict["valid"], verdict["mistakes_total"], verdict["notes"]), (False, len(NAMED), []), "as JSON")
        for line, column, what in NAMED:
            place = "%s:%d:%d: " % (path, line, column)
            check(any(one.startswith("procpen config: " + place) and what in one for one in lines), place + what + err)
            check(any((one["line"], one["column"]) == (line, column) and what in one["message"]
                      for one in verdict["mistakes"]), "%s %s" % (what, verdict))
        status, _, started = p.call("serve", "--config", path)
        check(status == 1 and lines[0].split(": ", 1)[1] in started, started)
        for value, what in (({"packs": ["gti:deny"]}, ':1:2: option packs: there is no pack "gti"'),
                            ({"sandbox.hide": ["x"]}, ':1:2: option sandbox.hide: "x"')):
            check(p.write(path, value) + what in p.call("serve", "--config", path)[2], what)
        for value, what in (({"audit.sink": "fd:77"}, "audit.sink=fd:77 is not open"),
                            ({"sandbox.require": ["landlock"], "sandbox.profile": "none"}, "sandbox.require=landlock is not"),
                            ({"sandbox.writable": [p.path("state")]}, "sandbox.writable: " + p.path("state"))):
            check(p.write(path, value) + ":1:2: " + what in p.call("serve", "--config", path)[2], what)
        for words, env, where in ((["--set", "packs=x:deny"], {}, "--set packs=x:deny: "),
                                  ([], {"PROCPEN_SET_PACKS": "x:deny"}, "environment variable PROCPEN_SET_PACKS: ")):
            check(where + "option packs" in p.call("serve", *words, env=env)[2], where)
        for wrong in ("sandbox.require=landlok", "sandbox.hide=x", "process.shell=bash", "audit.sink=file"):
            for words in (["run", "--set", wrong, "true"], ["serve", "--set", wrong], ["doctor", "--set", wrong],
                          ["call", "--set", wrong, "agent.session"], ["config", "show", "--set", wrong]):
                status, out, err = p.call(*words)
                check((status, out) == (2, "") and "--set %s: " % wrong in err, "%s: %s" % (words, err))
        err = p.call("config", "validate", p.write(path, {"key%d" % i: 1 for i in range(27)}))[2].splitlines()
        check(len(err) == 21 and "and 7 more" in err[20], str(err))


@suite.test()
def test_schema():
    with Place() as p:
        status, out, err = p.call("config", "schema")
        equal((status, err), (0, ""), "status, stderr")
        schema = json.loads(out)
        shown = json.loads(p.call("config", "show", "--json")[1])
        equal(sorted(schema["properties"]), sorted(["$schema", "rules", *shown]), "keys")
        try:
            import jsonschema
        except ImportError:
            raise Skip("python3-jsonschema is not installed") from None
        validator = jsonschema.Draft7Validator(schema)
        validator.check_schema(schema)
        for value in ({key: one["value"] for key, one in shown.items()}, {"limits.memory_bytes": "64M"},
                      {"sandbox.users": "bin"}, {"$schema": "x"}, {"sandbox.netwrk": 1},
                      {"sandbox.network": "no"}, {"limits.requests": 0}, {"sandbox.profile": "x"},
                      {"env.allow": ["A,B"]}, {"env.allow": [1]}, []):
            status = p.call("config", "validate", p.write(p.path("c"), value))[0]
            equal(status == 0, validator.is_valid(value), "procpen and the schema on %s" % (value,))


@suite.test()
def test_of_another_user():
    with Place(user=ORDINARY) as p:
        p.write(p.user_file, {"sandbox.network": False})
        check(not p.network(), "the user's own")
        os.chown(p.user_file, 0, 0)
        os.chmod(p.user_file, 0o644)
        check(not p.network(), "root's")
        os.chmod(p.user_file, 0o600)
        p.expect_refused("Permission denied")
        os.chown(p.user_file, 12345, ORDINARY)
        os.chmod(p.user_file, 0o644)
        p.expect_refused("belongs to user 12345")
        os.chown(p.user_file, ORDINARY, ORDINARY)
        os.chown(os.path.dirname(p.user_file), 12345, ORDINARY)
        p.expect_refused("belongs to user 12345")
        os.chown(os.path.dirname(p.user_file), 0, 0)
        os.chmod(os.path.dirname(p.user_file), 0o700)
        p.expect_refused("cannot look for")


if __name__ == "__main__":
    suite.main()
