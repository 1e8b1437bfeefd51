"""The sources of the last commit, as one archive that builds without git and network."""
import subprocess

import common


def check():
    """The last commit is what is built here."""
    if common.git("status", "--porcelain", "--untracked-files=no"):
        raise common.Failed("there are changes that are not committed, which the archive of the last "
                            "commit would not have")
    if common.git("rev-parse", "HEAD") is None:
        raise common.Failed("the sources are not in git, so nothing says which files belong to them")


def make():
    check()
    name = "procpen-" + common.version()
    archive = subprocess.run(["git", "archive", "--format=tar", "--prefix=%s/" % name, "HEAD"],
                             cwd=common.ROOT, stdout=subprocess.PIPE, check=True).stdout
    common.write(name + ".tar.gz", common.compress(archive))
