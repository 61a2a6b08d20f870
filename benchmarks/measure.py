"""Shared helpers: pools, orders, statistics, timing, and rows of speed targets."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from tombola import Pool


def read_losses(folder: Path, name: str) -> Any:
    """Return the array `loss` of NAME.npz, shape (rows, actions)."""
    return np.ascontiguousarray(
        np.load(folder / f"{name}.npz", allow_pickle=False)["loss"], np.float64
    )


def read_pools(folder: Path) -> dict[str, Pool]:
    """Return the tables of a folder that have an array `loss`, by name."""
    files = [file for file in sorted(folder.glob("*.npz")) if "loss" in np.load(file)]
    return {file.stem: Pool(np.load(file)["loss"]) for file in files}


def table_parser(description: str | None, names: str = "*") -> argparse.ArgumentParser:
    """Return a parser of the arguments FOLDER NAMES."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, help="folder of the tables, NPZ files with an array `loss`"
    )
    parser.add_argument("names", nargs=names, help="names of the tables; default: a fixed list")
    return parser


def random_orders(rows: int, count: int) -> list[Any]:
    """Return one permutation of the rows for each seed 0, 1, .."""
    return [
        np.random.default_rng(seed).permutation(rows).astype(np.uint32) for seed in range(count)
    ]


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return float(np.exp(np.mean(np.log(list(values)))))


def standard_error(values: Any) -> float:
    """Return the standard error of the mean; 0 for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


@dataclass(frozen=True)
class Row:
    """One line of the table; `reached` is None without a target or a measurement."""

    work: str
    ours: str = ""
    against: str = ""
    ratio: str = ""
    target: str = ""
    reached: bool | None = None


def best_times(competitors: Mapping[str, Callable[[], object]], turns: int = 7) -> dict[str, float]:
    """Return the processor seconds of the best turn of each competitor.

    They run by turns, so that noise of the machine affects all of them.
    """
    best = dict.fromkeys(competitors, float("inf"))
    for _ in range(turns):
        for name, competitor in competitors.items():
            start = process_time()
            competitor()
            best[name] = min(best[name], process_time() - start)
    return best


def slowdown_row(work: str, ours: float, name: str, theirs: float, limit: float) -> Row:
    """Return a row with the target ours / theirs <= limit, in seconds per round."""
    ratio = ours / theirs
    against = f"{name} {nanoseconds(theirs)}"
    return Row(work, nanoseconds(ours), against, f"{ratio:.2f}x", f"<= {limit:g}x", ratio <= limit)


def speedup_row(work: str, ours: float, name: str, theirs: float, limit: float) -> Row:
    """Return a row with the target theirs / ours > limit, in seconds per round."""
    ratio = theirs / ours
    against, text = (
        f"{name} {nanoseconds(theirs)}",
        f"{ratio:,.0f}x" if ratio >= 20 else f"{ratio:.2f}x",
    )
    return Row(work, nanoseconds(ours), against, text, f"> {limit:g}x", ratio > limit)


def limit_row(
    work: str,
    value: float,
    limit: float | None,
    unit: str,
    note: str = "",
    *,
    condition: bool = True,
) -> Row:
    """Return a row with the target value < limit, under a condition."""
    shown = f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}"
    if limit is None:
        return Row(work, shown, note)
    return Row(work, shown, note, target=f"< {limit:g} {unit}", reached=value < limit and condition)


def skipped_row(work: str, reason: str) -> Row:
    """Return the row of a measurement that is not possible here."""
    return Row(work, against=reason)


def nanoseconds(seconds: float) -> str:
    """Return a time in nanoseconds.

    >>> nanoseconds(2.5e-08)
    '25.0 ns'
    """
    value = seconds * 1e9
    return f"{value:.1f} ns" if value < 100 else f"{value:,.0f} ns"


def format_table(rows: list[Row]) -> str:
    """Return the rows as text in columns."""
    verdict = {True: "reached", False: "MISSED", None: "-"}
    lines = [("work", "tombola", "against", "ratio", "target", "")]
    lines += [(r.work, r.ours, r.against, r.ratio, r.target, verdict[r.reached]) for r in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
