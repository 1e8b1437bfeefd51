"""What all packages share: version, time, whose they are, the staged program, and archives that
come out with the same bytes each time."""
import functools
import gzip
import hashlib
import io
import json
import os
import re
import struct
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("B", "build")
STAGE = BUILD / "stage"  # `make install` with PREFIX=/usr, see the Makefile
PACKAGES = ROOT / (os.environ.get("OUT") or BUILD / "packages")
CROSS = os.environ.get("CROSS", "")  # the compiler's name of another machine
IDENTITY = json.loads((ROOT / "packaging" / "identity.json").read_text())
SUMMARY = "Run shell commands for LLM agents, confined, bounded and on record"
PROGRAM = STAGE / "usr" / "bin" / "procpen"
DOC = STAGE / "usr" / "share" / "doc" / "procpen"
# e_machine in the ELF header (elf.h): how the kernel, Debian, and both npm and Go call that machine.
MACHINES = {62: ("x86_64", "amd64", "x64"), 183: ("aarch64", "arm64", "arm64")}
PT_INTERP = 3


class Failed(Exception):
    """A package cannot be made; the text says why, and what to do."""


def version():
    text = (ROOT / "src" / "base" / "version.h").read_text()
    return re.search(r'^#define PROCPEN_VERSION "(.+)"$', text, re.M).group(1)


def git(*arguments):
    """What git prints, or None where this is no work tree of its own."""
    if not (ROOT / ".git").exists():
        return None
    return subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


@functools.lru_cache
def epoch():
    """The time that everything in a package bears: that of the last commit. In an archive of the
    sources, packaging/epoch holds it."""
    text = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or \
        (ROOT / "packaging" / "epoch").read_text().strip()
    if not text.isdigit():
        raise Failed("the time of the sources is unknown: neither git nor packaging/epoch has it; "
                     "set SOURCE_DATE_EPOCH")
    return int(text)


@functools.lru_cache
def machine():
    """The names of the machine that the program was built for. It must be static: no package says
    which libraries it needs."""
    data = PROGRAM.read_bytes()
    number, = struct.unpack_from("<H", data, 18)
    table, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    if any(struct.unpack_from("<I", data, table + i * size)[0] == PT_INTERP for i in range(count)):
        raise Failed("%s needs the dynamic loader, so it would not run everywhere: build it with "
                     "LINK=static, VARIANT=release and a compiler that knows -static-pie" % PROGRAM)
    if number not in MACHINES:
        raise Failed("%s is for a machine that packaging/common.py does not know: e_machine %d"
                     % (PROGRAM, number))
    return MACHINES[number]


def run(*argv, **more):
    """A program that must succeed. A make is none of the one that started us."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    env.update(SOURCE_DATE_EPOCH=str(epoch()), LC_ALL="C.UTF-8")
    subprocess.run([str(word) for word in argv], env=env, check=True, **more)


def write(name, data, mode=0o644):
    """A finished file in the folder of packages, there as a whole or not at all."""
    PACKAGES.mkdir(parents=True, exist_ok=True)
    path = PACKAGES / name
    part = path.with_name(path.name + ".part")
    part.write_bytes(data if isinstance(data, bytes) else data.encode())
    part.chmod(mode)
    part.rename(path)
    print("  PACKAGE %s" % os.path.relpath(path), flush=True)
    return path


def as_json(value):
    return json.dumps(value, indent=2) + "\n"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def compress(data, level=9):
    """gzip without name and time."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=out, mtime=0) as f:
        f.write(data)
    return out.getvalue()


def tar(members):
    """An archive of @members, (path, mode, content) each, where content is bytes, None for a
    folder, or a str, the target of a link. An optional fourth part is the uid, which is its gid
    too."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, mode, content, *owner in sorted(members):
            info = tarfile.TarInfo(path)
            info.mode, info.mtime = mode, epoch()
            info.uid = info.gid = owner[0] if owner else 0
            if content is None:
                info.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
            else:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return out.getvalue()
