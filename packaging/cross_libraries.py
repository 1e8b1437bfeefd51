"""The libraries for another machine, from where this machine's apt gets its packages, below build/cross.
apt works on a state of its own there: the system learns of no other architecture."""
import shutil
import subprocess

import common
import libraries

# Names of Debian's compilers, and of its architectures.
ARCHITECTURES = {"aarch64-linux-gnu": "arm64"}
# The C library too: that of the cross compiler's own package lags behind. The rest is for unit tests.
WANTED = [*libraries.LIBRARIES, "linux-libc-dev", "libc6", "libcmocka-dev", "libcmocka0"]
PLACE = common.ROOT / "build" / "cross"


def apt(program, *arguments):
    """What a program of apt prints about the packages of that machine; downloads go to PLACE/apt."""
    machine, state = ARCHITECTURES[common.CROSS], PLACE / "apt"
    options = {"APT::Architecture": machine, "APT::Architectures": machine, "APT::Sandbox::User": "",
               "Dir::State": state, "Dir::State::status": state / "status", "Dir::Cache": state}
    words = [word for name, value in options.items() for word in ("-o", "%s=%s" % (name, value))]
    done = subprocess.run([program, "-qq", *words, *arguments], cwd=state, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise common.Failed("%s %s: %s" % (program, arguments[0],
                                           " ".join(done.stdout.split())[-300:]))
    return done.stdout


def download(*packages):
    """The files of these packages."""
    apt("apt-get", "download", *packages)
    return [path for name in packages for path in (PLACE / "apt").glob(name + "_*.deb")]


def prepare():
    """apt knows what there is for that machine."""
    if common.CROSS not in ARCHITECTURES:
        raise common.Failed("CROSS is one of " + " ".join(ARCHITECTURES))
    for program in ("apt-get", "dpkg-deb"):
        if not shutil.which(program):
            raise common.Failed("%s is not installed" % program)
    for folder in ("lists/partial", "archives/partial"):
        (PLACE / "apt" / folder).mkdir(parents=True, exist_ok=True)
    (PLACE / "apt" / "status").touch()
    apt("apt-get", "update")


def make():
    prepare()
    root = PLACE / common.CROSS.split("-")[0]
    for package in download(*WANTED):
        common.run("dpkg-deb", "-x", package, root)
    # Packages still put the loader there; on a system it is the same folder.
    shutil.copytree(root / "lib", root / "usr" / "lib", symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(root / "lib")
    (root / "lib").symlink_to("usr/lib")
    (root / "complete").touch()
