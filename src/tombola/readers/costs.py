"""Cost columns of a wide table: find the column of each action and resource."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tombola._formatting import join_names, option_text
from tombola.errors import TableError
from tombola.readers.columns import Column, Columns
from tombola.readers.names import action_stem, classify_name, matching, wildcard_match
from tombola.readers.options import ReadOptions, stack_costs

# The reason, in the field `ignored` of a parsed table, for columns that the caller ignores.
AS_REQUESTED = "as requested"


class _CostColumns(NamedTuple):
    """Cost columns: resource (such as seconds) -> action -> name of the column.

    Before `match_to_actions`, the text that a wildcard stands for takes the place of the action.
    """

    resources: Mapping[str, Mapping[str, str]]
    columns: tuple[str, ...]
    positional: bool = False  # columns are listed in the order of the actions

    def match_to_actions(self, table: Columns, names: Sequence[str], actions: Sequence[Column]) -> "_CostColumns":
        """Match actions to cost columns by position, name, or name without kind words."""
        if self.positional:
            return self._assign_positional(table, names)
        assigned: dict[str, dict[str, str]] = {}
        for resource, columns in self.resources.items():
            by_stem = {action_stem(key) or key.lower(): name for key, name in columns.items()}
            assigned[resource] = {}
            for name, action in zip(names, actions, strict=True):
                # An exact match comes first: names such as A and a have the same stem.
                keys = (columns.get(name), columns.get(action.name), by_stem.get(action_stem(name) or name.lower()))
                column = next((key for key in keys if key is not None), None)
                if column is None:
                    expected = resource.replace("*", name) if "*" in resource else f"{resource}:{name}"
                    raise TableError(
                        f"{table.source}: expected a column called {expected!r} as "
                        f"{option_text('costs', [resource])} states, got {join_names(list(columns.values()))}; add it, "
                        f"or leave the action out with {option_text('ignore', [action.name])}."
                    )
                assigned[resource][name] = column
            _check_not_shared(table, assigned[resource])
        return _CostColumns(assigned, self.columns)

    def _assign_positional(self, table: Columns, names: Sequence[str]) -> "_CostColumns":
        if len(self.columns) != len(names):
            raise TableError(
                f"{table.source}: expected a cost column for each of the {len(names)} actions ({join_names(names)}), "
                f"got {len(self.columns)} ({join_names(self.columns)}); name as many, or a pattern such as "
                f"{option_text('costs', ['cost_*'])}."
            )
        return _CostColumns({"cost": dict(zip(names, self.columns, strict=True))}, self.columns)

    def values(self, table: Columns) -> NDArray[np.float64] | None:
        """Return the costs, shape (rows, actions, resources); None without columns."""
        by_resource = [[table.by_name[name] for name in columns.values()] for columns in self.resources.values()]
        return stack_costs(
            [np.column_stack([table.numeric(one).numbers for one in columns]) for columns in by_resource]
        )

    def notes(self) -> list[str]:
        """Return a list with a note on columns and their actions; empty without costs."""
        pairs = [f"{column} for {name}" for columns in self.resources.values() for name, column in columns.items()]
        return [f"costs from columns {join_names(pairs)}"] if pairs else []


# For a table without cost columns.
_NO_COSTS = _CostColumns({}, ())


def requested_costs(table: Columns, options: ReadOptions) -> _CostColumns:
    """Return the cost columns that the option `costs` names or matches.

    The option lists resources, patterns such as cost_*, or one column per action. The result has, for each resource,
    the column of each action.
    """
    resources, single = {}, []
    for word in options.resources:
        patterns = (word,) if "*" in word else (f"{word}:*", f"{word}_*", f"*_{word}")
        pattern = next((p for p in patterns if matching(table.by_name, p)), None)
        if pattern is not None:
            resources[word] = {wildcard_match(pattern, name): name for name in matching(table.by_name, pattern)}
        else:
            single.append(table.find(word, "costs").name)
    if single and resources:
        raise TableError(
            f"{table.source}: expected patterns of costs, or one column for each action, got both "
            f"({join_names(options.resources)}); write for example {option_text('costs', ['cost_*'])}."
        )
    columns = tuple(name for found in resources.values() for name in found.values())
    return _CostColumns({}, tuple(single), positional=True) if single else _CostColumns(resources, columns)


def detected_costs(
    table: Columns, options: ReadOptions, names: Sequence[str], ignored: Mapping[str, str]
) -> _CostColumns:
    """Detect cost columns by name; no columns unless there is one for every action.

    Columns called cost:ACTION must be complete: TableError otherwise.

    names: names of the actions.
    ignored: columns without a role, with the reason; beside cost:ACTION, only these are tried.
    """
    if options.costs is not None:
        return _NO_COSTS
    excluded = {name for name, reason in ignored.items() if reason == AS_REQUESTED}
    marked = {n.removeprefix("cost:"): n for n in table.by_name if n.startswith("cost:") and n not in excluded}
    if marked:
        # cost:ACTION is explicit, so that a missing one is an error.
        actions = [table.by_name.get(name) or Column(name, np.zeros(0)) for name in names]
        return _CostColumns({"cost": marked}, tuple(marked.values())).match_to_actions(table, names, actions)
    by_stem: dict[str, list[str]] = {}
    for name in ignored:
        if classify_name(name) == "cost" and name not in excluded:
            by_stem.setdefault(action_stem(name), []).append(name)
    pairs = {}
    for name in names:
        if found := by_stem.get(action_stem(name) or name.lower()):
            # The last one that contains the name: A and a have the same stem.
            pairs[name] = ([column for column in found if name in column] or found)[-1]
    if len(pairs) < len(names) or len({*pairs.values()}) < len(pairs):
        return _NO_COSTS
    return _CostColumns({"cost": pairs}, tuple(pairs.values()))


def _check_not_shared(table: Columns, columns: Mapping[str, str]) -> None:
    shared = next((name for name, count in Counter(columns.values()).items() if count > 1), None)
    if shared is not None:
        owners = join_names([name for name, column in columns.items() if column == shared])
        raise TableError(
            f"{table.source}: expected a cost column for each of {owners}, got {shared!r} for all of them; name "
            f"the columns one by one with {option_text('costs')}."
        )
