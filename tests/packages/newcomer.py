#!/usr/bin/python3
"""From the files of a release to a first run, by the lines of docs/install.md, where nothing but the
system is. It says how long that takes."""
import os
import re
import shutil
import time

from rig import LIMIT, ROOT, busybox_root, check, debian_base, equal, made, release_base, system_root
from suite import Suite

suite = Suite()
PAGE = (ROOT / "docs/install.md").read_text()
# File, make target, and the line that installs the file.
ROWS = re.findall(r"^\| `(\S+)` \| `make (\S+)` \| `(.+)` \|$", PAGE, re.M)
LINES = {target: (file, line) for file, target, line in ROWS}
# What the page has behind each way: doctor, and the entry of a host.
AFTER = re.findall(r"^    (procpen .+?) +#", PAGE, re.M)
FIRST_RUN = "cd /project && procpen run echo hello"


def from_file_to_first_run(root, target):
    """Installs what `make target` makes, as the page says, and runs a command."""
    package, = made(target)
    shutil.copy(package, root.path / "root" / package.name)
    line = LINES[target][1].replace("sudo ", "").replace("FILE", package.name)
    started = time.monotonic()
    told = root.inside("sh", "-c", "cd && %s >/dev/null 2>&1 && %s" % (line, FIRST_RUN))
    print("      %s: %.1f s from the file to the first run" % (target, time.monotonic() - started))
    equal(told, "hello\n", "first run")
    doctor, setup = AFTER
    check("A command:" in root.inside("sh", "-c", doctor, status=[0, 1]), "doctor")
    root.inside("sh", "-c", "cd /project && " + setup)
    check("procpen" in (root.path / "root/.claude.json").read_text(), "entry of the host")


@suite.test()
def test_the_readme_has_lines_of_the_page():
    listed = re.findall(r"^    (.+?) +# make (deb|npm|static|oci-debian)$",
                        (ROOT / "README.md").read_text(), re.M)
    equal(len(listed), 4, "lines in README.md")
    for line, target in listed:
        file = LINES[target][0].replace("MACHINE", "x86_64").replace("ARCH", "amd64")
        equal(line, LINES[target][1].replace("FILE", file), "line of make " + target)


def on_a_fresh(base):
    for target in ("deb", "static"):
        with system_root(base) as root:
            from_file_to_first_run(root, target)


@suite.test(LIMIT)
def test_on_a_fresh_debian_12():
    on_a_fresh(debian_base())


@suite.test(LIMIT)
def test_on_a_fresh_debian_13():
    on_a_fresh(release_base("trixie", "/usr/share/keyrings/debian-archive-keyring.gpg"))


@suite.test(LIMIT)
def test_on_a_fresh_ubuntu_24_04():
    on_a_fresh(release_base("noble", os.environ.get("UBUNTU_KEYRING") or
                            "/usr/share/keyrings/ubuntu-archive-keyring.gpg"))


@suite.test()
def test_without_a_c_library():
    """As on Alpine, whose busybox has an install; Debian's has none."""
    with busybox_root() as root:
        install = root.path / "bin/install"
        install.write_text('#!/bin/sh\nexec cp "$@"\n')
        install.chmod(0o755)
        from_file_to_first_run(root, "static")


if __name__ == "__main__":
    suite.main()
