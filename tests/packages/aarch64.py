#!/usr/bin/python3
"""`make CROSS=aarch64-linux-gnu`: the packages, and what of the tests an emulator of user programs can
run. It cannot start commands: it knows no seccomp(2), pidfds and vfork as procpen uses them. So the unit
tests and stories that start one are skipped by name; commands are started under a real kernel of that
machine instead, which an emulator of the whole machine runs."""
import concurrent.futures
import functools
import json
import os
import platform
import re
import shlex
import subprocess

import machine
from rig import LIMIT, ROOT, Skip, check, command, equal, need, outputs, scratch
from suite import Suite

suite = Suite()
CROSS = "aarch64-linux-gnu"
BUILD = ROOT / "build" / "aarch64"
QEMU = "qemu-aarch64-static"
# Unit tests, and what they need that the emulator lacks.
LACKING = {
    "cgroup_fake": "the start of a child",
    "confine": "the start of a shim",
    "log_file": "a subreaper",
    "one_verdict": "seccomp",
    "pool": "the start of a shim",
    "procfs": "/proc of the emulated program",
    "proctab": "the start of a shim",
    "reading": "/proc of the emulated program",
    "reaper": "pidfds",
    "rmtree": "a mount in a namespace of its own",
    "run_user": "the start of a child",
    "scope": "seccomp, to hide openat2",
    "seccomp_unotify": "seccomp",
    "shim_limit": "/proc of the emulated program",
    "spawn": "the start of a shim",
    "tmpdir": "the start of a child",
    "tree": "the start of a shim",
    "tree_hidden": "a subreaper, and the start of a shim",
}
# Stories whose servers demand a layer of the sandbox, so they do not start.
DEMANDING = {"290-config-get", "614-stdin-of-shells"}


def make(*arguments):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    jobs = "-j%d" % len(os.sched_getaffinity(0))
    return command("make", "--no-print-directory", jobs, "CROSS=" + CROSS, *arguments, cwd=ROOT,
                   env=environment)


@functools.lru_cache
def built():
    need(CROSS + "-gcc", QEMU)
    if platform.machine() == "aarch64":
        raise Skip("this machine is one: the other tests say it all")
    try:
        make("build/cross/aarch64/complete")
    except Exception as why:
        raise Skip("no libraries for it: %.300s" % why) from None
    make("static", "deb", "npm", "mcpb", "oci", "sbom", "unit")
    return BUILD


@suite.test(LIMIT)
def test_packages_are_for_that_machine():
    names = {path.name: path for path in (built() / "packages").iterdir()}
    version = command(QEMU, BUILD / "procpen", "--version").split()[1]
    for name in ("procpen-%s-linux-aarch64", "procpen_%s-1_arm64.deb", "procpen-arm64-%s.tgz",
                 "procpen-%s-linux-aarch64.mcpb", "procpen-%s-static-oci-arm64.tar",
                 "procpen-%s-linux-aarch64.spdx.json"):
        check(name % version in names, "%s is not there" % (name % version))
    static = names["procpen-%s-linux-aarch64" % version]
    equal(static.read_bytes()[18:20], b"\xb7\0", "e_machine of the program")
    equal(command("dpkg-deb", "-f", names["procpen_%s-1_arm64.deb" % version], "Architecture"),
          "arm64\n", "architecture of the package")
    # No library of a foreign machine is needed to run it.
    check("blocked by" in command(QEMU, static, "check", "mkfs /dev/sda", status=[1]), "check")


def run_unit(name):
    """None, or what is wrong with it."""
    root = ROOT / "build" / "cross" / "aarch64" / "usr" / "lib"
    argv = [QEMU, root / "ld-linux-aarch64.so.1", "--library-path", root / CROSS,
            BUILD / "release" / "tests" / ("test_" + name)]
    done = subprocess.run([str(word) for word in argv], cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, timeout=LIMIT,
                          env=dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP"))
    if done.returncode or not re.search("^ok", done.stdout, re.M):
        return "test_%s ended with %d: %s" % (name, done.returncode, done.stdout[-500:])
    return None


@suite.test(2 * LIMIT)
def test_unit_tests_pass():
    built()
    names = {path.stem.removeprefix("test_") for path in (ROOT / "tests/unit").glob("test_*.c")}
    equal(LACKING.keys() - names, set(), "LACKING has tests that are gone")
    for name, what in sorted(LACKING.items()):
        print("      test_%s is not run: the emulator lacks %s" % (name, what))
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        wrong = [text for text in pool.map(run_unit, sorted(names - LACKING.keys())) if text]
    check(not wrong, "%d unit tests fail: %s" % (len(wrong), " | ".join(wrong)))


@suite.test(2 * LIMIT)
def test_stories_without_commands_pass():
    built()
    stories = {path.stem: path.read_text() for path in (ROOT / "fixtures/wire").glob("*.wire")}
    equal(DEMANDING - stories.keys(), set(), "DEMANDING has stories that are gone")
    chosen = {name for name, text in stories.items()
              if not re.search("process[._]run", text)} - DEMANDING
    print("      %d stories are not run: they start commands" % (len(stories) - len(chosen)))
    with scratch() as folder:
        emulated = folder / "procpen"
        emulated.write_text('#!/bin/sh\nexec %s "%s" "$@"\n' % (QEMU, BUILD / "procpen"))
        emulated.chmod(0o755)
        told = command("tests/wire/run.py", *sorted(chosen), cwd=ROOT,
                       env=dict(os.environ, PROCPEN=str(emulated)))
    check(told.splitlines()[-1] == "%d passed, 0 failed, 0 skipped" % len(chosen), told[-500:])


@functools.lru_cache
def kernel():
    """The kernel, and busybox."""
    try:
        return outputs(command("packaging/package.py", "cross-kernel", cwd=ROOT,
                               env=dict(os.environ, CROSS=CROSS)))
    except Exception as why:
        raise Skip("no kernel for it: %.300s" % why) from None


def call(**params):
    """One process.run, as a shell command."""
    return "procpen call --json process.run " + shlex.quote(json.dumps(params))


# What starts and ends runs in each way that the kernel has a part in: shell commands, the status of
# each, and a pattern of what it writes.
STEPS = [
    ("procpen doctor --json", 0, '"verdict": ?"ok"'),
    ("procpen run echo hello", 0, "^hello$"),
    ("echo in | procpen run cat", 0, "^in$"),
    ("procpen run --shell 'exit 3'", 3, "^$"),
    ("procpen run --shell 'kill -9 $$'", 137, ""),
    (call(command="echo called"), 0, '"seccomp:default","landlock:[0-9]+","pid_namespace",'
                                     '"mount_namespace","cgroup:v2"'),
    (call(command="echo strict", profile="strict"), 0, '"seccomp:strict"'),
    ("procpen run --shell 'echo > /etc/new'", 1, "Read-only file system"),
    ("procpen run --shell 'echo > new; cat new; ls -l new'", 0, " new$"),
    ("procpen run mount -t tmpfs none /tmp", 1, "Operation not permitted|permission denied"),
    ("readlink /proc/self/ns/net; procpen run --set sandbox.network=false readlink /proc/self/ns/net",
     0, r"^(net:\S+)\n(?!\1)net:"),
    ("procpen run --timeout 1s --shell 'setsid sleep 1000 & sleep 1000'; echo $?; pidof sleep", 1,
     r"timed out.*\n124$"),
    (call(command="sleep 1000", timeout=1), 0, '"state":"timed_out".*"survivors":0'),
    (call(command="head -c 40m /dev/zero | tail", memory_limit=32 << 20), 1,
     "ResourceLimitExceeded.*memory"),
    (call(command="tty; stty size", tty=True), 0, r"/dev/pts/0\\r\\n24 80"),
    ("procpen run --user guest id -u", 0, "^1234$"),
    ("mkdir -m 777 /tmp/work; cd /tmp/work; su guest -c 'procpen run echo $(id -u)'", 0, "^1234$"),
    # Three runs of one server, without a control group for each: its shims serve again.
    ("""umount /sys/fs/cgroup; for i in 1 2 3; do echo '{"jsonrpc":"2.0","id":'$i',"method":'"""
     """'"process.run","params":{"command":"echo served"}}'; sleep 1; done | procpen serve""", 0,
     '(?s)(served.n","stderr_summary.*){3}'),
    # Killed, it takes its runs with it.
    ("""mkfifo pipe; procpen serve <pipe & exec 7>pipe; echo '{"jsonrpc":"2.0","id":1,"method":"""
     """"process.run","params":{"command":"setsid sleep 1000 & sleep 1000","background":true}}' >&7;"""
     """ until pidof sleep; do usleep 50000; done; kill -9 $!; while pidof sleep; do usleep 50000;"""
     """ done; echo gone""", 0, "gone$"),
]


@suite.test(LIMIT)
def test_commands_run_on_a_kernel_of_that_machine():
    need("qemu-system-aarch64")
    built()
    vmlinuz, busybox = kernel()
    programs = {"bin/busybox": busybox.read_bytes(),
                "bin/procpen": (BUILD / "stage/usr/bin/procpen").read_bytes()}
    with scratch() as folder:
        told = machine.played(folder, vmlinuz, programs, [step[0] for step in STEPS], LIMIT)
    wrong = ["%s: ended with %d and wrote %s" % (text, status, output[-600:])
             for (text, wanted, pattern), (status, output) in zip(STEPS, told)
             if status != wanted or not re.search(pattern, output, re.M)]
    check(not wrong, "%d steps: %s" % (len(wrong), "\n".join(wrong)))


if __name__ == "__main__":
    suite.main()
