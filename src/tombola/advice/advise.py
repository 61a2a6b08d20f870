"""Choice of a learner by paired differences in regret; mean ranks break ties."""

from typing import NamedTuple

from tombola import _statistics
from tombola._statistics import Estimate
from tombola._types import Floats
from tombola.advice.default_learners import MEAN_RANKS
from tombola.engine.loop import LOSS, SWITCHES
from tombola.runs import Runs

# Learner -> clause that explains why it is good; shown beside the advice.
_REASONS = {
    "FollowTheLeader": "in random order the best action so far is the one to play, without any "
    "tuning",
    "ThompsonSampling": "it plays an action as often as that action is likely to be the best",
    "FrugalUCB": "it switches only if the switch can pay in the remaining rounds",
    "EmpiricalLP": "it plans again and again, with the remaining budget for the remaining rows",
}

# The learner that may stay with a wrong action to the end, so seldom that few orders do not show it;
# and the kinds where it does. With a delay it explores until the first answers.
_MAY_STAY = "EpsilonGreedy"
_MAY_STAY_IN = ("bandit", "switching")
# Orders without an event exclude, at 95 %, a probability above 3 / orders (rule of three).
_UNSEEN = 3.0


class Advice(NamedTuple):
    """The advised learner, and the estimates (with 95 % intervals) that support it.

    - `order`: the input model of all estimates: "random", "iid" or "given".
    - `learner`: name of the learner to use; if `fixed_action` (no learner is worth it), that of
      smallest regret.
    - `regret`: total regret of `learner` over the list.
    - `tied`: the learners whose regret does not differ significantly from that of `learner`.
    - `next`: the best learner that is significantly worse, or "".
    - `lead`: regret of `next` minus regret of `learner`; None without `next`.
    - `gain`: total loss of a random fixed action minus that of `learner`; None under a budget.
    """

    order: str
    learner: str
    tied: tuple[str, ...]
    regret: Estimate
    next: str
    lead: Estimate | None
    gain: Estimate | None

    @property
    def fixed_action(self) -> bool:
        """Whether no learner beats one action, drawn uniformly, significantly."""
        return self.gain is not None and self.gain.low <= 0 and self.gain.repetitions > 1

    @property
    def reason(self) -> str:
        """How the advised learner works, in one clause; "" for a learner without a text."""
        return _REASONS.get(self.learner, "")


def advise(runs: Runs, kind: str, random_action_loss: float | None = None) -> Advice:
    """Choose the learner of smallest regret; among tied ones, the best by mean rank.

    Mean ranks were measured on other tables (`MEAN_RANKS`). Learners are tied if the 95 % interval
    of their paired difference contains zero. The first order of the runs counts. Without a delay,
    EpsilonGreedy must lead by more than it would lose if it became a random fixed action in a share
    of 3 / orders: so rarely seen, such a run may have been missed.

    kind: condition of the comparison, from `CompareRequest.kind`.
    random_action_loss: total loss of a fixed action, averaged over the actions; None under a
        budget.

    >>> from tombola import FollowTheLeader, Pool, compare
    >>> from tombola.learners import Uniform
    >>> pool = Pool([[0.0, 1.0], [0.25, 1.0], [1.0, 0.0]] * 100)
    >>> runs = compare(pool, {"leader": FollowTheLeader(), "uniform": Uniform()}, repetitions=20, seed=0)
    >>> advice = advise(runs, "full", random_action_loss=300 * float(pool.means.mean()))
    >>> advice.learner, advice.next, advice.lead.low > 0, advice.fixed_action
    ('leader', 'uniform', True, False)
    """
    order = runs.orders[0]
    ranked = runs.ranking(order)
    best = ranked[0]

    def tied(name: str, other: str) -> bool:
        return name == other or runs.difference(name, other, order).low <= 0

    def indistinguishable(name: str, other: str) -> bool:
        difference = runs.difference(name, other, order)
        return name != other and difference.low <= 0 <= difference.high

    gains: dict[str, Estimate | None] = dict.fromkeys(ranked)
    if random_action_loss is not None:
        gains = {
            name: _statistics.mean(random_action_loss - total_losses(runs, name, order))
            for name in ranked
        }
    others = [name for name in ranked if name != _MAY_STAY]
    may_be_luck = best == _MAY_STAY and kind in _MAY_STAY_IN and len(others) > 0
    if may_be_luck:
        gain = gains[best]
        unseen = 0.0 if gain is None else _UNSEEN / gain.repetitions * max(0.0, gain.value)
        may_be_luck = runs.difference(others[0], best, order).low <= unseen
    if may_be_luck:
        best = others[0]
        ranked = [*others, _MAY_STAY]
    tied_with_best = [
        name for name in ranked if tied(name, best) and not (may_be_luck and name == _MAY_STAY)
    ]
    useful = [name for name in ranked if (gain := gains[name]) is None or gain.low > 0]
    candidates = [name for name in tied_with_best if name in useful] or useful[:1]
    if not candidates:
        # No learner is useful: name the best. After one repetition there is no interval, so all are
        # alike.
        gain = gains[best]
        candidates = (
            tied_with_best[:1] if gain is not None and gain.repetitions > 1 else tied_with_best
        )
    ranks = MEAN_RANKS[kind]
    chosen = min(candidates, key=lambda name: (ranks.get(name, len(ranks) / 2), ranked.index(name)))
    behind = next((name for name in ranked if not tied(name, chosen)), "")
    return Advice(
        order=order,
        learner=chosen,
        tied=tuple(name for name in ranked if indistinguishable(name, chosen)),
        regret=runs.regret(chosen, order),
        next=behind,
        lead=runs.difference(behind, chosen, order) if behind else None,
        gain=gains[chosen],
    )


def total_losses(runs: Runs, learner: str, order: str) -> Floats:
    """Return total losses of a learner, price of switches added, shape (repetitions,)."""
    end = runs.cell(learner, order).sums[:, -1]
    total: Floats = end[:, LOSS] + runs.switching_price * end[:, SWITCHES]
    return total
