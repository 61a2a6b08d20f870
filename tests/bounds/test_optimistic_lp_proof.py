"""OptimisticLP's theorem by enumeration: on small 0/1 pools, over all orders and all rng, each step
of its proof.

The bound itself equals T for small T, so its lemmas are enumerated (docs/theory/budget.md):
the probability that an optimistic mean is wrong after n plays of an action is at most e^-g for each
action and n, also under adaptive play; and on every path the rate of the budget left, and the value
of a plan.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np
import pytest

from tombola import Pool
from tombola.budget import Budget, BudgetTerms, optimum
from tombola.engine.state_vector import flatten, unflattener
from tombola.learners import OptimisticLP
from tombola.learners.budgeted.optimistic_lp import lower_confidence_bounds

Row = tuple[tuple[float, float], ...]  # for each action its loss and its cost
LOGS = (0.5, 1.0, 2.0)
NO_COINS = np.zeros(4, np.uint64)


class Snapshot(NamedTuple):
    """What the learner remembers, which rows are still to come, and what was spent."""

    memory: bytes
    rows: tuple[int, ...]
    spent: float


class Walk:
    """All plays of a learner with this caution on a pool; what does not fit any more is left to null."""

    def __init__(
        self, rows: tuple[Row, ...], budget: float, log: float, learner: OptimisticLP
    ) -> None:
        self.rows, self.budget, self.horizon, self.learner = rows, budget, len(rows), learner
        self.kinds = tuple(sorted(set(rows)))
        self.worst = np.append(np.array(rows)[:, :, 1].max(axis=0), 0.0)
        k = len(rows[0])
        prices = np.array([[math.nan]] * k + [[0.0]])
        terms = BudgetTerms(k + 1, 1, self.horizon, budget / self.horizon, k, prices, added=True)
        state = learner.init(terms)._replace(log=log)
        self.null, self.view = k, unflattener(state)
        counts = tuple(rows.count(kind) for kind in self.kinds)
        self.start = Snapshot(flatten(state, k + 1).tobytes(), counts, 0.0)

    def mix(self, moment: Snapshot) -> tuple[Any, bool]:
        """Return the state with its mix, planned if that is due, and whether it was."""
        left = self.budget - moment.spent
        assert left >= 0.0, "overspent"
        state, fits = (
            self.view(np.frombuffer(moment.memory).copy()),
            (self.worst <= left).astype(float),
        )
        planned = bool(self.learner.needs_plan(state, fits))
        if planned:
            self.learner.plan(state, np.array([left]), fits, NO_COINS)
        assert not state.played[fits == 0.0].any()
        return state, planned

    def steps(
        self, moment: Snapshot, state: Any
    ) -> Iterator[tuple[float, int, tuple[float, float], Snapshot]]:
        """Yield every possible next play: probability, action, (loss, cost), and the state after it."""
        left = sum(moment.rows)
        for action in np.flatnonzero(state.played).tolist():
            for kind, count in enumerate(moment.rows):
                if count == 0:
                    continue
                loss, cost = (1.0, 0.0) if action == self.null else self.kinds[kind][action]
                memory = flatten(state, self.null + 1)
                self.learner.observe(self.view(memory), 0, action, 1.0, loss, np.array([cost]))
                rest = tuple(n - (i == kind) for i, n in enumerate(moment.rows))
                probability = float(state.played[action]) * count / left
                yield (
                    probability,
                    action,
                    (loss, cost),
                    Snapshot(memory.tobytes(), rest, moment.spent + cost),
                )


def broken_promises(walk: Walk, low: Any, log: float) -> float:
    """Return the largest probability, over actions, n, losses and costs, that n plays promise what the pool has not."""
    means = np.array(walk.rows).mean(axis=0)
    probabilities: dict[Any, float] = defaultdict(float)
    layer = {walk.start: 1.0}
    while layer:
        following: dict[Snapshot, float] = defaultdict(float)
        for moment, weight in layer.items():
            state, _ = walk.mix(moment)
            for probability, action, _, after in walk.steps(moment, state):
                following[after] += weight * probability
                seen = walk.view(np.frombuffer(after.memory).copy())
                n = float(seen.seen[action])
                for which, mean in enumerate((seen.means[action], seen.costs[action, 0])):
                    bar = means[action, which] if action < walk.null else 1.0 - which
                    if low(np.array([mean]), np.array([n]), log)[0] > bar + 1e-12:
                        probabilities[action, which, n] += weight * probability
        layer = {moment: weight for moment, weight in following.items() if sum(moment.rows)}
    return max(probabilities.values(), default=0.0)


def small_pools(kinds: list[Row], rows: int) -> Iterator[tuple[Row, ...]]:
    return combinations_with_replacement(kinds, rows)


ONE: list[Row] = [((loss, cost),) for loss, cost in product((0.0, 1.0), repeat=2)]
TWO: list[Row] = [((a, 1.0), (b, 0.5)) for a, b in product((0.0, 1.0), repeat=2)]

CHEAP: list[Row] = [((0.0, 0.2), (1.0, 0.1)), ((1.0, 0.2), (0.0, 0.1)), ((0.0, 0.2), (0.0, 0.0))]
CALM: Row = ((0.0, 0.1),)


def worst(
    kinds: list[Row], rows: int, low: Any = lower_confidence_bounds, logs: tuple[float, ...] = LOGS
) -> float:
    """Return the largest e^g P(broken) over all pools of these kinds of rows."""
    found = 0.0
    for pool in small_pools(kinds, rows):
        for log in logs:
            walk = Walk(pool, 0.5 * rows, log, OptimisticLP())
            found = max(found, math.exp(log) * broken_promises(walk, low, log))
    return found


def half(means: Any, counts: Any, log: float) -> Any:
    """A fault: half of the radius."""
    return lower_confidence_bounds(means, counts, log / 4)


@pytest.mark.parametrize(("kinds", "rows"), [(ONE, 3), (TWO, 3), (ONE, 4)])
def test_adaptive_play_keeps_error_probability(kinds: list[Row], rows: int) -> None:
    assert worst(kinds, rows, logs=(1.0,)) <= 1.0 + 1e-12


def test_half_radius_fails() -> None:
    assert worst(ONE, 4, half, (1.0,)) > 1.0 + 1e-9


@pytest.mark.full
@pytest.mark.parametrize(("kinds", "rows"), [(ONE, 6), (TWO, 6), (ONE, 7)])
def test_adaptive_play_on_larger_pools(kinds: list[Row], rows: int) -> None:
    found = worst(kinds, rows)
    print(
        f"{len(kinds)} kinds of rows, {rows} rows: largest e^g P = {found:.4f}, half of the radius",
        end=" ",
    )
    print(f"{worst(kinds, rows, half):.4f}")
    assert found <= 1.0 + 1e-12


class Spendthrift(OptimisticLP):
    """A fault: it plans with three times what is left."""

    def plan(self, state: Any, left: Any, fits: Any, rng: Any) -> None:
        super().plan(state, 3.0 * left, fits, rng)


class Miser(OptimisticLP):
    """A fault: it plans, and plays nothing."""

    def plan(self, state: Any, left: Any, fits: Any, rng: Any) -> None:
        super().plan(state, left, fits, rng)
        state.played[:] = np.eye(fits.size)[-1]


def paths(walk: Walk, moment: Snapshot, history: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield every path: for each round the rate and promises of its last plan, the mix, and the play."""
    if (
        sum(moment.rows) == 0 or walk.budget - moment.spent < walk.worst.max()
    ):  # from here on plays may be refused
        yield history
        return
    state, planned = walk.mix(moment)
    rest = sum(moment.rows)
    rate = (walk.budget - moment.spent) / rest if planned else history[-1][0]
    lows = (
        lower_confidence_bounds(state.costs[:, 0], state.seen, state.log)
        if planned
        else history[-1][1]
    )
    lows = np.where(np.arange(lows.size) == walk.null, 0.0, lows)
    ups = (
        np.minimum(
            state.ceilings, 1.0 - lower_confidence_bounds(state.means, state.seen, state.log)
        )
        if planned
        else history[-1][2]
    )
    for _, action, pair, after in walk.steps(moment, state):
        yield from paths(
            walk, after, (*history, (rate, lows, ups, state.played.copy(), action, pair))
        )


def faults(rows: tuple[Row, ...], learner: OptimisticLP, budget: float) -> tuple[int, int, int]:
    """Return the paths, those on which the rate falls by more than the lemma has it, and those with a plan too poor."""
    walk = Walk(rows, budget, 0.01, learner)  # so little caution that few plays make a cost count
    T, rho = walk.horizon, budget / walk.horizon
    table = np.array(rows)
    pool = Pool(table[:, :, 0], costs=table[:, :, 1])
    best = optimum(pool, Budget(budget, null="add")).value
    rewards, costs = (
        np.append(1.0 - table[:, :, 0].mean(0), 0.0),
        np.append(table[:, :, 1].mean(0), 0.0),
    )
    count = fallen = poor = 0
    for path in paths(walk, walk.start):
        count += 1
        spent, off, top, bottom, fell, bad = Fraction(0), 0.0, 0.0, 0.0, False, False
        for n, (rate, lows, ups, mix, _, (_, cost)) in enumerate(path, 1):
            spent, off = spent + Fraction(cost), off + cost - float(lows @ mix)
            top, bottom = max(top, off), min(bottom, off)
            fell = fell or float(Fraction(budget) - spent) < (T - n) * rho - (top - bottom) - 1e-9
            holds = bool((ups >= rewards - 1e-12).all() and (lows <= costs + 1e-12).all())
            bad = bad or (holds and float(ups @ mix) < min(1.0, rate / rho) * best - 1e-9)
        fallen, poor = fallen + fell, poor + bad
    return count, fallen, poor


def test_rate_and_plans_on_every_path() -> None:
    """The two steps of the proof that need no luck, on all paths of all these pools; each has a fault that fails."""
    total, spendthrift, miser = np.zeros(3, int), np.zeros(3, int), np.zeros(3, int)
    for rows, budget in [*((rows, 0.6) for rows in small_pools(CHEAP, 6)), ((CALM,) * 10, 0.5)]:
        total += faults(rows, OptimisticLP(), budget)
        spendthrift += faults(rows, Spendthrift(), budget)
        miser += faults(rows, Miser(), budget)
    assert total[0] > 500
    assert total[1:].tolist() == [0, 0]
    assert spendthrift[1] > 0
    assert miser[2] > 0
