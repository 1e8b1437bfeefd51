#!/usr/bin/env python3
"""Real tools work under the default filter: compilers, version control, runtimes, job control."""
import os
import shutil
import subprocess
import textwrap

from client import Server, Skip, check, equal
from suite import Suite

suite = Suite()


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip("%s is not installed" % program)


def write(server, name, text, mode=0o644):
    path = os.path.join(server.workspace, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(textwrap.dedent(text).lstrip("\n"))
    os.chmod(path, mode)


def succeed(server, command, wanted, **params):
    """Run @command; it must exit 0 and print @wanted."""
    answer = server.run(command, **dict({"timeout": 100}, **params))
    check(answer["exit_code"] == 0, "%s: exit code %s, signal %s, stdout %.300r, stderr %.600r" % (
        command, answer["exit_code"], answer["signal"], answer["stdout_summary"],
        answer["stderr_summary"]))
    check(wanted in answer["stdout_summary"], "%s: no %r in %.300r" % (
        command, wanted, answer["stdout_summary"]))
    equal((answer["leftover"], answer["survivors"]), (0, 0), command + ": leftover, survivors")


@suite.test()
def test_gcc():
    need("gcc")
    server = Server()
    write(server, "a.c", """
        #include <pthread.h>
        #include <stdio.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static void *work(void *arg) { return arg; }
        int main(void)
        {
            pthread_t t;
            if (pthread_create(&t, NULL, work, NULL) || pthread_join(t, NULL))
                return 1;
            if (fork() == 0)
                _exit(7);
            int status;
            wait(&status);
            printf("threads and forks: %d\\n", WEXITSTATUS(status));
            return 0;
        }
        """)
    succeed(server, "gcc -O2 -pthread -o a a.c && ./a", "threads and forks: 7")
    server.stop()


@suite.test()
def test_make_parallel():
    need("make", "gcc")
    server = Server()
    for n in range(12):
        write(server, "f%d.c" % n, "int f%d(void) { return %d; }\n" % (n, n))
    write(server, "main.c", "int f3(void);\nint main(void) { return f3() - 3; }\n")
    objects = " ".join("f%d.o" % n for n in range(12)) + " main.o"
    write(server, "Makefile", "prog: %s\n\t$(CC) -o $@ $^\n" % objects)
    succeed(server, "make -j4 && ./prog && echo built", "built")
    server.stop()


@suite.test()
def test_git():
    need("git")
    server = Server()
    write(server, "a.txt", "one\n")
    succeed(server, "git init -q . && git config user.email t@example.org && "
            "git config user.name T && git add . && git commit -qm first && "
            "git checkout -qb side && echo two >> a.txt && git commit -qam second && "
            "git checkout -q - && git merge -q side && git log --oneline | wc -l", "2")
    succeed(server, "git clone -q . copy && git -C copy status --short && git gc -q && echo fine",
            "fine")
    server.stop()


@suite.test()
def test_node():
    need("node")
    server = Server()
    write(server, "a.js", """
        const { Worker, isMainThread, parentPort } = require('worker_threads');
        const { execFileSync } = require('child_process');
        const fs = require('fs');
        if (!isMainThread) { parentPort.postMessage(6 * 7); } else {
          const w = new Worker(__filename);
          w.on('message', m => {
            const out = execFileSync('echo', ['child']).toString().trim();
            fs.writeFileSync('x', 'data');
            console.log(m, out, fs.readFileSync('x').toString());
          });
        }
        """)
    succeed(server, "node a.js", "42 child data")
    server.stop()


@suite.test()
def test_node_server_on_loopback():
    need("node")
    if os.environ.get("PROCPEN_TEST_MODE") == "strict":
        raise Skip("the profile strict has no loopback either")
    server = Server()
    write(server, "b.js", """
        const http = require('http');
        const s = http.createServer((q, r) => r.end('hello')).listen(0, '127.0.0.1', () =>
          http.get({ port: s.address().port, host: '127.0.0.1' }, r => r.on('data', d => {
            console.log(d.toString());
            s.close();
          })));
        """)
    succeed(server, "node b.js", "hello")
    answer = server.run("node b.js", network=False)
    if "network_off:namespace" in answer["sandbox"]:
        equal(answer["stdout_summary"], "hello\n", "loopback in a network namespace")
    server.stop()


@suite.test()
def test_npm():
    need("npm", "node")
    server = Server()
    write(server, "package.json", """
        {"name": "a", "version": "1.0.0", "private": true,
         "scripts": {"build": "node -e \\"console.log('npm ran')\\"", "test": "exit 3"}}
        """)
    quiet = {"npm_config_update_notifier": "false", "npm_config_audit": "false",
             "npm_config_fund": "false", "npm_config_offline": "true"}
    succeed(server, "npm run --silent build", "npm ran", environment=quiet)
    answer = server.run("npm test --silent", timeout=100)
    equal(answer["exit_code"], 3, "exit code of npm test")
    write(server, "part/package.json", '{"name": "part", "version": "1.0.0", "main": "part.js"}')
    write(server, "part/part.js", "module.exports = 'part of it'\n")
    succeed(server, "npm pack --silent ./part && npm install ./part-1.0.0.tgz", "added 1 package",
            environment=quiet)
    succeed(server, "rm -r node_modules && npm ci && node -p 'require(\"part\")'", "part of it",
            environment=quiet)
    server.stop()


@suite.test()
def test_python():
    server = Server()
    write(server, "a.py", """
        import concurrent.futures, multiprocessing, socket, sqlite3, subprocess, threading
        def square(n):
            return n * n
        if __name__ == "__main__":
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                threads = sum(pool.map(square, range(20)))
            with multiprocessing.Pool(2) as pool:
                forks = sum(pool.map(square, range(20)))
            out = subprocess.run(["echo", "sub"], capture_output=True, text=True).stdout.strip()
            a, b = socket.socketpair()
            a.send(b"x")
            db = sqlite3.connect("t.db")
            db.execute("create table t (n)")
            db.commit()
            print(threads, forks, out, b.recv(1))
        """)
    succeed(server, "/usr/bin/python3 a.py", "2470 2470 sub b'x'")
    succeed(server, "/usr/bin/python3 -m venv --without-pip v && v/bin/python -c 'print(1+1)'", "2")
    server.stop()


@suite.test()
def test_bash_job_control():
    need("bash")
    server = Server()
    write(server, "jobs.sh", """
        set -m
        sleep 30 & first=$!
        (exit 5) & second=$!
        wait $second; echo "second $?"
        jobs | grep -c Running
        kill %1; wait $first; echo "first $?"
        diff <(echo a) <(echo a) && echo same
        trap 'echo got usr1' USR1; kill -USR1 $$
        coproc cat; echo through >&${COPROC[1]}; read -r line <&${COPROC[0]}; echo $line
        eval "exec ${COPROC[1]}>&-"; wait
        """)
    answer = server.run("bash", ["jobs.sh"], timeout=100)
    text = answer["stdout_summary"]
    for wanted in ("second 5\n", "1\n", "first 143\n", "same\n", "got usr1\n", "through\n"):
        check(wanted in text, "no %r in %r, stderr %r" % (wanted, text, answer["stderr_summary"]))
    server.stop()


@suite.test()
def test_chromium():
    """Headless; its own sandbox would need namespaces, which no command may make."""
    need("chromium")
    server = Server()
    write(server, "a.html", """
        <p id=x>no</p>
        <script>document.getElementById("x").textContent = "script " + "ran"</script>
        """)
    # Its socket's name has room for 107 bytes, and the directories of a test are deep.
    command = ("TMPDIR=$PWD CHROME_CONFIG_HOME=${CHROME_CONFIG_HOME-$PWD} chromium --headless "
               "--no-sandbox --disable-gpu --dump-dom file://$PWD/a.html")
    free = subprocess.run(["sh", "-c", command], cwd=server.workspace, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=200)
    if b">script ran<" not in free.stdout:
        raise Skip("chromium does not work here without procpen either")
    answer = server.run(command, timeout=200)
    check(">script ran<" in answer["stdout_summary"], "exit code %s, stdout %.300r, stderr %.600r" % (
        answer["exit_code"], answer["stdout_summary"], answer["stderr_summary"]))
    server.stop()
    equal(server.survivors(), [], "its helpers afterwards")


@suite.test()
def test_go():
    need("go")
    server = Server()
    write(server, "a.go", """
        package main

        import (
            "fmt"
            "os/exec"
        )

        func main() {
            c := make(chan int)
            for i := 0; i < 50; i++ {
                go func(n int) { c <- n }(i)
            }
            sum := 0
            for i := 0; i < 50; i++ {
                sum += <-c
            }
            out, err := exec.Command("echo", "child").Output()
            fmt.Print(sum, " ", string(out), err)
        }
        """)
    succeed(server, "go run a.go", "1225 child", environment={"GO111MODULE": "off"})
    succeed(server, "go build -o built a.go && ./built", "1225 child",
            environment={"GO111MODULE": "off"})
    server.stop()


@suite.test()
def test_java():
    need("java", "javac")
    server = Server()
    write(server, "A.java", """
        public class A {
            public static void main(String[] args) throws Exception {
                Thread[] all = new Thread[20];
                for (int i = 0; i < all.length; i++) (all[i] = new Thread(() -> {})).start();
                for (Thread t : all) t.join();
                Process p = new ProcessBuilder("echo", "child").start();
                String line = new String(p.getInputStream().readAllBytes()).trim();
                System.out.println("java " + line + " " + p.waitFor());
            }
        }
        """)
    succeed(server, "javac A.java && java -Xmx64m A", "java child 0")
    server.stop()


@suite.test()
def test_text_tools():
    server = Server()
    write(server, "in", "b\na\nc\n")
    succeed(server, "sort in | tail -n 1; tar cf - in | gzip | gunzip | tar tf -; "
            "find . -type f | xargs -P 4 wc -l | grep -c in; awk '{n++} END {print n}' in; "
            "sed -i s/a/z/ in; cp -a in out; mv out there; ln there hard; cat hard; stat -c %s in; "
            "dd if=/dev/zero of=zero bs=1k count=4 2>/dev/null; timeout 5 true; nice true; "
            "flock in true; mktemp -p . >/dev/null; date >/dev/null; id -u; ps >/dev/null; "
            "echo end",
            "end")
    server.stop()


# Calls that are harmless where they are allowed: without a filter each of them would fail
# with another errno, or do nothing.
DENIED_X86_64 = """
    unshare 272 EPERM 0x10000000
    mount 165 EPERM 0 0 0 0 0
    umount2 166 EPERM 0 -1
    pivot_root 155 EPERM 0 0
    bpf 321 EPERM 99 0 0
    perf_event_open 298 EPERM 0 0 0 0 0
    userfaultfd 323 EPERM 0
    keyctl 250 EPERM 9999
    reboot 169 EPERM 0 0 0 0
    sethostname 170 EPERM 0 -1
    settimeofday 164 EPERM 1 0
    init_module 175 EPERM 0 0 0
    finit_module 313 EPERM -1 0 0
    open_by_handle_at 304 EPERM -1 0 0
    fanotify_init 300 EPERM -1 -1
    setns 308 EPERM -1 0
    clone_newuser 56 EPERM 0x10000011 0 0 0 0
    clone_newuser_high 56 EPERM 0x110000011 0 0 0 0
    clone3 435 ENOSYS 0 0
    unknown 9999 ENOSYS
    vsock 41 EAFNOSUPPORT 40 1 0
    alg 41 EAFNOSUPPORT 38 5 0
    packet 41 EAFNOSUPPORT 17 3 0
    tiocsti 16 EPERM 0 0x5412 0
    tiocsti_high 16 EPERM 0 0x100005412 0
    tioclinux 16 EPERM 0 0x541c 0
"""
DENIED_PROGRAM = """
    import ctypes, errno, sys
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    for line in sys.stdin:
        words = line.split()
        if len(words) < 3:
            continue
        ctypes.set_errno(0)
        result = call(*[ctypes.c_long(int(w, 0)) for w in [words[1]] + words[3:]])
        name = errno.errorcode.get(ctypes.get_errno(), "no error")
        if result != -1 or name != words[2]:
            print(words[0], result, name, flush=True)
            if words[0].startswith("clone") and result == 0:
                import os
                os._exit(1)
    print("end")
    """


@suite.test()
def test_denied_calls():
    """The filter's answer is an error, never a signal, and the program goes on."""
    if os.uname().machine != "x86_64":
        raise Skip("the numbers are those of x86_64")
    server = Server()
    write(server, "denied.py", DENIED_PROGRAM)
    answer = server.run("/usr/bin/python3", ["denied.py"], stdin=DENIED_X86_64)
    equal((answer["stdout_summary"], answer["exit_code"]), ("end\n", 0),
          "calls that were not denied")
    server.stop()


@suite.test()
def test_foreign_architecture():
    """A 32-bit system call kills the process: its numbers would mean other calls."""
    if os.uname().machine != "x86_64":
        raise Skip("int 0x80 belongs to x86")
    server = Server()
    answer = server.hostile("foreign", explain_denials=True)
    check(answer["signal"] in ("SIGSYS", "SIGSEGV"), "signal %s" % answer["signal"])
    equal((answer["exit_code"], answer["stdout_summary"]), (None, ""), "exit code, output")
    if answer["signal"] == "SIGSYS":
        equal(answer["reason"], "seccomp", "reason")
    server.stop()


if __name__ == "__main__":
    suite.main()
