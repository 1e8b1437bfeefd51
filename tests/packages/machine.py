"""Another machine as qemu-system pretends it: its kernel, busybox, and the program, in memory alone."""
import re
import subprocess
from pathlib import Path

from rig import check, need

SCRIPT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir /dev/pts /dev/shm; mount -t devpts pts /dev/pts; mount -t tmpfs tmp /dev/shm
mount -t tmpfs -o mode=1777 tmp /tmp; mount -t cgroup2 cgroup /sys/fs/cgroup
cd /project
%s
poweroff -f
"""
# Around what a step writes, alone on a line.
STEP = 'echo; echo "<step %d>"; ( %s ) 2>&1 </dev/null; s=$?; echo; echo "<status $s>"'
ANSWER = re.compile(r"^<step (\d+)>$(.*?)\n\n?^<status (\d+)>$", re.M | re.S)


def archive(members):
    """An initramfs (cpio in the form newc, cpio(5)) of @members, {path: (mode, content, device)}."""
    out = b""
    ended = [*members.items(), ("TRAILER!!!", (0, b"", (0, 0)))]
    for number, (path, (mode, content, device)) in enumerate(ended):
        name = path.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name), 0)
        for part in (b"070701" + b"".join(b"%08x" % field for field in fields) + name, content):
            out += part + b"\0" * (-len(part) % 4)
    return out


def members(files, steps):
    """A root directory with @files, {path: content} of programs, whose first process plays @steps."""
    folders = ("bin dev etc lib proc project root sys tmp").split()
    script = SCRIPT % "\n".join(STEP % step for step in enumerate(steps))
    found = {folder: (0o40755, b"", (0, 0)) for folder in folders}
    found.update({path: (0o100755, content, (0, 0)) for path, content in files.items()})
    found["init"] = (0o100755, script.encode(), (0, 0))
    found["etc/passwd"] = (0o100644, b"root:x:0:0::/root:/bin/sh\nguest:x:1234:1234::/tmp:/bin/sh\n",
                           (0, 0))
    found["etc/group"] = (0o100644, b"root:x:0:\nguest:x:1234:\n", (0, 0))
    found["dev/console"] = (0o20600, b"", (5, 1))
    return found


def played(folder, kernel, files, steps, limit):
    """[(status, output)] of the shell commands @steps, one after the other, in a machine of its own."""
    need("qemu-system-aarch64")
    initramfs = Path(folder) / "initramfs"
    initramfs.write_bytes(archive(members(files, steps)))
    console = subprocess.run(
        ["qemu-system-aarch64", "-machine", "virt", "-cpu", "max", "-m", "1024", "-smp", "2",
         "-nographic", "-no-reboot", "-nic", "none", "-kernel", str(kernel), "-initrd",
         str(initramfs), "-append", "console=ttyAMA0 loglevel=1 panic=-1"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", timeout=limit, check=False).stdout.replace("\r", "")
    found = {int(number): (int(status), output.strip("\n"))
             for number, output, status in ANSWER.findall(console)}
    check(len(found) == len(steps), "%d of %d steps ended; the last lines: %s" % (
        len(found), len(steps), console[-1500:]))
    return [found[number] for number in range(len(steps))]
