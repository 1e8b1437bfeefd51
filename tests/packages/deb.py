#!/usr/bin/python3
"""`make deb`: the package on a fresh Debian."""
import gzip

from rig import check, command, debian_root, equal, links_hold, made, need, scratch
from suite import Suite

suite = Suite()
PLAIN_USER = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups",
              "env", "HOME=/tmp"]


@suite.test(900)
def test_lintian_has_nothing_to_say():
    need("dpkg-deb", "lintian")
    package, = made("deb")
    equal(command("lintian", "--allow-root", "--fail-on", "error,warning", package), "", "lintian")


@suite.test(900)
def test_links_between_pages_hold():
    need("dpkg-deb")
    package, = made("deb")
    with scratch() as folder:
        command("dpkg-deb", "-x", package, folder)
        links_hold(folder)


@suite.test(900)
def test_it_installs_works_and_goes_away():
    need("dpkg-deb")
    package, = made("deb")
    with debian_root() as root:
        (root.path / "package.deb").write_bytes(package.read_bytes())
        before = files(root)
        # The base leaves out man pages and other documents of packages.
        root.inside("dpkg", "--path-include=/usr/share/*", "-i", "/package.deb")
        equal(root.inside("dpkg", "--verify", "procpen"), "", "dpkg --verify")
        root.procpen_works("procpen")
        for folder in ("project", "state"):
            (root.path / folder).chmod(0o777)
        equal(root.inside(*PLAIN_USER, "procpen", "run", "--workspace", "/project", "--state-dir",
                          "/tmp/state", "echo", "plain"), "plain\n", "run as an ordinary user")
        completion = "/usr/share/bash-completion/completions/procpen"
        equal(root.inside("bash", "-c", "source %s && complete -p procpen" % completion).split()[-1],
              "procpen", "completion of bash")
        page = gzip.decompress((root.path / "usr/share/man/man1/procpen-run.1.gz").read_bytes())
        check(page.startswith(b".\\\" Generated") and b".TH PROCPEN\\-RUN 1" in page, str(page[:99]))
        root.inside("dpkg", "--purge", "procpen")
        equal(files(root) - before, set(), "files that stay")


def files(root):
    """What a package could have put there."""
    return {str(path.relative_to(root.path)) for path in (root.path / "usr").rglob("*")}


if __name__ == "__main__":
    suite.main()
