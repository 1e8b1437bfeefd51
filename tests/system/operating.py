#!/usr/bin/env python3
"""docs/operating.md, command by command: its files are written where they say, its commands run, and
what they print is what the page shows."""
import os
import re
import shutil
import subprocess
import tempfile

from client import ROOT, WAIT, Skip, check, equal, server_path
from suite import Suite

suite = Suite()

# A mount namespace with an /etc of its own, for the machine's file.
OWN_ETC = ("unshare", "-m", "sh", "-c", "mount --bind \"$0\" /etc && exec \"$@\"")


def blocks(text):
    """The indented blocks of the page, without their indent."""
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.M):
        yield "\n".join(line[4:] for line in block.strip("\n").split("\n")) + "\n"


def steps(block):
    """Each command of a block with the output that the page shows."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output.rstrip("\n")


class Machine:
    """An /etc, a home and a project of its own for the commands of the page."""

    def __init__(self, base):
        self.home, self.project = os.path.join(base, "home"), os.path.join(base, "project")
        self.etc = os.path.join(base, "etc")
        for path in (self.home, self.project, self.etc, os.path.join(base, "bin")):
            os.mkdir(path, 0o755)
        os.mkdir(os.path.join(self.etc, "procpen"))
        for name in ("passwd", "group", "nsswitch.conf", "ld.so.cache", "ld.so.conf", "alternatives"):
            path = os.path.join("/etc", name)
            if os.path.isdir(path):
                shutil.copytree(path, os.path.join(self.etc, name), symlinks=True)
            elif os.path.exists(path):
                shutil.copy(path, self.etc)
        os.symlink(server_path(), os.path.join(base, "bin", "procpen"))
        self.env = {"HOME": self.home, "PATH": os.path.join(base, "bin") + ":" + os.environ["PATH"]}

    def path(self, name):
        if name.startswith("~/"):
            return os.path.join(self.home, name[2:])
        return os.path.join(self.etc, name[5:]) if name.startswith("/etc/") else os.path.join(
            self.project, name)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def run(self, command):
        run = subprocess.run(OWN_ETC + (self.etc, "bash", "-c", command), cwd=self.project,
                             env=self.env, capture_output=True, text=True, timeout=WAIT)
        return run.stdout.replace(self.home, "~"), run.stderr


def expect(command, shown, out, err):
    """A line "..." stands for any lines, "..." in a line for any text."""
    pattern = re.escape(shown).replace(r"\.\.\.", ".*")
    check(re.fullmatch(pattern, out.rstrip("\n"), re.S),
          "%s\nprinted:\n%s%s\nthe page shows:\n%s" % (command, out, err, shown))


@suite.test()
def test_the_page():
    if os.geteuid() != 0:
        raise Skip("only root has an /etc of its own for a test")
    if not shutil.which("jq"):
        raise Skip("jq is not installed")
    with tempfile.TemporaryDirectory(prefix="procpen-operating-") as base:
        machine = Machine(base)
        if machine.run("echo yes")[0] != "yes\n":
            raise Skip("no mount namespace can be made here")
        if "ok" not in machine.run("procpen doctor --json | jq -r .verdict")[0]:
            raise Skip("this machine gives less than the page supposes")
        tried = written = 0
        for block in blocks((ROOT / "docs" / "operating.md").read_text(encoding="utf-8")):
            name = re.match(r"// (\S+)\n", block)
            if name:
                machine.write(name[1], block)
                written += 1
            for command, shown in steps(block):
                expect(command, shown, *machine.run(command))
                tried += 1
        equal((written, tried > 10), (3, True), "files, commands")


if __name__ == "__main__":
    suite.main()
