"""advise: the best learner of the runs, ties, and whether learning is useful at all."""

from typing import Any

import numpy as np
import pytest

from tombola.advice.advise import advise
from tombola.runs import Cell, Entry, Runs


def runs(**losses: Any) -> Runs:
    """Return runs of a horizon of 100 with these losses at the end, one for each repetition, and a comparator of 10."""
    cells = {}
    for name, values in losses.items():
        sums = np.zeros((len(values), 1, 4))
        sums[:, 0, 0] = sums[:, 0, 1] = values
        sums[:, 0, 2] = 10.0
        cells[Entry(100, "random", name)] = Cell(
            np.array([100]), sums, np.zeros((len(values), 2)), np.zeros((1, 2))
        )
    return Runs(cells, 0.0)


NOISE = np.random.default_rng(0).normal(0, 1, 40)


CENTRED = NOISE - NOISE.mean()
OTHER = NOISE[::-1] - NOISE[::-1].mean() + NOISE.mean()
WILD = 30 * NOISE
# Losses, loss of a random fixed action, and the advice: learner, tied ones, next, whether a fixed
# action is as good.
CASES: dict[str, tuple[dict[str, Any], float | None, tuple[Any, ...]]] = {
    **{
        f"smallest regret: {best}": (
            {name: (20 if name == best else 40) + NOISE for name in ("Exp3", "UCB1")},
            60.0,
            (best, (), "Exp3" if best == "UCB1" else "UCB1", False),
        )
        for best in ("Exp3", "UCB1")
    },
    "tie, broken by mean rank": (
        {"SuccessiveElimination": 20 + NOISE, "Thrifty": 20.01 + NOISE[::-1], "UCB1": 90 + NOISE},
        None,
        ("Thrifty", ("SuccessiveElimination",), "UCB1", False),
    ),
    "orders differ by 30, learners by 1, in pairs": (
        {"KLUCB": 100 + WILD, "UCB1": 101 + WILD + 0.1 * NOISE[::-1]},
        None,
        ("KLUCB", (), "UCB1", False),
    ),
    "random fixed action is better": ({"KLUCB": 20 + NOISE}, 19.0, ("KLUCB", (), "", True)),
    "random fixed action is as good": ({"KLUCB": 20 + NOISE}, 20.0, ("KLUCB", (), "", True)),
    "random fixed action is worse": ({"KLUCB": 20 + NOISE}, 21.0, ("KLUCB", (), "", False)),
    "FrugalUCB is tied and ranks better, but is not significantly better than a random fixed "
    "action": (
        {"UCB1": 20 + NOISE / 10, "FrugalUCB": 20 + 6 * NOISE},
        21.0,
        ("UCB1", ("FrugalUCB",), "", False),
    ),
    "EpsilonGreedy leads by less than runs may cost that 40 orders do not show": (
        {"EpsilonGreedy": 20 + NOISE, "FrugalUCB": 26 + NOISE, "UCB1": 90 + NOISE},
        120.0,
        ("FrugalUCB", (), "UCB1", False),
    ),
    "EpsilonGreedy leads by more": (
        {"EpsilonGreedy": 20 + NOISE, "FrugalUCB": 29 + NOISE, "UCB1": 90 + NOISE},
        120.0,
        ("EpsilonGreedy", (), "FrugalUCB", False),
    ),
    "one repetition ties all": (
        {"KLUCB": [20.0], "UCB1": [90.0]},
        1.0,
        ("KLUCB", ("UCB1",), "", False),
    ),
    "the next is tied with the best, but behind the chosen one": (
        {"UCB1": 20 + 9 * NOISE, "Thrifty": 20.1 + OTHER, "UCB2": 20.6 + OTHER},
        None,
        ("Thrifty", ("UCB1",), "UCB2", False),
    ),
    "a better one that differs significantly is not tied": (
        {"UCB1": 20 + 9 * CENTRED, "Exp3": 20.1 + CENTRED, "Thrifty": 20.7 + CENTRED},
        None,
        ("Thrifty", ("UCB1",), "", False),
    ),
    "a fixed action, and the best learner here, not elsewhere": (
        {"Exp3": 20 + NOISE, "Thrifty": 20.05 + NOISE[::-1]},
        20.0,
        ("Exp3", ("Thrifty",), "", True),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_advice(case: str) -> None:
    losses, random_action_loss, expected = CASES[case]
    found = advise(runs(**losses), "bandit", random_action_loss)
    assert (found.learner, found.tied, found.next, found.fixed_action) == expected
    means = {name: float(np.mean(values)) for name, values in losses.items()}
    assert (found.gain is None) == (random_action_loss is None)
    if found.gain is not None and random_action_loss is not None:
        assert found.gain.value == pytest.approx(random_action_loss - means[found.learner])
    if found.lead is not None:
        assert found.lead.value == pytest.approx(means[found.next] - means[found.learner])
