"""Runs the tests of one file: one line for each, and the counts at the end.

Each test has a hard time limit. After each, its servers are destroyed; a process that is left
behind or a report of a sanitizer makes it a failure.
"""
import collections
import os
import signal
import subprocess
import sys
import time
import traceback

from client import Failure, RpcError, Skip, destroy_servers, server_path


class Suite:
    """Tests of one file, run in the order of their definition."""

    def __init__(self):
        self.tests = []

    def test(self, limit=300):
        """Decorator: a test with a hard time limit in seconds, a guard against hanging."""
        def add(function):
            self.tests.append((function.__name__.replace("test_", "", 1), function, limit))
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

    def main(self):
        wanted = sys.argv[1:]
        if not os.access(server_path(), os.X_OK):
            print("FAIL  %s is missing: run make first" % server_path())
            print("0 passed, 1 failed, 0 skipped")
            sys.exit(1)
        counts = collections.Counter()
        for name, function, limit in self.tests:
            if wanted and not any(w in name for w in wanted):
                continue
            counts[self.run_one(name, function, limit)] += 1
        print("%d passed, %d failed, %d skipped" % (counts["ok"], counts["FAIL"], counts["SKIP"]))
        sys.exit(1 if counts["FAIL"] else 0)
