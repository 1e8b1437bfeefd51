#!/usr/bin/env python3
"""`make install` puts what docs/hacking.md lists below DESTDIR, and `make uninstall` takes it away."""
import contextlib
import fnmatch
import os
import re
import shutil
import subprocess
import tempfile

from client import ROOT, WAIT, check, equal
from suite import Suite

suite = Suite()
PREFIX = "/usr"


def make(target, destination, *arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    done = subprocess.run(["make", "--no-print-directory", target, "DESTDIR=" + destination,
                           "PREFIX=" + PREFIX, *arguments], cwd=ROOT, env=environment,
                          capture_output=True, text=True, timeout=10 * WAIT, check=False)
    equal((done.returncode, done.stderr), (0, ""), "make %s: status, stderr" % target)


def tree(destination):
    """Files, and folders with a / behind them, as paths below the prefix."""
    found = []
    for top, folders, files in os.walk(destination + PREFIX):
        place = os.path.relpath(top, destination + PREFIX)
        found += [os.path.normpath(os.path.join(place, name)) + "/" for name in folders]
        found += [os.path.normpath(os.path.join(place, name)) for name in files]
    return sorted(found)


@contextlib.contextmanager
def installed(*arguments):
    """A destination with a blank in its name, and procpen in it."""
    base = tempfile.mkdtemp(prefix="procpen-install-")
    destination = os.path.join(base, "a root")
    try:
        make("install", destination, *arguments)
        yield destination
    finally:
        shutil.rmtree(base)


def documented():
    """The patterns of the table in docs/hacking.md."""
    text = (ROOT / "docs" / "hacking.md").read_text(encoding="utf-8")
    section = text.split("\n## Installing\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", section, re.M)


def has_symbols(path):
    with open(path, "rb") as f:
        return b"\0.symtab\0" in f.read()


@suite.test()
def test_what_is_documented_is_installed():
    with installed() as destination:
        files = [name for name in tree(destination) if not name.endswith("/")]
        for pattern in documented():
            matches = fnmatch.filter(files, pattern)
            check(matches, "nothing is installed as " + pattern)
            files = [name for name in files if name not in matches]
        equal(files, [], "files that docs/hacking.md does not list")
        for name in tree(destination):
            mode = os.stat(os.path.join(destination + PREFIX, name)).st_mode & 0o7777
            program = name.endswith("/") or name.startswith(("bin/", "libexec/"))
            equal(oct(mode), oct(0o755 if program else 0o644), "mode of " + name)


@suite.test()
def test_the_program_is_stripped_and_runs():
    with installed() as destination:
        program = destination + PREFIX + "/bin/procpen"
        check(not has_symbols(program), "symbols in " + program)
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=WAIT,
                              check=False)
        check(done.returncode == 0 and done.stdout.startswith("procpen "), str(done))
        os.mkdir(destination + "/workspace")
        done = subprocess.run([program, "run", "--workspace", destination + "/workspace", "--state-dir",
                               destination + "/state", "echo", "hello"], capture_output=True,
                              text=True, timeout=WAIT, check=False)
        equal((done.returncode, done.stdout), (0, "hello\n"), "run: status, stdout " + done.stderr)


@suite.test()
def test_symbols_can_stay():
    """Packages keep them for their own debug files."""
    with installed("STRIP=true") as destination:
        check(has_symbols(destination + PREFIX + "/bin/procpen"), "no symbols")


@suite.test()
def test_links_between_pages_hold():
    with installed() as destination:
        docs = destination + PREFIX + "/share/doc/procpen"
        for top, _, files in os.walk(docs):
            for name in fnmatch.filter(files, "*.md"):
                with open(os.path.join(top, name), encoding="utf-8") as f:
                    for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", f.read()):
                        check(os.path.exists(os.path.join(top, link)), "%s: %s" % (name, link))


@suite.test()
def test_uninstall_leaves_what_others_own():
    with installed() as destination:
        root = destination + PREFIX + "/"
        everything = tree(destination)
        others = ["bin/procpen-other", "share/man/man1/procpen-other.1", "share/man/man1/other.1",
                  "share/zsh/site-functions/_other"]
        for name in others:
            open(root + name, "w", encoding="utf-8").close()
        make("uninstall", destination)
        left = tree(destination)
        equal([name for name in left if not name.endswith("/")], sorted(others), "files left")
        own = [name for name in left if name.endswith("/") and "procpen" in name]
        equal(own, [], "folders left")
        check(set(left) - set(others) <= set(everything), "made by uninstall")
        make("install", destination)
        open(root + "share/procpen/other", "w", encoding="utf-8").close()
        make("uninstall", destination)
        check(os.path.exists(root + "share/procpen/other"), "a file of others is gone")
        make("uninstall", destination)  # there is nothing any more


if __name__ == "__main__":
    suite.main()
