"""Truth: whether the answer of a race is right, for those who have the whole table."""

from typing import Any

import numpy as np

from tombola._types import Floats
from tombola.racing.bets import SLACK
from tombola.racing.elimination import Elimination
from tombola.racing.gate import Gate, exceeds
from tombola.racing.top import Top
from tombola.racing.verdict import answer_of, proved_by
from tombola.racing.within import Within


def is_wrong(field: Elimination, totals: Floats) -> bool:
    """Tell whether a race says something false; `totals` are the losses of all candidates on the whole list.

    >>> from tombola.racing.best import Best
    >>> field = Best(candidates=2, rows=1, population=1, level=0.05)
    >>> field.update(np.array([0.0, 1.0]))
    >>> is_wrong(field, np.array([0.0, 1.0])), is_wrong(field, np.array([1.0, 0.0]))
    (False, True)
    """
    if isinstance(field, Gate):
        return any(passed != _passes(field, totals, c) for c, passed in field.judged.items())
    slack = SLACK * field.rows
    if isinstance(field, Top):
        inside = answer_of(field)
        outside = [a for a in range(field.candidates) if a not in inside]
        return bool(outside) and max(totals[inside]) > min(totals[outside]) + slack
    allowed = field.within * field.rows if isinstance(field, Within) else 0.0
    best = float(np.min(totals))
    if proved_by(field):
        return any(totals[a] > best + allowed + slack for a in answer_of(field))
    return bool(min(totals[a] for a in answer_of(field)) > best + allowed + slack)


def _passes(gate: Gate, totals: Any, candidate: int) -> bool:
    return exceeds(float(totals[gate.baseline] - totals[candidate]), gate.margin, gate.rows)
