"""The notices that go with every package, for those that have no room for them."""
import common
import libraries


def make():
    common.write("procpen-%s-THIRD-PARTY.txt" % common.version(), libraries.notices())
