#!/usr/bin/python3
"""`make mcpb`: the bundle, judged by the format's own tool and started as a host starts it."""
import functools
import json
import os
import zipfile

from rig import Missing, Packages, Skip, check, command, equal, made, scratch
from suite import Suite

suite = Suite()

@functools.lru_cache
def validator():
    """The format's own tool and the node that runs it."""
    try:
        found = Packages("mcpb")
    except Missing as why:
        raise Skip(str(why)) from None
    return [found.node, found.path("@anthropic-ai", "mcpb", "dist", "cli", "cli.js")]


def unpacked(folder):
    """As hosts do: the files with their modes."""
    bundle, = made("mcpb")
    with zipfile.ZipFile(bundle) as archive:
        for info in archive.infolist():
            os.chmod(archive.extract(info, folder), info.external_attr >> 16 & 0o777)
    return folder


def fill_in(text, folder, workspace):
    return text.replace("${__dirname}", str(folder)).replace("${user_config.workspace}",
                                                             str(workspace))


@suite.test()
def test_its_own_tool_takes_it():
    with scratch() as folder:
        told = command(*validator(), "validate", unpacked(folder) / "manifest.json")
        check("passes" in told, told)
        equal(command(*validator(), "info", made("mcpb")[0]).count("Not signed"), 1, "info")


@suite.test()
def test_it_starts_as_its_manifest_says():
    with scratch() as folder:
        (folder / "work").mkdir()
        manifest = json.loads((unpacked(folder / "bundle") / "manifest.json").read_text())
        equal(manifest["user_config"]["workspace"]["type"], "directory", "workspace")
        how = manifest["server"]["mcp_config"]
        argv = [fill_in(word, folder / "bundle", folder / "work")
                for word in [how["command"], *how["args"]]]
        # The small environment that desktop hosts give, and not the project as working directory.
        answers = [json.loads(line) for line in command(
            *argv, cwd="/", env={"HOME": str(folder), "PATH": "/usr/bin:/bin"}, input="\n".join(
                json.dumps(dict(request, jsonrpc="2.0")) for request in SESSION) + "\n").splitlines()]
        initialized, run = (next(a for a in answers if a.get("id") == i) for i in (1, 2))
        equal(initialized["result"]["serverInfo"]["version"], manifest["version"], "version")
        check(str(folder / "work") in json.dumps(run["result"]["content"]), str(run))


SESSION = [
    {"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {
        "name": "process_run", "arguments": {"command": "pwd"}}},
]


if __name__ == "__main__":
    suite.main()
