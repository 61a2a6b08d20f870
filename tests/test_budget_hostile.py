"""No learner can overspend, whatever it proposes and wherever it writes."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hostile import MOODS, Hostile, HostileBandit, Stage, count_overspent, dyadic_sum, exceeds, overspent, question_of
from tombola import Session, play
from tombola.budget import Allowance, Budget
from tombola.engine.coins import draw
from tombola.engine.compiler import plain
from tombola.errors import ParameterError
from tombola.settings import budgeted, purse
from tombola.streams import Streams
from tombola.types import Coins, Floats


def test_no_hostile_learner_overspends() -> None:
    assert count_overspent(0, 6_500) == 0


def test_no_hostile_learner_overspends_through_play() -> None:
    assert sum(overspent(number) for number in range(200_000, 200_000 + 8 * MOODS)) == 0


def test_a_stage_plays_what_play_plays() -> None:
    """The many plays by one player, put back to the start each time, are those of `play`, to the bit."""
    for group in range(30):
        stage = Stage(question_of(group))
        pool, budget, stop, delay, mixed = stage.question
        for mood in (6, 12, 9):
            trace = play(
                Hostile(mood), pool, "given", delay, budget=budget, stop=stop, mixed=mixed, seed=group
            )  # fmt: skip
            _, actions = stage.play(mood, Streams(group).learner(Hostile(mood)))
            assert actions.tolist() == trace.actions.tolist()
            assert stage.setting.ledger(stage.player.desk) == trace.ledger


@pytest.mark.parametrize("seed", range(20))
def test_dyadic_sums_are_exact(seed: int) -> None:
    coins = np.random.default_rng(seed)
    first, second = (coins.random(9) * 10.0 ** coins.integers(-200, 100, 9) for _ in range(2))
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    assert dyadic_sum(first, second) == sum(Fraction(a) * Fraction(b) for a, b in pairs)
    amount = Fraction(float(first @ second))
    assert exceeds(first, second, 0.0, float(amount)) == (dyadic_sum(first, second) > amount)


def test_no_hostile_learner_overspends_with_bandit_feedback() -> None:
    assert count_overspent(0, 3_000, HostileBandit) == 0


@pytest.mark.full
@pytest.mark.parametrize("kind", [Hostile, HostileBandit])
def test_no_hostile_learner_overspends_in_many_runs(kind: Any) -> None:
    assert count_overspent(10_000, 1_000_000, kind) == 0


def trusting(purse_: purse.Purse, mix: Floats, coins: Coins, played: Floats, reserved: Floats) -> tuple[int, float]:
    """Commit to whatever is drawn, without a last look: what must be caught."""
    action, chance = purse_.null, math.nan
    if not purse_.fluid:
        action = draw(mix, coins)
        chance = mix[action]
    for other in range(mix.size):
        played[other] = mix[other] if purse_.fluid else 0.0
    if not purse_.fluid:
        played[action] = 1.0
    for j in range(reserved.size):
        reserved[j] = purse.cover(purse_, played, purse_.worst_costs, j)
        purse_.reserved[j] += reserved[j]
    return action, chance


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_purse_that_does_not_look_at_the_last_moment_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgeted, "commit", trusting)
    assert caught_in(range(5 * MOODS)) > 3


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_purse_that_lets_learners_write_into_it_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hostile.due says that all fits; with the purse's own array and no last look, that is believed."""

    def halts(due: Any) -> Any:
        def look_and_ask(state: Any, desk: budgeted.Desk) -> bool:
            purse.look(desk.purse)
            return bool(desk.purse.flags[purse.STOPPED] == 0.0 and due(state, desk.purse.fits))

        return look_and_ask

    monkeypatch.setattr(budgeted, "halter", halts)
    assert caught_in(range(8, 20 * MOODS, MOODS)) == 0, "the last look holds alone"
    monkeypatch.setattr(budgeted, "commit", trusting)
    assert caught_in(range(6, 30 * MOODS, MOODS)) > 0


def caught_in(numbers: Any) -> int:
    """Count the runs, in plain Python, that overspend or fall over."""
    found = 0
    with plain():
        for number in numbers:
            try:
                found += overspent(number)
            except (ArithmeticError, ValueError):
                found += 1
    return found


@pytest.mark.parametrize("mood", range(MOODS))
def test_a_session_pays_for_nothing_that_does_not_fit(mood: int) -> None:
    """300 rounds that cost 1 each, and an amount of 10."""
    session = Session(Hostile(mood), 2, 300, budget=Budget(10.0, worst=[1.0, 1.0], null="add"), seed=mood)
    spent = 0
    for _ in range(300):
        ticket = session.act()
        spent += session.names[ticket.action] != "null"
        session.observe(ticket, loss=[0.0, 1.0], cost=[1.0, 1.0])
    assert spent == (10 if mood in (5, 6, 8, 9, 12) else 0)
    assert session.ledger.spent == (float(spent),)


@pytest.mark.parametrize("amounts", [1e-310, [1.0, 5e-324]])
def test_amounts_with_too_few_bits_are_refused(amounts: Any, one_sentence: Callable[[object], str]) -> None:
    for wrong in ({"amounts": amounts}, {"amounts": 1.0, "worst": amounts}):
        with pytest.raises(ParameterError, match=r"at least 2\.2") as caught:
            Budget(**wrong)
        one_sentence(caught.value)
    assert Budget(0.0).per_resource.tolist() == [0.0]
    assert Budget(float(np.finfo(float).tiny)).per_resource.size == 1


@pytest.mark.parametrize(
    ("mix", "is_one"),
    [
        ([0.5, 0.5], True), ([1.0, 0.0], True), ([1.0, 1e-9], True), ([0.0, 0.0], False), ([0.5, 0.4], False),
        ([1.1, -0.1], False), ([math.nan, 1.0], False), ([math.inf, 0.0], False), ([0.6, 0.6], False),
    ],
)  # fmt: skip
def test_what_a_mix_is(mix: list[float], is_one: bool) -> None:
    assert purse.proper(np.array(mix)) == is_one


def test_a_mix_of_one_and_dust_costs_more_than_one() -> None:
    """1.0 of an action and 1e-17 of another is more than the first alone, though the sum of costs rounds to it."""
    limits = Budget(4.0, worst=[1.0, 1.0, 0.0]).limits(3, 1)
    full, _ = purse.new_purse(Allowance(limits, mixed=True), 10)
    costs = np.array([[1.0], [1.0], [0.0]])
    alone, dusty = (purse.cover(full, np.array(mix), costs, 0) for mix in ([1.0, 0.0, 0.0], [1.0, 1e-17, 0.0]))
    assert dusty > alone == full.in_one[0]
    assert purse.cover(full, np.array([1e-200, 0.0, 1.0]), costs * 1e-200, 0) == 1.0
    assert purse.cover(full, np.array([0.0, 0.0, 1.0]), costs, 0) == 0.0
