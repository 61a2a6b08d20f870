"""Prices: which columns of a wide table hold the costs of which action."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import join_names, option_text
from tombola._types import Floats
from tombola.errors import TableError
from tombola.readers.columns import Column, Columns
from tombola.readers.names import held, likeness, matching, stem
from tombola.readers.options import ReadOptions, costs_of


class Prices(NamedTuple):
    """The columns with costs: for every resource the column of each action, by the action's name or by its place."""

    resources: dict[str, dict[str, str]]
    columns: tuple[str, ...]
    placed: bool = False  # the columns are given one by one, in the order of the actions

    def matched(self, table: Columns, names: Sequence[str], actions: Sequence[Column]) -> "Prices":
        """Return the same with the names of the actions as keys, in their order."""
        if self.placed:
            return self._placed(table, names)
        found: dict[str, dict[str, str]] = {}
        for resource, columns in self.resources.items():
            by_stem = {stem(key) or key.lower(): name for key, name in columns.items()}
            found[resource] = {}
            for name, action in zip(names, actions, strict=True):
                keys = (columns.get(name), columns.get(action.name), by_stem.get(stem(name) or name.lower()))
                column = next((key for key in keys if key is not None), None)
                if column is None:
                    raise TableError(
                        f"{table.source}: expected a column called {_written(resource, name)!r} as "
                        f"{option_text('costs', [resource])} says, got {join_names(list(columns.values()))}; add it, or leave "
                        f"the action out with {option_text('ignore', [action.name])}."
                    )
                found[resource][name] = column
            self._refuse_shared(table, found[resource])
        return Prices(found, self.columns)

    def _refuse_shared(self, table: Columns, columns: dict[str, str]) -> None:
        twice = next((name for name, count in Counter(columns.values()).items() if count > 1), None)
        if twice is not None:
            owners = join_names([name for name, column in columns.items() if column == twice])
            raise TableError(
                f"{table.source}: expected a column of costs for each of {owners}, got {twice!r} for all of them; name "
                f"the columns one by one with {option_text('costs')}."
            )

    def _placed(self, table: Columns, names: Sequence[str]) -> "Prices":
        if len(self.columns) != len(names):
            raise TableError(
                f"{table.source}: expected a column of costs for each of the {len(names)} actions ({join_names(names)}), "
                f"got {len(self.columns)} ({join_names(self.columns)}); name as many, or a pattern such as "
                f"{option_text('costs', ['cost_*'])}."
            )
        return Prices({"cost": dict(zip(names, self.columns, strict=True))}, self.columns)

    def costs(self, table: Columns) -> NDArray[np.float64] | None:
        """Return the costs, rows x actions x resources."""
        return costs_of({resource: _stacked(table, columns) for resource, columns in self.resources.items()})

    def note(self) -> list[str]:
        """Say where the costs come from."""
        pairs = [f"{column} for {name}" for columns in self.resources.values() for name, column in columns.items()]
        return [f"costs from columns {join_names(pairs)}"] if pairs else []


NONE = Prices({}, ())
AS_ASKED = "as asked"  # why a column is set aside that somebody wants left out


def asked_prices(table: Columns, wanted: ReadOptions) -> Prices:
    """Return the columns that the option for costs names: RESOURCE:ACTION, patterns, or one for each action."""
    words, resources, single = wanted.resources, {}, []
    for word in words:
        pattern = next((p for p in _patterns(word) if matching(table.named, p)), None)
        if pattern is not None:
            resources[word] = {held(pattern, name): name for name in matching(table.named, pattern)}
        else:
            single.append(table.find(word, "costs").name)
    columns = tuple(name for found in resources.values() for name in found.values())
    if single and resources:
        raise TableError(
            f"{table.source}: expected patterns of costs, or one column for each action, got both ({join_names(words)}); "
            f"write for example {option_text('costs', ['cost_*'])}."
        )
    return Prices({}, tuple(single), placed=True) if single else Prices(resources, columns)


def guessed_prices(table: Columns, wanted: ReadOptions, names: Sequence[str], aside: dict[str, str]) -> Prices:
    """Return the columns that are costs by their names, if there is one for every action."""
    if wanted.costs is not None:
        return NONE
    left_out = {name for name, why in aside.items() if why == AS_ASKED}
    marked = {n.removeprefix("cost:"): n for n in table.named if n.startswith("cost:") and n not in left_out}
    if marked:
        actions = [table.named.get(name) or Column(name, np.zeros(0)) for name in names]
        return Prices({"cost": marked}, tuple(marked.values())).matched(table, names, actions)
    costly = [name for name in aside if likeness(name) == "cost" and name not in left_out]
    alike: dict[str, list[str]] = {}
    for name in costly:
        alike.setdefault(stem(name), []).append(name)
    pairs = {name: _nearest(name, found) for name in names if (found := alike.get(stem(name) or name.lower()))}
    if len(pairs) < len(names) or len({*pairs.values()}) < len(pairs):
        return NONE
    return Prices({"cost": pairs}, tuple(pairs.values()))


def _nearest(action: str, alike: Sequence[str]) -> str:
    """Return the last of the columns that are called as an action is, or of those that are so letter by letter."""
    return ([name for name in alike if action in name] or alike)[-1]


def _patterns(word: str) -> tuple[str, ...]:
    return (word,) if "*" in word else (f"{word}:*", f"{word}_*", f"*_{word}")


def _written(resource: str, name: str) -> str:
    return resource.replace("*", name) if "*" in resource else f"{resource}:{name}"


def _stacked(table: Columns, columns: dict[str, str]) -> Floats:
    return np.column_stack([table.numeric(table.named[name]).numbers for name in columns.values()])
