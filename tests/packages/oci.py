#!/usr/bin/python3
"""`make oci` and `make oci-debian`: the archives by the specification, a container by podman where it
can start one, and in any case the unpacked image as a root directory."""
import contextlib
import functools
import gzip
import hashlib
import json
import os
import shutil
import tarfile
import tempfile

from rig import REQUEST, Root, Skip, check, command, debian_base, equal, made, need, scratch
from suite import Suite

suite = Suite()
LIMIT = 900


@functools.lru_cache
def archives():
    """{kind: archive}"""
    debian_base()
    return {"static": made("oci")[0], "debian": made("oci-debian")[0]}


def read(archive):
    """Its blobs by digest, the manifest and the configuration of its one image."""
    with tarfile.open(archive) as f:
        files = {info.name: f.extractfile(info).read() for info in f if info.isreg()}
    blobs = {"sha256:" + name.removeprefix("blobs/sha256/"): data
             for name, data in files.items() if name.startswith("blobs/")}
    equal(json.loads(files["oci-layout"]), {"imageLayoutVersion": "1.0.0"}, "oci-layout")
    described, = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blobs[described["digest"]])
    for part in (described, manifest["config"], *manifest["layers"]):
        equal(len(blobs[part["digest"]]), part["size"], "size of a blob")
    return blobs, manifest, json.loads(blobs[manifest["config"]["digest"]])


@suite.test(LIMIT)
def test_every_digest_holds():
    for archive in archives().values():
        blobs, manifest, config = read(archive)
        for digest, data in blobs.items():
            equal("sha256:" + hashlib.sha256(data).hexdigest(), digest, "digest")
        layers = [gzip.decompress(blobs[layer["digest"]]) for layer in manifest["layers"]]
        equal(["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers],
              config["rootfs"]["diff_ids"], "digests of unpacked layers")
        equal(config["config"]["User"], "65532:65532", "user")


@contextlib.contextmanager
def root_of(archive):
    """The image unpacked, layer over layer."""
    blobs, manifest, _ = read(archive)
    with scratch() as folder:
        for number, layer in enumerate(manifest["layers"]):
            path = folder / ("layer-%d" % number)
            path.write_bytes(blobs[layer["digest"]])
            (folder / "root").mkdir(exist_ok=True)
            command("tar", "-xzpf", path, "-C", folder / "root")
        yield Root(folder / "root")


@suite.test(LIMIT)
def test_unpacked_without_an_engine():
    """Both images as a root directory; the static one gets busybox, since it has no other program."""
    for kind, archive in archives().items():
        with root_of(archive) as root:
            if kind == "static":
                need("busybox")
                (root.path / "usr/bin/busybox").write_bytes(open(shutil.which("busybox"), "rb").read())
                (root.path / "usr/bin/busybox").chmod(0o755)
                for name in ("sh", "echo", "env"):
                    (root.path / "usr/bin" / name).symlink_to("busybox")
                (root.path / "bin").symlink_to("usr/bin")
            root.procpen_works("/usr/bin/procpen", "/workspace")


@contextlib.contextmanager
def container():
    """A function that runs the image with more options, and words behind its name."""
    need("podman", "runc")
    if os.geteuid() != 0:
        raise Skip("podman is tried as root only")
    # Not below TMPDIR: podman takes no run root of more than 50 characters.
    with scratch() as folder, tempfile.TemporaryDirectory(prefix="procpen-", dir="/tmp") as run_root:
        podman = ["podman", "--root", folder / "root", "--runroot", run_root, "--runtime", "runc",
                  "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs"]
        try:
            loaded = {kind: command(*podman, "load", "--quiet", "--input", archive).split()[-1]
                      for kind, archive in archives().items()}

            def run(kind, *words, options=(), **more):
                # Its defaults raise limits, which the machine may not allow.
                return command(*podman, "run", "--rm", "--interactive", "--network", "none",
                               "--ulimit", "nofile=1024:4096", "--ulimit", "nproc=1000:1000", *options,
                               loaded[kind], *words, **more)

            try:
                run("static", "--version")
            except Exception as why:
                raise Skip("podman starts no container here: %.300s" % why) from None
            yield run
        finally:
            command(*podman, "rmi", "--all", "--force", status=range(256))


@suite.test(LIMIT)
def test_in_a_container():
    with container() as run, scratch() as folder:
        lines = run("debian", input=REQUEST).splitlines()
        check(any('"stdout_summary":"served\\n"' in line for line in lines), str(lines))
        equal(run("debian", "run", "id", "-un"), "procpen\n", "user")
        equal(run("debian", "run", "sh", "-c", "exit 3", status=[3]), "", "status")
        report = json.loads(run("debian", "doctor", "--json", status=[0, 1]))
        check(report["verdict"] != "broken", str(report))
        # A directory of the host, with its owner, who has no account in the image.
        (folder / "work").mkdir()
        os.chown(folder / "work", 1234, 1234)
        run("debian", "run", "--shell", "echo new > file",
            options=["--user", "1234:1234", "--volume", "%s:/workspace" % (folder / "work")])
        equal((folder / "work/file").read_text(), "new\n", "a file from inside")
        equal((folder / "work/file").stat().st_uid, 1234, "its owner")
        # The static image has one program to run: itself.
        check(run("static", "run", "/usr/bin/procpen", "--version").startswith("procpen "), "static")


if __name__ == "__main__":
    suite.main()
