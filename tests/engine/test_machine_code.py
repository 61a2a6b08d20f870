"""Machine code gives the bits of plain Python: every learner, loop, session kernel and statistic,
compiled once.

Other tests run kernels as users get them: interpreted for short work. `make test-full` compiles
them there too.
"""

import re
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any
from unittest import mock

import numpy as np
import pytest

from conftest import SOURCE
from pools import pool_with_costs
from tombola import Budget, Pool, Session, play
from tombola._types import Floats
from tombola.classification import ERM, Halfplanes, LabelLearner, LabelledPool, Rectangles, Stumps
from tombola.engine import compiler
from tombola.engine.compiler import compiled, interpreted
from tombola.evidence import (
    BernsteinSequence,
    Betting,
    EmpiricalBernsteinSerfling,
    EProcess,
    Hoeffding,
    HoeffdingSequence,
    PredictedMean,
    RandomOrderTest,
    Serfling,
)
from tombola.evidence.permutation_test import permutation_test
from tombola.learners import UCB1, Exp3, FollowTheLeader, Hedge, PrimalDual, Simulation, ThriftyLP
from tombola.learners.budgeted.base import BudgetedBase
from tombola.learners.reductions.optimistic import _compile_simulation
from tombola.order import draw_order
from tombola.paper.extensions.ranks import _worst_pair
from tombola.policies import Ridge, Routed, RoutedLP, Trees
from tombola.policies.guard import Guard
from tombola.racing import RaceSettings
from tombola.racing.fresh_answers import FreshAnswers
from tombola.racing.predictions import InformedRule
from tombola.racing.rules.ranks import Ranks
from tombola.racing.side_information import SideInformation
from twin_cases import ALL

FULL = pytest.mark.full
ROWS = 60
POOL = pool_with_costs(ROWS, 3, 1, seed=1)
FEATURES = np.random.default_rng(2).normal(size=(ROWS, 2))
ROUTED_POOL = Pool(POOL.losses, costs=POOL.costs, features=FEATURES)
LOSSES: Floats = np.array(POOL.losses, np.float64)
NAMES, FORWARD = ("a", "b", "c"), np.arange(ROWS, dtype=np.uint32)
LABELLED = LabelledPool(
    np.round(FEATURES, 1), (FEATURES[:, 0] + FEATURES[:, 1] ** 2 > 0.5).astype(int)
)


def budget_of(learner: Any) -> Budget | None:
    return Budget(12.0, worst=[0.0, 1.0, 1.0]) if isinstance(learner, BudgetedBase) else None


def played(learner: Any) -> Any:
    """Play with late feedback; a learner of labels on a labelled pool."""
    pool = LABELLED if isinstance(learner, LabelLearner) else POOL
    trace = play(learner, pool, delay=2, budget=budget_of(learner), seed=3)
    return [trace.actions, trace.probabilities, trace.losses]


def live(learner: Any) -> Any:
    """Answer tickets out of order, some of them on the general path, which takes any type of number."""
    budget, costs = budget_of(learner), np.asarray(POOL.costs)
    session = Session(learner, 3, ROWS, budget=budget, seed=3)
    for t in range(ROWS - 4):
        session.act()
        for ticket in session.pending[::-1] if t % 3 == 2 else ():
            cell = (
                (ticket.round - 1,)
                if session.feedback_model.full_feedback
                else (ticket.round - 1, ticket.action)
            )
            given = {"reward": 1.0 - LOSSES[cell]} if t == 2 else {"loss": LOSSES[cell].tolist()}
            session.observe(ticket, **given, cost=None if budget is None else costs[cell].tolist())
    runner = session._live.runner
    return [session.tickets, session.outcomes, runner.memory, runner.rng]


def live_labels() -> Any:
    session = Session(ERM(Stumps(2), "random"), horizon=ROWS, features=2, seed=3)
    for t in range(ROWS):
        session.act(LABELLED.features[t])
        for ticket in session.pending[::-1] if t % 3 == 2 else ():
            session.observe(
                ticket, label=int(LABELLED.labels[ticket.round - 1]), weight=1.0 if t == 2 else None
            )
    return [session.tickets, session.outcomes]


def live_policy(policy: Any) -> Any:
    session = Session(policy, 3, ROWS, features=2, seed=3)
    for t in range(ROWS):
        session.observe(session.act(FEATURES[t]), loss=LOSSES[t])
    return [session.tickets]


def routed() -> Any:
    trace = play(ROUTED, ROUTED_POOL, seed=3)
    assert trace.router is not None
    return [trace.actions, *trace.router.stakes]


def routed_lp() -> Any:
    return [play(RoutedLP(models=(Ridge(),)), ROUTED_POOL, budget=Budget(20.0), seed=3).actions]


def statistic(make: Callable[[], Any]) -> Any:
    seen = make()
    seen.extend(LOSSES[:-1])
    for action in range(3):
        seen.update(float(LOSSES[-1, action]), action)
    return [seen._memory]


def order_test() -> Any:
    test = RandomOrderTest(3, seed=3)
    test.extend(LOSSES)
    test.update(0.5, 1)
    return [test._memory]


def predicted_mean() -> Any:
    sequence = PredictedMean(LOSSES[:, 1:], points=[0.4, 0.5])
    for row in range(ROWS):
        sequence.update(row, float(LOSSES[row, 0]))
    return [sequence.max_wealth]


def race(**question: Any) -> Any:
    """Run a race on the whole table, and row by row."""
    rule = RaceSettings(NAMES, level=0.3, **question).rule(ROWS)
    calls = rule.play(POOL.losses, FORWARD)
    whole = rule.memory.copy()
    rule.reset()
    for row in LOSSES:
        if not rule.done:
            rule.update(row.copy())
    return [calls, whole, rule.memory]


def race_with_history() -> Any:
    known = np.where(np.arange(3) == 2, LOSSES, np.nan)
    side = SideInformation.of(NAMES, [str(row) for row in range(ROWS)], known, LOSSES[:, ::2] / 2)
    informed = InformedRule(RaceSettings(NAMES, level=0.01).rule(ROWS), side)
    calls = informed.play(POOL.losses, FORWARD)
    whole = informed.rule.memory.copy()
    informed.reset()
    for row in range(9):
        informed.update(row, LOSSES[row].copy())
    return [calls, whole, informed.rule.memory, informed.sums.predicted]


def fresh_answers_with_history() -> Any:
    side = SideInformation(np.full((ROWS, 3), np.nan), LOSSES[:, ::2] / 2)
    rule = RaceSettings(NAMES, level=0.01, reading="expected", answers="random").rule(ROWS)
    runner = FreshAnswers(rule, side)
    for t in range(12):
        runner.update(t % 5, LOSSES[t].copy())
    return [rule.memory, np.asarray(runner.predicted)]


ROUTED = Routed(models=(Trees(3, trees=4), Ridge()))
# One learner of each class: parameters are numbers in the state, not other kernels.
LEARNERS = {type(case.learner).__name__: case.learner for case in ALL[::-1]}
# Loops differ by feedback model, and by whether the learner mixes or plans.
PLAYED = [
    FollowTheLeader(),
    Hedge(),
    UCB1(),
    Exp3(),
    Simulation(FollowTheLeader()),
    PrimalDual(),
    ThriftyLP(),
]
LABELS = [ERM(Stumps(2), "random"), ERM(Rectangles()), ERM(Halfplanes())]
STATISTICS: list[Any] = [
    HoeffdingSequence,
    BernsteinSequence,
    Betting,
    Hoeffding,
    Serfling,
    EmpiricalBernsteinSerfling,
]
QUESTIONS: dict[str, dict[str, Any]] = {
    "best": {},
    "within": {"within": 0.1},
    "top": {"top": 2},
    "gate": {"baseline": "a", "better": True},
    "ranks": {"question": "ranks"},
    "place": {"question": "ranks", "candidate": "a"},
}
CASES: dict[str, Callable[[], Any]] = {
    **{f"learner {name}": partial(live, learner) for name, learner in LEARNERS.items()},
    **{f"play {learner!r}": partial(played, learner) for learner in [*PLAYED, *LABELS]},
    "session labels": live_labels,
    "session Routed": partial(live_policy, ROUTED),
    "play Routed": routed,
    "play RoutedLP": routed_lp,
    "guard": lambda: list(
        Guard(risk=2.0).stakes(LOSSES[:, 0] - LOSSES[:, 1], LOSSES[:, 1] - LOSSES[:, 2])
    ),
    "fresh answers with history": fresh_answers_with_history,
    **{kind.__name__: partial(statistic, partial(kind, ROWS, actions=3)) for kind in STATISTICS},
    "EProcess": partial(statistic, partial(EProcess, at_most=0.5, population=ROWS, actions=3)),
    "RandomOrderTest": order_test,
    "permutation_test": lambda: [permutation_test(LOSSES, 0.05, np.random.SeedSequence(3))],
    "PredictedMean": predicted_mean,
    **{f"race {name}": partial(race, **question) for name, question in QUESTIONS.items()},
    "race with history": race_with_history,
    "orders of a pair": lambda: [_worst_pair(Ranks(2, 4, 4, 0.5), np.arange(-1, 2), 1)],
    "iid order": lambda: [draw_order("iid", ROWS, np.arange(1, 5, dtype=np.uint64))],
}
_compile_or_interpret = compiler._compile_or_interpret
_modules: set[str] = set()  # that have asked for a kernel


def _note_module(*arguments: Any, **options: Any) -> Any:
    _modules.add(sys._getframe(2).f_globals["__name__"])
    return _compile_or_interpret(*arguments, **options)


@cache
def plain_bits(name: str) -> Any:
    _compile_simulation.cache_clear()  # other tests may have asked for its kernels
    with interpreted(), mock.patch.object(compiler, "_compile_or_interpret", _note_module):
        return bits(CASES[name]())


def bits(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [bits(part) for part in value]
    return None if value is None else np.asarray(value, np.float64).tobytes()


# Compiling all cases takes minutes: in every run one of each kind of loop, the others in full runs.
EVERY_RUN = {
    "learner UCB1",
    "learner Exp3",
    "learner FollowTheLeader",
    "learner Hedge",
    "learner UCB2",
    "learner Thrifty",
    "play Exp3(rate=None)",
    "learner Simulation",
    "play Routed",
    "Betting",
    "race best",
    "race gate",
    "iid order",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in EVERY_RUN else FULL) for name in CASES]
)
def test_machine_code_gives_bits_of_plain_python(name: str) -> None:
    with compiled():
        assert bits(CASES[name]()) == plain_bits(name)


def test_every_module_that_compiles_is_covered() -> None:
    """A new module with kernels needs a case above."""
    assert CASES.keys() >= EVERY_RUN
    for name in CASES:
        plain_bits(name)
    package = SOURCE / "tombola"
    compiling = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for path in package.rglob("*.py")
        if re.search(
            r"^from tombola.engine.compiler import .*compile_(loop|step)",
            path.read_text(),
            re.MULTILINE,
        )
    }
    assert {module for module in _modules if module.startswith("tombola.")} == compiling
