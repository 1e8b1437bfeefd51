#!/usr/bin/env python3
"""The wire suite once more on a kernel that lacks something, one thing at a time; and what
agent.session says of it."""
import json
import os
import re
import subprocess
import sys
import tempfile

from client import ROOT, STRESS, Failure, Server, check, equal, hostile_program, server_path
from suite import Suite

suite = Suite()
# The layers that are missing without a feature. None: the report does not change.
FEATURES = {
    "pidfd": None,
    "close_range": None,
    "openat2": {"pid_namespace", "mount_namespace"},
    "landlock": {"landlock"},
    "landlock_switched_off": {"landlock"},
    "landlock_refused": {"landlock"},
    "new_mounts": {"pid_namespace", "mount_namespace"},
    "mount": {"pid_namespace", "mount_namespace"},
    "clone3": None,
    "devpts": None,
    "landlock_abi2": None,
    "splice": None,
    "namespaces": {"pid_namespace", "mount_namespace"},
    "seccomp_listener": None,
    "epoll_watches": None,
}
# Without STRESS only stories about runs: the protocol does not depend on the kernel. Nor does a limit of
# processor time on these features; its story uses up whole seconds of that.
SHORT = ["process.run", "limits", "sandbox", "tree"]
# Without stories about refused calls: a process has one listener.
NO_LISTENER = ("seccomp_listener", "landlock_abi2")
WORDS = [] if STRESS else SHORT + ["denials"]


def session(*wrapper):
    server = Server(wrapper=wrapper)
    sandbox = server.call("agent.session")["sandbox"]
    server.stop()
    return sandbox


def names(layers):
    return {layer.split(":")[0] for layer in layers}


def play(feature):
    """The stories against a server that lacks @feature."""
    with tempfile.TemporaryDirectory() as scratch:
        script = os.path.join(scratch, "procpen")
        with open(script, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexec %s %s %s \"$@\"\n" % (
                hostile_program("without"), feature, os.path.abspath(server_path())))
        os.chmod(script, 0o755)
        done = subprocess.run([sys.executable, str(ROOT / "tests" / "wire" / "run.py")] +
                              (SHORT if feature in NO_LISTENER else WORDS),
                              env=dict(os.environ, PROCPEN=script), capture_output=True, text=True,
                              timeout=900)
    failures = [line for line in done.stdout.split("\n") if line.startswith("FAIL")]
    counts = re.search(r"^(\d+) passed, (\d+) failed", done.stdout, re.M)
    check(counts and int(counts[1]), "no story was played: %s" % done.stdout[-300:])
    equal(failures[:3], [], "stories without %s" % feature)


def lacking(feature):
    wrapper = [hostile_program("without"), feature]
    usual, sandbox = session(), session(*wrapper)
    gone = names(usual["active"]) - names(sandbox["active"])
    equal(gone, (FEATURES[feature] or set()) & names(usual["active"]), "layers that are gone")
    reported = {m["layer"]: m for m in sandbox["missing"]}
    for layer in gone:
        check(layer in reported and reported[layer]["reason"] and reported[layer]["remedy"],
              "%s is not reported as missing: %s" % (layer, json.dumps(sandbox)))
    play(feature)


for _feature in FEATURES:
    def _test(feature=_feature):
        lacking(feature)
    _test.__name__ = "test_without_" + _feature
    suite.test(1000)(_test)


if __name__ == "__main__":
    suite.main()
