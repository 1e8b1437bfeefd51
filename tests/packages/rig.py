"""What the tests of packages share: making packages, and root directories to start them in."""
import contextlib
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("system", "conformance")]

from client import WAIT, Skip, check, equal  # noqa: E402
from packages import Missing, Packages  # noqa: E402

LIMIT = 1800  # seconds, for one program: a guard against hanging
REQUEST = '{"jsonrpc":"2.0","id":1,"method":"process.run","params":{"command":"echo served"}}\n'


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip("%s is not installed" % program)


def command(*argv, status=(0,), both=False, **more):
    """What a program that ends with one of @status writes to stdout, or to both streams."""
    if "input" not in more:
        more["stdin"] = subprocess.DEVNULL
    done = subprocess.run([str(word) for word in argv], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=LIMIT,
                          check=False, **more)
    check(done.returncode in status, "%s ended with %d and wrote %s" % (
        " ".join(map(str, argv)), done.returncode, (done.stderr + done.stdout)[-2000:]))
    return done.stdout + done.stderr if both else done.stdout


@functools.lru_cache
def made(target, cwd=ROOT):
    """The paths of what `make TARGET` says that it has made."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    text = command("make", "--no-print-directory", target, cwd=cwd, env=environment)
    return outputs(text, cwd)


def outputs(text, cwd=ROOT):
    """The paths that packaging/package.py says it has made."""
    return [Path(cwd) / path for path in re.findall(r"^  PACKAGE (.+)$", text, re.M)]


def links_hold(folder):
    """Each link from a page below @folder to another file leads to one that is there."""
    pages = list(folder.rglob("*.md"))
    check(pages, "no page below %s" % folder)
    for page in pages:
        for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text(encoding="utf-8")):
            check((page.parent / link).exists(), "%s: %s" % (page.relative_to(folder), link))


@contextlib.contextmanager
def scratch():
    folder = Path(tempfile.mkdtemp(prefix="procpen-packages-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


class Root:
    """A directory as the root of everything that inside() starts, with /proc and /dev/null."""

    # Arguments of sh: the directory, chroot, and what to start. Mounts end with the namespace.
    ENTER = ('mount -t proc proc "$0/proc" && mount --bind /dev/null "$0/dev/null" && enter=$1 && '
             'shift && exec "$enter" "$0" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin '
             'HOME=/root "$@"')

    def __init__(self, path):
        self.path = path
        for folder in ("proc", "dev", "tmp", "root", "project"):
            (path / folder).mkdir(exist_ok=True, parents=True)
        (path / "dev" / "null").touch()

    def inside(self, *argv, **more):
        need("unshare")
        if os.geteuid() != 0:
            raise Skip("only root may change the root directory")
        return command("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                       self.ENTER, self.path, shutil.which("chroot", path=os.environ["PATH"] +
                                                           ":/usr/sbin:/sbin"), *argv, **more)

    def procpen_works(self, program, place="/project"):
        """Every way of asking it for a command gets that command's words."""
        where = ["--workspace", place, "--state-dir", "/state"]
        check(self.inside(program, "--version").startswith("procpen "), "--version")
        equal(self.inside(program, "run", *where, "--shell", "echo $((40 + 2)); exit 3",
                          status=[3]),
              "42\n", "run --shell")
        equal(self.inside(program, "run", *where, "echo", "plain"), "plain\n", "run")
        told = json.loads(self.inside(program, "call", *where, "--json", "process.run",
                                      '{"command": "echo called"}'))
        equal((told["exit_code"], told["stdout_summary"]), (0, "called\n"), "call")
        lines = [json.loads(line) for line in
                 self.inside(program, "serve", *where, input=REQUEST).splitlines()]
        equal([line["result"]["stdout_summary"] for line in lines if line.get("id") == 1], ["served\n"],
              "serve")
        # 1: in a bare root the layer of control groups is missing, and doctor says what to do.
        report = json.loads(self.inside(program, "doctor", "--json", status=[0, 1]))
        equal(report["version"], self.inside(program, "--version").split()[1], "doctor")


@contextlib.contextmanager
def busybox_root():
    """No library, no loader: a shell and tools of busybox."""
    need("busybox", "readelf")
    busybox = shutil.which("busybox")
    check("INTERP" not in command("readelf", "-lW", busybox), "busybox is not the static one")
    with scratch() as folder:
        (folder / "bin").mkdir()
        (folder / "usr/local/bin").mkdir(parents=True)
        shutil.copy(busybox, folder / "bin/busybox")
        for name in ("sh", "echo", "env", "cp"):
            (folder / "bin" / name).symlink_to("busybox")
        yield Root(folder)


@contextlib.contextmanager
def system_root(archive):
    """The system in the tar @archive, afresh."""
    with scratch() as folder:
        command("tar", "-xpf", archive, "-C", folder, "--exclude=./dev/*")
        yield Root(folder)


def debian_root():
    return system_root(debian_base())


@functools.lru_cache
def debian_base():
    """A Debian, made once from the packages that this machine's apt is set up for."""
    try:
        return made("debian-base")[0]
    except Exception as why:
        raise Skip("no root directory of Debian: %.300s" % why) from None


def release_base(release, keyring):
    """A small system of another @release that mmdebstrap knows, made once from that distribution's own
    archive, whose signatures are by a key of @keyring."""
    archive = ROOT / "build" / "cache" / ("%s-newcomer.tar" % release)
    if archive.exists():
        return archive
    need("mmdebstrap")
    if not os.path.exists(keyring):
        raise Skip("no keys of %s's archive in %s" % (release, keyring))
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = archive.with_suffix(".part.tar")
    try:
        # apt is no required package of Ubuntu.
        command("mmdebstrap", "--quiet", "--variant=minbase", "--include=apt", "--keyring=%s" % keyring,
                release, part)
    except Exception as why:
        part.unlink(missing_ok=True)
        raise Skip("no root directory of %s: %.300s" % (release, why)) from None
    part.rename(archive)
    return archive
