#!/usr/bin/env python3
"""The audit log as files: one a day for `procpen run`, rotation, removal of old ones, and what others
do to them."""
import fcntl
import hashlib
import json
import os
import subprocess
import time

from client import WAIT, Server, check, equal, server_path
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


@suite.test()
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


@suite.test()
def test_a_day_follows_the_day_before():
    """Whatever the clock says: a file of tomorrow stays the one that is written."""
    place = Place()
    equal(place.run()[0], 0, "status")
    today = place.names()[0]
    os.rename(place.path(today), place.path("20200101-run.jsonl"))
    equal(place.run()[0], 0, "status on the next day")
    equal(place.names(), ["20200101-run.jsonl", today], "files")
    equal(os.stat(place.path("20200101-run.jsonl")).st_mode & 0o777, 0o400, "mode of the old file")
    chained(place)
    other = Place()
    equal(other.run()[0], 0, "status")
    os.rename(other.path(other.names()[0]), other.path("29991231-run.jsonl"))
    equal(other.run()[0], 0, "status when the clock went back")
    equal(other.names(), ["29991231-run.jsonl"], "files when the clock went back")
    equal(len(chained(other)), 4, "lines")


@suite.test()
def test_runs_rotate():
    place = Place()
    for _ in range(26):
        equal(place.run("--set", "audit.file_bytes=16384")[0], 0, "status")
    names = place.names()
    check(len(names) >= 2 and names[1].endswith("-run-0002.jsonl"), "files: %s" % names)
    equal(len(chained(place)), 52, "lines")


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
def test_the_wait_for_the_lock_ends():
    """Nothing starts unrecorded, and nothing waits for ever."""
    place = Place()
    equal(place.run()[0], 0, "status")
    with open(place.path("run.lock"), "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        began = time.monotonic()
        status, err = place.run()
        equal((status, "locked" in err), (125, True), "status while it is locked, " + err)
        check(time.monotonic() - began >= 1, "it did not wait")
    equal(place.run()[0], 0, "status afterwards")
    equal(len(chained(place)), 4, "lines")


@suite.test()
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


@suite.test()
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

    def huge(path):
        with open(path, "ab") as f:
            f.write(b"x" * (3 << 20))

    def lock_link(path):
        os.unlink(os.path.dirname(path) + "/run.lock")
        os.symlink(path, os.path.dirname(path) + "/run.lock")

    for harm in [link, pipe, folder, shared, huge, lock_link] + [other_user] * (os.geteuid() == 0):
        place = Place()
        equal(place.run()[0], 0, "status")
        path = place.path(place.names()[0])
        harm(path)
        before = os.stat(path).st_size
        status, err = place.run(command="/usr/bin/touch")
        equal(status, 125, "status after %s: %s" % (harm.__name__, err))
        check("audit log" in err and "Internal" not in err, "%s: %s" % (harm.__name__, err))
        equal(os.stat(path).st_size, before, "size after " + harm.__name__)


if __name__ == "__main__":
    suite.main()
