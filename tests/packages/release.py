#!/usr/bin/python3
"""`make release` and `make dist`: the last commit, from a clone to packages, and the same bytes again
from the archive of the sources, in another directory, without git and network."""
import functools
import hashlib
import json
import os
import re
import tempfile
import atexit
import shutil
from pathlib import Path

from rig import ROOT, Skip, check, command, debian_base, equal, need
from suite import Suite

suite = Suite()
VERSION = re.search(r'PROCPEN_VERSION "(.+)"', (ROOT / "src/base/version.h").read_text()).group(1)
# Another umask, other names of places, and no cache of compilers.
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8"}
LIMIT = 3600


@functools.lru_cache
def base():
    folder = Path(tempfile.mkdtemp(prefix="procpen-release-"))
    atexit.register(shutil.rmtree, folder)
    return folder


def make(folder, *arguments, **more):
    prefix = ["unshare", "--net"] if os.geteuid() == 0 else []
    jobs = "-j%d" % len(os.sched_getaffinity(0))
    return command(*prefix, "make", "--no-print-directory", jobs, *arguments, cwd=folder,
                   env=ENVIRONMENT, **more)


@functools.lru_cache
def kinds():
    """What a release consists of."""
    return names("KINDS")


def names(variable):
    """A list of packaging/release.py."""
    text = (ROOT / "packaging/release.py").read_text()
    return re.findall(r'"([\w-]+)"', re.search(r"^%s = \[(.+?)\]" % variable, text,
                                               re.M | re.S).group(1))


def machines():
    """Other machines, whose libraries are here: tests/packages/aarch64.py gets them."""
    there = (ROOT / "build/cross/aarch64/complete").exists()
    return "aarch64-linux-gnu" if there and shutil.which("aarch64-linux-gnu-gcc") else ""


def without():
    return "WITHOUT=" + ("" if "oci-debian" in kinds() else "oci-debian")


def inputs(folder):
    """What comes from outside of the sources, made before: the base of the image, where a network gives
    one, and the libraries for other machines."""
    (folder / "build").mkdir()
    try:
        (folder / "build" / "cache").symlink_to(debian_base().parent)
    except Skip:
        if "oci-debian" in kinds():
            kinds().remove("oci-debian")
    if machines():
        (folder / "build" / "cross").symlink_to(ROOT / "build" / "cross")


@functools.lru_cache
def release():
    """The packages of a clone."""
    need("git", "dpkg-deb")
    clone = base() / "clone"
    command("git", "clone", "--quiet", ROOT, clone)
    inputs(clone)
    make(clone, "release", "VERSION=" + VERSION, without(), "MACHINES=" + machines())
    return clone / "build" / "packages"


@functools.lru_cache
def unpacked():
    """The sources from the archive, with all packages that need no git, built there."""
    place = base() / "a longer way" / "to it"
    place.mkdir(parents=True)
    command("tar", "-xzf", release() / ("procpen-%s.tar.gz" % VERSION), "-C", place)
    folder = place / ("procpen-" + VERSION)
    inputs(folder)
    make(folder, *(kind for kind in kinds() if kind != "dist"), umask=0o077)
    if machines():
        make(folder, "CROSS=" + machines(), "OUT=build/packages", *names("OTHERS"))
    return folder


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*") if path.is_file()}


@suite.test(LIMIT)
def test_checksums_name_every_file():
    listed = (release() / "SHA256SUMS").read_text().splitlines()
    command("sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS", cwd=release())
    equal(len(listed) + 1, len(digests(release())), "files in SHA256SUMS")


@suite.test(LIMIT)
def test_the_archive_gives_the_same_bytes():
    again, first = digests(unpacked() / "build" / "packages"), digests(release())
    check(again, "nothing was made")
    equal([name for name in again if again[name] != first.get(name)], [], "what differs")
    equal(set(first) - set(again), {"procpen-%s.tar.gz" % VERSION, "SHA256SUMS"},
          "what only a clone makes")


@suite.test(LIMIT)
def test_another_clone_gives_the_same_archive():
    release()
    clone = base() / "another"
    command("git", "clone", "--quiet", base() / "clone", clone)
    make(clone, "dist", umask=0o077)
    name = "procpen-%s.tar.gz" % VERSION
    equal((clone / "build" / "packages" / name).read_bytes() == (release() / name).read_bytes(), True,
          "the same archive")


@suite.test(LIMIT)
def test_the_list_of_libraries_is_sound():
    release()
    path, = release().glob("*x86_64.spdx.json")
    told = json.loads(path.read_text())
    names = [p["SPDXID"] for p in told["packages"] + told["files"]] + ["SPDXRef-DOCUMENT"]
    equal(len(set(names)), len(names), "identifiers")
    for link in told["relationships"]:
        check({link["spdxElementId"], link["relatedSpdxElement"]} <= set(names), str(link))
    libraries = (ROOT / "Makefile").read_text()
    linked = re.search(r"^LIB_NAMES := (.+)$", libraries, re.M).group(1).split()
    for library in linked:
        check(any(re.search(r"\b(lib)?%s" % re.sub(r"-\d+$", "", library[2:]), p["name"])
                  for p in told["packages"]), "%s is not listed" % library)
    program, = (f for f in told["files"])
    digest = [c["checksumValue"] for c in program["checksums"] if c["algorithm"] == "SHA256"]
    static = digests(release())["procpen-%s-linux-x86_64" % VERSION]
    equal(digest, [static], "its digest of the program")


@suite.test(LIMIT)
def test_what_a_release_refuses():
    release()
    clone = base() / "clone"
    kept = digests(release())
    for arguments, change, reason in (
            (["VERSION=9.9.9"], None, "src/base/version.h says " + VERSION),
            (["VERSION=" + VERSION], "README.md", "not committed"),
            (["VERSION=" + VERSION], "CHANGELOG.md", "no section")):
        if change:
            (clone / change).write_text("changed\n")
        check(reason in failing(clone, *arguments), "%s is not said" % reason)
        equal(digests(release()), kept, "packages after a refused release")
    command("git", "checkout", "--quiet", ".", cwd=clone)


def failing(folder, *arguments):
    return make(folder, "release", *arguments, without(), status=[2], both=True)


if __name__ == "__main__":
    suite.main()
