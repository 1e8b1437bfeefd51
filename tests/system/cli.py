#!/usr/bin/env python3
"""The command line: options, refusals to start, and what a start leaves behind."""
import os
import pty
import subprocess

from client import WAIT, Server, Skip, check, equal, server_path
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


@suite.test()
def test_help_and_version():
    status, out, _ = run("--help")
    equal(status, 0, "status of --help")
    check("serve" in out and "--workspace" in out and "--set" in out, "text of --help: " + out)
    status, out, _ = run("--version")
    equal(status, 0, "status of --version")
    check("procpen" in out, "text of --version: " + out)


@suite.test()
def test_help_and_version_as_commands():
    for command, option in (("help", "--help"), ("version", "--version")):
        equal(run(command), run(option), command)
    equal(run("help", "check"), run("check", "--help"), "help check")
    for words in (["help", "run"], ["help", "serve"], ["help", "--help"], ["help", "help"]):
        equal(run(*words), run("--help"), " ".join(words))
    status, out, err = run("help", "chekc")
    equal((status, out), (2, ""), "help of an unknown command: status, stdout")
    check("check" in err, "no nearest name in %r" % err)


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
    version, general = run("--version")[:2], run("--help")[:2]
    for args in (["run", "--version"], ["run", "--timeout", "5", "--version", "ls"],
                 ["doctor", "--json", "--version"], ["serve", "--version"]):
        equal(run(*args)[:2], version, " ".join(args))
    for args in (["run", "--help", "ls"], ["run", "--strict", "-h", "--", "ls"],
                 ["doctor", "--help"], ["serve", "-h"], ["-h"]):
        equal(run(*args)[:2], general, " ".join(args))
    for args in (["check", "--json", "--help", "rm"], ["setup", "--help"]):
        status, out, _ = run(*args)
        check(status == 0 and "Usage: procpen " + args[0] in out, "%s: %r" % (args, out))


@suite.test()
def test_unknown_words():
    for args, near in ((["serv"], "serve"), (["serve", "--worksapce", "/tmp"], "--workspace"),
                       (["--verison"], "--version")):
        status, out, err = run(*args)
        equal((status, out), (2, ""), "%s: status, stdout" % args)
        check(near in err, "%s: no nearest name in %r" % (args, err))


@suite.test()
def test_bad_settings():
    cases = (("limits.runing_processes=5", "limits.running_processes"),
             ("limits.running_processes=0", "1"), ("limits.running_processes=many", "integer"),
             ("tier.process.run=sometimes", "confirm"), ("audit.required=perhaps", "true"),
             ("nonsense", "="), ("limits.line_bytes=17M", "16777216"))
    for setting, wanted in cases:
        status, out, err = run("serve", "--set", setting)
        check(status != 0 and out == "", "%s: status %d, %r" % (setting, status, out))
        check(wanted.lower() in err.lower(), "%s: no %r in %r" % (setting, wanted, err))


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


if __name__ == "__main__":
    suite.main()
