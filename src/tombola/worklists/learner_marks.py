"""Marks: copies of a learner's state at some events, from which a part of a session is replayed.

A correction of an outcome changes everything that the learner did after it. With marks, only the
events from the last mark before it are replayed. Their number is bounded: when there are too many,
every second one is dropped.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tombola._types import AnyLearner, Floats, Integers
from tombola.engine.runner import Runner
from tombola.engine.tickets import ANSWER_INDEX, ROUNDS

# Events between two marks, at first; largest number of marks, and of bytes of one.
_INTERVAL = 1 << 13
_MAX_MARKS = 256
_MAX_BYTES = 1 << 16
# Column of row 0 of a ticket table: the number of tickets with an outcome.
_ANSWERED = 1


class LearnerState(NamedTuple):
    """All numbers of a learner in play, as flat arrays: `put` writes them back."""

    memory: Floats
    rng: Any
    workspace: Floats

    @classmethod
    def of(cls, runner: Runner) -> "LearnerState":
        """Return a copy of the state of a learner."""
        parts = [array.ravel() for array in _arrays(runner.workspace)]
        workspace = np.concatenate([*parts, np.zeros(0)]).astype(np.float64)
        return cls(runner.memory.copy(), runner.rng.copy(), workspace)

    def put(self, runner: Runner) -> None:
        """Give a learner this state, in place."""
        runner.memory[:] = self.memory
        runner.rng[:] = self.rng
        at = 0
        for array in _arrays(runner.workspace):
            array[...] = self.workspace[at : at + array.size].reshape(array.shape)
            at += array.size


class Marks:
    """States of a learner by the number of tickets and outcomes before them, ascending."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.states: list[LearnerState] = []
        self._interval = _INTERVAL

    def note(self, position: int, runner: Any) -> None:
        """Keep the present state if enough events have passed since the last one."""
        last = self.positions[-1] if self.positions else 0
        if position - last < self._interval or not isinstance(runner, Runner):
            return
        if runner.memory.nbytes > _MAX_BYTES:
            return
        self.positions.append(position)
        self.states.append(LearnerState.of(runner))
        if len(self.positions) > _MAX_MARKS:
            del self.positions[::2], self.states[::2]
            self._interval *= 2

    def back_to(self, position: int) -> tuple[int, LearnerState | None]:
        """Drop later marks; return the last one up to a position, or 0 and None."""
        while self.positions and self.positions[-1] > position:
            self.positions.pop()
            self.states.pop()
        return (self.positions[-1], self.states[-1]) if self.positions else (0, None)

    def to_columns(self) -> dict[str, Any]:
        """Return all marks as arrays by name, for `from_columns`."""
        columns: dict[str, Any] = {"mark_positions": np.array(self.positions, np.int64)}
        for name in LearnerState._fields:
            parts = [getattr(state, name) for state in self.states]
            columns[f"mark_{name}"] = np.stack(parts) if parts else np.zeros((0, 0))
        return columns

    @classmethod
    def from_columns(cls, columns: dict[str, Any]) -> "Marks":
        """Return the marks of `to_columns`."""
        marks = cls()
        marks.positions = columns["mark_positions"].tolist()
        parts = [columns[f"mark_{name}"] for name in LearnerState._fields]
        marks.states = [LearnerState(*rows) for rows in zip(*parts, strict=True)]
        return marks


def is_of_package(learner: AnyLearner) -> bool:
    """Return whether the code of a learner, and of those inside of it, is of this package.

    >>> from tombola import UCB1
    >>> is_of_package(UCB1())
    True
    """
    if not type(learner).__module__.startswith("tombola."):
        return False
    fields = getattr(learner, "__dataclass_fields__", {})
    parts = [getattr(learner, name) for name in fields]
    return all(is_of_package(part) for part in parts if hasattr(part, "feedback"))


def history_after(cells: Floats, position: int) -> Integers:
    """Return the events of a ticket table after some: 0 for a ticket, the round for an outcome."""
    places = cells[1 : int(cells[0, ROUNDS]) + 1, ANSWER_INDEX]
    rounds = np.flatnonzero(places > position) + 1
    history = np.zeros(int(cells[0, ROUNDS] + cells[0, _ANSWERED]) - position, np.int64)
    history[places[rounds - 1].astype(np.int64) - 1 - position] = rounds
    return history


def issued_at(cells: Floats, position: int) -> int:
    """Return the number of tickets among the first events of a ticket table."""
    places = cells[1 : int(cells[0, ROUNDS]) + 1, ANSWER_INDEX]
    return position - int(((places > 0) & (places <= position)).sum())


def _arrays(workspace: Any) -> Iterator[Any]:
    """Yield the arrays of nested named tuples."""
    if isinstance(workspace, np.ndarray):
        yield workspace
    elif isinstance(workspace, tuple):
        for part in workspace:
            yield from _arrays(part)
