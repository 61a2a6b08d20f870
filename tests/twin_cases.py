"""Learners with their naive twins, and the tables and arrivals on which both are played, for
several test files.

`tests/learners/test_twins.py` checks that no learner of the package is missing here.
"""

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import numpy as np
import pytest

from naive import bandit, budget, full, reductions, switching
from tombola import Budget, Pool, learners, play
from tombola.engine.compiler import expected_rounds
from tombola.engine.state_vector import mix_slice
from tombola.feedback import StepRunner, make_feedback_model
from tombola.learners.base import MixedLearner
from tombola.learners.spec import parse_learner
from tombola.rng import RngStreams, new_rng

Rows = np.ndarray[Any, np.dtype[np.float64]]
RowStream = list[list[int]]


@dataclass(frozen=True)
class Case:
    """A learner, the class of its twin, and the parameters of the twin."""

    learner: Any
    twin: Callable[..., Any]
    parameters: dict[str, Any] = field(default_factory=dict)

    def new_twin(self, *sizes: Any, **context: Any) -> Any:
        """Return a new twin; of the context (rng, late) it gets the parameters that it has."""
        return self.twin(*sizes, **self.parameters, **parameters_of(self.twin, context))


def parameters_of(twin: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that a twin takes, as arguments or class attributes."""
    names = inspect.signature(twin).parameters
    return {name: value for name, value in values.items() if name in names or hasattr(twin, name)}


def parsed(*lines: str) -> list[Any]:
    """Return the learners of lines such as "UCB1 Hedge(rate=0.1)"."""
    return [parse_learner(text) for text in " ".join(lines).split()]


def cases(module: Any, *lines: str) -> list[Case]:
    """Return learners with the twins of their names, which get all parameters that are not the defaults."""
    found = []
    for learner in parsed(*lines):
        twin = getattr(module, type(learner).__name__)
        values = {each.name: getattr(learner, each.name) for each in fields(learner)}
        changed = {
            each.name: values[each.name]
            for each in fields(learner)
            if values[each.name] != each.default
        }
        found.append(Case(learner, twin, parameters_of(twin, changed)))
    return found


BANDIT = cases(
    bandit,
    "UCB1 UCB1(scale=0.3) UCB2 UCB2(alpha=0.1) KLUCB KLUCB(c=3.0) Exp3 Exp3(rate=2.0) "
    "EpsilonGreedy",
    "EpsilonGreedy(c=0.2) TsallisInf ThompsonSampling SuccessiveElimination ExploreThenCommit",
    "ExploreThenCommit(rounds=3) RandomFixedAction BanditBirthdayTest BanditBirthdayTest(grid=2)",
)
# They simulate the base in every round, so their tables are smaller.
OPTIMISTIC = cases(
    bandit,
    "OptimisticSimulation(base=UCB1) OptimisticSimulation(base=KLUCB)",
    "LazyOptimisticSimulation(base=UCB1) LazyOptimisticSimulation(base=KLUCB)",
)
SWITCHING = cases(
    switching,
    "SimulationSuccessiveElimination SerflingElimination SerflingElimination(delta=0.5)",
    "BernsteinElimination(delta=0.9) BettingElimination BettingElimination(delta=0.9)",
    "UCB2WithoutReplacement UCB2WithoutReplacement(alpha=0.1) BlockUCB",
    "BatchedExp3 BatchedExp3(price=0.1) BatchedExp3(block=7) TsallisSwitching "
    "TsallisSwitching(price=3.0)",
    "Thrifty(price=1.0) Thrifty Thrifty(price=7.0) FrugalUCB FrugalUCB(price=0.0) "
    "FrugalUCB(price=0.2,scale=1.5)",
)
FULL = cases(
    full,
    'FollowTheLeader FollowTheLeader(ties="random") Hedge Hedge(rate=30) HedgeAnytime AdaHedge '
    "AdaHedge(kappa=1.0)",
    "FlipFlop BirthdayTest BirthdayTest(grid=8) Uniform FixedAction(action=0)",
)
REDUCTIONS = [
    Case(
        learners.Simulation(learners.FollowTheLeader()),
        reductions.Simulation,
        {"base": full.FollowTheLeader},
    ),
    Case(
        learners.Simulation(learners.FollowTheLeader(), learners.LemmaSchedule(3)),
        reductions.Simulation,
        {"base": full.FollowTheLeader, "schedule": "lemma", "delay": 3},
    ),
    Case(
        learners.Simulation(
            learners.FollowTheLeader(), learners.PaperSchedule(3), past="all", waiting="last"
        ),
        reductions.Simulation,
        {
            "base": full.FollowTheLeader,
            "schedule": "paper",
            "delay": 3,
            "past": "all",
            "waiting": "last",
        },
    ),
    Case(
        learners.Simulation(learners.Hedge(), learners.LemmaSchedule(), trainings=2),
        reductions.Simulation,
        {"base": full.Hedge, "schedule": "lemma", "trainings": 2},
    ),
    Case(
        learners.Interleaved(learners.FollowTheLeader(), 3),
        reductions.Interleaved,
        {"base": full.FollowTheLeader, "delay": 3},
    ),
    Case(
        learners.Interleaved(learners.Hedge(), 2),
        reductions.Interleaved,
        {"base": full.Hedge, "delay": 2},
    ),
]
BUDGETED = {
    "primal dual": Case(learners.PrimalDual(), budget.PrimalDual),
    "dual descent": Case(learners.DualDescent(), budget.DualDescent),
    "empirical LP": Case(learners.EmpiricalLP(), budget.EmpiricalLP),
    "serfling LP": Case(learners.SerflingLP(), budget.SerflingLP),
}
# They train with their own generator, so only fluid play can be followed.
BUDGET_SIMULATIONS = {
    "simulation": Case(
        learners.BudgetSimulation(delta=0.9, margin=0.01),
        budget.BudgetSimulation,
        {"base": budget.PrimalDual, "delta": 0.9, "margin": 0.01},
    ),
    "simulation of the LP, delay": Case(
        learners.BudgetSimulation(learners.EmpiricalLP(), delta=0.9, margin=0.05, delay=3),
        budget.BudgetSimulation,
        {"base": budget.EmpiricalLP, "delta": 0.9, "margin": 0.05, "delay": 3},
    ),
}
BUDGETED_BANDIT = {
    "optimistic LP": Case(learners.OptimisticLP(delta=0.9), budget.OptimisticLP, {"delta": 0.9}),
    "thrifty LP": Case(learners.ThriftyLP(), budget.ThriftyLP),
}
ALL = [
    *BANDIT,
    *OPTIMISTIC,
    *SWITCHING,
    *FULL,
    *REDUCTIONS,
    *BUDGETED.values(),
    *BUDGET_SIMULATIONS.values(),
    *BUDGETED_BANDIT.values(),
]
each_case = partial(pytest.mark.parametrize, "case", ids=lambda case: repr(case.learner))


def ugly_tables() -> Iterator[Rows]:
    """Yield tables of losses: ordinary, one action, short, constant, 0/1, far apart, with ties, tiny."""
    generator = np.random.default_rng(7)
    yield generator.random((130, 3))
    yield generator.random((60, 1))
    yield generator.random((1, 4))
    yield generator.random((3, 5))
    yield np.zeros((70, 3))
    yield np.ones((70, 3))
    yield (generator.random((300, 4)) < [0.9, 0.5, 0.1, 0.1]).astype(float)
    yield np.tile([1.0, 0.0], (200, 1))
    yield np.tile([0.0, 1.0, 1.0], (230, 1))
    yield generator.integers(0, 3, (77, 2)) / 2
    yield 1e-9 * generator.random((50, 2))


def after(rounds: int, delay: int = 0) -> RowStream:
    """Return the rounds whose feedback arrives after each round, if every one is late by `delay`."""
    return [[t - delay] if t >= delay else [] for t in range(rounds)]


def anyhow(rounds: int, seed: int) -> RowStream:
    """Return the same if feedback arrives late, out of order, or (one in five) never."""
    generator = np.random.default_rng(seed)
    arrivals: RowStream = [[] for _ in range(rounds)]
    for t in range(rounds):
        due = t + int(generator.geometric(0.2)) - 1
        if generator.random() < 0.8 and due < rounds:
            arrivals[due].append(t)
    for some in arrivals:
        generator.shuffle(some)
    return arrivals


def new_live(learner: Any, losses: Rows, seed: int = 0) -> StepRunner:
    """Return a learner in live use, for this table."""
    setting = make_feedback_model(learner, losses.shape[0], actions=losses.shape[1])
    with expected_rounds(*losses.shape):
        return setting.step_runner(learner, new_rng(np.random.SeedSequence(seed)))


def steps(
    live: StepRunner,
    losses: Rows,
    arrivals: RowStream,
    observe: Callable[[int, float, float], None] = lambda *_: None,
) -> Iterator[tuple[int, float]]:
    """Play all rounds with bandit feedback, and yield action and probability of each before its feedback arrives."""
    tickets = []
    for t in range(losses.shape[0]):
        tickets.append(live.act(t))
        yield tickets[t]
        for s in arrivals[t]:
            action, probability = tickets[s]
            live.learn(s + 1, action, probability, (float(losses[s, action]),))
            observe(action, probability, float(losses[s, action]))


def follow(case: Case, losses: Rows, arrivals: RowStream, seed: int = 0) -> Any:
    """Play a learner with bandit feedback, and compare every round with its twin; return the runner."""
    live = new_live(case.learner, losses, seed)
    runner = live.runner
    twin = case.new_twin(
        losses.shape[1], losses.shape[0], rng=runner.rng, late=arrivals != after(len(losses))
    )
    for action, probability in steps(live, losses, arrivals, twin.observe):
        if isinstance(case.learner, MixedLearner):
            np.testing.assert_allclose(mix_slice(runner.memory), twin.mix(), rtol=0, atol=1e-9)
            assert probability == mix_slice(runner.memory)[action] > 0
        else:
            assert action in twin.best()
            same = math.isnan(probability) and math.isnan(twin.probability)
            assert same or abs(probability - twin.probability) < 1e-9
        twin.acted(action)
    return runner


def check_budget_twin(
    case: Case,
    pool: Pool,
    share: float,
    *,
    mixed: bool,
    stop: Any,
    delay: int,
    target: float | None = None,
) -> None:
    """Play a learner with this share of the rows as budget, and compare every mix and the spending with its twin."""
    assert pool.costs is not None
    T, k, m = pool.costs.shape
    amounts = [share * T * (1 + j) / 2 for j in range(m)]
    limits = Budget(amounts, target=target)
    trace = play(case.learner, pool, "given", delay, budget=limits, stop=stop, mixed=mixed, seed=5)
    largest = pool.costs.max(axis=(0, 1))
    rates = [a / c / T for a, c in zip(amounts, largest, strict=True) if a > 0 and c > 0]

    def check(t: int, mix: list[float]) -> None:
        if mixed:
            assert trace.rewards[t] == pytest.approx(1 - pool.losses[t] @ mix, abs=1e-7)
            assert trace.costs[t] == pytest.approx(np.array(mix) @ pool.costs[t], abs=1e-7)  # type: ignore[index]
        else:
            assert trace.probabilities[t] == pytest.approx(mix[trace.actions[t]], abs=1e-7)

    spent = budget.play(
        case.new_twin(k, m, T, min([1.0, *rates]), 0, rng=RngStreams(5).learner(case.learner)),
        pool.losses,
        pool.costs,
        amounts,
        0,
        stop=stop,
        delay=min(delay, T),
        actions=None if mixed else trace.actions.tolist(),
        check=check,
    )
    assert [float(s) for s in spent] == pytest.approx(trace.costs.sum(axis=0), abs=1e-6)
    assert all(s <= a for s, a in zip(spent, amounts, strict=True)) or mixed
    assert not any(trace.overspent)
