"""A package for npm. Its `bin` is the program itself: npm links to it, so no node stays in memory, and
signals, exit status and stdio are the program's own. No script runs at its installation."""
import common
import libraries


def name():
    """One package for each machine: `bin` can name only one file."""
    machine = common.machine()[2]
    return common.IDENTITY["npm_name"] + ("" if machine == "x64" else "-" + machine)


def description():
    """package.json, see package-json(5) of npm."""
    return {
        "name": name(),
        "version": common.version(),
        "description": common.SUMMARY,
        "license": "MIT",
        "author": common.IDENTITY["authors"],
        "homepage": common.IDENTITY["homepage"],
        "repository": {"type": "git", "url": "git+" + common.IDENTITY["repository"]},
        "keywords": ["mcp", "mcp-server", "sandbox", "shell", "agent", "json-rpc"],
        "mcpName": common.IDENTITY["mcp_name"],
        "os": ["linux"],
        "cpu": [common.machine()[2]],
        "bin": {"procpen": "bin/procpen"},
        "files": ["bin", "docs", "CHANGELOG.md", "SECURITY.md", "THIRD-PARTY.txt"],
    }


def make():
    members = [("package/package.json", 0o644, common.as_json(description()).encode()),
               ("package/bin/procpen", 0o755, common.PROGRAM.read_bytes()),
               ("package/THIRD-PARTY.txt", 0o644, libraries.notices().encode())]
    members += [("package/%s" % page.relative_to(common.DOC), 0o644, page.read_bytes())
                for page in sorted(common.DOC.rglob("*")) if page.is_file()]
    common.write("%s-%s.tgz" % (name().lstrip("@").replace("/", "-"), common.version()),
                 common.compress(common.tar(members)))
