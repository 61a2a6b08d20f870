"""Rank sets (docs/theory/ranks.md): probability of a wrong claim, enumerated.

The rules depend on differences of losses within a row only. A type of row is therefore a row with
smallest loss 0, and the types of a grid stand for all rows on it. A pool is a multiset of types;
its distinct orders are equally likely.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tombola._types import Floats, Integers, Seed
from tombola.engine.compiler import compile_loop, expected_rounds
from tombola.lab.exact import compositions, count_orders
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, unchanged
from tombola.paper.curves import exact_column
from tombola.paper.pvalues import ROUNDING, exact
from tombola.paper.rows import Row, Rows, distinct, levels, matching
from tombola.paper.source_faults import SourceFault
from tombola.racing.rules.pair_bets import pair_weights
from tombola.racing.rules.ranks import Ranks, n_pairs
from tombola.ranking import rank
from tombola.ranking._rank import _Clusters
from tombola.ranking.result import ProvedOrder, ReadingName
from tombola.report.chart import Chart

# Levels (largest probabilities of a wrong claim) at which the rule is tested.
_LEVELS = (0.05, 0.2, 0.5)
# Number of rows of a cluster, in the case in which rows come in clusters.
_CLUSTER_SIZE = 3
# Smallest number of rows of a case that begins where another one ends.
_FIRST_ROWS = {"pairs in 0/1": 9, "pairs in thirds": 5}


def _row_types(k: int, steps: int) -> Integers:
    """Return the rows of k losses in {0, .., steps} with minimum 0, shape (types, k)."""
    return np.array(
        [row for row in itertools.product(range(steps + 1), repeat=k) if min(row) == 0],
        dtype=np.int64,
    )


def _true_order(totals: Integers) -> ProvedOrder:
    """Return whether a precedes b, entry (a, b): by total loss, ties in file order."""
    place = np.arange(totals.size)
    ahead = (totals[:, None] == totals[None, :]) & (place[:, None] < place[None, :])
    return np.asarray((totals[:, None] < totals[None, :]) | ahead)


class _NoUnion(Ranks):
    """The fault: every pair at 1 / level, as if there were one hypothesis."""

    def init(self) -> Any:
        return super().init()._replace(threshold=1.0 / self.level)


class _ReusedPairs(Ranks):
    """The fault: a pair that has lost gets its first wealth again after each look."""

    def update(self, losses: Floats) -> None:
        super().update(losses)
        self.state.wealth[self.state.wealth.sum(axis=1) < 1.0] = np.asarray(
            pair_weights(self.population)
        )


@dataclass(frozen=True)
class _Tree:
    """All sequences of `length` branches, as a tree of states of one rule.

    rule: makes the claims; it is reset at the start.
    steps: the rows that each branch adds, in order, shape (rows, k).
    totals: the total loss of each branch, shape (branches, k), in whole steps of the grid.
    length: number of branches in a sequence.
    """

    rule: Ranks
    steps: list[Floats]
    totals: Integers
    length: int

    def leaves(self) -> Iterator[tuple[tuple[int, ...], ProvedOrder]]:
        """Yield every sequence of branches with the claims made on the way."""
        self.rule.reset()
        yield from self._visit(())

    def _visit(self, sequence: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ProvedOrder]]:
        if len(sequence) == self.length:
            yield sequence, self.rule.before
            return
        state = self.rule.memory.copy()
        for branch, rows in enumerate(self.steps):
            for row in rows:
                if not self.rule.done:
                    self.rule.update(row)
            yield from self._visit((*sequence, branch))
            self.rule.memory[:] = state

    def worst_pool(self) -> tuple[float, int]:
        """Return the largest P(wrong claim) over the orders of a pool, and pools."""
        wrong: defaultdict[tuple[int, ...], int] = defaultdict(int)
        count: Counter[tuple[int, ...]] = Counter()
        for sequence, before in self.leaves():
            pool = tuple(sorted(sequence))
            count[pool] += 1
            wrong[pool] += bool((before & ~_true_order(self.totals[list(pool)].sum(axis=0))).any())
        return max(wrong[pool] / count[pool] for pool in count), len(count)

    def wrong_on_law(self) -> float:
        """Return P(wrong claim) on independent draws of equally likely branches."""
        ahead = _true_order(self.totals.sum(axis=0))
        wrong = [bool((before & ~ahead).any()) for _, before in self.leaves()]
        return sum(wrong) / len(wrong)


def _count_sequences(
    memory: Floats, stack: Floats, rows: Floats, sequence: Floats, found: Floats
) -> None:
    """Count all sequences of rows, each played until its pair is decided. Compiled.

    A sequence is counted by its claim and by its rows of each type, a number with digits in base
    length + 1.

    memory: flat state vector of a rule for two candidates before the first row; scratch space
        afterwards.
    stack: the state before each row of a sequence, shape (length, memory.size).
    rows: the types of rows, shape (types, 2).
    sequence: the type of each row, shape (length,); scratch space.
    found: counts, shape (3, (length + 1) ** types): no claim, 0 before 1, 1 before 0.
    """
    depth, state = 0, view(memory)  # type: ignore[name-defined]  # noqa: F821
    sequence[0] = -1.0
    for i in range(memory.size):
        stack[0, i] = memory[i]
    while depth >= 0:
        sequence[depth] += 1.0
        if sequence[depth] == rows.shape[0]:
            depth -= 1
            continue
        for i in range(memory.size):
            memory[i] = stack[depth, i]
        step(state, rows[int(sequence[depth])])  # type: ignore[name-defined]  # noqa: F821
        if state.done[0] > 0.0:
            key = 0
            for i in range(depth + 1):
                key += (sequence.size + 1) ** int(sequence[i])
            found[int(state.before[0, 1] + 2.0 * state.before[1, 0]), key] += 1.0
        else:
            depth += 1
            sequence[depth] = -1.0
            for i in range(memory.size):
                stack[depth, i] = memory[i]


def _worst_pair(rule: Ranks, differences: Integers, steps: int) -> tuple[float, int]:
    """Return the largest P(wrong claim) on a pair over all pools, and their number.

    A pair that is decided early stands for all sequences that begin in this way.

    rule: for two candidates; its rows are the length of a pool.
    differences: the types of rows, as losses of 0 minus losses of 1, in whole steps of the grid.
    """
    length = rule.rows
    types = differences.size
    rows = np.stack([np.maximum(differences, 0), np.maximum(-differences, 0)], axis=1) / steps
    stack = np.empty((length, rule.memory.size))
    found = np.zeros((3, (length + 1) ** types))
    arguments = (rule.memory, stack, rows, np.zeros(length), found)
    with expected_rounds(types**length, 4):
        compile_loop(_count_sequences, arguments, **rule.kernels)(*arguments)
    wrong: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for claim, key in np.argwhere(found[1:] > 0.0):
        seen = [int(key) // (length + 1) ** i % (length + 1) for i in range(types)]
        for extra in compositions(length - sum(seen), types):
            pool = tuple(map(sum, zip(seen, extra, strict=True)))
            lead = int(np.dot(pool, differences))
            # The true order has 0 before 1 also for a tie.
            if (lead > 0) if claim == 0 else (lead <= 0):
                wrong[pool] += found[1 + claim, key] * count_orders(extra)
    worst = max((count / count_orders(pool) for pool, count in wrong.items()), default=0.0)
    return worst, math.comb(length + types - 1, types - 1)


def _cluster_of_rank(rows: Floats) -> Floats:
    """Return what `rank` bets on for the rows of one cluster, shape (1, k)."""
    return _Clusters.of([0] * len(rows), rows, None).sums


class RankSets(Extension, name="ranks", expected="holds"):
    """Probability of a wrong claim about the order of candidates.

    Title: Ranks with a stated probability of error
    Source: our theorem on orders (docs/theory/ranks.md); Vovk and Wang 2021; Mogstad et al. 2024
    Statement: k candidates are ordered by mean loss, ties in file order. "a before b" is claimed
        when the wealth of the bets against its negation reaches k (k − 1) / 2 / level, and follows
        from other claims. At any time some claim is wrong with probability at most the level. The
        same holds for one-sided tests at level / (k (k − 1) / 2) if the rows are a sample.
    Meaning: A leaderboard may be looked at after every row, and all its rank sets hold at one
        level. On the list and beyond the list are different questions.
    Limits: Passes if the probability of a wrong claim is at most the level, computed exactly over
        every order of every pool with losses 0 and 1, or in thirds, up to a small number of rows,
        and over every small sample.
    Alt: The largest probability of a wrong claim stays below the level on all small pools.
    """

    rule: Callable[..., Ranks] = component(Ranks)
    # From the rows of a cluster, which are sampled together, to the rows that are bet on.
    cluster: Callable[[Floats], Floats] = component(_cluster_of_rank)
    share: Callable[[float], float] = component(unchanged)  # from the level to that of the rule
    reading: ReadingName = "beyond"

    def units(self, *, full: bool) -> list[Unit]:
        # Largest number of rows, in a small and a full run: the number of sequences is types **
        # rows.
        sizes = {
            ("0/1", 2): (6, 8),
            ("0/1", 3): (5, 6),
            ("0/1", 4): (3, 4),
            ("thirds", 2): (4, 6),
            ("thirds", 3): (2, 4),
            ("clusters", 2): (4, 5),
            ("clusters", 3): (2, 3),
            ("sample", 3): (6, 6),
            ("running sample", 2): (10, 12),
            ("running sample", 3): (4, 6),
            # 37 types of rows are too many for more than 4 rows; the pairs of a wrong claim have 7,
            # which are also those of clusters of up to 3 rows. 4 candidates need 9, 11 and 14 rows
            # for a wrong claim at .5, .2, .05.
            ("pairs in thirds", 3): (0, 8),
            ("pairs in 0/1", 4): (0, 15),
        }
        return [
            {"case": case, "k": k, "N": rows, "level": level}
            for (case, k), most in sizes.items()
            for rows in (
                (most[full],)
                if "sample" in case
                else range(_FIRST_ROWS.get(case, 1), most[full] + 1)
            )
            for level in _LEVELS
        ]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        case = unit["case"]
        k = unit["k"]
        rows = unit["N"]
        level = unit["level"]
        if case == "sample":
            wrong = [self._wrong_on_sample(law, rows, level) for law in _laws(k)]
            probability = max(wrong)
            cases = len(wrong)
        elif case == "running sample":
            trees = [self._tree(case, law, 1, rows, level) for law in _laws(k)]
            probability = max(tree.wrong_on_law() for tree in trees)
            cases = len(trees)
        elif case.startswith("pairs in "):
            # A wrong claim needs a wrong pair: add the probabilities of the pairs, each at its
            # share of the level.
            steps = 3 if case.endswith("thirds") else 1
            rule = self.rule(2, rows, rows, self.share(level) / n_pairs(k))
            worst_pair, cases = _worst_pair(rule, np.arange(-steps, steps + 1), steps)
            probability = n_pairs(k) * worst_pair
        else:
            steps = {"0/1": 1, "thirds": 3, "clusters": _CLUSTER_SIZE}[case]
            probability, cases = self._tree(
                case, _row_types(k, steps), steps, rows, level
            ).worst_pool()
        ratio = probability / level
        row = {**unit, "probability": probability, "ratio": ratio, "cases": cases}
        return [{**row, "spent": self._spent(case, k, rows, level)}]

    def _spent(self, case: str, k: int, rows: int, level: float) -> float:
        """Return the share of the level that the thresholds spend: pairs over the wealth that decides.

        On few rows the error is far below the level, and would not show a wrong one.
        """
        if case == "sample":
            table = np.eye(max(rows, k))[:, :k]
            reading = rank(
                table, kind="losses", level=self.share(level), reading="recorded"
            ).reading()
            return float(n_pairs_of(k) / reading.goal / level)
        rule = self.rule(k, rows, rows, self.share(level))
        return float(n_pairs_of(k) / rule.state.threshold / level)

    def _tree(self, case: str, types: Integers, steps: int, length: int, level: float) -> _Tree:
        branches = [kind[None, :] / steps for kind in types]
        if case == "clusters":
            # A cluster with total j has j losses of 1: row i of it has loss 1 for candidates with a
            # total above i.
            branches = [
                self.cluster((kind[None, :] > np.arange(_CLUSTER_SIZE)[:, None]) * 1.0)
                for kind in types
            ]
        n = length * len(branches[0])
        population = math.inf if case == "running sample" else n
        rule = self.rule(types.shape[1], n, population, self.share(level))
        return _Tree(rule, branches, types, length)

    def _wrong_on_sample(self, law: Integers, n: int, level: float) -> float:
        """Return P(a wrong claim of `rank`) on n independent rows of a law."""
        ahead = _true_order(law.sum(axis=0))
        probability = 0.0
        # The test of answers that are declared right or wrong does not depend on the order of rows.
        for sample in itertools.combinations_with_replacement(range(len(law)), n):
            ranking = rank(
                law[list(sample)],
                kind="losses",
                level=self.share(level),
                reading=self.reading,
                binary=True,
            )
            before = ranking.reading().before
            if (before & ~ahead).any():
                probability += count_orders(tuple(Counter(sample).values())) / len(law) ** n
        return probability

    def verdict(self, rows: Rows) -> Verdict:
        worst = {
            case: max(row["ratio"] for row in rows if row["case"] == case)
            for case in levels(rows, "case")
        }
        shares = ", ".join(f"{case} {ratio:.2f}" for case, ratio in worst.items())
        cases = sum(row["cases"] for row in rows)
        measured = (
            f"largest P(wrong claim) / level: {shares}; {cases:,} pools and laws, all "
            "orders and samples"
        )
        spent = max(row["spent"] for row in rows)
        checks = [exact(max(worst.values()) <= 1.0 + ROUNDING), exact(spent <= 1.0 + ROUNDING)]
        return self.verdict_from(checks, f"{measured}; thresholds spend {spent:.2f}", "level")

    def chart(self, rows: Rows) -> Chart:
        on_list = [row for row in rows if "sample" not in row["case"]]
        most = matching(on_list, level=max(_LEVELS))
        cases = distinct(most, "case", "k")
        bands = [
            exact_column(most, f"{case}, k = {k}", "N", "ratio", case=case, k=k)
            for case, k in cases
        ]
        return self.make_chart(
            "largest P(wrong claim) / level", bands, x_label="rows of the pool", log=""
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no union over pairs": {"rule": _NoUnion},
            "pairs reused after a look": {"rule": _ReusedPairs},
            "rows of a cluster as independent": {"cluster": lambda rows: rows},
            "recorded answers for rows like these": {"reading": "recorded"},
            "level times 1.5": {"share": lambda level: min(1.5 * level, 0.99)},
            "level times 2": {"share": lambda level: min(2.0 * level, 0.99)},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        return {
            "tests at the level": SourceFault(
                "ranking._rank:_beyond", "level / n_pairs(k))", "level)"
            ),
            "one hypothesis": SourceFault("racing.rules.ranks:n_pairs", "k * (k - 1) // 2", "1"),
        }


def n_pairs_of(k: int) -> int:
    """Return the number of pairs of k candidates, counted one by one."""
    return sum(1 for _ in itertools.combinations(range(k), 2))


def _laws(k: int) -> Iterator[Integers]:
    """Yield all sets of one to k rows of losses 0 and 1, equally likely rows of a law."""
    types = _row_types(k, 1)
    for size in range(1, k + 1):
        for chosen in itertools.combinations(range(len(types)), size):
            yield types[list(chosen)]
