"""Exact expected regrets against brute force over orders and over the learner's rng."""

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

from tombola import Budget, Simulation, learners, play
from tombola._types import Floats
from tombola.budget.optimum import optimum
from tombola.classification import ERM, Experts, FiniteClass, Halving, LabelledPool, Thresholds
from tombola.errors import ParameterError
from tombola.lab import exact, minimax, trees, worst_pool
from tombola.learners import (
    UCB1,
    AdaHedge,
    EpsilonGreedy,
    Exp3,
    FollowTheLeader,
    Hedge,
    HedgeAnytime,
)
from tombola.learners.base import Feedback, Learner
from tombola.pool import Pool
from tombola.rng import uniform

ALL = list(itertools.product([0.0, 1.0], repeat=2))
RATE = 0.7


class State(NamedTuple):
    """Sums of losses, seen or estimated."""

    sums: Floats


@dataclass(frozen=True)
class Half(Learner):
    """Each of two actions with probability 1/2."""

    feedback: ClassVar[Feedback] = "full"

    def init(self, actions, horizon):
        return State(np.zeros(actions))

    @staticmethod
    def act(state, rng):
        return (0, 0.5) if uniform(rng) < 0.5 else (1, 0.5)

    @staticmethod
    def observe(state, losses):
        state.sums[0] += losses[0]


@dataclass(frozen=True)
class Unknown(Half):
    @staticmethod
    def act(state, rng):
        return 0, math.nan


@dataclass(frozen=True)
class Liar(Half):
    @staticmethod
    def act(state, rng):
        return (0, 1.0) if uniform(rng) < 0.5 else (1, 1.0)


def naive_leader(rows):
    """Loss of follow-the-leader on a sequence."""
    loss = 0.0
    for t in range(len(rows)):
        totals = [sum(row[a] for row in rows[:t]) for a in range(len(rows[0]))]
        loss += rows[t][totals.index(min(totals))]
    return loss


def naive_weights(rows):
    """Expected loss of exponential weights on a sequence."""
    loss = 0.0
    for t in range(len(rows)):
        weights = [math.exp(-RATE * sum(row[a] for row in rows[:t])) for a in range(len(rows[0]))]
        loss += sum(w * x for w, x in zip(weights, rows[t], strict=True)) / sum(weights)
    return loss


def naive_bandit_weights(rows):
    """Expected loss with bandit feedback: over all sequences of actions, each with its probability."""
    k = len(rows[0])
    expected = 0.0
    for actions in itertools.product(range(k), repeat=len(rows)):
        chance_of_all, loss, sums = 1.0, 0.0, [0.0] * k
        for action, row in zip(actions, rows, strict=True):
            weights = [math.exp(-RATE * s) for s in sums]
            probability = weights[action] / sum(weights)
            chance_of_all *= probability
            if probability == 0.0:
                break
            loss += row[action]
            sums[action] += row[action] / probability
        expected += chance_of_all * loss
    return expected


LEARNERS = [
    (learners.FollowTheLeader(), naive_leader),
    (learners.Hedge(rate=RATE), naive_weights),
    (learners.Exp3(rate=RATE), naive_bandit_weights),
]


def naive_random_order(naive, rows):
    """Mean over all permutations, minus the best action."""
    losses = [naive(order) for order in itertools.permutations(rows)]
    return sum(losses) / len(losses) - min(map(sum, zip(*rows, strict=True)))


def naive_worst_case(naive, kinds, T, grid):
    """Straight from the definitions, each model on its own."""
    sequences = {rows: naive(rows) for rows in itertools.product(kinds, repeat=T)}
    adversarial = max(
        loss - min(map(sum, zip(*rows, strict=True))) for rows, loss in sequences.items()
    )
    random = max(
        naive_random_order(naive, rows)
        for rows in itertools.combinations_with_replacement(kinds, T)
    )
    iid = -math.inf
    for parts in itertools.product(range(grid + 1), repeat=len(kinds)):
        if sum(parts) == grid:
            probability = {kind: part / grid for kind, part in zip(kinds, parts, strict=True)}
            loss = sum(
                math.prod(probability[row] for row in rows) * loss
                for rows, loss in sequences.items()
            )
            means = [
                sum(probability[kind] * kind[a] for kind in kinds) for a in range(len(kinds[0]))
            ]
            iid = max(iid, loss - T * min(means))
    return iid, random, adversarial


@pytest.mark.parametrize(("T", "adversarial"), [(5, 3.0), (6, 3.0)])
def test_follow_leader_known_values(T, adversarial):
    regrets = exact.worst_case(learners.FollowTheLeader(), ALL, T)
    assert regrets[1:3] == pytest.approx((8 / 5, adversarial), abs=1e-12)


@pytest.mark.parametrize(("learner", "naive"), LEARNERS)
@pytest.mark.parametrize("seed", range(4))
def test_exact_regrets_agree_with_brute_force(learner, naive, seed):
    generator = np.random.default_rng(seed)
    k, T = [(1, 3), (2, 4), (3, 4), (3, 1)][seed]
    table = generator.integers(0, 3, size=(T, k)) / 2 if seed % 2 else generator.random((T, k))
    table[-1] = table[0]
    rows = [tuple(row) for row in table.tolist()]
    assert exact.expected_loss(learner, table) == pytest.approx(naive(rows), abs=1e-9)
    assert exact.random_order(learner, Pool(table)) == pytest.approx(
        naive_random_order(naive, rows), abs=1e-9
    )


@pytest.mark.parametrize(("learner", "naive"), LEARNERS)
@pytest.mark.parametrize(
    ("kinds", "T", "grid"), [(ALL, 3, 4), (ALL[1:3], 5, 6), ([(1.0, 0.25)], 3, 12)]
)
def test_worst_case_agrees_with_definitions(learner, naive, kinds, T, grid):
    regrets = exact.worst_case(learner, kinds, T, grid=grid)
    assert regrets[:3] == pytest.approx(naive_worst_case(naive, kinds, T, grid), abs=1e-9)
    if T == 5 and learner == learners.FollowTheLeader():
        assert regrets.iid_input == pytest.approx({(0.0, 1.0): 1 / 6, (1.0, 0.0): 5 / 6})
        assert regrets.iid < regrets.random - 0.1 < regrets.adversarial - 1.0


@pytest.mark.parametrize(
    "learner", [learners.FollowTheLeader(), learners.Hedge(), learners.Exp3(), learners.UCB1()]
)
def test_worst_inputs_attain_worst_regrets(learner):
    T = 4
    regrets = exact.worst_case(learner, [*ALL, ALL[0]], T, grid=6)
    assert exact.random_order(learner, regrets.random_input) == pytest.approx(
        regrets.random, abs=1e-9
    )
    worst = regrets.adversarial_input.losses
    attained = exact.expected_loss(learner, worst) - worst.sum(axis=0).min()
    assert attained == pytest.approx(regrets.adversarial, abs=1e-9)
    rows, probabilities = list(regrets.iid_input), list(regrets.iid_input.values())
    assert sum(probabilities) == pytest.approx(1.0)
    loss = sum(
        math.prod(probabilities[i] for i in path)
        * exact.expected_loss(learner, [rows[i] for i in path])
        for path in itertools.product(range(len(rows)), repeat=T)
    )
    means = np.array(probabilities) @ np.array(rows)
    assert loss - T * means.min() == pytest.approx(regrets.iid, abs=1e-9)


@pytest.mark.parametrize(
    "learner",
    [
        Unknown(),
        Liar(),
        learners.ThompsonSampling(),
        Simulation(learners.PythonLearner(lambda *_: None, lambda _: 0, lambda *_: None)),
    ],
)
@pytest.mark.usefixtures("short_work")
def test_unknown_probabilities_raise(learner):
    with pytest.raises(ParameterError, match=type(learner).__name__):
        exact.expected_loss(learner, [[1.0, 0.0], [0.0, 1.0]] * 2)
    assert exact.expected_loss(learners.FixedAction(0), [[1.0, 0.0], [0.0, 1.0]]) == 1.0


def test_learner_without_mix_is_enumerated():
    """EpsilonGreedy plays its leader with probability 1 - e + e/k, the others with e/k."""
    assert exact.expected_loss(Half(), [[1.0, 0.0], [0.5, 1.0], [0.0, 0.0]]) == pytest.approx(
        1.25, abs=1e-12
    )
    rows = [[0.9, 0.2], [0.4, 0.6], [0.1, 0.8]]
    learner = learners.EpsilonGreedy(0.5)
    found = [play(learner, Pool(rows), order="given", seed=seed).loss for seed in range(1500)]
    spread = np.std(found) / math.sqrt(len(found))
    assert (
        abs(np.mean(found) - exact.expected_loss(learner, rows)) < 5 * spread
    )  # false alarm: below 1e-6


@dataclass(frozen=True)
class BudgetedBase(learners.BudgetedLearner):
    """Half of the time the dear action, as long as it fits."""

    def init(self, terms):
        return State(np.zeros(1))

    @staticmethod
    def mix(state, mix):
        mix[0] = mix[1] = 0.5

    @staticmethod
    def observe(state, round, played, losses, costs):
        pass


def naive_spender(rows, amount, worst):
    """Expected loss over all sequences of rng; rows are (cost of the dear action); the other one loses 1."""
    if not rows:
        return 0.0
    if worst > amount:
        return float(len(rows))
    dear = naive_spender(rows[1:], amount - rows[0], worst)
    return 0.5 * dear + 0.5 * (1.0 + naive_spender(rows[1:], amount, worst))


@pytest.mark.parametrize("amount", [0.0, 1.0, 2.5, 3.0, 9.0])
@pytest.mark.usefixtures("short_work")
def test_budget_agrees_with_brute_force(amount):
    costs = [1.0, 2.0, 1.0, 0.5]
    pool = Pool([[1.0, 0.0]] * 4, costs=[[0.0, cost] for cost in costs])
    orders = list(itertools.permutations(costs))
    naive = sum(naive_spender(order, amount, 2.0) for order in orders) / len(orders)
    best = 4 * (1.0 - optimum(pool, Budget(amount)).value)
    assert exact.random_order(BudgetedBase(), pool, budget=Budget(amount)) == pytest.approx(
        naive - best, abs=1e-9
    )
    regret, worst = exact.worst_pool(BudgetedBase(), pool, 2, budget=Budget(amount))
    pairs = itertools.combinations_with_replacement([0.5, 1.0, 2.0], 2)
    by_hand = []
    for pair in pairs:
        loss = sum(naive_spender(order, amount, 2.0) for order in (pair, pair[::-1])) / 2
        chosen = Pool([[1.0, 0.0]] * 2, costs=[[0.0, cost] for cost in pair])
        by_hand.append(loss - 2 * (1.0 - optimum(chosen, Budget(amount)).value))
    assert regret == pytest.approx(max(by_hand), abs=1e-9)
    assert worst.rows == 2


@pytest.mark.full
def test_planning_learner_within_budget():
    """False alarm: below 1e-6."""
    pool = Pool([[1.0, 0.2], [1.0, 0.6], [1.0, 0.0]], costs=[[0.0, 1.0], [0.0, 2.0], [0.0, 0.5]])
    regrets = [
        play(learners.EmpiricalLP(), pool, budget=Budget(2.5), seed=seed).regret
        for seed in range(600)
    ]
    spread = np.std(regrets) / math.sqrt(len(regrets))
    regret = exact.random_order(learners.EmpiricalLP(), pool, budget=Budget(2.5))
    assert abs(np.mean(regrets) - regret) < 5 * spread + 1e-9


LABELLED = LabelledPool([0, 1, 2, 1], [0, 1, 1, 0], [1.0, 0.5, 1.0, 1.0])
CHAIN = FiniteClass([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])


@pytest.mark.parametrize("learner", [ERM(Thresholds()), ERM(CHAIN), Halving(CHAIN)])
@pytest.mark.parametrize("delay", [0, 2])
@pytest.mark.usefixtures("plainly")
def test_labels_agree_with_all_orders(learner, delay):
    orders = [list(order) for order in itertools.permutations(range(4))]
    pools = [
        LabelledPool(LABELLED.features[o], LABELLED.labels[o], LABELLED.weights[o]) for o in orders
    ]
    regrets = [play(learner, pool, order="given", delay=delay, seed=0).regret for pool in pools]
    assert exact.random_order(learner, LABELLED, delay=delay) == pytest.approx(
        np.mean(regrets), abs=1e-9
    )
    worst = exact.worst_case(learner, LABELLED, 2, grid=4, delay=delay)
    assert worst.random <= worst.adversarial + 1e-9
    assert worst.adversarial_input.rows == 2


def test_experts_are_averaged():
    """Hypotheses are the actions of exponential weights, with weighted mistakes as losses."""
    points, labels, weights = [0, 1, 2, 1], [0, 1, 1, 0], [1.0, 0.5, 1.0, 1.0]
    rows = [
        tuple(w * (CHAIN.array[:, x] != y)) for x, y, w in zip(points, labels, weights, strict=True)
    ]
    regret = exact.random_order(Experts(CHAIN, learners.Hedge(rate=RATE)), LABELLED)
    assert regret == pytest.approx(naive_random_order(naive_weights, rows), abs=1e-9)


@pytest.mark.full
def test_random_labels_raise():
    with pytest.raises(ParameterError, match="rng"):
        exact.random_order(ERM(Thresholds(), ties="random"), LABELLED)
    with pytest.raises(ParameterError, match="LabelledPool"):
        exact.random_order(ERM(Thresholds()), Pool([[0.0, 1.0]]))
    with pytest.raises(ParameterError, match="losses"):
        exact.random_order(learners.UCB1(), LABELLED)


@pytest.mark.parametrize(
    ("limit", "call"),
    [
        (2_000_000, lambda: exact.worst_case(learners.FollowTheLeader(), ALL, 1000)),
        (
            2_000_000,
            lambda: exact.random_order(
                learners.FollowTheLeader(), np.random.default_rng(0).random((1000, 2))
            ),
        ),
        (2_000_000, lambda: exact.expected_loss(learners.Exp3(rate=RATE), np.ones((1000, 2)))),
        (2_000_000, lambda: exact.worst_case(learners.FollowTheLeader(), ALL, 2, grid=10**6)),
        (
            100,
            lambda: exact.random_order(
                learners.FollowTheLeader(), [[1.0, 0.0]] * 49 + [[0.0, 1.0]], limit=100
            ),
        ),
        (339, lambda: exact.worst_case(learners.Exp3(rate=RATE), ALL[1:3], 4, grid=300, limit=339)),
    ],
)
def test_too_large_tree_raises_at_once(limit, call):
    with pytest.raises(ParameterError, match=f"limit={limit}"):
        call()


def test_tree_within_the_limit():
    """Nodes: two kinds of rows and two actions, 4 + 16 + 64 + 256; one per round without choices."""
    assert (
        exact.worst_case(learners.Exp3(rate=RATE), ALL[1:3], 4, grid=300, limit=340).adversarial > 0
    )
    assert exact.expected_loss(learners.FollowTheLeader(), np.ones((3000, 2))) == 3000.0


@pytest.mark.parametrize(
    ("learner", "delay"),
    [
        (Hedge(), 0),
        (Hedge(), 2),
        (AdaHedge(), 1),
        (FollowTheLeader(), 3),
        (UCB1(), 0),
        (EpsilonGreedy(), 0),
        (Exp3(), 2),
    ],
    ids=str,
)
def test_merged_states_have_the_means_of_all_orders(learner, delay):
    """Merging prefixes with equal rows and states must not change the mean loss of any pool."""
    rows = [[0.0, 1.0], [1.0, 0.5], [0.5, 0.0]]
    options = trees.Options(delay, None, "fits", 100_000)
    one, other = (exact._make_tree("test", learner, rows, 4, options) for _ in range(2))
    all_orders, *_ = exact._all_sequences(one)
    merged = exact._mean_losses(other)
    assert merged.keys() == all_orders.keys()
    for counts, mean in all_orders.items():
        assert merged[counts] == pytest.approx(mean, abs=1e-12)


def test_states_that_differ_are_not_merged(monkeypatch):
    """A key that forgets the state gives other means: the comparison above can fail."""
    options = trees.Options(0, None, "fits", 100_000)
    rows = [[0.0, 1.0], [1.0, 0.5], [0.5, 0.0]]
    right = exact._mean_losses(exact._make_tree("test", UCB1(), rows, 5, options))
    monkeypatch.setattr(trees.LossTree, "key", lambda self, snapshot: 0)
    wrong = exact._mean_losses(exact._make_tree("test", UCB1(), rows, 5, options))
    assert max(abs(wrong[counts] - right[counts]) for counts in right) > 0.05


def test_sandwich_at_long_horizons():
    """A learner that remembers sums is exact at T = 64; no learner is below the minimax value."""
    values = [minimax(horizon, rows=np.eye(2)).value for horizon in (16, 64)]
    regrets = [worst_pool(HedgeAnytime(), np.eye(2), horizon)[0] for horizon in (16, 64)]
    assert values == pytest.approx([1.571045, 3.179096], abs=1e-6)
    assert [regret > value for regret, value in zip(regrets, values, strict=True)] == [True, True]
    assert regrets[1] < 1.2 * values[1]
