#!/usr/bin/env python3
"""A capability is one schema file and one C file: docs/hacking.md, "Adding a capability", as it stands.

In a copy of the sources and of what was built of them.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from client import ROOT, Skip, check, equal
from suite import Suite

suite = Suite()
BUILT = ("build/host", "build/gen", "build/include", "build/release", "build/files",
         "build/procpen", "build/procpen-shim")
NAME = "process.count"


def copy_tree(to):
    """Sources and objects with their times, so that make has little to do."""
    for name in ("Makefile", "src", "schema", "fixtures", "tests", "docs") + BUILT:
        source, target = ROOT / name, os.path.join(to, name)
        if not source.exists():
            raise Skip("%s is missing: not built with make" % name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__", "tests.d", "*.asan"))
        else:
            shutil.copy2(source, target)


def steps():
    """The indented blocks of the section: what a reader would put into files."""
    text = (ROOT / "docs" / "hacking.md").read_text(encoding="utf-8")
    section = text.split("## Adding a capability")[1].split("\n## ")[0]
    blocks = re.findall(r"\n\n((?:    .*\n|\n(?=    ))+)", section)
    return [re.sub(r"^    ", "", block, flags=re.M) for block in blocks]


def generated(folder):
    """What the build compiles beside the sources: the generator's tables, and the list of files. The
    objects follow from these."""
    found = {}
    for part in ("gen", "include"):
        for path, _, names in os.walk(os.path.join(folder, "build", part)):
            for name in names:
                found[name] = Path(path, name).read_bytes()
    return found, Path(folder, "build", "files").read_bytes()


def make(folder, *targets):
    """Not optimised: what it compiles runs for a moment."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(["make", "-s", "-j2", "OPT=-O0", *(targets or ["build/procpen"])],
                          cwd=folder, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    equal(done.returncode, 0, "make: %s" % done.stdout[-1500:])


def ask(folder, method):
    """The answer of a new server to @method."""
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}) + "\n"
    workspace = os.path.join(folder, "workspace")
    os.makedirs(workspace, exist_ok=True)
    done = subprocess.run([os.path.join(folder, "build/procpen"), "serve", "--workspace", workspace,
                           "--state-dir", os.path.join(folder, "state")], input=request, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=False)
    return json.loads(done.stdout.splitlines()[-1])


@suite.test(600)
def test_one_schema_and_one_file():
    with tempfile.TemporaryDirectory(prefix="procpen-capability-") as folder:
        copy_tree(folder)
        schema, code, story = [s for s in steps() if "process.count" in s or "proctab" in s][:3]
        equal(json.loads(schema)["name"], NAME, "the schema of the example")
        files = {"schema/process.count.json": schema, "src/cap/process_count.c": code,
                 "fixtures/wire/222-count.wire": story}
        check(NAME in ask(folder, NAME)["error"]["message"], "it is there already")
        before = generated(folder)
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        make(folder)
        equal(ask(folder, NAME)["result"], {"alive": 0, "limit": 64}, "the new capability")
        hint = ask(folder, "process.nothing")["error"]["data"]["hint"]
        check(NAME in hint, "it is not in the hint: %s" % hint)
        done = subprocess.run(["tests/wire/run.py", "222-count"], cwd=folder, text=True,
                              env=dict(os.environ, PROCPEN=os.path.join(folder, "build/procpen")),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        check("1 passed, 0 failed" in done.stdout, "its story: %s" % done.stdout[-800:])
        tier = subprocess.run([os.path.join(folder, "build/procpen"), "serve", "--set",
                               "tier.%s=never" % NAME], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        check("autonomous, notify" in tier.stderr, "its tier: %s" % tier.stderr)
        for name in files:
            os.unlink(os.path.join(folder, name))
        make(folder, "build/gen/stamp", "build/files")
        equal(generated(folder), before, "what is made of them after they were removed")


@suite.test()
def test_none_is_taken_for_granted():
    """The fixture of the conformance suite has its own ones, and a sandbox is made ahead in the
    silence behind the first words."""
    fixture = ROOT / "build" / "procpen-fixture"
    if not fixture.exists():
        raise Skip("build/procpen-fixture is missing: not built with make fixture")
    with tempfile.TemporaryDirectory(prefix="procpen-capability-") as folder:
        os.mkdir(os.path.join(folder, "workspace"))
        with subprocess.Popen([fixture, "serve", "--workspace", os.path.join(folder, "workspace"),
                               "--state-dir", os.path.join(folder, "state")], text=True, bufsize=1,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as server:
            for number in range(1, 4):
                server.stdin.write('{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number)
                line = server.stdout.readline()
                check('"id":%d' % number in line, "ping %d: %r" % (number, line))
                time.sleep(0.3)
            server.stdin.close()
            equal(server.wait(60), 0, "its status")


if __name__ == "__main__":
    suite.main()
