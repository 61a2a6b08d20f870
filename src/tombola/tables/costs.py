"""Cost columns of a wide table: find the column of each action and resource."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tombola._formatting import join_names, option_text
from tombola.errors import TableError
from tombola.tables.columns import Column, Columns
from tombola.tables.names import action_stem, classify_name, matching, wildcard_match
from tombola.tables.options import ReadOptions

# The reason, in the field `ignored` of a parsed table, for columns that the caller ignores.
AS_REQUESTED = "as requested"
# Resource (such as seconds) -> action -> name of the column.
CostColumns: TypeAlias = Mapping[str, Mapping[str, str]]
# Resource of columns that are listed one by one, in the order of the actions.
_LISTED = ""


def requested_costs(table: Columns, options: ReadOptions) -> CostColumns:
    """Return the cost columns that the option `costs` names or matches, before `match_costs`.

    The option lists resources, patterns such as cost_*, or one column per action. The text that a
    wildcard stands for, or the place in the list, takes the place of the action.
    """
    resources: dict[str, dict[str, str]] = {}
    columns = []
    for word in options.resources:
        patterns = (word,) if "*" in word else (f"{word}:*", f"{word}_*", f"*_{word}")
        pattern = next((p for p in patterns if matching(table.by_name, p)), None)
        if pattern is not None:
            resources[word] = {
                wildcard_match(pattern, name): name for name in matching(table.by_name, pattern)
            }
        else:
            columns.append(table.find(word, "costs").name)
    if columns and resources:
        got = join_names(options.resources)
        raise TableError(
            f"{table.source}: expected patterns of costs, or a column for each action, got both "
            f"({got}); use one."
        )
    return (
        {_LISTED: {str(place): name for place, name in enumerate(columns)}}
        if columns
        else resources
    )


def match_costs(
    table: Columns, costs: CostColumns, names: Sequence[str], actions: Sequence[str]
) -> CostColumns:
    """Match actions to cost columns by position, name, or name without kind words.

    names, actions: names of the actions, and of their columns.
    """
    if _LISTED in costs:
        columns = list(costs[_LISTED].values())
        if len(columns) != len(names):
            raise TableError(
                f"{table.source}: expected a cost column for each of the {len(names)} actions "
                f"({join_names(names)}), "
                f"got {len(columns)} ({join_names(columns)}); name as many, or a pattern such as "
                f"{option_text('costs', ['cost_*'])}."
            )
        return {"cost": dict(zip(names, columns, strict=True))}
    return {
        resource: _match_resource(table, resource, found, names, actions)
        for resource, found in costs.items()
    }


def _match_resource(
    table: Columns,
    resource: str,
    columns: Mapping[str, str],
    names: Sequence[str],
    actions: Sequence[str],
) -> dict[str, str]:
    by_stem = {action_stem(key) or key.lower(): name for key, name in columns.items()}
    matched = {}
    for name, action in zip(names, actions, strict=True):
        # An exact match comes first: names such as A and a have the same stem.
        column = (
            columns.get(name)
            or columns.get(action)
            or by_stem.get(action_stem(name) or name.lower())
        )
        if column is None:
            expected = resource.replace("*", name) if "*" in resource else f"{resource}:{name}"
            raise TableError(
                f"{table.source}: expected a column called {expected!r} as "
                f"{option_text('costs', [resource])} states, "
                f"got {join_names(list(columns.values()))}; add it, or leave the action out with "
                f"{option_text('ignore', [action])}."
            )
        matched[name] = column
    shared = next((name for name, count in Counter(matched.values()).items() if count > 1), None)
    if shared is not None:
        owners = join_names([name for name, column in matched.items() if column == shared])
        raise TableError(
            f"{table.source}: expected a cost column for each of {owners}, got {shared!r} for "
            "all of them; name "
            f"the columns one by one with {option_text('costs')}."
        )
    return matched


def detected_costs(table: Columns, names: Sequence[str], ignored: Mapping[str, str]) -> CostColumns:
    """Detect cost columns by name; no columns unless there is one for every action.

    Columns called cost:ACTION must be complete: TableError otherwise.

    names: names of the actions.
    ignored: columns without a role, with the reason; beside cost:ACTION, only these are tried.
    """
    excluded = {name for name, reason in ignored.items() if reason == AS_REQUESTED}
    marked = {
        n.removeprefix("cost:"): n
        for n in table.by_name
        if n.startswith("cost:") and n not in excluded
    }
    if marked:
        return match_costs(table, {"cost": marked}, names, names)
    by_stem: dict[str, list[str]] = {}
    for name in ignored:
        if classify_name(name) == "cost" and name not in excluded:
            by_stem.setdefault(action_stem(name), []).append(name)
    pairs = {}
    for name in names:
        if columns := by_stem.get(action_stem(name) or name.lower()):
            # The last one that contains the name: A and a have the same stem.
            pairs[name] = ([column for column in columns if name in column] or columns)[-1]
    return {} if len({*pairs.values()}) < len(names) else {"cost": pairs}


def columns_of(table: Columns, costs: CostColumns) -> dict[str, Column]:
    """Return the columns of all resources, by name."""
    return {name: table.by_name[name] for columns in costs.values() for name in columns.values()}
