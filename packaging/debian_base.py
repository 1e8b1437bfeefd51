"""A small Debian as a tar, for the image and for tests: made once, from where this machine's apt gets
its packages. It is an input, and bears the state of that archive."""
import os
import shutil
import subprocess

import common

RELEASE = "bookworm"
# What no command asks for in a container.
UNUSED = ["/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/man/*"]


def mirrors():
    """Where apt gets Debian from."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)",
                             "Created-By: Packages", "Codename: " + RELEASE, "Component: main"],
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    return sorted(set(listed.split()))


def path():
    """The archive, made if it is not there."""
    architecture = common.machine()[1]
    archive = common.ROOT / "build" / "cache" / ("%s-%s.tar" % (RELEASE, architecture))
    if archive.exists():
        return archive
    for program in ("mmdebstrap", "apt-get"):
        if not shutil.which(program):
            raise common.Failed("%s is not installed" % program)
    if not mirrors():
        raise common.Failed("apt knows no archive of Debian's %s: run apt-get update" % RELEASE)
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = archive.with_suffix(".part.tar")
    common.run("mmdebstrap", "--quiet", "--variant=minbase", "--architectures=" + architecture,
               *("--dpkgopt=path-exclude=" + pattern for pattern in UNUSED), RELEASE, part,
               mirrors()[0])
    part.rename(archive)
    return archive


def make():
    print("  PACKAGE %s" % os.path.relpath(path()))
