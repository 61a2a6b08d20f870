"""Count how often damaged or forged input breaks tombola: the table of docs/reliability.md.

    PYTHONPATH=tests python benchmarks/reliability.py                 all of it, in the sizes of the table (hours)
    PYTHONPATH=tests python benchmarks/reliability.py sessions 200    one kind, so many tries

The results are kept in docs/reliability.json, and the table in docs/reliability.md is made from them.
"""

import json
import sys
import tempfile
from collections import Counter
from functools import lru_cache
from pathlib import Path
from unittest import mock

import numpy as np

from damaged_tables import tables
from fuzz.driver import Check, damage, fuzz, remembered, serve
from fuzz.event_logs import races, runs
from fuzz.forging import choice
from fuzz.saved_sessions import sessions
from tombola import compare
from tombola.engine.runner import Runner
from tombola.learners import FollowTheLeader, Hedge
from tombola.persistence.result_cache import ResultCache, read_runs, write_runs
from tombola.pool import Pool
from tombola.runs import Runs

DOCS = Path(__file__).parents[1] / "docs"
BAD = ("wrong", "traceback", "crash", "hang")


def chunks(path: Path, seed: int) -> str:
    """Damage a chunk that a comparison keeps, put another one in its place, or forge one whose digest fits."""
    whole, other, runs = kept_chunks()
    folder = path / "comparison"
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng([seed, 47])
    content = damage(whole, seed)
    if seed % 3 == 1:
        content = choice(rng, [other, whole[:32] + other[32:], other[:32] + whole[32:], b""])
    elif seed % 3 == 2:
        ResultCache(path).write("comparison/0-4", damage(whole[32:], seed))
        content = (folder / "0-4.result").read_bytes()
    (folder / "0-4.result").write_bytes(content)
    found = read_runs(ResultCache(path), "comparison", (0, 4))
    if found is None:
        return "refused"
    return "same" if told_of(found) == told_of(runs) else "other" if seed % 3 == 2 else "wrong"


@lru_cache
def kept_chunks() -> tuple[bytes, bytes, Runs]:
    """Return the bytes of two chunks of a comparison, and what the first holds."""
    pool, learners = (
        Pool(np.random.default_rng(4).integers(0, 5, (60, 3)) / 4),
        {"leader": FollowTheLeader(), "hedge": Hedge()},
    )
    parts = [compare(pool, learners, repetitions=4, first=first, seed=1) for first in (0, 4)]
    with tempfile.TemporaryDirectory() as folder:
        cache = ResultCache(Path(folder))
        for first, runs in zip((0, 4), parts, strict=True):
            write_runs(cache, "comparison", (first, 4), runs)
        whole, other = (cache.path(f"comparison/{block}").read_bytes() for block in ("0-4", "4-8"))
    return whole, other, parts[0]


def told_of(runs: Runs) -> str:
    """Return all that runs hold, to the bit."""
    cells = [(entry, *(array.tobytes() for array in cell)) for entry, cell in runs.cells.items()]
    return repr([cells, runs.switching_price, runs.actions, runs.amounts, runs.bounds, runs.target_regrets])


KINDS: dict[str, tuple[Check | None, int, str]] = {
    "sessions": (sessions, 5_000, "saved sessions: damaged, or changed with a digest that fits"),
    "runs": (runs, 5_000, "session files: damaged, changed, or forged with digests that fit"),
    "races": (races, 5_000, "files of `tombola race`, damaged, changed, or forged with digests that fit"),
    "tables": (tables, 5_000, "tables of every kind that is read, wide and long, and logs of other programs, damaged"),
    "chunks": (
        chunks,
        5_000,
        "cached results of `tombola compare`, damaged, swapped, or forged with a digest that fits",
    ),
    "budgets": (
        None,
        1_000_000,
        "plays and live runs within a budget by hostile learners, on hostile costs, in exact fractions",
    ),
}
PIECE = 2500
COLUMNS = ("same", "other", "refused", *BAD)


def measure(kind: str, count: int) -> dict[str, int]:
    """Try one kind, and keep the result after every piece."""
    ends: Counter[str] = Counter()
    for begun in range(0, count, PIECE):
        ends += tried(kind, begun, min(begun + PIECE, count))
        keep(kind, {name: ends[name] for name in COLUMNS})
    return dict(ends)


def tried(kind: str, begun: int, end: int) -> Counter[str]:
    """Return how the tries of one piece end."""
    if KINDS[kind][0] is not None:
        return fuzz(__file__, kind, begun, end)
    from hostile import count_overspent

    over = count_overspent(begun, end - begun)
    return Counter({"same": end - begun - over, "wrong": over})


def keep(kind: str, ends: dict[str, int]) -> None:
    """Write down the result of a kind, and make the table again."""
    kept = DOCS / "reliability.json"
    results: dict[str, dict[str, int]] = json.loads(kept.read_text()) if kept.exists() else {}
    results[kind] = ends
    kept.write_text(json.dumps(results, indent=1) + "\n")
    write_table(results)


def write_table(results: dict[str, dict[str, int]]) -> None:
    """Put the table into the page, between its two marks."""
    heads = ("tried", "as written", "another valid one", "refused", "silently wrong", "traceback", "crash", "hang")
    lines = ["| ".join(["| input ", *(f"{head} " for head in heads)]) + "|", "|---|" + "---:|" * len(heads)]
    for kind, (_, _, words) in KINDS.items():
        if kind in results:
            ends = results[kind]
            lines.append(
                " | ".join([f"| {words}", f"{sum(ends.values()):,}", *(f"{ends[c]:,}" for c in COLUMNS)]) + " |"
            )
    page = DOCS / "reliability.md"
    before, _, rest = page.read_text().partition("<!-- tried -->")
    _, _, after = rest.partition("<!-- end -->")
    page.write_text(before + "<!-- tried -->\n" + "\n".join(lines) + "\n<!-- end -->" + after)


def main() -> None:
    """Try all kinds, or one."""
    kinds = sys.argv[1:2] or list(KINDS)
    for kind in kinds:
        count = int(sys.argv[2]) if len(sys.argv) > 2 else KINDS[kind][1]
        print(f"{kind}: {measure(kind, count)}", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent / "tests"))
    if len(sys.argv) == 4:
        chosen = KINDS[sys.argv[1]][0]
        assert chosen is not None
        with mock.patch.object(Runner, "compile", remembered):
            serve(chosen)
    else:
        main()
