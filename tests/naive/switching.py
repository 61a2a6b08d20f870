"""Naive twins of the learners for switching costs: straight from spec.md and the formulas, from the whole history."""

import functools
import math

import numpy as np
from scipy import interpolate, stats

from naive.bandit import UCB2, BlockTwin, Twin, exponential_weights, lowest_mean, tsallis_weights
from naive.prior import beliefs
from tombola import bounds
from tombola._types import RngState
from tombola.evidence import Betting
from tombola.rng import choice


class SimulationSuccessiveElimination(Twin):
    """Spec section 4: the whole block is written down at its start; means are taken of all answers."""

    def __init__(self, k: int, T: int) -> None:
        super().__init__(k, T)
        self.i = math.ceil(math.log2(k))
        self.active = list(range(k))
        self.script = [t % k for t in range(2**self.i)]
        self.begun = False

    def best(self) -> set[int]:
        if len(self.plays) == len(self.script):
            if self.begun:
                self.eliminate(math.sqrt(10 * self.k * math.log(self.T) ** 3 * 2.0**-self.i))
                self.i += 1
            self.begun = True
            q = 2**self.i // len(self.active)
            for a in self.active[:-1]:
                self.script += [a] * q
            self.script += [self.active[-1]] * (2 ** (self.i + 1) - len(self.script))
        return {self.script[len(self.plays)]}

    def eliminate(self, radius: float) -> None:
        """Drop all a with mean(a) - e > min (mean + e)."""
        means = {a: self.mean(a) for a in self.active if self.n(a) > 0}
        self.active = [
            a
            for a in self.active
            if a not in means or means[a] - radius <= min(means.values()) + radius
        ]


class SerflingElimination(Twin):
    """Stages: counts grow by half; forth and back; drop at the end of a stage."""

    def __init__(self, k: int, T: int, delta: float | None = None) -> None:
        super().__init__(k, T)
        self.delta = 1 / T if delta is None else delta
        decisions = self.decisions(1)
        for _ in range(2):
            first = max(1, min(math.ceil(2 * math.log(k * decisions / self.delta)), T // k))
            decisions = self.decisions(first)
        self.depth = math.log(k * decisions / self.delta)
        self.count = first
        self.active = list(range(k))
        self.script = [a for a in self.active for _ in range(first)]

    def decisions(self, first: int) -> int:
        """Return the number of counts from `first` on, at least one, with 2 count < T."""
        number, count = 1, math.ceil(1.5 * first)
        while 2 * count < self.T:
            number, count = number + 1, math.ceil(1.5 * count)
        return number

    def radius(self, a: int) -> float:
        """Return Serfling's radius for one side."""
        n = self.n(a)
        if n >= self.T:
            return 0.0
        return min(1.0, math.sqrt(self.unseen(n) * self.depth / (2 * n)))

    def unseen(self, n: int) -> float:
        """Return Serfling's factor, in the better one of its two forms."""
        return min(1 - (n - 1) / self.T, (1 - n / self.T) * (1 + 1 / n))

    def best(self) -> set[int]:
        if len(self.plays) == len(self.script):
            tops = [self.mean(a) + self.radius(a) for a in self.active if self.n(a) > 0]
            if len(self.active) > 1 and tops:
                self.active = [
                    a
                    for a in self.active
                    if self.n(a) == 0 or self.mean(a) - self.radius(a) <= min(tops) + 1e-12
                ]
            self.active.reverse()
            grown = math.ceil(1.5 * self.count)
            self.script += [a for a in self.active for _ in range(grown - self.count)]
            self.count = grown
        return {self.script[len(self.plays)]}


class BettingElimination(SerflingElimination):
    """The same order of stages; an action is dropped as soon as its betting interval lies above another's."""

    def __init__(self, k: int, T: int, delta: float | None = None) -> None:
        super().__init__(k, T, delta)
        self.stretches = [[a] * self.count for a in self.active]
        self.intervals = Betting(population=T, level=min(self.delta / k, 0.999), actions=k)

    def observe(self, action: int, probability: float, loss: float) -> None:
        self.intervals.update(loss, action)

    def best(self) -> set[int]:
        """Return the action of the first stretch that is not over; those of dropped actions are left out."""
        lows, highs = self.intervals.lows, self.intervals.highs
        if len(self.active) > 1:
            ceiling = min(highs[a] for a in self.active)
            self.active = [a for a in self.active if lows[a] <= ceiling]
        self.stretches = [
            stretch for stretch in self.stretches if stretch and stretch[0] in self.active
        ]
        if not self.stretches:
            self.active.reverse()
            grown = math.ceil(1.5 * self.count)
            self.stretches = [[a] * (grown - self.count) for a in self.active]
            self.count = grown
        return {self.stretches[0].pop()}


class BernsteinElimination(SerflingElimination):
    """The same with the smaller of two radii, each at half the level."""

    def radius(self, a: int) -> float:
        """Return the smaller of Serfling's and the empirical Bernstein-Serfling radius (Bardenet and Maillard 2015)."""
        n = self.n(a)
        if n >= self.T:
            return 0.0
        level = 2 * math.exp(-self.depth) / 2
        serfling = math.sqrt(self.unseen(n) * math.log(2 / level) / (2 * n))
        variance = math.fsum((x - self.mean(a)) ** 2 for x in self.losses(a)) / n
        depth = math.log(7 / level)
        bernstein = (
            math.sqrt(2 * self.unseen(n) * variance * depth / n)
            + (7 / 3 + 3 / math.sqrt(2)) * depth / n
        )
        return min(1.0, serfling, bernstein)


class UCB2WithoutReplacement(UCB2):
    """UCB2 with Serfling's factor on the squared radius; n(a) counts answers, without delay the printed tau(r)."""

    def index(self, a: int) -> float:
        """Return mean - radius."""
        n = self.n(a)
        unseen = min(1 - (n - 1) / self.T, (1 - n / self.T) * (1 + 1 / n))
        squared = unseen * (1 + self.alpha) * math.log(math.e * len(self.answers) / n) / (2 * n)
        return self.mean(a) - math.sqrt(max(0.0, squared))


class BlockUCB(BlockTwin):
    """Frames of blocks; frame f has ceil((2^(f^2) - 2^((f-1)^2)) / f) blocks of f rounds; UCB1's index."""

    def __init__(self, k: int, T: int) -> None:
        super().__init__(k, T)
        self.lengths = [
            f
            for f in (1, 2, 3, 4)
            for _ in range(math.ceil((2 ** (f * f) - 2 ** ((f - 1) ** 2)) / f))
        ]

    def candidates(self) -> set[int]:
        index = {
            a: self.mean(a) - math.sqrt(2 * math.log(len(self.answers)) / self.n(a))
            for a in range(self.k)
            if self.n(a) > 0
        }
        return self.untried() or self.smallest(index)

    def length(self, action: int) -> int:
        return 1 if self.untried() else self.lengths.pop(0)


class FrugalUCB(BlockTwin):
    """The docstring's formula, with the lower bound by plain bisection."""

    price, scale = 1.0, 1.0

    def index(self, a: int, times: float = 1.0) -> float:
        """Return the smallest q with n kl(m, q) <= scale (1 - n/T) ln max(1, times R / (k n))."""
        n, left = self.n(a), times * (self.T - len(self.plays))
        m = math.fsum(self.losses(a)) / n
        return lowest_mean(
            m, self.scale * max(0.0, 1 - n / self.T) * math.log(max(1.0, left / (self.k * n))) / n
        )

    def candidates(self) -> set[int]:
        toll = 2 * self.price / (self.T - len(self.plays))
        playing = self.plays[-1] if self.plays else 0
        values = {a: self.index(a) for a in range(self.k) if self.n(a) > 0} | dict.fromkeys(
            self.untried(), 0.0
        )
        return self.smallest({a: value + toll * (a != playing) for a, value in values.items()})

    def length(self, action: int) -> int:
        shortest = max(1, math.floor(min(16 * self.price, 2 * math.sqrt(self.T / self.k))))
        return max(shortest, math.ceil(self.plays.count(action) / 2))


@functools.cache
def stopping_table() -> interpolate.RegularGridInterpolator:
    """Return sqrt(t) V as a function of log(1/t) and z: the backward induction of the page, point by point in t."""
    z = np.linspace(-6, 6, 241)
    nodes, weights = np.polynomial.hermite.hermgauss(11)
    after, value, rows = 1.0, np.zeros(241), [np.zeros(241)]
    for i in range(1, 333):
        t = 1.05**-i
        going_on = z / np.sqrt(t) * (after - t)
        for x, weight in zip(nodes, weights, strict=True):
            mean = z / np.sqrt(t) + np.sqrt(2) * x * np.sqrt(1 / t - 1 / after)
            inside = np.interp(mean * np.sqrt(after), z, value)
            below, above = mean * np.sqrt(after) < -6, mean * np.sqrt(after) > 6
            going_on += (
                weight
                / np.sqrt(np.pi)
                * np.where(below, mean * (1 - after), np.where(above, 0.0, inside))
            )
        after, value = t, np.minimum(0.0, going_on)
        rows += [np.sqrt(t) * value] if i % 4 == 0 else []
    grid = 4 * np.log(1.05) * np.arange(84)
    return interpolate.RegularGridInterpolator((grid, z[::2]), np.array(rows)[:, ::2])


def stopping_value(gap: float, variance: float, noise: float, rounds: float) -> float:
    """Return the value of playing an action as long as that pays, beside an alternative."""
    z, known = gap / math.sqrt(variance), noise / variance
    if abs(z) >= 6:
        return gap * rounds if z < 0 else 0.0
    far = min(math.log((known + rounds) / known), 332 * math.log(1.05))
    return math.sqrt(variance) * (known + rounds) * float(stopping_table()((far, z)))


class Thrifty(FrugalUCB):
    """The formulas of docs/theory/frugal.md, with the normal distribution of scipy."""

    def __init__(self, k: int, T: int, price: float = 0.0) -> None:
        super().__init__(k, T, price=price)
        self.look, self.visit, self.hold = 0, 0.0, 0.0
        self.begun: dict[int, float] = {}
        self.promising, self.exploring, self.overruled = 0, False, False
        self.wanted: set[int] = set()
        self.tracker = bounds.thrifty_exploration_budget(T, k)

    def believe(self) -> None:
        """Estimate the beliefs from all answers."""
        found = beliefs(
            [self.losses(a) for a in range(self.k)],
            0.15 / (1 + 0.4 * self.price),
            0.07 if self.is_pair() else 0.15,
            math.inf if self.k == 2 else 3 / max(1.0, self.price),
            0.0 if self.price < 1 else (self.price - 1) / (self.price + 1),
        )
        self.tried, self.guess, self.doubt, self.noise = (
            found.tried,
            found.guess,
            found.doubt,
            found.noise,
        )
        whole = 0.0 if self.is_pair() else min(1.0, self.price)
        self.unlike = (1 - whole + whole * found.share) / (found.tried + 4)

    def saving(self, a: int, plays: float, bar: float) -> float:
        """Return E max(0, bar - M) for the guess M of action a after so many more answers."""
        if plays == 0:
            return max(0.0, bar - float(self.guess[a]))
        deviation = math.sqrt(self.doubt[a] ** 2 / (self.doubt[a] + self.noise[a] / plays))
        z = (bar - self.guess[a]) / deviation
        normal = deviation * max(0.0, float(stats.norm.pdf(z) + z * stats.norm.cdf(z)))
        unlike = 0.0 if self.n(a) > 0 else self.unlike
        return (1 - unlike) * normal + unlike * bar**2 / 2 * plays / (plays + 2)

    def outlook(self, a: int) -> tuple[float, float]:
        """Return the least expected loss of a visit to action a, and its length."""
        R, others = self.T - len(self.plays), [x for x in range(self.k) if x != a]
        toll = self.price if self.plays and self.plays[-1] != a else 0.0
        pending = self.plays.count(a) - self.n(a)
        choices = [(toll + R * self.guess[a], 1.0)]
        for n in (2.0**i for i in range(40) if 2**i < R):
            bar = min(self.guess[others]) + self.price / (R - n)
            gap = self.guess[a] - bar
            spent = min(n, self.noise[a] / gap**2) if gap > 0 else n
            news = self.saving(a, n + pending, bar) - self.saving(a, pending, bar) + max(0.0, -gap)
            choices.append((toll + spent * self.guess[a] + (R - spent) * bar - (R - n) * news, n))
        loss, length = min(choices)
        weight = self.weight()
        return (weight * self.stopping(a) + (1 - weight) * loss if weight else loss, length)

    def weight(self) -> float:
        """Return the weight of the best stopping rule."""
        return 0.0 if self.is_pair() else 0.3 + 0.7 * min(1.0, self.price) * (self.k - 2) / self.k

    def stopping(self, a: int) -> float:
        """Return the expected loss of a visit that ends when leaving is better."""
        R, w = self.T - len(self.plays), self.plays.count(a) - self.n(a)
        toll = self.price if self.plays and self.plays[-1] != a else 0.0
        bar = min(self.guess[x] for x in range(self.k) if x != a) + self.price / R
        gap, untried = float(self.guess[a] - bar), self.n(a) == 0
        doubt = 1 / (1 / self.doubt[a] + w / self.noise[a])
        value = stopping_value(gap, (0.7 if untried else 0.85) * doubt, self.noise[a], R)
        if untried:
            visits = [
                n * max(0.0, gap) - (R - n) * bar**2 / 2 * ((n + w) / (n + w + 2) - w / (w + 2))
                for n in (2.0**i for i in range(40) if 2**i < R)
            ]
            value = (1 - self.unlike) * value + self.unlike * min([0.0, *visits])
        going = toll + R * float(self.guess[a])
        return going if value > -1e-7 else min(going, toll + R * bar + value)

    def best(self) -> set[int]:
        """Return the action of the stretch, or those most valuable that can be paid for, else the most promising."""
        if self.k == 1 or self.look > 0:
            return {self.plays[-1] if self.plays else 0}
        index = self.indices(0.7)
        self.promising = min(index, key=lambda a: (round(index[a], 9), a not in self.untried(), a))
        self.wanted = {self.plays[-1]} if self.hold > 0 else self.valuable()
        self.begun = {} if self.hold > 0 else self.begun
        valuable = self.wanted if self.hold > 0 else self.of_two()
        paid = {a for a in valuable if a == self.promising or self.worst(a) <= self.tracker}
        self.overruled = not paid
        return paid or {self.promising}

    def indices(self, scale: float, times: float = 1.0) -> dict[int, float]:
        """Return the indices for this scale and so many times R, with 8 prices over the rounds left for a switch."""
        self.scale = scale
        toll = 8 * self.price / (self.T - len(self.plays))
        index = {a: self.index(a, times) for a in range(self.k) if self.n(a) > 0} | dict.fromkeys(
            self.untried(), 0.0
        )
        for a in index:
            index[a] += toll if self.plays[-1:] != [a] else 0.0
        return index

    def is_pair(self) -> bool:
        """Return whether there are two actions and at most 5,000 rounds."""
        return self.k == 2 and self.T <= 5000

    def of_two(self) -> set[int]:
        """Return the action with the smaller index of two with 20 answers each, else those wanted."""
        both = self.is_pair() and min(self.n(0), self.n(1)) >= 20
        return (
            self.smallest(self.indices(1 - 0.2 * min(1.0, self.price), times=4))
            if both
            else self.wanted
        )

    def worst(self, a: int) -> float:
        """Return the most that playing an action until the next look can cost."""
        return self.price * (self.plays[-1:] not in ([], [a])) + max(
            1, math.ceil(self.plays.count(a) / 8)
        )

    def valuable(self) -> set[int]:
        """Return the action of the visit, or those whose visit is cheapest."""
        self.believe()
        last = set(self.plays[-1:])
        outlooks = {
            a: self.outlook(a) for a in range(self.k) if self.n(a) > 0 or a in self.untried() | last
        }
        leaving = (self.T - len(self.plays)) * min(self.guess) + self.price
        self.begun = {a: plays for a, (_, plays) in outlooks.items()}
        for a in last:
            if self.visit > 0 and (self.guess[a] <= min(self.guess) or outlooks[a][0] < leaving):
                self.begun = {}
                return last
        cheapest = self.smallest({a: loss for a, (loss, _) in outlooks.items()})
        spread = {a: self.spread(a) for a in cheapest}
        self.begun |= {b: 0.0 for a, b in spread.items() if a != b}
        return set(spread.values())

    def spread(self, action: int) -> int:
        """Return the least played of the actions begun and not answered if this one has 1.5 times its plays."""
        begun = {a: self.plays.count(a) for a in self.plays if self.n(a) == 0}
        least = min(begun, key=lambda a: (begun[a], a), default=action)
        return least if action in begun and begun[action] >= 1.5 * begun[least] else action

    def acted(self, action: int) -> None:
        """Go on, or begin a visit and pay for the way if it explores, and count the rounds until the next look."""
        if self.look == 0 and self.k > 1:
            self.exploring = action != self.promising and self.worst(action) <= self.tracker
            self.tracker -= self.exploring * (
                self.worst(action) - max(1, math.ceil(self.plays.count(action) / 8))
            )
            careful = not self.overruled and action not in self.wanted
            self.begin_hold(action, careful)
            self.begin_visit(action, careful)
            self.look = max(1, math.ceil(self.plays.count(action) / 8))
        self.look, self.visit, self.hold = self.look - 1, self.visit - 1, self.hold - 1
        Twin.acted(self, action)

    def begin_hold(self, action: int, careful: bool) -> None:
        """Of two actions hold a new one for 20 rounds, and one returned to by its index for as long as a visit."""
        before, whole = self.plays.count(action), min(1.0, self.price)
        if self.overruled:
            self.hold = 0.0
        elif self.hold <= 0 and self.is_pair():
            if before == 0:
                self.hold = 20 * whole
            elif careful and self.plays[-1] != action:
                self.hold = whole * max(12 * self.price, before / 2)

    def begin_visit(self, action: int, careful: bool) -> None:
        """Set the length of the visit that begins here, if one does; an action that was not wanted is not visited."""
        if self.overruled or careful:
            self.visit = 0.0
        elif self.begun:
            longest = max(12 * self.price, min(1.0, self.price) * self.plays.count(action))
            moved = not self.plays or self.plays[-1] != action
            self.visit = min(self.begun[action], longest) if moved else 0.0

    def observe(self, action: int, probability: float, loss: float) -> None:
        """Pay the loss from the tracker while exploring."""
        super().observe(action, probability, loss)
        self.tracker -= self.exploring * loss


class Drawn(BlockTwin):
    """One draw for a block, with the learner's own rng."""

    def __init__(self, k: int, T: int, rng: RngState) -> None:
        super().__init__(k, T)
        self.rng = rng.copy()
        self.blocks = 0

    def mix(self) -> list[float]:
        """Return the probabilities for block number `blocks`."""
        raise NotImplementedError

    def candidates(self) -> set[int]:
        self.blocks += 1
        mix = np.array(self.mix())
        with np.errstate(over="ignore"):
            action = choice(mix, self.rng)
        self.probability = float(mix[action])
        return {action}


class BatchedExp3(Drawn):
    """Exponential weights of the estimates, for blocks that balance regret and switches."""

    def __init__(
        self, k: int, T: int, rng: RngState, price: float = 1.0, block: int | None = None
    ) -> None:
        super().__init__(k, T, rng)
        tuned = (
            math.ceil((2 * price) ** (2 / 3) * (T / (2 * k * math.log(k))) ** (1 / 3))
            if k > 1
            else T
        )
        self.tau = max(1, min(T, tuned)) if block is None else block

    def length(self, action: int = 0) -> int:
        return self.tau

    def mix(self) -> list[float]:
        rate = math.sqrt(2 * math.log(self.k) / (self.k * math.ceil(self.T / self.tau))) / self.tau
        return exponential_weights(self.estimates(), rate)


class TsallisSwitching(Drawn):
    """Tsallis-INF on blocks."""

    def __init__(self, k: int, T: int, rng: RngState, price: float = 1.0) -> None:
        super().__init__(k, T, rng)
        self.price = price

    def length(self, action: int = 0) -> int:
        return max(1, math.ceil(1.5 * self.price * math.sqrt(self.blocks / self.k)))

    def mix(self) -> list[float]:
        return tsallis_weights(self.estimates(), math.sqrt(8 / self.blocks) / self.length())
