"""Run the commands of the tutorial and write their output into the page.

`python docs/studies/tutorial_output.py`.

Needed after a change of a command that the tutorial shows. A block of the page that begins with `$
` is a command; the lines after it are its output.
"""

import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

from typer.testing import CliRunner

PAGE = Path(__file__).parents[1] / "tutorial.md"
BLOCK = re.compile(r"```console\n\$ (.*?)\n```", re.DOTALL)
# The page is read at the width of a terminal.
WIDTH = "80"
# The time at which a ticket was issued; the page shows always the same.
TIME = re.compile(r"since(\s)\d{4}-\d\d-\d\d(\s)\d\d:\d\d")


def render(text: str, folder: Path) -> str:
    """Return the page with the output of its commands.

    They run in `folder` one after the other.
    """
    before = Path.cwd()
    os.chdir(folder)
    try:
        return BLOCK.sub(_replace, text)
    finally:
        os.chdir(before)


def _replace(block: re.Match[str]) -> str:
    lines = block.group(1).split("\n")
    # A command goes on while its lines end with a backslash.
    length = 1 + next((at for at, line in enumerate(lines) if not line.endswith("\\")), 0)
    command = "\n".join(lines[:length])
    output = "\n".join(line.rstrip() for line in _run(command).strip("\n").split("\n"))
    output = TIME.sub(r"since\g<1>2026-01-05\g<2>09:30", output)
    return "```console\n" + "\n".join(filter(None, [f"$ {command}", output])) + "\n```"


def _run(command: str) -> str:
    """Return the output of a command.

    tombola runs in this process, other programs by the shell.
    """
    from tombola.cli.app import app

    words = shlex.split(command.replace("\\\n", " "))
    if words[0] != "tombola":
        return subprocess.run(
            command, shell=True, check=True, capture_output=True, text=True
        ).stdout
    done = CliRunner(env={"COLUMNS": WIDTH, "NO_COLOR": "1"}).invoke(app, words[1:])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), Path(scratch)), encoding="utf-8")
