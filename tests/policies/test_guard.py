"""The stake guard: never more than `risk` rows worse on average over its draws; exact with delay over all orders."""

import itertools

import numpy as np
import pytest

from tombola.policies.guard import CAPITAL, Guard, record_stake, stake_of, take_answer

pytestmark = pytest.mark.usefixtures("plainly")


def excess(guard: Guard, differences: np.ndarray) -> float:
    """Return the largest loss of the guarded mixture above the safe learner over all prefixes, without delay."""
    stakes = guard.stakes(differences, differences)
    return float(np.max(-np.cumsum(stakes.probabilities * differences), initial=0.0))


HOSTILE = {
    "always bad": np.full((1, 300), -1.0),
    "good then bad": np.repeat([1.0, -1.0], 150)[None],
    "anti-correlated": np.tile([1.0, -1.0], 150)[None],
    "random": np.random.default_rng(0).uniform(-1, 1, (20, 300)),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("risk", [0.0, 1.0, 3.0])
def test_excess_is_at_most_risk(kind: str, risk: float) -> None:
    for differences in HOSTILE[kind]:
        assert excess(Guard(risk), differences) <= risk + 1e-9


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_adaptive_router_cannot_exceed_risk(factor: float) -> None:
    """A router that loses when its stake is high. The fault: stakes of three times the rate exceed the capital."""
    state, lost = Guard(3.0).new_state(), 0.0
    for _ in range(500):
        stake = min(1.0, factor * stake_of(state, 0.0))
        record_stake(state, stake)
        difference = -1.0 if stake > 0.3 else 1.0
        take_answer(state, stake, difference, difference)
        lost = max(lost, 3.0 - float(state[CAPITAL]))
    assert (lost <= 3.0) is (factor == 1.0)


def mean_excess(losses: np.ndarray, delay: int, *, fault: bool = False) -> float:
    """Return E[loss of guarded - loss of safe] over all orders, for a router that knows the table,
    with delay.

    Safe plays action 0 always. The router of n answers plays the action that the rows answered so
    far make look best, with the true table for rows of even index: an order-dependent policy of the
    answered rows only.
    """
    rows, total = len(losses), []
    for order in itertools.permutations(range(rows)):
        settled, played = np.zeros(rows), np.zeros(rows)
        for n in range(rows):
            seen = list(order[:n])

            def act(row: int, seen: list[int] = seen) -> int:
                if seen and sum(seen) % 2 == 0:
                    return int(np.argmax(losses[row]))  # as bad as it can be
                return int(np.argmin(losses[seen].sum(axis=0))) if seen else 1

            settled[n] = losses[order[n], 0] - losses[order[n], act(order[n])]
            if n + delay < rows:
                row = order[n + delay]
                if fault:
                    # Plays well on the rows in flight that it has seen, badly on the row that
                    # settles.
                    settled[n] = 1.0
                played[n + delay] = losses[row, 0] - losses[row, act(row)]
        stakes = Guard(1.0).stakes(settled, played, delay)
        total.append(-float((stakes.probabilities * played).sum()))
    return float(np.mean(total))


@pytest.mark.parametrize("delay", [0, 1, 2])
def test_mean_excess_with_constant_delay_over_all_orders(delay: int) -> None:
    for seed in range(3):
        losses = np.random.default_rng(seed).integers(0, 2, (5, 2)).astype(float)
        assert mean_excess(losses, delay) <= 1.0 + 1e-9


def test_settling_rows_that_were_shown_is_caught() -> None:
    """The fault: a router that reads pending rows is settled on rows where it is good, and played where it is bad."""
    losses = np.array([[0.0, 1.0]] * 6)
    assert mean_excess(losses, 1, fault=True) > 1.0


@pytest.mark.parametrize("worst", [2.0, None])
def test_second_account_bounds_every_order(worst: float | None) -> None:
    """Without it some order of the same draws is more than 2 rows worse."""
    generator, largest = np.random.default_rng(0), 0.0
    for _ in range(200):
        delay = int(generator.integers(1, 8))
        settled, played = generator.choice([-1.0, 1.0], (2, 60))
        stakes = Guard(3.0, worst=worst).stakes(settled, played, delay)
        largest = max(
            largest, float(np.max(-np.cumsum(stakes.probabilities * played), initial=0.0))
        )
    assert (largest <= 2.0 + 1e-9) is (worst is not None)


def test_no_router_before_the_first_answer() -> None:
    ones = np.ones(20)
    assert not Guard(3.0).stakes(ones, ones, delay=5).probabilities[:6].any()
