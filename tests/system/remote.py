#!/usr/bin/env python3
"""An engine elsewhere: the lease of a session whose client may be gone without an end of file."""
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time

from client import (WAIT, Server, Skip, check, equal, eventually, is_alive, process_text,
                    processes_marked, server_path)
from suite import Suite

suite = Suite(at_a_time=4)
LEASE = ["--set", "server.lease_ms=1500", "--set", "server.eof_seconds=2"]
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {},
              "clientInfo": {"name": "far", "version": "1"}}


def sleeper(server):
    """The pid of a run that outlives the test."""
    return server.run("sleep 1000", background=True)["pid"]


def pings(server, method):
    """Answer @method until three requests came."""
    for _ in range(3):
        message = server.receive()
        while message and message.get("method") != method:
            message = server.receive()
        check(message, "no %s came" % method)
        server.send({"jsonrpc": "2.0", "id": message["id"], "result": {}})


@suite.test()
def test_a_frozen_client_ends_its_runs():
    server = Server(*LEASE)
    sleeper(server)
    open_run = server.request("process.run", {"command": "echo begun; exec sleep 1000"})
    result = server.result(open_run)
    equal((result["state"], result["reason"], result["stdout_summary"]),
          ("killed", "server_shutdown", "begun\n"), "the open run")
    equal(server.wait_exit(), 0, "exit status")
    equal(server.survivors(), [], "survivors")
    check("server.lease_ms" in server.stderr_text(), server.stderr_text())


@suite.test()
def test_a_frozen_client_that_reads_nothing():
    """The queue to it is full, so no input is read either."""
    server = Server(*LEASE, "--set", "limits.output_queue_bytes=1M")
    pid = sleeper(server)
    server.read_paused = True
    for _ in range(400):
        server.request("tools/list")
    equal(server.process.wait(40), 1, "exit status")
    check(not is_alive(pid), "the run is alive")
    check("server.lease_ms" in server.stderr_text(), server.stderr_text())


@suite.test()
def test_answers_to_pings_keep_the_lease():
    plain = Server(*LEASE)
    plain.call("agent.session", {"ping": True})
    handshake = Server(*LEASE)
    handshake.call("initialize", INITIALIZE)
    handshake.notify("notifications/initialized")
    for server, method in ((plain, "server.ping"), (handshake, "ping")):
        pid = sleeper(server)
        pings(server, method)
        check(is_alive(pid), "the run has ended in spite of the answers")
        equal(server.wait_exit(), 0, "exit status without answers")


@suite.test()
def test_no_ping_without_consent():
    server = Server(*LEASE)
    server.call("agent.session", {"ping": True})
    server.call("agent.session", {"ping": False})
    sleeper(server)
    equal(server.wait_exit(), 0, "exit status")
    equal([m for m in [*server.inbox, *server.notes] if m.get("method") == "server.ping"], [],
          "pings")


@suite.test()
def test_without_runs_there_is_no_lease():
    server = Server("--set", "server.lease_ms=200")
    server.run("true")
    check(server.receive(1.5) is None, "a message without need")
    server.stop()


@suite.test()
def test_a_server_that_was_stopped_hears_its_client_first():
    server = Server(*LEASE)
    pid = sleeper(server)
    server.signal(signal.SIGSTOP)
    time.sleep(2)
    server.request("ping")
    server.signal(signal.SIGCONT)
    server.ping()
    check(is_alive(pid), "the run has ended although the client had written")
    server.stop()


# ---------------------------------------------------------------- engines

SERVE = ["procpen", "serve", "--set", "server.eof_seconds=2", "--set", "server.lease_ms=900000",
         "--workspace"]
STATE = ["--state-dir", "/var/lib/procpen"]
# An engine by name: it keeps what it was called with, and executes what it would elsewhere.
STUB = """#!%s
import os, sys
words = sys.argv[1:]
open(os.environ["STUB_LOG"], "w").write("\\n".join([os.path.basename(sys.argv[0]), *words]))
at = words.index("procpen")
words = words[at:]
if "--state-dir" in words:
    words[words.index("--state-dir") + 1] = os.environ["STUB_STATE"]
os.execvp(words[0], words)
""" % sys.executable


def entry(over, workspace):
    """The words of the entry that setup makes for opencode."""
    out = subprocess.run([server_path(), "setup", "opencode", "--over", over, "--workspace",
                          workspace], capture_output=True, text=True, timeout=WAIT)
    equal(out.returncode, 0, out.stderr)
    return json.loads(out.stdout)["mcp"]["procpen"]["command"]


def start(server, words, path):
    """Start @server by @words of an entry."""
    server.env["PATH"] = path + ":" + server.env["PATH"]
    server.stderr_path = os.path.join(server.base, "stderr")
    with open(server.stderr_path, "ab") as stderr:
        server.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          bufsize=0, stderr=stderr, env=server.env)
    server.w, server.r = server.process.stdin.fileno(), server.process.stdout.fileno()
    server.pid = server.process.pid
    os.set_blocking(server.r, False)
    os.set_blocking(server.w, False)
    return server


def tools(server):
    """A folder for PATH that has procpen."""
    folder = os.path.join(server.base, "bin")
    os.makedirs(folder, exist_ok=True)
    os.symlink(server_path(), os.path.join(folder, "procpen"))
    return folder


@suite.test()
def test_presets_by_a_stub():
    """Arguments only: no container, cluster or job was there."""
    for over, before, after in (
            ("podman:img", "podman run -i --rm -v W:W -v procpen-state:/var/lib/procpen img", STATE),
            ("docker:img", "docker run -i --rm -v W:W -v procpen-state:/var/lib/procpen img", STATE),
            ("kubectl:pod", "kubectl exec -i pod --", STATE),
            ("srun:-p gpu", "srun --unbuffered --ntasks=1 -p gpu",
             ["--set", "env.allow=SLURM_*,CUDA_VISIBLE_DEVICES"]),
            ("podman exec -i box", "podman exec -i box", [])):
        server = Server(start=False)
        words = entry(over, server.workspace)
        equal(words, before.replace("W", server.workspace).split() + SERVE + [server.workspace] +
              after, over)
        folder, log = tools(server), os.path.join(server.base, "log")
        stub = os.path.join(folder, words[0])
        with open(stub, "w") as f:
            f.write(STUB)
        os.chmod(stub, 0o755)
        server.env.update(STUB_LOG=log, STUB_STATE=server.state, SLURM_JOB_ID="7")
        start(server, words, folder)
        equal(server.run("echo ${SLURM_JOB_ID-none}")["stdout_summary"],
              "7\n" if words[0] == "srun" else "none\n", over)
        with open(log) as f:
            equal(f.read().split("\n"), words, over)
        server.stop()


@suite.test()
def test_refused_targets():
    for over, workspace, says in (("ssh:-oProxyCommand=x", "/w", "one name"),
                                  ("ssh:a b", "/w", "one name"), ("ssh:h", "w", "absolute"),
                                  ("podman:i", "/a:b", "colon"), ("x $(y)", "/w", "--over")):
        out = subprocess.run([server_path(), "setup", "codex", "--over", over, "--workspace",
                              workspace], capture_output=True, text=True, timeout=WAIT)
        equal((out.returncode, out.stdout), (1, ""), over)
        check(says in out.stderr, out.stderr)


# ---------------------------------------------------------------- ssh

def ssh_server(server):
    """A sshd of our own on the loopback; returns the words that reach it by ssh."""
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"])
    if not sshd or not shutil.which("ssh") or not shutil.which("ssh-keygen"):
        raise Skip("openssh-server or openssh-client is not installed")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", 0o755, exist_ok=True)
    at = os.path.join(server.base, "ssh")
    os.mkdir(at, 0o700)
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at + "/" + key],
                       check=True, timeout=WAIT)
    shutil.copy(at + "/user.pub", at + "/authorized")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"ListenAddress": "127.0.0.1:%d" % port, "HostKey": at + "/host", "PidFile": "none",
               "AuthorizedKeysFile": at + "/authorized", "UsePAM": "no", "StrictModes": "no",
               "PermitRootLogin": "prohibit-password", "PasswordAuthentication": "no",
               "SetEnv": "HOME=%s PATH=%s/bin:/usr/bin:/bin XDG_STATE_HOME=%s" % (
                   server.home, server.base, server.state)}
    with open(at + "/sshd_config", "w") as f:
        f.writelines("%s %s\n" % item for item in options.items())
    user = pwd.getpwuid(os.geteuid()).pw_name
    with open(at + "/config", "w") as f:
        f.write("Host far\nHostName 127.0.0.1\nPort %d\nUser %s\nIdentityFile %s/user\n"
                "IdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile %s/known\n"
                % (port, user, at, at))
    server.sshd = subprocess.Popen([sshd, "-D", "-e", "-f", at + "/sshd_config"],
                                   stderr=subprocess.DEVNULL, env=server.env)

    def listens():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0
    eventually(listens, WAIT, "sshd does not listen")
    return ["ssh", "-F", at + "/config"]


class Far:
    """A procpen that is reached by the entry of ssh:far."""

    def __init__(self, lease_ms=None):
        self.server = Server(start=False)
        words = ssh_server(self.server) + entry("ssh:far", self.server.workspace)[1:]
        if lease_ms:
            words = [w.replace("900000", str(lease_ms)) for w in words]
        start(self.server, words, tools(self.server))

    def __enter__(self):
        return self.server

    def __exit__(self, *error):
        self.server.sshd.terminate()
        self.server.sshd.wait(WAIT)

    @staticmethod
    def is_empty(server):
        """Nothing is left there but the client here and sshd."""
        def left():
            return [p for p in processes_marked(server.base)
                    if p not in (server.pid, server.sshd.pid) and "sshd" not in process_text(p)]
        eventually(lambda: not left(), WAIT, "left behind")


def audited(server):
    folder = os.path.join(server.state, "procpen", "audit")
    lines = []
    for name in os.listdir(folder):
        with open(os.path.join(folder, name)) as f:
            lines += map(json.loads, f)
    return lines


@suite.test()
def test_ssh_serves():
    with Far() as server:
        equal(server.run("echo $0; pwd")["stdout_summary"].split()[1], server.workspace, "pwd")
        run = server.run("cat", background=True, stdin_mode="pipe")["process_id"]
        server.call("process.follow", {"process_id": run})
        server.call("process.input", {"process_id": run, "data": "over\n"})
        eventually(lambda: server.ping() and any(
            n["params"].get("data") == "over\n" for n in server.notes), WAIT, "no event")
        equal(server.call("process.kill", {"process_id": run})["killed"], True, "killed")
        server.stop()
        Far.is_empty(server)
        equal(audited(server)[0]["host"], os.uname().nodename, "host")


@suite.test()
def test_ssh_client_dies():
    with Far() as server:
        pid = sleeper(server)
        server.process.kill()
        eventually(lambda: not is_alive(pid), WAIT, "the run has outlived its client")
        Far.is_empty(server)


@suite.test()
def test_ssh_client_freezes():
    with Far(lease_ms=1500) as server:
        pid = sleeper(server)
        server.process.send_signal(signal.SIGSTOP)
        eventually(lambda: not is_alive(pid), WAIT, "the run has outlived its lease")
        Far.is_empty(server)


@suite.test()
def test_ssh_connection_is_cut():
    """In the middle of output: what was acknowledged is on record, and all its runs have ended."""
    with Far() as server:
        runs = [server.run("while :; do echo 0123456789; done", background=True) for _ in (1, 2)]
        server.call("process.follow", {"process_id": runs[0]["process_id"]})
        check(server.receive(), "no output")
        with open("/proc/%d/task/%d/children" % (server.sshd.pid, server.sshd.pid)) as f:
            children = [int(pid) for pid in f.read().split()]
        check(children, "no child of sshd")
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        check(server.wait_exit() != 0, "ssh did not notice")
        eventually(lambda: not any(is_alive(r["pid"]) for r in runs), WAIT, "runs live on")
        Far.is_empty(server)
        records = audited(server)
        for run in runs:
            equal([r["event"] for r in records if r.get("process_id") == run["process_id"]][-1],
                  "end", "the record of " + run["process_id"])
        equal(records[-1]["event"], "server_stop", "the last record")


if __name__ == "__main__":
    suite.main()
