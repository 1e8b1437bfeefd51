#!/usr/bin/env python3
"""The man pages: valid, complete, and the same words as `procpen help`, whatever the words are."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from client import ROOT, WAIT, Skip, check, equal, server_path
from suite import Suite

suite = Suite()
PAGES = ROOT / "build" / "gen" / "man"
GENERATOR = ROOT / "build" / "host" / "procpen-gen"
CLI = json.loads((ROOT / "schema" / "cli.json").read_text(encoding="utf-8"))
# Each would be a request, an escape, a font, a comment or another character if it were left alone.
HOSTILE = ["'tis \\fIno\\fR font", ".SH NOTES", "' .br", "\\", "a\\", "\\\"not a comment", "\\n(.$ \\*(lq",
           "--two-hyphens and -x", "read-only `--code` 'q' \"dq\" `", "`.TH` `'br` x^2 ~/a-b", "\u2026 \u00e9 \U0001f600",
           ". .. ... '' ``", "a | b > c < d & e; $(f) *", "{ } \\{ \\} .if 1 .de x", "100% #x \\#"]
READERS = {
    "mandoc": ["mandoc", "-T", "utf8", "-O", "width=300"],
    "groff": ["groff", "-man", "-t", "-k", "-P-c", "-Tutf8", "-ww", "-rLL=300n"],
}


def installed(program):
    if not shutil.which(program):
        raise Skip("%s is not installed" % program)


def shown(reader, page):
    """The page as people see it, without fonts, as one line of single blanks."""
    done = subprocess.run([*READERS[reader], page], capture_output=True, timeout=WAIT, check=False)
    equal((done.returncode, done.stderr), (0, b""), "%s %s: status, stderr" % (reader, page.name))
    return " ".join(re.sub(".\b", "", done.stdout.decode()).split())


def words(text):
    return " ".join(text.replace("`", "").split())


def lint(page):
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True,
                          timeout=WAIT, text=True, check=False)
    equal((done.returncode, done.stdout + done.stderr), (0, ""), "mandoc -T lint " + page.name)


def generate(cli):
    """The folder of pages that the generator makes of @cli."""
    base = tempfile.mkdtemp(prefix="procpen-man-")
    schema = os.path.join(base, "schema")
    shutil.copytree(ROOT / "schema", schema)
    with open(os.path.join(schema, "cli.json"), "w", encoding="utf-8") as f:
        json.dump(cli, f)
    done = subprocess.run([GENERATOR, schema, os.path.join(base, "build")], capture_output=True,
                          text=True, timeout=WAIT, check=False)
    equal((done.returncode, done.stderr), (0, ""), "procpen-gen: status, stderr")
    return base


@suite.test()
def test_each_command_has_a_page():
    equal(sorted(page.name for page in PAGES.iterdir()),
          sorted(["procpen.1", "procpen.json.5", "procpen-options.7",
                  *["procpen-%s.1" % command["name"] for command in CLI["commands"]]]), "pages")


@suite.test()
def test_mandoc_has_no_warning():
    installed("mandoc")
    for page in PAGES.iterdir():
        lint(page)


@suite.test()
def test_groff_has_no_warning():
    installed("groff")
    for page in PAGES.iterdir():
        check(shown("groff", page), "nothing shown of " + page.name)


@suite.test()
def test_a_minus_to_copy_is_a_minus():
    """Readers may show a bare - as a hyphen, which no shell takes."""
    for page in PAGES.iterdir():
        lines = page.read_text(encoding="utf-8").splitlines()
        for before, line in zip(lines, lines[1:]):
            if before in (".TP", ".EX", ".nf") or "--" in line:
                check(not re.search(r"(?<!\\)-", line), "%s: %r" % (page.name, line))


def check_words(reader):
    """What help says of a command, its page says too, word by word."""
    installed(reader)
    for command in CLI["commands"]:
        page = shown(reader, PAGES / ("procpen-%s.1" % command["name"]))
        done = subprocess.run([server_path(), "help", command["name"]], capture_output=True,
                              text=True, timeout=WAIT, check=True)
        usage, rest = done.stdout.split("\n\n", 1)
        for line in usage.splitlines():
            check(words(line.removeprefix("Usage:")) in page, "no %r in %s" % (line, page))
        # A row is a name, and what it means behind it or below it; a list of hosts is no part.
        body = rest.split("\n\n", 1)[1].split("\nHosts:")[0]
        for row in re.split(r"\n(?=  ?\S)|\n\n|\n(?=\S)", body):
            if not re.match(r"(Options|Exit status|Examples):$", row):
                name, _, text = row.strip().partition("\n      ")
                for part in (name, text):
                    check(words(part) in page, "no %r in the page of %s: %s"
                          % (words(part), command["name"], page))


@suite.test()
def test_mandoc_shows_the_words_of_help():
    check_words("mandoc")


@suite.test()
def test_groff_shows_the_words_of_help():
    check_words("groff")


@suite.test()
def test_overview_names_everything():
    installed("mandoc")
    page = shown("mandoc", PAGES / "procpen.1")
    for row in (*CLI["environment"], *CLI["files"], *CLI["examples"], *CLI["commands"]):
        for text in row.values():
            if isinstance(text, str) and text not in [c["name"] for c in CLI["commands"]]:
                check(words(text) in page, "no %r in %s" % (text, page))
    for name in ("procpen-options.7", "procpen.json.5"):
        page = shown("mandoc", PAGES / name)
        for row in json.loads((ROOT / "schema" / "config.json").read_text(encoding="utf-8")):
            check(words("%s (" % row["name"]) in page and words(row["text"].partition("{")[0]) in page,
                  "no %s in %s" % (row["name"], page))
    for text in CLI["configuration"]:
        check(words(text) in page, "no %r in %s" % (text, page))


def check_hostile(reader):
    """Every text of a command hostile: no warning, and each is shown as it is."""
    installed(reader)
    cli = json.loads(json.dumps(CLI))
    command = cli["commands"][1]
    command["text"] = HOSTILE
    command["statuses"] = [{"status": text, "text": text} for text in HOSTILE]
    command["examples"] = [{"command": text, "text": text} for text in HOSTILE]
    command["options"] = [{"name": "--x%d" % i, "kind": "text", "value": text, "text": text}
                          for i, text in enumerate(HOSTILE)]
    base = generate(cli)
    try:
        path = PAGES.relative_to(ROOT / "build") / ("procpen-%s.1" % command["name"])
        page = (ROOT / base / "build" / path)
        if reader == "mandoc":
            lint(page)
        seen = shown(reader, page)
        for i, text in enumerate(HOSTILE):
            prose = words(text)
            option, plain = "--x%d %s" % (i, " ".join(text.split())), " ".join(text.split())
            check("%s %s" % (option, prose) in seen, "no %r in %s" % (option, seen))
            check("%s %s" % (plain, prose) in seen, "status: no %r in %s" % (plain, seen))
            check("%s %s" % (prose, plain) in seen, "example: no %r in %s" % (plain, seen))
    finally:
        shutil.rmtree(base)


@suite.test()
def test_mandoc_shows_hostile_words():
    check_hostile("mandoc")


@suite.test()
def test_groff_shows_hostile_words():
    check_hostile("groff")


if __name__ == "__main__":
    suite.main()
