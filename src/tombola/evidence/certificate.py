"""Certificate: simultaneous confidence statements about all actions of a pool.

The comparator is the least mean loss over all rows of the pool. Two kinds of evidence bound the
distance from it: paired (differences of losses on the same rows) and unpaired (one interval per
action). If whole rows are observed, each kind gets half of the level, so that the better one may be
used; otherwise the intervals get all of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tombola import _validate
from tombola._formatting import HtmlTable, confidence_text, html_block, plural, short_repr
from tombola._types import Floats, Integers
from tombola.evidence.base import Interval
from tombola.statements import Conclusion, Counts, Statement, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Widths and distances below this are the rounding of a sum.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Certificate:
    """Confidence statements about the mean losses of all actions of a pool.

    They are simultaneously valid with probability 1 - level. Built by `certify_plays`, `certify_trace` or
    a monitor.

    population: the number of rows of the pool, or math.inf.
    rounds, answered: rows played, and rows with a known loss.
    loss: the sum of the known losses; nan if rows were only observed, not played.
    counts, means, lows, highs: per action, the sample size, sample mean and interval, shape
        (actions,).
    paired: per action, the largest possible distance from the best by paired differences; inf if
        not compared.

    >>> from tombola.evidence import certify_plays
    >>> first, second = [0.0] * 60, [1.0] * 60
    >>> certificate = certify_plays([0] * 60 + [1] * 60, first + second, actions=2, population=1000, level=0.05)
    >>> certificate.best, certificate.within(0), certificate.certified(within=0.01), certificate.method
    (0, 0.0, True, 'unpaired')
    """

    names: tuple[str, ...]
    population: float
    level: float
    rounds: int
    answered: int
    loss: float
    counts: Integers
    means: Floats
    lows: Floats
    highs: Floats
    paired: Floats

    def interval(self, action: int) -> Interval:
        """Return the confidence interval for the mean loss of an action over the pool."""
        return Interval(float(self.lows[action]), float(self.highs[action]))

    def narrowed(self, known: Sequence[Sequence[float]]) -> "Certificate":
        """Return a copy of the certificate with intervals cut to the certain range.

        Losses played after an unknown one may be a biased sample, so an interval does not use them;
        but they are part of the mean, which they bound with certainty (docs/theory/confidence.md,
        section 2). `known` has one sequence per action: all its known losses.

        >>> from tombola.evidence import certify_plays
        >>> certificate = certify_plays([], [], actions=1, population=10).narrowed([[0.0] * 8])
        >>> certificate.interval(0)
        Interval(low=0.0, high=0.2)
        """
        lows, highs = self.lows.copy(), self.highs.copy()
        for action, losses in enumerate(known):
            if len(losses) > self.counts[action] and math.isfinite(self.population):
                low = math.fsum(losses) / self.population
                high = low + max(self.population - len(losses), 0.0) / self.population
                # Not empty, even if the interval has missed the mean (probability at most its
                # level).
                lows[action], highs[action] = np.clip([lows[action], highs[action]], low, high)
        return replace(self, lows=lows, highs=highs)

    def within(self, action: int) -> float:
        """Return an upper bound on mean loss of this action minus that of the best."""
        return min(_unpaired_distance(self.lows, self.highs, action), float(self.paired[action]))

    @property
    def best(self) -> int:
        """The index of the action with the smallest `within`; the lowest among equals."""
        return min(range(self.lows.size), key=self.within)

    @property
    def method(self) -> Literal["paired", "unpaired"]:
        """The evidence of `within(best)`: losses on the same rows, or the intervals."""
        return (
            "paired"
            if self.paired[self.best] <= _unpaired_distance(self.lows, self.highs, self.best)
            else "unpaired"
        )

    @property
    def target(self) -> str:
        """The comparator as text, such as "the least mean loss over all 1,000 rows"."""
        rows = (
            f"all {self.population:,.0f} rows"
            if math.isfinite(self.population)
            else "the rows drawn from"
        )
        rows = "the row" if self.population == 1 else rows
        return f"the least mean loss over {rows}"

    @property
    def pending(self) -> int:
        """The number of rounds without a known loss."""
        return self.rounds - self.answered

    @property
    def regret(self) -> float:
        """Upper bound on the regret of the answered rounds, without switching costs.

        Regret is the total loss minus that of always playing the action with the least mean loss;
        nan if nothing was played.
        """
        return self.loss - self.answered * float(self.lows.min())

    @property
    def worst_regret(self) -> float:
        """Upper bound on the regret of all rounds, with loss 1 for every pending one."""
        return self.loss + self.pending - self.rounds * float(self.lows.min())

    @property
    def is_complete(self) -> bool:
        """Whether every mean over the list is known, without any probability."""
        return bool((self.highs - self.lows <= _ROUNDING).all())

    def claim(self, distance: float) -> Conclusion | None:
        """Return what is proved about the best action; None if nothing is.

        distance: `within(best)` in the unit that sentences have.
        """
        if self.lows.size == 1 or not distance < math.inf:
            return None
        name = (self.names[self.best],)
        if distance <= _ROUNDING:
            return Conclusion("best", name, field=len(self.names))
        return Conclusion("within", name, field=len(self.names), amount=distance)

    @property
    def statement(self) -> Statement:
        """What is proved about the actions, in losses from 0 to 1."""
        claim = self.claim(self.within(self.best))
        claims = [] if claim is None else [claim]
        if not math.isnan(self.loss):
            answered = f"the {plural(self.answered, 'row')} answered"
            claims.append(Conclusion("regret", (answered,), amount=self.regret))
            if self.pending:
                everything = f"all {plural(self.rounds, 'row')}, the pending ones with loss 1,"
                claims.append(Conclusion("regret", (everything,), amount=self.worst_regret))
        rows = int(self.population) if math.isfinite(self.population) else self.rounds
        verdict: Verdict = "running"
        if claim is not None and claim.relation == "best":
            verdict = "exact" if self.is_complete else "proved"
        question = Conclusion("best", self.names, field=len(self.names))
        return Statement(
            verdict,
            "recorded" if math.isfinite(self.population) else "beyond",
            tuple(claims),
            () if verdict != "running" else (question,),
            level=0.0 if self.is_complete else self.level,
            counts=Counts(rows=rows, counted=self.answered),
        )

    def certified(self, within: float) -> bool:
        """Return whether some action is proved to be this close to the best in mean loss."""
        return self.within(self.best) <= _validate.real(
            "Certificate.certified", "within", within, least=0
        )

    def forecast(self, within: float) -> int | None:
        """Estimate the further rounds until `certified(within)`; None if rows run out.

        An extrapolation, not a guarantee: constant means, and constant shares of the rounds per
        action.
        """
        target = _validate.real("Certificate.forecast", "within", within, least=0)
        left = int(self.population - self.rounds) if math.isfinite(self.population) else 1 << 40
        if left < 0 or self._within_after(left) > target:
            return None
        low, high = -1, left
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._within_after(middle) <= target else (middle, high)
        return high

    def _within_after(self, more: int) -> float:
        """Extrapolate `within(best)` by `more` rounds; widths shrink like sqrt(1/n - 1/N)."""
        if more == 0:
            return self.within(self.best)
        counts = self.counts + more * self.counts / max(self.rounds, 1)
        before, after = (
            _relative_width(self.counts, self.population),
            _relative_width(counts, self.population),
        )
        shrink = np.where(before > 0, after / np.where(before > 0, before, 1.0), 1.0)
        lows = self.means - (self.means - self.lows) * shrink
        highs = self.means + (self.highs - self.means) * shrink
        return min(
            min(
                _unpaired_distance(lows, highs, action),
                self._paired_after(action, float(shrink[action])),
            )
            for action in range(lows.size)
        )

    def _paired_after(self, action: int, shrink: float) -> float:
        """Extrapolate a paired distance; its excess over the estimate shrinks by a factor."""
        if not math.isfinite(self.paired[action]) or self.means.size == 1:
            return float(self.paired[action])
        difference = float(self.means[action] - np.delete(self.means, action).min())
        return max(0.0, difference + (float(self.paired[action]) - difference) * shrink)

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as a dict of JSON data.

        statement: `Statement.to_json`.
        target: text of the comparator. best, method: name of the best action, and "paired" or
            "unpaired". rows, answered: rows played, and those with a known loss. population: None
            if infinite. within: upper bound on the mean loss of the best action minus the least
            one.
        regret, worst_regret: upper bounds; None if rows were only observed, not played.
        actions: list of dicts: name, rows (sample size), mean, low and high (interval of the mean
            loss).
        """
        best = self.best
        actions = [
            {
                "name": name,
                "rows": int(count),
                "mean": float(mean),
                "low": float(low),
                "high": float(high),
            }
            for name, count, mean, low, high in zip(
                self.names, self.counts, self.means, self.lows, self.highs, strict=True
            )
        ]
        played = not math.isnan(self.loss)
        return {
            "statement": self.statement.to_json(),
            "target": self.target,
            "level": self.level,
            "rows": self.rounds,
            "population": self.population if math.isfinite(self.population) else None,
            "best": self.names[best],
            "within": self.within(best),
            "method": self.method,
            "actions": actions,
            "answered": self.answered,
            "regret": self.regret if played else None,
            "worst_regret": self.worst_regret if played else None,
        }

    def plot(
        self, *, ax: "Axes | None" = None, size: tuple[float, float] | None = None
    ) -> "Figure":
        """Draw the interval of every action, the lowest mean first; return the figure.

        The figure displays in notebooks, and `figure.save("x.pdf")` writes it. `ax`: axes to draw
        on; None: a new figure. `size` is in inches; None: it grows with the number of actions.
        """
        from tombola.report.figures import draw_intervals

        order = np.argsort(np.where(self.counts > 0, self.means, np.inf), kind="stable")
        means = np.where(self.counts > 0, self.means, np.nan)[order]
        names = [self.names[a] for a in order]
        return draw_intervals(
            names,
            means,
            self.lows[order],
            self.highs[order],
            x_label=f"mean loss, {confidence_text(self.level, percent=True)} intervals",
            axes=ax,
            size=size,
        )

    def __repr__(self) -> str:
        best = self.best
        return short_repr(
            f"Certificate({len(self.names)} actions, {self.rounds} rows, level {self.level:g}, "
            f"best {self.names[best]!r} within {self.within(best):.4g})"
        )

    def _repr_html_(self) -> str:
        order = sorted(range(len(self.names)), key=self.within)
        rows = [
            (
                self.names[a],
                f"{int(self.counts[a]):,}",
                f"{self.means[a]:.4g}" if self.counts[a] else "–",
                f"{self.lows[a]:.4g} to {self.highs[a]:.4g}",
                f"{self.within(a):.4g}",
            )
            for a in order
        ]
        table = HtmlTable(
            ("action", "rows", "mean loss", "interval", "from the best, at most"), rows
        )
        return html_block("Certificate", [], [table], [self.statement.full])

    def __str__(self) -> str:
        return str(self.statement)


def _unpaired_distance(lows: Floats, highs: Floats, action: int) -> float:
    """Return the largest distance from the best that the intervals allow."""
    others = np.delete(lows, action)
    return max(0.0, float(highs[action] - others.min())) if others.size else 0.0


def _relative_width(counts: Any, population: float) -> Floats:
    """Return sqrt(1/n - 1/N), the approximate width; 0 if n is 0 or N."""
    inverse = np.where(counts > 0, 1.0 / np.where(counts > 0, counts, 1.0), 0.0)
    return np.sqrt(np.maximum(inverse - 1.0 / population, 0.0))
