"""Naive twins for budgets: the balance in fractions, the learners straight from the formulas of spec section 3."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import optimize, stats

from naive.prior import beta_beliefs
from naive.reductions import kinds_of_rounds
from tombola._types import RngState
from tombola.rng import integers

Mix = list[float]


class Twin:
    """What all twins share: the sizes, and every row seen, with what was played in its round."""

    def __init__(self, k: int, m: int, T: int, rate: float, null: int) -> None:
        self.k, self.m, self.T, self.rate, self.null = k, m, T, rate, null
        self.seen: list[tuple[Mix, list[float], list[list[float]]]] = []

    def observe(
        self, played: Mix, losses: Sequence[float], costs: Sequence[Sequence[float]]
    ) -> None:
        self.seen.append((played, list(losses), [list(row) for row in costs]))

    def nothing(self) -> Mix:
        return [float(a == self.null) for a in range(self.k)]

    def means(self) -> tuple[list[float], list[list[float]]]:
        """Mean rewards and mean costs."""
        n = len(self.seen)
        rewards = [sum(1 - losses[a] for _, losses, _ in self.seen) / n for a in range(self.k)]
        costs = [
            [sum(c[a][j] for _, _, c in self.seen) / n for j in range(self.m)]
            for a in range(self.k)
        ]
        return rewards, costs

    def used(self, played: Mix, costs: list[list[float]], j: int) -> float:
        """What a play used of resource j."""
        return sum(played[a] * costs[a][j] for a in range(self.k))


class PrimalDual(Twin):
    """Two exponential weights; a row is valued at the prices of when it is seen."""

    def mix(self, left: list[float], fits: list[bool]) -> Mix:
        """x_t ~ exp(eta_P sum(r - p . c))."""
        eta_p = math.sqrt(8 * math.log(self.k) / self.T) / (1 + 1 / self.rate)
        eta_d = self.rate * math.sqrt(8 * math.log(self.m + 1) / self.T)
        values, gains = [0.0] * self.k, [0.0] * (self.m + 1)
        for played, losses, costs in self.seen:
            prices = [w / self.rate for w in softmax([eta_d * g for g in gains])[:-1]]
            for a in range(self.k):
                values[a] += 1 - losses[a] - sum(prices[j] * costs[a][j] for j in range(self.m))
            for j in range(self.m):
                gains[j] += (self.used(played, costs, j) - self.rate) / self.rate
        return softmax([eta_p * v for v in values])


class DualDescent(Twin):
    """The best action for the means at the prices."""

    def mix(self, left: list[float], fits: list[bool]) -> Mix:
        """argmax of mean reward minus priced mean cost."""
        if not self.seen:
            return self.nothing()
        prices = [0.0] * self.m
        for played, _, costs in self.seen:
            for j in range(self.m):
                move = (self.used(played, costs, j) - self.rate) / (self.rate * math.sqrt(self.T))
                prices[j] = max(0.0, prices[j] + move)
        rewards, mean_costs = self.means()
        scores = [
            rewards[a] - sum(p * c for p, c in zip(prices, mean_costs[a], strict=True))
            for a in range(self.k)
        ]
        best = max(range(self.k), key=lambda a: (scores[a], -a))
        return [float(a == best) for a in range(self.k)]


class EmpiricalLP(Twin):
    """The LP of the means with what is left, solved at its times."""

    growth = 1.2

    def __init__(self, *sizes: Any) -> None:
        super().__init__(*sizes)
        self.following, self.last, self.fitted = 1, self.nothing(), [True] * self.k

    def mix(self, left: list[float], fits: list[bool]) -> Mix:
        """Solve when data has grown, the rest has shrunk, or an action has ceased to fit."""
        n = len(self.seen)
        gone = any(self.last[a] > 0 and self.fitted[a] and not fits[a] for a in range(self.k))
        if n >= self.following or gone:
            self.fitted = list(fits)
            self.following = max(
                n + 1, math.floor(min(n * self.growth, self.T - (self.T - n) / self.growth**2))
            )
            if n:
                rewards, costs = self.means()
                rates = [amount / max(1, self.T - n) for amount in left]
                self.last = self.solve(rewards, costs, rates, [a for a in range(self.k) if fits[a]])
        return self.last

    def solve(self, rewards: Any, costs: Any, rates: Any, actions: list[int]) -> Mix:
        return best_mix(rewards, costs, rates, actions)


class TargetLP(EmpiricalLP):
    """The cheapest mix whose mean loss is at most what is left of target * T, if there is one, else the best mix."""

    target = 0.5

    def solve(self, rewards: Any, costs: Any, rates: Any, actions: list[int]) -> Mix:
        """The least cost subject to the loss, and to what is left."""
        lost = sum(
            x * loss
            for played, losses, _ in self.seen
            for x, loss in zip(played, losses, strict=True)
        )
        enough = (self.target * self.T - lost) / max(1, self.T - len(self.seen))
        both = [[1 - reward, *row] for reward, row in zip(rewards, costs, strict=True)]
        cheap = best_mix([-row[0] for row in costs], both, [enough, *rates], actions)
        return cheap if any(cheap) else super().solve(rewards, costs, rates, actions)


class SerflingLP(Twin):
    """The LP of the means with a margin, at 1, 2, 4, .. rows."""

    delta = 0.05

    def __init__(self, *sizes: Any) -> None:
        super().__init__(*sizes)
        self.following, self.last = 1, self.nothing()

    def mix(self, left: list[float], fits: list[bool]) -> Mix:
        n = len(self.seen)
        if n >= self.following and n < self.T:
            self.following = min(self.T, max(n + 1, 2 * n))
            N = sum(2**i < self.T for i in range(40))
            log = math.log(N * (self.m + 1) * (2 * self.k + 1) / self.delta)
            L, rest = self.following - n, self.T - n
            past = math.sqrt((1 - (n - 1) / self.T) * log / (2 * n))
            margin = self.T / rest * past + math.sqrt((2 - (L - 1) / rest) * log / (2 * L))
            rates = [(amount - 1) / rest - margin for amount in left]
            self.last = self.nothing()
            if min(rates) > 0:
                self.last = best_mix(*self.means(), rates, list(range(self.k)))
        return self.last


class BudgetSimulation(Twin):
    """L427-L581: train a base at the rate rho - margin epsilon_i on i.i.d. draws, play its average mix in block i."""

    def __init__(
        self,
        *sizes: Any,
        rng: RngState,
        base: Callable[..., Any],
        delta: float,
        margin: float,
        delay: int = 0,
    ) -> None:
        super().__init__(*sizes)
        self.rng, self.base, self.delta, self.margin = rng.copy(), base, delta, margin
        self.kinds = kinds_of_rounds("lemma", self.T, delay)
        self.t, self.average = 0, self.nothing()

    def mix(self, left: list[float], fits: list[bool]) -> Mix:
        """Return null between blocks, in round 1, and in blocks with less than half of the rate."""
        kind = self.kinds[self.t]
        if kind[0] == "block" and kind not in self.kinds[: self.t]:
            self.average = self.train(kind[1])
        self.t += 1
        return self.average if kind[0] == "block" else self.nothing()

    def train(self, i: int) -> Mix:
        """Return the average mix of the base in 2^i rounds with the budget of rho_i for each, and its strict stop."""
        log = math.log(self.m * self.k * max(1.0, math.log2(self.T)) / self.delta)
        rate, n = self.rate - self.margin * math.sqrt(6 * 2.0**-i * log), 2**i
        past = [
            self.seen[t] for t in range(len(self.seen)) if t == 0 or self.kinds[t][0] == "block"
        ]
        if rate < self.rate / 2 or not past:
            return self.nothing()
        with np.errstate(over="ignore"):
            drawn = [past[integers(self.rng, len(past))] for _ in range(n)]
        mixes: list[Mix] = []
        worst = [[Fraction(int(a != self.null))] * self.m for a in range(self.k)]
        play(
            self.base(self.k, self.m, n, rate, self.null),
            np.array([losses for _, losses, _ in drawn]),
            np.array([costs for _, _, costs in drawn]),
            [rate * n] * self.m,
            self.null,
            stop="strict",
            delay=0,
            actions=None,
            check=lambda t, mix: mixes.append(mix),
            worst=worst,
        )
        return [sum(column) / n for column in zip(*mixes, strict=True)]


class PlannedBandit:
    """Bandit feedback: every new mix must be a best one of a program; it is kept until a new one is due."""

    growth = 1.44

    def __init__(self, k: int, m: int, T: int, budget: Any) -> None:
        self.k, self.m, self.T, self.amounts = k, m, T, [float(a) for a in budget.per_resource]
        self.added = budget.null == "add"
        self.null: int = k - 1 if self.added else budget.null
        self.plays: list[list[tuple[float, list[float]]]] = [[] for _ in range(k)]
        self.solved: tuple[int, list[int]] | None = None
        self.last: Mix = []
        self.checked = 0

    def observe(self, action: int, loss: float, costs: list[float]) -> None:
        self.plays[action].append((loss, costs))

    def losses(self, a: int) -> list[float]:
        """Return the losses seen of an action."""
        return [loss for loss, _ in self.plays[a]]

    def program(self, left: list[float]) -> tuple[list[float], list[list[float]]]:
        """Return the rewards and the costs of the program, with these amounts left."""
        raise NotImplementedError

    def due(self) -> bool:
        """Whether an action was answered 1.44 times as often, or the rest is 1/1.44 of what it was."""
        if self.solved is None:
            return True
        n, counts = self.solved
        grown = any(
            len(plays) >= max(before + 1, math.floor(self.growth * before))
            for plays, before in zip(self.plays, counts, strict=True)
        )
        total = sum(len(plays) for plays in self.plays)
        return grown or total >= max(n + 1, math.floor(self.T - (self.T - n) / self.growth))

    def check(self, mix: Mix, spent: list[float]) -> None:
        """A mix that is new must be feasible and as good as the best vertex; one that is not due must be the last."""
        if not self.due():
            assert mix == self.last
            return
        n = sum(len(plays) for plays in self.plays)
        self.solved, self.last = (n, [len(plays) for plays in self.plays]), mix
        left = [a - s for a, s in zip(self.amounts, spent, strict=True)]
        rewards, costs = self.program(left)
        rates = [amount / (self.T - n) for amount in left]
        best = best_mix(rewards, costs, rates, list(range(self.k)))
        assert all(
            sum(x * costs[a][j] for a, x in enumerate(mix)) <= rates[j] + 1e-7
            for j in range(self.m)
        )
        value, top = (sum(x * r for x, r in zip(m_, rewards, strict=True)) for m_ in (mix, best))
        assert abs(value - top) <= 1e-6, (value, top)
        self.checked += 1


class OptimisticLP(PlannedBandit):
    """The highest rewards and the lowest costs that are possible."""

    def __init__(self, k: int, m: int, T: int, budget: Any, delta: float) -> None:
        super().__init__(k, m, T, budget)
        self.log = math.log(2 * (k + 1) * (m + 1) * T / delta)

    def low(self, values: list[float]) -> float:
        """How low the mean may be."""
        if not values:
            return 0.0
        p = sum(values) / len(values)
        v = p * (1 - p) if p <= 0.5 else 0.25
        return max(0.0, p - math.sqrt(2 * v * self.log / len(values)))

    def program(self, left: list[float]) -> tuple[list[float], list[list[float]]]:
        """Return one minus the lowest losses, and the lowest costs."""
        rewards = [1 - self.low(self.losses(a)) for a in range(self.k)]
        costs = [
            [self.low([c[j] for _, c in plays]) for j in range(self.m)] for plays in self.plays
        ]
        costs[self.null] = [0.0] * self.m
        rewards[self.null] = 0.0 if self.added else rewards[self.null]
        return rewards, costs


class ThriftyLP(PlannedBandit):
    """Posterior means plus .4 sqrt(d) ln(R/(k n)); mean costs of a lognormal prior; trials that pay."""

    def __init__(self, k: int, m: int, T: int, budget: Any) -> None:
        super().__init__(k, m, T, budget)
        self.chosen, self.limits = [0.0] * k, [0.0] * k

    def due(self) -> bool:
        """Whether answers have grown, or an action was chosen much more often than answered."""
        return super().due() or any(
            now >= most for now, most in zip(self.chosen, self.limits, strict=True)
        )

    def check(self, mix: Mix, spent: list[float]) -> None:
        """Count the plays of the mix, and how many are enough for a new one."""
        limits = [c + max(1.0, 0.44 * len(p)) for c, p in zip(self.chosen, self.plays, strict=True)]
        limits = limits if self.due() else self.limits
        super().check(mix, spent)
        self.limits, self.chosen = limits, [c + x for c, x in zip(self.chosen, mix, strict=True)]

    def costs_in(self, j: int) -> tuple[list[float], float]:
        """Return what each action is expected to cost of resource j, and what a new one is, by a lognormal prior."""
        plays = [[c[j] for _, c in self.plays[a]] if a != self.null else [] for a in range(self.k)]
        scatter, degrees = 1.0, 1.0
        for costs in plays:
            logs = [math.log(c) for c in costs if c > 0]
            scatter += sum((x - sum(logs) / len(logs)) ** 2 for x in logs)
            degrees += max(0, len(logs) - 1)
        noise = scatter / degrees
        means = {
            a: math.log(sum(costs) / len(costs)) for a, costs in enumerate(plays) if sum(costs) > 0
        }
        tried = [sum(c[j] for _, c in p) / len(p) for p in self.plays if p]
        usual = sum(tried) / len(tried) if tried else 0.0
        found = [0.0 if self.plays[a] or a == self.null else usual for a in range(self.k)]
        if not means:
            return found, usual
        centre = sum(means.values()) / len(means)
        excess = sum((x - centre) ** 2 - noise / len(plays[a]) for a, x in means.items())
        spread = max(0.05, (1 + excess) / (1 + len(means)))
        for a, x in means.items():
            precision = 1 / spread + len(plays[a]) / noise
            middle = (centre / spread + x * len(plays[a]) / noise) / precision
            found[a] = math.exp(middle + 1 / precision / 2)
        return found, usual

    def program(self, left: list[float]) -> tuple[list[float], list[list[float]]]:
        """Return posterior rewards with a bonus, and shrunk costs; a new action worth a trial costs nothing."""
        prior = beta_beliefs([self.losses(a) for a in range(self.k)], least=0.1)
        expected = [self.costs_in(j) for j in range(self.m)]
        usual = [one for _, one in expected]
        rest = self.T - sum(len(plays) for plays in self.plays)
        R = min(
            [float(rest), *[amount / u for amount, u in zip(left, usual, strict=True) if u > 0]]
        )
        rewards, costs = [], []
        for a in range(self.k):
            seen, n = len(self.plays[a]), max(1.0, len(self.plays[a]), self.chosen[a])
            doubt = (
                prior.doubt[a]
                if seen
                else max(prior.doubt[a], prior.centre * (1 - prior.centre) / 3)
            )
            bonus = 0.4 * math.sqrt(doubt * max(1, seen) / n) * math.log(max(1.0, R / (self.k * n)))
            rewards.append(min(1.0, 1 - float(prior.guess[a]) + bonus))
            costs.append([found[a] for found, _ in expected])
        rewards[self.null] = 0.0 if self.added else rewards[self.null]
        new = [a for a in range(self.k) if not self.plays[a] and self.chosen[a] < 1]
        new = [a for a in new if a != self.null or not self.added]
        if not new:
            return rewards, costs
        tried = [a for a in range(self.k) if a not in new]
        rates = [amount / rest for amount in left]
        earned = [
            0.0 if self.added and a == self.null else min(1.0, 1 - float(prior.guess[a]))
            for a in tried
        ]
        prices, best = duals([*earned, 0.0], [*[costs[a] for a in tried], [0.0] * self.m], rates)
        for a in new:
            if prior.tried < 2 or self.value(a, prior, costs[a], prices, best, rest) > 0:
                costs[a] = [0.0] * self.m
                # at once, if money has no price
                rewards[a] = 1.0 if prior.tried >= 2 and max(prices) <= 1e-9 else rewards[a]
            else:
                rewards[a] = 0.0
        return rewards, costs

    def value(
        self, a: int, prior: Any, cost: list[float], prices: list[float], best: float, rest: int
    ) -> float:
        """Return the largest knowledge gradient of 1, 2, 4, .. plays of a new action, net of the prices."""
        priced = [p * c for p, c in zip(prices, cost, strict=True)]
        unsure = 0.0 if a == self.null else sum(x * x for x in priced)
        spread = max(prior.spread, 0.15 * prior.centre * (1 - prior.centre)) + unsure
        short, values = best - (1 - prior.centre - sum(priced)), [-math.inf]
        for n in (2**i for i in range(40) if 2**i < rest):
            deviation = math.sqrt(spread**2 / (spread + (prior.noise[a] + unsure) / n))
            gain = float(
                deviation * stats.norm.pdf(short / deviation)
                - short * stats.norm.sf(short / deviation)
            )
            values.append((rest - n) * gain - n * max(0.0, short))
        return max(values)


def duals(
    rewards: list[float], costs: list[list[float]], rates: list[float]
) -> tuple[list[float], float]:
    """Return the prices p >= 0 with the least rates . p + max (r - c . p), and that maximum."""
    m = len(rates)
    rows = [[*[-c for c in row], -1.0] for row in costs]
    limits = [(0, None)] * m + [(None, None)]
    found: Any = optimize.linprog(
        [*rates, 1.0], A_ub=rows, b_ub=[-r for r in rewards], bounds=limits
    ).x
    return found[:m].tolist(), float(found[m])


def softmax(values: list[float]) -> Mix:
    """exp, normalised."""
    top = max(values)
    weights = [math.exp(v - top) for v in values]
    return [w / sum(weights) for w in weights]


def best_mix(rewards: Any, costs: Any, rates: Any, actions: list[int]) -> Mix:
    """The best of all vertices: a mix of s actions with s - 1 resources used up."""
    k, m = len(rewards), len(rates)
    best, value = [0.0] * k, -math.inf
    for s in range(1, min(m + 1, len(actions)) + 1):
        for support in itertools.combinations(actions, s):
            for tight in itertools.combinations(range(m), s - 1):
                matrix = np.array([[1.0] * s, *[[costs[a][j] for a in support] for j in tight]])
                if abs(np.linalg.det(matrix)) < 1e-12:
                    continue
                x = np.linalg.solve(matrix, np.array([1.0, *[rates[j] for j in tight]]))
                uses = [
                    sum(w * costs[a][j] for w, a in zip(x, support, strict=True)) for j in range(m)
                ]
                if x.min() < -1e-12 or any(u > r + 1e-12 for u, r in zip(uses, rates, strict=True)):
                    continue
                worth = float(sum(w * rewards[a] for w, a in zip(x, support, strict=True)))
                if worth > value + 1e-12:
                    best, value = [0.0] * k, worth
                    for w, a in zip(x, support, strict=True):
                        best[a] = max(0.0, float(w))
    return best


def play(
    twin: Any,
    losses: Any,
    costs: Any,
    amounts: list[float],
    null: int,
    *,
    stop: str,
    delay: int,
    actions: Sequence[int] | None,
    check: Callable[[int, Mix], None],
    worst: list[list[Fraction]] | None = None,
) -> list[Fraction]:
    """Play in the order of the rows, fluid or with the actions given; `check` sees every mix;
    return the total spent.

    `worst` are the largest costs of the actions, by default those in the table.
    """
    T, k, m = costs.shape
    exact = [[[Fraction(float(c)) for c in row] for row in rows] for rows in costs]
    worst = worst or [[max(exact[t][a][j] for t in range(T)) for j in range(m)] for a in range(k)]
    largest = [max(worst[a][j] for a in range(k)) for j in range(m)]
    budget = [Fraction(a) for a in amounts]
    common = min(
        [Fraction(T), *[budget[j] / largest[j] for j in range(m) if budget[j] and largest[j]]]
    )
    scale = [float(common / budget[j]) if budget[j] and largest[j] else 0.0 for j in range(m)]
    out: dict[int, Any] = {}
    spent, stopped = [Fraction(0)] * m, False
    for t in range(T):
        if t - delay - 1 >= 0 and delay > 0:
            spent = settle(
                twin,
                out.pop(t - delay - 1),
                spent,
                exact[t - delay - 1],
                losses[t - delay - 1],
                scale,
            )
        room = [
            budget[j] - spent[j] - sum((r[1][j] for r in out.values()), Fraction(0))
            for j in range(m)
        ]
        stopped = stopped or (
            stop == "strict" and any(budget[j] - spent[j] < largest[j] for j in range(m))
        )
        closed = stop == "strict" and any(room[j] < largest[j] for j in range(m))
        fits = [stop == "strict" or all(worst[a][j] <= room[j] for j in range(m)) for a in range(k)]
        if actions is None and stop == "fits":
            fits = [
                all(worst[a][j] <= room[j] or room[j] > 1e-9 for j in range(m)) for a in range(k)
            ]
        mix = [float(a == null) for a in range(k)]
        if not stopped:
            left = [
                float(budget[j] - spent[j]) * scale[j] if scale[j] else math.inf for j in range(m)
            ]
            proposed = twin.mix(left, fits)
            mix = (
                cut(proposed, fits, worst, room, null, fluid=actions is None) if not closed else mix
            )
        check(t, mix)
        played = mix if actions is None else [float(a == actions[t]) for a in range(k)]
        out[t] = (
            played,
            [sum(Fraction(x) * worst[a][j] for a, x in enumerate(played)) for j in range(m)],
        )
        if delay == 0:
            spent = settle(twin, out.pop(t), spent, exact[t], losses[t], scale)
    for t in list(out):
        spent = [
            s + sum(Fraction(x) * exact[t][a][j] for a, x in enumerate(out[t][0]))
            for j, s in enumerate(spent)
        ]
    return spent


def settle(
    twin: Any, play_: Any, spent: list[Fraction], row: Any, losses: Any, scale: list[float]
) -> list[Fraction]:
    """Let the twin see a row, and return what is spent now."""
    twin.observe(
        play_[0], losses, [[float(c) * s for c, s in zip(cs, scale, strict=True)] for cs in row]
    )
    return [
        s + sum(Fraction(x) * row[a][j] for a, x in enumerate(play_[0]))
        for j, s in enumerate(spent)
    ]


def cut(
    mix: Mix, fits: list[bool], worst: Any, room: list[Fraction], null: int, *, fluid: bool
) -> Mix:
    """Move to the null action what does not fit."""
    kept = [x if fit else 0.0 for x, fit in zip(mix, fits, strict=True)]
    if fluid:
        needs = [
            sum(Fraction(x) * worst[a][j] for a, x in enumerate(kept)) for j in range(len(room))
        ]
        share = min(
            [
                1.0,
                *[
                    max(0.0, float(r / n))
                    for r, n in zip(room, needs, strict=True)
                    if n > max(r, 0)
                ],
            ]
        )
        kept = [x * share for x in kept]
    kept[null] += 1 - sum(kept)
    return kept
