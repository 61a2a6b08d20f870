"""Report of a comparison, computed once for terminal, page and JSON."""

import math
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tombola import _statistics
from tombola._formatting import (
    HtmlTable,
    format_estimate,
    format_number,
    html_block,
    option_text,
    plural,
    short_repr,
)
from tombola._result_cache import ResultCache, play_cached, result_key
from tombola._statistics import Estimate
from tombola.advice.advise import Advice, advise, total_losses
from tombola.advice.request import CompareRequest
from tombola.advice.routing import Routing, run_routing, skip_reason
from tombola.advice.text import RANDOM_ACTION, Summary, interval_data, order_test_text, summarise
from tombola.budget.budget import Budget
from tombola.budget.optimum import Optimum, optimum
from tombola.delay import RowDelays
from tombola.engine.loop import LOSS, SPENT, SWITCHES
from tombola.engine.provenance import package_hash, source_hash
from tombola.evidence import OrderVerdict, order_verdict
from tombola.feedback import feedback_type
from tombola.pool import Pool
from tombola.runs import Entry, Runs
from tombola.tables.summary import GroupRow, group_rows
from tombola.tables.to_pool import Table
from tombola.units import Units

# False-alarm probability of the test for random order.
_ORDER_TEST_LEVEL = 0.01
# Plain data that can be written as JSON.
_Json: TypeAlias = dict[str, Any]


class RankingRow(NamedTuple):
    """One learner in a ranking, or the random fixed action, which has no rank.

    Means are over repetitions.

    mean_loss: per row, in [0, 1].
    regret: total regret over the whole list, in losses; with a target, in cost.
    switches: mean number of changes of the action in a play.
    spent: mean total cost of each resource; empty without a budget.
    above_first: regret minus that of the first learner, paired by repetition; None for the first.
    """

    rank: int | None
    learner: str
    mean_loss: float
    regret: Estimate
    switches: float
    spent: tuple[float, ...]
    above_first: Estimate | None


@dataclass(frozen=True, eq=False)
class CompareReport:
    """Everything about a comparison, computed once; `run_comparison` builds it.

    name: of the table, in texts.
    runs: results of all plays.
    n_cached: number of repetitions that were read from the cache.
    routing: result of choosing actions by features; None without features.
    """

    name: str
    table: Table
    request: CompareRequest
    runs: Runs
    order_test: OrderVerdict
    n_cached: int = 0
    routing: Routing | None = None

    @property
    def pool(self) -> Pool:
        """The compared table as a `Pool`: losses in [0, 1], with names of the actions."""
        return self.table.pool

    @cached_property
    def budget(self) -> Budget | None:
        """The budget or target, None without one."""
        return self.request.budget(self.pool)

    @cached_property
    def best_mix(self) -> Optimum | None:
        """The best fixed mix within the budget or for the target; None without one."""
        return None if self.budget is None else optimum(self.pool, self.budget)

    @cached_property
    def feedback(self) -> str:
        """The feedback of the learners: "full", "bandit", or "mixed" if they differ."""
        full = {
            feedback_type(learner).full_feedback
            for learner in self.request.learners_by_name.values()
        }
        return "mixed" if len(full) > 1 else "full" if True in full else "bandit"

    @cached_property
    def row_delays(self) -> tuple[int, int] | None:
        """Smallest and largest delay of the rows in rounds; None with one delay for all."""
        delay = self.request.delay(self.table)
        return (
            (int(delay.values.min()), int(delay.values.max()))
            if isinstance(delay, RowDelays)
            else None
        )

    @cached_property
    def random_action_loss(self) -> float | None:
        """The total loss of a fixed action, averaged over actions; None under a budget."""
        return None if self.runs.amounts else float(self.pool.means.mean()) * self.pool.rows

    @cached_property
    def advice(self) -> Advice:
        """The advised learner, with the estimates that support the advice."""
        return advise(self.runs, self.request.kind, self.random_action_loss)

    @cached_property
    def bound(self) -> float | None:
        """The proved bound on the advised learner's expected regret; None if unknown."""
        return self.runs.bounds.get(Entry(self.pool.rows, self.advice.order, self.advice.learner))

    @cached_property
    def rankings(self) -> dict[str, tuple[RankingRow, ...]]:
        """Learners by regret, the best first, for each input model ("random", "given").

        The random fixed action, a baseline without learning, is inserted by its regret, without a
        rank.
        """
        return {order: self._ranking(order) for order in self.runs.orders}

    def _ranking(self, order: str) -> tuple[RankingRow, ...]:
        runs = self.runs
        rows = []
        names = runs.ranking(order)
        for rank, name in enumerate(names, start=1):
            end = runs.cell(name, order).sums[:, -1].mean(axis=0)
            above = None if rank == 1 else runs.difference(name, names[0], order)
            spent = tuple(end[SPENT:].tolist())
            loss = float(end[LOSS]) / self.pool.rows
            switches = float(end[SWITCHES])
            rows.append(
                RankingRow(rank, name, loss, runs.regret(name, order), switches, spent, above)
            )
        if self.random_action_loss is None:
            return tuple(rows)
        gains = [
            _statistics.mean(self.random_action_loss - total_losses(runs, name, order))
            for name in names
        ]
        regret = gains[0].value + rows[0].regret.value
        place = next((at for at, gain in enumerate(gains) if gain.value < 0), len(gains))
        exact = Estimate(
            regret, -math.inf, math.inf, 1
        )  # an average over actions, not over repetitions: no interval
        loss = self.random_action_loss / self.pool.rows
        random_action = RankingRow(
            None, RANDOM_ACTION, loss, exact, 0.0, (), gains[0] if place else None
        )
        return (*rows[:place], random_action, *rows[place:])

    def ranking_cells(self, row: RankingRow) -> dict[str, str]:
        """Return the fields of a ranking row by name, as text in the unit of the table."""
        scale = self.regret_scale
        return {
            "rank": "" if row.rank is None else str(row.rank),
            "learner": row.learner,
            "mean_loss": f"{self.units.number(row.mean_loss):.4f}",
            "regret": format_estimate(row.regret.linear(scale)),
            "switches": f"{row.switches:,.0f}",
            "spent": ", ".join(format_number(cost) for cost in row.spent),
            "above_first": ""
            if row.above_first is None
            else format_estimate(row.above_first.linear(scale)),
        }

    @property
    def quantity(self) -> str:
        """The word for the numbers of the table, such as accuracy or loss."""
        return self.units.quantity

    @property
    def units(self) -> Units:
        """Conversion between losses in [0, 1] and the unit of the table."""
        return self.table.units

    @property
    def regret_scale(self) -> float:
        """Length of the range of the table, to convert regrets; 1 for costs (a target)."""
        return 1.0 if self.request.target is not None else self.units.gap(1.0)

    @cached_property
    def groups(self) -> list[GroupRow]:
        """The best action of each group, in the unit of the table; empty without groups."""
        if self.table.strata is None:
            return []
        rows = group_rows(self.pool.losses, self.table.strata, self.pool.actions, "losses")
        value = self.units.number
        return [
            group._replace(best_mean=value(group.best_mean), second_mean=value(group.second_mean))
            for group in rows
        ]

    @cached_property
    def summary(self) -> Summary:
        """The result in sentences, for terminal, page and JSON."""
        return summarise(self)

    @cached_property
    def order_text(self) -> str:
        """The result of the order test in a sentence."""
        return order_test_text(self.order_test, self.pool.actions, _ORDER_TEST_LEVEL)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on the conversion of the table and on the feedback of the learners."""
        conditions = self.request.conditions
        target = self.request.target
        # Direction and best action are in the summary already.
        notes = [
            note
            for note in self.table.notes
            if not note.startswith(("best fixed action", "read as "))
        ]
        if self.feedback == "mixed":
            notes.append(
                "some learners see the whole row, others only the outcome of the played action"
            )
        elif self.runs.amounts and self.feedback == "full":
            notes.append("the learners see the whole row with its costs after each round")
        elif self.feedback != conditions.feedback:
            seen = (
                "the whole row" if self.feedback == "full" else "the outcome of the played action"
            )
            notes.append(
                f"the learners see {seen}; {option_text('feedback', conditions.feedback)} has no "
                "effect"
            )
        if self.table.delays is not None and self.row_delays is None:
            notes.append(
                f"every row has a delay of {plural(conditions.delay, 'round')} as requested; its "
                "own delay is ignored"
            )
        if target is not None or conditions.switching_price > 0:
            quantity = "the target" if target is not None else "the switching price"
            if any(" rescaled from [" in note for note in notes):
                notes.append(
                    f"{quantity} is in rescaled losses from 0 to 1, not in the unit of the table"
                )
        if (
            self.pool.features is not None
            and (reason := skip_reason(self.table, self.request)) is not None
        ):
            notes.append(reason)
        elif self.routing is not None and self.feedback != "full":
            notes.append(
                "routing sees whole rows after each round, the learners only the outcome of the "
                "played action"
            )
        if target is not None:
            notes.append(
                "regret is the cost above the cheapest mix plus twice the price of each loss "
                "above the target"
            )
        return tuple(notes)

    def __repr__(self) -> str:
        return short_repr(
            f"CompareReport({self.name!r}, {self.pool.rows} rows, {self.pool.k} actions, "
            f"{len(self.runs.learners)} learners, advice {self.advice.learner!r})"
        )

    def _repr_html_(self) -> str:
        summary = self.summary
        tables = []
        for order, ranking in self.rankings.items():
            cells = [self.ranking_cells(row) for row in ranking]
            rows = [
                [cell[key] for key in ("rank", "learner", "mean_loss", "regret", "above_first")]
                for cell in cells
            ]
            columns = ("rank", "learner", f"mean {self.quantity}", "regret", "above the first")
            tables.append(HtmlTable(columns, rows, f"{order} order"))
        answer = (summary.best, summary.advice, summary.gain, summary.precision)
        return html_block(
            summary.table, [], tables, (*summary.remarks, *answer, *summary.warnings, *self.notes)
        )

    def to_dict(self) -> _Json:
        """Return the report as plain data, for JSON.

        Keys: those of the request, and table, rows, kind, candidates, ignored_columns,
        rows_left_out, actions, mean_losses, summary, order_test,
            rankings, advice,
        best_mix, groups, routing and notes; an estimate is a dict with value, low and high.

        Mean losses are in [0, 1], and regrets are totals of such losses over the list; only means
        in groups are in the unit of the table.
        """
        pool = self.pool
        conditions = self.request.conditions
        advice = self.advice
        return {
            "table": self.name,
            "read_as": {
                "kind": self.table.kind,
                "unit": self.table.unit,
                "range": list(self.table.range),
            },
            "rows": pool.rows,
            **self.table.reading(),
            "actions": list(pool.actions),
            "mean_losses": pool.means.tolist(),
            "best_fixed_action": pool.actions[pool.best],
            "feedback": self.feedback,
            "delay": conditions.delay if self.row_delays is None else list(self.row_delays),
            "switching_price": conditions.switching_price,
            "budget": list(self.request.amounts),
            "target": self.request.target,
            "repetitions": self.request.repetitions,
            "seed": self.request.seed,
            "summary": self.summary._asdict(),
            "order_test": {
                "rejected": self.order_test.refuted,
                "p_value": self.order_test.p_value,
                "text": self.order_text,
            },
            "rankings": {
                order: [_row_data(row) for row in rows if row.rank is not None]
                for order, rows in self.rankings.items()
            },
            "advice": {
                "learner": None if advice.fixed_action else advice.learner,
                "fixed_action": advice.fixed_action,
                "tied": list(advice.tied),
                "regret": interval_data(advice.regret),
                "next": advice.next or None,
                "lead_over_next": interval_data(advice.lead),
                "gain_over_random_fixed_action": interval_data(advice.gain),
                "bound": self.bound,
            },
            "best_mix": self._mix_data(),
            "groups": [group._asdict() for group in self.groups],
            "routing": None if self.routing is None else self.routing.to_dict(),
            "notes": list(self.notes),
        }

    def _mix_data(self) -> _Json | None:
        if self.best_mix is None:
            return None
        best = self.best_mix
        return {
            "shares": dict(zip(self.runs.actions, best.mix.tolist(), strict=True)),
            "mean_loss": 1 - best.value,
            "costs": (self.pool.rows * best.cost).tolist(),
            "prices": [price if math.isfinite(price) else None for price in best.prices.tolist()],
        }


def run_comparison(
    table: Table,
    request: CompareRequest,
    *,
    name: str = "table",
    workers: int = 1,
    cache_dir: Path | None = None,
) -> CompareReport:
    """Compare the learners on a table, test its order, and return the report.

    Raises ParameterError if the request does not fit the table, such as a budget without costs.

    table, request: the table, as `read_table` returns it, and the parameters of the comparison.
    name: of the table, in texts.
    workers: number of threads.
    cache_dir: folder for finished repetitions, from which an interrupted comparison continues; None
        for no cache.

    >>> from tombola.tables import read_table
    >>> from tombola.advice.default_learners import Conditions
    >>> request = CompareRequest(Conditions("full"), repetitions=3)
    >>> report = run_comparison(read_table([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 20, kind="losses"), request)
    >>> report.summary.best.partition(". ")[0]
    'Best action in this table (exact): 0, mean loss 0.3333; next: 1, 0.3333 behind'
    """
    pool = table.pool
    comparison = request.comparison(table)
    settings = (
        pool.actions,
        request.conditions,
        request.orders,
        request.amounts,
        request.target,
        request.seed,
    )
    sources = {
        name: [repr(learner), source_hash(learner)]
        for name, learner in request.learners_by_name.items()
    }
    key = result_key(package_hash(), repr(settings), sources, pool.losses, pool.costs, table.delays)
    cache = None if cache_dir is None else ResultCache(cache_dir)
    runs, n_cached = play_cached(
        partial(comparison.play, workers=workers), request.repetitions, cache, key
    )
    order_test = order_verdict(pool, _ORDER_TEST_LEVEL, seed=request.seed)
    routing = None
    if pool.features is not None and skip_reason(table, request) is None:
        routing = run_routing(table, request, workers=workers)
    return CompareReport(name, table, request, runs, order_test, n_cached, routing)


def _row_data(row: RankingRow) -> _Json:
    return {
        **row._asdict(),
        "regret": interval_data(row.regret),
        "spent": list(row.spent),
        "above_first": interval_data(row.above_first),
    }
