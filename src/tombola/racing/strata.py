"""Strata of a race: the same question for each group of rows, at one shared level.

Restricted to a group, a uniformly random order of the list is a uniformly random order of the
group. So one rule per group, and one for the whole list, can share the calls of one order. With g
groups each of the g + 1 rules has the level level / (g + 1); by the union bound any of them is
wrong with probability at most `level` (docs/theory/race.md, section 10).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from tombola import _validate
from tombola._types import Floats, Order, Rows
from tombola.errors import ParameterError
from tombola.racing.fresh_answers import FreshAnswers
from tombola.racing.predictions import InformedRule
from tombola.racing.rules.base import Elimination
from tombola.racing.rules.gate import Gate
from tombola.racing.settings import RaceSettings
from tombola.racing.side_information import SideInformation
from tombola.statements import Reading


class Strata(NamedTuple):
    """Groups of the rows of a list; built from one label per row by `Strata.of`.

    `of_row` has the index in `names` of each row; `title` is the word for a group in texts, such as
    the name of the column of labels. `decides`: whether the question is asked for each group, too;
    else a live gate only reports its groups. `cluster_size`: if not 0, the groups are clusters of
    related rows, of at most this many rows: independent of each other, but not their rows.

    >>> strata = Strata.of(["law", "code", "law"], 3)
    >>> strata.names, strata.of_row, strata.sizes
    (('law', 'code'), (0, 1, 0), (2, 1))
    """

    names: tuple[str, ...]
    of_row: tuple[int, ...]
    title: str = "group"
    decides: bool = True
    cluster_size: int = 0

    @classmethod
    def of(
        cls,
        labels: Iterable[Any],
        rows: int,
        title: str = "group",
        *,
        decides: bool = True,
        cluster_size: int = 0,
    ) -> "Strata":
        """Return the groups of rows from one label per row; ParameterError if malformed."""
        _validate.not_text("Race", "strata", labels)
        index: dict[str, int] = {}
        of_row = tuple(index.setdefault(str(label).strip(), len(index)) for label in labels)
        if len(of_row) != rows or "" in index:
            got = f"{len(of_row):,} labels" if len(of_row) != rows else "an empty label"
            raise ParameterError(
                f"Race: strata must be a label for each of the {rows:,} rows, got {got}; fill "
                "them in."
            )
        if len(index) < 2:
            raise ParameterError(
                f"Race: strata must have at least two groups, got only {next(iter(index))!r}; "
                "leave strata out."
            )
        strata = cls(tuple(index), of_row, title, decides, cluster_size)
        if cluster_size and max(strata.sizes) > cluster_size:
            raise ParameterError(
                f"Race: expected clusters of at most {cluster_size} rows, as declared, got one of "
                f"{max(strata.sizes)}; declare the largest possible size."
            )
        return strata

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of rows of each group, in the order of `names`."""
        return tuple(np.bincount(self.of_row, minlength=len(self.names)).tolist())

    def label(self, row: int) -> str:
        """Return the name of the group of a row."""
        return self.names[self.of_row[row]]

    def groups(self) -> "Iterator[tuple[Order, NDArray[np.int64]]]":
        """Yield (rows of the group, index of every row of the list in it) per group.

        The index is -1 for rows outside of the group.
        """
        of_row = np.array(self.of_row)
        for group in range(len(self.names)):
            members = np.flatnonzero(of_row == group).astype(np.uint32)
            position = np.full(len(self.of_row), -1)
            position[members] = np.arange(members.size)
            yield members, position

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data, by name; only `names`, `of_row`, `title` if groups decide."""
        data = {"names": list(self.names), "of_row": list(self.of_row), "title": self.title}
        if self.decides:
            return data
        return {**data, "decides": False, "cluster_size": self.cluster_size}

    @classmethod
    def from_json(cls, data: dict[str, Any] | None, rows: int) -> "Strata | None":
        """Return the strata from the output of `to_json`; None from None."""
        if data is None:
            return None
        labels = [data["names"][group] for group in data["of_row"]]
        decides = bool(data.get("decides", True))
        size = int(data.get("cluster_size", 0))
        return cls.of(labels, rows, str(data["title"]), decides=decides, cluster_size=size)


class Part:
    """One rule of a race with its rows: those of the whole list, or of one group.

    `members` selects its rows, and `position` is the index of each row of the list within the part,
    -1 outside of it. `side` has the answers on file and history of its rows. With `fresh`, rows are
    drawn with replacement. `active` has one bool per candidate, True while the part still needs its
    answers: all are False once the rule is done.
    """

    def __init__(
        self,
        rule: Elimination,
        members: Order | slice,
        position: "NDArray[np.int64]",
        side: SideInformation | None,
        *,
        fresh: bool = False,
        clusters: Strata | None = None,
    ) -> None:
        self.rule = rule
        self.members = members
        self.position = position
        self._clusters = None if clusters is None else ClusterBets(cast("Gate", rule), clusters)
        self._informed: InformedRule | FreshAnswers | None = None
        if fresh and side is not None:
            self._informed = FreshAnswers(rule, side)
        elif side is not None and not side.is_empty:
            self._informed = InformedRule(rule, side)
        self.active = self._active()

    def count(self, row: int, losses: Floats) -> None:
        """Process the next row of the part, and update `active`.

        row: its index in the whole list. losses: one per candidate.
        """
        if self._clusters is not None:
            self._clusters.count(row, losses)
        elif self._informed is None:
            self.rule.update(losses)
        else:
            self._informed.update(int(self.position[row]), losses)
        self.active = self._active()

    def play(self, table: Rows, order: Order) -> None:
        """Run a whole race on the rows of the part; parameters as of `Elimination.play`."""
        runner = self.rule if self._informed is None else self._informed
        if isinstance(runner, FreshAnswers):
            raise TypeError("Part.play: rows drawn with replacement are not a table")
        runner.play(table, order)

    def _active(self) -> list[bool]:
        return [bool(is_active) and not self.rule.done for is_active in self.rule.state.active > 0]


class ClusterBets:
    """Bets of a gate on clusters: a sample is the sum of the gains of a cluster.

    Rows come cluster by cluster. With the largest size L, the size w L of a cluster, its gain X and
    the margin m, the rule bets on X / L - m (1 - w), whose mean is above -m if and only if the mean
    over rows is (docs/theory/gate.md, Live gates). The state counts rows.
    """

    def __init__(self, rule: Gate, clusters: Strata) -> None:
        self._rule = rule
        self._clusters = clusters
        self._sizes = clusters.sizes
        self._sums = np.zeros(rule.candidates)
        self._rows = 0

    def count(self, row: int, losses: Floats) -> None:
        """Add a row, and bet if it is the last one of its cluster."""
        self._sums += losses
        self._rows += 1
        if self._rows == self._sizes[self._clusters.of_row[row]]:
            self._bet()
            self._sums[:] = 0.0
            self._rows = 0

    def _bet(self) -> None:
        rule = self._rule
        state = rule.state
        largest = self._clusters.cluster_size
        sample = self._sums / largest
        # A row that the cluster lacks counts as one with the allowed loss.
        sample += rule.margin * (1.0 - self._rows / largest)
        sample[rule.baseline] = self._sums[rule.baseline] / largest
        active = state.active > 0.0
        totals = np.where(active, state.total_loss + self._sums, state.total_loss)
        rows_seen = state.rows_seen[0] + self._rows
        rule.update(sample)
        state.total_loss[:] = totals
        state.rows_seen[0] = rows_seen
        state.total_advantage[active] = totals[rule.baseline] - totals[active]
        state.drop_row[active & (state.active == 0.0)] = rows_seen
        if rows_seen >= rule.rows:
            state.done[0] = 1.0


def share_of_level(level: float, groups: int) -> float:
    """Return the level of each rule: one for the whole list, and one per group."""
    return level / (groups + 1)


def build_parts(
    settings: RaceSettings,
    rows: int,
    strata: Strata | None,
    side: SideInformation | None,
    reading: Reading | None = None,
    *,
    metrics: int = 1,
    clusters: Strata | None = None,
) -> list[Part]:
    """Return the rules of a race with their rows: whole list first, then groups.

    `rows` is the length of the list, and `side` has all its rows. `reading` is that of the
    settings, unless a pilot has decided. `metrics` is the number of metrics of a gate, and
    `clusters` has the clusters that it bets on.
    """
    draws_rows = settings.answers != "once" and settings.passes is None
    fresh = (reading or settings.first_reading) == "expected" and draws_rows
    shared = replace(
        settings, level=share_of_level(settings.level, 0 if strata is None else len(strata.names))
    )
    whole = shared.rule(rows, reading, metrics=metrics)
    parts = [Part(whole, slice(None), np.arange(rows), side, fresh=fresh, clusters=clusters)]
    for members, position in () if strata is None else strata.groups():
        own = None if side is None else side.of_rows(members)
        # A group gets the rounds of the whole list: calls are limited together.
        rule = shared.rule(rows if fresh else members.size, reading, metrics=metrics)
        parts.append(Part(rule, members, position, own, fresh=fresh))
    return parts
