"""A package for Debian and what is made from it. Its program needs no library of the system, so one
package serves every release."""
import email.utils
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import common
import libraries

DESCRIPTION = """\
 procpen is started by an agent host, an editor or a script. It speaks MCP and
 plain JSON-RPC on stdin and stdout, runs commands inside a workspace, stops
 them with everything they started, and keeps a record of every call.
"""
# Each with the reason why it is right here.
OVERRIDES = """\
# One package for every release: nothing that the programs need can be missing or too old.
procpen: shared-library-lacks-prerequisites [usr/bin/procpen]
procpen: statically-linked-binary [usr/libexec/procpen-shim]
# The rules of the blocklist name the directory; nothing reads it.
procpen: uses-dpkg-database-directly [usr/bin/procpen]
# procpen starts it; its users never do.
procpen: no-manual-page [usr/libexec/procpen-shim]
# It is not meant for Debian's own archive.
procpen: initial-upload-closes-no-bugs [usr/share/doc/procpen/changelog.Debian.gz:1]
"""
ZSH = "usr/share/zsh/"


def files():
    """{path in the package: contents}."""
    found = {}
    for path in sorted(p for p in common.STAGE.rglob("*") if p.is_file()):
        name, data = str(path.relative_to(common.STAGE)), path.read_bytes()
        if name.startswith("usr/share/man/"):
            name, data = name + ".gz", common.compress(data)
        found[name.replace(ZSH + "site-functions", ZSH + "vendor-completions")] = data
    doc = "usr/share/doc/procpen/"
    found[doc + "copyright"] = copyright_text(found.pop(doc + "LICENSE").decode())
    found[doc + "README.md"] = found[doc + "README.md"].replace(b"(LICENSE)", b"(copyright)")
    found[doc + "THIRD-PARTY"] = libraries.notices()
    found[doc + "changelog.gz"] = common.compress(found.pop(doc + "CHANGELOG.md"))
    found[doc + "changelog.Debian.gz"] = common.compress(changelog().encode())
    found["usr/share/lintian/overrides/procpen"] = OVERRIDES
    return {name: data if isinstance(data, bytes) else data.encode()
            for name, data in found.items()}


def copyright_text(licence):
    return ("procpen, from %s\n\n%s\nThe program contains libraries, under the licences in the file "
            "THIRD-PARTY\nbeside this one. The texts of the LGPL 2.1 and 3 are in\n"
            "/usr/share/common-licenses.\n" % (common.IDENTITY["homepage"], licence))


def changelog():
    return ("procpen (%s) unstable; urgency=medium\n\n  * Release %s, see changelog.gz.\n\n"
            " -- %s  %s\n" % (version(), common.version(), common.IDENTITY["maintainer"],
                              email.utils.formatdate(common.epoch())))


def version():
    return common.version() + "-1"


def control(contents):
    return "\n".join([
        "Package: procpen",
        "Version: " + version(),
        "Architecture: " + common.machine()[1],
        "Maintainer: " + common.IDENTITY["maintainer"],
        "Installed-Size: %d" % sum(-(-len(data) // 1024) for data in contents.values()),
        "Section: utils",
        "Priority: optional",
        "Homepage: " + common.IDENTITY["homepage"],
        "Description: " + common.SUMMARY[0].lower() + common.SUMMARY[1:],
    ]) + "\n" + DESCRIPTION


def put(path, data, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    path.chmod(mode)


def make():
    if not shutil.which("dpkg-deb"):
        raise common.Failed("dpkg-deb is not installed")
    os.umask(0o022)
    contents = files()
    with tempfile.TemporaryDirectory(prefix="procpen-deb-") as scratch:
        tree, package = Path(scratch, "tree"), Path(scratch, "package")
        for name, data in contents.items():
            program = name.startswith(("usr/bin/", "usr/libexec/"))
            put(tree / name, data, 0o755 if program else 0o644)
        put(tree / "DEBIAN/control", control(contents))
        put(tree / "DEBIAN/md5sums", "".join("%s  %s\n" % (hashlib.md5(data).hexdigest(), name)
                                             for name, data in sorted(contents.items())))
        for path in [tree, *tree.rglob("*")]:
            os.utime(path, (common.epoch(), common.epoch()))
        tree.chmod(0o755)
        common.run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, package,
                   stdout=subprocess.DEVNULL)
        common.write("procpen_%s_%s.deb" % (version(), common.machine()[1]), package.read_bytes())
