"""What several measurements share: tables on disk, and turns of competitors of which the best counts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tombola import Pool


def read_losses(folder: Path, name: str) -> Any:
    """Return the array `loss` of NAME.npz, shape (rows, actions)."""
    return np.ascontiguousarray(np.load(folder / f"{name}.npz", allow_pickle=False)["loss"], np.float64)


def read_pools(folder: Path) -> dict[str, Pool]:
    """Return the tables of a folder that have an array `loss`, by name."""
    files = [file for file in sorted(folder.glob("*.npz")) if "loss" in np.load(file)]
    return {file.stem: Pool(np.load(file)["loss"]) for file in files}


@dataclass(frozen=True)
class Row:
    """One line of the table; `reached` is None where there is no target or nothing was measured."""

    work: str
    ours: str
    against: str
    measured: str
    target: str
    reached: bool | None


def race(competitors: Mapping[str, Callable[[], object]], turns: int = 7) -> dict[str, float]:
    """Return the processor seconds of the best turn of every competitor; they take turns, so noise hits all alike."""
    best = dict.fromkeys(competitors, float("inf"))
    for _ in range(turns):
        for name, competitor in competitors.items():
            start = process_time()
            competitor()
            best[name] = min(best[name], process_time() - start)
    return best


def within(work: str, ours: float, name: str, theirs: float, times: float) -> Row:
    """Return the row that says whether we take at most `times` the time of another; times are seconds a round."""
    ratio = ours / theirs
    return Row(work, per_round(ours), f"{name} {per_round(theirs)}", f"{ratio:.2f}x", f"<= {times:g}x", ratio <= times)


def faster(work: str, ours: float, name: str, theirs: float, times: float) -> Row:
    """Return the row that says whether we are more than `times` as fast as another; times are seconds a round."""
    ratio = theirs / ours
    measured = f"{ratio:,.0f}x" if ratio >= 20 else f"{ratio:.2f}x"
    return Row(work, per_round(ours), f"{name} {per_round(theirs)}", measured, f"> {times:g}x", ratio > times)


def below(work: str, value: float, limit: float | None, unit: str, note: str = "", *, also: bool = True) -> Row:
    """Return the row that says whether a number is below its limit, if any, and whether what must `also` hold does."""
    shown = f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}"
    if limit is None:
        return Row(work, shown, note, "", "", None)
    return Row(work, shown, note, "", f"< {limit:g} {unit}", value < limit and also)


def left_out(work: str, why: str) -> Row:
    """Return the row of something that could not be measured here."""
    return Row(work, "", why, "", "", None)


def per_round(seconds: float) -> str:
    """Return a time per round in nanoseconds.

    >>> per_round(2.5e-08)
    '25.0 ns'
    """
    nanoseconds = seconds * 1e9
    return f"{nanoseconds:.1f} ns" if nanoseconds < 100 else f"{nanoseconds:,.0f} ns"


def table(rows: list[Row]) -> str:
    """Return the rows as text in columns."""
    verdict = {True: "reached", False: "MISSED", None: "-"}
    lines = [("work", "tombola", "against", "ratio", "target", "")]
    lines += [(r.work, r.ours, r.against, r.measured, r.target, verdict[r.reached]) for r in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(6)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
