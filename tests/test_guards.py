"""Guards: for each of these, a program broken on purpose once passed all other tests."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

from hostile import Hostile
from tombola import Pool, learners, play
from tombola._types import Floats
from tombola.budget.budget import Budget, BudgetRun
from tombola.budget.tracker import (
    cost_in_ticks,
    draw_and_reserve,
    mask_unaffordable,
    new_tracker,
    remaining,
    update_affordable,
)
from tombola.engine.runner import MAX_PLANS
from tombola.errors import LearnerError, SessionError, TombolaError
from tombola.feedback import make_feedback_model
from tombola.learners import (
    UCB2,
    FixedAction,
    FollowTheLeader,
    Interleaved,
    OptimisticSimulation,
    Simulation,
)
from tombola.learners.bandit import ucb2
from tombola.learners.base import Learner
from tombola.learners.reductions.training import CHUNK, train
from tombola.learners.spec import from_spec
from tombola.rng import RngStreams


@pytest.mark.parametrize("action", [0, 1])
def test_the_first_action_is_no_switch(action: int) -> None:
    pool = Pool([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    assert play(FixedAction(action), pool, seed=1).switches == 0


@pytest.mark.parametrize("rounds", [CHUNK - 1, CHUNK, CHUNK + 5, 2 * CHUNK])
def test_training_plays_as_many_rounds_as_it_says(rounds: int) -> None:
    """With a last chunk that is too long, the frequencies of the actions sum to more than 1."""
    learner = FollowTheLeader()
    setting = make_feedback_model(learner, rounds, actions=2)
    plays = train(learner, setting, np.array([[0.0, 1.0], [1.0, 0.0]]), RngStreams(1).learner(learner))
    assert plays.sum() == rounds


class Always(NamedTuple):
    """How often it planned."""

    plans: Floats


@dataclass(frozen=True)
class NeverReady(Learner):
    """A learner that is due whatever it plans."""

    feedback: ClassVar = "full"

    def init(self, actions: int, horizon: int) -> Always:
        return Always(np.zeros(1))

    @staticmethod
    def needs_plan(state: Always) -> bool:
        return True

    def plan(self, state: Always, rng: object) -> None:
        state.plans[0] += 1
        assert state.plans[0] <= MAX_PLANS, "its patience has no end"

    @staticmethod
    def act(state: Always, rng: object) -> tuple[int, float]:
        return 0, 1.0

    @staticmethod
    def observe(state: Always, losses: Floats) -> None:
        return


def test_patience_has_an_end() -> None:
    with pytest.raises(LearnerError, match="needs to plan after 100 plans in round 1"):
        play(NeverReady(), Pool([[0.0, 1.0]]), seed=1)


def overspent_by_rounding(slack: float | None) -> int:
    """Count mixes whose exact cost is above the ticks that cover them."""
    rng, found = np.random.default_rng(5), 0
    for _ in range(2000):
        k = int(rng.integers(2, 7))
        costs = rng.random((k, 1)) * 10.0 ** rng.integers(-3, 3)
        costs[0] = 0.0
        limits = Budget(float(costs.max()) * 2, worst=costs, null=0).resolve(k, 1)
        tracker, _ = new_tracker(BudgetRun(limits, mixed=True), 100)
        tracker = tracker if slack is None else tracker._replace(slack=slack)
        mix = rng.dirichlet(np.ones(k))
        exact = sum(Fraction(float(p)) * Fraction(float(c)) for p, c in zip(mix, costs[:, 0], strict=True))
        found += Fraction(cost_in_ticks(tracker, mix, costs, 0)) < exact * Fraction(float(tracker.in_one[0]))
    return found


def test_the_slack_of_fluid_play_covers_rounding_and_without_it_something_is_lost() -> None:
    assert overspent_by_rounding(None) == 0
    assert overspent_by_rounding(0.0) > 100


def test_a_fluid_mix_at_the_brim_is_cut_not_refused() -> None:
    """Half and half of two actions that cost all there is: with the slack that is a bit more than all."""
    limits = Budget(1.0, worst=[1.0, 1.0, 0.0], null=2).resolve(3, 1)
    tracker, _ = new_tracker(BudgetRun(limits, mixed=True), 10)
    mix, played = np.array([0.5, 0.5, 0.0]), np.zeros(3)
    update_affordable(tracker)
    mask_unaffordable(tracker, mix)
    draw_and_reserve(tracker, mix, np.zeros(4, np.uint64), played, np.zeros(1))
    assert played.tolist() == pytest.approx([0.5, 0.5, 0.0], abs=1e-9)
    assert played[2] > 0.0


def test_what_is_left_is_the_whole_amount_before_the_first_play() -> None:
    """In the common scale, in which the amount is the rate times the horizon."""
    limits = Budget(5.0, worst=[1.0, 0.0], null=1).resolve(2, 1)
    tracker, rate = new_tracker(BudgetRun(limits), 20)
    assert remaining(tracker).tolist() == pytest.approx([rate * 20])


def test_the_cost_of_a_single_round_is_written_down() -> None:
    pool = Pool([[0.0, 1.0]], costs=[[0.75, 0.0]])
    trace = play(Hostile(6), pool, "given", budget=Budget(3.0), mixed=True, seed=0)
    assert trace.costs.tolist() == [[pytest.approx(0.75 * trace.plays[0])]]
    assert trace.plays[0] > 0.0


@dataclass(frozen=True)
class Dated(NeverReady):
    """A learner that is told of every round in its turn."""

    @staticmethod
    def needs_plan(state: Always) -> bool:
        return False

    @staticmethod
    def observe(state: Always, round: int, losses: Floats) -> None:  # type: ignore[override]
        state.plans[0] += 1.0
        assert round == state.plans[0]
        assert losses[0] == round / 4


@pytest.mark.usefixtures("plainly")
@pytest.mark.parametrize("delay", [0, 2])
def test_a_learner_is_told_which_round_a_row_belongs_to(delay: int) -> None:
    pool = Pool([[0.25], [0.5], [0.75], [1.0]])
    assert play(Dated(), pool, "given", delay, seed=1).plays.tolist() == [4]


@pytest.mark.parametrize(
    "make",
    [
        lambda: UCB2(alpha=5e-324),
        lambda: UCB2(alpha=1e-12),
        lambda: learners.UCB2WithoutReplacement(alpha=5e-324),
        lambda: learners.BatchedExp3(price=1.7e308),
        lambda: learners.TsallisSwitching(price=1.7e308),
        lambda: learners.SerflingElimination(delta=5e-324),
        lambda: learners.BettingElimination(delta=5e-324),
        lambda: Simulation(5),  # type: ignore[arg-type]
        lambda: OptimisticSimulation(5),  # type: ignore[arg-type]
        lambda: Interleaved(5, delay=3),  # type: ignore[arg-type]
    ],
)
def test_parameters_beyond_all_reason_are_one_sentence(
    make: Callable[[], object], one_sentence: Callable[[object], str]
) -> None:
    """With 1 + alpha = 1 a play never ended, and a command ended in a traceback with the others."""
    with pytest.raises(TombolaError) as refused:
        make()
    one_sentence(refused.value)


@pytest.mark.parametrize("alpha", [1e-6, 1e-3])
def test_the_smallest_blocks_have_one_round(alpha: float) -> None:
    state = ucb2.start(alpha, math.inf, 2)
    assert [ucb2.next_block(state, 0) for _ in range(3)] == [1.0, 1.0, 1.0]


def test_the_name_of_a_learner_that_is_none_stays_on_its_line(one_sentence: Callable[[object], str]) -> None:
    with pytest.raises(SessionError) as refused:
        from_spec({"name": "own My\nLearner", "parameters": {}})
    one_sentence(refused.value)
