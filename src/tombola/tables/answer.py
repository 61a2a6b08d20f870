"""Answer: what a comparison on a table of one's own says, as words and as plain data."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tombola.budget import Budget
from tombola.comparing import compare
from tombola.confidence import Verdict, examine
from tombola.engine.loop import SWITCHES
from tombola.errors import ParameterError
from tombola.pool import Pool
from tombola.readers.pooling import Table
from tombola.report.compare_page import Standing
from tombola.runs import Runs
from tombola.statistics import Estimate
from tombola.tables.advice import ADVICE, Advice, bound_of, line
from tombola.tables.question import Question, late
from tombola.tables.words import plus_minus, short

LEVEL = 0.01  # how often the random-order test may raise a false alarm
Numbers: TypeAlias = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer: the runs, the random-order test of the table as it is listed, and what they mean."""

    name: str
    table: Table
    question: Question
    runs: Runs
    verdict: Verdict

    @property
    def pool(self) -> Pool:
        """The table as a pool."""
        return self.table.pool

    @property
    def notes(self) -> list[str]:
        """What was done to the table, and what else is to be known."""
        notes = [note for note in self.table.notes if not note.startswith("best fixed action")]
        seen = {"full"} if self.runs.amounts else {learner.feedback for learner in self.question.recipes.values()}
        if self.runs.amounts:
            notes.append("learners under a budget see the whole row, with its costs, after each play")
        elif len(seen) > 1:
            notes.append("each learner sees what it needs: some the whole row, others the loss of the action played")
        return notes

    @property
    def headline(self) -> str:
        """The size of the table."""
        return f"{self.name}: {self.pool.rows:,} rows, {self.pool.k:,} actions"

    @property
    def best(self) -> str:
        """The best fixed action, and under a budget the best fixed mix."""
        pool = self.pool
        return f"best fixed action: {pool.actions[pool.best]}, mean loss {pool.means[pool.best]:.4g}"

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
            f"table looks so with probability {max(self.verdict.chance, 1e-99):.0e} at most); results in random order "
            "hold if the rows are shuffled first, not for the table as it is listed"
        )

    @property
    def advice(self) -> Advice:
        """The advice for this setting."""
        return ADVICE["budget" if self.runs.amounts else self.question.met.kind]

    @property
    def place(self) -> int | None:
        """The rank of the advised learner on this table, if it took part."""
        ranking = self.runs.ranking()
        return ranking.index(self.advice.learner) + 1 if self.advice.learner in ranking else None

    @property
    def advice_line(self) -> str:
        """The advice in one line."""
        met, pool = self.question.met, self.pool
        count = len(self.runs.learners)
        return line(
            self.advice, self.place, count, pool.k, pool.rows, delay=met.delay, price=met.switching_price
        )  # fmt: skip

    def spent(self, learner: str, order: str) -> list[float]:
        """Return the mean spending of a learner at the end, by resource; nothing where there is no budget."""
        _, spent = self.runs.spent(learner, order)
        return [float(amount) for amount in spent[:, -1].mean(axis=0)]

    def standings(self, order: str) -> tuple[Standing, ...]:
        """Return the ranking in words."""
        runs, found = self.runs, []
        ranking = runs.ranking(order)
        for rank, name in enumerate(ranking, start=1):
            above = "" if rank == 1 else plus_minus(runs.difference(name, ranking[0], order))
            end = runs.cell(name, order).sums[:, -1].mean(axis=0)
            spent = ", ".join(short(amount) for amount in self.spent(name, order))
            mean_loss = f"{end[0] / self.pool.rows:.4f}"
            found.append(
                Standing(
                    rank, name, mean_loss, plus_minus(runs.regret(name, order)), f"{end[SWITCHES]:,.0f}", spent, above
                )
            )
        return tuple(found)

    def data(self) -> Numbers:
        """Return everything as plain data, for JSON."""
        pool, met = self.pool, self.question.met
        return {
            "table": self.name,
            "rows": pool.rows,
            "actions": list(pool.actions),
            "mean_losses": pool.means.tolist(),
            "best_fixed_action": pool.actions[pool.best],
            "feedback": "full" if self.runs.amounts else met.feedback,
            "delay": met.delay,
            "switching_price": met.switching_price,
            "budget": list(self.question.amounts),
            "repetitions": self.question.repetitions,
            "seed": self.question.seed,
            "random_order": {
                "refuted": self.verdict.refuted, "chance": self.verdict.chance, "meaning": self.order_words
            },
            "rankings": {order: self._lines(order) for order in self.runs.orders},
            "advice": {
                "learner": self.advice.learner, "why": self.advice.why, "proved": self.advice.proved,
                "bound": bound_of(self.advice, pool.k, pool.rows, delay=met.delay, price=met.switching_price),
                "rank_here": self.place, "rank_on_demo_pools": self.advice.rank,
            },
            "notes": self.notes,
        }  # fmt: skip

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


def answer_to(table: Table, question: Question, *, name: str = "table", workers: int = 1) -> Answer:
    """Compare the learners on this table, and test whether it is listed in random order.

    >>> from tombola.readers import read_table
    >>> from tombola.tables.contestants import Circumstances
    >>> question = Question(Circumstances("full"), repetitions=3)
    >>> report = answer_to(read_table([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 20), question)
    >>> report.best, report.standings("random")[-1].learner
    ('best fixed action: 0, mean loss 0.3333', 'Uniform')
    """
    pool = table.pool
    budget = _budget(pool, question.amounts) if question.amounts else None
    runs = compare(
        pool, question.recipes if budget is None else question.budgeted_recipes, list(question.orders),
        repetitions=question.repetitions, delay=late(table, question),
        switching_price=question.met.switching_price, budget=budget, workers=workers, seed=question.seed,
    )  # fmt: skip
    return Answer(name, table, question, runs, examine(pool, LEVEL, seed=question.seed))


def _budget(pool: Pool, amounts: Sequence[float]) -> Budget:
    """Return the budget, with an action that does nothing unless the table has one that is free."""
    if pool.costs is None:
        raise ParameterError(
            "budget: the table must have costs, got none; add columns cost:ACTION, or name them with --costs."
        )
    free = bool((pool.costs.max(axis=(0, 2)) == 0).any())
    return Budget(list(amounts), null=None if free else "add")


def _numbers(estimate: Estimate) -> Numbers:
    finite = math.isfinite(estimate.half_width)
    return {"value": estimate.value, "low": estimate.low if finite else None, "high": estimate.high if finite else None}
