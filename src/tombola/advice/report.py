"""Answer: what a comparison on a table of one's own says, as words and as plain data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

from tombola import _statistics
from tombola._compare import Comparison
from tombola._formatting import format_estimate, format_number, option_text
from tombola._provenance import package_hash, source_hash
from tombola._statistics import Estimate
from tombola.advice.default_learners import Kind
from tombola.advice.ranking import Advice, advise, suffered
from tombola.advice.request import CompareRequest, late
from tombola.budget.budget import Budget
from tombola.budget.optimum import optimum
from tombola.confidence import OrderVerdict, check_order
from tombola.delay import RowDelays
from tombola.engine.loop import SWITCHES
from tombola.errors import ParameterError
from tombola.feedback import feedback_type
from tombola.persistence.result_cache import ResultCache, play_cached, result_key
from tombola.pool import Pool
from tombola.readers.to_pool import Table
from tombola.report.compare_page import RankingRow
from tombola.runs import Entry, Runs

LEVEL = 0.01  # how often the random-order test may raise a false alarm
Numbers: TypeAlias = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer: the runs, the random-order test of the table as it is listed, and what they mean."""

    name: str
    table: Table
    question: CompareRequest
    runs: Runs
    verdict: OrderVerdict
    known: int = 0  # repetitions that were kept from an earlier run

    @property
    def pool(self) -> Pool:
        """The table as a pool."""
        return self.table.pool

    @property
    def budget(self) -> Budget | None:
        """What may be spent, if anything costs anything."""
        return budget_asked(self.pool, self.question)

    @property
    def notes(self) -> list[str]:
        """What was done to the table, and what else is to be known."""
        notes = [note for note in self.table.notes if not note.startswith("best fixed action")]
        if self.feedback == "mixed":
            notes.append("each learner sees what it needs: some the whole row, others the loss of the action played")
        elif self.runs.amounts and self.feedback == "full":
            notes.append("learners under a budget see the whole row, with its costs, after each play")
        elif self.feedback != self.question.met.feedback:
            seen = "the whole row" if self.feedback == "full" else "the loss of the action played"
            notes.append(f"what was compared sees {seen}, whatever {option_text('feedback')} says")
        if self.table.delays is not None and self.delays is None:
            notes.append(f"every row is {self.question.met.delay} rounds late, as asked, whatever its own delay")
        unit = "the target" if self.question.target is not None else "the price of a switch"
        in_losses = self.question.target is not None or self.question.met.switching_price > 0
        if in_losses and any(" rescaled from [" in note for note in notes):
            notes.append(f"{unit} was taken in rescaled losses, from 0 to 1, and not in the unit of the table")
        if self.question.target is not None:
            notes.append("regret is what is spent above the cheapest mix, and twice the price of each loss too many")
        return notes

    @property
    def feedback(self) -> str:
        """What those compared see: full for whole rows, bandit for what was played; mixed where they differ."""
        recipes: dict[str, Any] = dict(self.question.budgeted_recipes if self.runs.amounts else self.question.recipes)
        whole = {feedback_type(learner).full_feedback for learner in recipes.values()}
        return "mixed" if len(whole) > 1 else "full" if True in whole else "bandit"

    @property
    def delays(self) -> tuple[int, int] | None:
        """The least and the largest delay, where every row has its own and nobody asked for another."""
        own = late(self.table, self.question)
        return (int(own.values.min()), int(own.values.max())) if isinstance(own, RowDelays) else None

    @property
    def headline(self) -> str:
        """The size of the table."""
        return f"{self.name}: {self.pool.rows:,} rows, {self.pool.k:,} actions"

    @property
    def best(self) -> str:
        """The best fixed action, and by how much."""
        pool = self.pool
        means = pool.means
        words = f"{pool.actions[pool.best]}, mean loss {means[pool.best]:.4g}"
        if pool.k == 1:
            return words
        second = min(
            (action for action in range(pool.k) if action != pool.best), key=lambda action: float(means[action])
        )
        return f"{words}, {means[second] - means[pool.best]:.4g} below {pool.actions[second]}, the second"

    @property
    def order_words(self) -> str:
        """What the random-order test says, in plain words."""
        if not self.verdict.refuted:
            return (
                "nothing speaks against random order in the table as it is listed (a shuffled table raises an alarm "
                f"at most once in {1 / LEVEL:.0f} times); still, only shuffling it makes sure"
            )
        drifting = self.pool.actions[self.verdict.column]
        return (
            f"not random: the losses of {drifting} drift, which shows after {self.verdict.values:,} rows (a shuffled "
            f"table looks so with probability {max(self.verdict.p_value, 1e-99):.0e} at most); results in random order "
            "hold if the rows are shuffled first, not for the table as it is listed"
        )

    @cached_property
    def advice(self) -> Advice:
        """What to use here."""
        return advise(self.runs, self.kind, self.blind)

    @property
    def blind(self) -> float | None:
        """The loss of one action picked blindly, which stays, on average over the actions; none under a budget."""
        return None if self.runs.amounts else float(self.pool.means.mean()) * self.pool.rows

    @property
    def kind(self) -> Kind:
        """The setting in one word."""
        return self.question.kind

    @property
    def bound(self) -> float | None:
        """The proved bound on the expected regret of the advised learner here, if there is one."""
        return self.runs.bounds.get(Entry(self.pool.rows, self.advice.order, self.advice.learner))

    def spent(self, learner: str, order: str) -> list[float]:
        """Return the mean spending of a learner at the end, by resource; nothing where there is no budget."""
        _, spent = self.runs.spent(learner, order)
        return [float(amount) for amount in spent[:, -1].mean(axis=0)]

    def standings(self, order: str) -> tuple[RankingRow, ...]:
        """Return the ranking in words; one action, picked blindly, has its place in it, but no rank."""
        runs, found = self.runs, []
        ranking = runs.ranking(order)
        for rank, name in enumerate(ranking, start=1):
            above = "" if rank == 1 else format_estimate(runs.difference(name, ranking[0], order))
            end = runs.cell(name, order).sums[:, -1].mean(axis=0)
            spent = ", ".join(format_number(amount) for amount in self.spent(name, order))
            mean_loss = f"{end[0] / self.pool.rows:.4f}"
            found.append(
                RankingRow(
                    str(rank), name, mean_loss, format_estimate(runs.regret(name, order)), f"{end[SWITCHES]:,.0f}", spent,
                    above,
                )
            )  # fmt: skip
        return self._with_blind(found, ranking, order)

    def _with_blind(self, found: list[RankingRow], ranking: list[str], order: str) -> tuple[RankingRow, ...]:
        if self.blind is None:
            return tuple(found)
        gains = [_statistics.mean(self.blind - suffered(self.runs, name, order)) for name in ranking]
        regret = gains[0].value + self.runs.regret(ranking[0], order).value
        mean_loss = f"{self.blind / self.pool.rows:.4f}"
        place = next((at for at, gain in enumerate(gains) if gain.value < 0), len(gains))
        above = format_estimate(gains[0]) if place else ""
        blind = RankingRow("", "one action, blindly", mean_loss, format_number(regret), "0", "", above)
        return (*found[:place], blind, *found[place:])

    def data(self) -> Numbers:
        """Return everything as plain data, for JSON."""
        pool, met = self.pool, self.question.met
        return {
            "table": self.name,
            "rows": pool.rows,
            "actions": list(pool.actions),
            "mean_losses": pool.means.tolist(),
            "best_fixed_action": pool.actions[pool.best],
            "feedback": self.feedback,
            "delay": met.delay if self.delays is None else list(self.delays),
            "switching_price": met.switching_price,
            "budget": list(self.question.amounts),
            "target": self.question.target,
            "repetitions": self.question.repetitions,
            "seed": self.question.seed,
            "random_order": {
                "refuted": self.verdict.refuted, "probability": self.verdict.p_value, "meaning": self.order_words
            },
            "rankings": {order: self._lines(order) for order in self.runs.orders},
            "advice": {
                "learner": None if self.advice.stays else self.advice.learner,
                "stay": self.advice.stays,
                "tied": list(self.advice.tied),
                "regret": _numbers(self.advice.regret),
                "next": self.advice.next or None,
                "ahead_of_the_next": None if self.advice.ahead is None else _numbers(self.advice.ahead),
                "gain_over_one_action": None if self.advice.gain is None else _numbers(self.advice.gain),
                "bound": self.bound,
            },
            "best_mix": self._mix(),
            "notes": self.notes,
        }  # fmt: skip

    def _mix(self) -> Numbers | None:
        if self.budget is None:
            return None
        best = optimum(self.pool, self.budget)
        shares = dict(zip(self.runs.actions, best.mix.tolist(), strict=True))
        prices = [price if math.isfinite(price) else None for price in best.prices.tolist()]
        spends = (self.pool.rows * best.cost).tolist()
        return {"shares": shares, "mean_loss": 1 - best.value, "spends": spends, "prices": prices}

    def _lines(self, order: str) -> list[Numbers]:
        ranking = self.runs.ranking(order)
        lines = []
        for rank, name in enumerate(ranking, start=1):
            end = self.runs.cell(name, order).sums[:, -1].mean(axis=0)
            lines.append(
                {
                    "rank": rank,
                    "learner": name,
                    "mean_loss": float(end[0]) / self.pool.rows,
                    "regret": _numbers(self.runs.regret(name, order)),
                    "switches": float(end[SWITCHES]),
                    "spent": self.spent(name, order),
                    "above_the_first": _numbers(self.runs.difference(name, ranking[0], order)),
                }
            )
        return lines


def answer_to(
    table: Table, question: CompareRequest, *, name: str = "table", workers: int = 1, keep: Path | None = None
) -> Answer:
    """Compare the learners on this table, and test whether it is listed in random order.

    In the folder `keep`, what was played is kept: a comparison that was stopped goes on where it was, and one
    with more repetitions plays only those that are new.

    >>> from tombola.readers import read_table
    >>> from tombola.advice.default_learners import Conditions
    >>> question = CompareRequest(Conditions("full"), repetitions=3)
    >>> answer = answer_to(read_table([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 20, kind="losses"), question)
    >>> answer.best, answer.standings("random")[-1].learner
    ('0, mean loss 0.3333, 0.3333 below 1, the second', ...)
    """
    pool = table.pool
    budget = budget_asked(pool, question)
    learners: dict[str, Any] = dict(question.recipes if budget is None else question.budgeted_recipes)

    comparison = Comparison(
        pool, learners, list(question.orders), delay=late(table, question),
        switching_price=question.met.switching_price, budget=budget, seed=question.seed,
    )  # fmt: skip
    settings = (pool.actions, question.met, question.orders, question.amounts, question.target, question.seed)
    sources = {name: [repr(learner), source_hash(learner)] for name, learner in learners.items()}
    key = result_key(package_hash(), repr(settings), sources, pool.losses, pool.costs, table.delays)
    cache = None if keep is None else ResultCache(keep)
    runs, known = play_cached(partial(comparison.play, workers=workers), question.repetitions, cache, key)
    return Answer(name, table, question, runs, check_order(pool, LEVEL, seed=question.seed), known)


def budget_asked(pool: Pool, question: CompareRequest) -> Budget | None:
    """Return what may be spent, and what mean loss is enough; None where nothing is said of either."""
    return budget_on(pool, question.amounts, question.target) if question.spends else None


def budget_on(pool: Pool, amounts: Sequence[float], target: float | None = None) -> Budget:
    """Return the budget, with an action that does nothing unless the table has one that is free."""
    if pool.costs is None:
        asked = option_text("budget" if target is None else "target")
        raise ParameterError(
            f"{asked}: the table must have costs, got none; add columns cost:ACTION, or name those there are with "
            f"{option_text('costs', 'cost_*')}."
        )
    free = bool((pool.costs.max(axis=(0, 2)) == 0).any())
    return Budget(list(amounts) or None, null=None if free else "add", target=target)


def _numbers(estimate: Estimate) -> Numbers:
    finite = math.isfinite(estimate.half_width)
    return {"value": estimate.value, "low": estimate.low if finite else None, "high": estimate.high if finite else None}
