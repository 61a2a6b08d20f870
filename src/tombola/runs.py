"""Runs: many plays of several learners on the same orders, and their statistics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola import _statistics
from tombola._statistics import Estimate
from tombola._types import Floats, Rounds
from tombola.budget.target import TargetRegret
from tombola.engine.loop import COMPARATOR, EXPECTED, LOSS, SPENT, SWITCHES
from tombola.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tombola.report.chart import Band, Chart, Line

SLICES = 40


class Entry(NamedTuple):
    """What was played: the rows of the pool, the input model, and the learner by name."""

    horizon: int
    order: str
    learner: str


class Cell(NamedTuple):
    """The repetitions of one entry: sums at the marked rounds (repetition x mark x sum), and plays of each action.

    `shares` has the plays of each action up to the marked rounds, averaged over the repetitions.
    """

    rounds: Rounds
    sums: Floats
    plays: Floats
    shares: Floats


@dataclass(frozen=True, eq=False)
class Runs:
    """Learners x repetitions, with means, intervals, paired differences and slopes.

    Without `order` or `horizon`, the first order and the largest horizon are meant. Regret includes the switching
    price; `expected=True` averages over the learner's own rng. `actions` are their names, an added null action among
    them; `amounts` what could be spent, if there was a budget; `bounds` what is proved of the expected regret. With a
    target, by horizon in `aims`, regret is that of `TargetRegret`, in the unit of the costs.
    """

    cells: dict[Entry, Cell]
    switching_price: float
    actions: tuple[str, ...] = ()
    amounts: tuple[float, ...] = ()
    bounds: Mapping[Entry, float] = field(default_factory=dict)
    aims: Mapping[int, TargetRegret] = field(default_factory=dict)

    @property
    def learners(self) -> list[str]:
        """The names of the learners."""
        return list(dict.fromkeys(s.learner for s in self.cells))

    @property
    def orders(self) -> list[str]:
        """The input models."""
        return list(dict.fromkeys(s.order for s in self.cells))

    @property
    def horizons(self) -> list[int]:
        """The horizons, from small to large."""
        return sorted({s.horizon for s in self.cells})

    def cell(self, learner: str, order: str | None = None, horizon: int | None = None) -> Cell:
        """Return the repetitions of one entry."""
        wanted = Entry(
            self.horizons[-1] if horizon is None else horizon, self.orders[0] if order is None else order, learner
        )
        if wanted not in self.cells:
            raise ParameterError(
                f"Runs: expected a learner of {self.learners}, an order of {self.orders} and a horizon of "
                f"{self.horizons}, got {tuple(wanted)}; write one of those."
            )
        return self.cells[wanted]

    def curve(
        self, learner: str, order: str | None = None, horizon: int | None = None, *, expected: bool = False
    ) -> tuple[Rounds, Floats]:
        """Return the marked rounds and the regret at each of them, repetition by repetition."""
        cell = self.cell(learner, order, horizon)
        sums = cell.sums
        if self.aims:
            aim = self.aims[int(cell.rounds[-1])]
            return cell.rounds, aim.regret(cell.rounds, sums[:, :, EXPECTED if expected else LOSS], sums[:, :, SPENT])
        suffered = sums[:, :, EXPECTED if expected else LOSS] + self.switching_price * sums[:, :, SWITCHES]
        return cell.rounds, suffered - sums[:, :, COMPARATOR]

    def regrets(
        self, learner: str, order: str | None = None, horizon: int | None = None, *, expected: bool = False
    ) -> Floats:
        """Return the regret of every repetition at the end."""
        return self.curve(learner, order, horizon, expected=expected)[1][:, -1]

    def regret(
        self, learner: str, order: str | None = None, horizon: int | None = None, *, expected: bool = False
    ) -> Estimate:
        """Return the mean regret with its 95 % interval."""
        return _statistics.mean(self.regrets(learner, order, horizon, expected=expected))

    def difference(self, learner: str, other: str, order: str | None = None, horizon: int | None = None) -> Estimate:
        """Return the mean of regret(learner) - regret(other) over the same orders, with its 95 % interval."""
        return _statistics.mean(self.regrets(learner, order, horizon) - self.regrets(other, order, horizon))

    def spent(self, learner: str, order: str | None = None, horizon: int | None = None) -> tuple[Rounds, Floats]:
        """Return the marked rounds, and what was spent up to each (repetition x mark x resource)."""
        cell = self.cell(learner, order, horizon)
        return cell.rounds, cell.sums[:, :, SPENT:]

    def shares(self, learner: str, order: str | None = None, horizon: int | None = None) -> tuple[Rounds, Floats]:
        """Return the last rounds of successive slices, and the share of each action in a slice (slice x action)."""
        cell = self.cell(learner, order, horizon)
        ends = slices(int(cell.rounds[-1]))
        plays = np.vstack([np.zeros(cell.shares.shape[1]), cell.shares[np.searchsorted(cell.rounds, ends)]])
        return ends, np.diff(plays, axis=0) / np.diff(ends, prepend=0)[:, None]

    def slope(self, learner: str, order: str | None = None, *, expected: bool = False) -> Estimate:
        """Return the slope of log mean regret on log horizon, with its 95 % interval."""
        regrets = [self.regrets(learner, order, T, expected=expected) for T in self.horizons]
        return _statistics.slope(np.array(self.horizons, dtype=np.float64), regrets)

    def ranking(self, order: str | None = None, horizon: int | None = None) -> list[str]:
        """Return the learners from the smallest mean regret to the largest."""
        return sorted(self.learners, key=lambda name: self.regret(name, order, horizon).value)

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return everything as columns: one line for each entry, repetition and marked round."""
        parts: dict[str, list[Any]] = {name: [] for name in (*Entry._fields, "repetition", "round", *_SUMS, "regret")}
        for entry, cell in self.cells.items():
            _, regrets = self.curve(entry.learner, entry.order, entry.horizon)
            count, marks, _ = cell.sums.shape
            for name, value in zip(Entry._fields, entry, strict=True):
                parts[name] += [value] * (count * marks)
            parts["repetition"] += np.repeat(np.arange(count), marks).tolist()
            parts["round"] += np.tile(cell.rounds, count).tolist()
            for which, name in enumerate(_SUMS):
                parts[name] += cell.sums[:, :, which].ravel().tolist()
            parts["regret"] += regrets.ravel().tolist()
        return dict(parts)

    def to_frame(self) -> Any:
        """Return `columns()` as a data frame: pandas if it is installed, else polars."""
        for library in ("pandas", "polars"):
            try:
                return __import__(library).DataFrame(self.columns())
            except ImportError:
                continue
        raise ParameterError(
            "Runs.to_frame: expected pandas or polars, got neither; install one of them, or use Runs.columns()."
        )

    def chart(
        self,
        order: str | None = None,
        *,
        orders: Sequence[str] | None = None,
        learners: Sequence[str] | None = None,
        bound: bool = False,
    ) -> "Chart":
        """Return the mean regret of every learner with its band: over three horizons or more, else over rounds.

        `orders` puts several orders into one chart; `learners` says which learners, and in which sequence. `bound` adds
        what is proved of the expected regret at the end, where anything is.
        """
        from tombola.report.chart import Chart

        which = [self.orders[0] if order is None else order] if orders is None else list(orders)
        cases = [(name, one) for name in (self.learners if learners is None else learners) for one in which]
        over_horizons = len(self.horizons) > 2
        bands = [self._band(name, one, f"{name}, {one}" if len(which) > 1 else name) for name, one in cases]
        found = [self._bound_line(name, one) for name, one in cases] if bound else []
        return Chart(
            title=f"Regret in {' and '.join(which)} order",
            x_label="rows of the pool, T" if over_horizons else "round",
            y_label=f"regret: {self._regret_words()}",
            bands=tuple(bands),
            lines=tuple(line for line in found if line is not None),
            log_x=over_horizons,
            log_y=over_horizons and all((b.middle > 0).all() for b in bands),
        )

    def _regret_words(self) -> str:
        if self.aims:
            return "spent above the cheapest mix, and losses too many"
        return "loss above the best fixed mix" if self.amounts else "loss above the best fixed action"

    def _band(self, learner: str, order: str, called: str) -> "Band":
        from tombola.report.chart import Band

        if len(self.horizons) > 2:
            x = np.array(self.horizons, dtype=np.float64)
            estimates = [self.regret(learner, order, T) for T in self.horizons]
        else:
            rounds, regrets = self.curve(learner, order)
            x, estimates = rounds.astype(np.float64), [_statistics.mean(column) for column in regrets.T]
        return Band(called, x, *(np.array([estimate[i] for estimate in estimates]) for i in range(3)))

    def _bound_line(self, learner: str, order: str) -> "Line | None":
        """Return the proved bounds over the horizons, or the one at the end as a level; None where there is none."""
        from tombola.report.chart import Line

        known = {T: self.bounds[entry] for T in self.horizons if (entry := Entry(T, order, learner)) in self.bounds}
        if len(self.horizons) > 2:
            x, y = list(known), list(known.values())
        else:
            x, y = [1, self.horizons[-1]], 2 * [known.get(self.horizons[-1], np.nan)]
        usable = bool(y) and bool(np.isfinite(y).all())
        return Line(f"bound, {learner}", np.array(x, np.float64), np.array(y)) if usable else None

    def plot(
        self,
        order: str | None = None,
        *,
        ax: "Axes | None" = None,
        orders: Sequence[str] | None = None,
        learners: Sequence[str] | None = None,
        bound: bool = False,
    ) -> "Figure":
        """Draw `chart(...)`: a figure of its own, or into `ax`, axes of matplotlib; return the figure.

        >>> from tombola import UCB2, compare, instances
        >>> runs = compare(instances.gap(100, 2, 0.2, seed=0), [UCB2()], ["random", "given"], repetitions=3, seed=1)
        >>> len(runs.plot(orders=["random", "given"], bound=True).axes[0].lines)
        3
        """
        from tombola.report.figures import draw

        return draw(self.chart(order, orders=orders, learners=learners, bound=bound), axes=ax)

    def __str__(self) -> str:
        lines = []
        for horizon in self.horizons:
            for order in self.orders:
                lines.append(f"{order} order, {horizon} rows")
                best = self.ranking(order, horizon)[0]
                for name in self.ranking(order, horizon):
                    regret, paired = self.regret(name, order, horizon), self.difference(name, best, order, horizon)
                    against = "" if name == best else f"   {paired} above the first"
                    lines.append(f"  {name:<28} regret {regret}{against}")
        return "\n".join(lines)


def slices(horizon: int) -> Rounds:
    """Return the last rounds of about `SLICES` slices of equal length.

    >>> slices(3).tolist()
    [1, 2, 3]
    """
    return np.unique(np.linspace(0, horizon, SLICES + 1).astype(np.int64))[1:]


_SUMS = ("loss", "expected_loss", "comparator_loss", "switches")
