"""ParsedTable: what every reader gives, and what the caller asked for."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import option_text
from tombola._types import Floats
from tombola.errors import TableError

LOSSES = ("losses", "loss")
SCORES = ("scores", "score", "rewards", "reward")
COSTS = ("costs", "cost")
DELAYS = ("delays", "delay")
ACTION = ("action", "logged_action", "chosen_action")  # says by itself that every line has one action
ALSO_ACTION = (
    "algorithm",
    "model",
    "method",
    "solver",
    "arm",
)  # says so beside a column of losses, or of probabilities
CHANCE = ("propensity", "probability", "pscore", "action_prob", "logged_probability")


class ReadOptions(NamedTuple):
    """What the caller of `read_table` said about the table."""

    kind: Literal["losses", "scores"] | None = None
    actions: Sequence[str] | None = None
    costs: Any = None
    delay: str | None = None
    ids: str | None = None
    action: str | None = None
    value: str | None = None
    ignore: Sequence[str] = ()
    sheet: str | None = None
    decimal: str | None = None

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of the resources, where the costs are in the table itself."""
        if isinstance(self.costs, str):
            return (self.costs,)
        named = isinstance(self.costs, Sequence) and all(isinstance(one, str) for one in self.costs)
        return tuple(self.costs) if named else ()


class ParsedTable(NamedTuple):
    """A table taken apart: losses or rewards in their own unit, NaN where a cell is missing."""

    source: str
    kind: Literal["losses", "scores"]
    values: NDArray[Any]
    actions: tuple[str, ...] | None
    ids: tuple[str, ...] | None
    costs: NDArray[Any] | None
    delays: Floats | None
    notes: list[str]
    gap: str | None = None  # where the first missing cell is, in words
    doubt: str = ""  # a column by whose name more may be better, where nobody said what the numbers are
    unit: str = ""  # the word for the numbers in the column names

    def settled(self) -> "ParsedTable":
        """Return the parts, unless it is open whether less or more is better."""
        if not self.doubt:
            return self
        raise TableError(
            f"{self.source}: expected to be told whether less or more is better, got a column called {self.doubt!r}; "
            f"write {option_text('kind', 'scores')} if more is better, {option_text('kind', 'losses')} if less is."
        )


def logged(source: str, sign: str, hint: str = "") -> TableError:
    """Return the error that explains what a logged table is, and what it is good for."""
    return TableError(
        f"{source}: expected a loss for every action in every row, got a logged table, with one action a row ({sign}): "
        "the losses of the actions not taken are unknown, so it can estimate the mean loss of an action (by weighting "
        "each row with its probability), but cannot say what a learner would have lost; give a table with all losses, or "
        f"learn on new rows with Session{hint}."
    )


def costs_of(resources: Mapping[str, Any] | None) -> NDArray[Any] | None:
    """Return the tables of several resources as one array, rows x actions x resources."""
    return np.stack(list(resources.values()), axis=2) if resources else None
