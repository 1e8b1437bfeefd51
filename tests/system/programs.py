#!/usr/bin/env python3
"""What people use on a terminal, typed to as a model does, and read as a model reads it."""
import glob
import os
import re
import subprocess

from client import WAIT, Server, Skip, check, equal, eventually
from suite import Suite
from terminal import NOWHERE, USER, Terminal, bash, in_foreground, need

suite = Suite()


def shown(run, **params):
    """What a person saw of it."""
    return run.server.logs(run.id, stream="stdout", clean=True, **params)["stdout"]


def until_shown(run, pattern):
    text = eventually(lambda: re.search(pattern, shown(run)) and shown(run), WAIT,
                      "%r is not shown by %s" % (pattern, run.id))
    check("\x1b" not in text and "\r" not in text, "not clean: %r" % text)
    return text


def write(server, name, text):
    path = os.path.join(server.workspace, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def read(server, name):
    with open(os.path.join(server.workspace, name)) as f:
        return f.read()


def audit_of(server):
    text = ""
    for path in glob.glob(os.path.join(server.state, "audit", "*")):
        with open(path) as f:
            text += f.read()
    return text


# ---------------------------------------------------------------- full screens

@suite.test()
def test_less():
    server = Server()
    write(server, "lines", "".join("line %d\n" % n for n in range(1, 101)))
    less = Terminal(server, need("less"), ["lines"], environment={"LESS": ""})
    until_shown(less, r"line 23\n")
    less.type(" ")
    until_shown(less, r"line 46\n:$")
    less.type("/99\r")
    until_shown(less, r"line 99\n")
    less.type("q")
    equal(less.end()["exit_code"], 0, "exit code")
    text = shown(less)
    equal(text.split("\n")[:46], ["line %d" % n for n in range(1, 47)], "what scrolled by")
    server.stop()


@suite.test()
def test_vim():
    server = Server()
    if not subprocess.run([need("vim"), "--version"], capture_output=True, check=False).stdout.startswith(b"VIM "):
        raise Skip("vim is another editor here")
    vim = Terminal(server, need("vim"), ["-u", "NONE", "-i", "NONE", "note"])
    until_shown(vim, r"^~\n(~\n)+\"note\" \[New")
    vim.type("ihello\rworld")
    text = until_shown(vim, r"world")
    equal(text.split("\n")[:3], ["hello", "world", "~"], "the screen")
    vim.type("\x1b:wq\r")
    equal(vim.end()["exit_code"], 0, "exit code")
    equal(read(server, "note"), "hello\nworld\n", "the file")
    check(re.match(r"hello\nworld\n~\n(.*\n)*.*\"note\"", shown(vim)), shown(vim))
    script = server.run("printf '%%s/o/0/g\\nwq\\n' | vim -es -u NONE -i NONE note", tty=True)
    equal((script["exit_code"], read(server, "note")), (0, "hell0\nw0rld\n"), "vim -es")
    server.stop()


@suite.test()
def test_top():
    """Each screen of it is drawn over the one before."""
    server = Server()
    run = server.run(need("top"), ["-d", "0.1", "-n", "4"], tty=True)
    equal(run["exit_code"], 0, run["stdout_summary"])
    text = server.logs(run["process_id"], clean=True)["stdout"]
    equal(text.count("load average"), 1, text)
    check(re.search(r"PID USER .*COMMAND *\n", text) and "\x1b" not in text, text)
    server.stop()


# ---------------------------------------------------------------- prompts

@suite.test()
def test_shell():
    """Job control in the background, editing keys, and a paste."""
    server = Server()
    shell = bash(server)
    shell.type("sleep 600\r")
    in_foreground(server, shell, "sleep 600")
    equal(shell.type("echo 'a\r")["bytes_incomplete"], 8, "it waits")
    shell.ask("\x1a", r"Stopped(.|\n)*<ready>")
    shell.ask("bg\r", r"sleep 600 &(.|\n)*<ready>")
    shell.ask("jobs\r", r"Running +sleep 600(.|\n)*<ready>")
    shell.ask("kill %1; wait; echo gone\r", r"[\r\n]gone(.|\n)*<ready>")
    shell.type("echo ae\x1b[Db\x1b[Cd\r")
    until_shown(shell, r"<ready>echo abed\nabed\n<ready>$")
    answer = shell.type("\x1b[200~echo first\necho sec\x1b[201~ond\r")
    equal(answer["warnings"], [], "a line with a paste in it is judged")
    until_shown(shell, r"echo second\nfirst\nsecond\n<ready>$")
    answer = shell.type("\x1b[200~echo third\necho fourth\x1b[201~\r")
    equal(answer["warnings"], [], "a paste is judged")
    until_shown(shell, r"\nthird\nfourth\n<ready>$")
    equal(shell.refused("\x1b[200~true\nrm -rf /\x1b[201~\r").type, "CommandBlocked", "a paste")
    shell.type("\x1b[201~\x15exit 3\r")
    equal(shell.end()["exit_code"], 3, "exit code")
    server.stop()


@suite.test()
def test_python_with_readline():
    """What line editing redraws is shown as it was entered."""
    server = Server()
    python = Terminal(server, "/usr/bin/python3", ["-q", "-i"])
    until_shown(python, ">>> $")
    python.type("print(6*8)\x1b[D\x1b[D\x7f7)\r")
    if "42))" in until_shown(python, r"\n(>>> |\.\.\. )$"):
        raise Skip("python3 has no readline")
    python.type("\x01\x0bx = 'a' * 100\r")
    until_shown(python, r"'a' \* 100\n>>> $")
    python.type("x\r")
    until_shown(python, "\n'a{100}'\n>>> $")
    python.type("\x04")
    check(python.end()["state"] != "running", "^D")
    server.stop()


@suite.test()
def test_gdb():
    server = Server()
    gdb = Terminal(server, need("gdb"), ["-q", "-nx", "-nh"])
    until_shown(gdb, r"\(gdb\) $")
    gdb.type("print 6 * 7\r")
    until_shown(gdb, r"\$1 = 42\n\(gdb\) $")
    gdb.type("quit\r")
    equal(gdb.end()["exit_code"], 0, "exit code")
    server.stop()


@suite.test()
def test_git_rebase():
    """An editor that git starts has the terminal."""
    need("git")
    server = Server()
    run = server.run("git init -q . && git config user.email a@b.c && git config user.name n && "
                     "for i in 1 2 3; do echo $i > f$i; git add . && git commit -qm c$i || exit; done",
                     environment={"GIT_CONFIG_NOSYSTEM": "1"})
    equal(run["exit_code"], 0, str(run))
    os.chmod(write(server, "edit", "#!/bin/sh\nread -p 'drop: ' x </dev/tty && sed -i \"/ $x\\$/d\" \"$1\"\n"),
             0o755)
    rebase = Terminal(server, "git rebase -i --root",
                      environment={"GIT_SEQUENCE_EDITOR": "./edit", "GIT_EDITOR": "true"})
    rebase.until(r"drop: $")
    rebase.ask("c2\n", "Successfully rebased")
    equal(rebase.end()["exit_code"], 0, shown(rebase))
    check(re.search(r"Successfully rebased and updated", shown(rebase)), shown(rebase))
    equal(server.run("git log --format=%s")["stdout_summary"], "c3\nc1\n", "the commits")
    # Its pager gets the terminal too, and gives it back.
    log = Terminal(server, "git -c core.pager='less -+F' log --color=always")
    until_shown(log, r"\n    c1\n")
    log.type("q")
    equal(log.end()["exit_code"], 0, shown(log))
    check("Author: n <a@b.c>" in shown(log), shown(log))
    server.stop()


@suite.test()
def test_multiplexers():
    """A session that one run starts in the background is there for the next: its socket has a place."""
    screen, tmux = need("screen"), need("tmux")
    server = Server()
    for start, show in ((screen + " -dmS dev cat", screen + " -ls"),
                        (tmux + " new-session -d -s dev cat", tmux + " list-sessions")):
        run = server.run(start)
        if "mount_namespace" not in run["sandbox"]:
            raise Skip("programs can make no terminals without a mount namespace")
        equal(run["exit_code"], 0, str(run))
        eventually(lambda: "dev" in server.run(show)["stdout_summary"], WAIT,
                   "no session after %r" % start)
    server.stop()


@suite.test()
def test_npm_init():
    need("npm")
    server = Server()
    npm = Terminal(server, "npm init", environment={"npm_config_update_notifier": "false"})
    last = ""
    while not last.endswith("Is this OK? (yes) "):  # the questions differ from version to version
        last = eventually(lambda: re.search(r"(: |\) )$", shown(npm)[len(last):]) and shown(npm), WAIT,
                          "no question behind %r" % last[-200:])
        npm.type("a thing\r" if last.endswith("description: ") else "\r")
    equal(npm.end()["exit_code"], 0, shown(npm))
    check('"description": "a thing"' in read(server, "package.json"), "package.json")
    text = shown(npm)
    check(re.search(r"\ndescription: a thing\nentry point: ", text), text)
    server.stop()


# ---------------------------------------------------------------- passwords

@suite.test()
def test_passwords():
    """What is typed while echo is off is in no log, and in no output but what the program prints."""
    server = Server()
    secret = "hunter-two-%d" % os.getpid()
    run = Terminal(server, "read -s -p 'Password: ' x; echo; echo ${#x}")
    run.until("Password: ")
    run.ask(secret + "\n", r"\n%d\r\n" % len(secret))
    equal(shown(run), "Password: \n%d\n" % len(secret), "read -s")
    runs = [run]
    if os.access("/usr/bin/ssh-keygen", os.X_OK):
        key = Terminal(server, "ssh-keygen -q -t ed25519 -f key")
        key.until("passphrase.*: ")
        key.ask(secret + "\n", "same passphrase again: ")
        key.type(secret + "\n")
        equal(key.end()["exit_code"], 0, shown(key))
        other = Terminal(server, "ssh-keygen -p -f key")
        other.until("old passphrase: ")
        other.ask(secret + "\n", "new passphrase.*: ")
        other.ask(secret + "-new\n", "again: ")
        other.ask(secret + "-new\n", "saved with the new passphrase")
        equal(other.end()["exit_code"], 0, shown(other))
        runs += [key, other]
    for run in runs:
        check(secret not in server.logs(run.id)["stdout"], "in the output of %s" % run.id)
    server.stop()
    check(secret not in audit_of(server), "in the audit log")


@suite.test()
def test_sudo():
    """Refused to an ordinary user, without a question. Root's makes a terminal of its own, and works."""
    sudo = need("sudo")
    for user in (True, False):
        if user and os.geteuid() != 0:
            continue
        server = Server(wrapper=USER if user else (), start=False)
        if user:
            for path in (server.base, server.workspace, server.home):
                os.chown(path, 65534, 65534)
        server.start()
        run = server.run("%s -k true" % sudo, tty=True)
        if not user and os.geteuid() == 0:
            equal((run["exit_code"], run["stdout_summary"]), (0, ""), "root's")
        else:
            equal(run["exit_code"], 1, str(run))
            check('"no new privileges" flag is set' in run["stdout_summary"], str(run))
        server.stop()


# ---------------------------------------------------------------- the terminal itself

ASKS = r"""
import os, select, sys, termios, tty
tty.setraw(0)
os.write(1, b"\x1b[6n\x1b[c\x1b]11;?\x07\x1b[>q")
answer = select.select([0], [], [], 0.5)[0]
termios.tcflush(0, termios.TCIFLUSH)
os.write(1, b"answered" if answer else b"no answer")
"""

COUNTS = r"""
import os, signal
times = 0
def changed(*_):
    global times
    times += 1
    os.write(1, b"size %d %d\n" % tuple(os.get_terminal_size()))  # print is not reentrant
signal.signal(signal.SIGWINCH, changed)
print("ready", flush=True)
input()
print("seen" if times else "never", *os.get_terminal_size())
"""


@suite.test()
def test_asks_the_terminal():
    """Where a program's questions go unanswered it goes on, and nothing of them is shown."""
    server = Server()
    run = server.run("python3", ["-c", ASKS], tty=True)
    equal(server.logs(run["process_id"], clean=True)["stdout"], "no answer", "shown")
    server.stop()


@suite.test()
def test_resize_storm():
    server = Server()
    run = Terminal(server, "python3", ["-c", COUNTS])
    run.until("ready\r\n")
    ids = [server.request("process.resize", {"process_id": run.id, "cols": 20 + n, "rows": 5 + n % 90})
           for n in range(600)]
    for number in ids:
        server.result(number)
    run.until("size 619 64\r\n")
    run.ask("\n", "seen 619 64\r\n")
    equal(run.end()["exit_code"], 0, "exit code")
    server.stop()


@suite.test()
def test_keys_in_canonical_mode():
    server = Server()
    cat = Terminal(server, "cat", [])
    cat.ask("\x1aabX\x7fc d\x17e\x15f\x16\x03g\n", "\r\n(.|\n)*\r\n")
    equal(server.logs(cat.id, tail_lines=1)["stdout"], "f\x03g\r\n", "erase, ^W, ^U, ^V")
    cat.type("lost\x03")
    equal(cat.end()["signal"], "SIGINT", "^C")
    cat = Terminal(server, "cat; echo over", environment={"PATH": os.environ["PATH"]})
    cat.ask("part\x04", "partpart")
    cat.ask("\x04", "over")
    equal(cat.end()["exit_code"], 0, "^D behind a part of a line, and at the start of one")
    server.stop()


if __name__ == "__main__":
    suite.main()
