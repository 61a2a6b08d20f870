"""Audit: sequential tests of several statements about one list, on the same rows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from tombola import _validate
from tombola._formatting import plural
from tombola._types import Floats
from tombola.errors import ParameterError
from tombola.evidence.audit_statement import Batch, Inequality, Statement
from tombola.evidence.betting import Betting
from tombola.evidence.e_process import EProcess
from tombola.evidence.predicted_mean import PredictedMean
from tombola.evidence.sequences import StratifiedMean

# Outcome of the test of one statement.
Outcome = Literal["proved", "refuted", "undecided"]

# Rows per update of the simulated audits in `sample_size`, which stops after the update that decides all
# of them.
_PLAN_BATCH = 500


class AuditResult(NamedTuple):
    """Result of the test of one statement.

    rows: number of rows at which the outcome was reached; if undecided, the rows so far.
    p_value: P(evidence as strong as this), at most, if the outcome is wrong; 1 if undecided, 0 if
        certain. It is not the probability that this outcome is wrong: that is at most the level.
    mean, deviation: sample mean and standard deviation of single rows, in the units of the
        statement. The deviation is nan for a list in strata.
    """

    statement: str
    outcome: Outcome
    rows: int
    p_value: float
    mean: float
    deviation: float = math.nan

    def __str__(self) -> str:
        if self.outcome == "undecided":
            return f"{self.statement}: undecided after {plural(self.rows, 'row')}"
        return f"{self.statement}: {self.outcome} after {plural(self.rows, 'row')}; {self.p_value_text}"

    @property
    def p_value_text(self) -> str:
        """The p-value as text: "certain" for 0, "-" while undecided."""
        if self.outcome == "undecided":
            return "-"
        return "certain" if self.p_value == 0 else f"p-value at most {self.p_value:.2g}"


class _InequalityTest:
    """Test one inequality about a mean by two e-processes.

    One bets against the negation (its refutation is a proof), one against the inequality itself.
    """

    def __init__(
        self, inequality: Inequality, population: float, proof_level: float, refutation_level: float
    ) -> None:
        self.inequality = inequality
        self.population = population
        self.total = 0.0
        self.squares = 0.0
        self.rows = 0
        self._negation = _e_process(
            inequality.threshold, population, proof_level, at_most=inequality.above
        )
        self._itself = _e_process(
            inequality.threshold, population, refutation_level, at_most=not inequality.above
        )

    def extend(self, values: Floats, strata: Any) -> None:
        """Add values in [0, 1], shape (n,); `strata` is ignored."""
        self._negation.extend(values)
        self._itself.extend(values)
        self.total += float(values.sum())
        self.squares += float((values * values).sum())
        self.rows += values.size

    @property
    def mean(self) -> float:
        return self.total / self.rows if self.rows else math.nan

    @property
    def deviation(self) -> float:
        return (
            math.sqrt(max(self.squares / self.rows - self.mean * self.mean, 0.0))
            if self.rows
            else math.nan
        )

    def decision(self, *, holds: bool) -> tuple[int, float]:
        """Return the row of the proof (of the refutation, if not `holds`), and its p-value; row 0: undecided."""
        rows, wealth = self._evidence(proof=holds)
        # The whole list was read: the mean is known, and corrects evidence that was wrong.
        if self.rows == self.population:
            is_true = self.inequality.holds(self.mean, self.rows)
            return (rows or self.rows, 0.0) if is_true is holds else (0, 1.0)
        return rows, 0.0 if math.isinf(wealth) else 1.0 / wealth

    def _evidence(self, *, proof: bool) -> tuple[int, float]:
        """Return the row of the decision, 0 if undecided, and the largest wealth."""
        process = self._negation if proof else self._itself
        return int(process.rows[0]), float(process.wealth[0])


class _PredictedInequalityTest(_InequalityTest):
    """Test one inequality on a list with history, sharper by `PredictedMean`."""

    def __init__(
        self, inequality: Inequality, history: Floats, proof_level: float, refutation_level: float
    ) -> None:
        self.inequality = inequality
        self.population = len(history)
        self.total = 0.0
        self.squares = 0.0
        self.rows = 0
        self._mean = PredictedMean(history, points=[inequality.threshold])
        # Side 0 of `PredictedMean` bets against "at most", side 1 against "at least".
        sides = (
            (proof_level, refutation_level) if inequality.above else (refutation_level, proof_level)
        )
        self._thresholds = [1.0 / level for level in sides]
        self._decided_at = [0, 0]

    def extend(self, values: Floats, places: Any) -> None:
        for place, value in zip(places, values.tolist(), strict=True):
            self._mean.update(place, value)
            self.total = self.total + value
            self.squares = self.squares + value * value
            self.rows = self.rows + 1
            for side, threshold in enumerate(self._thresholds):
                if not self._decided_at[side] and self._mean.max_wealth[side, 0] >= threshold:
                    self._decided_at[side] = self.rows

    def _evidence(self, *, proof: bool) -> tuple[int, float]:
        side = 0 if proof is self.inequality.above else 1
        return self._decided_at[side], float(self._mean.max_wealth[side, 0])


class _StratifiedInequalityTest:
    """Test one inequality by the confidence sequence of a stratified mean."""

    def __init__(self, inequality: Inequality, sizes: Mapping[str, int], level: float) -> None:
        self.inequality = inequality
        self.rows = 0
        self.deviation = math.nan
        self._total = 0.0
        self._population = sum(sizes.values())
        self._strata = StratifiedMean(sizes, level)
        self._level = level
        # Rows of the proof, and of the refutation; 0: undecided.
        self._decided_at = {True: 0, False: 0}

    def extend(self, values: Floats, strata: Any) -> None:
        self._strata.extend(values, strata)
        self.rows += values.size
        self._total += float(values.sum())
        low, high = self._strata.interval()
        # The ends are sums of rounded numbers.
        rounding = self.inequality.rounding(self._population)
        is_above = low > self.inequality.threshold + rounding
        is_below = high < self.inequality.threshold - rounding
        holds = is_above if self.inequality.above else is_below
        fails = is_below if self.inequality.above else is_above
        for outcome, is_decided in ((True, holds), (False, fails)):
            if is_decided and not self._decided_at[outcome]:
                self._decided_at[outcome] = self.rows

    def decision(self, *, holds: bool) -> tuple[int, float]:
        # The whole list was read: the mean is known, and corrects evidence that was wrong.
        if self.rows == self._population:
            is_true = self.inequality.holds(self._total / self.rows, self.rows)
            rows = self._decided_at[holds] or self.rows
            return (rows, 0.0) if is_true is holds else (0, 1.0)
        return self._decided_at[holds], self._level

    @property
    def mean(self) -> float:
        return self._strata.mean


class Audit:
    """Test statements about a list sequentially, sampled in random order.

    population: number of rows of the list; None if `strata` has the sizes.
    level: error probability of all outcomes together.
    strata: number of rows of each stratum (group that is sampled on its own), by name; None: one
        list.
    history: numbers known of every row, shape (rows, h); predictions from them make the tests
        sharper (`PredictedMean`). None: no history.

    With probability 1 - level no outcome is ever wrong, at any number of rows: each statement has
    its share of the level. A statement is one inequality, or two for a difference. It is proved
    when all are proved, each at the full share. It is refuted when one of them is refuted, so these
    divide the share. Add rows by `extend`; `results` has the outcomes.

    >>> from tombola.evidence import parse_statement
    >>> statements = [parse_statement("mean(score) > 0.5"), parse_statement("share(ok = yes) >= 0.9")]
    >>> audit = Audit(statements, population=1000)
    >>> audit.extend({"score": [0.7, 0.8] * 30, "ok": ["yes", "no"] * 30})
    >>> for result in audit.results():
    ...     print(result)
    mean(score) > 0.5: proved after ... rows; p-value at most ...
    share(ok = yes) >= 0.9: refuted after ... rows; p-value at most ...
    """

    def __init__(
        self,
        statements: Sequence[Statement],
        population: float | None = None,
        level: float = 0.05,
        *,
        strata: Mapping[str, int] | None = None,
        history: Any = None,
    ) -> None:
        if not statements:
            raise ParameterError(
                "Audit: expected at least one statement, got none; write for example "
                "parse_statement(...)."
            )
        if (population is None) == (strata is None):
            raise ParameterError(
                "Audit: expected the size of the list, or the sizes of its strata, got both or "
                "neither; write "
                "population=1000, or strata={'north': 400, 'south': 600}."
            )
        share = _validate.real("Audit", "level", level, above=0, below=1) / len(statements)
        self.statements = tuple(statements)
        self.level = level
        self.population = float(population if strata is None else sum(strata.values()))  # type: ignore[arg-type]
        if history is not None and len(history) != self.population:
            raise ParameterError(
                f"Audit: history must have the {self.population:,.0f} rows of the list, got "
                f"{len(history):,}; add one "
                "line for each row."
            )

        def test(inequality: Inequality, parts: int) -> _InequalityTest | _StratifiedInequalityTest:
            if strata:
                return _StratifiedInequalityTest(inequality, strata, share / parts)
            if history is not None:
                return _PredictedInequalityTest(
                    inequality, np.asarray(history, float), share, share / parts
                )
            return _InequalityTest(inequality, self.population, share, share / parts)

        self._tests = [
            [test(inequality, len(statement.inequalities)) for inequality in statement.inequalities]
            for statement in statements
        ]

    def extend(self, rows: Batch, strata: Any = None) -> None:
        """Add rows, as columns of cells by name; if one is invalid, none is added.

        strata: for a list in strata, the name of the stratum of each row; for a list with history,
            the index of each row in the history; else None.
        """
        values = [(test, test.inequality.values(rows)) for tests in self._tests for test in tests]
        sizes = {column.size for _, column in values}
        if len(sizes) > 1:
            raise ParameterError(
                f"Audit: expected as many cells in every column, got {min(sizes)} and "
                f"{max(sizes)}; give whole rows."
            )
        for test, column in values:
            test.extend(column, strata)

    def results(self) -> list[AuditResult]:
        """Return the result of every statement for the rows so far, in their order."""
        return [
            _result(statement.text, tests)
            for statement, tests in zip(self.statements, self._tests, strict=True)
        ]


def _e_process(
    mean: float, population: float, level: float, *, at_most: bool, actions: int = 1
) -> EProcess:
    hypothesis = {"at_most" if at_most else "at_least": mean}
    return EProcess(**hypothesis, population=population, level=level, actions=actions)


def _result(text: str, tests: Sequence[_InequalityTest | _StratifiedInequalityTest]) -> AuditResult:
    first = tests[0]
    sample = first.inequality.to_units(first.mean), first.deviation * first.inequality.unit
    refutations = [decision for test in tests if (decision := test.decision(holds=False))[0]]
    if refutations:
        rows, p_value = min(refutations)
        return AuditResult(text, "refuted", rows, min(1.0, p_value * len(tests)), *sample)
    rows_of_proofs, p_values = zip(*(test.decision(holds=True) for test in tests), strict=True)
    if all(rows_of_proofs):
        return AuditResult(text, "proved", max(rows_of_proofs), max(p_values), *sample)
    return AuditResult(text, "undecided", first.rows, 1.0, *sample)


class SampleSize(NamedTuple):
    """Rows after which half, and 90 %, of the simulated audits have their outcome."""

    median: int
    percentile_90: int


def sample_size(
    threshold: float,
    mean: float,
    *,
    population: int,
    deviation: float | None = None,
    level: float = 0.05,
    shuffles: int = 200,
    seed: int,
) -> SampleSize:
    """Estimate the rows that a proof or refutation about a mean needs, by simulation.

    A simulated audit that stays undecided counts with all rows of the list.

    threshold, mean: the number that the mean is compared with, and the assumed mean of the list, in
        [0, 1].
    population: the number of rows of the list.
    deviation: the standard deviation of rows; None: the largest possible one, that of rows 0 and 1.
    shuffles: the number of simulated audits.

    >>> sample_size(0.5, 0.8, population=20_000, seed=0)
    SampleSize(median=..., percentile_90=...)
    """
    rng = np.random.default_rng(_validate.seed_sequence("sample_size", seed))
    values = _typical_values(
        _validate.real("sample_size", "mean", mean, least=0, most=1), deviation, population
    )
    # One action per shuffle: all simulated audits run in one compiled call.
    process = _e_process(threshold, population, level, at_most=mean > threshold, actions=shuffles)
    table = np.column_stack([rng.permutation(values) for _ in range(shuffles)])
    for start in range(0, population, _PLAN_BATCH):
        process.extend(table[start : start + _PLAN_BATCH])
        if process.refuted.all():
            break
    needed = np.where(process.refuted, process.rows, population)
    return SampleSize(int(np.quantile(needed, 0.5)), int(np.quantile(needed, 0.9)))


def _typical_values(mean: float, deviation: float | None, rows: int) -> Floats:
    """Return values with this mean and deviation: 0, 1 and the mean itself."""
    largest = mean * (1 - mean)
    share = 1.0 if deviation is None or not largest else min(1.0, deviation * deviation / largest)
    values = np.full(rows, mean)
    extreme = round(share * rows)
    values[:extreme] = np.arange(extreme) < round(mean * extreme)
    return values


class Point(NamedTuple):
    """Running mean and its interval after some rows, in the units of the statement."""

    rows: int
    mean: float
    low: float
    high: float


class RunningMean:
    """Sample mean of the quantity in a statement, with its interval, for a chart.

    Parameters as in `Audit`. All numbers are in the units of the statement. `extend` appends to the
    list `points`; the intervals hold at all of them simultaneously with probability 1 - level.

    >>> from tombola.evidence import parse_statement
    >>> running = RunningMean(parse_statement("|mean(a) - mean(b)| <= 0.1"), population=1000)
    >>> running.extend({"a": [0.4] * 50, "b": [0.4] * 50})
    >>> running.thresholds, [round(x, 2) for x in running.points[-1]][2:]
    ((0.1, -0.1), [-0.11, 0.11])
    """

    def __init__(
        self,
        statement: Statement,
        population: float | None = None,
        level: float = 0.05,
        *,
        strata: Mapping[str, int] | None = None,
    ) -> None:
        self.statement = statement
        self.points: list[Point] = []
        self._sequence = (
            StratifiedMean(strata, level)
            if strata
            else Betting(population=population or 0, level=level)
        )

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The threshold of each inequality, in the statement's units."""
        return tuple(
            round(inequality.to_units(inequality.threshold), 12)
            for inequality in self.statement.inequalities
        )

    def extend(self, rows: Batch, strata: Any = None) -> None:
        """Add rows, and append the new mean and interval to `points`.

        Parameters as of `Audit.extend`.
        """
        inequality = self.statement.inequalities[0]
        values = inequality.values(rows)
        before = self.points[-1].rows if self.points else 0
        if isinstance(self._sequence, StratifiedMean):
            self._sequence.extend(values, strata)
            mean = self._sequence.mean
        else:
            self._sequence.extend(values)
            mean = float(self._sequence.means[0])
        units = (inequality.to_units(x) for x in (mean, *self._sequence.interval()))
        self.points.append(Point(before + len(values), *units))
