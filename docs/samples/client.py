#!/usr/bin/env python3
"""A client of procpen without packages: python3 client.py [PROCPEN [WORKSPACE]]

Starts a command in the background, reads what it writes, and kills it.
"""
import json
import subprocess
import sys


class Procpen:
    def __init__(self, program, workspace):
        self.process = subprocess.Popen([program, "serve", "--workspace", workspace],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last_id = 0

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, method, **params):
        """The result of one call; the server's own messages may come before it."""
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message:
                self.on_message(message)
            elif message["id"] == self.last_id:
                if "error" in message:
                    raise RuntimeError("{message} {data[hint]}".format(**message["error"]))
                return message["result"]
        raise EOFError("procpen has ended")

    def on_message(self, message):
        """A notification, such as capability.notify; or the question capability.confirm."""
        if "id" in message:
            self.send({"id": message["id"], "result": {"allow": False}})

    def close(self):
        """End of file ends the server, and all that it runs."""
        self.process.stdin.close()
        return self.process.wait()


if __name__ == "__main__":
    procpen = Procpen(*(sys.argv[1:] + ["procpen", "."][len(sys.argv) - 1:]))
    run = procpen.call("process.run", command="echo ready; sleep 600", background=True)
    page = procpen.call("process.logs", process_id=run["process_id"], wait_ms=60000)
    end = procpen.call("process.kill", process_id=run["process_id"])
    print("output:", page["stdout"].strip())
    print("state:", end["state"])
    sys.exit(procpen.close())
