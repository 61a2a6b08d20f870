"""Audit: assertions about one list, checked together on its rows as they come."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from tombola import _validate
from tombola._types import Floats
from tombola.confidence.e_process import EProcess
from tombola.confidence.statement import Batch, Part, StatementTest
from tombola.confidence.strata import Strata
from tombola.errors import ParameterError

Settled = Literal["proved", "refuted", "open"]


class AuditResult(NamedTuple):
    """What an audit says of an assertion, after how many rows, and the mean so far, of a difference if it is about one.

    `probability` is the probability, at most, of so much evidence if the finding is wrong. `deviation` is that of single
    rows so far; nan where they come from strata.
    """

    assertion: str
    outcome: Settled
    rows: int
    probability: float
    mean: float
    deviation: float = math.nan

    def __str__(self) -> str:
        if self.outcome == "open":
            return f"{self.assertion}: open after {self.rows:,} rows"
        by_chance = "certain" if self.probability == 0 else f"wrong with probability {self.probability:.2g} at most"
        return f"{self.assertion}: {self.outcome} after {self.rows:,} rows; {by_chance}"


class Scale:
    """Weighs one part of an assertion: a bet against its contrary, and one against itself."""

    def __init__(self, part: Part, population: float, prove: float, refute: float) -> None:
        self.part, self.population, self.total, self.squares, self.rows = part, population, 0.0, 0.0, 0
        self._contrary = _against(part.threshold, population, prove, at_most=part.above)
        self._itself = _against(part.threshold, population, refute, at_most=not part.above)

    def extend(self, values: Floats, where: Any) -> None:
        """Take in values; it does not matter where they come from."""
        self._contrary.extend(values)
        self._itself.extend(values)
        self.total += float(values.sum())
        self.squares += float((values * values).sum())
        self.rows += values.size

    @property
    def mean(self) -> float:
        """The mean so far."""
        return self.total / self.rows if self.rows else math.nan

    @property
    def deviation(self) -> float:
        """The standard deviation so far."""
        return math.sqrt(max(self.squares / self.rows - self.mean * self.mean, 0.0)) if self.rows else math.nan

    @property
    def proved(self) -> tuple[int, float]:
        """After how many rows the part is proved (0: not yet), and the probability of as much evidence if it is wrong."""
        return self._settled(self._contrary, wanted=True)

    @property
    def refuted(self) -> tuple[int, float]:
        """The same for its being refuted."""
        return self._settled(self._itself, wanted=False)

    def _settled(self, bet: EProcess, *, wanted: bool) -> tuple[int, float]:
        rows, wealth = int(bet.rows[0]), float(bet.wealth[0])
        if not rows and self.rows == self.population:
            return (self.rows, 0.0) if self.part.holds(self.mean, self.rows) is wanted else (0, 1.0)
        return rows, 0.0 if math.isinf(wealth) else 1.0 / wealth


class StratifiedScale:
    """Weighs one part on a list in strata, by an interval for its mean."""

    def __init__(self, part: Part, sizes: Mapping[str, int], level: float) -> None:
        self.part, self.level, self.rows = part, level, 0
        self._strata = Strata(sizes, level)
        self._when = [0, 0]

    def extend(self, values: Floats, where: Any) -> None:
        """Take in values, with the stratum of each."""
        self._strata.extend(values, where)
        self.rows += values.size
        low, high = self._strata.interval()
        over, under = (low, high) if self.part.above else (-high, -low)
        line = self.part.threshold if self.part.above else -self.part.threshold
        if over > line and not self._when[0]:
            self._when[0] = self.rows
        if under < line and not self._when[1]:
            self._when[1] = self.rows

    @property
    def mean(self) -> float:
        """The mean so far, each stratum with its weight."""
        return self._strata.mean

    @property
    def deviation(self) -> float:
        """Not known: rows come from strata."""
        return math.nan

    @property
    def proved(self) -> tuple[int, float]:
        """After how many rows the part is proved (0: not yet), and the level."""
        return self._when[0], self.level

    @property
    def refuted(self) -> tuple[int, float]:
        """The same for its being refuted."""
        return self._when[1], self.level


class Audit:
    """Checks assertions about a list of `population` rows, drawn from it in random order.

    With probability 1 - level no finding is ever wrong, however often one looks: each assertion has its share of the
    level. All parts of a proved assertion were proved; one part that is refuted refutes it, so these share again.

    >>> from tombola.confidence import parse_statement
    >>> audit = Audit([parse_statement("mean(score) > 0.5"), parse_statement("share(ok = yes) >= 0.9")], population=1000)
    >>> audit.extend({"score": [0.7, 0.8] * 30, "ok": ["yes", "no"] * 30})
    >>> for finding in audit.findings():
    ...     print(finding)
    mean(score) > 0.5: proved after ... rows; wrong with probability ... at most
    share(ok = yes) >= 0.9: refuted after ... rows; wrong with probability ... at most
    """

    def __init__(
        self,
        assertions: Sequence[StatementTest],
        population: float | None = None,
        level: float = 0.05,
        *,
        strata: Mapping[str, int] | None = None,
    ) -> None:
        if not assertions:
            raise ParameterError(
                "Audit: expected at least one assertion, got none; write for example parse_statement(...)."
            )
        if (population is None) == (strata is None):
            raise ParameterError(
                "Audit: expected the size of the list, or the sizes of its strata, got both or neither; write "
                "population=1000, or strata={'north': 400, 'south': 600}."
            )
        share = _validate.real("Audit", "level", level, above=0, below=1) / len(assertions)
        self.assertions, self.level = tuple(assertions), level
        self.population = float(population if strata is None else sum(strata.values()))  # type: ignore[arg-type]
        self._scales: list[list[Scale | StratifiedScale]] = [
            [_scale(part, self.population, strata, share, len(one.parts)) for part in one.parts] for one in assertions
        ]

    def extend(self, rows: Batch, strata: Any = None) -> None:
        """Take in rows, as columns of cells, and the stratum of each if the list is in strata: all of them, or none."""
        weighed = [(scale, scale.part.values(rows)) for scales in self._scales for scale in scales]
        sizes = {values.size for _, values in weighed}
        if len(sizes) > 1:
            raise ParameterError(
                f"Audit: expected as many cells in every column, got {min(sizes)} and {max(sizes)}; give whole rows."
            )
        for scale, values in weighed:
            scale.extend(values, strata)

    def findings(self) -> list[AuditResult]:
        """Return what is known of every assertion now."""
        return [_finding(one.words, scales) for one, scales in zip(self.assertions, self._scales, strict=True)]


def _against(mean: float, population: float, level: float, *, at_most: bool, actions: int = 1) -> EProcess:
    """Return a bet against a mean of at most, or at least, so much."""
    if at_most:
        return EProcess(at_most=mean, population=population, level=level, actions=actions)
    return EProcess(at_least=mean, population=population, level=level, actions=actions)


def _scale(
    part: Part, population: float, strata: Mapping[str, int] | None, share: float, parts: int
) -> Scale | StratifiedScale:
    return StratifiedScale(part, strata, share / parts) if strata else Scale(part, population, share, share / parts)


def _finding(words: str, scales: Sequence[Scale | StratifiedScale]) -> AuditResult:
    first = scales[0]
    facts = first.part.natural(first.mean), first.deviation * first.part.unit
    wrong = [scale.refuted for scale in scales if scale.refuted[0]]
    right = [scale.proved for scale in scales]
    if wrong:
        rows, probability = min(wrong)
        return AuditResult(words, "refuted", rows, min(1.0, probability * len(scales)), *facts)
    if all(rows for rows, _ in right):
        return AuditResult(
            words, "proved", max(rows for rows, _ in right), max(probability for _, probability in right), *facts
        )
    return AuditResult(words, "open", first.rows, 1.0, *facts)


class SampleSize(NamedTuple):
    """How many rows an audit will probably take: at most `median` half of the time, `most` nine times of ten."""

    median: int
    most: int


def plan(
    threshold: float,
    mean: float,
    *,
    population: int,
    deviation: float | None = None,
    level: float = 0.05,
    shuffles: int = 200,
    seed: int,
) -> SampleSize:
    """Return how many rows it will probably take to prove that a mean is on its side of the threshold.

    It is tried out on shuffles of a list with this mean and standard deviation (the largest, if none is given).

    >>> plan(0.5, 0.6, population=20_000, seed=0)
    SampleSize(median=..., most=...)
    """
    rng = np.random.default_rng(_validate.seed_sequence("plan", seed))
    values = _typical(_validate.real("plan", "mean", mean, least=0, most=1), deviation, population)
    bet = _against(threshold, population, level, at_most=mean > threshold, actions=shuffles)
    table = np.column_stack([rng.permutation(values) for _ in range(shuffles)])
    for start in range(0, population, 500):
        bet.extend(table[start : start + 500])
        if bet.refuted.all():
            break
    needed = np.where(bet.refuted, bet.rows, population)
    return SampleSize(int(np.quantile(needed, 0.5)), int(np.quantile(needed, 0.9)))


def _typical(mean: float, deviation: float | None, rows: int) -> Floats:
    """Return a list with this mean in which as many values are 0 or 1 as the deviation asks."""
    largest = mean * (1 - mean)
    share = 1.0 if deviation is None or not largest else min(1.0, deviation * deviation / largest)
    values = np.full(rows, mean)
    extreme = round(share * rows)
    values[:extreme] = np.arange(extreme) < round(mean * extreme)
    return values
