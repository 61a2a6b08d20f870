"""Outcomes of `tombola rank` on odd and ordinary tables whose true reading is known.

python tests/tables/outcomes.py FOLDER [START:STOP:STEP] prints the table of outcomes, and with -v
each wrong one. FOLDER has truth.jsonl: file, direction, candidates, rows, best, certain.
"""

import contextlib
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer

from tombola._formatting import cli_style
from tombola.cli.app import app
from tombola.errors import QuestionError, TombolaError

RIGHT = "right"
ASKED = "asked"
REJECTED = "rejected"
MISREAD = "misread"
CRASHED = "crashed"


class Outcome(NamedTuple):
    """What came of a file: one of the words above, and the text that explains it."""

    word: str
    text: str


def run_rank(arguments: Sequence[str]) -> dict[str, Any] | Exception:
    """Return the JSON of `tombola rank`, or the error that ended it."""
    out = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(io.StringIO()),
            cli_style(["tombola", "rank", *arguments]),
        ):
            app(["rank", *arguments, "--json"], standalone_mode=False)
    except (TombolaError, typer.Exit) as error:
        return error
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def outcome_of(folder: Path, truth: dict[str, Any]) -> Outcome:
    """Return the outcome of a file, with the direction stated and no more.

    If the scale must be stated as well, the range or the missing cells, it is.
    """
    path = folder / truth["file"]
    arguments = [str(path), f"--{truth['direction']}"]
    result: Any = None
    for _ in range(3):
        try:
            result = run_rank(arguments)
        except Exception as error:
            return Outcome(CRASHED, repr(error))
        scale = re.search(r"--range \S+", str(result)) if isinstance(result, TombolaError) else None
        is_missing = isinstance(result, QuestionError) and result.columns[:1] == ("missing",)
        if is_missing and "missing" not in truth.get("trap", ""):
            arguments += ["--missing", "worst"]
        elif scale and not isinstance(result, QuestionError) and "--range" not in arguments:
            arguments += scale[0].rstrip(",;:.").split()
        else:
            break
    if isinstance(result, QuestionError):
        return Outcome(ASKED, str(result))
    if isinstance(result, Exception):
        return Outcome(REJECTED, str(result))
    read = (sorted(result["candidates"]), result["rows"])
    expected = (sorted(truth["candidates"]), truth["rows"])
    if read == expected:
        return Outcome(RIGHT, "")
    return Outcome(MISREAD, f"read {read}, expected {expected}")


def main(arguments: Sequence[str]) -> None:
    """Print the table of outcomes of a folder."""
    folder = Path(arguments[0])
    lines = (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    truths = [json.loads(line) for line in lines]
    part = next((text for text in arguments[1:] if ":" in text), ":")
    chosen = slice(*(int(end) if end else None for end in part.split(":")))
    counts: dict[str, Counter[str]] = {}
    kinds = {kind: [t for t in truths if t["kind"] == kind][chosen] for kind in ("odd", "plain")}
    for kind, group in kinds.items():
        for truth in group:
            outcome = outcome_of(folder, truth)
            word = outcome.word
            if word in (ASKED, REJECTED) and truth.get("certain", kind == "plain"):
                word = f"false {word}"
            counts.setdefault(kind, Counter())[word] += 1
            is_bad = word not in (RIGHT, ASKED, REJECTED)
            if "-a" in arguments or ("-v" in arguments and is_bad):
                print(
                    f"{word:10} {truth['file']}: {truth.get('trap', '')}\n           {outcome.text}"
                )
    for kind, counter in counts.items():
        print(kind, ", ".join(f"{count} {word}" for word, count in sorted(counter.items())))


if __name__ == "__main__":
    main(sys.argv[1:])
