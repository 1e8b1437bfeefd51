#!/usr/bin/env python3
"""What sandbox.readonly keeps from commands that may write all around it: by default git's hooks, which
run on the user's side of the sandbox. Each attempt first succeeds without the option; and git's own
commands work with it."""
import json
import os
import shutil
import subprocess
import time

from client import WAIT, Failure, RpcError, Skip, check, equal, eventually
from demands import Place, has
from suite import Suite

suite = Suite()
ORDINARY = 65534
OFF = ["--set", "sandbox.readonly="]
GIT = ["git", "-c", "safe.directory=*", "-c", "init.defaultBranch=main"]

# One line each: an attempt to give the repository the hook "evil". $W is the workspace.
ATTACKS = """
echo evil >.git/hooks/post-checkout
echo evil >>.git/hooks/there
mv .git/hooks .git/away && mkdir .git/hooks && echo evil >.git/hooks/x
mv .git away && cp -r away .git && echo evil >.git/hooks/x
cp -r .git copy && echo evil >copy/hooks/x && rm -rf .git; mv copy .git
ln -s "$W/evil/x" .git/hooks/x
echo evil >bait; ln bait .git/hooks/x
ln .git/hooks/there alias && echo evil >alias
rm -rf .git/hooks; ln -s "$W/evil" .git/hooks
rmdir .git/hooks/empty && mkdir .git/hooks/empty && echo evil >.git/hooks/empty/x
chmod 700 .git/hooks && chmod 0 .git/hooks/there
python3 -c 'import os; os.symlink("evil", "new"); os.rename("new", ".git/hooks/x")'
cp -r .git /dev/shm/g; mv /dev/shm/g/hooks .git/hooks/h
cd .git && mv hooks h && mkdir hooks && echo evil >hooks/x
unshare -Urm sh -c 'umount .git/hooks; umount .git; echo evil >.git/hooks/x' || echo evil >.git/hooks/x
""".strip().splitlines()


class Repository(Place):
    """A workspace with a repository, in which a hook is there."""

    def __init__(self, user=0, name="workspace"):
        super().__init__(user)
        self.top = self.path(name)
        self.make()

    def make(self):
        shutil.rmtree(self.top, ignore_errors=True)
        os.makedirs(self.top + "/evil")
        subprocess.run([*GIT, "init", "-q", self.top], check=True, cwd=self.base)
        hooks = self.top + "/.git/hooks"
        shutil.rmtree(hooks)
        os.makedirs(hooks + "/empty")
        for at in (hooks + "/there", self.top + "/evil/x"):
            with open(at, "w", encoding="utf-8") as f:
                f.write("good\n" if at.endswith("there") else "evil\n")
        self.own()

    def hooks(self):
        """What a git of the user would find in .git/hooks: {name: (mode, text)}."""
        found = {}
        for folder, _, names in os.walk(self.top + "/.git/hooks"):
            found[folder] = os.stat(folder).st_mode
            for name in names:
                path = os.path.join(folder, name)
                shut = os.path.islink(path) or not os.access(path, os.R_OK)
                with open(os.devnull if shut else path, encoding="utf-8") as f:
                    found[path] = (os.lstat(path).st_mode, f.read())
        return found


def audit_lines(server):
    folder = server.state + "/audit"
    return [json.loads(line) for name in sorted(os.listdir(folder))
            for line in open(os.path.join(folder, name), encoding="utf-8")]


def forms(function):
    """As the user that runs the tests, and as an ordinary one."""
    for user in (0, ORDINARY):
        def test(user=user):
            if user and os.geteuid() != 0:
                raise Skip("only root can become another user")
            if not shutil.which("git"):
                raise Skip("git is not installed")
            with Repository(user) as place:
                if not has(place, "mount_namespace"):
                    raise Skip("this machine has no mount namespaces")
                function(place)
        test.__name__ = "%s_%s" % (function.__name__, "as_user" if user else "as_is")
        suite.test()(test)
    return function


@forms
def test_attacks(place):
    """One run each, in shims that are used again, with a network and without."""
    before = place.hooks()
    bare = place.server(*OFF)
    for attack in ATTACKS:
        bare.run(attack, environment={"W": place.top})
        check(place.hooks() != before, "it changes nothing without the option: " + attack)
        place.make()
    bare.stop()
    server = place.server()
    for number, attack in enumerate(ATTACKS):
        params = [{}, {"network": False}, {"profile": "strict"}, {"explain_denials": True}]
        server.run(attack, environment={"W": place.top}, **params[number % 4])
        equal(place.hooks(), before, attack)
        check(os.path.isdir(place.top + "/.git") and not os.path.islink(place.top + "/.git"), attack)
    warnings = server.run("echo evil >.git/hooks/x")["warnings"]
    check(any('".git/hooks/x", which sandbox.readonly keeps' in text for text in warnings), warnings)
    try:
        server.run("echo evil", log_file=".git/hooks/log")
        raise Failure("a log file was written there")
    except RpcError as e:
        check("Read-only file system" in str(e) or "EROFS" in str(e), str(e))
    equal(place.hooks(), before, "after a log file")
    server.stop()


@forms
def test_git_works(place):
    """With the default, git does what people do with it."""
    server = place.server()
    script = """
set -e
export GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=n GIT_CONFIG_KEY_1=user.email \\
    GIT_CONFIG_VALUE_1=e@example.org GIT_CONFIG_KEY_2=protocol.file.allow GIT_CONFIG_VALUE_2=always
git init -q --bare ../workspace/up.git
git add evil && git commit -qm one
git remote add origin "$PWD/up.git"
git push -qu origin HEAD
git checkout -qb side && git commit -qm two --allow-empty && git checkout -q -
git rebase -q side && git stash -q && git branch -d side
git worktree add -q tree && (cd tree && git commit -qm three --allow-empty) && git worktree remove tree
git submodule -q add "$PWD/up.git" sub && git commit -qm four
git clone -q . ../workspace/clone && (cd clone && git commit -qm five --allow-empty && git push -q origin HEAD:x)
git init -q && git gc -q --prune=now && git pull -q --rebase && git fsck && git init -q fresh
git config core.autocrlf false && git mv evil good && git reset -q --hard && git clean -qfd
"""
    result = server.run(script.replace("git stash -q", "{ echo x >>evil/x; git stash -q; }"))
    server.stop()
    equal(result["exit_code"], 0, "%s %s" % (result["stdout_summary"], result["stderr_summary"]))


@forms
def test_what_comes_later(place):
    """A path that is not there is a gap, and read-only from the first run that starts after it came."""
    shutil.rmtree(place.top + "/.git")
    server = place.server("--set", "sandbox.readonly=.git/hooks,keep/this")
    gaps = server.call("agent.session")["sandbox"]["gaps"]
    for name in (".git/hooks", "keep/this"):
        check(any(name + " does not exist yet" in gap for gap in gaps), "%s: %s" % (name, gaps))
        check("%s does not exist yet" % name in server.stderr_text(), server.stderr_text())
    for command, name in (("git init -q && mkdir -p .git/hooks", ".git/hooks"),
                          ("mkdir -p keep/this", "keep/this")):
        old = server.run("until test -e now; do sleep 0.01; done; rm now; echo old >%s/old" % name,
                         background=True)
        equal(server.run(command + " && echo first >%s/first" % name)["exit_code"], 0, command)
        equal(server.run("echo no >%s/second; mv %s x; mv %s x" % (
            name, name, name.split("/")[0]))["exit_code"], 1, name)
        equal(sorted(set(os.listdir(os.path.join(place.top, name))) & {"first", "second"}), ["first"], name)
        server.run("touch now")
        server.call("process.monitor", {"process_id": old["process_id"], "wait_ms": 20000})
        check(os.path.exists(os.path.join(place.top, name, "old")), "an older run lost it: " + name)
        check(server.run("echo no >%s/second" % name)["exit_code"], name)
    sandbox = server.call("agent.session")["sandbox"]
    check(not any("does not exist" in gap for gap in sandbox["gaps"]), sandbox)
    equal(sandbox["readonly"], [place.top + "/.git/hooks", place.top + "/keep/this"], "what is held")
    server.stop()


@forms
def test_worktree(place):
    """A linked worktree's .git is a file: no command can make it lead elsewhere. With git's common
    directory opened, its hooks are read-only too."""
    place.top = place.path("main")
    common, pointer = place.top + "/.git", place.path("workspace", ".git")
    attacks = ["echo gitdir: evil >.git", "mv .git x; cp -r evil .git", "ln -sf evil .git",
               "echo evil >%s/hooks/x" % common, "mv %s/hooks %s/h" % (common, common)]

    def make():
        shutil.rmtree(place.path("workspace"))
        place.make()
        for words in (["add", "evil"], ["commit", "-qm", "one"],
                      ["worktree", "add", "-q", place.path("workspace")]):
            subprocess.run([*GIT, "-C", place.top, "-c", "user.name=n", "-c",
                            "user.email=e@example.org", *words], check=True)
        place.own()

    def state():
        with open(pointer, encoding="utf-8") if os.path.isfile(pointer) else \
                open(os.devnull, encoding="utf-8") as f:
            return place.hooks(), os.path.islink(pointer), f.read()

    for options in (OFF, []):
        make()
        server, before = place.server("--allow-dir", common, *options), state()
        for attack in attacks:
            server.run(attack)
            equal(state() != before, bool(options), "changed by %s %s" % (attack, options))
            if options:
                server.stop()
                make()
                server, before = place.server("--allow-dir", common, *options), state()
        equal(server.run("git commit -qm two --allow-empty", environment={
            "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e@example.org",
            "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "e@example.org"})["exit_code"], 0, "commit")
        server.stop()


@suite.test()
def test_git_settings():
    """A run that changes what git executes is named in its warnings and on record, also in the background;
    a run that did not is not."""
    with Repository() as place:
        server = place.server()

        def told(command, **params):
            result = server.run(command, **params)
            if result["state"] == "running":
                result = server.call("process.monitor", {"process_id": result["process_id"], "wait_ms": 20000})
            record = eventually(lambda: [line for line in audit_lines(server) if line["event"] == "end" and
                                         line["process_id"] == result["process_id"]], WAIT, "no record")[0]
            return [text.split("config: ")[1] for text in result["warnings"] if "git settings" in text], \
                record.get("git_config", "").split("config: ")[-1]

        equal(told("git config user.name n; git remote add o x"), ([], ""), "ordinary settings")
        equal(told("git config core.hooksPath h"), (["core.hookspath"], "core.hookspath"), "hooksPath")
        equal(told("git status"), ([], ""), "the next run")
        equal(told("git config credential.https://me:S3CRET@h/.helper x"),
              (["credential.https://me:***@h/.helper"], "credential.https://me:***@h/.helper"), "a secret")
        equal(told("git config alias.x '!y'; exit 1"), (["alias.x"], "alias.x"), "a run that failed")
        equal(told("sleep 0.2; git config filter.f.clean z", background=True),
              (["filter.f.clean"], "filter.f.clean"), "in the background")
        equal(told("(sleep 0.02; git config alias.st '!x'; sleep 1) & exit 0"), (["alias.st"], "alias.st"),
              "after the command itself")

        def later(result):
            return [text.split("config: ")[1] for text in
                    server.call("process.monitor", {"process_id": result["process_id"]})["warnings"]]

        innocent = server.run("true")
        first = server.run("git config core.hooksPath h2", background=True)
        server.call("process.monitor", {"process_id": first["process_id"], "wait_ms": 20000})
        equal(told("git config alias.q '!r'"), (["alias.q"], "alias.q"), "another run")
        equal((later(innocent), later(first)), ([], ["core.hookspath"]), "asked when others have changed it")
        subprocess.run(["git", "-C", place.top, "config", "core.fsmonitor", "f"], check=True)
        time.sleep(0.15)
        equal(told("git config user.name m"), ([], ""), "the user's own change, before the run")
        server.stop()
        status, out, err = place.tool("run", *place.options(), "git", "config", "core.sshCommand", "s")
        check(status == 0 and "core.sshcommand" in err, "procpen run: %s" % err)


# Ways by which git comes to execute evil/hooks/pre-commit, without a setting that was not there before, in
# one run each; and the file that is named. $W is the workspace.
DETOURS = [
    ("cp -r .git/objects .git/refs .git/config evil/ && echo ../evil >.git/commondir",
     ".git/commondir: leads git elsewhere"),
    ("git config -f .git/config.worktree core.hooksPath evil/hooks", ".git/config.worktree: core.hookspath"),
    ("mv .git/HEAD h && cp h HEAD && cp -r .git/objects .git/refs evil/hooks . && "
     "printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = %s\\n' $W >config",
     "HEAD: leads git elsewhere"),
]


@suite.test()
def test_git_led_elsewhere():
    """A run that makes the user's git run other hooks is named, by whatever file it does that."""
    with Repository() as place:
        for attack, named in DETOURS:
            place.make()
            subprocess.run(["git", "-C", place.top, "config", "extensions.worktreeConfig", "true"], check=True)
            os.mkdir(place.top + "/evil/hooks")
            with open(place.top + "/evil/hooks/pre-commit", "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\necho evil >&2\n")
            os.chmod(place.top + "/evil/hooks/pre-commit", 0o755)
            server = place.server()
            equal(server.run("true")["warnings"], [], "before")
            result = server.run(attack, environment={"W": place.top})
            equal(result["exit_code"], 0, "%s: %s" % (attack, result["stderr_summary"]))
            done = subprocess.run([*GIT, "-c", "user.name=n", "-c", "user.email=e@example.org", "-C", place.top,
                                   "commit", "-qm", "one", "--allow-empty"], capture_output=True, text=True)
            check("evil" in done.stderr, "git does not follow it: %s: %s" % (attack, done.stderr))
            check(any(text.endswith("%s/%s" % (place.top, named)) for text in result["warnings"]),
                  "%s: %s" % (attack, result["warnings"]))
            server.stop()


@suite.test()
def test_wishes_that_fail():
    """What the operator names and cannot have stops the start, with the reason; the default does not."""
    with Repository() as place:
        if not has(place, "mount_namespace"):
            raise Skip("this machine has no mount namespaces")
        os.symlink("evil", place.top + "/link")
        os.symlink(place.top, place.path("way"))
        for value, more, words in (
                (".git/hooks", ["--set", "sandbox.namespaces=false"], ("mount_namespace",)),
                (".git/hooks", ["--set", "sandbox.profile=none"], ("profile none",)),
                ("link/x", [], ("a part of it is a link",)),
                (place.path("way") + "/link", [], ("a part of it is a link",)),
                ("evil", ["--allow-dir", place.top + "/evil/deep"], ("--allow-dir names",)),
                (".", [], ("is the workspace",)),
                ("a/../b", [], ("..",)), ("../b", [], ("..",)),
                (",".join("d%d/%s" % (i, "x" * 200) for i in range(60)), [],
                 ("no room", "Name fewer paths"))):
            os.makedirs(place.top + "/evil/deep", exist_ok=True)
            status, out, err = place.tool("run", *place.options("--set", "sandbox.readonly=" + value, *more),
                                          "true")
            # A wrong value is a mistake of usage; the others depend on what is there.
            equal((status, out), (2 if ".." in value else 125, ""), "%s: %s" % (value[:40], err))
            for word in (*words, "sandbox.readonly"):
                check(word in err, "%s: no %r in %s" % (value[:40], word, err))
        hidden = ",".join("/none%d" % i for i in range(61))
        status, _, err = place.tool("run", *place.options("--set", "sandbox.hide=" + hidden), "true")
        check(status == 125 and "no room" in err and "Name fewer paths" in err, err)
        status, _, err = place.tool("run", *place.options("--set", "sandbox.namespaces=false"), "true")
        equal((status, err), (0, ""), "the default where it cannot hold")
        absolute = place.path("way") + "/evil"
        status, _, err = place.tool("run", *place.options("--set", "sandbox.readonly=" + absolute),
                                    "touch", "evil/new")
        check(status == 1 and "Read-only" in err, "by an absolute path: %s" % err)


@suite.test()
def test_link_in_the_way():
    """Once the path is a link, runs are refused where the operator wants it read-only; the default
    becomes a gap."""
    with Repository() as place:
        if not has(place, "mount_namespace"):
            raise Skip("this machine has no mount namespaces")
        named, usual = place.server("--set", "sandbox.readonly=later"), place.server()
        named.ping()  # it has started before the link is there
        usual.run("ln -s evil later; rm -rf .git; ln -s evil .git")
        shutil.rmtree(place.top + "/.git")
        os.symlink("evil", place.top + "/.git")
        try:
            named.run("true")
            raise Failure("it ran")
        except RpcError as e:
            equal(e.type, "SandboxUnavailable", str(e))
            check("sandbox.readonly cannot be enforced" in str(e), str(e))
        equal(usual.run("true")["exit_code"], 0, "the default")
        check(any("a part of it is a link" in gap for gap in
                  usual.call("agent.session")["sandbox"]["gaps"]), "no gap")
        os.unlink(place.top + "/later")
        equal(named.run("true")["exit_code"], 0, "when it is gone")
        named.stop()
        usual.stop()


# Mounts a file system at $0, of this program's own, and starts the rest.
BELOW = 'mount -t tmpfs none "$0" && exec "$@"'


@suite.test()
def test_mount_below():
    """A file system that is mounted below a read-only path can be read there, and is read-only too; below
    a writable one it can be written."""
    if os.geteuid() != 0:
        raise Skip("only root can mount")
    with Repository() as place:
        if not has(place, "mount_namespace"):
            raise Skip("this machine has no mount namespaces")
        os.mkdir(place.top + "/below")
        for below, options, status in ((".git/hooks/empty", OFF, 0), (".git/hooks/empty", [], 1), ("below", [], 0)):
            server = place.server(*options, wrapper=["unshare", "--mount", "sh", "-c", BELOW,
                                                     "%s/%s" % (place.top, below)])
            run = server.run("stat -fc %%T %s; touch %s/x" % (below, below))
            equal((run["exit_code"], run["stdout_summary"]), (status, "tmpfs\n"), "%s %s" % (below, options))
            server.stop()


@suite.test()
def test_gap_without_mounts():
    """Where there is no mount layer, agent.session says that the hooks are not held."""
    with Repository() as place:
        server = place.server("--set", "sandbox.namespaces=false")
        gaps = server.call("agent.session")["sandbox"]["gaps"]
        server.stop()
        check(any("git's hooks" in gap for gap in gaps), gaps)


if __name__ == "__main__":
    suite.main()
