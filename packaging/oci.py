"""Container images as OCI archives (https://github.com/opencontainers/image-spec), written without an
engine. This one has the program and nothing else: for `COPY --from` into an image of your own."""
import datetime

import common
import libraries

USER = 65532
HOME = "home/procpen"
# What commands and procpen write; the rest belongs to root. Open to every user, because engines often
# start a container as the owner of the directory that they mount. A new volume of docker takes its mode
# from the directory below it, here the state directory of `procpen setup --over docker:`.
OPEN = ["tmp", HOME, "workspace", "var/lib/procpen"]
PASSWD = "root:x:0:0:root:/root:/sbin/nologin\nprocpen:x:%d:%d:procpen:/%s:/bin/sh\n" % (
    USER, USER, HOME)
GROUP = "root:x:0:\nprocpen:x:%d:\n" % USER
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def program_layer(more=()):
    members = [(folder, 0o755, None) for folder in ("home", "usr", "usr/bin", "usr/libexec",
                                                    "usr/share", "usr/share/doc",
                                                    "usr/share/doc/procpen", "var", "var/lib")]
    members += [(folder, 0o1777, None, USER) for folder in OPEN]
    for name in ("usr/bin/procpen", "usr/libexec/procpen-shim"):
        members.append((name, 0o755, (common.STAGE / name).read_bytes()))
    for name, data in (("LICENSE", (common.ROOT / "LICENSE").read_text()),
                       ("THIRD-PARTY", libraries.notices())):
        members.append(("usr/share/doc/procpen/" + name, 0o644, data.encode()))
    return common.tar([*members, *more])


def config(layers):
    """See config.md of the specification."""
    created = datetime.datetime.fromtimestamp(common.epoch(), datetime.timezone.utc)
    return {
        "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "architecture": common.machine()[1],
        "os": "linux",
        "config": {
            "User": "%d:%d" % (USER, USER),
            "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/" + HOME,
                    "PROCPEN_WORKSPACE=/workspace"],
            "Entrypoint": ["/usr/bin/procpen"],
            "Cmd": ["serve"],
            "WorkingDir": "/workspace",
            "Labels": {
                "org.opencontainers.image.title": "procpen",
                "org.opencontainers.image.description": common.SUMMARY,
                "org.opencontainers.image.version": common.version(),
                "org.opencontainers.image.licenses": "MIT",
                "org.opencontainers.image.url": common.IDENTITY["homepage"],
                "org.opencontainers.image.source": common.IDENTITY["repository"],
                "io.modelcontextprotocol.server.name": common.IDENTITY["mcp_name"],
            },
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + common.sha256(layer)
                                                  for layer in layers]},
    }


def image(tag, layers):
    """An archive of an image layout with the one image @tag, of uncompressed @layers."""
    blobs = {}

    def blob(kind, data):
        digest = common.sha256(data)
        blobs["blobs/sha256/" + digest] = data
        return {"mediaType": "application/vnd.oci.image." + kind, "digest": "sha256:" + digest,
                "size": len(data)}

    manifest = blob("manifest.v1+json", common.as_json({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blob("config.v1+json", common.as_json(config(layers)).encode()),
        "layers": [blob("layer.v1.tar+gzip", common.compress(layer, 6)) for layer in layers],
    }).encode())
    manifest["platform"] = {"os": "linux", "architecture": common.machine()[1]}
    name = "%s:%s" % (common.IDENTITY["oci_name"], tag)
    manifest["annotations"] = {"org.opencontainers.image.ref.name": name,
                               "io.containerd.image.name": name}  # podman reads one, Docker the other
    blobs["index.json"] = common.as_json({"schemaVersion": 2, "manifests": [manifest]}).encode()
    blobs["oci-layout"] = common.as_json({"imageLayoutVersion": "1.0.0"}).encode()
    folders = [("blobs", 0o755, None), ("blobs/sha256", 0o755, None)]
    files = [(name, 0o644, data) for name, data in blobs.items()]
    common.write("procpen-%s-oci-%s.tar" % (tag, common.machine()[1]),
                 common.tar(folders + files))


def make():
    accounts = [("etc", 0o755, None), ("etc/passwd", 0o644, PASSWD.encode()),
                ("etc/group", 0o644, GROUP.encode())]
    image(common.version() + "-static", [program_layer(accounts)])
