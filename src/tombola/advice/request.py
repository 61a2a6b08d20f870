"""CompareRequest: what is asked of a table of one's own."""

from dataclasses import dataclass
from functools import cached_property

from tombola._formatting import option_text
from tombola.advice.default_learners import DEFAULTS, Conditions, Kind, default_budgeted_learners, default_learners
from tombola.advice.learner_list import learner_written
from tombola.delay import RowDelays
from tombola.errors import ParameterError
from tombola.learners import BudgetedBase
from tombola.learners.base import Learner
from tombola.order import as_order_model
from tombola.readers.to_pool import Table


@dataclass(frozen=True, eq=False)
class CompareRequest:
    """What is asked of a table: circumstances, learners by name (none: those that suit), orders, amounts to spend.

    A `target` is a mean loss that is enough: then as little as possible is to be spent.
    """

    met: Conditions
    learners: tuple[str, ...] = ()
    orders: tuple[str, ...] = ("random",)
    amounts: tuple[float, ...] = ()
    repetitions: int = 40
    seed: int = 1
    target: float | None = None

    def __post_init__(self) -> None:
        if self.met.feedback not in DEFAULTS:
            raise ParameterError(
                f"{option_text('feedback')}: expected bandit or full, got {self.met.feedback!r}; "
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
    def spends(self) -> bool:
        """Whether costs count: there is a budget, or a target to be reached at least cost."""
        return bool(self.amounts) or self.target is not None

    @property
    def kind(self) -> Kind:
        """The setting in one word: a budget, seeing rows or losses, or what weighs most of the circumstances."""
        if not self.spends:
            return self.met.kind
        return "budget" if self.met.feedback == "full" else "budget losses"

    @cached_property
    def recipes(self) -> dict[str, Learner]:
        """The learners to compare where there is no budget."""
        suited = default_learners(self.met)
        return {text: suited[text] if text in suited else learner_written(text) for text in self.learners} or suited

    @cached_property
    def budgeted_recipes(self) -> dict[str, BudgetedBase]:
        """The learners to compare under a budget: those that are named, or those that suit the feedback."""
        suited = default_budgeted_learners(self.met.feedback)
        every = {**default_budgeted_learners("full"), **default_budgeted_learners("bandit")}
        if self.target is not None:
            suited, every = (
                {name: learner for name, learner in some.items() if learner.supports_target} for some in (suited, every)
            )
        asked = "budget" if self.target is None else "target"
        for name in self.learners:
            if name not in every:
                raise ParameterError(
                    f"{option_text('learners')}: expected some of {', '.join(every)} where there is a {asked}, got "
                    f"{name!r}; write one of those."
                )
        return {name: every[name] for name in self.learners} or suited


def late(table: Table, question: CompareRequest) -> int | RowDelays:
    """Return how late feedback comes: as asked for, or else as the table's own column of delays says."""
    if question.met.delay > 0 or table.delays is None:
        return question.met.delay
    return RowDelays(table.delays)
