#!/usr/bin/env python3
"""The shell of command strings: bash where it is, or the one that the operator names."""
import json
import os
import re
import socket
import subprocess
import tempfile

from client import RpcError, Server, Skip, check, equal, server_path
from suite import Suite

suite = Suite()
BASH = "/bin/bash"
IN_SH = ("--set", "process.shell=/bin/sh")

# What agents paste, and what it prints.
SNIPPETS = (
    ("set -o pipefail; false | true; echo $?", "1\n"),
    ("printf 'x=5\\n' > vars; source ./vars; echo $x", "5\n"),
    ("[[ abc == a* && 10 -gt 9 ]] && echo yes", "yes\n"),
    ("a=(one 'two words'); a+=(three); echo ${#a[@]} \"${a[1]}\"", "3 two words\n"),
    ("diff <(echo a) <(echo a) && echo same", "same\n"),
    ("echo {1..3} {a,b}.c", "1 2 3 a.c b.c\n"),
    ("for ((i = 0; i < 3; i++)); do printf $i; done", "012"),
    ("read -r x y <<< 'one two'; echo $y", "two\n"),
    ("mkdir -p d; pushd d >/dev/null; basename \"$PWD\"; popd >/dev/null", "d\n"),
    ("f() { echo from f; }; export -f f; bash -c f", "from f\n"),
    ("x=path/to/file.txt; echo ${x##*/} ${x/to/from} ${x^^}", "file.txt path/from/file.txt PATH/TO/FILE.TXT\n"),
    ("{ echo out; echo err >&2; } &> both; wc -l < both", "2\n"),
    ("echo one |& cat; function f { local n=$1; echo $((n * 2)); }; f 4", "one\n8\n"),
    ("declare -A m=([k]=v); echo ${m[k]}; mapfile -t l < <(printf '1\\n2\\n'); echo ${#l[@]}", "v\n2\n"),
    ("set -euo pipefail; trap 'echo cleaned' EXIT; printf '%s\\n' $'a\\tb'", "a\tb\ncleaned\n"),
)


def need_bash():
    if not os.access(BASH, os.X_OK):
        raise Skip("/bin/bash is not there")


def refused(server, kind, command, **params):
    try:
        server.run(command, **params)
    except RpcError as e:
        equal(e.type, kind, "refusal of %r" % command)
        return e
    raise AssertionError("%r was not refused" % command)


@suite.test()
def test_what_agents_paste_runs_in_bash():
    need_bash()
    server = Server()
    for command, output in SNIPPETS:
        got = server.run(command)
        equal((got["exit_code"], got["stdout_summary"], got["stderr_summary"]), (0, output, ""),
              command)
    server.stop()


@suite.test()
def test_shell_is_named():
    """The same one everywhere: session, $SHELL, $0, doctor."""
    for options, path in ((), None), (IN_SH, "/bin/sh"):
        server = Server(*options)
        path = path or (BASH if os.access(BASH, os.X_OK) else "/bin/sh")
        equal(server.call("agent.session")["shell"], path, "agent.session")
        equal(server.run('echo "$0 $SHELL"')["stdout_summary"], "%s %s\n" % (path, path), "$0, SHELL")
        equal(server.run("echo $0 $1", ["x"], shell=True)["stdout_summary"],
              "%s x\n" % os.path.basename(path), "$0 with args")
        doctor = subprocess.run([server_path(), "doctor", "--json", *options], capture_output=True,
                                cwd=server.workspace, check=False)
        equal(json.loads(doctor.stdout)["shell"], path, "doctor")
        server.stop()


@suite.test()
def test_sh_stays_sh():
    server = Server(*IN_SH)
    dash = os.path.basename(os.path.realpath("/bin/sh")) == "dash"
    equal(server.run("x=a; echo ${x}b | cat")["stdout_summary"], "ab\n", "a pipeline")
    if dash:
        equal(server.run("echo {1..3}")["stdout_summary"], "{1..3}\n", "no braces")
        refused(server, "InvalidCommand", "a=(1 2)")
        refused(server, "InvalidCommand", "diff <(ls) <(ls)")
    server.stop()


@suite.test()
def test_refusals():
    """Nothing runs: no program of that name, no text that the shell would accept."""
    for options in (), IN_SH:
        server = Server(*options)
        refused(server, "CommandNotFound", "nosuchprogram --at all")
        refused(server, "InvalidCommand", "touch ran; if then")
        refused(server, "InvalidCommand", "cd . &&")
        check(not os.path.exists(os.path.join(server.workspace, "ran")), "a part of it ran")
        got = server.run("cd . && nosuchprogram")
        equal(got["exit_code"], 127, "status of the shell")
        check("nosuchprogram" in got["stderr_summary"], got["stderr_summary"])
        equal(server.run("cd / && pwd | cat")["stdout_summary"], "/\n", "cd && pipeline")
        equal(server.run("exec sleep 100", timeout=0.3)["state"], "timed_out", "exec")
        equal(server.run("kill -TERM $$")["signal"], "SIGTERM", "signal of the shell")
        equal(server.run("sh -c 'exit 7' & wait $!")["exit_code"], 7, "wait")
        server.stop()


@suite.test()
def test_verdict_is_for_that_shell():
    need_bash()
    for options, blocked in ((), False), (IN_SH, True):
        server = Server(*options)
        equal(server.call("is_blocked", {"command": 'rm -rf "$UID"/*'})["blocked"], blocked, "UID")
        check(server.call("is_blocked", {"command": 'cd "$(dirname "$0")/.." && rm -rf *'})
              ["blocked"], "$0")
        server.stop()


@suite.test()
def test_no_startup_file():
    """Neither a remote login's variables nor a socket on stdin make bash read ~/.bashrc."""
    need_bash()
    with tempfile.TemporaryDirectory(prefix="procpen-shell-", dir="/var/tmp") as base:
        workspace = os.path.join(base, "workspace")
        os.mkdir(workspace)
        with open(os.path.join(workspace, ".bashrc"), "w", encoding="ascii") as f:
            f.write("echo startup file\n")
        server = Server(base=base)
        got = server.run("echo plain", environment={"HOME": workspace, "SSH_CLIENT": "::1 1 2"})
        equal(got["stdout_summary"], "plain\n", "of process.run")
        server.stop()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            done = subprocess.run(
                [server_path(), "run", "--workspace", workspace, "--state-dir",
                 os.path.join(base, "run-state"), "--env", "HOME=" + workspace, "--shell",
                 "echo {1..3}"], stdin=theirs, capture_output=True, text=True, check=False)
        equal((done.returncode, done.stdout), (0, "1 2 3\n"), "of procpen run --shell")


@suite.test()
def test_start_is_refused():
    """With the reason, and what to do."""
    with tempfile.TemporaryDirectory(prefix="procpen-shell-", dir="/var/tmp") as base:
        workspace = os.path.join(base, "workspace")
        os.mkdir(workspace)
        inside = os.path.join(workspace, "bash")
        os.symlink("/bin/sh", inside)
        for path, reason, usage in (("/usr/bin/fish", "none of bash, dash, ash and sh", True),
                                    ("bash", "not an absolute path", True),
                                    ("/nonexistent/bash", "no such file", False),
                                    ("/etc", "none of", True), (inside, "commands may write", False)):
            for verb in ("serve", "doctor", "check"):
                command = [server_path(), verb, "--set", "process.shell=" + path]
                command += ["true"] if verb == "check" else ["--workspace", workspace]
                if verb == "check" and path == inside:
                    continue  # nothing will run there
                done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                      check=False)
                equal(done.returncode, 2 if usage or verb == "check" else 1, "status of %s" % command)
                said = done.stdout if verb == "doctor" and not usage else done.stderr
                check("process.shell" in said and reason in said, "%s says %r" % (command, said))


@suite.test()
def test_default_is_doubted():
    """A default shell that commands cannot execute, or could replace: the server starts, and says so,
    as does doctor."""
    shells = "/bin/bash,/bin/sh"
    with tempfile.TemporaryDirectory(prefix="procpen-shell-", dir="/var/tmp") as base:
        workspace = os.path.join(base, "workspace")
        os.mkdir(workspace)
        for setting, said in (("process.umask=022", None),
                              ("sandbox.writable=" + os.path.dirname(os.path.realpath("/bin/sh")), "could replace it"),
                              ("sandbox.hide=" + shells, "sandbox.hide hides it")):
            done, report = (subprocess.run([server_path(), verb, "--workspace", workspace, "--state-dir",
                                            os.path.join(base, "state"), "--set", setting],
                                           capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                           check=False) for verb in ("serve", "doctor"))
            if "mount_namespace is missing" in done.stderr:
                continue
            equal(done.returncode, 0, "status with %s: %s" % (setting, done.stderr))
            if not said:
                check("process.shell" not in done.stderr + report.stdout, done.stderr + report.stdout)
                continue
            check(said in done.stderr and "name another one with process.shell" in done.stderr,
                  "%s: %r" % (setting, done.stderr))
            equal(report.returncode, 1, "status of doctor with %s: %s" % (setting, report.stdout))
            check("\nweaker: " in report.stdout and re.search(
                "\n  process.shell: .*%s\n      do:  name another shell with" % said, report.stdout),
                  "%s: %s" % (setting, report.stdout))


if __name__ == "__main__":
    suite.main()
