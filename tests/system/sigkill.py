#!/usr/bin/env python3
"""The server is killed at any moment, under load: a second later nothing of its runs is left."""
import random
import signal
import time

from client import STRESS, Server, equal
from suite import Suite

suite = Suite()
ROUNDS = 1000 if STRESS else 50
SEED = 20260101
MODES = [[], ["--set", "sandbox.namespaces=false"], ["--set", "sandbox.profile=none"]]
ESCAPEES = ["child", "double", "setsid", "ignore", "daemon", "stop", "subreaper", "nowait"]


def load(server, rng):
    """Requests that are all under way at once; nobody waits for an answer."""
    for _ in range(rng.randint(1, 8)):
        kinds = rng.sample(ESCAPEES, rng.randint(1, 4))
        server.request("process.run", {
            "command": server.hostile_path(), "background": rng.random() < 0.5,
            "args": ["escape", rng.choice(["stay", "leave"])] + kinds})
    for _ in range(rng.randint(0, 8)):
        server.request("process.run", {"command": "true; sleep 0.0%d" % rng.randint(0, 9)})


def one_round(rng, number):
    server = Server(*MODES[number % len(MODES)])
    load(server, rng)
    end = time.monotonic() + rng.choice([0.0, 0.005, 0.03, 0.15]) * rng.random()
    while time.monotonic() < end:
        server.pump(end - time.monotonic())
    server.signal(signal.SIGKILL)
    server.wait_exit(5)
    left = server.survivors(1.0)
    equal(left, [], "alive a second after the SIGKILL of round %d (mode %s)" % (
        number, MODES[number % len(MODES)]))
    server.destroy()


@suite.test()
def test_sigkill_at_any_moment():
    rng = random.Random(SEED)
    for number in range(ROUNDS):
        one_round(rng, number)


if __name__ == "__main__":
    suite.main()
