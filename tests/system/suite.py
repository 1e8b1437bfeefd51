"""Runs the tests of one file: one line for each, and the counts at the end.

Each test has a hard time limit. After each, its servers are destroyed; a process that is left
behind or a report of a sanitizer makes it a failure. Tests that wait most of the time run side by
side, in processes of their own.
"""
import collections
import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import traceback

from client import Failure, RpcError, Skip, destroy_servers, server_path


class Suite:
    """Tests of one file, started in the order of their definition, @at_a_time of them at once."""

    def __init__(self, at_a_time=1):
        self.at_a_time = at_a_time
        self.tests = []
        self.alone = []

    def test(self, limit=300, alone=False):
        """Decorator: a test with a hard time limit in seconds, a guard against hanging. @alone: it
        bears no other test of the file beside it, and comes behind all of them."""
        def add(function):
            (self.alone if alone else self.tests).append(
                (function.__name__.replace("test_", "", 1), function, limit))
            return function
        return add

    def run_one(self, name, function, limit):
        def expired(number, frame):
            raise Failure("the test took more than %d s" % limit)

        started = time.monotonic()
        signal.signal(signal.SIGALRM, expired)
        signal.alarm(limit)
        reason, outcome = "", "ok"
        try:
            function()
        except Skip as e:
            reason, outcome = str(e), "SKIP"
        except (Failure, RpcError, OSError, subprocess.SubprocessError) as e:
            program = os.path.basename(sys.argv[0])
            lines = [str(frame.lineno) for frame in traceback.extract_tb(e.__traceback__)
                     if os.path.basename(frame.filename) == program]
            reason = "%s: %s (line %s)" % (type(e).__name__, e, ", ".join(lines))
            outcome = "FAIL"
        except Exception:
            reason, outcome = traceback.format_exc(), "FAIL"
        finally:
            signal.alarm(0)
        complaints = destroy_servers()
        if complaints:
            reason = "; ".join(filter(None, [reason] + complaints))
            outcome = "FAIL"
        seconds = time.monotonic() - started
        print("%-5s %s%s%s" % (outcome, name, " (%.1f s)" % seconds if seconds >= 1 else "",
                               ": " + reason if reason else ""), flush=True)
        return outcome

    def outcomes(self, tests):
        """Runs @tests; what came of each."""
        if self.at_a_time == 1:
            return [self.run_one(*test) for test in tests]
        fork = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(self.at_a_time, fork, forked.update,
                                                    [{"suite": self, "tests": tests}]) as pool:
            return list(pool.map(run_forked, range(len(tests))))

    def main(self):
        if not os.access(server_path(), os.X_OK):
            print("FAIL  %s is missing: run make first" % server_path())
            print("0 passed, 1 failed, 0 skipped")
            sys.exit(1)
        words = sys.argv[1:]
        wanted, alone = ([test for test in tests if not words or any(w in test[0] for w in words)]
                         for tests in (self.tests, self.alone))
        counts = collections.Counter(self.outcomes(wanted))
        counts.update(self.run_one(*test) for test in alone)
        print("%d passed, %d failed, %d skipped" % (counts["ok"], counts["FAIL"], counts["SKIP"]))
        sys.exit(1 if counts["FAIL"] else 0)


forked = {}  # in a process that runs tests for another: the suite, and its tests


def run_forked(number):
    """A test is no value that could be sent: the fork has copied it."""
    return forked["suite"].run_one(*forked["tests"][number])
