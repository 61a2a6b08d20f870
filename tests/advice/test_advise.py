"""advise: the best learner of the runs, ties, and whether learning is useful at all."""

from typing import Any

import numpy as np
import pytest

from tombola.advice.advise import Advice, advise
from tombola.advice.default_learners import MEAN_RANKS
from tombola.runs import Cell, Entry, Runs


def runs(**losses: Any) -> Runs:
    """Return runs of a horizon of 100 with these losses at the end, one for each repetition, and a comparator of 10."""
    cells = {}
    for name, values in losses.items():
        sums = np.zeros((len(values), 1, 4))
        sums[:, 0, 0] = sums[:, 0, 1] = values
        sums[:, 0, 2] = 10.0
        cells[Entry(100, "random", name)] = Cell(np.array([100]), sums, np.zeros((len(values), 2)), np.zeros((1, 2)))
    return Runs(cells, 0.0)


NOISE = np.random.default_rng(0).normal(0, 1, 40)


def test_best_learner_and_lead() -> None:
    found = advise(runs(UCB1=50 + NOISE, KLUCB=20 + NOISE, Exp3=30 + NOISE), "bandit", random_action_loss=60.0)
    assert (found.learner, found.next, found.tied, found.fixed_action) == ("KLUCB", "Exp3", (), False)
    assert found.lead is not None
    assert found.lead.value == pytest.approx(10)
    assert found.gain is not None
    assert found.gain.value == pytest.approx(40 - NOISE.mean())


def test_advice_follows_runs() -> None:
    """The same learners with permuted losses: a constant advice per setting fails here."""
    names = ("ThompsonSampling", "UCB1", "Exp3")
    for best in names:
        losses = {name: (20 if name == best else 40) + NOISE for name in names}
        assert advise(runs(**losses), "bandit").learner == best


def test_tie_is_broken_by_mean_rank() -> None:
    ranks = sorted(MEAN_RANKS["bandit"], key=lambda name: MEAN_RANKS["bandit"][name])
    good, bad = ranks[0], ranks[-1]
    other = NOISE[::-1] + 0.01
    third = "Exp3" if "UCB1" in (good, bad) else "UCB1"
    found = advise(runs(**{bad: 20 + NOISE, good: 20 + other, third: 90 + NOISE}), "bandit")
    assert (found.learner, found.tied) == (good, (bad,))


def test_differences_are_paired() -> None:
    """Orders differ by 30 between repetitions, learners by 1: the pairs decide."""
    wild = 30 * NOISE
    found = advise(runs(KLUCB=100 + wild, UCB1=101 + wild + 0.1 * NOISE[::-1]), "bandit")
    assert (found.learner, found.tied, found.next) == ("KLUCB", (), "UCB1")


def test_random_fixed_action_is_threshold() -> None:
    assert advise(runs(KLUCB=20 + NOISE), "bandit", random_action_loss=19.0).fixed_action
    assert advise(runs(KLUCB=20 + NOISE), "bandit", random_action_loss=20.0).fixed_action
    assert not advise(runs(KLUCB=20 + NOISE), "bandit", random_action_loss=21.0).fixed_action
    assert not advise(runs(KLUCB=20 + NOISE), "bandit").fixed_action, "under a budget there is no random fixed action"


def test_useful_learner_beats_better_ranked_one() -> None:
    """FrugalUCB ranks better and is tied, but only UCB1 is significantly below the random fixed action."""
    wide = 20 + 6 * NOISE
    found = advise(runs(UCB1=20 + NOISE / 10, FrugalUCB=wide), "bandit", random_action_loss=21.0)
    assert not found.fixed_action
    assert found.learner == "UCB1"


def test_one_repetition_ties_all() -> None:
    found = advise(runs(KLUCB=[20.0], UCB1=[90.0]), "bandit", random_action_loss=1.0)
    assert found.tied
    assert not found.fixed_action


def test_reason_is_empty_for_unlisted_learner() -> None:
    found = advise(runs(KLUCB=20 + NOISE), "bandit", random_action_loss=30.0)
    assert isinstance(found, Advice)
    assert found.reason == ""


def test_next_is_not_tied() -> None:
    """Thrifty ranks better elsewhere and is tied with the best; UCB2 is tied with the best too, but behind Thrifty."""
    other = NOISE[::-1] - NOISE[::-1].mean() + NOISE.mean()
    found = advise(runs(UCB1=20 + 9 * NOISE, Thrifty=20.1 + other, UCB2=20.6 + other), "bandit")
    assert (found.learner, found.tied, found.next) == ("Thrifty", ("UCB1",), "UCB2")


def test_better_learner_is_not_tied() -> None:
    """Thrifty is tied with the best; Exp3, between them, differs from it significantly."""
    noise = NOISE - NOISE.mean()
    found = advise(runs(UCB1=20 + 9 * noise, Exp3=20.1 + noise, Thrifty=20.7 + noise), "bandit")
    assert (found.learner, found.tied) == ("Thrifty", ("UCB1",))


def test_fixed_action_names_best_learner() -> None:
    """Not the one that ranks best elsewhere, which may be the last one here."""
    found = advise(runs(Exp3=20 + NOISE, Thrifty=20.05 + NOISE[::-1]), "bandit", random_action_loss=20.0)
    assert found.fixed_action
    assert found.learner == "Exp3"
