#!/usr/bin/python3
"""`make static`: one file that runs where nothing else is."""
import os
import shutil

from rig import Root, check, command, equal, made, need, scratch
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
    busybox = shutil.which("busybox")
    need("busybox", "readelf")
    check("INTERP" not in command("readelf", "-lW", busybox), "busybox is not the static one")
    with scratch() as folder:
        root = Root(folder)
        (folder / "bin").mkdir()
        shutil.copy(busybox, folder / "bin" / "busybox")
        shutil.copy(program, folder / "procpen")
        for name in ("sh", "echo", "env"):
            (folder / "bin" / name).symlink_to("busybox")
        root.procpen_works("/procpen")
        equal(root.inside("/procpen", "run", "--workspace", "/project", "true", status=[127]), "",
              "a program that is not there")


if __name__ == "__main__":
    suite.main()
