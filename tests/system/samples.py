#!/usr/bin/env python3
"""The clients of docs/samples and the demo do what they say, each in its own interpreter."""
import os
import shutil
import subprocess
import sys
from xml.etree import ElementTree

from client import ROOT, WAIT, Server, Skip, check, equal, eventually, processes_marked, server_path
from suite import Suite

suite = Suite()
SAMPLES = ROOT / "docs" / "samples"
OUTPUT = "output: ready\nstate: killed\n"
LINES_MAX = 60
SVG = "{http://www.w3.org/2000/svg}"


def run_sample(*command):
    """Run one with a home and a workspace of its own; nothing of it may be left. It gets program and
    workspace as arguments and in the environment."""
    if not shutil.which(command[0]):
        raise Skip("%s is not installed" % command[0])
    server = Server(start=False)  # for its directories: the sample starts its own
    environment = dict(server.env, PROCPEN=server_path(), WORKSPACE=server.workspace,
                       XDG_STATE_HOME=server.state)
    done = subprocess.run([*command, server_path(), server.workspace], input="", text=True,
                          capture_output=True, timeout=2 * WAIT, env=environment, cwd=SAMPLES,
                          check=False)
    equal((done.stdout, done.returncode), (OUTPUT, 0),
          "output and status (stderr: %.600s)" % done.stderr)
    eventually(lambda: not processes_marked(server.base), WAIT, "it left processes")
    check(os.listdir(os.path.join(server.state, "procpen", "audit")), "no record of a call")


@suite.test()
def test_python():
    run_sample("/usr/bin/python3", "client.py")


@suite.test()
def test_node():
    run_sample("node", "client.mjs")


@suite.test()
def test_emacs():
    run_sample("emacs", "-Q", "--batch", "-l", "client.el")


@suite.test()
def test_neovim():
    run_sample("nvim", "--clean", "--headless", "-c", "luafile client.lua", "--")


@suite.test()
def test_each_is_short_and_named():
    page = (ROOT / "docs" / "samples" / "README.md").read_text()
    for sample in sorted(SAMPLES.glob("client.*")):
        lines = len(sample.read_text().splitlines())
        check(lines < LINES_MAX, "%s has %d lines" % (sample.name, lines))
        check(sample.name in page, "README.md does not name %s" % sample.name)


@suite.test()
def test_demo():
    """It plays as it stands, on one screen, and its picture is XML with every line."""
    server = Server(start=False)
    picture = os.path.join(server.base, "demo.svg")
    done = subprocess.run([sys.executable, ROOT / "docs" / "demo.py", "--svg", picture], text=True,
                          capture_output=True, timeout=2 * WAIT, check=False,
                          env=dict(server.env, PROCPEN=server_path()))
    equal(done.returncode, 0, "status (%.600s%.600s)" % (done.stdout, done.stderr))
    shown = done.stdout.splitlines()
    check(len(shown) <= 60, "%d lines" % len(shown))
    drawn = "".join(text.text for text in ElementTree.parse(picture).getroot().iter(SVG + "text"))
    equal(drawn, "".join(shown), "text of the picture")


if __name__ == "__main__":
    suite.main()
