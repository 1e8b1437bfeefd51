"""All packages of one version, with their checksums."""
import importlib
import os
import re
import shutil

import common
import dist

KINDS = ["dist", "static", "deb", "npm", "mcpb", "oci", "oci-debian", "server-json", "sbom", "notices"]
# What is for one machine, and needs no system of that machine.
OTHERS = ["static", "deb", "npm", "mcpb", "oci", "sbom"]


def check():
    """All is committed, and the version is the one that was asked for, everywhere."""
    version = common.version()
    if os.environ.get("VERSION") != version:
        raise common.Failed("src/base/version.h says %s: run `make release VERSION=%s`, or set and "
                            "commit another version" % (version, version))
    header = (common.ROOT / "src" / "base" / "version.h").read_text()
    title = "## %s - %s" % (version, re.search(r'PROCPEN_DATE "(.+)"', header).group(1))
    if title not in (common.ROOT / "CHANGELOG.md").read_text().splitlines():
        raise common.Failed("CHANGELOG.md has no section '%s'" % title)
    dist.check()


def make():
    check()
    without = os.environ.get("WITHOUT", "").split()
    kinds = [kind for kind in KINDS if kind not in without]
    shutil.rmtree(common.PACKAGES, ignore_errors=True)
    for kind in kinds:
        importlib.import_module(kind.replace("-", "_")).make()
    for cross in os.environ.get("MACHINES", "").split():
        common.run("make", "--no-print-directory", "-j%d" % os.cpu_count(), "CROSS=" + cross,
                   "OUT=" + str(common.PACKAGES.relative_to(common.ROOT)),
                   *(kind for kind in OTHERS if kind not in without))
    names = sorted(path for path in common.PACKAGES.rglob("*") if path.is_file())
    common.write("SHA256SUMS", "".join(
        "%s  %s\n" % (common.sha256(path.read_bytes()), path.relative_to(common.PACKAGES))
        for path in names))
