#!/usr/bin/env python3
"""What bash, zsh and fish offer behind `procpen`, each asked in its own way, on a real line."""
import json
import os
import pty
import re
import shutil
import subprocess
import tempfile

from client import ROOT, WAIT, Skip, check, equal, eventually, server_path
from suite import Suite

suite = Suite(at_a_time=3)
COMPLETIONS = ROOT / "build" / "completions"
CLI = json.loads((ROOT / "schema" / "cli.json").read_text(encoding="utf-8"))
CONFIG = json.loads((ROOT / "schema" / "config.json").read_text(encoding="utf-8"))
METHODS = [json.loads(path.read_text(encoding="utf-8"))["name"] for path in
           (ROOT / "schema").glob("*.json") if '"inputSchema"' in path.read_text(encoding="utf-8")]
FILES = {"bash": "procpen", "zsh": "_procpen", "fish": "procpen.fish"}
BASH = r"""
source "$1"
words=() line=$2
while [[ $line ]]; do
	case $line in
	' '*) line=${line# }; [[ $line ]] || words+=('') ;;
	[=:]*) words+=("${line:0:1}"); line=${line:1} ;;
	*) word=${line%%[ =:]*}; words+=("$word"); line=${line#"$word"} ;;
	esac
done
COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMP_LINE=$2 COMP_POINT=${#2}
_procpen procpen "${words[-1]}" "${words[-2]}"
printf '%s\n' "${COMPREPLY[@]}"
"""
ZSH = r"""
PROMPT= RPROMPT= LISTMAX=10000
unsetopt zle_bracketed_paste beep
fpath=($1 $fpath)
autoload -Uz compinit
compinit -u -d $2.dump
zstyle ':completion:*' insert-tab false
"""
# Writes down what is added, and "done" when the list is whole.
ZSH_LISTS = r"""
compadd() {
	local -a hits
	if (( ! ${@[(I)-[OAD]*]} )); then
		builtin compadd -O hits "$@"
		print -rl -- $hits >>$2
	fi
	builtin compadd "$@"
}
written() { print -r -- done >>$2 }
comppostfuncs=(written)
bindkey '^I' list-choices
"""
# Writes down the line as it is entered.
ZSH_INSERTS = r"""
procpen() { print -rl -- "$*" done >$2 }
bindkey '^I' complete-word
"""


def scratch():
    """A directory with what names may begin with, and procpen in a folder for PATH."""
    base = tempfile.mkdtemp(prefix="procpen-completion-")
    for name in ("folder-one", "folder-two", "bin"):
        os.mkdir(os.path.join(base, name))
    open(os.path.join(base, "folder-file"), "w", encoding="utf-8").close()
    os.symlink(server_path(), os.path.join(base, "bin", "procpen"))
    return base


def environment(base):
    return {"HOME": base, "PATH": os.path.join(base, "bin") + ":" + os.environ["PATH"],
            "TERM": "dumb", "LC_ALL": "C.UTF-8", "A_VARIABLE": "x", "XDG_CONFIG_HOME": base,
            "XDG_DATA_HOME": base, "PWD": base}


def ask_bash(base, folder, line):
    return subprocess.run(["bash", "--norc", "-c", BASH, "bash", folder / FILES["bash"], line],
                          cwd=base, env=environment(base), capture_output=True, text=True,
                          timeout=WAIT, check=False)


def ask_fish(base, folder, line):
    return subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
                           str(folder / FILES["fish"]), line], cwd=base, env=environment(base),
                          capture_output=True, text=True, timeout=WAIT, check=False)


def ask_zsh(base, folder, line):
    text = play_zsh(base, folder, ZSH_LISTS, line + "\t")
    return subprocess.CompletedProcess([], 0, text, "")


def play_zsh(base, folder, script, keys):
    """zsh completes only in its line editor, so it gets a terminal. Returns what @script wrote."""
    found = os.path.join(base, "found")
    setup = os.path.join(base, "setup.zsh")
    with open(setup, "w", encoding="utf-8") as f:
        f.write((ZSH + script).replace("$1", str(folder)).replace("$2", found))
    if os.path.exists(found):
        os.unlink(found)
    master, slave = pty.openpty()
    process = subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, cwd=base,
                               env=environment(base), start_new_session=True)
    os.close(slave)
    os.set_blocking(master, False)

    def is_written():
        try:
            while os.read(master, 65536):
                pass
        except OSError:
            pass
        if not os.path.exists(found):
            return False
        with open(found, encoding="utf-8") as f:
            return "done\n" in f.read()

    try:
        os.write(master, b"source ./setup.zsh\n" + keys.encode())
        eventually(is_written, WAIT, "zsh completes " + repr(keys))
    finally:
        process.kill()
        process.wait()
        os.close(master)
    with open(found, encoding="utf-8") as f:
        return f.read().split("done\n")[0]


ASK = {"bash": ask_bash, "zsh": ask_zsh, "fish": ask_fish}


def offers(shell, line, base=None, folder=COMPLETIONS):
    """The words that @shell offers for the end of @line: what stands behind a = or a colon,
    or before a =."""
    own = base or scratch()
    try:
        done = ASK[shell](own, folder, line)
    finally:
        if not base:
            shutil.rmtree(own)
    equal((done.returncode, done.stderr), (0, ""), "%s %r: status, stderr" % (shell, line))
    words = [text.split("\t")[0] for text in done.stdout.splitlines() if text]
    return sorted({re.split("[=:]", word.rstrip("=/:"))[-1] for word in words})


def installed(shell):
    if not shutil.which(shell):
        raise Skip("%s is not installed" % shell)


def options_of(command):
    groups = [CLI["shared"][o] if isinstance(o, str) else [o] for o in command["options"]]
    return sum(groups, [])


def check_syntax(shell):
    installed(shell)
    done = subprocess.run([shell, "-n", COMPLETIONS / FILES[shell]], capture_output=True, text=True,
                          timeout=WAIT, check=False)
    equal((done.returncode, done.stdout + done.stderr), (0, ""), "%s -n" % shell)


def check_options(shell):
    """Each command, and all its options, before its words and behind other options."""
    check_syntax(shell)
    base = scratch()  # of all: what zsh knows of its functions is kept there
    try:
        check_options_in(shell, base)
    finally:
        shutil.rmtree(base)


def check_options_in(shell, base):
    def offered(line):
        return offers(shell, "procpen " + line, base)

    names = sorted(command["name"] for command in CLI["commands"])
    equal(offered(""), names, "commands")
    for command in CLI["commands"]:
        want = sorted(option["name"] for option in options_of(command))
        equal(offered("%s --" % command["name"]), want, "options of " + command["name"])
    serve = next(c for c in CLI["commands"] if c["name"] == "serve")
    equal(offered("--"), sorted(o["name"] for o in options_of(serve)), "options alone")
    equal(offered("run --timeout 5 --no-"), ["--no-network"], "behind a value")
    equal(offered("run --timeout=5 --no-"), ["--no-network"], "behind a joined value")
    equal(offered("setup codex --wr"), ["--write"], "behind a word")
    equal(offered("serve --workspace run --st"), ["--state-dir"], "a value like a command")
    equal(offered("serve --timeout"), [], "an option of another command")


def check_values(shell):
    installed(shell)
    base = scratch()
    try:
        for line, want in (
                ("serve --workspace folder-", ["folder-one", "folder-two"]),
                ("serve --workspace=folder-", ["folder-one", "folder-two"]),
                ("--workspace folder-", ["folder-one", "folder-two"]),
                ("setup codex --file folder-", ["folder-file", "folder-one", "folder-two"]),
                ("call process.", sorted(m for m in METHODS if m.startswith("process."))),
                ("call process_r", ["process_resize", "process_run"]), ("call process_f", []),
                ("call is_", ["is_blocked"]),
                ("run --set packs=g", ["confirm", "deny", "notify"]),
                ("run --set packs=git:", ["confirm", "deny", "notify"]),
                ("run --set=packs=git:d", ["deny"]),
                ("setup codex --over s", ["srun", "ssh"]), ("setup codex --over=d", ["docker"]),
                ("setup codex --over ssh:h", []),
                ("setup claude-", ["claude-code", "claude-desktop"]),
                ("config ", ["schema", "show", "validate"]), ("config va", ["validate"]),
                ("config validate folder-", ["folder-file", "folder-one", "folder-two"]),
                ("policy test --json folder-f", ["folder-file"]), ("config validate a folder-", []),
                ("audit ", ["show", "tail", "verify"]), ("audit show --decision b", ["blocked"]),
                ("audit tail --decision=", ["allowed", "asked", "blocked", "denied", "failed"]),
                ("audit -n ", []), ("audit -n 5 t", ["tail"]), ("audit -n5 t", ["tail"]),
                ("help opt", ["options"]), ("help ru", ["run"]),
                ("run --env A_VARIAB", ["A_VARIABLE"]),
                ("run --user roo", ["root"]),
                ("run --set sandbox.netw", ["sandbox.network"]),
                ("run --set=sandbox.netw", ["sandbox.network"]),
                ("run --set sandbox.network=f", ["false"]),
                ("run --set=sandbox.network=f", ["false"]),
                ("run --set sandbox.profile=", ["default", "none", "strict"]),
                ("run --timeout ", []), ("call process.run ", []), ("check ", []), ("version ", [])):
            found = offers(shell, "procpen " + line, base)
            # fish offers a key with each of its values; zsh options where no word may come.
            if shell == "fish" and line.endswith("sandbox.netw"):
                found = ["sandbox.network"] if found == ["false", "true"] else found
            if shell == "zsh" and not want:
                found = [word for word in found if not word.startswith("-")]
            equal(found, want, "%s: procpen %s" % (shell, line))
    finally:
        shutil.rmtree(base)


def check_program(shell):
    """The words of `procpen run` belong to its program."""
    installed(shell)
    base = scratch()
    try:
        program = os.path.join(base, "bin", "procpen-a-program")
        with open(program, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n")
        os.chmod(program, 0o755)
        for line in ("", "--timeout 5 ", "--no-network -- "):
            equal(offers(shell, "procpen run %sprocpen-a-" % line, base), ["procpen-a-program"], line)
        equal(offers(shell, "procpen run procpen-a-program folder-f", base), ["folder-file"], "a file")
        equal(offers(shell, "procpen run procpen-a-program --time", base), [], "an option of its own")
    finally:
        shutil.rmtree(base)


def check_hostile(shell):
    """What options mean cannot run anything, nor break the file."""
    installed(shell)
    base = scratch()
    hostile = "a'b \"c\" `touch ran` $(touch ran) \\ [x] {y} :z: %s ; touch ran # (touch ran) \\' '"
    cli, config = json.loads(json.dumps(CLI)), json.loads(json.dumps(CONFIG))
    for command in cli["commands"]:
        command["summary"] = hostile
        for option in options_of(command):
            if isinstance(option, dict):
                option["text"] = hostile
    for row in config:
        row["text"] = hostile
    for name in cli["shared"]:
        for option in cli["shared"][name]:
            option["text"] = hostile
            if option["kind"] != "flag":
                option["value"] = hostile
    try:
        shutil.copytree(ROOT / "schema", os.path.join(base, "schema"))
        for name, value in (("cli.json", cli), ("config.json", config)):
            with open(os.path.join(base, "schema", name), "w", encoding="utf-8") as f:
                json.dump(value, f)
        subprocess.run([ROOT / "build" / "host" / "procpen-gen", os.path.join(base, "schema"), base],
                       check=True, timeout=WAIT)
        file = os.path.join(base, FILES[shell])
        with open(file, "wb") as f:
            for part in (os.path.join(base, "gen", "complete." + shell),
                         ROOT / "src" / "gen" / ("complete." + shell)):
                with open(part, "rb") as source:
                    f.write(source.read())
        folder = type(COMPLETIONS)(base)
        equal(offers(shell, "procpen version --", base, folder), ["--help", "--json", "--version"],
              "options")
        equal(offers(shell, "procpen serv", base, folder), ["serve"], "commands")
        check("limits.requests" in offers(shell, "procpen serve --set limits.requ", base, folder) or
              shell == "fish", "keys")
        equal(offers(shell, "procpen serve --set sandbox.network=f", base, folder), ["false"], "values")
        check(not os.path.exists(os.path.join(base, "ran")), "a text was run")
    finally:
        shutil.rmtree(base)


@suite.test()
def test_zsh_inserts_the_only_candidate():
    """Where a word without candidates may stand too, its message does not stop that."""
    installed("zsh")
    base = scratch()
    try:
        for keys, want in (("check --js\t", "check --json"), ("call process.run --js\t", "call process.run --json"),
                           ("ser\t--set=sandbox.netw\tfa\t", "serve --set=sandbox.network=false")):
            equal(play_zsh(base, COMPLETIONS, ZSH_INSERTS, "procpen " + keys + "\n").rstrip(), want, keys)
    finally:
        shutil.rmtree(base)


def define_tests():
    for shell in FILES:
        for what in (check_options, check_values, check_program, check_hostile):
            def test(what=what, shell=shell):
                what(shell)
            test.__name__ = "test_%s_%s" % (shell, what.__name__.removeprefix("check_"))
            suite.test()(test)


define_tests()

if __name__ == "__main__":
    suite.main()
