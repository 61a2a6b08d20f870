"""Types of a reader: the options of the caller, and the table as parsed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import command_text, join_names, option_text
from tombola._types import Floats, Integers
from tombola.errors import QuestionError, TableError
from tombola.tables.columns import TIMEOUT_NOTE
from tombola.tables.names import contrary_names, direction_of_file, stated_direction
from tombola.units import KINDS, Kind


class EncodedFeatures(NamedTuple):
    """Encoded features: an array (rows, features), a name for each of its columns, and notes."""

    values: Floats
    names: tuple[str, ...]
    notes: list[str]


class ReadOptions(NamedTuple):
    """Options of `read_table` that affect parsing; None means: detect.

    Fields are the parameters of `read_table`; `range` only serves to reject cells in another unit,
    nothing is rescaled.
    """

    kind: Kind | None = None
    actions: Sequence[str] | None = None
    costs: Any = None
    delay: str | None = None
    ids: str | None = None
    action: str | None = None
    value: str | None = None
    ignore: Sequence[str] = ()
    sheet: str | None = None
    decimal: str | None = None
    header: bool | None = None
    features: Sequence[str] = ()
    text: Sequence[str] = ()
    by: str | None = None
    range: tuple[float, float] | None = None
    run: str | None = None
    runs: bool = False
    transpose: bool = False
    words: Mapping[str, float] = MappingProxyType({})
    ignore_rows: Sequence[str] = ()
    unfinished: bool = False

    @property
    def resources(self) -> tuple[str, ...]:
        """Columns named by the option `costs`; none for a second table or dict of prices."""
        if isinstance(self.costs, str):
            return (self.costs,)
        has_names = isinstance(self.costs, Sequence) and all(
            isinstance(cost, str) for cost in self.costs
        )
        return tuple(self.costs) if has_names else ()


class ParsedTable(NamedTuple):
    """A parsed table, its numbers in their own unit and NaN for missing cells.

    values, costs: rows x actions; costs may have a third axis of resources
    first_missing: place of the first missing cell, as text; None if no cell is missing, or its
        place is unknown
    unit: word for the numbers in the column names, or ""
    ignored, groups: columns that are not used, with the reason; columns of groups, with their
        number
    possible_features, other_units: ignored columns that could be features, or look like actions in
        another unit
    strata: the group of each row, from the column of the option `by`
    value_columns: names of the columns of values in the file
    questions: those of the notes that every answer repeats: rows and columns that sum up the
        others, and answers without a score
    has_unique_ids: whether the ids are known to differ; False if they were not examined.
    row_mask: which rows of the file were read, if some sum up others and were left out; else None
    runs: all answers, shape (runs, rows, actions), NaN where a cell has fewer; None if every cell has
        one. Then `values` are the means over the runs.
    line_rows: the row, from 0, of each line of the file, if a row has several; else None
    odd_cells: columns with a few cells on another scale, or that mark missing ones, with a text
    """

    source: str
    kind: Kind | None
    values: NDArray[Any]
    actions: tuple[str, ...] | None
    ids: tuple[str, ...] | None
    costs: NDArray[Any] | None
    delays: Floats | None
    notes: list[str]
    first_missing: str | None = None
    unit: str = ""
    ignored: Mapping[str, str] = MappingProxyType({})
    groups: Mapping[str, int] = MappingProxyType({})
    features: Floats | None = None
    feature_names: tuple[str, ...] = ()
    possible_features: tuple[str, ...] = ()
    strata: tuple[str, ...] | None = None
    id_column: str = ""
    value_columns: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    other_units: tuple[str, ...] = ()
    row_mask: NDArray[np.bool_] | None = None
    has_unique_ids: bool = False
    runs: Floats | None = None
    line_rows: Integers | None = None
    odd_cells: Mapping[str, str] = MappingProxyType({})

    @property
    def contradiction(self) -> str:
        """Sentence if the given direction contradicts the column names; else ""."""
        contrary = contrary_names(self.value_columns, self.kind)
        if not contrary:
            return ""
        better = "higher" if self.kind == "losses" else "lower"
        examples = join_names(contrary, limit=3)
        return (
            f"the names say {better} is better ({examples}), but "
            f"{option_text('kind', self.kind)} was given."
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the actions; "0", "1", .. for columns of an array without names."""
        return self.actions or tuple(str(action) for action in range(self.values.shape[1]))

    @property
    def n_masked(self) -> int:
        """The number of rows of the file that sum up others, or that the user leaves out."""
        return 0 if self.row_mask is None else int((~self.row_mask).sum())

    @property
    def has_timeouts(self) -> bool:
        """Whether cells state a timeout, such as TO or >60; they count as missing."""
        return any(note.startswith(TIMEOUT_NOTE) for note in self.notes)

    def with_features(self, encoded: "EncodedFeatures") -> "ParsedTable":
        """Return the table with features, and the notes on them."""
        values, names, notes = encoded
        return self._replace(features=values, feature_names=names, notes=[*self.notes, *notes])

    def select_actions(self, actions: Sequence[str] | None) -> "ParsedTable":
        """Return the table with the named actions only, in this order; None selects all.

        If an array without names has as many columns, other names than their numbers are new names.
        """
        if actions is None:
            return self
        if (
            self.actions is None
            and len(actions) == self.values.shape[1]
            and not {*actions} <= {*self.names}
        ):
            return self._replace(actions=tuple(actions))
        unknown = next((name for name in actions if name not in self.names), None)
        if unknown is not None:
            raise TableError(
                f"{self.source}: expected an action called {unknown!r} as "
                f"{option_text('actions')} states, got "
                f"{join_names(self.names)}; name those, or all of them."
            )
        chosen = [self.names.index(name) for name in actions]
        costs = None if self.costs is None else self.costs[:, chosen]
        runs = None if self.runs is None else self.runs[:, :, chosen]
        return self._replace(
            values=self.values[:, chosen], actions=tuple(actions), costs=costs, runs=runs
        )

    def require_direction(self, range_options: Mapping[Kind, str] = MappingProxyType({})) -> Kind:
        """Return the direction; QuestionError if neither columns nor the caller state it.

        The name of the file does not decide, but the likely answer comes first.

        range_options: direction -> the option about the range that it needs as well, for the
            message.
        """
        if self.kind is not None:
            return self.kind
        # The names of the file: those of the actions may lack a word, and the value of a long table
        # has one name.
        names = self.value_columns if len(self.value_columns) == len(self.names) else self.names
        hint = direction_of_file(Path(self.source.partition("::")[0]).name.split(".")[0])
        kinds = sorted(KINDS, key=lambda kind: kind != hint)
        answers = tuple(
            (
                "higher is better" if kind == "scores" else "lower is better",
                command_text("kind", kind, range_options.get(kind, "")),
            )
            for kind in kinds
        )
        raise QuestionError(
            f"{self.source}: expected losses (lower is better) or scores (higher is better), got "
            f"columns named {join_names(names)}, which can be either",
            tuple(names),
            answers,
        )


def logged_table_error(source: str, evidence: str, hint: str = "") -> TableError:
    """Return the error, to be raised, for a table with the loss of one action per row.

    evidence, hint: how that was detected, and the end of the advice.
    """
    return TableError(
        f"{source}: expected a loss for every action in every row, got a logged table, with one "
        "action a row "
        f"({evidence}): the losses of the other actions are unknown, so the regret of a learner "
        "cannot be computed; "
        f"give a table with all losses, or learn on new rows with Session{hint}."
    )


def stack_costs(resources: Sequence[NDArray[Any]]) -> NDArray[Any] | None:
    """Stack the costs (rows, actions) of each resource on a third axis; None if none."""
    return np.stack(resources, axis=2) if resources else None


def table_header(source: str, names: Sequence[str], kind: Kind | None = None) -> ParsedTable:
    """Return a `ParsedTable` with these columns and no rows, to find its direction.

    Its `kind` is "losses" (lower is better), "scores", or None if no name states it. The file is
    not read.

    kind: the direction, if it is given; None takes it from the column names.
    """
    kind = kind or stated_direction(names)[0]
    return ParsedTable(
        source,
        kind,
        np.empty((0, len(names))),
        tuple(names),
        None,
        None,
        None,
        [],
        value_columns=tuple(names),
    )
