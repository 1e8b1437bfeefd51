#!/usr/bin/env python3
"""The audit log as files: one a day for `procpen run`, rotation, removal of old ones, and what others
do to them."""
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import time

from client import WAIT, Failure, Server, Skip, check, equal, eventually, server_path
from suite import Suite

suite = Suite()
DAY = 86400


class Place:
    """A state directory and a workspace."""

    def __init__(self, **options):
        self.server = Server(start=False, **options)
        self.state = self.server.state
        self.folder = os.path.join(self.state, "audit")

    def start(self, *args):
        return subprocess.Popen([server_path(), *args], env=self.server.env, cwd=self.server.workspace,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *options, command="true"):
        """(status, stderr) of a `procpen run`."""
        process = self.start("run", "--workspace", self.server.workspace, "--state-dir", self.state,
                             *options, command)
        err = process.communicate(timeout=WAIT)[1].decode()
        return process.returncode, err

    def names(self):
        names = [n for n in os.listdir(self.folder) if n.endswith(".jsonl")]
        return sorted(names, key=lambda n: n.replace(".jsonl", ""))

    def path(self, name):
        return os.path.join(self.folder, name)

    def log(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()


def chain(data, seq=0, before="0" * 64):
    """The records of whole lines, each of which follows the one before."""
    check(data.endswith(b"\n"), "the log ends inside a line")
    records = []
    for line in data[:-1].split(b"\n"):
        record = json.loads(line)
        seq += 1
        equal((record["seq"], record["prev"]), (seq, before), "of line %d" % (len(records) + 1))
        before = hashlib.sha256(line).hexdigest()
        records.append(record)
    return records, seq, before


def chained(place):
    """The records of all files, which are one chain."""
    found, seq, before, last = [], 0, "0" * 64, None
    for name in place.names():
        records, seq, before = chain(place.log(name), seq, before)
        equal(records[0].get("previous_file"), last, "the file before " + name)
        found += records
        last = name
    return found


def age(place, name, seconds):
    then = time.time() - seconds
    os.utime(place.path(name), (then, then))


def of_one_day(function):
    """Decorator: a test that counts the files of a day is made again when the day has ended meanwhile."""
    def on_a_day():
        day = time.time() // DAY
        try:
            function()
        except (Failure, IndexError):
            if time.time() // DAY == day:
                raise
            function()
    on_a_day.__name__ = function.__name__
    return suite.test()(on_a_day)


@of_one_day
def test_runs_of_a_day_share_a_file():
    place = Place()
    options = ("--workspace", place.server.workspace, "--state-dir", place.state)
    running = [place.start("run", *options, "true") for _ in range(24)]
    for process in running:
        process.communicate(timeout=WAIT)
        equal(process.returncode, 0, "status of a run beside others")
    equal(len(place.names()), 1, "files")
    records = chained(place)
    equal([sorted(r["event"] for r in records)], [["attempt"] * 24 + ["end"] * 24], "events")
    equal(len({r["instance"] for r in records}), 24, "instances")


@of_one_day
def test_a_day_follows_the_day_before():
    """Whatever the clock says: a file of tomorrow stays the one that is written."""
    place = Place()
    equal(place.run()[0], 0, "status")
    today = place.names()[0]
    os.rename(place.path(today), place.path("20200101-run.jsonl"))
    equal(place.run()[0], 0, "status on the next day")
    equal(place.names(), ["20200101-run.jsonl", today], "files")
    equal(os.stat(place.path("20200101-run.jsonl")).st_mode & 0o777, 0o400, "mode of the old file")
    equal(os.stat(place.path(today)).st_mode & 0o777, 0o600, "mode of the one that is written")
    chained(place)
    other = Place()
    equal(other.run()[0], 0, "status")
    os.rename(other.path(other.names()[0]), other.path("29991231-run.jsonl"))
    equal(other.run()[0], 0, "status when the clock went back")
    equal(other.names(), ["29991231-run.jsonl"], "files when the clock went back")
    equal(len(chained(other)), 4, "lines")


@of_one_day
def test_runs_rotate():
    place = Place()
    for _ in range(26):
        equal(place.run("--set", "audit.file_bytes=16384")[0], 0, "status")
    names = place.names()
    check(len(names) >= 2 and names[1].endswith("-run-0002.jsonl"), "files: %s" % names)
    equal(len(chained(place)), 52, "lines")


@of_one_day
def test_a_run_outlives_its_file():
    """Its end goes into the file that is written then, not into the one that it has begun."""
    place = Place()
    options = ("run", "--workspace", place.server.workspace, "--state-dir", place.state, "--set",
               "audit.file_bytes=16384", "--shell")
    long = place.start(*options, "until [ -e go ]; do sleep 0.02; done")
    eventually(lambda: os.path.isdir(place.folder) and place.names(), WAIT, "no attempt is on record")
    while len(place.names()) < 2:
        equal(place.start(*options, "true").wait(WAIT), 0, "status")
    open(os.path.join(place.server.workspace, "go"), "w").close()
    long.communicate(timeout=WAIT)
    equal(long.returncode, 0, "status of the long one")
    first, second = (place.log(name).splitlines() for name in place.names())
    equal(json.loads(second[-1])["instance"], json.loads(first[0])["instance"], "the last line")
    chained(place)


@suite.test()
def test_a_server_rotates():
    """One chain, and every record is in it; audit_log names the present file."""
    server = Server("--set", "audit.file_bytes=16384")
    for _ in range(60):
        server.run("true")
    present = server.call("agent.session")["audit_log"]
    server.stop()
    place = Place()
    place.folder = os.path.join(server.state, "audit")
    names = place.names()
    check(len(names) >= 3, "files: %s" % names)
    check(present in map(place.path, names[1:]), "audit_log: " + present)
    events = [r["event"] for r in chained(place)]
    equal((events[0], events[-1]), ("server_start", "server_stop"), "first and last")
    equal((events.count("attempt"), events.count("end")), (60, 60), "attempts, ends")


@suite.test()
def test_servers_side_by_side():
    """Two servers and runs in one state directory: a chain each, and all are whole."""
    place = Place()
    servers = [Server("--state-dir", place.state, "--set", "audit.file_bytes=16384") for _ in range(2)]
    for _ in range(20):
        for server in servers:
            server.run("true")
    equal(place.run()[0], 0, "status")
    equal(problems(place), ([], ""), "while they run")
    for server in servers:
        server.stop()
    equal(problems(place), ([], ""), "afterwards")
    check(len(place.names()) >= 5, "files: %s" % place.names())


@of_one_day
def test_old_files_go():
    """By age and by size, the oldest first, and it is on record; those in use stay."""
    place = Place()
    place.run()
    living = Server("--state-dir", place.state)
    living.run("true")
    living.ping()  # the end of the run is on record
    mine = [n for n in place.names() if "run" not in n][0]
    for n in range(5):
        with open(place.path("2020010%dT000000Z-%016x.jsonl" % (n + 1, n)), "w") as f:
            f.write("x" * 100000)
    for name in place.names()[:3]:
        age(place, name, 91 * DAY)
    age(place, mine, 91 * DAY)
    os.rename(place.path(place.names()[5]), place.path("20200109-run.jsonl"))  # makes a new file due
    equal(place.run("--set", "audit.total_bytes=150K")[0], 0, "status")
    records = [json.loads(line) for name in place.names() if "run" in name
               for line in place.log(name).splitlines()]
    end = [r for r in records if "pruned" in r]
    equal([(r["event"], r["pruned"], r["pruned_to"]) for r in end],
          [("end", 4, "20200104T000000Z-0000000000000003.jsonl")], "on record")
    check(mine in end[0]["beside"], "beside: %s" % end[0]["beside"])
    check(mine in place.names(), "the log of a living server is gone")
    living.stop()


@suite.test()
def test_many_old_files_go_in_steps():
    """A server looks at thousands of files a few at a time, and ends what it began when it stops."""
    place = Place()
    os.makedirs(place.folder, 0o700)
    old = ["20200101T%02d%02d%02dZ-%016x.jsonl" % (n // 3600, n // 60 % 60, n % 60, n) for n in range(900)]
    for name in old:
        with open(place.path(name), "w") as f:
            f.write("{}\n")
        age(place, name, 91 * DAY)
    server = Server("--state-dir", place.state)
    server.run("true")
    server.ping()  # the end of the run is on record
    check(set(old) <= set(place.names()), "some were removed before all were seen")
    server.stop()
    mine = [n for n in place.names() if n not in old]
    records = chain(place.log(mine[0]))[0]
    found = [r for r in records if "pruned" in r]
    equal((sum(r["pruned"] for r in found), found[-1]["pruned_to"]), (256, old[255]), "on record")
    equal([n for n in place.names() if n in old], old[256:], "left")
    equal([(r["event"], r["beside"]) for r in records if "beside" in r],
          [("server_stop", old[:-9:-1])], "beside")


@suite.test()
def test_a_look_begun_goes_on_with_each_end():
    """The files of a directory are seen, and those that are too old removed, while a server works."""
    place = Place()
    os.makedirs(place.folder, 0o700)
    for n in range(100):
        name = "20200101T0000%02dZ-%016x.jsonl" % (n % 60, n)
        with open(place.path(name), "w") as f:
            f.write("{}\n")
        age(place, name, 91 * DAY)
    server = Server("--state-dir", place.state)
    for _ in range(40):
        server.run("true")
    server.ping()
    equal([n for n in place.names() if n < "2021"], [], "old files left")
    server.stop()
    mine = place.names()[-1]
    found = [r for r in chain(place.log(mine))[0] if "pruned" in r]
    equal((sum(r["pruned"] for r in found), {r["event"] for r in found}), (100, {"end"}), "on record")
    check(len(found) > 1, "all at once")


@suite.test()
def test_a_look_goes_on_when_the_file_turns():
    """With small files and many logs: old ones go while the server works, and it lists no file of its own
    that it writes."""
    place = Place()
    os.makedirs(place.folder, 0o700)
    old = ["20200101T00%02d%02dZ-%016x.jsonl" % (n // 60, n % 60, n) for n in range(1200)]
    for name in old:
        with open(place.path(name), "w") as f:
            f.write("{}\n")
        age(place, name, 91 * DAY)
    server = Server("--state-dir", place.state, "--set", "audit.file_bytes=16384")
    for _ in range(100):
        server.run("true")
    server.ping()  # the last end is on record
    check(len(place.names()) < 1200, "none of 1200 old files is gone after 100 runs")
    server.stop()
    mine = [n for n in place.names() if n not in old]
    check(len(mine) > 3, "files: %s" % mine)
    wrong = [n for n in mine for r in map(json.loads, place.log(n).splitlines()) if n in r.get("beside", ())]
    equal(wrong, [], "files that name themselves")


@of_one_day
def test_the_wait_for_the_lock_ends():
    """Nothing starts unrecorded, and nothing waits for ever."""
    place = Place()
    equal(place.run()[0], 0, "status")
    with open(place.path("run.lock"), "ab") as lock:  # a file that nobody but root may read
        fcntl.flock(lock, fcntl.LOCK_EX)
        began = time.monotonic()
        status, err = place.run()
        equal((status, "locked" in err), (125, True), "status while it is locked, " + err)
        check(time.monotonic() - began >= 1, "it did not wait")
    equal(place.run()[0], 0, "status afterwards")
    equal(len(chained(place)), 4, "lines")


@of_one_day
def test_the_wait_for_the_lock_on_a_machine_that_stood_still():
    """Who holds the lock had no time to give it back."""
    place = Place()
    equal(place.run()[0], 0, "status")
    with open(place.path("run.lock"), "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = place.start("run", "--workspace", place.server.workspace, "--state-dir", place.state,
                              "true")
        time.sleep(0.3)
        process.send_signal(signal.SIGSTOP)
        time.sleep(2.2)
        process.send_signal(signal.SIGCONT)
        time.sleep(0.1)
    err = process.communicate(timeout=WAIT)[1].decode()
    equal(process.returncode, 0, "status: " + err)
    equal(len(chained(place)), 4, "lines")


@of_one_day
def test_a_lock_that_others_can_open_is_closed():
    """Without a mount namespace a command can change the mode of its user's files."""
    place = Place()
    equal(place.run()[0], 0, "status")
    os.chmod(place.path("run.lock"), 0o600)
    equal(place.run()[0], 0, "status with an open lock")
    equal(stat.S_IMODE(os.stat(place.path("run.lock")).st_mode), 0o200, "mode")


@of_one_day
def test_a_torn_line_stays():
    """What a killed process did not finish is followed, not cut off."""
    place = Place()
    equal(place.run()[0], 0, "status")
    path = place.path(place.names()[0])
    data = place.log(place.names()[0])
    whole, torn = data.splitlines(), data.splitlines()[1][:70]
    with open(path, "ab") as f:
        f.write(torn)
    equal(place.run()[0], 0, "status")
    lines = place.log(place.names()[0]).splitlines()
    equal(lines[:3], whole + [torn], "the lines before")
    equal(json.loads(lines[3])["prev"], hashlib.sha256(torn).hexdigest(), "prev")
    equal([json.loads(line)["seq"] for line in lines[3:]], [4, 5], "seq")


@of_one_day
def test_foreign_files_are_refused():
    """A link, a pipe, a directory, a file of others, one with two names, a line without an end."""
    def link(path):
        os.rename(path, path + ".moved")
        os.symlink(path + ".moved", path)

    def pipe(path):
        os.unlink(path)
        os.mkfifo(path)

    def folder(path):
        os.unlink(path)
        os.mkdir(path)

    def other_user(path):
        os.chown(path, 65534, -1)

    def shared(path):
        os.chmod(path, 0o666)

    def two_names(path):
        os.link(path, path + ".other")

    def huge(path):
        with open(path, "ab") as f:
            f.write(b"x" * (3 << 20))

    def lock_link(path):
        os.unlink(os.path.dirname(path) + "/run.lock")
        os.symlink(path, os.path.dirname(path) + "/run.lock")

    for harm in [link, pipe, folder, shared, two_names, huge, lock_link] + [other_user] * (os.geteuid() == 0):
        place = Place()
        equal(place.run()[0], 0, "status")
        path = place.path(place.names()[0])
        harm(path)
        before = os.stat(path).st_size
        status, err = place.run(command="/usr/bin/touch")
        equal(status, 125, "status after %s: %s" % (harm.__name__, err))
        check("audit log" in err and "Internal" not in err, "%s: %s" % (harm.__name__, err))
        equal(os.stat(path).st_size, before, "size after " + harm.__name__)


# ---------------------------------------------------------------- the sink

@suite.test()
def test_sink_gets_every_line():
    place = Place()
    ours, theirs = os.pipe()
    command = ('exec "$0" run --workspace "$1" --state-dir "$2" --set audit.sink=fd:9 '
               'sh -c "ls -l /proc/self/fd" 9>&%d %d>&-' % (theirs, theirs))
    done = subprocess.run(["sh", "-c", command, server_path(), place.server.workspace, place.state],
                          env=place.server.env, capture_output=True, pass_fds=(theirs,), timeout=WAIT)
    os.close(theirs)
    equal(done.returncode, 0, "status: %r" % done.stderr)
    check(b"pipe" not in done.stdout.replace(b" 1 -> pipe", b"").replace(b" 2 -> pipe", b""),
          "the command has the sink: %r" % done.stdout)
    with os.fdopen(ours, "rb") as f:
        equal(f.read(), place.log(place.names()[0]), "the copy")


@suite.test()
def test_sink_never_waits():
    """A reader that does not read, and one that is gone, of a pipe and of a socket."""
    for kind in ("pipe", "socket", "gone"):
        place = Place()
        if kind == "socket":
            ends = [end.detach() for end in socket.socketpair()]
        else:
            ends = os.pipe()
        if kind == "gone":
            os.close(ends[0])
        command = ('exec "$0" serve --workspace "$1" --state-dir "$2" --set audit.sink=fd:9 '
                   '--set audit.reads=true 9>&%d %d>&-' % (ends[1], ends[1]))
        request = b'{"jsonrpc":"2.0","id":%d,"method":"process.list"}\n'
        count = 8000 if kind != "gone" else 10
        done = subprocess.run(["sh", "-c", command, server_path(), place.server.workspace, place.state],
                              input=b"".join(request % n for n in range(count)), env=place.server.env,
                              capture_output=True, pass_fds=(ends[1],), timeout=WAIT)
        os.close(ends[1])
        equal((done.returncode, done.stdout.count(b"\n")), (0, count), kind + ": status, answers")
        equal(done.stderr.count(b"audit.sink does not take"), 1, kind + ": said")
        last = json.loads(place.log(place.names()[0]).splitlines()[-1])
        check(last["sink_lost"] >= 5, "%s: %s" % (kind, last))
        if kind != "gone":
            os.set_blocking(ends[0], False)
            with os.fdopen(ends[0], "rb") as f:
                lines = f.read().splitlines(keepends=True)
            whole = [line for line in lines if line.endswith(b"\n")]
            check(len(lines) - len(whole) <= 1, "torn lines in " + kind)
            equal(len({json.loads(line)["seq"] for line in whole}), len(whole), "numbers")


@suite.test()
def test_sink_must_be_open():
    place = Place()  # by the environment too
    place.server.env["PROCPEN_SET_AUDIT__SINK"] = "fd:77"
    check("not open" in place.run()[1], place.run()[1])
    for text, why in (("fd:77", "not open"), ("fd:1", "from 3 on"), ("file", "fd:N"), ("fd:0", "from 3")):
        status, err = Place().run("--set", "audit.sink=" + text)
        equal((status, why in err), (125 if text == "fd:77" else 2, True), text + ": " + err)


# ---------------------------------------------------------------- procpen audit

def audit(place, *words):
    """(status, stdout, stderr) of `procpen audit`."""
    process = place.start("audit", *words, "--state-dir", place.state)
    out, err = process.communicate(timeout=WAIT)
    return process.returncode, out.decode(), err.decode()


def problems(place):
    """[(kind, file, line)] and the texts, as verify finds them."""
    status, out, err = audit(place, "verify", "--json")
    found = json.loads(out)
    equal((status, err, found["whole"]), (1 if found["problems"] else 0, "", not found["problems"]),
          "status, stderr, whole")
    return ([(p["kind"], p["file"], p.get("line", 0)) for p in found["problems"]],
            " ".join(p["text"] for p in found["problems"]))


def filled(runs=3, *options):
    """The log of a server that is over, and its name."""
    server = Server(*options)
    for _ in range(runs):
        server.run("true")
    server.stop()
    place = Place()
    place.folder, place.state = os.path.join(server.state, "audit"), server.state
    place.server = server
    return place, place.names()


def rewrite(place, name, change):
    """Let @change(lines) change the lines of a file."""
    lines = place.log(name).splitlines(keepends=True)
    lines = change(lines) or lines
    with open(place.path(name), "wb") as f:
        f.write(b"".join(lines))


@suite.test()
def test_verify_whole():
    place, _ = filled(2)
    equal(problems(place), ([], ""), "of a whole log")
    equal(place.run()[0], 0, "status")
    status, out, _ = audit(place, "verify")
    equal((status, out), (0, "whole, 8 lines in 2 files, 0 in use\n"), "status, stdout")


@suite.test()
def test_no_log_is_not_whole():
    """A log that was removed, or a directory that was mistyped: status 1, and what to do."""
    place = Place()
    equal(place.run()[0], 0, "status")
    for what in ("emptied", "removed", "mistyped"):
        if what == "emptied":
            os.unlink(place.path(place.names()[0]))
        elif what == "removed":
            shutil.rmtree(place.folder)
        else:
            place.state = "/nosuch"
        for words in (["verify"], ["verify", "--json"], ["show"], ["tail"], ["show", "--rule", "x"]):
            status, out, err = audit(place, *words)
            equal(status, 1, "%s, %s: status" % (what, words))
            equal(json.loads(out)["error"]["data"]["type"] if "--json" in words else out,
                  "BadDirectory" if "--json" in words else "", "%s, %s: stdout" % (what, words))
            for part in ("there is no audit log in", place.state + "/audit", "--state-dir", "removed"):
                check(part in err, "%s: no %s in %s" % (what, part, err))


@suite.test()
def test_tail_waits_for_a_log():
    place = Place()
    process = place.start("audit", "tail", "-f", "--json", "--state-dir", place.state)
    said = process.stderr.readline()
    check(b"there is no audit log" in said and b"Waiting" in said, said)
    equal(place.run()[0], 0, "status")
    equal([json.loads(process.stdout.readline())["event"] for _ in range(2)], ["attempt", "end"], "records")
    process.kill()
    equal(process.communicate(timeout=WAIT)[1], b"", "what else is said")


@suite.test()
def test_show_while_old_files_go():
    """A file that is removed after it was listed is no failure."""
    place = Place()
    os.makedirs(place.folder, 0o700)
    line = '{"time":"2020-01-01T00:00:00.000Z","seq":1,"event":"end","command":"%s"}\n' % ("x" * 1000)
    for day, count in ((1, 1000), (2, 1)):  # more than a pipe takes, and what follows
        with open(place.path("2020010%dT000000Z-%016x.jsonl" % (day, day)), "w") as f:
            f.write(line.replace("01-01T", "01-0%dT" % day) * count)
    process = place.start("audit", "show", "--json", "--state-dir", place.state)
    process.stdout.readline()
    os.unlink(place.path(place.names()[1]))
    equal(len(process.stdout.read().splitlines()), 999, "more lines")
    equal((process.wait(WAIT), process.stderr.read()), (0, b""), "status, stderr")


@suite.test()
def test_tail_ends_with_its_reader():
    """As `tail -f | head` needs it: no record has to come first."""
    place, _ = filled(1)
    process = place.start("audit", "tail", "-f", "--json", "--state-dir", place.state)
    process.stdout.readline()
    process.stdout.close()
    equal(process.wait(WAIT), 1, "status")
    equal(process.stderr.read(), b"", "stderr")


@suite.test()
def test_verify_lines():
    """Each harm to a line is found, and said where it is."""
    def edit(lines):
        lines[3] = lines[3].replace(b'"command":"true"', b'"command":"fals"')

    def recomputed(lines):
        lines[3] = lines[3].replace(b'"command":"true"', b'"command":"fals"')
        lines[4] = lines[4][:-67] + hashlib.sha256(lines[3][:-1]).hexdigest().encode() + b'"}\n'

    def remove(lines):
        del lines[3:5]

    def swap(lines):
        lines[3], lines[4] = lines[4], lines[3]

    def copy(lines):
        lines.insert(4, lines[3])

    def insert(lines):
        lines.insert(3, b'{"event":"attempt"}\n')

    def huge(lines):
        lines.insert(3, b"x" * (3 << 20) + b"\n")

    def cut(lines):
        lines[-1] = lines[-1][:40]

    def truncate(lines):
        del lines[-1]

    def behead(lines):
        del lines[:2]

    def follow_nothing(lines):  # as if lines before it had been taken away
        lines[:] = [lines[0][:-67] + b"1" * 64 + b'"}\n']

    # What is found: kind and line.
    for harm, want in ((edit, [("changed", 4)]), (recomputed, [("changed", 5)]),
                       (remove, [("missing", 4)]),
                       (swap, [("missing", 4), ("order", 5), ("missing", 6)]), (copy, [("order", 5)]),
                       (insert, [("changed", 4)]), (huge, [("changed", 4)]),
                       (cut, [("torn", 8), ("no_stop", 8)]), (truncate, [("no_stop", 7)]),
                       (follow_nothing, [("changed", 1), ("no_stop", 1)]), (behead, [("missing", 1)])):
        place, names = filled()
        rewrite(place, names[0], harm)
        found, text = problems(place)
        equal(found, [(kind, names[0], line) for kind, line in want], harm.__name__ + ": " + text)
    check("seq 1 to 2 are missing" in text, text)


@suite.test()
def test_verify_files():
    """A file that is removed, cut, renamed, copied, swapped or replaced."""
    options = ("--set", "audit.file_bytes=16384")
    place, names = filled(70, *options)
    check(len(names) >= 4, "files: %s" % names)
    equal(problems(place), ([], ""), "of a whole log")
    kept = {name: place.log(name) for name in names}

    def again():
        for name in place.names():
            os.unlink(place.path(name))
        for name, data in kept.items():
            with open(place.path(name), "wb") as f:
                f.write(data)

    def first_seq(name):
        return json.loads(kept[name].splitlines()[0])["seq"]

    os.unlink(place.path(names[1]))
    found, text = problems(place)
    equal(found, [("missing", names[1], 0)], "without a file")
    check("goes on after it with seq %d" % first_seq(names[2]) in text, text)
    again()
    os.rename(place.path(names[1]), place.path("aside"))
    os.rename(place.path(names[2]), place.path(names[1]))
    os.rename(place.path("aside"), place.path(names[2]))
    found, text = problems(place)
    equal(found, [("order", names[1], 0), ("order", names[2], 0)], "two that changed places: " + text)
    for name, other in ((names[2], names[2]), (names[3], names[1])):
        check("those before seq %d are in %s" % (first_seq(name), other) in text, text)
    again()
    rewrite(place, names[1], lambda lines: lines[:-3])
    found, text = problems(place)
    equal(found, [("missing", names[1], 0)], "without the end of a file")
    again()
    rewrite(place, names[1], lambda lines: lines[:-1] + [lines[-1].replace(b'"seq"', b'"seq" ')])
    equal(problems(place)[0][0][:2], ("changed", names[1]), "a changed last line")
    again()
    with open(place.path("20990101T000000Z-0123456789abcdef.jsonl"), "wb") as f:
        f.write(kept[names[0]])
    equal([p[0] for p in problems(place)[0]], ["foreign", "no_stop", "order"], "a copy")
    again()
    other, theirs = filled(1)
    os.unlink(place.path(names[-1]))
    with open(place.path(names[-1]), "wb") as f:
        f.write(other.log(theirs[0]))
    equal([p[0] for p in problems(place)[0]], ["foreign", "no_stop"], "the file of another server")
    again()
    os.rename(place.path(names[0]), place.path("moved"))
    os.symlink("moved", place.path(names[0]))
    equal(problems(place)[0][0][:2], ("unreadable", names[0]), "a link")
    if os.geteuid() == 0:
        again()
        os.chown(place.path(names[0]), 65534, -1)
        equal(problems(place)[0], [("foreign", names[0], 0)], "a file of another user")


@suite.test()
def test_verify_misses_what_others_name():
    """A whole file that is gone is missed when a later one names it; one that procpen removed is not."""
    place = Place()
    for _ in range(2):
        server = Server("--state-dir", place.state)
        server.run("true")
        server.stop()
        time.sleep(1.1)  # names have seconds
    names = place.names()
    equal(problems(place), ([], ""), "of a whole log")
    data = place.log(names[0])
    os.unlink(place.path(names[0]))
    equal(problems(place)[0], [("missing", names[0], 0)], "of a removed file")
    with open(place.path(names[0]), "wb") as f:
        f.write(data)
    age(place, names[0], 91 * DAY)
    server = Server("--state-dir", place.state)
    server.run("true")
    server.stop()
    check(names[0] not in place.names(), "it was not removed")
    equal(problems(place), ([], ""), "of a log that procpen has pruned")


@suite.test()
def test_verify_servers():
    """One that runs is in use; one that was killed ended without a stop record."""
    server = Server()
    server.run("true")
    server.ping()
    place = Place()
    place.folder, place.state = os.path.join(server.state, "audit"), server.state
    equal(audit(place, "verify")[:2], (0, "whole, 3 lines in 1 files, 1 in use\n"), "while it runs")
    os.kill(server.pid, signal.SIGKILL)
    server.wait_exit()
    found, text = problems(place)
    equal(found, [("no_stop", place.names()[0], 3)], "after SIGKILL")
    check("without a stop record" in text, text)
    rewrite(place, place.names()[0], list.clear)
    equal(problems(place)[0], [("no_stop", place.names()[0], 0)], "of an emptied file")


@suite.test()
def test_killed_at_any_moment():
    """What a killed server leaves is whole lines, each start before its run."""
    place = Place()
    for n in range(12):
        server = Server("--state-dir", place.state, "--set", "audit.file_bytes=16384")
        for _ in range(5):
            server.request("process.run", {"command": "true"})
        server.flush()
        time.sleep(0.002 * n)
        os.kill(server.pid, signal.SIGKILL)
        server.wait_exit()
    check({p[0] for p in problems(place)[0]} <= {"no_stop"}, "problems: %s" % problems(place)[0])


def traced(*inject):
    """A wrapper that does something to the Nth system call."""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    return ["strace", "-qq", "-o", "/dev/null", *sum((["-e", i] for i in inject), [])]


def untraceable(place):
    """The environment for it: the leak check is a tracer itself."""
    return dict(place.server.env, ASAN_OPTIONS="detect_leaks=0")


@suite.test()
def test_killed_at_each_write():
    """SIGKILL before each write of a server and of a `procpen run`: whole lines, and the next goes on."""
    place, killed = Place(), 0
    request = b'{"jsonrpc":"2.0","id":1,"method":"process.run","params":{"command":"true"}}\n'
    options = ["--workspace", place.server.workspace, "--state-dir", place.state]
    for words, count in ((["run", *options, "true"], 12), (["serve", *options], 24)):
        for n in range(1, count):
            wrapper = traced("trace=write", "inject=write:signal=KILL:when=%d" % n)
            done = subprocess.run(wrapper + [server_path(), *words], input=request, env=untraceable(place),
                                  cwd=place.server.workspace, capture_output=True, timeout=WAIT)
            killed += done.returncode != 0
    check(killed >= 6, "%d were killed" % killed)
    check({p[0] for p in problems(place)[0]} <= {"no_stop"}, "problems: %s" % problems(place)[0])
    equal(place.run()[0], 0, "status of the next run")


@suite.test()
def test_part_of_a_line_of_a_full_disk():
    """ENOSPC for one write: nothing starts, the log stays whole, the next run goes on."""
    place = Place()
    equal(place.run()[0], 0, "status")
    wrapper = traced("trace=write", "inject=write:error=ENOSPC:when=1")
    done = subprocess.run(wrapper + [server_path(), "run", "--workspace", place.server.workspace,
                                     "--state-dir", place.state, "touch", "ran"],
                          env=untraceable(place), cwd=place.server.workspace, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=WAIT)
    equal((done.returncode, b"Space ran out" in done.stderr), (125, True), "%r" % done.stderr)
    check(not os.path.exists(os.path.join(place.server.workspace, "ran")), "it ran")
    equal(place.run()[0], 0, "status of the next run")
    equal(problems(place), ([], ""), "of the log")


@suite.test()
def test_full_disk():
    """A run on a full disk is refused, an end is lost and said; with space again runs go on."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        raise Skip("this user can mount no small disk")
    place = Place()
    os.makedirs(place.state, mode=0o700)
    script = """mount -t tmpfs -o size=64k,mode=700 none "$1" || exit 90
        for i in 1 2 3; do "$0" run --workspace "$2" --state-dir "$1" true || exit 91; done
        dd if=/dev/zero of="$1/big" bs=512 2>/dev/null
        i=0
        while [ $i -lt 40 ] && "$0" run --workspace "$2" --state-dir "$1" true; do i=$((i+1)); done
        [ $i -lt 40 ] || exit 92
        rm "$1/big"
        "$0" run --workspace "$2" --state-dir "$1" true || exit 93
        "$0" audit verify --state-dir "$1" || exit 94"""
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, server_path(), place.state,
                           place.server.workspace], env=place.server.env, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=WAIT)
    equal(done.returncode, 0, "%r %r" % (done.stdout[-300:], done.stderr[-600:]))
    check(b"cannot write the audit log" in done.stderr, "%r" % done.stderr)


@of_one_day
def test_the_clock_goes_back():
    """The chain does not depend on it."""
    place = Place()
    for times in (("2030-01-01T00:00:00.000Z", "2029"), ("2001-01-01T00:00:00.000Z", "2001")):
        equal(place.run()[0], 0, "status")
        name = place.names()[-1]
        lines, before = place.log(name).splitlines(), "0" * 64
        with open(place.path(name), "wb") as f:
            for line in lines:
                record = json.loads(line)
                record.update(time=times[0], prev=before)
                line = json.dumps(record, separators=(",", ":")).encode()
                before = hashlib.sha256(line).hexdigest()
                f.write(line + b"\n")
    equal(place.run()[0], 0, "status")
    equal(problems(place), ([], ""), "after both")


@suite.test()
def test_show():
    server = Server()
    done = server.run("echo '\u202e\u200b\x1b[31m'; exit 3", intent="look")
    server.answer(server.request("process.run", {"command": "rm -rf /"}))
    server.stop()
    place = Place()
    place.folder, place.state = os.path.join(server.state, "audit"), server.state
    status, out, err = audit(place, "show")
    lines = out.splitlines()
    equal((status, err, len(lines)), (0, "", 5), "status, stderr, lines")
    with open("/proc/self/comm", encoding="utf-8") as f:
        check(lines[0].endswith(" uid %d, from %s" % (os.geteuid(), f.read().rstrip("\n"))), lines[0])
    check(out.isascii() and "\x1b" not in out, "hidden characters: %r" % out)
    for word in ("\\u202e", "\\u200b", "\\u001b"):
        check(word in lines[1] or word.replace("u00", "x") in lines[1], "%s in %r" % (word, lines[1]))
    for args, want in ((["--decision", "blocked"], [3]), (["--process", done["process_id"]], [2]),
                       (["--rule", "files.*"], [3]), (["--rule", "files"], []),
                       (["--since", "1h"], [0, 1, 2, 3, 4]), (["--since", "2999-01-01"], []),
                       (["--since", "1d"], [0, 1, 2, 3, 4]), (["--since", "0.5d"], [0, 1, 2, 3, 4]),
                       (["--until", "1d"], []), (["--since", "9999999999999d"], None),
                       (["--since", "99999999d"], [0, 1, 2, 3, 4]), (["--since", "2md"], None),
                       (["--since", lines[0][:10], "--until", lines[4][:10]], [0, 1, 2, 3, 4]),
                       (["--since", lines[0][:19] + "Z", "--until", lines[4][:19] + "Z"], [0, 1, 2, 3, 4]),
                       (["--since", "2999-01-01T08:00Z"], []), (["--until", "2999-01-01Z"], None),
                       (["--until", "2999-01"], None), (["--until", "2999-01-01"], [0, 1, 2, 3, 4]),
                       (["--until", "2001-01-01"], []), (["--until", lines[0][:10]], [0, 1, 2, 3, 4])):
        status, out, err = audit(place, "show", *args)
        equal((status, out.splitlines()), (2, []) if want is None else (0, [lines[n] for n in want]),
              str(args))
    status, out, _ = audit(place, "show", "--json")
    log = place.log(place.names()[0])
    equal(out.encode(), log, "show --json")
    with open(place.path(place.names()[0]), "wb") as f:  # an editor may have saved it so
        f.write(log.replace(b',"seq"', b',\t"seq"').replace(b"\n", b"\r\n"))
    edited = audit(place, "show", "--json")[1].splitlines()
    equal([json.loads(line) for line in edited], [json.loads(line) for line in log.splitlines()], "CR LF")


@suite.test()
def test_show_of_an_id_with_nul():
    """A client that calls its request so hides nothing by it."""
    server = Server()
    for number in ("a\0b", 2):
        server.send({"jsonrpc": "2.0", "id": number, "method": "process.run",
                     "params": {"command": "true"}})
        server.answer(number)
    server.stop()
    place = Place()
    place.folder, place.state = os.path.join(server.state, "audit"), server.state
    for words in (["show"], ["tail"]):
        status, out, err = audit(place, *words)
        equal((status, err, out.count(": true\n"), len(out.splitlines())), (0, "", 4, 6), str(words))
    name, before = place.names()[0], "0" * 64
    lines = place.log(name).splitlines()
    equal(audit(place, "show", "--json")[1].encode(), place.log(name), "show --json")
    with open(place.path(name), "wb") as f:
        for line in lines:  # what such a record says about other files counts
            record = json.loads(line)
            del record["prev"]  # stands at the end
            if record.get("request_id") == "a\0b":
                record["beside"] = ["20200101T000000Z-0000000000000000.jsonl"]
            record["prev"] = before
            line = json.dumps(record, separators=(",", ":")).encode()
            before = hashlib.sha256(line).hexdigest()
            f.write(line + b"\n")
    equal([p["kind"] for p in json.loads(audit(place, "verify", "--json")[1])["problems"]],
          ["missing"], "verify")


@suite.test()
def test_show_of_ends():
    """Of a server and of `procpen run` alike: with what a run ended."""
    place = Place()
    server = Server("--state-dir", place.state)
    for command in ("exit 3", "kill -9 $$"):
        server.run(command)
    server.stop()
    for command in ("exit 3", "kill -9 $$"):
        place.run("--shell", command=command)
    ends = [line.split(" ", 4)[4] for line in audit(place, "show")[1].splitlines() if " end " in line]
    for end, said in zip(ends, 2 * (("exit status 3", "exit 3"), ("signaled SIGKILL", "kill -9 $$"))):
        check(re.fullmatch(r"%s \d+ ms: %s" % tuple(map(re.escape, said)), end), "%s: %s" % (said, ends))
    equal(len(ends), 4, "ends")


@suite.test()
def test_show_of_input():
    """The lines of process.input that were judged, as commands are shown."""
    place = Place()
    server = Server("--state-dir", place.state)
    run = server.run("sh", stdin_mode="pipe", background=True)["process_id"]
    for data in ("echo a; echo b\n", "true\npoweroff\n"):
        server.answer(server.request("process.input", {"process_id": run, "data": data}))
    server.stop()
    said = [line.split(" process.input ")[1] for line in audit(place, "show")[1].splitlines()
            if " process.input " in line]
    check(len(said) == 2 and said[0].endswith(": echo a; echo b") and " blocked " in said[1] and
          said[1].endswith(": poweroff"), str(said))


@of_one_day
def test_show_in_order():
    """What began earlier comes first, though the name of a day comes before those of its servers."""
    place = Place()
    server = Server("--state-dir", place.state)
    server.run("true")
    server.stop()
    equal(place.run()[0], 0, "status")
    server = Server("--state-dir", place.state)
    server.run("true")
    server.stop()
    check(place.names()[0].endswith("-run.jsonl"), "names: %s" % place.names())
    times = [line.split()[0] for line in audit(place, "show")[1].splitlines()]
    equal((len(times), times), (10, sorted(times)), "times")


@suite.test()
def test_tail():
    """The last ten; with -f each new one, of new servers too."""
    place, names = filled(8)
    _, out, _ = audit(place, "show")
    equal(audit(place, "tail")[:2], (0, "".join(out.splitlines(keepends=True)[-10:])), "the last ten")
    process = place.start("audit", "tail", "-f", "--json", "--state-dir", place.state)
    for _ in range(10):
        process.stdout.readline()
    equal(place.run()[0], 0, "status")
    equal([json.loads(process.stdout.readline())["event"] for _ in range(2)], ["attempt", "end"],
          "what was added")
    server = Server("--state-dir", place.state, "--set", "audit.file_bytes=16384")
    for _ in range(30):
        server.run("true")
    server.stop()
    check(len([n for n in place.names() if "-0002" in n]) == 1, "files: %s" % place.names())
    added = [json.loads(process.stdout.readline()) for _ in range(62)]
    equal([line["seq"] for line in added], list(range(1, 63)), "of a new server with two files")
    process.kill()
    process.communicate()


@suite.test()
def test_tail_of_so_many():
    """As tail(1) takes the number: apart, joined, by the long name; of several logs together."""
    place, _ = filled(8)
    server = Server("--state-dir", place.state)
    server.run("true")
    server.stop()
    lines = audit(place, "show")[1].splitlines(keepends=True)
    for words, count in ((["-n", "3"], 3), (["-n3"], 3), (["--last", "6"], 6), (["--last=15"], 15),
                         (["-n", "0"], 0), (["-n1K"], len(lines)), (["-n", "1000000"], len(lines))):
        equal(audit(place, "tail", *words)[:2], (0, "".join(lines[len(lines) - count:])), str(words))
    for words in (["-n"], ["-n", ""], ["-n", "-3"], ["-n+3"], ["-n=3"], ["-n", "1.5"], ["-n", "few"],
                  ["--last", "1000001"], ["-f3"]):
        status, out, err = audit(place, "tail", *words)
        equal((status, out), (2, ""), "%s: status, stdout" % words)
        check("procpen audit: " in err and "tail" not in err, err)
    for what in ("show", "verify"):
        status, _, err = audit(place, what, "-n", "3")
        equal(status, 2, what + " -n: status")
        check("--last belongs to tail, not to " + what in err, err)
    process = place.start("audit", "tail", "-f", "-n", "1", "--json", "--state-dir", place.state)
    equal(json.loads(process.stdout.readline())["event"], "server_stop", "the last one")
    equal(place.run()[0], 0, "status")
    equal([json.loads(process.stdout.readline())["event"] for _ in range(2)], ["attempt", "end"],
          "what was added")
    process.kill()
    process.communicate()


@suite.test()
def test_a_directory_that_others_may_change():
    """The advice mends the cause: they must lose what they may do."""
    place = Place()
    os.makedirs(place.folder, mode=0o700)
    for mode in (0o777, 0o770):
        os.chmod(place.folder, mode)
        status, err = place.run()
        equal(status, 125, "status: " + err)
        check("is writable by other users" in err and "Nothing was started" in err and
              "chmod go-w %s" % place.folder in err, err)
        check("make the audit log writable" not in err, "the opposite is advised: " + err)
    os.chmod(place.folder, 0o700)
    equal(place.run()[0], 0, "status after chmod")


@suite.test()
def test_a_file_that_others_change():
    """The log could be written; what helps is to look at it, and a new start."""
    server = Server()
    server.run("true")
    folder = os.path.join(server.state, "audit")
    with open(os.path.join(folder, os.listdir(folder)[0]), "a", encoding="utf-8") as f:
        f.write("{}\n")
    error = server.answer(server.request("process.run", {"command": "true"}))["error"]
    hint = error["data"]["hint"]
    check("removed or changed" in error["message"] and hint.startswith("Nothing was started"), str(error))
    check("audit verify" in hint and "restart" in hint and "writable" not in hint, hint)
    server.stop()
    again = Server("--state-dir", server.state)
    again.run("true")
    again.stop()


@suite.test()
def test_audit_mistakes():
    place = Place()
    for words in ([], ["verfy"], ["show", "tail"], ["verify", "-f"], ["verify", "--rule", "x"],
                  ["show", "--since", "yesterday"], ["show", "-f"]):
        status, out, err = audit(place, *words)
        equal((status, out), (2, ""), "%s: status, stdout" % words)
        check("procpen audit" in err, err)
    for when in ("2026-13-45", "2026-00-10", "2026-02-30", "2025-02-29", "2026-11-21T24:00",
                 "2026-11-21T08:60", "2026-11-21T08:00:62", "2026-11",
                 "2026-11-21T08:00ZZ"):
        for option in ("--since", "--until"):
            status, out, err = audit(place, "show", option, when)
            equal((status, out), (2, ""), "%s %s: status, stdout" % (option, when))
            check(when + " is not a time. Write 2026-11-21" in err and "ago: 30m, 2h, 7d" in err, err)
    for option in ("--since", "--until", "--decision", "--process", "--rule"):
        status, out, err = audit(place, "show", option, "")
        equal((status, out), (2, ""), "%s without a value: status, stdout" % option)
        check(option + " needs a value" in err, err)
    for word, said in (("block", "did you mean blocked?"), ("deneid", "did you mean denied?"),
                       ("foo", "allowed, asked, blocked, denied, failed")):
        status, out, err = audit(place, "show", "--decision=" + word)
        equal((status, out), (2, ""), "--decision=%s: status, stdout" % word)
        check(said in err, err)
    os.makedirs(place.state)
    with open(place.folder, "w"):
        pass
    equal(audit(place, "verify")[0], 1, "of a file in place of the directory")


if __name__ == "__main__":
    suite.main()
