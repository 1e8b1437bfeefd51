"""The image to run: a small Debian, the program, and an ordinary user."""
import io
import tarfile

import common
import debian_base
import oci


def base_layer(archive):
    """The base without devices, which engines make themselves."""
    out = io.BytesIO()
    with tarfile.open(archive) as old, \
            tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as new:
        for info in old:
            info.name = info.name.removeprefix("./")
            if info.name not in ("", ".") and not info.isdev():
                new.addfile(info, old.extractfile(info) if info.isreg() else None)
    return out.getvalue()


def accounts(archive):
    """The base's own, and ours."""
    with tarfile.open(archive) as old:
        for name, ours in (("etc/passwd", oci.PASSWD), ("etc/group", oci.GROUP)):
            theirs = old.extractfile("./" + name).read()
            yield name, 0o644, theirs + ours.splitlines()[1].encode() + b"\n"


def make():
    archive = debian_base.path()
    oci.image(common.version(), [base_layer(archive), oci.program_layer(accounts(archive))])
