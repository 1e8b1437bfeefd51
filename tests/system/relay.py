#!/usr/bin/env python3
"""`procpen run -t`: keys and output through two terminals, and the caller's terminal as it was in
every kind of end."""
import fcntl
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

from client import WAIT, Server, Skip, check, equal, eventually, server_path
from suite import Suite

suite = Suite()
READY = "echo rea''dy; "  # not in the command's own text
ROWS, COLS = 37, 101


def set_size(fd, rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def become_job(terminal, argv, server, foreground):
    """In the job's process: a group of its own, as shells with job control start it."""
    os.setpgid(0, 0)
    if foreground:
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(terminal, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    for fd in range(3):
        os.dup2(terminal, fd)
    os.closerange(3, 64)
    os.chdir(server.workspace)
    os.execve(argv[0], argv, dict(server.env, TERM="vt220"))


def be_shell(terminal, report, orders, argv, server, foreground):
    """In the session's leader: starts one job, tells its pid and each change of its state, and puts
    it in the foreground when it is told to."""
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if not job:
        become_job(terminal, argv, server, foreground)
    os.write(report, b"pid %d\n" % job)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(terminal, os.getpgrp())
        if not os.WIFSTOPPED(status):
            os.write(report, b"end %d\n" % os.waitstatus_to_exitcode(status))
            os.read(orders, 1)
            os._exit(0)
        os.write(report, b"stop %d\n" % os.WSTOPSIG(status))
        os.read(orders, 1)
        os.tcsetpgrp(terminal, job)
        os.kill(-job, signal.SIGCONT)


class Screen:
    """A terminal with a small shell on it, and `procpen run -t` as its job."""

    def __init__(self, *words, foreground=True, wrapper=(), size=(ROWS, COLS)):
        self.server = Server(start=False)
        if wrapper:
            for path in (self.server.base, self.server.workspace, self.server.home):
                os.chown(path, 65534, 65534)
        self.ours, self.theirs = os.openpty()
        set_size(self.theirs, *size)
        before = termios.tcgetattr(self.theirs)
        before[6][termios.VERASE] = b"\x08"  # not the kernel's own
        termios.tcsetattr(self.theirs, termios.TCSANOW, before)
        self.before = termios.tcgetattr(self.theirs)
        self.text = ""
        report, tell = os.pipe()
        ordered, self.orders = os.pipe()
        argv = [*wrapper, server_path(), "run", "-t"] + list(words)
        self.shell = os.fork()
        if not self.shell:
            os.close(self.ours)  # or it would not hang up
            os.close(self.orders)
            be_shell(self.theirs, tell, ordered, argv, self.server, foreground)
        os.close(tell)
        os.close(ordered)
        self.report = open(report, "rb", buffering=0)  # select() knows of no buffer
        self.pid = int(self.told("pid"))

    def told(self, what):
        """The next report of the shell, while what comes on the terminal is read."""
        end = time.monotonic() + WAIT
        while not select.select([self.report], [], [], 0)[0]:
            self.read()
            check(time.monotonic() < end, "no %r; the screen: %r" % (what, self.text[-300:]))
        word, value = self.report.readline().split()
        equal(word.decode(), what, "of the shell; the screen: %r" % self.text[-300:])
        return value

    def read(self):
        if select.select([self.ours], [], [], 0.02)[0]:
            self.text += os.read(self.ours, 65536).decode(errors="replace")
            return True
        return False

    def until(self, pattern):
        """Read on until what is not yet looked at matches."""
        def matches():
            self.read()
            return re.search(pattern, self.text)
        found = eventually(matches, WAIT, "no %r" % pattern)
        self.text = self.text[found.end():]

    def type(self, keys):
        os.write(self.ours, keys.encode())

    def settings(self):
        return termios.tcgetattr(self.theirs)

    def is_raw(self):
        return not self.settings()[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def go_on(self):
        os.write(self.orders, b"x")

    def end(self):
        """The exit status; afterwards the terminal is as it was, and no process is left."""
        status = int(self.told("end"))
        while self.read():
            pass
        eventually(lambda: self.settings() == self.before, WAIT, "the terminal is not restored")
        eventually(lambda: not self.server.survivors(), WAIT, "a process of the run is left")
        self.close()
        return status

    def close(self):
        self.go_on()
        os.waitpid(self.shell, 0)
        for fd in (self.ours, self.theirs, self.orders):
            os.close(fd)
        self.report.close()
        self.server.destroy()


@suite.test()
def test_a_terminal_of_its_own():
    """Size, TERM and settings are the caller's; the terminal is another one."""
    screen = Screen("sh", "-c", "stty size; echo $TERM; stty -a; stat -c '%d %i' $(tty); exit 7")
    theirs = os.fstat(screen.theirs)
    equal(screen.end(), 7, "exit status")
    for fact in ("%d %d\r\n" % (ROWS, COLS), "vt220\r\n", "erase = ^H"):
        check(fact in screen.text, "no %r in %r" % (fact, screen.text))
    named = re.search(r"\n(\d+ \d+)\r\n$", screen.text)
    check(named, "it has no name: %r" % screen.text)
    check(named[1] != "%d %d" % (theirs.st_dev, theirs.st_ino), "it is the caller's")


@suite.test()
def test_no_size():
    """The command of a terminal that knows no size gets the usual one, and keeps it."""
    screen = Screen("sh", "-c", "stty size; sleep 0.3; stty size", size=(0, 0))
    equal(screen.end(), 0, "exit status")
    equal(screen.text, "24 80\r\n24 80\r\n", "output")


@suite.test()
def test_all_output_arrives():
    screen = Screen("seq", "100000")
    equal(screen.end(), 0, "exit status")
    equal(screen.text, "".join("%d\r\n" % n for n in range(1, 100001)), "output")


@suite.test()
def test_keys_and_job_control():
    """Every key goes to the inner terminal: ^Z and ^C mean the job of the shell in there."""
    screen = Screen("--env", "PS1=<ready>", "bash", "--norc", "--noprofile", "-i")
    screen.until("<ready>")
    screen.type(READY + "cat\r")
    screen.until("ready\r\n")  # before, a key would be of the shell's own line
    screen.type("line\r")
    screen.until("line\r\nline\r\n")
    screen.type("\x1a")
    screen.until("Stopped(.|\n)*<ready>")
    screen.type("fg\r")
    screen.until("cat\r\n")
    screen.type("more\r")
    screen.until("more\r\nmore\r\n")  # cat has the terminal
    screen.type("\x03")
    screen.until("<ready>")
    set_size(screen.theirs, 21, 63)
    screen.type("until stty size | grep '21 63'; do sleep 0.01; done\r")
    screen.until("21 63\r\n")
    screen.type("exit 5\r")
    equal(screen.end(), 5, "exit status")


@suite.test()
def test_stop_and_continue():
    """A stop hands the terminal back; afterwards it is raw again, and the program redraws."""
    for number in (signal.SIGTSTP, signal.SIGSTOP):
        screen = Screen("sh", "-c", "trap 'echo redra''wn' WINCH; "
                        "%swhile :; do sleep 0.05; done" % READY)
        screen.until("ready")
        eventually(screen.is_raw, WAIT, "not raw")
        os.kill(screen.pid, number)
        equal(int(screen.told("stop")), number, "signal of the stop")
        if number == signal.SIGTSTP:
            equal(screen.settings(), screen.before, "settings while it is stopped")
        termios.tcsetattr(screen.theirs, termios.TCSANOW, screen.before)  # as a shell does
        screen.text = ""
        screen.go_on()
        screen.until("redrawn")
        check(screen.is_raw(), "not raw again")
        os.kill(screen.pid, signal.SIGTERM)
        equal(screen.end(), 137, "exit status")


@suite.test()
def test_rude_ends():
    """The terminal is restored however procpen ends; SIGKILL, and a crash, included."""
    for number, status in ((signal.SIGTERM, 137), (signal.SIGHUP, 137), (signal.SIGKILL, -9),
                           (signal.SIGSEGV, -11), (signal.SIGABRT, -6)):
        screen = Screen("sh", "-c", READY + "sleep 600")
        screen.until("ready")
        eventually(screen.is_raw, WAIT, "not raw")
        os.kill(screen.pid, number)
        if "asan" in server_path() and number in (signal.SIGSEGV, signal.SIGABRT):
            screen.told("end")
            eventually(lambda: screen.settings() == screen.before, WAIT, "not restored")
            screen.close()
            continue
        equal(screen.end(), status, "exit status after %s" % number)
    screen = Screen("--timeout", "300ms", "sh", "-c", READY + "sleep 600")
    equal(screen.end(), 124, "exit status")
    said = screen.text.replace("ready\r\n", "", 1)  # a busy machine may not come that far
    check(said.startswith("procpen run: timed out after "), screen.text)


@suite.test()
def test_keeper_leaves_a_shell_alone():
    """After SIGKILL a shell that has taken the terminal keeps the settings that it made."""
    screen = Screen("sh", "-c", READY + "sleep 600")
    screen.until("ready")
    os.kill(screen.pid, signal.SIGSTOP)
    screen.told("stop")  # the shell's group is in the foreground now
    other = screen.settings()
    other[3] |= termios.ISIG
    termios.tcsetattr(screen.theirs, termios.TCSANOW, other)
    other = screen.settings()
    os.kill(screen.pid, signal.SIGKILL)
    eventually(lambda: not screen.server.survivors(), WAIT, "a process is left")
    equal(screen.settings(), other, "settings")
    screen.go_on()
    screen.told("end")
    screen.close()


@suite.test()
def test_terminal_of_another_user():
    """It cannot be opened again, so its open file is set to not block, and set back."""
    if os.geteuid() != 0:
        raise Skip("only root becomes another user")
    screen = Screen("sh", "-c", READY + "sleep 600", wrapper=(
        shutil.which("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"))
    screen.until("ready")
    equal(os.get_blocking(screen.theirs), False, "it blocks")
    os.kill(screen.pid, signal.SIGKILL)
    screen.told("end")
    eventually(lambda: os.get_blocking(screen.theirs), WAIT, "its flags are not set back")
    equal(screen.settings(), screen.before, "settings")
    screen.close()


@suite.test()
def test_hang_up():
    screen = Screen("sh", "-c", "trap '' HUP; " + READY + "sleep 600")
    screen.until("ready")
    os.close(screen.theirs)
    os.close(screen.ours)
    eventually(lambda: not screen.server.survivors(), WAIT, "alive without its terminal")
    os.waitpid(screen.shell, 0)
    screen.server.destroy()


@suite.test()
def test_in_the_background():
    """It waits for the foreground, as programs do that set their terminal."""
    screen = Screen("sh", "-c", READY, foreground=False)
    equal(int(screen.told("stop")), signal.SIGTTOU, "signal of the stop")
    equal(screen.settings(), screen.before, "settings")
    screen.go_on()
    screen.until("ready")
    equal(screen.end(), 0, "exit status")


@suite.test()
def test_slow_terminal():
    """What nobody reads slows the command down; a signal still ends it at once, and with it what is
    not delivered."""
    screen = Screen("sh", "-c", READY + "seq 1000000; echo over > over; sleep 600")
    screen.until("ready")
    over = os.path.join(screen.server.workspace, "over")
    time.sleep(0.3)
    check(not os.path.exists(over), "7 MB went to a terminal that nobody reads")
    os.kill(screen.pid, signal.SIGTERM)
    report = select.select([screen.report], [], [], WAIT)[0]
    check(report, "it waits for a terminal that takes nothing")
    equal(screen.report.readline(), b"end 137\n", "exit status")
    screen.close()


@suite.test()
def test_refused():
    """What runs nothing restores too; without terminals there is nothing to relay."""
    screen = Screen("no-such-program")
    equal(screen.end(), 127, "exit status")
    check("no-such-program" in screen.text, screen.text)
    screen = Screen("--json", "true")
    equal(screen.end(), 2, "exit status")
    server = Server(start=False)
    done = subprocess.run([server_path(), "run", "--tty", "true"], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=WAIT, cwd=server.workspace, env=server.env)
    equal((done.returncode, done.stdout), (2, b""), "status, stdout")
    check(b"stdin is none" in done.stderr, str(done.stderr))


if __name__ == "__main__":
    suite.main()
