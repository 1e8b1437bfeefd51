#!/usr/bin/env python3
"""The command line: options, refusals to start, and what a start leaves behind."""
import json
import os
import pty
import re
import shutil
import subprocess
import tempfile

from client import ROOT, WAIT, Server, Skip, check, equal, server_path
from suite import Suite

suite = Suite()
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def run(*args, cwd=None, env=None, input=PING, stdin=None):
    """(status, stdout, stderr) of one procpen."""
    server = Server(start=False)
    environment = dict(server.env, **(env or {}))
    extra = {"stdin": stdin} if stdin is not None else {"input": input}
    done = subprocess.run([server_path()] + list(args), cwd=cwd or server.workspace,
                          env=environment, capture_output=True, timeout=WAIT, **extra)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


COMMANDS = {command["name"]: command for command in
            json.loads((ROOT / "schema" / "cli.json").read_text(encoding="utf-8"))["commands"]}
SHARED = json.loads((ROOT / "schema" / "cli.json").read_text(encoding="utf-8"))["shared"]


@suite.test()
def test_overview():
    """One screen; each command; and where the keys of --set are."""
    status, out, err = run("--help")
    equal((status, err), (0, ""), "status, stderr")
    check(len(out.splitlines()) <= 24, "%d lines" % len(out.splitlines()))
    check(max(map(len, out.splitlines())) <= 80, "a line longer than 80")
    for name in (*COMMANDS, "procpen help options"):
        check(name in out, "no %s in %s" % (name, out))
    for words in (["-h"], ["help"]):
        equal(run(*words), (0, out, ""), str(words))
    status, out, _ = run("help", "options")
    for row in json.loads((ROOT / "schema" / "config.json").read_text(encoding="utf-8")):
        check("  %s=" % row["name"] in out, "no %s in help options" % row["name"])
    check("  limits.line_bytes=4M\n      64K to 16M bytes\n" in out, "sizes as people write them: " + out)
    check("  process.umask=022\n      0 to 0777\n" in out, "umask: " + out)


@suite.test()
def test_pages():
    """Each command has a page with every option, every status and its examples."""
    for name, command in COMMANDS.items():
        status, page, err = run(name, "--help")
        equal((status, err), (0, ""), "%s --help: status, stderr" % name)
        equal((run("help", name), run(name, "-h")), ((0, page, ""), (0, page, "")), "help " + name)
        check(max(map(len, page.splitlines())) <= 80, "a line longer than 80 in " + page)
        options = sum((SHARED[o] if isinstance(o, str) else [o] for o in command["options"]), [])
        for part in (*command["usage"], *[o["name"] for o in options], *[
                s["status"] for s in command["statuses"]], *[e["command"] for e in command["examples"]]):
            check(part in page, "no %s in %s" % (part, page))
    status, out, err = run("help", "chekc")
    equal((status, out), (2, ""), "help of an unknown command: status, stdout")
    check("check" in err, "no nearest name in %r" % err)
    check("did you mean options?" in run("help", "optoins")[2], "no nearest topic")


@suite.test()
def test_json_of_what_fails():
    """A script that reads stdout finds the error there; people find it on stderr."""
    with tempfile.TemporaryDirectory(prefix="procpen-test-") as folder:
        wrong = os.path.join(folder, "wrong.json")
        with open(wrong, "w", encoding="utf-8") as f:
            f.write('{"x": 1}')
        taken = [["check", "ls"], ["config", "show"], ["policy", "test"], ["policy", "explain", "ls"],
                 ["run", "true"]]
        for words in [[*w[:-1], "--json", "--config", wrong, w[-1]] for w in taken] + \
                     [["policy", "test", "--json", wrong]]:
            status, out, err = run(*words)
            error = json.loads(out)["error"]
            equal((status != 0, error["data"]["type"], error["data"]["details"]),
                  (True, "InvalidParams", {"line": 1, "column": 2}), str(words))
            check('unknown option "x"' in error["message"] and error["message"] in err, err)
        for words, kind in ((["setup", "--json", "--write", "--file", folder, "codex"], None),
                            (["audit", "verify", "--json", "--state-dir", folder], "BadDirectory"),
                            (["call", "--json", "--config", wrong, "agent.session"], "InternalError")):
            status, out, err = run(*words)
            error = json.loads(out)["error"]
            check(status and error["message"] in err, str((words, out, err)))
            check(kind in (None, error["data"]["type"]), out)


@suite.test()
def test_json_of_every_command():
    """Each takes --json; help then prints what it is made from."""
    def as_written(name):
        command = COMMANDS[name]
        options = sum((SHARED[o] if isinstance(o, str) else [o] for o in command["options"]), [])
        return {"options": [o["name"] for o in options],
                **{key: command[key] for key in ("name", "summary", "usage", "text", "statuses", "examples")}}

    def as_printed(command):
        return {**command, "options": [o["name"] for o in command["options"]]}

    for name in COMMANDS:
        equal(run(name, "--json", "--help"), run(name, "--help"), name)
        status, out, err = run("help", "--json", name)
        equal((status, err), (0, ""), "help --json: status, stderr")
        equal(as_printed(json.loads(out)), as_written(name), "help --json " + name)
    every = json.loads(run("help", "--json")[1])["commands"]
    equal(list(map(as_printed, every)), list(map(as_written, COMMANDS)), "help --json")
    [option] = [o for o in json.loads(run("help", "run", "--json")[1])["options"] if o["name"] == "--tty"]
    equal((option["short"], "value" in option), ("-t", False), "--tty")
    equal(run("help", "options", "--json"), run("config", "schema"), "help options --json")
    equal(run("help", "chekc", "--json"), run("help", "chekc"), "an unknown command")
    equal(json.loads(run("serve", "--json", input=PING)[1])["result"], {}, "serve --json")


@suite.test()
def test_version():
    line = run("--version")
    equal((line[0], line[1].startswith("procpen "), line[2]), (0, True, ""), "--version")
    for words in (["-V"], ["version"], ["run", "--version"], ["doctor", "--json", "-V"],
                  ["serve", "--version"]):
        equal(run(*words), line, " ".join(words))
    found = json.loads(run("version", "--json")[1])
    equal("%s %s\n" % (found["name"], found["version"]), line[1], "version --json")


@suite.test()
def test_stdout_that_fails():
    """No page and no version is lost without a word."""
    server = Server(start=False)
    for words in (["--version"], ["--help"], ["help", "run"], ["help", "options"], ["setup"],
                  ["version", "--json"], ["help", "--json"], ["help", "--json", "options"],
                  ["call", "agent.session"]):
        for shell in ("exec \"$@\" >/dev/full", "exec \"$@\" >&-"):
            done = subprocess.run(["sh", "-c", shell, "sh", server_path(), *words], env=server.env,
                                  cwd=server.workspace, capture_output=True, text=True, timeout=WAIT,
                                  stdin=subprocess.DEVNULL)
            check(done.returncode not in (0, 2), "%s: status %d" % (words, done.returncode))
            check("stdout" in done.stderr, "%s: %r" % (words, done.stderr))
            named = re.match(r"procpen ?(\w*): ", done.stderr)[1]
            check(named in ("", words[0]), "%s speaks as %s" % (words, named))


@suite.test()
def test_options_end_at_the_first_word():
    """Words after the program belong to the program, even if procpen has such an option."""
    ours = run("--version")[1]
    for args in (["ls", "--version"], ["--", "ls", "--version"], ["--timeout", "5", "ls", "--version"],
                 ["--timeout=5", "--", "ls", "--version"], ["--cwd", ".", "ls", "--version"]):
        status, out, err = run("run", *args)
        equal(status, 0, "%s: %s" % (args, err))
        check("coreutils" in out and ours not in out, "%s: %r" % (args, out))
    status, out, err = run("run", "ls", "--help")
    check(status == 0 and "ls [OPTION]" in out, "ls --help: %d %r %r" % (status, out, err))
    status, out, _ = run("run", "sh", "-c", "echo $0 $1", "-h", "--set")
    equal((status, out), (0, "-h --set\n"), "options behind sh: status, stdout")
    for args in (["--shell", "ls", "--version"], ["--shell", "true", "--help"]):
        status, out, err = run("run", *args)
        equal((status, out), (2, ""), "%s: status, stdout" % args)
        check("one command line" in err, "%s: %r" % (args, err))
    status, out, err = run("check", "rm", "--help")
    equal((status, out), (2, ""), "check rm --help: status, stdout")
    check("quote" in err, "check rm --help: %r" % err)
    equal(run("check", "--", "ls", "--help")[:2], (0, "allowed\n"), "check -- ls --help")


@suite.test()
def test_help_before_the_first_word():
    for args in (["run", "--help", "ls"], ["run", "--strict", "-h", "--", "ls"],
                 ["check", "--json", "--help", "rm"], ["doctor", "--json", "--help"],
                 ["call", "process.run", "--help"]):
        equal(run(*args), run("help", args[0]), " ".join(args))


@suite.test()
def test_unknown_words():
    for args, near in ((["serv"], "mean serve?"), (["chekc"], "mean check?"), (["ls"], "procpen run ls"),
                       (["process_run"], "procpen call process.run"),
                       (["serve", "--worksapce", "/tmp"], "mean --workspace?"),
                       (["--verison"], "mean --version?"), (["run", "--net", "ls"], "mean --no-network or --network?"),
                       (["check", "--line", "ls"], "mean --lines?"), (["serve", "extra"], "no word"),
                       (["--workspace", ".", "doctor"], "procpen doctor"),
                       (["--json", "doctor"], "comes before its options: procpen doctor"), (["help", "run", "check"], "one")):
        status, out, err = run(*args)
        equal((status, out), (2, ""), "%s: status, stdout" % args)
        check(near in err, "%s: no %r in %r" % (args, near, err))
    for args in (["run", "--quiet", "ls"], ["frobnicate"], ["run", "--x", "ls"]):
        status, out, err = run(*args)
        equal((status, out), (2, ""), "%s: status, stdout" % args)
        check("did you mean" not in err, "%s: a guess in %r" % (args, err))


@suite.test()
def test_bad_settings():
    cases = (("limits.runing_processes=5", "limits.running_processes"),
             ("limits.running_processes=0", "1"), ("limits.running_processes=many", "integer"),
             ("tier.process.run=sometimes", "confirm"), ("audit.required=perhaps", "true"),
             ("nonsense", "="), ("limits.line_bytes=17M", "16777216"),
             ("limits.memory_bytes=64MB", "64MiB"), ("server.eof_seconds=soon", "90s"),
             ("confirm.timeout_ms=2h", "600000 milliseconds"), ("packs=gti:deny", "git"),
             ("packs=git:allow", "git:notify"), ("a\x1b[2J=1", "a\\u001b[2J"))
    for setting, wanted in cases:
        for words in (["serve"], ["run", "true"], ["call", "rpc.discover"], ["check", "ls"], ["doctor"]):
            status, out, err = run(words[0], "--set", setting, *words[1:])
            equal((status, out), (2, ""), "%s %s: %s" % (words[0], setting, err))
            check(wanted.lower() in err.lower(), "%s: no %r in %r" % (setting, wanted, err))
            check("\x1b" not in err, repr(err))


@suite.test()
def test_reference_has_short_options():
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    cli = json.loads((ROOT / "schema" / "cli.json").read_text(encoding="utf-8"))
    options = [o for c in cli["commands"] for o in c["options"] if isinstance(o, dict)]
    short = [o for o in options + cli["shared"]["help"] if "short" in o]
    check(len(short) > 3, str(short))
    for option in short:
        check("| `%s`, `%s" % (option["short"], option["name"]) in reference, option["name"])


@suite.test()
def test_reference_has_values_as_people_write_them():
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    for key, values in (("limits.memory_bytes", "0 … 1 EiB"), ("process.shell", "one path"),
                        ("process.umask", "0 … 0777"), ("sandbox.network", "true, false, or TCP ports")):
        row = next(line for line in reference.splitlines() if line.startswith("| `%s`" % key))
        equal(row.split(" | ")[3], values, key)


@suite.test()
def test_help_names_every_layer():
    """That sandbox.require takes, as its mistakes list them."""
    listed = run("serve", "--set", "sandbox.require=nonsense")[2].partition(" Use ")[2]
    text = run("help", "options")[1].partition("  sandbox.require=")[2].partition("\n  sandbox.")[0]
    layers = re.findall(r"[a-z]+(?:_[a-z]+)*", re.sub(r"\(.*?\)", "", listed).replace(" or ", " "))
    check("seccomp" in layers, listed)
    equal([layer for layer in layers if layer not in text], [], "layers that the help leaves out")


@suite.test()
def test_option_forms():
    server = Server(start=False)
    for args in (["--workspace", server.workspace], ["--workspace=" + server.workspace]):
        status, out, err = run("serve", *args, "--set=limits.running_processes=5")
        equal(status, 0, "%s: %s" % (args, err))
        check('"result"' in out, "no answer: " + out)


@suite.test()
def test_bare_call_serves():
    status, out, err = run()
    equal(status, 0, "status: " + err)
    check('"result"' in out, "no answer: " + out)


@suite.test()
def test_terminal_gets_a_hint():
    try:
        master, slave = pty.openpty()
    except OSError as e:
        raise Skip("no pseudo-terminal is available here: %s" % e)
    try:
        status, out, err = run(stdin=slave)
    finally:
        os.close(slave)
        os.close(master)
    equal((status, out), (2, ""), "status, stdout")
    check("serve" in err, "hint: " + err)


@suite.test()
def test_serve_in_a_terminal():
    """Who types it is told what it waits for; a host, whose pipe is no terminal, is not."""
    try:
        master, slave = pty.openpty()
    except OSError as e:
        raise Skip("no pseudo-terminal can be had here: %s" % e)
    try:
        os.write(master, b"\x04")
        status, out, err = run("serve", stdin=slave)
    finally:
        os.close(slave)
        os.close(master)
    equal((status, out), (0, ""), "status, stdout")
    check("JSON-RPC" in err and "procpen call" in err, err)
    check("JSON-RPC" not in run("serve")[2], "said to a host too")


@suite.test()
def test_workspace_order():
    server = Server(start=False)
    places = {}
    for name in ("flag", "variable", "claude", "cwd"):
        places[name] = os.path.join(server.base, name)
        os.mkdir(places[name])
    request = b'{"jsonrpc":"2.0","id":1,"method":"agent.session"}\n'
    env = {"PROCPEN_WORKSPACE": places["variable"], "CLAUDE_PROJECT_DIR": places["claude"]}
    _, out, _ = run("serve", "--workspace", places["flag"], env=env, cwd=places["cwd"],
                    input=request)
    check('"workspace":"%s"' % places["flag"] in out.replace('": "', '":"'), "flag: " + out)
    _, out, _ = run("serve", env=env, cwd=places["cwd"], input=request)
    check(places["variable"] in out, "PROCPEN_WORKSPACE: " + out)
    del env["PROCPEN_WORKSPACE"]
    _, out, _ = run("serve", env=env, cwd=places["cwd"], input=request)
    check(places["claude"] in out, "CLAUDE_PROJECT_DIR: " + out)
    _, out, _ = run("serve", cwd=places["cwd"], input=request)
    check(places["cwd"] in out, "working directory: " + out)


@suite.test()
def test_no_such_workspace_no_start():
    server = Server(start=False)
    status, out, err = run("serve", "--workspace", server.base + "/missing")
    check(status != 0 and out == "" and "missing" in err, "missing directory: %r" % err)
    open(server.base + "/file", "w").close()
    status, out, err = run("serve", "--workspace", server.base + "/file")
    check(status != 0 and out == "", "a file as workspace")


@suite.test()
def test_state_beneath_the_workspace():
    """A command could rewrite its own record: the server names the option and does not start."""
    server = Server(start=False)
    inside = os.path.join(server.workspace, "state")
    os.symlink(server.workspace, os.path.join(server.base, "link"))
    for state in (inside, server.workspace, inside + "/deep/er",
                  os.path.join(server.base, "link", "x")):
        status, out, err = run("serve", "--workspace", server.workspace, "--state-dir", state)
        check(status != 0 and out == "", "%s: status %d" % (state, status))
        check("--state-dir" in err, "%s: %r" % (state, err))
        check(not os.path.exists(inside), "the directory was made")
    status, out, err = run("serve", "--workspace", server.workspace, "--allow-dir",
                           server.home, "--state-dir", server.home + "/state")
    check(status != 0 and "--state-dir" in err, "beneath a further directory: %r" % err)
    check("--allow-dir" in err and "PROJECT" not in err, "no narrower workspace helps: %r" % err)
    status, out, err = run("serve", "--workspace", server.base,
                           env={"XDG_STATE_HOME": server.base + "/xdg"})
    check(status != 0 and "--state-dir" in err, "default state directory: %r" % err)


@suite.test()
def test_default_state_directory():
    server = Server(start=False)
    request = (b'{"jsonrpc":"2.0","id":1,"method":"process.run",'
               b'"params":{"command":"true"}}\n')
    for env, place in (({"XDG_STATE_HOME": server.base + "/xdg"}, server.base + "/xdg/procpen"),
                       ({"HOME": server.home}, server.home + "/.local/state/procpen")):
        status, _, err = run("serve", "--workspace", server.workspace, env=env, input=request)
        equal(status, 0, "status: " + err)
        files = os.listdir(place + "/audit")
        equal(len(files), 1, "audit files in " + place)


@suite.test()
def test_a_start_leaves_nothing():
    """Throw-away probes: no file, no directory."""
    server = Server(start=False)
    status, out, _ = run("serve", "--workspace", server.workspace, "--state-dir", server.state)
    equal(status, 0, "status")
    check('"result"' in out, "answer")
    equal((os.path.exists(server.state), os.listdir(server.workspace), os.listdir(server.home)),
          (False, [], []), "files left behind")


@suite.test()
def test_no_descriptor_for_streams():
    """What was not started is the command, whichever descriptor is missing."""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    if os.geteuid() != 0:
        raise Skip("the server's memory is not dumpable: only root's strace can read it")
    server = Server(start=False)
    said = b""
    # The first open of /dev/null fills gaps in 0, 1, 2.
    for call, path, firsts in (("openat", ["-P", "/dev/null"], range(2, 8)), ("pipe2", [], range(1, 8))):
        for first in firsts:
            wrapper = ["strace", "-qq", "-o", "/dev/null", *path, "-e", "trace=" + call,
                       "-e", "inject=%s:error=EMFILE:when=%d..%d" % (call, first, first + 1)]
            done = subprocess.run(wrapper + [server_path(), "run", "--json", "true"], capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=WAIT, cwd=server.workspace,
                                  env=dict(server.env, ASAN_OPTIONS="detect_leaks=0"))
            check(done.returncode == 0 or (done.returncode == 125 and b"EMFILE" in done.stderr),
                  "from %s %d on: %d, %s" % (call, first, done.returncode, done.stderr))
            check(b"doctor" not in done.stderr, "doctor explains no shortage: %s" % done.stderr)
            said += done.stderr
    check(b"/true was not started" in said, str(said))


if __name__ == "__main__":
    suite.main()
