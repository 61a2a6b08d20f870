"""RunningMean: how the mean that an assertion is about, and an interval for it, went as rows came in; for a picture."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tombola.confidence.base import Interval
from tombola.confidence.betting import Betting
from tombola.confidence.statement import Batch, StatementTest
from tombola.confidence.strata import Strata


class Stop(NamedTuple):
    """After so many rows: the mean so far, and the ends of the interval that holds that of the list."""

    rows: int
    mean: float
    low: float
    high: float


class RunningMean:
    """Follows the mean of an assertion, in the numbers of the statement.

    The interval holds at all times at once with probability 1 - level.

    >>> from tombola.confidence import parse_statement
    >>> course = RunningMean(parse_statement("|mean(a) - mean(b)| <= 0.1"), population=1000)
    >>> course.extend({"a": [0.4] * 50, "b": [0.4] * 50})
    >>> course.thresholds, [round(x, 2) for x in course.stops[-1]][2:]
    ((0.1, -0.1), [-0.11, 0.11])
    """

    def __init__(
        self,
        assertion: StatementTest,
        population: float | None = None,
        level: float = 0.05,
        *,
        strata: Mapping[str, int] | None = None,
    ) -> None:
        self.assertion = assertion
        self.stops: list[Stop] = []
        self._seen = Strata(strata, level) if strata else Betting(population=population or 0, level=level)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """What the mean is compared with."""
        return tuple(round(part.natural(part.threshold), 12) for part in self.assertion.parts)

    def extend(self, rows: Batch, strata: Any = None) -> None:
        """Take in rows, and the stratum of each if the list is in strata."""
        part = self.assertion.parts[0]
        values = part.values(rows)
        before = self.stops[-1].rows if self.stops else 0
        mean, (low, high) = self._take(values, strata)
        self.stops.append(Stop(before + len(values), *(part.natural(x) for x in (mean, low, high))))

    def _take(self, values: Any, strata: Any) -> tuple[float, Interval]:
        if isinstance(self._seen, Strata):
            self._seen.extend(values, strata)
            return self._seen.mean, self._seen.interval()
        self._seen.extend(values)
        return float(self._seen.means[0]), self._seen.interval()
