"""Pools, tables and race files that several tests of races share."""

from collections.abc import Callable
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tombola.racing import Call, Race, RaceSettings
from tombola.racing.rules.base import Elimination
from tombola.worklists import Assignment, RaceFile

BITS, THIRDS = (0.0, 1.0), (0.0, 1 / 3, 2 / 3, 1.0)
LEVELS = (0.05, 0.2, 0.5, 0.9)
MARGINS = st.sampled_from([0.07, 0.31, 0.5])
NAMES = ("low", "middle", "high")
ROWS = [f"row {number}" for number in range(60)]
LOSSES = (np.random.default_rng(1).random((60, 3)) < [0.1, 0.5, 0.9]) * 1.0


def loss_tables(most: int = 14) -> Any:
    cell = st.sampled_from(THIRDS)
    return st.integers(1, 4).flatmap(
        lambda k: st.lists(st.lists(cell, min_size=k, max_size=k), min_size=1, max_size=most)
    )


def play_table(rule: Any, table: list[list[float]]) -> Any:
    rule.play(np.array(table), np.arange(len(table), dtype=np.uint32))
    return rule


def error_rate(rule: Elimination, table: Any, repetitions: int) -> float:
    """Return how often the answer of a rule is wrong, over random orders."""
    rng, totals, wrong = np.random.default_rng(7), table.sum(axis=0), 0
    for _ in range(repetitions):
        rule.play(table, rng.permutation(len(table)).astype(np.uint32))
        wrong += rule.is_wrong(totals)
    return wrong / repetitions


def by_one_row(N: int, share: float) -> Any:
    """Two candidates that disagree on a share of the rows; candidate 1 is best by one row."""
    wins = int(N * share / 2)
    table = np.zeros((N, 2))
    table[: wins + 1, 0] = 1.0
    table[wins + 1 : 2 * wins + 1, 1] = 1.0
    return table


def answer_all(
    race: Race, losses: dict[str, float] | Callable[[Call], float], cost: float = 0.0
) -> Race:
    """Answer all calls of a race, by candidate (the same loss in every row) or by a function of the call."""
    while not race.done:
        for call in race.calls():
            race.record(
                call,
                loss=losses[call.candidate] if isinstance(losses, dict) else losses(call),
                cost=cost,
            )
    return race


def all_pools(values: tuple[float, ...], N: int, k: int) -> Any:
    """Return all all_pools of N rows with these values, as multisets of rows: one array."""
    rows = list(product(values, repeat=k))
    return np.array(list(combinations_with_replacement(rows, N)))


def loss_of(call: Call | Assignment) -> float:
    row, name = (
        (call.id, call.action) if isinstance(call, Assignment) else (call.row, call.candidate)
    )
    return float(LOSSES[int(row.split()[1]), NAMES.index(name)])


def start_file(path: Path, **settings: Any) -> RaceFile:
    options: Any = {"answers": "fixed", **settings}
    return RaceFile.start(path, RaceSettings(NAMES, seed=3, **options), ROWS)


def finish_files(*files: RaceFile) -> None:
    """Let several processes, each with the file open for itself, make the calls in turn."""
    turn = 0
    while not files[0].race.done:
        file = files[turn % len(files)]
        for call in file.next(2):
            files[(turn + 1) % len(files)].record(call.ticket, loss=loss_of(call), cost=0.25)
        turn += 1
