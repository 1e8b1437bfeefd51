"""An MCP bundle, which desktop hosts install by a click: a zip with the program and manifest.json, see
https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md"""
import io
import time
import zipfile

import common
import libraries

FIRST_TIME = 315532800  # a zip cannot tell an earlier time: 1980


def manifest():
    return {
        "manifest_version": "0.3",
        "name": "procpen",
        "display_name": "procpen",
        "version": common.version(),
        "description": common.SUMMARY,
        "author": {"name": common.IDENTITY["authors"], "url": common.IDENTITY["homepage"]},
        "repository": {"type": "git", "url": common.IDENTITY["repository"]},
        "homepage": common.IDENTITY["homepage"],
        "license": "MIT",
        "keywords": ["shell", "sandbox", "processes"],
        "server": {
            "type": "binary",
            "entry_point": "server/procpen",
            "mcp_config": {
                "command": "${__dirname}/server/procpen",
                "args": ["serve", "--workspace", "${user_config.workspace}"],
                "env": {},
            },
        },
        "tools_generated": True,  # tools/list of the running program names them
        "compatibility": {"platforms": ["linux"]},
        "user_config": {
            "workspace": {
                "type": "directory",
                "title": "Workspace",
                "description": "The directory that commands may work in and write to.",
                "required": True,
            },
        },
    }


def file_name():
    return "procpen-%s-linux-%s.mcpb" % (common.version(), common.machine()[0])


def bundle():
    members = [("manifest.json", 0o644, common.as_json(manifest()).encode()),
               ("server/procpen", 0o755, common.PROGRAM.read_bytes()),
               ("LICENSE", 0o644, (common.ROOT / "LICENSE").read_bytes()),
               ("THIRD-PARTY.txt", 0o644, libraries.notices().encode())]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, mode, data in members:
            info = zipfile.ZipInfo(name, time.gmtime(max(common.epoch(), FIRST_TIME))[:6])
            info.create_system = 3  # Unix: the upper half of external_attr is the mode
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data, compresslevel=9)
    return out.getvalue()


def make():
    common.write(file_name(), bundle())
