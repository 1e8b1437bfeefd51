"""A kernel for another machine, and busybox, all that the tests of packages need to start commands on
one that an emulator pretends to be. From where this machine's apt gets its packages, made once."""
import os
import re
import shutil

import common
import cross_libraries

# What Debian starts in virtual machines: no driver that we need is a module of it.
KERNEL = "linux-image-cloud-%s"


def make():
    place = cross_libraries.PLACE / (common.CROSS.split("-")[0] + "-kernel")
    if not place.exists():
        cross_libraries.prepare()
        wanted = KERNEL % cross_libraries.ARCHITECTURES[common.CROSS]
        told = cross_libraries.apt("apt-cache", "depends", wanted)
        kernel = re.search(r"Depends: (linux-image\S+)", told).group(1)
        part = place.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        for package in cross_libraries.download(kernel, "busybox-static"):
            common.run("dpkg-deb", "-x", package, part)
        next(part.glob("boot/vmlinuz-*")).rename(part / "vmlinuz")
        part.rename(place)
    print("  PACKAGE %s\n  PACKAGE %s" % tuple(os.path.relpath(place / name)
                                            for name in ("vmlinuz", "bin/busybox")))
