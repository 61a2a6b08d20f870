"""Parameters of `tombola compare`, before a table is read."""

from dataclasses import dataclass
from functools import cached_property

from tombola._compare import Comparison
from tombola._formatting import option_text
from tombola.advice.default_learners import (
    DEFAULTS,
    Conditions,
    Kind,
    default_budgeted_learners,
    default_learners,
)
from tombola.advice.learner_list import parse_learner_text
from tombola.budget.budget import Budget
from tombola.delay import RowDelays
from tombola.errors import ParameterError
from tombola.learners import BudgetedBase
from tombola.learners.base import Learner
from tombola.order import as_order_model
from tombola.pool import Pool
from tombola.tables.to_pool import Table


@dataclass(frozen=True, eq=False)
class CompareRequest:
    """Hold the parameters of a comparison on a table of the user.

    Raises ParameterError for an unknown feedback or order.

    - `conditions`: feedback, delay and switching price.
    - `learners`: learners as text; the default learners of the conditions if empty.
    - `orders`: input models: "random", "iid" or "given".
    - `amounts`: budget of each resource; empty for none.
    - `repetitions`, `seed`: plays per learner and input model, and the seed of all randomness.
    - `target`: mean loss to reach at the least cost; None for none.
    """

    conditions: Conditions
    learners: tuple[str, ...] = ()
    orders: tuple[str, ...] = ("random",)
    amounts: tuple[float, ...] = ()
    repetitions: int = 40
    seed: int = 1
    target: float | None = None

    def __post_init__(self) -> None:
        if self.conditions.feedback not in DEFAULTS:
            raise ParameterError(
                f"{option_text('feedback')}: expected bandit or full, got "
                f"{self.conditions.feedback!r}; "
                f"write {option_text('feedback', 'bandit')}."
            )
        for order in self.orders:
            as_order_model(order)
        if len(set(self.orders)) != len(self.orders) or not self.orders:
            raise ParameterError(
                f"{option_text('orders')}: expected different ones of random, iid and given, got "
                f"{', '.join(self.orders) or 'none'}; write for example random,given."
            )

    @property
    def has_budget(self) -> bool:
        """Whether costs count: the request has amounts of a budget, or a target."""
        return bool(self.amounts) or self.target is not None

    @property
    def kind(self) -> Kind:
        """The condition that decides which learners are suitable, such as "switching"."""
        if not self.has_budget:
            return self.conditions.kind
        return "budget" if self.conditions.feedback == "full" else "budget losses"

    @cached_property
    def learners_by_name(self) -> dict[str, Learner] | dict[str, BudgetedBase]:
        """The learners to compare, by name; the defaults if the request has none."""
        if self.has_budget:
            return self._budgeted_learners()
        suited = default_learners(self.conditions)
        return {
            text: suited[text] if text in suited else parse_learner_text(text)
            for text in self.learners
        } or suited

    def _budgeted_learners(self) -> dict[str, BudgetedBase]:
        suited = default_budgeted_learners(self.conditions.feedback)
        every = {**default_budgeted_learners("full"), **default_budgeted_learners("bandit")}
        if self.target is not None:
            suited, every = (
                {name: learner for name, learner in some.items() if learner.supports_target}
                for some in (suited, every)
            )
        for name in self.learners:
            if name not in every:
                condition = "budget" if self.target is None else "target"
                raise ParameterError(
                    f"{option_text('learners')}: expected some of {', '.join(every)} with a "
                    f"{condition}, got "
                    f"{name!r}; write one of those."
                )
        return {name: every[name] for name in self.learners} or suited

    def delay(self, table: Table) -> int | RowDelays:
        """Return the delay of the conditions or, if it is 0, the delays of the rows."""
        if self.conditions.delay > 0 or table.delays is None:
            return self.conditions.delay
        return RowDelays(table.delays)

    def budget(self, pool: Pool) -> Budget | None:
        """Return the `Budget` of the comparison on `pool`; None without budget and target.

        A null action (no cost, loss 1) is added unless an action is free. ParameterError if the
        pool has no costs.
        """
        if not self.has_budget:
            return None
        if pool.costs is None:
            name = option_text("budget" if self.target is None else "target")
            raise ParameterError(
                f"{name}: the table must have costs, got none; add columns cost:ACTION, or name "
                "those there are with "
                f"{option_text('costs', 'cost_*')}."
            )
        free = bool((pool.costs.max(axis=(0, 2)) == 0).any())
        return Budget(list(self.amounts) or None, null=None if free else "add", target=self.target)

    def comparison(self, table: Table) -> Comparison:
        """Return the `Comparison` of the learners on this table; `play` runs it."""
        return Comparison(
            table.pool,
            self.learners_by_name,
            list(self.orders),
            delay=self.delay(table),
            switching_price=self.conditions.switching_price,
            budget=self.budget(table.pool),
            seed=self.seed,
        )
