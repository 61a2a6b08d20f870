"""Runs: repeated plays of learners on the same orders, and statistics."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tombola import _statistics
from tombola._formatting import (
    HtmlTable,
    format_estimate,
    format_number,
    html_block,
    join_names,
    plural,
    short_repr,
    to_frame,
)
from tombola._statistics import Estimate
from tombola._types import Floats, Integers
from tombola.budget.target import TargetRegret
from tombola.engine.loop import COMPARATOR, EXPECTED, LOSS, SPENT, SWITCHES
from tombola.errors import ParameterError, TombolaWarning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tombola.report.chart import Band, Chart, Line

# Number of parts of the horizon in which `Runs.shares` measures the share of each action.
_N_SLICES = 40


class Entry(NamedTuple):
    """Key of `Runs.cells`: number of rows, input model, and learner."""

    horizon: int
    order: str
    learner: str


class Cell(NamedTuple):
    """Hold the repetitions of one learner on one pool in one input model.

    rounds: recorded rounds (marks), from 1, shape (marks,).
    sums: totals up to each mark, shape (repetitions, marks, sums): loss, expected loss, loss of the
        comparator, switches, then costs of each resource.
    plays: number of plays of each action at the end, shape (repetitions, actions).
    shares: number of plays up to each mark, averaged over the repetitions, shape (marks, actions).
    """

    rounds: Integers
    sums: Floats
    plays: Floats
    shares: Floats


@dataclass(frozen=True, eq=False)
class Runs:
    """Hold repeated plays of learners, with means, intervals and slopes.

    `compare` returns it. The regret is the loss, plus the switching price of each switch, minus the loss of the
    comparator: the best fixed action, or the best fixed mix under a budget. With a loss target it
        is a cost.

    Methods take the name of a learner, and optionally `order`, the name of an input model, and `horizon`, a number of
    rows: by default the first and the largest one. Unknown ones raise ParameterError. With
        `expected`, losses are
    expected ones, over the learner's own randomness, instead of those of the actions drawn.

    cells: recorded sums of each horizon, order and learner.
    switching_price: loss added to the regret for each switch of the action.
    actions: names of the actions, including an added null action.
    amounts: budget of each resource in cost units; empty without a budget.
    bounds: proved bounds on the expected regret, where they are known.
    target_regrets: with a loss target, the regret function by horizon, in units of cost; else
        empty.
    """

    cells: dict[Entry, Cell]
    switching_price: float
    actions: tuple[str, ...] = ()
    amounts: tuple[float, ...] = ()
    bounds: Mapping[Entry, float] = field(default_factory=dict)
    target_regrets: Mapping[int, TargetRegret] = field(default_factory=dict)

    @property
    def learners(self) -> list[str]:
        """The names of the learners, in the sequence in which `compare` got them."""
        return list(dict.fromkeys(s.learner for s in self.cells))

    @property
    def orders(self) -> list[str]:
        """The names of the input models, in the sequence in which `compare` got them."""
        return list(dict.fromkeys(s.order for s in self.cells))

    @property
    def horizons(self) -> list[int]:
        """The horizons, numbers of rows of the pools, in increasing order."""
        return sorted({s.horizon for s in self.cells})

    @property
    def _repetitions(self) -> int:
        return max((cell.sums.shape[0] for cell in self.cells.values()), default=0)

    def cell(self, learner: str, order: str | None = None, horizon: int | None = None) -> Cell:
        """Return the recorded sums of one learner, input model and horizon."""
        return self.cells[self._entry(learner, order, horizon)]

    def _entry(self, learner: str, order: str | None, horizon: int | None) -> Entry:
        """Return the key of a cell, with defaults filled in; raise if unknown."""
        entry = Entry(
            self.horizons[-1] if horizon is None else horizon,
            self.orders[0] if order is None else order,
            learner,
        )
        if entry not in self.cells:
            raise ParameterError(
                f"Runs: expected a learner of {self.learners}, an order of {self.orders} and a "
                "horizon of "
                f"{self.horizons}, got {tuple(entry)}; write one of those."
            )
        return entry

    @cached_property
    def _regrets(self) -> dict[Entry, Floats]:
        return {}

    def curve(
        self,
        learner: str,
        order: str | None = None,
        horizon: int | None = None,
        *,
        expected: bool = False,
    ) -> tuple[Integers, Floats]:
        """Return the recorded rounds, from 1, and the regret after each of them.

        Shapes are (marks,) and (repetitions, marks); a mark is a recorded round.
        """
        cell = self.cell(learner, order, horizon)
        sums = cell.sums
        losses = sums[:, :, EXPECTED if expected else LOSS]
        if self.target_regrets:
            target = self.target_regrets[int(cell.rounds[-1])]
            return cell.rounds, target.regret(cell.rounds, losses, sums[:, :, SPENT])
        return cell.rounds, losses + self.switching_price * sums[:, :, SWITCHES] - sums[
            :, :, COMPARATOR
        ]

    def regrets(
        self,
        learner: str,
        order: str | None = None,
        horizon: int | None = None,
        *,
        expected: bool = False,
    ) -> Floats:
        """Return the regret of every repetition, shape (repetitions,).

        The array may be cached: do not change it.
        """
        if expected:
            return self.curve(learner, order, horizon, expected=True)[1][:, -1]
        entry = self._entry(learner, order, horizon)
        # Rankings and differences ask for the same regrets again and again.
        if entry not in self._regrets:
            self._regrets[entry] = self.curve(learner, entry.order, entry.horizon)[1][:, -1]
        return self._regrets[entry]

    def regret(
        self,
        learner: str,
        order: str | None = None,
        horizon: int | None = None,
        *,
        expected: bool = False,
    ) -> Estimate:
        """Return the mean regret after the last round, with its 95 % interval."""
        return _statistics.mean(self.regrets(learner, order, horizon, expected=expected))

    def difference(
        self, learner: str, other: str, order: str | None = None, horizon: int | None = None
    ) -> Estimate:
        """Return the mean of regret(learner) - regret(other), with its 95 % interval.

        Negative values mean that `learner` is better. Regrets are paired: both learners play the
        same orders.
        """
        return _statistics.mean(
            self.regrets(learner, order, horizon) - self.regrets(other, order, horizon)
        )

    def spent(
        self, learner: str, order: str | None = None, horizon: int | None = None
    ) -> tuple[Integers, Floats]:
        """Return the recorded rounds, and the total costs up to each of them.

        Shapes are (marks,) and (repetitions, marks, resources); a mark is a recorded round.
        """
        cell = self.cell(learner, order, horizon)
        return cell.rounds, cell.sums[:, :, SPENT:]

    def shares(
        self, learner: str, order: str | None = None, horizon: int | None = None
    ) -> tuple[Integers, Floats]:
        """Return the last round of each time slice, and action shares per slice.

        Shapes are (slices,) and (slices, actions); slices have equal length. A share is the
        fraction of the rounds of a slice in which the action is played, averaged over the
        repetitions.
        """
        cell = self.cell(learner, order, horizon)
        ends = slice_ends(int(cell.rounds[-1]))
        plays = np.vstack(
            [np.zeros(cell.shares.shape[1]), cell.shares[np.searchsorted(cell.rounds, ends)]]
        )
        return ends, np.diff(plays, axis=0) / np.diff(ends, prepend=0)[:, None]

    def slope(self, learner: str, order: str | None = None, *, expected: bool = False) -> Estimate:
        """Return the slope of log mean regret on log horizon, with its 95 % interval.

        Raises ParameterError for fewer than three horizons, and if a mean regret is not positive.
        """
        regrets = [self.regrets(learner, order, T, expected=expected) for T in self.horizons]
        return _statistics.slope(np.array(self.horizons, dtype=np.float64), regrets)

    def ranking(self, order: str | None = None, horizon: int | None = None) -> list[str]:
        """Return the names of the learners, from the smallest mean regret to the largest."""
        return sorted(self.learners, key=lambda name: self.regret(name, order, horizon).value)

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return all sums as columns: one line per cell, repetition and recorded round.

        The columns are horizon, order, learner, repetition (from 0), round (from 1), and five
        totals up to the round: loss, expected_loss, comparator_loss, switches and regret. Costs are
        not included.
        """
        parts: dict[str, list[Any]] = {
            name: [] for name in (*Entry._fields, "repetition", "round", *_SUMS, "regret")
        }
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
        """Return `columns()` as a data frame: pandas if it is installed, else polars.

        Raises ParameterError if neither library is installed.
        """
        return to_frame("Runs", self.columns())

    def chart(
        self,
        order: str | None = None,
        *,
        orders: Sequence[str] | None = None,
        learners: Sequence[str] | None = None,
        bound: bool = False,
    ) -> "Chart":
        """Return a chart of mean regret with bands of 95 % intervals.

        The x-axis has horizons if there are three or more, else rounds. `Runs.plot` draws it.

        order, orders: input model to draw, the first one if None; or several of them.
        learners: names of the learners to draw, in this sequence; all if None.
        bound: add the proved bounds on the expected regret; warn for learners without one.
        """
        from tombola.report.chart import Chart

        which = [self.orders[0] if order is None else order] if orders is None else list(orders)
        cases = [
            (name, order_name)
            for name in (self.learners if learners is None else learners)
            for order_name in which
        ]
        over_horizons = len(self.horizons) > 2
        bands = [
            self._band(name, order_name, f"{name}, {order_name}" if len(which) > 1 else name)
            for name, order_name in cases
        ]
        bound_lines = (
            [self._bound_line(name, order_name) for name, order_name in cases] if bound else []
        )
        drawn = {
            name for (name, _), line in zip(cases, bound_lines, strict=False) if line is not None
        }
        if bound and (
            without := [
                name for name in dict.fromkeys(name for name, _ in cases) if name not in drawn
            ]
        ):
            warnings.warn(
                f"Runs.plot: expected a proved bound to draw, got none for {join_names(without)} "
                "in "
                f"{' or '.join(which)} order; a learner's method bound(actions, horizon, delay) "
                "returns it, for random "
                "order, and a reduction needs that of its base.",
                TombolaWarning,
                stacklevel=3,
            )
        return Chart(
            title=f"Regret in {' and '.join(which)} order",
            x_label="rows of the pool, T" if over_horizons else "round",
            y_label=f"regret: {self._regret_words()}",
            bands=tuple(bands),
            lines=tuple(line for line in bound_lines if line is not None),
            log_x=over_horizons,
            log_y=over_horizons and all((b.middle > 0).all() for b in bands),
        )

    def _regret_words(self) -> str:
        if self.target_regrets:
            return "spent above the cheapest mix, and losses too many"
        return (
            "loss above the best fixed mix" if self.amounts else "loss above the best fixed action"
        )

    def _band(self, learner: str, order: str, label: str) -> "Band":
        from tombola.report.chart import Band

        if len(self.horizons) <= 2:
            rounds, regrets = self.curve(learner, order)
            return Band(label, rounds.astype(np.float64), *_statistics.mean_band(regrets))
        estimates = [self.regret(learner, order, T) for T in self.horizons]
        ends = (np.array([estimate[i] for estimate in estimates]) for i in range(3))
        return Band(label, np.array(self.horizons, dtype=np.float64), *ends)

    def _bound_line(self, learner: str, order: str) -> "Line | None":
        """Return proved bounds over horizons, or a level at the last one, or None."""
        from tombola.report.chart import Line

        bounds = {
            T: self.bounds[entry]
            for T in self.horizons
            if (entry := Entry(T, order, learner)) in self.bounds
        }
        if len(self.horizons) > 2:
            x, y = list(bounds), list(bounds.values())
        else:
            x, y = [1, self.horizons[-1]], 2 * [bounds.get(self.horizons[-1], np.nan)]
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
        size: tuple[float, float] | None = None,
    ) -> "Figure":
        """Draw `chart(...)` into Matplotlib axes or a new figure; return the figure.

        A new figure displays in notebooks; `figure.save("regret.pdf")` writes it as PDF, SVG or
        PNG. Parameters are those of `chart`, and:

        ax: axes to draw into; None for a new figure.
        size: width and height of a new figure in inches; None for the default.

        >>> from tombola import UCB2, compare, instances
        >>> runs = compare(instances.gap(100, 2, 0.2, seed=0), [UCB2()], ["random", "given"], repetitions=3, seed=1)
        >>> len(runs.plot(orders=["random", "given"], bound=True).axes[0].lines)
        3
        """
        from tombola.report.figures import draw_chart

        return draw_chart(
            self.chart(order, orders=orders, learners=learners, bound=bound), axes=ax, size=size
        )

    def __repr__(self) -> str:
        horizons = self.horizons or [0]
        rows = f"{horizons[0]} to {horizons[-1]}" if len(horizons) > 1 else horizons[0]
        return short_repr(
            f"Runs({len(self.learners)} learners x {self._repetitions} repetitions, "
            f"{' and '.join(self.orders)} order, "
            f"{rows} rows: {', '.join(self.learners)})"
        )

    def _repr_html_(self) -> str:
        cases = [(horizon, order) for horizon in self.horizons for order in self.orders]
        facts = [("learners", f"{len(self.learners):,}"), ("repetitions", f"{self._repetitions:,}")]
        if self.switching_price:
            facts.append(("switching price", format_number(self.switching_price)))
        notes = [
            f"Regret: {self._regret_words()}, mean ± half of the 95 % interval. plot() draws "
            "it, to_frame() "
            "returns it."
        ]
        return html_block("Runs", facts, [self._html_table(*case) for case in cases], notes)

    def _html_table(self, horizon: int, order: str) -> HtmlTable:
        """Return the ranking of one horizon and order, with bounds if there are any."""
        names = self.ranking(order, horizon)
        bounds = {name: self.bounds.get(Entry(horizon, order, name)) for name in names}
        columns = (
            "learner",
            "regret",
            "above the first",
            *(("proved bound",) if any(bounds.values()) else ()),
        )
        rows = []
        for name in names:
            above = (
                ""
                if name == names[0]
                else format_estimate(self.difference(name, names[0], order, horizon))
            )
            bound = bounds[name]
            row = (
                name,
                format_estimate(self.regret(name, order, horizon)),
                above,
                format_number(bound) if bound else "–",
            )
            rows.append(row[: len(columns)])
        return HtmlTable(columns, rows, f"{order} order, {plural(horizon, 'row')}")

    def __str__(self) -> str:
        lines = []
        for horizon in self.horizons:
            for order in self.orders:
                lines.append(f"{order} order, {plural(horizon, 'row')}")
                best = self.ranking(order, horizon)[0]
                for name in self.ranking(order, horizon):
                    regret = self.regret(name, order, horizon)
                    paired = self.difference(name, best, order, horizon)
                    against = "" if name == best else f"   {paired} above the first"
                    lines.append(f"  {name:<28} regret {regret}{against}")
        return "\n".join(lines)


def slice_ends(horizon: int) -> Integers:
    """Return the last rounds, from 1, of 40 time slices of equal length.

    >>> slice_ends(3).tolist()
    [1, 2, 3]
    """
    return np.unique(np.linspace(0, horizon, _N_SLICES + 1).astype(np.int64))[1:]


_SUMS = ("loss", "expected_loss", "comparator_loss", "switches")
