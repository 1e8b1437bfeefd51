#!/usr/bin/env python3
"""docs/fleet.md, command by command, with fewer commands than the page has."""
import os
import re
import shutil
import subprocess

from client import ROOT, STRESS, WAIT, check, equal
from engines import Slurm, Ssh, need
from operating import blocks, expect, steps
from suite import Suite

suite = Suite(at_a_time=2)
COUNT = "1000" if STRESS else "6"


def section(title):
    """The blocks of a section of the page, behind those of its beginning."""
    text = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
    beginning, *parts = re.split(r"^## ", text, flags=re.M)
    part, = [p for p in parts if p.startswith(title + "\n")]
    return list(blocks(beginning.replace("1000", COUNT) + part.replace("1000", COUNT)))


def work_through(engine, title):
    """Its commands in a folder of its own; the exit status of each must be 0."""
    need("jq")
    folder = os.path.join(engine.base, "fleet")
    os.mkdir(folder)
    env = {**engine.owner.env, **engine.env, "PATH": engine.path + ":" + os.environ["PATH"]}
    tried = 0
    for block in section(title):
        name = re.match(r"(?:#!.*\n)?# (\S+)\n", block)
        if name:
            with open(os.path.join(folder, name[1]), "w") as f:
                f.write(block)
        for command, shown in steps(block):
            run = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, env=env,
                                 capture_output=True, text=True, check=False,
                                 timeout=WAIT * (10 if STRESS else 1))
            expect(command, shown, run.stdout, run.stderr)
            equal(run.returncode, 0, command + ": " + run.stderr)
            tried += 1
    check(tried > 5, "only %d commands are on the page" % tried)


@suite.test(limit=900)
def test_a_slurm_array():
    need("sbatch")
    with Slurm() as engine:
        work_through(engine, "A Slurm array")


@suite.test(limit=900)
def test_parallel_over_ssh():
    need("parallel")
    with Ssh() as engine:
        # By the name that the page and parallel call it with, and with our configuration.
        wrapper = os.path.join(engine.path, "ssh")
        with open(wrapper, "w") as f:
            f.write("#!/bin/sh\nexec %s -F %s \"$@\"\n" % (shutil.which("ssh"), engine.config))
        os.chmod(wrapper, 0o755)
        work_through(engine, "GNU parallel over ssh")


if __name__ == "__main__":
    suite.main()
