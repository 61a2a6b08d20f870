"""Plan: what a race would have cost on a table that is known already, over many shuffles."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tombola import _validate
from tombola._parallel import parallel_map
from tombola._types import Floats, Rows, Seed
from tombola.order import draw_order
from tombola.pool import Pool
from tombola.racing.options import Settings
from tombola.racing.truth import is_wrong
from tombola.racing.verdict import answer_of, proved_by
from tombola.rng import RngStreams, repetition_seeds

RANGE = (0.05, 0.95)


class SimulatedRace(NamedTuple):
    """One race on one shuffle."""

    calls: int
    rows: int
    answer: tuple[str, ...]
    decided: bool
    wrong: bool


@dataclass(frozen=True)
class Plan:
    """The races at one level over many shuffles: what they cost, whom they found, and how often they were wrong."""

    settings: Settings
    rows: int
    outcomes: tuple[SimulatedRace, ...]

    @property
    def everything(self) -> int:
        """The number of calls of the whole table."""
        return self.rows * len(self.settings.candidates)

    @property
    def calls(self) -> float:
        """The mean number of calls."""
        return float(np.mean([one.calls for one in self.outcomes]))

    @property
    def calls_range(self) -> tuple[float, float]:
        """The range that holds the number of calls in 90 % of the shuffles."""
        low, high = np.quantile([one.calls for one in self.outcomes], RANGE)
        return float(low), float(high)

    @property
    def share(self) -> float:
        """The mean number of calls as a share of the whole table."""
        return self.calls / self.everything

    @property
    def wrong(self) -> float:
        """The share of shuffles with a wrong answer; at most the level, up to probability."""
        return float(np.mean([one.wrong for one in self.outcomes]))

    @property
    def decided(self) -> float:
        """The share of shuffles in which the question was answered."""
        return float(np.mean([one.decided for one in self.outcomes]))

    @property
    def answers(self) -> list[tuple[tuple[str, ...], int]]:
        """The answers, and how often each came out, the most frequent first."""
        return Counter(one.answer for one in self.outcomes).most_common()

    def to_json(self) -> dict[str, Any]:
        """Return the plan as plain data."""
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
    shuffles: int = 200,
    workers: int = 1,
) -> list[Plan]:
    """Return what a race would have cost on this table: one plan for each level, all on the same shuffles.

    >>> pool = Pool(np.random.default_rng(0).random((400, 3)) * [0.2, 1, 1], actions=["a", "b", "c"])
    >>> [one] = plan(pool, seed=1, shuffles=20)
    >>> one.answers, one.wrong, one.share < 0.2
    ([(('a',), 20)], 0.0, True)
    """
    count = _validate.integer("plan", "shuffles", shuffles, least=1)
    table, orders = np.ascontiguousarray(pool.losses), repetition_seeds(seed, count)
    question = Settings(pool.actions, 0, within=within, top=top, baseline=baseline)
    plans = []
    for level in levels:
        settings = replace(question, level=level)
        pieces = [(settings, table, pool.totals, one) for one in orders]
        found = parallel_map(_race, pieces, workers=workers, label=f"races at level {level:g}")
        plans.append(Plan(settings, pool.rows, tuple(found)))
    return plans


def _race(settings: Settings, table: Rows, totals: Floats, seed: Seed) -> SimulatedRace:
    field = settings.field(len(table))
    calls = field.play(table, draw_order("random", len(table), RngStreams(seed).order()))
    answer = tuple(settings.candidates[a] for a in answer_of(field))
    return SimulatedRace(calls, field.seen, answer, proved_by(field) is not None, is_wrong(field, totals))
