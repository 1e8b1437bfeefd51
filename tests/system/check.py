#!/usr/bin/env python3
"""procpen check: its forms, its exit status, and that it does nothing but judge."""
import json
import os
import random
import subprocess

from client import STRESS, WAIT, Failure, Server, check, equal, server_path
from suite import Suite

suite = Suite()
LIMIT = 1 << 20


def run(*args, input=b"", stdout=subprocess.PIPE, env=None):
    """(status, stdout, stderr) of one `procpen check`."""
    done = subprocess.run([server_path(), "check"] + list(args), input=input, stdout=stdout,
                          stderr=subprocess.PIPE, timeout=WAIT, check=False,
                          env=dict(os.environ, **(env or {})))
    return done.returncode, (done.stdout or b"").decode(), done.stderr.decode()


def verdicts(*args, input=b""):
    """(status, the JSON objects it printed)."""
    status, out, err = run("--json", *args, input=input)
    equal(err, "", "stderr of check %s" % (args,))
    return status, [json.loads(line) for line in out.splitlines()]


@suite.test()
def test_exit_status():
    for args, wanted in (((b"ls -l",), 0), ((b"rm -fr /",), 1), ((b"echo 'rm -fr /'",), 0),
                         ((b"--", b"rm", b"-fr", b"/"), 1), ((b"--", b"echo", b"rm -fr /"), 0),
                         ((b"--", b"poweroff"), 1), ((b"caf\xe9 \xff",), 0)):
        status, out, err = run(*args)
        equal((status, err), (wanted, ""), "%s: status, stderr" % (args,))
        check(out.startswith("blocked by " if wanted else "allowed\n"), "%s: %r" % (args, out))
        check("client" not in out, "%s speaks to a client: %r" % (args, out))


@suite.test()
def test_usage():
    for args, said in (((), "no command"), (("",), "no command"), (("--",), "no command"),
                       (("ls", "-l"), "quote"), (("ls", "--set", "packs="), "options come first"), (("--lines", "ls"), "--lines"),
                       (("--jsom", "ls"), "--json"), (("--env", "X", "ls"), "NAME=VALUE"),
                       (("--env", "=x", "ls"), "NAME=VALUE"), (("--env", "a-b=1", "ls"), "--env: a shell"),
                       (("--stdin",), "needs a value"),
                       (("--set", "nonsense=1", "ls"), "nonsense"), (("-",), "no command")):
        status, out, err = run(*args)
        equal((status, out), (2, ""), "check %s: status, stdout" % (args,))
        check(said in err, "check %s: no %r in %r" % (args, said, err))
    status, out, _ = run("--help")
    equal(status, 0, "status of --help")
    check("--lines" in out and "Exit status" in out, "text of --help: " + out)
    done = subprocess.run([server_path(), "chek", "ls"], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=WAIT, check=False)
    equal((done.returncode, done.stdout), (2, ""), "an unknown command: status, stdout")
    check("check" in done.stderr, "no nearest name in %r" % done.stderr)


@suite.test()
def test_the_reason_helps():
    text = "cd x && 'rm' -r -f /"
    status, out, _ = run(text)
    equal(status, 1, "status")
    status, found = verdicts(text)
    equal((status, len(found)), (1, 1), "status, objects")
    verdict = found[0]
    equal((verdict["command"], verdict["blocked"]), (text, True), "command, blocked")
    start, end = verdict["span"]
    check("rm" in text[start:end] and "/" in text[start:end], "span %s" % verdict["span"])
    for part in (verdict["rule"], verdict["block_reason"], verdict["suggestion"],
                 "%d to %d" % (start, end)):
        check(part and part in out, "no %r in %r" % (part, out))
    status, found = verdicts("ls")
    equal((status, found), (0, [{"command": "ls", "blocked": False, "block_reason": None,
                                 "rule": None, "span": None, "suggestion": None,
                                 "decision": "notify", "pack": None}]), "allowed")


@suite.test()
def test_hidden_characters_are_shown():
    """What the judged text holds moves no cursor, turns no text around, and is no line of ours."""
    hostile = "rm -rf / \x1b[2J\r\x9b1A\u202e 'x\nallowed'"
    for args, given in (((hostile,), b""), (("--", "rm", "-rf", "/", hostile), b""),
                        (("--lines",), hostile.replace("\n", "").encode())):
        status, out, _ = run(*args, input=given)
        equal(status, 1, "status")
        check(not set("\x1b\r\x9b\u202e") & set(out) and "\nallowed" not in out, repr(out))
        check("\\u009b1A\\u202e" in out, repr(out))


@suite.test()
def test_lines():
    text = b"ls\n\necho 'poweroff'\nsudo poweroff\nls"
    status, out, err = run("--lines", input=text)
    equal((status, err), (1, ""), "status, stderr")
    lines = out.splitlines()
    equal([line.split(":")[0] for line in lines], ["1", "2", "3", "4", "5"], "line numbers")
    equal([" blocked by " in line for line in lines], [False] * 3 + [True, False], "blocked")
    status, found = verdicts("--lines", input=text)
    equal([(v["line"], v["blocked"]) for v in found],
          [(1, False), (2, False), (3, False), (4, True), (5, False)], "objects")
    equal((run("--lines", input=b"ls\npwd\n")[0], run("--lines")[0]), (0, 0), "nothing blocked")
    for pack in ("git:confirm", "git:deny"):  # its rule has a suggestion
        out = run("--set", "packs=" + pack, "--lines", input=b"git push --force\nls\n")[1]
        equal([line.split(":")[0] for line in out.splitlines()], ["1", "2"], pack)
    status, found = verdicts("--lines", input=b"ls\r\nsudo poweroff\r\n\r\nls\r")
    equal((status, [v["command"] for v in found]), (1, ["ls", "sudo poweroff", "", "ls\r"]), "CR LF")


@suite.test()
def test_text_from_stdin():
    equal(run("-", input=b"ls\n# rest\n")[0], 0, "a harmless script")
    equal(run("-", input=b"ls\nif true; then\n  poweroff\nfi\n")[0], 1, "a script")
    status, out, err = run("-", input=b"ls\0rm")
    equal((status, out), (2, ""), "a NUL byte: status, stdout")
    check("NUL" in err, err)
    status, out, err = run("--lines", input=b"ls\nl\0s\nls\n")
    equal((status, out), (2, "1: allowed\n"), "a NUL byte in a line: status, stdout")


@suite.test()
def test_size():
    """1 MiB is read; a longer text is blocked, and the bytes beyond count too."""
    fits = b"echo " + b"x" * (LIMIT - 5)
    equal((run("-", input=fits)[0], run("--lines", input=fits + b"\nls")[0]), (0, 0), "1 MiB")
    for size in (1, 2, LIMIT):
        status, found = verdicts("-", input=fits + b"x" * size)
        equal((status, len(found)), (1, 1), "%d more" % size)
        check("literal" not in found[0]["rule"], "rule " + found[0]["rule"])
    status, found = verdicts("--lines", input=fits + b"; true\nls\n")
    equal([v["blocked"] for v in found], [True, False], "a line that is too long, and one behind")


@suite.test()
def test_stdin_and_variables():
    for args, wanted in ((("--stdin", "poweroff", "sh"), 1), (("--stdin=poweroff", "--", "sh"), 1),
                         (("--stdin", "poweroff", "cat"), 0), (("--env", "X=/", "rm -fr $X"), 1),
                         (("--env=X=build", "rm -fr $X"), 0),
                         (("--env", "A=power", "--env", "B=off", "$A$B"), 1)):
        equal(run(*args)[0], wanted, "status of %s" % (args,))


@suite.test()
def test_protected_variables():
    """What process.run refuses for its variables is refused here, unless something else refuses it."""
    status, out, err = run("--env", "LD_PRELOAD=1", "--env", "A=1", "--env", "IFS=x", "ls")
    equal((status, out, err), (1, "blocked by environment.protected\n"
                                  "  --env: protected names may not be set: LD_PRELOAD, IFS.\n"
                                  "  Instead: Leave it out of --env; a command may set it for itself.\n", ""),
          "status, stdout, stderr")
    status, found = verdicts("--env", "LD_PRELOAD=1", "ls")
    equal((status, found), (1, [{"command": "ls", "blocked": True, "rule": "environment.protected", "span": None,
                                 "block_reason": "environment: protected names may not be set: LD_PRELOAD.",
                                 "suggestion": "Remove LD_PRELOAD from environment. A command may set it for "
                                               "itself.",
                                 "decision": "deny", "pack": None}]), "JSON")
    protects = ("--set", "env.protect=SITE_*")
    equal(run(*protects, "--env", "SITE_KEY=1", "ls")[0], 1, "the operator's names")
    equal(verdicts("--env", "LD_PRELOAD=1", "poweroff")[1][0]["rule"][:6], "power.", "what is blocked anyway")
    status, out, _ = run("--set", "tier.process.run=deny", "--env", "LD_PRELOAD=1", "ls")
    equal((status, out), (1, "denied by tier.deny\n"), "what is denied anyway")
    status, out, _ = run("--lines", "--env", "LD_PRELOAD=1", input=b"ls\npoweroff\n")
    equal((status, [line.split(":")[1].split(".")[0] for line in out.splitlines()]),
          (1, [" blocked by environment", " blocked by power"]), "lines")


@suite.test()
def test_operator_setting():
    text = "git commit -m 'shut it down: reboot'"
    anywhere = ("--set", "blocklist.literal_match=anywhere")
    equal(run(text)[0], 0, "a literal pattern in data")
    equal(run(*anywhere, text)[0], 1, "the same, searched anywhere")
    check("blocklist.literal_match" in run(*anywhere, text)[1], "the refusal names the option")
    equal(run("sudo reboot")[0], 1, "a command")


@suite.test()
def test_the_suggestion_of_a_rule():
    for decision in ("confirm", "deny"):
        out = run("--set", "packs=git:" + decision, "git push --force")[1]
        check("\n  Instead: Use git push --force-with-lease" in out, decision + ": " + out)


@suite.test()
def test_the_tier():
    for tier, status, wanted in (("notify", 0, "allowed"), ("deny", 1, "denied by tier.deny"),
                                 ("confirm", 0, "allowed after a confirmation by tier.confirm")):
        setting = ("--set", "tier.process.run=" + tier)
        equal(run(*setting, "ls")[:2], (status, wanted + "\n"), tier)
        equal(run(*setting, "--lines", input=b"ls\n")[:2], (status, "1: %s\n" % wanted),
              tier + ", of a line")


PIECES = """q{ } %w[ ] " ' ` $( ) (( )) <<E E { } ; | && =~ s/a/b/ tr/a/b/ qq( %q< > # // /* */ \"\"\" ${ [[ ]]
case in esac if then fi do done for while function \\ $" $' % q y/ @ => -> :: 0x f"{ <( >( * ? ~ x a=b
""".split() + ["\n"]
AROUND = ("%s", "perl -e '%s'", "ruby -e '%s'", "awk '%s' f", "sed -e '%s' f", "eval \"%s\"",
          "python3 - <<'EOF'\n%s\nEOF\n", "node <<'EOF'\n%s\nEOF\n", "bash <<'EOF'\n%s\nEOF\n")


def long_text(chance):
    """Up to 128 KiB of pieces that open and close something: a few again and again, or all mixed, and
    some behind what no table has room for."""
    size = chance.choice((20000, 60000, 120000))
    unit = chance.choice((" ", "\n", "")).join(chance.choices(PIECES, k=chance.choice((1, 2, 5, 20000))))
    text = (unit + chance.choice((" ", ";", "\n"))) * (size // len(unit) + 1)
    text = text[:size] + " ".join(chance.choices(PIECES, k=100))
    around = chance.choice(AROUND)
    return around % (text.replace("'", "") if "'%s'" in around else text)


@suite.test()
def test_long_texts_come_to_an_end():
    """Reading one goes on behind what the reader has no room for, whatever stands there."""
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    for number in range(2000 if STRESS else 60):
        try:
            status, _, err = run("-", input=long_text(chance).encode())
        except subprocess.TimeoutExpired as e:
            raise Failure("seed %d, text %d: no verdict" % (seed, number)) from e
        check(status in (0, 1) and not err, "seed %d, text %d: %s %s" % (seed, number, status, err))


@suite.test()
def test_it_only_judges():
    server = Server(start=False)
    mark = os.path.join(server.base, "mark")
    env = {"XDG_STATE_HOME": server.base + "/state", "HOME": server.home}
    for args in (("touch " + mark,), ("--", "touch", mark), ("$(touch %s)" % mark,),
                 ("--stdin", "touch " + mark, "sh")):
        equal(run(*args, env=env)[0], 0, "status of %s" % (args,))
    equal(run("--lines", input=("touch " + mark).encode(), env=env)[0], 0, "status of --lines")
    check(not os.path.exists(mark), "something was run")
    check(not os.path.exists(server.base + "/state"), "something was recorded")


@suite.test()
def test_no_state_directory():
    """A verdict needs none, as where a job runs without HOME."""
    for env in ({"HOME": "", "XDG_STATE_HOME": ""}, {"HOME": "/nonexistent", "XDG_STATE_HOME": ""}):
        for args, wanted in ((("ls",), 0), (("poweroff",), 1)):
            status, _, err = run(*args, env=env)
            equal((status, err), (wanted, ""), "status and stderr of %s without a home" % args)


@suite.test()
def test_workspace_without_state_directory():
    """The rules of its project count all the same."""
    server = Server(start=False)
    with open(os.path.join(server.workspace, ".procpen.json"), "w", encoding="utf-8") as file:
        json.dump({"rules": [{"id": "tool", "program": "tool", "decision": "deny",
                              "reason": "not here"}]}, file)
    env = {"HOME": "", "XDG_STATE_HOME": "", "PROCPEN_WORKSPACE": server.workspace}
    status, out, err = run("--set", "config.project=narrow", "tool", env=env)
    equal((status, err), (1, ""), "status and stderr of what the project denies")
    check("project:tool" in out, "the rule is not named: %r" % out)


@suite.test()
def test_output_that_fails():
    with open("/dev/full", "wb") as full:
        status, _, err = run("ls", stdout=full)
    equal(status, 2, "status with a full disk")
    check("stdout" in err, err)


if __name__ == "__main__":
    suite.main()
