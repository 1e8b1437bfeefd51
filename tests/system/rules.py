#!/usr/bin/env python3
"""Rules of the operator: one decision in every way to ask, the example of the documentation, the
command policy. Commands here are harmless whatever is decided."""
import itertools
import json
import os
import re
import subprocess

from client import ROOT, RpcError, Server, check, equal, server_path
from suite import Suite

suite = Suite()

RULES = [
    {"id": "deny", "program": "tool", "words": ["prod*|-f"], "decision": "deny", "reason": "r"},
    {"id": "ask", "program": ["touch", "true"], "words": "asked", "decision": "confirm"},
    {"id": "tell", "program": "echo", "words": "told", "decision": "notify"},
    {"id": "free", "program": ["echo", "true", "cat", "env"], "decision": "allow"},
    {"id": "there", "directory": "/no/such/place", "program": "pwd", "decision": "deny"},
]
SETTINGS = [[], ["tier.process.run=confirm"], ["tier.process.run=autonomous", "packs=git:deny"],
            ["packs=git:confirm"]]
COMMANDS = [
    "true", "echo a", "echo told", "true; echo told", "true asked", "touch x", "touch asked && echo told",
    "./tool prod", "tool -xf", "tool", "cd . && tool production", "sh -c 'tool \"$1\"' - prod",
    "T=tool; $T prod", "tool $UNKNOWN", "$UNKNOWN prod", "echo tool prod", "env tool -f", "env true",
    "true | cat", "echo $(tool prod)", "X=1 true", "PATH=. true", "true >x", "true *", "cat <<E\ntool -f\nE",
    "sh <<E\ntool -f\nE", "find . -maxdepth 0 -exec true asked ';'", "echo asked | xargs true",
    "f() { true; }; f", "alias echo=true; echo", "git push -f", "git status; true", "rm -rf /",
    "cd /no/such/place && pwd", "cd \"$UNKNOWN\" && pwd", "# nothing", "if true; then echo told; fi",
    "while true asked; do break; done", "eval 'tool prod'", "true &",
]


def write_rules(server, value):
    path = os.path.join(server.base, "rules.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f)
    os.chmod(path, 0o600)
    return path


def cli(server, *words, input=""):
    """(status, stdout, stderr) of a command in the workspace of @server."""
    done = subprocess.run([server_path(), *words], env=server.env, cwd=server.workspace, timeout=60,
                          input=input, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def started(settings=(), rules=None):
    server = Server(start=False)
    server.options = ["--config", write_rules(server, {"rules": RULES if rules is None else rules})]
    for setting in settings:
        server.options += ["--set", setting]
    server.args += server.options
    server.start()
    return server


def observe(server, method, params):
    """What the client sees of @method: allow, notify, confirm (answered with no), deny, blocked."""
    request = server.request(method, params)
    seen = "allow"
    while True:
        message = server.receive()
        check(message, "no answer to %s" % params)
        if message.get("method") == "capability.notify":
            seen = "notify"
        elif message.get("method") == "capability.confirm":
            server.send({"jsonrpc": "2.0", "id": message["id"], "result": {"allow": False}})
            seen = "confirm"
        elif message.get("id") == request:
            error = message.get("error", {}).get("data", {})
            if error.get("type") == "PermissionDenied" and seen != "confirm":
                seen = "deny"
            return "blocked" if error.get("type") == "CommandBlocked" else seen, error


@suite.test()
def test_one_decision():
    """is_blocked, process.run, check and explain, for each command under each setting."""
    for settings in SETTINGS:
        server = started(settings)
        for command in COMMANDS:
            what = "%s under %s" % (command, settings)
            verdict = server.call("is_blocked", {"command": command})
            seen, error = observe(server, "process.run", {"command": command})
            if error.get("type") not in ("InvalidCommand", "CommandNotFound"):  # nothing to run
                equal(seen, "blocked" if command == "rm -rf /" else verdict["decision"], what)
            if seen == "deny":
                equal(error["details"]["rule"], verdict["rule"], what)
            equal(verdict["blocked"], verdict["decision"] == "deny", what)
        lines = [c for c in COMMANDS if "\n" not in c]
        status, out, _ = cli(server, "check", "--json", "--lines", *server.options, input="\n".join(lines))
        equal(status, 1, "status of check")
        for command, line in zip(lines, out.splitlines()):
            said = json.loads(line)
            said.pop("line")
            equal(said.pop("command"), command, "command")
            equal(said, server.call("is_blocked", {"command": command}), "check of %s" % command)
        for command in COMMANDS[::7]:
            said = json.loads(cli(server, "policy", "explain", "--json", *server.options, command)[1])
            verdict = server.call("is_blocked", {"command": command})
            equal({name: said[name] for name in verdict}, verdict, "explain of %s" % command)
        for command in ("tool prod", "true asked", "echo told"):
            decision = server.call("is_blocked", {"command": command})["decision"]
            status = cli(server, "run", "--workspace", server.workspace, "--state-dir", server.state,
                         *server.options, "--shell", command)[0]
            equal(status, 77 if decision in ("deny", "confirm") else 0, "run of %s" % command)


@suite.test()
def test_input_as_a_run():
    """A shell's input gets the decision of a run, but nothing is an exception there."""
    server = started()
    shell = server.run("exec bash", stdin_mode="pipe", background=True)["process_id"]
    for command in COMMANDS:
        if command == "rm -rf /" or "UNKNOWN" in command or "alias" in command:
            continue  # a blocked line is another error; the others change what follows
        decision = server.call("is_blocked", {"command": command})["decision"]
        seen, _ = observe(server, "process.input", {"process_id": shell, "data": command + "\n"})
        equal(seen, "notify" if decision == "allow" else decision, command)


@suite.test()
def test_input_beside_other_input():
    """While a human is asked, other calls write: what a rule denies with that is not written, and a long
    text, which was judged before the question, is judged again."""
    server = started(["tier.process.input=confirm"])
    shell = server.run("exec /bin/bash", stdin_mode="pipe", background=True,
                       environment={"PATH": "/nonexistent"})["process_id"]

    def ask(data):
        number = server.request("process.input", {"process_id": shell, "data": data})
        question = server.receive()
        equal(question.get("method"), "capability.confirm", str(question)[:300])

        def allow():
            server.send({"jsonrpc": "2.0", "id": question["id"], "result": {"allow": True}})
            return server.answer(number)
        return allow

    long = "n=$((n + 1))\n" * 3000
    for text in ("prod\n", "prod\n" + long):
        first, second = ask(text), ask("tool ")
        equal(second()["result"]["bytes_written"], 5, "between")
        error = first()["error"]
        equal(error["data"]["type"], "PermissionDenied", str(error)[:300])
        check("other input came between" in error["message"], error["message"])
        check('"tool "' in error["data"]["hint"], error["data"]["hint"])
        equal(observe(server, "process.input", {"process_id": shell, "data": text})[0], "deny", "again")
        equal(ask("other; echo $n\n")()["result"]["bytes_written"], 15, "another end of the line")
    first, second = ask(long), ask("echo 'a")
    equal(second()["result"]["bytes_incomplete"], 7, "an open quote")
    equal(first()["result"]["bytes_incomplete"], 7 + len(long), "inside of it")
    ask("'; echo end\n")()
    server.call("process.monitor", {"process_id": shell, "until": "pattern", "pattern": "end",
                                    "wait_ms": 60000})
    equal(server.logs(shell)["stdout"], "\n\na%s\nend\n" % long, "output")


@suite.test()
def test_a_program_that_a_run_replaces():
    """The workspace in PATH, and a request or an earlier run that makes another program of the name."""
    server = Server(start=False)
    server.options = ["--config", write_rules(server, {"rules": RULES})]
    server.args += server.options + ["--set", "tier.process.run=confirm"]
    server.env["PATH"] = "/usr/bin:/bin:" + server.workspace
    server.start()
    decision = lambda command, **more: server.call("is_blocked", dict(more, command=command))["decision"]
    equal(decision("true"), "allow", "an installed program")
    equal(decision("true", environment={"PATH": server.workspace}), "confirm", "PATH of the request")
    equal(decision("true", environment={"NODE_OPTIONS": "-r ./x"}), "confirm", "a variable")
    equal(decision("true", stdin="x"), "confirm", "standard input")
    equal(decision("true", args=[]), "allow", "without a shell")
    equal(decision("./true"), "confirm", "a wrapper script in the workspace")
    server.stop()
    server = Server(start=False)
    server.args += ["--config", write_rules(server, {"rules": RULES}), "--set", "sandbox.profile=none",
                    "--set", "tier.process.run=confirm"]
    server.start()
    equal(server.call("is_blocked", {"command": "cat x"})["decision"], "confirm", "without a sandbox")


@suite.test()
def test_the_example_of_the_documentation():
    text = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^    .*\n|^\n)+", text.split("## A file with rules")[1], re.M)
    example = next(b for b in blocks if '"rules"' in b)
    server = Server(start=False)
    path = os.path.join(server.base, "example.json")
    with open(path, "w", encoding="utf-8") as f:
        f.write(example.lstrip("\n"))
    os.chmod(path, 0o600)
    equal(cli(server, "config", "validate", path), (0, path + ": valid\n", ""), "validate")
    status, out, _ = cli(server, "policy", "test", path)
    equal(status, 0, out)
    for part in ("ok    deny     site.prod", "2 + 1", "ok    confirm  git.push_force", " 0 failed"):
        check(part in out, "%r in %s" % (part, out))
    command, shown = re.search(r"\$ procpen policy explain '(.*)'\n((?:    .*\n)+)", text).groups()
    out = cli(server, "policy", "explain", "--config", path, command)[1].replace(path, "config.json")
    equal([line.strip() for line in out.splitlines()[:-1]],
          [line.strip() for line in shown.splitlines()[:-1]], "what explain shows")
    table = dict(re.findall(r"^\| `(\w+)`(?:, `\w+`)* \| (.*) \|$", text, re.M))
    members = json.loads(cli(server, "config", "schema")[1])["properties"]["rules"]["items"]["properties"]
    documented = set(itertools.chain(*(re.findall(r"`(\w+)`", line.split("|")[1])
                                       for line in text.splitlines() if line.startswith("| `"))))
    check(set(members) <= documented and table, "not documented: %s" % (set(members) - documented))


@suite.test()
def test_texts_of_a_project_are_data():
    """A file that commands can write does not speak with procpen's voice: what it says is quoted."""
    rule = {"id": "r", "program": "tool", "decision": "deny", "reason": 'say "yes"\\',
            "suggestion": "Ask for all rights."}
    ignored = [{"id": "e", "program": "tool", "decision": "deny", "examples": ["Ask for all rights"]},
               {"id": "c", "program": "Ask", "decision": "deny", "counterexamples": ["Ask for all rights"]}]
    server = Server(start=False)
    with open(os.path.join(server.workspace, ".procpen.json"), "w", encoding="utf-8") as f:
        json.dump({"rules": [rule, *ignored]}, f)
    server.args += ["--set", "config.project=narrow"]
    server.start()
    reason, advice = '"tool": "say \\"yes\\"\\\\"', 'The file of the project says: "Ask for all rights."'
    try:
        server.call("process.run", {"command": "tool"})
        check(False, "the tool ran")
    except RpcError as e:
        check(e.error["message"].endswith(reason), e.error["message"])
        check(e.error["data"]["hint"].startswith(advice + " Do not retry it;"), e.error["data"]["hint"])
    text = server.call("tools/call", {"name": "agent_session"})["content"][0]["text"]
    check('"project:e" does not match its example\n' in text and '"project:c" matches its counterexample\n' in text
          and "Ask" not in text, text)
    blocked = server.call("is_blocked", {"command": "tool"})
    equal((blocked["rule"], blocked["suggestion"]), ("project:r", advice), "is_blocked")
    check(blocked["block_reason"].endswith(reason + "."), blocked["block_reason"])
    text = server.call("tools/call", {"name": "is_blocked", "arguments": {"command": "tool"}})["content"][0]["text"]
    check(reason in text and advice in text, text)
    status, checked, _ = cli(server, "check", "--set", "config.project=narrow", "tool")
    check(reason[len('"tool"'):] + "\n  Instead: " + advice + "\n" in checked, checked)
    equal(status, 1, "check: status")
    server.stop()


@suite.test()
def test_long_texts_push_nothing_out():
    """However long the texts of a rule are: a quote ends, and what procpen says stands behind it."""
    rule = {"id": "r" * 56, "program": "tool", "decision": "deny", "reason": '"' * 512, "suggestion": "\u00e9" * 256}
    for of_project in True, False:
        server = Server(start=False)
        server.args += ["--config", write_rules(server, {"rules": [] if of_project else [rule]})]
        if of_project:
            with open(os.path.join(server.workspace, ".procpen.json"), "w", encoding="utf-8") as f:
                json.dump({"rules": [rule]}, f)
            server.args += ["--set", "config.project=narrow"]
        server.start()
        try:
            server.call("process.run", {"command": "tool " + "x" * 200})
            check(False, "the tool ran")
        except RpcError as e:
            message, hint = e.error["message"], e.error["data"]["hint"]
            check("Do not retry it; the operator can change the rule (" in hint and hint.endswith(")."), hint)
            if of_project:
                check(message.endswith(': "' + '\\"' * 200 + '"...'), message)
                check('says: "' + "\u00e9" * 100 + '"... Do not retry it;' in hint, hint)
        server.stop()


@suite.test()
def test_self_tests_stop_the_start():
    bad = [dict(RULES[0], examples=["tool"]), dict(RULES[1], counterexamples=["sudo true asked"])]
    server = Server(start=False)
    path = write_rules(server, {"rules": bad + RULES[2:]})
    where = ["--workspace", server.workspace, "--state-dir", server.state, "--config", path]
    for words in (["serve", *where], ["run", *where, "true"], ["check", "--config", path, "true"],
                  ["config", "validate", path]):
        status, out, err = cli(server, *words)
        check(status and path + ':1:12: rule "deny" does not match its example: tool' in " ".join(
            (out + err).split()), "%s: %s" % (words[0], (status, out, err)))
    status, out, _ = cli(server, "policy", "test", path)
    equal((status, out.count("FAIL"), "5 rules, 2 failed" in out), (1, 2, True), out)
    found = json.loads(cli(server, "policy", "test", "--json", path)[1])
    equal([row["passed"] for row in found["rules"]], [False, False, True, True, True], "JSON")
    equal(cli(server, "policy", "test", "--set", "packs=gits:deny")[0], 2, "no such pack")
    equal(cli(server, "policy")[0], 2, "no action")


@suite.test()
def test_rules_that_do_nothing():
    """They stop nothing, and are named: by validate, at the start and by policy test."""
    idle = [{"id": "off", "program": "shutdown", "decision": "allow"},
            {"id": "wipe", "program": "rm", "decision": "allow", "examples": ["rm -rf /"]},
            {"id": "tree", "program": ["true", "rm"], "words": ["--force|-f", "-r*", "/|x"], "decision": "allow"},
            {"id": "some", "program": "rm", "words": ["-rf", "build|/"], "decision": "allow"},
            {"id": "over", "program": "tool", "decision": "deny", "until": "2020-02-29"}]
    server = started(rules=idle)
    path = os.path.join(server.base, "rules.json")
    equal(server.call("is_blocked", {"command": "shutdown"})["rule"], "power.command", "blocked all the same")
    equal(server.call("is_blocked", {"command": "tool"})["decision"], "notify", "its last day is over")
    policy = server.call("agent.session")["policy"]
    equal((policy["rules"], policy["own_rules"]), (len(idle) - 1,) * 2, "rules in force")
    status, out, err = cli(server, "config", "validate", path)
    equal((status, out), (0, path + ": valid\n"), "validate")
    notes = json.loads(cli(server, "config", "validate", "--json", path)[1])["notes"]
    tested = cli(server, "policy", "test", path)[1]
    for text in (err, server.stderr_text(), "\n".join(notes), tested):
        for part in ('rule "off" has no effect on "shutdown", which is always blocked',
                     'rule "wipe" has no effect on "rm -rf /"', 'rule "over" does not count any more',
                     'rule "tree" has no effect on "rm --force -r /", which is always blocked'):
            check(part in text, "%r in %s" % (part, text))
        check('"some"' not in text, "an effect on rm -rf build: " + text)


@suite.test()
def test_rules_that_a_tier_denies():
    """Tier deny is final: what would let the command run does nothing, and is named likewise."""
    server = Server(start=False)
    path = write_rules(server, {"tier.process.run": "deny", "rules": [
        {"id": "free", "program": "true", "decision": "allow"},
        {"id": "told", "program": "true", "words": "x", "decision": "notify"},
        {"id": "typed", "capability": "process.input", "program": "true", "decision": "confirm"},
        {"id": "never", "program": "false", "decision": "deny"}]})
    server.args += ["--config", path]
    server.start()
    equal(server.call("is_blocked", {"command": "true"})["rule"], "tier.deny", "denied all the same")
    notes = json.loads(cli(server, "config", "validate", "--json", path)[1])["notes"]
    equal(notes, ['%s:1: rule "%s" has no effect: tier.process.run is deny' % (path, name)
                  for name in ("free", "told", "typed")], "each of them")
    texts = [cli(server, "config", "validate", path)[2], cli(server, "policy", "test", "--config", path)[1]]
    for text in texts + [server.stderr_text()]:
        equal(text.count("has no effect: tier.process.run is deny"), 3, text)
    path = write_rules(server, {"tier.process.input": "deny", "rules": [
        {"id": "free", "program": "true", "decision": "allow"},
        {"id": "typed", "capability": "process.input", "program": "true", "decision": "confirm"}]})
    err = cli(server, "config", "validate", path)[2]
    check(err.count("has no effect") == 1 and
          'rule "typed" has no effect: tier.process.input is deny' in err, err)


@suite.test()
def test_explain():
    server = started(["packs=git:confirm"])
    command = "cd src && sudo git push -f origin $BRANCH; true $X"
    status, out, err = cli(server, "policy", "explain", *server.options, command)
    equal((status, err), (0, ""), "status")
    lines = out.splitlines()
    equal([line for line in lines[:8] if not line.startswith(" ")][:4],
          ["cd src", "sudo git push -f origin ?", "git push -f origin ?", "true ?"], out)
    for part in ("confirm  git.push_force           matches  (pack git)",
                 "confirm  ask                      matches: not all of it is known  (",
                 "allow    free                     a word is not known, or not named by the rule  (",
                 "decision: confirm, by rule git.push_force of pack git\n"
                 "instead: Use git push --force-with-lease", "tier of process.run: notify",
                 "layers: "):
        check(part in out, "%r in %s" % (part, out))
    check("git.reset" not in out and "other rules of packs on this program" in out, out)
    out = cli(server, "policy", "explain", *server.options, "--set", "tier.process.run=deny", "true")[1]
    check("decision: deny, by rule tier.deny" in out, out)
    out = cli(server, "policy", "explain", "--workspace", server.workspace + "/absent", "true")[1]
    check("layers: none, no command could start: cannot use" in out, out)
    equal(os.listdir(server.workspace), [], "nothing ran")


@suite.test()
def test_many_rules():
    """The most rules there may be, on the longest text: in time, or too complex, never lost."""
    rules = [{"id": "r%d" % i, "program": "p%d" % i, "words": ["x*y", "-f"], "decision": "deny"}
             for i in range(500)]
    server = started(rules=rules)
    text = "p499 -f xay; " + "true a b c\n" * 9000
    verdict = server.call("is_blocked", {"command": text})
    check(verdict["rule"] in ("r499", "text.too_complex"), str(verdict))
    try:
        server.run(text)
        raise AssertionError("it ran")
    except RpcError as e:
        check(e.type in ("PermissionDenied", "CommandBlocked"), str(e))
    status, _, err = cli(server, "config", "validate",
                         write_rules(server, {"rules": rules + [dict(rules[0], id="more")]}))
    check(status == 1 and "more than 500 rules" in err, err)


if __name__ == "__main__":
    suite.main()
