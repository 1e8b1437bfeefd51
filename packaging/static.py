"""One file that needs only a kernel."""
import common


def make():
    name = "procpen-%s-linux-%s" % (common.version(), common.machine()[0])
    common.write(name, common.PROGRAM.read_bytes(), 0o755)
