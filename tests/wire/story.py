"""Reads a story: a transcript of one session, with what is expected of the server.

  # text            a comment
  $ ARGUMENTS       for the server, before the first message
  env NAME=VALUE    in the server's environment
  setup COMMAND     run by sh in the workspace, before the server starts
  > TEXT            send a line          >| TEXT   send without a newline
  >hex 00FF         send raw bytes       > may go on in lines that start with a tab
  < JSON            expect a message (match.py); adjacent lines in any order, an empty line
                    or a comment between them fixes the order
  <! JSON           no such message has come in this story
  ~ MS              nothing comes for so long
  pause MS          wait
  touch NAME        make a file in the workspace, when the server has read what was sent
  await NAME        wait until a command has made it
  ! TERM            send a signal to the server
  eof               close the server's input
  exit N            the server ends with this status
  audit JSON        a record like this is in the audit log (seen at the end); audit! JSON: none
  stderr REGEX      the server's stderr has it (seen at the end)

$WORKSPACE, $STATE, $HOME and $BASE stand for the directories of the session, in all lines,
and $name for what "@capture:name" has caught; %{N*TEXT} is N times TEXT. Notifications that
no line expects are let pass, answers are not.
"""
import collections
import os

from jsontext import parse

Step = collections.namedtuple("Step", "kind value line")

PLAIN_KINDS = ("env", "setup", "pause", "touch", "await", "eof", "exit", "stderr")
JSON_KINDS = ("<", "<!", "audit", "audit!")
KINDS = ("$", ">", ">|", ">hex", "~", "!") + PLAIN_KINDS + JSON_KINDS


class Story:
    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)[:-len(".wire")]
        self.steps = []
        with open(path, encoding="utf-8") as f:
            self._read(f.read().split("\n"))

    def _read(self, lines):
        for number, line in enumerate(lines, 1):
            if line.startswith("\t") and self.steps:
                last = self.steps[-1]
                self.steps[-1] = last._replace(value=last.value + line[1:])
                continue
            if not line.strip() or line.startswith("#"):
                self.steps.append(Step("gap", None, number))
                continue
            kind, _, value = line.partition(" ")
            if kind not in KINDS:
                raise ValueError("%s:%d: unknown line %r" % (self.path, number, line))
            self.steps.append(Step(kind, value, number))
        for step in self.steps:
            if step.kind in JSON_KINDS:
                try:
                    parse(step.value)
                except ValueError as e:
                    raise ValueError("%s:%d: %s" % (self.path, step.line, e))

    def before_start(self, kind):
        return [step.value for step in self.steps if step.kind == kind]

    def groups(self):
        """The steps, with adjacent expectations taken together as ("<", [step, ...])."""
        group = []
        for step in self.steps:
            if step.kind == "<":
                group.append(step)
                continue
            if group:
                yield "<", group
                group = []
            yield step.kind, step
        if group:
            yield "<", group
