"""Certificate of a router: it beats every action on the rows to come.

Theorem C7; whole rows only.

From the first row of a block on, the policy of the block is fixed, and the rows are drawn without
replacement from those that were not played before. D(a) is the mean over all these rows of loss(a)
- loss(policy). A betting confidence sequence gives a lower bound of each D(a) that holds at all
times; their minimum is at most the bound of the best action, so that no union over actions is
needed. Block i gets the level 6 level / (pi i)^2. Subtracting the rows already seen gives the
statement about the rows left. It is about the policy of this block, not about retrained ones.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola._formatting import plural
from tombola._types import Floats, Integers
from tombola.engine.tickets import ANSWER_INDEX, OUTCOME_START
from tombola.evidence import Betting
from tombola.policies.models import losses_of
from tombola.trace import Trace

if TYPE_CHECKING:
    from tombola.session import Session


@dataclass(frozen=True)
class RouterCertificate:
    """Lower bounds of the gain of a router over every single action.

    A router chooses actions by features. A gain is the mean over rows of loss(action) -
    loss(router), of the action for which it is least.

    block: number of the block, from 1; a block is the rounds between two trainings.
    rows, left: answered rows of the block, and rows to come.
    gain, gain_left: bound over all rows from the start of the block on, and over the rows to come
        (NaN without any).
    level: probability that a statement of any block fails.
    """

    block: int
    rows: int
    left: int
    gain: float
    gain_left: float
    level: float

    @property
    def text(self) -> str:
        """A sentence: whether the router certainly beats every action on rows to come."""
        share = f"{100 * (1 - self.level):g} %"
        if self.left and self.gain_left > 0:
            return (
                f"what is left ({plural(self.left, 'row')}) is answered better by the present "
                "router than by any "
                f"single action, by {self.gain_left:.4f} a row or more ({share})"
            )
        return (
            "not certain yet that the present router beats every single action on the rows "
            f"left ({share})"
        )


def certify_rows(
    losses: Floats, choices: Integers, *, population: int, block: int, level: float = 0.05
) -> RouterCertificate:
    """Return lower bounds of the gain of a policy that was fixed before these rows.

    losses: of the answered rows since the start of the block, in their order of play, rows x
        actions.
    choices: the policy's action on each of them.
    population: rows from the start of the block to the end of the list.
    block: number of the block, from 1; later blocks get a smaller part of `level`.
    level: probability that a statement of any block fails.

    >>> losses = np.tile([[0.0, 1.0], [1.0, 0.0]], (200, 1))
    >>> found = certify_rows(losses, losses.argmin(axis=1), population=1000, block=1)
    >>> found.gain_left > 0.3, certify_rows(losses, 0 * losses.argmin(axis=1), population=1000, block=1).gain_left > 0
    (True, False)
    """
    rows, actions = losses.shape
    differences = losses - losses_of(losses, choices)[:, None]
    # The sequence is two-sided; only its lower side is used, at the whole level of the block.
    sequence = Betting(
        population=population,
        level=min(2 * level * 6 / (math.pi * block) ** 2, 0.99),
        actions=actions,
    )
    for action in range(actions):
        sequence.extend((1.0 + differences[:, action]) / 2.0, np.full(rows, action))
    lows, left = 2.0 * np.asarray(sequence.lows) - 1.0, population - rows
    rest = (
        (population * lows - differences.sum(axis=0)) / left if left else np.full(actions, math.nan)
    )
    return RouterCertificate(block, rows, left, float(lows.min()), float(rest.min()), level)


def certify_trace(trace: Trace, rows: int, level: float = 0.05) -> RouterCertificate | None:
    """Return lower bounds of the router's gain after `rows` rows; None without a router.

    The trace must be one of `Routed` without delay. level: as in `certify_rows`.
    """
    record = trace.router
    if record is None:
        return None
    blocks = [block for block in record.blocks if block.start < rows]
    if not blocks or blocks[-1].model is None:
        return None
    start = blocks[-1].start
    return certify_rows(
        record.losses[start:rows],
        record.router_actions[start:rows],
        population=len(record.losses) - start,
        block=len(blocks),
        level=level,
    )


def certify_session(session: "Session", level: float = 0.05) -> RouterCertificate | None:
    """Return lower bounds of the present router's gain in a session, or None.

    None if no router is in use, or the first row of the block has no feedback. Rows of the present
    block are used up to the first without feedback, so that delays may depend on the rows. level:
    as in `certify_rows`.
    """
    router: Any = session._live.runner
    first = router.block_rounds[-1] if router.block_rounds else 0
    cells = session.ticket_table.cells[first : session.round + 1]
    missing = np.flatnonzero(cells[:, ANSWER_INDEX] == 0)
    cells = cells[: missing[0]] if missing.size else cells
    choices = cells[:, router.shown + 1].astype(np.int64)
    if not first or not len(cells) or (choices < 0).any():
        return None
    return certify_rows(
        cells[:, OUTCOME_START : router.shown],
        choices,
        population=session.horizon - first + 1,
        block=len(router.block_rounds),
        level=level,
    )
