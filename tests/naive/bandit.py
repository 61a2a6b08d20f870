"""Naive twins of the learners with bandit feedback: straight from the sources, everything from the whole history."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tombola._types import RngState
from tombola.learners.base import Learner
from tombola.rng import choice, gamma, integers, uniform

CLOSE = 1e-9


class Twin:
    """The history of a bandit, and plain statistics of it; `probability` is that of the last
    action.

    Class attributes are the defaults of the parameters.
    """

    probability = 1.0

    def __init__(self, k: int, T: int, **parameters: Any) -> None:
        self.k, self.T = k, T
        vars(self).update(parameters)
        self.plays: list[int] = []
        self.answers: list[tuple[int, float, float]] = []

    def acted(self, action: int) -> None:
        self.plays.append(action)

    def observe(self, action: int, probability: float, loss: float) -> None:
        self.answers.append((action, probability, loss))

    def losses(self, a: int) -> list[float]:
        """Return the losses seen of an action."""
        return [loss for action, _, loss in self.answers if action == a]

    def n(self, a: int) -> int:
        """Return how many losses were seen of an action."""
        return len(self.losses(a))

    def mean(self, a: int) -> float:
        return math.fsum(self.losses(a)) / self.n(a)

    def estimates(self) -> list[float]:
        """Return the importance-weighted total of each action."""
        return [
            math.fsum(loss / p for action, p, loss in self.answers if action == a)
            for a in range(self.k)
        ]

    def untried(self) -> set[int]:
        """Return the first of the unanswered actions that was played least."""
        unanswered = [a for a in range(self.k) if self.n(a) == 0]
        return {min(unanswered, key=lambda a: (self.plays.count(a), a))} if unanswered else set()

    def smallest(self, index: dict[int, float]) -> set[int]:
        """Return the actions whose index is smallest, up to rounding."""
        return {a for a in index if index[a] <= min(index.values()) + CLOSE}


class UCB1(Twin):
    """Auer, Cesa-Bianchi and Fischer 2002, Figure 1."""

    scale = 2.0

    def best(self) -> set[int]:
        log_n = math.log(len(self.answers)) if self.answers else 0.0
        return self.untried() or self.smallest(
            {a: self.mean(a) - math.sqrt(self.scale * log_n / self.n(a)) for a in range(self.k)}
        )


class BlockTwin(Twin):
    """A twin that plays one action for a whole block; `block` has the plays that are left of it."""

    def __init__(self, k: int, T: int, **parameters: Any) -> None:
        super().__init__(k, T, **parameters)
        self.block: list[int] = []

    def candidates(self) -> set[int]:
        """Return the actions with which a block may begin."""
        raise NotImplementedError

    def length(self, action: int) -> int:
        """Return the length of the block of this action that begins now."""
        raise NotImplementedError

    def best(self) -> set[int]:
        return {self.block[0]} if self.block else self.candidates()

    def acted(self, action: int) -> None:
        self.block = self.block[1:] if self.block else [action] * (self.length(action) - 1)
        super().acted(action)


class UCB2(BlockTwin):
    """Auer, Cesa-Bianchi and Fischer 2002, Figure 2; `late` counts answers where the figure counts plays."""

    def __init__(self, k: int, T: int, alpha: float = 0.5, *, late: bool = False) -> None:
        super().__init__(k, T)
        self.alpha, self.late = alpha, late
        self.r = [0] * k

    def tau(self, r: int) -> int:
        """Return the plays of an action after r blocks."""
        return math.ceil((1 + self.alpha) ** r)

    def index(self, a: int) -> float:
        """Return mean - a_{n, r}."""
        tau = self.n(a) if self.late else self.tau(self.r[a])
        n = len(self.answers) if self.late else len(self.plays)
        return self.mean(a) - math.sqrt((1 + self.alpha) * math.log(math.e * n / tau) / (2 * tau))

    def candidates(self) -> set[int]:
        return self.untried() or self.smallest({a: self.index(a) for a in range(self.k)})

    def length(self, action: int) -> int:
        if self.untried():
            return 1
        plays = 0
        while plays == 0:
            plays = self.tau(self.r[action] + 1) - self.tau(self.r[action])
            self.r[action] += 1
        return plays


class KLUCB(Twin):
    """Garivier and Cappe 2011, Algorithm 1, mirrored for losses, by plain bisection."""

    c = 0.0

    def index(self, a: int) -> float:
        """Return the smallest q with n kl(mean, q) <= ln t + c ln ln t."""
        t = len(self.answers) + 1
        level = max(0.0, math.log(t) + self.c * math.log(math.log(t)))
        return lowest_mean(self.mean(a), level / self.n(a))

    def best(self) -> set[int]:
        return self.untried() or self.smallest({a: self.index(a) for a in range(self.k)})


def kl(p: float, q: float) -> float:
    """Return the relative entropy of two rng, 0 < q < 1."""
    first = p * math.log(p / q) if p > 0 else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def lowest_mean(mean: float, divergence: float) -> float:
    """Return the smallest q with kl(mean, q) <= divergence, by bisection."""
    low, high = 0.0, mean
    for _ in range(100):
        q = (low + high) / 2
        low, high = (q, high) if 0 < q < 1 and kl(mean, q) > divergence else (low, q)
    return high


def exponential_weights(totals: list[float], rate: float) -> list[float]:
    """Return the mix proportional to exp(-rate total)."""
    weights = [math.exp(-rate * (total - min(totals))) for total in totals]
    return [weight / sum(weights) for weight in weights]


def tsallis_weights(totals: list[float], eta: float) -> list[float]:
    """Return 4 / (eta (L - x))^2 for the x that makes the sum 1, by bisection."""
    low, high = min(totals) - 2 * math.sqrt(len(totals)) / eta - 1, min(totals) - 1 / eta
    for _ in range(200):
        x = (low + high) / 2
        weights = [4 / (eta * (total - x)) ** 2 for total in totals]
        low, high = (low, x) if sum(weights) > 1 else (x, high)
    return [weight / sum(weights) for weight in weights]


class Exp3(Twin):
    """Bubeck and Cesa-Bianchi 2012, Figure 3.1, with the rate of Theorem 3.1."""

    rate: float | None = None

    def mix(self) -> list[float]:
        tuned = math.sqrt(2 * math.log(self.k) / (self.k * self.T))
        return exponential_weights(self.estimates(), tuned if self.rate is None else self.rate)


class EpsilonGreedy(Twin):
    """Auer, Cesa-Bianchi and Fischer 2002, Figure 3, with c in the place of c / d^2."""

    c = 1.0

    def running(self, a: int) -> float:
        """Return the mean of an action as it moves, so that ties are broken as the learner breaks them."""
        mean = 0.0
        for n, loss in enumerate(self.losses(a), 1):
            mean += (loss - mean) / n
        return mean

    def mix(self) -> list[float]:
        """Return e / k for all actions, and 1 - e more for the first with the smallest mean."""
        means = {a: self.running(a) for a in range(self.k) if self.n(a) > 0}
        share = min(1.0, self.c * self.k / (len(self.plays) + 1)) if means else 1.0
        best = min(means, key=lambda a: (means[a], a)) if means else -1
        return [share / self.k + (1 - share) * (a == best) for a in range(self.k)]


class TsallisInf(Twin):
    """Zimmert and Seldin 2021, Algorithm 1 with alpha = 1/2."""

    def mix(self) -> list[float]:
        return tsallis_weights(self.estimates(), 2 / math.sqrt(len(self.answers) + 1))


class ThompsonSampling(Twin):
    """Agrawal and Goyal 2012, Algorithm 1, with fractions, and with the rng of the learner."""

    probability = math.nan

    def __init__(self, k: int, T: int, rng: RngState) -> None:
        super().__init__(k, T)
        self.rng = rng.copy()

    def best(self) -> set[int]:
        guesses = {}
        with np.errstate(over="ignore"):
            for a in range(self.k):
                one = gamma(self.rng, 1 + math.fsum(self.losses(a)))
                other = gamma(self.rng, 1 + math.fsum(1 - loss for loss in self.losses(a)))
                guesses[a] = one / (one + other)
        return self.smallest(guesses)


class SuccessiveElimination(Twin):
    """Slivkins 2019: every active action once, then drop."""

    def __init__(self, k: int, T: int) -> None:
        super().__init__(k, T)
        self.active = set(range(k))
        self.phase: list[int] = sorted(self.active)

    def interval(self, a: int) -> tuple[float, float]:
        """Return mean - r and mean + r."""
        if self.n(a) == 0:
            return -math.inf, math.inf
        r = math.sqrt(2 * math.log(self.T) / self.n(a))
        return self.mean(a) - r, self.mean(a) + r

    def best(self) -> set[int]:
        if not self.phase:
            ceiling = min(self.interval(b)[1] for b in self.active)
            self.active = {a for a in self.active if self.interval(a)[0] <= ceiling}
            self.phase = sorted(self.active)
        return {self.phase[0]}

    def acted(self, action: int) -> None:
        self.phase.remove(action)
        super().acted(action)


class ExploreThenCommit(Twin):
    """Slivkins 2019, section 1.2: every action `rounds` times in turn, then the best mean for good."""

    def __init__(self, k: int, T: int, rounds: int | None = None) -> None:
        super().__init__(k, T)
        tuned = math.ceil((T / k) ** (2 / 3) * math.log(T) ** (1 / 3))
        self.rounds = max(1, min(tuned, T // k)) if rounds is None else rounds
        self.committed: set[int] = set()

    def explored(self) -> bool:
        return min(self.n(a) for a in range(self.k)) >= self.rounds

    def best(self) -> set[int]:
        """Return the action committed to, or that whose turn it is, or those to which one may commit now."""
        if self.committed:
            return self.committed
        if self.explored():
            return self.smallest({a: self.mean(a) for a in range(self.k)})
        return {len(self.plays) % self.k}

    def acted(self, action: int) -> None:
        if self.explored() and not self.committed:
            self.committed = {action}
        super().acted(action)


class RandomFixedAction(Twin):
    """One action for all rounds, drawn before the first one."""

    def __init__(self, k: int, T: int, rng: RngState) -> None:
        super().__init__(k, T)
        with np.errstate(over="ignore"):
            self.action = integers(rng.copy(), k)

    def best(self) -> set[int]:
        """Return the action; only the first play of it was random."""
        self.probability = 1.0 if self.plays else 1 / self.k
        return {self.action}


class BanditBirthdayTest(Twin):
    """Paper, Section 3: action 0 until a loss of it is off the grid or repeats; then UCB1 from scratch."""

    def __init__(self, k: int, T: int, grid: int | None = None) -> None:
        super().__init__(k, T)
        self.grid = [Fraction(i, grid or T) for i in range(1, (grid or T) + 1)]
        self.points: list[Fraction] = []
        self.ucb1: UCB1 | None = None

    def best(self) -> set[int]:
        return {0} if self.ucb1 is None else self.ucb1.best()

    def acted(self, action: int) -> None:
        if self.ucb1 is not None:
            self.ucb1.acted(action)

    def observe(self, action: int, probability: float, loss: float) -> None:
        if self.ucb1 is not None:
            self.ucb1.observe(action, probability, loss)
            return
        point = [
            p for p in self.grid if abs(p - Fraction(loss)) * len(self.grid) <= Fraction(1, 10**6)
        ]
        if not point or point[0] in self.points:
            self.ucb1 = UCB1(self.k, self.T)
        self.points += point


class OptimisticSimulation(Twin):
    """docs/theory/optimistic.md: a fresh base in every round, in plain Python, with the learner's own rng."""

    def __init__(self, k: int, T: int, base: Learner, rng: RngState) -> None:
        super().__init__(k, T)
        self.base, self.rng = base, rng.copy()

    def looked(self, a: int) -> list[float]:
        """Return the losses up to the last count of 1, 2, 3, 5, 8, 12, .. that was reached."""
        count = 0
        while (more := count + max(1, math.ceil(count / 2))) <= self.n(a):
            count = more
        return self.losses(a)[:count]

    def index(self, a: int) -> float:
        """Return the smallest q with n kl(m, q) <= (1 - n/T) ln max(1, R / (k n)), by bisection."""
        n, left = len(self.looked(a)), self.T - len(self.plays)
        m = math.fsum(self.looked(a)) / n
        return lowest_mean(
            m, max(0.0, 1 - n / self.T) * math.log(max(1.0, left / (self.k * n))) / n
        )

    def best(self) -> set[int]:
        """Return an action never answered, or the action of a fresh base in a random round of a simulation."""
        self.probability = 1.0
        if self.untried():
            return self.untried()
        self.probability = math.nan
        rounds = self.length()
        with np.errstate(over="ignore"):
            return {self.simulated(integers(self.rng, rounds) + 1, rounds)[-1]}

    def length(self) -> int:
        return int(2 ** math.floor(math.log2(len(self.plays) + 1)))

    def simulated(self, rounds: int, horizon: int) -> list[int]:
        """Return the actions of a fresh base in the first of `horizon` simulated rounds."""
        means = [math.fsum(self.looked(a)) / len(self.looked(a)) for a in range(self.k)]
        shares = [self.index(a) / means[a] if means[a] > 0 else 0.0 for a in range(self.k)]
        state, actions = self.base.init(self.k, horizon), []
        for _ in range(rounds):
            action, probability = self.base.act(state, self.rng)
            kept = uniform(self.rng) < shares[action]
            loss = (
                self.looked(action)[integers(self.rng, len(self.looked(action)))] if kept else 0.0
            )
            self.base.observe(state, action, probability, loss)
            actions.append(action)
        return actions


class LazyOptimisticSimulation(OptimisticSimulation):
    """The frequencies of the last simulation; a new one when rounds have doubled or answers grown by half."""

    def __init__(self, k: int, T: int, base: Learner, rng: RngState) -> None:
        super().__init__(k, T, base, rng)
        self.last_round, self.counts = 0, [0] * k
        self.frequencies = np.zeros(k)

    def best(self) -> set[int]:
        self.probability = 1.0
        if self.untried():
            return self.untried()
        t, counts = len(self.plays) + 1, [self.n(a) for a in range(self.k)]
        grown = any(2 * now >= 3 * before for now, before in zip(counts, self.counts, strict=True))
        with np.errstate(over="ignore"):
            if grown or t >= 2 * self.last_round:
                actions = self.simulated(self.length(), self.length())
                self.frequencies = np.array(
                    [actions.count(a) / len(actions) for a in range(self.k)]
                )
                self.last_round, self.counts = t, counts
            action = choice(self.frequencies, self.rng)
        self.probability = float(self.frequencies[action])
        return {action}
