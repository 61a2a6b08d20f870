"""Thrifty, for many actions: explore only if it can pay in the remaining rounds.

The rule is the knowledge gradient: the value of the information from the next plays of one action
(Frazier, Powell and Dayanik 2008), for the most valuable number of plays (Frazier and Powell 2010),
in online play (Ryzhov, Powell and Frazier 2012), averaged with the value of the best stopping rule
(Chernoff and Ray 1965). The price of a switch, and a prior estimated from the actions already
tried, are added here.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tombola._types import Floats, RngState
from tombola.bounds.frugal import (
    THRIFTY_GROWTH_DIVISOR,
    THRIFTY_SCALE,
    THRIFTY_TOLL,
    thrifty,
    thrifty_exploration_budget,
)
from tombola.engine.intrinsics import no_inline
from tombola.learners.bandit.counts import argmin, least_tried_action
from tombola.learners.base import Feedback, Learner
from tombola.learners.parameters import real
from tombola.learners.switching.frugal_ucb import lower_index, most_promising
from tombola.learners.switching.prior import CENTRE, SPREAD, TRIED, add_loss, update_posterior
from tombola.learners.switching.stopping import stopping_value

# Longest first visit to an action, in switching prices: a longer one could cost more than it saves.
_VISIT_PRICES = 12.0
# Pseudo-actions of the rule of succession for "an untried action is unlike all others": one unlike,
# three alike.
_PRIOR_ACTIONS = 4.0
# The two spreads of `update_posterior`, and how much a price narrows the first: it is divided by 1
# + 0.4 price. Chosen on nine tables (docs/theory/frugal.md, section 4).
_FIRST_SPREAD = 0.15
_TRIED_SPREAD = 0.15
_SPREAD_BY_PRICE = 0.4
# Weight of the best stopping rule without a price, and for two actions. Alone it abandons some good
# actions for good.
_STOPPING_WEIGHT = 0.3
# Factors of the posterior variance in the value of a visit, untried and tried actions: less
# exploration than the best stopping rule, which would know the prior.
_UNTRIED_FACTOR = 0.7
_TRIED_FACTOR = 0.85
# Number of tried actions, times max(1, price), from which on the prior of an untried action uses
# only the better ones.
_ONE_SIDED_FROM = 3.0
# With two actions: scale of the index that checks the worse one, losses seen of each before it
# does, and longest horizon. With more rounds the value of information is as careful by itself.
_PAIR = 2
_PAIR_SCALE = 1.0
_PAIR_PLAYS = 20.0
_PAIR_HORIZON = 5000.0
# The spread of tried actions there.
_PAIR_SPREAD = 0.07
# Less of that scale at a price of 1 or more, where a check costs two switches.
_PAIR_SCALE_BY_PRICE = 0.2
# Factor of the remaining rounds in that index. It has little weight at first and much weight late
# in the list, where most wrong choices that last are made.
_PAIR_ROUNDS = 4.0
# Value of a visit that counts as 0, in losses.
_NO_VALUE = 1e-7
# Largest ratio of the plays of two actions begun and not answered yet: with two actions a share of
# 60 %.
_PENDING_RATIO = 1.5


class _State(NamedTuple):
    """Current action and visit, counts and means, posterior.

    horizon, price, scale: T, cost of a switch, and constant of FrugalUCB's index.
    exploration_budget: remaining allowance for plays against the indices, in losses; `exploring` is
        1 during such plays.
    acted: rounds played.
    current, left: action being played, and rounds until the next decision.
    visit, hold: rounds left of a visit, and rounds before the next comparison of two actions.
    within, prior: scatter of all losses around their means, and centre, spread and number of
        actions tried.
    chosen, seen, means: plays, answers and mean loss of each action.
    posterior_mean, posterior_var: of the mean loss of each action.
    noise_var, errors: variance of one loss, and of the observed mean, of each action.
    """

    horizon: float
    price: float
    scale: float
    exploration_budget: Floats
    exploring: Floats
    acted: Floats
    current: Floats
    left: Floats
    visit: Floats
    hold: Floats
    within: Floats
    prior: Floats
    chosen: Floats
    seen: Floats
    means: Floats
    posterior_mean: Floats
    posterior_var: Floats
    noise_var: Floats
    errors: Floats


def _expected_excess(mean: float, variance: float) -> float:
    """Return E max(0, X) for a normal X with this mean and positive variance."""
    deviation = math.sqrt(variance)
    z = mean / deviation
    density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return deviation * max(0.0, density + 0.5 * z * math.erfc(-z / math.sqrt(2.0)))


def _learnt(doubt: float, noise: float, plays: float) -> float:
    """Return the variance of the change of a posterior mean of variance `doubt` by more plays."""
    return doubt * doubt / (doubt + noise / plays)


def _revealed(plays: float) -> float:
    """Return the share of the mean of an action unlike all others that plays reveal."""
    return plays / (plays + 2.0)


@no_inline
def _expected_saving(state: _State, action: int, plays: float, bar: float, unlike: float) -> float:
    """Return the expected amount by which an action is below `bar` after some plays.

    It is E max(0, bar - posterior mean after `plays` more answers). An action never answered may
    also be unlike all others; then its mean is uniform on [0, 1].

    unlike: probability that an action never answered is unlike all others.
    """
    if plays == 0.0:
        return float(max(0.0, bar - state.posterior_mean[action]))
    noise = state.noise_var[action]
    if state.seen[action] > 0.0:
        return _expected_excess(
            bar - state.posterior_mean[action], _learnt(state.posterior_var[action], noise, plays)
        )
    alike = _expected_excess(bar - state.prior[CENTRE], _learnt(state.prior[SPREAD], noise, plays))
    return float((1.0 - unlike) * alike + unlike * 0.5 * bar * bar * _revealed(plays))


def _visit_loss(
    state: _State, action: int, other: int, remaining: float, unlike: float
) -> tuple[float, float]:
    """Return the smallest expected loss of a visit of fixed length, and its plays.

    The loss is that of all remaining rounds: the visit, then the better one of both actions, and
    the switches. Visits of 1, 2, 4, .. plays are tried. An action worse by g is left after noise /
    g^2 of them on average, so no more are charged; plays not answered yet have been paid for.

    action, other: the action to visit, and the one to return to.
    """
    toll = state.price if action != state.current[0] and state.current[0] >= 0.0 else 0.0
    guess = state.posterior_mean[action]
    waiting = state.chosen[action] - state.seen[action]
    least = toll + remaining * guess
    best = 1.0
    plays = 1.0
    while plays < remaining:
        bar = state.posterior_mean[other] + state.price / (remaining - plays)
        gap = guess - bar
        spent = min(plays, state.noise_var[action] / (gap * gap)) if gap > 0.0 else plays
        news = (
            _expected_saving(state, action, plays + waiting, bar, unlike)
            - _expected_saving(state, action, waiting, bar, unlike)
            + max(0.0, -gap)
        )
        loss = toll + spent * guess + (remaining - spent) * bar - (remaining - plays) * news
        if loss < least:
            least = loss
            best = plays
        plays *= 2.0
    return least, best


@no_inline
def _stopping_loss(
    state: _State, action: int, other: int, remaining: float, unlike: float
) -> float:
    """Return the expected loss of visiting an action until leaving it is better.

    The loss is that of all remaining rounds, with the switches. Plays not answered yet have been
    paid for: the variance is that after their answers. Parameters as `_visit_loss`.
    """
    toll = state.price if action != state.current[0] and state.current[0] >= 0.0 else 0.0
    guess = state.posterior_mean[action]
    waiting = state.chosen[action] - state.seen[action]
    bar = state.posterior_mean[other] + state.price / remaining
    noise = state.noise_var[action]
    tried = state.seen[action] > 0.0
    doubt = state.posterior_var[action] * noise / (noise + waiting * state.posterior_var[action])
    value = stopping_value(
        guess - bar, (_TRIED_FACTOR if tried else _UNTRIED_FACTOR) * doubt, noise, remaining
    )
    if not tried:
        best = 0.0
        plays = 1.0
        while plays < remaining:
            news = 0.5 * bar * bar * (_revealed(plays + waiting) - _revealed(waiting))
            best = min(best, plays * max(0.0, guess - bar) - (remaining - plays) * news)
            plays *= 2.0
        value = (1.0 - unlike) * value + unlike * best
    commit = toll + remaining * guess
    # A visit without value is not begun; rounding must not make it the best one.
    return float(commit if value > -_NO_VALUE else min(commit, toll + remaining * bar + value))


def _spread_pending(state: _State, action: int) -> int:
    """Return the least played action without feedback if `action` is far ahead of it.

    Nothing is known of actions begun and not answered yet, so their plays are spread until feedback
    arrives. Without delay no action is begun and not answered, and `action` is returned.
    """
    least = action
    for other in range(state.seen.size):
        if state.seen[other] == 0.0 and 0.0 < state.chosen[other] < state.chosen[least]:
            least = other
    ahead = (
        state.seen[action] == 0.0 and state.chosen[action] >= _PENDING_RATIO * state.chosen[least]
    )
    return least if ahead else action


def _most_valuable(state: _State) -> int:
    """Return the action until the next decision, and begin a visit if it is new.

    A visit goes on as long as staying is better than leaving at once for the action of smallest
    posterior mean. The state is changed in place.
    """
    first = _FIRST_SPREAD / (1.0 + _SPREAD_BY_PRICE * state.price)
    # Of two actions the one tried first shows no spread.
    one_sided_from = (
        math.inf if state.seen.size == _PAIR else _ONE_SIDED_FROM / max(1.0, state.price)
    )
    is_pair = _is_short_pair(state)
    whole = min(1.0, state.price)
    # The index of two actions is more careful than the values of their visits.
    weight = (
        0.0
        if is_pair
        else _STOPPING_WEIGHT + (1.0 - _STOPPING_WEIGHT) * whole * (1.0 - 2.0 / state.seen.size)
    )
    # The dearer a switch, the more the noise of the losses tells how far actions may be apart.
    exponent = max(0.0, (state.price - 1.0) / (state.price + 1.0))
    share = update_posterior(
        state, first, exponent, _PAIR_SPREAD if is_pair else _TRIED_SPREAD, one_sided_from
    )
    # Rule of succession: one action unlike the others and three alike. With little noise there are
    # fewer such actions.
    unlike = (1.0 if is_pair else 1.0 - whole * (1.0 - share)) / (
        state.prior[TRIED] + _PRIOR_ACTIONS
    )
    remaining = state.horizon - state.acted[0]
    current = int(state.current[0])
    fresh = least_tried_action(state.seen, state.chosen)
    first = argmin(state.posterior_mean)
    second = 1 if first == 0 else 0
    for action in range(state.seen.size):
        if action != first and state.posterior_mean[action] < state.posterior_mean[second]:
            second = action
    best = first
    least = math.inf
    visit = 1.0
    stay = math.inf
    for action in range(state.seen.size):
        if state.seen[action] > 0.0 or action in (fresh, current):
            other = second if action == first else first
            loss, plays = _visit_loss(state, action, other, remaining, unlike)
            if weight > 0.0:
                loss = (1.0 - weight) * loss + weight * _stopping_loss(
                    state, action, other, remaining, unlike
                )
            stay = loss if action == current else stay
            if loss < least:
                best = action
                least = loss
                visit = plays
    if state.visit[0] > 0.0 and (
        current == first or stay < remaining * state.posterior_mean[first] + state.price
    ):
        return current
    spread = _spread_pending(state, best)
    longest = max(_VISIT_PRICES * state.price, min(1.0, state.price) * state.chosen[best])
    state.visit[0] = min(visit, longest) if best != current and spread == best else 0.0
    return spread


def _stretch_of(state: _State, action: int) -> float:
    """Return the rounds until the next decision: 1/8 of the plays of the action."""
    return max(1.0, float(math.ceil(state.chosen[action] / THRIFTY_GROWTH_DIVISOR)))


def _is_short_pair(state: _State) -> bool:
    """Return whether there are two actions and a short horizon."""
    return state.seen.size == _PAIR and state.horizon <= _PAIR_HORIZON


def _smaller_index_of_two(state: _State, scale: float) -> int:
    """Return the action with the smaller index of two, with 4 times the rounds left."""
    remaining = max(1.0, state.horizon - state.acted[0])
    toll = THRIFTY_TOLL * state.price / remaining
    current = int(state.current[0])
    rounds = _PAIR_ROUNDS * remaining
    horizon = state.horizon
    first = lower_index(state.means[0], state.seen[0], rounds, _PAIR, horizon, scale)
    second = lower_index(state.means[1], state.seen[1], rounds, _PAIR, horizon, scale)
    first += 0.0 if current == 0 else toll
    second += 0.0 if current == 1 else toll
    return 1 if second < first else 0


def _choose_of_two(state: _State, valuable: int) -> int:
    """Return the action to play if there are two, in a short horizon.

    The value of information alone would give up the unlucky one too soon. A first visit lasts 20
    rounds where a switch has a price. After 20 answers of each, the index of FrugalUCB with scale 1
    - .2 min(1, price) and four times the rounds left decides, and an action that it returns to is
    held as long as a visit.
    """
    whole = min(1.0, state.price)
    if state.chosen[valuable] == 0.0:
        state.hold[0] = _PAIR_PLAYS * whole
    elif min(state.seen[0], state.seen[1]) >= _PAIR_PLAYS:
        careful = _smaller_index_of_two(state, _PAIR_SCALE - _PAIR_SCALE_BY_PRICE * whole)
        if careful != valuable:
            state.visit[0] = 0.0
            if careful != state.current[0]:
                state.hold[0] = whole * max(
                    _VISIT_PRICES * state.price, 0.5 * state.chosen[careful]
                )
            return careful
    return valuable


@no_inline
def _next_action(state: _State) -> int:
    """Return the action to play until the next decision, and update the state.

    It is the most valuable action if FrugalUCB's index agrees or the exploration budget pays for
    it, else the action of the smallest index.
    """
    promising = most_promising(state, THRIFTY_TOLL, state.scale)
    valuable = int(state.current[0]) if state.hold[0] > 0.0 else _most_valuable(state)
    if _is_short_pair(state) and state.hold[0] <= 0.0:
        valuable = _choose_of_two(state, valuable)
    toll = state.price if valuable != state.current[0] and state.current[0] >= 0.0 else 0.0
    state.exploring[0] = 0.0
    if valuable == promising:
        return valuable
    if toll + _stretch_of(state, valuable) <= state.exploration_budget[0]:
        state.exploration_budget[0] -= toll
        state.exploring[0] = 1.0
        return valuable
    state.visit[0] = 0.0
    state.hold[0] = 0.0
    return promising


@dataclass(frozen=True)
class Thrifty(Learner):
    """Try an action only if that can pay in the rounds that are left.

    A visit is a run of consecutive rounds with one action. With R rounds left, a visit of n = 1, 2,
    4, .. rounds to action a, followed by the better one of a and b, is expected to cost n m(a) + (R
    - n) E min(M, m(b) + price / (R - n)), plus the switch to a. Here m are posterior mean losses, M
    is the posterior mean of a after the visit, and b is the best other action. This is averaged
    with the cost of a visit that ends when leaving is better, by the best stopping rule; its weight
    is .3, and more with a price and with more actions. The learner begins the cheapest visit. The
    prior has the centre and spread of the means of the actions tried so far; for an action never
    tried, the spread of the better ones. For at most 12 price rounds, or as many as the action had
    before, a visit is not ended in favour of another visit.

    Where FrugalUCB's index with scale .7 prefers another action, losses and switch are charged to
    an exploration budget; once that is spent, the index decides. So for every pool in random order
    without delay its regret, with the price of its switches, is at most `bounds.thrifty`, of order
    sqrt(k T) + price k ln T for k actions and T rounds. At price 0 the bound is trivial (equal to
    T) below about T = 470 for two actions, 1,600 for five and 3,290 for ten.

    With two actions and at most 5,000 rounds, the index with scale 1 (.8 at a price of 1 or more)
    and 4 R in place of R decides once 20 losses of each were seen: otherwise an unlucky action is
    given up too soon. While feedback is late, plays are spread over the actions that were played
    but have no feedback yet. Formulas, proof, and tables used for tuning: docs/theory/frugal.md.

    price: cost of a switch, in losses; 0 if a switch is free.

    >>> from tombola import instances, play
    >>> pool = instances.gap(500, 50, 0.2, seed=0)
    >>> trace = play(Thrifty(price=1.0), pool, switching_price=1.0, seed=0)
    >>> trace.switches < 50, trace.regret < 130
    (True, True)
    """

    price: float = real(0.0, least=0, most=1e12)
    feedback: ClassVar[Feedback] = "bandit"

    def init(self, actions: int, horizon: int) -> _State:
        names = ("exploring", "acted", "left", "visit", "hold", "within")
        per_action = (
            "chosen",
            "seen",
            "means",
            "posterior_mean",
            "posterior_var",
            "noise_var",
            "errors",
        )
        return _State(
            horizon=float(horizon),
            price=self.price,
            scale=THRIFTY_SCALE,
            exploration_budget=np.full(1, thrifty_exploration_budget(horizon, actions)),
            current=np.full(1, -1.0),
            prior=np.zeros(3),
            **{name: np.zeros(1) for name in names},
            **{name: np.zeros(actions) for name in per_action},
        )

    @staticmethod
    def act(state: _State, rng: RngState) -> tuple[int, float]:
        if state.left[0] == 0.0:
            action = _next_action(state) if state.seen.size > 1 else 0
            state.current[0] = action
            state.left[0] = _stretch_of(state, action)
        action = int(state.current[0])
        state.left[0] -= 1.0
        state.visit[0] -= 1.0
        state.hold[0] -= 1.0
        state.acted[0] += 1.0
        state.chosen[action] += 1.0
        return action, 1.0

    @staticmethod
    def observe(state: _State, action: int, probability: float, loss: float) -> None:
        add_loss(state, action, loss)
        state.exploration_budget[0] -= state.exploring[0] * loss

    def bound(self, actions: int, horizon: int, delay: int = 0) -> float | None:
        return thrifty(horizon, actions, self.price) if delay == 0 else None
