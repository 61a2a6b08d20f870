"""Damaged, swapped and forged files in the result cache of `tombola compare`."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from fuzz.driver import damage
from fuzz.forging import choice
from tombola import compare
from tombola._result_cache import _CHECKSUM_BYTES, ResultCache, read_runs, write_runs
from tombola.learners import FollowTheLeader, Hedge
from tombola.pool import Pool
from tombola.runs import Runs


def cached_results(path: Path, seed: int) -> str:
    """Damage a cached block, replace it by another one, or forge one with a digest that fits."""
    original, other, runs = cached_blocks()
    result_cache, rng = ResultCache(path), np.random.default_rng([seed, 47])
    file = result_cache.path("comparison/0-4")
    file.parent.mkdir(exist_ok=True)
    if seed % 3 == 0:
        file.write_bytes(damage(original, seed))
    elif seed % 3 == 1:
        mixed = [
            original[:_CHECKSUM_BYTES] + other[_CHECKSUM_BYTES:],
            other[:_CHECKSUM_BYTES] + original[_CHECKSUM_BYTES:],
        ]
        file.write_bytes(choice(rng, [other, *mixed, b""]))
    else:
        result_cache.write("comparison/0-4", damage(original[_CHECKSUM_BYTES:], seed))
    result = read_runs(result_cache, "comparison", (0, 4))
    if result is None:
        return "refused"
    if content(result) == content(runs):
        return "same"
    return "other" if seed % 3 == 2 else "wrong"


@cache
def cached_blocks() -> tuple[bytes, bytes, Runs]:
    """Return the bytes of two cached blocks of a comparison, and the runs of the first."""
    pool = Pool(np.random.default_rng(4).integers(0, 5, (60, 3)) / 4)
    learners = {"leader": FollowTheLeader(), "hedge": Hedge()}
    blocks = [compare(pool, learners, repetitions=4, first=first, seed=1) for first in (0, 4)]
    with tempfile.TemporaryDirectory() as folder:
        result_cache = ResultCache(Path(folder))
        for first, runs in zip((0, 4), blocks, strict=True):
            write_runs(result_cache, "comparison", (first, 4), runs)
        original, other = (
            result_cache.path(f"comparison/{name}").read_bytes() for name in ("0-4", "4-8")
        )
    return original, other, blocks[0]


def content(runs: Runs) -> str:
    """Return everything that runs hold, to the bit."""
    cells = [(entry, *(array.tobytes() for array in cell)) for entry, cell in runs.cells.items()]
    return repr(
        [cells, runs.switching_price, runs.actions, runs.amounts, runs.bounds, runs.target_regrets]
    )
