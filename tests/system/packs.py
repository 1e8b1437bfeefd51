#!/usr/bin/env python3
"""What the packs decide, all of them at once: the commands they are for, and none of everyday's.
Nothing here is run: is_blocked only judges text."""
import csv
import json
import os
import subprocess

from client import ROOT, WAIT, Server, Skip, check, equal, server_path
from suite import Suite

suite = Suite()

NAMES = ("git", "cloud", "k8s", "docker", "db", "publish", "secrets")
FIXTURES = os.path.join(ROOT, "fixtures", "packs")
CORPORA = os.path.join(ROOT, "..", "shared", "corpora")


def lines(*path):
    try:
        with open(os.path.join(*path), encoding="utf-8") as f:
            return [line.rstrip("\n") for line in f if line.strip()]
    except FileNotFoundError as e:
        raise Skip("%s is not there" % os.path.basename(e.filename)) from None


def rows(name):
    """Pack and command; \\n in a command is a line end."""
    return [(pack, text.replace("\\n", "\n"))
            for pack, text in (line.split("\t") for line in lines(FIXTURES, name))]


def judge(server, command):
    """The pack that decides, "blocklist", or None."""
    answer = server.call("is_blocked", {"command": command})
    return "blocklist" if answer["blocked"] else answer["pack"]


def server_with_all():
    return Server("--set", "packs=" + ",".join(name + ":confirm" for name in NAMES))


@suite.test()
def test_commands_of_each_pack_and_harmless_ones():
    server = server_with_all()
    for pack, command in rows("decided.tsv"):
        got = judge(server, command)
        check(got in NAMES + ("blocklist",), "not decided (%s): %s" % (pack, command))
    # What a rule begins to match moves to the list above.
    for pack, command in rows("missed.tsv"):
        equal(judge(server, command), None, "%s: %s" % (pack, command))
    for command in lines(FIXTURES, "harmless.txt"):
        equal(judge(server, command), None, command)
    server.stop()


@suite.test()
def test_rates():
    """A sample of what incidents report, and of what people type."""
    table = list(csv.reader(lines(CORPORA, "packs_dev.tsv")[1:], delimiter="\t",
                            quoting=csv.QUOTE_NONE))
    everyday = lines(CORPORA, "nl2bash_benign.txt")
    wanted = [json.loads(row[1]) for row in table if row[0] != "benign"]
    harmless = [json.loads(row[1]) for row in table if row[0] == "benign"] + everyday
    server = server_with_all()
    missed = [c for c in wanted if judge(server, c) is None]
    decided = [c for c in harmless if judge(server, c) not in (None, "blocklist")]
    server.stop()
    print("      %d of %d missed, %d of %d harmless ones decided" %
          (len(missed), len(wanted), len(decided), len(harmless)))
    check(len(missed) <= len(wanted) * 0.1, "missed: %s" % missed)
    check(len(decided) <= len(harmless) * 0.005, "decided: %s" % decided)


@suite.test()
def test_help_names_them():
    help_text = subprocess.run([server_path(), "help", "options"], capture_output=True, text=True, timeout=WAIT,
                               check=True).stdout
    text = " ".join(help_text.partition("  packs=")[2].split())
    check("There are %s." % ", ".join(sorted(NAMES)) in text, text[:200])


if __name__ == "__main__":
    suite.main()
