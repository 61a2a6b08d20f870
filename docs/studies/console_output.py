"""Run the commands of the pages, write their output into the pages, and draw their pictures.

`python docs/studies/console_output.py`, or with the names of pages.

Needed after a change of a command that a page shows. A console block that begins with `$ ` is a
command; the lines after it are its output. A block with the caption `name.py` is a file. The blocks
of a page run one after the other in one empty folder.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Commands in a sentence that prepare the blocks of a page.
PREPARATION = re.compile(r"`(tombola demo \w+ --out \S+ --table-only)` writes the table")
BLOCK = re.compile(r"```console\n\$ (.*?)\n```", re.DOTALL)
FILE = re.compile(r"```\{code-block\} python\n:caption: (\S+)\n\n(.*?)\n```", re.DOTALL)
# Pages are read at the width of a terminal.
WIDTH = "80"
# The time at which a ticket was issued; the page shows always the same.
TIME = re.compile(r"since(\s)\d{4}-\d\d-\d\d(\s)\d\d:\d\d")


def pages() -> list[Path]:
    """Return the pages with commands whose output is shown."""
    candidates = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [
        page
        for page in candidates
        if "_build" not in page.parts and BLOCK.search(page.read_text(encoding="utf-8"))
    ]


def render(text: str, folder: Path) -> str:
    """Return a page with the output of its commands, which run in `folder`."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        for name, content in FILE.findall(text):
            Path(name).write_text(f"{content}\n", encoding="utf-8")
        for command in PREPARATION.findall(text):
            _run(command)
        return BLOCK.sub(_replace, text)
    finally:
        os.chdir(before)


def _replace(block: re.Match[str]) -> str:
    lines = block.group(1).split("\n")
    # A command goes on while its lines end with a backslash.
    length = 1 + next((place for place, line in enumerate(lines) if not line.endswith("\\")), 0)
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
    # The Python of the reader is this one.
    command = re.sub(r"^python ", f"{shlex.quote(sys.executable)} ", command)
    if words[0] != "tombola":
        return subprocess.run(
            command, shell=True, check=True, capture_output=True, text=True
        ).stdout
    done = CliRunner(env={"COLUMNS": WIDTH, "NO_COLOR": "1"}).invoke(app, words[1:])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    # 2: bad input. Other codes are verdicts, such as 3 for undecided.
    if done.exit_code == 2:
        raise ValueError(f"{command}: {done.output}")
    return done.stdout


def _race_picture(folder: Path) -> object:
    from tombola import RaceFile

    with RaceFile.open(folder / "prompts.race") as file:
        return file.race.plot(size=(7, 2.6))


def _rank_picture(folder: Path) -> object:
    from tombola import rank

    return rank(folder / "prompts_loss.csv", kind="losses").plot(size=(7, 3))


def _gate_picture(folder: Path) -> object:
    from tombola import gate

    return gate(folder / "old.csv", folder / "new.csv", within=0.02).plot(size=(7, 1.6))


def _session_picture(folder: Path) -> object:
    from tombola import SessionFile

    with SessionFile.open(folder / "calls.run") as file:
        return file.plot(size=(7, 3))


# Pictures of the tutorial, drawn from the files that its commands leave behind.
PICTURES: dict[str, Callable[[Path], object]] = {
    "tutorial-race": _race_picture,
    "tutorial-gate": _gate_picture,
    "tutorial-rank": _rank_picture,
    "tutorial-session": _session_picture,
}


if __name__ == "__main__":
    for page in [Path(name).resolve() for name in sys.argv[1:]] or pages():
        with tempfile.TemporaryDirectory() as scratch:
            text = page.read_text(encoding="utf-8")
            page.write_text(render(text, Path(scratch)), encoding="utf-8")
            print(page.relative_to(ROOT))
            if page.name == "tutorial.md":
                from figures import darken

                from tombola.report.figures import save

                for name, draw in PICTURES.items():
                    darken(save(draw(Path(scratch)), DOCS / "pictures" / f"{name}.svg"))
