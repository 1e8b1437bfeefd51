#!/usr/bin/env python3
"""Types the commands of SCENES into a scratch directory and shows what comes back.

  docs/demo.py               on the terminal
  docs/demo.py --svg FILE    also as a picture that plays the recording once

Nothing is staged: each scene is run by the procpen of $PROCPEN, else build/procpen, and a status
other than the expected one ends the demo with an error.
"""
import argparse
import html
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

FILES = {
    "Makefile": "app: main.c\n\tcc -Wall -o app main.c\n",
    "main.c": '#include <stdio.h>\nint main(void) {\n\tprintf("hi\\n")\n}\n',
}

# (what to see here, the command, the expected exit status)
SCENES = (
    ("A timeout leaves nothing behind, not even a child in a session of its own.",
     "procpen run --timeout 1s --shell -- "
     "'setsid sh -c \"sleep 2; touch late\" & echo started; sleep 60'", 124),
    (None, "sleep 2; ls late", 2),
    ("What $X may hold is not known before it runs, so it counts as empty.",
     """procpen check 'rm -rf "$X"/'""", 1),
    ("A failing build, as a model reads it.",
     "procpen call process_run '{\"command\": \"make\"}'", 0),
)

COLUMNS = 100
FONT_PX = 14
CHAR_PX = 8.43  # the advance of a monospace character at FONT_PX
LINE_PX = 20
PAD_PX = 18
TYPING_S = 0.8  # between a prompt and what its command prints


def record(scene, directory, environment):
    """Runs one command; its output as [(seconds since its start, line)]."""
    _, command, expected = scene
    began = time.monotonic()
    child = subprocess.Popen(["bash", "-c", command], cwd=directory, env=environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = [(time.monotonic() - began, line.rstrip("\n").expandtabs()) for line in child.stdout]
    if child.wait() != expected:
        sys.exit(f"demo: {command}\n" + "\n".join(text for _, text in lines) +
                 f"\ndemo: status {child.returncode}, expected {expected}")
    return lines


def play(procpen):
    """Runs all scenes and prints them; [(seconds since the start, kind, line)]."""
    shown, now = [], 0.0

    def show(kind, text):
        print(text, flush=True)
        shown.append((now, kind, text))

    with tempfile.TemporaryDirectory(prefix="procpen-demo-") as scratch:
        project, state = os.path.join(scratch, "project"), os.path.join(scratch, "state")
        os.mkdir(project)
        for name, text in FILES.items():
            with open(os.path.join(project, name), "w", encoding="utf-8") as file:
                file.write(text)
        environment = {**os.environ, "PATH": os.path.dirname(procpen) + ":" + os.environ["PATH"],
                       "LC_ALL": "C", "XDG_STATE_HOME": state}
        for scene in SCENES:
            if scene[0]:
                if shown:
                    show("text", "")
                show("note", "# " + scene[0])
            show("prompt", "$ " + scene[1])
            now += TYPING_S
            start = now
            for seconds, text in record(scene, project, environment):
                now = start + seconds
                show("text", text)
            now += TYPING_S
    return shown


def fold(text):
    """The rows that a terminal of COLUMNS makes of a line."""
    return [text[i:i + COLUMNS] for i in range(0, len(text), COLUMNS)] or [""]


def picture(shown):
    """An SVG in which each line appears when it came. Viewers that play no animation show all."""
    rows = [(at, kind, row) for at, kind, text in shown for row in fold(text)]
    width, height = COLUMNS * CHAR_PX + 2 * PAD_PX, len(rows) * LINE_PX + 2 * PAD_PX
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
           f'width="{width:.0f}" height="{height}" role="img">',
           "<title>procpen ends a timed-out tree, refuses a deletion, and shows a failing build"
           "</title>",
           "<style>",
           f"text {{ font: {FONT_PX}px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', "
           "monospace; fill: #d4d4d4; white-space: pre; }",
           ".prompt { fill: #ffffff; font-weight: bold } .note { fill: #7fa7c9 }",
           "@media (prefers-reduced-motion: no-preference) "
           "{ text { animation: hidden step-end } }",
           "@keyframes hidden { from, to { opacity: 0 } }",
           "</style>",
           f'<rect width="100%" height="100%" rx="8" fill="#1e1e1e"/>']
    for i, (at, kind, row) in enumerate(rows):
        if row:
            out.append(f'<text class="{kind}" x="{PAD_PX}" y="{PAD_PX + (i + 1) * LINE_PX - 6}" '
                       f'style="animation-duration: {at:.2f}s" xml:space="preserve">'
                       f"{html.escape(row)}</text>")
    return "\n".join(out + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description="Plays procpen's demo.")
    parser.add_argument("--svg", metavar="FILE", help="also write the recording as a picture")
    options = parser.parse_args()
    shown = play(os.path.abspath(os.environ.get("PROCPEN", os.path.join(ROOT, "build/procpen"))))
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(picture(shown))


main()
