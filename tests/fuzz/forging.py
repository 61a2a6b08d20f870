"""Hostile values, and functions that put them into plain data.

Forged files have digests that fit. A reader must reject them, or read something that could have
been written.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

DEEP: Any = 3
for _ in range(400):
    DEEP = [DEEP]

HOSTILE: list[Any] = [
    *(-1, 0, 1, 2, 7, 10**6, 10**9, 10**12, 10**15, 2**62, 2**63, -(2**63), 10**30),
    *(0.5, -0.5, 1e308, 5e-324, -0.0, float("nan"), float("inf"), float("-inf")),
    *("", "x", "add", "inf", "0.5", "\ud800", "\n", "\0", None, True, False),
    *(
        [],
        {},
        [[]],
        [0] * 4,
        [0.5] * 3,
        [None],
        ["a", "a"],
        {"name": "Hedge", "parameters": {}},
        DEEP,
    ),
]


def choice(rng: np.random.Generator, among: list[Any]) -> Any:
    """Return a random element."""
    return among[int(rng.integers(len(among)))]


def hostile(rng: np.random.Generator) -> Any:
    """Return a value that is invalid almost everywhere."""
    return choice(rng, HOSTILE)


def change_inside(value: Any, rng: np.random.Generator) -> Any:
    """Return plain data with one place in it changed: a number a little, a part left out, doubled, or made hostile."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        name = choice(rng, list(value))
        if rng.random() < 0.1:
            return {other: part for other, part in value.items() if other != name}
        if rng.random() < 0.05:
            return {**value, "surprise": hostile(rng)}
        return {**value, name: change_inside(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = int(rng.integers(len(value)))
        if rng.random() < 0.2:
            return [*value[:place], *value[place + 1 :], *([value[place]] * int(rng.integers(3)))]
        return [*value[:place], change_inside(value[place], rng), *value[place + 1 :]]
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.5:
        return choice(rng, [value + 1, value - 1, value * 2, -value, value / 2, float(value)])
    return hostile(rng)


def change_events(
    events: list[Any], first: Any, change: Callable[[Any], Any], rng: np.random.Generator
) -> list[Any]:
    """Return events with one changed, two swapped, one doubled or lost, or the end cut off.

    first: the event of an empty list.
    change: returns another event for one of them.
    """
    if not events:
        return [first]
    one, two = (int(rng.integers(len(events))) for _ in range(2))
    changed = list(events)
    match int(rng.integers(9)):
        case 6:
            changed[one], changed[two] = changed[two], changed[one]
        case 7:
            changed.insert(two, events[one])
        case 8:
            del changed[one : choice(rng, [one + 1, None])]
        case _:
            changed[one] = change(events[one])
    return changed
