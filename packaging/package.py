#!/usr/bin/python3
"""Makes packages out of the program that `make stage` has put below build/stage.

    packaging/package.py KIND...

A kind is a module beside this file. It writes into build/packages, and the same sources give the
same bytes in every folder.
"""
import importlib
import subprocess
import sys

from common import Failed


def main():
    for kind in sys.argv[1:]:
        try:
            importlib.import_module(kind.replace("-", "_")).make()
        except (Failed, OSError, subprocess.CalledProcessError) as why:
            print("%s: no package %s: %s" % (sys.argv[0], kind, why), file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
