"""Engines that start procpen elsewhere, each a real one of its own: on the loopback, in a scratch
directory, ended by its pid. One start serves many sessions.

An engine that is not installed, or does not start on this machine, raises Skip with the reason.
"""
import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess

from client import (WAIT, Failure, Server, Skip, check, equal, eventually, free_port,
                    server_path)

SBIN = "/usr/sbin:/usr/local/sbin:" + os.environ["PATH"]


def entry(over, workspace, as_user=()):
    """The words of the entry that setup makes for opencode."""
    out = subprocess.run([*as_user, server_path(), "setup", "opencode", "--over", over, "--workspace",
                          workspace], capture_output=True, text=True, timeout=WAIT)
    equal(out.returncode, 0, out.stderr)
    return json.loads(out.stdout)["mcp"]["procpen"]["command"]


def start(server, words, path):
    """Start @server by @words of an entry, with @path before its PATH."""
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


def tools(base):
    """A folder for PATH that has procpen."""
    folder = os.path.join(base, "bin")
    os.makedirs(folder, exist_ok=True)
    os.symlink(server_path(), os.path.join(folder, "procpen"))
    return folder


def argv(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def children(pid):
    """Its own and those of its threads."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as f:
                found += map(int, f.read().split())
    return found


def marked(mark):
    """Pids of living processes whose arguments or environment have @mark."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        text = b""
        for part in ("cmdline", "environ"):  # a server's environment is root's to read
            with contextlib.suppress(OSError), open("/proc/%s/%s" % (name, part), "rb") as f:
                text += f.read()
        if mark.encode() in text:
            found.append(int(name))
    return found


def need(*programs):
    for program in programs:
        if not shutil.which(program, path=SBIN):
            raise Skip("%s is not installed" % program)


class Engine:
    """@over: what `setup --over` is told. @here: programs of it that bear a session's name without
    being part of what runs elsewhere."""

    here = ()
    notices_cuts = False  # the client ends at once when its connection is cut
    kills = ()  # scenarios in which the engine sends SIGKILL to procpen

    def __init__(self):
        self.owner = Server(start=False)
        self.base = self.owner.base
        os.chmod(self.base, 0o755)
        self.env = {}
        self.daemons, self.clients = [], []

    def __enter__(self):
        try:
            self.path = tools(self.base)
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(WAIT)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def daemon(self, *words):
        with open(os.path.join(self.base, "daemons.log"), "ab") as log:
            self.daemons.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log,
                                                 stderr=log, env={**self.owner.env, **self.env,
                                                                  "PATH": SBIN}))
        return self.daemons[-1]

    def command(self, *words):
        """What a program of the engine prints."""
        out = subprocess.run(words, env={**self.owner.env, **self.env}, capture_output=True, text=True,
                             timeout=WAIT)
        check(out.returncode == 0, "%s: %s" % (" ".join(words), out.stderr.strip()))
        return out.stdout

    def write(self, name, text):
        path = os.path.join(self.base, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def session(self, lease_ms=None):
        """A server of its own over the engine, by the entry of its preset."""
        name = "session-%d." % len(self.clients)
        server = Server(start=False, base=os.path.join(self.base, name))
        words = self.reach(entry(self.over, server.workspace))
        if lease_ms:
            words = [w.replace("lease_ms=900000", "lease_ms=%d" % lease_ms) for w in words]
        server.env.update(self.env, HOME=self.owner.home)
        self.clients.append(start(server, words, self.path).process)
        return server

    def reach(self, words):
        """The entry's words, as they reach this engine and not the machine's own."""
        return words

    def elsewhere(self, server):
        """Living processes of @server's session, but its client here."""
        return [pid for pid in marked(server.base)
                if pid != server.pid and os.path.basename(argv(pid)[0]) not in self.here]

    def parent(self, server, name):
        """The pid of the process @name that procpen was started by, there."""
        for pid in self.elsewhere(server):
            with contextlib.suppress(OSError), open("/proc/%d/stat" % pid) as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
                if os.path.basename(argv(parent)[0]).startswith(name):
                    return parent
        raise Failure("no %s has started procpen" % name)

    def state(self):
        """The state directory that all sessions share."""
        return os.path.join(self.owner.state, "procpen")


class Ssh(Engine):
    """A sshd of our own."""

    over = "ssh:far"
    here = ("ssh",)
    notices_cuts = True

    def start(self):
        need("sshd", "ssh", "ssh-keygen")
        if pwd.getpwuid(os.geteuid()).pw_shell.endswith(("nologin", "false")):
            raise Skip("this user has no login shell")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", 0o755, exist_ok=True)
        at = os.path.join(self.base, "ssh")
        os.mkdir(at, 0o700)
        for key in ("host", "user"):
            self.command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at + "/" + key)
        shutil.copy(at + "/user.pub", at + "/authorized")
        port = free_port()
        options = {"ListenAddress": "127.0.0.1:%d" % port, "HostKey": at + "/host",
                   "PidFile": "none", "AuthorizedKeysFile": at + "/authorized", "UsePAM": "no",
                   "StrictModes": "no", "PermitRootLogin": "prohibit-password",
                   "PasswordAuthentication": "no", "MaxStartups": "100",
                   "SetEnv": "HOME=%s PATH=%s/bin:/usr/bin:/bin XDG_STATE_HOME=%s" % (
                       self.owner.home, self.base, self.owner.state)}
        self.write("ssh/sshd_config", "".join("%s %s\n" % item for item in options.items()))
        self.config = self.write("ssh/config", (
            "Host far build1 build2\nHostName 127.0.0.1\nPort %d\nUser %s\nIdentityFile %s/user\n"
            "IdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile %s/known\n"
            "LogLevel ERROR\n") % (port, pwd.getpwuid(os.geteuid()).pw_name, at, at))
        self.sshd = self.daemon(shutil.which("sshd", path=SBIN), "-D", "-e", "-f",
                                at + "/sshd_config")

        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0
        eventually(listens, WAIT, "sshd does not listen")

    def reach(self, words):
        return ["ssh", "-F", self.config, *words[1:]]

    def cut(self, server):
        for pid in children(self.sshd.pid):
            os.kill(pid, signal.SIGKILL)


class Podman(Engine):
    """podman with an image of the programs that a test needs."""

    over = "podman:procpen-test"
    here = ("podman", "conmon")
    runtimes = ("crun", "runc")

    def start(self):
        need("podman", "conmon")
        if os.geteuid() != 0:
            raise Skip("podman is tried as root only")
        self.write("storage.conf", '[storage]\ndriver = "vfs"\ngraphroot = "%s/root"\n'
                   'runroot = "%s/run"\n' % (self.base, self.base))
        self.env = {"CONTAINERS_CONF": self.base + "/containers.conf",
                    "CONTAINERS_STORAGE_CONF": self.base + "/storage.conf"}
        installed = [name for name in self.runtimes if shutil.which(name)]
        if not installed:
            raise Skip("no container starts here: neither crun nor runc")
        self.configure(installed[0])  # podman asks for it at an import, too
        self.import_image()
        reasons = []
        for runtime in installed:
            self.configure(runtime)
            try:
                self.command("podman", "run", "--rm", "--entrypoint", "procpen", "procpen-test",
                             "version")
                return
            except Exception as why:
                reasons.append("%.200s" % why)
        raise Skip("no container starts here: " + "; ".join(reasons))

    def configure(self, runtime):
        """The limits that podman sets by default may be above what this machine allows."""
        self.write("containers.conf", """[containers]
netns = "none"
default_ulimits = ["nofile=1024:4096", "nproc=1000:1000"]
log_driver = "none"
env = ["PATH=/usr/bin:/bin", "ASAN_OPTIONS=detect_leaks=0"]
[engine]
runtime = "%s"
cgroup_manager = "cgroupfs"
events_logger = "none"
tmp_dir = "%s/tmp"
static_dir = "%s/root/libpod"
volume_path = "%s/root/volumes"
""" % (runtime, self.base, self.base, self.base))

    def import_image(self):
        """With an entry point and a user that the entry must not depend on."""
        root = os.path.join(self.base, "image")
        for folder in ("usr/bin", "tmp"):
            os.makedirs(os.path.join(root, folder))
        os.symlink("usr/bin", os.path.join(root, "bin"))
        for program in (server_path(), *map(shutil.which, ("sh", "sleep", "cat", "setsid"))):
            shutil.copy(program, os.path.join(root, "usr/bin"))
            needs = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
            for library in re.findall(r"(/\S+) \(0x", needs.stdout):
                os.makedirs(root + os.path.dirname(library), exist_ok=True)
                shutil.copy(library, root + library)
        tar = os.path.join(self.base, "image.tar")
        self.command("tar", "-C", root, "-cf", tar, ".")
        self.command("podman", "import", "--quiet", "--change", 'ENTRYPOINT ["/usr/bin/sleep"]',
                     "--change", "USER 65532:65532", tar, "procpen-test")

    def state(self):
        return os.path.join(self.base, "root", "volumes", "procpen-state", "_data")

    def cut(self, server):
        """The monitor of the container holds the other ends of its pipes."""
        os.kill(self.parent(server, "conmon"), signal.SIGKILL)

    def __exit__(self, *error):
        if self.env:
            subprocess.run(["podman", "rm", "--all", "--force", "--time", "0"], timeout=WAIT,
                           env={**self.owner.env, **self.env}, capture_output=True, check=False)
        # What podman forgets where its monitor was killed; each mount makes every later sandbox dearer.
        with open("/proc/self/mounts", encoding="utf-8") as f:
            places = [line.split()[1] for line in f]
        for place in reversed([p for p in places if p.startswith(self.base + "/")]):
            subprocess.run(["umount", place], timeout=WAIT, check=False)


class PodmanExec(Podman):
    """A procpen beside others in a container that is there already."""

    over = "podman exec -i box"

    def start(self):
        super().start()
        os.mkdir(os.path.join(self.base, "state.d"))
        self.command("podman", "run", "--detach", "--name", "box", "--user", "%d:%d" % (
            os.geteuid(), os.getegid()), "-v", "%s:%s" % (self.base, self.base), "--env",
            "XDG_STATE_HOME=" + self.owner.state, "procpen-test", "3600")

    def state(self):
        return Engine.state(self)


class Slurm(Engine):
    """A cluster of one node: munged, slurmctld and slurmd."""

    over = "srun:"
    here = ("srun",)
    kills = ("client_dies",)  # a helper of srun outlives it, and cancels the job
    options = "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"

    def start(self):
        need("munged", "slurmctld", "slurmd", "srun")
        for folder in ("state.d", "spool"):
            os.mkdir(os.path.join(self.base, folder))
        host, user = os.uname().nodename, pwd.getpwuid(os.geteuid()).pw_name
        key = os.path.join(self.base, "key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as f:
            f.write(os.urandom(128))
        at = {"at": self.base, "host": host, "user": user, "options": self.options}
        at["ctld"], at["slurmd"] = free_port(), free_port()
        self.env = {"XDG_STATE_HOME": self.owner.state, "SLURM_CONF": self.write("slurm.conf", """ClusterName=procpen
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmdPort={slurmd}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={at}/munge
StateSaveLocation={at}/state.d
SlurmdSpoolDir={at}/spool
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.pid
SlurmdParameters=config_overrides
SlurmctldParameters=idle_on_node_suspend
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
KillWait=5
MaxArraySize=2001
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
{options}NodeName={host} NodeAddr=127.0.0.1 CPUs=16
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
""".format(**at))}
        self.daemon("munged", "--foreground", *("--%s=%s/%s" % (option, self.base, name)
                    for option, name in (("socket", "munge"), ("key-file", "key"),
                                         ("log-file", "munge.log"), ("pid-file", "munge.pid"),
                                         ("seed-file", "seed"))))
        self.wait_for(lambda: os.path.exists(self.base + "/munge"))
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D")
        self.wait_for(lambda: "idle" in subprocess.run(
            ["sinfo", "-h", "-o", "%t"], env={**self.owner.env, **self.env}, timeout=WAIT,
            capture_output=True, text=True, check=False).stdout)

    def __exit__(self, *error):
        """The daemon of a step ends once slurmctld has heard of its end."""
        for client in self.clients:
            client.kill()
        if self.env:
            with contextlib.suppress(Failure):
                eventually(lambda: not self.command("squeue", "-h"), WAIT, "jobs are left")
        super().__exit__()

    def wait_for(self, condition):
        def holds():
            if any(daemon.poll() is not None for daemon in self.daemons):
                with open(self.base + "/daemons.log", errors="replace") as f:
                    lines = f.read().strip().splitlines() or [""]
                raise Skip("a daemon of Slurm does not start here: " + lines[-1])
            return condition()
        eventually(holds, WAIT, "Slurm is not ready")

    def cut(self, server):
        """The daemon of the step holds the other ends of its pipes."""
        os.kill(self.parent(server, "slurmstepd"), signal.SIGKILL)
