"""Claims about random answers (docs/theory/random_answers.md), enumerated.

Lists of two and three rows. A candidate succeeds on a row with a probability in thirds; all draws
of rows and all answers are enumerated. The wealth is a function of draws and answers only, so it is
computed once for every sequence, and its expectation for every list.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from tombola._types import Floats, Seed
from tombola.engine.compiler import expected_rounds
from tombola.evidence.finished_runs import group_runs, pass_wealth
from tombola.paper.base import Extension, Overrides, Unit, Verdict, component, grid
from tombola.paper.curves import exact_band
from tombola.paper.pvalues import ROUNDING, exact
from tombola.paper.rows import Row, Rows
from tombola.paper.source_faults import SourceFault
from tombola.racing.fresh_answers import FreshAnswers
from tombola.racing.rules.best import Best
from tombola.racing.rules.once_each import STOPPING_FACTOR, OnceEach
from tombola.racing.side_information import SideInformation
from tombola.report.chart import Chart

# Success probabilities of a candidate on a row.
_THIRDS = np.array([0.0, 1 / 3, 2 / 3, 1.0])
# Answers of two candidates to a row, as losses.
_ANSWERS = np.array([(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
# Rounds of the enumeration of rows drawn with replacement, by the number of rows.
_ROUNDS = {2: 3, 3: 3}
# Level of rules that must not drop a candidate while their wealth is measured.
_NEVER = 1e-12
# Largest mean differences under the null hypothesis.
_SHIFTS = (-0.5, 0.0, 0.25)


@cache
def _lists(rows: int) -> Floats:
    """Return expected losses of two candidates on all lists, shape (lists, rows, 2)."""
    kinds = list(itertools.product(1.0 - _THIRDS, repeat=2))
    return np.array(list(itertools.combinations_with_replacement(kinds, rows)))


def _answer_probabilities(means: Floats) -> Floats:
    """Return the probability of each of `_ANSWERS`; means (.., 2) to (.., 4)."""
    a = means[..., :1]
    b = means[..., 1:]
    return np.concatenate([(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b], axis=-1)


def _refit_always(n: int) -> int:
    """Predict anew after every round, so that short sequences have predictions."""
    return n + 1


class _PresentAnswer(FreshAnswers):
    """The fault: the answer of the round is in its own prediction."""

    def update(self, row: int, losses: Floats) -> None:
        self._add_deviations(row, losses, np.arange(2))
        self._predict(self._prior())
        super().update(row, losses)


class _RowsLeft(FreshAnswers):
    """The fault: the mean prediction of the rows not drawn, with predictions for which it pays."""

    def _predict(self, prior: Floats) -> None:
        super()._predict(prior)
        predicted = -np.asarray(self.predicted)
        self.predicted = predicted
        state = self.rule.state
        left = [row for row in range(len(predicted)) if row not in self._drawn]
        state.predicted_mean[:] = predicted[left].sum(axis=0) / max(1, len(left))
        for b in range(2):
            largest = (predicted[:, [b]] - predicted).max(axis=0)
            state.residual_low[b] = -1.0 - largest


class RandomAnswers(Extension, name="random-answers", expected="holds"):
    """Expected wealth of a race on rows drawn with replacement, over all draws and answers.

    Title: Rows drawn with replacement keep a race valid for random answers
    Source: our Theorem R1 (docs/theory/random_answers.md)
    Statement: Rows are drawn with replacement and called afresh. The wealth against a candidate
        with the smallest expected mean loss has expectation at most 1, also with predictions from
        earlier answers to the row. The wealth for recorded answers does not: it exceeds 1.
    Meaning: An agent that answers differently each time can be raced; the statement is about its
        expected answers on this list.
    Limits: Passes if the expected wealth is at most 1 + 1e-9 on every list of two and three rows
        with success probabilities in thirds, no factor is negative, and the wealth for recorded
        answers reaches 1.2. Nothing is sampled.
    Alt: The largest expected wealth is 1 with fresh rows, and above 1 for recorded answers.
    """

    population: Callable[[int], float] = component(lambda _: math.inf)
    runner: type[FreshAnswers] = component(FreshAnswers)

    def units(self, *, full: bool) -> list[Unit]:
        return [
            *grid(case=("fresh rows", "fresh rows, predictions"), rows=(2, 3)),
            *grid(case="recorded answers", rows=(2, 3)),
        ]

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        rows = unit["rows"]
        once = unit["case"] == "recorded answers"
        rounds = rows if once else _ROUNDS[rows]
        draws = (
            itertools.permutations(range(rows))
            if once
            else itertools.product(range(rows), repeat=rounds)
        )
        means = _lists(rows)
        chances = _answer_probabilities(means)
        expected = np.zeros((len(means), 2))
        least = math.inf
        count = 0
        with expected_rounds(0.0, 1):
            for drawn in draws:
                count += 1
                for chosen in itertools.product(range(4), repeat=rounds):
                    wealth = self._wealth(unit["case"], rows, drawn, _ANSWERS[list(chosen)])
                    least = min(least, float(wealth.min()))
                    probability = np.prod(
                        [
                            chances[:, row, answer]
                            for row, answer in zip(drawn, chosen, strict=True)
                        ],
                        axis=0,
                    )
                    expected += probability[:, None] * wealth
        expected /= count
        totals = means.sum(axis=1)
        best = totals <= totals.min(axis=1, keepdims=True) + ROUNDING
        yield {**unit, "wealth": float(expected[best].max()), "least": least, "lists": len(means)}

    def _wealth(self, case: str, rows: int, drawn: tuple[int, ...], answers: Floats) -> Floats:
        """Return the wealth against both candidates after a sequence of rounds."""
        if case == "recorded answers":
            rule = Best(2, rows, rows, _NEVER)
            for losses in answers:
                rule.update(losses)
            return np.asarray(rule.state.wealth.sum(axis=1))
        rule = Best(2, len(drawn) + 1, self.population(rows), _NEVER)
        if case == "fresh rows":
            for losses in answers:
                rule.update(losses)
        else:
            nothing = SideInformation(np.full((rows, 2), math.nan), np.zeros((rows, 0)))
            runner = self.runner(rule, nothing, _refit_always)
            for row, losses in zip(drawn, answers, strict=True):
                runner.update(row, losses)
        return np.asarray(rule.state.wealth.sum(axis=1))

    def verdict(self, rows: Rows) -> Verdict:
        fresh = [row for row in rows if row["case"] != "recorded answers"]
        recorded = max(row["wealth"] for row in rows if row["case"] == "recorded answers")
        worst = max(row["wealth"] for row in fresh)
        least = min(row["least"] for row in fresh)
        lists = sum(row["lists"] for row in fresh)
        measured = (
            f"largest expected wealth {worst:.4f} with fresh rows, on {lists:,} lists; "
            f"{recorded:.2f} for recorded answers, read as expected ones"
        )
        checks = [worst <= 1.0 + ROUNDING, least >= 0.0, recorded >= 1.2]
        return self.verdict_from(map(exact, checks), measured, "E[wealth] ≤ 1")

    def chart(self, rows: Rows) -> Chart:
        return _by_rows(self, rows, "largest expected wealth", "wealth")

    def faults(self) -> dict[str, Overrides]:
        return {
            "the list runs out": {"population": lambda rows: rows + 3},
            "present answer in the prediction": {"runner": _PresentAnswer},
            "mean prediction of rows not drawn": {"runner": _RowsLeft},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        return {
            "prediction without its mean": SourceFault(
                "racing.fresh_answers:FreshAnswers.update",
                "state.predicted_mean - self.predicted[row]",
                "-self.predicted[row]",
            ),
        }


def _by_rows(claim: Extension, rows: Rows, label: str, column: str) -> Chart:
    """Return a chart of one exact column over the number of rows, a curve per case."""
    cases = dict.fromkeys(row["case"] for row in rows)
    bands = []
    for case in cases:
        at = [row for row in rows if row["case"] == case]
        x = sorted({float(row["rows"]) for row in at})
        y = [max(row[column] for row in at if row["rows"] == value) for value in x]
        bands.append(exact_band(case, np.array(x), np.array(y)))
    return claim.make_chart(label, bands, x_label="rows of the list", log="")


def _one_bet(differences: Floats, shift: float, bet: float) -> Floats:
    """Return the product of 1 + bet (d - shift) over passes and rows."""
    return np.asarray(np.prod(1.0 + bet * (differences - shift), axis=(0, 1)))


def _sorted_runs(runs: Floats) -> Floats:
    """The fault: the runs of each cell sorted by their answers."""
    return np.sort(runs, axis=-1)


def _all_runs(runs: Floats) -> Floats:
    """The fault: every run that exists is a factor; a missing one is no difference."""
    return np.moveaxis(np.nan_to_num(runs, nan=0.0), -1, 0)


class Passes(Extension, name="passes", expected="holds"):
    """Expected wealth of finished runs, over all answers.

    Title: Whole passes over a list give evidence on expected answers, in any order
    Source: our Theorem R2 (docs/theory/random_answers.md)
    Statement: Every row is answered in each of R passes. Under "the mean expected difference is at
        most s" the wealth has expectation at most 1 after every pass, also where a look decides to
        stop, with predictions from earlier passes, with uneven numbers of runs in groups, and with
        one factor per pass if the answers of a pass have a common cause.
    Meaning: A finished table of model, question, run and score can be ranked without random order.
    Limits: Passes if the expected wealth is at most 1 + 1e-9 after each of two passes, on every list
        of two and three rows with success probabilities in thirds, for three values of s; if one
        stops after the first pass where its wealth is at least 1; for runs of uneven number; for
        answers with a common cause; and if the runs of each cell are taken in their order. Nothing
        is sampled.
    Alt: The largest expected wealth is at most 1 in every case.
    """

    wealth: Callable[..., Floats] = component(pass_wealth)
    group: Callable[[Floats], Floats] = component(group_runs)
    arrange: Callable[[Floats], Floats] = component(lambda runs: runs)
    run_effects: bool = True
    # Number of passes that bets are planned for, at a look after one pass of two.
    planned: int | None = 2

    def units(self, *, full: bool) -> list[Unit]:
        return [
            *grid(case="two passes", rows=(2, 3)),
            *grid(case="a look after each pass", rows=(2, 3)),
            *grid(case=("uneven runs", "common cause", "order of runs"), rows=2),
        ]

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        cases: dict[str, Callable[[int], float]] = {
            "two passes": self._two_passes,
            "a look after each pass": self._stopped,
            "uneven runs": self._uneven_runs,
            "common cause": self._common_cause,
            "order of runs": self._order_of_runs,
        }
        yield {**unit, "wealth": cases[unit["case"]](unit["rows"])}

    def _two_passes(self, rows: int) -> float:
        """Return the largest expected wealth after one or two passes, over all lists."""
        return self._largest(rows, self.wealth)

    def _stopped(self, rows: int) -> float:
        """Return that at a stop after the first pass if its wealth is at least 1, else at the end."""

        def at_the_stop(differences: Floats, shift: float, **options: Any) -> Floats:
            first = self.wealth(differences[:1], shift, planned=self.planned, **options)[-1]
            last = self.wealth(differences, shift, planned=self.planned, **options)[-1]
            return np.asarray(np.where(first >= 1.0, first, last)[None])

        return self._largest(rows, at_the_stop)

    def _largest(self, rows: int, wealth_of: Callable[..., Floats]) -> float:
        """Return the largest expected wealth over all lists, shifts and levels."""
        outcomes = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=2 * rows)))
        differences = np.moveaxis(outcomes.reshape(-1, 2, rows), 0, -1)
        means = _lists(rows)
        chances = _answer_probabilities(means)
        law = np.stack([chances[..., 1], chances[..., 0] + chances[..., 3], chances[..., 2]], -1)
        digits = (outcomes + 1).astype(int)
        mean_difference = (means[..., 0] - means[..., 1]).mean(axis=1)
        worst = 0.0
        for shift in _SHIFTS:
            # Two looks: at a larger level the bets differ, and are more careful.
            for level in (0.05, 0.9):
                # A negative factor has no logarithm: the limit of the bet was exceeded.
                with np.errstate(invalid="ignore"):
                    wealth = np.nan_to_num(wealth_of(differences, shift, level=level), nan=1e6)
                for at in np.flatnonzero(mean_difference <= shift + ROUNDING):
                    probability = np.ones(len(outcomes))
                    for column in range(2 * rows):
                        probability = probability * law[at, column % rows, digits[:, column]]
                    worst = max(worst, float((wealth @ probability).max()))
        return worst

    def _uneven_runs(self, rows: int) -> float:
        """Two runs of a row that is lost, one of a row that is won: D = 0, no noise."""
        del rows
        runs = self.group(np.array([[1.0, 1.0], [-1.0, math.nan]]))
        return float(self.wealth(runs, 0.0, level=0.99).max())

    def _common_cause(self, rows: int) -> float:
        """All rows of a pass are won, or all are lost, with probability 1/2."""
        options: dict[str, Any] = {"run_effects": True} if self.run_effects else {}
        wealth = [
            self.wealth(np.outer(signs, np.ones(rows)), 0.0, level=0.9, **options)[-1]
            for signs in itertools.product((-1.0, 1.0), repeat=2)
        ]
        return float(np.mean(wealth))

    def _order_of_runs(self, rows: int) -> float:
        """Two candidates, right with probability 1/2; answers in the order of the runs."""
        wealth = []
        for answers in itertools.product((0.0, 1.0), repeat=4 * rows):
            runs = self.arrange(np.array(answers).reshape(rows, 2, 2))
            passes = group_runs(runs)
            wealth.append(self.wealth(passes[..., 0] - passes[..., 1], 0.0, level=0.9)[-1])
        return float(np.mean(wealth))

    def verdict(self, rows: Rows) -> Verdict:
        worst = {row["case"]: 0.0 for row in rows}
        for row in rows:
            worst[row["case"]] = max(worst[row["case"]], row["wealth"])
        shares = ", ".join(f"{case} {value:.4f}" for case, value in worst.items())
        holds = max(worst.values()) <= 1.0 + ROUNDING
        return self.verdict_from(
            [exact(holds)], f"largest expected wealth: {shares}", "E[wealth] ≤ 1"
        )

    def chart(self, rows: Rows) -> Chart:
        return _by_rows(self, rows, "largest expected wealth", "wealth")

    def faults(self) -> dict[str, Overrides]:
        return {
            "product over uneven runs": {"group": _all_runs},
            "rows of a run as independent": {"run_effects": False},
            "runs sorted by score": {"arrange": _sorted_runs},
            "bet changes within a pass": {"wealth": _changing_bet},
            "bets of the first pass change with the look": {"planned": None},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        return {
            "predictions from the same pass": SourceFault(
                "evidence.finished_runs:PassBets.__init__",
                "differences[:r]",
                "differences[: r + 1]",
            ),
            "limit of the bet without predictions": SourceFault(
                "evidence.finished_runs:_log_wealth", "1.0 + shift + bets.reach", "1.0 + shift"
            ),
        }


def _changing_bet(differences: Floats, shift: float, **options: Any) -> Floats:
    """The fault: no bet on the first row of a pass, a bet on the others."""
    wealth = pass_wealth(differences, shift, **options)
    if differences.shape[1] > 1:
        wealth = pass_wealth(differences[:, 1:], shift, **options)
    return wealth


class OnceEachClaim(Extension, name="once-each", expected="holds"):
    """Stopping times without replacement, over all orders and answers.

    Title: Each row called once: constant bets need the factor 1.785
    Source: our Theorem R5 (docs/theory/random_answers.md)
    Statement: Rows in random order, each called once, answers random, bets constant. At every
        stopping time the expected wealth is at most 1.785, so dropping at 1.785/level keeps the
        level at all looks. At 1/level it does not: two rows are dropped wrongly with probability
        9/16 at level 1/2.
    Meaning: A race already played, or one whose rows can be called once only, may be read as a
        statement about expected answers.
    Limits: Passes if on all lists of two to five rows with expected factors on a grid the largest
        expected wealth at a stopping time is at most the factor; if the rule drops a best candidate
        with probability at most the level on every list of two and three rows in quarters; and if
        1/level fails with 9/16. Nothing is sampled.
    Alt: The expected wealth at the best stopping time stays below 1.785.
    """

    factor: float = STOPPING_FACTOR
    rule: Callable[..., OnceEach] = component(OnceEach)

    def units(self, *, full: bool) -> list[Unit]:
        return [
            *grid(case="stopping times", rows=(2, 3, 4, 5)),
            *grid(case="rule", rows=(2, 3)),
            *grid(case="at 1/level", rows=2),
        ]

    def run(self, unit: Unit, *, seed: Seed) -> Iterator[Row]:
        rows = unit["rows"]
        if unit["case"] == "stopping times":
            edges = np.arange(-4, 5) / 4.0
            lists = itertools.combinations_with_replacement(edges, rows)
            ratio = max(_best_stopping(tuple(1.0 + np.array(a))) for a in lists if sum(a) <= 0.0)
            yield {**unit, "ratio": ratio / self.factor}
        elif unit["case"] == "rule":
            for level in (0.2, 0.5, 0.556, 0.9):
                yield {**unit, "ratio": self._wrong_drop(rows, level) / level}
        else:
            yield {**unit, "ratio": _counterexample(self.factor / 0.5) / 0.5}

    def _wrong_drop(self, rows: int, level: float) -> float:
        """Return the largest P(a best candidate is dropped) over lists in quarters."""
        # Answers (1, 0), (0, 0) and (0, 1): candidate 0 is worse, equal, better.
        pairs = np.array([(1.0, 0.0), (0.0, 0.0), (0.0, 1.0)])
        quarters = [
            (up / 4, (4 - up - down) / 4, down / 4) for up in range(5) for down in range(5 - up)
        ]
        dropped = np.zeros((3,) * rows)
        with expected_rounds(0.0, 1):
            for chosen in itertools.product(range(3), repeat=rows):
                rule = self.rule(2, rows, math.inf, level)
                for answer in chosen:
                    if not rule.done:
                        rule.update(pairs[answer])
                dropped[chosen] = rule.state.active[0] == 0.0
        worst = 0.0
        for laws in itertools.combinations_with_replacement(quarters, rows):
            if sum(law[0] - law[2] for law in laws) > 0.0:
                continue
            chances = []
            for order in itertools.permutations(laws):
                probability = dropped
                for law in order:
                    probability = np.tensordot(np.array(law), probability, axes=(0, 0))
                chances.append(float(probability))
            worst = max(worst, float(np.mean(chances)))
        return worst

    def verdict(self, rows: Rows) -> Verdict:
        worst: dict[str, float] = {}
        for row in rows:
            worst[row["case"]] = max(worst.get(row["case"], 0.0), row["ratio"])
        without = _counterexample(2.0)
        measured = (
            f"largest expected wealth at a stopping time {worst['stopping times']:.3f} of the "
            f"factor; largest P(wrong drop) / level {max(worst['rule'], worst['at 1/level']):.3f}; "
            f"at 1/level P = {without:.4f} > 1/2"
        )
        checks = [max(worst.values()) <= 1.0 + ROUNDING, without == 9 / 16]
        return self.verdict_from(
            map(exact, checks), measured, "E[wealth at a stopping time] ≤ 1.785"
        )

    def chart(self, rows: Rows) -> Chart:
        return _by_rows(self, rows, "share of the bound", "ratio")

    def faults(self) -> dict[str, Overrides]:
        def at_twice_the_level(k: int, rows: int, population: float, level: float) -> OnceEach:
            return OnceEach(k, rows, population, min(0.999, 2.0 * level))

        return {
            "threshold 1/level": {"factor": 1.0},
            "rule at twice the level": {"rule": at_twice_the_level},
        }

    def source_faults(self) -> dict[str, SourceFault]:
        return {
            "rule drops at 1/level": SourceFault(
                "racing.rules.once_each:OnceEach.init",
                "STOPPING_FACTOR / self.level",
                "1 / self.level",
            )
        }


def _best_stopping(factors: tuple[float, ...]) -> float:
    """Return the largest expected wealth at a stopping time.

    factors: expected factors of the rows, at least 0. The wealth is a product, so the value of
    going on is the wealth times a number that depends on the rows left only.

    >>> _best_stopping((2.0, 0.0)), _best_stopping((1.5, 0.5))
    (1.0, 1.125)
    """
    if not factors:
        return 1.0
    going_on = [
        factors[i] * _best_stopping(factors[:i] + factors[i + 1 :]) for i in range(len(factors))
    ]
    return max(1.0, sum(going_on) / len(factors))


def _counterexample(threshold: float) -> float:
    """Return P(the wealth of bet 1 ever reaches a threshold) on two rows with D = 0.

    Row 1 has d = 1 with probability 3/4, else -1; row 2 has d = 0 with probability 1/2, else -1.
    """
    laws = ({1.0: 3 / 4, -1.0: 1 / 4}, {0.0: 1 / 2, -1.0: 1 / 2})
    reached = 0.0
    for first, second in itertools.permutations(laws):
        for (d, p), (e, q) in itertools.product(first.items(), second.items()):
            if max(1.0 + d, (1.0 + d) * (1.0 + e)) >= threshold:
                reached += p * q / 2.0
    return reached
