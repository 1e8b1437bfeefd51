#!/usr/bin/python3
"""`make static`: one file that runs where nothing else is."""
import os
import shutil

from rig import busybox_root, check, command, equal, made, need
from suite import Suite

suite = Suite()


@suite.test()
def test_it_needs_no_library():
    program, = made("static")
    need("readelf")
    check("INTERP" not in command("readelf", "-lW", program), "it wants a loader")
    check("NEEDED" not in command("readelf", "-dW", program), "it wants libraries")
    check(os.stat(program).st_size < 4 << 20, "%d bytes" % os.stat(program).st_size)


@suite.test()
def test_it_runs_beside_busybox_alone():
    program, = made("static")
    with busybox_root() as root:
        shutil.copy(program, root.path / "procpen")
        root.procpen_works("/procpen")
        equal(root.inside("/procpen", "run", "--workspace", "/project", "true", status=[127]), "",
              "a program that is not there")


if __name__ == "__main__":
    suite.main()
