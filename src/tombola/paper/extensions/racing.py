"""Claims about races, computed exactly over all orders of small lists.

Theorems 1 to 4 and sections 8 and 9 of docs/theory/race.md.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tombola._types import Floats, Seed
from tombola.engine.compiler import expected_rounds
from tombola.evidence import EProcess, PredictedMean
from tombola.evidence.betting import STRATEGY_WEIGHTS
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, grid, unchanged
from tombola.paper.curves import exact_column, reference_lines
from tombola.paper.extensions import Orders, all_orders, as_listed
from tombola.paper.pvalues import exact
from tombola.paper.rows import Row, Rows, matching
from tombola.racing.predictions import InformedRule
from tombola.racing.rules.base import Elimination
from tombola.racing.rules.best import Best
from tombola.racing.rules.elimination import MOST_OPPONENTS, bet_against, count_row, finish
from tombola.racing.rules.gate import Gate
from tombola.racing.rules.opponents import add_products, rank_candidates
from tombola.racing.rules.top import Top
from tombola.racing.rules.within import Within
from tombola.racing.side_information import SideInformation
from tombola.report.chart import Chart

# Levels (largest error probabilities) at which each race is played.
_LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
# Level at which hypotheses about a mean are refuted: on five rows wealth is small.
_CERTIFICATE_LEVEL = 0.6
# Tolerance of the claim on `Within`: an answer may be worse than the best candidate by this mean
# loss.
_TOLERANCE = 0.1
# In list order the best candidate loses first: a race without a shuffle drops it.
_POOLS: dict[str, list[list[float]]] = {
    "best by one row": [
        [1.0, 0.0, 0.5],
        [1.0, 0.0, 0.5],
        [0.0, 1.0, 0.5],
        [0.0, 1.0, 0.5],
        [0.0, 1.0, 1.0],
    ],
    "tie": [[1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.5, 0.5, 1.0]],
    "mixed": [
        [1.0, 0.3, 0.0],
        [0.8, 0.0, 0.6],
        [0.9, 0.4, 0.2],
        [0.0, 1.0, 1.0],
        [0.0, 1.0, 0.9],
        [0.0, 1.0, 0.7],
    ],
    # Who is best of the others changes from row to row: opponents chosen by the row would show.
    "others take turns": [
        [0.5, 0.0, 1.0],
        [0.5, 0.0, 1.0],
        [0.5, 1.0, 0.0],
        [0.5, 1.0, 0.0],
        [0.4, 0.5, 0.5],
    ],
}


# A level that is not shared, or wrong by a moderate factor; below 1, as a rule demands.
_LEVEL_FAULTS: dict[str, Overrides] = {
    "level times 1.5": {"share": lambda level: min(1.5 * level, 0.99)},
    "level times 2": {"share": lambda level: min(2.0 * level, 0.99)},
}


def _mean_errors(totals: Floats, wrong: list[bool], wealth: list[Floats]) -> Row:
    """Return P(wrong answer), and the largest mean wealth against a best candidate.

    totals: total losses of the candidates.
    wrong, wealth: for each order, whether the answer is wrong, and the wealth against each
        candidate.
    """
    best = totals <= totals.min() + 1e-9
    means = np.mean(np.minimum(wealth, 1e6), axis=0)
    return {"error": float(np.mean(wrong)), "wealth": float(means[best].max())}


def _with_opponents_of_present_row(rule: Elimination) -> Elimination:
    """Choose the opponents of `Best` by the losses of the row to bet on: a fault."""

    def step(state: Any, losses: Floats) -> None:
        rank_candidates(state.ranked, state.active, losses, MOST_OPPONENTS + 1)
        for b in range(losses.size):
            state.current_wealth[b] = bet_against(state, None, state.products, losses, b, -1)
        add_products(state.products, state.active, losses)
        count_row(state, losses)
        finish(state, 1.0)

    rule.kernels["step"] = step
    return rule


class _RaceClaim(Extension):
    """Error of a race of 3 candidates over all orders of 5 and 6 rows, at 5 levels.

    Alt: The error stays below the level on every list.
    """

    orders: Orders = component(all_orders)
    size: Callable[[int], float] = component(
        unchanged
    )  # from the rows of the list to those that the rule assumes
    read: Callable[[Floats], Floats] = component(
        unchanged
    )  # from the true losses to those that the rule sees
    share: Callable[[float], float] = component(unchanged)  # from the level to that of the rule
    changed: Callable[[Elimination], Elimination] = component(
        unchanged
    )  # from the rule to the one that plays

    # From candidates, rows, rows that the rule assumes, and level to the rule of the race.
    rule: ClassVar[Callable[..., Elimination]]

    @staticmethod
    def spent(rule: Any) -> float:
        """Return the probability that the thresholds of a rule spend, by its theorem.

        It is the sum over hypotheses of one over the wealth that decides. On short lists the error
        itself is far below the level, and would not show a level that is twice too large.
        """
        return float(1.0 / rule.state.threshold)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(pool=_POOLS)

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        table = np.array(_POOLS[unit["pool"]])
        rows = len(table)
        totals = table.sum(axis=0)
        for level in _LEVELS:
            rule = self.changed(self.rule(3, rows, self.size(rows), self.share(level)))
            spent = self.spent(rule) / level
            wrong = []
            wealth = []
            with expected_rounds(0.0, 1):
                for order in self.orders(rows):
                    rule.play(self.read(table), np.array(order, np.uint32))
                    wrong.append(rule.is_wrong(totals))
                    wealth.append(rule.state.current_wealth.copy())
            yield {**unit, "level": level, "spent": spent, **_mean_errors(totals, wrong, wealth)}

    def verdict(self, rows: Rows) -> Verdict:
        worst = max(row["error"] / row["level"] for row in rows)
        spent = max(row["spent"] for row in rows)
        measured = (
            f"largest error {worst:.2f} of the level in {len(rows)} cases, all orders; thresholds "
            f"spend {spent:.2f} of it"
        )
        checks = [exact(worst <= 1.0), exact(spent <= 1.0 + 1e-9)]
        return self.verdict_from(checks, measured, "P(wrong answer) ≤ level")

    def chart(self, rows: Rows) -> Chart:
        bands = [
            exact_column(rows, pool, "level", "error", pool=pool)
            for pool in _POOLS
            if matching(rows, pool=pool)
        ]
        lines = reference_lines(_LEVELS, {"level": float})
        return self.make_chart("P(wrong answer), exact", bands, lines, x_label="level", log="")

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"orders": as_listed},
            "scores read as losses": {"read": lambda table: 1.0 - table},
            "list taken as shorter": {"size": lambda rows: rows - 0.9},
            **_LEVEL_FAULTS,
        }


class RaceBest(_RaceClaim, name="race-best", expected="holds"):
    """Error probability and expected wealth of the race for the best candidate.

    Title: The race drops a best candidate with probability at most the level
    Source: our Theorem 1 (docs/theory/race.md)
    Statement: In random order the wealth against a best candidate has expectation at most 1, so it
        is ever dropped with probability at most the level, for any number of candidates and of
        looks.
    Meaning: Stop evaluating a candidate as soon as its wealth reaches 1/level.
    Limits: Passes if, on every list and at every level, the error probability is at most the level,
        and the expected wealth of the bets against a best candidate is at most 1 + 1e-9. Nothing is
        sampled.
    """

    rule = Best

    def verdict(self, rows: Rows) -> Verdict:
        worst = max(row["error"] / row["level"] for row in rows)
        wealth = max(row["wealth"] for row in rows)
        spent = max(row["spent"] for row in rows)
        measured = (
            f"largest error {worst:.2f} of the level, largest expected wealth "
            f"{wealth:.9f}, {len(rows)} cases; thresholds spend {spent:.2f} of the level"
        )
        statement = "P(wrong answer) ≤ level, E wealth ≤ 1"
        checks = [exact(worst <= 1.0), exact(wealth <= 1.0 + 1e-9), exact(spent <= 1.0 + 1e-9)]
        return self.verdict_from(checks, measured, statement)

    def faults(self) -> dict[str, Overrides]:
        return {
            **super().faults(),
            "opponents chosen by the present row": {"changed": _with_opponents_of_present_row},
        }


class RaceWithin(_RaceClaim, name="race-within", expected="holds"):
    """Error probability of the race for a candidate within 0.1 of the best.

    Title: The answer is within the tolerance with probability 1 - level
    Source: our Theorem 2 (docs/theory/race.md)
    Statement: In random order the answer is worse than the best candidate by more than the
        tolerance with probability at most the level.
    Meaning: Near ties end the race early, without a further assumption.
    Limits: Passes if the error probability is at most the level on every list. Nothing is sampled.
    """

    rule = partial(Within, within=_TOLERANCE)

    @staticmethod
    def spent(rule: Any) -> float:
        """Return the level of drops and of settlements together (Theorem 2)."""
        return float(1.0 / rule.state.threshold + 1.0 / rule.state.settling_wealth)


class RaceTop(_RaceClaim, name="race-top", expected="holds"):
    """Error probability of the race for the best two of three candidates.

    Title: The remaining m candidates are the best m with probability 1 - level
    Source: our Theorem 3 (docs/theory/race.md)
    Statement: In random order a member of a set of best m candidates is dropped with probability at
        most the level.
    Meaning: A short list can be found without a ranking of its members.
    Limits: Passes if the error probability is at most the level on every list. Nothing is sampled.
    """

    rule = partial(Top, top=2)

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"orders": as_listed},
            "scores read as losses": {"read": lambda table: 1.0 - table},
            "losses rounded to 0 and 1": {"read": lambda table: (table > 0.5).astype(np.float64)},
            **_LEVEL_FAULTS,
        }


class RaceGate(_RaceClaim, name="race-gate", expected="holds"):
    """Error probability of the comparison of two candidates with a baseline.

    Title: A gate decides wrongly with probability at most the level
    Source: our Theorem 4 (docs/theory/race.md)
    Statement: In random order a false statement "better than the baseline", or its false negation,
        is proved with probability at most the level, over all candidates together.
    Meaning: A release test with a known error probability.
    Limits: Passes if the error probability is at most the level on every list. Nothing is sampled.
    """

    rule = partial(Gate, baseline=0, margin=0.0)

    @staticmethod
    def spent(rule: Any) -> float:
        """Return the level of all candidates but the baseline: one hypothesis each is true."""
        return float((rule.state.active.size - 1) / rule.state.threshold)

    def faults(self) -> dict[str, Overrides]:
        not_shared: Overrides = {"share": lambda level: min(2.0 * level, 0.99)}
        return {**super().faults(), "level not shared by two candidates": not_shared}


class CertificateClaim(Extension, name="certificate", expected="holds"):
    """Expected wealth of `EProcess` against the true mean, after every row.

    All orders of four lists of 5 and 6 losses are computed; wealth is 1 at the start.

    Title: The evidence against the true mean does not grow
    Source: our check of Waudby-Smith and Ramdas 2024 (docs/theory/confidence.md)
    Statement: In random order the wealth against a true hypothesis about the mean of the list has
        expectation at most 1 after every number of rows, so an interval that leaves out refuted
        means holds at all times.
    Meaning: Look after every row, and stop whenever the interval is short enough.
    Limits: Passes if the expected wealth is at most 1 + 1e-9 after every row. Nothing is sampled.
    Alt: The expected wealth is at most 1 after every number of rows.
    """

    orders: Orders = component(all_orders)
    size: Callable[[int], float] = component(
        unchanged
    )  # from the rows of the list to those assumed
    share: Callable[[float], float] = component(unchanged)  # from the level to that of the bets

    def units(self, *, full: bool) -> list[Unit]:
        return grid(pool=_POOLS, side=("at_most", "at_least"))

    def run(self, unit: Unit, *, seed: Seed) -> list[Row]:
        values = np.array(_POOLS[unit["pool"]])[:, 0]
        mean = float(values.mean())
        rows = len(values)
        orders = self.orders(len(values))
        wealth = np.zeros(rows - 2)
        # Least level at which the wealth of a refuted hypothesis would refute it, over the level.
        spent = 0.0
        with expected_rounds(0.0, 1):
            for order in orders:
                bound: Any = {unit["side"]: mean}
                process = EProcess(
                    **bound, population=self.size(rows), level=self.share(_CERTIFICATE_LEVEL)
                )
                for n in range(rows - 2):
                    process.extend([float(values[order[n]])])
                    amount = float(np.dot(STRATEGY_WEIGHTS, process.strategy_wealth[:, 0]))
                    wealth[n] += amount / len(orders)
                    if process.refuted[0]:
                        needed = 1.0 / float(process.wealth[0])
                        spent = max(spent, needed / _CERTIFICATE_LEVEL)
        return [
            {**unit, "n": n + 1, "wealth": float(amount), "spent": spent}
            for n, amount in enumerate(wealth)
        ]

    def verdict(self, rows: Rows) -> Verdict:
        worst = max(row["wealth"] for row in rows)
        spent = max(row["spent"] for row in rows)
        measured = (
            f"largest expected wealth {worst:.9f} in {len(rows)} cases, all orders; refuted at "
            f"{spent:.2f} of the level or less"
        )
        checks = [exact(worst <= 1.0 + 1e-9), exact(spent <= 1.0 + 1e-9)]
        return self.verdict_from(checks, measured, "E wealth ≤ 1")

    def chart(self, rows: Rows) -> Chart:
        bands = [
            exact_column(rows, pool, "n", "wealth", pool=pool, side="at_most")
            for pool in _POOLS
            if matching(rows, pool=pool)
        ]
        lines = reference_lines([1, 4], {"1": lambda _: 1.0})
        return self.make_chart(
            "expected wealth against the true mean, exact", bands, lines, x_label="rows", log=""
        )

    def faults(self) -> dict[str, Overrides]:
        return {
            "no shuffle": {"orders": as_listed},
            "only the list or its reverse": {
                "orders": lambda rows: [tuple(range(rows)), tuple(reversed(range(rows)))]
            },
            "list taken as shorter": {"size": lambda rows: rows - 1},
            **_LEVEL_FAULTS,
        }


# Hook that runs before row i of an order, with the state of the race, the order, i and the table of
# losses; faults change the state.
_Before = Callable[[InformedRule, tuple[int, ...], int, Floats], None]


def _mean_over_all_rows(
    informed: InformedRule, order: tuple[int, ...], i: int, table: Floats
) -> None:
    """Take the mean of the predictions over all rows, not the rows left: a fault."""
    sums = informed.sums
    sums.predicted_left[:] = sums.predicted.mean(axis=0) * (len(order) - i)


def _range_ignored(informed: InformedRule, order: tuple[int, ...], i: int, table: Floats) -> None:
    """Bet as if no residual could be below 0, so that factors are negative: a fault."""
    informed.rule.state.residual_low[:] = 0.0


def _current_row_in_fit(
    informed: InformedRule, order: tuple[int, ...], i: int, table: Floats
) -> None:
    """Fit to the answers of the row that is predicted: a fault."""
    informed.count(np.array([order[i]]), table[[order[i]]], i + 1)


def _mean_over_rows_ahead(
    informed: InformedRule, order: tuple[int, ...], i: int, table: Floats
) -> None:
    """Predict by answers of candidate 1 ahead, with their mean over two rows: a fault."""
    sums = informed.sums
    ahead = list(order[i : i + 2])
    sums.predicted[ahead, 1] = table[ahead, 1]
    sums.predicted_left[1] = table[ahead, 1].mean() * (len(order) - i)


def _bound_of_earlier_opponent(
    informed: InformedRule, order: tuple[int, ...], i: int, table: Floats
) -> None:
    """Keep the bound of another opponent, so that factors are negative: a fault."""
    low = informed.rule.state.residual_low
    low[:] = low.max(axis=1, keepdims=True)


class _AheadMean(PredictedMean):
    """The fault: the prediction of a row is its value."""

    def update(self, row: int, value: float) -> None:
        self._predicted = self._predicted.copy()
        self._predicted[row] = value
        super().update(row, value)


class _EndlessMean(PredictedMean):
    """The fault: the mean of the rows left is taken for that of the list."""

    def update(self, row: int, value: float) -> None:
        total = self.total
        # The bets then do not know what the rows so far leave for the others.
        self.total = self.count * float(self._points[0, 0])
        super().update(row, value)
        self.total = total + value


class _OneSidedMean(PredictedMean):
    """The fault: each of the two sides has the whole level."""

    @property
    def threshold(self) -> float:
        return 1.0 / self.level


class KnownAnswers(Extension, name="known", expected="holds"):
    """Error probability and wealth of a race, and of a mean, with answers on file and history.

    All orders of two lists of 5 rows with three candidates are computed; the answers of two rows,
    or of one candidate, are known beforehand. The mean is that of each candidate in turn.

    Title: Answers on file and history keep the guarantee
    Source: our sections 8 and 9 (docs/theory/race.md)
    Statement: With known cells and predictions from history, fixed before the order is drawn, the
        wealth against a best candidate, and against the true mean of a column, has expectation at
        most 1, and the error is at most the level.
    Meaning: Known answers cost no call, and old results make the evidence sharper, without any
        assumption on them.
    Limits: Passes if the error probability is at most the level, at two levels, the expected wealth
        of the bets against a best candidate and against a true mean is at most 1 + 1e-9, and the
        two sides of an interval spend the level once. Nothing is sampled.
    Alt: The expected wealth is at most 1.
    """

    orders: Orders = component(all_orders)
    before: _Before = component(lambda *_: None)
    # From history, level, hypothesised means and schedule of fits to the bets on a mean.
    mean: Callable[..., PredictedMean] = component(PredictedMean)

    def units(self, *, full: bool) -> list[Unit]:
        return grid(
            part=("race", "mean"), pool=("best by one row", "tie"), case=range(4 if full else 2)
        )

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        table = np.array(_POOLS[unit["pool"]])
        # The case is fixed: the statement is exact on each, so that no seed is needed.
        generator = np.random.default_rng(unit["case"])
        history = np.clip(table[:, :2] + generator.normal(0.0, 0.2, (len(table), 2)), 0.0, 1.0)
        known = np.full(table.shape, np.nan)
        known[:2] = table[:2]
        if unit["case"] % 2:
            known[:, 1] = table[:, 1]
        run = self._race if unit["part"] == "race" else self._mean
        for level in (1e-9, 0.5):
            yield {**unit, "level": level, **run(table, SideInformation(known, history), level)}

    def _race(self, table: Floats, side: SideInformation, level: float) -> Row:
        """Return error and expected wealth of the race for the best."""
        totals = table.sum(axis=0)
        rule = Best(3, len(table), len(table), level)
        # Short lists need more frequent fits than a race makes: one after every row.
        informed = InformedRule(rule, side, lambda n: n + 1)
        wrong = []
        wealth = []
        for order in self.orders(len(table)):
            informed.reset()
            for i, row in enumerate(order):
                if not rule.done:
                    self.before(informed, order, i, table)
                    informed.update(row, table[row].copy())
            # Negative wealth counts as 0: a bettor who may stop at 0 would gain from it.
            wealth.append(np.maximum(rule.state.wealth, 0.0).sum(axis=1))
            wrong.append(rule.is_wrong(totals))
        return {
            **_mean_errors(totals, wrong, wealth),
            "spent": float(1.0 / rule.state.threshold / level),
        }

    def _mean(self, table: Floats, side: SideInformation, level: float) -> Row:
        """Return error and expected wealth of the interval of a mean, the worst column of three."""
        error = expected = spent = 0.0
        for column in table.T:
            wrong = []
            wealth = []
            for order in self.orders(len(table)):
                # One fit after every row, as in the race.
                points = [float(column.mean())]
                sequence = self.mean(side.history, level, points, lambda n: n + 1)
                for row in order:
                    sequence.update(row, float(column[row]))
                    wealth.append(np.maximum(sequence.wealth[:, 0], 0.0))
                wrong.append(bool((sequence.max_wealth >= sequence.threshold).any()))
            by_row = np.reshape(wealth, (len(wrong), len(table), 2))
            error = max(error, float(np.mean(wrong)))
            expected = max(expected, float(by_row.mean(axis=0).max()))
            spent = 2.0 / sequence.threshold / level
        return {"error": error, "wealth": expected, "spent": spent}

    def verdict(self, rows: Rows) -> Verdict:
        wealth = max(row["wealth"] for row in rows)
        right = all(row["error"] <= row["level"] for row in rows)
        spent = max(row["spent"] for row in rows)
        measured = (
            f"error at most the level: {right}; largest expected wealth {wealth:.9f}, "
            f"{len(rows)} cases; thresholds spend {spent:.2f} of the level"
        )
        statement = "P(wrong answer) ≤ level, E wealth ≤ 1"
        checks = [exact(right), exact(wealth <= 1.0 + 1e-9), exact(spent <= 1.0 + 1e-9)]
        return self.verdict_from(checks, measured, statement)

    def chart(self, rows: Rows) -> Chart:
        bands = [
            exact_column(rows, f"{part}, {pool}", "case", "wealth", part=part, pool=pool, level=0.5)
            for part in ("race", "mean")
            for pool in ("best by one row", "tie")
            if matching(rows, part=part, pool=pool)
        ]
        lines = reference_lines([0, 1], {"1": lambda _: 1.0})
        return self.make_chart(
            "expected wealth against a best candidate or a mean, exact", bands, lines,
            x_label="case", log="",
        )  # fmt: skip

    def faults(self) -> dict[str, Overrides]:
        return {
            "mean over all rows": {"before": _mean_over_all_rows},
            "range ignored": {"before": _range_ignored},
            "current row in the fit": {"before": _current_row_in_fit},
            "mean over rows answered ahead": {"before": _mean_over_rows_ahead},
            "bound of an earlier opponent": {"before": _bound_of_earlier_opponent},
            "mean: present row predicted by its value": {"mean": _AheadMean},
            "mean: rows so far forgotten": {"mean": _EndlessMean},
            "mean: each side at the whole level": {"mean": _OneSidedMean},
            "known rows first": {
                "orders": lambda rows: [
                    order for order in all_orders(rows) if {*order[:2]} == {0, 1}
                ]
            },
        }
