"""Plan: simulate races on a finished table over many shuffles."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats, Rows, Seed
from tombola.engine.compiler import Workload
from tombola.errors import ParameterError
from tombola.order import draw_order
from tombola.parallel.parallel_map import parallel_map
from tombola.pool import Pool
from tombola.racing.options import RaceSettings
from tombola.racing.predictions import SideInformation, play_on_file
from tombola.racing.ranks import Place
from tombola.racing.verdict import answer_of, is_proved, is_wrong, rank_text
from tombola.rng import RngStreams, repetition_seeds

# Quantiles of the range that holds 90 % of the shuffles.
RANGE_QUANTILES = (0.05, 0.95)


class SimulatedRace(NamedTuple):
    """Result of one race on one shuffle."""

    calls: int
    rows: int
    answer: tuple[str, ...]
    decided: bool
    wrong: bool


@dataclass(frozen=True)
class Plan:
    """Simulated races at one level: calls, answers, and the rate of wrong answers."""

    settings: RaceSettings
    rows: int
    outcomes: tuple[SimulatedRace, ...]

    @property
    def total_calls(self) -> int:
        """The number of calls that the whole table takes."""
        return self.rows * len(self.settings.candidates)

    @property
    def calls(self) -> float:
        """The mean number of calls."""
        return float(np.mean([one.calls for one in self.outcomes]))

    @property
    def calls_range(self) -> tuple[float, float]:
        """The 5 % and 95 % quantiles of the number of calls."""
        low, high = np.quantile([one.calls for one in self.outcomes], RANGE_QUANTILES)
        return float(low), float(high)

    @property
    def share(self) -> float:
        """The mean number of calls as a share of the whole table."""
        return self.calls / self.total_calls

    @property
    def wrong(self) -> float:
        """The share of shuffles with a wrong answer; in expectation at most the level."""
        return float(np.mean([one.wrong for one in self.outcomes]))

    @property
    def decided(self) -> float:
        """The share of shuffles that answered the question."""
        return float(np.mean([one.decided for one in self.outcomes]))

    @property
    def answers(self) -> list[tuple[tuple[str, ...], int]]:
        """The answers with their number of shuffles, the most frequent first."""
        return Counter(one.answer for one in self.outcomes).most_common()

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        low, high = self.calls_range
        return {
            "level": self.settings.level, "calls": self.calls, "calls_low": low, "calls_high": high,
            "share": self.share, "saved": 1.0 - self.share, "decided": self.decided, "wrong": self.wrong,
            "answers": [{"candidates": list(names), "shuffles": count} for names, count in self.answers],
        }  # fmt: skip


def plan(
    pool: Pool,
    *,
    seed: Seed,
    levels: Sequence[float] = (0.05,),
    within: float = 0.0,
    top: int = 1,
    baseline: str | None = None,
    question: Literal["best", "ranks"] = "best",
    candidate: str | None = None,
    shuffles: int = 200,
    workers: int = 1,
    known: Any = None,
    history: Any = None,
) -> list[Plan]:
    """Simulate races on a finished table: one plan per level, same shuffles.

    pool      the table of losses
    seed      seed of the shuffles
    levels    error probabilities to compare
    within, top, baseline, question, candidate   the question, as in `RaceSettings`
    shuffles  number of simulated races per level
    workers   threads
    known     cells on file, which cost no call: names of candidates, or a boolean table (rows, k)
    history   numbers known of every row, (rows, h), as in `Race`

    >>> pool = Pool(np.random.default_rng(0).random((400, 3)) * [0.2, 1, 1], actions=["a", "b", "c"])
    >>> [one] = plan(pool, seed=1, shuffles=20)
    >>> one.answers, one.wrong, one.share < 0.2
    ([(('a',), 20)], 0.0, True)
    """
    count = _validate.integer("plan", "shuffles", shuffles, least=1)
    table, orders = np.ascontiguousarray(pool.losses), repetition_seeds(seed, count)
    asked = RaceSettings(
        pool.actions, 0, within=within, top=top, baseline=baseline, question=question, candidate=candidate
    )
    side = _side_of(pool, known, history)
    workload = Workload.of_rounds(pool.rows * count * len(levels), pool.k)
    plans = []
    for level in levels:
        settings = replace(asked, level=level)
        pieces = [(settings, table, pool.totals, one, workload, side) for one in orders]
        outcomes = parallel_map(_simulate, pieces, workers=workers, label=f"races at level {level:g}")
        plans.append(Plan(settings, pool.rows, tuple(outcomes)))
    return plans


def _side_of(pool: Pool, known: Any, history: Any) -> SideInformation | None:
    """Return the cells of a finished table that are taken as known; None if there are none."""
    rows = [str(row) for row in range(pool.rows)]
    if known is None:
        return None if history is None else SideInformation.of(pool.actions, rows, None, history)
    if all(isinstance(one, str) for one in known):
        cells: Any = np.broadcast_to([name in known for name in pool.actions], pool.losses.shape)
        missing = [name for name in known if name not in pool.actions]
        if missing:
            raise ParameterError(
                f"plan: known must be among {', '.join(pool.actions[:6])}, got {missing[0]!r}; use a column name."
            )
    else:
        cells = np.asarray(known, bool)
        if cells.shape != pool.losses.shape:
            raise ParameterError(
                f"plan: known must have the shape of the table, {pool.losses.shape}, got {cells.shape}; mark each cell."
            )
    return SideInformation.of(pool.actions, rows, np.where(cells, pool.losses, np.nan), history)


def _simulate(
    settings: RaceSettings, table: Rows, totals: Floats, seed: Seed, workload: Workload, side: SideInformation | None
) -> SimulatedRace:
    rule, order = settings.rule(len(table)), draw_order("random", len(table), RngStreams(seed).order())
    with workload.active():
        calls = rule.play(table, order) if side is None else play_on_file(rule, side, table, order)
    answer = tuple(settings.candidates[a] for a in answer_of(rule))
    if isinstance(rule, Place):
        # The candidate is known beforehand; its rank is the answer.
        answer = (f"{answer[0]}: rank {rank_text(rule.rank_set())}",)
    return SimulatedRace(calls, rule.rows_seen, answer, is_proved(rule) is not None, is_wrong(rule, totals))
