"""Prints a session so that a person can follow it: used by `run.py --demo`."""
import json
import shutil
import sys
import textwrap
import time

COLOURS = {"head": "1", "ask": "36", "ok": "32", "bad": "31", "note": "33", "dim": "2"}
SHORT = 44  # members shorter than this share a line


class Show:
    def __init__(self):
        self.colours = sys.stdout.isatty()
        self.width = min(shutil.get_terminal_size((100, 24)).columns, 110)
        self.started = {}

    def _paint(self, kind, text):
        return "\033[%sm%s\033[0m" % (COLOURS[kind], text) if self.colours else text

    def heading(self, text):
        print("\n" + self._paint("head", text))

    def _value(self, name, value, indent):
        """One member on lines of its own; text of several lines as a block."""
        pad = " " * indent
        if isinstance(value, str) and "\n" in value:
            print("%s%s:" % (pad, name))
            self._block(value, pad)
            return
        if isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            print("%s%s:" % (pad, name))
            for item in value:
                if set(item) == {"type", "text"}:
                    self._block(item["text"], pad)
                else:
                    self._line(pad + "  - ", item)
            return
        if isinstance(value, dict) and len(json.dumps(value)) > self.width - indent - 20:
            print("%s%s:" % (pad, name))
            self._members(value, indent + 2)
            return
        self._line("%s%s: " % (pad, name), value)

    def _block(self, text, pad):
        for line in text.rstrip("\n").split("\n"):
            for part in textwrap.wrap(line, self.width - len(pad) - 4,
                                      break_on_hyphens=False) or [""]:
                print("%s  %s %s" % (pad, self._paint("dim", "|"), part))

    def _line(self, start, value):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        print(textwrap.fill(start + (text or '""'), self.width, subsequent_indent=" " * 8,
                            break_on_hyphens=False, break_long_words=False))

    def _members(self, value, indent=4):
        """All members in their order; neighbours that are short are put on one line."""
        if not isinstance(value, dict):
            self._line(" " * indent, value)
            return
        line = ""
        for key, inner in value.items():
            text = inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
            item = "%s: %s" % (key, text or '""')
            short = len(item) < SHORT and "\n" not in item
            if line and (not short or indent + len(line) + len(item) + 3 > self.width):
                print(" " * indent + line)
                line = ""
            if short:
                line = line + "   " + item if line else item
            else:
                self._value(key, inner, indent)
        if line:
            print(" " * indent + line)

    def sent(self, text):
        try:
            message = json.loads(text)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            print(self._paint("ask", "\n--> ") + text[:self.width])
            return
        if "id" in message:
            self.started[json.dumps(message["id"])] = time.monotonic()
        title = message.get("method") or "(answer to the server's question)"
        print("\n" + self._paint("ask", "--> %s" % title) +
              self._paint("dim", "  id %s" % json.dumps(message.get("id"))))
        self._members(message.get("params", message.get("result", {})))

    def received(self, message):
        if not isinstance(message, dict):
            self._line("<-- ", message)
            return
        if "method" in message:
            print(self._paint("note", "<-- %s" % message["method"]))
            self._members(message.get("params", {}))
            return
        took = time.monotonic() - self.started.pop(json.dumps(message["id"]), time.monotonic())
        kind, word = ("bad", "error") if "error" in message else ("ok", "result")
        print(self._paint(kind, "<-- %s" % word) +
              self._paint("dim", "  id %s, after %.1f ms" % (json.dumps(message["id"]),
                                                           took * 1000)))
        self._members(message.get("result", message.get("error")))
