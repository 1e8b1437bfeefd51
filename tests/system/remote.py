#!/usr/bin/env python3
"""An engine elsewhere: the lease of a session whose client may be gone without an end of file."""
import json
import os
import signal
import subprocess
import sys
import time

try:
    import jsonschema
except ImportError:
    jsonschema = None

from client import (ROOT, STRESS, WAIT, Failure, RpcError, Server, Skip, check, equal, eventually,
                    is_alive, process_text, server_path)
from engines import Podman, PodmanExec, Slurm, Ssh, argv, entry, start, tools
from operating import blocks
from suite import Suite

suite = Suite(at_a_time=4)
LEASE_MS = 1500


def lease(ms):
    return ["--set", "server.lease_ms=%d" % ms, "--set", "server.eof_seconds=2"]


LEASE = lease(LEASE_MS)
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {},
              "clientInfo": {"name": "far", "version": "1"}}


def in_time(function):
    """Decorator: a test of a client that writes in time. A busy machine may not let it: then once more,
    with a longer lease."""
    def test():
        try:
            function(LEASE_MS)
        except Failure:
            function(4 * LEASE_MS)
    test.__name__ = function.__name__
    return suite.test()(test)


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
    equal((result["state"], result["reason"]), ("killed", "server_shutdown"), "the open run")
    check(result["stdout_summary"] in ("begun\n", ""), "output: %s" % result)  # "": a busy machine
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


@in_time
def test_answers_to_pings_keep_the_lease(lease_ms):
    plain = Server(*lease(lease_ms))
    plain.call("agent.session", {"ping": True})
    handshake = Server(*lease(lease_ms))
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


@in_time
def test_a_server_that_was_stopped_hears_its_client_first(lease_ms):
    server = Server(*lease(lease_ms))
    pid = sleeper(server)
    server.signal(signal.SIGSTOP)
    time.sleep(lease_ms / 1000 + 0.5)
    server.request("ping")
    server.signal(signal.SIGCONT)
    server.ping()
    check(is_alive(pid), "the run has ended although the client had written")
    server.stop()


# ---------------------------------------------------------------- engines

CALLER = "--user=%d:%d" % (os.geteuid(), os.getegid())
KEPT = "--userns=keep-id "
CONTAINER = ("%s run -i --rm %s -v W:W -v procpen-state:/var/lib/procpen --entrypoint procpen img")
SERVE = ["serve", "--set", "server.eof_seconds=2", "--set", "server.lease_ms=900000",
         "--workspace"]
STATE = ["--state-dir", "/var/lib/procpen"]
# An engine by name: it keeps what it was called with, and executes what it would elsewhere.
STUB = """#!%s
import os, sys
words = sys.argv[1:]
open(os.environ["STUB_LOG"], "w").write("\\n".join([os.path.basename(sys.argv[0]), *words]))
words = ["procpen", *words[words.index("serve"):]]
if "--state-dir" in words:
    words[words.index("--state-dir") + 1] = os.environ["STUB_STATE"]
os.execvp(words[0], words)
""" % sys.executable


@suite.test()
def test_presets_by_a_stub():
    """Arguments only: no container, cluster or job was there."""
    for over, before, after in (
            ("podman:img", CONTAINER % ("podman", KEPT * bool(os.geteuid()) + CALLER), STATE),
            ("docker:img", CONTAINER % ("docker", CALLER), STATE),
            ("kubectl:pod", "kubectl exec -i pod -- procpen", STATE),
            ("srun:-p gpu", "srun --ntasks=1 -p gpu procpen",
             ["--set", "env.allow=SLURM_*,CUDA_VISIBLE_DEVICES"]),
            ("podman exec -i box", "podman exec -i box procpen", [])):
        server = Server(start=False)
        words = entry(over, server.workspace)
        equal(words, before.replace("W", server.workspace).split() + SERVE + [server.workspace] +
              after, over)
        folder, log = tools(server.base), os.path.join(server.base, "log")
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
                                  ("podman:i", "/a:b", "colon"), ("x $(y)", "/w", "--over"),
                                  ("ssh:", "/w", "--over ssh: takes one name"), ("docker:", "/w", "one name"),
                                  ("", "/w", "--over needs a value"),
                                  ("shh:build1", "/w", 'no engine "shh"; the nearest is "ssh"'),
                                  ("build1", "/w", 'no program "build1" here'), ("ssh", "/w", "Write ssh:HOST"),
                                  ("dockr:image", "/w", 'nearest is "docker"'), ("vm:a", "/w", 'no engine "vm". There'),
                                  ("ssh:build1", None, "--workspace DIR"),
                                  ("srun:", None, "--over needs the workspace")):
        out = subprocess.run([server_path(), "setup", "codex", "--over", over] +
                             (["--workspace", workspace] if workspace else []),
                             capture_output=True, text=True, timeout=WAIT)
        equal((out.returncode, out.stdout), (2, ""), over)
        check(says in out.stderr and "command:" not in out.stderr, out.stderr)


# The members that the page's manifest may have, as the reference of the Kubernetes API (v1) has them.
CLAIM = {"name": str, "persistentVolumeClaim": {"claimName": str, "readOnly": bool}}
CONTAINER_SPEC = {"name": str, "image": str, "command": [str], "args": [str], "workingDir": str,
                  "resources": {"limits": {"memory": str, "cpu": str}},
                  "securityContext": {"allowPrivilegeEscalation": bool, "runAsUser": int},
                  "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}]}
POD = {"apiVersion": str, "kind": str, "metadata": {"name": str},
       "spec": {"securityContext": {"runAsUser": int, "runAsGroup": int, "fsGroup": int},
                "automountServiceAccountToken": bool, "containers": [CONTAINER_SPEC],
                "volumes": [CLAIM], "restartPolicy": str}}


def conforms(value, shape, where):
    if isinstance(shape, type):
        check(type(value) is shape, "%s is no %s" % (where, shape.__name__))
    elif isinstance(shape, list):
        check(isinstance(value, list), where + " is no array")
        for number, item in enumerate(value):
            conforms(item, shape[0], "%s[%d]" % (where, number))
    else:
        check(isinstance(value, dict), where + " is no object")
        for name, item in value.items():
            check(name in shape, "%s has no member %s" % (where, name))
            conforms(item, shape[name], where + "." + name)


def manifest():
    text = (ROOT / "docs" / "remote.md").read_text(encoding="utf-8")
    block, = [b for b in blocks(text) if b.startswith("{")]
    return json.loads(block)


@suite.test()
def test_the_published_schema_takes_the_manifest():
    if "POD_SCHEMA" not in os.environ:
        raise Skip("POD_SCHEMA names no file: a strict JSON schema of a pod (pod-v1.json)")
    if not jsonschema:
        raise Skip("python3-jsonschema is not installed")
    with open(os.environ["POD_SCHEMA"], encoding="utf-8") as f:
        validator = jsonschema.Draft7Validator(json.load(f))
    equal([error.message for error in validator.iter_errors(manifest())], [], "errors")
    check(not validator.is_valid(dict(manifest(), spce={})), "it takes a member that there is not")


@suite.test()
def test_the_manifest_for_kubectl():
    pod = manifest()
    conforms(pod, POD, "pod")
    equal((pod["apiVersion"], pod["kind"]), ("v1", "Pod"), "kind")
    container, = pod["spec"]["containers"]
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    equal(sorted(mounts.values()), sorted(v["name"] for v in pod["spec"]["volumes"]), "volumes")
    words = entry("kubectl:" + pod["metadata"]["name"], "/workspace")
    for option in ("--workspace", "--state-dir"):
        check(words[words.index(option) + 1] in mounts, option + " is on no volume")


@suite.test()
def test_rootless_podman_runs_as_the_caller():
    """Whatever user the image names: podman takes that one with keep-id alone."""
    if os.geteuid():
        raise Skip("only root can become another user; the stub above has seen this one's words")
    words = entry("podman:img", "/workspace", as_user=["setpriv", "--reuid", "1234", "--regid", "1235",
                                                       "--clear-groups", "env", "HOME=/nonexistent"])
    equal(words[4:6], [KEPT.strip(), "--user=1234:1235"], "user")


# ---------------------------------------------------------------- real engines

def records(engine, instance):
    """The audit log of one server."""
    folder = os.path.join(engine.state(), "audit")
    name, = [n for n in os.listdir(folder) if instance in n]
    with open(os.path.join(folder, name)) as f:
        return list(map(json.loads, f))


def is_over(engine, server):
    """Nothing of the session is left elsewhere."""
    try:
        eventually(lambda: not engine.elsewhere(server), WAIT, "left behind")
    except Failure as e:
        raise Failure("%s: %s" % (e, "; ".join(map(process_text, engine.elsewhere(server)))))


DAEMON = "(trap '' TERM HUP INT; exec setsid sleep 1000 >/dev/null 2>&1)"


def terminals(pid):
    """Those that @pid has open: a command that can open them too could write answers of its own.
    Only root can look."""
    folder = "/proc/%d/fd" % pid
    if not os.access(folder, os.R_OK):
        return []
    return [link for link in (os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder))
            if link.startswith(("/dev/pts", "/dev/tty"))]


def serves(engine):
    server = engine.session()
    instance = server.call("agent.session")["server"]["instance"]
    for pid in engine.elsewhere(server):
        equal(terminals(pid), [], "terminals of " + process_text(pid))
    equal(server.run("pwd")["stdout_summary"], server.workspace + "\n", "pwd")
    run = server.run("cat", background=True, stdin_mode="pipe")["process_id"]
    server.call("process.follow", {"process_id": run})
    server.call("process.input", {"process_id": run, "data": "over\n"})
    eventually(lambda: server.ping() and any(
        n["params"].get("data") == "over\n" for n in server.notes), WAIT, "no event")
    equal(server.call("process.kill", {"process_id": run})["killed"], True, "killed")
    # A line longer than what any relay holds, both ways, and an answer on the way at the end.
    text = "x" * 200000
    last = server.request("process.run", {"command": "cat", "stdin": text, "max_output_bytes": 300000})
    server.close_input()
    equal(server.result(last)["stdout_summary"], text, "the last answer")
    equal(server.wait_exit(), 0, "exit status")
    is_over(engine, server)
    is_recorded(engine, instance, [run], "serves")


def begin(engine, **options):
    """A session, its instance, and the ids of runs that would outlive it: one waits, one leaves a
    daemon that ignores what it can."""
    server = engine.session(**options)
    instance = server.call("agent.session")["server"]["instance"]
    runs = [server.run(command, background=True, environment={"SESSION": server.base})["process_id"]
            for command in ("sleep 1000", DAEMON + " & sleep 1000")]
    eventually(lambda: sum("sleep" in argv(pid)[0] for pid in engine.elsewhere(server)) >= 3, WAIT,
               "the runs have not begun")
    return server, instance, runs


def is_recorded(engine, instance, runs, scenario):
    """What was answered is on record, and its end too unless the engine killed procpen."""
    log = records(engine, instance)
    starts = [r for r in log if (r["event"], r.get("capability")) == ("attempt", "process.run")]
    check(len(starts) >= len(runs), "only %d starts are on record" % len(starts))
    if scenario in engine.kills:
        return
    ends = [r["process_id"] for r in log if r["event"] == "end"]
    equal([run for run in runs if run not in ends], [], "runs without a record of their end")
    equal(log[-1]["event"], "server_stop", "the last record")


def client_dies(engine):
    server, instance, runs = begin(engine)
    server.process.kill()
    is_over(engine, server)
    is_recorded(engine, instance, runs, "client_dies")


def client_freezes(engine):
    server, instance, runs = begin(engine, lease_ms=1500)
    server.process.send_signal(signal.SIGSTOP)
    is_over(engine, server)
    is_recorded(engine, instance, runs, "client_freezes")
    server.process.kill()


def connection_is_cut(engine):
    """In the middle of output."""
    server, instance, runs = begin(engine)
    runs.append(server.run("while :; do echo 0123456789; done", background=True)["process_id"])
    server.call("process.follow", {"process_id": runs[-1]})
    check(server.receive(), "no output")
    engine.cut(server)
    is_over(engine, server)
    is_recorded(engine, instance, runs, "connection_is_cut")
    if engine.notices_cuts:
        check(server.wait_exit() != 0, "the client did not notice")
    server.process.kill()


def works_through(kind, *scenarios):
    def works():
        with kind() as engine:
            for scenario in scenarios:
                try:
                    scenario(engine)
                except (Failure, RpcError, OSError) as e:
                    raise Failure("%s: %s" % (scenario.__name__, e)) from e
    works.__name__ = "test_%s_works" % kind.__name__.lower()
    suite.test()(works)


for kind in (Podman, Slurm, Ssh, *([PodmanExec] if STRESS else [])):
    works_through(kind, serves, client_dies, client_freezes, connection_is_cut)


if __name__ == "__main__":
    suite.main()
