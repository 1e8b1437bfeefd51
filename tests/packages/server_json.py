#!/usr/bin/python3
"""`make server-json`: the entry for the MCP registry says what the packages are."""
import functools
import hashlib
import json
import os
import re
import tarfile
from pathlib import Path

import jsonschema

from rig import REQUEST, ROOT, Skip, check, command, equal, made, scratch
from suite import Suite

suite = Suite()
SCHEMAS = Path(os.environ.get("MCP_SCHEMAS") or ROOT.parent / "shared" / "mcp-schemas")


@functools.lru_cache
def entry():
    return json.loads(made("server-json")[0].read_text())


def packages():
    return {package["registryType"]: package for package in entry()["packages"]}


@suite.test()
def test_the_schema_of_the_registry_takes_it():
    path = SCHEMAS / "server.schema.json"
    if not path.exists():
        raise Skip("%s is not there: put the schema there that the entry names, %s"
                   % (path, entry()["$schema"]))
    jsonschema.validate(entry(), json.loads(path.read_text()))


@suite.test()
def test_what_the_registry_demands_beyond():
    check(re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry()["name"]), entry()["name"])
    check(1 <= len(entry()["description"]) <= 100, "%d characters" % len(entry()["description"]))
    equal({package.get("version", entry()["version"]) for package in entry()["packages"]},
          {entry()["version"]}, "versions")
    check(packages()["oci"]["identifier"].endswith(":" + entry()["version"]), "tag of the image")


@suite.test()
def test_each_package_names_the_entry():
    with tarfile.open(made("npm")[0]) as archive:
        told = json.load(archive.extractfile("package/package.json"))
    equal((told["mcpName"], told["name"], told["version"]),
          (entry()["name"], packages()["npm"]["identifier"], entry()["version"]), "npm")
    bundle, = made("mcpb")
    equal(packages()["mcpb"]["fileSha256"], hashlib.sha256(bundle.read_bytes()).hexdigest(), "mcpb")
    equal(packages()["mcpb"]["identifier"].split("/")[-1], bundle.name, "name of the bundle")
    with tarfile.open(made("oci")[0]) as archive:
        told = [archive.extractfile(info).read() for info in archive if info.isreg()]
    label = '"io.modelcontextprotocol.server.name": "%s"' % entry()["name"]
    check(any(label.encode() in data for data in told), "no label in the image")


@suite.test()
def test_its_arguments_start_a_server():
    with scratch() as folder:
        (folder / "work").mkdir()
        words = []
        for argument in packages()["npm"]["packageArguments"]:
            words += ([argument["value"]] if argument["type"] == "positional" else
                      [argument["name"], str(folder / "work")])
        check("served" in command(ROOT / "build/procpen", *words, input=REQUEST, cwd="/",
                                  env={"HOME": str(folder), "PATH": "/usr/bin:/bin"}), str(words))


if __name__ == "__main__":
    suite.main()
