"""The entry for the MCP registry: where a host gets which package, and how it starts it. See
https://github.com/modelcontextprotocol/registry, docs/reference/server-json"""
import common
import mcpb
import npm

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
WORKSPACE = {"description": "The directory that commands may work in and write to.",
             "format": "filepath", "isRequired": True}
STDIO = {"type": "stdio"}
SERVE = [{"type": "positional", "value": "serve"},
         {"type": "named", "name": "--workspace", **WORKSPACE}]


def packages():
    version = common.version()
    return [
        {"registryType": "npm", "identifier": npm.name(), "version": version,
         "runtimeHint": "npx", "transport": STDIO, "packageArguments": SERVE},
        {"registryType": "mcpb", "identifier": "%s/%s/%s" % (
            common.IDENTITY["downloads"], version, mcpb.file_name()), "version": version,
         "fileSha256": common.sha256(mcpb.bundle()), "transport": STDIO},
        {"registryType": "oci", "identifier": "%s:%s" % (common.IDENTITY["oci_name"], version),
         "runtimeHint": "docker", "transport": STDIO, "runtimeArguments": [
             {"type": "named", "name": "--mount", "value": "type=bind,src={workspace},dst=/workspace",
              "variables": {"workspace": WORKSPACE}}]},
    ]


def make():
    common.write("server.json", common.as_json({
        "$schema": SCHEMA,
        "name": common.IDENTITY["mcp_name"],
        "title": "procpen",
        "description": common.SUMMARY,
        "version": common.version(),
        "websiteUrl": common.IDENTITY["homepage"],
        "repository": {"url": common.IDENTITY["repository"],
                       "source": common.IDENTITY["repository_host"]},
        "packages": packages(),
    }))
