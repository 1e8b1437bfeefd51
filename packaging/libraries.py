"""The libraries that are part of the program, because it is linked statically: from which packages
of this Debian they came, and what their licences ask us to pass on."""
import shutil
import subprocess
from pathlib import Path

from common import Failed

# Debian's package of the library as it is linked, and its licence as an SPDX expression, for the
# parts that end up in the program.
LIBRARIES = {
    "libc6-dev": "LGPL-2.1-or-later",
    "libev-dev": "BSD-2-Clause OR GPL-2.0-or-later",
    "libjansson-dev": "MIT",
    "libmd-dev": "BSD-3-Clause AND BSD-2-Clause AND ISC AND LicenseRef-public-domain",
    "libpcre2-dev": "BSD-3-Clause",
    "libseccomp-dev": "LGPL-2.1-only",
}


def sources():
    """{package: (source package, its version)} of this machine."""
    if not shutil.which("dpkg-query"):
        raise Failed("which libraries are in the program is only known on Debian: dpkg-query is "
                     "not installed")
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${source:Package} ${source:Version}\\n", *LIBRARIES],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = dict((package, (source, version))
                for package, source, version in map(str.split, listed.splitlines()))
    return {package: rows[package] for package in LIBRARIES}


def notices():
    """The copyright notices and licences of all of them, as Debian has them."""
    parts = ["procpen is linked statically with these libraries, so they are part of its program.\n"
             "Their sources are those of the Debian source packages named here.\n"]
    for package, (source, version) in sources().items():
        text = Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8")
        parts.append("%s\n%s %s\n%s\n\n%s" % ("=" * 78, source, version, "=" * 78, text))
    return "\n".join(parts)
