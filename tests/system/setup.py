#!/usr/bin/env python3
"""`procpen setup`: what it prints, what it writes, and what it leaves alone."""
import json
import os
import re
import stat
import subprocess
import tomllib

from client import ROOT, WAIT, Server, check, equal, server_path
from suite import Suite

suite = Suite()
PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
JSON_HOSTS = {"claude-desktop": ".config/Claude/claude_desktop_config.json mcpServers",
              "claude-code": ".claude.json mcpServers",
              "vscode": ".config/Code/User/mcp.json servers",
              "cursor": ".cursor/mcp.json mcpServers",
              "zed": ".config/zed/settings.json context_servers",
              "gemini-cli": ".gemini/settings.json mcpServers",
              "opencode": ".config/opencode/opencode.json mcp",
              "jetbrains": ".junie/mcp/mcp.json mcpServers",
              "neovim": ".config/mcphub/servers.json mcpServers"}
OTHER_HOSTS = ("codex", "goose", "emacs")


class Home:
    """A scratch home and a workspace, and procpen run in them."""

    def __init__(self):
        self.server = Server(start=False)
        self.path, self.workspace = self.server.home, self.server.workspace
        self.env = {"HOME": self.path, "PATH": os.environ["PATH"]}

    def run(self, *args, **env):
        done = subprocess.run([server_path(), "setup", *args], cwd=self.workspace, timeout=WAIT,
                              env=dict(self.env, **env), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def ok(self, *args, **env):
        status, out, err = self.run(*args, **env)
        equal(status, 0, "status of %s: %s" % (args, err))
        return out, err

    def put(self, name, text):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as f:
            f.write(text)
        return path

    def files(self):
        """Every file below the home with its content."""
        found = {}
        for folder, _, names in os.walk(self.path):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8", newline="") as f:
                    found[os.path.relpath(path, self.path)] = f.read()
        return found

    def refused(self, before, *args):
        """The command fails with a reason and leaves the home as it was."""
        status, out, err = self.run(*args)
        equal((status, out), (1, ""), "%s: status, stdout (%s)" % (args, err))
        equal(self.files(), before, "files after " + " ".join(args))
        return err


def without_comments(text):
    text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or "", text,
                  flags=re.S)
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))


def command_of(entry):
    """The argument vector that a host makes of an entry."""
    if isinstance(entry["command"], list):
        return entry["command"]
    return [entry["command"]] + entry["args"]


@suite.test()
def test_prints_and_writes_nothing():
    home = Home()
    for name in [*JSON_HOSTS, *OTHER_HOSTS]:
        out, err = home.ok(name)
        check(os.path.realpath(server_path()) in out, "%s: no absolute path in %s" % (name, out))
        check("Note: " in err, "%s: no note in %s" % (name, err))
    equal(home.files(), {}, "files")


@suite.test()
def test_snippets_are_what_the_host_reads():
    home = Home()
    for name, place in JSON_HOSTS.items():
        file, parent = place.split()
        out, err = home.ok(name)
        entry = json.loads(out)[parent]["procpen"]
        check(file in err, "%s: not the file %s: %s" % (name, file, err))
        equal(command_of(entry)[:2], [os.path.realpath(server_path()), "serve"], name)
        home.ok(name, "--write")
        equal(home.files()[file], out, "%s: the file" % name)
    entry = tomllib.loads(home.ok("codex")[0])["mcp_servers"]["procpen"]
    equal(entry["args"], ["serve"], "arguments for codex")


@suite.test()
def test_the_entry_starts_a_server():
    """With nothing but what hosts pass: the entry's words, HOME and PATH, and any directory."""
    home = Home()
    for name, place in JSON_HOSTS.items():
        out, _ = home.ok(name, "--workspace", home.workspace)
        command = command_of(json.loads(out)[place.split()[1]]["procpen"])
        done = subprocess.run(command, cwd="/", env=home.env, input=PING, timeout=WAIT, text=True,
                              capture_output=True)
        equal((done.returncode, json.loads(done.stdout)["result"]), (0, {}), name)


@suite.test()
def test_workspace():
    home = Home()
    args = json.loads(home.ok("zed")[0])["context_servers"]["procpen"]["args"]
    equal(args[-1], os.path.realpath(home.workspace), "the working directory")
    args = json.loads(home.ok("cursor")[0])["mcpServers"]["procpen"]["args"]
    equal(args[-1], "${workspaceFolder}", "the host's variable")
    odd = os.path.join(home.workspace, 'quo"te \\ é')
    os.mkdir(odd)
    for name in (*JSON_HOSTS, "codex"):
        out, _ = home.ok(name, "--workspace", odd)
        text = out if name == "codex" else json.dumps(json.loads(out), ensure_ascii=False)
        check('quo\\"te \\\\ é' in text, "%s: %s" % (name, text))
    equal(tomllib.loads(home.ok("codex", "--workspace=" + odd)[0])["mcp_servers"]["procpen"]
          ["args"][-1], os.path.realpath(odd), "workspace in TOML")
    for bad in ("new\nline", "${HOME}", b"not\xffutf8"):
        path = os.path.join(os.fsencode(home.workspace), os.fsencode(bad))
        os.mkdir(path)
        home.refused({}, "zed", "--workspace", os.fsdecode(path))
    for path in (home.workspace + "/none", server_path()):
        err = home.refused({}, "zed", "--workspace", path)
        check("cannot use the workspace %s: " % path in err and "Name a directory that exists" in err, err)
    for wide in ("/", home.path):
        done = subprocess.run([server_path(), "setup", "zed"], cwd=wide, env=home.env,
                              capture_output=True, text=True, timeout=WAIT)
        check(done.returncode == 1 and "--workspace" in done.stderr, "%s: %s" % (wide, done))


@suite.test()
def test_places_that_variables_name():
    home = Home()
    for name, variable, file in (("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
                                 ("codex", "CODEX_HOME", "config.toml"),
                                 ("zed", "XDG_CONFIG_HOME", "zed/settings.json")):
        home.ok(name, "--write", **{variable: os.path.join(home.path, "else", name)})
        check("else/%s/%s" % (name, file) in home.files(), "%s: %s" % (name, list(home.files())))
    status, _, err = home.run("zed", "--write", HOME="")
    check(status == 1 and "--file" in err, "without HOME: %s" % err)
    status, _, err = home.run("codex", "--write", CODEX_HOME="relative")
    check(status == 1 and "CODEX_HOME" in err, "a relative folder: %s" % err)
    home.ok("vscode", "--write", "--file", ".vscode/mcp.json")
    with open(os.path.join(home.workspace, ".vscode/mcp.json"), encoding="utf-8") as f:
        check("procpen" in json.load(f)["servers"], "the project's file")


JSON_FILES = {
    "empty": "",
    "blank": " \n\t\n",
    "object": "{}",
    "spaced": "{\n}\n",
    "others": '{\n\t"a": [1, {"mcpServers": {}}],\n\t"mcpServers": {\n\t\t"x": {"command": "y"}\n'
              '\t}\n}\n',
    "no members": '{"mcpServers": {}}',
    "one line": '{"mcpServers":{"x":{"command":"{\\"mcpServers\\":{"}},"z":null}',
    "crlf": '{\r\n  "mcpServers": {\r\n    "x": {}\r\n  }\r\n}\r\n',
    "four spaces": '{\n    "mcpServers": {\n        "x": {}\n    }\n}\n',
    "escaped name": '{"\\u006dcpServers": {"x": 1e3}}',
    "mark": '\ufeff{"mcpServers": {"x": {}}}',
    "strings": '{"a": "// no comment", "b": "/* nor this */", "c": ",}", "mcpServers": {}}',
}
JSONC_FILES = {
    "comments": '// first\n{\n  // "mcpServers": {}\n  "mcpServers": { /* in } */\n    "x": {}, // "\n'
                '  },\n}\n// last',
    "only comments": '{ // nothing\n}',
    "commas": '{"mcpServers": {"x": [1, 2, ], }, }',
    "comment before the end": '{"a": 1 /* , */ }',
    "beside both braces": '{ // root\n  "mcpServers": { // all\n    "x": {}\n  }\n}\n',
}


@suite.test()
def test_json_is_merged():
    for name, text in {**JSON_FILES, **JSONC_FILES}.items():
        home = Home()
        host = "neovim" if name in JSONC_FILES else "cursor"
        file = JSON_HOSTS[host].split()[0]
        home.put(file, text)
        before = without_comments(text.lstrip("\ufeff")) if text.strip() else {}
        _, err = home.ok(host, "--write", "--workspace", home.workspace)
        files = home.files()
        after = without_comments(files[file].lstrip("\ufeff"))
        entry = after["mcpServers"].pop("procpen")
        equal(command_of(entry)[-1], os.path.realpath(home.workspace), name)
        equal(after, {**before, "mcpServers": before.get("mcpServers", {})}, name)
        equal(files.get(file + ".before-procpen"), text, "%s: the copy" % name)
        check(file + ".before-procpen" in err, "%s: %s" % (name, err))
        kept = len(os.path.commonprefix([text, files[file]]))
        check(not text.strip() or files[file].endswith(text[kept:]),
              "%s: more than one insertion: %r" % (name, files[file]))
        _, err = home.ok(host, "--write", "--workspace", home.workspace)
        check("already" in err, "%s, again: %s" % (name, err))
        equal(home.files(), files, "%s: files after the second time" % name)


@suite.test()
def test_comments_stay_beside_their_braces():
    for text, kept in (('{ // root\n  "a": 1\n}\n', '{ // root\n'),
                       ('{ /* a */ /* b */\r\n  "a": 1\r\n}\r\n', '{ /* a */ /* b */\n'),
                       ('{\n  "mcpServers": { // all\n    "x": {}\n  }\n}\n', '"mcpServers": { // all\n'),
                       ('{ /* two\n lines */\n  "a": 1\n}\n', '{ /* two\n lines */\n'),
                       ('{ // only\n}', '{ // only\n'), ('{ /* of a */ "a": 1}', '/* of a */ "a": 1}')):
        home = Home()
        home.put(JSON_HOSTS["gemini-cli"].split()[0], text)
        home.ok("gemini-cli", "--write")
        after = home.files()[JSON_HOSTS["gemini-cli"].split()[0]]
        check(kept in after, "%r: %r" % (text, after))


@suite.test()
def test_json_that_is_refused():
    cases = ('{"mcpServers": []}', '{"mcpServers": null}', "[]", '{"mcpServers": {}', "{} {}",
             '{"mcpServers": {"procpen": {"command": "x", "args": []}}}', '{"a": 1, "a": 2}',
             '{"mcpServers": {}, "mcpServers": {}}', "nonsense", '{"a": "\\u12"}', '{"a": \x00}',
             '/* {"mcpServers": {}}', '{"mcpServers": {"x": {}} ,, }')
    for host in ("cursor", "gemini-cli"):
        for text in cases:
            home = Home()
            home.put(JSON_HOSTS[host].split()[0], text)
            err = home.refused(home.files(), host, "--write")
            check("Nothing was changed" in err or "not an object" in err, "%r: %s" % (text, err))
    home = Home()  # comments in a file whose host knows none
    home.put(".cursor/mcp.json", JSONC_FILES["comments"])
    home.refused(home.files(), "cursor", "--write")
    for text in ('{"a": 1,}', '{"a": [1, 2, ]}', JSONC_FILES["comments"]):  # commas that its host cannot read
        home = Home()
        home.put(JSON_HOSTS["gemini-cli"].split()[0], text)
        err = home.refused(home.files(), "gemini-cli", "--write")
        check("no comma after the last member" in err, err)


@suite.test()
def test_another_entry():
    """What it starts and what setup would write are shown, but no variables, which may be keys."""
    home = Home()
    ours = os.path.realpath(server_path())
    for host, file, text, starts in (
            ("claude-code", ".claude.json", {"command": "npx", "args": ["-y", "procpen"], "env": {"KEY": "secret"}},
             ", which starts `npx -y procpen`"),
            ("claude-code", ".claude.json", {"url": "http://x"}, ""),
            ("codex", ".codex/config.toml", '[mcp_servers.procpen]\ncommand = "npx"\n', "")):
        home.put(file, text if isinstance(text, str) else json.dumps({"mcpServers": {"procpen": text}}))
        err = home.refused(home.files(), host, "--write")
        equal(err, "procpen setup: %s: the file has another entry named procpen%s. Nothing was changed. Edit or "
                   "remove that entry first: setup writes one that starts `%s serve`.\n" % (
                       os.path.join(home.path, file), starts, ours), host)


TOML_FILES = {
    "empty": "",
    "plain": 'model = "x"\n',
    "no newline at the end": 'a = 1',
    "tables": '# comment [mcp_servers.procpen]\n[mcp_servers.other]\ncommand = "x" # "\n'
              'args = ["a", # ]\n "b",\n]\n[mcp_servers.other.env]\nprocpen = "1"\n[tail]\nx = 1\n',
    "strings": 'a = """\n[mcp_servers.procpen]\n""quoted"""\nb = \'\'\'\n[mcp_servers.procpen]\n'
               '\'\'\'\nc = \'\\\'\nd = "\\"["\n',
    "values": 't = 1979-05-27 07:32:00Z\nf = [ [1, 2], {x = "]"}, ]\n"quoted key".x = true\n'
              'dotted . key = {a = {b = 1}}\n[[list]]\nprocpen = 1\n[[list]]\n[ spaced . name ]\n',
    "crlf": '[mcp_servers]\r\n[mcp_servers.other]\r\ncommand = "x"\r\n',
    "members of the parent": '[mcp_servers]\nother = {command = "x"}\n',
    "mark": '\ufeffa = 1\n',
    "long": "k" * 300 + ' = "' + "v" * 70000 + '"\n',
}


@suite.test()
def test_toml_is_merged():
    for name, text in TOML_FILES.items():
        home = Home()
        home.put(".codex/config.toml", text)
        before = tomllib.loads(text.lstrip("\ufeff"))
        home.ok("codex", "--write")
        files = home.files()
        new = files[".codex/config.toml"]
        check(new.startswith(text), "%s: the old text is not kept" % name)
        after = tomllib.loads(new.lstrip("\ufeff"))
        equal(after["mcp_servers"].pop("procpen"),
              {"command": os.path.realpath(server_path()), "args": ["serve"]}, name)
        if "mcp_servers" not in before:
            equal(after.pop("mcp_servers"), {}, name)
        equal(after, before, name)
        _, err = home.ok("codex", "--write")
        check("already" in err, "%s, again: %s" % (name, err))
        equal(home.files(), files, "%s: files after the second time" % name)


@suite.test()
def test_toml_table_of_an_earlier_setup_is_replaced():
    home = Home()
    old = '# mine\n[tail]\nx = 1\n'
    home.put(".codex/config.toml", old)
    home.ok("codex", "--write")
    first = home.files()[".codex/config.toml"]
    home.ok("codex", "--write", "--workspace", home.workspace)
    files = home.files()
    equal(files[".codex/config.toml.before-procpen"], old, "the first copy")
    equal(files[".codex/config.toml.before-procpen.1"], first, "the second copy")
    equal(tomllib.loads(files[".codex/config.toml"]),
          {"tail": {"x": 1}, "mcp_servers": {"procpen": {
              "command": os.path.realpath(server_path()),
              "args": ["serve", "--workspace", os.path.realpath(home.workspace)]}}}, "the entry")
    check(files[".codex/config.toml"].startswith(old), "the rest is not kept")


@suite.test()
def test_toml_that_is_refused():
    cases = ('[mcp_servers.procpen]\ncommand = "x"\n', '[mcp_servers."procpen"]\n',
             "[ mcp_servers . 'procpen' . env ]\nx = \"1\"\n", 'mcp_servers = {}\n',
             'mcp_servers.other.command = "x"\n', '[mcp_servers]\nprocpen = {}\n',
             '[mcp_servers]\nprocpen.command = "x"\n', '[[mcp_servers]]\n', 'a = "x\n',
             'a = """x\n', 'a = [1\n', 'a = 1 ]\n', 'a\n', 'a =\n', '[x\n', '= 1\n', '{"a": 1}\n',
             '["mcp\\u005fservers".procpen]\n', 'a = 1\x00\n')
    for text in cases:
        home = Home()
        home.put(".codex/config.toml", text)
        err = home.refused(home.files(), "codex", "--write")
        check("Nothing was changed" in err, "%r: %s" % (text, err))


PASTE = "yourself: `procpen setup %s` prints it."


@suite.test()
def test_formats_that_are_not_edited():
    home = Home()
    home.put(".config/goose/config.yaml", "GOOSE_MODEL: x\nextensions:\n  a: {}\n")
    check(PASTE % "goose" in home.refused(home.files(), "goose", "--write"), "no advice for YAML")
    err = home.refused(home.files(), "emacs", "--write")
    check("your init file" in err and PASTE % "emacs" in err, err)
    home = Home()
    home.ok("goose", "--write")
    written = home.files()[".config/goose/config.yaml"]
    check("cmd: " in written, "a new YAML file")
    home.ok("goose", "--write")
    other = os.path.join(home.workspace, "other")
    os.mkdir(other)
    check(PASTE % "goose" in home.refused(home.files(), "goose", "--write", "--workspace", other),
          "another entry in YAML")
    home.put(".config/goose/config.yaml", written.rstrip())
    home.ok("goose", "--write")
    for more in ("0", "\n    available_tools: []\n"):
        home.put(".config/goose/config.yaml", written.rstrip() + more)
        check(PASTE % "goose" in home.refused(home.files(), "goose", "--write"), "a longer YAML entry")
    home.put(".config/goose/config.yaml", "# " + written)
    check(PASTE % "goose" in home.refused(home.files(), "goose", "--write"), "a YAML entry in a comment")


@suite.test()
def test_the_file_stays_what_it_was():
    """Mode, symbolic link and earlier copies survive; nothing else appears."""
    home = Home()
    real = home.put("dotfiles/mcp.json", '{"a": 1}\n')
    os.chmod(real, 0o640)
    os.makedirs(os.path.join(home.path, ".cursor"))
    link = os.path.join(home.path, ".cursor/mcp.json")
    os.symlink("../dotfiles/mcp.json", link)
    home.ok("cursor", "--write")
    check(os.path.islink(link), "the link was replaced")
    equal(stat.S_IMODE(os.stat(real).st_mode), 0o640, "mode of the file")
    equal(stat.S_IMODE(os.stat(real + ".before-procpen").st_mode), 0o640, "mode of the copy")
    with open(real, "w", encoding="utf-8") as f:
        f.write('{"b": 2}\n')
    home.ok("cursor", "--write")
    files = home.files()
    equal(files["dotfiles/mcp.json.before-procpen"], '{"a": 1}\n', "the first copy")
    equal(files["dotfiles/mcp.json.before-procpen.1"], '{"b": 2}\n', "the second copy")
    equal(sorted(os.listdir(os.path.dirname(real))),
          ["mcp.json", "mcp.json.before-procpen", "mcp.json.before-procpen.1"], "the folder")
    home = Home()
    home.ok("cursor", "--write")
    path = os.path.join(home.path, ".cursor/mcp.json")
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode of a new file")


@suite.test()
def test_a_signal_leaves_no_half():
    """Sent while the copy is written: the file and its copy are whole, and nothing else is there."""
    home = Home()
    text = '{"a": "%s"}\n' % ("a" * (1 << 20))
    path = home.put("mcp.json", text)
    folder = os.path.dirname(path)
    with subprocess.Popen([server_path(), "setup", "cursor", "--write", "--file", path],
                          cwd=home.workspace, env=home.env, stderr=subprocess.DEVNULL) as setup:
        while setup.poll() is None and len(os.listdir(folder)) == 1:
            pass
        setup.terminate()
    files = {n: t for n, t in home.files().items() if n.startswith("mcp.json")}
    equal(sorted(files), ["mcp.json", "mcp.json.before-procpen"], "files")
    equal(files["mcp.json.before-procpen"] == text, True, "the copy is what was there")
    check("mcpServers" in json.loads(files["mcp.json"]), "the file is as it was")


@suite.test()
def test_files_that_are_none():
    home = Home()
    os.makedirs(os.path.join(home.path, ".cursor/mcp.json"))
    home.refused({}, "cursor", "--write")
    home = Home()
    os.makedirs(os.path.join(home.path, ".cursor"))
    os.symlink("nowhere", os.path.join(home.path, ".cursor/mcp.json"))
    status, _, err = home.run("cursor", "--write")
    check(status == 1 and "dangling symbolic link" in err, err)
    check(not os.path.exists(os.path.join(home.path, ".cursor/nowhere")), "the link was followed")
    home = Home()
    first = home.put("first.toml", "a = 1\n")
    os.link(first, first + ".second")
    status, _, err = home.run("codex", "--write", "--file", first)
    check(status == 1 and "hard links" in err, err)
    home = Home()
    status, _, err = home.run("codex", "--write", "--file", os.path.join(home.path, "none") + "/")
    check(status == 1 and "directory" in err and not home.files(), err)
    check(not os.path.exists(os.path.join(home.path, "none")), "a folder was made")
    home = Home()
    os.mkfifo(home.put("x", "")[:-1] + "pipe")
    status, _, err = home.run("cursor", "--write", "--file", os.path.join(home.path, "pipe"))
    check(status == 1 and "regular" in err, err)


@suite.test()
def test_no_home():
    home = Home()
    for value, said in (("", "HOME is not set"), ("me", "HOME is not an absolute path"),
                        (home.path + "/none", "HOME does not exist")):
        status, out, err = home.run("codex", "--write", HOME=value)
        check((status, out) == (1, "") and said in err and "--file FILE" in err, err)
    equal(os.listdir(home.workspace), [], "files in the working directory")


@suite.test()
def test_words():
    home = Home()
    status, out, _ = home.run("--help")
    check(status == 0 and all(h in out for h in (*JSON_HOSTS, *OTHER_HOSTS)), out)
    equal(home.run()[0], 0, "status without a host")
    check(all(h in home.run()[1] for h in (*JSON_HOSTS, *OTHER_HOSTS)), "without a host")
    for args, wanted in ((["claude"], "claude-desktop or claude-code"), (["cursr"], "cursor"), (["cursor", "zed"], "one host"),
                         (["cursor", "--wirte"], "--write"), (["cursor", "--file"], "value"),
                         (["cursor", "--workspace="], "value"), (["--write"], "no host"),
                         (["--file", "x.json"], "no host"), (["--json", "--write"], "no host"),
                         (["--over", "ssh:build1"], "no host"), (["", "--write"], "unknown host")):
        status, out, err = home.run(*args)
        equal((status, out), (2, ""), "%s: status, stdout" % args)
        check(wanted in err, "%s: no %r in %r" % (args, wanted, err))


@suite.test()
def test_documents():
    """With --json all that is said on stdout is one document."""
    home = Home()
    found = json.loads(home.ok("--json")[0])["hosts"]
    equal(sorted(row["host"] for row in found), sorted([*JSON_HOSTS, *OTHER_HOSTS]), "hosts")
    plain = home.ok("codex")[0]
    found = json.loads(home.ok("codex", "--json")[0])
    equal((found["host"], found["text"], found["changed"]), ("codex", plain, False), "printed")
    check(found["file"].startswith(home.path), found["file"])
    check(not home.files(), "a file was written")
    named = "It names the project by CLAUDE_PROJECT_DIR."
    for more, there in (([], True), (["--workspace", home.workspace], False),
                        (["--over", "ssh:build1", "--workspace", "/w"], False)):
        found = json.loads(home.ok("claude-code", "--json", *more)[0])
        equal((named in found["note"], "It rewrites this file" in found["note"]), (there, True), more)
        equal(named in home.ok("claude-code", *more)[1], there, more)
    for changed in (True, False):
        found = json.loads(home.ok("codex", "--write", "--json")[0])
        equal(found["changed"], changed, "changed")
    odd = os.fsdecode(os.fsencode(os.path.join(home.path, "odd")) + b"\xff.toml")
    status, out, _ = home.run("codex", "--json", "--write", "--file", "/proc/none/x")
    equal((status, json.loads(out)["error"]["data"]["type"]), (1, "PermissionDenied"), "what cannot be written")
    found = json.loads(home.ok("codex", "--json", "--file", odd)[0])
    equal((found["file"], found["text"]), (os.path.join(home.path, "odd\ufffd.toml"), plain),
          "a file whose name is no UTF-8")


@suite.test()
def test_docs_know_every_host():
    page = (ROOT / "docs" / "hosts.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", page, re.M)
    listed = re.findall(r"^  ([a-z-]+) +(\S.*)$", Home().ok("--help")[0].split("Hosts:")[1], re.M)
    equal(sorted(name for name, _ in listed), sorted([*JSON_HOSTS, *OTHER_HOSTS]), "hosts")
    for name, title in listed:
        section = title.split(" (")[0]
        check(section in headings, "docs/hosts.md has no section %s" % section)
        text = page.split("## %s\n" % section)[1].split("\n## ")[0]
        check("**Trap:**" in text, "no trap for " + name)
        if name in JSON_HOSTS:
            file, parent = JSON_HOSTS[name].split()
            check(file in text and parent in text, "%s: docs lack %s or %s" % (name, file, parent))


if __name__ == "__main__":
    suite.main()
