"""Minimax programs against programs over whole histories, and against all orders."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from tombola._types import Floats
from tombola.errors import ParameterError
from tombola.lab import adversarial_minimax, iid_minimax, minimax, worst_pool, zero_one
from tombola.lab.exact import compositions
from tombola.learners import FollowTheLeader, Hedge, HedgeAnytime

COIN_ROWS = [[0.0, 1.0], [1.0, 0.0]]


def cover(horizon: int) -> float:
    """The minimax regret of two actions (Cover 1965)."""
    return horizon * math.comb(horizon - 1, (horizon - 1) // 2) / 2.0**horizon


def naive_value(rows: Floats, horizon: int, *, bandit: bool) -> float:
    """Solve the game over whole histories: one variable per history and action, one row per pool.

    With bandit feedback a variable is the product of the learner's probabilities on the way.
    """
    k = rows.shape[1]
    numbers: dict[tuple[Any, ...], int] = {}

    def number(history: tuple[Any, ...], action: int) -> int:
        return numbers.setdefault((history, action), len(numbers))

    pools = list(compositions(horizon, len(rows)))
    forms: list[dict[int, float]] = []
    for pool in pools:
        listed = np.repeat(np.arange(len(rows)), pool).tolist()
        orders = list(itertools.permutations(listed))
        form: dict[int, float] = {}
        for order in orders:
            for t, row in enumerate(order):
                pasts: list[tuple[Any, ...]] = [tuple(order[:t])]
                if bandit:
                    pasts = [
                        tuple((a, rows[r, a]) for a, r in zip(actions, order[:t], strict=True))
                        for actions in itertools.product(range(k), repeat=t)
                    ]
                for past in pasts:
                    for action in range(k):
                        at = number(past, action)
                        form[at] = form.get(at, 0.0) + rows[row, action] / len(orders)
        forms.append(form)
    histories = {history for history, _ in numbers}
    size = len(numbers)
    inequality = np.zeros((len(pools), size + 1))
    for place, form in enumerate(forms):
        for at, value in form.items():
            inequality[place, at] = value
    inequality[:, -1] = -1.0
    equality = np.zeros((len(histories), size + 1))
    sums = np.ones(len(histories))
    for place, history in enumerate(histories):
        for action in range(k):
            equality[place, numbers[(history, action)]] = 1.0
        if bandit and history:
            equality[place, numbers[(history[:-1], history[-1][0])]] = -1.0
            sums[place] = 0.0
    solution = linprog(
        np.append(np.zeros(size), 1.0),
        A_ub=inequality,
        b_ub=(np.array(pools) @ rows).min(axis=1),
        A_eq=equality,
        b_eq=sums,
        bounds=[(0.0, None)] * size + [(None, None)],
        method="highs",
    )
    return float(np.asarray(solution.fun))


@pytest.mark.parametrize(("actions", "horizon"), [(1, 2), (2, 1), (2, 2), (2, 3), (2, 4), (3, 2)])
@pytest.mark.parametrize("feedback", ["full", "bandit"])
def test_counts_are_enough(actions: int, horizon: int, feedback: str) -> None:
    rows = zero_one(actions)
    value = minimax(horizon, actions, feedback=feedback).value  # type: ignore[arg-type]
    assert value == pytest.approx(naive_value(rows, horizon, bandit=feedback == "bandit"), abs=1e-7)


@pytest.mark.parametrize("feedback", ["full", "bandit"])
@pytest.mark.parametrize(("actions", "horizon"), [(2, 5), (3, 3)])
def test_optimal_learner_attains_the_value(actions: int, horizon: int, feedback: str) -> None:
    game = minimax(horizon, actions, feedback=feedback)  # type: ignore[arg-type]
    regrets = [game.regret(pool) for pool in compositions(horizon, len(game.rows))]
    assert max(regrets) == pytest.approx(game.value, abs=1e-7)
    mixture = math.fsum(weight * game.regret(pool) for pool, weight in game.hardest.items())
    assert math.fsum(game.hardest.values()) == pytest.approx(1.0)
    assert mixture == pytest.approx(game.value, abs=1e-7)


def played_regret(game: Any, pool: tuple[int, ...]) -> float:
    """Play the mixes on every order, with every draw of a bandit learner."""
    rows: Floats = game.rows
    mixes = game.mixes
    k = rows.shape[1]
    listed = np.repeat(np.arange(len(rows)), pool).tolist()
    orders = list(itertools.permutations(listed))

    def loss(order: tuple[int, ...], t: int, state: tuple[int, ...]) -> float:
        if t == len(order):
            return 0.0
        total = 0.0
        for action, share in enumerate(mixes[state]):
            if share == 0.0:
                continue
            here = rows[order[t], action]
            place = 2 * action + int(here) if game.feedback == "bandit" else order[t]
            after = tuple(n + (i == place) for i, n in enumerate(state))
            total += share * (here + loss(order, t + 1, after))
        return total

    empty = (0,) * (2 * k if game.feedback == "bandit" else len(rows))
    mean = math.fsum(loss(order, 0, empty) for order in orders) / len(orders)
    return mean - float((np.array(pool) @ rows).min())


@pytest.mark.parametrize("feedback", ["full", "bandit"])
def test_regret_of_a_pool_is_that_of_all_orders(feedback: str) -> None:
    game = minimax(4, 2, feedback=feedback)  # type: ignore[arg-type]
    for pool in [(1, 1, 1, 1), (0, 3, 1, 0), (0, 2, 2, 0), (2, 1, 0, 1), (4, 0, 0, 0)]:
        assert game.regret(pool) == pytest.approx(played_regret(game, pool), abs=1e-9)


@pytest.mark.parametrize("horizon", [1, 2, 5, 8, 13, 20])
def test_two_actions_have_the_value_of_cover(horizon: int) -> None:
    assert minimax(horizon, rows=COIN_ROWS).value == pytest.approx(cover(horizon), abs=1e-6)
    assert adversarial_minimax(horizon) == pytest.approx(cover(horizon), abs=1e-6)


@pytest.mark.parametrize("horizon", [2, 4, 7])
def test_bandit_feedback_costs_nothing_with_two_actions(horizon: int) -> None:
    """A computed fact for these horizons (and up to 14), not a theorem."""
    assert minimax(horizon, feedback="bandit").value == pytest.approx(cover(horizon), abs=1e-6)


@pytest.mark.parametrize("horizon", [2, 3, 4])
def test_input_models_are_ordered_with_three_actions(horizon: int) -> None:
    iid = iid_minimax(horizon, 3, grid=4)
    random = minimax(horizon, 3).value
    adversarial = adversarial_minimax(horizon, 3)
    assert iid < random < adversarial
    assert random < minimax(horizon, 3, feedback="bandit").value


@pytest.mark.parametrize("learner", [FollowTheLeader(), Hedge(), HedgeAnytime()])
def test_no_learner_is_below_the_value(learner: object) -> None:
    regret, _ = worst_pool(learner, zero_one(3)[1:-1], 4)  # type: ignore[arg-type]
    assert minimax(4, 3, rows=zero_one(3)[1:-1]).value <= regret + 1e-9


@pytest.mark.parametrize("delay", [0, 1, 3, 9])
def test_a_delay_costs_between_its_floor_and_half_of_it(delay: int) -> None:
    """L3 of docs/theory/lower.md."""
    value = minimax(8, rows=COIN_ROWS, delay=delay).value
    late = min(delay, 7)
    assert max(cover(8), (late + 1) / 2) - 1e-9 <= value <= cover(8) + late / 2 + 1e-9


def test_faults_in_the_ways_to_draw_rows_change_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    powers = np.array([[float(n) ** j for j in range(9)] for n in range(9)])
    monkeypatch.setattr("tombola.lab.games._falling_factorials", lambda largest: powers)
    assert abs(minimax(3, feedback="bandit").value - cover(3)) > 1e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": 3, "feedback": "semi"}, "feedback"),
        ({"horizon": 3, "feedback": "bandit", "delay": 1}, "delay"),
        ({"horizon": 3, "rows": [[0.5, 0.0]]}, "rows"),
        ({"horizon": 30, "actions": 3, "limit": 1000}, "limit"),
    ],
)
def test_wrong_games_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        minimax(**arguments)  # type: ignore[arg-type]
