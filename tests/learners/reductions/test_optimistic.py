"""OptimisticSimulation: its law, its bound, and the bases it accepts."""

import copy
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from tombola import Pool, compare, instances, play
from tombola._types import Floats, RngState
from tombola.bounds import smallest_index
from tombola.engine.compiler import compiles
from tombola.errors import ParameterError
from tombola.learners import (
    UCB1,
    BanditBirthdayTest,
    ExploreThenCommit,
    FollowTheLeader,
    LazyOptimisticSimulation,
    OptimisticSimulation,
    ThompsonSampling,
    TsallisSwitching,
)
from tombola.learners.base import Learner
from tombola.learners.reductions.optimistic import _compile_simulation, keep_probabilities
from tombola.learners.switching.frugal_ucb import lower_index
from tombola.rng import new_rng
from twin_cases import OPTIMISTIC, Case, after, each_case, follow


class ObservedSums(NamedTuple):
    """What a base was sums."""

    losses: Floats


@dataclass(frozen=True)
class Listener(Learner):
    """Play action 1, and remember how often and how much it lost."""

    feedback: ClassVar[Any] = "bandit"

    def init(self, actions: int, horizon: int) -> ObservedSums:
        return ObservedSums(np.zeros(2))

    @staticmethod
    def act(state: ObservedSums, rng: RngState) -> tuple[int, float]:
        return 1, 1.0

    @staticmethod
    def observe(state: ObservedSums, action: int, probability: float, loss: float) -> None:
        state.losses[0] += 1.0
        state.losses[1] += loss


def test_simulated_mean_is_the_index() -> None:
    """40,000 simulated losses of an action: its index to five standard deviations, false alarm below 1e-6."""
    state = OptimisticSimulation(Listener()).init(2, 400)._replace(past=np.zeros((2, 400)))
    for loss in np.linspace(0.6, 1.0, 62):  # 62 is one of the counts 1, 2, 3, 5, 8, 12, ..
        OptimisticSimulation.observe(state, 1, 1.0, float(loss))
    OptimisticSimulation.observe(state, 0, 1.0, 0.0)
    share = keep_probabilities(state)
    expected = lower_index(0.8, 62.0, 400.0, 2, 400.0)
    assert share[0] == 0.0, "an action that never lost has nothing to keep"
    memory, run = _compile_simulation(Listener(), 2, 64, compiled=compiles())
    sums = memory.copy()
    run(
        sums,
        new_rng(np.random.SeedSequence(1)),
        state.past,
        state.known,
        share,
        40_000,
        np.zeros(2),
    )
    count, total = sums[sums.size - 4 : sums.size - 2]
    assert count == 40_000
    assert 0.6 < expected < 0.75
    assert total / count == pytest.approx(expected, abs=5 * 0.4 / math.sqrt(40_000))


@each_case(OPTIMISTIC)
@pytest.mark.parametrize(("delay", "answered"), [(0, 40), (3, 40), (0, 9)])
def test_simulation_agrees_with_twin(case: Case, delay: int, answered: int) -> None:
    """Every action, against plain Python with the same rng; ties, constants, T < k, T = 1, and lost answers."""
    generator = np.random.default_rng(5)
    tables = [
        generator.random((40, 3)),
        np.ones((20, 2)),
        np.zeros((20, 2)),
        generator.integers(0, 2, (33, 2)) / 1,
        np.eye(4)[:3],
    ]
    for losses in [*tables, np.ones((1, 2)), np.ones((9, 1))]:
        arrivals = [
            some if t < answered else [] for t, some in enumerate(after(len(losses), delay))
        ]
        follow(case, losses, arrivals, seed=2)


Seen = tuple[tuple[float, ...], ...]


def simulated_probabilities(base: Learner, rounds: int, indices: tuple[float, ...]) -> Floats:
    """Return the probability of each action in a random round, over all simulated losses of a base without rng."""
    rng, probabilities = new_rng(np.random.SeedSequence(0)), np.zeros(len(indices))

    def walk(state: Any, left: int, weight: float) -> None:
        action, probability = base.act(state, rng)
        probabilities[action] += weight / rounds
        for loss, share in ((1.0, indices[action]), (0.0, 1.0 - indices[action])):
            if left > 1 and share > 0.0:
                after = copy.deepcopy(state)
                base.observe(after, action, probability, loss)
                walk(after, left - 1, weight * share)

    walk(base.init(len(indices), rounds), rounds, 1.0)
    return probabilities


@cache
def law(base: Learner, horizon: int, seen: Seen) -> Floats:
    """Return the probability of each action, given the losses seen of each (docs/theory/optimistic.md)."""
    k, acted = len(seen), sum(map(len, seen))
    if () in seen:
        return np.array([a == seen.index(()) for a in range(k)], dtype=np.float64)
    looked = [losses[: max(n for n in (1, 2, 3, 5, 8) if n <= len(losses))] for losses in seen]
    left = float(horizon - acted)
    indices = [
        lower_index(sum(some) / len(some), float(len(some)), left, k, float(horizon))
        for some in looked
    ]
    return simulated_probabilities(base, 2 ** ((acted + 1).bit_length() - 1), tuple(indices))


def exact_regret(base: Learner, rows: Sequence[tuple[float, ...]]) -> float:
    """Return the expected regret of OptimisticSimulation(base) on these rows in random order, over all orders."""
    horizon, k = len(rows), len(rows[0])

    @cache
    def ahead(left: tuple[tuple[float, ...], ...], seen: Seen) -> float:
        probabilities, total = law(base, horizon, seen), 0.0
        for row in set(left):
            rest = list(left)
            rest.remove(row)
            for action in np.flatnonzero(probabilities):
                after = tuple((*s, row[action]) if a == action else s for a, s in enumerate(seen))
                suffered = row[action] + (ahead(tuple(rest), after) if rest else 0.0)
                total += left.count(row) / len(left) * float(probabilities[action]) * suffered
        return total

    return ahead(tuple(sorted(rows)), ((),) * k) - float(np.sum(rows, axis=0).min())


def largest_share(k: int, horizons: range) -> float:
    """Return the largest share of its bound that the simulation of UCB1 has, over all 0/1 pools."""
    learner, found = OptimisticSimulation(UCB1()), 0.0
    for T in horizons:
        pools = itertools.combinations_with_replacement(itertools.product([0.0, 1.0], repeat=k), T)
        found = max(
            found, max(exact_regret(UCB1(), rows) for rows in pools) / (learner.bound(k, T) or 0.0)
        )
    return found


def test_simulation_bound_on_all_small_pools() -> None:
    """All 0/1 pools with two actions up to T = 4 and with three at T = 3, exactly."""
    assert 0.1 < largest_share(2, range(1, 5)) <= 1
    assert largest_share(3, range(3, 4)) <= 1


@pytest.mark.full
def test_simulation_bound_on_all_larger_pools() -> None:
    """The same up to T = 8 with two actions and T = 5 with three."""
    assert largest_share(2, range(5, 9)) <= 1
    assert largest_share(3, range(4, 6)) <= 1


def test_plays_have_regret_of_exact_law() -> None:
    """1,000 plays to 4.5 standard errors: a right program fails with probability 1e-5."""
    rows = [(1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)]
    runs = compare(
        Pool(np.array(rows)),
        {"it": OptimisticSimulation(UCB1())},
        repetitions=1000,
        relabel=False,
        seed=3,
    )
    regrets = runs.regrets("it")
    error = float(regrets.std()) / math.sqrt(regrets.size)
    assert float(regrets.mean()) == pytest.approx(exact_regret(UCB1(), rows), abs=4.5 * error)


@pytest.mark.parametrize("kind", [OptimisticSimulation, LazyOptimisticSimulation])
def test_simulation_repairs_birthday_test(kind: Callable[..., Learner]) -> None:
    """At T = 512 the direct play has 256.5 on every order; simulated, 54 and 48 were measured."""
    pool = instances.birthday(512)
    base = BanditBirthdayTest(grid=512)
    assert play(base, pool, seed=0).regret == pytest.approx(256.5)
    assert max(play(kind(base), pool, seed=seed).regret for seed in range(4)) < 128


@pytest.mark.parametrize("kind", [OptimisticSimulation, LazyOptimisticSimulation])
def test_base_that_cannot_be_driven_is_rejected(
    kind: Callable[..., Learner], one_sentence: Callable[[object], str]
) -> None:
    for base in (FollowTheLeader(), TsallisSwitching()):
        with pytest.raises(ParameterError, match=kind.__name__) as error:
            kind(base)
        one_sentence(error.value)


def test_simulation_bound_is_sum_of_parts() -> None:
    learner = OptimisticSimulation(ExploreThenCommit())
    parts = sum(ExploreThenCommit().bound(2, 2**i) or 0.0 for i in range(21))
    assert learner.bound(2, 2**20) == pytest.approx(parts + smallest_index(2**20, 2))
    assert learner.bound(2, 2**20, delay=1) is None
    assert learner.bound(1, 100) == 0
    assert OptimisticSimulation(ThompsonSampling()).bound(2, 100) is None
    assert LazyOptimisticSimulation(ExploreThenCommit()).bound(2, 2**20) is None
