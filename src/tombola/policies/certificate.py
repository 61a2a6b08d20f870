"""Certificate of a router: it beats every action on the rows to come.

Theorem C7; whole rows only.

From the first row of a block on, the policy of the block is fixed, and the rows are drawn without
replacement from those that were not played before. D(a) is the mean over all these rows of loss(a)
- loss(policy). Two confidence sequences give a lower bound of each D(a) that holds at all times;
the minimum over actions is at most the bound of the best action, so that no union over actions is
needed. Block i gets the level 6 level / (pi i)^2. Subtracting the rows already seen gives the
statement about the rows without an answer. It is about the policy of this block, not about
retrained ones.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tombola._formatting import plural
from tombola._types import Floats, Integers
from tombola.engine.tickets import ANSWER_INDEX, OUTCOME_START
from tombola.evidence import Betting
from tombola.evidence.pending import lower_bound
from tombola.policies.models import losses_of
from tombola.policies.routed_feedback import ROUTER
from tombola.statements import Conclusion, Counts, Quantity, Statement, bound_text
from tombola.trace import Trace

if TYPE_CHECKING:
    from tombola.session import Session


@dataclass(frozen=True)
class RouterCertificate:
    """Lower bounds of the gain of a router over every single action.

    A router chooses actions by features. A gain is the mean over rows of loss(action) -
    loss(router), of the action for which it is least.

    block: number of the block, from 1; a block is the rounds between two trainings.
    rows, left: answered rows of the block, and rows without an answer yet.
    gain, gain_left: bound over all rows from the start of the block on, and over the rows without
        an answer (NaN without any).
    level: probability that a statement of any block fails.
    """

    block: int
    rows: int
    left: int
    gain: float
    gain_left: float
    level: float

    @property
    def statement(self) -> Statement:
        """Whether the present router certainly beats every single action on the rows left."""
        is_proved = bool(self.left) and self.gain_left > 0
        claim = Conclusion(
            "better",
            ("the present router",),
            than="any single action",
            amount=float(bound_text(self.gain_left, up=False)) if is_proved else 0.0,
        )
        return Statement(
            "proved" if is_proved else "running",
            "recorded",
            (claim,) if is_proved else (),
            () if is_proved else (claim,),
            level=self.level,
            quantity=Quantity(noun="action"),
            counts=Counts(rows=self.rows + self.left, counted=self.rows),
            rows_text=f"the {plural(self.left, 'row')} left",
        )

    @property
    def text(self) -> str:
        """The statement as text."""
        return str(self.statement)


def certify_rows(
    losses: Floats, choices: Integers, *, population: int, block: int, level: float = 0.05
) -> RouterCertificate:
    """Return lower bounds of the gain of a policy that was fixed before these rows.

    Each of two lower bounds has half of the level: bets that adapt, up to the first pending row, and
    constant bets on all rows, where a pending one counts as the worst (Theorem P).

    losses: of the rows since the start of the block, in their order of play, rows x actions; NaN in
        a row whose outcome is pending.
    choices: the policy's action on each of them.
    population: rows from the start of the block to the end of the list.
    block: number of the block, from 1; later blocks get a smaller part of `level`.
    level: probability that a statement of any block fails.

    >>> losses = np.tile([[0.0, 1.0], [1.0, 0.0]], (200, 1))
    >>> best = losses.argmin(axis=1)
    >>> certify_rows(losses, best, population=1000, block=1).gain_left > 0.3
    True
    >>> certify_rows(losses, 0 * best, population=1000, block=1).gain_left > 0
    False
    """
    differences = losses - losses_of(losses, choices)[:, None]
    scaled = (1.0 + differences) / 2.0
    is_pending = np.isnan(differences[:, 0])
    # Half of the level of the block for each of the two bounds.
    share = level * 3.0 / (math.pi * block) ** 2
    known = scaled[: int(np.argmax(is_pending))] if is_pending.any() else scaled
    # The sequence is two-sided; only its lower side is used.
    sequence = Betting(population=population, level=min(2.0 * share, 0.99), actions=losses.shape[1])
    sequence.extend(known)
    filled = np.where(is_pending[:, None], 0.0, scaled)
    constant = [lower_bound(values, population, min(share, 0.99)) for values in filled.T]
    lows = 2.0 * np.maximum(sequence.lows, constant) - 1.0
    answered = int((~is_pending).sum())
    left = population - answered
    rest = np.full(losses.shape[1], math.nan)
    if left:
        rest = (population * lows - differences[~is_pending].sum(axis=0)) / left
    return RouterCertificate(block, answered, left, float(lows.min()), float(rest.min()), level)


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

    None if no router is in use, or no row of the block has feedback. All rows of the present block
    that were answered are used; delays may depend on the rows. level: as in `certify_rows`.
    """
    router: Any = session._live.runner
    first = router.block_rounds[-1] if router.block_rounds else 0
    cells = session.ticket_table.cells[first : session.round + 1]
    is_pending = cells[:, ANSWER_INDEX] == 0
    choices = cells[:, router.shown + ROUTER].astype(np.int64)
    if not first or is_pending.all() or (choices < 0).any():
        return None
    losses = cells[:, OUTCOME_START : router.shown].copy()
    losses[is_pending] = math.nan
    return certify_rows(
        losses,
        choices,
        population=session.horizon - first + 1,
        block=len(router.block_rounds),
        level=level,
    )
