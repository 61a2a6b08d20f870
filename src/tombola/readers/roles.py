"""Roles: what each column of a wide table is; what nobody said is guessed from names and cells, and told."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from tombola._formatting import join_names, option_text
from tombola.errors import TableError
from tombola.readers.columns import Column, Columns
from tombola.readers.costs import AS_ASKED, Prices, asked_prices, guessed_prices
from tombola.readers.names import IDS, like_id, likeness, says_reward, without
from tombola.readers.options import DELAYS, ReadOptions

_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_LIKE = {"score": "a score", "cost": "a cost", "loss": "a loss", "feature": "a feature", "date": "a date"}


class Roles(NamedTuple):
    """The columns of a wide table by what they are, and why others are set aside."""

    ids: Column | None
    delay: Column | None
    actions: list[Column]
    names: list[str]
    kind: Literal["losses", "scores"]
    prices: Prices
    aside: dict[str, str]
    notes: list[str]
    doubt: str


def roles_of(table: Columns, wanted: ReadOptions) -> Roles:
    """Say what every column is."""
    aside = {name: AS_ASKED for pattern in wanted.ignore for name in table.matching(pattern, "ignore")}
    chosen = None if wanted.actions is None else _actions(table, wanted.actions)
    free = [c for c in table.columns if c.name not in aside and c.name not in (chosen or {})]
    ids = table.find(wanted.ids, "ids") if wanted.ids is not None else _id_among(table, free, aside)
    delay = table.find(wanted.delay, "delay") if wanted.delay is not None else _delay_among(free)
    free = [c for c in free if c is not ids and c is not delay and c.name not in aside]
    asked = asked_prices(table, wanted)
    free = [c for c in free if c.name not in asked.columns]
    if chosen is None:
        candidates = _set_aside(free, aside)
        actions = _likely(table, candidates, aside)
        names, notes = _called(actions)
    else:
        actions, names, notes = [table.named[name] for name in chosen], list(chosen), []
        aside.update({c.name: "not named" for c in free})
    scores = [action.name for action in actions if likeness(action.name) == "score"]
    kind = wanted.kind or ("scores" if scores else "losses")
    doubt = "" if wanted.kind or all(map(says_reward, (action.name for action in actions))) else next(iter(scores), "")
    prices = asked.matched(table, names, actions) if asked.columns else guessed_prices(table, wanted, names, aside)
    for name in prices.columns:
        aside.pop(name, None)
    return Roles(ids, delay, actions, names, kind, prices, aside, notes, doubt)


def note_on(aside: dict[str, str]) -> list[str]:
    """Say which columns are not used, and why."""
    if not aside:
        return []
    told = join_names([f"{name or 'a column without a name'} ({why})" for name, why in aside.items()])
    if set(aside.values()) <= {AS_ASKED, "not named"}:
        return [f"not used: {told}"]
    return [f"not used: {told}; say which columns are actions with {option_text('actions')}"]


def _actions(table: Columns, patterns: Sequence[str]) -> dict[str, None]:
    return dict.fromkeys(name for pattern in patterns for name in table.matching(pattern, "actions"))


def _id_among(table: Columns, free: Sequence[Column], aside: dict[str, str]) -> Column | None:
    """Return the column with the ids: one called so, else the first that can be nothing else."""
    if len(table.columns) < 2:
        return None
    named = next((c for c in free if c.name.lower() in IDS), None)
    if named is not None:
        return named
    first = table.columns[0]
    for column in free:
        text = column.wrong is not None and (column.known == 0 or like_id(column.name))
        numbers = _whole(column) and table.rows > 1
        likely = like_id(column.name) and (text or numbers)
        likely = likely or (column is first and (text or (numbers and _counts(column, free))))
        if likely and _all_different(column):
            return column
        if likely:
            aside[column.name] = "like an id, but some come twice"
    return None


def _whole(column: Column) -> bool:
    numbers = column.numbers
    return column.wrong is None and column.gap is None and bool((numbers == np.floor(numbers)).all())


def _all_different(column: Column) -> bool:
    return len(set(column.texts or column.numbers.tolist())) == len(column.numbers)


def _counts(column: Column, others: Sequence[Column]) -> bool:
    """Say whether whole numbers count the rows, or lie outside of [0, 1] where all others are inside."""
    numbers = column.numbers
    if numbers.size > 2 and (np.diff(numbers) == 1).all():
        return True
    inside = (
        ((c.numbers >= 0) & (c.numbers <= 1)) | np.isnan(c.numbers) for c in others if c is not column and c.known
    )
    return numbers.size > 2 and bool((numbers > 1).any()) and _all_different(column) and all(map(np.all, inside))


def _delay_among(free: Sequence[Column]) -> Column | None:
    return next((column for column in free if column.name.lower() in DELAYS), None)


def _set_aside(free: Sequence[Column], aside: dict[str, str]) -> list[Column]:
    """Set aside what cannot be losses: empty columns, text, dates, labels; return the others."""
    found = []
    for column in free:
        like = likeness(column.name)
        if column.wrong is None and column.known == 0 and len(free) > 2:
            aside[column.name] = "empty"
        elif column.wrong is not None and column.known < len(column.numbers) / 2:
            aside[column.name] = "dates" if _DATE.match(column.wrong.text.strip()) else "text"
        elif like in ("date", "label"):
            aside[column.name] = f"named like {'a date' if like == 'date' else 'a label'}"
        elif like_id(column.name) and column.name.lower() not in ("no", "") and _whole(column):
            aside[column.name] = "named like an id"
        else:
            found.append(column)
    return found


def _likely(table: Columns, candidates: Sequence[Column], aside: dict[str, str]) -> list[Column]:
    """Return the columns that are likely to be actions: the first of these kinds with two columns or more."""
    kinds = {column.name: likeness(column.name) for column in candidates}
    for tier in (("loss",), ("loss", "plain"), ("score",), ("cost",), ("feature",)):
        found = [column for column in candidates if kinds[column.name] in tier]
        if len(found) > 1:
            for column in candidates:
                like = kinds[column.name]
                if like not in tier:
                    aside[column.name] = "not named like a loss" if like == "plain" else f"named like {_LIKE[like]}"
            return found
    for name, why in aside.items():
        if why == "text" and len(table.columns) > 1:
            table.numeric(table.named[name])
    raise TableError(
        f"{table.source}: expected a column for each of at least two actions, got {len(candidates)} "
        f"({join_names([column.name for column in table.columns])}); check what separates the columns, or name them "
        f"with {option_text('actions', ['NAME', 'NAME'])}."
    )


def _called(actions: Sequence[Column]) -> tuple[list[str], list[str]]:
    """Return the names of the actions, without the word that says what the numbers are where all have one."""
    names = [action.name for action in actions]
    if {likeness(name) for name in names} not in ({"loss"}, {"score"}):
        return names, []
    short = [without(name) for name in names]
    if len(set(short)) < len(short) or any(one == name for one, name in zip(short, names, strict=True)):
        return names, []
    return short, [f"the action of column {names[0]!r} is called {short[0]!r}, and so on"]
