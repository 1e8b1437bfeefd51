#!/usr/bin/python3
"""Both official SDK clients against procpen, through a tap whose records are judged."""
import sys

from rig import HERE, Scratch, main, steps

SCRIPTS = (("sdk 1.x", "sdk_v1.mjs", {}),
           ("client 2.x legacy", "sdk_v2.mjs", {"MODE": "legacy"}),
           ("client 2.x auto", "sdk_v2.mjs", {"MODE": "auto"}),
           ("client 2.x pinned", "sdk_v2.mjs", {"MODE": "2026-07-28"}))


def test(counts, packages):
    for name, script, env in SCRIPTS:
        if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
            continue
        with Scratch() as scratch:
            command = " ".join(scratch.tapped("lines"))
            environment = packages.environment(scratch.home, SERVER_COMMAND=command,
                                               SERVER_CWD=scratch.work, **env)
            steps(counts, name, *scratch.run([packages.node, str(HERE / script)], environment))
            scratch.judge(counts, "lines")


if __name__ == "__main__":
    main("clients", "SDK clients", test)
