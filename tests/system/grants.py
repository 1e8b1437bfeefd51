#!/usr/bin/env python3
"""Answers for the session (approval.remember): what they bind, how long they count, who makes none."""
import glob
import json
import os
import shutil

from client import Server, check, equal
from rules import COMMANDS, RULES, cli
from suite import Suite

suite = Suite()
YES = {"allow": True, "remember": "session"}
NO = {"allow": False}
SLOW = {"command": "true", "network": False, "background": True}
ON = ("--set", "approval.remember=true")
QUESTIONS = ("capability.confirm", "elicitation/create")
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}


def started(*options, rules=None, remember=True):
    server = Server(start=False)
    if rules is None:
        server.args += ["--set", "tier.process.run=confirm"]
    else:
        path = write(os.path.join(server.base, "rules.json"), json.dumps({"rules": rules}), 0o600)
        server.args += ["--config", path]
    server.args += [*(ON if remember else ()), *options]
    server.start()
    return server


def initialize(server):
    server.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}},
                               "clientInfo": {"name": "t", "version": "1"}})


def write(path, text, mode=0o755):
    """A new file in the place of @path."""
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path + ".new", mode)
    os.rename(path + ".new", path)
    return path


def tried(server, params, reply=NO, method="process.run", before_reply=lambda: None):
    """What became of a call: "granted"; "asked", and @reply was the answer; or the type of its
    error. And the question."""
    number = server.request(method, params)
    seen, question = "granted", None
    while True:
        message = server.receive()
        check(message, "no answer to %s" % params)
        if message.get("method") in QUESTIONS:
            seen, question = "asked", message["params"]
            before_reply()
            server.send({"jsonrpc": "2.0", "id": message["id"], "result": reply})
        elif message.get("id") == number:
            server.last = message
            if seen == "granted" and "error" in message:
                seen = message["error"]["data"]["type"]
            return seen, question


def grant(server, params, **more):
    equal(tried(server, params, YES, **more)[0], "asked", "first %s" % params)
    equal(tried(server, params, **more)[0], "granted", "again %s" % params)


def records(server):
    found = []
    for path in glob.glob(os.path.join(server.state, "audit", "*")):
        with open(path, encoding="utf-8") as f:
            found += [json.loads(line) for line in f]
    return [r for r in found if r["event"] == "attempt"]


@suite.test()
def test_parameters():
    """Every one is bound but intent, time limits and output caps, however they are written."""
    server = started()
    for name in ("sub", "other"):
        os.mkdir(os.path.join(server.workspace, name))
    base = {"command": "echo $A", "working_directory": "sub", "environment": {"A": "1", "B": "2"},
            "intent": "first"}
    grant(server, base)
    for change in ({"environment": {"B": "2", "A": "1"}}, {"intent": "another"}, {"intent": None},
                   {"timeout": 7}, {"timeout": 7.0, "yield_ms": 5000}, {"idle_timeout": 9},
                   {"max_runtime": 9}, {"stdout_lines": 3, "stderr_lines": 4},
                   {"max_output_bytes": 10}, {"stdin": None, "args": None, "limits": {}},
                   {"shell": True, "background": False, "stdin_mode": "null"}):
        equal(tried(server, {**base, **change})[0], "granted", "with %s" % change)
    turned = dict(reversed(list(base.items())), cwd="sub", env=base["environment"])
    del turned["working_directory"], turned["environment"]
    equal(tried(server, turned)[0], "granted", "aliases in another order")
    for change in ({"stdin": "a"}, {"stdin_mode": "pipe"}, {"command": "echo  $A"}, {"args": ["a"], "shell": True},
                   {"environment": {"A": "1", "B": "3"}}, {"environment": {"A": "1"}},
                   {"environment": {"A": "1", "B": "2", "PATH": "/bin"}}, {"background": True},
                   {"working_directory": "other"}, {"working_directory": "./sub"}, {"tty": True},
                   {"network": False}, {"memory_limit": 1 << 28}, {"limits": {"nofile": 64}},
                   {"idempotency_key": "k"}, {"log_file": "x"}, {"follow": True}):
        equal(tried(server, {**base, **change})[0], "asked", "with %s" % change)
    equal(tried(server, base)[0], "granted", "after refusals of others")

    # On a terminal the keyboard is open unless the request closes it.
    grant(server, {"command": "true", "tty": True, "stdin_mode": "null"})
    for change in ({"stdin_mode": "data"}, {"stdin_mode": "pipe"}, {"stdin_mode": None}):
        equal(tried(server, {"command": "true", "tty": True, "stdin_mode": "null", **change})[0], "asked",
              "with %s" % change)
    grant(server, {"command": "true", "tty": True})
    for change in ({"stdin_mode": "pipe"}, {"cols": 80, "rows": 24}):
        equal(tried(server, {"command": "true", "tty": True, **change})[0], "granted", "with %s" % change)
    equal(tried(server, {"command": "true", "tty": True, "cols": 81})[0], "asked", "another width")

    # What is the same in words leads elsewhere.
    link = os.path.join(server.workspace, "link")
    os.symlink("sub", link)
    grant(server, {"command": "pwd", "cwd": "link"})
    os.remove(link)
    os.symlink("other", link)
    equal(tried(server, {"command": "pwd", "cwd": "link"})[0], "asked", "the link leads elsewhere")

    used = [r for r in records(server) if r.get("grant") == 1]
    equal([used[0].get("remember"), used[1].get("remember")], ["session", None], "records")
    os.mkdir(os.path.join(os.fsencode(server.workspace), b"\xff"))
    os.remove(link)
    os.symlink(b"\xff", link)
    seen, question = tried(server, {"command": "pwd", "cwd": "link"})
    equal((seen, "remember" in question), ("asked", False), "a name that no JSON can hold")
    check(all(r["decision"] == "allowed" and r["rule"] == "tier.confirm" for r in used), used)
    check("grant 1 (rule tier.confirm) allows {" in server.stderr_text(), server.stderr_text())


@suite.test()
def test_files():
    """What is in the files that a command runs is bound too."""
    server = started()
    at = lambda name: os.path.join(server.workspace, name)
    os.mkdir(at("bin"))
    os.mkdir(at("pkg"))
    for name in ("x.sh", "bin/tool", "lib.sh"):
        write(at(name), "#!/bin/sh\necho one\n")
    write(at("data"), "one\n", 0o644)
    shutil.copy("/bin/true", at("bin/pypy"))
    path = {"PATH": at("bin") + ":/usr/bin:/bin"}
    calls = [("x.sh", {"command": "./x.sh", "args": []}), ("x.sh", {"command": "sh x.sh"}),
             ("x.sh", {"command": "cd bin && sh -e ../x.sh"}), ("lib.sh", {"command": ". ./lib.sh"}),
             ("bin/tool", {"command": "tool; ls", "environment": path}),
             ("bin/tool", {"command": "bash -o pipefail tool y", "environment": path}),
             ("x.sh", {"command": "timeout 5 ./x.sh"}), ("x.sh", {"command": "f() { ./x.sh; }; f"}),
             ("s.sed", {"command": "echo a | sed -nf s.sed"}), ("s.sed", {"command": "sed --file=s.sed </dev/null"}),
             ("s.sed", {"command": "make -fs.sed"}), ("s.sed", {"command": "java -jar s.sed"}),
             ("mod.py", {"command": "/usr/bin/python3 -m mod"}), ("pkg/__main__.py", {"command": "/usr/bin/python3 -um pkg x"}),
             ("pkg/sub.py", {"command": "/usr/bin/python3 -mpkg.sub"}), ("mod.py", {"command": "/usr/bin/python3 -Ximporttime -BWimport -m mod"}),
             ("mod.py", {"command": "/usr/bin/python3 -W ignore --check-hash-based-pycs default -m mod bin"}),
             ("mod.py", {"command": "pypy -m mod", "environment": path}), ("mod.py", {"command": "pypy --jit off -m mod", "environment": path}),
             ("x.sh", {"command": "exec <x.sh sh x.sh"}), ("x.sh", {"command": "cd nosuch; ./x.sh"})]
    for name, params in calls:
        mode = 0o644 if name == "s.sed" else 0o755
        write(at(name), "#!/bin/sh\necho one\n", mode)
        grant(server, params)
        write(at(name), "#!/bin/sh\necho two\n", mode)
        seen, question = tried(server, params)
        equal((seen, question and question["scripts"]), ("asked", [at(name)]), "%s changed" % params)
        write(at(name), "#!/bin/sh\necho one\n", mode)
        equal(tried(server, params)[0], "granted", "%s is as it was" % params)
    plain = [{"command": text} for text in ("cat data; ls", "cat data | awk '{print $1}'",
                                            "cat data | bash -ec 'cat'")]
    for params in plain:
        grant(server, params)
    write(at("data"), "two\n", 0o644)
    for params in plain:
        equal(tried(server, params)[0], "granted", "no script changed for %s" % params)

    # A program of the name that comes earlier in PATH, and one that is new.
    params = {"command": "newer x || :", "environment": path}
    grant(server, params)
    write(at("bin/newer"), "#!/bin/sh\n")
    equal(tried(server, params)[0], "asked", "a program where there was none")

    # What a chmod makes a program.
    write(at("bin/plain"), "#!/bin/sh\n", 0o644)
    for text in ("chmod +x bin/plain; plain", "plain; chmod +x bin/plain; plain", "chmod +x bin/plain; timeout 5 plain"):
        question = tried(server, {"command": text, "environment": path})[1]
        check("remember" not in question or at("bin/plain") in question.get("scripts", []), text)
    question = tried(server, {"command": "for i in 1 2; do plain; chmod +x bin/plain; done", "environment": path})[1]
    check("remember" not in question, "a chmod in a loop")

    # A compiled program by its identity.
    shutil.copy("/bin/true", at("true"))
    grant(server, {"command": "./true"})
    shutil.copy("/bin/true", at("true"))
    equal(tried(server, {"command": "./true"})[0], "asked", "another build")

    os.mkfifo(at("fifo"))
    write(at("long.sh"), "#" * (2 << 20))
    grant(server, {"command": "sh long.sh"})
    for text in ("sh ./fifo", "sh $X", "$X", "cat x.sh | sh", "sh <x.sh", "PATH=bin:$PATH tool", "sh *.sh",
                 "export PATH=bin; tool", "env PATH=bin tool", "cd $X; ./x.sh", "ls | xargs sh",
                 "trap ./x.sh EXIT; cd bin", "cd bin; cd ..; ./x.sh", "env -C bin ./tool", "pushd bin; popd; ./tool",
                 "for i in $X; do cd bin; ./tool; done", "CDPATH=bin; ls", "cd -P bin; ./tool",
                 "for PATH in bin; do ls; done", "printf -vPATH bin; ls", "declare -n X=PATH; X=bin; ls",
                 "BASH_CMDS[ls]=bin/tool; ls", "bash -c 'for PATH in bin; do ls; done'", "env -uPATH ls",
                 "shopt -s expand_aliases\nBASH_ALIASES[ls]='bin/tool y'\nls",
                 "BASH_ENV=data bash -c ls", "NODE_OPTIONS='-r ./a' node x.js; ls", "export NODE_OPTIONS='-r ./a'; node x.js",
                 "NODE_OPTIONS=--no-warnings=./a ls", "NODE_OPTIONS='--no-warnings -r ./a' ls", "NODE_OPTIONS=$X ls",
                 "NODE_OPTIONS=\"$NODE_OPTIONS --no-warnings\" ls", "env NODE_OPTIONS=--import=./a ls", "env NODE_OPTIONS=$X ls",
                 "NODE_OPTIONS=--no-warnings; for NODE_OPTIONS in --import=./a; do node x.js; done", "env PERL5OPT=-My perl x.sh", "export RUBYOPT=-r./y; ruby x.sh", "PYTHONSTARTUP=y.py python3 -i",
                 "PROMPT_COMMAND='. ./x.sh' bash -i", "env 'BASH_FUNC_ls%%=() { . ./x.sh; }' bash -c ls", "export ENV=data; sh -ic ls", "env LD_PRELOAD=./x.so ls", "ls --x=-ePATH=y", "ls -a-b--PATH=y",
                 "enable -f ./x.so x", "exec {PATH}<data; ls", "bash -c \"$(<x.sh)\"", "eval \"$(<x.sh)\"", "$(<x.sh)", "coproc PATH { :; }; ls", "HOME=bin bash -i x.sh",
                 "env HOME=bin bash -lc ls", "export HOME=bin; bash -lc ls", "read HOME <data; bash -ic ls", "ZDOTDIR=bin bash -lc ls", "export $(cat data); ls", "export \"$(<data)\"; ls", "declare -x $X; ls", "x='a[$(tool)]'; echo $((x))", "python3 bin", "python3 -u bin", "python3 -B bin -m mod", "python3 - -m mod <x.sh", "node bin",
                 ". ./lib.sh; ./x.sh", "eval \"$X\"; ls", "cat x.sh | sed -f - data", "cat x.sh | sed -nf- data", "sed -f $X data",
                 "cat x.sh | make -f /dev/stdin", "psql db <x.sh; ls", "cat x.sh | sqlite3 a.db", "ed -s data <x.sh; ls",
                 "psql -Ufoo db <x.sh; ls", "mysql -uroot -psecret db <x.sh; ls", "sqlite3 -csv a.db <x.sh; ls",
                 "sqlite3 -init data a.db <x.sh; ls", "gdb -x data <x.sh; ls", "perl -Iinclude <x.sh", "ruby -rset <x.sh; ls",
                 "if [ -d x ]; then cd bin; fi; ./tool",
                 "echo" + " f" * 2000, "sh x.sh; $(cat x)"):
        question = tried(server, {"command": text})[1]
        check(question and "remember" not in question, "%.40s can be remembered" % text)
    for text, environment, why in (("cd bin; ./tool", {"CDPATH": "/opt"}, "a cd goes elsewhere"),
                                   ("bash -ic ls", {"HOME": at("bin")}, "a shell reads other files"), ("bash -lc ls", {"ZDOTDIR": at("bin")}, "zsh reads other files"),
                                   ("bash -lc ls", {"XDG_CONFIG_HOME": at("bin")}, "fish reads other files"),
                                   *(("ls", {name: "-r ./a"}, name) for name in (
                                       "NODE_OPTIONS", "PERL5OPT", "PYTHONSTARTUP", "RUBYOPT", "PROMPT_COMMAND")),
                                   *(("echo $((X))", {"X": "a[%s]" % run}, "arithmetic runs a value")
                                     for run in ("$(x.sh)", "`x.sh`"))):
        question = tried(server, {"command": text, "environment": environment})[1]
        check("remember" not in question, "%s by the request's environment" % why)
    question = tried(server, {"command": "bash", "environment": {"HOME": at("bin")}, "tty": True})[1]
    check("remember" not in question, "a shell on a terminal reads other files")
    for params in ({"command": "A=1", "tty": True}, {"command": ">new", "tty": True}, {"command": "ls " + "--=" * 200},
                   {"command": "ls", "environment": {"NODE_OPTIONS": "--max-old-space-size=4096"}},
                   {"command": "ls", "environment": {"HOME": at("bin")}}, {"command": "bash -lc ls"},
                   {"command": "HOME=bin ls"}, {"command": "export HOME=bin; make"}, {"command": "env HOME=bin sh x.sh"}, {"command": "export A=\"$(cat data)\"; ls"},
                   {"command": "env JAVA_HOME=bin bash -lc ls"},
                   {"command": "psql -c 'copy t from stdin' <data; ls"}, {"command": "echo 'select 1;' | sqlite3"},
                   {"command": "psql -Atc 'select 1' <data; ls"}, {"command": "mysql -uroot -e 'select 1' <data; ls"},
                   {"command": "perl -Iinclude -ne print <data"},
                   {"command": "python3 -u x.sh bin"}, {"command": "python3 -m json.tool bin"}, {"command": "perl -I bin x.sh"}):
        check("remember" in tried(server, params)[1], "%s cannot be remembered" % params)


STUBS = ("apt-get", "chroot", "docker", "gawk", "go", "lua", "mysql", "node", "nvim", "perl", "php", "psql", "pypy3", "python3", "ruby",
         "sqlite3", "ssh", "sudo", "tclsh")


def with_stubs():
    """A server, and calls whose PATH begins with programs that do nothing, and are not installed everywhere."""
    server = started()
    at = lambda name: os.path.join(server.workspace, name)
    stubs = os.path.join(server.base, "stubs")
    for name in (stubs, at("bin"), at("dir")):
        os.mkdir(name)
    for name in ("x.sh", "a.js", "data", "dir/index.js", "y.py", "y.rb"):
        write(at(name), "echo one\n", 0o644)
    write(at("bin/tool"), "echo one\n")
    for name in STUBS:
        shutil.copy("/bin/true", os.path.join(stubs, name))
    path = "%s:%s:/usr/bin:/bin" % (stubs, at("bin"))
    return server, at, lambda text: {"command": text, "environment": {"PATH": path}}


@suite.test()
def test_script_from_input():
    """No answer binds what an interpreter reads from a pipe or a file that may feed it, however its words look."""
    server, at, call = with_stubs()
    os.symlink("/dev/fd/77", at("link"))
    fed = ["python3 -X -c", "python3 -W -c", "python3 -W data", "python3 - data", "python3 -m code", "python3 -i y.py", "python3 -ic pass",
           "bash --rcfile -c", "bash --init-file -c", "bash --rcfile data -i", "bash -s data", "bash -s ls", "bash --", "bash -s -- x.sh", "bash -o data",
           "bash +O -c", "sh -sc :", "sh -c -s :", "perl -I -e", "perl -I bin", "perl - data", "perl -d -e 1", "perl -e 1 -d",
           "ruby -I -e", "ruby -E -e", "node -r -e", "node -p", "node -i -e 1", "node --title y.py", "node --import ./a.js",
           "php -- data", "php -a", "lua -l -e", "lua -i -e 1", "lua -e 1 -", "tclsh -e x", "gawk -f -", "gawk -f- data",
           "psql -F -c", "psql -d -c", "psql --dbname -c", "mysql -D -e", "mysql --database -e", "sqlite3 a.db", "nvim -es",
           "ssh host", "ssh -p 22 host", "ssh host bash", "ssh host sh -s data", "sudo -s", "docker exec -i c sh",
           "docker exec -i c python3 -", "docker exec -i c psql -U u", "{ bash; }", "(bash)", "{ ls; { bash; }; }",
           "if true; then bash; fi", "for i in 1; do bash; done", "case a in a) bash;; esac", "f() { bash; }; f",
           "bash -c bash", "bash -c '{ bash; }'", "eval bash", "timeout 5 bash", "tee >(bash)", "echo <(bash)"]
    texts = [text + " <x.sh" for text in fed] + ["cat x.sh | " + text for text in fed if "; f" not in text]
    texts += ["exec <x.sh; bash", "(exec <x.sh; bash)", "eval 'exec <x.sh'; bash", "f() { exec <x.sh; }; f; bash",
              "for i in 1 2; do bash; exec <x.sh; done", "trap bash EXIT; exec <x.sh", "f() { bash; } <x.sh; f",
              "bash <&3 3<x.sh", "exec 3<x.sh; bash <&3", "bash 0<>x.sh", "bash < <(cat x.sh)", "cat x.sh | : $(bash)",
              "bash <<<'echo a' <x.sh", "bash <<<\"$(cat x.sh)\"", "python3 - <<EOF\n$(cat x.sh)\nEOF", "cat x.sh > >(bash)",
              "echo 1 >z.py; cp x.sh z.py; python3 <z.py", "echo 1 >z.py; cp x.sh z.py; { python3; } <z.py",
              "bash /dev/fd/77 77<x.sh", "exec 77<x.sh; bash /dev/fd/77", ". /dev/fd/77 77<x.sh", "bash link 77<x.sh",
              "bash /proc/self/fd/77 77<x.sh", "python3 ''", "python3 --new x.sh -m mod"]
    for text in texts:
        question = tried(server, call(text))[1]
        check(question and "remember" not in question, "%s can be remembered" % text)
    for text in ("python3 -u y.py <data", "python3 -W ignore y.py <data", "cat data | python3 -c 'import sys'", "bash -euo pipefail x.sh <data", "bash --norc x.sh <data", "bash -ec cat <data",
                 "perl -lane 'print' <data", "perl -pe 's/a/b/' <data", "perl -e '/a/' <data", "perl -MEncode -ne print <data",
                 "ruby -rset -e 'p 1' <data", "node -e 1 <data", "node -p 1 <data", "node --a=b y.py <data", "node --experimental-strip-types --no-deprecation y.py <data", "ruby --jit y.rb <data", "cat data | node --trace-deprecation a.js", "php -r 1 <data",
                 "lua -e 1 <data", "gawk '{print}' <data", "gawk -f y.py <data", "psql -At -c 'select 1' <data",
                 "mysql -u root -e 'select 1' <data", "ssh host 'cat >f' <data", "tar c . | ssh host tar x", "ssh host",
                 "ssh host <<'EOF'\nls\nEOF", "docker exec -i c sh -c 'cat >f' <data", "sqlite3 a.db 'select 1' | head",
                 "python3 - <<'EOF' | head\nprint('a*~')\nEOF", "cat <data | head; python3 - <<'EOF'\nprint(1)\nEOF",
                 "echo 'print(1)' | python3 -", "echo 'echo a' | bash", "bash -s x <<'EOF'\necho a\nEOF", "tee >(cat) <data",
                 "python3 --version | head", "echo $(python3 -V)", "while read l; do python3 y.py; done <data", "python3 </dev/null",
                 "nohup python3 y.py >log 2>&1 </dev/null &", "yes | apt-get install bash", "tail data | tee sh", "bash -- x.sh <data", "grep bash <data", "git commit -F - <data"):
        question = tried(server, call(text))[1]
        check(question and "remember" in question, "%s cannot be remembered" % text)


@suite.test()
def test_named_by_options():
    """What an option or a word of another program names is bound, or the answer counts once."""
    server, at, call = with_stubs()
    for text in ("node a", "node -r ./a y.py", "gawk -f a data", "gawk -nf a data", "node --require ./a y.py", "node --require=./a y.py", "node -r ./dir y.py",
                 "ruby -r./y x.sh", "ruby -r ./y x.sh", "ruby -C dir y.rb", "ruby -Cdir y.rb", "chroot . /x.sh",
                 "env --split 'bash x.sh'", "time --outp=x.sh ls; sh x.sh",
                 "go run *.go", "go $X x.go", "go -C dir run *.go", "sed s/a/b/ *", "sed -n bin/*", "sed -e bin/*", "sed -l 5 bin/*",
                 "sed -f x.sh bin/*", "sed 1p bin/$X", "sed 1p \"bin/$X\"", "psql -c \"$(cat x.sh)\"", "sqlite3 a.db \"$(cat x.sh)\"", "sed \"$(cat x.sh)\" data",
                 "docker exec c sh -c \"$(cat x.sh)\""):
        question = tried(server, call(text))[1]
        check(question and "remember" not in question, "%s can be remembered" % text)
    for name, text in (("a.js", "node -r ./a.js y.py"), ("a.js", "node --import=./a.js y.py"), ("y.py", "python3 -B y.py"),
                       ("y.py", "python3 -iX dev -m y"), ("data", "bash --rcfile data -ic ls"), ("x.sh", "sed --fil=x.sh data"),
                       ("x.sh", "make --makef x.sh"), ("x.sh", "psql --fi x.sh"), ("x.sh", "docker exec c sh x.sh"),
                       ("x.sh", "gawk --fil x.sh data"), ("x.sh", "gdb -batch -command x.sh"), ("x.sh", "at -f x.sh now"), ("bin/tool", "perl -S tool"), ("x.sh", "crontab x.sh")):
        question = tried(server, call(":; " + text))[1]
        check(at(name) in question.get("scripts", []), "%s does not bind %s" % (text, name))
    for text in ("node -r dotenv/config y.py", "ruby -rset y.rb", "PYTHONPATH=src python3 y.py", "python3 -c 'print()' --out dir",
                 "node -e 1 ./new", "node a.js ./new", "gawk -vf=1 '{print}' data", "gawk -F, -f y.py data", "make -j4 test", "docker run img ls", "perl -S y.rb",
                 "NODE_OPTIONS=--max-old-space-size=4096 ls", "export NODE_OPTIONS='--no-warnings --trace-warnings'; ls",
                 "env RUBYOPT='-W0 -w' ls", "docker run -e NODE_OPTIONS=--no-warnings img",
                 "go test $(go list ./...)", "go build -ldflags \"-X v=$(git describe)\" -o app .",
                 "sed -i s/a/b/ bin/*", "sed -ne s/a/b/p bin/* ./d*", "sed -n -e 1p -e 2p dir/*.js"):
        question = tried(server, call(text))[1]
        check(question and "remember" in question, "%s cannot be remembered" % text)


@suite.test()
def test_changed_on_the_way():
    """No answer binds the state of a file that an earlier command of the text, or one beside it, may change."""
    server = started()
    at = lambda name: os.path.join(server.workspace, name)
    for name in ("x.sh", "y.sh", "nice"):
        write(at(name), "#!/bin/sh\necho one\n")
    write(at("a"), "echo two\n", 0o644)
    os.symlink("y.sh", at("link"))
    os.link(at("y.sh"), at("hard"))
    for text in ("cp a y.sh && sh y.sh", "cp a new.sh && sh new.sh", "cp a new && ./new", "cat a >y.sh; sh y.sh",
                 ">y.sh; ./y.sh", "cat a | tee y.sh; ./y.sh", "sh -c 'cp a y.sh'; sh y.sh", "cp a y.sh; . ./y.sh",
                 "f() { cp a y.sh; }; f; ./y.sh", "make -s; timeout 5 ./y.sh", "python3 -c 'print()'; sh y.sh",
                 "./x.sh && ./y.sh", "./x.sh >y.sh; ./y.sh", "./x.sh; timeout 5 ./y.sh",
                 "{ sleep 1; ./y.sh; } & cp a y.sh; wait", "./y.sh | tee y.sh", "(sleep 1; sh y.sh) & cp a y.sh",
                 "for i in 1 2; do sh y.sh; cp a y.sh; done", "echo $(./y.sh) | tee y.sh",
                 "exec >y.sh; cat a; exec >/dev/null; sh y.sh", "trap ./y.sh EXIT; cp a y.sh",
                 "newer; cp a newer; newer", "cp a y.sed; sed -f y.sed a", "cp a y.sh; make -f y.sh", "echo 'echo two' >y.sh; sh y.sh",
                 "sh y.sh < <(cp a y.sh)", "A=$(cp a y.sh) sh y.sh", "./y.sh \"$(cp a y.sh)\"", "sh y.sh > >(cp a y.sh)",
                 "sh y.sh <<< $(cp a y.sh)", "test 'x[$(cp a y.sh)]' -eq 0; sh y.sh", "jobs -x cp a y.sh; sh y.sh",
                 "printf -v 'x[`cp a y.sh`]' 1; sh y.sh", "[[ 'x[$(cp a y.sh)]' -eq 0 ]]; sh y.sh",
                 "op inject -i a -o y.sh; sh y.sh", "daemonize -o y.sh /bin/cat a; sh y.sh", "flock y.sh true; sh y.sh",
                 "/usr/bin/time -o y.sh cat a; sh y.sh", "timeout 5 cat a >y.sh; sh y.sh", "./x.sh y.sh && ./y.sh", "./nice true; sh y.sh",
                 "sh y.sh 2>>y.sh", "./y.sh >link", "timeout 5 ./y.sh >>./hard", "sh y.sh >\"$X\"", "nohup cat a >y.sh; sh y.sh",
                 "nohup ./x.sh & ./y.sh", "./y.sh" + " >log" * 600):
        question = tried(server, {"command": text, "environment": {"PATH": ".:/usr/bin:/bin"}})[1]
        check(question and "remember" not in question, "%.60s can be remembered" % text)
    for text in ("cp a b", "cp a b && ls", "cd . && ls a && sh y.sh", "sh y.sh && cp a b", "./y.sh >log 2>&1",
                 "timeout 5 ./y.sh >log; cp log b", "A=1; echo start; ./y.sh | tail -5", "[ -f a ] && ./y.sh",
                 "nice -n 5 ./y.sh", "./y.sh \"$(cat a)\"", "[ -n \"$(cat a)\" ] && ./y.sh", "echo 'a $(b)'; ./y.sh", "time -p ./y.sh", "cat a | xargs -n 1 ./y.sh", "./y.sh; ./y.sh", "chmod +x x.sh y.sh && ./y.sh",
                 "ls x.sh && ./y.sh", "bash -c 'cat a; ./y.sh'", "cat a | ./y.sh",
                 "nohup ./y.sh &", "nohup ./y.sh >log 2>&1 </dev/null & echo $!"):
        question = tried(server, {"command": text})[1]
        check(question and "remember" in question, "%s cannot be remembered" % text)
    question = tried(server, {"command": "nohup ./y.sh &", "tty": True})[1]
    check("remember" not in question, "on a terminal nohup writes a file")


@suite.test()
def test_interpreters():
    """What the first line of a script names is run too."""
    server = started()
    at = lambda name: os.path.join(server.workspace, name)
    path = {"PATH": at("bin") + ":/usr/bin:/bin"}
    os.mkdir(at("bin"))
    os.symlink("/usr/bin/env", at("elsewhere"))
    for name in ("interp", "bin/tool", "helper"):
        write(at(name), "#!/bin/sh\necho one\n")
    write(at("middle"), "#! \t%s\n" % at("interp"))
    for name, line in (("interp", at("interp")), ("interp", at("interp") + " \t"), ("interp", "interp"),
                       ("interp", at("middle")), ("bin/tool", "/usr/bin/env tool"),
                       ("bin/tool", "/usr/bin/env -S tool -x"), ("bin/tool", at("elsewhere") + " tool"),
                       ("helper", "/bin/sh " + at("helper")), ("helper", "/usr/bin/env -S sh -e " + at("helper"))):
        write(at("x.sh"), "#!%s\necho x\n" % line)
        for params in ({"command": "./x.sh", "environment": path}, {"command": "sh x.sh; ./x.sh", "environment": path}):
            write(at(name), "#!/bin/sh\necho one\n")
            grant(server, params)
            write(at(name), "#!/bin/sh\necho two\n")
            equal(tried(server, params)[0], "asked", "%s changed, which #!%s names" % (name, line))

    params = {"command": "./x.sh || :", "environment": path}
    for name, line in (("new", at("new")), ("bin/newer", "/usr/bin/env newer")):
        write(at("x.sh"), "#!%s\n" % line)
        grant(server, params)
        write(at(name), "#!/bin/sh\n")
        equal(tried(server, params)[0], "asked", "an interpreter where there was none")

    write(at("loop"), "#!%s\n" % at("loop"))
    grant(server, {"command": "./loop || :"})
    for name in ("n%d" % i for i in range(40)):
        write(at(name), "#!%s\n" % at("n%d" % (int(name[1:]) + 1)))
    write(at("empty"), "#!\necho x\n")
    write(at("short"), "#!/bin/sh")
    for name in ("empty", "short"):
        grant(server, {"command": "./%s" % name})
    write(at("long"), "#!/bin/sh %s\n" % ("x" * 300))
    check("remember" not in tried(server, {"command": "./long"})[1], "a long line")
    check("remember" not in tried(server, {"command": "./n0"})[1], "a long chain")
    for line in ("env -S A=1 tool", "env -S 'tool'", "env -S ${X}", "env -C bin", "env -Stool", "env -S -C bin ./tool",
                 "env tool x", "env -vS tool", "env -S --chdir bin ./tool", "env -S tool\vx"):
        write(at("x.sh"), "#!/usr/bin/%s\n" % line)
        check("remember" not in tried(server, params)[1], "#!%s can be remembered" % line)


@suite.test()
def test_changed_meanwhile():
    """A script that changes while a human reads the question."""
    server = started()
    script = write(os.path.join(server.workspace, "x.sh"), "echo one\n")
    params = {"command": "sh x.sh"}
    questions = []

    def change():
        questions.append(1)
        if len(questions) == 1:
            write(script, "echo two\n")

    for reply in ({"allow": True}, YES):
        questions.clear()
        write(script, "echo one\n")
        equal(tried(server, params, reply, before_reply=change)[0], "asked", "first")
        equal(len(questions), 2, "the answer was to another script")
        equal(server.last["result"]["stdout_summary"], "two\n", "the second answer counts")
    equal(tried(server, params)[0], "granted", "what the second question showed")
    write(script, "echo one\n")
    equal(tried(server, params)[0], "asked", "what the first question showed")

    call = {"name": "process_run", "arguments": params, "_meta": META}
    first = server.call("tools/call", call)
    answer = {"confirm": {"action": "accept", "content": YES}}
    write(script, "echo three\n")
    second = server.call("tools/call", {**call, "inputResponses": answer,
                                        "requestState": first["requestState"]})
    equal(second["resultType"], "input_required", "the answer was for another script")
    third = server.call("tools/call", {**call, "inputResponses": answer,
                                       "requestState": second["requestState"]})
    equal(third["resultType"], "complete", "asked anew")
    equal(server.call("tools/call", call)["resultType"], "complete", "granted")


@suite.test()
def test_replaced_meanwhile():
    """The directory in which a confirmed call would run, when another has its name by then."""
    for options in ((), ("--set", "sandbox.namespaces=false")):
        server = started(*options)
        at = lambda name: os.path.join(server.workspace, name)
        os.mkdir(at("sub"))
        write(at("sub/x.sh"), "echo one\n")

        def change():
            os.rename(at("sub"), at("moved"))
            shutil.copytree(at("moved"), at("sub"))
            write(at("moved/x.sh"), "echo two\n")

        equal(tried(server, {"command": "sh x.sh", "cwd": "sub"}, YES, before_reply=change)[0], "asked", "first")
        equal(server.last["error"]["data"]["type"], "BadDirectory", "what would run was not shown")
        equal([r for r in records(server) if "grant" in r], [], "no grant for what did not start")
        equal(tried(server, {"command": "sh x.sh", "cwd": "sub"})[0], "asked", "again")


def start_slow(server):
    """Many starts, granted before, that others wait behind."""
    for _ in range(40):
        server.request("process.run", SLOW)


def questions_behind_slow(server, script, number):
    """The questions that come before the answer to @number, and that. @script changes meanwhile."""
    notices, message = 0, {}
    while message.get("id") != number:
        message = server.receive()
        check(message, "no answer")
        if message.get("method") == "capability.notify":
            notices += 1
            if notices == 10:  # of the slow ones; the last one has not been looked at
                write(script, "echo two\n")
        elif message.get("method") in QUESTIONS or message.get("id") == number:
            yield message


@suite.test()
def test_changed_while_it_queues():
    """A granted start that waits behind slow ones looks at the script again."""
    server = started()
    script = write(os.path.join(server.workspace, "x.sh"), "echo one\n")
    params = {"command": "sh x.sh"}
    grant(server, params)
    grant(server, SLOW)
    start_slow(server)
    number = server.request("process.run", params)
    message = next(questions_behind_slow(server, script, number))
    if message.get("id") == number:  # no start had to wait
        equal(message["result"]["stdout_summary"], "one\n", "output")


@suite.test()
def test_changed_after_the_answer():
    """A confirmed start that waits behind slow ones runs no other script than the human was shown."""
    for mcp in (False, True):
        server = started()
        script = write(os.path.join(server.workspace, "x.sh"), "echo one\n")
        params = {"command": "sh x.sh"}
        grant(server, SLOW)
        if mcp:
            initialize(server)
        number = server.request(*(("tools/call", {"name": "process_run", "arguments": params}) if mcp
                                  else ("process.run", params)))
        reply = {"action": "accept", "content": YES} if mcp else YES
        question = server.receive()
        shown = ["one\n"]
        start_slow(server)
        server.send({"jsonrpc": "2.0", "id": question["id"], "result": reply})
        for message in questions_behind_slow(server, script, number):
            if message.get("method") in QUESTIONS:
                shown.append("two\n")
                server.send({"jsonrpc": "2.0", "id": message["id"], "result": reply})
        result = message["result"]["_meta"]["dev.procpen/result"] if mcp else message["result"]
        equal(result["stdout_summary"], shown[-1], "what the last question showed runs")
        equal([r.get("remember") for r in records(server)].count("session"), 2, "no grant for what did not start")
        if len(shown) == 2:
            equal(tried(server, params)[0], "granted", "what the second question showed")
            write(script, "echo one\n")
            equal(tried(server, params)[0], "asked", "what the first question showed")


@suite.test()
def test_decisions():
    """Grants change no decision: what is asked for is granted or asked again, all else is as it was."""
    server = started(rules=RULES)
    before = {}
    for command in COMMANDS:
        if command == "rm -rf /":
            continue
        before[command] = server.call("is_blocked", {"command": command})
        first, question = tried(server, {"command": command}, YES)
        second = tried(server, {"command": command})[0]
        if before[command]["decision"] != "confirm":
            check("asked" not in (first, second), command)
        elif question:
            equal(second, "granted" if "remember" in question else "asked", command)
    for command, verdict in before.items():
        equal(server.call("is_blocked", {"command": command}), verdict, "is_blocked of %s" % command)
    made = [r for r in records(server) if r.get("remember") == "session"]
    check(len(made) > 3 and len({r["grant"] for r in made}) == len(made), made)
    status, _, err = cli(server, "run", "--workspace", server.workspace, *server.args[-4:], "--shell",
                         "true asked")
    equal(status, 77, "procpen run asks nobody: " + err)


@suite.test()
def test_dialects():
    """One session, however its calls are written; the offer is in each form."""
    server = started()
    initialize(server)
    params = {"command": "echo a"}
    tool = {"name": "process_run", "arguments": params}
    seen, form = tried(server, tool, {"action": "accept", "content": YES}, "tools/call")
    equal(seen, "asked", "by elicitation")
    equal(form["requestedSchema"]["properties"]["remember"]["enum"], ["once", "session"], "form")
    equal(form["requestedSchema"]["required"], ["allow"], "form")
    equal(tried(server, params)[0], "granted", "plain")
    equal(server.call("tools/call", {**tool, "_meta": META})["resultType"], "complete", "stateless")

    other = {"command": "echo b"}
    call = {"name": "process_run", "arguments": other, "_meta": META}
    asked = server.call("tools/call", call)
    form = asked["inputRequests"]["confirm"]["params"]
    check("remember" in form["requestedSchema"]["properties"], "form")
    server.call("tools/call", {**call, "requestState": asked["requestState"],
                               "inputResponses": {"confirm": {"action": "accept", "content": YES}}})
    equal(tried(server, other)[0], "granted", "plain after a stateless answer")
    equal(tried(server, {**tool, "arguments": other}, method="tools/call")[0], "granted", "handshake")


@suite.test()
def test_changed_files_in_mcp():
    """A call of a tool whose script, or the interpreter behind its #!, has changed is asked about again, and
    the form names both."""
    server = started()
    initialize(server)
    interpreter = os.path.join(server.workspace, "interp")
    script = os.path.join(server.workspace, "x.sh")
    texts = {interpreter: "#!/bin/sh\necho one\n", script: "#!%s\necho x\n" % interpreter}
    tool = {"name": "process_run", "arguments": {"command": "./x.sh"}}
    accept = {"action": "accept", "content": YES}

    def asked():
        seen, form = tried(server, tool, accept, "tools/call")
        if seen == "asked":
            check(all(json.dumps(path) in form["message"] for path in texts), form["message"])
        return seen

    for path, text in texts.items():
        write(path, text)
    equal((asked(), asked()), ("asked", "granted"), "handshake")
    for path, text in texts.items():
        write(path, text + "echo two\n")
        equal((asked(), asked()), ("asked", "granted"), "%s changed" % path)
        write(path, text)
        equal(asked(), "granted", "%s is as it was" % path)

    call = {**tool, "_meta": META}
    equal(server.call("tools/call", call)["resultType"], "complete", "stateless")
    write(interpreter, "#!/bin/sh\necho three\n")
    equal(server.call("tools/call", call)["resultType"], "input_required", "stateless, the interpreter changed")


@suite.test()
def test_no_grant():
    """Refusals, wishes that are not known, an answer that is too late, and the option off."""
    server = started("--set", "tier.process.input=confirm")
    params = {"command": "echo a"}
    for reply in ({"allow": False, "remember": "session"}, {"allow": 1, "remember": "session"},
                  {"remember": "session"}, {"allow": True, "remember": "once"},
                  {"allow": True, "remember": None}, {"allow": True, "remember": "for ever"},
                  {"allow": True, "remember": True}, {"allow": True, "remember": "session\0"}):
        equal(tried(server, params, reply)[0], "asked", "%s" % reply)
    number = server.request("process.run", params)
    question = server.receive()
    server.notify("$/cancelRequest", {"id": number})
    server.answer(number)
    server.send({"jsonrpc": "2.0", "id": question["id"], "result": YES})
    equal(tried(server, params)[0], "asked", "after an answer that was too late")

    tried(server, {"command": "cat", "stdin_mode": "pipe", "background": True}, {"allow": True})
    given = {"process_id": server.last["result"]["process_id"], "data": "y\n"}
    for _ in range(2):
        seen, question = tried(server, given, YES, "process.input")
        equal((seen, "remember" in question), ("asked", False), "input")

    off = started(remember=False)
    for _ in range(2):
        seen, question = tried(off, params, YES)
        equal((seen, "remember" in question), ("asked", False), "the option is off")
        equal(off.last["result"]["exit_code"], 0, "it counts once")
    for one, why in ((off, "approval.remember is off"), (server, "neither \"once\" nor"),
                     (server, "depends on the input before it")):
        check(why in one.stderr_text(), one.stderr_text())
        equal([r["remember"] for r in records(one) if "remember" in r][:2], ["ignored"] * 2, "records")
    equal([r for r in records(server) if "grant" in r], [], "grants")


@suite.test()
def test_answer_beside_a_grant():
    """A call that was asked about is allowed by its own answer, whatever another one grants meanwhile."""
    server = started()
    params = {"command": "echo a"}
    first, second = (server.request("process.run", params) for _ in range(2))
    questions = [server.receive() for _ in range(2)]
    for question, number, reply in ((questions[1], second, YES), (questions[0], first, {"allow": True})):
        server.send({"jsonrpc": "2.0", "id": question["id"], "result": reply})
        equal(server.result(number)["stdout_summary"], "a\n", "output")
    equal([(r["request_id"], r.get("remember"), r.get("grant")) for r in records(server)],
          [(second, "session", 1), (first, None, None)], "records")


@suite.test()
def test_many():
    """The oldest of 256 makes room."""
    server = started("--set", "tier.is_blocked=confirm")
    for i in range(257):
        tried(server, {"command": "echo %d" % i}, YES, "is_blocked")
    equal([tried(server, {"command": "echo %d" % i}, method="is_blocked")[0] for i in (0, 1, 256)],
          ["asked", "granted", "granted"], "the first, the second, the last")


@suite.test()
def test_rules():
    """A grant is for the rules that asked: with a further one, or a stricter one, it does not count."""
    server = started(rules=[
        {"id": "ask", "program": "touch", "decision": "confirm", "reason": "say \"why\""},
        {"id": "there", "program": "touch", "directory": "/usr", "decision": "confirm"},
        {"id": "never", "program": "touch", "directory": "/etc", "decision": "deny"},
        {"id": "shell", "program": "true", "decision": "confirm", "capability": "process.input"}])
    link = os.path.join(server.workspace, "link")
    params = {"command": "touch x", "cwd": "link"}
    os.mkdir(os.path.join(server.workspace, "sub"))
    os.symlink("sub", link)
    grant(server, params)
    seen, question = tried(server, {"command": "touch y; ls", "user": None})
    equal((seen, question["rule"]["reason"]), ("asked", "say \"why\""), "another call")
    equal({"may_write", "network", "working_directory", "remember"} - set(question), set(), "members")
    text = {"command": "cd link; touch ../x"}
    grant(server, text)
    used = [r for r in records(server) if r.get("grant") and r["decision"] == "allowed"]
    check(used and all(r["rule"] == "ask" for r in used), used)

    # Without a handshake a rule can ask as well.
    call = {"name": "process_run", "arguments": {"command": "touch z"}, "_meta": META}
    asked = server.call("tools/call", call)
    equal(asked["resultType"], "input_required", "a rule asks without a handshake")
    done = server.call("tools/call", {**call, "requestState": asked["requestState"], "inputResponses": {
        "confirm": {"action": "accept", "content": {"allow": True}}}})
    equal(done["resultType"], "complete", "its answer")

    os.remove(link)
    os.symlink("/usr", link)
    os.remove(os.path.join(server.workspace, "x"))
    equal(tried(server, text)[0], "asked", "one more rule matches")
    os.remove(link)
    os.symlink("/etc", link)
    equal(tried(server, text)[0], "PermissionDenied", "a stricter rule")
    equal(server.last["error"]["data"]["details"]["rule"], "never", "the rule")


@suite.test()
def test_denied_meanwhile():
    """A rule that denies the call by the time of the answer holds, whatever the human says."""
    for remember in (True, False):
        server = started(remember=remember, rules=[
            {"id": "ask", "program": "touch", "decision": "confirm"},
            {"id": "never", "program": "touch", "directory": "/etc", "decision": "deny"}])
        link = os.path.join(server.workspace, "link")
        os.symlink(".", link)

        def change():
            os.remove(link)
            os.symlink("/etc", link)

        equal(tried(server, {"command": "cd link; touch x"}, YES, before_reply=change)[0], "asked", "first")
        equal(server.last["error"]["data"]["details"]["rule"], "never", "the link leads elsewhere by then")
        equal([(r["decision"], r["rule"]) for r in records(server)], [("denied", "never")], "records")


@suite.test()
def test_cancelled_while_it_queues():
    """Nobody is asked about a call that its client has cancelled before its turn came."""
    for mcp in (False, True):
        server = started(rules=[{"id": "ask", "program": "touch", "decision": "confirm"}])
        initialize(server)
        for _ in range(60):
            server.request("process.run", SLOW)
        call = {"command": "touch x"}
        number = (server.request("tools/call", {"name": "process_run", "arguments": call}) if mcp
                  else server.request("process.run", call))
        if mcp:
            server.notify("notifications/cancelled", {"requestId": number})
        else:
            server.notify("$/cancelRequest", {"id": number})
        last = server.request("process.run", {"command": "true"})
        seen = []
        while last not in seen:
            message = server.receive()
            check(message, "no answer")
            check(message.get("method") not in QUESTIONS, message)
            seen.append(message.get("id"))
        equal(number in seen, not mcp, "MCP answers no cancelled call")
        equal([(r["decision"], r["outcome"]) for r in records(server) if r["command"] == "touch x"],
              [("denied", "Cancelled")], "records")


@suite.test()
def test_unasked():
    """Who cannot be asked is told which option allows it."""
    server = started("--set", "packs=git:confirm", rules=[
        {"id": "ask", "program": "touch", "decision": "confirm"}])
    bare = {**META, "io.modelcontextprotocol/clientCapabilities": {}}

    def hint(command):
        answer = server.call("tools/call", {"name": "process_run", "arguments": {"command": command},
                                            "_meta": bare})
        return answer["content"][0]["text"]

    check('change rule "ask" (' in hint("touch x"), hint("touch x"))
    text = hint("git push --force")
    check("to git:notify in the option packs (set by --set)" in text, text)
    server = started()
    check("--set tier.process.run=notify" in hint("true"), hint("true"))


if __name__ == "__main__":
    suite.main()
