#!/usr/bin/python3
"""`make npm`: the package as npm installs it, without a network and without scripts."""
import functools
import json
import os
import signal
import subprocess
from pathlib import Path

from rig import REQUEST, WAIT, check, command, equal, links_hold, made, need, scratch
from suite import Suite

suite = Suite()
OFFLINE = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]


def npm(folder, *arguments, **more):
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    return command(*arguments, cwd=folder, env=environment, **more)


@functools.lru_cache
def tarball():
    need("npm", "npx", "node")
    return made("npm")[0]


def installed(folder):
    """The package in a project; the program as npm links it."""
    (folder / "package.json").write_text('{"private": true}')
    npm(folder, "npm", "install", *OFFLINE, tarball())
    return folder / "node_modules" / ".bin" / "procpen"


def run(folder, program, *words, **more):
    return npm(folder, *program, "run", "--state-dir", folder / "state", "--workspace",
               workspace(folder), *words, **more)


def workspace(folder):
    (folder / "work").mkdir(exist_ok=True)
    return folder / "work"


@suite.test()
def test_npm_would_publish_just_these_files():
    with scratch() as folder:
        tarball()
        command("tar", "-xzf", tarball(), "-C", folder)
        told = json.loads(npm(folder / "package", "npm", "pack", "--json", "--dry-run",
                              *OFFLINE))[0]
        listed = command("tar", "-tzf", tarball()).split()
        equal(sorted("package/" + f["path"] for f in told["files"]), sorted(listed), "files")
        described = json.loads((folder / "package" / "package.json").read_text())
        check("scripts" not in described and "dependencies" not in described, str(described))


@suite.test()
def test_links_between_pages_hold():
    with scratch() as folder:
        command("tar", "-xzf", tarball(), "-C", folder)
        links_hold(folder)


@suite.test()
def test_the_command_is_the_program():
    with scratch() as folder:
        program = installed(folder)
        check(program.resolve().read_bytes()[:4] == b"\x7fELF", "%s is a script" % program)
        run(folder, [program], "sh", "-c", "exit 3", status=[3])
        equal(run(folder, [program], "cat", input="in\n"), "in\n", "stdin to stdout")
        lines = npm(folder, program, "serve", "--state-dir", folder / "state", "--workspace",
                    workspace(folder), input=REQUEST).splitlines()
        check(any('"stdout_summary":"served\\n"' in line for line in lines), str(lines))


@suite.test()
def test_it_takes_signals_itself():
    with scratch() as folder:
        program = installed(folder)
        with serving(folder, [program]) as server:
            equal(os.readlink("/proc/%d/exe" % server.pid), str(program.resolve()),
                  "what runs, without node")
            server.send_signal(signal.SIGTERM)
            equal(server.wait(WAIT), 0, "status after SIGTERM")


@suite.test()
def test_it_installs_for_all_users():
    with scratch() as folder:
        npm(folder, "npm", "install", *OFFLINE, "--global", "--prefix", folder / "all", tarball())
        check(npm(folder, folder / "all/bin/procpen", "--version").startswith("procpen "), "version")


@suite.test()
def test_npx_passes_stdio_and_status_on():
    with scratch() as folder:
        installed(folder)
        npx = ["npx", "--offline", "--no", "procpen"]
        run(folder, npx, "sh", "-c", "exit 3", status=[3])
        equal(run(folder, npx, "cat", input="in\n"), "in\n", "stdin to stdout")
        with serving(folder, npx) as launcher:
            server, = servers(folder)
            launcher.stdin.close()
            equal(launcher.wait(WAIT), 0, "status at the end of stdin")
            check(server not in servers(folder), "the server stays")


def serving(folder, program):
    argv = [*program, "serve", "--state-dir", folder / "state", "--workspace", workspace(folder)]
    server = subprocess.Popen([str(word) for word in argv], cwd=folder, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env={"PATH": os.environ["PATH"], "HOME": str(folder)})
    server.stdin.write('{"jsonrpc":"2.0","id":1,"method":"server.ping"}\n')
    server.stdin.flush()
    check(server.stdout.readline(), "no answer")
    return server


def servers(folder):
    """Pids of programs from the project."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/exe"):
        try:
            if os.readlink(path).startswith(str(folder)):
                found.add(int(path.parent.name))
        except OSError:
            pass  # it has ended, or is another user's
    return found


if __name__ == "__main__":
    suite.main()
