"""L7 (docs/theory/lower.md): least error of choosing from a fixed sample.

The better of two candidates is chosen.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tombola._types import Seed
from tombola.paper.base import Extension, Overrides, Row, Rows, Unit, Verdict, levels
from tombola.paper.curves import exact_column
from tombola.paper.pvalues import ROUNDING, exact
from tombola.report.chart import Chart

# P(i wins, j losses) in a sample; see `_without_replacement`.
_Law = Callable[[int, int, int, int, int, int], float]
# Rows, wins and losses of the lists.
_LISTS = ((12, 7, 3), (20, 8, 5), (30, 18, 12), (40, 12, 8))


def _without_replacement(N: int, wins: int, losses: int, n: int, i: int, j: int) -> float:
    """Return P(i wins and j losses among n of N rows, without replacement).

    >>> _without_replacement(4, 2, 1, 1, 1, 0)
    0.5
    """
    ways = math.comb(wins, i) * math.comb(losses, j) * math.comb(N - wins - losses, n - i - j)
    return ways / math.comb(N, n)


def _with_replacement(N: int, wins: int, losses: int, n: int, i: int, j: int) -> float:
    """Return the same as `_without_replacement` with replacement."""
    ways = math.comb(n, i) * math.comb(n - i, j)
    rest = n - i - j
    return ways * (wins / N) ** i * (losses / N) ** j * ((N - wins - losses) / N) ** rest


def _unshuffled(N: int, wins: int, losses: int, n: int, i: int, j: int) -> float:
    """Return the same for the first n rows of the list with its losses first."""
    return float(j == min(n, losses) and i == min(n - j, wins))


def _sample_counts(n: int) -> Iterator[tuple[int, int]]:
    """Yield the possible numbers of wins and losses among n rows."""
    return ((i, j) for i in range(n + 1) for j in range(n + 1 - i))


def _sign_rule_error(lower: float, equal: float) -> float:
    """Return the error of the sign rule, which decides ties at random."""
    return lower + equal / 2


@dataclass(frozen=True)
class FixedSample(Extension, name="fixed-sample", expected="holds", verdict_only=("error",)):
    """Smallest error of any rule that picks the better of two, against the sign rule.

    Fields, which faults replace: law (P(i wins, j losses) in a sample, by rows, wins and losses of the list, rows of
    the sample, i and j), error (error probability of the sign rule, by P(S < 0) and P(S = 0)).

    Title: How many rows a fixed sample needs
    Source: our L7 (docs/theory/lower.md); Neyman and Pearson 1933
    Statement: A list has u rows that candidate 1 wins and w that it loses, or the reverse. No rule that sees n shuffled
        rows errs less often than P(S < 0) + P(S = 0)/2, where S is wins minus losses in the sample; the sign of S
        attains it.
    Meaning: The lower bound for choosing the better of two candidates from a fixed number of rows. A race may stop
        earlier on clear lists; on lists like these it needs about as many rows.
    Limits: Passes if the error of the best possible rule (Bayes, both lists equally likely) equals that of the sign of
        S within 1e-9, for every n on lists of 12 to 40 rows.
    """

    law: _Law = _without_replacement
    error: Callable[[float, float], float] = _sign_rule_error

    def units(self, *, full: bool) -> list[Unit]:
        return [{"N": N, "wins": u, "losses": w} for N, u, w in (_LISTS if full else _LISTS[:3])]

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        N, u, w = unit["N"], unit["wins"], unit["losses"]
        found: list[Row] = []
        for n in range(1, N + 1):
            pairs = [
                (_without_replacement(N, u, w, n, i, j), _without_replacement(N, w, u, n, i, j))
                for i, j in _sample_counts(n)
            ]
            bayes = math.fsum(min(pair) for pair in pairs) / 2
            lower = math.fsum(self.law(N, u, w, n, i, j) for i, j in _sample_counts(n) if i < j)
            equal = math.fsum(self.law(N, u, w, n, i, j) for i, j in _sample_counts(n) if i == j)
            found.append({**unit, "n": n, "least": bayes, "lower": lower, "equal": equal})
        return found

    def verdict(self, rows: Rows) -> Verdict:
        off = max(abs(row["least"] - self.error(row["lower"], row["equal"])) for row in rows)
        needed = []
        for N in levels(rows, "N"):
            mine = [row for row in rows if row["N"] == N]
            first = min(row["n"] for row in mine if row["least"] <= 0.05)
            needed.append(f"{first} of {N} rows for {mine[0]['wins']} to {mine[0]['losses']}")
        measured = f"equal to within {off:.0e} in {len(rows)} cases; error 5 % needs {', '.join(needed)}"
        return self.verdict_from([exact(off < ROUNDING)], measured, "P(S < 0) + P(S = 0)/2")

    def chart(self, rows: Rows) -> Chart:
        return Chart(
            title=self.title,
            x_label="rows in the sample",
            y_label="least error of any rule",
            bands=tuple(
                exact_column(rows, f"{u} wins, {w} losses of {N}", "n", "least", N=N)
                for N, u, w in sorted({(row["N"], row["wins"], row["losses"]) for row in rows})
            ),
            log_x=False,
            log_y=False,
            alt="The least error falls with the sample size to 0, slowly if wins and losses are nearly equal.",
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"law": _unshuffled},
            "rows are put back": {"law": _with_replacement},
            "ties count as right": {"error": lambda lower, _: lower},
            "ties count as wrong": {"error": lambda lower, equal: lower + equal},
        }
