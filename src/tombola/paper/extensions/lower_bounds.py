"""Lower bounds on the regret or error of all learners (docs/theory/lower.md).

L1 and L2 of that page: minimax regret. L3: cost of a delay. L4: factor to the better of two
learners. L7: error of a fixed sample.

In a coin pool each row is a loss of 1 for exactly one of two actions; in coin pool w action 1 loses
w of the T rows. By symmetry over orders a learner is the probability x(n, s) of playing action 1
after n rows of which action 1 lost s. Its expected regret on each coin pool is linear in x. The
minimax learner is therefore the solution of a linear program, and its value is a lower bound for
all learners.
"""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from scipy.optimize import linprog

from tombola._play import play
from tombola._types import Floats, Seed
from tombola.lab.exact import worst_case, worst_pool
from tombola.learners import Hedge
from tombola.learners.base import Learner
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, grid, unchanged
from tombola.paper.curves import exact_column, reference_lines
from tombola.paper.extensions.delay import LEARNERS, one_early
from tombola.paper.pvalues import ROUNDING, exact
from tombola.paper.rows import Row, Rows, distinct, levels, matching
from tombola.pool import Pool
from tombola.report.chart import Chart

# Distribution of the order: (T, w, n, s) -> P(s of the first n rows are marked), for T rows with w
# of them marked.
_Paths = Callable[[int, int, int, int], float]
# Rows of a coin pool.
_COIN_ROWS = [[0.0, 1.0], [1.0, 0.0]]
# Factor in the statement of L4: below the values of the linear programs, 1.2096 to 1.2142, by more
# than their error.
_FACTOR = 1.2
# Rows, wins and losses of the lists of L7.
_LISTS = ((12, 7, 3), (20, 8, 5), (30, 18, 12), (40, 12, 8))


def _shuffled_probability(T: int, w: int, n: int, s: int) -> float:
    """Return P(s of the first n rows are marked), in random order."""
    return (
        math.comb(w, s) * math.comb(T - w, n - s) / math.comb(T, n) if 0 <= n - s <= T - w else 0.0
    )


def _game_matrix(
    T: int, delay: int = 0, paths: _Paths = _shuffled_probability
) -> tuple[Floats, Floats]:
    """Return A and b: the regret on coin pool w is A[w] x + b[w].

    A strategy x has the probability of action 1 in each state (n, s): n rounds played, s of them
    lost by action 1. Shapes of A and b: (T + 1, T (T + 1) / 2) and (T + 1,). With a delay of d
    rounds the first mix is played d more times, and the last d mixes are not played.
    """
    places = [(n, s) for n in range(T) for s in range(n + 1)]
    A, b = np.zeros((T + 1, len(places))), np.zeros(T + 1)
    for w in range(T + 1):
        b[w] = -min(w, T - w)
        for i, (n, s) in enumerate(places):
            times = 1 + min(delay, T - 1) if n == 0 else float(n < T - delay)
            here = paths(T, w, n, s)
            q = 0.0
            if here > 0:
                # P(action 1 loses the next row)
                q = (
                    (w - s) / (T - n)
                    if paths is _shuffled_probability
                    else min(1.0, paths(T, w, n + 1, s + 1) / here)
                )
            A[w, i] += times * here * (2 * q - 1)
            b[w] += times * here * (1 - q)
    return A, b


def _min_factor(A: Floats, b: Floats, limits: Floats) -> float:
    """Return the smallest v with regret <= v * limits on all pools for some learner."""
    size = A.shape[1]
    solution = linprog(
        np.append(np.zeros(size), 1.0),
        A_ub=np.column_stack([A, -limits]),
        b_ub=-b,
        bounds=[(0.0, 1.0)] * size + [(None, None)],
        method="highs",
    )
    return float(np.asarray(solution.fun, dtype=np.float64))


def _minimax_regret(T: int) -> float:
    """Return T C(T-1, floor((T-1)/2)) / 2^T, the minimax regret of Cover 1965."""
    return T * math.comb(T - 1, (T - 1) // 2) / 2.0**T


def _leader_strategy(T: int) -> Floats:
    """Return P(action 1) in every state, by follow the leader; ties are 1/2."""
    # Entry n (n + 1) / 2 + s is for n rounds in which action 1 lost s times; shape (T (T + 1) /
    # 2,).
    return np.array([0.5 + 0.5 * np.sign(n - 2 * s) for n in range(T) for s in range(n + 1)])


def _hedge_strategy(T: int) -> Floats:
    """Return the same as `_leader_strategy` by Hedge at its tuned rate."""
    rate = math.sqrt(8 * math.log(2) / T)
    return np.array(
        [1 / (1 + math.exp(rate * (2 * s - n))) for n in range(T) for s in range(n + 1)]
    )


class Minimax(Extension, name="minimax", expected="holds", verdict_only=("bound",)):
    """Smallest worst-case regret of any learner, by linear program and formula.

    Title: Minimax regret
    Source: our L1 and L2 (docs/theory/lower.md); Cover 1965
    Statement: With two actions and full information the best worst-case regret in random order is T
        C(T−1, ⌊(T−1)/2⌋) / 2^T, about 0.4 √T, the same as in the worst order; our learners are
        between it and their bounds.
    Meaning: Random order does not lower the minimax regret of two equal actions. The bounds of
        Hedge and similar learners cannot be improved by more than a small factor.
    Limits: Passes if the value of the linear program equals Cover's formula (in the statement)
        within 1e-6, and the exact worst regret of each learner is at least that value and at most
        the proved bound of the learner.
    Alt: The value of the game is on the line 0.399 √T, and every learner is above it.
    """

    pools: Callable[[int], range] = component(lambda T: range(T + 1))
    worst: Callable[[Learner, int], float] = component(
        lambda learner, T: worst_pool(learner, _COIN_ROWS, T)[0]
    )
    bound: Callable[[float], float] = component(unchanged)
    learners: Mapping[str, Learner] = component(LEARNERS)

    def units(self, *, full: bool) -> list[Unit]:
        games = grid(T=(8, 20, 40, 64) if full else (8, 20, 40), learner="any")
        return games + grid(T=(6, 14), learner=LEARNERS)

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T = unit["T"]
        if unit["learner"] == "any":
            A, b = _game_matrix(T)
            chosen = list(self.pools(T))
            regret = _min_factor(A[chosen], b[chosen], np.ones(len(chosen)))
        else:
            regret = self.worst(self.learners[unit["learner"]], T)
        return [{**unit, "regret": regret, "floor": _minimax_regret(T)}]

    def verdict(self, rows: Rows) -> Verdict:
        games = matching(rows, learner="any")
        played = [row for row in rows if row["learner"] != "any"]
        off = max(abs(row["regret"] - row["floor"]) for row in games)
        low = min(row["regret"] / row["floor"] for row in played)
        high = max(
            row["regret"] / self.bound(LEARNERS[row["learner"]].bound(2, row["T"]) or 0.0)
            for row in played
        )
        measured = (
            f"formula off by at most {off:.0e}; learners at least {low:.3f} of it, at "
            f"most {high:.2f} of bounds"
        )
        fine = off < 1e-6 and low >= 1 - ROUNDING and high <= 1 + ROUNDING
        return self.verdict_from([exact(fine)], measured, "T C(T−1, ⌊(T−1)/2⌋) / 2^T")

    def chart(self, rows: Rows) -> Chart:
        names = {"any": "best of all learners"} | {name: name for name in LEARNERS}
        bands = [
            exact_column(rows, words, "T", "regret", learner=name) for name, words in names.items()
        ]
        lines = reference_lines(
            levels(rows, "T", learner="any"), {"0.399 √T": lambda T: math.sqrt(T / (2 * math.pi))}
        )
        return self.make_chart("worst expected regret, exact", bands, lines)

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {
                "worst": lambda learner, T: worst_case(learner, _COIN_ROWS, T).adversarial
            },
            "bound divided by 2": {"bound": lambda bound: bound / 2},
            "the better action is known": {"pools": lambda T: range(T // 2)},
            "hardly any learning": {"learners": dict.fromkeys(LEARNERS, Hedge(rate=1e-6))},
        }


class DelayFloor(Extension, name="delay-floor", expected="holds"):
    """Smallest regret that a delay causes, against its lower bound.

    Title: The least cost of a delay
    Source: our L3 (docs/theory/lower.md)
    Statement: With delay d and k actions every learner has a pool with regret at least (d + 1)(1 −
        1/k); the least worst-case regret with two actions is between max(V, (d+1)/2) and V + d/2,
        where V is the least one without delay.
    Meaning: Before the first feedback no learner has any information. The cost d (1 − 1/k) of a
        delay in our bounds cannot be lowered.
    Limits: Passes if, computed exactly, the mean regret of each learner over the choice of the best
        action is at least (d + 1)(1 − 1/k), for d = 0 to 20 and k = 2 and 5, and the value of the
        linear program is between the two bounds for two actions, within 1e-6.
    Alt: Every learner is on or above the line (d + 1) / 2.
    """

    learners: Mapping[str, Learner] = component(LEARNERS)
    played_delay: Callable[[int], int] = component(unchanged)
    counted_delay: Callable[[int], int] = component(unchanged)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(learner=LEARNERS, k=(2, 5)) + grid(learner="any", k=2, T=40 if full else 20)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        k = unit["k"]
        T = unit.get("T", 40)
        if unit["learner"] == "any":
            for d in (0, 1, 3, 6):
                value = _min_factor(*_game_matrix(T, self.counted_delay(d)), np.ones(T + 1))
                prompt = _minimax_regret(T)
                yield {
                    **unit,
                    "d": d,
                    "regret": value,
                    "floor": max(prompt, (d + 1) / 2),
                    "high": prompt + d / 2,
                }
            return
        learner = self.learners[unit["learner"]]
        pools = [Pool(np.tile(1.0 - np.eye(k)[best], (T, 1))) for best in range(k)]
        for d in (0, 1, 5, 20):
            late = self.played_delay(d)
            traces = [play(learner, pool, delay=late, seed=seed) for pool in pools]
            regret = float(np.mean([float(trace.expected_losses.sum()) for trace in traces]))
            yield {
                **unit,
                "T": T,
                "d": d,
                "regret": regret,
                "floor": (d + 1) * (1 - 1 / k),
                "high": float(T),
            }

    def verdict(self, rows: Rows) -> Verdict:
        low = min(row["regret"] - row["floor"] for row in rows)
        high = max(row["regret"] - row["high"] for row in rows)
        game_rows = matching(rows, learner="any")
        values = ", ".join(
            f"{row['regret']:.2f} at d = {row['d']}"
            for row in sorted(game_rows, key=lambda r: r["d"])
        )
        measured = f"never below the floor (least margin {low:.1e}); best learner {values}"
        fine = low >= -1e-6 and high <= 1e-6 and bool(game_rows)
        return self.verdict_from([exact(fine)], measured, "(d + 1)(1 − 1/k)")

    def chart(self, rows: Rows) -> Chart:
        bands = [exact_column(rows, name, "d", "regret", learner=name, k=2) for name in LEARNERS]
        lines = reference_lines(
            levels(rows, "d", learner="Hedge"), {"(d + 1) / 2": lambda d: (d + 1) / 2}
        )
        return self.make_chart(
            "mean regret over which action is best", bands, lines, x_label="delay d", log=""
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "feedback one round early": {"played_delay": one_early},
            "no delay at all": {"played_delay": lambda _: 0},
            "delay left out of the game": {"counted_delay": lambda _: 0},
            "delay counted thrice": {"counted_delay": lambda d: 3 * d},
        }


class BetterOfTwo(Extension, name="better-of-two", expected="holds"):
    """Smallest factor by which any learner exceeds the better of two, per horizon.

    Title: No learner is within 1.2 of the better of two
    Source: our L4 (docs/theory/lower.md)
    Statement: With two actions, at T = 20, 40 and 64, every learner has a pool on which its regret
        in random order is more than 1.2 times that of the better one of follow the leader and tuned
        Hedge.
    Meaning: No learner is nearly best both on lists with a clear winner and on lists without one.
        AdaHedge, measured within 1.36 on 17 real tables, leaves little room for improvement except
        near exact ties.
    Limits: Passes if the smallest factor, the value of a linear program over all learners, exceeds
        1.2 at each of the three horizons.
    Alt: The least factor is above 1.2 at every horizon.
    """

    # From the regrets of follow the leader and of Hedge, one per pool, to those to compare with.
    rivals: Callable[[Floats, Floats], Floats] = component(np.minimum)
    pools: Callable[[int], range] = component(lambda T: range(T + 1))
    paths: _Paths = component(_shuffled_probability)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(T=(20, 40, 64))

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        T = unit["T"]
        A, b = _game_matrix(T, paths=self.paths)
        chosen = list(self.pools(T))
        limits = self.rivals(A @ _leader_strategy(T) + b, A @ _hedge_strategy(T) + b)
        return [{"T": T, "factor": _min_factor(A[chosen], b[chosen], limits[chosen])}]

    def verdict(self, rows: Rows) -> Verdict:
        factors = ", ".join(
            f"{row['factor']:.4f} at T = {row['T']}"
            for row in sorted(rows, key=lambda row: row["T"])
        )
        fine = all(row["factor"] > _FACTOR for row in rows)
        return self.verdict_from([exact(fine)], f"least factor {factors}", "more than 1.2")

    def chart(self, rows: Rows) -> Chart:
        bands = [exact_column(rows, "linear program", "T", "factor")]
        lines = reference_lines(levels(rows, "T"), {"1.2": lambda _: _FACTOR})
        return self.make_chart("least factor of any learner", bands, lines, log="x")

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"paths": lambda _, w, n, s: float(s == min(n, w))},  # marked rows first
            "Hedge is the only rival": {"rivals": lambda _, second: second},
            "the worse of the two": {"rivals": np.maximum},
            "the better action is known": {"pools": lambda T: range(T // 2)},
        }


def _without_replacement(N: int, wins: int, losses: int, n: int, i: int, j: int) -> float:
    """Return P(i wins and j losses among n of N rows, without replacement)."""
    ways = math.comb(wins, i) * math.comb(losses, j) * math.comb(N - wins - losses, n - i - j)
    return ways / math.comb(N, n)


def _with_replacement(N: int, wins: int, losses: int, n: int, i: int, j: int) -> float:
    """Return the same as `_without_replacement` with replacement."""
    ways = math.comb(n, i) * math.comb(n - i, j)
    return ways * (wins / N) ** i * (losses / N) ** j * ((N - wins - losses) / N) ** (n - i - j)


class FixedSample(Extension, name="fixed-sample", expected="holds", verdict_only=("error",)):
    """Smallest error of any rule that picks the better of two, against the sign rule.

    Title: How many rows a fixed sample needs
    Source: our L7 (docs/theory/lower.md); Neyman and Pearson 1933
    Statement: A list has u rows that candidate 1 wins and w that it loses, or the reverse. No rule
        that sees n shuffled rows errs less often than P(S < 0) + P(S = 0)/2, where S is wins minus
        losses in the sample; the sign of S attains it.
    Meaning: The lower bound for choosing the better of two candidates from a fixed number of rows.
        A race may stop earlier on clear lists; on lists like these it needs about as many rows.
    Limits: Passes if the error of the best possible rule (Bayes, both lists equally likely) equals
        that of the sign of S within 1e-9, for every n on lists of 12 to 40 rows.
    Alt: The least error falls with the sample size to 0, slowly if wins and losses are nearly
        equal.
    """

    law: Callable[..., float] = component(_without_replacement)
    # From P(S < 0) and P(S = 0) to the error of the sign rule.
    error: Callable[[float, float], float] = component(lambda lower, equal: lower + equal / 2)

    def units(self, *, full: bool) -> list[Unit]:
        return [{"N": N, "wins": u, "losses": w} for N, u, w in (_LISTS if full else _LISTS[:3])]

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        N = unit["N"]
        u = unit["wins"]
        w = unit["losses"]
        true = _without_replacement
        for n in range(1, N + 1):
            counts = [
                (i, j) for i in range(n + 1) for j in range(n + 1 - i)
            ]  # wins and losses among n rows
            bayes = (
                math.fsum(min(true(N, u, w, n, i, j), true(N, w, u, n, i, j)) for i, j in counts)
                / 2
            )
            lower = math.fsum(self.law(N, u, w, n, i, j) for i, j in counts if i < j)
            equal = math.fsum(self.law(N, u, w, n, i, j) for i, j in counts if i == j)
            yield {**unit, "n": n, "least": bayes, "lower": lower, "equal": equal}

    def verdict(self, rows: Rows) -> Verdict:
        off = max(abs(row["least"] - self.error(row["lower"], row["equal"])) for row in rows)
        needed = []
        for N in levels(rows, "N"):
            mine = matching(rows, N=N)
            first = min(row["n"] for row in mine if row["least"] <= 0.05)
            needed.append(f"{first} of {N} rows for {mine[0]['wins']} to {mine[0]['losses']}")
        measured = (
            f"equal to within {off:.0e} in {len(rows)} cases; error 5 % needs {', '.join(needed)}"
        )
        return self.verdict_from([exact(off < ROUNDING)], measured, "P(S < 0) + P(S = 0)/2")

    def chart(self, rows: Rows) -> Chart:
        bands = [
            exact_column(rows, f"{u} wins, {w} losses of {N}", "n", "least", N=N)
            for N, u, w in distinct(rows, "N", "wins", "losses")
        ]
        return self.make_chart(
            "least error of any rule", bands, x_label="rows in the sample", log=""
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            # Losses come first.
            "no shuffle": {
                "law": lambda _, u, w, n, i, j: float(j == min(n, w) and i == min(n - j, u))
            },
            "rows are put back": {"law": _with_replacement},
            "ties count as right": {"error": lambda lower, _: lower},
            "ties count as wrong": {"error": lambda lower, equal: lower + equal},
        }
