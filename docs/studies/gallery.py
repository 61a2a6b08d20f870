"""Write the pages of the gallery, and take pictures in light and dark.

The tables are those of the demo.

`python docs/studies/gallery.py`.

Needs Chromium, playwright and pillow. The pages are written to a temporary folder; only the
pictures are kept.
"""

import os
import shlex
import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright
from typer.testing import CliRunner

from tombola import demo
from tombola._formatting import csv_text
from tombola.cli.app import app

PICTURES = Path(__file__).parents[1] / "pictures" / "gallery"
SIZE = {"width": 1280, "height": 900}
# Width of a stored picture in pixels, and colours of its palette: small files that are still
# readable.
WIDTH, COLOURS = 960, 48
# Name of the picture, and the command that writes its page.
PAGES = {
    "compare": "compare losses.csv --by subject --learners Thrifty,UCB2 --repetitions 20 --fresh "
    "--out compare.html",
    "race": "race report answers.race --out race.html",
    "rank": "rank losses.csv --reading recorded --ignore subject --out rank.html",
    "certify": "audit plain.csv --best --losses --seed 1 --out certify.html",
    "session": "session report calls.run --out session.html",
}


def main() -> None:
    """Write tables, files and pages, and store the pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        _write_inputs()
        for command in PAGES.values():
            run(command)
        _take_pictures()


def run(command: str) -> str:
    """Run a command of tombola in this process, and return its output."""
    words = shlex.split(command)
    sys.argv = ["tombola", *words]  # pages show the command that made them
    done = CliRunner().invoke(app, words)
    # 3: a race or certificate that is undecided, which has a page, too.
    if done.exit_code not in (0, 3):
        raise RuntimeError(f"{command}: {done.output or done.exception}")
    return done.stdout


def _write_inputs() -> None:
    pool = demo.evaluation(400, seed=1)
    subjects = np.random.default_rng(0).choice(["law", "code", "maths"], 400)
    losses = dict(zip(pool.ids or range(400), pool.losses.tolist(), strict=True))
    rows = [
        [name, subject, *values]
        for (name, values), subject in zip(losses.items(), subjects, strict=True)
    ]
    Path("losses.csv").write_text(
        csv_text([["id", "subject", *pool.actions], *rows]), encoding="utf-8"
    )
    plain = [[name, *values] for name, values in losses.items()]
    Path("plain.csv").write_text(csv_text([["id", *pool.actions], *plain]), encoding="utf-8")
    Path("ask.awk").write_text("$1 == id {print $n}", encoding="utf-8")
    commands = [
        f"--candidate '{name}=awk -F, -v n={at + 3} -v id={{row}} -f ask.awk losses.csv'"
        for at, name in enumerate(pool.actions)
    ]
    run(
        f"race run losses.csv --losses {' '.join(commands)} --by subject --seed 1 --quiet "
        "--workers 4 "
        "--file answers.race"
    )
    run("session start losses.csv --actions v1,v6 --scores --seed 1 --file calls.run")
    for day in range(5):
        table = Path(f"day{day}.csv")
        run(f"session next calls.run --count 40 --out {table}")
        head, *lines = table.read_text(encoding="utf-8").splitlines()
        place = head.split(",").index("action")
        for at, cells in enumerate(line.split(",") for line in lines):
            name = next(cell for cell in cells if cell in losses)
            lines[at] += f"{1 - losses[name][pool.actions.index(cells[place])]:g}"
        table.write_text("\n".join([head, *lines]), encoding="utf-8")
        run(f"session record calls.run --csv {table}")


def _take_pictures() -> None:
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name in PAGES:
            for scheme in ("light", "dark"):
                settings: Any = {"viewport": SIZE, "color_scheme": scheme}
                page = browser.new_page(**settings)
                page.goto(Path(f"{name}.html").resolve().as_uri())
                page.wait_for_timeout(300)
                _store(
                    page.screenshot(), PICTURES / f"{name}{'-dark' if scheme == 'dark' else ''}.png"
                )
                page.close()
        browser.close()


def _store(screenshot: bytes, path: Path) -> None:
    picture = Image.open(BytesIO(screenshot)).convert("RGB")
    height = round(picture.height * WIDTH / picture.width)
    small = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
    small.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
