"""Advice: which learner to use, from paired differences on this table; what was measured elsewhere breaks ties."""

from collections.abc import Mapping
from typing import NamedTuple

from tombola import _statistics
from tombola._statistics import Estimate
from tombola._types import Floats
from tombola.advice.prior_ranks import RANKS
from tombola.engine.loop import LOSS, SWITCHES
from tombola.runs import Runs

WHY = {
    "FollowTheLeader": "in random order the best action so far is the one to play, and nothing has to be tuned",
    "ThompsonSampling": "it plays an action as often as what was seen makes it likely to be the best",
    "FrugalUCB": "it switches only where that can pay in the rounds that are left",
    "EmpiricalLP": "it plans again and again, with what is left for the rows that are left",
}


class Advice(NamedTuple):
    """What to use here, what cannot be told apart from it, and by how much it is better than what."""

    order: str
    learner: str  # the one to use, or the best where none is of use
    tied: tuple[str, ...]
    regret: Estimate
    next: str  # the best of those that are worse beyond noise, or nothing
    ahead: Estimate | None  # how much more `next` loses
    gain: Estimate | None  # how much more one action, picked blindly, loses on average

    @property
    def stays(self) -> bool:
        """Whether the advice is to pick one action and stay: no learner loses less than that."""
        return self.gain is not None and self.gain.low <= 0 and self.gain.repetitions > 1

    @property
    def why(self) -> str:
        """What the learner does that helps, where there is a sentence for it."""
        return WHY.get(self.learner, "")


def advise(runs: Runs, kind: str, blind: float | None = None) -> Advice:
    """Say which learner to use: the best of this table, or of those tied with it the one that ranks best elsewhere.

    Two learners are tied where the 95 % interval of their paired difference reaches zero. `blind` is the loss of one
    action picked blindly, on average over the actions; where it is not above the learner's, nothing is gained by
    learning.

    >>> from tombola import FollowTheLeader, Pool, compare
    >>> from tombola.learners import Uniform
    >>> pool = Pool([[0.0, 1.0], [0.25, 1.0], [1.0, 0.0]] * 100)
    >>> runs = compare(pool, {"leader": FollowTheLeader(), "uniform": Uniform()}, repetitions=20, seed=0)
    >>> advice = advise(runs, "full", blind=300 * float(pool.means.mean()))
    >>> advice.learner, advice.next, advice.ahead.low > 0, advice.stays
    ('leader', 'uniform', True, False)
    """
    order = runs.orders[0]
    ranked = runs.ranking(order)
    even = [name for name in ranked if _tied(runs, name, ranked[0], order)]
    gains = {name: None if blind is None else _statistics.mean(blind - suffered(runs, name, order)) for name in ranked}
    paying = [name for name in ranked if (gain := gains[name]) is None or gain.low > 0]
    among = [name for name in even if name in paying] or paying[:1] or _unpaid(even, gains[ranked[0]])
    chosen = min(among, key=lambda name: (_rank(kind, name), ranked.index(name)))
    behind = next((name for name in ranked if not _tied(runs, name, chosen, order)), "")
    return Advice(
        order, chosen, tuple(name for name in ranked if _alike(runs, name, chosen, order)), runs.regret(chosen, order),
        behind,
        runs.difference(behind, chosen, order) if behind else None,
        gains[chosen],
    )  # fmt: skip


def suffered(runs: Runs, learner: str, order: str) -> Floats:
    """Return the loss of every repetition at the end, with the price of the switches."""
    end = runs.cell(learner, order).sums[:, -1]
    total: Floats = end[:, LOSS] + runs.switching_price * end[:, SWITCHES]
    return total


def _unpaid(even: list[str], gain: Estimate | None) -> list[str]:
    """Return whom to speak of where nobody gains anything: the best, but after one repetition all are alike."""
    return even[:1] if gain is not None and gain.repetitions > 1 else even


def _alike(runs: Runs, name: str, chosen: str, order: str) -> bool:
    """Say whether another learner can be told neither to be worse than the chosen one nor to be better."""
    difference = runs.difference(name, chosen, order)
    return name != chosen and difference.low <= 0 <= difference.high


def _tied(runs: Runs, name: str, other: str, order: str) -> bool:
    """Say whether a learner that is not better than another cannot be told to be worse."""
    return name == other or runs.difference(name, other, order).low <= 0


def _rank(kind: str, name: str) -> float:
    ranks: Mapping[str, float] = RANKS[kind]
    return ranks.get(name, len(ranks) / 2)
