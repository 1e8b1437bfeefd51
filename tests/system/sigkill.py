#!/usr/bin/env python3
"""The server is killed at any moment, under load: nothing of its runs is left, within a second.

A machine that is busy with other things may take longer to run the shims, and this test to check:
every round must leave nothing at all, and in `make stress` most of them within the second.
"""
import random
import signal
import time

from client import STRESS, Server, check, equal
from suite import Suite

suite = Suite()
ROUNDS = 1000 if STRESS else 50
SEED = 20260101
MODES = [[], ["--set", "sandbox.namespaces=false"], ["--set", "sandbox.profile=none"]]
ESCAPEES = ["child", "double", "setsid", "ignore", "daemon", "stop", "subreaper", "nowait"]


def load(server, rng):
    """Requests that are all in progress at once; nothing waits for an answer."""
    for _ in range(rng.randint(1, 8)):
        kinds = rng.sample(ESCAPEES, rng.randint(1, 4))
        server.request("process.run", {
            "command": server.hostile_path(), "background": rng.random() < 0.5,
            "args": ["escape", rng.choice(["stay", "leave"])] + kinds})
    for _ in range(rng.randint(0, 8)):
        server.request("process.run", {"command": "true; sleep 0.0%d" % rng.randint(0, 9)})


def one_round(rng, number):
    """Seconds until nothing was left."""
    server = Server(*MODES[number % len(MODES)])
    load(server, rng)
    end = time.monotonic() + rng.choice([0.0, 0.005, 0.03, 0.15]) * rng.random()
    while time.monotonic() < end:
        server.pump(end - time.monotonic())
    start = time.monotonic()
    server.signal(signal.SIGKILL)
    server.wait_exit()
    left = server.survivors()
    took = time.monotonic() - start
    equal(left, [], "alive %.1f s after the SIGKILL of round %d (mode %s)" % (
        took, number, MODES[number % len(MODES)]))
    server.destroy()
    return took


@suite.test(3600 if STRESS else 240)
def test_sigkill_at_any_moment():
    rng = random.Random(SEED)
    took = sorted(one_round(rng, number) for number in range(ROUNDS))
    print("      %.2f s until nothing is left, the median of %d rounds" % (took[ROUNDS // 2], ROUNDS))
    check(not STRESS or took[ROUNDS // 2] <= 1, "half of the rounds took more than a second")


if __name__ == "__main__":
    suite.main()
