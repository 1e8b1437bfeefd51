"""The libraries that are part of the program, because it is linked statically: from which packages
of this Debian they came, and what their licences ask us to pass on."""
import shutil
import subprocess
from pathlib import Path

from common import BUILD, CROSS, Failed

# Debian's package of the library as it is linked, and its licence as an SPDX expression, for the
# parts that end up in the program.
LIBRARIES = {
    "libc6-dev": "LGPL-2.1-or-later",
    "libev-dev": "BSD-2-Clause OR GPL-2.0-or-later",
    "libjansson-dev": "MIT",
    "libpcre2-dev": "BSD-3-Clause",
    "libseccomp-dev": "LGPL-2.1-only",
    "nettle-dev": "LGPL-3.0-or-later OR GPL-2.0-or-later",
}


def shown(*command):
    """What a program of dpkg says of packages: (package, source package, its version)."""
    if not shutil.which(command[0]):
        raise Failed("which libraries are in the program is only known on Debian: %s is not "
                     "installed" % command[0])
    return [line.split() for line in subprocess.run(command, stdout=subprocess.PIPE, text=True,
                                                    check=True).stdout.splitlines()]


def sources():
    """{package: (source package, its version)} of this machine, or of CROSS."""
    form = "${Package} ${source:Package} ${source:Version}\\n"
    if not CROSS:
        rows = shown("dpkg-query", "-W", "-f", form, *LIBRARIES)
    else:
        rows = []
        for package in sorted((BUILD.parent / "cross" / "apt").glob("*.deb")):
            rows += shown("dpkg-deb", "-W", "--showformat", form, package)
    found = {package: (source, version) for package, source, version in rows}
    return {package: found[package] for package in LIBRARIES}


def notices():
    """The copyright notices and licences of all of them, as Debian has them: the same for every
    machine."""
    parts = ["procpen is linked statically with these libraries, so they are part of its program.\n"
             "Their sources are those of the Debian source packages named here.\n"]
    for package, (source, version) in sources().items():
        text = Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8")
        parts.append("%s\n%s %s\n%s\n\n%s" % ("=" * 78, source, version, "=" * 78, text))
    return "\n".join(parts)
