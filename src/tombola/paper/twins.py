"""Twins: second implementations of learners in plain Python, to check claims.

A bound is often ten to a hundred times the measured regret, so a learner with half its radius stays
below it. A twin follows the same rows and returns the actions that the formula allows in each
round; every round must agree. Twins share no code with the learners. They take counts and sums from
dictionaries, invert kl by bisection, and are slow.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from tombola._play import play
from tombola._types import Floats, RngState, Seed
from tombola.learners.base import Learner
from tombola.pool import Pool
from tombola.rng import integers, uniform

# Difference of indices below which a twin allows either action: kl is flat at its minimum, so q is
# known to half the digits.
_TIE = 1e-7
# Steps of the bisection that inverts kl: more than the bits of a float64.
_BISECTIONS = 60


class Twin(ABC):
    """Base class of second implementations of deterministic bandit learners.

    A twin follows a play round by round: `allowed()` returns the actions that the formula of the
    learner allows, `act(action)` records the action played, and `observe(action, loss)` its
    feedback, of this or an earlier round.

    k, T: numbers of actions and rounds.
    """

    def __init__(self, k: int, T: int) -> None:
        self.k = k
        self.T = T
        self.plays: list[int] = []
        self.counts = dict.fromkeys(range(k), 0)
        self.sums = dict.fromkeys(range(k), 0.0)

    @abstractmethod
    def allowed(self) -> set[int]:
        """Return the actions that the learner may play in this round, several at ties.

        Call it once per round, before `act`: the call may change the state of the twin.
        """

    def act(self, action: int) -> None:
        """Record the action that the learner played in this round."""
        self.plays.append(action)

    def observe(self, action: int, loss: float) -> None:
        """Record the feedback of a play of this or an earlier round."""
        self.counts[action] += 1
        self.sums[action] += loss

    def _mean(self, a: int) -> float:
        return self.sums[a] / self.counts[a]

    def _survivors(self, active: list[int], radii: dict[int, float]) -> list[int]:
        """Return the actions with mean - radius <= min(mean + radius), or no answers."""
        known = [a for a in active if self.counts[a] > 0]
        least = min((self._mean(a) + radii[a] for a in known), default=math.inf)
        return [
            a for a in active if self.counts[a] == 0 or self._mean(a) - radii[a] <= least + _TIE
        ]


class SuccessiveEliminationTwin(Twin):
    """Naive SuccessiveElimination: play all active actions once, then drop some.

    An action is dropped if its mean - r exceeds the least mean + r, r = sqrt(2 ln T / n) for n
    losses (Slivkins 2019).
    """

    def __init__(self, k: int, T: int) -> None:
        super().__init__(k, T)
        self.active = list(range(k))
        self.turn: list[int] = []

    def allowed(self) -> set[int]:
        if not self.turn:
            if self.plays:
                radii = {
                    a: math.sqrt(2 * math.log(self.T) / max(1, self.counts[a])) for a in self.active
                }
                self.active = self._survivors(self.active, radii)
            self.turn = list(self.active)
        return {self.turn.pop(0)}


class SerflingEliminationTwin(Twin):
    """Naive SerflingElimination: stages of plays that grow by half, then drop some.

    An action is dropped if its mean - r exceeds the least mean + r. For n losses r is Serfling's
    radius, at most 1: sqrt(f ln(k S / delta) / (2 n)) with f = min(1 - (n-1)/T, (1 - n/T)(1 +
    1/n)), his correction for finite lists, and S the number of times at which actions may be
    dropped.

    delta: error probability; None is 1/T.
    """

    def __init__(self, k: int, T: int, delta: float | None = None) -> None:
        super().__init__(k, T)
        self.delta = 1 / T if delta is None else delta
        counts = [1]
        first = 1
        for _ in range(3):
            counts = [first]
            while 2 * math.ceil(1.5 * counts[-1]) < T:
                counts.append(math.ceil(1.5 * counts[-1]))
            self.depth = math.log(k * len(counts) / self.delta)
            first = max(1, min(math.ceil(2 * self.depth), T // k))
        self.count = counts[0]
        self.active = list(range(k))
        self.stage = [a for a in self.active for _ in range(self.count)]

    def radius(self, n: int) -> float:
        """Return r, the confidence radius of the mean of n losses of an action."""
        factor = min(1 - (n - 1) / self.T, (1 - n / self.T) * (1 + 1 / n))
        return min(1.0, math.sqrt(max(0.0, factor) * self.depth / (2 * n)))

    def allowed(self) -> set[int]:
        if not self.stage:
            self.active = self._survivors(
                self.active, {a: self.radius(self.counts[a]) for a in self.active}
            )[::-1]
            before = self.count
            self.count = math.ceil(1.5 * self.count)
            self.stage = [a for a in self.active for _ in range(self.count - before)]
        return {self.stage.pop(0)}


class SimulationEliminationTwin(Twin):
    """Naive SimulationSuccessiveElimination (Theorem 4.9 of Bernasconi et al. 2025).

    The active actions share the 2^i rounds of block i. Then an action is dropped if its mean - e_i
    exceeds the least mean + e_i, e_i = sqrt(10 k (ln T)^3 / 2^i).
    """

    def __init__(self, k: int, T: int) -> None:
        super().__init__(k, T)
        self.active = list(range(k))
        self.block = math.ceil(math.log2(k)) - 1
        self.script = [t % k for t in range(2 ** (self.block + 1))]

    def allowed(self) -> set[int]:
        if not self.script:
            if self.block >= math.ceil(math.log2(self.k)):
                e = math.sqrt(10 * self.k * math.log(self.T) ** 3 / 2**self.block)
                self.active = self._survivors(self.active, dict.fromkeys(self.active, e))
            self.block += 1
            length = 2**self.block // len(self.active)
            self.script = [a for a in self.active for _ in range(length)]
            self.script += [self.active[-1]] * (2**self.block - len(self.script))
        return {self.script.pop(0)}


class FrugalUCBTwin(Twin):
    """Naive FrugalUCB: smallest index plus price, in blocks that grow by half.

    The index is a lower confidence bound on the mean loss. A switch adds 2 price / R to it, R the
    rounds left.

    price: cost of a switch, in losses.
    """

    def __init__(self, k: int, T: int, price: float = 1.0) -> None:
        super().__init__(k, T)
        self.price = price
        self.rest = 0
        self.shortest = max(1, math.floor(min(16 * price, 2 * math.sqrt(T / k))))

    def allowed(self) -> set[int]:
        if self.rest > 0:
            return {self.plays[-1]}
        remaining = self.T - len(self.plays)
        current = self.plays[-1] if self.plays else 0
        tried = [a for a, count in self.counts.items() if count > 0]
        values = {
            a: _lower_index(self._mean(a), self.counts[a], remaining, self.k, self.T) for a in tried
        }
        if len(tried) < self.k:
            untried = [a for a in range(self.k) if a not in tried]
            values[min(untried, key=lambda a: (self.plays.count(a), a))] = 0.0
        values = {
            a: value + 2 * self.price / remaining * (a != current) for a, value in values.items()
        }
        return {a for a, value in values.items() if value <= min(values.values()) + _TIE}

    def act(self, action: int) -> None:
        if self.rest == 0:
            self.rest = max(self.shortest, math.ceil(self.plays.count(action) / 2))
        self.rest -= 1
        super().act(action)


class OptimisticSimulationTwin(Twin):
    """Naive OptimisticSimulation: a new base learner is trained in every round.

    It is trained on draws from the first 1, 2, 3, 5, 8, .. losses of each action, some of them set
    to 0, so that their mean is the index of FrugalUCB, a lower confidence bound on the mean loss of
    the action.

    base: the base learner of OptimisticSimulation.
    rng: copy of the learner's random generator, so that simulated rounds are the same.
    """

    def __init__(self, k: int, T: int, base: Learner, rng: RngState) -> None:
        super().__init__(k, T)
        self.base = base
        self.rng = rng
        self.losses: dict[int, list[float]] = {a: [] for a in range(k)}

    def observe(self, action: int, loss: float) -> None:
        super().observe(action, loss)
        self.losses[action].append(loss)

    def _known(self, a: int) -> list[float]:
        """Return the losses of an action up to the last count of the list."""
        count = 1
        while count + math.ceil(count / 2) <= len(self.losses[a]):
            count += math.ceil(count / 2)
        return self.losses[a][:count]

    def allowed(self) -> set[int]:
        untried = [a for a in range(self.k) if not self.losses[a]]
        if untried:
            return {min(untried)}
        remaining = self.T - len(self.plays)
        length = 2 ** int(math.log2(len(self.plays) + 1))
        known = {a: self._known(a) for a in range(self.k)}
        means = {a: math.fsum(losses) / len(losses) for a, losses in known.items()}
        indices = {
            a: _lower_index(means[a], len(known[a]), remaining, self.k, self.T) for a in known
        }
        state = self.base.init(self.k, length)
        action = 0
        with np.errstate(over="ignore"):  # 64-bit words of the generator wrap around
            for _ in range(integers(self.rng, length) + 1):
                action, probability = self.base.act(state, self.rng)
                keep = uniform(self.rng) * means[action] < indices[action]
                loss = known[action][integers(self.rng, len(known[action]))] if keep else 0.0
                self.base.observe(state, action, probability, loss)
        return {action}


def _lower_index(mean: float, count: int, remaining: int, k: int, T: int) -> float:
    """Return the index of FrugalUCB by bisection."""
    # It is the smallest q with n kl(m, q) <= (1 - n/T) ln max(1, R / (k n)), for n losses of mean m
    # and R rounds left.
    allowed = (1 - count / T) * math.log(max(1.0, remaining / (k * count))) / count
    low, high = (0.0, mean) if allowed > 0 else (mean, mean)
    for _ in range(_BISECTIONS):
        q = (low + high) / 2
        low, high = (q, high) if _binary_divergence(mean, q) > allowed else (low, q)
    return high


def _binary_divergence(p: float, q: float) -> float:
    """Return kl(p, q), infinite where q excludes an outcome that p has."""
    parts = [(p, q), (1 - p, 1 - q)]
    if any(x > 0 >= y for x, y in parts):
        return math.inf
    return math.fsum(x * math.log(x / y) for x, y in parts if x > 0)


def rounds_agreed(
    learner: Learner, losses: Floats, twin: Twin, delay: int = 0, seed: Seed = 0
) -> int:
    """Return the number of rounds before learner and twin first differ in an action.

    learner: a deterministic bandit learner, or the learner of an `OptimisticSimulationTwin`.
    losses: rows in the order of play, shape (T, k).
    twin: a new twin of the learner, for T rounds and k actions; it is changed.

    >>> from tombola.learners import SuccessiveElimination
    >>> rounds_agreed(SuccessiveElimination(), np.array([[1.0, 0.0]] * 100), SuccessiveEliminationTwin(2, 100))
    100
    """
    actions = play(learner, Pool(losses), order="given", delay=delay, seed=seed).actions
    for t, action in enumerate(actions.tolist()):
        if t > delay:
            earlier = int(actions[t - delay - 1])
            twin.observe(earlier, float(losses[t - delay - 1, earlier]))
        if action not in twin.allowed():
            return t
        twin.act(action)
    return len(actions)


def hedge_regret(losses: Floats, rate: float, delay: int = 0) -> float:
    """Return the expected regret of Hedge (exponential weights), by its formula.

    losses: rows in the order of play, shape (T, k).
    rate: learning rate of the weights exp(-rate * total loss).

    >>> round(hedge_regret(np.array([[1.0, 0.0]] * 3), rate=1.0), 3)
    0.888
    """
    T, k = losses.shape
    totals = np.zeros((T, k))
    totals[min(T, delay + 1) :] = np.cumsum(losses, axis=0)[: max(0, T - delay - 1)]
    weights = np.exp(-rate * (totals - totals.min(axis=1, keepdims=True)))
    expected = (weights / weights.sum(axis=1, keepdims=True) * losses).sum()
    return float(expected - losses.sum(axis=0).min())


def budget_simulation_spending(
    losses: Floats,
    costs: Floats,
    rate: float,
    delta: float,
    margin: float,
    delay: int,
    rng: RngState,
) -> Floats:
    """Return the expected costs of every round of BudgetSimulation, shape (T, m).

    A second implementation of the learner, for comparison (Bernasconi et al. 2025, Theorem 4.5).

    losses, costs: rows in the order of play, shapes (T, k) and (T, k, m), costs in [0, 1]; action 0
        is null.
    rate: budget per round and resource.
    delta: error probability.
    margin: part of the rate kept back, in units of a block's confidence radius epsilon_i = sqrt(6
        ln(m k log2 T / delta) / 2^i).
    delay: rounds until feedback arrives.
    rng: copy of the learner's random generator, so that draws are the same.
    """
    T, k, m = costs.shape
    spent = np.zeros((T, m))
    past = [0]
    block = 0
    while (start := 2**block + (block + 1) * delay) < T:
        epsilon = math.sqrt(6 / 2**block * math.log(m * k * math.log2(T) / delta))
        rounds = range(start, min(T, start + 2**block))
        if rate - margin * epsilon >= rate / 2:
            with np.errstate(over="ignore"):  # 64-bit words of the generator wrap around
                drawn = [past[integers(rng, len(past))] for _ in range(2**block)]
            mix = _primal_dual_mix(losses[drawn], costs[drawn], rate - margin * epsilon)
            spent[list(rounds)] = np.einsum("a,taj->tj", mix, costs[list(rounds)])
        past += rounds
        block += 1
    return spent


def empirical_lp_spending(losses: Floats, costs: Floats, amount: float, growth: float) -> Floats:
    """Return the cost of every round of EmpiricalLP, shape (T,), in plain Python.

    Whole mixes are played and their expected cost is charged, until less than 1 of the budget is
    left.

    losses, costs: rows in the order of play, both of shape (T, k), costs in [0, 1]; action 0 is
        null.
    amount: budget of the one resource.
    growth: factor of the rows seen between two linear programs.

    >>> empirical_lp_spending(np.array([[1.0, 0.0]] * 6), np.array([[0.0, 1.0]] * 6), 3.0, 2.0).round(2).tolist()
    [0.0, 0.6, 0.6, 0.6, 0.6, 0.0]
    """
    T = len(losses)

    def plan(n: int, left: float) -> tuple[float, int]:
        return left / (T - n), max(n + 1, math.floor(min(n * growth, T - (T - n) / growth**2)))

    return _linear_program_spending(losses, costs, amount, plan)


def serfling_lp_spending(losses: Floats, costs: Floats, amount: float, delta: float) -> Floats:
    """Return the same as `empirical_lp_spending` for SerflingLP with growth 2.

    The rate after n rounds is (left - 1)/(T - n) minus T/(T - n) radii of the past and one of the
    coming block.

    losses, costs, amount: as in `empirical_lp_spending`.
    delta: error probability of the radii.

    >>> rows, costs = np.array([[1.0, 0.0]] * 512), np.array([[0.0, 0.5]] * 512)
    >>> int(np.argmax(serfling_lp_spending(rows, costs, 400.0, 0.05) > 0))
    32
    """
    T, k = losses.shape
    log = math.log(math.ceil(math.log2(T)) * 2 * (2 * k + 1) / delta)

    def plan(n: int, left: float) -> tuple[float, int]:
        following = min(T, 2 * n)
        block = following - n
        rest = T - n
        past = T / rest * math.sqrt((1 - (n - 1) / T) * log / (2 * n))
        return (left - 1) / rest - past - math.sqrt(
            (2 - (block - 1) / rest) * log / (2 * block)
        ), following

    return _linear_program_spending(losses, costs, amount, plan)


def _linear_program_spending(
    losses: Floats, costs: Floats, amount: float, plan: Callable[[int, float], tuple[float, int]]
) -> Floats:
    """Return the costs, shape (T,), of solving the LP of the rows seen; strict stop.

    plan: returns the rate, and the number of rows at which to solve next, for n rows seen and the
        amount left.
    """
    T, k = losses.shape
    spent = np.zeros(T)
    mix = np.eye(k)[0]
    following = 1
    for n in range(T):
        left = amount - math.fsum(spent)
        if left < 1:
            break
        if n >= following:
            rate, following = plan(n, left)
            mix = np.eye(k)[0]
            if rate > 0:
                mix = _best_two(1 - losses[:n].mean(axis=0), costs[:n].mean(axis=0), rate)
        spent[n] = mix @ costs[n]
    return spent


def _best_two(rewards: Floats, costs: Floats, rate: float) -> Floats:
    """Return the best mix of one or two actions with mean cost at most `rate`."""
    each = np.eye(rewards.size)
    mixes = [mix for mix, cost in zip(each, costs, strict=True) if cost <= rate]
    for a, b in itertools.product(range(rewards.size), repeat=2):
        if costs[a] < rate < costs[b]:
            share = (rate - costs[a]) / (costs[b] - costs[a])
            mixes.append((1 - share) * each[a] + share * each[b])
    return np.asarray(max(mixes, key=lambda mix: float(mix @ rewards)))


def _primal_dual_mix(losses: Floats, costs: Floats, rate: float) -> Floats:
    """Return the average mix, shape (k,), of PrimalDual, strict stop, null action 0."""
    n, k, m = costs.shape
    eta_p = math.sqrt(8 * math.log(k) / n) / (1 + 1 / rate)
    eta_d = rate * math.sqrt(8 * math.log(m + 1) / n)
    charges = np.zeros(k)
    overuse = np.zeros(m + 1)
    spent = np.zeros(m)
    total = np.zeros(k)
    for t in range(n):
        if (rate * n - spent < 1).any():
            total[0] += n - t
            break
        mix = np.exp(-eta_p * (charges - charges.min()))
        mix /= mix.sum()
        prices = np.exp(eta_d * (overuse - overuse.max()))
        prices /= rate * prices.sum()
        charges += losses[t] + costs[t] @ prices[:m]
        use = mix @ costs[t]
        overuse[:m] += (use - rate) / rate
        spent = spent + use
        total = total + mix
    return np.asarray(total / n)


def agrees(value: float, formula: float) -> bool:
    """Return whether two values are equal up to a relative or absolute error of 1e-9."""
    return math.isclose(value, formula, rel_tol=1e-9, abs_tol=1e-9)
